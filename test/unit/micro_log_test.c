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
    assert_in_range(seen.steps, 1, LOOKS_MAX);
    assert_in_range(seen.moves, 0, FULL);
    for (uint64_t cost = 1; cost <= FULL; cost = cost * 3 + 1)
        assert_int_equal(ask_take(&seen, NOW + FULL, cost), WEIR_DENY);
    assert_int_equal(ask_take(&seen, NOW + 1000000 + FULL / 2, FULL / 2), WEIR_ALLOW); /* half of it goes at once */
    assert_int_equal(ask_take(&seen, NOW + 2000000 + FULL, FULL), WEIR_ALLOW);         /* and all */
    assert_in_range(seen.steps, 1, LOOKS_MAX);
}

static void refusals_that_count(void **unused)
{
    (void)unused;
    plan_is("100000/s algorithm=sliding-log count-refused");
    struct seen seen = fill(FULL);
    for (uint64_t i = 0; i < 100; i++) ask_take(&seen, NOW + FULL + i, 1 + i * 37);
    assert_in_range(seen.steps, 1, LOOKS_MAX);
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
    assert_in_range(seen.steps, 1, LOOKS_MAX);
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
    const uint64_t steps = ask_settle(NOW + FULL, NOW + FULL - MICRO_LOG_REACH - 1);
    assert_in_range(steps, MICRO_LOG_REACH - 2, micro_log_steps(&plan.rule[0]));
    assert_int_equal(ask_take(&seen, NOW + FULL, 1), WEIR_ALLOW);
    assert_in_range(ask_settle(NOW + FULL, NOW + FULL - MICRO_LOG_REACH - 3), 0, LOOKS_MAX); /* too far back: nothing */
    assert_int_equal(ask_take(&seen, NOW + FULL, 1), WEIR_DENY);
}

static void as_many_as_are_looked_at(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t steps;
    } rows[] = {
        {"1/s algorithm=sliding-log", 15}, {"5/s algorithm=sliding-log", 35}, {"100000/s algorithm=sliding-log", 1096}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        plan_is(rows[i].text);
        assert_int_equal(micro_log_steps(&plan.rule[0]), rows[i].steps);
    }
}

/* A ring has slots for those that are not the newest: none, then twice as many and four. */
static void slots_as_they_are_needed(void **unused)
{
    (void)unused;
    static const uint64_t slots[] = {0, 4, 4, 4, 4, 12, 12, 12, 12, 12, 12, 12, 12, 28};
    struct seen seen = {0};
    plan_is("20/s algorithm=sliding-log");
    value.size = 0;
    for (size_t i = 0; i < LENGTH(slots); i++) {
        struct micro_state state;
        struct micro_log log;
        assert_int_equal(ask_take(&seen, NOW + i, 1), WEIR_ALLOW);
        assert_true(value_get(&value, &state, &log));
        assert_int_equal(state.cell[0].word[3], slots[i]);
    }
}

/* From permits up to each time. */
static void a_log_that_is_made(void **unused)
{
    (void)unused;
    static const uint64_t time[] = {NOW, NOW, NOW + 1, NOW + 2, NOW + 9}, sum[] = {1, 3, 4, 8, 9}; /* the last is not */
    struct micro_state state;
    struct micro_log log;
    plan_is("9/s algorithm=sliding-log");
    memset(value.bytes, 0, sizeof value.bytes);
    value.size = micro_log_make(time, sum, 4, value.bytes);
    assert_int_equal(value.size, MICRO_LOG_RING + 2 * MICRO_LOG_ENTRY);
    assert_true(value_get(&value, &state, &log));
    assert_int_equal(state.cell[0].word[3], 2);
    static const uint64_t there[] = {8, 5, 4, 0}; /* permits that are seen when those of NOW + i - 1 are gone */
    for (uint64_t i = 0; i < LENGTH(there); i++) {
        struct micro_answer answer;
        const struct micro_ask ask = {.now = NOW + 999999 + i, .peek = true};
        assert_true(value_get(&value, &state, &log));
        micro_take(&plan, &state, &log, &ask, &answer);
        assert_int_equal(answer.remaining, 9 - there[i]);
    }
}

/* A ring of 99000 slots that turned there gets 1001 more, the last: what does not fit behind stays, and the others move
   to the end. */
