/* SPDX-License-Identifier: MIT
   Numbers of threads, events, sleeps and the ticker.

   No length of time is asserted but that nothing is early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/clock.h"
#include "host/sleep.h"
#include "host/thread.h"

enum { MORE_THREADS = HOST_SLOTS + 16 };
static const uint64_t MS = 1000000;

/* ---- numbers ---- */

struct numbered {
    pthread_t thread;
    unsigned slot;
    bool kept;
};

static atomic_int arrived;
static atomic_bool leave;

static void *hold_a_slot(void *argument)
{
    struct numbered *numbered = argument;
    numbered->slot = host_slot();
    atomic_fetch_add(&arrived, 1);
    while (!atomic_load(&leave)) sched_yield();
    numbered->kept = host_slot() == numbered->slot;
    return NULL;
}

static void start_holders(struct numbered *holders, int count)
{
    atomic_store(&arrived, 0);
    atomic_store(&leave, false);
    for (int i = 0; i < count; i++) {
        assert_int_equal(pthread_create(&holders[i].thread, NULL, hold_a_slot, &holders[i]), 0);
    }
    while (atomic_load(&arrived) < count) sched_yield();
}

static void join_holders(const struct numbered *holders, int count)
{
    atomic_store(&leave, true);
    for (int i = 0; i < count; i++) pthread_join(holders[i].thread, NULL);
    for (int i = 0; i < count; i++) assert_true(holders[i].kept);
}

static void test_slots_are_unique(void **state)
{
    (void)state;
    static struct numbered holders[MORE_THREADS];
    const unsigned mine = host_slot();
    assert_true(mine < HOST_SLOTS);
    for (int round = 0; round < 20; round++) {
        int of_slot[HOST_SLOTS + 1] = {0};
        start_holders(holders, MORE_THREADS);
        of_slot[host_slot()]++;
        for (int i = 0; i < MORE_THREADS; i++) {
            assert_true(holders[i].slot <= HOST_SLOTS);
            of_slot[holders[i].slot]++;
        }
        /* All numbers are in use, each once; those who came too late share the one beyond. */
        for (int i = 0; i < HOST_SLOTS; i++) assert_int_equal(of_slot[i], 1);
        assert_int_equal(of_slot[HOST_SLOTS], MORE_THREADS + 1 - HOST_SLOTS);
        assert_int_equal(host_slot(), mine);
        join_holders(holders, MORE_THREADS);
    }
}

/* One after the other they need one number between them. */
static void test_slots_are_used_again(void **state)
{
    (void)state;
    struct numbered holder;
    unsigned first = HOST_SLOTS;
    for (int i = 0; i < 3 * HOST_SLOTS; i++) {
        start_holders(&holder, 1);
        join_holders(&holder, 1);
        if (i == 0) first = holder.slot;
        assert_true(holder.slot < HOST_SLOTS);
        assert_true(holder.slot != host_slot());
        assert_int_equal(holder.slot, first);
    }
}

static pthread_key_t late_key;
static atomic_uint late_slot;

/* Again and again, as long as the thread's end allows: at last its number is another's. */
static void ask_late(void *argument)
{
    atomic_store(&late_slot, host_slot());
    pthread_setspecific(late_key, argument);
}

static void *ask_at_the_end(void *argument)
{
    (void)host_slot();
    pthread_setspecific(late_key, &late_slot);
    return argument;
}

static void test_slot_of_a_thread_that_ends(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_key_create(&late_key, ask_late), 0);
    assert_int_equal(pthread_create(&thread, NULL, ask_at_the_end, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&late_slot), HOST_SLOTS);
    pthread_key_delete(late_key);
}

