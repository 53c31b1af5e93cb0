/* SPDX-License-Identifier: MIT
   Fixed windows step by step: edges, counting of refusals, blocks, changes.

   Expected answers are worked out by hand; the window bound is held against every possible behaviour of small
   limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/decide.h"
#include "plan/plan.h"
#include "unit/plans.h"

static void allows(struct subject *subject, uint64_t now_ns, uint64_t cost, uint64_t remaining, uint64_t full_ns)
{
    const weir_decision decision = take(subject, now_ns, cost);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(decision.delay_ns, 0);
    assert_int_equal(decision.charged, cost);
    assert_int_equal(decision.remaining, remaining);
    assert_int_equal(weir_decide_full_ns(&subject->plan, &decision), full_ns);
}

static void denies(struct subject *subject, uint64_t now_ns, uint64_t cost, uint64_t remaining, uint64_t retry_ns)
{
    const weir_decision decision = take(subject, now_ns, cost);
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_int_equal(decision.remaining, remaining);
    assert_int_equal(decision.retry_ns, retry_ns);
    assert_int_equal(weir_decide_full_ns(&subject->plan, &decision), retry_ns);
}

static void never(struct subject *subject, uint64_t now_ns, uint64_t cost, uint64_t remaining)
{
    const weir_decision decision = take(subject, now_ns, cost);
    assert_int_equal(decision.verdict, WEIR_NEVER);
    assert_int_equal(decision.retry_ns, 0);
    assert_int_equal(decision.remaining, remaining);
}

/* ---- what is said ---- */

static void texts(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"10/s algorithm=fixed-window", "10/s algorithm=fixed-window align=first"},
        {"10/s align=first", "10/s algorithm=fixed-window align=first"},
        {"10/s align=clock", "10/s algorithm=fixed-window align=clock"},
        {"3 tokens/2h count-refused align=clock", "3 tokens/2h algorithm=fixed-window align=clock count-refused"},
        {"10/s block=10min", "10/s algorithm=fixed-window block=10min align=first count-refused"},
        {"10/s block=1ns count-refused", "10/s algorithm=fixed-window block=1ns align=first count-refused"},
    };
    CHECK_SPELLINGS(rows);
}

static void mistakes(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"10/s block=0s", 12, "block is above 0; leave it out for no blocking; for example block=1min"},
        {"10/s align=first block=0ns", 24, "block is above 0; leave it out for no blocking; for example block=1min"},
        {"1.5/s algorithm=fixed-window", 1, "a window holds whole permits; write 1/2s for half a permit a second"},
        {"10/s align=first burst=3", 18,
         "burst does not belong to algorithm=fixed-window; it goes with gcra, hybrid, bursty, leaky"},
        {"10/s algorithm=fixed-window start=empty", 29,
         "start does not belong to algorithm=fixed-window; it goes with gcra, hybrid, bursty, warmup"},
        {"10/s algorithm=fixed-window edge=closed", 29,
         "edge does not belong to algorithm=fixed-window; it goes with sliding-log"},
        {"10/s algorithm=fixed-window debt=3", 29,
         "debt does not belong to algorithm=fixed-window; it goes with gcra, hybrid, bursty, cycle, sliding-window"},
        {"10/s align=last", 12, "expected align=clock or align=first"},
    };
    CHECK_MISTAKES(rows);
}

static void numbers_of_facts(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("7/min align=clock");
    check_facts(&plan, (struct facts){.at_once = 7,
                                      .fresh = 7,
                                      .largest = 7,
                                      .group = 7,
                                      .spacing_ns = 60 * S,
                                      .full_ns = 60 * S,
                                      .state_bytes = 32});
}

/* The most that can still pass in `left` ns when the open window lasts `open` more ns and has `room`. */
static uint64_t most_from(uint64_t count, uint64_t period, bool by_clock, uint64_t open, uint64_t room, uint64_t left)
{
    if (left == 0) return 0;
    if (open == 0 && by_clock) return most_from(count, period, by_clock, period, count, left);
    /* Nothing now, or all that passes now: what is between never passes more. */
    const uint64_t after = open == 0 ? 0 : open - 1;
    uint64_t most = most_from(count, period, by_clock, after, room, left - 1);
    const uint64_t now = open == 0 ? count : room;
    const uint64_t then = open == 0 ? period - 1 : after;
    const uint64_t all = now + most_from(count, period, by_clock, then, 0, left - 1);
    return all > most ? all : most;
}

