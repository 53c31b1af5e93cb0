/* SPDX-License-Identifier: MIT
   A state of several words under its rules. */
#ifndef WEIR_SHARE_TABLE_WIDE_STATE_H
#define WEIR_SHARE_TABLE_WIDE_STATE_H

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/decide.h"
#include "core/num.h"

/* Saturates, unlike state_words: rules that are made up may need any number. */
static inline uint64_t wide_state_words(struct rules rules)
{
    uint64_t words = 0;
    for (int i = 0; i < rules.count; i++) {
        const struct algorithm *algorithm = algorithm_of(&rules.rule[i]);
        const uint64_t more = algorithm->grows ? algorithm_growth(&rules.rule[i], algorithm) : 0;
        words = add_saturating(words, add_saturating(algorithm->words, more));
    }
    return words;
}

/* The time from which on a fresh state is as good as this one. */
static inline uint64_t wide_state_idle_ns(struct rules rules, const uint64_t *state, uint64_t now_ns)
{
    uint64_t idle_ns = 0;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        if (algorithm->words == 0) continue;
        idle_ns = most(idle_ns, ns_ceil(rule, algorithm->idle(rule, state, tick_at(rule, now_ns))));
        state += state_words(rule, algorithm);
    }
    return idle_ns;
}

/* Carries usage under other rules over to a zeroed state; nothing if the algorithms differ. */
void wide_state_carry(struct rules from, struct rules to, const uint64_t *state, uint64_t *next, uint64_t now_ns);

/* True if any word differs from a fresh state. */
bool wide_state_touched(const uint64_t *state, uint64_t words);

#endif
