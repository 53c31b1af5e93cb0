/* SPDX-License-Identifier: MIT
   The pools as positions: what the words of a state say, at the ends of their lines and at the ends of the clock.

   In most rows a permit is a tick, so that every number can be checked with a pencil. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/arrivals.h"
#include "core/num.h"
#include "plan/plan.h"
#include "unit/plans.h"

#define RATIO UINT64_C(0x100000000)

enum { ONE = 1 << 20 }; /* a permit at 1000/s */

/* Four words; schedule and active are signed. */
struct state {
    int64_t schedule, active;
    uint64_t since, begun;
};

static uint64_t *words(struct state *state)
{
    return (uint64_t *)state;
}

static const struct algorithm *hybrid(void)
{
    return algorithm_named(ALGORITHM_HYBRID);
}

/* A pool of 10 permits, and 10 more on top of it, at so many times the rate. */
static struct rule pools(uint64_t ratio)
{
    return (struct rule){.algorithm = ALGORITHM_HYBRID, .burst = 10, .over = 20, .ratio = ratio * RATIO};
}

static void check(struct state state, int64_t schedule, int64_t active, uint64_t since)
{
    assert_int_equal(state.schedule, schedule);
    assert_int_equal(state.active, active);
    assert_int_equal(state.since, since);
}

/* ---- before the first call ---- */

static void a_fresh_state(void **unused)
{
    (void)unused;
    const struct rule rule = pools(1);
    struct state fresh = {0};
    const struct balance balance = hybrid()->balance(&rule, words(&fresh), 100);
    assert_true(balance.left == 10 && balance.owed == 0 && !balance.waits);
    const struct taken nothing = hybrid()->commit(&rule, words(&fresh), (struct offer){100, 100}, 0);
    assert_int_equal(nothing.end, 100);
    assert_int_equal(nothing.room, 1);
    assert_int_equal(hybrid()->idle(&rule, words(&fresh), 9), 9);
    const struct account account = algorithm_account(&rule, hybrid(), words(&fresh), 100);
    assert_true(account.due == 0 && account.given == 0 && account.missed == 0 && account.behind == 0);
}

/* The first call has what it needs, up to the pool, and owes the rest. */
static void a_charge_is_the_first_call(void **unused)
{
    (void)unused;
    struct rule rule = pools(1);
    for (uint64_t debt = 0; debt < 3; debt += 2) {
        struct state state = {0};
        uint64_t first = 4, second = 4, large = 20;
        rule.debt = debt;
        algorithm_charge(&rule, words(&state), 100, &first);
        algorithm_charge(&rule, words(&state), 100, &second);
        assert_int_equal(first, 4);
        assert_int_equal(second, debt);
        algorithm_charge(&rule, words(&(struct state){0}), 100, &large);
        assert_int_equal(large, 10 + debt);
    }
}

/* At tick 0 it has begun, too. */
static void begun_at_the_first_tick(void **unused)
{
    (void)unused;
    const struct rule rule = pools(1);
    struct state state = {0};
    hybrid()->commit(&rule, words(&state), (struct offer){0, 0}, 1);
    check(state, 0, 0, 1);
}

/* One permit is out, and the pool has one, as the first call would find it. */
static void held_before_the_first_call(void **unused)
{
    (void)unused;
    const struct rule rule = pools(1);
    struct state state = {0};
    hybrid()->hold(&rule, words(&state), 100, 1);
    check(state, 99, 1, 100);
    assert_int_equal((int64_t)state.begun, 99);
    /* At 105 it has 6; with 14 out that is all there may be, and with 15 it is one too many. */
    const struct state before = state;
    hybrid()->hold(&rule, words(&state), 105, 14);
    assert_memory_equal(&state, &before, sizeof before);
    hybrid()->hold(&rule, words(&state), 105, 15);
    check(state, 99, 5, 105);
}

/* ---- now, or when ---- */

static void one_passes_at_once(void **unused)
{
    (void)unused;
    static const struct {
        struct state state;
        uint64_t now, cost;
        bool passes;
        uint64_t room;
    } rows[] = {
        {{90, 10, 100, 0}, 100, 10, true, 0}, /* all that is in the pool, at the time of its last take */
        {{90, 10, 100, 0}, 99, 1, false, 0},  /* before it */
        {{90, 9, 100, 0}, 100, 10, false, 0}, /* one less */
        {{95, 10, 100, 0}, 100, 5, true, 0},  /* all that the schedule has left */
        {{95, 10, 100, 0}, 100, 6, false, 0}, {{0, 10, 100, 0}, 100, 11, false, 0}, /* more than the pool */
    };
    const struct rule rule = pools(1);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct state state = rows[i].state;
        struct taken taken = {0, 0};
        assert_int_equal(hybrid()->pass(&rule, words(&state), rows[i].now, rows[i].cost, &taken), rows[i].passes);
        if (!rows[i].passes) assert_memory_equal(&state, &rows[i].state, sizeof state);
        assert_int_equal(taken.room, rows[i].room);
    }
}

