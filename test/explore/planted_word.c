/* SPDX-License-Identifier: MIT
   planted_word.c - mistakes that one could make in word.c, kept so that the explorer has to find them.

   Each function is right when nobody else is at the word.

   May touch: the word.  Promises: one mistake each, named in the header.  Leaves to others: finding it. */
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

static void store_rule(struct word *word, unsigned index, const struct rule *rule)
{
    const union rule_words from = {.rule = *rule};
    for (int i = 0; i < RULE_WORDS; i++) atom_store(&word->rule[index][i], from.word[i]);
}

static uint64_t carried(const struct rule *from, const struct rule *to, uint64_t value, uint64_t now_ns, weir_carry how)
{
    uint64_t next = 0;
    algorithm_of(from)->carry(from, to, &value, &next, tick_at(from, now_ns), how);
    return next;
}

/* Which mistake: what the next clock starts above, and which rules are written when. */
struct mistake {
    bool forgets_value, forgets_high, writes_in_use, swaps_first;
};

static void change_with(struct mistake mistake, struct word *word, struct rule *to, uint64_t now_ns, weir_carry how,
                        uint64_t *value)
{
    uint64_t raw = atom_load_acquire(&word->value);
    const unsigned index = word_index(raw);
    const struct rule from = planted_rule(word->rule[index]);
    to->anchor_ns = now_ns;
    do {
        const uint64_t high = mistake.forgets_high ? 0 : atom_load(&word->high);
        to->anchor_tick = mistake.forgets_value ? 1 : most(high, word_value(raw)) + 1;
        if (mistake.writes_in_use) store_rule(word, index, to);
        if (!mistake.swaps_first) store_rule(word, 1 - index, to);
        *value = carried(&from, to, word_value(raw), now_ns, how);
    } while (!atom_swap(&word->value, &raw, word_raw(1 - index, *value)));
    if (mistake.swaps_first) store_rule(word, 1 - index, to);
    planted_raise_high(word, word_value(raw));
}

void planted_change_not_growing(struct word *word, struct rule *to, uint64_t now_ns, weir_carry carry,
                                struct change *change, uint64_t *value)
{
    change->count = 1;
    change_with((struct mistake){.forgets_value = true}, word, to, now_ns, carry, value);
}

void planted_change_without_high(struct word *word, struct rule *to, uint64_t now_ns, weir_carry carry,
                                 struct change *change, uint64_t *value)
{
    change->count = 1;
    change_with((struct mistake){.forgets_high = true}, word, to, now_ns, carry, value);
}

void planted_change_rule_in_use(struct word *word, struct rule *to, uint64_t now_ns, weir_carry carry,
                                struct change *change, uint64_t *value)
{
    change->count = 1;
    change_with((struct mistake){.writes_in_use = true}, word, to, now_ns, carry, value);
}

void planted_change_swapped_first(struct word *word, struct rule *to, uint64_t now_ns, weir_carry carry,
                                  struct change *change, uint64_t *value)
{
    change->count = 1;
    change_with((struct mistake){.swaps_first = true}, word, to, now_ns, carry, value);
}

bool planted_settle_silently(struct word *word, uint64_t now_ns, const weir_decision *decision, uint64_t actual)
{
    uint64_t raw = atom_load_acquire(&word->value);
    for (;;) {
        const struct rule rule = planted_rule(word->rule[word_index(raw)]);
        uint64_t value = word_value(raw);
        const bool foreign = rule.generation != (uint32_t)decision->reserved;
        settle((struct rules){&rule, !foreign}, &value, now_ns, decision, &decision->charged, &actual, &decision->end);
        if (atom_swap(&word->value, &raw, word_raw(word_index(raw), value))) return true;
    }
}

bool planted_decide_hasty(struct word *word, const struct ask *ask, weir_decision *decision)
{
    uint64_t raw = atom_load_acquire(&word->value);
    for (;;) {
        const struct rule rule = planted_rule(word->rule[word_index(raw)]);
        uint64_t value = word_value(raw);
        const struct question question = {ask->now_ns, ask->wait_max_ns, &ask->cost, false};
        decide((struct rules){&rule, 1}, &value, &question, NULL, decision);
        if (decision->verdict != WEIR_ALLOW) return true;
        if (atom_swap(&word->value, &raw, word_raw(word_index(raw), value))) return true;
    }
}

bool planted_denies_unseen(const struct word_seen *seen, uint64_t now_ns, const struct note *note)
{
    return planted_rule(seen->rule).generation == note->generation && now_ns < note->passes_ns;
}

bool planted_grant_read_twice(struct word *word, const struct word_seen *seen, uint64_t now_ns, uint64_t cost,
                              struct granted *granted)
{
    const struct rule rule = planted_rule(seen->rule);
    uint64_t raw = atom_load_acquire(&word->value), value = word_value(raw);
    const uint64_t now = tick_at(&rule, now_ns);
    if (algorithm_of(&rule)->offer(&rule, &value, now, ticks_of(&rule, cost), 0).start != now) return false;
    const struct taken taken = algorithm_of(&rule)->commit(&rule, &value, now, now, ticks_of(&rule, cost));
    *granted = (struct granted){taken.end, permits_floor(&rule, taken.room), rule.generation};
    return atom_swap(&word->value, &raw, word_raw(word_index(raw), value));
}
