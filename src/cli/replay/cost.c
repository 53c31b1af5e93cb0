/* SPDX-License-Identifier: MIT
   weir replay --cost: a field, and what it counts. */
#include <string.h>

#include "cli/common/arguments.h"
#include "cli/replay/work.h"
#include "core/algorithm.h"
#include "plan/plan.h"

bool cost_read(const struct option_row *row, const char *value, void *into)
{
    struct replay_options *options = into;
    const char *equals = strchr(value, '=');
    (void)row;
    options->cost = equals != NULL ? equals + 1 : value;
    options->cost_unit = equals != NULL ? value : NULL;
    options->cost_unit_size = equals != NULL ? (size_t)(equals - value) : 0;
    return true;
}

bool cost_options_fit(const struct replay_options *options)
{
    if (options->cost_unit == NULL) return true;
    if (options->cost_unit_size == 0 || options->cost[0] == '\0') {
        trouble("replay: --cost: expected a field, or a unit and its field; for example --cost tokens=total_tokens");
        return false;
    }
    if (options->fleet.nodes == 0 && options->tenant == NULL && options->charge == NULL) return true;
    trouble("replay: --cost UNIT=FIELD cannot be used with --nodes, --tenant or --charge, which charge all limits the "
            "same");
    return false;
}

void cost_hint(const struct replay *replay)
{
    if (replay->options.cost_unit != NULL) return;
    const struct limit *requests = NULL, *other = NULL;
    for (int i = 0; i < replay->options.limits; i++) {
        const struct plan *plan = plan_inside_const(&replay->candidate[i].plan);
        for (uint64_t k = 0; k < plan->count; k++) {
            const struct limit *limit = &plan->limit[k];
            if (limit->period_ns == 0) continue;
            if (strcmp(limit->unit, "requests") == 0) requests = limit;
            else if (limit->algorithm != ALGORITHM_CONCURRENT) other = limit;
        }
    }
    if (other == NULL) return;
    if (replay->options.cost == NULL) {
        trouble("replay: a limit counts %s, but each request costs 1; name the field that has them, for example "
                "--cost body_bytes_sent",
                other->unit);
    } else if (requests != NULL) {
        trouble("replay: some limits count requests and some %s, but --cost is charged to all of them; write "
                "--cost %s=%s, and a request costs 1",
                other->unit, other->unit, replay->options.cost);
    }
}
