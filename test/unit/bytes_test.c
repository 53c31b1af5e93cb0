/* SPDX-License-Identifier: MIT
   Numbers and strings of JSON, written into memory that may be too small, and read back.

   Each number is written as printf writes it and reads back as itself. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/bytes.h"
#include "unit/random.h"

#define BYTES(literal)                                                                                                 \
    {                                                                                                                  \
        literal, sizeof(literal) - 1                                                                                   \
    }
#define SLICE(literal) ((struct slice)BYTES(literal))

static void assert_written(const struct bytes *bytes, const char *expected)
{
    assert_false(bytes->full);
    assert_int_equal(bytes->size, strlen(expected));
    assert_memory_equal(bytes->memory, expected, bytes->size);
}

static void check_number(uint64_t number)
{
    char memory[64], expected[64];
    uint64_t again = ~number;

    struct bytes bytes = {.memory = memory, .capacity = sizeof memory};
    bytes_number(&bytes, number);
    snprintf(expected, sizeof expected, "%" PRIu64, number);
    assert_written(&bytes, expected);
    assert_true(bytes_read_number(bytes_slice(&bytes), &again));
    assert_true(again == number);
}

static void numbers(void **state)
{
    (void)state;
    enum { ROUNDS = 20000 };
    static const uint64_t corners[] = {0, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX, UINT64_MAX - 1};
    uint64_t power = 1, seed = 20261121;
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++) check_number(corners[i]);
    for (int digits = 0; digits < 20; digits++, power *= 10) {
        check_number(power - 1);
        check_number(power);
        check_number(power + 1);
    }
    for (int i = 0; i < ROUNDS; i++) check_number(random_sized(&seed, 64));
}

static void what_is_no_number(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "-",
                                        "+1",
                                        "01",
                                        "00",
                                        " 1",
                                        "1 ",
                                        "1.0",
                                        "1e3",
                                        "0x",
                                        "-01",
                                        "-0",
                                        "--1",
                                        "1_0",
                                        "18446744073709551616",
                                        "99999999999999999999",
                                        "184467440737095516150"};
    uint64_t number;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(bytes_read_number(slice_of(texts[i]), &number));
    assert_false(bytes_read_number(SLICE("-1"), &number));
    assert_false(bytes_read_number(SLICE("1\0"), &number));
}

static const struct {
    struct slice plain;
    const char *json;
} strings[] = {
    {BYTES(""), "\"\""},
    {BYTES("acme"), "\"acme\""},
    {BYTES("a\"b\\c/d"), "\"a\\\"b\\\\c/d\""},
    {BYTES("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
    {BYTES("\0\1\x0B\x1F\x7F"), "\"\\u0000\\u0001\\u000b\\u001f\\u007f\""},
    {BYTES("a\xC2\x80\xC2\x9Bz\xC2\x9F\xC2\xA0"), "\"a\\u0080\\u009bz\\u009f\xC2\xA0\""}, /* C1 */
    {BYTES("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF"),
     "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF\""},
    {BYTES("a\x80z"), "\"a\xEF\xBF\xBDz\""},
    {BYTES("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},                                 /* "/" in two bytes */
    {BYTES("\xE0\x9F\xBF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},                 /* too long */
    {BYTES("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},                 /* half a pair */
    {BYTES("\xF4\x90\x80\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* above U+10FFFF */
    {BYTES("\xF0\x8F\xBF\xBF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* too long */
    {BYTES("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},                                 /* cut off */
    {BYTES("\xE2\x82\""), "\"\xEF\xBF\xBD\xEF\xBF\xBD\\\"\""},
};

static void json(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        char memory[64];
        struct bytes bytes = {.memory = memory, .capacity = sizeof memory};
        bytes_json(&bytes, strings[i].plain);
        assert_written(&bytes, strings[i].json);
    }
}

/* Whatever the room: all of it, or none and full. */
static void what_does_not_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        const size_t needed = strlen(strings[i].json);
        for (size_t capacity = 0; capacity <= needed; capacity++) {
            char *memory = malloc(capacity + 1);
            assert_non_null(memory);
            memory[capacity] = '!';
            struct bytes bytes = {.memory = memory, .capacity = capacity};
            bytes_json(&bytes, strings[i].plain);
            assert_int_equal(bytes.full, capacity < needed);
            assert_int_equal(bytes.size, capacity < needed ? 0 : needed);
            assert_int_equal(memory[capacity], '!');
            free(memory);
        }
    }
}

static void full_stays(void **state)
{
    (void)state;
    char memory[4];
    struct bytes bytes = {.memory = memory, .capacity = sizeof memory};
    bytes_number(&bytes, 12345);
    assert_true(bytes.full);
    assert_int_equal(bytes.size, 0);
    bytes_json(&bytes, SLICE("a"));
    assert_true(bytes.full);
    assert_int_equal(bytes.size, 3);
    bytes_byte(&bytes, 'b');
    bytes_byte(&bytes, 'c');
    assert_memory_equal(memory, "\"a\"b", 4);
    assert_true(bytes.full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),           cmocka_unit_test(what_is_no_number), cmocka_unit_test(json),
        cmocka_unit_test(what_does_not_fit), cmocka_unit_test(full_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
