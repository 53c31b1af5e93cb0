/* SPDX-License-Identifier: MIT
   The two counters of windows: fixed, and sliding by weights.

       fixed          |----W----|  rest  |----W----|         counted from the first call on, or by the clock from 1970
                    end: when it is over; a block moves it

       sliding     previous            current
                |------.------------|------x-----|           left = ends - x
                       `---- one period ----'   ends         weighted = floor(previous * left / period) + current

   Both as in core/algorithm/{fixed,sliding}_window.c, but that nothing is taken ahead of its window, so none lies
   ahead: where the clock goes back the end goes with it.

   Words of fixed: end, count; of sliding: ends, previous, current; us since 1970.  rule: burst = permits in a window,
   period, block; debt of sliding.

   The answers of the core at whole us. */
#include "redis/micro/kinds.h"

/* ---- fixed ---- */

enum { END, COUNT, FIXED_WORDS };

static uint64_t counted(const struct one *one, uint64_t now)
{
    return now < one->cell->word[END] ? one->cell->word[COUNT] : 0;
}

static void count_at(const struct one *one, uint64_t now, uint64_t cost)
{
    const uint64_t period = one->rule->period, inside = one->rule->flags & MICRO_ALIGNED ? now % period : 0;
    const uint64_t count = counted(one, now);
    if (now >= one->cell->word[END]) one->cell->word[END] = now + period - inside;
    one->cell->word[COUNT] = add_capped(count, cost);
}

static bool fixed_adapt(const struct micro_rule *rule, struct micro_cell *cell, uint64_t now)
{
    if (cell->words == 0) *cell = (struct micro_cell){.kind = MICRO_FIXED, .words = FIXED_WORDS};
    const uint64_t end = cell->word[END], latest = now + most(rule->period, rule->block);
    cell->burst = 0; /* a mark has one (state.c) */
    cell->word[END] = least(end, latest);
    cell->word[COUNT] = least(cell->word[COUNT], MICRO_MOST);
    return end > latest;
}

static struct micro_offer fixed_offer(const struct one *one, uint64_t now, uint64_t cost, uint64_t wait)
{
    (void)wait;
    if (cost > one->rule->burst) return offer_after(MICRO_FOREVER);
    const bool fits = counted(one, now) + cost <= one->rule->burst;
    return offer_after(fits ? 0 : one->cell->word[END] - now);
}

static void fixed_refuse(const struct one *one, uint64_t now, uint64_t cost)
{
    const struct micro_rule *rule = one->rule;
    uint64_t *word = one->cell->word;
    const bool blocked = counted(one, now) > rule->burst; /* what follows does not block again */
    count_at(one, now, cost);
    if (blocked || rule->block == 0) return;
    word[END] = most(word[END], now + rule->block);
}

static uint64_t fixed_room(const struct one *one, uint64_t now)
{
    return subtract_to_zero(one->rule->burst, counted(one, now));
}

static uint64_t fixed_full(const struct one *one, uint64_t now)
{
    return subtract_to_zero(one->cell->word[END], now);
}

/* Windows do not overlap, so a call that started in this one was counted in it; a block only has an end. */
static void fixed_give_back(const struct one *one, uint64_t now, uint64_t taken, uint64_t charged, uint64_t unused)
{
    uint64_t *word = one->cell->word;
    const uint64_t end = word[END], period = one->rule->period;
    const bool blocked = one->rule->block != 0 && word[COUNT] > one->rule->burst;
    const bool here = now < end && taken < end && end - taken <= period;
    const uint64_t given = least(least(unused, charged), word[COUNT]), left = word[COUNT] - given;
    /* As in the core: a window that is not used was not opened, and else its first call leaves a permit used. */
    const bool opened = given == charged && end - taken == period && (one->rule->flags & MICRO_ALIGNED) == 0;
    if (!here || blocked) return;
    word[COUNT] = opened && left != 0 && now > taken ? left + 1 : left;
    if (opened && left == 0) word[END] = 0;
}

const struct kind *fixed_kind(void)
{
    static const struct kind fixed = {fixed_adapt, fixed_offer, count_at, fixed_refuse,   fixed_room,
                                      fixed_full,  NULL,        count_at, fixed_give_back};
    return &fixed;
}

/* ---- sliding ---- */

enum { ENDS, PREVIOUS, CURRENT, SLIDING_WORDS };

struct counters {
    uint64_t ends, left; /* left: 1 to a period */
    uint64_t previous, current;
};

