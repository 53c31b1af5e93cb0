/* SPDX-License-Identifier: MIT
   Khenidak/Throttling's log in weir's words: a list of ticks of 100 ns, cleared from its old end.

   Answers equal to the ns. Leaves: the log to weir.  Only here: the clock in ticks, that the peer says the last ns of
   the closed edge as the time to come back, and that it clears at every call, also where its clock then goes back. */
#include "runner.h"

enum { TICK_NS = 100 };

struct list {
    struct limiter limiter;
    uint64_t period_ns;
};

static const char *open_case(void *subject, const struct scene *scene)
{
    struct list *list = subject;
    int64_t count = 0, period_ns = 0;
    if (!field_i64(scene->limiter, "max_in_period", &count) || !field_i64(scene->limiter, "period_ns", &period_ns))
        return "not yet (limiter: count or period is no 63-bit number)";
    list->period_ns = (uint64_t)period_ns / TICK_NS * TICK_NS;
    limiter_open_log(&list->limiter, scene, count, list->period_ns, "edge=closed");
    return NULL;
}

static void step_case(void *subject, struct step *step)
{
    struct list *list = subject;
    weir_decision decision;
    if (limiter_answered(&list->limiter, step)) return;
    step->now.ns = step->now.ns / TICK_NS * TICK_NS;
    limiter_clear_log(&list->limiter, step->now.ns, list->period_ns + 1, false);
    if (!limiter_ask_log(&list->limiter, step, &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_wait(step, "retry_after_ns", decision.verdict == WEIR_DENY ? decision.retry_ns - 1 : 0);
}

static void close_case(void *subject)
{
    struct list *list = subject;
    limiter_close(&list->limiter);
}

const struct family *family_khenidak_log(void)
{
    static const char *const limiter_key[] = {"algorithm", "max_in_period", "period_ns", NULL};
    static const char *const op[] = {"create", "try", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "expect", "state_after", NULL};
    static const struct family family = {.system = "khenidak/Throttling sliding log",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct list),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
