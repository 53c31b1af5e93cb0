/* SPDX-License-Identifier: MIT
   What is owed to an engine.

   Against a list: what was added for a key and a limit comes out once.  And as a whole, in random histories of nodes
   whose engine goes and comes back: an engine of a bucket that everything is charged to, real shares, and whatever the
   number of outages no more than 3 B + r (t + 0.5 s) + 2 N, and a permit for each node and outage (doc/bounds.md).

   The same each time. */
#include "redis/client/local/owed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/table/keyed.h"
#include "host/clock.h"
#include "redis/client/limit.h"
#include "redis/client/local/away.h"
#include "unit/random.h"

enum { KEYS = 60, LIMITS = 3, ROOM = 64, STEPS = 200000 };

static weir_engine *open_engine(uint64_t keys_max, unsigned nodes)
{
    weir_engine *engine = NULL;
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    options.keys_max = keys_max;
    options.nodes = nodes;
    assert_int_equal(weir_engine_open(&engine, "redis://127.0.0.1:1", &options, NULL), 0);
    return engine;
}

static weir_engine_ask ask_of(const weir_engine_limit *limit, const uint64_t *key)
{
    return (weir_engine_ask){.verb = WEIR_ASK_TAKE, .limit = limit, .key = {key, sizeof *key}};
}

static bool add(weir_engine *engine, const weir_engine_ask *ask, const uint64_t *cost, uint64_t now_ns)
{
    weir_plan share;
    away_plan(&share, &ask->limit->plan, 1);
    return owed_add(engine->pool, ask, &share, cost, now_ns);
}

static void as_a_list(void **state)
{
    (void)state;
    static const char *const texts[LIMITS] = {"1/h burst=1000", "1/h burst=1000; 1/d burst=1000", "1/d burst=1000"};
    static uint64_t list[LIMITS][KEYS][WEIR_LIMITS_MAX];
    weir_engine *const engine = open_engine(2 * LIMITS * KEYS, 1);
    weir_engine_limit *limit[LIMITS];
    uint64_t seed = 11, owing = 0;
    for (int i = 0; i < LIMITS; i++)
        assert_int_equal(weir_engine_limit_open(&limit[i], engine, texts[i], WEIR_AWAY_LOCAL, NULL), 0);
    for (int step = 0; step < STEPS; step++) {
        const uint64_t which = random_below(&seed, LIMITS), number = random_below(&seed, KEYS);
        const weir_engine_ask ask = ask_of(limit[which], &number);
        uint64_t *const expected = list[which][number];
        uint64_t cost[WEIR_LIMITS_MAX] = {1 + random_below(&seed, 9), random_below(&seed, 9)};
        assert_true(owed_by(engine->pool, &ask) == (expected[0] != 0));
        if (random_one_in(&seed, 2)) {
            owing += expected[0] == 0;
            assert_true(add(engine, &ask, cost, 0));
            for (unsigned i = 0; i < limit[which]->count; i++) expected[i] += cost[i];
        } else {
            owing -= expected[0] != 0;
            assert_true(owed_take(engine->pool, &ask, 0, cost) == (expected[0] != 0));
            for (unsigned i = 0; i < limit[which]->count && expected[0] != 0; i++)
                assert_int_equal(cost[i], expected[i]);
            expected[0] = expected[1] = 0;
        }
        assert_true(owed_any(engine->pool) == (owing != 0));
    }
    for (int i = 0; i < LIMITS; i++) weir_engine_limit_close(limit[i]);
    weir_engine_close(engine);
}

/* Then nothing more is let pass: what is not remembered would not be paid for. */
static void full(void **state)
{
    (void)state;
    weir_engine *const engine = open_engine(ROOM, 1);
    weir_engine_limit *limit;
    uint64_t added = 0, cost[WEIR_LIMITS_MAX] = {1};
    assert_int_equal(weir_engine_limit_open(&limit, engine, "10/s", WEIR_AWAY_LOCAL, NULL), 0);
    for (uint64_t number = 0; number < 1000; number++) {
        const weir_engine_ask ask = ask_of(limit, &number);
        added += add(engine, &ask, cost, 0);
    }
    assert_int_equal(added, ROOM);
    for (uint64_t number = 0; number < 1000; number++) {
        const weir_engine_ask ask = ask_of(limit, &number);
        added -= owed_take(engine->pool, &ask, 0, cost);
    }
    assert_int_equal(added, 0);
    assert_false(owed_any(engine->pool));
    weir_engine_limit_close(limit);
    weir_engine_close(engine);
}

