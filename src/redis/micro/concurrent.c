/* SPDX-License-Identifier: MIT
   At most so many at once, each until it is released or its lease is over.

       the key    a sorted set: a member for each slot, its score is its end in us      (doc/engine.md)
       here       how many of them are held now, when the last one ends, and when so many will have ended

   The caller counts them before a verb, and writes afterwards what that left to be added or freed: in a sorted set both
   take log N.  Nothing here depends on how many slots there are.

   The set has a clock of its own: the engine's, moved on where that went back (micro_slots_begin).  So what is over
   stays over, and what is held is held as long as it was.

   rule: burst = count; period = the lease.

   As src/core/algorithm/concurrent.c; but a lower count takes nobody's slot away. */
#include "redis/micro/kinds.h"

void micro_slots_begin(struct micro_slots *slots, uint64_t now, uint64_t seen, uint64_t ahead)
{
    *slots = (struct micro_slots){.ahead = ahead, .ahead_was = ahead};
    if (now + ahead < seen) slots->ahead = seen - now;
    slots->at = now + slots->ahead;
    slots->moved = slots->ahead != ahead;
}

uint64_t micro_slots_wanted(const struct micro_rule *rule, const struct micro_slots *slots, uint64_t cost)
{
    return cost > rule->burst ? 0 : subtract_to_zero(slots->held + cost, rule->burst);
}

static uint64_t slots_free(const struct one *one)
{
    return subtract_to_zero(one->rule->burst, one->slots->held);
}

static bool concurrent_adapt(const struct micro_rule *rule, struct micro_cell *cell, uint64_t now)
{
    (void)rule, (void)cell, (void)now;
    return false;
}

static struct micro_offer concurrent_offer(const struct one *one, uint64_t now, uint64_t cost, uint64_t wait)
{
    (void)now, (void)wait;
    if (cost > one->rule->burst) return offer_after(MICRO_FOREVER);
    if (cost <= slots_free(one)) return offer_after(0);
    return offer_after(most(subtract_to_zero(one->slots->wanted_end, one->slots->at), 1));
}

static void concurrent_take(const struct one *one, uint64_t now, uint64_t cost)
{
    struct micro_slots *slots = one->slots;
    (void)now;
    slots->added = cost;
    slots->end = slots->at + one->rule->period;
    slots->held += cost;
    slots->last_end = most(slots->last_end, slots->end);
}

static void concurrent_charge(const struct one *one, uint64_t now, uint64_t cost)
{
    const uint64_t taken = least(cost, slots_free(one));
    if (taken != 0) concurrent_take(one, now, taken);
}

static uint64_t concurrent_room(const struct one *one, uint64_t now)
{
    (void)now;
    return slots_free(one);
}

static uint64_t concurrent_full(const struct one *one, uint64_t now)
{
    (void)now;
    return one->slots->held == 0 ? 0 : subtract_to_zero(one->slots->last_end, one->slots->at);
}

static void concurrent_give_back(const struct one *one, uint64_t now, uint64_t taken, uint64_t charged, uint64_t unused)
{
    (void)now, (void)taken;
    one->slots->freed = least(unused, charged);
}

const struct kind *concurrent_kind(void)
{
    static const struct kind concurrent = {
        concurrent_adapt,  concurrent_offer,    concurrent_take, NULL, concurrent_room, concurrent_full, NULL,
        concurrent_charge, concurrent_give_back};
    return &concurrent;
}
