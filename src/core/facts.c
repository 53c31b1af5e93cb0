/* SPDX-License-Identifier: MIT
   What a limit lets through, in numbers.

   How much passes at once, and how large a call may be, is found by running the rule.  The most in a window, and the
   times, are computed from what was said, so that a test can hold the two against each other. */
#include "core/facts.h"

#include "core/clock.h"
#include "core/num.h"

#define REST_TICKS ((uint64_t)TICKS_FAR / 3)

static const uint64_t SECOND_NS = 1000000000;

/* What passes at once, one by one. */
static uint64_t passing_at(const struct rule *rule, const uint64_t *state, uint64_t tick)
{
    return permits_floor(rule, algorithm_at(rule, algorithm_of(rule), state, tick).room);
}

static uint64_t passing_fresh(const struct rule *rule)
{
    static const uint64_t fresh[STATE_WORDS_MAX];
    return passing_at(rule, fresh, rule->anchor_tick);
}

/* After two rests, as a timeline needs them, and then after a longer one, as bursts of centuries do.  Of a state that
   grows nothing is left after a rest. */
uint64_t facts_at_once(const struct limit *limit, const struct rule *rule)
{
    const struct algorithm *algorithm = algorithm_of(rule);
    uint64_t state[STATE_WORDS_MAX] = {0};
    for (uint64_t at = REST_TICKS; at < 3 * REST_TICKS && !algorithm->grows; at += REST_TICKS) {
        algorithm->commit(rule, state, (struct offer){at, at}, ticks_of(rule, 1));
    }
    const uint64_t rested = most(passing_fresh(rule), passing_at(rule, state, 3 * REST_TICKS));
    const uint64_t longer = passing_at(rule, state, INT64_MAX);
    return longer > rested && facts_most_in(limit, 0) == UINT64_MAX ? UINT64_MAX : most(rested, longer);
}

/* Found by halves; where no call is too large to be counted any passes. */
static uint64_t largest_call(const struct rule *rule, uint64_t at_once)
{
    uint64_t passes = 0, too_large = UINT64_MAX;
    while (passes + 1 < too_large) {
        const uint64_t middle = passes + (too_large - passes) / 2;
        if (algorithm_may_pass(rule, middle)) passes = middle;
        else too_large = middle;
    }
    return passes == at_once || ticks_of(rule, too_large) <= TICKS_FAR ? passes : UINT64_MAX;
}

struct facts facts_of(const struct limit *limit, const struct rule *rule)
{
    const struct algorithm *algorithm = algorithm_of(rule);
    struct facts facts = {.note = algorithm->note,
                          .at_once = facts_at_once(limit, rule),
                          .fresh = passing_fresh(rule),
                          .group = 1,
                          .spacing_ns = limit_spacing_ns(limit),
                          .full_ns = facts_linear_full_ns(limit),
                          .state_bytes = state_words(rule, algorithm) * sizeof(uint64_t)};
    facts.largest = largest_call(rule, facts.at_once);
    if (algorithm->facts != NULL) algorithm->facts(limit, rule, &facts);
    return facts;
}

uint64_t facts_most_in(const struct limit *limit, uint64_t window_ns)
{
    const uint64_t most_in = algorithm_named(limit->algorithm)->most_in(limit, window_ns);
    /* At its highest rate, and what its clock may read too early is less than a permit. */
    return limit->phases != 0 && most_in != UINT64_MAX ? most_in + 1 : most_in;
}

uint64_t facts_mean_in(const struct limit *limit, uint64_t window_ns)
{
    uint64_t permits, period_ns;
    limit_rate(limit, &permits, &period_ns);
    const unsigned lent = permits >> (64 - ARRIVALS_MEAN_BITS) == 0 ? ARRIVALS_MEAN_BITS : 0;
    const uint64_t mean = multiply_divide_floor(permits << lent, window_ns, period_ns);
    return lent != 0 ? mean : multiply_saturating(mean, UINT64_C(1) << ARRIVALS_MEAN_BITS);
}

/* A sleep that outlasts the pool brings the call that waited and what the pool holds; the rest of that time is lost.
   Or nothing is lost, and the part of a call that each sleep leaves over grows, until a sleep brings one call more:
   once in `sleeps`. */
