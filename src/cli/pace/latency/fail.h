/* SPDX-License-Identifier: MIT
   What must not happen: --fail-late p99=50ms, --fail-missed 0.

   See fail.c. */
#ifndef WEIR_CLI_PACE_LATENCY_FAIL_H
#define WEIR_CLI_PACE_LATENCY_FAIL_H

#include "cli/common/arguments.h"
#include "cli/pace/record.h"

enum { FAIL_LATE_MAX = 16, FAIL_STATUS = 99 /* as k6's when a threshold is crossed */ };

struct fail {
    struct fail_late {
        char text[40]; /* p99=50ms */
        uint64_t per_thousand, most_ns;
    } late[FAIL_LATE_MAX];
    int count;
    bool has_missed;
    uint64_t missed_max;
};

/* p50=1ms,max=1s: into a struct fail; more than once, too. */
argument_reader fail_read_late, fail_read_missed;

/* Says of each what was seen, unless quiet says only of what happened that must not; false if something has. */
bool fail_check(const struct fail *fail, struct record *record, const struct record_owed *owed, bool quiet);

#endif
