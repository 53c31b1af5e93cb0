/* SPDX-License-Identifier: MIT
   Any bytes are fields or are refused at a column with words; what was read is the same again when it is
   written in the plainest way, and what is written in any way comes back. */
#include "format/fields.h"
#include "format/json.h"

#include <inttypes.h>
#include <stdio.h>

#include "property/pieces.h"

enum { TEXT_SIZE = 1 << 14, MEANT_MAX = 6, NAME_SIZE = 64 };

static const char *const pieces[] = {"{",
                                     "}",
                                     "[",
                                     "]",
                                     ":",
                                     ",",
                                     "\"",
                                     "\"a\":",
                                     "\"b\":",
                                     "\"\"",
                                     "true",
                                     "null",
                                     "false",
                                     "0",
                                     "1",
                                     "[1,2]",
                                     "-1",
                                     "1.5",
                                     "\\n",
                                     "\\u00e9",
                                     "\\ud83d\\ude00",
                                     "\\ud83d",
                                     "\\u",
                                     "\xC3\xA9",
                                     "\xC3",
                                     "\xED\xA0\x80",
                                     " ",
                                     "\r\n\t",
                                     "=",
                                     "&",
                                     "%20",
                                     "%",
                                     "+",
                                     "a=b&",
                                     "%C3%A9",
                                     "{\"a\":1,",
                                     "18446744073709551615",
                                     "18446744073709551616",
                                     "{\"tokens\":1",
                                     ",\"b\": 2}",
                                     "[1,2,3,4,5,6,7,8"};

typedef bool reads(struct slice text, struct bytes *room, struct fields *fields, struct fields_problem *problem);

/* ---- any bytes ---- */

static void check_fields(struct prop *prop, const struct fields *fields, struct slice room)
{
    prop_check(prop, fields->count <= FIELDS_MAX, "%u fields", fields->count);
    for (unsigned i = 0; i < fields->count; i++) {
        const struct field *field = &fields->field[i];
        check_inside(prop, field->name, room);
        check_inside(prop, field->value, room);
        prop_check(prop, field->name.size != 0 && field->numbers <= FIELDS_NUMBERS_MAX, "field %u", i);
        for (unsigned before = 0; before < i; before++)
            prop_check(prop, !slice_is(fields->field[before].name, field->name), "%u and %u have one name", before, i);
    }
}

static bool is_same(const struct field *one, const struct field *other)
{
    bool same = one->kind == other->kind && one->numbers == other->numbers && slice_is(one->name, other->name);
    if (one->kind == FIELD_TEXT || one->kind == FIELD_UNITS) same = same && slice_is(one->value, other->value);
    for (unsigned i = 0; i < one->numbers && same; i++) same = one->number[i] == other->number[i];
    return same;
}

static void write_units(const struct field *field, struct json *json)
{
    struct slice rest = field->value;
    json_object(json, NULL);
    for (unsigned i = 0; i < field->numbers; i++) {
        const char *is = memchr(rest.bytes, '=', rest.size);
        json_string(json, NULL, slice_between(rest.bytes, is));
        bytes_byte(json->out, ':');
        json->comma = false;
        json_number(json, NULL, field->number[i]);
        const char *end = memchr(is, ',', (size_t)(rest.bytes + rest.size - is));
        rest = slice_between(end != NULL ? end + 1 : is, rest.bytes + rest.size);
    }
    json_end_object(json);
}

static void write_value(const struct field *field, struct json *json)
{
    if (field->kind == FIELD_TEXT) json_string(json, NULL, field->value);
    else if (field->kind == FIELD_NULL) json_null(json, NULL);
    else if (field->kind == FIELD_BOOL) json_bool(json, NULL, field->number[0] != 0);
    else if (field->kind == FIELD_NUMBER) json_number(json, NULL, field->number[0]);
    else if (field->kind == FIELD_UNITS) write_units(field, json);
    else {
        json_array(json, NULL);
        for (unsigned i = 0; i < field->numbers; i++) json_number(json, NULL, field->number[i]);
        json_end_array(json);
    }
}

