/* SPDX-License-Identifier: MIT
   warmup_test.c - warmup: what a cold call costs, how it cools, who pays, what a change keeps.

   May touch: its own plans, states and limiters.  Promises: expected answers are areas under the drawing in warmup.c,
   worked out by hand.  Leaves to others: long runs (warmup_law.c), Guava's own answers (vectors). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "plan/plan.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

enum { TEXT_SIZE = 2048 };

static weir_plan plan_of(const char *text)
{
    weir_plan plan;
    weir_error error = {0};
    if (weir_plan_parse(&plan, text, WEIR_ADMIT, &error) != 0) fail_msg("\"%s\": %s", text, error.message);
    return plan;
}

struct subject {
    weir_plan plan;
    uint64_t state[STATE_WORDS_MAX];
};

static struct subject subject_of(const char *text)
{
    return (struct subject){.plan = plan_of(text)};
}

static weir_decision take(struct subject *subject, uint64_t now_ns, uint64_t cost, uint64_t wait_ns)
{
    return weir_decide_within(&subject->plan, subject->state, (weir_instant){now_ns}, cost, wait_ns);
}

/* Until the next one starts. */
static uint64_t owed(const struct subject *subject, uint64_t now_ns)
{
    struct subject copy = *subject;
    return take(&copy, now_ns, 1, WEIR_FOREVER).delay_ns;
}

/* One call after the other, each as soon as it may: the waits. */
static void check_waits(const char *text, const uint64_t waits_ms[], size_t count)
{
    struct subject subject = subject_of(text);
    uint64_t now_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const weir_decision decision = take(&subject, now_ns, 1, WEIR_FOREVER);
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
        struct subject subject = subject_of(rows[i].text);
        assert_int_equal(take(&subject, 0, rows[i].cost, 0).verdict, WEIR_ALLOW);
        assert_int_equal(owed(&subject, 0), rows[i].price_ns);
        /* one by one it is the same */
        struct subject parts = subject_of(rows[i].text);
        for (uint64_t n = 0; n < rows[i].cost; n++) take(&parts, 0, 1, WEIR_FOREVER);
        assert_int_equal(parts.state[0], subject.state[0]);
    }
}

static void it_cools_down(void **unused)
{
    (void)unused;
    struct subject subject = subject_of("2/s warmup=4s");
    take(&subject, 0, 8, 0);
    /* warm at 6 s; from 0 to 8 stored in 4 s of rest: 6 of them after 3 s */
    assert_int_equal(take(&subject, 9 * S, 2, 0).verdict, WEIR_ALLOW);
    assert_int_equal(owed(&subject, 9 * S), 1500 * MS);
    /* time that goes back does not cool */
    assert_int_equal(take(&subject, 0, 1, 0).retry_ns, 10500 * MS);
    assert_int_equal(take(&subject, 0, 1, WEIR_FOREVER).delay_ns, 10500 * MS);
    assert_int_equal(owed(&subject, 11 * S), 0);
    /* and never colder than at first */
    assert_int_equal(take(&subject, 1000 * S, 1, 0).verdict, WEIR_ALLOW);
    assert_int_equal(owed(&subject, 1000 * S), 1375 * MS);
}

static void one_passes_and_then_there_is_something_to_pay(void **unused)
{
    (void)unused;
    struct subject subject = subject_of("2/s warmup=4s");
    assert_int_equal(take(&subject, 0, 0, 0).remaining, 1);
    assert_int_equal(take(&subject, 0, 1, 0).remaining, 0);
    const weir_decision refused = take(&subject, 0, 1, 0);
    assert_int_equal(refused.verdict, WEIR_DENY);
    assert_int_equal(refused.retry_ns, 1375 * MS);
    assert_int_equal(take(&subject, 1375 * MS - 1, 1, 0).retry_ns, 1);
    assert_int_equal(take(&subject, 1375 * MS, 1, 0).verdict, WEIR_ALLOW);
}

static void who_pays_himself_is_paid_for_by_rest(void **unused)
{
    (void)unused;
    struct subject subject = subject_of("2/s warmup=4s pay=self");
    assert_int_equal(take(&subject, 0, 4, 0).retry_ns, 4 * S);
    assert_int_equal(take(&subject, 4 * S - 1, 4, 0).retry_ns, 1);
    assert_int_equal(take(&subject, 4 * S, 4, 0).verdict, WEIR_ALLOW);
    /* warm: 4 are left below the threshold; the rest of 3 s paid 1 s for 2 of them, and cooled for 2 s */
    assert_int_equal(take(&subject, 7 * S, 2, 0).verdict, WEIR_ALLOW);
    assert_int_equal(subject.state[1], (uint64_t)6 << plan_inside(&subject.plan)->rule[0].scale);
    assert_int_equal(take(&subject, 7 * S, UINT64_MAX, 0).verdict, WEIR_NEVER);
}

static void any_cost_passes(void **unused)
{
    (void)unused;
    struct subject subject = subject_of("2/s warmup=4s");
    assert_int_equal(take(&subject, 0, UINT64_MAX, 0).verdict, WEIR_ALLOW);
    const weir_decision refused = take(&subject, S, 1, WEIR_FOREVER);
    assert_int_equal(refused.verdict, WEIR_DENY);
    assert_int_equal(refused.retry_ns, WEIR_FOREVER);
}