/* What would start or end beyond the clock never does.  20 need a full pool, and move the position by 20. */
static void not_beyond_the_clock(void **unused)
{
    (void)unused;
    static const struct {
        int64_t schedule, active;
        uint64_t cost, start;
    } rows[] = {
        {TICKS_FAR - 11, 0, 10, TICKS_FAR - 1},
        {TICKS_FAR - 10, 0, 10, UINT64_MAX},
        {TICKS_FAR - 20, 0, 20, TICKS_FAR - 10},
        {TICKS_FAR - 19, 0, 20, UINT64_MAX},
        /* 10 and 2^62 - 21 to fill, at 4 times the rate, from 100 on */
        {0, 20 - TICKS_FAR, 20, 100 + (TICKS_FAR - 10 + 3) / 4},
        {0, 19 - TICKS_FAR, 20, UINT64_MAX},
    };
    const struct rule rule = pools(4);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct state state = {rows[i].schedule, rows[i].active, 100, 0};
        assert_int_equal(hybrid()->offer(&rule, words(&state), 100, rows[i].cost, 0).start, rows[i].start);
    }
}

/* A tick after the pool is full, as a line is rounded down by less than that. */
static void when_the_pool_is_full(void **unused)
{
    (void)unused;
    static const struct {
        struct state state;
        uint64_t idle;
    } rows[] = {
        {{40, 3, 50, 0}, 58}, /* 7 are missing from 50 on */
        {{60, 3, 50, 0}, 71}, /* the schedule has 10 more at 70 */
        {{0, 10, 20, 0}, 55}, /* full before now */
        {{TICKS_FAR - 11, 0, 50, 0}, TICKS_FAR},
        {{TICKS_FAR - 10, 0, 50, 0}, UINT64_MAX},
    };
    const struct rule rule = pools(1);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct state state = rows[i].state;
        assert_int_equal(hybrid()->idle(&rule, words(&state), 55), rows[i].idle);
    }
}

/* ---- giving back ---- */

/* Full 5 ticks after it began, the pool has 13 at 8; with 2 that come back it has 15. */
static void what_comes_back_is_on_top(void **unused)
{
    (void)unused;
    const struct rule rule = pools(2);
    struct state state = {-100, 0, 1, 0};
    assert_int_equal(hybrid()->commit(&rule, words(&state), (struct offer){9, 9}, 0).room, 13);
    hybrid()->give_back(&rule, words(&state), 9, &(struct slot){9, 0, 2, false}, 2);
    assert_int_equal(hybrid()->commit(&rule, words(&state), (struct offer){9, 9}, 0).room, 15);
}

/* A call is corrected whose state was begun anew since: none of its permits are in it. */
static void what_was_forgotten_does_not_come_back(void **unused)
{
    (void)unused;
    const struct rule rule = pools(1);
    struct state state = {0};
    hybrid()->give_back(&rule, words(&state), 1000, &(struct slot){10, 10, 3, false}, 3);
    check(state, 0, 0, 0);
}

/* ---- permits taken along ---- */

static void a_slice_starts_as_its_permits_would(void **unused)
{
    (void)unused;
    static const struct {
        struct state state;
        uint64_t until, most, permits, first, last;
        struct state left;
    } rows[] = {
        /* Behind by 2, which are in the pool: 3 to 12 start when the schedule says, and no line is above it. */
        {{48, 2, 50, 0}, 60, 100, 12, 50, 60, {60, 0, 60, 0}},
        {{48, 2, 50, 0}, 50, 100, 2, 50, 50, {50, 0, 50, 0}},
        {{49, 1, 50, 0}, 50, 100, 0, 0, 0, {49, 1, 50, 0}}, /* one is not worth it */
        /* 25 have come back into a pool that holds 20 at most. */
        {{-100, 25, 50, 0}, 50, 100, 20, 50, 50, {-80, 0, 50, 0}},
    };
    const struct rule rule = pools(2);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct state state = rows[i].state;
        const struct stretch slice = hybrid()->slice(&rule, words(&state), 50, rows[i].until, rows[i].most);
        assert_int_equal(slice.permits, rows[i].permits);
        if (slice.permits != 0) {
            assert_int_equal(slice.last, rows[i].last);
            assert_int_equal(slice.end, rows[i].left.schedule);
        }
        assert_memory_equal(&state, &rows[i].left, sizeof state);
    }
}

