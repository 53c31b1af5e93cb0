/* SPDX-License-Identifier: MIT
   From a call to the core's functions, in the same way for every home of a state. */
#include "share/ask.h"

static bool count_refused(struct rules rules)
{
    bool count = false;
    for (int i = 0; i < rules.count; i++) count = count || rules.rule[i].flags & RULE_COUNTS_REFUSED;
    return count;
}

void ask_rules(struct rules rules, uint64_t *state, const struct ask *ask, weir_decision *decision)
{
    const uint64_t cost = ask->some ? decide_passing(rules, state, ask->now_ns, ask->cost) : ask->cost;
    uint64_t same[WEIR_LIMITS_MAX];
    if (ask->each == NULL) cost_alike(same, rules.count, cost);
    const uint64_t *each = ask->each != NULL ? ask->each : same;
    const bool looks = ask->uncounted && count_refused(rules);
    struct question question = {ask->now_ns, ask->wait_max_ns, each, ask->peek || looks};
    if (ask->charge) decide_charge(rules, state, ask->now_ns, each, ask->end, decision);
    else decide(rules, state, &question, ask->end, decision);
    question.peek = ask->peek;
    if (looks && decision->verdict == WEIR_ALLOW) decide(rules, state, &question, ask->end, decision);
}
