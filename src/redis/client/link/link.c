/* SPDX-License-Identifier: MIT
   One connection to one server: what is sent is answered in its order.

       closed -> connecting -> handshake -> ready          expected:  | answer | answer | answer | ...
          ^__________|____________|__________|            one for each command sent, the oldest first

   A server that was too late for a batch still answers.  The caller has gone by then: its replies are read and dropped,
   each in its place, so that the next ones are taken for what they are.

   Never waits; a reader that meets more than LINK_REPLY_MAX bytes, or more answers than questions, breaks the
   connection; each address of a server is tried before it counts as unreachable. */
#include "redis/client/link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host/map.h"

enum { OUT_FIRST = 4096, EXPECTED_FIRST = 64, HEADER_MAX = 24, CHUNK = 16384 /* bytes that are read at once */ };

/* ---- opened and closed ---- */

void link_say_why(struct link *link, const char *why)
{
    snprintf(link->why, sizeof link->why, "%s", why);
}

void link_make_visible(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < ' ' || *text > '~') *text = '?';
    }
}

static void answer_one(struct link *link, const redisReply *reply)
{
    const struct link_expected expected = link->expected[link->head];
    link->head = (link->head + 1) & (link->ring - 1);
    link->count--;
    if (expected.answer != NULL) expected.answer(link, expected.context, reply);
}

/* An address that says nothing keeps the whole attempt: the next attempt begins with the next one. */
void link_close(struct link *link)
{
    if (link->state == LINK_CONNECTING && !link->doomed) link->address++;
    if (link->context != NULL) redisFree(link->context);
    secure_end(link->secure);
    link->context = NULL;
    link->secure = NULL;
    link->unread = 0;
    link->state = LINK_CLOSED;
    link->doomed = false;
    while (link->count > 0) answer_one(link, NULL);
    link->doomed = false;
    free(link->out);
    free(link->expected);
    link->out = NULL;
    link->expected = NULL;
    link->size = link->written = link->room = 0;
    link->head = link->ring = 0;
}

void link_doom(struct link *link, const char *why)
{
    if (link->doomed) return;
    link->doomed = true;
    link_say_why(link, why);
}

static void link_break(struct link *link, const char *why)
{
    if (!link->doomed) link_say_why(link, why);
    link_close(link);
}

/* hiredis takes the size of an array from the wire, and memory for so many before there is any of them. */
static void *make_array(const redisReadTask *task, array_size elements)
{
    const struct link *const link = task->privdata;
    const bool fine = elements <= LINK_ELEMENTS_MAX;
    return fine ? link->array(task, elements) : NULL;
}

void link_limit_arrays(struct link *link)
{
    redisReader *const reader = link->context->reader;
    link->functions = *reader->fn;
    link->array = link->functions.createArray;
    link->functions.createArray = make_array;
    reader->fn = &link->functions;
    reader->privdata = link;
}

/* What is wrong with the first one is told. */
static void say_unreachable(struct link *link, const char *why)
{
    char line[LINK_WHY_MAX];
    snprintf(line, sizeof line, "cannot be reached: %s", why);
    if (link->attempts == 1) link_say_why(link, line);
}

static bool connect_to(struct link *link, const char *host, uint16_t port)
{
    redisFree(link->context);
    link->context = port == 0 ? redisConnectUnixNonBlock(host) : redisConnectNonBlock(host, port);
    if (link->context == NULL) {
        link_say_why(link, "no memory for a connection");
        return false;
    }
    if (link->context->err != 0) {
        const bool by_system = link->context->err == REDIS_ERR_IO;
        say_unreachable(link, by_system ? host_error_text(errno) : link->context->errstr);
        return false;
    }
    fcntl(link->context->fd, F_SETFD, FD_CLOEXEC);
    link_limit_arrays(link);
    return true;
}

static void go_round(struct link *link)
{
    link->address = link->address + 1 < link->addresses.count ? link->address + 1 : 0;
}

/* The next of the addresses that were not tried yet; false: there is none, see why. */
static bool connect_next(struct link *link)
{
    const struct engine_addresses *const all = &link->addresses;
    while (link->attempts < all->count) {
        if (link->attempts++ != 0) go_round(link);
        if (connect_to(link, all->host[link->address], all->port)) return true;
    }
    go_round(link); /* the next attempt begins as this one did */
    return false;
}

