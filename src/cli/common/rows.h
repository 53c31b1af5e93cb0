/* SPDX-License-Identifier: MIT
   Rows of one size, zeroed, that are never moved while their number grows.

       piece[]  | * | * | * |        each of 2^shift rows, from the system only as far as they are touched
                  |
                  | row 0 | row 1 | ...

   See rows.c. */
#ifndef WEIR_CLI_COMMON_ROWS_H
#define WEIR_CLI_COMMON_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rows {
    char **piece;
    size_t row_size, pieces, room;
    unsigned shift;
};

void rows_open(struct rows *rows, size_t row_size);
void rows_close(struct rows *rows);

/* Makes sure that rows 0 .. count - 1 are there; false: no memory. */
bool rows_reach(struct rows *rows, uint32_t count);

static inline void *rows_at(const struct rows *rows, uint32_t row)
{
    const uint32_t within = row & ((UINT32_C(1) << rows->shift) - 1);
    return rows->piece[row >> rows->shift] + within * rows->row_size;
}

/* It will be used soon. */
static inline void rows_fetch(const struct rows *rows, uint32_t row)
{
    __builtin_prefetch(rows_at(rows, row), 1);
}

#endif
