/* SPDX-License-Identifier: MIT
   wide_plans.h - the sets of rules that a table of wide slots remembers.

   See wide_plans.c. */
#ifndef WEIR_SHARE_WIDE_PLANS_H
#define WEIR_SHARE_WIDE_PLANS_H

#include "core/decide.h"
#include "share/atomic.h"

/* How many plans a table remembers, so that a key whose limit was changed is carried over and not
   forgotten. */
enum { WIDE_PLANS = 16, WIDE_PLANS_SPARE = 7 };

struct wide_plan {
    struct rule rule[WEIR_LIMITS_MAX];
    uint64_t count;
};

/*  | fingerprints, 0 = none | next, spare | plans |      whole cache lines */
struct wide_plans {
    struct atom fingerprint[WIDE_PLANS];
    uint64_t next; /* the one that is overwritten next, modulo their number */
    uint64_t spare[WIDE_PLANS_SPARE];
    struct wide_plan plan[WIDE_PLANS];
};

/* Never 0; the same for rules that go on with each other's states. */
uint64_t wide_fingerprint(struct rules rules);

/* [any time] */
bool wide_plans_know(const struct wide_plans *plans, uint64_t fingerprint);

/* [under the lock of the plans] */
void wide_plans_remember(struct wide_plans *plans, uint64_t fingerprint, struct rules rules);

/* [under the lock of the plans] False: nobody remembers them. */
bool wide_plans_find(const struct wide_plans *plans, uint64_t fingerprint, struct wide_plan *plan);

#endif
