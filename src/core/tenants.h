/* SPDX-License-Identifier: MIT
   Who pays for a tenant's call: its guarantee, or what is idle.

   A call asks from a tenant up to the parent of all.  The text of an ask has plain limits, and may begin with a
   guaranteed one.

       ask 0   5/s guaranteed; 40/s   a user             plain 40/s, its ceiling
       ask 1   20/s guaranteed        its organisation
       ask 2   100/s                  all                plain 100/s; at the end a guaranteed limit is a plain one

   A guaranteed limit stands for all that is behind its ask.  Where it has room, and so have the plain limits up to its
   ask, the call passes: these are charged, and what is behind is charged whatever it has, into debt.  Else the call
   borrows: it is not charged to that limit, and needs room behind it, in the next guaranteed limit or in all the plain
   ones.  What cannot be owed has to have room in any case: slots that are held, and debt beyond what a word can count.

   The bound, for a parent of rate R and burst B, guarantees a_i, B_i, and sum a_i <= R: the parent is charged for every
   call.  Of the calls in a window of t, take the last that borrowed, in the order of their charges to the parent: up to
   it at most B + R t passed, since the parent had room.  After it every call was within its guarantee: at most
   sum (B_i + a_i t), but t is now only what is left of the window.  Together, at most

       B + sum B_i + R t

   and with more levels the bursts of all guarantees below the parent are in the sum.

   This counts each call at the time by which it was decided, and takes these to be in the order of the charges.  Where
   callers run at the same time, a call may be charged after one of a later time; so there may be so much more as was
   being decided, with an older time, while one borrowed: at most one call for each thread.  No protocol avoids that
   without breaking a guarantee: by its own time that call was within it, and what it needed is gone. */
#ifndef WEIR_CORE_TENANTS_H
#define WEIR_CORE_TENANTS_H

#include <stddef.h>

#include "core/num.h"
#include "core/rule.h"

/* How long until the limits of one ask have room, in any unit of time; 0: they have.  UINT64_MAX: never, or there is no
   guaranteed limit. */
struct tenant {
    uint64_t plain, guaranteed, held;
};

static inline bool tenants_guaranteed(const struct rule *rule)
{
    return (rule->flags & RULE_GUARANTEED) != 0;
}

/* The ask whose guarantee the call passes by soonest, of those the first; `count`: none, it borrows.  *wait: until
   then. */
static inline size_t tenants_choose(const struct tenant asks[], size_t count, uint64_t *wait)
{
    uint64_t plain = 0, held = 0;
    size_t by = count;
    *wait = UINT64_MAX;
    for (size_t i = 0; i < count; i++) held = most(held, asks[i].held);
    for (size_t i = 0; i < count; i++) {
        plain = most(plain, asks[i].plain);
        const uint64_t until = most(most(plain, held), asks[i].guaranteed);
        if (until >= *wait) continue;
        *wait = until;
        by = i;
    }
    if (plain >= *wait && by < count) return by;
    *wait = plain;
    return count;
}

/* ---- weights: who gets what is idle ----

   Start-time fair queuing (Goyal, Vin and Cheng, 1996) without a queue.  What a tenant is lent stands on a line of its
   own, cost/weight after cost/weight up to its finish; the latest start of all is the parent's lead.

       start   = max(finish, lead - burst/4)           lent   <=>  the parent has room for cost + spare
       spare   = (burst - cost)/2 - 2 (lead - start)   finish' = start + cost/weight    lead' = max(lead, start)

   The tenant in the lead leaves half of the burst to the others, one that has had less leaves less, and one that is a
   quarter of the burst behind leaves nothing.  So who has had the least finds room first; if nobody else comes, there
   is room a moment later all the same, and nothing is lost.  What is lent has had room, so the bound stands whatever
   these two say: one that is lost, or late, costs fairness only.

   Here both are told by how far they are ahead of now, in time of the parent.  A lead that now has nearly caught up
   with, for it goes no faster and mostly slower, is set far ahead, where all tenants are level again; so whatever keeps
   them may forget them as it forgets any drained time, and what is left as spare never grows while nobody calls. */
struct fair {
    uint64_t lead, start;
};

enum { FAIR_AHEAD = 64, FAIR_BEHIND = 4 };

/* Burst: of the parent, as a time; lead and finish: 0 if there is none. */
static inline struct fair fair_of(uint64_t lead, uint64_t finish, uint64_t burst)
{
    const uint64_t behind = burst / FAIR_BEHIND;
    const uint64_t at = lead > behind ? lead : multiply_shift_floor(burst, FAIR_AHEAD, 0);
    return (struct fair){at, most(finish, subtract_to_zero(at, behind))};
}

static inline uint64_t fair_spare(const struct fair *fair, uint64_t burst, uint64_t cost)
{
    const uint64_t behind = subtract_to_zero(fair->lead, fair->start);
    return subtract_to_zero(subtract_to_zero(burst, cost) / 2, multiply_shift_floor(behind, 2, 0));
}

static inline uint64_t fair_finish(const struct fair *fair, uint64_t cost, uint64_t weight)
{
    return add_saturating(fair->start, most(cost / most(weight, 1), 1));
}

static inline uint64_t fair_lead(const struct fair *fair)
{
    return most(fair->lead, fair->start);
}

#endif
