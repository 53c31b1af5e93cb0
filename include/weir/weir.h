/* A rate limiter: may this operation start now, and if not, when?
   SPDX-License-Identifier: MIT

   A program that admits 20 requests at once and then 10 a second (link it with -lweir):

       #include <stdio.h>
       #include <weir/weir.h>

       int main(void)
       {
           weir_limiter *limiter;
           weir_error error;
           if (weir_open(&limiter, "10/s burst=20", NULL, &error) != 0) {
               fprintf(stderr, "column %d: %s\n", error.column, error.message);
               return 1;
           }
           weir_decision decision = weir_take(limiter, 1);
           if (weir_allowed(decision)) printf("200 OK\n");
           else printf("429, Retry-After: %llu\n", (unsigned long long)(decision.retry_ns / 1000000000 + 1));
           weir_close(limiter);
       }

   To limit each client, open a table and call weir_table_take with the client's address as the key.
   To pace work instead, open the limiter with options.use = WEIR_PACE; any number of threads may then run
       while (weir_allowed(weir_take_wait(limiter, 1, WEIR_FOREVER))) start_the_next_operation();

   Names in _ns are nanoseconds.  A function that can fail returns 0 or a negative WEIR_E* and then fills error, which
   may be NULL.  One that writes text ends it with a NUL, cuts it at size and returns its whole length.  Pointers are
   borrowed for the call; only what is named owned is yours to close.  Functions are safe from any thread unless marked
   [one thread].  The manual has ranges, errors, examples and sources: weir_limiter(3), weir_table(3), weir_plan(3). */
#ifndef WEIR_H
#define WEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifndef WEIR_API
#define WEIR_API __attribute__((visibility("default")))
#endif

#define WEIR_VERSION "1.0.0"
#define WEIR_VERSION_NUMBER 1000000      /* for #if: major * 1000000 + minor * 1000 + patch */
WEIR_API const char *weir_version(void); /* of the library in use; WEIR_VERSION is the header's */
#define WEIR_FOREVER UINT64_MAX          /* no bound */
#define WEIR_LIMITS_MAX 8                /* limits in one plan */
#define WEIR_UNIT_SIZE 24                /* bytes of a unit's name, with its NUL */

/* Valid, but not possible here; the file does not fit; another version's; the system refused; no memory; invalid. */
enum { WEIR_EUNSUPPORTED = -6, WEIR_EMISMATCH, WEIR_EVERSION, WEIR_ESYSTEM, WEIR_ENOMEM, WEIR_EINVAL };
typedef struct {
    int code;          /* a WEIR_E* */
    int column;        /* where the limit string is wrong, from 1; 0: the error is not in it */
    char message[248]; /* what is wrong, what was expected, an example; without a newline */
} weir_error;

/* ---- plans: a limit string, parsed once ---- */

typedef struct { /* your memory, without pointers: copy it freely, share it read-only */
    uint64_t opaque[256];
} weir_plan;
typedef enum { WEIR_ADMIT, WEIR_PACE } weir_use; /* the default algorithm: gcra to admit, hybrid to pace */

/* Parses "10/s burst=20; 1000/h", see weir-limit(7).  On WEIR_EINVAL or WEIR_EUNSUPPORTED the plan is unchanged. */
WEIR_API int weir_plan_parse(weir_plan *plan, const char *limits, weir_use use, weir_error *error);
WEIR_API size_t weir_plan_text(const weir_plan *plan, char *out, size_t size);    /* with all defaults written out */
WEIR_API size_t weir_plan_explain(const weir_plan *plan, char *out, size_t size); /* as `weir explain` prints it */
WEIR_API int weir_plan_limits(const weir_plan *plan);                             /* 1 to WEIR_LIMITS_MAX */
/* The unit of limit 0, 1 and so on ("requests", "tokens"); false if there is no such limit. */
WEIR_API bool weir_plan_unit(const weir_plan *plan, int limit, char out[WEIR_UNIT_SIZE]);
WEIR_API uint64_t weir_plan_lease_ns(const weir_plan *plan); /* of its concurrent limit; 0: it has none */
/* 0 if what these tenants are guaranteed is within each rate of their parent, in total, and all of them have a weight
   or none; else the error says the sum, and which of them makes it larger, or differs from the others.  A parent that
   has a parent needs a guaranteed limit of its own. */
