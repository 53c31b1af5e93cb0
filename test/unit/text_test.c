/* SPDX-License-Identifier: MIT
   What people write, its canonical form, and the mistakes with their columns.

   Each spelling of the grammar and each example of the interface has a row; the canonical text is a fixed point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "plan/plan.h"
#include "plan/text.h"
#include "plan/option.h"
#include "plan/words.h"
#include "unit/random.h"

enum { TEXT_SIZE = 4096, RANDOM_LIMITS = 20000, RANDOM_TEXTS = 200000, GARBAGE_SIZE = 48 };

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* ---- reading and writing ---- */

struct reading {
    int count; /* or a negative code */
    struct limit limit[WEIR_LIMITS_MAX];
    weir_error error;
};

/* Compiles nothing, so that algorithms without code are read too. */
static struct reading read_text(const char *text, weir_use use)
{
    struct reading reading;
    memset(&reading, 0, sizeof reading);
    reading.count = text_read(text, use, reading.limit, NULL, &reading.error);
    return reading;
}

static void write_all(const struct reading *reading, char out[TEXT_SIZE])
{
    struct writer writer = {out, TEXT_SIZE, 0};
    write_text(&writer, "");
    for (int i = 0; i < reading->count; i++) {
        if (i > 0) write_text(&writer, "; ");
        text_write(&writer, &reading->limit[i]);
    }
    assert_true(writer.length < TEXT_SIZE);
    assert_int_equal(strlen(out), writer.length);
}

static bool same_decimal(struct decimal a, struct decimal b)
{
    return a.digits == b.digits && a.places == b.places;
}

/* Field by field: what lies between the fields means nothing. */
static bool same_limit(const struct limit *a, const struct limit *b)
{
    return same_decimal(a->count, b->count) && a->period_ns == b->period_ns && a->burst == b->burst &&
           same_decimal(a->factor, b->factor) && a->time_ns == b->time_ns && a->delay == b->delay &&
           a->debt == b->debt && same_decimal(a->strictness, b->strictness) && a->algorithm == b->algorithm &&
           a->burst_kind == b->burst_kind && a->pay == b->pay && a->align == b->align && a->edge == b->edge &&
           a->start == b->start && a->has_strictness == b->has_strictness && a->nodelay == b->nodelay &&
           a->count_refused == b->count_refused && a->shadow == b->shadow && a->guaranteed == b->guaranteed &&
           a->has_time == b->has_time && a->has_delay == b->has_delay && a->has_debt == b->has_debt &&
           memcmp(a->unit, b->unit, sizeof a->unit) == 0;
}

/* The canonical text of a reading says the same again, whatever it is used for. */
static void check_fixed_point(const char *text, const struct reading *reading)
{
    char canonical[TEXT_SIZE], again[TEXT_SIZE];
    write_all(reading, canonical);
    for (int use = WEIR_ADMIT; use <= WEIR_PACE; use++) {
        const struct reading back = read_text(canonical, (weir_use)use);
        if (back.count != reading->count) {
            fail_msg("\"%s\" -> \"%s\" -> %d: %s", text, canonical, back.count, back.error.message);
        }
        for (int i = 0; i < back.count; i++) {
            if (!same_limit(&back.limit[i], &reading->limit[i])) fail_msg("\"%s\" -> \"%s\" differs", text, canonical);
        }
        write_all(&back, again);
        assert_string_equal(again, canonical);
    }
}

/* What every refusal has, whatever it says. */
static void check_error(const char *text, int code, const weir_error *error)
{
    const size_t length = strnlen(error->message, sizeof error->message);
    if (code != WEIR_EINVAL && code != WEIR_EUNSUPPORTED) fail_msg("\"%s\": code %d", text, code);
    assert_int_equal(error->code, code);
    if (error->column < 1 || (size_t)error->column > strlen(text) + 1) {
        fail_msg("\"%s\": col %d", text, error->column);
    }
    if (length == 0 || length >= sizeof error->message - 1) fail_msg("\"%s\": message of %zu bytes", text, length);
    const char last = error->message[length - 1];
    if (last == '.' || last == '\n' || last == ' ') fail_msg("\"%s\": ends badly: %s", text, error->message);
}

/* ---- spellings ---- */

struct spelling {
    const char *text, *canonical;
};

static void check_spelling(const char *text, weir_use use, const char *canonical)
{
    char out[TEXT_SIZE];
    const struct reading reading = read_text(text, use);
    if (reading.count < 0) fail_msg("\"%s\": col %d: %s", text, reading.error.column, reading.error.message);
    write_all(&reading, out);
    if (strcmp(out, canonical) != 0) fail_msg("\"%s\" -> \"%s\", not \"%s\"", text, out, canonical);
    check_fixed_point(text, &reading);
}

static void check_spellings(const struct spelling rows[], size_t count, weir_use use)
{
    for (size_t i = 0; i < count; i++) check_spelling(rows[i].text, use, rows[i].canonical);
}

static void rates_to_admit(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"10/s", "10/s burst=10 algorithm=gcra"},
        {"100/s", "100/s burst=100 algorithm=gcra"},
        {"10/m", "10/min burst=10 algorithm=gcra"},
        {"3/h", "3/h burst=3 algorithm=gcra"},
        {"0.5/s", "0.5/s burst=1 algorithm=gcra"},
        {"1.5/s", "1.5/s burst=1 algorithm=gcra"},
        {"2.50/s", "2.5/s burst=2 algorithm=gcra"},
        {"10.000/s", "10/s burst=10 algorithm=gcra"},
        {"00010/s", "10/s burst=10 algorithm=gcra"},
        {"0.000000000000000001/s", "0.000000000000000001/s burst=1 algorithm=gcra"},
        {"500_000/day", "500000/d burst=500000 algorithm=gcra"},
        {"1_000_000.5/h", "1000000.5/h burst=1000000 algorithm=gcra"},
        {"18446744073709551609/year", "18446744073709551609/year burst=4294967296 algorithm=gcra"},
        {"60 requests/min", "60/min burst=60 algorithm=gcra"},
        {"1 request/min", "1/min burst=1 algorithm=gcra"},
        {"60requests/min", "60/min burst=60 algorithm=gcra"},
        {"10 per 2 hours", "10/2h burst=10 algorithm=gcra"},
        {"10 per hour", "10/h burst=10 algorithm=gcra"},
        {"10 requests per 2 hours", "10/2h burst=10 algorithm=gcra"},
        {"10 tokens per second", "10 tokens/s burst=10 algorithm=gcra"},
        {"10 / s", "10/s burst=10 algorithm=gcra"},
        {"10/ 2 s", "10/2s burst=10 algorithm=gcra"},
        {"10 tokens / 5 min", "10 tokens/5min burst=10 algorithm=gcra"},
        {"  10/s  ", "10/s burst=10 algorithm=gcra"},
        {"\t10/s\nburst=2\r", "10/s burst=2 algorithm=gcra"},
        {"1000000000000/s", "1000000000000/s burst=4294967296 algorithm=gcra"},
        {"none", "none"},
        {"unlimited", "unlimited"},
        {" none ", "none"},
    };
    check_spellings(rows, LENGTH(rows), WEIR_ADMIT);
}