bool link_open(struct link *link, const struct engine_addresses *addresses, const struct link_handshake *handshake,
               uint64_t now_ns)
{
    link_close(link);
    link->why[0] = '\0';
    link->handshake = *handshake;
    link->refused = false;
    link->load_tried = link->load_next = link->script_next = link->tried = false;
    link->heard_ns = now_ns;
    link->addresses = *addresses;
    if (link->address >= addresses->count) link->address = 0;
    link->attempts = 0;
    if (!connect_next(link)) {
        link_close(link);
        return false;
    }
    link->state = LINK_CONNECTING;
    return true;
}

/* ---- sent ---- */

static bool make_room(struct link *link, size_t size)
{
    if (link->room - link->size >= size) return true;
    size_t room = link->room != 0 ? link->room : OUT_FIRST;
    while (room - link->size < size) room *= 2;
    char *const out = realloc(link->out, room);
    if (out == NULL) return false;
    link->out = out;
    link->room = room;
    return true;
}

static bool make_ring(struct link *link)
{
    if (link->count < link->ring) return true;
    if (link->ring >= LINK_EXPECTED_MAX) return false;
    const unsigned ring = link->ring != 0 ? link->ring * 2 : EXPECTED_FIRST;
    struct link_expected *const expected = malloc(ring * sizeof *expected);
    if (expected == NULL) return false;
    for (unsigned i = 0; i < link->count; i++) {
        expected[i] = link->expected[(link->head + i) & (link->ring - 1)];
    }
    free(link->expected);
    link->expected = expected;
    link->head = 0;
    link->ring = ring;
    return true;
}

static void put(struct link *link, const void *bytes, size_t size)
{
    if (size != 0) memcpy(link->out + link->size, bytes, size);
    link->size += size;
}

static void put_header(struct link *link, char kind, size_t number)
{
    char text[HEADER_MAX];
    put(link, text, (size_t)snprintf(text, sizeof text, "%c%zu\r\n", kind, number));
}

bool link_send(struct link *link, unsigned count, const char *const text[], const size_t size[], link_answer *answer,
               void *context)
{
    size_t all = HEADER_MAX;
    for (unsigned i = 0; i < count; i++) all += HEADER_MAX + size[i];
    if (link->state < LINK_HANDSHAKE || link->doomed || !make_room(link, all) || !make_ring(link)) return false;
    put_header(link, '*', count);
    for (unsigned i = 0; i < count; i++) {
        put_header(link, '$', size[i]);
        put(link, text[i], size[i]);
        put(link, "\r\n", 2);
    }
    link->expected[(link->head + link->count) & (link->ring - 1)] = (struct link_expected){answer, context};
    link->count++;
    return true;
}

static ssize_t broken(char why[SECURE_WHY_MAX])
{
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
    snprintf(why, SECURE_WHY_MAX, "%s", host_error_text(errno));
    return -1;
}

/* So many bytes, 0 when it has to wait, -1 when it is broken. */
static ssize_t write_some(struct link *link, const char *bytes, size_t size, char why[SECURE_WHY_MAX])
{
    if (link->secure != NULL) return secure_write(link->secure, link->context->fd, bytes, size, why);
    const ssize_t written = send(link->context->fd, bytes, size, MSG_NOSIGNAL);
    return written >= 0 ? written : broken(why);
}

static ssize_t read_some(struct link *link, char bytes[CHUNK], char why[SECURE_WHY_MAX])
{
    if (link->secure != NULL) return secure_read(link->secure, link->context->fd, bytes, CHUNK, why);
    const ssize_t got = recv(link->context->fd, bytes, CHUNK, 0);
    if (got == 0) snprintf(why, SECURE_WHY_MAX, "the server closed the connection");
    if (got == 0) return -1;
    return got > 0 ? got : broken(why);
}

void link_flush(struct link *link)
{
    char why[SECURE_WHY_MAX];
    if (link->state < LINK_HANDSHAKE || link->doomed) return;
    while (link->written < link->size || (link->secure != NULL && secure_writes(link->secure))) {
        const ssize_t written = write_some(link, link->out + link->written, link->size - link->written, why);
        if (written < 0) {
            link_doom(link, why); /* what had come before may still be read */
            return;
        }
        if (written == 0) return;
        link->written += (size_t)written;
    }
    link->size = link->written = 0;
}

/* ---- heard ---- */

