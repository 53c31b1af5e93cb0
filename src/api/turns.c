/* SPDX-License-Identifier: MIT
   Callers that wait for their turn, in the order of their calls.

   A start by a rate is known in advance, so a caller reserves it and sleeps (wait.c).  When a slot of a concurrent
   limit will be free nobody knows: its holder may release it now, or renew it for ever.  So callers stand behind each
   other, and only the first one asks the state: it sleeps until the next lease ends, or until it is woken by a release.
   All others sleep without a timer but that of their own patience.

       first    joins;  asks: refused;  sleeps ........ woken: asks: has it;  leaves, and wakes the next
       second   joins;  not the first: sleeps ........................................ woken: asks: refused;  sleeps
       holder                           gives back under the state's lock;  does anybody wait?  wakes the first

   No wake-up is lost: a caller joins before it asks, and a holder looks for callers after it has given back, both under
   the state's lock.  So either the caller finds what was given back, or the holder finds the caller; and since the
   caller has read its event before it asked, its sleep then ends at once.

   A caller that leaves, for whatever reason, wakes the one that is first then.  One that comes again, because it lost
   its start, has its old ticket and so its old place; only who is asking in its turn at that moment is ahead of it. */
#include "api/turns.h"

#include <stddef.h>

#include "host/thread.h"
#include "share/lock.h"

uint64_t turns_ticket(struct turns *turns)
{
    return atom_add(&turns->tickets, 1) + 1;
}

static struct turn *turn_before(const struct turn *turn)
{
    struct turn *before = turn->before;
    while (before != NULL && before->key != turn->key) before = before->before;
    return before;
}

/* [locked] The event of the first one with this key, from here on; NULL: there is none. */
static struct host_event *event_of_first(struct turns *turns, const struct turn *turn, uint64_t key)
{
    while (turn != NULL && turn->key != key) turn = turn->after;
    return turn != NULL ? turns_event(turns, turn) : NULL;
}

void turns_join(struct turns *turns, struct turn *turn)
{
    if (turn->ticket == 0) turn->ticket = turns_ticket(turns);
    lock_take(&turns->lock, host_yield);
    struct turn *before = turns->last;
    while (before != NULL && before->ticket > turn->ticket) before = before->before;
    turn->before = before;
    turn->after = before != NULL ? before->after : turns->first;
    *(before != NULL ? &before->after : &turns->first) = turn;
    *(turn->after != NULL ? &turn->after->before : &turns->last) = turn;
    atom_add(&turns->waiting, 1);
    lock_release(&turns->lock);
    atom_fence_full(); /* it looks for changes after this, see turns_wake_all */
}

void turns_leave(struct turns *turns, struct turn *turn)
{
    lock_take(&turns->lock, host_yield);
    const bool first = turn_before(turn) == NULL;
    *(turn->before != NULL ? &turn->before->after : &turns->first) = turn->after;
    *(turn->after != NULL ? &turn->after->before : &turns->last) = turn->before;
    atom_add(&turns->waiting, UINT64_MAX);
    struct host_event *next = first ? event_of_first(turns, turn->after, turn->key) : NULL;
    lock_release(&turns->lock);
    if (next != NULL) host_event_signal(next);
}

bool turns_is_first(struct turns *turns, const struct turn *turn)
{
    lock_take(&turns->lock, host_yield);
    const bool first = turn_before(turn) == NULL;
    lock_release(&turns->lock);
    return first;
}

void turns_wake_first(struct turns *turns, uint64_t key)
{
    lock_take(&turns->lock, host_yield);
    struct host_event *first = event_of_first(turns, turns->first, key);
    lock_release(&turns->lock);
    if (first != NULL) host_event_signal(first);
}

/* Whoever joins too late to be seen here sees the change. */
void turns_wake_all(struct turns *turns)
{
    atom_fence_full();
    if (turns_waiting(turns) == 0) return;
    for (int i = 0; i < TURN_EVENTS; i++) host_event_signal(&turns->event[i]);
}

void turns_forget(struct turns *turns)
{
    turns->first = turns->last = NULL;
    atom_store(&turns->waiting, 0);
    atom_store(&turns->lock, 0);
}
