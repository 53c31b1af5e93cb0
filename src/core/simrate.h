/* SPDX-License-Identifier: MIT
   simrate.h - nosqlbench's filler, told when to fill: for comparing with it step by step.

   See simrate.c. */
#ifndef WEIR_CORE_SIMRATE_H
#define WEIR_CORE_SIMRATE_H

#include "core/rule.h"

/* | ticks in active, signed | ticks in waiting | ns of the last fill + 1, 0 = untouched | */
enum simrate_word { SIMRATE_ACTIVE, SIMRATE_WAITING, SIMRATE_FILLED, SIMRATE_WORDS };

/* One fill with all the time since the last one; the first only begins. */
void simrate_refill(const struct rule *rule, uint64_t *state, uint64_t now);

#endif
