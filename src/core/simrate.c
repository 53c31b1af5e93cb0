/* SPDX-License-Identifier: MIT
   simrate.c - what nosqlbench's limiter is today: seed 000's three pools, in ticks that are scaled to the rate.

   Time becomes ticks of 1 ns above a rate of 1/s, of 1 us above 0.001/s, of 1 ms above that; an operation costs a whole
   number of them, cut off.  Each 10 ms a filler pours the ticks that have passed into the pools of pools.c, which here
   always hold 10^9 ticks, and forgets what is less than a tick:

       every 10 ms -> active (to 10^9) -> waiting -> active (to over), a hundredth of the burst pool for 10^7 ticks
                         |
                         an operation takes its ticks when all of them are there, or waits for a fill that brings them

   Nobody fills here: whoever asks makes up for the fills since the last one.  As long as no pool runs full or dry each
   fill does the same as the one before, so that as many are done at once; a pool runs full or dry some eight times
   between empty and full, and so often goes the loop, however long nobody asked:

       below the pool, paying back | nothing to pay back | across its top | above it, paying back | ... | full

       | active | waiting | filled_ns + 1, 0 = untouched | behind_max_ns |      four words, the first signed

   The fills begin with the first call, which has the ticks that it needs.  Calls cannot be taken ahead of their time:
   the original's semaphore has no places.  Before the last fill nothing can be had: time that goes back earns nothing.

   May touch: its arguments.  Promises: after each fill the pools of the original, but for its 32 bits: its doubles are
   in pools.c.  Leaves to others: the lock around the words; whom it should serve: it is there to compare with, and
   hybrid does the same without its losses. */
#include "core/simrate.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"
#include "core/pools.h"

enum { ACTIVE, WAITING, FILLED, BEHIND_MAX, WORDS };
enum { POOL = 1000000000, FILL_NS = 10000000, CATCHUP_MAX = 1000 };
static const uint64_t SECOND_NS = 1000000000, US_NS = 1000, MS_NS = 1000000;

_Static_assert((int)WORDS <= (int)STATE_WORDS_MAX, "simrate fits the state");

/* What active may hold or owe, and waiting hold, so that pools.c can add them. */
static const int64_t FAR = INT64_C(1) << 56, WAITING_MAX = INT64_MAX - (INT64_C(1) << 57);

/* A rule's own numbers. */
static uint64_t per_op_of(const struct rule *rule)
{
    return rule->third;
}

static uint64_t tick_ns_of(const struct rule *rule)
{
    return most(rule->fourth, 1);
}

static int64_t fill_ticks(const struct rule *rule)
{
    return (int64_t)(FILL_NS / tick_ns_of(rule));
}

static int64_t clamp(int64_t value)
{
    return value > FAR ? FAR : value < -FAR ? -FAR : value;
}

static int64_t as_signed(uint64_t ticks)
{
    return ticks > FAR ? FAR : (int64_t)ticks;
}

static int64_t waiting_with(int64_t waiting, uint64_t more)
{
    return more > (uint64_t)(WAITING_MAX - waiting) ? WAITING_MAX : waiting + (int64_t)more;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return multiply_divide_floor(a, b, 1);
}

/* ---- pools and fills ---- */

/* The pools as they were after the last fill. */
struct filled {
    struct pools pools;
    uint64_t at_ns;
};

static struct pools pools_with(const struct rule *rule, int64_t active, int64_t waiting)
{
    return (struct pools){.pool = POOL, .over = as_signed(rule->over), .active = active, .waiting = waiting};
}

static struct filled written(const struct rule *rule, const uint64_t *state)
{
    const int64_t waiting = (int64_t)least(state[WAITING], (uint64_t)WAITING_MAX);
    return (struct filled){pools_with(rule, clamp((int64_t)state[ACTIVE]), waiting),
                           subtract_to_zero(state[FILLED], 1)};
}

static void write_down(uint64_t *state, const struct filled *filled)
{
    state[ACTIVE] = (uint64_t)clamp(filled->pools.active);
    state[WAITING] = (uint64_t)filled->pools.waiting;
    state[FILLED] = add_saturating(filled->at_ns, 1);
}

