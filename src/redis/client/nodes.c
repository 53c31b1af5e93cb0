/* SPDX-License-Identifier: MIT
   Who else is there: each pool enters itself once a second in a sorted set of the engine, by the engine's
   time.

       TIME  ->  ZADD {weir:}:nodes now id    ZREMRANGEBYSCORE ... older than 60 s    ZCARD    ZCOUNT    EXPIRE

   A node that takes a share of 1/N while the engine is away must be one of the N that every other one counts:

       reached the engine --2 s--> enters itself --5 s--> counted by all: takes a share, if it heard N 4 s ago or less

   * Every other node that takes a share has counted within 4 s of the engine's end, so later than I entered.
   * A node that has not been heard for longer begins again: the engine may have lost the set meanwhile.
   * So does who finds itself missing in the set (the engine has lost it: a restart, a failover), or does not learn
     whether it was: the others may have counted too few by then, and take no share either.
   * A node that lives for less than 2 s, again and again, is not counted.
   * One that is closed leaves, if it has a connection.  One that is heard no more stays counted for a minute: it may
     live, and be cut off from the engine alone, and still have its share when the others lose the engine, too.
   So shares are never more than 1 together, whoever starts when, and a node that knows nothing lets nothing pass.  More
   they are only by the share of a node that was cut off for longer, or before another one came or the set was lost.

   Nobody waits for it.  An engine, or a user, that refuses these commands leaves the number unknown. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "host/sleep.h"
#include "redis/client/engine.h"

enum { LIVES_S = 5, KEPT_S = 60, EXPIRE_S = 120, NODES_KEY_MAX = URL_WORD_MAX + 16, NUMBER_MAX = 24 };
#define QUIET_NS (2 * (uint64_t)HOST_SECOND_NS)   /* before it enters itself */
#define COUNTED_NS (5 * (uint64_t)HOST_SECOND_NS) /* after that all others have heard of it */
#define FRESH_NS (4 * (uint64_t)HOST_SECOND_NS)   /* before the engine went, or now, the last number was heard */

