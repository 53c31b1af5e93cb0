/* SPDX-License-Identifier: MIT
   What the handles on one engine share.

       handle --+                +-- servers: where, answering or away (breaker)
       handle --+--- pool --------+-- map: slot -> server (map.c)
       handle --+   (counted)    +-- local table for when it is away, heartbeats, counters

   The lock is held for some instructions, never while somebody waits for a server; `changed` is called without it.  At
   most SERVERS_MAX servers are known. */
#include "redis/client/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "api/sized.h"
#include "redis/client/local/leases.h"
#include "redis/client/local/owed.h"
#include "redis/client/link/resolve.h"
#include "redis/client/link/secure.h"
#include "host/clock.h"
#include "redis/micro/micro.h"
#include "host/map.h"

#define DEADLINE_DEFAULT_NS UINT64_C(20000000)
#define TABLE_LONGEST_NS (UINT64_C(366) * 24 * 3600 * HOST_SECOND_NS) /* a share of a slow limit is slower still */
enum { KEYS_DEFAULT = 65536 };

/* ---- opened ---- */

static bool copy(char out[URL_WORD_MAX], const char *text, const char *otherwise)
{
    const char *const chosen = text != NULL ? text : otherwise;
    return (size_t)snprintf(out, URL_WORD_MAX, "%s", chosen) < URL_WORD_MAX;
}

static int read_options(struct pool *pool, const weir_engine_options *options, weir_error *error)
{
    const weir_engine_options defaults = WEIR_ENGINE_OPTIONS;
    pool->options = defaults;
    const int failed = api_read_options(&pool->options, sizeof pool->options, options, "WEIR_ENGINE_OPTIONS", error);
    if (failed != 0) return failed;
    weir_engine_options *const chosen = &pool->options;
    if (chosen->deadline_ns == 0) chosen->deadline_ns = DEADLINE_DEFAULT_NS;
    if (chosen->away == WEIR_AWAY_DEFAULT) chosen->away = WEIR_AWAY_LOCAL;
    if (chosen->keys_max == 0) chosen->keys_max = KEYS_DEFAULT;
    if (chosen->lease_ns != 0 && (chosen->lease_ns < LEASES_LIFE_LEAST_NS || chosen->lease_ns > LEASES_LIFE_MOST_NS)) {
        return api_fail(error, WEIR_EINVAL, "lease_ns: expected 1 ms to 1 h, or 0 for no leases");
    }
    if (chosen->away > WEIR_AWAY_CLOSED)
        return api_fail(error, WEIR_EINVAL, "away: expected one of the three WEIR_AWAY_*");
    if (!copy(pool->prefix, chosen->prefix, "weir:") || pool->prefix[0] == '\0' ||
        strpbrk(pool->prefix, "{}") != NULL) {
        return api_fail(error, WEIR_EINVAL, "prefix: expected 1 to 511 bytes without { and }, as in \"weir:\"");
    }
    if (!copy(pool->user, chosen->user, pool->url.user) ||
        !copy(pool->password, chosen->password, pool->url.password)) {
        return api_fail(error, WEIR_EINVAL, "expected a user and password of at most 511 bytes");
    }
    /* Else the engine would be asked as its default user. */
    if (pool->user[0] != '\0' && pool->password[0] == '\0') {
        return api_fail(error, WEIR_EINVAL,
                        "a user is named, but no password: it is in the URL (user:password@host), in a file, or in "
                        "WEIR_ENGINE_PASSWORD");
    }
    return 0;
}

static int open_table(struct pool *pool, weir_error *error)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = pool->options.keys_max;
    options.sharing = WEIR_PRIVATE;
    options.refill_max_ns = TABLE_LONGEST_NS;
    return weir_table_open(&pool->table, &options, error);
}

static uint64_t random_64(void)
{
    uint64_t random = 0;
    if (host_random(&random, sizeof random) != 0) random = host_now_ns();
    return random;
}

/* Nobody has counted it yet. */
static void begin_as_node(struct pool *pool)
{
    snprintf(pool->id, sizeof pool->id, "%016llx.%u", (unsigned long long)random_64(), MICRO_FORMAT);
    atomic_store(&pool->entered_ns, 0);
    atomic_store(&pool->reached_ns, 0);
    atomic_store(&pool->heard_ns, 0);
    atomic_store(&pool->is_entering, false);
    atomic_store(&pool->beat_at_ns, 0);
}

static int open_parts(struct pool *pool, const weir_engine_options *options, weir_error *error)
{
    int failed = read_options(pool, options, error);
    if (failed == 0) failed = open_table(pool, error);
    if (failed == 0 && pool->url.tls) failed = secure_open(&pool->tls, &pool->url, error);
    if (failed != 0) return failed;
    for (unsigned i = 0; i < SLOTS; i++) atomic_init(&pool->slot[i], NOWHERE);
    breaker_init(&pool->discover, random_64());
    begin_as_node(pool);
    for (unsigned i = 0; i < pool->url.endpoints; i++) {
        const unsigned server = pool_server(pool, &pool->url.endpoint[i]);
        if (server == NOWHERE) return api_fail(error, WEIR_ENOMEM, "no memory for the servers");
        resolve_now(pool, server);
    }
    pool->is_open = true;
    if (pool->url.kind == URL_ONE) pool_set_primary(pool, 0);
    return 0;
}

