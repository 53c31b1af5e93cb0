/* SPDX-License-Identifier: MIT
   The n-th allocation fails, for all n: what was asked for is done or refused as WEIR_ENOMEM, what
   was there goes on, and nothing is left behind.

   Every allocation of a scenario has failed once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/redis.h>

#include "redis/client/engine.h"
#include "serve/config/config.h"
#include "serve/policy/tables.h"
#include "unit/no_memory.h"

static bool done_or_no_memory(int code)
{
    assert_true(code == 0 || code == WEIR_ENOMEM);
    return code == 0;
}

/* ---- a limiter ---- */

static void change_all(weir_limiter *limiter)
{
    static const char *const texts[] = {"2/s algorithm=sliding-log", "3/s algorithm=hybrid", "7/s; 100/h", "1/s"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const weir_decision before = weir_peek(limiter, 1);
        if (done_or_no_memory(weir_set_limit(limiter, texts[i], WEIR_RESET, NULL))) continue;
        assert_int_equal(weir_peek(limiter, 1).verdict, before.verdict); /* of the limit that it had */
        assert_int_equal(weir_peek(limiter, 1).remaining, before.remaining);
    }
}

/* What cannot be recorded is left out, and what comes later is not. */
static void end_operations(weir_limiter *limiter)
{
    weir_latency latency;
    for (uint64_t i = 0; i < 4; i++) weir_done_at(limiter, (weir_instant){0}, (weir_instant){7}, (weir_instant){1000});
    weir_read_latency(limiter, &latency, sizeof latency);
    assert_in_range(latency.response.count, 3, 4);
    assert_in_range(latency.service.count, 3, 4);
}

static void a_limiter(const void *text)
{
    weir_limiter *limiter = NULL;
    weir_lease lease;
    weir_options options = WEIR_OPTIONS;
    options.clock = WEIR_CLOCK_MANUAL;
    if (!done_or_no_memory(weir_open(&limiter, text, &options, NULL))) {
        assert_null(limiter);
        return;
    }
    weir_take(limiter, 1);
    if (done_or_no_memory(weir_lease_open(&lease, limiter, NULL))) weir_lease_close(&lease);
    change_all(limiter);
    for (int i = 0; i < 3; i++) weir_reserve(limiter, 1, UINT64_C(10000000000));
    end_operations(limiter);
    weir_close(limiter);
}

static void limiters(void **state)
{
    (void)state;
    static const char *const texts[] = {"10/s", "10/s; 100/h", "100/s algorithm=sliding-log", "10/s algorithm=timeline",
                                        "5/s algorithm=sliding-window"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) no_memory_each(5, a_limiter, texts[i]);
}

/* ---- a table ---- */

static void a_table(const void *text)
{
    weir_table *table = NULL;
    weir_plan plan;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = 100;
    options.top = 10;
    assert_int_equal(weir_plan_parse(&plan, text != NULL ? text : "1/h", WEIR_ADMIT, NULL), 0);
    if (text != NULL) options.plan = &plan;
    if (text != NULL) options.sharing = WEIR_PRIVATE;
    if (!done_or_no_memory(weir_table_open(&table, &options, NULL))) {
        assert_null(table);
        return;
    }
    assert_true(weir_allowed(weir_table_take(table, &plan, weir_key_text("k"), 1)));
    weir_table_close(table);
}

static void all_tables(void **state)
{
    (void)state;
    no_memory_each(2, a_table, NULL);
    no_memory_each(2, a_table, "5/s algorithm=sliding-log");
    no_memory_each(2, a_table, "5/s algorithm=hybrid");
}

/* ---- a service's file ---- */

static unsigned number_of(void *context, const char *name)
{
    (void)context;
    (void)name;
    return 0;
}

