/* SPDX-License-Identifier: MIT
   What is asked of several limits at once, straight from a cell or the core: the calls that a limiter makes rarely, or
   while its limit changes.

   Each answer is held against that of one limit alone, or of the same call in another way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm/concurrent.h"
#include "core/algorithm/gcra_inline.h"
#include "core/clock.h"
#include "core/undo.h"
#include "plan/plan.h"
#include "share/cell.h"
#include "unit/plans.h"

enum { WORDS = 512 };

struct home {
    weir_plan plan;
    struct cell cell;
    struct atom out;
    uint64_t state[WORDS];
};

static void yield(void)
{
}

static void open_home(struct home *home, const char *text)
{
    memset(home, 0xa5, sizeof *home); /* a cell is opened anywhere */
    memset(home->state, 0, sizeof home->state);
    atom_store(&home->out, 0);
    home->plan = plan_for(text, WEIR_PACE);
    struct cell_content content = {.state = home->state, .count = (int)plan_inside(&home->plan)->count};
    memcpy(content.rule, plan_inside(&home->plan)->rule, sizeof content.rule);
    assert_true(decide_words_before((struct rules){content.rule, content.count}, content.count) <= WORDS);
    cell_open(&home->cell, &home->out, yield);
    cell_open_with(&home->cell, &content);
}

static weir_decision asked(struct home *home, struct ask ask)
{
    weir_decision decision;
    assert_true(cell_decide(&home->cell, &ask, &decision));
    return decision;
}

static struct rules rules_of(const struct home *home)
{
    return (struct rules){home->cell.content.rule, home->cell.content.count};
}

/* ---- schedules ---- */

/* Each by its own number, as one after the other. */
static void schedules_move_each(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"10/s algorithm=hybrid, 100/min algorithm=hybrid", "10/s algorithm=timeline"};
    const uint64_t each[WEIR_LIMITS_MAX] = {3, 1};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct home home, other;
        open_home(&home, texts[i]);
        asked(&home, (struct ask){.now_ns = 10 * S, .cost = 1});
        asked(&home, (struct ask){.now_ns = 20 * S, .cost = 2});
        uint64_t before[WORDS];
        memcpy(before, home.state, sizeof before);
        other = home;
        other.cell.content.state = other.state;
        assert_true(cell_shift(&home.cell, 0, each, false));
        uint64_t *state = other.state;
        for (int limit = 0; limit < rules_of(&other).count; limit++) {
            const struct rule *rule = &rules_of(&other).rule[limit];
            algorithm_skip(rule, state, each[limit], false);
            state += state_words(rule, algorithm_of(rule));
        }
        assert_memory_equal(home.state, other.state, sizeof before);
        assert_memory_not_equal(home.state, before, sizeof before);
        assert_true(cell_shift(&home.cell, 0, each, true));
        assert_memory_equal(home.state, before, sizeof before);
    }
}

/* A call that missed its start, of another cost to each limit, finds the schedules as they were without it. */
static void again_of_another_cost_each(void **unused)
{
    (void)unused;
    const uint64_t each[WEIR_LIMITS_MAX] = {3, 1};
    struct home home, other;
    open_home(&home, "10/s algorithm=hybrid burst=5, 100/min algorithm=hybrid burst=5");
    asked(&home, (struct ask){.now_ns = 10 * S, .cost = 1});
    other = home;
    other.cell.content.state = other.state;
    const struct ask usual = {.now_ns = 20 * S, .each = each};
    struct ask again = usual;
    again.again = true;
    assert_true(cell_shift(&home.cell, 0, each, false));
    assert_int_equal(asked(&home, again).verdict, WEIR_ALLOW);
    assert_int_equal(asked(&other, usual).verdict, WEIR_ALLOW);
    assert_memory_equal(home.state, other.state, sizeof home.state);
}

/* ---- elsewhere ---- */

static void not_looked_at(const struct cell_content *content, void *context)
{
    (void)content;
    (void)context;
    fail();
}

