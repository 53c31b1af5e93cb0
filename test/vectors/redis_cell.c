/* SPDX-License-Identifier: MIT
   redis_cell.c - CL.THROTTLE in weir's words: a whole-ns interval, five whole numbers, a key that Redis forgets.

   May touch: its subject, the tally through judge.  Promises: answers equal to the ns, and the reply digit by digit.
   Leaves: GCRA itself to weir.  Only here: the expiry in ms, the seconds, `remaining` in whole us. */
#include <inttypes.h>
#include <stdio.h>

#include "runner.h"

enum { US_NS = 1000, MS_NS = 1000000, SECOND_MS = 1000, SECOND_NS = 1000000000 };

struct key {
    struct limit limit;
    int64_t interval_ns;
    int64_t burst;
    bool expires;
    uint64_t expires_ms; /* gone when the clock, in whole ms, is past it: Redis compares so */
};

static void write_text(char *text, size_t size, struct key *key, int64_t count, int64_t period_s)
{
    if (count < 1 || period_s < 1 || period_s > INT64_MAX / SECOND_NS) {
        snprintf(text, size, "%" PRId64 "/%" PRId64 "s burst=%" PRId64 " algorithm=gcra", count, period_s, key->burst);
        return;
    }
    key->interval_ns = (int64_t)((double)(period_s * SECOND_NS) / (double)count);
    snprintf(text, size, "1/%" PRId64 "ns burst=%" PRId64 " algorithm=gcra", key->interval_ns, key->burst);
}

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
    char text[160];
    write_text(text, sizeof text, key, count, period_s);
    if (key->interval_ns > 0 && key->interval_ns < US_NS)
        return "not yet (interval under 1 us: the peer divides by 0 us)";
    return limit_open(&key->limit, text, key->interval_ns, key->burst);
}

static int64_t remaining(const struct key *key, uint64_t full_ns)
{
    const int64_t burst_ns = key->burst * key->interval_ns; /* fits: the limit was accepted */
    if (full_ns >= (uint64_t)(burst_ns + key->interval_ns)) return 0;
    return (burst_ns - (int64_t)full_ns) / US_NS / (key->interval_ns / US_NS);
}

static int64_t reply_seconds(uint64_t ns)
{
    const uint64_t ms = ns / MS_NS;
    return (int64_t)(ms / SECOND_MS + (ms % SECOND_MS > 0 ? 1 : 0));
}

static void judge_reply(struct step *step, const struct key *key, const weir_decision *decision, uint64_t full_ns)
{
    const int64_t retry_s = decision->verdict == WEIR_DENY ? reply_seconds(decision->retry_ns) : -1;
    const int64_t reply[] = {weir_allowed(*decision) ? 0 : 1, (int64_t)key->limit.capacity, remaining(key, full_ns),
                             retry_s, reply_seconds(full_ns)};
    judge_i64s(step, "reply", reply, sizeof reply / sizeof *reply);
}

static void step_case(void *subject, struct step *step)
{
    struct key *key = subject;
    if (key->expires && step->now.ns / MS_NS > key->expires_ms) {
        limit_forget(&key->limit);
        key->expires = false;
    }
    weir_decision decision;
    if (limit_refused(&key->limit, step) || !limit_ask(&key->limit, step, 0, &decision)) return;
    const uint64_t full_ns = weir_full_ns(&key->limit.plan, &decision);
    if (weir_allowed(decision)) {
        key->expires = true;
        key->expires_ms = step->now.ns / MS_NS + full_ns / MS_NS;
    }
    judge_reply(step, key, &decision, full_ns);
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "never", decision.verdict == WEIR_NEVER);
    judge_u64(step, "limit", key->limit.capacity);
    judge_i64(step, "remaining", remaining(key, full_ns));
    judge_wait(step, "reset_in_ns", full_ns);
    judge_wait(step, "retry_after_ns", decision.retry_ns);
}

static void close_case(void *subject)
{
    struct key *key = subject;
    limit_close(&key->limit);
}

const struct family *family_redis_cell(void)
{
    static const char *const limiter_key[] = {"algorithm", "max_burst", "count", "period_s", NULL};
    static const char *const op[] = {"try", NULL};
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