static void a_file(const void *text)
{
    struct config config;
    struct config_problem problem = {.line = 0};
    struct tables *tables = NULL;
    const struct tables_options options = {.keys_max = 1000};
    if (!done_or_no_memory(tables_open(&tables, &options, NULL))) return;
    struct policy *policy = NULL;
    const bool reads = config_read(slice_of(text), &config, &problem);
    if (reads) policy = config_policy(slice_of(text), tables, NULL, number_of, NULL, &problem);
    if (policy == NULL && strstr(problem.message, "memory") == NULL) fail_msg("it says: %s", problem.message);
    if (policy != NULL) policy_free(policy);
    if (reads) config_free(&config);
    tables_close(tables);
}

static void files(void **state)
{
    (void)state;
    no_memory_each(40, a_file,
                   "password: \"a secret\"\n"
                   "user: weir\n"
                   "engine: {url: redis://10.0.0.5, user: weir, prefix: 'weir:'}\n"
                   "listen: {hosts: [weir.example, '[2001:db8::1]'], tls: {certificate: c.pem, key: k.pem}}\n"
                   "limits:\n"
                   "  api: {limit: \"100/s; 1000/h\"}\n"
                   "  log: {limit: 3/s algorithm=sliding-log, key: [address/64], exempt: [10.0.0.0/8]}\n"
                   "overrides:\n"
                   "  api: {acme: \"600/min; 1000/h\", none: none}\n"
                   "  log: {203.0.113.9: 1/h, \"2002::/64\": unlimited}\n");
}

/* ---- an engine, at a port where nobody listens ---- */

/* A name that is looked up again has a thread of its own: without one, and without memory for it, the handle is closed
   nevertheless. */
int __real_getaddrinfo(const char *name, const char *port, const struct addrinfo *wanted, struct addrinfo **found);
int __wrap_getaddrinfo(const char *name, const char *port, const struct addrinfo *wanted, struct addrinfo **found);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *of, void *(*run)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *of, void *(*run)(void *), void *argument)
{
    (void)thread, (void)of, (void)run, (void)argument;
    return EAGAIN;
}

/* One name is this machine's, and nobody is asked for it. */
int __wrap_getaddrinfo(const char *name, const char *port, const struct addrinfo *wanted, struct addrinfo **found)
{
    const bool is_name = (wanted->ai_flags & AI_NUMERICHOST) == 0 && strcmp(name, "weir.example") == 0;
    return __real_getaddrinfo(is_name ? "127.0.0.1" : name, port, wanted, found);
}

static const char *engine_endpoint;
static weir_engine_options engine_options;

static void an_engine(const void *text)
{
    weir_engine *engine = NULL, *joined = NULL;
    weir_engine_limit *limit = NULL;
    const uint64_t cost = 1;
    if (!done_or_no_memory(weir_engine_open(&engine, engine_endpoint, &engine_options, NULL))) {
        assert_null(engine);
        return;
    }
    assert_int_equal(engine->pool->servers, 1);
    if (done_or_no_memory(weir_engine_limit_open(&limit, engine, text, WEIR_AWAY_OPEN, NULL))) {
        weir_engine_ask ask = {
            .verb = WEIR_ASK_TAKE, .limit = limit, .key = weir_key_text("k"), .cost = &cost, .costs = 1};
        weir_engine_batch(engine, &ask, 1);
        assert_int_equal(ask.decision.verdict, WEIR_ALLOW);
        weir_engine_limit_close(limit);
    }
    if (done_or_no_memory(weir_engine_join(&joined, engine, NULL))) weir_engine_close(joined);
    weir_engine_close(engine);
}

static void engines(void **state)
{
    (void)state;
    engine_options = (weir_engine_options)WEIR_ENGINE_OPTIONS;
    engine_endpoint = "redis://127.0.0.1:1";
    no_memory_each(8, an_engine, "10/s");
    engine_options.lease_ns = 1000000000;
    no_memory_each(8, an_engine, "10/s");
    engine_options.lease_ns = 0;
    engine_endpoint = "redis://weir.example:1";
    no_memory_each(8, an_engine, "10/s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(limiters), cmocka_unit_test(all_tables),
                                       cmocka_unit_test(files), cmocka_unit_test(engines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
