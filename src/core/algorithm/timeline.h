/* SPDX-License-Identifier: MIT
   The words of a timeline's state.  A word of time is a position: ticks from TIMELINE_ZERO, which is tick 0, so that a
   slot from before the clock was set is a number too. */
#ifndef WEIR_CORE_ALGORITHM_TIMELINE_H
#define WEIR_CORE_ALGORITHM_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

enum timeline_word {
    TIMELINE_SLOT,      /* position: start of the next free slot; 0 = untouched */
    TIMELINE_SEEN,      /* position: the clock as it was last read */
    TIMELINE_LATEST,    /* position: the latest time at which a call came; the clock may have gone back since */
    TIMELINE_SPACED,    /* position: with catchup no call starts before this; else 0 */
    TIMELINE_ALLOCATED, /* ticks: given to calls so far */
    TIMELINE_IDLE,      /* ticks: closed so far, lost for ever */
    TIMELINE_WORDS
};

#define TIMELINE_ZERO (UINT64_C(1) << 62)

/* The clock need not be read for the next call: an earlier reading lies behind its start. */
static inline bool timeline_covers(const uint64_t *state)
{
    return state[TIMELINE_SLOT] != 0 && state[TIMELINE_SEEN] >= state[TIMELINE_SLOT] &&
           state[TIMELINE_SEEN] >= state[TIMELINE_SPACED];
}

#endif
