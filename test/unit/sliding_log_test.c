/* SPDX-License-Identifier: MIT
   The telling cases of a sliding log by hand, to the ns: edges, gap, refused calls that count,
   those who wait, changes; its text and its numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/algorithm/sliding_log.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "unit/plans.h"
#include "unit/standing.h"

struct by_hand {
    weir_plan plan;
    void *state;
};

static struct by_hand log_of(const char *text)
{
    struct by_hand log = {.plan = plan_of(text)};
    log.state = calloc(1, weir_state_size(&log.plan));
    assert_non_null(log.state);
    return log;
}

static void allows(struct by_hand *log, uint64_t now_ns, uint64_t cost, uint64_t remaining)
{
    const weir_decision decision = weir_decide(&log->plan, log->state, at(now_ns), cost);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(decision.start.ns, now_ns);
    assert_int_equal(decision.remaining, remaining);
}

static void denies(struct by_hand *log, uint64_t now_ns, uint64_t cost, uint64_t retry_ns)
{
    assert_retry(weir_decide(&log->plan, log->state, at(now_ns), cost), retry_ns);
}

/* ---- the rule ---- */

static void test_the_count_in_any_period(void **state)
{
    (void)state;
    struct by_hand log = log_of("3/s algorithm=sliding-log");
    allows(&log, 0, 1, 2);
    allows(&log, 400 * MS, 1, 1);
    allows(&log, 900 * MS, 1, 0);
    denies(&log, 900 * MS, 1, 100 * MS);
    denies(&log, S - 1, 1, 1);
    allows(&log, S, 1, 0);
    denies(&log, S, 1, 400 * MS);
    denies(&log, S, 2, 900 * MS);
    denies(&log, S, 3, S);
    allows(&log, 1900 * MS, 2, 0);
    denies(&log, 1900 * MS, 1, 100 * MS);
    allows(&log, 100 * S, 3, 0);
    allows(&log, 100 * S, 0, 0);
    free(log.state);
}

/* Exactly one period old: out by the open edge, counted by the closed one. */
static void test_the_two_edges(void **state)
{
    (void)state;
    struct by_hand open = log_of("2/s algorithm=sliding-log edge=open"), closed = log_of("2/s edge=closed");
    allows(&open, 5, 2, 0);
    denies(&open, S + 4, 1, 1);
    allows(&open, S + 5, 2, 0);
    allows(&closed, 5, 2, 0);
    denies(&closed, S + 4, 1, 2);
    denies(&closed, S + 5, 1, 1);
    allows(&closed, S + 6, 2, 0);
    free(open.state);
    free(closed.state);
}

static void test_never(void **state)
{
    (void)state;
    struct by_hand log = log_of("3/s algorithm=sliding-log");
    const weir_decision decision = weir_decide(&log.plan, log.state, at(7), 4);
    assert_int_equal(decision.verdict, WEIR_NEVER);
    assert_int_equal(decision.remaining, 3);
    allows(&log, 7, 3, 0);
    free(log.state);
}

/* The gap is between calls, not between their permits; refused calls do not begin it anew. */
static void test_gap(void **state)
{
    (void)state;
    struct by_hand log = log_of("10/s gap=50ms");
    allows(&log, S, 4, 0);
    denies(&log, S, 1, 50 * MS);
    denies(&log, S + 30 * MS, 1, 20 * MS);
    allows(&log, S + 30 * MS, 0, 0);
    allows(&log, S + 50 * MS, 5, 0);
    denies(&log, S + 50 * MS, 2, 950 * MS);
    denies(&log, S + 99 * MS, 1, MS);
    allows(&log, S + 100 * MS, 1, 0);
    free(log.state);
}

