/* SPDX-License-Identifier: MIT
   The parts of a table: memory for the keys of one limit each, which other limits' keys cannot fill.

       table   | header | area |                 keys of all limits, while there is room
       parts   | header | directory | part | part | ...     if the table has a file: in one beside it

   A program that keeps limits by name (weir serve) gives each name a part, and its plans the part's number.  A key goes
   to the table, and to its limit's part when there is no room (share/table/table.c, share/table/wide.c).  So parts are
   empty as long as the table is large enough, and untouched memory costs nothing.

   The first part is for all plans that name none, so a program that opens the service's file finds the keys of plain
   limits where they are; it has to be started when the file beside it exists.

   A part is made once and does not change, so its content is always found: in the file, by the hash of its name.

       directory   | how many | record | record | ...
       record      name, offset, bytes, slots, 2 x reserved, check, in use

   A part is made before its record, and the record before it is counted; a process that dies in between leaves a part
   without an owner.  The file has the secret and the units of its table, and is refused beside another table.  Beside a
   new table, whose predecessor was moved away or removed, it is moved away too: FILE.parts.old. */
#include <string.h>

#include "api/table/keyed.h"
#include "core/num.h"

enum {
    DIRECTORY_COUNT = 0,
    RECORD_STRIDE = 8,
    RECORD_WORDS = 6,
    RECORD_IN_USE = 7,
    RECORD_NAME = 0,
    RECORD_OFFSET,
    RECORD_BYTES,
    RECORD_SLOTS
};
enum {
    FILE_MODE = 0600,
    DIRECTORY = (KEYED_PARTS_MAX + 1) * RECORD_STRIDE * 8,
    SLOTS_FOR_KEY = 2,
    ANOTHERS = 1,
    SALT = WEIR_LIMITS_MAX + 2
};

_Static_assert(DIRECTORY % REGION_PAGE == 0, "whole pages");

static struct atom *record_at(const weir_table *table, uint64_t number)
{
    return table->parts_directory + (1 + number) * RECORD_STRIDE;
}

static uint64_t name_of(const weir_table *table, weir_key name)
{
    return most(hash_key(&table->secret, name.bytes, name.size, SALT), 1);
}

/* ---- words ---- */

/* Allocated with host_allocate; NULL: no memory. */
static char *path_with(const char *path, const char *behind)
{
    const size_t size = strlen(path), more = strlen(behind) + 1;
    char *longer = host_allocate(size + more);
    if (longer == NULL) return NULL;
    memcpy(longer, path, size + 1);
    memcpy(longer + size, behind, more);
    return longer;
}

static int no_memory(weir_error *error)
{
    return api_fail(error, WEIR_ENOMEM, "no memory for the parts of a table");
}

/* ---- one part ---- */

uint64_t keyed_part_bytes(const weir_table *table, uint64_t keys)
{
    const uint64_t pair = 2 * sizeof(struct table_bucket), in_pair = 2 * (uint64_t)TABLE_SLOTS;
    const uint64_t slots = multiply_divide_ceil(most(keys, 1), SLOTS_FOR_KEY, 1);
    if (keyed_is_wide(table)) return keyed_whole_pages(wide_part_bytes(&table->wide, wide_part_slots(keys)));
    return keyed_whole_pages(multiply_divide_ceil(slots, pair, in_pair));
}

static void close_part(struct keyed_part *part)
{
    if (part->memory != NULL) host_region_unmap(part->memory, part->bytes);
    host_free(part);
}

/* True if the record stays within the file. */
static bool is_sound(const weir_table *table, const uint64_t record[])
{
    const uint64_t needed = keyed_is_wide(table) ? wide_part_bytes(&table->wide, record[RECORD_SLOTS]) : REGION_PAGE;
    const uint64_t size = table->parts_region.size, bytes = record[RECORD_BYTES], offset = record[RECORD_OFFSET];
    return needed != 0 && needed <= bytes && bytes % REGION_PAGE == 0 && offset % REGION_PAGE == 0 && offset <= size &&
           bytes <= size - offset;
}

