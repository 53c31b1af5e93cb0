/* SPDX-License-Identifier: MIT
   limits_fixed.c - the fixed window of limits (Python) in weir's words: opened by the first call, all calls count.

   May touch: its subject, the tally through judge.  Promises: answers equal to the ns.
   Leaves: windows to weir.  Only here: the peer opens the window anew as long as nothing was counted in it, and forgets
   it when it looks at one that is over (should the clock go back into it). */
#include <string.h>

#include "fixed_window.h"
#include "runner.h"

static const char *open_case(void *subject, const struct scene *scene)
{
    struct limit *limit = subject;
    uint64_t count = 0, window_ns = 0;
    if (!field_u64(scene->limiter, "limit", &count) || !field_u64(scene->limiter, "window_ns", &window_ns))
        return "not yet (limiter: limit or window is no 64-bit number)";
    char text[FIXED_WINDOW_TEXT_SIZE];
    fixed_window_write(text, count, window_ns, "align=first count-refused");
    const char *unfit = limit_open(limit, text, 0, 0);
    if (unfit == NULL && limit->accepted) fixed_window_follow(&limit->plan, count);
    return unfit;
}

static void take(struct limit *limit, struct step *step)
{
    const weir_decision before = fixed_window_peek(&limit->plan, limit->state, step->now, 0);
    if (weir_allowed(before) && before.remaining == fixed_window_rule(&limit->plan)->burst) limit_forget(limit);
    weir_decision decision;
    if (!limit_ask(limit, step, 0, &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_u64(step, "remaining", decision.remaining);
    judge_wait(step, "reset_in_ns", weir_full_ns(&limit->plan, &decision));
}

static void look(struct limit *limit, struct step *step)
{
    uint64_t cost = 0;
    if (!field_u64(step->json, "n", &cost)) {
        judge_stop(step, "n", "a whole number from 0 to 2^64 - 2", "another value");
        return;
    }
    const weir_decision decision = fixed_window_peek(&limit->plan, limit->state, step->now, 0);
    if (weir_full_ns(&limit->plan, &decision) == 0) limit_forget(limit);
    judge_bool(step, "allowed", weir_allowed(fixed_window_peek(&limit->plan, limit->state, step->now, cost)));
    judge_u64(step, "remaining", decision.remaining);
    judge_wait(step, "reset_in_ns", weir_full_ns(&limit->plan, &decision));
}

static void step_case(void *subject, struct step *step)
{
    struct limit *limit = subject;
    if (limit_refused(limit, step)) return;
    if (!limit->accepted) judge_stop(step, "limiter", "an accepted limit", limit->error.message);
    else if (strcmp(step->op, "peek") == 0) look(limit, step);
    else take(limit, step);
}

static void close_case(void *subject)
{
    limit_close(subject);
}

const struct family *family_limits_fixed(void)
{
    static const char *const limiter_key[] = {"algorithm", "limit", "window_ns", NULL};
    static const char *const op[] = {"try", "peek", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "expect", "state_after", NULL};
    static const struct family family = {.system = "limits (Python) fixed window",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct limit),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
