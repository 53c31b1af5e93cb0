/* SPDX-License-Identifier: MIT
   seek.c - who has the keys: asks one sentinel, or one server of the cluster, after the other.

   Done when nobody is known yet, when MOVED or a failure says that what is known is out of date and, with sentinels,
   once a second: a primary that was cut off does not know that there is another one, and would go on counting.

   May touch: links, the hub's map.  Promises: nobody is waited for longer than a part of the deadline, so that the next
   one can still be asked.  Leaves to others: what the map means (map.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/client/engine.h"

#define LOOK_PAUSE_NS UINT64_C(1000000000) /* between two looks for another primary */
enum { TRIES_MAX = 8, PARTS = 3 /* of the deadline, each for one */ };

static void next(struct weir_engine *engine, uint64_t now_ns);

static void failed(struct weir_engine *engine, const char *why)
{
    char text[PLACE_TEXT_MAX];
    snprintf(engine->seek_why, sizeof engine->seek_why, "%.100s: %.90s",
             place_text(&engine->hub->server[engine->seek_server]->place, text), why);
}

/* ---- answers ---- */

/* The one asked does not know; then another one will be asked. */
static void no_help(struct weir_engine *engine, const char *why)
{
    failed(engine, why);
    engine->seek_until_ns = 0;
}

static void on_slots(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = context;
    if (reply == NULL || !engine->seeking || engine->seek_server != link->server) return;
    if (hub_set_slots(engine->hub, link->server, reply)) engine->seeking = false;
    else no_help(engine, reply_error(reply) != NULL ? reply->str : "it knows of no slots: is it part of a cluster?");
}

static void on_primary(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = context;
    if (reply == NULL || !engine->seeking || engine->seek_server != link->server) return;
    const unsigned server = hub_read_primary(engine->hub, reply);
    if (server == NOWHERE) {
        no_help(engine, reply_error(reply) != NULL ? reply->str : "this sentinel does not know a primary of that name");
        return;
    }
    hub_set_primary(engine->hub, server);
    engine->seeking = false;
}

/* ---- questions ---- */

static void ask(struct weir_engine *engine, struct link *link)
{
    const char *const slots[] = {"CLUSTER", "SLOTS"};
    const char *const primary[] = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", engine->hub->url.name};
    engine->seek_asked = true;
    if (engine->hub->url.kind == URL_CLUSTER) engine_send_text(engine, link, 2, slots, on_slots, engine);
    else engine_send_text(engine, link, 3, primary, on_primary, engine);
    link_flush(link);
}

/* The one asked is ready, or gone, or too late. */
static void look(struct weir_engine *engine, uint64_t now_ns)
{
    struct link *const link = engine->link[engine->seek_server];
    if (link == NULL || link->state == LINK_CLOSED) {
        failed(engine, link != NULL ? link->why : "no memory");
        next(engine, now_ns);
    } else if (now_ns >= engine->seek_until_ns) {
        if (engine->seek_until_ns != 0) failed(engine, "no answer");
        next(engine, now_ns);
    } else if (link->state == LINK_READY && !engine->seek_asked) {
        ask(engine, link);
    }
}

static void next(struct weir_engine *engine, uint64_t now_ns)
{
    struct hub *const hub = engine->hub;
    const unsigned among = hub->url.kind == URL_SENTINEL ? hub->url.places : atomic_load(&hub->servers);
    while (engine->seek_tries++ < among && engine->seek_tries <= TRIES_MAX) {
        engine->seek_server = hub_candidate(hub);
        engine->seek_asked = false;
        engine->seek_until_ns = now_ns + hub->options.deadline_ns / PARTS;
        struct link *const link = engine_link(engine, engine->seek_server, now_ns);
        if (link != NULL) {
            if (link->state == LINK_READY) ask(engine, link);
            return;
        }
        failed(engine,
               engine->link[engine->seek_server] != NULL ? engine->link[engine->seek_server]->why : "no memory");
        engine_failed(engine, engine->seek_server, WEIR_OUTAGE_CONNECTION, engine->seek_why);
    }
    engine->seeking = false;
    hub_seek_failed(hub, now_ns, engine->seek_why);
}

static bool is_needed(const struct hub *hub, uint64_t now_ns)
{
    if (hub->url.kind == URL_ONE) return false;
    if (!atomic_load_explicit(&hub->known, memory_order_relaxed)) return true;
    if (atomic_load_explicit(&hub->wanted, memory_order_relaxed)) return true;
    return hub->url.kind == URL_SENTINEL && now_ns >= atomic_load(&hub->look_at_ns);
}

void seek_begin(struct weir_engine *engine, uint64_t now_ns)
{
    if (engine->seeking) {
        look(engine, now_ns);
    } else if (is_needed(engine->hub, now_ns) && hub_may_seek(engine->hub, now_ns)) {
        engine->seeking = true;
        engine->seek_tries = 0;
        atomic_store(&engine->hub->look_at_ns, now_ns + LOOK_PAUSE_NS);
        next(engine, now_ns);
    }
}

void seek_turn(struct weir_engine *engine, uint64_t now_ns)
{
    if (engine->seeking) look(engine, now_ns);
}
