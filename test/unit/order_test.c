/* SPDX-License-Identifier: MIT
   Requests come out in the order of their times, as a sort of all of them would give it.

   Seeds are fixed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/replay/log/order.h"
#include "random.h"

enum { REQUESTS = 20000, SECOND_NS = 1000000000 };

struct request {
    uint64_t time_ns, stamp_ns, line;
};

static int compare(const void *a, const void *b)
{
    const struct request *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    return x->line < y->line ? -1 : 1;
}

static int by_stamp(const void *a, const void *b)
{
    const struct request *x = a, *y = b;
    if (x->stamp_ns != y->stamp_ns) return x->stamp_ns < y->stamp_ns ? -1 : 1;
    return x->line < y->line ? -1 : 1;
}

/* A log in order of its stamps; the first request is the longest, so that the window is known from then on. */
static void make_log(struct request *log, uint64_t longest_ns, uint64_t apart_ns, uint64_t *seed)
{
    uint64_t now_ns = 1000 * (uint64_t)SECOND_NS;
    for (uint64_t i = 0; i < REQUESTS; i++) {
        const uint64_t duration_ns = i == 0 ? longest_ns : random_below(seed, longest_ns);
        now_ns += random_below(seed, 2 * apart_ns + 1) / 1000000 * 1000000; /* many at the same time */
        log[i] = (struct request){now_ns - duration_ns / 1000000 * 1000000, now_ns, i};
    }
    qsort(log, REQUESTS, sizeof *log, by_stamp);
    for (uint64_t i = 0; i < REQUESTS; i++) log[i].line = i;
}

static void in_order(uint64_t longest_ns, uint64_t apart_ns)
{
    uint64_t seed = longest_ns ^ apart_ns ^ 0x5eed;
    struct request *log = calloc(REQUESTS, sizeof *log);
    struct order order = {0};
    struct order_entry entry;
    size_t taken = 0, most_held = 0;
    uint64_t *line = calloc(REQUESTS, sizeof *line);
    make_log(log, longest_ns, apart_ns, &seed);
    for (size_t i = 0; i < REQUESTS; i++) {
        const struct order_entry next = {.time_ns = log[i].time_ns, .line = i, .cost = i, .client = (uint32_t)i};
        assert_true(order_put(&order, next, log[i].stamp_ns, log[i].stamp_ns - log[i].time_ns));
        while (order_take(&order, &entry)) line[taken++] = entry.line;
        if (i + 1 - taken > most_held) most_held = i + 1 - taken;
    }
    order_finish(&order);
    while (order_take(&order, &entry)) {
        assert_int_equal(entry.cost, entry.line);
        assert_int_equal(entry.client, entry.line);
        line[taken++] = entry.line;
    }
    assert_int_equal(taken, REQUESTS);
    assert_int_equal(order.late, 0);
    qsort(log, REQUESTS, sizeof *log, compare);
    for (size_t i = 0; i < REQUESTS; i++) assert_int_equal(line[i], log[i].line);
    /* It does not wait for the whole log. */
    assert_true(most_held < REQUESTS);
    order_close(&order);
    free(log);
    free(line);
}

static void test_nearly_in_order(void **state)
{
    (void)state;
    in_order(50000000, 10000000);
}

static void test_far_out_of_order(void **state)
{
    (void)state;
    in_order(UINT64_C(30) * SECOND_NS, 10000000);
}

static void test_all_at_once(void **state)
{
    (void)state;
    in_order(1000000, 1000000);
}

static void put(struct order *order, uint64_t line, uint64_t time_ns)
{
    assert_true(order_put(order, (struct order_entry){.time_ns = time_ns, .line = line}, time_ns, 0));
}

static uint64_t take(struct order *order, uint64_t line)
{
    struct order_entry entry = {0};
    assert_true(order_take(order, &entry));
    assert_int_equal(entry.line, line);
    return entry.time_ns;
}

static void test_two_seconds_are_waited_for(void **state)
{
    (void)state;
    struct order order = {0};
    struct order_entry entry;
    put(&order, 0, 10 * (uint64_t)SECOND_NS);
    put(&order, 1, 12 * (uint64_t)SECOND_NS - 1);
    assert_false(order_take(&order, &entry));
    put(&order, 2, 12 * (uint64_t)SECOND_NS);
    take(&order, 0);
    assert_false(order_take(&order, &entry));
    order_close(&order);
}

static void test_late_is_counted_and_clamped(void **state)
{
    (void)state;
    struct order order = {0};
    const uint64_t second = SECOND_NS;
    put(&order, 0, 10 * second);
    put(&order, 1, 20 * second);
    take(&order, 0);
    put(&order, 2, 9 * second);
    assert_int_equal(order.late, 1);
    assert_int_equal(take(&order, 2), 10 * second);
    put(&order, 3, 10 * second); /* not late: nothing later was taken */
    assert_int_equal(order.late, 1);
    order_finish(&order);
    assert_int_equal(take(&order, 3), 10 * second);
    assert_int_equal(take(&order, 1), 20 * second);
    order_close(&order);
}

/* After all was taken more may come, as when a log is followed. */
static void test_goes_on_after_the_end(void **state)
{
    (void)state;
    struct order order = {0};
    struct order_entry entry;
    put(&order, 0, 10 * (uint64_t)SECOND_NS);
    order_finish(&order);
    take(&order, 0);
    put(&order, 1, 11 * (uint64_t)SECOND_NS);
    assert_false(order_take(&order, &entry));
    put(&order, 2, 14 * (uint64_t)SECOND_NS);
    take(&order, 1);
    order_close(&order);
}

static void test_memory_is_bounded(void **state)
{
    (void)state;
    struct order order = {0};
    struct order_entry entry;
    uint64_t taken = 0;
    for (uint64_t i = 0; i < 3 * (uint64_t)ORDER_HELD_MAX; i++) {
        /* A window of an hour, all in one second. */
        const struct order_entry next = {.time_ns = 5000 * (uint64_t)SECOND_NS + (i * 7919) % SECOND_NS, .line = i};
        assert_true(order_put(&order, next, 5001 * (uint64_t)SECOND_NS, 3600 * (uint64_t)SECOND_NS));
        while (order_take(&order, &entry)) taken++;
        assert_true(i + 1 - taken <= ORDER_HELD_MAX);
    }
    order_close(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearly_in_order),
        cmocka_unit_test(test_far_out_of_order),
        cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_two_seconds_are_waited_for),
        cmocka_unit_test(test_late_is_counted_and_clamped),
        cmocka_unit_test(test_goes_on_after_the_end),
        cmocka_unit_test(test_memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
