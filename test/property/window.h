/* SPDX-License-Identifier: MIT
   The printed bounds, held against a list of what was used when.

   Knows nothing of any algorithm: the list, and the limit as a person said it, in exact fractions.

   Exact, in 128 bits. */
#ifndef TEST_PROPERTY_WINDOW_H
#define TEST_PROPERTY_WINDOW_H

#include "plan/plan.h"
#include "property/property.h"

enum { USES_MAX = 64 };

/* Permits used at a time.  An excess was used without asking: more than was asked for, as settling said afterwards. */
struct use {
    uint64_t at_ns, permits;
    bool excess;
};

/* In the order of asking. */
struct uses {
    struct use use[USES_MAX];
    int count;
};

/* Checks every window between two uses:
       gcra     permits <= burst + rate * t
       hybrid   permits <= over + max(0, largest use - pool) + ratio * rate * t
   Permits that were used without asking may exceed it, but only those after the last use that was asked for. */
void window_check(struct prop *prop, const struct limit *limit, const struct rule *rule, const struct uses *uses);

#endif
