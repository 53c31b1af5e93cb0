/* SPDX-License-Identifier: MIT
   What a worker has done, counted by it alone and read by anybody.

       ns           0 .. 7 | 8 .. 15 | 16 .. 31 | ...             row r > 0 holds 2^(r+2) .. 2^(r+3) - 1 ns
       row            0    |    1    |    2     |                 in 8 buckets of 2^(r-1) ns

   A counter has one writer, so counting is a load and a store, and no thread waits for another.  A reader sees each
   counter as it was at some time, but not all of them at the same time.

   No lock, no read-modify-write, no memory. */
#include "serve/stats/stats.h"

#include "core/decide.h"

enum { IN_ROW = 1 << STATS_LATENCY_BITS, ROWS = STATS_LATENCY_BUCKETS / IN_ROW };

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

/* ---- latency ---- */

/* Half of the rows that are left are above each guess. */
static unsigned row_of(uint64_t ns)
{
    unsigned row = 0;
    for (unsigned half = 32; half != 0; half /= 2) {
        if (ns >> (row + half + STATS_LATENCY_BITS - 1) != 0) row += half;
    }
    return row;
}

void stats_latency(struct stats *stats, uint64_t ns, uint64_t decisions)
{
    static const uint64_t longest_ns = (UINT64_C(1) << (ROWS + STATS_LATENCY_BITS - 1)) - 1;
    if (ns > longest_ns) ns = longest_ns;
    const unsigned row = row_of(ns);
    const unsigned within = row == 0 ? (unsigned)ns : (unsigned)(ns >> (row - 1)) % IN_ROW;
    stats_add(&stats->latency[row * IN_ROW + within], decisions);
    stats_add(&stats->latency_sum_ns, ns * decisions);
}

uint64_t stats_latency_end_ns(unsigned bucket)
{
    const unsigned row = bucket / IN_ROW;
    const uint64_t within = bucket % IN_ROW;
    return row == 0 ? within : ((within + IN_ROW + 1) << (row - 1)) - 1;
}

uint64_t stats_latency_quantile_ns(const uint64_t count[STATS_LATENCY_BUCKETS], uint64_t parts_per_thousand)
{
    uint64_t total = 0, seen = 0;
    for (unsigned bucket = 0; bucket < STATS_LATENCY_BUCKETS; bucket++) total += count[bucket];
    /* ceil(total * parts / 1000), without overflow. */
    const uint64_t wanted = total / 1000 * parts_per_thousand + (total % 1000 * parts_per_thousand + 999) / 1000;
    for (unsigned bucket = 0; bucket < STATS_LATENCY_BUCKETS && total != 0; bucket++) {
        seen += count[bucket];
        if (seen != 0 && seen >= wanted) return stats_latency_end_ns(bucket);
    }
    return 0;
}
