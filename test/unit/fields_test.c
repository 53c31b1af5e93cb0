/* SPDX-License-Identifier: MIT
   Forms and objects as clients send them, and what is wrong with others, at its column.

   Each kind of value and each kind of problem is met. */
#include "format/fields.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(literal)                                                                                                 \
    {                                                                                                                  \
        literal, sizeof(literal) - 1                                                                                   \
    }
#define SLICE(literal) ((struct slice)BYTES(literal))

enum { ROOM_SIZE = 2048 };

/* name|kind|value|numbers; for each. */
static void print_fields(const struct fields *fields, struct bytes *out)
{
    for (unsigned i = 0; i < fields->count; i++) {
        const struct field *field = &fields->field[i];
        bytes_add(out, field->name);
        bytes_byte(out, '|');
        bytes_byte(out, "TNBAU0"[field->kind]);
        bytes_byte(out, '|');
        bytes_add(out, field->value);
        for (unsigned at = 0; at < field->numbers; at++) {
            bytes_byte(out, '|');
            bytes_number(out, field->number[at]);
        }
        bytes_byte(out, ';');
    }
}

typedef bool reads(struct slice text, struct bytes *room, struct fields *fields, struct fields_problem *problem);

static void check_fields(reads *read, struct slice text, struct slice expected)
{
    char memory[ROOM_SIZE], printed[ROOM_SIZE];
    struct bytes room = {.memory = memory, .capacity = text.size},
                 out = {.memory = printed, .capacity = sizeof printed};
    struct fields fields;
    struct fields_problem problem = {0, NULL};
    if (!read(text, &room, &fields, &problem))
        fail_msg("%s: column %zu: %s", text.bytes, problem.column, problem.words);
    print_fields(&fields, &out);
    assert_int_equal(out.size, expected.size);
    assert_memory_equal(printed, expected.bytes, out.size);
    assert_false(room.full);
}

static const struct {
    struct slice text, fields;
} forms[] = {
    {BYTES(""), BYTES("")},
    {BYTES("a=b"), BYTES("a|T|b;")},
    {BYTES("a=b&c=d&"), BYTES("a|T|b;c|T|d;")},
    {BYTES("&&a&b=&&c=="), BYTES("a|T|;b|T|;c|T|=;")},
    {BYTES("a+b=c+d%2B%26%3d%00"), BYTES("a b|T|c d+&=\0;")},
    {BYTES("%61=%C3%A9\xFF"), BYTES("a|T|\xC3\xA9\xFF;")},
    {BYTES("limit=100/s;%2010/s&cost=007"), BYTES("limit|T|100/s; 10/s;cost|T|007;")},
};

static const struct {
    struct slice text, fields;
} objects[] = {
    {BYTES("{}"), BYTES("")},
    {BYTES(" {\t} \r\n"), BYTES("")},
    {BYTES("{\"a\":\"b\"}"), BYTES("a|T|b;")},
    {BYTES("{ \"a\" : \"\" , \"b\" : 0 }"), BYTES("a|T|;b|N|0|0;")},
    {BYTES("{\"a\":18446744073709551615,\"b\":true,\"c\":false,\"d\":null}"),
     BYTES("a|N|18446744073709551615|18446744073709551615;b|B|true|1;c|B|false|0;d|0|null;")},
    {BYTES("{\"a\":[],\"b\":[ 1 ],\"c\":[1,2 , 3,4,5,6,7,8]}"),
     BYTES("a|A|[];b|A|[ 1 ]|1;c|A|[1,2 , 3,4,5,6,7,8]|1|2|3|4|5|6|7|8;")},
    {BYTES("{\"a\":{},\"b\":{\"tokens\":812, \"\\u0072\" : 2 }}"), BYTES("a|U|;b|U|tokens=812,r=2|812|2;")},
    {BYTES("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}"), BYTES("a|T|\"\\/\b\f\n\r\t;")},
    {BYTES("{\"\\u0061\":\"\\u0000\\u00e9\\u20AC\\ud83d\\ude00\\udbff\\udfff\"}"),
     BYTES("a|T|\0\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF;")},
    {BYTES("{\"a\":\"\\u007f\\u0080\\u07ff\\u0800\\uffff\\ud800\\udc00\"}"), /* the ends of each length */
     BYTES("a|T|\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80;")},
    {BYTES("{\"\xC3\xA9\":\"\xF0\x9F\x98\x80\x7F\"}"), BYTES("\xC3\xA9|T|\xF0\x9F\x98\x80\x7F;")},
};

