/* SPDX-License-Identifier: MIT
   From a plan to what an engine keeps, in whole us; what it does not keep is refused.

       3/s         p = 3 permits in q = 1,000,000 us, reduced: a permit is q ticks, p of them drain in a us
       3/s,1.1     hybrid, times the lower part of the ratio: q * 10, p * 10, and p * 11 to catch up

   Times that are no whole us are rounded where that changes no answer at a whole us (an end is passed at the next one),
   and refused where it would.

   Nothing that was said is ignored; no number of a rule is above MICRO_MOST. */
#include <string.h>

#include "core/algorithm.h"
#include "plan/plan.h"
#include "redis/micro/kinds.h"

enum { US_NS = 1000, MILLISECOND_US = 1000, SECOND_NS = 1000000000, THOUSAND = 1000 };

#define PERIOD_MOST (UINT64_C(1) << 50) /* us, 35 years: of it some are added to a time */

/* What is wrong, or NULL. */
typedef const char *problem;

static const char too_much[] = "this rate and burst need numbers over 2^52 in an engine; write a rounder rate or a "
                               "smaller burst, for example 100/s burst=200";
static const char too_long[] = "an engine keeps this limit for at most 35 years; write a shorter period or a smaller "
                               "burst, for example 1000/d";

static const char too_long_logs[] = "a sliding-log keeps a time for each call, in an engine for at most 100000 permits "
                                    "in all limits of a text; shorten the period, for example 1000/s for 60000/min, or "
                                    "write algorithm=sliding-window";

static problem elsewhere(unsigned algorithm)
{
    switch (algorithm) {
    case ALGORITHM_TIMELINE:
        return "algorithm=timeline is not kept in an engine; to pace through one write algorithm=hybrid, for example "
               "10/s algorithm=hybrid catchup=1.1";
    case ALGORITHM_BURSTY:
        return "algorithm=bursty is not kept in an engine; write algorithm=gcra with the same burst, for example 10/s "
               "burst=20";
    case ALGORITHM_WARMUP:
        return "algorithm=warmup is not kept in an engine: each process warms up alone; write algorithm=gcra, for "
               "example 10/s burst=1";
    case ALGORITHM_CYCLE:
        return "algorithm=cycle is not kept in an engine; write algorithm=fixed-window, for example 10/s "
               "algorithm=fixed-window";
    default:
        return "this algorithm is not kept in an engine; write algorithm=gcra, for example 10/s algorithm=gcra";
    }
}

static uint64_t us_ceil(uint64_t ns)
{
    return divide_ceil(ns, US_NS);
}

/* Reduced to permits for every so many us; false where they are too large. */
static bool rate_of(const struct limit *limit, uint64_t *permits, uint64_t *us)
{
    uint64_t count, period_ns;
    if (!limit_rate(limit, &count, &period_ns) || count > MICRO_MOST / US_NS) return false;
    const uint64_t common = greatest_common_divisor(count * US_NS, period_ns);
    *permits = count * US_NS / common;
    *us = period_ns / common;
    return *us <= MICRO_MOST;
}

/* So many ticks in a time; a part of one lets nothing more pass at a whole us. */
static uint64_t ticks_in(uint64_t ns, uint64_t per)
{
    const uint64_t us = ns / US_NS, rest = ns % US_NS;
    return add_capped(multiply_capped(us, per), share_floor(rest, per, US_NS));
}

static problem make_line(const struct limit *limit, struct micro_rule *rule, uint64_t factor, uint64_t of)
{
    uint64_t permits, us;
    if (!rate_of(limit, &permits, &us)) return too_much;
    rule->permit = most(multiply_capped(us, of), 1);
    rule->per = multiply_capped(permits, of);
    rule->per_fast = multiply_capped(permits, factor);
    const bool in_time = limit->burst_kind == AMOUNT_TIME;
    rule->top = in_time ? ticks_in(limit->burst, rule->per) : multiply_capped(limit->burst, rule->permit);
    const uint64_t greatest = most(most(rule->permit, rule->per_fast), rule->top);
    if (greatest == MICRO_MOST) return too_much;
    rule->burst = rule->top / rule->permit;
    rule->fits = least(rule->burst, MICRO_BURST_MOST);
    rule->debt = MICRO_MOST - rule->top;
    if (rule->burst == 0) return "burst is at least 1, or nothing could ever pass; for example burst=1";
    if (!limit->has_debt) return NULL;
    const uint64_t debt = multiply_capped(limit->debt, rule->permit);
    if (debt > rule->debt) {
        return "burst and debt together are over 2^52 ticks of an engine; write a smaller debt, for example debt=1000";
    }
    rule->debt = debt;
    return NULL;
}

