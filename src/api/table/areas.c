/* SPDX-License-Identifier: MIT
   The areas of a table: their sizes, which of them this process has mapped, and growing.

   The list of areas is replaced as a whole, so that no thread reads half of it, and the previous lists stay, since a
   thread may still be reading them.  Nothing in the file that was ever used is cut off. */
#include "api/table/keyed.h"
#include "core/num.h"

/* The load of a table at which 1 new key in 1,000 finds no room, even if as many keys go as come. */
enum { LOADED_PERCENT = 73, KEYED_GROW_STEP = 1 << 26 /* bytes */ };

uint64_t keyed_whole_pages(uint64_t bytes)
{
    return add_saturating(bytes, REGION_PAGE - 1) / REGION_PAGE * REGION_PAGE;
}

/* An even number of buckets, in which this many keys are the load that still finds room. */
uint64_t keyed_slots_bytes(uint64_t keys_max)
{
    const uint64_t slots = keys_max * 100 / LOADED_PERCENT + 1;
    const uint64_t in_pair = 2 * (uint64_t)TABLE_SLOTS;
    return keyed_whole_pages((slots + in_pair - 1) / in_pair * 2 * sizeof(struct table_bucket));
}

int keyed_map_area(weir_table *table, unsigned area)
{
    if (table->mapped[area] != NULL) return 0;
    return host_region_map(&table->region, table->view.area[area].offset, table->view.area[area].bytes,
                           &table->mapped[area]);
}

static uint64_t keys_in(uint64_t bytes)
{
    return bytes / sizeof(struct table_slot) * LOADED_PERCENT / 100;
}

void keyed_show_areas(weir_table *table, struct atom *newest, unsigned first)
{
    struct table *shown = &table->shown[table->shown_count++];
    *shown = (struct table){.newest = newest,
                            .first = first,
                            .when_full = (enum table_when_full)table->view.shape.when_full,
                            .longest = table->longest};
    uint64_t bytes = 0; /* for new keys */
    while (shown->count < table->view.areas && table->mapped[shown->count] != NULL) {
        const uint64_t here = table->view.area[shown->count].bytes;
        bytes = (table->view.shape.beside ? bytes : 0) + here;
        shown->area[shown->count] =
            (struct table_area){.bucket = table->mapped[shown->count], .half = here / sizeof(struct table_bucket) / 2};
        shown->count++;
    }
    table_divide(shown, table->view.shape.beside);
    const struct region_area *last = &table->view.area[shown->count - 1];
    atom_store(&table->keys_max, keyed_is_wide(table) ? table->wide.slots : keys_in(bytes));
    atom_store(&table->bytes, last->offset + last->bytes);
    atom_store_release(&table->areas, (uint64_t)(uintptr_t)shown);
}

/* A forked child shares its parent's open file description, and so its locks: it opens the file again.  Locks that
   threads of the parent held, which the child does not have, are free. */
void keyed_after_fork(weir_table *table)
{
    const uint64_t forks = host_forks();
    uint64_t before = atom_load_acquire(&table->forks);
    while (before != forks) {
        if (before != UINT64_MAX && atom_swap(&table->forks, &before, UINT64_MAX)) {
            for (int i = 0; i < WIDE_LOCKS; i++) atom_store(&table->stripe[i], 0);
            host_mutex_open(&table->mutex);
            host_mutex_open(&table->growing);
            turns_forget(&table->turns);
            host_region_reopen(&table->region);
            host_region_reopen(&table->parts_region);
            if (table->owner != 0) keyed_mark_process(table);
            for (uint64_t i = 0; i < atom_load(&table->parts) * WIDE_STRIPES; i++)
                atom_store(&table->part[i / WIDE_STRIPES]->stripe[i % WIDE_STRIPES], 0);
            atom_store_release(&table->forks, forks);
        }
        before = atom_load_acquire(&table->forks);
    }
}

void keyed_map_more(weir_table *table)
{
    keyed_after_fork(table);
    host_lock(&table->mutex);
    const struct table *known = keyed_slots(table);
    if (atom_load_acquire(known->newest) > known->count) {
        struct region_view more = table->view;
        bool mapped = host_region_measure(&table->region) == 0 &&
                      region_read_more(table->header, table->region.size, &more) == REGION_SOUND;
        if (mapped) table->view = more;
        for (unsigned i = known->count; mapped && i < table->view.areas; i++) {
            mapped = keyed_map_area(table, i) == 0;
            if (!mapped) table->view.areas = i;
        }
        /* If the header is no longer valid, or there is no room, this process goes on with what it has. */
        atom_store(&table->own_newest, table->view.areas);
        /* Grown beside, keys of all areas have another one now. */
        keyed_show_areas(table, mapped ? region_newest(table->header) : &table->own_newest, keyed_first_area(known));
    }
    host_unlock(&table->mutex);
}

