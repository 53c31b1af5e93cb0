/* SPDX-License-Identifier: MIT
   guava_inside.h - one limit and its state, asked without a limiter around them.

   Apart from runner.h, whose `struct limit` is another than the core's.  See guava_inside.c. */
#ifndef VECTORS_GUAVA_INSIDE_H
#define VECTORS_GUAVA_INSIDE_H

#include <weir/weir.h>

#include "core/rule.h"

struct inside {
    struct rule rule; /* its clock begins at 0 */
    uint64_t state[STATE_WORDS_MAX];
};

/* False when weir refuses the text. */
bool inside_read(const char *text, struct rule *rule);

/* Begins at this time, with nothing owed. */
void inside_open(struct inside *inside, const struct rule *rule, uint64_t now_ns);

weir_decision inside_take(struct inside *inside, uint64_t now_ns, uint64_t cost, uint64_t wait_max_ns);

/* The tick from which the next call is free. */
uint64_t inside_owed(const struct inside *inside, uint64_t now_ns);

/* What is owed stays the same time. */
void inside_change(struct inside *inside, const struct rule *rule, uint64_t now_ns);

/* What is stored: all that fits, or nothing. */
void inside_fill(struct inside *inside, bool full);

#endif
