/* SPDX-License-Identifier: MIT
   wide_plans.c - which rules a state was written under, by a fingerprint of 64 bits.

   A process that dies while it writes a plan, or a damaged file, leaves rules that do not have their fingerprint: they
   are not found.  What is found has the right fingerprint, and may still be made up: whoever uses it sees to its size.

   May touch: the plans.  Promises: total.  Leaves to others: the lock. */
#include "share/wide_plans.h"

#include "core/algorithm.h"

static const uint64_t ODD = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * ODD;
    return hash ^ hash >> 32;
}

uint64_t wide_fingerprint(struct rules rules)
{
    uint64_t hash = mixed(ODD, (uint64_t)rules.count);
    for (int i = 0; i < rules.count; i++) {
        union rule_words words = {rules.rule[i]};
        words.rule.generation = 0;
        /* Where windows stand by the wall's clock differs a little in each process; states say where theirs are. */
        if (algorithm_of(&words.rule)->align != NULL) words.rule.offset_ns = 0;
        for (int word = 0; word < RULE_WORDS; word++) hash = mixed(hash, words.word[word]);
    }
    return hash != 0 ? hash : 1;
}

bool wide_plans_know(const struct wide_plans *plans, uint64_t fingerprint)
{
    for (int i = 0; i < WIDE_PLANS; i++) {
        if (atom_load(&plans->fingerprint[i]) == fingerprint) return true;
    }
    return false;
}

void wide_plans_remember(struct wide_plans *plans, uint64_t fingerprint, struct rules rules)
{
    const uint64_t slot = plans->next % WIDE_PLANS;
    struct wide_plan *plan = &plans->plan[slot];
    if (wide_plans_know(plans, fingerprint)) return;
    atom_store(&plans->fingerprint[slot], 0);
    plan->count = (uint64_t)rules.count;
    for (int i = 0; i < rules.count; i++) plan->rule[i] = rules.rule[i];
    atom_store_release(&plans->fingerprint[slot], fingerprint);
    plans->next = slot + 1;
}

bool wide_plans_find(const struct wide_plans *plans, uint64_t fingerprint, struct wide_plan *plan)
{
    for (int i = 0; i < WIDE_PLANS; i++) {
        if (atom_load(&plans->fingerprint[i]) != fingerprint) continue;
        *plan = plans->plan[i];
        if (plan->count == 0 || plan->count > WEIR_LIMITS_MAX) continue;
        if (wide_fingerprint((struct rules){plan->rule, (int)plan->count}) == fingerprint) return true;
    }
    return false;
}
