/* SPDX-License-Identifier: MIT
   Some bytes of a text that somebody else holds.

   Nothing; not NUL-terminated. */
#ifndef WEIR_FORMAT_SLICE_H
#define WEIR_FORMAT_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const char *bytes;
    size_t size;
};

static inline struct slice slice_of(const char *text)
{
    return (struct slice){text, strlen(text)};
}

static inline struct slice slice_between(const char *from, const char *end)
{
    return (struct slice){from, (size_t)(end - from)};
}

static inline struct slice slice_from(struct slice slice, size_t at)
{
    return at < slice.size ? (struct slice){slice.bytes + at, slice.size - at}
                           : (struct slice){slice.bytes + slice.size, 0};
}

static inline bool slice_is(struct slice slice, struct slice other)
{
    return slice.size == other.size && (slice.size == 0 || memcmp(slice.bytes, other.bytes, slice.size) == 0);
}

/* The same but for capital letters of ASCII. */
static inline bool slice_is_alike(struct slice slice, struct slice other)
{
    if (slice.size != other.size) return false;
    for (size_t i = 0; i < slice.size; i++) {
        if (slice.bytes[i] == other.bytes[i]) continue;
        const char small = (char)(slice.bytes[i] | ('a' ^ 'A'));
        if (small != (other.bytes[i] | ('a' ^ 'A')) || small < 'a' || small > 'z') return false;
    }
    return true;
}

static inline bool slice_begins(struct slice slice, struct slice start)
{
    if (slice.size < start.size) return false;
    for (size_t i = 0; i < start.size; i++) {
        if (slice.bytes[i] != start.bytes[i]) return false;
    }
    return true;
}

/* The first eight bytes as lanes of a word, the first one lowest; a compiler makes it one load. */
static inline uint64_t slice_lanes(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 |
           (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

/* Are they the same, at least 8 bytes of each?  Without a call of memcmp. */
static inline bool slice_is_same(const char *a, const char *b, size_t size)
{
    for (size_t i = 0; i + 8 <= size; i += 8) {
        if (slice_lanes(a + i) != slice_lanes(b + i)) return false;
    }
    return slice_lanes(a + size - 8) == slice_lanes(b + size - 8);
}

/* The first such byte; NULL: there is none.  What is looked for is mostly near, and nearer than a call of memchr: the
   first bytes are compared eight at a time.  Of (x - 1) & ~x & 0x80 the lowest lane that is not 0 is exact. */
static inline const char *slice_find(const char *at, const char *end, char byte)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7, same = ones * (unsigned char)byte;
    for (int turn = 0; turn < 4 && end - at >= 8; turn++, at += 8) {
        const uint64_t eight = slice_lanes(at) ^ same, found = (eight - ones) & ~eight & highs;
        if (found != 0) return at + __builtin_ctzll(found) / 8;
    }
    return at != end ? memchr(at, byte, (size_t)(end - at)) : NULL;
}

static inline bool slice_has(struct slice slice, char byte)
{
    return slice.size != 0 && slice_find(slice.bytes, slice.bytes + slice.size, byte) != NULL;
}

/* What logs write where there is nothing. */
static inline bool slice_is_nothing(struct slice slice)
{
    return slice.size == 0 || (slice.size == 1 && slice.bytes[0] == '-');
}

/* ---- hexadecimal digits ---- */

static inline char slice_hex(unsigned value)
{
    return "0123456789abcdef"[value];
}

/* -1: it is none. */
static inline int slice_hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    const char small = (char)(digit | 0x20);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/* Of the first so many digits, at most 7; -1: they are not there. */
static inline int slice_hex_number(struct slice slice, unsigned digits)
{
    int number = 0;
    if (slice.size < digits) return -1;
    for (unsigned i = 0; i < digits; i++) {
        const int value = slice_hex_value(slice.bytes[i]);
        if (value < 0) return -1;
        number = number * 16 + value;
    }
    return number;
}

/* ---- slice.c ---- */

/* Reads what bytes_number writes, and nothing else: false where it is no such number, or too large. */
bool slice_number(struct slice slice, uint64_t *number);

/* How many bytes it begins with that are no control characters; and that are printable ASCII other than " and \, so
   that a string of JSON has them as they are.  Eight at a time. */
size_t slice_printable(struct slice slice);
size_t slice_plain(struct slice slice);

/* Bytes of the character of UTF-8 that it begins with; 0: it begins with none. */
size_t slice_character(struct slice slice);

/* Returns how many bytes it has. */
size_t slice_write_character(unsigned point, char out[4]);

/* What stands behind \u: 00e9, or d83d\ude00 for what is above U+FFFF.  Returns how many bytes that is, or 0: no
   digits.  Half a pair, alone, gives a point of U+D800 to U+DFFF. */
size_t slice_unicode(struct slice slice, unsigned *point);

#endif
