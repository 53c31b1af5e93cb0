/* SPDX-License-Identifier: MIT
   Bursty: what is stored, who pays, what a change keeps.

   Expected answers are worked out by hand from the rule in smooth.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "unit/plans.h"
#include "unit/standing.h"

/* ---- steps ---- */

static void the_next_one_pays(void **unused)
{
    (void)unused;
    static const struct step steps[] = {
        /* now, cost, wait,       verdict,    delay,   retry,    remaining */
        {0, 1, 0, WEIR_ALLOW, 0, 0, 0},
        {0, 1, 0, WEIR_DENY, 0, 100 * MS, 0},
        {100 * MS - 1, 1, 0, WEIR_DENY, 0, 1, 0},
        {100 * MS, 50, 0, WEIR_ALLOW, 0, 0, 0},
        {100 * MS, 1, 5 * S - 1, WEIR_DENY, 0, 1, 0},
        {100 * MS, 1, 5 * S, WEIR_ALLOW, 5 * S, 0, 0},
        /* a day later 10 are stored, and one more passes */
        {86400 * S, 0, 0, WEIR_ALLOW, 0, 0, 11},
        {86400 * S, 4, 0, WEIR_ALLOW, 0, 0, 7},
        {86400 * S, 6, 0, WEIR_ALLOW, 0, 0, 1},
        {86400 * S, 1, 0, WEIR_ALLOW, 0, 0, 0},
        {86400 * S, 1, 0, WEIR_DENY, 0, 100 * MS, 0},
        /* time that goes back earns nothing and loses nothing */
        {86399 * S, 1, 0, WEIR_DENY, 0, S + 100 * MS, 0},
        {86400 * S + 100 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0},
    };
    CHECK_STEPS("10/s algorithm=bursty", steps);
}

static void half_a_permit_is_stored(void **unused)
{
    (void)unused;
    static const struct step steps[] = {
        {0, 1, 0, WEIR_ALLOW, 0, 0, 0},
        {300 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0},
        {300 * MS, 1, WEIR_FOREVER, WEIR_ALLOW, 100 * MS, 0, 0},
        {400 * MS, 1, WEIR_FOREVER, WEIR_ALLOW, 200 * MS, 0, 0},
    };
    CHECK_STEPS("5/s algorithm=bursty", steps);
}

static void without_a_store_it_is_a_pace(void **unused)
{
    (void)unused;
    static const struct step steps[] = {
        {100 * S, 1, 0, WEIR_ALLOW, 0, 0, 0},
        {100 * S, 1, WEIR_FOREVER, WEIR_ALLOW, 100 * MS, 0, 0},
        {300 * S, 1, 0, WEIR_ALLOW, 0, 0, 0},
        {300 * S, 1, 0, WEIR_DENY, 0, 100 * MS, 0},
    };
    CHECK_STEPS("10/s algorithm=bursty burst=0", steps);
}

static void it_starts_full_when_told(void **unused)
{
    (void)unused;
    static const struct step steps[] = {
        {0, 0, 0, WEIR_ALLOW, 0, 0, 4},
        {0, 3, 0, WEIR_ALLOW, 0, 0, 1},
        {0, 2, 0, WEIR_ALLOW, 0, 0, 0},
        {0, 1, 0, WEIR_DENY, 0, 200 * MS, 0},
    };
    CHECK_STEPS("10/s algorithm=bursty burst=3 start=full", steps);
}

/* The problem of paying afterwards: at 1/s a hundred pass at once, and the next one waits for them.  Or else they wait
   themselves. */
static void a_large_call_pays_itself(void **unused)
{
    (void)unused;
    static const struct step next[] = {
        {0, 100, 0, WEIR_ALLOW, 0, 0, 0},
        {0, 1, 0, WEIR_DENY, 0, 100 * S, 0},
    };
    static const struct step self[] = {
        {0, 100, 0, WEIR_DENY, 0, 99 * S, 1},
        {0, 100, 99 * S - 1, WEIR_DENY, 0, 1, 1},
        /* refused, it does not stand in the way of another */
        {0, 1, 0, WEIR_ALLOW, 0, 0, 0},
        {0, 100, WEIR_FOREVER, WEIR_ALLOW, 100 * S, 0, 0},
        {50 * S, 1, 0, WEIR_DENY, 0, 51 * S, 0},
        {100 * S, 1, S, WEIR_ALLOW, S, 0, 0},
        /* time in which nothing is taken pays for it, too; what is stored beside it is no more than burst */
        {200 * S, 100, 0, WEIR_DENY, 0, S, 1},
        {201 * S, 100, 0, WEIR_ALLOW, 0, 0, 0},
        {1000 * S, 100, 0, WEIR_ALLOW, 0, 0, 0},
        {1000 * S, 1, 0, WEIR_DENY, 0, S, 0},
    };
    CHECK_STEPS("1/s algorithm=bursty", next);
    CHECK_STEPS("1/s algorithm=bursty pay=self burst=1 start=full", self);
}

