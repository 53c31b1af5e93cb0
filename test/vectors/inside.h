/* SPDX-License-Identifier: MIT
   The core's side of a plan: for adapters that set what no text can say, look without taking, or change a
   limit under a state.

   See inside.c. */
#ifndef VECTORS_INSIDE_H
#define VECTORS_INSIDE_H

#include "core/algorithm.h"
#include "core/clock.h"
#include "weir/weir.h"

/* Of its first limit. */
struct rule *inside_rule(weir_plan *plan);
const struct rule *inside_rule_const(const weir_plan *plan);

/* What a call would be told; takes nothing. */
weir_decision inside_peek(const struct rule *rule, void *state, weir_instant now, uint64_t cost);

/* The state is another limit's from now_ns on: `to` at that time, what is owed stays time. */
void inside_change(const struct rule *from, const struct rule *to, void *state, uint64_t now_ns);

#endif
