/* SPDX-License-Identifier: MIT
   simrate_test.c - nosqlbench's present limiter: ticks, fills, and what a limiter of it does.

   May touch: its own plans, states and limiters.  Promises: expected answers are worked out by hand from the peer's
   rules.  Leaves to others: long runs (test/law/simrate_law.c), the peer (test/vectors). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/simrate.h"
#include "plan/plan.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define YEAR (UINT64_C(31536000) * S)

static weir_plan plan_of(const char *text)
{
    weir_plan plan;
    weir_error error = {0};
    if (weir_plan_parse(&plan, text, WEIR_ADMIT, &error) != 0) fail_msg("\"%s\": %s", text, error.message);
    return plan;
}

static weir_instant at(uint64_t ns)
{
    return (weir_instant){ns};
}

struct step {
    uint64_t now_ns, cost;
    uint32_t verdict;
    uint64_t retry_ns, remaining;
};

static void run(const char *text, const struct step *steps, size_t count)
{
    const weir_plan plan = plan_of(text);
    uint64_t state[STATE_WORDS_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        const struct step *step = &steps[i];
        const weir_decision got = weir_decide(&plan, state, at(step->now_ns), step->cost);
        if (got.verdict == step->verdict && got.retry_ns == step->retry_ns && got.remaining == step->remaining)
            continue;
        fail_msg("%s, step %zu: verdict %u, retry %ju, remaining %ju", text, i, got.verdict, (uintmax_t)got.retry_ns,
                 (uintmax_t)got.remaining);
    }
}

static void in_lumps(void **unused)
{
    (void)unused;
    const struct step steps[] = {
        {7 * MS, 1, WEIR_ALLOW, 0, 0},
        {7 * MS, 1, WEIR_DENY, 10 * MS, 0},
        {17 * MS - 1, 1, WEIR_DENY, 1, 0},
        {17 * MS, 1, WEIR_ALLOW, 0, 9},
        {17 * MS, 9, WEIR_ALLOW, 0, 0},
        {20 * MS, 25, WEIR_DENY, 27 * MS, 0},
        {20 * MS, 1101, WEIR_NEVER, 0, 0},
        {47 * MS, 30, WEIR_ALLOW, 0, 0},
        /* full after 100 fills, the burst pool after 100 more */
        {1047 * MS, 0, WEIR_ALLOW, 0, 1000},
        {1057 * MS, 0, WEIR_ALLOW, 0, 1001},
        {2047 * MS, 0, WEIR_ALLOW, 0, 1100},
        {290 * YEAR, 1100, WEIR_ALLOW, 0, 0},
        {290 * YEAR, 11, WEIR_DENY, 7 * MS, 0},
        {290 * YEAR + 7 * MS, 11, WEIR_ALLOW, 0, 0}, /* what waited pays one */
    };
    run("1000/s algorithm=simrate", steps, LENGTH(steps));
}

/* Ticks of a us; an operation of 7 s is 700 fills. */
static void slow(void **unused)
{
    (void)unused;
    const struct step steps[] = {
        {S, 1, WEIR_ALLOW, 0, 0},       {S, 1, WEIR_DENY, 7 * S, 0},
        {8 * S, 1, WEIR_ALLOW, 0, 0},   {8 * S, 142, WEIR_DENY, 994 * S, 0},
        {8 * S, 143, WEIR_NEVER, 0, 0}, {YEAR, 142, WEIR_ALLOW, 0, 0},
    };
    run("1/7s algorithm=simrate catchup=1", steps, LENGTH(steps));
}

static void first_call(void **unused)
{
    (void)unused;
    const struct step steps[] = {{5, 2, WEIR_ALLOW, 0, 0}, {5, 1, WEIR_DENY, 10 * MS, 0}};
    run("100/s algorithm=simrate", steps, LENGTH(steps));
}

static void time_that_goes_back(void **unused)
{
    (void)unused;
    const struct step steps[] = {
        {S, 1, WEIR_ALLOW, 0, 0},           {S + 10 * MS, 1, WEIR_ALLOW, 0, 9},
        {S, 1, WEIR_DENY, 10 * MS, 0}, /* before the last fill nothing can be had */
        {S + 10 * MS, 9, WEIR_ALLOW, 0, 0}, {0, 1, WEIR_DENY, S + 20 * MS, 0},
    };
    run("1000/s algorithm=simrate", steps, LENGTH(steps));
}

