/* SPDX-License-Identifier: MIT
   spelling.c - a limit in the spelling of other tools, answered with the same limit as it is written here.

       rate=12000,1.1    1E6    100rps    12000,1.1,restart

   nosqlbench, EngineBlock and load generators write these.  None is read, as a name or a verb in front of a number may
   mean more there than a limit says; each is a mistake where it always was one, in the user's own numbers.

   May touch: the reader's mistake.  Promises: what it tells the user to write is read here, where the numbers are ones
   that a limit can have.  Leaves to others: what no other tool writes (reader.c). */
#include <string.h>

#include "core/num.h"
#include "plan/reader.h"
#include "plan/option.h"
#include "plan/words.h"
#include "plan/writer.h"

enum { EXPONENT_MAX = 12, PLACES_MAX = 18, SPELLING_SIZE = 96 };

/* Reads on from a copy, whose mistakes are nobody's. */
static struct reader copy_of(const struct reader *reader, size_t at, weir_error *scratch)
{
    struct reader copy = *reader;
    copy.at = at;
    copy.error = scratch;
    return copy;
}

/* "E6", "e-3", or nothing. */
static bool read_exponent(struct reader *copy, struct decimal *number)
{
    struct decimal power;
    if (peek(copy) != 'E' && peek(copy) != 'e') return true;
    copy->at++;
    const bool down = skip(copy, '-');
    if (!down) skip(copy, '+');
    if (!read_number(copy, &power, "") || power.places != 0 || power.digits > EXPONENT_MAX) return false;
    if (!down) return scale_number(number, power_of_ten((uint32_t)power.digits));
    number->places += (uint32_t)power.digits;
    return number->places <= PLACES_MAX && scale_number(number, 1);
}

static bool read_written_number(struct reader *copy, struct decimal *number)
{
    return read_number(copy, number, "") && read_exponent(copy, number);
}

/* A ratio below 1 is EngineBlock's burst compensation. */
static void write_ratio(struct writer *writer, struct decimal ratio)
{
    write_text(writer, ratio.digits < power_of_ten(ratio.places) ? "/s strictness=" : ",");
    write_decimal(writer, ratio.digits, ratio.places);
}

/* "/min", "/5min": its own period, if there is one. */
static bool write_same_period(struct writer *writer, struct reader *copy)
{
    struct decimal number = {0, 0};
    const char *start;
    if (!skip(copy, '/')) return false;
    skip_spaces(copy);
    if (is_digit(peek(copy)) && !read_number(copy, &number, "")) return false;
    skip_spaces(copy);
    const size_t size = word(copy, &start);
    if (find_period(start, size) == 0) return false;
    write_text(writer, "/");
    if (number.digits != 0) write_decimal(writer, number.digits, number.places);
    write_bytes(writer, start, size);
    return true;
}

/* The count and what stands behind it: a ratio, its own period, or the one that its word means. */
static void write_spelling(struct writer *writer, struct reader *copy, struct decimal count, const char *period)
{
    struct decimal ratio;
    write_decimal(writer, count.digits, count.places);
    if (write_same_period(writer, copy)) return;
    if (comma_is_ratio(copy)) {
        copy->at++;
        skip_spaces(copy);
        if (read_written_number(copy, &ratio)) {
            write_ratio(writer, ratio);
            return;
        }
    }
    write_text(writer, period);
}

static bool refuse(struct reader *reader, size_t at, const char *first, const char *start, size_t size,
                   const char *last, const char *spelling)
{
    mistake_of(reader, at, WEIR_EINVAL, first, start, size, last);
    append(reader, "; write ");
    append(reader, spelling);
    return false;
}

