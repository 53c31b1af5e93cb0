/* weir/redis.h - limits that many machines share: their state is in Redis or Valkey, the engine.
   SPDX-License-Identifier: MIT

   Link with -lweir-redis -lweir.  Each call is decided by its deadline: by the engine, by a lease of it or, while the
   engine is unavailable, by the limit's failure mode.  So making a request cannot fail.  One thread opens a handle,
   each other thread joins it; open it after fork.  Pointers are borrowed for the call; only what is named owned is
   yours to close.  The manual has ranges, errors and examples: weir_engine(3). */
#ifndef WEIR_REDIS_H
#define WEIR_REDIS_H

#include <weir/weir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_engine weir_engine;
typedef struct weir_engine_limit weir_engine_limit;

/* The failure mode: what decides while the engine is unavailable. */
typedef enum {
    WEIR_AWAY_DEFAULT, /* of a limit: as the engine's options say; of those: LOCAL */
    WEIR_AWAY_LOCAL,   /* local fallback: each node enforces its share, rate / nodes, burst max(1, burst / nodes); of a
                          text with a concurrent limit as CLOSED */
    WEIR_AWAY_OPEN,    /* fail open: every call is allowed */
    WEIR_AWAY_CLOSED   /* fail closed: every call is refused */
} weir_away;

typedef struct { /* begin with WEIR_ENGINE_OPTIONS, which sets size; 0 in any other field is its default */
    size_t size;
    uint64_t deadline_ns; /* for each call, or each batch; 0 = 20 ms */
    weir_away away;
    /* How many processes share the limits; 0 = counted by heartbeats of those that make a call once a second, known 7 s
       after the first one.  While the number is unknown LOCAL refuses every call. */
    unsigned nodes;
    const char *prefix;          /* of keys in the engine; NULL = "weir:" */
    const char *user, *password; /* instead of those in the URL */
    uint64_t keys_max;           /* of the local table, for LOCAL; 0 = 65,536 */
    /* Lifetime of leases for hot keys, 1 ms to an hour; 0 = no leases.  With them the handle also refuses such a key by
       itself until the engine's retry time: too long if another node returns permits meanwhile. */
    uint64_t lease_ns;
    /* Called when a server becomes unavailable or is back, by the thread that notices; why is one line.  away: any
       server is unavailable.  Also called, once a second at most, when something else is wrong, such as a foreign value
       under a key.  It must not call functions of this engine. */
    void (*changed)(void *context, bool away, const char *why);
    void *context;
} weir_engine_options;
/* clang-format off */
#define WEIR_ENGINE_OPTIONS {sizeof(weir_engine_options), 0, WEIR_AWAY_DEFAULT, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}
/* clang-format on */

/* URL: redis://[[user]:[password]@]host[:port][/db], rediss:// (if built with TLS), unix:///path[?db=n],
   redis+cluster://host:port[,host:port]..., redis+sentinel://host:port[,host:port].../name[/db].
   It blocks for name lookups, but not for the engine: one that is unavailable is no error, and is probed until it is
   back.  NULL options = defaults.  URL and options are copied. */
WEIR_API int weir_engine_open(weir_engine **owned, const char *url, const weir_engine_options *, weir_error *);
/* A handle for another thread; both share the topology, the servers' health and the counters.  Each handle is [one
   thread], except that join, limit_open, secret and read_stats may be called while another thread uses it. */
WEIR_API int weir_engine_join(weir_engine **owned, weir_engine *first, weir_error *);
/* Returns leases, within deadline_ns, and frees; the last handle closes what they share.  NULL is fine. */
WEIR_API void weir_engine_close(weir_engine *);

/* Parses a limit for all handles of this engine; WEIR_EUNSUPPORTED if an engine cannot keep it.  Never changed
   afterwards, so any thread may use it.  Close it after the last call that uses it. */
WEIR_API int weir_engine_limit_open(weir_engine_limit **owned, weir_engine *, const char *limits, weir_away,
                                    weir_error *);
