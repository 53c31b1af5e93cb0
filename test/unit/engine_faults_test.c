/* SPDX-License-Identifier: MIT
   The client against a server of our own that says what the test wants: errors, nonsense, too
   much, too late, and nothing. */
#include "unit/engine_server.h"

enum { PATIENT_MS = 5000, SLOW_MS = 1000, HASTY_MS = 50 };

/* ---- errors ---- */

/* What was not executed is asked again, and nobody notices. */
static void test_asked_again(void **state)
{
    (void)state;
    static const char *const errors[] = {"-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
                                         "-ERR Function not found\r\n",
                                         "-ERR unknown command 'FCALL', with args beginning with:\r\n",
                                         "-NOPERM this user has no permissions to run the 'fcall' command\r\n"};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        begin("redis", PATIENT_MS);
        server.answer[0] = errors[i];
        start();
        assert_int_equal(take().from, WEIR_FROM_ENGINE);
        assert_int_equal(server.questions, 2);
        assert_int_equal(server.loads, i == 1);
        assert_int_equal(take().from, WEIR_FROM_ENGINE);
        assert_int_equal(server.questions, 3);
        assert_int_equal(server.loads, i == 1);
        end();
        assert_int_equal(outages, 0);
    }
}

static void test_script_goes_along_once(void **state)
{
    (void)state;
    begin("redis", PATIENT_MS);
    server.answer[0] = "-ERR unknown command 'FCALL', with args beginning with:\r\n";
    server.answer[1] = "-NOSCRIPT No matching script. Please use EVAL.\r\n";
    start();
    for (int i = 0; i < 3; i++) assert_int_equal(take().from, WEIR_FROM_ENGINE);
    assert_int_equal(server.evals, 1);
    assert_int_equal(server.questions, 5);
    weir_engine_stats stats;
    weir_engine_read_stats(engine, &stats, sizeof stats);
    uint64_t answers = 0;
    for (unsigned i = 0; i < WEIR_ENGINE_ROUND_TRIPS; i++) answers += stats.round_trips[i];
    assert_int_equal(answers, 3); /* as many as answered; errors are none */
    assert_int_equal(stats.round_trips[0], 0);
    assert_true(stats.round_trip_sum_ns >= UINT64_C(3) << 10);
    end();
}

/* A server that cannot answer anybody is away at once, and is asked no more meanwhile. */
static void test_server_away(void **state)
{
    (void)state;
    static const char *const errors[] = {"LOADING Redis is loading the dataset in memory",
                                         "BUSY Redis is busy running a script",
                                         "MASTERDOWN Link with MASTER is down",
                                         "READONLY You can't write against a read only replica.",
                                         "OOM command not allowed when used memory > 'maxmemory'.",
                                         "MISCONF Redis is configured to save RDB snapshots",
                                         "CLUSTERDOWN The cluster is down",
                                         "NOREPLICAS Not enough good replicas to write.",
                                         "NOAUTH Authentication required."};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        char answer[128];
        snprintf(answer, sizeof answer, "-%s\r\n", errors[i]);
        begin("redis", PATIENT_MS);
        server.answer[0] = answer;
        server.greeting = NULL;
        start();
        assert_int_equal(take().from, WEIR_FROM_AWAY);
        assert_int_equal(outages, 1);
        assert_non_null(strstr(told, errors[i]));
        assert_outage(WEIR_OUTAGE_REFUSED);
        while (take().from != WEIR_FROM_ENGINE) continue; /* until a probe */
        assert_non_null(strstr(told, "answers again"));
        end();
        assert_int_equal(outages, 1);
    }
}

/* That it answers again is noticed by ticks, where nobody asks. */
static void test_ticks_alone(void **state)
{
    (void)state;
    begin("redis", PATIENT_MS);
    server.answer[0] = "-LOADING Redis is loading the dataset in memory\r\n";
    start();
    assert_int_equal(take().from, WEIR_FROM_AWAY);
    assert_int_equal(outages, 1);
    alarm(60);
    while (strstr(told, "answers again") == NULL) weir_engine_tick(engine);
    alarm(0);
    assert_int_equal(take().from, WEIR_FROM_ENGINE);
    end();
}

