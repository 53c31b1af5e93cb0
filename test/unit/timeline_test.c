/* SPDX-License-Identifier: MIT
   The timeline by hand: what a stall leaves, how it is made up, what the clock is read for.

   Every number can be checked with a pencil: 1000/s is a slot a ms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "core/algorithm.h"
#include "core/algorithm/timeline.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "unit/plans.h"
#include "unit/standing.h"
#include "unit/random.h"

enum { UNREAD_MAX = 64, RANDOM_CALLS = 20000, STATE_SIZE = TIMELINE_WORDS * sizeof(uint64_t) };

static struct subject open_plan(const char *text)
{
    const struct subject subject = {.plan = plan_for(text, WEIR_PACE)};
    assert_int_equal(weir_state_size(&subject.plan), STATE_SIZE);
    return subject;
}

/* So many calls pass now, the first of them says so, and the next one is told to come when its slot begins. */
static void passes(struct subject *subject, uint64_t now_ns, uint64_t count, uint64_t retry_ns)
{
    for (uint64_t i = 0; i < count; i++) {
        const weir_decision decision = take(subject, now_ns, 1);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        assert_int_equal(decision.remaining, count - 1 - i);
    }
    const weir_decision refused = take(subject, now_ns, 1);
    assert_retry(refused, retry_ns);
    assert_int_equal(refused.remaining, 0);
}

/* ---- what a stall leaves ---- */

static void average_keeps_all(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s algorithm=timeline");
    passes(&subject, 5 * S, 1, MS);
    passes(&subject, 5 * S + 10 * MS, 10, MS);
    /* For a day nobody comes. */
    assert_int_equal(take(&subject, 86400 * S, 1).remaining, 86395 * UINT64_C(1000) - 11);
    assert_int_equal(subject.state[TIMELINE_IDLE], 0);
}

static void a_late_call_says_how_late(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s algorithm=timeline");
    take(&subject, S, 1);
    const weir_decision late = take(&subject, S + 10 * MS, 1);
    assert_int_equal(late.start.ns, S + 10 * MS);
    assert_int_equal(late.due.ns, S + MS);
    assert_int_equal(late.delay_ns, 0);
    const weir_decision early = reserve(&subject, S, 1);
    assert_int_equal(early.start.ns, S + 2 * MS);
    assert_int_equal(early.delay_ns, 2 * MS);
}

static void strictness_closes_a_power_of_two(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t passing, idle_ms;
    } rows[] = {
        /* Of the ms 1 to 10 the first two are the call's own slot and the next: a gap of 8. */
        {"1000/s strictness=0", 10, 0},    {"1000/s strictness=0.125", 9, 1}, {"1000/s strictness=0.25", 8, 2},
        {"1000/s strictness=0.3", 8, 2},   {"1000/s strictness=0.5", 6, 4},   {"1000/s strictness=0.75", 6, 4},
        {"1000/s strictness=0.999", 6, 4}, {"1000/s strictness=1", 2, 8},     {"1000/s strictness=1.0", 2, 8},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct subject subject = open_plan(rows[i].text);
        passes(&subject, 5 * S, 1, MS);
        passes(&subject, 5 * S + 10 * MS, rows[i].passing, MS);
        if (rows[i].idle_ms != 0) assert_int_equal(subject.state[TIMELINE_IDLE], rows[i].idle_ms << 20);
        assert_int_equal(subject.state[TIMELINE_ALLOCATED], (1 + rows[i].passing) << 20);
    }
}

static void the_smallest_share_is_closed_too(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s strictness=0.000000000000000001"); /* 2^-60 */
    assert_int_equal(plan_inside(&subject.plan)->rule[0].second, 60);
    subject = open_plan("1000/s strictness=0.000000000000000000");
    assert_int_equal(plan_inside(&subject.plan)->rule[0].second, 64);
}

/* Sparse callers: the last one closed up to its own reading, which covers a slot of the next crowd. */
static void strict_passes_three_at_most(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s strictness=1");
    assert_true(weir_allowed(take(&subject, 0, 1)));
    assert_true(weir_allowed(take(&subject, 10 * MS, 1)));
    passes(&subject, 30 * MS, 3, MS);
    passes(&subject, 31 * MS, 1, MS);
    passes(&subject, 31 * MS + 1500 * US, 1, 500 * US);
}

static void catching_up_closes_nothing(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s strictness=0.5");
    take(&subject, 0, 1);
    take(&subject, 10 * MS, 1); /* closes 4: the slot is 6, and 10 has been seen */
    passes(&subject, 12 * MS, 7, MS);
}

