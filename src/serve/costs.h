/* SPDX-License-Identifier: MIT
   What a call costs, as a client says it; and what that is for each limit of the plan that it is asked under.

   See costs.c. */
#ifndef WEIR_SERVE_COSTS_H
#define WEIR_SERVE_COSTS_H

#include "format/bytes.h"
#include "plan/cost.h"

/* Its name is kept here, as far as a unit's may go: a receipt is settled when the request has gone. */
struct costs_unit {
    char name[WEIR_UNIT_SIZE];
    unsigned char size; /* WEIR_UNIT_SIZE: more than any unit has */
};

/* Numbers: none (1 of each), one for all limits, one for each, or where they are named each of a unit. */
struct costs {
    unsigned count;
    bool named;
    enum cost_spelling spelling; /* for what is said of mistakes */
    uint64_t number[WEIR_LIMITS_MAX];
    struct costs_unit unit[WEIR_LIMITS_MAX];
};

/* None said yet; the arrays are left as they are. */
static inline void costs_begin(struct costs *costs, enum cost_spelling spelling)
{
    costs->count = 0;
    costs->named = false;
    costs->spelling = spelling;
}

/* One more number; unit NULL: of no unit.  false: there are too many, or some have a unit and others have none. */
bool costs_add(struct costs *costs, const struct slice *unit, uint64_t number);

/* "812", "5,10", "tokens=812,requests=2"; false: it is none of these. */
bool costs_of_text(struct slice text, struct costs *costs);

/* For each limit of the plan.  full NULL, or the plan of the limit that this key is spared: as many numbers as that has
   limits will do, too.  false: see error. */
bool costs_each(const struct costs *costs, const weir_plan *plan, const weir_plan *full, uint64_t each[WEIR_LIMITS_MAX],
                weir_error *error);

/* Of a tenant, by its parent's plan: all limits count one unit, so it is one number, in each[0]. */
bool costs_of_tenant(const struct costs *costs, const weir_plan *parent, uint64_t each[WEIR_LIMITS_MAX],
                     weir_error *error);

/* What was really used of what was taken: units that are not named used all of it. */
bool costs_used(const struct costs *costs, const weir_plan *plan, const uint64_t taken[],
                uint64_t used[WEIR_LIMITS_MAX], weir_error *error);

#endif
