/* SPDX-License-Identifier: MIT
   A bucket that drains steadily: how full it was when it was last looked at, and when that was.

           top |- - - - - - - - - - -        a permit is `permit` ticks, `per` ticks drain in a us
               |     |\                      allowed  <=>  level + cost * permit <= top
         level |\    | \
               | \___|  \                    level = max(0, level - elapsed * per), nothing is rounded
             0 +-----------------> us
              seen  take

   Permits that are out in leases may be spent at any time until they are taken back, so the level does not fall below
   them (lease.c); when that happens they drain like others, from then on.  Until then nobody is let in to wait.

   Words: see kinds.h.  rule: permit, per, top, debt in ticks; burst = top in permits.

   At most top / permit + rate * t permits start in any window t. */
#include "redis/micro/kinds.h"

static uint64_t drained(const struct micro_rule *rule, uint64_t level, uint64_t elapsed)
{
    if (elapsed == 0) return level; /* as most often, and a division takes long */
    return elapsed >= divide_ceil(level, rule->per) ? 0 : level - elapsed * rule->per;
}

static bool has_leases(const struct micro_cell *cell)
{
    return cell->words == GCRA_LEASE_WORDS;
}

uint64_t gcra_out(const struct micro_cell *cell)
{
    return has_leases(cell) ? add_capped(cell->word[GCRA_OUT_NEW], cell->word[GCRA_OUT_OLD]) : 0;
}

/* To a time in the same epoch, or its end. */
static void drain_to(const struct micro_rule *rule, struct micro_cell *cell, uint64_t now)
{
    const uint64_t level = drained(rule, cell->word[GCRA_LEVEL], subtract_to_zero(now, cell->word[GCRA_SEEN]));
    cell->word[GCRA_LEVEL] = most(level, multiply_capped(gcra_out(cell), rule->permit));
    cell->word[GCRA_SEEN] = now;
}

/* The epoch is over: what was out before it comes back, and what it gave is then old. */
static void end_epoch(const struct micro_rule *rule, struct micro_cell *cell)
{
    drain_to(rule, cell, most(cell->word[GCRA_EPOCH_END], cell->word[GCRA_SEEN]));
    cell->word[GCRA_OUT_OLD] = cell->word[GCRA_OUT_NEW];
    cell->word[GCRA_OUT_NEW] = 0;
    cell->word[GCRA_EPOCH] = cell->word[GCRA_EPOCH] + 1;
    cell->word[GCRA_EPOCH_END] = cell->word[GCRA_EPOCH_END] + cell->word[GCRA_LIFETIME];
}

/* Turns in which nothing was out are passed over at once; their names are used up all the same.  Only a name that was
   never ours is as far as the cap. */
static void pass_turns(struct micro_cell *cell, uint64_t now)
{
    const uint64_t lifetime = cell->word[GCRA_LIFETIME], end = cell->word[GCRA_EPOCH_END];
    const uint64_t epochs = now < end ? 0 : (now - end) / lifetime + 1;
    cell->word[GCRA_EPOCH] = add_capped(cell->word[GCRA_EPOCH], epochs);
    cell->word[GCRA_EPOCH_END] = end + epochs * lifetime;
}

/* To this time, which is not before the one that it has seen. */
static void bring(const struct micro_rule *rule, struct micro_cell *cell, uint64_t now)
{
    if (has_leases(cell)) {
        while (cell->word[GCRA_EPOCH_END] <= now && gcra_out(cell) != 0) end_epoch(rule, cell); /* twice at most */
        pass_turns(cell, now);
    }
    drain_to(rule, cell, now);
}

uint64_t gcra_time_to(const struct micro_rule *rule, const struct micro_cell *cell, uint64_t level)
{
    if (!has_leases(cell)) return divide_ceil(subtract_to_zero(cell->word[GCRA_LEVEL], level), rule->per);
    struct micro_cell then = *cell;
    const uint64_t now = cell->word[GCRA_SEEN];
    while (multiply_capped(gcra_out(&then), rule->permit) > level) end_epoch(rule, &then);
    const uint64_t more = subtract_to_zero(then.word[GCRA_LEVEL], level);
    return add_capped(then.word[GCRA_SEEN] - now, divide_ceil(more, rule->per));
}

