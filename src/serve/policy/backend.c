/* SPDX-License-Identifier: MIT
   Where the state of a limit is kept: in a table of this process, or in the engine that the file names.

   What is kept in an engine can be kept there. */
#include "api/error.h"
#include "api/table/keyed.h"
#include "core/decide.h"
#include "core/num.h"
#include "plan/plan.h"
#include "redis/micro/micro.h"
#include "serve/policy/policy.h"

#include <stdio.h>
#include <string.h>

static bool keeps_something(const weir_plan *plan)
{
    const struct plan *inside = plan_inside_const(plan);
    for (uint64_t i = 0; i < inside->count; i++) {
        if (inside->limit[i].period_ns != 0) return true; /* neither "unlimited" nor "none" */
    }
    return false;
}

/* Of all limits by this algorithm. */
static uint64_t permits_by(const weir_plan *plan, enum algorithm_name algorithm)
{
    const struct plan *inside = plan_inside_const(plan);
    uint64_t permits = 0;
    for (uint64_t i = 0; i < inside->count; i++) {
        if (inside->limit[i].algorithm == algorithm) permits = add_saturating(permits, inside->limit[i].count.digits);
    }
    return permits;
}

static bool state_fits(const weir_plan *plan, weir_error *error)
{
    if (permits_by(plan, ALGORITHM_CONCURRENT) > BACKEND_SLOTS_MAX) {
        api_fail(error, WEIR_EUNSUPPORTED,
                 "a concurrent limit has at most 8000 slots in this process, so that no call takes long; give each "
                 "client some of them: a key, and fewer slots");
        return false;
    }
    if (permits_by(plan, ALGORITHM_SLIDING_LOG) <= BACKEND_LOG_MAX) return true;
    api_fail(error, WEIR_EUNSUPPORTED,
             "the sliding-logs of a limit have at most 8000 permits in this process, so that no call takes long, and "
             "100000 in an engine; shorten the period, for example 100/s for 6000/min, or write "
             "algorithm=sliding-window");
    return false;
}

bool backend_check_text(const weir_plan *plan, weir_error *error)
{
    if (permits_by(plan, ALGORITHM_CONCURRENT) > BACKEND_TEXT_SLOTS_MAX) {
        api_fail(error, WEIR_EUNSUPPORTED,
                 "a concurrent limit in a client's text has at most 2000 slots; give the limit a name in weir.yaml, "
                 "for up to 8000");
        return false;
    }
    if (permits_by(plan, ALGORITHM_SLIDING_LOG) <= BACKEND_TEXT_LOG_MAX) return true;
    api_fail(error, WEIR_EUNSUPPORTED,
             "the sliding-logs of a client's text have at most 2000 permits; shorten the period, for example 100/s for "
             "6000/min, write algorithm=sliding-window, or give the limit a name in weir.yaml, for up to 8000");
    return false;
}

bool backend_for(struct policy_backend *backend, struct tables *tables, struct engine *engine, weir_away away,
                 const weir_plan *plan, weir_error *error)
{
    const bool shared = engine != NULL && keeps_something(plan);
    *backend = (struct policy_backend){.table = NULL};
    if (!shared && !state_fits(plan, error)) return false;
    *backend = (struct policy_backend){.table = shared ? tables_usual(tables) : tables_for(tables, plan, error)};
    if (shared) backend->shared = engine_limit_open(engine, plan, away, error);
    return shared ? backend->shared != NULL : backend->table != NULL;
}

bool backend_holds(const weir_plan *plan)
{
    return decide_holder(plan_rules(plan_inside_const(plan))) >= 0;
}

/* The key as batch_limit.c has it. */
bool backend_held(const struct policy_limit *limit, uint64_t now_ns, uint64_t *held)
{
    char bytes[POLICY_NAME_MAX + 3];
    const int holder = decide_holder(plan_rules(plan_inside_const(&limit->plan)));
    if (holder < 0 || !limit->common || limit->shared != NULL) return false;
    const int size = snprintf(bytes, sizeof bytes, "%c%s", '\0', limit->name) + 1; /* and the NUL behind the name */
    const weir_decision decision =
        keyed_peek(limit->table, &limit->plan, (weir_key){bytes, (size_t)size}, now_ns, holder, 0);
    *held = plan_inside_const(&limit->plan)->limit[holder].count.digits - decision.remaining;
    return true;
}

/* Overrides by the same algorithm have the part of their limit. */
static bool part_of_limit(struct policy_limit *limit, struct tables *tables, unsigned limits, weir_error *error)
{
    const weir_key name = {limit->name, strlen(limit->name)};
    struct plan *plan = plan_inside(&limit->plan);
    unsigned part = 0;
    if (limit->shared == NULL) {
        part = tables_part(tables, limit->table, name, limit->keys, limits, error);
        if (part == 0) return false;
        plan->part = part;
        tables_enter(tables, limit->table, &limit->plan);
    }
    for (unsigned i = 0; i < limit->override_count; i++) {
        const struct policy_override *override = &limit->override[i];
        if (override->shared != NULL || !keeps_something(override->plan)) continue;
        const bool same = part != 0 && override->table == limit->table;
        const unsigned other = same ? part : tables_part(tables, override->table, name, limit->keys, limits, error);
        if (other == 0) return false;
        plan_inside(override->plan)->part = other;
        keyed_rules_of_override(override->table, plan_inside(override->plan));
    }
    if (limit->others == NULL) return true;
    plan_inside(limit->others)->part = part;
    keyed_rules_of_override(limit->table, plan_inside(limit->others));
    return true;
}

const struct policy_limit *backend_parts(struct policy *policy, struct tables *tables, weir_error *error)
{
    const struct policy_limit *without = NULL;
    for (unsigned i = 0; i < policy->limit_count; i++) {
        struct policy_limit *limit = &policy->limit[i];
        if (!part_of_limit(limit, tables, policy->limit_count, error) && without == NULL) without = limit;
    }
    return without;
}

bool backend_carries(const struct policy_limit *before, const struct policy_limit *limit)
{
    const struct plan *from = plan_inside_const(&before->plan), *to = plan_inside_const(&limit->plan);
    bool same = from->count == to->count && (before->shared == NULL) == (limit->shared == NULL);
    same = same && (limit->shared != NULL || before->table == limit->table);
    for (uint64_t i = 0; same && i < to->count; i++) same = from->rule[i].algorithm == to->rule[i].algorithm;
    return same;
}

/* In slots an override's keys begin anew; what remembers rules by itself carries as a limit does. */
unsigned backend_anew(const struct policy_limit *before, const struct policy_limit *limit)
{
    unsigned anew = 0;
    char was[POLICY_TEXT_MAX], is[POLICY_TEXT_MAX];
    for (unsigned i = 0; i < limit->override_count; i++) {
        const struct policy_override *now = &limit->override[i];
        const struct policy_override *then = policy_override_of(before, now->key);
        if (now->shared != NULL || keyed_is_wide(now->table)) continue;
        was[0] = '\0';
        if (then != NULL) weir_plan_text(then->plan, was, sizeof was);
        weir_plan_text(now->plan, is, sizeof is);
        anew += strcmp(was, is) != 0;
    }
    return anew;
}

bool backend_could_be(const struct tables_options *options, bool engine, const weir_plan *plan, weir_error *error)
{
    struct micro_plan there;
    if (engine && keeps_something(plan)) return micro_plan_make(&there, plan, error) == 0;
    return state_fits(plan, error) && tables_could_hold(options, plan, error) == 0;
}
