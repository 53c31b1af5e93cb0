/* SPDX-License-Identifier: MIT
   The first page of memory that processes share or a file keeps.

       word    0  magic     MAKING, and MADE when all the rest is there
               1  format    byte order 32 | word size 16 | version 16, each kind has its own
               2  once      kind 32 | unit 32, when full 32 | slot bytes 32, secret 64, secret 64, check
               8  newest    how many areas there are; a cache line of its own
              16  areas     8 x [ offset, bytes, check, - ]
             128  boots     2 x [ serial, boot id 64, boot id 64, offset, monotonic, unix, check ], a sector each
             256  turn      which of the next ones is written next
             264  kept      8 x [ monotonic, unix, check, ... ], a cache line each
             336  rested    when all slots were last checked (table.c), the region's time; a cache line of its own
             344  waits     64 words on which processes wait, see api/table/wait.c
             408  marks     how many processes have marked themselves as holders of slots, see api/table/hold.c

   Any process that may write the file may write anything here at any time, and may die at any step.  So everything is
   stored as records: a few words and their check.  A record is copied word by word, and the copy is judged; one that is
   half written, or mixed from two writers, does not match its check and counts as absent.  The check is against
   accidents.  Against malice, each number of a copy is limited to a range, so that a process can use its view without
   further checks.

   An area is written before `newest` counts it, and the header before the magic says MADE.  A process that dies before
   that leaves nothing that others read, and the next one overwrites it.

   Time.  The region's time is the machine's monotonic clock plus an offset, the same for all processes of a boot.
   After a reboot that clock starts again.  What is the region's time then?

       the time when the machine stopped                        is unknown, so it is noted now and then: `kept`
     + the time that the machine was off                        by the wall clock, so that is noted too
       never before what was kept, whatever the clocks say      a wall clock that went back, or on by a year, is ignored

   The new offset is a record of the new boot, with a serial, written over the older of two.  A process that dies
   half-way leaves the newer one intact, and the next process does the same again.  Kept times belong to a serial, so a
   time that was kept in one boot is never combined with the offset of another.  Processes keep the time without a lock,
   each in the next of eight records in turn.  If two meet in one record, or one is killed while it writes, that record
   is invalid until its next turn, and the latest of the others is somewhat older.  That costs nothing if the wall clock
   is trusted, because its time was noted at the same moment; if not, debts last longer by that difference.

   On a machine that does not identify its boots (zeros), a monotonic clock that is behind the kept time means another
   boot.  If the clock is not behind although the machine was rebooted, it has been running for longer than it had then,
   so at least as much time has passed as the region sees.

   Any bytes in this page are handled, and affect nothing but limits; the region's time does not go back behind what was
   kept. */
#include "share/table/region.h"

#include <string.h>

#include "core/num.h"

enum {
    WORD_MAGIC = 0,
    WORD_FORMAT = 1,
    WORD_ONCE = 2,
    WORD_NEWEST = 8,
    WORD_AREAS = 16,
    WORD_BOOTS = 128,
    WORD_TURN = 256,
    WORD_KEPT = 264,
    WORD_RESTED = 336,
    WORD_WAITS = 344,
    WORD_MARKS = WORD_WAITS + REGION_WAITS,
    ONCE_WORDS = 4,
    AREA_WORDS = 2,
    AREA_STRIDE = 4,
    BOOT_WORDS = 6,
    BOOT_STRIDE = 64,
    BOOT_RECORDS = 2,
    KEPT_WORDS = 2,
    KEPT_STRIDE = 8,
    KEPT_RECORDS = 8,
    PAGE_WORDS = REGION_PAGE / 8,
    RECORD_WORDS_MAX = 8
};

/* The content of an area is part of the format: the words of a slot, and for wide slots struct rule, the words of each
   algorithm and the hash of a key.  The next version of any kind is 5, so that a number has one meaning. */
enum {
    VERSION_SLOTS = 1, /* grows in place */
    VERSION_WIDE = 2,  /* 1: with space for 16 plans */
    VERSION_PARTS = 3,
    VERSION_BESIDE = 4, /* 16-byte slots that grow beside */
    VERSIONS = 4
};
enum { WHEN_FULL_MAX = 3, REGION_UNIT_MAX = 63, SLOT_BYTES = 16, WORD_BYTES = 8, SLOT_ALIGN = 8 };

