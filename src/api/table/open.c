/* SPDX-License-Identifier: MIT
   Making, joining and closing a table.

       | header, a page | area | area, once it has grown | ...

   A process that opens a file holds its lock while it checks whether the file was made already; so it is made once, and
   is complete for all others.  Memory without a name has the same layout.  Existing content is never overwritten.  When
   opening fails, a new file stays, with nothing in it: another process may have opened it by now. */
#include <string.h>

#include "api/sized.h"
#include "api/table/keyed.h"
#include "core/num.h"
#include "core/slot.h"
#include "host/lanes.h"
#include "plan/write.h"

#define LONGEST_WAIT_NS UINT64_C(3600000000000) /* an hour counts as for ever */
enum {
    KEYED_UNIT_MAX = 4,
    TOP_COUNTERS_A_KEY = 4,
    TOP_MAX = TOP_COUNTERS_MAX / TOP_COUNTERS_A_KEY,
    MODE_OWNER = 0600, /* a process that cannot open it again cannot use it */
    KEYED_MODE_BITS = 0666
};
static const uint64_t KEYS_DEFAULT = 1000000;
static const uint64_t LONGEST_DEFAULT_NS = UINT64_C(32) * 24 * 3600 * 1000000000;
static const uint64_t LONGEST_MAX_NS = UINT64_C(1) << 60;
static const uint64_t LONGEST_UNITS_MAX = UINT64_C(1) << 53;

_Static_assert((int)REGION_AREAS_MAX == (int)TABLE_AREAS_MAX, "the header counts the table's areas");
_Static_assert(sizeof(struct table_slot) == 16, "as the header says");

/* ---- the options ---- */

static int check_table_options(const weir_table_options *options, weir_error *error)
{
    if (options->keys_max > KEYED_KEYS_MAX) {
        return api_fail(error, WEIR_EINVAL, "options.keys_max: expected up to 17,179,869,184 keys, or 0 for 1,000,000");
    }
    if ((unsigned)options->sharing > WEIR_PRIVATE) {
        return api_fail(error, WEIR_EINVAL, "options.sharing: expected one of the four of weir_sharing");
    }
    if (options->path != NULL && options->sharing == WEIR_PRIVATE) {
        return api_fail(error, WEIR_EINVAL, "options.path: a WEIR_PRIVATE table has no file; leave out one of them");
    }
    if (options->path == NULL && options->sharing == WEIR_JOIN) {
        return api_fail(error, WEIR_EINVAL, "options.path is NULL: expected the file to join");
    }
    if ((unsigned)options->when_full > WEIR_FULL_ALLOW) {
        return api_fail(error, WEIR_EINVAL, "options.when_full: expected one of the four WEIR_FULL_*");
    }
    if (options->clock != WEIR_CLOCK_SYSTEM && options->clock != WEIR_CLOCK_COARSE) {
        return api_fail(error, WEIR_EINVAL, "options.clock: expected WEIR_CLOCK_SYSTEM or WEIR_CLOCK_COARSE");
    }
    if (options->refill_max_ns > LONGEST_MAX_NS) {
        return api_fail(error, WEIR_EINVAL, "options.refill_max_ns: expected up to 36 years, or 0 for 32 days");
    }
    if ((options->mode | KEYED_MODE_BITS) != KEYED_MODE_BITS || (options->mode & MODE_OWNER) != MODE_OWNER) {
        return api_fail(error, WEIR_EINVAL,
                        "options.mode: expected 0600, and further bits to read and write, such as 0660");
    }
    if (options->plan != NULL && plan_arrives(plan_inside_const(options->plan)))
        return api_fail(error, WEIR_EUNSUPPORTED, KEYED_NO_ARRIVALS);
    if (options->top > TOP_MAX) return api_fail(error, WEIR_EINVAL, "options.top: expected up to 256 keys");
    if (options->plan != NULL && options->path == NULL && options->sharing != WEIR_PRIVATE) {
        return api_fail(
            error, WEIR_EUNSUPPORTED,
            "wide slots have locks, which a killed process would leave held in memory that children share: give "
            "a path, whose locks the kernel keeps, or use WEIR_PRIVATE");
    }
    return 0;
}

static void choose_defaults(weir_table_options *options)
{
    if (options->keys_max == 0) options->keys_max = KEYS_DEFAULT;
    if (options->refill_max_ns == 0) options->refill_max_ns = LONGEST_DEFAULT_NS;
    if (options->mode == 0) options->mode = 0600;
}

