/* SPDX-License-Identifier: MIT
   The slots of a key as a thread read them, and the meaning of their words.  A steady look shows one moment.

   Memory orders: a swap reads the newest, and what a thread decides by is read before it, so a swap releases; what is
   read behind one is read by loads that acquire, or behind the full fence that follows a claim.  Which order each
   operation needs, and the scene that fails without it: test/model/orders.tsv. */
#ifndef WEIR_SHARE_TABLE_LOOK_H
#define WEIR_SHARE_TABLE_LOOK_H

#include "share/table/table.h"

/* An attempt fails when another thread changed a slot meanwhile: after this many in a row something is wrong.  The
   model checker uses fewer. */
#ifndef TABLE_ATTEMPTS_MAX
#define TABLE_ATTEMPTS_MAX 10000
#endif

enum {
    TABLE_CHOICES = 2,
    TABLE_LOOK_SLOTS = TABLE_CHOICES * TABLE_SLOTS,
    TABLE_HOMES = 2,
    TABLE_LOOK_SLOTS_MAX = TABLE_HOMES * TABLE_LOOK_SLOTS,
    TABLE_NOWHERE = -1
};

/* Idle times are kept no older than this, so that they do not wrap. */
static const uint64_t TABLE_LONG_AGO = UINT64_C(1) << 53;

/* The areas where a key may be, in order. */
struct table_homes {
    const struct table_area *area[TABLE_HOMES];
    int count;
};

static inline bool table_part_is_in_use(const struct table_part *part)
{
    return part != NULL && atom_load(part->in_use) != 0;
}

/* The places for a key: its area and its part. */
static inline struct table_homes table_homes_of(const struct table *table, uint64_t hash, const struct table_part *part)
{
    const bool both = table_part_is_in_use(part);
    return (struct table_homes){{table_area_of(table, hash), both ? &part->area : NULL}, both ? TABLE_HOMES : 1};
}

static inline struct table_homes table_one_home(const struct table_area *area)
{
    return (struct table_homes){{area, NULL}, 1};
}

/* The slots where a key may be, eight for each home, in order, and what was read in them. */
struct table_look {
    int count;
    struct table_slot *slot[TABLE_LOOK_SLOTS_MAX];
    uint64_t owner[TABLE_LOOK_SLOTS_MAX], time[TABLE_LOOK_SLOTS_MAX];
};

static inline struct table_bucket *table_bucket_of(const struct table_area *area, uint64_t hash, int choice)
{
    return &area->bucket[choice == 0 ? table_first_choice(area, hash) : table_second_choice(area, hash)];
}

/* ---- area.c ---- */

/* The key of this tag was found in this bucket: the other one that it may be in. */
struct table_bucket *table_other_bucket(const struct table_area *area, const struct table_bucket *bucket, uint64_t tag);

/* The same for a key that has another area now: its bucket there, by its choice.  NULL: unknown.  The tag has the lower
   bits of what chooses the bucket, and the place the upper ones: all of them, from 2^16 buckets on. */
struct table_bucket *table_bucket_at_home(const struct table_area *home, const struct table_area *area,
                                          const struct table_bucket *bucket, uint64_t tag, int choice);

/* Counted through all homes. */
static inline struct table_bucket *table_bucket_in(const struct table_homes *homes, uint64_t hash, int bucket)
{
    return table_bucket_of(homes->area[bucket / TABLE_CHOICES], hash, bucket % TABLE_CHOICES);
}

/* The owner is read first: a time of its version then proves that it was the owner when the time was read. */
static ATOM_INLINE void table_look_at_home(struct table_look *look, int home, const struct table_area *area,
                                           uint64_t hash)
{
    struct table_bucket *const bucket[TABLE_CHOICES] = {table_bucket_of(area, hash, 0), table_bucket_of(area, hash, 1)};
    for (int i = 0; i < TABLE_LOOK_SLOTS; i++) {
        struct table_slot *slot = &bucket[i / TABLE_SLOTS]->slot[i % TABLE_SLOTS];
        look->slot[home * TABLE_LOOK_SLOTS + i] = slot;
        look->owner[home * TABLE_LOOK_SLOTS + i] = atom_load_acquire(&slot->owner);
        look->time[home * TABLE_LOOK_SLOTS + i] = atom_load_acquire(&slot->time);
    }
}

/* Eight at a time, since most keys have one home: a loop with a constant bound takes half as long. */
static inline struct table_look table_look_at(const struct table_homes *homes, uint64_t hash)
{
    struct table_look look;
    look.count = homes->count * TABLE_LOOK_SLOTS;
    table_look_at_home(&look, 0, homes->area[0], hash);
    if (homes->count > 1) table_look_at_home(&look, 1, homes->area[1], hash);
    return look;
}

