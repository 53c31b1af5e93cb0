/* SPDX-License-Identifier: MIT
   A limit's clock against the exact rational, for any rate and any time.

       rates_law [RATES [SEED]]        prints the seed and what was seen; exit status 1 at the first offence

   Properties, for random rates from 1 per year to 10^12 per second, times to 2^63 ns:

   * tick_at is never behind the exact schedule since the anchor, and ahead of it by at most one tick while ticks fit in
     63 bits, two while they fit in 64; beyond that it is UINT64_MAX; it never goes back.
   * ns_ceil is its exact inverse: the first ns at which tick >= T.
   * n permits are n * 2^scale ticks, and their time is the exact one, or a tick before it after centuries.
   * re-anchoring (the same limit, WEIR_KEEP) never frees a permit earlier, and each time at most one tick later.
   * carrying to another limit as time rounds against the caller, by less than two ticks or, where ticks are finer
     than a ns, two ns.

   All comparisons are exact: the elapsed time is split so that nothing needs over 128 bits. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/limit.h"
#include "unit/random.h"
#include "wide.h"

enum { RATES = 100000, TIMES = 6, ANCHORINGS_MAX = 20, DEBT_BITS = 50, PER_NS_MAX = 1000 };
static const uint64_t YEAR_NS = UINT64_C(31536000000000000);
static const uint64_t TIME_MAX = UINT64_C(1) << 63;

/* permits / period, reduced. */
struct rate {
    uint64_t permits, period_ns;
};

struct seen { /* what a run met, so that a property that tests nothing shows */
    uint64_t rates, refused, above_one_per_ns, coarse, ahead[3], early, saturated, late_ns_max, carry_late_max;
};

struct subject {
    struct limit limit;
    struct rule rule;
    struct rate rate;
    uint64_t *seed;
    struct seen *seen;
};

static void offence(const struct subject *subject, const char *prop, uint64_t at, uint64_t got, uint64_t expected)
{
    fprintf(stderr,
            "%s\n  %" PRIu64 " permits in %" PRIu64 " ns (count %" PRIu64 "/10^%" PRIu32 ", period %" PRIu64
            ", burst %" PRIu64 ")\n  at %" PRIu64 ": got %" PRIu64 ", bound %" PRIu64 "\n",
            prop, subject->rate.permits, subject->rate.period_ns, subject->limit.count.digits,
            subject->limit.count.places, subject->limit.period_ns, subject->limit.burst, at, got, expected);
    abort();
}

/* ---- exact rationals ---- */

static wide_unsigned common_divisor(wide_unsigned a, wide_unsigned b)
{
    while (b != 0) {
        wide_unsigned rest;
        wide_divide(a, b, &rest);
        a = b;
        b = rest;
    }
    return a;
}

/* False when the reduced fraction needs over 64 bits, or lies outside of what is promised. */
static bool exact_rate(const struct limit *limit, struct rate *rate)
{
    wide_unsigned permits = limit->count.digits, period_ns = limit->period_ns;
    for (uint32_t i = 0; i < limit->count.places; i++) period_ns *= 10;
    const wide_unsigned common = common_divisor(permits, period_ns);
    permits = wide_divide(permits, common, NULL);
    period_ns = wide_divide(period_ns, common, NULL);
    if (permits > UINT64_MAX || period_ns > UINT64_MAX) return false;
    if (permits > PER_NS_MAX * period_ns || permits * YEAR_NS < period_ns) return false;
    *rate = (struct rate){(uint64_t)permits, (uint64_t)period_ns};
    return true;
}

/* floor(elapsed * permits * 2^scale / period): whole periods first, so that the rest fits. */
static wide_unsigned exact_ticks(const struct subject *subject, uint64_t elapsed_ns)
{
    const wide_unsigned ticks = (wide_unsigned)subject->rate.permits << subject->rule.scale;
    const wide_unsigned period = subject->rate.period_ns;
    wide_unsigned rest;
    const wide_unsigned whole = wide_divide(ticks, period, &rest);
    return whole * elapsed_ns + wide_divide(rest * elapsed_ns, period, NULL);
}

