/* SPDX-License-Identifier: MIT
   resilience_atomic.c - resilience4j's AtomicRateLimiter in weir's words: a cycle that may be reserved ahead.

   The peer books the cycles that have gone by at each call, granted or not, so a change of limit finds the balance of
   the last call.  Before its creation its cycles are cut towards zero: the one that a time belongs to begins after it,
   and the wait is longer by what lies between.

   May touch: its subject, the tally through judge.  Promises: answers, balance and cycle equal to the ns.
   Leaves: cycles and reservations to weir. */
#include <string.h>

#include "core/num.h"
#include "resilience.h"
#include "runner.h"

struct atomic {
    struct limit limit;
    uint64_t period_ns, created_ns; /* a whole number of periods */
    uint64_t before_ns;             /* created_ns less the peer's time zero */
    uint64_t extra_ns;              /* what the present time is told too late */
    uint64_t booked_ns;             /* when its cycles were booked last */
};

/* The peer's time in weir's: from the creation on as it is, before it cut to where the next cycle begins. */
static void set_time(struct atomic *atomic, struct step *step)
{
    const uint64_t zero_ns = atomic->created_ns - atomic->before_ns;
    atomic->extra_ns = 0;
    if (step->now.ns >= zero_ns) {
        step->now.ns = add_saturating(step->now.ns, atomic->before_ns);
        return;
    }
    const uint64_t back_ns = zero_ns - step->now.ns;
    atomic->extra_ns = back_ns % atomic->period_ns;
    step->now.ns = atomic->created_ns - (back_ns - atomic->extra_ns);
}

static void book(struct atomic *atomic, uint64_t now_ns)
{
    atomic->booked_ns = now_ns;
    resilience_book(&atomic->limit.plan, atomic->limit.state, now_ns);
}

static const char *open_case(void *subject, const struct scene *scene)
{
    struct atomic *atomic = subject;
    int64_t limit = 0, initial = 0, zero_ns = 0;
    char text[RESILIENCE_TEXT_SIZE];
    if (!field_u64(scene->limiter, "period_ns", &atomic->period_ns) || atomic->period_ns == 0 ||
        !field_i64(scene->limiter, "limit_per_period", &limit))
        return "not yet (limiter: limit or period is no number)";
    if (!field_i64(scene->limiter, "initial_permissions", &initial)) initial = limit;
    if (field_i64(scene->limiter, "cycle_zero_starts_ns", &zero_ns) && zero_ns < 0)
        return "not yet (limiter: made before time zero)";
    resilience_write(text, limit, atomic->period_ns, "");
    const char *unfit = limit_open(&atomic->limit, text, 0, 0);
    if (unfit != NULL || !atomic->limit.accepted) return unfit;
    const uint64_t from_ns = scene->shift_ns + (uint64_t)zero_ns, past_ns = from_ns % atomic->period_ns;
    atomic->before_ns = past_ns == 0 ? 0 : atomic->period_ns - past_ns;
    atomic->created_ns = from_ns + atomic->before_ns;
    book(atomic, atomic->created_ns);
    resilience_set_left(&atomic->limit.plan, atomic->limit.state, initial);
    return NULL;
}

static void judge_books(const struct atomic *atomic, struct step *step)
{
    const int64_t ends_ns = (int64_t)(resilience_ends_ns(atomic->limit.state) - atomic->created_ns);
    judge_after_i64(step, "permissions", resilience_left(&atomic->limit.plan, atomic->limit.state));
    judge_after_i64(step, "cycle", ends_ns / (int64_t)atomic->period_ns - 1);
    const uint64_t one_ns = resilience_wait_for_one(&atomic->limit.plan, atomic->limit.state, step->now.ns);
    judge_after_i64(step, "wait_for_one_ns", (int64_t)(one_ns == 0 ? 0 : one_ns + atomic->extra_ns));
}

static void try_it(struct atomic *atomic, struct step *step)
{
    weir_decision decision;
    uint64_t wait_max_ns = 0;
    int64_t below_zero = 0;
    if (field_i64(step->json, "n", &below_zero) && below_zero < 0) {
        judge_has(step, "error"); /* not even expressible */
        return;
    }
    if (limit_refused(&atomic->limit, step)) return;
    book(atomic, step->now.ns);
    if (json_object_object_get_ex(step->json, "max_wait_ns", NULL) &&
        !field_u64(step->json, "max_wait_ns", &wait_max_ns)) {
        wait_max_ns = WEIR_FOREVER;
        /* No wait is so short. */
        if (field_i64(step->json, "max_wait_ns", &below_zero) && below_zero < 0) {
            judge_bool(step, "allowed", false);
            return;
        }
    }
    if (!limit_ask(&atomic->limit, step, subtract_to_zero(wait_max_ns, atomic->extra_ns), &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_wait(step, "wait_ns", decision.delay_ns == 0 ? 0 : decision.delay_ns + atomic->extra_ns);
    judge_books(atomic, step);
}

static void set_limit(struct atomic *atomic, struct step *step)
{
    int64_t limit = 0;
    char text[RESILIENCE_TEXT_SIZE];
    if (!field_i64(step->json, "limit_per_period", &limit)) {
        judge_stop(step, "limit_per_period", "a whole number of 63 bits", "another value");
        return;
    }
    resilience_write(text, limit, atomic->period_ns, "");
    const bool accepted = resilience_change(&atomic->limit.plan, atomic->limit.state, atomic->booked_ns, text);
    if (judge_has(step, "error")) {
        if (accepted) judge_mismatch(step, "error", "a refusal of the limit", "none: weir_plan_parse accepts it");
        return;
    }
    judge_bool(step, "ok", accepted);
}

/* The peer takes what was left when it was asked last, also when that cycle is over. */
static void drain(struct atomic *atomic, struct step *step)
{
    const weir_plan *plan = &atomic->limit.plan;
    uint64_t *state = atomic->limit.state;
    const int64_t before = resilience_left(plan, state);
    book(atomic, step->now.ns);
    resilience_set_left(plan, state, resilience_left(plan, state) - before);
    judge_bool(step, "ok", true);
    judge_books(atomic, step);
}

static void step_case(void *subject, struct step *step)
{
    struct atomic *atomic = subject;
    if (!atomic->limit.accepted) {
        if (!limit_refused(&atomic->limit, step)) judge_stop(step, "limiter", "an accepted limit", "a refused one");
        return;
    }
    set_time(atomic, step);
    if (strcmp(step->op, "set_limit") == 0) set_limit(atomic, step);
    else if (strcmp(step->op, "drain") == 0) drain(atomic, step);
    else try_it(atomic, step);
}

static void close_case(void *subject)
{
    struct atomic *atomic = subject;
    limit_close(&atomic->limit);
}

const struct family *family_resilience_atomic(void)
{
    static const char *const limiter_key[] = {
        "algorithm", "period_ns", "limit_per_period", "cycle_zero_starts_ns", "initial_permissions", NULL};
    static const char *const op[] = {"try", "set_limit", "drain", NULL};
    static const char *const step_key[] = {"t_ns",   "op",          "n", "max_wait_ns", "limit_per_period",
                                           "expect", "state_after", NULL};
    static const struct family family = {.system = "resilience4j AtomicRateLimiter",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .any_cost = true,
                                         .subject_size = sizeof(struct atomic),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
