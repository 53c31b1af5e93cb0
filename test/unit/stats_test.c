/* SPDX-License-Identifier: MIT
   What the service says of itself: counters, the last ten minutes, Prometheus' text, JSON.

   Texts are compared whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "serve/stats/series.h"
#include "serve/stats/sums.h"
#include "serve/stats/text.h"

enum { MS = 1000000, JSON_MAX = STATS_JSON_MAX };

/* ---- what is made up ---- */

static weir_table_stats told_stats;
static weir_top told_top[100];
static size_t told_top_count;
static uint64_t unix_now_ns, now_ns;

weir_table_stats __wrap_tables_read_counters(const struct tables *tables);
uint64_t __wrap_tables_live(struct tables *tables);
size_t __wrap_tables_read_top(struct tables *tables, weir_top *top, size_t count);
uint64_t __wrap_host_unix_ns(void);
void __wrap_policy_free(struct policy *policy);

weir_table_stats __wrap_tables_read_counters(const struct tables *tables)
{
    weir_table_stats told = told_stats;
    (void)tables;
    told.keys_live = 0;
    return told;
}

uint64_t __wrap_tables_live(struct tables *tables)
{
    (void)tables;
    return told_stats.keys_live;
}

size_t __wrap_tables_read_top(struct tables *tables, weir_top *top, size_t count)
{
    (void)tables;
    const size_t told = told_top_count < count ? told_top_count : count;
    memcpy(top, told_top, told * sizeof *top);
    return told;
}

uint64_t __wrap_host_unix_ns(void)
{
    return unix_now_ns;
}

/* Policies of these tests are on the stack. */
void __wrap_policy_free(struct policy *policy)
{
    (void)policy;
}

static uint64_t test_now(void *clock)
{
    (void)clock;
    return now_ns;
}

static struct stats *open_service(struct service *service)
{
    now_ns = 5000;
    unix_now_ns = UINT64_C(1700000000250000000);
    told_stats = (weir_table_stats){.keys_live = 10, .keys_max = 1000, .bytes = 25000, .full = 3, .displaced = 2};
    told_stats.stuck = 4;
    told_stats.reclaimed = 7;
    told_top_count = 0;
    service_open(service, NULL, test_now, NULL);
    struct stats *const stats = service_worker(service);
    assert_non_null(stats);
    return stats;
}

static void decide(struct stats *stats, unsigned number, unsigned verdict, uint64_t charged, bool shadow)
{
    const weir_decision decision = {.verdict = verdict, .charged = charged};
    stats_decided(stats, number, &decision, shadow);
}

/* ---- counters ---- */

static void test_decided(void **state)
{
    (void)state;
    struct service service;
    struct stats *one = open_service(&service), *two = service_worker(&service);
    assert_non_null(two);
    decide(one, 1, WEIR_ALLOW, 5, false);
    decide(two, 1, WEIR_ALLOW, 2, true);
    decide(one, 1, WEIR_DENY, 0, false);
    decide(one, 1, WEIR_NEVER, 0, false);
    decide(two, 1, WEIR_DENY, 0, true);
    decide(two, 1, WEIR_NEVER, 0, true);
    decide(two, STATS_LIMITS - 1, WEIR_ALLOW, 1, false);
    struct sums_crew crew;
    sums_crew(&crew, &service);
    assert_int_equal(crew.workers, 2);
    const struct sums_limit sum = sums_of_limit(&crew, 1);
    assert_int_equal(sum.allowed, 4);
    assert_int_equal(sum.denied, 1);
    assert_int_equal(sum.never, 1);
    assert_int_equal(sum.shadowed, 2);
    assert_int_equal(sum.permits, 7);
    assert_int_equal(sums_of_limit(&crew, 0).allowed, 0);
    assert_int_equal(sums_of_limit(&crew, STATS_LIMITS - 1).allowed, 1);
    /* The last call granted says how late it was, whoever granted it. */
    const weir_decision first = {.verdict = WEIR_ALLOW, .start = {9 * MS}, .due = {2 * MS}};
    const weir_decision last = {.verdict = WEIR_ALLOW, .start = {10 * MS}, .due = {7 * MS}};
    stats_decided(two, 1, &last, false);
    stats_decided(one, 1, &first, false);
    decide(two, 1, WEIR_ALLOW, 1, false);
    assert_int_equal(sums_of_limit(&crew, 1).late_ns, 3 * MS);
    service_close(&service);
}