/* ---- catchup ---- */

static void catchup_runs_faster_while_behind(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s algorithm=timeline catchup=2");
    take(&subject, 0, 1);
    for (uint64_t i = 0; i < 19; i++) {
        const weir_decision decision = reserve(&subject, 10 * MS, 1);
        assert_int_equal(decision.delay_ns, i * 500 * US);
        assert_int_equal(decision.start.ns, 10 * MS + i * 500 * US);
        assert_int_equal(decision.due.ns, MS + i * MS);
    }
    /* 20 calls were given, at 19 ms the next slot is 20. */
    assert_int_equal(reserve(&subject, 10 * MS, 1).delay_ns, 10 * MS);
    assert_int_equal(reserve(&subject, 10 * MS, 1).delay_ns, 11 * MS);
    assert_int_equal(subject.state[TIMELINE_IDLE], 0);
}

static void catchup_1_makes_nothing_up(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s algorithm=timeline catchup=1");
    take(&subject, 0, 1);
    for (uint64_t i = 0; i < 5; i++) passes(&subject, 10 * MS + i * MS, 1, MS);
    const struct rule *rule = &plan_inside(&subject.plan)->rule[0];
    const uint64_t behind = algorithm_account(rule, algorithm_of(rule), subject.state, 1 + (15 << 20)).behind;
    assert_int_equal(behind, 9 << 20);
}

/* A third more is not whole in ticks: rounded up, so never faster. */
static void catchup_rounds_against_the_caller(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000000000/s algorithm=timeline catchup=3");
    take(&subject, 0, 1);
    assert_int_equal(reserve(&subject, S, 100).delay_ns, 0);
    assert_int_equal(reserve(&subject, S, 1).delay_ns, 34);
    assert_int_equal(reserve(&subject, S, 1).delay_ns, 35);
}

/* ---- edges ---- */

static void the_next_call_pays(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s strictness=1");
    assert_true(weir_allowed(take(&subject, S, 5000)));
    assert_int_equal(take(&subject, S, 1).retry_ns, 5 * S);
    assert_int_equal(take(&subject, 6 * S - 1, 1).retry_ns, 1);
    assert_true(weir_allowed(take(&subject, 6 * S, 1)));
}

static void no_cost_changes_nothing(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s strictness=1"), before = subject;
    assert_true(weir_allowed(take(&subject, S, 0)));
    assert_memory_equal(subject.state, before.state, sizeof before.state);
    take(&subject, S, 1);
    before = subject;
    assert_true(weir_allowed(take(&subject, 9 * S, 0)));
    assert_int_equal(take(&subject, S, 0).verdict, WEIR_DENY);
    assert_memory_equal(subject.state, before.state, sizeof before.state);
}

static void too_much_and_too_late(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1/s algorithm=timeline");
    assert_int_equal(take(&subject, S, UINT64_C(1) << 33).verdict, WEIR_NEVER);
    assert_int_equal(take(&subject, S, UINT64_MAX).verdict, WEIR_NEVER);
    assert_true(weir_allowed(take(&subject, S, (UINT64_C(1) << 33) - 1)));
    const weir_decision next = reserve(&subject, S, 1);
    assert_int_equal(next.start.ns, (UINT64_C(1) << 33) * S);
    /* A second such call would end beyond the clock. */
    const weir_decision beyond = take(&subject, S, (UINT64_C(1) << 33) - 1);
    assert_int_equal(beyond.verdict, WEIR_DENY);
    assert_int_equal(beyond.retry_ns, WEIR_FOREVER);
}

static void a_clock_that_goes_back_changes_no_slot(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s strictness=1");
    take(&subject, S, 1);
    take(&subject, 2 * S, 1); /* closed up to 2 s */
    assert_int_equal(take(&subject, S, 1).retry_ns, S);
    assert_int_equal(reserve(&subject, S, 1).delay_ns, S);
    assert_int_equal(reserve(&subject, S, 1).delay_ns, S + MS);
    passes(&subject, 2 * S + 2 * MS, 1, MS);
}

/* Two threads, of which one read the clock before the other and is decided after it. */
static void a_clock_that_goes_back_covers_no_second_slot(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s strictness=1");
    take(&subject, 0, 1);
    take(&subject, 10 * MS, 1);
    assert_true(weir_allowed(take(&subject, 30 * MS, 1)));
    assert_true(weir_allowed(take(&subject, 25 * MS, 1)));
    passes(&subject, 30 * MS, 1, MS);
}

