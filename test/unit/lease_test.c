/* SPDX-License-Identifier: MIT
   Permits that threads take along, in exact numbers, on the manual clock.

   Times are those of the manual clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "api/limiter.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "unit/plans.h"
#include "unit/random.h"

static void open_lease(weir_limiter *limiter, weir_lease *lease)
{
    weir_error error;
    assert_int_equal(weir_lease_open(lease, limiter, &error), 0);
}

static void takes(weir_lease *lease, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) assert_int_equal(weir_lease_take(lease, 1).verdict, WEIR_ALLOW);
}

static uint64_t remaining(weir_limiter *limiter)
{
    return weir_peek(limiter, 0).remaining;
}

static uint64_t out(const weir_limiter *limiter)
{
    return atom_load(&limiter->word.out);
}

static void assert_stats(weir_limiter *limiter, uint64_t calls, uint64_t granted, uint64_t denied)
{
    weir_stats stats;
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.calls, calls);
    assert_int_equal(stats.granted, granted);
    assert_int_equal(stats.denied, denied);
}

static void assert_same(weir_decision got, weir_decision wanted)
{
    assert_int_equal(got.verdict, wanted.verdict);
    assert_int_equal(got.limit, wanted.limit);
    assert_int_equal(got.start.ns, wanted.start.ns);
    assert_int_equal(got.delay_ns, wanted.delay_ns);
    assert_int_equal(got.retry_ns, wanted.retry_ns);
    assert_int_equal(got.remaining, wanted.remaining);
    assert_int_equal(got.charged, wanted.charged);
}

/* ---- coming and going ---- */

static void test_nothing_is_lost(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    weir_lease lease;
    for (uint64_t times = 0; times < 200; times += 7) {
        const uint64_t before = remaining(limiter);
        open_lease(limiter, &lease);
        takes(&lease, times);
        assert_true(remaining(limiter) + out(limiter) <= before);
        if (times > 8) assert_true(out(limiter) > 0);
        weir_lease_close(&lease);
        assert_int_equal(remaining(limiter), before - times);
        assert_int_equal(out(limiter), 0);
        set_ns(limiter, (times + 1) * 10 * S);
    }
    weir_close(limiter);
}

static void test_closed(void **state)
{
    (void)state;
    weir_lease lease = {.left = 0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(weir_lease_take(&lease, 1).verdict, WEIR_STOPPED);
        assert_int_equal(weir_lease_take(&lease, 0).verdict, WEIR_STOPPED);
        assert_int_equal(weir_lease_take(&lease, UINT64_MAX).verdict, WEIR_STOPPED);
        assert_int_equal(weir_lease_take_wait(&lease, 1, WEIR_FOREVER).verdict, WEIR_STOPPED);
        assert_int_equal(weir_lease_take_wait(&lease, 0, 0).verdict, WEIR_STOPPED);
        weir_lease_close(&lease);
        if (i == 1) break;
        weir_limiter *limiter = open_manual("1k/s burst=1000");
        open_lease(limiter, &lease);
        takes(&lease, 30);
        weir_lease_close(&lease);
        weir_lease_close(&lease);
        weir_close(limiter);
    }
}

/* Eight in a row are as many as it needs to see, then always twice as many, and an eighth of what is there. */
static void test_size_grows(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1M/s burst=100k");
    weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 8);
    assert_int_equal(out(limiter), 0);
    uint64_t used = 8, held = 0;
    for (int renewals = 0; renewals < 12; renewals++) {
        const uint64_t eighth = (100000 - used) / 8;
        takes(&lease, 1);
        const uint64_t twice = 2 * (used > held ? used : held);
        assert_int_equal(out(limiter), twice < eighth ? twice : eighth);
        assert_int_equal(lease.left, out(limiter) - 1);
        held = out(limiter);
        takes(&lease, lease.left);
        used += held;
        if (twice >= eighth) held = 2 * twice; /* so many it would like to have */
    }
    weir_lease_close(&lease);
    weir_close(limiter);
}

/* Of a lease that lasted longer, as many as were used in 4 us. */
static void test_size_shrinks(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1M/s burst=1M");
    weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 8 + 16);
    assert_int_equal(out(limiter), 16);
    set_ns(limiter, 8000);
    takes(&lease, 1); /* 24 in 8 us */
    assert_int_equal(out(limiter), 12);
    takes(&lease, 11);
    set_ns(limiter, 8000 + 24000);
    takes(&lease, 1); /* 12 in 24 us */
    assert_int_equal(out(limiter), 2);
    takes(&lease, 1);
    set_ns(limiter, S);
    takes(&lease, 1);
    assert_int_equal(out(limiter), 0);
    weir_lease_close(&lease);
    weir_close(limiter);
}

/* ---- costs ---- */

static void test_exact_when_short(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("10/s burst=10");
    weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 10);
    for (int i = 0; i < 3; i++) assert_retry(weir_lease_take(&lease, 1), 100 * MS);
    assert_int_equal(out(limiter), 0);
    set_ns(limiter, 100 * MS - 1);
    assert_retry(weir_lease_take(&lease, 2), 100 * MS + 1);
    assert_retry(weir_lease_take(&lease, 1), 1);
    set_ns(limiter, 100 * MS);
    takes(&lease, 1);
    assert_retry(weir_lease_take(&lease, 1), 100 * MS);
    weir_lease_close(&lease);
    assert_stats(limiter, 17, 11, 6);
    weir_close(limiter);
}