/* Nothing is done, and each says so. */
static void check_elsewhere(struct cell *cell)
{
    const struct ask ask = {.now_ns = S, .cost = 1};
    const uint64_t cost[WEIR_LIMITS_MAX] = {1}, none[WEIR_LIMITS_MAX] = {0};
    uint64_t count = 7;
    weir_decision decision = {.limit = 7};
    struct lease_slice slice = {.permits = 7};
    assert_false(cell_is_filled(cell));
    assert_false(cell_decide(cell, &ask, &decision));
    assert_false(cell_take(cell, S, 1, &decision));
    assert_false(cell_decide_unread(cell, &ask, &decision));
    assert_false(cell_peek_limit(cell, 0, &ask, &decision));
    cell_refuse_behind(cell, &ask, 1, &decision);
    assert_false(cell_settle(cell, S, &decision, cost, none, NULL));
    assert_false(cell_hold_slots(cell, S, 1, HOLD_RENEW, &count));
    assert_false(cell_shift(cell, 1, NULL, false));
    assert_false(cell_trade(cell, &(struct trade){.now_ns = S, .want = 8}, &slice));
    assert_false(cell_look(cell, not_looked_at, NULL));
    assert_int_equal(decision.limit, 7);
    assert_int_equal(count, 7);
    assert_int_equal(slice.permits, 0);
}

static void while_the_state_is_elsewhere(void **unused)
{
    (void)unused;
    struct home home;
    struct cell_content content;
    open_home(&home, "10/s, 20/s");
    assert_true(cell_is_filled(&home.cell));
    cell_close(&home.cell, &content);
    assert_int_equal(content.count, 2);
    check_elsewhere(&home.cell);
    cell_open_with(&home.cell, &content);
    assert_int_equal(asked(&home, (struct ask){.now_ns = S, .cost = 1}).verdict, WEIR_ALLOW);
    cell_open(&home.cell, &home.out, yield);
    check_elsewhere(&home.cell);
}

static void held_until_it_is_let_go(void **unused)
{
    (void)unused;
    struct home home;
    open_home(&home, "10/s, 20/s");
    cell_hold(&home.cell);
    assert_int_equal(atom_load(&home.cell.lock), 1);
    cell_let_go(&home.cell);
    assert_int_equal(atom_load(&home.cell.lock), 0);
}

/* ---- behind the last limit ---- */

/* What an earlier list left there is no limit of this one. */
static void limits_behind_the_last(void **unused)
{
    (void)unused;
    for (int behind = 0; behind < 2; behind++) {
        struct home home;
        struct cell_content content, next;
        uint64_t state[WORDS] = {0};
        open_home(&home, "10/s algorithm=hybrid, 20/s algorithm=hybrid");
        asked(&home, (struct ask){.now_ns = S, .cost = 1});
        const size_t words = decide_words_before(rules_of(&home), 1);
        cell_close(&home.cell, &content);
        content.count = 1;
        next = content;
        next.state = state;
        if (behind) next.rule[1] = (struct rule){.algorithm = ALGORITHM_GCRA};
        memset(home.state + words, 7, words * sizeof *state); /* nothing of it is read */
        cell_carry(&content, &next, S, WEIR_KEEP);
        assert_int_not_equal(state[0], 0);
        for (size_t i = words; i < WORDS; i++) assert_int_equal(state[i], 0);
        uint64_t before[WORDS];
        memcpy(before, home.state, sizeof before);
        cell_open_with(&home.cell, &content);
        assert_true(cell_shift(&home.cell, 1, NULL, false));
        assert_memory_not_equal(home.state, before, words * sizeof *state);
        assert_memory_equal(home.state + words, before + words, words * sizeof *state);
        weir_decision decision = {.limit = 7, .retry_ns = 7};
        assert_true(cell_peek_limit(&home.cell, 1, &(struct ask){.now_ns = S, .cost = 1, .peek = true}, &decision));
        assert_true(decision.limit == 7 && decision.retry_ns == 7);
    }
}