/* NULL: see *why, an errno value; 0: no memory. */
static struct keyed_part *open_part(weir_table *table, unsigned number, const uint64_t record[], int *why)
{
    struct keyed_part *part = host_allocate(sizeof *part);
    *why = 0;
    if (part == NULL) return NULL;
    *part = (struct keyed_part){
        .name = record[RECORD_NAME], .bytes = record[RECORD_BYTES], .table = table, .number = number};
    *why = host_region_map(&table->parts_region, record[RECORD_OFFSET], record[RECORD_BYTES], &part->memory);
    if (*why != 0) {
        close_part(part);
        return NULL;
    }
    const bool rules = record[RECORD_NAME] == name_of(table, keyed_rules_name()); /* has no slots */
    const uint64_t pairs = rules ? 0 : part->bytes / (2 * sizeof(struct table_bucket));
    part->slots.area = (struct table_area){.bucket = part->memory, .half = keyed_is_wide(table) ? 0 : pairs};
    part->slots.in_use = table->parts_directory != NULL ? record_at(table, number) + RECORD_IN_USE : &part->in_use;
    part->wide = table->wide;
    part->wide.slots = record[RECORD_SLOTS];
    part->wide.part = part->memory;
    part->wide.beside = &table->wide;
    part->wide.lock = keyed_lock_part;
    part->wide.unlock = keyed_unlock_part;
    part->wide.context = part;
    return part;
}

static int add_part(weir_table *table, const uint64_t record[], weir_error *error)
{
    int why;
    const uint64_t number = atom_load(&table->parts);
    struct keyed_part *part = open_part(table, (unsigned)number, record, &why);
    if (part == NULL && why == 0) return no_memory(error);
    if (part == NULL) return api_fail_system(error, "cannot be mapped", "a part of the table", why);
    table->part[number] = part;
    atom_store_release(&table->parts, number + 1);
    return 0;
}

/* Adds the parts of the directory that this process does not know yet. */
static int add_more(weir_table *table, const char *path, weir_error *error)
{
    int failed = 0;
    const uint64_t count =
        table->parts_directory != NULL ? atom_load_acquire(&table->parts_directory[DIRECTORY_COUNT]) : 0;
    for (uint64_t i = atom_load(&table->parts); failed == 0 && i < count; i++) {
        uint64_t record[RECORD_WORDS];
        const bool sound = i < KEYED_PARTS_MAX && region_read_record(record_at(table, i), record, RECORD_WORDS, i) &&
                           is_sound(table, record);
        failed = sound ? add_part(table, record, error)
                       : api_fail_state(error, WEIR_EMISMATCH, path, "has parts of a table, but is damaged");
    }
    return failed;
}

/* ---- the file ---- */

static struct region_shape parts_shape(const weir_table *table)
{
    struct region_shape shape = table->view.shape;
    shape.kind = REGION_PARTS;
    shape.beside = false;
    return shape;
}

/* [under the file's lock] */
static int make_file(weir_table *table, const char *path, weir_error *error)
{
    const struct region_shape shape = parts_shape(table);
    const struct region_times times = {.unix_ns = host_unix_ns()};
    if (table->parts_header != NULL) host_region_unmap(table->parts_header, REGION_PAGE);
    table->parts_header = NULL;
    int why = host_region_grow(&table->parts_region, REGION_PAGE + DIRECTORY);
    if (why == 0) why = host_region_map(&table->parts_region, 0, REGION_PAGE, &table->parts_header);
    if (why != 0) return api_fail_system(error, "no room", path, why);
    region_make(table->parts_header, &shape, DIRECTORY, &times);
    return 0;
}

