/* SPDX-License-Identifier: MIT
   Undoes the escapes of JSON (\" \n \u00e9), of nginx (\x22) and of Apache (\" \t \x16).

   Never writes more bytes than it reads; an escape that means nothing stays as it is, half a surrogate pair becomes
   U+FFFD. */
#include "format/log/split.h"

enum { BAD_ESCAPE = -1, REPLACEMENT = 0xFFFD };

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return BAD_ESCAPE;
}

/* The first `count` bytes; BAD_ESCAPE: they are not there or no digits. */
static int hex_of(struct slice text, size_t count)
{
    int value = 0;
    if (text.size < count) return BAD_ESCAPE;
    for (size_t i = 0; i < count; i++) {
        const int digit = digit_of(text.bytes[i]);
        if (digit < 0) return BAD_ESCAPE;
        value = value * 16 + digit;
    }
    return value;
}

static size_t write_utf8(unsigned point, char out[4])
{
    const unsigned more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    for (unsigned i = more; i > 0; i--, point >>= 6) out[i] = (char)(0x80 | (point & 0x3F));
    out[0] = (char)(first[more] | point);
    return more + 1;
}

/* Behind \u.  Returns what it took. */
static size_t read_unicode(struct slice text, unsigned *point)
{
    const int first = hex_of(text, 4);
    if (first < 0) return 0;
    *point = (unsigned)first;
    if (first < 0xD800 || first > 0xDFFF) return 4;
    const bool pair = first < 0xDC00 && text.size >= 6 && text.bytes[4] == '\\' && text.bytes[5] == 'u';
    const int second = pair ? hex_of(slice_from(text, 6), 4) : BAD_ESCAPE;
    if (second < 0xDC00 || second > 0xDFFF) {
        *point = REPLACEMENT;
        return 4;
    }
    *point = 0x10000 + ((unsigned)first - 0xD800) * 0x400 + ((unsigned)second - 0xDC00);
    return 10;
}

/* Behind the backslash.  Returns what it took; 0: it is no escape. */
static size_t read_escape(struct slice text, char out[4], size_t *written)
{
    static const char names[] = "\"\\/bfnrtv", meanings[] = "\"\\/\b\f\n\r\t\v";
    unsigned point = 0;
    *written = 1;
    if (text.size == 0 || text.bytes[0] == '\0') return 0;
    const char *name = memchr(names, text.bytes[0], sizeof names - 1);
    if (name != NULL) {
        out[0] = meanings[name - names];
        return 1;
    }
    if (text.bytes[0] == 'x' && hex_of(slice_from(text, 1), 2) >= 0) {
        out[0] = (char)hex_of(slice_from(text, 1), 2);
        return 3;
    }
    const size_t taken = text.bytes[0] == 'u' ? read_unicode(slice_from(text, 1), &point) : 0;
    if (taken != 0) *written = write_utf8(point, out);
    return taken != 0 ? taken + 1 : 0;
}

size_t plain_escapes(struct slice escaped, char *out, size_t size)
{
    size_t total = 0;
    for (size_t i = 0; i < escaped.size;) {
        char bytes[4];
        size_t written = 1, taken = 0;
        if (escaped.bytes[i] == '\\') taken = read_escape(slice_from(escaped, i + 1), bytes, &written);
        if (taken == 0) bytes[0] = escaped.bytes[i];
        if (written > size - total) break;
        memcpy(out + total, bytes, written);
        total += written;
        i += 1 + taken;
    }
    return total;
}