WEIR_API int weir_plan_check_tenants(const weir_plan *parent, const weir_plan *const tenants[], size_t count,
                                     weir_error *error);

/* ---- decisions: what a take returns ---- */

typedef struct {
    uint64_t ns; /* on CLOCK_MONOTONIC, as in std::chrono::steady_clock */
} weir_instant;
WEIR_API weir_instant weir_now(void);
WEIR_API void weir_sleep_until(weir_instant when); /* never returns early */

/* DENY: not now.  NEVER: this cost can never pass.  STOPPED: see weir_stop.  0 is no verdict, and allows nothing. */
typedef enum { WEIR_ALLOW = 1, WEIR_DENY, WEIR_NEVER, WEIR_STOPPED } weir_verdict;
typedef struct {        /* 64 bytes; this layout is frozen */
    uint32_t verdict;   /* a weir_verdict */
    uint32_t limit;     /* index of the limit that refused, that set the start, or else that has the least remaining */
    weir_instant start; /* ALLOW: when the operation may start */
    uint64_t delay_ns;  /* ALLOW: from the call to start.  Sleep for it, unless weir_take_wait already has */
    union {
        uint64_t retry_ns; /* DENY: this call would pass after this wait and no sooner, if no other call comes first */
        weir_instant due;  /* ALLOW, of a limit with a schedule: weir_due of the first permit; else 0 */
    };
    uint64_t end;       /* needed to settle; under a concurrent limit the id of the slots taken, to renew and release */
    uint64_t remaining; /* further permits available now */
    uint64_t charged;   /* permits taken from the first limit; 0 once settled */
    uint64_t reserved;  /* internal */
} weir_decision;
static inline bool weir_allowed(weir_decision decision)
{
    return decision.verdict == WEIR_ALLOW;
}
/* HTTP headers for a client, "NAME: VALUE\r\n": RateLimit-Policy and RateLimit of the limit that the decision names
   and, if it refused, Retry-After.  full_ns: of weir_full_ns. */
WEIR_API size_t weir_plan_headers(const weir_plan *plan, const weir_decision *decision, uint64_t full_ns, char *out,
                                  size_t size);

/* ---- taking permits: the same functions for each of the three places where a limit may keep its state ----

   weir_decide(plan, state, now, cost)      your own memory and clock, without locks [one thread per state]
   weir_take(limiter, cost)                 a limiter, shared by the threads of a process
   weir_table_take(table, plan, key, cost)  a table with a state for each key, shared by threads and processes

   take       takes cost permits if they are available now, and else none: ALLOW with delay 0, DENY or NEVER.
   take_at    does so at a time that you have read already, so that one reading of the clock serves many calls.
   take_some  takes as many permits as are available now, from 1 to cost_max; charged says how many.
   take_each  takes cost[i] from limit i, and fills end[i] for settle_each (end may be NULL).  Where weir_set_limit may
              add limits meanwhile, each array needs WEIR_LIMITS_MAX elements.
   take_wait  sleeps until start; returns DENY at once if that is more than wait_max_ns away.  For slots of a concurrent
              limit it waits in turn, up to wait_max_ns: a release wakes the first in line.  Threads start in the order
              of their calls, with the exceptions in weir_limiter(3).  take_each_wait: with a cost for each limit.
   reserve    takes permits that become available within delay_max_ns.  It never blocks: you sleep until start.
              Slots of a concurrent limit can only be had now.  reserve_each: with a cost for each limit.
   charge     takes in any case, for a cost that is known only afterwards.  Missing permits become a debt that delays
              later calls; a limit with debt=N lets at most N be owed, and charged says how many were taken.
   peek       returns what take would return, and takes nothing; of one limit too, for response headers.
   full_ns    returns the time from a decision until its limit has all permits again: the reset of response headers.
   settle     charges or refunds the difference to the actual cost; it works once per decision.

   renew      moves the end of the slots with this id to a lease from now; release ends them now.  false: they are not
              held any more (the lease was over, or they were released), and nothing is done.  A concurrent limit only.

   A cost is in permits, the unit of the limit; 0 takes nothing.  Of several limits each is charged, or none is. */

