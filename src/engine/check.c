/* SPDX-License-Identifier: MIT
   check.c - `weir engine check`: can weir work there, and how?

   Rights are tried out, on a key of its own, because no user may be sure to read his own rules: one question is asked
   in each way that there is, and what is refused is said, with the rule that would allow it.

   May touch: servers, one after the other; one key, which it forgets again.  Promises: says of each server what it is
   and by which commands it will be asked.  Leaves to others: putting it right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/admin.h"
#include "engine/script.h"

enum { VALUE_MAX = 128, KEY_MAX = URL_WORD_MAX + 32, KEYS_TRIED = 10 * SLOTS };

static const char limit[] = "1/s";

/* "'fcall'" of "... to run the 'fcall' command": what is missing. */
static void say_refused(struct admin *admin, const char *error)
{
    const char *const word = strstr(error, "to run the '");
    if (strncmp(error, "NOPERM", 6) == 0 && word != NULL) {
        const char *const name = strchr(word, '\'') + 1;
        admin_say(admin, "%s; the ACL rule +%.*s allows it", error, (int)strcspn(name, "' "), name);
    } else if (strncmp(error, "NOPERM", 6) == 0) {
        admin_say(admin, "%s; the ACL rule ~{%s* allows it", error, admin->engine->hub->prefix);
    } else {
        admin_say(admin, "%s", error);
    }
}

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
        admin_say(admin, "this user may not read INFO: which version it is cannot be told");
    }
}

/* ---- in which way it will be asked ---- */

enum answer { ANSWER_FINE, ANSWER_LACKING, ANSWER_REFUSED };

static enum answer try_by(struct admin *admin, unsigned count, const char *const text[], const char *way)
{
    redisReply *const reply = admin_ask_text(admin, count, text);
    const char *const error = reply_error(reply);
    enum answer answer = reply == NULL ? ANSWER_REFUSED : ANSWER_FINE;
    if (error != NULL) {
        const enum fault fault = fault_of(reply);
        const bool lacking = fault == FAULT_FUNCTION || fault == FAULT_SCRIPT ||
                             (fault == FAULT_COMMAND && strncmp(error, "NOPERM", 6) != 0);
        answer = lacking ? ANSWER_LACKING : ANSWER_REFUSED;
        if (!lacking) say_refused(admin, error);
    } else if (reply != NULL) {
        admin_say(admin, "asked by %s", way);
    }
    freeReplyObject(reply);
    return answer;
}

static bool try_script(struct admin *admin, const char *key)
{
    size_t size[] = {4, 0, 1, strlen(key), 9, strlen(limit), 1, 4};
    const char *const script = script_text(&size[1]);
    const char *const text[] = {"EVAL", script, "1", key, "weir_take", limit, "1", "PEEK"};
    redisReply *const reply = admin_ask(admin, sizeof text / sizeof text[0], text, size);
    const char *const error = reply_error(reply);
    if (error != NULL) say_refused(admin, error);
    else if (reply != NULL) admin_say(admin, "asked by scripts (EVALSHA): it has no functions of weir's");
    const bool fine = reply != NULL && error == NULL;
    freeReplyObject(reply);
    return fine;
}

static bool try_ways(struct admin *admin, const char *key)
{
    const char *const module[] = {"WEIR.TAKE", limit, key, "PEEK"};
    const char *const function[] = {"FCALL", "weir_take", "1", key, limit, "1", "PEEK"};
    enum answer answer = try_by(admin, 4, module, "the module weir-redis");
    if (answer == ANSWER_LACKING) answer = try_by(admin, 7, function, "functions");
    return answer == ANSWER_FINE || (answer == ANSWER_LACKING && try_script(admin, key));
}

/* ---- rights of other commands ---- */

/* Heartbeats: without them the share of a limit is all of it while the engine is away. */
static void try_nodes(struct admin *admin)
{
    char key[KEY_MAX];
    snprintf(key, sizeof key, "{%s}:nodes", admin->engine->hub->prefix);
    redisReply *const reply = admin_ask_text(admin, 2, (const char *const[]){"ZCARD", key});
    const char *const error = reply_error(reply);
    if (error != NULL && fault_of(reply) != FAULT_MOVED) { /* that is another server's to say */
        admin_say(admin,
                  "nodes cannot be counted (%s): say how many there are, or allow +time +zadd +zcard "
                  "+zremrangebyscore +expire",
                  error);
    }
    freeReplyObject(reply);
}

/* A key that this server has: in a cluster not every name is one.  false: none was found, as it has hardly a slot. */
static bool find_key(const struct admin *admin, char key[KEY_MAX])
{
    const struct hub *const hub = admin->engine->hub;
    snprintf(key, KEY_MAX, "{%scheck}", hub->prefix);
    for (unsigned i = 0; i < KEYS_TRIED; i++) {
        if (hub->url.kind != URL_CLUSTER || hub_owner(hub, slots_of(key, strlen(key))) == admin->server) return true;
        snprintf(key, KEY_MAX, "{%scheck%u}", hub->prefix, i);
    }
    return false;
}

static bool check(struct admin *admin)
{
    char key[KEY_MAX];
    if (!is_primary(admin)) return false;
    say_release(admin);
    try_nodes(admin);
    return !find_key(admin, key) || try_ways(admin, key);
}

int weir_engine_check(weir_engine *engine, void (*line)(void *context, const char *text), void *context,
                      weir_error *error)
{
    struct admin admin = {.engine = engine, .line = line, .context = context};
    return admin_each(&admin, check, error);
}
