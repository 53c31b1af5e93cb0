/* SPDX-License-Identifier: MIT
   A limit as an engine has it.

   See limit.c. */
#ifndef WEIR_REDIS_CLIENT_LIMIT_H
#define WEIR_REDIS_CLIENT_LIMIT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <weir/redis.h>

enum { LIMIT_TEXT_MAX = 2048 };

/* Its text, for leases of it that outlive it. */
struct limit_text {
    alignas(8) _Atomic uint64_t users;
    uint64_t number; /* of no other limit of this pool */
    size_t size;
    char bytes[LIMIT_TEXT_MAX]; /* canonical: what the engine is told */
};

struct weir_engine_limit {
    weir_plan plan;
    weir_away away;       /* never WEIR_AWAY_DEFAULT */
    unsigned count;       /* of limits */
    unsigned keys;        /* in the engine: 1, or one for each limit */
    bool holds;           /* is one of them concurrent? */
    bool leases;          /* may permits be taken along? */
    bool has_schedule;    /* is a call due at a time of its own? */
    bool remembers;       /* is a refusal good until its retry, also for the next call? */
    uint64_t permit, per; /* with leases: a permit is back after permit / per us */
    uint64_t interval_ns; /* the same in whole ns; 0: no bucket */
    uint64_t burst;       /* of a bucket */
    struct limit_text *text;
};

struct limit_text *limit_text_share(struct limit_text *text);
void limit_text_release(struct limit_text *text);

#endif
