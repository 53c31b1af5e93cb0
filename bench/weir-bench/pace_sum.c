/* SPDX-License-Identifier: MIT
   What comes of the notes of all threads.

   The error is of all that surely began by the last look before the end, over the time since the first: what begins
   once the time is over is not counted, as nobody waits for it.  Of an interval that goes on then, its share is.

   A gap, when every operation is looked at, is between two that follow each other by the wall, of whichever threads,
   and should be a period of the rate.  Else it is between two that follow each other in one thread, and should be what
   the schedule has between them.

   Only what was measured. */
#include "weir-bench/pace_sum.h"

#include <math.h>

enum { PER_MILLION = 1000000 };

struct all {
    struct bench_interval *interval;
    size_t count;
    bool full;
};

static const struct pace_notes *notes_of(const struct bench_crew *crew, unsigned thread)
{
    return crew->member[thread].own;
}

static struct all collect(const struct bench_crew *crew)
{
    struct all all = {.count = 0};
    size_t room = 1;
    for (unsigned i = 0; i < crew->threads; i++) room += notes_of(crew, i)->intervals;
    all.interval = bench_allocate(room, sizeof *all.interval);
    for (unsigned i = 0; i < crew->threads; i++) {
        const struct pace_notes *notes = notes_of(crew, i);
        all.full = all.full || notes->full;
        for (uint32_t j = 0; j < notes->intervals; j++) {
            memcpy(&all.interval[all.count++], rows_at(&notes->interval, j), sizeof *all.interval);
        }
    }
    return all;
}

/* ---- how late ---- */

static void merge(struct histogram *into, const struct histogram *from)
{
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) into->count[i] += from->count[i];
    into->total += from->total;
    if (from->max > into->max) into->max = from->max;
}

/* To four figures. */
static void put_quantiles(const struct histogram *late, double figure[])
{
    const bool any = late->total != 0;
    figure[0] = any ? (double)histogram_quantile(late, 500) : NAN;
    figure[1] = any ? (double)histogram_quantile(late, 990) : NAN;
    figure[2] = any ? (double)histogram_quantile(late, 999) : NAN;
    figure[3] = any ? (double)late->max : NAN;
}

static void sum_late(const struct bench_crew *crew, double figure[PACE_FIGURES])
{
    struct histogram *late = bench_allocate(2, sizeof *late), *behind = late + 1;
    figure[PACE_EARLY] = 0;
    for (unsigned i = 0; i < crew->threads; i++) {
        merge(late, &notes_of(crew, i)->late);
        merge(behind, &notes_of(crew, i)->behind);
        figure[PACE_EARLY] += (double)notes_of(crew, i)->early;
    }
    put_quantiles(late, &figure[PACE_P50_NS]);
    put_quantiles(behind, &figure[PACE_BEHIND_P50_NS]);
    free(late);
}

/* ---- how many ---- */

static double done_by(const struct bench_interval *interval, uint64_t when_ns)
{
    if (interval->end_ns <= when_ns) return (double)interval->count;
    if (interval->count < 2 || interval->begin_ns >= when_ns) return 0;
    const double length = (double)(interval->end_ns - interval->begin_ns);
    return (double)interval->count * (double)(when_ns - interval->begin_ns) / length;
}

static void sum_error(const struct bench_crew *crew, const struct all *all, double per_ns, double figure[PACE_FIGURES])
{
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    double done = 0;
    figure[PACE_OPERATIONS] = 0;
    for (size_t i = 0; i < all->count; i++) {
        const uint64_t end_ns = all->interval[i].end_ns;
        if (end_ns < first_ns) first_ns = end_ns;
        if (end_ns > last_ns && end_ns <= crew->until_ns) last_ns = end_ns;
        figure[PACE_OPERATIONS] += (double)all->interval[i].count;
    }
    for (size_t i = 0; i < all->count; i++) done += done_by(&all->interval[i], last_ns);
    const double should = last_ns > first_ns ? per_ns * (double)(last_ns - first_ns) : NAN;
    figure[PACE_ERROR_PPM] = ((done - 1) / should - 1) * PER_MILLION;
}

/* ---- how far apart ---- */

static int compare(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Every operation was looked at: by the wall, of all threads. */
static void near_of_all(const struct all *all, double per_ns, double near[PACE_NEARS])
{
    uint64_t *start_ns = bench_allocate(all->count + 1, sizeof *start_ns);
    for (size_t i = 0; i < all->count; i++) start_ns[i] = all->interval[i].end_ns;
    qsort(start_ns, all->count, sizeof *start_ns, compare);
    for (size_t i = 1; i < all->count; i++) {
        const double off_ns = fabs((double)(start_ns[i] - start_ns[i - 1]) - 1 / per_ns);
        for (int j = 0; j < PACE_NEARS; j++) near[j] += off_ns <= (double)PACE_NEAR_NS[j];
    }
    free(start_ns);
}

static void sum_gaps(const struct bench_crew *crew, const struct all *all, double per_ns, double figure[PACE_FIGURES])
{
    const bool each = notes_of(crew, 0)->every == 1;
    double near[PACE_NEARS] = {0}, gaps = each && all->count > 0 ? (double)(all->count - 1) : 0;
    if (each) near_of_all(all, per_ns, near);
    for (unsigned i = 0; i < crew->threads; i++) {
        gaps += (double)notes_of(crew, i)->gaps;
        for (int j = 0; j < PACE_NEARS; j++) near[j] += (double)notes_of(crew, i)->near[j];
    }
    for (int j = 0; j < PACE_NEARS; j++) figure[PACE_NEAR + j] = gaps > 0 ? near[j] / gaps : NAN;
}

/* ---- all of it ---- */

void pace_sum(const struct bench_crew *crew, const struct pace_bound *bound, double figure[PACE_FIGURES])
{
    struct all all = collect(crew);
    const double seconds = (double)crew->wall_ns / HOST_SECOND_NS;
    if (all.full) bench_fail("no memory");
    sum_late(crew, figure);
    sum_gaps(crew, &all, bound->per_ns, figure);
    figure[PACE_EXCESS] = bench_window_excess(all.interval, all.count, bound->over, bound->faster_per_ns);
    sum_error(crew, &all, bound->per_ns, figure);
    figure[PACE_PROCESSOR] = (double)crew->processor_ns / HOST_SECOND_NS / seconds;
    figure[PACE_SLEEPS] = (double)crew->switches / seconds;
    free(all.interval);
}
