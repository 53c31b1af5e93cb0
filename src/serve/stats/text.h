/* SPDX-License-Identifier: MIT
   What the service has done, as text: for Prometheus, for the page, and who is refused most.

       figures.c     what is counted: a row for each figure
       metrics.c     /metrics
       json.c        /v1/stats, which the page asks each second, and the most refused keys
       live.c        the page itself

   All but the page are made when asked for, by any thread.  What does not fit sets out->full: then nothing of it is of
   use. */
#ifndef WEIR_SERVE_STATS_TEXT_H
#define WEIR_SERVE_STATS_TEXT_H

#include "format/bytes.h"
#include "serve/service.h"

/* What fits in so many bytes always fits. */
enum { STATS_METRICS_MAX = 1 << 21, STATS_JSON_MAX = 1 << 18, STATS_TOP_MAX = 1 << 17 };

/* The type of stats_write_metrics; the other two are application/json. */
#define STATS_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

void stats_write_metrics(struct service *service, struct bytes *out);

/* With the samples behind number `since`, of those that are kept (0: all), the oldest first, as many as there is room
   for: where "more" is true the caller asks again, behind the last one it got. */
void stats_write_json(struct service *service, uint64_t since, struct bytes *out);

/* [{"limit":"api","key":"acme","denied":7,"over":0,"cut":false}, ...], the most refused first; "limit" is null where it
   came as text, "cut" true where the key was longer than what is kept of it. */
void stats_write_top(struct service *service, struct bytes *out);

/* The page at this path ("/"), borrowed for ever; its Content-Type, its Content-Security-Policy.  An empty slice: no
   such page. */
struct slice live_page(const char *path, const char **type, const char **policy);

#endif
