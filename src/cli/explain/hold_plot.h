/* SPDX-License-Identifier: MIT
   Callers that come, hold slots, release them or die, drawn.  See hold_plot.c. */
#ifndef WEIR_CLI_EXPLAIN_HOLD_PLOT_H
#define WEIR_CLI_EXPLAIN_HOLD_PLOT_H

#include <stdio.h>

#include "plan/plan.h"

enum { HOLD_LEASES = 5, HOLD_COLUMNS_A_LEASE = 12, HOLD_COLUMNS = HOLD_LEASES * HOLD_COLUMNS_A_LEASE };
enum { HOLD_CALLERS_MAX = 8 };

/* What a caller does in a column of time; HOLDS_NO_MORE: it died before, and its lease still runs. */
enum holds { HOLDS_NOTHING, HOLDS_WAITING, HOLDS, HOLDS_RENEWED, HOLDS_DIES, HOLDS_NO_MORE };

struct hold_plot {
    uint64_t lease_ns, cost; /* each caller asks for so many slots */
    unsigned callers;
    uint8_t row[HOLD_CALLERS_MAX][HOLD_COLUMNS]; /* an enum holds */
    unsigned holding[HOLD_COLUMNS];              /* of the callers, by what is left */
};

/* Of the concurrent limit alone.  False when there is none, its lease is years, or there is no memory. */
bool hold_plot_make(struct hold_plot *plot, const weir_plan *plan);

/* For a terminal: a character a column. */
void hold_plot_print(const struct hold_plot *plot, FILE *out);

/* As a picture. */
void hold_plot_svg(const struct hold_plot *plot, const char *title, FILE *out);

#endif