static void test_refused_calls_count(void **state)
{
    (void)state;
    struct by_hand log = log_of("2/s count-refused");
    allows(&log, 0, 1, 1);
    allows(&log, 100 * MS, 1, 0);
    /* Entered itself, the call passes when the one before it has left. */
    denies(&log, 200 * MS, 1, 900 * MS);
    denies(&log, 1100 * MS - 1, 1, 100 * MS + 1);
    denies(&log, 1100 * MS, 1, S - 1);
    allows(&log, 2100 * MS - 1, 1, 0);
    denies(&log, 2200 * MS, 2, S);
    allows(&log, 3200 * MS, 2, 0);
    /* More than ever passes is entered as far as it counts. */
    assert_int_equal(weir_decide(&log.plan, log.state, at(5 * S), UINT64_MAX).verdict, WEIR_NEVER);
    denies(&log, 5 * S, 1, S);
    free(log.state);
}

static void test_refused_calls_count_for_the_gap(void **state)
{
    (void)state;
    struct by_hand log = log_of("100/s gap=5ms count-refused");
    allows(&log, 0, 1, 0);
    for (uint64_t ms = 3; ms <= 12; ms += 3) denies(&log, ms * MS, 1, 5 * MS);
    allows(&log, 17 * MS, 1, 0);
    free(log.state);
}

/* A clock that goes back earns nothing: what was entered later keeps counting. */
static void test_clock_goes_back(void **state)
{
    (void)state;
    struct by_hand log = log_of("2/min algorithm=sliding-log");
    allows(&log, 100 * S, 1, 1);
    allows(&log, 70 * S, 1, 0);
    denies(&log, 70 * S, 1, 90 * S);
    denies(&log, 159 * S, 1, S);
    allows(&log, 160 * S, 2, 0);
    free(log.state);
}

static void test_far_ahead_and_at_the_end_of_time(void **state)
{
    (void)state;
    struct by_hand log = log_of("3/s algorithm=sliding-log"), slow = log_of("1/year algorithm=sliding-log");
    allows(&log, 0, 3, 0);
    allows(&log, UINT64_C(290) * 31536000 * S, 3, 0);
    denies(&log, UINT64_C(290) * 31536000 * S, 1, S);
    allows(&log, UINT64_C(500) * 31536000 * S, 3, 0);
    allows(&slow, UINT64_MAX - 5, 1, 0);
    const weir_decision decision = weir_decide(&slow.plan, slow.state, at(UINT64_MAX - 4), 1);
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_int_equal(decision.retry_ns, WEIR_FOREVER);
    free(log.state);
    free(slow.state);
}

/* 4 bytes wrap each 4.3 s: an entry that they cannot tell apart from a new one must not come back. */
static void test_brief_stamps(void **state)
{
    (void)state;
    struct by_hand log = log_of("3/2s algorithm=sliding-log");
    const uint64_t lap = UINT64_C(1) << 32;
    assert_int_equal(weir_state_size(&log.plan), (STAMPS_HEADER + 2) * sizeof(uint64_t));
    for (uint64_t i = 1; i < 20; i++) {
        allows(&log, i * lap, 1, 2);
        allows(&log, i * lap + S, 1, 1);
    }
    for (uint64_t i = 20; i < 40; i++) allows(&log, i * lap, 3, 0);
    denies(&log, 39 * lap + 2 * S - 1, 1, 1);
    free(log.state);
}

/* 6 bytes wrap each 78 h; of four each lies elsewhere in their words. */
static void test_stamps_of_6_bytes(void **state)
{
    (void)state;
    struct by_hand log = log_of("5/3s algorithm=sliding-log");
    const uint64_t lap = UINT64_C(1) << 48;
    assert_int_equal(weir_state_size(&log.plan), (STAMPS_HEADER + 5) * sizeof(uint64_t));
    for (uint64_t i = 1; i < 20; i++) {
        allows(&log, i * lap, 1, 4);
        allows(&log, i * lap + S, 2, 2);
    }
    for (uint64_t i = 20; i < 40; i++) {
        for (uint64_t k = 0; k < 5; k++) allows(&log, i * lap + k * k * 1000001, 1, 4 - k);
        for (uint64_t k = 0; k < 5; k++) denies(&log, i * lap + 3 * S - 1, k + 1, k * k * 1000001 + 1);
    }
    free(log.state);
    log = log_of("8/39h algorithm=sliding-log");
    assert_int_equal(weir_state_size(&log.plan), (STAMPS_HEADER + 6) * sizeof(uint64_t));
    free(log.state);
    log = log_of("8/40h algorithm=sliding-log");
    assert_int_equal(weir_state_size(&log.plan), (STAMPS_HEADER + 8) * sizeof(uint64_t));
    free(log.state);
}