/* Only where all algorithms are the same. */
static void carried_where_all_are_alike(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"5/s algorithm=gcra, 20/s algorithm=gcra",
                                        "5/s algorithm=gcra, 20/s algorithm=hybrid",
                                        "5/s algorithm=hybrid, 20/s algorithm=gcra", "5/s algorithm=gcra"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct home home, next;
        const uint64_t fresh[WORDS] = {0};
        open_home(&home, "10/s algorithm=gcra, 20/s algorithm=gcra");
        asked(&home, (struct ask){.now_ns = S, .cost = 1});
        open_home(&next, texts[i]);
        cell_carry(&home.cell.content, &next.cell.content, S, WEIR_KEEP);
        assert_int_equal(memcmp(next.state, fresh, sizeof fresh) != 0, i == 0);
    }
}

/* ---- without the clock ---- */

static void only_what_is_known_is_decided_unread(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"10/s", "10/s algorithm=timeline, 20/s algorithm=timeline"};
    const struct ask ask = {.cost = 1};
    struct home home;
    weir_decision decision;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        open_home(&home, texts[i]);
        asked(&home, (struct ask){.now_ns = 0, .cost = 1});
        asked(&home, (struct ask){.now_ns = 10 * S, .cost = 1}); /* behind its schedule, as below */
        uint64_t before[WORDS];
        memcpy(before, home.state, sizeof before);
        assert_false(cell_decide_unread(&home.cell, &ask, &decision));
        assert_memory_equal(home.state, before, sizeof before);
    }
    open_home(&home, "10/s algorithm=timeline");
    asked(&home, (struct ask){.now_ns = 0, .cost = 1});
    asked(&home, (struct ask){.now_ns = 20 * S, .cost = 1});
    /* So many in a row, and after a look at the clock as many again. */
    for (int i = 0; i < 2; i++) {
        int unread = 0;
        while (cell_decide_unread(&home.cell, &ask, &decision)) unread++;
        assert_int_equal(unread, 64);
    }
    struct cell_content content;
    cell_close(&home.cell, &content);
    assert_false(cell_decide_unread(&home.cell, &ask, &decision));
}

/* ---- slots that are held ---- */

/* The limit may have become another one while they waited. */
static void behind_those_who_wait_for_no_slot(void **unused)
{
    (void)unused;
    struct home home;
    weir_decision decision;
    const uint64_t fresh[WORDS] = {0};
    open_home(&home, "2/s algorithm=gcra burst=2 start=full");
    cell_refuse_behind(&home.cell, &(struct ask){.now_ns = S, .cost = 1}, 3, &decision);
    assert_retry(decision, 1);
    assert_int_equal(decision.limit, 0);
    assert_int_equal(decision.charged, 0);
    assert_memory_equal(home.state, fresh, sizeof fresh);
    uint64_t count = 7;
    assert_true(cell_hold_slots(&home.cell, S, 1, HOLD_RENEW, &count));
    assert_int_equal(count, 0);
}

/* A call that takes as many as it gets waits for one. */
static void some_behind_those_who_wait(void **unused)
{
    (void)unused;
    static const uint64_t each[WEIR_LIMITS_MAX] = {1, 1};
    const struct ask asks[] = {
        {.now_ns = S, .cost = 1}, {.now_ns = S, .cost = 3, .some = true}, {.now_ns = S, .cost = 3, .each = each}};
    for (size_t i = 0; i < LENGTH(asks); i++) {
        struct home home;
        weir_decision decision;
        open_home(&home, "3 concurrent lease=1min, 10/s burst=4 start=full");
        for (int taken = 0; taken < 4; taken += 2)
            asked(&home, (struct ask){.now_ns = S, .each = (uint64_t[WEIR_LIMITS_MAX]){0, 2}});
        cell_refuse_behind(&home.cell, &asks[i], 1, &decision);
        assert_retry(decision, 100 * MS);
    }
}