typedef struct { /* enough for one gcra limit; zeroed = all permits available */
    uint64_t word[2];
} weir_state;
WEIR_API size_t weir_state_size(const weir_plan *plan); /* bytes that the state of a plan needs, a multiple of 8 */
WEIR_API weir_decision weir_decide(const weir_plan *plan, void *state, weir_instant now, uint64_t cost);
WEIR_API weir_decision weir_decide_within(const weir_plan *plan, void *state, weir_instant now, uint64_t cost,
                                          uint64_t wait_max_ns); /* as reserve */
WEIR_API uint64_t weir_decide_full_ns(const weir_plan *plan, const weir_decision *decision);
WEIR_API void weir_decide_settle(const weir_plan *plan, void *state, weir_instant now, weir_decision *decision,
                                 uint64_t actual);
WEIR_API bool weir_decide_renew(const weir_plan *plan, void *state, weir_instant now, uint64_t id);
WEIR_API bool weir_decide_release(const weir_plan *plan, void *state, weir_instant now, uint64_t id);

/* ---- limiters: one state for all threads ---- */

/* SYSTEM: CLOCK_MONOTONIC.  COARSE: cheaper, some ms behind.  TICKER: a thread that reads SYSTEM every tick_ns.
   MANUAL: 0 ns until weir_manual_set.  TSC: the CPU's time-stamp counter, within 5 us of SYSTEM; falls back to SYSTEM
   where the CPU or the kernel has no reliable one. */
typedef enum { WEIR_CLOCK_SYSTEM, WEIR_CLOCK_COARSE, WEIR_CLOCK_TICKER, WEIR_CLOCK_MANUAL, WEIR_CLOCK_TSC } weir_clock;
typedef struct { /* begin with WEIR_OPTIONS, which sets size; 0 in any other field is its default */
    size_t size;
    weir_use use;
    weir_clock clock;
    uint64_t min_sleep_ns;    /* the shortest sleep: a thread may wake so late, but never early; 0 = up to 50 us */
    uint64_t spin_ns;         /* spin instead of sleeping for the last part of a wait; 0 = never */
    uint64_t tick_ns;         /* period of WEIR_CLOCK_TICKER, 1000 or more; 0 = 1 ms */
    uint64_t spin_processors; /* threads of the process that may spin at once; 0 = half of its processors */
} weir_options;
/* clang-format off */
#define WEIR_OPTIONS {sizeof(weir_options), WEIR_ADMIT, WEIR_CLOCK_SYSTEM, 0, 0, 0, 0}
/* clang-format on */
typedef struct weir_limiter weir_limiter;
WEIR_API int weir_open(weir_limiter **owned, const char *limits, const weir_options *options, weir_error *error);
WEIR_API void weir_stop(weir_limiter *limiter);  /* wakes waiting threads; they and all later calls return STOPPED */
WEIR_API void weir_close(weir_limiter *limiter); /* [one thread] after all other calls have returned; NULL is fine */
WEIR_API void weir_manual_set(weir_limiter *limiter, weir_instant now); /* WEIR_CLOCK_MANUAL; wakes due threads */

WEIR_API weir_decision weir_take(weir_limiter *limiter, uint64_t cost);
WEIR_API weir_decision weir_take_at(weir_limiter *limiter, weir_instant now, uint64_t cost);
WEIR_API weir_decision weir_take_some(weir_limiter *limiter, uint64_t cost_max);
WEIR_API weir_decision weir_take_each(weir_limiter *limiter, const uint64_t cost[], uint64_t end[]);
WEIR_API weir_decision weir_take_wait(weir_limiter *limiter, uint64_t cost, uint64_t wait_max_ns);
WEIR_API weir_decision weir_take_each_wait(weir_limiter *limiter, const uint64_t cost[], uint64_t end[],
                                           uint64_t wait_max_ns);
