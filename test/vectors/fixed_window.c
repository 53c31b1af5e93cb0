/* SPDX-License-Identifier: MIT
   fixed_window.c - the core's side of the families with fixed windows.

   May touch: its arguments.  Promises: decides nothing itself.  Leaves to others: the peers' words (a file each). */
#include "fixed_window.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/decide.h"
#include "plan/plan.h"

enum { COUNT_WORD = 1 }; /* as src/core/fixed_window.c has it */

void fixed_window_write(char *text, uint64_t count, uint64_t window_ns, const char *options)
{
    snprintf(text, FIXED_WINDOW_TEXT_SIZE, "%" PRIu64 "/%" PRIu64 "ns algorithm=fixed-window %s", count > 0 ? count : 1,
             window_ns, options);
}

struct rule *fixed_window_rule(weir_plan *plan)
{
    return &plan_inside(plan)->rule[0];
}

void fixed_window_follow(weir_plan *plan, uint64_t count)
{
    fixed_window_rule(plan)->burst = count;
    fixed_window_rule(plan)->flags |= RULE_FOLLOWS_CLOCK;
}

uint64_t fixed_window_count(const void *state)
{
    return ((const uint64_t *)state)[COUNT_WORD];
}

weir_decision fixed_window_peek(weir_plan *plan, void *state, weir_instant now, uint64_t cost)
{
    weir_decision decision;
    const struct question question = {.now_ns = now.ns, .cost = &cost, .peek = true};
    decide((struct rules){fixed_window_rule(plan), 1}, state, &question, NULL, &decision);
    return decision;
}

void fixed_window_change(weir_plan *plan, void *state, weir_instant now, uint64_t count, uint64_t window_ns)
{
    struct rule *rule = fixed_window_rule(plan);
    struct rule to = *rule;
    const struct algorithm *algorithm = algorithm_of(rule);
    uint64_t before[STATE_WORDS_MAX];
    memcpy(before, state, algorithm->words * sizeof *before);
    to.burst = count;
    to.period_ns = window_ns;
    to.anchor_ns = now.ns;
    to.anchor_tick = tick_at(rule, now.ns);
    algorithm->carry(rule, &to, before, state, to.anchor_tick, WEIR_KEEP);
    rule->burst = count;
    rule->period_ns = window_ns;
}

void fixed_window_give_back(weir_plan *plan, void *state, weir_instant now, uint64_t permits)
{
    const struct rule *rule = fixed_window_rule(plan);
    const struct algorithm *algorithm = algorithm_of(rule);
    const uint64_t tick = tick_at(rule, now.ns);
    const struct slot slot = {.start = tick, .end = algorithm->mark(rule, state, tick), .cost = permits};
    algorithm->give_back(rule, state, tick, &slot, permits);
}
