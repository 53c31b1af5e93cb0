/* SPDX-License-Identifier: MIT
   One number with its unit, outside the text of a limit and spelled as in it: options, weir.yaml. */
#ifndef WEIR_PLAN_AMOUNT_H
#define WEIR_PLAN_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* All of the text: a whole number of ns (1.5s, 90s, 5min), of things (10000, 10_000, 1.5k) or of bytes (256MiB, 1.5GB,
   65536).  0 is one, too. */
bool amount_time(const char *text, uint64_t *ns);
bool amount_count(const char *text, uint64_t *count);
bool amount_bytes(const char *text, uint64_t *bytes);

#endif
