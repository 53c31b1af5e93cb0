/* SPDX-License-Identifier: MIT
   Nodes that decide for themselves, each with states of its own.

   The same answers as the limiter gives. */
#include "cli/replay/fleet/fleet.h"
#include "core/num.h"
#include "plan/plan.h"
#include "plan/text.h"

enum { SHARE_TEXT_SIZE = 512 };

void local_open(struct fleet_local *local, const weir_plan *plan)
{
    local->plan = *plan;
    pairs_open(&local->states, weir_state_size(plan));
}

void local_close(struct fleet_local *local)
{
    pairs_close(&local->states);
}

static uint64_t burst_of(const struct limit *limit)
{
    uint64_t permits, period_ns;
    if (limit->burst_kind == AMOUNT_COUNT) return limit->burst;
    return limit_rate(limit, &permits, &period_ns) ? multiply_divide_floor(limit->burst, permits, period_ns) : 0;
}

int local_share(weir_plan *share, const weir_plan *plan, uint64_t nodes, weir_error *error)
{
    char text[SHARE_TEXT_SIZE];
    struct writer writer = {text, sizeof text, 0};
    struct limit limit = plan_inside_const(plan)->limit[0];
    limit.burst = most(burst_of(&limit) / nodes, 1);
    limit.period_ns = multiply_divide_floor(limit.period_ns, nodes, 1);
    limit.burst_kind = AMOUNT_COUNT;
    text_write(&writer, &limit);
    return weir_plan_parse(share, text, WEIR_ADMIT, error);
}

bool local_take(struct fleet_local *local, uint32_t client, uint32_t node, uint64_t time_us, uint64_t cost,
                bool *allowed)
{
    const weir_instant now = {time_us * 1000};
    void *state = pairs_at(&local->states, client, node);
    if (state == NULL) return false;
    *allowed = cost == 0 || weir_allowed(weir_decide_within(&local->plan, state, now, cost, 0));
    return true;
}
