/* SPDX-License-Identifier: MIT
   The worst window that weir-bench finds, against trying all of them.

   The seed is fixed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "random.h"
#include "weir-bench/window.h"

enum { ROUNDS = 5000, INTERVALS_MAX = 40, CLOSE = 1000, SEED = 20260901 };

/* All pairs of a beginning and an end. */
static double worst_of_all(const struct bench_interval *interval, size_t count, double over, double per_ns)
{
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            const uint64_t begin_ns = interval[i].begin_ns, end_ns = interval[j].end_ns;
            double inside = 0;
            for (size_t k = 0; k < count && begin_ns <= end_ns; k++) {
                const bool in = interval[k].begin_ns >= begin_ns && interval[k].end_ns <= end_ns;
                inside += in ? (double)interval[k].count : 0;
            }
            if (begin_ns <= end_ns) worst = fmax(worst, inside - per_ns * (double)(end_ns - begin_ns));
        }
    }
    return worst - over;
}

static void as_all_windows(void **state)
{
    uint64_t random = SEED;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct bench_interval interval[INTERVALS_MAX], sorted[INTERVALS_MAX];
        const size_t count = (size_t)random_below(&random, INTERVALS_MAX + 1);
        const uint64_t spread = 1 + random_below(&random, CLOSE), longest = 1 + random_below(&random, CLOSE);
        const double per_ns = (double)random_below(&random, 100) / 100, over = (double)random_below(&random, 5);
        for (size_t i = 0; i < count; i++) {
            const uint64_t begin_ns = (UINT64_C(1) << 50) + random_below(&random, spread);
            const uint64_t end_ns = begin_ns + random_below(&random, longest);
            interval[i] = sorted[i] = (struct bench_interval){begin_ns, end_ns, random_below(&random, 4)};
        }
        const double excess = bench_window_excess(sorted, count, over, per_ns);
        if (fabs(excess - worst_of_all(interval, count, over, per_ns)) < 1e-6) continue;
        fail_msg("seed %d, round %d: %f, and trying all of them %f", SEED, round, excess,
                 worst_of_all(interval, count, over, per_ns));
    }
}

/* One more than may be, 10 in 10 ns and no burst: proven by looks at the clock before and after. */
static void finds_one_too_many(void **state)
{
    struct bench_interval interval[] = {{100, 110, 10}, {110, 110, 1}, {200, 220, 11}};
    (void)state;
    assert_true(bench_window_excess(interval, 3, 0, 1) == 1);
    assert_true(bench_window_excess(interval, 3, 1, 1) == 0);
    assert_true(bench_window_excess(interval, 0, 3, 1) == -3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_all_windows),
        cmocka_unit_test(finds_one_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
