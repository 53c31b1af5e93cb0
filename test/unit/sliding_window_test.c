/* SPDX-License-Identifier: MIT
   The weighted counter by hand: shares, edges, bad parameters, facts, a limiter.

   Every number was worked out with pencil. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "unit/plans.h"

enum { ENDS, PREVIOUS, CURRENT };

static void assert_allowed(weir_decision decision, uint64_t remaining)
{
    assert_delay(decision, 0);
    assert_int_equal(decision.remaining, remaining);
}

/* ---- the rule ---- */

static void shares(void **unused)
{
    (void)unused;
    struct subject subject = fresh("5/s algorithm=sliding-window");
    for (uint64_t i = 5; i > 0; i--) assert_allowed(take(&subject, 0, 1), i - 1);
    assert_retry(take(&subject, 0, 1), S + 1);
    assert_retry(take(&subject, 1999 * MS / 2, 1), S + 1 - 1999 * MS / 2);
    /* At the edge all five are still seen, a ns later less than five. */
    assert_retry(take(&subject, S, 1), 1);
    assert_allowed(take(&subject, S + 1, 1), 0);
    assert_retry(take(&subject, S + 1, 1), 200 * MS);
    assert_allowed(take(&subject, 1200 * MS + 1, 1), 0);
    assert_allowed(take(&subject, 2 * S - 1, 3), 0);
    assert_int_equal(subject.state[PREVIOUS], 5);
    assert_int_equal(subject.state[CURRENT], 5);
    /* Two windows later nothing is left. */
    assert_allowed(take(&subject, 4 * S, 5), 0);
}

static void larger_calls(void **unused)
{
    (void)unused;
    struct subject subject = fresh("10/s algorithm=sliding-window");
    assert_int_equal(take(&subject, 0, 11).verdict, WEIR_NEVER);
    assert_allowed(take(&subject, 0, 8), 2);
    /* 4 more: when at most 6 of the 8 are seen, 6.999... / 8 of a window from the end. */
    assert_retry(take(&subject, 0, 4), S + 125 * MS + 1);
    /* 10: when less than one is. */
    assert_retry(take(&subject, 500 * MS, 10), 1500 * MS - 125 * MS + 1);
    assert_allowed(take(&subject, 0, 0), 2);
    assert_int_equal(weir_decide_full_ns(&subject.plan, &(weir_decision){.end = 1}), 0);
}

/* The wait passes over the next window when even its end sees too much. */
static void windows_of_few_ns(void **unused)
{
    (void)unused;
    struct subject subject = fresh("40/7ns algorithm=sliding-window");
    assert_allowed(take(&subject, 0, 40), 0);
    assert_retry(take(&subject, 0, 40), 14);
    assert_retry(take(&subject, 0, 35), 13); /* a seventh of 40 is 5 */
    assert_retry(take(&subject, 13, 36), 1);
}

static void clock_goes_back(void **unused)
{
    (void)unused;
    struct subject subject = fresh("3/s algorithm=sliding-window");
    assert_allowed(take(&subject, 9900 * MS, 2), 1);
    assert_allowed(take(&subject, 10500 * MS, 1), 1);
    /* Within the window more of the one before is seen; behind it nothing passes. */
    assert_retry(take(&subject, 10 * S, 1), 1);
    assert_retry(take(&subject, 9900 * MS, 1), 100 * MS + 1);
    assert_int_equal(take(&subject, 0, 1).remaining, 0);
    assert_allowed(take(&subject, 10500 * MS, 1), 0);
}

static void ends_of_the_range(void **unused)
{
    (void)unused;
    struct subject subject = fresh("3/s algorithm=sliding-window"),
                   huge = fresh("18446744073709551609/year algorithm=sliding-window");
    assert_allowed(take(&subject, UINT64_MAX - 3, 3), 0);
    assert_retry(take(&subject, UINT64_MAX - 3, 1), WEIR_FOREVER);
    assert_allowed(take(&huge, 0, UINT64_MAX - 6), 0);
    assert_int_equal(take(&huge, 0, UINT64_MAX).verdict, WEIR_NEVER);
}

/* ---- settling and changing ---- */

