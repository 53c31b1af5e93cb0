/* SPDX-License-Identifier: MIT
   num.h against num_portable.h, and both against answers known by hand.

   Every operation on every pair of edge values, then on random triples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/num.h"
#include "unit/random.h"

enum { TRIPLES = 1000000, SHIFTS = 128 };
static const uint64_t seed_first = UINT64_C(20240611);

#define TWO(power) (UINT64_C(1) << (power))
#define ALL UINT64_MAX

static const uint64_t edges[] = {
    0,       1,           2,           3,           7,           10,      TWO(16), TWO(31) - 1,   TWO(31), TWO(32) - 1,
    TWO(32), TWO(32) + 1, TWO(53) + 1, TWO(62) - 1, TWO(62) + 1, TWO(63), ALL / 3, ALL - TWO(32), ALL - 1, ALL,
};
enum { EDGES = sizeof edges / sizeof edges[0] };

static void same(const char *name, uint64_t a, uint64_t b, uint64_t c, uint64_t fast, uint64_t portable)
{
    if (fast == portable) return;
    fail_msg("%s(%ju, %ju, %ju): num.h %ju, num_portable.h %ju", name, (uintmax_t)a, (uintmax_t)b, (uintmax_t)c,
             (uintmax_t)fast, (uintmax_t)portable);
}

static void same_shifts(uint64_t a, uint64_t b, unsigned shift)
{
    same("multiply_shift_floor", a, b, shift, multiply_shift_floor(a, b, shift),
         portable_multiply_shift_floor(a, b, shift));
    same("multiply_shift_floor_64", a, b, shift, multiply_shift_floor_64(a, b, shift),
         portable_multiply_shift_floor_64(a, b, shift));
    same("multiply_shift_floor_64", a, b, shift, multiply_shift_floor_64(a, b, shift),
         portable_multiply_shift_floor(a, b, (shift + 63) % 64 + 1));
    same("shift_divide_ceil", a, shift, b, shift_divide_ceil(a, shift, b), portable_shift_divide_ceil(a, shift, b));
    same("shift_divide_floor", a, shift, b, shift_divide_floor(a, shift, b), portable_shift_divide_floor(a, shift, b));
}

static void same_divisions(uint64_t a, uint64_t b, uint64_t c)
{
    same("multiply_divide_floor", a, b, c, multiply_divide_floor(a, b, c), portable_multiply_divide_floor(a, b, c));
    same("multiply_divide_ceil", a, b, c, multiply_divide_ceil(a, b, c), portable_multiply_divide_ceil(a, b, c));
}

static void edge_values_agree(void **unused)
{
    (void)unused;
    for (int i = 0; i < EDGES; i++) {
        for (int j = 0; j < EDGES; j++) {
            for (unsigned shift = 0; shift < SHIFTS; shift++) same_shifts(edges[i], edges[j], shift);
            for (int k = 0; k < EDGES; k++) same_divisions(edges[i], edges[j], edges[k]);
        }
    }
}

static void random_values_agree(void **unused)
{
    (void)unused;
    uint64_t seed = seed_first;
    printf("seed %ju\n", (uintmax_t)seed);
    for (int i = 0; i < TRIPLES; i++) {
        const uint64_t a = random_sized(&seed, 64), b = random_sized(&seed, 64), c = random_sized(&seed, 64);
        same_shifts(a, b, (unsigned)(c % 65));
        same_divisions(a, b, c);
    }
}

struct known {
    uint64_t a, b, c, answer;
};

static void known_products(void **unused)
{
    (void)unused;
    static const struct known table[] = {
        {3, 5, 0, 15},
        {3, 5, 1, 7},
        {TWO(63), 2, 64, 1},
        {TWO(63), 1, 64, 0},
        {TWO(63), 2, 0, ALL},
        {ALL, ALL, 0, ALL},
        {ALL, 1, 0, ALL},
        {ALL, ALL, 64, ALL - 1},
        {ALL, 2, 1, ALL},
        {0, ALL, 0, 0},
        {TWO(40), TWO(40), 16, ALL},
        {TWO(40), TWO(40), 17, TWO(63)},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct known *row = &table[i];
        assert_int_equal(multiply_shift_floor(row->a, row->b, (unsigned)row->c), row->answer);
        assert_int_equal(portable_multiply_shift_floor(row->a, row->b, (unsigned)row->c), row->answer);
    }
}

static void known_quotients_of_shifts(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t a, b, c, answer, floor;
    } table[] = {
        /* a, shift, divisor */
        {0, 64, 7, 0, 0},       {1, 0, 1, 1, 1},      {7, 0, 2, 4, 3},        {8, 0, 2, 4, 4},
        {1, 64, ALL, 2, 1},     {1, 64, 1, ALL, ALL}, {1, 64, TWO(63), 2, 2}, {ALL, 64, ALL, ALL, ALL},
        {3, 63, TWO(63), 3, 3}, {1, 0, 0, ALL, ALL},  {0, 0, 0, ALL, ALL},    {1, 1, 3, 1, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const uint64_t a = table[i].a, divisor = table[i].c;
        const unsigned shift = (unsigned)table[i].b;
        assert_int_equal(shift_divide_ceil(a, shift, divisor), table[i].answer);
        assert_int_equal(shift_divide_floor(a, shift, divisor), table[i].floor);
        assert_int_equal(portable_shift_divide_ceil(a, shift, divisor), table[i].answer);
        assert_int_equal(portable_shift_divide_floor(a, shift, divisor), table[i].floor);
    }
}