static uint64_t read_word(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

static void write_word(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

bool nodes_enters(struct pool *pool, uint64_t now_ns)
{
    const bool lost = now_ns - read_word(&pool->heard_ns) > FRESH_NS;
    if (lost || atomic_load(&pool->is_entering)) write_word(&pool->entered_ns, 0);
    if (lost || read_word(&pool->reached_ns) == 0) write_word(&pool->reached_ns, now_ns);
    const bool enters = now_ns - read_word(&pool->reached_ns) >= QUIET_NS;
    atomic_store(&pool->is_entering, enters);
    return enters;
}

void nodes_entered(struct pool *pool, bool was_missing)
{
    if (was_missing) write_word(&pool->entered_ns, 0);
    atomic_store(&pool->is_entering, false);
}

void nodes_heard(struct pool *pool, uint64_t now_ns, uint64_t count, bool entered)
{
    if (entered && read_word(&pool->entered_ns) == 0) write_word(&pool->entered_ns, now_ns);
    write_word(&pool->nodes, count);
    write_word(&pool->heard_ns, now_ns);
}

uint64_t nodes_known(const struct pool *pool, uint64_t now_ns)
{
    if (pool->options.nodes != 0) return pool->options.nodes;
    const uint64_t heard_ns = read_word(&pool->heard_ns), entered_ns = read_word(&pool->entered_ns);
    const uint64_t until_ns = atomic_load(&pool->is_away) ? least(read_word(&pool->away_at_ns), now_ns) : now_ns;
    const bool counted = entered_ns != 0 && heard_ns - entered_ns >= COUNTED_NS;
    return counted && subtract_to_zero(until_ns, heard_ns) <= FRESH_NS ? read_word(&pool->nodes) : 0;
}

/* A share has to be certain of it; this does not: it is of those that were heard lately. */
uint64_t nodes_asking(const struct pool *pool, uint64_t now_ns)
{
    const bool fresh = subtract_to_zero(now_ns, read_word(&pool->heard_ns)) <= FRESH_NS;
    const uint64_t heard = fresh ? read_word(&pool->nodes_live) : 0;
    const uint64_t nodes = pool->options.nodes != 0 ? pool->options.nodes : heard;
    return multiply_saturating(nodes, atomic_load_explicit(&pool->handles, memory_order_relaxed));
}

static size_t key_of(const struct pool *pool, char key[NODES_KEY_MAX])
{
    return (size_t)snprintf(key, NODES_KEY_MAX, "{%s}:nodes", pool->prefix);
}

static void on_count(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = link->owner;
    const bool entered = context != NULL;
    if (reply == NULL || reply->type != REDIS_REPLY_INTEGER || reply->integer < entered) return;
    nodes_heard(engine->pool, engine->now_ns, (uint64_t)reply->integer, entered);
}

static void on_live(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = link->owner;
    (void)context;
    if (reply == NULL || reply->type != REDIS_REPLY_INTEGER || reply->integer < 0) return;
    write_word(&engine->pool->nodes_live, (uint64_t)reply->integer);
}

static void on_entered(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = link->owner;
    (void)context;
    if (reply != NULL && reply->type == REDIS_REPLY_INTEGER) nodes_entered(engine->pool, reply->integer != 0);
}

static void on_time(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = link->owner;
    char key[NODES_KEY_MAX], now[NUMBER_MAX], before[NUMBER_MAX], lately[NUMBER_MAX], expire[NUMBER_MAX];
    (void)context;
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || reply->element[0]->str == NULL) {
        return;
    }
    const unsigned long long seconds = strtoull(reply->element[0]->str, NULL, 10);
    if (seconds < KEPT_S) return;
    key_of(engine->pool, key);
    snprintf(now, sizeof now, "%llu", seconds);
    snprintf(before, sizeof before, "%llu", seconds - KEPT_S);
    snprintf(lately, sizeof lately, "(%llu", seconds - LIVES_S);
    snprintf(expire, sizeof expire, "%d", EXPIRE_S);
    const bool enters = nodes_enters(engine->pool, engine->now_ns);
    const char *const enter[] = {"ZADD", key, now, engine->pool->id};
    if (enters) engine_send_text(engine, link, 4, enter, on_entered, NULL);
    engine_send_text(engine, link, 4, (const char *const[]){"ZREMRANGEBYSCORE", key, "-inf", before}, NULL, NULL);
    engine_send_text(engine, link, 2, (const char *const[]){"ZCARD", key}, on_count, enters ? engine->pool : NULL);
    engine_send_text(engine, link, 4, (const char *const[]){"ZCOUNT", key, lately, "+inf"}, on_live, NULL);
    engine_send_text(engine, link, 3, (const char *const[]){"EXPIRE", key, expire}, NULL, NULL);
}

void nodes_beat(struct weir_engine *engine, uint64_t now_ns)
{
    struct pool *const pool = engine->pool;
    char key[NODES_KEY_MAX];
    uint64_t due_ns = atomic_load_explicit(&pool->beat_at_ns, memory_order_relaxed);
    if (now_ns < due_ns) return;
    const unsigned server = pool_owner(pool, slots_of(key, key_of(pool, key)));
    if (server == NOWHERE || pool_is_away(pool, server)) return;
    struct link *const link = engine_link(engine, server, now_ns);
    if (link == NULL || link->state != LINK_READY) return; /* it will be, in a later call */
    if (!atomic_compare_exchange_strong(&pool->beat_at_ns, &due_ns, now_ns + HOST_SECOND_NS)) return;
    engine_send_text(engine, link, 1, (const char *const[]){"TIME"}, on_time, NULL);
    link_flush(link);
}

void nodes_leave(struct weir_engine *engine)
{
    struct pool *const pool = engine->pool;
    char key[NODES_KEY_MAX];
    if (engine->links == 0 || atomic_fetch_sub(&pool->asking_handles, 1) != 1) return;
    const unsigned server = pool_owner(pool, slots_of(key, key_of(pool, key)));
    struct link *const link = server != NOWHERE ? engine->link[server] : NULL;
    write_word(&pool->entered_ns, 0);
    if (link == NULL || link->state != LINK_READY || engine->forks != host_forks()) return;
    engine_send_text(engine, link, 3, (const char *const[]){"ZREM", key, pool->id}, NULL, NULL);
    link_flush(link);
}
