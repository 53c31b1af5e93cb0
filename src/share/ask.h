/* SPDX-License-Identifier: MIT
   One call, the same for every home of a state. */
#ifndef WEIR_SHARE_ASK_H
#define WEIR_SHARE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/decide.h"
#include "core/undo.h"

/* A tenant's call borrows: it is not charged to the first limit, a guaranteed one.  It owes: it takes all of the cost
   whatever the balance is, and can be settled. */
enum ask_tenant { ASK_NOT_TENANT, ASK_BORROWS, ASK_OWES };

struct ask {
    uint64_t now_ns, wait_max_ns, cost;
    const uint64_t *each; /* a cost for each limit, or NULL: `cost` for all of them */
    uint64_t *end;        /* filled with the end for each limit, but by a charge; may be NULL */
    struct undo *undo;    /* filled, except by a log; may be NULL */
    bool some;            /* cost is a maximum: take as many as pass now */
    bool peek;            /* decides, but takes nothing */
    bool charge;          /* takes the cost whatever the balance is */
    uint8_t tenant;       /* an enum ask_tenant */
    bool again;           /* the schedule includes these permits already: their start was missed */
    bool turn;            /* no call that waits for slots is ahead of it */
    bool uncounted;       /* do not count a refusal: the caller goes on waiting */
};

/* Decides by a state that nothing else accesses meanwhile. */
void ask_rules(struct rules rules, uint64_t *state, const struct ask *ask, weir_decision *decision);

#endif
