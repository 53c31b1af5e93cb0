/* SPDX-License-Identifier: MIT
   reader.h - where the reading of a text stands, and the pieces that every part of the grammar needs.

   See reader.c. */
#ifndef WEIR_PLAN_READER_H
#define WEIR_PLAN_READER_H

#include <weir/weir.h>

#include "core/limit.h"

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

static inline char peek(const struct reader *reader)
{
    return reader->text[reader->at];
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline bool skip(struct reader *reader, char c)
{
    if (peek(reader) != c) return false;
    reader->at++;
    return true;
}

/* Each fills reader->error, at its column, and returns false. */
bool mistake(struct reader *reader, size_t at, const char *message);
bool mistake_of(struct reader *reader, size_t at, int code, const char *first, const char *word, size_t size,
                const char *last);
bool more_than_64_bits(struct reader *reader, size_t at, const char *expected);
bool unknown_word(struct reader *reader, size_t at, const char *start, size_t size);

/* What stands where a rate is expected, or behind a count instead of its period: how it is written here, if another
   tool writes it so; else that it was not expected. */
bool not_a_rate(struct reader *reader, size_t at, const char *expected);
bool not_a_period(struct reader *reader, size_t at);

/* 2000,0.5: what EngineBlock means by a ratio below 1. */
bool not_a_ratio(struct reader *reader, size_t at);

/* Adds to the mistake. */
void append(struct reader *reader, const char *text);

void skip_spaces(struct reader *reader);

/* An option ends at a space, a separator or the end. */
bool ends_here(const struct reader *reader);

/* At a comma: a number without a period behind it is a ratio, anything else the next limit. */
bool comma_is_ratio(const struct reader *reader);

/* The run of letters and dashes here; moves on behind it. */
size_t word(struct reader *reader, const char **start);

bool read_number(struct reader *reader, struct decimal *number, const char *expected);

/* number * factor, exactly; what is left of the fraction stays. */
bool scale_number(struct decimal *number, uint64_t factor);

/* A whole number of what `factor` counts, or a mistake. */
bool whole(struct reader *reader, size_t at, struct decimal number, uint64_t factor, uint64_t *value,
           const char *expected);

/* The options behind a rate, up to the end of the limit; chooses the algorithm. */
bool read_options(struct reader *reader);

#endif
