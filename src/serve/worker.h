/* SPDX-License-Identifier: MIT
   One loop of the service with its connections.

       worker.c   the loop: a batch is begun by the first bytes that come, and ended when all that came has been read
       accept.c   new connections
       conn.c     one connection: bytes in and out, its limits */
#ifndef WEIR_SERVE_WORKER_H
#define WEIR_SERVE_WORKER_H

#include <uv.h>

#include "serve/net/deadlines.h"
#include "serve/net/listen.h"
#include "serve/net/tls.h"
#include "serve/batch.h"

enum {
    WORKER_ARENA = 1 << 20,     /* what is read in one batch; more ends the batch and begins another */
    WORKER_WORK = 4096,         /* questions, about: of all who are ready in a round of the loop; of all who wait */
    CONN_WORK = 1024,           /* of one of them, where they are few */
    WORKER_HEARD = 64,          /* connections that are read before the first of them is handled */
    CONN_READ_MIN = 16 << 10,   /* there is this much room for each read */
    CONN_READ_MAX = 64 << 10,   /* one client's share of what a loop goes round for */
    CONN_KEPT_MAX = 128 << 10,  /* of a request that is not whole; the protocols refuse before that */
    CONN_PENDING_MAX = 1 << 20, /* answers that the client does not take */
    WORKER_HELD_MAX = 64 << 20, /* of both, for all clients of a worker together */
    CONN_KEPT_FREE = 4 << 10,   /* so much of a request is kept of each, whatever the others have */
    CONN_REQUEST_S = 10,        /* a request is whole so long after its first byte; idle before the password */
    CONN_TAKEN_S = 10,          /* answers are taken within this */
    CONN_LINGER_S = 2           /* after our last byte, for the client to read it and close */
};

/* What all workers have. */
struct worker_shared {
    struct service *service;
    struct tls *tls; /* NULL: none */
    uint64_t connections_max, idle_s;
    struct atom connections; /* open now */
    struct atom opened;      /* ever: numbers the sessions */
    uv_async_t *ended;       /* called when a worker has ended; NULL: nobody wants to know */
};

/* What a worker is asked to do; the later includes the earlier. */
enum worker_wish { WORKER_RUN, WORKER_DRAIN, WORKER_STOP };

struct worker_listener {
    uv_poll_t poll;
    struct worker *worker;
    const struct listener *listener;
    bool resting; /* no descriptors: until the next second */
};

/* What happened since the last second that somebody may want to know. */
struct worker_told {
    unsigned slow_senders, slow_readers, too_many, no_descriptors;
};

struct worker {
    struct worker_shared *shared;
    unsigned number;
    uv_loop_t loop;
    uv_thread_t thread;
    uv_check_t after_poll;
    uv_idle_t again; /* active while somebody waits: the loop does not sleep */
    uv_timer_t tick, engine_timer;
    uv_poll_t engine_poll;
    int engine_epoll; /* of the descriptors of the way to the engine; below 0: none yet */
    uv_async_t wake;
    struct atom wish, beat; /* beat: counts the times that it answered to worker_wake */
    struct atom ended;
    unsigned drain_ticks;
    bool started, draining;

    struct worker_listener listener[LISTENERS_MAX];
    unsigned listener_count;
    int spare_descriptor; /* closed to accept and refuse when there is no other */

    char *arena;
    size_t arena_used;
    bool in_batch;
    struct conn *heard[WORKER_HEARD]; /* their bytes are in the arena, and not handled yet */
    unsigned heard_count;
    size_t heard_size;
    struct conn *resumed; /* parked no more: to be read on */
    struct conn *touched; /* to be looked at when the batch has ended */
    struct conn *waiting; /* in the order in which they are served on, behind all that comes */
    struct conn *waiting_last;
    uint64_t waiting_count;
    uint64_t round_work; /* when so much is done, ready sessions wait as well */

    struct conn *first; /* all connections */
    size_t held;        /* bytes of what they have kept and what is pending */
    uint64_t second;    /* of the loop's clock, as of the last tick */
    struct deadlines deadlines;
    struct worker_told told;
    struct stats *stats;
    struct batch batch;
};

/* 0, or an errno value.  The worker is zeroed memory that stays where it is until worker_close. */
int worker_open(struct worker *worker, struct worker_shared *shared, unsigned number, const struct listener *listeners,
                unsigned listener_count);
int worker_start(struct worker *worker);
void worker_wish(struct worker *worker, enum worker_wish wish);

/* Has it beat counted when its loop comes round. */
void worker_wake(struct worker *worker);

/* When it has ended, or was never started. */
void worker_join(struct worker *worker);
void worker_close(struct worker *worker);

/* ---- for conn.c and accept.c ---- */

/* Room in the arena; the batch may end to make it. */
char *worker_room(struct worker *worker, size_t size);

/* Bytes at the arena's end stay there until the batch ends. */
void worker_keep(struct worker *worker, size_t size);

/* Its unread bytes, which are kept, are handled with those of others (conn_hear), before the batch ends. */
void worker_hear(struct worker *worker, struct conn *conn);

/* Hands bytes to the session; returns how many were read. */
size_t worker_bytes(struct worker *worker, struct session *session, struct slice bytes);

void worker_touch(struct worker *worker, struct conn *conn);

/* Is so much done in this round of the loop that others are served in a later one? */
bool worker_is_spent(const struct worker *worker);

/* It has had its share of this round: its session waits, until it is at the head of them, or closes. */
void worker_wait(struct worker *worker, struct conn *conn);
void worker_wait_no_more(struct worker *worker, struct conn *conn);

/* ---- accept.c ---- */

int accept_open(struct worker *worker, struct worker_listener *at, const struct listener *listener);
void accept_again(struct worker *worker); /* those that rest */
void accept_stop(struct worker *worker);

#endif
