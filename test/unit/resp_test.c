/* SPDX-License-Identifier: MIT
   Commands of Redis as they come, what is none of them, and answers byte by byte.

   Each limit is met from both sides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/resp.h"
#include "owned.h"

#define BYTES(literal)                                                                                                 \
    {                                                                                                                  \
        literal, sizeof(literal) - 1                                                                                   \
    }
#define SLICE(literal) ((struct slice)BYTES(literal))

enum { BUFFER_SIZE = 2 * RESP_COMMAND_MAX };

static enum resp_result read_of(struct slice bytes, struct resp_command *command)
{
    const char *problem = NULL;
    const enum resp_result result = resp_read(bytes, command, &problem);
    assert_int_equal(problem != NULL, result == RESP_BAD);
    if (result == RESP_COMMAND) assert_in_range(command->size, 1, bytes.size);
    return result;
}

static const struct {
    struct slice bytes;
    const char *words; /* arguments, parted by | */
    size_t behind;     /* bytes that are not its own */
} commands[] = {
    {BYTES("*1\r\n$4\r\nPING\r\n"), "PING", 0},
    {BYTES("*3\r\n$9\r\nWEIR.TAKE\r\n$3\r\napi\r\n$4\r\nacme\r\n*1\r\n"), "WEIR.TAKE|api|acme", 4},
    {BYTES("*2\r\n$0\r\n\r\n$12\r\n\r\n$1\r\n*1\r\n\"'\r\n"), "|\r\n$1\r\n*1\r\n\"'", 0},
    {BYTES("*0\r\n*0\r\n"), "", 4},
    {BYTES("*-1\r\nPING\r\n"), "", 6},
    {BYTES("PING\r\n"), "PING", 0},
    {BYTES("PING\nPING\n"), "PING", 5},
    {BYTES("  \techo  a\t b \r\nx"), "echo|a|b", 1},
    {BYTES("set \"a b\" 'c \"d'  \"\"\r\n"), "set|a b|c \"d|", 0},
    {BYTES("\r\n"), "", 0},
    {BYTES("\n"), "", 0},
    {BYTES(" \t \r\n"), "", 0},
    {BYTES("postpone Host: x\r\n"), "postpone|Host:|x", 0},
    {BYTES("take a\\b \xC3\xA9\r\n"), "take|a\\b|\xC3\xA9", 0},
    {BYTES("GET HTTP/1.1\r\n"), "GET|HTTP/1.1", 0},
};

static void reads_commands(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct resp_command command;
        char words[128] = "";
        struct bytes joined = {.memory = words, .capacity = sizeof words};
        assert_int_equal(read_of(commands[i].bytes, &command), RESP_COMMAND);
        for (unsigned at = 0; at < command.count; at++) {
            if (at != 0) bytes_byte(&joined, '|');
            bytes_add(&joined, command.argument[at]);
        }
        assert_int_equal(joined.size, strlen(commands[i].words));
        assert_memory_equal(words, commands[i].words, joined.size);
        assert_int_equal(command.size, commands[i].bytes.size - commands[i].behind);
        if (joined.size == 0) assert_int_equal(command.count, 0);
    }
}

