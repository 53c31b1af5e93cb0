/* SPDX-License-Identifier: MIT
   A log in the hands of a setter, in exact numbers: what may wait, what is forgotten, another ring.

   The other rings come where time has run on far, so that timestamps count from another origin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "share/log_view.h"
#include "unit/plans.h"

enum { SLOTS = LOG_CAPACITY_MIN };

/* Timestamps reach so far behind the moment at which a log was made, and as far ahead. */
static const uint64_t REACH_NS = UINT64_C(1) << 53;

static unsigned yields;

static void yield(void)
{
    yields++;
}

static struct log *made(uint64_t now_ns)
{
    struct log *log = aligned_alloc(SHARE_LINE, log_size(SLOTS));
    assert_non_null(log);
    memset(log, 0, log_size(SLOTS));
    log_make(log, SLOTS, now_ns, yield);
    return log;
}

static struct log *opened(const char *text, uint64_t now_ns)
{
    const weir_plan plan = plan_of(text);
    struct log *log = made(now_ns);
    struct log_view view;
    assert_false(log_close(log, &view));
    log_change(&view, &plan_inside_const(&plan)->rule[0]);
    log_open(&view);
    return log;
}

static weir_decision asked(struct log *log, struct ask ask)
{
    weir_decision decision;
    assert_int_equal(log_decide(log, &ask, &decision), LOG_HERE);
    return decision;
}

static weir_decision taken(struct log *log, uint64_t now_ns, uint64_t cost)
{
    const weir_decision decision = asked(log, (struct ask){.now_ns = now_ns, .cost = cost});
    assert_delay(decision, 0);
    return decision;
}

static weir_decision reserved(struct log *log, uint64_t now_ns, uint64_t cost)
{
    const weir_decision decision =
        asked(log, (struct ask){.now_ns = now_ns, .cost = cost, .wait_max_ns = WEIR_FOREVER});
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    return decision;
}

static uint64_t remaining(struct log *log, uint64_t now_ns)
{
    return asked(log, (struct ask){.now_ns = now_ns, .peek = true}).remaining;
}

/* Forgets all but what starts after then. */
static void forget(struct log *log, uint64_t until_ns)
{
    struct log_view view;
    assert_true(log_close(log, &view));
    log_forget(&view, until_ns);
    log_open(&view);
}

static uint64_t can_wait(struct log *log, uint64_t now_ns)
{
    struct log_view view;
    assert_true(log_hold(log, &view));
    const uint64_t may = log_can_wait(&view, now_ns);
    log_let_go(&view);
    return may;
}

/* Into another ring of the same size; what is there is what was told to it. */
static struct log *moved(struct log *from, uint64_t now_ns)
{
    struct log_view view, again;
    struct log *to = made(now_ns);
    assert_true(log_close(from, &view));
    log_move(&view, to, now_ns);
    assert_ptr_equal(view.log, to);
    assert_false(log_is_open(from));
    assert_false(log_close(to, &again)); /* not open before its setter opens it */
    assert_memory_equal(&again.set, &view.set, sizeof view.set);
    assert_int_equal(again.position, view.position);
    log_open(&view);
    free(from);
    return to;
}

/* ---- made, and waited for ---- */

static void made_closed(void **unused)
{
    (void)unused;
    struct log *log = made(10 * REACH_NS);
    weir_decision decision;
    assert_false(log_is_open(log));
    assert_int_equal(log_decide(log, &(struct ask){.now_ns = 10 * REACH_NS, .cost = 1}, &decision), LOG_ELSEWHERE);
    assert_int_equal(log->origin_ns, 9 * REACH_NS);
    assert_int_equal(log_ends_ns(log), 11 * REACH_NS);
    free(log);
}

/* It spins a hundred times before it yields. */
static void spins_then_yields(void **unused)
{
    (void)unused;
    struct log *log = made(0);
    yields = 0;
    for (unsigned attempt = 1; attempt <= 200; attempt++) {
        log_wait(log, attempt);
        assert_int_equal(yields, attempt / 100);
    }
    free(log);
}

/* ---- what may wait ---- */

/* The ring, but for twice the count, and for those that wait already. */
static void as_many_as_can_wait(void **unused)
{
    (void)unused;
    struct log *log = opened("2/s algorithm=sliding-log", 0);
    assert_int_equal(can_wait(log, 10 * S), SLOTS - 1 - 2 * 2);
    taken(log, 10 * S, 2);
    forget(log, 10 * S);
    reserved(log, 10 * S, 2);
    reserved(log, 10 * S, 1);
    assert_int_equal(can_wait(log, 10 * S), SLOTS - 1 - 2 * 2 - 1);
    /* By a clock that is behind all three wait, but none of those that are forgotten. */
    assert_int_equal(can_wait(log, 9 * S), SLOTS - 1 - 2 * 2 - 3);
    free(log);
}

