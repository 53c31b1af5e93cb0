/* SPDX-License-Identifier: MIT
   Short loops that take turns, round by round, with more and more threads.

   See loops.c. */
#ifndef WEIR_BENCH_LOOPS_H
#define WEIR_BENCH_LOOPS_H

#include "weir-bench/crew.h"
#include "weir-bench/figures.h"

enum { BENCH_CALLS = 1024, BENCH_LOOPS_MAX = 10 };

struct bench_loop {
    /* BENCH_CALLS calls; returns how many were answered as they should be, and may add to member->counted. */
    uint64_t (*run)(struct bench_member *member, void *shared);
    weir_limiter **leased; /* the member has a lease of it, where that is not NULL */
};

struct bench_loops {
    const char *section;
    int count;
    struct bench_loop loop[BENCH_LOOPS_MAX];
    void *shared;
};

/* With so many threads: calls a second, all together, and of a thousand calls those that were counted. */
struct bench_rates {
    struct bench_series rate[BENCH_LOOPS_MAX], counted[BENCH_LOOPS_MAX];
};

/* Runs of run_ns for so many loops: more threads have longer ones, or waking them up would be measured. */
uint64_t bench_loops_runs(const struct bench_wish *wish, uint64_t loops);

/* Fills rates[wish->counts].  Says what is wrong and returns false. */
bool bench_loops_measure(const struct bench_loops *loops, const struct bench_wish *wish, struct bench_rates *rates);

/* Says what is wrong and returns NULL. */
weir_limiter *bench_open(const char *limits, weir_use use, weir_clock clock, uint64_t min_sleep_ns);

/* A loop that many have beside theirs: readings of the system's clock. */
uint64_t bench_run_clock(struct bench_member *member, void *shared);

/* Where nothing was said: five rounds; 1, 2, 8 and as many threads as there are processors, in order. */
void bench_fill_in_loops(struct bench_wish *wish);

#endif
