/* SPDX-License-Identifier: MIT
   Numbers of threads, watches, events, sleeps, processors, lost files and the ticker.

   No length of time is asserted but that nothing is early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "host/clock.h"
#include "host/lanes.h"
#include "host/map.h"
#include "host/sleep.h"
#include "host/thread.h"
#include "size.h"
#include "unit/skip.h"
#include "unit/memory_limit.h"

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

static void *ask_slot(void *argument)
{
    *(unsigned *)argument = host_slot();
    return NULL;
}

static unsigned slot_of_another(void)
{
    unsigned slot = HOST_SLOTS + 1;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask_slot, &slot), 0);
    pthread_join(thread, NULL);
    return slot;
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
        for (int i = 0; i < 3; i++) assert_int_equal(slot_of_another(), HOST_SLOTS); /* whose end frees none */
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

/* ---- watches ---- */

enum { CHANGES = 5 };

/* Each changes a list of watches in its own way. */
struct change {
    pthread_t thread;
    struct host_watch watch;
    struct host_fork_watch fork_watch;
    atomic_bool done;
};

static struct change changes[CHANGES];
static atomic_int ready;
static atomic_bool forking, disturbed;

static void note_end(struct host_watch *watch)
{
    (void)watch;
    atomic_store(&changes[0].done, true);
}

static void forget(struct host_watch *watch)
{
    (void)watch;
}

static void let_go(struct host_fork_watch *watch, bool child)
{
    (void)watch, (void)child;
}

static void hold_nothing(struct host_fork_watch *watch)
{
    (void)watch;
}

/* The lists are as they were for as long as it takes to fork. */
static void hold_long(struct host_fork_watch *watch)
{
    (void)watch;
    atomic_store(&forking, true);
    while (atomic_load(&ready) < 2 * CHANGES) sched_yield();
    host_sleep_until(host_now_ns() + 20 * MS);
    for (int i = 0; i < CHANGES; i++) {
        if (atomic_load(&changes[i].done)) atomic_store(&disturbed, true);
    }
}

static void change_list(struct change *change, ptrdiff_t how)
{
    if (how == 1) host_watch_open(&change->watch);
    if (how == 2) assert_true(host_watch_close(&change->watch));
    if (how == 3) host_fork_watch_open(&change->fork_watch);
    if (how == 4) host_fork_watch_close(&change->fork_watch);
    if (how != 0) atomic_store(&change->done, true); /* it only ends */
}

static void *change_lists(void *argument)
{
    struct change *change = argument;
    const ptrdiff_t how = change - changes;
    change->watch = (struct host_watch){.thread_ended = note_end, .forked = forget};
    change->fork_watch = (struct host_fork_watch){.hold = hold_nothing, .let_go = let_go};
    if (how == 0 || how == 2) host_watch_open(&change->watch);
    if (how == 4) host_fork_watch_open(&change->fork_watch);
    atomic_fetch_add(&ready, 1);
    while (!atomic_load(&forking)) sched_yield();
    atomic_fetch_add(&ready, 1);
    change_list(change, how);
    if (how == 1) assert_true(host_watch_close(&change->watch));
    if (how == 2) assert_false(host_watch_close(&change->watch));
    if (how == 3) host_fork_watch_close(&change->fork_watch);
    return NULL;
}

static void test_watches_while_it_forks(void **state)
{
    (void)state;
    struct host_fork_watch watch = {.hold = hold_long, .let_go = let_go};
    int status = -1;
    assert_int_equal(host_prepare(), 0);
    host_fork_watch_open(&watch);
    for (int i = 0; i < CHANGES; i++) {
        assert_int_equal(pthread_create(&changes[i].thread, NULL, change_lists, &changes[i]), 0);
    }
    while (atomic_load(&ready) < CHANGES) sched_yield();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(0);
    for (int i = 0; i < CHANGES; i++) pthread_join(changes[i].thread, NULL);
    host_fork_watch_close(&watch);
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_false(atomic_load(&disturbed));
    for (int i = 0; i < CHANGES; i++) assert_true(atomic_load(&changes[i].done));
}

enum { WATCHES = 5, STEPS = 400 };

