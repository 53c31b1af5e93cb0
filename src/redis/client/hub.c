/* SPDX-License-Identifier: MIT
   hub.c - what the handles on one engine share.

       handle --+                +-- servers: where, answering or away (breaker)
       handle --+--- hub --------+-- map: slot -> server (map.c)
       handle --+   (counted)    +-- local table for when it is away, heartbeats, counters

   May touch: malloc, its lock.  Promises: the lock is held for some instructions, never while somebody waits for a
   server; `changed` is called without it.  At most SERVERS_MAX servers are known.  Leaves to others: connections, which
   belong to handles. */
#include "redis/client/hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "api/sized.h"
#include "redis/client/local/leases.h"
#include "redis/client/local/owed.h"
#include "redis/client/link/resolve.h"
#include "redis/client/link/secure.h"
#include "host/clock.h"
#include "redis/micro/micro.h"
#include "host/map.h"

#define DEADLINE_DEFAULT_NS UINT64_C(20000000)
#define TABLE_LONGEST_NS (UINT64_C(366) * 24 * 3600 * HOST_SECOND_NS) /* a share of a slow limit is slower still */
enum { KEYS_DEFAULT = 65536 };

/* ---- opened ---- */

static bool copy(char out[URL_WORD_MAX], const char *text, const char *otherwise)
{
    const char *const chosen = text != NULL ? text : otherwise;
    return (size_t)snprintf(out, URL_WORD_MAX, "%s", chosen) < URL_WORD_MAX;
}

static int read_options(struct hub *hub, const weir_engine_options *options, weir_error *error)
{
    const weir_engine_options defaults = WEIR_ENGINE_OPTIONS;
    hub->options = defaults;
    const int failed = api_read_options(&hub->options, sizeof hub->options, options, "WEIR_ENGINE_OPTIONS", error);
    if (failed != 0) return failed;
    weir_engine_options *const chosen = &hub->options;
    if (chosen->deadline_ns == 0) chosen->deadline_ns = DEADLINE_DEFAULT_NS;
    if (chosen->away == WEIR_AWAY_DEFAULT) chosen->away = WEIR_AWAY_LOCAL;
    if (chosen->keys_max == 0) chosen->keys_max = KEYS_DEFAULT;
    if (chosen->lease_ns != 0 && (chosen->lease_ns < LEASES_LIFE_LEAST_NS || chosen->lease_ns > LEASES_LIFE_MOST_NS)) {
        return api_fail(error, WEIR_EINVAL, "lease_ns: 1 ms to an hour was expected, or 0 for no leases");
    }
    if (chosen->away > WEIR_AWAY_CLOSED) return api_fail(error, WEIR_EINVAL, "away: a weir_away was expected");
    if (!copy(hub->prefix, chosen->prefix, "weir:") || hub->prefix[0] == '\0' || strpbrk(hub->prefix, "{}") != NULL) {
        return api_fail(error, WEIR_EINVAL, "prefix: 1 to 511 bytes without { and } were expected, as in \"weir:\"");
    }
    if (!copy(hub->user, chosen->user, hub->url.user) || !copy(hub->password, chosen->password, hub->url.password)) {
        return api_fail(error, WEIR_EINVAL, "a user and password of at most 511 bytes were expected");
    }
    /* Else he would be asked as somebody else: the engine's default user. */
    if (hub->user[0] != '\0' && hub->password[0] == '\0') {
        return api_fail(error, WEIR_EINVAL,
                        "a user is named, but no password: it is in the URL (user:password@host), in a file, or in "
                        "WEIR_ENGINE_PASSWORD");
    }
    return 0;
}

static int open_table(struct hub *hub, weir_error *error)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = hub->options.keys_max;
    options.sharing = WEIR_PRIVATE;
    options.refill_max_ns = TABLE_LONGEST_NS;
    return weir_table_open(&hub->table, &options, error);
}

static uint64_t random_64(void)
{
    uint64_t random = 0;
    if (host_random(&random, sizeof random) != 0) random = host_now_ns();
    return random;
}

/* Nobody has counted it yet. */
static void begin_as_node(struct hub *hub)
{
    snprintf(hub->id, sizeof hub->id, "%016llx.%u", (unsigned long long)random_64(), MICRO_FORMAT);
    atomic_store(&hub->entered_ns, 0);
    atomic_store(&hub->reached_ns, 0);
    atomic_store(&hub->heard_ns, 0);
    atomic_store(&hub->is_entering, false);
    atomic_store(&hub->beat_at_ns, 0);
}

static int open_parts(struct hub *hub, const weir_engine_options *options, weir_error *error)
{
    int failed = read_options(hub, options, error);
    if (failed == 0) failed = open_table(hub, error);
    if (failed == 0 && hub->url.tls) failed = secure_open(&hub->tls, &hub->url, error);
    if (failed != 0) return failed;
    for (unsigned i = 0; i < SLOTS; i++) atomic_init(&hub->slot[i], NOWHERE);
    breaker_init(&hub->seek, random_64());
    begin_as_node(hub);
    for (unsigned i = 0; i < hub->url.places; i++) {
        const unsigned server = hub_server(hub, &hub->url.place[i]);
        if (server == NOWHERE) return api_fail(error, WEIR_ENOMEM, "no memory for the servers");
        resolve_now(hub, server);
    }
    hub->is_open = true;
    if (hub->url.kind == URL_ONE) hub_set_primary(hub, 0);
    return 0;
}

