/* SPDX-License-Identifier: MIT
   Wires, and the system calls that reach them: `--wrap` puts these in the place of the system's, for the objects of the
   client as they are shipped.

       redisConnectNonBlock -> wire     send -> up -> redis_hear     redis -> wires_answer -> down -> recv

   Descriptors from WIRE_FD on are wires; all others are the system's. */
#include "simulate/wires.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#include <hiredis/hiredis.h>

#include "simulate/nodes.h"
#include "simulate/redis.h"
#include "simulate/world.h"

enum { WIRES_MOST = 4096, WIRE_FD = 1 << 20, LATENCY = 60000, JITTER = 60000 };

struct pipe {
    char *bytes;
    size_t size, arrived, taken, room;
    uint64_t last_at; /* nothing arrives before what was sent before it */
};

enum wire_state { WIRE_FREE, WIRE_CONNECTING, WIRE_OPEN, WIRE_REFUSED, WIRE_RESET };

struct wire {
    enum wire_state state;
    unsigned node, server, events; /* on their way */
    bool closed;                   /* by the node */
    bool lost;                     /* the server does not know of it */
    struct pipe up, down;
};

static struct wire wires[WIRES_MOST];
static unsigned wires_used;
static uint64_t cut_until[NODES_MOST][SERVERS_MOST][2], slow_until[SERVERS_MOST];
static unsigned slow_times[SERVERS_MOST];

/* ---- the state of the network ---- */

static void free_pipe(struct pipe *pipe)
{
    free(pipe->bytes);
    *pipe = (struct pipe){.bytes = NULL};
}

void wires_begin(void)
{
    memset(cut_until, 0, sizeof cut_until);
    memset(slow_until, 0, sizeof slow_until);
    wires_used = 0;
}

void wires_end(void)
{
    for (unsigned i = 0; i < wires_used; i++) {
        free_pipe(&wires[i].up);
        free_pipe(&wires[i].down);
        wires[i] = (struct wire){.state = WIRE_FREE};
    }
}

void wires_cut(unsigned node, unsigned server, unsigned ways, uint64_t until)
{
    if (ways & WIRES_UP) cut_until[node][server][0] = until;
    if (ways & WIRES_DOWN) cut_until[node][server][1] = until;
}

uint64_t wires_whole_at(void)
{
    uint64_t at = 0;
    for (unsigned node = 0; node < NODES_MOST; node++)
        for (unsigned server = 0; server < SERVERS_MOST; server++)
            for (unsigned way = 0; way < 2; way++)
                if (cut_until[node][server][way] > at) at = cut_until[node][server][way];
    return at;
}

void wires_slow(unsigned server, unsigned times, uint64_t until)
{
    slow_times[server] = times;
    slow_until[server] = until;
}

void wires_heal(void)
{
    memset(cut_until, 0, sizeof cut_until);
    memset(slow_until, 0, sizeof slow_until);
}

/* What is cut off is sent again some time after the cut. */
static uint64_t arrival(const struct wire *wire, bool down)
{
    const uint64_t latency = LATENCY + world_about(JITTER);
    const bool slow = slow_until[wire->server] > world_now();
    const uint64_t cut = cut_until[wire->node][wire->server][down];
    const uint64_t begins = cut > world_now() ? cut + world_below(300 * MS) : world_now();
    return begins + (slow ? latency * slow_times[wire->server] : latency);
}

/* ---- bytes ---- */

static void put(struct pipe *pipe, const void *bytes, size_t size)
{
    if (pipe->taken != 0 && pipe->size + size > pipe->room) {
        memmove(pipe->bytes, pipe->bytes + pipe->taken, pipe->size - pipe->taken);
        pipe->size -= pipe->taken;
        pipe->arrived -= pipe->taken;
        pipe->taken = 0;
    }
    if (pipe->size + size > pipe->room) {
        pipe->room = 2 * (pipe->size + size);
        pipe->bytes = realloc(pipe->bytes, pipe->room);
        if (pipe->bytes == NULL) abort();
    }
    memcpy(pipe->bytes + pipe->size, bytes, size);
    pipe->size += size;
}

static void later(struct wire *wire, bool down, world_event *event, uint64_t other)
{
    struct pipe *pipe = down ? &wire->down : &wire->up;
    const uint64_t at = arrival(wire, down);
    if (at > pipe->last_at) pipe->last_at = at;
    wire->events++;
    world_at(pipe->last_at, event, (uint64_t)(wire - wires), other);
}

/* The last event of a wire that nobody has frees it. */
static bool is_gone(struct wire *wire)
{
    wire->events--;
    if (!wire->closed) return false;
    if (wire->events == 0) {
        free_pipe(&wire->up);
        free_pipe(&wire->down);
        *wire = (struct wire){.state = WIRE_FREE};
        return true;
    }
    return false;
}

static void on_reset(uint64_t number, uint64_t other)
{
    struct wire *wire = &wires[number];
    (void)other;
    wire->lost = true;
    if (is_gone(wire) || wire->closed) return;
    wire->state = wire->state == WIRE_CONNECTING ? WIRE_REFUSED : WIRE_RESET;
    nodes_hear(wire->node);
}

static void on_up(uint64_t number, uint64_t size)
{
    struct wire *wire = &wires[number];
    const uint64_t ready = redis_ready_at(wire->server);
    if (ready > world_now()) {
        world_at(ready, on_up, number, size);
        return;
    }
    wire->up.arrived += size;
    if (wire->lost || !redis_is_up(wire->server)) {
        if (redis_is_up(wire->server) && !wire->closed) later(wire, true, on_reset, 0);
    } else {
        const size_t taken = redis_hear(wire->server, (unsigned)number, wire->up.bytes + wire->up.taken,
                                        wire->up.arrived - wire->up.taken);
        wire->up.taken += taken;
    }
    is_gone(wire);
}

