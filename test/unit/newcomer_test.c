/* SPDX-License-Identifier: MIT
   A key without a slot: which one it takes, what the rule for full buckets says, which keys it shifts; and the slots
   that threads left that died half-way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "share/table/look.h"

enum { NOW = 1000000, BURST = 100, LIVE = 95, AREAS = 2, HALF = 2, VERSION = 5, OTHERS = 1000 };

static _Alignas(64) struct table_bucket memory[AREAS][2 * HALF], in_part[2 * HALF];
static struct atom newest, in_use;
static struct table_part part;
static struct table table;

/* ---- what is in a slot ---- */

static struct table_slot *slot_in(struct table_bucket *area, uint64_t half, int i)
{
    return &area[i < TABLE_SLOTS ? 0 : half].slot[i % TABLE_SLOTS];
}

/* Of the eight in the first bucket of each half of the first area. */
static struct table_slot *slot_number(int i)
{
    return slot_in(memory[0], table.area[0].half, i);
}

static uint64_t time_of(uint64_t version, uint64_t ahead)
{
    return version << TABLE_LAP_SHIFT | ((NOW + ahead) & TABLE_DRAINED_MAX);
}

/* ahead: past times are negative, modulo 2^64. */
static void put(struct table_slot *slot, uint64_t tag, uint64_t ahead)
{
    atom_store(&slot->owner, tag << TABLE_TAG_SHIFT | VERSION);
    atom_store(&slot->time, time_of(VERSION, ahead));
}

static void put_tentative(struct table_slot *slot, uint64_t tag, uint64_t ahead)
{
    put(slot, tag, ahead);
    atom_store(&slot->owner, atom_load(&slot->owner) | TABLE_TENTATIVE);
}

static void mark(struct table_slot *slot)
{
    atom_store(&slot->time, atom_load(&slot->time) | TABLE_DISPLACED_BIT);
}

/* The next hash after this one that chooses these buckets of its half where half is HALF, and this area if all are
   beside. */
static uint64_t hash_after(uint64_t hash, uint64_t first, uint64_t second, unsigned home)
{
    const struct table_area area = {.bucket = memory[0], .half = HALF};
    do hash += UINT64_C(0x9e3779b97f4a7c15);
    while (table_first_choice(&area, hash) != first || table_second_choice(&area, hash) != HALF + second ||
           table_home(&table, table_tag(hash)) != home);
    return hash;
}

/* By keys of the first area that could not be in any other bucket of it. */
static void fill(struct table_bucket *area, uint64_t half)
{
    uint64_t hash = OTHERS;
    for (int i = 0; i < TABLE_LOOK_SLOTS; i++) {
        hash = hash_after(hash, 0, 0, 0);
        put(slot_in(area, half, i), table_tag(hash), LIVE);
    }
}

/* Of so many areas with so many buckets in each half; the buckets of slot_number are live. */
static void begin(enum table_when_full when_full, uint64_t half, unsigned areas)
{
    memset(memory, 0, sizeof memory);
    memset(in_part, 0, sizeof in_part);
    atom_store(&newest, areas);
    atom_store(&in_use, 0);
    table = (struct table){.newest = &newest, .count = areas, .when_full = when_full, .longest = NOW};
    for (unsigned i = 0; i < areas; i++) table.area[i] = (struct table_area){.bucket = memory[i], .half = half};
    part = (struct table_part){.area = {.bucket = in_part, .half = half}, .in_use = &in_use};
    table_divide(&table, true);
    fill(memory[0], half);
}

static struct table_answer ask(uint64_t hash, uint64_t cost, const struct table_part *its_part)
{
    const struct table_question question = {
        .hash = hash, .now = NOW, .cost = cost, .burst = BURST, .how = TABLE_TAKE, .part = its_part};
    struct table_answer answer;
    table_ask(&table, &question, &answer);
    return answer;
}

static void taken(struct table_answer answer, uint64_t ahead, uint32_t events)
{
    assert_int_equal(answer.verdict, TABLE_TAKEN);
    assert_int_equal(answer.drained, NOW + ahead);
    assert_int_equal(answer.events, events);
}

static void refused(struct table_answer answer, uint64_t ahead, uint32_t events)
{
    assert_int_equal(answer.verdict, TABLE_REFUSED);
    assert_int_equal(answer.drained, NOW + ahead);
    assert_int_equal(answer.charged, 0);
    assert_int_equal(answer.events, events);
}

static bool belongs_to(const struct table_slot *slot, uint64_t hash)
{
    const uint64_t owner = atom_load(&slot->owner);
    return owner >> TABLE_TAG_SHIFT == table_tag(hash) && table_owned(owner, atom_load(&slot->time));
}

