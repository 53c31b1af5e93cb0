/* SPDX-License-Identifier: MIT
   total_law.c - every input has an answer: a plan that was torn while it was copied, a state that is not its own.

   Run with the sanitizers it shows more: no shift, division or sum goes wrong on any bytes. */
#include <inttypes.h>
#include <string.h>

#include "core/algorithm.h"
#include "plan/plan.h"
#include "law/law.h"

enum { STEPS_MEAN = 12 };

struct subject {
    struct rule rule[WEIR_LIMITS_MAX], other[WEIR_LIMITS_MAX];
    int count;
    uint64_t state[LIST_WORDS_MAX];
    uint64_t end[WEIR_LIMITS_MAX];
    weir_decision decision;
};

/* Any number, those at the edges more often. */
static uint64_t any(struct law *law)
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
    const uint64_t how = law_pick(law, 3);
    if (how == 0) return edges[law_pick(law, sizeof edges / sizeof *edges)];
    return how == 1 ? law_pick_size(law, UINT64_MAX) : law_pick(law, UINT64_MAX);
}

/* A rule of words from here and there, some of them of plans. */
static struct rule torn(struct law *law)
{
    union rule_words words;
    weir_plan plan;
    memset(&plan, 0, sizeof plan);
    law_pick_plan(law, LAW_RATED, &plan);
    words.rule = plan_inside(&plan)->rule[0];
    const uint64_t how = law_pick(law, 4);
    for (int i = 0; i < RULE_WORDS; i++) {
        if (how == 3 || (how > 0 && law_pick(law, 4) == 0)) words.word[i] = any(law);
    }
    /* Of the values of a byte few name an algorithm. */
    if (law_pick(law, 4) > 0) words.rule.algorithm = (uint8_t)law_pick(law, ALGORITHM_NAMES);
    /* A state that grows with its rule lives where no rule is torn. */
    if (algorithm_of(&words.rule)->has_stamps) words.rule.algorithm = ALGORITHM_NONE;
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

static void ask(struct law *law, struct subject *subject)
{
    uint64_t cost[WEIR_LIMITS_MAX], before[LIST_WORDS_MAX];
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) cost[i] = any(law);
    memcpy(before, subject->state, sizeof before);
    const uint64_t wait_ns = any(law);
    const struct question question = {any(law), wait_ns, cost, law_chance(law, 8)};
    decide(rules_of(subject), subject->state, &question, subject->end, &subject->decision);
    const weir_decision *decision = &subject->decision;
    law_check(law, decision->verdict >= WEIR_ALLOW && decision->verdict <= WEIR_NEVER, "verdict %u", decision->verdict);
    law_check(law, decision->limit < (uint32_t)subject->count, "limit %u", decision->limit);
    if (decision->verdict == WEIR_ALLOW) {
        law_check(law, decision->delay_ns <= wait_ns, "told to wait for longer than asked");
    } else if (question.peek || !counts_refused(subject)) {
        law_check(law, memcmp(before, subject->state, sizeof before) == 0, "a refusal writes");
    }
    const uint64_t cost_max = any(law), passing = passing_now(rules_of(subject), subject->state, any(law), cost_max);
    law_check(law, passing <= cost_max || passing == 1, "%" PRIu64 " pass of %" PRIu64, passing, cost_max);
}

static void settle_it(struct law *law, struct subject *subject)
{
    uint64_t cost[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX];
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) {
        cost[i] = any(law);
        actual[i] = any(law);
    }
    weir_decision decision = subject->decision;
    if (law_pick(law, 3) == 0) {
        decision.limit = (uint32_t)any(law);
        decision.start.ns = any(law);
        decision.end = any(law);
    }
    settle(rules_of(subject), subject->state, any(law), &decision, cost, actual,
           law_pick(law, 2) == 0 ? subject->end : NULL);
}

static void ask_each(struct law *law, struct subject *subject)
{
    uint64_t *state = subject->state;
    for (int i = 0; i < subject->count; i++) {
        const struct rule *rule = &subject->rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        if (algorithm->words == 0) continue;
        algorithm_full(rule, algorithm, &subject->decision, any(law));
        algorithm->idle(rule, state, any(law));
        if (algorithm->lateness != NULL) algorithm_account(rule, algorithm, state, any(law));
        if (algorithm->lateness != NULL) algorithm_due(rule, algorithm, any(law), any(law));
        uint64_t next[STATE_WORDS_MAX] = {0};
        algorithm->carry(rule, &subject->other[i], state, next, any(law), (weir_carry)law_pick(law, 3));
        memcpy(state, next, algorithm->words * sizeof *state);
        state += algorithm->words;
    }
}

static void total_property(struct law *law)
{
    struct subject subject;
    memset(&subject, 0, sizeof subject);
    subject.count = 1 + (int)law_pick(law, WEIR_LIMITS_MAX);
    for (int i = 0; i < subject.count; i++) {
        subject.rule[i] = torn(law);
        subject.other[i] = torn(law);
    }
    while (law_more(law, STEPS_MEAN)) {
        law_step(law);
        const uint64_t what = law_pick(law, 8);
        if (what < 4) ask(law, &subject);
        else if (what < 6) settle_it(law, &subject);
        else if (what == 6) ask_each(law, &subject);
        else subject.state[law_pick(law, LIST_WORDS_MAX)] = any(law);
    }
}

LAW("total", total_property, 50000);
