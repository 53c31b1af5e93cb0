/* SPDX-License-Identifier: MIT
   A rate that changes with time starts each call exactly where the integral of the rate says.

   oracle    f(t), the permits due by t, as exact fractions: each phase is a rectangle or a trapezoid
   clock     a position is floor(f(t)), in 2^-16 permits; start k is the least t with f(t - 1) < k <= f(t), and there is
             none from the end of the profile on; the two are inverse to each other
   calls     of a caller that is always ready, by the pure functions and by a limiter that begins at its first call, one
             after the other, some given back and taken again
   bound     in no window more than explain prints: that of the highest rate, and one for the rounding to ticks
   change    to another profile in the middle of a phase: what is due is carried in whole ticks */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/profile.h"
#include "plan/plan.h"
#include "property/property.h"
#include "wide.h"

enum { TEXT_SIZE = 1024, ORACLE_PHASES = 6, STARTS_MEAN = 30, TIMES = 8, BOUND_CALLS = 80, BOUND_STARTS = 60 };

static const uint64_t MINUTE_NS = 60000000000, LONGEST_NS = 100000000000;

/* Permits a minute. */
struct oracle {
    unsigned count;
    uint64_t from[ORACLE_PHASES], to[ORACLE_PHASES], lasts_ns[ORACLE_PHASES];
    bool ends;
    uint64_t first; /* the first start is this one: 1 of a bucket that begins empty */
    char text[TEXT_SIZE];
};

/* ---- the oracle ---- */

static uint64_t end_of(const struct oracle *oracle)
{
    uint64_t end_ns = 0;
    for (unsigned i = 0; i < oracle->count; i++) end_ns += oracle->lasts_ns[i];
    return oracle->ends ? end_ns : UINT64_MAX;
}

/* f(t) is above / (2 * MINUTE_NS * over). */
static void due_by(const struct oracle *oracle, uint64_t t, wide *above, wide *over)
{
    wide sum = 0; /* of whole phases, times 2 * MINUTE_NS */
    unsigned i = 0;
    for (; i + 1 < oracle->count && t > oracle->lasts_ns[i]; i++) {
        sum += (wide)(oracle->from[i] + oracle->to[i]) * oracle->lasts_ns[i];
        t -= oracle->lasts_ns[i];
    }
    const wide from = oracle->from[i], to = oracle->to[i], x = t;
    *over = oracle->lasts_ns[i];
    if (from == to) *over = 1;
    *above = sum * *over + (2 * *over * from + (to - from) * x) * x;
}

static bool is_due(const struct oracle *oracle, uint64_t t, uint64_t k)
{
    wide above, over;
    due_by(oracle, t, &above, &over);
    return above >= (wide)k * 2 * MINUTE_NS * over;
}

static void check_start(struct prop *prop, const struct oracle *oracle, uint64_t k, uint64_t t)
{
    const uint64_t end_ns = end_of(oracle);
    if (t == UINT64_MAX) {
        prop_check(prop, oracle->ends && !is_due(oracle, end_ns - 1, k), "start %" PRIu64 " is missing", k);
        return;
    }
    prop_check(prop, t < end_ns, "start %" PRIu64 " at %" PRIu64 ", behind the end", k, t);
    prop_check(prop, is_due(oracle, t, k), "start %" PRIu64 " at %" PRIu64 ", too early", k, t);
    prop_check(prop, t == 0 || !is_due(oracle, t - 1, k), "start %" PRIu64 " at %" PRIu64 ", too late", k, t);
}

/* ---- texts ---- */

static uint64_t pick_rate(struct prop *prop, struct writer *writer)
{
    static const struct {
        const char *period;
        uint64_t a_minute;
    } periods[] = {{"min", 1}, {"s", 60}, {"ms", 60000}};
    const unsigned period = (unsigned)prop_pick(prop, 3);
    const uint64_t permits = 1 + prop_pick_size(prop, period == 2 ? 5000 : 1000000);
    write_number(writer, permits);
    write_text(writer, "/");
    write_text(writer, periods[period].period);
    return permits * periods[period].a_minute;
}

