/* SPDX-License-Identifier: MIT
   Loopback sockets for the load client and the bare server: "ADDRESS:PORT" or the path of a Unix socket.

   A socket that works, or a reason and exit status 1. */
#ifndef WEIR_BENCH_SOCKETS_H
#define WEIR_BENCH_SOCKETS_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

/* A path has a '/'; an IPv4 address has a port behind a colon. */
union any_address {
    struct sockaddr plain;
    struct sockaddr_in internet;
    struct sockaddr_un local;
};

static inline void socket_fail(const char *what, const char *place)
{
    fprintf(stderr, "bench-serve: %s %s: %s\n", what, place, strerror(errno));
    exit(1);
}

static inline socklen_t socket_address(const char *place, union any_address *address)
{
    *address = (union any_address){0};
    if (strchr(place, '/') != NULL) {
        address->local.sun_family = AF_UNIX;
        snprintf(address->local.sun_path, sizeof address->local.sun_path, "%s", place);
        return sizeof address->local;
    }
    char host[INET_ADDRSTRLEN];
    const char *colon = strrchr(place, ':');
    const int length = colon != NULL ? (int)(colon - place) : 0;
    snprintf(host, sizeof host, "%.*s", length, place);
    address->internet.sin_family = AF_INET;
    if (colon == NULL || inet_pton(AF_INET, host, &address->internet.sin_addr) != 1) {
        fprintf(stderr, "bench-serve: \"%s\" is no place: expected ADDRESS:PORT or a path, such as 127.0.0.1:9347\n",
                place);
        exit(2);
    }
    address->internet.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    return sizeof address->internet;
}

static inline int socket_open(const union any_address *address, int flags)
{
    return socket(address->plain.sa_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
}

/* Small answers must not wait for the acknowledgement of the ones before. */
static inline void socket_send_at_once(int socket)
{
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static inline int socket_listen(const char *place)
{
    union any_address address;
    const socklen_t size = socket_address(place, &address);
    const int listener = socket_open(&address, SOCK_NONBLOCK);
    if (listener < 0) socket_fail("socket for", place);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(listener, &address.plain, size) != 0) socket_fail("cannot bind", place);
    if (listen(listener, BACKLOG) != 0) socket_fail("cannot listen on", place);
    return listener;
}

/* Blocks until connected; the socket does not block afterwards. */
static inline int socket_connect(const char *place)
{
    union any_address address;
    const socklen_t size = socket_address(place, &address);
    const int connected = socket_open(&address, 0);
    if (connected < 0) socket_fail("socket for", place);
    if (connect(connected, &address.plain, size) != 0) socket_fail("cannot connect to", place);
    if (address.plain.sa_family == AF_INET) socket_send_at_once(connected);
    fcntl(connected, F_SETFL, O_NONBLOCK);
    return connected;
}

#endif