/* ---- a limiter ---- */

/* A list has its state in a cell; alone a log has a home of its own (log_test.c). */
static const char *in_a_list(const char *limits)
{
    static char text[256];
    snprintf(text, sizeof text, "%s; unlimited", limits);
    return text;
}

static weir_limiter *open_list(const char *limits, uint64_t now_ns)
{
    weir_limiter *limiter = open_manual(in_a_list(limits));
    set_ns(limiter, now_ns);
    return limiter;
}

static void change_list(weir_limiter *limiter, const char *limits, weir_carry carry)
{
    change(limiter, in_a_list(limits), carry);
}

static uint64_t retry_of(weir_limiter *limiter, uint64_t cost)
{
    return weir_peek(limiter, cost).retry_ns;
}

static void test_reserve(void **state)
{
    (void)state;
    static const uint64_t starts_s[] = {10, 10, 11, 11, 12, 12, 13};
    weir_limiter *limiter = open_list("2/s algorithm=sliding-log", 10 * S);
    for (size_t i = 0; i < LENGTH(starts_s); i++) {
        const weir_decision decision = weir_reserve(limiter, 1, WEIR_FOREVER);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        assert_int_equal(decision.start.ns, starts_s[i] * S);
    }
    assert_int_equal(weir_reserve(limiter, 1, S).verdict, WEIR_DENY);
    assert_int_equal(retry_of(limiter, 1), 3 * S);
    assert_int_equal(retry_of(limiter, 2), 4 * S);
    set_ns(limiter, 12 * S);
    weir_decision decision = weir_reserve(limiter, 1, WEIR_FOREVER);
    assert_int_equal(decision.start.ns, 13 * S);
    weir_cancel(limiter, &decision);
    assert_int_equal(retry_of(limiter, 1), S);
    weir_close(limiter);
}

static void test_refused_calls_that_count_do_not_wait(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("1/s count-refused", 0);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    assert_int_equal(weir_peek(limiter, 1).retry_ns, S);
    assert_int_equal(weir_reserve(limiter, 1, WEIR_FOREVER).verdict, WEIR_DENY);
    set_ns(limiter, 300 * MS);
    assert_int_equal(weir_take(limiter, 1).retry_ns, S);
    set_ns(limiter, 1300 * MS);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

static void test_settle(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("10/s algorithm=sliding-log", S);
    weir_decision first = weir_take(limiter, 6), second = weir_take(limiter, 2), third;
    weir_settle(limiter, &first, 1);
    assert_int_equal(weir_peek(limiter, 0).remaining, 7);
    set_ns(limiter, 1500 * MS);
    third = weir_take(limiter, 7);
    weir_cancel(limiter, &second);
    assert_int_equal(weir_peek(limiter, 0).remaining, 2);
    /* Of the 3 more one is too many, and takes the next place that becomes free. */
    weir_settle(limiter, &third, 10);
    assert_int_equal(retry_of(limiter, 1), S);
    set_ns(limiter, 2 * S);
    assert_int_equal(weir_peek(limiter, 0).remaining, 0);
    set_ns(limiter, 2500 * MS);
    assert_int_equal(weir_peek(limiter, 0).remaining, 9);
    weir_close(limiter);
}

/* What refused calls have pushed out of the log is still within the period. */
static void test_cancel_where_refused_calls_count(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("2/s count-refused", S);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    weir_decision second = weir_take(limiter, 1);
    set_ns(limiter, 1100 * MS);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_DENY);
    weir_cancel(limiter, &second);
    assert_int_equal(weir_peek(limiter, 0).remaining, 0);
    set_ns(limiter, 2 * S);
    assert_int_equal(weir_peek(limiter, 0).remaining, 1);
    weir_close(limiter);
}