WEIR_API void weir_engine_limit_close(weir_engine_limit *);
WEIR_API const weir_plan *weir_engine_limit_plan(const weir_engine_limit *); /* borrowed until the limit is closed */

WEIR_API weir_decision weir_engine_take(weir_engine *, const weir_engine_limit *, weir_key, uint64_t cost);
WEIR_API weir_decision weir_engine_peek(weir_engine *, const weir_engine_limit *, weir_key, uint64_t cost);
WEIR_API weir_decision weir_engine_charge(weir_engine *, const weir_engine_limit *, weir_key, uint64_t cost);
/* Charges or refunds the difference, once; nothing is refunded of a decision by a lease or the failure mode.  false:
   the engine did not confirm it, or the decision was refused or settled before. */
WEIR_API bool weir_engine_settle(weir_engine *, const weir_engine_limit *, weir_key, weir_decision *, uint64_t actual);
WEIR_API bool weir_engine_forget(weir_engine *, const weir_engine_limit *, weir_key); /* false: not confirmed */
/* Under a concurrent limit a decision's end is the id of the slots taken, which are held until they are released, or
   until a lease has passed since they were taken or renewed, by the engine's clock.  false: nothing is held under this
   id any more, or the engine did not confirm it; a WEIR_ASK_RENEW tells the two apart by its `from`. */
WEIR_API bool weir_engine_renew(weir_engine *, const weir_engine_limit *, weir_key, uint64_t id);
WEIR_API bool weir_engine_release(weir_engine *, const weir_engine_limit *, weir_key, uint64_t id);

/* What decided a request; AWAY is the failure mode. */
typedef enum { WEIR_FROM_ENGINE = 1, WEIR_FROM_LEASE, WEIR_FROM_AWAY } weir_from;
typedef enum {
    WEIR_ASK_TAKE,
    WEIR_ASK_PEEK,
    WEIR_ASK_CHARGE,
    WEIR_ASK_SETTLE,
    WEIR_ASK_FORGET,
    WEIR_ASK_SECRET, /* reads what weir_engine_secret returns; limit and key are ignored */
    WEIR_ASK_RENEW,
    WEIR_ASK_RELEASE
} weir_verb;
typedef struct {
    weir_verb verb;
    const weir_engine_limit *limit;
    weir_key key;
    const uint64_t *cost;   /* one, or one for each limit; NULL: 1 */
    unsigned costs;         /* how many; 0 with NULL */
    const uint64_t *actual; /* to settle: as many as costs */
    uint64_t taken;         /* to settle, renew or release: the decision's end */
    weir_decision decision; /* filled in; of these and of forget: its verdict is ALLOW if that was done */
    uint64_t full_ns;       /* filled in: until all permits are back; of a lease: at least until those spent are */
    weir_from from;         /* filled in; of a lease: remaining is what is left in it, and end is 0 */
} weir_engine_ask;
/* Sends n independent requests together (pipelining), and blocks until all are decided, deadline_ns at most.  With
   n = 0 it does not block: a thread that makes few requests may call it like this once a second, so that its node stays
   counted. */
WEIR_API void weir_engine_batch(weir_engine *, weir_engine_ask *, size_t n);

/* ---- the same in steps that never block, for an event loop or a simulated clock ---- */

/* Starts requests, each with its own deadline from now.  Its `from` is 0 until it is decided; until then the array, and
   what it points to, must not move.  At most WEIR_ENGINE_MAX may be in progress on a handle; the failure mode decides
   further ones at once, and they are counted as `crowded`. */
enum { WEIR_ENGINE_MAX = 4096 };
WEIR_API void weir_engine_begin(weir_engine *, weir_engine_ask *, size_t n, weir_instant now);

/* What to wait for before weir_engine_process.  Returns how many descriptors to watch, and fills in up to `most`;
   *wait_ns is the longest wait, WEIR_FOREVER if no request is in progress.  Any call on the handle may change the
   descriptors; a closed one is out of its epoll set already. */
