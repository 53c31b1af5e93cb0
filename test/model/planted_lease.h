/* SPDX-License-Identifier: MIT
   word.c's trade, decide, settle and fast path with one mistake each, for the model checker to find.

   See planted_lease.c. */
#ifndef WEIR_TEST_PLANTED_LEASE_H
#define WEIR_TEST_PLANTED_LEASE_H

#include "planted_word.h"

typedef bool word_trade_function(struct word *word, const struct trade *trade, struct lease_slice *slice);

/* What was not spent is taken off a state that was not held first. */
word_trade_function planted_trade_without_hold;

/* What is given back is no longer told as out when the state is held. */
word_trade_function planted_trade_own_not_out;

/* `out` is lowered before the swap. */
word_trade_function planted_trade_lowered_early;

/* `out` is raised after the swap. */
word_trade_function planted_trade_raised_late;

/* `out` is read before the state. */
word_trade_function planted_trade_out_first;

/* `out` is raised when the state has been read for the last time. */
word_trade_function planted_trade_raised_last;

/* Permits are taken from a state that was higher before. */
word_trade_function planted_trade_any_height;

/* `out` is ignored. */
word_decide_function planted_decide_without_hold;

/* `out` is read before the state. */
word_decide_function planted_decide_out_first;

/* Who waits is promised a start at which what is out may have been spent. */
word_decide_function planted_decide_promises;

/* No mistake: the clock is read after the state and `out`, so where this fails the fault is not an old reading. */
bool planted_decide_clock_last(struct word *word, const struct atom *now_ns, const struct ask *ask,
                               weir_decision *decision);

/* `out` is ignored. */
word_grant_function planted_grant_beside_leases;

/* `out` is read before the state. */
word_grant_function planted_grant_out_first;

/* `out` is ignored. */
word_settle_function planted_settle_without_hold;

/* Gives back although permits are out. */
word_settle_function planted_settle_beside_leases;

#endif
