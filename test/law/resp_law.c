/* SPDX-License-Identifier: MIT
   resp_law.c - any bytes are commands of Redis, or not, and however they are split the answer is the same: more, until
   what arrived is all of it; a command that wants more can be completed; and what is written is what is read. */
#include "format/resp.h"

#include <inttypes.h>
#include <stdio.h>

#include "law/pieces.h"

enum { TEXT_SIZE = 4 * RESP_COMMAND_MAX, ARGUMENT_MAX = 40 };

static const char *const pieces[] = {"*1\r\n",
                                     "*2\r\n",
                                     "*3\r\n",
                                     "*64\r\n",
                                     "*65\r\n",
                                     "*0\r\n",
                                     "*-1\r\n",
                                     "*",
                                     "$4\r\nPING\r\n",
                                     "$1\r\n",
                                     "$0\r\n\r\n",
                                     "$3\r\napi",
                                     "\r\n",
                                     "\r",
                                     "\n",
                                     " ",
                                     "\"",
                                     "'",
                                     "PING",
                                     "WEIR.TAKE",
                                     "a\r\n",
                                     "$65",
                                     "$65510\r\n",
                                     "$65536\r\n",
                                     "$-1\r\n",
                                     "POST ",
                                     "Host: ",
                                     "GET / HTTP/1.1",
                                     "CL.THROTTLE ",
                                     "$5\r\n15 30",
                                     "0",
                                     "\\",
                                     "$",
                                     "-",
                                     "$01\r\n"};

/* ---- what is read ---- */

static void check_command(struct law *law, struct slice bytes, const struct resp_command *command)
{
    law_check(law, command->size >= 1 && command->size <= bytes.size, "takes %zu of %zu", command->size, bytes.size);
    law_check(law, command->size <= RESP_COMMAND_MAX && command->count <= RESP_ARGUMENTS_MAX, "beyond the limits");
    const struct slice taken = {bytes.bytes, command->size};
    for (unsigned i = 0; i < command->count; i++) {
        check_inside(law, command->argument[i], taken);
        const char *before = i == 0 ? taken.bytes : command->argument[i - 1].bytes + command->argument[i - 1].size;
        law_check(law, command->argument[i].bytes >= before, "argument %u overlaps", i);
    }
}

static enum resp_result read_checked(struct law *law, struct slice bytes, struct resp_command *command)
{
    const char *problem = NULL;
    const enum resp_result result = resp_read(bytes, command, &problem);
    law_check(law, (problem != NULL) == (result == RESP_BAD), "words without a problem, or none");
    if (result == RESP_COMMAND) check_command(law, bytes, command);
    return result;
}

static bool is_same(const struct resp_command *one, struct slice of_one, const struct resp_command *other,
                    struct slice of_other)
{
    if (one->count != other->count || one->size != other->size) return false;
    for (unsigned i = 0; i < one->count; i++) {
        if (!is_same_part(one->argument[i], of_one.bytes, other->argument[i], of_other.bytes)) return false;
    }
    return true;
}

/* As it arrives, byte by byte: more, and then for ever what all of it is. */
static void check_splits(struct law *law, struct slice whole)
{
    struct resp_command command, part_command;
    const enum resp_result result = read_checked(law, whole, &command);
    bool waits = true;
    for (size_t size = 0; size <= whole.size; size = next_size(law, size, whole.size)) {
        const struct slice part = own(law, (struct slice){whole.bytes, size});
        const enum resp_result part_result = read_checked(law, part, &part_command);
        if (part_result != RESP_MORE) waits = false;
        law_check(law, waits || part_result == result, "%d of %zu bytes, %d of %zu", (int)part_result, size,
                  (int)result, whole.size);
        if (result == RESP_COMMAND) {
            law_check(law, waits == (size < command.size), "%zu bytes of %zu are enough", size, command.size);
            law_check(law, waits || is_same(&command, whole, &part_command, part), "another command of %zu", size);
        }
        disown(part);
    }
}

/* Adds bytes that leave a command as it is, or none: within a bulk any may follow. */
static bool add_bulk(struct law *law, struct bytes *text, size_t size)
{
    struct resp_command command;
    add_many(text, '0', size);
    if (read_checked(law, bytes_slice(text), &command) == RESP_MORE) return true;
    text->size -= size;
    return false;
}

