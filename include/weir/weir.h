/* weir.h - limits on rate.
   SPDX-License-Identifier: MIT

   Order of arguments: where, plan, key, now, cost.  Times end in _ns.  Asking cannot fail: it answers with a
   verdict.  Making can: it returns 0 or a negative WEIR_E* and fills a weir_error.  Every function is safe from any
   thread unless marked [one thread].  Every pointer argument is borrowed for the call unless marked owned. */
#ifndef WEIR_H
#define WEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sockaddr;

#define WEIR_VERSION "0.1.0"
#define WEIR_FOREVER UINT64_MAX /* as a wait: no bound */
#define WEIR_LIMITS_MAX 8       /* limits in one text */
#define WEIR_UNIT_SIZE 24       /* bytes of a unit's name, with its final NUL */

#if defined(__GNUC__) && !defined(WEIR_API)
#define WEIR_API __attribute__((visibility("default")))
#elif !defined(WEIR_API)
#define WEIR_API
#endif

/* ---- answers ---------------------------------------------------------------------------------------------- */

/* A time on CLOCK_MONOTONIC, in ns: comparable with std::chrono::steady_clock. */
typedef struct {
    uint64_t ns;
} weir_instant;

/* 0 is no answer, so a zeroed decision allows nothing. */
typedef enum { WEIR_ALLOW = 1, WEIR_DENY, WEIR_NEVER, WEIR_STOPPED } weir_verdict;

typedef struct {        /* 64 bytes, for ever */
    uint32_t verdict;   /* a weir_verdict */
    uint32_t limit;     /* index in the text: the limit that refused, that set the start, or else is tightest */
    weir_instant start; /* ALLOW: when it may start; how late that is, weir_due says */
    uint64_t delay_ns;  /* ALLOW: from the call to the start: sleep so long first; weir_take_wait has slept it */
    union {
        uint64_t retry_ns; /* DENY: the least wait after which this call alone would pass */
        weir_instant due;  /* ALLOW, of a limit with a schedule: the scheduled time of the first permit; else 0 */
    };
    uint64_t end;       /* end of its slot, in the limit's ticks: what settling needs */
    uint64_t remaining; /* further permits that would pass now without delay */
    uint64_t charged;   /* permits taken, of the first limit: what settling corrects; 0 once settled */
    uint64_t reserved;  /* weir's own */
} weir_decision;

static inline bool weir_allowed(weir_decision decision)
{
    return decision.verdict == WEIR_ALLOW;
}

enum {
    WEIR_EINVAL = -1,      /* an argument is wrong: message says which and what was expected */
    WEIR_ENOMEM = -2,      /* no memory */
    WEIR_ESYSTEM = -3,     /* the operating system refused; message has its words */
    WEIR_EVERSION = -4,    /* made by another version */
    WEIR_EMISMATCH = -5,   /* does not fit what is there */
    WEIR_EUNSUPPORTED = -6 /* known, but not possible here */
};

typedef struct {
    int code;          /* a WEIR_E* */
    int column;        /* counts from 1 in the text; 0 = not about text */
    char message[248]; /* what is wrong, what was expected, an example; no final full stop or newline */
} weir_error;

/* ---- plans: text to numbers, once ------------------------------------------------------------------------- */

/* Picks defaults only: gcra for admitting, hybrid for pacing.  The canonical text spells them out. */
typedef enum { WEIR_ADMIT, WEIR_PACE } weir_use;

/* Yours: no pointers inside, copy it freely, keep it in static memory. */
typedef struct {
    uint64_t opaque[256];
} weir_plan;

/* Reads "10/s burst=20; 1000/h".  0, or WEIR_EINVAL / WEIR_EUNSUPPORTED with the column.  error may be NULL. */
WEIR_API int weir_plan_parse(weir_plan *plan, const char *limits, weir_use use, weir_error *error);

/* Writes the canonical text, nothing implied, NUL-terminated and cut at size; returns the length needed. */
WEIR_API size_t weir_plan_text(const weir_plan *plan, char *out, size_t size);

/* Writes the words of `weir explain`, without the drawing; cut at size; returns the length needed. */
WEIR_API size_t weir_plan_explain(const weir_plan *plan, char *out, size_t size);

