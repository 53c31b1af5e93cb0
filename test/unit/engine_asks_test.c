/* SPDX-License-Identifier: MIT
   In which words the client asks an engine, the leases that it takes and brings back, and the secret that it reads. */
#include "redis/client/engine.h"

#include <hiredis/hiredis.h>

#include "unit/engine_server.h"

enum { PATIENT_MS = 5000 };

/* ---- words ---- */

#define BOTH "9/h burst=9 algorithm=gcra; 2/s burst=2 algorithm=gcra"
#define LOG "9/h algorithm=sliding-log edge=open; 2/s burst=2 algorithm=gcra"
#define SLOTS "9 concurrent lease=1s"

enum { PLAIN, WITH_LOG, WITH_SLOTS, LIMITS };

static const struct row {
    weir_verb verb;
    unsigned limit;
    unsigned costs;
    uint64_t cost[2], actual[2], taken;
    const char *module, *functions, *scripts;
} rows[] = {
    {WEIR_ASK_TAKE,
     PLAIN,
     0,
     {0},
     {0},
     0,
     "WEIR.TAKE " BOTH " {weir:k} COST 1 1",
     "FCALL weir_take 1 {weir:k} " BOTH " 1 1",
     "1 {weir:k} weir_take " BOTH " 1 1"},
    {WEIR_ASK_TAKE,
     PLAIN,
     1,
     {3},
     {0},
     0,
     "WEIR.TAKE " BOTH " {weir:k} COST 3 3",
     "FCALL weir_take 1 {weir:k} " BOTH " 3 3",
     "1 {weir:k} weir_take " BOTH " 3 3"},
    {WEIR_ASK_PEEK,
     PLAIN,
     2,
     {3, 2},
     {0},
     0,
     "WEIR.TAKE " BOTH " {weir:k} COST 3 2 PEEK",
     "FCALL weir_take 1 {weir:k} " BOTH " 3 2 PEEK",
     "1 {weir:k} weir_take " BOTH " 3 2 PEEK"},
    {WEIR_ASK_CHARGE,
     PLAIN,
     2,
     {3, 2},
     {0},
     0,
     "WEIR.CHARGE " BOTH " {weir:k} 3 2",
     "FCALL weir_charge 1 {weir:k} " BOTH " 3 2",
     "1 {weir:k} weir_charge " BOTH " 3 2"},
    {WEIR_ASK_SETTLE,
     PLAIN,
     2,
     {3, 2},
     {5, 4},
     17,
     "WEIR.SETTLE " BOTH " {weir:k} 17:3:2 5 4",
     "FCALL weir_settle 1 {weir:k} " BOTH " 17:3:2 5 4",
     "1 {weir:k} weir_settle " BOTH " 17:3:2 5 4"},
    {WEIR_ASK_SETTLE,
     PLAIN,
     1,
     {3},
     {0},
     17,
     "WEIR.SETTLE " BOTH " {weir:k} 17:3:3 0 0",
     "FCALL weir_settle 1 {weir:k} " BOTH " 17:3:3 0 0",
     "1 {weir:k} weir_settle " BOTH " 17:3:3 0 0"},
    {WEIR_ASK_FORGET,
     PLAIN,
     0,
     {0},
     {0},
     0,
     "WEIR.FORGET " BOTH " {weir:k}",
     "FCALL weir_forget 1 {weir:k}",
     "1 {weir:k} weir_forget"},
    {WEIR_ASK_TAKE,
     WITH_LOG,
     1,
     {1},
     {0},
     0,
     "WEIR.TAKE " LOG " {weir:k}:0 AND {weir:k}:1 COST 1 1",
     "FCALL weir_take 2 {weir:k}:0 {weir:k}:1 " LOG " 1 1",
     "2 {weir:k}:0 {weir:k}:1 weir_take " LOG " 1 1"},
    {WEIR_ASK_FORGET,
     WITH_LOG,
     0,
     {0},
     {0},
     0,
     "WEIR.FORGET " LOG " {weir:k}:0 AND {weir:k}:1",
     "FCALL weir_forget 2 {weir:k}:0 {weir:k}:1",
     "2 {weir:k}:0 {weir:k}:1 weir_forget"},
    {WEIR_ASK_RENEW,
     WITH_SLOTS,
     0,
     {0},
     {0},
     17,
     "WEIR.RENEW " SLOTS " {weir:k} 17",
     "FCALL weir_renew 1 {weir:k} " SLOTS " 17",
     "1 {weir:k} weir_renew " SLOTS " 17"},
    {WEIR_ASK_RELEASE,
     WITH_SLOTS,
     0,
     {0},
     {0},
     17,
     "WEIR.RELEASE " SLOTS " {weir:k} 17",
     "FCALL weir_release 1 {weir:k} " SLOTS " 17",
     "1 {weir:k} weir_release " SLOTS " 17"},
};

