/* SPDX-License-Identifier: MIT
   The literal token pools of nosqlbench's design note (hybrid there): a token is a ns of schedule.

   The answers of the original, step by step. */
#ifndef PEERS_POOLS_H
#define PEERS_POOLS_H

#include <stdbool.h>
#include <stdint.h>

struct pools {
    int64_t pool;    /* size of the active pool */
    int64_t over;    /* active pool and burst pool together */
    int64_t per_op;  /* tokens that one operation costs */
    int64_t active;  /* tokens a caller may take; those above `pool` lie in the burst pool */
    int64_t waiting; /* time that passed and was not used: how far behind the callers are */
};

/* Sizes only: the pools keep their tokens.  The pool holds two operations, and a millisecond at least. */
void pools_set_rate(struct pools *pools, double rate_per_s, double burst_ratio);
void pools_set_size(struct pools *pools, int64_t pool, double burst_ratio);

/* Adds the time that has passed; returns the tokens in all pools. */
int64_t pools_refill(struct pools *pools, int64_t tokens);

/* Takes what is there, at most `tokens`; returns how many. */
int64_t pools_take_up_to(struct pools *pools, int64_t tokens);

/* Takes all or nothing: false where the original would block. */
bool pools_take(struct pools *pools, int64_t tokens);

/* Empties the pools; returns what they held. */
int64_t pools_restart(struct pools *pools);

#endif
