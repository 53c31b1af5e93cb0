/* SPDX-License-Identifier: MIT
   Errors for limits in the spelling of other tools: they show the same limit as weir writes it.

       rate=12000,1.1    1E6    100rps    12000,1.1,restart

   nosqlbench, EngineBlock and load generators write these.  weir accepts none of them, because a name or a verb beside
   a number may mean more there than a limit says.  The suggestion has the user's own numbers, and weir accepts it
   unless no limit can have those numbers. */
#include <string.h>

#include "core/num.h"
#include "plan/reader.h"
#include "plan/option.h"
#include "plan/words.h"
#include "plan/write.h"

enum { EXPONENT_MAX = 12 };

/* A copy of the reader that reads ahead; its errors are discarded. */
static struct reader copy_of(const struct reader *reader, size_t at, weir_error *scratch)
{
    struct reader copy = *reader;
    copy.at = at;
    copy.error = scratch;
    return copy;
}

/* Reads "E6", "e-3", or nothing. */
static bool read_exponent(struct reader *copy, struct decimal *number)
{
    struct decimal power;
    if (reader_peek(copy) != 'E' && reader_peek(copy) != 'e') return true;
    copy->at++;
    const bool down = reader_skip(copy, '-');
    if (!down) reader_skip(copy, '+');
    if (!reader_number(copy, &power, "") || power.places != 0 || power.digits > EXPONENT_MAX) return false;
    if (!down) return reader_scale_number(number, power_of_ten((uint32_t)power.digits));
    number->places += (uint32_t)power.digits;
    return number->places <= READER_PLACES_MAX && reader_scale_number(number, 1);
}

static bool read_written_number(struct reader *copy, struct decimal *number)
{
    return reader_number(copy, number, "") && read_exponent(copy, number);
}

/* A ratio below 1 is EngineBlock's burst compensation. */
static void write_ratio(struct writer *writer, struct decimal ratio)
{
    write_text(writer, ratio.digits < power_of_ten(ratio.places) ? "/s strictness=" : ",");
    write_decimal(writer, ratio.digits, ratio.places);
}

/* Writes the period that the text has, "/min" or "/5min"; false if it has none. */
static bool write_same_period(struct writer *writer, struct reader *copy)
{
    struct decimal number = {0, 0};
    const char *start;
    if (!reader_skip(copy, '/')) return false;
    reader_skip_spaces(copy);
    if (reader_is_digit(reader_peek(copy)) && !reader_number(copy, &number, "")) return false;
    reader_skip_spaces(copy);
    const size_t size = reader_word(copy, &start);
    if (words_find_period(start, size) == 0) return false;
    write_text(writer, "/");
    if (number.digits != 0) write_decimal(writer, number.digits, number.places);
    write_bytes(writer, start, size);
    return true;
}

/* The count, and behind it a ratio, the period that the text has, or the one that the rate word means. */
static void write_spelling(struct writer *writer, struct reader *copy, struct decimal count, const char *period)
{
    struct decimal ratio;
    write_decimal(writer, count.digits, count.places);
    if (write_same_period(writer, copy)) return;
    if (reader_comma_is_ratio(copy)) {
        copy->at++;
        reader_skip_spaces(copy);
        if (read_written_number(copy, &ratio)) {
            write_ratio(writer, ratio);
            return;
        }
    }
    write_text(writer, period);
}

static bool fail_with_spelling(struct reader *reader, size_t at, const char *first, const char *start, size_t size,
                               const char *last, const char *spelling)
{
    reader_fail_at_word(reader, at, WEIR_EINVAL, first, start, size, last);
    reader_append(reader, "; write ");
    reader_append(reader, spelling);
    return false;
}

/* rate=12000: a name and a number. */
static bool is_named(const struct reader *reader, size_t at, size_t size, char spelling[READER_SPELLING_SIZE])
{
    weir_error scratch;
    struct decimal count;
    struct writer writer = {.out = spelling, .size = READER_SPELLING_SIZE};
    if (size == 0 || option_find(reader->text + at, size) >= 0 || reader->text[at + size] != '=') return false;
    struct reader copy = copy_of(reader, at + size + 1, &scratch);
    if (!read_written_number(&copy, &count) || count.digits == 0) return false;
    write_spelling(&writer, &copy, count, "/s");
    return true;
}