uint64_t facts_slept_per_s(const struct limit *limit, const struct rule *rule, uint64_t cost, uint64_t min_sleep_ns)
{
    uint64_t permits, period_ns;
    if (!limit_rate(limit, &permits, &period_ns)) return UINT64_MAX;
    const uint64_t pool = facts_at_once(limit, rule);
    const uint64_t short_ns = subtract_to_zero(min_sleep_ns, multiply_divide_floor(pool, period_ns, permits));
    if (short_ns == 0) return UINT64_MAX;
    const bool loses = limit->factor.digits <= power_of_ten(limit->factor.places);
    const uint64_t cost_ns = multiply_divide_ceil(cost, period_ns, permits);
    const uint64_t sleeps = loses ? multiply_divide_ceil(cost_ns, 1, short_ns) : 1;
    const uint64_t found = add_saturating(multiply_saturating(pool, sleeps), cost);
    const uint64_t per_s = multiply_divide_floor(found, SECOND_NS, multiply_saturating(min_sleep_ns, sleeps));
    return per_s < multiply_divide_floor(permits, SECOND_NS, period_ns) ? per_s : UINT64_MAX;
}

uint64_t facts_linear_full_ns(const struct limit *limit)
{
    uint64_t permits, period_ns;
    if (limit->burst_kind == AMOUNT_TIME) return limit->burst;
    if (limit->burst_kind == AMOUNT_NONE) return limit->has_time ? limit->time_ns : limit_spacing_ns(limit);
    limit_rate(limit, &permits, &period_ns);
    return multiply_divide_ceil(limit->burst, period_ns, permits);
}

/* burst + permits * time / period, times the ratio: as a whole number rounded up.  The first permit of a window has no
   need to wait and each further one lies before its end, so one less is the most that pass.  A ratio of more digits
   than 64 bits have room for is rounded up. */
static uint64_t most_below(uint64_t burst, uint64_t permits, uint64_t time_ns, uint64_t period_ns, struct decimal ratio)
{
    const uint64_t power = power_of_ten(ratio.places);
    const uint64_t by_period = greatest_common_divisor(ratio.digits, period_ns);
    const uint64_t by_permits = greatest_common_divisor(permits, power);
    const uint64_t top = multiply_saturating(permits / by_permits, ratio.digits / by_period);
    const uint64_t bottom = multiply_saturating(period_ns / by_period, power / by_permits);
    if (ratio.places != 0 && most(top, bottom) == UINT64_MAX) {
        const struct decimal shorter = {ratio.digits / 10 + (ratio.digits % 10 != 0), ratio.places - 1};
        return most_below(burst, permits, time_ns, period_ns, shorter);
    }
    if (top == UINT64_MAX) return top;
    const uint64_t in_burst = multiply_divide_floor(burst, ratio.digits, power);
    const uint64_t in_time = multiply_divide_floor(top, time_ns, bottom);
    /* What the two divisions left, as parts of their divisors: both together are less than 2. */
    const uint64_t of_burst = burst * ratio.digits - in_burst * power;
    const uint64_t of_time = top * time_ns - in_time * bottom;
    const uint64_t room = multiply_divide_floor(power - of_burst, bottom, power);
    const uint64_t rounded = of_burst == 0 && of_time == 0 ? 0 : of_time <= room ? 1 : 2;
    const uint64_t all = add_saturating(add_saturating(in_burst, in_time), rounded);
    return all == UINT64_MAX ? all : subtract_to_zero(all, 1);
}

uint64_t facts_linear_most_in(const struct limit *limit, struct decimal ratio, uint64_t window_ns)
{
    uint64_t permits, period_ns;
    limit_rate(limit, &permits, &period_ns);
    if (limit->burst_kind == AMOUNT_TIME) {
        const uint64_t time_ns = add_saturating(window_ns, limit->burst);
        return most(most_below(0, permits, time_ns, period_ns, ratio), 1);
    }
    const uint64_t within = most_below(limit->burst, permits, window_ns, period_ns, ratio);
    return window_ns == 0 ? most(within, limit->burst) : most(within, 1);
}

uint64_t facts_linear_most_spaced(const struct limit *limit, struct decimal ratio, uint64_t window_ns)
{
    uint64_t permits, period_ns;
    limit_rate(limit, &permits, &period_ns);
    return add_saturating(most_below(0, permits, window_ns, period_ns, ratio), 1);
}
