/* SPDX-License-Identifier: MIT
   What a worker has done, counted by it alone and read by anybody.

   A counter has one writer, so counting is a load and a store, and no thread waits for another.  A reader sees each
   counter as it was at some time, but not all of them at the same time.

   No lock, no read-modify-write, no memory. */
#include "serve/stats/stats.h"

#include "core/decide.h"
#include "core/num.h"

void stats_decided(struct stats *stats, unsigned number, const weir_decision *decision, bool shadow)
{
    struct stats_limit *limit = &stats->limit[number];
    if (decision->verdict == WEIR_ALLOW) {
        stats_add(&limit->allowed, 1);
        stats_add(&limit->permits, decision->charged);
        if (decision->due.ns != 0) { /* a charge is never late */
            atom_store(&limit->late_ns, decision_late_ns(decision));
            atom_store(&limit->granted_at_ns, decision->start.ns);
        }
    } else if (shadow) {
        stats_add(&limit->allowed, 1);
        stats_add(&limit->shadowed, 1);
    } else {
        stats_add(decision->verdict == WEIR_NEVER ? &limit->never : &limit->denied, 1);
    }
}

void stats_latency(struct stats *stats, uint64_t ns, uint64_t decisions)
{
    ns = least(ns, histogram_bucket_end(STATS_LATENCY_BUCKETS - 1, STATS_LATENCY_BITS));
    stats_add(&stats->latency[histogram_bucket(ns, STATS_LATENCY_BITS)], decisions);
    stats_add(&stats->latency_sum_ns, ns * decisions);
}
