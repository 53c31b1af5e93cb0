/* SPDX-License-Identifier: MIT
   Where the service keeps what was used.

       limits that a 16-byte slot can say      ->  slots       (gcra, and lists of it)
       all others, by the size of their state  ->  wide[size]  (64 bytes, 128 ... 1 MiB; made when first needed)

   A limit with a name has a part of its table for its own keys, and all limits without one share a part: so each gets
   new keys in, however many there are of another.  FILE.parts, FILE.wide-64.parts ...: table/parts.c.

   One bound is for all.  A table of wide slots gets no more than a third of what is left of it, so that there is some
   for the next; what finds too little left is refused.

   A table is found without a lock; the lock is for making one.  What is made stays until all are closed, so that who
   has found one may keep it.

   A limit whose state grows into another size (a log of many more events) begins fresh there, as one does whose
   algorithm changes; all other changes find what was used.

   A plan that is given a table fits it; memory stays within options. */
#include "serve/policy/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "api/table/keyed.h"
#include "host/map.h"
#include "host/memory.h"
#include "host/thread.h"
#include "share/atomic.h"
#include "share/table/wide.h"

static const uint64_t KEYS_DEFAULT = 1000000;
static const uint64_t SETTLE_DEFAULT_NS = UINT64_C(900000000000), SETTLED_LEAST = 1 << 16;
static const uint64_t WIDE_BYTES_DEFAULT = UINT64_C(256) << 20;
#define LOCK_WAIT_NS UINT64_C(5000000) /* all sessions of a worker wait so long, once for each lock that is kept */

enum { WIDE_TABLES_DEFAULT = 4, SHARE_OF_ONE = 3, COMMON_PART = 8 };

_Static_assert(TABLES_WIDE_MIN << (TABLES_WIDE_SIZES - 1) == TABLES_WIDE_MAX, "from the least to the largest");

struct tables {
    weir_table *slots;
    struct settled *settled;
    struct atom wide[TABLES_WIDE_SIZES]; /* addresses; 0: not made yet */
    struct host_mutex mutex;             /* around making one, or a part */
    struct atom used, refused;           /* as struct tables_memory has it; used is written under the mutex */
    struct tables_options options;
    char *state;
};

static weir_table *wide_at(const struct tables *tables, unsigned size)
{
    return (weir_table *)(uintptr_t)atom_load_acquire(&tables->wide[size]);
}

/* ---- all of them ---- */

static int full(struct tables *tables, weir_error *error)
{
    char words[sizeof error->message];
    atom_add(&tables->refused, 1);
    snprintf(words, sizeof words,
             "the memory of the tables is full: of %" PRIu64 " MiB (table: memory in weir.yaml) too little is left for "
             "this limit; give it more, or take a limit by gcra or algorithm=sliding-window",
             tables->options.memory >> 20);
    return api_fail(error, WEIR_ENOMEM, words);
}

/* [under the mutex, or alone] */
static unsigned make_part(struct tables *tables, weir_table *table, weir_key name, uint64_t keys, weir_error *error)
{
    const uint64_t bytes = keyed_part_bytes(table, keys), used = atom_load(&tables->used);
    if (bytes > tables->options.memory - used) {
        full(tables, error);
        return 0;
    }
    const unsigned part = keyed_part_make(table, name, keys, error);
    if (part != 0) atom_store(&tables->used, used + bytes);
    return part;
}

/* [under the mutex, or alone] What an earlier run left is counted whatever it is. */
static int open_parts(struct tables *tables, weir_table *table, const char *path, weir_error *error)
{
    const int failed = keyed_parts_open(table, path, atom_load(&table->keys_max) / COMMON_PART, error);
    if (failed != 0) return failed;
    const uint64_t used = atom_load(&tables->used) + keyed_read_counters(table).bytes;
    atom_store(&tables->used, least(used, tables->options.memory));
    return 0;
}

static int open_slots(struct tables *tables, weir_error *error)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = tables->options.keys_max;
    options.when_full = tables->options.when_full;
    options.top = tables->options.top;
    options.path = tables->state;
    options.sharing = tables->state != NULL ? WEIR_JOIN_OR_CREATE : WEIR_PRIVATE;
    if (keyed_slots_bytes(options.keys_max) > tables->options.memory) return full(tables, error);
    const int failed = weir_table_open(&tables->slots, &options, error);
    return failed != 0 ? failed : open_parts(tables, tables->slots, tables->state, error);
}

uint64_t tables_number(const weir_table *table)
{
    return hash_key(&table->secret, "", 0, UINT64_MAX);
}

