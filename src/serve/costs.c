/* SPDX-License-Identifier: MIT
   What a call costs, as a client says it; and what that is for each limit of the plan that it is asked under.

       COST 5                     all limits count the same: 5 of each
       COST 1 812                 one for each limit, in the order of the text
       COST tokens 812            by unit, see plan/cost.c; "cost": {"tokens": 812}; cost=tokens=812,requests=2

   0 is the same of any unit. */
#include "serve/costs.h"

#include <stdio.h>
#include <string.h>

#include "api/error.h"
#include "core/num.h"

bool costs_add(struct costs *costs, const struct slice *unit, uint64_t number)
{
    if (costs->count == WEIR_LIMITS_MAX || (costs->count != 0 && costs->named != (unit != NULL))) return false;
    costs->named = unit != NULL;
    if (unit != NULL) {
        struct costs_unit *of = &costs->unit[costs->count];
        of->size = (unsigned char)least(unit->size, WEIR_UNIT_SIZE);
        if (of->size != 0) memcpy(of->name, unit->bytes, of->size);
    }
    costs->number[costs->count++] = number;
    return true;
}

/* "812", "tokens=812" */
static bool add_text(struct slice text, struct costs *costs)
{
    uint64_t number;
    const char *is = text.size != 0 ? memchr(text.bytes, '=', text.size) : NULL;
    const struct slice unit = is != NULL ? slice_between(text.bytes, is) : (struct slice){"", 0};
    if (is != NULL && unit.size == 0) return false;
    if (!slice_number(is != NULL ? slice_from(text, unit.size + 1) : text, &number)) return false;
    return costs_add(costs, is != NULL ? &unit : NULL, number);
}

bool costs_of_text(struct slice text, struct costs *costs)
{
    for (;;) {
        size_t size = 0;
        while (size < text.size && text.bytes[size] != ',') size++;
        if (!add_text((struct slice){text.bytes, size}, costs)) return false;
        if (size == text.size) return true;
        text = slice_from(text, size + 1);
    }
}

static bool wrong_count(unsigned count, unsigned limits, weir_error *error)
{
    char problem[sizeof error->message];
    if (limits == 1) {
        snprintf(problem, sizeof problem, "this limit takes one cost, not %u; for example 2", count);
    } else {
        snprintf(problem, sizeof problem, "these are %u limits: expected one cost for all, or %u, not %u", limits,
                 limits, count);
    }
    api_fail(error, WEIR_EINVAL, problem);
    return false;
}

/* By unit, as far as they were named. */
static bool add_units(const struct costs *costs, struct plan_cost *cost, weir_error *error)
{
    for (unsigned i = 0; i < costs->count; i++) {
        const struct costs_unit *unit = &costs->unit[i];
        if (!plan_cost_of(cost, unit->name, unit->size, costs->number[i], error)) return false;
    }
    return true;
}

static bool by_unit(const struct costs *costs, const struct plan *plan, uint64_t each[], weir_error *error)
{
    struct plan_cost cost = {.plan = plan, .spelling = costs->spelling};
    if (!add_units(costs, &cost, error) || !plan_cost_end(&cost, error)) return false;
    memcpy(each, cost.each, sizeof cost.each);
    return true;
}

/* One number: where there is one limit nothing is to be asked. */
static bool alike(const struct costs *costs, const struct plan *plan, uint64_t number, uint64_t each[],
                  weir_error *error)
{
    struct plan_cost cost = {.plan = plan, .spelling = costs->spelling};
    if (plan->count > 1 && number != 0 && costs->count != 0 && !plan_cost_alike(&cost, number, error)) return false;
    for (uint64_t i = 0; i < plan->count; i++) each[i] = number;
    return true;
}

bool costs_each(const struct costs *costs, const weir_plan *plan, const weir_plan *full, uint64_t each[WEIR_LIMITS_MAX],
                weir_error *error)
{
    const struct plan *inside = plan_inside_const(plan);
    uint64_t largest = 0;
    if (costs->named) return by_unit(costs, inside, each, error);
    if (costs->count < 2) return alike(costs, inside, costs->count != 0 ? costs->number[0] : 1, each, error);
    const bool spared = full != NULL && inside->count == 1 && costs->count == plan_inside_const(full)->count;
    if (costs->count != inside->count && !spared) return wrong_count(costs->count, (unsigned)inside->count, error);
    for (unsigned i = 0; i < costs->count; i++) largest = most(largest, costs->number[i]);
    for (uint64_t i = 0; i < inside->count; i++) each[i] = spared ? largest : costs->number[i];
    return true;
}

bool costs_used(const struct costs *costs, const weir_plan *plan, const uint64_t taken[],
                uint64_t used[WEIR_LIMITS_MAX], weir_error *error)
{
    struct plan_cost cost = {.plan = plan_inside_const(plan), .spelling = costs->spelling};
    if (!costs->named) return costs_each(costs, plan, NULL, used, error);
    if (!add_units(costs, &cost, error)) return false;
    for (uint64_t i = 0; i < cost.plan->count; i++) used[i] = cost.said >> i & 1 ? cost.each[i] : taken[i];
    return true;
}

bool costs_of_tenant(const struct costs *costs, const weir_plan *parent, uint64_t each[WEIR_LIMITS_MAX],
                     weir_error *error)
{
    if (!costs_each(costs, parent, NULL, each, error)) return false;
    for (uint64_t i = 0; i < WEIR_LIMITS_MAX; i++) {
        const bool said = i < plan_inside_const(parent)->count;
        if (said && each[i] != each[0]) {
            api_fail(error, WEIR_EINVAL, "a tenant's call has one cost for all limits; for example 2");
            return false;
        }
        each[i] = each[0];
    }
    return true;
}