/* ceil(permits * period / rate), or UINT64_MAX. */
static uint64_t exact_ns(const struct rate *rate, uint64_t permits)
{
    const wide_unsigned top = (wide_unsigned)permits * rate->period_ns;
    wide_unsigned rest;
    const wide_unsigned whole = wide_divide(top, rate->permits, &rest), ns = whole + (rest != 0);
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* A tick in ns, rounded up; 1 unless a long burst made ticks longer. */
static uint64_t tick_ns(const struct subject *subject)
{
    const wide_unsigned one = (wide_unsigned)subject->rate.permits << subject->rule.scale;
    return (uint64_t)wide_divide(subject->rate.period_ns + one - 1, one, NULL);
}

/* ---- the properties ---- */

static void check_scale(const struct subject *subject)
{
    const wide_unsigned one = (wide_unsigned)subject->rate.permits << subject->rule.scale;
    const bool coarse = one < subject->rate.period_ns;
    const bool fine = one >= 2 * (wide_unsigned)subject->rate.period_ns && subject->rule.scale != 0;
    const bool lent = subject->rule.burst > UINT64_MAX >> 5; /* a burst of decades may make ticks longer */
    if (fine || (coarse && !lent)) offence(subject, "a tick is half a ns to a ns", 0, subject->rule.scale, 0);
    subject->seen->coarse += coarse;
    subject->seen->above_one_per_ns += subject->rate.permits > subject->rate.period_ns;
}

/* Checks one time; returns its tick. */
static uint64_t check_tick(const struct subject *subject, uint64_t now_ns)
{
    const struct rule *rule = &subject->rule;
    const uint64_t tick = tick_at(rule, now_ns);
    const wide_unsigned exact = exact_ticks(subject, now_ns > rule->anchor_ns ? now_ns - rule->anchor_ns : 0);
    const wide_unsigned expected = exact + rule->anchor_tick;
    if (tick == UINT64_MAX) {
        subject->seen->saturated++;
        if (expected + 2 < UINT64_MAX) offence(subject, "saturates too early", now_ns, tick, (uint64_t)expected);
        return tick;
    }
    if (tick < expected) offence(subject, "a tick behind the schedule", now_ns, tick, (uint64_t)expected);
    const uint64_t ahead = (uint64_t)(tick - expected), ahead_max = exact >> 63 == 0 ? 1 : 2;
    if (ahead > ahead_max) offence(subject, "ticks ahead of the schedule", now_ns, ahead, ahead_max);
    subject->seen->ahead[ahead]++;
    return tick;
}

static void check_inverse(const struct subject *subject, uint64_t tick)
{
    const struct rule *rule = &subject->rule;
    const uint64_t first_ns = ns_ceil(rule, tick);
    if (tick_at(rule, UINT64_MAX) < tick) return; /* never comes */
    if (tick_at(rule, first_ns) < tick) offence(subject, "ns_ceil is too early", tick, first_ns, 0);
    if (first_ns > rule->anchor_ns && tick_at(rule, first_ns - 1) >= tick)
        offence(subject, "ns_ceil is too late", tick, first_ns, first_ns - 1);
}

static void check_times(const struct subject *subject)
{
    for (int i = 0; i < TIMES; i++) {
        uint64_t *seed = subject->seed;
        const uint64_t now_ns = random_one_in(seed, 8) ? TIME_MAX - random_sized(seed, 40) : random_sized(seed, 63);
        const uint64_t tick = check_tick(subject, now_ns);
        const uint64_t next = check_tick(subject, now_ns + 1);
        const uint64_t later = check_tick(subject, now_ns + random_below(seed, TIME_MAX - now_ns + 1));
        if (next < tick || later < tick) offence(subject, "time goes back", now_ns, least(next, later), tick);
        check_inverse(subject, tick);
        check_inverse(subject, add_saturating(tick, 1));
        check_inverse(subject, add_saturating(tick, random_sized(seed, 40)));
    }
}

static void check_permits(const struct subject *subject)
{
    const struct rule *rule = &subject->rule;
    for (int i = 0; i < TIMES; i++) {
        const uint64_t permits = random_positive(subject->seed, 63 - rule->scale > 0 ? 63u - rule->scale : 1);
        const uint64_t ticks = ticks_of(rule, permits);
        if (ticks >> rule->scale != permits || ticks << (63 - rule->scale) << 1 != 0)
            offence(subject, "permits are ticks shifted", permits, ticks, permits << rule->scale);
        if (permits_floor(rule, ticks) != permits) offence(subject, "and back", permits, ticks, permits);
        if (permits_floor(rule, ticks - 1) != permits - 1) offence(subject, "down", permits, ticks, permits - 1);
        if (ticks > UINT64_MAX / 2 - rule->anchor_tick) continue;
        const uint64_t got_ns = ns_ceil(rule, rule->anchor_tick + ticks) - rule->anchor_ns;
        const uint64_t exact = exact_ns(&subject->rate, permits);
        if (exact == UINT64_MAX) continue;
        if (got_ns > exact) offence(subject, "permits come late", permits, got_ns, exact);
        if (exact - got_ns > tick_ns(subject)) offence(subject, "permits come early", permits, got_ns, exact);
        subject->seen->early += exact != got_ns;
    }
    if (ticks_of(rule, (UINT64_MAX >> rule->scale) + 1) != UINT64_MAX && rule->scale != 0)
        offence(subject, "too many permits saturate", 0, 0, 0);
}

/* Sets the clock of the same limit anew at random times, as a limiter does before its ticks run out. */
static void check_anchoring(struct subject subject)
{
    const struct algorithm *gcra = algorithm_of(&subject.rule);
    const int count = 1 + (int)random_below(subject.seed, ANCHORINGS_MAX);
    const uint64_t start_ns = random_sized(subject.seed, 50);
    uint64_t drained = tick_at(&subject.rule, start_ns) + random_sized(subject.seed, 60);
    const uint64_t due_ns = ns_ceil(&subject.rule, drained);
    if (tick_at(&subject.rule, start_ns) > UINT64_MAX / 4) return;
    uint64_t now_ns = start_ns;
    for (int i = 0; i < count && now_ns < due_ns; i++) {
        struct rule to = subject.rule;
        now_ns += random_below(subject.seed, (due_ns - now_ns) / (uint64_t)(count - i) + 1);
        const uint64_t now = tick_at(&subject.rule, now_ns);
        to.anchor_ns = now_ns;
        to.anchor_tick = random_one_in(subject.seed, 2) ? 1 : now + random_sized(subject.seed, 60);
        const uint64_t was = drained;
        gcra->carry(&subject.rule, &to, &was, &drained, now, WEIR_KEEP);
        subject.rule = to;
        const uint64_t due_now_ns = ns_ceil(&to, drained);
        const uint64_t late_max_ns = (uint64_t)(i + 1) * tick_ns(&subject);
        if (due_now_ns < due_ns) offence(&subject, "freed by a new anchor", now_ns, due_now_ns, due_ns);
        if (due_now_ns - due_ns > late_max_ns)
            offence(&subject, "late by a new anchor", now_ns, due_now_ns - due_ns, late_max_ns);
        subject.seen->late_ns_max = most(subject.seen->late_ns_max, due_now_ns - due_ns);
        if (to.anchor_tick == 1) check_times(&subject);
    }
}

/* ticks * multiplier / 2^shift of the one clock against the other, cross-multiplied. */
static void check_carry(const struct subject *from, const struct subject *to)
{
    const struct rule *a = &from->rule, *b = &to->rule;
    const uint64_t used = random_sized(from->seed, DEBT_BITS);
    const uint64_t carried = carry_used(a, b, used, WEIR_KEEP);
    const int finer = a->shift - b->shift;
    const wide_unsigned before = ((wide_unsigned)used * b->multiplier) << (finer > 0 ? finer : 0);
    const wide_unsigned one = (wide_unsigned)a->multiplier << (finer < 0 ? -finer : 0);
    const wide_unsigned after = carried * one;
    const uint64_t late_max = finer > 1 ? UINT64_C(1) << finer : 2;
    if (after < before) offence(to, "carried in the caller's favour", used, carried, 0);
    if (after - before >= late_max * one) offence(to, "carried too far against", used, carried, late_max);
    from->seen->carry_late_max = most(from->seen->carry_late_max, (uint64_t)wide_divide(after - before, one, NULL));
    if (carry_used(a, b, used, WEIR_RESET) != 0) offence(to, "not forgotten", used, 0, 0);
    const uint64_t permits = random_sized(from->seed, 20);
    const uint64_t ticks = ticks_of(a, permits), expected = ticks_of(b, permits);
    if (ticks == UINT64_MAX || expected == UINT64_MAX) return;
    if (carry_used(a, b, ticks, WEIR_SCALE) != expected) offence(to, "permits are not permits", permits, 0, expected);
}

/* ---- random rates ---- */

static uint64_t random_power_of_ten(uint64_t *seed, unsigned powers)
{
    uint64_t power = 1;
    for (uint64_t i = random_below(seed, powers); i > 0; i--) power *= 10;
    return power;
}

static void choose_rate(uint64_t *seed, struct limit *limit)
{
    static const uint64_t periods_s[] = {1, 60, 3600, 86400, 604800, 31536000};
    const uint64_t period_ns = periods_s[random_below(seed, 6)] * UINT64_C(1000000000);
    switch (random_below(seed, 4)) {
    case 0: /* what people write */
        limit->count.digits = (1 + random_below(seed, 99)) * random_power_of_ten(seed, 13);
        limit->period_ns = period_ns;
        break;
    case 1: /* with a point */
        limit->count.digits = random_positive(seed, 63);
        limit->count.places = (uint32_t)random_below(seed, 19);
        limit->period_ns = period_ns;
        break;
    case 2: /* anything */
        limit->count.digits = random_positive(seed, 64);
        limit->period_ns = random_positive(seed, 64);
        break;
    default: /* next to a power of two */
        limit->count.digits = 1 + random_below(seed, 3);
        limit->period_ns = (UINT64_C(1) << random_below(seed, 55)) + random_below(seed, 3) - 1;
        break;
    }
    if (limit->period_ns == 0) limit->period_ns = 1;
}

static struct subject choose(uint64_t *seed, struct seen *seen)
{
    for (;;) {
        struct subject subject = {.seed = seed, .seen = seen};
        subject.limit = (struct limit){.algorithm = ALGORITHM_GCRA, .burst_kind = AMOUNT_COUNT, .burst = 1};
        choose_rate(seed, &subject.limit);
        if (random_one_in(seed, 8)) subject.limit.burst = random_positive(seed, 40);
        if (!exact_rate(&subject.limit, &subject.rate)) continue;
        const struct limit_problem problem = limit_compile(&subject.limit, &subject.rule);
        if (problem.message == NULL) return subject;
        if (problem.option != OPTION_BURST) offence(&subject, problem.message, 0, (uint64_t)problem.option, 0);
        seen->refused++;
    }
}

static void check_rates(uint64_t count, uint64_t seed, struct seen *seen)
{
    struct subject last = choose(&seed, seen);
    for (; seen->rates < count; seen->rates++) {
        const struct subject subject = choose(&seed, seen);
        check_scale(&subject);
        check_times(&subject);
        check_permits(&subject);
        check_anchoring(subject);
        check_carry(&last, &subject);
        last = subject;
    }
}

#ifdef WEIR_FUZZ

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen seen = {0};
    uint64_t seed = 0;
    memcpy(&seed, data, size < sizeof seed ? size : sizeof seed);
    check_rates(10, seed != 0 ? seed : 1, &seen);
    return 0;
}

#else

int main(int argc, char **argv)
{
    struct seen seen = {0};
    const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : RATES;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : UINT64_C(20240613);
    printf("seed %" PRIu64 "\n", seed);
    check_rates(count, seed != 0 ? seed : 1, &seen);
    printf("%" PRIu64 " rates, %" PRIu64 " above 1 per ns, %" PRIu64 " with ticks over 1 ns, %" PRIu64
           " refused for their burst\n",
           seen.rates, seen.above_one_per_ns, seen.coarse, seen.refused);
    printf("ticks ahead of the schedule: 0 %" PRIu64 ", 1 %" PRIu64 ", 2 %" PRIu64 "; saturated %" PRIu64 "\n",
           seen.ahead[0], seen.ahead[1], seen.ahead[2], seen.saturated);
    printf("permits early by a tick: %" PRIu64 "; late by new anchors: %" PRIu64 " ns; carried late by %" PRIu64
           " ticks\n",
           seen.early, seen.late_ns_max, seen.carry_late_max);
    return seen.ahead[1] == 0 || seen.coarse == 0 || seen.above_one_per_ns == 0;
}

#endif
