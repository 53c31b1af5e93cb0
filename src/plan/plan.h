/* SPDX-License-Identifier: MIT
   The inside of a weir_plan: each limit as it was written, and compiled. */
#ifndef WEIR_PLAN_PLAN_H
#define WEIR_PLAN_PLAN_H

#include <weir/weir.h>

#include "core/decide.h"
#include "core/facts.h"
#include "core/limit.h"
#include "core/profile.h"
#include "plan/write.h"

/* The rule that a named limit had before it was changed, for a table's slots (api/table/rules.c). */
enum { PLAN_BEFORE = 2 };

struct plan_before {
    uint64_t count;
    uint64_t interval[WEIR_LIMITS_MAX], permits[WEIR_LIMITS_MAX]; /* permits: that pass at once */
};

struct plan {
    uint64_t count;
    struct rule rule[WEIR_LIMITS_MAX];
    struct limit limit[WEIR_LIMITS_MAX];
    uint64_t interval[WEIR_LIMITS_MAX]; /* for a table's slots, see core/slot.h; 0: does not fit a slot */
    uint64_t part;                      /* the part of the table for this limit's keys, plus 1; 0: the common part */
    uint32_t change;                    /* how many times the limit with this name was changed */
    struct plan_before before[PLAN_BEFORE]; /* newest first, as many as there were */
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

/* Is it one limit whose rate changes with time?  Its rule is that of its highest rate; a limiter, or a call here, gives
   a copy of the rule the profile's clock (profile_pace). */
static inline bool plan_has_profile(const struct plan *plan)
{
    return plan->limit[0].phases != 0;
}

/* Of a plan that was parsed, so there is no problem. */
void plan_make_profile(const struct plan *plan, struct profile *profile);

/* True when the limits count different units, so that one cost for all of them is probably a mistake. */
bool plan_has_units(const struct plan *plan);

/* True if it has arrivals at random. */
static inline bool plan_arrives(const struct plan *plan)
{
    unsigned flags = 0;
    for (uint64_t i = 0; i < plan->count; i++) flags |= plan->rule[i].flags;
    return (flags & RULE_ARRIVALS) != 0;
}

/* What weir_decide_full_ns answers, for these rules. */
uint64_t plan_full_ns(struct rules rules, const weir_decision *decision);

/* Memory for all limits of a plan: a state alone, a whole limiter, and each key of a table in memory or in a file. */
struct plan_memory {
    uint64_t state_bytes, limiter_bytes, table_key_bytes, file_key_bytes;
};

/* The text that `weir explain` prints; window_ns adds one more window, 0 adds none. */
void explain(const struct plan *plan, const struct plan_memory *memory, uint64_t window_ns, struct writer *writer);

/* The table of a profile's phases. */
void explain_phases(const struct limit *limit, struct writer *writer);

/* The line with the most that passes in a period, and with the strict alternative if that is more than the count.
   Writes nothing for a limit without a rate. */
void explain_most(const struct plan *plan, uint64_t limit, struct writer *writer);

/* The rate that one thread reaches if it sleeps min_sleep_ns at a time between calls of this cost, and how to get the
   full rate.  Returns false and writes nothing if it reaches the rate. */
bool explain_slept(const struct limit *limit, const struct rule *rule, uint64_t cost, uint64_t min_sleep_ns,
                   struct writer *writer);

#endif
