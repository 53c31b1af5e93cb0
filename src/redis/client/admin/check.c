/* SPDX-License-Identifier: MIT
   `weir engine check`: can weir work there, and how?

   Says of each server what it is and by which commands it will be asked. */
#include <stdio.h>
#include <string.h>

#include "redis/client/admin/admin.h"

enum { VALUE_MAX = 128, KEY_MAX = URL_WORD_MAX + 32 };

/* ---- what it is ---- */

static bool is_primary(struct admin *admin)
{
    char role[VALUE_MAX], host[VALUE_MAX], port[VALUE_MAX];
    if (!admin_info(admin, "replication", "role", role, sizeof role) || strcmp(role, "slave") != 0) return true;
    admin_info(admin, "replication", "master_host", host, sizeof host);
    admin_info(admin, "replication", "master_port", port, sizeof port);
    admin_say(admin, "it is a read-only replica; its primary is %s:%s, which the URL should name", host, port);
    return false;
}

static void say_release(struct admin *admin)
{
    char release[VALUE_MAX], valkey[VALUE_MAX];
    if (admin_info(admin, "server", "valkey_version", valkey, sizeof valkey)) {
        admin_say(admin, "Valkey %s, primary", valkey);
    } else if (admin_info(admin, "server", "redis_version", release, sizeof release)) {
        admin_say(admin, "Redis %s, primary", release);
    } else {
        admin_say(admin, "this user may not run INFO, so the server's version is unknown");
    }
}

/* ---- rights of other commands ---- */

/* Heartbeats, as nodes.c sends them, of a node that nobody takes for one: it was there at the very beginning.  Without
   them the share of a limit is all of it while the engine is away. */
static void try_nodes(struct admin *admin)
{
    char key[KEY_MAX];
    const struct pool *const pool = admin->engine->pool;
    const int size = snprintf(key, sizeof key, "{%s}:nodes", pool->prefix);
    if (pool_owner(pool, slots_of(key, (size_t)size)) != admin->server) return; /* another one counts them */
    const struct {
        unsigned count;
        const char *text[4];
    } commands[] = {{1, {"TIME"}},
                    {4, {"ZADD", key, "0", "check"}},
                    {3, {"ZREM", key, "check"}},
                    {4, {"ZREMRANGEBYSCORE", key, "-inf", "0"}},
                    {2, {"ZCARD", key}},
                    {4, {"ZCOUNT", key, "-inf", "+inf"}},
                    {3, {"EXPIRE", key, "60"}}};
    for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        redisReply *const reply = admin_ask_text(admin, commands[i].count, commands[i].text);
        const char *const error = link_reply_error(reply);
        if (error != NULL) {
            admin_say(admin,
                      "nodes cannot be counted (%s): say how many there are, or allow +time +zadd +zcard "
                      "+zcount +zrem +zremrangebyscore +expire",
                      error);
        }
        freeReplyObject(reply);
        if (error != NULL) return;
    }
}

static bool check(struct admin *admin)
{
    if (!is_primary(admin) || !admin_fits_url(admin)) return false;
    say_release(admin);
    const bool fine = admin_try(admin);
    if (fine) try_nodes(admin);
    return fine;
}

int weir_engine_check(weir_engine *engine, void (*line)(void *context, const char *text), void *context,
                      weir_error *error)
{
    struct admin admin = {.engine = engine, .line = line, .context = context};
    return admin_each(&admin, check, error);
}