static int by_size(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

/* The oracle: all values, sorted. */
static uint64_t true_quantile(uint64_t values[], uint64_t count, uint64_t parts)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    const uint64_t wanted = (count * parts + 999) / 1000;
    return values[wanted == 0 ? 0 : wanted - 1];
}

static void test_quantiles(void **state)
{
    (void)state;
    enum { VALUES = 700 };
    static const uint64_t parts[] = {0, 1, 250, 500, 900, 990, 999, 1000};
    uint64_t random = 11, values[VALUES], count[STATS_LATENCY_BUCKETS];
    for (int round = 0; round < 300; round++) {
        struct stats *stats = calloc(1, sizeof *stats);
        assert_non_null(stats);
        const uint64_t many = 1 + random_below(&random, VALUES);
        for (uint64_t i = 0; i < many; i++) {
            values[i] = random_sized(&random, 42);
            stats_latency(stats, values[i], 1);
        }
        for (unsigned i = 0; i < STATS_LATENCY_BUCKETS; i++) count[i] = atom_load(&stats->latency[i]);
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            const uint64_t truth = true_quantile(values, many, parts[i]);
            const uint64_t told = histogram_bucket_quantile(count, STATS_LATENCY_BUCKETS, STATS_LATENCY_BITS, parts[i]);
            assert_true(told >= truth && told <= truth + truth / 8);
        }
        free(stats);
    }
}

static void test_latency_edges(void **state)
{
    (void)state;
    struct stats *stats = calloc(1, sizeof *stats);
    assert_non_null(stats);
    uint64_t count[STATS_LATENCY_BUCKETS] = {0};
    assert_int_equal(histogram_bucket_quantile(count, STATS_LATENCY_BUCKETS, STATS_LATENCY_BITS, 990), 0);
    count[7] = 10;
    assert_int_equal(histogram_bucket_quantile(count, STATS_LATENCY_BUCKETS, STATS_LATENCY_BITS, 1000), 7);
    assert_int_equal(histogram_bucket_quantile(count, STATS_LATENCY_BUCKETS, STATS_LATENCY_BITS, 1001),
                     0); /* of none */
    count[7] = 0;
    for (unsigned bucket = 1; bucket < STATS_LATENCY_BUCKETS; bucket++) {
        const uint64_t before_end = histogram_bucket_end(bucket - 1, STATS_LATENCY_BITS);
        assert_true(histogram_bucket_end(bucket, STATS_LATENCY_BITS) > before_end);
        stats_latency(stats, before_end + 1, bucket);
        assert_int_equal(atom_load(&stats->latency[bucket]), bucket);
    }
    stats_latency(stats, UINT64_MAX, 1);
    assert_int_equal(atom_load(&stats->latency[STATS_LATENCY_BUCKETS - 1]), STATS_LATENCY_BUCKETS);
    assert_int_equal(histogram_bucket_end(STATS_LATENCY_BUCKETS - 1, STATS_LATENCY_BITS), (UINT64_C(1) << 42) - 1);
    free(stats);
}

/* ---- Prometheus' text ---- */

