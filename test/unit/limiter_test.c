/* SPDX-License-Identifier: MIT
   Every public function of a limiter, in exact numbers, on the manual clock.

   Times are those of the manual clock; the others only move on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "unit/plans.h"
#include "unit/sized.h"
#include "unit/standing.h"

#define DAY (86400 * S)

static void assert_allowed(weir_decision decision, uint64_t charged)
{
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_true(weir_allowed(decision));
    assert_int_equal(decision.charged, charged);
    if (decision.due.ns != 0) assert_true(decision.due.ns <= decision.start.ns);
}

/* A change rounds its time against the caller, by a tick at most, and a tick is at most a ns. */
static void assert_about(uint64_t got, uint64_t wanted)
{
    assert_in_range(got, wanted, wanted + 2);
}

static void assert_denied(weir_decision decision, uint64_t retry_ns)
{
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_false(weir_allowed(decision));
    assert_about(decision.retry_ns, retry_ns);
    assert_int_equal(decision.charged, 0);
}

static void drain(weir_limiter *limiter, uint64_t permits)
{
    for (uint64_t i = 0; i < permits; i++) assert_allowed(weir_take(limiter, 1), 1);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_DENY);
}

/* ---- opening ---- */

static void refuses_options(const weir_options *options, const char *named)
{
    weir_error error;
    weir_limiter *limiter = (void *)&error;
    assert_int_equal(weir_open(&limiter, "10/s", options, &error), WEIR_EINVAL);
    assert_null(limiter);
    assert_int_equal(error.code, WEIR_EINVAL);
    assert_int_equal(error.column, 0);
    assert_non_null(strstr(error.message, named));
    assert_int_equal(weir_open(&limiter, "10/s", options, NULL), WEIR_EINVAL);
}

static void test_open_refuses(void **state)
{
    (void)state;
    weir_options options = WEIR_OPTIONS;
    options.clock = (weir_clock)5;
    refuses_options(&options, "clock");
    options = (weir_options)WEIR_OPTIONS;
    options.use = (weir_use)2;
    refuses_options(&options, "use");
    options = (weir_options)WEIR_OPTIONS;
    options.tick_ns = 999;
    refuses_options(&options, "tick_ns");
    options.tick_ns = 1000;
    weir_limiter *fastest;
    assert_int_equal(weir_open(&fastest, "10/s", &options, NULL), 0);
    weir_close(fastest);
    weir_error error;
    weir_limiter *limiter = (void *)&error;
    assert_int_equal(weir_open(&limiter, "10/", NULL, &error), WEIR_EINVAL);
    assert_null(limiter);
    assert_int_equal(error.column, 4);
    assert_int_equal(weir_open(&limiter, "10/s shadow", NULL, &error), WEIR_EUNSUPPORTED);
    weir_close(NULL);
}

static void test_options_of_another_version(void **state)
{
    (void)state;
    struct {
        weir_options known;
        uint64_t later[4];
    } longer = {WEIR_OPTIONS, {0, 0, 3, 0}};
    weir_options shorter = {offsetof(weir_options, clock), WEIR_PACE, (weir_clock)77, 77, 77, 77, 77};
    weir_limiter *limiter;
    weir_error error;
    longer.known.size = sizeof longer;
    assert_int_equal(weir_open(&limiter, "10/s", &longer.known, &error), WEIR_EVERSION);
    longer.later[2] = 0;
    assert_int_equal(weir_open(&limiter, "10/s", &longer.known, NULL), 0);
    weir_close(limiter);
    assert_int_equal(weir_open(&limiter, "10/s", &shorter, NULL), 0);
    assert_true(weir_take(limiter, 1).start.ns <= weir_now().ns);
    weir_close(limiter);
    assert_int_equal(weir_open(&limiter, "10/s", NULL, NULL), 0);
    weir_close(limiter);
}

static void test_version(void **state)
{
    (void)state;
    unsigned part[3];
    char end;
    assert_string_equal(weir_version(), WEIR_VERSION);
    assert_int_equal(sscanf(WEIR_VERSION, "%u.%u.%u%c", &part[0], &part[1], &part[2], &end), 3);
    assert_int_equal(WEIR_VERSION_NUMBER, part[0] * 1000000 + part[1] * 1000 + part[2]);
    assert_true(part[1] < 1000 && part[2] < 1000);
#if WEIR_VERSION_NUMBER < 1000
    fail_msg("older than the macro");
#endif
}

/* Else it would be a limiter that admits, by the system's clock, whatever the fields say. */
static void test_size_that_was_forgotten(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, sizeof(size_t) - 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const weir_options options = {.size = sizes[i], .use = WEIR_PACE};
        refuses_options(&options, "WEIR_OPTIONS");
    }
}

static void test_no_limits(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=5");
    weir_error error;
    weir_plan plan;
    assert_int_equal(weir_set_limit(limiter, NULL, WEIR_KEEP, &error), WEIR_EINVAL);
    assert_int_equal(error.code, WEIR_EINVAL);
    assert_non_null(strstr(error.message, "limits is NULL"));
    assert_int_equal(weir_set_limit(limiter, NULL, WEIR_KEEP, NULL), WEIR_EINVAL);
    assert_int_equal(weir_plan_parse(&plan, NULL, WEIR_PACE, &error), WEIR_EINVAL);
    assert_non_null(strstr(error.message, "limits is NULL"));
    assert_int_equal(weir_plan_parse(&plan, NULL, WEIR_ADMIT, NULL), WEIR_EINVAL);
    assert_int_equal(weir_peek(limiter, 1).remaining, 4);
    weir_close(limiter);
}

/* A decision is the caller's: whatever is in it, nothing beside the rules is read. */
static void test_decision_of_no_limit(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {1, 7, INT32_MAX, (uint32_t)INT32_MAX + 1, UINT32_MAX - 3, UINT32_MAX};
    weir_limiter *limiter = open_manual("10/s algorithm=hybrid");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        weir_manual_set(limiter, (weir_instant){(i + 1) * 10 * S});
        weir_decision decision = weir_take(limiter, 1);
        assert_int_equal(decision.verdict, WEIR_ALLOW); /* or none of them looks at the number */
        decision.limit = numbers[i];
        assert_int_equal(weir_set_limit(limiter, "20/s algorithm=hybrid", WEIR_KEEP, NULL), 0);
        assert_int_equal(weir_full_ns(limiter, &decision), 0);
        decision.due.ns = 0;
        assert_int_equal(weir_due(limiter, &decision, 1).ns, decision.start.ns);
    }
    weir_close(limiter);
}

static void read_stats(void *limiter, void *stats, size_t size)
{
    weir_read_stats(limiter, stats, size);
}

