/* SPDX-License-Identifier: MIT
   A table of wide slots in memory of the test's own, whose locks are counted. */
#ifndef WEIR_TEST_WIDE_RIG_H
#define WEIR_TEST_WIDE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "share/table/wide.h"
#include "share/table/wide_layout.h"
#include "share/table/wide_state.h"
#include "unit/plans.h"

struct home {
    struct wide wide;
    uint64_t bytes, now_ns;
    uint32_t events;
    int held[WIDE_LOCKS];
};

static int fails_in; /* so many locks on, one cannot be had; 0: none */

static inline bool lock(void *context, unsigned stripe)
{
    struct home *home = context;
    if (fails_in != 0 && --fails_in == 0) return false;
    assert_int_equal(home->held[stripe]++, 0);
    return true;
}

static inline void unlock(void *context, unsigned stripe)
{
    struct home *home = context;
    assert_int_equal(--home->held[stripe], 0);
}

static inline void open_table(struct home *home, uint64_t keys_max, const weir_plan *plan, bool kept,
                              enum table_when_full when_full)
{
    memset(home, 0, sizeof *home);
    struct wide *wide = &home->wide;
    home->bytes = wide_bytes(keys_max, weir_state_size(plan) / sizeof(uint64_t), kept, &wide->slots, &wide->slot_words);
    wide->plan_sets = wide_sets_in(home->bytes);
    wide->memory = aligned_alloc(LINE_WORDS * sizeof(uint64_t), home->bytes);
    assert_non_null(wide->memory);
    memset(wide->memory, 0, home->bytes);
    wide->kept = kept;
    wide->paper = malloc(wide->slot_words * sizeof(uint64_t));
    assert_non_null(wide->paper);
    wide->when_full = when_full;
    wide->lock = lock;
    wide->unlock = unlock;
    wide->context = home;
    home->now_ns = S;
}

static inline struct rules rules_of(const weir_plan *plan)
{
    return plan_rules(plan_inside_const(plan));
}

static inline weir_decision take_from(struct home *home, uint64_t hash, const weir_plan *plan, uint64_t cost)
{
    weir_decision decision;
    const struct ask ask = {.now_ns = home->now_ns, .cost = cost};
    assert_true(wide_ask(&home->wide, hash, rules_of(plan), &ask, &decision, &home->events));
    return decision;
}

/* Of its first bucket: of a table of up to 64 slots, the only one. */
static inline uint64_t *floor_of(const struct home *home)
{
    const uint64_t before = wide_plans_bytes(home->wide.plan_sets) / sizeof(uint64_t);
    return (uint64_t *)home->wide.memory + before + wide_whole_lines(wide_capacity(&home->wide));
}

/* The word in which the only key of this limit has its fingerprint; the state is behind the next. */
static inline uint64_t *seat_of(const struct home *home, const weir_plan *plan)
{
    uint64_t *word = floor_of(home), *const end = (uint64_t *)home->wide.memory + home->bytes / sizeof *word;
    while (word < end && *word != wide_fingerprint(rules_of(plan))) word++;
    assert_true(word < end);
    return word;
}

static inline void close_table(struct home *home)
{
    free(home->wide.paper);
    free(home->wide.memory);
}

/* Two slots; three keys.  Key 1 is idle at 10 s, key 2 at 11 s. */
static inline void fill_two(struct home *home, const weir_plan *plan, enum table_when_full when_full, bool kept)
{
    open_table(home, 2, plan, kept, when_full);
    home->now_ns = 0;
    assert_int_equal(take_from(home, 10, plan, 2).verdict, WEIR_ALLOW);
    assert_int_equal(home->events, TABLE_NEW);
    home->now_ns = S;
    assert_int_equal(take_from(home, 20, plan, 2).verdict, WEIR_ALLOW);
    assert_int_equal(take_from(home, 20, plan, 1).verdict, WEIR_DENY);
    assert_int_equal(home->events, 0);
}

/* The part is beside the table, and has as many slots. */
static inline void open_part(struct home *part, struct home *home)
{
    *part = *home;
    part->wide.part = calloc(1, wide_part_bytes(&home->wide, home->wide.slots));
    assert_non_null(part->wide.part);
    part->wide.beside = &home->wide;
    part->wide.context = part;
}

#endif
