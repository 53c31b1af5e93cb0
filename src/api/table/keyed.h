/* SPDX-License-Identifier: MIT
   The inside of a weir_table: memory (host), its content (share), a key's limits (core).

       open.c         opening, joining, closing          take.c   calls: time and key -> slots or wide -> tally
       areas.c        mapping and growing                slots.c  limits by gcra, 16 bytes a key
       state.c        a file that is there already       one.c    one such limit, and many keys
       parts.c        memory for one limit's keys        wide.c   all other algorithms, and their locks
       memory.c       how much there is                  rules.c  a named limit gets another rule
       fits.c         which plans it can hold            stats.c  counting, sweeping, reporting
       wait.c         waiting for a key                  hold.c   slots that processes hold
       weights.c      who gets what is idle
       ../address.c   keys */
#ifndef WEIR_API_TABLE_KEYED_H
#define WEIR_API_TABLE_KEYED_H

#include <weir/weir.h>

#include "api/error.h"
#include "api/turns.h"
#include "core/num.h"
#include "core/slot.h"
#include "core/tenants.h"
#include "host/clock.h"
#include "host/map.h"
#include "host/thread.h"
#include "plan/plan.h"
#include "share/ask.h"
#include "share/hash/hash_lanes.h"
#include "share/line.h"
#include "share/table/region.h"
#include "share/table/table.h"
#include "share/table/top.h"
#include "share/table/wide.h"

/* Half of their buckets are at most 2^32: share/table/table.h. */
#define KEYED_KEYS_MAX (UINT64_C(1) << 34)

/* The locks of wide slots in the file; the byte before them is for making, growing and clocks. */
enum { LOCK_REGION = 0, LOCK_STRIPES = 1, LOCK_OWNERS = 1 << 20 /* behind those of all parts */ };
#define KEYED_WAIT_NS UINT64_C(50000000)        /* for the lock of a stripe, unless the options say otherwise */
#define KEYED_OPEN_WAIT_NS UINT64_C(2000000000) /* for the lock that a file is opened under */
/* A table of so many bytes grows beside: 2^16 buckets in each half tell the whole hash of a key that is in one. */
#define KEYED_BESIDE_FROM (UINT64_C(1) << 23)
#define KEYED_NO_ARRIVALS "arrivals=poisson paces the starts of one limiter; a table has none: leave it out"
enum { KEYED_PARTS_MAX = 2047 };
enum { KEYED_LIMITS_MAX = WEIR_ASKS_MAX * WEIR_LIMITS_MAX };

/* Each is written by one thread; the last one is shared by threads without an index. */
struct keyed_tally {
    struct atom calls, granted, denied, reclaimed, full, displaced, moved;
    uint64_t alone[1];
};

/* The areas that this process knows.  When there are more, the whole is replaced, so that no thread reads half of it;
   the old one is kept until the table is closed, since a thread may still be reading it.  One is made at the beginning,
   for each further area, for each that is left, and when the header is no longer valid. */
enum { KEYED_SHOWN_MAX = 2 * REGION_AREAS_MAX };

/* The part of one limit, for keys that other limits' keys cannot displace: with 16-byte slots or wide ones. */
struct keyed_part {
    uint64_t name, bytes;
    void *memory;
    struct table_part slots;
    struct atom in_use; /* of slots in memory; a file has its own */
    struct wide wide;
    struct atom stripe[WIDE_STRIPES];
    weir_table *table;
    unsigned number;
};

struct weir_table {
    /* Read by every call, never written. */
    weir_clock clock;
    int unit; /* a unit is 2^-unit ns */
    struct secret secret;
    bool lanes;           /* the processor has them, for hash_eight */
    uint64_t offset_ns;   /* CLOCK_MONOTONIC + this = the time in there */
    int64_t namespace_ns; /* CLOCK_MONOTONIC + this = the machine's; 0 without a file, which no other namespace sees */
    uint64_t epoch_ns;    /* unix time when the time in there was 0 */
    uint64_t longest;     /* units */
    struct atom areas;    /* the address of the current `shown` */
    struct atom *rested;  /* in the header; after rest_ns all slots are checked again */
    uint64_t rest_ns;
    void *header;
    struct wide wide;         /* memory NULL: the table has 16-byte slots */
    struct keyed_part **part; /* NULL: no parts */
    struct atom parts;        /* so many */
    struct top top;
    void *top_memory;  /* NULL: no counts */
    weir_plan weights; /* [of wide slots] a permit of it is a ns: see weights.c */
    uint32_t top_keys; /* how many are reported */

