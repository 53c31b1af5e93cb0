/* weir/redis.h - one limit for many servers: its state is in Redis or Valkey.  Link with -lweir-redis.
   SPDX-License-Identifier: MIT

   Every answer comes within the deadline: from the engine, from a lease of it, or, when the engine is away, as the
   limit says.  Times end in _ns.  Asking cannot fail.  Several threads: one opens, each other one joins. */
#ifndef WEIR_REDIS_H
#define WEIR_REDIS_H

#include <weir/weir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_engine weir_engine;
typedef struct weir_engine_limit weir_engine_limit;

/* What answers while the engine does not. */
typedef enum {
    WEIR_AWAY_DEFAULT, /* of a limit: as the engine's options say; of those: LOCAL */
    WEIR_AWAY_LOCAL,   /* each node lets pass its share: rate / nodes, beginning with max(1, burst / nodes) */
    WEIR_AWAY_OPEN,    /* everything passes */
    WEIR_AWAY_CLOSED   /* nothing passes */
} weir_away;

/* A zero field is its default. */
typedef struct {
    size_t size;
    uint64_t deadline_ns; /* for each call, or each batch; default 20 ms */
    weir_away away;
    /* How many share the limits; 0: by heartbeats of who asks or ticks at least every 4 s, known 7 s after the first.
       While it is not known LOCAL lets nothing pass. */
    unsigned nodes;
    const char *prefix;          /* of keys in the engine; default "weir:" */
    const char *user, *password; /* instead of the URL's */
    uint64_t keys_max;           /* of the local table while away; default 65,536 */
    /* Lifetime of leases for busy keys, 1 ms to an hour; 0: none.  With them a key that was refused is refused here,
       too, until the engine's retry is over: too long, where another node gives permits back meanwhile. */
    uint64_t lease_ns;
    /* Called when a server goes away or comes back, by the thread that notices it: why is one line.  away: somebody is
       away.  Also told, once a second at most: something else that is wrong, as a foreign value under a key. */
    void (*changed)(void *context, bool away, const char *why);
    void *context;
} weir_engine_options;
/* clang-format off */
#define WEIR_ENGINE_OPTIONS {sizeof(weir_engine_options), 0, WEIR_AWAY_DEFAULT, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}
/* clang-format on */

/* URL: redis://[[user]:[password]@]host[:port][/db], rediss:// (where it was built with TLS), unix:///path[?db=n],
   redis+cluster://host:port[,host:port]..., redis+sentinel://host:port[,host:port].../name[/db].
   A URL that cannot be read or is not supported is an error; an engine that does not answer is *away*, and is tried
   again.  NULL options = defaults.  Copies what it is given. */
WEIR_API int weir_engine_open(weir_engine **owned, const char *url, const weir_engine_options *, weir_error *);
/* Another thread's handle on the same engine.  Each handle is [one thread]. */
WEIR_API int weir_engine_join(weir_engine **owned, weir_engine *first, weir_error *);
/* Gives leases back, and frees; the last handle closes what they share.  NULL is fine. */
WEIR_API void weir_engine_close(weir_engine *);

/* The limit as the engine will have it; WEIR_EUNSUPPORTED where it cannot be kept there.  Never changed afterwards,
   so any thread may use it. */
WEIR_API int weir_engine_limit_open(weir_engine_limit **owned, weir_engine *, const char *limits, weir_away,
                                    weir_error *);
WEIR_API void weir_engine_limit_close(weir_engine_limit *);
WEIR_API const weir_plan *weir_engine_limit_plan(const weir_engine_limit *);

WEIR_API weir_decision weir_engine_take(weir_engine *, const weir_engine_limit *, weir_key, uint64_t cost);
WEIR_API weir_decision weir_engine_peek(weir_engine *, const weir_engine_limit *, weir_key, uint64_t cost);
WEIR_API weir_decision weir_engine_charge(weir_engine *, const weir_engine_limit *, weir_key, uint64_t cost);
/* Gives back, or charges, the difference; a second call does nothing.  Of what a lease allowed nothing is given back.
   false: the engine did not say that it has. */
WEIR_API bool weir_engine_settle(weir_engine *, const weir_engine_limit *, weir_key, weir_decision *, uint64_t actual);
WEIR_API bool weir_engine_forget(weir_engine *, const weir_engine_limit *, weir_key);

/* Who gave the answer. */
typedef enum { WEIR_FROM_ENGINE = 1, WEIR_FROM_LEASE, WEIR_FROM_AWAY } weir_from;
typedef enum {
    WEIR_ASK_TAKE,
    WEIR_ASK_PEEK,
    WEIR_ASK_CHARGE,
    WEIR_ASK_SETTLE,
    WEIR_ASK_FORGET,
    WEIR_ASK_SECRET /* reads what weir_engine_secret tells; limit and key are ignored */
} weir_verb;
typedef struct {
    weir_verb verb;
    const weir_engine_limit *limit;
    weir_key key;
    const uint64_t *cost;   /* one, or one for each limit; NULL: 1 */
    unsigned costs;         /* how many; 0 with NULL */
    const uint64_t *actual; /* of a settle: as many as costs */
    uint64_t taken;         /* of a settle: the decision's end */
    weir_decision decision; /* filled; of a settle or forget its verdict says ALLOW when it was done */
    uint64_t full_ns;       /* filled: until all is back; from a lease: at least until what was spent of it is */
    weir_from from;         /* filled; of a lease: `remaining` is what is left in it, and its end is 0 */
} weir_engine_ask;
/* n independent questions at once, pipelined; all are answered within the deadline.  0 questions: never waits; who may
   ask seldom calls it so once a second, and goes on being counted among the nodes. */
