/* SPDX-License-Identifier: MIT
   Arrivals at random: the numbers, the starts that follow from them, and that they are the same however they are taken.

   What is random here has fixed seeds, so a test of its distribution has one result for ever. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/limiter.h"
#include "core/arrivals.h"
#include "core/clock.h"
#include "core/num.h"
#include "plan/plan.h"
#include "unit/plans.h"
#include "unit/random.h"

enum { STARTS = 6, THREADS = 64, EACH = 50, ALL = THREADS * EACH };

struct log_row {
    uint64_t u, log;
    int off; /* so far is the definition's from it */
};

struct quantile_row {
    uint64_t mean, quantile;
};

struct start_row {
    const char *text;
    uint64_t ns[STARTS];
};

#include "unit/arrivals_rows.h"

static const char text[] = "1000/s arrivals=poisson seed=7";

static struct rule rule_of(const char *limit)
{
    const weir_plan plan = plan_for(limit, WEIR_PACE);
    return plan_inside_const(&plan)->rule[0];
}

/* ---- the numbers ---- */

/* Less than 2^-56 off, which is a tick of the slowest rate; and to the bit, so that another language has the same
   starts. */
static void a_logarithm_is_the_one_of_the_definition(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(logs); i++) {
        const int64_t off = (int64_t)(arrivals_log(logs[i].u) - logs[i].log);
        if (off != logs[i].off || off < -3 || off > 3)
            fail_msg("-ln(%#llx / 2^64) is off by %lld", (unsigned long long)logs[i].u, (long long)off);
    }
}

static void a_gap_is_less_than_a_tick_from_its_logarithm(void **unused)
{
    (void)unused;
    static const char *const rates[] = {"1G/s", "50M/s", "1000/s", "1/d"};
    for (size_t i = 0; i < LENGTH(rates); i++) {
        char limit[64];
        snprintf(limit, sizeof limit, "%s arrivals=poisson seed=%zu", rates[i], i);
        const struct rule rule = rule_of(limit);
        struct rule fine = rule;
        fine.scale = ARRIVALS_SCALE_MAX;
        for (uint64_t k = 1; k < 10000; k++) {
            const uint64_t whole = arrivals_gap(&rule, k) << (ARRIVALS_SCALE_MAX - rule.scale),
                           exact = arrivals_gap(&fine, k);
            const uint64_t off = whole > exact ? whole - exact : exact - whole;
            assert_true(off <= (UINT64_C(1) << (ARRIVALS_SCALE_MAX - rule.scale)) + 1);
        }
    }
}

static void quantiles_are_those_of_poisson(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(quantiles); i++) {
        if (arrivals_quantile(quantiles[i].mean) == quantiles[i].quantile) continue;
        fail_msg("mean %llu: %llu, not %llu", (unsigned long long)quantiles[i].mean,
                 (unsigned long long)arrivals_quantile(quantiles[i].mean), (unsigned long long)quantiles[i].quantile);
    }
    assert_in_range(arrivals_quantile((uint64_t)UINT32_MAX << 20) - UINT32_MAX, 202000, 203000); /* 3.09 deviations */
    assert_int_equal(arrivals_quantile(UINT64_MAX), UINT64_MAX);
}