/* ---- how late ---- */

/* 100 ticks have passed and 40 were given, so 60 are left, of which the pool has 20; of the others nothing is ever
   made up for at the rate itself. */
static void what_waits_is_missed_at_the_rate_itself(void **unused)
{
    (void)unused;
    for (uint64_t ratio = 1; ratio <= 2; ratio++) {
        const struct rule rule = pools(ratio);
        struct state state = {41, 20, 50, 1};
        const struct account account = algorithm_account(&rule, hybrid(), words(&state), 101);
        assert_int_equal(account.given, 40);
        assert_int_equal(account.due, 100);
        assert_int_equal(account.behind, 40);
        assert_int_equal(account.missed, ratio == 1 ? 40 : 0);
    }
}

static void a_schedule_is_moved(void **unused)
{
    (void)unused;
    static const int64_t rows[][2] = {{0, 40}, {1, 41}, {-1, 39}, {5, 45}}; /* by, where it is then */
    const struct rule rule = pools(1);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct state state = {40, 5, 50, 0};
        hybrid()->lateness(&rule, words(&state), 60, rows[i][0]);
        check(state, rows[i][1], 5, 50);
    }
}

/* ---- changes ---- */

/* The new clock is set to another tick: what is in the pool stays, and the schedule is as far behind. */
static void what_a_change_leaves(void **unused)
{
    (void)unused;
    struct rule from = pools(1), to = pools(1);
    for (uint64_t anchor = 0; anchor <= 1000; anchor += 500) {
        struct state state = {40, 5, 50, 10}, next = {0};
        to.anchor_tick = anchor;
        hybrid()->carry(&from, &to, words(&state), words(&next), 50, WEIR_SCALE);
        check(next, (int64_t)anchor - 10, 5, anchor == 0 ? 1 : anchor);
        assert_int_equal((int64_t)next.begun, (int64_t)anchor - 40); /* 30 were given */
    }
}

/* ---- arrivals ---- */

static struct rule at_random(void)
{
    const weir_plan plan = plan_for("1000/s arrivals=poisson seed=7", WEIR_PACE);
    return plan_inside_const(&plan)->rule[0];
}

/* Of 5 that were given the last 2 come back, while they have not drained at the fastest. */
static void the_last_of_its_permits_come_back(void **unused)
{
    (void)unused;
    const struct rule rule = at_random();
    const uint64_t span = arrivals_span(&rule, 3, 2), at = UINT64_C(1) << 40;
    const uint64_t drained = shift_divide_ceil(span, 32, rule.ratio);
    const uint64_t rows[][2] = {{0, 3}, {1, 3}, {drained - 1, 3}, {drained, 5}}; /* so long after it, given then */
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct state state = {(int64_t)at, 0, at, 5};
        const struct slot slot = {at, 5 * ONE, 2 * ONE, false};
        hybrid()->give_back(&rule, words(&state), at + rows[i][0], &slot, 2 * ONE);
        assert_int_equal(state.begun, rows[i][1]);
    }
}

/* Where a tick is a permit some come at the same tick; no time has gone by then, and they come back all the same. */
static void one_without_a_gap_comes_back(void **unused)
{
    (void)unused;
    const struct rule rule = {
        .algorithm = ALGORITHM_HYBRID, .burst = 10, .over = 10, .ratio = RATIO, .flags = RULE_ARRIVALS, .seed = 7};
    uint64_t given = 1;
    while (arrivals_span(&rule, given - 1, 1) != 0) given++;
    struct state state = {100, 0, 100, given};
    hybrid()->give_back(&rule, words(&state), 100, &(struct slot){100, given, 1, false}, 1);
    assert_int_equal(state.begun, given - 1);
    check(state, 100, 0, 100);
}

/* A call of nothing starts when the pool is no longer below zero. */
static void nothing_needs_nothing(void **unused)
{
    (void)unused;
    struct rule rule = at_random();
    rule.ratio = RATIO;
    struct state state = {1000, -20, 500, 5};
    assert_int_equal(hybrid()->offer(&rule, words(&state), 500, 0, 0).start, 1000);
    state.schedule = 100;
    assert_int_equal(hybrid()->offer(&rule, words(&state), 500, 0, 0).start, 520);
    state.active = -TICKS_FAR;
    rule.ratio = 4 * RATIO;
    assert_int_equal(hybrid()->offer(&rule, words(&state), 500, 0, 0).start, 500 + (TICKS_FAR + 3) / 4);
}