/* How many limits: 1 to WEIR_LIMITS_MAX. */
WEIR_API int weir_plan_limits(const weir_plan *plan);

/* The unit of one limit ("requests", "tokens", "bytes"); false when there is no such limit. */
WEIR_API bool weir_plan_unit(const weir_plan *plan, int limit, char out[WEIR_UNIT_SIZE]);

/* Of a decision by weir_decide: from its time until the limit it names holds all its permits again. */
WEIR_API uint64_t weir_full_ns(const weir_plan *plan, const weir_decision *decision);

/* ---- the pure core: no clock, no lock, no memory of its own ------------------------------------------------ */

/* Zeroed = fresh.  Enough for one limit by gcra; weir_state_size() says what a plan needs. */
typedef struct {
    uint64_t word[2];
} weir_state;

/* Bytes that one subject of this plan needs, a multiple of 8. */
WEIR_API size_t weir_state_size(const weir_plan *plan);

/* [one thread] per state.  May cost pass at now?  ALLOW with delay 0, DENY or NEVER; only ALLOW writes state. */
WEIR_API weir_decision weir_decide(const weir_plan *plan, void *state, weir_instant now, uint64_t cost);

/* [one thread] per state.  The same, but the start may lie up to wait_max_ns after now. */
WEIR_API weir_decision weir_decide_within(const weir_plan *plan, void *state, weir_instant now, uint64_t cost,
                                          uint64_t wait_max_ns);

/* [one thread] per state.  Corrects an allowed decision to what was really used, as weir_settle does. */
WEIR_API void weir_decide_settle(const weir_plan *plan, void *state, weir_instant now, weir_decision *decision,
                                 uint64_t actual);

/* ---- one limiter, many threads ------------------------------------------------------------------------------ */

typedef struct weir_limiter weir_limiter;

typedef enum { WEIR_CLOCK_SYSTEM, WEIR_CLOCK_COARSE, WEIR_CLOCK_TICKER, WEIR_CLOCK_MANUAL, WEIR_CLOCK_TSC } weir_clock;

typedef struct { /* WEIR_OPTIONS fills size; a zero field is its default */
    size_t size;
    weir_use use;
    weir_clock clock;  /* TSC: the processor's counter, within 5 us of SYSTEM, which it is where that cannot be */
    uint64_t grain_ns; /* a sleep lasts at least this long: late, never early; 0 = 50 us */
    uint64_t spin_ns;  /* spin for the last part of a wait; 0 = never */
    uint64_t tick_ns;  /* period of WEIR_CLOCK_TICKER, 1000 or more; 0 = 1 ms */
    uint64_t spin_processors; /* threads of the process that may spin at once; 0 = half of its processors */
} weir_options;

/* clang-format off */
#define WEIR_OPTIONS {sizeof(weir_options), WEIR_ADMIT, WEIR_CLOCK_SYSTEM, 0, 0, 0, 0}
/* clang-format on */

/* Opens a limiter, owned by you until weir_close.  options NULL = defaults.  A manual clock starts at 0 ns. */
WEIR_API int weir_open(weir_limiter **owned, const char *limits, const weir_options *options, weir_error *error);

/* Wakes every waiter; they and all later calls answer WEIR_STOPPED. */
WEIR_API void weir_stop(weir_limiter *limiter);

/* [one thread] Frees; call it after your threads have come back.  NULL is fine. */
WEIR_API void weir_close(weir_limiter *limiter);

/* Now or not: ALLOW with delay 0, DENY, NEVER.  Of a list of limits each is charged cost, or none is. */
WEIR_API weir_decision weir_take(weir_limiter *limiter, uint64_t cost);

/* The same at a time you already have: one clock reading may serve many calls. */
WEIR_API weir_decision weir_take_at(weir_limiter *limiter, weir_instant now, uint64_t cost);

/* As many permits as pass now, at least 1 and at most cost_max: see charged.  DENY when not even one passes. */
WEIR_API weir_decision weir_take_some(weir_limiter *limiter, uint64_t cost_max);

/* One cost for each limit of the text, all or nothing.  end (may be NULL) is filled for weir_settle_each.  Where
   weir_set_limit may bring more limits meanwhile, all arrays here and there have WEIR_LIMITS_MAX. */