/* The finest unit in which a word can hold twice the longest limit. */
static int unit_for(uint64_t longest_ns)
{
    int unit = KEYED_UNIT_MAX;
    while (unit > SLOT_UNIT_MIN) {
        const uint64_t units = unit >= 0 ? longest_ns << unit : longest_ns >> -unit;
        const bool fits = unit < 0 || longest_ns <= UINT64_MAX >> unit;
        if (fits && units < LONGEST_UNITS_MAX) return unit;
        unit--;
    }
    return unit;
}

/* The bytes for this many keys in wide slots. */
static uint64_t wide_bytes_of(const weir_table_options *options, uint64_t *slot_words)
{
    uint64_t slots;
    const bool kept = options->path != NULL;
    const uint64_t words = keyed_wide_words(plan_inside_const(options->plan), kept);
    return wide_bytes(options->keys_max, words, kept, &slots, slot_words);
}

static uint64_t area_bytes(const weir_table_options *options)
{
    uint64_t slot_words = 0;
    if (options->plan == NULL) return keyed_slots_bytes(options->keys_max);
    return keyed_whole_pages(wide_bytes_of(options, &slot_words));
}

static struct region_shape shape_from_options(const weir_table_options *options)
{
    struct region_shape shape = {.kind = options->plan != NULL ? REGION_WIDE : REGION_SLOTS,
                                 .unit = unit_for(options->refill_max_ns),
                                 .when_full = options->when_full,
                                 .slot_bytes = sizeof(struct table_slot),
                                 .beside = options->plan == NULL && area_bytes(options) >= KEYED_BESIDE_FROM};
    uint64_t slot_words = 0;
    if (options->plan != NULL) {
        wide_bytes_of(options, &slot_words);
        shape.slot_bytes = (uint32_t)(slot_words * sizeof(uint64_t));
        shape.unit = 0;
    }
    return shape;
}

/* Rejects numbers that no header can hold. */
static int check_size(const weir_table_options *options, weir_error *error)
{
    uint64_t slot_words = 0;
    if (options->plan == NULL) return 0;
    if (plan_has_profile(plan_inside_const(options->plan))) {
        return api_fail(error, WEIR_EUNSUPPORTED, "options.plan: its rate changes with time; a table needs one rate");
    }
    const uint64_t bytes = wide_bytes_of(options, &slot_words);
    if (slot_words > UINT32_MAX / sizeof(uint64_t)) {
        return api_fail(error, WEIR_EINVAL,
                        "options.plan: its state takes more than 4 GiB a key; expected a shorter log");
    }
    if (bytes > REGION_BYTES_MAX - 2 * (uint64_t)REGION_PAGE) {
        return api_fail(
            error, WEIR_EINVAL,
            "options.keys_max: so many keys with this plan's states take more than 64 TiB; expected fewer, or "
            "a shorter log");
    }
    return 0;
}

static struct region_times times_of(const weir_table *table)
{
    struct region_times times = {.monotonic_ns = host_now_ns() + (uint64_t)table->namespace_ns,
                                 .unix_ns = host_unix_ns()};
    host_boot(times.boot);
    return times;
}

/* ---- making and joining ---- */

static int make(weir_table *table, const weir_table_options *options, weir_error *error)
{
    struct region_shape shape = shape_from_options(options);
    const uint64_t bytes = area_bytes(options);
    const struct region_times times = times_of(table);
    if (options->path != NULL && keyed_check_memory(bytes, "options.keys_max", error) != 0) return WEIR_ENOMEM;
    int number = host_random(&shape.secret, sizeof shape.secret);
    if (number != 0) return api_fail_system(error, "no random secret", options->path, number);
    number = host_region_grow(&table->region, REGION_PAGE + bytes);
    if (number == 0) number = host_region_map(&table->region, 0, REGION_PAGE, &table->header);
    if (number != 0) return api_fail_system(error, "no room", options->path, number);
    region_make(table->header, &shape, bytes, &times);
    table->made = true;
    return 0;
}

/* The existing table must match the options; the number of keys it was made for stays as it is. */
static int check_shape(const weir_table *table, const weir_table_options *options, weir_error *error)
{
    static const char *const rule[] = {"inherit", "evict", "deny", "allow"};
    const struct region_shape wanted = shape_from_options(options), *shape = &table->view.shape;
    const char *const path = options->path;
    char what[KEYED_WHAT_MAX];
    if (shape->kind != wanted.kind) {
        return api_fail_file(error, WEIR_EMISMATCH, path,
                             shape->kind == REGION_PARTS ? "has the parts of another table; give that one's path"
                             : shape->kind == REGION_WIDE
                                 ? "has wide slots, for other algorithms than gcra; give options.plan, or another path"
                                 : "has 16-byte slots, for limits by gcra alone; give another path for this plan");
    }
    if (shape->when_full != wanted.when_full) {
        struct writer writer = {what, sizeof what, 0};
        write_text(&writer, "was made with when_full ");
        write_text(&writer, rule[shape->when_full]);
        write_text(&writer, ", not ");
        write_text(&writer, rule[wanted.when_full]);
        return api_fail_state(error, WEIR_EMISMATCH, path, what);
    }
    if (shape->kind == REGION_WIDE && shape->slot_bytes < wanted.slot_bytes) {
        return api_fail_state(error, WEIR_EMISMATCH, path, "has slots too short for this plan");
    }
    if (shape->kind == REGION_SLOTS && shape->unit < SLOT_UNIT_MIN) {
        return keyed_refuse_state(table, REGION_DAMAGED, path, error);
    }
    if (shape->kind == REGION_SLOTS && shape->unit > wanted.unit) {
        return api_fail_state(error, WEIR_EMISMATCH, path, "was made with a smaller options.refill_max_ns");
    }
    return 0;
}

