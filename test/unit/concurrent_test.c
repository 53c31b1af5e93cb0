/* SPDX-License-Identifier: MIT
   Slots by hand, in the words of a state: which of them are in use, whose they are, and what a change of the limit
   leaves of them.

   Every number can be checked with a pencil. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/algorithm/concurrent.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "unit/plans.h"

enum { THREE = 3, OWNERS = 1 << CONCURRENT_OWNER_BITS };

/* As concurrent.c draws it, for up to three slots, and what lies behind it. */
struct state {
    uint64_t used, last_id, lost, lost_until;
    struct {
        uint64_t end, id;
    } slot[THREE + 1];
};

static uint64_t *words(const struct state *state)
{
    return (uint64_t *)(uintptr_t)state;
}

static const struct rule *rule_of(const weir_plan *plan)
{
    return &plan_inside_const(plan)->rule[0];
}

/* On the clock of all these limits. */
static uint64_t tick(uint64_t ns)
{
    const weir_plan any = plan_of("1 concurrent lease=10s");
    return tick_at(rule_of(&any), ns);
}

static struct state held_until(uint64_t first_s, uint64_t second_s, uint64_t third_s)
{
    const uint64_t ends[THREE] = {first_s * S, second_s * S, third_s * S};
    struct state state = {.used = THREE, .last_id = THREE * OWNERS};
    for (uint64_t i = 0; i < THREE; i++) {
        state.slot[i].end = ends[i];
        state.slot[i].id = (i + 1) * OWNERS;
    }
    return state;
}

/* ---- slots in use ---- */

/* Behind the last one that is held none is read any more. */
static void a_release_ends_the_use_of_what_is_behind(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t slot, used;
    } rows[] = {{2, 3}, {3, 1}, {1, 0}};
    const weir_plan plan = plan_of("3 concurrent lease=10s");
    struct state state = held_until(11, 12, 13);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        assert_int_equal(concurrent_release(rule_of(&plan), words(&state), 10 * S, rows[i].slot * OWNERS), 1);
        assert_int_equal(state.used, rows[i].used);
        assert_int_equal(state.slot[rows[i].slot - 1].end, 0);
    }
}

/* What is left in slots that are not in use holds nothing. */
static void what_is_not_in_use_is_taken(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("3 concurrent lease=10s");
    const struct algorithm *algorithm = algorithm_of(rule_of(&plan));
    for (uint64_t used = 0; used <= THREE; used++) {
        struct state state = held_until(11, 12, 13);
        state.used = used;
        const struct taken taken =
            algorithm->commit(rule_of(&plan), words(&state), (struct offer){tick(10 * S), tick(10 * S)}, THREE - used);
        assert_int_equal(taken.room, 0);
        assert_int_equal(state.used, used < THREE ? THREE : used);
        for (uint64_t i = 0; i < THREE; i++) {
            assert_int_equal(state.slot[i].end, i < used ? (11 + i) * S : 20 * S);
        }
    }
}

/* One that passes at once holds the first slot that is free, and brings no more into use than that. */
static void one_passes_at_once(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t used, end_s[THREE];
        bool passes;
        uint64_t room, slot;
    } rows[] = {{0, {0, 0, 0}, true, 2, 1},    {1, {11, 0, 0}, true, 1, 2},    {2, {11, 12, 0}, true, 0, 3},
                {3, {11, 10, 12}, true, 0, 2}, {3, {11, 12, 13}, false, 0, 0}, {2, {10, 9, 0}, true, 2, 1}};
    const weir_plan plan = plan_of("3 concurrent lease=10s");
    const struct algorithm *algorithm = algorithm_of(rule_of(&plan));
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct state state = held_until(rows[i].end_s[0], rows[i].end_s[1], rows[i].end_s[2]);
        struct taken taken = {0, 0};
        state.used = rows[i].used;
        assert_int_equal(algorithm->pass(rule_of(&plan), words(&state), tick(10 * S), 1, &taken), rows[i].passes);
        assert_int_equal(taken.room, rows[i].room);
        assert_int_equal(state.used, rows[i].slot > rows[i].used ? rows[i].slot : rows[i].used);
        if (rows[i].passes) assert_int_equal(state.slot[rows[i].slot - 1].end, 20 * S);
    }
}