/* Of two limits that hold slots only one has its id in the decision; what is used beyond the cost of the other one is
   held under an id of its own, and not under that of the first. */
static void more_slots_of_an_unknown_id(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("3 concurrent lease=1min");
    const struct rule both[] = {plan_inside_const(&plan)->rule[0], plan_inside_const(&plan)->rule[0]};
    const struct rules rules = {both, 2};
    const uint64_t one[] = {1, 1}, two[] = {2, 2};
    const size_t words = decide_words_before(rules, 1);
    uint64_t state[WORDS] = {0};
    weir_decision decision;
    decide(rules, state, &(struct question){.now_ns = S, .cost = one}, NULL, &decision);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    decide_settle(rules, state, S, &decision, one, two, NULL);
    assert_int_equal(decide_hold((struct rules){both, 1}, state, S, decision.end, HOLD_RENEW), 1);
    assert_int_equal(decide_hold((struct rules){both, 1}, state + words, S, decision.end, HOLD_RENEW), 2);
    assert_int_equal(decide_hold((struct rules){both, 1}, state, S, concurrent_last_id(state), HOLD_RENEW), 1);
}

/* Its id is the only thing by which a slot is given back. */
static void a_slot_without_an_id_stays(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("3 concurrent lease=1min");
    const struct rule both[] = {plan_inside_const(&plan)->rule[0], plan_inside_const(&plan)->rule[0]};
    const struct rules rules = {both, 2};
    const uint64_t one[] = {1, 1}, none[] = {0, 0};
    const size_t words = decide_words_before(rules, 1);
    uint64_t state[WORDS] = {0};
    weir_decision decision;
    decide(rules, state, &(struct question){.now_ns = S, .cost = one}, NULL, &decision);
    decide_settle(rules, state, S, &decision, one, none, NULL);
    assert_int_equal(decide_passing((struct rules){both, 1}, state, S, 3), 2);
    assert_int_equal(decide_passing((struct rules){both, 1}, state + words, S, 3), 3);
}

/* Slots may get another end, as `weir replay` gives them. */
static void slots_until_another_time(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("3 concurrent lease=1min");
    const struct rule *rule = &plan_inside_const(&plan)->rule[0];
    const uint64_t two[] = {2};
    uint64_t state[WORDS] = {0};
    weir_decision decision;
    decide((struct rules){rule, 1}, state, &(struct question){.now_ns = S, .cost = two}, NULL, &decision);
    assert_int_equal(concurrent_until(rule, state, S, decision.end + 1, 5 * S), 0);
    assert_int_equal(concurrent_until(rule, state, S, decision.end, 5 * S), 2);
    assert_int_equal(decide_passing((struct rules){rule, 1}, state, 5 * S - 1, 3), 1);
    assert_int_equal(decide_passing((struct rules){rule, 1}, state, 5 * S, 3), 3);
}

/* ---- ends ---- */

/* What would drain beyond the clock's end does not pass, however large the burst. */
static void nothing_drains_beyond_the_clock(void **unused)
{
    (void)unused;
    const struct rule rule = {.burst = 10};
    const uint64_t now = UINT64_MAX - 5;
    assert_true(gcra_passes(&rule, now, gcra_drained_after(&rule, now, now, 4)));
    assert_false(gcra_passes(&rule, now, gcra_drained_after(&rule, now, now, 5)));
    assert_false(gcra_passes(&rule, now, gcra_drained_after(&rule, now, now, UINT64_MAX)));
}

static void what_has_no_state_is_idle(void **unused)
{
    (void)unused;
    const struct rule all = {.algorithm = ALGORITHM_UNLIMITED}, none = {.algorithm = ALGORITHM_NONE};
    assert_int_equal(algorithm_of(&all)->idle(&all, NULL, 7), 7);
    assert_int_equal(algorithm_of(&none)->idle(&none, NULL, UINT64_MAX), UINT64_MAX);
}

