/* SPDX-License-Identifier: MIT
   Were there ever more in a window than may be?

   See window.c. */
#ifndef WEIR_BENCH_WINDOW_H
#define WEIR_BENCH_WINDOW_H

#include <stddef.h>
#include <stdint.h>

/* So many were all done between two times. */
struct bench_interval {
    uint64_t begin_ns, end_ns, count;
};

/* The most, over all closed windows, of those surely in it less `over` and less per_ns for each ns it is long; -over
   with none.  Sorts the intervals. */
double bench_window_excess(struct bench_interval *interval, size_t count, double over, double per_ns);

#endif
