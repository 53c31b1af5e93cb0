/* SPDX-License-Identifier: MIT
   Response and service times against a log that the test keeps itself.

   The buckets are held against HdrHistogram's arithmetic, written down once more here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/limiter.h"
#include "unit/plans.h"
#include "unit/random.h"
#include "unit/sized.h"

enum { OPERATIONS = 3000, BUCKETS_MAX = 45056 };

static weir_limiter *opened(const char *text)
{
    weir_limiter *limiter;
    weir_options options = WEIR_OPTIONS;
    options.use = WEIR_PACE;
    options.clock = WEIR_CLOCK_MANUAL;
    assert_int_equal(weir_open(&limiter, text, &options, NULL), 0);
    return limiter;
}

static weir_latency read_latency(weir_limiter *limiter)
{
    weir_latency latency;
    memset(&latency, 0xff, sizeof latency);
    weir_read_latency(limiter, &latency, sizeof latency);
    return latency;
}

/* The largest value that HdrHistogram cannot tell from this one, with three significant digits. */
static uint64_t end_of(uint64_t value)
{
    unsigned shift = 0;
    while (value >> shift >= 2048) shift++;
    return (((value >> shift) + 1) << shift) - 1;
}

static int by_value(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static void check_percentile(const uint64_t *sorted, uint64_t count, uint64_t per_thousand, uint64_t got)
{
    const uint64_t rank = (count * per_thousand + 999) / 1000, end = end_of(sorted[rank - 1]);
    const uint64_t expected = end < sorted[count - 1] ? end : sorted[count - 1];
    assert_int_equal(got, expected);
    assert_true(got >= sorted[rank - 1] && got - sorted[rank - 1] <= sorted[rank - 1] / 1024);
}

/* Sorts the log. */
static void check_times(weir_limiter *limiter, weir_measure measure, const weir_times *times, uint64_t *log,
                        uint64_t count)
{
    static weir_bucket bucket[BUCKETS_MAX];
    uint64_t total = 0, next = 0;
    qsort(log, count, sizeof *log, by_value);
    for (uint64_t i = 0; i < count; i++) total += log[i];
    assert_int_equal(times->count, count);
    assert_int_equal(times->total_ns, total);
    assert_int_equal(times->min_ns, log[0]);
    assert_int_equal(times->max_ns, log[count - 1]);
    check_percentile(log, count, 500, times->p50_ns);
    check_percentile(log, count, 900, times->p90_ns);
    check_percentile(log, count, 990, times->p99_ns);
    check_percentile(log, count, 999, times->p999_ns);
    const size_t buckets = weir_read_buckets(limiter, measure, bucket, BUCKETS_MAX);
    assert_int_equal(weir_read_buckets(limiter, measure, NULL, 0), buckets);
    for (size_t i = 0; i < buckets; i++) {
        uint64_t in_it = 0;
        assert_int_equal(bucket[i].most_ns, end_of(log[next]));
        for (; next < count && end_of(log[next]) == bucket[i].most_ns; next++) in_it++;
        assert_int_equal(bucket[i].count, in_it);
    }
    assert_int_equal(next, count);
}

static void check_log(weir_limiter *limiter, uint64_t *response, uint64_t *service, uint64_t count)
{
    const weir_latency latency = read_latency(limiter);
    check_times(limiter, WEIR_RESPONSE, &latency.response, response, count);
    check_times(limiter, WEIR_SERVICE, &latency.service, service, count);
}

static uint64_t response[OPERATIONS], service[OPERATIONS];

static void test_nothing(void **state)
{
    (void)state;
    weir_limiter *limiter = opened("10/s");
    const weir_decision refused = {.verdict = WEIR_DENY}, none = {.verdict = 0};
    weir_take(limiter, 1);
    weir_done(limiter, &refused);
    weir_done(limiter, &none);
    const weir_latency latency = read_latency(limiter);
    assert_int_equal(latency.response.count, 0);
    assert_int_equal(latency.service.max_ns, 0);
    assert_int_equal(latency.service.min_ns, 0);
    assert_int_equal(weir_read_buckets(limiter, WEIR_SERVICE, NULL, 0), 0);
    assert_int_equal(atom_load(&limiter->latency), 0); /* and so nothing is allocated */
    weir_close(limiter);
}

/* One operation after the other, of random lengths, so that most of them are late. */
static void test_operations(const char *text, uint64_t seed, uint64_t longest_ns)
{
    weir_limiter *limiter = opened(text);
    uint64_t now_ns = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        const weir_decision decision = weir_reserve(limiter, 1, WEIR_FOREVER);
        assert_true(weir_allowed(decision));
        if (decision.start.ns > now_ns) now_ns = decision.start.ns;
        now_ns += random_below(&seed, longest_ns);
        weir_manual_set(limiter, at(now_ns));
        response[i] = now_ns - weir_due(limiter, &decision, 1).ns;
        service[i] = now_ns - decision.start.ns;
        weir_done(limiter, &decision);
    }
    check_log(limiter, response, service, OPERATIONS);
    weir_close(limiter);
}

static void test_done(void **state)
{
    (void)state;
    test_operations("1000/s", 1, 1900 * US);
    test_operations("1000/s catchup=1", 2, 3 * MS);
    test_operations("1000000/s burst=100", 3, 1500);
    test_operations("100/s algorithm=timeline", 4, 21 * MS);
    test_operations("100/s algorithm=gcra", 5, 8 * MS); /* no schedule: due at the start */
    test_operations("100/s; 2000/min", 6, 8 * MS);
}

