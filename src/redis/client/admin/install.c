/* SPDX-License-Identifier: MIT
   `weir engine install`: our functions into every primary.

   A fleet is upgraded node by node, and newer nodes ask older functions, too.  Older nodes do not read what newer
   functions answer; so these come last.  Each node enters itself with the format that it knows (nodes.c), and functions
   say the format that they write.

   Functions of an older weir are replaced, unless nodes of an older one are there; those of a newer weir are not, nor
   is a foreign library by our name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/client/admin/admin.h"
#include "redis/client/script.h"
#include "redis/micro/micro.h"

enum { VERSION_MAX = 128, FUNCTIONS_SINCE = 7, KEY_MAX = URL_WORD_MAX + 32 };

/* What weir_version says there; "": nobody says anything. */
static bool installed(struct admin *admin, char version[VERSION_MAX])
{
    redisReply *const reply = admin_ask_text(admin, 3, (const char *const[]){"FCALL", "weir_version", "0"});
    const bool lost = reply == NULL;
    version[0] = '\0';
    if (!lost && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS)) {
        snprintf(version, VERSION_MAX, "%s", reply->str);
    }
    freeReplyObject(reply);
    return !lost;
}

/* Is a library by our name there that does not have our functions? */
static bool is_foreign(struct admin *admin)
{
    redisReply *const reply =
        admin_ask_text(admin, 4, (const char *const[]){"FUNCTION", "LIST", "LIBRARYNAME", "weir"});
    const bool foreign = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0;
    freeReplyObject(reply);
    return foreign;
}

static bool has_module(struct admin *admin)
{
    redisReply *const reply = admin_ask_text(admin, 3, (const char *const[]){"COMMAND", "INFO", "weir.take"});
    const bool has = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 &&
                     reply->element[0]->type == REDIS_REPLY_ARRAY;
    freeReplyObject(reply);
    return has;
}

/* "1.0.0 format 2 ...": of values; before it was said there was only the first. */
static unsigned long format_of(const char *version)
{
    const char *const at = strstr(version, " format ");
    return at != NULL ? strtoul(at + strlen(" format "), NULL, 10) : 1;
}

/* "0123456789abcdef.2" */
static unsigned long format_of_node(const char *id)
{
    const char *const at = strchr(id, '.');
    return at != NULL ? strtoul(at + 1, NULL, 10) : 1;
}

/* Have all nodes that are there this format, or a later one?  A module is upgraded otherwise. */
static bool suits_nodes(struct admin *admin)
{
    char key[KEY_MAX];
    unsigned older = 0;
    const struct pool *const pool = admin->engine->pool;
    const int size = snprintf(key, sizeof key, "{%s}:nodes", pool->prefix);
    if (pool_owner(pool, slots_of(key, (size_t)size)) != admin->server) return true; /* another one has the list */
    redisReply *const reply = admin_ask_text(admin, 4, (const char *const[]){"ZRANGE", key, "0", "-1"});
    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && !has_module(admin)) {
        for (size_t i = 0; i < reply->elements; i++) older += format_of_node(reply->element[i]->str) < MICRO_FORMAT;
    }
    if (older != 0)
        admin_say(admin,
                  "%u nodes with an older weir use this engine, or did 5 s ago; they could not read the replies of "
                  "these functions, so upgrade the nodes first: newer nodes can use older functions",
                  older);
    freeReplyObject(reply);
    return older == 0;
}

static void say_refused(struct admin *admin, const char *error)
{
    if (strncmp(error, "NOPERM", 6) == 0) {
        admin_say(admin, "this user may not load functions: %s; the ACL rule +function|load allows it", error);
    } else if (strncmp(error, "READONLY", 8) == 0) {
        admin_say(admin, "it is a read-only replica: give the URL of its primary");
    } else {
        admin_say(admin, "the functions were not loaded: %s", error);
    }
}

enum loaded { LOADED, LOADED_NEVER /* it has no functions at all */, LOADED_NOT };

static enum loaded load(struct admin *admin)
{
    size_t functions_size = 0;
    const char *const functions = script_functions(&functions_size);
    const char *const text[] = {"FUNCTION", "LOAD", "REPLACE", functions};
    const size_t size[] = {strlen(text[0]), strlen(text[1]), strlen(text[2]), functions_size};
    redisReply *const reply = admin_ask(admin, 4, text, size);
    const char *const error = link_reply_error(reply);
    const bool never = error != NULL && strstr(error, "unknown command") != NULL;
    const enum loaded loaded = never ? LOADED_NEVER : reply == NULL || error != NULL ? LOADED_NOT : LOADED;
    if (error != NULL && !never) say_refused(admin, error);
    freeReplyObject(reply);
    return loaded;
}

/* Then scripts have to do. */
static bool without_functions(struct admin *admin)
{
    const bool fine = admin_try(admin);
    admin_say(admin, "it does not support functions (Redis before 7.0, or FUNCTION is renamed)%s",
              fine ? ": scripts will be used" : ", and scripts do not work either");
    return fine;
}

static bool install(struct admin *admin)
{
    char before[VERSION_MAX], now[VERSION_MAX], release[VERSION_MAX];
    if (!admin_fits_url(admin)) return false;
    if (has_module(admin)) {
        admin_say(admin, "the module weir-redis is loaded: it needs no functions");
        return true;
    }
    if (admin_info(admin, "server", "redis_version", release, sizeof release) &&
        strtoul(release, NULL, 10) < FUNCTIONS_SINCE) {
        return without_functions(admin);
    }
    if (!installed(admin, before)) return false;
    if (before[0] == '\0' && is_foreign(admin)) {
        admin_say(admin, "it has a function library named weir that is not weir's; FUNCTION DELETE weir removes it");
        return false;
    }
    if (format_of(before) > MICRO_FORMAT) {
        admin_say(admin, "functions %s of a newer weir are installed; they are kept, and this version uses them",
                  before);
        return admin_try(admin);
    }
    const enum loaded loaded = load(admin);
    if (loaded == LOADED_NEVER) return without_functions(admin);
    if (!installed(admin, now)) return false;
    if (before[0] != '\0' && strcmp(before, now) != 0) admin_say(admin, "functions %s in place of %s", now, before);
    else if (now[0] != '\0') admin_say(admin, "functions %s%s", now, before[0] != '\0' ? ", loaded again" : "");
    return admin_try(admin) && loaded == LOADED;
}

int weir_engine_install(weir_engine *engine, void (*line)(void *context, const char *text), void *context,
                        weir_error *error)
{
    struct admin admin = {.engine = engine, .line = line, .context = context};
    const int failed = admin_each(&admin, suits_nodes, error);
    return failed != 0 ? failed : admin_each(&admin, install, error);
}
