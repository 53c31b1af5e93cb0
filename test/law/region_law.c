/* SPDX-License-Identifier: MIT
   region_law.c - any first page is answered, and what is found sound can be followed blindly; and a life of boots,
   clocks and deaths, held against a list of all that was kept.

   The sources are included, so that hostile pages have checks that fit. */
#include "share/table/region.c"

#include <inttypes.h>
#include <stdlib.h>

#include "law/law.h"

static struct region_times times_of(uint64_t boot, uint64_t monotonic_ns, uint64_t unix_ns)
{
    struct region_times times = {{0}, monotonic_ns, unix_ns};
    memcpy(times.boot, &boot, sizeof boot);
    return times;
}

/* ---- hostile pages ---- */

/* Small, large, page-aligned, or around a power of two. */
static uint64_t pick_number(struct law *law)
{
    const uint64_t value = law_pick_size(law, UINT64_MAX);
    switch (law_pick(law, 5)) {
    case 0:
        return value;
    case 1:
        return value & ~(uint64_t)(REGION_PAGE - 1);
    case 2:
        return (UINT64_C(1) << law_pick(law, 64)) - 1 + law_pick(law, 3);
    case 3:
        return UINT64_MAX - law_pick(law, 3 * REGION_PAGE);
    default:
        return law_pick(law, 20) * REGION_PAGE;
    }
}

static struct region_shape pick_shape(struct law *law)
{
    struct region_shape shape = {REGION_SLOTS, (int32_t)law_pick(law, 3), 0, SLOT_BYTES, {{1, 2}}};
    if (law_chance(law, 4)) shape.kind = REGION_WIDE;
    if (law_chance(law, 20)) shape.kind = (enum region_kind)law_pick(law, 5);
    if (law_chance(law, 20)) shape.unit = (int32_t)(uint32_t)law_pick_size(law, UINT32_MAX);
    if (law_chance(law, 20)) shape.when_full = (uint32_t)law_pick_size(law, UINT32_MAX);
    if (law_chance(law, 8)) shape.slot_bytes = (uint32_t)law_pick_size(law, UINT32_MAX);
    return shape;
}

/* Each of these is something that a process with the file can do. */
static void spoil(struct law *law, void *page)
{
    const uint64_t words[RECORD_WORDS_MAX] = {pick_number(law), pick_number(law), pick_number(law),
                                              pick_number(law), pick_number(law), pick_number(law)};
    const unsigned index = (unsigned)law_pick(law, REGION_AREAS_MAX);
    switch (law_pick(law, 6)) {
    case 0:
        atom_store(region_word(page, (unsigned)law_pick(law, PAGE_WORDS)), words[0]);
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
        atom_store(region_newest(page), law_pick(law, REGION_AREAS_MAX + 2));
        break;
    default:
        ((uint8_t *)page)[law_pick(law, REGION_PAGE)] ^= (uint8_t)(1 + law_pick(law, 255));
        break;
    }
}

static void check_sound(struct law *law, const struct region_view *view, uint64_t size)
{
    const struct region_shape *shape = &view->shape;
    law_check(law, shape->kind >= REGION_SLOTS && shape->kind <= REGION_PARTS, "kind %d", (int)shape->kind);
    law_check(law, shape->unit >= -63 && shape->unit <= 63, "unit %" PRId32, shape->unit);
    law_check(law, shape->when_full <= 3, "when full %" PRIu32, shape->when_full);
    law_check(law, shape->slot_bytes >= 16 && shape->slot_bytes % 8 == 0, "slots of %" PRIu32, shape->slot_bytes);
    law_check(law, shape->kind != REGION_SLOTS || shape->slot_bytes == 16, "slots of %" PRIu32, shape->slot_bytes);
    law_check(law, view->areas >= 1 && view->areas <= REGION_AREAS_MAX, "%u areas", view->areas);
    for (unsigned i = 0; i < view->areas; i++) {
        const uint64_t from = view->area[i].offset, bytes = view->area[i].bytes;
        law_note(law, "area %u: %" PRIu64 " + %" PRIu64, i, from, bytes);
        law_check(law, from >= 4096 && from % 4096 == 0 && bytes % 4096 == 0, "not whole pages");
        law_check(law, from <= UINT64_C(1) << 46 && bytes <= UINT64_C(1) << 46, "too large");
        law_check(law, from + bytes <= size, "behind the end, %" PRIu64, size);
        law_check(law, bytes >= shape->slot_bytes, "not even one slot");
        for (unsigned j = 0; j < i; j++) {
            const struct region_area *other = &view->area[j];
            law_check(law, from >= other->offset + other->bytes || other->offset >= from + bytes, "on area %u", j);
        }
    }
}