/* ---- settling ---- */

static void the_last_call_is_priced_again(void **unused)
{
    (void)unused;
    struct subject subject = subject_of("2/s warmup=4s");
    weir_decision decision = take(&subject, 0, 8, 0);
    weir_decide_settle(&subject.plan, subject.state, (weir_instant){S}, &decision, 1);
    assert_int_equal(owed(&subject, S), 375 * MS);
    assert_int_equal(take(&subject, 1375 * MS, 1, 0).verdict, WEIR_ALLOW);
    assert_int_equal(owed(&subject, 1375 * MS), 1125 * MS);
    /* up, too */
    struct subject more = subject_of("2/s warmup=4s");
    decision = take(&more, 0, 1, 0);
    weir_decide_settle(&more.plan, more.state, (weir_instant){0}, &decision, 4);
    assert_int_equal(owed(&more, 0), 4 * S);
}

static void one_before_the_last_is_not(void **unused)
{
    (void)unused;
    struct subject subject = subject_of("2/s warmup=4s");
    weir_decision first = take(&subject, 0, 4, 0), last = take(&subject, 0, 1, WEIR_FOREVER);
    weir_decide_settle(&subject.plan, subject.state, (weir_instant){0}, &first, 0);
    assert_int_equal(owed(&subject, 0), 4500 * MS);
    weir_decide_settle(&subject.plan, subject.state, (weir_instant){0}, &last, 0);
    assert_int_equal(owed(&subject, 0), 4 * S);
    /* nor has the last become another */
    weir_decision third = take(&subject, 0, 2, WEIR_FOREVER);
    assert_int_equal(third.delay_ns, 4 * S);
    weir_decide_settle(&subject.plan, subject.state, (weir_instant){0}, &third, 0);
    assert_int_equal(owed(&subject, 0), 4 * S);
}

/* With the last one cancelled it is the last, and what it left is not known any more. */
static void the_one_before_is_not_priced_as_the_last(void **unused)
{
    (void)unused;
    struct subject subject = subject_of("2/s warmup=4s");
    weir_decision first = take(&subject, 0, 4, 0), last = take(&subject, 0, 1, WEIR_FOREVER);
    weir_decide_settle(&subject.plan, subject.state, (weir_instant){0}, &last, 0);
    weir_decide_settle(&subject.plan, subject.state, (weir_instant){0}, &first, 1);
    assert_int_equal(owed(&subject, 0), 4 * S);
}

/* ---- a limiter ---- */

static weir_limiter *opened(const char *text)
{
    weir_limiter *limiter = NULL;
    weir_options options = WEIR_OPTIONS;
    weir_error error = {0};
    options.clock = WEIR_CLOCK_MANUAL;
    if (weir_open(&limiter, text, &options, &error) != 0) fail_msg("\"%s\": %s", text, error.message);
    return limiter;
}

static void change(weir_limiter *limiter, const char *text, weir_carry carry)
{
    weir_error error = {0};
    if (weir_set_limit(limiter, text, carry, &error) != 0) fail_msg("\"%s\": %s", text, error.message);
}

static void debt_stays_time_and_cold_stays_cold(void **unused)
{
    (void)unused;
    weir_limiter *limiter = opened("2/s warmup=4s");
    weir_manual_set(limiter, (weir_instant){S});
    weir_take(limiter, 1);
    change(limiter, "4/s warmup=4s", WEIR_KEEP);
    change(limiter, "3/s warmup=4s", WEIR_KEEP);
    change(limiter, "4/s warmup=4s", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 1375 * MS);
    /* 7 of 8 stored are 14 of 16: 6 above the threshold of 8, so one costs 1 + 2 * 11 / 16 intervals of 250 ms */
    weir_manual_set(limiter, (weir_instant){2375 * MS});
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
    weir_limiter *limiter = opened("10/s warmup=1s cold=1 start=empty");
    weir_take(limiter, 50);
    weir_decision first = weir_reserve(limiter, 10, WEIR_FOREVER), second = weir_reserve(limiter, 1, WEIR_FOREVER);
    change(limiter, "1/s warmup=1s cold=1", WEIR_KEEP);
    assert_true(weir_restart(limiter, &first));
    assert_true(weir_restart(limiter, &second));
    assert_int_equal(first.start.ns, 50 * S);
    assert_int_equal(second.start.ns, 60 * S);
    weir_close(limiter);
}

static void a_cold_waiter_keeps_his_start(void **unused)
{
    (void)unused;
    weir_limiter *limiter = opened("2/s warmup=4s");
    weir_take(limiter, 1);
    weir_decision waits = weir_reserve(limiter, 1, WEIR_FOREVER);
    assert_int_equal(waits.start.ns, 1375 * MS);
    change(limiter, "2/s warmup=4s", WEIR_KEEP);
    assert_true(weir_restart(limiter, &waits));
    assert_int_equal(waits.start.ns, 1375 * MS);
    weir_close(limiter);
}

