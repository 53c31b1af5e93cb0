/* SPDX-License-Identifier: MIT
   Characters, words, exact decimals and errors.  Nothing is read beyond the final NUL, and a number that does not fit
   is an error, never another number. */
#include "plan/reader.h"

#include <string.h>

#include "core/num.h"
#include "plan/words.h"
#include "plan/write.h"

bool reader_fail_at_word(struct reader *reader, size_t at, int code, const char *first, const char *word, size_t size,
                         const char *last)
{
    weir_error *error = reader->error;
    struct writer writer = {.out = error->message, .size = sizeof error->message};
    error->code = code;
    error->column = (int)least(at + 1, INT32_MAX);
    write_text(&writer, first);
    write_bytes(&writer, word, size < 40 ? size : 40);
    write_text(&writer, last);
    return false;
}

bool reader_fail(struct reader *reader, size_t at, const char *message)
{
    return reader_fail_at_word(reader, at, WEIR_EINVAL, message, "", 0, "");
}

bool reader_fail_too_large(struct reader *reader, size_t at, const char *expected)
{
    return reader_fail_at_word(reader, at, WEIR_EINVAL, "a number this long is more than 64 bits hold; ", "", 0,
                               expected);
}

void reader_append(struct reader *reader, const char *text)
{
    weir_error *error = reader->error;
    struct writer writer = {error->message, sizeof error->message, strlen(error->message)};
    write_text(&writer, text);
}

void reader_skip_spaces(struct reader *reader)
{
    while (reader_is_space(reader_peek(reader))) reader->at++;
}

bool reader_comma_is_ratio(const struct reader *reader)
{
    const char *text = reader->text + reader->at;
    if (*text++ != ',') return false;
    while (reader_is_space(*text)) text++;
    if (!reader_is_digit(*text)) return false;
    for (; *text != '\0' && *text != ';' && *text != ','; text++) {
        if (*text == '/' || strncmp(text, "per ", 4) == 0) return false;
    }
    return true;
}

size_t reader_word(struct reader *reader, const char **start)
{
    *start = reader->text + reader->at;
    const size_t from = reader->at;
    while (reader_is_letter(reader_peek(reader)) || (reader_peek(reader) == '-' && reader->at > from)) reader->at++;
    return reader->at - from;
}

static bool add_digit(struct decimal *number, char c, bool fraction)
{
    if (number->digits > (UINT64_MAX - (uint64_t)(c - '0')) / 10 || (fraction && number->places == READER_PLACES_MAX))
        return false;
    number->digits = number->digits * 10 + (uint64_t)(c - '0');
    number->places += fraction;
    return true;
}

bool reader_number(struct reader *reader, struct decimal *number, const char *expected)
{
    const size_t from = reader->at;
    *number = (struct decimal){0, 0};
    if (!reader_is_digit(reader_peek(reader))) return reader_fail(reader, from, expected);
    for (bool fraction = false;; reader->at++) {
        const char c = reader_peek(reader);
        const bool point = c == '.' && !fraction && reader_is_digit(reader->text[reader->at + 1]);
        if (point) fraction = true;
        else if (reader_is_digit(c) && !add_digit(number, c, fraction))
            return reader_fail_too_large(reader, from, expected);
        else if (!reader_is_digit(c) && (c != '_' || fraction)) break;
    }
    while (number->places > 0 && number->digits % 10 == 0) {
        number->digits /= 10;
        number->places--;
    }
    return true;
}

bool reader_scale_number(struct decimal *number, uint64_t factor)
{
    while (number->places > 0 && factor % 10 == 0) {
        factor /= 10;
        number->places--;
    }
    if (factor != 0 && number->digits > UINT64_MAX / factor) return false;
    number->digits *= factor;
    while (number->places > 0 && number->digits % 10 == 0) {
        number->digits /= 10;
        number->places--;
    }
    return true;
}

bool reader_whole(struct reader *reader, size_t at, struct decimal number, uint64_t factor, uint64_t *value,
                  const char *expected)
{
    if (!reader_scale_number(&number, factor)) return reader_fail_too_large(reader, at, expected);
    if (number.places != 0) return reader_fail(reader, at, expected);
    *value = number.digits;
    return true;
}

bool reader_at_end(const struct reader *reader)
{
    const char c = reader_peek(reader);
    return c == '\0' || c == ';' || c == ',' || reader_is_space(c);
}

bool reader_fail_unknown_word(struct reader *reader, size_t at, const char *start, size_t size)
{
    const char *near = words_nearest(start, size);
    if (near == NULL || (strlen(near) == size && strncmp(near, start, size) == 0)) { /* a word, but not here */
        return reader_fail_at_word(reader, at, WEIR_EINVAL, "unknown word \"", start, size,
                                   "\"; expected a slash and a period, or an option; for example 10/s burst=20");
    }
    reader_fail_at_word(reader, at, WEIR_EINVAL, "unknown word \"", start, size, "\"; did you mean ");
    reader_append(reader, near);
    reader_append(reader, "?");
    return false;
}
