/* SPDX-License-Identifier: MIT
   What becomes of ticks when the rule changes.

   What was used is carried as the same time, as the same permits, or not at all, as the caller that changes the limit
   says.  What a caller still waits for is carried as permits in any case: it keeps its place.  Both are rounded up,
   against the caller, by less than two ticks or two ns, whichever is longer. */
#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"

static uint64_t shifted_ceil(uint64_t ticks, int left)
{
    if (left >= 0) return left < 64 && ticks <= UINT64_MAX >> left ? ticks << left : (ticks == 0 ? 0 : UINT64_MAX);
    const int right = -left;
    if (right >= 64) return ticks != 0;
    return (ticks >> right) + ((ticks & ((UINT64_C(1) << right) - 1)) != 0);
}

uint64_t carry_waiting(const struct rule *from, const struct rule *to, uint64_t ticks)
{
    return shifted_ceil(ticks, to->scale - from->scale);
}

static uint64_t same_time(const struct rule *from, const struct rule *to, uint64_t ticks)
{
    /* Of a profile's clock a tick has no length, so permits stay permits. */
    if (clock_is_profile(from) || clock_is_profile(to)) return carry_waiting(from, to, ticks);
    return shifted_ceil(multiply_divide_ceil(ticks, to->multiplier, from->multiplier), from->shift - to->shift);
}

uint64_t carry_moment(const struct rule *from, const struct rule *to, uint64_t tick, uint64_t now)
{
    const uint64_t ns = ns_ceil(from, tick), paused_ns = subtract_to_zero(to->anchor_ns, ns_ceil(from, now));
    if (ns != UINT64_MAX) return tick_at(to, add_saturating(ns, paused_ns));
    return add_saturating(to->anchor_tick, same_time(from, to, subtract_to_zero(tick, now)));
}

uint64_t carry_used(const struct rule *from, const struct rule *to, uint64_t ticks, weir_carry carry)
{
    if (carry == WEIR_KEEP) return same_time(from, to, ticks);
    return carry == WEIR_SCALE ? carry_waiting(from, to, ticks) : 0;
}