static void who_pays_himself_may_be_above_a_small_store(void **unused)
{
    (void)unused;
    static const struct step steps[] = {
        {0, 1, 0, WEIR_DENY, 0, S, 0},  {S - 1, 1, 0, WEIR_DENY, 0, 1, 0},  {S, 0, 0, WEIR_ALLOW, 0, 0, 1},
        {S, 1, 0, WEIR_ALLOW, 0, 0, 0}, {5 * S, 0, 0, WEIR_ALLOW, 0, 0, 1},
    };
    CHECK_STEPS("1/s algorithm=bursty pay=self burst=10ms", steps);
}

static void any_cost_passes(void **unused)
{
    (void)unused;
    static const struct step next[] = {
        {0, UINT64_MAX, 0, WEIR_ALLOW, 0, 0, 0},
        {S, 1, WEIR_FOREVER, WEIR_DENY, 0, WEIR_FOREVER, 0},
    };
    static const struct step self[] = {
        {0, UINT64_MAX, 0, WEIR_NEVER, 0, 0, 1},
        {0, 1, 0, WEIR_ALLOW, 0, 0, 0},
    };
    CHECK_STEPS("1/s algorithm=bursty", next);
    CHECK_STEPS("1/s algorithm=bursty pay=self burst=1 start=full", self);
}

/* ---- settling ---- */

static uint64_t delay_of(const struct subject *subject, uint64_t now_ns)
{
    struct subject copy = *subject;
    return reserve(&copy, now_ns, 1).delay_ns;
}

static void what_was_not_used_comes_back(void **unused)
{
    (void)unused;
    struct subject subject = fresh("10/s algorithm=bursty burst=10");
    weir_decision decision = take(&subject, 0, 50);
    settle_at(&subject, 0, &decision, 20);
    assert_int_equal(delay_of(&subject, 0), 2 * S);
    /* what has drained does not: of 50, 10 a second */
    decision = take(&subject, 2 * S, 50);
    settle_at(&subject, 6 * S, &decision, 0);
    assert_int_equal(delay_of(&subject, 6 * S), 0);
    assert_int_equal(take(&subject, 6 * S, 0).remaining, 1);
    /* from the store, and no more than fits */
    decision = take(&subject, 60 * S, 10);
    assert_int_equal(decision.remaining, 1);
    settle_at(&subject, 60 * S + 500 * MS, &decision, 0);
    assert_int_equal(take(&subject, 60 * S + 500 * MS, 0).remaining, 11);
}

static void nothing_comes_back_in_front_of_a_waiter(void **unused)
{
    (void)unused;
    struct subject subject = fresh("10/s algorithm=bursty burst=10");
    weir_decision first = take(&subject, 0, 50);
    weir_decision waits = reserve(&subject, 0, 10);
    assert_int_equal(waits.delay_ns, 5 * S);
    settle_at(&subject, S, &first, 0);
    assert_int_equal(delay_of(&subject, S), 5 * S);
    /* he himself may go, before or after his start */
    settle_at(&subject, S, &waits, 0);
    assert_int_equal(delay_of(&subject, S), 4 * S);
}

static void a_cancelled_large_call_that_pays_itself(void **unused)
{
    (void)unused;
    struct subject subject = fresh("10/s algorithm=bursty pay=self burst=10 start=full");
    weir_decision decision = reserve(&subject, 0, 100);
    assert_int_equal(decision.delay_ns, 9 * S);
    struct subject late = subject;
    weir_decision again = decision;
    settle_at(&subject, S, &decision, 0);
    assert_int_equal(take(&subject, S, 0).remaining, 10);
    /* 5 used at its start leave room for 5 more, not for 95 */
    settle_at(&late, 9 * S, &again, 5);
    assert_int_equal(take(&late, 9 * S, 0).remaining, 5);
}

/* ---- a limiter ---- */

