/* SPDX-License-Identifier: MIT
   admin.c - talking to servers in peace: connects, waits, asks, one server after the other.

   May touch: sockets of its own, beside the handle's links.  Promises: waits for each answer TIMEOUT_S at most; every
   server is looked at, also when something is wrong with one before it.  Leaves to others: what is looked for
   (install.c, check.c). */
#include "engine/admin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "engine/secure.h"

enum { TIMEOUT_S = 5, WORDS_MAX = 16, INFO_MAX = 256 };

void admin_say(struct admin *admin, const char *format, ...)
{
    char line[ADMIN_LINE_MAX];
    va_list values;
    const int size = snprintf(line, sizeof line, "%s: ", admin->name);
    va_start(values, format);
    vsnprintf(line + size, sizeof line - (size_t)size, format, values);
    va_end(values);
    if (admin->line != NULL) admin->line(admin->context, line);
}

/* ---- one server ---- */

redisReply *admin_ask(struct admin *admin, unsigned count, const char *const text[], const size_t size[])
{
    const char *words[WORDS_MAX];
    memcpy(words, text, count * sizeof *words);
    redisReply *const reply = redisCommandArgv(admin->link, (int)count, words, size);
    if (reply == NULL) admin_say(admin, "the connection is lost: %s", admin->link->errstr);
    return reply;
}

redisReply *admin_ask_text(struct admin *admin, unsigned count, const char *const text[])
{
    size_t size[WORDS_MAX];
    for (unsigned i = 0; i < count; i++) size[i] = strlen(text[i]);
    return admin_ask(admin, count, text, size);
}

bool admin_info(struct admin *admin, const char *section, const char *name, char *value, size_t room)
{
    char start[INFO_MAX];
    redisReply *const reply = admin_ask_text(admin, 2, (const char *const[]){"INFO", section});
    value[0] = '\0';
    if (reply != NULL && reply->type == REDIS_REPLY_STRING) {
        snprintf(start, sizeof start, "\n%s:", name);
        const char *const at = strstr(reply->str, start);
        if (at != NULL) snprintf(value, room, "%.*s", (int)strcspn(at + strlen(start), "\r\n"), at + strlen(start));
    }
    freeReplyObject(reply);
    return value[0] != '\0';
}

/* The answer must be none that says it was refused; for a sentinel it may. */
static bool greet_by(struct admin *admin, unsigned count, const char *const text[], bool needed)
{
    redisReply *const reply = admin_ask_text(admin, count, text);
    const char *const error = reply_error(reply);
    const bool fine = reply != NULL && (error == NULL || !needed);
    if (reply != NULL && !fine) admin_say(admin, "%s refused: %s", text[0], error);
    freeReplyObject(reply);
    return fine;
}

static bool greet(struct admin *admin, const struct link_greeting *greeting)
{
    char number[16];
    const bool needed = !greeting->sentinel;
    const char *const by_user[] = {"AUTH", greeting->user, greeting->password};
    const char *const alone[] = {"AUTH", greeting->password};
    snprintf(number, sizeof number, "%u", greeting->database);
    bool fine = true;
    if (greeting->password[0] != '\0' && greeting->user[0] != '\0') fine = greet_by(admin, 3, by_user, needed);
    else if (greeting->password[0] != '\0') fine = greet_by(admin, 2, alone, needed);
    if (fine) fine = greet_by(admin, 1, (const char *const[]){"PING"}, true);
    if (fine && greeting->database != 0) fine = greet_by(admin, 2, (const char *const[]){"SELECT", number}, true);
    return fine;
}

static bool open_link(struct admin *admin, unsigned server)
{
    struct hub *const hub = admin->engine->hub;
    const struct timeval timeout = {TIMEOUT_S, 0};
    uint64_t edition = 0;
    admin->server = server;
    place_text(&hub->server[server]->place, admin->name);
    const struct engine_place address = hub_address(hub, server, &edition);
    const struct link_greeting greeting = hub_greeting(hub, server);
    if (address.host[0] == '\0') {
        admin_say(admin, "no address of this name was found");
        return false;
    }
    admin->link = address.port == 0 ? redisConnectUnixWithTimeout(address.host, timeout)
                                    : redisConnectWithTimeout(address.host, address.port, timeout);
    if (admin->link == NULL || admin->link->err != 0) {
        admin_say(admin, "cannot be reached: %s", admin->link != NULL ? admin->link->errstr : "no memory");
        return false;
    }
    redisSetTimeout(admin->link, timeout);
    if (greeting.tls != NULL && !secure_begin(admin->link, greeting.tls)) {
        admin_say(admin, "TLS was refused: %s", admin->link->errstr);
        return false;
    }
    return greet(admin, &greeting);
}

static bool look_at(struct admin *admin, unsigned server, admin_look *look)
{
    const bool fine = open_link(admin, server) && look(admin);
    if (admin->link != NULL) redisFree(admin->link);
    admin->link = NULL;
    return fine;
}

/* ---- who has the keys ---- */

static bool find_slots(struct admin *admin)
{
    struct hub *const hub = admin->engine->hub;
    redisReply *const reply = admin_ask_text(admin, 2, (const char *const[]){"CLUSTER", "SLOTS"});
    const bool fine = reply != NULL && hub_set_slots(hub, admin->server, reply);
    if (reply != NULL && !fine) {
        const char *const error = reply_error(reply);
        admin_say(admin, "%s", error != NULL ? error : "it knows of no slots: is it part of a cluster?");
    }
    freeReplyObject(reply);
    return fine;
}

static bool find_primary(struct admin *admin)
{
    struct hub *const hub = admin->engine->hub;
    redisReply *const reply =
        admin_ask_text(admin, 3, (const char *const[]){"SENTINEL", "GET-MASTER-ADDR-BY-NAME", hub->url.name});
    const unsigned server = reply != NULL ? hub_read_primary(hub, reply) : NOWHERE;
    if (server != NOWHERE) hub_set_primary(hub, server);
    else if (reply != NULL && reply_error(reply) != NULL) admin_say(admin, "%s", reply->str);
    else if (reply != NULL) admin_say(admin, "this sentinel knows no primary by the name of %s", hub->url.name);
    freeReplyObject(reply);
    return server != NOWHERE;
}

/* By the first that knows. */
static bool find(struct admin *admin)
{
    struct hub *const hub = admin->engine->hub;
    if (hub->url.kind == URL_ONE) return true;
    for (unsigned i = 0; i < hub->url.places && i < hub->servers; i++) {
        if (look_at(admin, i, hub->url.kind == URL_CLUSTER ? find_slots : find_primary)) return true;
    }
    return false;
}

int admin_each(struct admin *admin, admin_look *look, weir_error *error)
{
    struct hub *const hub = admin->engine->hub;
    unsigned looked = 0;
    if (!find(admin)) return api_fail(error, WEIR_ESYSTEM, "none of the servers says who has the keys");
    for (unsigned i = 0; i < hub->servers; i++) {
        if (!hub->server[i]->used) continue;
        looked++;
        admin->wrong += !look_at(admin, i, look);
    }
    if (admin->wrong == 0) return 0;
    char message[ADMIN_LINE_MAX];
    snprintf(message, sizeof message, "%u of %u servers: something is wrong, see above", admin->wrong, looked);
    return api_fail(error, WEIR_ESYSTEM, message);
}
