/* SPDX-License-Identifier: MIT
   Rate-limiter-flexible in memory in weir's words: opened by the first call, all calls count, a block.

   Answers equal to the ns. Leaves: windows and blocks to weir.  Only here: whole ms; a window of 0 is one that never
   ends; a block that ends before its window would have. */
#include "inside.h"
#include "runner.h"

enum { MS_NS = 1000000 };
enum { END_WORD, COUNT_WORD }; /* as src/core/algorithm/fixed_window.c has them; refused calls are counted too */

struct key {
    struct limiter limiter;
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
    limiter_open_window(&key->limiter, count, key->endless ? 1 : window_ns, "align=first count-refused");
    if (!key->limiter.accepted) return NULL;
    struct rule *rule = inside_rule(&key->limiter.plan);
    rule->block_ns = block_ns;
    if (key->endless) rule->period_ns = UINT64_MAX;
    return NULL;
}

/* The peer's block may shorten a window, weir's does not. */
static void end_with_block(struct key *key, struct step *step, bool blocked, weir_decision *decision)
{
    uint64_t *state = key->limiter.state;
    const struct rule *rule = inside_rule_const(&key->limiter.plan);
    const uint64_t until = add_saturating(tick_at(rule, step->now.ns), rule->block_ns);
    if (blocked || weir_allowed(*decision) || rule->block_ns == 0 || until == state[END_WORD]) return;
    state[END_WORD] = until;
    *decision = inside_peek(rule, state, step->now, 1);
    judge_from_core(step, false);
}

static void judge_reset(struct key *key, struct step *step, const weir_decision *decision)
{
    const uint64_t full_ns = weir_decide_full_ns(&key->limiter.plan, decision);
    const bool never_ends = key->endless && full_ns >= UINT64_MAX - 1 - step->now.ns;
    if (never_ends) judge_i64(step, "reset_in_ns", -MS_NS); /* as the peer says it */
    else judge_wait(step, "reset_in_ns", full_ns);
    judge_u64(step, "consumed", ((const uint64_t *)key->limiter.state)[COUNT_WORD]);
}

static void step_case(void *subject, struct step *step)
{
    struct key *key = subject;
    weir_decision decision;
    step->now.ns -= step->now.ns % MS_NS;
    if (limiter_answered(&key->limiter, step)) return;
    limiter_forget_left(&key->limiter, step);
    const uint64_t *state = key->limiter.state;
    const struct rule *rule = inside_rule_const(&key->limiter.plan);
    const bool blocked = tick_at(rule, step->now.ns) < state[END_WORD] && state[COUNT_WORD] > rule->burst;
    if (!limiter_ask_window(&key->limiter, step, &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_u64(step, "remaining", decision.remaining);
    end_with_block(key, step, blocked, &decision);
    judge_reset(key, step, &decision);
}

static void close_case(void *subject)
{
    struct key *key = subject;
    limiter_close(&key->limiter);
}

const struct family *family_flexible(void)
{
    static const char *const limiter_key[] = {"algorithm", "limit", "window_ns", "block_ns", NULL};
    static const char *const op[] = {"create", "try", NULL};
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