/* One question that cannot be answered is no reason to ask no others. */
static void test_question_alone(void **state)
{
    (void)state;
    static const char *const errors[] = {"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
                                         "-WEIRVALUE not weir's\r\n",
                                         "*1\r\n:1\r\n",
                                         "+OK\r\n",
                                         ":5\r\n",
                                         "*8\r\n$5\r\nmaybe\r\n:0\r\n:1\r\n:0\r\n:0\r\n:1\r\n:1\r\n:0\r\n",
                                         "*8\r\n$5\r\nallow\r\n:9\r\n:1\r\n:0\r\n:0\r\n:1\r\n:1\r\n:0\r\n",
                                         "*8\r\n$5\r\nallow\r\n:0\r\n:1\r\n:0\r\n:0\r\n$1\r\n1\r\n:1\r\n:0\r\n",
                                         "*8\r\n$5\r\nallow\r\n:0\r\n:-1\r\n:0\r\n:0\r\n:1\r\n:1\r\n:0\r\n",
                                         "*8\r\n$5\r\nallow\r\n:0\r\n:1\r\n:0\r\n:0\r\n:1\r\n:1\r\n:-1\r\n"};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        begin("redis", PATIENT_MS);
        server.answer[0] = errors[i];
        start();
        assert_int_equal(take().from, WEIR_FROM_AWAY);
        assert_string_not_equal(told, "");
        assert_int_equal(take().from, WEIR_FROM_ENGINE);
        end();
        assert_int_equal(outages, 0);
    }
}

/* What a server says may be shown by a terminal. */
static void test_bytes_that_are_no_text(void **state)
{
    (void)state;
    begin("redis", PATIENT_MS);
    server.answer[0] = "-WEIRVALUE \x1b[31m red ~\x7f\x80 end\r\n";
    start();
    assert_int_equal(take().from, WEIR_FROM_AWAY);
    assert_non_null(strstr(told, "WEIRVALUE ?[31m red ~?? end"));
    end();
}

/* What is at the key stays there until somebody looks, so to ask again at once is no use. */
static void test_foreign_value(void **state)
{
    (void)state;
    static const char *const errors[] = {"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
                                         "-WEIRVALUE what is at {weir:tenant} was not written by weir\r\n",
                                         "-WEIRLIMIT col 1: of another weir\r\n"};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        const bool foreign = i < 2;
        weir_engine_limit *closed;
        weir_engine_stats stats;
        begin("redis", PATIENT_MS);
        assert_int_equal(weir_engine_limit_open(&closed, engine, "1/h", WEIR_AWAY_CLOSED, NULL), 0);
        server.answer[0] = errors[i];
        start();
        const weir_engine_ask ask = take_of(closed);
        assert_int_equal(ask.from, WEIR_FROM_AWAY);
        assert_int_equal(ask.decision.verdict, WEIR_DENY);
        assert_true((ask.decision.retry_ns >= 1000000000) == foreign);
        weir_engine_read_stats(engine, &stats, sizeof stats);
        assert_int_equal(stats.foreign, foreign);
        weir_engine_limit_close(closed);
        end();
    }
}

static void test_moved_where_there_is_no_cluster(void **state)
{
    (void)state;
    begin("redis", PATIENT_MS);
    server.answer[0] = "-MOVED 1 127.0.0.1:1\r\n";
    start();
    assert_int_equal(take().from, WEIR_FROM_AWAY);
    assert_non_null(strstr(told, "redis+cluster://"));
    end();
}

/* ---- lost, late, too much ---- */

