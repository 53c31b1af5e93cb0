/* SPDX-License-Identifier: MIT
   One word, asked by one thread, in exact numbers.  What threads do to each other is in test/model/word_model.c and
   lease_model.c.

   A tick is a ns, and a permit is one of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "share/word.h"
#include "unit/plans.h"

enum { BURST = 100 };

static struct rule rule_from(uint64_t anchor_tick)
{
    return (struct rule){.anchor_tick = anchor_tick,
                         .multiplier = UINT64_C(1) << 32,
                         .burst = BURST,
                         .generation = 1,
                         .shift = 32,
                         .algorithm = ALGORITHM_GCRA,
                         .flags = RULE_STARTS_FULL};
}

/* As if all before this value had been taken. */
static struct word *word_of(struct word *word, uint64_t anchor_tick, uint64_t value)
{
    const struct rule rule = rule_from(anchor_tick);
    word_make(word);
    word_open_with(word, &rule, value);
    return word;
}

static weir_decision asked(struct word *word, struct ask ask)
{
    weir_decision decision;
    assert_true(word_decide(word, &ask, &decision));
    return decision;
}

static weir_decision taken(struct word *word, uint64_t now_ns, uint64_t cost)
{
    const weir_decision decision = asked(word, (struct ask){.now_ns = now_ns, .cost = cost});
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    return decision;
}

static uint64_t remaining(struct word *word, uint64_t now_ns)
{
    return asked(word, (struct ask){.now_ns = now_ns, .peek = true}).remaining;
}

static struct lease_slice traded(struct word *word, struct trade trade)
{
    struct lease_slice slice = {.permits = 77};
    trade.generation = 1;
    assert_true(word_trade(word, &trade, &slice));
    return slice;
}

static void each_word_of_a_rule(void **unused)
{
    (void)unused;
    const struct rule rule = {.anchor_ns = 11,
                              .anchor_tick = 12,
                              .multiplier = 13,
                              .burst = 14,
                              .second = 15,
                              .third = 16,
                              .generation = 17,
                              .scale = 18,
                              .algorithm = ALGORITHM_UNLIMITED,
                              .fourth = 19};
    struct word word;
    struct rule read;
    uint64_t value;
    word_make(&word);
    word_open_with(&word, &rule, 20);
    assert_true(word_read(&word, &read, &value));
    assert_memory_equal(&read, &rule, sizeof rule);
    assert_int_equal(value, 20);
}

/* Where nothing was taken the value is that of the algorithm, or the clock's; in no case 0, which comes back. */
static void a_fresh_state(void **unused)
{
    (void)unused;
    struct word word;
    struct rule rule = rule_from(500), read;
    uint64_t value;
    assert_int_equal(word_value(atom_load(&word_of(&word, 500, 0)->value)), 500);
    rule.flags = 0;
    word_open_with(&word, &rule, 0);
    assert_true(word_read(&word, &read, &value));
    assert_int_equal(value, 500 + BURST);
    assert_int_equal(remaining(&word, 0), 0);
    assert_int_equal(remaining(&word, 7), 7);
    rule.algorithm = ALGORITHM_UNLIMITED;
    word_open_with(&word, &rule, 0);
    assert_true(word_read(&word, &read, &value));
    assert_int_equal(value, 500);
}

static void a_cost_of_its_own(void **unused)
{
    (void)unused;
    const uint64_t each[WEIR_LIMITS_MAX] = {3, 9};
    struct word word;
    assert_int_equal(asked(word_of(&word, 1, 1), (struct ask){.cost = 5, .each = each}).charged, 3);
    assert_int_equal(remaining(&word, 0), BURST - 3);
}

/* Each rule waits for the first permit that is taken from it. */
static void another_rule_begins_again(void **unused)
{
    (void)unused;
    const struct rule rule = rule_from(500);
    struct rule from;
    uint64_t value;
    struct word word;
    assert_true(word_waits_to_begin(word_of(&word, 1, 1)));
    word_begin(&word);
    assert_false(word_waits_to_begin(&word));
    word_close(&word, &from, &value);
    word_open_with(&word, &rule, 0);
    assert_true(word_waits_to_begin(&word));
}

/* A value has 63 bits: what ends at the last one passes, what ends behind it never does. */
static void up_to_the_last_value(void **unused)
{
    (void)unused;
    struct word word;
    const uint64_t anchor = WORD_VALUE_MAX - 8;
    assert_true(taken(word_of(&word, anchor, anchor), 0, 8).end == WORD_VALUE_MAX);
    assert_int_equal(asked(word_of(&word, anchor, anchor), (struct ask){.cost = 9}).verdict, WEIR_DENY);
    assert_true(asked(&word, (struct ask){.cost = 9}).retry_ns == WEIR_FOREVER);
    assert_int_equal(remaining(&word, 0), BURST);
    assert_int_equal(traded(word_of(&word, anchor, anchor), (struct trade){.want = 8}).permits, 8);
    assert_int_equal(traded(word_of(&word, anchor, anchor), (struct trade){.want = 9}).permits, 0);
    assert_int_equal(remaining(&word, 0), BURST);
    assert_int_equal(atom_load(&word.out), 0);
}

