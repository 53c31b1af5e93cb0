/* SPDX-License-Identifier: MIT
   A call asked of the rules and of a state by itself: refusals that shall not be counted, what is borrowed of one limit
   alone, and a call that is taken out again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm/concurrent.h"
#include "plan/plan.h"
#include "share/ask.h"
#include "unit/plans.h"

enum { WORDS = 512, UNTOUCHED = 0xa5 };

struct kept {
    weir_plan plan;
    struct rules rules;
    uint64_t state[WORDS];
    struct undo undo;
    uint64_t end[WEIR_LIMITS_MAX];
};

/* The first `count` limits of a text; those behind them are somebody else's. */
static void open_kept(struct kept *kept, const char *text, int count)
{
    memset(kept, 0, sizeof *kept);
    memset(&kept->undo, UNTOUCHED, sizeof kept->undo);
    kept->plan = plan_for(text, WEIR_ADMIT);
    kept->rules = (struct rules){plan_inside(&kept->plan)->rule, count};
    assert_true(decide_words_before(kept->rules, count) <= WORDS);
}

static weir_decision asked(struct kept *kept, struct ask ask)
{
    weir_decision decision;
    ask_rules(kept->rules, kept->state, &ask, &decision);
    return decision;
}

/* ---- refusals ---- */

/* Whichever limit of a list counts them.  What passes is counted in any case. */
static void not_counted_while_it_waits(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"2/min algorithm=fixed-window count-refused",
                                        "2/min algorithm=fixed-window count-refused, 9/s algorithm=gcra",
                                        "9/s algorithm=gcra, 2/min algorithm=fixed-window count-refused"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct kept kept;
        uint64_t before[WORDS];
        open_kept(&kept, texts[i], 1 + (i != 0));
        const struct ask ask = {.now_ns = S, .cost = 1, .uncounted = true}, counted = {.now_ns = S, .cost = 1};
        assert_delay(asked(&kept, ask), 0);
        assert_delay(asked(&kept, ask), 0);
        memcpy(before, kept.state, sizeof before);
        assert_int_equal(asked(&kept, ask).verdict, WEIR_DENY);
        assert_memory_equal(kept.state, before, sizeof before);
        assert_int_equal(asked(&kept, counted).verdict, WEIR_DENY);
        assert_memory_not_equal(kept.state, before, sizeof before);
    }
}

/* ---- tenants ---- */

/* Behind the guaranteed limit there is nothing that could refuse. */
static void borrowed_of_one_limit_alone(void **unused)
{
    (void)unused;
    const uint64_t each[] = {3, 9};
    struct kept kept;
    open_kept(&kept, "10/s algorithm=gcra, 5/s algorithm=gcra", 1);
    plan_inside(&kept.plan)->rule[0].generation = 4;
    plan_inside(&kept.plan)->rule[1].generation = 6;
    const weir_decision decision =
        asked(&kept, (struct ask){.now_ns = S, .cost = 2, .each = each, .tenant = ASK_BORROWS});
    assert_delay(decision, 0);
    assert_int_equal(decision.charged, 3);
    assert_int_equal(decision.reserved, 4);
    assert_int_equal(decision.start.ns, S);
    assert_true(decision.remaining == UINT64_MAX);
    assert_int_equal(asked(&kept, (struct ask){.now_ns = S, .cost = 2, .tenant = ASK_BORROWS}).charged, 2);
    assert_int_equal(kept.state[0], 0);
}

/* ---- taken out ---- */

/* A call that may wait, noted so that it can be taken out. */
static weir_decision noted(struct kept *kept, uint64_t now_ns, const uint64_t cost[])
{
    weir_decision decision;
    const struct question question = {now_ns, WEIR_FOREVER, cost, false};
    undo_begin(kept->rules, kept->state, cost, &kept->undo);
    decide(kept->rules, kept->state, &question, kept->end, &decision);
    undo_end(kept->rules, kept->state, &kept->undo);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    return decision;
}

static void assert_untouched(const void *memory, size_t size)
{
    for (size_t i = 0; i < size; i++) assert_int_equal(((const unsigned char *)memory)[i], UNTOUCHED);
}

/* A limit behind the last one is not looked at. */
static void no_limit_behind_the_last(void **unused)
{
    (void)unused;
    const uint64_t each[WEIR_LIMITS_MAX] = {2, 2, 2};
    struct kept kept;
    uint64_t before[WORDS];
    open_kept(&kept, "1/s algorithm=gcra burst=2, 9/s algorithm=gcra, 10/s algorithm=gcra", 2);
    kept.state[2] = S; /* all used up long since */
    noted(&kept, S, (uint64_t[]){2, 2});
    assert_untouched(kept.undo.before[2], sizeof kept.undo.before[2]);
    assert_untouched(kept.undo.after[2], sizeof kept.undo.after[2]);
    kept.end[2] = S;
    kept.undo.after[2][0] = S;
    memcpy(before, kept.state, sizeof before);
    const weir_decision decision = {.verdict = WEIR_ALLOW, .start = {S}};
    undo_call(kept.rules, kept.state, S, &decision, each, kept.end, &kept.undo);
    assert_int_not_equal(kept.state[0], before[0]);
    assert_int_not_equal(kept.state[1], before[1]);
    assert_int_equal(kept.state[2], S);
}

