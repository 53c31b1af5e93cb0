/* SPDX-License-Identifier: MIT
   Waiters whose threads sleep all the time, so that a test needs none: each is told its start, stands in a
   line, and what a change makes of it can be read. */
#ifndef WEIR_TEST_STANDING_H
#define WEIR_TEST_STANDING_H

#include "api/limiter.h"

static inline struct queue *standing_line(weir_limiter *limiter)
{
    return &limiter->queue[0];
}

/* As take_place of wait.c: a waiter that need not wait does not stand. */
static inline weir_decision stand(weir_limiter *limiter, struct waiter *waiter, uint64_t cost)
{
    struct queue *queue = standing_line(limiter);
    const struct ask ask = {.now_ns = limiter_now_ns(limiter),
                            .wait_max_ns = WEIR_FOREVER,
                            .cost = cost,
                            .end = waiter->end,
                            .undo = &waiter->undo,
                            .uncounted = true};
    const struct log *log = limiter_log(limiter);
    *waiter = (struct waiter){.cost = cost};
    if (limiter_ask_once(limiter, &ask, &waiter->decision) == ASKED_FULL) {
        host_lock(&limiter->mutex);
        (void)limiter_grow_log(limiter, log, ask.now_ns);
        host_unlock(&limiter->mutex);
        (void)limiter_ask_once(limiter, &ask, &waiter->decision);
    }
    queue_lock(queue);
    queue_join(queue, waiter);
    queue_unlock(queue);
    return waiter->decision;
}

static inline void stand_no_more(weir_limiter *limiter, struct waiter *waiter)
{
    queue_lock(standing_line(limiter));
    queue_leave(standing_line(limiter), waiter);
    queue_unlock(standing_line(limiter));
}

#endif
