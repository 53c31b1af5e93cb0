/* SPDX-License-Identifier: MIT
   A limiter in the child of a fork.

   The child has a copy of everything except the threads.  A lock that one of them held would be held for ever, and its
   writes would stay half done; so the forking thread first takes all locks of all limiters.  The leases and waiters of
   other threads do not belong to the child: there no permit is out, and the queues are empty.

   Locks are taken in one order everywhere, and only the forking thread and a change hold two of one kind:

        list of watches -> a limiter's mutex -> the queue of a thread -> its cell, or the head of its log

   The forking thread does not lock the queues: a thread may hold its own queue and wait for the cell; the child resets
   them all, and the turns, whose lock comes after all of these.  A change has closed the homes, and holds none of them,
   when it locks the queues, several at a time.  A lease that is opened or closed, and a thread that exits, take the
   first two one after the other, never both. */
#include <stddef.h>

#include "api/limiter.h"

static weir_limiter *limiter_at(struct host_fork_watch *watch)
{
    return (weir_limiter *)((char *)watch - offsetof(struct weir_limiter, fork_watch));
}

static void hold_limiter(struct host_fork_watch *watch)
{
    weir_limiter *limiter = limiter_at(watch);
    host_lock(&limiter->mutex);
    cell_hold(&limiter->cell);
    limiter->held.log = NULL;
    if (limiter->home == HOME_LOG && !log_hold(limiter_log(limiter), &limiter->held)) limiter->held.log = NULL;
}

static void let_go_of_limiter(struct host_fork_watch *watch, bool child)
{
    weir_limiter *limiter = limiter_at(watch);
    if (child) {
        limiter_forget_leases(limiter);
        limiter_forget_waiters(limiter);
        turns_forget(&limiter->turns);
        host_spin_forget();
    }
    if (limiter->held.log != NULL) log_let_go(&limiter->held);
    cell_let_go(&limiter->cell);
    host_unlock(&limiter->mutex);
}

void limiter_watch_forks(weir_limiter *limiter)
{
    limiter->fork_watch.hold = hold_limiter;
    limiter->fork_watch.let_go = let_go_of_limiter;
    host_fork_watch_open(&limiter->fork_watch);
}
