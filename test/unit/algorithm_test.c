/* SPDX-License-Identifier: MIT
   What is asked of all algorithms alike, and the clocks that limits are compiled to, in exact numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/algorithm/concurrent.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "unit/plans.h"

static struct rule rule_of(const char *text)
{
    const weir_plan plan = plan_of(text);
    return plan_inside_const(&plan)->rule[0];
}

static struct rule compiled(struct limit limit)
{
    struct rule rule;
    assert_null(limit_compile(&limit, &rule).message);
    return rule;
}

/* ---- limits without a rate ---- */

static void all_or_nothing(void **unused)
{
    (void)unused;
    const struct rule all = compiled((struct limit){.algorithm = ALGORITHM_UNLIMITED});
    const struct rule none = compiled((struct limit){.algorithm = ALGORITHM_NONE});
    const struct balance any = algorithm_of(&all)->balance(&all, NULL, 7);
    assert_true(any.left == UINT64_MAX && any.owed == 0 && !any.waits);
    const struct balance nothing = algorithm_of(&none)->balance(&none, NULL, 7);
    assert_true(nothing.left == 0 && nothing.owed == 0 && !nothing.waits);
    /* A tick is a ns, and the first is at 0. */
    assert_int_equal(tick_at(&all, 5), 6);
    assert_int_equal(ns_ceil(&all, 6), 5);
}

/* ---- rules that another thread tore ---- */

static void aligned_without_a_period(void **unused)
{
    (void)unused;
    static const uint8_t windows[] = {ALGORITHM_FIXED_WINDOW, ALGORITHM_SLIDING_WINDOW};
    for (size_t i = 0; i < LENGTH(windows); i++) {
        struct rule torn = {.algorithm = windows[i]};
        algorithm_align(&torn, 5, 9);
        assert_int_equal(torn.offset_ns, 0);
    }
}

/* ---- charges ---- */

/* A slot that is not there cannot be held. */
static void no_slots_are_owed(void **unused)
{
    (void)unused;
    const struct rule rule = rule_of("3 concurrent lease=1min");
    uint64_t state[64] = {0}, extra = 5;
    assert_true(state_words(&rule, algorithm_of(&rule)) <= LENGTH(state));
    algorithm_charge(&rule, state, tick_at(&rule, S), &extra);
    assert_int_equal(extra, 3);
    extra = 1;
    algorithm_charge(&rule, state, tick_at(&rule, S), &extra);
    assert_int_equal(extra, 0);
}

/* ---- gcra ---- */

/* Only what has not drained: by the end of its slot, or by its start where the slots before it were given back. */
static void what_has_not_drained(void **unused)
{
    (void)unused;
    const struct rule rule = rule_of("1000000000/s algorithm=gcra burst=20");
    static const struct {
        uint64_t start, unused, left;
    } rows[] = {{61, 10, 95}, {60, 10, 95}, {58, 10, 97}, {61, 3, 97}, {50, 10, 100}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct slot slot = {.start = rows[i].start, .end = 70, .cost = 10};
        uint64_t state = 100;
        algorithm_of(&rule)->give_back(&rule, &state, 65, &slot, rows[i].unused);
        assert_int_equal(state, rows[i].left);
    }
}

/* After a reset a limit is as it starts. */
static void reset_to_its_start(void **unused)
{
    (void)unused;
    const struct rule from = rule_of("10/s algorithm=gcra burst=4");
    for (int full = 0; full < 2; full++) {
        struct rule to = rule_of(full ? "5/s algorithm=gcra burst=3" : "5/s algorithm=gcra burst=3 start=empty");
        to.anchor_ns = S;
        to.anchor_tick = 77;
        uint64_t state = tick_at(&from, S) + 2, next = 0;
        algorithm_of(&to)->carry(&from, &to, &state, &next, tick_at(&from, S), WEIR_RESET);
        const struct balance balance = algorithm_of(&to)->balance(&to, &next, to.anchor_tick);
        assert_int_equal(balance.left, full ? to.burst : 0);
        assert_int_equal(balance.owed, 0);
    }
}

/* ---- clocks ---- */

/* To the ends of the range: a tick is not longer than a ns, and longer than half of one where a permit takes a ns or
   more. */
static void ticks_of_a_line(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t permits, period_ns;
        unsigned scale;
    } rows[] = {
        {1, 1, 0},
        {1000, 1, 0},
        {1, 2, 1},
        {2, 3, 1},
        {1, 3, 2},
        {1, 1000, 10},
        {(UINT64_C(1) << 63) - 1, UINT64_MAX, 2},
        {(UINT64_C(1) << 62) - 1, UINT64_MAX, 3},
        {UINT64_C(1) << 63, UINT64_MAX, 1},
        {1, UINT64_C(1) << 62, 62},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct rule rule = compiled((struct limit){.algorithm = ALGORITHM_GCRA,
                                                         .count = {.digits = rows[i].permits},
                                                         .period_ns = rows[i].period_ns,
                                                         .burst_kind = AMOUNT_COUNT,
                                                         .burst = 1});
        assert_int_equal(rule.scale, rows[i].scale);
    }
}

/* Up to 8 times as long, where the burst lasts for centuries: 2^62 ticks are the most. */
static void longer_ticks_for_a_large_burst(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t period_ns;
        unsigned burst_bits, scale;
    } rows[] = {{2, 61, 1}, {2, 62, 0}, {8, 60, 2}, {8, 61, 1}, {8, 62, 0}, {16, 61, 1}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct rule rule = compiled((struct limit){.algorithm = ALGORITHM_GCRA,
                                                         .count = {.digits = 1},
                                                         .period_ns = rows[i].period_ns,
                                                         .burst_kind = AMOUNT_COUNT,
                                                         .burst = UINT64_C(1) << rows[i].burst_bits});
        assert_int_equal(rule.scale, rows[i].scale);
        assert_true(rule.burst == UINT64_C(1) << (rows[i].burst_bits + rows[i].scale));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(aligned_without_a_period),
        cmocka_unit_test(no_slots_are_owed),
        cmocka_unit_test(what_has_not_drained),
        cmocka_unit_test(reset_to_its_start),
        cmocka_unit_test(ticks_of_a_line),
        cmocka_unit_test(longer_ticks_for_a_large_burst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
