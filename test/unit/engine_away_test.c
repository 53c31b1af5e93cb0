/* SPDX-License-Identifier: MIT
   What is answered while the engine is away: each node's share, and the other policies.  Nobody
   listens on port 1. */
#include "redis/client/local/away.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "redis/client/limit.h"
#include "unit/sized.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

/* How many pass at once, and how long the next one waits. */
static void shares(const char *limits, uint64_t nodes, uint64_t at_once, uint64_t retry_ns)
{
    weir_plan plan, share;
    uint64_t state[WEIR_LIMITS_MAX * 2] = {0}, passed = 0;
    assert_int_equal(weir_plan_parse(&plan, limits, WEIR_ADMIT, NULL), 0);
    away_plan(&share, &plan, nodes);
    assert_true(weir_state_size(&share) <= sizeof state);
    weir_decision decision = weir_decide(&share, state, (weir_instant){S}, 1);
    for (; decision.verdict == WEIR_ALLOW && passed < 10000; passed++) {
        decision = weir_decide(&share, state, (weir_instant){S}, 1);
    }
    assert_int_equal(passed, at_once);
    assert_in_range(decision.retry_ns, retry_ns - 2, retry_ns + 2);
}

static void test_shares(void **state)
{
    (void)state;
    shares("10/s burst=20", 1, 20, 100 * MS);
    shares("10/s burst=20", 4, 5, 400 * MS);
    shares("10/s burst=20", 7, 2, 700 * MS);
    shares("10/s burst=20", 1000, 1, 100 * S); /* one at least */
    shares("10/s burst=2s", 4, 5, 400 * MS);
    shares("100/min algorithm=fixed-window", 10, 10, 6 * S);
    shares("100/min algorithm=sliding-window", 10, 10, 6 * S);
    shares("100/min algorithm=sliding-log", 10, 10, 6 * S);
    shares("2.5/s burst=5", 5, 1, 2 * S);
    shares("10/s burst=20; 100/h burst=8", 2, 4, 72 * S);
}

/* ---- through the handle ---- */

static weir_engine_ask ask(weir_engine *engine, const weir_engine_limit *limit, weir_verb verb, uint64_t cost)
{
    weir_engine_ask one = {.verb = verb, .limit = limit, .key = weir_key_text("tenant"), .cost = &cost, .costs = 1};
    weir_engine_batch(engine, &one, 1);
    assert_int_equal(one.from, WEIR_FROM_AWAY);
    return one;
}

static weir_engine *open_engine(weir_away away, weir_engine_limit **limit, const char *text)
{
    weir_engine *engine = NULL;
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    options.nodes = 2;
    assert_int_equal(weir_engine_open(&engine, "redis://127.0.0.1:1", &options, NULL), 0);
    assert_int_equal(weir_engine_limit_open(limit, engine, text, away, NULL), 0);
    return engine;
}

static void close_engine(weir_engine *engine, weir_engine_limit *limit)
{
    weir_engine_limit_close(limit);
    weir_engine_close(engine);
}

static void test_local(void **state)
{
    (void)state;
    weir_engine_limit *limit = NULL;
    weir_engine *const engine = open_engine(WEIR_AWAY_LOCAL, &limit, "1/h burst=10");
    assert_int_equal(ask(engine, limit, WEIR_ASK_PEEK, 5).decision.verdict, WEIR_ALLOW);
    weir_engine_ask taken = ask(engine, limit, WEIR_ASK_TAKE, 2);
    assert_int_equal(taken.decision.verdict, WEIR_ALLOW);
    assert_int_equal(taken.decision.remaining, 3);
    assert_int_equal(taken.decision.end, 0);
    /* More than the share holds, though the limit does: when the engine is back. */
    assert_int_equal(ask(engine, limit, WEIR_ASK_TAKE, 6).decision.verdict, WEIR_DENY);
    assert_int_equal(ask(engine, limit, WEIR_ASK_CHARGE, 1).decision.verdict, WEIR_ALLOW);
    assert_int_equal(ask(engine, limit, WEIR_ASK_PEEK, 1).decision.remaining, 1);
    /* Nothing is given back, more is charged. */
    weir_decision two = taken.decision;
    assert_true(weir_engine_settle(engine, limit, weir_key_text("tenant"), &taken.decision, 0));
    assert_int_equal(ask(engine, limit, WEIR_ASK_PEEK, 1).decision.remaining, 1);
    assert_true(weir_engine_settle(engine, limit, weir_key_text("tenant"), &two, 3));
    assert_int_equal(ask(engine, limit, WEIR_ASK_PEEK, 1).decision.remaining, 0);
    assert_int_equal(ask(engine, limit, WEIR_ASK_PEEK, 2).decision.verdict, WEIR_DENY);
    assert_false(weir_engine_settle(engine, limit, weir_key_text("tenant"), &two, 4));
    assert_false(weir_engine_forget(engine, limit, weir_key_text("tenant")));
    /* What the engine took it alone can give back. */
    weir_decision elsewhere = {.verdict = WEIR_ALLOW, .charged = 3, .end = 12345};
    assert_false(weir_engine_settle(engine, limit, weir_key_text("tenant"), &elsewhere, 1));
    close_engine(engine, limit);
}