/* No compiler need take a text of more than 4095 bytes. */
static const char *const expected_metrics[] = {
    "# HELP weir_decisions_total Decisions by limit, \"(text)\" for limits given as text; shadow: allowed, but only "
    "because the limit just counts.\n"
    "# TYPE weir_decisions_total counter\n"
    "weir_decisions_total{limit=\"(text)\",verdict=\"allow\"} 0\n"
    "weir_decisions_total{limit=\"(text)\",verdict=\"deny\"} 0\n"
    "weir_decisions_total{limit=\"(text)\",verdict=\"never\"} 0\n"
    "weir_decisions_total{limit=\"(text)\",verdict=\"shadow\"} 0\n"
    "weir_decisions_total{limit=\"api\",verdict=\"allow\"} 1\n"
    "weir_decisions_total{limit=\"api\",verdict=\"deny\"} 1\n"
    "weir_decisions_total{limit=\"api\",verdict=\"never\"} 0\n"
    "weir_decisions_total{limit=\"api\",verdict=\"shadow\"} 1\n"
    "weir_decisions_total{limit=\"a\\\\b\\\"c\\nd\",verdict=\"allow\"} 0\n"
    "weir_decisions_total{limit=\"a\\\\b\\\"c\\nd\",verdict=\"deny\"} 0\n"
    "weir_decisions_total{limit=\"a\\\\b\\\"c\\nd\",verdict=\"never\"} 1\n"
    "weir_decisions_total{limit=\"a\\\\b\\\"c\\nd\",verdict=\"shadow\"} 0\n"
    "# HELP weir_permits_total Permits granted, by limit.\n"
    "# TYPE weir_permits_total counter\n"
    "weir_permits_total{limit=\"(text)\"} 0\n"
    "weir_permits_total{limit=\"api\"} 9\n"
    "weir_permits_total{limit=\"a\\\\b\\\"c\\nd\"} 0\n"
    "# HELP weir_lateness_seconds By how much the last call granted was later than it was due by the rate, by limit; 0 "
    "unless "
    "the limit paces.\n"
    "# TYPE weir_lateness_seconds gauge\n"
    "weir_lateness_seconds{limit=\"(text)\"} 0\n"
    "weir_lateness_seconds{limit=\"api\"} 0.25\n"
    "weir_lateness_seconds{limit=\"a\\\\b\\\"c\\nd\"} 0\n"
    "# HELP weir_tenant_borrowed_total Calls of tenants allowed beyond their guarantee, for there was room at the "
    "parent, by limit.\n"
    "# TYPE weir_tenant_borrowed_total counter\n"
    "# HELP weir_concurrent_held Slots held now, of concurrent limits with one key for all (key: none).\n"
    "# TYPE weir_concurrent_held gauge\n"
    "# HELP weir_concurrent_renewals_total Leases renewed, by concurrent limit.\n"
    "# TYPE weir_concurrent_renewals_total counter\n"
    "weir_concurrent_renewals_total{limit=\"(text)\"} 0\n"
    "# HELP weir_concurrent_releases_total Takes released, by concurrent limit.\n"
    "# TYPE weir_concurrent_releases_total counter\n"
    "weir_concurrent_releases_total{limit=\"(text)\"} 0\n"
    "# HELP weir_concurrent_stale_total Renewals and releases that came too late: the lease was over, or it had been "
    "released.\n"
    "# TYPE weir_concurrent_stale_total counter\n"
    "weir_concurrent_stale_total{limit=\"(text)\"} 0\n"
    "# HELP weir_request_duration_seconds From a decision's request being read to its answer being sent.\n"
    "# TYPE weir_request_duration_seconds histogram\n"
    "weir_request_duration_seconds_bucket{le=\"0.000001023\"} 1\n"
    "weir_request_duration_seconds_bucket{le=\"0.000002047\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.000004095\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.000008191\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.000016383\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.000032767\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.000065535\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.000131071\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.000262143\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.000524287\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.001048575\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.002097151\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.004194303\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.008388607\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.016777215\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.033554431\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.067108863\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.134217727\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.268435455\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"0.536870911\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"1.073741823\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"2.147483647\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"4.294967295\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"8.589934591\"} 3\n"
    "weir_request_duration_seconds_bucket{le=\"+Inf\"} 4\n"
    "weir_request_duration_seconds_sum 10.000003071\n"
    "weir_request_duration_seconds_count 4\n",
    "# HELP weir_requests_total Requests, by protocol.\n"
    "# TYPE weir_requests_total counter\n"
    "weir_requests_total{protocol=\"resp\"} 12\n"
    "weir_requests_total{protocol=\"http\"} 13\n"
    "# HELP weir_errors_total Requests answered with an error.\n"
    "# TYPE weir_errors_total counter\n"
    "weir_errors_total 14\n"
    "# HELP weir_event_loop_iterations_total Event loop iterations of all workers; each decides one batch of "
    "requests.\n"
    "# TYPE weir_event_loop_iterations_total counter\n"
    "weir_event_loop_iterations_total 15\n"
    "# HELP weir_text_alternations_total Times that a key was asked under the free text before its last: two texts in "
    "turn.\n"
    "# TYPE weir_text_alternations_total counter\n"
    "weir_text_alternations_total 22\n"
    "# HELP weir_connections Connections that are open.\n"
    "# TYPE weir_connections gauge\n"
    "weir_connections 5\n"
    "# HELP weir_connections_opened_total Connections opened.\n"
    "# TYPE weir_connections_opened_total counter\n"
    "weir_connections_opened_total 21\n"
    "# HELP weir_connections_refused_total Connections closed at once, for there were too many.\n"
    "# TYPE weir_connections_refused_total counter\n"
    "weir_connections_refused_total 17\n"
    "# HELP weir_connections_closed_total Connections closed by the client, or dropped by the service: too slow, idle, "
    "or "
    "a protocol error.\n"
    "# TYPE weir_connections_closed_total counter\n"
    "weir_connections_closed_total{reason=\"client\"} 0\n"
    "weir_connections_closed_total{reason=\"dropped\"} 18\n"
    "# HELP weir_received_bytes_total Bytes received.\n"
    "# TYPE weir_received_bytes_total counter\n"
    "weir_received_bytes_total 19\n"
    "# HELP weir_sent_bytes_total Bytes sent.\n"
    "# TYPE weir_sent_bytes_total counter\n"
    "weir_sent_bytes_total 20\n"
    "# HELP weir_table_keys Keys that have used something and are not full again.\n"
    "# TYPE weir_table_keys gauge\n"
    "weir_table_keys 10\n"
    "# HELP weir_table_keys_max Keys the tables are made for.\n"
    "# TYPE weir_table_keys_max gauge\n"
    "weir_table_keys_max 1000\n"
    "# HELP weir_table_bytes Memory of the tables.\n"
    "# TYPE weir_table_bytes gauge\n"
    "weir_table_bytes 25000\n"
    "# HELP weir_table_memory_used_bytes Memory given out to tables and their parts, filled or not.\n"
    "# TYPE weir_table_memory_used_bytes gauge\n"
    "weir_table_memory_used_bytes 0\n"
    "# HELP weir_table_memory_max_bytes Memory that all tables together may have.\n"
    "# TYPE weir_table_memory_max_bytes gauge\n"
    "weir_table_memory_max_bytes 0\n"
    "# HELP weir_table_memory_refused_total Limits refused, or left without a part of their own, because that memory "
    "is given out.\n"
    "# TYPE weir_table_memory_refused_total counter\n"
    "weir_table_memory_refused_total 0\n"
    "# HELP weir_table_full_total New keys that found no slot.\n"
    "# TYPE weir_table_full_total counter\n"
    "weir_table_full_total 3\n"
    "# HELP weir_table_displaced_total Keys that lost their slot to another.\n"
    "# TYPE weir_table_displaced_total counter\n"
    "weir_table_displaced_total 2\n"
    "# HELP weir_table_stuck_total Questions refused, for another process kept the lock of their part of the state.\n"
    "# TYPE weir_table_stuck_total counter\n"
    "weir_table_stuck_total 4\n"
    "# HELP weir_settles_refused_total Receipts that were not settled, for too many had been of late: see "
    "table.keys.\n"
    "# TYPE weir_settles_refused_total counter\n"
    "weir_settles_refused_total 0\n"
    "# HELP weir_table_reclaimed_total Keys that got an idle slot.\n"
    "# TYPE weir_table_reclaimed_total counter\n"
    "weir_table_reclaimed_total 7\n"
    "# HELP weir_policy_reloads_total Times the named limits were set, by file or command.\n"
    "# TYPE weir_policy_reloads_total counter\n"
    "weir_policy_reloads_total 1\n"
    "# HELP weir_build_info 1, with the version.\n"
    "# TYPE weir_build_info gauge\n"
    "weir_build_info{version=\"" WEIR_VERSION "\"} 1\n"
    "# HELP process_start_time_seconds When the service started, in seconds since the epoch.\n"
    "# TYPE process_start_time_seconds gauge\n"
    "process_start_time_seconds 1700000000.25\n",
};

