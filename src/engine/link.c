/* SPDX-License-Identifier: MIT
   link.c - one connection to one server: what is sent is answered in its order.

       closed -> connecting -> greeting -> ready          expected:  | answer | answer | answer | ...
          ^__________|____________|__________|            one for each command sent, the oldest first

   A server that was too late for a batch still answers.  Who waited has gone then: his answers are read and dropped,
   each in its place, so that the next ones are taken for what they are.

   May touch: the socket, malloc.  Promises: never waits; a reader that meets more than LINK_REPLY_MAX bytes, or more
   answers than questions, breaks the connection.  Leaves to others: when to wait (poll), what answers mean. */
#include "engine/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/secure.h"
#include "host/map.h"

enum { OUT_FIRST = 4096, EXPECTED_FIRST = 64, HEADER_MAX = 24 };

/* ---- opened and closed ---- */

void link_say_why(struct link *link, const char *why)
{
    snprintf(link->why, sizeof link->why, "%s", why);
}

/* Its words, or the system's. */
static const char *context_words(const redisContext *context)
{
    if (context->err == REDIS_ERR_IO) return host_error_text(errno);
    if (context->err == REDIS_ERR_EOF) return "the engine closed the connection";
    return context->errstr;
}

static void answer_one(struct link *link, const redisReply *reply)
{
    const struct link_expected expected = link->expected[link->head];
    link->head = (link->head + 1) & (link->ring - 1);
    link->count--;
    if (expected.answer != NULL) expected.answer(link, expected.context, reply);
}

void link_close(struct link *link)
{
    if (link->context != NULL) redisFree(link->context);
    link->context = NULL;
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

bool link_open(struct link *link, const struct engine_place *place, const struct link_greeting *greeting,
               uint64_t now_ns)
{
    link_close(link);
    link->greeting = *greeting;
    link->load_tried = link->load_next = link->script_next = false;
    link->heard_ns = now_ns;
    link->context =
        place->port == 0 ? redisConnectUnixNonBlock(place->host) : redisConnectNonBlock(place->host, place->port);
    if (link->context == NULL) {
        link_say_why(link, "no memory for a connection");
        return false;
    }
    if (link->context->err != 0) {
        link_break(link, context_words(link->context));
        return false;
    }
    fcntl(link->context->fd, F_SETFD, FD_CLOEXEC);
    if (greeting->tls != NULL && !secure_begin(link->context, greeting->tls)) {
        link_break(link, context_words(link->context));
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
    if (link->state < LINK_GREETING || link->doomed || !make_room(link, all) || !make_ring(link)) return false;
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

/* So many bytes, 0 when it has to wait, -1 when it is broken. */
static ssize_t write_some(struct link *link, const char *bytes, size_t size)
{
    if (link->greeting.tls != NULL) return secure_write(link->context, bytes, size);
    const ssize_t written = send(link->context->fd, bytes, size, MSG_NOSIGNAL);
    if (written >= 0) return written;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
}

void link_flush(struct link *link)
{
    if (link->state < LINK_GREETING || link->doomed) return;
    while (link->written < link->size) {
        const ssize_t written = write_some(link, link->out + link->written, link->size - link->written);
        if (written < 0) {
            link_doom(link, host_error_text(errno)); /* what had come before may still be read */
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
    const bool writes = link->written < link->size || (link->greeting.tls != NULL && secure_writes(link->context));
    if (!writes && link->count == 0) return 0;
    return (short)(POLLIN | (writes ? POLLOUT : 0));
}

static void connected(struct link *link, uint64_t now_ns)
{
    int failure = 0;
    socklen_t size = sizeof failure;
    struct pollfd poll_fd = {link->context->fd, POLLOUT, 0};
    if (poll(&poll_fd, 1, 0) <= 0) return;
    if (getsockopt(link->context->fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) failure = errno;
    if (failure != 0) {
        link_doom(link, host_error_text(failure));
        return;
    }
    link->context->flags |= REDIS_CONNECTED;
    link->state = LINK_GREETING;
    link->heard_ns = now_ns; /* who is asked seldom has it connected long before he looks: it was not silent */
    link_greet(link);
}

/* One answer, if it is here.  false: there is no more. */
static bool read_one(struct link *link)
{
    void *reply = NULL;
    if (redisGetReplyFromReader(link->context, &reply) != REDIS_OK) {
        link_doom(link, context_words(link->context));
        return false;
    }
    if (reply == NULL) {
        if (link->context->reader->len > LINK_REPLY_MAX) link_doom(link, "an answer of more than 8 MiB");
        return false;
    }
    if (link->count > 0) {
        answer_one(link, reply);
    } else {
        const char *const error = reply_error(reply);
        link_doom(link, error != NULL ? error : "an answer to no question");
    }
    freeReplyObject(reply);
    return !link->doomed;
}

static void hear(struct link *link, uint64_t now_ns)
{
    /* A server that goes on for ever must not keep us: as many rounds as make the longest answer. */
    for (int round = 0; round < LINK_REPLY_MAX / REDIS_READER_MAX_BUF; round++) {
        const size_t before = link->context->reader->len - link->context->reader->pos;
        if (redisBufferRead(link->context) != REDIS_OK) {
            /* What came before the end counts: a server says why it closes. */
            char why[LINK_WHY_MAX];
            snprintf(why, sizeof why, "%s", context_words(link->context));
            link->context->err = 0;
            while (link->context->reader->err == 0 && read_one(link)) continue;
            link_doom(link, why);
            return;
        }
        const size_t got = link->context->reader->len - link->context->reader->pos - before;
        if (got == 0) return;
        link->heard_ns = now_ns;
        while (read_one(link)) continue;
        if (link->doomed || got < REDIS_READER_MAX_BUF) return;
    }
}

void link_turn(struct link *link, uint64_t now_ns)
{
    if (link->state == LINK_CONNECTING) connected(link, now_ns);
    if (link->state >= LINK_GREETING && !link->doomed) {
        link_flush(link);
        if (!link->doomed) hear(link, now_ns);
        if (!link->doomed) link_flush(link);
    }
    if (link->doomed) link_break(link, link->why);
}

void link_forget(struct link *link, const void *first, const void *last)
{
    const uintptr_t from = (uintptr_t)first, to = (uintptr_t)last;
    for (unsigned i = 0; i < link->count; i++) {
        struct link_expected *expected = &link->expected[(link->head + i) & (link->ring - 1)];
        const uintptr_t context = (uintptr_t)expected->context;
        if (context >= from && context <= to) expected->answer = NULL;
    }
}
