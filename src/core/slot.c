/* SPDX-License-Identifier: MIT
   slot.c - which limits fit a slot, and the length of their permits. */
#include "core/slot.h"

#include "core/algorithms.h"

/* ceil(period * 2^8 / permits), or 0. */
static uint64_t rounded_up(uint64_t permits, uint64_t period_ns)
{
    const uint64_t interval = shift_divide_ceil(period_ns, SLOT_UNIT_MAX, permits);
    return interval == UINT64_MAX ? 0 : interval;
}

uint64_t slot_interval(const struct limit *limit, const struct rule *rule)
{
    uint64_t permits = 0, period_ns = 0;
    if (rule->algorithm != ALGORITHM_GCRA || !(rule->flags & RULE_STARTS_FULL)) return 0;
    if (!limit_rate(limit, &permits, &period_ns)) return 0;
    return rounded_up(permits, period_ns);
}
