/* SPDX-License-Identifier: MIT
   Talking to servers in peace: connects, waits, asks, one server after the other.

   Waits for each answer as long as the deadline is, and LEAST_NS in any case; every server is looked at, also when
   something is wrong with one before it. */
#include "redis/client/admin/admin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/error.h"
#include "core/num.h"
#include "host/clock.h"

#define LEAST_NS UINT64_C(1000000000)
#define MOST_NS UINT64_C(3600000000000)
enum { WORDS_MAX = 16, INFO_MAX = 256, VALUE_MAX = 16, NS_PER_MS = 1000000 };

void admin_say(struct admin *admin, const char *format, ...)
{
    char line[ADMIN_LINE_MAX];
    va_list values;
    const int size = snprintf(line, sizeof line, "%s: ", admin->name);
    va_start(values, format);
    vsnprintf(line + size, sizeof line - (size_t)size, format, values);
    va_end(values);
    link_make_visible(line);
    if (admin->line != NULL) admin->line(admin->context, line);
}

/* ---- one server ---- */

/* false: the time is over. */
static bool wait_for_news(struct link *link, uint64_t until_ns)
{
    const uint64_t now_ns = host_now_ns();
    if (now_ns >= until_ns) return false;
    struct pollfd polled = {.fd = link->context->fd, .events = link_events(link)};
    poll(&polled, 1, (int)((until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS));
    link_process(link, host_now_ns());
    return true;
}

static uint64_t patience_ns(const struct admin *admin)
{
    return least(most(admin->engine->pool->options.deadline_ns, LEAST_NS), MOST_NS);
}

static void on_reply(struct link *link, void *context, const redisReply *reply)
{
    (void)context;
    if (reply != NULL) link->keep = true;
}

redisReply *admin_ask(struct admin *admin, unsigned count, const char *const text[], const size_t size[])
{
    struct link *const link = &admin->link;
    const uint64_t until_ns = host_now_ns() + patience_ns(admin);
    if (link->state != LINK_READY) return NULL; /* that was said */
    bool waits = link_send(link, count, text, size, on_reply, NULL);
    while (waits && link->state == LINK_READY && link->kept == NULL) waits = wait_for_news(link, until_ns);
    redisReply *const reply = link->kept;
    link->kept = NULL;
    if (reply != NULL) return reply;
    if (link->state != LINK_READY) admin_say(admin, "the connection is lost: %s", link->why);
    else
        admin_say(admin, "%s: no answer within %llu ms", text[0], (unsigned long long)(patience_ns(admin) / NS_PER_MS));
    link_close(link);
    return NULL;
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

bool admin_fits_url(struct admin *admin)
{
    char cluster[VALUE_MAX];
    if (admin->engine->pool->url.kind == URL_CLUSTER) return true;
    if (!admin_info(admin, "cluster", "cluster_enabled", cluster, sizeof cluster) || cluster[0] != '1') return true;
    admin_say(admin, "it is part of a cluster and has only some of the keys: write redis+cluster://%s", admin->name);
    return false;
}

static bool shake_hands(struct admin *admin, const struct engine_addresses *addresses,
                        const struct link_handshake *handshake)
{
    struct link *const link = &admin->link;
    const uint64_t until_ns = host_now_ns() + patience_ns(admin);
    bool waits = link_open(link, addresses, handshake, host_now_ns());
    while (waits && link->state != LINK_READY && link->state != LINK_CLOSED) waits = wait_for_news(link, until_ns);
    if (link->state == LINK_READY) return true;
    if (link->state == LINK_CLOSED) admin_say(admin, "%s", link->why);
    else admin_say(admin, "no connection within %llu ms", (unsigned long long)(patience_ns(admin) / NS_PER_MS));
    return false;
}

static bool open_link(struct admin *admin, unsigned server)
{
    struct pool *const pool = admin->engine->pool;
    uint64_t edition = 0;
    admin->server = server;
    url_endpoint_text(&pool->server[server]->endpoint, admin->name);
    struct engine_addresses addresses;
    pool_addresses(pool, server, &addresses, &edition);
    struct link_handshake handshake = pool_handshake(pool, server);
    handshake.primary = false; /* a replica is looked at as well */
    if (addresses.count != 0) return shake_hands(admin, &addresses, &handshake);
    admin_say(admin, "no address of this name was found");
    return false;
}

static bool look_at(struct admin *admin, unsigned server, admin_look *look)
{
    const bool fine = open_link(admin, server) && look(admin);
    link_close(&admin->link);
    return fine;
}

/* ---- who has the keys ---- */

static bool find_slots(struct admin *admin)
{
    struct pool *const pool = admin->engine->pool;
    redisReply *const reply = admin_ask_text(admin, 2, (const char *const[]){"CLUSTER", "SLOTS"});
    const bool fine = reply != NULL && pool_set_slots(pool, admin->server, reply);
    if (reply != NULL && !fine) {
        const char *const error = link_reply_error(reply);
        admin_say(admin, "%s", error != NULL ? error : "it has no hash slots: is it part of a cluster?");
    }
    freeReplyObject(reply);
    return fine;
}

static bool find_primary(struct admin *admin)
{
    struct pool *const pool = admin->engine->pool;
    redisReply *const reply =
        admin_ask_text(admin, 3, (const char *const[]){"SENTINEL", "GET-MASTER-ADDR-BY-NAME", pool->url.name});
    const unsigned server = reply != NULL ? pool_read_primary(pool, reply) : NOWHERE;
    if (server != NOWHERE) pool_set_primary(pool, server);
    else if (reply != NULL && link_reply_error(reply) != NULL) admin_say(admin, "%s", reply->str);
    else if (reply != NULL) admin_say(admin, "this sentinel monitors no primary named %s", pool->url.name);
    freeReplyObject(reply);
    return server != NOWHERE;
}

/* By the first that knows. */
static bool find(struct admin *admin)
{
    struct pool *const pool = admin->engine->pool;
    if (pool->url.kind == URL_ONE) return true;
    for (unsigned i = 0; i < pool->url.endpoints && i < pool->servers; i++) {
        if (look_at(admin, i, pool->url.kind == URL_CLUSTER ? find_slots : find_primary)) return true;
    }
    return false;
}

int admin_each(struct admin *admin, admin_look *look, weir_error *error)
{
    struct pool *const pool = admin->engine->pool;
    unsigned looked = 0;
    if (!find(admin)) return api_fail(error, WEIR_ESYSTEM, "none of the servers reports which server has which keys");
    for (unsigned i = 0; i < pool->servers; i++) {
        if (!pool->server[i]->used) continue;
        looked++;
        admin->wrong += !look_at(admin, i, look);
    }
    if (admin->wrong == 0) return 0;
    char message[ADMIN_LINE_MAX];
    snprintf(message, sizeof message, "%u of %u servers: something is wrong, see above", admin->wrong, looked);
    return api_fail(error, WEIR_ESYSTEM, message);
}