static void debt_stays_time(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("10/s algorithm=bursty");
    assert_int_equal(weir_reserve(limiter, 50, 0).delay_ns, 0);
    change(limiter, "1/s algorithm=bursty", WEIR_KEEP);
    change(limiter, "7/min algorithm=bursty", WEIR_KEEP);
    change(limiter, "1/s algorithm=bursty", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 5 * S);
    set_ns(limiter, 5 * S);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    assert_int_equal(weir_take(limiter, 1).retry_ns, S);
    /* as permits: one at 1/s is one at 10/s */
    change(limiter, "10/s algorithm=bursty", WEIR_SCALE);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 100 * MS);
    change(limiter, "10/s algorithm=bursty start=full burst=4", WEIR_RESET);
    assert_int_equal(weir_peek(limiter, 0).remaining, 5);
    weir_close(limiter);
}

static void the_store_stays_as_full(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("10/s algorithm=bursty burst=10");
    set_ns(limiter, 500 * MS);
    assert_int_equal(weir_peek(limiter, 0).remaining, 6);
    change(limiter, "1000/s algorithm=bursty burst=100", WEIR_KEEP);
    assert_int_equal(weir_peek(limiter, 0).remaining, 51);
    /* as used permits: 50 of 100 are used, and 50 of 60 */
    change(limiter, "1000/s algorithm=bursty burst=60", WEIR_SCALE);
    assert_int_equal(weir_peek(limiter, 0).remaining, 11);
    change(limiter, "1000/s algorithm=bursty burst=0", WEIR_KEEP);
    change(limiter, "1000/s algorithm=bursty burst=60", WEIR_KEEP);
    assert_int_equal(weir_peek(limiter, 0).remaining, 1);
    weir_close(limiter);
}

/* What is owed stays the time that it was; who waits pays for its permits at the new rate. */
static void waiters_move_with_the_rate(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("10/s algorithm=bursty");
    assert_int_equal(weir_take(limiter, 50).verdict, WEIR_ALLOW);
    struct waiter first, second;
    assert_int_equal(stand(limiter, &first, 10).start.ns, 5 * S);
    assert_int_equal(stand(limiter, &second, 1).start.ns, 6 * S);
    change(limiter, "1/s algorithm=bursty", WEIR_KEEP);
    assert_int_equal(first.decision.start.ns, 5 * S);
    assert_int_equal(second.decision.start.ns, 15 * S);
    change(limiter, "10/s algorithm=bursty", WEIR_KEEP);
    assert_int_equal(second.decision.start.ns, 6 * S);
    weir_close(limiter);
}

static void debt_is_bounded_where_said(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("10/s algorithm=bursty burst=3 start=full debt=5");
    const weir_decision charged = weir_charge(limiter, 100);
    assert_int_equal(charged.charged, 8);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 500 * MS);
    assert_int_equal(weir_charge(limiter, 1).charged, 0);
    set_ns(limiter, 500 * MS);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

/* Time that nobody booked pays for a call larger than the store, and is not booked by a correction of nothing. */
static void a_correction_of_nothing_changes_nothing(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("1/s algorithm=bursty pay=self burst=1");
    set_ns(limiter, S);
    weir_decision drained = weir_reserve(limiter, 1, 0);
    set_ns(limiter, 10 * S);
    assert_int_equal(weir_charge(limiter, 0).charged, 0);
    weir_settle(limiter, &drained, 0);
    assert_int_equal(weir_take(limiter, 9).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

/* In ticks, on a clock set to 1000.  A third of the store is none of two; nothing is written behind the state. */
static void what_a_change_makes_of_words(void **unused)
{
    (void)unused;
    enum { NEXT, STORED, FROM, WORDS };
    static const struct {
        weir_carry how;
        uint64_t state[WORDS], next[WORDS];
    } rows[] = {
        {WEIR_KEEP, {100, 1, 90}, {1000, 0, 1000}},
        {WEIR_KEEP, {130, 0, 110}, {1030, 0, 1010}}, /* a call waits until 110 */
        {WEIR_RESET, {100, 1, 90}, {1000, 0, 1000}},
    };
    const struct rule from = {.algorithm = ALGORITHM_BURSTY, .burst = 3, .anchor_tick = 1, .multiplier = 1};
    const struct rule to = {.algorithm = ALGORITHM_BURSTY, .burst = 2, .anchor_tick = 1000, .multiplier = 1};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        uint64_t state[WORDS + 1] = {0}, next[WORDS + 1] = {0};
        memcpy(state, rows[i].state, sizeof rows[i].state);
        state[WORDS] = 3;
        algorithm_named(ALGORITHM_BURSTY)->carry(&from, &to, state, next, 100, rows[i].how);
        assert_memory_equal(next, rows[i].next, sizeof rows[i].next);
        assert_int_equal(next[WORDS], 0);
    }
}

/* ---- what is said ---- */

static void canonical(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"10/s algorithm=bursty", "10/s burst=1s algorithm=bursty pay=next start=empty"},
        {"10/s pay=self burst=3", "10/s burst=3 algorithm=bursty pay=self start=empty"},
        {"10/s pay=next burst=0 start=full debt=7", "10/s burst=0 algorithm=bursty debt=7 pay=next start=full"},
    };
    CHECK_SPELLINGS(rows);
}