/* The words behind the last slot are those of another limit. */
static void nothing_behind_the_last_slot_is_read_or_written(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("3 concurrent lease=10s");
    const struct rule *rule = rule_of(&plan);
    struct state state = held_until(11, 12, 13);
    state.slot[THREE].end = 99 * S;
    state.slot[THREE].id = OWNERS;
    assert_int_equal(algorithm_of(rule)->idle(rule, words(&state), tick(10 * S)), tick(13 * S));
    concurrent_rename(rule, words(&state), OWNERS, 9 * OWNERS);
    assert_int_equal(state.slot[0].id, 9 * OWNERS);
    assert_int_equal(state.slot[THREE].id, OWNERS);
}

/* A rule that is made up may have more slots than a state has room for. */
static void no_more_than_there_is_room_for(void **unused)
{
    (void)unused;
    enum { ROOM = 65536, HEADER = 4, BEHIND = HEADER + 2 * ROOM };
    const weir_plan plan = plan_of("65536 concurrent lease=1min");
    struct rule rule = *rule_of(&plan);
    uint64_t *state = calloc(BEHIND + 2 * (size_t)ROOM, sizeof *state);
    assert_non_null(state);
    rule.burst = 2 * ROOM;
    algorithm_of(&rule)->commit(&rule, state, (struct offer){tick(S), tick(S)}, 2 * ROOM);
    assert_int_equal(state[0], ROOM);
    assert_int_equal(state[BEHIND - 2], 61 * S);
    assert_int_equal(state[BEHIND], 0);
    free(state);
}

/* ---- owners ---- */

struct owners {
    uint64_t dead; /* a bit for each */
    int asked;
};

static bool lives(void *context, uint64_t owner)
{
    struct owners *owners = context;
    owners->asked++;
    return (owners->dead >> owner & 1) == 0;
}

/* At 10 s; one owner is asked about once as long as its slots follow each other. */
static void what_the_dead_held_is_free(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t end_s[THREE], owner[THREE], dead, freed, left_s[THREE], used;
        int asked;
    } rows[] = {
        {{11, 11, 11}, {1, 1, 1}, 1 << 1, 3, {0, 0, 0}, 0, 1},
        {{11, 11, 11}, {1, 1, 1}, 1 << 2, 0, {11, 11, 11}, 3, 1},
        {{11, 11, 11}, {1, 0, 2}, 1 << 1 | 1 << 2, 2, {0, 11, 0}, 2, 2}, /* nobody's is not a dead one's */
        {{11, 11, 11}, {1, 2, 1}, 1 << 2, 1, {11, 0, 11}, 3, 3},
        {{11, 11, 11}, {2, 1, 1}, 1 << 1, 2, {11, 0, 0}, 1, 2},
        {{11, 11, 11}, {1, 1, 2}, 1 << 2, 1, {11, 11, 0}, 2, 2},
        {{11, 10, 9}, {1, 2, 2}, 1 << 2, 0, {11, 10, 9}, 3, 1}, /* over, as those of the living */
    };
    const weir_plan plan = plan_of("3 concurrent lease=10s");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct state state = held_until(rows[i].end_s[0], rows[i].end_s[1], rows[i].end_s[2]);
        struct owners owners = {rows[i].dead, 0};
        for (int j = 0; j < THREE; j++) state.slot[j].id |= rows[i].owner[j];
        assert_int_equal(concurrent_disown(rule_of(&plan), words(&state), 10 * S, lives, &owners), rows[i].freed);
        for (int j = 0; j < THREE; j++) assert_int_equal(state.slot[j].end, rows[i].left_s[j] * S);
        assert_int_equal(state.used, rows[i].used);
        assert_int_equal(owners.asked, rows[i].asked);
    }
}

/* ---- times ---- */

static void when_all_is_free(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("3 concurrent lease=10s");
    const struct rule *rule = rule_of(&plan);
    const struct algorithm *algorithm = algorithm_of(rule);
    assert_int_equal(algorithm->full(rule, &(weir_decision){.remaining = 3}, tick(5 * S)), tick(5 * S));
    assert_int_equal(algorithm->full(rule, &(weir_decision){.remaining = 2, .start = at(5 * S)}, tick(5 * S)),
                     tick(15 * S));
    /* It starts at 7 s, and has its lease from then on. */
    assert_int_equal(algorithm->full(rule, &(weir_decision){.remaining = 2, .start = at(7 * S)}, tick(5 * S)),
                     tick(17 * S));
    assert_int_equal(algorithm->idle(rule, words(&(struct state){0}), tick(0)), tick(0));
}