WEIR_API weir_decision weir_take_each(weir_limiter *limiter, const uint64_t cost[], uint64_t end[]);

/* Takes now what starts up to delay_max_ns later; you sleep delay_ns.  Never blocks. */
WEIR_API weir_decision weir_reserve(weir_limiter *limiter, uint64_t cost, uint64_t delay_max_ns);

/* Sleeps until the start, and says in delay_ns for how long; answers DENY at once when that is over wait_max_ns away.
   Callers start in the order in which they came; but with WEIR_FOREVER a turn within grain_ns goes to whoever is awake,
   for one nap at most; where a limit cannot be taken ahead (windows), they come back when it passes, in no order; and
   who wakes so late that the pool has run over takes another start. */
WEIR_API weir_decision weir_take_wait(weir_limiter *limiter, uint64_t cost, uint64_t wait_max_ns);

/* Takes whatever the balance, for a cost known only afterwards; what is missing delays later calls.  ALLOW, or STOPPED;
   charged is less than cost where the limit says debt= and that much is owed already. */
WEIR_API weir_decision weir_charge(weir_limiter *limiter, uint64_t cost);

/* What weir_take would answer; takes nothing. */
WEIR_API weir_decision weir_peek(weir_limiter *limiter, uint64_t cost);

/* The same of one limit alone, for response headers; NEVER when there is no such limit. */
WEIR_API weir_decision weir_peek_limit(weir_limiter *limiter, int limit, uint64_t cost);

/* From the time of the decision until the limit it names holds all its permits again; after a change of limit, what is
   so now. */
WEIR_API uint64_t weir_limiter_full_ns(weir_limiter *limiter, const weir_decision *decision);

/* Charges or gives back the difference to what was really used; a second call does nothing.  Nothing either after a
   weir_take_each with different costs: that wants weir_settle_each.  While permits of a gcra limit are in leases,
   nothing is given back. */
WEIR_API void weir_settle(weir_limiter *limiter, weir_decision *decision, uint64_t actual);

/* The same for weir_take_each: cost and end as they were there, actual as it turned out, one for each limit.  Without
   end (NULL) rather less is given back. */
WEIR_API void weir_settle_each(weir_limiter *limiter, weir_decision *decision, const uint64_t cost[],
                               const uint64_t actual[], const uint64_t end[]);

/* The operation never ran: settles to 0. */
WEIR_API void weir_cancel(weir_limiter *limiter, weir_decision *decision);

/* What becomes of permits already used: kept as time, kept as permits, or forgotten. */
typedef enum { WEIR_KEEP, WEIR_SCALE, WEIR_RESET } weir_carry;

/* Changes the limit while in use.  Waiters keep their order and get the starts that the new limit gives them; a start
   that weir_reserve has promised stays as it is.  KEEP and SCALE need the same algorithms in the same order
   (WEIR_EUNSUPPORTED otherwise); RESET takes any.
   "pause" stops the limit's clock until the next call: waiters wait, calls are refused, nothing falls behind. */
WEIR_API int weir_set_limit(weir_limiter *limiter, const char *limits, weir_carry carry, weir_error *error);

/* Writes the canonical text of the limit in force, NUL-terminated and cut at size; returns the length needed. */
WEIR_API size_t weir_limit_text(weir_limiter *limiter, char *out, size_t size);

/* When the nth permit of this decision, from 1 on, was due by the rate alone (its scheduled time), whatever has been
   given up since: now - due is how late it is (its wait time), unless due is still to come.  Limits without a schedule
   (all but hybrid and timeline) answer with the start. */
WEIR_API weir_instant weir_due(const weir_limiter *limiter, const weir_decision *decision, uint64_t nth);

/* Drops permits from the schedule: they were due and are not going to be started.  What may start at once stays as it
   is; limits without a schedule stay as they are. */
WEIR_API void weir_skip(weir_limiter *limiter, uint64_t permits);