static const struct {
    struct slice bytes;
    const char *problem; /* how it begins */
} refused[] = {
    {BYTES("*x"), "Protocol error: invalid multibulk length"},
    {BYTES("*\r"), "Protocol error: invalid multibulk length"},
    {BYTES("*+1"), "Protocol error: invalid multibulk length"},
    {BYTES("* 1"), "Protocol error: invalid multibulk length"},
    {BYTES("*01"), "Protocol error: invalid multibulk length"},
    {BYTES("*65"), "Protocol error: invalid multibulk length"},
    {BYTES("*1\n"), "Protocol error: invalid multibulk length"},
    {BYTES("*1\rx"), "Protocol error: invalid multibulk length"},
    {BYTES("*-2"), "Protocol error: invalid multibulk length"},
    {BYTES("*-1x"), "Protocol error: invalid multibulk length"},
    {BYTES("*18446744073709551617\r\n"), "Protocol error: invalid multibulk length"},
    {BYTES("*1\r\nPING\r\n"), "Protocol error: expected '$'"},
    {BYTES("*1\r\n*"), "Protocol error: expected '$'"},
    {BYTES("*1\r\n$-1\r\n"), "Protocol error: invalid bulk length"},
    {BYTES("*1\r\n$\r\n"), "Protocol error: invalid bulk length"},
    {BYTES("*1\r\n$04\r\n"), "Protocol error: invalid bulk length"},
    {BYTES("*1\r\n$65537"), "Protocol error: invalid bulk length"},
    {BYTES("*1\r\n$18446744073709551616\r\n"), "Protocol error: invalid bulk length"},
    {BYTES("*1\r\n$4\r\nPINGx"), "Protocol error: expected \\r\\n"},
    {BYTES("*1\r\n$4\r\nPING\rx"), "Protocol error: expected \\r\\n"},
    {BYTES("*1\r\n$4\r\nPING\n\n"), "Protocol error: expected \\r\\n"},
    {BYTES("a \"b\r\n"), "Protocol error: unbalanced quotes"},
    {BYTES("a 'b\r\n"), "Protocol error: unbalanced quotes"},
    {BYTES("a \"b\"c\r\n"), "Protocol error: unbalanced quotes"},
    {BYTES("a b\"c\"\r\n"), "Protocol error: unbalanced quotes"},
    {BYTES("a b'\r\n"), "Protocol error: unbalanced quotes"},
    {BYTES("a \"\\x41\"\r\n"), "Protocol error: no escapes"},
    {BYTES("\x16\x03\x01"), "Protocol error: a line has bytes"},
    {BYTES("PI\0"), "Protocol error: a line has bytes"},
    {BYTES("PING\rx"), "Protocol error: a line has bytes"},
    {BYTES("PING\x7F"), "Protocol error: a line has bytes"},
};

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct resp_command command;
        const char *problem = NULL;
        assert_int_equal(resp_read(refused[i].bytes, &command, &problem), RESP_BAD);
        assert_non_null(problem);
        assert_memory_equal(problem, refused[i].problem, strlen(refused[i].problem));
    }
}

static void foreign(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "POST / HTTP/1.1\r\n",   "post\r\n", " POST x\n",          "Host: localhost:9347\r\n",
        "hOST:localhost\r\n",    "host:\n",  "GET / HTTP/1.1\r\n", "OPTIONS * HTTP/1.0\n",
        "get \"/\" http/1.1\r\n"};
    struct resp_command command;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(read_of(slice_of(lines[i]), &command), RESP_FOREIGN);
}

static void waits(void **state)
{
    (void)state;
    static const char *const starts[] = {"",
                                         "*",
                                         "*6",
                                         "*64\r",
                                         "*-",
                                         "*-1\r",
                                         "*1\r\n",
                                         "*1\r\n$",
                                         "*1\r\n$6553",
                                         "*1\r\n$4\r\nP",
                                         "*1\r\n$0\r\n\r",
                                         "PING",
                                         "PING\r",
                                         " ",
                                         "\"",
                                         "HOST:",
                                         "POST /"};
    struct resp_command command;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        assert_int_equal(read_of(slice_of(starts[i]), &command), RESP_MORE);
}