static void settled(void **unused)
{
    (void)unused;
    struct subject subject = fresh("10/s algorithm=sliding-window");
    weir_decision six = take(&subject, 0, 6), three = take(&subject, 500 * MS, 3);
    const struct rule *rule = plan_inside_const(&subject.plan)->rule;
    assert_false((algorithm_of(rule)->balance(rule, subject.state, tick_at(rule, 0)).waits));
    settle_at(&subject, S + 1, &six, 2);
    assert_int_equal(subject.state[CURRENT], 5);
    assert_allowed(take(&subject, S, 1), 4);
    assert_true((algorithm_of(rule)->balance(rule, subject.state, tick_at(rule, S - 1)).waits));
    assert_false((algorithm_of(rule)->balance(rule, subject.state, tick_at(rule, S)).waits));
    settle_at(&subject, S + 1, &three, 0);
    assert_int_equal(subject.state[PREVIOUS], 2);
    assert_int_equal(subject.state[CURRENT], 1);
    weir_decision one = take(&subject, 5 * S, 1);
    settle_at(&subject, 5 * S, &one, 14);
    assert_int_equal(subject.state[CURRENT], 14);
    assert_retry(take(&subject, 5 * S, 1), S + 285714286); /* 14 * left < 10 */
}

static void carried(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("10/s algorithm=sliding-window");
    set_ns(limiter, 1250 * MS);
    assert_int_equal(weir_take(limiter, 10).verdict, WEIR_ALLOW);
    change(limiter, "5/s algorithm=sliding-window", WEIR_KEEP);
    assert_int_equal(weir_peek(limiter, 1).retry_ns, 750 * MS + 1);
    change(limiter, "20/s algorithm=sliding-window", WEIR_SCALE);
    assert_int_equal(weir_peek(limiter, 0).remaining, 15);
    /* 5 of 20 a second: a quarter of a second, 3 permits at 10 a second. */
    change(limiter, "600/min algorithm=sliding-window", WEIR_KEEP);
    assert_int_equal(weir_peek(limiter, 0).remaining, 597);
    change(limiter, "600/min algorithm=sliding-window", WEIR_RESET);
    assert_int_equal(weir_peek(limiter, 0).remaining, 600);
    /* Half of the ten of the window before. */
    change(limiter, "10/s algorithm=sliding-window", WEIR_RESET);
    assert_int_equal(weir_take(limiter, 10).verdict, WEIR_ALLOW);
    set_ns(limiter, 2500 * MS);
    change(limiter, "600/min algorithm=sliding-window", WEIR_SCALE);
    assert_int_equal(weir_peek(limiter, 0).remaining, 595);
    weir_close(limiter);
}

/* What is still seen is rounded up, against the caller. */
static void half_a_permit_is_carried_as_one(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("3/s algorithm=sliding-window");
    assert_int_equal(weir_take(limiter, 3).verdict, WEIR_ALLOW);
    set_ns(limiter, 1500 * MS);
    change(limiter, "10/min algorithm=sliding-window", WEIR_SCALE);
    assert_int_equal(weir_peek(limiter, 0).remaining, 8);
    weir_close(limiter);
}

/* Where its windows stand where those of a fresh state do, when the last permit is out of sight; else when the window
   after the last one is over. */
static void may_be_forgotten(void **unused)
{
    (void)unused;
    struct subject subject = fresh("4/s algorithm=sliding-window");
    struct rule *rule = plan_inside(&subject.plan)->rule;
    const struct algorithm *algorithm = algorithm_of(rule);
    rule->offset_ns = 300 * MS;
    const uint64_t now = tick_at(rule, 50 * MS);
    assert_int_equal(algorithm->idle(rule, subject.state, now), now);
    /* 700 ms is where a window begins; of two permits the first is gone after half of the next one. */
    assert_allowed(take(&subject, 50 * MS, 2), 2);
    assert_int_equal(subject.state[ENDS], 700 * MS);
    assert_int_equal(algorithm->idle(rule, subject.state, now), tick_at(rule, 1200 * MS + 1));
    rule->offset_ns = 200 * MS;
    assert_int_equal(algorithm->idle(rule, subject.state, now), tick_at(rule, 1700 * MS));
    /* And of one that ended at the first ns. */
    subject.state[ENDS] = 1;
    assert_int_equal(algorithm->idle(rule, subject.state, tick_at(rule, 0)), tick_at(rule, S + 1));
}