/* Told to fill, as the original's filler does it: 1 us ticks, the rest of each fill is lost. */
static void told_to_fill(void **unused)
{
    (void)unused;
    weir_plan plan = plan_of("1/2s algorithm=simrate");
    struct rule *rule = &plan_inside(&plan)->rule[0];
    uint64_t state[STATE_WORDS_MAX] = {0};
    simrate_refill(rule, state, tick_at(rule, 0));
    assert_int_equal((int64_t)state[SIMRATE_ACTIVE], 2000000);
    simrate_refill(rule, state, tick_at(rule, 999));
    simrate_refill(rule, state, tick_at(rule, 1998));
    assert_int_equal((int64_t)state[SIMRATE_ACTIVE], 2000000);
    simrate_refill(rule, state, tick_at(rule, 3998));
    assert_int_equal((int64_t)state[SIMRATE_ACTIVE], 2000002);
    /* 2^31 - 1 ns at most are poured, 2,147,483 ticks; the rest waits at once. */
    simrate_refill(rule, state, tick_at(rule, 3998 + 3 * S));
    assert_int_equal((int64_t)state[SIMRATE_ACTIVE], 2000002 + 2147483 + 214748);
    assert_int_equal((int64_t)state[SIMRATE_WAITING], 852516 - 214748);
    simrate_refill(rule, state, tick_at(rule, 5)); /* back */
    assert_int_equal(state[SIMRATE_FILLED] - 1, 3998 + 3 * S);
    rule->flags |= RULE_FOLLOWS_CLOCK;
    simrate_refill(rule, state, tick_at(rule, 5));
    assert_int_equal(state[SIMRATE_FILLED] - 1, 5);
    simrate_refill(rule, state, tick_at(rule, YEAR));
    assert_true((int64_t)state[SIMRATE_WAITING] > 30000000000000); /* no 32 bits */
}

/* Nothing is given back; what was used without asking is owed. */
static void settled(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1000/s algorithm=simrate");
    uint64_t state[STATE_WORDS_MAX] = {0};
    weir_decide(&plan, state, at(0), 1);
    weir_decision decision = weir_decide(&plan, state, at(10 * MS), 8);
    weir_decide_settle(&plan, state, at(10 * MS), &decision, 3);
    assert_int_equal(weir_decide(&plan, state, at(10 * MS), 0).remaining, 2);
    decision = weir_decide(&plan, state, at(10 * MS), 1);
    weir_decide_settle(&plan, state, at(10 * MS), &decision, 7);
    assert_int_equal(weir_decide(&plan, state, at(10 * MS), 1).retry_ns, 10 * MS);
    assert_int_equal(weir_decide(&plan, state, at(20 * MS), 0).remaining, 5);
}

static void mistakes(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int column;
        const char *message;
    } rows[] = {
        {"1000000001/s algorithm=simrate", 1,
         "this rate is over 1G/s, and simrate counts whole ns for each operation; for more write algorithm=hybrid"},
        {"1/1000000s algorithm=simrate", 1,
         "this rate is 1 in 1000000s or less, at which simrate never fills; for less write algorithm=hybrid"},
        {"10/s algorithm=simrate catchup=0.9", 32,
         "catchup is 1 or more: how much faster to run while behind; for example 1.1"},
        {"10/s algorithm=simrate catchup=1001", 32, "catchup is at most 1000; for example catchup=1.1"},
        {"10/s algorithm=simrate burst=3", 24,
         "burst does not belong to algorithm=simrate; it goes with gcra, hybrid, bursty, leaky"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        weir_plan plan;
        weir_error error = {0};
        assert_int_equal(weir_plan_parse(&plan, rows[i].text, WEIR_ADMIT, &error), WEIR_EINVAL);
        assert_string_equal(error.message, rows[i].message);
        assert_int_equal(error.column, rows[i].column);
    }
}

static void canonical(void **unused)
{
    (void)unused;
    char text[128], again[128];
    weir_plan plan = plan_of("10/s algorithm=simrate");
    weir_plan_text(&plan, text, sizeof text);
    assert_string_equal(text, "10/s catchup=1.1 algorithm=simrate");
    plan = plan_of(text);
    weir_plan_text(&plan, again, sizeof again);
    assert_string_equal(again, text);
}