static void count_all(struct stats *stats)
{
    stats_add(&stats->commands, 12);
    stats_add(&stats->http_requests, 13);
    stats_add(&stats->errors, 14);
    stats_add(&stats->batches, 15);
    stats_add(&stats->connections_opened, 21);
    stats_add(&stats->connections_closed, 16);
    stats_add(&stats->connections_refused, 17);
    stats_add(&stats->connections_cut, 18);
    stats_add(&stats->bytes_in, 19);
    stats_add(&stats->bytes_out, 20);
    stats_add(&stats->alternations, 22);
}

static void assert_text(const struct bytes *bytes, const char *expected)
{
    if (slice_is(bytes_slice(bytes), slice_of(expected))) return;
    fail_msg("this:\n%.*s\nshould be:\n%s", (int)bytes->size, bytes->memory, expected);
}

static void assert_pieces(const struct bytes *bytes, const char *const expected[], size_t pieces)
{
    size_t at = 0;
    for (size_t i = 0; i < pieces; i++) {
        const struct slice piece = slice_of(expected[i]);
        const size_t size = i + 1 < pieces && piece.size < bytes->size - at ? piece.size : bytes->size - at;
        assert_text(&(struct bytes){.memory = bytes->memory + at, .size = size}, expected[i]);
        at += size;
    }
}

