/* SPDX-License-Identifier: MIT
   rows.h - rows of one size, zeroed, that are never moved while their number grows.

       piece[]  | * | * | * |        each of 2^shift rows, from the system only as far as they are touched
                  |
                  | row 0 | row 1 | ...

   May touch: its own memory.  Promises: a row stays where it is.  Leaves to others: what is in it. */
#ifndef WEIR_CLI_ROWS_H
#define WEIR_CLI_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { ROWS_SHIFT_MAX = 14, ROWS_PIECE_BYTES = 1 << 20 };

struct rows {
    char **piece;
    size_t row_size, pieces, room;
    unsigned shift;
};

static inline void rows_open(struct rows *rows, size_t row_size)
{
    *rows = (struct rows){.row_size = row_size, .shift = ROWS_SHIFT_MAX};
    while (rows->shift > 0 && row_size << rows->shift > ROWS_PIECE_BYTES) rows->shift--;
}

static inline void *rows_at(const struct rows *rows, uint32_t row)
{
    const uint32_t within = row & ((UINT32_C(1) << rows->shift) - 1);
    return rows->piece[row >> rows->shift] + within * rows->row_size;
}

/* Makes sure that rows 0 .. count - 1 are there; false: no memory. */
static inline bool rows_reach(struct rows *rows, uint32_t count)
{
    while (rows->pieces << rows->shift < count) {
        if (rows->pieces == rows->room) {
            const size_t room = rows->room == 0 ? 16 : rows->room * 2;
            char **larger = realloc(rows->piece, room * sizeof *larger);
            if (larger == NULL) return false;
            rows->piece = larger;
            rows->room = room;
        }
        rows->piece[rows->pieces] = calloc((size_t)1 << rows->shift, rows->row_size);
        if (rows->piece[rows->pieces] == NULL) return false;
        rows->pieces++;
    }
    return true;
}

static inline void rows_close(struct rows *rows)
{
    for (size_t i = 0; i < rows->pieces; i++) free(rows->piece[i]);
    free(rows->piece);
    *rows = (struct rows){0};
}

#endif
