/* SPDX-License-Identifier: MIT
   The time that the module makes of an engine's ms and us, for engines that do not tell it.

   The same in every run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "redis/module/clock.c" /* no library has it */
#include "unit/random.h"

/* What the engine's clocks say. */
static uint64_t wall_us, monotonic_us;

static long long milliseconds(void)
{
    return (long long)(wall_us / 1000);
}

static uint64_t monotonic(void)
{
    return monotonic_us;
}

static long long microseconds(void)
{
    return (long long)wall_us;
}

static const struct engine joined = {.milliseconds = milliseconds, .monotonic_microseconds = monotonic};

static void stays_in_the_ms(void **state)
{
    (void)state;
    struct clock clock = {0};
    uint64_t seed = 5, last_us = 0;
    wall_us = UINT64_C(1763836800123456);
    monotonic_us = 77;
    for (int i = 0; i < 100000; i++) {
        const uint64_t passed_us = random_sized(&seed, 12), drift = random_one_in(&seed, 9);
        wall_us += passed_us;
        monotonic_us += passed_us + drift;
        const uint64_t now_us = clock_read(&clock, &joined);
        assert_int_equal(now_us / 1000, wall_us / 1000);
        assert_true(now_us >= last_us);
        last_us = now_us;
    }
}

/* Once the ms has changed, both clocks going alike, the us are right to within what was missed of that ms. */
static void counts_us(void **state)
{
    (void)state;
    struct clock clock = {0};
    wall_us = UINT64_C(1763836800123999);
    monotonic_us = UINT64_C(1) << 40;
    assert_int_equal(clock_read(&clock, &joined), UINT64_C(1763836800123000));
    wall_us += 1;
    monotonic_us += 1;
    assert_int_equal(clock_read(&clock, &joined), wall_us);
    for (int i = 0; i < 5000; i++) {
        wall_us += 7;
        monotonic_us += 7;
        assert_int_equal(clock_read(&clock, &joined), wall_us);
    }
}

static void goes_back_with_the_engine(void **state)
{
    (void)state;
    struct clock clock = {0};
    wall_us = UINT64_C(1763836800123456);
    clock_read(&clock, &joined);
    wall_us -= 3600000000;
    monotonic_us += 5;
    assert_int_equal(clock_read(&clock, &joined) / 1000, wall_us / 1000);
}

static void asks_who_knows(void **state)
{
    (void)state;
    const struct engine newer = {
        .microseconds = microseconds, .milliseconds = milliseconds, .monotonic_microseconds = monotonic};
    struct clock clock = {0};
    wall_us = 123456789;
    assert_int_equal(clock_read(&clock, &newer), 123456789);
    clock.told_us = 5;
    assert_int_equal(clock_read(&clock, &newer), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stays_in_the_ms), cmocka_unit_test(counts_us),
                                       cmocka_unit_test(goes_back_with_the_engine), cmocka_unit_test(asks_who_knows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
