/* SPDX-License-Identifier: MIT
   A limit as an engine has it: its text, how many keys it takes, and what answers while the engine does not.

   What an engine cannot keep is refused here, with what to write instead, not when it is asked. */
#include "redis/client/limit.h"

#include <stdlib.h>

#include "api/error.h"
#include "core/algorithms.h"
#include "core/num.h"
#include "plan/plan.h"
#include "redis/client/engine.h"
#include "redis/micro/micro.h"

enum { NS_PER_US = 1000 };

/* A log and slots have a key of their own; among others each limit gets one. */
static unsigned keys_of(const struct plan *plan)
{
    for (uint64_t i = 0; i < plan->count; i++) {
        const uint8_t algorithm = plan->limit[i].algorithm;
        if (algorithm == ALGORITHM_SLIDING_LOG || algorithm == ALGORITHM_CONCURRENT) return (unsigned)plan->count;
    }
    return 1;
}

/* Refused calls cost nothing, and one limit alone refuses; slots may be released any moment. */
static void read_micro(struct weir_engine_limit *limit, const struct micro_plan *micro)
{
    const struct micro_rule *const rule = &micro->rule[0];
    limit->leases = micro_leases(micro);
    limit->holds = micro_holder(micro) >= 0;
    for (unsigned i = 0; i < micro->count; i++) {
        if (micro->rule[i].kind == MICRO_HYBRID) limit->has_schedule = true;
    }
    limit->remembers = micro->count == 1 && (rule->flags & MICRO_COUNTS_REFUSED) == 0 && !limit->holds;
    limit->permit = rule->permit;
    limit->per = rule->per;
    limit->burst = rule->burst;
    if (rule->kind == MICRO_GCRA) limit->interval_ns = multiply_divide_floor(rule->permit, NS_PER_US, rule->per);
}

static int fill(struct weir_engine_limit *limit, const char *limits, weir_error *error)
{
    struct micro_plan micro;
    struct limit_text *const text = limit->text;
    int failed = weir_plan_parse(&limit->plan, limits, WEIR_ADMIT, error);
    if (failed == 0) failed = micro_plan_make(&micro, &limit->plan, error);
    if (failed != 0) return failed;
    read_micro(limit, &micro);
    limit->count = (unsigned)weir_plan_limits(&limit->plan);
    limit->keys = keys_of(plan_inside_const(&limit->plan));
    text->size = micro_text_write(&limit->plan, text->bytes, sizeof text->bytes);
    if (text->size != 0 && text->size < sizeof text->bytes) return 0;
    return api_fail(error, WEIR_EUNSUPPORTED,
                    text->size == 0
                        ? "this limit needs numbers over 2^52 in an engine's text; write rounder ones, such as 10/s"
                        : "expected a text of at most 2047 bytes with all options written out");
}

struct limit_text *limit_text_share(struct limit_text *text)
{
    atomic_fetch_add(&text->users, 1);
    return text;
}

void limit_text_release(struct limit_text *text)
{
    if (text != NULL && atomic_fetch_sub(&text->users, 1) == 1) free(text);
}

static struct weir_engine_limit *make(struct pool *pool)
{
    struct weir_engine_limit *const limit = calloc(1, sizeof *limit);
    struct limit_text *const text = calloc(1, sizeof *text);
    if (limit == NULL || text == NULL) {
        free(limit);
        free(text);
        return NULL;
    }
    text->number = atomic_fetch_add(&pool->limits, 1);
    limit->text = limit_text_share(text);
    return limit;
}

int weir_engine_limit_open(weir_engine_limit **owned, weir_engine *engine, const char *limits, weir_away away,
                           weir_error *error)
{
    struct weir_engine_limit *const limit = make(engine->pool);
    *owned = NULL;
    if (limit == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for a limit");
    int failed = fill(limit, limits, error);
    if (failed == 0 && away > WEIR_AWAY_CLOSED)
        failed = api_fail(error, WEIR_EINVAL, "away: expected one of the three WEIR_AWAY_*");
    if (failed != 0) {
        weir_engine_limit_close(limit);
        return failed;
    }
    limit->away = away != WEIR_AWAY_DEFAULT ? away : engine->pool->options.away;
    /* Of slots no node has a share: who holds them is known to the engine alone. */
    if (limit->holds && limit->away == WEIR_AWAY_LOCAL) limit->away = WEIR_AWAY_CLOSED;
    *owned = limit;
    return 0;
}

void weir_engine_limit_close(weir_engine_limit *limit)
{
    if (limit == NULL) return;
    limit_text_release(limit->text);
    free(limit);
}

const weir_plan *weir_engine_limit_plan(const weir_engine_limit *limit)
{
    return &limit->plan;
}