WEIR_API weir_decision weir_reserve(weir_limiter *limiter, uint64_t cost, uint64_t delay_max_ns);
WEIR_API weir_decision weir_reserve_each(weir_limiter *limiter, const uint64_t cost[], uint64_t end[],
                                         uint64_t delay_max_ns);
WEIR_API weir_decision weir_charge(weir_limiter *limiter, uint64_t cost);
WEIR_API weir_decision weir_peek(weir_limiter *limiter, uint64_t cost);
WEIR_API weir_decision weir_peek_limit(weir_limiter *limiter, int limit, uint64_t cost); /* NEVER: no such limit */
WEIR_API uint64_t weir_full_ns(weir_limiter *limiter, const weir_decision *decision);

/* weir_settle(3) says when less is refunded.  each: as weir_take_each, with its cost and end.  cancel: actual is 0. */
WEIR_API void weir_settle(weir_limiter *limiter, weir_decision *decision, uint64_t actual);
WEIR_API void weir_settle_each(weir_limiter *limiter, weir_decision *decision, const uint64_t cost[],
                               const uint64_t actual[], const uint64_t end[]);
WEIR_API void weir_cancel(weir_limiter *limiter, weir_decision *decision);
WEIR_API bool weir_renew(weir_limiter *limiter, uint64_t id);
WEIR_API bool weir_release(weir_limiter *limiter, uint64_t id);

/* What is kept of used permits: KEEP the time until they are back, SCALE their number, RESET nothing. */
typedef enum { WEIR_KEEP, WEIR_SCALE, WEIR_RESET } weir_carry;
/* Changes the limit while in use.  Waiting threads keep their order and get new starts; reserved starts stay.
   KEEP and SCALE return WEIR_EUNSUPPORTED unless the algorithms are the same, in the same order.  "pause" instead of
   limits stops the limiter's clock until the next change: waiting threads go on waiting, other calls are refused. */
WEIR_API int weir_set_limit(weir_limiter *limiter, const char *limits, weir_carry carry, weir_error *error);
WEIR_API size_t weir_limit_text(weir_limiter *limiter, char *out, size_t size); /* the limit in force */

/* The scheduled time of the nth permit of a decision, from 1: when it was due by the rate alone.  Its operation is
   late by now - due.  Limits without a schedule (all but hybrid and timeline) return start. */
WEIR_API weir_instant weir_due(const weir_limiter *limiter, const weir_decision *decision, uint64_t nth);
WEIR_API void weir_skip(weir_limiter *limiter, uint64_t permits); /* drops due permits that will not be started */

typedef struct {           /* since the limiter was opened; (s): of limits with a schedule */
    uint64_t calls;        /* calls decided */
    uint64_t granted;      /* permits taken */
    uint64_t denied;       /* calls that returned DENY or NEVER */
    uint64_t delayed;      /* calls allowed with a delay */
    uint64_t waiting_ns;   /* total of these delays; for weir_take_wait, how long it blocked */
    uint64_t late_now_ns;  /* (s) time that passed unused and that no pool holds any more (nosqlbench: wait time) */
    uint64_t late_max_ns;  /* the most by which the first permit of a call was granted after it was due */
    uint64_t allocated_ns; /* (s) time of the schedule given to calls */
    uint64_t idle_ns;      /* (s) time of the schedule that catching up never returns */
    uint64_t begun_ns;     /* when the first call was allowed; 0: none was */
    uint64_t elapsed_ns;   /* since then, without pauses */
    uint64_t due;          /* (s) permits due by the rate since then = granted + skipped - ahead + missed + backlog */
    uint64_t missed;       /* (s) of them, those that catching up never returns */
    uint64_t backlog;      /* (s) of them, those still to be granted */
    uint64_t ahead;        /* (s) permits granted or skipped before they were due */
} weir_stats;
WEIR_API void weir_read_stats(weir_limiter *limiter, weir_stats *stats, size_t size); /* size: of *stats */