WEIR_API void weir_engine_batch(weir_engine *, weir_engine_ask *, size_t n);

/* ---- the same in pieces, for an event loop or a simulated clock: nothing below waits ---- */

/* Begins: from now on, for a deadline at most, the handle answers them; `from` is 0 until it has.  They, and what they
   point to, stay where they are until then; from several calls there may be WEIR_ENGINE_MAX at a time.  Those beyond it
   have the away policy's answer at once, and are counted as `crowded`. */
enum { WEIR_ENGINE_MAX = 4096 };
WEIR_API void weir_engine_begin(weir_engine *, weir_engine_ask *, size_t n, weir_instant now);

/* What to wait for before weir_engine_turn: so many descriptors, of which `most` are filled in, and *wait_ns at most:
   WEIR_FOREVER when no question is under way.  Descriptors change with each call on the handle; a closed one has left
   epoll by itself. */
typedef struct {
    int descriptor;
    bool reads, writes; /* until it can be read, or written to */
} weir_engine_watch;
WEIR_API size_t weir_engine_events(weir_engine *, weir_instant now, weir_engine_watch *, size_t most,
                                   uint64_t *wait_ns);

/* Goes on with all that can go on at this time: what has come is read first, then what is too late is answered as its
   limit says.  What comes later than that is thrown away, whichever question it was to. */
WEIR_API void weir_engine_turn(weir_engine *, weir_instant now);

/* Ends: of these, as given to weir_engine_begin, those without an answer have the away policy's now. */
WEIR_API void weir_engine_finish(weir_engine *, weir_engine_ask *, size_t n, weir_instant now);

/* Goes on with what needs no question, and waits for nothing: is an engine that was away back, is this node there,
   connections that proxies would take for forgotten.  Calls do that as well; who may not call for a second or more
   calls this once a second. */
WEIR_API void weir_engine_tick(weir_engine *);

/* A random secret that all handles with this prefix have on this engine, for signing what clients bring back.  The
   first WEIR_ASK_SECRET makes it, and others read it: only that asks the engine.  Its text, ended by NUL, is 64
   hexadecimal digits, or what somebody has put under the key receipts:{PREFIX}.  Returns a number that is another one
   when the text is another one; 0: not read yet, and the text is "".  text NULL: just the number. */
enum { WEIR_ENGINE_SECRET_MAX = 256 };
WEIR_API uint64_t weir_engine_secret(weir_engine *, char text[WEIR_ENGINE_SECRET_MAX]);

/* Why an engine became away: no connection, or it was lost; no answer in time; it said that it cannot; nobody says
   which server has the keys. */
typedef enum { WEIR_OUTAGE_CONNECTION, WEIR_OUTAGE_TIMEOUT, WEIR_OUTAGE_REFUSED, WEIR_OUTAGE_DISCOVERY } weir_outage;
enum { WEIR_OUTAGES = 4, WEIR_ENGINE_ROUND_TRIPS = 25 };

typedef struct {
    uint64_t calls, from_engine, from_lease, from_away;
    uint64_t commands; /* sent to engines */
    uint64_t connects;
    uint64_t late;                                 /* answers past the deadline */
    uint64_t redirected;                           /* MOVED and ASK */
    uint64_t aways;                                /* changes to away */
    uint64_t leased, lease_unused;                 /* permits */
    uint64_t nodes;                                /* as said or heard; 0: not known */
    uint64_t away;                                 /* 1: now */
    uint64_t round_trip_ns;                        /* of late, smoothed */
    uint64_t crowded;                              /* answered by the away policy, for too many were waiting */
    uint64_t outages[WEIR_OUTAGES];                /* aways, by why */
    uint64_t round_trips[WEIR_ENGINE_ROUND_TRIPS]; /* answers, [i]: in less than 2^(10 + i) ns; the last all others */
    uint64_t round_trip_sum_ns;                    /* from sending to hearing */
    uint64_t away_full;                            /* new keys that found the local table full: refused by mistake */
    uint64_t foreign; /* answered by the away policy: at the key is no state that this weir reads */
} weir_engine_stats;
/* Of all handles together. */
WEIR_API void weir_engine_read_stats(weir_engine *, weir_engine_stats *, size_t size);

/* Loads the functions into every primary, or, before 7.0, says that scripts will be used.  Lines for a person. */
WEIR_API int weir_engine_install(weir_engine *, void (*line)(void *context, const char *text), void *context,
                                 weir_error *);
/* Looks at every server: reachable, rights, version, functions or module, who is primary.  0: all is well. */
WEIR_API int weir_engine_check(weir_engine *, void (*line)(void *context, const char *text), void *context,
                               weir_error *);

#ifdef __cplusplus
}
#endif
#endif
