/* SPDX-License-Identifier: MIT
   Leases of two limits at once, in exact numbers: an eighth of what the shorter limit has, charged to both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/clock.h"
#include "core/num.h"
#include "plan/plan.h"
#include "share/lease.h"
#include "unit/plans.h"

enum { NOW = 10 };

/* Limits whose ticks differ, so that the end of one is not that of the other. */
struct list {
    weir_plan plan;
    struct rules rules;
    uint64_t state[LIST_WORDS_MAX];
};

static void open_list(struct list *list, const char *text)
{
    memset(list, 0, sizeof *list);
    list->plan = plan_of(text);
    const struct plan *inside = plan_inside_const(&list->plan);
    list->rules = (struct rules){inside->rule, (int)inside->count};
}

static void limit_has(const struct list *list, int limit, uint64_t permits)
{
    const uint64_t *state = list->state;
    for (int i = 0; i < limit; i++) state += state_words(&list->rules.rule[i], algorithm_of(&list->rules.rule[i]));
    const struct rule *rule = &list->rules.rule[limit];
    const struct balance balance = algorithm_of(rule)->balance(rule, state, tick_at(rule, NOW * S));
    assert_int_equal(balance.left, ticks_of(rule, permits));
}

static void left(const struct list *list, uint64_t of_first, uint64_t of_second)
{
    limit_has(list, 0, of_first);
    limit_has(list, 1, of_second);
}

static struct lease_slice trade(struct list *list, struct trade trade, uint64_t out)
{
    trade.now_ns = NOW * S;
    return lease_trade_all(list->rules, list->state, &trade, out);
}

static void test_an_eighth_of_the_shorter(void **unused)
{
    (void)unused;
    struct list list;
    open_list(&list, "10/s burst=160; 7/h burst=80");
    const struct lease_slice slice = trade(&list, (struct trade){.want = 300}, 0);
    assert_int_equal(slice.permits, 10);
    assert_int_equal(slice.first_ns, NOW * S);
    assert_int_equal(slice.last_ns, NOW * S);
    assert_int_equal(slice.end, list.state[0]);
    assert_int_equal(slice.generation, list.rules.rule[0].generation);
    assert_int_equal(slice.scale, list.rules.rule[0].scale);
    left(&list, 150, 70);
    assert_int_equal(trade(&list, (struct trade){.want = 3}, 10).permits, 3);
    left(&list, 147, 67);
    assert_int_equal(trade(&list, (struct trade){.want = SLICE_LEAST}, 13).permits, SLICE_LEAST);
    left(&list, 147 - SLICE_LEAST, 67 - SLICE_LEAST);
}

static void test_what_is_unused_comes_back(void **unused)
{
    (void)unused;
    struct list list;
    open_list(&list, "10/s burst=160; 7/h burst=80");
    const struct lease_slice slice = trade(&list, (struct trade){.want = 300}, 0);
    const struct trade back = {.held = 10, .unused = 4, .end = slice.end, .generation = slice.generation};
    struct trade older = back;
    older.generation++;
    trade(&list, older, 10); /* of another rule, which is gone */
    left(&list, 150, 70);
    assert_int_equal(trade(&list, back, 10).permits, 0);
    left(&list, 154, 74);
    /* A single one, too. */
    assert_int_equal(trade(&list, (struct trade){.want = 3}, 0).permits, 3);
    left(&list, 151, 71);
    trade(&list, (struct trade){.held = 3, .unused = 1, .generation = slice.generation}, 3);
    left(&list, 152, 72);
}

/* As of a decision, it is that of the first. */
static void test_the_generation_of_the_first(void **unused)
{
    (void)unused;
    struct list list;
    open_list(&list, "10/s burst=160; 7/h burst=80");
    struct rule *rule = plan_inside(&list.plan)->rule;
    rule[0].generation = 2;
    rule[1].generation = 1;
    assert_int_equal(trade(&list, (struct trade){.want = 300}, 0).generation, 2);
    struct trade back = {.held = 10, .unused = 4, .generation = 1};
    trade(&list, back, 10);
    left(&list, 150, 70);
    back.generation = 2;
    trade(&list, back, 10);
    left(&list, 154, 74);
}

/* A call that waits was charged from its start on: a newcomer would get the same start. */
static void test_not_while_a_call_waits(void **unused)
{
    static const struct {
        const char *text;
        uint64_t each[2];
    } rows[] = {
        {"10/s burst=160; 7/h burst=80", {151, 1}},
        {"10/s burst=160; 7/h burst=80", {1, 71}},
        {"10/s burst=160; 10/s burst=80", {1, 71}}, /* for so short a time that the first does not */
    };
    (void)unused;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct list list;
        open_list(&list, rows[i].text);
        const struct lease_slice slice = trade(&list, (struct trade){.want = 300}, 0);
        const struct ask ask = {.now_ns = NOW * S, .wait_max_ns = WEIR_FOREVER, .each = rows[i].each};
        weir_decision decision;
        ask_rules(list.rules, list.state, &ask, &decision);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        assert_true(decision.delay_ns != 0);
        uint64_t before[LIST_WORDS_MAX];
        memcpy(before, list.state, sizeof before);
        trade(&list, (struct trade){.held = 10, .unused = 10, .generation = slice.generation}, 0);
        assert_memory_equal(list.state, before, sizeof before);
    }
}