static void counts_and_units(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"10k/s", "10000/s burst=10000 algorithm=gcra"},
        {"10K/s", "10000/s burst=10000 algorithm=gcra"},
        {"10M/s", "10000000/s burst=10000000 algorithm=gcra"},
        {"1G/s", "1000000000/s burst=1000000000 algorithm=gcra"},
        {"5G/h", "5000000000/h burst=4294967296 algorithm=gcra"},
        {"1Ki/s", "1024/s burst=1024 algorithm=gcra"},
        {"2Mi/s", "2097152/s burst=2097152 algorithm=gcra"},
        {"1Gi/s", "1073741824/s burst=1073741824 algorithm=gcra"},
        {"1.5k/s", "1500/s burst=1500 algorithm=gcra"},
        {"0.5Ki/s", "512/s burst=512 algorithm=gcra"},
        {"0.0005k/s", "0.5/s burst=1 algorithm=gcra"},
        {"100k tokens/min", "100000 tokens/min burst=100000 algorithm=gcra"},
        {"10k tokens/5h", "10000 tokens/5h burst=10000 algorithm=gcra"},
        {"10k requests/s", "10000/s burst=10000 algorithm=gcra"},
        {"10MiB/s", "10485760 bytes/s burst=10485760 algorithm=gcra"},
        {"10MB/s", "10000000 bytes/s burst=10000000 algorithm=gcra"},
        {"1250kB/s", "1250000 bytes/s burst=1250000 algorithm=gcra"},
        {"1KB/s", "1000 bytes/s burst=1000 algorithm=gcra"},
        {"1GB/s", "1000000000 bytes/s burst=1000000000 algorithm=gcra"},
        {"3KiB/s", "3072 bytes/s burst=3072 algorithm=gcra"},
        {"1GiB/s", "1073741824 bytes/s burst=1073741824 algorithm=gcra"},
        {"10B/s", "10 bytes/s burst=10 algorithm=gcra"},
        {"10 B/s", "10 bytes/s burst=10 algorithm=gcra"},
        {"10 bytes/s", "10 bytes/s burst=10 algorithm=gcra"},
        {"10 byte/s", "10 bytes/s burst=10 algorithm=gcra"},
        {"10tokens/s", "10 tokens/s burst=10 algorithm=gcra"},
        {"10 two-words/s", "10 two-words/s burst=10 algorithm=gcra"},
        {"10 abcdefghijklmnopqrstuvw/s", "10 abcdefghijklmnopqrstuvw/s burst=10 algorithm=gcra"},
    };
    check_spellings(rows, LENGTH(rows), WEIR_ADMIT);
}

static void periods(void **unused)
{
    (void)unused;
    static const struct spelling words[] = {
        {"ns", "ns"},     {"us", "us"},      {"ms", "ms"},        {"s", "s"},           {"sec", "s"},
        {"secs", "s"},    {"second", "s"},   {"seconds", "s"},    {"m", "min"},         {"min", "min"},
        {"mins", "min"},  {"minute", "min"}, {"minutes", "min"},  {"h", "h"},           {"hour", "h"},
        {"hours", "h"},   {"d", "d"},        {"day", "d"},        {"days", "d"},        {"w", "w"},
        {"week", "w"},    {"weeks", "w"},    {"year", "year"},    {"years", "year"},    {"1s", "s"},
        {"1000ms", "s"},  {"90s", "90s"},    {"60s", "min"},      {"3600s", "h"},       {"1.5h", "90min"},
        {"36h", "36h"},   {"48h", "2d"},     {"7d", "w"},         {"30d", "30d"},       {"365d", "year"},
        {"52w", "52w"},   {"0.5s", "500ms"}, {"1.5us", "1500ns"}, {"1_000 s", "1000s"}, {"2 hours", "2h"},
        {"0.001s", "ms"},
    };
    for (size_t i = 0; i < LENGTH(words); i++) {
        char text[64], canonical[64];
        snprintf(text, sizeof text, "7/%s", words[i].text);
        snprintf(canonical, sizeof canonical, "7/%s burst=7 algorithm=gcra", words[i].canonical);
        check_spelling(text, WEIR_ADMIT, canonical);
        snprintf(text, sizeof text, "7 per %s", words[i].text);
        check_spelling(text, WEIR_ADMIT, canonical);
    }
}

static void rates_to_pace(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"10/s", "10/s burst=2 catchup=1 algorithm=hybrid"},
        {"199/s", "199/s burst=2 catchup=1.1 algorithm=hybrid"},
        {"200/s", "200/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"200/s catchup=1", "200/s burst=10ms catchup=1 algorithm=hybrid"},
        {"200/s burst=1", "200/s burst=1 catchup=1 algorithm=hybrid"},
        {"1000000/s", "1000000/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"10/s algorithm=gcra", "10/s burst=10 algorithm=gcra"},
        {"10/s burst=7", "10/s burst=7 catchup=1 algorithm=hybrid"},
        {"10/s catchup=1.10", "10/s burst=2 catchup=1.1 algorithm=hybrid"},
        {"10 bytes/s", "10 bytes/s burst=2 catchup=1 algorithm=hybrid"},
        {"none", "none"},
        {"unlimited", "unlimited"},
    };
    check_spellings(rows, LENGTH(rows), WEIR_PACE);
}

