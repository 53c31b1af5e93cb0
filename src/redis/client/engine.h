/* SPDX-License-Identifier: MIT
   Inside a handle: its links, and the questions that are on their way.

       engine.c   opened, joined, closed; one question; told     batch.c   many questions: sent, answered, sent again
                                                                 wait.c    weir_engine_batch: the same, waited for
       discover.c     who has the keys                               nodes.c   who else is there
       health.c   links and probes                               admin.c   install and check
       busy.c     keys with leases                               secret.c  what signs for all

   [one thread] all of it, but the pool. */
#ifndef WEIR_REDIS_CLIENT_ENGINE_H
#define WEIR_REDIS_CLIENT_ENGINE_H

#include <poll.h>

#include "redis/client/pool.h"
#include "redis/client/wire.h"

enum { CALLS_MAX = WEIR_ENGINE_MAX /* a power of 2 */ };

enum call_state {
    CALL_FREE,
    CALL_PARKED, /* waits for a link, a server, or a moment */
    CALL_SENT,
    CALL_ANSWERED,
    CALL_AWAY /* the policy is to answer */
};

/* One question under way. */
struct call {
    weir_engine_ask *ask;
    enum call_state state;
    uint16_t server; /* that has it, had it, or should have had it */
    bool asking;     /* ASK said that it is there for this once */
    bool unknown;    /* no server is known to have it */
    bool foreign;    /* at its key is something else than a state of weir's */
    enum link_way way;
    uint8_t tries;
    uint64_t not_before_ns, sent_ns, begun_ns, deadline_ns;
};

struct busy;

/* The share of a limit, made last. */
enum { AWAY_SHARES = 8 };
struct away_share {
    uint64_t limit, nodes; /* nodes 0: of none yet */
    weir_plan plan;
};

struct weir_engine {
    struct pool *pool;
    uint64_t now_ns; /* as of this call: the caller's clock, which may be a simulated one */
    uint64_t forks;
    struct link *link[SERVERS_MAX]; /* made when first needed */
    unsigned links;                 /* none from here on */
    uint64_t lost;                  /* questions whose link broke */
    bool discovering, discover_asked;
    unsigned discover_server, discover_tries;
    uint64_t discover_until_ns; /* so long one sentinel or server has time to answer */
    char discover_why[LINK_WHY_MAX];
    struct busy *busy;                    /* NULL: no leases */
    struct away_share share[AWAY_SHARES]; /* by its number */
    struct wire_keys keys;
    struct command command;
    struct pollfd polled[SERVERS_MAX];
    size_t first, count; /* of the ring: questions in the order in which they began, some of them free by now */
    size_t parked, sent; /* of them */
    struct call call[CALLS_MAX];
};

/* ---- health.c ---- */

/* The link to this server, connecting when it was not; NULL: it cannot be. */
struct link *engine_link(struct weir_engine *engine, unsigned server, uint64_t now_ns);

/* Goes on with one link, and draws the consequences. */
void engine_process(struct weir_engine *engine, unsigned server, uint64_t now_ns);

/* Goes on with all links that have something to do, without waiting. */
void engine_process_all(struct weir_engine *engine, uint64_t now_ns);

/* This server cannot answer. */
void engine_failed(struct weir_engine *engine, unsigned server, weir_outage outage, const char *why);
/* It says so itself. */
void engine_refused(struct weir_engine *engine, unsigned server, const char *error);

/* Tries it, when it is time to. */
void engine_probe(struct weir_engine *engine, unsigned server, uint64_t now_ns);

/* Closes them all. */
void engine_drop_links(struct weir_engine *engine);

/* Of each server that has keys: probes it, and once that was answered asks it a question. */
void engine_try_all(struct weir_engine *engine, uint64_t now_ns);

/* In the child of a fork: its parent's connections are its parent's. */
void engine_after_fork(struct weir_engine *engine);

/* ---- batch.c ---- */

/* As weir_engine_begin, until this deadline; and what that is from now on. */
void engine_begin(struct weir_engine *engine, weir_engine_ask *asks, size_t n, uint64_t now_ns, uint64_t deadline_ns);
uint64_t engine_deadline(const struct weir_engine *engine, uint64_t now_ns);

/* As link_send, counted. */
bool engine_send(struct weir_engine *engine, struct link *link, unsigned count, const char *const text[],
                 const size_t size[], link_answer *answer, void *context);
bool engine_send_text(struct weir_engine *engine, struct link *link, unsigned count, const char *const text[],
                      link_answer *answer, void *context);

/* The link to it when it may be asked now; NULL: not yet, or, *away, not at all. */
struct link *engine_ready_link(struct weir_engine *engine, unsigned server, uint64_t now_ns, bool *away);

/* Writes what can be written without waiting. */
void engine_flush(struct weir_engine *engine);

/* ---- wait.c ---- */

/* Waits for news, at most so long. */
void engine_wait(struct weir_engine *engine, uint64_t wait_ns);

/* ---- busy.c ---- */

/* false: no memory. */
bool busy_open(struct weir_engine *engine);
/* Gives back what is in leases. */
void busy_close(struct weir_engine *engine);
void busy_after_fork(struct weir_engine *engine);

/* true: answered here, and nobody else is to be asked.  Asks for a lease where that is worth it. */
bool busy_answer(struct weir_engine *engine, weir_engine_ask *ask);
/* The engine answered what was sent at this time or later. */
void busy_heard(struct weir_engine *engine, const weir_engine_ask *ask, uint64_t sent_ns);
/* Nobody will. */
void busy_unanswered(struct weir_engine *engine, const weir_engine_ask *ask);
/* From time to time: what nobody spends goes back. */
void busy_return(struct weir_engine *engine, uint64_t now_ns);
/* Ours, into a server that does not have them. */
void engine_send_functions(struct weir_engine *engine, struct link *link);

/* ---- secret.c ---- */

/* The key that it is under; false: no memory. */
bool secret_key(struct wire_keys *keys, const char *prefix);
/* Makes one where there is none, and asks which one there is.  asking: see struct call. */
bool secret_send(struct weir_engine *engine, struct link *link, bool asking, link_answer *answer, void *context);
/* What was answered, no error; false: that is none. */
bool secret_heard(struct pool *pool, const redisReply *reply);
/* It cannot be read: told once, until it can. */
void secret_failed(struct pool *pool, unsigned server, uint64_t now_ns, const char *what);

/* ---- discover.c ---- */

/* Discovery: asks which server has which keys, when that is needed and it is time to. */
void discover_begin(struct weir_engine *engine, uint64_t now_ns);
/* The link to the server that is asked has something new. */
void discover_process(struct weir_engine *engine, uint64_t now_ns);

/* ---- nodes.c ---- */

/* Says that this node is there, once a second, and learns which others are. */
void nodes_beat(struct weir_engine *engine, uint64_t now_ns);

/* This handle is closed: if nobody else asks here, the node is counted no more.  Nobody waits for that. */
void nodes_leave(struct weir_engine *engine);

/* The engine was reached: does this pool enter itself?  It has, and was not there before.  And so many were counted,
   itself among them if it has. */
bool nodes_enters(struct pool *pool, uint64_t now_ns);
void nodes_entered(struct pool *pool, bool was_missing);
void nodes_heard(struct pool *pool, uint64_t now_ns, uint64_t count, bool entered);

/* How many share the limits, as was said or heard; 0: that is not known. */
uint64_t nodes_known(const struct pool *pool, uint64_t now_ns);

/* About how many handles ask the engine, at all nodes; 0: that is not known. */
uint64_t nodes_asking(const struct pool *pool, uint64_t now_ns);

#endif
