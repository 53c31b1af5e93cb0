/* SPDX-License-Identifier: MIT
   The generic cell rate algorithm: one word, the tick at which everything taken so far has drained (in the papers: the
   theoretical arrival time).

   The plain way is a bucket of tokens and the time it was last filled: two numbers that must change together.  But a
   bucket that fills steadily is full at a time one can name, and taking moves that time on by the cost.  So keep the
   time alone:

            now                          X (all drained)     now + burst
       ------|============================|-------------------|----> ticks
              used, still draining          room

       X' = max(X, now) + cost        allowed  <=>  X' <= now + burst

   A refusal is exact too: the same call passes at X + cost - burst.  ATM Forum TM 4.1 (1999), virtual scheduling;
   governor, throttled and redis-cell answer the same.  At most burst + rate * t permits pass in any window t.

   The arithmetic is in gcra_inline.h. */
#include "core/algorithm.h"
#include "core/algorithm/gcra_inline.h"
#include "core/clock.h"
#include "core/facts.h"

enum { GCRA_SHARE = 8 }; /* a lease has at most this part of what is there, so that something is left for others */

static uint64_t gcra_idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return gcra_drained_at(rule, state[0], now);
}

static struct limit_problem gcra_compile(struct limit *limit, struct rule *rule)
{
    limit_default_burst(limit);
    const struct limit_problem problem = limit_line(limit, rule);
    if (problem.message != NULL) return problem;
    if (limit->start != START_EMPTY) rule->flags |= RULE_STARTS_FULL;
    if (limit->guaranteed) rule->flags |= RULE_GUARANTEED;
    if (rule->burst >> rule->scale != 0) return limit_check_weight(limit);
    return limit_wrong(OPTION_BURST, "burst is at least 1, or nothing could ever pass; for example burst=1");
}

static struct offer gcra_offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                               uint64_t wait_ns)
{
    (void)wait_ns;
    const uint64_t drained = gcra_drained_after(rule, state[0], now, cost);
    if (drained == UINT64_MAX || cost > rule->burst) return (struct offer){now, UINT64_MAX};
    return (struct offer){now, gcra_passes(rule, now, drained) ? now : drained - rule->burst};
}

static struct taken gcra_commit(const struct rule *rule, uint64_t *state, struct offer when, uint64_t cost)
{
    const uint64_t drained = gcra_drained_after(rule, state[0], when.start, cost);
    if (cost != 0) state[0] = drained;
    return (struct taken){drained, gcra_room(rule, when.start, drained)};
}

static struct balance gcra_balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const uint64_t used = gcra_idle(rule, state, now) - now;
    const uint64_t owed = subtract_to_zero(used, rule->burst);
    return (struct balance){subtract_to_zero(rule->burst, used), owed, owed != 0};
}

static void gcra_give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot,
                           uint64_t unused)
{
    (void)rule;
    const uint64_t by_end = subtract_to_zero(slot->end, most(now, subtract_to_zero(slot->end, slot->cost)));
    /* Where an earlier slot was given back, this one has drained sooner than its end says: from its start on. */
    const uint64_t by_start = subtract_to_zero(add_saturating(slot->start, slot->cost), now);
    state[0] = subtract_to_zero(state[0], least(unused, least(by_end, by_start)));
}

static void gcra_hold(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t out)
{
    state[0] = most(gcra_idle(rule, state, now), add_saturating(now, out));
}

static struct stretch gcra_slice(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t until,
                                 uint64_t most_permits)
{
    const uint64_t drained = gcra_idle(rule, state, now), credit = subtract_to_zero(rule->burst, drained - now);
    const uint64_t permits = least(most_permits, permits_floor(rule, credit) / GCRA_SHARE);
    (void)until; /* nothing starts later than now */
    const uint64_t end = add_saturating(drained, ticks_of(rule, permits));
    if (permits < SLICE_LEAST || end == UINT64_MAX) return (struct stretch){.permits = 0};
    state[0] = end;
    return (struct stretch){permits, now, now, end};
}

static void gcra_carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                       uint64_t now, weir_carry how)
{
    const uint64_t debt = gcra_idle(from, state, now) - now;
    const uint64_t used = least(debt, from->burst);
    const bool empty = how == WEIR_RESET && !(to->flags & RULE_STARTS_FULL);
    const uint64_t owed = empty ? to->burst : carry_used(from, to, used, how);
    next[0] = add_saturating(to->anchor_tick, add_saturating(owed, carry_waiting(from, to, debt - used)));
}

static uint64_t gcra_most_in(const struct limit *limit, uint64_t window_ns)
{
    return facts_linear_most_in(limit, (struct decimal){1, 0}, window_ns);
}

const struct algorithm *gcra_algorithm(void)
{
    static const struct algorithm gcra = {
        .name = "gcra",
        .options = WITH(BURST) | WITH(START) | WITH(DEBT) | WITH(GUARANTEED) | WITH(WEIGHT),
        .words = 1,
        ALGORITHM_ANSWERS(gcra),
        .hold = gcra_hold,
        .slice = gcra_slice,
    };
    return &gcra;
}
