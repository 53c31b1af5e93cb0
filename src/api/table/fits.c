/* SPDX-License-Identifier: MIT
   Which plans a table can hold, and the errors for the others. */
#include "api/table/keyed.h"
#include "core/algorithm.h"
#include "core/num.h"
#include "core/slot.h"

static int unfit(weir_error *error, int limit, const char *why)
{
    if (error != NULL) {
        const char digit[] = {(char)('1' + limit), 0};
        struct writer writer = {error->message, sizeof error->message, 0};
        *error = (weir_error){.code = WEIR_EUNSUPPORTED};
        write_text(&writer, "limit ");
        write_text(&writer, digit);
        write_text(&writer, ": ");
        write_text(&writer, why);
    }
    return WEIR_EUNSUPPORTED;
}

/* True if it is more than a per cent slower because its permits are whole units. */
static bool too_coarse(uint64_t interval, uint64_t units, int unit)
{
    const uint64_t rounded = units << (SLOT_UNIT_MAX - unit);
    return rounded - interval > interval / 100;
}

static int slot_fits(const weir_table *table, const struct plan *plan, int limit, weir_error *error)
{
    const struct rule *rule = &plan->rule[limit];
    const uint64_t interval = plan->interval[limit];
    if (algorithm_of(rule)->words == 0) return 0;
    if (interval == 0) {
        return unfit(error, limit,
                     "only gcra that starts full fits a 16-byte slot; open the table with options.plan for this one");
    }
    const struct slot_rule slot = slot_rule_of(rule, interval, table->unit);
    if (add_saturating(slot.burst, slot.debt == UINT64_MAX ? 0 : slot.debt) > table->longest) {
        return unfit(error, limit, "it takes longer to refill than the table's options.refill_max_ns");
    }
    if (too_coarse(interval, slot.interval, table->unit)) {
        return unfit(error, limit,
                     "it is too fast for the table's unit of time; a smaller options.refill_max_ns makes that finer");
    }
    return 0;
}

int weir_table_fits(const weir_table *table, const weir_plan *plan, weir_error *error)
{
    const struct plan *inside = plan_inside_const(plan);
    if (plan_has_profile(inside)) {
        return unfit(error, 0, "a rate that changes with time paces one limiter; a table needs one rate for all keys");
    }
    if (plan_arrives(inside)) return api_fail(error, WEIR_EUNSUPPORTED, KEYED_NO_ARRIVALS);
    if (keyed_is_wide(table)) {
        if (wide_fits(&table->wide, keyed_wide_words(inside, table->wide.kept))) return 0;
        return api_fail(error, WEIR_EUNSUPPORTED,
                        "its state is longer than the table's slots; give this plan as options.plan");
    }
    for (int i = 0; i < (int)inside->count; i++) {
        const int failed = slot_fits(table, inside, i, error);
        if (failed != 0) return failed;
    }
    return 0;
}
