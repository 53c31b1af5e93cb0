/* SPDX-License-Identifier: MIT
   Permits that are due, taken by one thread for all that wait. */
#ifndef WEIR_SHARE_STOCK_H
#define WEIR_SHARE_STOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "share/lease.h"
#include "share/line.h"

/* A line of its own.  Zeroed: empty. */
struct stock {
    _Alignas(SHARE_LINE) struct atom left; /* serial:40 | permits:24 */
    struct atom lock;                      /* of those that fill and empty it */
    struct atom held;                      /* permits that count as out: left, or spent since it was filled */
    struct atom filled_ns, due_ns, end;    /* due and end of its last permit; due 0, and so step: no schedule */
    struct atom step;                      /* from one due time to the next, in 2^-16 ns */
    struct atom kind;                      /* scale:32 | generation:32 */
};

_Static_assert(sizeof(struct stock) == SHARE_LINE, "spending a permit touches one line");

enum { STOCK_MOST = (1 << 16) - 1 }; /* so many steps are exact to a ns */

/* STOCK_MET: another thread changed it at this moment. */
enum stock_answer { STOCK_TOO_FEW, STOCK_SPENT, STOCK_MET };

/* Spends permits that were filled in at fresh_ns or later. */
enum stock_answer stock_spend(struct stock *stock, uint64_t fresh_ns, uint64_t cost, weir_decision *decision);

/* [locked] True if there is a permit to spend so. */
bool stock_has(const struct stock *stock, uint64_t fresh_ns);

/* [locked] From here on nothing is spent of it.  What it held, to be traded for other permits or none: the clock must
   be read after this. */
struct trade stock_empty(struct stock *stock);

/* [locked] Fills it, empty as it is, with what a trade gave, all due at now_ns. */
void stock_fill(struct stock *stock, const struct lease_slice *slice, uint64_t now_ns);

#endif
