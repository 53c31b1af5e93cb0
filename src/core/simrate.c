/* SPDX-License-Identifier: MIT
   simrate.c - what nosqlbench's limiter is today: its design note's three pools, in ticks that are scaled to the rate.

   Time becomes ticks of 1 ns above a rate of 1/s, of 1 us above 0.001/s, of 1 ms above that; an operation costs a whole
   number of them, cut off.  Each 10 ms a filler pours the ticks that have passed into the pools of pools.c, which here
   always hold 10^9 ticks, and forgets what is less than a tick:

       every 10 ms -> active (to 10^9) -> waiting -> active (to over), a hundredth of the burst pool for 10^7 ticks
                         |
                         an operation takes its ticks when all of them are there, or waits for a fill that brings them

   Nobody fills here: whoever asks makes up for the fills since the last one; they begin with the first call.  As long
   as no pool runs full or dry each does the same as the one before, so that as many are done at once; a pool runs full
   or dry some eight times between empty and full, and so often goes the loop, however long nobody asked.

   The first call has the ticks that it needs.  Calls cannot be taken ahead of their time, and are not given back: the
   original's semaphore has no places.  Before the last fill nothing can be had: time that goes back earns nothing.

   May touch: its arguments.  Promises: after each fill the pools of the original, but for its 32 bits: its doubles are
   in pools.c.  Leaves to others: the lock around the words; whom it should serve: it is there to compare with, and
   hybrid does the same without its losses. */
#include "core/simrate.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"
#include "core/pools.h"

enum { POOL = 1000000000, FILL_NS = 10000000, CATCHUP_MAX = 1000 };
static const uint64_t SECOND_NS = 1000000000, US_NS = 1000, MS_NS = 1000000;

_Static_assert((int)SIMRATE_WORDS <= (int)STATE_WORDS_MAX, "simrate fits the state");

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

static int64_t clamp(int64_t value)
{
    return value > FAR ? FAR : value < -FAR ? -FAR : value;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return multiply_divide_floor(a, b, 1);
}

static int64_t ticks_of_ops(const struct rule *rule, uint64_t permits)
{
    return (int64_t)least(times(permits, per_op_of(rule)), (uint64_t)FAR);
}

static int64_t waiting_with(int64_t waiting, uint64_t more)
{
    return more > (uint64_t)(WAITING_MAX - waiting) ? WAITING_MAX : waiting + (int64_t)more;
}

/* ---- pools and fills ---- */

/* The pools as they were after the last fill. */
struct filled {
    struct pools pools;
    uint64_t at_ns;
};

static struct pools pools_with(const struct rule *rule, int64_t active, int64_t waiting)
{
    const uint64_t over = least(most(rule->over, POOL), (uint64_t)FAR);
    return (struct pools){.pool = POOL, .over = (int64_t)over, .active = active, .waiting = waiting};
}

static struct filled written(const struct rule *rule, const uint64_t *state)
{
    const int64_t waiting = waiting_with(0, state[SIMRATE_WAITING]);
    return (struct filled){pools_with(rule, clamp((int64_t)state[SIMRATE_ACTIVE]), waiting),
                           subtract_to_zero(state[SIMRATE_FILLED], 1)};
}

static void write_down(uint64_t *state, const struct filled *filled)
{
    state[SIMRATE_ACTIVE] = (uint64_t)clamp(filled->pools.active);
    state[SIMRATE_WAITING] = (uint64_t)filled->pools.waiting;
    state[SIMRATE_FILLED] = add_saturating(filled->at_ns, 1);
}

/* One fill.  What is too much stays where it is, while pools.c would put it back to waiting. */
static void pour(const struct rule *rule, struct pools *pools, uint64_t ns)
{
    const int64_t over = pools->over;
    if (pools->over < pools->active) pools->over = pools->active;
    pools_refill(pools, (int64_t)(ns / tick_ns_of(rule)));
    pools->over = over;
    pools->waiting = waiting_with(0, (uint64_t)pools->waiting);
}

/* How many steps lie between the two; one at least. */
static uint64_t steps(int64_t from, int64_t to, int64_t step)
{
    return step > 0 ? most((uint64_t)((to - from) / step), 1) : UINT64_MAX;
}

