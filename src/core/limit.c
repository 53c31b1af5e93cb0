/* SPDX-License-Identifier: MIT
   limit.c - from what a person says to the numbers of a rule, once, with every argument checked.

   May touch: its arguments.  Promises: the rule is exact but for the multiplier, which is rounded up in its last bit;
   what cannot be kept is refused with the argument named.  Leaves to others: reading the text (text.c). */
#include "core/limit.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"

enum { SECOND_NS = 1000000000, MILLISECOND_NS = 1000000, POOL_OPS = 2, SCALE_LENT_MAX = 3, CATCHUP_MAX = 1000 };
static const uint64_t BURST_TICKS_MAX = UINT64_C(1) << 62;
static const uint64_t OVER_TICKS_MAX = UINT64_C(1) << 60; /* hybrid adds and doubles */
static const uint64_t BURST_DEFAULT_MAX = UINT64_C(1) << 32;
static const uint64_t PER_NS_MAX = 1000; /* 10^12 a second */

bool limit_rate(const struct limit *limit, uint64_t *permits, uint64_t *period_ns)
{
    const uint64_t power = power_of_ten(limit->count.places);
    if (limit->count.digits == 0 || limit->period_ns == 0) return false;
    const uint64_t by_power = greatest_common_divisor(limit->count.digits, power);
    const uint64_t top = limit->count.digits / by_power;
    const uint64_t common = greatest_common_divisor(top, limit->period_ns);
    *permits = top / common;
    const uint64_t period = limit->period_ns / common;
    if (period > UINT64_MAX / (power / by_power)) return false;
    *period_ns = period * (power / by_power);
    return true;
}

/* ceil(log2(a / b)), not below 0. */
static unsigned log2_ceil(uint64_t a, uint64_t b)
{
    unsigned log = 0;
    while (log < 63 && b <= UINT64_MAX >> log && b << log < a) log++;
    return log;
}

/* ceil(permits * 2^shift / period) by long division, or 0 when that needs more than 64 bits. */
static uint64_t shifted_rate(uint64_t permits, uint64_t period, unsigned shift)
{
    uint64_t quotient = permits / period, rest = permits % period;
    for (unsigned i = 0; i < shift; i++) {
        if (quotient >> 63 != 0) return 0;
        const bool carried = rest >> 63 != 0;
        rest <<= 1;
        const bool fits = carried || rest >= period;
        if (fits) rest -= period;
        quotient = quotient << 1 | fits;
    }
    return quotient == UINT64_MAX ? 0 : quotient + (rest != 0);
}

static void set_clock(struct rule *rule, uint64_t permits, uint64_t period_ns, unsigned scale)
{
    rule->anchor_ns = 0;
    rule->anchor_tick = 1;
    rule->scale = (uint8_t)scale;
    rule->shift = 64;
    while ((rule->multiplier = shifted_rate(permits, period_ns, scale + rule->shift)) == 0) rule->shift--;
}

/* Ticks of the burst, or UINT64_MAX. */
static uint64_t burst_ticks(const struct limit *limit, const struct rule *rule)
{
    if (limit->burst_kind == AMOUNT_TIME) return multiply_shift_floor(limit->burst, rule->multiplier, rule->shift);
    return ticks_of(rule, limit->burst);
}

static void default_burst(struct limit *limit)
{
    const uint64_t whole = limit->count.digits / power_of_ten(limit->count.places);
    limit->burst_kind = AMOUNT_COUNT;
    if (limit->algorithm != ALGORITHM_HYBRID) {
        limit->burst = least(most(whole, 1), BURST_DEFAULT_MAX);
        return;
    }
    /* The seed's pool: two operations, and a millisecond at least. */
    uint64_t permits, period_ns;
    limit->burst = POOL_OPS;
    if (limit_rate(limit, &permits, &period_ns) &&
        multiply_divide_ceil(POOL_OPS, period_ns, permits) <= MILLISECOND_NS) {
        limit->burst_kind = AMOUNT_TIME;
        limit->burst = MILLISECOND_NS;
    }
}

void limit_defaults(struct limit *limit)
{
    if (limit->burst_kind == AMOUNT_NONE) default_burst(limit);
    if (limit->algorithm == ALGORITHM_HYBRID && limit->factor.digits == 0) limit->factor.digits = 1;
}

static struct limit_problem problem(enum limit_part part, const char *message)
{
    return (struct limit_problem){part, message};
}

static struct limit_problem compile_catchup(const struct limit *limit, struct rule *rule)
{
    const uint64_t power = power_of_ten(limit->factor.places);
    rule->ratio = multiply_divide_floor(limit->factor.digits, UINT64_C(1) << 32, power);
    if (rule->ratio < UINT64_C(1) << 32) {
        return problem(PART_CATCHUP, "catchup is 1 or more: how much faster to run while behind; for example 1.1");
    }
    if (rule->ratio > (uint64_t)CATCHUP_MAX << 32) return problem(PART_CATCHUP, "catchup is at most 1000");
    rule->over = multiply_divide_floor(rule->burst, limit->factor.digits, power);
    if (rule->over > OVER_TICKS_MAX)
        return problem(PART_BURST, "burst times catchup is longer than 18 years; choose a smaller burst");
    return problem(PART_NONE, "");
}

struct limit_problem limit_compile(const struct limit *limit, struct rule *rule)
{
    *rule = (struct rule){.algorithm = limit->algorithm};
    if (limit->algorithm == ALGORITHM_UNLIMITED || limit->algorithm == ALGORITHM_NONE) {
        set_clock(rule, 1, 1, 0);
        return problem(PART_NONE, "");
    }
    if (limit->algorithm >= ALGORITHMS_BUILT) {
        return problem(PART_ALGORITHM, " is known, but not built yet; this version has gcra and hybrid");
    }
    uint64_t permits, period_ns;
    if (!limit_rate(limit, &permits, &period_ns)) {
        return problem(PART_RATE, "this rate has more digits than 64 bits hold; write a rounder rate");
    }
    if (permits / PER_NS_MAX >= period_ns && permits != PER_NS_MAX * period_ns) {
        return problem(PART_RATE, "this rate is over 10^12 a second, the most that weir can count");
    }
    /* A tick of half a ns to a ns; where the burst lasts for centuries, up to 8 times as long. */
    const unsigned scale = log2_ceil(period_ns, permits);
    unsigned lent = 0;
    do {
        set_clock(rule, permits, period_ns, scale - lent);
        rule->burst = burst_ticks(limit, rule);
    } while (rule->burst > BURST_TICKS_MAX && lent++ < SCALE_LENT_MAX && lent <= scale);
    if (rule->burst > BURST_TICKS_MAX) {
        return problem(PART_BURST, "this burst would take over 300 years to refill; choose a smaller burst");
    }
    if (rule->burst >> rule->scale == 0) {
        return problem(PART_BURST, "burst is at least 1, or nothing could ever pass; for example burst=1");
    }
    if (limit->has_debt) return problem(PART_DEBT, "debt= is known, but not built yet");
    if (limit->shadow) return problem(PART_SHADOW, "shadow is known, but not built yet");
    const bool hybrid = limit->algorithm == ALGORITHM_HYBRID;
    if (limit->start == START_FULL || (limit->start == START_DEFAULT && !hybrid)) rule->flags |= RULE_STARTS_FULL;
    return hybrid ? compile_catchup(limit, rule) : problem(PART_NONE, "");
}
