/* SPDX-License-Identifier: MIT
   The wheel of seconds against a list that is searched. */
#include "serve/net/deadlines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MANY = 300, SECONDS = 2000, FAR = 200 };

static void test_nobody_comes_early_or_twice(void **state)
{
    (void)state;
    struct deadlines wheel;
    struct deadline one = {0};
    deadlines_open(&wheel, 1000);
    deadlines_set(&wheel, &one, 1000 + 3 * DEADLINES_SLOTS);
    for (uint64_t second = 1001; second < 1000 + 3 * DEADLINES_SLOTS; second++) {
        assert_null(deadlines_next(&wheel, second));
    }
    assert_ptr_equal(deadlines_next(&wheel, 1000 + 3 * DEADLINES_SLOTS), &one);
    assert_null(deadlines_next(&wheel, 1000 + 3 * DEADLINES_SLOTS));
    assert_null(deadlines_next(&wheel, 1000 + 9 * DEADLINES_SLOTS));
}

static void test_what_is_past_is_next(void **state)
{
    (void)state;
    struct deadlines wheel;
    struct deadline one = {0}, other = {0};
    deadlines_open(&wheel, 1000);
    deadlines_set(&wheel, &one, 7);
    deadlines_set(&wheel, &other, 1000);
    assert_null(deadlines_next(&wheel, 1000));
    assert_ptr_equal(deadlines_next(&wheel, 1001), &one);
    assert_ptr_equal(deadlines_next(&wheel, 1001), &other);
    assert_null(deadlines_next(&wheel, 1001));
}

static void test_another_deadline_is_the_only_one(void **state)
{
    (void)state;
    struct deadlines wheel;
    struct deadline one = {0}, gone = {0};
    deadlines_open(&wheel, 0);
    deadlines_set(&wheel, &one, 5);
    deadlines_set(&wheel, &one, 9);
    deadlines_set(&wheel, &gone, 6);
    deadlines_remove(&gone);
    deadlines_remove(&gone);
    assert_null(deadlines_next(&wheel, 8));
    assert_ptr_equal(deadlines_next(&wheel, 9), &one);
    assert_null(deadlines_next(&wheel, 100));
}

/* A loop that was stopped, or a machine that slept. */
static void test_a_long_pause(void **state)
{
    (void)state;
    struct deadlines wheel;
    struct deadline many[MANY] = {0};
    deadlines_open(&wheel, 0);
    for (int i = 0; i < MANY; i++) deadlines_set(&wheel, &many[i], (uint64_t)i + 1);
    int found = 0;
    while (deadlines_next(&wheel, 1000000) != NULL) found++;
    assert_int_equal(found, MANY);
    deadlines_set(&wheel, &many[0], 1000002);
    assert_null(deadlines_next(&wheel, 1000001));
    assert_ptr_equal(deadlines_next(&wheel, 1000002), &many[0]);
}

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525U + 1013904223U;
    return (*seed >> 8) % below;
}

static void test_against_a_list(void **state)
{
    (void)state;
    struct deadlines wheel;
    struct deadline many[MANY] = {0};
    uint64_t due[MANY] = {0}; /* 0: none */
    unsigned seed = 1;
    deadlines_open(&wheel, 0);
    for (uint64_t now = 1, last = 0; now < SECONDS; last = now, now += 1 + draw(&seed, 3)) {
        for (int i = 0; i < 20; i++) {
            const unsigned which = draw(&seed, MANY);
            due[which] = draw(&seed, 4) != 0 ? last + 1 + draw(&seed, FAR) : 0;
            if (due[which] != 0) deadlines_set(&wheel, &many[which], due[which]);
            else deadlines_remove(&many[which]);
        }
        for (struct deadline *next; (next = deadlines_next(&wheel, now)) != NULL;) {
            const ptrdiff_t which = next - many;
            assert_in_range(due[which], 1, now);
            due[which] = 0;
        }
        for (int i = 0; i < MANY; i++) assert_true(due[i] == 0 || due[i] > now);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_comes_early_or_twice),
        cmocka_unit_test(test_what_is_past_is_next),
        cmocka_unit_test(test_another_deadline_is_the_only_one),
        cmocka_unit_test(test_a_long_pause),
        cmocka_unit_test(test_against_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
