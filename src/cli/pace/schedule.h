/* SPDX-License-Identifier: MIT
   What weir pace takes out of its schedule, and how late a start is by it.

   See schedule.c. */
#ifndef WEIR_CLI_PACE_SCHEDULE_H
#define WEIR_CLI_PACE_SCHEDULE_H

#include "cli/pace/pace.h"

/* Starts may be taken several at a time. */
bool pace_takes_some(const struct pace *pace);

/* How long until a start is due that nobody has taken; 0: one is, or it takes a worker to find out. */
uint64_t pace_next_in_ns(struct pace *pace);

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

/* Permits that are due and were not given; of them those due longer ago than the pool lasts; and those that it has. */
struct pace_late {
    uint64_t left, beyond, pool;
};
struct pace_late pace_late_at(struct pace *pace, uint64_t now_ns);

/* --drop: starts that were due longer ago than the pool lasts. */
uint64_t pace_too_late(struct pace *pace);

/* These starts, or bytes, are not going to happen: the schedule goes on after them, and the pool stays as it is. */
void pace_skip(struct pace *pace, uint64_t permits);

/* What the work owes to its schedule, while lines wait. */
struct record_owed pace_owed(struct pace *pace);

/* ---- part.c ---- */

/* [the limiter is opened] What --part and --begin need is there; else prints what is wrong, STATUS_TROUBLE. */
int pace_open_part(struct pace *pace);
void pace_tell_part(const struct pace *pace, FILE *out);

/* Until --begin, or a stop. */
void pace_await_begin(struct pace *pace);

/* Waits for it, or takes it only if it is due. */
weir_decision pace_part_take(struct pace *pace, bool waits);
uint64_t pace_part_next_in_ns(struct pace *pace);

/* No line was there from one time to the other. */
void pace_part_idled(struct pace *pace, uint64_t from_ns, uint64_t to_ns);

/* ---- engine.c ---- */

/* The engine answers, and a thread asks it; pace_engine_close is for whatever came of it. */
int pace_engine_open(struct pace *pace);
void pace_engine_close(struct pace *pace);

weir_decision pace_engine_take(struct pace *pace, bool waits);
struct record_engine pace_engine_figures(struct pace *pace);

#endif