static void nobody_waits_behind_a_charge(void **unused)
{
    (void)unused;
    weir_limiter *limiter = opened("10/s warmup=1s cold=1 start=empty");
    assert_int_equal(weir_charge(limiter, 50).charged, 50);
    assert_int_equal(weir_charge(limiter, 10).charged, 10);
    change(limiter, "1/s warmup=1s cold=1", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 6 * S);
    weir_close(limiter);
}

static void a_charge_of_nothing_changes_nothing(void **unused)
{
    (void)unused;
    weir_limiter *limiter = opened("2/s warmup=4s pay=self");
    weir_manual_set(limiter, (weir_instant){4 * S});
    assert_int_equal(weir_charge(limiter, 0).charged, 0);
    assert_int_equal(weir_take(limiter, 4).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

/* ---- what is said ---- */

static void canonical(void **unused)
{
    (void)unused;
    static const char *const rows[][2] = {
        {"10/s warmup=10s", "10/s cold=3 algorithm=warmup warmup=10s pay=next start=full"},
        {"10/s warmup=1min cold=2.5 pay=self start=empty",
         "10/s cold=2.5 algorithm=warmup warmup=1min pay=self start=empty"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[TEXT_SIZE], again[TEXT_SIZE];
        const weir_plan plan = plan_of(rows[i][0]);
        weir_plan_text(&plan, text, sizeof text);
        assert_string_equal(text, rows[i][1]);
        const weir_plan back = plan_of(text);
        weir_plan_text(&back, again, sizeof again);
        assert_string_equal(again, text);
    }
}

static void mistakes(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int column;
        const char *message;
    } rows[] = {
        {"10/s algorithm=warmup", 16, "algorithm=warmup needs to know for how long; for example 10/s warmup=10s"},
        {"1/s; 10/s cold=2", 11, "algorithm=warmup needs to know for how long; for example 10/s warmup=10s"},
        {"10/s warmup=1s cold=0.99", 21, "cold is 1 or more: how much slower a cold start is; for example cold=3"},
        {"10/s warmup=1s cold=0", 21, "cold is 1 or more: how much slower a cold start is; for example cold=3"},
        {"10/s warmup=10", 13, "expected a time; for example warmup=10s"},
        {"10/s warmup=1s burst=3", 16,
         "burst does not belong to algorithm=warmup; it goes with gcra, hybrid, bursty, leaky"},
        {"10/s warmup=500year", 13,
         "this warmup is longer than the clock of this rate; choose a shorter one, for example warmup=10s"},
        {"1000000000/s warmup=80year", 21,
         "this warmup is longer than the clock of this rate; choose a shorter one, for example warmup=10s"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        weir_plan plan;
        weir_error error = {0};
        if (weir_plan_parse(&plan, rows[i].text, WEIR_ADMIT, &error) != WEIR_EINVAL) fail_msg("%s", rows[i].text);
        assert_int_equal(error.column, rows[i].column);
        assert_string_equal(error.message, rows[i].message);
    }
}

static void numbers(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("10/s warmup=10s");
    const struct plan *inside = plan_inside_const(&plan);
    const struct facts facts = facts_of(&inside->limit[0], &inside->rule[0]);
    assert_int_equal(facts.at_once, 1);
    assert_int_equal(facts.fresh, 1);
    assert_int_equal(facts.largest, UINT64_MAX);
    assert_int_equal(facts.full_ns, 10 * S);
    assert_int_equal(facts_most_in(&inside->limit[0], 0), 1);
    assert_int_equal(facts_most_in(&inside->limit[0], S), 10);
    assert_int_equal(facts_most_in(&inside->limit[0], S + 1), 11);
    char text[TEXT_SIZE];
    const weir_plan self = plan_of("10/s warmup=10s pay=self");
    weir_plan_explain(&plan, text, sizeof text);
    assert_non_null(strstr(text, "any; the next call waits for it"));
    weir_plan_explain(&self, text, sizeof text);
    assert_non_null(strstr(text, "any; it waits until it is paid for"));
    assert_int_equal(facts_of(&plan_inside_const(&self)->limit[0], &plan_inside_const(&self)->rule[0]).fresh, 0);
}

/* So cold that nothing is left above the threshold: what is stored below it still costs its interval. */
static void a_line_that_is_a_wall(void **unused)
{
    (void)unused;
    struct subject subject = subject_of("10/s warmup=1s cold=10000000000");
    take(&subject, 0, 1, 0);
    assert_int_equal(owed(&subject, 0), 100 * MS);
}

/* The last digit of a long factor is given up, not the factor. */
static void a_long_cold_factor(void **unused)
{
    (void)unused;
    const weir_plan a = plan_of("1/s warmup=10s cold=18.000000000000000001"), b = plan_of("1/s warmup=10s cold=18");
    assert_int_equal(plan_inside_const(&a)->rule[0].burst, plan_inside_const(&b)->rule[0].burst);
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
        cmocka_unit_test(canonical),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(numbers),
        cmocka_unit_test(a_line_that_is_a_wall),
        cmocka_unit_test(a_long_cold_factor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
