/* SPDX-License-Identifier: MIT
   timeline.c - seed 001: a pointer that moves along the schedule, slot by slot.

   Each call is given the next free slot, and the pointer moves on by the call's time.  It starts there, or at once when
   that lies in the past; so the next call pays for this one, and what is missed stays on the schedule:

       ----|====|====|====|----.----.----.----|----> time         slot <= now: passes, now - slot behind
            given         slot: next         now                  slot >  now: starts at slot

   The clock need not be read where an earlier reading, `seen`, lies behind the slot already: any later one gives the
   same answer.  That is sound here and nowhere else, because the pointer never looks at the clock - but for two
   choices, which look at `seen`, so that nothing depends on who read the clock and who did not:

     strictness  when the clock is read and shows a gap beyond the call's own slot, a share of it, a power of two, is
                 closed: the pointer moves on, the time is nobody's.  1 closes all of it, 0 nothing.
     catchup     a second pointer, `spaced`, moves on from each start by the call's time / catchup, and no call starts
                 before it: behind its schedule the work runs that much faster and no more.  Nothing is closed.

   Seven words, see timeline.h.  The form is a cell.

   May touch: its arguments.  Promises: strictness 1: at most 3 permits and then rate * t in any window t (one on a
   reading of long ago, one that reads the clock, one in the slot that this closes up to); catchup c: c * rate * t;
   below 1 the schedule is the only bound: rate * time since the first call.  Leaves to others: the lock around the
   words, who reads the clock. */
#include "core/timeline.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"

enum { SHARE_BITS = 64, CLOSES_NOTHING = 64, FACTOR_BITS = 32, CATCHUP_MAX = 1000, STRICT_AT_ONCE = 3, ROUNDED = 2 };

_Static_assert((int)TIMELINE_WORDS <= (int)STATE_WORDS_MAX, "timeline fits the state");

/* What the rule's second and third words are here. */
static unsigned close_shift(const struct rule *rule)
{
    return rule->second < CLOSES_NOTHING ? (unsigned)rule->second : CLOSES_NOTHING;
}

static bool is_spaced(const struct rule *rule)
{
    return rule->third != 0;
}

/* cost / catchup, rounded up. */
static uint64_t spacing_of(const struct rule *rule, uint64_t cost)
{
    return multiply_shift_floor(cost, rule->third, SHARE_BITS) + (cost * rule->third != 0);
}

static uint64_t position_of(uint64_t tick)
{
    return add_saturating(tick, TIMELINE_ZERO);
}

static uint64_t tick_of(uint64_t position)
{
    return subtract_to_zero(position, TIMELINE_ZERO);
}

struct line {
    uint64_t slot, seen, latest, spaced;
};

/* Untouched, the schedule begins now. */
static struct line line_of(const uint64_t *state, uint64_t now)
{
    if (state[TIMELINE_SLOT] == 0) return (struct line){now, now, now, 0};
    return (struct line){state[TIMELINE_SLOT], state[TIMELINE_SEEN], state[TIMELINE_LATEST], state[TIMELINE_SPACED]};
}

static uint64_t next_start(const struct line *line)
{
    return most(line->slot, line->spaced);
}

/* One call at `now`; returns what it closed. */
static uint64_t pass(const struct rule *rule, struct line *line, uint64_t now, uint64_t cost)
{
    const bool reads = line->seen < next_start(line);
    /* Each reading closes up to itself and so covers a slot: one that goes back would cover another. */
    line->latest = rule->flags & RULE_FOLLOWS_CLOCK ? now : most(line->latest, now);
    if (reads) line->seen = line->latest;
    line->slot = add_saturating(line->slot, cost);
    if (is_spaced(rule)) {
        line->spaced = add_saturating(most(line->spaced, line->seen), spacing_of(rule, cost));
        return 0;
    }
    if (!reads || close_shift(rule) == CLOSES_NOTHING) return 0;
    const uint64_t closed = subtract_to_zero(line->seen, line->slot) >> close_shift(rule);
    line->slot += closed;
    return closed;
}

