/* SPDX-License-Identifier: MIT
   The leaky bucket by hand: nginx's own answers, its spelling, bad parameters, facts, a limiter.

   Every number was worked out with pencil from nginx's rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "unit/plans.h"
#include "unit/standing.h"

enum { LEVEL, LAST };

/* ---- the rule ---- */

static void burst_and_one_pass_at_once(void **unused)
{
    (void)unused;
    struct subject subject = fresh("10r/s burst=20 nodelay");
    for (uint64_t left = 21; left > 0; left--) {
        const weir_decision decision = take(&subject, 5 * S, 1);
        assert_delay(decision, 0);
        assert_int_equal(decision.remaining, left - 1);
    }
    assert_retry(take(&subject, 5 * S, 1), 100 * MS);
    assert_retry(take(&subject, 5 * S + MS / 2, 1), 100 * MS - MS / 2);
    assert_int_equal(subject.state[LEVEL], 21000);
    assert_int_equal(take(&subject, 5 * S, 22).verdict, WEIR_NEVER);
}

/* Within a ms nothing leaks, and the next ms begins for all at once. */
static void time_is_whole_ms(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1000r/s");
    assert_delay(take(&subject, 3 * MS + 999999, 1), 0);
    assert_retry(take(&subject, 3 * MS + 999999, 1), 1);
    assert_delay(take(&subject, 4 * MS, 1), 0);
    assert_retry(take(&subject, 4 * MS, 1), MS);
}

/* 3 thousandths a ms: a permit takes 334 ms, and what leaked too much is lost. */
static void truncation(void **unused)
{
    (void)unused;
    struct subject subject = fresh("3r/s"), minute = fresh("1r/m burst=1 nodelay");
    assert_delay(take(&subject, 0, 1), 0);
    assert_retry(take(&subject, 333 * MS, 1), MS);
    assert_delay(take(&subject, 334 * MS, 1), 0);
    assert_retry(take(&subject, 334 * MS, 1), 334 * MS);
    /* 16 a second: 62 ms leak nothing, 63 ms one thousandth; each call forgets the rest. */
    take(&minute, 0, 1);
    assert_int_equal(minute.state[LEVEL], 1000);
    take(&minute, 62 * MS, 1);
    assert_int_equal(minute.state[LEVEL], 2000);
    assert_retry(take(&minute, 62 * MS, 1), 62500 * MS);
}

static void delays(void **unused)
{
    (void)unused;
    struct subject subject = fresh("3r/s burst=2");
    assert_delay(reserve(&subject, 0, 1), 0);
    assert_retry(take(&subject, 0, 1), 333 * MS); /* what is left is less than a ms, and cut */
    assert_retry(take_within(&subject, 0, 1, 300 * MS), 33 * MS);
    assert_delay(take_within(&subject, 0, 1, 333 * MS), 333 * MS);
    assert_delay(reserve(&subject, 0, 1), 666 * MS);
    assert_retry(reserve(&subject, 0, 1), 334 * MS);
    assert_int_equal(subject.state[LEVEL], 3000);
}

static void delay_above_a_threshold(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2r/s burst=5 delay=3");
    for (int i = 0; i < 4; i++) assert_delay(reserve(&subject, 0, 1), 0);
    assert_delay(reserve(&subject, 0, 1), 500 * MS);
    assert_delay(reserve(&subject, 0, 1), S);
    assert_retry(reserve(&subject, 0, 1), 500 * MS);
}

/* Many permits start when the last of as many calls would. */
static void many_permits(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1r/s burst=9 delay=1"), calm = fresh("1r/s burst=9 nodelay");
    assert_delay(reserve(&subject, 0, 5), 3 * S);
    assert_retry(take(&subject, 0, 3), WEIR_FOREVER); /* three never start at once */
    assert_retry(take(&subject, 0, 2), 4999 * MS + MS);
    assert_delay(take(&calm, 0, 10), 0);
    assert_retry(take(&calm, 0, 4), 4 * S);
    assert_delay(take(&calm, 4 * S, 4), 0);
}