/* The same meaning whatever they are used for. */
static void spellings_of_other_systems(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"12000,1.1", "12000/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"12000, 1.1", "12000/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"12_000,1.10", "12000/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"12000,1.1", "12000/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"12000,2", "12000/s burst=10ms catchup=2 algorithm=hybrid"},
        {"10,1", "10/s burst=2 catchup=1 algorithm=hybrid"},
        {"0.5,1.5 burst=3", "0.5/s burst=3 catchup=1.5 algorithm=hybrid"},
        {"12000 catchup=1.1", "12000/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"12000,1.1 algorithm=hybrid", "12000/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"10r/s", "10/s burst=1 algorithm=leaky"},
        {"10r/s burst=20", "10/s burst=21 algorithm=leaky"},
        {"10r/s burst=20 nodelay", "10/s burst=21 algorithm=leaky nodelay"},
        {"10r/s nodelay burst=20", "10/s burst=21 algorithm=leaky nodelay"},
        {"10r/s burst=0", "10/s burst=1 algorithm=leaky"},
        {"30r/m burst=12 delay=8", "30/min burst=13 algorithm=leaky delay=8"},
        {"10r/s algorithm=leaky", "10/s burst=1 algorithm=leaky"},
        {"10r/s algorithm=leaky-bucket burst=4", "10/s burst=5 algorithm=leaky"},
    };
    check_spellings(rows, LENGTH(rows), WEIR_ADMIT);
    check_spellings(rows, LENGTH(rows), WEIR_PACE);
}

static void lists(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"10/s,1000/h", "10/s burst=10 algorithm=gcra; 1000/h burst=1000 algorithm=gcra"},
        {"10/s;1000/h", "10/s burst=10 algorithm=gcra; 1000/h burst=1000 algorithm=gcra"},
        {"10/s ; 1000/h", "10/s burst=10 algorithm=gcra; 1000/h burst=1000 algorithm=gcra"},
        {"10/s burst=20; 1000/h", "10/s burst=20 algorithm=gcra; 1000/h burst=1000 algorithm=gcra"},
        {"10/s burst=20, 1000/h", "10/s burst=20 algorithm=gcra; 1000/h burst=1000 algorithm=gcra"},
        {"60 requests/min; 100k tokens/min",
         "60/min burst=60 algorithm=gcra; 100000 tokens/min burst=100000 algorithm=gcra"},
        {"12000,1.1,1000/h", "12000/s burst=10ms catchup=1.1 algorithm=hybrid; 1000/h burst=1000 algorithm=gcra"},
        {"12000,1.1;5/s", "12000/s burst=10ms catchup=1.1 algorithm=hybrid; 5/s burst=5 algorithm=gcra"},
        {"12000,1.1,5/s", "12000/s burst=10ms catchup=1.1 algorithm=hybrid; 5/s burst=5 algorithm=gcra"},
        {"12000,1.1,10 per 2 hours", "12000/s burst=10ms catchup=1.1 algorithm=hybrid; 10/2h burst=10 algorithm=gcra"},
        {"12000,1.1,10k/h", "12000/s burst=10ms catchup=1.1 algorithm=hybrid; 10000/h burst=10000 algorithm=gcra"},
        {"12000,1.1,10 tokens/min",
         "12000/s burst=10ms catchup=1.1 algorithm=hybrid; 10 tokens/min burst=10 algorithm=gcra"},
        {"none;unlimited", "none; unlimited"},
        {"10r/s burst=2;10/s burst=2", "10/s burst=3 algorithm=leaky; 10/s burst=2 algorithm=gcra"},
        {"1/s;2/s;3/s;4/s;5/s;6/s;7/s;8/s",
         "1/s burst=1 algorithm=gcra; 2/s burst=2 algorithm=gcra; 3/s burst=3 algorithm=gcra; "
         "4/s burst=4 algorithm=gcra; 5/s burst=5 algorithm=gcra; 6/s burst=6 algorithm=gcra; "
         "7/s burst=7 algorithm=gcra; 8/s burst=8 algorithm=gcra"},
    };
    check_spellings(rows, LENGTH(rows), WEIR_ADMIT);
}

