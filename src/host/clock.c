/* SPDX-License-Identifier: MIT
   clock.c - CLOCK_MONOTONIC, its coarse sister, and a thread that reads it for everybody.

   May touch: clocks, one thread for each ticker.  Promises: a child made by fork, which has no ticker thread, reads the
   system clock instead.  Leaves to others: deciding anything. */
#include "host/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "host/sleep.h"
#include "host/thread.h"

#ifndef CLOCK_MONOTONIC_COARSE
#define CLOCK_MONOTONIC_COARSE CLOCK_MONOTONIC
#endif

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * HOST_SECOND_NS + (uint64_t)now.tv_nsec;
}

uint64_t host_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t host_now_coarse_ns(void)
{
    return read_ns(CLOCK_MONOTONIC_COARSE);
}

uint64_t host_unix_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

struct host_ticker {
    _Atomic uint64_t now_ns;
    uint64_t period_ns;
    uint64_t forks; /* as many as there had been when the thread was made */
    struct host_event stop;
    pthread_t thread;
};

static void *tick(void *argument)
{
    struct host_ticker *ticker = argument;
    uint64_t next_ns = host_now_ns();
    while (host_event_seen(&ticker->stop) == 0) {
        const uint64_t now_ns = host_now_ns();
        atomic_store_explicit(&ticker->now_ns, now_ns, memory_order_relaxed);
        next_ns = next_ns + ticker->period_ns > now_ns ? next_ns + ticker->period_ns : now_ns;
        host_event_wait(&ticker->stop, 0, next_ns);
    }
    return NULL;
}

int host_ticker_start(struct host_ticker **owned, uint64_t period_ns)
{
    struct host_ticker *ticker = calloc(1, sizeof *ticker);
    if (ticker == NULL) return ENOMEM;
    ticker->period_ns = period_ns;
    ticker->forks = host_forks();
    atomic_init(&ticker->now_ns, host_now_ns());
    const int failed = pthread_create(&ticker->thread, NULL, tick, ticker);
    if (failed != 0) {
        free(ticker);
        return failed;
    }
    *owned = ticker;
    return 0;
}

uint64_t host_ticker_now_ns(const struct host_ticker *ticker)
{
    if (ticker->forks != host_forks()) return host_now_ns();
    return atomic_load_explicit(&ticker->now_ns, memory_order_relaxed);
}

void host_ticker_stop(struct host_ticker *ticker)
{
    if (ticker == NULL) return;
    if (ticker->forks == host_forks()) {
        host_event_signal(&ticker->stop);
        pthread_join(ticker->thread, NULL);
    }
    free(ticker);
}
