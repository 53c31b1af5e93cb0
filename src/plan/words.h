/* SPDX-License-Identifier: MIT
   words.h - the vocabulary of the text of a limit: periods, suffixes, algorithms.

   See words.c. */
#ifndef WEIR_PLAN_WORDS_H
#define WEIR_PLAN_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/limit.h"

/* Each find_ takes a word of size bytes; negative, NULL or 0 when it is not one. */
int words_find_algorithm(const char *word, size_t size);
const char *words_algorithm_name(int algorithm);
uint64_t words_find_period(const char *word, size_t size);
uint64_t words_find_suffix(const char *word, size_t size);

/* A rate in one word, as other tools write it: what is written for it behind the count here, "/s" for rps; or NULL. */
const char *words_find_rate(const char *word, size_t size);

/* A word for bits or bytes that weir does not have, in whatever case: mb, Mbit, kbps, KIB. */
bool words_is_data(const char *word, size_t size);

/* Does nosqlbench take it for a command to its limiter? */
bool words_is_verb(const char *word, size_t size);

/* The known word nearest to a mistyped one, or NULL when none is near. */
const char *words_nearest(const char *word, size_t size);
const char *words_nearest_algorithm(const char *word, size_t size);

/* Of a word that may be mistyped: is this name nearer than the one before, which was *best_edits away?  Begin with
   NEAR_NOTHING. */
enum { NEAR_NOTHING = 3 };
bool words_is_nearer(const char *name, const char *word, size_t size, size_t *best_edits);

bool words_equal(const char *name, const char *word, size_t size);

#endif