/* What was charged is owed permit by permit, however large the call before was. */
static void test_change_while_in_debt(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("100/s algorithm=sliding-log", S);
    assert_int_equal(weir_take(limiter, 100).verdict, WEIR_ALLOW);
    assert_int_equal(weir_charge(limiter, 5).charged, 5);
    change_list(limiter, "100/s algorithm=sliding-log", WEIR_KEEP);
    assert_int_equal(retry_of(limiter, 95), S);
    assert_int_equal(retry_of(limiter, 96), 2 * S);
    weir_close(limiter);
}

/* What a charge takes beyond the count comes due a count each period. */
static void test_charge(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("3/s algorithm=sliding-log", S);
    assert_int_equal(weir_charge(limiter, 7).charged, 7);
    assert_int_equal(retry_of(limiter, 1), 2 * S);
    assert_int_equal(retry_of(limiter, 2), 2 * S);
    assert_int_equal(retry_of(limiter, 3), 3 * S);
    assert_int_equal(weir_charge(limiter, UINT64_C(3000000)).charged, 3000000);
    assert_int_equal(retry_of(limiter, 1), (2 + UINT64_C(1000000)) * S);
    assert_int_equal(weir_charge(limiter, UINT64_MAX).charged, UINT64_MAX);
    assert_int_equal(retry_of(limiter, 1), WEIR_FOREVER);
    weir_close(limiter);
}

/* Charged at 1.5 s, when two are in the log since 1 s: one at 1.5, two at 2, and so again each second. */
static void test_charge_behind_others(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("3/s algorithm=sliding-log", S);
    assert_int_equal(weir_take(limiter, 2).verdict, WEIR_ALLOW);
    set_ns(limiter, 1500 * MS);
    assert_int_equal(weir_charge(limiter, 9).charged, 9);
    assert_int_equal(retry_of(limiter, 1), 3 * S);
    assert_int_equal(retry_of(limiter, 2), 3500 * MS);
    weir_close(limiter);
    limiter = open_list("1/s algorithm=sliding-log", 5 * S);
    assert_int_equal(weir_charge(limiter, 7).charged, 7);
    assert_int_equal(retry_of(limiter, 1), 7 * S);
    weir_close(limiter);
}

/* The three that are kept are at 3 s, and of those that were before them it is known that they were no later. */
static void test_charged_ones_are_not_forgotten(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("3/s algorithm=sliding-log", S);
    assert_int_equal(weir_charge(limiter, 9).charged, 9);
    change_list(limiter, "6/s algorithm=sliding-log", WEIR_KEEP);
    assert_int_equal(retry_of(limiter, 1), 3 * S);
    weir_close(limiter);
}

/* What was cancelled at 11 s leaves nothing in the ring but what it has lost, at 10 s. */
static void test_a_cancelled_one_is_not_carried(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("1/s algorithm=sliding-log", 10 * S);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    weir_decision ahead = weir_reserve(limiter, 1, WEIR_FOREVER);
    assert_int_equal(ahead.delay_ns, S);
    weir_cancel(limiter, &ahead);
    change_list(limiter, "1/s algorithm=sliding-log", WEIR_KEEP);
    set_ns(limiter, 10500 * MS);
    assert_int_equal(retry_of(limiter, 1), 500 * MS);
    weir_close(limiter);
}

/* Counted in permits since the last change, without those that came back. */
static void test_ends(void **state)
{
    (void)state;
    struct by_hand log = log_of("3/s algorithm=sliding-log");
    const struct rule *rule = &plan_inside_const(&log.plan)->rule[0];
    const struct algorithm *algorithm = algorithm_of(rule);
    const uint64_t now = tick_at(rule, S);
    weir_decision first = weir_decide(&log.plan, log.state, at(S), 3);
    assert_int_equal(first.end, 3);
    weir_decide_settle(&log.plan, log.state, at(S), &first, 1);
    assert_int_equal(weir_decide(&log.plan, log.state, at(S), 1).end, 2);
    assert_int_equal(algorithm->commit(rule, log.state, (struct offer){now, now}, 10).end, 12);
    uint64_t *next = calloc(1, weir_state_size(&log.plan));
    assert_non_null(next);
    algorithm->carry(rule, rule, log.state, next, now, WEIR_KEEP);
    assert_int_equal(algorithm_at(rule, algorithm, next, now).end, 0);
    free(next);
    free(log.state);
}

