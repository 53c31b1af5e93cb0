/* SPDX-License-Identifier: MIT
   Calls that wait for slots of a concurrent limit: the order of their starts, and what a release, a renewal, the end of
   a lease, a change and a stop do to them.

   The clock is moved by hand, the threads are real.  The slots of later calls have higher ids, so the order of the
   decisions can be read in them, whichever thread gets to run first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/limiter.h"
#include "unit/plans.h"
#include "unit/standing.h"

enum { CALLERS_MAX = 2 * TURN_EVENTS + 3, PATIENCE_MS = 10000, MOMENT_MS = 15 };

struct caller {
    pthread_t thread;
    uint64_t cost, wait_max_ns;
    const uint64_t *each;
    uint64_t end[WEIR_LIMITS_MAX];
    bool leased;
    weir_decision decision;
    atomic_bool over;
};

static weir_limiter *limiter;
static struct caller caller[CALLERS_MAX];
static int callers;

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void open_at(const char *limits, uint64_t now_ns)
{
    weir_options options = WEIR_OPTIONS;
    options.clock = WEIR_CLOCK_MANUAL;
    assert_int_equal(weir_open(&limiter, limits, &options, NULL), 0);
    weir_manual_set(limiter, at(now_ns));
    callers = 0;
}

static void close_all(void)
{
    weir_stop(limiter);
    for (int i = 0; i < callers; i++) pthread_join(caller[i].thread, NULL);
    assert_int_equal(turns_waiting(&limiter->turns), 0);
    weir_close(limiter);
}

static void *wait_here(void *context)
{
    struct caller *me = context;
    weir_lease lease = {0};
    if (me->leased && weir_lease_open(&lease, limiter, NULL) != 0) exit(1);
    if (me->leased) me->decision = weir_lease_take_wait(&lease, me->cost, me->wait_max_ns);
    else if (me->each != NULL) me->decision = weir_take_each_wait(limiter, me->each, me->end, me->wait_max_ns);
    else me->decision = weir_take_wait(limiter, me->cost, me->wait_max_ns);
    if (me->leased) weir_lease_close(&lease);
    atomic_store(&me->over, true);
    return NULL;
}

static void start_thread(struct caller *me)
{
    assert_int_equal(pthread_create(&me->thread, NULL, wait_here, me), 0);
}

/* Returns when it waits in turn behind those that came before, or is over. */
static struct caller *start(struct caller how)
{
    struct caller *me = &caller[callers++];
    const uint64_t before = turns_waiting(&limiter->turns);
    *me = how;
    start_thread(me);
    for (int ms = 0; turns_waiting(&limiter->turns) <= before && !atomic_load(&me->over); ms++) {
        if (ms == PATIENCE_MS) fail_msg("call %d does not wait", callers - 1);
        nap_ms(1);
    }
    return me;
}

static struct caller *call(uint64_t cost)
{
    return start((struct caller){.cost = cost, .wait_max_ns = WEIR_FOREVER});
}

/* The same for a call that reserves its start: it has a slot by then. */
static struct caller *call_ahead(uint64_t cost)
{
    struct caller *me = &caller[callers++];
    const uint64_t before = weir_peek_limit(limiter, 0, 0).remaining;
    *me = (struct caller){.cost = cost, .wait_max_ns = WEIR_FOREVER};
    start_thread(me);
    for (int ms = 0; weir_peek_limit(limiter, 0, 0).remaining == before && ms < PATIENCE_MS; ms++) nap_ms(1);
    assert_int_equal(weir_peek_limit(limiter, 0, 0).remaining, before - cost);
    return me;
}

static weir_decision decision_of(struct caller *me)
{
    for (int ms = 0; !atomic_load(&me->over); ms++) {
        if (ms == PATIENCE_MS) fail_msg("call %d still waits", (int)(me - caller));
        nap_ms(1);
    }
    return me->decision;
}

static uint64_t starts(struct caller *me)
{
    const weir_decision decision = decision_of(me);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    return decision.end;
}

