/* SPDX-License-Identifier: MIT
   The fast path of word_decide for the most frequent call: one limit by gcra, no permit in leases, and no waiting.

   A grant reads one line, in which the rule is ready for use, and tries the swap once.  It multiplies twice where
   tick_at does once, since that needs no shift, and near_ns stands for all that might overflow.  Whether it passes is
   compared beside what it would store, not after it: the swap waits for each step between it and the clock.

   A refusal of one permit determines when a permit passes, and until another call takes one that time stays the same: a
   thread that has noted it needs no arithmetic for the next refusal.

   In all other cases both functions return that they do not know, and have done nothing: then word_decide decides.  The
   result is exactly that of word_decide, and a refusal writes nothing shared.

   Permits in leases make no difference to a call that is refused: they hold back at most the burst less a permit
   (lease.c), and less than that was left. */
#ifndef WEIR_SHARE_WORD_FAST_H
#define WEIR_SHARE_WORD_FAST_H

#include "core/num.h"
#include "share/word.h"

/* While the word has `value`, under the rule of this generation, a permit passes at passes_ns and not before.  Zeroed:
   nothing is noted. */
struct note {
    uint64_t value, passes_ns, generation;
};

struct granted {
    uint64_t end, left; /* in ticks */
    uint64_t kind;      /* of word_fast */
};

static inline weir_decision word_granted(const struct granted *granted, uint64_t now_ns, uint64_t cost)
{
    return (weir_decision){.verdict = WEIR_ALLOW,
                           .start = {now_ns},
                           .end = granted->end,
                           .remaining = granted->left >> (granted->kind >> 32),
                           .charged = cost,
                           .reserved = (uint32_t)granted->kind};
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

static inline uint64_t word_see(const struct word *word)
{
    return atom_load_acquire(&word->value);
}

/* True if one permit is refused by the note; false: not known.  The rule of that generation is the one noted, or is
   just being written for a later word; so the refusal is right for the moment when the word was read. */
static inline bool word_denies(const struct word *word, uint64_t raw, uint64_t now_ns, const struct note *note)
{
    if (raw != note->value || now_ns >= note->passes_ns) return false;
    return atom_load(&word->fast.near_ns) != 0 && (uint32_t)atom_load(&word->fast.kind) == note->generation;
}

/* False: not known, and nothing done.  No sum overflows: near_ns sees to that. */
static inline bool word_grant(struct word *word, uint64_t raw, uint64_t now_ns, uint64_t cost, struct granted *granted)
{
    const struct word_fast *fast = &word->fast;
    const uint64_t elapsed_ns = now_ns - atom_load(&fast->anchor_ns);
    if ((int64_t)raw <= 0 || atom_load(&word->out) != 0) return false; /* closed, or never used */
    if (elapsed_ns - 1 >= atom_load(&fast->near_ns) || cost - 1 >= atom_load(&fast->permits)) return false;
    const uint64_t beyond = multiply_shift_floor(elapsed_ns, atom_load(&fast->fraction), 64);
    const uint64_t now = elapsed_ns * atom_load(&fast->whole) + beyond + atom_load(&fast->anchor_tick);
    const uint64_t kind = atom_load(&fast->kind), ticks = cost << (kind >> 32);
    const uint64_t latest = now + (atom_load(&fast->burst) - ticks); /* from which it can drain, so not before now */
    if (raw > latest) return false;
    const uint64_t start = most(raw, now), drained = start + ticks;
    *granted = (struct granted){drained, latest - start, kind};
    return atom_swap_release(&word->value, &raw, drained);
}

#endif
