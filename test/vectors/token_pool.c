/* SPDX-License-Identifier: MIT
   token_pool.c - the three pools of nosqlbench and EngineBlock against core/pools.h, step by step.

   May touch: its subject, the tally through judge.  Promises: sizes, answers and both pools equal to the token.
   Leaves: clock and filler: a case starts with empty pools, and its refills are its clock. */
#include <math.h>
#include <string.h>

#include "core/pools.h"
#include "runner.h"

static bool usable_rate(struct json_object *from, double *rate_per_s, double *burst_ratio)
{
    return field_double(from, "rate_per_s", rate_per_s) && field_double(from, "burst_ratio", burst_ratio) &&
           isfinite(*rate_per_s) && isfinite(*burst_ratio) && *rate_per_s > 0 && *burst_ratio >= 0;
}

/* In core/pools.h a backlog over 63 bits is undefined. */
static const char *unfit_steps(const struct scene *scene, bool has_rate)
{
    int64_t sum = 0;
    for (size_t i = 0; i < json_object_array_length(scene->steps); i++) {
        struct json_object *step = json_object_array_get_idx(scene->steps, i);
        const char *op = json_object_get_string(json_object_object_get(step, "op"));
        int64_t tokens = 0;
        double rate_per_s = 0;
        double burst_ratio = 0;
        const bool one_op = strcmp(op, "try_op") == 0;
        if (strcmp(op, "set_rate") == 0) {
            if (!usable_rate(step, &rate_per_s, &burst_ratio)) return "not yet (set_rate: no finite rate above 0)";
            has_rate = true;
        }
        if (one_op && !has_rate) return "not yet (try_op without a rate)";
        if (one_op && (!field_i64(step, "n", &tokens) || tokens != 1)) return "not yet (try_op of other than 1)";
        if (strcmp(op, "refill") != 0) continue;
        if (!field_i64(step, "tokens", &tokens) || tokens < 0) return "not yet (refill below 0)";
        if (tokens > INT64_MAX - sum) return "not yet (backlog over 63 bits)";
        sum += tokens;
    }
    return NULL;
}

static const char *open_case(void *subject, const struct scene *scene)
{
    struct pools *pools = subject;
    double rate_per_s = 0;
    double burst_ratio = 0;
    int64_t pool = 0;
    const bool has_rate = json_object_object_get_ex(scene->limiter, "rate_per_s", NULL);
    const char *unfit = unfit_steps(scene, has_rate);
    if (unfit != NULL) return unfit;
    if (has_rate) {
        if (!usable_rate(scene->limiter, &rate_per_s, &burst_ratio)) return "not yet (limiter: no finite rate above 0)";
        pools_set_rate(pools, rate_per_s, burst_ratio);
        return NULL;
    }
    if (!field_i64(scene->limiter, "pool_size", &pool) || pool < 1 ||
        !field_double(scene->limiter, "burst_ratio", &burst_ratio) || !isfinite(burst_ratio))
        return "not yet (limiter: no pool size above 0 or no finite burst ratio)";
    pools_set_size(pools, pool, burst_ratio);
    return NULL;
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

static void set_rate(struct pools *pools, struct step *step)
{
    double rate_per_s = 0;
    double burst_ratio = 0;
    if (usable_rate(step->json, &rate_per_s, &burst_ratio)) pools_set_rate(pools, rate_per_s, burst_ratio);
    judge_sizes(pools, step);
}

static void step_case(void *subject, struct step *step)
{
    struct pools *pools = subject;
    int64_t tokens = 0;
    const bool has_tokens = field_i64(step->json, "tokens", &tokens);
    const bool needs_tokens =
        strcmp(step->op, "refill") == 0 || strcmp(step->op, "take_up_to") == 0 || strcmp(step->op, "try_take") == 0;
    if (step->index == 0) judge_first_sizes(pools, step);
    if (needs_tokens && !has_tokens) judge_stop(step, "tokens", "a whole number of 63 bits", "another value");
    else if (strcmp(step->op, "refill") == 0) judge_i64(step, "total", pools_refill(pools, tokens));
    else if (strcmp(step->op, "take_up_to") == 0) judge_i64(step, "taken", pools_take_up_to(pools, tokens));
    else if (strcmp(step->op, "try_take") == 0) take(pools, step, tokens);
    else if (strcmp(step->op, "try_op") == 0) take(pools, step, pools->per_op);
    else if (strcmp(step->op, "restart") == 0) judge_i64(step, "dropped", pools_restart(pools));
    else if (strcmp(step->op, "set_rate") == 0) set_rate(pools, step);
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
                                         .subject_size = sizeof(struct pools),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
