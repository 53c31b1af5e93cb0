/* SPDX-License-Identifier: MIT
   Short loops that take turns, round by round, with more and more threads.

   In a round each loop has its turn, so that a machine that is slower for a second is slower for all.

   Every call was answered as expected, or it fails. */
#include "weir-bench/loops.h"

#include <math.h>
#include <stddef.h>

#include "cli/common/arguments.h"
#include "host/clock.h"

enum { THOUSAND = 1000, WARM_TURNS = 8, ROUNDS_USUAL = 5, THREADS_A_RUN = 250 };

static const uint64_t RUN_USUAL_NS = 25000000;

struct job {
    const struct bench_loop *loop;
    void *shared;
};

static void turn(struct bench_member *member)
{
    const struct job *job = member->crew->job;
    member->wrong += BENCH_CALLS - job->loop->run(member, job->shared);
    member->units += BENCH_CALLS;
}

/* What the first calls of a thread set up is not what is measured, and a lease grows at first. */
static bool enter(struct bench_member *member)
{
    const struct job *job = member->crew->job;
    weir_error error;
    if (job->loop->leased != NULL && weir_lease_open(&member->lease, *job->loop->leased, &error) != 0) {
        trouble("%s", error.message);
        return false;
    }
    for (int i = 0; i == 0 || (job->loop->leased != NULL && i < WARM_TURNS); i++) job->loop->run(member, job->shared);
    member->counted = 0;
    return true;
}

static void leave(struct bench_member *member)
{
    weir_lease_close(&member->lease);
}

static double counted_per_thousand(const struct bench_crew *crew)
{
    uint64_t units = 0, counted = 0;
    for (unsigned i = 0; i < crew->threads; i++) {
        units += crew->member[i].units;
        counted += crew->member[i].counted;
    }
    return units > 0 ? (double)counted * THOUSAND / (double)units : NAN;
}

static bool measure(const struct bench_loops *loops, int loop, unsigned threads, uint64_t run_ns, double *rate,
                    double *counted)
{
    const struct job job = {&loops->loop[loop], loops->shared};
    struct bench_crew crew = {.name = loops->section,
                              .threads = threads,
                              .run_ns = run_ns,
                              .job = &job,
                              .enter = enter,
                              .turn = turn,
                              .leave = leave};
    *rate = *counted = NAN;
    const bool done = bench_crew_run(&crew);
    if (done) {
        *rate = bench_crew_rate(&crew);
        *counted = counted_per_thousand(&crew);
    }
    bench_crew_close(&crew);
    return done;
}

static uint64_t longer(unsigned threads)
{
    return 1 + threads / THREADS_A_RUN;
}

uint64_t bench_loops_runs(const struct bench_wish *wish, uint64_t loops)
{
    uint64_t runs = 0;
    for (int count = 0; count < wish->counts; count++) runs += longer(wish->threads[count]);
    return runs * (uint64_t)wish->rounds * loops;
}

bool bench_loops_measure(const struct bench_loops *loops, const struct bench_wish *wish, struct bench_rates *rates)
{
    for (int round = 0; round < wish->rounds; round++) {
        for (int count = 0; count < wish->counts; count++) {
            const unsigned threads = wish->threads[count];
            const uint64_t run_ns = wish->run_ns * longer(threads);
            bench_progress(loops->section, threads == 1 ? "thread" : "threads", threads, round, wish->rounds);
            for (int loop = 0; loop < loops->count; loop++) {
                double *rate = &rates[count].rate[loop].round[round];
                if (!measure(loops, loop, threads, run_ns, rate, &rates[count].counted[loop].round[round]))
                    return false;
            }
        }
    }
    return true;
}

weir_limiter *bench_open(const char *limits, weir_use use, weir_clock clock, uint64_t min_sleep_ns)
{
    weir_options options = WEIR_OPTIONS;
    weir_limiter *limiter = NULL;
    weir_error error;
    options.use = use;
    options.clock = clock;
    options.min_sleep_ns = min_sleep_ns;
    if (weir_open(&limiter, limits, &options, &error) != 0) trouble("%s", error.message);
    return limiter;
}

static void usual_threads(struct bench_wish *wish)
{
    static const unsigned usual[] = {1, 2, 8};
    const unsigned processors = wish->processors < BENCH_THREADS_MAX ? wish->processors : BENCH_THREADS_MAX;
    bool told = false;
    for (int i = 0; i < 3; i++) {
        told = told || usual[i] == processors;
        if (!told && usual[i] > processors) {
            wish->threads[wish->counts++] = processors;
            told = true;
        }
        wish->threads[wish->counts++] = usual[i];
    }
    if (!told) wish->threads[wish->counts++] = processors;
}

void bench_fill_in_loops(struct bench_wish *wish)
{
    if (wish->counts == 0) usual_threads(wish);
    if (wish->rounds == 0) wish->rounds = ROUNDS_USUAL;
    wish->run_ns = RUN_USUAL_NS;
}

uint64_t bench_run_clock(struct bench_member *member, void *shared)
{
    uint64_t advanced = 0;
    (void)member;
    (void)shared;
    for (int i = 0; i < BENCH_CALLS; i++) {
        advanced += host_now_ns() != 0;
        bench_forget();
    }
    return advanced;
}
