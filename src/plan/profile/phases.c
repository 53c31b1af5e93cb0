/* SPDX-License-Identifier: MIT
   The phases of a profile, a rate that changes with time:

       profile = phase , { "then" , phase }
       phase   = rate , [ "for" , time ]  |  [ rate ] , ".." , rate , "for" , time  |  "pause" , [ "for" ] , time

   ".." is a ramp to that rate, from the rate before it, or from nothing.  Only the last phase may go without a time: it
   goes on for good.  Options stand behind any phase, and belong to all of it. */
#include "plan/profile/phases.h"

#include <string.h>

#include "core/num.h"
#include "plan/option.h"
#include "plan/text.h"
#include "plan/words.h"

static const char expected_phase[] =
    "expected a rate, a ramp or a pause; for example 100/s for 1min then ..1000/s for 30s then pause 5s";

/* ---- words ---- */

static bool is_word(const struct reader *reader, const char *word)
{
    const char *text = reader->text + reader->at;
    const size_t size = strlen(word);
    return strncmp(text, word, size) == 0 && !reader_is_letter(text[size]) && text[size] != '-' && text[size] != '=';
}

static bool is_ramp(const struct reader *reader)
{
    return reader_peek(reader) == '.' && reader->text[reader->at + 1] == '.';
}

static bool skip_word(struct reader *reader, const char *word)
{
    const size_t before = reader->at;
    reader_skip_spaces(reader);
    if (is_word(reader, word)) {
        reader->at += strlen(word);
        return true;
    }
    reader->at = before;
    return false;
}

static bool skip_ramp(struct reader *reader)
{
    const size_t before = reader->at;
    reader_skip_spaces(reader);
    if (is_ramp(reader)) {
        while (reader_peek(reader) == '.') reader->at++;
        return true;
    }
    reader->at = before;
    return false;
}

bool phases_begin(const struct reader *reader)
{
    struct reader ahead = *reader;
    if (is_ramp(reader)) return true;
    if (!skip_word(&ahead, "pause")) return false;
    skip_word(&ahead, "for");
    reader_skip_spaces(&ahead);
    return reader_is_digit(reader_peek(&ahead));
}

bool phases_may_ramp(const struct reader *reader)
{
    const char *text = reader->text + reader->at;
    while (*text != '\0' && (text[0] != '.' || text[1] != '.')) text++;
    return *text != '\0';
}

bool phases_follow(const struct reader *reader)
{
    return is_ramp(reader) || is_word(reader, "for") || is_word(reader, "then");
}

/* Two letters in the wrong order. */
static bool is_swapped(const char *name, const char *word, size_t size)
{
    size_t i = 0;
    while (i < size && name[i] == word[i]) i++;
    return size == strlen(name) && i + 1 < size && name[i] == word[i + 1] && name[i + 1] == word[i] &&
           strncmp(name + i + 2, word + i + 2, size - i - 2) == 0;
}

/* Or a letter more, less or another. */
static bool is_near(const char *name, const char *word, size_t size)
{
    size_t edits = 2;
    return words_is_nearer(name, word, size, &edits) || is_swapped(name, word, size);
}

bool phases_fail_near(struct reader *reader, size_t at, const char *word, size_t size)
{
    static const char *const ramps[] = {"to", "upto", "up", "till", "ramp"}, *const times[] = {"over", "during", "in"};
    if (reader_peek(reader) == '=' || reader->use != WEIR_PACE) return false;
    for (size_t i = 0; i < sizeof ramps / sizeof *ramps; i++) {
        if (!words_equal(ramps[i], word, size)) continue;
        return !reader_fail(reader, at, "a ramp is written with two dots; for example 100/s..1000/s for 30s");
    }
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (!words_equal(times[i], word, size)) continue;
        return !reader_fail(reader, at, "how long is written with for; for example 100/s for 30s");
    }
    if (!is_near("then", word, size) && !is_near("for", word, size)) return false;
    reader_fail_at_word(reader, at, WEIR_EINVAL, "unknown word \"", word, size, "\"; did you mean ");
    reader_append(reader, is_near("then", word, size) ? "then?" : "for?");
    return true;
}

/* ---- reading ---- */

