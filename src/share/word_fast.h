/* SPDX-License-Identifier: MIT
   The fast path of word_decide for the most frequent call: one limit by gcra, no permit in leases, and no waiting.

   A grant copies only the words of the rule that gcra needs, and tries the swap once.  A refusal of one permit
   determines when a permit passes, and until another call takes one that time stays the same: a thread that has noted
   it needs no arithmetic for the next refusal.  In all other cases both functions return that they do not know, and
   have done nothing: then word_decide decides.  The result is exactly that of word_decide, and a refusal writes nothing
   shared.

   Permits in leases make no difference to a call that is refused: they hold back at most the burst less a permit
   (lease.c), and less than that was left. */
#ifndef WEIR_SHARE_WORD_FAST_H
#define WEIR_SHARE_WORD_FAST_H

#include "core/algorithm/gcra_inline.h"
#include "core/clock.h"
#include "share/word.h"

/* While the word has `value`, under the rule of this generation, a permit passes at passes_ns and not before.  Zeroed:
   nothing is noted. */
struct note {
    uint64_t value, passes_ns, generation;
};

struct granted {
    uint64_t end, remaining;
    uint32_t generation;
};

static inline weir_decision word_granted(const struct granted *granted, uint64_t now_ns, uint64_t cost)
{
    return (weir_decision){.verdict = WEIR_ALLOW,
                           .start = {now_ns},
                           .end = granted->end,
                           .remaining = granted->remaining,
                           .charged = cost,
                           .reserved = granted->generation};
}

/* Every field is named, also those that are 0: otherwise all are zeroed first, and some written twice. */
static inline weir_decision word_denied(const struct note *note, uint64_t now_ns)
{
    return (weir_decision){.verdict = WEIR_DENY,
                           .limit = 0,
                           .start = {now_ns},
                           .delay_ns = 0,
                           .retry_ns = note->passes_ns - now_ns,
                           .end = note->value,
                           .remaining = 0,
                           .charged = 0,
                           .reserved = note->generation};
}

/* Notes what a decision about one permit at now_ns says about the next ones. */
static inline void word_note(struct note *note, const weir_decision *decision, uint64_t now_ns)
{
    if (decision->verdict != WEIR_DENY || decision->retry_ns == WEIR_FOREVER) return;
    *note = (struct note){decision->end, now_ns + decision->retry_ns, (uint32_t)decision->reserved};
}

/* The word, and the rule it was written under. */
struct word_seen {
    uint64_t raw;
    const struct atom *rule;
};

static inline struct word_seen word_see(const struct word *word)
{
    const uint64_t raw = atom_load_acquire(&word->value);
    return (struct word_seen){raw, word->rule[word_index(raw)]};
}

/* True if one permit is refused by the note; false: not known.  The rule of that generation is the one noted, or is
   just being written for a later word; so the refusal is right for the moment when the word was read. */
static inline bool word_denies(const struct word_seen *seen, uint64_t now_ns, const struct note *note)
{
    if (word_value(seen->raw) != note->value || now_ns >= note->passes_ns) return false;
    union rule_words copy;
    copy.word[RULE_KIND] = atom_load(&seen->rule[RULE_KIND]);
    return copy.rule.algorithm == ALGORITHM_GCRA && copy.rule.generation == note->generation;
}

/* False: not known, and nothing done.  Reads the words of the rule that gcra needs one by one: all at once they would
   need more registers than there are without saving some. */
static inline bool word_grant(struct word *word, const struct word_seen *seen, uint64_t now_ns, uint64_t cost,
                              struct granted *granted)
{
    uint64_t raw = seen->raw;
    const uint64_t value = word_value(raw);
    const struct atom *from = seen->rule;
    union rule_words copy = {.word = {0}};
    const struct rule *rule = &copy.rule;
    copy.word[RULE_KIND] = atom_load(&from[RULE_KIND]);
    if (rule->algorithm != ALGORITHM_GCRA || atom_load_acquire(&word->out) != 0) return false;
    copy.word[0] = atom_load(&from[0]);
    if (value == 0 || cost == 0 || now_ns == WEIR_FOREVER || !clock_is_near(rule, now_ns)) return false;
    copy.word[2] = atom_load(&from[2]);
    copy.word[1] = atom_load(&from[1]);
    const uint64_t now = tick_at(rule, now_ns);
    const uint64_t drained = gcra_drained_after(rule, value, now, ticks_of(rule, cost));
    copy.word[3] = atom_load(&from[3]);
    if (drained > WORD_VALUE_MAX || !gcra_passes(rule, now, drained)) return false;
    *granted = (struct granted){drained, permits_floor(rule, rule->burst - (drained - now)), rule->generation};
    return atom_swap(&word->value, &raw, word_raw(word_index(raw), drained));
}

#endif