static void test_metrics(void **state)
{
    (void)state;
    static char memory[STATS_METRICS_MAX];
    struct bytes out = {.memory = memory, .capacity = sizeof memory};
    struct service service;
    struct policy policy = {.limit = NULL};
    struct stats *stats = open_service(&service);
    service_publish(&service, &policy);
    assert_int_equal(service_number(&service, "api"), 1);
    assert_int_equal(service_number(&service, "a\\b\"c\nd"), 2);
    const weir_decision late = {.verdict = WEIR_ALLOW, .charged = 9, .start = {500 * MS}, .due = {250 * MS}};
    stats_decided(stats, 1, &late, false);
    decide(stats, 1, WEIR_DENY, 0, false);
    decide(stats, 1, WEIR_DENY, 0, true);
    decide(stats, 2, WEIR_NEVER, 0, false);
    stats_latency(stats, 1023, 1);
    stats_latency(stats, 1024, 2);
    stats_latency(stats, UINT64_C(10000000000), 1);
    count_all(stats);
    stats_write_metrics(&service, &out);
    assert_false(out.full);
    assert_pieces(&out, expected_metrics, sizeof expected_metrics / sizeof expected_metrics[0]);
    service_close(&service);
}

/* The largest there can be. */
static void test_sizes(void **state)
{
    (void)state;
    static char memory[STATS_METRICS_MAX];
    struct service service;
    struct stats *stats = open_service(&service);
    for (unsigned i = 0; i < STATS_LIMITS; i++) {
        char name[POLICY_NAME_MAX + 1];
        snprintf(name, sizeof name, "%0*u", POLICY_NAME_MAX, i);
        if (i != 0) assert_int_equal(service_number(&service, name), i);
        for (unsigned calls = 0; calls < 4; calls++) atom_store(&(&stats->limit[i].allowed)[calls], UINT64_MAX / 2);
        atom_store(&stats->limit[i].permits, UINT64_MAX);
    }
    told_top_count = sizeof told_top / sizeof told_top[0];
    memset(told_top, 1, sizeof told_top); /* no byte takes more than \u0001 */
    for (size_t i = 0; i < told_top_count; i++) told_top[i].denied = told_top[i].over = UINT64_MAX;
    for (int i = 0; i < 100; i++) {
        char words[sizeof service.event[0].text];
        memset(words, 1, sizeof words);
        words[sizeof words - 1] = '\0';
        service_say(&service, words);
    }
    for (int i = 0; i < SERVICE_NOTES_MAX; i++) {
        char words[NOTES_LINE_MAX];
        memset(words, '"', sizeof words);
        words[i] = 'a';
        words[sizeof words - 1] = '\0';
        service_note(&service, words);
    }
    atom_store(&service.gone.allowed, UINT64_MAX / 2);
    for (int i = 0; i < SERIES_SAMPLES + 1; i++) {
        for (unsigned limit = 0; limit < STATS_LIMITS; limit++) {
            stats_add(&stats->limit[limit].denied, UINT64_C(1) << 33);
        }
        series_sample(&service);
    }
    static char path[113]; /* of a Unix socket, with "unix:" */
    memset(path, 1, sizeof path - 1);
    for (unsigned i = 0; i < SERVICE_ADDRESSES_MAX; i++) {
        service.address[service.address_count++] = (struct service_address){"RESP", path};
    }
    struct bytes out = {.memory = memory, .capacity = STATS_METRICS_MAX};
    stats_write_metrics(&service, &out);
    assert_false(out.full);
    out = (struct bytes){.memory = memory, .capacity = STATS_TOP_MAX};
    stats_write_top(&service, &out);
    assert_false(out.full);
    out = (struct bytes){.memory = memory, .capacity = STATS_JSON_MAX};
    stats_write_json(&service, 0, &out);
    assert_false(out.full);
    assert_true(slice_is(slice_from(bytes_slice(&out), out.size - 15), slice_of("],\"more\":true}\n")) ||
                slice_is(slice_from(bytes_slice(&out), out.size - 14), slice_of(",\"more\":true}\n")));
    service_close(&service);
}

/* ---- JSON ---- */

static void top_is(weir_top *top, const char *key, uint32_t size, uint64_t denied, uint64_t over)
{
    *top = (weir_top){.denied = denied, .over = over, .key_size = size};
    memcpy(top->key, key, size < sizeof top->key ? size : sizeof top->key);
}