static void test_stats_of_other_versions(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=5");
    assert_allowed(weir_take(limiter, 3), 3);
    assert_int_equal(weir_take(limiter, 3).verdict, WEIR_DENY);
    assert_sized(read_stats, limiter, sizeof(weir_stats));
    weir_close(limiter);
}

/* ---- asking ---- */

static void test_take(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=5");
    weir_decision decision = weir_take(limiter, 2);
    assert_allowed(decision, 2);
    assert_int_equal(decision.remaining, 3);
    assert_int_equal(decision.delay_ns, 0);
    assert_int_equal(decision.start.ns, 0);
    assert_int_equal(weir_take(limiter, 6).verdict, WEIR_NEVER);
    assert_denied(weir_take(limiter, 4), 100 * MS);
    assert_allowed(weir_take(limiter, 3), 3);
    assert_denied(weir_take(limiter, 1), 100 * MS);
    assert_allowed(weir_take(limiter, 0), 0);
    set_ns(limiter, 100 * MS - 1);
    assert_denied(weir_take(limiter, 1), 1);
    set_ns(limiter, 100 * MS);
    assert_allowed(weir_take(limiter, 1), 1);
    set_ns(limiter, 10 * S);
    assert_int_equal(weir_peek(limiter, 1).remaining, 4);
    assert_int_equal(weir_peek(limiter, 1).charged, 0);
    assert_allowed(weir_take(limiter, 5), 5);
    set_ns(limiter, 9 * S);
    assert_denied(weir_take(limiter, 1), 1100 * MS);
    weir_close(limiter);
}

static void test_take_at(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=1");
    assert_allowed(weir_take_at(limiter, (weir_instant){5 * S}, 1), 1);
    assert_denied(weir_take_at(limiter, (weir_instant){5 * S}, 1), 100 * MS);
    assert_allowed(weir_take_at(limiter, (weir_instant){5 * S + 100 * MS}, 1), 1);
    assert_denied(weir_take(limiter, 1), 5 * S + 200 * MS);
    weir_close(limiter);
}

static void test_take_some(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=5; 1000/s burst=7");
    assert_allowed(weir_take_some(limiter, 3), 3);
    assert_allowed(weir_take_some(limiter, 9), 2);
    assert_denied(weir_take_some(limiter, 9), 100 * MS);
    weir_close(limiter);
    limiter = open_manual("10/s burst=5");
    assert_allowed(weir_take_some(limiter, WEIR_FOREVER), 5);
    assert_denied(weir_take_some(limiter, 9), 100 * MS);
    weir_close(limiter);
}

static void test_take_each(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10 requests/s; 100 tokens/s");
    const uint64_t one_and_60[] = {1, 60}, one_and_41[] = {1, 41}, one_and_40[] = {1, 40}, too_many[] = {1, 101};
    uint64_t end[2] = {0, 0};
    assert_allowed(weir_take_each(limiter, one_and_60, end), 1);
    assert_true(end[0] != 0 && end[1] != 0);
    const weir_decision refused = weir_take_each(limiter, one_and_41, NULL);
    assert_denied(refused, 10 * MS);
    assert_int_equal(refused.limit, 1);
    assert_int_equal(weir_take_each(limiter, too_many, NULL).verdict, WEIR_NEVER);
    assert_allowed(weir_take_each(limiter, one_and_40, NULL), 1);
    set_ns(limiter, 10 * S);
    drain(limiter, 10);
    weir_close(limiter);
}

static void test_reserve(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=2");
    drain(limiter, 2);
    const weir_decision late = weir_reserve(limiter, 1, 100 * MS);
    assert_allowed(late, 1);
    assert_int_equal(late.start.ns, 100 * MS);
    assert_int_equal(late.delay_ns, 100 * MS);
    assert_denied(weir_reserve(limiter, 1, 150 * MS), 50 * MS);
    assert_int_equal(weir_reserve(limiter, 1, WEIR_FOREVER).start.ns, 200 * MS);
    assert_denied(weir_take(limiter, 1), 300 * MS);
    weir_close(limiter);
}

/* No start beyond what the clock can count: refused, and nothing is taken. */
static void test_reserve_beyond_the_horizon(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1/year burst=100");
    uint64_t start_ns = 0;
    weir_decision decision;
    int given = 0;
    do {
        decision = weir_reserve(limiter, 10, WEIR_FOREVER);
        if (!weir_allowed(decision)) break;
        assert_true(decision.start.ns >= start_ns);
        start_ns = decision.start.ns;
    } while (++given < 1000);
    assert_in_range(given, 20, 100);
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_int_equal(decision.retry_ns, WEIR_FOREVER);
    assert_int_equal(weir_reserve(limiter, 10, WEIR_FOREVER).verdict, WEIR_DENY);
    assert_true(weir_take(limiter, 1).retry_ns > start_ns);
    weir_close(limiter);
}

static void test_limits_without_a_rate(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("none");
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_NEVER);
    assert_int_equal(weir_take_some(limiter, 9).verdict, WEIR_NEVER);
    assert_int_equal(weir_take_wait(limiter, 1, WEIR_FOREVER).verdict, WEIR_NEVER);
    change(limiter, "unlimited", WEIR_KEEP);
    assert_allowed(weir_take(limiter, UINT64_C(1) << 40), UINT64_C(1) << 40);
    assert_allowed(weir_take_some(limiter, 9), 9);
    change(limiter, "10/s burst=3", WEIR_SCALE);
    drain(limiter, 3);
    weir_close(limiter);
}

/* ---- settling ---- */

static void test_settle(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=10");
    weir_decision decision = weir_take(limiter, 8);
    weir_settle(limiter, &decision, 3);
    assert_int_equal(decision.charged, 0);
    assert_int_equal(weir_peek(limiter, 1).remaining, 6);
    weir_settle(limiter, &decision, 0);
    assert_int_equal(weir_peek(limiter, 1).remaining, 6);
    decision = weir_take(limiter, 1);
    weir_settle(limiter, &decision, 16);
    assert_denied(weir_take(limiter, 1), S);
    decision = weir_take(limiter, 1);
    weir_settle(limiter, &decision, 0);
    assert_denied(weir_take(limiter, 1), S);
    set_ns(limiter, 5 * S);
    decision = weir_take(limiter, 10);
    set_ns(limiter, 5500 * MS);
    weir_cancel(limiter, &decision);
    assert_int_equal(weir_peek(limiter, 1).remaining, 9);
    weir_close(limiter);
}

