/* SPDX-License-Identifier: MIT
   json.c - text and numbers to an open file by way of a buffer, and bytes of any kind as strings of JSON.

   May touch: an open file.  Promises: a string is valid JSON and UTF-8 whatever its bytes are.  Leaves to others: what
   to do when the file cannot be written (its error flag says so). */
#include "cli/json.h"

#include <stdbool.h>
#include <string.h>

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
    char digits[20];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    json_bytes(json, digits + at, sizeof digits - at);
}

/* ---- strings ---- */

static bool continues(const char *bytes, size_t size)
{
    for (size_t i = 1; i < size; i++) {
        if (((unsigned char)bytes[i] & 0xc0) != 0x80) return false;
    }
    return true;
}

size_t utf8_length(const char *bytes, size_t size)
{
    const unsigned char first = (unsigned char)bytes[0];
    const size_t length = first < 0x80   ? 1
                          : first < 0xc2 ? 0
                          : first < 0xe0 ? 2
                          : first < 0xf0 ? 3
                          : first < 0xf5 ? 4
                                         : 0;
    if (length > size || !continues(bytes, length)) return 0;
    const unsigned char second = length > 1 ? (unsigned char)bytes[1] : 0;
    const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool surrogate = first == 0xed && second > 0x9f, beyond = first == 0xf4 && second > 0x8f;
    return overlong || surrogate || beyond ? 0 : length;
}

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
        const size_t length = utf8_length(bytes + at, size - at);
        if (length > 1) json_bytes(json, bytes + at, length);
        else if (length == 1) escape(json, bytes[at]);
        else json_text(json, "\\ufffd");
        at += length != 0 ? length : 1;
    }
    json_text(json, "\"");
}