/* One fill.  What is too much stays where it is, while pools.c would put it back to waiting. */
static void pour(struct pools *pools, int64_t ticks)
{
    struct pools topped = *pools;
    if (topped.over < topped.pool) topped.over = topped.pool;
    if (topped.over < topped.active) topped.over = topped.active;
    pools_refill(&topped, ticks);
    pools->active = topped.active;
    pools->waiting = waiting_with(0, (uint64_t)topped.waiting);
}

/* How many fills, this one with them, do the same: until the top of a pool, or until nothing is left to pay back. */
static uint64_t alike(const struct pools *pools, int64_t ticks, int64_t up, int64_t aside)
{
    const bool below = pools->active <= pools->pool - ticks;
    uint64_t fills = UINT64_MAX;
    if (!below && pools->active < pools->pool) return 1;
    if (up > 0 && below) fills = (uint64_t)((pools->pool - ticks - pools->active) / up) + 1;
    if (up > 0 && !below) fills = most((uint64_t)((pools->over - pools->active) / up), 1);
    return aside < 0 ? least(fills, most((uint64_t)(pools->waiting / -aside), 1)) : fills;
}

/* Up to so many fills, no more than it takes to have so much; returns how many. */
static uint64_t fill(struct pools *pools, int64_t ticks, uint64_t fills_max, int64_t enough)
{
    uint64_t made = 0;
    while (made < fills_max && pools->active < enough) {
        const struct pools before = *pools;
        pour(pools, ticks);
        const int64_t up = pools->active - before.active, aside = pools->waiting - before.waiting;
        uint64_t same = least(alike(&before, ticks, up, aside), fills_max - made);
        if (up > 0) same = least(same, shift_divide_ceil((uint64_t)(clamp(enough) - before.active), 0, (uint64_t)up));
        pools->active = before.active + (int64_t)same * up;
        if (aside > 0) pools->waiting = waiting_with(before.waiting, times(same, (uint64_t)aside));
        else pools->waiting = before.waiting + (int64_t)same * aside;
        made += same;
    }
    return made;
}

/* With all the fills that were due by this time. */
static struct filled filled_at(const struct rule *rule, const uint64_t *state, uint64_t ns)
{
    struct filled filled = written(rule, state);
    const uint64_t due = subtract_to_zero(ns, filled.at_ns) / FILL_NS;
    fill(&filled.pools, fill_ticks(rule), due, INT64_MAX);
    filled.at_ns += due * FILL_NS;
    return filled;
}

/* The same, but untouched they begin now, with what the first operation needs. */
static struct filled begin(const struct rule *rule, const uint64_t *state, uint64_t ns, uint64_t permits)
{
    if (state[FILLED] != 0) return filled_at(rule, state, ns);
    return (struct filled){pools_with(rule, as_signed(times(most(permits, 1), per_op_of(rule))), 0), ns};
}

/* The most that active ever holds.  When a fill moves less than a tick of the burst pool, that pool stays empty. */
static uint64_t top_of(const struct rule *rule)
{
    struct pools pools = pools_with(rule, POOL, FAR);
    pour(&pools, fill_ticks(rule));
    return pools.active > POOL ? rule->over : POOL;
}

/* The most that one fill brings. */
static uint64_t most_of_fill(const struct rule *rule)
{
    struct pools pools = pools_with(rule, 0, FAR);
    pour(&pools, fill_ticks(rule));
    return (uint64_t)pools.active;
}

void simrate_refill(const struct rule *rule, uint64_t *state, uint64_t now)
{
    const uint64_t now_ns = plain_ns(rule, now), at_once_max_ns = INT32_MAX;
    if (state[FILLED] == 0) {
        const struct filled fresh = begin(rule, state, now_ns, 1);
        write_down(state, &fresh);
        return;
    }
    struct filled filled = written(rule, state);
    const uint64_t passed_ns = subtract_to_zero(now_ns, filled.at_ns);
    if (now_ns < filled.at_ns && !(rule->flags & RULE_FOLLOWS_CLOCK)) return;
    filled.at_ns = now_ns;
    const uint64_t too_much_ns = subtract_to_zero(passed_ns, at_once_max_ns);
    filled.pools.waiting = waiting_with(filled.pools.waiting, too_much_ns / tick_ns_of(rule));
    pour(&filled.pools, (int64_t)(least(passed_ns, at_once_max_ns) / tick_ns_of(rule)));
    write_down(state, &filled);
}

