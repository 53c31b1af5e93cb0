/* SPDX-License-Identifier: MIT
   The states of several limits, or of one that needs several words, under one short lock. */
#ifndef WEIR_SHARE_CELL_H
#define WEIR_SHARE_CELL_H

#include <weir/weir.h>

#include "core/decide.h"
#include "share/ask.h"
#include "share/atomic.h"
#include "share/lease.h"

struct cell_content {
    struct rule rule[WEIR_LIMITS_MAX];
    uint64_t *state; /* borrowed: as many words as the rules need */
    int count;       /* 0: the state is stored elsewhere */
    uint64_t asked;  /* calls that may wait */
};

struct cell {
    struct atom lock; /* 1 while held */
    void (*yield)(void);
    struct atom *out;               /* borrowed: permits in leases, see lease.c */
    uint64_t unread;                /* calls in a row that were decided without the clock */
    struct atom filled;             /* 1: the state is here; 0 is read without the lock */
    const struct algorithm *passes; /* of a single limit, if it has `pass`; else NULL */
    bool leases;                    /* permits of its limits can be in leases */
    uint64_t alone[1];
    struct cell_content content;
};

/* [one thread] Opens an empty cell.  `out` is borrowed; `yield` gives up the processor. */
void cell_open(struct cell *cell, struct atom *out, void (*yield)(void));

static inline bool cell_is_filled(const struct cell *cell)
{
    return atom_load(&cell->filled) != 0;
}

/* These return false if the state is stored elsewhere. */
bool cell_decide(struct cell *cell, const struct ask *ask, weir_decision *decision);

/* The same for the most frequent question: may so many permits be had now? */
bool cell_take(struct cell *cell, uint64_t now_ns, uint64_t cost, weir_decision *decision);

/* Refuses a call that is behind `before` others, which wait for slots, as if each of them had got one. */
void cell_refuse_behind(struct cell *cell, const struct ask *ask, uint64_t before, weir_decision *decision);

/* cell_decide without the clock if the state knows enough, up to a number of times in a row.  False: read the clock and
   call cell_decide. */
bool cell_decide_unread(struct cell *cell, const struct ask *ask, weir_decision *decision);
bool cell_peek_limit(struct cell *cell, int limit, const struct ask *ask, weir_decision *decision);
bool cell_settle(struct cell *cell, uint64_t now_ns, const weir_decision *decision, const uint64_t cost[],
                 const uint64_t actual[], const uint64_t end[]);

/* Moves only the schedules by this many permits, or if `each` is not NULL each by its own number: forward if operations
   are dropped, back if they are still to come.  What may start at once is unchanged. */
bool cell_shift(struct cell *cell, uint64_t permits, const uint64_t each[], bool back);

/* Returns permits of a lease and takes others, see lease.h; none if the state is elsewhere. */
bool cell_trade(struct cell *cell, const struct trade *trade, struct lease_slice *slice);

/* decide_hold, in *count; false if the state is elsewhere. */
bool cell_hold_slots(struct cell *cell, uint64_t now_ns, uint64_t id, enum hold hold, uint64_t *count);

/* ---- setters, one at a time ---- */

/* Takes the content out.  Until cell_open_with the cell is empty, and the content is plain memory of the thread that
   closed it. */
void cell_close(struct cell *cell, struct cell_content *content);
void cell_open_with(struct cell *cell, const struct cell_content *content);

/* cell_decide without a cell, while `out` permits of its limits are in leases.  ask->undo is not NULL. */
void cell_ask(struct cell_content *content, uint64_t out, const struct ask *ask, weir_decision *decision);

/* Carries the state at now_ns over to the rules of `to`, whose clocks are set and whose state is zeroed.  Does nothing
   if the algorithms differ. */
void cell_carry(const struct cell_content *from, const struct cell_content *to, uint64_t now_ns, weir_carry carry);

/* Locks the cell until cell_let_go. */
void cell_hold(struct cell *cell);
void cell_let_go(struct cell *cell);

/* Passes the content to `look` under the lock; false if the cell is empty. */
bool cell_look(struct cell *cell, void (*look)(const struct cell_content *content, void *context), void *context);

#endif
