/* SPDX-License-Identifier: MIT
   The sets of rules that a table of wide slots remembers. */
#ifndef WEIR_SHARE_TABLE_WIDE_PLANS_H
#define WEIR_SHARE_TABLE_WIDE_PLANS_H

#include "core/decide.h"
#include "share/atomic.h"

/* The number of sets is a power of two from FEW to MANY; each has WIDE_WAYS plans. */
enum { WIDE_SETS_FEW = 4, WIDE_SETS_SOME = 64, WIDE_SETS_MANY = 512, WIDE_WAYS = 7 };

struct wide_plan {
    struct rule rule[WEIR_LIMITS_MAX];
    uint64_t count;
};

/*  | used | fingerprints, 0 = none |      a cache line */
struct wide_set {
    struct atom used; /* bit i: way i was used since the bits were cleared */
    struct atom fingerprint[WIDE_WAYS];
};

/* The layout: the sets, then the plans of each, WIDE_WAYS.  Zeroed memory has no plans. */
struct wide_plans {
    struct wide_set *set;
    struct wide_plan *plan;
    uint64_t sets;
};

/* The number of sets of a table whose slots take this many bytes, and the same from all bytes of the table, with up to
   a page to spare. */
uint64_t wide_sets_beside(uint64_t slots_bytes);
uint64_t wide_sets_in(uint64_t bytes);

/* The memory for this many sets: whole cache lines. */
uint64_t wide_plans_bytes(uint64_t sets);

struct wide_plans wide_plans_at(void *memory, uint64_t sets);

/* Never 0; equal for rules that can go on with each other's states. */
uint64_t wide_fingerprint(struct rules rules);

/* [any time] True if the plan is known, which marks it as used. */
bool wide_plans_know(struct wide_plans plans, uint64_t fingerprint);

/* [under the lock of the plans] */
void wide_plans_remember(struct wide_plans plans, uint64_t fingerprint, struct rules rules);

/* [under the lock of the plans] False: the plan is not known. */
bool wide_plans_find(struct wide_plans plans, uint64_t fingerprint, struct wide_plan *plan);

#endif
