/* SPDX-License-Identifier: MIT
   A query or form (application/x-www-form-urlencoded), or one flat object of JSON (RFC 8259), to fields.

       limit=api&key=a%20b&cost=2          {"limit": "api", "key": "a b", "cost": [2, 1000]}

   Reads each byte a bounded number of times, without recursion; each byte is of a field or refused at its column; a
   number that is taken is the one that was sent. */
#include "format/fields.h"

struct reader {
    const char *begin, *at, *end;
    struct bytes *room;
    struct fields *fields;
    struct fields_problem *problem;
};

/* Always false, so that a caller may return it. */
static bool wrong_at(struct reader *reader, const char *at, const char *words)
{
    *reader->problem = (struct fields_problem){(size_t)(at - reader->begin) + 1, words};
    return false;
}

static bool expected(struct reader *reader, const char *words)
{
    return wrong_at(reader, reader->at, words);
}

static bool is_next(const struct reader *reader, char byte)
{
    return reader->at < reader->end && *reader->at == byte;
}

static bool begin(struct reader *reader, struct slice text, struct bytes *room, struct fields *fields,
                  struct fields_problem *problem)
{
    *reader = (struct reader){text.bytes, text.bytes, text.bytes + text.size, room, fields, problem};
    fields->count = 0;
    if (room->memory != NULL && room->capacity - room->size >= text.size) return true;
    room->full = true;
    return expected(reader, "expected a shorter text: there is no room for so much");
}

/* ---- fields ---- */

/* Starts one of this name, which stands at `at`; NULL: there may be none. */
static struct field *add_field(struct reader *reader, const char *at, struct slice name)
{
    struct fields *fields = reader->fields;
    const char *words = NULL;
    if (name.size == 0) words = "expected a name, as in key=acme or {\"key\": \"acme\"}";
    if (fields->count == FIELDS_MAX) words = "expected at most 32 fields";
    for (unsigned i = 0; i < fields->count && words == NULL; i++) {
        if (slice_is(fields->field[i].name, name)) words = "expected each name once: this one is repeated";
    }
    if (words != NULL) {
        wrong_at(reader, at, words);
        return NULL;
    }
    struct field *field = &fields->field[fields->count++];
    field->name = name;
    field->value = slice_from(name, name.size);
    field->kind = FIELD_TEXT;
    field->numbers = 0;
    return field;
}

/* What was written to the room since it had this size. */
static struct slice written_since(const struct reader *reader, size_t size)
{
    return slice_from(bytes_slice(reader->room), size);
}

/* ---- a query or form ---- */

/* In a form, in a name as in a value. */
static inline bool stands_for_itself(char byte)
{
    return byte != '&' && byte != '=' && byte != '+' && byte != '%';
}

/* Up to & or the end, of a name to =, too. */
static bool read_decoded(struct reader *reader, bool is_name, struct slice *decoded)
{
    const size_t before = reader->room->size;
    for (; reader->at < reader->end && *reader->at != '&' && !(is_name && *reader->at == '='); reader->at++) {
        const char *start = reader->at;
        while (reader->at < reader->end && stands_for_itself(*reader->at)) reader->at++;
        bytes_add(reader->room, slice_between(start, reader->at));
        if (reader->at == reader->end || *reader->at == '&' || (is_name && *reader->at == '=')) break;
        int byte = (unsigned char)*reader->at;
        if (byte == '+') byte = ' ';
        if (byte == '%') {
            byte = slice_hex_number(slice_between(reader->at + 1, reader->end), 2);
            if (byte < 0)
                return expected(reader, "expected two hexadecimal digits after %, as in %20; % itself is %25");
            reader->at += 2;
        }
        bytes_byte(reader->room, (char)byte);
    }
    *decoded = written_since(reader, before);
    return true;
}