static bool read_time(struct reader *reader, uint64_t *ns, const char *expected)
{
    struct decimal number;
    const char *start;
    reader_skip_spaces(reader);
    const size_t at = reader->at;
    if (!reader_number(reader, &number, expected)) return false;
    reader_skip_spaces(reader);
    const size_t word_at = reader->at, size = reader_word(reader, &start);
    const uint64_t unit_ns = words_find_period(start, size);
    if (words_equal("M", start, size)) {
        return reader_fail(reader, word_at, "M is a million; a minute is min; for example 100/s for 1min");
    }
    if (unit_ns == 0) return reader_fail(reader, size == 0 ? at : word_at, expected);
    if (!reader_whole(reader, at, number, unit_ns, ns, expected)) return false;
    return *ns != 0 ? true : reader_fail(reader, at, "a phase is longer than 0; for example 100/s for 30s");
}

/* Where the phase begins is noted, for errors that are found when it is compiled. */
static bool add(struct reader *reader, size_t at, struct phase phase)
{
    _Static_assert(PHASES_MAX == 28, "the message says so");
    struct limit *limit = reader->limit;
    if (limit->phases == PHASES_MAX) return reader_fail(reader, at, "a profile has at most 28 phases");
    reader->phase_at[limit->phases] = at;
    limit_phases(limit)[limit->phases++] = phase;
    return true;
}

static struct phase phase_of(const struct limit *limit, bool ramps)
{
    return (struct phase){.digits = limit->count.digits,
                          .places = limit->count.places,
                          .period_ns = limit->period_ns,
                          .lasts_ns = UINT64_MAX,
                          .ramps = ramps};
}

/* The unit is said for each rate, or for none. */
static bool read_rate(struct reader *reader)
{
    struct limit *limit = reader->limit;
    char unit[WEIR_UNIT_SIZE];
    reader_skip_spaces(reader);
    const size_t at = reader->at;
    memcpy(unit, limit->unit, sizeof unit);
    memset(limit->unit, 0, sizeof limit->unit);
    memcpy(limit->unit, "requests", sizeof "requests");
    reader->zero = true;
    if (!reader_rate(reader)) return false;
    if (!reader->rated || strcmp(unit, limit->unit) == 0) {
        reader->rated = true;
        return true;
    }
    return reader_fail_at_word(reader, at, WEIR_EINVAL, "all rates of a profile have one unit, here ", unit,
                               strlen(unit), "; for example 10 tokens/s for 1min then 20 tokens/s");
}

/* A rate, or two with a ramp between them, of which the first lasts for no time. */
static bool read_rates(struct reader *reader, size_t at, bool rate_is_read)
{
    const struct limit *limit = reader->limit;
    const bool from_before = !rate_is_read && skip_ramp(reader);
    if (!rate_is_read && !read_rate(reader)) return false;
    if (!reader_options(reader)) return false;
    if (from_before) return add(reader, at, phase_of(limit, true));
    if (!skip_ramp(reader)) {
        if (limit->count.digits == 0)
            return reader_fail(reader, at, "a rate is above 0; to stop for a while write pause 5s");
        return add(reader, at, phase_of(limit, false));
    }
    struct phase from = phase_of(limit, false);
    from.lasts_ns = 0;
    const bool from_nothing = from.digits == 0 && limit->phases == 0;
    if (!from_nothing && !add(reader, at, from)) return false;
    return read_rate(reader) && reader_options(reader) && add(reader, at, phase_of(limit, true));
}

static bool read_phase(struct reader *reader, bool rate_is_read)
{
    uint64_t ns = UINT64_MAX;
    reader_skip_spaces(reader);
    const size_t at = rate_is_read ? reader->value[OPTION_RATE] : reader->at;
    const bool pauses = !rate_is_read && skip_word(reader, "pause");
    const char *start, c = reader_peek(reader);
    if (pauses) {
        skip_word(reader, "for");
        if (!read_time(reader, &ns, "a pause needs a time; for example pause 5s then 100/s")) return false;
        return add(reader, at, (struct phase){.period_ns = 1, .lasts_ns = ns}) && reader_options(reader);
    }
    if (!rate_is_read && !reader_is_digit(c) && !is_ramp(reader)) {
        const size_t size = reader_word(reader, &start);
        return phases_fail_near(reader, at, start, size) ? false : reader_fail(reader, at, expected_phase);
    }
    if (!read_rates(reader, at, rate_is_read)) return false;
    struct phase *phase = &limit_phases(reader->limit)[reader->limit->phases - 1];
    if (!skip_word(reader, "for"))
        return !phase->ramps ? true : reader_fail(reader, at, "a ramp needs a time; for example ..1000/s for 30s");
    if (!read_time(reader, &ns, "expected a time behind for; for example 100/s for 30s")) return false;
    phase->lasts_ns = ns;
    return reader_options(reader);
}