static problem make_gcra(const struct limit *limit, struct micro_rule *rule)
{
    if (limit->start == START_EMPTY) {
        return "start=empty is not kept in an engine, where a key without anything used has no state; leave it out";
    }
    if (limit->guaranteed) rule->flags |= MICRO_GUARANTEED;
    return make_line(limit, rule, 1, 1);
}

static problem make_hybrid(const struct limit *limit, struct micro_rule *rule)
{
    if (limit->arrivals == ARRIVALS_POISSON) {
        return "arrivals=poisson paces the starts of one limiter and is not kept in an engine; leave it out";
    }
    const uint64_t power = power_of_ten(limit->factor.places);
    const uint64_t common = greatest_common_divisor(limit->factor.digits, power);
    const problem wrong = make_line(limit, rule, limit->factor.digits / common, power / common);
    if (wrong != NULL) return wrong;
    if (rule->top > MICRO_HYBRID_MOST) return too_much;
    if (limit->start == START_FULL) rule->flags |= MICRO_STARTS_FULL;
    rule->burst = MICRO_MOST / rule->permit; /* what is above the pool passes when it is full */
    return NULL;
}

static problem make_leaky(const struct limit *limit, struct micro_rule *rule)
{
    uint64_t permits, period_ns;
    if (!limit_rate(limit, &permits, &period_ns)) return too_much;
    const uint64_t common = greatest_common_divisor(period_ns, SECOND_NS);
    rule->second = multiply_capped(permits, SECOND_NS / common);
    rule->third = period_ns / common;
    if (rule->second == MICRO_MOST || rule->third > MICRO_MOST) return too_much;
    const uint64_t highest = share_floor(PERIOD_MOST / MILLISECOND_US, rule->second, rule->third);
    rule->burst = limit->burst;
    rule->permit = THOUSAND;
    rule->fits = least(rule->burst, MICRO_BURST_MOST);
    rule->top = multiply_capped(limit->burst, THOUSAND);
    if (rule->top >= highest || rule->top == MICRO_MOST) return too_long;
    rule->debt = highest - rule->top;
    const uint64_t calm =
        limit->nodelay ? rule->top : multiply_capped(add_capped(least(limit->delay, MICRO_MOST), 1), THOUSAND);
    rule->calm = least(calm, rule->top);
    return NULL;
}

static problem make_window(const struct limit *limit, struct micro_rule *rule, uint64_t period_ns)
{
    rule->burst = limit->count.digits;
    rule->period = us_ceil(period_ns);
    if (rule->burst >= MICRO_MOST) return too_much;
    if (limit->count_refused) rule->flags |= MICRO_COUNTS_REFUSED;
    return rule->period <= PERIOD_MOST ? NULL : too_long;
}

static problem whole_us(const struct limit *limit)
{
    if (limit->period_ns % US_NS == 0) return NULL;
    return "an engine's clock counts whole microseconds, and so do windows in it; write a period of whole us, for "
           "example 10/ms";
}

static problem make_fixed(const struct limit *limit, struct micro_rule *rule)
{
    rule->block = us_ceil(limit->time_ns);
    if (rule->block > PERIOD_MOST) return too_long;
    if (limit->align == ALIGN_CLOCK) rule->flags |= MICRO_ALIGNED;
    const problem wrong = limit->align == ALIGN_CLOCK ? whole_us(limit) : NULL;
    return wrong != NULL ? wrong : make_window(limit, rule, limit->period_ns);
}

static problem make_sliding(const struct limit *limit, struct micro_rule *rule)
{
    const problem wrong = whole_us(limit);
    if (wrong != NULL) return wrong;
    const problem of_window = make_window(limit, rule, limit->period_ns);
    if (of_window != NULL) return of_window;
    rule->debt = limit->has_debt ? limit->debt : MICRO_MOST - rule->burst;
    return rule->debt <= MICRO_MOST - rule->burst ? NULL : too_much;
}