static void hold(struct host_fork_watch *watch)
{
    host_lock(&((struct pool *)(void *)((char *)watch - offsetof(struct pool, fork_watch)))->mutex);
}

/* A child is a node of its own: if it and its parent were counted as one, they would have two shares. */
static void let_go(struct host_fork_watch *watch, bool child)
{
    struct pool *pool = (struct pool *)(void *)((char *)watch - offsetof(struct pool, fork_watch));
    if (child) begin_as_node(pool);
    host_unlock(&pool->mutex);
}

static void pool_close(struct pool *pool)
{
    host_fork_watch_close(&pool->fork_watch);
    for (unsigned i = 0; i < pool->servers; i++) free(pool->server[i]);
    owed_close(pool);
    weir_table_close(pool->table);
    secure_close(pool->tls);
    host_mutex_close(&pool->mutex);
    free(pool);
}

int pool_open(struct pool **owned, const char *url, const weir_engine_options *options, weir_error *error)
{
    *owned = NULL;
    const int unready = api_prepare(error);
    if (unready != 0) return unready;
    struct pool *const pool = calloc(1, sizeof *pool);
    if (pool == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for an engine");
    host_mutex_open(&pool->mutex);
    pool->fork_watch = (struct host_fork_watch){.hold = hold, .let_go = let_go};
    host_fork_watch_open(&pool->fork_watch);
    atomic_init(&pool->handles, 1);
    int failed = url_read(&pool->url, url, error);
    if (failed == 0) failed = open_parts(pool, options, error);
    if (failed == 0) *owned = pool;
    else pool_close(pool);
    return failed;
}

void pool_join(struct pool *pool)
{
    host_lock(&pool->mutex);
    pool->handles++;
    host_unlock(&pool->mutex);
}

void pool_leave(struct pool *pool)
{
    host_lock(&pool->mutex);
    const bool last = --pool->handles == 0;
    host_unlock(&pool->mutex);
    if (last) pool_close(pool);
}

struct link_handshake pool_handshake(const struct pool *pool, unsigned server)
{
    const bool sentinel = pool->url.kind == URL_SENTINEL && server < pool->url.endpoints;
    return (struct link_handshake){.user = pool->user,
                                   .password = pool->password,
                                   .database = sentinel ? 0 : pool->url.database,
                                   .primary = !sentinel && pool->url.kind != URL_CLUSTER,
                                   .sentinel = sentinel,
                                   .tls = pool->tls,
                                   .host = pool->server[server]->endpoint.host};
}

/* ---- servers ---- */

/* [locked] An entry that is no longer needed, when there are too many. */
static unsigned unused_server(const struct pool *pool)
{
    for (unsigned i = pool->url.endpoints; i < SERVERS_MAX; i++) {
        if (!pool->server[i]->used) return i;
    }
    return NOWHERE;
}

/* [locked] */
static unsigned add_server(struct pool *pool, const struct engine_endpoint *endpoint)
{
    unsigned at = pool->servers;
    if (at == SERVERS_MAX) at = unused_server(pool);
    else if ((pool->server[at] = calloc(1, sizeof *pool->server[at])) == NULL) at = NOWHERE;
    if (at == NOWHERE) return at;
    struct server *const server = pool->server[at];
    server->endpoint = *endpoint;
    server->edition = ++pool->editions;
    server->was_away = false;
    atomic_store(&server->away, false);
    atomic_store(&server->trial, false);
    breaker_init(&server->breaker, random_64());
    server->resolving = false;
    server->named = !resolve_known(endpoint, &server->addresses);
    if (at == pool->servers) atomic_store_explicit(&pool->servers, at + 1, memory_order_release);
    return at;
}

unsigned pool_server(struct pool *pool, const struct engine_endpoint *endpoint)
{
    unsigned found = NOWHERE;
    host_lock(&pool->mutex);
    for (unsigned i = 0; i < pool->servers && found == NOWHERE; i++) {
        /* A sentinel and a server of data never are the same one. */
        if (pool->url.kind == URL_SENTINEL && i < pool->url.endpoints) continue;
        if (url_endpoint_is(&pool->server[i]->endpoint, endpoint)) found = i;
    }
    const bool is_new = found == NOWHERE;
    if (is_new) found = add_server(pool, endpoint);
    host_unlock(&pool->mutex);
    if (is_new && found != NOWHERE && pool->is_open) resolve_again(pool, found); /* before, the opener waits for it */
    return found;
}

void pool_addresses(struct pool *pool, unsigned server, struct engine_addresses *addresses, uint64_t *edition)
{
    host_lock(&pool->mutex);
    *addresses = pool->server[server]->addresses;
    *edition = pool->server[server]->edition;
    host_unlock(&pool->mutex);
}

/* ---- away, and back ---- */

/* [locked] */
static void show(struct server *server)
{
    atomic_store_explicit(&server->probe_at_ns, server->breaker.probe_at, memory_order_relaxed);
    atomic_store_explicit(&server->trial, server->breaker.state == BREAKER_TRIAL, memory_order_relaxed);
    atomic_store_explicit(&server->away, server->breaker.state == BREAKER_OPEN, memory_order_release);
}

/* [locked] Is it another state than was told?  Then it has to be told. */
static bool is_news(struct pool *pool, uint64_t now_ns, weir_outage outage)
{
    bool away = !pool->known && pool->discover.state == BREAKER_OPEN;
    for (unsigned i = 0; i < pool->servers; i++) away = away || (pool->server[i]->used && pool->server[i]->was_away);
    if (away == pool->told_away) return false;
    pool->told_away = away;
    if (away) atomic_store(&pool->away_at_ns, now_ns);
    atomic_store(&pool->is_away, away);
    if (away) pool_count(&pool->counts.outage_count, 1);
    if (away) pool_count(&pool->counts.outages[outage], 1);
    return true;
}

static void tell(const struct pool *pool, bool news, bool away, const struct server *server, const char *what)
{
    char line[ENDPOINT_TEXT_MAX + LINK_WHY_MAX + 2], text[ENDPOINT_TEXT_MAX];
    if (!news || pool->options.changed == NULL) return;
    if (server != NULL) snprintf(line, sizeof line, "%s: %s", url_endpoint_text(&server->endpoint, text), what);
    else snprintf(line, sizeof line, "%s", what);
    pool->options.changed(pool->options.context, away, line);
}

bool pool_claim(struct pool *pool, unsigned server, uint64_t now_ns)
{
    struct server *const probed = pool->server[server];
    if (now_ns < atomic_load_explicit(&probed->probe_at_ns, memory_order_relaxed)) return false;
    host_lock(&pool->mutex);
    const bool claimed = breaker_claim(&probed->breaker, now_ns);
    show(probed);
    host_unlock(&pool->mutex);
    return claimed;
}

void pool_failed(struct pool *pool, unsigned server, uint64_t now_ns, weir_outage outage, const char *why, bool probe)
{
    struct server *const failed = pool->server[server];
    host_lock(&pool->mutex);
    breaker_fail(&failed->breaker, now_ns, probe);
    const bool first = failed->used && !failed->was_away;
    failed->was_away = true;
    show(failed);
    const bool news = is_news(pool, now_ns, outage) || first, away = pool->told_away;
    host_unlock(&pool->mutex);
    resolve_again(pool, server);
    atomic_store_explicit(&pool->wanted, true, memory_order_relaxed);
    tell(pool, news, away, failed, why);
}

void pool_passed(struct pool *pool, unsigned server)
{
    host_lock(&pool->mutex);
    breaker_pass(&pool->server[server]->breaker);
    show(pool->server[server]);
    host_unlock(&pool->mutex);
}

void pool_sound(struct pool *pool, unsigned server, uint64_t now_ns)
{
    struct server *const sound = pool->server[server];
    if (!atomic_load_explicit(&sound->trial, memory_order_relaxed)) return;
    host_lock(&pool->mutex);
    if (sound->breaker.state == BREAKER_TRIAL) breaker_sound(&sound->breaker);
    const bool back = sound->used && sound->was_away && sound->breaker.state != BREAKER_OPEN;
    sound->was_away = sound->breaker.state == BREAKER_OPEN;
    show(sound);
    const bool news = is_news(pool, now_ns, WEIR_OUTAGE_REFUSED) || back, away = pool->told_away;
    host_unlock(&pool->mutex);
    tell(pool, news, away, sound, "answers again");
}

bool pool_tell(struct pool *pool, unsigned server, uint64_t now_ns, const char *what)
{
    uint64_t last_ns = atomic_load_explicit(&pool->told_at_ns, memory_order_relaxed);
    if (last_ns != 0 && now_ns - last_ns < HOST_SECOND_NS) return false;
    if (!atomic_compare_exchange_strong(&pool->told_at_ns, &last_ns, now_ns)) return false;
    tell(pool, true, atomic_load_explicit(&pool->is_away, memory_order_relaxed), pool->server[server], what);
    return true;
}

void pool_map_changed(struct pool *pool, uint64_t now_ns, const char *what)
{
    host_lock(&pool->mutex);
    const bool news = is_news(pool, now_ns, WEIR_OUTAGE_DISCOVERY), away = pool->told_away;
    host_unlock(&pool->mutex);
    tell(pool, news, away, NULL, what);
}

uint64_t pool_retry_ns(struct pool *pool, unsigned server, uint64_t now_ns)
{
    host_lock(&pool->mutex);
    const struct breaker *const breaker = server != NOWHERE ? &pool->server[server]->breaker : &pool->discover;
    const uint64_t wait_ns = breaker_wait_ns(breaker, now_ns);
    host_unlock(&pool->mutex);
    return wait_ns;
}