/* Every state that a window can begin in: no window is open, or one is that lasts so much longer. */
static uint64_t most_of_all(uint64_t count, uint64_t period, bool by_clock, uint64_t window_ns)
{
    uint64_t most = by_clock ? 0 : most_from(count, period, by_clock, 0, 0, window_ns);
    for (uint64_t open = 1; open <= period; open++) {
        const bool untouched = by_clock || open == period; /* a call has opened it before, unless it does so now */
        if (!by_clock && open == period) continue;
        const uint64_t most_here = most_from(count, period, by_clock, open, untouched ? count : count - 1, window_ns);
        if (most_here > most) most = most_here;
    }
    return most;
}

static void most_in_any_window(void **unused)
{
    (void)unused;
    for (uint64_t count = 1; count <= 3; count++) {
        for (uint64_t period = 1; period <= 4; period++) {
            for (int by_clock = 0; by_clock < 2; by_clock++) {
                char text[64];
                snprintf(text, sizeof text, "%u/%uns align=%s", (unsigned)count, (unsigned)period,
                         by_clock ? "clock" : "first");
                const weir_plan plan = plan_of(text);
                for (uint64_t window_ns = 1; window_ns <= 14; window_ns++) {
                    assert_int_equal(most_in(&plan, window_ns), most_of_all(count, period, by_clock, window_ns));
                }
            }
        }
    }
    weir_plan plan = plan_of("10/min align=first");
    assert_int_equal(most_in(&plan, 60 * S), 19);
    plan = plan_of("10/min align=clock");
    assert_int_equal(most_in(&plan, 60 * S), 20);
    assert_int_equal(most_in(&plan, 0), 10);
    plan = plan_of("18446744073709551614/ns align=clock");
    assert_int_equal(most_in(&plan, 2), UINT64_MAX);
}

/* ---- windows ---- */

static void first_call_opens(void **unused)
{
    (void)unused;
    struct subject subject = fresh("3/s align=first");
    allows(&subject, 1500 * MS, 0, 3, 0); /* asks for nothing, opens nothing */
    allows(&subject, 1700 * MS, 1, 2, S);
    allows(&subject, 2000 * MS, 2, 0, 700 * MS);
    denies(&subject, 2000 * MS, 1, 0, 700 * MS);
    denies(&subject, 2700 * MS - 1, 1, 0, 1);
    allows(&subject, 2700 * MS, 2, 1, S); /* at its very end the next one begins */
    denies(&subject, 2800 * MS, 2, 1, 900 * MS);
    allows(&subject, 2800 * MS, 1, 0, 900 * MS);
    allows(&subject, 2800 * MS, 0, 0, 900 * MS);
    never(&subject, 2800 * MS, 4, 0);
    never(&subject, 9000 * MS, 4, 3);
    allows(&subject, 9100 * MS, 3, 0, S);
}

static void clock_has_windows(void **unused)
{
    (void)unused;
    struct subject subject = fresh("3/s align=clock");
    allows(&subject, 1700 * MS, 2, 1, 300 * MS);
    denies(&subject, 1900 * MS, 2, 1, 100 * MS);
    allows(&subject, 2000 * MS - 1, 1, 0, 1);
    denies(&subject, 2000 * MS - 1, 1, 0, 1);
    allows(&subject, 2000 * MS, 3, 0, S);
    denies(&subject, 2999 * MS, 1, 0, 1 * MS);
    allows(&subject, 7250 * MS, 1, 2, 750 * MS);
}

static void clock_counts_from_the_epoch(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1/h align=clock");
    struct rule *rule = &plan_inside(&subject.plan)->rule[0];
    /* It is ten to the hour, and the limiter's time is 5 s. */
    algorithm_align(rule, 5 * S, 450000 * 3600 * S + 3000 * S);
    allows(&subject, 5 * S, 1, 0, 600 * S);
    denies(&subject, 604 * S, 1, 0, 1 * S);
    allows(&subject, 605 * S, 1, 0, 3600 * S);
    subject = fresh("1/h align=clock");
    rule = &plan_inside(&subject.plan)->rule[0];
    algorithm_align(rule, 3599 * S, 3600 * S); /* a limiter's time can be ahead in its hour */
    allows(&subject, 3599 * S, 1, 0, 3600 * S);
}

