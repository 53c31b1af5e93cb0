/* SPDX-License-Identifier: MIT
   The fixed window of limits (Python) in weir's words: opened by the first call, all calls count.

   Answers equal to the ns. Leaves: windows to weir.  Only here: the peer opens the window anew as long as nothing was
   counted in it, and forgets it when it looks at one that is over (should the clock go back into it). */
#include <string.h>

#include "inside.h"
#include "runner.h"

static const char *open_case(void *subject, const struct scene *scene)
{
    struct limiter *limiter = subject;
    uint64_t count = 0, window_ns = 0;
    if (!field_u64(scene->limiter, "limit", &count) || !field_u64(scene->limiter, "window_ns", &window_ns))
        return "not yet (limiter: limit or window is no 64-bit number)";
    limiter_open_window(limiter, count, window_ns, "align=first count-refused");
    return NULL;
}

static void take(struct limiter *limiter, struct step *step)
{
    const struct rule *rule = inside_rule(&limiter->plan);
    const weir_decision before = inside_peek(rule, limiter->state, step->now, 0);
    if (weir_allowed(before) && before.remaining == rule->burst) limiter_forget(limiter);
    weir_decision decision;
    if (!limiter_ask_window(limiter, step, &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_u64(step, "remaining", decision.remaining);
    judge_wait(step, "reset_in_ns", weir_decide_full_ns(&limiter->plan, &decision));
}

static void look(struct limiter *limiter, struct step *step)
{
    uint64_t cost = 0;
    if (!field_u64(step->json, "n", &cost)) {
        judge_stop(step, "n", "a whole number from 0 to 2^64 - 1", "another value");
        return;
    }
    const struct rule *rule = inside_rule(&limiter->plan);
    const weir_decision decision = inside_peek(rule, limiter->state, step->now, 0);
    if (weir_decide_full_ns(&limiter->plan, &decision) == 0) limiter_forget(limiter);
    judge_from_core(step, true);
    judge_bool(step, "allowed", weir_allowed(inside_peek(rule, limiter->state, step->now, cost)));
    judge_u64(step, "remaining", decision.remaining);
    judge_wait(step, "reset_in_ns", weir_decide_full_ns(&limiter->plan, &decision));
}

static void step_case(void *subject, struct step *step)
{
    struct limiter *limiter = subject;
    if (limiter_answered(limiter, step)) return;
    limiter_forget_left(limiter, step);
    if (strcmp(step->op, "peek") == 0) look(limiter, step);
    else take(limiter, step);
}

static void close_case(void *subject)
{
    limiter_close(subject);
}

const struct family *family_limits_fixed(void)
{
    static const char *const limiter_key[] = {"algorithm", "limit", "window_ns", NULL};
    static const char *const op[] = {"create", "try", "peek", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "expect", "state_after", NULL};
    static const struct family family = {.system = "limits (Python) fixed window",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct limiter),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
