/* SPDX-License-Identifier: MIT
   wide_state.c - what a state of several words is under its rules.

   May touch: the states it is given.  Promises: total.  Leaves to others: where states are (wide.c). */
#include "share/wide_state.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"

/* The rule with its clock set anew, as carry wants it.  It runs ahead of the rule's own by less than a tick, so what is
   carried is paid off no sooner. */
static struct rule set_anew(const struct rule *rule, uint64_t now_ns)
{
    struct rule anew = *rule;
    const uint64_t cut_off = (now_ns - rule->anchor_ns) * rule->multiplier;
    const uint64_t fraction = rule->shift < 64 ? cut_off & ((UINT64_C(1) << rule->shift) - 1) : cut_off;
    anew.anchor_ns = now_ns;
    anew.anchor_tick = add_saturating(tick_at(rule, now_ns), fraction != 0);
    return anew;
}

void wide_state_carry(struct rules from, struct rules to, const uint64_t *state, uint64_t *next, uint64_t now_ns)
{
    bool same = from.count == to.count;
    for (int i = 0; same && i < to.count; i++) same = from.rule[i].algorithm == to.rule[i].algorithm;
    for (int i = 0; same && i < to.count; i++) {
        const struct algorithm *algorithm = algorithm_of(&to.rule[i]);
        const struct rule anew = set_anew(&to.rule[i], now_ns);
        if (algorithm->words == 0) continue;
        algorithm->carry(&from.rule[i], &anew, state, next, tick_at(&from.rule[i], now_ns), WEIR_KEEP);
        state += state_words(&from.rule[i], algorithm);
        next += state_words(&to.rule[i], algorithm);
    }
}
