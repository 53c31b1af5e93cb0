/* SPDX-License-Identifier: MIT
   What times, durations and usual fields are called in logs.

   See names.c. */
#ifndef WEIR_FORMAT_LOG_NAMES_H
#define WEIR_FORMAT_LOG_NAMES_H

#include "format/log/accesslog.h"

enum { NAMES_FOR_ONE_MAX = 16 };

/* Fills sources in the order of their rank and returns how many. */
unsigned names_of_time(const char *name, struct accesslog_source source[]); /* the one of this name: always 1 */
unsigned names_of_times(struct accesslog_source source[], unsigned max);
unsigned names_of_durations(struct accesslog_source source[], unsigned max);

/* "FIELD" or "FIELD:UNIT". */
unsigned names_of_duration(const char *text, struct accesslog_source source[]);
unsigned names_of_field(const char *name, unsigned slot, struct accesslog_source source[], unsigned max);

#endif
