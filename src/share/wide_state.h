/* SPDX-License-Identifier: MIT
   wide_state.h - what a state of several words is under its rules.

   See wide_state.c. */
#ifndef WEIR_SHARE_WIDE_STATE_H
#define WEIR_SHARE_WIDE_STATE_H

#include "core/decide.h"

/* Saturates, as state_words does not: rules that are made up may ask for any number. */
uint64_t wide_state_words(struct rules rules);

/* From when on a fresh state is as good as this one. */
uint64_t wide_state_idle_ns(struct rules rules, const uint64_t *state, uint64_t now_ns);

/* What was used under other rules, into a zeroed state; nothing where these have other algorithms. */
void wide_state_carry(struct rules from, struct rules to, const uint64_t *state, uint64_t *next, uint64_t now_ns);

#endif
