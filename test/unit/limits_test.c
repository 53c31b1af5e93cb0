/* SPDX-License-Identifier: MIT
   Several limits as one, straight from the core, in exact numbers: what is said of a refusal, what is taken whatever
   the balance, and what is given back to whom.

   A rule that stands behind the last is no limit, and no word behind the state is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm/concurrent.h"
#include "plan/plan.h"
#include "unit/plans.h"

enum { WORDS = 512 };

/* The only rule of each text. */
static void rules_from(struct rule rule[], const char *const text[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const weir_plan plan = plan_for(text[i], WEIR_PACE);
        rule[i] = plan_inside_const(&plan)->rule[0];
    }
}

/* ---- refusals ---- */

/* As no call leaves it: full only for as long as nobody is refused.  The one who was is told to come again at once. */
static void a_count_that_was_wrong(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"5/s algorithm=fixed-window count-refused",
                                        "5/s algorithm=fixed-window count-refused, 9/s algorithm=fixed-window"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct subject subject = fresh(texts[i]);
        subject.state[2] = 2 * S; /* the window before the open one ends behind it, and was too full */
        subject.state[3] = 99;
        const weir_decision decision = take(&subject, S, 1);
        assert_retry(decision, 1);
        assert_int_equal(decision.limit, 0);
        assert_delay(take(&subject, S + 1, 1), 0);
    }
}

/* ---- whatever the balance ---- */

/* As far as its debt goes, or in full; only the second can be settled. */
static void charged_and_owed(void **unused)
{
    (void)unused;
    const uint64_t ten[] = {10, 10};
    struct rule rule[2];
    rules_from(rule, (const char *const[]){"10/s algorithm=gcra burst=7 debt=1", "10/s algorithm=gcra burst=9"}, 2);
    const struct rules rules = {rule, 2};
    rule[0].generation = 4; /* that of the first is told */
    rule[1].generation = 6;
    uint64_t charged[2] = {0}, owed[2] = {0}, end[2];
    weir_decision decision;
    decide_charge(rules, charged, S, ten, &decision);
    assert_int_equal(decision.charged, 7 + 1);
    assert_int_equal(decision.reserved, 4 | DECISION_SETTLED);
    decide_owe(rules, owed, S, ten, end, &decision);
    assert_int_equal(decision.charged, 10);
    assert_int_equal(decision.reserved, 4);
    assert_memory_equal(end, owed, sizeof end);
    assert_int_equal(owed[0] - charged[0], ticks_of(&rule[0], 10 - 8));
}

/* The tightest limit is told, and none of those that let everything through. */
static void which_is_the_tightest(void **unused)
{
    (void)unused;
    static const struct {
        const char *text[3];
        uint64_t remaining;
        uint32_t limit;
    } rows[] = {
        {{"unlimited", "unlimited", "unlimited"}, UINT64_MAX, 0},
        {{"unlimited", "10/s algorithm=gcra burst=9 start=full", "unlimited"}, 8, 1},
        {{"10/s algorithm=gcra burst=9 start=full", "10/s algorithm=gcra burst=7 start=full", "unlimited"}, 6, 1},
    };
    const uint64_t one[] = {1, 1, 1};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct rule rule[3];
        uint64_t state[WORDS] = {0};
        weir_decision decision;
        rules_from(rule, rows[i].text, 3);
        decide_charge((struct rules){rule, 3}, state, S, one, &decision);
        assert_int_equal(decision.limit, rows[i].limit);
        assert_true(decision.remaining == rows[i].remaining);
    }
}

/* ---- slots ---- */

static const char *const holds = "3 concurrent lease=1min", *const rates = "10/s algorithm=gcra burst=9";

static void who_holds_slots(void **unused)
{
    (void)unused;
    struct rule rule[4];
    uint64_t state[WORDS] = {0};
    rules_from(rule, (const char *const[]){rates, holds, rates, holds}, 4);
    assert_int_equal(decide_holder((struct rules){rule, 1}), -1);
    assert_int_equal(decide_holder((struct rules){rule, 2}), 1);
    assert_int_equal(decide_holder((struct rules){rule, 3}), 1);
    assert_int_equal(decide_holder((struct rules){rule + 2, 1}), -1);
    /* As many as it holds, and none of what stands behind. */
    const uint64_t two[] = {2, 2};
    weir_decision decision;
    decide((struct rules){rule, 2}, state, &(struct question){.now_ns = S, .cost = two}, NULL, &decision);
    assert_int_equal(decide_hold((struct rules){rule, 2}, state, S, decision.end, HOLD_RENEW), 2);
    assert_int_equal(decide_hold((struct rules){rule, 1}, state, S, decision.end, HOLD_RELEASE), 0);
    assert_int_equal(decide_hold((struct rules){rule, 2}, state, S, decision.end, HOLD_RELEASE), 2);
}

/* A look takes no slot, so there is no id; that of a charge is the one that its slots are held under. */
static void ids_of_slots(void **unused)
{
    (void)unused;
    const uint64_t one[] = {1, 1};
    for (int count = 1; count <= 2; count++) {
        struct rule rule[2];
        uint64_t state[WORDS] = {0};
        weir_decision decision;
        rules_from(rule, (const char *const[]){holds, rates}, 2);
        const struct rules rules = {rule, count};
        decide(rules, state, &(struct question){.now_ns = S, .cost = one, .peek = true}, NULL, &decision);
        assert_int_equal(decision.end, 0);
        decide_charge(rules, state, S, one, &decision);
        assert_int_equal(decision.end, concurrent_last_id(state));
        assert_int_equal(decide_hold(rules, state, S, decision.end, HOLD_RELEASE), 1);
    }
}

/* ---- settling ---- */

/* The first limit was not charged.  Of a cycle that just began only its end says that a call was counted in it. */
static void borrowed_and_given_back(void **unused)
{
    (void)unused;
    static const struct {
        bool ends; /* all are known; or only that of this limit */
        uint32_t limit;
        uint64_t sold;
    } rows[] = {{true, 1, 3}, {true, 2, 3}, {false, 1, 5}, {false, 2, 3}};
    const uint64_t cost[] = {9, 2, 5, 3}, used[] = {9, 1, 3, 0};
    struct rule rule[6] = {{.algorithm = 0}};
    rules_from(rule, (const char *const[]){rates, rates, "50/100ms algorithm=cycle", rates}, 4);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        uint64_t state[] = {77, 0, 0, 0, 77 + tick_at(rule, S)}, end[] = {7, 7, 7, 7};
        weir_decision decision;
        decide((struct rules){rule + 1, 2}, state + 1, &(struct question){.now_ns = S, .cost = cost + 1}, end + 1,
               &decision);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        decision.reserved |= DECISION_BORROWED;
        decision.limit = rows[i].limit;
        decision.end = end[rows[i].limit];
        decide_settle((struct rules){rule, 3}, state, S, &decision, cost, used, rows[i].ends ? end : NULL);
        assert_int_equal(state[0], 77);
        assert_int_equal(decide_passing((struct rules){rule + 1, 1}, state + 1, S, 100), 9 - 1);
        assert_int_equal(state[3], rows[i].sold);
        assert_int_equal(state[4], 77 + tick_at(rule, S));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_count_that_was_wrong), cmocka_unit_test(charged_and_owed),
        cmocka_unit_test(which_is_the_tightest),  cmocka_unit_test(who_holds_slots),
        cmocka_unit_test(ids_of_slots),           cmocka_unit_test(borrowed_and_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
