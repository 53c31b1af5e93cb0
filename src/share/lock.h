/* SPDX-License-Identifier: MIT
   A spin lock, for sections of some tens of ns: 0 is free, 1 is held.

   A thread that finds it held stays away from its line for a microsecond or so.  Meanwhile the holder takes it again
   and again at the cost of one thread alone; if two threads took turns, each turn would cost the transfer of the line,
   of those behind it, and a look at a lock that is held.  Now and then it yields, since the holder may have been
   preempted. */
#ifndef WEIR_SHARE_LOCK_H
#define WEIR_SHARE_LOCK_H

#include "share/atomic.h"

enum { LOCK_PAUSES = 128, LOCK_LOOKS_BEFORE_YIELD = 4 };

static inline void lock_wait(struct atom *lock, void (*yield)(void))
{
    unsigned looks = 0;
    do {
        atom_pauses(LOCK_PAUSES);
        if (++looks % LOCK_LOOKS_BEFORE_YIELD == 0) yield();
    } while (atom_load(lock) != 0);
}

/* The swap is tried first: an uncontended lock then costs one write of its line.  It acquires what the release of the
   holder before made visible. */
static inline void lock_take(struct atom *lock, void (*yield)(void))
{
    for (uint64_t expected = 0; !atom_swap_acquire(lock, &expected, 1); expected = 0) lock_wait(lock, yield);
}

/* Takes it if it is free.  A failure mostly writes nothing. */
static inline bool lock_try(struct atom *lock)
{
    uint64_t expected = 0;
    return atom_load(lock) == 0 && atom_swap_acquire(lock, &expected, 1);
}

static inline void lock_release(struct atom *lock)
{
    atom_store_release(lock, 0);
}

#endif