static void refused_calls_are_counted(void **unused)
{
    (void)unused;
    struct subject subject = fresh("5/s count-refused algorithm=fixed-window");
    allows(&subject, 1 * S, 4, 1, S);
    denies(&subject, 1100 * MS, 2, 0, 900 * MS);
    denies(&subject, 1200 * MS, 1, 0, 800 * MS); /* it would have passed */
    denies(&subject, 1200 * MS, 0, 0, 800 * MS); /* the count is over the limit */
    allows(&subject, 2000 * MS, 5, 0, S);
    allows(&subject, 2500 * MS, 0, 0, 500 * MS); /* it is not */
    never(&subject, 4 * S, 6, 0);                /* counted, too */
    denies(&subject, 4500 * MS, 1, 0, 500 * MS);
    allows(&subject, 5 * S, 5, 0, S);
}

static void counts_do_not_overflow(void **unused)
{
    (void)unused;
    struct subject subject = fresh("5/s count-refused align=first");
    never(&subject, 1 * S, UINT64_MAX, 0);
    never(&subject, 1 * S, UINT64_MAX, 0);
    denies(&subject, 1100 * MS, 1, 0, 900 * MS);
    subject = fresh("18446744073709551614/s count-refused align=clock");
    allows(&subject, 1 * S, UINT64_MAX - 1, 0, S);
    denies(&subject, 1 * S, 1, 0, S);
    denies(&subject, 1 * S, 1, 0, S);
    /* Behind the end of time no window ends. */
    subject = fresh("1/year align=first");
    assert_int_equal(take(&subject, UINT64_MAX - 10, 1).verdict, WEIR_ALLOW);
    assert_int_equal(take(&subject, UINT64_MAX - 9, 1).retry_ns, WEIR_FOREVER);
}

static void first_excess_blocks(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2/s block=10s");
    allows(&subject, 1 * S, 2, 0, S);
    denies(&subject, 1500 * MS, 1, 0, 10 * S);
    denies(&subject, 5 * S, 1, 0, 6500 * MS); /* asking again does not make it longer */
    denies(&subject, 5 * S, 0, 0, 6500 * MS);
    denies(&subject, 11500 * MS - 1, 1, 0, 1);
    allows(&subject, 11500 * MS, 1, 1, S);
    never(&subject, 11600 * MS, 3, 0); /* more than ever passes is an excess */
    denies(&subject, 11700 * MS, 1, 0, 9900 * MS);
    /* Refused, and it would fit alone. */
    subject = fresh("2/s block=10s");
    allows(&subject, 1 * S, 1, 1, S);
    denies(&subject, 1 * S, 2, 0, 10 * S);
}

static void a_short_block_ends_with_the_window(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2/min align=clock block=1s");
    allows(&subject, 60 * S, 2, 0, 60 * S);
    denies(&subject, 70 * S, 1, 0, 50 * S);
    allows(&subject, 120 * S, 1, 1, 60 * S);
    denies(&subject, 179500 * MS, 2, 0, 1 * S); /* goes on into the next window */
    denies(&subject, 180 * S, 1, 0, 500 * MS);
    allows(&subject, 180500 * MS, 1, 1, 59500 * MS);
}

static void peeking_counts_nothing(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2/s block=10s");
    const uint64_t costs[] = {1, 2, 3};
    weir_decision decision;
    allows(&subject, 1 * S, 1, 1, S);
    const struct subject before = subject;
    for (size_t i = 0; i < LENGTH(costs); i++) {
        const struct question question = {1500 * MS, 0, &costs[i], true};
        decide(plan_rules(plan_inside(&subject.plan)), subject.state, &question, NULL, &decision);
        assert_int_equal(decision.verdict, i == 0 ? WEIR_ALLOW : i == 1 ? WEIR_DENY : WEIR_NEVER);
        assert_int_equal(decision.remaining, i == 0 ? 0 : 1);
        assert_int_equal(decision.retry_ns, i == 1 ? 500 * MS : 0); /* who does not ask is not blocked */
        assert_memory_equal(&subject, &before, sizeof before);
    }
}

static void nothing_is_taken_ahead(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1/s align=first");
    allows(&subject, 1 * S, 1, 0, S);
    const weir_decision decision = reserve(&subject, 1500 * MS, 1);
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_int_equal(decision.retry_ns, 500 * MS);
}

/* ---- a clock that goes back, and lists ---- */

