/* SPDX-License-Identifier: MIT
   dialect.h - a limit in the words of another system.

   See dialect.c. */
#ifndef WEIR_PLAN_DIALECT_H
#define WEIR_PLAN_DIALECT_H

#include "plan/plan.h"
#include "plan/write.h"

/* Negative: there is no system of that name. */
int dialect_find(const char *name);

/* Lines for the system's configuration, and lines that begin with # for people.  Returns NULL, or why it cannot be said
   there; what was written then means nothing. */
const char *dialect_write(struct writer *writer, int dialect, const struct plan *plan);

#endif
