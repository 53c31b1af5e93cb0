/* SPDX-License-Identifier: MIT
   Any first page is answered, and what is found sound can be followed blindly; and a life of boots,
   clocks and deaths, held against a list of all that was kept.

   The sources are included, so that hostile pages have checks that fit. */
#include "share/table/region.c"

#include <inttypes.h>
#include <stdlib.h>

#include "property/property.h"

static struct region_times times_of(uint64_t boot, uint64_t monotonic_ns, uint64_t unix_ns)
{
    struct region_times times = {{0}, monotonic_ns, unix_ns};
    memcpy(times.boot, &boot, sizeof boot);
    return times;
}

/* ---- hostile pages ---- */

/* Small, large, page-aligned, or around a power of two. */
static uint64_t pick_number(struct prop *prop)
{
    const uint64_t value = prop_pick_size(prop, UINT64_MAX);
    switch (prop_pick(prop, 5)) {
    case 0:
        return value;
    case 1:
        return value & ~(uint64_t)(REGION_PAGE - 1);
    case 2:
        return (UINT64_C(1) << prop_pick(prop, 64)) - 1 + prop_pick(prop, 3);
    case 3:
        return UINT64_MAX - prop_pick(prop, 3 * REGION_PAGE);
    default:
        return prop_pick(prop, 20) * REGION_PAGE;
    }
}

static struct region_shape pick_shape(struct prop *prop)
{
    struct region_shape shape = {REGION_SLOTS, (int32_t)prop_pick(prop, 3), 0, SLOT_BYTES, {{1, 2}}, false};
    if (prop_chance(prop, 4)) shape.kind = REGION_WIDE;
    if (prop_chance(prop, 20)) shape.kind = (enum region_kind)prop_pick(prop, 5);
    if (prop_chance(prop, 20)) shape.unit = (int32_t)(uint32_t)prop_pick_size(prop, UINT32_MAX);
    if (prop_chance(prop, 20)) shape.when_full = (uint32_t)prop_pick_size(prop, UINT32_MAX);
    if (prop_chance(prop, 8)) shape.slot_bytes = (uint32_t)prop_pick_size(prop, UINT32_MAX);
    return shape;
}

/* Each of these is something that a process with the file can do. */
static void spoil(struct prop *prop, void *page)
{
    const uint64_t words[RECORD_WORDS_MAX] = {pick_number(prop), pick_number(prop), pick_number(prop),
                                              pick_number(prop), pick_number(prop), pick_number(prop)};
    const unsigned index = (unsigned)prop_pick(prop, REGION_AREAS_MAX);
    switch (prop_pick(prop, 6)) {
    case 0:
        atom_store(region_word(page, (unsigned)prop_pick(prop, PAGE_WORDS)), words[0]);
        break;
    case 1:
        write_record(page, WORD_ONCE, words, ONCE_WORDS, WORD_ONCE);
        break;
    case 2:
        write_record(page, area_word(index), words, AREA_WORDS, area_word(index));
        break;
    case 3:
        write_record(page, boot_word(index), words, BOOT_WORDS, boot_word(index));
        break;
    case 4:
        atom_store(region_newest(page), prop_pick(prop, REGION_AREAS_MAX + 2));
        break;
    default:
        ((uint8_t *)page)[prop_pick(prop, REGION_PAGE)] ^= (uint8_t)(1 + prop_pick(prop, 255));
        break;
    }
}

static void check_sound(struct prop *prop, const struct region_view *view, uint64_t size)
{
    const struct region_shape *shape = &view->shape;
    prop_check(prop, shape->kind >= REGION_SLOTS && shape->kind <= REGION_PARTS, "kind %d", (int)shape->kind);
    prop_check(prop, shape->unit >= -63 && shape->unit <= 63, "unit %" PRId32, shape->unit);
    prop_check(prop, shape->when_full <= 3, "when full %" PRIu32, shape->when_full);
    prop_check(prop, shape->slot_bytes >= 16 && shape->slot_bytes % 8 == 0, "slots of %" PRIu32, shape->slot_bytes);
    prop_check(prop, shape->kind != REGION_SLOTS || shape->slot_bytes == 16, "slots of %" PRIu32, shape->slot_bytes);
    prop_check(prop, view->areas >= 1 && view->areas <= REGION_AREAS_MAX, "%u areas", view->areas);
    for (unsigned i = 0; i < view->areas; i++) {
        const uint64_t from = view->area[i].offset, bytes = view->area[i].bytes;
        prop_note(prop, "area %u: %" PRIu64 " + %" PRIu64, i, from, bytes);
        prop_check(prop, from >= 4096 && from % 4096 == 0 && bytes % 4096 == 0, "not whole pages");
        prop_check(prop, from <= UINT64_C(1) << 46 && bytes <= UINT64_C(1) << 46, "too large");
        prop_check(prop, from + bytes <= size, "behind the end, %" PRIu64, size);
        prop_check(prop, bytes >= shape->slot_bytes, "not even one slot");
        for (unsigned j = 0; j < i; j++) {
            const struct region_area *other = &view->area[j];
            prop_check(prop, from >= other->offset + other->bytes || other->offset >= from + bytes, "on area %u", j);
        }
    }
}

