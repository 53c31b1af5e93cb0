/* SPDX-License-Identifier: MIT
   resolve.c - names of servers to addresses.

   Asking for a name takes as long as it takes, and cannot be stopped.  So it is done when the engine is opened and,
   since services that are managed by others move a name to the new primary, again after each failure: then by a thread
   that ends with the answer.  localhost is not asked for: it is what RFC 6761 says, also where there is no /etc/hosts.

   May touch: the system's resolver, a thread.  Promises: calls never wait for it.  Leaves to others: connecting. */
#include "redis/client/link/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host/address.h"

enum { ASKING_MAX = 16 /* names at once: a cluster may tell of a thousand that do not exist */ };

struct question {
    struct hub *hub;
    unsigned server;
    uint64_t edition;
    struct engine_place place;
};

static void add_all(const struct addrinfo *found, int family, struct engine_addresses *addresses)
{
    for (; found != NULL && addresses->count < URL_ADDRESSES_MAX; found = found->ai_next) {
        char *const host = addresses->host[addresses->count];
        if (found->ai_family != family) continue;
        addresses->count +=
            getnameinfo(found->ai_addr, found->ai_addrlen, host, URL_HOST_MAX, NULL, 0, NI_NUMERICHOST) == 0;
    }
}

/* Those of IPv4 first: engines listen there more often, and not every network carries IPv6. */
static bool look_up(const char *host, int flags, struct engine_addresses *addresses)
{
    struct addrinfo *found = NULL;
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    if (getaddrinfo(host, NULL, &wanted, &found) != 0) return false;
    add_all(found, AF_INET, addresses);
    add_all(found, AF_INET6, addresses);
    freeaddrinfo(found);
    return addresses->count != 0;
}

bool resolve_known(const struct engine_place *place, struct engine_addresses *known)
{
    *known = (struct engine_addresses){.port = place->port};
    if (place->port == 0) memcpy(known->host[known->count++], place->host, sizeof place->host);
    else if (host_is_localhost(place->host)) {
        strcpy(known->host[known->count++], "127.0.0.1");
        strcpy(known->host[known->count++], "::1");
    } else look_up(place->host, AI_NUMERICHOST, known);
    return known->count != 0;
}

bool resolve_place(const struct engine_place *place, struct engine_addresses *addresses)
{
    return resolve_known(place, addresses) || look_up(place->host, 0, addresses);
}

static void ask(const struct question *question)
{
    struct engine_addresses addresses = {.port = question->place.port};
    struct server *const server = question->hub->server[question->server];
    const bool found = look_up(question->place.host, 0, &addresses);
    host_lock(&question->hub->mutex);
    question->hub->asking--;
    if (server->edition == question->edition) {
        if (found) server->addresses = addresses;
        server->resolving = false;
    }
    host_unlock(&question->hub->mutex);
}

/* false: there is nothing to ask, or somebody does already. */
static bool begin(struct hub *hub, unsigned server, struct question *question)
{
    struct server *const named = hub->server[server];
    host_lock(&hub->mutex);
    const bool begins = named->named && !named->resolving && hub->asking < ASKING_MAX;
    if (begins) {
        *question = (struct question){hub, server, named->edition, named->place};
        named->resolving = true;
        hub->asking++;
    }
    host_unlock(&hub->mutex);
    return begins;
}

void resolve_now(struct hub *hub, unsigned server)
{
    struct question question;
    if (begin(hub, server, &question)) ask(&question);
}

static void *asking(void *argument)
{
    struct question *const question = argument;
    struct hub *const hub = question->hub;
    ask(question);
    free(question);
    hub_leave(hub);
    return NULL;
}

/* Signals are for the threads of the program. */
static bool start(struct question *question)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&thread, &attributes, asking, question) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

void resolve_again(struct hub *hub, unsigned server)
{
    struct question question;
    if (!begin(hub, server, &question)) return;
    struct question *const given = malloc(sizeof *given);
    if (given != NULL) *given = question;
    hub_join(hub);
    if (given != NULL && start(given)) return;
    free(given);
    host_lock(&hub->mutex);
    hub->server[server]->resolving = false;
    hub->asking--;
    host_unlock(&hub->mutex);
    hub_leave(hub);
}
