/* SPDX-License-Identifier: MIT
   Threads that all ask one limiter: how many answers a second, or how late each permit.  For the rivals in C
   and C++ and for ours; those in other languages do the same in their own (governor/src/main.rs, go/crew.go).

   Every answer is counted and checked by whoever asked; a permit's lateness is against the schedule of the whole
   crew. */
#ifndef BENCH_RIVALS_CREW_H
#define BENCH_RIVALS_CREW_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CREW_CALLS = 1024 };

struct crew_asking {
    const char *who, *work;
    /* CREW_CALLS calls; how many were answered as they should be.  All must be, or the program fails. */
    uint64_t (*ask)(void *limiter);
    void *limiter;
};

/* Prints a line of who, work, threads, million a second for each count of threads. */
void crew_print_rates(const struct crew_asking *asking, bool small);

struct crew_pacing {
    const char *who;
    /* Called by each thread, 0 to threads - 1: what it hands to acquire. */
    void *(*join)(void *limiter, int index);
    /* Comes back when one permit may be used. */
    void (*acquire)(void *own);
    void (*leave)(void *own);
    void *limiter;
};

struct crew_pace {
    uint64_t rate_per_s, duration_ns;
    int threads;
};

/* RATE THREADS SECONDS as the command line has them, limits checked; false when they are not that. */
bool crew_read_pace(char *const text[3], struct crew_pace *pace);

/* Prints a line of who, "pace RATE", threads, achieved / target, p50 and p99 of lateness in ns (negative: early),
   processor seconds a second of the whole process. */
void crew_print_pace(const struct crew_pacing *pacing, const struct crew_pace *pace);

/* "lines" (with WEIR_SMALL=1 in the environment: a blink each, a test that it works) or "pace RATE THREADS SECONDS":
   calls one of both; returns the exit status of main. */
int crew_main(int argc, char **argv, void (*lines)(bool small), void (*pace)(const struct crew_pace *pace));

#ifdef __cplusplus
}
#endif
#endif
