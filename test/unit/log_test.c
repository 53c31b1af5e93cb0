/* SPDX-License-Identifier: MIT
   A sliding log shared by threads: by hand on the manual clock, and step by step against the pure core.

   Exact numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "api/limiter.h"
#include "core/algorithm.h"
#include "core/clock.h"
#include "core/decide.h"
#include "share/log_view.h"
#include "size.h"
#include "unit/random.h"
#include "unit/plans.h"
#include "unit/standing.h"
#include "unit/skip.h"
#include "unit/memory_limit.h"

static weir_limiter *open_log(const char *limits)
{
    weir_limiter *limiter = open_manual(limits);
    assert_int_equal(limiter->home, HOME_LOG);
    return limiter;
}

static uint64_t slots(const weir_limiter *limiter)
{
    return limiter_log(limiter)->mask + 1;
}

static void takes(weir_limiter *limiter, uint64_t cost, uint64_t remaining)
{
    const weir_decision decision = weir_take(limiter, cost);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(decision.charged, cost);
    assert_int_equal(decision.delay_ns, 0);
    assert_int_equal(decision.remaining, remaining);
}

static void denies(weir_limiter *limiter, uint64_t cost, uint64_t retry_ns)
{
    const weir_decision decision = weir_take(limiter, cost);
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_int_equal(decision.retry_ns, retry_ns);
    assert_int_equal(decision.charged, 0);
}

/* ---- by hand ---- */

static void exactly_so_many_in_any_period(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("3/s algorithm=sliding-log");
    set_ns(limiter, 5 * S);
    takes(limiter, 1, 2);
    set_ns(limiter, 5 * S + 400 * MS);
    takes(limiter, 2, 0);
    denies(limiter, 1, 600 * MS);
    denies(limiter, 2, 1000 * MS);
    assert_int_equal(weir_take(limiter, 4).verdict, WEIR_NEVER);
    set_ns(limiter, 6 * S - 1);
    denies(limiter, 1, 1);
    set_ns(limiter, 6 * S);
    denies(limiter, 2, 400 * MS);
    takes(limiter, 1, 0);
    denies(limiter, 1, 400 * MS);
    set_ns(limiter, 6 * S + 400 * MS);
    assert_int_equal(weir_take_some(limiter, 9).charged, 2);
    assert_int_equal(weir_take_some(limiter, 9).verdict, WEIR_DENY);
    takes(limiter, 0, 0);
    weir_close(limiter);
}

static void a_closed_edge_lasts_a_ns_longer(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("1/s algorithm=sliding-log edge=closed");
    takes(limiter, 1, 0);
    denies(limiter, 1, S + 1);
    set_ns(limiter, S);
    denies(limiter, 1, 1);
    set_ns(limiter, S + 1);
    takes(limiter, 1, 0);
    weir_close(limiter);
}