bool fields_read_form(struct slice text, struct bytes *room, struct fields *fields, struct fields_problem *problem)
{
    struct reader reader;
    struct slice name;
    if (!begin(&reader, text, room, fields, problem)) return false;
    for (; reader.at < reader.end; reader.at += is_next(&reader, '&')) {
        const char *start = reader.at;
        if (*start == '&') continue;
        if (!read_decoded(&reader, true, &name)) return false;
        struct field *field = add_field(&reader, start, name);
        if (field == NULL) return false;
        reader.at += is_next(&reader, '=');
        if (!read_decoded(&reader, false, &field->value)) return false;
    }
    return true;
}

/* ---- JSON: strings ---- */

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n' || *reader->at == '\r'))
        reader->at++;
}

/* At the backslash. */
static bool read_unicode(struct reader *reader)
{
    unsigned point;
    char character[4];
    const size_t size = slice_unicode(slice_between(reader->at + 2, reader->end), &point);
    if (size == 0) return expected(reader, "expected four hexadecimal digits after \\u, as in \\u00e9");
    if (point >= 0xD800 && point <= 0xDFFF)
        return expected(reader, "expected both halves of a pair, as in \\ud83d\\ude00");
    bytes_add(reader->room, (struct slice){character, slice_write_character(point, character)});
    reader->at += 2 + size;
    return true;
}

static bool read_escape(struct reader *reader)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const bool named = reader->end - reader->at > 1;
    if (named && reader->at[1] == 'u') return read_unicode(reader);
    const char *found = named ? memchr(names, reader->at[1], sizeof names - 1) : NULL;
    if (found == NULL) return expected(reader, "expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u00e9");
    bytes_byte(reader->room, meanings[found - names]);
    reader->at += 2;
    return true;
}

/* At the quote that opens it. */
static bool read_string(struct reader *reader, struct slice *string)
{
    const size_t before = reader->room->size;
    for (reader->at++; !is_next(reader, '"');) {
        const struct slice plain = {reader->at, slice_plain(slice_between(reader->at, reader->end))};
        bytes_add(reader->room, plain);
        reader->at += plain.size;
        if (is_next(reader, '"')) break;
        const struct slice rest = slice_between(reader->at, reader->end);
        const size_t size = slice_character(rest);
        if (rest.size == 0) return expected(reader, "expected a second quote, which ends the string");
        if (size == 0) return expected(reader, "expected UTF-8");
        if ((unsigned char)*rest.bytes < ' ')
            return expected(reader, "expected control characters in a string as \\n, \\t or \\u001f");
        if (*rest.bytes == '\\') {
            if (!read_escape(reader)) return false;
            continue;
        }
        bytes_add(reader->room, (struct slice){rest.bytes, size});
        reader->at += size;
    }
    reader->at++;
    *string = written_since(reader, before);
    return true;
}

/* ---- JSON: other values ---- */

static const char units[] = "expected a whole number of each unit, as in {\"tokens\": 812}";
static const char whole[] = "expected a whole number from 0 to 18446744073709551615, without zeros in front";

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_number(struct reader *reader, struct field *field)
{
    const char *start = reader->at;
    while (reader->at < reader->end && is_digit(*reader->at)) reader->at++;
    const bool goes_on = is_next(reader, '.') || is_next(reader, 'e') || is_next(reader, 'E');
    if (field->numbers == FIELDS_NUMBERS_MAX) return wrong_at(reader, start, "expected at most 8 numbers");
    if (goes_on || !slice_number(slice_between(start, reader->at), &field->number[field->numbers]))
        return wrong_at(reader, start, whole);
    field->numbers++;
    return true;
}

/* At the bracket. */
static bool read_numbers(struct reader *reader, struct field *field)
{
    reader->at++;
    skip_blanks(reader);
    while (!is_next(reader, ']')) {
        if (field->numbers != 0) {
            if (!is_next(reader, ',')) return expected(reader, "expected a , or a ], as in [1, 1000]");
            reader->at++;
            skip_blanks(reader);
        }
        if (!read_number(reader, field)) return false;
        skip_blanks(reader);
    }
    reader->at++;
    return true;
}

