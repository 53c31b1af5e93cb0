/* SPDX-License-Identifier: MIT
   Figures of several rounds: the middle, how far they lie apart, and how that is shown.

   Ratios are of figures of the same round. */
#include "weir-bench/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

struct bench_spread bench_spread(const struct bench_series *series, int rounds)
{
    double sorted[BENCH_ROUNDS_MAX];
    int known = 0;
    for (int i = 0; i < rounds; i++) {
        if (!isnan(series->round[i])) sorted[known++] = series->round[i];
    }
    if (known == 0) return (struct bench_spread){NAN, NAN, NAN};
    qsort(sorted, (size_t)known, sizeof sorted[0], compare);
    const double median = (sorted[(known - 1) / 2] + sorted[known / 2]) / 2;
    return (struct bench_spread){median, sorted[0], sorted[known - 1]};
}

struct bench_spread bench_ratio(const struct bench_series *above, const struct bench_series *below, int rounds)
{
    struct bench_series ratio;
    for (int i = 0; i < rounds; i++) {
        const double under = below->round[i];
        ratio.round[i] = under > 0 ? above->round[i] / under : NAN;
    }
    return bench_spread(&ratio, rounds);
}

struct bench_spread bench_times(const struct bench_series *ours, const struct bench_series *floor,
                                const struct bench_series *second, int rounds)
{
    struct bench_series both = *floor;
    for (int i = 0; second != NULL && i < rounds; i++) both.round[i] = 1 / (1 / floor->round[i] + 1 / second->round[i]);
    return bench_ratio(&both, ours, rounds);
}

void bench_json_spread(struct json *json, const char *key, struct bench_spread spread, int places)
{
    char name[64];
    json_file_double(json, key, spread.median, places);
    snprintf(name, sizeof name, "%s_min", key);
    json_file_double(json, name, spread.least, places);
    snprintf(name, sizeof name, "%s_max", key);
    json_file_double(json, name, spread.most, places);
}

void bench_print_ratio(struct bench_spread spread, int width)
{
    char text[64] = "-";
    if (isfinite(spread.median)) {
        const int places = spread.most < 10 ? 2 : spread.most < 100 ? 1 : 0;
        snprintf(text, sizeof text, "%.*f (%.*f-%.*f)", places, spread.median, places, spread.least, places,
                 spread.most);
    }
    printf(" %*s", width, text);
}

void bench_print_number(double value, int width, int places)
{
    if (isfinite(value)) printf(" %*.*f", width, places, value);
    else printf(" %*s", width, "-");
}

void bench_progress(const char *section, const char *what, uint64_t number, int round, int rounds)
{
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r\033[K%s: %llu %s, round %d of %d", section, (unsigned long long)number, what, round + 1,
            rounds);
    fflush(stderr);
}

void bench_progress_clear(void)
{
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}