/* A byte less than is told of a key. */
#define SEVEN_OF(all, last) all all all all all all last
#define LONG_NAME SEVEN_OF("nnnnnnnnnnnnnnnn", "nnnnnnnnnnnnnnn")
#define LONG_KEY SEVEN_OF("kkkkkkkkkkkkkkkk", "kkkkkkkkkkkkkkk")

_Static_assert(sizeof LONG_NAME == WEIR_TOP_KEY_SIZE, "a byte less, and the end");

static void test_top(void **state)
{
    (void)state;
    char memory[STATS_TOP_MAX];
    struct bytes out = {.memory = memory, .capacity = sizeof memory};
    struct service service;
    open_service(&service);
    stats_write_top(&service, &out);
    assert_text(&out, "[]\n");
    told_top_count = 4;
    top_is(&told_top[0], "\0api\0<b>\"caf\xc3\xa9\xff\n", 16, 9, 1);
    top_is(&told_top[1], "", 0, 8, 0);
    top_is(&told_top[2], "\0" LONG_NAME "nnn", 124, 7, 0);
    top_is(&told_top[3], LONG_KEY "\xc3\xa9", 113, 6, 0);
    out.size = 0;
    stats_write_top(&service, &out);
    assert_text(&out,
                "[{\"limit\":\"api\",\"key\":\"<b>\\\"caf\xc3\xa9\\\\xff\\n\",\"denied\":9,\"over\":1,\"cut\":false},"
                "{\"limit\":null,\"key\":\"\",\"denied\":8,\"over\":0,\"cut\":false},"
                "{\"limit\":\"" LONG_NAME "\",\"key\":\"\",\"denied\":7,\"over\":0,\"cut\":true},"
                "{\"limit\":null,\"key\":\"" LONG_KEY "\\\\xc3\",\"denied\":6,\"over\":0,\"cut\":true}]\n");
    service_close(&service);
}

#define START                                                                                                          \
    "{\"version\":\"" WEIR_VERSION "\",\"unix_ms\":1700000000250,\"started_unix_ms\":1700000000250,\"uptime_s\":2,"    \
    "\"draining\":false,\"policies\":"

static void test_json_of_nothing(void **state)
{
    (void)state;
    static char memory[JSON_MAX];
    struct bytes out = {.memory = memory, .capacity = sizeof memory};
    struct service service;
    open_service(&service);
    now_ns += UINT64_C(2999999999);
    stats_write_json(&service, 0, &out);
    assert_text(
        &out,
        START "0,\"addresses\":[],\"connections\":{\"open\":0,\"opened\":0,\"refused\":0,\"cut\":0},\"commands\":0,"
              "\"http_requests\":0,\"errors\":0,\"workers\":1,"
              "\"table\":{\"keys\":10,\"keys_max\":1000,\"bytes\":25000,\"full\":3,\"displaced\":2,\"stuck\":4,"
              "\"reclaimed\":7},\"events\":[],\"mistakes\":[],\"top\":[],\"layout\":0,\"sample\":0,\"limits\":[],"
              "\"names\":0,\"all\":{\"allowed\":0,\"denied\":0,\"never\":0,\"shadowed\":0,\"permits\":0,\"late_ns\":0},"
              "\"samples\":[],\"more\":false}\n");
    service_close(&service);
}

/* Keys are counted once a second, counters told as they are: one that is told twice does not go back. */
static void test_table(void **state)
{
    (void)state;
    struct service service;
    weir_table_stats told;
    open_service(&service);
    told_stats.reclaimed = 8;
    series_table(&service, &told);
    assert_int_equal(told.reclaimed, 8);
    assert_int_equal(told.keys_live, 10);
    series_sample(&service);
    told_stats.reclaimed = 9;
    told_stats.keys_live = 11;
    series_table(&service, &told);
    assert_int_equal(told.reclaimed, 9);
    assert_int_equal(told.keys_live, 10);
    service_close(&service);
}

