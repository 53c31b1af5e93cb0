/* SPDX-License-Identifier: MIT
   inside.c - the way into a plan.

   May touch: the plan.  Promises: decides nothing.  Leaves to others: when to set what (a file per family). */
#include "inside.h"

#include "core/algorithm.h"
#include "plan/plan.h"

struct rule *inside_rule(weir_plan *plan)
{
    return &plan_inside(plan)->rule[0];
}

const struct rule *inside_rule_const(const weir_plan *plan)
{
    return &plan_inside_const(plan)->rule[0];
}

void inside_follow_clock(weir_plan *plan)
{
    inside_rule(plan)->flags |= RULE_FOLLOWS_CLOCK;
}

uint64_t inside_align(weir_plan *plan, uint64_t zero_ns)
{
    struct rule *rule = inside_rule(plan);
    algorithm_of(rule)->align(rule, zero_ns, 0);
    return rule->offset_ns;
}
