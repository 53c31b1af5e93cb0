/* SPDX-License-Identifier: MIT
   The links of one handle: made when they are needed, given up when they fail, and used to probe.

   A probe never is waited for.  It begins in one call and goes on in the next ones, as far as it goes without
   waiting; an engine whose callers are gone is not probed, and is not missed.  A link that was only late has its
   probe behind the answers that it still owes.

   No call waits for a server that is away. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "host/clock.h"
#include "redis/client/engine.h"

/* ---- links ---- */

static struct link *make_link(struct weir_engine *engine, unsigned server)
{
    struct link *const link = calloc(1, sizeof *link);
    if (link == NULL) return NULL;
    link->owner = engine;
    link->server = server;
    engine->link[server] = link;
    if (engine->links == 0) atomic_fetch_add(&engine->pool->asking_handles, 1);
    if (server >= engine->links) engine->links = server + 1;
    return link;
}

struct link *engine_link(struct weir_engine *engine, unsigned server, uint64_t now_ns)
{
    struct link *link = engine->link[server];
    uint64_t edition = atomic_load_explicit(&engine->pool->server[server]->edition, memory_order_relaxed);
    if (link != NULL && link->state != LINK_CLOSED && link->edition == edition) return link;
    if (link == NULL && (link = make_link(engine, server)) == NULL) return NULL;
    struct engine_addresses addresses;
    pool_addresses(engine->pool, server, &addresses, &edition);
    const struct link_handshake handshake = pool_handshake(engine->pool, server);
    link_close(link);
    link->edition = edition;
    if (addresses.count == 0) {
        link_say_why(link, "no address of this name was found");
        return NULL;
    }
    pool_count(&engine->pool->counts.connects, 1);
    return link_open(link, &addresses, &handshake, now_ns) ? link : NULL;
}

void engine_failed(struct weir_engine *engine, unsigned server, weir_outage outage, const char *why)
{
    struct link *const link = engine->link[server];
    const bool probe = link != NULL && link->probing;
    if (probe) link->probing = false;
    pool_failed(engine->pool, server, engine->now_ns, outage, why, probe);
}

void engine_refused(struct weir_engine *engine, unsigned server, const char *error)
{
    char why[LINK_WHY_MAX];
    snprintf(why, sizeof why, "refused: %s", error);
    engine_failed(engine, server, WEIR_OUTAGE_REFUSED, why);
}

void engine_process(struct weir_engine *engine, unsigned server, uint64_t now_ns)
{
    struct link *const link = engine->link[server];
    if (link == NULL || link->state == LINK_CLOSED) return;
    const enum link_state before = link->state;
    const bool probing = link->probing;
    const uint64_t lost = engine->lost;
    link_process(link, now_ns);
    /* Closed by a server that no question was sent to: it had been idle for too long, or there is another one now.  A
       heartbeat may have been lost, which is no loss. */
    const bool quiet = before == LINK_READY && engine->lost == lost && !probing;
    if (link->state == LINK_CLOSED && !quiet)
        engine_failed(engine, server, link->refused ? WEIR_OUTAGE_REFUSED : WEIR_OUTAGE_CONNECTION, link->why);
    if (link->state == LINK_READY && before != LINK_READY && link->probing) {
        link->probing = false;
        pool_passed(engine->pool, server);
    }
    if (engine->discovering && engine->discover_server == server) discover_process(engine, now_ns);
}

void engine_process_all(struct weir_engine *engine, uint64_t now_ns)
{
    for (unsigned i = 0; i < engine->links; i++) {
        if (engine->link[i] != NULL && link_events(engine->link[i]) != 0) engine_process(engine, i, now_ns);
    }
}

void engine_drop_links(struct weir_engine *engine)
{
    for (unsigned i = 0; i < engine->links; i++) {
        if (engine->link[i] == NULL) continue;
        link_close(engine->link[i]);
        engine->link[i]->probing = false;
    }
}

void engine_after_fork(struct weir_engine *engine)
{
    engine->forks = host_forks();
    engine_drop_links(engine);
    busy_after_fork(engine);
    engine->discovering = false;
}

/* ---- probes ---- */