static const struct spelling options_behind_10_s[] = {
    {"burst=20", "burst=20 algorithm=gcra"},
    {"burst=2k", "burst=2000 algorithm=gcra"},
    {"burst=1Ki", "burst=1024 algorithm=gcra"},
    {"burst=1M", "burst=1000000 algorithm=gcra"},
    {"burst=1m", "burst=1min algorithm=gcra"},
    {"burst=1.5k", "burst=1500 algorithm=gcra"},
    {"burst=2s", "burst=2s algorithm=gcra"},
    {"burst=1.5s", "burst=1500ms algorithm=gcra"},
    {"burst=90s", "burst=90s algorithm=gcra"},
    {"burst=18446744073709551609", "burst=18446744073709551609 algorithm=gcra"},
    {"burst=18446744073.70955161s", "burst=18446744073709551610ns algorithm=gcra"},
    {"algorithm=gcra", "burst=10 algorithm=gcra"},
    {"algorithm=token-bucket", "burst=10 algorithm=gcra"},
    {"algorithm=hybrid", "burst=2 catchup=1 algorithm=hybrid"},
    {"catchup=1.1", "burst=2 catchup=1.1 algorithm=hybrid"},
    {"algorithm=timeline", "strictness=0 algorithm=timeline"},
    {"algorithm=timeline catchup=1.5", "catchup=1.5 algorithm=timeline"},
    {"strictness=0.5", "strictness=0.5 algorithm=timeline"},
    {"strictness=0", "strictness=0 algorithm=timeline"},
    {"strictness=1", "strictness=1 algorithm=timeline"},
    {"algorithm=bursty", "burst=1s algorithm=bursty pay=next start=empty"},
    {"pay=self", "burst=1s algorithm=bursty pay=self start=empty"},
    {"pay=next", "burst=1s algorithm=bursty pay=next start=empty"},
    {"warmup=10s", "cold=3 algorithm=warmup warmup=10s pay=next start=full"},
    {"cold=2.5 warmup=1min", "cold=2.5 algorithm=warmup warmup=1min pay=next start=full"},
    {"warmup=10s pay=self start=empty", "cold=3 algorithm=warmup warmup=10s pay=self start=empty"},
    {"algorithm=leaky", "burst=10 algorithm=leaky"},
    {"algorithm=leaky-bucket", "burst=10 algorithm=leaky"},
    {"delay=5", "burst=10 algorithm=leaky delay=5"},
    {"nodelay", "burst=10 algorithm=leaky nodelay"},
    {"algorithm=cycle", "algorithm=cycle align=first"},
    {"algorithm=cycle align=clock debt=3", "algorithm=cycle debt=3 align=clock"},
    {"algorithm=fixed-window", "algorithm=fixed-window align=first"},
    {"align=clock", "algorithm=fixed-window align=clock"},
    {"align=first", "algorithm=fixed-window align=first"},
    {"block=10min", "algorithm=fixed-window block=10min align=first count-refused"},
    {"algorithm=sliding-window", "algorithm=sliding-window"},
    {"algorithm=sliding-log", "algorithm=sliding-log edge=open"},
    {"gap=100ms", "algorithm=sliding-log gap=100ms edge=open"},
    {"gap=0s", "algorithm=sliding-log gap=0ns edge=open"},
    {"edge=open", "algorithm=sliding-log edge=open"},
    {"edge=closed", "algorithm=sliding-log edge=closed"},
    {"count-refused", "algorithm=sliding-log edge=open count-refused"},
    {"count-refused algorithm=fixed-window", "algorithm=fixed-window align=first count-refused"},
    {"start=full", "burst=10 algorithm=gcra start=full"},
    {"start=empty", "burst=10 algorithm=gcra start=empty"},
    {"debt=1k", "burst=10 algorithm=gcra debt=1000"},
    {"debt=0", "burst=10 algorithm=gcra debt=0"},
    {"shadow", "burst=10 algorithm=gcra shadow"},
    {"shadow edge=open gap=1s count-refused", "algorithm=sliding-log gap=1s edge=open count-refused shadow"},
};

static void options(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(options_behind_10_s); i++) {
        char text[128], canonical[160];
        snprintf(text, sizeof text, "10/s %s", options_behind_10_s[i].text);
        snprintf(canonical, sizeof canonical, "10/s %s", options_behind_10_s[i].canonical);
        check_spelling(text, WEIR_ADMIT, canonical);
    }
}

/* Two options that are both allowed are both kept, or refused together. */
static void no_option_is_lost(void **unused)
{
    (void)unused;
    static const char *const rows[][3] = {
        {"10/s algorithm=leaky delay=5 debt=10", "delay=5", "debt=10"},
        {"10/s algorithm=leaky debt=10 delay=5", "delay=5", "debt=10"},
        {"10/s algorithm=timeline strictness=0.5 catchup=1.1", "strictness=0.5", "catchup=1.1"},
        {"10/s algorithm=timeline catchup=1.1 strictness=0.5", "strictness=0.5", "catchup=1.1"},
    };
    int lost = 0;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char out[TEXT_SIZE];
        const struct reading reading = read_text(rows[i][0], WEIR_ADMIT);
        if (reading.count < 0) continue;
        write_all(&reading, out);
        if (strstr(out, rows[i][1]) != NULL && strstr(out, rows[i][2]) != NULL) continue;
        print_error("\"%s\" was read as \"%s\"\n", rows[i][0], out);
        lost++;
    }
    assert_int_equal(lost, 0);
}

/* ---- the canonical text is a fixed point ---- */

static struct decimal random_decimal(uint64_t *seed, unsigned bits, uint32_t places_max)
{
    struct decimal number = {random_positive(seed, bits), (uint32_t)random_below(seed, places_max + 1)};
    while (number.places > 0 && number.digits % 10 == 0) {
        number.digits /= 10;
        number.places--;
    }
    return number;
}

static void random_unit(uint64_t *seed, char unit[WEIR_UNIT_SIZE])
{
    static const char *const words[] = {"requests", "tokens", "bytes", "two-words", "QQ", "abcdefghijklmnopqrstuvw"};
    memset(unit, 0, WEIR_UNIT_SIZE);
    const char *chosen = words[random_below(seed, LENGTH(words))];
    memcpy(unit, chosen, strlen(chosen));
}

static bool chance_of(uint64_t *seed, int option, const struct limit *limit, uint64_t n)
{
    return option_fits(option, limit->algorithm) && random_one_in(seed, n);
}

static void random_options(uint64_t *seed, struct limit *limit)
{
    const bool factor = option_fits(OPTION_CATCHUP, limit->algorithm) || option_fits(OPTION_COLD, limit->algorithm);
    const bool time = option_fits(OPTION_WARMUP, limit->algorithm) || option_fits(OPTION_GAP, limit->algorithm) ||
                      option_fits(OPTION_BLOCK, limit->algorithm);
    if (factor && random_one_in(seed, 2)) limit->factor = random_decimal(seed, 60, 18);
    limit->guaranteed = chance_of(seed, OPTION_GUARANTEED, limit, 4);
    limit->has_strictness = chance_of(seed, OPTION_STRICTNESS, limit, 2);
    if (limit->has_strictness) limit->strictness = (struct decimal){random_below(seed, 10), 1};
    if (limit->strictness.digits == 0) limit->strictness.places = 0;
    limit->has_time = time && random_one_in(seed, 2);
    if (limit->has_time) limit->time_ns = random_sized(seed, 64);
    limit->has_delay = chance_of(seed, OPTION_DELAY, limit, 3);
    if (limit->has_delay) limit->delay = random_sized(seed, 64);
    if (chance_of(seed, OPTION_WEIGHT, limit, 3)) {
        limit->has_weight = true;
        limit->weight = random_sized(seed, 64);
    }
    limit->has_debt = chance_of(seed, OPTION_DEBT, limit, 3);
    if (limit->has_debt) limit->debt = random_sized(seed, 64);
    limit->nodelay = chance_of(seed, OPTION_NODELAY, limit, 2);
    limit->count_refused = chance_of(seed, OPTION_COUNT_REFUSED, limit, 2);
    limit->shadow = random_one_in(seed, 4);
    if (option_fits(OPTION_PAY, limit->algorithm)) limit->pay = (uint8_t)random_below(seed, 3);
    if (option_fits(OPTION_ALIGN, limit->algorithm)) limit->align = (uint8_t)random_below(seed, 3);
    if (option_fits(OPTION_EDGE, limit->algorithm)) limit->edge = (uint8_t)random_below(seed, 3);
    if (option_fits(OPTION_START, limit->algorithm)) limit->start = (uint8_t)random_below(seed, 3);
    if (option_fits(OPTION_BURST, limit->algorithm)) {
        limit->burst_kind = random_one_in(seed, 2) ? AMOUNT_COUNT : AMOUNT_TIME;
        limit->burst = random_sized(seed, 64);
    }
}

