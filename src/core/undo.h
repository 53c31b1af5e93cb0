/* SPDX-License-Identifier: MIT
   A call that waits is taken out again, as if it had never been asked for (undo.c). */
#ifndef WEIR_CORE_UNDO_H
#define WEIR_CORE_UNDO_H

#include "core/decide.h"

enum { UNDO_PERMITS_MAX = 8 };

/* What a call was written over.  Of a state that grows with its limit (a log) these are the words in front, before and
   after, and what stood where the call is now: of a call of more permits that is not kept. */
struct undo {
    uint64_t order; /* a call that is made later has a higher one */
    uint64_t before[WEIR_LIMITS_MAX][STATE_WORDS_MAX], after[WEIR_LIMITS_MAX][STATE_WORDS_MAX];
    uint64_t saved[WEIR_LIMITS_MAX][UNDO_PERMITS_MAX];
};

/* Around a decision about a call of these costs at most, one for each limit. */
void undo_begin(struct rules rules, const uint64_t *state, const uint64_t cost[], struct undo *undo);
void undo_end(struct rules rules, const uint64_t *state, struct undo *undo);

/* Takes out a call that costs so much of each limit and whose slots end there.  Of what others rely on, or where
   something has changed since, nothing is given back but what settling gives. */
void undo_call(struct rules rules, uint64_t *state, uint64_t now_ns, const weir_decision *decision,
               const uint64_t cost[], const uint64_t end[], const struct undo *undo);

#endif