#define REGION_SECOND_NS UINT64_C(1000000000)
#define YEAR_NS (UINT64_C(366) * 24 * 3600 * REGION_SECOND_NS)
#define TIME_MAX_NS (UINT64_C(1) << 62)

static const uint8_t making[WORD_BYTES] = {'w', 'e', 'i', 'r', ' ', '.', '.', '.'};
static const uint8_t made[WORD_BYTES] = {'w', 'e', 'i', 'r', '\r', '\n', 0x1a, 0x89};

_Static_assert(sizeof(struct atom) == WORD_BYTES, "the page is an array of them");
_Static_assert(WORD_ONCE + ONCE_WORDS + 1 <= WORD_NEWEST, "once");
_Static_assert(WORD_AREAS + AREA_STRIDE * REGION_AREAS_MAX <= WORD_BOOTS && AREA_WORDS + 1 <= AREA_STRIDE, "areas");
_Static_assert(WORD_BOOTS + BOOT_STRIDE * BOOT_RECORDS <= WORD_TURN && BOOT_WORDS + 1 <= BOOT_STRIDE, "boots");
_Static_assert(WORD_KEPT + KEPT_STRIDE * KEPT_RECORDS <= WORD_RESTED && KEPT_WORDS + 1 <= KEPT_STRIDE, "kept");
_Static_assert(WORD_RESTED + KEPT_STRIDE <= WORD_WAITS && WORD_MARKS < PAGE_WORDS, "waits");

/* As bytes, so that another byte order sees the same magic. */
static uint64_t magic_of(const uint8_t bytes[WORD_BYTES])
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* ---- records ---- */

static struct atom *region_word(void *memory, unsigned word)
{
    return (struct atom *)memory + word;
}

static const struct atom *word_in(const void *memory, unsigned word)
{
    return (const struct atom *)memory + word;
}

/* Each step is a bijection, so changing any one word changes the check; and zeros do not match theirs. */
static uint64_t check_of(const uint64_t words[], unsigned count, uint64_t salt)
{
    uint64_t check = UINT64_C(0x9e3779b97f4a7c15) ^ salt;
    for (unsigned i = 0; i < count; i++) {
        check = (check ^ words[i]) * UINT64_C(0xd6e8feb86659fd93);
        check ^= check >> 32;
    }
    return check;
}

void region_write_record(struct atom *at, const uint64_t words[], unsigned count, uint64_t salt)
{
    for (unsigned i = 0; i < count; i++) atom_store(&at[i], words[i]);
    atom_store(&at[count], check_of(words, count, salt));
}

bool region_read_record(const struct atom *at, uint64_t words[], unsigned count, uint64_t salt)
{
    for (unsigned i = 0; i < count; i++) words[i] = atom_load(&at[i]);
    return atom_load(&at[count]) == check_of(words, count, salt);
}

static void write_record(void *memory, unsigned word, const uint64_t words[], unsigned count, uint64_t salt)
{
    region_write_record(region_word(memory, word), words, count, salt);
}

static bool read_record(const void *memory, unsigned word, uint64_t words[], unsigned count, uint64_t salt)
{
    return region_read_record(word_in(memory, word), words, count, salt);
}

/* ---- what is written once ---- */

/* How it grows is said by the version alone, and a changed version is noticed. */
static uint64_t once_salt(const struct region_shape *shape)
{
    return shape->beside ? WORD_ONCE << 1 : WORD_ONCE;
}

static void write_shape(void *memory, const struct region_shape *shape)
{
    const uint64_t words[ONCE_WORDS] = {(uint64_t)shape->kind << 32 | (uint32_t)shape->unit,
                                        (uint64_t)shape->when_full << 32 | shape->slot_bytes, shape->secret.word[0],
                                        shape->secret.word[1]};
    write_record(memory, WORD_ONCE, words, ONCE_WORDS, once_salt(shape));
}

/* shape->beside is known. */
static bool read_shape(const void *memory, struct region_shape *shape)
{
    uint64_t words[ONCE_WORDS];
    if (!read_record(memory, WORD_ONCE, words, ONCE_WORDS, once_salt(shape))) return false;
    const uint64_t kind = words[0] >> 32;
    const uint32_t unit = (uint32_t)words[0] + REGION_UNIT_MAX;
    if (kind < REGION_SLOTS || kind > REGION_PARTS || unit > 2 * REGION_UNIT_MAX) return false;
    shape->kind = (enum region_kind)kind;
    shape->unit = (int32_t)unit - REGION_UNIT_MAX;
    shape->when_full = (uint32_t)(words[1] >> 32);
    shape->slot_bytes = (uint32_t)words[1];
    shape->secret = (struct secret){{words[2], words[3]}};
    if (shape->when_full > WHEN_FULL_MAX) return false;
    if (shape->kind == REGION_SLOTS) return shape->slot_bytes == SLOT_BYTES;
    return shape->slot_bytes >= SLOT_BYTES && shape->slot_bytes % SLOT_ALIGN == 0;
}