    _Alignas(SHARE_LINE) struct keyed_tally tally[HOST_SLOTS + 1];

    struct atom own_newest;    /* for struct table, if the header is no longer valid */
    struct atom swept;         /* buckets swept, of all areas one after the other */
    struct atom swept_from_ns; /* when the first of them was swept */
    struct atom kept_ns;       /* when the time was last noted for the next boot */
    struct atom forks;         /* forks of the process when the file was opened: wide slots, see wide.c */
    struct atom stripe[WIDE_LOCKS];
    uint64_t owner;            /* this process, as slots that it holds name it; 0: it has no mark, see hold.c */
    uint64_t wait_ns;          /* the longest wait for a lock */
    struct turns turns;        /* threads that wait for slots of a key */
    struct atom stuck;         /* how often a lock could not be had */
    struct host_mutex mutex;   /* held while mapping */
    struct host_mutex growing; /* held while growing, for long */
    struct host_region region;
    struct region_view view;
    struct table shown[KEYED_SHOWN_MAX];
    unsigned shown_count;
    bool made; /* by this process: nothing that was there before belongs to it */
    struct host_region parts_region;
    void *parts_header;
    struct atom *parts_directory;
    struct atom keys_max, bytes; /* of the newest area */
    void *mapped[REGION_AREAS_MAX];
};

/* What a call of tenants with weights finds, in units of its parent's slots; of wide ones in ns. */
struct keyed_lent {
    int limit;      /* of the parent: borrowing needs room for so many permits more; -1: there are no weights */
    uint64_t spare; /* permits */
    size_t tenant;  /* whose ask has the weight */
    uint64_t weight, cost, lead, finish;
    struct fair fair;
};

/* One limit of one key. */
struct keyed_limit {
    const struct rule *rule;
    uint64_t interval, hash, cost;
    int index; /* in its plan */
    const struct table_part *part;
};

/* The part where this plan's keys may be too; NULL: none. */
static inline struct keyed_part *keyed_part_of(const weir_table *table, const struct plan *plan)
{
    const uint64_t number = plan->part != 0 ? plan->part - 1 : 0;
    return number < atom_load_acquire(&table->parts) ? table->part[number] : NULL;
}

static inline uint64_t keyed_salt(uint32_t change, uint64_t limit)
{
    return (uint64_t)change << 32 | limit;
}

