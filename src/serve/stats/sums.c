/* SPDX-License-Identifier: MIT
   What all workers have counted together.

   No worker waits; of two counters that belong together one may be a moment ahead. */
#include "serve/stats/sums.h"

void sums_crew(struct sums_crew *crew, struct service *service)
{
    host_lock(&service->mutex);
    memcpy(crew->worker, service->worker, sizeof crew->worker);
    crew->workers = service->worker_count;
    crew->service = service;
    crew->numbers = service->name_count + 1;
    host_unlock(&service->mutex);
}

bool sums_name(const struct sums_crew *crew, unsigned number, struct sums_name *name)
{
    *name = (struct sums_name){.text = ""};
    if (number == 0) return true;
    host_lock(&crew->service->mutex);
    memcpy(name->text, crew->service->name[number - 1].text, sizeof name->text);
    name->epoch = crew->service->name[number - 1].epoch;
    host_unlock(&crew->service->mutex);
    return name->text[0] != '\0';
}

unsigned sums_names(const struct sums_crew *crew)
{
    struct sums_name name;
    unsigned names = 0;
    for (unsigned number = 1; number < crew->numbers; number++) names += sums_name(crew, number, &name);
    return names;
}

static void add_limit(struct sums_limit *sum, const struct stats_limit *limit)
{
    sum->allowed += atom_load(&limit->allowed);
    sum->denied += atom_load(&limit->denied);
    sum->never += atom_load(&limit->never);
    sum->shadowed += atom_load(&limit->shadowed);
    sum->permits += atom_load(&limit->permits);
    sum->away_allowed += atom_load(&limit->away_allowed);
    sum->away_refused += atom_load(&limit->away_refused);
    sums_last(sum, atom_load(&limit->granted_at_ns), atom_load(&limit->late_ns));
}

static void add_workers(struct sums_limit *sum, const struct sums_crew *crew, unsigned number)
{
    for (unsigned i = 0; i < crew->workers; i++) add_limit(sum, &crew->worker[i]->limit[number]);
}

struct sums_limit sums_of_limit(const struct sums_crew *crew, unsigned number)
{
    struct sums_limit sum = {0};
    add_workers(&sum, crew, number);
    return sum;
}

struct sums_limit sums_of_gone(const struct sums_crew *crew)
{
    struct sums_limit sum = {0};
    add_limit(&sum, &crew->service->gone);
    return sum;
}

struct sums_limit sums_of_limits(const struct sums_crew *crew)
{
    struct sums_limit sum = sums_of_gone(crew);
    for (unsigned number = 0; number < crew->numbers; number++) add_workers(&sum, crew, number);
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
    sums->batches += atom_load(&stats->batches);
    sums->alternations += atom_load(&stats->alternations);
}

void sums_of_all(const struct sums_crew *crew, struct sums *sums)
{
    *sums = (struct sums){0};
    for (unsigned i = 0; i < crew->workers; i++) add(sums, crew->worker[i]);
}