/* ---- latency: how long operations take ----

   done       the operation of an allowed decision has ended: records its response time, from due to now, and its
              service time, from start to now.  An operation that waited for its turn has a response time that says so;
              a service time omits the wait (coordinated omission).
   done_at    the same in times that you know better: of the nth permit of a decision (weir_due), or of the moment at
              which it really started.
   read_*     reads what was recorded since the limiter was opened.

   Times are counted in HdrHistogram's buckets with three significant digits: a percentile is never below the true one,
   and at most 0.1 % above it.  Memory is allocated by the first weir_done; without any, nothing is recorded. */

typedef struct {
    uint64_t count;    /* operations */
    uint64_t total_ns; /* of all; total_ns / count is the mean */
    uint64_t min_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns;
} weir_times;
typedef struct {
    weir_times response, service;
} weir_latency;
typedef enum { WEIR_RESPONSE, WEIR_SERVICE } weir_measure;
typedef struct {
    uint64_t most_ns; /* the longest time that falls into this bucket */
    uint64_t count;
} weir_bucket;
WEIR_API void weir_done(weir_limiter *limiter, const weir_decision *decision);
WEIR_API void weir_done_at(weir_limiter *limiter, weir_instant due, weir_instant start, weir_instant now);
WEIR_API void weir_read_latency(weir_limiter *limiter, weir_latency *latency, size_t size); /* size: of *latency */
/* The buckets that are not empty, the shortest first: for other percentiles, and for hdr_record_values of HdrHistogram,
   which keeps them as they are.  Returns how many there are, of which up to count are written. */
WEIR_API size_t weir_read_buckets(weir_limiter *limiter, weir_measure measure, weir_bucket *buckets, size_t count);

/* ---- leases: to take millions of times a second ----

   A lease holds some permits of a limiter for one thread.  Taking one is a subtraction in the thread's own memory,
   compiled into the caller: no clock, no lock, nothing shared.  When too few are left, the call goes to the limiter,
   which refills the lease with what the thread uses in a few microseconds.  The limit itself holds as before; but
   - a thread notices a change of limit, or a stop, only at the next refill;
   - permits in a lease are not available to others, and remaining counts those in this lease alone;
   - only hybrid as the only limit, gcra, and lists of gcra fill leases; with others each call goes to the limiter.
   A lease is your memory, for [one thread]; zeroed is closed.  Do not move it while it is open.  It is closed when its
   thread ends, so it must live until then (static _Thread_local, or the heap) or be closed before.  In a child made by
   fork it is closed. */
typedef struct weir_lease weir_lease; /* 64 bytes */
WEIR_API int weir_lease_open(weir_lease *lease, weir_limiter *limiter, weir_error *error);
WEIR_API void weir_lease_close(weir_lease *lease); /* returns unused permits; a closed one is fine */
static inline weir_decision weir_lease_take(weir_lease *lease, uint64_t cost);
static inline weir_decision weir_lease_take_wait(weir_lease *lease, uint64_t cost, uint64_t wait_max_ns);
/* The same two, not inline: for refills, and for languages that cannot inline C. */
WEIR_API weir_decision weir_lease_renew(weir_lease *lease, uint64_t cost);
WEIR_API weir_decision weir_lease_renew_wait(weir_lease *lease, uint64_t cost, uint64_t wait_max_ns);
#include <weir/lease.h> /* the struct and the inline functions */

/* ---- tables: a state for each key, in memory of a fixed size ---- */

/* What a new key gets when every slot open to it is in use.  INHERIT: the one with the least debt, and that debt, so
   no key gets too much.  EVICT: the same slot, emptied.  DENY: a refusal.  ALLOW: it passes uncounted. */
