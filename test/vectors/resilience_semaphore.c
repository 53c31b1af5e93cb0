/* SPDX-License-Identifier: MIT
   resilience_semaphore.c - resilience4j's SemaphoreBasedRateLimiter in weir's words: a cycle that nobody reserves ahead.

   The peer's clock is its ticks: time is what they say.

   May touch: its subject, the tally through judge.  Promises: answers and balance equal.  Leaves: cycles to weir. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/cycle.h"
#include "plan/plan.h"
#include "runner.h"

struct semaphore {
    struct limit limit;
    uint64_t period_ns, ticks;
};

static void write_limit(char *text, size_t size, int64_t limit, uint64_t period_ns)
{
    snprintf(text, size, "%" PRId64 "/%" PRIu64 "ns algorithm=cycle debt=0", limit, period_ns);
}

static const struct rule *rule_of(const struct semaphore *semaphore)
{
    return &plan_inside_const(&semaphore->limit.plan)->rule[0];
}

static uint64_t now_of(const struct semaphore *semaphore)
{
    return semaphore->ticks * semaphore->period_ns;
}

static const char *open_case(void *subject, const struct scene *scene)
{
    struct semaphore *semaphore = subject;
    int64_t limit = 0;
    char text[128];
    if (!field_u64(scene->limiter, "period_ns", &semaphore->period_ns) ||
        !field_i64(scene->limiter, "limit_per_period", &limit))
        return "not yet (limiter: limit or period is no number)";
    write_limit(text, sizeof text, limit, semaphore->period_ns);
    return limit_open(&semaphore->limit, text, 0, 0);
}

static void judge_balance(const struct semaphore *semaphore, struct step *step)
{
    const struct rule *rule = rule_of(semaphore);
    const uint64_t now = tick_at(rule, now_of(semaphore));
    judge_after_i64(step, "permissions", (int64_t)cycle_algorithm()->room(rule, semaphore->limit.state, now));
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
    char text[128];
    weir_plan plan;
    if (!field_i64(step->json, "limit_per_period", &limit)) {
        judge_stop(step, "limit_per_period", "a whole number of 63 bits", "another value");
        return;
    }
    write_limit(text, sizeof text, limit, semaphore->period_ns);
    const bool accepted = weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) == 0;
    if (judge_has(step, "error")) {
        if (accepted) judge_mismatch(step, "error", "a refusal of the limit", "none: weir_plan_parse accepts it");
        return;
    }
    judge_bool(step, "ok", accepted);
    if (!accepted) return;
    uint64_t next[STATE_WORDS_MAX] = {0};
    const struct rule *rule = rule_of(semaphore);
    cycle_algorithm()->carry(rule, &plan_inside(&plan)->rule[0], semaphore->limit.state, next,
                             tick_at(rule, now_of(semaphore)), WEIR_KEEP);
    memcpy(semaphore->limit.state, next, semaphore->limit.state_size);
    semaphore->limit.plan = plan;
}

/* All that is there is taken; nobody can owe. */
static void drain(struct semaphore *semaphore, struct step *step)
{
    const struct rule *rule = rule_of(semaphore);
    cycle_algorithm()->overcharge(rule, semaphore->limit.state, tick_at(rule, now_of(semaphore)), UINT64_MAX);
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
                                         .subject_size = sizeof(struct semaphore),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
