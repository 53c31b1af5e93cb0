/* SPDX-License-Identifier: MIT
   While a change is in progress: what needs the state as a whole waits until it is over.

   The test holds the lock that a change holds.  The thread that calls is given many turns; one that did not wait would
   have returned by then, and one that waits never has, however slow the machine is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "api/limiter.h"
#include "share/lock.h"
#include "unit/plans.h"

enum { TURNS = 5000 };

struct caller {
    weir_limiter *limiter;
    weir_decision decision; /* from before */
    weir_lease lease;
    void (*call)(struct caller *caller);
    atomic_bool begun, done;
};

static void *run(void *argument)
{
    struct caller *caller = argument;
    atomic_store(&caller->begun, true);
    caller->call(caller);
    atomic_store(&caller->done, true);
    return NULL;
}

static void assert_waits(const struct caller *caller)
{
    while (!atomic_load(&caller->begun)) sched_yield();
    for (int i = 0; i < TURNS; i++) {
        assert_false(atomic_load(&caller->done));
        sched_yield();
    }
}

/* ---- the mutex ---- */

static void set_limit(struct caller *caller)
{
    assert_int_equal(weir_set_limit(caller->limiter, "1/s burst=5", WEIR_RESET, NULL), 0);
}

static void pause_all(struct caller *caller)
{
    assert_int_equal(weir_set_limit(caller->limiter, "pause", WEIR_KEEP, NULL), 0);
}

static void say_limit(struct caller *caller)
{
    char text[64];
    weir_limit_text(caller->limiter, text, sizeof text);
}

static void ask_when_full(struct caller *caller)
{
    assert_true(weir_full_ns(caller->limiter, &caller->decision) <= S);
}

static void ask_when_due(struct caller *caller)
{
    assert_int_equal(weir_due(caller->limiter, &caller->decision, 2).ns, 100 * MS);
}

static void open_lease(struct caller *caller)
{
    assert_int_equal(weir_lease_open(&caller->lease, caller->limiter, NULL), 0);
    weir_lease_close(&caller->lease);
}

static void take_first(struct caller *caller)
{
    assert_int_equal(weir_take(caller->limiter, 1).verdict, WEIR_ALLOW);
}

static void take_when_the_clock_ends(struct caller *caller)
{
    const uint64_t end_ns = atom_load(&caller->limiter->clock_ends_ns);
    assert_int_equal(weir_take_at(caller->limiter, at(end_ns), 1).verdict, WEIR_ALLOW);
}

static uint64_t slots(const weir_limiter *limiter)
{
    return limiter_log(limiter)->mask + 1;
}

static void charge_beyond_the_log(struct caller *caller)
{
    const uint64_t many = 3 * slots(caller->limiter);
    assert_int_equal(weir_charge(caller->limiter, many).charged, many);
}

static void settle_beyond_the_log(struct caller *caller)
{
    weir_settle(caller->limiter, &caller->decision, 3 * slots(caller->limiter));
}

static void what_needs_the_state_waits_for_a_change(void **state)
{
    static const struct {
        const char *limits;
        weir_use use;
        uint64_t before; /* permits that were taken */
        void (*call)(struct caller *caller);
    } rows[] = {
        {"10/s burst=5", WEIR_ADMIT, 0, set_limit},
        {"10/s burst=5", WEIR_ADMIT, 0, pause_all},
        {"10/s burst=5", WEIR_ADMIT, 0, say_limit},
        {"10/s burst=5", WEIR_ADMIT, 2, ask_when_full},
        {"10/s burst=5 start=full", WEIR_PACE, 2, ask_when_due},
        {"10/s burst=5", WEIR_ADMIT, 1, open_lease},
        {"10/s burst=5", WEIR_ADMIT, 0, take_first},
        {"10/s burst=5", WEIR_ADMIT, 1, take_when_the_clock_ends},
        {"5/s algorithm=sliding-log", WEIR_ADMIT, 1, charge_beyond_the_log},
        {"5/s algorithm=sliding-log", WEIR_ADMIT, 1, settle_beyond_the_log},
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct caller caller = {.call = rows[i].call};
        pthread_t thread;
        caller.limiter = open_limiter(rows[i].limits, WEIR_CLOCK_MANUAL, rows[i].use);
        if (rows[i].before != 0) caller.decision = weir_take(caller.limiter, rows[i].before);
        host_lock(&caller.limiter->mutex);
        assert_int_equal(pthread_create(&thread, NULL, run, &caller), 0);
        assert_waits(&caller);
        host_unlock(&caller.limiter->mutex);
        pthread_join(thread, NULL);
        weir_close(caller.limiter);
    }
}

/* ---- the other locks ---- */

/* Between getting its start and standing in its queue a waiter holds that one's lock. */
static void a_change_waits_for_each_queue(void **state)
{
    (void)state;
    const int queues[] = {0, 1, HOST_SLOTS};
    for (size_t i = 0; i < LENGTH(queues); i++) {
        struct caller caller = {.call = set_limit, .limiter = open_limiter("10/s", WEIR_CLOCK_MANUAL, WEIR_ADMIT)};
        struct queue *queue = &caller.limiter->queue[queues[i]];
        pthread_t thread;
        queue_lock(queue);
        assert_int_equal(pthread_create(&thread, NULL, run, &caller), 0);
        assert_waits(&caller);
        queue_unlock(queue);
        pthread_join(thread, NULL);
        weir_close(caller.limiter);
    }
}

static void a_change_waits_while_the_stock_is_filled(void **state)
{
    (void)state;
    struct caller caller = {.call = set_limit, .limiter = open_limiter("10/s", WEIR_CLOCK_MANUAL, WEIR_ADMIT)};
    pthread_t thread;
    lock_take(&caller.limiter->stock.lock, host_yield);
    assert_int_equal(pthread_create(&thread, NULL, run, &caller), 0);
    assert_waits(&caller);
    lock_release(&caller.limiter->stock.lock);
    pthread_join(thread, NULL);
    weir_close(caller.limiter);
}

/* Others are first, whatever comes of the change: so it need not wait, and may ask again at once. */
static void who_is_behind_others_is_refused_meanwhile(void **state)
{
    (void)state;
    weir_limiter *limiter = open_limiter("3 concurrent lease=1s", WEIR_CLOCK_MANUAL, WEIR_ADMIT);
    struct turn first = {0};
    struct home_held held;
    turns_join(&limiter->turns, &first);
    home_close(limiter, &held);
    const weir_decision decision = weir_take(limiter, 1);
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_int_equal(decision.retry_ns, 1);
    home_open(limiter, &held);
    turns_leave(&limiter->turns, &first);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_needs_the_state_waits_for_a_change),
        cmocka_unit_test(a_change_waits_for_each_queue),
        cmocka_unit_test(a_change_waits_while_the_stock_is_filled),
        cmocka_unit_test(who_is_behind_others_is_refused_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
