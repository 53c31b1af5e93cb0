/* SPDX-License-Identifier: MIT
   Calls a second, all threads together: ours, and the floors under them.  See loops.c. */
#ifndef WEIR_BENCH_LOOPS_H
#define WEIR_BENCH_LOOPS_H

#include "harness/crew.h"

enum { BENCH_CALLS = 1024, BENCH_LOOPS_MAX = 26 };

/* BENCH_CALLS calls; returns how many were answered as they should be, and may add to member->counted. */
typedef uint64_t bench_run(struct bench_member *member, void *subject);

struct bench_loop {
    bench_run *run;
    void *subject;
    weir_limiter *leased; /* the member has a lease of it, where that is not NULL */
};

/* With so many threads: calls a second, all together, and of a thousand calls those that were counted. */
struct bench_rates {
    struct bench_series rate[BENCH_LOOPS_MAX], counted[BENCH_LOOPS_MAX];
};

/* Runs of run_ns for so many loops: more threads have longer ones, or waking them up would be measured. */
uint64_t bench_loops_runs(const struct bench_wish *wish, uint64_t loops);

/* In a round each loop has its turn, so that a machine that is slower for a second is slower for all.  Fills
   rates[wish->counts]. */
void bench_loops_measure(const char *section, const struct bench_loop loop[], int loops, const struct bench_wish *wish,
                         struct bench_rates *rates);

/* Where nothing was said: five rounds; 1, 2, 8 and as many threads as there are processors, in order. */
void bench_fill_in_loops(struct bench_wish *wish);

weir_limiter *bench_open(const char *limits, weir_use use, weir_clock clock, uint64_t min_sleep_ns);

/* ---- the loops that are shared ---- */

enum bench_work {
    WORK_LOCAL, /* floors */
    WORK_SUBTRACT,
    WORK_ADD,
    WORK_SWAP,
    WORK_MUTEX,
    WORK_CLOCK,
    WORK_COARSE,
    WORK_LOAD,
    WORK_LEASE, /* granted */
    WORK_LEASE_LIST,
    WORK_TAKE_AT,
    WORK_TAKE,
    WORK_TAKE_COARSE,
    WORK_TAKE_TICKER,
    WORK_TAKE_TSC,
    WORK_TAKE_HYBRID,
    WORK_TAKE_LOG,
    WORK_TAKE_SOME,
    WORK_RENEWALS,
    WORK_SEMAPHORE, /* held and let go */
    WORK_HOLD,
    WORK_REFUSED, /* refused */
    WORK_REFUSED_COARSE,
    WORK_REFUSED_TICKER,
    WORK_REFUSED_TSC,
    WORK_REFUSED_LEASE,
    WORK_REFUSED_LEASE_TICKER,
    WORK_REFUSED_AT,
    WORK_READ_SYSTEM, /* clocks, as a limiter reads its own */
    WORK_READ_COARSE,
    WORK_READ_TICKER,
    WORK_READ_TSC,
    WORKS,
    NO_FLOOR = WORKS
};

/* The floor of a work is what it cannot do without: one, or two that are added. */
struct bench_work_row {
    const char *who, *kind;
    bench_run *run;
    unsigned units; /* of a call */
    unsigned limiter;
    bool leased;
    enum bench_work floor, and;
};

const struct bench_work_row *bench_work(enum bench_work work);

/* Opens what they need, and measures them in this order. */
void bench_works_measure(const char *section, const enum bench_work work[], int works, const struct bench_wish *wish,
                         struct bench_rates *rates);

#endif
