/* SPDX-License-Identifier: MIT
   One connection.

   See conn.c. */
#ifndef WEIR_SERVE_NET_CONN_H
#define WEIR_SERVE_NET_CONN_H

#include "serve/worker.h"

/* Answers that the client has not taken. */
struct pending {
    size_t size, sent, capacity;
    char bytes[];
};

struct conn {
    struct session session;
    uv_poll_t poll;
    struct worker *worker;
    struct conn *before, *after, *touched_next, *resumed_next, *waiting_next, *waiting_before;
    struct deadline deadline;
    int descriptor;
    bool touched, resumed;
    bool queued;             /* to be served on: in the worker's list of those that wait */
    bool unheard;            /* it waits to be read at all */
    bool spoke;              /* something came since it was last asked */
    bool moved;              /* a whole request was read since unread was kept */
    bool ended;              /* the client sends no more */
    bool dead;               /* nothing can be sent any more */
    bool writing;            /* answers wait for the client: nothing is read */
    bool lingering;          /* all is sent, and told so: what comes is thrown away until the client closes */
    uint64_t active_s;       /* when something came */
    uint64_t since_s;        /* when what it waits for began: a request's first byte, an answer not taken, lingering */
    struct slice unread;     /* a request's beginning: in the arena during a batch, in kept between two */
    char *kept;              /* owned */
    size_t kept_size;        /* as it counts in the worker's held */
    struct pending *pending; /* owned; NULL: all is sent */
    struct tls_session *tls; /* owned; NULL: plain */
    size_t thrown_away;
};

/* Takes the descriptor, also when it fails: false. */
bool conn_open(struct worker *worker, const struct listener *listener, int descriptor);

/* Its unread bytes are handled, or wait where others are served first. */
void conn_hear(struct conn *conn);

/* The turn has ended: keeps what is unread, waits for a slow reader, or closes. */
void conn_settle(struct conn *conn);

/* Its deadline has come; or not yet, then it gets another. */
void conn_due(struct conn *conn);

/* It is parked no more: what it has sent meanwhile is read. */
void conn_resume(struct conn *conn);
void conn_resume_soon(void *sender, struct session *session); /* for struct batch; sender is the worker */

/* Draining: one that nothing is under way on closes, others as conn_finish has it; patient: what has come is read. */
void conn_drain(struct conn *conn, bool patient);

/* Nothing more is read: closes when all answers are out. */
void conn_finish(struct conn *conn);
void conn_close(struct conn *conn);

/* For struct batch; sender is nobody. */
void conn_send(void *sender, struct session *session, struct slice bytes);

#endif
