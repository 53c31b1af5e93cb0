/* SPDX-License-Identifier: MIT
   A schedule that is kept, and a ceiling on how fast one may catch up with it.

       lag                                      level
        top |        .-'                         top |- - - - - -
            |     .-'  per a us                      |\    |\
          0 |--.-'------------>                      | \___| \  per_fast = catchup * per a us
            |-'   how far behind the callers are   0 +----------->

       allowed  <=>  lag >= need  and  level + need <= top       need = cost * permit, or top where it is more

   Both lines move by the whole cost, so a call above the pool passes when the pool is full and is paid back from below.
   Lag forgets nothing for 2^51 ticks; a level and a lag that would be no number any more are waited for.

   Words: seen, lag + 2^52, level; none: the schedule begins with the first call, which has what it needs.  rule:
   permit, per, per_fast, top, debt in ticks; burst = what one call may ask for.

   At most top / permit + catchup * rate * t permits start in any window t, but for costs above the pool; and never more
   than the schedule gave out. */
#include "redis/micro/kinds.h"

enum { SEEN, LAG, LEVEL, WORDS };

#define ZERO MICRO_MOST                           /* the word of a lag of 0 */
#define LAG_MOST (MICRO_MOST + MICRO_HYBRID_MOST) /* and of the largest */

struct lines {
    uint64_t lag, level; /* as their words are */
};

static struct lines lines_at(const struct one *one, uint64_t now, uint64_t need)
{
    const struct micro_rule *rule = one->rule;
    const uint64_t *word = one->cell->word;
    if (one->cell->words == 0) return (struct lines){ZERO + (rule->flags & MICRO_STARTS_FULL ? rule->top : need), 0};
    const uint64_t elapsed = subtract_to_zero(now, word[SEEN]), missing = subtract_to_zero(LAG_MOST, word[LAG]);
    const bool drained = elapsed >= divide_ceil(word[LEVEL], rule->per_fast);
    const bool saturated = elapsed >= divide_ceil(missing, rule->per);
    return (struct lines){saturated ? LAG_MOST : word[LAG] + elapsed * rule->per,
                          drained ? 0 : word[LEVEL] - elapsed * rule->per_fast};
}

static void store(const struct one *one, uint64_t now, struct lines lines)
{
    *one->cell = (struct micro_cell){.kind = MICRO_HYBRID, .words = WORDS, .word = {now, lines.lag, lines.level}};
    rerule_mark(one->rule, one->cell);
}

/* Of another rule: as many permits are unspent, or owed; rounded so that less passes. */
static void translate(const struct micro_rule *rule, struct micro_cell *cell)
{
    uint64_t *word = cell->word;
    const uint64_t ahead = subtract_to_zero(word[LAG], ZERO), owed = subtract_to_zero(ZERO, word[LAG]);
    const bool as_time = cell->per != 0; /* format 1 */
    const uint64_t lag =
        as_time ? multiply_capped(ahead / cell->per, rule->per) : share_floor(ahead, rule->permit, cell->permit);
    const uint64_t below = as_time ? multiply_capped(divide_ceil(owed, cell->per), rule->per)
                                   : share_ceil(owed, rule->permit, cell->permit);
    word[LAG] = ZERO + least(lag, MICRO_HYBRID_MOST) - below;
    word[LEVEL] = rerule_used(rule, cell, word[LEVEL]);
}

static bool adapt(const struct micro_rule *rule, struct micro_cell *cell, uint64_t now)
{
    if (cell->words == 0) return false;
    const bool back = cell->word[SEEN] > now;
    cell->word[SEEN] = least(cell->word[SEEN], now);
    cell->word[LAG] = least(cell->word[LAG], LAG_MOST);
    cell->word[LEVEL] = least(cell->word[LEVEL], MICRO_MOST);
    if (rerule_needed(rule, cell)) translate(rule, cell);
    rerule_mark(rule, cell);
    return back;
}