/* A rule that is made up may have more slots than a state has room for: no slot is taken beyond that room. */
static void more_slots_than_there_is_room_for(void **unused)
{
    (void)unused;
    enum { ROOM = 65536, HEADER = 4 };
    const weir_plan plan = plan_of("65536 concurrent lease=1min");
    struct rule rule = plan_inside_const(&plan)->rule[0];
    const struct algorithm *algorithm = algorithm_of(&rule);
    const size_t words = decide_words_before((struct rules){&rule, 1}, 1);
    uint64_t *state = calloc(words, sizeof *state), *before = calloc(words, sizeof *state);
    struct taken taken;
    assert_true(state != NULL && before != NULL);
    rule.burst = UINT64_C(1) << 40;
    assert_int_equal(decide_words_before((struct rules){&rule, 1}, 1), words);
    const uint64_t all[] = {ROOM};
    weir_decision decision;
    decide((struct rules){&rule, 1}, state, &(struct question){.now_ns = S, .cost = all}, NULL, &decision);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    memcpy(before, state, words * sizeof *state);
    assert_false(algorithm->pass(&rule, state, tick_at(&rule, S), 1, &taken));
    assert_memory_equal(state, before, words * sizeof *state);
    assert_true(algorithm->pass(&rule, state, tick_at(&rule, 61 * S), 1, &taken));
    free(state);
    free(before);
}

/* ---- windows and logs ---- */

/* A decision of another state: its window is not the one that is open. */
static void not_of_a_window_to_come(void **unused)
{
    (void)unused;
    struct subject subject = fresh("2/s algorithm=fixed-window, 5/s burst=5");
    weir_decision decision = take(&subject, 0, 1);
    uint64_t before[LIST_WORDS_MAX];
    memcpy(before, subject.state, sizeof before);
    const uint64_t one[] = {1, 0}, none[] = {0, 0};
    decision.limit = 1; /* the end is of the other limit */
    decision.start.ns = S;
    decide_settle(plan_rules(plan_inside_const(&subject.plan)), subject.state, S / 2, &decision, one, none, NULL);
    assert_memory_equal(subject.state, before, sizeof before);
    decision.start.ns = 0;
    decide_settle(plan_rules(plan_inside_const(&subject.plan)), subject.state, S / 2, &decision, one, none, NULL);
    assert_memory_not_equal(subject.state, before, sizeof before);
}

/* What asks for nothing passes once no more than the count are in the period, whatever the gap. */
static void nothing_beside_a_log_that_is_too_full(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("2/s algorithm=sliding-log gap=400ms");
    struct rule rule = plan_inside_const(&plan)->rule[0];
    rule.fourth = 8; /* so many are kept */
    uint64_t state[WORDS] = {0};
    const uint64_t four[] = {4}, nothing[] = {0};
    const struct rules rules = {&rule, 1};
    weir_decision decision;
    decide_charge(rules, state, S, four, &decision);
    /* They are entered at 1, 1.4, 2 and 2.4 s. */
    decide(rules, state, &(struct question){.now_ns = 2400 * MS - 1, .cost = nothing}, NULL, &decision);
    assert_retry(decision, 1);
    decide(rules, state, &(struct question){.now_ns = 2400 * MS, .cost = nothing}, NULL, &decision);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
}

/* Two cycles, half a period apart as a change may leave them, never pass a call together that waits for less than that;
   it is told a time, after many cycles, and not refused before that for longer than need be. */