/* Of all threads only the one that forked is in the child: the others' numbers are free, and so is one for itself. */
static void test_slots_of_a_child(void **state)
{
    (void)state;
    static struct numbered holders[MORE_THREADS];
    const unsigned mine = host_slot();
    start_holders(holders, MORE_THREADS);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct numbered holder;
        bool fine = host_slot() == mine;
        for (int i = 0; i < 2; i++) {
            start_holders(&holder, 1);
            fine = fine && holder.slot < HOST_SLOTS && holder.slot != mine;
            join_holders(&holder, 1);
        }
        _exit(fine ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    join_holders(holders, MORE_THREADS);
    assert_int_equal(status, 0);
}

static void *fork_without_a_number(void *argument)
{
    int status = -1;
    const unsigned shared = host_slot();
    const pid_t child = fork();
    if (child == 0) _exit(shared == HOST_SLOTS && host_slot() < HOST_SLOTS ? 0 : 1);
    waitpid(child, &status, 0);
    atomic_store((atomic_uint *)argument, (unsigned)status);
    return NULL;
}

static void test_slot_of_a_child_that_had_none(void **state)
{
    (void)state;
    static struct numbered holders[MORE_THREADS];
    atomic_uint status;
    pthread_t thread;
    atomic_init(&status, 77);
    start_holders(holders, MORE_THREADS);
    assert_int_equal(pthread_create(&thread, NULL, fork_without_a_number, &status), 0);
    pthread_join(thread, NULL);
    join_holders(holders, MORE_THREADS);
    assert_int_equal(atomic_load(&status), 0);
}

static void test_forks_are_counted(void **state)
{
    (void)state;
    const uint64_t before = host_forks();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(host_forks() == before + 1 ? 0 : 1);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(host_forks(), before);
}

/* ---- memory ---- */

static void test_memory(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 63, 64, 65, 5000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char *memory = host_allocate(sizes[i]);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 64, 0);
        for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(memory[j], 0);
        host_free(memory);
    }
    host_free(NULL);
}

/* ---- mutual exclusion ---- */

static struct host_mutex mutex;
static uint64_t guarded;

static void *add_under_mutex(void *argument)
{
    (void)argument;
    for (int i = 0; i < 10000; i++) {
        host_lock(&mutex);
        guarded++;
        host_unlock(&mutex);
    }
    return NULL;
}

static void test_mutex(void **state)
{
    (void)state;
    pthread_t thread[4];
    host_mutex_open(&mutex);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&thread[i], NULL, add_under_mutex, NULL), 0);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    host_mutex_close(&mutex);
    assert_int_equal(guarded, 40000);
}

/* ---- time ---- */

static void test_clocks(void **state)
{
    (void)state;
    uint64_t last_ns = 0, last_coarse_ns = 0;
    for (int i = 0; i < 10000; i++) {
        const uint64_t coarse_ns = host_now_coarse_ns(), now_ns = host_now_ns();
        assert_true(now_ns >= last_ns && coarse_ns >= last_coarse_ns);
        assert_true(coarse_ns <= now_ns);
        last_ns = now_ns;
        last_coarse_ns = coarse_ns;
    }
    while (host_now_coarse_ns() < last_ns) continue;
}

static void test_sleep_is_never_early(void **state)
{
    (void)state;
    static const uint64_t lengths_ns[] = {0, 1, 999, 50000, 1000000, 20000000};
    for (size_t i = 0; i < sizeof lengths_ns / sizeof lengths_ns[0]; i++) {
        const uint64_t deadline_ns = host_now_ns() + lengths_ns[i];
        host_sleep_until(deadline_ns);
        assert_true(host_now_ns() >= deadline_ns);
    }
    host_sleep_until(0);
}

/* ---- events ---- */

/* It may return for no reason, so waiting is a loop, as in api/wait.c. */
static void wait_for_change(struct host_event *event, uint32_t seen, uint64_t deadline_ns)
{
    while (host_event_seen(event) == seen && host_now_ns() < deadline_ns) host_event_wait(event, seen, deadline_ns);
}

/* Seconds that 32 bits cannot say: cut off they would be a time of long ago, or none at all. */
static const uint64_t FAR_NS[] = {UINT64_C(0x80000001) * HOST_SECOND_NS, UINT64_C(0x100000001) * HOST_SECOND_NS,
                                  HOST_NO_DEADLINE - 1};

static void sleep_far(uint64_t deadline_ns, bool on_event)
{
    struct host_event event = {0};
    alarm(60);
    if (on_event) host_event_wait(&event, 0, deadline_ns);
    else host_sleep_until(deadline_ns);
    _exit(0);
}

