/* SPDX-License-Identifier: MIT
   The texts of limits that a worker has met, and what they mean.

   See plans.c. */
#ifndef WEIR_SERVE_PLANS_H
#define WEIR_SERVE_PLANS_H

#include "plan/throttle.h"
#include "serve/batch.h"

/* NULL: no memory. */
struct plans *plans_open(void);

/* [with the queue settled] As new: for another engine. */
void plans_forget(struct plans *plans);
void plans_close(struct plans *plans); /* NULL is fine */

/* What the text means.  What it fills stays until batch_end or the next call; to make room the queue may be settled.
   false: see error. */
bool plans_text(struct batch *batch, struct slice text, struct policy_verdict *under, weir_error *error);

/* The same of a text of the service's own, which no engine keeps. */
bool plans_here(struct batch *batch, const char *text, struct policy_verdict *under, weir_error *error);

/* The same of max_burst >= 0, count > 0 and period > 0. */
bool plans_throttle(struct batch *batch, const int64_t numbers[THROTTLE_NUMBERS], struct policy_verdict *under,
                    weir_error *error);

/* The same of all that a command says behind its key, where it is to the byte what was kept last: fills number, too.
   false: it is to be read. */
bool plans_throttle_again(const struct batch *batch, struct slice said, int64_t number[THROTTLE_ARGUMENTS],
                          struct policy_verdict *under);

/* [behind plans_throttle] Those numbers were read from this. */
void plans_throttle_keep(struct batch *batch, struct slice said, const int64_t number[THROTTLE_ARGUMENTS]);

/* Question `number` of the queue has come by a free text: is its key asked under two of them in turn?  The state of a
   key is one for all texts of an algorithm, so a client sheds by one what it owes by the other.  That is counted and
   told. */
void plans_met(struct batch *batch, unsigned number);

#endif