static void peek_says_what_take_will(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"1000/s strictness=1", "1000/s strictness=0.5", "1000/s strictness=0",
                                        "1000/s algorithm=timeline catchup=1.5"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct subject subject = open_plan(texts[i]);
        take(&subject, S, 1);
        for (uint64_t cost = 1; cost < 4; cost++) {
            const struct question question = {(1 + cost) * S, 0, &cost, true};
            weir_decision peek;
            decide(plan_rules(plan_inside(&subject.plan)), subject.state, &question, NULL, &peek);
            assert_int_equal(peek.remaining, take(&subject, (1 + cost) * S, cost).remaining);
        }
    }
}

/* ---- settling ---- */

static weir_decision settled(struct subject *subject, uint64_t now_ns, weir_decision decision, uint64_t actual)
{
    settle_at(subject, now_ns, &decision, actual);
    return decision;
}

static void average_takes_all_back(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s algorithm=timeline");
    take(&subject, 0, 1);
    const weir_decision long_ago = take(&subject, 10 * MS, 6);
    settled(&subject, 10 * MS, long_ago, 2);
    passes(&subject, 10 * MS, 8, MS);
    assert_int_equal(subject.state[TIMELINE_ALLOCATED], 11 << 20);
}

static void strict_takes_back_what_has_not_drained(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s strictness=1");
    const weir_decision first = take(&subject, 0, 10);
    settled(&subject, 4 * MS, first, 2);
    passes(&subject, 4 * MS, 1, MS);
    const weir_decision reading = take(&subject, 50 * MS, 1);
    const weir_decision covered = take(&subject, 50 * MS, 1);
    settled(&subject, 50 * MS, reading, 0);
    assert_int_equal(take(&subject, 50 * MS, 1).retry_ns, MS);
    settled(&subject, 50 * MS, covered, 0);
    passes(&subject, 50 * MS, 1, MS);
}

static void catchup_takes_the_wait_back(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s algorithm=timeline catchup=2");
    take(&subject, 0, 1);
    take(&subject, 10 * MS, 1);
    const weir_decision waits = reserve(&subject, 10 * MS, 4);
    assert_int_equal(waits.delay_ns, 500 * US);
    settled(&subject, 10 * MS, waits, 0);
    const weir_decision next = reserve(&subject, 10 * MS, 1);
    assert_int_equal(next.delay_ns, 500 * US);
    /* Not last: the one behind it keeps its start, and nobody else gets it. */
    const weir_decision behind = reserve(&subject, 10 * MS, 1);
    assert_int_equal(behind.delay_ns, MS);
    settled(&subject, 10 * MS, next, 0);
    assert_int_equal(reserve(&subject, 10 * MS, 1).delay_ns, 1500 * US);
}

/* Behind its schedule a call starts at 10 ms and ends at 2: what it was given has drained, or may have been closed. */
static void a_share_takes_back_nothing_that_lies_behind(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s strictness=0.5");
    take(&subject, 0, 1);
    settled(&subject, 10 * MS, take(&subject, 10 * MS, 1), 0); /* its reading closes 4 of 8: the slot is 6 */
    passes(&subject, 10 * MS, 5, MS);
}

static void what_is_forgotten_is_not_given_back(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s algorithm=timeline"), forgotten = subject, untouched = subject;
    settled(&forgotten, S, take(&subject, S, 5), 0);
    assert_memory_equal(forgotten.state, untouched.state, sizeof untouched.state);
}

static void a_charge_delays_the_next(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s strictness=1");
    const weir_decision first = take(&subject, S, 1);
    settled(&subject, S, first, 5);
    assert_int_equal(take(&subject, S, 1).retry_ns, 5 * MS);
}

/* ---- positions ---- */

static const struct rule *rule_of(const struct subject *subject)
{
    return &plan_inside_const(&subject->plan)->rule[0];
}

/* 2 ms were given, 8 closed; at 12 ms there are two slots behind, and the one that begins then. */
static void all_that_was_due_is_accounted_for(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s strictness=1");
    const struct rule *rule = rule_of(&subject);
    struct account account = algorithm_account(rule, algorithm_of(rule), subject.state, tick_at(rule, S));
    assert_true(account.due == 0 && account.given == 0 && account.missed == 0 && account.behind == 0);
    take(&subject, 0, 1);
    take(&subject, 10 * MS, 1);
    account = algorithm_account(rule, algorithm_of(rule), subject.state, tick_at(rule, 12 * MS));
    assert_int_equal(account.due, 13 << 20);
    assert_int_equal(account.given, 2 << 20);
    assert_int_equal(account.missed, 8 << 20);
    assert_int_equal(account.behind, 2 << 20);
}