static struct limit random_limit(uint64_t *seed, bool may_hold)
{
    struct limit limit = {.count = random_decimal(seed, 64, 18), .period_ns = random_positive(seed, 64)};
    random_unit(seed, limit.unit);
    do limit.algorithm = (uint8_t)(1 + random_below(seed, ALGORITHM_NAMES - 1));
    while (!algorithm_has_rate(limit.algorithm) || (limit.algorithm == ALGORITHM_CONCURRENT && !may_hold));
    random_options(seed, &limit);
    if (limit.algorithm == ALGORITHM_CONCURRENT) {
        limit.count = (struct decimal){1 + random_below(seed, 65536), 0};
        limit.has_time = true;
        limit.time_ns = 1 + random_positive(seed, 63) / 2;
    }
    struct rule rule;
    limit_compile(&limit, &rule);
    return limit;
}

/* Rules in the files of tables hold them. */
static void algorithms_keep_their_numbers(void **unused)
{
    (void)unused;
    static const char *const names[] = {
        NULL,        "gcra",  "hybrid", "unlimited",    "none",           "timeline",    "bursty",
        "warmup",    "leaky", "cycle",  "fixed-window", "sliding-window", "sliding-log", NULL /* was simrate */,
        "concurrent"};
    for (unsigned i = 0; i < LENGTH(names); i++) {
        const struct algorithm *row = algorithm_named(i);
        if (names[i] == NULL) assert_null(row);
        else assert_string_equal(row->name, names[i]);
    }
}

static void random_limits_are_read_back(void **unused)
{
    (void)unused;
    uint64_t seed = UINT64_C(20240617);
    printf("seed %ju\n", (uintmax_t)seed);
    for (int i = 0; i < RANDOM_LIMITS; i++) {
        struct reading made = {.count = 1 + (int)random_below(&seed, WEIR_LIMITS_MAX)};
        for (int j = 0; j < made.count; j++) made.limit[j] = random_limit(&seed, j == 0);
        check_fixed_point("(made)", &made);
    }
}

static void canonical_ends_of_the_range(void **unused)
{
    (void)unused;
    struct reading made = {.count = 1};
    made.limit[0] = (struct limit){
        .count = {UINT64_MAX, 0},
        .period_ns = UINT64_MAX,
        .algorithm = ALGORITHM_GCRA,
        .burst_kind = AMOUNT_COUNT,
        .burst = UINT64_MAX,
        .has_debt = true,
        .debt = UINT64_MAX,
        .unit = "requests",
    };
    check_fixed_point("(largest)", &made);
    made.limit[0].count = (struct decimal){1, 18};
    made.limit[0].period_ns = 1;
    made.limit[0].burst = 0;
    made.limit[0].burst_kind = AMOUNT_TIME;
    check_fixed_point("(smallest)", &made);
}

/* A text from pieces of the grammar, some of them in the wrong place. */
static void random_text(uint64_t *seed, char text[TEXT_SIZE])
{
    static const char *const pieces[] = {
        "10",
        "0",
        "1.5",
        "12000,1.1",
        "/s",
        "/2h",
        " per ",
        "min",
        "r/s",
        "k",
        "Mi",
        "MB",
        " tokens",
        "burst",
        "per",
        ";",
        ",",
        " ",
        "10/s",
        "5/min",
        " burst=",
        "20",
        "2s",
        "none",
        "-",
        "shadow",
        " catchup=1.1",
        " debt=3",
        " delay=2",
        " start=full",
        " nodelay",
        " strictness=0.5",
        "concurrent",
        "unlimited",
        " algorithm=",
        "gcra",
        "timeline",
        "leaky",
        "hybrid",
        "=",
        "B",
        "_",
        ".",
        "request",
        "\t",
    };
    text[0] = '\0';
    for (uint64_t i = 1 + random_below(seed, 6); i > 0; i--) strcat(text, pieces[random_below(seed, LENGTH(pieces))]);
}

static void random_texts_are_read_or_refused(void **unused)
{
    (void)unused;
    uint64_t seed = UINT64_C(20240619);
    printf("seed %ju\n", (uintmax_t)seed);
    int read = 0;
    for (int i = 0; i < RANDOM_TEXTS; i++) {
        char text[TEXT_SIZE];
        random_text(&seed, text);
        const struct reading reading = read_text(text, WEIR_ADMIT);
        if (reading.count > 0) check_fixed_point(text, &reading);
        else check_error(text, reading.count, &reading.error);
        read += reading.count > 0;
    }
    assert_true(read > RANDOM_TEXTS / 50);
}

/* In memory that ends behind the NUL, so that a sanitizer sees who reads on. */
static void garbage_is_refused(void **unused)
{
    (void)unused;
    uint64_t seed = UINT64_C(20240621);
    printf("seed %ju\n", (uintmax_t)seed);
    for (int i = 0; i < RANDOM_TEXTS; i++) {
        const size_t size = (size_t)random_below(&seed, GARBAGE_SIZE);
        char *text = malloc(size + 1);
        assert_non_null(text);
        for (size_t j = 0; j < size; j++) text[j] = (char)(1 + random_below(&seed, 255));
        if (size > 4 && random_one_in(&seed, 2)) memcpy(text, "10/s ", 5);
        text[size] = '\0';
        const struct reading reading = read_text(text, WEIR_ADMIT);
        if (reading.count <= 0) check_error(text, reading.count, &reading.error);
        free(text);
    }
}