static void pick_lasting(struct prop *prop, struct oracle *oracle, struct writer *writer)
{
    const uint64_t lasts_ns = 1 + prop_pick_size(prop, LONGEST_NS);
    oracle->lasts_ns[oracle->count++] = lasts_ns;
    write_number(writer, lasts_ns);
    write_text(writer, "ns");
}

/* The rate at its end, permits a minute. */
static uint64_t pick_phase(struct prop *prop, struct oracle *oracle, uint64_t before, struct writer *writer)
{
    const unsigned i = oracle->count;
    const uint64_t kind = prop_pick(prop, 4);
    if (kind == 3) {
        write_text(writer, "pause ");
        oracle->from[i] = oracle->to[i] = 0;
    } else if (kind == 0) {
        oracle->from[i] = oracle->to[i] = pick_rate(prop, writer);
        write_text(writer, " for ");
    } else {
        oracle->from[i] = kind == 1 ? before : pick_rate(prop, writer);
        write_text(writer, "..");
        oracle->to[i] = prop_chance(prop, 4) ? 0 : pick_rate(prop, writer);
        if (oracle->to[i] == 0) write_text(writer, "0/s");
        write_text(writer, " for ");
    }
    pick_lasting(prop, oracle, writer);
    return oracle->to[i];
}

static void pick_profile(struct prop *prop, struct oracle *oracle, const char *options)
{
    uint64_t before = 0, highest = 0;
    *oracle = (struct oracle){.ends = prop_chance(prop, 2), .first = strstr(options, "empty") != NULL};
    struct writer writer = {oracle->text, sizeof oracle->text, 0};
    const unsigned phases = 1 + (unsigned)prop_pick(prop, ORACLE_PHASES - 1);
    while (oracle->count < phases) {
        if (oracle->count > 0) write_text(&writer, " then ");
        before = pick_phase(prop, oracle, before, &writer);
        const unsigned i = oracle->count - 1;
        if (oracle->from[i] > highest) highest = oracle->from[i];
        if (oracle->to[i] > highest) highest = oracle->to[i];
    }
    if (highest == 0) oracle->ends = false;
    if (!oracle->ends) {
        write_text(&writer, " then ");
        oracle->from[oracle->count] = oracle->to[oracle->count] = pick_rate(prop, &writer);
        oracle->lasts_ns[oracle->count++] = LONGEST_NS;
    }
    write_text(&writer, options);
    prop_note(prop, "%s", oracle->text);
}

/* ---- the clock ---- */

static void check_position(struct prop *prop, const struct oracle *oracle, const struct profile *profile, uint64_t t)
{
    wide above, over;
    const uint64_t position = profile_position(profile, t), end_ns = end_of(oracle);
    due_by(oracle, t < end_ns ? t : end_ns - 1, &above, &over);
    const wide one = (wide)2 * MINUTE_NS * over, ticks = above << PROFILE_SCALE;
    prop_check(prop, one * position <= ticks && ticks < one * (wide)(position + 1),
               "at %" PRIu64 " the position is %" PRIu64, t, position);
    const uint64_t reached = profile_reach(profile, position);
    prop_check(prop, reached <= t, "position %" PRIu64 " is reached at %" PRIu64 ", not by %" PRIu64, position, reached,
               t);
    prop_check(prop, profile_position(profile, reached) == position, "and another one then");
    if (reached != 0) prop_check(prop, profile_position(profile, reached - 1) < position, "and the ns before");
}

