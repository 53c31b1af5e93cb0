/* SPDX-License-Identifier: MIT
   lease.h - a gcra cell with permits in leases: what gcra.c needs of lease.c.

       seen, level                          always: so full it was then
       turn, turn_end, lifetime, new, old   once a lease was given: permits out of this turn and of the one before

   May touch: its arguments.  Promises: out * permit <= level, whatever drains.  Leaves to others: costs. */
#ifndef WEIR_MICRO_LEASE_H
#define WEIR_MICRO_LEASE_H

#include "micro/micro.h"

enum gcra_word { GCRA_SEEN, GCRA_LEVEL, GCRA_TURN, GCRA_TURN_END, GCRA_LIFETIME, GCRA_NEW, GCRA_OLD, GCRA_WORDS };
enum { GCRA_WORDS_PLAIN = GCRA_LEVEL + 1 }; /* no lease was ever given */

/* Permits that are out. */
uint64_t lease_out(const struct micro_cell *);

/* Brings the cell to now, which is not before seen: drains, ends turns, holds what is out. */
void lease_pass(const struct micro_rule *, struct micro_cell *, uint64_t now);

/* Of a cell at seen: us until its level is down to `goal`, should nobody take or return anything; with 0 as goal also
   until nothing is out. */
uint64_t lease_wait(const struct micro_rule *, const struct micro_cell *, uint64_t goal);

/* The clock was set back: what is out stays out as long as before.  To be called while seen is still the old one. */
void lease_set_back(struct micro_cell *, uint64_t now);

#endif
