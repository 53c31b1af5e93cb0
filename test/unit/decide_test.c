/* SPDX-License-Identifier: MIT
   decide_test.c - the pure core, step by step: gcra, hybrid, lists, and what settling gives back.

   May touch: its own plans and states.  Promises: expected answers are worked out by hand from DESIGN's rules; a
   refusal is compared bytewise.  Leaves to others: long runs against the bounds (laws), text (text_test.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "unit/plans.h"
#include "unit/random.h"

enum { RANDOM_STEPS = 200000, STATE_MAX = LIST_WORDS_MAX };

#define TWO(power) (UINT64_C(1) << (power))

/* ---- steps: what one caller after the other is told ---- */

struct answer {
    uint64_t now_ns, cost, wait_ns;
    uint32_t verdict;
    uint64_t delay_ns, retry_ns, remaining, start_ns;
};

struct walk { /* runs all steps from a base time on; the answers may be off by as much, far from the anchor */
    const char *text;
    uint64_t base_ns, off_ns;
};

static bool near(uint64_t got, uint64_t expected, uint64_t off)
{
    return got == expected || (got < expected ? expected - got : got - expected) <= off;
}

/* What every decision has, whatever its verdict. */
static void check_decision(const weir_decision *decision, uint64_t now_ns, uint64_t cost)
{
    if (decision->verdict == WEIR_ALLOW) {
        assert_int_equal(decision->retry_ns, 0);
        assert_int_equal(decision->charged, cost);
        if (decision->delay_ns != 0) assert_int_equal(decision->start.ns, now_ns + decision->delay_ns);
        else assert_true(decision->start.ns <= now_ns);
        return;
    }
    assert_int_equal(decision->delay_ns, 0);
    assert_int_equal(decision->charged, 0);
    assert_int_equal(decision->start.ns, now_ns);
    assert_int_equal(decision->retry_ns != 0, decision->verdict == WEIR_DENY);
}

static void check_step(const struct walk *walk, size_t index, const struct answer *step, const weir_decision *got)
{
    const uint64_t start_ns = step->start_ns + walk->base_ns;
    if (got->verdict == step->verdict && near(got->delay_ns, step->delay_ns, walk->off_ns) &&
        near(got->retry_ns, step->retry_ns, walk->off_ns) && got->remaining == step->remaining &&
        near(got->start.ns, start_ns, walk->off_ns)) {
        return;
    }
    fail_msg("%s, base %ju, step %zu: verdict %ju (%ju), delay %ju (%ju), retry %ju (%ju), remaining %ju (%ju), "
             "start %ju (%ju)",
             walk->text, (uintmax_t)walk->base_ns, index, (uintmax_t)got->verdict, (uintmax_t)step->verdict,
             (uintmax_t)got->delay_ns, (uintmax_t)step->delay_ns, (uintmax_t)got->retry_ns, (uintmax_t)step->retry_ns,
             (uintmax_t)got->remaining, (uintmax_t)step->remaining, (uintmax_t)got->start.ns, (uintmax_t)start_ns);
}

static void walk_steps(const struct walk *walk, const struct answer steps[], size_t count)
{
    const weir_plan plan = plan_of(walk->text);
    uint64_t state[STATE_MAX] = {0}, before[STATE_MAX];
    for (size_t i = 0; i < count; i++) {
        const struct answer *step = &steps[i];
        const uint64_t now_ns = walk->base_ns + step->now_ns;
        memcpy(before, state, sizeof state);
        const weir_decision got = weir_decide_within(&plan, state, at(now_ns), step->cost, step->wait_ns);
        check_step(walk, i, step, &got);
        check_decision(&got, now_ns, step->cost);
        if (got.verdict != WEIR_ALLOW || step->cost == 0) assert_memory_equal(state, before, sizeof state);
        assert_int_equal(state[weir_state_size(&plan) / 8], 0);
    }
}

#define WALK(limit, base, off, steps)                                                                                  \
    do {                                                                                                               \
        const struct walk walk = {limit, base, off};                                                                   \
        walk_steps(&walk, steps, LENGTH(steps));                                                                       \
    } while (0)