static void check_waits(struct caller *me)
{
    nap_ms(MOMENT_MS);
    if (atomic_load(&me->over)) fail_msg("call %d waits no more", (int)(me - caller));
}

static uint64_t hold(uint64_t cost)
{
    const weir_decision decision = weir_take(limiter, cost);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    return decision.end;
}

static void check_refused(weir_decision decision)
{
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_int_equal(decision.limit, 0);
    assert_int_equal(decision.charged, 0);
    assert_true(decision.retry_ns >= 1);
}

/* ---- releases ---- */

static void test_a_release_wakes_the_first(void **state)
{
    (void)state;
    uint64_t held[2], id = 0;
    open_at("2 concurrent lease=30s", 100 * S);
    for (int i = 0; i < 2; i++) held[i] = hold(1);
    for (int i = 0; i < 5; i++) call(1);
    for (int i = 0; i < 5; i++) {
        check_waits(&caller[i]);
        assert_true(weir_release(limiter, i < 2 ? held[i] : caller[i - 2].decision.end));
        const uint64_t next = starts(&caller[i]);
        assert_true(next > id);
        assert_int_equal(caller[i].decision.start.ns, 100 * S);
        id = next;
    }
    close_all();
}

/* One release lets several start, in order. */
static void test_a_release_of_many(void **state)
{
    (void)state;
    open_at("4 concurrent lease=30s", 0);
    const uint64_t held = hold(4);
    for (int i = 0; i < 3; i++) call(1);
    struct caller *large = call(3), *last = call(1);
    assert_true(weir_release(limiter, held));
    uint64_t id = held;
    for (int i = 0; i < 3; i++) {
        assert_true(starts(&caller[i]) > id);
        id = caller[i].decision.end;
    }
    /* One is free; but the call for three is ahead of the last one. */
    check_waits(large);
    check_waits(last);
    assert_true(weir_release(limiter, caller[0].decision.end));
    check_waits(large);
    assert_true(weir_release(limiter, caller[1].decision.end));
    assert_true(starts(large) > id);
    check_waits(last);
    assert_true(weir_release(limiter, caller[2].decision.end));
    assert_true(starts(last) > large->decision.end);
    close_all();
}

static void test_settling_and_cancelling_release(void **state)
{
    (void)state;
    open_at("3 concurrent lease=30s", 0);
    weir_decision two = weir_take(limiter, 2), one = weir_take(limiter, 1);
    struct caller *first = call(1), *second = call(1);
    weir_settle(limiter, &two, 1);
    starts(first);
    check_waits(second);
    weir_cancel(limiter, &one);
    starts(second);
    close_all();
}

/* A stale id releases nothing, and wakes nobody. */
static void test_a_stale_id(void **state)
{
    (void)state;
    open_at("1 concurrent lease=30s", 0);
    const uint64_t held = hold(1);
    assert_true(weir_release(limiter, held));
    hold(1);
    struct caller *me = call(1);
    assert_false(weir_release(limiter, held));
    check_waits(me);
    close_all();
}

/* ---- leases that end ---- */

static void test_the_end_of_a_lease(void **state)
{
    (void)state;
    open_at("1 concurrent lease=30s", 0);
    hold(1);
    struct caller *first = call(1), *second = call(1);
    weir_manual_set(limiter, at(30 * S - 1));
    check_waits(first);
    weir_manual_set(limiter, at(30 * S));
    starts(first);
    assert_int_equal(first->decision.start.ns, 30 * S);
    assert_int_equal(first->decision.delay_ns, 30 * S);
    check_waits(second);
    weir_manual_set(limiter, at(60 * S));
    starts(second);
    close_all();
}

static void test_a_renewal(void **state)
{
    (void)state;
    open_at("1 concurrent lease=30s", 0);
    const uint64_t held = hold(1);
    struct caller *me = call(1);
    weir_manual_set(limiter, at(20 * S));
    assert_true(weir_renew(limiter, held));
    weir_manual_set(limiter, at(30 * S));
    check_waits(me);
    weir_manual_set(limiter, at(50 * S));
    starts(me);
    assert_false(weir_renew(limiter, held));
    close_all();
}

