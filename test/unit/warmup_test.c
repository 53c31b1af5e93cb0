/* SPDX-License-Identifier: MIT
   Warmup: what a cold call costs, how it cools, who pays, what a change keeps.

   Expected answers are areas under the drawing in smooth.c, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "plan/plan.h"
#include "unit/plans.h"
#include "unit/standing.h"

/* Until the next one starts. */
static uint64_t owed(const struct subject *subject, uint64_t now_ns)
{
    struct subject copy = *subject;
    return reserve(&copy, now_ns, 1).delay_ns;
}

/* One call after the other, each as soon as it may: the waits. */
static void check_waits(const char *text, const uint64_t waits_ms[], size_t count)
{
    struct subject subject = fresh(text);
    uint64_t now_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const weir_decision decision = reserve(&subject, now_ns, 1);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        if (decision.delay_ns != waits_ms[i] * MS)
            fail_msg("%s, call %zu waits %ju", text, i, (uintmax_t)decision.delay_ns);
        now_ns += decision.delay_ns;
    }
}

#define WAITS(text, ...)                                                                                               \
    do {                                                                                                               \
        static const uint64_t waits_ms[] = {__VA_ARGS__};                                                              \
        check_waits(text, waits_ms, LENGTH(waits_ms));                                                                 \
    } while (0)

static void it_warms_up(void **unused)
{
    (void)unused;
    /* threshold 4, max 8: prices in intervals of 500 ms are 2.75, 2.25, 1.75, 1.25, and then 1 */
    WAITS("2/s warmup=4s", 0, 1375, 1125, 875, 625, 500, 500, 500, 500, 500);
    WAITS("2/s warmup=4s start=empty", 0, 500, 500, 500);
    WAITS("5/s warmup=4s cold=1", 0, 200, 200, 200);
    WAITS("10/s algorithm=warmup warmup=0s", 0, 100, 100);
    /* each waits for its own price, the first one too */
    WAITS("2/s warmup=4s pay=self", 1375, 1125, 875, 625, 500, 500);
}

static void the_whole_curve_costs_the_warmup(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t cost, price_ns;
    } rows[] = {
        {"2/s warmup=4s", 4, 4 * S},           {"2/s warmup=4s", 8, 6 * S},
        {"2/s warmup=4s", 10, 7 * S},          {"2/s warmup=27500ms cold=10", 10, 27500 * MS},
        {"1/s warmup=20s cold=3", 10, 20 * S}, {"4/s warmup=7500ms cold=2", 20, 7500 * MS},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct subject subject = fresh(rows[i].text);
        assert_int_equal(take(&subject, 0, rows[i].cost).verdict, WEIR_ALLOW);
        assert_int_equal(owed(&subject, 0), rows[i].price_ns);
        /* one by one it is the same */
        struct subject parts = fresh(rows[i].text);
        for (uint64_t n = 0; n < rows[i].cost; n++) reserve(&parts, 0, 1);
        assert_int_equal(parts.state[0], subject.state[0]);
    }
}

static void it_cools_down(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2/s warmup=4s");
    take(&subject, 0, 8);
    /* warm at 6 s; from 0 to 8 stored in 4 s of rest: 6 of them after 3 s */
    assert_int_equal(take(&subject, 9 * S, 2).verdict, WEIR_ALLOW);
    assert_int_equal(owed(&subject, 9 * S), 1500 * MS);
    /* time that goes back does not cool */
    assert_int_equal(take(&subject, 0, 1).retry_ns, 10500 * MS);
    assert_int_equal(reserve(&subject, 0, 1).delay_ns, 10500 * MS);
    assert_int_equal(owed(&subject, 11 * S), 0);
    /* and never colder than at first */
    assert_int_equal(take(&subject, 1000 * S, 1).verdict, WEIR_ALLOW);
    assert_int_equal(owed(&subject, 1000 * S), 1375 * MS);
}

static void one_passes_and_then_there_is_something_to_pay(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2/s warmup=4s");
    assert_int_equal(take(&subject, 0, 0).remaining, 1);
    assert_int_equal(take(&subject, 0, 1).remaining, 0);
    const weir_decision refused = take(&subject, 0, 1);
    assert_int_equal(refused.verdict, WEIR_DENY);
    assert_int_equal(refused.retry_ns, 1375 * MS);
    assert_int_equal(take(&subject, 1375 * MS - 1, 1).retry_ns, 1);
    assert_int_equal(take(&subject, 1375 * MS, 1).verdict, WEIR_ALLOW);
}

