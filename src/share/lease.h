/* SPDX-License-Identifier: MIT
   Permits that a thread takes in advance, and spends one by one without touching shared state. */
#ifndef WEIR_SHARE_LEASE_H
#define WEIR_SHARE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/algorithm.h"
#include "share/ask.h"
#include "share/atomic.h"

/* What a holder gives back and what it takes, in one step. */
struct trade {
    uint64_t now_ns;     /* read after the holder spent its last permit, before the state is read */
    uint64_t ahead_ns;   /* with a schedule, permits may start this long after now */
    uint64_t held;       /* permits that it held, all given back, ... */
    uint64_t unused;     /* ... and how many of them were not spent; */
    uint64_t end;        /* where the last of them ended, */
    uint32_t generation; /* and under which rule */
    uint64_t want;       /* the most it wants in exchange; 0: none */
    bool of_one;         /* nothing of a list of limits */
};

/* What it gets: permits that may be spent between their starts and the next trade. */
struct lease_slice {
    uint64_t permits; /* 0: none */
    uint64_t first_ns, last_ns;
    uint64_t due_ns, last_due_ns; /* when the first and the last were due; 0: there is no schedule */
    uint64_t end;                 /* end of the last permit's slot, in ticks */
    uint32_t generation;
    uint8_t scale; /* a permit is 2^scale ticks */
};

/* Forgets saved-up permits while `out` are out, including those that the caller holds.  Nothing else accesses the state
   meanwhile. */
void lease_hold(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t out);

/* How long a call may wait for a start while `out` permits are out: its own wait_max_ns, or 0. */
uint64_t lease_wait_max_ns(const struct rule *rule, uint64_t out, const struct ask *ask);

struct lease_slice lease_trade(const struct rule *rule, uint64_t *state, const struct trade *trade, uint64_t out);

/* ---- lease_list.c: of all limits of a list ---- */

/* Can permits of all of them be taken along together? */
bool lease_may(struct rules rules);

void lease_hold_all(struct rules rules, uint64_t *state, uint64_t now_ns, uint64_t out);
uint64_t lease_wait_all_ns(struct rules rules, uint64_t out, const struct ask *ask);

/* If this call is going to wait: the hold at its start, before it is asked. */
void lease_hold_until(struct rules rules, uint64_t *state, const struct ask *ask, uint64_t out);

struct lease_slice lease_trade_all(struct rules rules, uint64_t *state, const struct trade *trade, uint64_t out);

/* `out` counts the permits in leases: it is raised before the state says so, and lowered after. */
static inline void lease_more(struct atom *out, uint64_t permits)
{
    atom_add(out, permits);
}

static inline void lease_fewer(struct atom *out, uint64_t permits)
{
    atom_add(out, 0 - permits);
}

#endif
