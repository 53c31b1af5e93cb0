/* SPDX-License-Identifier: MIT
   resilience_semaphore.c - resilience4j's SemaphoreBasedRateLimiter in weir's words: a cycle without
   reservations.

   The peer's clock is its ticks: time is what they say.

   May touch: its subject, the tally through judge.  Promises: answers and balance equal.  Leaves: cycles to weir. */
#include <string.h>

#include "resilience.h"
#include "runner.h"

struct semaphore {
    struct limit limit;
    uint64_t period_ns, ticks;
};

static uint64_t now_of(const struct semaphore *semaphore)
{
    return semaphore->ticks * semaphore->period_ns;
}

static const char *open_case(void *subject, const struct scene *scene)
{
    struct semaphore *semaphore = subject;
    int64_t limit = 0;
    char text[RESILIENCE_TEXT_SIZE];
    if (!field_u64(scene->limiter, "period_ns", &semaphore->period_ns) ||
        !field_i64(scene->limiter, "limit_per_period", &limit))
        return "not yet (limiter: limit or period is no number)";
    resilience_write(text, limit, semaphore->period_ns, " debt=0");
    return limit_open(&semaphore->limit, text, 0, 0);
}

static void judge_balance(const struct semaphore *semaphore, struct step *step)
{
    const struct limit *limit = &semaphore->limit;
    judge_after_i64(step, "permissions", (int64_t)resilience_room(&limit->plan, limit->state, now_of(semaphore)));
}

static void try_it(struct semaphore *semaphore, struct step *step)
{
    weir_decision decision;
    int64_t below_zero = 0;
    if (field_i64(step->json, "n", &below_zero) && below_zero < 0) {
        judge_has(step, "error"); /* not even expressible */
        return;
    }
    if (limit_refused(&semaphore->limit, step)) return;
    step->now.ns = now_of(semaphore);
    if (!limit_ask(&semaphore->limit, step, 0, &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "never", decision.verdict == WEIR_NEVER);
    judge_wait(step, "wait_ns", decision.delay_ns);
}

static void set_limit(struct semaphore *semaphore, struct step *step)
{
    int64_t limit = 0;
    char text[RESILIENCE_TEXT_SIZE];
    if (!field_i64(step->json, "limit_per_period", &limit)) {
        judge_stop(step, "limit_per_period", "a whole number of 63 bits", "another value");
        return;
    }
    resilience_write(text, limit, semaphore->period_ns, " debt=0");
    const bool accepted = resilience_change(&semaphore->limit.plan, semaphore->limit.state, now_of(semaphore), text);
    if (judge_has(step, "error")) {
        if (accepted) judge_mismatch(step, "error", "a refusal of the limit", "none: weir_plan_parse accepts it");
        return;
    }
    judge_bool(step, "ok", accepted);
}

/* All that is there is taken; nobody can owe. */
static void drain(struct semaphore *semaphore, struct step *step)
{
    resilience_drain(&semaphore->limit.plan, semaphore->limit.state, now_of(semaphore));
    judge_bool(step, "ok", true);
}

static void step_case(void *subject, struct step *step)
{
    struct semaphore *semaphore = subject;
    if (!semaphore->limit.accepted) {
        if (!limit_refused(&semaphore->limit, step)) judge_stop(step, "limiter", "an accepted limit", "a refused one");
        return;
    }
    if (strcmp(step->op, "set_limit") == 0) set_limit(semaphore, step);
    else if (strcmp(step->op, "drain") == 0) drain(semaphore, step);
    else if (strcmp(step->op, "try") == 0) try_it(semaphore, step);
    else {
        semaphore->ticks++;
        judge_bool(step, "ok", true);
    }
    judge_balance(semaphore, step);
}

static void close_case(void *subject)
{
    struct semaphore *semaphore = subject;
    limit_close(&semaphore->limit);
}

const struct family *family_resilience_semaphore(void)
{
    static const char *const limiter_key[] = {"algorithm", "period_ns", "limit_per_period", "initial_permissions",
                                              NULL};
    static const char *const op[] = {"try", "set_limit", "drain", "refresh", NULL};
    static const char *const step_key[] = {"t_ns",   "op",          "n", "max_wait_ns", "limit_per_period",
                                           "expect", "state_after", NULL};
    static const struct family family = {.system = "resilience4j SemaphoreBasedRateLimiter",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .any_cost = true,
                                         .subject_size = sizeof(struct semaphore),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
