/* SPDX-License-Identifier: MIT
   guava.c - Guava's acquire, tryAcquire and setRate in weir's words.

   The peer counts in whole us, up to 2^63 - 1 of them: 292,000 years.  What is nearer than half a us is the same time
   to it, so waits are rounded to the us.  Weir's clock ends after some 300 years of ns, so a limiter is kept in several
   units, in which weir's ns stands for a ns, for 10 or 100, or for a us: the finest whose clock is still long enough
   answers, and the coarser ones take what it has let in.

   acquire is a reservation without bound, tryAcquire one within its timeout.  setRate is a change of limit that keeps
   what is owed in time; whoever was told to wait has slept by then, whatever the clock says.  At an infinite
   rate a permit is none of weir's; behind it the store is full, or warm.

   May touch: its subject, the tally through judge.  Promises: decisions equal, waits within the case's tolerance.
   Leaves: what the store does to weir. */
#include "guava.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/num.h"

enum { SECOND_US = 1000000, PER_NS_MAX = 1000 /* permits: the most that weir counts */, TEXT_SIZE = 256 };

static const uint64_t per_us_of[GUAVA_VIEWS] = {1000, 100, 10, 1};
static const double time_max = 0x1p61; /* longer than anybody rests */

/* ---- a rate of doubles to a rule ---- */

static bool simple_rate(double rate_per_s, uint64_t second, struct fraction *rate)
{
    if (!fraction_of(rate_per_s, rate)) return false;
    const uint64_t common = greatest_common_divisor(second, rate->p);
    if (rate->q > INT64_MAX / (second / common)) return false;
    *rate = (struct fraction){rate->p / common, rate->q * (second / common)};
    return true;
}

/* The same to 63 bits: as many permits as make the time fill them. */
static struct fraction long_rate(double rate_per_s, uint64_t second)
{
    struct fraction rate = {1, 0};
    long double time = (long double)second / rate_per_s;
    for (; time < 0x1p62L; time *= 2) rate.p *= 2;
    rate.q = time >= 0x1p64L ? UINT64_MAX : (uint64_t)roundl(time);
    return rate;
}

static double permits_of(double rate_per_s, double fastest)
{
    if (isinf(rate_per_s)) return 0;
    if (SECOND_US / rate_per_s >= (double)INT64_MAX) return INFINITY; /* one lasts until the end of the clock */
    return rate_per_s > fastest ? fastest / rate_per_s : 1;
}

/* False when weir refuses the rate, too. */
static bool read_rule(const struct guava *guava, uint64_t per_us, double rate_per_s, struct rule *rule)
{
    char text[2 * TEXT_SIZE], options[TEXT_SIZE];
    const uint64_t second = per_us * SECOND_US;
    struct fraction rate = {1, 1};
    if (rate_per_s > (double)(second * PER_NS_MAX) && !isinf(rate_per_s)) rate.p = PER_NS_MAX;
    if (rate_per_s > 0 && rate_per_s <= (double)(second * PER_NS_MAX) && !simple_rate(rate_per_s, second, &rate))
        rate = long_rate(rate_per_s, second);
    const double time = fmin(round(guava->time_us * (double)per_us), time_max);
    snprintf(options, sizeof options, " %s=%" PRIu64 "ns%s", guava->time_name, (uint64_t)time, guava->options);
    if (rate_per_s > 0) snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "ns%s", rate.p, rate.q, options);
    else snprintf(text, sizeof text, "%g/s%s", rate_per_s, options);
    return inside_read(text, rule);
}

/* To another rate in all units, or to the first one. */
static bool set_rate(struct guava *guava, double rate_per_s, bool first, uint64_t now_us)
{
    for (int i = guava->finest; i < GUAVA_VIEWS; i++) {
        struct guava_view *view = &guava->view[i];
        struct rule rule;
        view->per_us = per_us_of[i];
        if (!read_rule(guava, view->per_us, rate_per_s, &rule)) {
            if (!(rate_per_s > 0) || i == GUAVA_VIEWS - 1) return false;
            guava->finest = i + 1; /* its time is too long in these units */
            continue;
        }
        const bool was_infinite = !first && view->per_permit == 0;
        view->per_permit = permits_of(rate_per_s, (double)(view->per_us * SECOND_US * PER_NS_MAX));
        view->started = most(view->started, now_us * view->per_us);
        if (first) inside_open(&view->inside, &rule, view->started);
        else inside_change(&view->inside, &rule, view->started);
        if (was_infinite) inside_fill(&view->inside, guava->comes_full);
    }
    return true;
}

