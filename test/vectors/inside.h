/* SPDX-License-Identifier: MIT
   inside.h - the rule that a plan of one limit was compiled to, for families whose peers treat a clock otherwise.

   Apart from runner.h, whose `struct limit` is another than the core's.  See inside.c. */
#ifndef VECTORS_INSIDE_H
#define VECTORS_INSIDE_H

#include <weir/weir.h>

/* As the peer: a clock that goes back is taken over. */
void inside_follow_clock(weir_plan *plan);

/* Windows begin where zero_ns would; returns how far a time is to be moved to count from a window's beginning. */
uint64_t inside_align(weir_plan *plan, uint64_t zero_ns);

#endif
