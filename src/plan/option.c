/* SPDX-License-Identifier: MIT
   The table of options, and how each type of value is read and written.  A new option is a row here, a number in
   core/limit.h and an entry in weir-limit(7).

   The rows are in the order of enum option_kind, which is the order of the canonical text. */
#include "plan/option.h"

#include <stddef.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/num.h"
#include "plan/reader.h"
#include "plan/words.h"

#define AT(member) ((uint16_t)offsetof(struct limit, member))

static const struct option_row option_rows[OPTIONS] = {
    [OPTION_BURST] = {"burst", TYPE_AMOUNT, 0, AT(burst), AT(burst_kind),
                      .expected = "expected a count or a time; for example burst=20 or burst=2s"},
    [OPTION_COLD] = {"cold", TYPE_FACTOR, ALGORITHM_WARMUP, AT(factor), 0,
                     .expected = "expected a number from 1; for example cold=3",
                     .range = "cold is 1 or more: how much slower a cold start is; for example cold=3"},
    [OPTION_CATCHUP] = {"catchup", TYPE_FACTOR, ALGORITHM_HYBRID, AT(factor), 0,
                        .expected = "expected a number from 1; for example catchup=1.1",
                        .range = "catchup is 1 or more: how much faster to run while behind; for example 1.1"},
    [OPTION_STRICTNESS] = {"strictness", TYPE_SHARE, ALGORITHM_TIMELINE, AT(strictness), AT(has_strictness),
                           .expected = "expected a number from 0 to 1; for example strictness=0.5",
                           .range = "strictness is 0 to 1; to run faster while behind write catchup=1.1"},
    [OPTION_ALGORITHM] = {"algorithm", TYPE_NAME, 0, AT(algorithm), 0, .expected = NULL},
    [OPTION_NODELAY] = {"nodelay", TYPE_FLAG, ALGORITHM_LEAKY, AT(nodelay), 0, .expected = NULL},
    [OPTION_DELAY] = {"delay", TYPE_COUNT, ALGORITHM_LEAKY, AT(delay), AT(has_delay),
                      .expected = "expected a count; for example delay=5"},
    [OPTION_DEBT] = {"debt", TYPE_COUNT, 0, AT(debt), AT(has_debt),
                     .expected = "expected a count; for example debt=1000"},
    [OPTION_WARMUP] = {"warmup", TYPE_TIME, ALGORITHM_WARMUP, AT(time_ns), AT(has_time),
                       .expected = "expected a time; for example warmup=10s"},
    [OPTION_GAP] = {"gap", TYPE_TIME, ALGORITHM_SLIDING_LOG, AT(time_ns), AT(has_time),
                    .expected = "expected a time; for example gap=100ms"},
    [OPTION_BLOCK] = {"block", TYPE_TIME, ALGORITHM_FIXED_WINDOW, AT(time_ns), AT(has_time),
                      .expected = "expected a time; for example block=1min"},
    [OPTION_PAY] = {"pay", TYPE_CHOICE, ALGORITHM_BURSTY, AT(pay), 0, .expected = "expected pay=self or pay=next",
                    .choice = {"self", "next"}},
    [OPTION_ALIGN] = {"align", TYPE_CHOICE, ALGORITHM_FIXED_WINDOW, AT(align), 0,
                      .expected = "expected align=clock or align=first", .choice = {"clock", "first"}},
    [OPTION_EDGE] = {"edge", TYPE_CHOICE, ALGORITHM_SLIDING_LOG, AT(edge), 0,
                     .expected = "expected edge=open or edge=closed", .choice = {"open", "closed"}},
    [OPTION_START] = {"start", TYPE_CHOICE, 0, AT(start), 0, .expected = "expected start=full or start=empty",
                      .choice = {"full", "empty"}},
    [OPTION_ARRIVALS] = {"arrivals", TYPE_CHOICE, ALGORITHM_HYBRID, AT(arrivals), 0,
                         .expected = "expected arrivals=uniform or arrivals=poisson", .choice = {"uniform", "poisson"}},
    [OPTION_SEED] = {"seed", TYPE_COUNT, ALGORITHM_HYBRID, AT(seed), AT(has_seed),
                     .expected = "expected a whole number; for example arrivals=poisson seed=7"},
    [OPTION_COUNT_REFUSED] = {"count-refused", TYPE_FLAG, ALGORITHM_SLIDING_LOG, AT(count_refused), 0,
                              .expected = NULL},
    [OPTION_SHADOW] = {"shadow", TYPE_FLAG, 0, AT(shadow), 0, .expected = NULL},
    [OPTION_LEASE] = {"lease", TYPE_TIME, 0, AT(time_ns), AT(has_time),
                      .expected = "expected a time; for example 20 concurrent lease=30s",
                      .range = "a lease is longer than 0 and at most 292 years; for example lease=30s"},
    [OPTION_GUARANTEED] = {"guaranteed", TYPE_FLAG, 0, AT(guaranteed), 0, .expected = NULL},
    [OPTION_WEIGHT] = {"weight", TYPE_COUNT, 0, AT(weight), AT(has_weight),
                       .expected = "expected a whole number; for example 300/s weight=3",
                       .range = "a weight is 1 to 1000; for example 300/s weight=3"},
};