static void ring_that_turned(uint64_t turn, uint64_t moves)
{
    enum { SLOTS = 99000 };
    static uint64_t time[SLOTS + 1], sum[SLOTS + 1];
    struct micro_state state;
    struct micro_log log;
    struct micro_answer answer;
    for (uint64_t i = 0; i <= SLOTS; i++) {
        time[i] = NOW + i + (i < turn ? 0 : 500000);
        sum[i] = i + 1;
    }
    value.size = micro_log_make(time, sum, SLOTS + 1, value.bytes);
    for (uint64_t now = NOW + 1000000 + turn; now <= NOW + 1000000 + 2 * turn; now++) {
        assert_true(value_get(&value, &state, &log));
        micro_take(&plan, &state, &log, &(struct micro_ask){.now = now, .cost = {1}}, &answer);
        assert_int_equal(answer.verdict, WEIR_ALLOW);
        value_put(&value, &state, &log);
    }
    assert_int_equal(log.moves, moves);
    assert_int_equal(state.cell[0].word[3], MICRO_LOG_MAX + 1);
    assert_true(value_get(&value, &state, &log));
    const struct micro_ask peek = {.now = NOW + 1500000 + turn, .peek = true}; /* one more of the old ones is gone */
    micro_take(&plan, &state, &log, &peek, &answer);
    assert_int_equal(answer.remaining, 100000 - (SLOTS - turn) - (turn + 1));
}

static void a_ring_without_room_behind(void **unused)
{
    (void)unused;
    plan_is("100000/s algorithm=sliding-log");
    ring_that_turned(1001, 1001);
    ring_that_turned(1002, 99000 - 1002);
    ring_that_turned(40000, 99000 - 40000);
}

/* Where both parts are as long, the one in front moves behind the other: the value grows by what it needs alone. */
static void a_ring_that_turned_in_the_middle(void **unused)
{
    (void)unused;
    static const uint64_t after[] = {0, 1, 500000, 500001, 500002, 1000001, 1000002, 1000003}; /* two go at the sixth */
    struct seen seen = {0};
    plan_is("20/s algorithm=sliding-log");
    value.size = 0;
    for (size_t i = 0; i < LENGTH(after); i++) assert_int_equal(ask_take(&seen, NOW + after[i], 1), WEIR_ALLOW);
    assert_int_equal(value.size, MICRO_LOG_RING + 7 * MICRO_LOG_ENTRY); /* four slots, two that moved and one more */
}

/* Only behind the cell of a log that has words. */
static void where_there_is_no_ring(void **unused)
{
    (void)unused;
    static const struct micro_cell log_cell = {.kind = MICRO_LOG, .words = 7},
                                   cells[] = {{.kind = MICRO_LOG}, {.kind = MICRO_SLIDING, .words = 3}};
    const struct micro_state alone = {.count = 1, .cell = {log_cell}}, two = {.count = 2, .cell = {log_cell}};
    struct micro_log log;
    micro_log_open(&log, &alone, value.bytes);
    assert_ptr_equal(log.ring, value.bytes + MICRO_LOG_RING);
    micro_log_open(&log, &two, value.bytes);
    assert_null(log.ring);
    for (size_t i = 0; i < LENGTH(cells); i++) {
        const struct micro_state other = {.count = 1, .cell = {cells[i]}};
        micro_log_open(&log, &other, value.bytes);
        assert_null(log.ring);
    }
}

/* Sums go round at 2^32. */
static void sums_go_round(void **unused)
{
    (void)unused;
    struct micro_state state = {.count = 1, .cell = {{.kind = MICRO_LOG, .words = 7}}};
    struct micro_log log;
    struct seen seen = {0};
    const uint64_t word[] = {NOW, UINT32_MAX, UINT32_MAX - 2, 0, 0, 0, 0}; /* two permits at NOW */
    memcpy(state.cell[0].word, word, sizeof word);
    plan_is("9/s algorithm=sliding-log");
    value.size = micro_write(&state, value.bytes);
    assert_int_equal(ask_take(&seen, NOW + 1, 3), WEIR_ALLOW);
    assert_int_equal(ask_take(&seen, NOW + 2, 4), WEIR_ALLOW);
    assert_int_equal(ask_take(&seen, NOW + 2, 1), WEIR_DENY);
    assert_int_equal(ask_take(&seen, NOW + 1000000, 3), WEIR_DENY); /* two are gone */
    assert_int_equal(ask_take(&seen, NOW + 1000000, 2), WEIR_ALLOW);
    assert_int_equal(ask_take(&seen, NOW + 1000001, 4), WEIR_DENY); /* and three more */
    assert_int_equal(ask_take(&seen, NOW + 1000001, 3), WEIR_ALLOW);
    assert_true(value_get(&value, &state, &log));
    assert_int_equal(state.cell[0].word[1], 11);
}

