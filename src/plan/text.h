/* SPDX-License-Identifier: MIT
   The text of a limit: parsing and formatting. */
#ifndef WEIR_PLAN_TEXT_H
#define WEIR_PLAN_TEXT_H

#include <weir/weir.h>

#include "core/limit.h"
#include "plan/write.h"

/* Reads up to WEIR_LIMITS_MAX limits and compiles each of them.  Returns how many, or a negative code with *error
   filled.  With rules NULL it also accepts limits that no limiter can keep. */
int text_read(const char *text, weir_use use, struct limit limits[], struct rule rules[], weir_error *error);

/* Writes the rate alone, as "10 tokens/s". */
void text_write_rate(struct writer *writer, const struct limit *limit);

/* Writes the canonical text of one limit, with nothing implied. */
void text_write(struct writer *writer, const struct limit *limit);

#endif