static void test_json(void **state)
{
    (void)state;
    static char memory[JSON_MAX];
    struct bytes out = {.memory = memory, .capacity = sizeof memory};
    struct service service;
    struct policy_limit api = {.name = "api", .number = 1, .shadow = true};
    struct policy policy = {.limit = &api, .limit_count = 1};
    struct stats *stats = open_service(&service);
    assert_int_equal(weir_plan_parse(&api.plan, "5/s burst=9", WEIR_ADMIT, NULL), 0);
    assert_int_equal(service_number(&service, "api"), 1);
    service_publish(&service, &policy);
    series_sample(&service);
    decide(stats, 1, WEIR_ALLOW, 2, true);
    decide(stats, 1, WEIR_DENY, 0, true);
    decide(stats, 0, WEIR_NEVER, 0, false);
    stats_latency(stats, 20000, 3);
    count_all(stats);
    service_say(&service, "reloaded \"weir.yaml\"");
    unix_now_ns += UINT64_C(1000) * MS;
    service_say(&service, "cut \xff");
    service_note(&service, "RESP: no");
    series_sample(&service);
    unix_now_ns -= UINT64_C(1000) * MS;
    now_ns += UINT64_C(2000000000);
    service.address[0] = (struct service_address){"RESP", "127.0.0.1:9347"};
    service.address[1] = (struct service_address){"RESP", "[::1]:9347"};
    service.address[2] = (struct service_address){"HTTP", "unix:\"\xff"};
    service.address_count = 3;
    stats_write_json(&service, 0, &out);
    assert_text(&out, START
                "1,\"addresses\":[{\"protocol\":\"RESP\",\"address\":\"127.0.0.1:9347\"},"
                "{\"protocol\":\"RESP\",\"address\":\"[::1]:9347\"},"
                "{\"protocol\":\"HTTP\",\"address\":\"unix:\\\"\\\\xff\"}],\"connections\":{\"open\":5,\"opened\":21,"
                "\"refused\":17,\"cut\":18},\"commands\":12,"
                "\"http_requests\":13,\"errors\":14,\"workers\":1,"
                "\"table\":{\"keys\":10,\"keys_max\":1000,\"bytes\":25000,\"full\":3,\"displaced\":2,\"stuck\":4,"
                "\"reclaimed\":7},\"events\":[{\"number\":2,\"unix_ms\":1700000001250,\"text\":\"cut \xef\xbf\xbd\"},"
                "{\"number\":1,\"unix_ms\":1700000000250,\"text\":\"reloaded \\\"weir.yaml\\\"\"}],\"mistakes\":["
                "{\"number\":1,\"unix_ms\":1700000001250,\"text\":\"RESP: no\"}],\"top\":[],"
                "\"layout\":0,\"sample\":2,\"limits\":[{\"place\":0,\"name\":\"api\",\"text\":\"5/s burst=9 "
                "algorithm=gcra\",\"shadow\":true,\"allowed\":2,\"denied\":0,\"never\":0,\"shadowed\":1,\"permits\":2,"
                "\"late_ns\":0},"
                "{\"place\":1,\"name\":\"\",\"text\":null,\"allowed\":0,\"denied\":1,\"never\":1,\"shadowed\":0,"
                "\"permits\":0,\"late_ns\":0}],\"names\":1,"
                "\"all\":{\"allowed\":2,\"denied\":1,\"never\":1,\"shadowed\":1,\"permits\":2,\"late_ns\":0},"
                "\"samples\":[[1,1700000000250,0,0,0,10,0,[]],"
                "[2,1700000001250,20479,20479,20479,10,5,[[0,2,0,1],[1,1,1,0]]]],\"more\":false}\n");
    service_close(&service);
}

static bool says(struct service *service, uint64_t since, size_t room, const char *words)
{
    static char memory[JSON_MAX + 1];
    struct bytes out = {.memory = memory, .capacity = room};
    stats_write_json(service, since, &out);
    assert_false(out.full);
    memory[out.size] = '\0';
    return strstr(memory, words) != NULL;
}

/* So much room that the first two samples fit. */
static size_t room_for_two(struct service *service)
{
    size_t room = 6000;
    while (!says(service, 0, room, "\"samples\":[[101,")) room += 8;
    while (!says(service, 0, room, ",[102,")) room += 8;
    return room;
}

static void test_since(void **state)
{
    (void)state;
    struct service service;
    open_service(&service);
    for (unsigned i = 0; i < SERIES_SAMPLES + 100; i++) series_sample(&service);
    assert_true(says(&service, 0, JSON_MAX, "\"samples\":[[101,"));
    assert_true(says(&service, 0, JSON_MAX, ",[700,1700000000250,0,0,0,10,0,[]]],\"more\":false}"));
    assert_true(says(&service, 101, JSON_MAX, "\"samples\":[[102,"));
    assert_true(says(&service, 50, JSON_MAX, "\"samples\":[[101,"));
    assert_true(says(&service, 699, JSON_MAX, "\"samples\":[[700,"));
    assert_true(says(&service, 700, JSON_MAX, "\"samples\":[],\"more\":false}"));
    assert_true(says(&service, 701, JSON_MAX, "\"samples\":[[101,")); /* of a service that was here before */
    const size_t room = room_for_two(&service);
    assert_true(says(&service, 0, room, ",0,[]]],\"more\":true}"));
    assert_false(says(&service, 0, room, ",[103,"));
    assert_true(says(&service, 102, room, "\"samples\":[[103,"));
    service_close(&service);
}

