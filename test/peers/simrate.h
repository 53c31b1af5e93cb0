/* SPDX-License-Identifier: MIT
   The literal limiter that nosqlbench has today (SimRate), told when to fill.

   The answers of the original, step by step, but for its 32 bits. */
#ifndef PEERS_SIMRATE_H
#define PEERS_SIMRATE_H

#include <stdbool.h>
#include <stdint.h>

enum { SIMRATE_POOL = 1000000000 /* ticks, at any rate */ };

struct simrate {
    int64_t tick_ns;
    int64_t per_op;     /* ticks that one operation costs */
    int64_t over;       /* active pool and burst pool together */
    int64_t active;     /* ticks that operations may take */
    int64_t waiting;    /* ticks that came and found no room */
    uint64_t filled_ns; /* when it was filled last */
};

/* The pools begin, or begin again, with the ticks of one operation; the fills go on. */
void simrate_set_rate(struct simrate *simrate, double rate_per_s, double burst_ratio);

/* Pours in the time since the last fill; none where the clock has gone back. */
void simrate_refill(struct simrate *simrate, uint64_t now_ns);

/* Takes the ticks of all the operations, or none: false where the original would block. */
bool simrate_take(struct simrate *simrate, int64_t operations);

/* Ticks in all pools. */
int64_t simrate_total(const struct simrate *simrate);

#endif
