/* SPDX-License-Identifier: MIT
   What happened in each phase of a profile: what was due in it, what of that was started, and how late.

   See phase_record.c. */
#ifndef WEIR_CLI_PACE_PROFILE_PHASE_RECORD_H
#define WEIR_CLI_PACE_PROFILE_PHASE_RECORD_H

#include <stdio.h>

#include "core/profile.h"
#include "format/json.h"
#include "plan/plan.h"
#include "share/atomic.h"
#include "share/histogram.h"

struct phase_tally {
    uint64_t started; /* permits */
    uint64_t skipped; /* while no line was there they were due to nobody */
    struct histogram late;
};

/* What belongs together is under the record's mutex. */
struct phase_record {
    weir_plan plan;
    struct profile profile;
    struct atom began_ns; /* 0: not yet */
    bool over;            /* the limit was changed */
    struct phase_tally tally[PHASES_MAX];
};

/* Until when, and how many permits were due by then that may still start at once: they are not missed. */
struct phase_moment {
    uint64_t until_ns, ready;
};

/* NULL: the plan has no profile, or no memory. */
struct phase_record *phase_record_open(const weir_plan *plan);
void phase_record_close(struct phase_record *record);

void phase_record_start(struct phase_record *record, uint64_t actual_ns, uint64_t due_ns, uint64_t cost);
void phase_record_skip(struct phase_record *record, uint64_t now_ns, uint64_t permits);

/* Permits a second that were asked for up to then; and at that moment, with the number of the phase, from 1. */
double phase_record_asked_per_s(const struct phase_record *record, uint64_t until_ns);
double phase_record_rate_at(const struct phase_record *record, uint64_t now_ns, unsigned *number, unsigned *count);

/* Is the end of the last phase over by then? */
bool phase_record_ended(const struct phase_record *record, uint64_t now_ns);

/* A line for each phase that has begun, and the same as a JSON array. */
void phase_record_print(const struct phase_record *record, struct phase_moment at, FILE *out);
void phase_record_json(const struct phase_record *record, struct phase_moment at, struct json *json);

#endif
