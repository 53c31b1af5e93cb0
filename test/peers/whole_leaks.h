/* SPDX-License-Identifier: MIT
   The literal counter of whole leaks: gubernator's LEAKY_BUCKET.

   The answers of the original, step by step. */
#ifndef PEERS_WHOLE_LEAKS_H
#define PEERS_WHOLE_LEAKS_H

#include <stdbool.h>
#include <stdint.h>

/* What every call brings along: `limit` permits leak in `duration_ms`, `burst` may be left at most. */
struct whole_leaks_limit {
    int64_t limit, burst, duration_ms;
};

struct whole_leaks { /* zeroed: unknown */
    double left;
    int64_t leaked_ms; /* when it last leaked */
    int64_t last_ms;   /* it is forgotten after this */
    int64_t burst;
    bool known;
};

enum whole_leaks_mode {
    WHOLE_LEAKS_PLAIN,
    WHOLE_LEAKS_DRAIN, /* a refusal empties what is left */
    WHOLE_LEAKS_REFILL /* fills up first */
};

struct whole_leaks_answer {
    bool allowed;
    int64_t remaining;
    int64_t reset_ms; /* below 0 where more is left than the limit */
};

/* permits are 0 or more. */
struct whole_leaks_answer whole_leaks_take(struct whole_leaks *leaks, const struct whole_leaks_limit *limit,
                                           int64_t now_ms, int64_t permits, enum whole_leaks_mode mode);

#endif
