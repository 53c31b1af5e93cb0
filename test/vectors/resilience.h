/* SPDX-License-Identifier: MIT
   resilience.h - what resilience4j's two families do to the books of a cycle, beyond asking.

   Apart from runner.h, whose `struct limit` is another than the core's.  See resilience.c. */
#ifndef VECTORS_RESILIENCE_H
#define VECTORS_RESILIENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/weir.h>

enum { RESILIENCE_TEXT_SIZE = 96 };

void resilience_write(char *text, int64_t limit, uint64_t period_ns, const char *options);

/* Cycles that have gone by are written down, and also when time went back. */
void resilience_book(const weir_plan *plan, uint64_t *state, uint64_t now_ns);

/* What is left of the cycle that is written down, below 0 what is owed; and when that cycle ends. */
int64_t resilience_left(const weir_plan *plan, const uint64_t *state);
void resilience_set_left(const weir_plan *plan, uint64_t *state, int64_t left);
uint64_t resilience_ends_ns(const uint64_t *state);

/* The limit is changed at that time; false when the text is refused. */
bool resilience_change(weir_plan *plan, void *state, uint64_t now_ns, const char *text);

/* Takes all that is there now. */
void resilience_drain(const weir_plan *plan, void *state, uint64_t now_ns);

uint64_t resilience_room(const weir_plan *plan, const void *state, uint64_t now_ns);

/* How long one permit would have to wait. */
uint64_t resilience_wait_for_one(const weir_plan *plan, const void *state, uint64_t now_ns);

#endif
