/* SPDX-License-Identifier: MIT
   The sliding window counter: this window's permits, and of the last one's the share still in sight.

   Windows of `period` follow one another.  A call looks back over one period, and takes the permits of the window
   before for evenly spread; of those it counts the share that it still sees:

            previous            current
       |------.------------|------x-----|           left = ends - x
              `---- one period ----'   ends         weighted = floor(previous * left / period) + current

       allowed  <=>  weighted + cost <= count       only what was allowed is counted

       | ends, ns | previous | current |      a cell of three words, all 0: fresh

   The share only falls, within a window and from one to the next, so a refusal knows when it ends.  Permits that came
   all at the end of their window were not evenly spread: then twice the count passes in one period.

   Windows begin where `align` says, or at time 0, and one follows the other while something is counted: a clock on the
   wall that is set anew moves only those after a rest.  A window that was counted in is not left again: where
   the clock goes back behind it, or a list made a call wait into it, nothing passes until it begins.

   At most count * (1 + t / period) permits, rounded up, pass in any window t.  Source: limits 5.8.0 (Python). */
#include "core/algorithm.h"
#include "core/algorithm/window.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"

enum { SLIDING_ENDS, SLIDING_PREVIOUS, SLIDING_CURRENT, SLIDING_WORDS };

/* As they are at a time, or at the beginning of the window that was counted in, if that is later. */
struct counters {
    uint64_t ends_ns, left_ns; /* 1 to a period */
    uint64_t previous, current;
    bool early; /* it is later */
};

static struct counters counters_at(const struct rule *rule, const uint64_t *state, uint64_t tick)
{
    const uint64_t period_ns = window_period(rule), ns = plain_ns(rule, tick);
    struct counters counters = {
        .ends_ns = state[SLIDING_ENDS], .previous = state[SLIDING_PREVIOUS], .current = state[SLIDING_CURRENT]};
    if (ns >= counters.ends_ns) {
        const bool follows = counters.current != 0 && ns - counters.ends_ns < period_ns;
        counters.ends_ns = follows ? add_saturating(counters.ends_ns, period_ns)
                                   : add_saturating(ns, window_left(rule, window_epoch(rule), ns));
        counters.previous = follows ? counters.current : 0;
        counters.current = 0;
    }
    counters.early = counters.ends_ns - ns > period_ns;
    counters.left_ns = least(counters.ends_ns - ns, period_ns);
    return counters;
}

static uint64_t weighted(const struct rule *rule, const struct counters *counters)
{
    const uint64_t share = multiply_divide_floor(counters->previous, counters->left_ns, window_period(rule));
    return add_saturating(share, counters->current);
}

/* How much of a window is left when at most `room` of the previous one's permits count; 0: none. */
static uint64_t left_when(const struct rule *rule, uint64_t previous, uint64_t room)
{
    if (previous <= room) return window_period(rule);
    return multiply_divide_ceil(add_saturating(room, 1), window_period(rule), previous) - 1;
}

/* When `cost` more fit: in the next window, or in this one until its end; UINT64_MAX where the clock ends before. */
static uint64_t tick_when(const struct rule *rule, const struct counters *counters, uint64_t cost)
{
    const uint64_t room = subtract_to_zero(rule->burst, cost);
    const uint64_t next_ends_ns = add_saturating(counters->ends_ns, window_period(rule));
    if (next_ends_ns == UINT64_MAX) return UINT64_MAX;
    if (counters->current > room) return plain_tick(rule, next_ends_ns - left_when(rule, counters->current, room));
    const uint64_t left_ns = left_when(rule, counters->previous, room - counters->current);
    return plain_tick(rule, counters->ends_ns - least(left_ns, counters->left_ns));
}

static struct limit_problem sliding_compile(struct limit *limit, struct rule *rule)
{
    const struct limit_problem problem = limit_window(limit, rule);
    rule->debt = limit_debt(limit, rule);
    return problem;
}

static struct offer sliding_offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                                  uint64_t wait_ns)
{
    (void)wait_ns;
    const struct counters counters = counters_at(rule, state, now);
    if (cost > rule->burst) return (struct offer){now, UINT64_MAX};
    const bool fits = !counters.early && weighted(rule, &counters) <= rule->burst - cost;
    const uint64_t from = fits ? now : tick_when(rule, &counters, cost);
    return (struct offer){from, from};
}

/* Before a window that was counted in already nothing passes. */
static struct balance sliding_balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct counters counters = counters_at(rule, state, now);
    const uint64_t used = weighted(rule, &counters), owed = subtract_to_zero(used, rule->burst);
    return (struct balance){counters.early ? 0 : subtract_to_zero(rule->burst, used), owed, counters.early};
}