static void cycles_that_never_agree(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/10ms algorithm=cycle");
    struct rule both[] = {plan_inside_const(&plan)->rule[0], plan_inside_const(&plan)->rule[0]};
    const struct rules rules = {both, 2};
    const uint64_t two[] = {2, 2};
    const uint64_t state[WORDS] = {0}, from_ns = 103 * MS;
    both[1].anchor_ns = 5 * MS;
    for (uint64_t wait_ns = 4 * MS; wait_ns <= 6 * MS; wait_ns += MS) {
        uint64_t retry_ns = 0;
        for (uint64_t later_ns = 0; later_ns <= 2 * S; later_ns += MS) {
            const struct question question = {from_ns + later_ns, wait_ns, two, true};
            uint64_t copy[WORDS];
            weir_decision decision;
            memcpy(copy, state, sizeof copy);
            decide(rules, copy, &question, NULL, &decision);
            if (later_ns == 0) retry_ns = decision.retry_ns;
            if (wait_ns <= 5 * MS) assert_true(decision.verdict == WEIR_DENY && decision.retry_ns < WEIR_FOREVER);
            else if (later_ns < retry_ns) assert_true(decision.retry_ns == retry_ns - later_ns);
            else if (later_ns == retry_ns) assert_int_equal(decision.verdict, WEIR_ALLOW);
        }
        assert_true(wait_ns > 5 * MS ? retry_ns == MS : retry_ns > S);
    }
}

/* When both pass is tried 256 times: here the one passes half a period after the other, or a ns. */
static void tries_to_agree(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t now_ns, apart_ns, wait_ns, retry_ns;
    } rows[] = {
        {103 * MS, 5 * MS, 4 * MS, 3 * MS + 256 * 5 * MS},
        {103 * MS, 5 * MS, 5 * MS - 1, 2 * MS + 1 + 256 * 5 * MS},
        {100 * MS - 1, 10 * MS - 1, 4 * MS, 6 * MS + 1},
    };
    const weir_plan plan = plan_of("1/10ms algorithm=cycle");
    struct rule both[] = {plan_inside_const(&plan)->rule[0], plan_inside_const(&plan)->rule[0]};
    const uint64_t two[] = {2, 2};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct question question = {rows[i].now_ns, rows[i].wait_ns, two, true};
        uint64_t state[WORDS] = {0};
        weir_decision decision;
        both[1].anchor_ns = rows[i].apart_ns;
        decide((struct rules){both, 2}, state, &question, NULL, &decision);
        assert_retry(decision, rows[i].retry_ns);
    }
}

/* Of permits that come at random a part is back as long as their gaps are not over. */
static void gaps_that_have_drained(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_for("1000/s algorithm=hybrid burst=100 arrivals=poisson seed=7", WEIR_PACE);
    const struct rules rules = plan_rules(plan_inside_const(&plan));
    const uint64_t ten[] = {10}, none[] = {0};
    uint64_t taken[WORDS] = {0}, state[WORDS];
    weir_decision decision;
    decide(rules, taken, &(struct question){.now_ns = S, .cost = ten}, NULL, &decision);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    uint64_t given_back = 0, kept = 0;
    for (uint64_t later_ns = 0; later_ns < 40 * MS; later_ns += MS / 2) {
        memcpy(state, taken, sizeof state);
        decide_settle(rules, state, S + later_ns, &decision, ten, none, NULL);
        const bool same = memcmp(state, taken, sizeof state) == 0;
        assert_true(kept == 0 || same);
        given_back += !same;
        kept += same;
    }
    assert_true(given_back > 4 && kept > 20);
}

/* ---- beside leases ---- */

/* So many fewer are there, also for the shortest way to ask. */
static void permits_that_are_out(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t out, remaining;
    } rows[] = {
        {"10/s algorithm=gcra burst=10 start=full, 20/s algorithm=gcra burst=20", 0, 8},
        {"10/s algorithm=gcra burst=10 start=full, 20/s algorithm=gcra burst=20", 1, 7},
        {"10/s algorithm=gcra burst=10 start=full, 20/s algorithm=gcra burst=20", 5, 3},
        /* Not of these limits: they hand out none. */
        {"10/s algorithm=gcra burst=10 start=full, 20/s algorithm=sliding-log", 5, 8},
        {"10/s algorithm=hybrid burst=10 start=full", 0, 8},
        {"10/s algorithm=hybrid burst=10 start=full", 1, 7},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct home home;
        weir_decision decision;
        for (int shortest = 0; shortest < 2; shortest++) {
            open_home(&home, rows[i].text);
            asked(&home, (struct ask){.now_ns = S, .cost = 1});
            atom_store(&home.out, rows[i].out);
            if (shortest) assert_true(cell_take(&home.cell, 100 * S, 2, &decision));
            else decision = asked(&home, (struct ask){.now_ns = 100 * S, .cost = 2});
            assert_int_equal(decision.remaining, rows[i].remaining);
        }
    }
}