/* Opened and closed in any order; `told` counts. */
struct watched {
    struct host_watch watch;
    struct host_fork_watch fork_watch;
    bool open, fork_open;
    int ended, forked, held, let_go;
};

static struct watched watched[WATCHES];

static struct watched *watched_of(struct host_watch *watch)
{
    return (struct watched *)((char *)watch - offsetof(struct watched, watch));
}

static struct watched *fork_watched_of(struct host_fork_watch *watch)
{
    return (struct watched *)((char *)watch - offsetof(struct watched, fork_watch));
}

static void count_ended(struct host_watch *watch)
{
    watched_of(watch)->ended++;
}

static void count_forked(struct host_watch *watch)
{
    watched_of(watch)->forked++;
}

static void count_held(struct host_fork_watch *watch)
{
    fork_watched_of(watch)->held++;
}

static void count_let_go(struct host_fork_watch *watch, bool child)
{
    fork_watched_of(watch)->let_go += child ? 100 : 1;
}

static void change_one(struct watched *one, bool of_fork)
{
    if (of_fork && one->fork_open) host_fork_watch_close(&one->fork_watch);
    if (of_fork && !one->fork_open) host_fork_watch_open(&one->fork_watch);
    if (!of_fork && one->open) assert_true(host_watch_close(&one->watch));
    if (!of_fork && !one->open) host_watch_open(&one->watch);
    if (of_fork) one->fork_open = !one->fork_open;
    else one->open = !one->open;
}

/* Whether each that is open was told, once, and no other; `child`: what the child saw. */
static bool is_told(bool child)
{
    bool right = true;
    for (int i = 0; i < WATCHES; i++) {
        struct watched *const one = &watched[i];
        right = right && one->forked == (child && one->open) && one->ended == 0 && one->held == one->fork_open &&
                one->let_go == (one->fork_open ? (child ? 100 : 1) : 0);
        right = right && (!child || !host_watch_close(&one->watch));
        one->held = one->let_go = 0;
    }
    return right;
}

static void *change_watches(void *argument)
{
    uint64_t seed = 7;
    (void)argument;
    for (int step = 0; step < STEPS; step++) {
        seed = seed * UINT64_C(6364136223846793005) + 1;
        change_one(&watched[(seed >> 33) % WATCHES], (seed >> 40) % 2 != 0);
        if (step % 8 != 0) continue;
        int status = -1;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(is_told(true) ? 0 : 1);
        waitpid(child, &status, 0);
        assert_int_equal(status, 0);
        assert_true(is_told(false));
    }
    return NULL;
}

