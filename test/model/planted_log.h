/* SPDX-License-Identifier: MIT
   Takes of one permit with one mistake each, for the model checker to find.

   See planted_log.c. */
#ifndef WEIR_TEST_PLANTED_LOG_H
#define WEIR_TEST_PLANTED_LOG_H

#include "share/log.h"

typedef enum log_answer log_decide_function(struct log *log, const struct ask *ask, weir_decision *decision);

/* The head is moved on first, then the slot is written. */
log_decide_function planted_log_head_first;

/* The slot first, but nobody helps: who finds it written, in whatever lap, refuses. */
log_decide_function planted_log_without_lap;

/* The slot first, but the head is not looked at again. */
log_decide_function planted_log_without_second_look;

/* A denial is given without looking whether the slot is still the one that was read. */
log_decide_function planted_log_hasty;

/* Several permits under the held head, but those who looked before are not locked out. */
log_decide_function planted_log_without_seal;

/* The model checker's: the step that was just made has taken a permit for this thread. */
void log_taken(void);

#endif