/* The identity of a key for one limit, another one after each change of its rule. */
static inline uint64_t keyed_identity(const weir_table *table, weir_key key, uint32_t change, uint64_t limit)
{
    return hash_key(&table->secret, key.bytes, key.size, keyed_salt(change, limit));
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

/* ---- take.c: as in weir.h, with the time as an argument: a server reads the clock once per iteration ---- */

/* ask->cost, or ask->each and ask->end; the time is CLOCK_MONOTONIC. */
weir_decision keyed_ask(weir_table *table, const weir_plan *plan, weir_key key, const struct ask *ask);
weir_decision keyed_peek(weir_table *table, const weir_plan *plan, weir_key key, uint64_t now_ns, int limit,
                         uint64_t cost);
void keyed_settle(weir_table *table, const weir_plan *plan, weir_key key, uint64_t now_ns, weir_decision *decision,
                  const uint64_t cost[], const uint64_t actual[], const uint64_t end[]);
void keyed_forget(weir_table *table, const weir_plan *plan, weir_key key, uint64_t now_ns);

/* ---- hold.c ---- */

/* False: no slot is held under this id any more, and nothing was done. */
bool keyed_hold(weir_table *table, const weir_plan *plan, weir_key key, uint64_t now_ns, uint64_t id, enum hold hold);

/* ---- open.c ---- */

/* Notes the time for the next boot. */
void keyed_keep_time(weir_table *table);

/* ---- state.c ---- */

enum { KEYED_WHAT_MAX = 96 };

/* [under the lock, of a file or memory that is not empty] Maps the header and reads it.  checked: also checks that
   nothing beyond what it describes was used.  0, or an errno value. */
int keyed_read_state(weir_table *table, bool checked, enum region_answer *answer);

/* Fills the error: why this version cannot use the file, and what to do. */
int keyed_refuse_state(const weir_table *table, enum region_answer answer, const char *path, weir_error *error);

/* ---- areas.c ---- */

uint64_t keyed_whole_pages(uint64_t bytes);

/* The memory for this many keys in 16-byte slots, whole pages. */
uint64_t keyed_slots_bytes(uint64_t keys_max);

/* 0, or an errno value. */
int keyed_map_area(weir_table *table, unsigned area);

/* [under the mutex, or alone] Publishes all areas that are mapped; `newest` is read from now on. */
void keyed_show_areas(weir_table *table, struct atom *newest, unsigned first);

/* [in a child of fork, before it locks anything] */
void keyed_after_fork(weir_table *table);

/* Maps the areas that this process does not know yet. */
void keyed_map_more(weir_table *table);

/* The first of the areas that hold anything. */
static inline unsigned keyed_first_area(const struct table *slots)
{
    return (unsigned)least(slots->first, slots->home);
}

/* Asks the areas, with all that other processes have added. */
static inline void keyed_ask_table(weir_table *table, const struct table_question *question,
                                   struct table_answer *answer)
{
    for (;;) {
        table_ask(keyed_slots(table), question, answer);
        if (answer->verdict != TABLE_UNKNOWN) return;
        keyed_map_more(table);
    }
}

/* From now on areas before this one are not searched. */
void keyed_leave_areas(weir_table *table, unsigned first);

/* ---- memory.c ---- */

/* 0, or an error that `what` needs more bytes than this process may use. */
int keyed_check_memory(uint64_t bytes, const char *what, weir_error *error);

/* ---- parts.c ---- */

/* [before the first call] From now on the table may have parts; `path` is the table's, or NULL.  The first part is for
   all plans that name none, with room for this many keys. */
int keyed_parts_open(weir_table *table, const char *path, uint64_t keys, weir_error *error);

/* [before the first call] The same if another process has made parts beside this file. */
int keyed_parts_join(weir_table *table, const char *path, weir_error *error);
void keyed_parts_close(weir_table *table);

/* Adds the parts that other processes have made since. */
void keyed_parts_learn(weir_table *table);

/* The size of a part for this many keys. */
uint64_t keyed_part_bytes(const weir_table *table, uint64_t keys);

/* [one thread at a time] The value of plan->part for this name; 0: it has no part yet. */
unsigned keyed_part_find(const weir_table *table, weir_key name);

/* [one thread at a time] Makes a part with room for this many keys.  0: see error. */
unsigned keyed_part_make(weir_table *table, weir_key name, uint64_t keys, weir_error *error);

/* ---- slots.c ---- */

/* In units, of the region's time, rounded down. */
static inline uint64_t keyed_units_of(const weir_table *table, uint64_t ns)
{
    return table->unit >= 0 ? ns << table->unit : ns >> -table->unit;
}

/* Decides at least one limit, of one or several keys, all or nothing.  decision->limit is an index into limits. */
void keyed_slots_ask(weir_table *table, const struct keyed_limit *limits, int count, const struct ask *ask,
                     uint64_t end[], weir_decision *decision, uint32_t *events);

/* weir_table_take_all; the limits of ask i are those from first[i] up to first[i + 1]. */
bool keyed_slots_take_all(weir_table *table, const struct keyed_limit limits[], const int first[], weir_ask *asks,
                          size_t count, weir_instant now, const struct keyed_lent *lent, uint32_t *events);

/* Fills the refusal by a slot with this drained time. */
void keyed_slots_refuse(const weir_table *table, const struct keyed_limit *limit, uint64_t now_ns, uint64_t drained,
                        weir_decision *decision);
void keyed_slots_settle(weir_table *table, const struct keyed_limit *limits, int count, uint64_t now_ns,
                        const weir_decision *decision, const uint64_t actual[], const uint64_t end[]);
uint64_t keyed_slots_full_ns(const weir_table *table, const weir_decision *decision);

/* ---- one.c ---- */

/* True for a plan of one limit that is kept in a 16-byte slot. */
static inline bool keyed_is_one(const weir_table *table, const struct plan *plan)
{
    return !keyed_is_wide(table) && plan->count == 1 && plan->interval[0] != 0;
}

/* [keyed_is_one] Takes now or not at all, and counts the call. */
void keyed_one_take(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns, uint64_t cost,
                    weir_decision *decision);

/* weir_table_take_batch; hash: what weir_table_prefetch returns for each. */
void keyed_take_batch(weir_table *table, weir_ask *asks, uint64_t hash[], size_t count, uint64_t now_ns);

/* ---- rules.c ---- */

/* The name of the part that keeps the rules of named limits, and the number of keys that it is as large as. */
weir_key keyed_rules_name(void);
uint64_t keyed_rules_keys(void);

/* [one thread at a time] Records that this is from now on the rule of the limit whose part the plan has.  rows: the
   part above; 0: there is none, and usage is carried over as time. */
void keyed_rules_enter(weir_table *table, struct plan *plan, unsigned rows);

/* The same for a plan that replaces the limit's for some keys: usage under another one no longer counts. */
void keyed_rules_of_override(const weir_table *table, struct plan *plan);

/* Carries this key's usage under earlier rules over to this one. */
void keyed_rules_carry(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns);

void keyed_rules_forget(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns);

/* ---- wide.c ---- */

/* The number of keys whose state is not fresh; keys under a lock that is not had within a ms are not counted. */
uint64_t keyed_wide_live(weir_table *table, struct keyed_part *part, uint64_t now_ns);

/* The words of a key's state, in a file or in memory. */
uint64_t keyed_wide_words(const struct plan *plan, bool kept);

/* The locks for struct wide. */
bool keyed_lock(void *table, unsigned stripe);
void keyed_unlock(void *table, unsigned stripe);
bool keyed_lock_part(void *part, unsigned stripe);
void keyed_unlock_part(void *part, unsigned stripe);

uint64_t keyed_wide_hash(const weir_table *table, const struct plan *plan, weir_key key);
void keyed_wide_ask(weir_table *table, const struct plan *plan, weir_key key, const struct ask *ask,
                    weir_decision *decision, uint32_t *events);
void keyed_wide_peek_limit(weir_table *table, const struct plan *plan, weir_key key, int limit, const struct ask *ask,
                           weir_decision *decision);
bool keyed_wide_take_all(weir_table *table, weir_ask *asks, size_t count, uint64_t now_ns,
                         const struct keyed_lent *lent, uint32_t *events);
void keyed_wide_settle(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns,
                       const weir_decision *decision, const uint64_t cost[], const uint64_t actual[],
                       const uint64_t end[]);
/* Marks this process as one that lives; of wide slots, also in a child of fork. */
void keyed_mark_process(weir_table *table);
uint64_t keyed_owner(void *owners);
bool keyed_owner_lives(void *owners, uint64_t owner);

/* decide_hold; what it returns. */
uint64_t keyed_wide_hold(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns, uint64_t id,
                         enum hold hold);
void keyed_wide_forget(weir_table *table, const struct plan *plan, weir_key key);
uint64_t keyed_wide_full_ns(const weir_table *table, const struct plan *plan, const weir_decision *decision);

/* ---- weights.c ---- */

/* Before a call: false if it has no weight.  After one that borrowed. */
bool keyed_lend(weir_table *table, const weir_ask asks[], size_t count, uint64_t now_ns, struct keyed_lent *lent);
void keyed_count_lent(weir_table *table, const weir_ask asks[], size_t count, uint64_t now_ns,
                      const struct keyed_lent *lent);

/* ---- wait.c ---- */

/* Slots of this key were given back. */
void keyed_wake(weir_table *table, const struct plan *plan, weir_key key);

/* ---- stats.c ---- */

void keyed_count(weir_table *table, weir_key key, const weir_decision *decision, uint32_t events);

/* Counts a refusal by another party, only for weir_table_read_top. */
void keyed_count_refusal(weir_table *table, weir_key key, const weir_decision *decision);

/* Counts granted calls and permits, without events. */
void keyed_count_granted(weir_table *table, uint64_t calls, uint64_t permits);

/* What weir_table_read_stats tells, in two parts: how many keys are live, for which each slot is looked at, and what is
   read at once. */
uint64_t keyed_live(weir_table *table);
weir_table_stats keyed_read_counters(const weir_table *table);

/* The number of new keys that found no free slot. */
uint64_t keyed_found_full(const weir_table *table);

/* Sweeps a little of the memory; callers share this work. */
void keyed_maintain(weir_table *table);

/* Checks all slots, at the region's time. */
void keyed_rest(weir_table *table, uint64_t now_ns) __attribute__((cold));

/* Called before each access to a slot.  Times wrap, so a time that was not read for long may look as if it were ahead;
   and a table with few calls is not swept by its callers. */
static inline void keyed_keep_rested(weir_table *table, uint64_t now_ns)
{
    const uint64_t rested_ns = atom_load_acquire(table->rested);
    if (now_ns - rested_ns + table->rest_ns > 2 * table->rest_ns) keyed_rest(table, now_ns);
}

#endif
