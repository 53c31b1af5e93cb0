/* SPDX-License-Identifier: MIT
   The arithmetic of gcra.c, so that a caller that knows that it is gcra gets it without a call. */
#ifndef WEIR_CORE_ALGORITHM_GCRA_INLINE_H
#define WEIR_CORE_ALGORITHM_GCRA_INLINE_H

#include "core/algorithm.h"
#include "core/num.h"

/* The tick at which everything taken so far has drained: now, or later. */
static inline uint64_t gcra_drained_at(const struct rule *rule, uint64_t state, uint64_t now)
{
    if (state != 0) return most(state, now);
    /* Fresh: full, or else empty at the moment when the clock was set. */
    return rule->flags & RULE_STARTS_FULL ? now : most(now, add_saturating(rule->anchor_tick, rule->burst));
}

/* ... with one more call of this cost; UINT64_MAX: beyond the clock. */
static inline uint64_t gcra_drained_after(const struct rule *rule, uint64_t state, uint64_t now, uint64_t cost)
{
    return add_saturating(gcra_drained_at(rule, state, now), cost);
}

static inline bool gcra_passes(const struct rule *rule, uint64_t now, uint64_t drained_after)
{
    return drained_after != UINT64_MAX && drained_after - now <= rule->burst;
}

static inline uint64_t gcra_room(const struct rule *rule, uint64_t now, uint64_t drained)
{
    return subtract_to_zero(rule->burst, drained - now);
}

#endif