static void who_pays_himself_is_paid_for_by_rest(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2/s warmup=4s pay=self");
    assert_int_equal(take(&subject, 0, 4).retry_ns, 4 * S);
    assert_int_equal(take(&subject, 4 * S - 1, 4).retry_ns, 1);
    assert_int_equal(take(&subject, 4 * S, 4).verdict, WEIR_ALLOW);
    /* warm: 4 are left below the threshold; the rest of 3 s paid 1 s for 2 of them, and cooled for 2 s */
    assert_int_equal(take(&subject, 7 * S, 2).verdict, WEIR_ALLOW);
    assert_int_equal(subject.state[1], (uint64_t)6 << plan_inside(&subject.plan)->rule[0].scale);
    assert_int_equal(take(&subject, 7 * S, UINT64_MAX).verdict, WEIR_NEVER);
}

static void any_cost_passes(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2/s warmup=4s");
    assert_int_equal(take(&subject, 0, UINT64_MAX).verdict, WEIR_ALLOW);
    const weir_decision refused = reserve(&subject, S, 1);
    assert_int_equal(refused.verdict, WEIR_DENY);
    assert_int_equal(refused.retry_ns, WEIR_FOREVER);
}

/* ---- settling ---- */

static void the_last_call_is_priced_again(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2/s warmup=4s");
    weir_decision decision = take(&subject, 0, 8);
    settle_at(&subject, S, &decision, 1);
    assert_int_equal(owed(&subject, S), 375 * MS);
    assert_int_equal(take(&subject, 1375 * MS, 1).verdict, WEIR_ALLOW);
    assert_int_equal(owed(&subject, 1375 * MS), 1125 * MS);
    /* up, too */
    struct subject more = fresh("2/s warmup=4s");
    decision = take(&more, 0, 1);
    settle_at(&more, 0, &decision, 4);
    assert_int_equal(owed(&more, 0), 4 * S);
}

static void one_before_the_last_is_not(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2/s warmup=4s");
    weir_decision first = take(&subject, 0, 4), last = reserve(&subject, 0, 1);
    settle_at(&subject, 0, &first, 0);
    assert_int_equal(owed(&subject, 0), 4500 * MS);
    settle_at(&subject, 0, &last, 0);
    assert_int_equal(owed(&subject, 0), 4 * S);
    /* nor has the last become another */
    weir_decision third = reserve(&subject, 0, 2);
    assert_int_equal(third.delay_ns, 4 * S);
    settle_at(&subject, 0, &third, 0);
    assert_int_equal(owed(&subject, 0), 4 * S);
}

/* With the last one cancelled it is the last, and what it left is not known any more. */
static void the_one_before_is_not_priced_as_the_last(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2/s warmup=4s");
    weir_decision first = take(&subject, 0, 4), last = reserve(&subject, 0, 1);
    settle_at(&subject, 0, &last, 0);
    settle_at(&subject, 0, &first, 1);
    assert_int_equal(owed(&subject, 0), 4 * S);
}

/* ---- a limiter ---- */

static void debt_stays_time_and_cold_stays_cold(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("2/s warmup=4s");
    set_ns(limiter, S);
    weir_take(limiter, 1);
    change(limiter, "4/s warmup=4s", WEIR_KEEP);
    change(limiter, "3/s warmup=4s", WEIR_KEEP);
    change(limiter, "4/s warmup=4s", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 1375 * MS);
    /* 7 of 8 stored are 14 of 16: 6 above the threshold of 8, so one costs 1 + 2 * 11 / 16 intervals of 250 ms */
    set_ns(limiter, 2375 * MS);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    const uint64_t retry_ns = weir_take(limiter, 1).retry_ns, expected_ns = 593750000;
    assert_in_range(retry_ns, expected_ns - 1, expected_ns + 10);
    change(limiter, "4/s warmup=4s start=empty", WEIR_RESET);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 250 * MS);
    weir_close(limiter);
}