static void clock_goes_back(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2r/s burst=3 nodelay");
    assert_delay(take(&subject, 200 * S, 1), 0);
    /* As high as it must have been to hold one at 200 s. */
    assert_retry(take(&subject, 100 * S, 1), 99 * S);
    assert_delay(take(&subject, 199 * S, 1), 0);
    assert_int_equal(subject.state[LAST], 200000);
    assert_int_equal(subject.state[LEVEL], 2000);
}

static void ends_of_the_range(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1000000r/s burst=5 nodelay");
    for (int i = 0; i < 6; i++) assert_delay(take(&subject, 0, 1), 0);
    for (int i = 0; i < 6; i++) assert_delay(take(&subject, UINT64_MAX - 2, 1), 0);
    assert_retry(take(&subject, UINT64_MAX - 2, 1), WEIR_FOREVER);
    assert_int_equal(take(&subject, UINT64_MAX - 2, UINT64_MAX).verdict, WEIR_NEVER);
}

/* ---- settling and changing ---- */

static void cancelled(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1r/s burst=2");
    weir_decision first = reserve(&subject, 0, 1), second = reserve(&subject, 0, 1);
    settle_at(&subject, 0, &first, 0);
    assert_int_equal(subject.state[LEVEL], 2000); /* somebody waits behind it */
    settle_at(&subject, 400 * MS, &second, 0);
    assert_int_equal(subject.state[LEVEL], 1000);
    assert_delay(reserve(&subject, 400 * MS, 1), 600 * MS);
}

/* Five permits of which two start at once: three have leaked at the start, and none yet when it is cancelled. */
static void cancelled_before_it_starts(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1r/s burst=9 delay=1");
    weir_decision five = reserve(&subject, 0, 5);
    settle_at(&subject, S, &five, 0);
    assert_int_equal(subject.state[LEVEL], 1000); /* leaks until 1 s */
    assert_delay(take(&subject, S, 2), 0);
}

/* Three wait 111 ms, cut from 111.1; 55 ms after their start 990 of the 1000 that start at once have leaked.  What the
   next call poured in stays: two starts are 55 ms apart, and 56 ms leak 1008. */
static void cancelled_behind_a_cut_delay(void **unused)
{
    (void)unused;
    struct subject subject = fresh("18r/s burst=2");
    weir_decision three = reserve(&subject, 0, 3);
    assert_delay(three, 111 * MS);
    assert_delay(reserve(&subject, 165 * MS, 1), MS);
    settle_at(&subject, 166 * MS, &three, 0);
    assert_int_equal(subject.state[LEVEL], 1020); /* at 165 ms */
    assert_delay(reserve(&subject, 166 * MS, 1), 55 * MS);
}

/* 5 permits leak in a ms, so more than one starts at once; no more than one is given back. */
static void cancelled_above_a_thousand_a_second(void **unused)
{
    (void)unused;
    struct subject subject = fresh("5000r/s burst=9");
    weir_decision five = take(&subject, 0, 5);
    assert_delay(five, 0);
    settle_at(&subject, 0, &five, 0);
    assert_int_equal(subject.state[LEVEL], 4000);
}

/* The first has leaked where the level is known, whatever the clock shows since. */
static void cancelled_while_the_clock_is_behind(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1/s burst=5 algorithm=leaky nodelay");
    weir_decision first = take(&subject, 10 * S, 1);
    take(&subject, 11 * S, 1);
    settle_at(&subject, 10 * S, &first, 0);
    assert_int_equal(subject.state[LEVEL], 1000);
}

/* Positions wrap: what leaked months ago does not count. */
static void full_after_a_long_rest(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1000000000r/s burst=9 nodelay");
    weir_limiter *limiter = open_manual("1000000000r/s burst=9 nodelay");
    assert_int_equal(weir_take(limiter, 10).verdict, WEIR_ALLOW);
    weir_decision decision = weir_peek(limiter, 1);
    assert_int_equal(weir_decide_full_ns(&plan, &decision), MS);
    set_ns(limiter, 150 * 86400 * S);
    decision = weir_peek(limiter, 1);
    assert_int_equal(decision.remaining, 9);
    assert_int_equal(weir_decide_full_ns(&plan, &decision), 0);
    weir_close(limiter);
}

