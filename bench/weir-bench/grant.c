/* SPDX-License-Identifier: MIT
   What a permit costs, where one limiter is asked by all threads and never refuses.

   Floors are what each way cannot do without: a lease a comparison and a subtraction in memory of the thread's own, the
   word a compare-and-swap of a word that all share, asking without a time a reading of the clock.

   A lease reads the clock when it is renewed and never else, a plain call each time (test/unit/clock_reads_test.c).
   So its readings are counted as renewals, by the permits that are left in it before each call, in a loop of its own:
   looking would slow down the loop that is measured.

   Every call was granted, or it fails. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/common/arguments.h"
#include "weir-bench/loops.h"

enum { LOOP_COUNTER, LOOP_SWAP, LOOP_CLOCK, LOOP_WORD_AT, LOOP_WORD, LOOP_WORD_TSC, LOOP_LEASE, LOOP_RENEWALS, LOOPS };

enum { REFILL = 1000000, THOUSAND = 1000 };
#define MILLION 1e6

/* More than all processors can ask for; and one of a thousand threads may come with a time that is seconds old. */
static const char NEVER_REFUSES[] = "1000G/s burst=1h";

struct shared {
    alignas(BENCH_CACHE_LINE) struct atom word;
    alignas(BENCH_CACHE_LINE) weir_limiter *limiter;
    weir_limiter *tsc;
};

struct grant {
    struct bench_rates rates[BENCH_COUNTS_MAX];
};

/* ---- floors ---- */

/* Apart, so that it is a branch in the loop as it is in a lease, and nothing to be computed each time. */
static void __attribute__((noinline)) refill(struct bench_member *member)
{
    member->left = REFILL;
    bench_forget();
}

static uint64_t run_counter(struct bench_member *member, void *shared)
{
    uint64_t granted = 0;
    (void)shared;
    for (int i = 0; i < BENCH_CALLS; i++) {
        if (member->left < 1) refill(member);
        member->left -= 1;
        granted++;
        bench_forget();
    }
    return granted;
}

static uint64_t run_swap(struct bench_member *member, void *shared)
{
    struct atom *word = &((struct shared *)shared)->word;
    (void)member;
    for (int i = 0; i < BENCH_CALLS; i++) {
        uint64_t seen = atom_load_acquire(word);
        while (!atom_swap(word, &seen, seen + 1)) continue;
        bench_forget();
    }
    return BENCH_CALLS;
}

/* ---- ours ---- */

static uint64_t run_word_at(struct bench_member *member, void *shared)
{
    weir_limiter *limiter = ((struct shared *)shared)->limiter;
    const weir_instant now = weir_now();
    uint64_t granted = 0;
    (void)member;
    for (int i = 0; i < BENCH_CALLS; i++) {
        granted += weir_allowed(weir_take_at(limiter, now, 1));
        bench_forget();
    }
    return granted;
}

static uint64_t take_all(weir_limiter *limiter)
{
    uint64_t granted = 0;
    for (int i = 0; i < BENCH_CALLS; i++) {
        granted += weir_allowed(weir_take(limiter, 1));
        bench_forget();
    }
    return granted;
}

static uint64_t run_word(struct bench_member *member, void *shared)
{
    (void)member;
    return take_all(((struct shared *)shared)->limiter);
}

static uint64_t run_word_tsc(struct bench_member *member, void *shared)
{
    (void)member;
    return take_all(((struct shared *)shared)->tsc);
}

static uint64_t run_lease(struct bench_member *member, void *shared)
{
    uint64_t granted = 0;
    (void)shared;
    for (int i = 0; i < BENCH_CALLS; i++) {
        granted += weir_allowed(weir_lease_take(&member->lease, 1));
        bench_forget();
    }
    return granted;
}

static uint64_t run_renewals(struct bench_member *member, void *shared)
{
    uint64_t granted = 0;
    (void)shared;
    for (int i = 0; i < BENCH_CALLS; i++) {
        member->counted += member->lease.left < 1;
        granted += weir_allowed(weir_lease_take(&member->lease, 1));
        bench_forget();
    }
    return granted;
}

/* ---- measuring ---- */

static uint64_t runs(const struct bench_wish *wish)
{
    return bench_loops_runs(wish, LOOPS);
}

static bool measure_all(const struct bench_wish *wish, struct shared *shared, struct grant *grant)
{
    struct bench_loops loops = {.section = "grant", .count = LOOPS, .shared = shared};
    loops.loop[LOOP_COUNTER] = (struct bench_loop){.run = run_counter};
    loops.loop[LOOP_SWAP] = (struct bench_loop){.run = run_swap};
    loops.loop[LOOP_CLOCK] = (struct bench_loop){.run = bench_run_clock};
    loops.loop[LOOP_WORD_AT] = (struct bench_loop){.run = run_word_at};
    loops.loop[LOOP_WORD] = (struct bench_loop){.run = run_word};
    loops.loop[LOOP_WORD_TSC] = (struct bench_loop){.run = run_word_tsc};
    loops.loop[LOOP_LEASE] = (struct bench_loop){.run = run_lease, .leased = &shared->limiter};
    loops.loop[LOOP_RENEWALS] = (struct bench_loop){.run = run_renewals, .leased = &shared->limiter};
    return bench_loops_measure(&loops, wish, grant->rates);
}

