/* SPDX-License-Identifier: MIT
   Rows of one size, zeroed, that are never moved while their number grows.

   A row that fits into a cache line does not lie across two.

   A row stays where it is. */
#include "cli/common/rows.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { SHIFT_MAX = 15, PIECE_BYTES = 1 << 20, PIECES_AT_FIRST = 16, LINE = 64, SMALLEST = 16 };

static size_t aligned(size_t size)
{
    size_t row = SMALLEST;
    while (row < size && row < LINE) row *= 2;
    return row >= size ? row : (size + LINE - 1) / LINE * LINE;
}

static size_t bytes_of_piece(const struct rows *rows)
{
    return rows->row_size << rows->shift;
}

void rows_open(struct rows *rows, size_t row_size)
{
    *rows = (struct rows){.row_size = aligned(row_size), .shift = SHIFT_MAX};
    while (rows->shift > 0 && bytes_of_piece(rows) > PIECE_BYTES) rows->shift--;
}

static bool add_piece(struct rows *rows)
{
    if (rows->pieces == rows->room) {
        const size_t room = rows->room == 0 ? PIECES_AT_FIRST : rows->room * 2;
        char **larger = realloc(rows->piece, room * sizeof *larger);
        if (larger == NULL) return false;
        rows->piece = larger;
        rows->room = room;
    }
    void *piece =
        mmap(NULL, bytes_of_piece(rows), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (piece == MAP_FAILED) return false;
    rows->piece[rows->pieces++] = piece;
    return true;
}

bool rows_reach(struct rows *rows, uint32_t count)
{
    while (rows->pieces << rows->shift < count) {
        if (!add_piece(rows)) return false;
    }
    return true;
}

void rows_close(struct rows *rows)
{
    for (size_t i = 0; i < rows->pieces; i++) munmap(rows->piece[i], bytes_of_piece(rows));
    free(rows->piece);
    *rows = (struct rows){0};
}
