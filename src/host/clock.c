/* SPDX-License-Identifier: MIT
   CLOCK_MONOTONIC, its coarse variant, and a thread that reads the clock for all others.  A child made by fork has no
   ticker thread, so it reads the system clock instead. */
#include "host/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "host/thread.h"

#ifndef CLOCK_MONOTONIC_COARSE
#define CLOCK_MONOTONIC_COARSE CLOCK_MONOTONIC
#endif

/* There is no array here to be guarded, and each decision reads a clock. */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define CLOCK_UNGUARDED __attribute__((no_stack_protector))
#endif
#endif
#ifndef CLOCK_UNGUARDED
#define CLOCK_UNGUARDED
#endif

static inline CLOCK_UNGUARDED uint64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * HOST_SECOND_NS + (uint64_t)now.tv_nsec;
}

CLOCK_UNGUARDED uint64_t host_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

CLOCK_UNGUARDED uint64_t host_now_coarse_ns(void)
{
    return read_ns(CLOCK_MONOTONIC_COARSE);
}

CLOCK_UNGUARDED uint64_t host_unix_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

/* A ticker that wakes late by the cost of a sleep rests for as long again; otherwise it would do nothing but go to
   sleep.  If it was late for another reason, it rests for at most this long. */
enum { REST_NS_MAX = 50000 };

uint64_t host_ticker_next_ns(uint64_t deadline_ns, uint64_t now_ns, uint64_t period_ns)
{
    if (now_ns < deadline_ns) return deadline_ns; /* a spurious wakeup */
    const uint64_t late_ns = now_ns - deadline_ns;
    const uint64_t rested_ns = now_ns + (late_ns < REST_NS_MAX ? late_ns : REST_NS_MAX);
    const uint64_t due_ns = period_ns < HOST_NO_DEADLINE - deadline_ns ? deadline_ns + period_ns : HOST_NO_DEADLINE;
    return due_ns > rested_ns ? due_ns : rested_ns;
}

static void *tick(void *argument)
{
    struct host_ticker *ticker = argument;
    uint64_t next_ns = atomic_load_explicit(&ticker->now_ns, memory_order_relaxed);
    while (host_event_seen(&ticker->stop) == 0) {
        const uint64_t now_ns = host_now_ns();
        atomic_store_explicit(&ticker->now_ns, now_ns, memory_order_relaxed);
        next_ns = host_ticker_next_ns(next_ns, now_ns, ticker->period_ns);
        host_event_wait(&ticker->stop, 0, next_ns);
    }
    return NULL;
}

/* Signals to the process are for the program's own threads. */
static int start_without_signals(struct host_ticker *ticker)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&ticker->thread, NULL, tick, ticker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

int host_ticker_start(struct host_ticker **owned, uint64_t period_ns)
{
    struct host_ticker *ticker =
        host_allocate(sizeof *ticker); /* written often, so not beside what other threads read */
    if (ticker == NULL) return ENOMEM;
    ticker->period_ns = period_ns;
    ticker->forks_now = host_forks_counter();
    ticker->forks = host_forks();
    atomic_init(&ticker->now_ns, host_now_ns());
    const int failed = start_without_signals(ticker);
    if (failed != 0) {
        host_free(ticker);
        return failed;
    }
    *owned = ticker;
    return 0;
}

void host_ticker_stop(struct host_ticker *ticker)
{
    if (ticker == NULL) return;
    if (ticker->forks == host_forks()) {
        host_event_signal(&ticker->stop);
        pthread_join(ticker->thread, NULL);
    }
    host_free(ticker);
}