/* A decision that says when it was due may be settled before. */
static void test_settled(void **state)
{
    (void)state;
    weir_limiter *limiter = opened("10/s");
    weir_manual_set(limiter, at(S));
    weir_decision decision = weir_take(limiter, 1);
    weir_manual_set(limiter, at(S + 5 * MS));
    weir_cancel(limiter, &decision);
    weir_done(limiter, &decision);
    assert_int_equal(read_latency(limiter).response.max_ns, 5 * MS);
    weir_close(limiter);
}

/* From a lease a decision does not say when it was due: by the rate, one each microsecond. */
static void test_lease(void **state)
{
    (void)state;
    weir_limiter *limiter = opened("1000000/s burst=2000");
    weir_lease lease = {0};
    assert_int_equal(weir_lease_open(&lease, limiter, NULL), 0);
    uint64_t now_ns = 0, late = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        const weir_decision decision = weir_lease_take_wait(&lease, 1, 0);
        if (!weir_allowed(decision)) {
            now_ns += i < OPERATIONS / 2 ? 300 * US : 5 * MS; /* more than the pool holds */
            weir_manual_set(limiter, at(now_ns));
            i--;
            continue;
        }
        response[i] = now_ns - (uint64_t)i * US;
        service[i] = now_ns - decision.start.ns;
        late += response[i] > service[i];
        weir_done(limiter, &decision);
    }
    assert_true(late > 0);
    check_log(limiter, response, service, OPERATIONS);
    weir_lease_close(&lease);
    weir_close(limiter);
}

/* The permits of one decision are due one after the other. */
static void test_batch(void **state)
{
    (void)state;
    weir_limiter *limiter = opened("1000/s burst=50 catchup=2");
    uint64_t count = 0;
    for (uint64_t now_ns = 0; count + 50 <= OPERATIONS; now_ns += 37 * MS) {
        weir_manual_set(limiter, at(now_ns));
        const weir_decision decision = weir_take_some(limiter, 50);
        for (uint64_t nth = 1; nth <= decision.charged; nth++, count++) {
            const weir_instant due = weir_due(limiter, &decision, nth);
            const weir_instant start = at(now_ns + nth * US), end = at(start.ns + nth * 13);
            weir_done_at(limiter, due, start, end);
            response[count] = end.ns - due.ns;
            service[count] = nth * 13;
        }
    }
    check_log(limiter, response, service, count);
    weir_close(limiter);
}

static void test_extremes(void **state)
{
    (void)state;
    static const uint64_t times[] = {
        0, 1, 2047, 2048, 2049, 4095, 4096, S, YEAR / 4, (UINT64_C(1) << 53) - 1, UINT64_C(1) << 53, UINT64_MAX};
    weir_bucket bucket[16];
    weir_limiter *limiter = opened("10/s");
    weir_done_at(limiter, at(7), at(8), at(3)); /* it ends before it begins: it took no time */
    for (size_t i = 0; i < LENGTH(times); i++) weir_done_at(limiter, at(0), at(0), at(times[i]));
    const weir_times all = read_latency(limiter).service;
    assert_int_equal(all.count, LENGTH(times) + 1);
    assert_int_equal(all.min_ns, 0);
    assert_int_equal(all.max_ns, UINT64_MAX);
    assert_int_equal(all.p999_ns, (UINT64_C(1) << 53) - 1);
    assert_int_equal(weir_read_buckets(limiter, WEIR_SERVICE, bucket, 16), 9);
    assert_int_equal(bucket[0].count, 2);
    assert_int_equal(bucket[3].most_ns, 2049);
    assert_int_equal(bucket[3].count, 2);
    assert_int_equal(bucket[8].most_ns, (UINT64_C(1) << 53) - 1);
    assert_int_equal(bucket[8].count, 3);
    memset(bucket, 0, sizeof bucket);
    assert_int_equal(weir_read_buckets(limiter, WEIR_SERVICE, bucket, 2), 9);
    assert_int_equal(bucket[1].most_ns, 1);
    assert_int_equal(bucket[2].count, 0); /* not written */
    assert_int_equal(weir_read_buckets(limiter, (weir_measure)2, bucket, 16), 0);
    weir_close(limiter);
}

static void read_sized(void *limiter, void *latency, size_t size)
{
    weir_read_latency(limiter, latency, size);
}

static void test_sizes(void **state)
{
    (void)state;
    weir_limiter *limiter = opened("10/s");
    weir_done_at(limiter, at(0), at(1), at(4));
    assert_int_equal(read_latency(limiter).response.max_ns, 4);
    assert_int_equal(read_latency(limiter).service.max_ns, 3);
    assert_sized(read_sized, limiter, sizeof(weir_latency));
    weir_close(limiter);
}

/* What was recorded before a change of limit stays, and is of the limiter. */
static void test_change(void **state)
{
    (void)state;
    weir_limiter *limiter = opened("10/s");
    const weir_decision before = weir_take(limiter, 1);
    assert_int_equal(weir_set_limit(limiter, "10/s algorithm=gcra", WEIR_RESET, NULL), 0);
    weir_manual_set(limiter, at(MS));
    weir_done(limiter, &before);
    const weir_decision after = weir_take(limiter, 1);
    weir_manual_set(limiter, at(3 * MS));
    weir_done(limiter, &after);
    const weir_times times = read_latency(limiter).response;
    assert_int_equal(times.count, 2);
    assert_int_equal(times.total_ns, 3 * MS);
    weir_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing), cmocka_unit_test(test_done),   cmocka_unit_test(test_settled),
        cmocka_unit_test(test_lease),   cmocka_unit_test(test_batch),  cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
