/* SPDX-License-Identifier: MIT
   Undoes the escapes of JSON (\" \n \u00e9), of nginx (\x22) and of Apache (\" \t \x16).

   Never writes more bytes than it reads; an escape that means nothing stays as it is, half a surrogate pair becomes
   U+FFFD. */
#include "format/log/split.h"

enum { REPLACEMENT = 0xFFFD };

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
    const int byte = text.bytes[0] == 'x' ? slice_hex_number(slice_from(text, 1), 2) : -1;
    if (byte >= 0) {
        out[0] = (char)byte;
        return 3;
    }
    const size_t taken = text.bytes[0] == 'u' ? slice_unicode(slice_from(text, 1), &point) : 0;
    if (taken == 0) return 0;
    *written = slice_write_character(taken == 4 && point >= 0xD800 && point <= 0xDFFF ? REPLACEMENT : point, out);
    return taken + 1;
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
