/* SPDX-License-Identifier: MIT
   EngineBlock's limiter: a pointer that moves along the schedule, slot by slot.

   Each call is given the next free slot, and the pointer moves on by the call's time.  It starts there, or at once when
   that lies in the past; so the next call pays for this one, and what is missed stays on the schedule:

       ----|====|====|====|----.----.----.----|----> time         slot <= now: passes, now - slot behind
            given         slot: next         now                  slot >  now: starts at slot

   The pointer never looks at the clock.  So where the last reading of it, `seen`, lies behind the slot, it need not be
   read again: any later time gives the same answer.  What shall not be made up for at once is said by one of these:

     strictness  a reading that shows a gap beyond the call's own slot closes a share of it, a power of two: the pointer
                 moves on, the time is lost.  1 closes all of it, 0 nothing.
     catchup     a second pointer, `spaced`, moves on from each start by the call's time / catchup, and no call starts
                 before it: behind its schedule the work runs that much faster and no more.  Every call reads the clock.

       | slot, 0 = untouched | seen | latest | spaced | allocated | idle |   a cell, six words

   With strictness 1 at most 3 permits and then rate * t pass in any window t (one on a reading of long ago, one that
   reads the clock, one in the slot that this closes up to); with catchup c, c * rate * t; below 1 the schedule is the
   only bound: rate * time since the first call. */
#include "core/algorithm/timeline.h"

#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"

enum { SHARE_BITS = 64, CLOSES_NOTHING = 64, STRICT_AT_ONCE = 3, ROUNDED = 2 };

_Static_assert((int)TIMELINE_WORDS <= (int)STATE_WORDS_MAX, "timeline fits the state");

static uint64_t position_of(uint64_t tick)
{
    return add_saturating(tick, TIMELINE_ZERO);
}

static uint64_t timeline_tick_of(uint64_t position)
{
    return subtract_to_zero(position, TIMELINE_ZERO);
}

/* ---- the rule ---- */

static bool is_spaced(const struct rule *rule)
{
    return rule->third != 0;
}

/* cost / catchup, rounded up: the lower half of the product is what the shift cuts off. */
static uint64_t spacing_of(const struct rule *rule, uint64_t cost)
{
    return multiply_shift_floor(cost, rule->third, SHARE_BITS) + (cost * rule->third != 0);
}

/* Behind its schedule a call is held by the spacing, and that looks at the clock. */
static bool covers(const struct rule *rule, const uint64_t *state)
{
    return !is_spaced(rule) && timeline_covers(state);
}

static bool closes(const struct rule *rule)
{
    return rule->second < CLOSES_NOTHING;
}

/* Untouched, the schedule begins now. */
static uint64_t slot_at(const uint64_t *state, uint64_t now)
{
    return state[TIMELINE_SLOT] != 0 ? state[TIMELINE_SLOT] : now;
}

static uint64_t start_at(const uint64_t *state, uint64_t now)
{
    return most(slot_at(state, now), state[TIMELINE_SPACED]);
}

static void slot_add(uint64_t *state, uint64_t ticks)
{
    state[TIMELINE_SLOT] = add_saturating(state[TIMELINE_SLOT], ticks);
    state[TIMELINE_ALLOCATED] = add_saturating(state[TIMELINE_ALLOCATED], ticks);
}

static void slot_subtract(uint64_t *state, uint64_t ticks)
{
    state[TIMELINE_SLOT] = most(subtract_to_zero(state[TIMELINE_SLOT], ticks), 1);
    state[TIMELINE_ALLOCATED] = subtract_to_zero(state[TIMELINE_ALLOCATED], ticks);
}

static void timeline_pass(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t cost)
{
    if (state[TIMELINE_SLOT] == 0) state[TIMELINE_SLOT] = state[TIMELINE_SEEN] = now;
    const bool reads = !covers(rule, state);
    /* Each reading closes up to itself and so covers a slot: one that goes back would cover another. */
    state[TIMELINE_LATEST] = most(state[TIMELINE_LATEST], now);
    if (reads) state[TIMELINE_SEEN] = state[TIMELINE_LATEST];
    const uint64_t seen = state[TIMELINE_SEEN];
    slot_add(state, cost);
    if (is_spaced(rule)) {
        state[TIMELINE_SPACED] = add_saturating(most(state[TIMELINE_SPACED], seen), spacing_of(rule, cost));
    } else if (reads && closes(rule)) {
        const uint64_t closed = subtract_to_zero(seen, state[TIMELINE_SLOT]) >> rule->second;
        state[TIMELINE_SLOT] += closed;
        state[TIMELINE_IDLE] = add_saturating(state[TIMELINE_IDLE], closed);
    }
}

