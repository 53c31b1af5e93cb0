/* SPDX-License-Identifier: MIT
   The parts of weir-bench: what this machine makes of limits, beside what it charges for their parts.

       main.c     options, which sections, the time of each      grant.c  permits, given by all ways
       crew.c     threads that all do one thing for a while      deny.c   refusals
       loops.c    short loops that take turns                    clock.c  reading clocks, sleeping
       figures.c  medians, ratios, how they are printed          pace.c   pacing (see pace.h)
                                                                 table.c  a state for each key */
#ifndef WEIR_BENCH_SECTIONS_H
#define WEIR_BENCH_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_THREADS_MAX = 1000, BENCH_COUNTS_MAX = 8, BENCH_RATES_MAX = 8, BENCH_ROUNDS_MAX = 25 };

/* What is asked for.  A section gets a copy in which everything is filled in. */
struct bench_wish {
    unsigned threads[BENCH_COUNTS_MAX];
    int counts;                     /* of threads; 0: the section's own */
    uint64_t rate[BENCH_RATES_MAX]; /* a second */
    int rates;                      /* 0: the section's own */
    int rounds;                     /* 0: the section's own */
    uint64_t keys, min_sleep_ns;
    uint64_t run_ns; /* so long at a time */
    unsigned processors;
};

/* What there is to know about one part of the machine.  measure() says on stderr why it could not, and returns NULL;
   what it returns is given to the others, and to free(). */
struct bench_section {
    const char *name;
    void (*fill_in)(struct bench_wish *wish);        /* what was not asked for; run_ns as it usually is */
    uint64_t (*runs)(const struct bench_wish *wish); /* in all, of run_ns each */
    void *(*measure)(const struct bench_wish *wish);
    void (*print_words)(const struct bench_wish *wish, const void *measured);
    void (*print_json)(const struct bench_wish *wish, const void *measured); /* "name":{...} */
};

const struct bench_section *bench_grant_section(void);
const struct bench_section *bench_deny_section(void);
const struct bench_section *bench_clock_section(void);
const struct bench_section *bench_pace_section(void);
const struct bench_section *bench_table_section(void);

#endif
