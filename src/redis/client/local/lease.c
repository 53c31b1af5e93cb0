/* SPDX-License-Identifier: MIT
   One key's lease on this node: a state machine over times and messages that others bring.

       none --ask--> waiting --granted--> held --low, or late: ask--> waiting, and what is left is spent meanwhile
              ^         |                  +---- quiet, or closed: end--> none
              +- rests -+ lost, or granted too little

   Size: as many as are spent in a quarter of a lifetime, at the pace since the last request.  So a busy key asks about
   four times in a lifetime, however busy it is, and a slower one takes along little that others miss.  What is left at
   a request is spent after it, so there is one request for each lease, however early it is.

   See lease.h. */
#include "redis/client/local/lease.h"

#include "core/num.h"

static uint64_t left_of(const struct engine_lease_part *part, uint64_t now_ns)
{
    return now_ns < part->spend_before_ns ? part->left : 0;
}

uint64_t engine_lease_left(const struct engine_lease *lease, uint64_t now_ns)
{
    return left_of(&lease->before, now_ns) + left_of(&lease->now, now_ns);
}

bool engine_lease_holds(const struct engine_lease *lease)
{
    return lease->before.permits > 0 || lease->now.permits > 0;
}

bool engine_lease_spend(struct engine_lease *lease, uint64_t now_ns, uint64_t cost)
{
    if (cost == 0 || cost > engine_lease_left(lease, now_ns)) return false;
    const uint64_t from_before = least(cost, left_of(&lease->before, now_ns));
    lease->before.left -= from_before;
    lease->now.left -= cost - from_before;
    lease->spent += cost;
    return true;
}

void engine_lease_heard(struct engine_lease *lease, uint64_t remaining)
{
    lease->scarce = remaining < LEASE_SCARCE;
}

bool engine_lease_due(const struct engine_lease *lease, uint64_t now_ns)
{
    if (lease->waiting || lease->scarce || now_ns < lease->rests_until_ns) return false;
    return engine_lease_left(lease, now_ns) <= lease->low || now_ns >= lease->renew_ns;
}

uint64_t engine_lease_next(const struct engine_lease *lease, uint64_t lifetime_ns, uint64_t now_ns)
{
    if (lease->want == 0) return LEASE_FIRST;
    const uint64_t age_ns = most(subtract_to_zero(now_ns, lease->asked_ns), 1);
    const uint64_t pace = multiply_divide_floor(lease->spent, lifetime_ns / LEASE_LASTS, age_ns);
    return most(least(pace, least(LEASE_GROWTH * lease->want, LEASE_MOST)), LEASE_LEAST);
}

/* Adds all of it but what is kept to what is given back, unless that is of another epoch, and has to go first.  Two
   lifetimes after it was granted it is over there too, wherever in an epoch that was. */
static void give_back(struct engine_lease_part *part, uint64_t kept, uint64_t lifetime_ns, uint64_t now_ns,
                      struct engine_lease_return *back)
{
    if (part->permits == kept || (back->permits > 0 && back->id != part->id)) return;
    if (subtract_to_zero(now_ns, part->sent_ns) / 2 < lifetime_ns) {
        back->id = part->id;
        back->permits += part->permits - kept;
        back->unused += part->left - kept;
    }
    part->permits = part->left = kept;
}

struct engine_lease_return engine_lease_ask(struct engine_lease *lease, uint64_t lifetime_ns, uint64_t now_ns,
                                            uint64_t want)
{
    struct engine_lease_return back = {0};
    give_back(&lease->before, 0, lifetime_ns, now_ns, &back);
    give_back(&lease->now, left_of(&lease->now, now_ns), lifetime_ns, now_ns, &back);
    lease->before = lease->now;
    lease->now = (struct engine_lease_part){0};
    lease->asked_ns = now_ns;
    lease->spent = 0;
    lease->want = want;
    lease->waiting = true;
    return back;
}

struct engine_lease_return engine_lease_end(struct engine_lease *lease, uint64_t lifetime_ns, uint64_t now_ns)
{
    struct engine_lease_return back = {0};
    give_back(&lease->before, 0, lifetime_ns, now_ns, &back);
    give_back(&lease->now, 0, lifetime_ns, now_ns, &back);
    lease->want = 0;
    return back;
}

static void rest(struct engine_lease *lease, uint64_t lifetime_ns)
{
    lease->rests_until_ns = add_saturating(lease->asked_ns, lifetime_ns / LEASE_REST);
}

void engine_lease_granted(struct engine_lease *lease, uint64_t lifetime_ns, uint64_t id, uint64_t permits)
{
    if (permits < least(lease->want, LEASE_FIRST)) rest(lease, lifetime_ns);
    lease->waiting = false;
    lease->now = (struct engine_lease_part){
        .permits = permits,
        .left = permits,
        .id = id,
        .sent_ns = lease->asked_ns,
        .spend_before_ns = add_saturating(lease->asked_ns, lifetime_ns - lifetime_ns / LEASE_MARGIN),
    };
    lease->low = (lease->before.left + permits) / LEASE_LOW;
    lease->renew_ns = add_saturating(lease->asked_ns, lifetime_ns - lifetime_ns / LEASE_EARLY);
}

void engine_lease_lost(struct engine_lease *lease, uint64_t lifetime_ns)
{
    rest(lease, lifetime_ns);
    lease->waiting = false;
}