/* ---- areas ---- */

static unsigned area_word(unsigned index)
{
    return WORD_AREAS + index * AREA_STRIDE;
}

static void write_area(void *memory, unsigned index, const struct region_area *area)
{
    const uint64_t words[AREA_WORDS] = {area->offset, area->bytes};
    write_record(memory, area_word(index), words, AREA_WORDS, area_word(index));
}

/* True for whole pages behind all earlier areas that end at or before `size`. */
static bool area_is_sound(const struct region_area *area, const struct region_view *before, uint64_t size)
{
    const uint64_t end = least(size, REGION_BYTES_MAX);
    return area->offset % REGION_PAGE == 0 && area->bytes % REGION_PAGE == 0 && area->offset >= region_end(before) &&
           area->offset <= end && area->bytes <= end - area->offset && area->bytes >= before->shape.slot_bytes;
}

static bool read_area(const void *memory, uint64_t size, struct region_view *view)
{
    uint64_t words[AREA_WORDS];
    const unsigned word = area_word(view->areas);
    if (!read_record(memory, word, words, AREA_WORDS, word)) return false;
    const struct region_area area = {words[0], words[1]};
    if (!area_is_sound(&area, view, size)) return false;
    view->area[view->areas++] = area;
    return true;
}

static bool read_areas(const void *memory, uint64_t size, struct region_view *view)
{
    const uint64_t count = atom_load_acquire(word_in(memory, WORD_NEWEST));
    if (count == 0 || count > REGION_AREAS_MAX) return false;
    while (view->areas < count) {
        if (!read_area(memory, size, view)) return false;
    }
    return true;
}

uint64_t region_end(const struct region_view *view)
{
    if (view->areas == 0) return REGION_PAGE;
    const struct region_area *last = &view->area[view->areas - 1];
    return last->offset + last->bytes;
}

bool region_add_area(void *memory, struct region_view *view, uint64_t bytes)
{
    const struct region_area area = {region_end(view), bytes};
    if (view->areas == REGION_AREAS_MAX || !area_is_sound(&area, view, REGION_BYTES_MAX)) return false;
    if (atom_load(region_newest(memory)) != view->areas) return false;
    write_area(memory, view->areas, &area);
    view->area[view->areas++] = area;
    atom_store_release(region_newest(memory), view->areas);
    return true;
}

struct atom *region_newest(void *memory)
{
    return region_word(memory, WORD_NEWEST);
}

struct atom *region_rested(void *memory)
{
    return region_word(memory, WORD_RESTED);
}

void *region_wait_word(void *memory, uint64_t number)
{
    return region_word(memory, (unsigned)(WORD_WAITS + number % REGION_WAITS));
}

struct atom *region_marks(void *memory)
{
    return region_word(memory, WORD_MARKS);
}

/* ---- boots ---- */

/* In this boot the region's time is monotonic + offset. */
struct boot {
    uint64_t serial, id[2], offset, monotonic_ns, unix_ns;
};

_Static_assert(sizeof(struct boot) == sizeof(uint64_t[BOOT_WORDS]), "a boot is written as words");

static unsigned boot_word(uint64_t serial)
{
    return WORD_BOOTS + (unsigned)(serial % BOOT_RECORDS) * BOOT_STRIDE;
}

static void write_boot(void *memory, const struct boot *boot)
{
    uint64_t words[BOOT_WORDS];
    memcpy(words, boot, sizeof words);
    write_record(memory, boot_word(boot->serial), words, BOOT_WORDS, boot_word(boot->serial));
}

/* The newest record; false if there is none. */
static bool read_boot(const void *memory, struct boot *boot)
{
    bool found = false;
    for (unsigned i = 0; i < BOOT_RECORDS; i++) {
        uint64_t words[BOOT_WORDS];
        if (!read_record(memory, boot_word(i), words, BOOT_WORDS, boot_word(i))) continue;
        if (found && words[0] < boot->serial) continue;
        memcpy(boot, words, sizeof words);
        found = true;
    }
    return found;
}

