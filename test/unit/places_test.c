/* SPDX-License-Identifier: MIT
   Where a key may be in a table: the area, the two buckets of many hashes at once, and from a bucket back to the other
   areas, computed without memory behind them. */
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

enum { SAME_TAG = 1 << 16 }; /* so many of the upper halves of a hash have the same bits in the tag */

/* Of all hashes with this tag that choose this bucket: where all of them are at home, or NULL. */
static const struct table_bucket *where_all_are(const struct table_area *home, const struct table_area *area,
                                                const struct table_bucket *bucket, uint64_t tag, int from, int choice)
{
    const struct table_bucket *all = NULL;
    for (uint64_t i = 0; i < SAME_TAG; i++) {
        const uint64_t hash = i << TABLE_TAG_BITS | tag;
        if (table_bucket_of(area, hash, from) != bucket) continue;
        const struct table_bucket *at_home = table_bucket_of(home, hash, choice);
        if (all != NULL && all != at_home) return NULL;
        all = at_home;
    }
    return all;
}

/* The same for tags of the first and the last hash of a bucket, and of those beside them, against all hashes there are
   with that tag; in areas of powers of two and of others, up to as many buckets as a pointer tells apart. */
static void from_the_edges_of_a_bucket(void **unused)
{
    (void)unused;
    static const uint64_t most = SIZE_MAX > UINT32_MAX ? UINT32_MAX : 1 << 24;
    const uint64_t halves[] = {3, 1 << 10, 1 << 16, (1 << 16) + 1, (1 << 20) - 1, 1 << 24, most};
    enum { HALVES = sizeof halves / sizeof halves[0], EDGES = 1500 };
    uint64_t seed = 13;
    for (int round = 0; round < EDGES; round++) {
        const struct table_area area = area_of(halves[round % HALVES]), home = area_of(random_positive(&seed, 20));
        const uint64_t place = round % 3 == 0 ? random_below(&seed, 2) : random_below(&seed, area.half);
        const uint64_t next = place + random_below(&seed, 2),
                       edge = ((next << 32) + area.half - 1) / area.half + random_below(&seed, 5) - 2;
        const uint64_t tag = (edge << 32 | random_below(&seed, UINT32_MAX) | 1) & (UINT64_MAX >> TABLE_TAG_SHIFT);
        const int from = round % 2, choice = (int)random_below(&seed, 2);
        const uint64_t second = area.half + (place + table_stride(&area, tag)) % area.half;
        const struct table_bucket *bucket = &area.bucket[from == 0 ? place : second];
        assert_ptr_equal(table_bucket_at_home(&home, &area, bucket, tag, choice),
                         where_all_are(&home, &area, bucket, tag, from, choice));
    }
}

/* ---- which area has a key ---- */

/* Files keep keys by what they draw, so it is never another number. */
static void draws_stay_as_they_are(void **unused)
{
    (void)unused;
    assert_int_equal(table_draw(1, 1), 0xc5a055e9);
    assert_int_equal(table_draw(1, 2), 0x6d15454d);
    assert_int_equal(table_draw(UINT64_C(0xffffffffffff), 1), 0x5ef6b374);
    assert_int_equal(table_draw(UINT64_C(0x123456789abc), 7), 0xb801c2e9);
}

/* A key goes to an area if it draws less than that one's share, and to none that is not counted. */
static void drawn_below_the_share(void **unused)
{
    (void)unused;
    struct table table = {.count = 2, .area = {area_of(4), area_of(4)}};
    table_divide(&table, true);
    for (uint64_t tag = 1; tag <= 100; tag++) {
        table.share[1] = table_draw(tag, 1) + 1;
        assert_int_equal(table_home(&table, tag), 1);
        table.share[1] = table_draw(tag, 1);
        assert_int_equal(table_home(&table, tag), 0);
        table.count = 1;
        table.share[1] = UINT64_C(1) << 32;
        assert_int_equal(table_home(&table, tag), 0);
        table.count = 2;
    }
}

/* What grows in place has all keys in its last area, also one with as many areas as there may be. */
static void divided(void **unused)
{
    (void)unused;
    struct table table = {.when_full = TABLE_DENY, .longest = 1000};
    for (unsigned i = 0; i < TABLE_AREAS_MAX; i++) table.area[i] = area_of(i + 1);
    for (table.count = 1; table.count <= TABLE_AREAS_MAX; table.count++) {
        table_divide(&table, false);
        assert_int_equal(table.home, table.count - 1);
        assert_int_equal(table.all.half, table.count);
        table_divide(&table, true);
        assert_int_equal(table.home, 0);
        assert_int_equal(table.all.half, table.count == 1 ? 1 : 0);
    }
    assert_int_equal(table.when_full, TABLE_DENY);
    assert_int_equal(table.longest, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_pairs_as_one_by_one),   cmocka_unit_test(from_a_bucket_to_another_area),
        cmocka_unit_test(from_the_edges_of_a_bucket), cmocka_unit_test(draws_stay_as_they_are),
        cmocka_unit_test(drawn_below_the_share),      cmocka_unit_test(divided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
