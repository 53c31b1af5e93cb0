/* SPDX-License-Identifier: MIT
   The last ten minutes, second by second: what was asked of each limit and refused, how long that took,
   how full the tables were.

   See series.c. */
#ifndef WEIR_SERVE_STATS_SERIES_H
#define WEIR_SERVE_STATS_SERIES_H

#include "serve/service.h"
#include "serve/stats/sums.h"

enum {
    SERIES_SAMPLES = 600, /* one a second */
    SERIES_LIMITS = 64,   /* told apart: the busiest; all others together are limit SERIES_LIMITS */
    SERIES_NOBODY = STATS_LIMITS
};

/* Calls of one limit in one second; as many as fit. */
struct series_calls {
    uint32_t offered, denied, shadowed;
};

struct series_sample {
    uint64_t number, unix_ms; /* number counts from 1 */
    uint64_t p50_ns, p99_ns, max_ns;
    uint64_t keys, connections;
    struct series_calls calls[SERIES_LIMITS + 1];
};

/* About 0.6 MB, whatever happens. */
struct series {
    struct host_mutex mutex;
    uint64_t count;                 /* samples ever taken; sample n is at (n - 1) % SERIES_SAMPLES */
    uint64_t layout;                /* changes when a place gets another limit, so that what was read before is void */
    unsigned number[SERIES_LIMITS]; /* of the limit in this place, or SERIES_NOBODY */
    struct series_sample sample[SERIES_SAMPLES];

    uint64_t keys; /* as many as there were when they were counted last */
    uint64_t keys_next_ns;

    /* Until the last sample. */
    struct sums_limit before[STATS_LIMITS];
    uint64_t heat[STATS_LIMITS];  /* calls lately: the older, the less they count */
    unsigned epoch[STATS_LIMITS]; /* of the names: another one begins anew */
    bool named[STATS_LIMITS];
    uint64_t latency_before[STATS_LATENCY_BUCKETS];
};

/* Takes the sample of this second.  By one thread, once a second; without memory there is none. */
void series_sample(struct service *service);

/* NULL: nothing was sampled yet.  Under its mutex until series_release. */
struct series *series_hold(struct service *service);
void series_release(struct series *series);

/* The tables' counters as they are; keys_live as of the last sample, or counted now where there is none. */
void series_table(struct service *service, weir_table_stats *stats);

/* NULL is fine. */
void series_free(struct series *series);

#endif