static uint64_t ahead_in(const struct table_slot *slot)
{
    return table_ahead(atom_load(&slot->time), NOW);
}

/* The slots of a key in one bucket: how many, and how far the last is ahead. */
struct found {
    int committed, tentative;
    uint64_t ahead;
};

static struct found found_in(const struct table_bucket *bucket, uint64_t hash)
{
    struct found found = {0, 0, 0};
    for (int i = 0; i < TABLE_SLOTS; i++) {
        if (!belongs_to(&bucket->slot[i], hash)) continue;
        const bool tentative = table_is_tentative(atom_load(&bucket->slot[i].owner));
        found.tentative += tentative;
        found.committed += !tentative;
        found.ahead = ahead_in(&bucket->slot[i]);
    }
    return found;
}

static void is_committed_in(const struct table_bucket *bucket, uint64_t hash, uint64_t ahead)
{
    const struct found found = found_in(bucket, hash);
    assert_int_equal(found.committed, 1);
    assert_int_equal(found.tentative, 0);
    assert_int_equal(found.ahead, ahead);
}

/* ---- which slot ---- */

/* By one letter: live; idle for 5 units, for 1000 (old), for 2^50 (ancient), Just now; for 5, of a tag
   whose lower half is 0; Free, since it was taken from its key; Zeroed; Claimed by a thread that died; a time that is
   Wrong, so far ahead that it cannot be true, or at the Border of that. */
static void put_kind(struct table_slot *slot, char kind, uint64_t tag)
{
    switch (kind) {
    case 'l':
        put(slot, tag, LIVE);
        break;
    case 'i':
        put(slot, tag, 0 - UINT64_C(5));
        break;
    case 'o':
        put(slot, tag, 0 - UINT64_C(1000));
        break;
    case 'a':
        put(slot, tag, 0 - (UINT64_C(1) << 50));
        break;
    case 'J':
        put(slot, tag, 0);
        break;
    case 't':
        atom_store(&slot->owner, UINT64_C(1) << 32 << TABLE_TAG_SHIFT);
        atom_store(&slot->time, time_of(0, 0 - UINT64_C(5)));
        break;
    case 'F':
        put(slot, tag, 0 - UINT64_C(1));
        atom_store(&slot->time, table_next_lap(atom_load(&slot->time)));
        break;
    case 'Z':
        *slot = (struct table_slot){{0}, {0}};
        break;
    case 'C':
        put_tentative(slot, tag, 0 - UINT64_C(2000));
        break;
    case 'W':
        put(slot, tag, UINT64_C(1) << 55);
        break;
    default: /* B */
        put(slot, tag, 0 - TABLE_AHEAD_END);
    }
}

/* In the bucket with more room: one without an owner, else the one that has been idle for longest, last one that is
   being claimed; of equals the first, which is found soonest. */
static void the_slot_it_takes(void **unused)
{
    (void)unused;
    static const struct {
        const char *slots;
        int taken;
    } rows[] = {
        {"lioJllll", 2}, {"llolliJl", 5}, {"liJlllol", 1}, {"iJllolll", 0}, {"llllClll", 4},
        {"CJllllll", 1}, {"loFlllll", 2}, {"laZlllll", 2}, {"ltolllll", 2}, {"lJWlllll", 1},
        {"lWilllll", 2}, {"lBilllll", 2}, {"lWllllll", 1}, {"llllliil", 5}, {"ZZZZZZZZ", 0},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        begin(TABLE_DENY, 1, 1);
        for (int i = 0; i < TABLE_LOOK_SLOTS; i++) put_kind(slot_number(i), rows[row].slots[i], OTHERS + (uint64_t)i);
        taken(ask(7, 10, NULL), 10, TABLE_NEW);
        for (int i = 0; i < TABLE_LOOK_SLOTS; i++)
            if (belongs_to(slot_number(i), 7) != (i == rows[row].taken))
                fail_msg("%s: not slot %d", rows[row].slots, rows[row].taken);
    }
}

/* The version of a slot goes up by one, so that all its bits count. */
static void its_version_is_the_next(void **unused)
{
    (void)unused;
    begin(TABLE_DENY, 1, 1);
    put(slot_number(3), OTHERS, 0);
    atom_store(&slot_number(3)->owner, atom_load(&slot_number(3)->owner) + (3 << 7));
    taken(ask(7, 10, NULL), 10, TABLE_NEW);
    assert_int_equal(atom_load(&slot_number(3)->owner), 7 << TABLE_TAG_SHIFT | ((3 << 7) + VERSION + 1));
}

