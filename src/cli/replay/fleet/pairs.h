/* SPDX-License-Identifier: MIT
   A row for each pair of a client and a node that met, zeroed at first and never moved.

   See pairs.c. */
#ifndef WEIR_CLI_REPLAY_FLEET_PAIRS_H
#define WEIR_CLI_REPLAY_FLEET_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/common/rows.h"

struct pair_slot {
    uint64_t pair;
    uint32_t number; /* of its row, and 1; 0: free */
};

struct pairs {
    struct pair_slot *slot;
    unsigned bits; /* of the number of slots; 0: none yet */
    uint32_t count;
    struct rows rows;
};

void pairs_open(struct pairs *pairs, size_t row_size);
void pairs_close(struct pairs *pairs);

/* The pair's row.  NULL: no memory. */
void *pairs_at(struct pairs *pairs, uint32_t client, uint32_t node);

/* A number's bits, stirred so that any few of them are as good as random. */
uint64_t pairs_stir(uint64_t number);

#endif