/* 10/s, a share of 10 permits: what was let pass is owed as long as the share may lack it, and half a second more. */
static void runs_out(void **state)
{
    (void)state;
    const uint64_t s = HOST_SECOND_NS, key = 1, other = 2;
    weir_engine *const engine = open_engine(ROOM, 1);
    weir_engine_limit *limit;
    uint64_t ten[WEIR_LIMITS_MAX] = {10}, hundred[WEIR_LIMITS_MAX] = {100}, cost[WEIR_LIMITS_MAX];
    assert_int_equal(weir_engine_limit_open(&limit, engine, "10/s burst=10", WEIR_AWAY_LOCAL, NULL), 0);
    const weir_engine_ask ask = ask_of(limit, &key), another = ask_of(limit, &other);
    for (uint64_t now_s = 0; now_s < 100; now_s++) assert_true(add(engine, &ask, ten, now_s * s));
    assert_true(owed_take(engine->pool, &ask, 100 * s, cost)); /* of the 1,000 */
    assert_int_equal(cost[0], 5);
    assert_true(add(engine, &ask, ten, 100 * s));
    assert_false(owed_take(engine->pool, &ask, 101 * s + s / 2, cost));
    assert_true(add(engine, &another, hundred, 200 * s)); /* charged: more than a share holds */
    assert_true(add(engine, &ask, ten, 200 * s));
    owed_sweep(engine->pool, 205 * s);
    assert_false(owed_by(engine->pool, &ask));
    assert_true(owed_take(engine->pool, &another, 205 * s, cost));
    assert_int_equal(cost[0], 55);
    weir_engine_limit_close(limit);
    weir_engine_close(engine);
}

/* What cannot be sent is owed as before. */
static void cannot_be_charged(void **state)
{
    (void)state;
    const uint64_t key = 1;
    weir_engine *const engine = open_engine(ROOM, 1);
    weir_engine_limit *limit;
    struct link closed = {.owner = engine};
    uint64_t three[WEIR_LIMITS_MAX] = {3}, cost[WEIR_LIMITS_MAX];
    assert_int_equal(weir_engine_limit_open(&limit, engine, "10/h burst=10", WEIR_AWAY_LOCAL, NULL), 0);
    const weir_engine_ask ask = ask_of(limit, &key);
    assert_true(add(engine, &ask, three, 0));
    assert_true(wire_keys(&engine->keys, engine->pool->prefix, ask.key, limit->keys));
    owed_send(engine, &closed, &ask, false);
    assert_true(owed_take(engine->pool, &ask, 0, cost));
    assert_int_equal(cost[0], 3);
    weir_engine_limit_close(limit);
    weir_engine_close(engine);
}

/* ---- as a whole ---- */

enum { NODES_MAX = 5, HISTORIES = 60, OUTAGES = 40, LAG_MS = BREAKER_LAST_NS / 1000000 };

struct history {
    uint64_t seed, nodes, burst, now_ns, passed, outages;
    weir_table *server; /* the engine's bucket */
    weir_plan plan;
    weir_engine *node[NODES_MAX];
    weir_engine_limit *limit[NODES_MAX];
    int64_t least_excess;
};

static weir_key one_key(void)
{
    return weir_key_text("tenant");
}

/* 1000/s: a permit a ms.  What passed beyond the rate, since any moment before. */
static void judge(struct history *history, const weir_engine_ask *ask)
{
    if (ask->decision.verdict == WEIR_ALLOW) history->passed += *ask->cost;
    const int64_t excess =
        (int64_t)history->passed - (int64_t)(history->now_ns / 1000000) - (int64_t)(history->nodes * history->outages);
    if (excess - history->least_excess > (int64_t)(3 * history->burst + LAG_MS + 2 * history->nodes))
        fail_msg("%lld beyond the rate: burst %llu, %llu nodes, %llu outages",
                 (long long)(excess - history->least_excess), (unsigned long long)history->burst,
                 (unsigned long long)history->nodes, (unsigned long long)history->outages);
    if (excess < history->least_excess) history->least_excess = excess;
}

