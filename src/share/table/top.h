/* SPDX-License-Identifier: MIT
   The keys that were refused most, in fixed memory, counted by any number of threads without waiting. */
#ifndef WEIR_SHARE_TABLE_TOP_H
#define WEIR_SHARE_TABLE_TOP_H

#include <stddef.h>
#include <stdint.h>

#include <weir/weir.h>

#include "share/atomic.h"

enum { TOP_STRIPES = 8, TOP_COUNTERS_MAX = 1024, TOP_CACHE_LINE = 64 };

/* The head of one stripe, on a cache line of its own. */
struct top_head {
    struct atom lock;   /* 1 while a thread counts or reads */
    struct atom missed; /* refusals that came while it was locked, and are not counted */
    struct atom total;  /* refusals that were counted; written under the lock */
    uint64_t alone[5];
};

struct top {
    struct top_head *head; /* TOP_STRIPES of them */
    unsigned char *sketch; /* as many sketches, followed by as many copies for the reader */
    unsigned counters;     /* in one sketch */
    void (*yield)(void);
};

/* The memory for `counters`, 1 to TOP_COUNTERS_MAX (a value outside counts as the nearest).  A key with more than
   1/counters of all refusals is certain to be reported; four times as many counters as keys to report is a good
   choice. */
size_t top_bytes(unsigned counters);

/* [one thread] The memory is aligned to TOP_CACHE_LINE, borrowed for as long as it is used, and overwritten.  `yield`
   gives up the processor. */
void top_open(struct top *top, void *memory, unsigned counters, void (*yield)(void));

/* slot: the thread's index.  hash: the identity of the key, which its sender cannot choose. */
void top_add(struct top *top, unsigned slot, uint64_t hash, const void *bytes, size_t size, uint32_t limit);

/* [one thread at a time, while others add] Reads the most refused keys, the most refused first; returns how many. */
size_t top_read(struct top *top, weir_top *out, size_t count);

#endif
