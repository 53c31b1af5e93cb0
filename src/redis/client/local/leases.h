/* SPDX-License-Identifier: MIT
   Which keys are busy, their leases, and their last refusal: a bounded table for one handle.

   For a take, of a limit where micro_leases() is true, cost 1 or more:

       now = clock
       if (engine_leases_answer(leases, limit, key, now, cost, &answer)) answered, by a lease or by a refusal before
       else TAKE is sent, and its reply awaited: engine_leases_allowed, _refused, or _unanswered
       if (engine_leases_want(leases, limit, key, now, &command)) LEASE is written in the same batch, before the TAKE
       ... and when its reply is read:  engine_leases_granted(leases, &command, id, permits)
       ... or there is none, or an error, or the connection broke:  engine_leases_lost(leases, &command)

   Nobody needs to wait for the reply of a LEASE: until it is read, what is left of the one before is spent.  From time
   to time, and with `all` before a handle is closed:

       while (engine_leases_return(leases, now, all, &command)) RETURN is written, its reply is of no interest

   Peek, charge, settle and forget always go to the engine; when one is asked for and when it is answered, what is
   remembered of a refusal goes (engine_leases_forget).  A decision from a lease has end 0 and nothing is given back for
   it: the engine does so for nobody while permits are out.

   What a refusal says of the next calls is in refusal.h.

   [one thread].  Bounded memory, no clock, no socket; allocates once. */
#ifndef WEIR_REDIS_CLIENT_LOCAL_LEASES_H
#define WEIR_REDIS_CLIENT_LOCAL_LEASES_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

#include "redis/client/local/refusal.h"

enum {
    LEASES_KEYS = 1024,       /* with a lease at once */
    LEASES_KEY_MAX = 192,     /* bytes; longer keys have none */
    LEASES_BUSY_PER_S = 50,   /* asks; below that a key has none */
    LEASES_REFUSED_PER_S = 10 /* asks; below that no refusal of a key is kept */
};

#define LEASES_LIFE_LEAST_NS UINT64_C(1000000)
#define LEASES_LIFE_MOST_NS UINT64_C(3600000000000)

struct engine_leases;

/* LEASE key limit want lifetime_us [id permits unused], or, where want is 0, RETURN key limit id permits unused.
   Write it, keep it until the reply. */
struct engine_lease_command {
    uint64_t limit;
    weir_key key; /* borrowed: only until the next call */
    uint64_t want;
    uint64_t lifetime_us;
    uint64_t id, permits, unused; /* given back; permits 0: nothing */
    uint64_t slot, number;        /* of the table's own */
};

/* What is answered without the engine. */
struct engine_leases_answer {
    weir_decision decision;
    uint64_t spent;   /* of an allowed one: permits since the last request for some, with this one */
    uint64_t full_ns; /* of a refused one: as the engine said */
};

struct engine_leases_counts {
    uint64_t leased, unused; /* permits: granted; given back or out of time */
};

/* lifetime_ns: from 1 ms to an hour, whole us are used; NULL: no memory. */
struct engine_leases *engine_leases_open(uint64_t lifetime_ns);
void engine_leases_close(struct engine_leases *owned); /* frees; NULL is fine */

/* limit: a number of the caller's, never used for two texts.  Counts the ask; false: ask the engine. */
bool engine_leases_answer(struct engine_leases *, uint64_t limit, weir_key key, uint64_t now_ns, uint64_t cost,
                          struct engine_leases_answer *);
/* After it, for the same ask: is a lease to be asked for?  now_ns was read before anything is written. */
bool engine_leases_want(struct engine_leases *, uint64_t limit, weir_key key, uint64_t now_ns,
                        struct engine_lease_command *);
void engine_leases_granted(struct engine_leases *, const struct engine_lease_command *, uint64_t id, uint64_t permits);
void engine_leases_lost(struct engine_leases *, const struct engine_lease_command *);

/* What came of a question, of a limit that does not count what it refuses, and is no list.  A refusal is remembered
   for a key that is busy. */
void engine_leases_refused(struct engine_leases *, uint64_t limit, weir_key key, const struct engine_refused *,
                           uint64_t remaining, uint64_t full_ns);
void engine_leases_allowed(struct engine_leases *, uint64_t limit, weir_key key, uint64_t sent_ns, uint64_t cost,
                           uint64_t remaining);
void engine_leases_unanswered(struct engine_leases *, uint64_t limit, weir_key key, uint64_t cost);
/* What is known of refusals holds no more. */
void engine_leases_forget(struct engine_leases *, uint64_t limit, weir_key key);

/* Is one of this limit's here, or asked for? */
bool engine_leases_has(const struct engine_leases *, uint64_t limit);

/* Leases of keys that went quiet, or all; false: no more now.  Each call looks at a part of the table, so it may be
   called with every ask. */
bool engine_leases_return(struct engine_leases *, uint64_t now_ns, bool all, struct engine_lease_command *);

struct engine_leases_counts engine_leases_counts(const struct engine_leases *);

#endif
