/* SPDX-License-Identifier: MIT
   What CL.THROTTLE says of a limit, for the service and the module.  See throttle.c. */
#ifndef WEIR_PLAN_THROTTLE_H
#define WEIR_PLAN_THROTTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/write.h"

/* As they come behind the command's name. */
enum { THROTTLE_KEY = 1, THROTTLE_MAX_BURST, THROTTLE_COUNT, THROTTLE_PERIOD, THROTTLE_QUANTITY, THROTTLE_ARGUMENTS };

enum { THROTTLE_NUMBERS = 3 }; /* of a limit: from THROTTLE_MAX_BURST on */

struct throttle_argument {
    const char *bytes;
    size_t size;
};

/* An error is `before`, the argument at fault as it was sent (0: none of them), and `after`. */
struct throttle_problem {
    const char *before, *after;
    unsigned argument;
};

/* Reads all arguments; number[] has the index of each, and a quantity of 1 where none was said.  Returns false with
   *problem filled. */
bool throttle_read(const struct throttle_argument argument[], unsigned count, int64_t number[THROTTLE_ARGUMENTS],
                   struct throttle_problem *problem);

/* The limit of max_burst, count and period, in range, as a text. */
void throttle_write(struct writer *writer, const int64_t number[THROTTLE_NUMBERS]);

#endif
