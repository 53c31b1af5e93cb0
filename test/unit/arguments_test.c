/* SPDX-License-Identifier: MIT
   Every bad argument of every algorithm is refused by name.

   What the options and the algorithms are comes from their tables, so a new row of either is tested, or fails here.

   Code, column and message are exact; what is refused leaves the plan alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/stamps.h"
#include "plan/plan.h"
#include "plan/option.h"
#include "plan/words.h"
#include "size.h"
#include "unit/skip.h"
#include "unit/memory_limit.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

enum { TEXT_SIZE = 2048 };

/* ---- refusing ---- */

/* Of the algorithms with a rate; `warmup` has to say for how long. */
static const char *in_words(int algorithm)
{
    return algorithm == ALGORITHM_WARMUP ? "warmup warmup=10s" : words_algorithm_name(algorithm);
}

static bool is_rated(int algorithm)
{
    return algorithm_has_rate((unsigned)algorithm) && algorithm != ALGORITHM_CONCURRENT;
}

static void refuses(const char *text, int code, int column, const char *message)
{
    weir_plan plan, untouched;
    weir_error error;
    memset(&plan, 0x5a, sizeof plan);
    untouched = plan;
    for (int use = WEIR_ADMIT; use <= WEIR_PACE; use++) {
        const int got = weir_plan_parse(&plan, text, (weir_use)use, &error);
        if (got == code && error.code == code && error.column == column && strcmp(error.message, message) == 0)
            continue;
        fail_msg("\"%s\": code %d, column %d: %s", text, got, got == 0 ? 0 : error.column,
                 got == 0 ? "" : error.message);
    }
    assert_int_equal(weir_plan_parse(&plan, text, WEIR_ADMIT, NULL), code);
    assert_memory_equal(&plan, &untouched, sizeof plan);
}

#define LONG "a number this long is more than 64 bits hold; "
#define A_RATE "expected a rate: a count, a slash and a period; for example 10/s"
#define A_PERIOD "expected a period: s, min, h, d, w; for example 10/s"
#define WHOLE_NS "a period is a whole number of ns, up to 584 years; for example 10/s"
#define NO_RATE "a rate is above 0; to stop everything write none"
#define NO_EXPONENT "a number has no exponent; write "
#define A_MINUTE "M is a million; a minute is min; for example 10/min"
#define NO_MONTH "a month has 28 to 31 days; write 5/30d"

static const struct {
    const char *rate;
    int column;
    const char *message;
} bad_rates[] = {
    {"nan/s", 1, A_RATE},
    {"NaN", 1, A_RATE},
    {"inf/s", 1, A_RATE},
    {"-1/s", 1, A_RATE},
    {"-0.5/s", 1, A_RATE},
    {"/s", 1, A_RATE},
    {"1e9/s", 2, NO_EXPONENT "1000000000/s"},
    {"1.5e3/s", 4, NO_EXPONENT "1500/s"},
    {"0/s", 1, NO_RATE},
    {"0.000/year", 1, NO_RATE},
    {"0x10/s", 1, NO_RATE},
    {"18446744073709551616/s", 1, LONG A_RATE},
    {"999999999999999999999999999999/s", 1, LONG A_RATE},
    {"0.0000000000000000001/s", 1, LONG A_RATE},
    {"18446744073709552k/s", 18, LONG A_RATE},
    {"18446744073709551615Gi/s", 21, LONG A_RATE},
    {"10/0s", 5, "a period is longer than 0; for example 10/s"},
    {"10 per 0 hours", 10, "a period is longer than 0; for example 10/s"},
    {"10/-1s", 4, A_PERIOD},
    {"10/nan", 4, A_PERIOD},
    {"10/inf", 4, A_PERIOD},
    {"10/1e9s", 5, A_PERIOD},
    {"10/0x10s", 5, A_PERIOD},
    {"10/;5/s", 4, A_PERIOD},
    {"10/0.5ns", 7, WHOLE_NS},
    {"10/585year", 7, LONG WHOLE_NS},
    {"10/18446744073709551615s", 24, LONG WHOLE_NS},
    {"10/18446744073709551616ns", 4, LONG A_PERIOD},
    {"10/M", 4, A_MINUTE},
    {"10/2M", 5, A_MINUTE},
    {"5/month", 3, NO_MONTH},
    {"5/2 months", 5, "a month has 28 to 31 days; write 5/60d"},
};