/* What is charged and fits does not wait, whatever another clock says. */
static void what_is_charged_now(void **unused)
{
    (void)unused;
    struct log *log = opened("2/s algorithm=sliding-log", 0);
    assert_int_equal(asked(log, (struct ask){.now_ns = 10 * S, .cost = 2, .charge = true}).charged, 2);
    assert_int_equal(can_wait(log, 9 * S), SLOTS - 1 - 2 * 2);
    assert_int_equal(asked(log, (struct ask){.now_ns = 10 * S, .cost = 1, .charge = true}).charged, 1);
    assert_int_equal(can_wait(log, 10 * S), SLOTS - 1 - 2 * 2 - 1);
    free(log);
}

/* So that every call that waits finds room. */
static void above_twice_the_count(void **unused)
{
    (void)unused;
    static const uint64_t rows[][2] = {{0, 64}, {31, 64}, {32, 128}, {63, 128}, {64, 256}, {100, 256}, {128, 512}};
    for (size_t i = 0; i < LENGTH(rows); i++) assert_int_equal(log_capacity(rows[i][0]), rows[i][1]);
}

/* A call that finds no room is told when it would pass, as if it must not wait. */
static void told_what_is_refused_as_full(void **unused)
{
    (void)unused;
    struct log *log = opened("2/s algorithm=sliding-log", 0);
    weir_decision decision;
    taken(log, 10 * S, 1);
    taken(log, 10 * S + 1, 1);
    const uint64_t room = can_wait(log, 10 * S + 1) / 2;
    for (uint64_t i = 0; i < room; i++) reserved(log, 10 * S + 1, 2);
    const struct ask ask = {.now_ns = 10 * S + 1, .cost = 2, .wait_max_ns = WEIR_FOREVER};
    assert_int_equal(log_decide(log, &ask, &decision), LOG_FULL);
    assert_retry(decision, (room + 1) * S);
    assert_int_equal(decision.charged, 0);
    free(log);
}

/* ---- one call ---- */

/* The end of the first limit is told, be the head held for it or not; of those behind it nothing is. */
static void told_where_it_ends(void **unused)
{
    (void)unused;
    struct log *log = opened("5/s algorithm=sliding-log", 0);
    uint64_t end[] = {77, 77};
    for (uint64_t cost = 1; cost <= 2; cost++) {
        const weir_decision decision = asked(log, (struct ask){.now_ns = 10 * S, .cost = cost, .end = end});
        assert_int_equal(end[0], decision.end);
        assert_int_equal(end[0], cost * (cost + 1) / 2);
        assert_int_equal(end[1], 77);
    }
    free(log);
}

static void costs_what_the_first_limit_does(void **unused)
{
    (void)unused;
    const uint64_t each[] = {2, 3};
    struct log *log = opened("5/s algorithm=sliding-log", 0);
    assert_int_equal(asked(log, (struct ask){.now_ns = 10 * S, .cost = 4, .each = each}).charged, 2);
    assert_int_equal(remaining(log, 10 * S), 3);
    free(log);
}

/* Whoever holds the head seals it.  A call of one permit that passes now, one that is refused and one that only looks
   do not; those of more, or that wait, do. */
static void without_a_lock(void **unused)
{
    (void)unused;
    struct log *log = opened("2/s algorithm=sliding-log", 0);
    const uint64_t sealed = atom_load(&log->seals);
    taken(log, 10 * S, 1);
    taken(log, 10 * S, 1);
    assert_retry(asked(log, (struct ask){.now_ns = 10 * S, .cost = 1}), S);
    assert_retry(asked(log, (struct ask){.now_ns = 10 * S, .cost = 2}), S);
    assert_int_equal(remaining(log, 10 * S), 0);
    assert_int_equal(atom_load(&log->seals), sealed);
    reserved(log, 10 * S, 1);
    assert_int_equal(atom_load(&log->seals), sealed + 1);
    taken(log, 12 * S, 2);
    assert_int_equal(atom_load(&log->seals), sealed + 2);
    free(log);
}

/* The last start is the last ns that a timestamp counts. */
static void up_to_the_last_timestamp(void **unused)
{
    (void)unused;
    for (uint64_t beyond = 0; beyond < 2; beyond++) {
        struct log *log = opened("1/s algorithm=sliding-log", 0);
        const uint64_t now_ns = LOG_NS_MAX - S + beyond;
        taken(log, now_ns, 1);
        const struct ask ask = {.now_ns = now_ns, .cost = 1, .wait_max_ns = WEIR_FOREVER};
        if (beyond) assert_retry(asked(log, ask), WEIR_FOREVER);
        else assert_delay(asked(log, ask), S);
        free(log);
    }
    /* Nothing starts after it, nor is there anything left. */
    struct log *log = opened("1/s algorithm=sliding-log", 0);
    const weir_decision decision = asked(log, (struct ask){.now_ns = LOG_NS_MAX + 1, .cost = 1});
    assert_retry(decision, WEIR_FOREVER);
    assert_int_equal(decision.remaining, 0);
    free(log);
}