static void gcra_step_by_step(void **unused)
{
    (void)unused;
    static const struct answer steps[] = {
        /* now, cost, wait,       verdict,    delay,    retry,    remaining, start */
        {0, 1, 0, WEIR_ALLOW, 0, 0, 2, 0},
        {0, 2, 0, WEIR_ALLOW, 0, 0, 0, 0},
        {0, 1, 0, WEIR_DENY, 0, 100 * MS, 0, 0},
        {0, 0, 0, WEIR_ALLOW, 0, 0, 0, 0},
        {0, 4, 0, WEIR_NEVER, 0, 0, 0, 0},
        {100 * MS - 1, 1, 0, WEIR_DENY, 0, 1, 0, 100 * MS - 1},
        {100 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0, 100 * MS},
        {100 * MS, 3, 0, WEIR_DENY, 0, 300 * MS, 0, 100 * MS},
        /* time that goes back earns nothing and loses nothing */
        {50 * MS, 1, 0, WEIR_DENY, 0, 150 * MS, 0, 50 * MS},
        {200 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0, 200 * MS},
        {S, 4, WEIR_FOREVER, WEIR_NEVER, 0, 0, 3, S},
        {S, 3, 0, WEIR_ALLOW, 0, 0, 0, S},
        {S, 1, 100 * MS - 1, WEIR_DENY, 0, 1, 0, S},
        {S, 1, 100 * MS, WEIR_ALLOW, 100 * MS, 0, 0, 1100 * MS},
        {S, 1, 150 * MS, WEIR_DENY, 0, 50 * MS, 0, S},
        {S, 1, WEIR_FOREVER, WEIR_ALLOW, 200 * MS, 0, 0, 1200 * MS},
        {1300 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0, 1300 * MS},
        {1700 * MS, 1, 0, WEIR_ALLOW, 0, 0, 2, 1700 * MS},
        {1700 * MS, UINT64_MAX, 0, WEIR_NEVER, 0, 0, 2, 1700 * MS},
    };
    static const uint64_t bases_ns[] = {1, S, TWO(32), TWO(50), TWO(62) + 12345, TWO(63) - 2 * S};
    WALK("10/s burst=3", 0, 0, steps);
    for (size_t i = 0; i < LENGTH(bases_ns); i++) WALK("10/s burst=3", bases_ns[i], 1, steps);
}

/* A third of a second is no whole number of ns: each wait is rounded up, and the sum does not drift. */
static void gcra_does_not_drift(void **unused)
{
    (void)unused;
    static const struct answer steps[] = {
        {0, 3, 0, WEIR_ALLOW, 0, 0, 0, 0},
        {0, 1, 0, WEIR_DENY, 0, 333333334, 0, 0},
        {333333333, 1, 0, WEIR_DENY, 0, 1, 0, 333333333},
        {333333334, 1, 0, WEIR_ALLOW, 0, 0, 0, 333333334},
        {333333334, 1, 0, WEIR_DENY, 0, 333333333, 0, 333333334},
        {666666667, 1, 0, WEIR_ALLOW, 0, 0, 0, 666666667},
        {666666667, 1, 0, WEIR_DENY, 0, 333333333, 0, 666666667},
        {S, 1, 0, WEIR_ALLOW, 0, 0, 0, S},
        {S, 2, 0, WEIR_DENY, 0, 666666667, 0, S},
    };
    WALK("3/s", 0, 0, steps);
}

static void gcra_starts_empty(void **unused)
{
    (void)unused;
    static const struct answer steps[] = {
        {0, 1, 0, WEIR_DENY, 0, 100 * MS, 0, 0},
        {0, 3, 0, WEIR_DENY, 0, 300 * MS, 0, 0},
        {0, 4, 0, WEIR_NEVER, 0, 0, 0, 0},
        {250 * MS, 0, 0, WEIR_ALLOW, 0, 0, 2, 250 * MS},
        {300 * MS, 3, 0, WEIR_ALLOW, 0, 0, 0, 300 * MS},
        {300 * MS, 1, 0, WEIR_DENY, 0, 100 * MS, 0, 300 * MS},
    };
    static const struct answer full[] = {{0, 3, 0, WEIR_ALLOW, 0, 0, 0, 0}};
    WALK("10/s burst=3 start=empty", 0, 0, steps);
    WALK("10/s burst=3 start=full", 0, 0, full);
}

static void gcra_with_a_burst_in_time(void **unused)
{
    (void)unused;
    static const struct answer steps[] = {
        {0, 3, 0, WEIR_NEVER, 0, 0, 2, 0},
        {0, 2, 0, WEIR_ALLOW, 0, 0, 0, 0}, /* half a permit is left */
        {0, 1, 0, WEIR_DENY, 0, 50 * MS, 0, 0},
        {50 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0, 50 * MS},
        {300 * MS, 0, 0, WEIR_ALLOW, 0, 0, 2, 300 * MS},
    };
    WALK("10/s burst=250ms", 0, 1, steps);
}

