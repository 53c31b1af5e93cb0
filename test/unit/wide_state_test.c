/* SPDX-License-Identifier: MIT
   A state of several words that goes on under other rules.

   What is expected of a list is what each limit does alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "share/table/wide_state.h"
#include "unit/plans.h"

static const struct rule *rule_in(const weir_plan *plan)
{
    return plan_rules(plan_inside_const(plan)).rule;
}

/* Each limit's words of the new state are those that it gets alone, wherever they are. */
static void a_list_as_each_limit_alone(void **unused)
{
    (void)unused;
    struct subject subject = fresh("9/min algorithm=sliding-window; 5/h algorithm=sliding-log; 100/h burst=8; "
                                   "7/min algorithm=fixed-window");
    const weir_plan other = plan_of("8/min algorithm=sliding-window; 6/h algorithm=sliding-log; 100/h burst=9; "
                                    "6/min algorithm=fixed-window");
    const struct rules from = plan_rules(plan_inside_const(&subject.plan)), to = {rule_in(&other), from.count};
    uint64_t next[LIST_WORDS_MAX] = {0};
    assert_int_equal(take(&subject, S, 2).verdict, WEIR_ALLOW);
    assert_int_equal(take(&subject, 2 * S, 1).verdict, WEIR_ALLOW);
    wide_state_carry(from, to, subject.state, next, 3 * S);
    for (int i = 0; i < from.count; i++) {
        const struct rules one = {&from.rule[i], 1}, other_one = {&to.rule[i], 1};
        const uint64_t words = wide_state_words(other_one);
        uint64_t alone[LIST_WORDS_MAX] = {0};
        wide_state_carry(one, other_one, subject.state + decide_words_before(from, i), alone, 3 * S);
        assert_true(wide_state_touched(alone, words));
        assert_memory_equal(next + decide_words_before(to, i), alone, words * sizeof *alone);
    }
}

/* A list of one limit, and what is in memory behind it: not asked for, and not carried. */
static void nothing_behind_the_list(void **unused)
{
    (void)unused;
    const char *const behind[] = {"1/min algorithm=sliding-window", "1/min algorithm=fixed-window"};
    struct subject subject = fresh("9/min algorithm=sliding-window; 5/min algorithm=sliding-window");
    assert_int_equal(take(&subject, S, 2).verdict, WEIR_ALLOW);
    for (size_t i = 0; i < LENGTH(behind); i++) {
        const weir_plan plan = plan_of("8/min algorithm=sliding-window"), after = plan_of(behind[i]);
        const struct rule to[] = {rule_in(&plan)[0], rule_in(&after)[0]};
        const uint64_t words = wide_state_words((struct rules){to, 1});
        uint64_t next[LIST_WORDS_MAX] = {0};
        wide_state_carry((struct rules){rule_in(&subject.plan), 1}, (struct rules){to, 1}, subject.state, next, 2 * S);
        assert_true(wide_state_touched(next, words));
        assert_false(wide_state_touched(next + words, LIST_WORDS_MAX - words));
    }
}

/* Where a tick is longer than a ns, a debt is carried to the first tick that begins no sooner. */
static void a_debt_is_not_paid_off_sooner(void **unused)
{
    (void)unused;
    enum { FRACTION = 8, SET_AT = 3, TICK = 1000, DEBT = 10 };
    const struct rule rule = {.algorithm = ALGORITHM_GCRA,
                              .anchor_ns = SET_AT,
                              .anchor_tick = TICK,
                              .multiplier = 5,
                              .shift = 3,
                              .burst = 100};
    const struct rules rules = {&rule, 1};
    for (uint64_t ns = 0; ns < (uint64_t)2 * FRACTION; ns++) {
        const uint64_t eighths = ns * rule.multiplier, ticks = eighths / FRACTION + (eighths % FRACTION != 0);
        const uint64_t state[] = {tick_at(&rule, SET_AT + ns) + DEBT};
        uint64_t next[] = {0};
        wide_state_carry(rules, rules, state, next, SET_AT + ns);
        assert_int_equal(next[0], TICK + ticks + DEBT);
    }
}

static void touched_in_any_word(void **unused)
{
    (void)unused;
    for (size_t at = 0; at < 4; at++) {
        uint64_t state[4] = {0};
        state[at] = UINT64_C(1) << 63;
        for (size_t words = 0; words <= 4; words++) assert_int_equal(wide_state_touched(state, words), at < words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_as_each_limit_alone),
        cmocka_unit_test(nothing_behind_the_list),
        cmocka_unit_test(a_debt_is_not_paid_off_sooner),
        cmocka_unit_test(touched_in_any_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
