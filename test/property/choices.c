/* SPDX-License-Identifier: MIT
   Plans, times, gaps, costs and waits in proportion to one another.

   Chosen blindly nearly every call would pass or nearly every call be refused; so gaps and costs are chosen around what
   the plan itself makes of a permit and of a burst.

   Nothing overflows that a property computes in 128 bits. */
#include "core/clock.h"
#include "plan/plan.h"
#include "property/property.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { COUNT_TOP = 12, BURST_BITS = 40, START_BITS = 59, CLOCK_BITS = 60 };

static const char *const periods[] = {"s", "min", "ms", "h", "us", "d", "7s", "3ms", "year", "2us", "13min", "11d"};
static const char *const catchups[] = {"1", "1.1", "2", "1.5", "5", "1.01", "3", "4.75", "1.0001"};

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static uint64_t count_of(struct prop *prop)
{
    uint64_t power = 1;
    for (uint64_t n = prop_pick(prop, COUNT_TOP + 1); n > 0; n--) power *= 10;
    const uint64_t more = prop_pick(prop, 3);
    return more == 0 ? power : more == 1 ? power * (1 + prop_pick(prop, 9)) : 1 + prop_pick(prop, power * 10);
}

static int write_burst(struct prop *prop, unsigned kinds, char *out, size_t size)
{
    const uint64_t kind = prop_pick(prop, 4);
    if (kind == 0 && !(kinds & PROP_TINY_BURST)) return 0;
    if (kind <= 2 || (kinds & PROP_TINY_BURST)) {
        const uint64_t burst = kinds & PROP_TINY_BURST || kind == 1 ? prop_pick(prop, 20)
                                                                    : prop_pick_size(prop, UINT64_C(1) << BURST_BITS);
        return snprintf(out, size, " burst=%" PRIu64, burst + 1);
    }
    const uint64_t unit = prop_pick(prop, LENGTH(periods));
    const char *digit = periods[unit][0] >= '0' && periods[unit][0] <= '9' ? "" : "1";
    return snprintf(out, size, " burst=%s%s", digit, periods[unit]);
}

static int write_limit(struct prop *prop, unsigned kinds, char *out, size_t size)
{
    if (kinds & PROP_UNRATED && prop_chance(prop, 8)) {
        return snprintf(out, size, "%s", prop_chance(prop, 4) ? "none" : "unlimited");
    }
    const bool hybrid = (kinds & PROP_RATED) == PROP_RATED ? prop_pick(prop, 2) == 1 : (kinds & PROP_HYBRID) != 0;
    const uint64_t tenths = prop_chance(prop, 4) ? prop_pick(prop, 10) : 0;
    /* One choice a statement: compilers differ in the order of arguments, and bytes must mean the same to all. */
    const uint64_t count = count_of(prop);
    const char *period = periods[prop_pick(prop, LENGTH(periods))];
    int length = snprintf(out, size, "%" PRIu64 ".%" PRIu64 "/%s algorithm=%s", count, tenths, period,
                          hybrid ? "hybrid" : "gcra");
    length += write_burst(prop, kinds, out + length, size - (size_t)length);
    if (hybrid) {
        length +=
            snprintf(out + length, size - (size_t)length, " catchup=%s", catchups[prop_pick(prop, LENGTH(catchups))]);
    }
    const uint64_t start = prop_pick(prop, 4);
    if (start >= 2) length += snprintf(out + length, size - (size_t)length, " start=%s", start == 2 ? "full" : "empty");
    return length;
}