static void check_clock(struct prop *prop, const struct oracle *oracle, const weir_plan *plan)
{
    struct profile profile;
    size_t at;
    const enum profile_problem problem = profile_make(&profile, &plan_inside_const(plan)->limit[0], &at);
    prop_check(prop, problem == PROFILE_FINE, "problem %d", problem);
    const uint64_t until_ns = end_of(oracle) == UINT64_MAX ? ORACLE_PHASES * LONGEST_NS : end_of(oracle) + 2;
    for (int i = 0; i < TIMES; i++) {
        check_position(prop, oracle, &profile, prop_pick(prop, until_ns + 1));
        const uint64_t k = profile_position(&profile, prop_pick(prop, until_ns + 1)) >> PROFILE_SCALE;
        check_start(prop, oracle, k, profile_reach(&profile, k << PROFILE_SCALE));
        check_start(prop, oracle, k + 1, profile_reach(&profile, (k + 1) << PROFILE_SCALE));
    }
}

/* ---- calls ---- */

static void check_ready(struct prop *prop, const struct oracle *oracle, const weir_plan *plan)
{
    uint64_t state[8] = {0}, now_ns = 0;
    prop_check(prop, weir_state_size(plan) <= sizeof state, "%zu bytes of state", weir_state_size(plan));
    for (uint64_t k = oracle->first; prop_more(prop, STARTS_MEAN); k++) {
        const weir_decision decision = weir_decide_within(plan, state, (weir_instant){now_ns}, 1, WEIR_FOREVER);
        prop_step(prop);
        if (!weir_allowed(decision)) {
            prop_check(prop, decision.verdict == WEIR_DENY && decision.retry_ns == WEIR_FOREVER, "verdict %u",
                       decision.verdict);
            check_start(prop, oracle, k, UINT64_MAX);
            return;
        }
        now_ns = decision.start.ns;
        check_start(prop, oracle, k, now_ns);
    }
}

static uint64_t next_start(struct prop *prop, weir_limiter *limiter)
{
    weir_decision decision = weir_reserve(limiter, 1, WEIR_FOREVER);
    prop_step(prop);
    if (weir_allowed(decision) && prop_chance(prop, 8)) {
        const uint64_t start_ns = decision.start.ns;
        weir_cancel(limiter, &decision);
        decision = weir_reserve(limiter, 1, WEIR_FOREVER);
        prop_check(prop, decision.start.ns == start_ns,
                   "given back and taken again it starts at %" PRIu64 ", not %" PRIu64, decision.start.ns, start_ns);
    }
    const bool never = decision.verdict == WEIR_DENY && decision.retry_ns == WEIR_FOREVER;
    prop_check(prop, weir_allowed(decision) || never, "verdict %u", decision.verdict);
    return never ? UINT64_MAX : decision.start.ns;
}

/* The starts of a limiter whose clock is set by hand; returns the last one and how many there were. */
static uint64_t run_limiter(struct prop *prop, const struct oracle *oracle, weir_limiter *limiter, uint64_t base_ns,
                            uint64_t *count)
{
    uint64_t last_ns = base_ns;
    for (*count = 0; *count == 0 || prop_more(prop, STARTS_MEAN); ++*count) {
        const uint64_t start_ns = next_start(prop, limiter);
        check_start(prop, oracle, oracle->first + *count, start_ns == UINT64_MAX ? start_ns : start_ns - base_ns);
        if (start_ns == UINT64_MAX) break;
        last_ns = start_ns;
        weir_manual_set(limiter, (weir_instant){start_ns});
    }
    return last_ns;
}