/* Up to so many fills, no more than it takes to have so much; returns how many. */
static uint64_t fill(const struct rule *rule, struct pools *pools, uint64_t fills_max, int64_t enough)
{
    const int64_t near = POOL - (int64_t)(FILL_NS / tick_ns_of(rule)); /* from here on not all of a fill fits */
    uint64_t made = 0;
    while (made < fills_max && pools->active < enough) {
        const int64_t active = pools->active, waiting = pools->waiting;
        const int64_t edge = active <= near ? near : active < POOL ? active : pools->over;
        pour(rule, pools, FILL_NS);
        const int64_t up = pools->active - active, down = waiting - pools->waiting;
        uint64_t same = least(least(steps(active, edge, up), steps(0, waiting, down)), fills_max - made);
        if (up > 0) same = least(same, shift_divide_ceil((uint64_t)(clamp(enough) - active), 0, (uint64_t)up));
        pools->active = active + (int64_t)same * up;
        pools->waiting =
            down > 0 ? waiting - (int64_t)same * down : waiting_with(waiting, times(same, (uint64_t)-down));
        made += same;
    }
    return made;
}

/* With all the fills that were due by this time.  Untouched they begin now, with what the first operation needs. */
static struct filled filled_at(const struct rule *rule, const uint64_t *state, uint64_t at, uint64_t permits)
{
    const uint64_t ns = plain_ns(rule, at);
    if (state[SIMRATE_FILLED] == 0)
        return (struct filled){pools_with(rule, ticks_of_ops(rule, most(permits, 1)), 0), ns};
    struct filled filled = written(rule, state);
    const uint64_t due = subtract_to_zero(ns, filled.at_ns) / FILL_NS;
    fill(rule, &filled.pools, due, INT64_MAX);
    filled.at_ns += due * FILL_NS;
    return filled;
}

/* What active holds after a fill that began with so much, while enough is waiting. */
static uint64_t after_fill(const struct rule *rule, int64_t active)
{
    struct pools pools = pools_with(rule, active, FAR);
    pour(rule, &pools, FILL_NS);
    return (uint64_t)pools.active;
}

/* The most that active ever holds.  When a fill moves less than a tick of the burst pool, that pool stays empty. */
static uint64_t top_of(const struct rule *rule)
{
    return after_fill(rule, POOL) > POOL ? rule->over : POOL;
}

void simrate_refill(const struct rule *rule, uint64_t *state, uint64_t now)
{
    const uint64_t now_ns = plain_ns(rule, now), at_once_max_ns = INT32_MAX;
    struct filled filled = state[SIMRATE_FILLED] == 0 ? filled_at(rule, state, now, 1) : written(rule, state);
    if (now_ns < filled.at_ns && !(rule->flags & RULE_FOLLOWS_CLOCK)) return;
    const uint64_t passed_ns = subtract_to_zero(now_ns, filled.at_ns);
    const uint64_t too_much_ns = subtract_to_zero(passed_ns, at_once_max_ns);
    filled.at_ns = now_ns;
    filled.pools.waiting = waiting_with(filled.pools.waiting, too_much_ns / tick_ns_of(rule));
    pour(rule, &filled.pools, passed_ns - too_much_ns);
    write_down(state, &filled);
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
        return limit_wrong(OPTION_RATE,
                           "this rate has more digits than 64 bits hold; write a rounder rate, for example 10/s");
    }
    if (permits > period_ns) {
        return limit_wrong(OPTION_RATE, "this rate is over 1G/s, and simrate counts whole ns for each operation; "
                                        "for more write algorithm=hybrid");
    }
    if (times(permits, SECOND_NS * MS_NS) <= period_ns) {
        return limit_wrong(OPTION_RATE, "this rate is 1 in 1000000s or less, at which simrate never fills; for "
                                        "less write algorithm=hybrid");
    }
    if (limit->factor.digits < power) {
        return limit_wrong(OPTION_CATCHUP,
                           "catchup is 1 or more: how much faster to run while behind; for example 1.1");
    }
    rule->over = multiply_divide_floor(POOL, limit->factor.digits, power);
    if (rule->over > (uint64_t)POOL * CATCHUP_MAX)
        return limit_wrong(OPTION_CATCHUP, "catchup is at most 1000; for example catchup=1.1");
    rule->fourth = tick_ns_for(permits, period_ns);
    rule->third = period_ns / times(permits, rule->fourth);
    rule->burst = top_of(rule) / per_op_of(rule);
    return limit_fine();
}

