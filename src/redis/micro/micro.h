/* SPDX-License-Identifier: MIT
   The same limits in the engine's unit: whole microseconds, and no number above 2^53.

   Inside Redis and Valkey a decision is made by this room, compiled into the module, or by weir.lua, whose numbers are
   doubles.  So everything here is said in integers that a double holds, and the Lua says the same line by line; a test
   asks both the same million questions.

   State is kept as seen from the last time something was taken: how full a bucket was *then*, not when it will be
   empty.  A clock on the wall may be set back, and an engine that takes over has another one; then the state goes back
   with it (micro_prepare), and nothing is earned or lost by that.

   A tick is the unit of a line's level, chosen so that nothing is ever rounded: a permit is `permit` ticks and `per`
   of them drain in a microsecond.  3/s: a permit is 1,000,000 ticks and 3 drain.

   Exact but for the unit: waits are rounded up to a microsecond. */
#ifndef WEIR_REDIS_MICRO_MICRO_H
#define WEIR_REDIS_MICRO_MICRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/weir.h>

#define MICRO_MOST (UINT64_C(1) << 52)             /* of each number in a rule or a state; sums of two are up to 2^53 */
#define MICRO_LIFETIME_MAX (UINT64_C(1) << 40)     /* us of a lease, 12 days */
#define MICRO_ALL ((UINT64_C(1) << 53) - 1)        /* remaining of what is unlimited */
#define MICRO_BURST_MOST ((UINT64_C(1) << 37) - 1) /* of a cell; a larger burst is as this one there */

enum {
    MICRO_FORMAT = 2,    /* of a value; 3 to 31 are for those to come, and 1 is read */
    MICRO_HEAD = 8,      /* bytes of a value before its cells: "weir", 2, cells, 0, 0 */
    MICRO_CELL = 16,     /* bytes of a cell before its words */
    MICRO_WORDS_MAX = 7, /* of a cell */
    MICRO_BYTES_MAX = MICRO_HEAD + WEIR_LIMITS_MAX * (MICRO_CELL + 8 * MICRO_WORDS_MAX),
    MICRO_ALONE = MICRO_HEAD + MICRO_CELL + 2 * 8, /* bytes of a value of one gcra limit without leases */
    MICRO_LOG_MAX = 100000, /* permits of the sliding-logs of a text: so entries, and what may move as they get room */
    MICRO_LOG_REACH = 1024, /* newer entries, over which one that is given back is reached; of several logs together */
    MICRO_LOG_STEPS = 1280, /* entries of a log that a verb looks at and writes one by one, at most */
    MICRO_LOG_ENTRY = 12,   /* bytes */
    MICRO_LOG_RING = MICRO_HEAD + MICRO_CELL + 8 * MICRO_WORDS_MAX, /* where they begin in a value */
    MICRO_LOG_BYTES_MAX = MICRO_LOG_RING + (MICRO_LOG_MAX + 1) * MICRO_LOG_ENTRY,
    MICRO_LOG_RANGES = 3,
    MICRO_LEVELS_MAX = 4,    /* of tenants: a user, its organisation ... all */
    MICRO_SLOTS_MAX = 10000, /* of a concurrent limit */
    MICRO_ID_PARTS = 1000,   /* ids of one us */
    MICRO_RECEIPT_MAX = 24 + WEIR_LIMITS_MAX * 24
};

/* As they are in the first byte of a cell. */
enum micro_kind {
    MICRO_NONE = 0, /* "none": nothing passes */
    MICRO_UNLIMITED = 1,
    MICRO_GCRA = 2,
    MICRO_HYBRID = 3,
    MICRO_LEAKY = 4,
    MICRO_FIXED = 5,
    MICRO_SLIDING = 6,
    MICRO_LOG = 7,        /* its entries are behind its cell, which is alone in its value */
    MICRO_CONCURRENT = 8, /* its slots are a sorted set at a key of their own; without a cell in any value */
    MICRO_KINDS
};

enum micro_flag {
    MICRO_COUNTS_REFUSED = 1,
    MICRO_ALIGNED = 2,
    MICRO_STARTS_FULL = 4,
    MICRO_CLOSED = 8,
    MICRO_GUARANTEED = 16
};

/* One limit.  What the numbers are is said by the file of each kind. */
struct micro_rule {
    uint64_t kind, flags;
    uint64_t burst;       /* permits that one call may ask for at most */
    uint64_t permit, per; /* lines: ticks */
    uint64_t top;         /* lines: ticks that fit; leaky: thousandths, and a permit is 1000 */
    uint64_t fits;        /* both: permits, MICRO_BURST_MOST at most */
    uint64_t debt;        /* how far a charge may go beyond that: ticks, thousandths, permits of a sliding-window;
                             of a sliding-log, over how many newer entries one is reached that is given back */
    uint64_t per_fast;    /* hybrid: ticks that drain from its ceiling, catchup * per */
    uint64_t period, block, gap;  /* windows and logs, us; period: of concurrent the lease */
    uint64_t second, third, calm; /* leaky: second / third thousandths leak in a ms; up to calm starts at once */
};