/* The next byte of the shortest command that this can become. */
static enum resp_result add_next(struct law *law, struct bytes *text)
{
    static const char next[] = "\r\n$01";
    struct resp_command command;
    text->size++;
    for (size_t i = 0; next[i] != '\0'; i++) {
        text->memory[text->size - 1] = next[i];
        const enum resp_result result = read_checked(law, bytes_slice(text), &command);
        if (result == RESP_MORE || result == RESP_COMMAND) return result;
    }
    return RESP_BAD;
}

/* An array that wants more can become a command within the limits; a line has room. */
static void check_completion(struct law *law, struct bytes *text)
{
    struct resp_command command;
    enum resp_result result = read_checked(law, bytes_slice(text), &command);
    if (result != RESP_MORE) return;
    if (text->size == 0 || text->memory[0] != '*') {
        law_check(law, text->size < RESP_INLINE_MAX, "a line of %zu bytes", text->size);
        return;
    }
    while (result == RESP_MORE) {
        law_check(law, text->size < RESP_COMMAND_MAX, "wants more than the limit");
        if (add_bulk(law, text, 4096) || add_bulk(law, text, 64)) continue;
        result = add_next(law, text);
        law_check(law, result != RESP_BAD, "no byte may follow %zu", text->size - 1);
    }
}

static void any_bytes(struct law *law)
{
    char memory[TEXT_SIZE];
    struct bytes text = {.memory = memory, .capacity = sizeof memory / 2};
    ADD_PIECES(law, &text, pieces, law_chance(law, 2) ? RESP_INLINE_MAX : RESP_COMMAND_MAX);
    law_note(law, "%zu bytes: %.*s", text.size, (int)(text.size < 400 ? text.size : 400), memory);
    check_splits(law, bytes_slice(&text));
    check_completion(law, &text);
}

/* ---- what is written ---- */

static size_t pick_argument(struct law *law, char *out)
{
    static const char bytes[] = "a\r\n$*1 \"'\\:";
    size_t size = 0;
    while (law_more(law, 5) && size < ARGUMENT_MAX) out[size++] = bytes[law_pick(law, sizeof bytes)];
    return size;
}

static void arrays(struct law *law)
{
    char memory[TEXT_SIZE], plain[RESP_ARGUMENTS_MAX][ARGUMENT_MAX];
    size_t sizes[RESP_ARGUMENTS_MAX];
    struct bytes text = {.memory = memory, .capacity = sizeof memory};
    struct resp_command command;
    const unsigned count = (unsigned)law_pick_size(law, RESP_ARGUMENTS_MAX);
    resp_array(&text, count);
    for (unsigned i = 0; i < count; i++) {
        sizes[i] = pick_argument(law, plain[i]);
        resp_bulk(&text, (struct slice){plain[i], sizes[i]});
    }
    const size_t size = text.size;
    while (law_more(law, 3)) bytes_byte(&text, "*$\r\nP"[law_pick(law, 5)]);
    law_note(law, "%zu of %zu bytes: %.*s", size, text.size, (int)text.size, memory);
    law_check(law, read_checked(law, bytes_slice(&text), &command) == RESP_COMMAND, "no command");
    law_check(law, command.count == count && command.size == size, "%u of %u, %zu", command.count, count, command.size);
    for (unsigned i = 0; i < count; i++)
        law_check(law, slice_is(command.argument[i], (struct slice){plain[i], sizes[i]}), "argument %u", i);
    if (law_chance(law, 8)) spoil(law, &text);
    check_splits(law, bytes_slice(&text));
}

