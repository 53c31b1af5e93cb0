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

const struct bench_section *bench_grant_section(void);
const struct bench_section *bench_deny_section(void);
const struct bench_section *bench_clock_section(void);
const struct bench_section *bench_pace_section(void);
const struct bench_section *bench_table_section(void);

#endif