/* Of tenants that share what is idle (weights.c); its times are in parts of a us. */
struct micro_weights {
    uint64_t weight;      /* 0: the call has none */
    uint64_t permit, per; /* parts that a permit of `limit` lasts, and parts of a us */
    unsigned level;       /* whose weight it is, the first that has one */
    unsigned limit;       /* of the last level, whose room is shared */
};

struct micro_plan {
    unsigned count;
    bool many_units; /* one number is no cost of all: which unit is it? */
    unsigned levels; /* of tenants, from the user up to all; else 1.  Level l has the limits from first[l] on */
    unsigned first[MICRO_LEVELS_MAX + 1];
    struct micro_weights weights; /* of one level it is not looked at */
    struct micro_rule rule[WEIR_LIMITS_MAX];
};

/* What is remembered of one limit; without words it is fresh. */
struct micro_cell {
    uint64_t kind, words;
    /* Under which rule it was written, of lines and leaky; so that it is known when that has changed. */
    uint64_t burst, permit; /* permit: lines only */
    uint64_t per;           /* lines of format 1, which has neither: ticks that drained in a us; else 0 */
    uint64_t word[MICRO_WORDS_MAX];
};

/* The slots of a text's concurrent limit, counted by who stores them; times are us of the set's clock. */
struct micro_slots {
    uint64_t at, ahead;  /* the set's clock: so far ahead of the engine's */
    bool moved;          /* the engine's went back; before it was ... */
    uint64_t ahead_was;  /* ... so far */
    uint64_t held, over; /* how many there are: with a lease, and of those whose lease is over */
    uint64_t last_end;   /* of those that are held */
    uint64_t wanted_end; /* when as many have ended as micro_slots_wanted says */
    uint64_t added, end; /* left to be written: so many more, until then ... */
    uint64_t freed;      /* ... and so many fewer under the id that is settled, or all of them */
};

/* A finish or a lead of tenants with weights (core/tenants.h), told as it was then. */
struct micro_mark {
    uint64_t seen;  /* us */
    uint64_t ahead; /* parts of a us */
    uint64_t per;   /* parts of a us; of another rate the mark says nothing */
};

struct micro_state {
    unsigned count; /* with no marks 0: nothing is remembered, all is fresh */
    unsigned marks; /* a bit for each key that has one, of the first MICRO_LEVELS_MAX */
    struct micro_cell cell[WEIR_LIMITS_MAX];
    struct micro_slots slots;
    struct micro_mark mark[MICRO_LEVELS_MAX]; /* by key: of tenants there is one for each level */
};

/* The entries of a sliding-log, where they are read as they are needed; and what a verb leaves there to be written. */
struct micro_log {
    const unsigned char *ring; /* borrowed: of the value that was read; NULL: there is none, it is written as a whole */
    uint64_t steps;            /* entries looked at so far, or written */
    bool pushes;               /* one more, of this time and sum */
    bool gives, removes;       /* from `from` on sums are less by `sum`; and the first of them goes */
    uint64_t time, sum, from;
    uint64_t moves, move_from, move_to; /* slots, so that there is room */
};

struct micro_ask {
    uint64_t now; /* us since 1970 */
    uint64_t cost[WEIR_LIMITS_MAX];
    uint64_t wait; /* us that it may start later; only of one limit that is a bucket, else as 0 */
    bool peek;
};

struct micro_answer {
    weir_verdict verdict;
    uint64_t limit, remaining;
    uint64_t delay, retry; /* us; retry: until the same call passes, as weir_decision has it */
    uint64_t taken;        /* us since 1970: what is settled was taken then.  Who waits starts within the us after it */
    uint64_t full;         /* us, until this limit has all back: after what was taken, but before a peek */
    uint64_t late;         /* us from when its first permit was due until it starts; 0 without a schedule */
    uint64_t idle;         /* us since 1970: from then on the key may be forgotten */
    uint64_t id;           /* of the slots taken, once they are written; 0: none */
    unsigned lent;         /* of a tenant's call a bit for each guaranteed limit that it was not charged to */
    bool changed;          /* there is something to write */
};

/* 0, or WEIR_EUNSUPPORTED with what the engine does not keep and what to write instead. */
int micro_plan_make(struct micro_plan *, const weir_plan *, weir_error *);

/* Of a text as engines read it (plain.c).  One of weir-limit(7) that is not plain is WEIR_EINVAL; the error says how to
   write it. */
int micro_text_read(struct micro_plan *, const char *text, weir_error *);
/* Any limits as such a text, with nothing implied; as weir_plan_text, but 0: an engine does not keep them, or they need
   numbers that such a text does not hold.  A text that is cut is not checked. */
size_t micro_text_write(const weir_plan *, char *out, size_t size);

/* false: these bytes are no state that this weir reads.  A value of an older format is converted in here. */
bool micro_read(struct micro_state *, const void *bytes, size_t size);
/* Of such bytes: the format that they say they are of (up to MICRO_FORMAT: damaged); 0: they are not weir's. */
unsigned micro_format(const void *bytes, size_t size);
/* Returns how many bytes; `bytes` has room for MICRO_BYTES_MAX. */
size_t micro_write(const struct micro_state *, void *bytes);