static const struct answer hybrid_steps[] = {
    {0, 1, 0, WEIR_ALLOW, 0, 0, 0, 0}, /* empty at first: no volley */
    {0, 1, 0, WEIR_DENY, 0, 100 * MS, 0, 0},
    {0, 1, 100 * MS, WEIR_ALLOW, 100 * MS, 0, 0, 100 * MS},
    {0, 1, 100 * MS, WEIR_DENY, 0, 100 * MS, 0, 0},
    {0, 0, WEIR_FOREVER, WEIR_ALLOW, 100 * MS, 0, 0, 100 * MS},
    /* after a stall: the first has the start it was due at, the pool holds one more, the rest is lost */
    {10 * S, 1, 0, WEIR_ALLOW, 0, 0, 1, 200 * MS},
    {10 * S, 1, 0, WEIR_ALLOW, 0, 0, 0, 10 * S},
    {10 * S, 1, 0, WEIR_DENY, 0, 100 * MS, 0, 10 * S},
    {10100 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0, 10100 * MS},
    /* above the pool: when the pool is full, and repaid from below zero */
    {10100 * MS, 5, 0, WEIR_DENY, 0, 200 * MS, 0, 10100 * MS},
    {12 * S, 5, 0, WEIR_ALLOW, 0, 0, 0, 10300 * MS},
    {12 * S, 1, 0, WEIR_DENY, 0, 400 * MS, 0, 12 * S},
    {12 * S, 2, 0, WEIR_DENY, 0, 500 * MS, 0, 12 * S},
    {12 * S, 7, 0, WEIR_DENY, 0, 500 * MS, 0, 12 * S},
    {12400 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0, 12400 * MS},
    {12450 * MS, 1, 0, WEIR_DENY, 0, 50 * MS, 0, 12450 * MS},
};

static void hybrid_step_by_step(void **unused)
{
    (void)unused;
    static const uint64_t bases_ns[] = {S, 12345, TWO(40), TWO(60)};
    WALK("10/s burst=2 algorithm=hybrid", 0, 0, hybrid_steps);
    for (size_t i = 0; i < LENGTH(bases_ns); i++) WALK("10/s burst=2 algorithm=hybrid", bases_ns[i], 1, hybrid_steps);
}

/* Plans are anchored at 0 ns; a replay asks with the time of the day, in ns since 1970. */
static void hybrid_with_unix_times(void **unused)
{
    (void)unused;
    static const uint64_t in_2026_ns = UINT64_C(1767225600) * S, in_2050_ns = UINT64_C(2524608000) * S;
    WALK("10/s burst=2 algorithm=hybrid", in_2026_ns, 1, hybrid_steps);
    WALK("10/s burst=2 algorithm=hybrid", in_2050_ns, 1, hybrid_steps);
}

static void hybrid_catches_up(void **unused)
{
    (void)unused;
    static const struct answer steps[] = {
        {0, 1, 0, WEIR_ALLOW, 0, 0, 0, 0},
        {0, 1, 0, WEIR_DENY, 0, 100 * MS, 0, 0}, /* on time, it is no faster than the rate */
        {100 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0, 100 * MS},
        /* behind by 9.9 s: pool and burst pool are full, twice as fast from there */
        {10 * S, 1, 0, WEIR_ALLOW, 0, 0, 3, 200 * MS},
        {10 * S, 1, 0, WEIR_ALLOW, 0, 0, 2, 9900 * MS},
        {10 * S, 1, 0, WEIR_ALLOW, 0, 0, 1, 9950 * MS},
        {10 * S, 1, 0, WEIR_ALLOW, 0, 0, 0, 10 * S},
        {10 * S, 1, 0, WEIR_DENY, 0, 50 * MS, 0, 10 * S},
        {10050 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0, 10050 * MS},
        {10050 * MS, 2, 0, WEIR_DENY, 0, 100 * MS, 0, 10050 * MS},
        {10150 * MS, 2, 0, WEIR_ALLOW, 0, 0, 0, 10150 * MS},
    };
    /* Behind by 150 ms only: made up for, and then at the rate again. */
    static const struct answer little[] = {
        {0, 1, 0, WEIR_ALLOW, 0, 0, 0, 0},
        {250 * MS, 1, 0, WEIR_ALLOW, 0, 0, 1, 100 * MS},
        {250 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0, 225 * MS}, /* half a permit was missing: 25 ms ago at twice the rate */
        {250 * MS, 1, 0, WEIR_DENY, 0, 50 * MS, 0, 250 * MS},
        {300 * MS, 1, 0, WEIR_ALLOW, 0, 0, 0, 300 * MS},
        {300 * MS, 1, 0, WEIR_DENY, 0, 100 * MS, 0, 300 * MS},
    };
    WALK("10/s burst=2 catchup=2", 0, 0, steps);
    WALK("10/s burst=2 catchup=2", 7 * S, 1, steps);
    WALK("10/s burst=2 catchup=2", 0, 0, little);
}

