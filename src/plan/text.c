/* SPDX-License-Identifier: MIT
   The text of a limit: read, and written again.

       text  = limit , { ";" , limit }          limit  = rate , { space , option }
       rate  = count , [ unit ] , "/" , [ number ] , period  |  number , [ "," , ratio ]  |  number , "r/s"
             | count , "concurrent" , [ unit ]

   or the phases of a profile, see phases.c.

   It reads once from left to right.  The first error is reported at its column, with what was expected and an example;
   from there on the reading functions return false.  Any bytes are safe to read, and numbers are exact decimals. */
#include "plan/text.h"

#include <string.h>

#include "core/algorithm.h"
#include "core/num.h"
#include "plan/reader.h"
#include "plan/option.h"
#include "plan/profile/phases.h"
#include "plan/tenants/tenants.h"
#include "plan/words.h"
#include "plan/write.h"

enum { TEXT_SECOND_NS = 1000000000, TEXT_SECONDS_A_MINUTE = 60 };

static const char expected_rate[] = "expected a rate: a count, a slash and a period; for example 10/s";
static const char expected_period[] = "expected a period: s, min, h, d, w; for example 10/s";

/* Suggests the same count in a multiple of 30 days. */
static bool not_a_month(struct reader *reader, size_t at, struct decimal number)
{
    char spelling[READER_SPELLING_SIZE];
    struct writer writer = {.out = spelling, .size = sizeof spelling};
    const bool whole_months = number.places == 0 && reader_scale_number(&number, 30);
    write_decimal(&writer, reader->limit->count.digits, reader->limit->count.places);
    write_text(&writer, "/");
    write_number(&writer, whole_months ? number.digits : 30);
    write_text(&writer, "d");
    return reader_fail_at_word(reader, at, WEIR_EINVAL, "a month has 28 to 31 days; write ", spelling, strlen(spelling),
                               "");
}

static bool read_period_word(struct reader *reader, struct decimal number)
{
    const size_t at = reader->at;
    const char *start;
    const size_t size = reader_word(reader, &start);
    const uint64_t ns = words_find_period(start, size);
    if (words_equal("M", start, size)) {
        return reader_fail(reader, at, "M is a million; a minute is min; for example 10/min");
    }
    if (words_equal("month", start, size) || words_equal("months", start, size) || words_equal("mo", start, size)) {
        return not_a_month(reader, at, number);
    }
    if (ns == 0) return reader_fail(reader, at, expected_period);
    if (!reader_whole(reader, at, number, ns, &reader->limit->period_ns,
                      "a period is a whole number of ns, up to 584 years; for example 10/s"))
        return false;
    if (reader->limit->period_ns == 0) return reader_fail(reader, at, "a period is longer than 0; for example 10/s");
    return true;
}

static bool read_period(struct reader *reader)
{
    struct decimal number = {1, 0};
    reader_skip_spaces(reader);
    if (reader_is_digit(reader_peek(reader)) && !reader_number(reader, &number, expected_period)) return false;
    reader_skip_spaces(reader);
    return read_period_word(reader, number);
}

static bool read_unit(struct reader *reader, size_t at, const char *start, size_t size)
{
    if (words_find_period(start, size) != 0 || words_equal("r", start, size)) {
        return reader_fail_at_word(reader, at, WEIR_EINVAL, "expected a unit or a slash; \"", start, size,
                                   "\" is a period: write 10/s, or 10 requests/s");
    }
    if (option_find(start, size) >= 0) {
        return reader_fail_at_word(reader, at, WEIR_EINVAL, "\"", start, size,
                                   "\" is an option, not a unit; for example 10/s burst=20");
    }
    if (size >= WEIR_UNIT_SIZE)
        return reader_fail(reader, at, "a unit has at most 23 letters; for example 10 tokens/s");
    words_unit(start, size, reader->limit->unit);
    return true;
}

/* The factor: 1000 for k and for kB; *bytes says which. */
static uint64_t suffix_of(const char *start, size_t size, bool *bytes)
{
    const uint64_t factor = words_find_suffix(start, size);
    *bytes = factor == 0 && size > 1 && start[size - 1] == 'B';
    return *bytes ? words_find_suffix(start, size - 1) : factor;
}

/* The words that were read between the count and its period, and the position of the unit. */
struct between {
    bool suffix, unit, per, concurrent;
    size_t unit_at;
};