const struct option_row *option_at(int option)
{
    return &option_rows[option];
}

int option_find(const char *word, size_t size)
{
    int found = -1;
    for (int i = 0; i < OPTIONS && found < 0; i++) {
        if (size != 0 && option_rows[i].name[0] == word[0] && words_equal(option_rows[i].name, word, size)) found = i;
    }
    return found;
}

/* A bit for each option that the algorithm accepts. */
static uint32_t options_of(int algorithm)
{
    const struct algorithm *row = algorithm_named((unsigned)algorithm);
    return row == NULL ? 0 : row->options | WITH(ALGORITHM) | WITH(SHADOW);
}

bool option_fits(int option, int algorithm)
{
    return options_of(algorithm) >> option & 1;
}

/* ---- reading ---- */

static bool read_amount(struct reader *reader, const struct option_row *row, uint8_t *kind, uint64_t *value)
{
    const size_t at = reader->at;
    struct decimal number;
    const char *start;
    if (!reader_number(reader, &number, row->expected)) return false;
    const size_t size = reader_word(reader, &start);
    const uint64_t factor = size == 0 ? 1 : words_find_suffix(start, size);
    const uint64_t period = words_find_period(start, size);
    if ((factor == 0 && period == 0) || !reader_at_end(reader)) return reader_fail(reader, at, row->expected);
    *kind = factor != 0 ? AMOUNT_COUNT : AMOUNT_TIME;
    return reader_whole(reader, at, number, factor != 0 ? factor : period, value, row->expected);
}

static bool read_kind(struct reader *reader, const struct option_row *row, enum amount_kind wanted, uint64_t *value)
{
    const size_t at = reader->at;
    uint8_t kind = AMOUNT_NONE;
    if (!read_amount(reader, row, &kind, value)) return false;
    return kind == wanted ? true : reader_fail(reader, at, row->expected);
}

static bool in_range(const struct option_row *row, const struct decimal *number)
{
    return row->type == TYPE_SHARE ? number->digits <= power_of_ten(number->places) : number->digits != 0;
}

static bool read_decimal(struct reader *reader, const struct option_row *row, struct decimal *number)
{
    const size_t at = reader->at;
    if (!reader_number(reader, number, row->expected)) return false;
    if (!reader_at_end(reader)) return reader_fail(reader, at, row->expected);
    return in_range(row, number) ? true : reader_fail(reader, at, row->range);
}

static bool read_choice(struct reader *reader, const struct option_row *row, uint8_t *choice)
{
    const size_t at = reader->at;
    const char *start;
    const size_t size = reader_word(reader, &start);
    for (uint8_t i = 0; i < 2; i++) {
        if (!words_equal(row->choice[i], start, size)) continue;
        *choice = i + 1;
        return true;
    }
    return reader_fail(reader, at, row->expected);
}

static const char simrate_is_gone[] =
    "simrate was nosqlbench's present limiter, kept for comparison only; write algorithm=hybrid";