/* A new boot that begins with the times of this process. */
static struct boot boot_from(const struct region_times *times, uint64_t serial, uint64_t region_ns)
{
    struct boot boot = {.serial = serial, .offset = region_ns - times->monotonic_ns};
    memcpy(boot.id, times->boot, sizeof boot.id);
    boot.monotonic_ns = times->monotonic_ns;
    boot.unix_ns = times->unix_ns;
    return boot;
}

static bool same_boot(const struct boot *boot, const struct region_times *times, uint64_t kept_monotonic_ns)
{
    const struct boot now = boot_from(times, 0, 0);
    const bool known = (boot->id[0] | boot->id[1]) != 0 && (now.id[0] | now.id[1]) != 0;
    if (known) return boot->id[0] == now.id[0] && boot->id[1] == now.id[1];
    return times->monotonic_ns >= kept_monotonic_ns;
}

/* ---- time ---- */

struct region_moment {
    uint64_t monotonic_ns, unix_ns;
};

static unsigned kept_word(uint64_t turn)
{
    return WORD_KEPT + (unsigned)(turn % KEPT_RECORDS) * KEPT_STRIDE;
}

static uint64_t kept_salt(uint64_t turn, const struct boot *boot)
{
    return boot->serial << 16 | kept_word(turn);
}

/* The latest kept time of this boot. */
static struct region_moment read_kept(const void *memory, const struct boot *boot)
{
    struct region_moment latest = {boot->monotonic_ns, boot->unix_ns};
    for (unsigned turn = 0; turn < KEPT_RECORDS; turn++) {
        uint64_t words[KEPT_WORDS];
        if (!read_record(memory, kept_word(turn), words, KEPT_WORDS, kept_salt(turn, boot))) continue;
        if (words[0] > latest.monotonic_ns) latest = (struct region_moment){words[0], words[1]};
    }
    return latest;
}

static uint64_t elapsed_ns(uint64_t from_unix_ns, uint64_t to_unix_ns)
{
    if (to_unix_ns < from_unix_ns || to_unix_ns - from_unix_ns > YEAR_NS) return 0;
    return to_unix_ns - from_unix_ns;
}

static uint64_t sane_ns(uint64_t region_ns)
{
    return least(most(region_ns, REGION_SECOND_NS), TIME_MAX_NS);
}

uint64_t region_time_offset(void *memory, const struct region_times *times)
{
    struct boot boot = {0};
    const bool known = read_boot(memory, &boot);
    const struct region_moment kept = read_kept(memory, &boot);
    const uint64_t now_ns = times->monotonic_ns + boot.offset;
    if (known && same_boot(&boot, times, kept.monotonic_ns) && now_ns == sane_ns(now_ns)) return boot.offset;
    const uint64_t kept_ns = sane_ns(kept.monotonic_ns + boot.offset);
    const uint64_t region_ns = sane_ns(kept_ns + elapsed_ns(kept.unix_ns, times->unix_ns));
    boot = boot_from(times, boot.serial + 1, region_ns);
    write_boot(memory, &boot);
    return boot.offset;
}

uint64_t region_epoch_ns(const void *memory)
{
    struct boot boot = {0};
    if (!read_boot(memory, &boot)) return 0;
    const uint64_t region_ns = boot.monotonic_ns + boot.offset;
    return boot.unix_ns > region_ns ? boot.unix_ns - region_ns : 0;
}

void region_keep_time(void *memory, const struct region_times *times)
{
    struct boot boot;
    if (!read_boot(memory, &boot) || !same_boot(&boot, times, boot.monotonic_ns)) return;
    const uint64_t words[KEPT_WORDS] = {times->monotonic_ns, times->unix_ns};
    const uint64_t turn = atom_add(region_word(memory, WORD_TURN), 1);
    write_record(memory, kept_word(turn), words, KEPT_WORDS, kept_salt(turn, &boot));
}

/* ---- the whole page ---- */

static uint64_t format_of(const struct region_shape *shape)
{
    const uint64_t version = shape->kind == REGION_WIDE    ? VERSION_WIDE
                             : shape->kind == REGION_PARTS ? VERSION_PARTS
                             : shape->beside               ? VERSION_BESIDE
                                                           : VERSION_SLOTS;
    return UINT64_C(0x01020304) << 32 | (uint64_t)sizeof(void *) << 16 | version;
}

