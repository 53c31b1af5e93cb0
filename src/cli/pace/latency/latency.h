/* SPDX-License-Identifier: MIT
   What weir pace says of latencies besides its summary: files of HdrHistogram, intervals, a log of starts, what must
   not happen.

       latency.c   intervals, and when each is written      hdr.c    HdrHistogram's files
       starts.c    --starts                                 fail.c   --fail-late, --fail-missed */
#ifndef WEIR_CLI_PACE_LATENCY_LATENCY_H
#define WEIR_CLI_PACE_LATENCY_LATENCY_H

#include "cli/pace/latency/fail.h"
#include "cli/pace/latency/starts.h"

struct pace;

struct latency {
    /* as asked for */
    const char *hgrm, *hlog;
    uint64_t every_ns; /* 0: not said */
    struct starts starts;
    struct fail fail;

    FILE *hgrm_file, *hlog_file;
    uint64_t begun_ns;
    struct interval *interval; /* owned; NULL: there are none */
};

/* False when the options do not fit, and says why. */
bool latency_fits(const struct pace *pace);

/* Opens what was asked for; false when that fails, and says why. */
bool latency_open(struct pace *pace);

/* Writes the interval that has ended, if one has; returns the ns until the next one does. */
uint64_t latency_look(struct pace *pace);

/* No command runs any more: writes the rest.  STATUS_DONE, or else it has said what failed. */
int latency_close(struct pace *pace);

#endif
