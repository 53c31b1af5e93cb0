/* SPDX-License-Identifier: MIT
   simrate_rule.h - the core's side of SimRate: its numbers, its fills, its change of rate.

   Apart from runner.h, whose `struct limit` is another than the core's.  See simrate_rule.c. */
#ifndef VECTORS_SIMRATE_RULE_H
#define VECTORS_SIMRATE_RULE_H

#include <stdint.h>

#include <weir/weir.h>

struct simrate_numbers {
    uint64_t tick_ns, per_op, over;
};

/* Puts the peer's numbers in the place of those that weir made of the text; returns weir's. */
struct simrate_numbers simrate_rule_set(weir_plan *plan, struct simrate_numbers numbers);

/* A fill at that time, also when that is before the last one. */
void simrate_rule_fill(const weir_plan *plan, void *state, uint64_t now_ns);

/* To another plan, at the time of the last fill. */
void simrate_rule_change(const weir_plan *from, const weir_plan *to, void *state);

#endif
