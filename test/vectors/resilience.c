/* SPDX-License-Identifier: MIT
   Resilience4j's two limiters in weir's words: a cycle that may be reserved ahead (AtomicRateLimiter),
   and one that may not (SemaphoreBasedRateLimiter).

   The atomic one books the cycles that have gone by at each call, granted or not, so a change of limit finds the
   balance of the last call.  Before its creation its cycles are cut towards zero: the one that a time belongs to begins
   after it, and the wait is longer by what lies between.  The semaphore's clock is its ticks: time is what they say.

   Answers, balance and cycle equal to the ns. Leaves: cycles and reservations to weir. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/num.h"
#include "inside.h"
#include "runner.h"

enum { TEXT_SIZE = 96 };
enum { ENDS, USED }; /* as src/core/algorithm/cycle.c has them */

struct peer {
    struct limiter limiter;
    uint64_t period_ns;
    const char *options;
    uint64_t booked_ns; /* the time of the last call: when its cycles were booked last */
    /* AtomicRateLimiter: */
    uint64_t created_ns; /* a whole number of periods */
    uint64_t before_ns;  /* added to a time of the peer */
    uint64_t extra_ns;   /* what the present time is told too late */
    /* SemaphoreBasedRateLimiter: */
    uint64_t ticks;
};

static const char *open_peer(struct peer *peer, const struct scene *scene, const char *options, int64_t *initial)
{
    int64_t limit = 0;
    char text[TEXT_SIZE];
    if (!field_u64(scene->limiter, "period_ns", &peer->period_ns) || peer->period_ns == 0 ||
        !field_i64(scene->limiter, "limit_per_period", &limit))
        return "not yet (limiter: limit or period is no number)";
    if (!field_i64(scene->limiter, "initial_permissions", initial)) *initial = limit;
    peer->options = options;
    snprintf(text, sizeof text, "%" PRId64 "/%" PRIu64 "ns algorithm=cycle%s", limit, peer->period_ns, options);
    limiter_open(&peer->limiter, text);
    return NULL;
}

static void book(struct peer *peer, uint64_t now_ns)
{
    const struct rule *rule = inside_rule(&peer->limiter.plan);
    peer->booked_ns = now_ns;
    uint64_t *state = peer->limiter.state;
    /* A permit is charged, and taken off again. */
    uint64_t charged = 1;
    algorithm_charge(rule, state, tick_at(rule, now_ns), &charged);
    state[USED] -= charged;
}

static int64_t left(const struct peer *peer)
{
    const uint64_t *state = peer->limiter.state;
    return (int64_t)(inside_rule_const(&peer->limiter.plan)->burst - state[USED]);
}

static void set_left(struct peer *peer, int64_t permits)
{
    uint64_t *state = peer->limiter.state;
    state[USED] = inside_rule(&peer->limiter.plan)->burst - (uint64_t)permits;
}

static void set_limit(struct peer *peer, struct step *step)
{
    int64_t limit = 0;
    char text[TEXT_SIZE];
    weir_plan to;
    if (!field_i64(step->json, "limit_per_period", &limit)) {
        judge_stop(step, "limit_per_period", "a whole number of 63 bits", "another value");
        return;
    }
    snprintf(text, sizeof text, "%" PRId64 "/%" PRIu64 "ns algorithm=cycle%s", limit, peer->period_ns, peer->options);
    const bool accepted = weir_plan_parse(&to, text, WEIR_ADMIT, NULL) == 0;
    if (accepted) {
        inside_change(inside_rule(&peer->limiter.plan), inside_rule(&to), peer->limiter.state, peer->booked_ns);
        peer->limiter.plan = to;
    }
    judge_from_core(step, true);
    if (judge_has(step, "error")) {
        if (accepted) judge_mismatch(step, "error", "a refusal of the limit", "none: weir_plan_parse accepts it");
        return;
    }
    judge_bool(step, "ok", accepted);
}

static void close_case(void *subject)
{
    struct peer *peer = subject;
    limiter_close(&peer->limiter);
}

/* ---- AtomicRateLimiter -------------------------------------------------------------------------------------- */

static const char *open_atomic(void *subject, const struct scene *scene)
{
    struct peer *peer = subject;
    int64_t initial = 0, zero_ns = 0;
    const char *unfit = open_peer(peer, scene, "", &initial);
    if (unfit != NULL || !peer->limiter.accepted) return unfit;
    field_i64(scene->limiter, "cycle_zero_starts_ns", &zero_ns);
    const bool from_zero = zero_ns >= 0 || scene->shift_ns >= 0 - (uint64_t)zero_ns;
    const uint64_t from_ns = scene->shift_ns + (uint64_t)zero_ns, past_ns = from_ns % peer->period_ns;
    peer->created_ns = from_zero ? add_saturating(from_ns, past_ns == 0 ? 0 : peer->period_ns - past_ns) : 0;
    peer->before_ns = peer->created_ns - from_ns;
    book(peer, peer->created_ns);
    set_left(peer, initial);
    return NULL;
}

/* The peer's time in weir's: from the creation on as it is, before it cut to where the next cycle begins. */
static void set_time(struct peer *peer, struct step *step)
{
    const uint64_t zero_ns = subtract_to_zero(peer->created_ns, peer->before_ns);
    peer->extra_ns = 0;
    if (step->now.ns >= zero_ns) {
        step->now.ns = add_saturating(step->now.ns, peer->before_ns);
        return;
    }
    const uint64_t back_ns = zero_ns - step->now.ns;
    peer->extra_ns = back_ns % peer->period_ns;
    step->now.ns = peer->created_ns - (back_ns - peer->extra_ns);
}