static void bad_rates_of_every_algorithm(void **unused)
{
    (void)unused;
    for (int i = 1; i < ALGORITHM_NAMES; i++) {
        for (size_t j = 0; is_rated(i) && j < LENGTH(bad_rates); j++) {
            char text[TEXT_SIZE];
            snprintf(text, sizeof text, "%s algorithm=%s", bad_rates[j].rate, in_words(i));
            refuses(text, WEIR_EINVAL, bad_rates[j].column, bad_rates[j].message);
        }
    }
}

#define COUNT_OR_TIME "expected a count or a time; for example burst=20 or burst=2s"
#define FROM_1 "expected a number from 1; for example "
#define CATCHUP_1 "catchup is 1 or more: how much faster to run while behind; for example 1.1"
#define CATCHUP_1000 "catchup is at most 1000; for example catchup=1.1"
#define COLD_1 "cold is 1 or more: how much slower a cold start is; for example cold=3"
#define TO_1 "expected a number from 0 to 1; for example strictness=0.5"
#define ABOVE_1 "strictness is 0 to 1; to run faster while behind write catchup=1.1"
#define A_COUNT "expected a count; for example "
#define A_TIME "expected a time; for example "
#define ARRIVE "expected arrivals=uniform or arrivals=poisson"
#define WHOLE "expected a whole number; for example arrivals=poisson seed=7"
#define WEIGHT "expected a whole number; for example 300/s weight=3"
#define WEIGHT_RANGE "a weight is 1 to 1000; for example 300/s weight=3"
#define THE_END "expected a space, \";\" or the end"