/* Brings a state to this plan and this time: cells of another kind begin anew, levels of another rate are translated,
   and where the clock was set back all goes back with it.  The verbs below do so first.  true: a time was moved, which
   has to be written even with a refusal: it would be moved again and again, and never come. */
bool micro_prepare(const struct micro_plan *, struct micro_state *, uint64_t now);

/* Slots of which nothing is counted yet, at this time; when they were written their clock showed `seen`, and was so far
   ahead. */
void micro_slots_begin(struct micro_slots *, uint64_t now, uint64_t seen, uint64_t ahead);
/* Of those that are held so many have to end before this cost passes; 0: it passes, or never does. */
uint64_t micro_slots_wanted(const struct micro_rule *, const struct micro_slots *, uint64_t cost);

/* Of a sliding-log, which has a key of its own; state: as it was read from these bytes. */
void micro_log_open(struct micro_log *, const struct micro_state *, const void *bytes);

/* So many entries a verb looks at, or writes one by one, at most: MICRO_LOG_STEPS or fewer. */
uint64_t micro_log_steps(const struct micro_rule *);

/* After a verb, where there is a ring and the cell has words still: how large the value of this size will be. */
size_t micro_log_place(struct micro_cell *, struct micro_log *, size_t size);

/* Then, when `bytes`, the value as it was read, has grown to that size by zeros: writes what has changed, and says
   where.  Returns how many ranges. */
struct micro_range {
    size_t at, size;
};
unsigned micro_log_write(const struct micro_state *, struct micro_log *, void *bytes,
                         struct micro_range range[MICRO_LOG_RANGES]);

/* The value of a log that was kept in another way: the permits up to each of these times, which are in order.  Returns
   its size; of `bytes` MICRO_LOG_RING + count * MICRO_LOG_ENTRY are written at most. */
size_t micro_log_make(const uint64_t time[], const uint64_t sum[], unsigned count, void *bytes);

/* log: one for each limit that is a sliding-log, at its index; others are not looked at.  May be NULL without any. */
void micro_take(const struct micro_plan *, struct micro_state *, struct micro_log log[], const struct micro_ask *,
                struct micro_answer *);
/* The question that is asked most, from the bytes of its value: one gcra limit that is alone at its key (alone.c). */
bool micro_may_be_alone(const struct micro_plan *, const struct micro_ask *);
/* Of such a question: the answer of micro_take, and if that has `changed` anything, the MICRO_ALONE bytes of the next
   value in `after`, which may be `bytes`.  size 0: there is no value.  false: this value is for micro_take. */
bool micro_take_alone(const struct micro_plan *, const struct micro_ask *, const void *bytes, size_t size, void *after,
                      struct micro_answer *);

/* Takes whatever the balance; never refuses but for MICRO_NONE. */
void micro_charge(const struct micro_plan *, struct micro_state *, struct micro_log log[], const struct micro_ask *,
                  struct micro_answer *);
/* Of tenants `charged` is 0 for what `lent` names.
   What was `taken` (as the take's answer says) for `charged` was really `actual`: gives back what has not
   drained, or charges more.  Nothing is given back before that time, which is also how a clock that was set back shows,
   or while somebody waits (a bucket over its top) or has a lease. */
void micro_settle(const struct micro_plan *, struct micro_state *, struct micro_log log[], uint64_t now, uint64_t taken,
                  const uint64_t charged[], const uint64_t actual[], struct micro_answer *);

/* The limit that holds slots; a negative number: none does. */
int micro_holder(const struct micro_plan *);

/* Receipts, "1763836800123456:1" or with a cost for each limit "...:1:250"; false: it is none.  taken: of a text with a
   concurrent limit the id, which is MICRO_ID_PARTS times the us and a part. */
size_t micro_receipt_write(uint64_t taken, const uint64_t charged[], unsigned count, char out[MICRO_RECEIPT_MAX]);
bool micro_receipt_read(const char *text, size_t size, uint64_t *taken, uint64_t charged[], unsigned *count);

/* ---- leases: permits that a node takes along (lease.c); only for a plan of one gcra limit, burst=16 or more ---- */

struct micro_lease {
    uint64_t permits;   /* 0: none now; of a return: as many as were still known to be out */
    uint64_t id;        /* its name for micro_return */
    uint64_t remaining; /* for others */
    uint64_t retry;     /* us until one permit passes; 0: now */
    uint64_t idle;      /* us since 1970 */
    bool changed;
};

bool micro_leases(const struct micro_plan *); /* may there be any? */
/* Up to `want` permits, to be spent within `lifetime` of when the request was sent: 1 us to MICRO_LIFETIME_MAX; of
   another one, or where there may be none, nothing. */
void micro_lease_take(const struct micro_plan *, struct micro_state *, uint64_t now, uint64_t want, uint64_t lifetime,
                      struct micro_lease *);
/* A lease of so many permits is over, and of them these were not spent.  Ignored once its time is over. */
void micro_lease_return(const struct micro_plan *, struct micro_state *, uint64_t now, uint64_t id, uint64_t permits,
                        uint64_t unused, struct micro_lease *);

#endif
