/* SPDX-License-Identifier: MIT
   Numbers of a phase are over 2 * lasts * period: x * (2 * lasts * from + (to - from) * x) at x, which rises all along,
   from 0 to lasts * lasts * (from + to).  A phase is only compiled if that fits, and PROFILE_SCALE bits more. */
#include "core/profile.h"

#include "core/num.h"

#define PROFILE_FAR (UINT64_C(1) << 62)
#define PROFILE_WIDE_BITS (126 - PROFILE_SCALE)

static uint64_t length_of(const struct profile_phase *phase)
{
    return phase->from == phase->to ? 1 : phase->lasts_ns; /* any length will do, as it cancels */
}

/* Due since the phase began. */
static uint128 covered(const struct profile_phase *phase, uint64_t x)
{
    const uint128 level = (uint128)2 * length_of(phase) * phase->from;
    if (phase->from == phase->to) return level * x;
    if (phase->from < phase->to) return (level + (uint128)(phase->to - phase->from) * x) * x;
    return (level - (uint128)(phase->from - phase->to) * x) * x;
}

/* ---- compiling ---- */

static uint128 over_of(const struct profile_phase *phase)
{
    return (uint128)2 * length_of(phase) * phase->period_ns[0];
}

static void reduce(uint64_t *permits, uint64_t *period_ns)
{
    const uint64_t divisor = greatest_common_divisor(*permits, *period_ns);
    *permits /= divisor;
    *period_ns /= divisor;
}

/* False: it does not fit. */
static bool take_in(uint64_t *common, uint64_t period_ns)
{
    const uint64_t factor = period_ns / greatest_common_divisor(*common, period_ns);
    if (factor > PROFILE_FAR / *common) return false;
    *common *= factor;
    return true;
}

static bool bits_fit(uint128 value, unsigned bits)
{
    return value >> bits == 0;
}

/* What is due at its end, as the beginning of the next. */
static enum profile_problem end_phase(const struct profile_phase *phase, uint64_t common, struct profile_phase *next)
{
    if (phase->lasts_ns > PROFILE_FAR - phase->begins_ns) return PROFILE_TOO_LONG;
    const uint128 sum = (uint128)phase->from + phase->to, length = phase->lasts_ns;
    if (!bits_fit(over_of(phase), PROFILE_WIDE_BITS)) return PROFILE_TOO_MANY;
    if (sum != 0 && length >= ((uint128)1 << PROFILE_WIDE_BITS) / sum / length_of(phase)) return PROFILE_TOO_MANY;
    const uint128 parts = sum * length + phase->part; /* lasts * lasts * (from + to) over lasts */
    if (!bits_fit(parts / 2 / common, 62 - PROFILE_SCALE) || phase->whole >> (62 - PROFILE_SCALE) != 0)
        return PROFILE_TOO_MANY;
    next->begins_ns = phase->begins_ns + phase->lasts_ns;
    next->whole = phase->whole + (uint64_t)(parts / 2 / common);
    next->part = (uint64_t)(parts % ((uint128)2 * common));
    return PROFILE_FINE;
}

enum profile_problem profile_compile(struct profile_phase *phase, size_t count, size_t *at)
{
    uint64_t common = 1;
    for (*at = 0; *at < count; ++*at) {
        struct profile_phase *here = &phase[*at];
        reduce(&here->from, &here->period_ns[0]);
        reduce(&here->to, &here->period_ns[1]);
        if (!take_in(&common, here->period_ns[0]) || !take_in(&common, here->period_ns[1]))
            return PROFILE_TOO_DIFFERENT;
    }
    struct profile_phase next = {.begins_ns = 0};
    for (*at = 0; *at < count; ++*at) {
        struct profile_phase *here = &phase[*at];
        if (here->from > PROFILE_FAR / (common / here->period_ns[0]) ||
            here->to > PROFILE_FAR / (common / here->period_ns[1]))
            return PROFILE_TOO_MANY;
        here->from *= common / here->period_ns[0];
        here->to *= common / here->period_ns[1];
        here->period_ns[0] = here->period_ns[1] = common;
        here->begins_ns = next.begins_ns;
        here->whole = next.whole;
        here->part = next.part;
        if (here->lasts_ns == UINT64_MAX) continue;
        const enum profile_problem problem = end_phase(here, common, &next);
        if (problem != PROFILE_FINE) return problem;
    }
    return PROFILE_FINE;
}

/* ---- asking ---- */

/* The last phase that began by then. */
static const struct profile_phase *phase_at(const struct profile_phase *phase, size_t count, uint64_t elapsed_ns)
{
    size_t first = 0;
    for (size_t last = count - 1; first < last;) {
        const size_t middle = first + (last - first + 1) / 2;
        if (phase[middle].begins_ns <= elapsed_ns) first = middle;
        else last = middle - 1;
    }
    return &phase[first];
}

static uint64_t position_in(const struct profile_phase *phase, uint64_t x)
{
    const uint128 over = over_of(phase);
    const uint128 top = covered(phase, least(x, phase->lasts_ns)) + (uint128)phase->part * length_of(phase);
    const uint128 whole = phase->whole + top / over, part = (top % over << PROFILE_SCALE) / over;
    return bits_fit(whole, 64 - PROFILE_SCALE) ? (uint64_t)(whole << PROFILE_SCALE | part) : UINT64_MAX;
}

uint64_t profile_position(const struct profile_phase *phase, size_t count, uint64_t elapsed_ns)
{
    const struct profile_phase *here = phase_at(phase, count, elapsed_ns);
    return position_in(here, elapsed_ns - here->begins_ns);
}

/* The first phase by whose end that much is due, or the last. */
static const struct profile_phase *phase_reaching(const struct profile_phase *phase, size_t count, uint64_t position)
{
    size_t first = 0;
    for (size_t last = count - 1; first < last;) {
        const size_t middle = first + (last - first) / 2;
        if (position_in(&phase[middle], phase[middle].lasts_ns) >= position) last = middle;
        else first = middle + 1;
    }
    return &phase[first];
}

uint64_t profile_reach(const struct profile_phase *phase, size_t count, uint64_t position)
{
    const struct profile_phase *here = phase_reaching(phase, count, position);
    uint64_t first = 0, last = least(here->lasts_ns, PROFILE_FAR - here->begins_ns);
    if (position_in(here, last) < position) return UINT64_MAX;
    if (position >> PROFILE_SCALE < here->whole) return here->begins_ns;
    /* covered >= wanted, both times 2^SCALE */
    const uint128 need = position - (here->whole << PROFILE_SCALE);
    const uint128 wanted = need * over_of(here), due = ((uint128)here->part << PROFILE_SCALE) * length_of(here);
    if (wanted <= due) return here->begins_ns;
    while (first < last) {
        const uint64_t middle = first + (last - first) / 2;
        if (covered(here, middle) << PROFILE_SCALE >= wanted - due) last = middle;
        else first = middle + 1;
    }
    return here->begins_ns + first;
}
