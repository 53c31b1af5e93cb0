/* SPDX-License-Identifier: MIT
   "5 per second" by every algorithm: the same tries, and how many of them pass at once.

   The numbers are those of the limiters that the algorithms come from, each as its users would set it up: the table
   "Same nominal limit, different answers" of the vectors' README, but for one number.  For EngineBlock's compensation
   of 0.5 it has 6 at 10 s, which is what closing a part of the gap at every call would give.  The rule and the vectors
   close only where the clock is read, and while a backlog is caught up it is not: all 12 tries pass.

   Each row is a plan's public text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/plans.h"

enum { MOMENTS = 8 };

struct moment {
    uint64_t t_ns;
    int tries;
};

static const struct moment moments[MOMENTS] = {{0, 10},    {100 * MS, 3},  {200 * MS, 3}, {S, 10},
                                               {S + 1, 1}, {2 * S - 1, 5}, {2 * S, 6},    {10 * S, 12}};

struct row {
    const char *peers, *text;
    int pass[MOMENTS];
};

static struct row rows[] = {
    {"Guava SmoothBursty", "5/s algorithm=bursty", {1, 0, 1, 4, 0, 4, 1, 6}},
    {"Go rate, governor, throttled and redis-cell with max_burst 4", "5/s burst=5", {5, 0, 1, 4, 0, 4, 1, 5}},
    {"throttled and redis-cell with max_burst 5", "5/s burst=6", {6, 0, 1, 4, 0, 4, 1, 6}},
    {"nginx burst=4", "5r/s burst=4 nodelay", {5, 0, 1, 4, 0, 4, 1, 5}},
    {"nginx burst=5", "5r/s burst=5 nodelay", {6, 0, 1, 4, 0, 4, 1, 6}},
    {"resilience4j", "5/s algorithm=cycle", {5, 0, 0, 5, 0, 0, 5, 5}},
    {"windows from the first call", "5/s algorithm=fixed-window align=first", {5, 0, 0, 5, 0, 0, 5, 5}},
    {"windows of the clock", "5/s algorithm=fixed-window align=clock", {5, 0, 0, 5, 0, 0, 5, 5}},
    {"limits (moving), khenidak", "5/s algorithm=sliding-log edge=closed", {5, 0, 0, 0, 1, 4, 0, 5}},
    {"rolling-rate-limiter", "5/s algorithm=sliding-log count-refused", {5, 0, 0, 0, 0, 0, 0, 5}},
    {"limits (sliding window counter)", "5/s algorithm=sliding-window", {5, 0, 0, 0, 1, 4, 0, 5}},
    {"EngineBlock average", "5/s algorithm=timeline strictness=0", {1, 0, 1, 4, 0, 4, 1, 12}},
    {"EngineBlock compensation 0.5", "5/s algorithm=timeline strictness=0.5", {1, 0, 1, 3, 0, 3, 0, 12}},
    {"EngineBlock compensation 1.0", "5/s algorithm=timeline strictness=1", {1, 0, 1, 2, 0, 2, 0, 2}},
};

static int passed(const weir_plan *plan, void *state, const struct moment *moment)
{
    int count = 0;
    for (int i = 0; i < moment->tries; i++)
        count += weir_allowed(weir_decide(plan, state, (weir_instant){moment->t_ns}, 1));
    return count;
}

static void row_test(void **parameter)
{
    const struct row *row = *parameter;
    const weir_plan plan = plan_of(row->text);
    void *state = calloc(1, weir_state_size(&plan));
    assert_non_null(state);
    int wrong = 0;
    for (int i = 0; i < MOMENTS; i++) {
        const int got = passed(&plan, state, &moments[i]);
        if (got == row->pass[i]) continue;
        print_error("%s: at %.9f s pass %d, expected %d (%s)\n", row->text, (double)moments[i].t_ns / (double)S, got,
                    row->pass[i], row->peers);
        wrong++;
    }
    free(state);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    struct CMUnitTest tests[LENGTH(rows)];
    for (size_t i = 0; i < LENGTH(rows); i++)
        tests[i] = (struct CMUnitTest){rows[i].text, row_test, NULL, NULL, &rows[i]};
    return cmocka_run_group_tests_name("five per second", tests, NULL, NULL);
}