static void append_names(struct reader *reader)
{
    const char *before = "; expected ";
    const int last = ALGORITHM_NAMES - 1; /* has a rate */
    for (int i = 1; i <= last; i++) {
        if (!algorithm_has_rate((unsigned)i)) continue;
        reader_append(reader, i == last ? " or " : before);
        reader_append(reader, words_algorithm_name(i));
        before = ", ";
    }
}

static bool read_name(struct reader *reader, uint8_t *algorithm)
{
    const size_t at = reader->at;
    const char *start;
    size_t size = reader_word(reader, &start);
    while (reader_peek(reader) == '_' || (size != 0 && reader_is_letter(reader_peek(reader))))
        size++, reader->at++; /* leaky_bucket */
    const int found = words_find_algorithm(start, size);
    if (words_equal("simrate", start, size)) return reader_fail(reader, at, simrate_is_gone);
    const char *const near = found == 0 ? words_nearest_algorithm(start, size) : NULL;
    if (near != NULL) {
        reader_fail_at_word(reader, at, WEIR_EINVAL, "unknown algorithm \"", start, size, "\"; did you mean ");
        reader_append(reader, near);
        reader_append(reader, "?");
        return false;
    }
    if (found == 0) {
        reader_fail_at_word(reader, at, WEIR_EINVAL, "unknown algorithm \"", start, size, "\"");
        append_names(reader);
        return false;
    }
    *algorithm = (uint8_t)found;
    return true;
}

bool option_read(struct reader *reader, int option)
{
    const struct option_row *row = &option_rows[option];
    char *limit = (char *)reader->limit;
    void *place = limit + row->place;
    if (row->said != 0 && row->type != TYPE_AMOUNT) *(bool *)(limit + row->said) = true;
    switch (row->type) {
    case TYPE_FLAG:
        *(bool *)place = true;
        return true;
    case TYPE_COUNT:
        return read_kind(reader, row, AMOUNT_COUNT, place);
    case TYPE_TIME:
        return read_kind(reader, row, AMOUNT_TIME, place);
    case TYPE_AMOUNT:
        return read_amount(reader, row, (uint8_t *)(limit + row->said), place);
    case TYPE_FACTOR:
    case TYPE_SHARE:
        return read_decimal(reader, row, place);
    case TYPE_CHOICE:
        return read_choice(reader, row, place);
    default:
        return read_name(reader, place);
    }
}

/* ---- writing ---- */

static bool is_said(const struct option_row *row, const struct limit *limit)
{
    const char *place = (const char *)limit + (row->said != 0 ? row->said : row->place);
    const bool word = limit->algorithm == ALGORITHM_CONCURRENT || !algorithm_has_rate(limit->algorithm);
    if (row->type == TYPE_NAME && word) return false; /* it stands where others have their rate */
    if (row->type == TYPE_FACTOR) return ((const struct decimal *)(const void *)place)->digits != 0;
    return *(const uint8_t *)place != 0; /* a bool or a choice */
}

static void write_value(struct writer *writer, const struct option_row *row, const struct limit *limit)
{
    const void *place = (const char *)limit + row->place;
    const bool is_time =
        row->type == TYPE_TIME || (row->type == TYPE_AMOUNT && limit->burst_kind == (uint8_t)AMOUNT_TIME);
    const struct decimal *number = place;
    if (is_time) write_time(writer, *(const uint64_t *)place);
    else if (row->type == TYPE_COUNT || row->type == TYPE_AMOUNT) write_number(writer, *(const uint64_t *)place);
    else if (row->type == TYPE_CHOICE) write_text(writer, row->choice[*(const uint8_t *)place - 1]);
    else if (row->type == TYPE_NAME) write_text(writer, words_algorithm_name(limit->algorithm));
    else write_decimal(writer, number->digits, number->places);
}

void option_write(struct writer *writer, const struct limit *limit, int option)
{
    const struct option_row *row = &option_rows[option];
    if (!is_said(row, limit) || !option_fits(option, limit->algorithm)) return;
    write_text(writer, " ");
    write_text(writer, row->name);
    if (row->type == TYPE_FLAG) return;
    write_text(writer, "=");
    write_value(writer, row, limit);
}