/* Of eight that wait as many stay as the shorter ring holds, and the last that it loses. */
static void test_of_those_who_wait(void **state)
{
    (void)state;
    struct by_hand log = log_of("8/s algorithm=sliding-log"), shorter = log_of("3/s algorithm=sliding-log"),
                   again = log_of("8/s algorithm=sliding-log");
    const struct rule *rule = &plan_inside_const(&log.plan)->rule[0];
    const struct rule *other = &plan_inside_const(&shorter.plan)->rule[0];
    const struct algorithm *algorithm = algorithm_of(rule);
    const uint64_t now = tick_at(rule, S), later = tick_at(rule, 2 * S);
    algorithm->commit(rule, log.state, (struct offer){now, now}, 16);
    assert_int_equal(algorithm_at(rule, algorithm, log.state, later).room, 0);
    algorithm->carry(rule, other, log.state, shorter.state, now, WEIR_RESET);
    algorithm->carry(other, rule, shorter.state, again.state, now, WEIR_KEEP);
    assert_int_equal(algorithm_at(rule, algorithm, again.state, later).room, 8 - (3 + 1));
    free(again.state);
    free(shorter.state);
    free(log.state);
}

/* Three at 1, 1 and 2 s of two a second, in a ring with room for them: a call for nothing waits for the first of them,
   as that is one too many. */
static void test_nothing_waits_behind_what_is_owed(void **state)
{
    (void)state;
    const weir_plan plan = plan_of("2/s algorithm=sliding-log");
    struct rule rule = plan_inside_const(&plan)->rule[0];
    uint64_t words[STAMPS_HEADER + 3] = {0};
    const uint64_t now = tick_at(&rule, S);
    rule.fourth = 3;
    algorithm_of(&rule)->commit(&rule, words, (struct offer){now, now}, 3);
    assert_int_equal(algorithm_of(&rule)->offer(&rule, words, now, 0, 0).start, tick_at(&rule, 2 * S));
}

/* A rule that is made up. */
static void test_a_count_of_none(void **state)
{
    (void)state;
    const weir_plan plan = plan_of("1/s algorithm=sliding-log");
    struct rule rule = plan_inside_const(&plan)->rule[0];
    uint64_t words[STAMPS_HEADER + 1] = {0};
    rule.burst = 0;
    const struct offer now = {tick_at(&rule, S), tick_at(&rule, S)};
    assert_int_equal(algorithm_of(&rule)->commit(&rule, words, now, 5).end, 5);
}

/* The new rule holds for what was granted before it, too. */
static void test_change_of_count_and_period(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("5/s algorithm=sliding-log", S);
    assert_int_equal(weir_take(limiter, 5).verdict, WEIR_ALLOW);
    change_list(limiter, "8/s algorithm=sliding-log", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 3).verdict, WEIR_ALLOW);
    assert_int_equal(retry_of(limiter, 1), S);
    change_list(limiter, "2/s algorithm=sliding-log", WEIR_SCALE);
    set_ns(limiter, 1500 * MS);
    assert_int_equal(retry_of(limiter, 1), 500 * MS);
    change_list(limiter, "2/min algorithm=sliding-log", WEIR_KEEP);
    assert_int_equal(retry_of(limiter, 1), 59500 * MS);
    change_list(limiter, "2/100ms algorithm=sliding-log", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 2).verdict, WEIR_ALLOW);
    change_list(limiter, "1/h algorithm=sliding-log", WEIR_RESET);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

/* Grown after it was full for long: what the ring has lost is known to be a period older, so the more pass at once. */
static void test_growth_under_load(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("4/s algorithm=sliding-log", 0);
    for (uint64_t t = 1; t < 20; t++) {
        set_ns(limiter, t * 250 * MS);
        assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    }
    change_list(limiter, "6/s algorithm=sliding-log", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 2).verdict, WEIR_ALLOW);
    assert_int_equal(retry_of(limiter, 1), 250 * MS);
    /* Longer than what is known: the lost ones may all have come with the last of them. */
    change_list(limiter, "12/2s algorithm=sliding-log", WEIR_KEEP);
    assert_int_equal(weir_peek(limiter, 0).remaining, 0);
    assert_int_equal(retry_of(limiter, 1), S);
    weir_close(limiter);
}

