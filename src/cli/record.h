/* SPDX-License-Identifier: MIT
   record.h - what happened while pacing: how much, how fast, how late, and whether the limit was kept.

   See record.c. */
#ifndef WEIR_CLI_RECORD_H
#define WEIR_CLI_RECORD_H

#include <stdbool.h>
#include <stdio.h>

#include <weir/weir.h>

#include "plan/plan.h"
#include "host/thread.h"
#include "share/histogram.h"

struct record {
    struct host_mutex mutex;
    struct histogram late;
    const char *noun; /* what is counted: lines, commands */
    uint64_t items, granted, dropped, early;
    uint64_t first_ns, last_ns, first_cost;
    /* The limit once more, as a leaking bucket in floating point that knows nothing of its algorithm. */
    double permits_per_ns, faster_per_ns, pool, over, level, excess;
    uint64_t period_ns, permits;
    bool in_windows; /* no burst is said */
};

/* A copy of what changes, for showing while it goes on. */
struct record_view {
    uint64_t items, granted, dropped, first_ns, last_ns, late_p99_ns;
};

void record_open(struct record *record, const struct plan *plan, const char *noun);

/* From now on by another limit; what stands in the bucket stays the same time, or as many permits of windows. */
void record_limit(struct record *record, const struct plan *plan);

/* The limit as it is now. */
struct record_rate {
    double permits_per_ns, pool;
    uint64_t period_ns, permits;
};
struct record_rate record_rate_now(struct record *record);

/* Between begin and end: each operation that starts at actual_ns, with its intended start. */
void record_begin(struct record *record, uint64_t actual_ns);
void record_start(struct record *record, uint64_t actual_ns, uint64_t intended_ns, uint64_t cost);
void record_end(struct record *record);
void record_dropped(struct record *record, uint64_t count);

struct record_view record_view(struct record *record);

/* Permits a second from the first start to the last; 0 with fewer than two. */
double record_rate(uint64_t granted, uint64_t first_cost, uint64_t first_ns, uint64_t last_ns);

/* The summary, as text for people or as one JSON object on one line. */
void record_print(struct record *record, const weir_stats *stats, bool json, FILE *out);

#endif
