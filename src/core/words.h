/* SPDX-License-Identifier: MIT
   words.h - the vocabulary of the text of a limit: periods, suffixes, algorithms, options.

   See words.c. */
#ifndef WEIR_CORE_WORDS_H
#define WEIR_CORE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_BURST,
    OPTION_ALGORITHM,
    OPTION_CATCHUP,
    OPTION_STRICTNESS,
    OPTION_COLD,
    OPTION_DELAY,
    OPTION_NODELAY,
    OPTION_WARMUP,
    OPTION_GAP,
    OPTION_HOLD,
    OPTION_BLOCK,
    OPTION_PAY,
    OPTION_ALIGN,
    OPTION_EDGE,
    OPTION_START,
    OPTION_DEBT,
    OPTION_COUNT_REFUSED,
    OPTION_SHADOW,
    OPTIONS
};

struct option_row {
    const char *name;
    uint32_t algorithms; /* a bit for each it belongs to, 0 for all */
    uint8_t implies;     /* the algorithm it brings when none is said, 0 for none */
    bool has_value;
};

/* Each find_ takes a word of size bytes; negative, NULL or 0 when it is not one. */
int find_option(const char *word, size_t size);
const struct option_row *option_row(int option);
int find_algorithm(const char *word, size_t size);
const char *algorithm_text(int algorithm);
uint64_t find_period(const char *word, size_t size);
uint64_t find_suffix(const char *word, size_t size);

/* The known word nearest to a mistyped one, or NULL when none is near. */
const char *nearest_word(const char *word, size_t size);

bool same_word(const char *name, const char *word, size_t size);

#endif
