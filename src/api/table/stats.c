/* SPDX-License-Identifier: MIT
   The counters of a table, its most refused keys, and the little work that keeps its slots valid.

   Each thread counts in words of its own.  The most refused keys are counted in a sketch of fixed size.  Counting and
   reading never block a caller. */
#include <string.h>

#include "api/sized.h"
#include "api/table/keyed.h"
#include "api/tally.h"
#include "core/num.h"

enum { MAINTAIN_EVERY = 4096, SWEPT_AT_ONCE = 64 };
static const uint64_t KEEP_TIME_EVERY_NS = 1000000000;

static void count_refusal(weir_table *table, unsigned slot, weir_key key, const weir_decision *decision)
{
    if (table->top_memory == NULL) return;
    const uint64_t identity = hash_key(&table->secret, key.bytes, key.size, WEIR_LIMITS_MAX + 1);
    top_add(&table->top, slot, identity, key.bytes, key.size, decision->limit);
}

void keyed_count_refusal(weir_table *table, weir_key key, const weir_decision *decision)
{
    count_refusal(table, host_slot(), key, decision);
}

/* Now and then a calling thread does maintenance for all. */
static void count_calls(weir_table *table, unsigned slot, uint64_t calls)
{
    const uint64_t before = tally_add(&table->tally[slot].calls, slot < HOST_SLOTS, calls);
    if (before / MAINTAIN_EVERY != (before + calls) / MAINTAIN_EVERY) keyed_maintain(table);
}

void keyed_count_granted(weir_table *table, uint64_t calls, uint64_t permits)
{
    const unsigned slot = host_slot();
    tally_add(&table->tally[slot].granted, slot < HOST_SLOTS, permits);
    count_calls(table, slot, calls);
}

void keyed_count(weir_table *table, weir_key key, const weir_decision *decision, uint32_t events)
{
    const unsigned slot = host_slot();
    struct keyed_tally *tally = &table->tally[slot];
    const bool mine = slot < HOST_SLOTS;
    if (decision->verdict == WEIR_ALLOW) {
        tally_add(&tally->granted, mine, decision->charged);
    } else {
        tally_add(&tally->denied, mine, 1);
        count_refusal(table, slot, key, decision);
    }
    if (events != 0) {
        tally_add(&tally->reclaimed, mine, (events & TABLE_NEW) != 0);
        tally_add(&tally->full, mine, (events & TABLE_FULL) != 0);
        tally_add(&tally->displaced, mine, (events & TABLE_DISPLACED) != 0);
        tally_add(&tally->moved, mine, (events & TABLE_MOVED) != 0);
    }
    count_calls(table, slot, 1);
}

/* The areas in use, then the parts; NULL after the last. */
static const struct table_area *area_at(const weir_table *table, uint64_t number)
{
    const struct table *slots = keyed_slots(table);
    const unsigned first = keyed_first_area(slots);
    const uint64_t areas = slots->count - first;
    if (number < areas) return &slots->area[first + number];
    return number - areas < atom_load_acquire(&table->parts) ? &table->part[number - areas]->slots.area : NULL;
}

static void note_rested(weir_table *table, uint64_t seen_ns, uint64_t now_ns)
{
    while (seen_ns < now_ns && !atom_swap(table->rested, &seen_ns, now_ns)) {
    }
}

/* Sweeps the next buckets; the buckets of all areas are numbered through, and after the last one a new round begins. */
static void keyed_sweep(weir_table *table, uint64_t now_ns)
{
    const struct table_area *area;
    uint64_t next = atom_add(&table->swept, SWEPT_AT_ONCE), end = next + SWEPT_AT_ONCE;
    for (uint64_t i = 0; (area = area_at(table, i)) != NULL; i++) {
        const uint64_t here = 2 * area->half;
        if (next < here) {
            table_sweep(area, next, least(SWEPT_AT_ONCE, here - next), keyed_units_of(table, now_ns));
            return;
        }
        next -= here;
    }
    if (!atom_swap(&table->swept, &end, 0)) return; /* another thread does it */
    note_rested(table, atom_load(table->rested), atom_load(&table->swept_from_ns));
    atom_store(&table->swept_from_ns, now_ns);
}

