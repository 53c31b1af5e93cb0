/* SPDX-License-Identifier: MIT
   pieces.h - texts that are nearly what a reader expects.

   May touch: the memory of the bytes; the heap, for what is owned.  Promises: what is owned has nothing behind it that
   may be read, so that the sanitizers see who does.  Leaves to others: which pieces. */
#ifndef TEST_LAW_PIECES_H
#define TEST_LAW_PIECES_H

#include <stdlib.h>

#include "format/bytes.h"
#include "law/law.h"

static inline const char *pick_piece(struct law *law, const char *const list[], size_t count)
{
    return list[law_pick(law, count)];
}
#define PICK(law, list) pick_piece(law, list, sizeof(list) / sizeof *(list))

/* So many of one byte. */
static inline void add_many(struct bytes *out, char byte, size_t count)
{
    char *at = bytes_room(out, count);
    if (at != NULL && count != 0) memset(at, byte, count);
}

/* Pieces, any bytes, or rarely so many of one byte that a limit is near. */
static inline void add_pieces(struct law *law, struct bytes *out, const char *const list[], size_t count, size_t limit)
{
    while (law_more(law, 8)) {
        const uint64_t kind = law_pick(law, 32);
        if (kind < 26) bytes_text(out, pick_piece(law, list, count));
        else if (kind < 31) bytes_byte(out, (char)law_pick(law, 256));
        else if (law_chance(law, 8)) add_many(out, 'a', limit - 40 + law_pick(law, 60));
    }
}
#define ADD_PIECES(law, out, list, limit) add_pieces(law, out, list, sizeof(list) / sizeof *(list), limit)

/* Changes, cuts out or doubles a byte. */
static inline void spoil(struct law *law, struct bytes *out)
{
    if (out->size < 2) return;
    const size_t at = law_pick(law, out->size - 1), left = out->size - at - 1;
    switch (law_pick(law, 3)) {
    case 0:
        out->memory[at] = (char)law_pick(law, 256);
        break;
    case 1:
        memmove(out->memory + at, out->memory + at + 1, left);
        out->size--;
        break;
    default:
        memmove(out->memory + at + 1, out->memory + at, left);
    }
}

static inline struct slice own(struct law *law, struct slice slice)
{
    char *copy = malloc(slice.size != 0 ? slice.size : 1);
    law_check(law, copy != NULL, "no memory");
    if (slice.size != 0) memcpy(copy, slice.bytes, slice.size);
    return (struct slice){copy, slice.size};
}

static inline void disown(struct slice slice)
{
    free((void *)slice.bytes);
}

static inline void check_inside(struct law *law, struct slice part, struct slice whole)
{
    const bool inside = part.bytes >= whole.bytes && part.bytes <= whole.bytes + whole.size &&
                        part.size <= (size_t)(whole.bytes + whole.size - part.bytes);
    law_check(law, inside, "%zu bytes of it are elsewhere", part.size);
}

/* Do both stand at the same place of two texts, and say the same? */
static inline bool is_same_part(struct slice one, const char *of_one, struct slice other, const char *of_other)
{
    return one.bytes - of_one == other.bytes - of_other && slice_is(one, other);
}

/* How many bytes of a text to look at next: each of a short one, of a long one the first, the last and some. */
static inline size_t next_size(struct law *law, size_t size, size_t whole)
{
    enum { SHORT = 512, EACH = 32, STEPS = 16 };
    if (whole <= SHORT || size < EACH || size + EACH >= whole) return size + 1;
    const size_t step = (whole - size) / STEPS + 1;
    return size + step + law_pick(law, step);
}

#endif
