/* SPDX-License-Identifier: MIT
   sums.c - what all workers have counted together.

   May touch: the service's list of workers, their counters.  Promises: no worker waits; of two counters that belong
   together one may be a moment ahead.  Leaves to others: what to make of it. */
#include "serve/sums.h"

void sums_crew(struct sums_crew *crew, struct service *service)
{
    host_lock(&service->mutex);
    memcpy(crew->worker, service->worker, sizeof crew->worker);
    crew->workers = service->worker_count;
    crew->name = service->name;
    crew->numbers = service->name_count + 1;
    host_unlock(&service->mutex);
}

const char *sums_name(const struct sums_crew *crew, unsigned number)
{
    return number == 0 ? "" : crew->name[number - 1];
}

struct sums_limit sums_of_limit(const struct sums_crew *crew, unsigned number)
{
    struct sums_limit sum = {0};
    for (unsigned i = 0; i < crew->workers; i++) {
        const struct stats_limit *limit = &crew->worker[i]->limit[number];
        sum.allowed += atom_load(&limit->allowed);
        sum.denied += atom_load(&limit->denied);
        sum.never += atom_load(&limit->never);
        sum.shadowed += atom_load(&limit->shadowed);
        sum.permits += atom_load(&limit->permits);
        sums_last(&sum, atom_load(&limit->granted_at_ns), atom_load(&limit->late_ns));
    }
    return sum;
}

static void add(struct sums *sums, const struct stats *stats)
{
    for (unsigned i = 0; i < STATS_LATENCY_BUCKETS; i++) sums->latency[i] += atom_load(&stats->latency[i]);
    sums->latency_sum_ns += atom_load(&stats->latency_sum_ns);
    sums->commands += atom_load(&stats->commands);
    sums->http_requests += atom_load(&stats->http_requests);
    sums->errors += atom_load(&stats->errors);
    sums->connections_opened += atom_load(&stats->connections_opened);
    sums->connections_closed += atom_load(&stats->connections_closed);
    sums->connections_refused += atom_load(&stats->connections_refused);
    sums->connections_cut += atom_load(&stats->connections_cut);
    sums->bytes_in += atom_load(&stats->bytes_in);
    sums->bytes_out += atom_load(&stats->bytes_out);
    sums->turns += atom_load(&stats->turns);
}

void sums_of_all(const struct sums_crew *crew, struct sums *sums)
{
    *sums = (struct sums){0};
    for (unsigned i = 0; i < crew->workers; i++) add(sums, crew->worker[i]);
}
