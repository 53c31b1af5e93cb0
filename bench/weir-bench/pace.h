/* SPDX-License-Identifier: MIT
   Pacing: what is measured, and what is shown of it.

       pace.c    the threads, by a limiter and by bare sleeps      pace_sum.c    figures of a run
       window.c  the worst window                                  pace_print.c  words and JSON */
#ifndef WEIR_BENCH_PACE_H
#define WEIR_BENCH_PACE_H

#include "weir-bench/pace_sum.h"
#include "weir-bench/sections.h"

struct paced {
    struct bench_series ours[PACE_FIGURES], floor[PACE_FIGURES];
};

struct pacing {
    uint64_t every[BENCH_RATES_MAX];
    struct paced of[BENCH_RATES_MAX][BENCH_COUNTS_MAX];
};

#endif
