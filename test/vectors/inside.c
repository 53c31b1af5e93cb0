/* SPDX-License-Identifier: MIT
   The way into a plan.

   Decides nothing itself. */
#include "inside.h"

#include <string.h>

#include "core/decide.h"
#include "plan/plan.h"

struct rule *inside_rule(weir_plan *plan)
{
    return &plan_inside(plan)->rule[0];
}

const struct rule *inside_rule_const(const weir_plan *plan)
{
    return &plan_inside_const(plan)->rule[0];
}

weir_decision inside_peek(const struct rule *rule, void *state, weir_instant now, uint64_t cost)
{
    weir_decision decision;
    const struct question question = {.now_ns = now.ns, .cost = &cost, .peek = true};
    decide((struct rules){rule, 1}, state, &question, NULL, &decision);
    return decision;
}

void inside_change(const struct rule *from, const struct rule *to, void *state, uint64_t now_ns)
{
    uint64_t next[STATE_WORDS_MAX] = {0};
    struct rule from_now = *to;
    from_now.anchor_ns = now_ns;
    from_now.anchor_tick = tick_at(to, now_ns);
    algorithm_of(from)->carry(from, &from_now, state, next, tick_at(from, now_ns), WEIR_KEEP);
    memcpy(state, next, algorithm_of(from)->words * sizeof *next);
}