/* [under the file's lock] Maps the header, which may have to be made.  ANOTHERS: it belongs to a table that is gone. */
static int read_file(weir_table *table, const char *path, weir_error *error)
{
    const struct region_shape shape = parts_shape(table);
    struct region_view view;
    const uint64_t size = table->parts_region.size, page = least(size, REGION_PAGE);
    int why = size != 0 ? host_region_map(&table->parts_region, 0, page, &table->parts_header) : 0;
    if (why != 0) return api_fail_system(error, "cannot be read", path, why);
    enum region_answer answer = region_read(table->parts_header, size, &view);
    if (answer == REGION_EMPTY && table->parts_region.size <= REGION_PAGE + DIRECTORY) {
        const int failed = make_file(table, path, error);
        if (failed != 0) return failed;
        answer = region_read(table->parts_header, table->parts_region.size, &view);
    }
    if (answer == REGION_VERSION) return api_fail_state(error, WEIR_EVERSION, path, "is of another weir");
    if (answer != REGION_SOUND || view.shape.kind != REGION_PARTS || view.area[0].bytes != DIRECTORY)
        return api_fail_state(error, WEIR_EMISMATCH, path, "has no parts of a table, or is damaged");
    if (!region_same_shape(&view.shape, &shape) && table->made) return ANOTHERS;
    if (!region_same_shape(&view.shape, &shape))
        return api_fail_state(error, WEIR_EMISMATCH, path, "has the parts of another table");
    void *directory;
    why = host_region_map(&table->parts_region, view.area[0].offset, DIRECTORY, &directory);
    if (why != 0) return api_fail_system(error, "cannot be mapped", path, why);
    table->parts_directory = directory;
    return 0;
}

static void close_parts_file(weir_table *table)
{
    if (table->parts_directory != NULL) host_region_unmap(table->parts_directory, DIRECTORY);
    if (table->parts_header != NULL) host_region_unmap(table->parts_header, REGION_PAGE);
    table->parts_directory = NULL;
    table->parts_header = NULL;
    host_region_close(&table->parts_region);
}

/* ANOTHERS: as read_file. */
static int open_one(weir_table *table, const char *path, weir_error *error)
{
    bool created;
    int why = host_region_open(&table->parts_region, path, HOST_JOIN_OR_CREATE, FILE_MODE, &created);
    if (why != 0) return api_fail_system(error, "cannot be opened", path, why);
    why = host_region_lock(&table->parts_region, LOCK_REGION, KEYED_OPEN_WAIT_NS);
    if (why != 0) return api_fail_system(error, "cannot be locked", path, why);
    why = host_region_measure(&table->parts_region);
    if (why != 0) return api_fail_system(error, "cannot be measured", path, why);
    int failed = read_file(table, path, error);
    if (failed == 0) failed = add_more(table, path, error);
    host_region_unlock(&table->parts_region, LOCK_REGION);
    return failed;
}

static int move_away(const char *path, weir_error *error)
{
    char *old = path_with(path, ".old");
    if (old == NULL) return no_memory(error);
    const int why = host_rename(path, old);
    host_free(old);
    return why == 0 ? 0 : api_fail_system(error, "cannot be moved away", path, why);
}

static int open_parts_file(weir_table *table, const char *path, weir_error *error)
{
    int failed = open_one(table, path, error);
    if (failed != ANOTHERS) return failed;
    close_parts_file(table);
    failed = move_away(path, error);
    return failed == 0 ? open_one(table, path, error) : failed;
}

static int open_parts(weir_table *table, const char *path, weir_error *error)
{
    table->part = host_allocate(KEYED_PARTS_MAX * sizeof(struct keyed_part *));
    if (table->part == NULL) return no_memory(error);
    return path != NULL ? open_parts_file(table, path, error) : 0;
}

int keyed_parts_open(weir_table *table, const char *path, uint64_t keys, weir_error *error)
{
    char *parts = path != NULL ? path_with(path, ".parts") : NULL;
    int failed = path != NULL && parts == NULL ? no_memory(error) : 0;
    if (failed == 0 && table->part == NULL) failed = open_parts(table, parts, error);
    host_free(parts);
    if (failed != 0 || atom_load(&table->parts) != 0) return failed;
    return keyed_part_make(table, (weir_key){"", 0}, keys, error) != 0 ? 0 : WEIR_ENOMEM;
}

