/* SPDX-License-Identifier: MIT
   Guava's two smooth limiters in weir's words: acquire, tryAcquire and setRate.

   The peer counts in whole us, up to 2^63 - 1 of them: 292,000 years.  What is nearer than half a us is the same time
   to it, so waits are rounded to the us.  Weir's clock ends after some 300 years of ns, so a limiter is kept in several
   units, in which weir's ns stands for a ns, for 10 or 100, or for a us: the finest whose clock is still long enough
   answers, and the coarser ones take what it has let in.

   acquire is a reservation without bound, tryAcquire one within its timeout.  setRate is a change of limit that keeps
   what is owed in time; whoever was told to wait has slept by then, whatever the clock says.  At an infinite rate a
   permit is none of weir's; behind it the store is full, or warm.

   Decisions equal, waits within the case's tolerance. Leaves: what the store does to weir. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/decide.h"
#include "inside.h"
#include "runner.h"

enum { NEXT, STORED /* words of the state */, VIEWS = 4, OPTIONS_SIZE = 96, TEXT_SIZE = 256 };
enum { SECOND_US = 1000000, US_NS = 1000, PER_NS_MAX = 1000 /* permits: the most that weir counts */ };

/* The limiter in units of its own. */
struct view {
    struct rule rule; /* its clock begins at 0 */
    uint64_t state[STATE_WORDS_MAX];
    uint64_t per_us;   /* weir's ns to a us of the peer's clock */
    double per_permit; /* weir's permits to one of the peer's: 0: free, INFINITY: endless */
    uint64_t started;  /* the latest start that was given or change, in weir's ns */
};

struct guava {
    struct view view[VIEWS]; /* from fine to coarse */
    int finest;              /* of those whose clock is long enough */
    bool accepted;
    const char *time_name; /* the option that is a time ... */
    double time_us;
    char options[OPTIONS_SIZE]; /* ... and the others */
    bool comes_full;            /* from an infinite rate */
    uint64_t last_us;           /* where the peer's clock ends */
};

static const uint64_t per_us_of[VIEWS] = {1000, 100, 10, 1};
static const uint64_t MEANT_MAX = UINT64_C(1) << 44; /* p times q: few doubles are so simple by chance */
static const double time_max = 0x1p61;               /* longer than anybody rests */

/* ---- a rate of doubles to a rule ---- */

/* A fraction that a person may have meant. */
static bool simple_rate(double rate_per_s, uint64_t second, struct fraction *rate)
{
    if (!fraction_of(rate_per_s, rate) || (uint128)rate->p * rate->q > MEANT_MAX) return false;
    const uint64_t common = greatest_common_divisor(second, rate->p);
    if (rate->q > INT64_MAX / (second / common)) return false;
    *rate = (struct fraction){rate->p / common, rate->q * (second / common)};
    return true;
}

/* The very double to 63 bits: as many permits as make the time fill them. */
static struct fraction long_rate(double rate_per_s, uint64_t second)
{
    struct fraction rate = {1, 0};
    long double time = (long double)second / rate_per_s;
    for (; time < 0x1p62L && rate.p < UINT64_C(1) << 62; time *= 2) rate.p *= 2;
    rate.q = time >= 0x1p64L ? UINT64_MAX : (uint64_t)roundl(time);
    return rate;
}

/* In units of which so many are a second. */
static double permits_of(double rate_per_s, double second)
{
    const double fastest = second * PER_NS_MAX;
    if (isinf(rate_per_s)) return 0;
    if (second / rate_per_s >= (double)INT64_MAX) return INFINITY; /* one lasts until the end of the clock */
    return rate_per_s > fastest ? fastest / rate_per_s : 1;
}

/* False when weir refuses the rate, too. */
static bool read_rule(const struct guava *guava, uint64_t per_us, double rate_per_s, struct rule *rule)
{
    char text[2 * TEXT_SIZE], options[TEXT_SIZE];
    const uint64_t second = per_us * SECOND_US;
    struct fraction rate = {isinf(rate_per_s) ? 1 : PER_NS_MAX, 1};
    if (rate_per_s > 0 && rate_per_s <= (double)(second * PER_NS_MAX) && !simple_rate(rate_per_s, second, &rate))
        rate = long_rate(rate_per_s, second);
    const double time = fmin(round(guava->time_us * (double)per_us), time_max);
    snprintf(options, sizeof options, " %s=%" PRIu64 "ns%s", guava->time_name, (uint64_t)time, guava->options);
    if (rate_per_s > 0) snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "ns%s", rate.p, rate.q, options);
    else snprintf(text, sizeof text, "%g/s%s", rate_per_s, options);
    weir_plan plan;
    if (weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) != 0) return false;
    *rule = *inside_rule(&plan);
    return true;
}

/* At its start, with nothing owed. */
static void begin(struct view *view, const struct rule *rule)
{
    static const uint64_t none[STATE_WORDS_MAX];
    const uint64_t now = tick_at(rule, view->started);
    struct rule from_now = *rule;
    from_now.anchor_ns = view->started;
    from_now.anchor_tick = now;
    algorithm_of(rule)->carry(rule, &from_now, none, view->state, now, WEIR_RESET);
}

