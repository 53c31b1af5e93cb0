/* SPDX-License-Identifier: MIT
   lease.h - permits taken along, to be spent one by one without asking anybody.

   See lease.c. */
#ifndef WEIR_SHARE_LEASE_H
#define WEIR_SHARE_LEASE_H

#include <stdint.h>

#include "core/algorithm.h"
#include "share/ask.h"
#include "share/atomic.h"

/* What a holder gives back and what he wants for it, in one step. */
struct trade {
    uint64_t now_ns;     /* read after he spent his last permit, before the state is looked at */
    uint64_t ahead_ns;   /* permits that start up to so long after now will do, where a schedule is kept */
    uint64_t held;       /* so many go back, ... */
    uint64_t unused;     /* ... of which nobody has spent so many; */
    uint64_t end;        /* where the last of them ended, */
    uint32_t generation; /* under which rule */
    uint64_t want;       /* at most so many are wanted for them; 0: none */
};

/* What he gets: permits to be spent between their starts and the next trade. */
struct lease_slice {
    uint64_t permits; /* 0: none */
    uint64_t first_ns, last_ns;
    uint64_t due_ns; /* when the first was due; 0: there is no schedule */
    uint64_t end;    /* of the last one's slot, in ticks */
    uint32_t generation;
    uint8_t scale; /* a permit is 2^scale ticks */
};

/* A state that holds still, while so many permits are out, those held included. */
void lease_hold(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t out);

/* How long a call may wait beside them for a start that is told to it now: as long as it would, or not at all. */
uint64_t lease_wait_max_ns(const struct rule *rule, uint64_t out, const struct ask *ask);

struct lease_slice lease_trade(const struct rule *rule, uint64_t *state, const struct trade *trade, uint64_t out);

/* Of `out`, the permits that are in leases: more are told before the state says so, fewer after. */
static inline void lease_more(struct atom *out, uint64_t permits)
{
    atom_add(out, permits);
}

static inline void lease_fewer(struct atom *out, uint64_t permits)
{
    uint64_t seen = atom_load(out);
    while (!atom_swap(out, &seen, seen - permits)) continue;
}

#endif
