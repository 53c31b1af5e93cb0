/* SPDX-License-Identifier: MIT
   Writes into memory of a fixed size that somebody else holds.

   Never beyond its end; what does not fit is left out whole, and `full` stays set, so that one look at the end is
   enough. */
#ifndef WEIR_FORMAT_BYTES_H
#define WEIR_FORMAT_BYTES_H

#include "format/slice.h"

struct bytes {
    char *memory;
    size_t size, capacity;
    bool full;
};

enum { BYTES_NUMBER_MAX = 20 }; /* digits of 2^64 - 1 */

static inline struct slice bytes_slice(const struct bytes *bytes)
{
    return (struct slice){bytes->memory, bytes->size};
}

/* Room for so many at the end; NULL where there is not so much. */
static inline char *bytes_room(struct bytes *bytes, size_t size)
{
    if (bytes->capacity - bytes->size < size) {
        bytes->full = true;
        return NULL;
    }
    char *at = bytes->memory + bytes->size;
    bytes->size += size;
    return at;
}

static inline void bytes_add(struct bytes *bytes, struct slice slice)
{
    char *at = bytes_room(bytes, slice.size);
    if (at != NULL && slice.size != 0) memcpy(at, slice.bytes, slice.size);
}

static inline void bytes_text(struct bytes *bytes, const char *text)
{
    bytes_add(bytes, slice_of(text));
}

static inline void bytes_byte(struct bytes *bytes, char byte)
{
    char *at = bytes_room(bytes, 1);
    if (at != NULL) *at = byte;
}

/* ---- bytes.c ---- */

/* Digits that end before `end`, at most BYTES_NUMBER_MAX; returns where they begin. */
char *bytes_digits_before(char *end, uint64_t number);

/* Digits from `at` on, at most BYTES_NUMBER_MAX; returns their end.  Most numbers are short. */
static inline char *bytes_digits(char *at, uint64_t number)
{
    if (number <= 9) {
        *at = (char)('0' + number);
        return at + 1;
    }
    if (number <= 99) {
        at[0] = (char)('0' + number / 10);
        at[1] = (char)('0' + number % 10);
        return at + 2;
    }
    char digits[BYTES_NUMBER_MAX];
    const char *first = bytes_digits_before(digits + sizeof digits, number);
    const size_t size = (size_t)(digits + sizeof digits - first);
    memcpy(at, first, size);
    return at + size;
}

void bytes_number(struct bytes *bytes, uint64_t number);

#endif
