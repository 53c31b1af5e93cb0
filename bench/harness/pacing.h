/* SPDX-License-Identifier: MIT
   How a rate is held, by any way to wait: weir's, a bare sleep's, a rival's.  See pacing.c; C++ may use it, too. */
#ifndef WEIR_BENCH_PACING_H
#define WEIR_BENCH_PACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACING_THREADS_MAX = 1000 };

struct pacing {
    const char *who;
    /* Called by each thread, 0 to threads - 1: what it hands to acquire. */
    void *(*join)(void *limiter, int index);
    /* Comes back when so many operations may start: mostly 1; 0: the time is over.  May say when they were due. */
    unsigned (*acquire)(void *own, uint64_t *due_ns);
    void (*leave)(void *own);
    void (*halt)(void *limiter); /* the time is over for those that wait; may be NULL */
    void *limiter;
};

struct pace {
    double rate_per_s, seconds;
    int threads;
};

/* Lateness is against first + n / rate. */
enum pacing_figure {
    PACING_STARTS,
    PACING_PER_S,
    PACING_ERROR_PPM, /* the time that the schedule lost, of the time of the run */
    PACING_FIRST_NS,  /* the least late of the first tenth: the first start of all may have been late itself */
    PACING_P50_NS,
    PACING_P99_NS,
    PACING_P999_NS,
    PACING_BURST,     /* the most operations that any window held above the rate */
    PACING_INVERTED,  /* share of those that started behind one that was due later; 0 where none says when it was due */
    PACING_PROCESSOR, /* processor seconds in a second */
    PACING_SLEEPS,    /* how often a thread gave its processor away, per start */
    PACING_FIGURES
};

/* When an operation started, and when it was due: 0 where nobody says. */
struct pacing_start {
    uint64_t at_ns, due_ns;
};

/* Of two starts or more, in order: all figures but PACING_STARTS, PACING_PROCESSOR and PACING_SLEEPS. */
void pacing_look_at(const struct pacing_start start[], size_t count, double rate_per_s, double figure[PACING_FIGURES]);

/* NAN is what could not be measured: there were less than two starts. */
void pacing_run(const struct pacing *pacing, const struct pace *pace, double figure[PACING_FIGURES]);

/* RATE THREADS SECONDS as the command line has them; fails where they are not that. */
struct pace pacing_read(char *const text[3]);

/* A line of who, "pace RATE", threads, achieved / target, p50 and p99 of lateness in ns (negative: early), processor
   seconds a second; for bench/rivals/run. */
void pacing_print_line(const struct pacing *pacing, const struct pace *pace);

/* A line of who, work, threads, million a second for 1, 2, 8 and 64 threads.  `ask` does PACING_CALLS calls, and
   returns how many were answered as they should be: all must be.  With WEIR_SMALL=1 in the environment in a blink. */
enum { PACING_CALLS = 1024 };
void pacing_print_rates(const char *who, const char *work, uint64_t (*ask)(void *limiter), void *limiter);

#ifdef __cplusplus
}
#endif
#endif
