/* SPDX-License-Identifier: MIT
   Plans of every algorithm of the table, alone and in lists of any of them, with any of its options.

   Small counts, so that a few calls reach every corner. */
#include <inttypes.h>
#include <stdio.h>

#include "property/property.h"
#include "plan/plan.h"
#include "plan/option.h"
#include "plan/words.h"

enum { COUNT_MAX = 12 };

static const char *const periods[] = {"s", "min", "100ms", "7us", "h", "10ns", "3s"};

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* What options a limit may have; each is left out half of the time. */
static const struct {
    int option;
    const char *text[4];
} choices[] = {
    {OPTION_BURST, {" burst=1", " burst=3", " burst=20", " burst=1s"}},
    {OPTION_CATCHUP, {" catchup=1", " catchup=1.5", " catchup=3", " catchup=1.01"}},
    {OPTION_STRICTNESS, {" strictness=1", " strictness=0.5", " strictness=0.1", " strictness=0"}},
    {OPTION_COLD, {" cold=3", " cold=1", " cold=2.5", " cold=10"}},
    {OPTION_DELAY, {" delay=1", " delay=2", " delay=5", " delay=0"}},
    {OPTION_NODELAY, {" nodelay", " nodelay", " nodelay", " nodelay"}},
    {OPTION_GAP, {" gap=1ms", " gap=1ns", " gap=1s", " gap=50us"}},
    {OPTION_BLOCK, {" block=1s", " block=1ms", " block=1min", " block=10ns"}},
    {OPTION_PAY, {" pay=self", " pay=next", " pay=self", " pay=next"}},
    {OPTION_ALIGN, {" align=first", " align=clock", " align=first", " align=clock"}},
    {OPTION_EDGE, {" edge=open", " edge=closed", " edge=open", " edge=closed"}},
    {OPTION_START, {" start=full", " start=empty", " start=full", " start=empty"}},
    {OPTION_DEBT, {" debt=0", " debt=1", " debt=7", " debt=1000"}},
    {OPTION_COUNT_REFUSED, {" count-refused", " count-refused", " count-refused", " count-refused"}},
};

static int write_limit(struct prop *prop, char *out, size_t size)
{
    int algorithm = 0;
    do algorithm = 1 + (int)prop_pick(prop, ALGORITHM_NAMES - 1);
    while (!algorithm_has_rate((unsigned)algorithm));
    int length = snprintf(out, size, "%" PRIu64 "/%s algorithm=%s", 1 + prop_pick(prop, COUNT_MAX),
                          periods[prop_pick(prop, LENGTH(periods))], words_algorithm_name(algorithm));
    if (option_fits(OPTION_WARMUP, algorithm)) {
        length += snprintf(out + length, size - (size_t)length, prop_chance(prop, 2) ? " warmup=2s" : " warmup=1ms");
    }
    for (size_t i = 0; i < LENGTH(choices); i++) {
        if (!option_fits(choices[i].option, algorithm) || prop_pick(prop, 2) == 0) continue;
        length += snprintf(out + length, size - (size_t)length, "%s", choices[i].text[prop_pick(prop, 4)]);
    }
    return length;
}

void prop_pick_any_plan(struct prop *prop, uint64_t limits_max, size_t bytes_max, weir_plan *plan)
{
    char text[PROP_TEXT_SIZE];
    for (int tries = 0; tries < 20; tries++) {
        int length = write_limit(prop, text, sizeof text);
        for (uint64_t more = prop_chance(prop, 3) ? prop_pick(prop, limits_max) : 0; more > 0; more--) {
            length += snprintf(text + length, sizeof text - (size_t)length, "; ");
            length += write_limit(prop, text + length, sizeof text - (size_t)length);
        }
        const bool good = weir_plan_parse(plan, text, WEIR_ADMIT, NULL) == 0;
        if (good && weir_state_size(plan) <= bytes_max) break;
        snprintf(text, sizeof text, "1/s");
        weir_plan_parse(plan, text, WEIR_ADMIT, NULL);
    }
    prop_note(prop, "plan \"%s\"", text);
}