static void check_time(struct law *law, void *page)
{
    const struct region_times times =
        times_of(law_pick(law, 3), law_pick_size(law, UINT64_C(1) << 60), law_pick_size(law, UINT64_MAX));
    region_keep_time(page, &times);
    const uint64_t region_ns = region_time_offset(page, &times) + times.monotonic_ns;
    law_check(law, region_ns >= REGION_SECOND_NS && region_ns <= UINT64_C(1) << 62, "it is %" PRIu64, region_ns);
}

/* Pages are copied to memory of their own size, so that a sanitizer sees a look behind their end. */
static enum region_answer look(struct law *law, const void *page, uint64_t size, struct region_view *view)
{
    const uint64_t seen = size < REGION_PAGE ? size : REGION_PAGE;
    void *copy = malloc(seen != 0 ? seen : 1);
    memcpy(copy, page, seen);
    const enum region_answer answer = region_read(copy, size, view);
    free(copy);
    law_check(law, answer <= REGION_DAMAGED, "answer %d", (int)answer);
    if (answer == REGION_SOUND) check_sound(law, view, size);
    return answer;
}

static void check_more(struct law *law, void *page, uint64_t size, struct region_view *view)
{
    const struct region_view before = *view;
    const enum region_answer answer = region_read_more(page, size, view);
    if (answer != REGION_SOUND) {
        law_check(law, memcmp(view, &before, sizeof before) == 0, "the view was changed");
        return;
    }
    check_sound(law, view, size);
    law_check(law, memcmp(&view->shape, &before.shape, sizeof before.shape) == 0, "another shape");
    law_check(law, view->areas >= before.areas, "fewer areas");
    law_check(law, memcmp(view->area, before.area, before.areas * sizeof *before.area) == 0, "other areas");
}

