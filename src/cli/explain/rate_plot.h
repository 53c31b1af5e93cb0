/* SPDX-License-Identifier: MIT
   The rate of a profile over time, drawn on a terminal or as a picture.

   See rate_plot.c. */
#ifndef WEIR_CLI_EXPLAIN_RATE_PLOT_H
#define WEIR_CLI_EXPLAIN_RATE_PLOT_H

#include <stdio.h>

#include "core/profile.h"

/* Both of a limit that has phases. */
void rate_plot_print(const struct limit *limit, FILE *out);
void rate_plot_svg(const struct limit *limit, const char *title, FILE *out);

#endif
