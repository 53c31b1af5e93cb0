/* SPDX-License-Identifier: MIT
   A row for each pair of a client and a node that met: of a thousand nodes a client meets few.

       slot[]   | - | pair, number | pair, number | - |       open addressing, at most half full
                            |
       rows     | row 0 | row 1 | ...                         in the order in which they met

   A row stays where it is. */
#include "cli/replay/fleet/pairs.h"

#include <stdlib.h>

#include "core/num.h"

enum { BITS_AT_FIRST = 8, BITS_MOST = 31 };

uint64_t pairs_stir(uint64_t number)
{
    return stir_64(number + UINT64_C(0x9e3779b97f4a7c15));
}

void pairs_open(struct pairs *pairs, size_t row_size)
{
    *pairs = (struct pairs){0};
    rows_open(&pairs->rows, row_size);
}

void pairs_close(struct pairs *pairs)
{
    free(pairs->slot);
    if (pairs->rows.row_size != 0) rows_close(&pairs->rows);
    *pairs = (struct pairs){0};
}

/* The pair's slot, or the free one that it would get. */
static struct pair_slot *find(struct pair_slot *slot, unsigned bits, uint64_t pair)
{
    const size_t mask = ((size_t)1 << bits) - 1;
    size_t at = (size_t)pairs_stir(pair) & mask;
    while (slot[at].number != 0 && slot[at].pair != pair) at = (at + 1) & mask;
    return &slot[at];
}

static bool grow(struct pairs *pairs)
{
    const unsigned bits = pairs->bits == 0 ? BITS_AT_FIRST : pairs->bits + 1;
    struct pair_slot *larger = bits <= BITS_MOST ? calloc((size_t)1 << bits, sizeof *larger) : NULL;
    if (larger == NULL) return false;
    for (size_t i = 0; pairs->bits != 0 && i < (size_t)1 << pairs->bits; i++) {
        if (pairs->slot[i].number != 0) *find(larger, bits, pairs->slot[i].pair) = pairs->slot[i];
    }
    free(pairs->slot);
    pairs->slot = larger;
    pairs->bits = bits;
    return true;
}

void *pairs_at(struct pairs *pairs, uint32_t client, uint32_t node)
{
    const uint64_t pair = (uint64_t)client << 32 | node;
    if ((pairs->bits == 0 || pairs->count >= UINT32_C(1) << (pairs->bits - 1)) && !grow(pairs)) return NULL;
    struct pair_slot *slot = find(pairs->slot, pairs->bits, pair);
    if (slot->number == 0) {
        if (!rows_reach(&pairs->rows, pairs->count + 1)) return NULL;
        *slot = (struct pair_slot){pair, ++pairs->count};
    }
    return rows_at(&pairs->rows, slot->number - 1);
}