/* What no algorithm takes that knows the option.  Behind "10/s algorithm=NAME ", at the value. */
static const struct bad_value {
    int option;
    const char *value;
    const char *message;
} bad_values[] = {
    {OPTION_BURST, "", COUNT_OR_TIME},
    {OPTION_BURST, "nan", COUNT_OR_TIME},
    {OPTION_BURST, "inf", COUNT_OR_TIME},
    {OPTION_BURST, "-1", COUNT_OR_TIME},
    {OPTION_BURST, "1e9", COUNT_OR_TIME},
    {OPTION_BURST, "0x10", COUNT_OR_TIME},
    {OPTION_BURST, "2.5", COUNT_OR_TIME},
    {OPTION_BURST, "0.5ns", COUNT_OR_TIME},
    {OPTION_BURST, "20/s", COUNT_OR_TIME},
    {OPTION_BURST, "1month", COUNT_OR_TIME},
    {OPTION_BURST, "18446744073709551616", LONG COUNT_OR_TIME},
    {OPTION_BURST, "18446744074G", LONG COUNT_OR_TIME},
    {OPTION_BURST, "585year", LONG COUNT_OR_TIME},
    {OPTION_WEIGHT, "", WEIGHT},
    {OPTION_WEIGHT, "0", WEIGHT_RANGE},
    {OPTION_WEIGHT, "1001", WEIGHT_RANGE},
    {OPTION_WEIGHT, "-1", WEIGHT},
    {OPTION_WEIGHT, "1.5", WEIGHT},
    {OPTION_WEIGHT, "2s", WEIGHT},
    {OPTION_CATCHUP, "", FROM_1 "catchup=1.1"},
    {OPTION_CATCHUP, "nan", FROM_1 "catchup=1.1"},
    {OPTION_CATCHUP, "inf", FROM_1 "catchup=1.1"},
    {OPTION_CATCHUP, "-1", FROM_1 "catchup=1.1"},
    {OPTION_CATCHUP, "1e9", FROM_1 "catchup=1.1"},
    {OPTION_CATCHUP, "0x10", FROM_1 "catchup=1.1"},
    {OPTION_CATCHUP, "2s", FROM_1 "catchup=1.1"},
    {OPTION_CATCHUP, "0", CATCHUP_1},
    {OPTION_CATCHUP, "0.99", CATCHUP_1},
    {OPTION_CATCHUP, "0.999999999999999999", CATCHUP_1},
    {OPTION_CATCHUP, "1001", CATCHUP_1000},
    {OPTION_CATCHUP, "1000.000001", CATCHUP_1000},
    {OPTION_CATCHUP, "18446744073709551615", CATCHUP_1000},
    {OPTION_CATCHUP, "18446744073709551616", LONG FROM_1 "catchup=1.1"},
    {OPTION_ARRIVALS, "", ARRIVE},
    {OPTION_ARRIVALS, "random", ARRIVE},
    {OPTION_ARRIVALS, "7", ARRIVE},
    {OPTION_SEED, "", WHOLE},
    {OPTION_SEED, "-1", WHOLE},
    {OPTION_SEED, "0x10", WHOLE},
    {OPTION_SEED, "1.5", WHOLE},
    {OPTION_SEED, "7s", WHOLE},
    {OPTION_SEED, "18446744073709551616", LONG WHOLE},
    {OPTION_STRICTNESS, "", TO_1},
    {OPTION_STRICTNESS, "nan", TO_1},
    {OPTION_STRICTNESS, "inf", TO_1},
    {OPTION_STRICTNESS, "-0.5", TO_1},
    {OPTION_STRICTNESS, "1e-9", TO_1},
    {OPTION_STRICTNESS, "0x1", TO_1},
    {OPTION_STRICTNESS, "50ms", TO_1},
    {OPTION_STRICTNESS, "1.1", ABOVE_1},
    {OPTION_STRICTNESS, "1.000000000000000001", ABOVE_1},
    {OPTION_STRICTNESS, "2", ABOVE_1},
    {OPTION_STRICTNESS, "18446744073709551615", ABOVE_1},
    {OPTION_STRICTNESS, "18446744073709551616", LONG TO_1},
    {OPTION_STRICTNESS, "0.0000000000000000001", LONG TO_1},
    {OPTION_COLD, "", FROM_1 "cold=3"},
    {OPTION_COLD, "nan", FROM_1 "cold=3"},
    {OPTION_COLD, "inf", FROM_1 "cold=3"},
    {OPTION_COLD, "-3", FROM_1 "cold=3"},
    {OPTION_COLD, "1e9", FROM_1 "cold=3"},
    {OPTION_COLD, "0x10", FROM_1 "cold=3"},
    {OPTION_COLD, "0", COLD_1},
    {OPTION_COLD, "0.99", COLD_1},
    {OPTION_COLD, "0.999999999999999999", COLD_1},
    {OPTION_COLD, "18446744073709551616", LONG FROM_1 "cold=3"},
    {OPTION_DELAY, "", A_COUNT "delay=5"},
    {OPTION_DELAY, "nan", A_COUNT "delay=5"},
    {OPTION_DELAY, "-1", A_COUNT "delay=5"},
    {OPTION_DELAY, "1e9", A_COUNT "delay=5"},
    {OPTION_DELAY, "0x10", A_COUNT "delay=5"},
    {OPTION_DELAY, "1.5", A_COUNT "delay=5"},
    {OPTION_DELAY, "1s", A_COUNT "delay=5"},
    {OPTION_DELAY, "0", "delay is at least 1; to delay all that is above the rate leave it out; for example delay=8"},
    {OPTION_DELAY, "18446744073709551616", LONG A_COUNT "delay=5"},
    {OPTION_DEBT, "", A_COUNT "debt=1000"},
    {OPTION_DEBT, "nan", A_COUNT "debt=1000"},
    {OPTION_DEBT, "inf", A_COUNT "debt=1000"},
    {OPTION_DEBT, "-1", A_COUNT "debt=1000"},
    {OPTION_DEBT, "1e9", A_COUNT "debt=1000"},
    {OPTION_DEBT, "0x10", A_COUNT "debt=1000"},
    {OPTION_DEBT, "0.5", A_COUNT "debt=1000"},
    {OPTION_DEBT, "1s", A_COUNT "debt=1000"},
    {OPTION_DEBT, "18446744073709551616", LONG A_COUNT "debt=1000"},
    {OPTION_WARMUP, "", A_TIME "warmup=10s"},
    {OPTION_WARMUP, "nan", A_TIME "warmup=10s"},
    {OPTION_WARMUP, "infs", A_TIME "warmup=10s"},
    {OPTION_WARMUP, "-1s", A_TIME "warmup=10s"},
    {OPTION_WARMUP, "1e9s", A_TIME "warmup=10s"},
    {OPTION_WARMUP, "0x10s", A_TIME "warmup=10s"},
    {OPTION_WARMUP, "10", A_TIME "warmup=10s"},
    {OPTION_WARMUP, "0.5ns", A_TIME "warmup=10s"},
    {OPTION_WARMUP, "585year", LONG A_TIME "warmup=10s"},
    {OPTION_GAP, "", A_TIME "gap=100ms"},
    {OPTION_GAP, "nan", A_TIME "gap=100ms"},
    {OPTION_GAP, "-1s", A_TIME "gap=100ms"},
    {OPTION_GAP, "1e9s", A_TIME "gap=100ms"},
    {OPTION_GAP, "0x10s", A_TIME "gap=100ms"},
    {OPTION_GAP, "3", A_TIME "gap=100ms"},
    {OPTION_GAP, "0.5ns", A_TIME "gap=100ms"},
    {OPTION_GAP, "585year", LONG A_TIME "gap=100ms"},
    {OPTION_BLOCK, "", A_TIME "block=1min"},
    {OPTION_BLOCK, "nan", A_TIME "block=1min"},
    {OPTION_BLOCK, "-1s", A_TIME "block=1min"},
    {OPTION_BLOCK, "1e9s", A_TIME "block=1min"},
    {OPTION_BLOCK, "0x10s", A_TIME "block=1min"},
    {OPTION_BLOCK, "0", A_TIME "block=1min"},
    {OPTION_BLOCK, "0s", "block is above 0; leave it out for no blocking; for example block=1min"},
    {OPTION_BLOCK, "585year", LONG A_TIME "block=1min"},
    {OPTION_PAY, "", "expected pay=self or pay=next"},
    {OPTION_PAY, "nan", "expected pay=self or pay=next"},
    {OPTION_PAY, "0", "expected pay=self or pay=next"},
    {OPTION_ALIGN, "", "expected align=clock or align=first"},
    {OPTION_ALIGN, "-1", "expected align=clock or align=first"},
    {OPTION_ALIGN, "epoch", "expected align=clock or align=first"},
    {OPTION_EDGE, "", "expected edge=open or edge=closed"},
    {OPTION_EDGE, "shut", "expected edge=open or edge=closed"},
    {OPTION_START, "", "expected start=full or start=empty"},
    {OPTION_START, "0", "expected start=full or start=empty"},
    {OPTION_START, "half", "expected start=full or start=empty"},
};

