/* SPDX-License-Identifier: MIT
   A handle by its pieces, on a clock that the test sets: deadlines, how many questions wait, when
   a server that was away is tried again.  It asks a socket that takes connections and never says anything.

   No answer depends on how long anything really takes: the simulated time has nothing to do with the machine's, and an
   hour of it goes by at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weir/redis.h>

enum { MORE = 10, ALL = WEIR_ENGINE_MAX + MORE };
static const uint64_t BEGIN_NS = 5, DEADLINE_NS = UINT64_C(3600000000000), HOUR_NS = UINT64_C(3600000000000);

static int listener;
static weir_engine *engine;
static weir_engine_limit *limit;
static weir_engine_ask ask[ALL];

static int begin(void **state)
{
    (void)state;
    char url[64];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 16), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", ntohs(address.sin_port));
    options.deadline_ns = DEADLINE_NS;
    assert_int_equal(weir_engine_open(&engine, url, &options, NULL), 0);
    assert_int_equal(weir_engine_limit_open(&limit, engine, "1/h burst=3", WEIR_AWAY_CLOSED, NULL), 0);
    for (unsigned i = 0; i < ALL; i++)
        ask[i] = (weir_engine_ask){.verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text("k")};
    return 0;
}

static int end(void **state)
{
    (void)state;
    weir_engine_limit_close(limit);
    weir_engine_close(engine);
    close(listener);
    return 0;
}

static weir_instant at(uint64_t ns)
{
    return (weir_instant){BEGIN_NS + ns};
}

static uint64_t wait_ns(uint64_t ns)
{
    weir_engine_watch watch[4];
    uint64_t wait = 0;
    assert_in_range(weir_engine_events(engine, at(ns), watch, 4, &wait), 0, 1);
    return wait;
}

static unsigned count_answered(unsigned from, unsigned to)
{
    unsigned answered = 0;
    for (unsigned i = from; i < to; i++) answered += ask[i].from == WEIR_FROM_AWAY;
    return answered;
}

static weir_engine_stats stats(void)
{
    weir_engine_stats all;
    weir_engine_read_stats(engine, &all, sizeof all);
    return all;
}

/* Each question has its own, from when it was begun: not a nanosecond before, and in the first turn behind it. */
static void deadlines(void **state)
{
    (void)state;
    assert_true(wait_ns(0) == WEIR_FOREVER);
    weir_engine_begin(engine, ask, 1, at(0));
    const uint64_t within_ns = wait_ns(0);
    assert_in_range(within_ns, DEADLINE_NS - DEADLINE_NS / 8, DEADLINE_NS);
    weir_engine_begin(engine, ask + 1, 1, at(1000));
    assert_int_equal(wait_ns(1000), within_ns - 1000);
    weir_engine_process(engine, at(within_ns - 1));
    assert_int_equal(count_answered(0, 2), 0);
    assert_int_equal(wait_ns(within_ns - 1), 1);
    weir_engine_process(engine, at(within_ns));
    assert_int_equal(ask[0].from, WEIR_FROM_AWAY);
    assert_int_equal(ask[0].decision.verdict, WEIR_DENY);
    assert_int_equal(ask[0].decision.start.ns, at(within_ns).ns);
    assert_int_equal(stats().late, 1);
    assert_int_equal(stats().outages[WEIR_OUTAGE_TIMEOUT], 1);
    weir_engine_process(engine, at(within_ns + 1000));
    assert_int_equal(count_answered(0, 2), 2);
    assert_true(wait_ns(within_ns + 1000) == WEIR_FOREVER);
}

/* So many wait; those beyond are answered at once, and there is room again when the first have been. */
static void how_many_wait(void **state)
{
    (void)state;
    weir_engine_begin(engine, ask, ALL, at(0));
    assert_int_equal(count_answered(0, WEIR_ENGINE_MAX), 0);
    assert_int_equal(count_answered(WEIR_ENGINE_MAX, ALL), MORE);
    assert_int_equal(stats().crowded, MORE);
    weir_engine_finish(engine, ask, MORE, at(1));
    assert_int_equal(count_answered(0, WEIR_ENGINE_MAX), MORE);
    weir_engine_begin(engine, ask + WEIR_ENGINE_MAX, MORE, at(2));
    assert_int_equal(count_answered(WEIR_ENGINE_MAX, ALL), 0);
    assert_int_equal(stats().crowded, MORE);
    weir_engine_process(engine, at(HOUR_NS));
    assert_int_equal(count_answered(0, ALL), ALL);
    assert_int_equal(stats().from_away, ALL + MORE);
    weir_engine_begin(engine, ask, ALL, at(2 * HOUR_NS)); /* as many as at first */
    assert_int_equal(stats().crowded, 2 * MORE);
    weir_engine_finish(engine, ask, ALL, at(2 * HOUR_NS));
}

/* While it is away nobody waits; it is tried again when the time that was told has gone by, and not before. */
static void tried_again(void **state)
{
    (void)state;
    weir_engine_begin(engine, ask, 1, at(0));
    weir_engine_process(engine, at(HOUR_NS));
    assert_int_equal(count_answered(0, 1), 1);
    const uint64_t retry_ns = ask[0].decision.retry_ns;
    assert_in_range(retry_ns, 1, UINT64_C(10000000000));
    weir_engine_begin(engine, ask + 1, 1, at(HOUR_NS + retry_ns - 1));
    assert_int_equal(ask[1].from, WEIR_FROM_AWAY);
    assert_int_equal(ask[1].decision.retry_ns, 1);
    weir_engine_begin(engine, ask + 2, 1, at(HOUR_NS + retry_ns));
    assert_int_equal(ask[2].from, WEIR_FROM_AWAY);
    assert_true(ask[2].decision.retry_ns > 1); /* until the next try */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(deadlines, begin, end),
                                       cmocka_unit_test_setup_teardown(how_many_wait, begin, end),
                                       cmocka_unit_test_setup_teardown(tried_again, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
