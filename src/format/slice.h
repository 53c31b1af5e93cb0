/* SPDX-License-Identifier: MIT
   Some bytes of a text that somebody else holds.

   Nothing; not NUL-terminated. */
#ifndef WEIR_FORMAT_SLICE_H
#define WEIR_FORMAT_SLICE_H

#include <stdbool.h>
#include <stddef.h>
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
    bool same = slice.size == other.size;
    for (size_t i = 0; same && i < slice.size; i++) {
        const char a = slice.bytes[i], b = other.bytes[i];
        same = a == b || ((a ^ b) == ('a' ^ 'A') && (a | ('a' ^ 'A')) >= 'a' && (a | ('a' ^ 'A')) <= 'z');
    }
    return same;
}

static inline bool slice_begins(struct slice slice, struct slice start)
{
    if (slice.size < start.size) return false;
    for (size_t i = 0; i < start.size; i++) {
        if (slice.bytes[i] != start.bytes[i]) return false;
    }
    return true;
}

static inline bool slice_has(struct slice slice, char byte)
{
    return slice.size != 0 && memchr(slice.bytes, byte, slice.size) != NULL;
}

/* What logs write where there is nothing. */
static inline bool slice_is_nothing(struct slice slice)
{
    return slice.size == 0 || (slice.size == 1 && slice.bytes[0] == '-');
}

#endif