static uint64_t level_now(const struct micro_rule *rule, const struct micro_cell *cell)
{
    const uint64_t level = cell->word[GCRA_LEVEL];
    const uint64_t kept = rerule_needed(rule, cell) ? rerule_used(rule, cell, level) : level;
    return least(kept, MICRO_MOST); /* not at the debt: callers may wait above it */
}

static bool set_back(struct micro_cell *cell, uint64_t now)
{
    const uint64_t back = subtract_to_zero(cell->word[GCRA_SEEN], now);
    if (!has_leases(cell)) return back != 0;
    cell->word[GCRA_LIFETIME] = least(most(cell->word[GCRA_LIFETIME], 1), MICRO_LIFETIME_MAX);
    cell->word[GCRA_EPOCH_END] =
        least(subtract_to_zero(cell->word[GCRA_EPOCH_END], back), now + cell->word[GCRA_LIFETIME]);
    cell->word[GCRA_EPOCH] = cell->word[GCRA_EPOCH] % MICRO_MOST; /* so does a number that was never ours */
    return back != 0;
}

static bool adapt(const struct micro_rule *rule, struct micro_cell *cell, uint64_t now)
{
    if (cell->words == 0) {
        *cell = (struct micro_cell){.kind = MICRO_GCRA, .words = GCRA_WORDS, .word = {now, 0}};
        rerule_mark(rule, cell);
        return false;
    }
    cell->word[GCRA_LEVEL] = level_now(rule, cell);
    rerule_mark(rule, cell);
    const bool back = set_back(cell, now);
    bring(rule, cell, now);
    return back;
}

static struct micro_offer offer(const struct one *one, uint64_t now, uint64_t cost, uint64_t wait)
{
    const struct micro_rule *rule = one->rule;
    (void)now;
    if (cost > rule->burst) return offer_after(MICRO_FOREVER);
    const uint64_t ticks = cost * rule->permit, level = one->cell->word[GCRA_LEVEL];
    const uint64_t until = level + ticks <= rule->top ? 0 : gcra_time_to(rule, one->cell, rule->top - ticks);
    if (gcra_out(one->cell) != 0) return offer_after(until); /* a level cannot say that it drains only from then on */
    /* So far ahead that its ticks would be no number. */
    const uint64_t beyond = divide_ceil(subtract_to_zero(level + ticks, MICRO_MOST), rule->per);
    return (struct micro_offer){most(subtract_to_zero(until, wait), beyond), until};
}

static void take(const struct one *one, uint64_t now, uint64_t cost)
{
    (void)now;
    one->cell->word[GCRA_LEVEL] = one->cell->word[GCRA_LEVEL] + cost * one->rule->permit;
}

static uint64_t room(const struct one *one, uint64_t now)
{
    (void)now;
    return subtract_to_zero(one->rule->top, one->cell->word[GCRA_LEVEL]) / one->rule->permit;
}

static uint64_t full(const struct one *one, uint64_t now)
{
    (void)now;
    return gcra_time_to(one->rule, one->cell, 0);
}

static void charge(const struct one *one, uint64_t now, uint64_t cost)
{
    const struct micro_rule *rule = one->rule;
    (void)now;
    const uint64_t level = one->cell->word[GCRA_LEVEL], highest = most(level, rule->top + rule->debt);
    one->cell->word[GCRA_LEVEL] = least(level + multiply_capped(cost, rule->permit), highest);
}

/* As much of the slot has not drained, at the least: from its start on. */
static void give_back(const struct one *one, uint64_t now, uint64_t taken, uint64_t charged, uint64_t unused)
{
    const struct micro_rule *rule = one->rule;
    const uint64_t level = one->cell->word[GCRA_LEVEL];
    if (level > rule->top || gcra_out(one->cell) != 0) return;
    const uint64_t left = drained(rule, multiply_capped(charged, rule->permit), now - taken);
    one->cell->word[GCRA_LEVEL] = subtract_to_zero(level, least(left, multiply_capped(unused, rule->permit)));
}

const struct kind *gcra_kind(void)
{
    static const struct kind gcra = {adapt, offer, take, NULL, room, full, NULL, charge, give_back};
    return &gcra;
}
