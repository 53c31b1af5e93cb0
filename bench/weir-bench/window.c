/* SPDX-License-Identifier: MIT
   Were there ever more in a window than may be?

   Nobody knows when exactly something started: a thread may lose its processor between its start and the next look at
   the clock.  Known is a time before and a time after.  So it counts in a window only when it started there for sure,
   with both times inside; what is found too many then is no accident of measuring.

   The worst window begins where some interval begins and ends where one ends.  Take the intervals in the order of their
   ends; each is inside all windows that began before it:

       worst[i] = permits inside [begin of i, end now] + per_ns * begin of i       for all i: too many to look at

   so a tree over i holds the greatest below each knot, and what has been added to all below it.

   Exact but for rounding in floating point. */
#include "weir-bench/window.h"

#include <math.h>

#include "harness/harness.h"

struct knot {
    double most, added; /* most holds what was added here, not what was added above */
};

struct end {
    uint64_t end_ns;
    size_t index;
};

static int by_begin(const void *a, const void *b)
{
    const struct bench_interval *left = a, *right = b;
    return (left->begin_ns > right->begin_ns) - (left->begin_ns < right->begin_ns);
}

static int by_end(const void *a, const void *b)
{
    const struct end *left = a, *right = b;
    return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

/* Adds to the leaves 0 .. last under a knot; returns the greatest of these. */
static double add(struct knot *knot, size_t at, size_t leaves, size_t last, double more)
{
    double greatest;
    const size_t half = leaves / 2;
    if (last == leaves - 1) {
        knot[at].most += more;
        knot[at].added += more;
        return knot[at].most;
    }
    if (last < half) {
        greatest = add(knot, 2 * at, half, last, more);
    } else {
        const double left = add(knot, 2 * at, half, half - 1, more);
        greatest = fmax(left, add(knot, 2 * at + 1, half, last - half, more));
    }
    knot[at].most = fmax(knot[2 * at].most, knot[2 * at + 1].most) + knot[at].added;
    return greatest + knot[at].added;
}

static void plant(struct knot *knot, size_t leaves, const struct bench_interval *interval, size_t count, double per_ns)
{
    for (size_t i = 0; i < leaves; i++) {
        const uint64_t since_ns = interval[i < count ? i : 0].begin_ns - interval[0].begin_ns;
        knot[leaves + i] = (struct knot){i < count ? per_ns * (double)since_ns : -HUGE_VAL, 0};
    }
    for (size_t i = leaves - 1; i > 0; i--) knot[i] = (struct knot){fmax(knot[2 * i].most, knot[2 * i + 1].most), 0};
}

static double worst(struct knot *knot, size_t leaves, const struct bench_interval *interval, const struct end *end,
                    size_t count, double per_ns)
{
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        const struct bench_interval *next = &interval[end[i].index];
        const double most = add(knot, 1, leaves, end[i].index, (double)next->count);
        worst = fmax(worst, most - per_ns * (double)(next->end_ns - interval[0].begin_ns));
    }
    return worst;
}

double bench_window_excess(struct bench_interval *interval, size_t count, double over, double per_ns)
{
    size_t leaves = 1;
    if (count == 0) return -over;
    while (leaves < count) leaves *= 2;
    struct knot *knot = bench_allocate(2 * leaves, sizeof *knot);
    struct end *end = bench_allocate(count, sizeof *end);
    qsort(interval, count, sizeof *interval, by_begin);
    for (size_t i = 0; i < count; i++) end[i] = (struct end){interval[i].end_ns, i};
    qsort(end, count, sizeof *end, by_end);
    plant(knot, leaves, interval, count, per_ns);
    const double excess = worst(knot, leaves, interval, end, count, per_ns) - over;
    free(knot);
    free(end);
    return excess;
}
