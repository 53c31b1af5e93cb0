/* SPDX-License-Identifier: MIT
   A spin lock, for sections of some tens of ns: 0 is free, 1 is held.

   A thread that finds it held spins on a read, so that it does not take the line from the holder, and yields now and
   then, since the holder may have been preempted. */
#ifndef WEIR_SHARE_LOCK_H
#define WEIR_SHARE_LOCK_H

#include "share/atomic.h"

enum { LOCK_SPINS_BEFORE_YIELD = 100 };

/* The swap is tried first: an uncontended lock then costs one write of its line.  It acquires what the release of the
   holder before made visible. */
static inline void lock_take(struct atom *lock, void (*yield)(void))
{
    uint64_t expected = 0;
    for (unsigned spin = 1; !atom_swap(lock, &expected, 1); spin++) {
        while (atom_load(lock) != 0) {
            if (spin++ % LOCK_SPINS_BEFORE_YIELD == 0) yield();
            else atom_pause();
        }
        expected = 0;
    }
}

/* Takes it if it is free.  A failure mostly writes nothing. */
static inline bool lock_try(struct atom *lock)
{
    uint64_t expected = 0;
    return atom_load(lock) == 0 && atom_swap(lock, &expected, 1);
}

static inline void lock_release(struct atom *lock)
{
    atom_store_release(lock, 0);
}

#endif