static void test_costs(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 8 + 4);
    assert_int_equal(lease.left, 12);
    assert_int_equal(weir_lease_take(&lease, 0).verdict, WEIR_ALLOW);
    assert_int_equal(weir_lease_take(&lease, 0).charged, 0);
    assert_int_equal(weir_lease_take(&lease, 12).charged, 12);
    assert_int_equal(lease.left, 0);
    assert_int_equal(weir_lease_take(&lease, 30).charged, 30); /* more than there were */
    assert_true(lease.left > 0);
    assert_int_equal(weir_lease_take(&lease, 1001).verdict, WEIR_NEVER);
    assert_int_equal(weir_lease_take(&lease, UINT64_MAX).verdict, WEIR_NEVER);
    assert_int_equal(weir_lease_take_wait(&lease, 1001, WEIR_FOREVER).verdict, WEIR_NEVER);
    assert_int_equal(weir_lease_take_wait(&lease, UINT64_MAX, 5).verdict, WEIR_NEVER);
    weir_lease_close(&lease);
    assert_int_equal(remaining(limiter), 1000 - 54);
    weir_close(limiter);
}

/* A call for more than it holds finds what it holds as well. */
static void own_permits_count(const char *limits, uint64_t burst, bool waits)
{
    weir_limiter *limiter = open_manual(limits);
    weir_lease lease;
    open_lease(limiter, &lease);
    (void)weir_lease_take(&lease, 1);
    set_ns(limiter, 10 * S);
    takes(&lease, 20);
    assert_true(lease.left > 0);
    const uint64_t rest = burst - 20;
    const weir_decision decision = waits ? weir_lease_take_wait(&lease, rest, 0) : weir_lease_take(&lease, rest);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(decision.charged, rest);
    assert_int_equal(weir_lease_take(&lease, 1).verdict, WEIR_DENY);
    weir_lease_close(&lease);
    weir_close(limiter);
}

static void test_own_permits_count(void **state)
{
    (void)state;
    own_permits_count("1k/s burst=1000", 1000, false);
    own_permits_count("1k/s burst=1000", 1000, true);
    own_permits_count("1k/s burst=1000 algorithm=hybrid", 1000, false);
    own_permits_count("1k/s burst=1000 algorithm=hybrid", 1000, true);
}

static void test_many_leases(void **state)
{
    (void)state;
    enum { LEASES = 12 };
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    weir_lease lease[LEASES];
    uint64_t taken = 0;
    for (int i = 0; i < LEASES; i++) open_lease(limiter, &lease[i]);
    for (int i = 0; i < LEASES; i++) {
        takes(&lease[i], 20 + (uint64_t)i);
        taken += 20 + (uint64_t)i;
    }
    uint64_t left = 0;
    for (int i = 0; i < LEASES; i++) left += lease[i].left;
    assert_true(left > 0);
    assert_int_equal(remaining(limiter), 1000 - taken - left);
    assert_int_equal(weir_take(limiter, 1000 - taken - left).verdict, WEIR_ALLOW);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_DENY);
    for (int i = 0; i < LEASES; i += 2) weir_lease_close(&lease[i]);
    for (int i = 1; i < LEASES; i += 2) weir_lease_close(&lease[i]);
    assert_int_equal(remaining(limiter), left);
    assert_int_equal(out(limiter), 0);
    weir_close(limiter);
}