/* ---- other calls ---- */

static void test_nobody_overtakes(void **state)
{
    (void)state;
    open_at("3 concurrent lease=30s", 0);
    const uint64_t both = hold(2), each[] = {1};
    assert_int_equal(weir_peek(limiter, 1).verdict, WEIR_ALLOW);
    struct caller *me = call(2);
    /* One is free, but not for those who come later. */
    check_refused(weir_take(limiter, 1));
    check_refused(weir_take_at(limiter, at(0), 1));
    check_refused(weir_take_some(limiter, 1));
    check_refused(weir_take_each(limiter, each, NULL));
    check_refused(weir_reserve(limiter, 1, WEIR_FOREVER));
    check_refused(weir_reserve_each(limiter, each, NULL, WEIR_FOREVER));
    check_refused(weir_peek(limiter, 1));
    check_refused(weir_take_wait(limiter, 1, 0));
    /* As if the waiting call had its slot when the leases end. */
    assert_int_equal(weir_take(limiter, 1).retry_ns, 30 * S);
    assert_int_equal(weir_take(limiter, 4).verdict, WEIR_NEVER);
    assert_int_equal(weir_take_wait(limiter, 4, WEIR_FOREVER).verdict, WEIR_NEVER);
    check_waits(me);
    /* What is charged in any case is not refused, and is before it. */
    assert_int_equal(weir_charge(limiter, 1).charged, 1);
    assert_true(weir_release(limiter, both));
    starts(me);
    /* Nobody waits any more. */
    check_refused(weir_take(limiter, 1));
    assert_true(weir_release(limiter, me->decision.end));
    hold(1);
    close_all();
}

static void test_patience_ends(void **state)
{
    (void)state;
    open_at("1 concurrent lease=30s", 0);
    const uint64_t held = hold(1);
    struct caller *first = start((struct caller){.cost = 1, .wait_max_ns = 10 * S}), *second = call(1);
    struct caller *third = start((struct caller){.cost = 1, .wait_max_ns = 5 * S}), *fourth = call(1);
    weir_manual_set(limiter, at(5 * S));
    check_refused(decision_of(third));
    assert_int_equal(third->decision.retry_ns, 25 * S);
    check_waits(first);
    weir_manual_set(limiter, at(10 * S));
    check_refused(decision_of(first));
    check_waits(second);
    assert_true(weir_release(limiter, held));
    starts(second);
    check_waits(fourth);
    assert_true(weir_release(limiter, second->decision.end));
    starts(fourth);
    weir_stats stats;
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.granted, 3);
    assert_int_equal(stats.denied, 2);
    assert_int_equal(stats.calls, 5);
    close_all();
}

/* ---- changes ---- */

static void set(const char *limits, weir_carry carry)
{
    assert_int_equal(weir_set_limit(limiter, limits, carry, NULL), 0);
}

static void test_more_slots(void **state)
{
    (void)state;
    open_at("1 concurrent lease=30s", 0);
    const uint64_t held = hold(1);
    for (int i = 0; i < 4; i++) call(1);
    set("3 concurrent lease=30s", WEIR_KEEP);
    assert_true(starts(&caller[0]) > held);
    assert_true(starts(&caller[1]) > caller[0].decision.end);
    check_waits(&caller[2]);
    /* Fewer. */
    set("1 concurrent lease=30s", WEIR_KEEP);
    check_waits(&caller[2]);
    weir_release(limiter, held);
    for (int i = 0; i < 2; i++) weir_release(limiter, caller[i].decision.end);
    starts(&caller[2]);
    check_waits(&caller[3]);
    set("1 concurrent lease=30s", WEIR_RESET);
    starts(&caller[3]);
    close_all();
}

static void test_fewer_than_it_wants(void **state)
{
    (void)state;
    open_at("3 concurrent lease=30s", 0);
    hold(3);
    struct caller *first = call(1), *large = call(3), *last = call(1);
    set("2 concurrent lease=30s", WEIR_KEEP);
    check_waits(first);
    assert_int_equal(decision_of(large).verdict, WEIR_NEVER);
    set("2 concurrent lease=30s", WEIR_RESET);
    starts(first);
    starts(last);
    close_all();
}

