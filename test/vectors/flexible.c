/* SPDX-License-Identifier: MIT
   flexible.c - rate-limiter-flexible in memory in weir's words: opened by the first call, all calls count, a block.

   May touch: its subject, the tally through judge.  Promises: answers equal to the ns.
   Leaves: windows and blocks to weir.  Only here: whole ms; a window of 0 is one that never ends. */
#include "fixed_window.h"
#include "runner.h"

enum { MS_NS = 1000000 };

struct key {
    struct limit limit;
    bool endless;
};

static const char *open_case(void *subject, const struct scene *scene)
{
    struct key *key = subject;
    uint64_t count = 0, window_ns = 0, block_ns = 0;
    if (!field_u64(scene->limiter, "limit", &count) || !field_u64(scene->limiter, "window_ns", &window_ns))
        return "not yet (limiter: limit or window is no 64-bit number)";
    const bool has_block = json_object_object_get_ex(scene->limiter, "block_ns", NULL);
    if (has_block && !field_u64(scene->limiter, "block_ns", &block_ns))
        return "not yet (limiter: block is no 64-bit number)";
    key->endless = window_ns == 0;
    char text[FIXED_WINDOW_TEXT_SIZE];
    fixed_window_write(text, count, key->endless ? 1 : window_ns, "align=first count-refused");
    const char *unfit = limit_open(&key->limit, text, 0, 0);
    if (unfit != NULL || !key->limit.accepted) return unfit;
    fixed_window_follow(&key->limit.plan, count);
    fixed_window_rule(&key->limit.plan)->block_ns = block_ns; /* in weir's words it never shortens a window */
    if (key->endless) fixed_window_rule(&key->limit.plan)->period_ns = UINT64_MAX;
    return NULL;
}

static void judge_reset(struct key *key, struct step *step, const weir_decision *decision)
{
    const uint64_t full_ns = weir_full_ns(&key->limit.plan, decision);
    const bool never_ends = key->endless && full_ns >= UINT64_MAX - 1 - step->now.ns;
    if (never_ends) judge_i64(step, "reset_in_ns", -MS_NS); /* as the peer says it */
    else judge_wait(step, "reset_in_ns", full_ns);
    judge_u64(step, "consumed", fixed_window_count(key->limit.state));
}

static void step_case(void *subject, struct step *step)
{
    struct key *key = subject;
    weir_decision decision;
    step->now.ns -= step->now.ns % MS_NS;
    if (limit_refused(&key->limit, step) || !limit_ask(&key->limit, step, 0, &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_u64(step, "remaining", decision.remaining);
    judge_reset(key, step, &decision);
}

static void close_case(void *subject)
{
    struct key *key = subject;
    limit_close(&key->limit);
}

const struct family *family_flexible(void)
{
    static const char *const limiter_key[] = {"algorithm", "limit", "window_ns", "block_ns", NULL};
    static const char *const op[] = {"try", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "expect", "state_after", NULL};
    static const struct family family = {.system = "rate-limiter-flexible",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct key),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