/* A start that is promised now may come together with all that is out: what does not fit beside it is not promised. */
static void reserve_beside_leases(const char *limits)
{
    weir_limiter *limiter = open_manual(limits);
    weir_lease lease;
    open_lease(limiter, &lease);
    (void)weir_take(limiter, 1);
    set_ns(limiter, S);
    takes(&lease, 8 + 1);
    const uint64_t held = out(limiter);
    assert_true(held > 1);
    while (weir_allowed(weir_take(limiter, 1))) continue;
    assert_int_equal(weir_reserve(limiter, 100, WEIR_FOREVER).verdict, WEIR_DENY);
    assert_int_equal(weir_reserve(limiter, 100 - held, WEIR_FOREVER).verdict, WEIR_DENY); /* its start is rounded up */
    assert_int_equal(weir_take_wait(limiter, 100, MS).verdict, WEIR_DENY);
    const weir_decision beside = weir_reserve(limiter, 99 - held, WEIR_FOREVER);
    assert_int_equal(beside.verdict, WEIR_ALLOW);
    assert_true(beside.delay_ns > 0);
    set_ns(limiter, beside.start.ns);
    takes(&lease, lease.left); /* all at the same time: 99 */
    weir_lease_close(&lease);
    assert_int_equal(out(limiter), 0);
    assert_int_equal(weir_reserve(limiter, 100, WEIR_FOREVER).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

static void test_reserve_beside_leases(void **state)
{
    (void)state;
    reserve_beside_leases("1k/s burst=100");
    reserve_beside_leases("1k/s burst=100 algorithm=hybrid");
}

/* Refused for what somebody holds and does not use, for as long as he does: who comes back each time is told to come
   back later, never at once. */
static void retry_beside_an_idle_lease(const char *limits)
{
    weir_limiter *limiter = open_manual(limits);
    weir_lease lease;
    uint64_t now_ns = S;
    open_lease(limiter, &lease);
    (void)weir_take(limiter, 1);
    set_ns(limiter, now_ns);
    takes(&lease, 8 + 1);
    assert_true(out(limiter) > 1);
    for (int i = 0; i < 20; i++) {
        const weir_decision taken = weir_take(limiter, 100), reserved = weir_reserve(limiter, 100, WEIR_FOREVER);
        assert_int_equal(taken.verdict, WEIR_DENY);
        assert_int_equal(reserved.verdict, WEIR_DENY);
        assert_true(taken.retry_ns > 0 && taken.retry_ns < S);
        assert_int_equal(reserved.retry_ns, taken.retry_ns);
        set_ns(limiter, now_ns += reserved.retry_ns);
    }
    weir_lease_close(&lease);
    set_ns(limiter, now_ns + S);
    assert_int_equal(weir_reserve(limiter, 100, 0).verdict, WEIR_ALLOW);
    weir_close(limiter);
}

static void test_retry_beside_an_idle_lease(void **state)
{
    (void)state;
    retry_beside_an_idle_lease("1k/s burst=100");
    retry_beside_an_idle_lease("1k/s burst=100 algorithm=hybrid");
    retry_beside_an_idle_lease("999999937/s burst=100");
    retry_beside_an_idle_lease("5G/s burst=100");
    retry_beside_an_idle_lease("5G/s burst=100 algorithm=hybrid");
}

static void test_peek_limit_beside_leases(void **state)
{
    (void)state;
    static const char *const limits[] = {"1k/s burst=100", "1k/s burst=100 algorithm=hybrid"};
    for (int i = 0; i < 2; i++) {
        weir_limiter *limiter = open_manual(limits[i]);
        weir_lease lease;
        open_lease(limiter, &lease);
        (void)weir_take(limiter, 1);
        set_ns(limiter, S);
        takes(&lease, 8 + 1);
        const uint64_t held = out(limiter);
        assert_true(held > 1);
        set_ns(limiter, 2 * S);
        const uint64_t shown = weir_peek_limit(limiter, 0, 0).remaining; /* before a peek, which holds */
        assert_int_equal(shown, 100 - held);
        assert_int_equal(shown, remaining(limiter));
        weir_lease_close(&lease);
        weir_close(limiter);
    }
}

/* ---- threads that end ---- */

static _Thread_local weir_lease of_thread;

static void *ends_with_its_own(void *limiter)
{
    open_lease(limiter, &of_thread);
    takes(&of_thread, 20);
    return NULL;
}

static void *ends_with_one_on_the_heap(void *limiter)
{
    weir_lease *lease = malloc(sizeof *lease);
    assert_non_null(lease);
    open_lease(limiter, lease);
    takes(lease, 20);
    return lease;
}

static void exit_deep_inside(weir_limiter *limiter, int depth)
{
    if (depth > 0) exit_deep_inside(limiter, depth - 1);
    takes(&of_thread, 5);
    if (depth == 0) pthread_exit(NULL);
}

static void *exits(void *limiter)
{
    open_lease(limiter, &of_thread);
    exit_deep_inside(limiter, 3);
    takes(&of_thread, 15);
    return NULL;
}

static atomic_bool may_be_cancelled;

static void *is_cancelled(void *limiter)
{
    open_lease(limiter, &of_thread);
    takes(&of_thread, 20);
    atomic_store(&may_be_cancelled, true);
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
    return NULL;
}

static void *run_thread(void *(*body)(void *), weir_limiter *limiter)
{
    pthread_t thread;
    void *result;
    atomic_store(&may_be_cancelled, false);
    assert_int_equal(pthread_create(&thread, NULL, body, limiter), 0);
    while (body == is_cancelled && !atomic_load(&may_be_cancelled)) sched_yield();
    if (body == is_cancelled) pthread_cancel(thread);
    pthread_join(thread, &result);
    return result;
}

static void test_thread_ends(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    run_thread(ends_with_its_own, limiter);
    assert_int_equal(remaining(limiter), 980);
    weir_lease *lease = run_thread(ends_with_one_on_the_heap, limiter);
    assert_int_equal(remaining(limiter), 960);
    assert_int_equal(weir_lease_take(lease, 1).verdict, WEIR_STOPPED); /* it was closed */
    weir_lease_close(lease);
    free(lease);
    run_thread(exits, limiter);
    assert_int_equal(remaining(limiter), 955);
    run_thread(is_cancelled, limiter);
    assert_int_equal(remaining(limiter), 935);
    assert_int_equal(out(limiter), 0);
    assert_stats(limiter, 65, 65, 0);
    weir_close(limiter);
}

#if defined(__GNUC__)
#define ON_THE_REAL_STACK __attribute__((noinline, no_sanitize_address))
#else
#define ON_THE_REAL_STACK
#endif

/* Against the rules: it is gone before the thread is, and something else is there. */
static ON_THE_REAL_STACK void forget_on_the_stack(weir_limiter *limiter)
{
    weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 20);
}

static ON_THE_REAL_STACK uint64_t write_over_the_stack(unsigned char byte)
{
    volatile unsigned char there[1024];
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof there; i++) there[i] = byte;
    for (size_t i = 0; i < sizeof there; i++) sum += there[i];
    return sum;
}

static void *forgets(void *limiter)
{
    forget_on_the_stack(limiter);
    return NULL;
}

static void *forgets_and_overwrites(void *limiter)
{
    forget_on_the_stack(limiter);
    for (int byte = 0; byte < 256; byte += 85) (void)write_over_the_stack((unsigned char)byte);
    return NULL;
}

/* Whatever is found there, even what it was before it was spent: no more comes back than had been taken along. */
static void test_forgotten_on_the_stack(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    run_thread(forgets, limiter);
    assert_true(remaining(limiter) <= 1000 - 8);
    run_thread(forgets_and_overwrites, limiter);
    assert_true(remaining(limiter) <= 1000 - 16);
    assert_int_equal(out(limiter), 0);
    weir_close(limiter);
}

static pthread_key_t late_key;

/* What it held is lost until the end of the thread: nobody knows what was there before. */
static void *opens_again(void *limiter)
{
    static _Thread_local weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 20);
    const uint64_t held = out(limiter);
    assert_true(held > 0);
    open_lease(limiter, &lease);
    assert_int_equal(out(limiter), held);
    takes(&lease, 20);
    return NULL;
}

static void test_opened_again(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    run_thread(opens_again, limiter);
    assert_int_equal(out(limiter), 0);
    assert_true(remaining(limiter) <= 1000 - 40);
    set_ns(limiter, S);
    assert_int_equal(remaining(limiter), 1000);
    weir_close(limiter);
}

