/* SPDX-License-Identifier: MIT
   Slots of an engine, counted from a set as the module counts them: what a verb says, and leaves to be written.

   The set here is an array; against another way to say the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/micro_key.h"
#include "unit/random.h"

enum { MEMBERS = 64, STEPS = 100000 };

/* Ends by the set's own clock. */
struct set {
    uint64_t seen, ahead, end[MEMBERS], last;
    unsigned count, taken; /* what the last take added is the last `taken` */
};

static struct micro_slots counted(struct set *set, const struct micro_plan *plan, uint64_t now, uint64_t cost)
{
    struct micro_slots slots;
    micro_slots_begin(&slots, now, set->seen, set->ahead);
    unsigned kept = 0;
    for (unsigned i = 0; i < set->count; i++) {
        if (set->end[i] > slots.at) set->end[kept++] = set->end[i];
    }
    set->count = kept;
    slots.held = kept;
    slots.last_end = 0;
    for (unsigned i = 0; i < kept; i++) slots.last_end = slots.last_end > set->end[i] ? slots.last_end : set->end[i];
    const uint64_t wanted = micro_slots_wanted(&plan->rule[0], &slots, cost);
    if (wanted != 0) slots.wanted_end = set->end[wanted - 1]; /* they are in order: of one lease */
    set->seen = slots.at;
    set->ahead = slots.ahead;
    return slots;
}

static struct micro_answer set_take(struct set *set, const struct micro_plan *plan, uint64_t now, uint64_t cost,
                                    bool charges)
{
    struct micro_state state = {.slots = counted(set, plan, now, cost)};
    const struct micro_ask ask = {.now = now, .cost = {cost}};
    struct micro_answer answer;
    if (charges) micro_charge(plan, &state, NULL, &ask, &answer);
    else micro_take(plan, &state, NULL, &ask, &answer);
    for (uint64_t i = 0; i < state.slots.added; i++) set->end[set->count++] = state.slots.end;
    return answer;
}

static void slots(void **unused)
{
    (void)unused;
    const struct micro_plan plan = micro_of("3 concurrent lease=10s");
    struct set set = {.seen = 0};
    struct micro_answer answer = set_take(&set, &plan, NOW, 1, false);
    assert_allowed(answer, 2);
    assert_int_equal(answer.full, 10 * SECOND);
    assert_allowed(set_take(&set, &plan, NOW, 1, false), 1);
    assert_int_equal(answer.idle, NOW + 10 * SECOND);
    assert_true(answer.changed);
    assert_allowed(set_take(&set, &plan, NOW + SECOND, 1, false), 0);
    answer = set_take(&set, &plan, NOW + SECOND, 3, false);
    assert_refused(answer, 10 * SECOND);
    assert_int_equal(answer.full, 10 * SECOND);
    assert_false(answer.changed);
    assert_refused(set_take(&set, &plan, NOW + 2 * SECOND, 1, false), 8 * SECOND);
    assert_int_equal(set_take(&set, &plan, NOW + 2 * SECOND, 4, false).verdict, WEIR_NEVER);
    answer = set_take(&set, &plan, NOW + 11 * SECOND, 0, false);
    assert_allowed(answer, 3);
    assert_int_equal(answer.full, 0);
    assert_int_equal(answer.idle, NOW + 11 * SECOND);
}

static void what_is_asked_of_the_set(void **unused)
{
    (void)unused;
    struct micro_plan none = micro_of("3/s"), second = micro_of("3/s; 3 concurrent lease=10s");
    assert_int_equal(micro_holder(&second), 1);
    none.rule[1] = second.rule[1]; /* behind its limits */
    assert_int_equal(micro_holder(&none), -1);
    const struct micro_slots slots = {.held = 2};
    static const uint64_t wanted[] = {0, 0, 1, 2, 0}; /* 4 never pass */
    for (uint64_t cost = 0; cost < LENGTH(wanted); cost++)
        assert_int_equal(micro_slots_wanted(&second.rule[1], &slots, cost), wanted[cost]);
}

/* Its clock goes on from what it showed, and that is written. */
static void a_clock_set_back(void **unused)
{
    (void)unused;
    struct micro_slots slots = {.held = 9, .added = 9};
    micro_slots_begin(&slots, NOW, NOW, 0);
    assert_int_equal(slots.at, NOW);
    assert_int_equal(slots.ahead + slots.held + slots.added, 0);
    assert_false(slots.moved);
    micro_slots_begin(&slots, NOW, NOW + 7, 5);
    assert_int_equal(slots.at, NOW + 7);
    assert_int_equal(slots.ahead, 7);
    assert_int_equal(slots.ahead_was, 5);
    assert_true(slots.moved);
    micro_slots_begin(&slots, NOW, NOW + 7, 7);
    assert_int_equal(slots.ahead, 7);
    assert_false(slots.moved);
    micro_slots_begin(&slots, NOW + 1, NOW + 7, 7);
    assert_int_equal(slots.at, NOW + 8); /* it stays ahead */
    const struct micro_plan plan = micro_of("3 concurrent lease=10s");
    struct micro_state state = {.slots = slots};
    assert_false(micro_prepare(&plan, &state, NOW + 1));
    state.slots.moved = true;
    assert_true(micro_prepare(&plan, &state, NOW + 1));
}

