/* SPDX-License-Identifier: MIT
   The figures of weir-bench pace, from notes of threads that never ran.

   Nothing about clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/rows.h"
#include "weir-bench/pace_sum.h"
#include "weir-bench/window.h"

enum { THREADS = 2, PERIOD_NS = 1000000, OPERATIONS = 1000 };

static const uint64_t BEGIN_NS = 5000000000;

struct run {
    struct bench_member member[THREADS];
    struct bench_crew crew;
    struct pace_notes *notes;
    double figure[PACE_FIGURES];
};

/* No quantile is below a value that it must hold, nor more than 1/128 above. */
static void quantiles(void **state)
{
    (void)state;
    struct histogram *histogram = malloc(sizeof *histogram);
    assert_non_null(histogram);
    for (unsigned bit = 0; bit < 63; bit++) {
        for (uint64_t less = 0; less < 3; less++) {
            const uint64_t value = (UINT64_C(3) << bit >> 1) + 1 - less;
            memset(histogram, 0, sizeof *histogram);
            histogram_add(histogram, value);
            assert_int_equal(histogram_quantile(histogram, 1000), value);
            histogram_add(histogram, UINT64_MAX);
            assert_in_range(histogram_quantile(histogram, 500), value, value + value / 128);
            assert_int_equal(histogram_quantile(histogram, 501), UINT64_MAX);
            assert_int_equal(histogram->total, 2);
        }
    }
    free(histogram);
}

static void open_run(struct run *run, uint64_t every)
{
    *run = (struct run){.notes = calloc(THREADS, sizeof *run->notes)};
    assert_non_null(run->notes);
    run->crew = (struct bench_crew){.threads = THREADS,
                                    .member = run->member,
                                    .begin_ns = BEGIN_NS,
                                    .until_ns = BEGIN_NS + (uint64_t)OPERATIONS * PERIOD_NS,
                                    .wall_ns = (uint64_t)OPERATIONS * PERIOD_NS * 2,
                                    .processor_ns = (uint64_t)OPERATIONS * PERIOD_NS / 2,
                                    .switches = OPERATIONS};
    for (int i = 0; i < THREADS; i++) {
        run->notes[i].every = every;
        run->member[i].own = &run->notes[i];
        rows_open(&run->notes[i].interval, sizeof(struct bench_interval));
    }
}

static void close_run(struct run *run)
{
    for (int i = 0; i < THREADS; i++) rows_close(&run->notes[i].interval);
    free(run->notes);
}

static void note(struct run *run, unsigned thread, uint64_t begin_ns, uint64_t end_ns, uint64_t count)
{
    struct pace_notes *notes = &run->notes[thread];
    assert_true(rows_reach(&notes->interval, notes->intervals + 1));
    struct bench_interval *interval = rows_at(&notes->interval, notes->intervals++);
    *interval = (struct bench_interval){begin_ns, end_ns, count};
    histogram_add(&notes->late, 100);
    histogram_add(&notes->behind, 120);
}

static void sum(struct run *run, double over)
{
    const struct pace_bound bound = {1.0 / PERIOD_NS, over, 1.0 / PERIOD_NS};
    pace_sum(&run->crew, &bound, run->figure);
}

static bool near(double value, double expected)
{
    return fabs(value - expected) < 1e-6;
}

/* The threads take turns; every operation ends when it should, but for every `odd`th, which is 5 us late. */
static void note_in_turns(struct run *run, int odd)
{
    for (int i = 0; i < OPERATIONS; i++) {
        const uint64_t end_ns = BEGIN_NS + (uint64_t)i * PERIOD_NS + (odd != 0 && i % odd == 1 ? 5000 : 0);
        note(run, (unsigned)i % THREADS, end_ns - 1000, end_ns, 1);
    }
}

static void on_the_dot(void **state)
{
    struct run run;
    (void)state;
    open_run(&run, 1);
    note_in_turns(&run, 0);
    sum(&run, 1);
    assert_true(near(run.figure[PACE_OPERATIONS], OPERATIONS));
    assert_true(near(run.figure[PACE_ERROR_PPM], 0));
    assert_true(near(run.figure[PACE_P50_NS], 100) && near(run.figure[PACE_P999_NS], 100));
    assert_true(near(run.figure[PACE_BEHIND_P50_NS], 120) && near(run.figure[PACE_BEHIND_MAX_NS], 120));
    assert_true(near(run.figure[PACE_PROCESSOR], 0.25));
    assert_true(near(run.figure[PACE_SLEEPS], 500));
    for (int i = 0; i < PACE_NEARS; i++) assert_true(near(run.figure[PACE_NEAR + i], 1));
    assert_true(run.figure[PACE_EXCESS] <= 0);
    close_run(&run);
}

/* One in ten is 5 us late, so two gaps of ten are 5 us off. */
static void gaps(void **state)
{
    struct run run;
    (void)state;
    open_run(&run, 1);
    note_in_turns(&run, 10);
    sum(&run, 1);
    assert_true(fabs(run.figure[PACE_NEAR] - 0.8) < 0.001);
    assert_true(near(run.figure[PACE_NEAR + 1], 1) && near(run.figure[PACE_NEAR + 2], 1));
    close_run(&run);
}

/* As many in nine tenths of the time. */
static void too_fast(void **state)
{
    struct run run;
    (void)state;
    open_run(&run, 1);
    for (int i = 0; i < OPERATIONS; i++) {
        const uint64_t end_ns = BEGIN_NS + (uint64_t)i * (PERIOD_NS / 10 * 9);
        note(&run, (unsigned)i % THREADS, end_ns - 1000, end_ns, 1);
    }
    sum(&run, 1);
    assert_true(fabs(run.figure[PACE_ERROR_PPM] - 1e6 / 9) < 1);
    assert_true(fabs(run.figure[PACE_EXCESS] - (OPERATIONS - 1) / 10.0) < 0.01); /* 1,000 where 900.1 may be */
    close_run(&run);
}

/* Of hundred operations between two looks those count that lie before the end, by their share. */
static void an_interval_across_the_end(void **state)
{
    struct run run;
    (void)state;
    open_run(&run, 100);
    note(&run, 0, BEGIN_NS - 1, BEGIN_NS, 1);
    note(&run, 1, BEGIN_NS - 1, BEGIN_NS, 1);
    for (uint64_t i = 0; i < 10; i++) {
        for (unsigned thread = 0; thread < THREADS; thread++) {
            const uint64_t begin_ns = BEGIN_NS + (thread * 50 + i * 100) * PERIOD_NS;
            note(&run, thread, begin_ns, begin_ns + (uint64_t)100 * PERIOD_NS, 50);
        }
    }
    sum(&run, 1);
    /* The second thread began 50 ms after the first, so it lacks 25: 975, and two at the start. */
    assert_true(near(run.figure[PACE_ERROR_PPM], (976.0 / 1000 - 1) * 1e6));
    assert_true(isnan(run.figure[PACE_NEAR]));
    close_run(&run);
}

static void nothing_was_done(void **state)
{
    struct run run;
    (void)state;
    open_run(&run, 1);
    sum(&run, 1);
    assert_true(isnan(run.figure[PACE_ERROR_PPM]) && isnan(run.figure[PACE_P50_NS]) && isnan(run.figure[PACE_NEAR]));
    assert_true(near(run.figure[PACE_EXCESS], -1));
    close_run(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles),
        cmocka_unit_test(on_the_dot),
        cmocka_unit_test(gaps),
        cmocka_unit_test(too_fast),
        cmocka_unit_test(an_interval_across_the_end),
        cmocka_unit_test(nothing_was_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