static void hostile(struct law *law)
{
    uint64_t page[PAGE_WORDS] = {0};
    struct region_view view;
    memset(&view, 0, sizeof view);
    const struct region_shape shape = pick_shape(law);
    const struct region_times times = times_of(1, law_pick_size(law, UINT64_MAX), law_pick_size(law, UINT64_MAX));
    const uint64_t bytes = law_chance(law, 4) ? pick_number(law) : (1 + law_pick(law, 8)) * REGION_PAGE;
    const uint64_t size = law_chance(law, 4) ? pick_number(law) : 10 * REGION_PAGE + pick_number(law) % (1 << 20);
    if (!law_chance(law, 8)) region_make(page, &shape, bytes, &times);
    for (uint64_t more = law_pick(law, 4); more > 0 && look(law, page, UINT64_MAX, &view) == REGION_SOUND; more--) {
        if (region_add_area(page, &view, law_chance(law, 3) ? pick_number(law) : REGION_PAGE)) {
            law_check(law, look(law, page, UINT64_MAX, &view) == REGION_SOUND, "an area was added that nobody reads");
        }
    }
    while (law_more(law, 2)) spoil(law, page);
    const enum region_answer answer = look(law, page, size, &view);
    while (law_more(law, 2)) spoil(law, page);
    if (answer == REGION_SOUND) check_more(law, page, size, &view);
    check_time(law, page);
    look(law, page, size, &view);
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

static void pass(struct law *law, struct life *life)
{
    const uint64_t ns = law_pick_size(law, 1000 * REGION_SECOND_NS);
    life->monotonic_ns += ns;
    life->unix_ns += ns;
    if (law_chance(law, 10)) life->unix_ns = UINT64_C(1) << 60 | law_pick_size(law, UINT64_C(1) << 58);
}

enum death { NO_DEATH, EARLY_DEATH, LATE_DEATH };

/* Perhaps some of the words that differ are not written: whoever should have done it is dead. */
static enum death die(struct law *law, struct life *life, const uint64_t from[PAGE_WORDS])
{
    unsigned written = 0, lost = 0;
    if (!law_chance(law, 3)) return NO_DEATH;
    for (unsigned i = 0; i < PAGE_WORDS; i++) {
        if (life->page[i] == from[i] || i == WORD_TURN) continue;
        if (law_chance(law, 2)) {
            life->page[i] = from[i];
            lost++;
        } else {
            written++;
        }
    }
    if (lost == 0) return NO_DEATH;
    return written == 0 ? EARLY_DEATH : LATE_DEATH;
}

static void keep(struct law *law, struct life *life)
{
    static const char *const said[] = {"", ", dead before", ", dead"};
    uint64_t before[PAGE_WORDS];
    const struct region_times times = now_of(life);
    memcpy(before, life->page, sizeof before);
    region_keep_time(life->page, &times);
    const enum death death = die(law, life, before);
    struct kept *kept = &life->kept[life->turns++ % KEPT_RECORDS];
    law_note(law, "kept %" PRIu64 " %" PRIu64 "%s", life->monotonic_ns + life->offset, life->unix_ns, said[death]);
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
static void reboot(struct law *law, struct life *life)
{
    const uint64_t off_ns = law_pick_size(law, 2 * YEAR_NS);
    const struct kept last = latest(life);
    uint64_t before[PAGE_WORDS];
    enum death death;
    life->unix_ns = law_chance(law, 8) ? law_pick_size(law, UINT64_C(1) << 62) : life->unix_ns + off_ns;
    do {
        life->boot++;
        life->monotonic_ns = law_pick_size(law, 1000000 * REGION_SECOND_NS);
        memcpy(before, life->page, sizeof before);
        const struct region_times times = now_of(life);
        life->offset = region_time_offset(life->page, &times);
        death = die(law, life, before);
    } while (death != NO_DEATH);
    uint64_t expected = last.region_ns;
    if (life->unix_ns >= last.unix_ns && life->unix_ns - last.unix_ns <= YEAR_NS) {
        expected += life->unix_ns - last.unix_ns;
    }
    const uint64_t region_ns = life->offset + life->monotonic_ns;
    law_check(law, region_ns == expected, "it is %" PRIu64 ", not %" PRIu64, region_ns, expected);
    life->began = (struct kept){region_ns, life->unix_ns};
    memset(life->kept, 0, sizeof life->kept);
}

static void check_same_boot(struct law *law, struct life *life)
{
    struct region_view view;
    const struct region_times times = now_of(life);
    law_check(law, region_time_offset(life->page, &times) == life->offset, "another offset in the same boot");
    law_check(law, region_read(life->page, 2 * REGION_PAGE, &view) == REGION_SOUND, "not sound");
}

static void live(struct law *law)
{
    const struct region_shape shape = {REGION_SLOTS, 2, 0, SLOT_BYTES, {{1, 2}}};
    struct life life = {.boot = 1, .monotonic_ns = REGION_SECOND_NS + law_pick_size(law, UINT64_C(1) << 50)};
    life.unix_ns = UINT64_C(1) << 60 | law_pick_size(law, UINT64_C(1) << 58);
    const struct region_times times = now_of(&life);
    region_make(life.page, &shape, REGION_PAGE, &times);
    life.began = (struct kept){life.monotonic_ns, life.unix_ns};
    while (law_more(law, 20)) {
        law_step(law);
        pass(law, &life);
        switch (law_pick(law, 4)) {
        case 0:
            reboot(law, &life);
            break;
        case 1:
            check_same_boot(law, &life);
            break;
        default:
            keep(law, &life);
            break;
        }
    }
}

static void region_property(struct law *law)
{
    law_step(law);
    if (law_pick(law, 2) == 0) hostile(law);
    else live(law);
}

LAW("region", region_property, 60000);
