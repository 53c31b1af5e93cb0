/* SPDX-License-Identifier: MIT
   What a call costs under each limit of a text, by unit: 812, or tokens=812,requests=2.  See cost.c. */
#ifndef WEIR_PLAN_COST_H
#define WEIR_PLAN_COST_H

#include "plan/plan.h"

/* How errors say it where the caller is: --cost tokens=812,requests=2; COST tokens 812 requests 2; the same without
   that word; "cost": {"tokens": 812, "requests": 2}; cost=tokens=812,requests=2. */
enum cost_spelling { COST_OPTION, COST_COMMAND, COST_ARGUMENTS, COST_JSON, COST_FIELD };

/* A cost that is being read; begin with {.plan = plan, .spelling = spelling}. */
struct plan_cost {
    const struct plan *plan;
    enum cost_spelling spelling;
    uint32_t said;                  /* a bit for each limit whose unit was named */
    uint64_t each[WEIR_LIMITS_MAX]; /* of each limit, when it is read to its end */
};

/* All of these return false with *error filled; its column is 0 where no text was read. */

/* One number without a unit: for all limits, so they have to count the same. */
bool plan_cost_alike(struct plan_cost *cost, uint64_t number, weir_error *error);

/* A number of one unit, then the next; at last plan_cost_end says what those limits cost whose unit was not named. */
bool plan_cost_of(struct plan_cost *cost, const char *unit, size_t unit_size, uint64_t number, weir_error *error);
bool plan_cost_end(struct plan_cost *cost, weir_error *error);

/* All of a text: "812", "1.5k", "tokens=812", "tokens=812,requests=2". */
bool plan_costs(const struct plan *plan, enum cost_spelling spelling, const char *text, uint64_t each[WEIR_LIMITS_MAX],
                weir_error *error);

#endif