typedef struct {           /* since the limiter was opened */
    uint64_t calls;        /* decisions asked for */
    uint64_t granted;      /* permits given */
    uint64_t denied;       /* calls answered DENY or NEVER */
    uint64_t delayed;      /* calls granted that had to wait */
    uint64_t waiting_ns;   /* total of those delays; of weir_take_wait, how long its callers were held */
    uint64_t late_now_ns;  /* pacing: time that passed unused and is in no pool any more (nosqlbench: wait time) */
    uint64_t late_max_ns;  /* the most by which the first permit of a call was granted after it was due */
    uint64_t allocated_ns; /* pacing: schedule given to calls */
    uint64_t idle_ns;      /* pacing: schedule that catch-up never returns */
    uint64_t begun_ns;     /* when the first call was granted; 0: none was */
    uint64_t elapsed_ns;   /* since then, without pauses */
    uint64_t due;          /* pacing: permits due by the rate since then, the first one included */
    uint64_t missed;       /* of them, those that catch-up never returns: idle_ns in permits */
    uint64_t backlog;      /* and those that are still to be given */
    uint64_t ahead;        /* permits given, or skipped, before they are due */
} weir_stats;

/* Sums the counters into the first size bytes of stats. */
WEIR_API void weir_read_stats(weir_limiter *limiter, weir_stats *stats, size_t size);

/* ---- leases: the fast path, one per thread -------------------------------------------------------------------- */

/* Permits taken along, to be spent without a clock, a lock or a shared word.  Yours, a cache line, zeroed = closed;
   keep it where it lives as long as its thread (static _Thread_local, on the heap), or close it before it goes out of
   scope.  A child made by fork has an empty copy.  This layout is frozen: programs have the fast path inside. */
typedef struct {
    uint64_t left;     /* permits that may start now */
    uint64_t last_ns;  /* scheduled start of the last of them */
    uint64_t step;     /* from one start to the next, in 2^-16 ns */
    uint64_t end;      /* of the last one's slot, in the limit's ticks */
    uint64_t scale;    /* a permit is 2^scale ticks */
    uint64_t calls;    /* answered here since it was renewed; apart from left, or compilers write the two as one */
    uint64_t reserved; /* weir's own */
    void *inside;
} weir_lease;

/* [one thread] per lease, as all of these.  Opens it for the calling thread, whose end gives it back.  Every limit can
   be asked through a lease; gcra and hybrid, alone in their text, also give permits along, as many as were used in some
   microseconds and an eighth of what is there at most.  0, or WEIR_ENOMEM. */
WEIR_API int weir_lease_open(weir_lease *lease, weir_limiter *limiter, weir_error *error);

/* Gives back what was not spent.  Of a closed lease nothing happens. */
WEIR_API void weir_lease_close(weir_lease *lease);

/* The way to the limiter, when the lease does not hold so many: use the two functions below. */
WEIR_API weir_decision weir_lease_renew(weir_lease *lease, uint64_t cost);
WEIR_API weir_decision weir_lease_renew_wait(weir_lease *lease, uint64_t cost, uint64_t wait_max_ns);

static inline weir_decision weir_lease_spend(weir_lease *lease, uint64_t cost)
{
    weir_decision decision; /* every field below: no initializer is one in C and in C++ without a warning */
    const uint64_t left = lease->left - cost;
    lease->left = left;
    lease->calls++;
    decision.verdict = WEIR_ALLOW;
    decision.limit = 0;
    decision.start.ns = lease->last_ns - (left * lease->step >> 16);
    decision.delay_ns = 0;
    decision.retry_ns = 0;
    decision.end = lease->end - (left << lease->scale);
    decision.remaining = left;
    decision.charged = cost;
    decision.reserved = lease->reserved;
    return decision;
}

/* As weir_take.  A change and a stop of the limiter are met when the lease is used up.  remaining counts the lease's
   permits only; a refusal is exact for what is not in other threads' leases. */
static inline weir_decision weir_lease_take(weir_lease *lease, uint64_t cost)
{
    return cost - 1 < lease->left ? weir_lease_spend(lease, cost) : weir_lease_renew(lease, cost); /* 0 is asked too */
}

/* As weir_take_wait. */
static inline weir_decision weir_lease_take_wait(weir_lease *lease, uint64_t cost, uint64_t wait_max_ns)
{
    return cost - 1 < lease->left ? weir_lease_spend(lease, cost) : weir_lease_renew_wait(lease, cost, wait_max_ns);
}

