/* SPDX-License-Identifier: MIT
   Giving back, sweeping, resting and counting in a table, slot by slot: each word of it is written by hand, and looked
   at after.

   Nothing about threads, which are in test/model/table_model.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "share/table/look.h"
#include "share/table/table.h"
#include "unit/plans.h"

enum { AREAS = 2, SLOTS = 2 * TABLE_SLOTS, VERSION = 3 };

static const uint64_t NOW = UINT64_C(1) << 54;

/* Two buckets in each area, so that all slots of one are those of any key. */
struct rig {
    _Alignas(64) struct table_bucket memory[AREAS][2];
    struct atom newest;
    struct table table;
};

static void make(struct rig *rig, unsigned count, bool beside)
{
    *rig = (struct rig){.newest = {count},
                        .table = {.newest = &rig->newest, .count = count, .longest = UINT64_C(1) << 52}};
    for (unsigned i = 0; i < AREAS; i++) rig->table.area[i] = (struct table_area){rig->memory[i], 1};
    table_divide(&rig->table, beside);
}

static struct table_slot *slot_of(struct rig *rig, unsigned area, int i)
{
    return &rig->memory[area][i / TABLE_SLOTS].slot[i % TABLE_SLOTS];
}

/* ahead: of now, or behind it. */
static uint64_t time_of(int64_t ahead, bool marked)
{
    const uint64_t drained = (NOW + (uint64_t)ahead) & TABLE_DRAINED_MAX;
    return (uint64_t)VERSION << TABLE_LAP_SHIFT | (marked ? TABLE_DISPLACED_BIT : 0) | drained;
}

static void write_slot(struct table_slot *slot, uint64_t tag, bool owned, uint64_t time)
{
    atom_store(&slot->owner, tag << TABLE_TAG_SHIFT | (owned ? VERSION : VERSION - 1));
    atom_store(&slot->time, time);
}

/* ---- giving back ---- */

static void what_is_given_back(void **unused)
{
    (void)unused;
    /* All from now on: the call took 6 of them, its slot ended at `end`, and it gives back 4.  The burst is 10. */
    static const struct {
        int64_t ahead, start, end, left;
    } rows[] = {
        {8, 0, 8, 4},    /* the last */
        {10, 0, 8, 6},   /* another one came behind it, and does not wait */
        {11, 0, 8, 11},  /* that one waits */
        {15, 5, 15, 11}, /* it waits itself, and is the last */
        {8, -4, 2, 6},   /* 2 of it have not drained */
        {8, -6, 0, 8},   /* all of it has drained */
        {8, -7, -1, 8},  /* ... and longer ago */
        {0, 0, 6, 0},    /* the key was forgotten */
        {-3, 0, 6, -3},  /* ... and nothing is written */
        {3, 0, 6, 0},    /* less is there than it gives back */
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct rig rig;
        make(&rig, 1, false);
        struct table_slot *slot = slot_of(&rig, 0, 2);
        write_slot(slot, 5, true, time_of(rows[i].ahead, false));
        const struct table_slip slip = {.hash = 5,
                                        .now = NOW,
                                        .start = NOW + (uint64_t)rows[i].start,
                                        .end = NOW + (uint64_t)rows[i].end,
                                        .charged = 6,
                                        .unused = 4,
                                        .burst = 10};
        table_give_back(&rig.table, &slip);
        if (atom_load(&slot->time) != time_of(rows[i].left, false)) fail_msg("row %zu", i);
    }
}

/* ---- sweeping ---- */

static void what_is_swept(void **unused)
{
    (void)unused;
    const int64_t long_ago = (int64_t)TABLE_LONG_AGO;
    const struct {
        int64_t ahead, swept;
        bool marked;
    } rows[] = {
        {5, 5, false},
        {5, 5, true},
        {-5, -5, false},
        {-5, -5, true}, /* a mark that is over is left for its key */
        {-long_ago, -long_ago, false},
        {-long_ago - 1, -long_ago, false},
        {-long_ago - 1, -long_ago, true}, /* and gone here */
    };
    for (int rest = 0; rest < 2; rest++) {
        for (size_t i = 0; i < LENGTH(rows); i++) {
            struct rig rig;
            make(&rig, 1, false);
            for (int at = 0; at < SLOTS; at++)
                write_slot(slot_of(&rig, 0, at), 5, true, time_of(rows[i].ahead, rows[i].marked));
            if (rest) assert_true(table_rest(&rig.table.area[0], NULL, 0, NOW, false));
            else table_sweep(&rig.table.area[0], 0, 2, NOW);
            const bool stays = rows[i].marked && rows[i].swept == rows[i].ahead;
            for (int at = 0; at < SLOTS; at++) {
                if (atom_load(&slot_of(&rig, 0, at)->time) != time_of(rows[i].swept, stays)) fail_msg("row %zu", i);
            }
        }
    }
}

/* All are past, and their keys have lost them; but not where another process has said so in the meantime. */
static void all_are_laid_to_rest(void **unused)
{
    (void)unused;
    const struct atom rested = {7};
    for (uint64_t seen = 6; seen <= 7; seen++) {
        struct rig rig;
        make(&rig, 1, false);
        for (int at = 0; at < SLOTS; at++) write_slot(slot_of(&rig, 0, at), 5, at != 0, time_of(5, true));
        assert_int_equal(table_rest(&rig.table.area[0], &rested, seen, NOW, true), seen == 7);
        for (int at = 0; at < SLOTS; at++) {
            const uint64_t past = time_of(-(int64_t)TABLE_LONG_AGO, false);
            const uint64_t expected = seen != 7 ? time_of(5, true) : at != 0 ? table_next_lap(past) : past;
            assert_true(atom_load(&slot_of(&rig, 0, at)->time) == expected);
        }
    }
}

/* ---- counting ---- */

static void who_is_a_stranger(void **unused)
{
    (void)unused;
    static const struct {
        unsigned home;
        bool owned, marked;
        int64_t ahead;
        bool strange, lives;
    } rows[SLOTS] = {
        {1, true, false, 5, true, true},    {0, true, false, 5, false, true}, {1, true, false, 0, false, false},
        {1, false, false, 5, false, false}, {0, false, true, 5, true, false}, {0, true, true, 5, true, true},
        {0, true, true, -1, false, false},  {1, true, false, 1, true, true},
    };
    struct rig rig;
    make(&rig, 2, true);
    uint64_t tag = 1, strange = 0, live = 0;
    for (int at = 0; at < SLOTS; at++, tag++) {
        while (table_home(&rig.table, tag) != rows[at].home) tag++;
        write_slot(slot_of(&rig, 0, at), tag, rows[at].owned, time_of(rows[at].ahead, rows[at].marked));
        strange += rows[at].strange;
        live += rows[at].lives;
        assert_int_equal(table_strangers(&rig.table, 0, NOW), strange);
        assert_int_equal(table_live(&rig.table.area[0], NOW), live);
    }
    assert_int_equal(table_strangers(&rig.table, 1, NOW), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_back),
        cmocka_unit_test(what_is_swept),
        cmocka_unit_test(all_are_laid_to_rest),
        cmocka_unit_test(who_is_a_stranger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