static void hybrid_starts_full(void **unused)
{
    (void)unused;
    static const struct answer steps[] = {
        {0, 0, 0, WEIR_ALLOW, 0, 0, 2, 0},
        {0, 1, 0, WEIR_ALLOW, 0, 0, 1, 0},
        {0, 1, 0, WEIR_ALLOW, 0, 0, 0, 0},
        {0, 1, 0, WEIR_DENY, 0, 100 * MS, 0, 0},
    };
    WALK("10/s burst=2 algorithm=hybrid start=full", S, 0, steps);
}

static void without_a_rate(void **unused)
{
    (void)unused;
    static const struct answer unlimited[] = {
        {0, 1, 0, WEIR_ALLOW, 0, 0, UINT64_MAX, 0},
        {5, UINT64_MAX, 0, WEIR_ALLOW, 0, 0, UINT64_MAX, 5},
        {UINT64_MAX - 1, 0, 0, WEIR_ALLOW, 0, 0, UINT64_MAX, UINT64_MAX - 1},
    };
    static const struct answer none[] = {
        {0, 1, 0, WEIR_NEVER, 0, 0, 0, 0},
        {7, UINT64_MAX, WEIR_FOREVER, WEIR_NEVER, 0, 0, 0, 7},
        {7, 0, 0, WEIR_ALLOW, 0, 0, 0, 7},
    };
    WALK("unlimited", 0, 0, unlimited);
    WALK("none", 0, 0, none);
    WALK("unlimited; none; 10/s", 0, 0, none);
}

/* ---- several limits ---- */

static void all_or_nothing(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t now_ns, cost;
        uint32_t verdict, limit;
        uint64_t retry_ns, remaining;
    } steps[] = {
        {0, 1, WEIR_ALLOW, 0, 0, 1},
        {0, 1, WEIR_ALLOW, 0, 0, 0},
        {0, 1, WEIR_DENY, 0, 100 * MS, 0},
        {0, 3, WEIR_NEVER, 0, 0, 0},
        {100 * MS, 1, WEIR_ALLOW, 0, 0, 0},
        {400 * MS, 1, WEIR_DENY, 1, 19600 * MS, 0}, /* three in a minute are used, one comes back every 20 s */
        {400 * MS, 2, WEIR_DENY, 1, 39600 * MS, 0},
        {20 * S, 1, WEIR_ALLOW, 1, 0, 0},
        {20 * S, 1, WEIR_DENY, 1, 20 * S, 0},
    };
    const weir_plan plan = plan_of("10/s burst=2; 3/min");
    uint64_t state[STATE_MAX] = {0}, before[STATE_MAX];
    for (size_t i = 0; i < LENGTH(steps); i++) {
        memcpy(before, state, sizeof state);
        const weir_decision got = weir_decide(&plan, state, at(steps[i].now_ns), steps[i].cost);
        check_decision(&got, steps[i].now_ns, steps[i].cost);
        if (got.verdict != steps[i].verdict || got.limit != steps[i].limit || got.retry_ns != steps[i].retry_ns ||
            got.remaining != steps[i].remaining) {
            fail_msg("step %zu: verdict %ju, limit %ju, retry %ju, remaining %ju", i, (uintmax_t)got.verdict,
                     (uintmax_t)got.limit, (uintmax_t)got.retry_ns, (uintmax_t)got.remaining);
        }
        if (got.verdict != WEIR_ALLOW) assert_memory_equal(state, before, sizeof state);
    }
}

static void the_limit_at_fault(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t cost;
        uint32_t verdict, limit;
    } rows[] = {
        {"10/s burst=20; 5/min", 6, WEIR_NEVER, 1},
        {"10/s burst=20; 5/min", 5, WEIR_ALLOW, 1},
        {"5/min; 10/s burst=20", 6, WEIR_NEVER, 0},
        {"10/s; 20/s; 3/s; 30/s", 4, WEIR_NEVER, 2},
        {"10/s; none; 3/s", 1, WEIR_NEVER, 1},
        {"unlimited; 10/s", 3, WEIR_ALLOW, 1},
        {"10/s; 12000", 11, WEIR_NEVER, 0},
        {"12000; 10/s", 11, WEIR_NEVER, 1},
        {"10/s start=empty; 1/s start=empty", 1, WEIR_DENY, 1},
        {"1/s start=empty; 10/s start=empty", 1, WEIR_DENY, 0},
        {"1/s start=empty; 1/s start=empty", 1, WEIR_DENY, 0},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_of(rows[i].text);
        uint64_t state[STATE_MAX] = {0};
        const uint64_t fresh[STATE_MAX] = {0};
        const weir_decision got = weir_decide(&plan, state, at(0), rows[i].cost);
        assert_int_equal(got.verdict, rows[i].verdict);
        assert_int_equal(got.limit, rows[i].limit);
        if (got.verdict != WEIR_ALLOW) assert_memory_equal(state, fresh, sizeof state);
    }
}

