/* SPDX-License-Identifier: MIT
   wide_plans.h - the sets of rules that a table of wide slots remembers.

   See wide_plans.c. */
#ifndef WEIR_SHARE_WIDE_PLANS_H
#define WEIR_SHARE_WIDE_PLANS_H

#include "core/decide.h"
#include "share/atomic.h"

/* How many sets there may be, each a power of two, of so many plans. */
enum { WIDE_SETS_FEW = 4, WIDE_SETS_SOME = 64, WIDE_SETS_MANY = 512, WIDE_WAYS = 7 };

struct wide_plan {
    struct rule rule[WEIR_LIMITS_MAX];
    uint64_t count;
};

/*  | used | fingerprints, 0 = none |      a cache line */
struct wide_set {
    struct atom used; /* bit i: way i was asked for since the bits were cleared */
    struct atom fingerprint[WIDE_WAYS];
};

/* Where they lie: the sets, then the plans of each, WIDE_WAYS.  Zeroed memory remembers none. */
struct wide_plans {
    struct wide_set *set;
    struct wide_plan *plan;
    uint64_t sets;
};

/* How many sets a table has whose slots take so many bytes; and so it is recognised again by all its bytes, with up to
   a page to spare. */
uint64_t wide_sets_beside(uint64_t slots_bytes);
uint64_t wide_sets_in(uint64_t bytes);

/* Of memory: whole cache lines. */
uint64_t wide_plans_bytes(uint64_t sets);

struct wide_plans wide_plans_at(void *memory, uint64_t sets);

/* Never 0; the same for rules that go on with each other's states. */
uint64_t wide_fingerprint(struct rules rules);

/* [any time] Who is known counts as used. */
bool wide_plans_know(struct wide_plans plans, uint64_t fingerprint);

/* [under the lock of the plans] */
void wide_plans_remember(struct wide_plans plans, uint64_t fingerprint, struct rules rules);

/* [under the lock of the plans] False: nobody remembers them. */
bool wide_plans_find(struct wide_plans plans, uint64_t fingerprint, struct wide_plan *plan);

#endif