static struct micro_offer offer(const struct one *one, uint64_t now, uint64_t cost, uint64_t wait)
{
    const struct micro_rule *rule = one->rule;
    if (cost > rule->burst) return offer_after(MICRO_FOREVER);
    const uint64_t ticks = cost * rule->permit, need = least(ticks, rule->top);
    const struct lines lines = lines_at(one, now, need);
    const uint64_t by_lag = divide_ceil(subtract_to_zero(ZERO + need, lines.lag), rule->per);
    const uint64_t by_level = divide_ceil(subtract_to_zero(lines.level + need, rule->top), rule->per_fast);
    const uint64_t delay = most(by_lag, by_level);
    const uint64_t no_lag = divide_ceil(subtract_to_zero(ticks, lines.lag), rule->per);
    const uint64_t no_level = divide_ceil(subtract_to_zero(lines.level + ticks, MICRO_MOST), rule->per_fast);
    return (struct micro_offer){most(subtract_to_zero(delay, wait), most(no_lag, no_level)), delay};
}

static void take(const struct one *one, uint64_t now, uint64_t cost)
{
    const uint64_t ticks = cost * one->rule->permit;
    const struct lines lines = lines_at(one, now, least(ticks, one->rule->top));
    store(one, now, (struct lines){lines.lag - ticks, lines.level + ticks});
}

/* A limit that starts with a full pool gives it ahead of the schedule, and only the first permit of it is due. */
uint64_t hybrid_late(const struct one *one, uint64_t now, uint64_t cost, uint64_t delay)
{
    const struct micro_rule *rule = one->rule;
    const struct lines lines = lines_at(one, now, least(cost * rule->permit, rule->top));
    const uint64_t due = ZERO + (rule->flags & MICRO_STARTS_FULL ? rule->top : rule->permit);
    if (lines.lag >= due) return delay + (lines.lag - due) / rule->per;
    return subtract_to_zero(delay, divide_ceil(due - lines.lag, rule->per));
}

static uint64_t room(const struct one *one, uint64_t now)
{
    const struct lines lines = lines_at(one, now, one->rule->permit);
    const uint64_t by_level = subtract_to_zero(one->rule->top, lines.level);
    return least(subtract_to_zero(lines.lag, ZERO), by_level) / one->rule->permit;
}

static uint64_t full(const struct one *one, uint64_t now)
{
    const struct micro_rule *rule = one->rule;
    if (one->cell->words == 0) return 0;
    const struct lines lines = lines_at(one, now, 0);
    const uint64_t by_lag = divide_ceil(subtract_to_zero(ZERO + rule->top, lines.lag), rule->per);
    return least(most(by_lag, divide_ceil(lines.level, rule->per_fast)), MICRO_MOST);
}

static void charge(const struct one *one, uint64_t now, uint64_t cost)
{
    const struct micro_rule *rule = one->rule;
    const uint64_t wanted = multiply_capped(cost, rule->permit);
    const struct lines lines = lines_at(one, now, least(wanted, rule->top));
    const uint64_t by_lag = subtract_to_zero(lines.lag, ZERO - rule->debt);
    const uint64_t by_level = subtract_to_zero(rule->top + rule->debt, lines.level);
    const uint64_t ticks = least(wanted, least(by_lag, by_level));
    store(one, now, (struct lines){lines.lag - ticks, lines.level + ticks});
}

/* At the fastest, what is more has drained since its start. */
static void give_back(const struct one *one, uint64_t now, uint64_t taken, uint64_t charged, uint64_t unused)
{
    const struct micro_rule *rule = one->rule;
    const struct lines lines = lines_at(one, now, 0);
    if (one->cell->words == 0 || lines.level > rule->top || lines.lag < ZERO) return;
    const uint64_t gone = multiply_capped(now - taken, rule->per_fast);
    const uint64_t left = subtract_to_zero(multiply_capped(charged, rule->permit), gone);
    const uint64_t ticks = least(left, multiply_capped(unused, rule->permit));
    store(one, now, (struct lines){least(lines.lag + ticks, LAG_MOST), subtract_to_zero(lines.level, ticks)});
}

const struct kind *hybrid_kind(void)
{
    static const struct kind hybrid = {adapt, offer, take, NULL, room, full, NULL, charge, give_back};
    return &hybrid;
}