/* Who waits is told which limit he waits for, be it the tightest or not. */
static void the_limit_waited_for(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint32_t limit;
        uint64_t delay_ns;
    } rows[] = {
        {"1/s burst=1; 10/s burst=1", 0, S},
        {"10/s burst=1; 1/s burst=1", 1, S},
        {"10/s burst=1; 1/s burst=1 algorithm=hybrid", 1, S},
        {"1/s burst=1; 1/s burst=1", 0, S},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_of(rows[i].text);
        uint64_t state[STATE_MAX] = {0};
        assert_true(weir_allowed(weir_decide(&plan, state, at(S), 1)));
        const weir_decision got = weir_decide_within(&plan, state, at(S), 1, WEIR_FOREVER);
        assert_int_equal(got.verdict, WEIR_ALLOW);
        assert_int_equal(got.limit, rows[i].limit);
        assert_int_equal(got.delay_ns, rows[i].delay_ns);
    }
}

static void a_cost_for_each(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t now_ns, cost[2];
        uint32_t verdict, limit;
        uint64_t retry_ns, remaining;
    } steps[] = {
        {0, {1, 5000}, WEIR_ALLOW, 0, 0, 59},    {0, {1, 100001}, WEIR_NEVER, 1, 0, 59},
        {0, {61, 1}, WEIR_NEVER, 0, 0, 59},      {0, {1, 96000}, WEIR_DENY, 1, 600 * MS, 59},
        {0, {60, 1}, WEIR_DENY, 0, S, 59},       {600 * MS, {1, 96000}, WEIR_ALLOW, 1, 0, 0},
        {600 * MS, {1, 0}, WEIR_ALLOW, 1, 0, 0}, {600 * MS, {0, 1}, WEIR_DENY, 1, 600000, 0},
        {600 * MS, {0, 0}, WEIR_ALLOW, 1, 0, 0},
    };
    const weir_plan plan = plan_of("60 requests/min; 100k tokens/min");
    const struct rules rules = plan_rules(plan_inside_const(&plan));
    uint64_t state[STATE_MAX] = {0}, before[STATE_MAX];
    for (size_t i = 0; i < LENGTH(steps); i++) {
        weir_decision got;
        uint64_t end[WEIR_LIMITS_MAX] = {0};
        memcpy(before, state, sizeof state);
        decide(rules, state, &(struct question){.now_ns = steps[i].now_ns, .cost = steps[i].cost}, end, &got);
        if (got.verdict != steps[i].verdict || got.limit != steps[i].limit || got.retry_ns != steps[i].retry_ns ||
            got.remaining != steps[i].remaining) {
            fail_msg("step %zu: verdict %ju, limit %ju, retry %ju, remaining %ju", i, (uintmax_t)got.verdict,
                     (uintmax_t)got.limit, (uintmax_t)got.retry_ns, (uintmax_t)got.remaining);
        }
        if (got.verdict != WEIR_ALLOW) assert_memory_equal(state, before, sizeof state);
        for (int j = 0; j < 2; j++) {
            if (steps[i].cost[j] == 0) assert_int_equal(state[j], before[j]);
            else if (got.verdict == WEIR_ALLOW) assert_int_equal(end[j], state[j]);
        }
    }
}

static void what_passes_now(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("10/s burst=5; 3/min");
    const struct rules rules = plan_rules(plan_inside_const(&plan));
    uint64_t state[STATE_MAX] = {0};
    assert_int_equal(passing_now(rules, state, 0, 100), 3);
    assert_int_equal(passing_now(rules, state, 0, 2), 2);
    assert_true(weir_allowed(weir_decide(&plan, state, at(0), 3)));
    assert_int_equal(passing_now(rules, state, 0, 100), 1); /* so that asking for it says why not */
    assert_int_equal(passing_now(rules, state, 60 * S, UINT64_MAX), 3);
}

/* ---- retry is exact ---- */

static uint64_t jump(uint64_t *seed, uint64_t retry_ns)
{
    if (retry_ns != 0 && random_one_in(seed, 3)) return random_below(seed, 2) + retry_ns - 1;
    return random_one_in(seed, 4) ? 0 : random_sized(seed, 32);
}

static void check_retry(const char *text, const weir_plan *plan, const uint64_t *state, uint64_t now_ns, uint64_t cost,
                        uint64_t wait_ns, uint64_t retry_ns)
{
    for (uint64_t early = 0; early < 2; early++) {
        uint64_t copy[STATE_MAX];
        memcpy(copy, state, sizeof copy);
        const weir_decision again = weir_decide_within(plan, copy, at(now_ns + retry_ns - early), cost, wait_ns);
        if (again.verdict == (early != 0 ? WEIR_DENY : WEIR_ALLOW)) continue;
        fail_msg("%s: at %ju cost %ju wait %ju was told to retry in %ju, and %ju ns before that got %ju", text,
                 (uintmax_t)now_ns, (uintmax_t)cost, (uintmax_t)wait_ns, (uintmax_t)retry_ns, (uintmax_t)early,
                 (uintmax_t)again.verdict);
    }
}