static void test_settle_each(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10 requests/s; 100 tokens/s");
    const uint64_t cost[] = {1, 60}, actual[] = {1, 20}, unknown[] = {1, 0}, later[] = {1, 30}, rest[] = {0, 51};
    uint64_t end[2];
    weir_decision decision = weir_take_each(limiter, cost, end);
    weir_settle_each(limiter, &decision, cost, actual, end);
    weir_settle_each(limiter, &decision, cost, actual, end);
    assert_int_equal(decision.charged, 0);
    assert_denied(weir_take_each(limiter, (const uint64_t[]){1, 81}, NULL), 10 * MS);
    /* The tokens are known only afterwards: the cost of one limit was 0. */
    decision = weir_take_each(limiter, unknown, end);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    weir_settle_each(limiter, &decision, unknown, later, end);
    assert_denied(weir_take_each(limiter, rest, NULL), 10 * MS);
    assert_allowed(weir_take_each(limiter, (const uint64_t[]){8, 50}, NULL), 8);
    weir_close(limiter);
}

static void test_cancel_a_reservation(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=1");
    drain(limiter, 1);
    weir_decision first = weir_reserve(limiter, 1, WEIR_FOREVER), second = weir_reserve(limiter, 1, WEIR_FOREVER);
    /* Somebody waits behind the first, whose start is promised: nothing can be given back. */
    weir_cancel(limiter, &first);
    assert_denied(weir_take(limiter, 1), 300 * MS);
    weir_cancel(limiter, &second);
    assert_denied(weir_take(limiter, 1), 200 * MS);
    weir_close(limiter);
}

static void test_settle_after_a_change(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=10");
    weir_decision down = weir_take(limiter, 5), up = weir_take(limiter, 1);
    change(limiter, "10/s burst=20", WEIR_KEEP);
    weir_cancel(limiter, &down);
    assert_int_equal(weir_peek(limiter, 1).remaining, 13);
    weir_settle(limiter, &up, 5);
    assert_int_equal(weir_peek(limiter, 1).remaining, 9);
    weir_close(limiter);
}

/* ---- changing the limit ---- */

