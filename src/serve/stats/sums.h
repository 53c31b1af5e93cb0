/* SPDX-License-Identifier: MIT
   What all workers have counted together.

   See sums.c. */
#ifndef WEIR_SERVE_STATS_SUMS_H
#define WEIR_SERVE_STATS_SUMS_H

#include <stddef.h>

#include "serve/service.h"

/* Whose counters there are.  They stay where they are for as long as the service runs; names come and go. */
struct sums_crew {
    struct service *service;
    struct stats *worker[SERVICE_WORKERS_MAX];
    unsigned workers;
    unsigned numbers; /* of limits, number 0 among them */
};

struct sums_limit {
    uint64_t allowed, denied, never, shadowed, permits; /* shadowed are in allowed too */
    uint64_t away_allowed, away_refused;                /* of them: for the engine was away */
    uint64_t borrowed;                                  /* of allowed, by tenants */
    uint64_t renewals, releases, stale;                 /* of slots that are held */
    uint64_t held;                                      /* now; not a sum: see backend_held */
    uint64_t late_ns, granted_at_ns;                    /* of the last call that was granted */
};

/* Of several, the call that was granted last. */
static inline void sums_last(struct sums_limit *sum, uint64_t granted_at_ns, uint64_t late_ns)
{
    if (granted_at_ns < sum->granted_at_ns) return;
    sum->granted_at_ns = granted_at_ns;
    sum->late_ns = late_ns;
}

void sums_crew(struct sums_crew *crew, struct service *service);

/* The name of a limit, "" for number 0, and which of the names it is that had this number; false: nobody has it. */
struct sums_name {
    char text[POLICY_NAME_MAX + 1];
    unsigned epoch;
};
bool sums_name(const struct sums_crew *crew, unsigned number, struct sums_name *name);

/* How many have a name now. */
unsigned sums_names(const struct sums_crew *crew);

/* Of limits that had a name which was removed. */
struct sums_limit sums_of_gone(const struct sums_crew *crew);

struct sums_limit sums_of_limit(const struct sums_crew *crew, unsigned number);

/* Of all limits, those that were removed among them. */
struct sums_limit sums_of_limits(const struct sums_crew *crew);

/* Of one counter of all workers, by its offset in struct stats. */
uint64_t sums_of(const struct sums_crew *crew, size_t at);
uint64_t sums_connections(const struct sums_crew *crew); /* that are open */
void sums_of_latency(const struct sums_crew *crew, uint64_t count[STATS_LATENCY_BUCKETS]);

/* As seen without stopping anybody: never less than none. */
static inline uint64_t sums_less(uint64_t value, uint64_t less)
{
    return value > less ? value - less : 0;
}

#endif
