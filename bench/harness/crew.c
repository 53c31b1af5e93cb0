/* SPDX-License-Identifier: MIT
   Threads that all do one thing, again and again, for a while.

   All are there and warm before the first begins: they sleep until they are told to go.  Each looks at the clock now
   and then, and ends by itself: among a thousand that are busy, whoever should tell them to stop would wait his turn.

   What is measured holds nothing of making threads or of their first call. */
#include "harness/crew.h"

#include <sys/resource.h>

#include "host/thread.h"

enum { LOOK_EVERY_NS = 20000, LOOK_EVERY_TURNS = 16 };

static uint64_t switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_nvcsw : 0;
}

static void work_for_a_while(struct bench_member *member)
{
    const struct bench_crew *crew = member->crew;
    for (uint64_t turn = 1; turn == 1 || !bench_stopped(member); turn++) {
        crew->turn(member);
        if (turn % LOOK_EVERY_TURNS == 1 && host_now_ns() >= crew->until_ns) return;
    }
}

static void *work(void *argument)
{
    struct bench_member *member = argument;
    struct bench_crew *crew = member->crew;
    if (crew->enter != NULL) crew->enter(member);
    atom_add(&crew->ready, 1);
    while (host_event_seen(&crew->go) == 0) host_event_wait(&crew->go, 0, HOST_NO_DEADLINE);
    member->begin_ns = host_now_ns();
    work_for_a_while(member);
    member->end_ns = host_now_ns();
    if (crew->leave != NULL) crew->leave(member);
    return NULL;
}

static void start_all(struct bench_crew *crew)
{
    for (unsigned i = 0; i < crew->threads; i++) {
        struct bench_member *member = &crew->member[i];
        member->crew = crew;
        member->index = i;
        if (pthread_create(&member->thread, NULL, work, member) == 0) continue;
        bench_fail("the system cannot run %u threads; see --threads", crew->threads);
    }
    while (atom_load_acquire(&crew->ready) < crew->threads) host_sleep_until(host_now_ns() + LOOK_EVERY_NS);
}

/* Times are taken around the whole of it, so that they are of all members. */
static void run(struct bench_crew *crew)
{
    const uint64_t switches_before = switches();
    const double processor_before_s = bench_processor_s();
    crew->begin_ns = host_now_ns();
    crew->until_ns = crew->begin_ns + crew->run_ns;
    host_event_signal(&crew->go);
    host_sleep_until(crew->until_ns);
    crew->switches = switches() - switches_before;
    crew->processor_ns = (uint64_t)((bench_processor_s() - processor_before_s) * HOST_SECOND_NS);
    crew->wall_ns = host_now_ns() - crew->begin_ns;
    atom_store(&crew->stop, 1);
    if (crew->halt != NULL) crew->halt(crew);
}

void bench_crew_run(struct bench_crew *crew)
{
    uint64_t wrong = 0;
    crew->member = host_allocate(crew->threads * sizeof *crew->member);
    if (crew->member == NULL) bench_fail("no memory for %u threads", crew->threads);
    start_all(crew);
    run(crew);
    for (unsigned i = 0; i < crew->threads; i++) {
        pthread_join(crew->member[i].thread, NULL);
        wrong += crew->member[i].wrong;
    }
    if (wrong == 0) return;
    bench_fail("%llu calls of %s by %u threads did not return what they should", (unsigned long long)wrong, crew->name,
               crew->threads);
}

void bench_crew_close(struct bench_crew *crew)
{
    host_free(crew->member);
    crew->member = NULL;
}

/* Of those who began before `by_ns`; 0: nobody did. */
static double rate_of(const struct bench_crew *crew, uint64_t by_ns)
{
    uint64_t units = 0, begin_ns = UINT64_MAX, end_ns = 0;
    for (unsigned i = 0; i < crew->threads; i++) {
        const struct bench_member *member = &crew->member[i];
        if (member->begin_ns >= by_ns) continue;
        units += member->units;
        if (member->begin_ns < begin_ns) begin_ns = member->begin_ns;
        if (member->end_ns > end_ns) end_ns = member->end_ns;
    }
    return (double)units * HOST_SECOND_NS / (double)(end_ns > begin_ns ? end_ns - begin_ns : 1);
}

/* Of many threads some may have had no processor before the time was over. */
double bench_crew_rate(const struct bench_crew *crew)
{
    const double rate = rate_of(crew, crew->until_ns);
    return rate > 0 ? rate : rate_of(crew, UINT64_MAX);
}