/* ---- mistakes ---- */

struct mistake {
    const char *text;
    int column;
    const char *expectation; /* "" or words that the message must have */
    const char *example;
};

/* Says what is wrong with a row, or nothing. */
static bool is_mistaken(const struct mistake *row, weir_use use, int code)
{
    static weir_plan plan;
    weir_error error;
    const int got = weir_plan_parse(&plan, row->text, use, &error);
    if (got == 0) {
        char canonical[TEXT_SIZE];
        weir_plan_text(&plan, canonical, sizeof canonical);
        print_error("\"%s\" was read as \"%s\"\n", row->text, canonical);
        return false;
    }
    check_error(row->text, got, &error);
    if (got == code && error.column == row->column && strstr(error.message, row->expectation) != NULL &&
        strstr(error.message, row->example) != NULL) {
        return true;
    }
    print_error("\"%s\": code %d, col %d: %s\n    expected code %d, col %d: %s, %s\n", row->text, got, error.column,
                error.message, code, row->column, row->expectation, row->example);
    return false;
}

static void check_mistakes(const struct mistake rows[], size_t count, weir_use use, int code)
{
    int wrong = 0;
    for (size_t i = 0; i < count; i++) wrong += !is_mistaken(&rows[i], use, code);
    assert_int_equal(wrong, 0);
}

/* Word for word what the interface shows. */
static void mistakes_of_the_interface(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"10/", 4, "expected a period: s, min, h, d, w; for example 10/s", ""},
        {"100/sec burst=0", 15, "burst is at least 1, or nothing could ever pass; for example burst=1", ""},
        {"10/M", 4, "M is a million; a minute is min; for example 10/min", ""},
        {"5/month", 3, "a month has 28 to 31 days; write 5/30d", ""},
        {"1,500/s", 2, "a number has no commas; write 1500/s, or for two limits a \";\" between them", ""},
        {"1,500,000 bytes/s", 2, "a number has no commas; write 1500000, or for two limits a \";\" between them", ""},
        {"12,000", 3, "a number has no commas; write 12000, or for two limits a \";\" between them", ""},
        {"10mb/s", 3, "bits or bytes? write 10MB/s for bytes, 1250kB/s for ten megabits", ""},
        {"10 Mbit/s", 4, "bits or bytes? write 10MB/s for bytes, 1250kB/s for ten megabits", ""},
        {"10kib/s", 3, "expected KiB, MiB or GiB; for example 10KiB/s", ""},
        {"10kB", 3, "unknown word \"kB\"", ""},
        {"100rsp", 4, "unknown word \"rsp\"; did you mean rps?", ""},
        {"10/s algorithm=leaky_bucket", 16, "unknown algorithm \"leaky_bucket\"; did you mean leaky-bucket?", ""},
        {"10/s algorithm=slidng-window", 16, "unknown algorithm \"slidng-window\"; did you mean sliding-window?", ""},
        {"10/s 1000/h", 6, "expected an option or \";\" ; two limits are joined by \";\": 10/s; 1000/h", ""},
        {"0/s", 1, "a rate is above 0; to stop everything write none", ""},
        {"10/s strictness=1.1", 17, "strictness is 0 to 1; to run faster while behind write catchup=1.1", ""},
        {"10Mb/s", 3, "bits or bytes? write 10MB/s for bytes, 1250kB/s for ten megabits", ""},
        {"10/s burst=1e9/s", 12, "expected a count or a time; for example burst=20 or burst=2s", ""},
        {"5 concurrent", 1, "how long may one run that never says it ended? write lease=TIME",
         "20 concurrent lease=30s"},
        {"5concurrent/s", 12, "so many at once, or so many in a period?", "20 concurrent lease=30s"},
        {"5 concurrent per s", 18, "so many at once, or so many in a period?", "20 concurrent lease=30s"},
        {"20/s lease=30s", 6, "lease does not belong to algorithm", "it goes with concurrent"},
        {"20 concurrent lease=0s", 21, "a lease is longer than 0", "lease=30s"},
        {"1.5 concurrent lease=1s", 1, "expected a whole number up to 65536", "20 concurrent lease=30s"},
        {"65537 concurrent lease=1s", 1, "expected a whole number up to 65536", "20 concurrent lease=30s"},
        {"9 concurrent lease=1s; 5 concurrent lease=2s", 24, "at most one limit of a text is concurrent", ""},
        {"60/min; 9 concurent", 11, "unknown word \"concurent\"; did you mean concurrent?", ""},
    };
    check_mistakes(rows, LENGTH(rows), WEIR_ADMIT, WEIR_EINVAL);
    check_mistakes(rows, LENGTH(rows), WEIR_PACE, WEIR_EINVAL);
}

static const char a_rate[] = "expected a rate", a_period[] = "expected a period", a_limit_s[] = "for example 10/s";
static const char a_count_or_time[] = "expected a count or a time", long_number[] = "64 bits";