static void test_carry(void **state)
{
    (void)state;
    static const struct {
        weir_carry carry;
        uint64_t wait_ns; /* for 5 permits of 5/s burst=5, after 10 of 10/s burst=10 were used */
    } rows[] = {{WEIR_KEEP, S}, {WEIR_SCALE, 2 * S}, {WEIR_RESET, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        weir_limiter *limiter = open_manual("10/s burst=10");
        drain(limiter, 10);
        change(limiter, "5/s burst=5", rows[i].carry);
        const weir_decision decision = weir_reserve(limiter, 5, WEIR_FOREVER);
        assert_allowed(decision, 5);
        assert_about(decision.delay_ns, rows[i].wait_ns);
        weir_close(limiter);
    }
}

static void test_carry_of_a_list(void **state)
{
    (void)state;
    static const weir_carry carries[] = {WEIR_KEEP, WEIR_SCALE, WEIR_RESET};
    static const uint64_t waits_ns[] = {S, 2 * S, 0};
    for (int i = 0; i < 3; i++) {
        weir_limiter *limiter = open_manual("10/s burst=10; 1000/s burst=1000");
        drain(limiter, 10);
        change(limiter, "5/s burst=5; 1000/s burst=1000", carries[i]);
        assert_about(weir_reserve(limiter, 5, WEIR_FOREVER).delay_ns, waits_ns[i]);
        weir_close(limiter);
    }
}

static void assert_limit(weir_limiter *limiter, const char *expected)
{
    char text[128];
    memset(text, 'x', sizeof text);
    assert_int_equal(weir_limit_text(limiter, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
    memset(text, 'x', sizeof text);
    assert_int_equal(weir_limit_text(limiter, text, 4), strlen(expected));
    assert_memory_equal(text, ((char[]){expected[0], expected[1], expected[2], '\0', 'x'}), 5);
    assert_int_equal(weir_limit_text(limiter, NULL, 0), strlen(expected));
}

static void test_says_its_limit(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s");
    assert_limit(limiter, "10/s burst=10 algorithm=gcra");
    change(limiter, "20/s", WEIR_KEEP);
    assert_limit(limiter, "20/s burst=20 algorithm=gcra");
    assert_int_equal(weir_set_limit(limiter, "20/", WEIR_KEEP, NULL), WEIR_EINVAL);
    assert_int_equal(weir_set_limit(limiter, "9/s; 8/s", WEIR_KEEP, NULL), WEIR_EUNSUPPORTED);
    assert_limit(limiter, "20/s burst=20 algorithm=gcra");
    change(limiter, "2/min; none", WEIR_RESET);
    assert_limit(limiter, "2/min burst=2 algorithm=gcra; none");
    weir_close(limiter);
}

static void test_changes_that_are_refused(void **state)
{
    (void)state;
    static const char *const others[] = {"10/s algorithm=hybrid", "10/s; 20/s"};
    weir_error error;
    weir_limiter *limiter = open_manual("10/s burst=3");
    drain(limiter, 2 + 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(weir_set_limit(limiter, others[i], WEIR_KEEP, &error), WEIR_EUNSUPPORTED);
        assert_int_equal(error.code, WEIR_EUNSUPPORTED);
        assert_non_null(strstr(error.message, "WEIR_RESET"));
        assert_int_equal(weir_set_limit(limiter, others[i], WEIR_SCALE, NULL), WEIR_EUNSUPPORTED);
    }
    assert_int_equal(weir_set_limit(limiter, "10/", WEIR_KEEP, &error), WEIR_EINVAL);
    assert_int_equal(error.column, 4);
    assert_denied(weir_take(limiter, 1), 100 * MS);
    change(limiter, "10/s; 20/s", WEIR_RESET);
    drain(limiter, 10);
    change(limiter, "10/s burst=4", WEIR_RESET);
    drain(limiter, 4);
    weir_close(limiter);
}

/* Word, cell, hybrid, no state at all, and back. */
static void test_every_form_after_every_other(void **state)
{
    (void)state;
    static const char *const forms[] = {"10/s burst=3", "10/s burst=3; 1000/s burst=9",
                                        "10/s burst=3 start=full algorithm=hybrid", "unlimited",
                                        "7/s burst=3; 9/s burst=4; 1/h burst=5"};
    for (int from = 0; from < 5; from++) {
        for (int to = 0; to < 5; to++) {
            weir_limiter *limiter = open_manual(forms[from]);
            assert_allowed(weir_take(limiter, 2), 2);
            weir_decision old = weir_take(limiter, 1);
            change(limiter, forms[to], WEIR_RESET);
            weir_cancel(limiter, &old);
            assert_allowed(weir_take(limiter, 3), 3);
            if (to != 3) assert_int_equal(weir_take(limiter, 1).verdict, WEIR_DENY);
            weir_close(limiter);
        }
    }
}

/* Two permits are waited for. */
static void stand_two(weir_limiter *limiter, struct waiter waiter[2])
{
    drain(limiter, 10);
    stand(limiter, &waiter[0], 1);
    stand(limiter, &waiter[1], 1);
}

static void test_moved(void **state)
{
    (void)state;
    struct waiter waiter[2];
    weir_limiter *limiter = open_manual("10/s burst=10");
    stand_two(limiter, waiter);
    const weir_decision *decision = &waiter[1].decision;
    assert_int_equal(decision->start.ns, 200 * MS);
    /* The first has started, and nobody has told it yet. */
    set_ns(limiter, 100 * MS);
    change(limiter, "20/s burst=20", WEIR_KEEP);
    assert_int_equal(waiter[0].decision.start.ns, 100 * MS);
    assert_about(decision->start.ns, 150 * MS);
    assert_about(decision->delay_ns, 50 * MS);
    change(limiter, "2/s burst=2", WEIR_KEEP);
    change(limiter, "1/s burst=1", WEIR_KEEP);
    assert_about(decision->start.ns, 1100 * MS);
    assert_denied(weir_take(limiter, 1), 2 * S);
    set_ns(limiter, 600 * MS);
    change(limiter, "10/s burst=10", WEIR_KEEP);
    /* Half a second is still used, and that is half of the burst. */
    assert_about(decision->start.ns, 600 * MS);
    weir_close(limiter);
}

/* What was promised stays promised, and used; who stood before it stands behind it, and has used up its place. */
static void test_a_promised_start_stays(void **state)
{
    (void)state;
    struct waiter before, after;
    weir_limiter *limiter = open_manual("10/s burst=1");
    drain(limiter, 1);
    stand(limiter, &before, 1);
    const weir_decision promised = weir_reserve(limiter, 1, WEIR_FOREVER);
    stand(limiter, &after, 1);
    assert_int_equal(promised.start.ns, 200 * MS);
    change(limiter, "20/s burst=1", WEIR_SCALE);
    assert_about(before.decision.start.ns, 150 * MS);
    assert_about(after.decision.start.ns, 200 * MS);
    assert_denied(weir_take(limiter, 1), 250 * MS);
    /* Without a promise in between the same would be 50 and 100 ms. */
    weir_close(limiter);
}

/* Nothing is given back of what a change has forgotten. */
static void test_cancelled_after_a_change(void **state)
{
    (void)state;
    static const char *const limits[] = {"10/s burst=10",
                                         "10/s burst=10; 100/s",
                                         "10/s burst=10 algorithm=hybrid",
                                         "10/s burst=10 algorithm=bursty",
                                         "10/s algorithm=fixed-window",
                                         "10/s algorithm=sliding-window",
                                         "10/s algorithm=sliding-log",
                                         "10/s algorithm=cycle",
                                         "10/s burst=10 algorithm=leaky nodelay"};
    for (size_t i = 0; i < LENGTH(limits); i++) {
        weir_limiter *limiter = open_manual(limits[i]);
        weir_decision before = weir_take(limiter, 1);
        change(limiter, limits[i], WEIR_RESET);
        (void)weir_take(limiter, 1);
        const uint64_t left = weir_peek(limiter, 0).remaining;
        weir_cancel(limiter, &before);
        assert_int_equal(weir_peek(limiter, 0).remaining, left);
        weir_close(limiter);
    }
}

/* RESET forgets what was used, and keeps the order of those who wait, whatever the algorithms are then. */
static void test_moved_by_a_reset(void **state)
{
    (void)state;
    struct waiter waiter[2];
    weir_limiter *limiter = open_manual("10/s burst=10");
    stand_two(limiter, waiter);
    change(limiter, "1/s burst=1", WEIR_RESET);
    assert_about(waiter[0].decision.start.ns, 0);
    assert_about(waiter[1].decision.start.ns, S);
    change(limiter, "2/s burst=2", WEIR_KEEP);
    change(limiter, "10/s; 1/s burst=2 start=empty", WEIR_RESET);
    assert_about(waiter[1].decision.start.ns, S);
    weir_close(limiter);
}

static void test_moved_in_a_hybrid(void **state)
{
    (void)state;
    struct waiter first, second;
    weir_limiter *limiter = open_limiter("10/s burst=1 algorithm=hybrid", WEIR_CLOCK_MANUAL, WEIR_PACE);
    assert_int_equal(weir_reserve(limiter, 1, 0).delay_ns, 0);
    stand(limiter, &first, 1);
    assert_about(stand(limiter, &second, 1).start.ns, 200 * MS);
    set_ns(limiter, 50 * MS);
    change(limiter, "5/s burst=1 algorithm=hybrid", WEIR_KEEP);
    /* Of the 50 ms that are in the pool a fourth of a permit has been made. */
    assert_about(first.decision.start.ns, 200 * MS);
    assert_about(second.decision.start.ns, 400 * MS);
    weir_close(limiter);
}

/* Who has not been told yet that its start has come keeps it. */
static void test_not_moved_when_long_due(void **state)
{
    (void)state;
    static const char *const limits[][2] = {{"1000/s burst=1", "1/s burst=1"},
                                            {"1000/s burst=1; 1000/s burst=1", "1/s burst=1; 1/s burst=1"},
                                            {"1000/s burst=1 algorithm=hybrid", "1/s burst=1 algorithm=hybrid"}};
    for (int i = 0; i < 3; i++) {
        struct waiter waiter;
        weir_limiter *limiter = open_manual(limits[i][0]);
        (void)weir_take(limiter, 1);
        const weir_decision before = stand(limiter, &waiter, 1);
        set_ns(limiter, S);
        change(limiter, limits[i][1], WEIR_KEEP);
        assert_memory_equal(&waiter.decision, &before, sizeof before);
        weir_close(limiter);
    }
}

/* What one limit of a list forgot while a call waited for another is known again. */
static void test_moved_in_a_list(void **state)
{
    (void)state;
    struct waiter waiter[4];
    weir_limiter *limiter = open_manual("10/s burst=1; 1/s burst=3");
    for (int i = 0; i < 4; i++) stand(limiter, &waiter[i], 1);
    assert_int_equal(waiter[3].decision.start.ns, S);
    change(limiter, "10/s burst=1; 1/min burst=3", WEIR_SCALE);
    assert_about(waiter[3].decision.start.ns, 60 * S);
    change(limiter, "10/s burst=1; 1/h burst=3", WEIR_SCALE);
    change(limiter, "10/s burst=1; 1/s burst=3", WEIR_SCALE);
    assert_about(waiter[3].decision.start.ns, S);
    change(limiter, "10/s burst=1; 1000/s burst=3", WEIR_SCALE);
    for (uint64_t i = 1; i < 4; i++) assert_about(waiter[i].decision.start.ns, i * 100 * MS);
    weir_close(limiter);
}

/* Under a limit that is too small for it a call waits as the largest would. */
static void test_moved_where_it_is_too_large(void **state)
{
    (void)state;
    static const char *const limits[][2] = {{"10/s burst=10", "10/s burst=2"},
                                            {"10/s burst=10; 100/s", "10/s burst=2; 100/s"},
                                            {"10/s algorithm=sliding-log", "2/s algorithm=sliding-log"}};
    for (int i = 0; i < 3; i++) {
        struct waiter waiter[2];
        weir_limiter *limiter = open_manual(limits[i][0]);
        drain(limiter, 10);
        stand(limiter, &waiter[0], 5);
        stand(limiter, &waiter[1], 1);
        change(limiter, limits[i][1], WEIR_RESET);
        assert_int_equal(waiter[0].decision.start.ns, 0);
        assert_int_equal(waiter[0].decision.charged, 5);
        assert_about(waiter[1].decision.start.ns, i < 2 ? 400 * MS : S);
        weir_close(limiter);
    }
}

/* ---- the end of the clock ---- */

static void asks_as_usual(weir_limiter *limiter, uint64_t now_ns)
{
    const uint64_t burst = UINT64_C(1000000);
    assert_allowed(weir_take(limiter, burst), burst);
    assert_denied(weir_take(limiter, burst), burst / 1000);
    const weir_decision decision = weir_reserve(limiter, burst, WEIR_FOREVER);
    assert_allowed(decision, burst);
    assert_about(decision.start.ns, now_ns + burst / 1000);
    set_ns(limiter, now_ns + S);
    assert_int_equal(weir_peek(limiter, 1).remaining, burst - 1);
}

/* At 10^12 a second a clock of 2^62 ticks ends after 53 days. */
static void test_the_clock_is_set_anew(void **state)
{
    (void)state;
    static const uint64_t days[] = {1, 26, 27, 53, 54, 106, 107, 108, 200, 400, 36500};
    weir_limiter *limiter = open_manual("1000G/s burst=1000000");
    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
        set_ns(limiter, days[i] * DAY);
        asks_as_usual(limiter, days[i] * DAY);
    }
    weir_close(limiter);
}

static void test_every_question_sets_the_clock_anew(void **state)
{
    (void)state;
    for (int question = 0; question < 5; question++) {
        weir_limiter *limiter = open_manual("1000G/s burst=1000000");
        set_ns(limiter, 400 * DAY);
        weir_decision decision = {0};
        if (question == 0) decision = weir_take_wait(limiter, 1, 0);
        if (question == 1) decision = weir_take_wait(limiter, 1, 5);
        if (question == 2) decision = weir_peek(limiter, 1);
        if (question == 3) decision = weir_take_some(limiter, 1);
        if (question == 4) decision = weir_take_at(limiter, (weir_instant){500 * DAY}, 1);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        weir_close(limiter);
    }
}

/* ---- counting, stopping ---- */

static void test_stats(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=5");
    weir_stats stats;
    assert_allowed(weir_take(limiter, 3), 3);
    assert_int_equal(weir_take(limiter, 3).verdict, WEIR_DENY);
    assert_int_equal(weir_take(limiter, 6).verdict, WEIR_NEVER);
    (void)weir_peek(limiter, 1);
    assert_about(weir_reserve(limiter, 4, WEIR_FOREVER).delay_ns, 200 * MS);
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.calls, 4);
    assert_int_equal(stats.granted, 7);
    assert_int_equal(stats.denied, 2);
    assert_int_equal(stats.delayed, 1);
    assert_int_equal(stats.waiting_ns, 200 * MS);
    assert_int_equal(stats.late_now_ns, 0);
    weir_close(limiter);
}

static void test_stats_of_pacing(void **state)
{
    (void)state;
    weir_limiter *limiter = open_limiter("10/s", WEIR_CLOCK_MANUAL, WEIR_PACE);
    weir_stats stats;
    assert_allowed(weir_take(limiter, 1), 1);
    set_ns(limiter, 2 * S);
    assert_allowed(weir_take(limiter, 1), 1);
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_in_range(stats.late_max_ns, 1900 * MS, 2000 * MS);
    assert_in_range(stats.late_now_ns, 1800 * MS - 2, 1800 * MS + 2); /* 1.9 s, of which the pool holds one permit */
    weir_close(limiter);
}

/* A permit that is given ahead in part is told as a whole one, and one that is due in part not yet. */
static void test_stats_in_whole_permits(void **state)
{
    static const struct {
        uint64_t ns, due, ahead, backlog, missed;
    } rows[] = {
        {0, 1, 3, 0, 0},        {50 * MS, 1, 3, 0, 0},  {100 * MS, 2, 2, 0, 0},   {250 * MS, 3, 1, 0, 0},
        {300 * MS, 4, 0, 0, 0}, {399 * MS, 4, 0, 0, 0}, {1150 * MS, 12, 0, 2, 6},
    };
    (void)state;
    weir_limiter *limiter = open_limiter("10/s", WEIR_CLOCK_MANUAL, WEIR_PACE);
    for (int i = 0; i < 4; i++) assert_allowed(weir_reserve(limiter, 1, S), 1);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        weir_stats stats;
        set_ns(limiter, rows[i].ns);
        weir_read_stats(limiter, &stats, sizeof stats);
        assert_int_equal(stats.due, rows[i].due);
        assert_int_equal(stats.ahead, rows[i].ahead);
        assert_int_equal(stats.backlog, rows[i].backlog);
        assert_int_equal(stats.missed, rows[i].missed);
    }
    weir_close(limiter);
}

