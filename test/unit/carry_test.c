/* SPDX-License-Identifier: MIT
   What becomes of ticks when the rule changes, in exact numbers, to the ends of the range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "unit/plans.h"

static uint64_t waiting(unsigned from_scale, unsigned to_scale, uint64_t ticks)
{
    const struct rule from = {.scale = (uint8_t)from_scale}, to = {.scale = (uint8_t)to_scale};
    return carry_waiting(&from, &to, ticks);
}

/* What is waited for stays as many permits, rounded up; what does not fit is all there is. */
static void permits_stay_permits(void **unused)
{
    (void)unused;
    static const struct {
        unsigned from, to;
        uint64_t ticks, carried;
    } rows[] = {
        {3, 3, 17, 17},
        {3, 3, UINT64_MAX, UINT64_MAX},
        {1, 4, 5, 40},
        {0, 1, UINT64_MAX >> 1, UINT64_MAX - 1},
        {0, 1, (UINT64_MAX >> 1) + 1, UINT64_MAX},
        {0, 63, 1, UINT64_C(1) << 63},
        {0, 63, 2, UINT64_MAX},
        {4, 1, 40, 5},
        {4, 1, 41, 6},
        {63, 0, UINT64_MAX, 2},
        {63, 0, 1, 1},
        {63, 0, 0, 0},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_true(waiting(rows[i].from, rows[i].to, rows[i].ticks) == rows[i].carried);
}

/* No rule is so; one that another thread tore may be, and then gets an answer that is rounded in the same way. */
static void scales_that_no_limit_has(void **unused)
{
    (void)unused;
    for (unsigned scale = 64; scale <= 66; scale++) {
        assert_int_equal(waiting(0, scale, 0), 0);
        for (uint64_t ticks = 1; ticks <= 5; ticks++) {
            assert_true(waiting(0, scale, ticks) == UINT64_MAX);
            assert_int_equal(waiting(scale, 0, ticks), 1);
        }
        assert_int_equal(waiting(scale, 0, 0), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permits_stay_permits),
        cmocka_unit_test(scales_that_no_limit_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
