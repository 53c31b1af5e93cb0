/* SPDX-License-Identifier: MIT
   Every window between two uses, in whole numbers.

   A rate of p permits in q ns and a ratio of u / v: all is multiplied by q * v, so that

       permits * q * v  <=  burst * q * u + max(0, largest - burst) * q * v + p * u * t + tolerance

   The tolerance is 2 * u / v ticks, that is 2 * q * u / 2^scale.  One tick because a window begins and ends within a
   tick; less than another because the multiplier is rounded up, by less than 2^-63 of itself: a tick in 2^63, and two
   in the longest window of all.  Hybrid makes ratio times as much of them.

   No rounding. */
#include "property/window.h"
#include "wide.h"

#include <inttypes.h>
#include <string.h>

typedef wide exact;

struct bound {
    exact permit, at_once, per_ns, tolerance, tolerance_long;
};

static struct bound bound_of(const struct limit *limit, const struct rule *rule, uint64_t largest)
{
    uint64_t permits = 1, period_ns = 1, over = 1;
    const bool hybrid = limit->factor.digits != 0;
    const exact under = hybrid ? (exact)limit->factor.digits : 1;
    if (hybrid) {
        for (uint32_t i = 0; i < limit->factor.places; i++) over *= 10;
    }
    limit_rate(limit, &permits, &period_ns);
    struct bound bound = {.permit = (exact)period_ns * over, .per_ns = permits * under};
    const exact burst = (exact)limit->burst * (limit->burst_kind == AMOUNT_TIME ? permits : period_ns);
    bound.at_once = burst * under;
    bound.tolerance = (2 * (exact)period_ns * under) >> rule->scale;
    bound.tolerance_long = (3 * (exact)period_ns * under) >> rule->scale;
    const exact longer = largest * bound.permit - burst * over;
    if (hybrid && longer > 0) bound.at_once += longer;
    return bound;
}

/* By time, each with its place in the order of asking. */
struct placed {
    struct use use;
    int order;
};

static int sort(const struct uses *uses, struct placed sorted[USES_MAX], uint64_t *largest)
{
    *largest = 0;
    int count = 0;
    for (int i = 0; i < uses->count; i++) {
        if (uses->use[i].permits == 0) continue;
        if (!uses->use[i].excess && uses->use[i].permits > *largest) *largest = uses->use[i].permits;
        int at = count++;
        for (; at > 0 && sorted[at - 1].use.at_ns > uses->use[i].at_ns; at--) sorted[at] = sorted[at - 1];
        sorted[at] = (struct placed){uses->use[i], i};
    }
    return count;
}

/* What was used without asking after the last that was asked for. */
static exact unasked(const struct placed sorted[], int from, int to)
{
    int last = -1;
    exact sum = 0;
    for (int i = from; i <= to; i++) {
        if (!sorted[i].use.excess && sorted[i].order > last) last = sorted[i].order;
    }
    for (int i = from; i <= to; i++) {
        if (sorted[i].use.excess && sorted[i].order > last) sum += sorted[i].use.permits;
    }
    return sum;
}

void window_check(struct prop *prop, const struct limit *limit, const struct rule *rule, const struct uses *uses)
{
    struct placed sorted[USES_MAX];
    uint64_t largest;
    const int count = sort(uses, sorted, &largest);
    const struct bound bound = bound_of(limit, rule, largest);
    for (int from = 0; from < count; from++) {
        exact used = 0;
        for (int to = from; to < count; to++) {
            used += sorted[to].use.permits;
            const uint64_t t = sorted[to].use.at_ns - sorted[from].use.at_ns;
            const exact tolerance = t >> 62 == 0 ? bound.tolerance : bound.tolerance_long;
            const exact over = used * bound.permit - bound.at_once - t * bound.per_ns - tolerance;
            if (over <= 0 || over <= unasked(sorted, from, to) * bound.permit) continue;
            prop_check(prop, false,
                       "%" PRIu64 " permits from %" PRIu64 " to %" PRIu64
                       " ns: %.9g at once and %.9g for the time, %.9g "
                       "too many",
                       (uint64_t)used, sorted[from].use.at_ns, sorted[to].use.at_ns,
                       wide_double(bound.at_once) / wide_double(bound.permit),
                       (double)t * wide_double(bound.per_ns) / wide_double(bound.permit),
                       wide_double(over) / wide_double(bound.permit));
        }
    }
}