static struct counters counters_at(const struct one *one, uint64_t now)
{
    const uint64_t period = one->rule->period, *word = one->cell->word;
    struct counters counters = {word[ENDS], 0, word[PREVIOUS], word[CURRENT]};
    if (now >= counters.ends) {
        const bool follows = counters.current != 0 && now - counters.ends < period;
        counters.ends = follows ? counters.ends + period : now + period - now % period;
        counters.previous = follows ? counters.current : 0;
        counters.current = 0;
    }
    counters.left = counters.ends - now;
    return counters;
}

static uint64_t weighted(const struct one *one, const struct counters *counters)
{
    return add_capped(share_floor(counters->previous, counters->left, one->rule->period), counters->current);
}

/* How much of a window is left when at most `room` of so many permits count; 0: none. */
static uint64_t left_when(const struct one *one, uint64_t permits, uint64_t room)
{
    if (permits <= room) return one->rule->period;
    return share_ceil(room + 1, one->rule->period, permits) - 1;
}

/* Until `cost` more fit: in the next window, or in this one. */
static uint64_t time_until(const struct one *one, const struct counters *counters, uint64_t cost)
{
    const uint64_t room = subtract_to_zero(one->rule->burst, cost);
    if (counters->current > room) {
        return counters->left + one->rule->period - left_when(one, counters->current, room);
    }
    return subtract_to_zero(counters->left, left_when(one, counters->previous, room - counters->current));
}

static bool sliding_adapt(const struct micro_rule *rule, struct micro_cell *cell, uint64_t now)
{
    if (cell->words == 0) *cell = (struct micro_cell){.kind = MICRO_SLIDING, .words = SLIDING_WORDS};
    const uint64_t ends = cell->word[ENDS], latest = now + rule->period;
    cell->word[ENDS] = least(ends, latest);
    cell->word[PREVIOUS] = least(cell->word[PREVIOUS], MICRO_MOST);
    cell->word[CURRENT] = least(cell->word[CURRENT], MICRO_MOST);
    return ends > latest;
}

static struct micro_offer sliding_offer(const struct one *one, uint64_t now, uint64_t cost, uint64_t wait)
{
    (void)wait;
    const struct counters counters = counters_at(one, now);
    if (cost > one->rule->burst) return offer_after(MICRO_FOREVER);
    const bool fits = weighted(one, &counters) + cost <= one->rule->burst;
    return offer_after(fits ? 0 : time_until(one, &counters, cost));
}

static void sliding_take(const struct one *one, uint64_t now, uint64_t cost)
{
    const struct counters counters = counters_at(one, now);
    one->cell->word[ENDS] = counters.ends;
    one->cell->word[PREVIOUS] = counters.previous;
    one->cell->word[CURRENT] = add_capped(counters.current, cost);
}

static uint64_t sliding_room(const struct one *one, uint64_t now)
{
    const struct counters counters = counters_at(one, now);
    return subtract_to_zero(one->rule->burst, weighted(one, &counters));
}

static uint64_t sliding_full(const struct one *one, uint64_t now)
{
    const struct counters counters = counters_at(one, now);
    return time_until(one, &counters, one->rule->burst);
}

/* A clock that went back, or another period, may have moved the windows away from where a fresh one has them: then when
   the one after the last is over. */
static uint64_t sliding_idle(const struct one *one, uint64_t now)
{
    const uint64_t ends = one->cell->word[ENDS], period = one->rule->period;
    const uint64_t over = ends % period == 0 ? 0 : subtract_to_zero(ends + period, now);
    return most(sliding_full(one, now), over);
}

static void sliding_charge(const struct one *one, uint64_t now, uint64_t cost)
{
    const struct counters counters = counters_at(one, now);
    const uint64_t most_owed = one->rule->burst + one->rule->debt;
    sliding_take(one, now, least(cost, subtract_to_zero(most_owed, weighted(one, &counters))));
}

/* As if it had never been counted; what was decided in between was decided with more. */
static void sliding_give_back(const struct one *one, uint64_t now, uint64_t taken, uint64_t charged, uint64_t unused)
{
    (void)now;
    const uint64_t before_end = subtract_to_zero(one->cell->word[ENDS], taken), period = one->rule->period;
    if (before_end == 0 || before_end > 2 * period) return;
    uint64_t *counter = &one->cell->word[before_end <= period ? CURRENT : PREVIOUS];
    *counter = subtract_to_zero(*counter, least(unused, charged));
}

const struct kind *sliding_kind(void)
{
    static const struct kind sliding = {sliding_adapt, sliding_offer,  sliding_take,
                                        NULL,          sliding_room,   sliding_full,
                                        sliding_idle,  sliding_charge, sliding_give_back};
    return &sliding;
}