/* Who knows it, as a refusal says it to the others; NULL: everybody. */
static const char *const goes_with[OPTIONS] = {
    [OPTION_BURST] = "gcra, hybrid, bursty, leaky",
    [OPTION_CATCHUP] = "hybrid, timeline",
    [OPTION_STRICTNESS] = "timeline",
    [OPTION_COLD] = "warmup",
    [OPTION_DELAY] = "leaky",
    [OPTION_NODELAY] = "leaky",
    [OPTION_WARMUP] = "warmup",
    [OPTION_GAP] = "sliding-log",
    [OPTION_BLOCK] = "fixed-window",
    [OPTION_PAY] = "bursty, warmup",
    [OPTION_ALIGN] = "cycle, fixed-window",
    [OPTION_EDGE] = "sliding-log",
    [OPTION_START] = "gcra, hybrid, bursty, warmup",
    [OPTION_ARRIVALS] = "hybrid",
    [OPTION_SEED] = "hybrid",
    [OPTION_DEBT] = "gcra, hybrid, bursty, cycle, sliding-window",
    [OPTION_COUNT_REFUSED] = "fixed-window, sliding-log",
    [OPTION_LEASE] = "concurrent",
    [OPTION_GUARANTEED] = "gcra",
    [OPTION_WEIGHT] = "gcra, unlimited",
};

/* Each in good form, as far as its value is read before it is known whose option it is. */
static const char *const good_form[OPTIONS] = {
    [OPTION_BURST] = "burst=20",
    [OPTION_CATCHUP] = "catchup=1.1",
    [OPTION_STRICTNESS] = "strictness=0.5",
    [OPTION_COLD] = "cold=3",
    [OPTION_DELAY] = "delay=8",
    [OPTION_NODELAY] = "nodelay",
    [OPTION_WARMUP] = "warmup=10s",
    [OPTION_GAP] = "gap=100ms",
    [OPTION_BLOCK] = "block=1min",
    [OPTION_PAY] = "pay=self",
    [OPTION_ALIGN] = "align=clock",
    [OPTION_EDGE] = "edge=closed",
    [OPTION_START] = "start=full",
    [OPTION_DEBT] = "debt=1000",
    [OPTION_COUNT_REFUSED] = "count-refused",
    [OPTION_SEED] = "seed=7",
    [OPTION_ARRIVALS] = "arrivals=uniform",
    [OPTION_LEASE] = "lease=30s",
    [OPTION_GUARANTEED] = "guaranteed",
    [OPTION_WEIGHT] = "weight=3",
};