/* ---- tables: a state for each key, memory fixed at the start, shared by processes ---------------------------- */

typedef struct weir_table weir_table;

/* What a new key gets where all slots it could have are in use.  INHERIT: the slot with the least debt, and that debt;
   it never admits too much.  EVICT: the same slot, fresh.  DENY: a refusal.  ALLOW: it passes, and leaves no trace. */
typedef enum { WEIR_FULL_INHERIT, WEIR_FULL_EVICT, WEIR_FULL_DENY, WEIR_FULL_ALLOW } weir_when_full;

/* Of a path: JOIN what is there, CREATE what is not, or either.  PRIVATE: not even children made by fork() share it. */
typedef enum { WEIR_JOIN_OR_CREATE, WEIR_JOIN, WEIR_CREATE, WEIR_PRIVATE } weir_sharing;

typedef struct { /* WEIR_TABLE_OPTIONS fills size; a zero field is its default */
    size_t size;
    uint64_t keys_max;    /* so many live keys, of which 1 in 1,000 may find the table full; 0 = 1,000,000 */
    const char *path;     /* a file that processes share and a restart keeps; NULL: shared with children of fork() */
    weir_sharing sharing; /* which of these */
    weir_when_full when_full;
    weir_clock clock;    /* SYSTEM or COARSE */
    unsigned mode;       /* of a new file: 0600 and further bits to read and write; 0 = 0600 */
    uint64_t longest_ns; /* no limit lasts longer from empty to full, debt= included; 0 = 32 days.  Shorter is finer */
    const weir_plan *plan; /* NULL: limits by gcra in 16-byte slots.  Else wide slots, as long as this plan needs */
    uint32_t top;          /* how many of the most refused keys weir_table_read_top can tell; 0 = none */
    uint64_t lock_wait_ns; /* wide slots in a file: waits so long for another process, then refuses; 0 = 50 ms */
} weir_table_options;

/* clang-format off */
#define WEIR_TABLE_OPTIONS {sizeof(weir_table_options), 0, NULL, WEIR_JOIN_OR_CREATE, WEIR_FULL_INHERIT, \
                            WEIR_CLOCK_SYSTEM, 0, 0, NULL, 0, 0}
/* clang-format on */

/* Opens a table, owned by you until weir_table_close.  options NULL = defaults. */
WEIR_API int weir_table_open(weir_table **owned, const weir_table_options *options, weir_error *error);

/* [one thread] Lets go of it; a file stays.  NULL is fine. */
WEIR_API void weir_table_close(weir_table *table);

/* Can this table hold this plan?  0, or WEIR_EUNSUPPORTED and why not; asking with such a plan answers NEVER, or where
   it is only too fast, slower than the plan says. */
WEIR_API int weir_table_fits(const weir_table *table, const weir_plan *plan, weir_error *error);

/* Borrowed for the call. */
typedef struct {
    const void *bytes;
    size_t size;
} weir_key;

#define WEIR_ADDRESS_KEY_SIZE 24

WEIR_API weir_key weir_key_text(const char *text);

/* An IPv4 or IPv6 address, cut to its first bits (0 = 32 and 64), whose bytes are written to out.  v4-in-v6 is v4.
   Another family: a key without bytes. */
WEIR_API weir_key weir_key_address(const struct sockaddr *address, int bits_v4, int bits_v6,
                                   unsigned char out[WEIR_ADDRESS_KEY_SIZE]);

/* As weir_take and its family, for one key.  A key has its own state for each limit of a plan; a plan with other
   numbers finds it again, and what was used stays the same time. */
WEIR_API weir_decision weir_table_take(weir_table *table, const weir_plan *plan, weir_key key, uint64_t cost);
WEIR_API weir_decision weir_table_take_at(weir_table *table, const weir_plan *plan, weir_key key, weir_instant now,
                                          uint64_t cost);
WEIR_API weir_decision weir_table_take_each(weir_table *table, const weir_plan *plan, weir_key key,
                                            const uint64_t cost[], uint64_t end[]);
WEIR_API weir_decision weir_table_reserve(weir_table *table, const weir_plan *plan, weir_key key, uint64_t cost,
                                          uint64_t delay_max_ns);
