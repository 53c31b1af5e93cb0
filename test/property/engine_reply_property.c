/* SPDX-License-Identifier: MIT
   Whatever an engine answers, and whatever a URL says, nothing is read or written beside its
   memory, and what is made of it is within its bounds: a map knows only servers that there are, a decision is of a
   limit that there is, a URL that is read is one that can be written.

   A link reads from one end of a pair of sockets; at the other end are bytes of the property's choice, in pieces. */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "property/property.h"
#include "redis/client/pool.h"
#include "redis/client/wire.h"

enum { TEXT_SIZE = 4096, SHAPE_MAX = 200, ASKED = 6, TURNS_MAX = 64, LEASED_MOST = 1000 };

static const char *const pieces[] = {"*4\r\n",
                                     "*5\r\n",
                                     "*7\r\n",
                                     "*8\r\n",
                                     "*2\r\n",
                                     "*3\r\n",
                                     "*1\r\n",
                                     "*0\r\n",
                                     "*-1\r\n",
                                     "*2147483647\r\n",
                                     "*32769\r\n",
                                     "*9223372036854775807\r\n",
                                     "$5\r\nallow\r\n",
                                     "$4\r\ndeny\r\n",
                                     "$5\r\nnever\r\n",
                                     "$-1\r\n",
                                     "$0\r\n\r\n",
                                     "$9\r\n127.0.0.1\r\n",
                                     "$536870913\r\n",
                                     "$4294967295\r\n",
                                     ":0\r\n",
                                     ":1\r\n",
                                     ":5460\r\n",
                                     ":16383\r\n",
                                     ":16384\r\n",
                                     ":65535\r\n",
                                     ":-1\r\n",
                                     ":9223372036854775807\r\n",
                                     ":-9223372036854775808\r\n",
                                     "$4\r\n6379\r\n",
                                     "$6\r\n-12345\r\n",
                                     "+OK\r\n",
                                     "+PONG\r\n",
                                     "-ERR unknown command\r\n",
                                     "-MOVED 3999 127.0.0.1:6381\r\n",
                                     "-MOVED 16384 127.0.0.1:6381\r\n",
                                     "-MOVED 1 :6381\r\n",
                                     "-MOVED 1\r\n",
                                     "-MOVED \r\n",
                                     "-ASK 1 [::1]:70000\r\n",
                                     "-OOM\r\n",
                                     "-NOPERM to run the\r\n",
                                     "-\r\n",
                                     "$16\r\n1763836800123456\r\n",
                                     "$3\r\n1:2\r\n",
                                     "\r\n",
                                     "*",
                                     "$",
                                     "-",
                                     ":",
                                     "0"};

enum { PIECES = sizeof pieces / sizeof *pieces };

static long long pick_number(struct prop *prop)
{
    static const long long numbers[] = {0,     1,     2,     5460, 6379,      16383,    16384,
                                        16385, 65535, 65536, -1,   INT64_MAX, INT64_MIN};
    return numbers[prop_pick(prop, sizeof numbers / sizeof *numbers)];
}

/* A map of one range, permits of a lease, or a decision, as an engine would write it, with numbers of its own. */
static size_t pick_shape(struct prop *prop, char bytes[SHAPE_MAX])
{
    const long long one = pick_number(prop), two = pick_number(prop), three = pick_number(prop);
    if (prop_chance(prop, 2)) {
        return (size_t)snprintf(bytes, SHAPE_MAX, "*1\r\n*3\r\n:%lld\r\n:%lld\r\n*2\r\n$9\r\n127.0.0.1\r\n:%lld\r\n",
                                one, two, three);
    }
    if (prop_chance(prop, 4)) {
        return (size_t)snprintf(bytes, SHAPE_MAX, "*5\r\n:%lld\r\n:%lld\r\n:0\r\n:%lld\r\n:0\r\n", one, two, three);
    }
    return (size_t)snprintf(bytes, SHAPE_MAX,
                            "*8\r\n$5\r\nallow\r\n:%lld\r\n:%lld\r\n:%lld\r\n:0\r\n:0\r\n:1\r\n:%lld\r\n", one, two,
                            three, pick_number(prop));
}

static size_t pick_bytes(struct prop *prop, char bytes[TEXT_SIZE])
{
    size_t size = 0;
    while (prop_more(prop, 20) && size + SHAPE_MAX < TEXT_SIZE) {
        if (prop_chance(prop, 8)) {
            bytes[size++] = (char)prop_pick(prop, 256);
            continue;
        }
        if (prop_chance(prop, 4)) {
            size += pick_shape(prop, bytes + size);
            continue;
        }
        const char *const piece = pieces[prop_pick(prop, PIECES)];
        memcpy(bytes + size, piece, strlen(piece));
        size += strlen(piece);
    }
    return size;
}

/* ---- answers ---- */

struct scene {
    struct prop *prop;
    struct pool *pool;
    weir_engine_limit limit;
    unsigned asked, answered;
};

static void check_map(struct prop *prop, struct pool *pool)
{
    const unsigned servers = pool->servers;
    prop_check(prop, servers >= 1 && servers <= SERVERS_MAX, "%u servers", servers);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        const unsigned owner = pool_owner(pool, slot);
        prop_check(prop, owner < servers || owner == NOWHERE, "slot %u is of %u, of %u servers", slot, owner, servers);
    }
    for (unsigned i = 0; i < servers; i++) {
        prop_check(prop, pool->server[i]->endpoint.port != 0, "server %u has no port", i);
    }
}

