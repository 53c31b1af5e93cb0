/* SPDX-License-Identifier: MIT
   See smooth.h. */
#include "property/smooth.h"

#include <inttypes.h>
#include <string.h>

#include "core/clock.h"
#include "core/num.h"

static void use_plan(struct smooth *smooth, const weir_plan *plan)
{
    smooth->plan = *plan;
    const struct plan *inside = plan_inside_const(&smooth->plan);
    smooth->limit = &inside->limit[0];
    smooth->rule = &inside->rule[0];
    limit_rate(smooth->limit, &smooth->p, &smooth->q);
}

void smooth_open(struct prop *prop, struct smooth *smooth, const char *text)
{
    weir_plan plan;
    prop_note(prop, "plan \"%s\"", text);
    prop_check(prop, weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) == 0, "refused");
    use_plan(smooth, &plan);
}

bool smooth_change(struct prop *prop, struct smooth *smooth, const char *text, weir_carry how)
{
    uint64_t next[STATE_WORDS_MAX] = {0};
    weir_plan plan;
    prop_check(prop, weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) == 0, "refused");
    struct rule *to = &plan_inside(&plan)->rule[0];
    to->anchor_ns = smooth->now_ns;
    const struct rule *from = smooth->rule;
    const struct algorithm *algorithm = algorithm_of(from);
    const uint64_t now = tick_at(from, smooth->now_ns), mark = algorithm_at(from, algorithm, smooth->state, now).end;
    const bool waits = algorithm->balance(from, smooth->state, now).waits;
    algorithm->carry(from, to, smooth->state, next, now, how);
    prop_note(prop, "%" PRIu64 " ns: now \"%s\", %s", smooth->now_ns, text, how == WEIR_KEEP ? "keep" : "scale");
    const uint64_t after = algorithm_at(to, algorithm, next, to->anchor_tick).end;
    if (waits || how == WEIR_SCALE) {
        const uint64_t permits = carry_waiting(from, to, mark - now);
        prop_check(prop, after == add_saturating(to->anchor_tick, permits), "owed permits differ");
    } else {
        prop_check(prop, ns_ceil(to, after) == most(ns_ceil(from, mark), to->anchor_ns), "owed time differs");
    }
    memcpy(smooth->state, next, sizeof next);
    use_plan(smooth, &plan);
    return after >> 62 == 0;
}

bool smooth_pays_itself(const struct smooth *smooth)
{
    return smooth->limit->pay == PAY_SELF;
}

uint64_t smooth_pick_gap(struct prop *prop, const struct smooth *smooth, uint64_t saved_up_ns)
{
    const uint64_t permit_ns = smooth->q / smooth->p + 1;
    switch (prop_pick(prop, 5)) {
    case 0:
        return 0;
    case 1:
        return prop_pick(prop, 3);
    case 2:
        return prop_pick(prop, 2 * permit_ns + 1);
    case 3:
        return prop_pick(prop, 2 * saved_up_ns + 2);
    default:
        return prop_pick_size(prop, 10 * (permit_ns + saved_up_ns));
    }
}

uint64_t smooth_pick_wait(struct prop *prop, const struct smooth *smooth)
{
    const uint64_t how = prop_pick(prop, 4);
    if (how < 2) return 0;
    return how == 2 ? WEIR_FOREVER : prop_pick(prop, 4 * (smooth->q / smooth->p + 1));
}

/* What it would be told later, as long as nobody comes between. */
static weir_decision would(const struct smooth *smooth, uint64_t later_ns, uint64_t cost, uint64_t wait_ns)
{
    uint64_t copy[STATE_WORDS_MAX];
    memcpy(copy, smooth->state, sizeof copy);
    return weir_decide_within(&smooth->plan, copy, (weir_instant){smooth->now_ns + later_ns}, cost, wait_ns);
}

void smooth_check_retry(struct prop *prop, const struct smooth *smooth, uint64_t retry_ns, uint64_t cost,
                        uint64_t wait_ns)
{
    prop_check(prop, retry_ns > 0 && retry_ns != WEIR_FOREVER, "retry %" PRIu64, retry_ns);
    prop_check(prop, would(smooth, retry_ns - 1, cost, wait_ns).verdict == WEIR_DENY, "early");
    prop_check(prop, would(smooth, retry_ns, cost, wait_ns).verdict == WEIR_ALLOW, "late");
}

void smooth_note(struct smooth *smooth, const weir_decision *decision, uint64_t cost)
{
    if (smooth->uses == SMOOTH_USES_MAX) return;
    smooth->use[smooth->uses++] = (struct smooth_use){smooth->now_ns + decision->delay_ns, cost, *decision};
}

void smooth_settle_one(struct prop *prop, struct smooth *smooth)
{
    if (smooth->uses == 0) return;
    struct smooth_use *use = &smooth->use[smooth->uses - 1 - (int)prop_pick(prop, (uint64_t)smooth->uses)];
    if (use->decision.charged == 0) return;
    uint64_t actual = prop_pick(prop, 2) == 0 ? 0 : prop_pick(prop, use->permits + 1);
    if (actual != 0 && smooth->now_ns < use->start_ns) actual = 0;
    prop_note(prop, "%" PRIu64 " ns: settle call %d from %" PRIu64 " to %" PRIu64, smooth->now_ns,
              (int)(use - smooth->use), use->permits, actual);
    weir_decide_settle(&smooth->plan, smooth->state, (weir_instant){smooth->now_ns}, &use->decision, actual);
    use->permits = actual;
}

void smooth_sort(struct smooth *smooth)
{
    for (int i = 1; i < smooth->uses; i++) {
        const struct smooth_use one = smooth->use[i];
        int at = i;
        for (; at > 0 && smooth->use[at - 1].start_ns > one.start_ns; at--) smooth->use[at] = smooth->use[at - 1];
        smooth->use[at] = one;
    }
}