static struct tables_options with_defaults(struct tables_options options)
{
    if (options.keys_max == 0) options.keys_max = KEYS_DEFAULT;
    if (options.wide_bytes == 0) options.wide_bytes = WIDE_BYTES_DEFAULT;
    if (options.settle_ns == 0) options.settle_ns = SETTLE_DEFAULT_NS;
    if (options.settled_max == 0) {
        options.settled_max = options.keys_max > SETTLED_LEAST ? options.keys_max : SETTLED_LEAST;
    }
    if (options.memory != 0) return options;
    const uint64_t slots = 2 * keyed_slots_bytes(options.keys_max), half = host_memory_available().available / 2;
    options.memory = least(slots + WIDE_TABLES_DEFAULT * options.wide_bytes, most(slots, half));
    return options;
}

/* Receipts count their time by the table's clock: one that begins anew has another number, and they end with it. */
static int open_settled(struct tables *tables, weir_error *error)
{
    char *path = NULL;
    if (tables->state != NULL) {
        const size_t room = strlen(tables->state) + sizeof ".receipts";
        path = malloc(room);
        if (path == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for the tables");
        snprintf(path, room, "%s.receipts", tables->state);
    }
    const int failed = settled_open(&tables->settled,
                                    &(struct settled_options){.path = path,
                                                              .window_ns = tables->options.settle_ns,
                                                              .receipts = tables->options.settled_max,
                                                              .table = tables_number(tables->slots)},
                                    error);
    free(path);
    return failed;
}

struct settled *tables_settled(const struct tables *tables)
{
    return tables != NULL ? tables->settled : NULL;
}

void tables_close(struct tables *tables)
{
    if (tables == NULL) return;
    for (unsigned size = 0; size < TABLES_WIDE_SIZES; size++) weir_table_close(wide_at(tables, size));
    settled_close(tables->settled);
    weir_table_close(tables->slots);
    host_mutex_close(&tables->mutex);
    free(tables->state);
    free(tables);
}

/* ---- wide slots ---- */

static uint64_t state_bytes(unsigned size)
{
    return (uint64_t)TABLES_WIDE_MIN << size;
}

/* A table is told its slots' length by a plan that needs it: here the longest log that goes into them. */
static bool plan_for(uint64_t bytes, weir_plan *plan)
{
    char text[64];
    uint64_t fits = 0;
    for (uint64_t step = bytes; step != 0; step /= 2) {
        snprintf(text, sizeof text, "%" PRIu64 "/s algorithm=sliding-log", fits + step);
        if (weir_plan_parse(plan, text, WEIR_ADMIT, NULL) == 0 && weir_state_size(plan) <= bytes) fits += step;
    }
    snprintf(text, sizeof text, "%" PRIu64 "/s algorithm=sliding-log", fits);
    return weir_plan_parse(plan, text, WEIR_ADMIT, NULL) == 0;
}

/* So many keys as there is memory for where so much is left; 0: not even one. */
static uint64_t keys_for(const struct tables_options *options, uint64_t left, uint64_t bytes)
{
    const uint64_t bound = least(options->wide_bytes, left / SHARE_OF_ONE);
    uint64_t keys = 0, slots = 0, slot_words = 0, highest = 1;
    while (highest <= options->keys_max / 2) highest *= 2;
    for (uint64_t step = highest; step != 0; step /= 2) {
        const uint64_t more = keys + step;
        if (more > options->keys_max) continue;
        const uint64_t needed = wide_bytes(more, bytes / sizeof(uint64_t), options->state != NULL, &slots, &slot_words);
        if (needed <= bound) keys = more;
    }
    return keys;
}

/* The least that is enough, TABLES_WIDE_SIZES where none is. */
static unsigned size_for(const struct tables_options *options, const weir_plan *plan)
{
    const uint64_t bytes = keyed_wide_words(plan_inside_const(plan), options->state != NULL) * sizeof(uint64_t);
    unsigned size = 0;
    while (size < TABLES_WIDE_SIZES && state_bytes(size) < bytes) size++;
    return size;
}

static int too_large(weir_error *error)
{
    return api_fail(error, WEIR_EUNSUPPORTED,
                    "its state takes more than 1 MiB a key; take a shorter log, or algorithm=sliding-window, which "
                    "needs three words and is nearly the same");
}

static int too_little_memory(weir_error *error)
{
    return api_fail(error, WEIR_EUNSUPPORTED,
                    "the state of one key takes more than all of wide_memory; give that more, or take a shorter log "
                    "or algorithm=sliding-window");
}

int tables_could_hold(const struct tables_options *options, const weir_plan *plan, weir_error *error)
{
    const struct tables_options chosen = with_defaults(*options);
    const unsigned size = size_for(options, plan);
    if (size == TABLES_WIDE_SIZES) return too_large(error);
    if (size > 0 && keys_for(&chosen, chosen.memory, state_bytes(size)) == 0) return too_little_memory(error);
    return 0;
}

static int open_wide(struct tables *tables, uint64_t bytes, const char *path, weir_table **table, weir_error *error)
{
    weir_plan plan;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = keys_for(&tables->options, tables->options.memory - atom_load(&tables->used), bytes);
    options.when_full = tables->options.when_full;
    options.top = tables->options.top;
    options.path = path;
    options.sharing = path != NULL ? WEIR_JOIN_OR_CREATE : WEIR_PRIVATE;
    options.plan = &plan;
    options.lock_wait_ns = LOCK_WAIT_NS;
    options.holds_for_others = true; /* clients hold slots: a restart of the service ends none of them */
    if (keys_for(&tables->options, tables->options.memory, bytes) == 0) return too_little_memory(error);
    if (options.keys_max == 0 && (path == NULL || !host_exists(path))) return full(tables, error);
    if (!plan_for(bytes, &plan)) return api_fail(error, WEIR_EUNSUPPORTED, "no plan has a state of this size");
    int failed = weir_table_open(table, &options, error);
    if (failed == 0) failed = open_parts(tables, *table, path, error);
    if (failed != 0) weir_table_close(*table);
    return failed;
}

/* FILE.wide-64, of malloc; NULL: no memory. */
static char *wide_path(const struct tables *tables, unsigned size)
{
    const size_t room = strlen(tables->state) + sizeof ".wide-" + 20;
    char *path = malloc(room);
    if (path != NULL) snprintf(path, room, "%s.wide-%" PRIu64, tables->state, state_bytes(size));
    return path;
}

/* [under the mutex] */
static weir_table *make_wide(struct tables *tables, unsigned size, weir_error *error)
{
    weir_table *table = wide_at(tables, size);
    const uint64_t bytes = state_bytes(size);
    char *path = NULL;
    if (table != NULL) return table;
    if (tables->state != NULL) {
        path = wide_path(tables, size);
        if (path == NULL) {
            api_fail(error, WEIR_ENOMEM, "no memory for the tables");
            return NULL;
        }
    }
    if (open_wide(tables, bytes, path, &table, error) != 0) table = NULL;
    free(path);
    atom_store_release(&tables->wide[size], (uintptr_t)table);
    return table;
}

/* What an earlier run left is opened before anybody asks: a file that cannot be gone on with is for the operator to
   see, not for a client. */
static int join_wide(struct tables *tables, weir_error *error)
{
    bool joined = true;
    for (unsigned size = 0; joined && size < TABLES_WIDE_SIZES; size++) {
        char *path = wide_path(tables, size);
        if (path == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for the tables");
        if (host_exists(path)) joined = make_wide(tables, size, error) != NULL;
        free(path);
    }
    return joined ? 0 : error->code;
}

int tables_open(struct tables **owned, const struct tables_options *options, weir_error *error)
{
    struct tables *tables = calloc(1, sizeof *tables);
    *owned = NULL;
    if (tables == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for the tables");
    host_mutex_open(&tables->mutex);
    tables->options = with_defaults(*options);
    if (options->memory != 0 && keyed_check_memory(options->memory, "table: memory", error) != 0) {
        tables_close(tables);
        return WEIR_ENOMEM;
    }
    if (options->state != NULL) tables->state = strdup(options->state);
    const bool lacking = options->state != NULL && tables->state == NULL;
    int failed = lacking ? api_fail(error, WEIR_ENOMEM, "no memory for the tables") : open_slots(tables, error);
    if (failed == 0) failed = open_settled(tables, error);
    if (failed == 0 && tables->state != NULL) failed = join_wide(tables, error);
    if (failed == 0) *owned = tables;
    else tables_close(tables);
    return failed;
}

weir_table *tables_for(struct tables *tables, const weir_plan *plan, weir_error *error)
{
    if (weir_table_fits(tables->slots, plan, NULL) == 0) return tables->slots;
    const unsigned size = size_for(&tables->options, plan);
    if (size == TABLES_WIDE_SIZES) {
        too_large(error);
        return NULL;
    }
    weir_table *table = wide_at(tables, size);
    if (table != NULL) return table;
    host_lock(&tables->mutex);
    table = make_wide(tables, size, error);
    host_unlock(&tables->mutex);
    return table;
}

unsigned tables_part(struct tables *tables, weir_table *table, weir_key name, uint64_t keys, unsigned limits,
                     weir_error *error)
{
    const uint64_t fair = atom_load(&table->keys_max) / 2 / most(limits, 1) + 1;
    host_lock(&tables->mutex);
    unsigned part = keyed_part_find(table, name);
    if (part == 0) part = make_part(tables, table, name, keys != 0 ? keys : fair, error);
    host_unlock(&tables->mutex);
    return part;
}

void tables_enter(struct tables *tables, weir_table *table, weir_plan *plan)
{
    weir_error ignored;
    const weir_key name = keyed_rules_name();
    if (keyed_is_wide(table)) return;
    host_lock(&tables->mutex);
    unsigned rows = keyed_part_find(table, name);
    if (rows == 0) rows = make_part(tables, table, name, keyed_rules_keys(), &ignored);
    keyed_rules_enter(table, plan_inside(plan), rows);
    host_unlock(&tables->mutex);
}

weir_table *tables_usual(const struct tables *tables)
{
    return tables->slots;
}

/* ---- told ---- */

struct tables_memory tables_read_memory(const struct tables *tables)
{
    if (tables == NULL) return (struct tables_memory){0, 0, 0};
    return (struct tables_memory){atom_load(&tables->used), tables->options.memory, atom_load(&tables->refused)};
}

uint64_t tables_keys_max(const struct tables *tables)
{
    return tables != NULL ? tables->options.keys_max : KEYS_DEFAULT;
}

uint64_t tables_live(struct tables *tables)
{
    uint64_t live = keyed_live(tables->slots);
    for (unsigned size = 0; size < TABLES_WIDE_SIZES; size++) {
        if (wide_at(tables, size) != NULL) live += keyed_live(wide_at(tables, size));
    }
    return live;
}

weir_table_stats tables_read_counters(const struct tables *tables)
{
    weir_table_stats sum = keyed_read_counters(tables->slots);
    for (unsigned size = 0; size < TABLES_WIDE_SIZES; size++) {
        if (wide_at(tables, size) == NULL) continue;
        const weir_table_stats more = keyed_read_counters(wide_at(tables, size));
        sum.keys_max += more.keys_max;
        sum.bytes += more.bytes;
        sum.granted += more.granted;
        sum.denied += more.denied;
        sum.reclaimed += more.reclaimed;
        sum.full += more.full;
        sum.displaced += more.displaced;
        sum.moved += more.moved;
        sum.stuck += more.stuck;
    }
    return sum;
}

static bool same_key(const weir_top *one, const weir_top *other)
{
    const size_t size = one->key_size < WEIR_TOP_KEY_SIZE ? one->key_size : WEIR_TOP_KEY_SIZE;
    return one->key_size == other->key_size && memcmp(one->key, other->key, size) == 0;
}

/* Two long keys that are the same as far as they are told may be two: they are left apart. */
static void join(weir_top *all, size_t *count, const weir_top *more)
{
    for (size_t i = 0; more->key_size <= WEIR_TOP_KEY_SIZE && i < *count; i++) {
        if (!same_key(&all[i], more)) continue;
        all[i].denied += more->denied;
        all[i].over += more->over;
        return;
    }
    all[(*count)++] = *more;
}

static int more_refused(const void *left, const void *right)
{
    const weir_top *one = left, *other = right;
    return (one->denied < other->denied) - (one->denied > other->denied);
}

size_t tables_read_top(struct tables *tables, weir_top *top, size_t count)
{
    const size_t each = tables->options.top;
    size_t found = 0, read = 0;
    weir_top *all = calloc((TABLES_WIDE_SIZES + 2) * each + 1, sizeof *all);
    if (all == NULL) return 0;
    weir_top *more = all + (TABLES_WIDE_SIZES + 1) * each;
    found = weir_table_read_top(tables->slots, all, each);
    for (unsigned size = 0; size < TABLES_WIDE_SIZES; size++) {
        if (wide_at(tables, size) == NULL) continue;
        read = weir_table_read_top(wide_at(tables, size), more, each);
        for (size_t i = 0; i < read; i++) join(all, &found, &more[i]);
    }
    qsort(all, found, sizeof *all, more_refused);
    if (found > count) found = count;
    memcpy(top, all, found * sizeof *top);
    free(all);
    return found;
}
