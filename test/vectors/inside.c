/* SPDX-License-Identifier: MIT
   inside.c - two settings of a rule that no text can say.

   May touch: the plan.  Promises: decides nothing.  Leaves to others: when to set them (a file per family). */
#include "inside.h"

#include "core/algorithm.h"
#include "plan/plan.h"

void inside_follow_clock(weir_plan *plan)
{
    plan_inside(plan)->rule[0].flags |= RULE_FOLLOWS_CLOCK;
}

uint64_t inside_align(weir_plan *plan, uint64_t zero_ns)
{
    struct rule *rule = &plan_inside(plan)->rule[0];
    algorithm_of(rule)->align(rule, zero_ns, 0);
    return rule->offset_ns;
}
