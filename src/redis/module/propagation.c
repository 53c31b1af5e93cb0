/* SPDX-License-Identifier: MIT
   Does what a call writes go anywhere: to a replica, to the append-only file?

   Where nobody listens, the engine throws away what it is told to replicate; but making it costs a quarter of a call.
   So the engine is asked whether there is an append-only file, or a backlog, without which there is no replica; that
   there is none is remembered:

       asked: none | nothing is told ...      | PSYNC: a backlog       | fork: the snapshot | asked: some | told ...
                                              '-- what is written here is in the snapshot --'

   A new replica and a new append-only file begin with a snapshot, which a child writes, and need only what comes after
   the fork; a replica that becomes a primary brings its backlog along.  The engine tells the module of both events.  In
   a Cluster all is told always: slots may be moved without a backlog.

   Should somebody listen all the same, they get the command as it was sent, as redis-cell does it. */
#include "redis/module/propagation.h"

#include <stddef.h>

bool propagation_open(const struct engine *engine, struct RedisModuleCtx *context, engine_on_event *on_event)
{
    static const struct engine_event role_changed = {ENGINE_ROLE_CHANGED, ENGINE_EVENT_VERSION};
    static const struct engine_event forked = {ENGINE_FORKED, ENGINE_EVENT_VERSION};
    return engine->subscribe_to_server_event(context, role_changed, on_event) == ENGINE_OK &&
           engine->subscribe_to_server_event(context, forked, on_event) == ENGINE_OK;
}

void propagation_ask_again(struct propagation *propagation)
{
    propagation->listeners = LISTENERS_UNKNOWN;
}

static bool has_backlog(const struct engine *engine, struct RedisModuleCtx *context)
{
    int fails = ENGINE_ERR;
    struct RedisModuleServerInfoData *info = engine->get_server_info(context, "replication");
    const bool is_active = engine->server_info_get_field_unsigned(info, "repl_backlog_active", &fails) != 0;
    engine->free_server_info(context, info);
    return fails != ENGINE_OK || is_active;
}

bool propagation_goes(struct propagation *propagation, const struct engine *engine, struct RedisModuleCtx *context)
{
    if (propagation->listeners == LISTENERS_UNKNOWN) {
        const bool always = (engine->get_context_flags(context) & (ENGINE_HAS_AOF | ENGINE_HAS_CLUSTER)) != 0;
        propagation->listeners = always || has_backlog(engine, context) ? LISTENERS_SOME : LISTENERS_NONE;
    }
    return propagation->listeners == LISTENERS_SOME;
}