static void retry_is_exact(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "10/s burst=3",
        "3/s",
        "7/min burst=20",
        "1000000/s burst=100",
        "999999937/s burst=40",
        "1/h burst=2",
        "0.3/s burst=9",
        "3000000000/s",
        "10/s burst=1050ms",
        "12000,1.1",
        "12000",
        "7,1.5",
        "3,1.01 burst=9",
        "1000000000,2",
        "999999937,1.7",
        "10/s burst=3; 7/s burst=5",
        "10/s burst=2; 12000,1.1; 1000/min",
        "7,1.5; 11,3",
    };
    uint64_t seed = UINT64_C(20240709);
    int denied = 0;
    printf("seed %ju\n", (uintmax_t)seed);
    for (size_t i = 0; i < LENGTH(texts); i++) {
        const weir_plan plan = plan_of(texts[i]);
        uint64_t state[STATE_MAX] = {0}, now_ns = random_sized(&seed, 50), retry_ns = 0;
        for (size_t j = 0; j < RANDOM_STEPS / LENGTH(texts); j++) {
            const uint64_t cost = random_below(&seed, 5);
            const uint64_t wait_ns = random_one_in(&seed, 2) ? 0 : random_sized(&seed, 30);
            now_ns += jump(&seed, retry_ns);
            const weir_decision got = weir_decide_within(&plan, state, at(now_ns), cost, wait_ns);
            check_decision(&got, now_ns, cost);
            retry_ns = got.retry_ns;
            if (got.verdict != WEIR_DENY) continue;
            check_retry(texts[i], &plan, state, now_ns, cost, wait_ns, retry_ns);
            denied++;
        }
    }
    assert_true(denied > RANDOM_STEPS / 20);
}

/* ---- settling ---- */

static uint64_t remaining_at(const weir_plan *plan, const uint64_t *state, uint64_t now_ns)
{
    uint64_t copy[STATE_MAX];
    memcpy(copy, state, sizeof copy);
    return weir_decide(plan, copy, at(now_ns), 0).remaining;
}

static void settle_gives_back_what_has_not_drained(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t taken, settled_ns, actual, remaining; /* of 10, at the time of settling */
    } rows[] = {
        {"10/s burst=10", 8, 0, 3, 7},
        {"10/s burst=10", 8, 0, 0, 10},
        {"10/s burst=10", 8, 0, 8, 2},
        {"10/s burst=10", 8, 0, 9, 1},
        {"10/s burst=10", 8, 0, 10, 0},
        {"10/s burst=10", 8, 0, 15, 0},        /* into debt */
        {"10/s burst=10", 8, 500 * MS, 3, 10}, /* 5 have drained, 3 are left to give back */
        {"10/s burst=10", 8, 500 * MS, 7, 8},
        {"10/s burst=10", 8, 500 * MS, 12, 3},
        {"10/s burst=10", 8, 800 * MS, 0, 10},
        {"10/s burst=10", 8, 9 * S, 0, 10},
        {"10/s burst=10", 8, 9 * S, 9, 9},
        {"10/s burst=10 algorithm=hybrid start=full", 8, 0, 3, 7},
        {"10/s burst=10 algorithm=hybrid start=full", 8, 0, 0, 10},
        {"10/s burst=10 algorithm=hybrid start=full", 8, 0, 10, 0},
        {"10/s burst=10 algorithm=hybrid start=full", 8, 500 * MS, 12, 3},
        {"10/s burst=10 algorithm=hybrid start=full", 8, 500 * MS, 7, 8},
        {"10/s burst=10 algorithm=hybrid start=full", 8, 9 * S, 0, 10},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const uint64_t base_ns = 5 * S;
        const weir_plan plan = plan_of(rows[i].text);
        uint64_t state[STATE_MAX] = {0}, before[STATE_MAX];
        weir_decision decision = weir_decide(&plan, state, at(base_ns), rows[i].taken);
        assert_true(weir_allowed(decision));
        const uint64_t now_ns = base_ns + rows[i].settled_ns;
        weir_decide_settle(&plan, state, at(now_ns), &decision, rows[i].actual);
        assert_int_equal(decision.charged, 0);
        const uint64_t remaining = remaining_at(&plan, state, now_ns);
        if (remaining != rows[i].remaining) fail_msg("row %zu: %ju remaining", i, (uintmax_t)remaining);
        memcpy(before, state, sizeof state);
        for (uint64_t again = 0; again < 12; again += 11) { /* works once, whatever is said */
            weir_decide_settle(&plan, state, at(now_ns), &decision, again);
            assert_memory_equal(state, before, sizeof state);
        }
    }
}

