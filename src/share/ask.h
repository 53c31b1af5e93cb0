/* SPDX-License-Identifier: MIT
   One call, the same for every home of a state. */
#ifndef WEIR_SHARE_ASK_H
#define WEIR_SHARE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/decide.h"
#include "core/undo.h"

struct ask {
    uint64_t now_ns, wait_max_ns, cost;
    const uint64_t *each; /* a cost for each limit, or NULL: `cost` for all of them */
    uint64_t *end;        /* filled with the end for each limit; may be NULL */
    struct undo *undo;    /* filled, except by a log; may be NULL */
    bool some;            /* cost is a maximum: take as many as pass now */
    bool peek;            /* decides, but takes nothing */
    bool charge;          /* takes the cost whatever the balance is */
    bool again;           /* the schedule includes these permits already: their start was missed */
    bool uncounted;       /* do not count a refusal: the caller goes on waiting */
};

/* Decides by a state that nothing else accesses meanwhile. */
void ask_rules(struct rules rules, uint64_t *state, const struct ask *ask, weir_decision *decision);

#endif