static void a_clock_that_goes_back(void **unused)
{
    (void)unused;
    struct subject subject = fresh("3/s align=first");
    allows(&subject, 10 * S, 1, 2, S);
    allows(&subject, 9 * S, 1, 1, 2 * S); /* the open window goes on */
    allows(&subject, 11 * S, 1, 2, S);
    assert_int_equal(take(&subject, 9500 * MS, 2).retry_ns, 1500 * MS); /* two were in that window: when it ends */
    denies(&subject, 9500 * MS, 3, 1, 2500 * MS);
    allows(&subject, 9500 * MS, 1, 0, 2500 * MS); /* counted in both */
    assert_int_equal(take(&subject, 10500 * MS, 1).retry_ns, 500 * MS);
    allows(&subject, 11 * S, 1, 0, S);
    denies(&subject, 10500 * MS, 1, 0, 1500 * MS);
}

/* A limit of a list, and now for it alone: the other one is asked for nothing. */
static weir_decision take_first(struct subject *subject, uint64_t now_ns, uint64_t permits)
{
    const uint64_t cost[] = {permits, 0};
    weir_decision decision;
    decide(plan_rules(plan_inside(&subject->plan)), subject->state, &(struct question){now_ns, 0, cost, false}, NULL,
           &decision);
    return decision;
}

static void a_list_opens_windows_ahead(void **unused)
{
    (void)unused;
    struct subject subject = fresh("5/10s algorithm=fixed-window; 1/s burst=12 algorithm=gcra");
    const struct rules rules = plan_rules(plan_inside(&subject.plan));
    const uint64_t both[] = {1, 12}, none[] = {0, 0};
    weir_decision decision;
    uint64_t end[2];
    decide(rules, subject.state, &(struct question){20 * S, 0, both, false}, end, &decision);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(take_first(&subject, 20 * S, 3).verdict, WEIR_ALLOW);
    /* gcra makes it wait into the window that begins at 32 s; then it never runs. */
    decide(rules, subject.state, &(struct question){20 * S, WEIR_FOREVER, both, false}, end, &decision);
    assert_int_equal(decision.start.ns, 32 * S);
    decide_settle(rules, subject.state, 21 * S, &decision, both, none, end);
    /* What is used in the window of 20 s is not forgotten. */
    assert_int_equal(take_first(&subject, 21 * S, 3).retry_ns, 9 * S);
    decision = take_first(&subject, 21 * S, 1);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(decision.remaining, 0);
    assert_int_equal(take_first(&subject, 29 * S, 1).retry_ns, 1 * S);
    /* The window that it opened is not open. */
    assert_int_equal(take_first(&subject, 30 * S, 5).verdict, WEIR_ALLOW);
    assert_int_equal(take_first(&subject, 39 * S, 1).verdict, WEIR_DENY);
    assert_int_equal(take_first(&subject, 42 * S, 5).verdict, WEIR_ALLOW);
}

/* ---- correcting ---- */

static void settling_within_the_window(void **unused)
{
    (void)unused;
    struct subject subject = fresh("10/s align=first");
    weir_decision first = take(&subject, 1 * S, 6), second = take(&subject, 1500 * MS, 3);
    settle_at(&subject, 1600 * MS, &first, 1);
    allows(&subject, 1600 * MS, 0, 6, 400 * MS);
    settle_at(&subject, 2 * S, &second, 0);
    allows(&subject, 1700 * MS, 0, 6, 300 * MS); /* its window was over: nothing is given back */
    weir_decision third = take(&subject, 3 * S, 4);
    settle_at(&subject, 3100 * MS, &third, 15);
    denies(&subject, 3100 * MS, 1, 0, 900 * MS);
    allows(&subject, 4 * S, 10, 0, S); /* what was over is forgotten with its window */
    weir_decision fourth = take(&subject, 5 * S, 10);
    weir_decision none = take(&subject, 6 * S, 2);
    settle_at(&subject, 6 * S, &fourth, 0);
    allows(&subject, 6 * S, 8, 0, S); /* of another window */
    settle_at(&subject, 6 * S, &none, 0);
    allows(&subject, 6 * S, 2, 0, S);
}

/* At most 2N - 1 pass within a window's length, for the call that opens a window is one of them. */
static void cancelling_what_opened_the_window(void **unused)
{
    (void)unused;
    struct subject subject = fresh("3/s align=first");
    weir_decision alone = take(&subject, 1 * S, 3);
    settle_at(&subject, 1100 * MS, &alone, 0);
    allows(&subject, 1999 * MS, 3, 0, S); /* it was not opened: this call opens one */
    denies(&subject, 2 * S, 1, 0, 999 * MS);
    weir_decision first = take(&subject, 3 * S, 1);
    allows(&subject, 3999 * MS, 1, 1, 1 * MS);
    settle_at(&subject, 3999 * MS, &first, 0);
    allows(&subject, 3999 * MS, 1, 0, 1 * MS);
    denies(&subject, 3999 * MS, 1, 0, 1 * MS);
    allows(&subject, 4 * S, 3, 0, S);
}

