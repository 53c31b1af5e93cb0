/* SPDX-License-Identifier: MIT
   Numbers of a phase are over 2 * lasts * period: x * (2 * lasts * from + (to - from) * x) at x, which rises all along,
   from 0 to lasts * lasts * (from + to).  A phase is only compiled if that fits, and PROFILE_SCALE bits more. */
#include "core/profile.h"

#include "core/clock.h"
#include "core/num.h"

#define PROFILE_FAR (UINT64_C(1) << 62)
enum { WIDE_BITS = 126 - PROFILE_SCALE, WHOLE_BITS = 62 - PROFILE_SCALE, PROFILE_SECOND_NS = 1000000000 };

static num128 widened(uint64_t value)
{
    return num128_multiply(value, 1);
}

static uint64_t length_of(const struct profile_phase *phase)
{
    return phase->from == phase->to ? 1 : phase->lasts_ns; /* any length will do, as it cancels */
}

/* Due since the phase began. */
static num128 covered(const struct profile_phase *phase, uint64_t x)
{
    const num128 level = num128_multiply(2 * length_of(phase), phase->from);
    num128 slope = level;
    if (phase->from < phase->to) slope = num128_add(level, num128_multiply(phase->to - phase->from, x));
    if (phase->from > phase->to) slope = num128_subtract(level, num128_multiply(phase->from - phase->to, x));
    return num128_scale(slope, x);
}

static num128 over_of(const struct profile *profile, const struct profile_phase *phase)
{
    return num128_multiply(2 * profile->period_ns, length_of(phase));
}

/* The last ns in which anything of a phase is due: the clock of a profile stands a ns before its end. */
static uint64_t last_ns_of(const struct profile *profile, const struct profile_phase *phase)
{
    const bool ends = phase == &profile->phase[profile->count - 1] && phase->lasts_ns != UINT64_MAX;
    return ends ? phase->lasts_ns - 1 : phase->lasts_ns;
}

/* ---- compiling ---- */

/* The rate at the end of a phase, as a fraction. */
static void rate_at_end(const struct phase *said, uint64_t *permits, uint64_t *period_ns)
{
    const struct limit limit = {.count = {said->digits, said->places}, .period_ns = said->period_ns};
    if (said->digits == 0) *permits = 0, *period_ns = 1;
    else if (!limit_rate(&limit, permits, period_ns)) *permits = *period_ns = 0;
}

/* False: it does not fit. */
static bool take_in(uint64_t *common, uint64_t period_ns)
{
    if (period_ns == 0) return false;
    const uint64_t factor = period_ns / greatest_common_divisor(*common, period_ns);
    if (factor > PROFILE_FAR / *common) return false;
    *common *= factor;
    return true;
}

/* What is due at its end, as the beginning of the next. */
static enum profile_problem end_phase(const struct profile *profile, const struct profile_phase *phase,
                                      struct profile_phase *next)
{
    const uint64_t sum = phase->from + phase->to, length = length_of(phase), lasts_ns = phase->lasts_ns;
    num128 rest;
    if (lasts_ns > PROFILE_FAR - phase->begins_ns) return PROFILE_TOO_LONG;
    if (!num128_fits(over_of(profile, phase), WIDE_BITS)) return PROFILE_TOO_MANY;
    const num128 most_due = num128_shift_left(num128_shift_left(widened(1), 63), WIDE_BITS - 63);
    if (sum != 0 && !num128_less(num128_multiply(lasts_ns, length), num128_divide(most_due, widened(sum), &rest)))
        return PROFILE_TOO_MANY;
    /* lasts * lasts * (from + to) over lasts */
    const num128 parts = num128_add(num128_multiply(sum, lasts_ns), widened(phase->part));
    const num128 whole = num128_divide(parts, widened(2 * profile->period_ns), &rest);
    if (!num128_fits(whole, WHOLE_BITS)) return PROFILE_TOO_MANY;
    next->begins_ns = phase->begins_ns + lasts_ns;
    next->whole = phase->whole + num128_low(whole);
    next->part = num128_low(rest);
    return num128_fits(widened(next->whole), WHOLE_BITS) ? PROFILE_FINE : PROFILE_TOO_MANY;
}

enum profile_problem profile_make(struct profile *profile, const struct limit *limit, size_t *at)
{
    const struct phase *said = limit_phases(limit);
    struct profile_phase next = {.begins_ns = 0};
    uint64_t permits, period_ns, before = 0;
    *profile = (struct profile){.count = least(limit->phases, PHASES_MAX), .period_ns = 1};
    for (*at = 0; *at < profile->count; ++*at) {
        rate_at_end(&said[*at], &permits, &period_ns);
        if (!take_in(&profile->period_ns, period_ns)) return PROFILE_TOO_DIFFERENT;
    }
    for (*at = 0; *at < profile->count; ++*at) {
        struct profile_phase *here = &profile->phase[*at];
        rate_at_end(&said[*at], &permits, &period_ns);
        const uint64_t factor = profile->period_ns / most(period_ns, 1);
        if (permits > PROFILE_FAR / factor) return PROFILE_TOO_MANY;
        *here = next;
        here->lasts_ns = said[*at].lasts_ns;
        here->to = permits * factor;
        here->from = said[*at].ramps ? before : here->to;
        before = here->to;
        if (here->lasts_ns == UINT64_MAX) return PROFILE_FINE; /* the last */
        const enum profile_problem problem = end_phase(profile, here, &next);
        if (problem != PROFILE_FINE) return problem;
    }
    profile->phase[profile->count] = next;
    return PROFILE_FINE;
}

void profile_pace(struct profile *profile, struct rule *rule)
{
    profile->multiplier = rule->multiplier;
    profile->shift = rule->shift;
    rule->profile = (uintptr_t)profile;
    rule->flags |= RULE_PROFILE;
}

