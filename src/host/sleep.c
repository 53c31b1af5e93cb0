/* SPDX-License-Identifier: MIT
   One system call for each sleep, to an absolute deadline, with the smallest timer slack.  The slack of a thread is set
   to 1 ns at its first sleep, because the default of 50 us is the main error of most pacers. */
#include "host/sleep.h"

#include "host/thread.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <time.h>

#ifdef __linux__
#include <linux/futex.h>
#include <linux/types.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#include <unistd.h>

static _Atomic uint64_t spinning;

bool host_spin_begin(uint64_t threads_max)
{
    uint64_t threads = atomic_load_explicit(&spinning, memory_order_relaxed);
    while (threads < threads_max) {
        if (atomic_compare_exchange_weak_explicit(&spinning, &threads, threads + 1, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

bool host_spin_may(uint64_t threads_max)
{
    return atomic_load_explicit(&spinning, memory_order_relaxed) < threads_max;
}

void host_spin_end(void)
{
    atomic_fetch_sub_explicit(&spinning, 1, memory_order_relaxed);
}

void host_spin_forget(void)
{
    atomic_store_explicit(&spinning, 0, memory_order_relaxed);
}

/* Where a long has 32 bits no more than they can say, 68 years from the start of the machine. */
static time_t whole_seconds(uint64_t ns)
{
    const uint64_t seconds = ns / HOST_SECOND_NS;
    return sizeof(long) < sizeof seconds && seconds > INT32_MAX ? (time_t)INT32_MAX : (time_t)seconds;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = whole_seconds(ns), .tv_nsec = (long)(ns % HOST_SECOND_NS)};
}

uint32_t host_event_seen(const struct host_event *event)
{
    return atomic_load_explicit(&event->count, memory_order_acquire);
}

uint32_t host_shared_seen(struct host_event *event)
{
    return atomic_fetch_or_explicit(&event->count, 1, memory_order_seq_cst) | 1;
}

/* False: nobody waits. */
static bool count_shared(struct host_event *event)
{
    uint32_t seen = atomic_load_explicit(&event->count, memory_order_seq_cst);
    while ((seen & 1) != 0 && !atomic_compare_exchange_weak_explicit(&event->count, &seen, seen + 1,
                                                                     memory_order_acq_rel, memory_order_relaxed)) {
        continue;
    }
    return (seen & 1) != 0;
}

#ifdef __linux__

uint64_t host_processors(void)
{
    cpu_set_t processors;
    if (sched_getaffinity(0, sizeof processors, &processors) != 0) return 1;
    const int count = CPU_COUNT(&processors);
    return count > 0 ? (uint64_t)count : 1;
}

static void least_slack(void)
{
    static HOST_THREAD_LOCAL bool done;
    if (done) return;
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    done = true;
}

void host_event_signal(struct host_event *event)
{
    atomic_fetch_add_explicit(&event->count, 1, memory_order_acq_rel);
    syscall(SYS_futex, &event->count, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void wait_until(struct host_event *event, int how, uint32_t seen, uint64_t deadline_ns)
{
    /* What the system call reads: it is not the C library's timespec where time_t has 64 bits and long 32. */
    const struct {
        __kernel_long_t seconds, ns;
    } deadline = {(__kernel_long_t)whole_seconds(deadline_ns), (__kernel_long_t)(deadline_ns % HOST_SECOND_NS)};
    least_slack();
    syscall(SYS_futex, &event->count, how, seen, deadline_ns == HOST_NO_DEADLINE ? NULL : &deadline, NULL,
            FUTEX_BITSET_MATCH_ANY);
}

void host_event_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns)
{
    wait_until(event, FUTEX_WAIT_BITSET_PRIVATE, seen, deadline_ns);
}

void host_shared_signal(struct host_event *event)
{
    if (count_shared(event)) syscall(SYS_futex, &event->count, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void host_shared_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns)
{
    wait_until(event, FUTEX_WAIT_BITSET, seen, deadline_ns);
}

void host_sleep_until(uint64_t deadline_ns)
{
    const struct timespec deadline = timespec_of(deadline_ns);
    least_slack();
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR) continue;
}

#else

/* Without futexes: short sleeps with a check in between. */
enum { LOOK_EVERY_NS = 500000 };

uint64_t host_processors(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (uint64_t)count : 1;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * HOST_SECOND_NS + (uint64_t)now.tv_nsec;
}

static void nap(uint64_t ns)
{
    const struct timespec length = timespec_of(ns);
    nanosleep(&length, NULL);
}

void host_event_signal(struct host_event *event)
{
    atomic_fetch_add_explicit(&event->count, 1, memory_order_acq_rel);
}

void host_event_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns)
{
    for (uint64_t now = now_ns(); host_event_seen(event) == seen && now < deadline_ns; now = now_ns()) {
        nap(deadline_ns - now < LOOK_EVERY_NS ? deadline_ns - now : LOOK_EVERY_NS);
    }
}

void host_shared_signal(struct host_event *event)
{
    count_shared(event);
}

void host_shared_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns)
{
    host_event_wait(event, seen, deadline_ns);
}

void host_sleep_until(uint64_t deadline_ns)
{
    for (uint64_t now = now_ns(); now < deadline_ns; now = now_ns()) nap(deadline_ns - now);
}

#endif