/* Against what weir_lease_spend asks for; what is saved up for all must not suffer from it. */
static void test_spent_beyond(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    weir_lease lease;
    open_lease(limiter, &lease);
    (void)weir_take(limiter, 500);
    takes(&lease, 20);
    const uint64_t saved_up = remaining(limiter);
    assert_true(lease.left > 0);
    (void)weir_lease_spend(&lease, lease.left + 1);
    weir_lease_close(&lease);
    assert_int_equal(out(limiter), 0);
    assert_int_equal(remaining(limiter), saved_up);
    weir_close(limiter);
}

enum { CROWD = 200 };

static atomic_int crowded;

/* All at once, more than there are numbers for threads; half of them leave their lease to the end of the thread. */
static void *one_of_many(void *limiter)
{
    static _Thread_local weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 20);
    const bool closes = atomic_fetch_add(&crowded, 1) % 2 == 0;
    while (atomic_load(&crowded) < CROWD) sched_yield();
    takes(&lease, 5);
    if (closes) weir_lease_close(&lease);
    return NULL;
}

static void test_crowd(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=100000");
    pthread_t thread[CROWD];
    for (int i = 0; i < CROWD; i++) assert_int_equal(pthread_create(&thread[i], NULL, one_of_many, limiter), 0);
    for (int i = 0; i < CROWD; i++) pthread_join(thread[i], NULL);
    assert_int_equal(out(limiter), 0);
    assert_int_equal(remaining(limiter), 100000 - CROWD * 25);
    assert_stats(limiter, CROWD * 25, CROWD * 25, 0);
    weir_close(limiter);
}

static void open_late(void *limiter)
{
    open_lease(limiter, &of_thread);
    takes(&of_thread, 20);
}

static void *ends_with_a_late_one(void *limiter)
{
    (void)weir_take(limiter, 1);
    pthread_setspecific(late_key, limiter);
    return NULL;
}

/* What is opened while the thread already ends is given back too. */
static void test_opened_while_it_ends(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    (void)weir_take(limiter, 1); /* the library's own key comes first */
    assert_int_equal(pthread_key_create(&late_key, open_late), 0);
    run_thread(ends_with_a_late_one, limiter);
    assert_int_equal(out(limiter), 0);
    assert_int_equal(remaining(limiter), 1000 - 22);
    pthread_key_delete(late_key);
    weir_close(limiter);
}

/* ---- stop and close ---- */

static void test_stop(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 20);
    const uint64_t left = lease.left;
    weir_stop(limiter);
    takes(&lease, left); /* they are taken already */
    assert_int_equal(weir_lease_take(&lease, 1).verdict, WEIR_STOPPED);
    assert_int_equal(weir_lease_take(&lease, 0).verdict, WEIR_STOPPED);
    assert_int_equal(weir_lease_take_wait(&lease, 1, WEIR_FOREVER).verdict, WEIR_STOPPED);
    weir_lease_close(&lease);
    assert_stats(limiter, 20 + left, 20 + left, 0);
    open_lease(limiter, &lease);
    assert_int_equal(weir_lease_take(&lease, 1).verdict, WEIR_STOPPED);
    weir_lease_close(&lease);
    weir_close(limiter);
}

static void test_close_of_the_limiter(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    weir_lease lease[3];
    for (int i = 0; i < 3; i++) open_lease(limiter, &lease[i]);
    for (int i = 0; i < 3; i++) takes(&lease[i], 20);
    weir_close(limiter);
    for (int i = 0; i < 3; i++) {
        takes(&lease[i], lease[i].left);
        assert_int_equal(weir_lease_take(&lease[i], 1).verdict, WEIR_STOPPED);
        weir_lease_close(&lease[i]);
        assert_int_equal(weir_lease_take(&lease[i], 1).verdict, WEIR_STOPPED);
    }
}

static void *closes_the_limiter_and_ends(void *limiter)
{
    ends_with_its_own(limiter);
    weir_close(limiter);
    return NULL;
}

static void test_thread_outlives_the_limiter(void **state)
{
    (void)state;
    run_thread(closes_the_limiter_and_ends, open_manual("1k/s burst=1000"));
}

/* Beyond all that its clock can count. */
static void test_end_of_time(void **state)
{
    (void)state;
    static const char *const limits[] = {"10/s burst=1000", "1k/s burst=1000 algorithm=hybrid", "1G/s burst=100k"};
    for (size_t i = 0; i < LENGTH(limits); i++) {
        weir_limiter *limiter = open_manual(limits[i]);
        weir_lease first, second;
        open_lease(limiter, &first);
        open_lease(limiter, &second);
        (void)weir_take(limiter, 1);
        set_ns(limiter, 100 * S);
        takes(&first, 20);
        takes(&second, 20);
        set_ns(limiter, UINT64_MAX);
        weir_lease_close(&first);
        for (int j = 0; j < 1000; j++) (void)weir_lease_take(&second, 1);
        (void)weir_lease_take_wait(&second, 1, 0);
        weir_lease_close(&second);
        assert_int_equal(out(limiter), 0);
        weir_close(limiter);
    }
}

/* A word near its highest value gives no permits that it could not count, and nobody has them. */
static void test_end_of_a_word(void **state)
{
    (void)state;
    const weir_plan plan = plan_of("10/s burst=1000");
    const struct rule rule = plan_inside_const(&plan)->rule[0];
    for (uint64_t left = 0; left < 3; left++) {
        const uint64_t value = WORD_VALUE_MAX - ticks_of(&rule, 20 * left);
        struct word word;
        struct rule same;
        struct lease_slice slice;
        uint64_t after;
        word_make(&word);
        word_open_with(&word, &rule, value);
        const struct trade trade = {.now_ns = ns_ceil(&rule, value - ticks_of(&rule, 10)), .want = 30};
        assert_true(word_trade(&word, &trade, &slice));
        assert_int_equal(slice.permits, left == 2 ? 30 : 0);
        assert_int_equal(atom_load(&word.out), slice.permits);
        assert_true(word_read(&word, &same, &after));
        assert_true(after == value + ticks_of(&rule, slice.permits));
    }
}

