/* SPDX-License-Identifier: MIT
   The public handle: opened, joined, closed; one question is a batch of one; what is told.

   Opening asks nobody but for names, so it does not wait for an engine that is away. */
#include "redis/client/engine.h"

#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "api/sized.h"
#include "host/clock.h"
#include "host/thread.h"
#include "redis/client/local/away.h"

/* ---- handles ---- */

/* Its own part, not the pool. */
static void unmake(struct weir_engine *engine)
{
    busy_close(engine);
    engine_drop_links(engine);
    for (unsigned i = 0; i < engine->links; i++) free(engine->link[i]);
    free(engine->keys.memory);
    free(engine);
}

static struct weir_engine *make(struct pool *pool)
{
    struct weir_engine *const engine = calloc(1, sizeof *engine);
    if (engine == NULL) return NULL;
    engine->pool = pool;
    engine->forks = host_forks();
    if (busy_open(engine)) return engine;
    unmake(engine);
    return NULL;
}

int weir_engine_open(weir_engine **owned, const char *url, const weir_engine_options *options, weir_error *error)
{
    struct pool *pool = NULL;
    *owned = NULL;
    const int failed = pool_open(&pool, url, options, error);
    if (failed != 0) return failed;
    *owned = make(pool);
    if (*owned != NULL) return 0;
    pool_leave(pool);
    return api_fail(error, WEIR_ENOMEM, "no memory for an engine");
}

int weir_engine_join(weir_engine **owned, weir_engine *first, weir_error *error)
{
    *owned = make(first->pool);
    if (*owned == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for an engine");
    pool_join(first->pool);
    return 0;
}

void weir_engine_close(weir_engine *engine)
{
    if (engine == NULL) return;
    struct pool *const pool = engine->pool;
    nodes_leave(engine);
    unmake(engine);
    pool_leave(pool);
}

/* ---- one question ---- */

static weir_decision ask_one(weir_engine *engine, weir_verb verb, const weir_engine_limit *limit, weir_key key,
                             uint64_t cost)
{
    weir_engine_ask ask = {.verb = verb, .limit = limit, .key = key, .cost = &cost, .costs = 1};
    weir_engine_batch(engine, &ask, 1);
    return ask.decision;
}

weir_decision weir_engine_take(weir_engine *engine, const weir_engine_limit *limit, weir_key key, uint64_t cost)
{
    return ask_one(engine, WEIR_ASK_TAKE, limit, key, cost);
}

weir_decision weir_engine_peek(weir_engine *engine, const weir_engine_limit *limit, weir_key key, uint64_t cost)
{
    return ask_one(engine, WEIR_ASK_PEEK, limit, key, cost);
}

weir_decision weir_engine_charge(weir_engine *engine, const weir_engine_limit *limit, weir_key key, uint64_t cost)
{
    return ask_one(engine, WEIR_ASK_CHARGE, limit, key, cost);
}

bool weir_engine_settle(weir_engine *engine, const weir_engine_limit *limit, weir_key key, weir_decision *decision,
                        uint64_t actual)
{
    if (decision->verdict != WEIR_ALLOW || decision->charged == 0) return false;
    weir_engine_ask ask = {.verb = WEIR_ASK_SETTLE, .limit = limit, .key = key, .costs = 1, .taken = decision->end};
    const uint64_t charged = decision->charged;
    ask.cost = &charged;
    ask.actual = &actual;
    decision->charged = 0;
    if (charged == actual) return true;
    weir_engine_batch(engine, &ask, 1);
    return ask.decision.verdict == WEIR_ALLOW;
}

static bool hold_one(weir_engine *engine, weir_verb verb, const weir_engine_limit *limit, weir_key key, uint64_t id)
{
    if (!limit->holds) return false;
    weir_engine_ask ask = {.verb = verb, .limit = limit, .key = key, .taken = id};
    weir_engine_batch(engine, &ask, 1);
    return ask.decision.verdict == WEIR_ALLOW;
}

bool weir_engine_renew(weir_engine *engine, const weir_engine_limit *limit, weir_key key, uint64_t id)
{
    return hold_one(engine, WEIR_ASK_RENEW, limit, key, id);
}

bool weir_engine_release(weir_engine *engine, const weir_engine_limit *limit, weir_key key, uint64_t id)
{
    return hold_one(engine, WEIR_ASK_RELEASE, limit, key, id);
}

bool weir_engine_forget(weir_engine *engine, const weir_engine_limit *limit, weir_key key)
{
    return ask_one(engine, WEIR_ASK_FORGET, limit, key, 1).verdict == WEIR_ALLOW;
}

/* ---- told ---- */

static uint64_t read_count(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void weir_engine_read_stats(weir_engine *engine, weir_engine_stats *stats, size_t size)
{
    const struct pool *const pool = engine->pool;
    const struct pool_counts *const counts = &pool->counts;
    weir_engine_stats all = {.calls = read_count(&counts->calls),
                             .from_engine = read_count(&counts->from_engine),
                             .from_lease = read_count(&counts->from_lease),
                             .from_away = read_count(&counts->from_away),
                             .commands = read_count(&counts->commands),
                             .connects = read_count(&counts->connects),
                             .late = read_count(&counts->late),
                             .redirected = read_count(&counts->redirected),
                             .outage_count = read_count(&counts->outage_count),
                             .leased = read_count(&counts->leased),
                             .lease_unused = read_count(&counts->lease_unused),
                             .nodes = nodes_known(pool, host_now_ns()),
                             .away = atomic_load_explicit(&pool->is_away, memory_order_relaxed),
                             .round_trip_ns = read_count(&counts->round_trip_ns),
                             .crowded = read_count(&counts->crowded),
                             .round_trip_sum_ns = read_count(&counts->round_trip_sum_ns),
                             .away_full = away_full(pool),
                             .foreign = read_count(&counts->foreign)};
    for (unsigned i = 0; i < WEIR_OUTAGES; i++) all.outages[i] = read_count(&counts->outages[i]);
    for (unsigned i = 0; i < WEIR_ENGINE_ROUND_TRIPS; i++) all.round_trips[i] = read_count(&counts->round_trips[i]);
    api_write_sized(stats, size, &all, sizeof all);
}