/* The debt of an overcharge is paid back at the rate. */
static void settle_into_debt(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"10/s burst=10", "10/s burst=10 algorithm=hybrid start=full"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        const weir_plan plan = plan_of(texts[i]);
        uint64_t state[STATE_MAX] = {0};
        weir_decision decision = weir_decide(&plan, state, at(5 * S), 8);
        weir_decide_settle(&plan, state, at(5 * S), &decision, 15);
        assert_int_equal(weir_decide(&plan, state, at(5 * S), 1).retry_ns, 600 * MS);
    }
}

/* A full burst, drained and taken again, does not come back a third time. */
static void settle_late_gives_nothing(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("10/s burst=10");
    uint64_t state[STATE_MAX] = {0};
    weir_decision first = weir_decide(&plan, state, at(0), 10);
    weir_decision second = weir_decide(&plan, state, at(S), 10);
    assert_true(weir_allowed(first) && weir_allowed(second));
    weir_decide_settle(&plan, state, at(S), &first, 0);
    assert_int_equal(remaining_at(&plan, state, S), 0);
    weir_decide_settle(&plan, state, at(S), &second, 0);
    assert_int_equal(remaining_at(&plan, state, S), 10);
}

/* Who reserved keeps his start: a place in the line is given back only by the last in it. */
static void cancel_behind_a_waiter(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"10/s burst=10", "10/s burst=10 algorithm=hybrid start=full"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        const weir_plan plan = plan_of(texts[i]);
        uint64_t state[STATE_MAX] = {0}, before[STATE_MAX];
        assert_true(weir_allowed(weir_decide(&plan, state, at(5 * S), 10)));
        weir_decision first = weir_decide_within(&plan, state, at(5 * S), 1, WEIR_FOREVER);
        weir_decision second = weir_decide_within(&plan, state, at(5 * S), 1, WEIR_FOREVER);
        assert_int_equal(first.delay_ns, 100 * MS);
        assert_int_equal(second.delay_ns, 200 * MS);
        memcpy(before, state, sizeof state);
        weir_decide_settle(&plan, state, at(5 * S), &first, 0);
        assert_memory_equal(state, before, sizeof state);
        weir_decide_settle(&plan, state, at(5 * S), &second, 0);
        assert_int_equal(weir_decide(&plan, state, at(5 * S), 1).retry_ns, 200 * MS);
    }
}

/* Of a list, the end of the limit that is waited for is known: cancelled at once, that one is as it was. */
static void cancel_a_reservation_of_a_list(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"3/s burst=2; 10/s burst=2", "10/s burst=2; 3/s burst=2"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        const weir_plan plan = plan_of(texts[i]);
        uint64_t state[STATE_MAX] = {0}, before[STATE_MAX];
        assert_true(weir_allowed(weir_decide(&plan, state, at(S), 2)));
        memcpy(before, state, sizeof state);
        weir_decision reserved = weir_decide_within(&plan, state, at(S), 2, WEIR_FOREVER);
        assert_int_equal(reserved.delay_ns, 666666667);
        assert_int_equal(reserved.limit, i);
        weir_decide_settle(&plan, state, at(S), &reserved, 0);
        assert_int_equal(state[i], before[i]);
    }
}

static void settle_what_was_refused(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("10/s burst=2");
    uint64_t state[STATE_MAX] = {0}, before[STATE_MAX];
    assert_true(weir_allowed(weir_decide(&plan, state, at(0), 2)));
    weir_decision refused[] = {weir_decide(&plan, state, at(0), 1), weir_decide(&plan, state, at(0), 3), {0}};
    memcpy(before, state, sizeof state);
    for (size_t i = 0; i < LENGTH(refused); i++) {
        weir_decide_settle(&plan, state, at(0), &refused[i], 0);
        weir_decide_settle(&plan, state, at(0), &refused[i], 5);
        assert_memory_equal(state, before, sizeof state);
    }
}

static void settle_each_limit(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("60 requests/min; 100k tokens/min; unlimited");
    const struct rules rules = plan_rules(plan_inside_const(&plan));
    static const uint64_t cost[] = {1, 5000, 7}, actual[] = {1, 1200, 3}, more[] = {1, 99000, 7};
    uint64_t state[STATE_MAX] = {0}, end[WEIR_LIMITS_MAX];
    weir_decision decision;
    decide(rules, state, &(struct question){.now_ns = 0, .cost = cost}, end, &decision);
    assert_true(weir_allowed(decision));
    settle(rules, state, 0, &decision, cost, actual, end);
    decide(rules, state, &(struct question){.now_ns = 0, .cost = more}, end, &decision);
    assert_int_equal(decision.verdict, WEIR_DENY); /* 98,800 are left */
    assert_int_equal(decision.limit, 1);
    assert_int_equal(decision.retry_ns, 120 * MS);
    assert_int_equal(decision.remaining, 59);
}

