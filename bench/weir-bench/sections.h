/* SPDX-License-Identifier: MIT
   The parts of weir-bench: what this machine makes of limits, beside what it charges for their parts.

       main.c     options, which sections, the time of each      clock.c  reading clocks, sleeping
       grant.c    permits, given by all ways                     pace.c   pacing (see pace.h)
       deny.c     refusals                                       table.c  a state for each key */
#ifndef WEIR_BENCH_SECTIONS_H
#define WEIR_BENCH_SECTIONS_H

#include "harness/harness.h"

/* What there is to know about one part of the machine.  What measure() returns is given to the others, and to
   free(). */
struct bench_section {
    const char *name;
    void (*fill_in)(struct bench_wish *wish);        /* what was not asked for; run_ns as it usually is */
    uint64_t (*runs)(const struct bench_wish *wish); /* in all, of run_ns each */
    void *(*measure)(const struct bench_wish *wish);
    void (*print_words)(const struct bench_wish *wish, const void *measured);
    void (*print_json)(const struct bench_wish *wish, const void *measured); /* "name":{...} */
};

uint64_t grant_runs(const struct bench_wish *wish);
void *grant_measure(const struct bench_wish *wish);
void grant_words(const struct bench_wish *wish, const void *measured);
void grant_json(const struct bench_wish *wish, const void *measured);

uint64_t deny_runs(const struct bench_wish *wish);
void *deny_measure(const struct bench_wish *wish);
void deny_words(const struct bench_wish *wish, const void *measured);
void deny_json(const struct bench_wish *wish, const void *measured);

void clock_fill_in(struct bench_wish *wish);
uint64_t clock_runs(const struct bench_wish *wish);
void *clock_measure(const struct bench_wish *wish);
void clock_words(const struct bench_wish *wish, const void *measured);
void clock_json(const struct bench_wish *wish, const void *measured);

void pace_fill_in(struct bench_wish *wish);
uint64_t pace_runs(const struct bench_wish *wish);
void *pace_measure(const struct bench_wish *wish);
void pace_words(const struct bench_wish *wish, const void *measured);
void pace_json(const struct bench_wish *wish, const void *measured);

void table_fill_in(struct bench_wish *wish);
uint64_t table_runs(const struct bench_wish *wish);
void *table_measure(const struct bench_wish *wish);
void table_words(const struct bench_wish *wish, const void *measured);
void table_json(const struct bench_wish *wish, const void *measured);

#endif
