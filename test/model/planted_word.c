/* SPDX-License-Identifier: MIT
   Mistakes that one could make in word.c, kept so that the model checker has to find them.

   Each function is right when nobody else is at the word. */
#include "planted_word.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/decide.h"

struct rule planted_rule(const struct atom from[])
{
    union rule_words copy;
    for (int i = 0; i < RULE_WORDS; i++) copy.word[i] = atom_load(&from[i]);
    return copy.rule;
}

void planted_raise_high(struct word *word, uint64_t value)
{
    uint64_t high = atom_load(&word->high);
    while (high < value && !atom_swap(&word->high, &high, value)) continue;
}

static void store_rule(struct word *word, const struct rule *rule)
{
    const union rule_words from = {.rule = *rule};
    for (int i = 0; i < RULE_WORDS; i++) atom_store(&word->rule[i], from.word[i]);
}

uint64_t planted_anchor_not_growing(const struct word *word)
{
    (void)word;
    return 1;
}

uint64_t planted_anchor_without_high(const struct word *word)
{
    return word_value(atom_load(&word->value)) + 1;
}

static void close_with(struct word *word, struct rule *rule, uint64_t *value, bool in_use, bool without_high)
{
    uint64_t raw = atom_load_acquire(&word->value), above;
    *rule = planted_rule(word->rule);
    if (in_use) store_rule(word, &(struct rule){0});
    do {
        const uint64_t high = without_high ? 0 : atom_load(&word->high);
        above = most(high, word_value(raw)) + 1;
    } while (!atom_swap(&word->value, &raw, WORD_CLOSED | above));
    *value = word_value(raw);
}

void planted_close_rule_in_use(struct word *word, struct rule *rule, uint64_t *value)
{
    close_with(word, rule, value, true, false);
}

void planted_close_without_high(struct word *word, struct rule *rule, uint64_t *value)
{
    close_with(word, rule, value, false, true);
}

void planted_open_swapped_first(struct word *word, const struct rule *rule, uint64_t value)
{
    atom_store(&word->high, rule->anchor_tick);
    atom_store_release(&word->value, value);
    store_rule(word, rule);
}

bool planted_settle_silently(struct word *word, uint64_t now_ns, const weir_decision *decision, uint64_t actual)
{
    uint64_t raw = atom_load_acquire(&word->value);
    for (;;) {
        if (word_is_closed(raw)) return false;
        const struct rule rule = planted_rule(word->rule);
        uint64_t value = raw;
        const bool foreign = rule.generation != (uint32_t)decision->reserved;
        decide_settle((struct rules){&rule, !foreign}, &value, now_ns, decision, &decision->charged, &actual,
                      &decision->end);
        if (atom_swap(&word->value, &raw, value)) return true;
    }
}

bool planted_decide_hasty(struct word *word, const struct ask *ask, weir_decision *decision)
{
    uint64_t raw = atom_load_acquire(&word->value);
    for (;;) {
        if (word_is_closed(raw)) return false;
        const struct rule rule = planted_rule(word->rule);
        uint64_t value = raw;
        const struct question question = {ask->now_ns, ask->wait_max_ns, &ask->cost, false};
        decide((struct rules){&rule, 1}, &value, &question, NULL, decision);
        if (decision->verdict != WEIR_ALLOW) return true;
        if (atom_swap(&word->value, &raw, value)) return true;
    }
}

bool planted_denies_unseen(const struct word *word, uint64_t raw, uint64_t now_ns, const struct note *note)
{
    (void)raw;
    return planted_rule(word->rule).generation == note->generation && now_ns < note->passes_ns;
}

bool planted_grant_read_twice(struct word *word, uint64_t seen, uint64_t now_ns, uint64_t cost, struct granted *granted)
{
    const struct rule rule = planted_rule(word->rule);
    uint64_t raw = atom_load_acquire(&word->value), value = raw;
    if (word_is_closed(seen) || word_is_closed(raw)) return false;
    const uint64_t now = tick_at(&rule, now_ns);
    if (algorithm_of(&rule)->offer(&rule, &value, now, ticks_of(&rule, cost), 0).start != now) return false;
    const struct taken taken =
        algorithm_of(&rule)->commit(&rule, &value, (struct offer){now, now}, ticks_of(&rule, cost));
    *granted = (struct granted){taken.end, taken.room, (uint64_t)rule.scale << 32 | rule.generation};
    return atom_swap(&word->value, &raw, value);
}
