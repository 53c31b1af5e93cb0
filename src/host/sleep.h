/* SPDX-License-Identifier: MIT
   sleep.h - sleeping to a deadline, and being woken before it.

   May touch: the operating system.  Promises: never early, unless signalled.  Leaves to others: how long. */
#ifndef WEIR_HOST_SLEEP_H
#define WEIR_HOST_SLEEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { HOST_SECOND_NS = 1000000000 };
#define HOST_NO_DEADLINE UINT64_MAX

/* Something happened, so many times.  Zeroed = nothing yet. */
struct host_event {
    _Atomic uint32_t count;
};

uint32_t host_event_seen(const struct host_event *event);

/* Wakes everybody who waits for it. */
void host_event_signal(struct host_event *event);

/* Returns when the event's count is no longer `seen`, at the deadline (CLOCK_MONOTONIC), or for no reason. */
void host_event_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns);

void host_sleep_until(uint64_t deadline_ns);

/* May this thread spin?  False when so many threads of the process do already; true: until host_spin_end. */
bool host_spin_begin(uint64_t threads_max);
void host_spin_end(void);

/* Would it be allowed to now? */
bool host_spin_may(uint64_t threads_max);

/* In the child of a fork: who spun in the parent is not there. */
void host_spin_forget(void);

/* Processors that this process may use, 1 at least. */
uint64_t host_processors(void);

#endif