/* 12000,1.1,restart: suggests the limit before the verb, as the user wrote it. */
static bool is_verb(const struct reader *reader, const char *start, size_t size, char spelling[READER_SPELLING_SIZE])
{
    struct writer writer = {.out = spelling, .size = READER_SPELLING_SIZE};
    size_t last = reader->last_size;
    while (last > 0 && reader_is_space(reader->text[reader->last_at + last - 1])) last--;
    if (last == 0 || last >= READER_SPELLING_SIZE || !words_is_verb(start, size)) return false;
    for (size_t i = 0; i < last; i++) {
        const char c = reader->text[reader->last_at + i];
        write_bytes(&writer, reader_is_space(c) ? " " : &c, 1);
    }
    return true;
}

bool reader_fail_no_rate(struct reader *reader, const char *expected)
{
    char spelling[READER_SPELLING_SIZE];
    const char *start;
    const size_t at = reader->at;
    const size_t size = reader_word(reader, &start);
    if (is_named(reader, at, size, spelling)) {
        return fail_with_spelling(reader, at, "a limit is written without \"", start, size, "=\"", spelling);
    }
    if (is_verb(reader, start, size, spelling)) {
        return fail_with_spelling(reader, at, "\"", start, size, "\" is a command to nosqlbench's limiter, not a limit",
                                  spelling);
    }
    return reader_fail(reader, at, expected);
}

bool reader_fail_no_ratio(struct reader *reader, size_t at)
{
    char spelling[READER_SPELLING_SIZE];
    struct writer writer = {.out = spelling, .size = sizeof spelling};
    write_decimal(&writer, reader->limit->count.digits, reader->limit->count.places);
    write_ratio(&writer, reader->limit->factor);
    reader_fail(reader, at, "catchup is 1 or more; for EngineBlock's strictness write ");
    reader_append(reader, spelling);
    return false;
}

/* 1E6: `at` is the position of the E. */
static bool is_power(const struct reader *reader, size_t at, char spelling[READER_SPELLING_SIZE])
{
    weir_error scratch;
    struct decimal count = reader->limit->count;
    struct writer writer = {.out = spelling, .size = READER_SPELLING_SIZE};
    struct reader copy = copy_of(reader, at, &scratch);
    if ((reader_peek(&copy) != 'E' && reader_peek(&copy) != 'e') || !read_exponent(&copy, &count)) return false;
    write_spelling(&writer, &copy, count, "/s");
    return true;
}

/* 100rps, 10krps. */
static bool is_rate_word(const struct reader *reader, size_t at, const char *start, size_t size,
                         char spelling[READER_SPELLING_SIZE])
{
    weir_error scratch;
    struct decimal count = reader->limit->count;
    struct writer writer = {.out = spelling, .size = READER_SPELLING_SIZE};
    struct reader copy = copy_of(reader, at + size, &scratch);
    const char *period = words_find_rate(start, size);
    const uint64_t factor = size > 1 ? words_find_suffix(start, 1) : 0;
    if (period == NULL && factor != 0 && reader_scale_number(&count, factor))
        period = words_find_rate(start + 1, size - 1);
    if (period == NULL) return false;
    write_spelling(&writer, &copy, count, period);
    return true;
}

bool reader_fail_no_period(struct reader *reader, size_t at)
{
    char spelling[READER_SPELLING_SIZE];
    const char *start;
    reader->at = at;
    const size_t size = reader_word(reader, &start);
    if (is_power(reader, at, spelling))
        return fail_with_spelling(reader, at, "a number has no exponent", "", 0, "", spelling);
    if (is_rate_word(reader, at, start, size, spelling)) {
        return fail_with_spelling(reader, at, "a rate has a slash and a period, not \"", start, size, "\"", spelling);
    }
    return reader_fail_unknown_word(reader, at, start, size);
}
