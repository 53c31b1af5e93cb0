/* SPDX-License-Identifier: MIT
   The leaky bucket of nginx's limit_req, drawn in core/algorithm/leaky.c: whole ms, thousandths of a permit.

       level = max(0, level - floor(second / third * ms)) + 1000 * cost        last = now

       |<- 0 .. calm: starts at once ->|<- calm .. top: starts later, when it may wait ->|  refused

   Words: last in ms, level in thousandths.  rule: burst in permits, top = 1000 * burst; second / third thousandths leak
   in a ms; calm = 1000 * (delay + 1), or top with nodelay; debt: what a charge may add to top.

   The answers of the core at whole us. */
#include "redis/micro/kinds.h"

enum { LAST, LEVEL, WORDS };
enum { MILLISECOND_US = 1000, THOUSAND = 1000 };

static uint64_t ms_to_leak(const struct micro_rule *rule, uint64_t level)
{
    return share_ceil(level, rule->third, rule->second);
}

/* Of a bucket this high. */
static uint64_t leaked(const struct micro_rule *rule, uint64_t level, uint64_t ms)
{
    return ms >= ms_to_leak(rule, level) ? 0 : level - share_floor(ms, rule->second, rule->third);
}

static uint64_t level_at(const struct one *one, uint64_t ms)
{
    return leaked(one->rule, one->cell->word[LEVEL], subtract_to_zero(ms, one->cell->word[LAST]));
}

/* As high as the bucket may be, if the call may wait. */
static uint64_t highest(const struct micro_rule *rule, uint64_t wait)
{
    const uint64_t ms = wait / MILLISECOND_US + 1;
    if (ms > ms_to_leak(rule, rule->top)) return rule->top;
    return least(rule->top, rule->calm + share_ceil(ms, rule->second, rule->third) - 1);
}

static void store(const struct one *one, uint64_t now, uint64_t level)
{
    one->cell->word[LAST] = now / MILLISECOND_US;
    one->cell->word[LEVEL] = level;
}

static bool adapt(const struct micro_rule *rule, struct micro_cell *cell, uint64_t now)
{
    if (cell->words == 0) *cell = (struct micro_cell){.kind = MICRO_LEAKY, .words = WORDS};
    else if (rerule_needed(rule, cell)) cell->word[LEVEL] = rerule_used(rule, cell, cell->word[LEVEL]);
    rerule_mark(rule, cell);
    const bool back = cell->word[LAST] > now / MILLISECOND_US;
    cell->word[LAST] = least(cell->word[LAST], now / MILLISECOND_US);
    cell->word[LEVEL] = least(cell->word[LEVEL], rule->top + rule->debt);
    return back;
}

static struct micro_offer offer(const struct one *one, uint64_t now, uint64_t cost, uint64_t wait)
{
    const struct micro_rule *rule = one->rule;
    const uint64_t top = highest(rule, wait);
    if (cost > rule->burst || cost * THOUSAND > top) return offer_after(MICRO_FOREVER);
    const uint64_t poured = cost * THOUSAND, height = top - poured;
    uint64_t from = now, level = level_at(one, now / MILLISECOND_US);
    if (level > height) {
        const uint64_t ms = one->cell->word[LAST] + ms_to_leak(rule, one->cell->word[LEVEL] - height);
        from = ms * MILLISECOND_US;
        level = level_at(one, ms);
    }
    const uint64_t above = subtract_to_zero(level + poured, rule->calm);
    const uint64_t start = from + share_floor(above, rule->third, rule->second) * MILLISECOND_US;
    return (struct micro_offer){most(start - now > wait ? start - now - wait : 0, from - now), start - now};
}

static void take(const struct one *one, uint64_t now, uint64_t cost)
{
    store(one, now, level_at(one, now / MILLISECOND_US) + cost * THOUSAND);
}

static uint64_t room(const struct one *one, uint64_t now)
{
    return subtract_to_zero(highest(one->rule, 0), level_at(one, now / MILLISECOND_US)) / THOUSAND;
}

/* From the words, where nothing was rounded down yet. */
static uint64_t full(const struct one *one, uint64_t now)
{
    const uint64_t empty = one->cell->word[LAST] + ms_to_leak(one->rule, one->cell->word[LEVEL]);
    return subtract_to_zero(empty * MILLISECOND_US, now);
}

static void charge(const struct one *one, uint64_t now, uint64_t cost)
{
    const uint64_t highest_charged = one->rule->top + one->rule->debt, level = level_at(one, now / MILLISECOND_US);
    const uint64_t room_left = (highest_charged - level) / THOUSAND;
    store(one, now, level + least(cost, room_left) * THOUSAND);
}

/* Of a slot that starts no more is left in the bucket than `calm`: see core/algorithm/leaky.c. */
static void give_back(const struct one *one, uint64_t now, uint64_t taken, uint64_t charged, uint64_t unused)
{
    const struct micro_rule *rule = one->rule;
    const uint64_t ms = now / MILLISECOND_US, start_ms = taken / MILLISECOND_US;
    if (level_at(one, ms) > highest(rule, 0)) return; /* somebody waits */
    const uint64_t since = ms - start_ms, slot = least(multiply_capped(charged, THOUSAND), rule->calm);
    const uint64_t left = since >= ms_to_leak(rule, slot) ? 0 : slot - share_ceil(since, rule->second, rule->third);
    const uint64_t back = least(multiply_capped(unused, THOUSAND), left);
    one->cell->word[LEVEL] = subtract_to_zero(one->cell->word[LEVEL], back);
}

const struct kind *leaky_kind(void)
{
    static const struct kind leaky = {adapt, offer, take, NULL, room, full, NULL, charge, give_back};
    return &leaky;
}
