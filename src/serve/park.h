/* SPDX-License-Identifier: MIT
   Questions that an engine has not answered yet, and what has to wait behind them.

   See park.c. */
#ifndef WEIR_SERVE_PARK_H
#define WEIR_SERVE_PARK_H

#include "serve/engine.h"
#include "serve/batch.h"

struct park_group;

/* ---- for decide.c and batch.c ---- */

/* Room for so many questions, to be filled in; NULL: no memory. */
struct park_group *park_group_open(unsigned count);
weir_engine_ask *park_group_asks(struct park_group *group);
bool park_group_is_answered(struct park_group *group);
void park_group_close(struct batch *batch, struct park_group *group);

/* Its questions are those of the queue's calls of these numbers, and wait.  false: no memory to keep them. */
bool park_begin(struct batch *batch, struct park_group *group, const unsigned number[]);

/* The next of them, as it stands in the queue; park_keep behind the last.  false: no memory: it is not to be asked. */
bool park_add(struct batch *batch, const struct call *call);
void park_keep(struct batch *batch);

/* One question alone; NULL: no memory.  park_keep_alone: it waits, for the session or for nobody (NULL). */
struct park_group *park_alone_open(const struct decide_alone *alone);
void park_keep_alone(struct batch *batch, struct park_group *group, struct session *session);

/* Its answer is there: the asker is called. */
void park_hear(struct batch *batch, struct park_group *group, struct session *session);

/* An answer behind a session's parked questions; false: no memory. */
bool park_bytes(struct batch *batch, struct session *session, struct slice bytes);

/* Answers what can be answered, in order. */
void park_answer(struct batch *batch);

/* All that waits is answered now, by the away policy where the engine has not. */
void park_finish(struct batch *batch, weir_engine *handle);
void park_close(struct batch *batch); /* nobody is answered any more */

/* ---- for worker.c and conn.c ---- */

/* Is there something that park_answer would answer? */
bool park_is_ready(const struct batch *batch);

/* The session closes: nobody will answer it. */
void park_leave(struct batch *batch, struct session *session);

#endif
