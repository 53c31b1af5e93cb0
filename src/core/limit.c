/* SPDX-License-Identifier: MIT
   From what a person says to the numbers of a rule, once, with every argument checked.

   What all algorithms share is here: the rate and the two kinds of clock; the rest is in the file of each.
   The rule is exact but for the multiplier, which is rounded up in its last bit; what cannot be kept is refused, with
   the argument at fault named. */
#include "core/limit.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"

enum { SCALE_LENT_MAX = 3, FACTOR_BITS = 32, CATCHUP_MAX = 1000 };
static const uint64_t BURST_TICKS_MAX = UINT64_C(1) << 62;
static const uint64_t BURST_DEFAULT_MAX = UINT64_C(1) << 32;
static const uint64_t PER_NS_MAX = 1000; /* 10^12 a second */

bool limit_rate(const struct limit *limit, uint64_t *permits, uint64_t *period_ns)
{
    const uint64_t power = power_of_ten(limit->count.places);
    *permits = *period_ns = 1;
    if (limit->count.digits == 0 || limit->period_ns == 0) return false;
    const uint64_t by_power = greatest_common_divisor(limit->count.digits, power);
    const uint64_t top = limit->count.digits / by_power;
    const uint64_t common = greatest_common_divisor(top, limit->period_ns);
    const uint64_t period = limit->period_ns / common;
    if (period > UINT64_MAX / (power / by_power)) return false;
    *permits = top / common;
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

void limit_plain_clock(struct rule *rule)
{
    set_clock(rule, 1, 1, 0);
}

struct limit_problem limit_too_many_digits(void)
{
    return limit_wrong(OPTION_RATE,
                       "this rate has more digits than 64 bits hold; write a rounder rate, for example 10/s");
}

struct limit_problem limit_read_rate(const struct limit *limit, uint64_t *permits, uint64_t *period_ns)
{
    if (!limit_rate(limit, permits, period_ns)) return limit_too_many_digits();
    if (*permits / PER_NS_MAX >= *period_ns && *permits != PER_NS_MAX * *period_ns) {
        return limit_wrong(OPTION_RATE,
                           "this rate is over 10^12 a second, the most that weir can count; for example 1G/s");
    }
    return limit_fine();
}

struct limit_problem limit_line(const struct limit *limit, struct rule *rule)
{
    uint64_t permits, period_ns;
    const struct limit_problem problem = limit_read_rate(limit, &permits, &period_ns);
    if (problem.message != NULL) return problem;
    /* A tick of half a ns to a ns; where the burst lasts for centuries, up to 8 times as long. */
    const bool profile = limit->phases != 0;
    const unsigned scale = profile ? PROFILE_SCALE : log2_ceil(period_ns, permits);
    unsigned lent = 0;
    do {
        set_clock(rule, permits, period_ns, scale - lent);
        rule->burst = burst_ticks(limit, rule);
    } while (!profile && rule->burst > BURST_TICKS_MAX && lent++ < SCALE_LENT_MAX && lent <= scale);
    if (rule->burst > BURST_TICKS_MAX) {
        return limit_wrong(
            OPTION_BURST,
            "this burst would take over 300 years to refill; choose a smaller burst, for example burst=20");
    }
    rule->debt = limit_debt(limit, rule);
    return limit_fine();
}

struct limit_problem limit_window(const struct limit *limit, struct rule *rule)
{
    limit_plain_clock(rule);
    rule->burst = limit->count.digits;
    rule->period_ns = limit->period_ns;
    if (limit->count.places != 0) {
        return limit_wrong(OPTION_RATE, "a window holds whole permits; write 1/2s for half a permit a second");
    }
    return limit_fine();
}

uint64_t limit_debt(const struct limit *limit, const struct rule *rule)
{
    return limit->has_debt ? ticks_of(rule, limit->debt) : UINT64_MAX;
}

uint64_t limit_factor(struct decimal factor)
{
    return multiply_divide_floor(factor.digits, UINT64_C(1) << FACTOR_BITS, power_of_ten(factor.places));
}

struct limit_problem limit_catchup(const struct limit *limit)
{
    const uint64_t factor = limit_factor(limit->factor);
    if (factor < UINT64_C(1) << FACTOR_BITS) return limit_out_of_range(OPTION_CATCHUP);
    if (factor <= (uint64_t)CATCHUP_MAX << FACTOR_BITS) return limit_fine();
    return limit_wrong(OPTION_CATCHUP, "catchup is at most 1000; for example catchup=1.1");
}

void limit_default_burst(struct limit *limit)
{
    const uint64_t whole = limit->count.digits / power_of_ten(limit->count.places);
    if (limit->burst_kind != AMOUNT_NONE) return;
    limit->burst_kind = AMOUNT_COUNT;
    limit->burst = least(most(whole, 1), BURST_DEFAULT_MAX);
}

uint64_t limit_spacing_ns(const struct limit *limit)
{
    uint64_t permits, period_ns;
    limit_rate(limit, &permits, &period_ns);
    return period_ns / permits + (period_ns % permits >= permits - permits / 2);
}

struct limit_problem limit_compile(struct limit *limit, struct rule *rule)
{
    const struct algorithm *algorithm = algorithm_named(limit->algorithm);
    *rule = (struct rule){.algorithm = limit->algorithm};
    if (algorithm == NULL) return limit_wrong(OPTION_ALGORITHM, " is unknown");
    const struct limit_problem problem = algorithm->compile(limit, rule);
    if (!limit->shadow) return problem;
    return limit_wrong(OPTION_SHADOW,
                       "shadow is no option of a limit's text; in weir.yaml write shadow: true beside the limit");
}
