/* SPDX-License-Identifier: MIT
   word.c's functions with one mistake each, for the model checker to find.

   See planted_word.c. */
#ifndef WEIR_TEST_PLANTED_WORD_H
#define WEIR_TEST_PLANTED_WORD_H

#include "share/word.h"
#include "share/word_fast.h"

typedef void word_close_function(struct word *word, struct rule *rule, uint64_t *value);
typedef uint64_t word_anchor_function(const struct word *word);
typedef void word_open_function(struct word *word, const struct rule *rule, uint64_t value);
typedef bool word_decide_function(struct word *word, const struct ask *ask, weir_decision *decision);
typedef bool word_denies_function(const struct word *word, uint64_t raw, uint64_t now_ns, const struct note *note);
typedef bool word_grant_function(struct word *word, uint64_t raw, uint64_t now_ns, uint64_t cost,
                                 struct granted *granted);
typedef bool word_settle_function(struct word *word, uint64_t now_ns, const weir_decision *decision, uint64_t actual);

/* What all who make mistakes in a word need: a rule copied out of it, and its highest value noted. */
struct rule planted_rule(const struct atom from[]);
void planted_raise_high(struct word *word, uint64_t value);

/* Each new clock begins at tick 1, whatever the word held. */
word_anchor_function planted_anchor_not_growing;

/* Above the present value only, not above what a settle lowered it from. */
word_close_function planted_close_without_high;
word_anchor_function planted_anchor_without_high;

/* The rule is written while it is in use. */
word_close_function planted_close_rule_in_use;

/* The word is opened before the new rule is written. */
word_open_function planted_open_swapped_first;

/* Lowers the value without a word to those who set clocks. */
word_settle_function planted_settle_silently;

/* A denial is given without looking whether the word is still the one that was read. */
word_decide_function planted_decide_hasty;

/* A noted refusal, whatever the word holds now. */
word_denies_function planted_denies_unseen;

/* The word that is swapped is read after the rule was copied. */
word_grant_function planted_grant_read_twice;

#endif
