/* SPDX-License-Identifier: MIT
   The first words on a connection: who we are, and what the server can do.

       AUTH [user] password    SELECT n    CLIENT SETNAME weir    ROLE    COMMAND INFO weir.take fcall    PING

   All are sent at once.  PING is last because a server that is still loading, has lost its primary or cannot write to
   disk answers all the others, but not this one.

   A link becomes ready only when the password and the database are right and, where a primary is wanted, it is one. */
#include <stdio.h>
#include <string.h>

#include "redis/client/link/link.h"

const char *link_reply_error(const redisReply *reply)
{
    return reply != NULL && reply->type == REDIS_REPLY_ERROR ? reply->str : NULL;
}

bool link_reply_begins(const redisReply *reply, const char *start)
{
    return reply->str != NULL && strncmp(reply->str, start, strlen(start)) == 0;
}

/* ---- answers ---- */

/* Must be right. */
static void need(struct link *link, const char *command, const redisReply *reply)
{
    char why[LINK_WHY_MAX];
    if (link_reply_error(reply) == NULL) return;
    const bool bare = link->handshake.password[0] == '\0' && link_reply_begins(reply, "NOAUTH");
    snprintf(why, sizeof why, "%s refused: %s%s", command, reply->str,
             bare ? " No password was given: redis://:PASSWORD@HOST, or WEIR_ENGINE_PASSWORD" : "");
    link->refused = true;
    link_doom(link, why);
}

static void on_auth(struct link *link, void *context, const redisReply *reply)
{
    (void)context;
    need(link, "AUTH", reply);
}

static void on_select(struct link *link, void *context, const redisReply *reply)
{
    (void)context;
    need(link, "SELECT", reply);
}

/* May be forbidden. */
static void on_wished(struct link *link, void *context, const redisReply *reply)
{
    (void)link;
    (void)context;
    (void)reply;
}

static void on_role(struct link *link, void *context, const redisReply *reply)
{
    char why[LINK_WHY_MAX];
    (void)context;
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements < 3) return;
    if (reply->element[0]->str == NULL || strcmp(reply->element[0]->str, "slave") != 0) return;
    const redisReply *const host = reply->element[1], *const port = reply->element[2];
    snprintf(why, sizeof why, "it is a read-only replica; its primary is %s:%lld",
             host->str != NULL ? host->str : "unknown", port->type == REDIS_REPLY_INTEGER ? port->integer : 0);
    link->refused = true;
    link_doom(link, why);
}

static bool is_known(const redisReply *reply, size_t index)
{
    return reply->elements > index && reply->element[index]->type == REDIS_REPLY_ARRAY;
}

static void on_commands(struct link *link, void *context, const redisReply *reply)
{
    (void)context;
    link->way = LINK_FUNCTIONS; /* when it may not be asked: it will say if it has none */
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY) return;
    link->way = is_known(reply, 0) ? LINK_MODULE : is_known(reply, 1) ? LINK_FUNCTIONS : LINK_SCRIPTS;
}

static void on_ping(struct link *link, void *context, const redisReply *reply)
{
    (void)context;
    need(link, "PING", reply);
    if (reply != NULL && !link->doomed) link->state = LINK_READY;
}

/* ---- questions ---- */

static void say(struct link *link, unsigned count, const char *const text[], link_answer *answer)
{
    size_t size[4];
    for (unsigned i = 0; i < count; i++) size[i] = strlen(text[i]);
    if (!link_send(link, count, text, size, answer, NULL)) link_doom(link, "no memory for the handshake");
}

static void say_password(struct link *link)
{
    const struct link_handshake *handshake = &link->handshake;
    link_answer *const answer = handshake->sentinel ? on_wished : on_auth;
    if (handshake->password[0] == '\0') return;
    if (handshake->user[0] != '\0') {
        say(link, 3, (const char *const[]){"AUTH", handshake->user, handshake->password}, answer);
    } else {
        say(link, 2, (const char *const[]){"AUTH", handshake->password}, answer);
    }
}

void handshake_begin(struct link *link)
{
    const struct link_handshake *handshake = &link->handshake;
    say_password(link);
    if (handshake->database != 0) {
        char number[16];
        snprintf(number, sizeof number, "%u", handshake->database);
        say(link, 2, (const char *const[]){"SELECT", number}, on_select);
    }
    if (!handshake->sentinel) say(link, 3, (const char *const[]){"CLIENT", "SETNAME", "weir"}, on_wished);
    if (handshake->primary) say(link, 1, (const char *const[]){"ROLE"}, on_role);
    if (!handshake->sentinel) {
        say(link, 4, (const char *const[]){"COMMAND", "INFO", "weir.take", "fcall"}, on_commands);
    }
    say(link, 1, (const char *const[]){"PING"}, on_ping);
}