/* ---- who has a place in the series ---- */

static uint64_t offered_of(struct service *service, unsigned place)
{
    uint64_t offered = 0;
    struct series *series = series_hold(service);
    assert_non_null(series);
    for (unsigned i = 0; i < SERIES_SAMPLES; i++) offered += series->sample[i].calls[place].offered;
    series_release(series);
    return offered;
}

static unsigned place_of(struct service *service, unsigned number)
{
    unsigned place = 0;
    struct series *series = series_hold(service);
    assert_non_null(series);
    while (place < SERIES_LIMITS && series->number[place] != number) place++;
    series_release(series);
    return place;
}

static void test_places(void **state)
{
    (void)state;
    enum { NAMES = 70, FIRST_OUTSIDE = SERIES_LIMITS + 1 };
    struct service service;
    struct stats *stats = open_service(&service);
    for (int i = 1; i <= NAMES; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        service_number(&service, name);
        for (int calls = 0; calls < 10 + i; calls++) decide(stats, (unsigned)i, WEIR_DENY, 0, false);
    }
    series_sample(&service);
    assert_int_equal(place_of(&service, SERIES_LIMITS), SERIES_LIMITS - 1);
    assert_int_equal(place_of(&service, NAMES), 0); /* 80 calls: more than twice the 11 of the least busy */
    assert_int_equal(place_of(&service, 1), SERIES_LIMITS);
    assert_int_equal(offered_of(&service, 0), 10 + NAMES);

    /* 66 comes, and the least busy of those with a place goes: number 2, with 12 calls. */
    for (int calls = 0; calls < 1000; calls++) decide(stats, FIRST_OUTSIDE + 1, WEIR_ALLOW, 1, false);
    const uint64_t others = offered_of(&service, SERIES_LIMITS);
    series_sample(&service);
    assert_int_equal(place_of(&service, FIRST_OUTSIDE + 1), 1);
    assert_int_equal(offered_of(&service, 1), 1000);
    assert_int_equal(offered_of(&service, SERIES_LIMITS), others + 12);
    uint64_t all = 0;
    for (unsigned place = 0; place <= SERIES_LIMITS; place++) all += offered_of(&service, place);
    assert_int_equal(all, NAMES * 10 + NAMES * (NAMES + 1) / 2 + 1000);

    /* Those who are about as busy leave each other alone. */
    const uint64_t layout = service.series->layout;
    series_sample(&service);
    series_sample(&service);
    assert_true(service.series->layout <= layout + 2);
    for (int second = 0; second < 50; second++) series_sample(&service);
    const uint64_t settled = service.series->layout;
    for (int second = 0; second < 50; second++) series_sample(&service);
    assert_int_equal(service.series->layout, settled);
    service_close(&service);
}

/* A name that has the number of one that is gone begins anew: the calls before are the other's. */
static void test_a_number_again(void **state)
{
    (void)state;
    struct service service;
    struct policy_limit gone = {.name = "gone", .number = 1};
    struct policy policy = {.limit = &gone, .limit_count = 1};
    struct stats *stats = open_service(&service);
    assert_int_equal(service_number(&service, "gone"), 1);
    service_publish(&service, &policy);
    for (int calls = 0; calls < 10; calls++) decide(stats, 1, WEIR_ALLOW, 1, false);
    series_sample(&service);
    assert_int_equal(offered_of(&service, 0), 10);
    service_publish(&service, NULL);
    assert_int_equal(service_number(&service, "next"), 1);
    for (int calls = 0; calls < 12; calls++) decide(stats, 1, WEIR_ALLOW, 1, false);
    series_sample(&service);
    assert_int_equal(offered_of(&service, 0), 12);
    assert_int_equal(offered_of(&service, SERIES_LIMITS), 10);
    service_close(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decided),         cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_latency_edges),   cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_sizes),           cmocka_unit_test(test_top),
        cmocka_unit_test(test_table),           cmocka_unit_test(test_json),
        cmocka_unit_test(test_since),           cmocka_unit_test(test_places),
        cmocka_unit_test(test_json_of_nothing), cmocka_unit_test(test_a_number_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
