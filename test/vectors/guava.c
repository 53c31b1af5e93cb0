/* SPDX-License-Identifier: MIT
   guava.c - Guava's acquire, tryAcquire and setRate in weir's words.

   The peer counts in whole us, up to 2^63 - 1 of them: 292,000 years.  What is nearer than half a us is the same time to
   it, so waits are rounded to the us.  In a case whose times or costs are too long for 64 bits of ns, weir's ns stands for
   a longer part of the peer's us, up to all of it.

   acquire is a reservation without bound, tryAcquire one within its timeout.  setRate is a change of limit that keeps
   what is owed in time; whoever was told to wait has slept by then, whatever the clock says.  An infinite rate is a
   rule that costs nothing.

   May touch: its subject, the tally through judge.  Promises: decisions equal, waits within the case's tolerance.
   Leaves: what the store does to weir. */
#include "guava.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/num.h"

enum { SECOND_US = 1000000, PER_NS_MAX = 1000 /* permits: the most that weir counts */ };

/* ---- units ---- */

/* One permit lasts until the end of the peer's clock. */
static bool is_endless(double rate_per_s)
{
    return SECOND_US / rate_per_s >= (double)INT64_MAX;
}

/* us from one permit to the next, where that matters; the peer refuses other rates, and keeps the one before. */
static void read_interval(struct json_object *object, double *interval_us)
{
    double rate_per_s = 0;
    if (!field_double(object, "rate_per_s", &rate_per_s) || !(rate_per_s > 0)) return;
    *interval_us = is_endless(rate_per_s) ? 0 : SECOND_US / rate_per_s;
}

/* No later time comes up in the case: whoever waits for one call has slept by the next, so two costs are owed at most. */
static double horizon_us(const struct scene *scene, double more_us)
{
    double latest_us = 0, most_us = 0, permit_us = 0;
    read_interval(scene->limiter, &permit_us);
    for (size_t i = 0; i < json_object_array_length(scene->steps); i++) {
        struct json_object *step = json_object_array_get_idx(scene->steps, i);
        double t_ns = 0, n = 0;
        read_interval(step, &permit_us);
        field_double(step, "t_ns", &t_ns);
        field_double(step, "n", &n);
        latest_us = fmax(latest_us, (t_ns + (double)scene->shift_ns) / 1000);
        most_us = fmax(most_us, n * permit_us);
    }
    return latest_us + 2 * (most_us + more_us);
}

void guava_units(struct guava *guava, const struct scene *scene, double more_us)
{
    const double end_us = horizon_us(scene, more_us), clock_end = (double)INT64_MAX / 2;
    guava->per_us = 1000;
    guava->per_ns = PER_NS_MAX;
    while (guava->per_us > 1 && end_us * (double)guava->per_us > clock_end) guava->per_us /= 10;
    while (guava->per_ns > 1 && end_us * (double)(guava->per_us * guava->per_ns) > clock_end) guava->per_ns /= 10;
}

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

/* False when weir refuses the rate, too. */
static bool read_rule(const struct guava *guava, double rate_per_s, struct rule *rule, double *per_permit)
{
    char text[2 * GUAVA_OPTIONS_SIZE];
    const uint64_t second = guava->per_us * SECOND_US;
    const double fastest = (double)(second * guava->per_ns);
    struct fraction rate = {guava->per_ns, 1};
    *per_permit = is_endless(rate_per_s) ? INFINITY : rate_per_s > fastest ? fastest / rate_per_s : 1;
    if (rate_per_s > 0 && rate_per_s <= fastest && !simple_rate(rate_per_s, second, &rate))
        rate = long_rate(rate_per_s, second);
    if (rate_per_s > 0) snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "ns%s", rate.p, rate.q, guava->options);
    else snprintf(text, sizeof text, "%g/s%s", rate_per_s, guava->options);
    if (isinf(rate_per_s)) *per_permit = 1;
    return inside_read(text, isinf(rate_per_s), rule);
}

const char *guava_start(struct guava *guava, const struct scene *scene)
{
    double rate_per_s = 0;
    struct rule rule;
    const uint64_t start_us = scene->shift_ns / 1000;
    guava->last_us = start_us + INT64_MAX;
    if (!field_double(scene->limiter, "rate_per_s", &rate_per_s)) return "not yet (limiter: no rate)";
    if (!read_rule(guava, rate_per_s, &rule, &guava->per_permit)) return "not yet (limiter: weir refuses it)";
    guava->started = start_us * guava->per_us;
    inside_open(&guava->inside, &rule, guava->started);
    return NULL;
}

/* ---- steps ---- */

static uint64_t cost_of(const struct guava *guava, int64_t n)
{
    if (isinf(guava->per_permit)) return UINT64_MAX;
    return guava->per_permit < 1 ? (uint64_t)ceil((double)n * guava->per_permit) : (uint64_t)n;
}

/* Above 64 bits of ns the vector's number cannot be read, and ours has to be above, too. */
static void judge_wait_us(struct step *step, uint64_t wait_us)
{
    uint64_t expected_ns = 0;
    if (wait_us < UINT64_MAX / 1000) judge_wait(step, "wait_ns", wait_us * 1000);
    else if (judge_has(step, "wait_ns") && field_u64(step->expect, "wait_ns", &expected_ns))
        judge_mismatch(step, "wait_ns", "less", "a wait over 64 bits");
}

/* wait_us: UINT64_MAX for any.  The peer's clock has an end: whoever can wait until then is let in, whatever is owed. */
static void take(struct guava *guava, struct step *step, int64_t n, uint64_t wait_us)
{
    const uint64_t now_us = step->now.ns / 1000, to_end_us = subtract_to_zero(guava->last_us, now_us);
    const uint64_t now = now_us * guava->per_us, half = (guava->per_us - 1) / 2;
    const bool any = wait_us >= to_end_us;
    const weir_decision decision =
        inside_take(&guava->inside, now, cost_of(guava, n), any ? WEIR_FOREVER : wait_us * guava->per_us + half);
    const bool allowed = weir_allowed(decision);
    if (allowed) guava->started = most(guava->started, now + decision.delay_ns);
    uint64_t got_us = allowed ? least((decision.delay_ns + half) / guava->per_us, to_end_us) : 0;
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

/* False when weir refuses the rate. */
static bool set_rate(struct guava *guava, struct step *step)
{
    struct rule rule;
    double rate_per_s = 0, per_permit = 1;
    if (!field_double(step->json, "rate_per_s", &rate_per_s) || !read_rule(guava, rate_per_s, &rule, &per_permit))
        return false;
    guava->started = most(guava->started, step->now.ns / 1000 * guava->per_us);
    inside_change(&guava->inside, &rule, guava->started);
    guava->per_permit = per_permit;
    judge_bool(step, "ok", true);
    return true;
}

void guava_step(void *subject, struct step *step)
{
    struct guava *guava = subject;
    int64_t n = 0;
    bool refused = false;
    if (strcmp(step->op, "set_rate") == 0) refused = !set_rate(guava, step);
    else if (!field_i64(step->json, "n", &n) || n < 1) refused = true;
    else take(guava, step, n, timeout_us(step));
    if (refused != judge_has(step, "error"))
        judge_stop(step, "error", refused ? "an answer" : "a refusal", refused ? "a refusal" : "an answer");
}

void guava_close(void *subject)
{
    (void)subject;
}