/* From a slot at tick 7 of the clock; the earliest position is 1, as 0 would be untouched. */
static void a_schedule_is_moved(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t slot;
        int64_t by;
        uint64_t moved;
    } rows[] = {
        {0, 5, 0},
        {0, -5, 0},
        {TIMELINE_ZERO + 7, 0, TIMELINE_ZERO + 7},
        {TIMELINE_ZERO + 7, 1, TIMELINE_ZERO + 8},
        {TIMELINE_ZERO + 7, -1, TIMELINE_ZERO + 6},
        {TIMELINE_ZERO + 7, -INT64_MAX, 1},
    };
    const struct subject subject = open_plan("1000/s algorithm=timeline");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        uint64_t state[TIMELINE_WORDS] = {[TIMELINE_SLOT] = rows[i].slot};
        algorithm_of(rule_of(&subject))->lateness(rule_of(&subject), state, 9, rows[i].by);
        assert_int_equal(state[TIMELINE_SLOT], rows[i].moved);
    }
}

/* The reading at 10 ms covers one slot; if its call gave back at 1 ms, when it had not drained, it would cover two. */
static void a_clock_that_goes_back_gives_no_second_slot(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("1000/s strictness=1");
    const struct rule *rule = rule_of(&subject);
    take(&subject, 0, 1);
    const weir_decision reading = take(&subject, 10 * MS, 1);
    const struct slot slot = {tick_at(rule, reading.start.ns), reading.end, 1 << 20, false};
    algorithm_of(rule)->give_back(rule, subject.state, tick_at(rule, MS), &slot, 1 << 20);
    passes(&subject, 10 * MS, 1, MS);
}

/* A call of 10 ticks that started at 100, with or without another call behind it; the start that it was told
   may be rounded by two ticks. */
static void the_last_call_takes_its_wait_back(void **unused)
{
    (void)unused;
    static const uint64_t rows[][2] = {{110, 100}, {112, 102}, {113, 113}}; /* no start before: with it, without it */
    const struct subject subject = open_plan("1000/s algorithm=timeline catchup=1");
    const struct rule *rule = rule_of(&subject);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        uint64_t state[TIMELINE_WORDS] = {[TIMELINE_SLOT] = TIMELINE_ZERO + 50};
        state[TIMELINE_SPACED] = TIMELINE_ZERO + rows[i][0];
        algorithm_of(rule)->give_back(rule, state, 100, &(struct slot){100, 50, 10, false}, 10);
        assert_int_equal(state[TIMELINE_SPACED], TIMELINE_ZERO + rows[i][1]);
        assert_int_equal(state[TIMELINE_SLOT], TIMELINE_ZERO + 40);
    }
}

static void the_largest_cost(void **unused)
{
    (void)unused;
    const struct subject subject = open_plan("1000/s algorithm=timeline");
    const struct rule *rule = rule_of(&subject);
    assert_int_equal(algorithm_of(rule)->offer(rule, subject.state, 9, INT64_MAX, 0).start, 9);
    assert_int_equal(algorithm_of(rule)->offer(rule, subject.state, 9, (uint64_t)INT64_MAX + 1, 0).start, UINT64_MAX);
}

/* When the slot behind this one begins, which may lie before the clock. */
static void on_schedule_again(void **unused)
{
    (void)unused;
    static const uint64_t rows[][3] = {{9, 5, 9}, {5, 9, 9}, {UINT64_C(0) - 5, 9, 9}}; /* end, now, full */
    const struct subject subject = open_plan("1000/s algorithm=timeline");
    const struct rule *rule = rule_of(&subject);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_decision decision = {.end = rows[i][0]};
        assert_int_equal(algorithm_full(rule, algorithm_of(rule), &decision, rows[i][1]), rows[i][2]);
    }
}