short link_events(const struct link *link)
{
    if (link->state == LINK_CLOSED) return 0;
    if (link->state == LINK_CONNECTING) return POLLOUT;
    const bool more = link->written < link->size;
    const bool writes =
        link->secure == NULL ? more : secure_writes(link->secure) || (more && secure_is_open(link->secure));
    if (!more && !writes && link->count == 0) return 0;
    return (short)(POLLIN | (writes ? POLLOUT : 0));
}

static bool unreachable(struct link *link, int failure)
{
    say_unreachable(link, host_error_text(failure));
    link->doomed = !connect_next(link);
    return !link->doomed;
}

/* true: this address was none, and it is to be seen whether the next one is. */
static bool connected(struct link *link, uint64_t now_ns)
{
    int failure = 0;
    socklen_t size = sizeof failure;
    struct pollfd poll_fd = {link->context->fd, POLLOUT, 0};
    if (poll(&poll_fd, 1, 0) <= 0) return false;
    if (getsockopt(link->context->fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) failure = errno;
    if (failure != 0) return unreachable(link, failure);
    if (link->handshake.tls != NULL) link->secure = secure_begin(link->handshake.tls, link->handshake.host);
    if (link->handshake.tls != NULL && link->secure == NULL) {
        link_doom(link, "no memory for TLS");
        return false;
    }
    link->context->flags |= REDIS_CONNECTED;
    link->state = LINK_HANDSHAKE;
    link->heard_ns = now_ns; /* it may have connected long before it is looked at: it was not silent */
    handshake_begin(link);
    return false;
}

/* One answer, if it is here.  false: there is no more. */
static bool read_one(struct link *link)
{
    void *reply = NULL;
    if (redisGetReplyFromReader(link->context, &reply) != REDIS_OK) {
        char why[LINK_WHY_MAX];
        snprintf(why, sizeof why, "its reply cannot be parsed: %s", link->context->errstr);
        link_doom(link, why);
        return false;
    }
    if (reply == NULL) {
        if (link->unread > LINK_REPLY_MAX) link_doom(link, "a reply of more than 8 MiB");
        return false;
    }
    if (link_reply_error(reply) != NULL) link_make_visible(((redisReply *)reply)->str);
    link->unread = link->context->reader->len - link->context->reader->pos;
    if (link->count > 0) {
        answer_one(link, reply);
    } else {
        const char *const error = link_reply_error(reply);
        link_doom(link, error != NULL ? error : "a reply without a request");
    }
    if (link->keep) link->kept = reply;
    else freeReplyObject(reply);
    link->keep = false;
    return !link->doomed;
}

static void hear(struct link *link, uint64_t now_ns)
{
    char bytes[CHUNK], why[SECURE_WHY_MAX];
    /* A server that goes on for ever must not keep us: as many rounds as make the longest answer. */
    for (int round = 0; round < LINK_REPLY_MAX / CHUNK; round++) {
        const ssize_t got = read_some(link, bytes, why);
        if (got < 0) link_doom(link, why); /* what came before the end was read: a server says why it closes */
        if (got <= 0) return;
        link->heard_ns = now_ns;
        link->unread += (size_t)got;
        if (redisReaderFeed(link->context->reader, bytes, (size_t)got) != REDIS_OK) link_doom(link, "no memory");
        while (!link->doomed && read_one(link)) continue;
        /* TLS may hold more of what has come than the socket does. */
        if (link->doomed || (link->secure == NULL && got < CHUNK)) return;
    }
}

void link_process(struct link *link, uint64_t now_ns)
{
    while (link->state == LINK_CONNECTING && !link->doomed && connected(link, now_ns)) continue;
    if (link->state >= LINK_HANDSHAKE && !link->doomed) {
        link_flush(link);
        if (!link->doomed) hear(link, now_ns);
        if (!link->doomed) link_flush(link);
    }
    if (link->doomed) link_break(link, link->why);
}

void link_forget(struct link *link, const void *first, const void *last, bool (*is_gone)(const void *context))
{
    const uintptr_t from = (uintptr_t)first, to = (uintptr_t)last;
    for (unsigned i = 0; i < link->count; i++) {
        struct link_expected *expected = &link->expected[(link->head + i) & (link->ring - 1)];
        const uintptr_t context = (uintptr_t)expected->context;
        if (context >= from && context <= to && is_gone(expected->context)) expected->answer = NULL;
    }
}