enum way { BY_MODULE, BY_FUNCTIONS, BY_SCRIPTS, WAYS };

/* Of a script there is only its hash. */
static void assert_words(enum way way, const struct row *row)
{
    const char *question = server.question;
    if (way == BY_SCRIPTS) {
        assert_memory_equal(question, "EVALSHA ", 8);
        assert_int_equal(strspn(question + 8, "0123456789abcdef"), 40);
        question += strlen("EVALSHA ") + 41;
    }
    assert_string_equal(question, way == BY_MODULE ? row->module : way == BY_FUNCTIONS ? row->functions : row->scripts);
}

static void ask_row(enum way way, const struct row *row, weir_engine_limit *of[LIMITS])
{
    weir_engine_ask ask = {.verb = row->verb, .limit = of[row->limit], .key = weir_key_text("k")};
    ask.cost = row->cost;
    ask.costs = row->costs;
    ask.actual = row->actual;
    ask.taken = row->taken;
    weir_engine_batch(engine, &ask, 1);
    assert_words(way, row);
}

/* Each limit has its cost; one cost is that of all. */
static void test_words(void **state)
{
    (void)state;
    static const char *const commands[WAYS] = {"*2\r\n*1\r\n$9\r\nweir.take\r\n*-1\r\n",
                                               "*2\r\n*-1\r\n*1\r\n$5\r\nfcall\r\n", "*2\r\n*-1\r\n*-1\r\n"};
    static const char *const texts[LIMITS] = {"9/h; 2/s", "9/h algorithm=sliding-log; 2/s", SLOTS};
    for (enum way way = 0; way < WAYS; way++) {
        weir_engine_limit *of[LIMITS];
        begin("redis", PATIENT_MS);
        server.commands = commands[way];
        for (int i = 0; i < LIMITS; i++)
            assert_int_equal(weir_engine_limit_open(&of[i], engine, texts[i], WEIR_AWAY_LOCAL, NULL), 0);
        start();
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) ask_row(way, &rows[i], of);
        const struct row settled = {.module = "WEIR.SETTLE " BOTH " {weir:k} 9:3:3 1 1",
                                    .functions = "FCALL weir_settle 1 {weir:k} " BOTH " 9:3:3 1 1",
                                    .scripts = "1 {weir:k} weir_settle " BOTH " 9:3:3 1 1"};
        weir_decision decision = {.verdict = WEIR_ALLOW, .charged = 3, .end = 9};
        weir_engine_settle(engine, of[PLAIN], weir_key_text("k"), &decision, 1);
        assert_words(way, &settled);
        weir_engine_take(engine, of[PLAIN], weir_key_text("k"), 3);
        assert_words(way, &rows[1]);
        for (int i = 0; i < LIMITS; i++) weir_engine_limit_close(of[i]);
        end();
    }
}

/* Two questions find functions gone, and the second hears it when they are there again. */
static void test_functions_are_loaded_for_both(void **state)
{
    (void)state;
    const weir_engine_ask question = {.verb = WEIR_ASK_TAKE, .key = weir_key_text("k")};
    weir_engine_ask asks[2] = {question, question};
    begin("redis", PATIENT_MS);
    asks[0].limit = asks[1].limit = limit;
    server.answer[0] = server.late = "-ERR Function not found\r\n";
    server.answer[1] = SILENCE;
    start();
    weir_engine_batch(engine, asks, 2);
    assert_int_equal(asks[0].from, WEIR_FROM_ENGINE);
    assert_int_equal(asks[1].from, WEIR_FROM_ENGINE);
    assert_int_equal(server.loads, 1);
    assert_int_equal(server.questions, 4);
    assert_memory_equal(server.question, "FCALL ", 6);
    end();
}