/* At tick 1000 of the old clock, tick 1 of the new one.  What is behind the words is somebody else's. */
static void what_a_change_makes_of_positions(void **unused)
{
    (void)unused;
    static const struct {
        const char *from, *to;
        uint64_t slot, spaced, next_slot, next_spaced;
    } rows[] = {
        {"1000/s algorithm=timeline", "1000/s algorithm=timeline", 1010, 0, 11, 0},
        {"1000/s algorithm=timeline", "1000/s algorithm=timeline catchup=1", 1010, 0, 11, 1},
        /* 10 ticks at three times the rate are 30 of permits, which without catching up take 30. */
        {"1000/s algorithm=timeline catchup=3", "1000/s algorithm=timeline catchup=1", 1010, 1010, 11, 31},
        /* 2^61 ticks behind at 1G/s, where a tick is a permit, are more permits than 1/s has room for. */
        {"1000000000/s algorithm=timeline", "1/s algorithm=timeline", 0 - (UINT64_C(1) << 61), 0, 1 - TIMELINE_ZERO, 0},
    };
    enum { BEHIND = 0x5a };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct subject from = open_plan(rows[i].from), to = open_plan(rows[i].to);
        uint64_t state[TIMELINE_WORDS + 1] = {0}, next[TIMELINE_WORDS + 1] = {0};
        state[TIMELINE_SLOT] = TIMELINE_ZERO + rows[i].slot;
        if (rows[i].spaced != 0) state[TIMELINE_SPACED] = TIMELINE_ZERO + rows[i].spaced;
        state[TIMELINE_WORDS] = BEHIND;
        algorithm_of(rule_of(&to))->carry(rule_of(&from), rule_of(&to), state, next, 1000, WEIR_SCALE);
        assert_int_equal(next[TIMELINE_SLOT], TIMELINE_ZERO + rows[i].next_slot);
        assert_int_equal(next[TIMELINE_SPACED], rows[i].next_spaced != 0 ? TIMELINE_ZERO + rows[i].next_spaced : 0);
        assert_int_equal(next[TIMELINE_WORDS], 0);
    }
}

/* ---- words ---- */

static void spellings(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"10/s algorithm=timeline", "10/s strictness=0 algorithm=timeline"},
        {"10/s strictness=0.50", "10/s strictness=0.5 algorithm=timeline"},
        {"10/s strictness=1", "10/s strictness=1 algorithm=timeline"},
        {"10/s catchup=1.10 algorithm=timeline", "10/s catchup=1.1 algorithm=timeline"},
        {"10/s strictness=0 catchup=3 algorithm=timeline", "10/s catchup=3 algorithm=timeline"},
        {"10/s catchup=1000 algorithm=timeline", "10/s catchup=1000 algorithm=timeline"},
    };
    CHECK_SPELLINGS(rows);
}

static void mistakes(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"10/s algorithm=timeline catchup=0.9", 33,
         "catchup is 1 or more: how much faster to run while behind; for example 1.1"},
        {"10/s algorithm=timeline catchup=1001", 33, "catchup is at most 1000; for example catchup=1.1"},
        {"10/s algorithm=timeline catchup=0", 33,
         "catchup is 1 or more: how much faster to run while behind; for example 1.1"},
        {"10/s strictness=1.1", 17, "strictness is 0 to 1; to run faster while behind write catchup=1.1"},
        {"10/s strictness=0.5 catchup=1.1 algorithm=timeline", 17,
         "strictness drops the lost time that catchup makes up; give one of them, for example strictness=0.5"},
        {"10/s algorithm=timeline burst=5", 25,
         "burst does not belong to algorithm=timeline; it goes with gcra, hybrid, bursty, leaky"},
        {"2000000000000/s algorithm=timeline", 1,
         "this rate is over 10^12 a second, the most that weir can count; for example 1G/s"},
    };
    CHECK_MISTAKES(rows);
}

static void facts(void **unused)
{
    (void)unused;
    struct subject subject = open_plan("10/s algorithm=timeline");
    assert_int_equal(facts_in(&subject.plan).at_once, UINT64_MAX);
    assert_int_equal(facts_in(&subject.plan).fresh, 1);
    assert_int_equal(facts_in(&subject.plan).spacing_ns, 100 * MS);
    assert_int_equal(facts_in(&subject.plan).state_bytes, STATE_SIZE);
    assert_int_equal(most_in(&subject.plan, 1), UINT64_MAX);
    subject = open_plan("10/s strictness=1");
    assert_int_equal(facts_in(&subject.plan).at_once, 3);
    assert_int_equal(most_in(&subject.plan, 0), 3);
    assert_int_equal(most_in(&subject.plan, 1), 3);
    assert_int_equal(most_in(&subject.plan, 100 * MS), 3);
    assert_int_equal(most_in(&subject.plan, 100 * MS + 1), 4);
    assert_int_equal(most_in(&subject.plan, S), 12);
    subject = open_plan("10/s catchup=2.5 algorithm=timeline");
    assert_int_equal(facts_in(&subject.plan).at_once, 1);
    assert_int_equal(most_in(&subject.plan, 1), 1);
    assert_int_equal(most_in(&subject.plan, 40 * MS), 1);
    assert_int_equal(most_in(&subject.plan, 40 * MS + 1), 2);
    assert_int_equal(most_in(&subject.plan, S), 25);
}