/* How many calls of one permit pass without delay, in ticks. */
static uint64_t passing(const struct rule *rule, struct line line, uint64_t now)
{
    const unsigned scale = rule->scale & 63;
    uint64_t permits = 0;
    for (int readings = 0; readings < 2; readings++) {
        const uint64_t covered = least(line.seen, now);
        if (next_start(&line) <= covered) {
            const uint64_t more = is_spaced(rule) ? 1 : ((covered - line.slot) >> scale) + 1;
            permits = add_saturating(permits, more);
            pass(rule, &line, now, ticks_of(rule, more));
        }
        if (readings == 1 || next_start(&line) > now) break;
        permits = add_saturating(permits, 1);
        pass(rule, &line, now, ticks_of(rule, 1));
    }
    return ticks_of(rule, permits);
}

/* Strictness to a power of two, rounded down: the shift that leaves this share of a gap. */
static uint64_t shift_for(struct decimal strictness)
{
    const uint64_t one = power_of_ten(strictness.places);
    for (unsigned shift = 0; shift < CLOSES_NOTHING; shift++) {
        const uint64_t share = (one >> shift) + ((one & ((UINT64_C(1) << shift) - 1)) != 0);
        if (strictness.digits >= share) return shift;
    }
    return CLOSES_NOTHING;
}

static void defaults(struct limit *limit)
{
    if (limit->factor.digits == 0) limit->has_strictness = true;
    else if (limit->strictness.digits == 0) limit->has_strictness = false;
}

static struct limit_problem compile(const struct limit *limit, struct rule *rule)
{
    const struct limit_problem problem = limit_line(limit, rule);
    if (problem.message != NULL) return problem;
    rule->second = shift_for(limit->strictness);
    if (limit->factor.digits == 0) return limit_fine();
    const uint64_t one = power_of_ten(limit->factor.places);
    if (limit->factor.digits < one) {
        return limit_wrong(OPTION_CATCHUP,
                           "catchup is 1 or more: how much faster to run while behind; for example 1.1");
    }
    if (limit_factor(limit->factor) > (uint64_t)CATCHUP_MAX << FACTOR_BITS) {
        return limit_wrong(OPTION_CATCHUP, "catchup is at most 1000");
    }
    if (rule->second != CLOSES_NOTHING) {
        return limit_wrong(OPTION_STRICTNESS, "strictness gives up what catchup makes up for; say one of them");
    }
    rule->third = shift_divide_ceil(one, SHARE_BITS, limit->factor.digits);
    return limit_fine();
}

static bool possible(const struct rule *rule, uint64_t permits)
{
    return ticks_of(rule, permits) <= INT64_MAX;
}

static struct offer offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost, uint64_t wait_ns)
{
    (void)rule;
    (void)wait_ns;
    const struct line line = line_of(state, position_of(now));
    const uint64_t start = next_start(&line);
    const bool beyond = cost > INT64_MAX || add_saturating(start, cost) == UINT64_MAX;
    return (struct offer){now, beyond ? UINT64_MAX : tick_of(start)};
}

/* Its end as others know it, a tick; signed, because the slot may lie before the clock was set. */
static uint64_t end_of(uint64_t slot)
{
    return slot - TIMELINE_ZERO;
}

static void call(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t cost)
{
    struct line line = line_of(state, now);
    const uint64_t mine = line.slot, closed = pass(rule, &line, now, cost);
    state[TIMELINE_SLOT] = most(line.slot, 1);
    state[TIMELINE_SEEN] = line.seen;
    state[TIMELINE_LATEST] = line.latest;
    state[TIMELINE_SPACED] = line.spaced;
    state[TIMELINE_ALLOCATED] = add_saturating(state[TIMELINE_ALLOCATED], cost);
    state[TIMELINE_IDLE] = add_saturating(state[TIMELINE_IDLE], closed);
    state[TIMELINE_BEHIND_MAX] = most(state[TIMELINE_BEHIND_MAX], subtract_to_zero(line.seen, mine));
}

static struct taken commit(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t start, uint64_t cost)
{
    (void)start;
    const uint64_t now = position_of(at);
    if (cost != 0 || rule->flags & RULE_FOLLOWS_CLOCK) call(rule, state, now, cost);
    const struct line line = line_of(state, now);
    return (struct taken){end_of(line.slot), passing(rule, line, now)};
}