/* From slots to a rate and back again: the order stays. */
static void test_another_algorithm(void **state)
{
    (void)state;
    open_at("1 concurrent lease=30s", 0);
    hold(1);
    for (int i = 0; i < 4; i++) call(1);
    set("1/s burst=1", WEIR_RESET);
    for (int i = 0; i < 4; i++) {
        if (i != 0) check_waits(&caller[i]);
        weir_manual_set(limiter, at((uint64_t)i * S));
        starts(&caller[i]);
        assert_int_equal(caller[i].decision.start.ns, (uint64_t)i * S);
    }
    struct caller late[3];
    for (int i = 0; i < 3; i++) {
        const uint64_t taken = weir_peek(limiter, 0).end;
        late[i] = (struct caller){.cost = 1, .wait_max_ns = WEIR_FOREVER};
        start_thread(&late[i]);
        while (weir_peek(limiter, 0).end == taken) nap_ms(1);
    }
    nap_ms(MOMENT_MS);
    set("1 concurrent lease=30s", WEIR_RESET);
    uint64_t id = starts(&late[0]);
    for (int i = 1; i < 3; i++) {
        assert_false(atomic_load(&late[i].over));
        assert_true(weir_release(limiter, id));
        assert_true(starts(&late[i]) > id);
        id = late[i].decision.end;
    }
    for (int i = 0; i < 3; i++) pthread_join(late[i].thread, NULL);
    close_all();
}

/* Those who waited for a rate have their turns in the order of their starts, before any of them is awake. */
static void test_put_in_turn_by_a_change(void **state)
{
    (void)state;
    struct waiter waiter[3];
    struct turn turn[3] = {{.ticket = 0}};
    open_at("1/s burst=1", 0);
    hold(1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stand(limiter, &waiter[i], 1).start.ns, (uint64_t)(i + 1) * S);
        waiter[i].turn = &turn[i];
    }
    set("1 concurrent lease=30s", WEIR_RESET);
    assert_int_equal(waiter[0].decision.verdict, WEIR_ALLOW);
    assert_false(waiter[0].queues);
    for (int i = 1; i < 3; i++) assert_true(waiter[i].queues && waiter[i].decision.verdict == 0);
    assert_ptr_equal(limiter->turns.first, &turn[1]);
    assert_ptr_equal(limiter->turns.last, &turn[2]);
    for (int i = 0; i < 3; i++) stand_no_more(limiter, &waiter[i]);
    for (int i = 1; i < 3; i++) turns_leave(&limiter->turns, &turn[i]);
    close_all();
}

static void test_a_pause(void **state)
{
    (void)state;
    open_at("2 concurrent lease=30s", 10 * S);
    const uint64_t one = hold(1), other = hold(1);
    struct caller *me = call(1), *short_one = start((struct caller){.cost = 1, .wait_max_ns = 10 * S});
    set("pause", WEIR_KEEP);
    assert_true(weir_release(limiter, one));
    check_waits(me);
    /* What runs goes on running, and may be renewed. */
    weir_manual_set(limiter, at(35 * S));
    check_refused(decision_of(short_one));
    assert_true(weir_renew(limiter, other));
    weir_manual_set(limiter, at(60 * S));
    check_waits(me);
    set("2 concurrent lease=30s", WEIR_KEEP);
    starts(me);
    check_refused(weir_take(limiter, 1));
    weir_manual_set(limiter, at(65 * S));
    hold(1);
    close_all();
}

static void test_a_stop(void **state)
{
    (void)state;
    open_at("1 concurrent lease=30s", 0);
    hold(1);
    for (int i = 0; i < 3; i++) call(1);
    weir_stop(limiter);
    for (int i = 0; i < 3; i++) assert_int_equal(decision_of(&caller[i]).verdict, WEIR_STOPPED);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_STOPPED);
    close_all();
}