/* ---- asking ---- */

static bool possible(const struct rule *rule, uint64_t permits)
{
    return permits <= rule->burst;
}

static struct offer offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost, uint64_t wait_ns)
{
    const struct offer never = {UINT64_MAX, UINT64_MAX};
    const int64_t need = ticks_of_ops(rule, cost);
    (void)wait_ns;
    if (state[SIMRATE_FILLED] == 0) return possible(rule, cost) ? (struct offer){now, now} : never;
    struct filled filled = filled_at(rule, state, now, cost);
    const uint64_t fills = fill(rule, &filled.pools, UINT64_MAX, need);
    const uint64_t at_ns = add_saturating(filled.at_ns, times(fills, FILL_NS));
    if (filled.pools.active < need || at_ns == UINT64_MAX) return never;
    const uint64_t at = most(now, plain_tick(rule, at_ns));
    return (struct offer){at, at};
}

static uint64_t room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const struct filled filled = filled_at(rule, state, at, 1);
    if (filled.pools.active <= 0 || filled.at_ns > plain_ns(rule, at)) return 0;
    return (uint64_t)filled.pools.active / most(per_op_of(rule), 1);
}

/* Its pools have no places: only what waits in them is known. */
static struct account account(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return (struct account){.behind = times((uint64_t)filled_at(rule, state, now, 1).pools.waiting, tick_ns_of(rule))};
}

static struct taken commit(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t start, uint64_t cost)
{
    struct filled filled = filled_at(rule, state, at, cost);
    filled.pools.active -= ticks_of_ops(rule, cost);
    if (cost != 0) {
        write_down(state, &filled);
    }
    return (struct taken){0, room(rule, state, start)};
}

static uint64_t full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    const uint64_t held = times(decision->remaining, per_op_of(rule));
    return add_saturating(now, times(subtract_to_zero(POOL, held), tick_ns_of(rule)));
}

/* When the largest call passes, as it does with a fresh one; but that one is filled at other moments, up to a
   fill sooner. */
static uint64_t idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return offer(rule, state, now, rule->burst, 0).start;
}

/* ---- correcting ---- */

/* The pools begin again with one operation, as the original's; the fills go on, and what is owed stays so many. */
static void carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next, uint64_t now,
                  weir_carry how)
{
    struct filled filled = filled_at(from, state, now, 1);
    const uint64_t owed_ticks = filled.pools.active < 0 ? (uint64_t)-filled.pools.active : 0;
    if (state[SIMRATE_FILLED] == 0 || (how == WEIR_RESET && owed_ticks == 0)) return;
    const int64_t owed = ticks_of_ops(to, shift_divide_ceil(owed_ticks, 0, per_op_of(from)));
    filled.pools = pools_with(to, owed_ticks != 0 ? -owed : ticks_of_ops(to, 1), 0);
    write_down(next, &filled);
}

static struct balance balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct filled filled = filled_at(rule, state, now, 1);
    return (struct balance){(uint64_t)(filled.pools.active + FAR) / most(per_op_of(rule), 1), 0, false};
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
                          .state_bytes = SIMRATE_WORDS * sizeof(uint64_t)};
}

/* All that the pools hold just before a fill, and the fills of the window. */
static uint64_t most_in(const struct limit *limit, uint64_t window_ns)
{
    struct rule rule = {0};
    if (compile(limit, &rule).message != NULL) return 0;
    const uint64_t fills = window_ns < 2 ? 0 : (window_ns - 2) / FILL_NS + 1;
    return add_saturating(top_of(&rule), times(fills, after_fill(&rule, 0))) / per_op_of(&rule);
}

const struct algorithm *simrate_algorithm(void)
{
    static const struct algorithm simrate = {
        .name = "simrate",
        .options = WITH(CATCHUP),
        .note = "as nosqlbench's limiter today, filled every 10 ms in whole ticks; only to compare with it",
        .words = SIMRATE_WORDS,
        .defaults = defaults,
        .compile = compile,
        .facts = facts,
        .most_in = most_in,
        .offer = offer,
        .commit = commit,
        .balance = balance,
        .full = full,
        .idle = idle,
        .account = account,
        .carry = carry,
    };
    return &simrate;
}
