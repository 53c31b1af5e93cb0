/* SPDX-License-Identifier: MIT
   Giving back, forgetting, sweeping and counting what is in a table.

   The protocol is in table.c.  A function that lowers a time here read it before it saw that there is no mark beside
   it.  A time is lowered only for its own key, and not beside the debt of displaced keys. */
#include "share/table/look.h"
#include "share/table/table.h"

/* This key's slot in these homes, unless there is a mark beside it; its time was read before the marks. */
static struct table_slot *find_unmarked(const struct table_homes *homes, uint64_t hash, uint64_t now, uint64_t *time)
{
    struct table_look look;
    int own = table_look_for(&look, homes, hash);
    for (unsigned attempt = 0; !table_is_steady(&look) && attempt < TABLE_ATTEMPTS_MAX; attempt++)
        own = table_look_for(&look, homes, hash);
    if (own == TABLE_NOWHERE || table_bucket_holds_displaced(table_bucket_in(homes, hash, own / TABLE_SLOTS), now))
        return NULL;
    *time = look.time[own];
    return look.slot[own];
}

/* The key's own area together with its part, an earlier area alone. */
static struct table_homes homes_in(const struct table *table, unsigned area, uint64_t hash,
                                   const struct table_part *part)
{
    const bool own = area == table_home(table, table_tag(hash));
    return own ? table_homes_of(table, hash, part) : table_one_home(&table->area[area]);
}

/* True if a call waits behind it: its start is fixed, and a newcomer must not get the same one. */
static bool slip_waited_behind(const struct table_slip *slip, uint64_t ahead)
{
    return ahead > slip->burst && ((slip->now + ahead - slip->end) & TABLE_DRAINED_MAX) != 0;
}

/* The part of the call's slot that has not drained.  If an earlier slot was given back, this one has drained sooner
   than its end says: from its start on. */
static uint64_t undrained(const struct table_slip *slip)
{
    const int64_t by_end = (int64_t)(slip->end - slip->now);
    const int64_t by_start = (int64_t)(slip->start + slip->charged - slip->now);
    const int64_t left = by_end < by_start ? by_end : by_start;
    return left <= 0 ? 0 : least(slip->unused, least((uint64_t)left, slip->charged));
}

void table_give_back(struct table *table, const struct table_slip *slip)
{
    const uint64_t back = undrained(slip), hash = slip->hash, now = slip->now;
    unsigned area = table_home(table, table_tag(hash));
    for (unsigned attempt = 0; back != 0 && attempt < TABLE_ATTEMPTS_MAX; attempt++) {
        uint64_t time = 0;
        const struct table_homes homes = homes_in(table, area, hash, slip->part);
        struct table_slot *slot = find_unmarked(&homes, hash, now, &time);
        if (slot == NULL && area <= table->first) return;
        if (slot == NULL) {
            area--;
            continue;
        }
        const uint64_t ahead = table_ahead(time, now);
        if (ahead == 0 || slip_waited_behind(slip, ahead)) return;
        if (atom_swap_release(&slot->time, &time, table_time(time, now, subtract_to_zero(ahead, back)))) return;
    }
}

void table_forget(struct table *table, const struct table_part *part, uint64_t hash, uint64_t now)
{
    const unsigned own = table_home(table, table_tag(hash));
    unsigned area = (unsigned)least(table->first, own);
    for (unsigned attempt = 0; area <= own && attempt < TABLE_ATTEMPTS_MAX; attempt++) {
        uint64_t time = 0;
        const struct table_homes homes = homes_in(table, area, hash, part);
        struct table_slot *slot = find_unmarked(&homes, hash, now, &time);
        if (slot == NULL) area++;
        else atom_swap_release(&slot->time, &time, table_next_lap(table_fresh_time(time, now)));
    }
}

/* Refreshes an idle time that becomes old.  The time is read first: a slot that has no owner after that had none when
   its time was read, and that is no key's debt. */
static void table_sweep_slot(struct table_slot *slot, uint64_t now)
{
    uint64_t time = atom_load_acquire(&slot->time);
    const uint64_t owner = atom_load(&slot->owner);
    const uint64_t fresh = table_rested(time, now);
    const bool old = fresh != (time & ~TABLE_DISPLACED_BIT);
    if (old && table_ahead_of(owner, time, now) == 0) atom_swap_release(&slot->time, &time, fresh);
}

/* Makes the slot idle, whatever it owes.  False: another process has done that to all slots, and the debt in this one
   may have been charged since.  Its key loses the slot, so a swap that comes too late meets another version. */
static bool lay_to_rest(struct table_slot *slot, const struct atom *rested_at, uint64_t seen, uint64_t now)
{
    const uint64_t owner = atom_load(&slot->owner);
    uint64_t time = atom_load_acquire(&slot->time);
    const uint64_t fresh = table_fresh_time(time, now);
    if (rested_at != NULL && atom_load(rested_at) != seen) return false;
    atom_swap_release(&slot->time, &time, table_owned(owner, time) ? table_next_lap(fresh) : fresh);
    return true;
}

void table_sweep(const struct table_area *area, uint64_t first, uint64_t count, uint64_t now)
{
    struct table_slot *slot = area->bucket[first].slot;
    for (uint64_t i = 0; i < count * TABLE_SLOTS; i++) table_sweep_slot(&slot[i], now);
}

bool table_rest(const struct table_area *area, const struct atom *rested_at, uint64_t seen, uint64_t now, bool all)
{
    struct table_slot *slot = area->bucket[0].slot;
    for (uint64_t i = 0; i < 2 * area->half * TABLE_SLOTS; i++) {
        if (!all) table_sweep_slot(&slot[i], now);
        else if (!lay_to_rest(&slot[i], rested_at, seen, now)) return false;
    }
    return true;
}

uint64_t table_live(const struct table_area *area, uint64_t now)
{
    const struct table_slot *slot = area->bucket[0].slot, *const end = slot + 2 * area->half * TABLE_SLOTS;
    uint64_t live = 0;
    for (; slot < end; slot++) {
        const uint64_t owner = atom_load(&slot->owner);
        const uint64_t time = atom_load(&slot->time);
        live += (uint64_t)table_owned(owner, time) & (table_ahead_of(owner, time, now) != 0);
    }
    return live;
}

uint64_t table_strangers(const struct table *table, unsigned number, uint64_t now)
{
    const struct table_area *area = &table->area[number];
    const struct table_slot *slot = area->bucket[0].slot, *const end = slot + 2 * area->half * TABLE_SLOTS;
    uint64_t strangers = 0;
    for (; slot < end; slot++) {
        const uint64_t owner = atom_load_acquire(&slot->owner);
        const uint64_t time = atom_load_acquire(&slot->time);
        const bool live = table_ahead_of(owner, time, now) != 0, own = table_owned(owner, time);
        strangers += live && ((time & TABLE_DISPLACED_BIT) != 0 ||
                              (own && table_home(table, owner >> TABLE_TAG_SHIFT) != number));
    }
    return strangers;
}
