/* SPDX-License-Identifier: MIT
   Every input has an answer: a plan that was torn while it was copied, a state that is not its own.

   Run with the sanitizers it shows more: no shift, division or sum goes wrong on any bytes. */
#include <inttypes.h>
#include <string.h>

#include "core/algorithm.h"
#include "plan/plan.h"
#include "property/property.h"

enum { STEPS_MEAN = 12 };

struct subject {
    struct rule rule[WEIR_LIMITS_MAX], other[WEIR_LIMITS_MAX];
    int count;
    uint64_t state[LIST_WORDS_MAX];
    uint64_t end[WEIR_LIMITS_MAX];
    weir_decision decision;
};

/* Any number, those at the edges more often. */
static uint64_t any(struct prop *prop)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     UINT64_MAX,
                                     UINT64_MAX - 1,
                                     UINT64_MAX / 2,
                                     UINT64_MAX / 2 + 1,
                                     UINT64_MAX / 4,
                                     UINT64_MAX / 8,
                                     UINT64_MAX / 8 + 1,
                                     UINT64_C(1) << 32};
    const uint64_t how = prop_pick(prop, 3);
    if (how == 0) return edges[prop_pick(prop, sizeof edges / sizeof *edges)];
    return how == 1 ? prop_pick_size(prop, UINT64_MAX) : prop_pick(prop, UINT64_MAX);
}

static struct profile *profile_any(struct prop *prop)
{
    static struct profile profiles[3];
    static const char *const texts[3] = {"10/s..0/s for 1min then pause 1s then 7/h", "..1000/s for 1ms",
                                         "1/year for 1ns then 100/ns"};
    const uint64_t which = prop_pick(prop, 3);
    weir_plan plan;
    prop_check(prop, weir_plan_parse(&plan, texts[which], WEIR_PACE, NULL) == 0, "%s", texts[which]);
    plan_make_profile(plan_inside(&plan), &profiles[which]);
    return &profiles[which];
}

/* A rule of words from here and there, some of them of plans. */
static struct rule torn(struct prop *prop)
{
    union rule_words words;
    weir_plan plan;
    memset(&plan, 0, sizeof plan);
    prop_pick_plan(prop, PROP_RATED, &plan);
    words.rule = plan_inside(&plan)->rule[0];
    const uint64_t how = prop_pick(prop, 4);
    for (int i = 0; i < RULE_WORDS; i++) {
        if (how == 3 || (how > 0 && prop_pick(prop, 4) == 0)) words.word[i] = any(prop);
    }
    /* Of the values of a byte few name an algorithm. */
    if (prop_pick(prop, 4) > 0) words.rule.algorithm = (uint8_t)prop_pick(prop, ALGORITHM_NAMES);
    /* A state that grows with its rule lives where no rule is torn. */
    if (algorithm_of(&words.rule)->grows) words.rule.algorithm = ALGORITHM_NONE;
    /* So does a rule with a pointer. */
    words.rule.flags &= (uint8_t)~RULE_PROFILE;
    if (prop_chance(prop, 4)) profile_pace(profile_any(prop), &words.rule);
    return words.rule;
}

static struct rules rules_of(const struct subject *subject)
{
    return (struct rules){subject->rule, subject->count};
}

static bool counts_refused(const struct subject *subject)
{
    bool counts = false;
    for (int i = 0; i < subject->count; i++) counts = counts || algorithm_of(&subject->rule[i])->refused != NULL;
    return counts;
}

static void ask(struct prop *prop, struct subject *subject)
{
    uint64_t cost[WEIR_LIMITS_MAX], before[LIST_WORDS_MAX];
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) cost[i] = any(prop);
    memcpy(before, subject->state, sizeof before);
    const uint64_t wait_ns = any(prop);
    const struct question question = {any(prop), wait_ns, cost, prop_chance(prop, 8)};
    decide(rules_of(subject), subject->state, &question, subject->end, &subject->decision);
    const weir_decision *decision = &subject->decision;
    prop_check(prop, decision->verdict >= WEIR_ALLOW && decision->verdict <= WEIR_NEVER, "verdict %u",
               decision->verdict);
    prop_check(prop, decision->limit < (uint32_t)subject->count, "limit %u", decision->limit);
    if (decision->verdict == WEIR_ALLOW) {
        prop_check(prop, decision->delay_ns <= wait_ns, "told to wait for longer than asked");
    } else if (question.peek || !counts_refused(subject)) {
        prop_check(prop, memcmp(before, subject->state, sizeof before) == 0, "a refusal writes");
    }
    const uint64_t cost_max = any(prop),
                   passing = decide_passing(rules_of(subject), subject->state, any(prop), cost_max);
    prop_check(prop, passing <= cost_max || passing == 1, "%" PRIu64 " pass of %" PRIu64, passing, cost_max);
}

static void settle_it(struct prop *prop, struct subject *subject)
{
    uint64_t cost[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX];
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) {
        cost[i] = any(prop);
        actual[i] = any(prop);
    }
    weir_decision decision = subject->decision;
    if (prop_pick(prop, 3) == 0) {
        decision.limit = (uint32_t)any(prop);
        decision.start.ns = any(prop);
        decision.end = any(prop);
    }
    decide_settle(rules_of(subject), subject->state, any(prop), &decision, cost, actual,
                  prop_pick(prop, 2) == 0 ? subject->end : NULL);
}

static void ask_each(struct prop *prop, struct subject *subject)
{
    uint64_t *state = subject->state;
    for (int i = 0; i < subject->count; i++) {
        const struct rule *rule = &subject->rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        if (algorithm->words == 0) continue;
        algorithm_full(rule, algorithm, &subject->decision, any(prop));
        algorithm->idle(rule, state, any(prop));
        if (algorithm->lateness != NULL) algorithm_account(rule, algorithm, state, any(prop));
        if (algorithm->lateness != NULL) algorithm_due(rule, algorithm, any(prop), any(prop));
        uint64_t next[STATE_WORDS_MAX] = {0};
        algorithm->carry(rule, &subject->other[i], state, next, any(prop), (weir_carry)prop_pick(prop, 3));
        memcpy(state, next, algorithm->words * sizeof *state);
        state += algorithm->words;
    }
}

static void total_property(struct prop *prop)
{
    struct subject subject;
    memset(&subject, 0, sizeof subject);
    subject.count = 1 + (int)prop_pick(prop, WEIR_LIMITS_MAX);
    for (int i = 0; i < subject.count; i++) {
        subject.rule[i] = torn(prop);
        subject.other[i] = torn(prop);
    }
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        const uint64_t what = prop_pick(prop, 8);
        if (what < 4) ask(prop, &subject);
        else if (what < 6) settle_it(prop, &subject);
        else if (what == 6) ask_each(prop, &subject);
        else subject.state[prop_pick(prop, LIST_WORDS_MAX)] = any(prop);
    }
}

PROPERTY("total", total_property, 50000);
