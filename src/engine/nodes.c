/* SPDX-License-Identifier: MIT
   nodes.c - who else is there: each hub enters itself once a second in a sorted set of the engine, by the engine's
   time.

       TIME  ->  ZADD {weir:}:nodes now id    ZREMRANGEBYSCORE ... older than 5 s    ZCARD    EXPIRE

   May touch: a link that is ready anyway.  Promises: nobody waits for it.  An engine, or a user, that refuses these
   commands leaves the number at what it was.  Leaves to others: what the number is for (away.c). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "host/sleep.h"

enum { HEARD_S = 5, EXPIRE_S = 60, NODES_KEY_MAX = URL_WORD_MAX + 16, NUMBER_MAX = 24 };

static size_t key_of(const struct hub *hub, char key[NODES_KEY_MAX])
{
    return (size_t)snprintf(key, NODES_KEY_MAX, "{%s}:nodes", hub->prefix);
}

static void on_count(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = link->owner;
    (void)context;
    if (reply == NULL || reply->type != REDIS_REPLY_INTEGER || reply->integer < 1) return;
    atomic_store_explicit(&engine->hub->nodes, (uint64_t)reply->integer, memory_order_relaxed);
}

static void on_time(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = link->owner;
    char key[NODES_KEY_MAX], now[NUMBER_MAX], before[NUMBER_MAX], expire[NUMBER_MAX];
    (void)context;
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || reply->element[0]->str == NULL) {
        return;
    }
    const unsigned long long seconds = strtoull(reply->element[0]->str, NULL, 10);
    if (seconds < HEARD_S) return;
    key_of(engine->hub, key);
    snprintf(now, sizeof now, "%llu", seconds);
    snprintf(before, sizeof before, "%llu", seconds - HEARD_S);
    snprintf(expire, sizeof expire, "%d", EXPIRE_S);
    engine_send_text(engine, link, 4, (const char *const[]){"ZADD", key, now, engine->hub->id}, NULL, NULL);
    engine_send_text(engine, link, 4, (const char *const[]){"ZREMRANGEBYSCORE", key, "-inf", before}, NULL, NULL);
    engine_send_text(engine, link, 2, (const char *const[]){"ZCARD", key}, on_count, NULL);
    engine_send_text(engine, link, 3, (const char *const[]){"EXPIRE", key, expire}, NULL, NULL);
}

void nodes_beat(struct weir_engine *engine, uint64_t now_ns)
{
    struct hub *const hub = engine->hub;
    char key[NODES_KEY_MAX];
    uint64_t due_ns = atomic_load_explicit(&hub->beat_at_ns, memory_order_relaxed);
    if (now_ns < due_ns) return;
    const unsigned server = hub_owner(hub, slots_of(key, key_of(hub, key)));
    if (server == NOWHERE || hub_is_away(hub, server)) return;
    struct link *const link = engine_link(engine, server, now_ns);
    if (link == NULL || link->state != LINK_READY) return; /* it will be, in a later call */
    if (!atomic_compare_exchange_strong(&hub->beat_at_ns, &due_ns, now_ns + HOST_SECOND_NS)) return;
    engine_send_text(engine, link, 1, (const char *const[]){"TIME"}, on_time, NULL);
    link_flush(link);
}
