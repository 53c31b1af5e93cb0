/* SPDX-License-Identifier: MIT
   table.h - a time for each key, in fixed memory, for any number of threads and processes without a lock.

   See table.c for the protocol.  What is here is what every call needs: where a hash may live, and the one compare and
   swap by which a key that has its slot is charged. */
#ifndef WEIR_SHARE_TABLE_H
#define WEIR_SHARE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/num.h"
#include "share/atomic.h"

enum { TABLE_SLOTS = 4, TABLE_AREAS_MAX = 8 };

/*  owner  | tag 48 | tentative 1 | version 15 |        time  | version 7 | displaced 1 | drained 56 | */
struct table_slot {
    struct atom owner, time;
};

/* One cache line. */
struct table_bucket {
    struct table_slot slot[TABLE_SLOTS];
};

_Static_assert(sizeof(struct table_bucket) == 64, "a bucket is a line");

/* Zeroed memory is an empty area.  A key may be in one bucket of the first half and in one of the second.
   half: so many buckets in each, 1 to 2^32; bucket is aligned to its size. */
struct table_area {
    struct table_bucket *bucket;
    uint64_t half;
};

/* An area of one limit's own.  in_use: 1 once a key found no room elsewhere, for ever; before, nobody looks at it. */
struct table_part {
    struct table_area area;
    struct atom *in_use;
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
    uint64_t from;  /* counted as if it came only then: the later start that several limits have in common; 0: now */
    uint64_t burst; /* drained may be so far ahead of now, and of the start of a call that waits */
    uint64_t wait;  /* a start up to so far away will do */
    uint64_t debt;  /* TABLE_CHARGE: drained may be so much further ahead; UINT64_MAX: any (up to longest) */
    enum table_how how;
    const struct table_part *part; /* where the key may be besides, the same for all who ask for it; NULL: nowhere */
};

enum table_verdict {
    TABLE_TAKEN, /* or, of a peek: it would be */
    TABLE_REFUSED,
    TABLE_UNKNOWN, /* `newest` says that there are more areas than this process knows: map them and ask again */
    TABLE_MISSED   /* of table_try only: not as simple as that, nothing is done; ask slowly */
};

enum table_event {
    TABLE_NEW = 1,       /* the key had no slot, and got one that was idle */
    TABLE_FULL = 2,      /* it had none and found none, or was displaced not long ago: the rule decided */
    TABLE_DISPLACED = 4, /* another key lost its slot to it */
    TABLE_MOVED = 8,     /* it came over from an earlier area */
    TABLE_STUCK = 16     /* a lock could not be had: it is refused, and nothing is known */
};

/* drained counts on without wrapping: at least now for a taken one, and at now where a peek of nothing found nothing.
   Of a key that TABLE_DENY refuses for want of a slot (TABLE_FULL) it is when the first slot will be idle. */
struct table_answer {
    enum table_verdict verdict;
    uint32_t events;
    uint64_t drained; /* TAKEN: after it; REFUSED: as it is */
    uint64_t charged; /* so much of cost; may be less of a TABLE_CHARGE, and is 0 when nothing keeps it */
};

/* Asks the processor for the lines that this hash will need. */
static ATOM_INLINE void table_prefetch(const struct table *table, uint64_t hash);

static inline void table_ask(struct table *table, const struct table_question *question, struct table_answer *answer);

/* The same, whatever is asked and wherever the key is. */
void table_ask_slowly(struct table *table, const struct table_question *question, struct table_answer *answer);

/* The answer came from memory that is no longer the newest: takes the charge back if it can. */
void table_outgrown(struct table_slot *slot, uint64_t charged, uint64_t before);

/* A call that used less than it was charged, and the slot it had: from its start to the drained time it was told. */
struct table_slip {
    uint64_t hash, now, start, end, charged, unused;
    uint64_t burst;                /* drained further ahead than this: somebody waits */
    const struct table_part *part; /* as in the question */
};

/* Gives back of `unused` what has not drained.  While somebody waits behind it, and where other keys were displaced not
   long ago: nothing. */
void table_give_back(struct table *table, const struct table_slip *slip);

