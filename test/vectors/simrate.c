/* SPDX-License-Identifier: MIT
   simrate.c - nosqlbench's present limiter in weir's words: fills are steps, and between them no time passes.

   The peer divides in doubles and cuts, so its numbers are taken over; what weir makes of the same rate may differ from
   them by the last digit only.

   May touch: its subject, the tally through judge.  Promises: sizes, answers and pools equal to the tick.
   Leaves: the filler's clock to the case, the pools to weir. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/simrate.h"
#include "inside.h"
#include "runner.h"

enum { SECOND_NS = 1000000000, POOL_TICKS = 1000000000 };

struct numbers {
    uint64_t tick_ns, per_op, over;
};

struct simrate {
    struct limiter limiter;
    double burst_ratio;
    struct numbers numbers;
};

static int64_t word_of(const struct simrate *simrate, enum simrate_word word)
{
    const uint64_t *state = simrate->limiter.state;
    return (int64_t)state[word];
}

static uint64_t filled_ns(const struct simrate *simrate)
{
    return (uint64_t)word_of(simrate, SIMRATE_FILLED) - 1;
}

/* Cut towards zero; what is no number is 0. */
static uint64_t cut(double value)
{
    if (!(value > 0)) return 0;
    return value < 0x1p62 ? (uint64_t)value : UINT64_C(1) << 62;
}

static struct numbers numbers_of(double rate_per_s, double burst_ratio)
{
    struct numbers numbers = {.tick_ns = SECOND_NS, .over = cut(POOL_TICKS * burst_ratio)};
    if (rate_per_s > 1) numbers.tick_ns = 1;
    else if (rate_per_s > 0.001) numbers.tick_ns = 1000;
    else if (rate_per_s > 0.000001) numbers.tick_ns = 1000000;
    numbers.per_op = cut((double)(SECOND_NS / numbers.tick_ns) / rate_per_s);
    return numbers;
}

/* Apart by more than the last digit that a double has. */
static bool far_apart(uint64_t a, uint64_t b)
{
    const uint64_t apart = a > b ? a - b : b - a;
    return apart > 1 + (a >> 51);
}

/* Puts the peer's numbers in the place of those that weir made of the text, as src/core/simrate.c has them; returns
   weir's. */
static struct numbers exchange(struct rule *rule, struct numbers numbers)
{
    const struct numbers own = {rule->fourth, rule->third, rule->over};
    rule->fourth = numbers.tick_ns;
    rule->third = numbers.per_op;
    rule->over = numbers.over;
    rule->burst = numbers.per_op == 0 ? UINT64_MAX : numbers.over / numbers.per_op;
    rule->flags |= RULE_FOLLOWS_CLOCK;
    return own;
}

/* The plan that weir makes of the rate where it can, with the peer's numbers. */
static const char *make(struct simrate *simrate, weir_plan *plan, double rate_per_s, double burst_ratio)
{
    struct fraction rate;
    char text[128];
    const bool sayable = isfinite(rate_per_s) && rate_per_s > 0 && fraction_of(rate_per_s, &rate) && burst_ratio >= 1 &&
                         burst_ratio <= 1000;
    if (sayable) {
        snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "s algorithm=simrate catchup=%.12f", rate.p, rate.q,
                 burst_ratio);
    }
    const bool said = sayable && weir_plan_parse(plan, text, WEIR_ADMIT, NULL) == 0;
    if (!said && weir_plan_parse(plan, "1/s algorithm=simrate", WEIR_ADMIT, NULL) != 0) return "no simrate";
    simrate->numbers = numbers_of(rate_per_s, burst_ratio);
    const struct numbers own = exchange(inside_rule(plan), simrate->numbers), peer = simrate->numbers;
    if (!said) return NULL;
    const bool same = own.tick_ns == peer.tick_ns && !far_apart(own.per_op, peer.per_op);
    return same && !far_apart(own.over, peer.over) ? NULL : "other numbers than the peer's";
}