static void on_down(uint64_t number, uint64_t size)
{
    struct wire *wire = &wires[number];
    wire->down.arrived += size;
    if (is_gone(wire) || wire->closed) return;
    nodes_hear(wire->node);
}

static void on_connected(uint64_t number, uint64_t other)
{
    struct wire *wire = &wires[number];
    (void)other;
    if (is_gone(wire) || wire->closed || wire->state != WIRE_CONNECTING) return;
    wire->state = WIRE_OPEN;
    nodes_hear(wire->node);
}

/* The server hears of it, and it of the server. */
static void on_syn(uint64_t number, uint64_t other)
{
    struct wire *wire = &wires[number];
    (void)other;
    if (redis_is_up(wire->server)) later(wire, true, on_connected, 0);
    else if (redis_says_no(wire->server)) later(wire, true, on_reset, 0);
    is_gone(wire);
}

void wires_answer(unsigned number, const char *bytes, size_t size)
{
    struct wire *wire = &wires[number];
    if (wire->closed || size == 0) return;
    put(&wire->down, bytes, size);
    later(wire, true, on_down, size);
}

void wires_reset_node(unsigned node)
{
    for (unsigned i = 0; i < wires_used; i++) {
        struct wire *wire = &wires[i];
        if (wire->state == WIRE_FREE || wire->closed || wire->node != node) continue;
        wire->lost = true;
        later(wire, true, on_reset, 0);
    }
}

void wires_lose_server(unsigned server, bool told)
{
    for (unsigned i = 0; i < wires_used; i++) {
        struct wire *wire = &wires[i];
        if (wire->state == WIRE_FREE || wire->server != server) continue;
        wire->lost = true;
        if (told && !wire->closed) later(wire, true, on_reset, 0);
    }
}

/* ---- system calls ---- */

static struct wire *wire_of(int fd)
{
    return fd >= WIRE_FD && fd < WIRE_FD + WIRES_MOST ? &wires[fd - WIRE_FD] : NULL;
}

static int connect_wire(unsigned node, unsigned server)
{
    unsigned number = 0;
    while (number < WIRES_MOST && wires[number].state != WIRE_FREE) number++;
    if (number == WIRES_MOST) abort();
    if (number >= wires_used) wires_used = number + 1;
    wires[number] = (struct wire){.state = WIRE_CONNECTING, .node = node, .server = server};
    later(&wires[number], false, on_syn, 0);
    return WIRE_FD + (int)number;
}

redisContext *__wrap_redisConnectNonBlock(const char *host, int port);
redisContext *__wrap_redisConnectNonBlock(const char *host, int port)
{
    redisContext *context = calloc(1, sizeof *context);
    if (context == NULL) abort();
    (void)port;
    context->reader = redisReaderCreate();
    context->fd = connect_wire(nodes_current(), redis_of_address(host));
    return context;
}

static void close_wire(struct wire *wire)
{
    wire->closed = true;
    wire->events++;
    is_gone(wire);
}

void __wrap_redisFree(redisContext *context);
void __wrap_redisFree(redisContext *context)
{
    if (context == NULL) return;
    close_wire(wire_of(context->fd));
    redisReaderFree(context->reader);
    free(context);
}

ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags)
{
    struct wire *wire = wire_of(fd);
    if (wire == NULL) return __real_send(fd, bytes, size, flags);
    if (wire->state == WIRE_RESET || nodes_is_dying(wire->node)) {
        errno = ECONNRESET;
        return -1;
    }
    put(&wire->up, bytes, size);
    later(wire, false, on_up, size);
    return (ssize_t)size;
}

ssize_t __real_recv(int fd, void *bytes, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags)
{
    struct wire *wire = wire_of(fd);
    if (wire == NULL) return __real_recv(fd, bytes, size, flags);
    const size_t there = wire->down.arrived - wire->down.taken, taken = there < size ? there : size;
    if (taken == 0) {
        errno = wire->state == WIRE_RESET ? ECONNRESET : EAGAIN;
        return -1;
    }
    memcpy(bytes, wire->down.bytes + wire->down.taken, taken);
    wire->down.taken += taken;
    return (ssize_t)taken;
}

int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    const struct wire *wire = count == 1 ? wire_of(fds->fd) : NULL;
    if (wire == NULL) return __real_poll(fds, count, timeout);
    return wire->state != WIRE_CONNECTING;
}

/* Only a handle that is closed waits by this: nothing comes any more. */
int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    (void)fds, (void)count, (void)mask;
    nodes_wait((uint64_t)timeout->tv_sec * SECOND + (uint64_t)timeout->tv_nsec);
    return 0;
}

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    const struct wire *wire = wire_of(fd);
    if (wire == NULL) return __real_getsockopt(fd, level, name, value, size);
    const int failure = wire->state == WIRE_REFUSED ? ECONNREFUSED : 0;
    memcpy(value, &failure, sizeof failure);
    return 0;
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return wire_of(fd) != NULL ? 0 : __real_fcntl(fd, command, argument);
}

ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags)
{
    unsigned char *at = bytes;
    (void)flags;
    for (size_t i = 0; i < size; i++) at[i] = (unsigned char)world_random();
    return (ssize_t)size;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    const uint64_t epoch = clock == CLOCK_REALTIME ? UINT64_C(1700000000) * SECOND : 0;
    const uint64_t now = epoch + nodes_clock_ns();
    *time = (struct timespec){.tv_sec = (time_t)(now / SECOND), .tv_nsec = (long)(now % SECOND)};
    return 0;
}
