/* SPDX-License-Identifier: MIT
   Any bytes are commands of Redis, or not, and however they are split the answer is the same: more, until
   what arrived is all of it; a command that wants more can be completed; and what is written is what is read. */
#include "format/resp.h"

#include <inttypes.h>
#include <stdio.h>

#include "property/pieces.h"

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

static void check_command(struct prop *prop, struct slice bytes, const struct resp_command *command)
{
    prop_check(prop, command->size >= 1 && command->size <= bytes.size, "takes %zu of %zu", command->size, bytes.size);
    prop_check(prop, command->size <= RESP_COMMAND_MAX && command->count <= RESP_ARGUMENTS_MAX, "beyond the limits");
    const struct slice taken = {bytes.bytes, command->size};
    for (unsigned i = 0; i < command->count; i++) {
        check_inside(prop, command->argument[i], taken);
        const char *before = i == 0 ? taken.bytes : command->argument[i - 1].bytes + command->argument[i - 1].size;
        prop_check(prop, command->argument[i].bytes >= before, "argument %u overlaps", i);
    }
}

static enum resp_result read_checked(struct prop *prop, struct slice bytes, struct resp_command *command)
{
    const char *problem = NULL;
    const enum resp_result result = resp_read(bytes, command, &problem);
    prop_check(prop, (problem != NULL) == (result == RESP_BAD), "words without a problem, or none");
    if (result == RESP_COMMAND) check_command(prop, bytes, command);
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
static void check_splits(struct prop *prop, struct slice whole)
{
    struct resp_command command, part_command;
    const enum resp_result result = read_checked(prop, whole, &command);
    bool waits = true;
    for (size_t size = 0; size <= whole.size; size = next_size(prop, size, whole.size)) {
        const struct slice part = own(prop, (struct slice){whole.bytes, size});
        const enum resp_result part_result = read_checked(prop, part, &part_command);
        if (part_result != RESP_MORE) waits = false;
        prop_check(prop, waits || part_result == result, "%d of %zu bytes, %d of %zu", (int)part_result, size,
                   (int)result, whole.size);
        if (result == RESP_COMMAND) {
            prop_check(prop, waits == (size < command.size), "%zu bytes of %zu are enough", size, command.size);
            prop_check(prop, waits || is_same(&command, whole, &part_command, part), "another command of %zu", size);
        }
        disown(part);
    }
}

/* Adds bytes that leave a command as it is, or none: within a bulk any may follow. */
static bool add_bulk(struct prop *prop, struct bytes *text, size_t size)
{
    struct resp_command command;
    add_many(text, '0', size);
    if (read_checked(prop, bytes_slice(text), &command) == RESP_MORE) return true;
    text->size -= size;
    return false;
}

/* The next byte of the shortest command that this can become. */
static enum resp_result add_next(struct prop *prop, struct bytes *text)
{
    static const char next[] = "\r\n$01";
    struct resp_command command;
    text->size++;
    for (size_t i = 0; next[i] != '\0'; i++) {
        text->memory[text->size - 1] = next[i];
        const enum resp_result result = read_checked(prop, bytes_slice(text), &command);
        if (result == RESP_MORE || result == RESP_COMMAND) return result;
    }
    return RESP_BAD;
}

/* An array that wants more can become a command within the limits; a line has room. */
static void check_completion(struct prop *prop, struct bytes *text)
{
    struct resp_command command;
    enum resp_result result = read_checked(prop, bytes_slice(text), &command);
    if (result != RESP_MORE) return;
    if (text->size == 0 || text->memory[0] != '*') {
        prop_check(prop, text->size < RESP_INLINE_MAX, "a line of %zu bytes", text->size);
        return;
    }
    while (result == RESP_MORE) {
        prop_check(prop, text->size < RESP_COMMAND_MAX, "wants more than the limit");
        if (add_bulk(prop, text, 4096) || add_bulk(prop, text, 64)) continue;
        result = add_next(prop, text);
        prop_check(prop, result != RESP_BAD, "no byte may follow %zu", text->size - 1);
    }
}

static void any_bytes(struct prop *prop)
{
    char memory[TEXT_SIZE];
    struct bytes text = {.memory = memory, .capacity = sizeof memory / 2};
    ADD_PIECES(prop, &text, pieces, prop_chance(prop, 2) ? RESP_INLINE_MAX : RESP_COMMAND_MAX);
    prop_note(prop, "%zu bytes: %.*s", text.size, (int)(text.size < 400 ? text.size : 400), memory);
    check_splits(prop, bytes_slice(&text));
    check_completion(prop, &text);
}

/* ---- what is written ---- */

static size_t pick_argument(struct prop *prop, char *out)
{
    static const char bytes[] = "a\r\n$*1 \"'\\:";
    size_t size = 0;
    while (prop_more(prop, 5) && size < ARGUMENT_MAX) out[size++] = bytes[prop_pick(prop, sizeof bytes)];
    return size;
}

static void arrays(struct prop *prop)
{
    char memory[TEXT_SIZE], plain[RESP_ARGUMENTS_MAX][ARGUMENT_MAX];
    size_t sizes[RESP_ARGUMENTS_MAX];
    struct bytes text = {.memory = memory, .capacity = sizeof memory};
    struct resp_command command;
    const unsigned count = (unsigned)prop_pick_size(prop, RESP_ARGUMENTS_MAX);
    resp_array(&text, count);
    for (unsigned i = 0; i < count; i++) {
        sizes[i] = pick_argument(prop, plain[i]);
        resp_bulk(&text, (struct slice){plain[i], sizes[i]});
    }
    const size_t size = text.size;
    while (prop_more(prop, 3)) bytes_byte(&text, "*$\r\nP"[prop_pick(prop, 5)]);
    prop_note(prop, "%zu of %zu bytes: %.*s", size, text.size, (int)text.size, memory);
    prop_check(prop, read_checked(prop, bytes_slice(&text), &command) == RESP_COMMAND, "no command");
    prop_check(prop, command.count == count && command.size == size, "%u of %u, %zu", command.count, count,
               command.size);
    for (unsigned i = 0; i < count; i++)
        prop_check(prop, slice_is(command.argument[i], (struct slice){plain[i], sizes[i]}), "argument %u", i);
    if (prop_chance(prop, 8)) spoil(prop, &text);
    check_splits(prop, bytes_slice(&text));
}

/* One bulk that ends around the limit: a command, or refused as soon as its length is known. */
static void near_limit(struct prop *prop)
{
    char memory[TEXT_SIZE];
    struct bytes text = {.memory = memory, .capacity = sizeof memory};
    struct resp_command command;
    const unsigned small = (unsigned)prop_pick(prop, RESP_ARGUMENTS_MAX);
    const size_t large = RESP_COMMAND_MAX - 420 + prop_pick(prop, 430);
    const uint64_t place = prop_pick(prop, small + 1);
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
    prop_note(prop, "%u and one of %zu at %u", small, large, (unsigned)place);
    prop_check(prop, read_checked(prop, bytes_slice(&text), &command) == (fits ? RESP_COMMAND : RESP_BAD), "all of it");
    for (size_t size = known; size < text.size; size += 500 + prop_pick(prop, 4000)) {
        const enum resp_result result = read_checked(prop, (struct slice){memory, size}, &command);
        prop_check(prop, result == (fits ? RESP_MORE : RESP_BAD), "%zu of %zu bytes", size, text.size);
    }
}

static void lines(struct prop *prop)
{
    static const char *const words[] = {"PING", "take", "10/s", "a\\b", "\xC3\xA9", "x", "CL.THROTTLE", "*1", "$4"};
    static const char *const blanks[] = {" ", "  ", "\t", " \t "};
    static const char *const plain[] = {"a b", "", "'", "$", "\t"};
    char memory[TEXT_SIZE];
    struct bytes text = {.memory = memory, .capacity = sizeof memory};
    struct slice expected[16];
    struct resp_command command;
    unsigned count = 0;
    while (prop_more(prop, 4) && count < 16) {
        const bool quoted = count != 0 && prop_chance(prop, 3);
        const char *word = quoted ? PICK(prop, plain) : PICK(prop, words);
        if (count == 0 && word[0] == '*') word = "PING";
        if (count != 0 || prop_chance(prop, 4)) bytes_text(&text, PICK(prop, blanks));
        if (quoted) bytes_byte(&text, '"');
        expected[count++] = (struct slice){memory + text.size, strlen(word)};
        bytes_text(&text, word);
        if (quoted) bytes_byte(&text, '"');
    }
    bytes_text(&text, prop_chance(prop, 2) ? "\n" : "\r\n");
    prop_note(prop, "line %.*s", (int)text.size, memory);
    prop_check(prop, read_checked(prop, bytes_slice(&text), &command) == RESP_COMMAND, "no command");
    prop_check(prop, command.count == count && command.size == text.size, "%u of %u words", command.count, count);
    for (unsigned i = 0; i < count; i++)
        prop_check(prop, is_same_part(command.argument[i], memory, expected[i], memory), "word %u", i);
    check_splits(prop, bytes_slice(&text));
}

/* Numbers as printf has them; an error is one line whatever it says. */
static void answers(struct prop *prop)
{
    char memory[256], expected[64], what[32];
    struct bytes out = {.memory = memory, .capacity = sizeof memory};
    const uint64_t number = prop_pick_size(prop, UINT64_MAX);
    resp_integer(&out, (int64_t)number);
    int size = snprintf(expected, sizeof expected, ":%" PRId64 "\r\n", (int64_t)number);
    prop_check(prop, slice_is(bytes_slice(&out), (struct slice){expected, (size_t)size}), "%" PRIu64, number);
    out.size = 0;
    resp_array(&out, (size_t)number);
    size = snprintf(expected, sizeof expected, "*%zu\r\n", (size_t)number);
    prop_check(prop, slice_is(bytes_slice(&out), (struct slice){expected, (size_t)size}), "%" PRIu64, number);
    out.size = 0;
    for (size_t i = 0; i < sizeof what; i++) what[i] = "a\r\n-\0"[prop_pick(prop, 5)];
    resp_error(&out, (struct slice){what, sizeof what});
    prop_check(prop, out.size == sizeof what + 3 && memory[0] == '-', "%zu bytes", out.size);
    prop_check(prop, memchr(memory, '\r', out.size) == memory + out.size - 2, "a return in an error");
    prop_check(prop, memchr(memory, '\n', out.size) == memory + out.size - 1, "a second line in an error");
}

static void resp_property(struct prop *prop)
{
    prop_step(prop);
    switch (prop_pick(prop, 8)) {
    default:
        any_bytes(prop);
        break;
    case 4:
    case 5:
        arrays(prop);
        break;
    case 6:
        if (prop_chance(prop, 16)) near_limit(prop);
        else lines(prop);
        break;
    case 7:
        answers(prop);
    }
}

PROPERTY("resp", resp_property, 20000);