static void *measure(const struct bench_wish *wish)
{
    struct shared shared = {.limiter = bench_open(NEVER_REFUSES, WEIR_ADMIT, WEIR_CLOCK_SYSTEM, 0),
                            .tsc = bench_open(NEVER_REFUSES, WEIR_ADMIT, WEIR_CLOCK_TSC, 0)};
    struct grant *grant = calloc(1, sizeof *grant);
    if (grant == NULL) trouble("no memory");
    const bool opened = shared.limiter != NULL && shared.tsc != NULL;
    const bool done = grant != NULL && opened && measure_all(wish, &shared, grant);
    weir_close(shared.limiter);
    weir_close(shared.tsc);
    if (done) return grant;
    free(grant);
    return NULL;
}

/* ---- printing ---- */

/* Of what so many processors would do that are each as fast as those with the first number of threads. */
static struct bench_spread of_processors(const struct bench_wish *wish, const struct grant *grant, int count)
{
    const unsigned first = wish->threads[0], threads = wish->threads[count], most = wish->processors;
    const double more = (double)(threads < most ? threads : most) / (double)(first < most ? first : most);
    struct bench_series expected = grant->rates[0].rate[LOOP_LEASE];
    for (int i = 0; i < wish->rounds; i++) expected.round[i] *= more;
    return bench_ratio(&grant->rates[count].rate[LOOP_LEASE], &expected, wish->rounds);
}

struct ratios {
    struct bench_spread lease, word_at, word, word_tsc, processors, readings;
};

static struct ratios ratios_of(const struct bench_wish *wish, const struct grant *grant, int count)
{
    const struct bench_series *rate = grant->rates[count].rate;
    const int rounds = wish->rounds;
    return (struct ratios){
        .lease = bench_times(&rate[LOOP_LEASE], &rate[LOOP_COUNTER], NULL, rounds),
        .word_at = bench_times(&rate[LOOP_WORD_AT], &rate[LOOP_SWAP], NULL, rounds),
        .word = bench_times(&rate[LOOP_WORD], &rate[LOOP_SWAP], &rate[LOOP_CLOCK], rounds),
        .word_tsc = bench_times(&rate[LOOP_WORD_TSC], &rate[LOOP_SWAP], NULL, rounds),
        .processors = of_processors(wish, grant, count),
        .readings = bench_spread(&grant->rates[count].counted[LOOP_RENEWALS], rounds),
    };
}

static void print_rates(const struct bench_wish *wish, const struct grant *grant)
{
    static const int shown[] = {LOOP_COUNTER, LOOP_SWAP, LOOP_CLOCK, LOOP_WORD_AT, LOOP_WORD, LOOP_LEASE};
    printf("grant: permits of one limiter that never refuses, million a second\n"
           "  threads     a counter        a swap       a clock     word, now   word, clock        leases\n");
    for (int count = 0; count < wish->counts; count++) {
        printf("  %7u", wish->threads[count]);
        for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
            bench_print_number(bench_spread(&grant->rates[count].rate[shown[i]], wish->rounds).median / MILLION, 13, 1);
        }
        printf("\n");
    }
}

static void print_words(const struct bench_wish *wish, const void *measured)
{
    const struct grant *grant = measured;
    print_rates(wish, grant);
    printf("  threads    lease / counter  word, now / swap  word / swap+clock     of processors  clock reads\n");
    for (int count = 0; count < wish->counts; count++) {
        const struct ratios ratios = ratios_of(wish, grant, count);
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

static void put_count(struct json *json, const struct bench_wish *wish, const struct grant *grant, int count)
{
    static const char *const names[LOOPS] = {[LOOP_COUNTER] = "floor_counter_per_s",
                                             [LOOP_SWAP] = "floor_cas_per_s",
                                             [LOOP_CLOCK] = "floor_clock_per_s",
                                             [LOOP_WORD_AT] = "word_at_per_s",
                                             [LOOP_WORD] = "word_per_s",
                                             [LOOP_WORD_TSC] = "word_tsc_per_s",
                                             [LOOP_LEASE] = "lease_per_s"};
    const struct ratios ratios = ratios_of(wish, grant, count);
    json_object(json, NULL);
    json_number(json, "threads", wish->threads[count]);
    for (int loop = 0; loop < LOOPS; loop++) {
        if (names[loop] == NULL) continue;
        bench_json_spread(json, names[loop], bench_spread(&grant->rates[count].rate[loop], wish->rounds), 0);
    }
    bench_json_spread(json, "lease_times_counter", ratios.lease, 3);
    bench_json_spread(json, "word_at_times_cas", ratios.word_at, 3);
    bench_json_spread(json, "word_times_cas_and_clock", ratios.word, 3);
    bench_json_spread(json, "word_tsc_times_cas", ratios.word_tsc, 3);
    bench_json_spread(json, "lease_of_processors", ratios.processors, 3);
    json_file_double(json, "lease_clock_reads_per_1000", ratios.readings.median, 4);
    json_file_double(json, "word_clock_reads_per_1000", THOUSAND, 0);
    json_end_object(json);
}

static void put_json(struct json *json, const struct bench_wish *wish, const void *measured)
{
    json_array(json, "grant");
    for (int count = 0; count < wish->counts; count++) put_count(json, wish, measured, count);
    json_end_array(json);
}

const struct bench_section *bench_grant_section(void)
{
    static const struct bench_section section = {.name = "grant",
                                                 .fill_in = bench_fill_in_loops,
                                                 .runs = runs,
                                                 .measure = measure,
                                                 .print_words = print_words,
                                                 .put_json = put_json};
    return &section;
}
