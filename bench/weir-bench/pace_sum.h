/* SPDX-License-Identifier: MIT
   What each thread that paces writes down, and what comes of it.

   See pace_sum.c. */
#ifndef WEIR_BENCH_PACE_SUM_H
#define WEIR_BENCH_PACE_SUM_H

#include "cli/common/rows.h"
#include "harness/crew.h"
#include "share/histogram.h"
#include "weir-bench/window.h"

/* The clock is looked at so often at most; and so many bounds of how near a gap is to the ideal. */
enum { PACE_LOOKS_PER_S = 200000, PACE_NEARS = 3 };
static const uint64_t PACE_NEAR_NS[PACE_NEARS] = {1000, 10000, 100000};

/* Of one thread. */
struct pace_notes {
    struct rows interval;
    uint32_t intervals;
    bool full;              /* no memory for more */
    uint64_t before_ns;     /* the clock was last looked at, */
    uint64_t size, left;    /* and is again with the last of so many operations, of which so many are to come */
    uint64_t every, random; /* one operation in so many is looked at, at random */
    bool pair;              /* the one under way is looked at because the one before was */
    uint64_t before_intended_ns;
    struct histogram late, behind; /* after the start in the decision, after that which the rate alone gives */
    uint64_t early, gaps, near[PACE_NEARS];
    uint64_t due; /* bare sleeps: the next operation, in 2^-16 ns after the first of all */
};

enum pace_figure {
    PACE_OPERATIONS,
    PACE_ERROR_PPM,
    PACE_P50_NS,
    PACE_P99_NS,
    PACE_P999_NS,
    PACE_MAX_NS,
    PACE_BEHIND_P50_NS,
    PACE_BEHIND_P99_NS,
    PACE_BEHIND_P999_NS,
    PACE_BEHIND_MAX_NS,
    PACE_PROCESSOR, /* processor seconds in a second */
    PACE_SLEEPS,    /* a second, of all threads */
    PACE_NEAR,      /* shares of gaps, PACE_NEARS of them */
    PACE_EARLY = PACE_NEAR + PACE_NEARS,
    PACE_EXCESS,
    PACE_FIGURES
};

/* The limit once more, as numbers. */
struct pace_bound {
    double per_ns, over, faster_per_ns;
};

/* Of one run of all threads. */
void pace_sum(const struct bench_crew *crew, const struct pace_bound *bound, double figure[PACE_FIGURES]);

#endif
