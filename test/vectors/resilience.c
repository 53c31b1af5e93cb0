/* SPDX-License-Identifier: MIT
   resilience.c - the core's side of both families of resilience4j.

   May touch: its arguments.  Promises: decides nothing itself.  Leaves to others: the peers' words (a file each). */
#include "resilience.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "plan/plan.h"

enum { ENDS, USED }; /* as src/core/cycle.c has them */

static const struct rule *rule_of(const weir_plan *plan)
{
    return &plan_inside_const(plan)->rule[0];
}

void resilience_write(char *text, int64_t limit, uint64_t period_ns, const char *options)
{
    snprintf(text, RESILIENCE_TEXT_SIZE, "%" PRId64 "/%" PRIu64 "ns algorithm=cycle%s", limit, period_ns, options);
}

/* A permit is charged, and taken off again. */
void resilience_book(const weir_plan *plan, uint64_t *state, uint64_t now_ns)
{
    state[USED] -= cycle_algorithm()->overcharge(rule_of(plan), state, tick_at(rule_of(plan), now_ns), 1);
}

int64_t resilience_left(const weir_plan *plan, const uint64_t *state)
{
    return (int64_t)(rule_of(plan)->burst - state[USED]);
}

void resilience_set_left(const weir_plan *plan, uint64_t *state, int64_t left)
{
    state[USED] = rule_of(plan)->burst - (uint64_t)left;
}

uint64_t resilience_ends_ns(const uint64_t *state)
{
    return state[ENDS];
}

bool resilience_change(weir_plan *plan, void *state, uint64_t now_ns, const char *text)
{
    weir_plan to;
    uint64_t next[STATE_WORDS_MAX] = {0};
    if (weir_plan_parse(&to, text, WEIR_ADMIT, NULL) != 0) return false;
    cycle_algorithm()->carry(rule_of(plan), rule_of(&to), state, next, tick_at(rule_of(plan), now_ns), WEIR_KEEP);
    memcpy(state, next, weir_state_size(&to));
    *plan = to;
    return true;
}

void resilience_drain(const weir_plan *plan, void *state, uint64_t now_ns)
{
    cycle_algorithm()->overcharge(rule_of(plan), state, tick_at(rule_of(plan), now_ns), UINT64_MAX);
}

uint64_t resilience_room(const weir_plan *plan, const void *state, uint64_t now_ns)
{
    return cycle_algorithm()->room(rule_of(plan), state, tick_at(rule_of(plan), now_ns));
}

uint64_t resilience_wait_for_one(const weir_plan *plan, const void *state, uint64_t now_ns)
{
    uint64_t copy[STATE_WORDS_MAX];
    memcpy(copy, state, weir_state_size(plan));
    return weir_decide_within(plan, copy, (weir_instant){now_ns}, 1, WEIR_FOREVER).delay_ns;
}