/* A slot that was freed while it was ahead, by a thread that died then, keeps what it owes, and a refusal writes
   nothing. */
static void a_free_slot_that_owes(void **unused)
{
    (void)unused;
    begin(TABLE_DENY, 1, 1);
    put(slot_number(6), OTHERS, 60);
    atom_store(&slot_number(6)->time, table_next_lap(atom_load(&slot_number(6)->time)));
    struct table_bucket before[2];
    memcpy(before, memory[0], sizeof before);
    refused(ask(7, 41, NULL), 60, 0);
    assert_memory_equal(before, memory[0], sizeof before);
    taken(ask(7, 40, NULL), 100, TABLE_NEW);
}

/* ---- the rules for full buckets ---- */

static void when_all_are_live(void **unused)
{
    (void)unused;
    enum { FIRST_OWES = 40 };
    for (int i = 0; i < TABLE_LOOK_SLOTS; i++) {
        struct table_bucket before[2];
        begin(TABLE_INHERIT, 1, 1);
        put(slot_number(i), OTHERS, FIRST_OWES);
        memcpy(before, memory[0], sizeof before);
        refused(ask(7, BURST - FIRST_OWES + 1, NULL), FIRST_OWES, TABLE_FULL);
        assert_memory_equal(before, memory[0], sizeof before);
        taken(ask(7, BURST - FIRST_OWES, NULL), BURST, TABLE_FULL | TABLE_DISPLACED);
        assert_true(belongs_to(slot_number(i), 7));

        begin(TABLE_EVICT, 1, 1);
        put(slot_number(i), OTHERS, FIRST_OWES);
        taken(ask(7, BURST, NULL), BURST, TABLE_FULL | TABLE_DISPLACED);
        assert_true(belongs_to(slot_number(i), 7));

        begin(TABLE_DENY, 1, 1);
        put(slot_number(i), OTHERS, FIRST_OWES);
        memcpy(before, memory[0], sizeof before);
        refused(ask(7, 10, NULL), FIRST_OWES, TABLE_FULL);
        assert_memory_equal(before, memory[0], sizeof before);
    }
}

/* A process that does not know of the newest area is told so, and nothing else. */
static void is_told_of_an_area(struct table_answer answer)
{
    assert_int_equal(answer.verdict, TABLE_UNKNOWN);
    assert_int_equal(answer.events, 0);
    assert_int_equal(answer.drained, 0);
    assert_int_equal(answer.charged, 0);
}

static void an_area_that_is_not_known(void **unused)
{
    (void)unused;
    for (uint64_t owes = 0; owes <= 40; owes += 40) { /* at a slot for it, and where there is none */
        begin(TABLE_ALLOW, 1, 1);
        put(slot_number(3), OTHERS, owes);
        atom_store(&newest, 2);
        is_told_of_an_area(ask(7, owes == 0 ? BURST + 1 : 10, NULL));
    }
    begin(TABLE_ALLOW, 1, 1); /* at a slot that is not committed, and stays so */
    put_tentative(slot_number(3), 7, 10);
    atom_store(&newest, 2);
    is_told_of_an_area(ask(7, 10, NULL));
    assert_int_equal(found_in(&memory[0][0], 7).tentative, 1);
}

static void a_part_comes_into_use(void **unused)
{
    (void)unused;
    begin(TABLE_DENY, 1, 1);
    taken(ask(7, 10, &part), 10, TABLE_NEW);
    assert_int_equal(atom_load(&in_use), 1);
    is_committed_in(&in_part[0], 7, 10);
}

/* ---- keys that are shifted ---- */

/* A key in full buckets, in one of the first or the second half, that could be in another one that is empty. */
static uint64_t put_shiftable(struct table_bucket *area, int half, uint64_t owes)
{
    const uint64_t hash = hash_after(OTHERS, half == 0 ? 0 : 1, half == 0 ? 1 : 0, 0);
    put(&area[half == 0 ? 0 : HALF].slot[3], table_tag(hash), owes);
    return hash;
}

static struct table_bucket *where_it_is_shifted(struct table_bucket *area, int half)
{
    return &area[half == 0 ? HALF + 1 : 1];
}

