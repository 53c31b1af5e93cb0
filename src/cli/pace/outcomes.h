/* SPDX-License-Identifier: MIT
   What became of the commands that were started: how many run, which failed.

   See outcomes.c. */
#ifndef WEIR_CLI_PACE_OUTCOMES_H
#define WEIR_CLI_PACE_OUTCOMES_H

#include <stdint.h>

#include "host/thread.h"

enum { OUTCOMES_STATUSES = 256 };

struct outcomes {
    struct host_mutex mutex;
    uint64_t jobs;     /* that may run at once ... */
    uint64_t jobs_max; /* ... and to which they may grow; 0: they do not */
    uint64_t busy, busy_max;
    uint64_t failed, with[OUTCOMES_STATUSES]; /* by exit status; 128 + n: ended by signal n */
};

void outcomes_open(struct outcomes *outcomes, uint64_t jobs, uint64_t jobs_max);

/* From now on so many may run at once. */
void outcomes_grow(struct outcomes *outcomes, uint64_t jobs);

/* One is started. */
void outcomes_begin(struct outcomes *outcomes);

/* Between the two nothing else ends: what is said of an end elsewhere, and read there, is of the same moment. */
void outcomes_hold(struct outcomes *outcomes);
void outcomes_release(struct outcomes *outcomes);

/* One that ended by itself, or could not be run.  Held. */
void outcomes_end(struct outcomes *outcomes, int status);

/* How many run now, and how many may. */
uint64_t outcomes_busy(struct outcomes *outcomes, uint64_t *jobs);

/* A copy of all counts.  Held. */
void outcomes_read(const struct outcomes *outcomes, struct outcomes *copy);

#endif
