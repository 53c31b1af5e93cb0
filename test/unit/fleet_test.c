/* SPDX-License-Identifier: MIT
   Parts of weir replay --nodes: rows for pairs, and the meter that says how far a bound was exceeded.

   Nothing by chance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cli/common/rows.h"
#include "cli/replay/fleet/pairs.h"
#include "cli/replay/fleet/tally.h"

enum { CLIENTS = 200, NODES = 100 };

struct row {
    uint32_t client, node, visits;
};

static void every_pair_has_a_row_of_its_own(void **state)
{
    (void)state;
    struct pairs pairs;
    pairs_open(&pairs, sizeof(struct row));
    const struct row *first = pairs_at(&pairs, 0, 0);
    assert_non_null(first);
    for (uint32_t visit = 0; visit < 2; visit++) {
        for (uint32_t i = 0; i < CLIENTS * NODES; i++) {
            struct row *row = pairs_at(&pairs, i / NODES, i % NODES);
            assert_non_null(row);
            assert_int_equal(row->visits++, visit);
            if (visit == 0) *row = (struct row){i / NODES, i % NODES, 1};
            assert_int_equal(row->client, i / NODES);
            assert_int_equal(row->node, i % NODES);
        }
    }
    assert_int_equal(pairs.count, CLIENTS * NODES);
    assert_ptr_equal(first, pairs_at(&pairs, 0, 0));
    pairs_close(&pairs);
}

/* One permit in 1000 us, and a burst of 2. */
static void take(struct fleet_tally *tally, uint32_t client, uint64_t time_us, uint64_t cost)
{
    const struct fleet_verdict verdict = {
        .time_us = time_us, .cost = cost, .client = client, .allowed = true, .exact = true};
    assert_true(tally_verdict(tally, &verdict));
}

static void the_meter_finds_the_worst_window(void **state)
{
    (void)state;
    struct fleet_tally tally;
    tally_open(&tally, 1e-3, 2);
    assert_true(tally.figures.excess == -2);
    take(&tally, 1, 5000, 2);
    assert_true(tally.figures.excess == 0);
    take(&tally, 2, 5000, 1); /* clients are apart */
    take(&tally, 1, 6000, 1); /* just drained */
    assert_true(fabs(tally.figures.excess) < 1e-9);
    take(&tally, 1, 6250, 1); /* three quarters of one too early */
    assert_true(fabs(tally.figures.excess - 0.75) < 1e-9);
    take(&tally, 1, 7000, 0);
    take(&tally, 1, 20000, 2); /* a rest earns no more than the burst */
    assert_true(fabs(tally.figures.excess - 0.75) < 1e-9);
    tally_close(&tally);
}

static void verdicts_are_held_against_the_exact_ones(void **state)
{
    (void)state;
    struct fleet_tally tally;
    tally_open(&tally, 1e-3, 2);
    for (int i = 0; i < 4; i++) {
        const struct fleet_verdict verdict = {.cost = 1, .allowed = i % 2 == 0, .exact = i < 2, .waited = i == 3};
        assert_true(tally_verdict(&tally, &verdict));
    }
    assert_int_equal(tally.figures.allowed, 2);
    assert_int_equal(tally.figures.denied, 2);
    assert_int_equal(tally.figures.wrongly_denied, 1);
    assert_int_equal(tally.figures.wrongly_allowed, 1);
    assert_int_equal(tally.figures.waited, 1);
    tally_close(&tally);
}

static void calls_are_counted_by_the_second(void **state)
{
    (void)state;
    struct fleet_tally tally;
    tally_open(&tally, 1e-3, 2);
    static const uint64_t times_us[] = {0, 999999, 1000000, 1500000, 1999999, 7000000};
    for (size_t i = 0; i < sizeof times_us / sizeof *times_us; i++) tally_call(&tally, times_us[i]);
    assert_int_equal(tally.figures.calls, 6);
    assert_int_equal(tally.figures.calls_most, 3);
    tally_close(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_has_a_row_of_its_own),
        cmocka_unit_test(the_meter_finds_the_worst_window),
        cmocka_unit_test(verdicts_are_held_against_the_exact_ones),
        cmocka_unit_test(calls_are_counted_by_the_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
