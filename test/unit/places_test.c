/* SPDX-License-Identifier: MIT
   Where a key may be in a table: the two buckets of many hashes at once, and from a bucket back to the other areas,
   computed without memory behind them; and which slot a newcomer takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "host/lanes.h"
#include "share/table/look.h"
#include "share/table/pairs.h"
#include "unit/random.h"

enum { ROUNDS = 2000 };

static struct table_bucket somewhere;

static struct table_area area_of(uint64_t half)
{
    return (struct table_area){.bucket = &somewhere, .half = half};
}

/* Of one area of any size or of several; so many at once, in lanes or without. */
static void many_pairs_as_one_by_one(void **unused)
{
    (void)unused;
    uint64_t seed = 11;
    for (int round = 0; round < ROUNDS; round++) {
        struct table table = {.count = 1 + (unsigned)(round % 3 == 0), .newest = NULL};
        for (unsigned i = 0; i < table.count; i++)
            table.area[i] = area_of(round % 5 == 1 ? UINT64_C(1) << 33 : random_positive(&seed, 32));
        table_divide(&table, round % 2 == 0);
        uint64_t hash[LANES];
        for (int i = 0; i < LANES; i++) hash[i] = random_one_in(&seed, 9) ? 0 : random_word(&seed);
        const bool in_lanes = random_one_in(&seed, 2) && host_has_lanes();
        const size_t count = round % 7 == 0 ? random_below(&seed, LANES) : LANES;
        struct table_pairs pairs, before;
        memset(&pairs, 0xa5, sizeof pairs);
        before = pairs;
        table_fetch_pairs(&table, in_lanes, hash, count, &pairs);
        for (size_t i = 0; i < count; i++) {
            const struct table_pair one = table_pair_of(&table, hash[i]), got = table_pair_at(&pairs, i);
            assert_ptr_equal(got.first, one.first);
            assert_ptr_equal(got.second, one.second);
            assert_int_equal(got.tag, one.tag);
        }
        /* There is nothing behind the last. */
        assert_memory_equal(pairs.tag + count, before.tag + count, (LANES - count) * sizeof pairs.tag[0]);
    }
}

/* From where a key is in one area to where it is in another: that, or not known; known from 2^16 buckets on; and never
   for a place where no key of that tag can be. */
static void from_a_bucket_to_another_area(void **unused)
{
    (void)unused;
    uint64_t seed = 12;
    int known = 0, impossible = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const struct table_area area = area_of(random_positive(&seed, 24)), home = area_of(random_positive(&seed, 24));
        const uint64_t hash = random_word(&seed) | 1;
        for (int i = 0; i < 4; i++) {
            const int from = i / 2, choice = i % 2;
            const struct table_bucket *bucket = table_bucket_of(&area, hash, from);
            const struct table_bucket *found = table_bucket_at_home(&home, &area, bucket, table_tag(hash), choice);
            known += found != NULL;
            if (area.half >= 1 << 16 || found != NULL) assert_ptr_equal(found, table_bucket_of(&home, hash, choice));
        }
        const struct table_bucket *any = &area.bucket[random_below(&seed, 2 * area.half)];
        impossible += area.half > 1 << 20 && table_bucket_at_home(&home, &area, any, table_tag(hash), 0) == NULL;
    }
    assert_true(known > ROUNDS && impossible > ROUNDS / 20);
}

/* ---- which slot a newcomer takes ---- */

static uint64_t owner_of(uint64_t tag)
{
    return tag << TABLE_TAG_SHIFT;
}

/* Of two idle slots the one that has been idle for longest; a time that is too far ahead to be true is of the last that
   are taken. */
static void times_that_cannot_be_true_come_last(void **unused)
{
    (void)unused;
    enum { FAR_AHEAD = 2, IDLE = 1, NOW = 1000000 };
    static _Alignas(64) struct table_bucket memory[2];
    static struct atom newest = {1};
    struct table table = {.newest = &newest, .count = 1, .when_full = TABLE_DENY, .longest = NOW};
    table.area[0] = (struct table_area){.bucket = memory, .half = 1};
    table_divide(&table, false);
    for (unsigned i = 0; i < 2 * TABLE_SLOTS; i++) {
        struct table_slot *slot = &memory[i / TABLE_SLOTS].slot[i % TABLE_SLOTS];
        atom_store(&slot->owner, owner_of(100 + i));
        atom_store(&slot->time, i == FAR_AHEAD ? NOW + (UINT64_C(1) << 55) : i == IDLE ? NOW - 5 : NOW + 5000);
    }
    const struct table_slot *const taken[] = {&memory[0].slot[IDLE], &memory[0].slot[FAR_AHEAD]};
    for (uint64_t i = 0; i < 2; i++) {
        const struct table_question question = {.hash = 7 + i, .now = NOW, .cost = 10, .burst = 100, .how = TABLE_TAKE};
        struct table_answer answer;
        table_ask_slowly(&table, &question, &answer);
        assert_int_equal(answer.verdict, TABLE_TAKEN);
        assert_int_equal(answer.events, TABLE_NEW);
        assert_int_equal(atom_load(&taken[i]->owner) >> TABLE_TAG_SHIFT, 7 + i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_pairs_as_one_by_one),
        cmocka_unit_test(from_a_bucket_to_another_area),
        cmocka_unit_test(times_that_cannot_be_true_come_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