static const char *read_and_make(struct simrate *simrate, weir_plan *plan, struct json_object *from)
{
    double rate_per_s = 0;
    if (!field_double(from, "rate_per_s", &rate_per_s)) return "no rate";
    field_double(from, "burst_ratio", &simrate->burst_ratio); /* what is not said stays */
    return make(simrate, plan, rate_per_s, simrate->burst_ratio);
}

/* A fill at that time, also when that is before the last one. */
static void fill(struct simrate *simrate, uint64_t now_ns)
{
    const struct rule *rule = inside_rule(&simrate->limiter.plan);
    simrate_refill(rule, simrate->limiter.state, tick_at(rule, now_ns));
}

static const char *open_case(void *subject, const struct scene *scene)
{
    struct simrate *simrate = subject;
    limiter_open(&simrate->limiter, "1/s algorithm=simrate");
    simrate->burst_ratio = 1;
    const char *unfit = read_and_make(simrate, &simrate->limiter.plan, scene->limiter);
    if (unfit == NULL) fill(simrate, scene->shift_ns);
    return unfit;
}

/* The sizes that the case's limiter lists are answers too. */
static void judge_sizes(const struct simrate *simrate, const struct step *step)
{
    struct step of_limiter = *step;
    of_limiter.expect = step->scene->limiter;
    judge_u64(&of_limiter, "tick_ns", simrate->numbers.tick_ns);
    judge_u64(&of_limiter, "ticks_per_op", simrate->numbers.per_op);
    judge_u64(&of_limiter, "pool_size_ticks", POOL_TICKS);
    judge_u64(&of_limiter, "pool_and_burst_size_ticks", simrate->numbers.over);
    judge_i64(&of_limiter, "initial_active_ticks", word_of(simrate, SIMRATE_ACTIVE));
}

static int64_t total(const struct simrate *simrate)
{
    return word_of(simrate, SIMRATE_ACTIVE) + word_of(simrate, SIMRATE_WAITING);
}

static void set_rate(struct simrate *simrate, struct step *step)
{
    weir_plan plan;
    const char *unfit = read_and_make(simrate, &plan, step->json);
    if (unfit != NULL) {
        judge_stop(step, "rate_per_s", "a rate", unfit);
        return;
    }
    uint64_t *state = simrate->limiter.state;
    inside_change(inside_rule(&simrate->limiter.plan), inside_rule(&plan), state, filled_ns(simrate));
    simrate->limiter.plan = plan;
    judge_bool(step, "ok", true);
    judge_from_core(step, true); /* the state: carry() made it */
}

static void try_op(struct simrate *simrate, struct step *step)
{
    weir_decision decision;
    step->now.ns = filled_ns(simrate);
    if (!limiter_ask(&simrate->limiter, step, 0, &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_i64(step, "backlog_ticks", total(simrate));
}

static void step_case(void *subject, struct step *step)
{
    struct simrate *simrate = subject;
    if (step->index == 0) judge_sizes(simrate, step);
    if (strcmp(step->op, "set_rate") == 0) set_rate(simrate, step);
    else if (strcmp(step->op, "try_op") == 0) try_op(simrate, step);
    else {
        fill(simrate, step->now.ns);
        judge_i64(step, "total_ticks", total(simrate));
    }
    judge_after_i64(step, "active_ticks", word_of(simrate, SIMRATE_ACTIVE));
    judge_after_i64(step, "waiting_ticks", word_of(simrate, SIMRATE_WAITING));
}

static void close_case(void *subject)
{
    struct simrate *simrate = subject;
    limiter_close(&simrate->limiter);
}

const struct family *family_simrate(void)
{
    static const char *const limiter_key[] = {"algorithm",
                                              "rate_per_s",
                                              "burst_ratio",
                                              "tick_ns",
                                              "ticks_per_op",
                                              "pool_size_ticks",
                                              "pool_and_burst_size_ticks",
                                              "initial_active_ticks",
                                              NULL};
    static const char *const op[] = {"refill", "try_op", "set_rate", NULL};
    static const char *const step_key[] = {"t_ns",        "op",     "n",           "rate_per_s",
                                           "burst_ratio", "expect", "state_after", NULL};
    static const struct family family = {.system = "nosqlbench SimRate",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct simrate),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
