/* SPDX-License-Identifier: MIT
   keyed.h - the inside of a weir_table: memory (host) -> what is in it (share) -> the key's limits (core).

       keyed_open.c    made, joined, closed               keyed_take.c   asked: time and key -> slots or wide -> tally
       keyed_areas.c   mapped, grown                      keyed_slots.c  limits by gcra, 16 bytes a key
       keyed_fits.c    which plans it can hold            keyed_one.c    just one of them, and many keys
       address.c       keys                               keyed_wide.c   all other algorithms, and their locks
                                                          keyed_stats.c  counted, swept, told */
#ifndef WEIR_API_KEYED_H
#define WEIR_API_KEYED_H

#include <weir/weir.h>

#include "api/error.h"
#include "core/slot.h"
#include "host/clock.h"
#include "host/map.h"
#include "host/thread.h"
#include "plan/plan.h"
#include "share/ask.h"
#include "share/hash.h"
#include "share/region.h"
#include "share/table.h"
#include "share/top.h"
#include "share/wide.h"

/* Half of their buckets are 2^32 at most: share/table.h. */
#define KEYED_KEYS_MAX (UINT64_C(1) << 34)

/* Where the wide slots' locks lie in the file; the byte before them is for making, growing and clocks. */
enum { LOCK_REGION = 0, LOCK_STRIPES = 1 };
#define KEYED_WAIT_NS UINT64_C(50000000)        /* for the lock of a stripe, where the options say nothing */
#define KEYED_OPEN_WAIT_NS UINT64_C(2000000000) /* for the one that a file is opened under */
enum { KEYED_PARTS_MAX = 2047 };
enum { KEYED_LIMITS_MAX = WEIR_ASKS_MAX * WEIR_LIMITS_MAX };

/* Counted by one thread each; the last is for threads beyond. */
struct keyed_tally {
    struct atom calls, granted, denied, reclaimed, full, displaced, moved;
    uint64_t alone[1];
};

/* What this process knows of the areas is replaced as a whole when there are more, so that nobody reads half of it, and
   kept until the table is closed: somebody may still read it.  At the beginning, for each further area, for each that
   is left, and once where the header makes no sense any more. */
enum { KEYED_SHOWN_MAX = 2 * REGION_AREAS_MAX };

/* A place for the keys of one limit, which those of others do not fill: of 16-byte slots or of wide ones. */
struct keyed_part {
    uint64_t name, bytes;
    void *memory;
    struct table_part slots;
    struct atom in_use; /* of slots in memory; of those in a file it stands there */
    struct wide wide;
    struct atom stripe[WIDE_STRIPES];
    weir_table *table;
    unsigned number;
};

struct weir_table {
    /* Read by every call, written by none. */
    weir_clock clock;
    int unit; /* a unit is 2^-unit ns */
    struct secret secret;
    uint64_t offset_ns;   /* CLOCK_MONOTONIC + this = the time in there */
    int64_t namespace_ns; /* CLOCK_MONOTONIC + this = the machine's; 0 without a file, which no other namespace sees */
    uint64_t epoch_ns;    /* unix time when the time in there was 0 */
    uint64_t longest;     /* units */
    struct atom areas;    /* the address of the last that is shown */
    struct atom *rested;  /* in the header; and so long after it all slots are looked at again */
    uint64_t rest_ns;
    void *header;
    struct wide wide;         /* memory NULL: these are slots */
    struct keyed_part **part; /* NULL: there are none */
    struct atom parts;        /* so many */
    struct top top;
    void *top_memory;  /* NULL: none */
    uint32_t top_keys; /* so many are told */

    struct keyed_tally tally[HOST_SLOTS + 1];

    struct atom own_newest;    /* for struct table, where the header's makes no sense any more */
    struct atom swept;         /* buckets, of all areas one after the other */
    struct atom swept_from_ns; /* when the first of them was */
    struct atom kept_ns;       /* when the time was last written down for the next boot */
    struct atom forks;         /* how many forks ago the file was opened: wide slots, see keyed_wide.c */
    struct atom stripe[WIDE_LOCKS];
    uint64_t wait_ns;        /* so long for a lock */
    struct atom stuck;       /* so often it could not be had */
    struct host_mutex mutex; /* around mapping and growing */
    struct host_region region;
    struct region_view view;
    struct table shown[KEYED_SHOWN_MAX];
    unsigned shown_count;
    bool made; /* here, so nothing that was there before is its */
    struct host_region parts_region;
    void *parts_header;
    struct atom *parts_directory;
    struct atom keys_max, bytes; /* as the newest area has it */
    void *mapped[REGION_AREAS_MAX];
};

/* One limit of one key. */
struct keyed_limit {
    const struct rule *rule;
    uint64_t interval, hash, cost;
    int index; /* in its plan */
    const struct table_part *part;
};