static void explanations(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"10/s algorithm=timeline", "  after a stall   all that the schedule has left, at once\n"},
        {"10/s algorithm=timeline", "  in any second   any number: the schedule is the only bound\n"},
        {"10/s strictness=1", "  after a stall   3 at once, then as before; the lost time is reported, not made up\n"},
        {"10/s strictness=1", "  in any second   at most 12\n"},
        {"10/s catchup=2 algorithm=timeline",
         "  after a stall   1 at once, then 2 times as fast until the lost time is made up\n"},
        {"10/s catchup=2 algorithm=timeline", "  largest call    any; the next call waits for it\n"},
        {"10/s strictness=1", "  shortest gap    0.   For strict limiting, never less than 100 ms: '10/s burst=1'\n"},
        {"10/s catchup=2 algorithm=timeline", "  shortest gap    50 ms.   For strict limiting, never less than 100 ms"},
        {"10/s catchup=1 algorithm=timeline", "  shortest gap    100 ms: strict limiting\n"},
        {"10/s algorithm=timeline",
         "  note            idle time stays on the schedule; all of it is made up at once\n"},
        {"10/s strictness=0.3", "  note            a share of idle time is dropped"},
        {"10/s strictness=1.0",
         "  note            EngineBlock's strict limiting as it was built: idle time is given up"},
        {"10/s catchup=2 algorithm=timeline",
         "  note            idle time stays on the schedule; catchup makes it up slowly\n"},
        {"10/s catchup=1 algorithm=timeline", "as lateness; catchup=1 never makes it up\n"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char explained[1024];
        struct subject subject = open_plan(rows[i].text);
        weir_plan_explain(&subject.plan, explained, sizeof explained);
        if (strstr(explained, rows[i].said) == NULL) fail_msg("%s", explained);
    }
}

/* ---- strict limiting ---- */

/* The least gap between two starts of a caller that comes at any times, and how many were shorter than a slot. */
static uint64_t least_gap(const char *text, weir_use use, uint64_t *shorter)
{
    struct subject subject = {.plan = plan_for(text, use)};
    uint64_t seed = 11, now = S, last = 0, shortest = UINT64_MAX;
    *shorter = 0;
    for (uint64_t i = 0; i < RANDOM_CALLS; i++) {
        /* Busy, and now and then away for up to 4 ms. */
        now += random_below(&seed, random_below(&seed, 16) == 0 ? 4 * MS : 200 * US);
        if (!weir_allowed(take(&subject, now, 1))) continue;
        const uint64_t gap = last == 0 ? UINT64_MAX : now - last;
        if (gap < shortest) shortest = gap;
        *shorter += gap < 500 * US;
        last = now;
    }
    return shortest;
}

static void burst_1_is_strict_and_strictness_1_is_not(void **unused)
{
    (void)unused;
    uint64_t shorter;
    assert_true(least_gap("2000/s burst=1", WEIR_PACE, &shorter) >= 500 * US);
    assert_int_equal(shorter, 0);
    assert_true(least_gap("2000/s burst=1", WEIR_ADMIT, &shorter) >= 500 * US);
    assert_true(least_gap("2000/s strictness=1", WEIR_PACE, &shorter) < 10 * US);
    assert_true(shorter > 100);
}

/* ---- in a limiter ---- */

static weir_limiter *open_pacer(const char *limits)
{
    return open_limiter(limits, WEIR_CLOCK_MANUAL, WEIR_PACE);
}

/* Set back, the clock would refuse them: so it is not read, and then it is. */
static void the_clock_is_not_read(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_pacer("1000/s algorithm=timeline");
    assert_true(weir_allowed(weir_take(limiter, 1)));
    set_ns(limiter, S);
    assert_true(weir_allowed(weir_take(limiter, 1)));
    set_ns(limiter, 0);
    for (int i = 0; i < UNREAD_MAX; i++) {
        assert_true(weir_allowed(i % 2 == 0 ? weir_take(limiter, 1) : weir_reserve(limiter, 1, 0)));
    }
    assert_int_equal(weir_take(limiter, 1).retry_ns, (2 + UNREAD_MAX) * MS);
    assert_true(weir_allowed(weir_take(limiter, 1)));
    assert_int_equal(weir_take_at(limiter, at(0), 1).verdict, WEIR_DENY);
    weir_stop(limiter);
    assert_int_equal(weir_take(limiter, 1).verdict, WEIR_STOPPED);
    weir_close(limiter);
}

