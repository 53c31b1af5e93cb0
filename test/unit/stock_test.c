/* SPDX-License-Identifier: MIT
   A stock of permits by itself, in exact numbers: what each permit is told, how long it may be spent, what is traded.

   In which order threads fill and spend it is explored in test/model/stock_model.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "share/stock.h"

enum { NOW_NS = 5000, GENERATION = 7, SCALE = 2, END = 400 };

/* Due every 100 ns, the last of them at 1300. */
static struct lease_slice slice_of(uint64_t permits)
{
    return (struct lease_slice){.permits = permits,
                                .first_ns = NOW_NS,
                                .last_ns = NOW_NS,
                                .due_ns = 1400 - 100 * permits,
                                .last_due_ns = 1300,
                                .end = END,
                                .generation = GENERATION,
                                .scale = SCALE};
}

static weir_decision spent(struct stock *stock, uint64_t fresh_ns, uint64_t cost)
{
    weir_decision decision;
    memset(&decision, 0xa5, sizeof decision); /* whatever the caller had there */
    assert_int_equal(stock_spend(stock, fresh_ns, cost, &decision), STOCK_SPENT);
    return decision;
}

static void assert_too_few(struct stock *stock, uint64_t fresh_ns, uint64_t cost)
{
    weir_decision decision;
    assert_int_equal(stock_spend(stock, fresh_ns, cost, &decision), STOCK_TOO_FEW);
}

/* Of a call of several permits: when the first of them was due, and the end of the last. */
static void as_if_taken_one_after_the_other(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t cost, due_ns, left;
    } calls[] = {{1, 1000, 3}, {2, 1100, 1}, {1, 1300, 0}};
    struct stock stock = {.left = {0}};
    const struct lease_slice slice = slice_of(4);
    stock_fill(&stock, &slice, NOW_NS);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const weir_decision decision = spent(&stock, 0, calls[i].cost);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        assert_int_equal(decision.limit, 0);
        assert_int_equal(decision.start.ns, NOW_NS);
        assert_int_equal(decision.delay_ns, 0);
        assert_int_equal(decision.due.ns, calls[i].due_ns);
        assert_int_equal(decision.end, END - (calls[i].left << SCALE));
        assert_int_equal(decision.remaining, calls[i].left);
        assert_int_equal(decision.charged, calls[i].cost);
        assert_int_equal(decision.reserved, GENERATION);
    }
    assert_too_few(&stock, 0, 1);
}

static void no_more_than_there_is_and_not_nothing(void **unused)
{
    (void)unused;
    struct stock stock = {.left = {0}};
    const struct lease_slice slice = slice_of(3);
    assert_too_few(&stock, 0, 1);
    stock_fill(&stock, &slice, NOW_NS);
    assert_too_few(&stock, 0, 4);
    assert_too_few(&stock, 0, 0);
    assert_too_few(&stock, 0, UINT64_MAX);
    assert_int_equal(spent(&stock, 0, 3).remaining, 0);
}

static void only_what_was_filled_in_since(void **unused)
{
    (void)unused;
    struct stock stock = {.left = {0}};
    const struct lease_slice slice = slice_of(2);
    assert_false(stock_has(&stock, 0));
    stock_fill(&stock, &slice, NOW_NS);
    assert_true(stock_has(&stock, NOW_NS));
    assert_false(stock_has(&stock, NOW_NS + 1));
    assert_too_few(&stock, NOW_NS + 1, 1);
    spent(&stock, NOW_NS, 1);
    spent(&stock, NOW_NS, 1);
    assert_false(stock_has(&stock, 0));
}

/* Few permits have few steps between them; one has none. */
static void due_one_by_one(void **unused)
{
    (void)unused;
    for (uint64_t permits = 1; permits <= 2; permits++) {
        struct stock stock = {.left = {0}};
        const struct lease_slice slice = slice_of(permits);
        stock_fill(&stock, &slice, NOW_NS);
        for (uint64_t i = permits; i > 0; i--) assert_int_equal(spent(&stock, 0, 1).due.ns, 1400 - 100 * i);
        assert_too_few(&stock, 0, 1);
    }
}

static void nothing_is_due_without_a_schedule(void **unused)
{
    (void)unused;
    struct stock stock = {.left = {0}};
    const struct lease_slice slice = {.permits = 3, .end = END};
    stock_fill(&stock, &slice, NOW_NS);
    assert_int_equal(spent(&stock, 0, 1).due.ns, 0);
    assert_int_equal(spent(&stock, 0, 2).due.ns, 0);
}

/* All of it counts as out until then, be it spent or not. */
static void what_was_not_spent_is_traded(void **unused)
{
    (void)unused;
    struct stock stock = {.left = {0}};
    const struct lease_slice slice = slice_of(4), none = {.permits = 0};
    stock_fill(&stock, &slice, NOW_NS);
    spent(&stock, 0, 3);
    const struct trade trade = stock_empty(&stock);
    assert_int_equal(trade.held, 4);
    assert_int_equal(trade.unused, 1);
    assert_int_equal(trade.end, END);
    assert_int_equal(trade.generation, GENERATION);
    assert_too_few(&stock, 0, 1);
    stock_fill(&stock, &none, NOW_NS + 9);
    assert_false(stock_has(&stock, 0));
    assert_int_equal(stock_empty(&stock).held, 0);
    /* What is filled in then is all new. */
    stock_fill(&stock, &slice, NOW_NS + 9);
    assert_int_equal(spent(&stock, NOW_NS + 9, 1).remaining, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_if_taken_one_after_the_other),   cmocka_unit_test(no_more_than_there_is_and_not_nothing),
        cmocka_unit_test(only_what_was_filled_in_since),     cmocka_unit_test(due_one_by_one),
        cmocka_unit_test(nothing_is_due_without_a_schedule), cmocka_unit_test(what_was_not_spent_is_traded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
