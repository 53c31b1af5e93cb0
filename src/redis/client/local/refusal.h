/* SPDX-License-Identifier: MIT
   How much of one key could pass at most, after the engine has refused somebody, and whose turn it is to ask.

       "not before R", for a cost of c:   room(t) <= c + rate * (t - sent - R)

       room |          .            what is on its way counts as taken until it is answered: allowed, it was; refused,
            |       . /|   /        it was not
          c |      /   |  /
            |     /    | /          a question that would find less is answered here: refused, until the line has it
          0 +----/-----|/-----> t
               empty   asked for

   A bucket fills no faster than by its rate, and it was at most so full when the engine looked at it, which was after
   `sent`.  So no call is refused longer than the engine itself would have refused it, but where permits are given back:
   then the next that is allowed tells what is there.  And a node asks no more often than the limit's rate, however many
   ask it.

   That is N times the rate of N nodes, all but one of them in vain.  So who was refused leaves the others a turn as
   well, in which about as many permits come back as others may ask for; who was allowed goes on until it is refused.

       refused -- R --|-- turn: (N - 1) permits, half as long to half as long again --| asks -- allowed -- asks ...
                                                                                       `- refused: the next turn

   In equilibrium a node gets a permit a turn and is refused once: twice the rate of questions for any N.  If only some
   of the N ask, they are allowed more often between two refusals, and still take all that there is.  Turns are of
   random length, so that nodes that were refused together do not come back together; they are shorter where a bucket
   is too small to keep what comes back until somebody asks, and never long, for those who stopped asking are not known.

   Of limits that are no buckets (interval 0) only the retry is kept, by costs that are as high or higher. */
#ifndef WEIR_REDIS_CLIENT_LOCAL_REFUSAL_H
#define WEIR_REDIS_CLIENT_LOCAL_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#define REFUSAL_TURN_MOST_NS UINT64_C(1000000000) /* on average; half as long again at most */

/* What the engine said: to this cost, at this time of ours just before it was asked. */
struct engine_refused {
    uint64_t sent_ns, cost, retry_ns;
    uint64_t interval_ns; /* in which a permit comes back, rounded down; 0: no bucket */
    uint64_t burst;       /* permits that it keeps */
    uint64_t askers;      /* that may ask for this key, with this one; 0: not known */
};

/* Zeroed: nothing is known, and everything is asked. */
struct engine_refusal {
    uint64_t empty_ns; /* when there was room for nothing, but for what is on its way; 0: not known */
    uint64_t on_its_way;
    uint64_t interval_ns;
    uint64_t cost;                   /* without an interval: for this and above */
    uint64_t turn_ns, turn_until_ns; /* turn_ns 0: it was allowed since, or there are no others */
};

/* Ns until this cost may be asked for; 0: now. */
uint64_t engine_refusal_wait(const struct engine_refusal *, uint64_t now_ns, uint64_t cost);

/* It is asked for; and what came of it, in the same order.  Lost: it was not taken, or nobody knows. */
void engine_refusal_asked(struct engine_refusal *, uint64_t now_ns, uint64_t cost);
void engine_refusal_allowed(struct engine_refusal *, uint64_t sent_ns, uint64_t cost, uint64_t remaining);
void engine_refusal_refused(struct engine_refusal *, const struct engine_refused *);
void engine_refusal_lost(struct engine_refusal *, uint64_t cost);

#endif
