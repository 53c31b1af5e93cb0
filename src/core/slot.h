/* SPDX-License-Identifier: MIT
   gcra in the units of a table: what one 16-byte slot needs to decide.

   In a table a slot must be recognisable as idle whatever limit it belongs to, so all limits share one clock: units of
   2^-unit ns.  A permit is a whole number of units, rounded up, so a limit is slower than it says by at most one unit
   in an interval, and never faster; the burst is the same number of permits as everywhere else.

       drained' = max(drained, now) + cost        allowed  <=>  drained' <= now + burst

   For one unit every place that decides by this agrees to the bit.  In a table the word has 56 bits
   (share/table/table.c). */
#ifndef WEIR_CORE_SLOT_H
#define WEIR_CORE_SLOT_H

#include "core/algorithms.h"
#include "core/limit.h"
#include "core/num.h"
#include "core/rule.h"

/* Intervals are kept in 2^-8 ns, which is the finest unit of a table; up to two years. */
enum { SLOT_UNIT_MAX = 8, SLOT_UNIT_MIN = -8 };

/* One limit, in units. */
struct slot_rule {
    uint64_t interval; /* of one permit, at least 1 */
    uint64_t burst;    /* how far ahead of now the drained time may be */
    uint64_t debt;     /* how much further when charged whatever the balance; UINT64_MAX: any */
};

/* ns between two permits in 2^-8 ns, rounded up; 0 when this limit does not fit a slot: it is no gcra that starts full,
   or so slow that the number does not fit. */
static inline uint64_t slot_interval(const struct limit *limit, const struct rule *rule)
{
    uint64_t permits, period_ns;
    const bool fits = rule->algorithm == ALGORITHM_GCRA && rule->flags & RULE_STARTS_FULL;
    if (!fits) return 0;
    limit_rate(limit, &permits, &period_ns); /* what was compiled has one */
    const uint64_t interval = shift_divide_ceil(period_ns, SLOT_UNIT_MAX, permits);
    return interval == UINT64_MAX ? 0 : interval;
}

static inline struct slot_rule slot_rule_of(const struct rule *rule, uint64_t interval, int unit)
{
    const unsigned down = (unsigned)(SLOT_UNIT_MAX - unit);
    const uint64_t rounded = add_saturating(interval, (UINT64_C(1) << down) - 1) >> down;
    return (struct slot_rule){
        .interval = rounded,
        .burst = multiply_shift_floor(rule->burst, rounded, rule->scale),
        .debt = rule->debt == UINT64_MAX ? UINT64_MAX : multiply_shift_floor(rule->debt, rounded, rule->scale)};
}

static inline uint64_t slot_cost(const struct slot_rule *rule, uint64_t permits)
{
    return multiply_shift_floor(permits, rule->interval, 0);
}

#endif