/* Gives out the slots of one permit that the last reading covers up to now; returns their ticks. */
static uint64_t pass_covered(const struct rule *rule, uint64_t *state, uint64_t now)
{
    const uint64_t slot = state[TIMELINE_SLOT];
    if (!covers(rule, state) || slot > now) return 0;
    const uint64_t ticks = ticks_of(rule, permits_floor(rule, least(state[TIMELINE_SEEN], now) - slot) + 1);
    state[TIMELINE_SLOT] = add_saturating(slot, ticks);
    return ticks;
}

/* What is covered; then one that reads the clock, and what this covers. */
static uint64_t timeline_room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const uint64_t now = position_of(at), one = ticks_of(rule, 1);
    uint64_t copy[TIMELINE_WORDS];
    memcpy(copy, state, sizeof copy);
    const uint64_t covered = pass_covered(rule, copy, now);
    if (start_at(copy, now) > now) return covered;
    timeline_pass(rule, copy, now, one);
    return add_saturating(add_saturating(covered, one), pass_covered(rule, copy, now));
}

/* ---- what was said ---- */

/* Strictness to a power of two, rounded down: the shift that leaves this share of a gap. */
static uint64_t shift_for(struct decimal strictness)
{
    uint64_t shift = 0, share = power_of_ten(strictness.places);
    for (; strictness.digits < share && shift < CLOSES_NOTHING; shift++) share -= share / 2;
    return shift;
}

static struct limit_problem timeline_compile(struct limit *limit, struct rule *rule)
{
    limit->has_strictness = limit->factor.digits == 0 || limit->strictness.digits != 0;
    struct limit_problem problem = limit_line(limit, rule);
    rule->second = shift_for(limit->strictness);
    if (problem.message != NULL || limit->factor.digits == 0) return problem;
    problem = limit_catchup(limit);
    if (problem.message != NULL) return problem;
    rule->third = shift_divide_ceil(power_of_ten(limit->factor.places), SHARE_BITS, limit->factor.digits);
    if (!closes(rule)) return limit_fine();
    return limit_wrong(
        OPTION_STRICTNESS,
        "strictness drops the lost time that catchup makes up; give one of them, for example strictness=0.5");
}

static uint64_t timeline_most_in(const struct limit *limit, uint64_t window_ns)
{
    if (limit->factor.digits != 0) return facts_linear_most_spaced(limit, limit->factor, window_ns);
    if (limit->strictness.digits != power_of_ten(limit->strictness.places)) return UINT64_MAX;
    return add_saturating(facts_linear_most_spaced(limit, (struct decimal){1, 0}, window_ns), STRICT_AT_ONCE - 1);
}

/* ---- asking ---- */

static struct offer timeline_offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                                   uint64_t wait_ns)
{
    (void)rule;
    (void)wait_ns;
    const uint64_t start = start_at(state, position_of(now));
    const bool beyond = cost > INT64_MAX || add_saturating(start, cost) == UINT64_MAX;
    return (struct offer){now, beyond ? UINT64_MAX : timeline_tick_of(start)};
}

static struct taken timeline_commit(const struct rule *rule, uint64_t *state, struct offer when, uint64_t cost)
{
    const uint64_t end =
        add_saturating(slot_at(state, position_of(when.from)), cost); /* what is closed comes after it */
    if (cost != 0) timeline_pass(rule, state, position_of(when.from), cost);
    return (struct taken){end - TIMELINE_ZERO, timeline_room(rule, state, when.from)};
}

static bool timeline_knows(const struct rule *rule, const uint64_t *state, uint64_t *now)
{
    *now = timeline_tick_of(state[TIMELINE_SEEN]);
    return covers(rule, state);
}

/* The first permit is due when the schedule begins. */
static struct account timeline_lateness(const struct rule *rule, uint64_t *state, uint64_t now, int64_t by)
{
    if (state[TIMELINE_SLOT] == 0) return (struct account){.due = 0};
    if (by > 0) slot_add(state, (uint64_t)by);
    if (by < 0) slot_subtract(state, 0 - (uint64_t)by);
    const uint64_t at = position_of(now), slot = state[TIMELINE_SLOT];
    const uint64_t given = state[TIMELINE_ALLOCATED], missed = state[TIMELINE_IDLE];
    const uint64_t begun = slot - given - missed - ticks_of(rule, 1);
    return (struct account){(int64_t)(at - begun), (int64_t)given, missed, subtract_to_zero(at, slot)};
}

/* On schedule again: when the slot after this one begins. */
static uint64_t timeline_full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    (void)rule;
    return most(timeline_tick_of(decision->end + TIMELINE_ZERO), now);
}