static void check_time(struct prop *prop, void *page)
{
    const struct region_times times =
        times_of(prop_pick(prop, 3), prop_pick_size(prop, UINT64_C(1) << 60), prop_pick_size(prop, UINT64_MAX));
    region_keep_time(page, &times);
    const uint64_t region_ns = region_time_offset(page, &times) + times.monotonic_ns;
    prop_check(prop, region_ns >= REGION_SECOND_NS && region_ns <= UINT64_C(1) << 62, "it is %" PRIu64, region_ns);
}

/* Pages are copied to memory of their own size, so that a sanitizer sees a look behind their end. */
static enum region_answer look(struct prop *prop, const void *page, uint64_t size, struct region_view *view)
{
    const uint64_t seen = size < REGION_PAGE ? size : REGION_PAGE;
    void *copy = malloc(seen != 0 ? seen : 1);
    memcpy(copy, page, seen);
    const enum region_answer answer = region_read(copy, size, view);
    free(copy);
    prop_check(prop, answer <= REGION_DAMAGED, "answer %d", (int)answer);
    if (answer == REGION_SOUND) check_sound(prop, view, size);
    return answer;
}

static void check_more(struct prop *prop, void *page, uint64_t size, struct region_view *view)
{
    const struct region_view before = *view;
    const enum region_answer answer = region_read_more(page, size, view);
    if (answer != REGION_SOUND) {
        prop_check(prop, memcmp(view, &before, sizeof before) == 0, "the view was changed");
        return;
    }
    check_sound(prop, view, size);
    prop_check(prop, memcmp(&view->shape, &before.shape, sizeof before.shape) == 0, "another shape");
    prop_check(prop, view->areas >= before.areas, "fewer areas");
    prop_check(prop, memcmp(view->area, before.area, before.areas * sizeof *before.area) == 0, "other areas");
}

static void hostile(struct prop *prop)
{
    uint64_t page[PAGE_WORDS] = {0};
    struct region_view view;
    memset(&view, 0, sizeof view);
    const struct region_shape shape = pick_shape(prop);
    const struct region_times times = times_of(1, prop_pick_size(prop, UINT64_MAX), prop_pick_size(prop, UINT64_MAX));
    const uint64_t bytes = prop_chance(prop, 4) ? pick_number(prop) : (1 + prop_pick(prop, 8)) * REGION_PAGE;
    const uint64_t size = prop_chance(prop, 4) ? pick_number(prop) : 10 * REGION_PAGE + pick_number(prop) % (1 << 20);
    if (!prop_chance(prop, 8)) region_make(page, &shape, bytes, &times);
    for (uint64_t more = prop_pick(prop, 4); more > 0 && look(prop, page, UINT64_MAX, &view) == REGION_SOUND; more--) {
        if (region_add_area(page, &view, prop_chance(prop, 3) ? pick_number(prop) : REGION_PAGE)) {
            prop_check(prop, look(prop, page, UINT64_MAX, &view) == REGION_SOUND,
                       "an area was added that nobody reads");
        }
    }
    while (prop_more(prop, 2)) spoil(prop, page);
    const enum region_answer answer = look(prop, page, size, &view);
    while (prop_more(prop, 2)) spoil(prop, page);
    if (answer == REGION_SOUND) check_more(prop, page, size, &view);
    check_time(prop, page);
    look(prop, page, size, &view);
}

/* ---- a life ---- */

struct kept {
    uint64_t region_ns, unix_ns;
};

/* The machine as it is, and all that this boot has kept and not spoilt: a list, the last of it counts. */
struct life {
    uint64_t page[PAGE_WORDS];
    uint64_t boot, monotonic_ns, unix_ns, offset;
    uint64_t turns;
    struct kept began, kept[KEPT_RECORDS];
};

static struct region_times now_of(const struct life *life)
{
    return times_of(life->boot, life->monotonic_ns, life->unix_ns);
}

static void pass(struct prop *prop, struct life *life)
{
    const uint64_t ns = prop_pick_size(prop, 1000 * REGION_SECOND_NS);
    life->monotonic_ns += ns;
    life->unix_ns += ns;
    if (prop_chance(prop, 10)) life->unix_ns = UINT64_C(1) << 60 | prop_pick_size(prop, UINT64_C(1) << 58);
}

