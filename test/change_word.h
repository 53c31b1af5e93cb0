/* SPDX-License-Identifier: MIT
   A first limit for a word, and another one, as a limiter does it where nobody waits. */
#ifndef WEIR_TEST_CHANGE_WORD_H
#define WEIR_TEST_CHANGE_WORD_H

#include "core/algorithm.h"
#include "core/clock.h"
#include "share/word.h"

/* Never used, which a word that was opened in the usual way does not look. */
static inline void open_word(struct word *word, const struct rule *rule)
{
    word_make(word);
    word_open_with(word, rule, 0);
    word_begin(word);
    atom_store(&word->high, 0);
    atom_store(&word->value, 0);
}

/* The value that the new rule begins with; 0: as a fresh one.  Sets the clock of `to`, whose anchor_ns is set. */
static inline uint64_t carried_word(const struct word *word, const struct rule *from, struct rule *to, uint64_t value,
                                    uint64_t now_ns, weir_carry carry)
{
    const struct algorithm *algorithm = algorithm_of(from);
    uint64_t next = 0;
    to->anchor_tick = word_anchor(word);
    lease_hold(from, &value, now_ns, atom_load_acquire(&word->out));
    const bool same = from->algorithm == to->algorithm && algorithm->words == 1;
    if (same) algorithm->carry(from, to, &value, &next, tick_at(from, now_ns), carry);
    return next;
}

/* To a rule without an algorithm: the word stays closed. */
static inline void change_word(struct word *word, struct rule *to, uint64_t now_ns, weir_carry carry)
{
    struct rule from = {0};
    uint64_t value = 0;
    if (!word_is_closed(atom_load(&word->value))) word_close(word, &from, &value);
    value = carried_word(word, &from, to, value, now_ns, carry);
    if (to->algorithm == 0) return;
    word_open_with(word, to, value);
    word_begin(word);
}

#endif