/* The clock goes back: what is there stays there, and what is ahead stays ahead. */
static void test_clock_goes_back(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    weir_lease lease;
    set_ns(limiter, 30 * 86400 * S);
    open_lease(limiter, &lease);
    takes(&lease, 20);
    set_ns(limiter, 0);
    takes(&lease, lease.left);
    assert_int_equal(weir_lease_take(&lease, 1).verdict, WEIR_DENY); /* as without a lease */
    weir_lease_close(&lease);
    set_ns(limiter, 30 * 86400 * S);
    assert_int_equal(remaining(limiter), 1000 - 24);
    weir_close(limiter);
}

/* ---- another limit ---- */

static void test_change_is_met_at_the_next_renewal(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 20);
    const uint64_t left = lease.left;
    change(limiter, "10/s burst=10", WEIR_SCALE);
    assert_int_equal(out(limiter), left + 20 - 8);
    takes(&lease, left); /* under the old one */
    assert_int_equal(weir_lease_take(&lease, 1).verdict, WEIR_DENY);
    assert_int_equal(out(limiter), 0);
    weir_lease_close(&lease);
    weir_close(limiter);
}

/* With permits of an old limit in a lease nothing comes back into the new one, and no more passes than it lets. */
static void change_with_permits_out(const char *from, const char *to, weir_carry carry, bool spends)
{
    weir_limiter *limiter = open_manual(from);
    weir_lease lease;
    open_lease(limiter, &lease);
    (void)weir_take(limiter, 1);
    set_ns(limiter, 10 * S);
    takes(&lease, 20);
    const uint64_t held = out(limiter), left = lease.left;
    assert_true(held > 0);
    change(limiter, to, carry);
    assert_int_equal(out(limiter), held);
    const uint64_t before = remaining(limiter);
    if (spends) takes(&lease, left);
    weir_lease_close(&lease);
    assert_int_equal(out(limiter), 0);
    assert_int_equal(remaining(limiter), before);
    const uint64_t after = remaining(limiter);
    for (uint64_t i = 0; i < after; i++) assert_true(weir_allowed(weir_take(limiter, 1)));
    assert_false(weir_allowed(weir_take(limiter, 1)));
    weir_close(limiter);
}

static void test_change_with_permits_out(void **state)
{
    (void)state;
    for (int spends = 0; spends < 2; spends++) {
        for (int carry = WEIR_KEEP; carry <= WEIR_RESET; carry++) {
            change_with_permits_out("1k/s burst=1000", "2k/s burst=500", (weir_carry)carry, spends);
            change_with_permits_out("1k/s burst=1000", "1k/s burst=1000", (weir_carry)carry, spends);
            change_with_permits_out("1k/s burst=1000", "1/s burst=2", (weir_carry)carry, spends);
            change_with_permits_out("1k/s burst=1000 algorithm=hybrid", "3k/s burst=99 algorithm=hybrid",
                                    (weir_carry)carry, spends);
        }
        change_with_permits_out("1k/s burst=1000", "50/s algorithm=sliding-log", WEIR_RESET, spends);
        change_with_permits_out("1k/s burst=1000", "1k/s burst=99 algorithm=hybrid", WEIR_RESET, spends);
        change_with_permits_out("1k/s burst=1000", "90/s burst=9; 9/s burst=9", WEIR_RESET, spends);
        change_with_permits_out("1k/s burst=1000", "50/s algorithm=fixed-window", WEIR_RESET, spends);
        change_with_permits_out("1k/s burst=1000 algorithm=hybrid", "1k/s burst=99", WEIR_RESET, spends);
        change_with_permits_out("1k/s burst=1000 algorithm=hybrid", "50/s algorithm=sliding-log", WEIR_RESET, spends);
        change_with_permits_out("1k/s burst=1000 algorithm=hybrid", "none", WEIR_RESET, spends);
    }
}

static void test_through_all_homes_and_back(void **state)
{
    (void)state;
    static const char *const limits[] = {"1k/s burst=1000",
                                         "50/s algorithm=sliding-log",
                                         "1k/s burst=100 algorithm=hybrid",
                                         "1k/s burst=100; 2k/s burst=200",
                                         "unlimited",
                                         "1k/s burst=1000"};
    weir_limiter *limiter = open_manual(limits[0]);
    weir_lease through, each;
    uint64_t calls = 0;
    open_lease(limiter, &through); /* is not used between */
    takes(&through, 20);
    const uint64_t held = out(limiter);
    for (size_t i = 1; i < LENGTH(limits); i++) {
        change(limiter, limits[i], WEIR_RESET);
        open_lease(limiter, &each);
        takes(&each, 1); /* the first begins a schedule */
        set_ns(limiter, i * 100 * S);
        takes(&each, 14);
        calls += 15;
        weir_lease_close(&each);
        assert_int_equal(out(limiter), held);
    }
    set_ns(limiter, 1000 * S);
    assert_int_equal(remaining(limiter), 1000 - held);
    takes(&through, through.left + 1);
    weir_lease_close(&through);
    assert_int_equal(out(limiter), 0);
    assert_stats(limiter, calls + held + 9, calls + held + 9, 0);
    weir_close(limiter);
}

/* ---- settling ---- */

static void test_settle(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000");
    weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 8 + 16);
    weir_decision decision = weir_lease_take(&lease, 10);
    const weir_decision copy = decision;
    assert_int_equal(decision.charged, 10);
    weir_decision beside = decision;
    weir_settle(limiter, &beside, 4); /* while permits are out nothing goes back */
    weir_lease_close(&lease);
    assert_int_equal(remaining(limiter), 1000 - 24 - 10);
    weir_settle(limiter, &decision, 4);
    weir_settle(limiter, &decision, 0);
    weir_cancel(limiter, &decision);
    assert_int_equal(remaining(limiter), 1000 - 24 - 4);
    open_lease(limiter, &lease);
    takes(&lease, 8 + 1);
    decision = weir_lease_take(&lease, 3);
    assert_true(decision.end > copy.end);
    weir_settle(limiter, &decision, 8);
    weir_lease_close(&lease);
    assert_int_equal(remaining(limiter), 1000 - 24 - 4 - 9 - 8);
    weir_close(limiter);
}