/* [under the lock] */
static int make_or_read(weir_table *table, const weir_table_options *options, weir_error *error)
{
    enum region_answer answer = REGION_EMPTY;
    const char *path = options->path;
    const int number = table->region.size != 0 ? keyed_read_state(table, path != NULL, &answer) : 0;
    if (number != 0) return api_fail_system(error, "cannot be read", path, number);
    if (answer == REGION_EMPTY) {
        if (options->sharing == WEIR_JOIN)
            return api_fail_file(error, WEIR_EMISMATCH, path, "is empty: no table to join");
        if (table->header != NULL) host_region_unmap(table->header, REGION_PAGE);
        table->header = NULL;
        const int failed = make(table, options, error);
        if (failed != 0) return failed;
        answer = region_read(table->header, table->region.size, &table->view);
    } else if (options->sharing == WEIR_CREATE) {
        return api_fail_file(error, WEIR_EMISMATCH, path, "exists already; WEIR_JOIN or WEIR_JOIN_OR_CREATE opens it");
    }
    if (answer != REGION_SOUND) return keyed_refuse_state(table, answer, path, error);
    return check_shape(table, options, error);
}

/* [under the lock, if there is a file] */
static void attach_time(weir_table *table)
{
    const struct region_times times = times_of(table);
    table->offset_ns = region_time_offset(table->header, &times) + (uint64_t)table->namespace_ns;
    table->epoch_ns = region_epoch_ns(table->header);
}

static int open_table_in_memory(weir_table *table, const weir_table_options *options, weir_error *error)
{
    const uint64_t bytes = REGION_PAGE + area_bytes(options);
    if (keyed_check_memory(bytes, "options.keys_max", error) != 0) return WEIR_ENOMEM;
    const int number = host_region_anonymous(&table->region, bytes, options->sharing == WEIR_PRIVATE);
    if (number != 0) return api_fail_system(error, "cannot be allocated", NULL, number);
    const int failed = make_or_read(table, options, error);
    if (failed == 0) attach_time(table);
    return failed;
}

static int open_table_file(weir_table *table, const weir_table_options *options, weir_error *error)
{
    bool created = false;
    const enum host_open how = options->sharing == WEIR_JOIN     ? HOST_JOIN
                               : options->sharing == WEIR_CREATE ? HOST_CREATE
                                                                 : HOST_JOIN_OR_CREATE;
    int number = host_region_open(&table->region, options->path, how, options->mode, &created);
    if (number != 0) return api_fail_system(error, "cannot be opened", options->path, number);
    number = host_region_lock(&table->region, LOCK_REGION, KEYED_OPEN_WAIT_NS);
    if (number != 0) return api_fail_system(error, "cannot be locked", options->path, number);
    number = host_region_measure(&table->region);
    if (number != 0) return api_fail_system(error, "cannot be measured", options->path, number);
    int failed = make_or_read(table, options, error);
    if (failed == 0) attach_time(table);
    if (failed == 0 && (number = host_region_fill(&table->region)) != 0)
        failed = api_fail_system(error, "has holes that cannot be filled", options->path, number);
    host_region_unlock(&table->region, LOCK_REGION);
    return failed;
}

