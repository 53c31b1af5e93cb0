/* SPDX-License-Identifier: MIT
   word_short.h - word_decide for what is asked most, without its detours: one limit by gcra, no permit in leases, now
   or not.

   A grant copies only the words of the rule that gcra needs, and tries the swap once.  A refusal of one permit says at
   what time it passes, and until somebody takes that is the same time: who has noted it needs no arithmetic for the
   next refusal.  Of everything else both say that they do not know, and have done nothing: then word_decide answers.

   Permits in leases make no difference to one that is refused: they hold back the burst less a permit at most
   (lease.c), and there was not that much left.

   May touch: the word.  Promises: what word_decide would answer, to the last field; a refusal writes nothing shared.
   Leaves to others: why it is right (word.c, gcra.c), a note for each thread (api). */
#ifndef WEIR_SHARE_WORD_SHORT_H
#define WEIR_SHARE_WORD_SHORT_H

#include "core/clock.h"
#include "core/gcra_inline.h"
#include "share/word.h"

/* Under the rule of this generation, while the word holds `value`, a permit passes at that time and not before.
   Zeroed, nothing is noted. */
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

/* Every field is named, also those that are 0: else all are zeroed first, and some written twice. */
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

/* What a decision about one permit, made at now_ns, says of the next ones. */
static inline void word_note(struct note *note, const weir_decision *decision, uint64_t now_ns)
{
    if (decision->verdict != WEIR_DENY || decision->retry_ns == WEIR_FOREVER) return;
    *note = (struct note){decision->end, now_ns + decision->retry_ns, (uint32_t)decision->reserved};
}

/* The word, and where the rule is under which it was written. */
struct word_seen {
    uint64_t raw;
    const struct atom *rule;
};

static inline struct word_seen word_see(const struct word *word)
{
    const uint64_t raw = atom_load_acquire(&word->value);
    return (struct word_seen){raw, word->rule[word_index(raw)]};
}

/* Is one permit refused, as it was noted?  Else it is not known.  A rule of that generation is the one noted, or is
   just being written for a later word; so the refusal is right for when the word was seen. */
static inline bool word_denies(const struct word_seen *seen, uint64_t now_ns, const struct note *note)
{
    if (word_value(seen->raw) != note->value || now_ns >= note->passes_ns) return false;
    union rule_words copy;
    copy.word[RULE_KIND] = atom_load(&seen->rule[RULE_KIND]);
    return copy.rule.algorithm == ALGORITHM_GCRA && copy.rule.generation == note->generation;
}

/* False: nothing is known and nothing done.  Reads the words of the rule that gcra needs, each when it is needed: with
   all at once there would be more than registers that need not be saved. */
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