/* One of an object of numbers, to the room: tokens=812. */
static bool read_unit(struct reader *reader, struct field *field)
{
    const char *start = reader->at;
    struct slice unit;
    if (!is_next(reader, '"') || !read_string(reader, &unit)) return expected(reader, units);
    if (unit.size == 0 || slice_has(unit, '=') || slice_has(unit, ',')) return wrong_at(reader, start, units);
    skip_blanks(reader);
    if (!is_next(reader, ':')) return expected(reader, units);
    reader->at++;
    skip_blanks(reader);
    start = reader->at;
    if (!read_number(reader, field)) return false;
    bytes_byte(reader->room, '=');
    bytes_add(reader->room, slice_between(start, reader->at));
    return true;
}

/* At the brace. */
static bool read_units(struct reader *reader, struct field *field)
{
    const size_t before = reader->room->size;
    field->kind = FIELD_UNITS;
    reader->at++;
    skip_blanks(reader);
    while (!is_next(reader, '}')) {
        if (field->numbers != 0) {
            if (!is_next(reader, ',')) return expected(reader, units);
            bytes_byte(reader->room, ',');
            reader->at++;
            skip_blanks(reader);
        }
        if (!read_unit(reader, field)) return false;
        skip_blanks(reader);
    }
    reader->at++;
    field->value = written_since(reader, before);
    return true;
}

static bool read_word(struct reader *reader, struct field *field)
{
    static const struct {
        const char *word;
        enum field_kind kind;
    } words[] = {{"false", FIELD_BOOL}, {"true", FIELD_BOOL}, {"null", FIELD_NULL}};
    const struct slice rest = slice_between(reader->at, reader->end);
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        const struct slice word = slice_of(words[i].word);
        if (!slice_begins(rest, word)) continue;
        field->kind = words[i].kind;
        field->number[0] = i;
        field->numbers = field->kind == FIELD_BOOL;
        reader->at += word.size;
        return true;
    }
    if (is_next(reader, '-')) return expected(reader, whole);
    return expected(reader, "expected \"text\", a whole number, [numbers], true, false or null");
}

/* All but strings: as it was sent, too. */
static bool read_plain(struct reader *reader, struct field *field)
{
    const size_t before = reader->room->size;
    const char *start = reader->at;
    bool good;
    if (is_next(reader, '[')) {
        field->kind = FIELD_NUMBERS;
        good = read_numbers(reader, field);
    } else if (reader->at < reader->end && is_digit(*reader->at)) {
        field->kind = FIELD_NUMBER;
        good = read_number(reader, field);
    } else good = read_word(reader, field);
    if (!good) return false;
    bytes_add(reader->room, slice_between(start, reader->at));
    field->value = written_since(reader, before);
    return true;
}

/* "name": value */
static bool read_member(struct reader *reader)
{
    struct slice name;
    const char *start = reader->at;
    if (!is_next(reader, '"')) return expected(reader, "expected a name in quotes, as in {\"key\": \"acme\"}");
    if (!read_string(reader, &name)) return false;
    struct field *field = add_field(reader, start, name);
    if (field == NULL) return false;
    skip_blanks(reader);
    if (!is_next(reader, ':')) return expected(reader, "expected a : after the name, as in {\"key\": \"acme\"}");
    reader->at++;
    skip_blanks(reader);
    if (is_next(reader, '{')) return read_units(reader, field);
    return is_next(reader, '"') ? read_string(reader, &field->value) : read_plain(reader, field);
}

bool fields_read_json(struct slice text, struct bytes *room, struct fields *fields, struct fields_problem *problem)
{
    struct reader reader;
    if (!begin(&reader, text, room, fields, problem)) return false;
    skip_blanks(&reader);
    if (!is_next(&reader, '{'))
        return expected(&reader, "expected an object, as in {\"limit\": \"api\", \"key\": \"acme\"}");
    reader.at++;
    skip_blanks(&reader);
    while (!is_next(&reader, '}')) {
        if (fields->count != 0) {
            if (!is_next(&reader, ',')) return expected(&reader, "expected a , or a } after the value");
            reader.at++;
            skip_blanks(&reader);
        }
        if (!read_member(&reader)) return false;
        skip_blanks(&reader);
    }
    reader.at++;
    skip_blanks(&reader);
    return reader.at == reader.end || expected(&reader, "expected nothing after the last }");
}