/* rate=12000: a name, and a number. */
static bool is_named(const struct reader *reader, size_t at, size_t size, char spelling[SPELLING_SIZE])
{
    weir_error scratch;
    struct decimal count;
    struct writer writer = {.out = spelling, .size = SPELLING_SIZE};
    if (size == 0 || option_find(reader->text + at, size) >= 0 || reader->text[at + size] != '=') return false;
    struct reader copy = copy_of(reader, at + size + 1, &scratch);
    if (!read_written_number(&copy, &count) || count.digits == 0) return false;
    write_spelling(&writer, &copy, count, "/s");
    return true;
}

/* 12000,1.1,restart: the limit before it, as the user wrote it. */
static bool is_verb(const struct reader *reader, const char *start, size_t size, char spelling[SPELLING_SIZE])
{
    struct writer writer = {.out = spelling, .size = SPELLING_SIZE};
    size_t last = reader->last_size;
    while (last > 0 && is_space(reader->text[reader->last_at + last - 1])) last--;
    if (last == 0 || last >= SPELLING_SIZE || !is_verb_word(start, size)) return false;
    for (size_t i = 0; i < last; i++) {
        const char c = reader->text[reader->last_at + i];
        write_bytes(&writer, is_space(c) ? " " : &c, 1);
    }
    return true;
}

bool not_a_rate(struct reader *reader, size_t at, const char *expected)
{
    char spelling[SPELLING_SIZE];
    const char *start;
    reader->at = at;
    const size_t size = word(reader, &start);
    if (is_named(reader, at, size, spelling)) {
        return refuse(reader, at, "a limit is written without \"", start, size, "=\"", spelling);
    }
    if (is_verb(reader, start, size, spelling)) {
        return refuse(reader, at, "\"", start, size, "\" is a command to nosqlbench's limiter, not a limit", spelling);
    }
    return mistake(reader, at, expected);
}

bool not_a_ratio(struct reader *reader, size_t at)
{
    char spelling[SPELLING_SIZE];
    struct writer writer = {.out = spelling, .size = sizeof spelling};
    write_decimal(&writer, reader->limit->count.digits, reader->limit->count.places);
    write_ratio(&writer, reader->limit->factor);
    mistake(reader, at, "catchup is 1 or more; for EngineBlock's strictness write ");
    append(reader, spelling);
    return false;
}

/* 1E6: `at` is where the E stands. */
static bool is_power(const struct reader *reader, size_t at, char spelling[SPELLING_SIZE])
{
    weir_error scratch;
    struct decimal count = reader->limit->count;
    struct writer writer = {.out = spelling, .size = SPELLING_SIZE};
    struct reader copy = copy_of(reader, at, &scratch);
    if ((peek(&copy) != 'E' && peek(&copy) != 'e') || !read_exponent(&copy, &count)) return false;
    write_spelling(&writer, &copy, count, "/s");
    return true;
}

/* 100rps, 10krps. */
static bool is_rate_word(const struct reader *reader, size_t at, const char *start, size_t size,
                         char spelling[SPELLING_SIZE])
{
    weir_error scratch;
    struct decimal count = reader->limit->count;
    struct writer writer = {.out = spelling, .size = SPELLING_SIZE};
    struct reader copy = copy_of(reader, at + size, &scratch);
    const char *period = find_rate_word(start, size);
    const uint64_t factor = size > 1 ? find_suffix(start, 1) : 0;
    if (period == NULL && factor != 0 && scale_number(&count, factor)) period = find_rate_word(start + 1, size - 1);
    if (period == NULL) return false;
    write_spelling(&writer, &copy, count, period);
    return true;
}

bool not_a_period(struct reader *reader, size_t at)
{
    char spelling[SPELLING_SIZE];
    const char *start;
    reader->at = at;
    const size_t size = word(reader, &start);
    if (is_power(reader, at, spelling)) return refuse(reader, at, "a number has no exponent", "", 0, "", spelling);
    if (is_rate_word(reader, at, start, size, spelling)) {
        return refuse(reader, at, "a rate has a slash and a period, not \"", start, size, "\"", spelling);
    }
    return unknown_word(reader, at, start, size);
}
