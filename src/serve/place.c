/* SPDX-License-Identifier: MIT
   place.c - where the state of a limit is kept: in a table of this process, or in the engine that the file names.

   May touch: the tables, the engine.  Promises: what is kept in an engine can be kept there.  Leaves to others: asking
   (decide.c), what an engine can keep (micro). */
#include "micro/micro.h"
#include "plan/plan.h"
#include "serve/policy.h"

static bool keeps_something(const weir_plan *plan)
{
    const struct plan *inside = plan_inside_const(plan);
    for (uint64_t i = 0; i < inside->count; i++) {
        if (inside->limit[i].period_ns != 0) return true; /* neither "unlimited" nor "none" */
    }
    return false;
}

bool place_for(struct policy_place *place, struct tables *tables, struct engine *engine, weir_away away,
               const weir_plan *plan, weir_error *error)
{
    const bool shared = engine != NULL && keeps_something(plan);
    *place = (struct policy_place){.table = shared ? tables_usual(tables) : tables_for(tables, plan, error)};
    if (shared) place->shared = engine_limit_open(engine, plan, away, error);
    return shared ? place->shared != NULL : place->table != NULL;
}

bool place_could_be(const struct tables_options *options, bool engine, const weir_plan *plan, weir_error *error)
{
    struct micro_plan there;
    if (engine && keeps_something(plan)) return micro_plan_make(&there, plan, error) == 0;
    return tables_could_hold(options, plan, error) == 0;
}