static void test_sleep_of_a_lifetime(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof FAR_NS / sizeof FAR_NS[0]; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) sleep_far(FAR_NS[i / 2], i % 2 == 0);
        int status = 0;
        host_sleep_until(host_now_ns() + 20 * MS);
        assert_int_equal(waitpid(child, &status, WNOHANG), 0);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
    }
}

static void test_event_that_has_happened(void **state)
{
    (void)state;
    struct host_event event = {0};
    assert_int_equal(host_event_seen(&event), 0);
    host_event_signal(&event);
    assert_int_equal(host_event_seen(&event), 1);
    host_event_wait(&event, 0, HOST_NO_DEADLINE); /* does not wait for a second */
    const uint64_t deadline_ns = host_now_ns() + 2 * MS;
    wait_for_change(&event, 1, deadline_ns);
    assert_true(host_now_ns() >= deadline_ns);
    host_event_wait(&event, 1, 0);
}

static struct host_event event;
static atomic_int waiting;

static void *wait_without_deadline(void *argument)
{
    (void)argument;
    const uint32_t seen = host_event_seen(&event);
    atomic_fetch_add(&waiting, 1);
    while (host_event_seen(&event) == seen) host_event_wait(&event, seen, HOST_NO_DEADLINE);
    return NULL;
}

/* A lost wake-up would leave somebody there for ever. */
static void test_signal_wakes_all(void **state)
{
    (void)state;
    pthread_t thread[4];
    for (int round = 0; round < 200; round++) {
        atomic_store(&waiting, 0);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(pthread_create(&thread[i], NULL, wait_without_deadline, NULL), 0);
        }
        while (atomic_load(&waiting) < 4) sched_yield();
        if (round % 10 == 0) host_sleep_until(host_now_ns() + MS);
        host_event_signal(&event);
        for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    }
}

/* ---- the ticker ---- */

static void test_ticker(void **state)
{
    (void)state;
    struct host_ticker *ticker = NULL;
    const uint64_t before_ns = host_now_ns();
    assert_int_equal(host_ticker_start(&ticker, 100000), 0);
    const uint64_t first_ns = host_ticker_now_ns(ticker);
    assert_true(first_ns >= before_ns);
    uint64_t last_ns = first_ns;
    while (last_ns < first_ns + 5 * MS) {
        const uint64_t now_ns = host_ticker_now_ns(ticker);
        assert_true(now_ns >= last_ns && now_ns <= host_now_ns());
        last_ns = now_ns;
        sched_yield();
    }
    host_ticker_stop(ticker);
    host_ticker_stop(NULL);
}

/* However long its period, it stops at once: its thread is woken. */
static void test_ticker_stops(void **state)
{
    (void)state;
    static const uint64_t periods_ns[] = {1000, 1000000, UINT64_C(3600000000000), UINT64_MAX / 2, UINT64_MAX};
    for (int i = 0; i < 200; i++) {
        struct host_ticker *ticker = NULL;
        assert_int_equal(host_ticker_start(&ticker, periods_ns[i % 5]), 0);
        if (i % 10 >= 5) sched_yield();
        host_ticker_stop(ticker);
    }
}

enum { TICKS = 1000 };

/* A ticker whose thread takes cost_ns from one deadline to the next look at the clock: how long TICKS of them last. */
static uint64_t tick_for(uint64_t period_ns, uint64_t cost_ns, uint64_t *most_apart_ns)
{
    uint64_t now_ns = 1000, next_ns = 1000;
    *most_apart_ns = 0;
    for (int i = 0; i < TICKS; i++) {
        const uint64_t before_ns = now_ns;
        next_ns = host_ticker_next_ns(next_ns, now_ns, period_ns);
        now_ns = (next_ns > now_ns ? next_ns : now_ns) + cost_ns;
        if (now_ns - before_ns > *most_apart_ns) *most_apart_ns = now_ns - before_ns;
    }
    return now_ns - 1000;
}

