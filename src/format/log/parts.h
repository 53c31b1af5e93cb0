/* SPDX-License-Identifier: MIT
   What is wanted of a value.

   See parts.c. */
#ifndef WEIR_FORMAT_LOG_PARTS_H
#define WEIR_FORMAT_LOG_PARTS_H

#include "format/log/accesslog.h"

/* Of no bytes where the value is "-" or has no such part. */
struct slice part_of(struct slice value, enum accesslog_part part);

#endif