static int by_value(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* Kolmogorov and Smirnov: the largest distance from 1 - exp(-x), times the root of the number.  Above 1.63 once in 100
   times. */
static double ks_distance(const struct rule *rule, uint64_t count)
{
    double *gap = malloc(count * sizeof *gap), distance = 0;
    assert_non_null(gap);
    for (uint64_t k = 0; k < count; k++) gap[k] = ldexp((double)arrivals_gap(rule, k + 1), -rule->scale);
    qsort(gap, count, sizeof *gap, by_value);
    for (uint64_t k = 0; k < count; k++) {
        const double wanted = -expm1(-gap[k]);
        distance = fmax(distance, fabs(wanted - (double)k / (double)count));
        distance = fmax(distance, fabs(wanted - (double)(k + 1) / (double)count));
    }
    free(gap);
    return distance * sqrt((double)count);
}

/* The variance of numbers in windows of `mean` permits each, by their mean: 1, give or take sqrt(2 / windows). */
static double dispersion(const struct rule *rule, uint64_t mean, uint64_t windows)
{
    const uint64_t window = ticks_of(rule, mean);
    double sum = 0, squares = 0;
    uint64_t k = 1, at = arrivals_gap(rule, 1);
    for (uint64_t i = 1; i <= windows; i++) {
        double count = 0;
        for (; at < i * window; at += arrivals_gap(rule, ++k)) count++;
        sum += count;
        squares += count * count;
    }
    const double average = sum / (double)windows;
    return (squares / (double)windows - average * average) / average;
}

static void the_gaps_are_exponential_and_the_counts_are_poisson(void **unused)
{
    (void)unused;
    static const char *const limits[] = {"1000/s arrivals=poisson seed=7", "1000/s arrivals=poisson seed=8",
                                         "1000/s arrivals=poisson seed=0",
                                         "1/h arrivals=poisson seed=12345678901234567"};
    for (size_t i = 0; i < LENGTH(limits); i++) {
        const struct rule rule = rule_of(limits[i]);
        const double distance = ks_distance(&rule, 100000);
        if (distance > 1.63) fail_msg("%s: Kolmogorov-Smirnov %.2f", limits[i], distance);
        for (uint64_t mean = 1; mean <= 100; mean *= 10) {
            const double index = dispersion(&rule, mean, 5000);
            if (fabs(index - 1) > 4 * sqrt(2.0 / 5000)) fail_msg("%s: dispersion %.3f", limits[i], index);
        }
    }
}

/* Neighbours in k, and of two seeds that are neighbours, have nothing in common: the correlation of so many pairs is
   within 4 / sqrt(count). */
static void neighbours_are_independent(void **unused)
{
    (void)unused;
    enum { COUNT = 100000 };
    const struct rule rule = rule_of(text), next = rule_of("1000/s arrivals=poisson seed=8");
    double by_k = 0, by_seed = 0;
    for (uint64_t k = 1; k <= COUNT; k++) {
        const double here = ldexp((double)arrivals_gap(&rule, k), -rule.scale) - 1;
        by_k += here * (ldexp((double)arrivals_gap(&rule, k + 1), -rule.scale) - 1);
        by_seed += here * (ldexp((double)arrivals_gap(&next, k), -next.scale) - 1);
    }
    assert_true(fabs(by_k) < 4 * sqrt(COUNT) && fabs(by_seed) < 4 * sqrt(COUNT));
}

/* Where a permit is a few ticks, those are rounded to both sides: always down, the average would be 1.6 % short. */
static void the_average_is_the_rate_at_any_rate(void **unused)
{
    (void)unused;
    static const char *const rates[] = {"1000/s", "50M/s", "1G/s"};
    for (size_t i = 0; i < LENGTH(rates); i++) {
        enum { COUNT = 4000000 };
        char limit[64];
        snprintf(limit, sizeof limit, "%s arrivals=poisson seed=3", rates[i]);
        const struct rule rule = rule_of(limit);
        double sum = 0;
        for (uint64_t k = 0; k < COUNT; k += 1000) sum += ldexp((double)arrivals_span(&rule, k, 1000), -rule.scale);
        if (fabs(sum / COUNT - 1) > 4 / sqrt(COUNT)) fail_msg("%s: %.6f permits apart", rates[i], sum / COUNT);
    }
}

static void a_span_is_the_sum_of_its_gaps_and_work_is_bounded(void **unused)
{
    (void)unused;
    const struct rule rule = rule_of(text);
    const uint64_t span = arrivals_span(&rule, 5, ARRIVALS_MOST);
    uint64_t sum = 0;
    for (uint64_t k = 6; k <= 5 + ARRIVALS_MOST; k++) sum += arrivals_gap(&rule, k);
    assert_int_equal(span, sum);
    assert_int_equal(arrivals_span(&rule, 5, ARRIVALS_MOST + 10), sum + ticks_of(&rule, 10));
    assert_int_equal(arrivals_within(&rule, 5, sum, UINT64_MAX), ARRIVALS_MOST);
    assert_int_equal(arrivals_within(&rule, 5, sum - 1, UINT64_MAX), ARRIVALS_MOST - 1);
    assert_int_equal(arrivals_within(&rule, 5, sum, 3), 3);
    assert_int_equal(arrivals_span(&rule, UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

/* ---- the text ---- */

static void it_is_written_as_it_was_said(void **unused)
{
    (void)unused;
    char canonical[128];
    const weir_plan plan = plan_for("1000/s  seed=7 arrivals=poisson burst=3 catchup=2", WEIR_PACE);
    weir_plan_text(&plan, canonical, sizeof canonical);
    assert_string_equal(canonical, "1000/s burst=3 catchup=2 algorithm=hybrid arrivals=poisson seed=7");
    const weir_plan again = plan_for(canonical, WEIR_PACE);
    assert_memory_equal(&plan, &again, sizeof plan);
    const weir_plan even = plan_for("1000/s arrivals=uniform", WEIR_PACE), usual = plan_for("1000/s", WEIR_PACE);
    assert_memory_equal(&plan_inside_const(&even)->rule[0], &plan_inside_const(&usual)->rule[0], sizeof(struct rule));
    weir_plan_text(&even, canonical, sizeof canonical);
    assert_string_equal(canonical, "1000/s burst=10ms catchup=1.1 algorithm=hybrid arrivals=uniform");
}

static void what_cannot_be_is_refused_with_what_can(void **unused)
{
    (void)unused;
    static const struct mistake mistakes[] = {
        {"1000/s arrivals=poisson", 17,
         "arrivals=poisson needs a seed: any number, another one for each generator; for "
         "example arrivals=poisson seed=7"},
        {"1000/s seed=7", 13, "seed= goes with arrivals=poisson; for example arrivals=poisson seed=7"},
        {"1000/s arrivals=uniform seed=7", 30, "seed= goes with arrivals=poisson; for example arrivals=poisson seed=7"},
        {"1000/s arrivals=exponential seed=7", 17, "expected arrivals=uniform or arrivals=poisson"},
        {"1000/s arival=poisson seed=7", 8, "unknown word \"arival\"; did you mean arrivals?"},
        {"1000/s arrivals=poisson seed=x", 30, "expected a whole number; for example arrivals=poisson seed=7"},
        {"1000/s arrivals=poisson seed=1.5", 30, "expected a whole number; for example arrivals=poisson seed=7"},
        {"1000/s arrivals=poisson seed=7 debt=3", 37,
         "debt= does not go with arrivals=poisson, where a charge is never "
         "cut; leave it out"},
        {"1MB/s arrivals=poisson seed=7", 16,
         "arrivals=poisson is for operations, not for bytes, which leave evenly; for "
         "example 1000/s arrivals=poisson seed=7"},
        {"1/2year arrivals=poisson seed=7", 1, "arrivals=poisson has rates from one a year; for example 1/d"},
        {"10/s algorithm=gcra arrivals=poisson seed=7", 21,
         "arrivals does not belong to algorithm=gcra; it goes with "
         "hybrid"},
        {"10/s algorithm=timeline seed=7", 25, "seed does not belong to algorithm=timeline; it goes with hybrid"},
    };
    for (size_t i = 0; i < LENGTH(mistakes); i++) {
        weir_plan plan;
        weir_error error;
        assert_int_equal(weir_plan_parse(&plan, mistakes[i].text, WEIR_PACE, &error), WEIR_EINVAL);
        assert_string_equal(error.message, mistakes[i].message);
        assert_int_equal(error.column, mistakes[i].column);
    }
}

static void only_a_limiter_that_paces_has_it(void **unused)
{
    (void)unused;
    weir_plan plan;
    weir_error error;
    assert_int_equal(weir_plan_parse(&plan, text, WEIR_ADMIT, &error), WEIR_EUNSUPPORTED);
    assert_int_equal(error.column, 8);
    assert_string_equal(error.message,
                        "arrivals=poisson is for pacing: weir pace, weir explain --pace, or weir_open with "
                        "use = WEIR_PACE");
    plan = plan_for(text, WEIR_PACE);
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table;
    options.sharing = WEIR_PRIVATE;
    options.plan = &plan;
    assert_int_equal(weir_table_open(&table, &options, &error), WEIR_EUNSUPPORTED);
    assert_string_equal(error.message,
                        "arrivals=poisson paces the starts of one limiter; a table has none: leave it out");
    const weir_plan even = plan_for("1000/s", WEIR_PACE);
    options.plan = &even;
    assert_int_equal(weir_table_open(&table, &options, &error), 0);
    assert_int_equal(weir_table_fits(table, &even, &error), 0);
    assert_int_equal(weir_table_fits(table, &plan, &error), WEIR_EUNSUPPORTED);
    assert_int_equal(weir_table_take(table, &plan, weir_key_text("a"), 1).verdict, WEIR_NEVER);
    weir_table_close(table);
}

/* ---- the starts ---- */

static void set_now(weir_limiter *limiter, uint64_t ns)
{
    set_ns(limiter, ns);
}

static weir_limiter *open_at(const char *limit, uint64_t ns)
{
    weir_limiter *limiter = open_limiter(limit, WEIR_CLOCK_MANUAL, WEIR_PACE);
    set_now(limiter, ns);
    return limiter;
}

static void the_starts_are_those_of_twenty_lines_of_python(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(starts); i++) {
        weir_limiter *limiter = open_at(starts[i].text, 0);
        for (size_t k = 0; k < STARTS; k++) {
            const weir_decision decision = weir_reserve(limiter, 1, WEIR_FOREVER);
            assert_int_equal(decision.verdict, WEIR_ALLOW);
            assert_int_equal(decision.start.ns, starts[i].ns[k]);
            assert_int_equal(decision.due.ns, starts[i].ns[k]);
        }
        weir_close(limiter);
    }
}

static int by_number(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

struct taker {
    weir_limiter *limiter;
    uint64_t ns[EACH];
    unsigned number;
};

static void *take_each(void *context)
{
    struct taker *taker = context;
    for (unsigned i = 0; i < EACH; i++) {
        const weir_decision decision = weir_reserve(taker->limiter, 1, WEIR_FOREVER);
        taker->ns[i] = decision.start.ns;
    }
    return NULL;
}

static void many_threads_have_the_starts_of_one(void **unused)
{
    (void)unused;
    static struct taker takers[THREADS];
    static uint64_t ns[ALL];
    pthread_t thread[THREADS];
    weir_limiter *limiter = open_at(text, S), *alone = open_at(text, S);
    for (unsigned i = 0; i < THREADS; i++) {
        takers[i] = (struct taker){.limiter = limiter, .number = i};
        assert_int_equal(pthread_create(&thread[i], NULL, take_each, &takers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        memcpy(&ns[i * EACH], takers[i].ns, sizeof takers[i].ns);
    }
    qsort(ns, ALL, sizeof *ns, by_number);
    for (unsigned k = 0; k < ALL; k++) assert_int_equal(ns[k], weir_reserve(alone, 1, WEIR_FOREVER).start.ns);
    weir_close(limiter);
    weir_close(alone);
}

/* The due times of the first ALL permits, taken one by one. */
static void due_of_each(const char *limit, uint64_t begins_ns, uint64_t due_ns[])
{
    weir_limiter *limiter = open_at(limit, begins_ns);
    for (unsigned k = 0; k < ALL; k++) due_ns[k] = weir_reserve(limiter, 1, WEIR_FOREVER).due.ns;
    weir_close(limiter);
}

static void batches_have_the_due_times_of_single_calls(void **unused)
{
    (void)unused;
    static uint64_t due_ns[ALL], each_ns[ALL];
    static const char limit[] = "1000/s burst=1000 arrivals=poisson seed=9";
    uint64_t seed = 3, now_ns = S;
    due_of_each(limit, now_ns, due_ns);
    weir_limiter *limiter = open_at(limit, now_ns);
    for (unsigned k = 0; k < ALL;) {
        const weir_decision decision = weir_take_some(limiter, least(ALL - k, 1 + random_below(&seed, 100)));
        if (decision.verdict == WEIR_ALLOW) {
            limiter_due_each(limiter, &decision, each_ns);
            for (uint64_t i = 0; i < decision.charged; i++, k++) {
                assert_int_equal(each_ns[i], due_ns[k]);
                assert_int_equal(weir_due(limiter, &decision, i + 1).ns, due_ns[k]);
                assert_true(due_ns[k] <= now_ns);
            }
        } else {
            assert_int_equal(now_ns + decision.retry_ns, due_ns[k]); /* which is when it passes */
        }
        set_now(limiter, now_ns += random_below(&seed, 20 * MS));
    }
    weir_close(limiter);
}

/* A caller that is always ready, be it by waiting, by leases or from the stock. */
static void a_lease_takes_them_one_by_one(void **unused)
{
    (void)unused;
    static uint64_t due_ns[ALL];
    due_of_each(text, S, due_ns);
    weir_limiter *limiter = open_at(text, S);
    weir_lease lease;
    assert_int_equal(weir_lease_open(&lease, limiter, NULL), 0);
    for (unsigned k = 0; k < 500; k++) {
        set_now(limiter, due_ns[k]);
        const weir_decision decision = weir_lease_take(&lease, 1);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        assert_int_equal(decision.due.ns, due_ns[k]);
        assert_int_equal(decision.start.ns, due_ns[k]);
    }
    weir_lease_close(&lease);
    weir_close(limiter);
}

static void a_call_is_of_4096_permits_at_most(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_at(text, S);
    assert_int_equal(weir_take(limiter, ARRIVALS_MOST + 1).verdict, WEIR_NEVER);
    assert_int_equal(weir_reserve(limiter, ARRIVALS_MOST + 1, WEIR_FOREVER).verdict, WEIR_NEVER);
    assert_int_equal(weir_reserve(limiter, ARRIVALS_MOST, WEIR_FOREVER).verdict, WEIR_ALLOW);
    assert_int_equal(weir_charge(limiter, 1000000).charged, 1000000);
    weir_close(limiter);
}

/* ---- giving back ---- */

static void what_is_cancelled_last_comes_again(void **unused)
{
    (void)unused;
    static uint64_t due_ns[ALL];
    due_of_each(text, S, due_ns);
    weir_limiter *limiter = open_at(text, S);
    uint64_t seed = 5;
    for (unsigned k = 0; k < ALL; k++) {
        const uint64_t more = random_below(&seed, 4) == 0 ? 1 + random_below(&seed, 5) : 0;
        weir_decision other = weir_reserve(limiter, more, WEIR_FOREVER);
        if (more != 0) weir_cancel(limiter, &other);
        assert_int_equal(weir_reserve(limiter, 1, WEIR_FOREVER).due.ns, due_ns[k]);
    }
    weir_close(limiter);
}

static void what_is_used_up_does_not_come_back(void **unused)
{
    (void)unused;
    struct subject subject = {.plan = plan_for("1000/s burst=1 arrivals=poisson seed=7", WEIR_PACE)};
    weir_decision first = take(&subject, S, 1);
    settle_at(&subject, S + 645605, &first, 0); /* the gap is over */
    const weir_decision second = reserve(&subject, S + 645605, 1);
    assert_int_equal(second.start.ns, S + 645605);
    assert_int_equal(second.end >> 20, 2); /* it is the second permit */
}

static void permits_that_are_skipped_take_their_gaps_along(void **unused)
{
    (void)unused;
    static uint64_t due_ns[ALL];
    due_of_each(text, S, due_ns);
    weir_limiter *limiter = open_at(text, S);
    for (unsigned k = 0; k + 5 < ALL; k += 5) { /* every fifth start, as one of five generators has them */
        assert_int_equal(weir_reserve(limiter, 1, WEIR_FOREVER).due.ns, due_ns[k]);
        weir_skip(limiter, 4);
    }
    weir_close(limiter);
}

/* ---- what is reported ---- */

static void statistics_count_permits(void **unused)
{
    (void)unused;
    static uint64_t due_ns[ALL];
    due_of_each("1000/s catchup=2 arrivals=poisson seed=7", S, due_ns);
    weir_limiter *limiter = open_at("1000/s catchup=2 arrivals=poisson seed=7", S);
    weir_stats stats;
    for (unsigned k = 0; k < 200; k++) {
        set_now(limiter, due_ns[k]);
        assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
        weir_read_stats(limiter, &stats, sizeof stats);
        assert_int_equal(stats.due, k + 1); /* none is ahead because the next one is far away */
        assert_int_equal(stats.backlog + stats.missed + stats.ahead, 0);
    }
    weir_reserve(limiter, 3, WEIR_FOREVER);
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_true(stats.ahead != 0);
    assert_int_equal(stats.due, stats.granted - stats.ahead + stats.missed + stats.backlog);
    set_now(limiter, due_ns[202] + S);
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_true(stats.backlog >= 990 && stats.backlog <= 1000); /* 1 a ms, on average */
    assert_int_equal(stats.due, stats.granted - stats.ahead + stats.missed + stats.backlog);
    weir_close(limiter);
}

static void peek_says_what_take_says(void **unused)
{
    (void)unused;
    uint64_t seed = 9, now_ns = S;
    weir_limiter *limiter = open_at("1000/s burst=20 catchup=1.5 arrivals=poisson seed=9", now_ns);
    for (unsigned i = 0; i < 2000; i++) {
        const uint64_t cost = 1 + random_below(&seed, 5);
        const weir_decision seen = weir_peek(limiter, cost), taken = weir_take(limiter, cost);
        assert_int_equal(seen.verdict, taken.verdict);
        assert_int_equal(seen.due.ns, taken.due.ns); /* or the time to the next try */
        assert_int_equal(seen.remaining, taken.remaining);
        if (taken.verdict == WEIR_ALLOW) assert_int_equal(taken.remaining != 0, weir_allowed(weir_peek(limiter, 1)));
        set_now(limiter, now_ns += random_below(&seed, 3 * MS));
    }
    weir_close(limiter);
}

/* ---- changes ---- */

static void a_change_of_rate_goes_on_with_the_sequence(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_at(text, S);
    uint64_t due_ns = 0, gap_ns[20];
    for (unsigned k = 0; k < 20; k++) {
        const uint64_t next_ns = weir_reserve(limiter, 1, WEIR_FOREVER).due.ns;
        gap_ns[k] = next_ns - due_ns;
        due_ns = next_ns;
    }
    change(limiter, text, WEIR_RESET); /* but the reserved ones stay reserved */
    set_now(limiter, due_ns);
    change(limiter, text, WEIR_RESET); /* the sequence begins anew */
    assert_int_equal(weir_take(limiter, 1).due.ns, due_ns);
    for (unsigned k = 1; k < 10; k++) {
        due_ns = weir_take(limiter, 1).retry_ns + due_ns;
        set_now(limiter, due_ns);
        assert_int_equal(weir_take(limiter, 1).due.ns, due_ns);
    }
    change(limiter, "500/s arrivals=poisson seed=7", WEIR_KEEP);
    for (unsigned k = 10; k < 20; k++) {
        const uint64_t next_ns = due_ns + weir_take(limiter, 1).retry_ns;
        assert_in_range(next_ns - due_ns, 2 * gap_ns[k] - 3, 2 * gap_ns[k] + 3);
        set_now(limiter, due_ns = next_ns);
        assert_int_equal(weir_take(limiter, 1).verdict, WEIR_ALLOW);
    }
    change(limiter, "500/s", WEIR_KEEP);
    weir_stats stats;
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.due, 20); /* permits are permits */
    assert_int_equal(stats.ahead, 0);
    assert_in_range(weir_take(limiter, 1).retry_ns, 2 * MS - 3, 2 * MS + 3);
    weir_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_logarithm_is_the_one_of_the_definition),
        cmocka_unit_test(a_gap_is_less_than_a_tick_from_its_logarithm),
        cmocka_unit_test(quantiles_are_those_of_poisson),
        cmocka_unit_test(the_gaps_are_exponential_and_the_counts_are_poisson),
        cmocka_unit_test(neighbours_are_independent),
        cmocka_unit_test(the_average_is_the_rate_at_any_rate),
        cmocka_unit_test(a_span_is_the_sum_of_its_gaps_and_work_is_bounded),
        cmocka_unit_test(it_is_written_as_it_was_said),
        cmocka_unit_test(what_cannot_be_is_refused_with_what_can),
        cmocka_unit_test(only_a_limiter_that_paces_has_it),
        cmocka_unit_test(the_starts_are_those_of_twenty_lines_of_python),
        cmocka_unit_test(many_threads_have_the_starts_of_one),
        cmocka_unit_test(batches_have_the_due_times_of_single_calls),
        cmocka_unit_test(a_lease_takes_them_one_by_one),
        cmocka_unit_test(a_call_is_of_4096_permits_at_most),
        cmocka_unit_test(what_is_cancelled_last_comes_again),
        cmocka_unit_test(what_is_used_up_does_not_come_back),
        cmocka_unit_test(permits_that_are_skipped_take_their_gaps_along),
        cmocka_unit_test(statistics_count_permits),
        cmocka_unit_test(peek_says_what_take_says),
        cmocka_unit_test(a_change_of_rate_goes_on_with_the_sequence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