typedef enum { WEIR_FULL_INHERIT, WEIR_FULL_EVICT, WEIR_FULL_DENY, WEIR_FULL_ALLOW } weir_when_full;
/* JOIN the file that exists, CREATE one, or either.  PRIVATE: not even shared with children made by fork. */
typedef enum { WEIR_JOIN_OR_CREATE, WEIR_JOIN, WEIR_CREATE, WEIR_PRIVATE } weir_sharing;
typedef struct { /* begin with WEIR_TABLE_OPTIONS, which sets size; 0 in any other field is its default */
    size_t size;
    uint64_t keys_max; /* keys in use; with so many, fewer than 1 in 1,000 new ones find no slot; 0 = 1,000,000 */
    const char *path;  /* a file that processes share and a restart keeps; NULL: shared with children made by fork */
    weir_sharing sharing;
    weir_when_full when_full;
    weir_clock clock;       /* SYSTEM or COARSE */
    unsigned mode;          /* permissions of a new file: 0600, and others to read and write; 0 = 0600 */
    uint64_t refill_max_ns; /* the longest refill of a limit, debt= included; more makes time coarser; 0 = 32 days */
    const weir_plan *plan;  /* NULL: 16-byte slots, for gcra only.  Else wide slots, as large as this plan's state */
    uint32_t top;           /* how many of the most refused keys to track; 0 = none */
    uint64_t lock_wait_ns;  /* wide slots in a file: how long to wait for another process's lock; 0 = 50 ms */
    bool holds_for_others;  /* what this process holds under a concurrent limit stays held when it ends, see renew */
} weir_table_options;
/* clang-format off */
#define WEIR_TABLE_OPTIONS {sizeof(weir_table_options), 0, NULL, WEIR_JOIN_OR_CREATE, WEIR_FULL_INHERIT, \
                            WEIR_CLOCK_SYSTEM, 0, 0, NULL, 0, 0, false}
/* clang-format on */
typedef struct weir_table weir_table;
WEIR_API int weir_table_open(weir_table **owned, const weir_table_options *options, weir_error *error);
WEIR_API void weir_table_close(weir_table *table); /* [one thread] a file stays; NULL is fine */
WEIR_API int weir_table_grow(weir_table *table, uint64_t keys_max, weir_error *error); /* while it is in use */
/* 0 if this table can enforce the plan, else WEIR_EUNSUPPORTED.  A take with a plan that does not fit returns NEVER;
   if the plan is only too fast for the table's unit of time, it is enforced at a lower rate than it states. */
WEIR_API int weir_table_fits(const weir_table *table, const weir_plan *plan, weir_error *error);

typedef struct { /* borrowed for the call */
    const void *bytes;
    size_t size;
} weir_key;
WEIR_API weir_key weir_key_text(const char *text);
#define WEIR_ADDRESS_KEY_SIZE 24
struct sockaddr; /* IPv4 or IPv6, cut to its first bits (0: 32 and 64) in out; of another family, no bytes */
WEIR_API weir_key weir_key_address(const struct sockaddr *address, int bits_v4, int bits_v6,
                                   unsigned char out[WEIR_ADDRESS_KEY_SIZE]);

/* A key has a state for each limit of a plan; under a plan with other numbers its used permits stay, as time. */
WEIR_API weir_decision weir_table_take(weir_table *table, const weir_plan *plan, weir_key key, uint64_t cost);
WEIR_API weir_decision weir_table_take_at(weir_table *table, const weir_plan *plan, weir_key key, weir_instant now,
                                          uint64_t cost);
/* In a loop: prefetch begins to fetch what a take of this key will need, and returns a word for take_prefetched, a few
   calls later, with the same table, plan and key: it finds the memory there, and does not hash the key again. */
WEIR_API uint64_t weir_table_prefetch(const weir_table *table, const weir_plan *plan, weir_key key);
WEIR_API weir_decision weir_table_take_prefetched(weir_table *table, const weir_plan *plan, weir_key key, uint64_t word,
                                                  weir_instant now, uint64_t cost);
WEIR_API weir_decision weir_table_take_each(weir_table *table, const weir_plan *plan, weir_key key,
                                            const uint64_t cost[], uint64_t end[]);
/* Where a start can be reserved, threads of all processes start in the order of their calls.  For slots of a concurrent
   limit those of one process do; a release by any process wakes them.  There is no stop: see weir_table(3). */
WEIR_API weir_decision weir_table_take_wait(weir_table *table, const weir_plan *plan, weir_key key, uint64_t cost,
                                            uint64_t wait_max_ns);
WEIR_API weir_decision weir_table_take_each_wait(weir_table *table, const weir_plan *plan, weir_key key,
                                                 const uint64_t cost[], uint64_t end[], uint64_t wait_max_ns);