/* Of a call whose end is not known: by its start, unless the window is blocked. */
static void given_back_by_the_start_alone(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t used, left;
    } rows[] = {{"3/s align=first", 3, 1},
                {"3/s align=first count-refused", 5, 3},
                {"3/s align=first block=1ns", 3, 1},
                {"3/s align=first block=1ns", 4, 4}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct subject subject = fresh(rows[i].text);
        const struct rule *rule = &plan_inside(&subject.plan)->rule[0];
        take(&subject, S, 1);
        subject.state[1] = rows[i].used; /* the count */
        const struct slot slot = {.start = tick_at(rule, 1500 * MS), .cost = 2, .guessed = true};
        algorithm_of(rule)->give_back(rule, subject.state, tick_at(rule, 1600 * MS), &slot, 2);
        assert_int_equal(subject.state[1], rows[i].left);
    }
}

/* The window before is the open one again, and if it was blocked, it is so until then and no longer. */
static void cancelling_leaves_a_block(void **unused)
{
    (void)unused;
    struct subject subject = fresh("1/s block=10s");
    const struct rule *rule = &plan_inside(&subject.plan)->rule[0];
    const struct algorithm *algorithm = algorithm_of(rule);
    allows(&subject, S, 1, 0, S);
    denies(&subject, S, 1, 0, 10 * S);
    /* A call that waits for another limit of its list, until after the block. */
    const uint64_t start = tick_at(rule, 20 * S);
    const struct slot slot = {
        .start = start, .cost = 1, .end = algorithm->commit(rule, subject.state, (struct offer){start, start}, 1).end};
    algorithm->give_back(rule, subject.state, tick_at(rule, 2 * S), &slot, 1);
    denies(&subject, 3 * S, 1, 0, 8 * S);
    denies(&subject, 10 * S, 1, 0, 1 * S);
    allows(&subject, 11 * S, 1, 0, S);
}

/* ---- changing the limit ---- */

struct changed {
    uint64_t room, left_ns;
};

/* Uses up `used` of one limit at 100 s, changes it 6 s later, and looks. */
static struct changed carried(const char *from, uint64_t used, const char *to, weir_carry how)
{
    struct subject before = fresh(from), after = fresh(to);
    const struct rule *rule = &plan_inside(&before.plan)->rule[0];
    struct rule *next = &plan_inside(&after.plan)->rule[0];
    const struct algorithm *algorithm = algorithm_of(rule);
    take(&before, 100 * S, used);
    next->anchor_ns = 106 * S;
    next->anchor_tick = 77;
    algorithm->carry(rule, next, before.state, after.state, tick_at(rule, 106 * S), how);
    const weir_decision look = take(&after, 106 * S, 0);
    return (struct changed){look.remaining, weir_decide_full_ns(&after.plan, &look)};
}

static void check_carried(const char *from, uint64_t used, const char *to, weir_carry how, uint64_t room,
                          uint64_t left_ns)
{
    const struct changed got = carried(from, used, to, how);
    if (got.room != room || got.left_ns != left_ns) {
        fail_msg("%s to %s: %ju left, full in %ju", from, to, (uintmax_t)got.room, (uintmax_t)got.left_ns);
    }
}