static void settled_after_it_has_leaked(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1r/s burst=2 nodelay");
    weir_decision two = take(&subject, 0, 2);
    settle_at(&subject, 1500 * MS, &two, 0);
    assert_int_equal(subject.state[LEVEL], 1500);
    weir_decision more = take(&subject, 1500 * MS, 1);
    assert_int_equal(subject.state[LEVEL], 1000);
    settle_at(&subject, 1500 * MS, &more, 4);
    assert_int_equal(subject.state[LEVEL], 4000);
    assert_retry(take(&subject, 1500 * MS, 1), 2 * S);
}

static void carried(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("10/s burst=4 algorithm=leaky nodelay");
    assert_int_equal(weir_take(limiter, 4).verdict, WEIR_ALLOW);
    /* 400 ms of what was used: 2 permits at 5 a second. */
    change(limiter, "5/s burst=4 algorithm=leaky nodelay", WEIR_KEEP);
    assert_int_equal(weir_peek(limiter, 0).remaining, 2);
    change(limiter, "10/s burst=4 algorithm=leaky nodelay", WEIR_SCALE);
    assert_int_equal(weir_peek(limiter, 0).remaining, 2);
    change(limiter, "10/s burst=4 algorithm=leaky nodelay", WEIR_RESET);
    assert_int_equal(weir_peek(limiter, 0).remaining, 4);
    weir_close(limiter);
}

/* A waiter keeps its place: two permits before it at the new rate. */
static void waiters_are_moved(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("1r/s burst=5");
    struct waiter waiter[3];
    for (int i = 0; i < 3; i++) stand(limiter, &waiter[i], 1);
    assert_int_equal(waiter[2].decision.delay_ns, 2 * S);
    change(limiter, "10r/s burst=5", WEIR_KEEP);
    /* A second of what was used, at ten a second, and then the two that wait. */
    assert_int_equal(waiter[1].decision.start.ns, S);
    assert_int_equal(waiter[2].decision.start.ns, 1100 * MS);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_DENY);
    set_ns(limiter, 20 * S);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

/* ---- text ---- */

static void spellings(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"10r/s", "10/s burst=1 algorithm=leaky"},
        {"10r/s burst=20 nodelay", "10/s burst=21 algorithm=leaky nodelay"},
        {"30r/m burst=12 delay=8", "30/min burst=13 algorithm=leaky delay=8"},
        {"10r/m", "0.166/s burst=1 algorithm=leaky"},
        {"1r/m", "0.016/s burst=1 algorithm=leaky"},
        {"59r/m", "0.983/s burst=1 algorithm=leaky"},
        {"9r/m", "9/min burst=1 algorithm=leaky"},
        {"60r/m", "60/min burst=1 algorithm=leaky"},
        {"1000000007r/m", "16666666.783/s burst=1 algorithm=leaky"},
        {"10/min algorithm=leaky-bucket", "10/min burst=10 algorithm=leaky"},
        {"10/s delay=3", "10/s burst=10 algorithm=leaky delay=3"},
    };
    CHECK_SPELLINGS(rows);
}

