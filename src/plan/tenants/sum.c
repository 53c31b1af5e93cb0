/* SPDX-License-Identifier: MIT
   What tenants are guaranteed in total, against the limits of their parent.

   Sums of rates are exact: fractions with a common denominator.  Where that needs more than 64 bits, each guarantee is
   rounded up from there on, to less than a billionth of a usual parent's rate; so a sum that is too large is never
   accepted. */
#include <string.h>

#include "core/algorithm.h"
#include "core/tenants.h"
#include "plan/plan.h"
#include "plan/tenants/tenants.h"
#include "plan/text.h"
#include "plan/write.h"

/* rounded: in units of 2^-64 permits per ns, rounded up. */
struct tenants_sum {
    struct tenants_rate rate;
    bool rounded;
};

enum { SUM_SHIFT = 64 };

static bool product(uint64_t a, uint64_t b, uint64_t *value)
{
    *value = multiply_saturating(a, b);
    return *value != UINT64_MAX;
}

/* False: it does not fit. */
static bool add_exactly(struct tenants_rate *sum, struct tenants_rate rate)
{
    const uint64_t common = greatest_common_divisor(sum->ns, rate.ns);
    uint64_t left, right, ns;
    if (!product(sum->permits, rate.ns / common, &left) || !product(rate.permits, sum->ns / common, &right) ||
        !product(sum->ns, rate.ns / common, &ns) || left > UINT64_MAX - right)
        return false;
    const uint64_t permits = left + right, shared = greatest_common_divisor(permits, ns);
    *sum = (struct tenants_rate){permits / shared, ns / shared};
    return true;
}

static void sum_add(struct tenants_sum *sum, struct tenants_rate rate)
{
    if (!sum->rounded && add_exactly(&sum->rate, rate)) return;
    if (!sum->rounded) sum->rate.permits = shift_divide_ceil(sum->rate.permits, SUM_SHIFT, sum->rate.ns);
    sum->rounded = true;
    sum->rate.permits = add_saturating(sum->rate.permits, shift_divide_ceil(rate.permits, SUM_SHIFT, rate.ns));
}

static bool sum_above(const struct tenants_sum *sum, struct tenants_rate rate)
{
    if (!sum->rounded) return tenants_rate_above(sum->rate, rate);
    return sum->rate.permits > shift_divide_floor(rate.permits, SUM_SHIFT, rate.ns) || sum->rate.permits == UINT64_MAX;
}

/* Rounded up to a thousandth of a permit in the parent's period. */
static void write_sum(struct writer *writer, const struct tenants_sum *sum, const struct limit *parent)
{
    struct limit limit = *parent;
    const uint64_t thousand = limit.period_ns <= UINT64_MAX / 1000 ? 1000 : 1, period = limit.period_ns * thousand;
    const uint64_t digits = sum->rounded ? multiply_shift_floor(sum->rate.permits, period, SUM_SHIFT) + 1
                                         : multiply_divide_ceil(sum->rate.permits, period, sum->rate.ns);
    limit.count = (struct decimal){digits, thousand == 1 ? 0 : 3};
    text_write_rate(writer, &limit);
}

/* NULL: it guarantees nothing. */
static const struct limit *guaranteed_by(const weir_plan *tenant)
{
    const struct plan *plan = plan_inside_const(tenant);
    return tenants_guaranteed(&plan->rule[0]) ? &plan->limit[0] : NULL;
}

static int not_backed(weir_error *error, const struct limit *parent, const struct tenants_set *tenants, size_t wrong,
                      const struct tenants_sum *sum, const char *why)
{
    const struct limit *guaranteed = guaranteed_by(tenants->plan[wrong]);
    struct writer writer = {error->message, sizeof error->message, 0};
    *error = (weir_error){.code = WEIR_EINVAL};
    if (sum != NULL) {
        write_text(&writer, "the guarantees are ");
        write_sum(&writer, sum, parent);
        write_text(&writer, " in total, more than the ");
        text_write_rate(&writer, parent);
        write_text(&writer, " of their parent, with the ");
    }
    if (sum == NULL) write_text(&writer, "the ");
    text_write_rate(&writer, guaranteed);
    write_text(&writer, sum != NULL ? " of " : " guaranteed to ");
    tenants->write_name(&writer, tenants->names, wrong);
    write_text(&writer, why);
    return error->code;
}

/* May this limit of the parent be charged whatever it has, for a call that was charged to the guaranteed one? */
static const char *why_not_behind(const struct limit *parent, const struct limit *guaranteed)
{
    if (parent->algorithm == ALGORITHM_UNLIMITED || parent->algorithm == ALGORITHM_CONCURRENT) return NULL;
    if (parent->algorithm == ALGORITHM_NONE) return " are more than its parent lets through: none";
    if (parent->phases != 0 || guaranteed->phases != 0)
        return " would need a rate that stays: one that changes with time guarantees nothing";
    if (strcmp(parent->unit, guaranteed->unit) != 0)
        return " are in another unit than a limit of its parent, which one cost cannot be charged to";
    return NULL;
}

int tenants_check_sum(const struct limit *parent, const struct tenants_set *tenants, size_t *wrong, weir_error *error)
{
    struct tenants_sum sum = {{0, 1}, false};
    struct tenants_rate most_allowed, rate;
    const bool rated = parent->algorithm != ALGORITHM_CONCURRENT && tenants_rate(parent, &most_allowed);
    for (size_t i = 0; i < tenants->count; i++) {
        const struct limit *guaranteed = guaranteed_by(tenants->plan[i]);
        if (guaranteed == NULL || !tenants_rate(guaranteed, &rate)) continue;
        const char *why = why_not_behind(parent, guaranteed);
        *wrong = i;
        if (why != NULL) return not_backed(error, parent, tenants, i, NULL, why);
        if (rated) sum_add(&sum, rate);
        if (rated && sum_above(&sum, most_allowed)) return not_backed(error, parent, tenants, i, &sum, "");
    }
    return 0;
}
