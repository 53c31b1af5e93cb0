/* SPDX-License-Identifier: MIT
   What each kind of limit answers, a file each; the verbs put it together (decide.c).

   A verb first brings the cell to its plan and its time (adapt), so that all below may rely on it: the kind fits, the
   words are those of the kind or none, and no number is larger than it may be.

   Nothing here knows of another limit, of keys or of bytes. */
#ifndef WEIR_REDIS_MICRO_KINDS_H
#define WEIR_REDIS_MICRO_KINDS_H

#include "core/tenants.h"
#include "redis/micro/micro.h"
#include "redis/micro/num.h"

#define MICRO_HYBRID_MOST (UINT64_C(1) << 51) /* ticks of a hybrid's pool, and of the lag that it remembers */
#define MICRO_FOREVER (UINT64_C(1) << 53)     /* a wait that never ends; no other is as long */

/* One limit of a question. */
struct one {
    const struct micro_rule *rule;
    struct micro_cell *cell;
    struct micro_log *log;     /* of a sliding-log */
    struct micro_slots *slots; /* of concurrent */
};

struct micro_offer {
    uint64_t wait;  /* until this same call passes; 0: it does now */
    uint64_t delay; /* if it does: until it starts */
};

typedef void micro_commit(const struct one *, uint64_t now, uint64_t cost);

/* now: the time of adapt; cost: permits, up to MICRO_MOST. */
struct kind {
    /* true: a time in it lay further ahead than it may, and was moved; only once that is written does it pass. */
    bool (*adapt)(const struct micro_rule *, struct micro_cell *, uint64_t now);
    struct micro_offer (*offer)(const struct one *, uint64_t now, uint64_t cost, uint64_t wait);
    micro_commit *take;                                 /* what was offered; not for 0 */
    micro_commit *refuse;                               /* of MICRO_COUNTS_REFUSED */
    uint64_t (*room)(const struct one *, uint64_t now); /* permits that would pass without delay */
    uint64_t (*full)(const struct one *, uint64_t now); /* us until all is back */
    uint64_t (*idle)(const struct one *, uint64_t now); /* us until it may be forgotten; NULL: the same */
    micro_commit *charge;                               /* not for 0 */
    /* taken: not after now. */
    void (*give_back)(const struct one *, uint64_t now, uint64_t taken, uint64_t charged, uint64_t unused);
};

const struct kind *kind_of(const struct micro_rule *); /* decide.c; NULL for MICRO_NONE and MICRO_UNLIMITED */

/* a file each */
const struct kind *gcra_kind(void);
const struct kind *hybrid_kind(void);
const struct kind *leaky_kind(void);
const struct kind *fixed_kind(void);
const struct kind *sliding_kind(void);
const struct kind *log_kind(void);
const struct kind *concurrent_kind(void);

/* Only a hybrid keeps a schedule: of what starts after that delay, us since its first permit was due. */
uint64_t hybrid_late(const struct one *, uint64_t now, uint64_t cost, uint64_t delay);

/* What an offer without a delay of its own says. */
static inline struct micro_offer offer_after(uint64_t wait)
{
    return (struct micro_offer){wait, 0};
}

/* ---- a change of the rule: what becomes of what was used under another one (rerule.c) ---- */

/* From here on the cell is of this rule, which is a line's or leaky. */
void rerule_mark(const struct micro_rule *, struct micro_cell *);

/* Was it written under another rule? */
bool rerule_needed(const struct micro_rule *, const struct micro_cell *);

/* What was used, in ticks of the cell's rule, in those of this one: as many permits, but no more than its burst.  What
   is above the burst of the cell's rule is waited for or owed, and stays as many permits on top of that. */
uint64_t rerule_used(const struct micro_rule *, const struct micro_cell *, uint64_t ticks);

/* ---- tenants that share what is idle by weight (weights.c) ---- */

/* Of a permit and a us as parts, for the limit whose room is shared; false: too large a burst for whole parts. */
bool weights_make(struct micro_weights *, const struct micro_rule *);

/* Marks as they may be at this time; those that have run out are no more. */
void weights_bring(struct micro_state *, uint64_t now);
/* Us until the last of them has run out. */
uint64_t weights_idle(const struct micro_state *, uint64_t now);

/* Before a call of tenants with a weight.  Returns how many permits the shared limit has to have beside the cost for
   the call to borrow. */
uint64_t weights_spare(const struct micro_plan *, const struct micro_state *, uint64_t now, uint64_t cost);
/* After any call of tenants that no guarantee let pass. */
void weights_count(const struct micro_plan *, struct micro_state *, uint64_t now, const uint64_t cost[]);

/* ---- gcra's cell, which its leases see too (lease.c) ---- */

enum {
    GCRA_SEEN,  /* us; the others are as they were then */
    GCRA_LEVEL, /* ticks */
    GCRA_WORDS, /* the rest only once there was a lease: */
    GCRA_EPOCH = GCRA_WORDS,
    GCRA_EPOCH_END, /* us, when the epoch before is taken back */
    GCRA_LIFETIME,  /* us */
    GCRA_OUT_NEW,   /* permits in leases of this epoch ... */
    GCRA_OUT_OLD,   /* ... and of the one before */
    GCRA_LEASE_WORDS
};

/* Us until the level, which is that of `cell` and of now, is this low; out of it what is in leases drains only when it
   is taken back. */
uint64_t gcra_time_to(const struct micro_rule *, const struct micro_cell *, uint64_t level);

/* Permits out. */
uint64_t gcra_out(const struct micro_cell *);

/* ---- a sliding-log's cell, behind which its ring is (log.c) ---- */

enum {
    LOG_NEWEST, /* us: of the newest entry, which is not in the ring */
    LOG_SUM,    /* permits up to it, modulo 2^32 ... */
    LOG_GONE,   /* ... and up to the oldest that count */
    LOG_SLOTS,  /* of the ring */
    LOG_FIRST,  /* the slot of its oldest entry */
    LOG_COUNT,  /* its entries */
    LOG_RESERVED,
    LOG_WORDS
};

/* Of a cell with words, and a ring of so many bytes. */
bool log_is_sound(const struct micro_cell *, size_t ring_size);

#endif