/* An array of one argument as long as it may be, and longer. */
static void largest_array(void **state)
{
    (void)state;
    enum { AROUND = 4 + 8 + 2 };
    char *buffer = calloc(1, BUFFER_SIZE);
    struct resp_command command;
    assert_non_null(buffer);
    for (int over = -1; over <= 1; over++) {
        const int size = RESP_COMMAND_MAX - AROUND + over;
        const int head = snprintf(buffer, BUFFER_SIZE, "*1\r\n$%d\r\n", size);
        memcpy(buffer + head + size, "\r\n", 3);
        const size_t all = (size_t)(head + size + 2);
        assert_int_equal(read_of((struct slice){buffer, all}, &command), over > 0 ? RESP_BAD : RESP_COMMAND);
        assert_int_equal(read_of((struct slice){buffer, (size_t)head}, &command), over > 0 ? RESP_BAD : RESP_MORE);
        assert_int_equal(read_of((struct slice){buffer, (size_t)head - 2}, &command), over > 0 ? RESP_BAD : RESP_MORE);
        if (over <= 0) assert_int_equal(read_of((struct slice){buffer, all - 1}, &command), RESP_MORE);
        if (over <= 0) assert_int_equal(command.size <= RESP_COMMAND_MAX, 1);
    }
    free(buffer);
}

/* Room that the arguments still to come need is none for this one. */
static void room_for_the_rest(void **state)
{
    (void)state;
    enum { AROUND = 4 + 8 + 2 + 6 };
    for (int over = 0; over <= 1; over++) {
        char text[64];
        struct resp_command command;
        snprintf(text, sizeof text, "*2\r\n$%d\r\n", RESP_COMMAND_MAX - AROUND + over);
        assert_int_equal(read_of(slice_of(text), &command), over ? RESP_BAD : RESP_MORE);
    }
}

static void most_arguments(void **state)
{
    (void)state;
    char text[1024];
    struct resp_command command;
    struct bytes bytes = {.memory = text, .capacity = sizeof text};
    resp_array(&bytes, RESP_ARGUMENTS_MAX);
    for (int i = 0; i < RESP_ARGUMENTS_MAX; i++) resp_bulk(&bytes, SLICE("a"));
    assert_int_equal(read_of(bytes_slice(&bytes), &command), RESP_COMMAND);
    assert_int_equal(command.count, RESP_ARGUMENTS_MAX);
    bytes.size = 0;
    for (int i = 0; i < RESP_ARGUMENTS_MAX; i++) bytes_text(&bytes, "a ");
    bytes_byte(&bytes, '\n');
    assert_int_equal(read_of(bytes_slice(&bytes), &command), RESP_COMMAND);
    assert_int_equal(command.count, RESP_ARGUMENTS_MAX);
    bytes.size--;
    bytes_text(&bytes, "a\n");
    assert_int_equal(read_of(bytes_slice(&bytes), &command), RESP_BAD);
}

static void largest_line(void **state)
{
    (void)state;
    char line[RESP_INLINE_MAX + 1];
    struct resp_command command;
    memset(line, 'a', sizeof line);
    assert_int_equal(read_of((struct slice){line, RESP_INLINE_MAX - 1}, &command), RESP_MORE);
    assert_int_equal(read_of((struct slice){line, RESP_INLINE_MAX}, &command), RESP_BAD);
    line[RESP_INLINE_MAX] = '\n';
    assert_int_equal(read_of((struct slice){line, sizeof line}, &command), RESP_BAD);
    line[RESP_INLINE_MAX - 1] = '\n';
    assert_int_equal(read_of((struct slice){line, sizeof line}, &command), RESP_COMMAND);
    assert_int_equal(command.size, RESP_INLINE_MAX);
}

static void names(void **state)
{
    (void)state;
    assert_true(resp_is(SLICE("cl.Throttle"), "CL.THROTTLE"));
    assert_true(resp_is(SLICE(""), ""));
    assert_false(resp_is(SLICE("PIN"), "PING"));
    assert_false(resp_is(SLICE("PINGS"), "PING"));
    assert_false(resp_is(SLICE("PING\0"), "PING"));
    assert_false(resp_is(SLICE("CL\016THROTTLE"), "CL.THROTTLE"));
    assert_false(resp_is(SLICE("{"), "["));
    const char *begun = owned_copy("PIN", 3);
    assert_false(resp_is((struct slice){begun, 3}, "PING"));
    owned_free(begun);
}