static void test_waiters_are_moved(void **state)
{
    (void)state;
    struct waiter waiting[7];
    weir_limiter *limiter = open_list("2/s algorithm=sliding-log", 10 * S);
    assert_int_equal(weir_take(limiter, 2).verdict, WEIR_ALLOW);
    for (size_t i = 0; i < 7; i++) stand(limiter, &waiting[i], 1);
    assert_int_equal(waiting[6].decision.start.ns, 14 * S);
    set_ns(limiter, 10500 * MS);
    change_list(limiter, "1/s algorithm=sliding-log", WEIR_KEEP);
    for (size_t i = 0; i < 7; i++) assert_int_equal(waiting[i].decision.start.ns, (11 + i) * S);
    set_ns(limiter, 11 * S);
    change_list(limiter, "4/s algorithm=sliding-log", WEIR_KEEP);
    for (size_t i = 1; i < 7; i++) {
        assert_int_equal(waiting[i].decision.start.ns, (i < 4 ? 11 : 12) * S);
    }
    assert_int_equal(retry_of(limiter, 3), 2 * S);
    assert_int_equal(retry_of(limiter, 4), 2 * S);
    weir_close(limiter);
}

/* Moved to where the same rule puts them again, changed as often as one likes. */
static void test_calls_of_several_permits_are_moved(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("4/s algorithm=sliding-log", 0);
    assert_int_equal(weir_take(limiter, 4).verdict, WEIR_ALLOW);
    struct waiter three;
    assert_int_equal(stand(limiter, &three, 3).start.ns, S);
    for (int i = 0; i < 4; i++) {
        change_list(limiter, "4/s algorithm=sliding-log", WEIR_KEEP);
        assert_int_equal(three.decision.start.ns, S);
    }
    assert_int_equal(weir_reserve(limiter, 2, WEIR_FOREVER).start.ns, 2 * S);
    weir_close(limiter);
}

/* However often the limit is changed, a line that is longer than the ring does not grow. */
static void test_a_long_line_is_moved(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("4/s algorithm=sliding-log", 0);
    struct waiter waiter[21];
    for (uint64_t i = 0; i < 21; i++) assert_int_equal(stand(limiter, &waiter[i], 3).start.ns, i * S);
    for (int change = 0; change < 5; change++) {
        change_list(limiter, "4/s algorithm=sliding-log", WEIR_KEEP);
        for (uint64_t i = 1; i < 21; i++) assert_int_equal(waiter[i].decision.start.ns, i * S);
    }
    weir_close(limiter);
}

/* Of a line from which somebody has gone only those who are left wait. */
static void test_moved_after_a_cancel(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("2/s algorithm=sliding-log", 0);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    set_ns(limiter, 200 * MS);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    struct waiter first;
    stand(limiter, &first, 1);
    weir_decision second = weir_reserve(limiter, 1, WEIR_FOREVER);
    weir_cancel(limiter, &second);
    change_list(limiter, "2/s algorithm=sliding-log", WEIR_KEEP);
    /* Of the two that they had pushed out only the later one is known. */
    assert_int_equal(first.decision.start.ns, 1200 * MS);
    weir_close(limiter);
}

/* Given back from the middle of the log while others wait behind it, they would lose their places. */
static void test_cancel_while_others_wait(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("4/s gap=100ms", 0);
    weir_decision a = weir_take(limiter, 1);
    set_ns(limiter, 100 * MS);
    weir_decision b = weir_take(limiter, 1);
    weir_cancel(limiter, &a);
    struct waiter c, d;
    stand(limiter, &c, 1);
    weir_cancel(limiter, &b);
    stand(limiter, &d, 1);
    assert_int_equal(c.decision.start.ns, 200 * MS);
    assert_int_equal(d.decision.start.ns, 300 * MS);
    change_list(limiter, "1/h algorithm=sliding-log", WEIR_KEEP);
    assert_int_equal(d.decision.start.ns, c.decision.start.ns + 3600 * S);
    weir_close(limiter);
}