/* Has said nothing for as long as a probe and a question may take, though it should have. */
static bool is_silent(const struct link *link, uint64_t now_ns)
{
    const struct weir_engine *const engine = link->owner;
    const uint64_t silence_ns = most(BREAKER_PROBE_NS, engine->pool->options.deadline_ns);
    const bool owes = link->state != LINK_READY || link->count > 0;
    return link->state != LINK_CLOSED && owes &&
           subtract_to_zero(now_ns, most(link->heard_ns, link->owes_ns)) >= silence_ns;
}

static void on_pong(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = link->owner;
    (void)context;
    if (reply == NULL || !link->probing) return;
    if (link_reply_error(reply) != NULL) {
        engine_failed(engine, link->server, WEIR_OUTAGE_REFUSED, reply->str);
    } else {
        link->probing = false;
        pool_passed(engine->pool, link->server);
    }
}

void engine_probe(struct weir_engine *engine, unsigned server, uint64_t now_ns)
{
    struct link *link = engine->link[server];
    if (!pool_claim(engine->pool, server, now_ns)) return;
    if (link != NULL && is_silent(link, now_ns)) link_close(link);
    if (link != NULL) link->probing = false; /* that took too long */
    link = engine_link(engine, server, now_ns);
    if (link == NULL) {
        pool_failed(engine->pool, server, now_ns, WEIR_OUTAGE_CONNECTION,
                    engine->link[server] != NULL ? engine->link[server]->why : "no memory", true);
        return;
    }
    link->probing = true;
    if (link->state == LINK_READY) {
        engine_send_text(engine, link, 1, (const char *const[]){"PING"}, on_pong, NULL);
    }
    engine_process(engine, server, now_ns);
}

/* ---- without questions ---- */

static void on_trial(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = link->owner;
    (void)context;
    link->tried = false;
    if (reply == NULL) return;
    switch (fault_of(reply)) {
    case FAULT_SERVER:
    case FAULT_PRIMARY:
        engine_refused(engine, link->server, reply->str);
        break;
    case FAULT_FUNCTION: /* that was no answer to the question: it is asked again at the next tick */
        if (!link->load_tried) link->load_next = link->load_tried = true;
        else if (link->way == LINK_FUNCTIONS && !link->load_next) link->way = LINK_SCRIPTS;
        break;
    case FAULT_COMMAND:
        if (link->way != LINK_SCRIPTS) link->way = (enum link_way)(link->way + 1);
        else engine_refused(engine, link->server, reply->str);
        break;
    case FAULT_MOVED:
    case FAULT_ASK:
        atomic_store_explicit(&engine->pool->wanted, true, memory_order_relaxed);
        break;
    case FAULT_NONE:
    case FAULT_LATER:
    case FAULT_SCRIPT:
    case FAULT_QUESTION:
        pool_sound(engine->pool, link->server, engine->now_ns);
        break;
    }
}

/* A probe does not tell whether questions are answered. */
static void try_out(struct weir_engine *engine, unsigned server, uint64_t now_ns)
{
    char key[POOL_KEY_MAX];
    struct link *const link = engine_link(engine, server, now_ns);
    if (link == NULL || link->state != LINK_READY || link->tried) return; /* it will be, at a later time */
    if (link->load_next && link->way == LINK_FUNCTIONS) engine_send_functions(engine, link);
    pool_own_key(engine->pool, server, "trial", key);
    wire_trial(&engine->command, key, link->way);
    link->tried =
        engine_send(engine, link, engine->command.count, engine->command.word, engine->command.size, on_trial, NULL);
}

void engine_try_all(struct weir_engine *engine, uint64_t now_ns)
{
    const struct pool *const pool = engine->pool;
    for (unsigned i = 0; i < atomic_load(&pool->servers); i++) {
        if (!atomic_load_explicit(&pool->server[i]->used, memory_order_relaxed)) continue;
        if (pool_is_away(pool, i)) engine_probe(engine, i, now_ns);
        else if (engine->link[i] != NULL && is_silent(engine->link[i], now_ns))
            engine_failed(engine, i, WEIR_OUTAGE_TIMEOUT, "no answer");
        else if (atomic_load_explicit(&pool->server[i]->trial, memory_order_relaxed)) try_out(engine, i, now_ns);
        else engine_link(engine, i, now_ns);
        if (engine->link[i] != NULL) link_flush(engine->link[i]);
    }
}
