/* SPDX-License-Identifier: MIT
   Names of servers to addresses.

   Asking for a name takes as long as it takes, and cannot be stopped.  So it is done when the engine is opened and,
   since services that are managed by others move a name to the new primary, again after each failure: then by a thread
   that ends with the answer.  localhost is not asked for: it is what RFC 6761 says, also where there is no /etc/hosts.

   Calls never wait for it. */
#include "redis/client/link/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "format/address_text.h"

enum { ASKING_MAX = 16 /* names at once: a cluster may tell of a thousand that do not exist */ };

struct question {
    struct pool *pool;
    unsigned server;
    uint64_t edition;
    struct engine_endpoint endpoint;
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

bool resolve_known(const struct engine_endpoint *endpoint, struct engine_addresses *known)
{
    *known = (struct engine_addresses){.port = endpoint->port};
    if (endpoint->port == 0) memcpy(known->host[known->count++], endpoint->host, sizeof endpoint->host);
    else if (address_is_localhost(slice_of(endpoint->host))) {
        strcpy(known->host[known->count++], "127.0.0.1");
        strcpy(known->host[known->count++], "::1");
    } else look_up(endpoint->host, AI_NUMERICHOST, known);
    return known->count != 0;
}

bool resolve_endpoint(const struct engine_endpoint *endpoint, struct engine_addresses *addresses)
{
    return resolve_known(endpoint, addresses) || look_up(endpoint->host, 0, addresses);
}

static void ask(const struct question *question)
{
    struct engine_addresses addresses = {.port = question->endpoint.port};
    struct server *const server = question->pool->server[question->server];
    const bool found = look_up(question->endpoint.host, 0, &addresses);
    host_lock(&question->pool->mutex);
    question->pool->asking--;
    if (server->edition == question->edition) {
        if (found) server->addresses = addresses;
        server->resolving = false;
    }
    host_unlock(&question->pool->mutex);
}

/* false: there is nothing to ask, or somebody does already. */
static bool begin(struct pool *pool, unsigned server, struct question *question)
{
    struct server *const named = pool->server[server];
    host_lock(&pool->mutex);
    const bool begins = named->named && !named->resolving && pool->asking < ASKING_MAX;
    if (begins) {
        *question = (struct question){pool, server, named->edition, named->endpoint};
        named->resolving = true;
        pool->asking++;
    }
    host_unlock(&pool->mutex);
    return begins;
}

void resolve_now(struct pool *pool, unsigned server)
{
    struct question question;
    if (begin(pool, server, &question)) ask(&question);
}

static void *asking(void *argument)
{
    struct question *const question = argument;
    struct pool *const pool = question->pool;
    ask(question);
    free(question);
    pool_leave(pool);
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

void resolve_again(struct pool *pool, unsigned server)
{
    struct question question;
    if (!begin(pool, server, &question)) return;
    struct question *const given = malloc(sizeof *given);
    if (given != NULL) *given = question;
    pool_join(pool);
    if (given != NULL && start(given)) return;
    free(given);
    host_lock(&pool->mutex);
    pool->server[server]->resolving = false;
    pool->asking--;
    host_unlock(&pool->mutex);
    pool_leave(pool);
}
