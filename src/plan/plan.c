/* SPDX-License-Identifier: MIT
   The public calls for plans: the text is parsed once, then every decision is a call of the pure core.  A plan holds no
   pointers, and decisions never write to it. */
#include "plan/plan.h"

#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"
#include "core/slot.h"
#include "plan/text.h"

void plan_make_profile(const struct plan *plan, struct profile *profile)
{
    size_t at;
    profile_make(profile, &plan->limit[0], &at);
}

/* The rules to decide by.  A profile is compiled for each call, as a plan has no pointers; it begins at instant 0. */
struct paced {
    struct rule rule;
    struct profile profile;
};

static struct rules rules_by(const struct plan *plan, struct paced *paced)
{
    if (!plan_has_profile(plan)) return plan_rules(plan);
    paced->rule = plan->rule[0];
    plan_make_profile(plan, &paced->profile);
    profile_pace(&paced->profile, &paced->rule);
    return (struct rules){&paced->rule, 1};
}

int weir_plan_parse(weir_plan *plan, const char *limits, weir_use use, weir_error *error)
{
    weir_error unwanted;
    struct plan parsed;
    memset(&parsed, 0, sizeof parsed);
    if (error == NULL) error = &unwanted;
    if (limits == NULL) {
        struct writer writer = {error->message, sizeof error->message, 0};
        *error = (weir_error){.code = WEIR_EINVAL};
        write_text(&writer, "limits is NULL: expected a text such as 10/s");
        return WEIR_EINVAL;
    }
    const int count = text_read(limits, use, parsed.limit, parsed.rule, error);
    if (count < 0) return count;
    parsed.count = (uint64_t)count;
    for (int i = 0; i < count; i++) parsed.interval[i] = slot_interval(&parsed.limit[i], &parsed.rule[i]);
    if (plan_has_profile(&parsed)) parsed.interval[0] = 0; /* fits no slot */
    memset(plan, 0, sizeof *plan);
    memcpy(plan, &parsed, sizeof parsed);
    return 0;
}

size_t weir_plan_text(const weir_plan *plan, char *out, size_t size)
{
    const struct plan *inside = plan_inside_const(plan);
    struct writer writer = {out, size, 0};
    write_text(&writer, "");
    for (uint64_t i = 0; i < inside->count; i++) {
        if (i > 0) write_text(&writer, "; ");
        text_write(&writer, &inside->limit[i]);
    }
    return writer.length;
}

int weir_plan_limits(const weir_plan *plan)
{
    return (int)plan_inside_const(plan)->count;
}

bool weir_plan_unit(const weir_plan *plan, int limit, char out[WEIR_UNIT_SIZE])
{
    const struct plan *inside = plan_inside_const(plan);
    if (limit < 0 || (uint64_t)limit >= inside->count) return false;
    memcpy(out, inside->limit[limit].unit, WEIR_UNIT_SIZE);
    return true;
}

uint64_t weir_plan_lease_ns(const weir_plan *plan)
{
    const struct plan *inside = plan_inside_const(plan);
    const int holder = decide_holder(plan_rules(inside));
    return holder < 0 ? 0 : inside->limit[holder].time_ns;
}

bool plan_has_units(const struct plan *plan)
{
    for (uint64_t i = 1; i < plan->count; i++) {
        if (strcmp(plan->limit[i].unit, plan->limit[0].unit) != 0) return true;
    }
    return false;
}

uint64_t plan_full_ns(struct rules rules, const weir_decision *decision)
{
    if (decision->limit >= (uint32_t)rules.count) return 0;
    const struct rule *rule = &rules.rule[decision->limit];
    const struct algorithm *algorithm = algorithm_of(rule);
    if (algorithm->words == 0) return 0;
    const uint64_t now_ns = subtract_to_zero(decision->start.ns, decision->delay_ns);
    weir_decision seen = *decision;
    /* Its end is an id: the limit's own is known by what remains, to a permit. */
    if (decision->verdict == WEIR_ALLOW && algorithm->grows != GROWS_SLOTS && decide_holder(rules) >= 0) {
        const uint64_t used = subtract_to_zero(rule->burst, ticks_of(rule, decision->remaining));
        seen.end = add_saturating(tick_at(rule, decision->start.ns), used);
    }
    const uint64_t full_ns =
        subtract_to_zero(ns_ceil(rule, algorithm_full(rule, algorithm, &seen, tick_at(rule, now_ns))), now_ns);
    /* Not before a call that was refused would pass. */
    const uint64_t retry_ns = decision_retry_ns(decision);
    return retry_ns == WEIR_FOREVER ? full_ns : most(full_ns, retry_ns);
}

uint64_t weir_decide_full_ns(const weir_plan *plan, const weir_decision *decision)
{
    struct paced paced;
    return plan_full_ns(rules_by(plan_inside_const(plan), &paced), decision);
}

size_t weir_state_size(const weir_plan *plan)
{
    const struct plan *inside = plan_inside_const(plan);
    const size_t words = decide_words_before(plan_rules(inside), (int)inside->count);
    return (words != 0 ? words : 1) * sizeof(uint64_t);
}

weir_decision weir_decide_within(const weir_plan *plan, void *state, weir_instant now, uint64_t cost,
                                 uint64_t wait_max_ns)
{
    weir_decision decision;
    struct paced paced;
    uint64_t each[WEIR_LIMITS_MAX];
    cost_alike(each, WEIR_LIMITS_MAX, cost);
    const struct question question = {.now_ns = now.ns, .wait_max_ns = wait_max_ns, .cost = each};
    decide(rules_by(plan_inside_const(plan), &paced), state, &question, NULL, &decision);
    return decision;
}

weir_decision weir_decide(const weir_plan *plan, void *state, weir_instant now, uint64_t cost)
{
    return weir_decide_within(plan, state, now, cost, 0);
}

static bool plan_hold(const weir_plan *plan, void *state, weir_instant now, uint64_t id, enum hold hold)
{
    return decide_hold(plan_rules(plan_inside_const(plan)), state, now.ns, id, hold) != 0;
}

bool weir_decide_renew(const weir_plan *plan, void *state, weir_instant now, uint64_t id)
{
    return plan_hold(plan, state, now, id, HOLD_RENEW);
}

bool weir_decide_release(const weir_plan *plan, void *state, weir_instant now, uint64_t id)
{
    return plan_hold(plan, state, now, id, HOLD_RELEASE);
}

void weir_decide_settle(const weir_plan *plan, void *state, weir_instant now, weir_decision *decision, uint64_t actual)
{
    uint64_t charged[WEIR_LIMITS_MAX], used[WEIR_LIMITS_MAX];
    struct paced paced;
    if (decision->verdict != WEIR_ALLOW || decision->reserved & DECISION_SETTLED) return;
    cost_alike(charged, WEIR_LIMITS_MAX, decision->charged);
    cost_alike(used, WEIR_LIMITS_MAX, actual);
    decide_settle(rules_by(plan_inside_const(plan), &paced), state, now.ns, decision, charged, used, NULL);
    decision->charged = 0;
    decision->reserved |= DECISION_SETTLED;
}