/* What has no rate has no share. */
static void test_all_or_nothing(void **state)
{
    (void)state;
    weir_plan plan, share;
    uint64_t none[WEIR_LIMITS_MAX * 2] = {0};
    static const char *const texts[] = {"unlimited", "none", "1/h burst=2; unlimited"};
    static const uint32_t verdicts[] = {WEIR_ALLOW, WEIR_NEVER, WEIR_ALLOW};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(weir_plan_parse(&plan, texts[i], WEIR_ADMIT, NULL), 0);
        away_plan(&share, &plan, 3);
        assert_int_equal(weir_decide(&share, none, (weir_instant){S}, 1).verdict, verdicts[i]);
        weir_engine_limit *limit = NULL;
        weir_engine *const engine = open_engine(WEIR_AWAY_LOCAL, &limit, texts[i]);
        /* What never passes here is refused: it is asked again when the engine is back. */
        const uint32_t through = verdicts[i] == WEIR_NEVER ? WEIR_DENY : verdicts[i];
        assert_int_equal(ask(engine, limit, WEIR_ASK_TAKE, 1).decision.verdict, through);
        close_engine(engine, limit);
    }
}

/* Handles of several threads: one share for all of them. */
enum { THREADS = 4, TAKES = 500 };

static void *take_many(void *argument)
{
    weir_engine *const engine = ((void **)argument)[0];
    weir_engine_limit *const limit = ((void **)argument)[1];
    uintptr_t allowed = 0;
    for (int i = 0; i < TAKES; i++) allowed += ask(engine, limit, WEIR_ASK_TAKE, 1).decision.verdict == WEIR_ALLOW;
    return (void *)allowed;
}

static void test_threads_share(void **state)
{
    (void)state;
    weir_engine_limit *limit = NULL;
    weir_engine *const engine = open_engine(WEIR_AWAY_LOCAL, &limit, "1/h burst=200");
    void *argument[THREADS][2];
    pthread_t thread[THREADS];
    uintptr_t allowed = 0;
    for (int i = 0; i < THREADS; i++) {
        weir_engine *joined = NULL;
        assert_int_equal(weir_engine_join(&joined, engine, NULL), 0);
        argument[i][0] = joined;
        argument[i][1] = limit;
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, take_many, argument[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *mine = NULL;
        pthread_join(thread[i], &mine);
        allowed += (uintptr_t)mine;
        weir_engine_close(argument[i][0]);
    }
    weir_engine_stats stats;
    weir_engine_read_stats(engine, &stats, sizeof stats);
    assert_int_equal(allowed, 100);
    assert_int_equal(stats.from_away, THREADS * TAKES);
    assert_int_equal(stats.calls, THREADS * TAKES);
    assert_int_equal(stats.away, 1);
    assert_int_equal(stats.outage_count, 1);
    assert_int_equal(stats.outages[WEIR_OUTAGE_CONNECTION], 1);
    assert_int_equal(stats.commands, 0);
    close_engine(engine, limit);
}

static void test_open_and_closed(void **state)
{
    (void)state;
    weir_engine_limit *limit = NULL;
    weir_engine *engine = open_engine(WEIR_AWAY_OPEN, &limit, "1/h");
    for (int i = 0; i < 10; i++) assert_int_equal(ask(engine, limit, WEIR_ASK_TAKE, 1).decision.verdict, WEIR_ALLOW);
    close_engine(engine, limit);
    engine = open_engine(WEIR_AWAY_CLOSED, &limit, "1/h");
    for (int i = 0; i < 10; i++) {
        const weir_decision decision = ask(engine, limit, WEIR_ASK_TAKE, 1).decision;
        assert_int_equal(decision.verdict, WEIR_DENY);
        assert_in_range(decision.retry_ns, 1, BREAKER_PROBE_NS);
    }
    assert_int_equal(ask(engine, limit, WEIR_ASK_CHARGE, 1).decision.verdict, WEIR_ALLOW);
    close_engine(engine, limit);
}

/* Of slots nobody has a share: without the engine none is given, renewed or released, unless all may pass. */
static void test_slots(void **state)
{
    (void)state;
    static const char text[] = "20 concurrent lease=30s; 100/s";
    static const weir_away modes[] = {WEIR_AWAY_DEFAULT, WEIR_AWAY_LOCAL, WEIR_AWAY_CLOSED};
    const weir_key key = weir_key_text("tenant");
    weir_engine_limit *limit = NULL;
    weir_engine *engine;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        engine = open_engine(modes[i], &limit, text);
        assert_int_equal(ask(engine, limit, WEIR_ASK_TAKE, 1).decision.verdict, WEIR_DENY);
        assert_int_equal(ask(engine, limit, WEIR_ASK_PEEK, 1).decision.verdict, WEIR_DENY);
        assert_int_equal(ask(engine, limit, WEIR_ASK_RENEW, 1).decision.verdict, WEIR_DENY);
        assert_false(weir_engine_renew(engine, limit, key, 12));
        assert_false(weir_engine_release(engine, limit, key, 12));
        close_engine(engine, limit);
    }
    engine = open_engine(WEIR_AWAY_OPEN, &limit, text);
    const weir_decision decision = ask(engine, limit, WEIR_ASK_TAKE, 1).decision;
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(decision.end, 0);
    assert_false(weir_engine_release(engine, limit, key, decision.end));
    close_engine(engine, limit);
}

