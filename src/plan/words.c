/* SPDX-License-Identifier: MIT
   The tables behind the text of a limit.  Options have a table of their own (option.c). */
#include "plan/option.h"
#include "plan/words.h"

#include <string.h>

#include "core/algorithm.h"

static const struct {
    const char *name;
    int algorithm;
} aliases[] = {{"token-bucket", ALGORITHM_GCRA}, {"leaky-bucket", ALGORITHM_LEAKY}};

static const struct {
    const char *name;
    uint64_t ns;
} periods[] = {
    {"ns", UINT64_C(1)},
    {"us", UINT64_C(1000)},
    {"ms", UINT64_C(1000000)},
    {"s", UINT64_C(1000000000)},
    {"sec", UINT64_C(1000000000)},
    {"second", UINT64_C(1000000000)},
    {"m", UINT64_C(60000000000)},
    {"min", UINT64_C(60000000000)},
    {"minute", UINT64_C(60000000000)},
    {"h", UINT64_C(3600000000000)},
    {"hour", UINT64_C(3600000000000)},
    {"d", UINT64_C(86400000000000)},
    {"day", UINT64_C(86400000000000)},
    {"w", UINT64_C(604800000000000)},
    {"week", UINT64_C(604800000000000)},
    {"year", UINT64_C(31536000000000000)},
};

static const struct {
    const char *name;
    uint64_t factor;
} suffixes[] = {
    {"k", 1000},
    {"K", 1000},
    {"M", 1000000},
    {"G", 1000000000},
    {"Ki", UINT64_C(1) << 10},
    {"Mi", UINT64_C(1) << 20},
    {"Gi", UINT64_C(1) << 30},
};

static const struct {
    const char *name, *written;
} rate_words[] = {
    {"rps", "/s"}, {"qps", "/s"}, {"tps", "/s"}, {"iops", "/s"},  {"ops", " ops/s"}, {"Hz", "/s"},  {"hz", "/s"},
    {"RPS", "/s"}, {"QPS", "/s"}, {"TPS", "/s"}, {"rpm", "/min"}, {"qpm", "/min"},   {"rph", "/h"},
};

static const char *const data_words[] = {"kb",    "mb",    "gb",   "tb",   "kib",  "mib",  "gib",
                                         "tib",   "bit",   "bits", "kbit", "mbit", "gbit", "kbits",
                                         "mbits", "gbits", "bps",  "kbps", "mbps", "gbps"};

static const char *const verbs[] = {"configure", "start", "restart", "stop"};

enum { DATA_WORD_MAX = 5, NEAR_WORD_MAX = 16 };
#define WORDS_LENGTH(array) (sizeof(array) / sizeof(array)[0])

bool words_equal(const char *name, const char *word, size_t size)
{
    return strlen(name) == size && memcmp(name, word, size) == 0;
}

int words_find_algorithm(const char *word, size_t size)
{
    for (int i = 1; i < ALGORITHM_NAMES; i++) {
        if (algorithm_has_rate((unsigned)i) && words_equal(words_algorithm_name(i), word, size)) return i;
    }
    for (size_t i = 0; i < WORDS_LENGTH(aliases); i++) {
        if (words_equal(aliases[i].name, word, size)) return aliases[i].algorithm;
    }
    return 0;
}

const char *words_algorithm_name(int algorithm)
{
    const struct algorithm *row = algorithm_named((unsigned)algorithm);
    return row != NULL ? row->name : "?";
}

uint64_t words_find_period(const char *word, size_t size)
{
    for (size_t i = 0; i < WORDS_LENGTH(periods); i++) {
        if (words_equal(periods[i].name, word, size)) return periods[i].ns;
        /* The plural, of units that are words. */
        const bool plural = size > 3 && word[size - 1] == 's';
        if (plural && words_equal(periods[i].name, word, size - 1)) return periods[i].ns;
    }
    return 0;
}

uint64_t words_find_suffix(const char *word, size_t size)
{
    for (size_t i = 0; i < WORDS_LENGTH(suffixes); i++) {
        if (words_equal(suffixes[i].name, word, size)) return suffixes[i].factor;
    }
    return 0;
}

const char *words_find_rate(const char *word, size_t size)
{
    for (size_t i = 0; i < WORDS_LENGTH(rate_words); i++) {
        if (words_equal(rate_words[i].name, word, size)) return rate_words[i].written;
    }
    return NULL;
}

