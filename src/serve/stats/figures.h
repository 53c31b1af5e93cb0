/* SPDX-License-Identifier: MIT
   What the service counts: a row for each figure, from which /metrics, the page's JSON and INFO come.

   See figures.c. */
#ifndef WEIR_SERVE_STATS_FIGURES_H
#define WEIR_SERVE_STATS_FIGURES_H

#include <stddef.h>

#include "serve/policy/tables.h"
#include "serve/stats/sums.h"

enum {
    FIGURES_BOUND_FIRST = 10
}; /* 1.023 us, and each bound twice the one before: 2^(10 + i) - 1 ns; the last is none */

/* How many took so long, each in one of them. */
struct figures_times {
    uint64_t count[WEIR_ENGINE_ROUND_TRIPS], sum_ns;
};

/* All figures, read at one time. */
struct figures {
    struct sums_crew crew;
    uint64_t connections_open, closed_by_client;
    struct figures_times requests, round_trips;
    weir_table_stats table;
    struct tables_memory memory;
    uint64_t settles_refused, policies, started_unix_ns, one;
    struct policy *policy; /* NULL: no names */
    struct engine *engine; /* NULL: the file names none */
    weir_engine_stats engine_stats;
    uint64_t engine_up;
};

enum figures_of { FIGURES_OF_SERVICE, FIGURES_OF_WORKERS, FIGURES_OF_LIMIT, FIGURES_TIMES };

/* What a name ends in says the type and the unit, as Prometheus wants it: _total is a counter, _seconds is in ns here.
   Rows of one name stand together, and the first has the help. */
struct figures_row {
    const char *name, *help;
    const char *label;  /* key="value", or NULL */
    enum figures_of of; /* one number, of all workers or not; one for each limit; a histogram */
    size_t at;          /* in struct figures, struct stats or struct sums_limit */
    const char *json;   /* "table.keys" in /v1/stats, or NULL */
    const char *info;   /* "Table.keys_live" in INFO, or NULL */
};

const struct figures_row *figures_rows(unsigned *count);

void figures_read(struct figures *figures, struct service *service);
void figures_release(struct figures *figures);

static inline uint64_t figures_at(const void *from, const struct figures_row *row)
{
    return *(const uint64_t *)((const char *)from + row->at);
}

/* Of one number. */
uint64_t figures_value(const struct figures *figures, const struct figures_row *row);

/* The member of "table." that "table.keys" is, or NULL. */
const char *figures_member(const char *path, const char *of);

#endif
