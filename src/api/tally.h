/* SPDX-License-Identifier: MIT
   Counting without writing anything shared: each thread has words of its own, found by host_slot(). */
#ifndef WEIR_API_TALLY_H
#define WEIR_API_TALLY_H

#include <stdbool.h>

#include "share/atomic.h"

/* mine: no other thread writes it now.  Returns the previous value. */
static inline uint64_t tally_add(struct atom *counter, bool mine, uint64_t more)
{
    if (!mine && more != 0) return atom_add(counter, more);
    const uint64_t before = atom_load(counter);
    if (more != 0) atom_store(counter, before + more);
    return before;
}

#endif