static void test_who_waits_is_moved(void **state)
{
    (void)state;
    weir_limiter *limiter = open_list("1/h algorithm=sliding-log", S);
    struct queued queued = {.limiter = limiter, .wait_max_ns = WEIR_FOREVER};
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    queued_start(&queued);
    while (retry_of(limiter, 1) != 7200 * S) continue;
    change_list(limiter, "2/s algorithm=sliding-log", WEIR_KEEP);
    const weir_decision decision = queued_end(&queued);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(decision.start.ns, S);
    assert_int_equal(retry_of(limiter, 1), S);
    weir_close(limiter);
}

/* ---- text and numbers ---- */

static void test_text(void **state)
{
    (void)state;
    static const struct spelling rows[] = {
        {"10/min algorithm=sliding-log", "10/min algorithm=sliding-log edge=open"},
        {"10/min edge=closed", "10/min algorithm=sliding-log edge=closed"},
        {"5 tokens/2s count-refused", "5 tokens/2s algorithm=sliding-log edge=open count-refused"},
        {"10/s gap=50ms edge=closed count-refused", "10/s algorithm=sliding-log gap=50ms edge=closed count-refused"},
    };
    CHECK_SPELLINGS(rows);
}

static void test_mistakes(void **state)
{
    (void)state;
    static const struct mistake rows[] = {
        {"300M/s algorithm=sliding-log", 1,
         "a log keeps a time for each permit, for at most 268435456 of them; shorten the period, for example 1000/s "
         "for "
         "60000/min, or write algorithm=sliding-window"},
        {"1.5/s algorithm=sliding-log", 1, "a window holds whole permits; write 1/2s for half a permit a second"},
        {"10/s algorithm=sliding-log burst=3", 28,
         "burst does not belong to algorithm=sliding-log; it goes with gcra, hybrid, bursty, leaky"},
        {"10/s gap=3", 10, "expected a time; for example gap=100ms"},
        {"10/s edge=shut", 11, "expected edge=open or edge=closed"},
    };
    CHECK_MISTAKES(rows);
    struct by_hand log = log_of("268435456/s algorithm=sliding-log");
    assert_int_equal(weir_state_size(&log.plan), STAMPS_HEADER * sizeof(uint64_t) + (UINT64_C(1) << 30));
    free(log.state);
}

static const char *const texts[] = {
    "10/s algorithm=sliding-log",
    "1/3s edge=closed",
    "7/2s gap=100ms",
    "7/2s gap=300ms edge=closed",
    "3/s gap=333ms",
    "3/s gap=334ms",
    "4/s gap=5s",
    "5/1us edge=closed",
    "2/2ns algorithm=sliding-log",
    "5/ns algorithm=sliding-log",
    "5/3ns gap=1ns",
};

/* Against a caller who takes what he can get. */
static void test_most_in(void **state)
{
    (void)state;
    enum { GRANTS = 400 };
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct by_hand log = log_of(texts[i]);
        const struct plan *inside = plan_inside_const(&log.plan);
        uint64_t grant[GRANTS], now_ns = S;
        for (int j = 0; j < GRANTS;) {
            const weir_decision decision = weir_decide(&log.plan, log.state, at(now_ns), 1);
            if (weir_allowed(decision)) grant[j++] = now_ns;
            else now_ns += decision.retry_ns;
        }
        for (uint64_t part = 0; part < 60; part++) {
            const uint64_t window_ns = 1 + inside->limit[0].period_ns * part / 7 + part % 3;
            uint64_t taken = 0;
            while (grant[taken] - grant[0] < window_ns) taken++;
            const uint64_t said = most_in(&log.plan, window_ns);
            if (said != taken)
                fail_msg("%s in %ju ns: %ju, not %ju", texts[i], (uintmax_t)window_ns, (uintmax_t)taken,
                         (uintmax_t)said);
        }
        assert_int_equal(most_in(&log.plan, 0), facts_in(&log.plan).at_once);
        free(log.state);
    }
}