static void a_clock_that_goes_back_earns_and_loses_nothing(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("2/s algorithm=sliding-log");
    const weir_instant late = {20 * S}, early = {19 * S};
    assert_int_equal(weir_take_at(limiter, late, 1).verdict, WEIR_ALLOW);
    const weir_decision decision = weir_take_at(limiter, early, 1);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(decision.start.ns, early.ns);
    assert_int_equal(weir_take_at(limiter, early, 1).retry_ns, 2 * S);
    assert_int_equal(weir_take_at(limiter, late, 1).retry_ns, S);
    assert_int_equal(weir_take_at(limiter, (weir_instant){21 * S}, 2).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

static void reservations_start_when_they_may(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("2/s algorithm=sliding-log");
    takes(limiter, 1, 1);
    set_ns(limiter, 200 * MS);
    takes(limiter, 1, 0);
    weir_decision first = weir_reserve(limiter, 1, S), second = weir_reserve(limiter, 2, 10 * S);
    assert_int_equal(first.start.ns, S);
    assert_int_equal(first.delay_ns, 800 * MS);
    assert_int_equal(second.start.ns, 2 * S);
    assert_int_equal(weir_reserve(limiter, 1, S).retry_ns, 1800 * MS);
    denies(limiter, 1, 2800 * MS);
    /* Somebody waits behind: nothing is given back; then nobody does. */
    weir_decision kept = first;
    weir_cancel(limiter, &kept);
    denies(limiter, 1, 2800 * MS);
    weir_cancel(limiter, &second);
    denies(limiter, 1, 1000 * MS);
    weir_cancel(limiter, &first);
    denies(limiter, 1, 800 * MS);
    set_ns(limiter, S);
    takes(limiter, 1, 0);
    weir_close(limiter);
}

static void what_was_taken_is_given_back(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("3/s algorithm=sliding-log");
    weir_decision first = weir_take(limiter, 1);
    set_ns(limiter, 100 * MS);
    weir_decision second = weir_take(limiter, 2);
    denies(limiter, 1, 900 * MS);
    weir_cancel(limiter, &first);
    weir_cancel(limiter, &first);
    assert_int_equal(weir_peek(limiter, 1).remaining, 0);
    assert_int_equal(weir_peek(limiter, 1).verdict, WEIR_ALLOW);
    weir_settle(limiter, &second, 1);
    second = weir_take_some(limiter, 9);
    assert_int_equal(second.charged, 2);
    denies(limiter, 1, S);
    change(limiter, "3/s algorithm=sliding-log", WEIR_KEEP);
    weir_cancel(limiter, &second);
    denies(limiter, 1, S);
    for (int i = 0; i < 1000; i++) {
        set_ns(limiter, 10 * S + (uint64_t)i);
        weir_decision decision = weir_take(limiter, 3);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        weir_cancel(limiter, &decision);
    }
    assert_int_equal(slots(limiter), 64);
    weir_close(limiter);
}

/* No further back than to where the ring knows what was before. */
static void what_is_long_over_is_given_back_too(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("20/s algorithm=sliding-log");
    weir_decision decision[100];
    for (uint64_t i = 0; i < 100; i++) {
        set_ns(limiter, i * S);
        decision[i] = weir_take(limiter, 1);
    }
    for (int i = 99; i >= 0; i--) weir_cancel(limiter, &decision[i]);
    struct log *log = limiter_log(limiter);
    const struct log_view view = log_view_at(log, atom_load(&log->head));
    assert_int_equal(view.position, 100 - (64 - 1 - 20));
    takes(limiter, 20, 0);
    denies(limiter, 1, S);
    weir_close(limiter);
}

static void a_charge_delays_those_after_it(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("2/s algorithm=sliding-log");
    weir_decision decision = weir_take(limiter, 1);
    assert_int_equal(weir_charge(limiter, 1000).charged, 1000);
    denies(limiter, 1, 500 * S);
    assert_true(slots(limiter) >= 1024);
    weir_settle(limiter, &decision, 2001);
    denies(limiter, 1, 1500 * S);
    set_ns(limiter, 1501 * S);
    takes(limiter, 1, 1);
    assert_true(weir_charge(limiter, WEIR_FOREVER).charged > 1000000);
    weir_close(limiter);
}

static void as_many_as_want_can_wait(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("3/s algorithm=sliding-log");
    static struct waiter waiter[1000];
    for (uint64_t i = 0; i < 1000; i++) assert_int_equal(stand(limiter, &waiter[i], 1).start.ns, i / 3 * S);
    assert_int_equal(slots(limiter), 1024);
    set_ns(limiter, 100 * S);
    /* 303 have started. */
    change(limiter, "1000/s algorithm=sliding-log", WEIR_SCALE);
    for (uint64_t i = 303; i < 1000; i++) assert_int_equal(waiter[i].decision.start.ns, 100 * S);
    takes(limiter, 300, 0);
    change(limiter, "1/h algorithm=sliding-log", WEIR_KEEP);
    assert_int_equal(weir_reserve(limiter, 1, WEIR_FOREVER).delay_ns, 3600 * S);
    weir_close(limiter);
}

/* A bucket has no ring that could have grown with them. */
static void as_many_can_have_waited_for_a_bucket(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    static struct waiter waiter[MANY];
    weir_limiter *limiter = open_manual("1/s burst=1");
    for (uint64_t i = 0; i < MANY; i++) assert_int_equal(stand(limiter, &waiter[i], 1).start.ns, i * S);
    change(limiter, "2/s algorithm=sliding-log", WEIR_RESET);
    for (uint64_t i = 1; i < MANY; i++) {
        assert_int_equal(waiter[i].decision.verdict, WEIR_ALLOW);
        assert_int_equal(waiter[i].decision.start.ns, (i - 1) / 2 * S);
    }
    weir_close(limiter);
}

static void waiters_are_moved_call_by_call(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("4/s algorithm=sliding-log");
    takes(limiter, 4, 0);
    struct waiter three, two;
    assert_int_equal(stand(limiter, &three, 3).start.ns, S);
    assert_int_equal(stand(limiter, &two, 2).start.ns, 2 * S);
    change(limiter, "3/2s algorithm=sliding-log", WEIR_KEEP);
    assert_int_equal(three.decision.start.ns, 2 * S);
    assert_int_equal(two.decision.start.ns, 4 * S);
    change(limiter, "5/s algorithm=sliding-log", WEIR_RESET);
    assert_int_equal(three.decision.start.ns, 0);
    assert_int_equal(two.decision.start.ns, 0);
    denies(limiter, 1, S);
    weir_close(limiter);
}

/* ---- changes ---- */

/* Also those that the ring would have forgotten for who wait and cancel. */
static void a_count_that_comes_back_finds_its_entries(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("24/s algorithm=sliding-log");
    weir_decision waiting[100];
    for (int i = 0; i < 24; i++) takes(limiter, 1, 23 - (uint64_t)i);
    change(limiter, "1/s algorithm=sliding-log", WEIR_KEEP);
    for (int i = 0; i < 100; i++) waiting[i] = weir_reserve(limiter, 1, WEIR_FOREVER);
    assert_int_equal(waiting[99].start.ns, 100 * S);
    for (int i = 99; i >= 0; i--) weir_cancel(limiter, &waiting[i]);
    denies(limiter, 1, S);
    change(limiter, "24/s algorithm=sliding-log", WEIR_KEEP);
    denies(limiter, 1, S);
    change(limiter, "30/s algorithm=sliding-log", WEIR_KEEP);
    takes(limiter, 6, 0);
    weir_close(limiter);
}

/* A ring made for five a second has lost most of a minute; a limit by the minute takes that for used. */
static void what_is_lost_counts_under_a_longer_period(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("5/s algorithm=sliding-log");
    for (uint64_t t = 0; t < 30; t++) {
        weir_manual_set(limiter, (weir_instant){t * S});
        assert_int_equal(weir_take_some(limiter, 5).charged, 5);
    }
    assert_int_equal(weir_set_limit(limiter, "200/min algorithm=sliding-log", WEIR_KEEP, NULL), 0);
    assert_int_equal(weir_peek(limiter, 0).remaining, 50);
    weir_close(limiter);
}

static void the_limit_changes_in_use(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("3/s algorithm=sliding-log");
    takes(limiter, 3, 0);
    set_ns(limiter, 500 * MS);
    change(limiter, "5/s algorithm=sliding-log", WEIR_KEEP);
    takes(limiter, 2, 0);
    change(limiter, "4/s algorithm=sliding-log", WEIR_SCALE);
    denies(limiter, 1, 500 * MS);
    set_ns(limiter, S);
    takes(limiter, 2, 0);
    change(limiter, "4/100ms algorithm=sliding-log", WEIR_KEEP);
    takes(limiter, 2, 0);
    change(limiter, "40/s algorithm=sliding-log", WEIR_KEEP);
    takes(limiter, 34, 0);
    change(limiter, "2/s algorithm=sliding-log", WEIR_RESET);
    takes(limiter, 2, 0);
    denies(limiter, 1, S);
    change(limiter, "100000/s algorithm=sliding-log", WEIR_KEEP);
    takes(limiter, 99998, 0);
    denies(limiter, 1, S);
    assert_true(slots(limiter) > 200000);
    weir_close(limiter);
}

static void other_homes_are_reached_by_a_reset(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("3/s algorithm=sliding-log");
    weir_error error;
    takes(limiter, 3, 0);
    assert_int_equal(weir_set_limit(limiter, "3/s gap=1ms algorithm=sliding-log", WEIR_KEEP, &error),
                     WEIR_EUNSUPPORTED);
    assert_string_equal(
        error.message,
        "usage cannot be carried over to or from a log with gap= or count-refused; change with WEIR_RESET");
    assert_int_equal(weir_set_limit(limiter, "3/s", WEIR_KEEP, &error), WEIR_EUNSUPPORTED);
    denies(limiter, 1, S);
    static const char *const others[] = {"3/s gap=1ns algorithm=sliding-log", "3/s", "5/s; 3/s algorithm=sliding-log",
                                         "3/s count-refused algorithm=sliding-log", "3/s algorithm=hybrid burst=3"};
    for (int i = 0; i < 50; i++) {
        change(limiter, others[i % 5], WEIR_RESET);
        assert_int_not_equal(limiter->home, HOME_LOG);
        assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
        change(limiter, "3/s algorithm=sliding-log", WEIR_RESET);
        takes(limiter, 3, 0);
        denies(limiter, 1, S);
    }
    assert_int_equal(slots(limiter), 64);
    assert_null(limiter_log(limiter)->older);
    weir_close(limiter);
}

static void years_pass(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("2/day algorithm=sliding-log");
    const uint64_t day = 86400 * S, year = 365 * day;
    for (uint64_t now = 0; now < 60 * year; now += year / 2 + 3) {
        set_ns(limiter, now);
        takes(limiter, 1, 1);
        set_ns(limiter, now + day / 2);
        takes(limiter, 1, 0);
        denies(limiter, 1, day / 2);
    }
    set_ns(limiter, UINT64_MAX - 5 * S);
    takes(limiter, 2, 0);
    weir_close(limiter);
}

/* The times between two rings may be more than a timestamp can count. */
static void an_entry_is_old_after_any_leap(void **state)
{
    (void)state;
    for (unsigned bits = 55; bits < 64; bits++) {
        weir_limiter *limiter = open_log("5/s algorithm=sliding-log");
        set_ns(limiter, log_ends_ns(limiter_log(limiter)) - S);
        takes(limiter, 5, 0);
        set_ns(limiter, (UINT64_C(1) << bits) + (UINT64_C(1) << 53));
        takes(limiter, 5, 0);
        weir_close(limiter);
    }
}

/* A charge in it may need a larger ring. */
static void a_pause_lasts_while_the_ring_grows(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("5/s algorithm=sliding-log");
    const uint64_t small = slots(limiter);
    set_ns(limiter, S);
    change(limiter, "pause", WEIR_KEEP);
    weir_charge(limiter, 3 * small);
    assert_true(slots(limiter) > small);
    set_ns(limiter, 3600 * S);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_DENY);
    change(limiter, "5/s algorithm=sliding-log", WEIR_KEEP);
    takes(limiter, 1, 4);
    weir_close(limiter);
}

/* Those that wait fill it, and it has room for four bursts. */
static void a_ring_grows_beyond_what_may_wait_where_the_burst_needs_it(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("1500000/s algorithm=sliding-log");
    const uint64_t small = slots(limiter), charged = small + small / 4;
    assert_int_equal(weir_charge(limiter, charged).charged, charged);
    assert_int_equal(slots(limiter), 2 * small);
    weir_close(limiter);
}

static void a_ring_that_grew_keeps_its_size_when_its_clock_ends(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("5/s algorithm=sliding-log");
    const struct log *first = limiter_log(limiter);
    weir_charge(limiter, 3 * slots(limiter));
    const struct log *grown = limiter_log(limiter);
    const uint64_t large = slots(limiter);
    assert_ptr_not_equal(grown, first);
    set_ns(limiter, log_ends_ns(grown));
    takes(limiter, 5, 0);
    assert_ptr_not_equal(limiter_log(limiter), grown);
    assert_int_equal(slots(limiter), large);
    weir_close(limiter);
}

/* It waited by another algorithm; its last entries fill the ring, and a change that writes each would never end. */
static void a_waiter_may_be_larger_than_the_ring(void **state)
{
    (void)state;
    weir_limiter *limiter = open_limiter("1000/s burst=10", WEIR_CLOCK_MANUAL, WEIR_PACE);
    const uint64_t cost = UINT64_C(1) << 40;
    struct waiter waiter;
    assert_int_equal(weir_take(limiter, 10).verdict, WEIR_ALLOW);
    assert_true(stand(limiter, &waiter, cost).delay_ns != 0);
    change(limiter, "5/s algorithm=sliding-log", WEIR_RESET);
    assert_int_equal(waiter.decision.verdict, WEIR_ALLOW);
    assert_int_equal(waiter.decision.start.ns, 0);
    assert_int_equal(waiter.decision.charged, cost);
    denies(limiter, 1, S);
    weir_close(limiter);
}

enum { MEMORY_CAN_RUN_OUT = !SANITIZED }; /* else it is the sanitizer's */

/* Whoever cannot have a new ring goes on with the old one, and does not ask for it in every call. */
static void a_clock_is_kept_without_memory(void **state)
{
    (void)state;
    struct rlimit before, none;
    if (!MEMORY_CAN_RUN_OUT) skip_because("unit/log: no memory", "it is the sanitizer's", SKIP_CURE_PLAIN);
    skip_without_memory_limit("unit/log: no memory");
    weir_limiter *limiter = open_log("1000000/s algorithm=sliding-log");
    const struct log *log = limiter_log(limiter);
    const uint64_t end_ns = log_ends_ns(log);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    none = before;
    none.rlim_cur = 0;
    set_ns(limiter, end_ns);
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    takes(limiter, 1, 999999);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_ptr_equal(limiter_log(limiter), log);
    assert_true(atom_load(&limiter->clock_ends_ns) > end_ns);
    set_ns(limiter, end_ns + 3600 * S);
    takes(limiter, 1, 999999);
    assert_ptr_not_equal(limiter_log(limiter), log);
    weir_close(limiter);
}

static void all_is_back_when_the_last_entry_counts_no_more(void **state)
{
    (void)state;
    static const struct {
        const char *limits;
        uint64_t full_ns;
    } rows[] = {{"2/s algorithm=sliding-log", S},
                {"2/s edge=closed algorithm=sliding-log", S + 1},
                {"2/s edge=closed algorithm=sliding-log; 9/s", S + 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        weir_limiter *limiter = open_manual(rows[i].limits);
        const weir_decision decision = weir_take(limiter, 1);
        assert_int_equal(weir_full_ns(limiter, &decision), rows[i].full_ns);
        set_ns(limiter, rows[i].full_ns - 1);
        assert_int_equal(weir_peek_limit(limiter, 0, 1).remaining, 0);
        set_ns(limiter, rows[i].full_ns);
        assert_int_equal(weir_peek_limit(limiter, 0, 1).remaining, 1);
        weir_close(limiter);
    }
}

/* From now on, not from a decision of long ago. */
static void after_a_change_all_is_back_as_seen_from_now(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("2/s algorithm=sliding-log");
    const weir_decision decision = weir_take(limiter, 1), denied = weir_take(limiter, 2);
    assert_int_equal(weir_full_ns(limiter, &denied), S);
    set_ns(limiter, S / 4);
    assert_int_equal(weir_full_ns(limiter, &decision), S);
    change(limiter, "2/s algorithm=sliding-log", WEIR_KEEP);
    assert_int_equal(weir_full_ns(limiter, &decision), 3 * S / 4);
    assert_int_equal(weir_full_ns(limiter, &denied), 3 * S / 4);
    set_ns(limiter, 9 * S);
    assert_int_equal(weir_full_ns(limiter, &decision), 0);
    weir_close(limiter);
}

static void what_has_no_state_is_left_with_keep(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("unlimited");
    change(limiter, "2/s algorithm=sliding-log", WEIR_KEEP);
    takes(limiter, 2, 0);
    denies(limiter, 1, S);
    change(limiter, "unlimited", WEIR_SCALE);
    takes(limiter, 7, UINT64_MAX);
    change(limiter, "2/s gap=0.1s algorithm=sliding-log", WEIR_KEEP);
    assert_int_equal(weir_set_limit(limiter, "2/s algorithm=sliding-log", WEIR_KEEP, NULL), WEIR_EUNSUPPORTED);
    weir_close(limiter);
}

static void a_waiter_is_woken_by_a_change(void **state)
{
    (void)state;
    weir_limiter *limiter = open_log("1/h algorithm=sliding-log");
    struct queued queued = {.limiter = limiter, .wait_max_ns = WEIR_FOREVER};
    takes(limiter, 1, 0);
    queued_start(&queued);
    while (weir_peek(limiter, 1).retry_ns != 7200 * S) sched_yield();
    change(limiter, "1/s algorithm=sliding-log", WEIR_KEEP);
    set_ns(limiter, S);
    const weir_decision decision = queued_end(&queued);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(decision.start.ns, S);
    weir_close(limiter);
}

/* ---- straight from a log ---- */

static void pause_no_more(void)
{
}

/* Of 16 entries, from time 0 on. */
static struct log *log_alone(const struct rule *rule)
{
    struct log_view view;
    struct log *log = aligned_alloc(SHARE_LINE, log_size(LOG_CAPACITY_MIN));
    assert_non_null(log);
    memset(log, 0, log_size(LOG_CAPACITY_MIN));
    log_make(log, LOG_CAPACITY_MIN, 0, pause_no_more);
    assert_false(log_close(log, &view)); /* it was not open */
    log_change(&view, rule);
    log_open(&view);
    return log;
}

static void every_limit_has_its_cost_and_end(void **state)
{
    (void)state;
    const uint64_t each[WEIR_LIMITS_MAX] = {3, 9};
    uint64_t end[WEIR_LIMITS_MAX] = {0};
    weir_limiter *limiter = open_log("5/s algorithm=sliding-log");
    weir_decision decision;
    takes(limiter, 1, 4);
    const struct ask ask = {.cost = 1, .each = each, .end = end, .charge = true};
    limiter_ask(limiter, &ask, &decision);
    assert_int_equal(decision.charged, 3);
    assert_int_equal(decision.remaining, 1);
    assert_int_equal(end[0], weir_take(limiter, 1).end - 1);
    weir_close(limiter);
}

/* Beyond all that a timestamp can count nothing starts. */
static void no_start_beyond_all_times(void **state)
{
    (void)state;
    weir_plan plan = plan_of("1/day algorithm=sliding-log");
    struct rule rule = plan_inside(&plan)->rule[0];
    rule.period_ns = UINT64_C(1) << (LOG_NS_BITS - 2);
    assert_true(log_fits(&rule));
    struct log *log = log_alone(&rule);
    weir_decision decision;
    const struct ask waits = {.cost = 1, .wait_max_ns = WEIR_FOREVER};
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(log_decide(log, &waits, &decision), LOG_HERE);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        assert_true(decision.delay_ns == i * rule.period_ns);
    }
    assert_int_equal(log_decide(log, &waits, &decision), LOG_HERE);
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_true(decision.retry_ns == WEIR_FOREVER);
    free(log);
    rule.period_ns++;
    assert_false(log_fits(&rule));
    rule.period_ns--;
    rule.burst = UINT64_C(1) << 48;
    assert_true(log_fits(&rule));
    rule.burst++;
    assert_false(log_fits(&rule));
}

static struct log_view closed_view;

static void open_now(void)
{
    log_open(&closed_view);
}

/* Who asks for the last entry waits for a setter. */
static void the_last_entry_of_a_log_that_is_held(void **state)
{
    (void)state;
    const weir_plan plan = plan_of("2/s algorithm=sliding-log");
    struct log *log = log_alone(&plan_inside_const(&plan)->rule[0]);
    weir_decision decision;
    uint64_t last_ns = 0;
    assert_false(log_last(log, &last_ns));
    log_decide(log, &(struct ask){.now_ns = 7 * S, .cost = 1}, &decision);
    assert_true(log_last(log, &last_ns));
    assert_int_equal(last_ns, 7 * S);
    assert_true(log_close(log, &closed_view));
    assert_true(log_let_in(&closed_view, 9 * S, 1, &decision));
    log->yield = open_now;
    assert_true(log_last(log, &last_ns));
    assert_int_equal(last_ns, 9 * S);
    free(log);
}

static void setters_are_told_what_does_not_fit(void **state)
{
    (void)state;
    const weir_plan plan = plan_of("2/s algorithm=sliding-log");
    struct log *log = log_alone(&plan_inside_const(&plan)->rule[0]);
    struct log_view view;
    weir_decision decision, in;
    const struct ask waits = {.now_ns = S, .cost = 2, .wait_max_ns = WEIR_FOREVER};
    log_decide(log, &waits, &decision);
    log_decide(log, &waits, &decision);
    assert_int_equal(decision.delay_ns, S);
    assert_true(log_close(log, &view));
    /* A call that starts at another time is not in the log; nor is what is in it taken out for it. */
    weir_decision other = decision;
    other.start.ns--;
    assert_false(log_take_out(&view, &other, 2));
    other = decision;
    other.end--;
    assert_false(log_take_out(&view, &other, 2));
    assert_true(log_take_out(&view, &decision, 2));
    /* Beside the two that count there is room for as many as the ring has, but for twice the count. */
    const uint64_t room = LOG_CAPACITY_MIN - 1 - 2 * 2;
    assert_false(log_let_in(&view, S, room + 1, &in));
    assert_true(log_let_in(&view, S, room, &in));
    assert_int_equal(in.delay_ns, S);
    assert_int_equal(in.end, decision.end - 2 + room);
    free(log);
}

/* ---- against the core ---- */

/* But for the end, which counts what is given back after it has drained. */
static bool same(const weir_decision *a, const weir_decision *b)
{
    return a->verdict == b->verdict && a->start.ns == b->start.ns && a->delay_ns == b->delay_ns &&
           a->retry_ns == b->retry_ns && a->remaining == b->remaining && a->charged == b->charged;
}

enum { KEPT = 8, STEPS = 2000 };

struct pair {
    weir_limiter *limiter;
    struct rule rule;
    uint64_t *state;
    weir_decision shared[KEPT], pure[KEPT];
    uint64_t now_ns;
};

static void compare(struct pair *pair, const struct ask *ask, uint64_t *seed)
{
    const int at = (int)random_below(seed, KEPT);
    const struct rules rules = {&pair->rule, 1};
    weir_decision shared, pure;
    uint64_t cost = ask->cost;
    if (ask->some) cost = decide_passing(rules, pair->state, ask->now_ns, ask->cost);
    const struct question question = {ask->now_ns, ask->wait_max_ns, &cost, ask->peek};
    limiter_ask(pair->limiter, ask, &shared);
    if (ask->charge) decide_charge(rules, pair->state, ask->now_ns, &cost, &pure);
    else decide(rules, pair->state, &question, NULL, &pure);
    if (!same(&shared, &pure)) {
        fail_msg("cost %" PRIu64 " wait %" PRIu64 " at %" PRIu64 ": the log says %u %" PRIu64 " %" PRIu64 " %" PRIu64
                 " %" PRIu64 " %" PRIu64 ", the core %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
                 ask->cost, ask->wait_max_ns, ask->now_ns, shared.verdict, shared.start.ns, shared.retry_ns, shared.end,
                 shared.remaining, shared.charged, pure.verdict, pure.start.ns, pure.retry_ns, pure.end, pure.remaining,
                 pure.charged);
    }
    if (ask->charge || ask->peek) return;
    pair->shared[at] = shared;
    pair->pure[at] = pure;
}

static void settle_both(struct pair *pair, uint64_t *seed)
{
    const int at = (int)random_below(seed, KEPT);
    weir_decision *pure = &pair->pure[at];
    if (pure->verdict != WEIR_ALLOW) return;
    const uint64_t actual = random_below(seed, pure->charged + 2);
    decide_settle((struct rules){&pair->rule, 1}, pair->state, pair->now_ns, pure, &pure->charged, &actual, &pure->end);
    weir_settle(pair->limiter, &pair->shared[at], actual);
    pure->verdict = 0;
    pair->shared[at].verdict = 0;
}

static struct rule rule_of(const char *limits)
{
    weir_plan plan;
    assert_int_equal(weir_plan_parse(&plan, limits, WEIR_ADMIT, NULL), 0);
    struct rule rule = plan_inside_const(&plan)->rule[0];
    /* A core that keeps no more than the count does not know what was before a reservation that is cancelled. */
    rule.fourth = 4096;
    return rule;
}

static void open_both(struct pair *pair, const char *limits)
{
    pair->rule = rule_of(limits);
    pair->limiter = open_log(limits);
    pair->state = calloc(state_words(&pair->rule, algorithm_of(&pair->rule)), sizeof *pair->state);
}

/* What was granted before is not settled any more. */
static void change_both(struct pair *pair, uint64_t *seed)
{
    const weir_carry carry = (weir_carry)random_below(seed, 3);
    char text[80];
    snprintf(text, sizeof text, "%u/%uns algorithm=sliding-log edge=%s", (unsigned)(1 + random_below(seed, 30)),
             (unsigned)(1 + random_below(seed, 2000)), random_below(seed, 2) != 0 ? "closed" : "open");
    const struct rule from = pair->rule;
    uint64_t *before = pair->state;
    pair->rule = rule_of(text);
    pair->state = calloc(state_words(&pair->rule, algorithm_of(&pair->rule)), sizeof *pair->state);
    algorithm_of(&from)->carry(&from, &pair->rule, before, pair->state, tick_at(&from, pair->now_ns), carry);
    free(before);
    change(pair->limiter, text, carry);
    memset(pair->pure, 0, sizeof pair->pure);
    memset(pair->shared, 0, sizeof pair->shared);
}

static struct ask any_question(const struct pair *pair, uint64_t *seed, bool one)
{
    const uint64_t count = pair->rule.burst, verb = random_below(seed, 12);
    struct ask ask = {.now_ns = pair->now_ns, .cost = 1};
    if (verb >= 6 && !one) ask.cost = 1 + random_below(seed, count + 1);
    if (verb == 7) ask.some = true;
    if (verb == 8 || verb == 5) ask.wait_max_ns = random_below(seed, 3 * pair->rule.period_ns);
    if (verb == 9) ask.peek = true;
    if (verb == 10) ask.charge = random_below(seed, 3) == 0;
    return ask;
}

/* With changes all costs are 1: the core moves those that wait permit by permit, the log call by call. */
static void run_against_core(const char *limits, uint64_t seed, bool changes)
{
    struct pair pair = {0};
    open_both(&pair, limits);
    for (int i = 0; i < STEPS; i++) {
        const uint64_t step = random_below(&seed, 4), period = pair.rule.period_ns;
        if (step == 0) pair.now_ns += random_below(&seed, 2 * period);
        if (step == 1) pair.now_ns += random_below(&seed, period / pair.rule.burst + 2);
        set_ns(pair.limiter, pair.now_ns);
        const struct ask ask = any_question(&pair, &seed, changes);
        if (changes && random_below(&seed, 20) == 0) change_both(&pair, &seed);
        else if (random_below(&seed, 12) == 0) settle_both(&pair, &seed);
        else compare(&pair, &ask, &seed);
    }
    free(pair.state);
    weir_close(pair.limiter);
}

static void the_log_answers_as_the_core(void **state)
{
    (void)state;
    static const char *const limits[] = {"1/s", "2/s", "3/100ns", "7/h", "20/min", "1000/s"};
    for (uint64_t i = 0; i < 240; i++) {
        char text[80];
        snprintf(text, sizeof text, "%s algorithm=sliding-log edge=%s", limits[i / 2 % 6],
                 i / 12 % 2 ? "closed" : "open");
        run_against_core(text, i + 1, i % 2 != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_so_many_in_any_period),
        cmocka_unit_test(a_closed_edge_lasts_a_ns_longer),
        cmocka_unit_test(a_clock_that_goes_back_earns_and_loses_nothing),
        cmocka_unit_test(reservations_start_when_they_may),
        cmocka_unit_test(what_was_taken_is_given_back),
        cmocka_unit_test(what_is_long_over_is_given_back_too),
        cmocka_unit_test(a_charge_delays_those_after_it),
        cmocka_unit_test(as_many_as_want_can_wait),
        cmocka_unit_test(as_many_can_have_waited_for_a_bucket),
        cmocka_unit_test(waiters_are_moved_call_by_call),
        cmocka_unit_test(what_is_lost_counts_under_a_longer_period),
        cmocka_unit_test(the_limit_changes_in_use),
        cmocka_unit_test(a_count_that_comes_back_finds_its_entries),
        cmocka_unit_test(other_homes_are_reached_by_a_reset),
        cmocka_unit_test(years_pass),
        cmocka_unit_test(an_entry_is_old_after_any_leap),
        cmocka_unit_test(a_pause_lasts_while_the_ring_grows),
        cmocka_unit_test(a_ring_grows_beyond_what_may_wait_where_the_burst_needs_it),
        cmocka_unit_test(a_ring_that_grew_keeps_its_size_when_its_clock_ends),
        cmocka_unit_test(a_waiter_may_be_larger_than_the_ring),
        cmocka_unit_test(a_clock_is_kept_without_memory),
        cmocka_unit_test(all_is_back_when_the_last_entry_counts_no_more),
        cmocka_unit_test(after_a_change_all_is_back_as_seen_from_now),
        cmocka_unit_test(what_has_no_state_is_left_with_keep),
        cmocka_unit_test(a_waiter_is_woken_by_a_change),
        cmocka_unit_test(every_limit_has_its_cost_and_end),
        cmocka_unit_test(no_start_beyond_all_times),
        cmocka_unit_test(the_last_entry_of_a_log_that_is_held),
        cmocka_unit_test(setters_are_told_what_does_not_fit),
        cmocka_unit_test(the_log_answers_as_the_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
