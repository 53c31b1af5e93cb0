/* SPDX-License-Identifier: MIT
   inside.c - the way into a plan.

   May touch: its arguments.  Promises: nothing but the address.  Leaves: what is done there to the families. */
#include "inside.h"

#include "plan/plan.h"

struct rule *inside_rule(weir_plan *plan)
{
    return &plan_inside(plan)->rule[0];
}

const struct rule *inside_rule_const(const weir_plan *plan)
{
    return &plan_inside_const(plan)->rule[0];
}
