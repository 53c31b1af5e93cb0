/* SPDX-License-Identifier: MIT
   cell.h - the states of several limits, or of one that needs several words, under one short lock.

   See cell.c. */
#ifndef WEIR_SHARE_CELL_H
#define WEIR_SHARE_CELL_H

#include <weir/weir.h>

#include "core/decide.h"
#include "share/ask.h"
#include "share/atomic.h"
#include "share/change.h"

struct cell_content {
    struct rule rule[WEIR_LIMITS_MAX];
    uint64_t state[LIST_WORDS_MAX];
    int count; /* 0: the state lives elsewhere */
};

struct cell {
    struct atom lock; /* 1 while held */
    void (*yield)(void);
    uint64_t alone[6];
    struct cell_content content;
};

/* [one thread] count 0 opens an empty cell.  yield gives the processor to others. */
void cell_open(struct cell *cell, const struct rule rule[], int count, void (*yield)(void));

/* These answer false when the state lives elsewhere. */
bool cell_decide(struct cell *cell, const struct ask *ask, weir_decision *decision);
bool cell_peek(struct cell *cell, const struct ask *ask, weir_decision *decision);
bool cell_settle(struct cell *cell, uint64_t now_ns, const weir_decision *decision, const uint64_t cost[],
                 const uint64_t actual[], const uint64_t end[]);

/* Changes the limits; the clocks of rule[] are set here.  count 0 empties the cell. */
void cell_change(struct cell *cell, struct rule rule[], int count, uint64_t now_ns, weir_carry carry,
                 struct change *change);

void cell_read(struct cell *cell, struct cell_content *content);

#endif
