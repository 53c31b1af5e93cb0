/* SPDX-License-Identifier: MIT
   map.c - who has which key, and who is asked about that.

       one server    it has all                          (nobody is asked)
       sentinels     the primary has all                 SENTINEL GET-MASTER-ADDR-BY-NAME
       cluster       slot -> server                      CLUSTER SLOTS; MOVED corrects one slot at once

   May touch: the hub.  Promises: whatever a server says, no more than SERVERS_MAX servers are known and nothing is
   written beside the map; nobody looks more often than every SEEK_PAUSE_NS once somebody is known.  Leaves to others:
   asking (seek.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "redis/client/hub.h"

#define SEEK_PAUSE_NS UINT64_C(100000000)
enum { PORT_MAX = 65535, KEYS_TRIED = 8 * SLOTS };

/* ---- looking for it ---- */

bool hub_may_seek(struct hub *hub, uint64_t now_ns)
{
    bool may = true;
    host_lock(&hub->mutex);
    if (hub->seek.state == BREAKER_OPEN) may = breaker_claim(&hub->seek, now_ns);
    else if (hub->known) may = now_ns >= hub->seek_at_ns;
    if (may) hub->seek_at_ns = now_ns + SEEK_PAUSE_NS;
    host_unlock(&hub->mutex);
    return may;
}

bool hub_is_lost(struct hub *hub)
{
    host_lock(&hub->mutex);
    const bool lost = !hub->known && hub->seek.state == BREAKER_OPEN;
    host_unlock(&hub->mutex);
    return lost;
}

unsigned hub_candidate(struct hub *hub)
{
    host_lock(&hub->mutex);
    const unsigned among = hub->url.kind == URL_SENTINEL ? hub->url.places : hub->servers;
    unsigned candidate = hub->seek_turn++ % among;
    /* One that answers, if there is any. */
    for (unsigned i = 0; i < among && hub->server[candidate]->away; i++) candidate = hub->seek_turn++ % among;
    host_unlock(&hub->mutex);
    return candidate;
}

void hub_seek_failed(struct hub *hub, uint64_t now_ns, const char *why)
{
    host_lock(&hub->mutex);
    breaker_fail(&hub->seek, now_ns, true);
    host_unlock(&hub->mutex);
    hub_map_changed(hub, now_ns, why);
}

/* ---- found ---- */

/* [locked] */
static void mark_used(struct hub *hub)
{
    const unsigned slots = hub->url.kind == URL_CLUSTER ? SLOTS : 1;
    for (unsigned i = 0; i < hub->servers; i++) hub->server[i]->used = false;
    for (unsigned i = 0; i < slots; i++) {
        if (hub->slot[i] != NOWHERE) hub->server[hub->slot[i]]->used = true;
    }
}

static void found(struct hub *hub, const char *what)
{
    host_lock(&hub->mutex);
    mark_used(hub);
    breaker_sound(&hub->seek);
    atomic_store(&hub->known, true);
    atomic_store(&hub->wanted, false);
    host_unlock(&hub->mutex);
    hub_map_changed(hub, UINT64_MAX, what);
}

void hub_set_primary(struct hub *hub, unsigned server)
{
    char text[PLACE_TEXT_MAX], line[PLACE_TEXT_MAX + LINK_WHY_MAX];
    atomic_store_explicit(&hub->slot[0], (uint16_t)server, memory_order_release);
    snprintf(line, sizeof line, "%s: is the primary", place_text(&hub->server[server]->place, text));
    found(hub, line);
}

/* An address as servers tell it; without a host it is the one that told. */
static bool read_place(const struct hub *hub, unsigned teller, const char *host, size_t size, long long port,
                       struct engine_place *place)
{
    if (size >= sizeof place->host || port <= 0 || port > PORT_MAX) return false;
    memset(place, 0, sizeof *place);
    if (size != 0) memcpy(place->host, host, size);
    else memcpy(place->host, hub->server[teller]->place.host, sizeof place->host);
    place->port = (uint16_t)port;
    return true;
}

/* [host, port] */
unsigned hub_read_primary(struct hub *hub, const redisReply *reply)
{
    struct engine_place place;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) return NOWHERE;
    const redisReply *const host = reply->element[0], *const port = reply->element[1];
    if (host->str == NULL || host->len == 0 || port->str == NULL) return NOWHERE;
    if (!read_place(hub, 0, host->str, host->len, strtol(port->str, NULL, 10), &place)) return NOWHERE;
    return hub_server(hub, &place);
}

/* [from, to, [host, port, ...], ...] */
static void set_range(struct hub *hub, unsigned teller, const redisReply *range, uint16_t map[SLOTS])
{
    struct engine_place place;
    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3) return;
    const redisReply *const from = range->element[0], *const to = range->element[1], *const node = range->element[2];
    if (from->type != REDIS_REPLY_INTEGER || to->type != REDIS_REPLY_INTEGER) return;
    if (from->integer < 0 || to->integer >= SLOTS || node->type != REDIS_REPLY_ARRAY || node->elements < 2) return;
    const redisReply *const host = node->element[0], *const port = node->element[1];
    const size_t size = host->str != NULL ? host->len : 0;
    if (port->type != REDIS_REPLY_INTEGER || !read_place(hub, teller, host->str, size, port->integer, &place)) return;
    const unsigned server = hub_server(hub, &place);
    for (long long slot = from->integer; slot <= to->integer; slot++) map[slot] = (uint16_t)server;
}

bool hub_set_slots(struct hub *hub, unsigned server, const redisReply *reply)
{
    uint16_t map[SLOTS];
    bool any = false;
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY) return false;
    for (unsigned i = 0; i < SLOTS; i++) map[i] = NOWHERE;
    for (size_t i = 0; i < reply->elements && i < SLOTS; i++) set_range(hub, server, reply->element[i], map);
    for (unsigned i = 0; i < SLOTS; i++) any = any || map[i] != NOWHERE;
    if (!any) return false;
    for (unsigned i = 0; i < SLOTS; i++) atomic_store_explicit(&hub->slot[i], map[i], memory_order_release);
    found(hub, "the cluster's slots are known");
    return true;
}

unsigned hub_read_redirect(struct hub *hub, unsigned server, const char *text, unsigned *slot)
{
    struct engine_place place;
    char *end = NULL;
    const unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end != ' ' || number >= SLOTS) return NOWHERE;
    const char *const host = end + 1, *const colon = strrchr(host, ':');
    if (colon == NULL) return NOWHERE;
    const long port = strtol(colon + 1, &end, 10);
    if (!read_place(hub, server, host, (size_t)(colon - host), port, &place)) return NOWHERE;
    *slot = (unsigned)number;
    return hub_server(hub, &place);
}

void hub_own_key(const struct hub *hub, unsigned server, const char *word, char key[HUB_KEY_MAX])
{
    snprintf(key, HUB_KEY_MAX, "{%s%s}", hub->prefix, word);
    for (unsigned i = 0; i < KEYS_TRIED && hub_owner(hub, slots_of(key, strlen(key))) != server; i++) {
        snprintf(key, HUB_KEY_MAX, "{%s%s%u}", hub->prefix, word, i);
    }
}

void hub_set_slot(struct hub *hub, unsigned slot, unsigned server)
{
    if (hub->url.kind != URL_CLUSTER) return;
    atomic_store_explicit(&hub->slot[slot], (uint16_t)server, memory_order_release);
    host_lock(&hub->mutex);
    hub->server[server]->used = true;
    host_unlock(&hub->mutex);
    atomic_store_explicit(&hub->wanted, true, memory_order_relaxed);
}