/* A signal handler may stop a limiter, whatever the thread that it interrupts was doing. */
static void test_a_stop_takes_no_lock(void **state)
{
    (void)state;
    open_at("1 concurrent lease=30s", 0);
    hold(1);
    struct caller *me = call(1);
    atom_store(&limiter->turns.lock, 1);
    weir_stop(limiter);
    atom_store_release(&limiter->turns.lock, 0);
    assert_int_equal(decision_of(me).verdict, WEIR_STOPPED);
    close_all();
}

/* More than there are events: some are woken with others, and sleep again. */
static void test_many(void **state)
{
    (void)state;
    open_at("1 concurrent lease=30s", 0);
    uint64_t id = hold(1);
    for (int i = 0; i < CALLERS_MAX; i++) call(1);
    for (int i = 0; i < CALLERS_MAX; i++) {
        assert_true(weir_release(limiter, id));
        assert_true(starts(&caller[i]) > id);
        id = caller[i].decision.end;
    }
    close_all();
}

/* ---- beside rates ---- */

static void test_beside_a_rate(void **state)
{
    (void)state;
    open_at("2 concurrent lease=30s; 1/s burst=1", 0);
    const uint64_t held = hold(1);
    struct caller *first = call_ahead(1); /* has a slot from now on, and starts in a second */
    struct caller *second = call(1);
    check_waits(first);
    weir_manual_set(limiter, at(S));
    assert_true(starts(first) > held);
    assert_int_equal(first->decision.start.ns, S);
    check_waits(second);
    assert_true(weir_release(limiter, held));
    check_waits(second);
    weir_manual_set(limiter, at(2 * S));
    assert_true(starts(second) > first->decision.end);
    assert_int_equal(second->decision.start.ns, 2 * S);
    /* Each has a whole lease from its start. */
    assert_int_equal(weir_peek_limit(limiter, 0, 1).retry_ns, 29 * S);
    close_all();
}

/* Who waits for the rate, and has a slot meanwhile, keeps its place through a change. */
static void test_reserved_through_a_change(void **state)
{
    (void)state;
    open_at("2 concurrent lease=30s; 1/s burst=1", 0);
    const uint64_t held = hold(1);
    struct caller *first = call_ahead(1), *second = call(1);
    set("1 concurrent lease=30s; 1/s burst=1", WEIR_KEEP);
    while (turns_waiting(&limiter->turns) != 2) nap_ms(1);
    weir_manual_set(limiter, at(5 * S));
    check_waits(first);
    assert_true(weir_release(limiter, held));
    assert_true(starts(first) > held);
    check_waits(second);
    assert_true(weir_release(limiter, first->decision.end));
    weir_manual_set(limiter, at(6 * S));
    starts(second);
    close_all();
}

/* Whoever wakes so late that its start is lost has the first turn, and does not hold what it had for that start. */
static struct caller *over_first(struct caller *one, struct caller *other)
{
    for (int ms = 0; !atomic_load(&one->over) && !atomic_load(&other->over); ms++) {
        if (ms == PATIENCE_MS) fail_msg("calls %d and %d still wait", (int)(one - caller), (int)(other - caller));
        nap_ms(1);
    }
    return atomic_load(&one->over) ? one : other;
}

/* The second may have asked in its turn before the first came back; the third has not. */
static void test_a_lost_start(void **state)
{
    (void)state;
    open_at("1 concurrent lease=1h; 1/s burst=1", 0);
    assert_true(weir_release(limiter, hold(1)));
    struct caller *first = call_ahead(1), *second = call(1), *third = call(1);
    weir_manual_set(limiter, at(100 * S));
    struct caller *sooner = over_first(first, second), *later = sooner == first ? second : first;
    assert_int_equal(sooner->decision.start.ns, 100 * S);
    check_waits(later);
    assert_true(weir_release(limiter, sooner->decision.end));
    weir_manual_set(limiter, at(101 * S));
    const uint64_t end = starts(later);
    assert_int_equal(later->decision.start.ns, 101 * S);
    check_waits(third);
    assert_true(weir_release(limiter, end));
    weir_manual_set(limiter, at(102 * S));
    starts(third);
    close_all();
}