static void write_json(const struct fields *fields, struct bytes *out)
{
    struct json json = {.out = out};
    json_object(&json, NULL);
    for (unsigned i = 0; i < fields->count; i++) {
        json_string(&json, NULL, fields->field[i].name);
        bytes_byte(out, ':');
        json.comma = false;
        write_value(&fields->field[i], &json);
    }
    json_end_object(&json);
}

static void write_percents(struct slice plain, struct bytes *out)
{
    for (size_t i = 0; i < plain.size; i++) {
        const unsigned char byte = (unsigned char)plain.bytes[i];
        const char percent[] = {'%', "0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
        bytes_add(out, (struct slice){percent, sizeof percent});
    }
}

static void write_form(const struct fields *fields, struct bytes *out)
{
    for (unsigned i = 0; i < fields->count; i++) {
        if (i != 0) bytes_byte(out, '&');
        write_percents(fields->field[i].name, out);
        bytes_byte(out, '=');
        write_percents(fields->field[i].value, out);
    }
}

static void check_again(struct prop *prop, reads *read, const struct fields *fields)
{
    char written[4 * TEXT_SIZE], memory[4 * TEXT_SIZE];
    struct bytes out = {.memory = written, .capacity = sizeof written};
    struct bytes room = {.memory = memory, .capacity = sizeof memory};
    struct fields again;
    struct fields_problem problem = {0, NULL};
    if (read == fields_read_json) write_json(fields, &out);
    else write_form(fields, &out);
    prop_check(prop, !out.full && read(bytes_slice(&out), &room, &again, &problem), "again: column %zu: %s",
               problem.column, problem.words);
    prop_check(prop, again.count == fields->count, "%u fields, %u again", fields->count, again.count);
    for (unsigned i = 0; i < fields->count; i++)
        prop_check(prop, is_same(&fields->field[i], &again.field[i]), "another field %u: %.*s", i, (int)out.size,
                   written);
}

/* Nothing that ends before its last brace is an object. */
static void check_shorter(struct prop *prop, struct slice text)
{
    char memory[TEXT_SIZE];
    struct bytes room = {.memory = memory, .capacity = sizeof memory};
    struct fields fields;
    struct fields_problem problem;
    size_t end = text.size;
    while (text.bytes[end - 1] != '}') end--;
    const struct slice shorter = own(prop, (struct slice){text.bytes, prop_pick(prop, end)});
    prop_check(prop, !fields_read_json(shorter, &room, &fields, &problem), "%zu of %zu bytes are one", shorter.size,
               end);
    disown(shorter);
}

/* In room of just its size, less once in a while. */
static void read_any(struct prop *prop, reads *read, struct slice written)
{
    const struct slice text = own(prop, written), memory = own(prop, written);
    const bool too_small = text.size != 0 && prop_chance(prop, 16);
    struct bytes room = {.memory = (char *)memory.bytes, .capacity = text.size - too_small};
    struct fields fields;
    struct fields_problem problem = {0, NULL};
    const bool good = read(text, &room, &fields, &problem);
    prop_check(prop, good || (problem.words != NULL && problem.column >= 1), "no words");
    prop_check(prop, good || problem.column <= text.size + 1, "column %zu of %zu", problem.column, text.size);
    prop_check(prop, room.full == too_small && !(good && too_small), "its room");
    if (good) {
        check_fields(prop, &fields, bytes_slice(&room));
        check_again(prop, read, &fields);
        if (read == fields_read_json) check_shorter(prop, text);
    }
    disown(text);
    disown(memory);
}

static void any_bytes(struct prop *prop)
{
    char memory[TEXT_SIZE];
    struct bytes text = {.memory = memory, .capacity = sizeof memory / 4};
    reads *read = prop_chance(prop, 3) ? fields_read_form : fields_read_json;
    if (read == fields_read_json && prop_chance(prop, 2)) bytes_text(&text, "{\"a\":");
    ADD_PIECES(prop, &text, pieces, 100);
    if (read == fields_read_json && prop_chance(prop, 2)) bytes_text(&text, "}");
    prop_note(prop, "%s %.*s", read == fields_read_json ? "JSON" : "form", (int)text.size, memory);
    read_any(prop, read, bytes_slice(&text));
}

/* ---- what is written comes back ---- */

struct meant {
    struct fields fields;
    char memory[MEANT_MAX][2][NAME_SIZE];
};

static struct slice pick_text(struct prop *prop, char out[NAME_SIZE], unsigned prefix)
{
    static const char *const characters[] = {"a",
                                             "\"",
                                             "\\",
                                             "/",
                                             "\n",
                                             "\x01",
                                             " ",
                                             "+",
                                             "%",
                                             "&",
                                             "=",
                                             "}",
                                             "\xC3\xA9",
                                             "\xE2\x82\xAC",
                                             "\xF0\x9F\x98\x80",
                                             "\x7F",
                                             "{",
                                             ","};
    struct bytes text = {.memory = out, .capacity = NAME_SIZE};
    if (prefix != 0) bytes_number(&text, prefix);
    while (prop_more(prop, 4)) bytes_text(&text, PICK(prop, characters));
    return bytes_slice(&text);
}

static void pick_meant(struct prop *prop, struct meant *meant, bool is_json)
{
    static const enum field_kind kinds[] = {FIELD_TEXT, FIELD_NUMBER, FIELD_BOOL, FIELD_NUMBERS, FIELD_NULL};
    meant->fields.count = 0;
    while (prop_more(prop, 3) && meant->fields.count < MEANT_MAX) {
        const unsigned i = meant->fields.count++;
        struct field *field = &meant->fields.field[i];
        *field = (struct field){.name = pick_text(prop, meant->memory[i][0], i + 1)};
        field->kind = is_json ? kinds[prop_pick(prop, sizeof kinds / sizeof kinds[0])] : FIELD_TEXT;
        field->value = pick_text(prop, meant->memory[i][1], 0);
        if (field->kind == FIELD_NUMBER || field->kind == FIELD_BOOL) field->numbers = 1;
        if (field->kind == FIELD_NUMBERS) field->numbers = (unsigned)prop_pick(prop, FIELDS_NUMBERS_MAX + 1);
        for (unsigned at = 0; at < field->numbers; at++)
            field->number[at] = field->kind == FIELD_BOOL ? prop_pick(prop, 2) : prop_pick_size(prop, UINT64_MAX);
    }
}

static void add_blanks(struct prop *prop, struct bytes *out)
{
    while (prop_chance(prop, 4)) bytes_byte(out, " \t\r\n"[prop_pick(prop, 4)]);
}

/* Any character as \u, in one half or two. */
static void write_unicode(struct prop *prop, struct slice character, struct bytes *out)
{
    char escape[16];
    const unsigned char *byte = (const unsigned char *)character.bytes;
    unsigned point = byte[0];
    if (character.size > 1) point = byte[0] & (0xFFU >> (character.size + 1));
    for (size_t i = 1; i < character.size; i++) point = point << 6 | (byte[i] & 0x3FU);
    const char *format = prop_chance(prop, 2) ? "\\u%04x" : "\\u%04X";
    const char *pair = prop_chance(prop, 2) ? "\\u%04x\\u%04x" : "\\u%04X\\u%04X";
    if (point < 0x10000) snprintf(escape, sizeof escape, format, point);
    else
        snprintf(escape, sizeof escape, pair, 0xD800 + ((point - 0x10000) >> 10), 0xDC00 + ((point - 0x10000) & 0x3FF));
    bytes_text(out, escape);
}

static void write_string(struct prop *prop, struct slice text, struct bytes *out)
{
    bytes_byte(out, '"');
    while (text.size != 0) {
        const size_t size = slice_character(text);
        const struct slice character = {text.bytes, size};
        const char first = text.bytes[0];
        if (prop_chance(prop, 4) || (unsigned char)first < ' ') write_unicode(prop, character, out);
        else {
            if (first == '"' || first == '\\' || (first == '/' && prop_chance(prop, 2))) bytes_byte(out, '\\');
            bytes_add(out, character);
        }
        text = slice_from(text, size);
    }
    bytes_byte(out, '"');
}

static void write_any_json(struct prop *prop, const struct fields *fields, struct bytes *out)
{
    add_blanks(prop, out);
    bytes_byte(out, '{');
    for (unsigned i = 0; i < fields->count; i++) {
        if (i != 0) bytes_byte(out, ',');
        add_blanks(prop, out);
        write_string(prop, fields->field[i].name, out);
        add_blanks(prop, out);
        bytes_byte(out, ':');
        add_blanks(prop, out);
        if (fields->field[i].kind == FIELD_TEXT) write_string(prop, fields->field[i].value, out);
        else write_value(&fields->field[i], &(struct json){.out = out});
        add_blanks(prop, out);
    }
    add_blanks(prop, out);
    bytes_byte(out, '}');
    add_blanks(prop, out);
}

static void write_any_percents(struct prop *prop, struct slice plain, struct bytes *out)
{
    for (size_t i = 0; i < plain.size; i++) {
        const char byte = plain.bytes[i];
        const bool escaped = byte == '%' || byte == '&' || byte == '=' || byte == '+';
        if (byte == ' ' && prop_chance(prop, 2)) bytes_byte(out, '+');
        else if (escaped || prop_chance(prop, 4)) write_percents((struct slice){plain.bytes + i, 1}, out);
        else bytes_byte(out, byte);
    }
}

static void write_any_form(struct prop *prop, const struct fields *fields, struct bytes *out)
{
    for (unsigned i = 0; i < fields->count; i++) {
        if (i != 0) bytes_byte(out, '&');
        while (prop_chance(prop, 8)) bytes_byte(out, '&');
        write_any_percents(prop, fields->field[i].name, out);
        if (fields->field[i].value.size == 0 && prop_chance(prop, 2)) continue;
        bytes_byte(out, '=');
        write_any_percents(prop, fields->field[i].value, out);
    }
}

static void round_trip(struct prop *prop)
{
    char memory[TEXT_SIZE], decoded[TEXT_SIZE];
    struct bytes text = {.memory = memory, .capacity = sizeof memory}, room = {.memory = decoded};
    struct meant meant;
    struct fields fields;
    struct fields_problem problem = {0, NULL};
    const bool is_json = prop_chance(prop, 2);
    pick_meant(prop, &meant, is_json);
    if (is_json) write_any_json(prop, &meant.fields, &text);
    else write_any_form(prop, &meant.fields, &text);
    prop_note(prop, "%.*s", (int)text.size, memory);
    room.capacity = text.size;
    reads *read = is_json ? fields_read_json : fields_read_form;
    prop_check(prop, read(bytes_slice(&text), &room, &fields, &problem), "column %zu: %s", problem.column,
               problem.words);
    prop_check(prop, fields.count == meant.fields.count && !room.full, "%u fields", fields.count);
    for (unsigned i = 0; i < fields.count; i++)
        prop_check(prop, is_same(&fields.field[i], &meant.fields.field[i]), "another field %u", i);
    if (prop_chance(prop, 2)) spoil(prop, &text);
    read_any(prop, read, bytes_slice(&text));
}

static void fields_property(struct prop *prop)
{
    prop_step(prop);
    if (prop_chance(prop, 2)) any_bytes(prop);
    else round_trip(prop);
}

PROPERTY("fields", fields_property, 100000);
