/* SPDX-License-Identifier: MIT
   Which server has which key, and which server is asked about that.

       one server    it has all                          (nobody is asked)
       sentinels     the primary has all                 SENTINEL GET-MASTER-ADDR-BY-NAME
       cluster       slot -> server                      CLUSTER SLOTS; MOVED corrects one slot at once

   Whatever a server says, no more than SERVERS_MAX servers are known and nothing is written beside the map; nobody
   looks more often than every SEEK_PAUSE_NS once somebody is known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "redis/client/pool.h"

#define SEEK_PAUSE_NS UINT64_C(100000000)
enum { PORT_MAX = 65535, KEYS_TRIED = 8 * SLOTS };

/* ---- looking for it ---- */

bool pool_may_discover(struct pool *pool, uint64_t now_ns)
{
    bool may = true;
    host_lock(&pool->mutex);
    if (pool->discover.state == BREAKER_OPEN) may = breaker_claim(&pool->discover, now_ns);
    else if (pool->known) may = now_ns >= pool->discover_at_ns;
    if (may) pool->discover_at_ns = now_ns + SEEK_PAUSE_NS;
    host_unlock(&pool->mutex);
    return may;
}

bool pool_is_lost(struct pool *pool)
{
    host_lock(&pool->mutex);
    const bool lost = !pool->known && pool->discover.state == BREAKER_OPEN;
    host_unlock(&pool->mutex);
    return lost;
}

unsigned pool_candidate(struct pool *pool)
{
    host_lock(&pool->mutex);
    const unsigned among = pool->url.kind == URL_SENTINEL ? pool->url.endpoints : pool->servers;
    unsigned candidate = pool->discover_next++ % among;
    /* One that answers, if there is any. */
    for (unsigned i = 0; i < among && pool->server[candidate]->away; i++) candidate = pool->discover_next++ % among;
    host_unlock(&pool->mutex);
    return candidate;
}

void pool_discovery_failed(struct pool *pool, uint64_t now_ns, const char *why)
{
    host_lock(&pool->mutex);
    breaker_fail(&pool->discover, now_ns, true);
    host_unlock(&pool->mutex);
    pool_map_changed(pool, now_ns, why);
}

/* ---- found ---- */

/* [locked] */
static void mark_used(struct pool *pool)
{
    const unsigned slots = pool->url.kind == URL_CLUSTER ? SLOTS : 1;
    for (unsigned i = 0; i < pool->servers; i++) pool->server[i]->used = false;
    for (unsigned i = 0; i < slots; i++) {
        if (pool->slot[i] != NOWHERE) pool->server[pool->slot[i]]->used = true;
    }
}

static void found(struct pool *pool, const char *what)
{
    host_lock(&pool->mutex);
    mark_used(pool);
    breaker_sound(&pool->discover);
    atomic_store(&pool->known, true);
    atomic_store(&pool->wanted, false);
    host_unlock(&pool->mutex);
    pool_map_changed(pool, UINT64_MAX, what);
}

void pool_set_primary(struct pool *pool, unsigned server)
{
    char text[ENDPOINT_TEXT_MAX], line[ENDPOINT_TEXT_MAX + LINK_WHY_MAX];
    atomic_store_explicit(&pool->slot[0], (uint16_t)server, memory_order_release);
    snprintf(line, sizeof line, "%s: is the primary", url_endpoint_text(&pool->server[server]->endpoint, text));
    found(pool, line);
}

/* An address as servers tell it; without a host it is the one that told. */
static bool read_endpoint(const struct pool *pool, unsigned teller, const char *host, size_t size, long long port,
                          struct engine_endpoint *endpoint)
{
    if (size >= sizeof endpoint->host || port <= 0 || port > PORT_MAX) return false;
    memset(endpoint, 0, sizeof *endpoint);
    if (size != 0) memcpy(endpoint->host, host, size);
    else memcpy(endpoint->host, pool->server[teller]->endpoint.host, sizeof endpoint->host);
    endpoint->port = (uint16_t)port;
    return true;
}

