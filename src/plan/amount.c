/* SPDX-License-Identifier: MIT
   One number with its unit. */
#include "plan/amount.h"

#include "plan/reader.h"
#include "plan/words.h"

static uint64_t factor_of_count(const char *word, size_t size)
{
    return size == 0 ? 1 : words_find_suffix(word, size);
}

static uint64_t factor_of_bytes(const char *word, size_t size)
{
    return factor_of_count(word, size != 0 && word[size - 1] == 'B' ? size - 1 : size);
}

static bool amount_read(const char *text, uint64_t (*factor_of)(const char *, size_t), uint64_t *value)
{
    weir_error error = {0};
    struct reader reader = {.text = text, .error = &error};
    struct decimal number;
    const char *word;
    if (!reader_number(&reader, &number, "")) return false;
    const size_t size = reader_word(&reader, &word);
    const uint64_t factor = factor_of(word, size);
    return factor != 0 && reader_peek(&reader) == '\0' && reader_whole(&reader, 0, number, factor, value, "");
}

bool amount_time(const char *text, uint64_t *ns)
{
    return amount_read(text, words_find_period, ns);
}

bool amount_count(const char *text, uint64_t *count)
{
    return amount_read(text, factor_of_count, count);
}

bool amount_bytes(const char *text, uint64_t *bytes)
{
    return amount_read(text, factor_of_bytes, bytes);
}