/* What has drained meanwhile does not come back. */
static void test_cancel_late(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=1000"), *plain = open_manual("1k/s burst=1000");
    weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 8 + 6);
    for (int i = 0; i < 14; i++) (void)weir_take(plain, 1);
    weir_decision by_lease = weir_lease_take(&lease, 10), by_take = weir_take(plain, 10);
    assert_int_equal(by_lease.end, by_take.end);
    weir_lease_close(&lease);
    set_ns(limiter, 4 * MS);
    set_ns(plain, 4 * MS);
    weir_cancel(limiter, &by_lease);
    weir_cancel(plain, &by_take);
    assert_int_equal(remaining(limiter), remaining(plain));
    assert_int_equal(remaining(limiter), 1000 - 24 + 6 + 4);
    by_take = weir_take(plain, 5);
    assert_int_equal(weir_take(limiter, 5).end, by_take.end);
    weir_close(limiter);
    weir_close(plain);
}

/* Cancelled and taken again, and again: never more than the burst is in use at once. */
static void test_cancel_keeps_the_bound(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=100");
    weir_lease lease;
    uint64_t seed = 5, used = 0, now_ns = 0;
    weir_decision open[16] = {{0}};
    open_lease(limiter, &lease);
    for (int i = 0; i < 20000; i++) {
        const uint64_t number = random_below(&seed, 16), charged = open[number].charged;
        weir_cancel(limiter, &open[number]);
        used -= charged;
        open[number] = weir_lease_take(&lease, 1 + random_below(&seed, 3));
        used += open[number].charged;
        assert_true(used <= 100 + now_ns / MS);
        if (i % 100 == 0) set_ns(limiter, now_ns += random_below(&seed, 2 * MS));
    }
    weir_lease_close(&lease);
    weir_close(limiter);
}

/* ---- counting ---- */

static void test_stats(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("1k/s burst=100");
    weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 30);
    while (lease.left != 0) takes(&lease, 1);
    uint64_t taken = 100 - remaining(limiter);
    takes(&lease, 1); /* renews */
    taken++;
    weir_stats stats;
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_in_range(stats.granted, taken - 1, taken);
    assert_int_equal(stats.calls, stats.granted);
    while (weir_allowed(weir_lease_take(&lease, 1))) taken++;
    assert_int_equal(taken, 100);
    assert_stats(limiter, 101, 100, 1);
    weir_lease_close(&lease);
    assert_stats(limiter, 101, 100, 1);
    weir_close(limiter);
}

/* ---- pacing ---- */

static weir_limiter *open_pace(const char *limits)
{
    return open_limiter(limits, WEIR_CLOCK_MANUAL, WEIR_PACE);
}

enum { STARTS = 20000 };

/* One is asked by a lease, and for what it takes along the other is asked then: they have the same starts. */
struct twins {
    weir_limiter *leased, *plain;
    weir_lease lease;
    uint64_t start_ns[2 * STARTS], due_ns[2 * STARTS];
    size_t given, spent, renewed;
};

static weir_decision take_of_twins(struct twins *twins)
{
    const bool asks = twins->given == twins->spent;
    const weir_decision decision = weir_lease_take(&twins->lease, 1);
    const uint64_t along = out(twins->leased), single = weir_allowed(decision);
    for (uint64_t i = 0; asks && i < (along != 0 ? along : single); i++) {
        const weir_decision reserved = weir_reserve(twins->plain, 1, WEIR_FOREVER);
        twins->due_ns[twins->given] = weir_due(twins->plain, &reserved, 1).ns;
        twins->start_ns[twins->given++] = reserved.start.ns;
    }
    twins->renewed += asks && along != 0;
    return decision;
}

/* A slice is rounded up to ns as a whole, so that each start is the same, or one ns later. */
static void same_starts(const char *limits, uint64_t step_most_ns)
{
    static struct twins twins;
    twins = (struct twins){.leased = open_pace(limits), .plain = open_pace(limits)};
    uint64_t seed = 77, now_ns = 1000;
    open_lease(twins.leased, &twins.lease);
    while (twins.spent < STARTS) {
        set_ns(twins.leased, now_ns);
        set_ns(twins.plain, now_ns);
        const weir_decision decision = take_of_twins(&twins);
        if (weir_allowed(decision)) {
            assert_int_equal(weir_due(twins.leased, &decision, 1).ns, twins.due_ns[twins.spent]);
            assert_true(decision.start.ns <= twins.start_ns[twins.spent++] + 1);
            assert_true(decision.start.ns <= now_ns);
            if (random_one_in(&seed, 10)) now_ns += random_below(&seed, step_most_ns);
        } else {
            assert_in_range(decision.retry_ns, 1, MS);
            set_ns(twins.leased, now_ns + decision.retry_ns - 1);
            if (twins.given != twins.spent) assert_retry(take_of_twins(&twins), 1);
            now_ns += decision.retry_ns;
        }
    }
    assert_true(twins.renewed > 100);
    weir_lease_close(&twins.lease);
    weir_close(twins.leased);
    weir_close(twins.plain);
}

static void test_same_starts(void **state)
{
    (void)state;
    same_starts("1M/s burst=1ms", 100);
    same_starts("1M/s burst=1ms", 2000);
    same_starts("3M/s burst=1ms", 100);
    same_starts("50M/s burst=1000", 100);
    same_starts("1M/s", 100);
    same_starts("7M/s burst=100 catchup=2", 100);
}

