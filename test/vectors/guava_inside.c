/* SPDX-License-Identifier: MIT
   guava_inside.c - the core's own functions on one limit: what no text can say, and a change without a limiter.

   May touch: its arguments.  Promises: decides nothing.  Leaves: what the peer calls it to guava.c. */
#include "guava_inside.h"

#include <string.h>

#include "core/clock.h"
#include "plan/plan.h"

bool inside_read(const char *text, struct rule *rule)
{
    weir_plan plan;
    if (weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) != 0) return false;
    *rule = plan_inside(&plan)->rule[0];
    return true;
}

static void carry(struct inside *inside, const struct rule *rule, uint64_t now_ns, weir_carry how)
{
    uint64_t next[STATE_WORDS_MAX] = {0};
    struct rule from_now = *rule;
    from_now.anchor_tick = tick_at(rule, now_ns);
    from_now.anchor_ns = now_ns;
    algorithm_of(rule)->carry(&inside->rule, &from_now, inside->state, next, tick_at(&inside->rule, now_ns), how);
    memcpy(inside->state, next, sizeof next);
    inside->rule = *rule; /* the clock may go back behind a change */
}

void inside_open(struct inside *inside, const struct rule *rule, uint64_t now_ns)
{
    *inside = (struct inside){.rule = *rule};
    carry(inside, rule, now_ns, WEIR_RESET);
}

void inside_change(struct inside *inside, const struct rule *rule, uint64_t now_ns)
{
    carry(inside, rule, now_ns, WEIR_KEEP);
}

void inside_fill(struct inside *inside, bool full)
{
    enum { STORED = 1 };
    inside->state[STORED] = full ? inside->rule.burst : 0;
}

uint64_t inside_owed(const struct inside *inside, uint64_t now_ns)
{
    return algorithm_of(&inside->rule)->mark(&inside->rule, inside->state, tick_at(&inside->rule, now_ns));
}

weir_decision inside_take(struct inside *inside, uint64_t now_ns, uint64_t cost, uint64_t wait_max_ns)
{
    weir_decision decision;
    const struct question question = {.now_ns = now_ns, .wait_max_ns = wait_max_ns, .cost = &cost};
    decide((struct rules){&inside->rule, 1}, inside->state, &question, NULL, &decision);
    return decision;
}
