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

#include "format/json.h"
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
    assert_true(slice_number(bytes_slice(&bytes), &again));
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
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_false(slice_number(slice_of(texts[i]), &number));
    assert_false(slice_number(SLICE("-1"), &number));
    assert_false(slice_number(SLICE("1\0"), &number));
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
        json_string(&(struct json){.out = &bytes}, NULL, strings[i].plain);
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
            json_string(&(struct json){.out = &bytes}, NULL, strings[i].plain);
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
    json_string(&(struct json){.out = &bytes}, NULL, SLICE("a"));
    assert_true(bytes.full);
    assert_int_equal(bytes.size, 3);
    bytes_byte(&bytes, 'b');
    bytes_byte(&bytes, 'c');
    assert_memory_equal(memory, "\"a\"b", 4);
    assert_true(bytes.full);
}

static void write_all(struct json *json)
{
    json_object(json, NULL);
    json_array(json, "none");
    json_end_array(json);
    json_array(json, "some");
    for (uint64_t i = 9; i < 12; i++) json_number(json, NULL, i);
    json_object(json, NULL);
    json_null(json, "null");
    json_bool(json, "yes", true);
    json_bool(json, "no", false);
    json_end_object(json);
    json_end_array(json);
    json_array(json, "lines");
    json_line(json);
    json_text(json, NULL, "</a>&");
    json_line(json);
    json_key(json, NULL, SLICE("a\x80\xC3\xA9\n"));
    json_end_array(json);
    json_decimal(json, "fraction", "0.5");
    json_end_object(json);
}

#define WRITTEN_BEFORE "{\"none\":[],\"some\":[9,10,11,{\"null\":null,\"yes\":true,\"no\":false}],\"lines\":[\n"
#define WRITTEN_AFTER ",\n\"a\\\\x80\xC3\xA9\\n\"],\"fraction\":0.5}"

static void objects_and_arrays(void **state)
{
    (void)state;
    char memory[256];
    struct bytes bytes = {.memory = memory, .capacity = sizeof memory};
    write_all(&(struct json){.out = &bytes});
    assert_written(&bytes, WRITTEN_BEFORE "\"</a>&\"" WRITTEN_AFTER);
    bytes.size = 0;
    write_all(&(struct json){.out = &bytes, .in_html = true});
    assert_written(&bytes, WRITTEN_BEFORE "\"\\u003c/a\\u003e\\u0026\"" WRITTEN_AFTER);
}

struct drained {
    struct json json;
    struct bytes buffer, all;
};

static void drain(struct json *json)
{
    struct drained *drained = (struct drained *)json;
    bytes_add(&drained->all, bytes_slice(&drained->buffer));
    drained->buffer.size = 0;
}

/* A string of any length goes through a buffer that is drained, and none of it is lost. */
static void drained(void **state)
{
    (void)state;
    static char text[10000], all[20000], buffer[1100];
    for (size_t i = 0; i < sizeof text; i++) text[i] = "ab\xC3\xA9\n"[i % 5];
    struct drained to = {.json = {.out = &to.buffer, .drain = drain},
                         .buffer = {.memory = buffer, .capacity = sizeof buffer},
                         .all = {.memory = all, .capacity = sizeof all}};
    json_array(&to.json, NULL);
    json_string(&to.json, NULL, (struct slice){text, sizeof text});
    write_all(&to.json);
    json_end_array(&to.json);
    drain(&to.json);
    assert_false(to.buffer.full || to.all.full);
    assert_int_equal(to.all.size, 2 + sizeof text / 5 * 6 + 3 + sizeof WRITTEN_BEFORE "\"</a>&\"" WRITTEN_AFTER - 1);
    assert_memory_equal(all, "[\"ab\xC3\xA9\\nab", 10);
    assert_memory_equal(all + 2 + sizeof text / 5 * 6, "\",{\"none", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),           cmocka_unit_test(what_is_no_number), cmocka_unit_test(json),
        cmocka_unit_test(what_does_not_fit), cmocka_unit_test(full_stays),        cmocka_unit_test(objects_and_arrays),
        cmocka_unit_test(drained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