/* Saved-up permits are forgotten by both while so many are out, or the bound would hold for neither. */
static void test_both_hold(void **unused)
{
    (void)unused;
    struct list list;
    open_list(&list, "10/s burst=160; 7/h burst=80");
    assert_int_equal(trade(&list, (struct trade){.want = 300}, 40).permits, 5);
    left(&list, 115, 35);
    assert_int_equal(trade(&list, (struct trade){.want = 300}, 79).permits, 0);
    left(&list, 81, 1);
    assert_int_equal(trade(&list, (struct trade){.want = 300}, 1000).permits, 0);
    left(&list, 1, 1);
}

/* At the start of a call that waits, be it a ns later; beside one that does not, nothing is held. */
static void test_held_at_a_start_to_come(void **unused)
{
    (void)unused;
    static const uint64_t first[] = {100, 1};
    static const struct {
        uint64_t cost, wait_max_ns, later_ns;
    } rows[] = {{0, WEIR_FOREVER, 0}, {0, 1, 0}, {1, 1, 1}, {1, WEIR_FOREVER, 1},
                {2, WEIR_FOREVER, 2}, {2, 1, 0}, {1, 0, 0}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct list list;
        weir_decision decision;
        uint64_t held[LIST_WORDS_MAX];
        open_list(&list, "1000000000/s burst=100; 7/h burst=80");
        ask_rules(list.rules, list.state, &(struct ask){.now_ns = NOW * S, .each = first}, &decision);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        memcpy(held, list.state, sizeof held);
        if (rows[i].later_ns != 0) lease_hold_all(list.rules, held, NOW * S + rows[i].later_ns, 40);
        assert_int_equal(memcmp(held, list.state, sizeof held) != 0, rows[i].later_ns != 0);
        const struct ask ask = {
            .now_ns = NOW * S, .wait_max_ns = rows[i].wait_max_ns, .each = (uint64_t[]){rows[i].cost, 1}};
        lease_hold_until(list.rules, list.state, &ask, 40);
        if (memcmp(held, list.state, sizeof held) != 0) fail_msg("row %zu", i);
    }
}

/* What an earlier list left there is no limit of this one. */
static void test_limits_behind_the_last(void **unused)
{
    (void)unused;
    struct list list;
    open_list(&list, "10/s burst=160; 7/h burst=80; 1/s burst=2");
    list.rules.count = 2;
    const struct ask ask = {.now_ns = NOW * S, .cost = 1, .wait_max_ns = WEIR_FOREVER};
    assert_true(lease_wait_all_ns(list.rules, 5, &ask) == WEIR_FOREVER);
    lease_hold_all(list.rules, list.state, NOW * S, 5);
    left(&list, 155, 75);
    assert_int_equal(list.state[2], 0);
    list.state[2] = INT64_MAX; /* as if a call waited there */
    trade(&list, (struct trade){.held = 5, .unused = 5}, 5);
    left(&list, 160, 80);
    assert_int_equal(list.state[2], INT64_MAX);
}

static void test_none(void **unused)
{
    (void)unused;
    static const char *const lists[] = {
        "10/s burst=160; 7/h burst=80 algorithm=hybrid",
        "10/s burst=160; 80/h algorithm=sliding-log",
        "10/s burst=160; 7/h burst=15",
    };
    struct list list;
    for (size_t i = 0; i < LENGTH(lists); i++) {
        open_list(&list, lists[i]);
        assert_int_equal(trade(&list, (struct trade){.want = 300}, 0).permits, 0);
    }
    open_list(&list, "10/s burst=160; 7/h burst=80");
    assert_int_equal(trade(&list, (struct trade){.want = 1}, 0).permits, 0);
    assert_int_equal(trade(&list, (struct trade){.want = 300, .of_one = true}, 0).permits, 0);
    left(&list, 160, 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_eighth_of_the_shorter),
        cmocka_unit_test(test_what_is_unused_comes_back),
        cmocka_unit_test(test_the_generation_of_the_first),
        cmocka_unit_test(test_not_while_a_call_waits),
        cmocka_unit_test(test_both_hold),
        cmocka_unit_test(test_held_at_a_start_to_come),
        cmocka_unit_test(test_limits_behind_the_last),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