static uint64_t late_now_ns(weir_limiter *limiter)
{
    weir_stats stats;
    weir_read_stats(limiter, &stats, sizeof stats);
    return stats.late_now_ns;
}

/* Neither between two calls that come on time, nor by starts that are given out ahead, is anything missed. */
static void test_late_only_beyond_the_pool(void **state)
{
    (void)state;
    weir_limiter *limiter = open_limiter("1/min", WEIR_CLOCK_MANUAL, WEIR_PACE);
    for (uint64_t minute = 0; minute < 3; minute++) {
        set_ns(limiter, 60 * S * minute);
        assert_allowed(weir_take(limiter, 1), 1);
        set_ns(limiter, 60 * S * minute + 59 * S);
        assert_int_equal(late_now_ns(limiter), 0);
    }
    weir_close(limiter);
    limiter = open_limiter("1000/s burst=2", WEIR_CLOCK_MANUAL, WEIR_PACE);
    assert_allowed(weir_take(limiter, 1), 1);
    set_ns(limiter, S);
    const uint64_t late_ns = late_now_ns(limiter);
    assert_in_range(late_ns, 998 * MS - 2, 998 * MS + 2);
    for (int i = 0; i < 800; i++) weir_reserve(limiter, 1, WEIR_FOREVER);
    assert_int_equal(late_now_ns(limiter), late_ns);
    weir_close(limiter);
}