/* To another rate in all units, or to the first one. */
static bool set_rate(struct guava *guava, double rate_per_s, bool first, uint64_t now_us)
{
    for (int i = guava->finest; i < VIEWS; i++) {
        struct view *view = &guava->view[i];
        struct rule rule;
        view->per_us = per_us_of[i];
        if (!read_rule(guava, view->per_us, rate_per_s, &rule)) {
            if (!(rate_per_s > 0) || i == VIEWS - 1) return false;
            guava->finest = i + 1; /* its time is too long in these units */
            continue;
        }
        const bool was_infinite = !first && view->per_permit == 0;
        view->per_permit = permits_of(rate_per_s, (double)(view->per_us * SECOND_US));
        view->started = most(view->started, now_us * view->per_us);
        if (first) begin(view, &rule);
        else inside_change(&view->rule, &rule, view->state, view->started);
        view->rule = rule; /* the clock may go back behind a change */
        if (was_infinite) view->state[STORED] = guava->comes_full ? rule.burst : 0;
    }
    return true;
}

/* The tick from which the next call is free. */
static uint64_t owed(const struct view *view, uint64_t now)
{
    return algorithm_at(&view->rule, algorithm_of(&view->rule), view->state, tick_at(&view->rule, now)).end;
}

/* Passes on to the finest units that can say what is owed now. */
static struct view *view_at(struct guava *guava, uint64_t now_us)
{
    const uint64_t clock_end = UINT64_MAX - (UINT64_MAX >> 4);
    for (; guava->finest < VIEWS - 1; guava->finest++) {
        const struct view *view = &guava->view[guava->finest];
        const bool fits = now_us < UINT64_MAX / view->per_us;
        if (fits && owed(view, now_us * view->per_us) < clock_end) break;
    }
    return &guava->view[guava->finest];
}

static const char *start(struct guava *guava, const struct scene *scene)
{
    double rate_per_s = 0;
    const uint64_t start_us = scene->shift_ns / US_NS;
    guava->last_us = start_us + INT64_MAX;
    if (!field_double(scene->limiter, "rate_per_s", &rate_per_s)) return "not yet (limiter: no rate)";
    guava->accepted = set_rate(guava, rate_per_s, true, start_us);
    return NULL;
}

/* ---- steps ---- */

static uint64_t us_of(uint128 ns)
{
    return wide_to_64(wide_divide(ns, US_NS, NULL));
}

/* The peer takes any number of permits, and this view's answer to it. */
static weir_decision take_in(struct view *view, uint64_t now_us, int64_t n, uint64_t wait)
{
    const double permits = ceil((double)n * view->per_permit);
    const uint64_t cost = view->per_permit == 1 ? (uint64_t)n : isinf(permits) ? UINT64_MAX : (uint64_t)permits;
    const uint64_t now = now_us * view->per_us;
    const struct question question = {.now_ns = now, .wait_max_ns = wait, .cost = &cost};
    weir_decision decision;
    decide((struct rules){&view->rule, 1}, view->state, &question, NULL, &decision);
    /* A call that is free still moves the peer's time on. */
    if (weir_allowed(decision) && cost == 0) inside_change(&view->rule, &view->rule, view->state, now);
    if (weir_allowed(decision)) view->started = most(view->started, now + decision.delay_ns);
    return decision;
}

/* wait_us: UINT64_MAX for any.  The peer's clock has an end: whoever can wait until then is let in. */
static void take(struct guava *guava, struct step *step, int64_t n, uint64_t wait_us)
{
    const uint64_t now_us = us_of(step->at_ns), to_end_us = subtract_to_zero(guava->last_us, now_us);
    struct view *view = view_at(guava, now_us);
    const uint64_t half = (view->per_us - 1) / 2, end = UINT64_MAX / view->per_us - 1;
    const bool any = wait_us >= to_end_us;
    const weir_decision decision =
        take_in(view, now_us, n, any || wait_us > end ? WEIR_FOREVER : wait_us * view->per_us + half);
    const bool allowed = weir_allowed(decision);
    while (allowed && ++view < guava->view + VIEWS) take_in(view, now_us, n, WEIR_FOREVER);
    view = &guava->view[guava->finest];
    uint64_t got_us = allowed ? least((decision.delay_ns + half) / view->per_us, to_end_us) : 0;
    if (any && !allowed) got_us = to_end_us;
    judge_from_core(step, allowed || !any);
    judge_bool(step, "allowed", allowed || any);
    judge_wait(step, "wait_ns", (uint128)got_us * US_NS);
}

