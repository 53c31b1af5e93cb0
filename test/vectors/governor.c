/* SPDX-License-Identifier: MIT
   Governor in weir's words: one permit each interval, `burst` at once.

   Answers equal to the ns. Leaves: GCRA itself to weir. */
#include "runner.h"

static const char *open_case(void *subject, const struct scene *scene)
{
    uint64_t interval_ns = 0;
    int64_t burst = 0;
    if (!field_u64(scene->limiter, "emission_interval_ns", &interval_ns) || !field_i64(scene->limiter, "burst", &burst))
        return "not yet (limiter: interval or burst is no number)";
    limiter_open_gcra(subject, scene, interval_ns, burst);
    return NULL;
}

static void step_case(void *subject, struct step *step)
{
    struct limiter *limiter = subject;
    weir_decision decision;
    if (limiter_answered(limiter, step) || !limiter_step(limiter, step, 0, &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "never", decision.verdict == WEIR_NEVER);
    judge_u64(step, "capacity", limiter->capacity);
    judge_u64(step, "remaining", decision.remaining);
    judge_wait(step, "retry_after_ns", decision.retry_ns);
}

static void close_case(void *subject)
{
    limiter_close(subject);
}

const struct family *family_governor(void)
{
    static const char *const limiter_key[] = {"algorithm", "emission_interval_ns", "burst", NULL};
    static const char *const op[] = {"create", "try", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "expect", "state_after", NULL};
    static const struct family family = {.system = "governor",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .starts_at_zero = true,
                                         .subject_size = sizeof(struct limiter),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
