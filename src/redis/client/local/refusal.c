/* SPDX-License-Identifier: MIT
   How much of one key could pass at most: a line that is known by where it is 0; and turns.

   See refusal.h. */
#include "redis/client/local/refusal.h"

#include "core/num.h"

enum { BURST_SMALL = 8 }; /* turns are half as long with this burst, and 1 / 9 with a burst of 1 */

/* In which so many come back. */
static uint64_t time_of(const struct engine_refusal *refusal, uint64_t cost)
{
    return multiply_saturating(cost, refusal->interval_ns);
}

uint64_t engine_refusal_wait(const struct engine_refusal *refusal, uint64_t now_ns, uint64_t cost)
{
    if (refusal->empty_ns == 0 || (refusal->interval_ns == 0 && cost < refusal->cost)) return 0;
    const uint64_t needed_ns = time_of(refusal, add_saturating(refusal->on_its_way, cost));
    const uint64_t room_ns = add_saturating(refusal->empty_ns, needed_ns);
    return subtract_to_zero(refusal->turn_ns != 0 ? most(room_ns, refusal->turn_until_ns) : room_ns, now_ns);
}

/* One question a turn, whether it is answered or not. */
void engine_refusal_asked(struct engine_refusal *refusal, uint64_t now_ns, uint64_t cost)
{
    refusal->turn_until_ns = add_saturating(now_ns, refusal->turn_ns);
    refusal->on_its_way = add_saturating(refusal->on_its_way, cost);
}

void engine_refusal_lost(struct engine_refusal *refusal, uint64_t cost)
{
    refusal->turn_ns = 0; /* who does not answer has nobody to be left to */
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

/* From half of it to half as much again, by the clock's last digits. */
static uint64_t about(uint64_t turn_ns, uint64_t sent_ns)
{
    return turn_ns == 0 ? 0 : turn_ns / 2 + stir_64(sent_ns) % turn_ns;
}

/* Was a line known, and did others take what it had room for?  Half a permit is what a slower answer looks like. */
static bool others_took(const struct engine_refusal *refusal, const struct engine_refused *refused, uint64_t empty_ns)
{
    const uint64_t full_ns = subtract_to_zero(refused->sent_ns, time_of(refusal, refused->burst));
    const uint64_t before_ns = most(refusal->empty_ns, full_ns);
    return refusal->empty_ns != 0 && subtract_to_zero(empty_ns, before_ns) > refusal->interval_ns / 2;
}

/* So long they may take what comes back. */
static uint64_t turn_of(const struct engine_refused *refused)
{
    const uint64_t others = subtract_to_zero(refused->askers, 1);
    const uint64_t permits = multiply_saturating(others, refused->cost);
    const uint64_t all_ns = multiply_saturating(permits, refused->interval_ns);
    const uint64_t kept_ns = multiply_divide_floor(all_ns, refused->burst, add_saturating(refused->burst, BURST_SMALL));
    return about(least(kept_ns, REFUSAL_TURN_MOST_NS), refused->sent_ns);
}

void engine_refusal_refused(struct engine_refusal *refusal, const struct engine_refused *refused)
{
    engine_refusal_lost(refusal, refused->cost);
    refusal->interval_ns = refused->interval_ns;
    refusal->cost = refused->cost;
    const uint64_t until_ns = add_saturating(refused->sent_ns, refused->retry_ns);
    const uint64_t empty_ns = subtract_to_zero(until_ns, time_of(refusal, refused->cost));
    refusal->turn_ns = others_took(refusal, refused, empty_ns) ? turn_of(refused) : 0;
    refusal->empty_ns = most(refusal->empty_ns, most(empty_ns, 1));
    refusal->turn_until_ns = add_saturating(until_ns, refusal->turn_ns);
}
