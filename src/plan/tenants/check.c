/* SPDX-License-Identifier: MIT
   Tenants where they are defined: their guarantees against their parent, and their weights against each other. */
#include "core/tenants.h"
#include "plan/plan.h"
#include "plan/tenants/tenants.h"
#include "plan/write.h"

static bool is_weighed(const weir_plan *tenant)
{
    return limit_weight(&plan_inside_const(tenant)->limit[0]) != 0;
}

static bool is_shared(const struct plan *parent)
{
    bool shared = false;
    for (uint64_t i = 0; i < parent->count; i++) shared = shared || parent->interval[i] != 0;
    return shared;
}

/* One without a weight would leave nothing to the others. */
static int check_weights(const struct plan *parent, const struct tenants_set *tenants, size_t *wrong, weir_error *error)
{
    struct writer writer = {error->message, sizeof error->message, 0};
    const size_t count = tenants->count;
    size_t with = 0, without = 0;
    while (with < count && !is_weighed(tenants->plan[with])) with++;
    while (without < count && is_weighed(tenants->plan[without])) without++;
    if (with == count || (without == count && is_shared(parent))) return 0;
    *error = (weir_error){.code = WEIR_EINVAL};
    *wrong = without;
    if (without == count) {
        write_text(&writer, "weights share a rate: expected a limit by gcra in their parent; for example 400/s");
        return error->code;
    }
    tenants->write_name(&writer, tenants->names, *wrong);
    write_text(&writer,
               " has no weight and others have one: give one to each, or to none; for example unlimited weight=1");
    return error->code;
}

int tenants_check(const weir_plan *parent, const struct tenants_set *tenants, size_t *wrong, weir_error *error)
{
    const struct plan *inside = plan_inside_const(parent);
    int failed = 0;
    for (uint64_t i = 0; i < inside->count && failed == 0; i++)
        failed = tenants_check_sum(&inside->limit[i], tenants, wrong, error);
    return failed != 0 ? failed : check_weights(inside, tenants, wrong, error);
}

static void write_index(struct writer *writer, const void *names, size_t index)
{
    (void)names;
    write_text(writer, "tenants[");
    write_number(writer, index);
    write_text(writer, "]");
}

int weir_plan_check_tenants(const weir_plan *parent, const weir_plan *const tenants[], size_t count, weir_error *error)
{
    weir_error unwanted;
    size_t wrong;
    const struct tenants_set all = {tenants, count, write_index, NULL};
    return tenants_check(parent, &all, &wrong, error != NULL ? error : &unwanted);
}
