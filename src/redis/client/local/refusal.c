/* SPDX-License-Identifier: MIT
   How much of one key could pass at most: a line that is known by where it is 0.

   See refusal.h. */
#include "redis/client/local/refusal.h"

#include "core/num.h"

/* In which so many come back. */
static uint64_t time_of(const struct engine_refusal *refusal, uint64_t cost)
{
    return multiply_divide_floor(cost, refusal->interval_ns, 1);
}

uint64_t engine_refusal_wait(const struct engine_refusal *refusal, uint64_t now_ns, uint64_t cost)
{
    if (refusal->empty_ns == 0 || (refusal->interval_ns == 0 && cost < refusal->cost)) return 0;
    const uint64_t needed_ns = time_of(refusal, add_saturating(refusal->on_its_way, cost));
    return subtract_to_zero(add_saturating(refusal->empty_ns, needed_ns), now_ns);
}

void engine_refusal_asked(struct engine_refusal *refusal, uint64_t cost)
{
    refusal->on_its_way = add_saturating(refusal->on_its_way, cost);
}

void engine_refusal_lost(struct engine_refusal *refusal, uint64_t cost)
{
    refusal->on_its_way = subtract_to_zero(refusal->on_its_way, cost);
}

/* There may be more than we thought, for others give back. */
void engine_refusal_allowed(struct engine_refusal *refusal, uint64_t sent_ns, uint64_t cost, uint64_t remaining)
{
    engine_refusal_lost(refusal, cost);
    if (refusal->empty_ns == 0) return;
    refusal->empty_ns = add_saturating(refusal->empty_ns, time_of(refusal, cost));
    if (remaining == 0) return;
    refusal->empty_ns = least(refusal->empty_ns, subtract_to_zero(sent_ns, time_of(refusal, remaining)));
}

void engine_refusal_refused(struct engine_refusal *refusal, const struct engine_refused *refused)
{
    engine_refusal_lost(refusal, refused->cost);
    refusal->interval_ns = refused->interval_ns;
    refusal->cost = refused->cost;
    const uint64_t until_ns = add_saturating(refused->sent_ns, refused->retry_ns);
    const uint64_t empty_ns = subtract_to_zero(until_ns, time_of(refusal, refused->cost));
    refusal->empty_ns = most(refusal->empty_ns, most(empty_ns, 1));
}
