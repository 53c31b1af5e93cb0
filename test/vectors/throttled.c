/* SPDX-License-Identifier: MIT
   Throttled in weir's words: burst = its max_burst + 1.

   Answers equal to the ns. Leaves: GCRA itself to weir.  Only here: for what can never pass throttled reports an
   untouched limit. */
#include "runner.h"

static const char *open_case(void *subject, const struct scene *scene)
{
    uint64_t interval_ns = 0;
    int64_t max_burst = 0;
    if (!field_u64(scene->limiter, "emission_interval_ns", &interval_ns) ||
        !field_i64(scene->limiter, "max_burst", &max_burst) || max_burst == INT64_MAX)
        return "not yet (limiter: interval or burst is no number)";
    limiter_open_gcra(subject, scene, interval_ns, max_burst + 1);
    return NULL;
}

static void step_case(void *subject, struct step *step)
{
    struct limiter *limiter = subject;
    weir_decision decision;
    if (limiter_answered(limiter, step) || !limiter_step(limiter, step, 0, &decision)) return;
    const bool never = decision.verdict == WEIR_NEVER;
    if (weir_allowed(decision)) limiter_keep_time(limiter, step->now); /* also when nothing was taken */
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "never", never);
    judge_u64(step, "limit", limiter->capacity);
    judge_u64(step, "remaining", never ? limiter->capacity : decision.remaining);
    judge_wait(step, "reset_in_ns", never ? 0 : weir_decide_full_ns(&limiter->plan, &decision));
    judge_wait(step, "retry_after_ns", decision.retry_ns);
}

static void close_case(void *subject)
{
    limiter_close(subject);
}

const struct family *family_throttled(void)
{
    static const char *const limiter_key[] = {"algorithm", "emission_interval_ns", "max_burst", "limit", NULL};
    static const char *const op[] = {"create", "try", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "expect", "state_after", NULL};
    static const struct family family = {.system = "throttled",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct limiter),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
