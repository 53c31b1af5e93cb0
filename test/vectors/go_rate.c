/* SPDX-License-Identifier: MIT
   go_rate.c - golang.org/x/time/rate in weir's words, as far as it is GCRA.

   May touch: its subject, the tally through judge.  Promises: decisions equal, waits within the case's tolerance,
   balances within what its floats are good for.  Leaves, each as a reason to skip: giving back, changing the limit,
   a clock that goes back (the peer follows it), rates without an interval in whole ns (the peer cuts a wait below
   1 ns to 0 and so lets pass early). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runner.h"

enum { SECOND_NS = 1000000000 };

struct bucket {
    struct limit limit;
    double burst;
    double interval_ns;
};

static const char *unfit_steps(const struct scene *scene)
{
    uint64_t last_ns = 0;
    for (size_t i = 0; i < json_object_array_length(scene->steps); i++) {
        struct json_object *step = json_object_array_get_idx(scene->steps, i);
        int64_t t_ns = 0;
        int64_t max_wait_ns = 0;
        if (!field_i64(step, "t_ns", &t_ns)) return "not yet (a time over 2^63 - 1 ns)";
        const uint64_t now_ns = (uint64_t)t_ns + scene->shift_ns;
        if (i > 0 && now_ns < last_ns) return "not yet (clock goes back: the peer earns that span twice)";
        last_ns = now_ns;
        if (field_i64(step, "max_wait_ns", &max_wait_ns) && max_wait_ns < 0) return "not yet (max_wait below 0)";
    }
    return NULL;
}

/* p permits in q ns, reduced. */
static const char *fraction_of_rate(double rate_per_s, struct fraction *rate)
{
    if (!isfinite(rate_per_s)) return "not yet (rate not finite)";
    if (rate_per_s <= 0) return "not yet (rate 0 or below)";
    if (rate_per_s > SECOND_NS) return "not yet (rate over 1e9 per s: peer's waits under 1 ns are 0)";
    if (!fraction_of(rate_per_s, rate)) return "beyond weir (rate is no fraction of 53-bit numbers)";
    uint64_t common = SECOND_NS;
    for (uint64_t rest = rate->p; rest != 0;) {
        const uint64_t next = common % rest;
        common = rest;
        rest = next;
    }
    const uint64_t scale = SECOND_NS / common;
    if (rate->q > INT64_MAX / scale) return "beyond weir (interval over 2^63 - 1 ns)";
    rate->p /= common;
    rate->q *= scale;
    return rate->p == 1 ? NULL : "not yet (interval not in whole ns: peer cuts waits under 1 ns to 0)";
}

static const char *open_case(void *subject, const struct scene *scene)
{
    struct bucket *bucket = subject;
    struct fraction rate = {0, 1};
    double rate_per_s = 0;
    double initial = 0;
    int64_t burst = 0;
    if (!field_double(scene->limiter, "rate_per_s", &rate_per_s) || !field_i64(scene->limiter, "burst", &burst))
        return "not yet (limiter: rate or burst is no number)";
    const char *unfit = fraction_of_rate(rate_per_s, &rate);
    if (unfit != NULL) return unfit;
    if (burst <= 0) return "not yet (burst 0 or below)";
    if (!field_double(scene->limiter, "initial_tokens", &initial) || initial != (double)burst)
        return "not yet (does not start full)";
    unfit = unfit_steps(scene);
    if (unfit != NULL) return unfit;
    bucket->burst = (double)burst;
    bucket->interval_ns = (double)rate.q;
    char text[128];
    snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "ns burst=%" PRId64 " algorithm=gcra", rate.p, rate.q, burst);
    return limit_open(&bucket->limit, text, (int64_t)rate.q, burst);
}

static void judge_tokens(struct bucket *bucket, struct step *step)
{
    if (!bucket->limit.accepted) return;
    const weir_decision peek = weir_decide(&bucket->limit.plan, bucket->limit.state, step->now, 0);
    const double tokens = bucket->burst - (double)weir_full_ns(&bucket->limit.plan, &peek) / bucket->interval_ns;
    const double tolerance = 1e-6 + 2 / bucket->interval_ns;
    judge_near(step, "tokens", tokens, tolerance);
    judge_after_near(step, "tokens", tokens, tolerance);
}

static uint64_t wait_max_of(struct step *step)
{
    uint64_t wait_max_ns = 0;
    if (strcmp(step->op, "reserve") == 0) return WEIR_FOREVER;
    if (!json_object_object_get_ex(step->json, "max_wait_ns", NULL)) return 0;
    return field_u64(step->json, "max_wait_ns", &wait_max_ns) ? wait_max_ns : WEIR_FOREVER;
}

static void take(struct bucket *bucket, struct step *step)
{
    weir_decision decision;
    if (limit_refused(&bucket->limit, step)) return;
    if (!limit_ask(&bucket->limit, step, wait_max_of(step), &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "never", decision.verdict == WEIR_NEVER);
    /* The peer's waits end at 2^63 - 1 ns. */
    judge_wait(step, "wait_ns", decision.delay_ns < INT64_MAX ? decision.delay_ns : INT64_MAX);
}

static void step_case(void *subject, struct step *step)
{
    struct bucket *bucket = subject;
    if (strcmp(step->op, "tokens") != 0) take(bucket, step);
    judge_tokens(bucket, step);
}

static void close_case(void *subject)
{
    struct bucket *bucket = subject;
    limit_close(&bucket->limit);
}

const struct family *family_go_rate(void)
{
    static const char *const limiter_key[] = {"algorithm", "rate_per_s", "burst", "initial_tokens", NULL};
    static const char *const op[] = {"try", "reserve", "tokens", NULL};
    static const char *const step_key[] = {"t_ns", "op", "id", "n", "max_wait_ns", "expect", "state_after", NULL};
    static const struct family family = {.system = "golang.org/x/time/rate",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct bucket),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
