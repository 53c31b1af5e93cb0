/* SPDX-License-Identifier: MIT
   How much of one key could pass at most, after the engine has refused somebody.

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

   The above; of limits that are no buckets (interval 0) only that the retry is kept, by costs that are as high or
   higher. */
#ifndef WEIR_REDIS_CLIENT_LOCAL_REFUSAL_H
#define WEIR_REDIS_CLIENT_LOCAL_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

/* What the engine said: to this cost, at this time of ours just before it was asked. */
struct engine_refused {
    uint64_t sent_ns, cost, retry_ns;
    uint64_t interval_ns; /* in which a permit comes back, rounded down; 0: no bucket */
};

/* Zeroed: nothing is known, and everything is asked. */
struct engine_refusal {
    uint64_t empty_ns; /* when there was room for nothing, but for what is on its way; 0: not known */
    uint64_t on_its_way;
    uint64_t interval_ns;
    uint64_t cost; /* without an interval: for this and above */
};

/* Ns until this cost may be asked for; 0: now. */
uint64_t engine_refusal_wait(const struct engine_refusal *, uint64_t now_ns, uint64_t cost);

/* It is asked for; and what came of it, in the same order.  Lost: it was not taken, or nobody knows. */
void engine_refusal_asked(struct engine_refusal *, uint64_t cost);
void engine_refusal_allowed(struct engine_refusal *, uint64_t sent_ns, uint64_t cost, uint64_t remaining);
void engine_refusal_refused(struct engine_refusal *, const struct engine_refused *);
void engine_refusal_lost(struct engine_refusal *, uint64_t cost);

#endif