/* Where this plan's keys may be besides; NULL: nowhere. */
static inline struct keyed_part *keyed_part_of(const weir_table *table, const struct plan *plan)
{
    const uint64_t number = plan->part != 0 ? plan->part - 1 : 0;
    return number < atom_load_acquire(&table->parts) ? table->part[number] : NULL;
}

/* Of a limit of this key, which has another one after each change of its rule. */
static inline uint64_t keyed_identity(const weir_table *table, weir_key key, uint32_t change, uint64_t limit)
{
    return hash_key(&table->secret, key.bytes, key.size, (uint64_t)change << 32 | limit);
}

static inline const struct table_part *keyed_slots_part(const weir_table *table, const struct plan *plan)
{
    const struct keyed_part *part = keyed_part_of(table, plan);
    return part != NULL ? &part->slots : NULL;
}

static inline struct table *keyed_slots(const weir_table *table)
{
    return (struct table *)(uintptr_t)atom_load_acquire(&table->areas);
}

static inline bool keyed_is_wide(const weir_table *table)
{
    return table->wide.memory != NULL;
}

static inline uint64_t keyed_now_ns(const weir_table *table)
{
    return table->clock == WEIR_CLOCK_COARSE ? host_now_coarse_ns() : host_now_ns();
}

/* ---- keyed_take.c: as weir.h has them, at a time that is given: a server reads the clock once a turn ---- */

/* ask->cost, or ask->each and ask->end; the time is CLOCK_MONOTONIC. */
weir_decision keyed_ask(weir_table *table, const weir_plan *plan, weir_key key, const struct ask *ask);
weir_decision keyed_peek(weir_table *table, const weir_plan *plan, weir_key key, uint64_t now_ns, int limit,
                         uint64_t cost);
void keyed_settle(weir_table *table, const weir_plan *plan, weir_key key, uint64_t now_ns, weir_decision *decision,
                  const uint64_t cost[], const uint64_t actual[], const uint64_t end[]);
void keyed_forget(weir_table *table, const weir_plan *plan, weir_key key, uint64_t now_ns);

/* ---- keyed_open.c ---- */

/* Writes down for the next boot how late it is. */
void keyed_keep_time(weir_table *table);

/* ---- keyed_state.c ---- */

enum { KEYED_WHAT_MAX = 96 };

/* [under the lock, of a file or memory that is not empty] Maps the header and reads it; checked: that nothing was used
   which it does not tell of.  0, or an errno value. */
int keyed_read_state(weir_table *table, bool checked, enum region_answer *answer);

/* Says why this weir cannot go on with what is there, and what to do. */
int keyed_refuse_state(const weir_table *table, enum region_answer answer, const char *path, weir_error *error);

/* ---- keyed_areas.c ---- */

uint64_t keyed_whole_pages(uint64_t bytes);

/* Memory for so many keys in slots, whole pages. */
uint64_t keyed_slots_bytes(uint64_t keys_max);

/* 0, or an errno value. */
int keyed_map_area(weir_table *table, unsigned area);

/* [under the mutex, or alone] All areas that are mapped; newest as it will be read from now on. */
void keyed_show_areas(weir_table *table, struct atom *newest, unsigned first);

/* [in a child of fork, before it locks anything] */
void keyed_after_fork(weir_table *table);

/* There are more areas than this process knows: maps them. */
void keyed_map_more(weir_table *table);

/* From now on areas before this one are not looked at. */
void keyed_leave_areas(weir_table *table, unsigned first);

/* ---- keyed_memory.c ---- */

/* 0, or says that so many bytes, for what the name says, are more than this process may take. */
int keyed_check_memory(uint64_t bytes, const char *what, weir_error *error);

/* ---- keyed_parts.c ---- */

/* [before anybody asks] From now on the table, of this path or NULL, may have parts.  The first is for all plans that
   say none; it gets room for so many keys. */
int keyed_parts_open(weir_table *table, const char *path, uint64_t keys, weir_error *error);

/* [before anybody asks] The same where somebody has made some beside this file. */
int keyed_parts_join(weir_table *table, const char *path, weir_error *error);
void keyed_parts_close(weir_table *table);

/* Those that other processes have made since. */
void keyed_parts_learn(weir_table *table);

/* How large a part for so many keys is. */
uint64_t keyed_part_bytes(const weir_table *table, uint64_t keys);

/* [one thread at a time] What plan->part is to be for this name; 0: it has no part yet. */
unsigned keyed_part_find(const weir_table *table, weir_key name);

/* [one thread at a time] Makes it, with room for so many keys.  0: see error. */
unsigned keyed_part_make(weir_table *table, weir_key name, uint64_t keys, weir_error *error);

/* ---- keyed_slots.c ---- */

/* Of the region's time; what lies within a unit is its beginning. */
static inline uint64_t keyed_units_of(const weir_table *table, uint64_t ns)
{
    return table->unit >= 0 ? ns << table->unit : ns >> -table->unit;
}

