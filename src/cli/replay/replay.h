/* SPDX-License-Identifier: MIT
   What a log and a few limits came to: everything that is printed, drawn or put on the page.

       source (bytes, gzip, follow) -> lines -> accesslog -> order (by time) -> clients (keys) -> candidates -> result
       result -> report (text, JSON), page (HTML) */
#ifndef WEIR_CLI_REPLAY_REPLAY_H
#define WEIR_CLI_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/weir.h>

#include "cli/replay/tenants/tenants.h"

enum { REPLAY_LIMITS_MAX = 16, REPLAY_STEPS = 480, REPLAY_TOP = 20 };

/* Counts per step of time.  The steps double when the log outgrows them, so that there are at most REPLAY_STEPS. */
struct replay_series {
    uint64_t first_ns, step_ns; /* unix time */
    unsigned count;
    uint64_t offered[REPLAY_STEPS];
    uint64_t running[REPLAY_STEPS]; /* most at once in a step, had nothing been refused; where that is counted */
    struct {
        uint64_t denied[REPLAY_STEPS], delayed[REPLAY_STEPS]; /* allowed = offered - denied */
        uint64_t running[REPLAY_STEPS];
    } limit[REPLAY_LIMITS_MAX];
};

/* One of the most refused. */
struct replay_client {
    const char *key;
    size_t key_size;
    uint64_t requests, denied, delayed;
};

struct replay_limit {
    const char *text;                  /* as it was typed */
    char canonical[1024];              /* nothing implied */
    char note[256];                    /* what its burst lets pass in a period, and what never does; or nothing */
    char unaffected_text[128];         /* "10/s burst=34" with the unaffected_burst; nothing: no rate */
    char unaffected_slots_text[128];   /* "34 concurrent lease=30s" with the unaffected_slots; nothing: not counted */
    uint64_t allowed, denied, delayed; /* requests; delayed ones are allowed, too */
    uint64_t denied_spread; /* the same with the requests of a second spread over it, where that is unknown */
    uint64_t clients_denied, clients_delayed;
    uint64_t delay_p99_ns, delay_max_ns;
    uint64_t
        unaffected_burst; /* the burst at this rate that refuses nothing to --unaffected of the clients; 0: no rate */
    uint64_t
        unaffected_slots; /* so many at once at a time refuse nothing to --unaffected of the clients; 0: no slots */
    uint64_t outlasted;   /* allowed requests that ran longer than their lease */
    uint64_t running_client, running_all; /* most at once of what it allowed and did not delay: of a client, of all */
    unsigned top_count;
    struct replay_client top[REPLAY_TOP];
};

/* Most requests of a client in any second or minute of the clock: at the median client, the 99th of 100, the worst. */
struct replay_busiest {
    uint64_t p50, p99, max;
    const char *max_key;
    size_t max_key_size;
};

/* Of --charge: see charge.h. */
struct replay_charged {
    const char *limit; /* its name at the service, or its text; NULL: nobody asked */
    uint64_t charged, refused, lost, outages;
};

struct fleet;

struct replay_result {
    uint64_t requests, malformed, clients;
    uint64_t late;              /* of the requests: out of order by more than the window, taken later than they were */
    uint64_t first_ns, last_ns; /* unix time of the first and the last request */
    uint64_t resolution_ns;     /* of the stamps */
    bool whole_seconds;         /* stamps say no more: denied and denied_spread are the ends of a range */
    bool timestamps_are_ends;   /* of requests, with no duration to take off: true refusals may be higher */
    double unaffected;          /* per cent */
    const char *key_name;       /* "remote_addr", or of several "remote_addr,host", or NULL: all together */
    struct replay_busiest second, minute;
    bool counts_running;           /* a limit counts what runs at once: the rest of this */
    struct replay_busiest running; /* of a client, had nothing been refused */
    uint64_t running_all, longest_ns;
    uint64_t untimed; /* requests without a duration, as if they had taken none */
    int limits;
    struct replay_limit limit[REPLAY_LIMITS_MAX];
    struct replay_series series;
    const struct fleet *fleet; /* NULL: nobody asked */
    struct tenants_result tenants;
    struct replay_charged charge;
};

/* ---- report.c ---- */
void report_text(const struct replay_result *result, bool quiet);
void report_json(const struct replay_result *result);

/* ---- page.c ---- */

/* One self-contained page.  Prints what is wrong and returns false; as it does when built without the page. */
bool page_write(const struct replay_result *result, const char *path);

#endif
