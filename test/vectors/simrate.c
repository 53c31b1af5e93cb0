/* SPDX-License-Identifier: MIT
   Nosqlbench's present limiter against peers/simrate.h, step by step: fills are steps, and between them no
   time passes.  Nothing here is an answer of the shipped core, and none is counted as one.

   Sizes, answers and pools equal to the tick. Leaves: the filler's clock to the case. */
#include <string.h>

#include "peers/simrate.h"
#include "runner.h"

struct subject {
    struct simrate simrate;
    double burst_ratio;
};

static bool read_and_set(struct subject *own, struct json_object *from)
{
    double rate_per_s = 0;
    if (!field_double(from, "rate_per_s", &rate_per_s)) return false;
    field_double(from, "burst_ratio", &own->burst_ratio); /* what is not said stays */
    simrate_set_rate(&own->simrate, rate_per_s, own->burst_ratio);
    return true;
}

static const char *open_case(void *subject, const struct scene *scene)
{
    struct subject *own = subject;
    own->burst_ratio = 1;
    own->simrate.filled_ns = scene->shift_ns;
    return read_and_set(own, scene->limiter) ? NULL : "not yet (limiter: no rate)";
}

/* The sizes that the case's limiter lists are answers too. */
static void judge_sizes(const struct simrate *simrate, const struct step *step)
{
    struct step of_limiter = *step;
    of_limiter.expect = step->scene->limiter;
    judge_i64(&of_limiter, "tick_ns", simrate->tick_ns);
    judge_i64(&of_limiter, "ticks_per_op", simrate->per_op);
    judge_i64(&of_limiter, "pool_size_ticks", SIMRATE_POOL);
    judge_i64(&of_limiter, "pool_and_burst_size_ticks", simrate->over);
    judge_i64(&of_limiter, "initial_active_ticks", simrate->active);
}

static void try_op(struct simrate *simrate, struct step *step)
{
    int64_t n = 0;
    if (!field_i64(step->json, "n", &n)) {
        judge_stop(step, "n", "a whole number from 0 to 2^63 - 1", "another value");
        return;
    }
    judge_bool(step, "allowed", simrate_take(simrate, n));
    judge_i64(step, "backlog_ticks", simrate_total(simrate));
}

static void set_rate(struct subject *own, struct step *step)
{
    if (read_and_set(own, step->json)) judge_bool(step, "ok", true);
    else judge_stop(step, "rate_per_s", "a rate", "another value");
}

static void step_case(void *subject, struct step *step)
{
    struct subject *own = subject;
    struct simrate *simrate = &own->simrate;
    judge_from_peers(step);
    if (step->index == 0) judge_sizes(simrate, step);
    if (strcmp(step->op, "set_rate") == 0) set_rate(own, step);
    else if (strcmp(step->op, "try_op") == 0) try_op(simrate, step);
    else {
        simrate_refill(simrate, step->now.ns);
        judge_i64(step, "total_ticks", simrate_total(simrate));
    }
    judge_after_i64(step, "active_ticks", simrate->active);
    judge_after_i64(step, "waiting_ticks", simrate->waiting);
}

static void close_case(void *subject)
{
    (void)subject;
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
                                         .subject_size = sizeof(struct subject),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