static void reads_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        check_fields(fields_read_form, forms[i].text, forms[i].fields);
}

static void reads_objects(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        check_fields(fields_read_json, objects[i].text, objects[i].fields);
}

struct refusal {
    struct slice text;
    size_t column;
    const char *words; /* somewhere in them */
};

static const struct refusal bad_forms[] = {
    {BYTES("a=%"), 3, "%20"},        {BYTES("a=b%2"), 4, "%20"},    {BYTES("a%zz=1"), 2, "%20"},
    {BYTES("a=1&a=2"), 5, "once"},   {BYTES("a=1&%61"), 5, "once"}, {BYTES("=1"), 1, "a name"},
    {BYTES("a=1&&=1"), 6, "a name"}, {BYTES("a=%0x20"), 3, "%20"},
};

static const struct refusal bad_objects[] = {
    {BYTES(""), 1, "an object"},
    {BYTES("[]"), 1, "an object"},
    {BYTES("\xEF\xBB\xBF{}"), 1, "an object"},
    {BYTES("{"), 2, "a name in quotes"},
    {BYTES("{a:1}"), 2, "a name in quotes"},
    {BYTES("{\"a\":1,}"), 8, "a name in quotes"},
    {BYTES("{,}"), 2, "a name in quotes"},
    {BYTES("{\"a\" 1}"), 6, "a :"},
    {BYTES("{\"a\":}"), 6, "true, false or null"},
    {BYTES("{\"a\":tru}"), 6, "true, false or null"},
    {BYTES("{\"a\":truex}"), 10, "a , or a }"},
    {BYTES("{\"a\":'b'}"), 6, "\"text\""},
    {BYTES("{\"a\":{\"b\":{}}}"), 11, "whole number"},
    {BYTES("{\"a\":{\"b=c\":1}}"), 7, "of each unit"},
    {BYTES("{\"a\":{\"b\" 1}}"), 11, "of each unit"},
    {BYTES("{\"a\":{1}}"), 7, "of each unit"},
    {BYTES("{\"a\":{\"b\":1 \"c\":2}}"), 13, "of each unit"},
    {BYTES("{\"a\":{\"b\":1"), 12, "of each unit"},
    {BYTES("{\"a\":-1}"), 6, "whole number"},
    {BYTES("{\"a\":1.0}"), 6, "whole number"},
    {BYTES("{\"a\":1e3}"), 6, "whole number"},
    {BYTES("{\"a\":1E3}"), 6, "whole number"},
    {BYTES("{\"a\":01}"), 6, "whole number"},
    {BYTES("{\"a\":18446744073709551616}"), 6, "whole number"},
    {BYTES("{\"a\":1 2}"), 8, "a , or a }"},
    {BYTES("{\"a\":1;}"), 7, "a , or a }"},
    {BYTES("{\"a\":[1,]}"), 9, "whole number"},
    {BYTES("{\"a\":[,1]}"), 7, "whole number"},
    {BYTES("{\"a\":[1 2]}"), 9, "a , or a ]"},
    {BYTES("{\"a\":[\"b\"]}"), 7, "whole number"},
    {BYTES("{\"a\":[[1]]}"), 7, "whole number"},
    {BYTES("{\"a\":[1"), 8, "a , or a ]"},
    {BYTES("{\"a\":[1,2,3,4,5,6,7,8,9]}"), 23, "at most 8"},
    {BYTES("{\"a\":1,\"a\":2}"), 8, "once"},
    {BYTES("{\"a\":null,\"\\u0061\":2}"), 11, "once"},
    {BYTES("{\"\":1}"), 2, "a name"},
    {BYTES("{} x"), 4, "nothing after"},
    {BYTES("{}{}"), 3, "nothing after"},
    {BYTES("{}\0"), 3, "nothing after"},
    {BYTES("{\"a\":\"b"), 8, "second quote"},
    {BYTES("{\"a\":\"b\\"), 8, "one of"},
    {BYTES("{\"a\":\"\\x\"}"), 7, "one of"},
    {BYTES("{\"a\":\"\\\0\"}"), 7, "one of"},
    {BYTES("{\"a\":\"\\u12g4\"}"), 7, "four hexadecimal"},
    {BYTES("{\"a\":\"\\u123"), 7, "four hexadecimal"},
    {BYTES("{\"a\":\"\\ud83d\"}"), 7, "both halves"},
    {BYTES("{\"a\":\"\\ud83d\\n\"}"), 7, "both halves"},
    {BYTES("{\"a\":\"\\ud83d\\u0041\"}"), 7, "both halves"},
    {BYTES("{\"a\":\"\\ude00\\ud83d\"}"), 7, "both halves"},
    {BYTES("{\"a\":\"\n\"}"), 7, "control"},
    {BYTES("{\"a\":\"\0\"}"), 7, "control"},
    {BYTES("{\"a\":\"x\xC0\xAF\"}"), 8, "UTF-8"},
    {BYTES("{\"a\xE2\x82\":1}"), 4, "UTF-8"},
    {BYTES("{\"a\":\v1}"), 6, "\"text\""},
};