/* ---- beside leases ---- */

/* So many fewer were saved up; one is always left. */
static void permits_that_are_out(void **unused)
{
    (void)unused;
    static const uint64_t rows[][2] = {{0, 100}, {1, 99}, {2, 98}, {98, 2}, {99, 1}, {100, 1}, {1000, 1}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct word word;
        word_of(&word, 1, 1);
        atom_store(&word.out, rows[i][0]);
        assert_int_equal(remaining(&word, 1000), rows[i][1]);
    }
}

/* What was used beyond the cost is not taken from permits that are out, which are spent as well. */
static void used_more_beside_leases(void **unused)
{
    (void)unused;
    struct word word;
    const weir_decision decision = taken(word_of(&word, 1, 1), 0, 10);
    atom_store(&word.out, 20);
    assert_true(word_settle(&word, 1000, &decision, 10 + 5));
    assert_int_equal(remaining(&word, 1000), BURST - 20 - 5);
}

/* ---- no value comes back ---- */

/* However the value came to be lower, the next clock is set above the highest one. */
static void clocks_are_set_above_all_values(void **unused)
{
    (void)unused;
    struct word word;
    struct rule rule;
    uint64_t value;
    assert_int_equal(word_anchor(word_of(&word, 1, 41)), 42);
    for (int by_lease = 0; by_lease < 2; by_lease++) {
        word_of(&word, 1, 41);
        if (by_lease) {
            const struct lease_slice slice = traded(&word, (struct trade){.want = 5});
            assert_int_equal(slice.permits, 5);
            (void)traded(&word, (struct trade){.held = 5, .unused = 5, .end = slice.end});
        } else {
            const weir_decision decision = taken(&word, 0, 5);
            assert_true(word_settle(&word, 0, &decision, 0));
        }
        assert_int_equal(word_value(atom_load(&word.value)), 41);
        assert_int_equal(word_anchor(&word), 46 + 1);
        word_close(&word, &rule, &value);
        assert_int_equal(value, 41);
        assert_true(word_value(atom_load(&word.value)) > 46);
        assert_true(word_anchor(&word) > 46);
    }
    /* Also of a word that ends with the last value: then numbering starts again. */
    word_of(&word, 1, WORD_VALUE_MAX);
    word_close(&word, &rule, &value);
    assert_true(word_is_closed(atom_load(&word.value)));
    assert_int_equal(word_anchor(&word), 1);
}

/* From 2^61 on; then what was there before is forgotten: the clock goes on from 1, and leases have their permits. */
static void numbering_starts_again(void **unused)
{
    (void)unused;
    const uint64_t end = UINT64_C(1) << 61;
    struct word word;
    const struct rule again = rule_from(1);
    struct rule rule;
    uint64_t value;
    assert_true(word_anchor(word_of(&word, 1, end - 1)) == end);
    assert_int_equal(word_anchor(word_of(&word, end, end)), 1);
    const weir_decision decision = taken(&word, 0, 5);
    assert_true(word_settle(&word, 0, &decision, 0));
    word_close(&word, &rule, &value);
    assert_int_equal(word_anchor(&word), 1);
    word_open_with(&word, &again, 0);
    assert_int_equal(word_anchor(&word), 2);
    assert_int_equal(traded(&word, (struct trade){.want = 5}).permits, 5);
}

/* Permits are taken along only where neither the value nor the clock, whichever is ahead, is below one that there was:
   somebody may have read that while fewer permits were out. */
static void no_lease_below_a_value_that_was(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t now_ns, value, permits;
    } rows[] = {{44, 41, 0}, {45, 41, 5}, {46, 41, 5}, {0, 45, 0}, {0, 46, 5}, {0, 47, 5}}; /* the clock began with 1 */
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct word word;
        const weir_decision decision = taken(word_of(&word, 1, 41), 0, 5);
        assert_true(word_settle(&word, 0, &decision, rows[i].value - 41));
        assert_int_equal(traded(&word, (struct trade){.now_ns = rows[i].now_ns, .want = 5}).permits, rows[i].permits);
        assert_int_equal(atom_load(&word.out), rows[i].permits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_of_a_rule),     cmocka_unit_test(a_fresh_state),
        cmocka_unit_test(a_cost_of_its_own),       cmocka_unit_test(another_rule_begins_again),
        cmocka_unit_test(up_to_the_last_value),    cmocka_unit_test(permits_that_are_out),
        cmocka_unit_test(used_more_beside_leases), cmocka_unit_test(clocks_are_set_above_all_values),
        cmocka_unit_test(numbering_starts_again),  cmocka_unit_test(no_lease_below_a_value_that_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
