/* SPDX-License-Identifier: MIT
   Threads that all do one thing, again and again, for a while.

   See crew.c. */
#ifndef WEIR_BENCH_CREW_H
#define WEIR_BENCH_CREW_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

#include "harness/harness.h"
#include "share/atomic.h"

struct bench_crew;

/* Written by its own thread only. */
struct bench_member {
    alignas(BENCH_CACHE_LINE) struct bench_crew *crew;
    void *own; /* of whoever runs the crew */
    pthread_t thread;
    unsigned index;
    uint64_t units, counted, wrong; /* wrong: not answered as it should be */
    uint64_t begin_ns, end_ns;
    uint64_t left; /* a counter in memory */
    alignas(BENCH_CACHE_LINE) weir_lease lease;
};

struct bench_crew {
    /* As wanted.  enter and leave: once by each member, before and after what is measured; halt: once by whoever runs
       the crew, when the time is over.  All but turn may be NULL. */
    const char *name; /* for what fails */
    unsigned threads;
    uint64_t run_ns;
    const void *job;
    void (*enter)(struct bench_member *member);
    void (*turn)(struct bench_member *member);
    void (*leave)(struct bench_member *member);
    void (*halt)(struct bench_crew *crew);

    /* As it went. */
    struct bench_member *member;
    uint64_t begin_ns, until_ns;
    uint64_t wall_ns, processor_ns, switches; /* switches: how often a thread gave its processor away to wait */

    struct host_event go;
    struct atom ready, stop;
};

/* Fails where there is no room for so many threads, or where something was answered wrong. */
void bench_crew_run(struct bench_crew *crew);
void bench_crew_close(struct bench_crew *crew);

/* Units a second, all together, from the first that began to the last that ended. */
double bench_crew_rate(const struct bench_crew *crew);

static inline bool bench_stopped(const struct bench_member *member)
{
    return atom_load(&member->crew->stop) != 0;
}

/* What stands in memory is read from there again: a caller has other things to do between two calls, so a compiler
   must not keep anything in registers from one turn of a loop to the next. */
static inline void bench_forget(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

#endif
