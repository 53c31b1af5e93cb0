/* SPDX-License-Identifier: MIT
   ask.h - one question, the same for every home of a state. */
#ifndef WEIR_SHARE_ASK_H
#define WEIR_SHARE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/decide.h"
#include "core/undo.h"

struct ask {
    uint64_t now_ns, wait_max_ns, cost;
    const uint64_t *each; /* a cost for each limit, or NULL: cost for all */
    uint64_t *end;        /* filled with an end for each limit; may be NULL */
    struct undo *undo;    /* filled, but by a log; may be NULL */
    bool some;            /* cost is a maximum: as many as pass now */
    bool peek;            /* answers, and takes nothing */
    bool charge;          /* takes whatever the balance */
    bool again;           /* the schedule has gone on by these permits already: their start was lost */
    bool uncounted;       /* a refusal is not counted, though others are: the caller goes on waiting */
};

/* Asks it of a state that holds still. */
void ask_rules(struct rules rules, uint64_t *state, const struct ask *ask, weir_decision *decision);

#endif
