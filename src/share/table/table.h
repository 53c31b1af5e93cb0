/* SPDX-License-Identifier: MIT
   A time for each key, in fixed memory, for any number of threads and processes without a lock.

   The protocol is in table.c.  This file has what every call needs: the places for a hash, and the one compare and swap
   that charges a key that has a slot. */
#ifndef WEIR_SHARE_TABLE_TABLE_H
#define WEIR_SHARE_TABLE_TABLE_H

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

/* Zeroed memory is an empty area.  A key may be in one bucket of the first half and in one of the second.  half:
   buckets in each half, 1 to 2^32; bucket is aligned to its size. */
struct table_area {
    struct table_bucket *bucket;
    uint64_t half;
};

/* An area of one limit's own.  in_use: 1, for ever, once a key found no room elsewhere; until then the part is not
   searched. */
struct table_part {
    struct table_area area;
    struct atom *in_use;
};

enum table_when_full { TABLE_INHERIT, TABLE_EVICT, TABLE_DENY, TABLE_ALLOW };

/* One process's view of a table.  A key's area is one of [home, count); it is searched for in its own, and what it left
   in those of [first, its own) moves there.  A table that grows in place of its areas has home = count - 1. */
struct table {
    struct atom *newest; /* in the shared memory: the number of areas */
    struct table_area area[TABLE_AREAS_MAX];
    unsigned first, home, count;
    struct table_area all;           /* a copy of the area that has all keys; half 0: they are divided */
    uint64_t share[TABLE_AREAS_MAX]; /* of 2^32: an area's part of all areas up to it */
    enum table_when_full when_full;
    uint64_t longest; /* units: no limit here is further ahead of now; below 2^53 */
};

enum table_how { TABLE_TAKE, TABLE_PEEK, TABLE_CHARGE };

/* All in units.  `now` goes on without wrapping, and is at least 1. */
struct table_question {
    uint64_t hash; /* the identity of key and limit */
    uint64_t now, cost;
    uint64_t from;  /* decide as if the call came only then, the later start of several limits; 0: now */
    uint64_t burst; /* how far `drained` may be ahead of now, and of the start of a waiting call */
    uint64_t wait;  /* the furthest start that the call accepts */
    uint64_t debt;  /* TABLE_CHARGE: how much further ahead `drained` may be; UINT64_MAX: any (up to longest) */
    enum table_how how;
    const struct table_part *part; /* the part where the key may be too, the same in all calls for it; NULL: none */
};

enum table_verdict {
    TABLE_TAKEN, /* or, for a peek: it would be */
    TABLE_REFUSED,
    TABLE_UNKNOWN, /* `newest` says that there are more areas than this process knows: map them and call again */
    TABLE_MISSED   /* only of table_try: not a simple case, nothing was done; use table_ask_slowly */
};

enum table_event {
    TABLE_NEW = 1,       /* the key had no slot and got an idle one */
    TABLE_FULL = 2,      /* it had none and found none, or was displaced recently: the rule for full buckets decided */
    TABLE_DISPLACED = 4, /* another key lost its slot to it */
    TABLE_MOVED = 8,     /* it moved from an earlier area */
    TABLE_STUCK = 16     /* a lock could not be had: refused, and nothing is known */
};

/* `drained` goes on without wrapping: at least `now` if taken, and `now` for a peek that finds no slot.  For a key that
   TABLE_DENY refuses for lack of a slot (TABLE_FULL), it is when the first slot becomes idle. */
struct table_answer {
    enum table_verdict verdict;
    uint32_t events;
    uint64_t drained; /* TAKEN: after the call; REFUSED: unchanged */
    uint64_t charged; /* of the cost; may be less for a TABLE_CHARGE, and is 0 if there is no slot to keep it */
};

static inline void table_ask(struct table *table, const struct table_question *question, struct table_answer *answer);

/* The slow path: any call, wherever the key is. */
void table_ask_slowly(struct table *table, const struct table_question *question, struct table_answer *answer);

/* The answer came from memory that is no longer the newest: takes the charge back if possible. */
void table_outgrown(struct table_slot *slot, uint64_t charged, uint64_t before);

/* A call that used less than it was charged, and its slot in the schedule: from its start to the `drained` time that it
   was told. */
struct table_slip {
    uint64_t hash, now, start, end, charged, unused;
    uint64_t burst;                /* if `drained` is further ahead than this, a call waits */
    const struct table_part *part; /* as in the question */
};

/* Gives back the part of `unused` that has not drained; nothing while a call waits behind it, or where keys were
   displaced recently. */
void table_give_back(struct table *table, const struct table_slip *slip);

/* Makes this key fresh again, unless its slot keeps the debt of displaced keys. */
void table_forget(struct table *table, const struct table_part *part, uint64_t hash, uint64_t now);

/* Refreshes the idle times of these buckets without loss, so that none is older than the wrap of the clock.  Once in
   2^55 units for each bucket is enough. */
void table_sweep(const struct table_area *area, uint64_t first, uint64_t count, uint64_t now);

/* The same for a whole area, unless another process has done it meanwhile, so that `rested` is not `seen` any more.
   all: every time in it is past, whatever it looks like. */