static void mistakes_in_the_rate(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"", 1, a_rate, a_limit_s},
        {"   ", 4, a_rate, a_limit_s},
        {";", 1, a_rate, a_limit_s},
        {",", 1, a_rate, a_limit_s},
        {"/s", 1, a_rate, a_limit_s},
        {"per s", 1, a_rate, a_limit_s},
        {"-5/s", 1, a_rate, a_limit_s},
        {"+5/s", 1, a_rate, a_limit_s},
        {".5/s", 1, a_rate, a_limit_s},
        {"NaN/s", 1, a_rate, a_limit_s},
        {"nan", 1, a_rate, a_limit_s},
        {"inf/s", 1, a_rate, a_limit_s},
        {"infinity", 1, a_rate, a_limit_s},
        {"nonesuch", 1, a_rate, a_limit_s},
        {"burst=20", 1, a_rate, a_limit_s},
        {"\x01\xff\xfe", 1, a_rate, a_limit_s},
        {"\xc2\xb5/s", 1, a_rate, a_limit_s},
        {"000/s", 1, "a rate is above 0", "none"},
        {"0.000/s", 1, "a rate is above 0", "none"},
        {"0r/s", 1, "a rate is above 0", "none"},
        {"0", 1, "a rate is above 0", "none"},
        {"10/s;", 6, a_rate, a_limit_s},
        {"10/s; ", 7, a_rate, a_limit_s},
        {"10/s;;5/s", 6, a_rate, a_limit_s},
        {"10/s,", 6, a_rate, a_limit_s},
        {"18446744073709551616/s", 1, long_number, ""},
        {"99999999999999999999/s", 1, long_number, ""},
        {"1.0000000000000000001/s", 1, long_number, ""},
        {"18446744073709552k/s", 18, long_number, ""},
        {"1000000000001/s", 1, "over 10^12 a second", ""},
        {"1001/ns", 1, "over 10^12 a second", ""},
        {"0.000000000000000001/year", 1, long_number, "rounder rate"},
        {"10rpm", 3, "rpm", "write 10/min"},
        {"10rps burst=5", 3, "rps", "write 10/s"},
        {"10tokens", 3, "tokens", a_limit_s},
        {"10 tokens", 4, "unknown word \"tokens\"", a_limit_s},
        {"10 pr second", 7, "unknown word \"second\"", "expected a slash and a period"},
        {"1e9/s", 2, "no exponent", "write 1000000000/s"},
        {"10 s", 4, "\"s\" is a period", "10/s"},
        {"10s/s", 3, "\"s\" is a period", "10 requests/s"},
        {"10 hours/s", 4, "\"hours\" is a period", "10 requests/s"},
        {"10 r/s", 4, "expected a unit or a slash", "10/s"},
        {"10r/h", 5, "r/s and r/m only", "10r/s"},
        {"10r/", 5, "r/s and r/m only", "10r/s"},
        {"10kb/s", 3, "bits or bytes?", "10MB/s"},
        {"10 abcdefghijklmnopqrstuvwx/s", 4, "23 letters", ""},
        {"10burst/s", 8, "expected \"=\"", ""},
        {"10per/s", 6, "expected a period", "10/s"},
        {"10MB foo/s", 6, "", ""},
        {"10tokens bytes/s", 10, "", ""},
        {"10#/s", 3, "expected an option", ""},
    };
    check_mistakes(rows, LENGTH(rows), WEIR_ADMIT, WEIR_EINVAL);
    check_mistakes(rows, LENGTH(rows), WEIR_PACE, WEIR_EINVAL);
}

static void mistakes_in_the_period(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"10/0s", 5, "longer than 0", a_limit_s},
        {"10 per 0 hours", 10, "longer than 0", a_limit_s},
        {"10/0.5ns", 7, "whole number of ns", ""},
        {"10/-1s", 4, a_period, a_limit_s},
        {"10//s", 4, a_period, a_limit_s},
        {"10 per", 7, a_period, a_limit_s},
        {"10/2", 5, a_period, a_limit_s},
        {"10/S", 4, a_period, a_limit_s},
        {"10/fortnight", 4, a_period, a_limit_s},
        {"10/ss", 4, a_period, a_limit_s},
        {"10/2M", 5, "M is a million", "10/min"},
        {"10/2 months", 6, "28 to 31 days", "10/60d"},
        {"10/s.", 5, "expected an option", ""},
        {"10/1000year", 8, long_number, ""},
        {"10/99999999999999999999s", 4, long_number, ""},
        {"10/; 5/s", 4, a_period, a_limit_s},
        {"5/s; 10/", 9, a_period, a_limit_s},
    };
    check_mistakes(rows, LENGTH(rows), WEIR_ADMIT, WEIR_EINVAL);
    check_mistakes(rows, LENGTH(rows), WEIR_PACE, WEIR_EINVAL);
}

static void mistakes_in_the_burst(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"10/s burst=", 12, a_count_or_time, "burst=20 or burst=2s"},
        {"10/s burst= 20", 12, a_count_or_time, "burst=20 or burst=2s"},
        {"10/s burst=-1", 12, a_count_or_time, "burst=20 or burst=2s"},
        {"10/s burst=x", 12, a_count_or_time, "burst=20 or burst=2s"},
        {"10/s burst=2.5", 12, a_count_or_time, "burst=20 or burst=2s"},
        {"10/s burst=5x", 12, a_count_or_time, "burst=20 or burst=2s"},
        {"10/s burst=20nodelay", 12, a_count_or_time, "burst=20 or burst=2s"},
        {"10/s burst=0.5ns", 12, a_count_or_time, "burst=20 or burst=2s"},
        {"10/s burst=99999999999999999999", 12, long_number, ""},
        {"10/s burst=99999999999G", 12, long_number, ""},
        {"10/s burst=18446744073709551609", 12, "300 years", "smaller burst"},
        {"1/year burst=5000", 14, "300 years", "smaller burst"},
        {"10/s burst=0s", 12, "burst is at least 1", "burst=1"},
        {"10/s burst=99ms", 12, "burst is at least 1", "burst=1"},
        {"1/h burst=1min", 11, "burst is at least 1", "burst=1"},
        {"5/s; 10/s burst=0", 17, "burst is at least 1", "burst=1"},
        {"10/s burst", 11, "expected \"=\" and a value after burst", ""},
        {"10/s burst =20", 11, "expected \"=\" and a value after burst", ""},
        {"10/s burst=20 burst=20", 15, "burst is given twice", ""},
    };
    check_mistakes(rows, LENGTH(rows), WEIR_ADMIT, WEIR_EINVAL);
    check_mistakes(rows, LENGTH(rows), WEIR_PACE, WEIR_EINVAL);
}

