/* SPDX-License-Identifier: MIT
   From a call to the core's functions, in the same way for every home of a state. */
#include "share/ask.h"

static bool count_refused(struct rules rules)
{
    bool count = false;
    for (int i = 0; i < rules.count; i++) count = count || rules.rule[i].flags & RULE_COUNTS_REFUSED;
    return count;
}

static inline void ask_usual(struct rules rules, uint64_t *state, const struct ask *ask, weir_decision *decision)
{
    const uint64_t cost = ask->some ? decide_passing(rules, state, ask->now_ns, ask->cost) : ask->cost;
    uint64_t same[WEIR_LIMITS_MAX];
    if (ask->each == NULL) cost_alike(same, rules.count, cost);
    const uint64_t *each = ask->each != NULL ? ask->each : same;
    const bool looks = ask->uncounted && count_refused(rules);
    struct question question = {ask->now_ns, ask->wait_max_ns, each, ask->peek || looks};
    if (ask->charge) decide_charge(rules, state, ask->now_ns, each, decision);
    else decide(rules, state, &question, ask->end, decision);
    question.peek = ask->peek;
    if (looks && decision->verdict == WEIR_ALLOW) decide(rules, state, &question, ask->end, decision);
}

/* The guaranteed limit is the first, and its state one word. */
static void charge_behind(struct rules rules, uint64_t *state, const struct ask *ask, weir_decision *decision)
{
    struct ask behind = *ask;
    if (ask->each != NULL) behind.each++;
    if (ask->end != NULL) behind.end++;
    const struct rules others = {rules.rule + 1, rules.count - 1};
    *decision = (weir_decision){.verdict = WEIR_ALLOW,
                                .start = {ask->now_ns},
                                .remaining = UINT64_MAX,
                                .charged = ask->each != NULL ? ask->each[0] : ask->cost,
                                .reserved = rules.rule[0].generation};
    if (others.count == 0) return;
    ask_usual(others, state + 1, &behind, decision);
    decision->limit++;
}

static __attribute__((noinline)) void take_as_tenant(struct rules rules, uint64_t *state, const struct ask *ask,
                                                     weir_decision *decision)
{
    if (ask->tenant == ASK_BORROWS) charge_behind(rules, state, ask, decision);
    else decide_owe(rules, state, ask->now_ns, ask->each, ask->end, decision);
}

void ask_rules(struct rules rules, uint64_t *state, const struct ask *ask, weir_decision *decision)
{
    if (ask->tenant == ASK_NOT_TENANT) ask_usual(rules, state, ask, decision);
    else take_as_tenant(rules, state, ask, decision);
}