static void facts(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("20 concurrent lease=30s");
    check_facts(&plan, (struct facts){NULL, 20, 20, 20, 20, 30 * S, 30 * S, 44 * sizeof(uint64_t)});
}

/* A slot cannot be owed. */
static void no_more_is_charged_than_is_free(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("3 concurrent lease=10s");
    assert_int_equal(weir_charge(limiter, 2).charged, 2);
    assert_int_equal(weir_charge(limiter, 5).charged, 1);
    weir_close(limiter);
}

/* ---- changes ---- */

/* Three run until 11, 12 and 13 s.  Two may: the first has lost its slot and runs on, so a third one of three again
   may come when that is over, and not before. */
static void a_lost_one_counts_until_it_is_over(void **unused)
{
    (void)unused;
    const weir_plan three = plan_of("3 concurrent lease=10s"), two = plan_of("2 concurrent lease=10s");
    const struct rule *rule = rule_of(&three);
    const struct algorithm *algorithm = algorithm_of(rule);
    const struct state state = held_until(11, 12, 13);
    struct state next = {0}, last = {0};
    algorithm->carry(rule, rule_of(&two), words(&state), words(&next), tick(10 * S), WEIR_KEEP);
    algorithm->carry(rule_of(&two), rule, words(&next), words(&last), tick(10 * S), WEIR_KEEP);
    const struct offer offer = algorithm->offer(rule, words(&last), tick(10 * S), 1, WEIR_FOREVER);
    assert_int_equal(offer.from, tick(11 * S));
    assert_int_equal(offer.start, tick(11 * S));
}

/* Again, but one may: at 11 s, where the one that has lost its slot is over, another one loses its own.  Of those two
   one runs without a slot, until 12 s, and no more than two do together. */
static void one_that_is_over_is_not_counted_with_those_to_come(void **unused)
{
    (void)unused;
    const weir_plan three = plan_of("3 concurrent lease=10s"), two = plan_of("2 concurrent lease=10s"),
                    one = plan_of("1 concurrent lease=10s");
    const struct algorithm *algorithm = algorithm_of(rule_of(&three));
    const struct state state = held_until(11, 12, 13);
    struct state with_two = {0}, with_one = {0}, last = {0};
    algorithm->carry(rule_of(&three), rule_of(&two), words(&state), words(&with_two), tick(10 * S), WEIR_KEEP);
    algorithm->carry(rule_of(&two), rule_of(&one), words(&with_two), words(&with_one), tick(11 * S), WEIR_KEEP);
    algorithm->carry(rule_of(&one), rule_of(&three), words(&with_one), words(&last), tick(11 * S), WEIR_KEEP);
    assert_int_equal(algorithm->balance(rule_of(&three), words(&last), tick(11 * S)).left, 1);
    assert_int_equal(algorithm->balance(rule_of(&three), words(&last), tick(12 * S)).left, 2);
}

/* ---- beside a rate ---- */

/* Three calls that start at 1, 2 and 3 s.  The last one gives its permit back; of one before it a later one relies on
   the start.  Which was the last is known by its id. */
static void the_last_gives_back_what_it_waits_for(void **unused)
{
    (void)unused;
    static const struct {
        int cancelled;
        uint64_t next_s;
    } rows[] = {{2, 2}, {1, 3}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct subject subject = fresh("5 concurrent lease=1min; 1/s burst=1");
        weir_decision call[3];
        for (uint64_t j = 0; j < LENGTH(call); j++) {
            call[j] = reserve(&subject, S, 1);
            assert_delay(call[j], j * S);
        }
        settle_at(&subject, S, &call[rows[i].cancelled], 0);
        assert_delay(reserve(&subject, S, 1), rows[i].next_s * S);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_ends_the_use_of_what_is_behind),
        cmocka_unit_test(what_is_not_in_use_is_taken),
        cmocka_unit_test(one_passes_at_once),
        cmocka_unit_test(nothing_behind_the_last_slot_is_read_or_written),
        cmocka_unit_test(no_more_than_there_is_room_for),
        cmocka_unit_test(what_the_dead_held_is_free),
        cmocka_unit_test(when_all_is_free),
        cmocka_unit_test(facts),
        cmocka_unit_test(no_more_is_charged_than_is_free),
        cmocka_unit_test(a_lost_one_counts_until_it_is_over),
        cmocka_unit_test(one_that_is_over_is_not_counted_with_those_to_come),
        cmocka_unit_test(the_last_gives_back_what_it_waits_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
