/* SPDX-License-Identifier: MIT
   Text and numbers to an open file by way of a buffer, and bytes of any kind as strings of JSON.

   A string is valid JSON and UTF-8 whatever its bytes are. */
#include "cli/common/json.h"

#include <stdbool.h>
#include <string.h>

#include "format/bytes.h"

void json_flush(struct json *json)
{
    fwrite(json->buffer, 1, json->filled, json->out);
    json->filled = 0;
}

void json_bytes(struct json *json, const char *bytes, size_t size)
{
    if (size > JSON_BUFFER - json->filled) json_flush(json);
    if (size > JSON_BUFFER) {
        fwrite(bytes, 1, size, json->out);
        return;
    }
    memcpy(json->buffer + json->filled, bytes, size);
    json->filled += size;
}

void json_text(struct json *json, const char *text)
{
    json_bytes(json, text, strlen(text));
}

void json_number(struct json *json, uint64_t number)
{
    char digits[BYTES_NUMBER_MAX];
    char *const end = digits + sizeof digits, *const at = bytes_digits_before(end, number);
    json_bytes(json, at, (size_t)(end - at));
}

/* ---- strings ---- */

static bool plain(char c)
{
    return (unsigned char)c >= ' ' && (unsigned char)c < 0x7f && c != '"' && c != '\\';
}

static void escape(struct json *json, char c)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char byte = (unsigned char)c;
    if (c == '"' || c == '\\') {
        json_bytes(json, (const char[]){'\\', c}, 2);
        return;
    }
    json_bytes(json, (const char[]){'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]}, 6);
}

void json_string(struct json *json, const char *bytes, size_t size)
{
    json_text(json, "\"");
    for (size_t at = 0; at < size;) {
        size_t run = 0;
        while (at + run < size && plain(bytes[at + run])) run++;
        json_bytes(json, bytes + at, run);
        at += run;
        if (at == size) break;
        const size_t length = bytes_character((struct slice){bytes + at, size - at});
        const bool control = length == 2 && bytes[at] == '\xC2' && (unsigned char)bytes[at + 1] < 0xA0; /* C1 */
        if (control) escape(json, bytes[at + 1]);
        else if (length > 1) json_bytes(json, bytes + at, length);
        else if (length == 1) escape(json, bytes[at]);
        else json_text(json, "\\ufffd");
        at += length != 0 ? length : 1;
    }
    json_text(json, "\"");
}