/* One that a change has put among the turns, and that finds the limiter stopped when it wakes. */
static void test_stopped_while_it_changes(void **state)
{
    (void)state;
    open_at("2 concurrent lease=30s; 1/s burst=1", 0);
    hold(1);
    struct caller *me = call_ahead(1);
    atom_store_release(&limiter->stopped, 1);
    set("1 concurrent lease=30s; 1/s burst=1", WEIR_KEEP);
    assert_int_equal(decision_of(me).verdict, WEIR_STOPPED);
    close_all();
}

/* The slot that is taken for later is one that is free now, not one that will be by then. */
static void test_a_slot_for_later(void **state)
{
    (void)state;
    open_at("2 concurrent lease=5s; 1/10s burst=2", 0);
    const uint64_t first = hold(1), second = hold(1);
    assert_true(weir_release(limiter, second));
    const weir_decision later = weir_reserve(limiter, 1, WEIR_FOREVER);
    assert_int_equal(later.verdict, WEIR_ALLOW);
    assert_int_equal(later.start.ns, 10 * S);
    assert_true(weir_renew(limiter, first));
    assert_true(weir_release(limiter, first));
    weir_manual_set(limiter, at(14 * S));
    assert_true(weir_renew(limiter, later.end));
    close_all();
}

/* A call that waits for the rate relies on the permits of the one before it, but not on its slot. */
static void test_cancelled_before_another(void **state)
{
    (void)state;
    open_at("3 concurrent lease=30s; 1/s burst=2", 0);
    weir_decision first = weir_take(limiter, 2), second = weir_reserve(limiter, 1, WEIR_FOREVER);
    assert_int_equal(second.start.ns, S);
    weir_settle(limiter, &first, 1);
    assert_int_equal(weir_peek_limit(limiter, 0, 0).remaining, 1);
    assert_int_equal(weir_peek_limit(limiter, 1, 1).retry_ns, 2 * S);
    weir_cancel(limiter, &second);
    assert_int_equal(weir_peek_limit(limiter, 0, 0).remaining, 2);
    close_all();
}

/* A rate that is too far away is no reason to wait. */
static void test_too_far_away(void **state)
{
    (void)state;
    open_at("2 concurrent lease=30s; 1/h burst=1", 0);
    hold(1);
    const weir_decision decision = weir_take_wait(limiter, 1, 10 * S);
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_int_equal(decision.limit, 1);
    assert_int_equal(turns_waiting(&limiter->turns), 0);
    close_all();
}

/* Nor is it in the turn of a call that waited for a slot. */
static void test_too_far_away_in_its_turn(void **state)
{
    (void)state;
    const uint64_t each[WEIR_LIMITS_MAX] = {1, 1}, used[WEIR_LIMITS_MAX] = {1, 2};
    uint64_t end[WEIR_LIMITS_MAX];
    open_at("1 concurrent lease=1h; 2/h burst=2", 0);
    weir_decision held = weir_take_each(limiter, each, end);
    const uint64_t slot = held.end;
    struct caller *me = start((struct caller){.cost = 1, .wait_max_ns = 10 * S});
    check_waits(me);
    weir_settle_each(limiter, &held, each, used, end);
    assert_true(weir_release(limiter, slot));
    assert_int_equal(decision_of(me).verdict, WEIR_DENY);
    assert_int_equal(me->decision.limit, 1);
    close_all();
}

/* A rate that cannot be reserved: the first comes back when it passes. */
static void test_beside_a_window(void **state)
{
    (void)state;
    open_at("2 concurrent lease=30s; 1/10s algorithm=fixed-window", 0);
    hold(1);
    struct caller *first = call(1), *second = call(1);
    check_waits(first);
    weir_manual_set(limiter, at(10 * S));
    starts(first);
    weir_manual_set(limiter, at(29 * S));
    check_waits(second);
    weir_manual_set(limiter, at(30 * S));
    starts(second);
    close_all();
}

/* ---- a cost for each limit ---- */