static void known_quotients_of_products(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t a, b, c, floor, ceil;
    } table[] = {
        {10, 10, 3, 33, 34},
        {10, 10, 4, 25, 25},
        {0, ALL, 5, 0, 0},
        {ALL, ALL, ALL, ALL, ALL},
        {ALL, ALL, 1, ALL, ALL},
        {ALL, 2, 3, ALL / 3 * 2, ALL / 3 * 2},
        {1, 1, 0, ALL, ALL},
        {ALL, 1, ALL, 1, 1},
        {ALL - 1, 1, ALL, 0, 1},
        {TWO(63), 4, 2, ALL, ALL},
        {TWO(63), 3, 2, TWO(62) * 3, TWO(62) * 3},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(multiply_divide_floor(table[i].a, table[i].b, table[i].c), table[i].floor);
        assert_int_equal(multiply_divide_ceil(table[i].a, table[i].b, table[i].c), table[i].ceil);
        assert_int_equal(portable_multiply_divide_floor(table[i].a, table[i].b, table[i].c), table[i].floor);
        assert_int_equal(portable_multiply_divide_ceil(table[i].a, table[i].b, table[i].c), table[i].ceil);
    }
}

static void sums_saturate(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t a, b, sum, difference, least, most;
    } table[] = {
        {0, 0, 0, 0, 0, 0},
        {1, 2, 3, 0, 1, 2},
        {2, 1, 3, 1, 1, 2},
        {ALL, 0, ALL, ALL, 0, ALL},
        {ALL, 1, ALL, ALL - 1, 1, ALL},
        {1, ALL, ALL, 0, 1, ALL},
        {ALL, ALL, ALL, 0, ALL, ALL},
        {TWO(63), TWO(63), ALL, 0, TWO(63), TWO(63)},
        {ALL - 1, 1, ALL, ALL - 2, 1, ALL - 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(add_saturating(table[i].a, table[i].b), table[i].sum);
        assert_int_equal(subtract_to_zero(table[i].a, table[i].b), table[i].difference);
        assert_int_equal(least(table[i].a, table[i].b), table[i].least);
        assert_int_equal(most(table[i].a, table[i].b), table[i].most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edge_values_agree),
        cmocka_unit_test(random_values_agree),
        cmocka_unit_test(known_products),
        cmocka_unit_test(known_quotients_of_shifts),
        cmocka_unit_test(known_quotients_of_products),
        cmocka_unit_test(sums_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
