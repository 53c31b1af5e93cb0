/* SPDX-License-Identifier: MIT
   What a decision costs, beside what the machine itself charges for its parts: all loops of harness/loops.c, a row
   each.

       bench-take            the table
       bench-take --small    the same in a blink: a test that it still works
       bench-take --lines    one round, a line each: who, work, threads, M/s (for bench/rivals/run)

   bench-take-inlined does the same where the library is part of the program that is optimized, as a crate is of a
   program in Rust: `cc -flto` with its sources, or the amalgamation. */
#include "harness/loops.h"

#ifdef WEIR_INLINED
#define HOW ", inlined"
static const enum bench_work SHOWN[] = {WORK_SWAP,     WORK_CLOCK,   WORK_TAKE_AT,     WORK_TAKE,
                                        WORK_TAKE_TSC, WORK_REFUSED, WORK_REFUSED_TSC, WORK_REFUSED_AT};
#else
#define HOW ""
static const enum bench_work SHOWN[] = {
    WORK_LOCAL,          WORK_SUBTRACT,       WORK_ADD,         WORK_SWAP,
    WORK_MUTEX,          WORK_CLOCK,          WORK_COARSE,      WORK_LEASE,
    WORK_LEASE_LIST,     WORK_TAKE_AT,        WORK_TAKE,        WORK_TAKE_COARSE,
    WORK_TAKE_TICKER,    WORK_TAKE_TSC,       WORK_TAKE_HYBRID, WORK_TAKE_LOG,
    WORK_TAKE_SOME,      WORK_SEMAPHORE,      WORK_HOLD,        WORK_REFUSED,
    WORK_REFUSED_COARSE, WORK_REFUSED_TICKER, WORK_REFUSED_TSC, WORK_REFUSED_LEASE_TICKER,
    WORK_REFUSED_AT};
#endif

enum { ROWS = sizeof SHOWN / sizeof SHOWN[0] };

_Static_assert((int)ROWS <= (int)BENCH_LOOPS_MAX, "all loops take turns");

static const struct bench_series *series_of(const struct bench_rates *rates, enum bench_work work)
{
    int row = 0;
    while (row < ROWS && SHOWN[row] != work) row++;
    return row < ROWS ? &rates->rate[row] : NULL;
}

static void print_row(const struct bench_wish *wish, const struct bench_rates *rates, int row)
{
    const struct bench_work_row *work = bench_work(SHOWN[row]);
    const struct bench_spread spread = bench_spread(&rates->rate[row], wish->rounds);
    const double per_million = work->units / 1e6;
    char range[32];
    snprintf(range, sizeof range, "%.1f-%.1f", spread.least * per_million, spread.most * per_million);
    printf("%-32s %8.1f %16s %8.2f", work->who, spread.median * per_million, range, 1e9 / spread.median / work->units);
    const struct bench_series *floor = series_of(rates, work->floor), *and = series_of(rates, work->and);
    if (floor != NULL) {
        printf(" %7.2f  %s%s%s", bench_times(&rates->rate[row], floor, and, wish->rounds).median,
               bench_work(work->floor)->who, and != NULL ? " + " : "", and != NULL ? bench_work(work->and)->who : "");
    }
    printf("\n");
}

static void print_table(const struct bench_wish *wish, const struct bench_rates *rates)
{
    bench_print_machine();
    printf("One limiter, shared" HOW ".  Median of %d rounds of %.1f ms; ns = a second / rate, all threads together;\n"
           "/ floor: how many times as long as what it cannot do without, with as many threads.\n",
           wish->rounds, (double)wish->run_ns / 1e6);
    for (int count = 0; count < wish->counts; count++) {
        char title[32];
        snprintf(title, sizeof title, "%u thread%s", wish->threads[count], wish->threads[count] == 1 ? "" : "s");
        printf("\n%-32s %8s %16s %8s %7s\n", title, "M/s", "min-max", "ns", "/ floor");
        for (int row = 0; row < ROWS; row++) print_row(wish, &rates[count], row);
    }
}

static void print_lines(const struct bench_wish *wish, const struct bench_rates *rates)
{
    for (int count = 0; count < wish->counts; count++) {
        for (int row = 0; row < ROWS; row++) {
            const struct bench_work_row *work = bench_work(SHOWN[row]);
            printf("%s" HOW "\t%s\t%u\t%.3f\n", work->who, work->kind, wish->threads[count],
                   rates[count].rate[row].round[0] * work->units / 1e6);
        }
    }
}

int main(int argc, char **argv)
{
    static struct bench_rates rates[BENCH_COUNTS_MAX];
    struct bench_wish wish = {.threads = {1, 2, 8, 64}, .counts = 4, .rounds = 5, .run_ns = 100000000};
    const bool small = argc > 1 && strcmp(argv[1], "--small") == 0, lines = argc > 1 && strcmp(argv[1], "--lines") == 0;
    if (small || lines) wish.rounds = 1;
    if (small) wish.run_ns = 500000;
    bench_works_measure("take", SHOWN, ROWS, &wish, rates);
    if (lines) print_lines(&wish, rates);
    else print_table(&wish, rates);
    return 0;
}
