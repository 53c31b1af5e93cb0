/* SPDX-License-Identifier: MIT
   inside.h - the compiled rule inside a plan, for adapters that read its clock or set what no text can say.

   Apart from runner.h, whose `struct limit` is another than the core's.  See inside.c. */
#ifndef VECTORS_INSIDE_H
#define VECTORS_INSIDE_H

#include "core/clock.h"
#include "weir/weir.h"

/* Of its first limit. */
struct rule *inside_rule(weir_plan *plan);
const struct rule *inside_rule_const(const weir_plan *plan);

/* As the peer: a clock that goes back is taken over. */
void inside_follow_clock(weir_plan *plan);

/* Windows begin where zero_ns would; returns how far a time is to be moved to count from a window's beginning. */
uint64_t inside_align(weir_plan *plan, uint64_t zero_ns);

#endif