/* At least one limit, of one or several keys, all or nothing.  decision->limit counts in limits. */
void keyed_slots_ask(weir_table *table, const struct keyed_limit *limits, int count, const struct ask *ask,
                     uint64_t end[], weir_decision *decision, uint32_t *events);

/* Says that the slot of this limit, drained at that time, does not let it pass now. */
void keyed_slots_refuse(const weir_table *table, const struct keyed_limit *limit, uint64_t now_ns, uint64_t drained,
                        weir_decision *decision);
void keyed_slots_settle(weir_table *table, const struct keyed_limit *limits, int count, uint64_t now_ns,
                        const weir_decision *decision, const uint64_t actual[], const uint64_t end[]);
uint64_t keyed_slots_full_ns(const weir_table *table, const weir_decision *decision);

/* ---- keyed_one.c ---- */

/* One limit, in a slot. */
static inline bool keyed_is_one(const weir_table *table, const struct plan *plan)
{
    return !keyed_is_wide(table) && plan->count == 1 && plan->interval[0] != 0;
}

/* [keyed_is_one] Takes now or not at all, and counts it. */
void keyed_one_take(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns, uint64_t cost,
                    weir_decision *decision);

/* This key will be asked for soon: its lines are on their way.  Returns its hash; 0 where there is nothing to fetch. */
uint64_t keyed_announce(const weir_table *table, const weir_plan *plan, weir_key key);

/* weir_table_take_batch for keys whose hashes keyed_announce has returned. */
void keyed_take_announced(weir_table *table, weir_ask *asks, const uint64_t hash[], size_t count, uint64_t now_ns);

/* ---- keyed_rules.c ---- */

/* The part of a table that remembers rules: its name, and for how many keys it is as large. */
weir_key keyed_rules_name(void);
uint64_t keyed_rules_keys(void);

/* [one thread at a time] This is from now on the rule of the limit whose part the plan has; rows: the part above; 0:
   there is none, and used time is kept. */
void keyed_rules_enter(weir_table *table, struct plan *plan, unsigned rows);

/* The same of a plan that replaces the limit's for some keys: what they used under another one counts no more. */
void keyed_rules_of_override(const weir_table *table, struct plan *plan);

/* What this key used under the rules before is used under this one. */
void keyed_rules_carry(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns);

void keyed_rules_forget(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns);

/* ---- keyed_wide.c ---- */

/* How many keys are not as fresh ones; those under a lock that is not had within a ms are none. */
uint64_t keyed_wide_live(weir_table *table, struct keyed_part *part, uint64_t now_ns); /* part NULL: the table's own */

/* Words of a key's state, in a file or in memory. */
uint64_t keyed_wide_words(const struct plan *plan, bool kept);

/* For struct wide. */
bool keyed_lock(void *table, unsigned stripe);
void keyed_unlock(void *table, unsigned stripe);
bool keyed_lock_part(void *part, unsigned stripe);
void keyed_unlock_part(void *part, unsigned stripe);

uint64_t keyed_wide_hash(const weir_table *table, const struct plan *plan, weir_key key);
void keyed_wide_ask(weir_table *table, const struct plan *plan, weir_key key, const struct ask *ask,
                    weir_decision *decision, uint32_t *events);
void keyed_wide_peek_limit(weir_table *table, const struct plan *plan, weir_key key, int limit, const struct ask *ask,
                           weir_decision *decision);
bool keyed_wide_take_all(weir_table *table, weir_ask *asks, size_t count, uint64_t now_ns, uint32_t *events);
void keyed_wide_settle(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns,
                       const weir_decision *decision, const uint64_t cost[], const uint64_t actual[],
                       const uint64_t end[]);
void keyed_wide_forget(weir_table *table, const struct plan *plan, weir_key key);
uint64_t keyed_wide_full_ns(const weir_table *table, const struct plan *plan, const weir_decision *decision);

/* ---- keyed_stats.c ---- */

void keyed_count(weir_table *table, weir_key key, const weir_decision *decision, uint32_t events);

/* One that somebody else refused, for weir_table_read_top alone. */
void keyed_count_refusal(weir_table *table, weir_key key, const weir_decision *decision);

/* So many calls that were granted, and so many permits, without events. */
void keyed_count_granted(weir_table *table, uint64_t calls, uint64_t permits);

/* So many new keys found no free slot. */
uint64_t keyed_found_full(const weir_table *table);

/* Memory is looked after a little at a time, by those who ask. */
void keyed_maintain(weir_table *table);

/* Looks at all slots, at the region's time. */
void keyed_rest(weir_table *table, uint64_t now_ns) __attribute__((cold));

/* Before each look into a slot.  Times wrap, so one that nobody has looked at for long may look as if it lay ahead; and
   a table of which little is asked is not swept by those who ask. */
static inline void keyed_keep_rested(weir_table *table, uint64_t now_ns)
{
    const uint64_t rested_ns = atom_load_acquire(table->rested);
    if (now_ns - rested_ns + table->rest_ns > 2 * table->rest_ns) keyed_rest(table, now_ns);
}

#endif