static bool has_value(int option)
{
    return option_at(option)->type != TYPE_FLAG;
}

static void refuses_value(int algorithm, const struct bad_value *row)
{
    char text[TEXT_SIZE], column[TEXT_SIZE / 2];
    /* Warmup's own needed option is not said twice. */
    const bool needs = algorithm == ALGORITHM_WARMUP && row->option != OPTION_WARMUP;
    snprintf(column, sizeof column,
             "10/s algorithm=%s %s=", needs ? in_words(algorithm) : words_algorithm_name(algorithm),
             option_at(row->option)->name);
    snprintf(text, sizeof text, "%s%s", column, row->value);
    refuses(text, WEIR_EINVAL, (int)strlen(column) + 1, row->message);
    snprintf(text, sizeof text, "%s%s; 5/h", column, row->value);
    refuses(text, WEIR_EINVAL, (int)strlen(column) + 1, row->message);
}

static void bad_values_of_every_option(void **unused)
{
    (void)unused;
    size_t rows[OPTIONS] = {0};
    for (size_t j = 0; j < LENGTH(bad_values); j++) {
        for (int i = 1; i < ALGORITHM_NAMES; i++) {
            if (is_rated(i) && option_fits(bad_values[j].option, i)) refuses_value(i, &bad_values[j]);
        }
        rows[bad_values[j].option]++;
    }
    for (int option = 0; option < OPTIONS; option++) {
        if (good_form[option] == NULL || !has_value(option) || option == OPTION_LEASE) continue; /* no rate has it */
        if (rows[option] == 0) fail_msg("%s= has no bad values here", option_at(option)->name);
    }
}

static void flags_take_no_value(void **unused)
{
    (void)unused;
    static const char *const values[] = {"=", "=1", "=no"};
    for (int option = 0; option < OPTIONS; option++) {
        char text[TEXT_SIZE];
        for (size_t j = 0; !has_value(option) && j < LENGTH(values); j++) {
            snprintf(text, sizeof text, "10/s %s%s", option_at(option)->name, values[j]);
            refuses(text, WEIR_EINVAL, 6 + (int)strlen(option_at(option)->name), THE_END);
        }
        if (!has_value(option)) continue;
        char message[TEXT_SIZE];
        snprintf(text, sizeof text, "10/s %s", option_at(option)->name);
        snprintf(message, sizeof message, "expected \"=\" and a value after %s", option_at(option)->name);
        refuses(text, WEIR_EINVAL, 6 + (int)strlen(option_at(option)->name), message);
    }
}

static void options_of_others(void **unused)
{
    (void)unused;
    for (int option = 0; option < OPTIONS; option++) {
        for (int i = 1; i < ALGORITHM_NAMES; i++) {
            char text[TEXT_SIZE], message[TEXT_SIZE];
            if (!is_rated(i) || option_fits(option, i)) continue;
            if (good_form[option] == NULL) fail_msg("%s is not known here", option_at(option)->name);
            const int before = snprintf(text, sizeof text, "10/s algorithm=%s ", in_words(i));
            snprintf(text + before, sizeof text - (size_t)before, "%s", good_form[option]);
            snprintf(message, sizeof message, "%s does not belong to algorithm=%s; it goes with %s",
                     option_at(option)->name, words_algorithm_name(i), goes_with[option]);
            refuses(text, WEIR_EINVAL, before + 1, message);
        }
    }
}

#define BURST_1 "burst is at least 1, or nothing could ever pass; for example burst=1"
#define REFILL "this burst would take over 300 years to refill; choose a smaller burst, for example burst=20"
#define YEARS_18                                                                                                       \
    "burst times catchup is longer than 18 years; choose a smaller burst, for example burst=2, or for a slower rate "  \
    "algorithm=gcra"