/* [host, port] */
unsigned pool_read_primary(struct pool *pool, const redisReply *reply)
{
    struct engine_endpoint endpoint;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) return NOWHERE;
    const redisReply *const host = reply->element[0], *const port = reply->element[1];
    if (host->str == NULL || host->len == 0 || port->str == NULL) return NOWHERE;
    if (!read_endpoint(pool, 0, host->str, host->len, strtol(port->str, NULL, 10), &endpoint)) return NOWHERE;
    return pool_server(pool, &endpoint);
}

/* [from, to, [host, port, ...], ...] */
static void set_range(struct pool *pool, unsigned teller, const redisReply *range, uint16_t map[SLOTS])
{
    struct engine_endpoint endpoint;
    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3) return;
    const redisReply *const from = range->element[0], *const to = range->element[1], *const node = range->element[2];
    if (from->type != REDIS_REPLY_INTEGER || to->type != REDIS_REPLY_INTEGER) return;
    if (from->integer < 0 || to->integer >= SLOTS || node->type != REDIS_REPLY_ARRAY || node->elements < 2) return;
    const redisReply *const host = node->element[0], *const port = node->element[1];
    const size_t size = host->str != NULL ? host->len : 0;
    if (port->type != REDIS_REPLY_INTEGER || !read_endpoint(pool, teller, host->str, size, port->integer, &endpoint))
        return;
    const unsigned server = pool_server(pool, &endpoint);
    for (long long slot = from->integer; slot <= to->integer; slot++) map[slot] = (uint16_t)server;
}

bool pool_set_slots(struct pool *pool, unsigned server, const redisReply *reply)
{
    uint16_t map[SLOTS];
    bool any = false;
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY) return false;
    for (unsigned i = 0; i < SLOTS; i++) map[i] = NOWHERE;
    for (size_t i = 0; i < reply->elements && i < SLOTS; i++) set_range(pool, server, reply->element[i], map);
    for (unsigned i = 0; i < SLOTS; i++) any = any || map[i] != NOWHERE;
    if (!any) return false;
    for (unsigned i = 0; i < SLOTS; i++) atomic_store_explicit(&pool->slot[i], map[i], memory_order_release);
    found(pool, "the cluster's hash slots are known");
    return true;
}

unsigned pool_read_redirect(struct pool *pool, unsigned server, const char *text, unsigned *slot)
{
    struct engine_endpoint endpoint;
    char *end = NULL;
    const unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end != ' ' || number >= SLOTS) return NOWHERE;
    const char *const host = end + 1, *const colon = strrchr(host, ':');
    if (colon == NULL) return NOWHERE;
    const long port = strtol(colon + 1, &end, 10);
    if (!read_endpoint(pool, server, host, (size_t)(colon - host), port, &endpoint)) return NOWHERE;
    *slot = (unsigned)number;
    return pool_server(pool, &endpoint);
}

void pool_own_key(const struct pool *pool, unsigned server, const char *word, char key[POOL_KEY_MAX])
{
    snprintf(key, POOL_KEY_MAX, "{%s%s}", pool->prefix, word);
    for (unsigned i = 0; i < KEYS_TRIED && pool_owner(pool, slots_of(key, strlen(key))) != server; i++) {
        snprintf(key, POOL_KEY_MAX, "{%s%s%u}", pool->prefix, word, i);
    }
}

void pool_set_slot(struct pool *pool, unsigned slot, unsigned server)
{
    if (pool->url.kind != URL_CLUSTER) return;
    atomic_store_explicit(&pool->slot[slot], (uint16_t)server, memory_order_release);
    host_lock(&pool->mutex);
    pool->server[server]->used = true;
    host_unlock(&pool->mutex);
    atomic_store_explicit(&pool->wanted, true, memory_order_relaxed);
}