static void waiters_move_with_the_rate(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("10/s warmup=1s cold=1 start=empty");
    weir_take(limiter, 50);
    struct waiter first, second;
    stand(limiter, &first, 10);
    stand(limiter, &second, 1);
    change(limiter, "1/s warmup=1s cold=1", WEIR_KEEP);
    assert_int_equal(first.decision.start.ns, 5 * S);
    assert_int_equal(second.decision.start.ns, 15 * S);
    weir_close(limiter);
}

static void a_cold_waiter_keeps_his_start(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("2/s warmup=4s");
    weir_take(limiter, 1);
    struct waiter waits;
    assert_int_equal(stand(limiter, &waits, 1).start.ns, 1375 * MS);
    change(limiter, "2/s warmup=4s", WEIR_KEEP);
    assert_int_equal(waits.decision.start.ns, 1375 * MS);
    weir_close(limiter);
}

static void nobody_waits_behind_a_charge(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("10/s warmup=1s cold=1 start=empty");
    assert_int_equal(weir_charge(limiter, 50).charged, 50);
    assert_int_equal(weir_charge(limiter, 10).charged, 10);
    change(limiter, "1/s warmup=1s cold=1", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 6 * S);
    weir_close(limiter);
}

static void a_charge_of_nothing_changes_nothing(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("2/s warmup=4s pay=self");
    set_ns(limiter, 4 * S);
    assert_int_equal(weir_charge(limiter, 0).charged, 0);
    assert_int_equal(weir_take(limiter, 4).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

/* ---- areas ---- */

enum { NEXT, STORED, FROM, BEFORE, WORDS };

static struct rule wave(uint64_t threshold, uint64_t burst)
{
    return (struct rule){.algorithm = ALGORITHM_WARMUP, .threshold = threshold, .burst = burst, .anchor_tick = 1};
}

static const struct algorithm *warmup(void)
{
    return algorithm_named(ALGORITHM_WARMUP);
}

/* 5 of 7 above the threshold: 15 + 13 * 25 / 49 are 21.6. */
static void an_area_is_rounded_down(void **unused)
{
    (void)unused;
    const struct rule rule = wave(10, 17);
    uint64_t state[WORDS] = {100, 15, 100, 15};
    assert_int_equal(warmup()->commit(&rule, state, (struct offer){100, 100}, 15).end, 121);
}

/* It cools in 10 ticks by 7: 3 ticks are 2.1 permits, and 4 permits 5.7 ticks. */
static void cold_is_rounded_up(void **unused)
{
    (void)unused;
    const struct rule rule = wave(5, 7);
    const uint64_t warm[WORDS] = {100, 0, 0, 0}, half[WORDS] = {100, 3, 0, 0}, untouched[WORDS] = {0};
    assert_int_equal(warmup()->balance(&rule, warm, 103).left, 3);
    assert_int_equal(warmup()->idle(&rule, half, 50), 106);
    assert_int_equal(warmup()->idle(&rule, half, 200), 200);
    assert_int_equal(warmup()->idle(&rule, untouched, 5), 5);
}

/* The call that waits was priced when 5 of 7 were stored: 10 of 14. */
static void a_change_keeps_what_the_last_call_was_priced_by(void **unused)
{
    (void)unused;
    const struct rule from = wave(5, 7);
    struct rule to = wave(10, 14);
    to.anchor_tick = 1000;
    const uint64_t state[WORDS] = {130, 2, 110, 5};
    uint64_t next[WORDS] = {0};
    warmup()->carry(&from, &to, state, next, 100, WEIR_KEEP);
    const uint64_t expected[WORDS] = {1030, 4, 1010, 10};
    assert_memory_equal(next, expected, sizeof expected);
}

/* ---- what is said ---- */

static void canonical(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"10/s warmup=10s", "10/s cold=3 algorithm=warmup warmup=10s pay=next start=full"},
        {"1/100year warmup=4611686018427387904ns",
         "1/100year cold=3 algorithm=warmup warmup=4611686018427387904ns pay=next start=full"}, /* 2^62 */
        {"10/s warmup=1min cold=2.5 pay=self start=empty",
         "10/s cold=2.5 algorithm=warmup warmup=1min pay=self start=empty"},
    };
    CHECK_SPELLINGS(rows);
}

