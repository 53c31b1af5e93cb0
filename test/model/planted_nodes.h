/* SPDX-License-Identifier: MIT
   Mistakes that one could make in the engine's leases, for the model checker to find.

   PLANTED_COPY makes none. */
#ifndef WEIR_TEST_PLANTED_NODES_H
#define WEIR_TEST_PLANTED_NODES_H

#include "nodes_world.h"

enum planted_nodes {
    PLANTED_NOTHING,
    PLANTED_COPY,             /* the same once more, without a mistake */
    PLANTED_NO_OUT,           /* a lease is charged, but not kept as out */
    PLANTED_SINGLES_IGNORE,   /* calls without a lease do not hold what is out */
    PLANTED_RETURN_NO_HOLD,   /* what is unused is given back without the hold first */
    PLANTED_RETURN_HOLDS_OWN, /* ... with the hold of its own permits only */
    PLANTED_RETURN_OUT_FIRST, /* ... with the hold after its own permits are no longer out */
    PLANTED_RETURN_ANY,       /* of an epoch that is over, or never was */
    PLANTED_ONE_EPOCH,        /* taken back at the end of the epoch in which it was granted */
    PLANTED_HOLD_LATE,        /* at the end of an epoch, the hold is as of the next call */
    PLANTED_TURNS_FROM_1,     /* after the key was forgotten, names come again */
    PLANTED_IDLE_LEVEL,       /* the key is forgotten when the level alone would be down */
    PLANTED_SHORTER_STAYS,    /* a longer lifetime joins an epoch of a shorter one */
    PLANTED_SHORTER_WINS,     /* a shorter lifetime takes the place of a longer one */
    PLANTED_BACK_FORGETS,     /* the clock was set back: what is out is forgotten */
    PLANTED_BACK_SHORTENS,    /* ... what is out is taken back earlier by that */
    PLANTED_WAIT_FOR_OUT      /* a waiter is promised what is out */
};

struct scene_engine planted_nodes(int mistake);

#endif