static int open_wide(weir_table *table, const weir_table_options *options, weir_error *error)
{
    const uint64_t slot_bytes = table->view.shape.slot_bytes;
    table->wide = (struct wide){.memory = table->mapped[0],
                                .kept = options->path != NULL,
                                .when_full = (enum table_when_full)table->view.shape.when_full,
                                .lock = keyed_lock,
                                .unlock = keyed_unlock,
                                .owner = keyed_owner,
                                .owner_lives = keyed_owner_lives,
                                .owners = table,
                                .context = table};
    table->wide.slot_words = slot_bytes / sizeof(uint64_t);
    table->wide.plan_sets = wide_sets_in(table->view.area[0].bytes);
    table->wide.slots = wide_slots_in(table->view.area[0].bytes, table->wide.slot_words, table->wide.kept);
    if (table->wide.slots == 0) return keyed_refuse_state(table, REGION_DAMAGED, options->path, error);
    if (!options->holds_for_others && table->region.fd >= 0) keyed_mark_process(table);
    weir_plan_parse(&table->weights, "1000000000/s burst=1", WEIR_ADMIT, NULL);
    table->wide.paper = host_allocate(slot_bytes);
    return table->wide.paper != NULL ? 0 : api_fail(error, WEIR_ENOMEM, "no memory for a table");
}

/* A new table has no times to check. */
static void keep_rested(weir_table *table)
{
    uint64_t never = 0;
    table->rested = region_rested(table->header);
    table->rest_ns = table->unit >= 0 ? TABLE_AHEAD_END >> table->unit : TABLE_AHEAD_END << -table->unit;
    atom_swap(table->rested, &never, most(host_now_ns() + table->offset_ns, 1));
}

static int map_all(weir_table *table, const weir_table_options *options, weir_error *error)
{
    int number = 0;
    for (unsigned i = 0; number == 0 && i < table->view.areas; i++) number = keyed_map_area(table, i);
    if (number != 0) return api_fail_system(error, "cannot be mapped", options->path, number);
    table->unit = table->view.shape.unit;
    table->secret = table->view.shape.secret;
    table->lanes = host_has_lanes();
    table->longest = LONGEST_UNITS_MAX - 1;
    const int failed = table->view.shape.kind == REGION_WIDE ? open_wide(table, options, error) : 0;
    if (failed != 0) return failed;
    keyed_show_areas(table, region_newest(table->header), 0);
    keep_rested(table);
    return 0;
}

static int open_top(weir_table *table, uint32_t keys, weir_error *error)
{
    const unsigned counters = keys * TOP_COUNTERS_A_KEY;
    table->top_keys = keys;
    if (keys == 0) return 0;
    table->top_memory = host_allocate(top_bytes(counters));
    if (table->top_memory == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for options.top");
    top_open(&table->top, table->top_memory, counters, host_yield);
    return 0;
}

int weir_table_open(weir_table **owned, const weir_table_options *options, weir_error *error)
{
    weir_table_options chosen = WEIR_TABLE_OPTIONS;
    *owned = NULL;
    int failed = api_read_options(&chosen, sizeof chosen, options, "WEIR_TABLE_OPTIONS", error);
    choose_defaults(&chosen);
    if (failed == 0) failed = check_table_options(&chosen, error);
    if (failed == 0) failed = check_size(&chosen, error);
    if (failed == 0) failed = api_prepare(error);
    if (failed != 0) return failed;
    weir_table *table = host_allocate(sizeof *table);
    if (table == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for a table");
    table->clock = chosen.clock;
    table->wait_ns = least(chosen.lock_wait_ns != 0 ? chosen.lock_wait_ns : KEYED_WAIT_NS, LONGEST_WAIT_NS);
    table->region.fd = table->parts_region.fd = -1;
    table->namespace_ns = chosen.path != NULL ? host_time_namespace_ns() : 0;
    atom_store(&table->forks, host_forks());
    host_mutex_open(&table->mutex);
    host_mutex_open(&table->growing);
    failed = chosen.path != NULL ? open_table_file(table, &chosen, error) : open_table_in_memory(table, &chosen, error);
    if (failed == 0) failed = map_all(table, &chosen, error);
    if (failed == 0 && chosen.path != NULL) failed = keyed_parts_join(table, chosen.path, error);
    if (failed == 0) failed = open_top(table, chosen.top, error);
    if (failed == 0) {
        keyed_keep_time(table);
        *owned = table;
    } else {
        weir_table_close(table);
    }
    return failed;
}

void weir_table_close(weir_table *table)
{
    if (table == NULL) return;
    if (atom_load(&table->areas) != 0) keyed_keep_time(table);
    for (unsigned i = 0; i < REGION_AREAS_MAX; i++) {
        if (table->mapped[i] != NULL) host_region_unmap(table->mapped[i], table->view.area[i].bytes);
    }
    if (table->header != NULL) host_region_unmap(table->header, REGION_PAGE);
    keyed_parts_close(table);
    host_region_close(&table->region);
    host_free(table->top_memory);
    host_free(table->wide.paper);
    host_mutex_close(&table->mutex);
    host_mutex_close(&table->growing);
    host_free(table);
}

void keyed_keep_time(weir_table *table)
{
    const struct region_times times = times_of(table);
    region_keep_time(table->header, &times);
}