/* True if no owner has changed since the look, so that it showed one moment. */
static inline bool table_is_steady(const struct table_look *look)
{
    bool same = true;
    for (int i = 0; i < TABLE_LOOK_SLOTS; i++) same = atom_load(&look->slot[i]->owner) == look->owner[i] && same;
    for (int i = TABLE_LOOK_SLOTS; i < look->count; i++)
        same = atom_load(&look->slot[i]->owner) == look->owner[i] && same;
    return same;
}

static inline bool table_is_tentative(uint64_t owner)
{
    return (owner & TABLE_TENTATIVE) != 0;
}

/* Zero for zeroed memory, whatever time it is. */
static inline uint64_t table_ahead_of(uint64_t owner, uint64_t time, uint64_t now)
{
    return owner >> TABLE_TAG_SHIFT == 0 ? 0 : table_ahead(time, now);
}

static inline bool table_look_is_own(const struct table_look *look, int i, uint64_t tag)
{
    return look->owner[i] >> TABLE_TAG_SHIFT == tag && table_owned(look->owner[i], look->time[i]);
}

/* False if this key's debt came into a slot behind the look there, and may have left the old one before the look at
   that: a copy is made without a change of an owner. */
static inline bool table_copies_are_whole(const struct table_look *look, uint64_t tag)
{
    bool same = true;
    for (int i = 0; i < look->count; i++) {
        if (!table_look_is_own(look, i, tag) || !table_is_tentative(look->owner[i])) continue;
        same = atom_load(&look->slot[i]->time) == look->time[i] && same;
    }
    return same;
}

static ATOM_INLINE int table_find_own_in(const struct table_look *look, int first, uint64_t tag)
{
    int found = TABLE_NOWHERE;
    for (int i = first + TABLE_LOOK_SLOTS - 1; i >= first; i--) {
        if (!table_look_is_own(look, i, tag)) continue;
        if (!table_is_tentative(look->owner[i])) return i;
        found = i;
    }
    return found;
}

/* Finds the committed slot of a key, otherwise its lowest tentative one.  A committed one in the first home suffices,
   so then the look has only that home. */
static ATOM_INLINE int table_look_for(struct table_look *look, const struct table_homes *homes, uint64_t hash)
{
    const uint64_t tag = table_tag(hash);
    look->count = TABLE_LOOK_SLOTS;
    table_look_at_home(look, 0, homes->area[0], hash);
    const int found = table_find_own_in(look, 0, tag);
    if (homes->count == 1 || (found != TABLE_NOWHERE && !table_is_tentative(look->owner[found]))) return found;
    look->count = TABLE_LOOK_SLOTS_MAX;
    table_look_at_home(look, 1, homes->area[1], hash);
    const int in_part = table_find_own_in(look, TABLE_LOOK_SLOTS, tag);
    return in_part != TABLE_NOWHERE && (found == TABLE_NOWHERE || !table_is_tentative(look->owner[in_part])) ? in_part
                                                                                                             : found;
}

/* ---- times ---- */

static inline uint64_t table_next_lap(uint64_t time)
{
    return time + (UINT64_C(1) << TABLE_LAP_SHIFT);
}

/* A time that was never used. */
static inline uint64_t table_fresh_time(uint64_t time, uint64_t now)
{
    return (time & ~TABLE_DRAINED_MAX & ~TABLE_DISPLACED_BIT) | ((now - TABLE_LONG_AGO) & TABLE_DRAINED_MAX);
}

/* An idle time, no older than need be. */
static inline uint64_t table_rested(uint64_t time, uint64_t now)
{
    const uint64_t behind = (now - time) & TABLE_DRAINED_MAX;
    return behind <= TABLE_LONG_AGO ? time & ~TABLE_DISPLACED_BIT : table_fresh_time(time, now);
}

/* ---- displaced keys ---- */

static inline bool table_holds_displaced(uint64_t owner, uint64_t time, uint64_t now)
{
    return (time & TABLE_DISPLACED_BIT) != 0 && table_ahead_of(owner, time, now) != 0;
}

/* [behind the reading of a time] One that was raised beside a mark shows the mark, too. */
static inline bool table_bucket_holds_displaced(const struct table_bucket *bucket, uint64_t now)
{
    bool holds = false;
    for (int i = 0; i < TABLE_SLOTS; i++) {
        const uint64_t owner = atom_load(&bucket->slot[i].owner);
        holds = table_holds_displaced(owner, atom_load(&bucket->slot[i].time), now) || holds;
    }
    return holds;
}

#endif
