/* SPDX-License-Identifier: MIT
   park.h - questions that an engine has not answered yet, and what has to wait behind them.

   See park.c. */
#ifndef WEIR_SERVE_PARK_H
#define WEIR_SERVE_PARK_H

#include "serve/engine.h"
#include "serve/turn.h"

struct park_batch;

/* ---- for decide.c and turn.c ---- */

/* Room for so many questions, to be filled in; NULL: no memory. */
struct park_batch *park_batch_open(unsigned count);
weir_engine_ask *park_batch_asks(struct park_batch *batch);
bool park_batch_is_answered(struct park_batch *batch);
void park_batch_close(struct turn *turn, struct park_batch *batch);

/* Its questions are those of the queue's items of these numbers, and wait.  false: no memory to keep them. */
bool park_begin(struct turn *turn, struct park_batch *batch, const unsigned number[]);

/* The next of them, as it stands in the queue; park_keep behind the last.  false: no memory: it is not to be asked. */
bool park_add(struct turn *turn, const struct item *item);
void park_keep(struct turn *turn);

/* One question alone; NULL: no memory.  park_keep_alone: it waits, for the session or for nobody (NULL). */
struct park_batch *park_alone_open(const struct decide_alone *alone);
void park_keep_alone(struct turn *turn, struct park_batch *batch, struct session *session);

/* Its answer is there: it is heard by who asked. */
void park_hear(struct turn *turn, struct park_batch *batch, struct session *session);

/* An answer behind a session's parked questions; false: no memory. */
bool park_bytes(struct turn *turn, struct session *session, struct slice bytes);

/* Answers what can be answered, in order. */
void park_answer(struct turn *turn);

/* All that waits is answered now, by the away policy where the engine has not. */
void park_finish(struct turn *turn, weir_engine *handle);
void park_close(struct turn *turn); /* nobody is answered any more */

/* ---- for worker.c and conn.c ---- */

/* Is there something that park_answer would answer? */
bool park_is_ready(const struct turn *turn);

/* The session closes: nobody will answer it. */
void park_leave(struct turn *turn, struct session *session);

#endif