static bool read_between(struct reader *reader, struct between *between, size_t at, const char *start, size_t size)
{
    bool bytes;
    if (!between->concurrent && words_equal("concurrent", start, size)) return between->concurrent = true;
    const uint64_t factor = suffix_of(start, size, &bytes);
    if (factor == 0 && words_is_data(start, size)) {
        const bool binary = start[1] == 'i' && size == 3 && start[0] != 'b';
        return reader_fail(reader, at,
                           binary ? "expected KiB, MiB or GiB; for example 10KiB/s"
                                  : "bits or bytes? write 10MB/s for bytes, 1250kB/s for ten megabits");
    }
    if (between->unit || (between->suffix && factor != 0)) return reader_fail_unknown_word(reader, at, start, size);
    if (factor == 0 || between->suffix) {
        between->unit = true;
        between->unit_at = at;
        return read_unit(reader, at, start, size);
    }
    if (!reader_scale_number(&reader->limit->count, factor)) return reader_fail_too_large(reader, at, expected_rate);
    if (bytes) words_unit("B", 1, reader->limit->unit);
    between->suffix = true;
    between->unit = bytes;
    between->unit_at = at;
    return true;
}

/* "10tokens/min", "10k tokens/min", "10 per 2 hours", "10 concurrent": the words up to the slash, to "per" or to the
   options. */
static bool read_words(struct reader *reader, struct between *between)
{
    for (;;) {
        const size_t before = reader->at;
        reader_skip_spaces(reader);
        const size_t at = reader->at;
        const char *start;
        const size_t size = reader_word(reader, &start);
        between->per = words_equal("per", start, size);
        if (between->per) return true;
        const bool phase = words_equal("for", start, size) || words_equal("then", start, size);
        if (size == 0 || reader_peek(reader) == '=' || phase || option_find(start, size) >= 0) {
            reader->at = before;
            return true;
        }
        if (!read_between(reader, between, at, start, size)) return false;
    }
}

/* nginx counts in whole thousandths of a permit a second: to it 10r/m is 0.166 a second. */
static bool read_nginx_rate(struct reader *reader)
{
    struct limit *limit = reader->limit;
    struct decimal count = limit->count;
    const size_t at = reader->value[OPTION_RATE];
    if (count.places != 0) return reader_fail(reader, at, "nginx's rates are whole; for example 30r/m, one every 2 s");
    if (limit->period_ns == TEXT_SECOND_NS || count.digits % 3 == 0) return true;
    if (!reader_scale_number(&count, 1000)) return reader_fail_too_large(reader, at, expected_rate);
    limit->count = (struct decimal){count.digits / TEXT_SECONDS_A_MINUTE, 3};
    limit->period_ns = TEXT_SECOND_NS;
    return true;
}

/* A rate in nginx's spelling also has nginx's meaning. */
static bool read_nginx(struct reader *reader)
{
    reader->at += 2;
    const size_t at = reader->at;
    const char *start;
    const size_t size = reader_word(reader, &start);
    if (!words_equal("s", start, size) && !words_equal("m", start, size)) {
        return reader_fail(reader, at, "r/ is nginx's spelling and knows r/s and r/m only; for example 10r/s");
    }
    reader->limit->period_ns = words_find_period(start, size);
    reader->limit->algorithm = reader->brought = ALGORITHM_LEAKY;
    reader->nginx = true;
    return read_nginx_rate(reader);
}

/* 1,500: true at a comma that groups digits in threes. */
static bool groups_digits(const struct reader *reader)
{
    const char *text = reader->text + reader->at;
    size_t digits = 0;
    while (*text == ',' && digits < 3) {
        for (text++, digits = 0; reader_is_digit(text[digits]); digits++) continue;
        if (digits != 3) return false;
        text += digits;
        digits = 0;
    }
    return text != reader->text + reader->at && *text != '.';
}

/* "1,500/s": suggests the number without commas, with the rest of this limit. */
static bool not_grouped(struct reader *reader, size_t from)
{
    char plain[READER_SPELLING_SIZE];
    struct writer writer = {.out = plain, .size = sizeof plain};
    for (const char *c = reader->text + from; *c != '\0' && *c != ';' && !reader_is_space(*c); c++) {
        if (*c != ',') write_bytes(&writer, c, 1);
    }
    return reader_fail_at_word(reader, reader->at, WEIR_EINVAL, "a number has no commas; write ", plain, strlen(plain),
                               ", or for two limits a \";\" between them");
}

/* 12000,restart: has an error of its own, see reader_fail_no_rate. */
static bool verb_follows(const struct reader *reader)
{
    const char *text = reader->text + reader->at;
    size_t size = 0;
    if (*text++ != ',') return false;
    while (reader_is_space(*text)) text++;
    while (reader_is_letter(text[size])) size++;
    return words_is_verb(text, size);
}

