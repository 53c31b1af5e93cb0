/* SPDX-License-Identifier: MIT
   What all who share an engine have, and their clients have not: a random secret, made by the first node.

       SET receipts:{weir:} RANDOM NX    then    GET receipts:{weir:}

   Both always go out together: nothing depends on an answer in between, and either may be sent again.  The key begins
   with no "{", so that no pattern lets it be read that is for keys of limits; its tag is that of the prefix.

   Nobody waits for it but by a question of its own; what is read replaces what was, so that all have the same. */
#include <stdio.h>
#include <string.h>

#include "host/map.h"
#include "redis/client/engine.h"

enum { RANDOM_BYTES = 32, RANDOM_DIGITS = 2 * RANDOM_BYTES, KEY_MORE = 16 };

bool secret_key(struct wire_keys *keys, const char *prefix)
{
    const size_t room = strlen(prefix) + KEY_MORE;
    if (!wire_room(keys, room)) return false;
    keys->at[0] = 0;
    keys->size[0] = (size_t)snprintf(keys->memory, room, "receipts:{%s}", prefix);
    return true;
}

static bool make(char text[RANDOM_DIGITS + 1])
{
    uint8_t random[RANDOM_BYTES];
    if (host_random(random, sizeof random) != 0) return false;
    for (size_t i = 0; i < sizeof random; i++) snprintf(text + 2 * i, 3, "%02x", random[i]);
    return true;
}

bool secret_send(struct weir_engine *engine, struct link *link, bool asking, link_answer *answer, void *context)
{
    char random[RANDOM_DIGITS + 1];
    const char *const set[] = {"SET", engine->keys.memory, random, "NX"}, *const get[] = {"GET", engine->keys.memory};
    const char *const ask[] = {"ASKING"};
    if (!make(random)) return false;
    if (asking) engine_send_text(engine, link, 1, ask, NULL, NULL);
    if (!engine_send_text(engine, link, 4, set, NULL, NULL)) return false;
    if (asking) engine_send_text(engine, link, 1, ask, NULL, NULL);
    return engine_send_text(engine, link, 2, get, answer, context);
}

bool secret_heard(struct pool *pool, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING || reply->len == 0 || reply->len >= sizeof pool->secret) return false;
    if (strlen(reply->str) != reply->len) return false;
    host_lock(&pool->mutex);
    if (strcmp(pool->secret, reply->str) != 0) {
        memcpy(pool->secret, reply->str, reply->len + 1);
        atomic_fetch_add(&pool->secret_number, 1);
    }
    host_unlock(&pool->mutex);
    atomic_store_explicit(&pool->secret_told, false, memory_order_relaxed);
    return true;
}

void secret_failed(struct pool *pool, unsigned server, uint64_t now_ns, const char *what)
{
    char why[LINK_WHY_MAX];
    if (atomic_load_explicit(&pool->secret_told, memory_order_relaxed)) return;
    snprintf(why, sizeof why, "the secret of receipts, receipts:{%.32s}, cannot be read: %.100s", pool->prefix, what);
    if (pool_tell(pool, server, now_ns, why)) atomic_store_explicit(&pool->secret_told, true, memory_order_relaxed);
}

uint64_t weir_engine_secret(weir_engine *engine, char text[WEIR_ENGINE_SECRET_MAX])
{
    struct pool *const pool = engine->pool;
    if (text == NULL) return atomic_load(&pool->secret_number);
    host_lock(&pool->mutex);
    memcpy(text, pool->secret, sizeof pool->secret);
    const uint64_t number = atomic_load(&pool->secret_number);
    host_unlock(&pool->mutex);
    return number;
}