static void mistakes(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"0.5r/s", 1, "nginx's rates are whole; for example 30r/m, one every 2 s"},
        {"18446744073709551607r/m", 1,
         "a number this long is more than 64 bits hold; expected a rate: a count, a slash and a period; for example "
         "10/s"},
        {"10/s algorithm=leaky burst=0", 28, "burst is at least 1, or nothing could ever pass; for example burst=1"},
        {"10/s algorithm=leaky burst=2s", 28, "leaky counts its burst in permits; for example burst=20"},
        {"10r/s burst=2s", 13, "leaky counts its burst in permits; for example burst=20"},
        {"10r/s burst=1000000000000000000", 13,
         "leaky counts its burst in thousandths, up to 2^61; choose a smaller one, for example burst=20"},
        {"10r/s burst=2305843009213693", 13, /* and one: 2^61 are 2305843009213693952 */
         "leaky counts its burst in thousandths, up to 2^61; choose a smaller one, for example burst=20"},
        {"10r/s burst=5 delay=0", 21,
         "delay is at least 1; to delay all that is above the rate leave it out; for example delay=8"},
        {"10r/s delay=3 nodelay", 15, "nodelay delays nothing; write it, or delay=8, but not both"},
        {"2000000000000r/s", 1, "this rate is over 10^12 a second, the most that weir can count; for example 1G/s"},
        {"10r/s debt=3", 7,
         "debt does not belong to algorithm=leaky; it goes with gcra, hybrid, bursty, cycle, sliding-window"},
        {"10r/s algorithm=gcra", 17,
         "this spelling of the rate is that of leaky; for another algorithm write it as 10/s"},
    };
    CHECK_MISTAKES(rows);
}

/* ---- levels ---- */

static const struct rule *rule_of(const struct subject *subject)
{
    return &plan_inside_const(&subject->plan)->rule[0];
}

/* 62.5 ms leak one thousandth.  Of the clock's 70 ms one has leaked, of the bucket's 40 none: where the slot ends is
   not said by the clock's. */
static void nothing_taken_says_where_the_last_slot_ends(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1r/m burst=1 nodelay");
    const struct rule *rule = rule_of(&subject);
    const weir_decision last = take(&subject, 30 * MS, 1);
    assert_int_equal(algorithm_at(rule, algorithm_of(rule), subject.state, tick_at(rule, 70 * MS)).end, last.end);
}

/* In permits, of which a part of one is none.  Where the clock is behind the last call it waits. */
static void how_full_it_is(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t level, now_ns, left, owed;
        bool waits;
    } rows[] = {
        {0, S, 5, 0, false},   {1, S, 4, 0, false},   {2000, S, 3, 0, false},     {5000, S, 0, 0, false},
        {5999, S, 0, 0, true}, {7000, S, 0, 2, true}, {2000, S - MS, 2, 0, true},
    };
    const struct subject subject = fresh("10/s burst=5 algorithm=leaky nodelay");
    const struct rule *rule = rule_of(&subject);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const uint64_t state[] = {[LEVEL] = rows[i].level, [LAST] = 1000};
        const struct balance balance = algorithm_of(rule)->balance(rule, state, tick_at(rule, rows[i].now_ns));
        assert_int_equal(balance.left, rows[i].left);
        assert_int_equal(balance.owed, rows[i].owed);
        assert_int_equal(balance.waits, rows[i].waits);
    }
}

/* At 10/s a ms leaks ten thousandths; at 1 s ten thousand have leaked since the clock's zero. */
static void when_it_is_empty(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t end, full_ns;
    } rows[] = {{9999, S + 7}, {10000, S + 7}, {10001, S + MS}, {10500, S + 50 * MS}};
    const struct subject subject = fresh("10/s burst=5 algorithm=leaky nodelay");
    const struct rule *rule = rule_of(&subject);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_decision decision = {.end = rows[i].end};
        assert_int_equal(algorithm_full(rule, algorithm_of(rule), &decision, tick_at(rule, S + 7)),
                         tick_at(rule, rows[i].full_ns));
    }
}

/* ---- facts ---- */