static void changes(void **unused)
{
    (void)unused;
    check_carried("5/10s align=first", 3, "5/10s align=first", WEIR_KEEP, 2, 4 * S);
    check_carried("5/10s align=first", 3, "8/15s align=first", WEIR_KEEP, 5, 9 * S);
    check_carried("5/10s align=first", 3, "2/7s align=first", WEIR_SCALE, 0, 1 * S);
    /* Over by now under the new one: it ends when the old one would have, or one window later. */
    check_carried("5/10s align=first", 3, "5/5s align=first", WEIR_KEEP, 2, 4 * S);
    check_carried("5/10s align=first", 3, "5/3s align=first", WEIR_KEEP, 2, 3 * S);
    check_carried("5/10s align=first", 3, "5/10s align=clock", WEIR_KEEP, 2, 4 * S);
    check_carried("5/10s align=clock", 3, "5/min align=clock", WEIR_KEEP, 2, 14 * S);
    check_carried("5/10s align=clock", 3, "5/4s align=clock", WEIR_KEEP, 2, 2 * S);
    check_carried("5/10s align=clock", 3, "5/9s align=first", WEIR_KEEP, 2, 3 * S);
    check_carried("5/10s align=first", 3, "5/10s align=first", WEIR_RESET, 5, 0);
    check_carried("5/5s align=first", 3, "5/10s align=first", WEIR_KEEP, 5, 0); /* it was over */
    /* A block stays, whatever the new limit holds. */
    check_carried("5/s block=10s", 6, "50/s align=first", WEIR_KEEP, 0, 4 * S);
    check_carried("5/s block=10s", 6, "50/min align=clock", WEIR_SCALE, 0, 4 * S);
    check_carried("5/s block=10s", 6, "50/s align=first", WEIR_RESET, 50, 0);
}

/* ---- a limiter ---- */

static void through_a_limiter(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("3/min align=clock count-refused");
    set_ns(limiter, 90 * S);
    assert_int_equal(weir_take(limiter, 2).remaining, 1);
    assert_int_equal(weir_peek(limiter, 2).retry_ns, 30 * S);
    assert_int_equal(weir_peek(limiter, 1).remaining, 0);
    assert_int_equal(weir_take_some(limiter, 9).charged, 1);
    assert_int_equal(weir_reserve(limiter, 1, WEIR_FOREVER).verdict, WEIR_DENY);
    assert_int_equal(weir_take_wait(limiter, 1, 29 * S).retry_ns, 30 * S);
    set_ns(limiter, 120 * S);
    weir_decision decision = weir_take(limiter, 3);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    weir_cancel(limiter, &decision);
    assert_int_equal(weir_take(limiter, 3).verdict, WEIR_ALLOW);
    assert_int_equal(weir_charge(limiter, 2).charged, 2);
    set_ns(limiter, 150 * S);
    change(limiter, "10/min align=clock", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 6).retry_ns, 30 * S); /* 5 are used */
    assert_int_equal(weir_take(limiter, 5).verdict, WEIR_ALLOW);
    change(limiter, "10/min align=first", WEIR_RESET);
    assert_int_equal(weir_take(limiter, 10).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

static void waiting_for_a_window(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_limiter("2/20ms align=first", WEIR_CLOCK_SYSTEM, WEIR_ADMIT);
    const uint64_t begun_ns = weir_now().ns;
    for (int i = 0; i < 3; i++) assert_int_equal(weir_take_wait(limiter, 2, 5 * S).verdict, WEIR_ALLOW);
    assert_true(weir_now().ns - begun_ns >= 40 * MS);
    weir_close(limiter);
    /* The host's clock is not at 0 of an hour for ever: an aligned window ends at the next full 50 ms of the epoch. */
    limiter = open_limiter("1/50ms align=clock", WEIR_CLOCK_SYSTEM, WEIR_ADMIT);
    weir_take_wait(limiter, 1, 5 * S);
    const weir_decision first = weir_take_wait(limiter, 1, 5 * S), second = weir_take_wait(limiter, 1, 5 * S);
    assert_int_equal(first.verdict, WEIR_ALLOW);
    assert_int_equal(second.verdict, WEIR_ALLOW);
    weir_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(numbers_of_facts),
        cmocka_unit_test(most_in_any_window),
        cmocka_unit_test(first_call_opens),
        cmocka_unit_test(clock_has_windows),
        cmocka_unit_test(clock_counts_from_the_epoch),
        cmocka_unit_test(refused_calls_are_counted),
        cmocka_unit_test(counts_do_not_overflow),
        cmocka_unit_test(first_excess_blocks),
        cmocka_unit_test(a_short_block_ends_with_the_window),
        cmocka_unit_test(peeking_counts_nothing),
        cmocka_unit_test(nothing_is_taken_ahead),
        cmocka_unit_test(a_clock_that_goes_back),
        cmocka_unit_test(a_list_opens_windows_ahead),
        cmocka_unit_test(settling_within_the_window),
        cmocka_unit_test(cancelling_what_opened_the_window),
        cmocka_unit_test(given_back_by_the_start_alone),
        cmocka_unit_test(cancelling_leaves_a_block),
        cmocka_unit_test(changes),
        cmocka_unit_test(through_a_limiter),
        cmocka_unit_test(waiting_for_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
