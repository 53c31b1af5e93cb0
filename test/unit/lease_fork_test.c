/* SPDX-License-Identifier: MIT
   Leases in the child of a fork: what the parent's threads had taken along is not for it.

   A child ends as any program does, so that a leak is found there too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/limiter.h"
#include "unit/plans.h"

enum { PARKED = 6, CHILD_SECONDS = 60 };

static weir_limiter *limiter;
static weir_lease mine, parked[PARKED];
static _Thread_local weir_lease of_thread;
static atomic_int parking;
static atomic_bool leave;

static uint64_t remaining(void)
{
    return weir_peek(limiter, 0).remaining;
}

static uint64_t take_often(weir_lease *lease, int times)
{
    uint64_t taken = 0;
    for (int i = 0; i < times; i++) taken += weir_lease_take(lease, 1).charged;
    return taken;
}

/* In the child: the line of what is not as it should be, or 0. */
#define WRONG_UNLESS(holds)                                                                                            \
    if (!(holds)) return __LINE__

static int wrong_with(const weir_lease *lease)
{
    WRONG_UNLESS(lease->left == 0 && lease->inside == NULL);
    return 0;
}

static int child_alone(void)
{
    WRONG_UNLESS(wrong_with(&mine) == 0);
    WRONG_UNLESS(weir_lease_take(&mine, 1).verdict == WEIR_STOPPED);
    WRONG_UNLESS(weir_lease_take_wait(&mine, 1, WEIR_FOREVER).verdict == WEIR_STOPPED);
    weir_lease_close(&mine);
    for (int i = 0; i < PARKED; i++) WRONG_UNLESS(wrong_with(&parked[i]) == 0);
    WRONG_UNLESS(atom_load(&limiter->word.out) == 0);
    set_ns(limiter, 100 * S);
    WRONG_UNLESS(remaining() == 1000); /* nothing is kept free for them */
    WRONG_UNLESS(weir_take(limiter, 1000).verdict == WEIR_ALLOW);
    set_ns(limiter, 200 * S);
    WRONG_UNLESS(weir_lease_open(&mine, limiter, NULL) == 0);
    WRONG_UNLESS(take_often(&mine, 100) == 100);
    weir_lease_close(&mine);
    WRONG_UNLESS(remaining() == 900);
    WRONG_UNLESS(weir_set_limit(limiter, "1k/s burst=500", WEIR_RESET, NULL) == 0);
    weir_close(limiter);
    return 0;
}

static int child_that_leaves_it_open(void)
{
    WRONG_UNLESS(weir_lease_open(&of_thread, limiter, NULL) == 0);
    WRONG_UNLESS(take_often(&of_thread, 100) == 100);
    return 0;
}

static int child_with_a_child(void)
{
    WRONG_UNLESS(weir_lease_open(&of_thread, limiter, NULL) == 0);
    WRONG_UNLESS(take_often(&of_thread, 20) == 20);
    const pid_t child = fork();
    if (child == 0) {
        if (of_thread.left != 0 || of_thread.inside != NULL || atom_load(&limiter->word.out) != 0) _exit(1);
        _exit(weir_lease_take(&of_thread, 1).verdict == WEIR_STOPPED ? 0 : 1);
    }
    int status = 1;
    WRONG_UNLESS(waitpid(child, &status, 0) == child && status == 0);
    WRONG_UNLESS(take_often(&of_thread, 20) == 20);
    weir_lease_close(&of_thread);
    weir_close(limiter);
    return 0;
}

static void fork_and_check(int (*body)(void))
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        const int line = body();
        if (line != 0) fprintf(stderr, "in the child, line %d\n", line);
        exit(line != 0);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- threads that hold leases meanwhile ---- */

static void *park(void *lease)
{
    weir_lease_open(lease, limiter, NULL);
    take_often(lease, 20);
    atomic_fetch_add(&parking, 1);
    while (!atomic_load(&leave)) sched_yield();
    take_often(lease, 5);
    weir_lease_close(lease);
    return NULL;
}

