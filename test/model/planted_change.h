/* SPDX-License-Identifier: MIT
   A change of the limit, and a wait, with one mistake each, for the model checker to find.

   See planted_change.c. */
#ifndef WEIR_TEST_PLANTED_CHANGE_H
#define WEIR_TEST_PLANTED_CHANGE_H

#include <weir/weir.h>

enum change_mistake {
    CHANGE_RIGHT,
    CHANGE_OUT_FORWARD, /* the first one is taken out first */
    CHANGE_IN_BACKWARD, /* the last one is let in first */
    CHANGE_OPENED_EARLY /* a home is open before the waiters are in */
};

/* weir_set_limit of one limit in a word with WEIR_SCALE, checked on its way: what waits gives back all that it has, and
   is told starts in its old order. */
void planted_set_limit(weir_limiter *limiter, const char *limits, enum change_mistake mistake);

/* weir_take_wait of one permit, without the lock of its line while it asks. */
weir_decision planted_take_wait(weir_limiter *limiter);

#endif
