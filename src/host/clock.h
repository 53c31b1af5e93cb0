/* SPDX-License-Identifier: MIT
   The time, as the operating system reports it: ns of CLOCK_MONOTONIC, which never goes back within a thread. */
#ifndef WEIR_HOST_CLOCK_H
#define WEIR_HOST_CLOCK_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "host/sleep.h"

uint64_t host_now_ns(void);

/* Up to a few ms behind, but several times as fast to read. */
uint64_t host_now_coarse_ns(void);

/* ns since the epoch, by the wall clock: it may jump. */
uint64_t host_unix_ns(void);

/* A thread that publishes the time once in each period, so that callers need not read a clock.  It is as late as
   sleeping threads are.  Where a sleep takes longer than the period, the thread is awake for at most half of the
   time. */
struct host_ticker {
    alignas(8) _Atomic uint64_t now_ns;
    uint64_t forks; /* forks of the process when the thread was made */
    const _Atomic uint64_t *forks_now;
    uint64_t period_ns;
    struct host_event stop;
    pthread_t thread;
};

/* 0, or an errno value. */
int host_ticker_start(struct host_ticker **owned, uint64_t period_ns);

static inline uint64_t host_ticker_now_ns(const struct host_ticker *ticker)
{
    const uint64_t forks = atomic_load_explicit(ticker->forks_now, memory_order_relaxed);
    if (forks != ticker->forks) return host_now_ns();
    return atomic_load_explicit(&ticker->now_ns, memory_order_relaxed);
}

void host_ticker_stop(struct host_ticker *ticker);

/* The next tick of a ticker that slept until deadline_ns and woke at now_ns. */
uint64_t host_ticker_next_ns(uint64_t deadline_ns, uint64_t now_ns, uint64_t period_ns);

#endif