typedef struct {
    int descriptor;
    bool reads, writes; /* wait until it is readable, writable */
} weir_engine_watch;
WEIR_API size_t weir_engine_events(weir_engine *, weir_instant now, weir_engine_watch *, size_t most,
                                   uint64_t *wait_ns);

/* Reads the replies that have arrived, then lets the failure mode decide requests whose deadline has passed.  A reply
   that comes later is discarded. */
WEIR_API void weir_engine_process(weir_engine *, weir_instant now);

/* Ends requests early: the failure mode decides those of this array, as given to weir_engine_begin, that are not
   decided. */
WEIR_API void weir_engine_finish(weir_engine *, weir_engine_ask *, size_t n, weir_instant now);

/* Probes unavailable servers, sends the heartbeat, keeps connections alive; never blocks.  Requests do that as well:
   call this once a second if the thread may make no request for a second or more. */
WEIR_API void weir_engine_tick(weir_engine *);

/* A random secret that all processes with this engine and prefix share, for signing what clients bring back.  This
   function makes no request: a WEIR_ASK_SECRET reads the secret, or creates it.  The text ends with a NUL, and is 64
   hexadecimal digits or what an operator stored under the key receipts:{PREFIX}.  Returns a number that changes with
   the text; 0: not read yet, and the text is "".  text may be NULL. */
enum { WEIR_ENGINE_SECRET_MAX = 256 };
WEIR_API uint64_t weir_engine_secret(weir_engine *, char text[WEIR_ENGINE_SECRET_MAX]);

/* Why the engine became unavailable: no connection, or it was lost; no reply in time; it refused; no server says where
   the keys are. */
typedef enum { WEIR_OUTAGE_CONNECTION, WEIR_OUTAGE_TIMEOUT, WEIR_OUTAGE_REFUSED, WEIR_OUTAGE_DISCOVERY } weir_outage;
enum { WEIR_OUTAGES = 4, WEIR_ENGINE_ROUND_TRIPS = 25 };

typedef struct {
    uint64_t calls, from_engine, from_lease, from_away; /* requests decided, and by what */
    uint64_t commands;                                  /* sent to servers */
    uint64_t connects;                                  /* connections begun */
    uint64_t late;                                      /* requests without a reply at their deadline */
    uint64_t redirected;                                /* MOVED and ASK replies */
    uint64_t outage_count;                              /* times it became unavailable */
    uint64_t leased, lease_unused;                      /* permits */
    uint64_t nodes;                                     /* as set or counted; 0: not known */
    uint64_t away;                                      /* 1: it is unavailable now */
    uint64_t round_trip_ns;                             /* moving average */
    uint64_t crowded;                                   /* requests beyond WEIR_ENGINE_MAX */
    uint64_t outages[WEIR_OUTAGES];                     /* the same, by cause */
    uint64_t round_trips[WEIR_ENGINE_ROUND_TRIPS];      /* replies; [i]: in less than 2^(10 + i) ns; the last: others */
    uint64_t round_trip_sum_ns;                         /* from sending to the reply */
    uint64_t away_full;                                 /* new keys that found the local table full */
    uint64_t foreign; /* decided by the failure mode, since the key holds something else than weir's state */
} weir_engine_stats;
/* Over all joined handles; size: of *stats. */
WEIR_API void weir_engine_read_stats(weir_engine *, weir_engine_stats *, size_t size);

/* Loads weir's functions into every primary; before Redis 7.0 scripts are used instead.  Calls line, which may be NULL,
   with one line of text at a time.  Both of these block, and return WEIR_ESYSTEM if something is wrong. */
WEIR_API int weir_engine_install(weir_engine *, void (*line)(void *context, const char *text), void *context,
                                 weir_error *);
/* Inspects every server: reachable, version, role, rights, functions or module. */
WEIR_API int weir_engine_check(weir_engine *, void (*line)(void *context, const char *text), void *context,
                               weir_error *);

#ifdef __cplusplus
}
#endif
#endif