/* Of several limits, or of one that knows nothing, each call reads it. */
static void the_clock_is_read(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"1000/s algorithm=timeline; 1000000/s algorithm=timeline", "1000/s burst=500"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        weir_limiter *limiter = open_pacer(texts[i]);
        assert_true(weir_allowed(weir_take(limiter, 1)));
        set_ns(limiter, S);
        assert_true(weir_allowed(weir_take(limiter, 1)));
        set_ns(limiter, 0);
        assert_int_equal(weir_take(limiter, 1).verdict, WEIR_DENY);
        weir_close(limiter);
    }
}

static void unread_the_answers_are_the_same(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"1000/s strictness=0", "1000/s strictness=0.5", "1000/s strictness=1",
                                        "1000/s catchup=1.5 algorithm=timeline"};
    uint64_t seed = 1;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        weir_limiter *unread = open_pacer(texts[i]), *read = open_pacer(texts[i]);
        uint64_t now_ns = S;
        for (int call = 0; call < RANDOM_CALLS; call++) {
            if (random_one_in(&seed, 3)) now_ns += random_below(&seed, 2 * MS);
            if (random_one_in(&seed, 50)) now_ns += random_below(&seed, 200 * MS);
            set_ns(unread, now_ns);
            const uint64_t cost = 1 + random_below(&seed, 2);
            const weir_decision one = weir_take(unread, cost), other = weir_take_at(read, at(now_ns), cost);
            assert_int_equal(one.verdict, other.verdict);
            assert_int_equal(one.delay_ns, other.delay_ns);
            assert_int_equal(one.due.ns, other.due.ns);
            assert_int_equal(one.end, other.end);
            assert_int_equal(one.charged, other.charged);
            assert_true(one.remaining <= other.remaining);
        }
        weir_close(unread);
        weir_close(read);
    }
}

static weir_stats stats_of(weir_limiter *limiter)
{
    weir_stats stats;
    weir_read_stats(limiter, &stats, sizeof stats);
    return stats;
}

static void totals(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_pacer("1000/s strictness=1");
    weir_take(limiter, 1);
    set_ns(limiter, 10 * MS);
    weir_take(limiter, 1);
    assert_int_equal(stats_of(limiter).allocated_ns, 2 * MS);
    assert_int_equal(stats_of(limiter).idle_ns, 8 * MS);
    assert_int_equal(stats_of(limiter).late_now_ns, 0);
    assert_int_equal(stats_of(limiter).late_max_ns, 9 * MS);
    weir_cancel(limiter, &(weir_decision){0});
    change(limiter, "10/s strictness=1", WEIR_RESET);
    assert_int_equal(stats_of(limiter).allocated_ns, 0); /* begun anew */
    assert_int_equal(stats_of(limiter).idle_ns, 0);
    weir_close(limiter);
    limiter = open_pacer("1000/s");
    weir_take(limiter, 1);
    assert_int_equal(stats_of(limiter).allocated_ns, MS);
    assert_int_equal(stats_of(limiter).idle_ns, 0);
    weir_close(limiter);
}

static uint64_t passing(weir_limiter *limiter)
{
    uint64_t count = 0;
    while (weir_allowed(weir_take(limiter, 1))) count++;
    return count;
}

/* 9 ms behind at 1000/s; then at 2000/s. */
static weir_limiter *changed(weir_carry carry)
{
    weir_limiter *limiter = open_pacer("1000/s algorithm=timeline");
    weir_take(limiter, 1);
    set_ns(limiter, 10 * MS);
    assert_int_equal(stats_of(limiter).late_now_ns, 9 * MS);
    change(limiter, "2000/s algorithm=timeline", carry);
    return limiter;
}

static void what_is_missed_is_carried(void **unused)
{
    (void)unused;
    static const struct {
        weir_carry carry;
        uint64_t late_ns;
    } rows[] = {{WEIR_KEEP, 9 * MS / 2}, {WEIR_SCALE, 9 * MS / 2}, {WEIR_RESET, 0}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        weir_limiter *limiter = changed(rows[i].carry);
        const uint64_t late_ns = stats_of(limiter).late_now_ns;
        assert_in_range(late_ns, rows[i].late_ns - (rows[i].late_ns != 0 ? 3 : 0), rows[i].late_ns);
        assert_int_equal(passing(limiter), late_ns / (500 * US) + 1);
        weir_close(limiter);
    }
}