/* Workers that always have the next starts, as those of weir pace -j 32: what they will catch up by is not behind. */
static void test_not_late_by_workers_that_wait(void **state)
{
    (void)state;
    weir_limiter *limiter = open_limiter("50/s catchup=1.1", WEIR_CLOCK_MANUAL, WEIR_PACE);
    for (int i = 0; i < 32; i++) weir_reserve(limiter, 1, WEIR_FOREVER);
    for (uint64_t i = 1; i < 100; i++) {
        set_ns(limiter, 20 * MS * i);
        assert_int_equal(weir_reserve(limiter, 1, WEIR_FOREVER).delay_ns, 31 * 20 * MS);
        assert_int_equal(late_now_ns(limiter), 0);
    }
    weir_close(limiter);
}

/* What is dropped is not made up for, and the pool stays as it is. */
static void test_skip(void **state)
{
    (void)state;
    static const char *const texts[] = {"1000/s catchup=1.1", "1000/s", "1000/s algorithm=timeline"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        weir_limiter *limiter = open_limiter(texts[i], WEIR_CLOCK_MANUAL, WEIR_PACE);
        weir_stats stats;
        assert_allowed(weir_take(limiter, 1), 1);
        set_ns(limiter, 100 * MS);
        const weir_decision late = weir_peek(limiter, 1);
        assert_int_equal(late.due.ns, MS);
        const uint64_t left = weir_peek(limiter, 0).remaining;
        weir_skip(limiter, 90);
        weir_read_stats(limiter, &stats, sizeof stats);
        assert_int_equal(stats.due, 101);
        assert_int_equal(stats.missed + stats.backlog, 10);
        assert_int_equal(weir_peek(limiter, 0).remaining, left < 10 ? left : 10);
        assert_int_equal(weir_take(limiter, 1).due.ns, 91 * MS);
        weir_close(limiter);
    }
    weir_limiter *limiter = open_manual("10/s burst=5");
    weir_skip(limiter, 3);
    assert_int_equal(weir_peek(limiter, 0).remaining, 5);
    weir_close(limiter);
}

/* Also of a thread that has taken from other limiters, and so might take the fast path at once. */
static void test_begun(void **state)
{
    (void)state;
    weir_limiter *limiter = open_limiter("10/s burst=5", WEIR_CLOCK_MANUAL, WEIR_ADMIT);
    weir_stats stats;
    for (int again = 0; again < 2; again++) {
        const uint64_t begun_ns = (uint64_t)(again + 1) * S;
        weir_read_stats(limiter, &stats, sizeof stats);
        assert_int_equal(stats.begun_ns, 0);
        for (uint64_t ns = 0; ns < 3 * S; ns += S) {
            set_ns(limiter, begun_ns + ns);
            assert_allowed(weir_take(limiter, 1), 1);
            weir_read_stats(limiter, &stats, sizeof stats);
            assert_int_equal(stats.begun_ns, begun_ns);
            assert_int_equal(stats.elapsed_ns, ns);
        }
        change(limiter, "10/s burst=5", WEIR_RESET);
        set_ns(limiter, 2 * S);
    }
    weir_close(limiter);
}

/* Nothing passes, nobody falls behind, and afterwards it is as it was. */
static void test_pause(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        weir_use use;
    } rows[] = {{"1000/s", WEIR_PACE},
                {"1000/s catchup=2", WEIR_PACE},
                {"1000/s algorithm=timeline", WEIR_PACE},
                {"1000/s burst=5", WEIR_ADMIT},
                {"1000/s; 500/s", WEIR_PACE}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        weir_limiter *paused = open_limiter(rows[i].text, WEIR_CLOCK_MANUAL, rows[i].use);
        weir_limiter *runs = open_limiter(rows[i].text, WEIR_CLOCK_MANUAL, rows[i].use);
        char text[64];
        weir_stats stats;
        assert_allowed(weir_take(paused, 1), 1);
        assert_allowed(weir_take(runs, 1), 1);
        set_ns(paused, 50 * MS);
        set_ns(runs, 50 * MS);
        change(paused, " pause ", WEIR_KEEP);
        set_ns(paused, 60 * S);
        weir_limit_text(paused, text, sizeof text);
        assert_string_equal(text, "pause");
        assert_int_equal(weir_take(paused, 1).verdict, WEIR_DENY);
        assert_int_equal(weir_take_at(paused, (weir_instant){0}, 1).verdict, WEIR_DENY);
        assert_int_equal(weir_take_wait(paused, 1, S).verdict, WEIR_DENY);
        assert_int_equal(weir_reserve(paused, 1, WEIR_FOREVER - 1).verdict, WEIR_DENY);
        assert_int_equal(weir_peek_limit(paused, 0, 1).verdict, WEIR_DENY);
        weir_read_stats(paused, &stats, sizeof stats);
        const uint64_t late_ns = stats.late_now_ns;
        change(paused, rows[i].text, WEIR_KEEP);
        change(runs, rows[i].text, WEIR_KEEP);
        weir_read_stats(runs, &stats, sizeof stats);
        assert_in_range(stats.late_now_ns, late_ns - (late_ns > 3 ? 3 : late_ns), late_ns + 3);
        for (uint64_t ns = 0; ns < 200 * MS; ns += 100 * US) {
            set_ns(paused, 60 * S + ns);
            set_ns(runs, 50 * MS + ns);
            const weir_decision one = weir_take(paused, 1), other = weir_take(runs, 1);
            assert_int_equal(one.verdict, other.verdict);
            assert_int_equal(one.remaining, other.remaining);
            const bool scheduled = weir_allowed(one) && one.due.ns != 0;
            if (scheduled) assert_int_equal(one.due.ns - 60 * S, other.due.ns - 50 * MS);
        }
        weir_read_stats(paused, &stats, sizeof stats);
        assert_in_range(stats.elapsed_ns, 250 * MS - 100 * US - 1, 250 * MS - 100 * US);
        weir_close(paused);
        weir_close(runs);
    }
}

/* As of its beginning: what is charged then does not last until its end, and nothing drains. */
static void test_settled_during_a_pause(void **state)
{
    (void)state;
    static const char *const texts[] = {"10/s burst=20", "10/s burst=20; 100000/h burst=100"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        weir_limiter *limiter = open_manual(texts[i]);
        set_ns(limiter, S);
        weir_decision more = weir_take(limiter, 1), less = weir_take(limiter, 5);
        change(limiter, "pause", WEIR_KEEP);
        set_ns(limiter, 3600 * S);
        weir_settle(limiter, &less, 2);
        weir_settle(limiter, &more, 3);
        change(limiter, texts[i], WEIR_KEEP);
        assert_int_equal(weir_peek(limiter, 0).remaining, 20 - 3 - 2);
        weir_close(limiter);
    }
}

