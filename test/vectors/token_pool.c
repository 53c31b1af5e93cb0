/* SPDX-License-Identifier: MIT
   The three pools of nosqlbench and EngineBlock against peers/pools.h, step by step.  They are what
   hybrid is held to (property/pools); nothing here is an answer of the shipped core, and none is counted as one.

   Sizes, answers and both pools equal to the token. Leaves: clock and filler: a case starts with empty pools, and its
   refills are its clock. */
#include <math.h>
#include <string.h>

#include "peers/pools.h"
#include "runner.h"

struct subject {
    struct pools pools;
    double burst_ratio;
};

/* What is over 63 bits in the pools is undefined there. */
static const char *unfit_steps(const struct scene *scene)
{
    double sum = 0;
    for (size_t i = 0; i < json_object_array_length(scene->steps); i++) {
        int64_t tokens = 0;
        struct json_object *step = json_object_array_get_idx(scene->steps, i);
        if (!field_i64(step, "tokens", &tokens)) continue;
        sum += fabs((double)tokens);
    }
    return sum >= 0x1p63 ? "not yet (backlog over 63 bits)" : NULL;
}

static const char *open_case(void *subject, const struct scene *scene)
{
    struct subject *own = subject;
    double rate_per_s = 0;
    int64_t pool = 0;
    own->burst_ratio = 1;
    field_double(scene->limiter, "burst_ratio", &own->burst_ratio);
    if (field_double(scene->limiter, "rate_per_s", &rate_per_s))
        pools_set_rate(&own->pools, rate_per_s, own->burst_ratio);
    else if (field_i64(scene->limiter, "pool_size", &pool)) pools_set_size(&own->pools, pool, own->burst_ratio);
    else return "not yet (limiter: neither rate nor pool size)";
    return unfit_steps(scene);
}

static void judge_sizes(const struct pools *pools, struct step *step)
{
    judge_i64(step, "pool_size", pools->pool);
    judge_i64(step, "burst_size", pools->over - pools->pool);
    judge_i64(step, "pool_and_burst_size", pools->over);
    judge_i64(step, "tokens_per_op", pools->per_op);
}

/* The sizes that the case's limiter lists are answers too. */
static void judge_first_sizes(const struct pools *pools, const struct step *step)
{
    struct step of_limiter = *step;
    of_limiter.expect = step->scene->limiter;
    judge_sizes(pools, &of_limiter);
}

static void take(struct pools *pools, struct step *step, int64_t tokens)
{
    judge_bool(step, "allowed", pools_take(pools, tokens));
    judge_i64(step, "backlog", pools->active + pools->waiting);
}

/* What is not said stays. */
static void set_rate(struct subject *own, struct step *step)
{
    double rate_per_s = 0;
    field_double(step->json, "burst_ratio", &own->burst_ratio);
    if (field_double(step->json, "rate_per_s", &rate_per_s)) pools_set_rate(&own->pools, rate_per_s, own->burst_ratio);
    else judge_stop(step, "rate_per_s", "a number", "another value");
    judge_sizes(&own->pools, step);
}

static int64_t tokens_of_ops(const struct pools *pools, const struct step *step)
{
    int64_t ops = 1;
    field_i64(step->json, "n", &ops);
    return (int64_t)((uint64_t)ops * (uint64_t)pools->per_op);
}

static void step_case(void *subject, struct step *step)
{
    struct subject *own = subject;
    struct pools *pools = &own->pools;
    int64_t tokens = 0;
    const bool has_tokens = field_i64(step->json, "tokens", &tokens);
    const bool needs_tokens =
        strcmp(step->op, "refill") == 0 || strcmp(step->op, "take_up_to") == 0 || strcmp(step->op, "try_take") == 0;
    judge_from_peers(step);
    if (step->index == 0) judge_first_sizes(pools, step);
    if (needs_tokens && !has_tokens) judge_stop(step, "tokens", "a whole number of 63 bits", "another value");
    else if (strcmp(step->op, "refill") == 0) judge_i64(step, "total", pools_refill(pools, tokens));
    else if (strcmp(step->op, "take_up_to") == 0) judge_i64(step, "taken", pools_take_up_to(pools, tokens));
    else if (strcmp(step->op, "try_take") == 0) take(pools, step, tokens);
    else if (strcmp(step->op, "try_op") == 0) take(pools, step, tokens_of_ops(pools, step));
    else if (strcmp(step->op, "restart") == 0) judge_i64(step, "dropped", pools_restart(pools));
    else if (strcmp(step->op, "set_rate") == 0) set_rate(own, step);
    judge_after_i64(step, "active", pools->active);
    judge_after_i64(step, "waiting", pools->waiting);
}

static void close_case(void *subject)
{
    (void)subject;
}

const struct family *family_token_pool(void)
{
    static const char *const limiter_key[] = {"algorithm",  "rate_per_s",          "burst_ratio",   "pool_size",
                                              "burst_size", "pool_and_burst_size", "tokens_per_op", NULL};
    static const char *const op[] = {"refill", "take_up_to", "try_take", "try_op", "restart", "set_rate", NULL};
    static const char *const step_key[] = {"t_ns",        "op",     "n",           "tokens", "rate_per_s",
                                           "burst_ratio", "expect", "state_after", NULL};
    static const struct family family = {.system = "nosqlbench/EngineBlock token pool",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct subject),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
