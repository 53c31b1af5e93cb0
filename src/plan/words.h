/* SPDX-License-Identifier: MIT
   The vocabulary of the text of a limit: periods, suffixes, algorithms. */
#ifndef WEIR_PLAN_WORDS_H
#define WEIR_PLAN_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/limit.h"

/* Each words_find_ function takes a word of `size` bytes.  The result is 0 or NULL when there is no such word. */
int words_find_algorithm(const char *word, size_t size);
const char *words_algorithm_name(int algorithm);
uint64_t words_find_period(const char *word, size_t size);
uint64_t words_find_suffix(const char *word, size_t size);

/* The unit by its full name, padded with NULs: bytes for B, requests for request. */
void words_unit(const char *word, size_t size, char unit[WEIR_UNIT_SIZE]);

/* For a rate in one word, as other tools write it: the text that replaces it behind the count, "/s" for rps; or
   NULL. */
const char *words_find_rate(const char *word, size_t size);

/* True for a word for bits or bytes that weir does not have, in any case: mb, Mbit, kbps, KIB. */
bool words_is_data(const char *word, size_t size);

/* True if the word is a command to nosqlbench's limiter. */
bool words_is_verb(const char *word, size_t size);

/* The known word nearest to a mistyped one, or NULL when none is near. */
const char *words_nearest(const char *word, size_t size);
const char *words_nearest_algorithm(const char *word, size_t size);

/* True if this name is nearer to a mistyped word than *best_edits, which is then updated.  Begin with NEAR_NOTHING. */
enum { NEAR_NOTHING = 3 };
bool words_is_nearer(const char *name, const char *word, size_t size, size_t *best_edits);

bool words_equal(const char *name, const char *word, size_t size);

#endif
