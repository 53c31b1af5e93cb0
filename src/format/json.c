/* SPDX-License-Identifier: MIT
   Writes JSON.  Strings are written in pieces, so that one of any length goes through a buffer that is drained. */
#include "format/json.h"

enum { DELETE = 0x7F, PIECE = 1024 };

/* NULL: there is none. */
static inline char *room(struct json *json, size_t size)
{
    if (json->drain != NULL && json->out->capacity - json->out->size < size) json->drain(json);
    return bytes_room(json->out, size);
}

static void add(struct json *json, struct slice slice)
{
    char *at = room(json, slice.size);
    if (at != NULL) memcpy(at, slice.bytes, slice.size);
}

static void add_byte(struct json *json, char byte)
{
    char *at = room(json, 1);
    if (at != NULL) *at = byte;
}

/* A comma, the name, and the value or what it begins with; all or nothing. */
static void put(struct json *json, struct slice name, struct slice value)
{
    char *at = room(json, json->comma + (name.bytes != NULL ? name.size + 3 : 0) + value.size);
    if (at == NULL) return;
    if (json->comma) *at++ = ',';
    if (name.bytes != NULL) {
        *at++ = '"';
        memcpy(at, name.bytes, name.size);
        at += name.size;
        *at++ = '"';
        *at++ = ':';
    }
    memcpy(at, value.bytes, value.size);
    json->comma = true;
}

void json_object(struct json *json, const char *name)
{
    put(json, json_name(name), (struct slice){"{", 1});
    json->comma = false;
}

void json_end_object(struct json *json)
{
    add_byte(json, '}');
    json->comma = true;
}

void json_array(struct json *json, const char *name)
{
    put(json, json_name(name), (struct slice){"[", 1});
    json->comma = false;
}

void json_end_array(struct json *json)
{
    add_byte(json, ']');
    json->comma = true;
}

void json_decimal(struct json *json, const char *name, const char *number)
{
    put(json, json_name(name), slice_of(number));
}

void json_add_number(struct json *json, struct slice name, uint64_t number)
{
    char digits[BYTES_NUMBER_MAX];
    char *end = digits + sizeof digits;
    put(json, name, slice_between(bytes_digits_before(end, number), end));
}

void json_bool(struct json *json, const char *name, bool value)
{
    json_decimal(json, name, value ? "true" : "false");
}

void json_null(struct json *json, const char *name)
{
    json_decimal(json, name, "null");
}

void json_line(struct json *json)
{
    if (json->comma) add_byte(json, ',');
    add_byte(json, '\n');
    json->comma = false;
}

/* ---- strings ---- */

static void add_control(struct json *json, unsigned char byte)
{
    static const char names[] = "btn.fr"; /* of 8 to 13 */
    const char name[] = {'\\', names[byte >= 8 && byte <= 13 ? byte - 8 : 3]};
    const char code[] = {'\\', 'u', '0', '0', slice_hex(byte >> 4), slice_hex(byte & 15)};
    add(json, name[1] != '.' ? (struct slice){name, sizeof name} : (struct slice){code, sizeof code});
}

/* U+0080 to U+009F in UTF-8: control characters, which a terminal obeys. */
static bool is_c1(struct slice rest)
{
    return rest.size >= 2 && (unsigned char)rest.bytes[0] == 0xC2 && (unsigned char)rest.bytes[1] >= 0x80 &&
           (unsigned char)rest.bytes[1] < 0xA0;
}

static bool is_plain(unsigned char byte, bool in_html)
{
    if (byte < ' ' || byte >= DELETE || byte == '"' || byte == '\\') return false;
    return !in_html || (byte != '<' && byte != '>' && byte != '&');
}

/* What needs an escape, or is no character: returns what it took. */
static size_t add_escaped(struct json *json, struct slice rest, bool key)
{
    const unsigned char byte = (unsigned char)rest.bytes[0];
    const char no_character[] = {'\\', '\\', 'x', slice_hex(byte >> 4), slice_hex(byte & 15)};
    if (byte == '"' || byte == '\\') add(json, (struct slice){(const char[]){'\\', (char)byte}, 2});
    else if (byte <= DELETE) add_control(json, byte);
    else if (is_c1(rest)) add_control(json, (unsigned char)rest.bytes[1]);
    else if (key) add(json, (struct slice){no_character, sizeof no_character});
    else add(json, slice_of("\xEF\xBF\xBD"));
    return is_c1(rest) ? 2 : 1;
}

/* Bytes at the start that stand for themselves. */
static size_t plain_size(struct slice text, bool in_html)
{
    const size_t most = text.size < PIECE ? text.size : PIECE;
    size_t at = 0;
    while (at < most) {
        if (!in_html) at += slice_plain((struct slice){text.bytes + at, most - at});
        if (at == most) break;
        if (is_plain((unsigned char)text.bytes[at], in_html)) {
            at++;
            continue;
        }
        if ((unsigned char)text.bytes[at] < 0x80) break;
        const struct slice here = slice_from(text, at);
        const size_t size = slice_character(here);
        if (size == 0 || is_c1(here)) break;
        at += size;
    }
    return at;
}

static void add_string(struct json *json, struct slice name, struct slice text, bool key)
{
    struct bytes *out = json->out;
    const size_t before = out->size;
    const bool was_full = out->full;
    out->full = false;
    put(json, name, (struct slice){"\"", 1});
    while (text.size != 0 && !out->full) {
        const size_t plain = plain_size(text, json->in_html);
        if (plain != 0) add(json, (struct slice){text.bytes, plain});
        text = slice_from(text, plain != 0 ? plain : add_escaped(json, text, key));
    }
    add_byte(json, '"');
    if (out->full) out->size = before; /* whole or not at all; one that is drained is never full */
    out->full = out->full || was_full;
}

void json_add_string(struct json *json, struct slice name, struct slice text)
{
    add_string(json, name, text, false);
}

void json_key(struct json *json, const char *name, struct slice key)
{
    add_string(json, json_name(name), key, true);
}
