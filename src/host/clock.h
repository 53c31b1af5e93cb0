/* SPDX-License-Identifier: MIT
   clock.h - what time it is, as the operating system says.

   May touch: the operating system.  Promises: ns of CLOCK_MONOTONIC, never going back within a thread.  Leaves to
   others: what to do with it. */
#ifndef WEIR_HOST_CLOCK_H
#define WEIR_HOST_CLOCK_H

#include <stdint.h>

uint64_t host_now_ns(void);

/* Up to a few ms behind, several times as fast to read. */
uint64_t host_now_coarse_ns(void);

/* ns since the epoch, as the machine's clock on the wall has it: it may jump. */
uint64_t host_unix_ns(void);

/* A thread that publishes the time every period, so that callers read no clock.  0, or an errno value. */
struct host_ticker;
int host_ticker_start(struct host_ticker **owned, uint64_t period_ns);
uint64_t host_ticker_now_ns(const struct host_ticker *ticker);
void host_ticker_stop(struct host_ticker *ticker);

#endif