/* It has room elsewhere: there it owes as much, and the newcomer owes nothing for it. */
static void shifted_to_its_other_bucket(void **unused)
{
    (void)unused;
    for (int half = 0; half < TABLE_CHOICES; half++) {
        begin(TABLE_DENY, HALF, 1);
        const uint64_t new = hash_after(7, 0, 0, 0), hash = put_shiftable(memory[0], half, 40);
        taken(ask(new, 10, NULL), 10, TABLE_NEW);
        is_committed_in(&memory[0][half == 0 ? 0 : HALF], new, 10);
        is_committed_in(where_it_is_shifted(memory[0], half), hash, 40);
        taken(ask(hash, 60, NULL), 100, 0);
    }
}

/* Nothing moves between a part and the areas. */
static void shifted_in_a_part(void **unused)
{
    (void)unused;
    for (int half = 0; half < TABLE_CHOICES; half++) {
        begin(TABLE_DENY, HALF, 1);
        fill(in_part, HALF);
        atom_store(&in_use, 1);
        const uint64_t new = hash_after(7, 0, 0, 0), hash = put_shiftable(in_part, half, 40);
        taken(ask(new, 10, &part), 10, TABLE_NEW);
        is_committed_in(&in_part[half == 0 ? 0 : HALF], new, 10);
        is_committed_in(where_it_is_shifted(in_part, half), hash, 40);
        taken(ask(hash, 60, &part), 100, 0);
    }
}

/* No key leaves a bucket where a key was displaced; from the other one it does. */
static void none_is_shifted_from_beside_a_mark(void **unused)
{
    (void)unused;
    for (int i = 0; i < TABLE_CHOICES * TABLE_CHOICES; i++) {
        const int half = i / TABLE_CHOICES, marked = i % TABLE_CHOICES;
        begin(TABLE_DENY, HALF, 1);
        const uint64_t new = hash_after(7, 0, 0, 0), hash = put_shiftable(memory[0], half, 40);
        mark(slot_number(marked * TABLE_SLOTS + 2));
        const struct table_answer answer = ask(new, 5, NULL); /* what is owed to the displaced is the least there */
        const bool shifted = found_in(where_it_is_shifted(memory[0], half), hash).committed != 0;
        assert_int_equal(answer.verdict == TABLE_TAKEN, half != marked);
        assert_int_equal(shifted, half != marked);
    }
}

/* Nor one that has a slot in its other bucket, which a thread left that died, nor such a slot. */
static void none_is_shifted_twice(void **unused)
{
    (void)unused;
    for (int half = 0; half < TABLE_CHOICES; half++) {
        begin(TABLE_DENY, HALF, 1);
        const uint64_t new = hash_after(7, 0, 0, 0), hash = put_shiftable(memory[0], half, 40);
        struct table_bucket *there = where_it_is_shifted(memory[0], half);
        put_tentative(&there->slot[2], table_tag(hash), 30);
        refused(ask(new, 10, NULL), 40, TABLE_FULL);
        table.when_full = TABLE_INHERIT;
        taken(ask(new, 10, NULL), 50, TABLE_FULL | TABLE_DISPLACED);

        begin(TABLE_DENY, HALF, 1);
        put_shiftable(memory[0], half, 40);
        struct table_slot *slot = slot_number(half * TABLE_SLOTS + 3);
        atom_store(&slot->owner, atom_load(&slot->owner) | TABLE_TENTATIVE);
        refused(ask(new, 10, NULL), 40, TABLE_FULL);
    }
}

/* A key that has another area now gives way: its copy there is settled by its next call.  One that has not stays in
   this area. */
static void strangers_and_others_give_way(void **unused)
{
    (void)unused;
    uint64_t hash = OTHERS;
    for (int i = 0; i < 20; i++) {
        const unsigned home = (unsigned)i % AREAS;
        begin(TABLE_DENY, HALF, AREAS);
        fill(memory[1], HALF);
        memset(where_it_is_shifted(memory[1], 0), 0, sizeof(struct table_bucket));
        hash = hash_after(hash, 0, 1, home);
        put(slot_number(2), table_tag(hash), 40);
        const uint64_t new = hash_after(7, 0, 0, 0);
        taken(ask(new, 10, NULL), 10, TABLE_NEW);
        is_committed_in(&memory[0][0], new, 10);
        const struct found found = found_in(where_it_is_shifted(memory[home], 0), hash);
        assert_int_equal(found.tentative, home);
        assert_int_equal(found.committed, 1 - home);
        assert_int_equal(found.ahead, 40);
        taken(ask(hash, 60, NULL), 100, 0);
        is_committed_in(where_it_is_shifted(memory[home], 0), hash, 100);
    }
}

/* ---- keys of earlier areas ---- */

