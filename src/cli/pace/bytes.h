/* SPDX-License-Identifier: MIT
   What a limit of weir pace counts, and pieces of lines where it counts bytes.

   See bytes.c. */
#ifndef WEIR_CLI_PACE_BYTES_H
#define WEIR_CLI_PACE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

enum { PACE_PIECE_MAX = 1 << 20 };

enum pace_unit {
    PACE_UNIT_ANY,   /* it has no rate: none, unlimited */
    PACE_UNIT_LINES, /* or whatever else a line is one of */
    PACE_UNIT_BYTES,
    PACE_UNIT_MIXED
};

enum pace_unit pace_unit_of(const struct plan *plan);

/* The first rate that is not in bytes, written in bytes: 100B/s.  Nothing when there is none. */
void pace_in_bytes(const struct plan *plan, struct writer *writer);

/* 1 to PACE_PIECE_MAX: as many bytes as pass in 100 ms by each of the limits, and no more than ever pass at once. */
size_t pace_piece_of(const struct plan *plan);

#endif