/* A slice that begins now and ends in 4 us. */
static weir_limiter *open_slice(weir_lease *lease)
{
    weir_limiter *limiter = open_pace("1M/s burst=1000");
    open_lease(limiter, lease);
    (void)weir_take(limiter, 1);
    set_ns(limiter, S);
    takes(lease, 8 + 16);
    while (lease->left != 0) takes(lease, 1);
    while (weir_allowed(weir_lease_take(lease, 1))) continue;
    assert_int_equal(lease->left, 0);
    assert_int_equal(weir_lease_take(lease, 1).verdict, WEIR_DENY);
    return limiter;
}

static void test_permits_ahead(void **state)
{
    (void)state;
    weir_lease lease;
    weir_limiter *limiter = open_slice(&lease);
    assert_true(out(limiter) > 0);
    assert_retry(weir_lease_take(&lease, 1), 1000);
    assert_retry(weir_lease_take(&lease, 2), 2000);
    set_ns(limiter, S + 999);
    assert_retry(weir_lease_take(&lease, 1), 1);
    set_ns(limiter, S + 1000);
    assert_int_equal(weir_lease_take(&lease, 1).start.ns, S + 1000);
    assert_retry(weir_lease_take(&lease, 1), 1000);
    set_ns(limiter, S + 3000);
    assert_int_equal(weir_lease_take(&lease, 1).start.ns, S + 2000);
    assert_int_equal(weir_lease_take(&lease, 1).start.ns, S + 3000);
    assert_int_equal(weir_lease_take(&lease, 1).verdict, WEIR_DENY);
    weir_lease_close(&lease);
    assert_int_equal(out(limiter), 0);
    /* Those that were still ahead are there for others. */
    set_ns(limiter, S + 4000);
    assert_int_equal(weir_take(limiter, 1).start.ns, S + 4000);
    weir_close(limiter);
}

struct waiting {
    weir_limiter *limiter;
    weir_lease lease;
    uint64_t wait_max_ns;
    weir_decision decision;
    atomic_bool ready, back;
};

static void *waits(void *argument)
{
    struct waiting *waiting = argument;
    open_lease(waiting->limiter, &waiting->lease);
    (void)weir_take(waiting->limiter, 1);
    weir_manual_set(waiting->limiter, at(S));
    takes(&waiting->lease, 100);
    while (weir_allowed(weir_lease_take(&waiting->lease, 1))) continue;
    atomic_store(&waiting->ready, true);
    waiting->decision = weir_lease_take_wait(&waiting->lease, 1, waiting->wait_max_ns);
    atomic_store(&waiting->back, true);
    weir_lease_close(&waiting->lease);
    return NULL;
}

static void start_waiting(struct waiting *waiting, pthread_t *thread)
{
    waiting->limiter = open_pace("1M/s burst=1000");
    assert_int_equal(pthread_create(thread, NULL, waits, waiting), 0);
    while (!atomic_load(&waiting->ready)) sched_yield();
}

static void test_waits(void **state)
{
    (void)state;
    struct waiting waiting = {.wait_max_ns = WEIR_FOREVER};
    pthread_t thread;
    start_waiting(&waiting, &thread);
    for (uint64_t ns = S; ns < S + 1000; ns += 111) {
        set_ns(waiting.limiter, ns);
        for (int i = 0; i < 10; i++) sched_yield();
        assert_false(atomic_load(&waiting.back));
    }
    set_ns(waiting.limiter, S + 1000);
    pthread_join(thread, NULL);
    assert_int_equal(waiting.decision.verdict, WEIR_ALLOW);
    assert_int_equal(waiting.decision.start.ns, S + 1000);
    assert_int_equal(waiting.decision.delay_ns, 0);
    weir_close(waiting.limiter);
}

static void *waits_and_hurries(void *argument)
{
    struct waiting *waiting = argument;
    open_lease(waiting->limiter, &waiting->lease);
    assert_int_equal(weir_take(waiting->limiter, 1000).verdict, WEIR_ALLOW);
    waiting->decision = weir_lease_take_wait(&waiting->lease, 1, WEIR_FOREVER);
    takes(&waiting->lease, 7);
    assert_int_equal(out(waiting->limiter), 0);
    takes(&waiting->lease, 1);
    assert_int_equal(out(waiting->limiter), 16);
    weir_lease_close(&waiting->lease);
    return NULL;
}

/* The eight in a row that it needs to see may begin with one that waited: its sleep does not count. */
static void test_size_grows_after_a_wait(void **state)
{
    (void)state;
    struct waiting waiting = {.limiter = open_manual("1M/s burst=1000")};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, waits_and_hurries, &waiting), 0);
    while (weir_peek(waiting.limiter, 1).retry_ns != 2000) sched_yield(); /* behind the one that waits */
    set_ns(waiting.limiter, 900000);
    pthread_join(thread, NULL);
    assert_int_equal(waiting.decision.start.ns, 1000);
    weir_close(waiting.limiter);
}

static void test_waits_too_short(void **state)
{
    (void)state;
    struct waiting waiting = {.wait_max_ns = 999};
    pthread_t thread;
    start_waiting(&waiting, &thread);
    pthread_join(thread, NULL);
    assert_retry(waiting.decision, 1000);
    weir_close(waiting.limiter);
}

static void test_stop_wakes(void **state)
{
    (void)state;
    struct waiting waiting = {.wait_max_ns = WEIR_FOREVER};
    pthread_t thread;
    start_waiting(&waiting, &thread);
    for (int i = 0; i < 100; i++) sched_yield();
    weir_stop(waiting.limiter);
    pthread_join(thread, NULL);
    assert_int_equal(waiting.decision.verdict, WEIR_STOPPED);
    assert_int_equal(out(waiting.limiter), 0);
    weir_close(waiting.limiter);
}

/* ---- everything else ---- */