/* What was used beyond the cost is not taken from permits that are out, which are spent as well. */
static void used_more_beside_leases(void **unused)
{
    (void)unused;
    const uint64_t two[WEIR_LIMITS_MAX] = {2, 2}, three[WEIR_LIMITS_MAX] = {3, 3};
    struct home home;
    open_home(&home, "10/s algorithm=gcra burst=10 start=full, 20/s algorithm=gcra burst=20");
    const weir_decision decision = asked(&home, (struct ask){.now_ns = S, .cost = 2});
    atom_store(&home.out, 4);
    assert_true(cell_settle(&home.cell, 100 * S, &decision, two, three, NULL));
    assert_int_equal(asked(&home, (struct ask){.now_ns = 100 * S, .peek = true}).remaining, 10 - 4 - 1);
}

/* What does not wait does not hold permits back at a start to come. */
static void no_hold_at_a_start_without_one(void **unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        const struct ask now = {.now_ns = S, .cost = 4, .peek = i == 0, .charge = i == 1};
        struct ask later = now;
        struct home home, other;
        open_home(&home, "10/s algorithm=gcra burst=10 start=full, 20/s algorithm=gcra burst=20 start=full");
        atom_store(&home.out, 3);
        asked(&home, (struct ask){.now_ns = S, .cost = 7});
        other = home;
        other.cell.content.state = other.state;
        other.cell.out = &other.out;
        later.wait_max_ns = WEIR_FOREVER;
        const weir_decision decision = asked(&home, later);
        if (i == 0) assert_true(decision.verdict == WEIR_ALLOW && decision.delay_ns != 0);
        asked(&other, now);
        assert_memory_equal(home.state, other.state, sizeof home.state);
    }
}

/* ---- tenants ---- */

/* Nothing is charged to the guaranteed limit, and those behind it answer as without it. */
static void who_borrows_asks_those_behind(void **unused)
{
    (void)unused;
    const uint64_t each[WEIR_LIMITS_MAX] = {9, 2, 2};
    for (int i = 0; i < 2; i++) {
        uint64_t end[WEIR_LIMITS_MAX] = {7, 7, 7}, alone[WEIR_LIMITS_MAX] = {7, 7, 7};
        struct home home, behind;
        open_home(&home, "10/s algorithm=gcra, 5/min algorithm=sliding-window, 50/100ms algorithm=cycle");
        open_home(&behind, "5/min algorithm=sliding-window, 50/100ms algorithm=cycle");
        const struct ask ask = {
            .now_ns = S, .cost = 2, .each = i != 0 ? each : NULL, .end = end, .tenant = ASK_BORROWS};
        const struct ask usual = {.now_ns = S, .cost = 2, .end = alone};
        asked(&home, ask);
        asked(&behind, usual);
        const weir_decision decision = asked(&home, ask), other = asked(&behind, usual);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        assert_int_equal(decision.charged, other.charged);
        assert_int_equal(decision.remaining, other.remaining);
        assert_int_equal(decision.limit, other.limit + 1);
        assert_int_equal(home.state[0], 0);
        assert_memory_equal(home.state + 1, behind.state, 8 * sizeof *home.state);
        assert_int_equal(end[0], 7);
        assert_int_equal(end[1], alone[0]);
        assert_int_equal(end[2], alone[1]);
        /* They get back what was not used; of a cycle that just began only by its end. */
        const uint64_t cost[] = {2, 2, 2}, used[] = {1, 1, 1};
        uint64_t *sold = &home.state[decide_words_before(rules_of(&home), 2) + 1];
        const uint64_t before = *sold;
        weir_decision borrowed = decision;
        borrowed.reserved |= DECISION_BORROWED;
        decide_settle(rules_of(&home), home.state, S, &borrowed, cost, used, end);
        decide_settle(rules_of(&behind), behind.state, S, &other, cost, used, alone);
        assert_int_equal(home.state[0], 0);
        assert_memory_equal(home.state + 1, behind.state, 8 * sizeof *home.state);
        assert_int_equal(*sold, before - 1);
    }
}

