/* SPDX-License-Identifier: MIT
   A log of every start: when it was due, began and ended, and with what status.

   See starts.c. */
#ifndef WEIR_CLI_PACE_LATENCY_STARTS_H
#define WEIR_CLI_PACE_LATENCY_STARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "host/thread.h"

struct starts {
    const char *path; /* NULL: none is written */
    FILE *file;
    uint64_t begun_ns; /* its times begin here */
    struct host_mutex mutex;
};

/* False when it cannot be written, and says why. */
bool starts_open(struct starts *starts, uint64_t begun_ns);
bool starts_close(struct starts *starts);

/* Any thread.  end_ns 0: there is no end, or nobody waited for it; status -1: nor is there a status. */
void starts_write(struct starts *starts, uint64_t due_ns, uint64_t start_ns, uint64_t end_ns, int status);

#endif
