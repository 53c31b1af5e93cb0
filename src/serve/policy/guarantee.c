/* SPDX-License-Identifier: MIT
   Tenants of a limit, when they are defined: what their texts and their parent's have to be.

   What is guaranteed is within the parent's rate in total, and all have a weight or none (plan/tenants).  Here a tenant
   is a key of a table of 16-byte slots, and a call has one cost for all texts that it is asked under: so all are by
   gcra, and count one unit.

   A guarantee is for keys with a name: nobody knows how many others there will be. */
#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "core/algorithm.h"
#include "core/tenants.h"
#include "plan/plan.h"
#include "plan/tenants/tenants.h"
#include "serve/policy/policy.h"

static bool wrong(weir_error *error, const char *words)
{
    api_fail(error, WEIR_EINVAL, words);
    return false;
}

static bool counts(const struct plan *plan, uint64_t limit)
{
    return algorithm_of(&plan->rule[limit])->words != 0;
}

bool guarantee_of(const weir_plan *plan)
{
    return tenants_guaranteed(&plan_inside_const(plan)->rule[0]);
}

bool guarantee_alone(const weir_plan *plan, weir_error *error)
{
    const struct plan *inside = plan_inside_const(plan);
    bool guaranteed = false;
    for (uint64_t i = 0; i < inside->count; i++) guaranteed |= tenants_guaranteed(&inside->rule[i]);
    return !guaranteed || wrong(error, "guaranteed is for tenants of a limit; write {limit: 1000/s, tenants: {acme: "
                                       "200/s guaranteed}} in weir.yaml, or leave it out");
}

bool guarantee_text(const weir_plan *plan, const weir_plan *parent, weir_error *error)
{
    const struct plan *inside = plan_inside_const(plan), *above = plan_inside_const(parent);
    const char *unit = NULL;
    for (uint64_t i = 0; i < above->count && unit == NULL; i++) unit = counts(above, i) ? above->limit[i].unit : NULL;
    for (uint64_t i = 0; i < inside->count; i++) {
        if (!counts(inside, i)) continue;
        if (inside->interval[i] == 0)
            return wrong(error, "with tenants all limits are by gcra; for example 200/s burst=20 guaranteed; 500/s");
        if (unit != NULL && strcmp(inside->limit[i].unit, unit) != 0)
            return wrong(error, "a tenant's call has one cost: expected one unit in all limits, its parent's and its "
                                "own; give each unit a limit with tenants of its own");
    }
    return true;
}

/* Those with a name, and behind them all others. */
struct names {
    const struct policy_override *tenant;
    unsigned count;
};

static void write_name(struct writer *writer, const void *context, size_t index)
{
    const struct names *names = context;
    const struct slice name = index < names->count ? names->tenant[index].key : slice_of("\"*\"");
    write_bytes(writer, name.bytes, name.size < POLICY_NAME_MAX ? name.size : POLICY_NAME_MAX);
}

bool guarantee_all(const weir_plan *parent, const struct policy_override *tenant, unsigned count,
                   const weir_plan *others, size_t *which, weir_error *error)
{
    const weir_plan **plans = calloc((size_t)count + 1, sizeof(void *));
    const struct names names = {tenant, count};
    const struct tenants_set all = {plans, (size_t)count + 1, write_name, &names};
    *which = all.count;
    if (plans == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for the tenants") == 0;
    for (unsigned i = 0; i < count; i++) plans[i] = tenant[i].plan;
    plans[count] = others;
    const bool fine = tenants_check(parent, &all, which, error) == 0;
    free(plans);
    return fine;
}

bool guarantee_parent(const struct policy_limit *limit, weir_error *error)
{
    size_t which;
    if (limit->others == NULL) return true;
    if (!guarantee_text(&limit->plan, &limit->plan, error) || !guarantee_text(limit->others, &limit->plan, error))
        return false;
    for (unsigned i = 0; i < limit->override_count; i++) {
        if (!guarantee_text(limit->override[i].plan, &limit->plan, error)) return false;
    }
    return guarantee_all(&limit->plan, limit->override, limit->override_count, limit->others, &which, error);
}
