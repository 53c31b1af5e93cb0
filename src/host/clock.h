/* SPDX-License-Identifier: MIT
   clock.h - what time it is, as the operating system says.

   May touch: the operating system.  Promises: ns of CLOCK_MONOTONIC, never going back within a thread.  Leaves to
   others: what to do with it. */
#ifndef WEIR_HOST_CLOCK_H
#define WEIR_HOST_CLOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "host/sleep.h"

uint64_t host_now_ns(void);

/* Up to a few ms behind, several times as fast to read. */
uint64_t host_now_coarse_ns(void);

/* ns since the epoch, as the machine's clock on the wall has it: it may jump. */
uint64_t host_unix_ns(void);

/* A thread that publishes the time every period, so that callers read no clock.  It is as late as a sleeping thread is;
   where a sleep takes longer than the period it is awake for half of the time at most. */
struct host_ticker {
    _Atomic uint64_t now_ns;
    uint64_t forks; /* as many as there had been when the thread was made */
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

/* When a ticker that slept until deadline_ns and woke at now_ns ticks next. */
uint64_t host_ticker_next_ns(uint64_t deadline_ns, uint64_t now_ns, uint64_t period_ns);

#endif
