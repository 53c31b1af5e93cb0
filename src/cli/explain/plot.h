/* SPDX-License-Identifier: MIT
   The same bursty arrivals through any limit, drawn.

   See plot.c. */
#ifndef WEIR_CLI_EXPLAIN_PLOT_H
#define WEIR_CLI_EXPLAIN_PLOT_H

#include <stdio.h>

#include "plan/plan.h"

enum { PLOT_PERIODS = 6, PLOT_COLUMNS_A_PERIOD = 10, PLOT_COLUMNS = PLOT_PERIODS * PLOT_COLUMNS_A_PERIOD };

/* How many arrivals fell into each column of time. */
struct plot {
    uint64_t period_ns, cost; /* an arrival asks for so many permits */
    unsigned came[PLOT_COLUMNS];
    unsigned passed[PLOT_COLUMNS];  /* those that may start at once, the others being refused */
    unsigned started[PLOT_COLUMNS]; /* all that start in this time, when those wait that may */
    unsigned total, total_passed;
};

/* False when there is nothing to draw (no rate), a state of more than 64 MiB, or no memory. */
bool plot_make(struct plot *plot, const weir_plan *plan);

/* For a terminal: a digit a column. */
void plot_print(const struct plot *plot, FILE *out);

/* As a picture. */
void plot_svg(const struct plot *plot, const char *title, FILE *out);

/* Text within a picture. */
void plot_svg_text(const char *text, FILE *out);

#endif