static bool knows(const struct rule *rule, const uint64_t *state, uint64_t *now)
{
    (void)rule;
    *now = tick_of(state[TIMELINE_SEEN]);
    return timeline_covers(state);
}

static uint64_t room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    return passing(rule, line_of(state, position_of(at)), position_of(at));
}

static uint64_t mark(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    return end_of(line_of(state, position_of(now)).slot);
}

static uint64_t start_of(const struct rule *rule, const uint64_t *state, uint64_t end, uint64_t cost)
{
    const uint64_t position = end + TIMELINE_ZERO;
    const uint64_t start = tick_of(subtract_to_zero(position, cost));
    if (!is_spaced(rule)) return start;
    const uint64_t from_it = add_saturating(subtract_to_zero(state[TIMELINE_SLOT], position), cost);
    return most(start, tick_of(subtract_to_zero(state[TIMELINE_SPACED], spacing_of(rule, from_it))));
}

/* The last call may have started: its slot lies in front of the pointer, and how long it is nobody remembers. */
static bool waited_for(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    const struct line line = line_of(state, position_of(now));
    return next_start(&line) > position_of(now);
}

/* Lets the next call start earlier, if this one was the last. */
static void free_spacing(const struct rule *rule, uint64_t *state, const struct slot *slot, uint64_t back)
{
    const uint64_t whole = spacing_of(rule, slot->cost), end = add_saturating(position_of(slot->start), whole);
    if (state[TIMELINE_SPACED] > add_saturating(end, ROUNDED)) return;
    const uint64_t freed = subtract_to_zero(whole, spacing_of(rule, slot->cost - back));
    state[TIMELINE_SPACED] = subtract_to_zero(state[TIMELINE_SPACED], freed);
    /* An old reading covers no start: two would pass on it, one as of then and one as of now. */
    state[TIMELINE_SEEN] = least(state[TIMELINE_SEEN], subtract_to_zero(state[TIMELINE_SPACED], 1));
}

/* Of `unused`, what has not drained; where nothing is ever closed the schedule takes it all back. */
static void give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot, uint64_t unused)
{
    uint64_t back = least(unused, slot->cost);
    if (state[TIMELINE_SLOT] == 0) return;
    if (is_spaced(rule)) {
        free_spacing(rule, state, slot, back);
    } else if (close_shift(rule) != CLOSES_NOTHING) {
        const uint64_t end = slot->end + TIMELINE_ZERO;
        const uint64_t by_end = subtract_to_zero(end, most(position_of(now), subtract_to_zero(end, slot->cost)));
        back = least(back, least(by_end, subtract_to_zero(add_saturating(slot->start, slot->cost), now)));
    }
    state[TIMELINE_SLOT] = most(subtract_to_zero(state[TIMELINE_SLOT], back), 1);
    state[TIMELINE_ALLOCATED] = subtract_to_zero(state[TIMELINE_ALLOCATED], back);
}

/* A charge is a call that nobody waits for. */
static uint64_t overcharge(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t extra)
{
    const struct line line = line_of(state, position_of(now));
    const uint64_t charged = least(extra, subtract_to_zero(UINT64_MAX - 1, next_start(&line)));
    if (charged != 0) call(rule, state, position_of(now), charged);
    return charged;
}

/* What may still be made up for is rounded down. */
static uint64_t carry_missed(const struct rule *from, const struct rule *to, uint64_t ticks, weir_carry how)
{
    const bool same = from->multiplier == to->multiplier && from->shift == to->shift && from->scale == to->scale;
    const uint64_t carried = carry_used(from, to, ticks, how);
    return same ? carried : subtract_to_zero(carried, ROUNDED);
}

/* The permits for which those who come next wait. */
static uint64_t permits_ahead(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct line line = line_of(state, now);
    const uint64_t ahead = subtract_to_zero(next_start(&line), now);
    return is_spaced(rule) ? shift_divide_ceil(subtract_to_zero(line.spaced, now), SHARE_BITS, rule->third) : ahead;
}

