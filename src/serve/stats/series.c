/* SPDX-License-Identifier: MIT
   The last ten minutes, second by second.

       counters now - counters at the last sample -> calls of this second, by number
       the busiest numbers have a place of their own in each sample; what the others did is added up in the last

   Which numbers have a place: each while there is room, and then the busier, once it is twice as busy as the least busy
   of those that have one.  A number that loses its place leaves its past to the others, so that sums stay what they
   were.

   Memory of one size; no worker waits but one that reads this at the same time; keys are counted for at most 1/100 of
   a processor. */
#include "serve/stats/series.h"

#include <stdlib.h>

#include "host/clock.h"

enum { FADES_IN_S = 64, HEAT_OF_CALL = 1 << 10, KEYS_REST = 100, MS_NS = 1000000 };

/* ---- opening ---- */

static struct series *allocate(void)
{
    struct series *series = calloc(1, sizeof *series);
    if (series == NULL) return NULL;
    host_mutex_open(&series->mutex);
    for (unsigned i = 0; i < SERIES_LIMITS; i++) series->number[i] = SERIES_NOBODY;
    return series;
}

/* One that is new is shown only once it knows how full the tables are. */
static struct series *series_of(struct service *service)
{
    host_lock(&service->mutex);
    struct series *series = service->series;
    host_unlock(&service->mutex);
    return series != NULL ? series : allocate();
}

static void show(struct service *service, struct series *series)
{
    host_lock(&service->mutex);
    service->series = series;
    host_unlock(&service->mutex);
}

void series_free(struct series *series)
{
    if (series == NULL) return;
    host_mutex_close(&series->mutex);
    free(series);
}

struct series *series_hold(struct service *service)
{
    host_lock(&service->mutex);
    struct series *series = service->series;
    host_unlock(&service->mutex);
    if (series != NULL) host_lock(&series->mutex);
    return series;
}

void series_release(struct series *series)
{
    host_unlock(&series->mutex);
}

/* ---- how full the tables are ---- */

/* That takes the longer the larger a table is. */
static void count_keys(struct service *service, struct series *series)
{
    const uint64_t from_ns = host_now_ns();
    if (from_ns < series->keys_next_ns) return;
    const uint64_t keys = tables_live(service->tables);
    series->keys_next_ns = from_ns + (host_now_ns() - from_ns) * KEYS_REST;
    host_lock(&series->mutex);
    series->keys = keys;
    host_unlock(&series->mutex);
}

void series_table(struct service *service, weir_table_stats *stats)
{
    *stats = tables_read_counters(service->tables);
    struct series *series = series_hold(service);
    stats->keys_live = series != NULL ? series->keys : tables_live(service->tables);
    if (series != NULL) series_release(series);
}

/* ---- which numbers have a place ---- */

static unsigned place_of(const struct series *series, unsigned number)
{
    unsigned place = 0;
    while (place < SERIES_LIMITS && series->number[place] != number) place++;
    return place;
}

static unsigned coldest_place(const struct series *series)
{
    unsigned coldest = 0;
    for (unsigned i = 1; i < SERIES_LIMITS; i++) {
        if (series->heat[series->number[i]] < series->heat[series->number[coldest]]) coldest = i;
    }
    return coldest;
}

static void add_calls(struct series_calls *calls, const struct series_calls *more)
{
    const uint64_t offered = (uint64_t)calls->offered + more->offered;
    const uint64_t denied = (uint64_t)calls->denied + more->denied;
    const uint64_t shadowed = (uint64_t)calls->shadowed + more->shadowed;
    calls->offered = (uint32_t)(offered < UINT32_MAX ? offered : UINT32_MAX);
    calls->denied = (uint32_t)(denied < UINT32_MAX ? denied : UINT32_MAX);
    calls->shadowed = (uint32_t)(shadowed < UINT32_MAX ? shadowed : UINT32_MAX);
}

static void leave_to_others(struct series *series, unsigned place)
{
    for (unsigned i = 0; i < SERIES_SAMPLES; i++) {
        struct series_calls *calls = series->sample[i].calls;
        add_calls(&calls[SERIES_LIMITS], &calls[place]);
        calls[place] = (struct series_calls){0};
    }
    series->layout++;
}