/* What it owes in an earlier area moves with it; a slot there that has drained is none. */
static void from_an_earlier_area(void **unused)
{
    (void)unused;
    begin(TABLE_DENY, HALF, AREAS);
    const uint64_t hash = hash_after(7, 0, 0, 1);
    put(slot_number(5), table_tag(hash), 40);
    taken(ask(hash, 10, NULL), 50, TABLE_MOVED);
    is_committed_in(&memory[1][0], hash, 50);
    assert_int_equal(ahead_in(slot_number(5)), 0);

    begin(TABLE_DENY, HALF, AREAS);
    put(slot_number(5), table_tag(hash), 0);
    taken(ask(hash, 10, NULL), 10, TABLE_NEW);
}

/* A thread died before it raised the times beside a mark: the next call for any key of that bucket does it. */
static void beside_a_mark_in_an_earlier_area(void **unused)
{
    (void)unused;
    begin(TABLE_INHERIT, HALF, AREAS);
    const uint64_t hash = hash_after(7, 0, 0, 1);
    for (int i = 4; i < TABLE_LOOK_SLOTS; i++) put(slot_number(i), OTHERS + (uint64_t)i, 20);
    put_tentative(slot_number(6), OTHERS, 50);
    mark(slot_number(6));
    taken(ask(hash, 10, NULL), 60, TABLE_NEW);
}

/* ---- what dead threads left ---- */

/* Of two tentative slots the lower stays and owes what the higher one did. */
static void two_tentative_slots(void **unused)
{
    (void)unused;
    for (uint64_t lower = 0; lower <= 60; lower += 30) {
        begin(TABLE_DENY, 1, 1);
        put_tentative(slot_number(1), 7, lower);
        put_tentative(slot_number(5), 7, 30);
        const uint64_t owes = lower > 30 ? lower : 30;
        taken(ask(7, 10, NULL), owes + 10, 0);
        is_committed_in(&memory[0][0], 7, owes + 10);
        assert_false(belongs_to(slot_number(5), 7));
    }
}

/* What is refused there commits it, and writes no time. */
static void refused_at_a_tentative_slot(void **unused)
{
    (void)unused;
    for (int64_t ahead = -5; ahead <= 5; ahead += 5) {
        begin(TABLE_DENY, 1, 1);
        put_tentative(slot_number(3), 7, (uint64_t)ahead);
        const uint64_t time = atom_load(&slot_number(3)->time), owes = ahead > 0 ? 5 : 0;
        refused(ask(7, BURST + 1, NULL), owes, 0);
        is_committed_in(&memory[0][0], 7, owes);
        assert_true(atom_load(&slot_number(3)->time) == time);
    }
}

/* The times beside a mark are raised before its slot is committed: to what the displaced key owes, by at least one unit
   and by no more than that. */
static void a_marked_slot_is_committed(void **unused)
{
    (void)unused;
    for (int marked = 0; marked < TABLE_LOOK_SLOTS; marked++) {
        begin(TABLE_INHERIT, 1, 1);
        const int first = marked / TABLE_SLOTS * TABLE_SLOTS;
        static const uint64_t before[TABLE_SLOTS] = {80, 20, 50, 49}, after[TABLE_SLOTS] = {81, 50, 51, 50};
        for (int i = 0; i < TABLE_SLOTS; i++) put(slot_number(first + i), OTHERS + (uint64_t)i, before[i]);
        put_tentative(slot_number(marked), 7, 50);
        mark(slot_number(marked));
        taken(ask(7, 10, NULL), 60, 0);
        for (int i = 0; i < TABLE_LOOK_SLOTS; i++) {
            const bool beside = i >= first && i < first + TABLE_SLOTS;
            assert_int_equal(ahead_in(slot_number(i)), i == marked ? 60 : beside ? after[i - first] : LIVE);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slot_it_takes),
        cmocka_unit_test(its_version_is_the_next),
        cmocka_unit_test(a_free_slot_that_owes),
        cmocka_unit_test(when_all_are_live),
        cmocka_unit_test(an_area_that_is_not_known),
        cmocka_unit_test(a_part_comes_into_use),
        cmocka_unit_test(shifted_to_its_other_bucket),
        cmocka_unit_test(shifted_in_a_part),
        cmocka_unit_test(none_is_shifted_from_beside_a_mark),
        cmocka_unit_test(none_is_shifted_twice),
        cmocka_unit_test(strangers_and_others_give_way),
        cmocka_unit_test(from_an_earlier_area),
        cmocka_unit_test(beside_a_mark_in_an_earlier_area),
        cmocka_unit_test(two_tentative_slots),
        cmocka_unit_test(refused_at_a_tentative_slot),
        cmocka_unit_test(a_marked_slot_is_committed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
