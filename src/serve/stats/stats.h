/* SPDX-License-Identifier: MIT
   What a worker has done, counted by it alone and read by anybody.

   See stats.c. */
#ifndef WEIR_SERVE_STATS_STATS_H
#define WEIR_SERVE_STATS_STATS_H

#include <weir/weir.h>

#include "serve/policy/policy.h"
#include "share/atomic.h"
#include "share/histogram.h"

enum {
    STATS_LIMITS = POLICY_LIMITS_MAX + 1, /* 0: limits without a name */
    STATS_LATENCY_BITS = 3,               /* share/histogram.h: a latency is known to within 1/8 */
    STATS_LATENCY_BUCKETS = 40 << STATS_LATENCY_BITS
};

struct stats_limit {
    struct atom allowed, denied, never, shadowed; /* calls; shadowed would have been refused, and is in allowed too */
    struct atom permits;                          /* granted */
    struct atom away_allowed, away_refused;       /* of allowed, denied and never: for the engine was away */
    struct atom borrowed;                         /* of allowed: tenants' calls beyond their guarantee */
    struct atom renewals, releases, stale;        /* calls; stale: nothing was held under the id any more */
    struct atom late_ns, granted_at_ns;           /* how late the last call was that was granted, and when that was */
};

struct stats {
    struct stats_limit limit[STATS_LIMITS];
    struct atom latency[STATS_LATENCY_BUCKETS]; /* from a request's arrival to its answer's departure, by decisions */
    struct atom latency_sum_ns;
    struct atom commands, http_requests, errors; /* errors: requests answered with one */
    struct atom connections_opened, connections_closed, connections_refused, connections_cut;
    struct atom bytes_in, bytes_out, batches;
    struct atom alternations; /* of free texts for one key: see plans_met */
};

/* By the worker alone. */
static inline void stats_add(struct atom *counter, uint64_t more)
{
    atom_store(counter, atom_load(counter) + more);
}

/* What the table said.  shadow: the limit refuses nobody, so what it would deny is allowed, and counted as shadowed. */
void stats_decided(struct stats *stats, unsigned number, const weir_decision *decision, bool shadow);

/* So many decisions took so long; more than 2^42 ns (73 minutes) are as good as that. */
void stats_latency(struct stats *stats, uint64_t ns, uint64_t decisions);

#endif
