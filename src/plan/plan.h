/* SPDX-License-Identifier: MIT
   plan.h - what is inside a weir_plan: each limit as it was said, and compiled.

   See plan.c. */
#ifndef WEIR_PLAN_PLAN_H
#define WEIR_PLAN_PLAN_H

#include <weir/weir.h>

#include "core/decide.h"
#include "core/facts.h"
#include "core/limit.h"
#include "plan/write.h"

/* The rule of a limit with a name before it was changed, in a table's slots (api/keyed_rules.c). */
enum { PLAN_BEFORE = 2 };

struct plan_before {
    uint64_t count;
    uint64_t interval[WEIR_LIMITS_MAX], permits[WEIR_LIMITS_MAX]; /* permits: at once */
};

struct plan {
    uint64_t count;
    struct rule rule[WEIR_LIMITS_MAX];
    struct limit limit[WEIR_LIMITS_MAX];
    uint64_t interval[WEIR_LIMITS_MAX]; /* for slots of tables, see core/slot.h; 0: fits none */
    uint64_t
        part; /* which part of its table keeps its keys, where whoever keeps them has made some; 0: the common one */
    uint32_t change;                        /* how often a limit with this name was changed */
    struct plan_before before[PLAN_BEFORE]; /* the newest first, as many as there were */
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

/* Do its limits count different things, so that one cost for all of them is hardly meant? */
bool plan_has_units(const struct plan *plan);

/* What weir_full_ns answers, for these rules. */
uint64_t plan_full_ns(struct rules rules, const weir_decision *decision);

/* What all its limits take together: a state alone, all of a limiter, and of a table, or one in a file, each key. */
struct plan_memory {
    uint64_t state_bytes, limiter_bytes, table_key_bytes, file_key_bytes;
};

/* What `weir explain` prints; window_ns 0 asks for no further window. */
void explain(const struct plan *plan, const struct plan_memory *memory, uint64_t window_ns, struct writer *writer);

/* Of it, the most in a period, with the strict alternative where more than the count passes; nothing without a rate. */
void explain_most(const struct plan *plan, uint64_t limit, struct writer *writer);

/* How much one thread gets that sleeps grain_ns at a time between calls of this cost, and how to get the rate; false,
   and nothing written, where it does. */
bool explain_slept(const struct limit *limit, const struct rule *rule, uint64_t cost, uint64_t grain_ns,
                   struct writer *writer);

#endif
