/* SPDX-License-Identifier: MIT
   Callers that wait for their turn, where nothing can be reserved; explained in turns.c. */
#ifndef WEIR_API_TURNS_H
#define WEIR_API_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/sleep.h"
#include "share/atomic.h"

/* One caller, in memory of its own. */
struct turn {
    struct turn *before, *after;
    uint64_t ticket; /* the order; 0: none yet */
    uint64_t key;    /* it waits for those before it that have the same one */
};

enum { TURN_EVENTS = 16 };

/* Zeroed, nobody waits. */
struct turns {
    struct atom lock;    /* 1 while held */
    struct atom waiting; /* how many */
    struct atom tickets; /* the last one */
    struct turn *first, *last;
    struct host_event event[TURN_EVENTS]; /* by ticket: so few callers that wait have one each */
};

/* [joined] It may be its turn now, or something else has changed; or it is another's. */
static inline struct host_event *turns_event(struct turns *turns, const struct turn *turn)
{
    return &turns->event[turn->ticket % TURN_EVENTS];
}

static inline uint64_t turns_waiting(const struct turns *turns)
{
    return atom_load(&turns->waiting);
}

/* For a caller that comes now: it is behind all that have one. */
uint64_t turns_ticket(struct turns *turns);

/* In the order of the tickets; gets one if it has none. */
void turns_join(struct turns *turns, struct turn *turn);

/* Wakes the one behind it if it was the first of its key. */
void turns_leave(struct turns *turns, struct turn *turn);

bool turns_is_first(struct turns *turns, const struct turn *turn);

void turns_wake_first(struct turns *turns, uint64_t key);

/* Something was given back: wakes the first of this key. */
static inline void turns_wake(struct turns *turns, uint64_t key)
{
    if (turns_waiting(turns) != 0) turns_wake_first(turns, key);
}

/* Something has changed for all.  Takes no lock: a signal handler may call it. */
void turns_wake_all(struct turns *turns);

/* In the child of a fork, which does not have the parent's threads. */
void turns_forget(struct turns *turns);

#endif
