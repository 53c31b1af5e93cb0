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
    sum->borrowed += atom_load(&limit->borrowed);
    sum->renewals += atom_load(&limit->renewals);
    sum->releases += atom_load(&limit->releases);
    sum->stale += atom_load(&limit->stale);
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

uint64_t sums_of(const struct sums_crew *crew, size_t at)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < crew->workers; i++)
        sum += atom_load((const struct atom *)(const void *)((const char *)crew->worker[i] + at));
    return sum;
}

/* Read one after the other: what is opened and closed between must not make it less than none. */
uint64_t sums_connections(const struct sums_crew *crew)
{
    const uint64_t closed = sums_of(crew, offsetof(struct stats, connections_closed));
    return sums_less(sums_of(crew, offsetof(struct stats, connections_opened)), closed);
}

void sums_of_latency(const struct sums_crew *crew, uint64_t count[STATS_LATENCY_BUCKETS])
{
    for (unsigned i = 0; i < STATS_LATENCY_BUCKETS; i++)
        count[i] = sums_of(crew, offsetof(struct stats, latency) + i * sizeof(struct atom));
}