static uint64_t wait_for_one_ns(const struct peer *peer, weir_instant now)
{
    uint64_t copy[STATE_WORDS_MAX];
    memcpy(copy, peer->limiter.state, peer->limiter.state_size);
    const uint64_t wait_ns = weir_decide_within(&peer->limiter.plan, copy, now, 1, WEIR_FOREVER).delay_ns;
    return wait_ns == 0 ? 0 : wait_ns + peer->extra_ns;
}

static void judge_books(const struct peer *peer, struct step *step)
{
    const uint64_t *state = peer->limiter.state;
    const int64_t ends_ns = (int64_t)(state[ENDS] - peer->created_ns);
    judge_after_i64(step, "permissions", left(peer));
    judge_from_core(step, true);
    judge_after_i64(step, "cycle", ends_ns / (int64_t)peer->period_ns - 1);
    judge_after_i64(step, "wait_for_one_ns", (int64_t)wait_for_one_ns(peer, step->now));
}

static void try_atomic(struct peer *peer, struct step *step)
{
    weir_decision decision;
    uint64_t wait_max_ns = 0;
    book(peer, step->now.ns);
    if (!field_wait(step->json, "max_wait_ns", &wait_max_ns)) { /* no wait is so short */
        judge_bool(step, "allowed", false);
        return;
    }
    if (!limiter_step(&peer->limiter, step, subtract_to_zero(wait_max_ns, peer->extra_ns), &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_wait(step, "wait_ns", decision.delay_ns == 0 ? 0 : decision.delay_ns + peer->extra_ns);
    judge_books(peer, step);
}

/* The peer takes what was left when it was asked last, also when that cycle is over. */
static void drain_atomic(struct peer *peer, struct step *step)
{
    const int64_t before = left(peer);
    book(peer, step->now.ns);
    set_left(peer, left(peer) - before);
    judge_bool(step, "ok", true);
    judge_books(peer, step);
}

static void step_atomic(void *subject, struct step *step)
{
    struct peer *peer = subject;
    if (peer->limiter.accepted) set_time(peer, step);
    if (strcmp(step->op, "set_limit") == 0 && peer->limiter.accepted) set_limit(peer, step);
    else if (limiter_answered(&peer->limiter, step)) return;
    else if (strcmp(step->op, "drain") == 0) drain_atomic(peer, step);
    else try_atomic(peer, step);
}

const struct family *family_resilience_atomic(void)
{
    static const char *const limiter_key[] = {
        "algorithm", "period_ns", "limit_per_period", "cycle_zero_starts_ns", "initial_permissions", NULL};
    static const char *const op[] = {"create", "try", "set_limit", "drain", NULL};
    static const char *const step_key[] = {"t_ns",   "op",          "n", "max_wait_ns", "limit_per_period",
                                           "expect", "state_after", NULL};
    static const struct family family = {.system = "resilience4j AtomicRateLimiter",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct peer),
                                         .open = open_atomic,
                                         .step = step_atomic,
                                         .close = close_case};
    return &family;
}

/* ---- SemaphoreBasedRateLimiter ------------------------------------------------------------------------------ */

static const char *open_semaphore(void *subject, const struct scene *scene)
{
    int64_t initial = 0;
    struct peer *peer = subject;
    const char *unfit = open_peer(peer, scene, " debt=0", &initial);
    if (unfit != NULL || !peer->limiter.accepted) return unfit;
    book(peer, 0);
    set_left(peer, initial);
    return NULL;
}

static void try_semaphore(struct peer *peer, struct step *step)
{
    weir_decision decision;
    step->now.ns = peer->booked_ns;
    if (!limiter_step(&peer->limiter, step, 0, &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "never", decision.verdict == WEIR_NEVER);
    judge_wait(step, "wait_ns", decision.delay_ns);
}

/* All that is there is taken; nobody can owe. */
static void drain_semaphore(struct peer *peer, struct step *step)
{
    const struct rule *rule = inside_rule(&peer->limiter.plan);
    uint64_t all = UINT64_MAX;
    algorithm_charge(rule, peer->limiter.state, tick_at(rule, peer->booked_ns), &all);
    judge_bool(step, "ok", true);
}

static void step_semaphore(void *subject, struct step *step)
{
    struct peer *peer = subject;
    if (strcmp(step->op, "set_limit") == 0 && peer->limiter.accepted) set_limit(peer, step);
    else if (limiter_answered(&peer->limiter, step)) return;
    else if (strcmp(step->op, "drain") == 0) drain_semaphore(peer, step);
    else if (strcmp(step->op, "try") == 0) try_semaphore(peer, step);
    else {
        peer->booked_ns = ++peer->ticks * peer->period_ns;
        judge_bool(step, "ok", true);
    }
    const struct rule *rule = inside_rule(&peer->limiter.plan);
    const uint64_t room =
        algorithm_at(rule, algorithm_of(rule), peer->limiter.state, tick_at(rule, peer->booked_ns)).room;
    judge_from_core(step, true);
    judge_after_i64(step, "permissions", (int64_t)room);
}

const struct family *family_resilience_semaphore(void)
{
    static const char *const limiter_key[] = {
        "algorithm", "period_ns", "limit_per_period", "cycle_zero_starts_ns", "initial_permissions", NULL};
    static const char *const op[] = {"create", "try", "set_limit", "drain", "refresh", NULL};
    static const char *const step_key[] = {"t_ns",   "op",          "n", "max_wait_ns", "limit_per_period",
                                           "expect", "state_after", NULL};
    static const struct family family = {.system = "resilience4j SemaphoreBasedRateLimiter",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct peer),
                                         .open = open_semaphore,
                                         .step = step_semaphore,
                                         .close = close_case};
    return &family;
}