/* The next permit is due one permit behind the schedule, and the last one was a gap before it. */
static void left_between_two_arrivals(void **unused)
{
    (void)unused;
    const struct rule rule = at_random();
    const int64_t gap = (int64_t)arrivals_gap(&rule, 5), due = INT64_C(1) << 40;
    const int64_t rows[][2] = {
        {ONE, ONE}, {2 * ONE, 2 * ONE}, {ONE - 1, 0}, {ONE - gap, 0}, {ONE - gap - 7, -7}}; /* now, left */
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct state state = {due, 0, 1, 5};
        const struct account account = algorithm_account(&rule, hybrid(), words(&state), (uint64_t)(due + rows[i][0]));
        assert_int_equal(account.given, 5 * ONE);
        assert_int_equal(account.due - account.given, rows[i][1]);
    }
}

/* To the same limit nothing changes. */
static void arrivals_stay_where_they_are(void **unused)
{
    (void)unused;
    const struct rule rule = at_random();
    struct rule to = rule;
    struct state state = {100 * ONE, -3 * ONE, 100 * ONE, 5}, next = {0};
    to.anchor_tick = 100 * ONE;
    hybrid()->carry(&rule, &to, words(&state), words(&next), 100 * ONE, WEIR_SCALE);
    check(next, 100 * ONE, -3 * ONE, 100 * ONE);
    assert_int_equal(next.begun, 5);
}

/* ---- what was said ---- */

/* Two operations, or 10 ms where they last no longer; and to catch up where they last less than 200 ms. */
static void defaults(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"10/s", "10/s burst=2 catchup=1 algorithm=hybrid"},
        {"10.000000001/s", "10.000000001/s burst=2 catchup=1.1 algorithm=hybrid"},
        {"199.99999999/s", "199.99999999/s burst=2 catchup=1.1 algorithm=hybrid"},
        {"200/s", "200/s burst=10ms catchup=1.1 algorithm=hybrid"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[256];
        const weir_plan plan = plan_for(rows[i].text, WEIR_PACE);
        weir_plan_text(&plan, text, sizeof text);
        assert_string_equal(text, rows[i].canonical);
    }
}

static void the_defaults_have_a_note(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        bool noted;
    } rows[] = {
        {"1000/s", true},
        {"1000/s burst=10ms catchup=1.1", true},
        {"1000/s burst=20ms catchup=1.1", false},
        {"1000/s burst=10ms catchup=1.2", false},
        {"1000/s burst=10000000 catchup=1.1", false},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_for(rows[i].text, WEIR_PACE);
        assert_int_equal(facts_in(&plan).note != NULL, rows[i].noted);
    }
}

static void the_largest_burst(void **unused)
{
    (void)unused;
    /* 2^40 permits of 2^20 ticks; a tenth on top of a permit is no whole number of ticks. */
    const weir_plan plan = plan_for("1000/s burst=1099511627776 catchup=1 algorithm=hybrid", WEIR_PACE),
                    tenth = plan_for("1000/s burst=1 catchup=1.1 algorithm=hybrid", WEIR_PACE);
    assert_int_equal(plan_inside_const(&plan)->rule[0].over, UINT64_C(1) << 60);
    assert_int_equal(plan_inside_const(&tenth)->rule[0].over, 1153433); /* 1153433.6 */
    static const struct mistake rows[] = {
        {"1000/s burst=1099511627777 catchup=1 algorithm=hybrid", 14,
         "burst times catchup is longer than 18 years; choose a smaller burst, for example burst=2, or for a slower "
         "rate algorithm=gcra"}};
    CHECK_MISTAKES(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fresh_state),
        cmocka_unit_test(a_charge_is_the_first_call),
        cmocka_unit_test(begun_at_the_first_tick),
        cmocka_unit_test(held_before_the_first_call),
        cmocka_unit_test(one_passes_at_once),
        cmocka_unit_test(not_beyond_the_clock),
        cmocka_unit_test(when_the_pool_is_full),
        cmocka_unit_test(what_comes_back_is_on_top),
        cmocka_unit_test(what_was_forgotten_does_not_come_back),
        cmocka_unit_test(a_slice_starts_as_its_permits_would),
        cmocka_unit_test(what_waits_is_missed_at_the_rate_itself),
        cmocka_unit_test(a_schedule_is_moved),
        cmocka_unit_test(what_a_change_leaves),
        cmocka_unit_test(the_last_of_its_permits_come_back),
        cmocka_unit_test(one_without_a_gap_comes_back),
        cmocka_unit_test(nothing_needs_nothing),
        cmocka_unit_test(left_between_two_arrivals),
        cmocka_unit_test(arrivals_stay_where_they_are),
        cmocka_unit_test(defaults),
        cmocka_unit_test(the_defaults_have_a_note),
        cmocka_unit_test(the_largest_burst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
