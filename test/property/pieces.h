/* SPDX-License-Identifier: MIT
   Texts that are nearly what a reader expects.

   What is owned has nothing behind it that may be read: see owned.h. */
#ifndef TEST_PROPERTY_PIECES_H
#define TEST_PROPERTY_PIECES_H

#include <stdlib.h>

#include "format/bytes.h"
#include "owned.h"
#include "property/property.h"

static inline const char *pick_piece(struct prop *prop, const char *const list[], size_t count)
{
    return list[prop_pick(prop, count)];
}
#define PICK(prop, list) pick_piece(prop, list, sizeof(list) / sizeof *(list))

/* So many of one byte. */
static inline void add_many(struct bytes *out, char byte, size_t count)
{
    char *at = bytes_room(out, count);
    if (at != NULL && count != 0) memset(at, byte, count);
}

/* Pieces, any bytes, or rarely so many of one byte that a limit is near. */
static inline void add_pieces(struct prop *prop, struct bytes *out, const char *const list[], size_t count,
                              size_t limit)
{
    while (prop_more(prop, 8)) {
        const uint64_t kind = prop_pick(prop, 32);
        if (kind < 26) bytes_text(out, pick_piece(prop, list, count));
        else if (kind < 31) bytes_byte(out, (char)prop_pick(prop, 256));
        else if (prop_chance(prop, 8)) add_many(out, 'a', limit - 40 + prop_pick(prop, 60));
    }
}
#define ADD_PIECES(prop, out, list, limit) add_pieces(prop, out, list, sizeof(list) / sizeof *(list), limit)

/* Changes, cuts out or doubles a byte. */
static inline void spoil(struct prop *prop, struct bytes *out)
{
    if (out->size < 2) return;
    const size_t at = prop_pick(prop, out->size - 1), left = out->size - at - 1;
    switch (prop_pick(prop, 3)) {
    case 0:
        out->memory[at] = (char)prop_pick(prop, 256);
        break;
    case 1:
        memmove(out->memory + at, out->memory + at + 1, left);
        out->size--;
        break;
    default:
        memmove(out->memory + at + 1, out->memory + at, left);
    }
}

static inline struct slice own(struct prop *prop, struct slice slice)
{
    const char *copy = owned_copy(slice.bytes, slice.size);
    prop_check(prop, copy != NULL, "no memory");
    return (struct slice){copy, slice.size};
}

static inline void disown(struct slice slice)
{
    owned_free(slice.bytes);
}

static inline void check_inside(struct prop *prop, struct slice part, struct slice whole)
{
    const bool inside = part.bytes >= whole.bytes && part.bytes <= whole.bytes + whole.size &&
                        part.size <= (size_t)(whole.bytes + whole.size - part.bytes);
    prop_check(prop, inside, "%zu bytes of it are elsewhere", part.size);
}

/* Do both stand at the same place of two texts, and say the same? */
static inline bool is_same_part(struct slice one, const char *of_one, struct slice other, const char *of_other)
{
    return one.bytes - of_one == other.bytes - of_other && slice_is(one, other);
}

/* How many bytes of a text to look at next: each of a short one, of a long one the first, the last and some. */
static inline size_t next_size(struct prop *prop, size_t size, size_t whole)
{
    enum { SHORT = 512, EACH = 32, STEPS = 16 };
    if (whole <= SHORT || size < EACH || size + EACH >= whole) return size + 1;
    const size_t step = (whole - size) / STEPS + 1;
    return size + step + prop_pick(prop, step);
}

#endif
