/* SPDX-License-Identifier: MIT
   Windows of a rule's period, one after the other: what counts in them shares where they begin. */
#ifndef WEIR_CORE_ALGORITHM_WINDOW_H
#define WEIR_CORE_ALGORITHM_WINDOW_H

#include "core/num.h"
#include "core/rule.h"

static inline uint64_t window_period(const struct rule *rule)
{
    return most(rule->period_ns, 1);
}

/* Where one begins by the epoch. */
static inline uint64_t window_epoch(const struct rule *rule)
{
    return window_period(rule) - rule->offset_ns % window_period(rule);
}

/* From this time until the next one begins, 1 to a period, where one begins at `begin`. */
static inline uint64_t window_left(const struct rule *rule, uint64_t begin, uint64_t ns)
{
    const uint64_t period = window_period(rule), at = ns % period, from = begin % period;
    return at < from ? from - at : period - (at - from);
}

#endif