static void mistakes(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"10/s algorithm=bursty cold=3", 23, "cold does not belong to algorithm=bursty; it goes with warmup"},
        {"10/s algorithm=bursty pay=me", 27, "expected pay=self or pay=next"},
        {"1000000000/s algorithm=bursty burst=400year", 37,
         "this burst would take over 300 years to refill; choose a smaller burst, for example burst=20"},
        {"10/s algorithm=bursty burst=-1", 29, "expected a count or a time; for example burst=20 or burst=2s"},
    };
    CHECK_MISTAKES(rows);
}

static void numbers(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t at_once, fresh, full_ns, most_in_0, most_in_second, most_in_more;
    } rows[] = {
        {"10/s algorithm=bursty", 11, 1, S, 11, 20, 21},
        {"10/s algorithm=bursty burst=10 start=full", 11, 11, S, 11, 20, 21},
        {"10/s algorithm=bursty burst=250ms", 3, 1, 250 * MS, 3, 13, 13},
        {"10/s algorithm=bursty burst=0", 1, 1, 0, 1, 10, 11},
        {"10/s algorithm=bursty burst=10 pay=self", 10, 0, S, 10, 19, 20},
        {"10/s algorithm=bursty burst=1s pay=self start=full", 10, 10, S, 10, 19, 20},
        {"10/s algorithm=bursty burst=1ms pay=self", 1, 0, MS, 1, 10, 11},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_of(rows[i].text);
        const struct facts facts = facts_in(&plan);
        assert_int_equal(facts.at_once, rows[i].at_once);
        assert_int_equal(facts.fresh, rows[i].fresh);
        assert_int_equal(facts.full_ns, rows[i].full_ns);
        assert_int_equal(facts.largest, UINT64_MAX);
        assert_int_equal(facts.spacing_ns, 100 * MS);
        assert_int_equal(most_in(&plan, 0), rows[i].most_in_0);
        assert_int_equal(most_in(&plan, S), rows[i].most_in_second);
        assert_int_equal(most_in(&plan, S + 1), rows[i].most_in_more);
    }
}

static void a_call_of_any_size_is_explained(void **unused)
{
    (void)unused;
    char text[2048];
    const weir_plan plan = plan_of("10/s algorithm=bursty");
    weir_plan_explain(&plan, text, sizeof text);
    assert_non_null(strstr(text, "any; the next call waits for it"));
}

static void full_again(void **unused)
{
    (void)unused;
    struct subject subject = fresh("10/s algorithm=bursty burst=5 start=full");
    weir_decision decision = take(&subject, S, 2);
    assert_int_equal(weir_decide_full_ns(&subject.plan, &decision), 200 * MS);
    decision = take(&subject, S, 6);
    assert_int_equal(weir_decide_full_ns(&subject.plan, &decision), 800 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_one_pays),
        cmocka_unit_test(half_a_permit_is_stored),
        cmocka_unit_test(without_a_store_it_is_a_pace),
        cmocka_unit_test(it_starts_full_when_told),
        cmocka_unit_test(a_large_call_pays_itself),
        cmocka_unit_test(who_pays_himself_may_be_above_a_small_store),
        cmocka_unit_test(any_cost_passes),
        cmocka_unit_test(what_was_not_used_comes_back),
        cmocka_unit_test(nothing_comes_back_in_front_of_a_waiter),
        cmocka_unit_test(a_cancelled_large_call_that_pays_itself),
        cmocka_unit_test(debt_stays_time),
        cmocka_unit_test(the_store_stays_as_full),
        cmocka_unit_test(waiters_move_with_the_rate),
        cmocka_unit_test(debt_is_bounded_where_said),
        cmocka_unit_test(a_correction_of_nothing_changes_nothing),
        cmocka_unit_test(what_a_change_makes_of_words),
        cmocka_unit_test(canonical),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(numbers),
        cmocka_unit_test(a_call_of_any_size_is_explained),
        cmocka_unit_test(full_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
