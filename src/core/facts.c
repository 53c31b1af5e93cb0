/* SPDX-License-Identifier: MIT
   facts.c - what a limit lets through, in numbers: for explain, for documents, for tests to hold the limit against.

   Computed from what was said, not from the rule, so that the two can contradict each other in a test.

   May touch: its arguments.  Promises: exact for counts, rounded as the header says for times.  Leaves to others:
   words. */
#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"
#include "core/plan.h"

static uint64_t power_of_ten(uint32_t places)
{
    uint64_t power = 1;
    while (places-- > 0) power *= 10;
    return power;
}

static uint64_t burst_ns(const struct limit *limit, uint64_t permits, uint64_t period_ns)
{
    if (limit->burst_kind == AMOUNT_TIME) return limit->burst;
    return multiply_divide_ceil(limit->burst, period_ns, permits);
}

struct facts facts_of(const struct limit *limit, const struct rule *rule)
{
    uint64_t permits = 1, period_ns = 1;
    limit_rate(limit, &permits, &period_ns);
    const struct algorithm *algorithm = algorithm_of(rule);
    return (struct facts){
        .at_once = permits_floor(rule, rule->burst),
        .largest = limit->algorithm == ALGORITHM_HYBRID ? UINT64_MAX : permits_floor(rule, rule->burst),
        .spacing_ns = multiply_divide_floor(period_ns, 1, permits) + (period_ns % permits >= permits - permits / 2),
        .full_ns = burst_ns(limit, permits, period_ns),
        .state_bytes = algorithm->words * sizeof(uint64_t),
    };
}

/* The first permit of the window has no need to wait, each further one must lie before the end: ceil(x) - 1. */
static uint64_t below(uint64_t permits, uint64_t time_ns, uint64_t period_ns)
{
    return subtract_to_zero(multiply_divide_ceil(permits, time_ns, period_ns), 1);
}

uint64_t facts_most_in(const struct limit *limit, uint64_t window_ns)
{
    uint64_t permits = 1, period_ns = 1;
    limit_rate(limit, &permits, &period_ns);
    if (limit->algorithm == ALGORITHM_HYBRID) {
        const uint64_t time_ns = add_saturating(window_ns, burst_ns(limit, permits, period_ns));
        const uint64_t faster_ns =
            multiply_divide_ceil(time_ns, limit->factor.digits, power_of_ten(limit->factor.places));
        return most(below(permits, faster_ns, period_ns), 1);
    }
    if (limit->burst_kind == AMOUNT_TIME) {
        return most(below(permits, add_saturating(window_ns, limit->burst), period_ns), 1);
    }
    return window_ns == 0 ? limit->burst : add_saturating(limit->burst, below(permits, window_ns, period_ns));
}