static void check_refusals(reads *read, const struct refusal list[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char memory[ROOM_SIZE];
        struct bytes room = {.memory = memory, .capacity = sizeof memory};
        struct fields fields;
        struct fields_problem problem = {0, NULL};
        if (read(list[i].text, &room, &fields, &problem)) fail_msg("read %s", list[i].text.bytes);
        if (problem.column != list[i].column || strstr(problem.words, list[i].words) == NULL)
            fail_msg("%s: column %zu: %s", list[i].text.bytes, problem.column, problem.words);
    }
}

static void refuses(void **state)
{
    (void)state;
    check_refusals(fields_read_form, bad_forms, sizeof bad_forms / sizeof *bad_forms);
    check_refusals(fields_read_json, bad_objects, sizeof bad_objects / sizeof *bad_objects);
}

static void most_fields(void **state)
{
    (void)state;
    char text[1024], memory[ROOM_SIZE];
    struct bytes form = {.memory = text, .capacity = sizeof text};
    struct fields fields;
    struct fields_problem problem;
    for (uint64_t i = 0; i <= FIELDS_MAX; i++) {
        bytes_text(&form, "a");
        bytes_number(&form, i);
        bytes_text(&form, "=&");
        struct bytes room = {.memory = memory, .capacity = sizeof memory};
        assert_int_equal(fields_read_form(bytes_slice(&form), &room, &fields, &problem), i < FIELDS_MAX);
    }
    assert_string_equal(problem.words, "expected at most 32 fields");
}

static void small_room(void **state)
{
    (void)state;
    char memory[8] = "1234567";
    struct bytes room = {.memory = memory, .size = 4, .capacity = 6};
    struct fields fields;
    struct fields_problem problem;
    assert_false(fields_read_form(SLICE("a=b"), &room, &fields, &problem));
    assert_true(room.full);
    room = (struct bytes){.memory = memory, .size = 3, .capacity = 6};
    assert_true(fields_read_form(SLICE("a=b"), &room, &fields, &problem));
    assert_string_equal(memory, "123ab67");
}

static void finds(void **state)
{
    (void)state;
    char memory[ROOM_SIZE];
    struct bytes room = {.memory = memory, .capacity = sizeof memory};
    struct fields fields;
    struct fields_problem problem;
    assert_true(fields_read_json(SLICE("{\"key\":\"a\",\"cost\":2,\"none\":null}"), &room, &fields, &problem));
    assert_ptr_equal(fields_find(&fields, "cost"), &fields.field[1]);
    assert_null(fields_find(&fields, "cos"));
    assert_null(fields_find(&fields, "none"));
    assert_int_equal(fields.count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_forms), cmocka_unit_test(reads_objects), cmocka_unit_test(refuses),
        cmocka_unit_test(most_fields), cmocka_unit_test(small_room),    cmocka_unit_test(finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