bool table_rest(const struct table_area *area, const struct atom *rested, uint64_t seen, uint64_t now, bool all);

/* The number of its slots that are ahead of now. */
uint64_t table_live(const struct table_area *area, uint64_t now);

/* Of those, the ones of keys that have another area now, and those that keep the debt of displaced keys. */
uint64_t table_strangers(const struct table *table, unsigned area, uint64_t now);

/* ---- words ---- */

enum {
    TABLE_TAG_SHIFT = 16,
    TABLE_TAG_BITS = 48,
    TABLE_TENTATIVE = 1 << 15,
    TABLE_VERSION_MAX = TABLE_TENTATIVE - 1, /* of the owner */
    TABLE_LAP_SHIFT = 57,
    TABLE_LAP_MAX = 127 /* of the time: the lower bits of the same version */
};

#define TABLE_DRAINED_MAX ((UINT64_C(1) << 56) - 1)
#define TABLE_DISPLACED_BIT (UINT64_C(1) << 56)

/* A time further ahead than any clock and limit can make it is long past: times wrap. */
#define TABLE_AHEAD_END (UINT64_C(1) << 54)

/* A tag is never that of zeroed memory. */
static inline uint64_t table_tag(uint64_t hash)
{
    const uint64_t tag = hash & (UINT64_MAX >> TABLE_TAG_SHIFT);
    return tag != 0 ? tag : 1;
}

/* True if the time belongs to this owner; otherwise the slot is free. */
static inline bool table_owned(uint64_t owner, uint64_t time)
{
    return ((owner ^ time >> TABLE_LAP_SHIFT) & TABLE_LAP_MAX) == 0;
}

static inline uint64_t table_ahead(uint64_t time, uint64_t now)
{
    const uint64_t ahead = (time - now) & TABLE_DRAINED_MAX;
    return ahead < TABLE_AHEAD_END ? ahead : 0;
}

/* The same version, with `drained` this far ahead.  The mark of displaced keys goes when the time before has
   drained. */
static inline uint64_t table_time(uint64_t time, uint64_t now, uint64_t ahead)
{
    const uint64_t kept = table_ahead(time, now) != 0 ? ~TABLE_DRAINED_MAX : ~TABLE_DRAINED_MAX & ~TABLE_DISPLACED_BIT;
    return (time & kept) | ((now + ahead) & TABLE_DRAINED_MAX);
}

/* ---- the places for a hash ---- */

/* The upper bits choose the bucket, and the lower ones are the tag, so the two are independent. */
static inline uint64_t table_first_choice(const struct table_area *area, uint64_t hash)
{
    return (hash >> 32) * area->half >> 32;
}

#define TABLE_MIX UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio */

/* The distance from the place in one half to that in the other.  It depends on the tag, so a slot tells where else its
   key may be. */
static inline uint64_t table_stride(const struct table_area *area, uint64_t tag)
{
    const uint64_t mixed = tag * TABLE_MIX;
    return (mixed >> 32) * area->half >> 32;
}

static inline uint64_t table_second_choice(const struct table_area *area, uint64_t hash)
{
    const uint64_t place = table_first_choice(area, hash) + table_stride(area, table_tag(hash));
    return place < area->half ? area->half + place : place;
}

/* The number of this key's area.  Each new area draws its share of the keys of all earlier ones, so a key moves only to
   the newest. */
unsigned table_home(const struct table *table, uint64_t tag) __attribute__((pure));

/* A number below 2^32 for each tag and area, independent of the place. */
uint64_t table_draw(uint64_t tag, unsigned area);

/* [when its areas are known] beside: each has its share of the keys; otherwise the last has them all. */
void table_divide(struct table *table, bool beside);

static inline const struct table_area *table_area_of(const struct table *table, uint64_t hash)
{
    return &table->area[table_home(table, table_tag(hash))];
}

/* The same, a copy, for the fast path: in most tables all keys have one area. */
static ATOM_INLINE struct table_area table_area_at_once(const struct table *table, uint64_t hash)
{
    return table->all.half != 0 ? table->all : *table_area_of(table, hash);
}

/* The two buckets of a hash in its area, of those that this process knows. */
struct table_pair {
    struct table_bucket *first, *second;
    uint64_t tag;
};

static ATOM_INLINE struct table_pair table_pair_of(const struct table *table, uint64_t hash)
{
    const struct table_area area = table_area_at_once(table, hash);
    return (struct table_pair){&area.bucket[table_first_choice(&area, hash)],
                               &area.bucket[table_second_choice(&area, hash)], table_tag(hash)};
}

static ATOM_INLINE void table_prefetch_pair(const struct table_pair *pair)
{
    atom_prefetch(pair->first);
    atom_prefetch(pair->second);
}

static ATOM_INLINE void table_prefetch(const struct table *table, uint64_t hash)
{
    const struct table_pair pair = table_pair_of(table, hash);
    table_prefetch_pair(&pair);
}

/* ---- the call that finds its slot ---- */

/* A slot, and its owner when it was found. */
struct table_place {
    struct table_slot *slot; /* NULL: none */
    uint64_t owner;
};