/* One that says nothing of lateness, as an older engine, and one that says more than is known here. */
static void test_lateness(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        uint64_t delay_ns, late_ns;
    } rows[] = {{"*8\r\n$5\r\nallow\r\n:0\r\n:1\r\n:70\r\n:0\r\n:1\r\n:1\r\n:2500\r\n", 70000, 2500000},
                {"*9\r\n$5\r\nallow\r\n:0\r\n:1\r\n:0\r\n:0\r\n:1\r\n:1\r\n:0\r\n$4\r\nmore\r\n", 0, 0},
                {"*7\r\n$5\r\nallow\r\n:0\r\n:1\r\n:0\r\n:0\r\n:1\r\n:1\r\n", 0, UINT64_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        weir_engine_limit *paced;
        begin("redis", PATIENT_MS);
        assert_int_equal(weir_engine_limit_open(&paced, engine, "10/s algorithm=hybrid", WEIR_AWAY_LOCAL, NULL), 0);
        server.answer[0] = server.answer[1] = rows[i].answer;
        start();
        const weir_engine_ask ask = take_of(paced), plain = take();
        assert_int_equal(ask.from, WEIR_FROM_ENGINE);
        assert_int_equal(ask.decision.delay_ns, rows[i].delay_ns);
        if (rows[i].late_ns == UINT64_MAX) assert_int_equal(ask.decision.due.ns, 0);
        else assert_int_equal(ask.decision.start.ns - ask.decision.due.ns, rows[i].late_ns);
        assert_int_equal(plain.decision.due.ns, 0); /* a bucket keeps no schedule */
        weir_engine_limit_close(paced);
        end();
    }
}

/* An eighth of each later one. */
static void test_round_trips_are_averaged(void **state)
{
    (void)state;
    static const struct {
        uint64_t from_ms, to_ms, average_us;
    } rows[] = {{0, 8, 8000}, {10, 26, 9000}, {30, 31, 8000}};
    weir_engine_stats stats;
    begin("redis", PATIENT_MS);
    start();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        weir_engine_ask ask = {.verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text("tenant")};
        weir_engine_begin(engine, &ask, 1, AT_MS(rows[i].from_ms));
        process_until_answered(&ask, AT_MS(rows[i].to_ms));
        weir_engine_read_stats(engine, &stats, sizeof stats);
        assert_int_equal(stats.round_trip_ns, rows[i].average_us * 1000);
    }
    end();
}

/* It may have been executed: it is not sent again. */
static void test_lost_answer(void **state)
{
    (void)state;
    static const char *const ends[] = {CLOSE, "nonsense\r\n", FLOOD, "*8\r\n$5\r\nal"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        begin("redis", i == 3 ? HASTY_MS : PATIENT_MS);
        server.answer[0] = ends[i];
        start();
        do {
            assert_int_equal(take().from, WEIR_FROM_AWAY);
        } while (server.questions == 0); /* the hasty one may have given up before its question was there */
        assert_int_equal(server.questions, 1);
        assert_true(outages >= 1);
        if (i != 3) assert_int_equal(outages, 1);
        assert_outage(i == 3 ? WEIR_OUTAGE_TIMEOUT : WEIR_OUTAGE_CONNECTION);
        if (ends[i] == FLOOD) assert_non_null(strstr(told, "8 MiB"));
        end();
    }
}

/* The answer that comes after its question was given up is not taken for that of the next one. */
static void test_late_answer(void **state)
{
    (void)state;
    weir_engine_ask ask;
    begin("redis", HASTY_MS);
    server.answer[0] = SILENCE;
    server.answer[1] = ALLOW(1);
    start();
    do {
        ask = take();
    } while (ask.from != WEIR_FROM_ENGINE);
    assert_int_equal(ask.decision.remaining, server.questions == 2 ? 1 : 7);
    end();
}