/* DESIGN: min(unused << f, max(0, end - max(tick(now), end - (charged << f)))), and no more than is left counted from
   the start; nothing while somebody waits behind, nor of a part of what has not started (doc/design.md, 4). */
static uint64_t settled_by_the_rule(const struct rule *rule, uint64_t word, const weir_decision *decision,
                                    uint64_t now_ns, uint64_t actual)
{
    const uint64_t now = tick_at(rule, now_ns), charged = decision->charged << rule->scale;
    if (actual > decision->charged) return most(word, now) + ((actual - decision->charged) << rule->scale);
    const bool waited_behind = word > now + rule->burst && word != decision->end;
    const bool part = actual != 0 && now_ns < decision->start.ns;
    if (waited_behind || part) return word;
    const uint64_t unused = (decision->charged - actual) << rule->scale;
    const uint64_t by_end = subtract_to_zero(decision->end, most(now, decision->end - charged));
    const uint64_t by_start = subtract_to_zero(tick_at(rule, decision->start.ns) + charged, now);
    return word - least(unused, least(by_end, by_start));
}

static void settle_follows_the_rule(void **unused)
{
    (void)unused;
    enum { KEPT = 8 };
    const weir_plan plan = plan_of("7/s burst=9");
    const struct rule *rule = plan_inside_const(&plan)->rule;
    uint64_t seed = UINT64_C(20240711), word = 0, now_ns = S;
    weir_decision kept[KEPT] = {{0}};
    printf("seed %ju\n", (uintmax_t)seed);
    for (int i = 0; i < RANDOM_STEPS; i++) {
        weir_decision *decision = &kept[random_below(&seed, KEPT)];
        now_ns += random_one_in(&seed, 3) ? 0 : random_below(&seed, 400 * MS);
        if (decision->verdict == WEIR_ALLOW && decision->charged != 0) {
            const uint64_t actual = random_below(&seed, decision->charged + 2);
            const uint64_t expected = settled_by_the_rule(rule, word, decision, now_ns, actual);
            const uint64_t untouched = word;
            const bool same = actual == decision->charged;
            weir_decide_settle(&plan, &word, at(now_ns), decision, actual);
            assert_int_equal(word, same ? untouched : expected);
        } else {
            *decision = weir_decide_within(&plan, &word, at(now_ns), random_below(&seed, 5), random_sized(&seed, 30));
        }
    }
}

/* Beyond what the clock can count, the answer errs to refusing. */
static void at_the_end_of_time(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"10/s burst=3", "7/s burst=3", "1000000000000/s burst=5",
                                        "10/s algorithm=hybrid"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        const weir_plan plan = plan_of(texts[i]);
        uint64_t state[STATE_MAX] = {0}, passed = 0;
        for (int j = 0; j < 100; j++) {
            const weir_decision got = weir_decide_within(&plan, state, at(UINT64_MAX), 1, WEIR_FOREVER - 1);
            passed += weir_allowed(got);
            if (got.verdict == WEIR_ALLOW) assert_int_equal(got.delay_ns, 0);
        }
        assert_true(passed <= 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gcra_step_by_step),       cmocka_unit_test(gcra_does_not_drift),
        cmocka_unit_test(gcra_starts_empty),       cmocka_unit_test(gcra_with_a_burst_in_time),
        cmocka_unit_test(hybrid_step_by_step),     cmocka_unit_test(hybrid_with_unix_times),
        cmocka_unit_test(hybrid_catches_up),       cmocka_unit_test(hybrid_starts_full),
        cmocka_unit_test(without_a_rate),          cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(the_limit_at_fault),      cmocka_unit_test(the_limit_waited_for),
        cmocka_unit_test(a_cost_for_each),         cmocka_unit_test(what_passes_now),
        cmocka_unit_test(retry_is_exact),          cmocka_unit_test(settle_gives_back_what_has_not_drained),
        cmocka_unit_test(settle_into_debt),        cmocka_unit_test(settle_late_gives_nothing),
        cmocka_unit_test(cancel_behind_a_waiter),  cmocka_unit_test(cancel_a_reservation_of_a_list),
        cmocka_unit_test(settle_what_was_refused), cmocka_unit_test(settle_each_limit),
        cmocka_unit_test(settle_follows_the_rule), cmocka_unit_test(at_the_end_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
