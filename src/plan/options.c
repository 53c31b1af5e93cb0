/* SPDX-License-Identifier: MIT
   options.c - the options behind a rate: "burst=20 algorithm=gcra".

   May touch: the reader and the limit it fills.  Promises: an option said twice, without its value, or with another
   algorithm's name is a mistake at its column.  Leaves to others: the names (words.c), whether the numbers can be kept
   (limit.c). */
#include <string.h>

#include "core/algorithm.h"
#include "plan/reader.h"
#include "plan/words.h"

static bool read_word_of(struct reader *reader, const char *first, const char *second, const char *expected,
                         uint8_t *choice)
{
    const size_t at = reader->at;
    const char *start;
    const size_t size = word(reader, &start);
    if (same_word(first, start, size)) *choice = 1;
    else if (same_word(second, start, size)) *choice = 2;
    else return mistake(reader, at, expected);
    return true;
}

static bool read_amount(struct reader *reader, const char *expected, uint8_t *kind, uint64_t *value)
{
    const size_t at = reader->at;
    struct decimal number;
    const char *start;
    if (!read_number(reader, &number, expected)) return false;
    const size_t size = word(reader, &start);
    const uint64_t factor = size == 0 ? 1 : find_suffix(start, size);
    const uint64_t period = find_period(start, size);
    if ((factor == 0 && period == 0) || !ends_here(reader)) return mistake(reader, at, expected);
    *kind = factor != 0 ? AMOUNT_COUNT : AMOUNT_TIME;
    return whole(reader, at, number, factor != 0 ? factor : period, value, expected);
}

static bool read_kind(struct reader *reader, enum amount_kind wanted, const char *expected, uint64_t *value)
{
    const size_t at = reader->at;
    uint8_t kind = AMOUNT_NONE;
    if (!read_amount(reader, expected, &kind, value)) return false;
    return kind == wanted ? true : mistake(reader, at, expected);
}

static bool read_factor(struct reader *reader, const char *expected, const char *least)
{
    const size_t at = reader->at;
    if (!read_number(reader, &reader->limit->factor, expected)) return false;
    if (!ends_here(reader)) return mistake(reader, at, expected);
    return reader->limit->factor.digits != 0 ? true : mistake(reader, at, least);
}

static bool read_strictness(struct reader *reader)
{
    const size_t at = reader->at;
    struct limit *limit = reader->limit;
    static const char expected[] = "expected a number from 0 to 1; for example strictness=0.5";
    if (!read_number(reader, &limit->strictness, expected)) return false;
    if (!ends_here(reader)) return mistake(reader, at, expected);
    uint64_t one = 1;
    for (uint32_t i = 0; i < limit->strictness.places; i++) one *= 10;
    limit->has_strictness = true;
    if (limit->strictness.digits <= one) return true;
    return mistake(reader, at, "strictness is 0 to 1; to run faster while behind write catchup=1.1");
}

static bool read_delay(struct reader *reader)
{
    reader->limit->has_delay = true;
    return read_kind(reader, AMOUNT_COUNT, "expected a count; for example delay=5", &reader->limit->delay);
}

static bool read_debt(struct reader *reader)
{
    reader->limit->has_debt = true;
    return read_kind(reader, AMOUNT_COUNT, "expected a count; for example debt=1000", &reader->limit->debt);
}

static bool read_time(struct reader *reader, const char *expected)
{
    reader->limit->has_time = true;
    return read_kind(reader, AMOUNT_TIME, expected, &reader->limit->time_ns);
}

static const char simrate_is_gone[] =
    "simrate was nosqlbench's present limiter, kept for comparison only; write algorithm=hybrid";

static bool read_algorithm(struct reader *reader)
{
    const size_t at = reader->at;
    const char *start;
    size_t size = word(reader, &start);
    while (peek(reader) == '_' || (size != 0 && is_letter(peek(reader)))) size++, reader->at++; /* leaky_bucket */
    const int found = find_algorithm(start, size);
    if (same_word("simrate", start, size)) return mistake(reader, at, simrate_is_gone);
    const char *const near = found < 0 ? nearest_algorithm(start, size) : NULL;
    if (near != NULL) {
        mistake_of(reader, at, WEIR_EINVAL, "unknown algorithm \"", start, size, "\"; did you mean ");
        append(reader, near);
        append(reader, "?");
        return false;
    }
    if (found < 0) {
        return mistake_of(reader, at, WEIR_EINVAL, "unknown algorithm \"", start, size,
                          "\"; expected gcra, hybrid, timeline, bursty, warmup, leaky, cycle, fixed-window, "
                          "sliding-window or sliding-log");
    }
    reader->limit->algorithm = (uint8_t)found;
    return true;
}

static bool read_burst(struct reader *reader)
{
    struct limit *limit = reader->limit;
    return read_amount(reader, "expected a count or a time; for example burst=20 or burst=2s", &limit->burst_kind,
                       &limit->burst);
}