bool words_is_data(const char *word, size_t size)
{
    char lower[DATA_WORD_MAX + 1] = {0};
    if (size > DATA_WORD_MAX) return false;
    for (size_t i = 0; i < size; i++) lower[i] = (char)(word[i] | 0x20); /* of a letter */
    for (size_t i = 0; i < WORDS_LENGTH(data_words); i++) {
        if (words_equal(data_words[i], lower, size)) return true;
    }
    return false;
}

bool words_is_verb(const char *word, size_t size)
{
    for (size_t i = 0; i < WORDS_LENGTH(verbs); i++) {
        if (words_equal(verbs[i], word, size)) return true;
    }
    return false;
}

void words_unit(const char *word, size_t size, char unit[WEIR_UNIT_SIZE])
{
    memset(unit, 0, WEIR_UNIT_SIZE);
    if (words_equal("B", word, size) || words_equal("byte", word, size)) {
        word = "bytes";
        size = 5;
    } else if (words_equal("request", word, size)) {
        word = "requests";
        size = 8;
    }
    memcpy(unit, word, size < WEIR_UNIT_SIZE ? size : WEIR_UNIT_SIZE - 1);
}

/* Levenshtein distance, a row at a time. */
static size_t edits(const char *name, const char *word, size_t size)
{
    size_t row[NEAR_WORD_MAX + 1];
    for (size_t j = 0; j <= size; j++) row[j] = j;
    for (size_t i = 0; name[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < size; j++) {
            size_t best = diagonal + (name[i] != word[j]);
            if (row[j + 1] + 1 < best) best = row[j + 1] + 1;
            if (row[j] + 1 < best) best = row[j] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[size];
}

bool words_is_nearer(const char *name, const char *word, size_t size, size_t *best_edits)
{
    const size_t distance = size <= NEAR_WORD_MAX ? edits(name, word, size) : SIZE_MAX;
    if (distance >= *best_edits || distance >= size) return false;
    *best_edits = distance;
    return true;
}

static void consider(const char *name, const char *word, size_t size, const char **best, size_t *best_edits)
{
    if (words_is_nearer(name, word, size, best_edits)) *best = name;
}

static bool has_letter(const char *word, size_t size, char letter)
{
    bool has = false;
    for (size_t i = 0; i < size; i++) has = has || word[i] == letter;
    return has;
}

/* rsp for rps: a word with the same letters. */
static const char *same_letters(const char *word, size_t size)
{
    for (size_t i = 0; i < WORDS_LENGTH(rate_words); i++) {
        const char *const name = rate_words[i].name;
        bool same = strlen(name) == size;
        for (size_t k = 0; same && k < size; k++)
            same = has_letter(word, size, name[k]) && has_letter(name, size, word[k]);
        if (same) return name;
    }
    return NULL;
}

const char *words_nearest_algorithm(const char *word, size_t size)
{
    const char *best = NULL;
    size_t best_edits = NEAR_NOTHING;
    if (size < 3 || size > NEAR_WORD_MAX) return NULL;
    for (int i = 1; i < ALGORITHM_NAMES; i++) {
        if (algorithm_has_rate((unsigned)i)) consider(words_algorithm_name(i), word, size, &best, &best_edits);
    }
    for (size_t i = 0; i < WORDS_LENGTH(aliases); i++) consider(aliases[i].name, word, size, &best, &best_edits);
    return best;
}

const char *words_nearest(const char *word, size_t size)
{
    const char *best = NULL;
    size_t best_edits = NEAR_NOTHING;
    if (size < 3 || size > NEAR_WORD_MAX) return NULL;
    if (same_letters(word, size) != NULL) return same_letters(word, size);
    for (int i = 0; i < OPTIONS; i++) consider(option_at(i)->name, word, size, &best, &best_edits);
    for (int i = 1; i < ALGORITHM_NAMES; i++) {
        if (algorithm_named((unsigned)i) != NULL) consider(words_algorithm_name(i), word, size, &best, &best_edits);
    }
    for (size_t i = 0; i < WORDS_LENGTH(periods); i++) {
        if (strlen(periods[i].name) > 2) consider(periods[i].name, word, size, &best, &best_edits);
    }
    return best;
}