static void ask_once(struct history *history, uint64_t i, bool is_away)
{
    weir_engine *const engine = history->node[i];
    const uint64_t cost = 1 + random_below(&history->seed, 3);
    uint64_t owed[WEIR_LIMITS_MAX];
    weir_engine_ask ask = {
        .verb = WEIR_ASK_TAKE, .limit = history->limit[i], .key = one_key(), .cost = &cost, .costs = 1};
    engine->now_ns = history->now_ns;
    if (is_away) {
        away_answer(engine, &ask, NOWHERE);
    } else {
        struct ask take = {.now_ns = history->now_ns, .each = &cost};
        struct ask charge = {.now_ns = history->now_ns, .each = owed, .charge = true};
        if (owed_take(engine->pool, &ask, history->now_ns, owed))
            keyed_ask(history->server, &history->plan, one_key(), &charge);
        ask.decision = keyed_ask(history->server, &history->plan, one_key(), &take);
        away_heard(engine, &ask);
    }
    judge(history, &ask);
}

/* For so long, more often than the rate or less.  It is back for each node within half a second; and each asks then. */
static void some_time(struct history *history, bool is_away)
{
    const uint64_t gap_ns = 100000 + random_below(&history->seed, 3000000), noticed_ns = is_away ? 0 : BREAKER_LAST_NS;
    const uint64_t begun_ns = history->now_ns;
    const uint64_t until_ns = begun_ns + noticed_ns + random_below(&history->seed, 4 * history->burst) * 1000000;
    uint64_t back_ns[NODES_MAX];
    for (unsigned i = 0; i < NODES_MAX; i++)
        back_ns[i] = is_away ? UINT64_MAX : begun_ns + random_below(&history->seed, noticed_ns + 1);
    while (history->now_ns < until_ns) {
        history->now_ns += random_below(&history->seed, gap_ns);
        const uint64_t i = random_below(&history->seed, history->nodes);
        ask_once(history, i, history->now_ns < back_ns[i]);
    }
    for (uint64_t i = 0; i < history->nodes; i++) ask_once(history, i, is_away);
}

static void open_history(struct history *history, uint64_t seed)
{
    char text[64];
    *history = (struct history){.seed = seed, .now_ns = host_now_ns()};
    history->nodes = 1 + random_below(&history->seed, NODES_MAX);
    history->burst = history->nodes * (1 + random_below(&history->seed, 200));
    snprintf(text, sizeof text, "1000/s burst=%llu", (unsigned long long)history->burst);
    assert_int_equal(weir_plan_parse(&history->plan, text, WEIR_ADMIT, NULL), 0);
    assert_int_equal(weir_table_open(&history->server, NULL, NULL), 0);
    history->least_excess = -(int64_t)(history->now_ns / 1000000);
    for (uint64_t i = 0; i < history->nodes; i++) {
        history->node[i] = open_engine(ROOM, (unsigned)history->nodes);
        assert_int_equal(weir_engine_limit_open(&history->limit[i], history->node[i], text, WEIR_AWAY_LOCAL, NULL), 0);
    }
}

static void close_history(struct history *history)
{
    for (uint64_t i = 0; i < history->nodes; i++) {
        weir_engine_limit_close(history->limit[i]);
        weir_engine_close(history->node[i]);
    }
    weir_table_close(history->server);
}

static void again_and_again(void **state)
{
    (void)state;
    struct history history;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        open_history(&history, seed);
        for (history.outages = 0; history.outages < OUTAGES; history.outages++) {
            some_time(&history, false);
            some_time(&history, true);
        }
        close_history(&history);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_a_list), cmocka_unit_test(full),
                                       cmocka_unit_test(cannot_be_charged), cmocka_unit_test(runs_out),
                                       cmocka_unit_test(again_and_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
