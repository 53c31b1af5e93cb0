/* SPDX-License-Identifier: MIT
   Workers count while others read all there is to read, take samples, define limits and come anew.

   What is read on the way must grow; what is read in the end is what was counted.  Under ThreadSanitizer this is what
   says that nobody waits and nothing is torn.

   Counts are exact in the end. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/stats/series.h"
#include "serve/stats/sums.h"
#include "serve/stats/text.h"

enum { WORKERS = 4, READERS = 2, NUMBERS = 90, CALLS = 180000, READS = 40 };

static struct service service;
static atomic_int counting; /* workers that are not done yet */

static void check(bool holds, const char *what)
{
    if (holds) return;
    printf("FAILED: %s\n", what);
    exit(1);
}

static void *count(void *nothing)
{
    struct stats *stats = service_worker(&service);
    check(stats != NULL, "a worker has counters");
    for (unsigned i = 0; i < CALLS; i++) {
        const weir_decision decision = {.verdict = i % 3 == 0 ? WEIR_DENY : WEIR_ALLOW, .charged = 2};
        stats_decided(stats, i % NUMBERS, &decision, false);
        stats_latency(stats, (uint64_t)i * i, 1);
        stats_add(&stats->commands, 1);
    }
    atomic_fetch_sub(&counting, 1);
    return nothing;
}

static uint64_t sum_of_limits(void)
{
    struct sums_crew crew;
    uint64_t calls = 0;
    sums_crew(&crew, &service);
    for (unsigned i = 0; i < crew.numbers; i++) {
        const struct sums_limit sum = sums_of_limit(&crew, i);
        calls += sum.allowed + sum.denied;
    }
    return calls;
}

static void *read_all(void *memory)
{
    uint64_t before = 0, reads = 0;
    while (atomic_load(&counting) != 0 || reads < READS) {
        struct bytes out = {.memory = memory, .capacity = STATS_METRICS_MAX};
        if (reads % 2 == 0) stats_write_metrics(&service, &out);
        else stats_write_json(&service, 0, &out);
        check(!out.full && out.size != 0, "it fits");
        const uint64_t now = sum_of_limits();
        check(now >= before, "counters only grow");
        before = now;
        reads++;
    }
    return NULL;
}

static void *sample_all(void *nothing)
{
    for (unsigned i = 0; atomic_load(&counting) != 0 || i < READS; i++) {
        series_sample(&service);
        service_say(&service, "a sample");
    }
    return nothing;
}

static void name_all(void)
{
    for (unsigned i = 1; i < NUMBERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "limit-%u", i);
        check(service_number(&service, name) == i, "names have their numbers");
    }
}

static void check_end(void)
{
    struct sums_crew crew;
    uint64_t latency[STATS_LATENCY_BUCKETS];
    uint64_t timed = 0, sampled = 0;
    series_sample(&service);
    sums_crew(&crew, &service);
    sums_of_latency(&crew, latency);
    check(sum_of_limits() == (uint64_t)WORKERS * CALLS, "every call is counted once");
    check(sums_of(&crew, offsetof(struct stats, commands)) == (uint64_t)WORKERS * CALLS,
          "every command is counted once");
    for (unsigned i = 0; i < STATS_LATENCY_BUCKETS; i++) timed += latency[i];
    check(timed == (uint64_t)WORKERS * CALLS, "every latency is counted once");
    const struct series *series = service.series;
    for (unsigned i = 0; i < SERIES_SAMPLES; i++) {
        for (unsigned place = 0; place <= SERIES_LIMITS; place++) sampled += series->sample[i].calls[place].offered;
    }
    if (series->count <= SERIES_SAMPLES) check(sampled == (uint64_t)WORKERS * CALLS, "every call is in a sample");
}

int main(void)
{
    static char memory[READERS][STATS_METRICS_MAX];
    pthread_t thread[WORKERS + READERS + 1];
    const struct tables_options options = {.keys_max = 1000, .top = 10};
    struct tables *tables;
    weir_error error;
    check(tables_open(&tables, &options, &error) == 0, "tables are opened");
    service_open(&service, tables, NULL, NULL);
    atomic_store(&counting, WORKERS);
    int threads = 0;
    for (; threads < READERS; threads++) pthread_create(&thread[threads], NULL, read_all, memory[threads]);
    pthread_create(&thread[threads++], NULL, sample_all, NULL);
    for (int i = 0; i < WORKERS; i++) pthread_create(&thread[threads++], NULL, count, NULL);
    name_all();
    while (threads > 0) pthread_join(thread[--threads], NULL);
    check_end();
    service_close(&service);
    tables_close(tables);
    return 0;
}
