/* SPDX-License-Identifier: MIT
   What weir pace takes out of its schedule, and how late a start is by it.

   See schedule.c. */
#ifndef WEIR_CLI_PACE_SCHEDULE_H
#define WEIR_CLI_PACE_SCHEDULE_H

#include "cli/pace/pace.h"

/* As input_lines.  While there is no line the schedule waits, too. */
enum input_state pace_next_lines(struct pace *pace);

/* No line comes any more: from the last start on nothing is owed. */
void pace_no_more_lines(struct pace *pace);

/* When this operation was due; arrived_ns: before that there was no line. */
uint64_t pace_due_ns(struct pace *pace, const weir_decision *decision, uint64_t cost, uint64_t arrived_ns);

/* --drop: permits that were due longer ago than the pool lasts. */
uint64_t pace_too_late(struct pace *pace);

/* These are not going to start: the schedule goes on after them, and the pool stays as it is. */
void pace_skip(struct pace *pace, uint64_t permits);

/* What the work owes to its schedule, while lines wait. */
struct record_owed pace_owed(struct pace *pace);

#endif