void prop_pick_plan(struct prop *prop, unsigned kinds, weir_plan *plan)
{
    char text[PROP_TEXT_SIZE];
    for (int tries = 0; tries < 8; tries++) {
        int length = write_limit(prop, kinds, text, sizeof text);
        const uint64_t more = kinds & PROP_LISTS ? prop_pick(prop, 8) : 0;
        for (uint64_t i = 4; i < more; i++) {
            length += snprintf(text + length, sizeof text - (size_t)length, "; ");
            length += write_limit(prop, kinds, text + length, sizeof text - (size_t)length);
        }
        if (weir_plan_parse(plan, text, WEIR_ADMIT, NULL) == 0) {
            prop_note(prop, "plan \"%s\"", text);
            return;
        }
    }
    const char *simple = kinds & PROP_GCRA ? "1/s" : "1/s algorithm=hybrid";
    prop_check(prop, weir_plan_parse(plan, simple, WEIR_ADMIT, NULL) == 0, "the simplest plan is refused");
    prop_note(prop, "plan \"%s\"", simple);
}

static const struct rule *pick_rule(struct prop *prop, const weir_plan *plan)
{
    const struct plan *inside = plan_inside_const(plan);
    return &inside->rule[inside->count > 1 ? prop_pick(prop, inside->count) : 0];
}

uint64_t prop_pick_time(struct prop *prop, const weir_plan *plan)
{
    const struct plan *inside = plan_inside_const(plan);
    const uint64_t choice = prop_pick(prop, 4);
    uint64_t time_ns = choice == 0 ? 0 : choice == 1 ? UINT64_C(1000000000) : prop_pick_size(prop, UINT64_MAX >> 4);
    for (uint64_t i = 0; i < inside->count; i++) {
        time_ns = least(
            time_ns, shift_divide_ceil(UINT64_C(1) << START_BITS, inside->rule[i].shift, inside->rule[i].multiplier));
    }
    return time_ns;
}

bool prop_in_clock(const weir_plan *plan, uint64_t now_ns)
{
    const struct plan *inside = plan_inside_const(plan);
    for (uint64_t i = 0; i < inside->count; i++) {
        if (tick_at(&inside->rule[i], now_ns) >> CLOCK_BITS != 0) return false;
    }
    return true;
}

static uint64_t ns_of(const struct rule *rule, uint64_t ticks)
{
    return shift_divide_ceil(ticks, rule->shift, rule->multiplier);
}

/* Near a value: it, one less or more, a part of it, up to a multiple. */
static uint64_t around(struct prop *prop, uint64_t near)
{
    const uint64_t value = least(near, UINT64_MAX >> 6);
    switch (prop_pick(prop, 6)) {
    case 0:
        return value;
    case 1:
        return value - (value > 0);
    case 2:
        return value + 1;
    case 3:
        return value / (1 + prop_pick(prop, 16));
    case 4:
        return prop_pick(prop, value + 1);
    default:
        return value * (1 + prop_pick(prop, 4));
    }
}

static uint64_t span(struct prop *prop, const weir_plan *plan)
{
    const struct rule *rule = pick_rule(prop, plan);
    const uint64_t permit_ns = ns_of(rule, UINT64_C(1) << rule->scale);
    return around(prop, prop_pick(prop, 2) == 0 ? permit_ns : ns_of(rule, rule->burst));
}

uint64_t prop_pick_gap(struct prop *prop, const weir_plan *plan)
{
    const uint64_t longest = UINT64_MAX >> 6;
    switch (prop_pick(prop, 8)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return 1 + prop_pick(prop, 3);
    case 3:
        return prop_pick_size(prop, longest);
    default:
        return least(span(prop, plan), longest);
    }
}

uint64_t prop_pick_cost(struct prop *prop, const weir_plan *plan)
{
    if (prop_pick(prop, 2) == 0) return 1 + prop_pick(prop, 3);
    const struct rule *rule = pick_rule(prop, plan);
    return most(around(prop, least(permits_floor(rule, rule->burst), UINT64_C(1) << BURST_BITS)), 1);
}

uint64_t prop_pick_wait(struct prop *prop, const weir_plan *plan)
{
    switch (prop_pick(prop, 4)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return span(prop, plan);
    default:
        return WEIR_FOREVER;
    }
}
