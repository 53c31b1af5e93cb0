/* SPDX-License-Identifier: MIT
   Another limit for a word, as a limiter does it where nobody waits. */
#ifndef WEIR_TEST_CHANGE_WORD_H
#define WEIR_TEST_CHANGE_WORD_H

#include "core/algorithm.h"
#include "core/clock.h"
#include "share/word.h"

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

static inline void change_word(struct word *word, struct rule *to, uint64_t now_ns, weir_carry carry)
{
    struct rule from;
    uint64_t value;
    word_close(word, &from, &value);
    value = carried_word(word, &from, to, value, now_ns, carry);
    word_open_with(word, to, value);
}

#endif
