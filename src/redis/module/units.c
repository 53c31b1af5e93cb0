/* SPDX-License-Identifier: MIT
   A cost by unit: COST tokens 812 requests 2.

   What units the limits have is read from their text again, for few calls name any: micro_plan knows only if there are
   several.  src/plan/cost.c says which costs there are then, and how to write one that is refused. */
#include <string.h>

#include "plan/cost.h"
#include "redis/module/call.h"

enum { UNITS_LIMIT = 1 }; /* the argument that is the text */

bool units_begin(const struct call *call, int at)
{
    uint64_t number;
    return at + 1 < call->count && !call_is(call, at, "WAIT") && !call_is(call, at, "PEEK") &&
           call_number(call, at + 1, MICRO_MOST, &number);
}

/* The text is read again, for its units: few calls name any. */
static bool begin_units(const struct call *call, weir_plan *plan, struct plan_cost *cost)
{
    char text[TEXT_MAX + 1];
    const struct span limits = call_text(call, UNITS_LIMIT);
    memcpy(text, limits.bytes, limits.size);
    text[limits.size] = '\0';
    *cost = (struct plan_cost){.plan = plan_inside_const(plan), .spelling = COST_COMMAND};
    return weir_plan_parse(plan, text, WEIR_ADMIT, NULL) == 0;
}

bool units_read(const struct call *call, int *at, uint64_t number[WEIR_LIMITS_MAX])
{
    weir_plan plan;
    struct plan_cost cost;
    weir_error error;
    uint64_t one = 0;
    bool reads = begin_units(call, &plan, &cost);
    for (; reads && units_begin(call, *at); *at += 2) {
        const struct span unit = call_text(call, *at);
        call_number(call, *at + 1, MICRO_MOST, &one);
        reads = plan_cost_of(&cost, unit.bytes, unit.size, one, &error);
    }
    if (!reads || !plan_cost_end(&cost, &error)) return call_refuse(call, "WEIRARG %s", error.message);
    memcpy(number, cost.each, sizeof cost.each);
    return true;
}

bool units_refuse(const struct call *call, uint64_t number)
{
    weir_plan plan;
    struct plan_cost cost;
    weir_error error = {.message = ""};
    if (begin_units(call, &plan, &cost)) plan_cost_alike(&cost, number, &error);
    return call_refuse(call, "WEIRARG %s", error.message);
}
