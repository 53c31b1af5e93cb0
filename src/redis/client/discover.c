/* SPDX-License-Identifier: MIT
   Discovery: asks one sentinel, or one server of the cluster, after the other which server has which keys.

   Done when nobody is known yet, when MOVED or a failure says that what is known is out of date and, with sentinels,
   once a second: a primary that was cut off does not know that there is another one, and would go on counting.

   Nobody is waited for longer than a part of the deadline, so that the next one can still be asked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/client/engine.h"

#define LOOK_PAUSE_NS UINT64_C(1000000000) /* between two looks for another primary */
enum { TRIES_MAX = 8, PARTS = 3 /* of the deadline, each for one */ };

static void next(struct weir_engine *engine, uint64_t now_ns);

static void failed(struct weir_engine *engine, const char *why)
{
    char text[ENDPOINT_TEXT_MAX];
    snprintf(engine->discover_why, sizeof engine->discover_why, "%.100s: %.90s",
             url_endpoint_text(&engine->pool->server[engine->discover_server]->endpoint, text), why);
}

/* ---- answers ---- */

/* The one asked does not know; then another one will be asked. */
static void no_help(struct weir_engine *engine, const char *why)
{
    failed(engine, why);
    engine->discover_until_ns = 0;
}

static void on_slots(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = context;
    if (reply == NULL || !engine->discovering || engine->discover_server != link->server) return;
    if (pool_set_slots(engine->pool, link->server, reply)) engine->discovering = false;
    else
        no_help(engine,
                link_reply_error(reply) != NULL ? reply->str : "it has no hash slots: is it part of a cluster?");
}

static void on_primary(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = context;
    if (reply == NULL || !engine->discovering || engine->discover_server != link->server) return;
    const unsigned server = pool_read_primary(engine->pool, reply);
    if (server == NOWHERE) {
        no_help(engine,
                link_reply_error(reply) != NULL ? reply->str : "this sentinel monitors no primary of that name");
        return;
    }
    pool_set_primary(engine->pool, server);
    engine->discovering = false;
}

/* ---- questions ---- */

static void ask(struct weir_engine *engine, struct link *link)
{
    const char *const slots[] = {"CLUSTER", "SLOTS"};
    const char *const primary[] = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", engine->pool->url.name};
    engine->discover_asked = true;
    if (engine->pool->url.kind == URL_CLUSTER) engine_send_text(engine, link, 2, slots, on_slots, engine);
    else engine_send_text(engine, link, 3, primary, on_primary, engine);
    link_flush(link);
}

/* The one asked is ready, or gone, or too late. */
static void look(struct weir_engine *engine, uint64_t now_ns)
{
    struct link *const link = engine->link[engine->discover_server];
    if (link == NULL || link->state == LINK_CLOSED) {
        failed(engine, link != NULL ? link->why : "no memory");
        next(engine, now_ns);
    } else if (now_ns >= engine->discover_until_ns) {
        if (engine->discover_until_ns != 0) failed(engine, "no answer");
        next(engine, now_ns);
    } else if (link->state == LINK_READY && !engine->discover_asked) {
        ask(engine, link);
    }
}

static void next(struct weir_engine *engine, uint64_t now_ns)
{
    struct pool *const pool = engine->pool;
    const unsigned among = pool->url.kind == URL_SENTINEL ? pool->url.endpoints : atomic_load(&pool->servers);
    while (engine->discover_tries++ < among && engine->discover_tries <= TRIES_MAX) {
        engine->discover_server = pool_candidate(pool);
        engine->discover_asked = false;
        engine->discover_until_ns = now_ns + pool->options.deadline_ns / PARTS;
        struct link *const link = engine_link(engine, engine->discover_server, now_ns);
        if (link != NULL) {
            if (link->state == LINK_READY) ask(engine, link);
            return;
        }
        failed(engine, engine->link[engine->discover_server] != NULL ? engine->link[engine->discover_server]->why
                                                                     : "no memory");
        engine_failed(engine, engine->discover_server, WEIR_OUTAGE_CONNECTION, engine->discover_why);
    }
    engine->discovering = false;
    pool_discovery_failed(pool, now_ns, engine->discover_why);
}

static bool is_needed(const struct pool *pool, uint64_t now_ns)
{
    if (pool->url.kind == URL_ONE) return false;
    if (!atomic_load_explicit(&pool->known, memory_order_relaxed)) return true;
    if (atomic_load_explicit(&pool->wanted, memory_order_relaxed)) return true;
    return pool->url.kind == URL_SENTINEL && now_ns >= atomic_load(&pool->look_at_ns);
}

void discover_begin(struct weir_engine *engine, uint64_t now_ns)
{
    if (engine->discovering) {
        look(engine, now_ns);
    } else if (is_needed(engine->pool, now_ns) && pool_may_discover(engine->pool, now_ns)) {
        engine->discovering = true;
        engine->discover_tries = 0;
        atomic_store(&engine->pool->look_at_ns, now_ns + LOOK_PAUSE_NS);
        next(engine, now_ns);
    }
}

void discover_process(struct weir_engine *engine, uint64_t now_ns)
{
    if (engine->discovering) look(engine, now_ns);
}