/* What is behind its schedule may catch up; a fresh one may not. */
static uint64_t timeline_idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    return most(timeline_tick_of(start_at(state, position_of(now))), now);
}

/* ---- correcting ---- */

/* The last call may have started: its slot lies in front of the pointer, and how long it is is not remembered. */
static struct balance timeline_balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const uint64_t owed = subtract_to_zero(start_at(state, position_of(now)), position_of(now));
    return (struct balance){timeline_room(rule, state, now), owed, owed != 0};
}

/* The schedule takes all of it back; but where gaps are closed, what has drained may have been closed already, and the
   spacing is shortened only if this call was the last. */
static void timeline_give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot,
                               uint64_t unused)
{
    const uint64_t start = position_of(slot->start), whole = spacing_of(rule, slot->cost);
    uint64_t back = least(unused, slot->cost);
    if (state[TIMELINE_SLOT] == 0) return;
    if (closes(rule)) {
        const uint64_t drained = least(slot->end + TIMELINE_ZERO, add_saturating(start, slot->cost));
        back = least(back, subtract_to_zero(drained, position_of(now)));
    }
    /* A reading that closes all of the gap covers one slot, and no more once something is given back. */
    if (rule->second == 0) {
        back = least(back, subtract_to_zero(state[TIMELINE_SLOT], state[TIMELINE_SEEN]));
    }
    if (state[TIMELINE_SPACED] <= add_saturating(add_saturating(start, whole), ROUNDED)) {
        const uint64_t freed = subtract_to_zero(whole, spacing_of(rule, slot->cost - back));
        state[TIMELINE_SPACED] = subtract_to_zero(state[TIMELINE_SPACED], freed);
    }
    slot_subtract(state, back);
}

static void timeline_carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                           uint64_t now, weir_carry how)
{
    const uint64_t at = position_of(now), anchor = position_of(to->anchor_tick), slot = state[TIMELINE_SLOT];
    if (slot == 0) return;
    const uint64_t waiting = carry_waiting(from, to, subtract_to_zero(slot, at));
    /* What may still be made up for is rounded down. */
    const weir_carry as_permits = how == WEIR_RESET ? WEIR_RESET : WEIR_SCALE;
    const uint64_t missed = subtract_to_zero(carry_used(from, to, subtract_to_zero(at, slot), as_permits), ROUNDED);
    next[TIMELINE_SLOT] = most(subtract_to_zero(add_saturating(anchor, waiting), missed), 1);
    /* What the last reading covers it covers still. */
    const uint64_t unseen = carry_used(from, to, subtract_to_zero(at, state[TIMELINE_SEEN]), how);
    if (how != WEIR_RESET) next[TIMELINE_SEEN] = subtract_to_zero(anchor, unseen);
    /* A call that waits because of the spacing waits for so many permits. */
    const uint64_t spaced = subtract_to_zero(state[TIMELINE_SPACED], at);
    const uint64_t ahead = is_spaced(from) ? shift_divide_ceil(spaced, SHARE_BITS, from->third) : 0;
    const uint64_t spacing = spacing_of(to, carry_waiting(from, to, ahead));
    if (is_spaced(to)) next[TIMELINE_SPACED] = add_saturating(anchor, spacing);
    for (int i = TIMELINE_ALLOCATED; i < TIMELINE_WORDS; i++) next[i] = carry_used(from, to, state[i], as_permits);
}

static const char *timeline_note(const struct limit *limit)
{
    const uint64_t one = power_of_ten(limit->strictness.places);
    if (limit->factor.digits != 0) {
        return limit->factor.digits > power_of_ten(limit->factor.places)
                   ? "idle time stays on the schedule; catchup makes it up slowly"
                   : "idle time stays on the schedule as lateness; catchup=1 never makes it up";
    }
    if (limit->strictness.digits == 0) return "idle time stays on the schedule; all of it is made up at once";
    if (limit->strictness.digits == one) {
        return "EngineBlock's strict limiting as it was built: idle time is given up, starts may come together";
    }
    return "a share of idle time is dropped (strictness, rounded down to 1/2, 1/4, ...); the rest is made up at once";
}

static void timeline_facts(const struct limit *limit, const struct rule *rule, struct facts *facts)
{
    (void)rule;
    facts->note = timeline_note(limit);
}

const struct algorithm *timeline_algorithm(void)
{
    static const struct algorithm timeline = {
        .name = "timeline",
        .options = WITH(CATCHUP) | WITH(STRICTNESS),
        .words = TIMELINE_WORDS,
        .pays_after = true,
        ALGORITHM_ANSWERS(timeline),
        .facts = timeline_facts,
        .lateness = timeline_lateness,
        .knows = timeline_knows,
        .full = timeline_full,
    };
    return &timeline;
}
