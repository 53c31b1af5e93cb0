/* SPDX-License-Identifier: MIT
   What the texts of tenants have to promise each other: a ceiling lets through what the guarantee beside it does
   (ceiling.c), a parent has what its tenants are guaranteed in total (sum.c), and all of them have a weight or
   none (check.c).  What takes do with them is in core/tenants.h. */
#ifndef WEIR_PLAN_TENANTS_TENANTS_H
#define WEIR_PLAN_TENANTS_TENANTS_H

#include "core/limit.h"
#include "core/num.h"
#include "plan/write.h"

/* Permits per ns. */
struct tenants_rate {
    uint64_t permits, ns;
};

static inline bool tenants_rate(const struct limit *limit, struct tenants_rate *rate)
{
    return limit_rate(limit, &rate->permits, &rate->ns);
}

static inline bool tenants_rate_above(struct tenants_rate one, struct tenants_rate other)
{
    return num128_less(num128_multiply(other.permits, one.ns), num128_multiply(one.permits, other.ns));
}

/* Does this limit, further behind in the text, let through all that the guaranteed one does? */
struct limit_problem tenants_check_ceiling(const struct limit *guaranteed, const struct rule *guaranteed_rule,
                                           const struct limit *ceiling, const struct rule *ceiling_rule);

/* Those of one parent. */
struct tenants_set {
    const weir_plan *const *plan;
    size_t count;
    void (*write_name)(struct writer *writer, const void *names, size_t index); /* as errors call one of them */
    const void *names;
};

/* weir_plan_check_tenants.  *wrong: the first with whom something is wrong; count: the parent. */
int tenants_check(const weir_plan *parent, const struct tenants_set *tenants, size_t *wrong, weir_error *error);

/* Has this limit of the parent what they are guaranteed?  0, or an error. */
int tenants_check_sum(const struct limit *parent, const struct tenants_set *tenants, size_t *wrong, weir_error *error);

#endif