static void with_parked(void (*forks)(int (*body)(void)), int (*body)(void), const char *limits)
{
    pthread_t thread[PARKED];
    limiter = open_manual(limits);
    (void)weir_take(limiter, 1);
    set_ns(limiter, 10 * S);
    atomic_store(&parking, 0);
    atomic_store(&leave, false);
    for (int i = 0; i < PARKED; i++) assert_int_equal(pthread_create(&thread[i], NULL, park, &parked[i]), 0);
    while (atomic_load(&parking) < PARKED) sched_yield();
    assert_int_equal(weir_lease_open(&mine, limiter, NULL), 0);
    assert_int_equal(take_often(&mine, 20), 20);
    const uint64_t out = atom_load(&limiter->word.out), left = mine.left;
    assert_true(out > 0 && left > 0);
    forks(body);
    assert_int_equal(atom_load(&limiter->word.out), out);
    assert_int_equal(mine.left, left);
    assert_int_equal(take_often(&mine, 5), 5);
    weir_lease_close(&mine);
    atomic_store(&leave, true);
    for (int i = 0; i < PARKED; i++) pthread_join(thread[i], NULL);
    assert_int_equal(atom_load(&limiter->word.out), 0);
    assert_int_equal(remaining(), 1000 - (PARKED + 1) * 25);
    weir_close(limiter);
}

static void test_fork(void **state)
{
    (void)state;
    with_parked(fork_and_check, child_alone, "1k/s burst=1000");
    with_parked(fork_and_check, child_alone, "1k/s burst=1000 algorithm=hybrid");
}

static void test_child_leaves_it_open(void **state)
{
    (void)state;
    with_parked(fork_and_check, child_that_leaves_it_open, "1k/s burst=1000");
}

static void test_child_has_a_child(void **state)
{
    (void)state;
    with_parked(fork_and_check, child_with_a_child, "1k/s burst=1000");
}

/* ---- a thread forks, and is all there is of the child ---- */

static int (*body_of_thread)(void);
static pid_t child_of_thread;

/* A leak checker would miss the stack of main. */
static void end_at_once(void)
{
    _exit(0);
}

static void *fork_in_thread(void *unused)
{
    (void)unused;
    weir_lease_open(&of_thread, limiter, NULL);
    take_often(&of_thread, 20);
    fflush(NULL);
    child_of_thread = fork();
    if (child_of_thread == 0) {
        alarm(CHILD_SECONDS);
        if (of_thread.inside != NULL || body_of_thread() != 0) _exit(1);
        atexit(end_at_once);
        pthread_exit(NULL); /* the last one: ends the process */
    }
    weir_lease_close(&of_thread);
    return NULL;
}

static void fork_by_thread(int (*body)(void))
{
    pthread_t thread;
    int status = 1;
    body_of_thread = body;
    const uint64_t before = remaining();
    assert_int_equal(pthread_create(&thread, NULL, fork_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(waitpid(child_of_thread, &status, 0), child_of_thread);
    assert_int_equal(status, 0);
    assert_int_equal(remaining(), before - 20);
    set_ns(limiter, 20 * S);
    assert_true(remaining() <= 1000);
}

static int child_takes_and_closes(void)
{
    set_ns(limiter, 30 * S);
    WRONG_UNLESS(child_that_leaves_it_open() == 0);
    WRONG_UNLESS(weir_set_limit(limiter, "2k/s burst=500", WEIR_KEEP, NULL) == 0);
    return 0;
}

static void test_thread_forks(void **state)
{
    (void)state;
    limiter = open_manual("1k/s burst=1000");
    fork_by_thread(child_takes_and_closes);
    weir_close(limiter);
}

/* ---- a limiter that is gone ---- */

static int child_of_a_closed_limiter(void)
{
    WRONG_UNLESS(wrong_with(&mine) == 0);
    WRONG_UNLESS(weir_lease_take(&mine, 1).verdict == WEIR_STOPPED);
    weir_lease_close(&mine);
    return 0;
}

static void test_limiter_was_closed(void **state)
{
    (void)state;
    limiter = open_manual("1k/s burst=1000");
    assert_int_equal(weir_lease_open(&mine, limiter, NULL), 0);
    assert_int_equal(take_often(&mine, 20), 20);
    weir_close(limiter);
    fork_and_check(child_of_a_closed_limiter);
    weir_lease_close(&mine);
}

/* ---- what other threads do while one forks ---- */

static int child_may_spin(void)
{
    WRONG_UNLESS(host_spin_may(1));
    weir_close(limiter);
    return 0;
}

static void test_child_may_spin(void **state)
{
    (void)state;
    limiter = open_manual("1k/s burst=1000");
    assert_true(host_spin_begin(1)); /* as another thread would, for its last moments before a start */
    fork_and_check(child_may_spin);
    assert_false(host_spin_may(1));
    host_spin_end();
    weir_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_child_leaves_it_open),
        cmocka_unit_test(test_child_has_a_child),
        cmocka_unit_test(test_thread_forks),
        cmocka_unit_test(test_limiter_was_closed),
        cmocka_unit_test(test_child_may_spin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
