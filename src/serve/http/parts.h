/* SPDX-License-Identifier: MIT
   The service over HTTP: which file does what, and what they share.

       routes.c   which path and method goes where; the page, figures, health
       gate.c     who may come in: Host, Origin, a proxy's header, password
       take.c     POST /v1/take, /v1/charge, /v1/settle, /v1/renew, /v1/release, /v1/forget
       auth.c     /auth, for proxies that ask before they let through
       limits.c   /v1/limits
       fields.c   from what a client sends to a question
       answer.c   refusals, and bodies that are long
       headers.c  Retry-After, RateLimit, X-RateLimit-* */
#ifndef WEIR_SERVE_HTTP_PARTS_H
#define WEIR_SERVE_HTTP_PARTS_H

#include "format/fields.h"
#include "format/http.h"
#include "serve/batch.h"

/* Headers that mean something here, by the length of their names, see gate.c. */
enum http_known {
    KNOWN_HOST,
    KNOWN_ORIGIN,
    KNOWN_REAL_IP,
    KNOWN_KEY,
    KNOWN_COST,
    KNOWN_TYPE,
    KNOWN_LIMIT,
    KNOWN_AUTHORIZATION,
    KNOWN_SITE,
    KNOWN_FORWARDED_FOR,
    KNOWN_PASSWORD,
    KNOWN_COUNT
};

/* What is still wanted to be known of a request when its answer is written: call->detail[0]. */
enum http_flag {
    HTTP_CLOSES = 1,
    HTTP_HEAD_ONLY = 2,
    HTTP_AS_403 = 4,      /* refusals have status 403, as nginx's auth_request needs it */
    HTTP_X_HEADERS = 8,   /* X-RateLimit-* too */
    HTTP_NO_HEADERS = 16, /* no RateLimit */
    HTTP_OF_PROXY = 32    /* /auth */
};

/* A request on its way to an answer. */
struct exchange {
    struct batch *batch;
    struct session *session;
    const struct http_request *request;
    struct slice header[KNOWN_COUNT]; /* the last of that name; empty: none */
    unsigned times[KNOWN_COUNT];      /* how many there are of each */
    unsigned flags;                   /* of enum http_flag */
};

struct refusal {
    unsigned status;
    const char *words;
    const char *field;          /* what is wrong; NULL: the request as a whole */
    size_t column;              /* in the field's value, or in the body; 0: nowhere */
    const char *header, *value; /* one more, such as Allow; NULL: none */
};

/* ---- gate.c ---- */

void gate_gather(struct exchange *exchange);

/* Each says what is wrong where it answers false, *refusal being filled. */
bool gate_host(const struct exchange *exchange, struct refusal *refusal);
bool gate_origin(const struct exchange *exchange, struct refusal *refusal);
bool gate_proxy(const struct exchange *exchange, struct refusal *refusal);
bool gate_password(const struct exchange *exchange, struct refusal *refusal);

/* For what changes limits or forgets keys; false: it has been refused. */
bool gate_change(struct exchange *exchange);

/* ---- answer.c ---- */

enum { ANSWER_WORDS_MAX = 512 };

/* All begin by answering what is queued, so that order holds. */
void answer_refuse(struct exchange *exchange, const struct refusal *refusal);
void answer_json(struct exchange *exchange, unsigned status, struct slice body);

/* A body of any length. */
struct answer_body {
    const char *type;
    const char *policy; /* Content-Security-Policy of a page; NULL: it is none */
    struct slice bytes;
};
void answer_long(struct exchange *exchange, const struct answer_body *body);

/* The same, written by a function to memory that is there for it alone. */
void answer_written(struct exchange *exchange, const char *type, size_t size_max,
                    void (*write)(struct exchange *exchange, struct bytes *out));

/* ---- fields.c: false where a refusal has been answered ---- */

/* The body, by its Content-Type; the query.  Values live until the batch's end. */
bool fields_of_body(struct exchange *exchange, struct fields *fields);
bool fields_of_query(struct exchange *exchange, struct fields *fields);

/* Memory that lives until the batch's end; NULL: there is no more, refused. */
char *fields_room(struct exchange *exchange, size_t size);

bool fields_limit(struct exchange *exchange, struct slice name_or_text, struct call *call);

/* One number, one for each limit, or by unit: "5", "5,10", "tokens=812". */
bool fields_costs(struct exchange *exchange, const struct field *field, const char *name, struct costs *costs);
bool fields_headers(struct exchange *exchange, const struct field *field); /* NULL is fine: none */
bool fields_peek(struct exchange *exchange, const struct field *field, bool *peek);

/* Queues it; answered in its place. */
void fields_ask(struct exchange *exchange, struct call *call, const struct costs *costs);

/* ---- the routes ---- */

void take_route(struct exchange *exchange);
void charge_route(struct exchange *exchange);
void settle_route(struct exchange *exchange);
void renew_route(struct exchange *exchange);
void release_route(struct exchange *exchange);
void forget_route(struct exchange *exchange);
void auth_route(struct exchange *exchange);
void limits_list(struct exchange *exchange);
void limits_define(struct exchange *exchange);
void limits_remove(struct exchange *exchange);

#endif
