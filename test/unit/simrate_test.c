/* SPDX-License-Identifier: MIT
   simrate_test.c - nosqlbench's present limiter: ticks, fills, and what a limiter of it does.

   May touch: its own plans, states and limiters.  Promises: expected answers are worked out by hand from the peer's
   rules.  Leaves to others: long runs (test/law/simrate_law.c), the peer (test/vectors). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/simrate.h"
#include "plan/plan.h"
#include "unit/plans.h"

static void in_lumps(void **unused)
{
    (void)unused;
    const struct step steps[] = {
        {7 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0},
        {7 * MS, 1, 0, WEIR_DENY, 0, 10 * MS, 0},
        {17 * MS - 1, 1, 0, WEIR_DENY, 0, 1, 0},
        {17 * MS, 1, 0, WEIR_ALLOW, 0, 0, 9},
        {17 * MS, 9, 0, WEIR_ALLOW, 0, 0, 0},
        {20 * MS, 25, 0, WEIR_DENY, 0, 27 * MS, 0},
        {20 * MS, 1101, 0, WEIR_NEVER, 0, 0, 0},
        {47 * MS, 30, 0, WEIR_ALLOW, 0, 0, 0},
        /* full after 100 fills, the burst pool after 100 more */
        {1047 * MS, 0, 0, WEIR_ALLOW, 0, 0, 1000},
        {1057 * MS, 0, 0, WEIR_ALLOW, 0, 0, 1001},
        {2047 * MS, 0, 0, WEIR_ALLOW, 0, 0, 1100},
        {290 * YEAR, 1100, 0, WEIR_ALLOW, 0, 0, 0},
        {290 * YEAR, 11, 0, WEIR_DENY, 0, 7 * MS, 0},
        {290 * YEAR + 7 * MS, 11, 0, WEIR_ALLOW, 0, 0, 0}, /* what waited pays one */
    };
    CHECK_STEPS("1000/s algorithm=simrate", steps);
}

/* Ticks of a us; an operation of 7 s is 700 fills. */
static void slow(void **unused)
{
    (void)unused;
    const struct step steps[] = {
        {S, 1, 0, WEIR_ALLOW, 0, 0, 0},       {S, 1, 0, WEIR_DENY, 0, 7 * S, 0},
        {8 * S, 1, 0, WEIR_ALLOW, 0, 0, 0},   {8 * S, 142, 0, WEIR_DENY, 0, 994 * S, 0},
        {8 * S, 143, 0, WEIR_NEVER, 0, 0, 0}, {YEAR, 142, 0, WEIR_ALLOW, 0, 0, 0},
    };
    CHECK_STEPS("1/7s algorithm=simrate catchup=1", steps);
}

static void first_call(void **unused)
{
    (void)unused;
    const struct step steps[] = {{5, 2, 0, WEIR_ALLOW, 0, 0, 0}, {5, 1, 0, WEIR_DENY, 0, 10 * MS, 0}};
    CHECK_STEPS("100/s algorithm=simrate", steps);
}

static void time_that_goes_back(void **unused)
{
    (void)unused;
    const struct step steps[] = {
        {S, 1, 0, WEIR_ALLOW, 0, 0, 0},           {S + 10 * MS, 1, 0, WEIR_ALLOW, 0, 0, 9},
        {S, 1, 0, WEIR_DENY, 0, 10 * MS, 0}, /* before the last fill nothing can be had */
        {S + 10 * MS, 9, 0, WEIR_ALLOW, 0, 0, 0}, {0, 1, 0, WEIR_DENY, 0, S + 20 * MS, 0},
    };
    CHECK_STEPS("1000/s algorithm=simrate", steps);
}