static void mistakes(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"10/s algorithm=warmup", 16, "algorithm=warmup needs to know for how long; for example 10/s warmup=10s"},
        {"1/s; 10/s cold=2", 11, "algorithm=warmup needs to know for how long; for example 10/s warmup=10s"},
        {"10/s warmup=1s cold=0.99", 21, "cold is 1 or more: how much slower a cold start is; for example cold=3"},
        {"10/s warmup=1s cold=0", 21, "cold is 1 or more: how much slower a cold start is; for example cold=3"},
        {"10/s warmup=10", 13, "expected a time; for example warmup=10s"},
        {"10/s warmup=1s burst=3", 16,
         "burst does not belong to algorithm=warmup; it goes with gcra, hybrid, bursty, leaky"},
        {"10/s warmup=500year", 13,
         "this warmup is longer than the clock of this rate; choose a shorter one, for example warmup=10s"},
        {"1/100year warmup=4611686018427387905ns", 18,
         "this warmup is longer than the clock of this rate; choose a shorter one, for example warmup=10s"},
        {"1000000000/s warmup=80year", 21,
         "this warmup is longer than the clock of this rate; choose a shorter one, for example warmup=10s"},
    };
    CHECK_MISTAKES(rows);
}

static void numbers(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("10/s warmup=10s");
    const struct facts facts = facts_in(&plan);
    assert_int_equal(facts.at_once, 1);
    assert_int_equal(facts.fresh, 1);
    assert_int_equal(facts.largest, UINT64_MAX);
    assert_int_equal(facts.full_ns, 10 * S);
    static const uint64_t windows[][2] = {{0, 1}, {S, 10}, {S + 1, 11}};
    CHECK_MOST_IN(&plan, windows);
    char text[2048];
    const weir_plan self = plan_of("10/s warmup=10s pay=self");
    weir_plan_explain(&plan, text, sizeof text);
    assert_non_null(strstr(text, "any; the next call waits for it"));
    weir_plan_explain(&self, text, sizeof text);
    assert_non_null(strstr(text, "any; it starts when its own permits have accrued"));
    assert_int_equal(facts_in(&self).fresh, 0);
}

/* So cold that nothing is left above the threshold: what is stored below it still costs its interval. */
static void a_line_that_is_a_wall(void **unused)
{
    (void)unused;
    struct subject subject = fresh("10/s warmup=1s cold=10000000000");
    take(&subject, 0, 1);
    assert_int_equal(owed(&subject, 0), 100 * MS);
}

/* The last digit of a long factor is given up, not the factor. */
static void a_long_cold_factor(void **unused)
{
    (void)unused;
    const weir_plan a = plan_of("1/s warmup=10s cold=18.000000000000000001"), b = plan_of("1/s warmup=10s cold=18");
    assert_int_equal(plan_inside_const(&a)->rule[0].burst, plan_inside_const(&b)->rule[0].burst);
    /* One more than this cold fits by a hair, and keeps its last digit: 4 * threshold / 18.446744073709551615. */
    const weir_plan fits = plan_of("1/100year warmup=107year cold=17.446744073709551615");
    const struct rule *rule = &plan_inside_const(&fits)->rule[0];
    assert_int_equal(rule->threshold, UINT64_C(616813004964663132));
    assert_int_equal(rule->burst - rule->threshold, UINT64_C(133749999999999999));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_warms_up),
        cmocka_unit_test(the_whole_curve_costs_the_warmup),
        cmocka_unit_test(it_cools_down),
        cmocka_unit_test(one_passes_and_then_there_is_something_to_pay),
        cmocka_unit_test(who_pays_himself_is_paid_for_by_rest),
        cmocka_unit_test(any_cost_passes),
        cmocka_unit_test(the_last_call_is_priced_again),
        cmocka_unit_test(one_before_the_last_is_not),
        cmocka_unit_test(the_one_before_is_not_priced_as_the_last),
        cmocka_unit_test(debt_stays_time_and_cold_stays_cold),
        cmocka_unit_test(waiters_move_with_the_rate),
        cmocka_unit_test(a_cold_waiter_keeps_his_start),
        cmocka_unit_test(nobody_waits_behind_a_charge),
        cmocka_unit_test(a_charge_of_nothing_changes_nothing),
        cmocka_unit_test(an_area_is_rounded_down),
        cmocka_unit_test(cold_is_rounded_up),
        cmocka_unit_test(a_change_keeps_what_the_last_call_was_priced_by),
        cmocka_unit_test(canonical),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(numbers),
        cmocka_unit_test(a_line_that_is_a_wall),
        cmocka_unit_test(a_long_cold_factor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