/* This key is fresh again, unless its slot keeps what displaced keys owe. */
void table_forget(struct table *table, const struct table_part *part, uint64_t hash, uint64_t now);

/* Refreshes the idle times of these buckets, lossless, so that none is older than the clock's wrap.  Each bucket once
   in 2^55 units will do. */
void table_sweep(const struct table_area *area, uint64_t first, uint64_t count, uint64_t now);

/* The same for all of an area: unless somebody has done so meanwhile, and `rested` is not `seen` any more.  all: every
   time in there is past, whatever it looks like. */
bool table_rest(const struct table_area *area, const struct atom *rested, uint64_t seen, uint64_t now, bool all);

/* How many slots of these buckets are ahead of now. */
uint64_t table_live(const struct table_area *area, uint64_t first, uint64_t count, uint64_t now);

/* ---- words ---- */

enum {
    TABLE_TAG_SHIFT = 16,
    TABLE_TENTATIVE = 1 << 15,
    TABLE_VERSION_MAX = TABLE_TENTATIVE - 1, /* of the owner */
    TABLE_LAP_SHIFT = 57,
    TABLE_LAP_MAX = 127 /* of the time: the lower bits of the same version */
};

#define TABLE_DRAINED_MAX ((UINT64_C(1) << 56) - 1)
#define TABLE_DISPLACED_BIT (UINT64_C(1) << 56)

/* What is further ahead than any clock and limit can make it is long past: times wrap. */
#define TABLE_AHEAD_END (UINT64_C(1) << 54)

/* A tag is never that of zeroed memory. */
static inline uint64_t table_tag(uint64_t hash)
{
    const uint64_t tag = hash & (UINT64_MAX >> TABLE_TAG_SHIFT);
    return tag != 0 ? tag : 1;
}

/* The time is of this owner; if not, the slot is free. */
static inline bool table_owned(uint64_t owner, uint64_t time)
{
    return ((owner ^ time >> TABLE_LAP_SHIFT) & TABLE_LAP_MAX) == 0;
}

static inline uint64_t table_ahead(uint64_t time, uint64_t now)
{
    const uint64_t ahead = (time - now) & TABLE_DRAINED_MAX;
    return ahead < TABLE_AHEAD_END ? ahead : 0;
}

/* The same version, drained so far ahead.  What displaced keys owe has drained when the time before it had. */
static inline uint64_t table_time(uint64_t time, uint64_t now, uint64_t ahead)
{
    const uint64_t kept = table_ahead(time, now) != 0 ? ~TABLE_DRAINED_MAX : ~TABLE_DRAINED_MAX & ~TABLE_DISPLACED_BIT;
    return (time & kept) | ((now + ahead) & TABLE_DRAINED_MAX);
}

/* ---- where a hash may live ---- */

/* The upper bits choose, so the tag (the lower ones) says something else. */
static inline uint64_t table_first_choice(const struct table_area *area, uint64_t hash)
{
    return (hash >> 32) * area->half >> 32;
}

/* From the place in one half to that in the other: the tag says it, so that a slot says where else its key may be. */
static inline uint64_t table_stride(const struct table_area *area, uint64_t tag)
{
    const uint64_t mixed = tag * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    return (mixed >> 32) * area->half >> 32;
}

static inline uint64_t table_second_choice(const struct table_area *area, uint64_t hash)
{
    const uint64_t place = table_first_choice(area, hash) + table_stride(area, table_tag(hash));
    return place < area->half ? area->half + place : place;
}

static ATOM_INLINE void table_prefetch(const struct table *table, uint64_t hash)
{
    const struct table_area *area = &table->area[table->count - 1];
    atom_prefetch(&area->bucket[table_first_choice(area, hash)]);
    atom_prefetch(&area->bucket[table_second_choice(area, hash)]);
}

/* ---- the call that finds its slot ---- */

/* A slot, and whose it was when it was found. */
struct table_place {
    struct table_slot *slot; /* NULL: none */
    uint64_t owner;
};

