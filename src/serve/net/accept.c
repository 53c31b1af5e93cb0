/* SPDX-License-Identifier: MIT
   New connections.

   A client that cannot be served is told so and closed, also when the process has no descriptor left; the loop never
   spins on a connection that it cannot take. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/net/conn.h"

enum { ACCEPTS_A_TURN = 64, ACCEPTS_AT_STOP = 4096 };

static const char refusal_resp[] = "-ERR max number of clients reached\r\n";
static const char refusal_http[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
                                   "Content-Type: text/plain\r\nContent-Length: 30\r\n\r\n"
                                   "max number of clients reached\n";

static void refuse(struct worker *worker, const struct listener *listener, int descriptor)
{
    const bool http = listener->protocol == SESSION_HTTP;
    const bool plain = worker->shared->tls == NULL || listener->local;
    stats_add(&worker->stats->connections_refused, 1);
    if (plain) {
        const struct slice words = slice_of(http ? refusal_http : refusal_resp);
        if (send(descriptor, words.bytes, words.size, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
            shutdown(descriptor, SHUT_WR);
        }
    }
    close(descriptor);
}

/* Every process has some that it can close: that one is used to say no. */
static bool refuse_with_spare(struct worker *worker, struct worker_listener *at, int listening)
{
    if (worker->spare_descriptor < 0) return false;
    close(worker->spare_descriptor);
    const int descriptor = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (descriptor >= 0) refuse(worker, at->listener, descriptor);
    worker->spare_descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return descriptor >= 0;
}

static int descriptor_of(const struct worker *worker, const struct listener *listener)
{
    return listener->descriptor[listener->count > 1 ? worker->number : 0];
}

static void take(struct worker *worker, const struct listener *listener, int descriptor)
{
    struct worker_shared *shared = worker->shared;
    if (atom_add(&shared->connections, 1) >= shared->connections_max) {
        atom_add(&shared->connections, UINT64_MAX);
        worker->told.too_many++;
        refuse(worker, listener, descriptor);
        return;
    }
    if (!conn_open(worker, listener, descriptor)) atom_add(&shared->connections, UINT64_MAX);
}

/* false: no more of them now. */
static bool accept_one(struct worker *worker, struct worker_listener *at)
{
    const int listening = descriptor_of(worker, at->listener);
    const int descriptor = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
        take(worker, at->listener, descriptor);
        return true;
    }
    if (errno == ECONNABORTED || errno == EINTR) return true;
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return false;
    worker->told.no_descriptors++;
    if (refuse_with_spare(worker, at, listening)) return true;
    uv_poll_stop(&at->poll);
    at->resting = true;
    return false;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct worker_listener *at = poll->data;
    (void)status, (void)events;
    for (int i = 0; i < ACCEPTS_A_TURN && accept_one(at->worker, at); i++) continue;
}

int accept_open(struct worker *worker, struct worker_listener *at, const struct listener *listener)
{
    *at = (struct worker_listener){.worker = worker, .listener = listener, .poll = {.data = at}};
    const int why = uv_poll_init(&worker->loop, &at->poll, descriptor_of(worker, listener));
    return -(why != 0 ? why : uv_poll_start(&at->poll, UV_READABLE, on_connection));
}

void accept_again(struct worker *worker)
{
    for (unsigned i = 0; i < worker->listener_count; i++) {
        struct worker_listener *at = &worker->listener[i];
        if (!at->resting || uv_is_closing((uv_handle_t *)&at->poll)) continue;
        at->resting = false;
        uv_poll_start(&at->poll, UV_READABLE, on_connection);
    }
    if (worker->spare_descriptor < 0) worker->spare_descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Connections in the backlog are accepted; the kernel refuses later ones at once, unless systemd has the socket, too:
   then they wait for the next instance. */
void accept_stop(struct worker *worker)
{
    for (unsigned i = 0; i < worker->listener_count; i++) {
        struct worker_listener *at = &worker->listener[i];
        if (uv_is_closing((uv_handle_t *)&at->poll)) continue;
        for (int j = 0; j < ACCEPTS_AT_STOP && !at->listener->inherited && accept_one(worker, at); j++) continue;
        uv_close((uv_handle_t *)&at->poll, NULL);
        if (!at->listener->inherited) shutdown(descriptor_of(worker, at->listener), SHUT_RDWR);
    }
}
