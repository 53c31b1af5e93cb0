/* SPDX-License-Identifier: MIT
   planted_word.c - mistakes that one could make in word.c, kept so that the explorer has to find them.

   Each function is right when nobody else is at the word.

   May touch: the word.  Promises: one mistake each, named in the header.  Leaves to others: finding it. */
#include "planted_word.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/decide.h"

static const uint64_t VALUE_MASK = INT64_MAX;

static unsigned index_of(uint64_t raw)
{
    return (unsigned)(raw >> 63);
}

static uint64_t with_index(unsigned index, uint64_t value)
{
    return (uint64_t)index << 63 | value;
}

static struct rule load_rule(const struct word *word, unsigned index)
{
    union rule_words copy;
    for (int i = 0; i < RULE_WORDS; i++) copy.word[i] = atom_load(&word->rule[index][i]);
    return copy.rule;
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
    const unsigned index = index_of(raw);
    const struct rule from = load_rule(word, index);
    to->anchor_ns = now_ns;
    do {
        const uint64_t high = mistake.forgets_high ? 0 : atom_load(&word->high);
        to->anchor_tick = mistake.forgets_value ? 1 : most(high, raw & VALUE_MASK) + 1;
        if (mistake.writes_in_use) store_rule(word, index, to);
        if (!mistake.swaps_first) store_rule(word, 1 - index, to);
        *value = carried(&from, to, raw & VALUE_MASK, now_ns, how);
    } while (!atom_swap(&word->value, &raw, with_index(1 - index, *value)));
    if (mistake.swaps_first) store_rule(word, 1 - index, to);
    uint64_t high = atom_load(&word->high);
    while (high < (raw & VALUE_MASK) && !atom_swap(&word->high, &high, raw & VALUE_MASK)) continue;
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
        const struct rule rule = load_rule(word, index_of(raw));
        uint64_t value = raw & VALUE_MASK;
        const bool foreign = rule.generation != (uint32_t)decision->reserved;
        settle((struct rules){&rule, !foreign}, &value, now_ns, decision, &decision->charged, &actual, &decision->end);
        if (atom_swap(&word->value, &raw, with_index(index_of(raw), value))) return true;
    }
}

bool planted_decide_hasty(struct word *word, const struct ask *ask, weir_decision *decision)
{
    uint64_t raw = atom_load_acquire(&word->value);
    for (;;) {
        const struct rule rule = load_rule(word, index_of(raw));
        uint64_t value = raw & VALUE_MASK;
        const struct question question = {ask->now_ns, ask->wait_max_ns, &ask->cost, false};
        decide((struct rules){&rule, 1}, &value, &question, NULL, decision);
        if (decision->verdict != WEIR_ALLOW) return true;
        if (atom_swap(&word->value, &raw, with_index(index_of(raw), value))) return true;
    }
}

static struct rule copy_of(const struct atom from[])
{
    union rule_words copy;
    for (int i = 0; i < RULE_WORDS; i++) copy.word[i] = atom_load(&from[i]);
    return copy.rule;
}

bool planted_denies_unseen(const struct word_seen *seen, uint64_t now_ns, const struct note *note)
{
    return copy_of(seen->rule).generation == note->generation && now_ns < note->passes_ns;
}

bool planted_grant_read_twice(struct word *word, const struct word_seen *seen, uint64_t now_ns, uint64_t cost,
                              struct granted *granted)
{
    const struct rule rule = copy_of(seen->rule);
    uint64_t raw = atom_load_acquire(&word->value), value = raw & VALUE_MASK;
    const uint64_t now = tick_at(&rule, now_ns);
    if (algorithm_of(&rule)->offer(&rule, &value, now, ticks_of(&rule, cost), 0).start != now) return false;
    const struct taken taken = algorithm_of(&rule)->commit(&rule, &value, now, now, ticks_of(&rule, cost));
    *granted = (struct granted){taken.end, permits_floor(&rule, taken.room), rule.generation};
    return atom_swap(&word->value, &raw, with_index(index_of(raw), value));
}
