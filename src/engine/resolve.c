/* SPDX-License-Identifier: MIT
   resolve.c - names of servers to addresses.

   Asking for a name takes as long as it takes, and cannot be stopped.  So it is done when the engine is opened and,
   since services that are managed by others move a name to the new primary, again after each failure: then by a thread
   that ends with the answer.

   May touch: the system's resolver, a thread.  Promises: calls never wait for it.  Leaves to others: connecting. */
#include "engine/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { ASKING_MAX = 16 /* names at once: a cluster may tell of a thousand that do not exist */ };

struct question {
    struct hub *hub;
    unsigned server;
    uint64_t edition;
    struct engine_place place;
};

static bool look_up(const char *host, int family, int flags, char out[URL_HOST_MAX])
{
    struct addrinfo *found = NULL;
    const struct addrinfo wanted = {.ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    if (getaddrinfo(host, NULL, &wanted, &found) != 0) return false;
    const bool fine = getnameinfo(found->ai_addr, found->ai_addrlen, out, URL_HOST_MAX, NULL, 0, NI_NUMERICHOST) == 0;
    freeaddrinfo(found);
    return fine;
}

bool resolve_numeric(const struct engine_place *place, struct engine_place *address)
{
    *address = *place;
    if (place->port == 0 || look_up(place->host, AF_UNSPEC, AI_NUMERICHOST, address->host)) return true;
    address->host[0] = '\0';
    return false;
}

static void ask(const struct question *question)
{
    struct engine_place address = question->place;
    struct server *const server = question->hub->server[question->server];
    /* As hiredis does: the other protocol where the first has none. */
    const bool found = look_up(question->place.host, AF_INET, 0, address.host) ||
                       look_up(question->place.host, AF_INET6, 0, address.host);
    host_lock(&question->hub->mutex);
    question->hub->asking--;
    if (server->edition == question->edition) {
        if (found) server->address = address;
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
