/* SPDX-License-Identifier: MIT
   plan.h - what is inside a weir_plan: each limit as it was said, and compiled.

   See plan.c. */
#ifndef WEIR_CORE_PLAN_H
#define WEIR_CORE_PLAN_H

#include <weir/weir.h>

#include "core/decide.h"
#include "core/limit.h"
#include "core/writer.h"

struct plan {
    uint64_t count;
    struct rule rule[WEIR_LIMITS_MAX];
    struct limit limit[WEIR_LIMITS_MAX];
};

_Static_assert(sizeof(struct plan) <= sizeof(weir_plan), "eight limits with their units fit the public plan");

static inline struct plan *plan_inside(weir_plan *plan)
{
    return (struct plan *)(void *)plan;
}

static inline const struct plan *plan_inside_const(const weir_plan *plan)
{
    return (const struct plan *)(const void *)plan;
}

static inline struct rules plan_rules(const struct plan *plan)
{
    return (struct rules){plan->rule, (int)plan->count};
}

/* ---- facts: what a limit lets through, in numbers (facts.c) ---- */

struct facts {
    uint64_t at_once;     /* permits that pass at one moment after a rest */
    uint64_t largest;     /* the largest call that can pass; UINT64_MAX: any */
    uint64_t spacing_ns;  /* between permits when saturated, rounded to the nearest ns */
    uint64_t full_ns;     /* from empty to full, rounded up */
    uint64_t state_bytes; /* of one subject */
};

/* Only for limits with a rate. */
struct facts facts_of(const struct limit *limit, const struct rule *rule);

/* The most permits that pass in any window [t, t + window_ns), cost 1 each. */
uint64_t facts_most_in(const struct limit *limit, uint64_t window_ns);

/* What `weir explain` prints; window_ns 0 asks for no further window. */
void explain(const struct plan *plan, uint64_t window_ns, struct writer *writer);

#endif