#define ROUNDER "this rate has more digits than 64 bits hold; write a rounder rate, for example 10/s"
#define TOO_FAST "this rate is over 10^12 a second, the most that weir can count; for example 1G/s"
#define THOUSANDTHS "leaky counts its burst in thousandths, up to 2^61; choose a smaller one, for example burst=20"
#define PERMITS "leaky counts its burst in permits; for example burst=20"
#define WHOLE_PERMITS "a window holds whole permits; write 1/2s for half a permit a second"
#define FOR_HOW_LONG "algorithm=warmup needs to know for how long; for example 10/s warmup=10s"
#define TOO_WARM "this warmup is longer than the clock of this rate; choose a shorter one, for example warmup=10s"
#define CYCLE_62 "this rate is too high: a cycle holds fewer than 2^62 permits; for example 1G/s"
#define LOG_28                                                                                                         \
    "a log keeps a time for each permit, for at most 268435456 of them; shorten the period, for example 1000/s for "   \
    "60000/min, or write algorithm=sliding-window"
#define ONE_OF_THEM "strictness drops the lost time that catchup makes up; give one of them, for example strictness=0.5"

/* What only one algorithm, or some of them, cannot keep. */
static const struct {
    const char *text;
    int column;
    const char *message;
} bad_together[] = {
    {"10/s algorithm=gcra burst=0", 27, BURST_1},
    {"10/s algorithm=gcra burst=0s", 27, BURST_1},
    {"10/s algorithm=gcra burst=99999999ns", 27, BURST_1},
    {"10/s algorithm=gcra burst=18446744073709551615", 27, REFILL},
    {"1000/s algorithm=gcra burst=18446744073709551615", 29, REFILL},
    {"1/500year algorithm=gcra burst=8", 32, REFILL},
    {"0.000000000000000001/s algorithm=gcra", 1, ROUNDER},
    {"18446744073709551615/s algorithm=gcra", 1, TOO_FAST},
    {"1001/ns algorithm=gcra", 1, TOO_FAST},
    {"10/s algorithm=hybrid burst=0", 29, BURST_1},
    {"10/s algorithm=hybrid burst=18446744073709551615", 29, REFILL},
    {"10/s algorithm=hybrid burst=40year", 29, YEARS_18},
    {"10/s algorithm=hybrid burst=1year catchup=40", 29, YEARS_18},
    {"1/20year algorithm=hybrid", 20, YEARS_18},
    {"1000000000001/s algorithm=hybrid", 1, TOO_FAST},
    {"0.000000000000000001/year algorithm=hybrid", 1, ROUNDER},
    {"1001/ns algorithm=timeline", 1, TOO_FAST},
    {"0.000000000000000001/s strictness=1", 1, ROUNDER},
    {"10/s algorithm=timeline strictness=0.5 catchup=1.1", 36, ONE_OF_THEM},
    {"1001/ns algorithm=bursty", 1, TOO_FAST},
    {"0.000000000000000001/s algorithm=bursty", 1, ROUNDER},
    {"10/s algorithm=bursty burst=18446744073709551615", 29, REFILL},
    {"1G/s algorithm=bursty burst=584year", 29, REFILL},
    {"10/s algorithm=warmup", 16, FOR_HOW_LONG},
    {"10/s cold=3", 6, FOR_HOW_LONG},
    {"10/s algorithm=warmup start=full pay=self", 16, FOR_HOW_LONG},
    {"1001/ns warmup=1s", 1, TOO_FAST},
    {"10/s warmup=584year", 13, TOO_WARM},
    {"1000G/s warmup=584year", 16, TOO_WARM},
    {"0.000000000000000001/s warmup=1s", 1, ROUNDER},
    {"10/s algorithm=leaky burst=0", 28, BURST_1},
    {"10/s algorithm=leaky burst=0s", 28, PERMITS},
    {"10/s algorithm=leaky burst=2s", 28, PERMITS},
    {"10/s algorithm=leaky burst=18446744073709551615", 28, THOUSANDTHS},
    {"10r/s burst=18446744073709551615", 13,
     "this burst is more than 64 bits hold; choose a smaller one, for example burst=20"},
    {"10/s delay=3 nodelay", 14, "nodelay delays nothing; write it, or delay=8, but not both"},
    {"10/s nodelay delay=3", 6, "nodelay delays nothing; write it, or delay=8, but not both"},
    {"1001/ns algorithm=leaky", 1, TOO_FAST},
    {"0.000000000000000001/s algorithm=leaky", 1, ROUNDER},
    {"18446744073709551607r/m", 1, LONG A_RATE},
    {"4611686018427387904/s algorithm=cycle", 1, CYCLE_62},
    {"18446744073709551615/s algorithm=cycle", 1, CYCLE_62},
    {"0.5/s algorithm=cycle", 1, WHOLE_PERMITS},
    {"0.5/s algorithm=fixed-window", 1, WHOLE_PERMITS},
    {"0.5/s algorithm=sliding-window", 1, WHOLE_PERMITS},
    {"0.5/s algorithm=sliding-log", 1, WHOLE_PERMITS},
    {"268435457/s algorithm=sliding-log", 1, LOG_28},
    {"268435457/s gap=1ns", 1, LOG_28},
    {"300M/year count-refused", 1, LOG_28},
    {"18446744073709551615/s algorithm=sliding-log", 1, LOG_28},
    {"5 concurrent", 1,
     "how long may one run that never says it ended? write lease=TIME; for example 20 concurrent lease=30s"},
    {"10/s shadow", 6, "shadow is no option of a limit's text; in weir.yaml write shadow: true beside the limit"},
};