/* It ticks on its period as long as sleeping can do that, and else is awake for no more than half of the time. */
static void test_ticker_does_not_spin(void **state)
{
    (void)state;
    static const uint64_t periods_ns[] = {1, 1000, 10000, 50000, 1000000};
    static const uint64_t costs_ns[] = {0, 1, 700, 3000, 19000, 40000};
    for (size_t i = 0; i < sizeof periods_ns / sizeof periods_ns[0]; i++) {
        for (size_t j = 0; j < sizeof costs_ns / sizeof costs_ns[0]; j++) {
            uint64_t most_apart_ns;
            const uint64_t all_ns = tick_for(periods_ns[i], costs_ns[j], &most_apart_ns);
            assert_true(all_ns >= TICKS * periods_ns[i]);
            assert_true(all_ns + 2 * costs_ns[j] >= TICKS * 2 * costs_ns[j]);
            assert_true(most_apart_ns <= periods_ns[i] + 2 * costs_ns[j]);
            if (periods_ns[i] >= 2 * costs_ns[j]) assert_true(all_ns <= TICKS * periods_ns[i] + costs_ns[j]);
        }
    }
}

/* Kept waiting for long it looks soon again, once; woken for no reason it sleeps on; a period may be for ever. */
static void test_ticker_next(void **state)
{
    (void)state;
    assert_int_equal(host_ticker_next_ns(1000, 1000, 500), 1500);
    assert_int_equal(host_ticker_next_ns(1000, 1400, 500), 1800);
    assert_int_equal(host_ticker_next_ns(1000, 999, 500), 1000);
    assert_true(host_ticker_next_ns(1000, 1000 + 900 * MS, 500) <= 1000 + 901 * MS);
    assert_int_equal(host_ticker_next_ns(1000, 1001, UINT64_MAX), HOST_NO_DEADLINE);
    assert_int_equal(host_ticker_next_ns(1000, 1001, UINT64_MAX - 1000), HOST_NO_DEADLINE);
}

static void on_signal(int number)
{
    (void)number;
    _exit(2);
}

/* In a child whose only other thread is the ticker: it would have to take the signal. */
static int be_signalled(void)
{
    struct host_ticker *ticker = NULL;
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, on_signal);
    if (host_ticker_start(&ticker, 100000) != 0) return 3;
    pthread_sigmask(SIG_BLOCK, &set, &before);
    if (sigismember(&before, SIGUSR1) != 0) return 4; /* the thread that starts it goes on taking signals */
    kill(getpid(), SIGUSR1);
    for (uint64_t ticks = 0, last_ns = 0; ticks < 5;) {
        const uint64_t now_ns = host_ticker_now_ns(ticker);
        ticks += now_ns != last_ns;
        last_ns = now_ns;
        sched_yield();
    }
    host_ticker_stop(ticker);
    sigpending(&set);
    return sigismember(&set, SIGUSR1) == 1 ? 0 : 5;
}

static void test_ticker_takes_no_signal(void **state)
{
    (void)state;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(be_signalled());
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A child has no ticker thread, and reads the clock itself. */
static void test_ticker_after_fork(void **state)
{
    (void)state;
    struct host_ticker *ticker = NULL;
    assert_int_equal(host_ticker_start(&ticker, UINT64_C(3600000000000)), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const uint64_t now_ns = host_now_ns();
        const bool moves = host_ticker_now_ns(ticker) >= now_ns;
        host_ticker_stop(ticker);
        _exit(moves ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    host_ticker_stop(ticker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots_are_unique),
        cmocka_unit_test(test_slots_are_used_again),
        cmocka_unit_test(test_slot_of_a_thread_that_ends),
        cmocka_unit_test(test_slots_of_a_child),
        cmocka_unit_test(test_slot_of_a_child_that_had_none),
        cmocka_unit_test(test_forks_are_counted),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_mutex),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_sleep_is_never_early),
        cmocka_unit_test(test_sleep_of_a_lifetime),
        cmocka_unit_test(test_event_that_has_happened),
        cmocka_unit_test(test_signal_wakes_all),
        cmocka_unit_test(test_ticker),
        cmocka_unit_test(test_ticker_stops),
        cmocka_unit_test(test_ticker_does_not_spin),
        cmocka_unit_test(test_ticker_next),
        cmocka_unit_test(test_ticker_takes_no_signal),
        cmocka_unit_test(test_ticker_after_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
