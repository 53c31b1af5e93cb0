/* SPDX-License-Identifier: MIT
   Talking to servers in peace: for install and check, which may take seconds.

   See admin.c, install.c, check.c and trial.c. */
#ifndef WEIR_REDIS_CLIENT_ADMIN_ADMIN_H
#define WEIR_REDIS_CLIENT_ADMIN_ADMIN_H

#include "redis/client/engine.h"

enum { ADMIN_LINE_MAX = 512 };

/* One server, while it is looked at. */
struct admin {
    struct weir_engine *engine;
    void (*line)(void *context, const char *text);
    void *context;
    unsigned wrong; /* servers that something is wrong with */
    unsigned server;
    struct link link;
    char name[ENDPOINT_TEXT_MAX];
};

typedef bool admin_look(struct admin *admin);

/* Has a look at each server that may have keys: it, or the primary, or all primaries of a cluster.  0, or a WEIR_E*
   when something is wrong with any of them; then a line has said what. */
int admin_each(struct admin *admin, admin_look *look, weir_error *error);

/* "127.0.0.1:6379: " and the text. */
void admin_say(struct admin *admin, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The answer is yours; NULL: the connection is lost, and that was said. */
redisReply *admin_ask(struct admin *admin, unsigned count, const char *const text[], const size_t size[]);
redisReply *admin_ask_text(struct admin *admin, unsigned count, const char *const text[]);

/* Is it what the URL says?  A member of a cluster has only a part of the keys; false: that was said. */
bool admin_fits_url(struct admin *admin);

/* Asks a question there as a handle would, and says in which way, or what is refused. (trial.c) */
bool admin_try(struct admin *admin);

/* What a line "name:value" of INFO says; false: it was not told. */
bool admin_info(struct admin *admin, const char *section, const char *name, char *value, size_t room);

#endif
