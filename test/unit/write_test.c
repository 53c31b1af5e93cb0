/* SPDX-License-Identifier: MIT
   Waits in words: rounded up, in at most two units.  There is a row on each side of every place where the words change;
   whatever the wait, the words say no less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/write.h"
#include "unit/random.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
#define SECOND UINT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)
#define YEAR (365 * DAY)

enum { RANDOM_WAITS = 200000, TEXT_SIZE = 64 };

static const char *wait_text(uint64_t ns, char text[TEXT_SIZE])
{
    struct writer writer = {text, TEXT_SIZE, 0};
    write_wait(&writer, ns);
    return text;
}

static void waits_are_told_so(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } rows[] = {
        {0, "0 ns"},
        {1, "1 \xc2\xb5s"},
        {1000, "1 \xc2\xb5s"},
        {998001, "999 \xc2\xb5s"},
        {999001, "1 ms"},
        {1000000, "1 ms"},
        {1000001, "2 ms"},
        {11000001, "12 ms"},
        {99000000, "99 ms"},
        {99000001, "0.1 s"},
        {100000000, "0.1 s"},
        {100000001, "0.2 s"},
        {400000000, "0.4 s"},
        {900000001, "1 s"},
        {SECOND + 1, "1.1 s"},
        {9900000000, "9.9 s"},
        {9900000001, "10 s"},
        {10000000001, "11 s"},
        {59 * SECOND + 1, "1 min"},
        {60 * SECOND + 1, "1 min 1 s"},
        {1198 * SECOND, "19 min 58 s"},
        {3599 * SECOND, "59 min 59 s"},
        {3599 * SECOND + 1, "1 h"},
        {HOUR + 1, "1 h 1 min"},
        {DAY - 60 * SECOND + 1, "1 d"},
        {DAY + 1, "1 d 1 h"},
        {2 * DAY + 2 * HOUR + 1, "2 d 3 h"},
        {20 * DAY, "20 d"},
        {YEAR - HOUR + 1, "1 year"},
        {YEAR + 1, "1 year 1 d"},
        {5 * YEAR + 20 * DAY, "5 years 20 d"},
        {UINT64_MAX, "584 years 343 d"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[TEXT_SIZE];
        assert_string_equal(wait_text(rows[i].ns, text), rows[i].text);
    }
}

/* The sum of its parts: an oracle that only knows the units' names. */
static double said_ns(const char *text)
{
    double sum = 0, number;
    char unit[TEXT_SIZE];
    for (int used; sscanf(text, "%lf %60s%n", &number, unit, &used) == 2; text += used) {
        static const struct {
            const char *name;
            double ns;
        } names[] = {{"ns", 1},     {"\xc2\xb5s", 1e3}, {"ms", 1e6},        {"s", 1e9},         {"min", 60e9},
                     {"h", 3600e9}, {"d", 86400e9},     {"year", 31536e12}, {"years", 31536e12}};
        size_t i = 0;
        while (i < LENGTH(names) && strcmp(names[i].name, unit) != 0) i++;
        assert_true(i < LENGTH(names));
        sum += number * names[i].ns;
    }
    assert_string_equal(text, "");
    return sum;
}

static void no_less_is_said_and_not_twice_as_much(void **state)
{
    (void)state;
    uint64_t seed = UINT64_C(20261121);
    printf("seed %ju\n", (uintmax_t)seed);
    for (int i = 0; i < RANDOM_WAITS; i++) {
        char text[TEXT_SIZE];
        const uint64_t ns = random_sized(&seed, 64);
        const double said = said_ns(wait_text(ns, text)), meant = (double)ns;
        assert_true(said >= meant * (1 - 1e-12) && said <= 2 * meant + 1000);
    }
}

static void durations_are_told_so(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } rows[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {1000, "1 \xc2\xb5s"},
        {1001, "1.001 \xc2\xb5s"},
        {1000499, "1 ms"}, /* thousandths, a half and more of one is one */
        {1000500, "1.001 ms"},
        {59999499999, "59.999 s"},
        {59999500000, "60 s"},
        {90 * SECOND, "1.5 min"},
        {HOUR + 1799999999, "1 h"},
        {HOUR + 1800000000, "1.001 h"},
        {7 * DAY, "7 d"},
        {YEAR, "1 year"},
        {YEAR + YEAR / 2, "1.5 years"},
        {UINT64_MAX, "584.942 years"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[TEXT_SIZE];
        struct writer writer = {text, TEXT_SIZE, 0};
        write_duration(&writer, rows[i].ns);
        assert_string_equal(text, rows[i].text);
    }
}

static void three_digits_are_about_as_much(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } rows[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {1004, "1 \xc2\xb5s"},
        {1005, "1.01 \xc2\xb5s"},
        {999499, "999 \xc2\xb5s"},
        {999500, "1 ms"},
        {123456789, "123 ms"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[TEXT_SIZE];
        write_about(&(struct writer){text, TEXT_SIZE, 0}, rows[i].ns);
        assert_string_equal(text, rows[i].text);
    }
}

static void decimals_are_told_so(void **state)
{
    (void)state;
    static const struct {
        uint64_t digits;
        uint32_t places;
        const char *text;
    } rows[] = {{0, 0, "0"},    {0, 3, "0"},       {5, 1, "0.5"},     {5, 3, "0.005"},
                {50, 2, "0.5"}, {1050, 2, "10.5"}, {1001, 3, "1.001"}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[TEXT_SIZE];
        write_decimal(&(struct writer){text, TEXT_SIZE, 0}, rows[i].digits, rows[i].places);
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_told_so),
        cmocka_unit_test(durations_are_told_so),
        cmocka_unit_test(three_digits_are_about_as_much),
        cmocka_unit_test(decimals_are_told_so),
        cmocka_unit_test(no_less_is_said_and_not_twice_as_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
