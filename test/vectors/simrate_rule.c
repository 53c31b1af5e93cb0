/* SPDX-License-Identifier: MIT
   simrate_rule.c - the core's side of SimRate.

   May touch: its arguments.  Promises: decides nothing itself.  Leaves to others: the peer's words (simrate.c). */
#include "simrate_rule.h"

#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/simrate.h"
#include "plan/plan.h"

static const struct rule *rule_of(const weir_plan *plan)
{
    return &plan_inside_const(plan)->rule[0];
}

/* As src/core/simrate.c has them. */
struct simrate_numbers simrate_rule_set(weir_plan *plan, struct simrate_numbers numbers)
{
    struct rule *rule = &plan_inside(plan)->rule[0];
    const struct simrate_numbers own = {rule->fourth, rule->third, rule->over};
    rule->fourth = numbers.tick_ns;
    rule->third = numbers.per_op;
    rule->over = numbers.over;
    rule->burst = numbers.per_op == 0 ? UINT64_MAX : numbers.over / numbers.per_op;
    rule->flags |= RULE_FOLLOWS_CLOCK;
    return own;
}

void simrate_rule_fill(const weir_plan *plan, void *state, uint64_t now_ns)
{
    simrate_refill(rule_of(plan), state, tick_at(rule_of(plan), now_ns));
}

void simrate_rule_change(const weir_plan *from, const weir_plan *to, void *state)
{
    uint64_t next[STATE_WORDS_MAX] = {0};
    const uint64_t *words = state;
    const uint64_t now = tick_at(rule_of(from), words[SIMRATE_FILLED] - 1);
    simrate_algorithm()->carry(rule_of(from), rule_of(to), state, next, now, WEIR_KEEP);
    memcpy(state, next, weir_state_size(to));
}
