/* SPDX-License-Identifier: MIT
   fixed_window.h - what the families with fixed windows share: a limit that no text can say, and looks inside.

   Apart from runner.h, whose `struct limit` is another than the core's. */
#ifndef VECTORS_FIXED_WINDOW_H
#define VECTORS_FIXED_WINDOW_H

#include <stddef.h>

#include "core/rule.h"
#include "weir/weir.h"

enum { FIXED_WINDOW_TEXT_SIZE = 128 };

void fixed_window_write(char *text, uint64_t count, uint64_t window_ns, const char *options);

/* Of a plan of that text: a count that may be 0, and as the peers do: any call opens a window, a clock that goes back
   is taken over. */
void fixed_window_follow(weir_plan *plan, uint64_t count);

struct rule *fixed_window_rule(weir_plan *plan);

/* What is counted in the window that was opened last, refused calls too. */
uint64_t fixed_window_count(const void *state);

/* What a call would be told. */
weir_decision fixed_window_peek(weir_plan *plan, void *state, weir_instant now, uint64_t cost);

/* The limit once more with another count and window, and the state under it; the clock stays as it is set. */
void fixed_window_change(weir_plan *plan, void *state, weir_instant now, uint64_t count, uint64_t window_ns);

/* Of what is counted in the open window. */
void fixed_window_give_back(weir_plan *plan, void *state, weir_instant now, uint64_t permits);

#endif