/* ---- asking ---- */

/* The last phase that began by then. */
static const struct profile_phase *phase_at(const struct profile *profile, uint64_t elapsed_ns)
{
    size_t first = 0;
    for (size_t last = (size_t)profile->count - 1; first < last;) {
        const size_t middle = first + (last - first + 1) / 2;
        if (profile->phase[middle].begins_ns <= elapsed_ns) first = middle;
        else last = middle - 1;
    }
    return &profile->phase[first];
}

static uint64_t position_in(const struct profile *profile, const struct profile_phase *phase, uint64_t x)
{
    const num128 over = over_of(profile, phase);
    const num128 before = num128_multiply(phase->part, length_of(phase));
    num128 rest, unused;
    const num128 whole = num128_divide(num128_add(covered(phase, x), before), over, &rest);
    const num128 part = num128_divide(num128_shift_left(rest, PROFILE_SCALE), over, &unused);
    const num128 sum = num128_add(whole, widened(phase->whole));
    return num128_fits(sum, 64 - PROFILE_SCALE) ? num128_low(sum) << PROFILE_SCALE | num128_low(part) : UINT64_MAX;
}

uint64_t profile_position(const struct profile *profile, uint64_t elapsed_ns)
{
    const struct profile_phase *here = phase_at(profile, elapsed_ns);
    return position_in(profile, here, least(elapsed_ns - here->begins_ns, last_ns_of(profile, here)));
}

/* The end of a phase, or of what can be counted. */
static uint64_t span_of(const struct profile *profile, const struct profile_phase *phase)
{
    return least(last_ns_of(profile, phase), PROFILE_FAR - phase->begins_ns);
}

/* The first phase by whose end that much is due, or the last. */
static const struct profile_phase *phase_reaching(const struct profile *profile, uint64_t position)
{
    size_t first = 0;
    for (size_t last = (size_t)profile->count - 1; first < last;) {
        const size_t middle = first + (last - first) / 2;
        const struct profile_phase *phase = &profile->phase[middle];
        if (position_in(profile, phase, span_of(profile, phase)) >= position) last = middle;
        else first = middle + 1;
    }
    return &profile->phase[first];
}

/* The first ns at which covered is as much as wanted, both times 2^SCALE; it is, at `last`. */
static uint64_t covered_at(const struct profile_phase *phase, num128 wanted, uint64_t last)
{
    uint64_t first = 0;
    num128 rest;
    if (phase->from == phase->to) {
        const num128 each = num128_shift_left(num128_multiply(2, phase->from), PROFILE_SCALE);
        const uint64_t whole = num128_low(num128_divide(wanted, each, &rest));
        return whole + num128_less(widened(0), rest);
    }
    while (first < last) {
        const uint64_t middle = first + (last - first) / 2;
        if (num128_less(num128_shift_left(covered(phase, middle), PROFILE_SCALE), wanted)) first = middle + 1;
        else last = middle;
    }
    return first;
}

uint64_t profile_reach(const struct profile *profile, uint64_t position)
{
    const struct profile_phase *here = phase_reaching(profile, position);
    const uint64_t last = span_of(profile, here);
    if (position_in(profile, here, last) < position) return UINT64_MAX;
    const uint64_t need = subtract_to_zero(position, here->whole << PROFILE_SCALE);
    const num128 wanted = num128_scale(over_of(profile, here), need);
    const num128 due = num128_shift_left(num128_multiply(here->part, length_of(here)), PROFILE_SCALE);
    if (!num128_less(due, wanted)) return here->begins_ns;
    return here->begins_ns + covered_at(here, num128_subtract(wanted, due), last);
}

/* ---- as the clock of a rule ---- */

static const struct profile *profile_of(const struct rule *rule)
{
    return (const struct profile *)(uintptr_t)rule->profile;
}

uint64_t profile_tick_at(const struct rule *rule, uint64_t now_ns)
{
    const uint64_t elapsed_ns = subtract_to_zero(now_ns, rule->anchor_ns);
    return add_saturating(rule->anchor_tick, profile_position(profile_of(rule), elapsed_ns));
}

uint64_t profile_ns_ceil(const struct rule *rule, uint64_t tick)
{
    const uint64_t ticks = subtract_to_zero(tick, rule->anchor_tick);
    return add_saturating(rule->anchor_ns, profile_reach(profile_of(rule), ticks));
}

/* Before it began its highest rate counts. */
uint64_t profile_ns_ceil_signed(const struct rule *rule, uint64_t tick)
{
    const uint64_t before = rule->anchor_tick - tick;
    const struct profile *profile = profile_of(rule);
    if ((int64_t)before <= 0) return profile_ns_ceil(rule, tick);
    return subtract_to_zero(rule->anchor_ns, shift_divide_floor(before, profile->shift, profile->multiplier));
}

/* ---- for people ---- */

uint64_t profile_starts(const struct profile *profile, size_t phase)
{
    const uint64_t begins_ns = profile->phase[phase].begins_ns;
    if (begins_ns != 0) return (profile_position(profile, begins_ns - 1) >> PROFILE_SCALE) + 1;
    return phase == profile->count ? UINT64_MAX : 0;
}

double profile_rate(const struct profile *profile, uint64_t elapsed_ns)
{
    const struct profile_phase *here = phase_at(profile, elapsed_ns);
    const uint64_t x = elapsed_ns - here->begins_ns;
    if (x >= here->lasts_ns) return 0; /* so late only the last phase can be */
    const double part = here->from == here->to ? 0 : (double)x / (double)here->lasts_ns;
    const double permits = (double)here->from + ((double)here->to - (double)here->from) * part;
    return permits / (double)profile->period_ns * PROFILE_SECOND_NS;
}
