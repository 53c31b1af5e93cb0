/* SPDX-License-Identifier: MIT
   top.h - which keys were refused most, in fixed memory, counted by any number of threads without waiting.

   See top.c. */
#ifndef WEIR_SHARE_TOP_H
#define WEIR_SHARE_TOP_H

#include <stddef.h>
#include <stdint.h>

#include <weir/weir.h>

#include "share/atomic.h"

enum { TOP_STRIPES = 8, TOP_COUNTERS_MAX = 1024, TOP_CACHE_LINE = 64 };

/* Of one stripe, on a cache line of its own. */
struct top_head {
    struct atom lock;   /* 1 while somebody counts or reads */
    struct atom missed; /* came while it was locked, and are not counted */
    struct atom total;  /* that were; written by who has the lock */
    uint64_t alone[5];
};

struct top {
    struct top_head *head; /* TOP_STRIPES of them */
    unsigned char *sketch; /* as many, and behind them as many copies for who reads */
    unsigned counters;     /* of one sketch */
    void (*yield)(void);
};

/* As much memory as `counters` need, 1 to TOP_COUNTERS_MAX (what is outside is taken as the nearest).  A key that is
   more than 1/counters of all refusals is told for certain; four times as many counters as keys to tell is good. */
size_t top_bytes(unsigned counters);

/* [one thread] memory: aligned to TOP_CACHE_LINE, borrowed for as long as it is used, overwritten.  yield gives the
   processor to others. */
void top_open(struct top *top, void *memory, unsigned counters, void (*yield)(void));

/* slot: a small number of the thread.  hash: the identity of the key, that nobody can choose. */
void top_add(struct top *top, unsigned slot, uint64_t hash, const void *bytes, size_t size, uint32_t limit);

/* [one thread] reads at a time, while others add.  The most refused first; returns how many. */
size_t top_read(struct top *top, weir_top *out, size_t count);

#endif