struct region_format region_read_format(const void *memory)
{
    const uint64_t format = atom_load(word_in(memory, WORD_FORMAT)),
                   known = format_of(&(struct region_shape){.kind = REGION_SLOTS});
    struct region_format told = {.other_order = format >> 32 != known >> 32};
    struct region_shape shape = {.beside = false}, beside = {.beside = true};
    told.other_words = !told.other_order && (format >> 16 & UINT16_MAX) != (known >> 16 & UINT16_MAX);
    if (told.other_order || told.other_words) return told;
    told.version = (unsigned)(format & UINT16_MAX);
    if (read_shape(memory, &beside)) shape = beside;
    else if (!read_shape(memory, &shape)) return told;
    told.kind = shape.kind;
    shape.beside = true;
    told.reads = (unsigned)(format_of(&shape) & UINT16_MAX);
    return told;
}

void region_make(void *memory, const struct region_shape *shape, uint64_t area_bytes, const struct region_times *times)
{
    const struct region_area area = {REGION_PAGE, area_bytes};
    const struct boot boot = boot_from(times, 1, sane_ns(times->monotonic_ns));
    atom_store_release(region_word(memory, WORD_MAGIC), magic_of(making));
    atom_store_release(region_word(memory, WORD_FORMAT), format_of(shape));
    write_shape(memory, shape);
    write_area(memory, 0, &area);
    write_boot(memory, &boot);
    atom_store_release(region_newest(memory), 1);
    atom_store_release(region_word(memory, WORD_MAGIC), magic_of(made));
}

static bool only_zeros(const void *memory, uint64_t size)
{
    const uint64_t first = least(size, REGION_PAGE), words = first / WORD_BYTES;
    const uint8_t *bytes = memory;
    uint64_t any = 0;
    for (unsigned i = 0; i < words; i++) any |= atom_load(word_in(memory, i));
    for (uint64_t i = words * WORD_BYTES; i < first; i++) any |= bytes[i];
    return any == 0;
}

static enum region_answer read_magic(const void *memory, uint64_t size)
{
    const uint64_t magic = size < WORD_BYTES ? 0 : atom_load_acquire(word_in(memory, WORD_MAGIC));
    if (magic == 0) return only_zeros(memory, size) ? REGION_EMPTY : REGION_FOREIGN;
    if (magic != magic_of(making) && magic != magic_of(made)) return REGION_FOREIGN;
    if (size < REGION_PAGE) return REGION_DAMAGED;
    return magic == magic_of(made) ? REGION_SOUND : REGION_EMPTY;
}

enum region_answer region_read(const void *memory, uint64_t size, struct region_view *view)
{
    struct region_view copy = {.shape = {.kind = REGION_SLOTS}};
    struct boot boot;
    const enum region_answer magic = read_magic(memory, size);
    if (magic != REGION_SOUND) return magic;
    const uint64_t format = atom_load(word_in(memory, WORD_FORMAT)), version = format & UINT16_MAX;
    if ((format ^ format_of(&copy.shape)) > UINT16_MAX || version == 0 || version > VERSIONS) return REGION_VERSION;
    copy.shape.beside = version == VERSION_BESIDE;
    if (!read_shape(memory, &copy.shape)) return REGION_DAMAGED;
    if (format != format_of(&copy.shape)) return REGION_VERSION;
    if (!read_areas(memory, size, &copy)) return REGION_DAMAGED;
    if (!read_boot(memory, &boot)) return REGION_DAMAGED;
    *view = copy;
    return REGION_SOUND;
}

bool region_same_shape(const struct region_shape *a, const struct region_shape *b)
{
    return a->unit == b->unit && a->when_full == b->when_full && a->slot_bytes == b->slot_bytes &&
           a->secret.word[0] == b->secret.word[0] && a->secret.word[1] == b->secret.word[1];
}

enum region_answer region_read_more(const void *memory, uint64_t size, struct region_view *view)
{
    struct region_view copy;
    const enum region_answer answer = region_read(memory, size, &copy);
    if (answer != REGION_SOUND) return answer;
    if (copy.shape.kind != view->shape.kind || copy.shape.beside != view->shape.beside ||
        !region_same_shape(&copy.shape, &view->shape) || copy.areas < view->areas)
        return REGION_DAMAGED;
    if (memcmp(copy.area, view->area, view->areas * sizeof *copy.area) != 0) return REGION_DAMAGED;
    *view = copy;
    return REGION_SOUND;
}