/* Slots that are released, or are over, are those of an id; here is only how many. */
static void settled(void **unused)
{
    (void)unused;
    const struct micro_plan plan = micro_of("3 concurrent lease=10s");
    const uint64_t two[] = {2}, none[] = {0}, one[] = {1}, five[] = {5};
    struct micro_answer answer;
    struct micro_state state = {.slots = {.at = NOW, .held = 2, .last_end = NOW + 5}};
    micro_settle(&plan, &state, NULL, NOW, (NOW + 9) * MICRO_ID_PARTS, two, one, &answer);
    assert_int_equal(state.slots.freed, 1);
    assert_int_equal(state.slots.added, 0);
    assert_int_equal(answer.full, 5);
    assert_int_equal(answer.remaining, 1);
    assert_true(answer.changed);
    state.slots.freed = 0;
    micro_settle(&plan, &state, NULL, NOW, NOW * MICRO_ID_PARTS, two, none, &answer);
    assert_int_equal(state.slots.freed, 2);
    state.slots.freed = 0;
    micro_settle(&plan, &state, NULL, NOW, NOW * MICRO_ID_PARTS, two, two, &answer);
    assert_int_equal(state.slots.freed, 0);
    assert_false(answer.changed);
    micro_settle(&plan, &state, NULL, NOW, NOW * MICRO_ID_PARTS, two, five, &answer); /* more: as many as there are */
    assert_int_equal(state.slots.freed, 0);
    assert_int_equal(state.slots.added, 1);
    assert_int_equal(state.slots.held, 3);
    state.slots.added = 0;
    micro_settle(&plan, &state, NULL, NOW, NOW * MICRO_ID_PARTS, two, five, &answer);
    assert_int_equal(state.slots.added, 0); /* there is none */
}

/* A charge takes what is free; a lower count takes nobody's away; one whose lease is over as it is counted is retried
   at once. */
static void charged_and_lowered(void **unused)
{
    (void)unused;
    const struct micro_plan plan = micro_of("3 concurrent lease=10s"), lower = micro_of("1 concurrent lease=10s");
    struct set set = {.seen = 0};
    assert_allowed(set_take(&set, &plan, NOW, 1, false), 2);
    assert_int_equal(set_take(&set, &plan, NOW + 1, 5, true).remaining, 0);
    assert_int_equal(set.count, 3);
    assert_int_equal(set_take(&set, &plan, NOW + 1, 1, true).remaining, 0);
    assert_int_equal(set.count, 3);
    assert_refused(set_take(&set, &lower, NOW + 1, 1, false), 10 * SECOND); /* all three have to end */
    struct micro_state state = {.slots = {.at = NOW, .held = 3, .last_end = NOW + 5, .wanted_end = NOW}};
    struct micro_answer answer;
    micro_take(&plan, &state, NULL, &(struct micro_ask){.now = NOW, .cost = {1}}, &answer);
    assert_refused(answer, 1);
    assert_int_equal(state.slots.added, 0);
}

/* Whatever is taken when: never more than the limit at once, never refused while there is room, and retry is the first
   time at which it passes. */
static void any_takes(void **unused)
{
    (void)unused;
    uint64_t seed = 1, now = NOW;
    const struct micro_plan plan = micro_of("5 concurrent lease=100us");
    struct set set = {.seen = 0};
    for (int step = 0; step < STEPS; step++) {
        now += random_below(&seed, 40);
        const uint64_t cost = random_below(&seed, 6);
        struct set then = set;
        const unsigned before = (counted(&then, &plan, now, 0), then.count);
        const struct micro_answer answer = set_take(&set, &plan, now, cost, false);
        assert_int_equal(answer.verdict, before + cost <= 5 ? WEIR_ALLOW : WEIR_DENY);
        assert_int_equal(set.count, answer.verdict == WEIR_ALLOW ? before + cost : before);
        assert_int_equal(answer.remaining, 5 - set.count);
        if (answer.verdict == WEIR_ALLOW) continue;
        struct set later = set, sooner = set;
        assert_int_equal(set_take(&later, &plan, now + answer.retry, cost, false).verdict, WEIR_ALLOW);
        assert_int_equal(set_take(&sooner, &plan, now + answer.retry - 1, cost, false).verdict, WEIR_DENY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots),   cmocka_unit_test(what_is_asked_of_the_set), cmocka_unit_test(a_clock_set_back),
        cmocka_unit_test(settled), cmocka_unit_test(charged_and_lowered),      cmocka_unit_test(any_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
