/* SPDX-License-Identifier: MIT
   text.h - the text of a limit to and from what it says.

   See text.c. */
#ifndef WEIR_PLAN_TEXT_H
#define WEIR_PLAN_TEXT_H

#include <weir/weir.h>

#include "core/limit.h"
#include "plan/write.h"

/* Reads up to WEIR_LIMITS_MAX limits, each compiled as well; returns how many, or a negative code with *error filled.
   With rules NULL what cannot be kept is read, too. */
int text_read(const char *text, weir_use use, struct limit limits[], struct rule rules[], weir_error *error);

/* Its rate alone, as "10 tokens/s". */
void text_write_rate(struct writer *writer, const struct limit *limit);

/* The canonical text of one limit: nothing implied. */
void text_write(struct writer *writer, const struct limit *limit);

#endif
