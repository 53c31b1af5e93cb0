/* SPDX-License-Identifier: MIT
   Many threads at a small table: whatever is reclaimed, displaced, given back, forgotten by nobody and
   grown meanwhile, no key is granted more than its burst and what drained.

   Time is a counter that all advance, read before each call, so it is somewhat old when the call takes effect; the
   bound is that of the whole run, from the first call to the last: burst + time.

   The counts are exact. */
#include "crowd.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/table/table.h"
#include "size.h"

enum { CALLS = SANITIZED ? 10000 : 60000 };
enum { THREADS = 8, KEYS = 64, BUCKETS_MAX = 64, AREAS = 3, COST = 100, BURST = 3 * COST, BEGIN = 1000 };

static struct crowd crowd;
static _Alignas(64) struct table_bucket memory[AREAS][BUCKETS_MAX];
static struct atom newest;
static atomic_ullong clock_units;
static uint64_t half;
static enum table_when_full when_full;
static bool beside; /* how it grows */
static uint64_t granted[THREADS][KEYS], events[THREADS];
static uint64_t gap; /* units from one call to the next, on average; 0: time stands still */
static bool gives_back, same_key, has_part;
static _Alignas(64) struct table_bucket in_part[4];
static struct atom in_use;
static const struct table_part own = {{.bucket = in_part, .half = 2}, &in_use}; /* of every other key */

static uint64_t hash_of(uint64_t key)
{
    uint64_t mixed = (key + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed ^= mixed >> 29;
    return mixed * UINT64_C(0xbf58476d1ce4e5b9);
}

/* As a process knows it that has seen so many areas. */
static struct table table_of(unsigned areas)
{
    struct table table = {.newest = &newest, .count = areas, .when_full = when_full, .longest = UINT64_C(1) << 40};
    for (unsigned i = 0; i < AREAS; i++) table.area[i] = (struct table_area){.bucket = memory[i], .half = half << i};
    table_divide(&table, beside);
    return table;
}

static const struct table_part *part_of(uint64_t key)
{
    return has_part && key % 2 == 1 ? &own : NULL;
}

static struct table_answer ask(struct table *table, uint64_t key, uint64_t now)
{
    const struct table_question question = {
        .hash = hash_of(key), .now = now, .cost = COST, .burst = BURST, .part = part_of(key)};
    struct table_answer answer;
    for (table_ask(table, &question, &answer); answer.verdict == TABLE_UNKNOWN; table_ask(table, &question, &answer))
        *table = table_of((unsigned)atom_load_acquire(&newest));
    return answer;
}

static void ask_keys(struct member *member)
{
    struct table table = table_of(1);
    uint64_t seed = UINT64_C(88172645463325252) + (uint64_t)member->number * 7919;
    for (int call = 0; call < CALLS; call++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        const uint64_t key = same_key ? 0 : seed % KEYS;
        const uint64_t now = atomic_fetch_add(&clock_units, gap == 0 ? 0 : (seed >> 32) % (2 * gap));
        const struct table_answer answer = ask(&table, key, now);
        events[member->number] |= answer.events;
        if (answer.verdict != TABLE_TAKEN) continue;
        const bool back = gives_back && (seed >> 20) % 4 == 0;
        if (back)
            table_give_back(&table, &(struct table_slip){hash_of(key), now, now, answer.drained, answer.charged,
                                                         answer.charged, UINT64_MAX, part_of(key)});
        else granted[member->number][key] += answer.charged;
        if (call % 64 == 0) sched_yield();
    }
}

static void begin(const char *part, enum table_when_full rule, uint64_t buckets, uint64_t units)
{
    crowd_begin(part);
    memset(memory, 0, sizeof memory);
    memset(in_part, 0, sizeof in_part);
    atom_store(&in_use, 0);
    memset(granted, 0, sizeof granted);
    memset(events, 0, sizeof events);
    atom_store(&newest, 1);
    atomic_store(&clock_units, BEGIN);
    when_full = rule;
    half = buckets / 2;
    gap = units;
    crowd.threads = THREADS;
    crowd.body = ask_keys;
}

static uint64_t all_granted(uint64_t key)
{
    uint64_t sum = 0;
    for (int i = 0; i < THREADS; i++) sum += granted[i][key];
    return sum;
}

static void finish(void)
{
    crowd_join(&crowd);
    const uint64_t now = atomic_load(&clock_units);
    uint64_t sum = 0, seen = 0;
    for (int i = 0; i < THREADS; i++) seen |= events[i];
    for (uint64_t key = 0; key < KEYS; key++) {
        crowd_check(all_granted(key) <= BURST + now - BEGIN, "a key was granted more than its burst and what drained");
        sum += all_granted(key);
    }
    printf("  %llu granted in %llu units, events %llu\n", (unsigned long long)sum, (unsigned long long)(now - BEGIN),
           (unsigned long long)seen);
    crowd_check(sum > 0, "nothing was granted");
}

/* Time stands still, so every key gets exactly its burst, however many insert it at once. */
static void exactly(void)
{
    begin("exactly the burst of each key", TABLE_DENY, BUCKETS_MAX, 0);
    crowd_start(&crowd);
    crowd_join(&crowd);
    for (uint64_t key = 0; key < KEYS; key++) crowd_check(all_granted(key) == BURST, "not what a key may have");
}

static void grow(void)
{
    for (unsigned areas = 2; areas <= AREAS; areas++) {
        while (atomic_load(&clock_units) < BEGIN + areas * (uint64_t)CALLS * gap && atomic_load(&crowd.back) == 0)
            sched_yield();
        atom_store_release(&newest, areas);
    }
}

int main(void)
{
    exactly();
    begin("one key", TABLE_DENY, 2, 4);
    same_key = true;
    crowd_start(&crowd);
    finish();
    same_key = false;
    begin("few slots, denied", TABLE_DENY, 4, 16);
    crowd_start(&crowd);
    finish();
    begin("room made by shifting", TABLE_DENY, 8, 5);
    crowd_start(&crowd);
    finish();
    begin("shifted and given back", TABLE_DENY, 8, 5);
    gives_back = true;
    crowd_start(&crowd);
    finish();
    gives_back = false;
    begin("few slots, inherited", TABLE_INHERIT, 8, 4);
    crowd_start(&crowd);
    finish();
    begin("inherited and given back", TABLE_INHERIT, 8, 8);
    gives_back = true;
    crowd_start(&crowd);
    finish();
    begin("grown twice", TABLE_INHERIT, 8, 4);
    crowd_start(&crowd);
    grow();
    finish();
    beside = true;
    begin("grown beside twice", TABLE_DENY, 8, 4);
    crowd_start(&crowd);
    grow();
    finish();
    begin("grown beside twice, inherited, given back", TABLE_INHERIT, 8, 8);
    gives_back = true;
    crowd_start(&crowd);
    grow();
    finish();
    gives_back = beside = false;
    has_part = true;
    begin("a part, denied", TABLE_DENY, 4, 16);
    crowd_start(&crowd);
    finish();
    begin("a part, inherited, given back, grown twice", TABLE_INHERIT, 8, 8);
    gives_back = true;
    crowd_start(&crowd);
    grow();
    finish();
    printf("ok\n");
    return 0;
}
