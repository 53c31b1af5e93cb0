/* SPDX-License-Identifier: MIT
   The least that a service of one thread does: wait, read, parse, answer, write.

   One epoll loop.  What has come on a connection is read at once into a block that all share, answered command by
   command (answer.c), and the answers are written at once.

   Every byte is parsed; answers in order; a connection that sends what is no request, or does not read its answers, is
   closed.

       bench-serve-bare [--naive|--http] ADDRESS:PORT|PATH
           the floor: answers without deciding; --naive: RESP, each command decided one by one; --http: GET and POST */
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "answer.h"
#include "sockets.h"

enum { EVENTS = 256, CONNECTIONS_MAX = 4096, BLOCK_SIZE = 1 << 16, REST_MAX = 1 << 12 };

/* What a connection leaves for its next batch: the beginning of a request whose end has not come. */
struct rest {
    size_t size;
    char bytes[REST_MAX];
};

struct server {
    int poll, listener;
    answer_function *answer;
    struct rest *rests; /* by descriptor */
    char in[BLOCK_SIZE], out[BLOCK_SIZE];
};

static void watch(const struct server *server, int socket)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = socket};
    if (epoll_ctl(server->poll, EPOLL_CTL_ADD, socket, &event) != 0) socket_fail("epoll_ctl", "a connection");
}

static void accept_all(struct server *server)
{
    for (;;) {
        const int socket = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) return;
        if (socket >= CONNECTIONS_MAX) {
            close(socket);
            continue;
        }
        socket_send_at_once(socket);
        server->rests[socket].size = 0;
        watch(server, socket);
    }
}

static bool send_all(int socket, const char *bytes, size_t size)
{
    return size == 0 || send(socket, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Answers what is whole of in[0..size) and keeps what is not; false when the connection is to be closed. */
static bool answer_all(struct server *server, int socket, size_t size)
{
    const char *at = server->in, *const end = server->in + size;
    char *out = server->out;
    while (at < end) {
        const long length = server->answer(at, (size_t)(end - at), &out);
        if (length == ANSWER_BAD) return false;
        if (length == ANSWER_MORE) break;
        at += length;
        if (out + ANSWER_SIZE_MAX > server->out + sizeof server->out) {
            if (!send_all(socket, server->out, (size_t)(out - server->out))) return false;
            out = server->out;
        }
    }
    struct rest *rest = &server->rests[socket];
    rest->size = (size_t)(end - at);
    if (rest->size > REST_MAX) return false;
    memcpy(rest->bytes, at, rest->size);
    return send_all(socket, server->out, (size_t)(out - server->out));
}

static bool serve(struct server *server, int socket)
{
    const struct rest *rest = &server->rests[socket];
    memcpy(server->in, rest->bytes, rest->size);
    const ssize_t came = recv(socket, server->in + rest->size, sizeof server->in - rest->size, 0);
    if (came < 0) return errno == EAGAIN || errno == EINTR;
    return came > 0 && answer_all(server, socket, rest->size + (size_t)came);
}

static void run(struct server *server)
{
    struct epoll_event events[EVENTS];
    for (;;) {
        const int count = epoll_wait(server->poll, events, EVENTS, -1);
        if (count < 0 && errno != EINTR) socket_fail("epoll_wait", "");
        for (int i = 0; i < count; i++) {
            const int socket = events[i].data.fd;
            if (socket == server->listener) accept_all(server);
            else if (!serve(server, socket)) close(socket);
        }
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: bench-serve-bare [--naive|--http] ADDRESS:PORT|PATH\n");
    return 2;
}

int main(int argc, char **argv)
{
    enum mode mode = MODE_CONSTANT;
    if (argc == 3 && strcmp(argv[1], "--naive") == 0) mode = MODE_NAIVE;
    else if (argc == 3 && strcmp(argv[1], "--http") == 0) mode = MODE_HTTP;
    else if (argc != 2 || argv[1][0] == '-') return usage();
    static struct server server;
    server.answer = answer_for(mode);
    server.rests = calloc(CONNECTIONS_MAX, sizeof *server.rests);
    server.poll = epoll_create1(EPOLL_CLOEXEC);
    server.listener = socket_listen(argv[argc - 1]);
    if (server.rests == NULL || server.poll < 0) socket_fail("cannot begin on", argv[argc - 1]);
    watch(&server, server.listener);
    run(&server);
}