void keyed_rest(weir_table *table, uint64_t now_ns)
{
    const uint64_t seen_ns = atom_load_acquire(table->rested), units = keyed_units_of(table, now_ns);
    /* If there was no call since then (it would have come here), every time has drained. */
    const bool all = now_ns > seen_ns && now_ns - seen_ns > table->rest_ns + table->rest_ns / 2;
    const struct table_area *area;
    const struct table *slots = keyed_slots(table);
    uint64_t expected = seen_ns;
    if (atom_load_acquire(slots->newest) > slots->count) keyed_map_more(table);
    keyed_parts_learn(table);
    for (uint64_t i = 0; (area = area_at(table, i)) != NULL; i++) {
        if (!table_rest(area, table->rested, seen_ns, units, all)) return;
    }
    atom_swap(table->rested, &expected, now_ns);
}

void keyed_maintain(weir_table *table)
{
    const uint64_t now_ns = host_now_ns();
    uint64_t kept_ns = atom_load(&table->kept_ns);
    if (now_ns - kept_ns >= KEEP_TIME_EVERY_NS && atom_swap(&table->kept_ns, &kept_ns, now_ns)) keyed_keep_time(table);
    if (!keyed_is_wide(table)) keyed_sweep(table, now_ns + table->offset_ns);
}

static uint64_t live_in_parts(weir_table *table, uint64_t now_ns)
{
    uint64_t live = 0;
    for (uint64_t i = 0; i < atom_load_acquire(&table->parts); i++) {
        struct keyed_part *part = table->part[i];
        live += keyed_is_wide(table) ? keyed_wide_live(table, part, now_ns)
                                     : table_live(&part->slots.area, keyed_units_of(table, now_ns));
    }
    return live;
}

uint64_t keyed_live(weir_table *table)
{
    const uint64_t now_ns = host_now_ns() + table->offset_ns;
    uint64_t live = live_in_parts(table, now_ns);
    if (keyed_is_wide(table)) return live + keyed_wide_live(table, NULL, now_ns);
    const struct table *slots = keyed_slots(table);
    unsigned first = slots->first;
    const uint64_t now = keyed_units_of(table, now_ns);
    for (unsigned i = keyed_first_area(slots); i < slots->count; i++) {
        if (i == first && i + 1 < slots->count && table_strangers(slots, i, now) == 0) first++;
        live += table_live(&slots->area[i], now);
    }
    /* No thread charges a key where it is a stranger, so once all such slots are idle nobody looks for them. */
    if (first != slots->first) keyed_leave_areas(table, first);
    return live;
}

uint64_t keyed_found_full(const weir_table *table)
{
    uint64_t full = 0;
    for (int i = 0; i <= HOST_SLOTS; i++) full += atom_load(&table->tally[i].full);
    return full;
}

weir_table_stats keyed_read_counters(const weir_table *table)
{
    weir_table_stats sum = {
        .keys_max = atom_load(&table->keys_max), .bytes = atom_load(&table->bytes), .stuck = atom_load(&table->stuck)};
    for (uint64_t i = 0; i < atom_load_acquire(&table->parts); i++) sum.bytes += table->part[i]->bytes;
    for (int i = 0; i <= HOST_SLOTS; i++) {
        const struct keyed_tally *tally = &table->tally[i];
        sum.granted += atom_load(&tally->granted);
        sum.denied += atom_load(&tally->denied);
        sum.reclaimed += atom_load(&tally->reclaimed);
        sum.full += atom_load(&tally->full);
        sum.displaced += atom_load(&tally->displaced);
        sum.moved += atom_load(&tally->moved);
    }
    return sum;
}

void weir_table_read_stats(weir_table *table, weir_table_stats *stats, size_t size)
{
    weir_table_stats sum = keyed_read_counters(table);
    sum.keys_live = keyed_live(table);
    api_write_sized(stats, size, &sum, sizeof sum);
}

size_t weir_table_read_top(weir_table *table, weir_top *top, size_t count)
{
    if (table->top_memory == NULL) return 0;
    keyed_after_fork(table);
    host_lock(&table->mutex);
    const size_t told = top_read(&table->top, top, (size_t)least(count, table->top_keys));
    host_unlock(&table->mutex);
    return told;
}