static void test_facts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t at_once, group, spacing_ns, full_ns, bytes;
    } rows[] = {
        {"10/min algorithm=sliding-log", 10, 10, 60000000000, 60000000000, (STAMPS_HEADER + 8) * 8},
        {"3/min algorithm=sliding-log", 3, 3, 60000000000, 60000000000, (STAMPS_HEADER + 3) * 8},
        {"5/min algorithm=sliding-log", 5, 5, 60000000000, 60000000000, (STAMPS_HEADER + 5) * 8},
        {"10/40h algorithm=sliding-log", 10, 10, 144000000000000, 144000000000000, (STAMPS_HEADER + 10) * 8},
        {"10/s edge=closed", 10, 10, 1000000001, 1000000001, (STAMPS_HEADER + 5) * 8},
        {"7/s gap=100ms", 1, 7, 1000000000, 1000000000, (STAMPS_HEADER + 4) * 8},
        {"7/s gap=2s", 1, 1, 2000000000, 2000000000, (STAMPS_HEADER + 6) * 8},
        {"10/s gap=100ms", 1, 1, 100000000, 1000000000, (STAMPS_HEADER + 5) * 8}, /* the gap alone holds the count */
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_of(rows[i].text);
        check_facts(&plan, (struct facts){.at_once = rows[i].at_once,
                                          .fresh = rows[i].at_once,
                                          .largest = plan_inside_const(&plan)->limit[0].count.digits,
                                          .group = rows[i].group,
                                          .spacing_ns = rows[i].spacing_ns,
                                          .full_ns = rows[i].full_ns,
                                          .state_bytes = rows[i].bytes});
    }
}

static void test_full(void **state)
{
    (void)state;
    struct by_hand log = log_of("2/s algorithm=sliding-log");
    weir_decision decision = weir_decide(&log.plan, log.state, at(S), 0);
    assert_int_equal(weir_decide_full_ns(&log.plan, &decision), 0);
    decision = weir_decide(&log.plan, log.state, at(S), 1);
    assert_int_equal(weir_decide_full_ns(&log.plan, &decision), S);
    decision = weir_decide_within(&log.plan, log.state, at(S), 2, WEIR_FOREVER);
    assert_int_equal(decision.delay_ns, S);
    assert_int_equal(weir_decide_full_ns(&log.plan, &decision), 2 * S);
    const struct rule *rule = &plan_inside_const(&log.plan)->rule[0];
    assert_int_equal(algorithm_full(rule, algorithm_of(rule), &(weir_decision){.remaining = 2}, 7), 7);
    free(log.state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_count_in_any_period),
        cmocka_unit_test(test_the_two_edges),
        cmocka_unit_test(test_never),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_refused_calls_count),
        cmocka_unit_test(test_refused_calls_count_for_the_gap),
        cmocka_unit_test(test_clock_goes_back),
        cmocka_unit_test(test_far_ahead_and_at_the_end_of_time),
        cmocka_unit_test(test_brief_stamps),
        cmocka_unit_test(test_stamps_of_6_bytes),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_refused_calls_that_count_do_not_wait),
        cmocka_unit_test(test_settle),
        cmocka_unit_test(test_cancel_where_refused_calls_count),
        cmocka_unit_test(test_change_while_in_debt),
        cmocka_unit_test(test_charge),
        cmocka_unit_test(test_charge_behind_others),
        cmocka_unit_test(test_charged_ones_are_not_forgotten),
        cmocka_unit_test(test_a_cancelled_one_is_not_carried),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_of_those_who_wait),
        cmocka_unit_test(test_nothing_waits_behind_what_is_owed),
        cmocka_unit_test(test_a_count_of_none),
        cmocka_unit_test(test_change_of_count_and_period),
        cmocka_unit_test(test_growth_under_load),
        cmocka_unit_test(test_waiters_are_moved),
        cmocka_unit_test(test_calls_of_several_permits_are_moved),
        cmocka_unit_test(test_a_long_line_is_moved),
        cmocka_unit_test(test_moved_after_a_cancel),
        cmocka_unit_test(test_cancel_while_others_wait),
        cmocka_unit_test(test_who_waits_is_moved),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_most_in),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