enum death { NO_DEATH, EARLY_DEATH, LATE_DEATH };

/* Perhaps some of the words that differ are not written: whoever should have done it is dead. */
static enum death die(struct prop *prop, struct life *life, const uint64_t from[PAGE_WORDS])
{
    unsigned written = 0, lost = 0;
    if (!prop_chance(prop, 3)) return NO_DEATH;
    for (unsigned i = 0; i < PAGE_WORDS; i++) {
        if (life->page[i] == from[i] || i == WORD_TURN) continue;
        if (prop_chance(prop, 2)) {
            life->page[i] = from[i];
            lost++;
        } else {
            written++;
        }
    }
    if (lost == 0) return NO_DEATH;
    return written == 0 ? EARLY_DEATH : LATE_DEATH;
}

static void keep(struct prop *prop, struct life *life)
{
    static const char *const said[] = {"", ", dead before", ", dead"};
    uint64_t before[PAGE_WORDS];
    const struct region_times times = now_of(life);
    memcpy(before, life->page, sizeof before);
    region_keep_time(life->page, &times);
    const enum death death = die(prop, life, before);
    struct kept *kept = &life->kept[life->turns++ % KEPT_RECORDS];
    prop_note(prop, "kept %" PRIu64 " %" PRIu64 "%s", life->monotonic_ns + life->offset, life->unix_ns, said[death]);
    if (death == NO_DEATH) *kept = (struct kept){life->monotonic_ns + life->offset, life->unix_ns};
    if (death == LATE_DEATH) *kept = (struct kept){0, 0};
}

static struct kept latest(const struct life *life)
{
    struct kept latest = life->began;
    for (unsigned i = 0; i < KEPT_RECORDS; i++) {
        if (life->kept[i].region_ns > latest.region_ns) latest = life->kept[i];
    }
    return latest;
}

/* Another boot, perhaps a few more in which whoever opened the file died before he knew the time. */
static void reboot(struct prop *prop, struct life *life)
{
    const uint64_t off_ns = prop_pick_size(prop, 2 * YEAR_NS);
    const struct kept last = latest(life);
    uint64_t before[PAGE_WORDS];
    enum death death;
    life->unix_ns = prop_chance(prop, 8) ? prop_pick_size(prop, UINT64_C(1) << 62) : life->unix_ns + off_ns;
    do {
        life->boot++;
        life->monotonic_ns = prop_pick_size(prop, 1000000 * REGION_SECOND_NS);
        memcpy(before, life->page, sizeof before);
        const struct region_times times = now_of(life);
        life->offset = region_time_offset(life->page, &times);
        death = die(prop, life, before);
    } while (death != NO_DEATH);
    uint64_t expected = last.region_ns;
    if (life->unix_ns >= last.unix_ns && life->unix_ns - last.unix_ns <= YEAR_NS) {
        expected += life->unix_ns - last.unix_ns;
    }
    const uint64_t region_ns = life->offset + life->monotonic_ns;
    prop_check(prop, region_ns == expected, "it is %" PRIu64 ", not %" PRIu64, region_ns, expected);
    life->began = (struct kept){region_ns, life->unix_ns};
    memset(life->kept, 0, sizeof life->kept);
}

static void check_same_boot(struct prop *prop, struct life *life)
{
    struct region_view view;
    const struct region_times times = now_of(life);
    prop_check(prop, region_time_offset(life->page, &times) == life->offset, "another offset in the same boot");
    prop_check(prop, region_read(life->page, 2 * REGION_PAGE, &view) == REGION_SOUND, "not sound");
}

static void live(struct prop *prop)
{
    const struct region_shape shape = {REGION_SLOTS, 2, 0, SLOT_BYTES, {{1, 2}}, false};
    struct life life = {.boot = 1, .monotonic_ns = REGION_SECOND_NS + prop_pick_size(prop, UINT64_C(1) << 50)};
    life.unix_ns = UINT64_C(1) << 60 | prop_pick_size(prop, UINT64_C(1) << 58);
    const struct region_times times = now_of(&life);
    region_make(life.page, &shape, REGION_PAGE, &times);
    life.began = (struct kept){life.monotonic_ns, life.unix_ns};
    while (prop_more(prop, 20)) {
        prop_step(prop);
        pass(prop, &life);
        switch (prop_pick(prop, 4)) {
        case 0:
            reboot(prop, &life);
            break;
        case 1:
            check_same_boot(prop, &life);
            break;
        default:
            keep(prop, &life);
            break;
        }
    }
}

static void region_property(struct prop *prop)
{
    prop_step(prop);
    if (prop_pick(prop, 2) == 0) hostile(prop);
    else live(prop);
}

PROPERTY("region", region_property, 60000);
