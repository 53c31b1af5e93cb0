/* SPDX-License-Identifier: MIT
   The options behind a rate, as in "burst=20 algorithm=gcra", and the algorithm that they and the intended use select.
   An option that is given twice, lacks its value or does not belong to the algorithm is an error at its column. */
#include <string.h>

#include "core/algorithm.h"
#include "plan/option.h"
#include "plan/profile/phases.h"
#include "plan/reader.h"
#include "plan/words.h"

static bool read_option(struct reader *reader)
{
    const size_t at = reader->at;
    const char *start;
    const size_t size = reader_word(reader, &start);
    if (size == 0) {
        return reader_fail(reader, at, "expected an option or \";\" ; two limits are joined by \";\": 10/s; 1000/h");
    }
    const int option = option_find(start, size);
    if (option < 0 && phases_fail_near(reader, at, start, size)) return false;
    if (option < 0) return reader_fail_unknown_word(reader, at, start, size);
    if (reader->seen & UINT32_C(1) << option)
        return reader_fail_at_word(reader, at, WEIR_EINVAL, "", start, size, " is given twice");
    reader->seen |= UINT32_C(1) << option;
    reader->column[option] = reader->value[option] = at;
    if (option_at(option)->type != TYPE_FLAG) {
        if (!reader_skip(reader, '='))
            return reader_fail_at_word(reader, reader->at, WEIR_EINVAL, "expected \"=\" and a value after ", start,
                                       size, "");
        reader->value[option] = reader->at;
    }
    if (!option_read(reader, option)) return false;
    return reader_at_end(reader) ? true : reader_fail(reader, reader->at, "expected a space, \";\" or the end");
}

/* The error also says which algorithms accept the option. */
static bool foreign_option(struct reader *reader, int option)
{
    const char *before = "; it goes with ";
    reader_fail_at_word(reader, reader->column[option], WEIR_EINVAL, option_at(option)->name, "", 0,
                        " does not belong to algorithm=");
    reader_append(reader, words_algorithm_name(reader->limit->algorithm));
    for (int i = 1; i < ALGORITHM_NAMES; i++) {
        if (!option_fits(option, i)) continue;
        reader_append(reader, before);
        reader_append(reader, words_algorithm_name(i));
        before = ", ";
    }
    return false;
}

/* Starts at random are those of one limiter that paces; a state for each key, or in an engine, has none. */
static bool paces(struct reader *reader)
{
    if (reader->use == WEIR_PACE || reader->limit->arrivals != ARRIVALS_POISSON) return true;
    return reader_fail_at_word(reader, reader->column[OPTION_ARRIVALS], WEIR_EUNSUPPORTED,
                               "arrivals=poisson is for pacing: ", "", 0,
                               "weir pace, weir explain --pace, or weir_open with use = WEIR_PACE");
}

/* Selects the algorithm from the options and the use when none was named, and checks that it accepts all options. */
static bool choose_algorithm(struct reader *reader)
{
    struct limit *limit = reader->limit;
    for (int i = 0; i < OPTIONS && limit->algorithm == 0; i++) {
        if (reader->seen & UINT32_C(1) << i && option_at(i)->implies != 0) {
            limit->algorithm = option_at(i)->implies;
            reader->value[OPTION_ALGORITHM] = reader->column[i];
        }
    }
    if (limit->algorithm == ALGORITHM_CONCURRENT && reader->brought == 0) {
        return reader_fail(reader, reader->value[OPTION_ALGORITHM],
                           "how many at once has no period; write 20 concurrent lease=30s");
    }
    if (limit->algorithm == 0) limit->algorithm = reader->use == WEIR_PACE ? ALGORITHM_HYBRID : ALGORITHM_GCRA;
    if (reader->brought != 0 && limit->algorithm != reader->brought) {
        return reader_fail_at_word(reader, reader->value[OPTION_ALGORITHM], WEIR_EINVAL,
                                   "this spelling of the rate is that of ", words_algorithm_name(reader->brought),
                                   strlen(words_algorithm_name(reader->brought)),
                                   "; for another algorithm write it as 10/s");
    }
    for (int i = 0; i < OPTIONS; i++) {
        if (reader->seen & UINT32_C(1) << i && !option_fits(i, limit->algorithm)) {
            return foreign_option(reader, i);
        }
    }
    return paces(reader);
}

/* nginx's burst does not count the request that is being served. */
static bool count_nginx_burst(struct reader *reader)
{
    struct limit *limit = reader->limit;
    if (!reader->nginx || limit->algorithm != ALGORITHM_LEAKY || limit->burst_kind == AMOUNT_TIME) return true;
    if (limit->burst == UINT64_MAX)
        return reader_fail(reader, reader->value[OPTION_BURST],
                           "this burst is more than 64 bits hold; choose a smaller one, for example burst=20");
    limit->burst_kind = AMOUNT_COUNT;
    limit->burst++;
    return true;
}

bool reader_options(struct reader *reader)
{
    for (;;) {
        reader_skip_spaces(reader);
        const char c = reader_peek(reader);
        if (c == '\0' || c == ';' || c == ',' || phases_follow(reader)) return true;
        if (!read_option(reader)) return false;
    }
}

/* Only lines whose ticks are parts of a permit can have any other clock. */
static bool may_change(struct reader *reader)
{
    const uint8_t algorithm = reader->limit->algorithm;
    if (reader->limit->phases == 0 || algorithm == ALGORITHM_HYBRID || algorithm == ALGORITHM_GCRA) return true;
    return reader_fail_at_word(reader, reader->value[OPTION_ALGORITHM], WEIR_EUNSUPPORTED,
                               "a rate that changes with time goes with algorithm=hybrid or gcra, not with ",
                               words_algorithm_name(algorithm), strlen(words_algorithm_name(algorithm)), "");
}

bool reader_choose(struct reader *reader)
{
    return choose_algorithm(reader) && may_change(reader) && count_nginx_burst(reader);
}
