/* SPDX-License-Identifier: MIT
   Which worlds with nodes have been seen, so that each is left only once.

   Worlds that go on in the same way are one: those that differ in what time it is, in which node is which, or in what
   is over.  Of a planted mistake only the same bytes are the same, as it may see more. Two worlds by 128 bits that are
   equal: less than one in 10^20. */
#ifndef WEIR_TEST_NODES_SEEN_H
#define WEIR_TEST_NODES_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nodes_world.h"

struct nodes_seen {
    uint64_t (*slot)[2]; /* owned */
    size_t size, count;
};

/* False: it was there. */
bool nodes_enter(struct nodes_seen *, const struct nodes_world *, const struct world *);
void nodes_seen_free(struct nodes_seen *);

#endif