int keyed_parts_join(weir_table *table, const char *path, weir_error *error)
{
    char *parts = path_with(path, ".parts");
    if (parts == NULL) return no_memory(error);
    const int failed = host_exists(parts) ? open_parts(table, parts, error) : 0;
    host_free(parts);
    return failed;
}

void keyed_parts_learn(weir_table *table)
{
    if (table->parts_directory == NULL ||
        atom_load_acquire(&table->parts_directory[DIRECTORY_COUNT]) == atom_load(&table->parts))
        return;
    keyed_after_fork(table);
    host_lock(&table->mutex);
    if (host_region_lock(&table->parts_region, LOCK_REGION, table->wait_ns) == 0) {
        if (host_region_measure(&table->parts_region) == 0) add_more(table, "", NULL);
        host_region_unlock(&table->parts_region, LOCK_REGION);
    }
    host_unlock(&table->mutex);
}

void keyed_parts_close(weir_table *table)
{
    for (uint64_t i = 0; i < atom_load(&table->parts); i++) close_part(table->part[i]);
    host_free(table->part);
    close_parts_file(table);
}

/* ---- by name ---- */

unsigned keyed_part_find(const weir_table *table, weir_key name)
{
    const uint64_t wanted = name_of(table, name);
    for (unsigned i = 0; i < atom_load_acquire(&table->parts); i++)
        if (table->part[i]->name == wanted) return i + 1;
    return 0;
}

/* [under the file's lock] The file has as many records as this process knows. */
static int append_part(weir_table *table, uint64_t record[], weir_error *error)
{
    const uint64_t number = atom_load(&table->parts);
    const int why = host_region_grow(&table->parts_region, record[RECORD_OFFSET] + record[RECORD_BYTES]);
    if (why != 0) return api_fail_system(error, "cannot grow", "the file of the table's parts", why);
    const int failed = add_part(table, record, error);
    if (failed != 0) return failed;
    region_write_record(record_at(table, number), record, RECORD_WORDS, number);
    atom_store_release(&table->parts_directory[DIRECTORY_COUNT], number + 1);
    return 0;
}

/* Another process may have made the part meanwhile. */
static int make_in_file(weir_table *table, uint64_t record[], weir_error *error)
{
    static const char words[] = "the parts of the table";
    int why = host_region_lock(&table->parts_region, LOCK_REGION, table->wait_ns);
    if (why != 0) return api_fail_system(error, "cannot be locked", words, why);
    why = host_region_measure(&table->parts_region);
    int failed = why == 0 ? add_more(table, words, error) : api_fail_system(error, "cannot be measured", words, why);
    bool there = false;
    for (uint64_t i = 0; i < atom_load(&table->parts); i++)
        there = there || table->part[i]->name == record[RECORD_NAME];
    record[RECORD_OFFSET] = keyed_whole_pages(table->parts_region.size);
    if (failed == 0 && !there) failed = append_part(table, record, error);
    host_region_unlock(&table->parts_region, LOCK_REGION);
    return failed;
}

unsigned keyed_part_make(weir_table *table, weir_key name, uint64_t keys, weir_error *error)
{
    uint64_t record[RECORD_WORDS] = {name_of(table, name), 0, keyed_part_bytes(table, keys), wide_part_slots(keys)};
    const unsigned known = keyed_part_find(table, name);
    if (known != 0) return known;
    if (table->part == NULL || atom_load(&table->parts) == KEYED_PARTS_MAX) {
        api_fail(error, WEIR_EUNSUPPORTED, "this table has 2,047 parts already");
        return 0;
    }
    if (keyed_check_memory(record[RECORD_BYTES], "keys of a limit", error) != 0) return 0;
    keyed_after_fork(table);
    host_lock(&table->mutex);
    const int failed =
        table->parts_directory != NULL ? make_in_file(table, record, error) : add_part(table, record, error);
    host_unlock(&table->mutex);
    return failed == 0 ? keyed_part_find(table, name) : 0;
}