/* What was let pass meanwhile is charged before the next question, and again before the one after it if that failed. */
static void test_charged_until_it_is_answered(void **state)
{
    (void)state;
    begin("redis", PATIENT_MS);
    engine->pool->options.nodes = 1; /* or it would not know its share */
    server.answer[0] = "-LOADING Redis is loading the dataset in memory\r\n";
    server.answer[1] = "-ERR not now\r\n";
    start();
    const weir_engine_ask passed = take();
    assert_int_equal(passed.from, WEIR_FROM_AWAY);
    assert_int_equal(passed.decision.verdict, WEIR_ALLOW);
    while (take().from != WEIR_FROM_ENGINE) continue; /* until a probe */
    assert_int_equal(server.questions, 3);
    assert_int_equal(take().from, WEIR_FROM_ENGINE);
    assert_int_equal(server.questions, 5);
    assert_int_equal(take().from, WEIR_FROM_ENGINE);
    assert_int_equal(server.questions, 6);
    end();
}

/* ---- a cluster ---- */

/* It is asked who has which slots once, as long as nothing moves. */
static void test_slots_are_asked_for_once(void **state)
{
    (void)state;
    begin("redis+cluster", PATIENT_MS);
    start();
    for (uint64_t second = 0; second < 500; second += 10) {
        weir_engine_ask ask = {.verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text("k")};
        ask_at(&ask, second * 1000);
        assert_int_equal(ask.from, WEIR_FROM_ENGINE);
    }
    assert_int_equal(server.maps, 1);
    assert_int_equal(server.names, 1); /* CLIENT LIST shows who we are */
    assert_int_equal(server.roles, 0); /* who is a primary is in the map */
    end();
}

/* ---- replies ---- */

static _Atomic long replies; /* that were read, and are not freed */

int __real_redisGetReplyFromReader(redisContext *context, void **reply);
int __wrap_redisGetReplyFromReader(redisContext *context, void **reply);
void __real_freeReplyObject(void *reply);
void __wrap_freeReplyObject(void *reply);

int __wrap_redisGetReplyFromReader(redisContext *context, void **reply)
{
    const int failed = __real_redisGetReplyFromReader(context, reply);
    replies += failed == REDIS_OK && *reply != NULL;
    return failed;
}

void __wrap_freeReplyObject(void *reply)
{
    replies -= reply != NULL;
    __real_freeReplyObject(reply);
}

static void say_nothing(void *context, const char *text)
{
    (void)context, (void)text;
}

/* Each one is freed, of whatever kind it is. */
static void test_replies_are_freed(void **state)
{
    (void)state;
    replies = 0;
    begin("redis", PATIENT_MS);
    server.secret = "$3\r\nold\r\n";
    start();
    weir_engine_check(engine, say_nothing, NULL, NULL);
    weir_engine_install(engine, say_nothing, NULL, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        weir_engine_ask ask = {.verb = rows[i].verb, .limit = limit, .key = weir_key_text("k")};
        weir_engine_batch(engine, &ask, 1);
    }
    weir_engine_ask secret = {.verb = WEIR_ASK_SECRET};
    weir_engine_batch(engine, &secret, 1);
    assert_int_equal(replies, 0);
    end();
}

/* ---- nodes ---- */

/* It enters itself by the engine's time, counts the others, and leaves. */
static void test_heartbeats(void **state)
{
    (void)state;
    begin("redis", PATIENT_MS);
    server.live = true;
    server.time = "*2\r\n$10\r\n1700000000\r\n$1\r\n5\r\n";
    start();
    for (uint64_t second = 0; second < 18; second++) { /* in the last ones all is answered, and no more is asked */
        weir_engine_ask ask = {.verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text("k")};
        ask_at(&ask, (second < 14 ? second : 14) * 1000);
        if (second == 6) assert_int_equal(nodes_asking(engine->pool, AT_MS(6000).ns), 2);
        if (second == 6) server.live = false;
        if (second == 1) assert_string_equal(server.beat[BEAT_ADD], ""); /* it may not stay */
    }
    assert_memory_equal(server.beat[BEAT_ADD], "ZADD {weir:}:nodes 1700000000 ", 30);
    assert_string_equal(server.beat[BEAT_DROP], "ZREMRANGEBYSCORE {weir:}:nodes -inf 1699999940");
    assert_string_equal(server.beat[BEAT_CARD], "ZCARD {weir:}:nodes");
    assert_string_equal(server.beat[BEAT_COUNT], "ZCOUNT {weir:}:nodes (1699999995 +inf");
    assert_string_equal(server.beat[BEAT_EXPIRE], "EXPIRE {weir:}:nodes 120");
    assert_string_equal(server.beat[BEAT_LEAVE], "");
    assert_int_equal(nodes_known(engine->pool, AT_MS(14000).ns), 3);
    assert_int_equal(nodes_asking(engine->pool, AT_MS(14000).ns), 0);
    for (int i = 0; i < 4; i++) { /* not heard for long: it begins again, and is still counted by the others */
        weir_engine_ask ask = {.verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text("k")};
        ask_at(&ask, 30000);
    }
    assert_int_equal(nodes_known(engine->pool, AT_MS(30000).ns), 0);
    end();
    assert_memory_equal(server.beat[BEAT_LEAVE], "ZREM {weir:}:nodes ", 19);
    assert_string_equal(server.beat[BEAT_LEAVE] + 19, server.beat[BEAT_ADD] + 30); /* by the same name */
}