int64_t simrate_active(const uint64_t *state)
{
    return (int64_t)state[ACTIVE];
}

int64_t simrate_waiting(const uint64_t *state)
{
    return (int64_t)state[WAITING];
}

uint64_t simrate_filled_ns(const uint64_t *state)
{
    return subtract_to_zero(state[FILLED], 1);
}

/* ---- from what was said ---- */

/* nosqlbench's own. */
static void defaults(struct limit *limit)
{
    if (limit->factor.digits == 0) limit->factor = (struct decimal){11, 1};
}

/* Above 1/s, 0.001/s, or slower. */
static uint64_t tick_ns_for(uint64_t permits, uint64_t period_ns)
{
    if (times(permits, SECOND_NS) > period_ns) return 1;
    return times(permits, SECOND_NS * US_NS) > period_ns ? US_NS : MS_NS;
}

static struct limit_problem compile(const struct limit *limit, struct rule *rule)
{
    uint64_t permits, period_ns;
    const uint64_t power = power_of_ten(limit->factor.places);
    limit_plain_clock(rule);
    if (!limit_rate(limit, &permits, &period_ns)) {
        return limit_wrong(OPTION_RATE, "this rate has more digits than 64 bits hold; write a rounder rate");
    }
    if (permits > period_ns) {
        return limit_wrong(OPTION_RATE, "simrate counts whole ns for each operation: at most 1G/s; choose another "
                                        "algorithm");
    }
    if (times(permits, SECOND_NS * MS_NS) <= period_ns) {
        return limit_wrong(OPTION_RATE, "simrate never fills at 1 in 1000000s or less; choose another algorithm");
    }
    if (limit->factor.digits < power) {
        return limit_wrong(OPTION_CATCHUP,
                           "catchup is 1 or more: how much faster to run while behind; for example 1.1");
    }
    rule->over = multiply_divide_floor(POOL, limit->factor.digits, power);
    if (rule->over > (uint64_t)POOL * CATCHUP_MAX) return limit_wrong(OPTION_CATCHUP, "catchup is at most 1000");
    rule->fourth = tick_ns_for(permits, period_ns);
    rule->third = period_ns / times(permits, rule->fourth);
    rule->burst = top_of(rule) / per_op_of(rule);
    return limit_fine();
}

/* ---- asking ---- */

static bool possible(const struct rule *rule, uint64_t permits)
{
    return times(permits, per_op_of(rule)) <= top_of(rule);
}

static struct offer offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost, uint64_t wait_ns)
{
    const struct offer never = {UINT64_MAX, UINT64_MAX};
    const int64_t need = as_signed(times(cost, per_op_of(rule)));
    const uint64_t now_ns = plain_ns(rule, now);
    (void)wait_ns;
    if (state[FILLED] == 0) return possible(rule, cost) ? (struct offer){now, now} : never;
    struct filled filled = filled_at(rule, state, now_ns);
    const uint64_t fills = fill(&filled.pools, fill_ticks(rule), UINT64_MAX, need);
    const uint64_t at_ns = add_saturating(filled.at_ns, times(fills, FILL_NS));
    if (filled.pools.active < need || at_ns == UINT64_MAX) return never;
    const uint64_t at = at_ns > now_ns ? plain_tick(rule, at_ns) : now;
    return (struct offer){at, at};
}

static uint64_t room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const struct filled filled = begin(rule, state, plain_ns(rule, at), 1);
    if (filled.pools.active <= 0 || filled.at_ns > plain_ns(rule, at)) return 0;
    return per_op_of(rule) == 0 ? UINT64_MAX : (uint64_t)filled.pools.active / per_op_of(rule);
}

static struct taken commit(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t start, uint64_t cost)
{
    if (cost != 0) {
        struct filled filled = begin(rule, state, plain_ns(rule, at), cost);
        filled.pools.active -= as_signed(times(cost, per_op_of(rule)));
        write_down(state, &filled);
        const uint64_t behind_ns = times((uint64_t)filled.pools.waiting, tick_ns_of(rule));
        state[BEHIND_MAX] = most(state[BEHIND_MAX], behind_ns);
    }
    return (struct taken){0, room(rule, state, start)};
}