static problem make_log(const struct limit *limit, struct micro_rule *rule)
{
    rule->gap = us_ceil(limit->has_time ? limit->time_ns : 0);
    if (limit->edge == EDGE_CLOSED) rule->flags |= MICRO_CLOSED;
    if (limit->count.digits > MICRO_LOG_MAX) return too_long_logs;
    const problem wrong = make_window(limit, rule, add_saturating(limit->period_ns, limit->edge == EDGE_CLOSED));
    if (wrong != NULL) return wrong;
    return rule->gap <= PERIOD_MOST ? NULL : too_long;
}

static problem make_concurrent(const struct limit *limit, struct micro_rule *rule)
{
    rule->burst = limit->count.digits;
    rule->period = us_ceil(limit->time_ns);
    if (rule->burst > MICRO_SLOTS_MAX) {
        return "an engine keeps at most 10000 slots at one key; for example 10000 concurrent lease=30s";
    }
    return rule->period <= PERIOD_MOST ? NULL : too_long;
}

/* rule: empty, which is MICRO_NONE. */
static problem make(const struct limit *limit, struct micro_rule *rule)
{
    static const struct {
        uint8_t kind;
        problem (*make)(const struct limit *, struct micro_rule *);
    } kept[ALGORITHM_NAMES] = {[ALGORITHM_GCRA] = {MICRO_GCRA, make_gcra},
                               [ALGORITHM_HYBRID] = {MICRO_HYBRID, make_hybrid},
                               [ALGORITHM_LEAKY] = {MICRO_LEAKY, make_leaky},
                               [ALGORITHM_FIXED_WINDOW] = {MICRO_FIXED, make_fixed},
                               [ALGORITHM_SLIDING_WINDOW] = {MICRO_SLIDING, make_sliding},
                               [ALGORITHM_SLIDING_LOG] = {MICRO_LOG, make_log},
                               [ALGORITHM_CONCURRENT] = {MICRO_CONCURRENT, make_concurrent}};
    if (limit->phases != 0)
        return "a rate that changes with time paces one limiter and is not kept in an engine; for example 100/s";
    if (limit->algorithm == ALGORITHM_NONE) return NULL;
    if (limit->algorithm == ALGORITHM_UNLIMITED) {
        *rule = (struct micro_rule){.kind = MICRO_UNLIMITED, .burst = MICRO_MOST};
        return NULL;
    }
    rule->kind = kept[limit->algorithm].kind;
    return rule->kind == MICRO_NONE ? elsewhere(limit->algorithm) : kept[limit->algorithm].make(limit, rule);
}

static bool has_unit(const struct limit *limit)
{
    return limit->algorithm != ALGORITHM_NONE && limit->algorithm != ALGORITHM_UNLIMITED;
}

static bool has_many_units(const struct plan *plan)
{
    const char *unit = NULL;
    bool many = false;
    for (uint64_t i = 0; i < plan->count; i++) {
        if (!has_unit(&plan->limit[i])) continue;
        many = many || (unit != NULL && strcmp(unit, plan->limit[i].unit) != 0);
        unit = plan->limit[i].unit;
    }
    return many;
}

int micro_plan_make(struct micro_plan *plan, const weir_plan *from, weir_error *error)
{
    const struct plan *inside = plan_inside_const(from);
    uint64_t logs = 0, permits = 0;
    *plan = (struct micro_plan){.count = (unsigned)inside->count, .many_units = has_many_units(inside), .levels = 1};
    plan->first[1] = plan->count;
    if (plan->count != 0) plan->weights.weight = limit_weight(&inside->limit[0]);
    for (unsigned i = 0; i < plan->count; i++) {
        problem wrong = make(&inside->limit[i], &plan->rule[i]);
        const bool log = wrong == NULL && plan->rule[i].kind == MICRO_LOG;
        logs += log;
        permits += log ? plan->rule[i].burst : 0;
        if (permits > MICRO_LOG_MAX) wrong = too_long_logs;
        if (wrong == NULL) continue;
        if (error == NULL) return WEIR_EUNSUPPORTED;
        *error = (weir_error){.code = WEIR_EUNSUPPORTED};
        strncpy(error->message, wrong, sizeof error->message - 1);
        return WEIR_EUNSUPPORTED;
    }
    for (unsigned i = 0; i < plan->count; i++) {
        if (plan->rule[i].kind == MICRO_LOG) plan->rule[i].debt = MICRO_LOG_REACH / most(logs, 1);
    }
    return 0;
}