/* Told to fill, as the original's filler does it: 1 us ticks, the rest of each fill is lost. */
static void told_to_fill(void **unused)
{
    (void)unused;
    weir_plan plan = plan_of("1/2s algorithm=simrate");
    struct rule *rule = &plan_inside(&plan)->rule[0];
    uint64_t state[STATE_WORDS_MAX] = {0};
    simrate_refill(rule, state, tick_at(rule, 0));
    assert_int_equal((int64_t)state[SIMRATE_ACTIVE], 2000000);
    simrate_refill(rule, state, tick_at(rule, 999));
    simrate_refill(rule, state, tick_at(rule, 1998));
    assert_int_equal((int64_t)state[SIMRATE_ACTIVE], 2000000);
    simrate_refill(rule, state, tick_at(rule, 3998));
    assert_int_equal((int64_t)state[SIMRATE_ACTIVE], 2000002);
    /* 2^31 - 1 ns at most are poured, 2,147,483 ticks; the rest waits at once. */
    simrate_refill(rule, state, tick_at(rule, 3998 + 3 * S));
    assert_int_equal((int64_t)state[SIMRATE_ACTIVE], 2000002 + 2147483 + 214748);
    assert_int_equal((int64_t)state[SIMRATE_WAITING], 852516 - 214748);
    simrate_refill(rule, state, tick_at(rule, 5)); /* back */
    assert_int_equal(state[SIMRATE_FILLED] - 1, 3998 + 3 * S);
    rule->flags |= RULE_FOLLOWS_CLOCK;
    simrate_refill(rule, state, tick_at(rule, 5));
    assert_int_equal(state[SIMRATE_FILLED] - 1, 5);
    simrate_refill(rule, state, tick_at(rule, YEAR));
    assert_true((int64_t)state[SIMRATE_WAITING] > 30000000000000); /* no 32 bits */
}

/* Nothing is given back; what was used without asking is owed. */
static void settled(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1000/s algorithm=simrate");
    take(&subject, 0, 1);
    weir_decision decision = take(&subject, 10 * MS, 8);
    settle_at(&subject, 10 * MS, &decision, 3);
    assert_int_equal(take(&subject, 10 * MS, 0).remaining, 2);
    decision = take(&subject, 10 * MS, 1);
    settle_at(&subject, 10 * MS, &decision, 7);
    assert_int_equal(take(&subject, 10 * MS, 1).retry_ns, 10 * MS);
    assert_int_equal(take(&subject, 20 * MS, 0).remaining, 5);
}

static void mistakes(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"1000000001/s algorithm=simrate", 1,
         "this rate is over 1G/s, and simrate counts whole ns for each operation; for more write algorithm=hybrid"},
        {"1/1000000s algorithm=simrate", 1,
         "this rate is 1 in 1000000s or less, at which simrate never fills; for less write algorithm=hybrid"},
        {"10/s algorithm=simrate catchup=0.9", 32,
         "catchup is 1 or more: how much faster to run while behind; for example 1.1"},
        {"10/s algorithm=simrate catchup=1001", 32, "catchup is at most 1000; for example catchup=1.1"},
        {"10/s algorithm=simrate burst=3", 24,
         "burst does not belong to algorithm=simrate; it goes with gcra, hybrid, bursty, leaky"},
    };
    CHECK_MISTAKES(rows);
}

static void canonical(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {{"10/s algorithm=simrate", "10/s catchup=1.1 algorithm=simrate"}};
    CHECK_SPELLINGS(rows);
}