/* The same of a server that is not away, because it had answered another question of the batch. */
static void test_late_answer_of_many(void **state)
{
    (void)state;
    const weir_engine_ask question = {.verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text("tenant")};
    weir_engine_ask asks[2] = {question, question};
    /* A machine that is held up for longer than the deadline gets a longer one. */
    for (uint64_t deadline_ms = SLOW_MS; deadline_ms < 30 * SLOW_MS; deadline_ms *= 5) {
        begin("redis", deadline_ms);
        asks[0].limit = asks[1].limit = limit;
        server.answer[0] = ALLOW(5);
        server.answer[1] = SILENCE;
        server.answer[2] = ALLOW(1);
        start();
        weir_engine_batch(engine, asks, 2);
        if (asks[0].from == WEIR_FROM_ENGINE) break;
        end();
    }
    assert_int_equal(asks[0].from, WEIR_FROM_ENGINE);
    assert_int_equal(asks[0].decision.remaining, 5);
    assert_int_equal(asks[1].from, WEIR_FROM_AWAY);
    assert_int_equal(outages, 0);
    const weir_decision before = asks[1].decision;
    weir_engine_ask next;
    do {
        next = take();
    } while (next.from != WEIR_FROM_ENGINE);
    assert_int_equal(next.decision.remaining, server.questions == 3 ? 1 : 7);
    assert_memory_equal(&asks[1].decision, &before, sizeof before);
    end();
}

/* Asked and answered in the same ns: a server that has answered one of two is not taken for one that is away. */
static void test_silence_of_one_of_two(void **state)
{
    (void)state;
    weir_engine_ask asks[2];
    begin("redis", PATIENT_MS);
    asks[0] = asks[1] = (weir_engine_ask){.verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text("tenant")};
    server.answer[0] = ALLOW(5);
    server.answer[1] = SILENCE;
    start();
    weir_engine_begin(engine, asks, 2, AT_MS(0));
    process_until_answered(asks, AT_MS(0));
    weir_engine_process(engine, AT_MS(PATIENT_MS));
    assert_int_equal(asks[0].from, WEIR_FROM_ENGINE);
    assert_int_equal(asks[1].from, WEIR_FROM_AWAY);
    assert_int_equal(outages, 0);
    end();
}

/* More questions than fit the ring at a time. */
static void test_more_than_the_ring(void **state)
{
    (void)state;
    enum { MANY = 2 * WEIR_ENGINE_MAX + 3 };
    static weir_engine_ask asks[MANY];
    begin("redis", 60 * 1000);
    start();
    for (size_t i = 0; i < MANY; i++)
        asks[i] = (weir_engine_ask){.verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text("tenant")};
    weir_engine_batch(engine, asks, MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(asks[i].from, WEIR_FROM_ENGINE);
        assert_int_equal(asks[i].decision.remaining, 7);
    }
    assert_int_equal(server.questions, MANY);
    end();
}

/* A greeting that fails: nobody is asked anything. */
static void test_greeting(void **state)
{
    (void)state;
    begin("redis", PATIENT_MS);
    server.greeting = "-LOADING Redis is loading the dataset in memory\r\n";
    start();
    for (int i = 0; i < 10; i++) assert_int_equal(take().from, WEIR_FROM_AWAY);
    assert_int_equal(server.questions, 0);
    assert_int_equal(outages, 1);
    assert_outage(WEIR_OUTAGE_REFUSED);
    end();
}

/* Redirected for ever: it ends. */
static void test_redirected_in_circles(void **state)
{
    (void)state;
    begin("redis", PATIENT_MS);
    for (int i = 0; i < ANSWERS_MAX; i++) server.answer[i] = "-TRYAGAIN\r\n";
    start();
    assert_int_equal(take().from, WEIR_FROM_AWAY);
    assert_true(server.questions <= ANSWERS_MAX + 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked_again),
        cmocka_unit_test(test_round_trips_are_averaged),
        cmocka_unit_test(test_script_goes_along_once),
        cmocka_unit_test(test_server_away),
        cmocka_unit_test(test_ticks_alone),
        cmocka_unit_test(test_question_alone),
        cmocka_unit_test(test_foreign_value),
        cmocka_unit_test(test_bytes_that_are_no_text),
        cmocka_unit_test(test_moved_where_there_is_no_cluster),
        cmocka_unit_test(test_lateness),
        cmocka_unit_test(test_lost_answer),
        cmocka_unit_test(test_late_answer),
        cmocka_unit_test(test_late_answer_of_many),
        cmocka_unit_test(test_silence_of_one_of_two),
        cmocka_unit_test(test_more_than_the_ring),
        cmocka_unit_test(test_greeting),
        cmocka_unit_test(test_redirected_in_circles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
