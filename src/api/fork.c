/* SPDX-License-Identifier: MIT
   fork.c - a limiter in the child of a fork.

   The child has a copy of everything but the threads.  A lock that one of them held would be held for ever, and what
   it was about to write would stay half done; so whoever forks first takes all locks of all limiters.  What the others
   had taken along or were waiting for is not for the child: nothing is out there, and nobody is in the line.

   Locks are taken in one order everywhere, and of two of a kind nobody has both but whoever forks, and a change:

        list of watches -> a limiter's mutex -> the line of a thread -> its cell, or the head of its log

   Whoever forks leaves the lines alone: a thread may have its own and wait for the cell, and the child opens them all.
   A change has closed the homes, and holds none of them, when it takes the lines, more than one of them.  A lease that
   is opened or closed, and a thread that ends, has the first two one after the other, never both. */
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