static void test_each(void **state)
{
    (void)state;
    const uint64_t heavy[] = {1, 5}, light[] = {1, 1}, used[] = {1, 2};
    open_at("2 concurrent lease=30s; 1/s burst=10", 0);
    assert_int_equal(weir_take_each(limiter, (const uint64_t[]){1, 10}, NULL).verdict, WEIR_ALLOW);
    uint64_t end[2] = {0};
    weir_decision reserved = weir_reserve_each(limiter, heavy, end, WEIR_FOREVER);
    assert_int_equal(reserved.verdict, WEIR_ALLOW);
    assert_int_equal(reserved.start.ns, 5 * S);
    assert_int_equal(end[0], reserved.end);
    assert_int_equal(weir_reserve_each(limiter, heavy, NULL, 9 * S).verdict, WEIR_DENY);
    /* What is not used comes back at once, once it has begun. */
    weir_manual_set(limiter, at(5 * S));
    weir_settle_each(limiter, &reserved, heavy, used, end);
    assert_int_equal(weir_peek_limit(limiter, 1, 0).remaining, 3);
    struct caller *first = start((struct caller){.each = light, .wait_max_ns = WEIR_FOREVER});
    assert_true(weir_release(limiter, reserved.end));
    starts(first);
    assert_int_equal(first->decision.end, first->end[0]);
    assert_int_equal(weir_peek_limit(limiter, 1, 0).remaining, 2);
    close_all();
}

/* Without slots: reserved, and moved by a change. */
static void test_each_reserves(void **state)
{
    (void)state;
    static const uint64_t each[WEIR_LIMITS_MAX] = {1, 4};
    open_at("1000/s burst=1000; 1/s burst=4", 0);
    assert_int_equal(weir_take_each_wait(limiter, each, NULL, 0).verdict, WEIR_ALLOW);
    assert_int_equal(weir_take_each_wait(limiter, each, NULL, 3 * S).verdict, WEIR_DENY);
    struct caller me = {.each = each, .wait_max_ns = WEIR_FOREVER};
    start_thread(&me);
    while (weir_peek_limit(limiter, 1, 1).retry_ns != 5 * S) nap_ms(1);
    set("1000/s burst=1000; 2/s burst=4", WEIR_SCALE);
    weir_manual_set(limiter, at(2 * S - 1));
    nap_ms(MOMENT_MS);
    assert_false(atomic_load(&me.over));
    weir_manual_set(limiter, at(2 * S));
    assert_int_equal(decision_of(&me).verdict, WEIR_ALLOW);
    assert_int_equal(me.decision.start.ns, 2 * S);
    assert_int_equal(me.decision.delay_ns, 2 * S);
    assert_int_equal(me.end[1], me.decision.end);
    pthread_join(me.thread, NULL);
    weir_settle_each(limiter, &me.decision, each, (const uint64_t[WEIR_LIMITS_MAX]){1, 1}, me.end);
    assert_int_equal(weir_peek_limit(limiter, 1, 0).remaining, 3);
    close_all();
}

/* A change takes out what each limit was charged, and so charges no slot twice. */
static void test_each_through_a_change(void **state)
{
    (void)state;
    static const uint64_t each[WEIR_LIMITS_MAX] = {1, 2};
    open_at("1/s burst=1; 3 concurrent lease=1h", 0);
    assert_true(weir_release(limiter, hold(1)));
    struct caller me = {.each = each, .wait_max_ns = WEIR_FOREVER};
    start_thread(&me);
    while (weir_peek_limit(limiter, 1, 0).remaining != 1) nap_ms(1);
    set("2/s burst=1; 3 concurrent lease=1h", WEIR_SCALE);
    assert_int_equal(weir_peek_limit(limiter, 1, 0).remaining, 1);
    weir_manual_set(limiter, at(S));
    assert_int_equal(decision_of(&me).verdict, WEIR_ALLOW);
    assert_true(weir_release(limiter, me.end[1]));
    assert_int_equal(weir_peek_limit(limiter, 1, 0).remaining, 3);
    pthread_join(me.thread, NULL);
    close_all();
}

/* ---- leases, forks ---- */

