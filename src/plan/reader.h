/* SPDX-License-Identifier: MIT
   reader.h - where the reading of a text stands, and the pieces that every part of the grammar needs.

   See reader.c. */
#ifndef WEIR_PLAN_READER_H
#define WEIR_PLAN_READER_H

#include <weir/weir.h>

#include "core/limit.h"

/* Digits behind a decimal point, and the size of a buffer for the spelling that an error suggests. */
enum { READER_PLACES_MAX = 18, READER_SPELLING_SIZE = 96 };

struct reader {
    const char *text;
    size_t at;
    weir_error *error;
    struct limit *limit;
    weir_use use;
    bool bare;                  /* a number alone */
    bool nginx;                 /* in nginx's spelling, whose burst counts differently */
    uint8_t brought;            /* the algorithm that the spelling of the rate brings, or 0 */
    uint32_t seen;              /* a bit for each option that was said */
    size_t last_at, last_size;  /* the limit before this one, as it was written; size 0: there is none */
    size_t column[OPTIONS + 1]; /* where each option was said, as an offset: its name ... */
    size_t value[OPTIONS + 1];  /* ... and its value */
};

static inline char reader_peek(const struct reader *reader)
{
    return reader->text[reader->at];
}

static inline bool reader_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool reader_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool reader_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline bool reader_skip(struct reader *reader, char c)
{
    if (reader_peek(reader) != c) return false;
    reader->at++;
    return true;
}

/* Each fills reader->error, at its column, and returns false. */
bool reader_fail(struct reader *reader, size_t at, const char *message);
bool reader_fail_at_word(struct reader *reader, size_t at, int code, const char *first, const char *word, size_t size,
                         const char *last);
bool reader_fail_too_large(struct reader *reader, size_t at, const char *expected);
bool reader_fail_unknown_word(struct reader *reader, size_t at, const char *start, size_t size);

/* What stands where a rate is expected, or behind a count instead of its period: how it is written here, if another
   tool writes it so; else that it was not expected. */
bool reader_fail_no_rate(struct reader *reader, size_t at, const char *expected);
bool reader_fail_no_period(struct reader *reader, size_t at);

/* 2000,0.5: what EngineBlock means by a ratio below 1. */
bool reader_fail_no_ratio(struct reader *reader, size_t at);

/* Adds to the mistake. */
void reader_append(struct reader *reader, const char *text);

void reader_skip_spaces(struct reader *reader);

/* An option ends at a space, a separator or the end. */
bool reader_at_end(const struct reader *reader);

/* At a comma: a number without a period behind it is a ratio, anything else the next limit. */
bool reader_comma_is_ratio(const struct reader *reader);

/* The run of letters and dashes here; moves on behind it. */
size_t reader_word(struct reader *reader, const char **start);

bool reader_number(struct reader *reader, struct decimal *number, const char *expected);

/* number * factor, exactly; what is left of the fraction stays. */
bool reader_scale_number(struct decimal *number, uint64_t factor);

/* A whole number of what `factor` counts, or a mistake. */
bool reader_whole(struct reader *reader, size_t at, struct decimal number, uint64_t factor, uint64_t *value,
                  const char *expected);

/* The options behind a rate, up to the end of the limit; chooses the algorithm. */
bool reader_options(struct reader *reader);

#endif