static void test_a_debt_stays_in_a_pause(void **state)
{
    (void)state;
    static const char *const texts[] = {"10/s burst=5", "10/s algorithm=bursty", "10/s warmup=5s",
                                        "10/s algorithm=fixed-window", "10/s; 20/s algorithm=bursty"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        weir_limiter *limiter = open_manual(texts[i]);
        set_ns(limiter, S);
        weir_charge(limiter, 20);
        const uint64_t retry_ns = weir_peek(limiter, 1).retry_ns;
        assert_true(retry_ns > 100 * MS);
        change(limiter, "pause", WEIR_KEEP);
        set_ns(limiter, 3600 * S);
        change(limiter, texts[i], WEIR_KEEP);
        assert_about(weir_peek(limiter, 1).retry_ns, retry_ns);
        weir_close(limiter);
    }
}

static void test_stop(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s");
    const uint64_t one[] = {1};
    weir_decision before = weir_take(limiter, 1);
    weir_stop(limiter);
    weir_stop(limiter);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_STOPPED);
    assert_int_equal(weir_take_at(limiter, (weir_instant){S}, 1).verdict, WEIR_STOPPED);
    assert_int_equal(weir_take_some(limiter, 1).verdict, WEIR_STOPPED);
    assert_int_equal(weir_take_each(limiter, one, NULL).verdict, WEIR_STOPPED);
    assert_int_equal(weir_reserve(limiter, 1, 0).verdict, WEIR_STOPPED);
    assert_int_equal(weir_take_wait(limiter, 1, WEIR_FOREVER).verdict, WEIR_STOPPED);
    assert_int_equal(weir_peek(limiter, 1).verdict, WEIR_STOPPED);
    weir_cancel(limiter, &before);
    weir_close(limiter);
}

/* ---- waiting ---- */

/* The waiter has his slot once the next free one is later. */
static void wait_until_retry_is(weir_limiter *limiter, uint64_t retry_ns)
{
    while (weir_peek(limiter, 1).retry_ns < retry_ns) sched_yield();
}

static void test_charge(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=4 debt=6");
    weir_decision decision = weir_charge(limiter, 3);
    assert_allowed(decision, 3);
    assert_int_equal(decision.remaining, 1);
    assert_allowed(weir_charge(limiter, 4), 4);
    assert_denied(weir_take(limiter, 1), 400 * MS);
    assert_allowed(weir_charge(limiter, 100), 3); /* six are owed now, no more */
    assert_denied(weir_take(limiter, 1), 700 * MS);
    decision = weir_charge(limiter, 1);
    assert_allowed(decision, 0);
    weir_settle(limiter, &decision, 50); /* was known when it was charged: nothing to settle */
    assert_denied(weir_take(limiter, 1), 700 * MS);
    set_ns(limiter, 700 * MS);
    assert_allowed(weir_take(limiter, 1), 1);
    weir_close(limiter);
}

static void test_charge_of_a_list(void **state)
{
    (void)state;
    weir_limiter *limiter =
        open_manual("10/s burst=4 debt=2; 1000/s burst=1000; 100/s burst=50 algorithm=hybrid start=full");
    assert_allowed(weir_charge(limiter, 40), 6);
    assert_denied(weir_peek_limit(limiter, 0, 1), 300 * MS);
    assert_int_equal(weir_peek_limit(limiter, 1, 1).remaining, 959);
    assert_int_equal(weir_peek_limit(limiter, 2, 1).remaining, 9);
    assert_int_equal(weir_peek_limit(limiter, 2, 1).limit, 2);
    weir_close(limiter);
}

static void test_settle_up_to_the_debt(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=4 debt=2");
    weir_decision decision = weir_take(limiter, 1);
    weir_settle(limiter, &decision, 1000);
    assert_denied(weir_take(limiter, 1), 300 * MS);
    weir_close(limiter);
}

/* What stands behind the costs of its limits is not read. */
static void test_each_of_one(void **state)
{
    (void)state;
    static const char *const limits[] = {"10/s burst=5", "5/s algorithm=sliding-log",
                                         "5/s count-refused algorithm=sliding-log"};
    for (size_t i = 0; i < LENGTH(limits); i++) {
        weir_limiter *limiter = open_manual(limits[i]);
        const uint64_t cost[2] = {3, 9}, actual[2] = {1, 9};
        uint64_t end[2] = {0, 77};
        weir_decision decision = weir_take_each(limiter, cost, end);
        assert_allowed(decision, 3);
        assert_int_equal(end[1], 77);
        weir_settle_each(limiter, &decision, cost, actual, end);
        assert_int_equal(weir_peek(limiter, 0).remaining, 4);
        assert_allowed(weir_take_each_wait(limiter, cost, end, 0), 3);
        assert_int_equal(weir_peek(limiter, 0).remaining, 1);
        weir_close(limiter);
    }
}

static void test_peek_limit(void **state)
{
    (void)state;
    weir_limiter *one = open_manual("10/s burst=4");
    assert_int_equal(weir_peek_limit(one, 0, 1).remaining, 3);
    assert_int_equal(weir_peek_limit(one, 1, 1).verdict, WEIR_NEVER);
    assert_int_equal(weir_peek_limit(one, -1, 1).verdict, WEIR_NEVER);
    assert_int_equal(weir_peek_limit(one, 8, 1).verdict, WEIR_NEVER);
    weir_stop(one);
    assert_int_equal(weir_peek_limit(one, 0, 1).verdict, WEIR_STOPPED);
    weir_close(one);
    weir_limiter *list = open_manual("10/s burst=4; 1/min burst=2");
    drain(list, 2);
    assert_int_equal(weir_peek_limit(list, 0, 1).verdict, WEIR_ALLOW);
    assert_denied(weir_peek_limit(list, 1, 1), 60000 * MS);
    assert_int_equal(weir_peek_limit(list, 1, 3).verdict, WEIR_NEVER);
    assert_int_equal(weir_peek_limit(list, 2, 1).verdict, WEIR_NEVER);
    weir_close(list);
}

static void test_full(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=4; 2/min algorithm=fixed-window");
    set_ns(limiter, 777 * MS);
    const weir_decision first = weir_take(limiter, 1);
    assert_int_equal(first.limit, 1);
    assert_int_equal(weir_full_ns(limiter, &first), 60000 * MS);
    assert_allowed(weir_take(limiter, 1), 1);
    const weir_decision refused = weir_take(limiter, 1);
    assert_int_equal(weir_full_ns(limiter, &refused), 60000 * MS);
    change(limiter, "10/s burst=4", WEIR_RESET);
    assert_allowed(weir_take(limiter, 3), 3);
    const weir_decision last = weir_take(limiter, 1);
    assert_int_equal(weir_full_ns(limiter, &last), 400 * MS);
    set_ns(limiter, 877 * MS);
    assert_int_equal(weir_full_ns(limiter, &last), 400 * MS);
    change(limiter, "20/s burst=4", WEIR_SCALE);
    assert_int_equal(weir_full_ns(limiter, &last), 150 * MS);
    const weir_decision charged = weir_charge(limiter, 10);
    assert_int_equal(weir_full_ns(limiter, &charged), 650 * MS);
    change(limiter, "none", WEIR_RESET);
    assert_int_equal(weir_full_ns(limiter, &last), 0);
    weir_close(limiter);
}