static void test_through_a_lease(void **state)
{
    (void)state;
    weir_lease lease = {0};
    open_at("1 concurrent lease=30s", 0);
    assert_int_equal(weir_lease_open(&lease, limiter, NULL), 0);
    const weir_decision held = weir_lease_take(&lease, 1);
    assert_int_equal(held.verdict, WEIR_ALLOW);
    assert_int_equal(weir_lease_take(&lease, 1).verdict, WEIR_DENY);
    struct caller *first = start((struct caller){.cost = 1, .wait_max_ns = WEIR_FOREVER, .leased = true});
    struct caller *second = start((struct caller){.cost = 1, .wait_max_ns = WEIR_FOREVER, .leased = true});
    assert_true(weir_release(limiter, held.end));
    starts(first);
    check_waits(second);
    weir_stop(limiter);
    assert_int_equal(decision_of(second).verdict, WEIR_STOPPED);
    weir_lease_close(&lease);
    close_all();
}

/* A child has none of the threads that wait, so its calls are not behind them. */
static void test_a_child(void **state)
{
    (void)state;
    int status = 0;
    open_at("2 concurrent lease=30s", 0);
    hold(1);
    call(2);
    const pid_t child = fork();
    if (child == 0) _exit(weir_allowed(weir_take(limiter, 1)) && !weir_allowed(weir_take(limiter, 1)) ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    check_refused(weir_take(limiter, 1));
    close_all();
}

/* By the system's clock, a sleep ends by itself. */
static void test_by_the_system(void **state)
{
    (void)state;
    static const weir_clock clocks[] = {WEIR_CLOCK_SYSTEM, WEIR_CLOCK_COARSE, WEIR_CLOCK_TSC};
    for (size_t i = 0; i < LENGTH(clocks); i++) {
        weir_options options = WEIR_OPTIONS;
        options.clock = clocks[i];
        assert_int_equal(weir_open(&limiter, "1 concurrent lease=50ms", &options, NULL), 0);
        const uint64_t begin_ns = weir_now().ns;
        assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
        assert_int_equal(weir_take_wait(limiter, 1, WEIR_FOREVER).verdict, WEIR_ALLOW);
        assert_true(weir_now().ns - begin_ns >= 40 * MS); /* the coarse clock is behind */
        set("1 concurrent lease=1h", WEIR_RESET);
        assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
        assert_int_equal(weir_take_wait(limiter, 1, 10 * MS).verdict, WEIR_DENY);
        assert_true(weir_now().ns - begin_ns >= 45 * MS);
        weir_close(limiter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_release_wakes_the_first),
        cmocka_unit_test(test_a_release_of_many),
        cmocka_unit_test(test_settling_and_cancelling_release),
        cmocka_unit_test(test_a_stale_id),
        cmocka_unit_test(test_the_end_of_a_lease),
        cmocka_unit_test(test_a_renewal),
        cmocka_unit_test(test_nobody_overtakes),
        cmocka_unit_test(test_patience_ends),
        cmocka_unit_test(test_more_slots),
        cmocka_unit_test(test_fewer_than_it_wants),
        cmocka_unit_test(test_another_algorithm),
        cmocka_unit_test(test_put_in_turn_by_a_change),
        cmocka_unit_test(test_a_pause),
        cmocka_unit_test(test_a_stop),
        cmocka_unit_test(test_a_stop_takes_no_lock),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_beside_a_rate),
        cmocka_unit_test(test_reserved_through_a_change),
        cmocka_unit_test(test_a_lost_start),
        cmocka_unit_test(test_stopped_while_it_changes),
        cmocka_unit_test(test_a_slot_for_later),
        cmocka_unit_test(test_cancelled_before_another),
        cmocka_unit_test(test_too_far_away),
        cmocka_unit_test(test_too_far_away_in_its_turn),
        cmocka_unit_test(test_beside_a_window),
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_each_reserves),
        cmocka_unit_test(test_each_through_a_change),
        cmocka_unit_test(test_through_a_lease),
        cmocka_unit_test(test_a_child),
        cmocka_unit_test(test_by_the_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