static void hold(struct host_fork_watch *watch)
{
    host_lock(&((struct hub *)(void *)((char *)watch - offsetof(struct hub, fork_watch)))->mutex);
}

/* A child is a node of its own: if it and its parent were counted as one, they would have two shares. */
static void let_go(struct host_fork_watch *watch, bool child)
{
    struct hub *hub = (struct hub *)(void *)((char *)watch - offsetof(struct hub, fork_watch));
    if (child) begin_as_node(hub);
    host_unlock(&hub->mutex);
}

static void hub_close(struct hub *hub)
{
    host_fork_watch_close(&hub->fork_watch);
    for (unsigned i = 0; i < hub->servers; i++) free(hub->server[i]);
    owed_close(hub);
    weir_table_close(hub->table);
    secure_close(hub->tls);
    host_mutex_close(&hub->mutex);
    free(hub);
}

int hub_open(struct hub **owned, const char *url, const weir_engine_options *options, weir_error *error)
{
    *owned = NULL;
    const int unready = api_prepare(error);
    if (unready != 0) return unready;
    struct hub *const hub = calloc(1, sizeof *hub);
    if (hub == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for an engine");
    host_mutex_open(&hub->mutex);
    hub->fork_watch = (struct host_fork_watch){.hold = hold, .let_go = let_go};
    host_fork_watch_open(&hub->fork_watch);
    hub->handles = 1;
    int failed = url_read(&hub->url, url, error);
    if (failed == 0) failed = open_parts(hub, options, error);
    if (failed == 0) *owned = hub;
    else hub_close(hub);
    return failed;
}

void hub_join(struct hub *hub)
{
    host_lock(&hub->mutex);
    hub->handles++;
    host_unlock(&hub->mutex);
}

void hub_leave(struct hub *hub)
{
    host_lock(&hub->mutex);
    const bool last = --hub->handles == 0;
    host_unlock(&hub->mutex);
    if (last) hub_close(hub);
}

struct link_greeting hub_greeting(const struct hub *hub, unsigned server)
{
    const bool sentinel = hub->url.kind == URL_SENTINEL && server < hub->url.places;
    return (struct link_greeting){.user = hub->user,
                                  .password = hub->password,
                                  .database = sentinel ? 0 : hub->url.database,
                                  .primary = !sentinel && hub->url.kind != URL_CLUSTER,
                                  .sentinel = sentinel,
                                  .tls = hub->tls,
                                  .host = hub->server[server]->place.host};
}

/* ---- servers ---- */

/* [locked] A place that nobody needs any more, when there are too many. */
static unsigned unused_server(const struct hub *hub)
{
    for (unsigned i = hub->url.places; i < SERVERS_MAX; i++) {
        if (!hub->server[i]->used) return i;
    }
    return NOWHERE;
}

/* [locked] */
static unsigned add_server(struct hub *hub, const struct engine_place *place)
{
    unsigned at = hub->servers;
    if (at == SERVERS_MAX) at = unused_server(hub);
    else if ((hub->server[at] = calloc(1, sizeof *hub->server[at])) == NULL) at = NOWHERE;
    if (at == NOWHERE) return at;
    struct server *const server = hub->server[at];
    server->place = *place;
    server->edition = ++hub->editions;
    server->was_away = false;
    atomic_store(&server->away, false);
    atomic_store(&server->trial, false);
    breaker_init(&server->breaker, random_64());
    server->resolving = false;
    server->named = !resolve_known(place, &server->addresses);
    if (at == hub->servers) atomic_store_explicit(&hub->servers, at + 1, memory_order_release);
    return at;
}

unsigned hub_server(struct hub *hub, const struct engine_place *place)
{
    unsigned found = NOWHERE;
    host_lock(&hub->mutex);
    for (unsigned i = 0; i < hub->servers && found == NOWHERE; i++) {
        /* A sentinel and a server of data never are the same one. */
        if (hub->url.kind == URL_SENTINEL && i < hub->url.places) continue;
        if (place_is(&hub->server[i]->place, place)) found = i;
    }
    const bool is_new = found == NOWHERE;
    if (is_new) found = add_server(hub, place);
    host_unlock(&hub->mutex);
    if (is_new && found != NOWHERE && hub->is_open) resolve_again(hub, found); /* before, the opener waits for it */
    return found;
}

void hub_addresses(struct hub *hub, unsigned server, struct engine_addresses *addresses, uint64_t *edition)
{
    host_lock(&hub->mutex);
    *addresses = hub->server[server]->addresses;
    *edition = hub->server[server]->edition;
    host_unlock(&hub->mutex);
}

/* ---- away, and back ---- */

/* [locked] */
static void show(struct server *server)
{
    atomic_store_explicit(&server->probe_at_ns, server->breaker.probe_at, memory_order_relaxed);
    atomic_store_explicit(&server->trial, server->breaker.state == BREAKER_TRIAL, memory_order_relaxed);
    atomic_store_explicit(&server->away, server->breaker.state == BREAKER_OPEN, memory_order_release);
}

/* [locked] Is it another state than was told?  Then it has to be told. */
static bool is_news(struct hub *hub, uint64_t now_ns, weir_outage outage)
{
    bool away = !hub->known && hub->seek.state == BREAKER_OPEN;
    for (unsigned i = 0; i < hub->servers; i++) away = away || (hub->server[i]->used && hub->server[i]->was_away);
    if (away == hub->told_away) return false;
    hub->told_away = away;
    if (away) atomic_store(&hub->away_at_ns, now_ns);
    atomic_store(&hub->is_away, away);
    if (away) hub_count(&hub->counts.aways, 1);
    if (away) hub_count(&hub->counts.outages[outage], 1);
    return true;
}

static void tell(const struct hub *hub, bool news, bool away, const struct server *server, const char *what)
{
    char line[PLACE_TEXT_MAX + LINK_WHY_MAX + 2], text[PLACE_TEXT_MAX];
    if (!news || hub->options.changed == NULL) return;
    if (server != NULL) snprintf(line, sizeof line, "%s: %s", place_text(&server->place, text), what);
    else snprintf(line, sizeof line, "%s", what);
    hub->options.changed(hub->options.context, away, line);
}

bool hub_claim(struct hub *hub, unsigned server, uint64_t now_ns)
{
    struct server *const probed = hub->server[server];
    if (now_ns < atomic_load_explicit(&probed->probe_at_ns, memory_order_relaxed)) return false;
    host_lock(&hub->mutex);
    const bool claimed = breaker_claim(&probed->breaker, now_ns);
    show(probed);
    host_unlock(&hub->mutex);
    return claimed;
}

void hub_failed(struct hub *hub, unsigned server, uint64_t now_ns, weir_outage outage, const char *why, bool probe)
{
    struct server *const failed = hub->server[server];
    host_lock(&hub->mutex);
    breaker_fail(&failed->breaker, now_ns, probe);
    const bool first = failed->used && !failed->was_away;
    failed->was_away = true;
    show(failed);
    const bool news = is_news(hub, now_ns, outage) || first, away = hub->told_away;
    host_unlock(&hub->mutex);
    resolve_again(hub, server);
    atomic_store_explicit(&hub->wanted, true, memory_order_relaxed);
    tell(hub, news, away, failed, why);
}

void hub_passed(struct hub *hub, unsigned server)
{
    host_lock(&hub->mutex);
    breaker_pass(&hub->server[server]->breaker);
    show(hub->server[server]);
    host_unlock(&hub->mutex);
}

void hub_sound(struct hub *hub, unsigned server, uint64_t now_ns)
{
    struct server *const sound = hub->server[server];
    if (!atomic_load_explicit(&sound->trial, memory_order_relaxed)) return;
    host_lock(&hub->mutex);
    if (sound->breaker.state == BREAKER_TRIAL) breaker_sound(&sound->breaker);
    const bool back = sound->used && sound->was_away && sound->breaker.state != BREAKER_OPEN;
    sound->was_away = sound->breaker.state == BREAKER_OPEN;
    show(sound);
    const bool news = is_news(hub, now_ns, WEIR_OUTAGE_REFUSED) || back, away = hub->told_away;
    host_unlock(&hub->mutex);
    tell(hub, news, away, sound, "answers again");
}

bool hub_tell(struct hub *hub, unsigned server, uint64_t now_ns, const char *what)
{
    uint64_t last_ns = atomic_load_explicit(&hub->told_at_ns, memory_order_relaxed);
    if (last_ns != 0 && now_ns - last_ns < HOST_SECOND_NS) return false;
    if (!atomic_compare_exchange_strong(&hub->told_at_ns, &last_ns, now_ns)) return false;
    tell(hub, true, atomic_load_explicit(&hub->is_away, memory_order_relaxed), hub->server[server], what);
    return true;
}

void hub_map_changed(struct hub *hub, uint64_t now_ns, const char *what)
{
    host_lock(&hub->mutex);
    const bool news = is_news(hub, now_ns, WEIR_OUTAGE_DISCOVERY), away = hub->told_away;
    host_unlock(&hub->mutex);
    tell(hub, news, away, NULL, what);
}

uint64_t hub_retry_ns(struct hub *hub, unsigned server, uint64_t now_ns)
{
    host_lock(&hub->mutex);
    const struct breaker *const breaker = server != NOWHERE ? &hub->server[server]->breaker : &hub->seek;
    const uint64_t wait_ns = breaker_wait_ns(breaker, now_ns);
    host_unlock(&hub->mutex);
    return wait_ns;
}