static void change(struct prop *prop, const struct oracle *oracle, const weir_plan *plan, weir_limiter *limiter,
                   uint64_t base_ns, const char *options)
{
    uint64_t count;
    const uint64_t last_ns = run_limiter(prop, oracle, limiter, base_ns, &count);
    count += oracle->first;
    struct oracle next;
    struct profile before, after;
    size_t at;
    weir_plan next_plan;
    weir_error error;
    profile_make(&before, &plan_inside_const(plan)->limit[0], &at);
    const uint64_t due_ns = profile_reach(&before, count << PROFILE_SCALE);
    if (due_ns == UINT64_MAX) return;
    pick_profile(prop, &next, options);
    const uint64_t at_ns = last_ns + prop_pick(prop, base_ns + due_ns - last_ns + 1);
    weir_manual_set(limiter, (weir_instant){at_ns});
    prop_check(prop, weir_set_limit(limiter, next.text, WEIR_KEEP, &error) == 0, "%s", error.message);
    prop_check(prop, weir_plan_parse(&next_plan, next.text, WEIR_PACE, &error) == 0, "%s", error.message);
    profile_make(&after, &plan_inside_const(&next_plan)->limit[0], &at);
    /* Below 0 where several ticks lie in the ns at which it is due. */
    const int64_t missing = (int64_t)((count << PROFILE_SCALE) - profile_position(&before, at_ns - base_ns));
    for (uint64_t k = 0; prop_more(prop, STARTS_MEAN); k++) {
        const uint64_t start_ns = next_start(prop, limiter);
        const int64_t position = missing + (int64_t)(k << PROFILE_SCALE);
        const uint64_t wanted_ns = profile_reach(&after, position > 0 ? (uint64_t)position : 0);
        prop_check(prop, start_ns == (wanted_ns == UINT64_MAX ? wanted_ns : at_ns + wanted_ns),
                   "start %" PRIu64 " behind the change at %" PRIu64 " is at %" PRIu64 ", not %" PRIu64, k, at_ns,
                   start_ns, at_ns + wanted_ns);
        if (start_ns == UINT64_MAX) break;
        weir_manual_set(limiter, (weir_instant){start_ns});
    }
}

/* Of calls that come at any time no window holds more than explain prints. */
static void check_bound(struct prop *prop, const weir_plan *plan)
{
    const struct limit *limit = &plan_inside_const(plan)->limit[0];
    uint64_t state[8] = {0}, started[BOUND_STARTS], now_ns = 0;
    int count = 0;
    for (int i = 0; i < BOUND_CALLS && count < BOUND_STARTS; i++) {
        if (prop_chance(prop, 2)) now_ns += prop_pick_size(prop, LONGEST_NS / 10);
        const weir_decision decision = weir_decide(plan, state, (weir_instant){now_ns}, 1);
        const bool never = decision.verdict == WEIR_DENY && decision.retry_ns == WEIR_FOREVER;
        prop_step(prop);
        if (weir_allowed(decision)) started[count++] = now_ns;
        else if (!never && prop_chance(prop, 2)) now_ns += decision.retry_ns;
    }
    for (int last = 0; last < count; last++) {
        for (int first = 0; first <= last; first++) {
            const uint64_t window_ns = started[last] - started[first] + 1;
            prop_check(prop, (uint64_t)(last - first + 1) <= facts_most_in(limit, window_ns),
                       "%d starts in %" PRIu64 " ns", last - first + 1, window_ns);
        }
    }
}

static void profile_property(struct prop *prop)
{
    static const char *const choices[] = {"", " burst=2", " catchup=1.5", " algorithm=gcra burst=2 start=empty"};
    const char *const options = choices[prop_pick(prop, 4)];
    struct oracle oracle;
    weir_plan plan;
    weir_error error;
    weir_options opened = WEIR_OPTIONS;
    weir_limiter *limiter;
    opened.use = WEIR_PACE;
    opened.clock = WEIR_CLOCK_MANUAL;
    pick_profile(prop, &oracle, options);
    prop_check(prop, weir_plan_parse(&plan, oracle.text, WEIR_PACE, &error) == 0, "%d: %s", error.column,
               error.message);
    check_clock(prop, &oracle, &plan);
    check_ready(prop, &oracle, &plan);
    check_bound(prop, &plan);
    prop_check(prop, weir_open(&limiter, oracle.text, &opened, &error) == 0, "%s", error.message);
    const uint64_t base_ns = prop_pick_size(prop, UINT64_C(1) << 60);
    weir_manual_set(limiter, (weir_instant){base_ns});
    weir_peek(limiter, 1);
    weir_manual_set(limiter, (weir_instant){base_ns + 5});
    change(prop, &oracle, &plan, limiter, base_ns + 5, options);
    weir_close(limiter);
}

PROPERTY("profile", profile_property, 5000);