/* 12000 or 12000,1.1: nosqlbench's spelling, per second. */
static bool read_bare(struct reader *reader)
{
    struct limit *limit = reader->limit;
    if (groups_digits(reader)) return not_grouped(reader, reader->value[OPTION_RATE]);
    reader->bare = !reader_comma_is_ratio(reader);
    limit->period_ns = TEXT_SECOND_NS;
    limit->algorithm = reader->brought = ALGORITHM_HYBRID;
    if (!reader_comma_is_ratio(reader)) return true;
    reader->at++;
    reader_skip_spaces(reader);
    reader->column[OPTION_CATCHUP] = reader->value[OPTION_CATCHUP] = reader->at;
    reader->seen |= UINT32_C(1) << OPTION_CATCHUP;
    const size_t at = reader->at;
    static const char expected[] = "catchup is 1 or more; for example 12000,1.1";
    if (!reader_number(reader, &limit->factor, expected)) return false;
    return limit->factor.digits != 0 ? true : reader_fail_no_ratio(reader, at);
}

/* 20 concurrent: what is counted has no period. */
static bool read_concurrent(struct reader *reader, bool per)
{
    reader_skip_spaces(reader);
    if (per || reader_peek(reader) == '/')
        return reader_fail(reader, reader->at,
                           "so many at once, or so many in a period? write 20 concurrent lease=30s, or 20/s");
    reader->limit->algorithm = reader->brought = ALGORITHM_CONCURRENT;
    return true;
}

bool reader_rate(struct reader *reader)
{
    struct limit *limit = reader->limit;
    const size_t at = reader->at;
    struct between between = {0};
    reader->column[OPTION_RATE] = reader->value[OPTION_RATE] = at;
    if (!reader_is_digit(reader_peek(reader))) return reader_fail_no_rate(reader, expected_rate);
    if (!reader_number(reader, &limit->count, expected_rate)) return false;
    const bool nginx = reader_peek(reader) == 'r' && reader->text[reader->at + 1] == '/';
    if (limit->count.digits == 0 && !reader->zero)
        return reader_fail(reader, at, "a rate is above 0; to stop everything write none");
    if (nginx) return read_nginx(reader);
    if (!read_words(reader, &between)) return false;
    if (between.concurrent) return read_concurrent(reader, between.per);
    if (between.per) return read_period(reader);
    const size_t before = reader->at;
    reader_skip_spaces(reader);
    if (reader_skip(reader, '/')) return read_period(reader);
    reader->at = before;
    if (!between.unit) return read_bare(reader);
    return reader_fail_no_period(reader, between.unit_at);
}

/* A number without a period is accepted only for pacing, where it means per second. */
static bool not_bare(struct reader *reader)
{
    char spelling[READER_SPELLING_SIZE];
    struct writer writer = {.out = spelling, .size = sizeof spelling};
    write_decimal(&writer, reader->limit->count.digits, reader->limit->count.places);
    return reader_fail_at_word(reader, reader->value[OPTION_RATE], WEIR_EINVAL, "expected a slash and a period; write ",
                               spelling, strlen(spelling), "/s for so many a second");
}

static bool read_word_limit(struct reader *reader, bool *found)
{
    const size_t at = reader->at;
    const char *start;
    const size_t size = reader_word(reader, &start);
    *found = true;
    if (words_equal("unlimited", start, size)) reader->brought = ALGORITHM_UNLIMITED;
    else if (words_equal("none", start, size)) reader->brought = ALGORITHM_NONE;
    else *found = false;
    reader->limit->algorithm = reader->brought;
    if (!*found) {
        reader->at = at;
        return true;
    }
    if (!reader_options(reader) || !reader_choose(reader)) return false;
    return phases_follow(reader) ? reader_fail(reader, reader->at, "expected \";\" or the end") : true;
}

static bool read_limit(struct reader *reader)
{
    bool found;
    memset(reader->limit, 0, sizeof *reader->limit);
    reader->nginx = reader->bare = false;
    reader->brought = 0;
    reader->seen = 0;
    words_unit("requests", 8, reader->limit->unit);
    reader_skip_spaces(reader);
    reader->value[OPTION_ALGORITHM] = reader->at;
    if (!read_word_limit(reader, &found)) return false;
    if (found) return true;
    const bool begins = phases_begin(reader);
    reader->zero = phases_may_ramp(reader);
    if (!begins && (!reader_rate(reader) || !reader_options(reader))) return false;
    if ((begins || phases_follow(reader)) && !phases_read(reader, !begins)) return false;
    if (!reader_choose(reader)) return false;
    const bool ratio = (reader->seen >> OPTION_CATCHUP & 1) != 0;
    if (reader->bare && !ratio && reader->use == WEIR_ADMIT && !verb_follows(reader)) return not_bare(reader);
    return true;
}

/* 2000,0.5 */
static bool is_below_one(const struct reader *reader)
{
    const struct decimal factor = reader->limit->factor;
    return reader->brought == ALGORITHM_HYBRID && factor.digits < power_of_ten(factor.places);
}