WEIR_API weir_decision weir_table_reserve(weir_table *table, const weir_plan *plan, weir_key key, uint64_t cost,
                                          uint64_t delay_max_ns);
WEIR_API weir_decision weir_table_reserve_each(weir_table *table, const weir_plan *plan, weir_key key,
                                               const uint64_t cost[], uint64_t end[], uint64_t delay_max_ns);
WEIR_API weir_decision weir_table_charge(weir_table *table, const weir_plan *plan, weir_key key, uint64_t cost);
WEIR_API weir_decision weir_table_peek(weir_table *table, const weir_plan *plan, weir_key key, int limit,
                                       uint64_t cost); /* limit: an index, or -1 for all */
WEIR_API uint64_t weir_table_full_ns(const weir_table *table, const weir_plan *plan, const weir_decision *decision);
WEIR_API void weir_table_settle(weir_table *table, const weir_plan *plan, weir_key key, weir_decision *decision,
                                uint64_t actual);
WEIR_API void weir_table_settle_each(weir_table *table, const weir_plan *plan, weir_key key, weir_decision *decision,
                                     const uint64_t cost[], const uint64_t actual[], const uint64_t end[]);
/* On one machine slots in a file are free as soon as the process that took them has ended, or has closed the table. */
WEIR_API bool weir_table_renew(weir_table *table, const weir_plan *plan, weir_key key, uint64_t id);
WEIR_API bool weir_table_release(weir_table *table, const weir_plan *plan, weir_key key, uint64_t id);
WEIR_API void weir_table_forget(weir_table *table, const weir_plan *plan, weir_key key); /* all permits are back */

typedef struct {
    const weir_plan *plan;
    weir_key key;
    uint64_t cost;
    weir_decision decision; /* filled in */
} weir_ask;
#define WEIR_ASKS_MAX 16 /* of weir_table_take_all */
/* batch: independent takes, several times as fast as one by one.  all: different keys, each under its own plan (client
   and network, say): takes from all of them, or from none and returns false; then some decision is a refusal.
   Tenants: ask from the tenant up to the parent.  A limit marked guaranteed, before the last ask, stands for all limits
   of the asks behind it: where it has room those are charged whatever they have, and else the call borrows. */
WEIR_API void weir_table_take_batch(weir_table *table, weir_ask *asks, size_t count, weir_instant now);
WEIR_API bool weir_table_take_all(weir_table *table, weir_ask *asks, size_t count, weir_instant now);
static inline bool weir_borrowed(const weir_decision *decision)
{ /* it took, but not from the guaranteed limit */
    return (decision->reserved >> 34 & 1) != 0;
}

typedef struct {        /* from granted on: through this handle, since it was opened */
    uint64_t keys_live; /* keys that have used permits and are not full again */
    uint64_t keys_max;  /* as opened, or grown */
    uint64_t bytes;     /* of memory, in total */
    uint64_t granted;   /* permits taken */
    uint64_t denied;    /* calls that returned DENY or NEVER */
    uint64_t reclaimed; /* new keys that got an idle slot */
    uint64_t full;      /* new keys that found none */
    uint64_t displaced; /* keys that lost theirs to another (INHERIT, EVICT) */
    uint64_t moved;     /* keys moved to new slots after growth */
    uint64_t stuck;     /* calls refused, or not settled, because another process kept a lock */
} weir_table_stats;
WEIR_API void weir_table_read_stats(weir_table *table, weir_table_stats *stats, size_t size); /* size: of *stats */

#define WEIR_TOP_KEY_SIZE 112
typedef struct {
    uint64_t denied;   /* calls refused, at most; at least denied - over */
    uint64_t over;     /* the uncertainty of denied */
    uint32_t key_size; /* of the whole key; above WEIR_TOP_KEY_SIZE it was cut */
    uint32_t limit;    /* index of the limit that refused it last */
    unsigned char key[WEIR_TOP_KEY_SIZE];
} weir_top;
/* The most refused keys of this handle, the most refused first; returns how many, up to count and options.top. */
WEIR_API size_t weir_table_read_top(weir_table *table, weir_top *top, size_t count);

#ifdef __cplusplus
}
#endif
#endif