/* Where nothing is given along, a lease answers as the limiter does. */
static void same_answers(const char *limits, weir_use use)
{
    weir_limiter *leased = open_limiter(limits, WEIR_CLOCK_MANUAL, use);
    weir_limiter *plain = open_limiter(limits, WEIR_CLOCK_MANUAL, use);
    weir_lease lease;
    uint64_t seed = 3, now_ns = 0;
    open_lease(leased, &lease);
    for (int i = 0; i < 3000; i++) {
        const uint64_t cost = random_below(&seed, 8) == 0 ? random_below(&seed, 30) : 1;
        set_ns(leased, now_ns);
        set_ns(plain, now_ns);
        if (i % 2 == 0) assert_same(weir_lease_take(&lease, cost), weir_take_at(plain, at(now_ns), cost));
        else assert_same(weir_lease_take_wait(&lease, cost, 0), weir_take_wait(plain, cost, 0));
        assert_int_equal(lease.left, 0);
        if (random_one_in(&seed, 12)) now_ns += random_below(&seed, 400 * MS);
    }
    weir_lease_close(&lease);
    weir_stats of_lease, of_plain;
    weir_read_stats(leased, &of_lease, sizeof of_lease);
    weir_read_stats(plain, &of_plain, sizeof of_plain);
    assert_memory_equal(&of_lease, &of_plain, sizeof of_lease);
    weir_close(leased);
    weir_close(plain);
}

static void test_same_answers(void **state)
{
    (void)state;
    static const char *const limits[] = {
        "20/s algorithm=timeline",
        "20/s catchup=2 algorithm=timeline",
        "20/s strictness=0.5 algorithm=timeline",
        "20/s burst=5 algorithm=bursty",
        "20/s warmup=1s algorithm=warmup",
        "20/s burst=10 algorithm=leaky",
        "20/s algorithm=cycle",
        "20/s algorithm=fixed-window",
        "20/s count-refused algorithm=fixed-window",
        "20/s block=1s algorithm=fixed-window",
        "20/s algorithm=sliding-window",
        "20/s algorithm=sliding-log",
        "20/s gap=1ms algorithm=sliding-log",
        "20/s count-refused algorithm=sliding-log",
        "20/s; 1000/min",
        "20/s burst=20; 50/s algorithm=hybrid",
        "20/s algorithm=sliding-log; 20/s",
        "20/s burst=7",
        "20/s burst=3 algorithm=hybrid",
        "none",
    };
    for (size_t i = 0; i < LENGTH(limits); i++) {
        same_answers(limits[i], WEIR_ADMIT);
        same_answers(limits[i], WEIR_PACE);
    }
}

static void test_unlimited(void **state)
{
    (void)state;
    weir_limiter *limiter = open_manual("unlimited");
    weir_lease lease;
    open_lease(limiter, &lease);
    takes(&lease, 1000);
    assert_int_equal(weir_lease_take(&lease, UINT64_C(1) << 50).verdict, WEIR_ALLOW);
    weir_lease_close(&lease);
    assert_stats(limiter, 1001, 1000 + (UINT64_C(1) << 50), 0);
    weir_close(limiter);
}

/* A refusal that was noted is one until its time has come, or the limiter is stopped. */
static void test_noted_refusal_ends(void **state)
{
    weir_limiter *limiter = open_limiter("1/s burst=1", WEIR_CLOCK_MANUAL, WEIR_ADMIT);
    weir_lease lease;
    (void)state;
    open_lease(limiter, &lease);
    set_ns(limiter, S);
    assert_true(weir_allowed(weir_lease_take(&lease, 1)));
    for (uint64_t i = 0; i < 4; i++) assert_int_equal(weir_lease_take(&lease, 1).retry_ns, S);
    assert_int_equal(weir_lease_take(&lease, 2).verdict, WEIR_NEVER);
    set_ns(limiter, 2 * S);
    assert_true(weir_allowed(weir_lease_take(&lease, 1)));
    assert_int_equal(weir_lease_take(&lease, 1).verdict, WEIR_DENY);
    weir_stop(limiter);
    assert_int_equal(weir_lease_take(&lease, 1).verdict, WEIR_STOPPED);
    weir_lease_close(&lease);
    weir_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_lost),
        cmocka_unit_test(test_closed),
        cmocka_unit_test(test_noted_refusal_ends),
        cmocka_unit_test(test_size_grows),
        cmocka_unit_test(test_size_shrinks),
        cmocka_unit_test(test_exact_when_short),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_own_permits_count),
        cmocka_unit_test(test_many_leases),
        cmocka_unit_test(test_reserve_beside_leases),
        cmocka_unit_test(test_retry_beside_an_idle_lease),
        cmocka_unit_test(test_peek_limit_beside_leases),
        cmocka_unit_test(test_thread_ends),
        cmocka_unit_test(test_forgotten_on_the_stack),
        cmocka_unit_test(test_opened_again),
        cmocka_unit_test(test_spent_beyond),
        cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_opened_while_it_ends),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_close_of_the_limiter),
        cmocka_unit_test(test_thread_outlives_the_limiter),
        cmocka_unit_test(test_end_of_time),
        cmocka_unit_test(test_end_of_a_word),
        cmocka_unit_test(test_clock_goes_back),
        cmocka_unit_test(test_change_is_met_at_the_next_renewal),
        cmocka_unit_test(test_change_with_permits_out),
        cmocka_unit_test(test_through_all_homes_and_back),
        cmocka_unit_test(test_settle),
        cmocka_unit_test(test_cancel_late),
        cmocka_unit_test(test_cancel_keeps_the_bound),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_same_starts),
        cmocka_unit_test(test_permits_ahead),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_size_grows_after_a_wait),
        cmocka_unit_test(test_waits_too_short),
        cmocka_unit_test(test_stop_wakes),
        cmocka_unit_test(test_same_answers),
        cmocka_unit_test(test_unlimited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
