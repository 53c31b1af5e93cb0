/* SPDX-License-Identifier: MIT
   gcra.c - the generic cell rate algorithm: one word, the tick at which everything taken so far has drained.

   The plain way is a bucket of tokens and the time it was last filled: two numbers that must change together.  But a
   bucket that fills steadily is full at a time one can name, and taking moves that time on by the cost.  So keep the
   time alone:

            now                          X (all drained)     now + burst
       ------|============================|-------------------|----> ticks
              used, still draining          room

       X' = max(X, now) + cost        allowed  <=>  X' <= now + burst

   A refusal is exact too: the same call passes at X + cost - burst.  ATM Forum TM 4.1 (1999), virtual scheduling;
   governor, throttled and redis-cell answer the same.

   May touch: its arguments.  Promises: at most burst + rate * t permits in any window t.  Leaves to others: where the
   word lives. */
#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"

static uint64_t drained_at(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    if (state[0] != 0) return most(state[0], now);
    /* Fresh: full, or else empty at the moment when the clock was set. */
    return rule->flags & RULE_STARTS_FULL ? now : most(now, add_saturating(rule->anchor_tick, rule->burst));
}

static bool possible(const struct rule *rule, uint64_t permits)
{
    return permits <= permits_floor(rule, rule->burst);
}

static uint64_t earliest(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost)
{
    const uint64_t drained = add_saturating(drained_at(rule, state, now), cost);
    if (drained == UINT64_MAX || cost > rule->burst) return UINT64_MAX;
    return drained - now <= rule->burst ? now : drained - rule->burst;
}

static struct taken commit(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t cost)
{
    const uint64_t drained = add_saturating(drained_at(rule, state, at), cost);
    if (cost != 0) state[0] = drained;
    return (struct taken){drained, subtract_to_zero(rule->burst, drained - at)};
}

static uint64_t room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    return subtract_to_zero(rule->burst, drained_at(rule, state, at) - at);
}

static uint64_t mark(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return drained_at(rule, state, now);
}

static uint64_t start_of(const struct rule *rule, const uint64_t *state, uint64_t end, uint64_t cost)
{
    (void)state;
    (void)cost;
    return end > INT64_MAX ? 0 : subtract_to_zero(end, rule->burst); /* a negative end lies before the clock was set */
}

static bool waited_for(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return state[0] > add_saturating(now, rule->burst);
}

static void give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot, uint64_t unused)
{
    (void)rule;
    const uint64_t by_end = subtract_to_zero(slot->end, most(now, subtract_to_zero(slot->end, slot->cost)));
    /* Where an earlier slot was given back, this one has drained sooner than its end says: from its start on. */
    const uint64_t by_start = subtract_to_zero(add_saturating(slot->start, slot->cost), now);
    state[0] = subtract_to_zero(state[0], least(unused, least(by_end, by_start)));
}

static void overcharge(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t extra)
{
    state[0] = add_saturating(drained_at(rule, state, now), extra);
}

static void carry(const struct rule *from, const struct rule *to, uint64_t *state, uint64_t now, weir_carry how)
{
    const uint64_t debt = drained_at(from, state, now) - now;
    const uint64_t used = least(debt, from->burst);
    const bool empty = how == WEIR_RESET && !(to->flags & RULE_STARTS_FULL);
    const uint64_t owed = empty ? to->burst : carry_used(from, to, used, how);
    state[0] = add_saturating(to->anchor_tick, add_saturating(owed, carry_waiting(from, to, debt - used)));
}

static uint64_t full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    (void)rule;
    return most(decision->end, now);
}

const struct algorithm *gcra_algorithm(void)
{
    static const struct algorithm gcra = {
        .words = 1,
        .keeps_schedule = false,
        .possible = possible,
        .earliest = earliest,
        .commit = commit,
        .room = room,
        .mark = mark,
        .start_of = start_of,
        .waited_for = waited_for,
        .give_back = give_back,
        .overcharge = overcharge,
        .carry = carry,
        .full = full,
    };
    return &gcra;
}
