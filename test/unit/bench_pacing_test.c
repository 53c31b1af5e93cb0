/* SPDX-License-Identifier: MIT
   What bench-rate and the rivals' lines say of starts that are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "harness/pacing.h"

enum { STARTS = 1000, PERIOD_NS = 1000000, RATE = 1000, LATE_NS = 5000 };

static const uint64_t BEGIN_NS = 5000000000;

static bool near(double value, double expected)
{
    return fabs(value - expected) < 1e-6;
}

/* One period after the other, each `slower` ns longer; every tenth start but the first is late. */
static void look(double figure[PACING_FIGURES], uint64_t slower_ns, uint64_t late_ns)
{
    struct pacing_start start[STARTS];
    for (uint64_t i = 0; i < STARTS; i++) {
        const uint64_t due_ns = BEGIN_NS + i * (PERIOD_NS + slower_ns);
        start[i] = (struct pacing_start){due_ns + (i % 10 == 9 ? late_ns : 0), due_ns};
    }
    pacing_look_at(start, STARTS, RATE, figure);
}

static void on_the_dot(void **state)
{
    double figure[PACING_FIGURES];
    (void)state;
    look(figure, 0, 0);
    assert_true(near(figure[PACING_PER_S], RATE) && near(figure[PACING_ERROR_PPM], 0));
    assert_true(near(figure[PACING_P50_NS], 0) && near(figure[PACING_P999_NS], 0));
    assert_true(near(figure[PACING_BURST], 1) && near(figure[PACING_INVERTED], 0));
}

/* Late starts are no loss of the rate; the one behind them comes too soon after them by as much. */
static void late_at_times(void **state)
{
    double figure[PACING_FIGURES];
    (void)state;
    look(figure, 0, LATE_NS);
    assert_true(near(figure[PACING_ERROR_PPM], 0));
    assert_true(near(figure[PACING_P50_NS], 0) && near(figure[PACING_P99_NS], LATE_NS));
    assert_true(near(figure[PACING_BURST], 1 + (double)LATE_NS / PERIOD_NS));
}

/* A start of the last tenth is late by its place: the first of them by 899 us, of a run of some 1000 ms. */
static void too_slow(void **state)
{
    double figure[PACING_FIGURES];
    (void)state;
    look(figure, 1000, 0);
    assert_true(near(figure[PACING_ERROR_PPM], -899e3 * 1e6 / (999.0 * 1001000)));
    assert_true(figure[PACING_P50_NS] > 0 && near(figure[PACING_BURST], 1));
}

/* Two pairs in the wrong order, of four. */
static void inverted(void **state)
{
    const struct pacing_start start[] = {{1000, 2}, {2000, 1}, {3000, 4}, {4000, 3}};
    double figure[PACING_FIGURES];
    (void)state;
    pacing_look_at(start, 4, RATE, figure);
    assert_true(near(figure[PACING_INVERTED], 0.5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_the_dot),
        cmocka_unit_test(late_at_times),
        cmocka_unit_test(too_slow),
        cmocka_unit_test(inverted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