static void answers(void **state)
{
    (void)state;
    static const char expected[] = "*2\r\n*4\r\n%2\r\n$0\r\n\r\n$4\r\n\r\na\0\r\n+OK\r\n:0\r\n:-9223372036854775808\r\n"
                                   ":9223372036854775807\r\n$-1\r\n_\r\n-ERR a  b\r\n";
    char memory[sizeof expected];
    struct bytes out = {.memory = memory, .capacity = sizeof memory};
    resp_array(&out, 2);
    resp_map(&out, 2, 2);
    resp_map(&out, 3, 2);
    resp_bulk(&out, SLICE(""));
    resp_bulk(&out, SLICE("\r\na\0"));
    resp_simple(&out, "OK");
    resp_integer(&out, 0);
    resp_integer(&out, INT64_MIN);
    resp_integer(&out, INT64_MAX);
    resp_null(&out, 2);
    resp_null(&out, 3);
    resp_error(&out, SLICE("ERR a\r\nb"));
    assert_false(out.full);
    assert_int_equal(out.size, sizeof expected - 1);
    assert_memory_equal(memory, expected, out.size);
}

/* An answer that has no room is left out whole. */
static void answers_without_room(void **state)
{
    (void)state;
    char memory[8];
    for (size_t capacity = 0; capacity < sizeof memory; capacity++) {
        struct bytes out = {.memory = memory, .capacity = capacity};
        resp_bulk(&out, SLICE("ab"));
        resp_error(&out, SLICE("ERR ab"));
        resp_simple(&out, "ABCDEF");
        resp_integer(&out, -12345);
        resp_integer(&out, 123456);
        resp_integers(&out, (const int64_t[]){0, -1}, 2);
        assert_true(out.full);
        assert_int_equal(out.size, 0);
    }
    /* Much room is much that is left of it. */
    char much[RESP_INTEGERS_MAX * 64];
    struct bytes out = {.memory = much, .size = sizeof much - 16, .capacity = sizeof much - 8};
    memset(much, 'a', sizeof much);
    resp_integer(&out, -12345);
    assert_true(out.full);
    assert_int_equal(out.size, sizeof much - 16);
    for (size_t i = 0; i < sizeof much; i++) assert_int_equal(much[i], 'a');
}

/* All that an answer can say, one after the other. */
static void many_integers(void **state)
{
    (void)state;
    static const char longest[] = ":-9223372036854775808\r\n";
    char memory[RESP_INTEGERS_MAX * sizeof longest];
    struct bytes out = {.memory = memory, .capacity = sizeof memory};
    int64_t least[RESP_INTEGERS_MAX];
    for (size_t i = 0; i < RESP_INTEGERS_MAX; i++) least[i] = INT64_MIN;
    resp_integers(&out, least, RESP_INTEGERS_MAX);
    assert_int_equal(out.size, RESP_INTEGERS_MAX * (sizeof longest - 1));
    for (size_t i = 0; i < RESP_INTEGERS_MAX; i++)
        assert_memory_equal(memory + i * (sizeof longest - 1), longest, sizeof longest - 1);
    out.size = 0;
    resp_integers(&out, (const int64_t[]){0, -1, 10, 99, 100}, 5);
    assert_int_equal(out.size, 25);
    assert_memory_equal(memory, ":0\r\n:-1\r\n:10\r\n:99\r\n:100\r\n", out.size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_integers),
        cmocka_unit_test(reads_commands),
        cmocka_unit_test(refuses),
        cmocka_unit_test(foreign),
        cmocka_unit_test(waits),
        cmocka_unit_test(largest_array),
        cmocka_unit_test(room_for_the_rest),
        cmocka_unit_test(most_arguments),
        cmocka_unit_test(largest_line),
        cmocka_unit_test(names),
        cmocka_unit_test(answers),
        cmocka_unit_test(answers_without_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