/* The scale of ticks, the ticks of an operation, and what the pools hold. */
static void in_numbers(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t tick_ns, per_op, over, at_once, spacing_ns;
    } rows[] = {
        {"1G/s algorithm=simrate", 1, 1, 1100000000, 1100000000, 1},
        {"3/s algorithm=simrate", 1, 333333333, 1100000000, 3, 333333333},
        {"1.0000001/s algorithm=simrate", 1, 999999900, 1100000000, 1, 999999900},
        {"1/s algorithm=simrate", 1000, 1000000, 1100000000, 1100, S},
        {"0.001/s algorithm=simrate catchup=2", 1000000, 1000000, 2000000000, 2000, 1000 * S},
        {"1/11d algorithm=simrate", 1000000, 950400000, 1100000000, 1, 950400 * S},
        {"1G/s algorithm=simrate catchup=1.00000009", 1, 1, 1000000090, 1000000000, 1}, /* never moves */
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_of(rows[i].text);
        const struct rule *rule = &plan_inside_const(&plan)->rule[0];
        const struct facts facts = facts_in(&plan);
        assert_int_equal(rule->fourth, rows[i].tick_ns);
        assert_int_equal(rule->third, rows[i].per_op);
        assert_int_equal(rule->over, rows[i].over);
        assert_int_equal(facts.at_once, rows[i].at_once);
        assert_int_equal(facts.largest, rows[i].at_once);
        assert_int_equal(facts.spacing_ns, rows[i].spacing_ns);
        assert_int_equal(facts.state_bytes, weir_state_size(&plan));
    }
    const weir_plan plan = plan_of("1000/s algorithm=simrate");
    static const uint64_t windows[][2] = {{1, 1100}, {2, 1111}, {10 * MS + 1, 1111}, {10 * MS + 2, 1122}, {S, 2200}};
    CHECK_MOST_IN(&plan, windows);
}

/* As many as there may be, greedily, just before a fill and after the following ones. */
static void worst_window(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1000/s algorithm=simrate");
    uint64_t taken = 0;
    take(&subject, 0, 1);
    const uint64_t from_ns = 1000 * S - 1;
    for (uint64_t now_ns = from_ns; now_ns < from_ns + S;) {
        const weir_decision decision = take(&subject, now_ns, 1);
        if (weir_allowed(decision)) taken++;
        else now_ns += decision.retry_ns;
    }
    assert_int_equal(taken, most_in(&subject.plan, S));
}

static void in_a_limiter(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("1000/s algorithm=simrate");
    weir_stats stats;
    assert_true(weir_allowed(weir_take(limiter, 1)));
    assert_int_equal(weir_reserve(limiter, 1, S).verdict, WEIR_DENY); /* has no places */
    set_ns(limiter, 3 * S);
    assert_true(weir_allowed(weir_take(limiter, 100)));
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.late_now_ns, 3 * S - 1100 * MS);
    change(limiter, "100/s algorithm=simrate", WEIR_KEEP);
    assert_int_equal(weir_peek(limiter, 0).remaining, 1);
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.late_now_ns, 0);
    weir_take(limiter, 1);
    weir_read_stats(limiter, &stats, sizeof stats);
    weir_charge(limiter, 3);
    change(limiter, "1000/s algorithm=simrate", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 10 * MS);
    set_ns(limiter, 3 * S + 10 * MS);
    assert_int_equal(weir_peek(limiter, 0).remaining, 7);
    change(limiter, "1000/s algorithm=simrate", WEIR_RESET);
    assert_true(weir_allowed(weir_take(limiter, 3)));
    assert_false(weir_allowed(weir_take(limiter, 1)));
    weir_close(limiter);
}

static void waits_for_a_fill(void **unused)
{
    (void)unused;
    const uint64_t begin_ns = weir_now().ns;
    weir_limiter *limiter = open_limiter("1000/s algorithm=simrate", WEIR_CLOCK_SYSTEM, WEIR_ADMIT);
    assert_true(weir_allowed(weir_take(limiter, 1)));
    assert_true(weir_allowed(weir_take_wait(limiter, 15, S)));
    assert_true(weir_now().ns - begin_ns > 15 * MS);
    /* A thread that is held up for long enough finds so many filled in meanwhile. */
    const bool denied = weir_take_wait(limiter, 900, 10 * MS).verdict == WEIR_DENY;
    assert_true(denied || weir_now().ns - begin_ns > 800 * MS);
    weir_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_lumps),     cmocka_unit_test(slow),
        cmocka_unit_test(first_call),   cmocka_unit_test(time_that_goes_back),
        cmocka_unit_test(told_to_fill), cmocka_unit_test(settled),
        cmocka_unit_test(mistakes),     cmocka_unit_test(canonical),
        cmocka_unit_test(in_numbers),   cmocka_unit_test(worst_window),
        cmocka_unit_test(in_a_limiter), cmocka_unit_test(waits_for_a_fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
