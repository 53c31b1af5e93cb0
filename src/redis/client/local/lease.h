/* SPDX-License-Identifier: MIT
   Permits of one busy key that this node took along, to be spent without asking the engine.

       sent                          spend_before         sent + lifetime
       |-- request --|- reply -|-- spent, one by one --|--- margin ---|    the engine takes it back here or later
                     ^ the engine's clock begins here, so it ends after ours

   The lifetime counts from when the request was sent, on this node's own clock, which is looked at for each permit; its
   last hundredth is never used, for clocks that run apart.  So no clocks are compared, and a reply that is late, lost
   or comes to a dead node costs permits and grants none.  A return is sent once and never again.

   The next lease is asked for while there is still something left of this one, so that no call waits for it.  Only what
   was spent is returned then; the rest is spent while the request is on its way, and before what it brings:

       before    |########'-------|                          ' asked for more: what was spent (#) is returned
       now                  |##########'-------|             what is left (-) is spent until it is gone or its time over
                                         |#####...

   A permit is spent at most once, never after its time, and never once it was given back. */
#ifndef WEIR_REDIS_CLIENT_LOCAL_LEASE_H
#define WEIR_REDIS_CLIENT_LOCAL_LEASE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LEASE_LEAST = 2,      /* permits that are worth a request */
    LEASE_SCARCE = 16,    /* an engine with fewer than that left gives not even so many */
    LEASE_FIRST = 8,      /* asked for at first; a key that gets less than that asks the engine instead for a while */
    LEASE_MOST = 1 << 20, /* asked for at most */
    LEASE_MARGIN = 100,   /* this part of a lifetime is not used */
    LEASE_LASTS = 4,      /* as many are asked for as are spent in this part of a lifetime ... */
    LEASE_GROWTH = 8,     /* ... and at most so many times as many as before */
    LEASE_LOW = 8,        /* the next is asked for when this part of what there was is left */
    LEASE_EARLY = 8,      /* ... or of the lifetime */
    LEASE_REST = 4        /* so long, as a part of a lifetime, nothing is asked after too little or nothing came */
};

/* Of one grant.  permits 0: none. */
struct engine_lease_part {
    uint64_t permits, left; /* as granted, but for what was returned; not yet spent */
    uint64_t id;            /* the engine's name for its epoch */
    uint64_t sent_ns;       /* when it was asked for */
    uint64_t spend_before_ns;
};

/* Zeroed: no lease, never asked. */
struct engine_lease {
    struct engine_lease_part before, now; /* spent in this order */
    uint64_t low;                         /* more is asked for when no more than that is left ... */
    uint64_t renew_ns;                    /* ... or from then on */
    uint64_t asked_ns;                    /* the request on its way, or the last */
    uint64_t spent;                       /* since then */
    uint64_t want;                        /* so many it asked for; 0: never, or not since the last end */
    uint64_t rests_until_ns;
    bool waiting; /* a request is on its way */
    bool scarce;  /* as the engine said last, there is too little left */
};

/* What is given back; permits 0: nothing. */
struct engine_lease_return {
    uint64_t id, permits, unused;
};

/* Takes so many out of the lease; false: ask the engine.  now_ns is read for this very call. */
bool engine_lease_spend(struct engine_lease *, uint64_t now_ns, uint64_t cost);

/* An answer to something else says how many permits the engine has left. */
void engine_lease_heard(struct engine_lease *, uint64_t remaining);

/* So many may be spent now. */
uint64_t engine_lease_left(const struct engine_lease *, uint64_t now_ns);

/* Of what was granted, spent or not, the engine has not heard yet. */
bool engine_lease_holds(const struct engine_lease *);

/* May more be asked for now?  Little is left, of the permits or of their time, no request is on its way, there is
   something to be had, and it does not rest. */
bool engine_lease_due(const struct engine_lease *, uint64_t now_ns);

/* How many to ask for. */
uint64_t engine_lease_next(const struct engine_lease *, uint64_t lifetime_ns, uint64_t now_ns);

/* The request is on its way; now_ns is read before it is written.  What was spent is to be returned with it, once, or
   to be dropped. */
struct engine_lease_return engine_lease_ask(struct engine_lease *, uint64_t lifetime_ns, uint64_t now_ns,
                                            uint64_t want);

/* Nothing is spent of it any more; what comes back is to be sent, once, or to be dropped.  Of one epoch: if it still
   holds something, another end gives that.  Nothing once the engine has it back. */
struct engine_lease_return engine_lease_end(struct engine_lease *, uint64_t lifetime_ns, uint64_t now_ns);

/* The reply to the request on its way; permits may be 0. */
void engine_lease_granted(struct engine_lease *, uint64_t lifetime_ns, uint64_t id, uint64_t permits);

/* There was none, or an error: as if nothing had been granted. */
void engine_lease_lost(struct engine_lease *, uint64_t lifetime_ns);

#endif