/* When no permit counts any more. */
static uint64_t nothing_counts(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct counters counters = counters_at(rule, state, now);
    return tick_when(rule, &counters, rule->burst);
}

/* When nothing counts any more.  A change of limit may have moved the windows away from where a fresh one has them:
   then when the one after the last is over. */
static uint64_t sliding_idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const uint64_t ends_ns = state[SLIDING_ENDS];
    if (ends_ns == 0) return now;
    const bool moved = window_left(rule, window_epoch(rule), ends_ns) != window_period(rule);
    const uint64_t over = moved ? plain_tick(rule, add_saturating(ends_ns, window_period(rule))) : 0;
    return most(most(nothing_counts(rule, state, now), over), now);
}

static struct taken sliding_commit(const struct rule *rule, uint64_t *state, struct offer when, uint64_t cost)
{
    if (cost == 0)
        return (struct taken){nothing_counts(rule, state, when.from), sliding_balance(rule, state, when.from).left};
    const struct counters counters = counters_at(rule, state, when.from);
    const uint64_t next[SLIDING_WORDS] = {counters.ends_ns, counters.previous, add_saturating(counters.current, cost)};
    for (int i = 0; i < SLIDING_WORDS; i++) state[i] = next[i];
    return (struct taken){nothing_counts(rule, state, when.from), sliding_balance(rule, state, when.from).left};
}

/* As if it had never been counted; what was decided in between was decided with more. */
static void sliding_give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot,
                              uint64_t unused)
{
    (void)now;
    const uint64_t period_ns = window_period(rule), start_ns = plain_ns(rule, slot->start);
    const uint64_t before_end_ns = subtract_to_zero(state[SLIDING_ENDS], start_ns);
    if (before_end_ns == 0 || before_end_ns > add_saturating(period_ns, period_ns)) return;
    uint64_t *counter = &state[before_end_ns <= period_ns ? SLIDING_CURRENT : SLIDING_PREVIOUS];
    *counter = subtract_to_zero(*counter, least(unused, slot->cost));
}

/* A count is the time in which so many come back. */
static uint64_t sliding_carried(const struct rule *from, const struct rule *to, uint64_t count, weir_carry how)
{
    if (how == WEIR_SCALE) return count;
    if (from->period_ns == to->period_ns) return multiply_divide_ceil(count, to->burst, from->burst);
    const uint64_t ns = multiply_divide_ceil(count, from->period_ns, from->burst);
    return multiply_divide_ceil(ns, to->burst, to->period_ns);
}

/* A window of another length begins at once, with all that counts.  Permits that are waited for stay permits. */
static void sliding_carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                          uint64_t now, weir_carry how)
{
    struct counters counters = counters_at(from, state, now);
    if (counters.early) how = WEIR_SCALE;
    if (how == WEIR_RESET || (counters.previous == 0 && counters.current == 0)) return;
    if (from->period_ns != to->period_ns) {
        const uint64_t share = multiply_divide_ceil(counters.previous, counters.left_ns, window_period(from));
        counters.current = add_saturating(counters.current, share);
        counters.previous = 0;
        counters.ends_ns = add_saturating(counters.ends_ns - counters.left_ns, window_period(to));
    }
    next[SLIDING_ENDS] = counters.ends_ns;
    next[SLIDING_PREVIOUS] = sliding_carried(from, to, counters.previous, how);
    next[SLIDING_CURRENT] = sliding_carried(from, to, counters.current, how);
}

/* Back to full at the latest: all were taken as their window began. */
static void sliding_facts(const struct limit *limit, const struct rule *rule, struct facts *facts)
{
    const uint64_t period_ns = window_period(rule);
    (void)limit;
    facts->full_ns = add_saturating(period_ns, period_ns - left_when(rule, rule->burst, 0));
}

/* The worst: all at the last ns of a window, the next ones whole, and of the last as many as are out of sight. */
static uint64_t sliding_most_in(const struct limit *limit, uint64_t window_ns)
{
    const uint64_t count = limit->count.digits, after_ns = subtract_to_zero(window_ns, 2);
    const uint64_t whole = multiply_saturating(count, add_saturating(after_ns / limit->period_ns, 1));
    return add_saturating(whole, multiply_divide_ceil(count, after_ns % limit->period_ns, limit->period_ns));
}

const struct algorithm *sliding_window_algorithm(void)
{
    static const struct algorithm sliding_window = {
        .name = "sliding-window",
        .options = WITH(DEBT),
        .note =
            "assumes that the calls of the window before were evenly spread; if they were not, twice the count passes",
        .words = SLIDING_WORDS,
        ALGORITHM_ANSWERS(sliding),
        .has_epoch = true,
        .facts = sliding_facts,
    };
    return &sliding_window;
}