/* Each mistake by itself. */
static void rings_that_are_none(void **unused)
{
    (void)unused;
    enum { SLOTS = 5, WORDS = 7 };
    static const uint64_t rows[][WORDS] = {{NOW, 1, 0, SLOTS, 0, 4, 0},
                                           {NOW, UINT32_MAX, UINT32_MAX, SLOTS, 4, 1, 0}, /* these two are sound */
                                           {NOW, UINT32_MAX + UINT64_C(1), 0, SLOTS, 0, 4, 0},
                                           {NOW, 1, UINT32_MAX + UINT64_C(1), SLOTS, 0, 4, 0},
                                           {NOW, 1, 0, MICRO_LOG_MAX + 2, 0, 4, 0},
                                           {NOW, 1, 0, SLOTS, 0, 6, 0},
                                           {NOW, 1, 0, SLOTS, 5, 0, 0},
                                           {NOW, 1, 0, 0, 1, 0, 0}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct micro_state state = {.count = 1, .cell = {{.kind = MICRO_LOG, .words = WORDS}}};
        memcpy(state.cell[0].word, rows[i], sizeof rows[i]);
        const size_t head = micro_write(&state, value.bytes), ring = i == 7 ? 0 : SLOTS * MICRO_LOG_ENTRY;
        assert_int_equal(micro_read(&state, value.bytes, head + ring), i < 2);
        if (i > 0) continue;
        assert_true(micro_read(&state, value.bytes, head + ring - MICRO_LOG_ENTRY)); /* four entries are in it */
        assert_false(micro_read(&state, value.bytes, head + ring - 2 * MICRO_LOG_ENTRY));
        assert_false(micro_read(&state, value.bytes, head + ring - 1));
        assert_false(micro_read(&state, value.bytes, head + ring + MICRO_LOG_ENTRY));
    }
}

static struct micro_answer ask_peek(uint64_t now)
{
    struct micro_state state;
    struct micro_log log;
    struct micro_answer answer;
    assert_true(value_get(&value, &state, &log));
    micro_take(&plan, &state, &log, &(struct micro_ask){.now = now, .peek = true}, &answer);
    return answer;
}

/* From the first us of 1970 on. */
static void the_first_second(void **unused)
{
    (void)unused;
    struct seen seen = {0};
    plan_is("3/s algorithm=sliding-log");
    value.size = 0;
    assert_int_equal(ask_peek(0).full, 0);
    for (uint64_t now = 0; now < 3; now++) assert_int_equal(ask_take(&seen, now, 1), WEIR_ALLOW);
    assert_int_equal(ask_peek(1000000).remaining, 1);
    assert_int_equal(ask_peek(999999).remaining, 0);
    ask_settle(3, 0);
    assert_int_equal(ask_peek(3).remaining, 1);
    ask_settle(3, 1);
    assert_int_equal(ask_peek(3).remaining, 2);
    ask_settle(3, 2);
    assert_int_equal(ask_peek(3).remaining, 3);
    assert_int_equal(ask_peek(3).full, 0);
}

/* One in which no permit is left, as nobody writes it, stays as it is. */
static void an_empty_entry(void **unused)
{
    (void)unused;
    struct micro_state state = {.count = 1, .cell = {{.kind = MICRO_LOG, .words = 7, .word = {NOW, 5, 5}}}};
    struct micro_log log = {.ring = NULL};
    struct micro_answer answer;
    const uint64_t one = 1, none = 0;
    plan_is("3/s algorithm=sliding-log");
    micro_settle(&plan, &state, &log, NOW, NOW, &one, &none, &answer);
    assert_int_equal(state.cell[0].words, 7);
    micro_take(&plan, &state, &log, &(struct micro_ask){.now = NOW, .cost = {4}}, &answer);
    assert_false(answer.changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_of_any_cost),
        cmocka_unit_test(refusals_that_count),
        cmocka_unit_test(a_ring_that_grows),
        cmocka_unit_test(what_is_given_back),
        cmocka_unit_test(as_many_as_are_looked_at),
        cmocka_unit_test(slots_as_they_are_needed),
        cmocka_unit_test(a_log_that_is_made),
        cmocka_unit_test(a_ring_without_room_behind),
        cmocka_unit_test(a_ring_that_turned_in_the_middle),
        cmocka_unit_test(where_there_is_no_ring),
        cmocka_unit_test(sums_go_round),
        cmocka_unit_test(rings_that_are_none),
        cmocka_unit_test(the_first_second),
        cmocka_unit_test(an_empty_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