/* Where a permit and a tick are the peer's: not at an infinite rate, nor once coarser units have taken over. */
static void judge_after(const struct guava *guava, struct step *step)
{
    const struct view *view = &guava->view[0];
    const struct rule *rule = &view->rule;
    if (guava->finest != 0 || view->per_permit != 1 || view->state[NEXT] == 0) return;
    const double permit = ldexp(1, rule->scale), tolerance_ns = (double)step->scene->tolerance_ns + 1;
    const double next_ns = (double)ns_ceil(rule, view->state[NEXT]) - (double)step->scene->shift_ns;
    const double ticks_per_ns = ldexp((double)rule->multiplier, -rule->shift);
    const double tolerance = tolerance_ns * ticks_per_ns / permit *
                             (guava->comes_full ? 1 : (double)rule->burst / (2 * (double)rule->threshold));
    judge_after_near(step, "stored_permits", (double)view->state[STORED] / permit, tolerance);
    judge_after_near(step, "max_permits", (double)rule->burst / permit, (2 + 1e-9 * (double)rule->burst) / permit);
    judge_after_near(step, "next_free_ns", next_ns, tolerance_ns);
}

/* What is below 0 is none, and the peer's longest is 2^63 - 1 us. */
static uint64_t timeout_us(struct step *step)
{
    uint128 wait_ns = 0;
    if (strcmp(step->op, "acquire") == 0) return UINT64_MAX;
    if (!field_wide(step->json, "max_wait_ns", &wait_ns)) return 0;
    return least(us_of(wait_ns), INT64_MAX);
}

/* False when the arguments are refused. */
static bool do_step(struct guava *guava, struct step *step)
{
    int64_t n = 0;
    double rate_per_s = 0;
    const uint64_t now_us = us_of(step->at_ns);
    judge_from_core(step, true);
    if (!guava->accepted) return false;
    view_at(guava, now_us);
    if (strcmp(step->op, "set_rate") == 0) {
        if (!field_double(step->json, "rate_per_s", &rate_per_s)) return false;
        if (!set_rate(guava, rate_per_s, false, now_us)) return false;
    } else if (strcmp(step->op, "create") != 0) {
        judge_from_core(step, false);
        if (!field_i64(step->json, "n", &n) || n < 1) return false;
        take(guava, step, n, timeout_us(step));
        return true;
    }
    judge_bool(step, "ok", true);
    return true;
}

static void step_case(void *subject, struct step *step)
{
    const bool done = do_step(subject, step);
    if (done) judge_after(subject, step);
    if (done == judge_has(step, "error"))
        judge_stop(step, "error", done ? "a refusal" : "an answer", done ? "an answer" : "a refusal");
}

static void close_case(void *subject)
{
    (void)subject;
}

static const char *open_bursty(void *subject, const struct scene *scene)
{
    struct guava *guava = subject;
    double burst_s = 1, stored = 0;
    if (!field_double(scene->limiter, "max_burst_s", &burst_s) || !(burst_s >= 0))
        return "not yet (limiter: no burst of seconds)";
    if (field_double(scene->limiter, "initial_stored_permits", &stored) && stored != 0)
        return "not yet (limiter: something is stored)";
    guava->time_name = "burst";
    guava->time_us = burst_s * 1e6;
    guava->comes_full = true;
    snprintf(guava->options, sizeof guava->options, " algorithm=bursty");
    return start(guava, scene);
}

const struct family *family_guava_bursty(void)
{
    static const char *const limiter_key[] = {
        "algorithm", "rate_per_s", "max_burst_s", "starts", "initial_stored_permits", NULL};
    static const char *const op[] = {"create", "acquire", "try", "set_rate", NULL};
    static const char *const step_key[] = {"t_ns",       "op",     "n",           "max_wait_ns",
                                           "rate_per_s", "expect", "state_after", NULL};
    static const struct family family = {.system = "Guava SmoothBursty",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct guava),
                                         .open = open_bursty,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}

static const char *open_warmup(void *subject, const struct scene *scene)
{
    struct guava *guava = subject;
    double cold = 3;
    uint64_t warmup_ns = 0;
    if (!field_u64(scene->limiter, "warmup_ns", &warmup_ns)) return "not yet (limiter: no warm-up)";
    if (!field_double(scene->limiter, "cold_factor", &cold) || !(cold >= 1) || !(cold < 1e9))
        return "beyond weir (cold factor below 1)";
    guava->time_name = "warmup";
    guava->time_us = (double)warmup_ns / 1000;
    snprintf(guava->options, sizeof guava->options, " cold=%.*f algorithm=warmup", 17 - (int)log10(cold), cold);
    return start(guava, scene);
}

const struct family *family_guava_warmup(void)
{
    static const char *const limiter_key[] = {"algorithm", "rate_per_s", "warmup_ns", "cold_factor", "starts", NULL};
    static const char *const op[] = {"create", "acquire", "try", "set_rate", NULL};
    static const char *const step_key[] = {"t_ns",       "op",     "n",           "max_wait_ns",
                                           "rate_per_s", "expect", "state_after", NULL};
    static const struct family family = {.system = "Guava SmoothWarmingUp",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct guava),
                                         .open = open_warmup,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