void keyed_leave_areas(weir_table *table, unsigned first)
{
    keyed_after_fork(table);
    host_lock(&table->mutex);
    const struct table *known = keyed_slots(table);
    if (first > known->first) {
        keyed_show_areas(table, known->newest, first);
        atom_store(&table->swept_from_ns, 0); /* the areas are numbered anew: this round proves nothing */
        atom_store(&table->swept, UINT64_MAX / 2);
    }
    host_unlock(&table->mutex);
}

/* ---- growing ---- */

/* What is to be added, behind all areas. */
struct growth {
    uint64_t offset, bytes;
};

static uint64_t bytes_of(const struct region_view *view)
{
    uint64_t bytes = 0;
    for (unsigned i = view->shape.beside ? 0 : view->areas - 1; i < view->areas; i++) bytes += view->area[i].bytes;
    return bytes;
}

/* [under the mutex and the file's lock] */
static int plan_growth(weir_table *table, uint64_t wanted, struct growth *growth, weir_error *error)
{
    struct region_view *view = &table->view;
    const int number = host_region_measure(&table->region);
    if (number != 0) return api_fail_system(error, "cannot grow", "the table", number);
    if (region_read_more(table->header, table->region.size, view) != REGION_SOUND) {
        return api_fail(error, WEIR_EMISMATCH, "the table's header is damaged");
    }
    if (wanted <= bytes_of(view)) {
        return api_fail(error, WEIR_EINVAL, "keys_max: expected more keys than the table has");
    }
    if (view->areas == REGION_AREAS_MAX) {
        return api_fail(error, WEIR_EUNSUPPORTED, "this table has grown seven times already; open a new one");
    }
    growth->offset = region_end(view);
    growth->bytes = view->shape.beside ? wanted - bytes_of(view) : wanted;
    const uint64_t begun = table->region.fd < 0 ? 0 : subtract_to_zero(table->region.size, growth->offset);
    return keyed_check_memory(subtract_to_zero(growth->bytes, begun), "keys_max", error);
}

/* Adds a step of the space; memory of this process alone is one step, *memory, touched before others use it. */
static int add_space(struct host_region *region, const struct growth *growth, void **memory)
{
    int number = host_region_grow_some(region, growth->offset + growth->bytes, KEYED_GROW_STEP);
    if (number != 0) host_region_cut(region, growth->offset);
    if (number != 0 || region->fd >= 0) return number;
    number = host_region_map(region, growth->offset, growth->bytes, memory);
    if (number == 0) host_region_touch(*memory, growth->bytes);
    return number;
}

/* [under the mutex and the file's lock, the space being there] */
static int publish_area(weir_table *table, const struct growth *growth, uint64_t size, void *memory, weir_error *error)
{
    table->region.size = size;
    if (!region_add_area(table->header, &table->view, growth->bytes)) {
        if (memory != NULL) host_region_unmap(memory, growth->bytes);
        return api_fail(error, WEIR_EMISMATCH, "the table's header is damaged");
    }
    if (memory != NULL) table->mapped[table->view.areas - 1] = memory;
    return 0;
}

/* [under `growing` and the file's lock] The mutex is free while space is added, and the lock between two steps, so
   nobody waits for long.  A process that dies between them leaves zeros behind the last area, where the next one that
   grows the table goes on. */
static int grow_some(weir_table *table, uint64_t wanted, bool *grown, weir_error *error)
{
    struct growth growth = {0};
    void *memory = NULL;
    host_lock(&table->mutex);
    int failed = plan_growth(table, wanted, &growth, error);
    struct host_region region = table->region;
    host_unlock(&table->mutex);
    if (failed != 0) return failed;
    const int number = add_space(&region, &growth, &memory);
    if (number != 0) return api_fail_system(error, "cannot grow", "the table", number);
    *grown = region.size >= growth.offset + growth.bytes;
    if (!*grown) return 0;
    host_lock(&table->mutex);
    failed = publish_area(table, &growth, region.size, memory, error);
    host_unlock(&table->mutex);
    return failed;
}

int weir_table_grow(weir_table *table, uint64_t keys_max, weir_error *error)
{
    const uint64_t wanted = keyed_slots_bytes(least(keys_max, KEYED_KEYS_MAX));
    bool grown = false;
    int failed = 0;
    if (keyed_is_wide(table)) return api_fail(error, WEIR_EUNSUPPORTED, "wide slots do not grow: open a larger table");
    if (keys_max > KEYED_KEYS_MAX) return api_fail(error, WEIR_EINVAL, "keys_max: expected up to 17,179,869,184 keys");
    keyed_after_fork(table);
    host_lock(&table->growing);
    while (failed == 0 && !grown) {
        const int number = host_region_lock(&table->region, LOCK_REGION, KEYED_OPEN_WAIT_NS);
        failed = number == 0 ? grow_some(table, wanted, &grown, error)
                             : api_fail_system(error, "cannot be locked", "the table", number);
        if (number == 0) host_region_unlock(&table->region, LOCK_REGION);
    }
    host_unlock(&table->growing);
    if (failed == 0) keyed_map_more(table);
    return failed;
}