static void note_full(void *context, bool away, const char *why)
{
    (void)away;
    if (strstr(why, "the table of shares is full") != NULL) ++*(unsigned *)context;
}

static void read_stats(void *engine, void *stats, size_t size)
{
    weir_engine_read_stats(engine, stats, size);
}

/* New keys that find no room are refused by mistake: counted, and told once. */
static void test_more_keys_than_room(void **state)
{
    (void)state;
    enum { KEYS = 2000 };
    weir_engine *engine = NULL;
    weir_engine_limit *limit = NULL;
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    weir_engine_stats stats;
    unsigned told = 0;
    options.nodes = 1;
    options.keys_max = 100;
    options.changed = note_full;
    options.context = &told;
    assert_int_equal(weir_engine_open(&engine, "redis://127.0.0.1:1", &options, NULL), 0);
    assert_int_equal(weir_engine_limit_open(&limit, engine, "1/h burst=1", WEIR_AWAY_LOCAL, NULL), 0);
    uint64_t refused = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        const uint64_t cost = 1;
        weir_engine_ask one = {
            .verb = WEIR_ASK_TAKE, .limit = limit, .key = {&key, sizeof key}, .cost = &cost, .costs = 1};
        weir_engine_batch(engine, &one, 1);
        refused += one.decision.verdict != WEIR_ALLOW;
    }
    weir_engine_read_stats(engine, &stats, sizeof stats);
    assert_in_range(refused, KEYS / 2, KEYS);
    assert_in_range(stats.away_full, refused, 2 * KEYS);
    assert_sized(read_stats, engine, sizeof stats); /* of other versions */
    weir_engine_tick(engine);
    weir_engine_tick(engine);
    assert_int_equal(told, 1);
    close_engine(engine, limit);
}

static void test_options_of_other_versions(void **state)
{
    (void)state;
    static const char url[] = "redis://127.0.0.1:1";
    struct {
        weir_engine_options known;
        uint64_t later[4];
    } longer = {WEIR_ENGINE_OPTIONS, {0, 0, 3, 0}};
    weir_engine_options shorter = {.size = offsetof(weir_engine_options, prefix), .prefix = "a{b"};
    weir_engine *engine = NULL;
    longer.known.size = sizeof longer;
    assert_int_equal(weir_engine_open(&engine, url, &longer.known, NULL), WEIR_EVERSION);
    assert_null(engine);
    longer.later[2] = 0;
    assert_int_equal(weir_engine_open(&engine, url, &longer.known, NULL), 0);
    weir_engine_close(engine);
    assert_int_equal(weir_engine_open(&engine, url, &shorter, NULL), 0);
    weir_engine_close(engine);
}

