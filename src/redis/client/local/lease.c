/* SPDX-License-Identifier: MIT
   One key's lease on this node: a state machine over times and messages that others bring.

       none --ask--> waiting --granted--> held --half spent, quiet, or closed: end--> none
                        +------lost, or granted 0----> none, and rests

   Size: a lease that is half spent in an eighth of its lifetime is followed by one of twice as many; one that lasts for
   more than half of it, by as many as were used.  So a busy key asks about ten times in a lifetime, however busy it is,
   and a slower one takes along little that others miss.

   See lease.h. */
#include "redis/client/local/lease.h"

#include "core/num.h"

bool engine_lease_spend(struct engine_lease *lease, uint64_t now_ns, uint64_t cost)
{
    if (cost == 0 || cost > lease->left || now_ns >= lease->spend_before_ns) return false;
    lease->left -= cost;
    return true;
}

void engine_lease_heard(struct engine_lease *lease, uint64_t remaining)
{
    lease->scarce = remaining < LEASE_SCARCE;
}

bool engine_lease_due(const struct engine_lease *lease, uint64_t now_ns)
{
    if (lease->waiting || lease->scarce || now_ns < lease->rests_until_ns) return false;
    return lease->left <= lease->permits / 2 || now_ns >= lease->spend_before_ns;
}

static uint64_t next_want(const struct engine_lease *lease, uint64_t lifetime_ns, uint64_t now_ns)
{
    const uint64_t age_ns = subtract_to_zero(now_ns, lease->sent_ns), used = lease->permits - lease->left;
    if (age_ns > lifetime_ns / LEASE_SLOW) return most(used, LEASE_LEAST);
    if (age_ns > lifetime_ns / LEASE_QUICK || used < lease->left) return lease->permits;
    return least(2 * lease->permits, LEASE_MOST);
}

struct engine_lease_return engine_lease_end(struct engine_lease *lease, uint64_t lifetime_ns, uint64_t now_ns)
{
    struct engine_lease_return back = {0};
    if (lease->permits == 0) return back;
    lease->want = next_want(lease, lifetime_ns, now_ns);
    /* Two lifetimes after it was granted it is over there too, wherever in an epoch that was. */
    if (subtract_to_zero(now_ns, lease->sent_ns) / 2 < lifetime_ns)
        back = (struct engine_lease_return){lease->id, lease->permits, lease->left};
    lease->permits = lease->left = 0;
    return back;
}

uint64_t engine_lease_ask(struct engine_lease *lease, uint64_t now_ns)
{
    if (lease->want == 0) lease->want = LEASE_FIRST;
    lease->asked_ns = now_ns;
    lease->waiting = true;
    return lease->want;
}

static void rest(struct engine_lease *lease, uint64_t lifetime_ns)
{
    lease->rests_until_ns = add_saturating(lease->asked_ns, lifetime_ns / LEASE_REST);
}

void engine_lease_granted(struct engine_lease *lease, uint64_t lifetime_ns, uint64_t id, uint64_t permits)
{
    if (permits < least(lease->want, LEASE_FIRST)) rest(lease, lifetime_ns);
    lease->waiting = false;
    lease->permits = lease->left = permits;
    lease->id = id;
    lease->sent_ns = lease->asked_ns;
    lease->spend_before_ns = add_saturating(lease->asked_ns, lifetime_ns - lifetime_ns / LEASE_MARGIN);
}

void engine_lease_lost(struct engine_lease *lease, uint64_t lifetime_ns)
{
    rest(lease, lifetime_ns);
    lease->waiting = false;
}
