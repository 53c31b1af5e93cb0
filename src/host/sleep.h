/* SPDX-License-Identifier: MIT
   Sleeping until a deadline, and being woken before it.  A sleep never ends early unless it is signalled. */
#ifndef WEIR_HOST_SLEEP_H
#define WEIR_HOST_SLEEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { HOST_SECOND_NS = 1000000000 };
#define HOST_NO_DEADLINE UINT64_MAX

/* A counter of events.  Zeroed = none yet. */
struct host_event {
    _Atomic uint32_t count;
};

uint32_t host_event_seen(const struct host_event *event);

/* Wakes all threads that wait for it. */
void host_event_signal(struct host_event *event);

/* Returns when the event's count differs from `seen`, at the deadline (CLOCK_MONOTONIC), or spuriously. */
void host_event_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns);

/* The same between processes, of an event in memory that they share: an odd count says that somebody waits, so that a
   signal mostly asks nothing of the system.  `seen` says that this caller is going to wait; what it waits for has to be
   looked at afterwards.  A waiter that is killed costs the next signal a system call. */
uint32_t host_shared_seen(struct host_event *event);
void host_shared_signal(struct host_event *event);
void host_shared_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns);

void host_sleep_until(uint64_t deadline_ns);

/* Asks for permission to spin: false if threads_max threads of the process spin already; true, until host_spin_end. */
bool host_spin_begin(uint64_t threads_max);
void host_spin_end(void);

/* Whether host_spin_begin would succeed now. */
bool host_spin_may(uint64_t threads_max);

/* In the child of a fork, which has none of the parent's spinning threads. */
void host_spin_forget(void);

/* The number of processors that this process may use, at least 1. */
uint64_t host_processors(void);

#endif