/* Is the one more permits a time than the other? */
static bool is_faster(const struct phase *one, const struct limit *other)
{
    const struct limit said = {.count = {one->digits, one->places}, .period_ns = one->period_ns};
    uint64_t permits, period_ns, other_permits, other_period_ns;
    if (!limit_rate(&said, &permits, &period_ns)) return false;
    if (!limit_rate(other, &other_permits, &other_period_ns)) return true;
    return num128_less(num128_multiply(other_permits, period_ns), num128_multiply(permits, other_period_ns));
}

static bool use_highest(struct reader *reader)
{
    struct limit *limit = reader->limit;
    limit->count = (struct decimal){0, 0};
    for (unsigned i = 0; i < limit->phases; i++) {
        const struct phase *phase = &limit_phases(limit)[i];
        if (!is_faster(phase, limit)) continue;
        limit->count = (struct decimal){phase->digits, phase->places};
        limit->period_ns = phase->period_ns;
    }
    if (limit->count.digits != 0) return true;
    return reader_fail(reader, reader->phase_at[0], "a profile has a rate above 0; for example 100/s for 1min");
}

bool phases_read(struct reader *reader, bool rate_is_read)
{
    const size_t at = rate_is_read ? reader->at : reader->value[OPTION_ALGORITHM];
    if (reader->use != WEIR_PACE) {
        return reader_fail_at_word(reader, at, WEIR_EUNSUPPORTED,
                                   "a rate that changes with time paces one limiter (weir pace, weir explain --pace, "
                                   "WEIR_PACE in a program)",
                                   "", 0, "; here write one rate, for example 100/s");
    }
    if (reader->last_size != 0)
        return reader_fail(reader, at,
                           "a rate that changes with time is alone in its text; for example 100/s for 1min");
    reader->rated = rate_is_read;
    for (;;) {
        if (!read_phase(reader, rate_is_read)) return false;
        const struct phase *phase = &limit_phases(reader->limit)[reader->limit->phases - 1];
        const bool goes_on = phase->lasts_ns == UINT64_MAX;
        reader_skip_spaces(reader);
        const size_t then_at = reader->at;
        if (!skip_word(reader, "then")) break;
        if (goes_on)
            return reader_fail(reader, then_at,
                               "how long does the phase before this last? for example 100/s for 1min then 200/s");
        rate_is_read = false;
    }
    reader_skip_spaces(reader);
    const char c = reader_peek(reader);
    if (c == ';' || c == ',')
        return reader_fail(reader, reader->at, "phases are joined by then; for example 100/s for 1min then 200/s");
    if (c != '\0') return reader_fail(reader, reader->at, expected_phase);
    if (reader->nginx)
        return reader_fail(reader, at, "r/s is nginx's spelling, and no phase; for example 10/s for 1min");
    return use_highest(reader);
}

bool phases_check(struct reader *reader)
{
    static const char *const problems[] = {
        [PROFILE_TOO_LONG] = "the phases last over 146 years together; for example 100/s for 1h",
        [PROFILE_TOO_MANY] = "from here on these are more permits than can be counted exactly; choose a shorter time, "
                             "or rounder rates",
        [PROFILE_TOO_DIFFERENT] = "this rate has no common measure with those before that 64 bits hold; choose rounder "
                                  "rates, for example 100/s"};
    struct profile profile;
    size_t at;
    const enum profile_problem problem = profile_make(&profile, reader->limit, &at);
    return problem == PROFILE_FINE ? true : reader_fail(reader, reader->phase_at[at], problems[problem]);
}

/* ---- writing ---- */

static void write_rate(struct writer *writer, const struct limit *limit, const struct phase *phase)
{
    struct limit rate = {.count = {phase->digits, phase->places}, .period_ns = phase->period_ns};
    memcpy(rate.unit, limit->unit, sizeof rate.unit);
    text_write_rate(writer, &rate);
}

void phases_write_one(struct writer *writer, const struct limit *limit, unsigned index)
{
    const struct phase *phase = &limit_phases(limit)[index];
    const bool pauses = phase->digits == 0 && !phase->ramps && phase->lasts_ns != 0;
    if (pauses) write_text(writer, "pause ");
    else if (phase->ramps) write_text(writer, "..");
    if (!pauses) write_rate(writer, limit, phase);
    if (phase->lasts_ns == 0 || phase->lasts_ns == UINT64_MAX) return;
    if (!pauses) write_text(writer, " for ");
    write_time(writer, phase->lasts_ns);
}

void phases_write(struct writer *writer, const struct limit *limit)
{
    for (unsigned i = 0; i < limit->phases; i++) {
        if (i > 0 && limit_phases(limit)[i - 1].lasts_ns != 0) write_text(writer, " then ");
        phases_write_one(writer, limit, i);
    }
}