static uint64_t behind(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct filled filled = begin(rule, state, plain_ns(rule, now), 1);
    return times((uint64_t)filled.pools.waiting, tick_ns_of(rule));
}

static uint64_t behind_max(const uint64_t *state)
{
    return state[BEHIND_MAX];
}

static uint64_t full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    const uint64_t held = times(decision->remaining, per_op_of(rule));
    return add_saturating(now, times(subtract_to_zero(POOL, held), tick_ns_of(rule)));
}

/* ---- correcting: a slot has no place in line, only a time ---- */

static uint64_t mark(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    (void)state;
    (void)now;
    return 0;
}

/* As if it had never been taken, which is known until the next fill. */
static void give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot, uint64_t unused)
{
    if (state[FILLED] == 0) return;
    struct filled filled = filled_at(rule, state, plain_ns(rule, now));
    const int64_t back = as_signed(times(least(unused, slot->cost), per_op_of(rule)));
    if (plain_ns(rule, slot->start) < filled.at_ns || filled.pools.active >= filled.pools.over) return;
    const int64_t room = filled.pools.over - filled.pools.active;
    filled.pools.active += back < room ? back : room;
    write_down(state, &filled);
}

static uint64_t overcharge(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t extra)
{
    struct filled filled = begin(rule, state, plain_ns(rule, now), 1);
    const uint64_t room = (uint64_t)(filled.pools.active + FAR), per_op = per_op_of(rule);
    const uint64_t charged = per_op == 0 ? extra : least(extra, room / per_op);
    if (charged == 0) return 0;
    filled.pools.active -= (int64_t)(charged * per_op);
    write_down(state, &filled);
    return charged;
}

/* The pools begin again with one operation, as the original's; the fills go on, and what is owed stays so many. */
static void carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next, uint64_t now,
                  weir_carry how)
{
    struct filled filled = begin(from, state, plain_ns(from, now), 1);
    const int64_t active = filled.pools.active;
    if (state[FILLED] == 0 || (how == WEIR_RESET && active >= 0)) return;
    const uint64_t owed = active < 0 ? shift_divide_ceil((uint64_t)-active, 0, per_op_of(from)) : 0;
    const int64_t one = as_signed(per_op_of(to));
    filled.pools = pools_with(to, active < 0 ? -as_signed(times(owed, per_op_of(to))) : one, 0);
    write_down(next, &filled);
    next[BEHIND_MAX] = state[BEHIND_MAX];
}

/* ---- in numbers ---- */

static struct facts facts(const struct limit *limit, const struct rule *rule)
{
    (void)limit;
    return (struct facts){.at_once = rule->burst,
                          .fresh = 1,
                          .largest = rule->burst,
                          .group = 1,
                          .spacing_ns = times(per_op_of(rule), tick_ns_of(rule)),
                          .full_ns = times(POOL, tick_ns_of(rule)),
                          .state_bytes = WORDS * sizeof(uint64_t)};
}

/* All that the pools hold just before a fill, and the fills of the window. */
static uint64_t most_in(const struct limit *limit, uint64_t window_ns)
{
    struct rule rule = {0};
    if (compile(limit, &rule).message != NULL) return 0;
    const uint64_t fills = window_ns < 2 ? 0 : (window_ns - 2) / FILL_NS + 1;
    return add_saturating(top_of(&rule), times(fills, most_of_fill(&rule))) / per_op_of(&rule);
}

const struct algorithm *simrate_algorithm(void)
{
    static const struct algorithm simrate = {
        .name = "simrate",
        .options = WITH(CATCHUP),
        .note = "as nosqlbench's limiter today, filled every 10 ms in whole ticks; only to compare with it",
        .words = WORDS,
        .defaults = defaults,
        .compile = compile,
        .facts = facts,
        .most_in = most_in,
        .possible = possible,
        .offer = offer,
        .commit = commit,
        .room = room,
        .full = full,
        .behind = behind,
        .behind_max = behind_max,
        .mark = mark,
        .start_of = started,
        .waited_for = nobody_waits,
        .give_back = give_back,
        .overcharge = overcharge,
        .carry = carry,
    };
    return &simrate;
}