/* Is this the owner of a slot of that tag, past its tentative state? */
static inline bool table_is_own(uint64_t owner, uint64_t tag)
{
    return owner >> (TABLE_TAG_SHIFT - 1) == tag << 1;
}

/* The first slot in this bucket that is this tag's. */
static inline struct table_place table_find(struct table_bucket *bucket, uint64_t tag)
{
    for (int i = 0; i < TABLE_SLOTS; i++) {
        const uint64_t owner = atom_load_acquire(&bucket->slot[i].owner);
        if (table_is_own(owner, tag)) return (struct table_place){&bucket->slot[i], owner};
    }
    return (struct table_place){NULL, 0};
}

/* The same, or *place where none is; without a branch. */
static ATOM_INLINE void table_find_blindly(struct table_bucket *bucket, uint64_t tag, struct table_place *place)
{
    for (int i = TABLE_SLOTS - 1; i >= 0; i--) {
        const uint64_t owner = atom_load_acquire(&bucket->slot[i].owner);
        const bool own = table_is_own(owner, tag);
        place->slot = own ? &bucket->slot[i] : place->slot;
        place->owner = own ? owner : place->owner;
    }
}

/* Where this hash is in the newest area that this process knows of. */
static inline struct table_place table_seek(const struct table *table, uint64_t hash)
{
    const struct table_area *area = &table->area[table->count - 1];
    const struct table_place place = table_find(&area->bucket[table_first_choice(area, hash)], table_tag(hash));
    if (place.slot != NULL) return place;
    return table_find(&area->bucket[table_second_choice(area, hash)], table_tag(hash));
}

/* The same, faster once both lines are in the cache: all eight are looked at, because which one it is no processor can
   guess, and a wrong guess takes longer. */
static ATOM_INLINE struct table_place table_seek_fetched(const struct table *table, uint64_t hash)
{
    const struct table_area *area = &table->area[table->count - 1];
    struct table_place place = {NULL, 0};
    table_find_blindly(&area->bucket[table_second_choice(area, hash)], table_tag(hash), &place);
    table_find_blindly(&area->bucket[table_first_choice(area, hash)], table_tag(hash), &place);
    return place;
}

/* From now until a call is counted. */
static inline uint64_t table_lead(const struct table_question *question)
{
    return question->from == 0 ? 0 : (question->from - question->now) & TABLE_DRAINED_MAX;
}

/* A TABLE_TAKE of more than nothing, of a key that was found there, when nobody is in the way.  *drained as in the
   answer; UNKNOWN has taken its charge back. */
static ATOM_INLINE enum table_verdict table_try(const struct table *table, struct table_place place,
                                                const struct table_question *question, uint64_t *drained)
{
    const uint64_t now = question->now, cost = question->cost;
    const uint64_t reach = least(add_saturating(question->burst, question->wait), table->longest);
    struct table_slot *slot = place.slot;
    if (slot == NULL) return TABLE_MISSED;
    uint64_t time = atom_load_acquire(&slot->time);
    const uint64_t ahead = table_ahead(time, now), after = most(ahead, table_lead(question)) + cost;
    const bool passes = cost <= reach && after <= reach;
    const uint64_t before = time, charged = passes ? table_time(time, now, after) : time;
    if (!table_owned(place.owner, time) || (passes && !atom_swap_full(&slot->time, &time, charged)))
        return TABLE_MISSED;
    if (atom_load_full(table->newest) > table->count) {
        table_outgrown(slot, charged, before);
        return TABLE_UNKNOWN;
    }
    *drained = now + (passes ? after : ahead);
    return passes ? TABLE_TAKEN : TABLE_REFUSED;
}

static inline void table_ask(struct table *table, const struct table_question *question, struct table_answer *answer)
{
    *answer = (struct table_answer){TABLE_MISSED, 0, 0, 0};
    if (question->how == TABLE_TAKE && question->cost != 0)
        answer->verdict = table_try(table, table_seek(table, question->hash), question, &answer->drained);
    if (answer->verdict == TABLE_TAKEN) answer->charged = question->cost;
    if (answer->verdict == TABLE_MISSED) table_ask_slowly(table, question, answer);
}

#endif
