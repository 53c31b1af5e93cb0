/* SPDX-License-Identifier: MIT
   A state of several words under its rules.  Any words are accepted. */
#include "share/table/wide_state.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"
#include "share/table/wide.h"

#define STUCK_RETRY_NS UINT64_C(100000000)

/* The rule with its clock set again, as carrying over needs it.  It is ahead of the rule's own clock by less than a
   tick, so a debt that is carried over is not paid off sooner. */
static struct rule set_anew(const struct rule *rule, uint64_t now_ns)
{
    struct rule anew = *rule;
    const uint64_t cut_off = (now_ns - rule->anchor_ns) * rule->multiplier;
    const uint64_t fraction = rule->shift < 64 ? cut_off & ((UINT64_C(1) << rule->shift) - 1) : cut_off;
    anew.anchor_ns = now_ns;
    anew.anchor_tick = add_saturating(tick_at(rule, now_ns), fraction != 0);
    return anew;
}

/* With gcra at most the new burst counts as used; what waits is above that. */
static void cap_used(const struct rule *from, const struct rule *to, uint64_t ahead, uint64_t *next)
{
    const uint64_t waiting = carry_waiting(from, to, subtract_to_zero(ahead, from->burst));
    next[0] = least(next[0], add_saturating(add_saturating(to->anchor_tick, to->burst), waiting));
}

/* Carried over as permits: as a time they might be more than the new rule ever lets through. */
void wide_state_carry(struct rules from, struct rules to, const uint64_t *state, uint64_t *next, uint64_t now_ns)
{
    bool same = from.count == to.count;
    for (int i = 0; same && i < to.count; i++) same = from.rule[i].algorithm == to.rule[i].algorithm;
    for (int i = 0; same && i < to.count; i++) {
        const struct algorithm *algorithm = algorithm_of(&to.rule[i]);
        const struct rule anew = set_anew(&to.rule[i], now_ns);
        if (algorithm->words == 0) continue;
        const uint64_t now = tick_at(&from.rule[i], now_ns);
        algorithm->carry(&from.rule[i], &anew, state, next, now, WEIR_SCALE);
        if (anew.algorithm == ALGORITHM_GCRA) cap_used(&from.rule[i], &anew, subtract_to_zero(state[0], now), next);
        state += state_words(&from.rule[i], algorithm);
        next += state_words(&to.rule[i], algorithm);
    }
}

bool wide_state_touched(const uint64_t *state, uint64_t words)
{
    bool touched = false;
    for (uint64_t i = 0; i < words && !touched; i++) touched = state[i] != 0;
    return touched;
}

void wide_stuck(weir_decision *decision, uint64_t now_ns)
{
    *decision = (weir_decision){.verdict = WEIR_DENY, .start = {now_ns}, .retry_ns = STUCK_RETRY_NS};
}
