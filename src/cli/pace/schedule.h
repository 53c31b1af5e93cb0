/* SPDX-License-Identifier: MIT
   What weir pace takes out of its schedule, and how late a start is by it.

   See schedule.c. */
#ifndef WEIR_CLI_PACE_SCHEDULE_H
#define WEIR_CLI_PACE_SCHEDULE_H

#include "cli/pace/pace.h"

/* As input_lines.  While there is no line a limit's schedule waits, too.  By the stamps of a log the line that is next
   has one, and REFUSED ends the work. */
enum input_state pace_next_lines(struct pace *pace);

/* The line that is next is taken: its stamp.  By a limit that means nothing. */
struct at_stamp pace_stamp(struct pace *pace);

/* As weir_take_at, for this known line, to which all before it have been allowed. */
weir_decision pace_take_at(struct pace *pace, int line, weir_instant now, uint64_t cost);

/* As weir_take_wait without an end; stamp: of pace_stamp. */
weir_decision pace_take_wait(struct pace *pace, const struct at_stamp *stamp, uint64_t cost);

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