/* ---- leases ---- */

/* One that is not spent goes back while the handle lives, a quarter of its lifetime after it was asked last. */
static void test_a_lease_that_is_quiet_goes_back(void **state)
{
    (void)state;
    weir_engine_limit *fast;
    weir_engine_stats stats;
    begin_leasing("redis", PATIENT_MS, 1000);
    assert_int_equal(weir_engine_limit_open(&fast, engine, "10/h burst=4000", WEIR_AWAY_LOCAL, NULL), 0);
    server.usual = ALLOW(3000);
    server.lease = "*4\r\n:8\r\n:5\r\n:900\r\n:0\r\n";
    start();
    weir_engine_ask ask;
    do {
        ask = (weir_engine_ask){.verb = WEIR_ASK_TAKE, .limit = fast, .key = weir_key_text("k")};
        ask_at(&ask, 0);
    } while (ask.from != WEIR_FROM_LEASE);
    assert_string_equal(server.lease_words, "FCALL weir_lease 1 {weir:k} 10/h burst=4000 algorithm=gcra 8 1000000");
    assert_int_equal(ask.full_ns, UINT64_C(360000000000)); /* of the one permit that was spent */
    for (uint64_t ms = 0; ms < 250; ms++) weir_engine_process(engine, AT_MS(ms));
    weir_engine_read_stats(engine, &stats, sizeof stats);
    assert_int_equal(stats.lease_unused, 0);
    for (uint64_t ms = 250; ms < 700; ms++) weir_engine_process(engine, AT_MS(ms));
    ask = (weir_engine_ask){.verb = WEIR_ASK_PEEK, .limit = fast, .key = weir_key_text("k")};
    ask_at(&ask, 700);
    assert_string_equal(server.lease_words, "FCALL weir_return 1 {weir:k} 10/h burst=4000 algorithm=gcra 5 8 7");
    weir_engine_read_stats(engine, &stats, sizeof stats);
    assert_int_equal(stats.lease_unused, 7);
    weir_engine_limit_close(fast);
    end();
}

/* ---- links ---- */

/* The next one of that server does not decide whether it is back. */
static void test_what_is_dropped_probes_no_more(void **state)
{
    (void)state;
    begin("redis", PATIENT_MS);
    start();
    assert_int_equal(take().from, WEIR_FROM_ENGINE);
    assert_non_null(engine->link[0]);
    engine->link[0]->probing = true;
    engine_drop_links(engine);
    assert_int_equal(engine->link[0]->state, LINK_CLOSED);
    assert_false(engine->link[0]->probing);
    end();
}

/* ---- the secret of receipts ---- */

static weir_from ask_secret(uint64_t second)
{
    weir_engine_ask ask = {.verb = WEIR_ASK_SECRET};
    ask_at(&ask, second * 1000);
    return ask.from;
}

/* Its number says if it is another one. */
static void assert_secret(const char *text, uint64_t number)
{
    char said[WEIR_ENGINE_SECRET_MAX];
    assert_int_equal(weir_engine_secret(engine, said), number);
    assert_string_equal(said, text);
    assert_int_equal(weir_engine_secret(engine, NULL), number);
}