/* Of a log, too, as if it had never been asked for: what its entries were written over is back. */
static void as_it_was_before(void **unused)
{
    (void)unused;
    struct kept kept;
    uint64_t before[WORDS];
    open_kept(&kept, "20/min algorithm=sliding-log", 1);
    for (uint64_t i = 0; i < 20; i++) asked(&kept, (struct ask){.now_ns = (i + 1) * S, .cost = 1});
    memcpy(before, kept.state, sizeof before);
    const weir_decision decision = noted(&kept, 21 * S, (uint64_t[]){UNDO_PERMITS_MAX});
    assert_true(decision.delay_ns > 0);
    assert_untouched(kept.undo.saved[1], sizeof kept.undo.saved[1]);
    undo_call(kept.rules, kept.state, 22 * S, &decision, (uint64_t[]){UNDO_PERMITS_MAX}, kept.end, &kept.undo);
    assert_memory_equal(kept.state, before, sizeof before);
}

/* Takes out a call of this cost as one that is settled. */
static void assert_settled(struct kept *kept, uint64_t now_ns, const weir_decision *decision, uint64_t cost)
{
    const uint64_t nothing = 0;
    uint64_t settled[WORDS];
    memcpy(settled, kept->state, sizeof settled);
    decide_settle(kept->rules, settled, now_ns, decision, &cost, &nothing, kept->end);
    assert_memory_not_equal(settled, kept->state, sizeof settled);
    undo_call(kept->rules, kept->state, now_ns, decision, &cost, kept->end, &kept->undo);
    assert_memory_equal(kept->state, settled, sizeof settled);
}

/* Of a call of more permits it is not noted what they were written over. */
static void a_large_call_is_settled(void **unused)
{
    (void)unused;
    const uint64_t cost = UNDO_PERMITS_MAX + 1;
    struct kept kept;
    open_kept(&kept, "20/min algorithm=sliding-log", 1);
    for (uint64_t i = 0; i < 20; i++) asked(&kept, (struct ask){.now_ns = (i + 1) * S, .cost = 1});
    const weir_decision decision = noted(&kept, 21 * S, &cost);
    assert_untouched(kept.undo.saved[1], sizeof kept.undo.saved[1]);
    assert_settled(&kept, 22 * S, &decision, cost);
}

/* Slots have ids of their own, and are no ring. */
static void slots_are_freed_under_their_id(void **unused)
{
    (void)unused;
    const uint64_t cost = 2;
    struct kept kept;
    open_kept(&kept, "9 concurrent lease=1min", 1);
    const weir_decision first = asked(&kept, (struct ask){.now_ns = S, .cost = 4});
    const weir_decision decision = noted(&kept, 2 * S, &cost);
    assert_int_equal(asked(&kept, (struct ask){.now_ns = 2 * S, .peek = true}).remaining, 3);
    assert_settled(&kept, 3 * S, &decision, cost);
    assert_int_equal(asked(&kept, (struct ask){.now_ns = 3 * S, .peek = true}).remaining, 5);
    assert_int_equal(decide_hold(kept.rules, kept.state, 3 * S, decision.end, HOLD_RELEASE), 0);
    assert_int_equal(decide_hold(kept.rules, kept.state, 3 * S, first.end, HOLD_RELEASE), 4);
}

/* What came after it relies on nothing of it, and stays. */
static void settled_where_others_came_since(void **unused)
{
    (void)unused;
    const uint64_t cost = 3;
    struct kept kept;
    open_kept(&kept, "1/s algorithm=gcra burst=10", 1);
    const weir_decision decision = noted(&kept, S, &cost);
    asked(&kept, (struct ask){.now_ns = S, .cost = 2});
    assert_int_equal(asked(&kept, (struct ask){.now_ns = S, .peek = true}).remaining, 5);
    undo_call(kept.rules, kept.state, S, &decision, &cost, kept.end, &kept.undo);
    assert_int_equal(asked(&kept, (struct ask){.now_ns = S, .peek = true}).remaining, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_counted_while_it_waits),      cmocka_unit_test(borrowed_of_one_limit_alone),
        cmocka_unit_test(no_limit_behind_the_last),        cmocka_unit_test(as_it_was_before),
        cmocka_unit_test(a_large_call_is_settled),         cmocka_unit_test(slots_are_freed_under_their_id),
        cmocka_unit_test(settled_where_others_came_since),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