/* ---- what was asked is taken out ---- */

/* As many permits as it keeps the entries of, and one more: the state is as before, but for what the ring has lost. */
static void calls_of_any_size_are_taken_out(void **unused)
{
    (void)unused;
    for (uint64_t cost = UNDO_PERMITS_MAX - 1; cost <= UNDO_PERMITS_MAX + 1; cost++) {
        const uint64_t each[WEIR_LIMITS_MAX] = {cost, cost};
        uint64_t end[WEIR_LIMITS_MAX];
        struct undo undo;
        struct home home;
        open_home(&home, "200/s algorithm=sliding-log, 200/s algorithm=gcra burst=200 start=full");
        asked(&home, (struct ask){.now_ns = S, .cost = 7});
        const uint64_t left = asked(&home, (struct ask){.now_ns = S, .cost = 1, .peek = true}).remaining;
        const weir_decision decision = asked(&home, (struct ask){.now_ns = S, .each = each, .end = end, .undo = &undo});
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        undo_call(rules_of(&home), home.state, S, &decision, each, end, &undo);
        assert_int_equal(asked(&home, (struct ask){.now_ns = S, .cost = 1, .peek = true}).remaining, left);
    }
}

/* ---- numbers of a decision ---- */

static void late_only_after_it_was_due(void **unused)
{
    (void)unused;
    weir_decision decision = {.verdict = WEIR_ALLOW, .start = {7}, .due = {5}};
    assert_int_equal(decision_late_ns(&decision), 2);
    decision.due.ns = 7;
    assert_int_equal(decision_late_ns(&decision), 0);
    decision.due.ns = 9;
    assert_int_equal(decision_late_ns(&decision), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_move_each),
        cmocka_unit_test(again_of_another_cost_each),
        cmocka_unit_test(while_the_state_is_elsewhere),
        cmocka_unit_test(held_until_it_is_let_go),
        cmocka_unit_test(limits_behind_the_last),
        cmocka_unit_test(carried_where_all_are_alike),
        cmocka_unit_test(only_what_is_known_is_decided_unread),
        cmocka_unit_test(behind_those_who_wait_for_no_slot),
        cmocka_unit_test(some_behind_those_who_wait),
        cmocka_unit_test(more_slots_of_an_unknown_id),
        cmocka_unit_test(a_slot_without_an_id_stays),
        cmocka_unit_test(slots_until_another_time),
        cmocka_unit_test(nothing_drains_beyond_the_clock),
        cmocka_unit_test(what_has_no_state_is_idle),
        cmocka_unit_test(more_slots_than_there_is_room_for),
        cmocka_unit_test(not_of_a_window_to_come),
        cmocka_unit_test(nothing_beside_a_log_that_is_too_full),
        cmocka_unit_test(cycles_that_never_agree),
        cmocka_unit_test(tries_to_agree),
        cmocka_unit_test(gaps_that_have_drained),
        cmocka_unit_test(permits_that_are_out),
        cmocka_unit_test(used_more_beside_leases),
        cmocka_unit_test(no_hold_at_a_start_without_one),
        cmocka_unit_test(who_borrows_asks_those_behind),
        cmocka_unit_test(calls_of_any_size_are_taken_out),
        cmocka_unit_test(late_only_after_it_was_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
