/* SPDX-License-Identifier: MIT
   What the longest sliding-log of an engine costs whoever asks it: entries are counted, not time.

   The log is full of calls of one permit, which is its worst. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define VALUE_SLOTS (MICRO_LOG_MAX + 1)
#include "unit/micro_value.h"
#include "unit/plans.h"

#define NOW UINT64_C(1763836800000000)
enum { LOOKS_MAX = 256, FULL = MICRO_LOG_MAX };

struct seen {
    uint64_t steps, moves; /* the most of a call; all */
};

static struct value value;
static struct micro_plan plan;

static void plan_is(const char *text)
{
    const weir_plan read = plan_of(text);
    assert_int_equal(micro_plan_make(&plan, &read, NULL), 0);
    assert_in_range(micro_log_steps(&plan.rule[0]), 1, MICRO_LOG_STEPS);
}

static void note(struct seen *seen, struct micro_state *state, struct micro_log *log)
{
    value_put(&value, state, log);
    if (log->steps > seen->steps) seen->steps = log->steps;
    assert_true(log->moves <= FULL / 2);
    seen->moves += log->moves;
}

static weir_verdict ask_take(struct seen *seen, uint64_t now, uint64_t cost)
{
    struct micro_state state;
    struct micro_log log;
    struct micro_answer answer;
    assert_true(value_get(&value, &state, &log));
    micro_take(&plan, &state, &log, &(struct micro_ask){.now = now, .cost = {cost}}, &answer);
    if (answer.changed) note(seen, &state, &log);
    else if (log.steps > seen->steps) seen->steps = log.steps;
    return answer.verdict;
}

static uint64_t ask_settle(uint64_t now, uint64_t taken)
{
    struct micro_state state;
    struct micro_log log;
    struct micro_answer answer;
    struct seen seen = {0};
    const uint64_t one = 1, none = 0;
    assert_true(value_get(&value, &state, &log));
    micro_settle(&plan, &state, &log, now, taken, &one, &none, &answer);
    note(&seen, &state, &log);
    return seen.steps;
}

/* Calls of 1 permit, a us apart. */
static struct seen fill(uint64_t count)
{
    struct seen seen = {0};
    value.size = 0;
    for (uint64_t i = 0; i < count; i++) assert_int_equal(ask_take(&seen, NOW + i, 1), WEIR_ALLOW);
    return seen;
}

static void a_call_of_any_cost(void **unused)
{
    (void)unused;
    struct seen seen = {0};
    plan_is("100000/s algorithm=sliding-log");
    value.size = 0;
    assert_int_equal(ask_take(&seen, NOW, FULL), WEIR_ALLOW);
    assert_int_equal(value.size, MICRO_LOG_RING); /* one entry */
    assert_int_equal(ask_take(&seen, NOW, 1), WEIR_DENY);
    assert_in_range(seen.steps, 0, 8);
    seen = fill(FULL);
    assert_int_equal(value.size, MICRO_LOG_RING + (FULL - 1) * MICRO_LOG_ENTRY);
    assert_in_range(seen.steps, 0, LOOKS_MAX);
    assert_in_range(seen.moves, 0, FULL);
    for (uint64_t cost = 1; cost <= FULL; cost = cost * 3 + 1)
        assert_int_equal(ask_take(&seen, NOW + FULL, cost), WEIR_DENY);
    assert_int_equal(ask_take(&seen, NOW + 1000000 + FULL / 2, FULL / 2), WEIR_ALLOW); /* half of it goes at once */
    assert_int_equal(ask_take(&seen, NOW + 2000000 + FULL, FULL), WEIR_ALLOW);         /* and all */
    assert_in_range(seen.steps, 0, LOOKS_MAX);
}

static void refusals_that_count(void **unused)
{
    (void)unused;
    plan_is("100000/s algorithm=sliding-log count-refused");
    struct seen seen = fill(FULL);
    for (uint64_t i = 0; i < 100; i++) ask_take(&seen, NOW + FULL + i, 1 + i * 37);
    assert_in_range(seen.steps, 0, LOOKS_MAX);
}

/* The ring turns in half of its slots, then gets more of them. */
static void a_ring_that_grows(void **unused)
{
    (void)unused;
    plan_is("100000/s algorithm=sliding-log");
    struct seen seen = fill(70000);
    for (uint64_t i = 0; i < 60000; i++) ask_take(&seen, NOW + 1010000 + i, 1);
    seen.moves = 0;
    for (uint64_t i = 0; i < 40000; i++) assert_int_equal(ask_take(&seen, NOW + 1075000 + i, 1), WEIR_ALLOW);
    assert_in_range(seen.steps, 0, LOOKS_MAX);
}

static void what_is_given_back(void **unused)
{
    (void)unused;
    struct seen seen = {0};
    plan_is("100000/s algorithm=sliding-log");
    fill(FULL);
    assert_in_range(ask_settle(NOW + FULL, NOW + FULL - 1), 0, LOOKS_MAX);
    assert_int_equal(ask_take(&seen, NOW + FULL, 1), WEIR_ALLOW);
    assert_in_range(plan.rule[0].debt, MICRO_LOG_REACH, MICRO_LOG_REACH);
    const uint64_t steps = ask_settle(NOW + FULL, NOW + FULL - MICRO_LOG_REACH);
    assert_in_range(steps, MICRO_LOG_REACH - 2, micro_log_steps(&plan.rule[0]));
    assert_int_equal(ask_take(&seen, NOW + FULL, 1), WEIR_ALLOW);
    assert_in_range(ask_settle(NOW + FULL, NOW + 1), 0, LOOKS_MAX); /* too far back: nothing */
    assert_int_equal(ask_take(&seen, NOW + FULL, 1), WEIR_DENY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_of_any_cost),
        cmocka_unit_test(refusals_that_count),
        cmocka_unit_test(a_ring_that_grows),
        cmocka_unit_test(what_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
