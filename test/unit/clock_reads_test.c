/* SPDX-License-Identifier: MIT
   How often the clock is read: once by a call, once by the renewal of a lease, never else; and how
   often a limit's clock is renewed when two find that it is time.

   weir-bench counts a lease's renewals and says that these are its readings of the clock; here the readings themselves
   are counted, in the place of the host's.

   Nothing about speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "api/limiter.h"

uint64_t __wrap_host_now_ns(void);
uint64_t __real_host_now_ns(void);

enum { CALLS = 100000 };

static uint64_t reads;
static weir_limiter *overtaken; /* whose lock somebody else gets first, once */

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    weir_limiter *const limiter = overtaken;
    overtaken = NULL;
    if (limiter != NULL) limiter_renew(limiter, atom_load(&limiter->clock_ends_ns));
    return __real_pthread_mutex_lock(mutex);
}

uint64_t __wrap_host_now_ns(void)
{
    reads++;
    return __real_host_now_ns();
}

static weir_limiter *open_limiter(const char *limits)
{
    weir_limiter *limiter;
    assert_int_equal(weir_open(&limiter, limits, NULL, NULL), 0);
    reads = 0;
    return limiter;
}

static void a_call_reads_once(void **state)
{
    weir_limiter *limiter = open_limiter("1000G/s burst=1h");
    (void)state;
    for (int i = 0; i < CALLS; i++) assert_true(weir_allowed(weir_take(limiter, 1)));
    assert_int_equal(reads, CALLS);
    weir_close(limiter);
}

static void a_call_with_a_time_reads_never(void **state)
{
    weir_limiter *limiter = open_limiter("1000G/s burst=1h");
    const weir_instant now = weir_now();
    (void)state;
    reads = 0;
    for (int i = 0; i < CALLS; i++) assert_true(weir_allowed(weir_take_at(limiter, now, 1)));
    assert_int_equal(reads, 0);
    weir_close(limiter);
}

/* Two find that a limit's clock has to be renewed: the one that gets the lock second leaves it, or what was noted
   between the two would be moved over twice. */
static void a_clock_is_renewed_once(void **state)
{
    (void)state;
    weir_limiter *limiter = NULL;
    weir_options manual = WEIR_OPTIONS;
    manual.clock = WEIR_CLOCK_MANUAL;
    assert_int_equal(weir_open(&limiter, "1000000/s algorithm=sliding-log", &manual, NULL), 0);
    const uint32_t before = limiter->generation;
    const uint64_t end_ns = atom_load(&limiter->clock_ends_ns);
    weir_manual_set(limiter, (weir_instant){end_ns});
    overtaken = limiter;
    limiter_renew(limiter, end_ns); /* while it waits for the lock ... */
    assert_null(overtaken);
    assert_int_equal(limiter->generation, before + 1);
    assert_true(weir_allowed(weir_take(limiter, 1)));
    assert_int_equal(limiter->generation, before + 1);
    weir_close(limiter);
}

/* Counted from outside, as weir-bench does. */
static void a_lease_reads_when_renewed(void **state)
{
    weir_limiter *limiter = open_limiter("1000G/s burst=1h");
    weir_lease lease;
    uint64_t renewals = 0;
    (void)state;
    assert_int_equal(weir_lease_open(&lease, limiter, NULL), 0);
    reads = 0;
    for (int i = 0; i < CALLS; i++) {
        renewals += lease.left < 1;
        assert_true(weir_allowed(weir_lease_take(&lease, 1)));
        assert_int_equal(reads, renewals);
    }
    weir_lease_close(&lease);
    weir_close(limiter);
}

static void a_refused_lease_reads_once(void **state)
{
    weir_limiter *limiter = open_limiter("1/d burst=1");
    weir_lease lease;
    (void)state;
    assert_int_equal(weir_lease_open(&lease, limiter, NULL), 0);
    assert_true(weir_allowed(weir_take(limiter, 1)));
    reads = 0;
    for (int i = 0; i < CALLS; i++) assert_int_equal(weir_lease_take(&lease, 1).verdict, WEIR_DENY);
    assert_int_equal(reads, CALLS);
    weir_lease_close(&lease);
    weir_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_reads_once),          cmocka_unit_test(a_call_with_a_time_reads_never),
        cmocka_unit_test(a_lease_reads_when_renewed), cmocka_unit_test(a_refused_lease_reads_once),
        cmocka_unit_test(a_clock_is_renewed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