static void check_decision(struct prop *prop, struct scene *scene, const redisReply *reply, enum link_way way)
{
    const uint64_t cost = 1;
    weir_engine_ask ask = {.verb = WEIR_ASK_TAKE, .limit = &scene->limit, .cost = &cost, .costs = 1};
    if (!wire_answer(&ask, reply, way, 1)) return;
    prop_check(prop, ask.decision.limit < scene->limit.count, "limit %u of %u", ask.decision.limit, scene->limit.count);
    prop_check(prop, ask.decision.verdict >= WEIR_ALLOW && ask.decision.verdict <= WEIR_NEVER, "verdict %u",
               ask.decision.verdict);
}

static void on_answer(struct link *link, void *context, const redisReply *reply)
{
    struct scene *const scene = context;
    unsigned slot = 0;
    (void)link;
    scene->answered++;
    if (reply == NULL) return;
    const enum fault fault = fault_of(reply);
    if (fault == FAULT_MOVED || fault == FAULT_ASK) {
        const unsigned server = pool_read_redirect(scene->pool, 0, strchr(reply->str, ' ') + 1, &slot);
        prop_check(scene->prop, server == NOWHERE || slot < SLOTS, "slot %u", slot);
        if (server != NOWHERE) pool_set_slot(scene->pool, slot, server);
    }
    const unsigned primary = pool_read_primary(scene->pool, reply);
    prop_check(scene->prop, primary == NOWHERE || primary < scene->pool->servers, "primary %u", primary);
    pool_set_slots(scene->pool, 0, reply);
    check_decision(scene->prop, scene, reply, LINK_MODULE);
    check_decision(scene->prop, scene, reply, LINK_FUNCTIONS);
    uint64_t id, permits;
    const bool leased = wire_leased(reply, LEASED_MOST, &id, &permits);
    prop_check(scene->prop, !leased || permits <= LEASED_MOST, "more was leased than wanted: %" PRIu64, permits);
}

static void ask(struct scene *scene, struct link *link)
{
    const char *const word = "PING";
    const size_t size = 4;
    for (unsigned i = 0; i < ASKED; i++) scene->asked += link_send(link, 1, &word, &size, on_answer, scene);
}

/* As link_open leaves it when it is connected and has greeted, but of a socket that is there already. */
static void begin(struct link *link, int socket)
{
    link->context = redisConnectFd(socket);
    link->context->flags &= ~REDIS_BLOCK;
    link->state = LINK_READY;
    link_limit_arrays(link);
}

static void read_answers(struct prop *prop, struct scene *scene)
{
    char bytes[TEXT_SIZE];
    int pair[2];
    struct link link = {.state = LINK_CLOSED};
    const size_t size = pick_bytes(prop, bytes);
    prop_check(prop, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0, "no sockets");
    begin(&link, pair[0]);
    ask(scene, &link);
    for (size_t at = 0; at < size;) {
        const size_t some = prop_pick_size(prop, size - at - 1) + 1;
        prop_check(prop, send(pair[1], bytes + at, some, MSG_NOSIGNAL) >= 0 || link.state == LINK_CLOSED, "not sent");
        link_process(&link, 1);
        at += some;
    }
    close(pair[1]);
    for (int turn = 0; turn < TURNS_MAX && link.state != LINK_CLOSED; turn++) link_process(&link, 1);
    prop_check(prop, link.state == LINK_CLOSED, "it is open behind the end");
    prop_check(prop, scene->asked == scene->answered, "%u asked, %u answered", scene->asked, scene->answered);
    link_close(&link);
}

/* ---- URLs ---- */

static void read_url(struct prop *prop)
{
    static const char *const parts[] = {"redis://",
                                        "rediss://",
                                        "unix://",
                                        "redis+cluster://",
                                        "redis+sentinel://",
                                        "host",
                                        ":6379",
                                        "[::1]",
                                        ",",
                                        "/",
                                        "?db=",
                                        "12",
                                        "%40",
                                        "%00",
                                        "%",
                                        "@",
                                        ":",
                                        "[",
                                        "]",
                                        "65536"};
    char text[TEXT_SIZE] = "", written[ENDPOINT_TEXT_MAX];
    size_t size = 0;
    struct engine_url url;
    weir_error error = {0};
    while (prop_more(prop, 8) && size + 32 < sizeof text) {
        if (prop_chance(prop, 8)) text[size++] = (char)(prop_pick(prop, 255) + 1);
        else size += (size_t)snprintf(text + size, 32, "%s", parts[prop_pick(prop, sizeof parts / sizeof *parts)]);
        text[size] = '\0';
    }
    if (url_read(&url, text, &error) != 0) {
        prop_check(prop, error.column >= 0 && (size_t)error.column <= size + 1, "column %d of %zu", error.column, size);
        return;
    }
    prop_check(prop, url.endpoints >= 1 && url.endpoints <= URL_ENDPOINTS_MAX, "%u places", url.endpoints);
    for (unsigned i = 0; i < url.endpoints; i++) {
        prop_check(prop, url.endpoint[i].host[0] != '\0', "no host in %s", text);
        url_endpoint_text(&url.endpoint[i], written);
    }
}

static void property(struct prop *prop)
{
    struct scene scene = {.prop = prop};
    read_url(prop);
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    options.keys_max = 1;
    prop_check(prop, pool_open(&scene.pool, "redis+cluster://127.0.0.1:1", &options, NULL) == 0, "no pool");
    scene.pool->is_open = false; /* so that names are not looked up */
    scene.limit.count = (unsigned)prop_pick(prop, WEIR_LIMITS_MAX) + 1;
    read_answers(prop, &scene);
    check_map(prop, scene.pool);
    pool_leave(scene.pool);
}

PROPERTY("engine_reply", property, 3000);
