/* SPDX-License-Identifier: MIT
   What a permit costs, where one limiter is asked by all threads and never refuses. */
#include <stdio.h>

#include "harness/loops.h"
#include "weir-bench/sections.h"

enum { LOOP_COUNTER, LOOP_SWAP, LOOP_CLOCK, LOOP_WORD_AT, LOOP_WORD, LOOP_WORD_TSC, LOOP_LEASE, LOOP_RENEWALS, LOOPS };

static const enum bench_work WORKS_OF_GRANT[LOOPS] = {
    [LOOP_COUNTER] = WORK_SUBTRACT, [LOOP_SWAP] = WORK_SWAP,        [LOOP_CLOCK] = WORK_CLOCK,
    [LOOP_WORD_AT] = WORK_TAKE_AT,  [LOOP_WORD] = WORK_TAKE,        [LOOP_WORD_TSC] = WORK_TAKE_TSC,
    [LOOP_LEASE] = WORK_LEASE,      [LOOP_RENEWALS] = WORK_RENEWALS};

enum { THOUSAND = 1000 };
#define MILLION 1e6

uint64_t grant_runs(const struct bench_wish *wish)
{
    return bench_loops_runs(wish, LOOPS);
}

void *grant_measure(const struct bench_wish *wish)
{
    struct bench_rates *rates = bench_allocate(BENCH_COUNTS_MAX, sizeof *rates);
    bench_works_measure("grant", WORKS_OF_GRANT, LOOPS, wish, rates);
    return rates;
}

/* ---- printing ---- */

/* Of what so many processors would do that are each as fast as those with the first number of threads. */
static struct bench_spread of_processors(const struct bench_wish *wish, const struct bench_rates rates[], int count)
{
    const unsigned first = wish->threads[0], threads = wish->threads[count], most = wish->processors;
    const double more = (double)(threads < most ? threads : most) / (double)(first < most ? first : most);
    struct bench_series expected = rates[0].rate[LOOP_LEASE];
    for (int i = 0; i < wish->rounds; i++) expected.round[i] *= more;
    return bench_ratio(&rates[count].rate[LOOP_LEASE], &expected, wish->rounds);
}

struct ratios {
    struct bench_spread lease, word_at, word, word_tsc, processors, readings;
};

static struct ratios ratios_of(const struct bench_wish *wish, const struct bench_rates rates[], int count)
{
    const struct bench_series *rate = rates[count].rate;
    const int rounds = wish->rounds;
    return (struct ratios){
        .lease = bench_times(&rate[LOOP_LEASE], &rate[LOOP_COUNTER], NULL, rounds),
        .word_at = bench_times(&rate[LOOP_WORD_AT], &rate[LOOP_SWAP], NULL, rounds),
        .word = bench_times(&rate[LOOP_WORD], &rate[LOOP_SWAP], &rate[LOOP_CLOCK], rounds),
        .word_tsc = bench_times(&rate[LOOP_WORD_TSC], &rate[LOOP_SWAP], NULL, rounds),
        .processors = of_processors(wish, rates, count),
        .readings = bench_spread(&rates[count].counted[LOOP_RENEWALS], rounds),
    };
}

static void print_rates(const struct bench_wish *wish, const struct bench_rates rates[])
{
    static const int shown[] = {LOOP_COUNTER, LOOP_SWAP, LOOP_CLOCK, LOOP_WORD_AT, LOOP_WORD, LOOP_LEASE};
    printf("grant: permits of one limiter that never refuses, million a second\n"
           "  threads     a counter        a swap       a clock     word, now   word, clock        leases\n");
    for (int count = 0; count < wish->counts; count++) {
        printf("  %7u", wish->threads[count]);
        for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
            bench_print_number(bench_spread(&rates[count].rate[shown[i]], wish->rounds).median / MILLION, 13, 1);
        }
        printf("\n");
    }
}

void grant_words(const struct bench_wish *wish, const void *measured)
{
    const struct bench_rates *rates = measured;
    print_rates(wish, rates);
    printf("  threads    lease / counter  word, now / swap  word / swap+clock     of processors  clock reads\n");
    for (int count = 0; count < wish->counts; count++) {
        const struct ratios ratios = ratios_of(wish, rates, count);
        printf("  %7u", wish->threads[count]);
        bench_print_ratio(ratios.lease, 18);
        bench_print_ratio(ratios.word_at, 17);
        bench_print_ratio(ratios.word, 18);
        bench_print_ratio(ratios.processors, 17);
        bench_print_number(ratios.readings.median, 12, 3);
        printf("\n");
    }
    printf("  Floors: a counter of the thread's own, a swap of one shared word, a reading of the clock.\n"
           "  Word: weir_take_at and weir_take.  A / B: how many times as long A takes (min-max).  Of\n"
           "  processors: what each in use does by leases, over what it does with %u thread%s.  Clock reads: of\n"
           "  leases, in 1,000 permits; weir_take has 1,000.\n\n",
           wish->threads[0], wish->threads[0] == 1 ? "" : "s");
}

static void print_count(const struct bench_wish *wish, const struct bench_rates rates[], int count)
{
    static const char *const names[LOOPS] = {[LOOP_COUNTER] = "floor_counter_per_s",
                                             [LOOP_SWAP] = "floor_cas_per_s",
                                             [LOOP_CLOCK] = "floor_clock_per_s",
                                             [LOOP_WORD_AT] = "word_at_per_s",
                                             [LOOP_WORD] = "word_per_s",
                                             [LOOP_WORD_TSC] = "word_tsc_per_s",
                                             [LOOP_LEASE] = "lease_per_s"};
    const struct ratios ratios = ratios_of(wish, rates, count);
    printf("%s{\"threads\":%u", count > 0 ? "," : "", wish->threads[count]);
    for (int loop = 0; loop < LOOPS; loop++) {
        if (names[loop] == NULL) continue;
        bench_json_spread(false, names[loop], bench_spread(&rates[count].rate[loop], wish->rounds), 0);
    }
    bench_json_spread(false, "lease_times_counter", ratios.lease, 3);
    bench_json_spread(false, "word_at_times_cas", ratios.word_at, 3);
    bench_json_spread(false, "word_times_cas_and_clock", ratios.word, 3);
    bench_json_spread(false, "word_tsc_times_cas", ratios.word_tsc, 3);
    bench_json_spread(false, "lease_of_processors", ratios.processors, 3);
    bench_json_number(false, "lease_clock_reads_per_1000", ratios.readings.median, 4);
    bench_json_number(false, "word_clock_reads_per_1000", THOUSAND, 0);
    printf("}");
}

void grant_json(const struct bench_wish *wish, const void *measured)
{
    printf("\"grant\":[");
    for (int count = 0; count < wish->counts; count++) print_count(wish, measured, count);
    printf("]");
}