static bool text_compile(struct reader *reader, struct rule *rule)
{
    const struct limit_problem problem = limit_compile(reader->limit, rule);
    if (problem.message == NULL) return reader->limit->phases == 0 || phases_check(reader);
    const bool said = problem.option == OPTION_RATE || reader->seen & UINT32_C(1) << problem.option;
    const size_t at = reader->value[said ? problem.option : OPTION_ALGORITHM];
    if (problem.option == OPTION_SHADOW)
        return reader_fail_at_word(reader, at, WEIR_EUNSUPPORTED, problem.message, "", 0, "");
    if (problem.option == OPTION_CATCHUP && is_below_one(reader)) return reader_fail_no_ratio(reader, at);
    if (*problem.message == '\0') return reader_fail(reader, at, option_at(problem.option)->range);
    if (problem.option != OPTION_ALGORITHM) return reader_fail(reader, at, problem.message);
    return reader_fail_at_word(reader, at, WEIR_EUNSUPPORTED,
                               "algorithm=", words_algorithm_name(reader->limit->algorithm),
                               strlen(words_algorithm_name(reader->limit->algorithm)), problem.message);
}

/* What is a tenant's stands in the first limit; and those behind a guaranteed one let through what it does. */
static bool text_tenant(struct reader *reader, const struct limit limits[], const struct rule rules[], int at)
{
    if (at == 0) return true;
    if (reader->limit->guaranteed) {
        return reader_fail(reader, reader->column[OPTION_GUARANTEED],
                           limits[0].guaranteed ? "one limit of a text is guaranteed, the others are its ceiling"
                                                : "the guaranteed limit comes first, and its ceiling behind it; "
                                                  "for example 5/s guaranteed; 20/s");
    }
    if (reader->limit->has_weight && option_fits(OPTION_WEIGHT, reader->limit->algorithm))
        return reader_fail(reader, reader->column[OPTION_WEIGHT],
                           "the weight of a tenant is in its first limit; for example 300/s weight=3; 10k/h");
    if (!limits[0].guaranteed) return true;
    const struct limit_problem problem = tenants_check_ceiling(&limits[0], &rules[0], reader->limit, &rules[at]);
    if (problem.message == NULL) return true;
    const bool said = reader->seen & UINT32_C(1) << problem.option;
    return reader_fail(reader, reader->value[said ? problem.option : OPTION_RATE], problem.message);
}

int text_read(const char *text, weir_use use, struct limit limits[], struct rule rules[], weir_error *error)
{
    struct reader reader = {.text = text, .error = error, .use = use};
    struct rule unused;
    *error = (weir_error){0};
    for (int count = 0, holds = 0;;) {
        if (count == WEIR_LIMITS_MAX) {
            reader_fail(&reader, reader.at, "a text holds at most 8 limits");
            return error->code;
        }
        reader_skip_spaces(&reader);
        const size_t from = reader.at;
        reader.limit = &limits[count];
        if (!read_limit(&reader)) return error->code;
        if (reader.limit->algorithm == ALGORITHM_CONCURRENT && holds++ != 0) {
            reader_fail(&reader, from, "at most one limit of a text is concurrent: the lower one is enough");
            return error->code;
        }
        if (rules == NULL) limit_compile(reader.limit, &unused);
        else if (!text_compile(&reader, &rules[count]) || !text_tenant(&reader, limits, rules, count))
            return error->code;
        count++;
        reader.last_at = from;
        reader.last_size = reader.at - from;
        if (reader_comma_is_ratio(&reader)) {
            reader_fail(&reader, reader.at + 1,
                        "a ratio follows a bare number, as in 10,1.1; a limit has a period: 10/s");
            return error->code;
        }
        if (!reader_skip(&reader, ';') && !reader_skip(&reader, ',')) return count;
    }
}

/* ---- writing: with nothing implied, so that text_read(text_write(limit)) gives the same limit ---- */

void text_write_rate(struct writer *writer, const struct limit *limit)
{
    write_decimal(writer, limit->count.digits, limit->count.places);
    if (limit->algorithm == ALGORITHM_CONCURRENT) write_text(writer, " concurrent");
    if (strcmp(limit->unit, "requests") != 0) write_text(writer, " ");
    if (strcmp(limit->unit, "requests") != 0) write_text(writer, limit->unit);
    if (limit->algorithm == ALGORITHM_CONCURRENT) return;
    write_text(writer, "/");
    write_period(writer, limit->period_ns);
}

void text_write(struct writer *writer, const struct limit *limit)
{
    if (!algorithm_has_rate(limit->algorithm)) write_text(writer, words_algorithm_name(limit->algorithm));
    else if (limit->phases != 0) phases_write(writer, limit);
    else text_write_rate(writer, limit);
    for (int option = 0; option < OPTIONS; option++) option_write(writer, limit, option);
}