static void numbers_of_facts(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t at_once, largest, group, spacing_ns, full_ns;
    } rows[] = {
        {"10r/s burst=20 nodelay", 21, 21, 1, 100 * MS, 2100 * MS},
        {"10r/s burst=20", 1, 21, 1, 100 * MS, 2100 * MS},
        {"10r/s burst=20 delay=5", 6, 21, 1, 100 * MS, 2100 * MS},
        {"10r/s burst=2 delay=5", 3, 3, 1, 100 * MS, 300 * MS},
        {"3r/s", 1, 1, 1, 334 * MS, 334 * MS},
        {"10r/m", 1, 1, 1, 6025 * MS, 6025 * MS},
        {"10000r/s", 1, 1, 1, MS, MS},
        {"10000r/s burst=3", 4, 4, 4, MS, MS}, /* a delay below a ms is none */
        {"2000r/s burst=1", 2, 2, 2, MS, MS},  /* a ms leaks all of it */
        {"2000r/s burst=2", 2, 3, 1, 500 * US, 2 * MS},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_of(rows[i].text);
        check_facts(&plan, (struct facts){.at_once = rows[i].at_once,
                                          .fresh = rows[i].at_once,
                                          .largest = rows[i].largest,
                                          .group = rows[i].group,
                                          .spacing_ns = rows[i].spacing_ns,
                                          .full_ns = rows[i].full_ns,
                                          .state_bytes = 16});
    }
}

/* One after the other, as soon as each passes, from the last ns of a ms on. */
static uint64_t greedy(const char *text, uint64_t window_ns)
{
    struct subject subject = fresh(text);
    uint64_t count = 0;
    const uint64_t first = 7 * S + MS - 1;
    for (uint64_t now = first; now < first + window_ns;) {
        const weir_decision decision = take(&subject, now, 1);
        if (weir_allowed(decision)) count++;
        else now += decision.retry_ns;
    }
    return count;
}

static void most_in_a_window(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"10r/s burst=20 nodelay",
                                        "10r/s",
                                        "3r/s",
                                        "3r/s burst=5 nodelay",
                                        "30r/m burst=3 nodelay",
                                        "7r/s burst=2 nodelay",
                                        "1000r/s burst=10 nodelay",
                                        "10000r/s",
                                        "10000r/s burst=3",
                                        "2000r/s burst=1",
                                        "16r/s",
                                        "90r/m"};
    static const uint64_t windows[] = {1, 2,     999999, MS,        MS + 1, 100 * MS, 333 * MS + 1,
                                       S, S + 1, S + 2,  7777 * MS, 60 * S};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        const weir_plan plan = plan_of(texts[i]);
        for (size_t j = 0; j < LENGTH(windows); j++) {
            const uint64_t said = most_in(&plan, windows[j]), got = greedy(texts[i], windows[j]);
            if (said != got) {
                fail_msg("%s in %ju ns: said %ju, got %ju", texts[i], (uintmax_t)windows[j], (uintmax_t)said,
                         (uintmax_t)got);
            }
        }
    }
}

/* One a ms that starts at once, and one a ms that was told to wait: two may be a ns apart. */
static void most_of_those_that_wait(void **unused)
{
    (void)unused;
    static const uint64_t windows[][2] = {{1, 1}, {2, 2}, {MS + 1, 2}, {MS + 2, 3}, {S, 1001}};
    const weir_plan plan = plan_of("1000r/s burst=20");
    CHECK_MOST_IN(&plan, windows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(burst_and_one_pass_at_once),
        cmocka_unit_test(time_is_whole_ms),
        cmocka_unit_test(truncation),
        cmocka_unit_test(delays),
        cmocka_unit_test(delay_above_a_threshold),
        cmocka_unit_test(many_permits),
        cmocka_unit_test(clock_goes_back),
        cmocka_unit_test(ends_of_the_range),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(cancelled_before_it_starts),
        cmocka_unit_test(cancelled_behind_a_cut_delay),
        cmocka_unit_test(cancelled_above_a_thousand_a_second),
        cmocka_unit_test(cancelled_while_the_clock_is_behind),
        cmocka_unit_test(full_after_a_long_rest),
        cmocka_unit_test(settled_after_it_has_leaked),
        cmocka_unit_test(carried),
        cmocka_unit_test(waiters_are_moved),
        cmocka_unit_test(spellings),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(nothing_taken_says_where_the_last_slot_ends),
        cmocka_unit_test(how_full_it_is),
        cmocka_unit_test(when_it_is_empty),
        cmocka_unit_test(numbers_of_facts),
        cmocka_unit_test(most_in_a_window),
        cmocka_unit_test(most_of_those_that_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