static void bad_together_or_missing(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(bad_together); i++) {
        const bool later = strstr(bad_together[i].text, "shadow");
        refuses(bad_together[i].text, later ? WEIR_EUNSUPPORTED : WEIR_EINVAL, bad_together[i].column,
                bad_together[i].message);
    }
}

/* ---- more than the memory holds ---- */

/* And a small one of the same kind; between the kinds there is no change. */
static const char *const largest_logs[][2] = {{"268435456/h algorithm=sliding-log", "2/h algorithm=sliding-log"},
                                              {"268435456/h gap=1ns", "2/h gap=1ns"},
                                              {"268435456/h count-refused", "2/h count-refused"}};

static void the_largest_log_in_numbers(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(largest_logs); i++) {
        weir_plan plan;
        char text[TEXT_SIZE];
        assert_int_equal(weir_plan_parse(&plan, largest_logs[i][0], WEIR_ADMIT, NULL), 0);
        assert_int_equal(weir_state_size(&plan), STAMPS_HEADER * sizeof(uint64_t) + (UINT64_C(6) << 28));
        assert_true(weir_plan_explain(&plan, text, sizeof text) > 0);
    }
}

/* In the child, which may say nothing but its exit status. */
static int without_memory(const char *text, const char *small)
{
    const struct rlimit gigabyte = {UINT64_C(1) << 30, UINT64_C(1) << 30};
    static const char message[] = "no memory for the state of these limits";
    weir_limiter *limiter = NULL, *none;
    weir_error error;
    if (setrlimit(RLIMIT_AS, &gigabyte) != 0) return 2;
    if (weir_open(&none, text, NULL, &error) != WEIR_ENOMEM || none != NULL) return 3;
    if (error.code != WEIR_ENOMEM || strcmp(error.message, message) != 0) return 4;
    if (weir_open(&none, text, NULL, NULL) != WEIR_ENOMEM || none != NULL) return 5;
    if (weir_open(&limiter, small, NULL, &error) != 0) return 6;
    if (!weir_allowed(weir_take(limiter, 1))) return 7;
    if (weir_set_limit(limiter, text, WEIR_KEEP, &error) != WEIR_ENOMEM) return 8;
    if (!weir_allowed(weir_take(limiter, 1)) || weir_allowed(weir_take(limiter, 1))) return 9;
    weir_close(limiter);
    return 0;
}

static void no_memory_is_an_answer(void **unused)
{
    (void)unused;
    if (SANITIZED) skip_because("unit/arguments: no memory", "sanitizers map terabytes", SKIP_CURE_PLAIN);
    skip_without_memory_limit("unit/arguments: no memory");
    for (size_t i = 0; i < LENGTH(largest_logs); i++) {
        int status = 0;
        fflush(NULL);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) _exit(without_memory(largest_logs[i][0], largest_logs[i][1]));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0) fail_msg("\"%s\": status %#x", largest_logs[i][0], (unsigned)status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_rates_of_every_algorithm), cmocka_unit_test(bad_values_of_every_option),
        cmocka_unit_test(flags_take_no_value),          cmocka_unit_test(options_of_others),
        cmocka_unit_test(bad_together_or_missing),      cmocka_unit_test(the_largest_log_in_numbers),
        cmocka_unit_test(no_memory_is_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