/* Passes on to the finest units that can say what is owed now. */
static struct guava_view *view_at(struct guava *guava, uint64_t now_us)
{
    const uint64_t clock_end = UINT64_MAX - (UINT64_MAX >> 4);
    for (; guava->finest < GUAVA_VIEWS - 1; guava->finest++) {
        const struct guava_view *view = &guava->view[guava->finest];
        const bool fits = now_us < UINT64_MAX / view->per_us;
        if (fits && inside_owed(&view->inside, now_us * view->per_us) < clock_end) break;
    }
    return &guava->view[guava->finest];
}

const char *guava_start(struct guava *guava, const struct scene *scene)
{
    double rate_per_s = 0;
    const uint64_t start_us = scene->shift_ns / 1000;
    guava->last_us = start_us + INT64_MAX;
    if (!field_double(scene->limiter, "rate_per_s", &rate_per_s)) return "not yet (limiter: no rate)";
    return set_rate(guava, rate_per_s, true, start_us) ? NULL : "beyond weir (limiter refused)";
}

/* ---- steps ---- */

/* The peer takes any number of permits, and this view's answer to it. */
static weir_decision take_in(struct guava_view *view, uint64_t now_us, int64_t n, uint64_t wait)
{
    const double permits = ceil((double)n * view->per_permit);
    const uint64_t cost = view->per_permit == 1 ? (uint64_t)n : isinf(permits) ? UINT64_MAX : (uint64_t)permits;
    const uint64_t now = now_us * view->per_us;
    const weir_decision decision = inside_take(&view->inside, now, cost, wait);
    /* A call that is free still moves the peer's time on. */
    if (weir_allowed(decision) && cost == 0) inside_change(&view->inside, &view->inside.rule, now);
    if (weir_allowed(decision)) view->started = most(view->started, now + decision.delay_ns);
    return decision;
}

/* Above 64 bits of ns the vector's number cannot be read, and ours has to be there, too. */
static void judge_wait_us(struct step *step, uint64_t wait_us)
{
    uint64_t expected_ns = 0;
    const uint64_t longest_us = UINT64_MAX / 1000, off_us = step->scene->tolerance_ns / 1000 + 1;
    const bool readable = step->expect != NULL && field_u64(step->expect, "wait_ns", &expected_ns);
    if (!readable && wait_us + off_us > longest_us) judge_has(step, "wait_ns");
    else judge_wait(step, "wait_ns", least(wait_us, longest_us) * 1000);
}

/* wait_us: UINT64_MAX for any.  The peer's clock has an end: whoever can wait until then is let in. */
static void take(struct guava *guava, struct step *step, int64_t n, uint64_t wait_us)
{
    const uint64_t now_us = step->now.ns / 1000, to_end_us = subtract_to_zero(guava->last_us, now_us);
    struct guava_view *view = view_at(guava, now_us);
    const uint64_t half = (view->per_us - 1) / 2, end = UINT64_MAX / view->per_us - 1;
    const bool any = wait_us >= to_end_us;
    const weir_decision decision =
        take_in(view, now_us, n, any || wait_us > end ? WEIR_FOREVER : wait_us * view->per_us + half);
    const bool allowed = weir_allowed(decision);
    while (allowed && ++view < guava->view + GUAVA_VIEWS) take_in(view, now_us, n, WEIR_FOREVER);
    view = &guava->view[guava->finest];
    uint64_t got_us = allowed ? least((decision.delay_ns + half) / view->per_us, to_end_us) : 0;
    if (any && !allowed) got_us = to_end_us;
    judge_bool(step, "allowed", allowed || any);
    judge_wait_us(step, got_us);
}

static uint64_t timeout_us(struct step *step)
{
    int64_t below_zero = 0;
    uint64_t wait_ns = 0;
    if (strcmp(step->op, "acquire") == 0) return UINT64_MAX;
    if (field_i64(step->json, "max_wait_ns", &below_zero) && below_zero < 0) return 0;
    if (!json_object_object_get_ex(step->json, "max_wait_ns", NULL)) return 0;
    return field_u64(step->json, "max_wait_ns", &wait_ns) ? wait_ns / 1000 : INT64_MAX; /* the longest it can be told */
}

void guava_step(void *subject, struct step *step)
{
    struct guava *guava = subject;
    int64_t n = 0;
    double rate_per_s = 0;
    bool refused = false;
    view_at(guava, step->now.ns / 1000);
    if (strcmp(step->op, "set_rate") == 0) {
        refused = !field_double(step->json, "rate_per_s", &rate_per_s) ||
                  !set_rate(guava, rate_per_s, false, step->now.ns / 1000);
        if (!refused) judge_bool(step, "ok", true);
    } else {
        refused = !field_i64(step->json, "n", &n) || n < 1;
        if (!refused) take(guava, step, n, timeout_us(step));
    }
    if (refused != judge_has(step, "error"))
        judge_stop(step, "error", refused ? "an answer" : "a refusal", refused ? "a refusal" : "an answer");
}

void guava_close(void *subject)
{
    (void)subject;
}