static void debts(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("10/s algorithm=sliding-window debt=5");
    assert_int_equal(weir_charge(limiter, 100).charged, 15);
    assert_int_equal(weir_charge(limiter, 1).charged, 0);
    assert_int_equal(weir_take(limiter, 1).retry_ns, S + 333333334);
    weir_close(limiter);
}

static void waited_for(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("2/s algorithm=sliding-window; 1/10s burst=1");
    assert_int_equal(weir_reserve(limiter, 1, 0).verdict, WEIR_ALLOW);
    weir_decision later = weir_reserve(limiter, 1, WEIR_FOREVER);
    assert_int_equal(later.delay_ns, 10 * S);
    /* It is counted in the window of its start, and until that begins nothing passes. */
    const weir_decision before = weir_peek_limit(limiter, 0, 1);
    assert_int_equal(before.verdict, WEIR_DENY);
    assert_int_equal(before.retry_ns, 10 * S);
    change(limiter, "2/s algorithm=sliding-window; 1/10s burst=1", WEIR_RESET);
    assert_int_equal(weir_peek_limit(limiter, 0, 1).verdict, WEIR_DENY);
    weir_cancel(limiter, &later);
    set_ns(limiter, 20 * S);
    assert_int_equal(weir_take_some(limiter, 5).charged, 1);
    weir_close(limiter);
}

static void aligned(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1/s algorithm=sliding-window");
    struct rule *rule = plan_inside(&subject.plan)->rule;
    algorithm_align(rule, 7300 * MS, 1700000000 * S + 900 * MS);
    assert_int_equal(rule->offset_ns, 600 * MS);
    algorithm_align(rule, 7900 * MS, 1700000000 * S + 300 * MS);
    assert_int_equal(rule->offset_ns, 400 * MS);
    assert_allowed(take(&subject, 7900 * MS, 1), 0);
    assert_int_equal(subject.state[ENDS], 8600 * MS);
    assert_retry(take(&subject, 7900 * MS, 1), 700 * MS + 1);
}

/* ---- text ---- */

static void texts(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"10/s algorithm=sliding-window", "10/s algorithm=sliding-window"},
        {"10k tokens/5h algorithm=sliding-window debt=5", "10000 tokens/5h algorithm=sliding-window debt=5"},
    };
    CHECK_SPELLINGS(rows);
}

static void mistakes(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"0.5/s algorithm=sliding-window", 1, "a window holds whole permits; write 1/2s for half a permit a second"},
        {"10/s algorithm=sliding-window burst=5", 31,
         "burst does not belong to algorithm=sliding-window; it goes with gcra, hybrid, bursty, leaky"},
        {"10/s nodelay algorithm=sliding-window", 6,
         "nodelay does not belong to algorithm=sliding-window; it goes with leaky"},
    };
    CHECK_MISTAKES(rows);
}

/* ---- facts ---- */

static void numbers_of_facts(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("10/min algorithm=sliding-window");
    check_facts(&plan, (struct facts){.at_once = 10,
                                      .fresh = 10,
                                      .largest = 10,
                                      .group = 1,
                                      .spacing_ns = 6 * S,
                                      .full_ns = 114 * S + 1,
                                      .state_bytes = 24});
    static const uint64_t windows[][2] = {{1, 10},          {2, 10},          {3, 11},       {60 * S, 20},
                                          {60 * S + 2, 20}, {60 * S + 3, 21}, {600 * S, 110}};
    CHECK_MOST_IN(&plan, windows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares),
        cmocka_unit_test(larger_calls),
        cmocka_unit_test(windows_of_few_ns),
        cmocka_unit_test(settled),
        cmocka_unit_test(clock_goes_back),
        cmocka_unit_test(ends_of_the_range),
        cmocka_unit_test(carried),
        cmocka_unit_test(half_a_permit_is_carried_as_one),
        cmocka_unit_test(may_be_forgotten),
        cmocka_unit_test(debts),
        cmocka_unit_test(waited_for),
        cmocka_unit_test(aligned),
        cmocka_unit_test(texts),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(numbers_of_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
