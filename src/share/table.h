/* SPDX-License-Identifier: MIT
   table.h - a time for each key, in fixed memory, for any number of threads and processes without a lock.

   See table.c. */
#ifndef WEIR_SHARE_TABLE_H
#define WEIR_SHARE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "share/atomic.h"

enum { TABLE_SLOTS = 4, TABLE_AREAS_MAX = 8 };

/* Nothing is further ahead of now than this. */
#define TABLE_AHEAD_MAX (UINT64_C(1) << 53)

/*  owner  | tag 48 | tentative 1 | version 15 |        time  | version 8 | drained 56 | */
struct table_slot {
    struct atom owner, time;
};

/* One cache line. */
struct table_bucket {
    struct table_slot slot[TABLE_SLOTS];
};

/* Zeroed memory is an empty area.  A key may be in one bucket of the first half and in one of the second. */
struct table_area {
    struct table_bucket *bucket;
    uint64_t half;
};

enum table_when_full { TABLE_INHERIT, TABLE_EVICT, TABLE_DENY, TABLE_ALLOW };

/* What one process knows of a table.  The last area is where new keys go; keys found in earlier ones move there. */
struct table {
    struct atom *newest; /* in the memory that all share: how many areas there are */
    struct table_area area[TABLE_AREAS_MAX];
    unsigned first, count; /* areas [first, count) are looked at */
    enum table_when_full when_full;
    uint64_t longest; /* units: no limit in here is further ahead of now; below 2^53 */
};

enum table_how { TABLE_TAKE, TABLE_PEEK, TABLE_CHARGE };

/* All in units.  now counts on without wrapping, and is at least 1. */
struct table_question {
    uint64_t hash; /* the identity of key and limit */
    uint64_t now, cost;
    uint64_t from;  /* counted as if it came only then: now, or the later start that several limits have in common */
    uint64_t burst; /* drained may be so far ahead of now, and of the start of a call that waits */
    uint64_t wait;  /* a start up to so far away will do */
    uint64_t debt;  /* TABLE_CHARGE: drained may be so much further ahead; UINT64_MAX: any (up to longest) */
    enum table_how how;
};

enum table_verdict {
    TABLE_TAKEN, /* or, of a peek: it would be */
    TABLE_REFUSED,
    TABLE_UNKNOWN /* `newest` says that there are more areas than this process knows: map them and ask again */
};

enum table_event {
    TABLE_NEW = 1,       /* the key had no slot, and got one that was idle */
    TABLE_FULL = 2,      /* it had none and found none: the rule decided */
    TABLE_DISPLACED = 4, /* another key lost its slot to it */
    TABLE_MOVED = 8      /* it came over from an earlier area */
};

/* drained counts on without wrapping: at least now for a taken one, and below or at now where a peek found nothing. */
struct table_answer {
    enum table_verdict verdict;
    uint32_t events;
    uint64_t drained; /* TAKEN: after it; REFUSED: as it is */
    uint64_t charged; /* TABLE_CHARGE: so much of cost */
};

/* Asks the processor for the lines that this hash will need. */
static inline void table_prefetch(const struct table *table, uint64_t hash);

void table_ask(struct table *table, const struct table_question *question, struct table_answer *answer);

/* A call that used less than it was charged. */
struct table_slip {
    uint64_t hash, now;
    uint64_t start, end; /* of its slot */
    uint64_t charged, unused;
    uint64_t burst; /* drained further ahead: somebody waits */
};

/* Gives back of `unused` what has not drained; nothing while somebody waits behind it. */
void table_give_back(struct table *table, const struct table_slip *slip);

/* This key is fresh again. */
void table_forget(struct table *table, uint64_t hash);

/* Refreshes the idle times of these buckets, lossless, so that none is older than the clock's wrap. */
void table_sweep(struct table *table, unsigned area, uint64_t first, uint64_t count, uint64_t now);

/* How many slots of these buckets are ahead of now. */
uint64_t table_live(const struct table *table, unsigned area, uint64_t first, uint64_t count, uint64_t now);

/* ---- where a hash may live ---- */

/* The upper bits choose, so the tag (the lower ones) says something else. */
static inline uint64_t table_first_choice(const struct table_area *area, uint64_t hash);
static inline uint64_t table_second_choice(const struct table_area *area, uint64_t hash);

#endif