static void mistakes_in_the_options(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"10/s brust=20", 6, "unknown word \"brust\"", "did you mean burst?"},
        {"10/s bursts=20", 6, "unknown word \"bursts\"", "did you mean burst?"},
        {"10/s algoritm=gcra", 6, "unknown word \"algoritm\"", "did you mean algorithm?"},
        {"10/s Burst=20", 6, "unknown word \"Burst\"", "did you mean burst?"},
        {"10/s gcrb", 6, "unknown word \"gcrb\"", "did you mean gcra?"},
        {"10/s nodelays", 6, "unknown word \"nodelays\"", "did you mean nodelay?"},
        {"10/s zzzzzz=1", 6, "unknown word \"zzzzzz\"", "10/s burst=20"},
        {"10/s aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee", 6, "unknown word \"aaaaaaaaaa", "burst=20"},
        {"10/s =20", 6, "expected an option", "10/s; 1000/h"},
        {"10/s -burst=20", 6, "expected an option", "10/s; 1000/h"},
        {"10/s\x01", 5, "expected an option", "10/s; 1000/h"},
        {"10/s nodelay=1", 13, "expected a space, \";\" or the end", ""},
        {"10/s shadow shadow", 13, "shadow is given twice", ""},
        {"10/s algorithm=", 16, "unknown algorithm", "gcra"},
        {"10/s algorithm=gcrx", 16, "unknown algorithm \"gcrx\"", "did you mean gcra?"},
        {"10/s algorithm=simrate", 16, "simrate was nosqlbench's present limiter, kept for comparison only",
         "write algorithm=hybrid"},
        {"10/s algorithm=none", 16, "unknown algorithm \"none\"", "expected gcra, hybrid"},
        {"10/s algorithm=none", 16, "unknown algorithm \"none\"", "sliding-log or concurrent"},
        {"10/s algorithm=gcra2", 20, "expected a space", ""},
        {"10/s algorithm=gcra algorithm=gcra", 21, "algorithm is given twice", ""},
        {"10/s catchup=0", 14, "catchup is 1 or more", "1.1"},
        {"10/s catchup=0.9", 14, "catchup is 1 or more", "1.1"},
        {"12000,0.5", 7, "catchup is 1 or more", "12000/s strictness=0.5"},
        {"12000,0", 7, "catchup is 1 or more", "12000/s strictness=0"},
        {"12000,1.1 catchup=1.2", 11, "catchup is given twice", ""},
        {"10/s catchup=1001", 14, "catchup is at most 1000", ""},
        {"10/s catchup=", 14, "expected a number from 1", "catchup=1.1"},
        {"10/s catchup=1.1x", 14, "expected a number from 1", "catchup=1.1"},
        {"10/s catchup=1.1 algorithm=gcra", 6, "does not belong to algorithm=gcra", ""},
        {"10/s nodelay algorithm=hybrid", 6, "does not belong to algorithm=hybrid", ""},
        {"10/s delay=3 gap=1s", 14, "does not belong to algorithm=leaky", ""},
        {"10r/s algorithm=gcra", 17, "leaky", "write it as 10/s"},
        {"12000 algorithm=gcra", 17, "hybrid", "write it as 10/s"},
        {"12000,1.1 algorithm=timeline", 21, "hybrid", "write it as 10/s"},
        {"10/s strictness=", 17, "expected a number from 0 to 1", "strictness=0.5"},
        {"10/s strictness=0.5 catchup=1.1", 6, "does not belong to algorithm=hybrid", ""},
        {"10/s catchup=1.1 strictness=0.5", 18, "does not belong to algorithm=hybrid", ""},
        {"10/s delay=1s", 12, "expected a count", "delay=5"},
        {"10/s debt=x", 11, "expected a count", "debt=1000"},
        {"10/s warmup=10", 13, "expected a time", "warmup=10s"},
        {"10/s gap=fast", 10, "expected a time", "gap=100ms"},
        {"10/s block=3", 12, "expected a time", "block=1min"},
        {"10/s pay=me", 10, "pay=self or pay=next", ""},
        {"10/s align=left", 12, "align=clock or align=first", ""},
        {"10/s edge=", 11, "edge=open or edge=closed", ""},
        {"10/s start=half", 12, "start=full or start=empty", ""},
        {"none burst=5", 6, "burst does not belong to algorithm=none", ""},
        {"unlimited unlimited", 11, "unknown word \"unlimited\"", ""},
        {"none!", 5, "expected", ""},
        {"10/s,1.1", 6, "", ""},
        {"1/s;2/s;3/s;4/s;5/s;6/s;7/s;8/s;9/s", 33, "at most 8 limits", ""},
        {"1/s;2/s;3/s;4/s;5/s;6/s;7/s;8/s;", 33, "at most 8 limits", ""},
    };
    check_mistakes(rows, LENGTH(rows), WEIR_ADMIT, WEIR_EINVAL);
    check_mistakes(rows, LENGTH(rows), WEIR_PACE, WEIR_EINVAL);
}

static void known_but_not_built(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"10/s shadow", 6, "shadow is no option of a limit's text; in weir.yaml write shadow: true beside the limit",
         ""},
    };
    check_mistakes(rows, LENGTH(rows), WEIR_ADMIT, WEIR_EUNSUPPORTED);
    check_mistakes(rows, LENGTH(rows), WEIR_PACE, WEIR_EUNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_to_admit),
        cmocka_unit_test(counts_and_units),
        cmocka_unit_test(periods),
        cmocka_unit_test(rates_to_pace),
        cmocka_unit_test(spellings_of_other_systems),
        cmocka_unit_test(lists),
        cmocka_unit_test(options),
        cmocka_unit_test(no_option_is_lost),
        cmocka_unit_test(algorithms_keep_their_numbers),
        cmocka_unit_test(random_limits_are_read_back),
        cmocka_unit_test(canonical_ends_of_the_range),
        cmocka_unit_test(random_texts_are_read_or_refused),
        cmocka_unit_test(garbage_is_refused),
        cmocka_unit_test(mistakes_of_the_interface),
        cmocka_unit_test(mistakes_in_the_rate),
        cmocka_unit_test(mistakes_in_the_period),
        cmocka_unit_test(mistakes_in_the_burst),
        cmocka_unit_test(mistakes_in_the_options),
        cmocka_unit_test(known_but_not_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
