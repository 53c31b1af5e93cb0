/* SPDX-License-Identifier: MIT
   The options behind a rate, "burst=20 algorithm=gcra": which were said, and the algorithm that they and the use bring.
   An option that is said twice, without its value, or with another algorithm's name is a mistake at its column. */
#include <string.h>

#include "core/algorithm.h"
#include "plan/option.h"
#include "plan/reader.h"
#include "plan/words.h"

static bool read_option(struct reader *reader)
{
    const size_t at = reader->at;
    const char *start;
    const size_t size = word(reader, &start);
    if (size == 0) {
        return mistake(reader, at, "expected an option or \";\" ; two limits are joined by \";\": 10/s; 1000/h");
    }
    const int option = option_find(start, size);
    if (option < 0) return unknown_word(reader, at, start, size);
    if (reader->seen & UINT32_C(1) << option)
        return mistake_of(reader, at, WEIR_EINVAL, "", start, size, " is said twice");
    reader->seen |= UINT32_C(1) << option;
    reader->column[option] = reader->value[option] = at;
    if (option_row(option)->type != TYPE_FLAG) {
        if (!skip(reader, '='))
            return mistake_of(reader, reader->at, WEIR_EINVAL, "expected \"=\" and a value behind ", start, size, "");
        reader->value[option] = reader->at;
    }
    if (!option_read(reader, option)) return false;
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