/* ---- what is forgotten ---- */

/* Nothing of it comes back, and what comes later has a later timestamp, by a 64th of a ns. */
static void forgotten_for_good(void **unused)
{
    (void)unused;
    struct log *log = opened("2/s algorithm=sliding-log", 0);
    struct log_view view;
    taken(log, 10 * S, 2);
    assert_true(log_close(log, &view));
    log_forget(&view, 10 * S);
    assert_int_equal(view.set.base, 2);
    assert_int_equal(view.set.floor, (10 * S << LOG_FINE_BITS) + 1);
    log_forget(&view, 9 * S); /* by a clock that is behind */
    assert_int_equal(view.set.base, 2);
    assert_int_equal(view.set.floor, (10 * S << LOG_FINE_BITS) + 1);
    log_open(&view);
    assert_int_equal(remaining(log, 10 * S), 2);
    /* Nor is it given back for another call of the same time. */
    weir_decision decision = taken(log, 10 * S, 1), copy = decision;
    assert_int_equal(log_settle(log, 10 * S, &decision, 0), LOG_HERE);
    assert_int_equal(log_settle(log, 10 * S, &copy, 0), LOG_HERE);
    assert_int_equal(remaining(log, 10 * S), 2);
    assert_true(log_close(log, &view));
    assert_int_equal(view.position, 2);
    free(log);
}

/* ---- another ring ---- */

static void the_same_times_in_another_ring(void **unused)
{
    (void)unused;
    const uint64_t now_ns = 10 * REACH_NS;
    struct log *log = opened("2/s algorithm=sliding-log", now_ns);
    taken(log, now_ns, 2);
    log = moved(log, now_ns + S / 2);
    assert_int_equal(log->origin_ns, 9 * REACH_NS);
    assert_retry(asked(log, (struct ask){.now_ns = now_ns + S / 2, .cost = 1}), S / 2);
    free(log);
}

/* Behind the end of its times they count from another origin. */
static void other_times_in_another_ring(void **unused)
{
    (void)unused;
    const uint64_t ends_ns = 11 * REACH_NS;
    for (int forgets = 0; forgets < 2; forgets++) {
        struct log *log = opened("1/2s algorithm=sliding-log", 10 * REACH_NS);
        taken(log, ends_ns - S, 1);
        if (forgets) forget(log, ends_ns - S);
        log = moved(log, ends_ns);
        assert_int_equal(log->origin_ns, 10 * REACH_NS);
        if (forgets) taken(log, ends_ns, 1);
        assert_retry(asked(log, (struct ask){.now_ns = ends_ns, .cost = 1}), forgets ? 2 * S : S);
        free(log);
    }
}

/* A call that waits does so there, too, if it is the only one that is left. */
static void the_one_that_waits(void **unused)
{
    (void)unused;
    struct log *log = opened("1/s algorithm=sliding-log", 0);
    taken(log, 10 * S, 1);
    reserved(log, 10 * S, 1);
    forget(log, 10 * S);
    log = moved(log, 10 * S);
    assert_int_equal(can_wait(log, 10 * S), SLOTS - 1 - 2 - 1);
    assert_retry(asked(log, (struct ask){.now_ns = 10 * S, .cost = 1}), 2 * S);
    free(log);
}

/* Positions go back only as far as the ring has the count behind the highest one; in a new ring nothing was higher. */
static void given_back_in_another_ring(void **unused)
{
    (void)unused;
    for (int moves = 0; moves < 2; moves++) {
        struct log *log = opened("30/s algorithm=sliding-log", 0);
        weir_decision first = taken(log, 10 * S, 30), second = taken(log, 11 * S, 30);
        log_settle(log, 11 * S, &second, 0);
        assert_int_equal(remaining(log, 11 * S), 30);
        if (moves) log = moved(log, 11 * S);
        log_settle(log, 11 * S, &first, 0);
        assert_int_equal(remaining(log, 10 * S), moves ? 30 : 0);
        free(log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_closed),
        cmocka_unit_test(spins_then_yields),
        cmocka_unit_test(as_many_as_can_wait),
        cmocka_unit_test(what_is_charged_now),
        cmocka_unit_test(above_twice_the_count),
        cmocka_unit_test(told_what_is_refused_as_full),
        cmocka_unit_test(told_where_it_ends),
        cmocka_unit_test(costs_what_the_first_limit_does),
        cmocka_unit_test(without_a_lock),
        cmocka_unit_test(up_to_the_last_timestamp),
        cmocka_unit_test(forgotten_for_good),
        cmocka_unit_test(the_same_times_in_another_ring),
        cmocka_unit_test(other_times_in_another_ring),
        cmocka_unit_test(the_one_that_waits),
        cmocka_unit_test(given_back_in_another_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
