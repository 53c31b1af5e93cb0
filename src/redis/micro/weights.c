/* SPDX-License-Identifier: MIT
   Weights of tenants (core/tenants.h) in the engine's unit: the finish of each, at the key of the level that has the
   weight, and the lead, at the key of the last level.

   Both are told as a level is: how far ahead they were then, of which `per` parts pass in a us.  A part is as fine as
   the shared limit's burst allows: a permit is at least WEIGHT_MAX of them, and a lead that is set ahead is still a
   number of this unit.  The same for all tenants, since it is of their parent's rule alone.

   At each key a mark is the last cell (state.c), and goes when it has run out. */
#include "core/limit.h"
#include "redis/micro/kinds.h"

enum { BITS_MOST = 40 };
#define BURST_PARTS (UINT64_C(1) << 45) /* at most; a lead is set 64 times as far ahead */

_Static_assert(BURST_PARTS *FAIR_AHEAD < MICRO_MOST, "a lead that is set ahead is a number of this unit");

/* By halves, from the finest. */
bool weights_make(struct micro_weights *weights, const struct micro_rule *rule)
{
    for (int bits = BITS_MOST; bits >= 0; bits--) {
        weights->per = UINT64_C(1) << bits;
        weights->permit = share_floor(rule->permit, weights->per, rule->per);
        if (multiply_capped(rule->burst, weights->permit) <= BURST_PARTS) return weights->permit >= WEIGHT_MAX;
    }
    return false;
}

static uint64_t ahead_at(const struct micro_mark *mark, uint64_t now)
{
    const uint64_t elapsed = subtract_to_zero(now, mark->seen);
    return elapsed >= divide_ceil(mark->ahead, mark->per) ? 0 : mark->ahead - elapsed * mark->per;
}

static bool has_mark(const struct micro_state *state, unsigned key)
{
    return (state->marks >> key & 1) != 0;
}

void weights_bring(struct micro_state *state, uint64_t now)
{
    for (unsigned key = 0; key < MICRO_LEVELS_MAX; key++) {
        struct micro_mark *mark = &state->mark[key];
        if (!has_mark(state, key)) continue;
        mark->seen = least(mark->seen, now);
        mark->ahead = least(mark->ahead, MICRO_MOST);
        if (ahead_at(mark, now) == 0) state->marks &= ~(1U << key);
    }
}

uint64_t weights_idle(const struct micro_state *state, uint64_t now)
{
    uint64_t idle = 0;
    for (unsigned key = 0; key < MICRO_LEVELS_MAX; key++) {
        const struct micro_mark *mark = &state->mark[key];
        if (has_mark(state, key)) idle = most(idle, divide_ceil(ahead_at(mark, now), mark->per));
    }
    return idle;
}

static uint64_t ahead_of(const struct micro_plan *plan, const struct micro_state *state, unsigned level, uint64_t now)
{
    const struct micro_mark *mark = &state->mark[level];
    return has_mark(state, level) && mark->per == plan->weights.per ? ahead_at(mark, now) : 0;
}

static uint64_t burst_of(const struct micro_plan *plan)
{
    return plan->rule[plan->weights.limit].burst * plan->weights.permit;
}

static struct fair fair_at(const struct micro_plan *plan, const struct micro_state *state, uint64_t now)
{
    const uint64_t lead = ahead_of(plan, state, plan->levels - 1, now);
    return fair_of(lead, ahead_of(plan, state, plan->weights.level, now), burst_of(plan));
}

uint64_t weights_spare(const struct micro_plan *plan, const struct micro_state *state, uint64_t now, uint64_t cost)
{
    const struct fair fair = fair_at(plan, state, now);
    return fair_spare(&fair, burst_of(plan), multiply_capped(cost, plan->weights.permit)) / plan->weights.permit;
}

static void set_mark(const struct micro_plan *plan, struct micro_state *state, unsigned level, uint64_t now,
                     uint64_t ahead)
{
    state->mark[level] = (struct micro_mark){now, least(ahead, MICRO_MOST), plan->weights.per};
    state->marks |= 1U << level;
}

void weights_count(const struct micro_plan *plan, struct micro_state *state, uint64_t now, const uint64_t cost[])
{
    const struct micro_weights *weights = &plan->weights;
    if (weights->weight == 0 || cost[weights->limit] == 0) return;
    const struct fair fair = fair_at(plan, state, now);
    const uint64_t parts = multiply_capped(cost[weights->limit], weights->permit);
    set_mark(plan, state, weights->level, now, fair_finish(&fair, parts, weights->weight));
    set_mark(plan, state, plan->levels - 1, now, fair_lead(&fair));
}
