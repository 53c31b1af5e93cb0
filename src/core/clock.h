/* SPDX-License-Identifier: MIT
   A limit's own clock: ticks and nanoseconds, the only rounding of time.

   A limit of p permits per q ns owns a clock that ticks 2^scale times per permit, half a ns to a ns a tick.  A cost is
   then a shift, exact for ever, and reading the clock is one multiplication:

       tick(t)    = anchor_tick + floor((t - anchor_ns) * multiplier / 2^shift)
       ns_ceil(T) = anchor_ns + ceil((T - anchor_tick) * 2^shift / multiplier)      the first ns at which tick >= T

   The multiplier is rounded up, or an exact multiple of the interval would read one tick short; the error stays below
   a tick for 2^63 ticks, and below two as long as they fit in 64 bits.  A tick is not longer than a ns, or two ns would
   share one and a wait would come out a ns short.

   The clock of a profile changes its speed (profile.h).  Its tick is 2^-16 permits, however long that lasts: whole
   permits are exact, and what falls between two ticks counts as the earlier one.

   Where a limit counts in windows, its clock is the plain one: a tick is a ns and a permit is 1.

   ns_ceil is the exact inverse; both saturate; a time before the anchor reads as the anchor. */
#ifndef WEIR_CORE_CLOCK_H
#define WEIR_CORE_CLOCK_H

#include "core/num.h"
#include "core/rule.h"

/* The same of a profile; in profile.c, out of the way. */
__attribute__((cold)) uint64_t profile_tick_at(const struct rule *rule, uint64_t now_ns);
__attribute__((cold)) uint64_t profile_ns_ceil(const struct rule *rule, uint64_t tick);
__attribute__((cold)) uint64_t profile_ns_ceil_signed(const struct rule *rule, uint64_t tick);

static inline bool clock_is_profile(const struct rule *rule)
{
    return __builtin_expect((rule->flags & RULE_PROFILE) != 0, 0);
}

static inline uint64_t tick_at(const struct rule *rule, uint64_t now_ns)
{
    if (clock_is_profile(rule)) return profile_tick_at(rule, now_ns);
    const uint64_t elapsed_ns = subtract_to_zero(now_ns, rule->anchor_ns);
    return add_saturating(rule->anchor_tick, multiply_shift_floor_64(elapsed_ns, rule->multiplier, rule->shift));
}

static inline uint64_t ns_ceil(const struct rule *rule, uint64_t tick)
{
    if (clock_is_profile(rule)) return profile_ns_ceil(rule, tick);
    const uint64_t ticks = subtract_to_zero(tick, rule->anchor_tick);
    return add_saturating(rule->anchor_ns, shift_divide_ceil(ticks, rule->shift, rule->multiplier));
}

/* The same of a tick that may lie before the anchor, where a schedule reaches back behind a change of limit. */
static inline uint64_t ns_ceil_signed(const struct rule *rule, uint64_t tick)
{
    if (clock_is_profile(rule)) return profile_ns_ceil_signed(rule, tick);
    const uint64_t after = tick - rule->anchor_tick;
    if ((int64_t)after >= 0) {
        return add_saturating(rule->anchor_ns, shift_divide_ceil(after, rule->shift, rule->multiplier));
    }
    return subtract_to_zero(rule->anchor_ns, shift_divide_floor(0 - after, rule->shift, rule->multiplier));
}

/* How long ago the clock was so many ticks behind what it is now; of a steady clock, how long so many ticks last. */
static inline uint64_t clock_ns_ago(const struct rule *rule, uint64_t now_ns, uint64_t ticks)
{
    if (!clock_is_profile(rule)) return shift_divide_ceil(ticks, rule->shift, rule->multiplier);
    return ticks == 0 ? 0 : subtract_to_zero(now_ns, ns_ceil_signed(rule, tick_at(rule, now_ns) - ticks));
}

/* Permits to ticks; what does not fit is UINT64_MAX. */
static inline uint64_t ticks_of(const struct rule *rule, uint64_t permits)
{
    const unsigned scale = rule->scale & 63;
    return permits > UINT64_MAX >> scale ? UINT64_MAX : permits << scale;
}

/* Of the plain clock: the time that this tick stands for. */
static inline uint64_t plain_ns(const struct rule *rule, uint64_t tick)
{
    return add_saturating(rule->anchor_ns, subtract_to_zero(tick, rule->anchor_tick));
}

static inline uint64_t plain_tick(const struct rule *rule, uint64_t ns)
{
    return add_saturating(rule->anchor_tick, subtract_to_zero(ns, rule->anchor_ns));
}

static inline uint64_t permits_floor(const struct rule *rule, uint64_t ticks)
{
    return ticks >> (rule->scale & 63);
}

#endif