/* The scale of ticks, the ticks of an operation, and what the pools hold. */
static void in_numbers(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t tick_ns, per_op, over, at_once, spacing_ns;
    } rows[] = {
        {"1G/s algorithm=simrate", 1, 1, 1100000000, 1100000000, 1},
        {"3/s algorithm=simrate", 1, 333333333, 1100000000, 3, 333333333},
        {"1.0000001/s algorithm=simrate", 1, 999999900, 1100000000, 1, 999999900},
        {"1/s algorithm=simrate", 1000, 1000000, 1100000000, 1100, S},
        {"0.001/s algorithm=simrate catchup=2", 1000000, 1000000, 2000000000, 2000, 1000 * S},
        {"1/11d algorithm=simrate", 1000000, 950400000, 1100000000, 1, 950400 * S},
        {"1G/s algorithm=simrate catchup=1.00000009", 1, 1, 1000000090, 1000000000, 1}, /* never moves */
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_of(rows[i].text);
        const struct rule *rule = &plan_inside_const(&plan)->rule[0];
        const struct facts facts = facts_of(&plan_inside_const(&plan)->limit[0], rule);
        assert_int_equal(rule->fourth, rows[i].tick_ns);
        assert_int_equal(rule->third, rows[i].per_op);
        assert_int_equal(rule->over, rows[i].over);
        assert_int_equal(facts.at_once, rows[i].at_once);
        assert_int_equal(facts.largest, rows[i].at_once);
        assert_int_equal(facts.spacing_ns, rows[i].spacing_ns);
        assert_int_equal(facts.state_bytes, weir_state_size(&plan));
    }
    const weir_plan plan = plan_of("1000/s algorithm=simrate");
    const struct limit *limit = &plan_inside_const(&plan)->limit[0];
    static const uint64_t windows[][2] = {{1, 1100}, {2, 1111}, {10 * MS + 1, 1111}, {10 * MS + 2, 1122}, {S, 2200}};
    for (size_t i = 0; i < LENGTH(windows); i++) assert_int_equal(facts_most_in(limit, windows[i][0]), windows[i][1]);
}

/* As many as there may be, greedily, just before a fill and after the following ones. */
static void worst_window(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1000/s algorithm=simrate");
    uint64_t state[STATE_WORDS_MAX] = {0}, taken = 0;
    weir_decide(&plan, state, at(0), 1);
    const uint64_t from_ns = 1000 * S - 1;
    for (uint64_t now_ns = from_ns; now_ns < from_ns + S;) {
        const weir_decision decision = weir_decide(&plan, state, at(now_ns), 1);
        if (weir_allowed(decision)) taken++;
        else now_ns += decision.retry_ns;
    }
    assert_int_equal(taken, facts_most_in(&plan_inside_const(&plan)->limit[0], S));
}

static weir_limiter *open_manual(const char *text)
{
    const weir_options options = {.size = sizeof options, .clock = WEIR_CLOCK_MANUAL};
    weir_limiter *limiter;
    assert_int_equal(weir_open(&limiter, text, &options, NULL), 0);
    return limiter;
}

static void in_a_limiter(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("1000/s algorithm=simrate");
    weir_stats stats;
    assert_true(weir_allowed(weir_take(limiter, 1)));
    assert_int_equal(weir_reserve(limiter, 1, S).verdict, WEIR_DENY); /* has no places */
    weir_manual_set(limiter, at(3 * S));
    assert_true(weir_allowed(weir_take(limiter, 100)));
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.late_now_ns, 3 * S - 1100 * MS);
    assert_int_equal(stats.late_max_ns, 3 * S - 1100 * MS);
    assert_int_equal(weir_set_limit(limiter, "100/s algorithm=simrate", WEIR_KEEP, NULL), 0);
    assert_int_equal(weir_peek(limiter, 0).remaining, 1);
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.late_now_ns, 0);
    weir_take(limiter, 1);
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.late_max_ns, 3 * S - 1100 * MS);
    weir_charge(limiter, 3);
    assert_int_equal(weir_set_limit(limiter, "1000/s algorithm=simrate", WEIR_KEEP, NULL), 0);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 10 * MS);
    weir_manual_set(limiter, at(3 * S + 10 * MS));
    assert_int_equal(weir_peek(limiter, 0).remaining, 7);
    assert_int_equal(weir_set_limit(limiter, "1000/s algorithm=simrate", WEIR_RESET, NULL), 0);
    assert_true(weir_allowed(weir_take(limiter, 3)));
    assert_false(weir_allowed(weir_take(limiter, 1)));
    weir_close(limiter);
}

static void waits_for_a_fill(void **unused)
{
    (void)unused;
    weir_limiter *limiter;
    assert_int_equal(weir_open(&limiter, "1000/s algorithm=simrate", NULL, NULL), 0);
    assert_true(weir_allowed(weir_take(limiter, 1)));
    const uint64_t begin_ns = weir_now().ns;
    assert_true(weir_allowed(weir_take_wait(limiter, 15, S)));
    assert_true(weir_now().ns - begin_ns > 15 * MS);
    assert_int_equal(weir_take_wait(limiter, 900, 10 * MS).verdict, WEIR_DENY);
    weir_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_lumps),     cmocka_unit_test(slow),
        cmocka_unit_test(first_call),   cmocka_unit_test(time_that_goes_back),
        cmocka_unit_test(told_to_fill), cmocka_unit_test(settled),
        cmocka_unit_test(mistakes),     cmocka_unit_test(canonical),
        cmocka_unit_test(in_numbers),   cmocka_unit_test(worst_window),
        cmocka_unit_test(in_a_limiter), cmocka_unit_test(waits_for_a_fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