static void test_watches_in_any_order(void **state)
{
    (void)state;
    pthread_t thread;
    const unsigned free_slot = slot_of_another();
    for (int i = 0; i < WATCHES; i++) {
        watched[i].watch = (struct host_watch){.thread_ended = count_ended, .forked = count_forked};
        watched[i].fork_watch = (struct host_fork_watch){.hold = count_held, .let_go = count_let_go};
    }
    assert_int_equal(pthread_create(&thread, NULL, change_watches, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(slot_of_another(), free_slot);
    for (int i = 0; i < WATCHES; i++) {
        assert_int_equal(watched[i].ended, watched[i].open);
        assert_false(host_watch_close(&watched[i].watch));
        if (watched[i].fork_open) host_fork_watch_close(&watched[i].fork_watch);
    }
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
        assert_true(malloc_usable_size(memory) >= (sizes[i] + 63) / 64 * 64); /* whole lines */
        host_free(memory);
    }
    host_free(NULL);
    assert_null(host_allocate(SIZE_MAX));
    assert_null(host_allocate(SIZE_MAX - 62));
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

/* How often this thread has given its processor away. */
static long times_slept(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw;
}

static void test_event_that_has_happened(void **state)
{
    (void)state;
    struct host_event event = {0};
    assert_int_equal(host_event_seen(&event), 0);
    host_event_signal(&event);
    assert_int_equal(host_event_seen(&event), 1);
    host_event_wait(&event, 0, HOST_NO_DEADLINE); /* does not wait for a second */
    const long slept = times_slept();
    for (int i = 0; i < 20; i++) { /* on a busy machine one may be over before it begins, not all */
        const uint64_t deadline_ns = host_now_ns() + (i == 0 ? 20 * MS : MS);
        wait_for_change(&event, 1, deadline_ns);
        assert_true(host_now_ns() >= deadline_ns);
    }
    assert_true(times_slept() > slept);
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

/* Between processes; a signal that nobody waits for is none. */
static void test_event_of_processes(void **state)
{
    (void)state;
    struct host_event *const shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    host_shared_signal(shared);
    assert_int_equal(host_event_seen(shared), 0);
    bool has_slept = false;
    for (int round = 0; round < 20; round++) {
        int status = -1;
        const uint32_t seen = host_shared_seen(shared);
        assert_int_equal(seen % 2, 1);
        assert_int_equal(host_shared_seen(shared), seen); /* another one that waits */
        const uint64_t deadline_ns = host_now_ns() + (round == 0 ? 20 * MS : MS);
        const long slept = times_slept();
        while (host_event_seen(shared) == seen && host_now_ns() < deadline_ns)
            host_shared_wait(shared, seen, deadline_ns);
        has_slept = has_slept || times_slept() > slept;
        assert_int_equal(host_event_seen(shared), seen);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            if (round % 2 == 0) host_sleep_until(host_now_ns() + MS);
            host_shared_signal(shared);
            _exit(0);
        }
        while (host_event_seen(shared) == seen) host_shared_wait(shared, seen, HOST_NO_DEADLINE);
        assert_int_equal(host_event_seen(shared), seen + 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    assert_true(has_slept);
    munmap(shared, sizeof *shared);
}

/* ---- processors ---- */

static void test_spinning(void **state)
{
    (void)state;
    assert_false(host_spin_begin(0));
    assert_false(host_spin_may(0));
    assert_true(host_spin_may(1) && host_spin_begin(1));
    assert_false(host_spin_may(1) || host_spin_begin(1));
    assert_true(host_spin_may(2) && host_spin_begin(2));
    assert_false(host_spin_may(2) || host_spin_begin(2));
    host_spin_end();
    assert_true(host_spin_may(2));
    assert_false(host_spin_may(1));
    assert_true(host_spin_begin(2));
    host_spin_forget();
    assert_true(host_spin_may(1));
}

/* What a container or taskset leaves of the machine's. */
static void test_processors(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_int_equal(host_processors(), CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(host_processors(), ON_LINUX ? 1 : sysconf(_SC_NPROCESSORS_ONLN));
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

#if defined(__x86_64__)
static bool has_lanes(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}
#else
static bool has_lanes(void)
{
    return false;
}
#endif

static void test_lanes(void **state)
{
    (void)state;
    assert_int_equal(host_has_lanes(), has_lanes());
}

#ifdef __linux__
static void *sleep_once(void *how)
{
    struct host_event none = {0};
    if (how != NULL) host_sleep_until(0);
    else host_event_wait(&none, 0, 0);
    return (void *)(intptr_t)prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
}

/* A thread that sleeps is not woken later for the sake of others' sleep. */
static void test_slack(void **state)
{
    (void)state;
    void *slack;
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread, NULL, sleep_once, i == 0 ? NULL : &thread), 0);
        pthread_join(thread, &slack);
        assert_int_equal((intptr_t)slack, 1);
    }
}
#endif

/* ---- lost files ---- */

/* In a child: its file is cut off under it. */
static void lose_file(int told, bool by_access)
{
    static const char path[] = "/a/table";
    FILE *const file = tmpfile();
    char *const memory = file == NULL || ftruncate(fileno(file), 4096) != 0
                             ? MAP_FAILED
                             : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (memory == MAP_FAILED || dup2(told, STDERR_FILENO) < 0) _exit(1);
    host_end_when_lost(path, 7);
    if (ftruncate(fileno(file), 0) != 0) _exit(1);
    if (by_access) *(volatile char *)memory = 1;
    else raise(SIGBUS); /* of another kind */
    _exit(2);
}

static void test_lost_file(void **state)
{
    (void)state;
    static const char expected[] =
        "weir: /a/table, or a file beside it, was truncated while it was in use, or its disk "
        "has failed: what was counted there is lost\n";
    for (int by_access = 0; by_access < 2; by_access++) {
        int ends[2], status = 0;
        char told[512] = "";
        assert_int_equal(pipe(ends), 0);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) lose_file(ends[1], by_access != 0);
        close(ends[1]);
        const ssize_t got = read(ends[0], told, sizeof told - 1);
        close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(got >= 0);
        if (by_access) {
            assert_string_equal(told, expected);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        } else { /* qemu says something of its own */
            assert_null(strstr(told, "weir"));
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
        }
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

/* Between its ticks it sleeps. */
static void test_ticker_sleeps(void **state)
{
    (void)state;
    struct host_ticker *ticker = NULL;
    assert_int_equal(host_ticker_start(&ticker, UINT64_C(3600000000000)), 0);
    uint64_t ticked_ns = host_ticker_now_ns(ticker);
    int ticks = 0;
    for (int i = 0; i < 10; i++) {
        host_sleep_until(host_now_ns() + MS);
        if (host_ticker_now_ns(ticker) == ticked_ns) continue;
        ticked_ns = host_ticker_now_ns(ticker);
        ticks++;
    }
    assert_in_range(ticks, 0, 1); /* the first, when its thread begins */
    host_ticker_stop(ticker);
}

/* A hundred tickers one after the other need the room of one; where there is no room for a thread there is none. */
static int start_without_room(void)
{
    const rlim_t megabyte = 1 << 20;
    struct rlimit room;
    struct host_ticker *ticker = NULL;
    if (getrlimit(RLIMIT_AS, &room) != 0) return 1;
    room.rlim_cur = 400 * megabyte;
    if (setrlimit(RLIMIT_AS, &room) != 0) return 2;
    for (int i = 0; i < 100; i++) {
        if (host_ticker_start(&ticker, 1000000) != 0) return 3;
        host_ticker_stop(ticker);
    }
    void *taken;
    for (size_t size = 256 << 20; size >= 1 << 20; size /= 2) {
        while ((taken = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED) continue;
    }
    pthread_attr_t attributes;
    size_t stack = 0;
    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &stack);
    if (stack < 4 << 20) return 77;
    for (int i = 0; i < 100; i++) { /* some stacks of threads that have ended are there */
        if (host_ticker_start(&ticker, 1000000) != 0) return 0;
    }
    return 4;
}

static void test_ticker_without_room(void **state)
{
    (void)state;
    int status = 1;
    if (SANITIZED) skip_because("unit/host: a ticker without room", "sanitizers map terabytes", SKIP_CURE_PLAIN);
    skip_without_memory_limit("unit/host: a ticker without room");
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(start_without_room());
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip_because("unit/host: a ticker without room", "stacks of threads are small here", SKIP_CURE_LINUX);
    assert_int_equal(status, 0);
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
        cmocka_unit_test(test_forks_are_counted), /* nothing has been asked for before */
        cmocka_unit_test(test_slots_are_unique),
        cmocka_unit_test(test_slots_are_used_again),
        cmocka_unit_test(test_slot_of_a_thread_that_ends),
        cmocka_unit_test(test_slots_of_a_child),
        cmocka_unit_test(test_slot_of_a_child_that_had_none),
        cmocka_unit_test(test_watches_while_it_forks),
        cmocka_unit_test(test_watches_in_any_order),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_mutex),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_sleep_is_never_early),
        cmocka_unit_test(test_sleep_of_a_lifetime),
        cmocka_unit_test(test_event_that_has_happened),
        cmocka_unit_test(test_signal_wakes_all),
        cmocka_unit_test(test_event_of_processes),
        cmocka_unit_test(test_spinning),
        cmocka_unit_test(test_processors),
        cmocka_unit_test(test_lanes),
#ifdef __linux__
        cmocka_unit_test(test_slack),
#endif
        cmocka_unit_test(test_lost_file),
        cmocka_unit_test(test_ticker),
        cmocka_unit_test(test_ticker_sleeps),
        cmocka_unit_test(test_ticker_without_room),
        cmocka_unit_test(test_ticker_stops),
        cmocka_unit_test(test_ticker_does_not_spin),
        cmocka_unit_test(test_ticker_next),
        cmocka_unit_test(test_ticker_takes_no_signal),
        cmocka_unit_test(test_ticker_after_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