/* At 20 ms half of 18 is closed, so that the slot is 11; 11 to 19 are covered, and at 30 the call after them closes
   half of 9.  After a reset it is the first. */
static void what_is_covered_is_carried(void **unused)
{
    (void)unused;
    static const struct {
        weir_carry carry;
        uint64_t passing;
    } rows[] = {{WEIR_KEEP, 9 + 6}, {WEIR_SCALE, 9 + 6}, {WEIR_RESET, 6}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        weir_limiter *limiter = open_pacer("1000/s strictness=0.5");
        weir_take(limiter, 1);
        set_ns(limiter, 20 * MS);
        weir_take(limiter, 1);
        change(limiter, "1000/s strictness=0.5", rows[i].carry);
        set_ns(limiter, 30 * MS);
        assert_int_equal(passing(limiter), rows[i].passing);
        weir_close(limiter);
    }
}

static void waiters_are_carried_as_permits(void **unused)
{
    (void)unused;
    static const char *const texts[][2] = {
        {"1000/s strictness=1", "2000/s strictness=1"},
        {"1000/s catchup=2 algorithm=timeline", "2000/s catchup=2 algorithm=timeline"}};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        weir_limiter *limiter = open_pacer(texts[i][0]);
        const uint64_t spacing_ns = i == 0 ? MS : 500 * US;
        struct waiter waiting[3];
        weir_take(limiter, 1);
        set_ns(limiter, 10 * MS);
        weir_take(limiter, 1);
        if (i == 0) weir_take(limiter, 1);
        for (uint64_t j = 0; j < 3; j++) {
            assert_int_equal(stand(limiter, &waiting[j], 1).delay_ns, (j + 1) * spacing_ns);
        }
        change(limiter, texts[i][1], WEIR_KEEP);
        for (uint64_t j = 0; j < 3; j++) {
            assert_in_range(waiting[j].decision.delay_ns, (j + 1) * spacing_ns / 2, (j + 1) * spacing_ns / 2 + 4);
        }
        assert_in_range(weir_reserve(limiter, 1, WEIR_FOREVER).delay_ns, 2 * spacing_ns, 2 * spacing_ns + 4);
        weir_close(limiter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(average_keeps_all),
        cmocka_unit_test(a_late_call_says_how_late),
        cmocka_unit_test(strictness_closes_a_power_of_two),
        cmocka_unit_test(the_smallest_share_is_closed_too),
        cmocka_unit_test(strict_passes_three_at_most),
        cmocka_unit_test(catching_up_closes_nothing),
        cmocka_unit_test(catchup_runs_faster_while_behind),
        cmocka_unit_test(catchup_1_makes_nothing_up),
        cmocka_unit_test(catchup_rounds_against_the_caller),
        cmocka_unit_test(the_next_call_pays),
        cmocka_unit_test(no_cost_changes_nothing),
        cmocka_unit_test(too_much_and_too_late),
        cmocka_unit_test(a_clock_that_goes_back_changes_no_slot),
        cmocka_unit_test(a_clock_that_goes_back_covers_no_second_slot),
        cmocka_unit_test(peek_says_what_take_will),
        cmocka_unit_test(average_takes_all_back),
        cmocka_unit_test(strict_takes_back_what_has_not_drained),
        cmocka_unit_test(catchup_takes_the_wait_back),
        cmocka_unit_test(a_share_takes_back_nothing_that_lies_behind),
        cmocka_unit_test(what_is_forgotten_is_not_given_back),
        cmocka_unit_test(a_charge_delays_the_next),
        cmocka_unit_test(all_that_was_due_is_accounted_for),
        cmocka_unit_test(a_schedule_is_moved),
        cmocka_unit_test(a_clock_that_goes_back_gives_no_second_slot),
        cmocka_unit_test(the_last_call_takes_its_wait_back),
        cmocka_unit_test(the_largest_cost),
        cmocka_unit_test(on_schedule_again),
        cmocka_unit_test(what_a_change_makes_of_positions),
        cmocka_unit_test(spellings),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(facts),
        cmocka_unit_test(explanations),
        cmocka_unit_test(burst_1_is_strict_and_strictness_1_is_not),
        cmocka_unit_test(the_clock_is_not_read),
        cmocka_unit_test(the_clock_is_read),
        cmocka_unit_test(unread_the_answers_are_the_same),
        cmocka_unit_test(totals),
        cmocka_unit_test(what_is_missed_is_carried),
        cmocka_unit_test(what_is_covered_is_carried),
        cmocka_unit_test(waiters_are_carried_as_permits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
