/* SPDX-License-Identifier: MIT
   What the handles on one engine share: its servers, who has which key, what is away, what was counted.

   See pool.c and map.c. */
#ifndef WEIR_REDIS_CLIENT_POOL_H
#define WEIR_REDIS_CLIENT_POOL_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <weir/redis.h>

#include "host/thread.h"
#include "redis/client/link/breaker.h"
#include "redis/client/link/link.h"
#include "redis/client/link/url.h"
#include "redis/client/slots.h"

enum {
    SERVERS_MAX = 1000,
    NOWHERE = UINT16_MAX, /* no server is known */
    POOL_ID_SIZE = 24     /* 16 hexadecimal digits, a point, and the format of values that it knows */
};

struct server {
    struct engine_endpoint endpoint;     /* as it is called */
    struct engine_addresses addresses;   /* as it was found */
    alignas(8) _Atomic uint64_t edition; /* another one when the entry is taken over by another server */
    struct breaker breaker;
    _Atomic bool used; /* keys are there */
    bool was_away;     /* it failed, and no question was answered since */
    bool named;        /* the endpoint is a name, for which addresses are looked up */
    bool resolving;
    _Atomic bool away, trial;                /* the breaker's state, to be read without a lock */
    alignas(8) _Atomic uint64_t probe_at_ns; /* so that nobody locks before */
};

struct pool_counts {
    alignas(8) _Atomic uint64_t calls, from_engine, from_lease, from_away, commands, connects, late, redirected,
        outage_count;
    alignas(8) _Atomic uint64_t leased, lease_unused, round_trip_ns, crowded, foreign;
    alignas(8) _Atomic uint64_t outages[WEIR_OUTAGES], round_trips[WEIR_ENGINE_ROUND_TRIPS], round_trip_sum_ns;
};

struct pool {
    struct host_fork_watch fork_watch;
    struct host_mutex mutex;                  /* around all that is not atomic and changes */
    _Atomic unsigned handles, asking_handles; /* asking: that have had a link */
    unsigned asking;                          /* names that are being looked up */
    bool is_open;
    struct engine_url url;
    weir_engine_options options; /* its texts are below */
    char prefix[URL_WORD_MAX], user[URL_WORD_MAX], password[URL_WORD_MAX];
    void *tls;
    weir_table *table;

    _Atomic unsigned servers;
    struct server *server[SERVERS_MAX];
    uint64_t editions;
    _Atomic uint16_t slot[SLOTS]; /* cluster: whose it is; others: all in slot[0] */
    _Atomic bool known;           /* somebody has the keys */
    _Atomic bool wanted;          /* what is known may be out of date */
    struct breaker discover;
    uint64_t discover_at_ns;                /* not before, once somebody is known */
    alignas(8) _Atomic uint64_t look_at_ns; /* sentinels: whatever is known */
    unsigned discover_next;
    bool told_away;
    alignas(8) _Atomic uint64_t told_at_ns;
    _Atomic bool is_away;

    struct owed *owed; /* owned, under the mutex; NULL: nothing was ever owed */
    size_t owed_size;  /* a power of 2 */
    size_t owed_swept;
    alignas(8) _Atomic uint64_t owed_count, owed_full; /* so often there was no room */
    alignas(8) _Atomic uint64_t full_told; /* how many new keys had found the table full when that was told last */
    alignas(8) _Atomic uint64_t limits;    /* opened so far */
    char id[POOL_ID_SIZE];
    alignas(8) _Atomic uint64_t beat_at_ns;
    alignas(8) _Atomic uint64_t nodes, nodes_live, reached_ns, entered_ns, heard_ns; /* see nodes.c */
    _Atomic bool is_entering;
    alignas(8) _Atomic uint64_t away_at_ns; /* when is_away was set */
    struct pool_counts counts;

    char secret[WEIR_ENGINE_SECRET_MAX]; /* under the mutex; see secret.c */
    alignas(8) _Atomic uint64_t secret_number;
    _Atomic bool secret_told; /* that it cannot be read */
};

/* ---- pool.c ---- */

int pool_open(struct pool **owned, const char *url, const weir_engine_options *options, weir_error *error);
void pool_join(struct pool *pool);
void pool_leave(struct pool *pool); /* the last one closes it */

struct link_handshake pool_handshake(const struct pool *pool, unsigned server);

/* The server at this endpoint, known or new; NOWHERE when there are too many. */
unsigned pool_server(struct pool *pool, const struct engine_endpoint *endpoint);
void pool_addresses(struct pool *pool, unsigned server, struct engine_addresses *addresses, uint64_t *edition);

/* Is nobody to ask it? */
static inline bool pool_is_away(const struct pool *pool, unsigned server)
{
    return atomic_load_explicit(&pool->server[server]->away, memory_order_relaxed);
}

/* May the caller probe it now? */
bool pool_claim(struct pool *pool, unsigned server, uint64_t now_ns);
void pool_failed(struct pool *pool, unsigned server, uint64_t now_ns, weir_outage outage, const char *why, bool probe);
void pool_passed(struct pool *pool, unsigned server);
void pool_sound(struct pool *pool, unsigned server, uint64_t now_ns);
uint64_t pool_retry_ns(struct pool *pool, unsigned server, uint64_t now_ns);

/* "{prefix word}" of a key that this server has, or of one that it should have. */
enum { POOL_KEY_MAX = URL_WORD_MAX + 32 };
void pool_own_key(const struct pool *pool, unsigned server, const char *word, char key[POOL_KEY_MAX]);

/* Others have the keys now: is somebody of them away? */
void pool_map_changed(struct pool *pool, uint64_t now_ns, const char *what); /* UINT64_MAX: nobody knows when */

/* Says that something is wrong which does not make the engine away; not more often than once a second. */
bool pool_tell(struct pool *pool, unsigned server, uint64_t now_ns, const char *what); /* false: too soon */

static inline void pool_count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* ---- map.c ---- */

/* Whose this slot is, or NOWHERE. */
static inline unsigned pool_owner(const struct pool *pool, unsigned slot)
{
    const unsigned at = pool->url.kind == URL_CLUSTER ? slot : 0;
    return atomic_load_explicit(&pool->slot[at], memory_order_relaxed);
}

/* May the caller begin a discovery now? */
bool pool_may_discover(struct pool *pool, uint64_t now_ns);
bool pool_is_lost(struct pool *pool);       /* no server is known, and discovery has failed */
unsigned pool_candidate(struct pool *pool); /* the server to ask next */
void pool_discovery_failed(struct pool *pool, uint64_t now_ns, const char *why);

/* All slots have this server: it is the primary. */
void pool_set_primary(struct pool *pool, unsigned server);
/* The primary as a sentinel answered; NOWHERE: it knows of none. */
unsigned pool_read_primary(struct pool *pool, const redisReply *reply);
/* CLUSTER SLOTS as it was answered by this server; false: that was none. */
bool pool_set_slots(struct pool *pool, unsigned server, const redisReply *reply);
/* "3999 127.0.0.1:6381", as errors have it; the server, or NOWHERE. */
unsigned pool_read_redirect(struct pool *pool, unsigned server, const char *text, unsigned *slot);
void pool_set_slot(struct pool *pool, unsigned slot, unsigned server);

#endif