static void test_secret(void **state)
{
    (void)state;
    char longest[WEIR_ENGINE_SECRET_MAX + 16];
    weir_engine_stats stats;
    begin("redis", PATIENT_MS);
    assert_secret("", 0);
    server.secret = "$3\r\nold\r\n";
    start();
    for (unsigned i = 1; i <= 2; i++) {
        assert_int_equal(ask_secret(i), WEIR_FROM_ENGINE);
        assert_secret("old", 1);
        assert_int_equal(server.sets, i);
    }
    snprintf(longest, sizeof longest, "$%d\r\n%0*d\r\n", WEIR_ENGINE_SECRET_MAX - 1, WEIR_ENGINE_SECRET_MAX - 1, 7);
    server.secret = longest;
    assert_int_equal(ask_secret(3), WEIR_FROM_ENGINE);
    assert_int_equal(weir_engine_secret(engine, NULL), 2);
    weir_engine_read_stats(engine, &stats, sizeof stats);
    assert_int_equal(server.roles, 1);
    assert_int_equal(stats.calls, 0); /* it decides nothing */
    assert_int_equal(stats.round_trip_sum_ns, 0);
    assert_int_equal(server.asked, 0);
    end();
}

/* What cannot be one is told, once until there is one, and the last one stays. */
static void test_no_secret(void **state)
{
    (void)state;
    static const char *const wrong[] = {"$0\r\n\r\n",
                                        "$-1\r\n",
                                        ":5\r\n",
                                        "+\r\n",
                                        "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
                                        "-NOPERM this user has no permissions to run the 'get' command\r\n",
                                        "-ERR unknown command 'GET', with args beginning with:\r\n"};
    char longer[WEIR_ENGINE_SECRET_MAX + 16];
    snprintf(longer, sizeof longer, "$%d\r\n%0*d\r\n", WEIR_ENGINE_SECRET_MAX, WEIR_ENGINE_SECRET_MAX, 7);
    for (size_t i = 0; i <= sizeof wrong / sizeof wrong[0]; i++) {
        begin("redis", PATIENT_MS);
        start();
        for (uint64_t turn = 0; turn < 20; turn += 10) {
            server.secret = "$5\r\nfirst\r\n";
            assert_int_equal(ask_secret(turn), WEIR_FROM_ENGINE);
            server.secret = i < sizeof wrong / sizeof wrong[0] ? wrong[i] : longer;
            assert_int_equal(ask_secret(turn + 2), WEIR_FROM_AWAY);
            assert_non_null(strstr(told, "the secret of receipts, receipts:{weir:}, cannot be read: "));
            told[0] = '\0';
            assert_int_equal(ask_secret(turn + 4), WEIR_FROM_AWAY);
            assert_string_equal(told, "");
            assert_secret("first", 1);
        }
        assert_int_equal(take().from, WEIR_FROM_ENGINE); /* which is no reason to ask it nothing else */
        end();
        assert_int_equal(outages, 0);
    }
}

/* Answers are still due when as many secrets are asked for as may be: what cannot be sent is answered at once. */
static void test_secrets_beyond_what_a_link_keeps(void **state)
{
    (void)state;
    static weir_engine_ask asks[WEIR_ENGINE_MAX];
    weir_engine_ask takes[2];
    begin("redis", PATIENT_MS);
    takes[0] = takes[1] = (weir_engine_ask){.verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text("k")};
    server.answer[0] = ALLOW(7);
    server.usual = "";
    server.secret = "$3\r\nold\r\n";
    start();
    ask_at(takes, 0);
    weir_engine_begin(engine, takes, 2, AT_MS(0));
    weir_engine_finish(engine, takes, 2, AT_MS(0));
    for (size_t i = 0; i < WEIR_ENGINE_MAX; i++) asks[i] = (weir_engine_ask){.verb = WEIR_ASK_SECRET};
    weir_engine_begin(engine, asks, WEIR_ENGINE_MAX, AT_MS(0));
    assert_int_equal(asks[0].from, 0);
    assert_int_equal(asks[WEIR_ENGINE_MAX - 1].from, WEIR_FROM_AWAY);
    weir_engine_finish(engine, asks, WEIR_ENGINE_MAX, AT_MS(0));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_functions_are_loaded_for_both),
        cmocka_unit_test(test_charged_until_it_is_answered),
        cmocka_unit_test(test_slots_are_asked_for_once),
        cmocka_unit_test(test_replies_are_freed),
        cmocka_unit_test(test_heartbeats),
        cmocka_unit_test(test_a_lease_that_is_quiet_goes_back),
        cmocka_unit_test(test_what_is_dropped_probes_no_more),
        cmocka_unit_test(test_secret),
        cmocka_unit_test(test_no_secret),
        cmocka_unit_test(test_secrets_beyond_what_a_link_keeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
