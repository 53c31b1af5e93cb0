/* SPDX-License-Identifier: MIT
   Which of many have had their time, to the second.

   See deadlines.c. */
#ifndef WEIR_SERVE_NET_DEADLINES_H
#define WEIR_SERVE_NET_DEADLINES_H

#include <stdint.h>

enum { DEADLINES_SLOTS = 64 };

/* Part of what has the deadline.  Zeroed = none. */
struct deadline {
    struct deadline *before, *after;
    uint64_t second;
};

/* A ring of lists: slot i has those of second i, i + 64, i + 128 and so on. */
struct deadlines {
    struct deadline slot[DEADLINES_SLOTS]; /* heads */
    uint64_t second;                       /* looked through up to here */
};

void deadlines_open(struct deadlines *deadlines, uint64_t second);

/* Also instead of an earlier one.  A second that has gone by is the next one. */
void deadlines_set(struct deadlines *deadlines, struct deadline *deadline, uint64_t second);

void deadlines_remove(struct deadline *deadline);

/* One whose second has come, which is taken out; NULL: no more of them until a later second. */
struct deadline *deadlines_next(struct deadlines *deadlines, uint64_t second);

#endif
