/* SPDX-License-Identifier: MIT
   What everything that measures has in common: failing, figures of several rounds, what machine this is.

       harness.c  figures, failing, the machine      loops.c   calls a second, with more and more threads
       crew.c     threads that do one thing          pacing.c  how a rate is held, by any way to wait */
#ifndef WEIR_BENCH_HARNESS_H
#define WEIR_BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"

enum { BENCH_THREADS_MAX = 1000, BENCH_COUNTS_MAX = 8, BENCH_RATES_MAX = 8, BENCH_ROUNDS_MAX = 25 };
enum { BENCH_CACHE_LINE = 64, BENCH_PATH_SIZE = 4096 };

/* Says why on stderr, behind the program's name, and ends it with status 2. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* malloc and calloc that fail by bench_fail. */
void *bench_allocate(size_t count, size_t size);

/* Processor time of this process so far. */
double bench_processor_s(void);

/* What is asked for.  A section of weir-bench gets a copy in which everything is filled in. */
struct bench_wish {
    unsigned threads[BENCH_COUNTS_MAX];
    int counts;                     /* of threads; 0: the section's own */
    uint64_t rate[BENCH_RATES_MAX]; /* a second */
    int rates;                      /* 0: the section's own */
    int rounds;                     /* 0: the section's own */
    uint64_t keys, grain_ns;
    uint64_t run_ns; /* so long at a time */
    unsigned processors;
};

/* ---- figures ---- */

/* A figure of each round. */
struct bench_series {
    double round[BENCH_ROUNDS_MAX];
};

/* NAN where there was nothing to measure. */
struct bench_spread {
    double median, least, most;
};

struct bench_spread bench_spread(const struct bench_series *series, int rounds);

/* Of the ratios, not the ratio of the middles: both of a ratio had the same machine. */
struct bench_spread bench_ratio(const struct bench_series *above, const struct bench_series *below, int rounds);

/* How many times as long ours takes as one floor, or as two after each other (second may be NULL); of rates. */
struct bench_spread bench_times(const struct bench_series *ours, const struct bench_series *floor,
                                const struct bench_series *second, int rounds);

/* The value that so many parts of 1 do not exceed.  Sorts the values. */
double bench_quantile(double values[], size_t count, double part);

/* ---- printing ---- */

/* "key":1.5,"key_min":1.25,"key_max":2, with a comma before it where `first` does not hold; null for NAN. */
void bench_json_number(bool first, const char *key, double value, int places);
void bench_json_spread(bool first, const char *key, struct bench_spread spread, int places);

/* "1.21 (1.18-1.30)", and a number, right-aligned behind a space; "-" for NAN. */
void bench_print_ratio(struct bench_spread spread, int width);
void bench_print_number(double value, int width, int places);

/* A line on stderr while it goes on, where that is a terminal; clear takes it away. */
void bench_progress(const char *section, const char *what, uint64_t number, int round, int rounds);
void bench_progress_clear(void);

/* Two lines: the machine, the commit. */
void bench_print_machine(void);

/* The path of a program that lies beside this one. */
const char *bench_beside(const char *name, char path[BENCH_PATH_SIZE]);

#endif
