/* SPDX-License-Identifier: MIT
   CL.THROTTLE in weir's words: a whole-ns interval, five whole numbers, a key that Redis forgets.

   Answers equal to the ns, and the reply digit by digit. Leaves: GCRA itself to weir.  Only here: the expiry in ms, the
   seconds, `remaining` in whole us. */
#include "runner.h"

enum { US_NS = 1000, MS_NS = 1000000, SECOND_MS = 1000, SECOND_NS = 1000000000 };

struct key {
    struct limiter limiter;
    int64_t interval_ns;
    int64_t burst;
    bool expires;
    uint64_t expires_ms; /* gone when the clock, in whole ms, is past it: Redis compares so */
};

static const char *open_case(void *subject, const struct scene *scene)
{
    struct key *key = subject;
    int64_t count = 0;
    int64_t period_s = 0;
    int64_t max_burst = 0;
    if (!field_i64(scene->limiter, "max_burst", &max_burst) || !field_i64(scene->limiter, "count", &count) ||
        !field_i64(scene->limiter, "period_s", &period_s) || max_burst == INT64_MAX)
        return "not yet (limiter: burst, count or period is no 63-bit number)";
    key->burst = max_burst + 1;
    if (count > 0 && period_s > 0 && period_s <= INT64_MAX / SECOND_NS)
        key->interval_ns = (int64_t)((double)(period_s * SECOND_NS) / (double)count);
    limiter_open_gcra(&key->limiter, scene, (uint64_t)key->interval_ns, key->burst);
    if (key->interval_ns > 0 && key->interval_ns < US_NS)
        return "not yet (interval under 1 us: the peer divides by 0 us)";
    return NULL;
}

/* From now until nothing is used; for what can never pass, below 0 when that was before. */
static int64_t ttl_of(const struct key *key, weir_instant now, const weir_decision *decision)
{
    uint64_t drained_ns = 0;
    const bool used = limiter_drained(&key->limiter, &drained_ns);
    const bool past = decision->verdict == WEIR_NEVER && used && drained_ns < now.ns;
    return past ? -(int64_t)(now.ns - drained_ns) : (int64_t)weir_decide_full_ns(&key->limiter.plan, decision);
}

static int64_t remaining(const struct key *key, int64_t ttl_ns)
{
    const int64_t burst_ns = key->burst * key->interval_ns; /* fits: the limit was accepted */
    if (ttl_ns > burst_ns && ttl_ns - burst_ns >= key->interval_ns) return 0;
    return (burst_ns - ttl_ns) / US_NS / (key->interval_ns / US_NS);
}

static int64_t reply_seconds(int64_t ns)
{
    const int64_t ms = ns / MS_NS;
    return ms / SECOND_MS + (ms % SECOND_MS > 0 ? 1 : 0);
}

static void judge_reply(struct step *step, const struct key *key, const weir_decision *decision, int64_t ttl_ns)
{
    const int64_t retry_s = decision->verdict == WEIR_DENY ? reply_seconds((int64_t)decision->retry_ns) : -1;
    const int64_t reply[] = {weir_allowed(*decision) ? 0 : 1, (int64_t)key->limiter.capacity, remaining(key, ttl_ns),
                             retry_s, reply_seconds(ttl_ns)};
    judge_i64s(step, "reply", reply, sizeof reply / sizeof *reply);
}

static void step_case(void *subject, struct step *step)
{
    struct key *key = subject;
    if (key->expires && step->now.ns / MS_NS > key->expires_ms) {
        limiter_forget(&key->limiter);
        key->expires = false;
    }
    weir_decision decision;
    if (limiter_answered(&key->limiter, step) || !limiter_step(&key->limiter, step, 0, &decision)) return;
    const int64_t ttl_ns = ttl_of(key, step->now, &decision);
    if (weir_allowed(decision)) {
        limiter_keep_time(&key->limiter, step->now); /* also when nothing was taken */
        key->expires = true;
        key->expires_ms = step->now.ns / MS_NS + (uint64_t)ttl_ns / MS_NS;
    }
    judge_reply(step, key, &decision, ttl_ns);
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "never", decision.verdict == WEIR_NEVER);
    judge_u64(step, "limit", key->limiter.capacity);
    judge_i64(step, "remaining", remaining(key, ttl_ns));
    judge_i64(step, "reset_in_ns", ttl_ns);
    judge_wait(step, "retry_after_ns", decision.retry_ns);
}

static void close_case(void *subject)
{
    struct key *key = subject;
    limiter_close(&key->limiter);
}

const struct family *family_redis_cell(void)
{
    static const char *const limiter_key[] = {"algorithm", "max_burst", "count", "period_s", NULL};
    static const char *const op[] = {"create", "try", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "expect", "state_after", NULL};
    static const struct family family = {.system = "redis-cell",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct key),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
