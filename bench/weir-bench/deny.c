/* SPDX-License-Identifier: MIT
   What a refusal costs: one limiter that refuses everybody, asked by all threads.  The clock has a row too, because it
   is most of what the usual way costs. */
#include <stdio.h>

#include "harness/loops.h"
#include "weir-bench/sections.h"

enum { LOOP_LOAD, LOOP_CLOCK, LOOP_TAKE, LOOP_TICKER, LOOP_TSC, LOOP_LEASE, LOOP_LEASE_TICKER, LOOPS };

static const enum bench_work WORKS_OF_DENY[LOOPS] = {[LOOP_LOAD] = WORK_LOAD,
                                                     [LOOP_CLOCK] = WORK_CLOCK,
                                                     [LOOP_TAKE] = WORK_REFUSED,
                                                     [LOOP_TICKER] = WORK_REFUSED_TICKER,
                                                     [LOOP_TSC] = WORK_REFUSED_TSC,
                                                     [LOOP_LEASE] = WORK_REFUSED_LEASE,
                                                     [LOOP_LEASE_TICKER] = WORK_REFUSED_LEASE_TICKER};

#define MILLION 1e6

uint64_t deny_runs(const struct bench_wish *wish)
{
    return bench_loops_runs(wish, LOOPS);
}

void *deny_measure(const struct bench_wish *wish)
{
    struct bench_rates *rates = bench_allocate(BENCH_COUNTS_MAX, sizeof *rates);
    bench_works_measure("deny", WORKS_OF_DENY, LOOPS, wish, rates);
    return rates;
}

/* ---- printing ---- */

static void print_rates(const struct bench_wish *wish, const struct bench_rates rates[])
{
    static const int shown[] = {LOOP_LOAD, LOOP_CLOCK, LOOP_TAKE, LOOP_TICKER, LOOP_LEASE, LOOP_LEASE_TICKER};
    printf("deny: calls that are refused, million a second\n"
           "  threads      a load    a clock       take   + ticker      lease   + ticker  take / load+clock\n");
    for (int count = 0; count < wish->counts; count++) {
        const struct bench_series *rate = rates[count].rate;
        printf("  %7u", wish->threads[count]);
        for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
            bench_print_number(bench_spread(&rate[shown[i]], wish->rounds).median / MILLION, 10, 1);
        }
        bench_print_ratio(bench_times(&rate[LOOP_TAKE], &rate[LOOP_LOAD], &rate[LOOP_CLOCK], wish->rounds), 18);
        printf("\n");
    }
}

void deny_words(const struct bench_wish *wish, const void *measured)
{
    print_rates(wish, measured);
    printf("  Floors: a load of one shared word and a comparison, a reading of the clock.  + ticker: with\n"
           "  WEIR_CLOCK_TICKER.  A / B: how many times as long A takes (min-max).\n\n");
}

static void print_count(const struct bench_wish *wish, const struct bench_rates rates[], int count)
{
    static const char *const names[LOOPS] = {[LOOP_LOAD] = "floor_per_s",
                                             [LOOP_CLOCK] = "floor_clock_per_s",
                                             [LOOP_TAKE] = "per_s",
                                             [LOOP_TICKER] = "ticker_per_s",
                                             [LOOP_TSC] = "tsc_per_s",
                                             [LOOP_LEASE] = "lease_per_s",
                                             [LOOP_LEASE_TICKER] = "lease_ticker_per_s"};
    const struct bench_series *rate = rates[count].rate;
    printf("%s{\"threads\":%u", count > 0 ? "," : "", wish->threads[count]);
    for (int loop = 0; loop < LOOPS; loop++) {
        bench_json_spread(false, names[loop], bench_spread(&rate[loop], wish->rounds), 0);
    }
    bench_json_spread(false, "times_load_and_clock",
                      bench_times(&rate[LOOP_TAKE], &rate[LOOP_LOAD], &rate[LOOP_CLOCK], wish->rounds), 3);
    bench_json_spread(false, "ticker_times_load", bench_times(&rate[LOOP_TICKER], &rate[LOOP_LOAD], NULL, wish->rounds),
                      3);
    printf("}");
}

void deny_json(const struct bench_wish *wish, const void *measured)
{
    printf("\"deny\":[");
    for (int count = 0; count < wish->counts; count++) print_count(wish, measured, count);
    printf("]");
}