WEIR_API weir_decision weir_table_charge(weir_table *table, const weir_plan *plan, weir_key key, uint64_t cost);

/* What taking would answer; limit -1: of all limits, else of one alone. */
WEIR_API weir_decision weir_table_peek(weir_table *table, const weir_plan *plan, weir_key key, int limit,
                                       uint64_t cost);

/* From the time of a decision by this table until the limit it names holds all its permits again. */
WEIR_API uint64_t weir_table_full_ns(const weir_table *table, const weir_plan *plan, const weir_decision *decision);

/* Charges or gives back the difference to what was really used; a second call does nothing. */
WEIR_API void weir_table_settle(weir_table *table, const weir_plan *plan, weir_key key, weir_decision *decision,
                                uint64_t actual);
WEIR_API void weir_table_settle_each(weir_table *table, const weir_plan *plan, weir_key key, weir_decision *decision,
                                     const uint64_t cost[], const uint64_t actual[], const uint64_t end[]);

/* This key is fresh again, for all limits of the plan. */
WEIR_API void weir_table_forget(weir_table *table, const weir_plan *plan, weir_key key);

typedef struct {
    const weir_plan *plan;
    weir_key key;
    uint64_t cost;
    weir_decision decision; /* filled */
} weir_ask;

/* count independent answers, fast: the memory of all is fetched at once. */
WEIR_API void weir_table_take_batch(weir_table *table, weir_ask *asks, size_t count, weir_instant now);

/* Up to WEIR_ASKS_MAX different keys, each under its own plan (address and subnet and all): takes from all, or from
   none.  false: the decision of one that refused says so, and the others what they would have answered. */
#define WEIR_ASKS_MAX 16
WEIR_API bool weir_table_take_all(weir_table *table, weir_ask *asks, size_t count, weir_instant now);

/* Room for keys_max keys from now on, for all who share the table; keys move over when they are next asked for.  Up to
   seven times.  WEIR_EUNSUPPORTED with wide slots. */
WEIR_API int weir_table_grow(weir_table *table, uint64_t keys_max, weir_error *error);

typedef struct {
    uint64_t keys_live; /* keys that have used something and are not full again, by all who share it */
    uint64_t keys_max;  /* as many as it was made, or has grown, for */
    uint64_t bytes;     /* of memory, all in */
    uint64_t granted;   /* permits; this and the rest: through this handle, since it was opened */
    uint64_t denied;    /* calls answered DENY or NEVER */
    uint64_t reclaimed; /* keys that got an idle slot */
    uint64_t full;      /* new keys that found none */
    uint64_t displaced; /* keys that lost theirs to another (INHERIT, EVICT) */
    uint64_t moved;     /* keys that came over after growth */
    uint64_t stuck;     /* calls that were refused, or corrected nothing, for another process kept a lock */
} weir_table_stats;

/* Sums and counts into the first size bytes of stats; nobody waits for it. */
WEIR_API void weir_table_read_stats(weir_table *table, weir_table_stats *stats, size_t size);

#define WEIR_TOP_KEY_SIZE 112

typedef struct {
    uint64_t denied;   /* calls refused, at most */
    uint64_t over;     /* and at least denied - over */
    uint32_t key_size; /* of the whole key; more than WEIR_TOP_KEY_SIZE: it was cut */
    uint32_t limit;    /* that refused it last */
    unsigned char key[WEIR_TOP_KEY_SIZE];
} weir_top;

/* The most refused keys of this handle, the most refused first; returns how many, up to count and options.top. */
WEIR_API size_t weir_table_read_top(weir_table *table, weir_top *top, size_t count);

/* ---- time --------------------------------------------------------------------------------------------------- */

WEIR_API weir_instant weir_now(void);

/* Absolute, never early. */
WEIR_API void weir_sleep_until(weir_instant when);

/* WEIR_CLOCK_MANUAL: sets the limiter's time and wakes what became due; for tests and replay. */
WEIR_API void weir_manual_set(weir_limiter *limiter, weir_instant now);

WEIR_API const char *weir_version(void);

#ifdef __cplusplus
}
#endif
#endif