static bool read_value(struct reader *reader, int option)
{
    struct limit *limit = reader->limit;
    switch (option) {
    case OPTION_BURST:
        return read_burst(reader);
    case OPTION_ALGORITHM:
        return read_algorithm(reader);
    case OPTION_CATCHUP:
        return read_factor(reader, "expected a number from 1; for example catchup=1.1",
                           "catchup is 1 or more: how much faster to run while behind; for example 1.1");
    case OPTION_STRICTNESS:
        return read_strictness(reader);
    case OPTION_COLD:
        return read_factor(reader, "expected a number from 1; for example cold=3",
                           "cold is 1 or more: how much slower a cold start is; for example cold=3");
    case OPTION_DELAY:
        return read_delay(reader);
    case OPTION_DEBT:
        return read_debt(reader);
    case OPTION_WARMUP:
        return read_time(reader, "expected a time; for example warmup=10s");
    case OPTION_GAP:
        return read_time(reader, "expected a time; for example gap=100ms");
    case OPTION_BLOCK:
        return read_time(reader, "expected a time; for example block=1min");
    case OPTION_PAY:
        return read_word_of(reader, "self", "next", "expected pay=self or pay=next", &limit->pay);
    case OPTION_ALIGN:
        return read_word_of(reader, "clock", "first", "expected align=clock or align=first", &limit->align);
    case OPTION_EDGE:
        return read_word_of(reader, "open", "closed", "expected edge=open or edge=closed", &limit->edge);
    case OPTION_START:
        return read_word_of(reader, "full", "empty", "expected start=full or start=empty", &limit->start);
    default:
        return mistake(reader, reader->at, "hold= belongs to limits on how many run at once, which are kept for later");
    }
}

static void set_flag(struct reader *reader, int option)
{
    if (option == OPTION_NODELAY) reader->limit->nodelay = true;
    if (option == OPTION_COUNT_REFUSED) reader->limit->count_refused = true;
    if (option == OPTION_SHADOW) reader->limit->shadow = true;
}

static bool read_option(struct reader *reader)
{
    const size_t at = reader->at;
    const char *start;
    const size_t size = word(reader, &start);
    if (size == 0) {
        return mistake(reader, at, "expected an option or \";\" ; two limits are joined by \";\": 10/s; 1000/h");
    }
    const int option = find_option(start, size);
    if (option < 0) return unknown_word(reader, at, start, size);
    if (reader->seen & UINT32_C(1) << option)
        return mistake_of(reader, at, WEIR_EINVAL, "", start, size, " is said twice");
    reader->seen |= UINT32_C(1) << option;
    reader->column[option] = reader->value[option] = at;
    if (!option_row(option)->has_value) {
        set_flag(reader, option);
    } else if (!skip(reader, '=')) {
        return mistake_of(reader, reader->at, WEIR_EINVAL, "expected \"=\" and a value behind ", start, size, "");
    } else {
        reader->value[option] = reader->at;
        if (!read_value(reader, option)) return false;
    }
    return ends_here(reader) ? true : mistake(reader, reader->at, "expected a space, \";\" or the end");
}

/* Says also which algorithms know it. */
static bool foreign_option(struct reader *reader, int option)
{
    const char *before = "; it goes with ";
    mistake_of(reader, reader->column[option], WEIR_EINVAL, option_row(option)->name, "", 0,
               " does not belong to algorithm=");
    append(reader, algorithm_text(reader->limit->algorithm));
    for (int i = 1; i < ALGORITHM_NAMES; i++) {
        if (!option_fits(option, i)) continue;
        append(reader, before);
        append(reader, algorithm_text(i));
        before = ", ";
    }
    return false;
}

/* The algorithm that the options and the use bring when none was said, and whether all options belong to it. */
static bool choose_algorithm(struct reader *reader)
{
    struct limit *limit = reader->limit;
    for (int i = 0; i < OPTIONS && limit->algorithm == 0; i++) {
        if (reader->seen & UINT32_C(1) << i && option_row(i)->implies != 0) {
            limit->algorithm = option_row(i)->implies;
            reader->value[OPTION_ALGORITHM] = reader->column[i];
        }
    }
    if (limit->algorithm == 0) limit->algorithm = reader->use == WEIR_PACE ? ALGORITHM_HYBRID : ALGORITHM_GCRA;
    if (reader->brought != 0 && limit->algorithm != reader->brought) {
        return mistake_of(reader, reader->value[OPTION_ALGORITHM], WEIR_EINVAL, "this spelling of the rate is that of ",
                          algorithm_text(reader->brought), strlen(algorithm_text(reader->brought)),
                          "; for another algorithm write it as 10/s");
    }
    for (int i = 0; i < OPTIONS; i++) {
        if (reader->seen & UINT32_C(1) << i && !option_fits(i, limit->algorithm)) {
            return foreign_option(reader, i);
        }
    }
    return true;
}

/* nginx's burst does not count the request that is being answered. */
static bool count_nginx_burst(struct reader *reader)
{
    struct limit *limit = reader->limit;
    if (!reader->nginx || limit->algorithm != ALGORITHM_LEAKY || limit->burst_kind == AMOUNT_TIME) return true;
    if (limit->burst == UINT64_MAX)
        return mistake(reader, reader->value[OPTION_BURST],
                       "this burst is more than 64 bits hold; choose a smaller one, for example burst=20");
    limit->burst_kind = AMOUNT_COUNT;
    limit->burst++;
    return true;
}

bool read_options(struct reader *reader)
{
    for (;;) {
        skip_spaces(reader);
        const char c = peek(reader);
        if (c == '\0' || c == ';' || c == ',') break;
        if (!read_option(reader)) return false;
    }
    return choose_algorithm(reader) && count_nginx_burst(reader);
}