static void test_take_wait_at_once(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=1");
    assert_allowed(weir_take_wait(limiter, 1, WEIR_FOREVER), 1);
    assert_denied(weir_take_wait(limiter, 1, 0), 100 * MS);
    assert_denied(weir_take_wait(limiter, 1, 100 * MS - 1), 1);
    assert_int_equal(weir_take_wait(limiter, 2, WEIR_FOREVER).verdict, WEIR_NEVER);
    weir_close(limiter);
}

static void test_take_wait(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=1");
    struct queued queued = {.limiter = limiter, .wait_max_ns = 100 * MS};
    drain(limiter, 1);
    queued_start(&queued);
    wait_until_retry_is(limiter, 200 * MS);
    set_ns(limiter, 50 * MS);
    change(limiter, "1/s burst=1", WEIR_SCALE);
    set_ns(limiter, 549 * MS);
    assert_denied(weir_take_wait(limiter, 1, 0), 1001 * MS);
    set_ns(limiter, 550 * MS + 3);
    const weir_decision decision = queued_end(&queued);
    assert_allowed(decision, 1);
    assert_about(decision.start.ns, 550 * MS);
    assert_int_equal(decision.delay_ns, 550 * MS + 3); /* so long it was held */
    weir_stats stats;
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.calls, 4);
    assert_int_equal(stats.granted, 2);
    assert_int_equal(stats.denied, 2);
    assert_int_equal(stats.delayed, 1);
    assert_int_equal(stats.waiting_ns, 550 * MS + 3);
    weir_close(limiter);
}

/* Who waits when it begins waits on, and his start moves by as much. */
static void test_pause_holds_waiters(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=1");
    struct queued queued = {.limiter = limiter, .wait_max_ns = WEIR_FOREVER};
    drain(limiter, 1);
    queued_start(&queued);
    wait_until_retry_is(limiter, 200 * MS);
    set_ns(limiter, 50 * MS);
    change(limiter, "pause", WEIR_KEEP);
    set_ns(limiter, 10 * S);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_DENY);
    change(limiter, "10/s burst=1", WEIR_KEEP);
    assert_int_equal(weir_peek(limiter, 1).retry_ns, 150 * MS);
    set_ns(limiter, 10 * S + 50 * MS + 3);
    const weir_decision decision = queued_end(&queued);
    assert_allowed(decision, 1);
    assert_about(decision.start.ns, 10 * S + 50 * MS);
    weir_close(limiter);
}

static void test_stop_wakes(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=1");
    struct queued queued = {.limiter = limiter, .wait_max_ns = WEIR_FOREVER};
    drain(limiter, 1);
    queued_start(&queued);
    wait_until_retry_is(limiter, 200 * MS);
    weir_stop(limiter);
    assert_int_equal(queued_end(&queued).verdict, WEIR_STOPPED);
    weir_close(limiter);
}

/* ---- the other clocks ---- */

static void test_clocks_move_on(void **state)
{
    (void)state;
    static const weir_clock clocks[] = {WEIR_CLOCK_SYSTEM, WEIR_CLOCK_COARSE, WEIR_CLOCK_TICKER, WEIR_CLOCK_TSC};
    for (int i = 0; i < 4; i++) {
        weir_options options = WEIR_OPTIONS;
        weir_limiter *limiter;
        options.clock = clocks[i];
        options.tick_ns = 100000;
        options.min_sleep_ns = 1000;
        options.spin_ns = 20000;
        assert_int_equal(weir_open(&limiter, "1000/s burst=2", &options, NULL), 0);
        weir_manual_set(limiter, (weir_instant){UINT64_MAX});
        const uint64_t before_ns = weir_peek(limiter, 1).start.ns;
        for (int taken = 0; taken < 12; taken++) {
            const weir_decision decision = weir_take_wait(limiter, 1, WEIR_FOREVER);
            assert_allowed(decision, 1);
            assert_true(weir_now().ns >= decision.start.ns);
        }
        while (weir_peek(limiter, 1).start.ns < before_ns + 10 * MS)
            weir_sleep_until((weir_instant){weir_now().ns + MS});
        weir_close(limiter);
    }
    const uint64_t when_ns = weir_now().ns + 2 * MS;
    weir_sleep_until((weir_instant){when_ns});
    assert_true(weir_now().ns >= when_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_refuses),
        cmocka_unit_test(test_options_of_another_version),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_size_that_was_forgotten),
        cmocka_unit_test(test_no_limits),
        cmocka_unit_test(test_decision_of_no_limit),
        cmocka_unit_test(test_stats_of_other_versions),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_take_at),
        cmocka_unit_test(test_take_some),
        cmocka_unit_test(test_take_each),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_reserve_beyond_the_horizon),
        cmocka_unit_test(test_limits_without_a_rate),
        cmocka_unit_test(test_settle),
        cmocka_unit_test(test_settle_each),
        cmocka_unit_test(test_cancel_a_reservation),
        cmocka_unit_test(test_settle_after_a_change),
        cmocka_unit_test(test_carry),
        cmocka_unit_test(test_carry_of_a_list),
        cmocka_unit_test(test_says_its_limit),
        cmocka_unit_test(test_changes_that_are_refused),
        cmocka_unit_test(test_every_form_after_every_other),
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_a_promised_start_stays),
        cmocka_unit_test(test_cancelled_after_a_change),
        cmocka_unit_test(test_moved_by_a_reset),
        cmocka_unit_test(test_moved_in_a_hybrid),
        cmocka_unit_test(test_not_moved_when_long_due),
        cmocka_unit_test(test_moved_in_a_list),
        cmocka_unit_test(test_moved_where_it_is_too_large),
        cmocka_unit_test(test_the_clock_is_set_anew),
        cmocka_unit_test(test_every_question_sets_the_clock_anew),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_stats_of_pacing),
        cmocka_unit_test(test_stats_in_whole_permits),
        cmocka_unit_test(test_late_only_beyond_the_pool),
        cmocka_unit_test(test_not_late_by_workers_that_wait),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_settled_during_a_pause),
        cmocka_unit_test(test_a_debt_stays_in_a_pause),
        cmocka_unit_test(test_pause_holds_waiters),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_charge),
        cmocka_unit_test(test_charge_of_a_list),
        cmocka_unit_test(test_settle_up_to_the_debt),
        cmocka_unit_test(test_each_of_one),
        cmocka_unit_test(test_peek_limit),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_take_wait_at_once),
        cmocka_unit_test(test_begun),
        cmocka_unit_test(test_take_wait),
        cmocka_unit_test(test_stop_wakes),
        cmocka_unit_test(test_clocks_move_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