/* Whoever has lost the name, or has got another's number, begins anew. */
static void look_at_names(struct series *series, const struct sums_crew *crew)
{
    struct sums_name name;
    for (unsigned number = 1; number < crew->numbers; number++) {
        series->named[number] = sums_name(crew, number, &name);
        if (series->named[number] && series->epoch[number] == name.epoch) continue;
        const unsigned place = place_of(series, number);
        if (place != SERIES_LIMITS) {
            leave_to_others(series, place);
            series->number[place] = SERIES_NOBODY;
        }
        if (series->epoch[number] == name.epoch) continue;
        series->epoch[number] = name.epoch;
        series->before[number] = (struct sums_limit){0};
        series->heat[number] = 0;
    }
}

/* Number 0 is of limits without a name, which many services do not have. */
static void seat(struct series *series, unsigned numbers)
{
    unsigned hottest = SERIES_NOBODY;
    for (unsigned number = 0; number < numbers; number++) {
        const bool wants = number == 0 ? series->heat[0] != 0 : series->named[number];
        if (!wants || place_of(series, number) != SERIES_LIMITS) continue;
        const unsigned empty = place_of(series, SERIES_NOBODY);
        if (empty != SERIES_LIMITS) series->number[empty] = number;
        else if (hottest == SERIES_NOBODY || series->heat[number] > series->heat[hottest]) hottest = number;
    }
    if (hottest == SERIES_NOBODY) return;
    const unsigned place = coldest_place(series);
    if (series->heat[hottest] / 2 <= series->heat[series->number[place]]) return;
    leave_to_others(series, place);
    series->number[place] = hottest;
}

/* ---- a sample ---- */

static uint32_t fitting(uint64_t calls)
{
    return (uint32_t)(calls < UINT32_MAX ? calls : UINT32_MAX);
}

static struct series_calls calls_since(const struct sums_limit *before, const struct sums_limit *now)
{
    const uint64_t denied = sums_less(now->denied + now->never, before->denied + before->never);
    return (struct series_calls){.offered = fitting(sums_less(now->allowed, before->allowed) + denied),
                                 .denied = fitting(denied),
                                 .shadowed = fitting(sums_less(now->shadowed, before->shadowed))};
}

static void count_calls(struct series *series, const struct sums_crew *crew, struct series_calls calls[])
{
    for (unsigned number = 0; number < crew->numbers; number++) {
        const struct sums_limit now = sums_of_limit(crew, number);
        calls[number] = calls_since(&series->before[number], &now);
        series->before[number] = now;
        uint64_t *heat = &series->heat[number];
        *heat += (uint64_t)calls[number].offered * HEAT_OF_CALL - *heat / FADES_IN_S;
    }
}

static void time_calls(struct series *series, const struct sums_crew *crew, struct series_sample *sample)
{
    uint64_t count[STATS_LATENCY_BUCKETS], now[STATS_LATENCY_BUCKETS];
    sums_of_latency(crew, now);
    for (unsigned i = 0; i < STATS_LATENCY_BUCKETS; i++) count[i] = sums_less(now[i], series->latency_before[i]);
    memcpy(series->latency_before, now, sizeof now);
    sample->p50_ns = histogram_bucket_quantile(count, STATS_LATENCY_BUCKETS, STATS_LATENCY_BITS, 500);
    sample->p99_ns = histogram_bucket_quantile(count, STATS_LATENCY_BUCKETS, STATS_LATENCY_BITS, 990);
    sample->max_ns = histogram_bucket_quantile(count, STATS_LATENCY_BUCKETS, STATS_LATENCY_BITS, 1000);
}

/* [under the mutex] */
static void take_sample(struct series *series, const struct sums_crew *crew)
{
    struct series_calls calls[STATS_LIMITS];
    look_at_names(series, crew);
    count_calls(series, crew, calls);
    seat(series, crew->numbers);
    struct series_sample *sample = &series->sample[series->count++ % SERIES_SAMPLES];
    *sample = (struct series_sample){.number = series->count,
                                     .unix_ms = host_unix_ns() / MS_NS,
                                     .keys = series->keys,
                                     .connections = sums_connections(crew)};
    time_calls(series, crew, sample);
    for (unsigned number = 0; number < crew->numbers; number++) {
        if (calls[number].offered != 0) add_calls(&sample->calls[place_of(series, number)], &calls[number]);
    }
}

void series_sample(struct service *service)
{
    struct series *series = series_of(service);
    struct sums_crew crew;
    if (series == NULL) return;
    count_keys(service, series);
    show(service, series);
    sums_crew(&crew, service);
    host_lock(&series->mutex);
    take_sample(series, &crew);
    host_unlock(&series->mutex);
}
