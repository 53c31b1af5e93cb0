/* SPDX-License-Identifier: MIT
   The position in a text that is being read, and the pieces that every part of the grammar uses. */
#ifndef WEIR_PLAN_READER_H
#define WEIR_PLAN_READER_H

#include <weir/weir.h>

#include "core/limit.h"

/* The most digits after a decimal point, and the size of a buffer for the spelling that an error suggests. */
enum { READER_PLACES_MAX = 18, READER_SPELLING_SIZE = 96 };

struct reader {
    const char *text;
    size_t at;
    weir_error *error;
    struct limit *limit;
    weir_use use;
    bool bare;                  /* a number without a period */
    bool zero;                  /* the rate may be 0: a ramp begins or ends there */
    bool rated;                 /* a rate was read, so the unit is known */
    bool nginx;                 /* written as nginx writes it, whose burst counts differently */
    uint8_t brought;            /* the algorithm that the spelling of the rate selects, or 0 */
    uint32_t seen;              /* a bit for each option that was given */
    size_t last_at, last_size;  /* the limit before this one, as it was written; size 0: there is none */
    size_t column[OPTIONS + 1]; /* offset of each option: of its name ... */
    size_t value[OPTIONS + 1];  /* ... and of its value */
    size_t phase_at[PHASES_MAX];
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

/* These fill reader->error for the column at `at`, and return false. */
bool reader_fail(struct reader *reader, size_t at, const char *message);
bool reader_fail_at_word(struct reader *reader, size_t at, int code, const char *first, const char *word, size_t size,
                         const char *last);
bool reader_fail_too_large(struct reader *reader, size_t at, const char *expected);
bool reader_fail_unknown_word(struct reader *reader, size_t at, const char *start, size_t size);

/* For text where a rate is expected, or a period behind a count: the error says how weir writes it if another tool
   writes it this way, and otherwise that it was not expected. */
bool reader_fail_no_rate(struct reader *reader, const char *expected);
bool reader_fail_no_period(struct reader *reader, size_t at);

/* For 2000,0.5: the error says what EngineBlock means by a ratio below 1. */
bool reader_fail_no_ratio(struct reader *reader, size_t at);

/* Appends to the error's message. */
void reader_append(struct reader *reader, const char *text);

void reader_skip_spaces(struct reader *reader);

/* True at the end of an option: a space, a separator or the end of the text. */
bool reader_at_end(const struct reader *reader);

/* At a comma: true if a number without a period follows, which is a ratio; otherwise the next limit follows. */
bool reader_comma_is_ratio(const struct reader *reader);

/* Reads the letters and dashes from here on; returns how many there are. */
size_t reader_word(struct reader *reader, const char **start);

bool reader_number(struct reader *reader, struct decimal *number, const char *expected);

/* Multiplies exactly; the rest of the fraction stays. */
bool reader_scale_number(struct decimal *number, uint64_t factor);

/* Stores number * factor; an error if that is not a whole number. */
bool reader_whole(struct reader *reader, size_t at, struct decimal number, uint64_t factor, uint64_t *value,
                  const char *expected);

/* Reads a count and its period, with the unit. */
bool reader_rate(struct reader *reader);

/* Reads the options up to the end of the limit, or to a word of a profile. */
bool reader_options(struct reader *reader);

/* Selects the algorithm, when all options are read. */
bool reader_choose(struct reader *reader);

#endif