/* True if this owner has that tag and is not tentative. */
static inline bool table_is_own(uint64_t owner, uint64_t tag)
{
    return owner >> (TABLE_TAG_SHIFT - 1) == tag << 1;
}

/* The first slot of this tag in the bucket. */
static inline struct table_place table_find(struct table_bucket *bucket, uint64_t tag)
{
    for (int i = 0; i < TABLE_SLOTS; i++) {
        const uint64_t owner = atom_load_acquire(&bucket->slot[i].owner);
        if (table_is_own(owner, tag)) return (struct table_place){&bucket->slot[i], owner};
    }
    return (struct table_place){NULL, 0};
}

/* The first slot of this tag in the pair. */
static inline struct table_place table_seek(const struct table_pair *pair)
{
    const struct table_place place = table_find(pair->first, pair->tag);
    return place.slot != NULL ? place : table_find(pair->second, pair->tag);
}

static ATOM_INLINE struct table_slot *table_select(struct table_slot *at, uint64_t tag, struct table_slot *otherwise)
{
    return table_is_own(atom_load_acquire(&at->owner), tag) ? at : otherwise;
}

_Static_assert(TABLE_SLOTS == 4, "the slots that table_seek_fetched names");

/* The same, but faster once both lines are in the cache: it reads all eight slots and then selects without a branch,
   because a processor cannot predict which one it is, and a misprediction takes longer.  It is no loop since compilers
   leave it one.  The owner of the slot that is left is read once more: it may be another key's, or have changed. */
static ATOM_INLINE struct table_place table_seek_fetched(const struct table_pair *pair)
{
    struct table_slot *first = pair->first->slot, *second = pair->second->slot, *slot = first;
    slot = table_select(&second[3], pair->tag, slot);
    slot = table_select(&second[2], pair->tag, slot);
    slot = table_select(&second[1], pair->tag, slot);
    slot = table_select(&second[0], pair->tag, slot);
    slot = table_select(&first[3], pair->tag, slot);
    slot = table_select(&first[2], pair->tag, slot);
    slot = table_select(&first[1], pair->tag, slot);
    const uint64_t owner = atom_load_acquire(&slot->owner);
    return (struct table_place){table_is_own(owner, pair->tag) ? slot : NULL, owner};
}

/* The time from now until the call is decided. */
static inline uint64_t table_lead(const struct table_question *question)
{
    return question->from == 0 ? 0 : (question->from - question->now) & TABLE_DRAINED_MAX;
}

/* What a TABLE_TAKE comes to for its slot: at least one permit, and a cost that passes when the slot is idle. */
struct table_charge {
    uint64_t now, cost, lead; /* lead: the time from now until the call is decided */
    uint64_t reach;           /* how far ahead of now the slot may be afterwards; at most table->longest */
};

/* The fast path: a key that was found in its slot, without contention.  *drained as in the answer; for UNKNOWN the
   charge is taken back. */
static ATOM_INLINE enum table_verdict table_try(const struct table *table, struct table_place place,
                                                const struct table_charge *charge, uint64_t *drained)
{
    const uint64_t now = charge->now;
    struct table_slot *slot = place.slot;
    if (slot == NULL) return TABLE_MISSED;
    uint64_t time = atom_load_acquire(&slot->time);
    const uint64_t ahead = table_ahead(time, now), after = most(ahead, charge->lead) + charge->cost;
    const bool passes = after <= charge->reach;
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

/* The fast path of a TABLE_PEEK. */
static ATOM_INLINE enum table_verdict table_glance(const struct table *table, struct table_place place,
                                                   const struct table_charge *charge, uint64_t *drained)
{
    if (place.slot == NULL) return TABLE_MISSED;
    const uint64_t time = atom_load_acquire(&place.slot->time), ahead = table_ahead(time, charge->now);
    const uint64_t after = most(ahead, charge->lead) + charge->cost;
    const bool passes = after <= charge->reach;
    if (!table_owned(place.owner, time) || atom_load(table->newest) > table->count) return TABLE_MISSED;
    *drained = charge->now + (passes ? after : ahead);
    return passes ? TABLE_TAKEN : TABLE_REFUSED;
}

static inline void table_ask(struct table *table, const struct table_question *question, struct table_answer *answer)
{
    const struct table_pair pair = table_pair_of(table, question->hash);
    const struct table_charge charge = {
        .now = question->now,
        .cost = question->cost,
        .lead = table_lead(question),
        .reach = least(add_saturating(question->burst, question->wait), table->longest),
    };
    *answer = (struct table_answer){TABLE_MISSED, 0, 0, 0};
    if (question->how == TABLE_TAKE && charge.cost != 0 && charge.cost <= charge.reach) {
        answer->verdict = table_try(table, table_seek(&pair), &charge, &answer->drained);
        if (answer->verdict == TABLE_TAKEN) answer->charged = question->cost;
    } else if (question->how == TABLE_PEEK && charge.cost <= charge.reach) {
        answer->verdict = table_glance(table, table_seek(&pair), &charge, &answer->drained);
    }
    if (answer->verdict == TABLE_MISSED) table_ask_slowly(table, question, answer);
}

#endif