/* One bulk that ends around the limit: a command, or refused as soon as its length is known. */
static void near_limit(struct law *law)
{
    char memory[TEXT_SIZE];
    struct bytes text = {.memory = memory, .capacity = sizeof memory};
    struct resp_command command;
    const unsigned small = (unsigned)law_pick(law, RESP_ARGUMENTS_MAX);
    const size_t large = RESP_COMMAND_MAX - 420 + law_pick(law, 430);
    const uint64_t place = law_pick(law, small + 1);
    size_t known = 0;
    resp_array(&text, small + 1);
    for (unsigned i = 0; i <= small; i++) {
        if (i != place) {
            resp_bulk(&text, (struct slice){"", 0});
            continue;
        }
        bytes_byte(&text, '$');
        bytes_number(&text, large);
        known = text.size;
        bytes_text(&text, "\r\n");
        add_many(&text, 'a', large);
        bytes_text(&text, "\r\n");
    }
    const bool fits = text.size <= RESP_COMMAND_MAX;
    law_note(law, "%u and one of %zu at %u", small, large, (unsigned)place);
    law_check(law, read_checked(law, bytes_slice(&text), &command) == (fits ? RESP_COMMAND : RESP_BAD), "all of it");
    for (size_t size = known; size < text.size; size += 500 + law_pick(law, 4000)) {
        const enum resp_result result = read_checked(law, (struct slice){memory, size}, &command);
        law_check(law, result == (fits ? RESP_MORE : RESP_BAD), "%zu of %zu bytes", size, text.size);
    }
}

static void lines(struct law *law)
{
    static const char *const words[] = {"PING", "take", "10/s", "a\\b", "\xC3\xA9", "x", "CL.THROTTLE", "*1", "$4"};
    static const char *const blanks[] = {" ", "  ", "\t", " \t "};
    static const char *const plain[] = {"a b", "", "'", "$", "\t"};
    char memory[TEXT_SIZE];
    struct bytes text = {.memory = memory, .capacity = sizeof memory};
    struct slice expected[16];
    struct resp_command command;
    unsigned count = 0;
    while (law_more(law, 4) && count < 16) {
        const bool quoted = count != 0 && law_chance(law, 3);
        const char *word = quoted ? PICK(law, plain) : PICK(law, words);
        if (count == 0 && word[0] == '*') word = "PING";
        if (count != 0 || law_chance(law, 4)) bytes_text(&text, PICK(law, blanks));
        if (quoted) bytes_byte(&text, '"');
        expected[count++] = (struct slice){memory + text.size, strlen(word)};
        bytes_text(&text, word);
        if (quoted) bytes_byte(&text, '"');
    }
    bytes_text(&text, law_chance(law, 2) ? "\n" : "\r\n");
    law_note(law, "line %.*s", (int)text.size, memory);
    law_check(law, read_checked(law, bytes_slice(&text), &command) == RESP_COMMAND, "no command");
    law_check(law, command.count == count && command.size == text.size, "%u of %u words", command.count, count);
    for (unsigned i = 0; i < count; i++)
        law_check(law, is_same_part(command.argument[i], memory, expected[i], memory), "word %u", i);
    check_splits(law, bytes_slice(&text));
}

/* Numbers as printf has them; an error is one line whatever it says. */
static void answers(struct law *law)
{
    char memory[256], expected[64], what[32];
    struct bytes out = {.memory = memory, .capacity = sizeof memory};
    const uint64_t number = law_pick_size(law, UINT64_MAX);
    resp_integer(&out, (int64_t)number);
    int size = snprintf(expected, sizeof expected, ":%" PRId64 "\r\n", (int64_t)number);
    law_check(law, slice_is(bytes_slice(&out), (struct slice){expected, (size_t)size}), "%" PRIu64, number);
    out.size = 0;
    resp_array(&out, number);
    size = snprintf(expected, sizeof expected, "*%" PRIu64 "\r\n", number);
    law_check(law, slice_is(bytes_slice(&out), (struct slice){expected, (size_t)size}), "%" PRIu64, number);
    out.size = 0;
    for (size_t i = 0; i < sizeof what; i++) what[i] = "a\r\n-\0"[law_pick(law, 5)];
    resp_error(&out, (struct slice){what, sizeof what});
    law_check(law, out.size == sizeof what + 3 && memory[0] == '-', "%zu bytes", out.size);
    law_check(law, memchr(memory, '\r', out.size) == memory + out.size - 2, "a return in an error");
    law_check(law, memchr(memory, '\n', out.size) == memory + out.size - 1, "a second line in an error");
}

static void resp_property(struct law *law)
{
    law_step(law);
    switch (law_pick(law, 8)) {
    default:
        any_bytes(law);
        break;
    case 4:
    case 5:
        arrays(law);
        break;
    case 6:
        if (law_chance(law, 16)) near_limit(law);
        else lines(law);
        break;
    case 7:
        answers(law);
    }
}

LAW("resp", resp_property, 20000);
