/* SPDX-License-Identifier: MIT
   simrate.h - nosqlbench's filler, told when to fill: for comparing with it step by step.

   See simrate.c. */
#ifndef WEIR_CORE_SIMRATE_H
#define WEIR_CORE_SIMRATE_H

#include "core/rule.h"

/* One fill with all the time since the last one; the first only begins. */
void simrate_refill(const struct rule *rule, uint64_t *state, uint64_t now);

/* Ticks in the pools, as they are written down. */
int64_t simrate_active(const uint64_t *state);
int64_t simrate_waiting(const uint64_t *state);

/* When they were filled last. */
uint64_t simrate_filled_ns(const uint64_t *state);

#endif