static void carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next, uint64_t now,
                  weir_carry how)
{
    for (int i = 0; i < TIMELINE_WORDS; i++) next[i] = 0;
    if (state[TIMELINE_SLOT] == 0) return;
    const uint64_t at = position_of(now), anchor = position_of(to->anchor_tick);
    const uint64_t slot = state[TIMELINE_SLOT], seen = least(state[TIMELINE_SEEN], at);
    const uint64_t missed = carry_missed(from, to, subtract_to_zero(at, slot), how);
    const uint64_t waiting = carry_waiting(from, to, subtract_to_zero(slot, at));
    next[TIMELINE_SLOT] = most(subtract_to_zero(add_saturating(anchor, waiting), missed), 1);
    /* What the last reading covered it covers still. */
    const bool covered = seen >= slot && how != WEIR_RESET;
    const uint64_t covers = carry_missed(from, to, subtract_to_zero(seen, slot), how);
    next[TIMELINE_SEEN] = covered ? least(next[TIMELINE_SLOT] + covers, anchor) : next[TIMELINE_SLOT] - 1;
    next[TIMELINE_LATEST] = anchor;
    const uint64_t ahead = carry_waiting(from, to, permits_ahead(from, state, at));
    if (is_spaced(to)) next[TIMELINE_SPACED] = add_saturating(anchor, spacing_of(to, ahead));
    next[TIMELINE_ALLOCATED] = carry_used(from, to, state[TIMELINE_ALLOCATED], WEIR_KEEP);
    next[TIMELINE_IDLE] = carry_used(from, to, state[TIMELINE_IDLE], WEIR_KEEP);
    next[TIMELINE_BEHIND_MAX] = carry_used(from, to, state[TIMELINE_BEHIND_MAX], WEIR_KEEP);
}

static uint64_t behind(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    return subtract_to_zero(position_of(now), line_of(state, position_of(now)).slot);
}

static uint64_t behind_max(const uint64_t *state)
{
    return state[TIMELINE_BEHIND_MAX];
}

static struct spent spent(const uint64_t *state)
{
    return (struct spent){state[TIMELINE_ALLOCATED], state[TIMELINE_IDLE]};
}

/* On schedule again: when the slot after this one begins. */
static uint64_t full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    (void)rule;
    return most(tick_of(decision->end + TIMELINE_ZERO), now);
}

static bool is_strict(const struct rule *rule)
{
    return close_shift(rule) == 0;
}

static struct facts facts(const struct limit *limit, const struct rule *rule)
{
    const uint64_t spacing_ns = limit_spacing_ns(limit);
    return (struct facts){.at_once = is_spaced(rule)   ? 1
                                     : is_strict(rule) ? STRICT_AT_ONCE
                                                       : UINT64_MAX,
                          .fresh = 1,
                          .largest = UINT64_MAX,
                          .group = 1,
                          .spacing_ns = spacing_ns,
                          .full_ns = spacing_ns,
                          .state_bytes = TIMELINE_WORDS * sizeof(uint64_t)};
}

static uint64_t most_in(const struct limit *limit, uint64_t window_ns)
{
    if (limit->factor.digits != 0) return line_most_spaced(limit, limit->factor, window_ns);
    if (limit->strictness.digits != power_of_ten(limit->strictness.places)) return UINT64_MAX;
    return add_saturating(line_most_spaced(limit, (struct decimal){1, 0}, window_ns), STRICT_AT_ONCE - 1);
}

const struct algorithm *timeline_algorithm(void)
{
    static const struct algorithm timeline = {
        .name = "timeline",
        .options = WITH(CATCHUP) | WITH(STRICTNESS),
        .note = "idle time stays on the schedule; strictness gives it up, catchup makes it up slowly",
        .words = TIMELINE_WORDS,
        .keeps_schedule = true,
        .pays_after = true,
        .defaults = defaults,
        .compile = compile,
        .facts = facts,
        .most_in = most_in,
        .possible = possible,
        .offer = offer,
        .commit = commit,
        .knows = knows,
        .room = room,
        .mark = mark,
        .start_of = start_of,
        .waited_for = waited_for,
        .give_back = give_back,
        .overcharge = overcharge,
        .carry = carry,
        .behind = behind,
        .behind_max = behind_max,
        .spent = spent,
        .full = full,
    };
    return &timeline;
}