static void test_wrong_options(void **state)
{
    (void)state;
    weir_engine *engine = NULL;
    weir_error error;
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    options.prefix = "a{b";
    assert_int_equal(weir_engine_open(&engine, "redis://127.0.0.1:1", &options, &error), WEIR_EINVAL);
    assert_null(engine);
    options.prefix = "";
    assert_int_equal(weir_engine_open(&engine, "redis://127.0.0.1:1", &options, &error), WEIR_EINVAL);
    char longer[513] = "";
    memset(longer, 'p', sizeof longer - 1);
    options.prefix = longer;
    assert_int_equal(weir_engine_open(&engine, "redis://127.0.0.1:1", &options, &error), WEIR_EINVAL);
    assert_non_null(strstr(error.message, "511 bytes"));
    longer[511] = '\0';
    assert_int_equal(weir_engine_open(&engine, "redis://127.0.0.1:1", &options, &error), 0);
    weir_engine_close(engine);
    options = (weir_engine_options){.size = 1};
    assert_int_equal(weir_engine_open(&engine, "redis://127.0.0.1:1", &options, &error), WEIR_EINVAL);
    assert_int_equal(weir_engine_open(&engine, "redis://127.0.0.1:1", NULL, &error), 0);
    weir_engine_limit *limit = NULL;
    assert_int_equal(weir_engine_limit_open(&limit, engine, "1/x", WEIR_AWAY_DEFAULT, &error), WEIR_EINVAL);
    assert_int_equal(weir_engine_limit_open(&limit, engine, "1/s", (weir_away)(WEIR_AWAY_CLOSED + 1), &error),
                     WEIR_EINVAL);
    assert_string_equal(error.message, "away: expected one of the three WEIR_AWAY_*");
    assert_int_equal(weir_engine_limit_open(&limit, engine, "1/s algorithm=timeline", WEIR_AWAY_DEFAULT, &error),
                     WEIR_EUNSUPPORTED);
    assert_int_equal(
        weir_engine_limit_open(&limit, engine, "10.001/18446744s algorithm=leaky burst=5", WEIR_AWAY_DEFAULT, &error),
        WEIR_EUNSUPPORTED);
    assert_non_null(strstr(error.message, "over 2^52"));
    assert_null(limit);
    weir_engine_close(engine);
    weir_engine_close(NULL);
}

/* What the handle held when the child was made is let go of in both; and the child is a node of its own, which nobody
   has counted yet. */
static void test_fork(void **state)
{
    (void)state;
    weir_engine_limit *limit;
    weir_engine *engine = open_engine(WEIR_AWAY_LOCAL, &limit, "10/h burst=10");
    int status = 1;
    assert_int_equal(ask(engine, limit, WEIR_ASK_TAKE, 1).decision.verdict, WEIR_ALLOW);
    struct pool *pool = engine->pool;
    char id[POOL_ID_SIZE];
    strcpy(id, pool->id);
    atomic_store(&pool->entered_ns, 1);
    atomic_store(&pool->reached_ns, 1);
    atomic_store(&pool->heard_ns, 1);
    atomic_store(&pool->beat_at_ns, UINT64_MAX);
    atomic_store(&pool->is_entering, true);
    const pid_t child = fork();
    alarm(60);
    const bool counted = strcmp(id, pool->id) == 0 && atomic_load(&pool->entered_ns) != 0;
    const bool is_new = !atomic_load(&pool->is_entering) && atomic_load(&pool->entered_ns) == 0 &&
                        atomic_load(&pool->reached_ns) == 0 && atomic_load(&pool->heard_ns) == 0 &&
                        atomic_load(&pool->beat_at_ns) == 0;
    weir_engine_stats stats;
    weir_engine *joined = NULL;
    weir_engine_ask one = {.verb = WEIR_ASK_TAKE,
                           .limit = limit,
                           .key = weir_key_text("tenant"),
                           .cost = &(const uint64_t){1},
                           .costs = 1};
    weir_engine_batch(engine, &one, 1);
    const bool joins = weir_engine_join(&joined, engine, NULL) == 0;
    weir_engine_close(joined);
    weir_engine_read_stats(engine, &stats, sizeof stats);
    const bool goes_on = joins && one.decision.verdict == WEIR_ALLOW && stats.from_away == 2;
    if (child == 0) _exit(goes_on && !counted && is_new ? 0 : 1);
    alarm(0);
    assert_true(goes_on && counted);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close_engine(engine, limit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_local),         cmocka_unit_test(test_threads_share),
        cmocka_unit_test(test_fork),          cmocka_unit_test(test_open_and_closed),
        cmocka_unit_test(test_slots),         cmocka_unit_test(test_options_of_other_versions),
        cmocka_unit_test(test_wrong_options), cmocka_unit_test(test_more_keys_than_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
