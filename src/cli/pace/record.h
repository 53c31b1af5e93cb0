/* SPDX-License-Identifier: MIT
   What happened while pacing: how much, how fast, how late, and whether the limit was kept.

   See record.c; the summary is record_print.c. */
#ifndef WEIR_CLI_PACE_RECORD_H
#define WEIR_CLI_PACE_RECORD_H

#include <stdbool.h>
#include <stdio.h>

#include <weir/weir.h>

#include "cli/pace/outcomes.h"
#include "cli/pace/profile/phase_record.h"
#include "format/json.h"
#include "plan/plan.h"
#include "plan/write.h"
#include "host/thread.h"
#include "share/histogram.h"

/* What an engine granted: of so many permits in so many requests those lapsed; and for how long it was away. */
struct record_engine {
    const char *key; /* NULL: there is no engine */
    uint64_t permits, requests, lapsed, away_ns;
};

/* Whose the schedule is, where it is not this process's alone. */
struct record_source {
    uint64_t part, parts; /* every so manieth start from that one on; parts 0: all */
    struct record_engine engine;
};

/* Of a log by whose stamps lines start. */
struct record_log {
    uint64_t span_ns;                   /* from its first stamp to its latest */
    uint64_t malformed;                 /* lines that were skipped */
    uint64_t backward, backward_max_ns; /* lines whose stamp went back, and how far at most */
    uint64_t gaps, cut_ns;              /* gaps that were cut, and by how much in all; of the span */
};

struct record {
    struct host_mutex mutex;
    struct histogram late;
    const char *noun; /* what is counted: lines, commands */
    uint64_t items, granted, dropped, early;
    uint64_t parts; /* of the items: each goes on with a line that is counted */
    bool in_bytes;  /* permits are bytes */
    bool at_random; /* no number of starts in a window is too many */
    uint64_t first_ns, last_ns, first_cost;
    uint64_t owed; /* of the last cost, what is paid for after its start */
    uint64_t behind_max_ns;
    /* The limit once more, as a leaking bucket in floating point that knows nothing of its algorithm. */
    double permits_per_ns, faster_per_ns, pool, over, level, excess;
    uint64_t period_ns, permits;
    uint64_t index;    /* of the limit in the plan */
    bool in_windows;   /* no burst is said */
    bool keeps_room;   /* across a change, see record_limit */
    uint64_t level_ns; /* up to here the bucket has leaked */
    /* The last change: what started before it and is recorded after it counts so much of its cost. */
    uint64_t changed_ns;
    double share_before, share;
    struct phase_record *phases; /* of a profile; NULL: there is none */
    struct record_source source;
    /* By the stamps of a log there is no limit: what was asked for is the average. */
    bool by_stamps;
    uint64_t due_first_ns, due_last_ns;
    struct record_log log;
};

/* A copy of what changes, for showing while it goes on. */
struct record_view {
    uint64_t items, granted, dropped, first_ns, last_ns, late_p99_ns;
    double asked_per_s;
};

/* [source is set, if there is one] */
void record_open(struct record *record, const struct plan *plan, const char *noun);

/* Between hold and end: from now on by another limit, which came into force between before_ns and now_ns. */
void record_hold(struct record *record);
void record_limit(struct record *record, const struct plan *plan, uint64_t before_ns, uint64_t now_ns);

/* The limit as it is now. */
struct record_rate {
    double permits_per_ns, pool;
    uint64_t period_ns, permits;
};
struct record_rate record_rate_now(struct record *record);

/* Between begin and end: how far behind the work is, and each operation that starts at actual_ns, which it may do from
   start_ns on; by the schedule it was due at due_ns. */
void record_begin(struct record *record, uint64_t actual_ns);
void record_behind(struct record *record, uint64_t behind_ns);
void record_start(struct record *record, uint64_t actual_ns, uint64_t start_ns, uint64_t due_ns, uint64_t cost);
void record_parts(struct record *record, uint64_t count);
void record_end(struct record *record);

/* The log has come at least so far; what is 0 is not said. */
void record_logged(struct record *record, const struct record_log *log);
void record_dropped(struct record *record, uint64_t count);

/* While no line was there these were due to nobody. */
void record_skipped(struct record *record, uint64_t now_ns, uint64_t permits);

struct record_view record_view(struct record *record);

/* The same, and how late all starts were. */
void record_read(struct record *record, struct record_view *view, struct histogram *late);

/* Permits a second from the first start to the last, without the first's; 0 with fewer than two. */
double record_rate(uint64_t granted, uint64_t first_cost, uint64_t first_ns, uint64_t last_ns);

/* What the work owes to its schedule: time that has passed and is in no pool, and the permits that were due in it. */
struct record_owed {
    uint64_t behind_ns, missed;
    struct phase_moment at; /* when that was so */
};

/* The summary, as text for people or as one JSON object on one line; outcomes NULL: no commands, and no latency. */
void record_print(struct record *record, const struct record_owed *owed, struct outcomes *outcomes,
                  const weir_latency *latency, bool json, FILE *out);

/* Parts of it: percentiles, which commands failed. */
weir_times record_times(const struct histogram *histogram);
void record_put_times(struct json *json, const char *name, const weir_times *times);
void record_put_failed(struct json *json, const struct outcomes *outcomes);

/* 1000/s asked, 903/s; 969 starts missed; 32 of 32 busy */
struct saturation {
    double asked_per_s; /* 0: no limit */
    double per_s;
    uint64_t missed;
    uint64_t busy, jobs; /* jobs 0: no commands */
    uint64_t jobs_max;   /* to which they may grow; 0: they do not */
    bool in_bytes;
};
void record_write_saturation(struct writer *writer, const struct saturation *saturation);

#endif
