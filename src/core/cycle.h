/* SPDX-License-Identifier: MIT
   cycle.h - the books of a cycle in the open: for comparing with peers that keep theirs so.

   See cycle.c. */
#ifndef WEIR_CORE_CYCLE_H
#define WEIR_CORE_CYCLE_H

#include "core/rule.h"

/* Writes down where the cycles stand at `now`, also when that is earlier than before: then what was sold since is owed.
   Asking does not need it. */
void cycle_book(const struct rule *rule, uint64_t *state, uint64_t now);

/* What is left of the cycle that was written down last; below 0 it is owed. */
int64_t cycle_left(const uint64_t *state);
void cycle_set_left(uint64_t *state, int64_t left);

/* When that cycle ends; 0: nothing was written down yet. */
uint64_t cycle_ends_ns(const uint64_t *state);

#endif
