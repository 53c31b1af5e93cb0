/* SPDX-License-Identifier: MIT
   A limit as configuration for another system. */
#ifndef WEIR_PLAN_DIALECT_H
#define WEIR_PLAN_DIALECT_H

#include "plan/plan.h"
#include "plan/write.h"

/* The number of the system with this name; negative when there is none. */
int dialect_find(const char *name);

/* Writes lines for the system's configuration, and lines that begin with # as comments for people.  Returns NULL, or
   the reason why the limit cannot be expressed there; what was written then has no meaning. */
const char *dialect_write(struct writer *writer, int dialect, const struct plan *plan);

#endif
