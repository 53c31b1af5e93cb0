/* SPDX-License-Identifier: MIT
   Figures of several rounds: the middle, how far they lie apart, and how that is shown.

   See figures.c. */
#ifndef WEIR_BENCH_FIGURES_H
#define WEIR_BENCH_FIGURES_H

#include "weir-bench/sections.h"

/* A figure of each round. */
struct bench_series {
    double round[BENCH_ROUNDS_MAX];
};

/* NAN where there was nothing to measure. */
struct bench_spread {
    double median, least, most;
};

struct bench_spread bench_spread(const struct bench_series *series, int rounds);

/* Of the ratios, not the ratio of the middles: both of a ratio had the same machine. */
struct bench_spread bench_ratio(const struct bench_series *above, const struct bench_series *below, int rounds);

/* How many times as long ours takes as one floor, or as two after each other (second may be NULL); of rates. */
struct bench_spread bench_times(const struct bench_series *ours, const struct bench_series *floor,
                                const struct bench_series *second, int rounds);

/* "key":1.5,"key_min":1.25,"key_max":2; null for NAN. */
void bench_json_spread(struct json *json, const char *key, struct bench_spread spread, int places);

/* "1.21 (1.18-1.30)", and a number, right-aligned behind a space; "-" for NAN. */
void bench_print_ratio(struct bench_spread spread, int width);
void bench_print_number(double value, int width, int places);

/* A line on stderr while it goes on, where that is a terminal; NULL takes it away. */
void bench_progress(const char *section, const char *what, uint64_t number, int round, int rounds);
void bench_progress_clear(void);

#endif
