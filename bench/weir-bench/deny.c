/* SPDX-License-Identifier: MIT
   What a refusal costs: one limiter that refuses everybody, asked by all threads.

   The floor is what no refusal can do without: a load of the word that all share, and a comparison with a time.  The
   clock has a row too, because it is most of what the usual way costs.

   Every call was refused, or it fails. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/common/arguments.h"
#include "weir-bench/loops.h"

enum { LOOP_LOAD, LOOP_CLOCK, LOOP_TAKE, LOOP_TICKER, LOOP_TSC, LOOP_LEASE, LOOP_LEASE_TICKER, LOOPS };

#define MILLION 1e6

static const char REFUSES[] = "1/d burst=1"; /* from the second call on, for a day */

struct shared {
    alignas(BENCH_CACHE_LINE) struct atom word;
    alignas(BENCH_CACHE_LINE) weir_limiter *system, *ticker, *tsc;
};

struct deny {
    struct bench_rates rates[BENCH_COUNTS_MAX];
};

static uint64_t run_load(struct bench_member *member, void *shared)
{
    const struct atom *word = &((struct shared *)shared)->word;
    uint64_t refused = 0;
    for (int i = 0; i < BENCH_CALLS; i++) {
        refused += atom_load(word) > member->left; /* which is 0 */
        bench_forget();
    }
    return refused;
}

static uint64_t ask(weir_limiter *limiter)
{
    uint64_t refused = 0;
    for (int i = 0; i < BENCH_CALLS; i++) {
        refused += weir_take(limiter, 1).verdict == WEIR_DENY;
        bench_forget();
    }
    return refused;
}

static uint64_t run_take(struct bench_member *member, void *shared)
{
    (void)member;
    return ask(((struct shared *)shared)->system);
}

static uint64_t run_ticker(struct bench_member *member, void *shared)
{
    (void)member;
    return ask(((struct shared *)shared)->ticker);
}

static uint64_t run_tsc(struct bench_member *member, void *shared)
{
    (void)member;
    return ask(((struct shared *)shared)->tsc);
}

static uint64_t run_lease(struct bench_member *member, void *shared)
{
    uint64_t refused = 0;
    (void)shared;
    for (int i = 0; i < BENCH_CALLS; i++) {
        refused += weir_lease_take(&member->lease, 1).verdict == WEIR_DENY;
        bench_forget();
    }
    return refused;
}

/* ---- measuring ---- */

static uint64_t runs(const struct bench_wish *wish)
{
    return bench_loops_runs(wish, LOOPS);
}

static bool measure_all(const struct bench_wish *wish, struct shared *shared, struct deny *deny)
{
    struct bench_loops loops = {.section = "deny", .count = LOOPS, .shared = shared};
    loops.loop[LOOP_LOAD] = (struct bench_loop){.run = run_load};
    loops.loop[LOOP_CLOCK] = (struct bench_loop){.run = bench_run_clock};
    loops.loop[LOOP_TAKE] = (struct bench_loop){.run = run_take};
    loops.loop[LOOP_TICKER] = (struct bench_loop){.run = run_ticker};
    loops.loop[LOOP_TSC] = (struct bench_loop){.run = run_tsc};
    loops.loop[LOOP_LEASE] = (struct bench_loop){.run = run_lease, .leased = &shared->system};
    loops.loop[LOOP_LEASE_TICKER] = (struct bench_loop){.run = run_lease, .leased = &shared->ticker};
    return bench_loops_measure(&loops, wish, deny->rates);
}

static void *measure(const struct bench_wish *wish)
{
    struct shared shared = {.system = bench_open(REFUSES, WEIR_ADMIT, WEIR_CLOCK_SYSTEM, 0),
                            .ticker = bench_open(REFUSES, WEIR_ADMIT, WEIR_CLOCK_TICKER, 0),
                            .tsc = bench_open(REFUSES, WEIR_ADMIT, WEIR_CLOCK_TSC, 0)};
    struct deny *deny = calloc(1, sizeof *deny);
    bool done = deny != NULL && shared.system != NULL && shared.ticker != NULL && shared.tsc != NULL;
    if (deny == NULL) trouble("no memory");
    atom_store(&shared.word, 1);
    if (done) {
        weir_take(shared.system, 1);
        weir_take(shared.ticker, 1);
        weir_take(shared.tsc, 1);
        done = measure_all(wish, &shared, deny);
    }
    weir_close(shared.system);
    weir_close(shared.ticker);
    weir_close(shared.tsc);
    if (done) return deny;
    free(deny);
    return NULL;
}

/* ---- printing ---- */

static void print_rates(const struct bench_wish *wish, const struct deny *deny)
{
    static const int shown[] = {LOOP_LOAD, LOOP_CLOCK, LOOP_TAKE, LOOP_TICKER, LOOP_LEASE, LOOP_LEASE_TICKER};
    printf("deny: calls that are refused, million a second\n"
           "  threads      a load    a clock       take   + ticker      lease   + ticker  take / load+clock\n");
    for (int count = 0; count < wish->counts; count++) {
        const struct bench_series *rate = deny->rates[count].rate;
        printf("  %7u", wish->threads[count]);
        for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
            bench_print_number(bench_spread(&rate[shown[i]], wish->rounds).median / MILLION, 10, 1);
        }
        bench_print_ratio(bench_times(&rate[LOOP_TAKE], &rate[LOOP_LOAD], &rate[LOOP_CLOCK], wish->rounds), 18);
        printf("\n");
    }
}

static void print_words(const struct bench_wish *wish, const void *measured)
{
    print_rates(wish, measured);
    printf("  Floors: a load of one shared word and a comparison, a reading of the clock.  + ticker: with\n"
           "  WEIR_CLOCK_TICKER.  A / B: how many times as long A takes (min-max).\n\n");
}

static void put_count(struct json *json, const struct bench_wish *wish, const struct deny *deny, int count)
{
    static const char *const names[LOOPS] = {[LOOP_LOAD] = "floor_per_s",
                                             [LOOP_CLOCK] = "floor_clock_per_s",
                                             [LOOP_TAKE] = "per_s",
                                             [LOOP_TICKER] = "ticker_per_s",
                                             [LOOP_TSC] = "tsc_per_s",
                                             [LOOP_LEASE] = "lease_per_s",
                                             [LOOP_LEASE_TICKER] = "lease_ticker_per_s"};
    const struct bench_series *rate = deny->rates[count].rate;
    json_object(json, NULL);
    json_number(json, "threads", wish->threads[count]);
    for (int loop = 0; loop < LOOPS; loop++) {
        bench_json_spread(json, names[loop], bench_spread(&rate[loop], wish->rounds), 0);
    }
    bench_json_spread(json, "times_load_and_clock",
                      bench_times(&rate[LOOP_TAKE], &rate[LOOP_LOAD], &rate[LOOP_CLOCK], wish->rounds), 3);
    bench_json_spread(json, "ticker_times_load", bench_times(&rate[LOOP_TICKER], &rate[LOOP_LOAD], NULL, wish->rounds),
                      3);
    json_end_object(json);
}

static void put_json(struct json *json, const struct bench_wish *wish, const void *measured)
{
    json_array(json, "deny");
    for (int count = 0; count < wish->counts; count++) put_count(json, wish, measured, count);
    json_end_array(json);
}

const struct bench_section *bench_deny_section(void)
{
    static const struct bench_section section = {.name = "deny",
                                                 .fill_in = bench_fill_in_loops,
                                                 .runs = runs,
                                                 .measure = measure,
                                                 .print_words = print_words,
                                                 .put_json = put_json};
    return &section;
}
