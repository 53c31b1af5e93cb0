/* SPDX-License-Identifier: MIT
   One connection to one server: what is sent is answered in its order.

   See link.c (bytes) and handshake.c (who we are, and what the server can do). */
#ifndef WEIR_REDIS_CLIENT_LINK_LINK_H
#define WEIR_REDIS_CLIENT_LINK_LINK_H

#include <hiredis/hiredis.h>

#include "redis/client/link/secure.h"
#include "redis/client/link/url.h"

#if HIREDIS_MAJOR >= 1
typedef size_t array_size;
#else
typedef int array_size;
#endif

enum {
    LINK_WHY_MAX = 200,
    LINK_EXPECTED_MAX = 8192,         /* answers that may be outstanding */
    LINK_REPLY_MAX = 8 * 1024 * 1024, /* bytes of one answer: the slots of the largest cluster are less */
    LINK_ELEMENTS_MAX = 32768         /* elements of one array of it: there are 16,384 slots */
};

struct link;

/* What was asked is answered; reply NULL: it never will be.  Nothing may be sent or closed in here. */
typedef void link_answer(struct link *link, void *context, const redisReply *reply);

struct link_expected {
    link_answer *answer;
    void *context;
};

enum link_state {
    LINK_CLOSED,
    LINK_CONNECTING,
    LINK_HANDSHAKE, /* connected; password, database, what the server can do */
    LINK_READY
};

/* By which commands weir is asked there. */
enum link_way { LINK_MODULE, LINK_FUNCTIONS, LINK_SCRIPTS };

struct link_handshake {
    const char *user, *password; /* "": none */
    uint32_t database;
    bool primary;     /* one that says it is a replica will not do */
    bool sentinel;    /* speaks SENTINEL, and may have no password */
    void *tls;        /* see secure.h, or NULL */
    const char *host; /* whose certificate it must be */
};

struct link {
    enum link_state state;
    redisContext *context;
    struct engine_addresses addresses;
    unsigned address;                    /* the one that it is connected to, or tries */
    unsigned attempts;                   /* so many of them were tried since it was opened */
    redisReplyObjectFunctions functions; /* of its reader */
    void *(*array)(const redisReadTask *, array_size);
    struct secure *secure; /* NULL: without TLS */
    size_t unread;         /* bytes of an answer that is not complete */
    bool keep;             /* the callback wants to keep the reply, and frees it */
    redisReply *kept;
    struct link_handshake handshake;
    enum link_way way;
    bool load_tried;             /* our functions were sent there */
    bool load_next, script_next; /* the next question takes the functions, or the script, along */
    bool probing;                /* the owner's: it decides whether its server is back */
    bool tried;                  /* the owner's: a question was sent to try whether there are answers */
    bool refused;                /* by what it said when it was connected */
    bool doomed;                 /* broken as soon as nobody stands in it */
    char why[LINK_WHY_MAX];      /* closed: what went wrong */

    char *out; /* what is still to be written: sent up to `written` */
    size_t size, written, room;

    struct link_expected *expected; /* a ring */
    unsigned head, count, ring;

    uint64_t heard_ns;  /* when it was connected, or last said something */
    uint64_t owes_ns;   /* the owner's: since when there is something outstanding */
    uint64_t looked_ns; /* the owner's: when it was seen to be open */
    uint64_t served_ns; /* the owner's: when it last answered a question */
    void *owner;
    unsigned server; /* the owner's */
    uint64_t edition;
};

/* Begins to connect: to one address after the other, until one of them takes it.  false: it is closed, see why. */
bool link_open(struct link *link, const struct engine_addresses *addresses, const struct link_handshake *handshake,
               uint64_t now_ns);

/* What it reads is bounded; link_open does it. */
void link_limit_arrays(struct link *link);

/* All that is outstanding is answered with NULL. */
void link_close(struct link *link);

void link_say_why(struct link *link, const char *why);

/* What no terminal should be given becomes "?": before anybody is shown what a server said. */
void link_make_visible(char *text);

/* Closes it soon: for use in callbacks. */
void link_doom(struct link *link, const char *why);

/* false: no memory, or too much is outstanding; nothing was sent.  It goes out with link_flush. */
bool link_send(struct link *link, unsigned count, const char *const text[], const size_t size[], link_answer *answer,
               void *context);

/* Writes what can be written without waiting. */
void link_flush(struct link *link);

/* What poll should look for; 0: nothing is under way. */
short link_events(const struct link *link);

/* Goes on with what can be done without waiting: connected? writable? anything to read? */
void link_process(struct link *link, uint64_t now_ns);

/* From now on nobody waits for what is outstanding to a `context` from first to last (addresses) that is gone; its
   answer will be dropped. */
void link_forget(struct link *link, const void *first, const void *last, bool (*is_gone)(const void *context));

/* ---- handshake.c ---- */

void handshake_begin(struct link *link);

/* The text of an error, or NULL when this is none. */
const char *link_reply_error(const redisReply *reply);
bool link_reply_begins(const redisReply *reply, const char *start);

#endif
