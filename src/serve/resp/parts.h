/* SPDX-License-Identifier: MIT
   The commands, and what they have in common.

       commands.c   which there are, who may say them, what is said of others
       throttle.c   CL.THROTTLE
       take.c       WEIR.TAKE, CHARGE, SETTLE, RENEW, RELEASE, FORGET
       limit.c      WEIR.LIMIT
       client.c     PING ECHO HELLO AUTH CLIENT RESET QUIT SELECT
       server.c     INFO COMMAND CONFIG DBSIZE */
#ifndef WEIR_SERVE_RESP_PARTS_H
#define WEIR_SERVE_RESP_PARTS_H

#include "serve/protocols.h"

/* One command.  What is not `queued` finds the queue settled, and may write at once. */
struct resp_row {
    const char *name;
    size_t size; /* of the name */
    int arity;   /* with its name; below 0: at least so many */
    bool queued, before_auth;
    void (*run)(struct batch *batch, struct session *session, const struct resp_command *command);
    const char *flags; /* one word */
    int key;           /* which argument is one; 0: none */
    const char *summary;
    const char *syntax;  /* behind the name: words in capitals as they are; [optional] ... again | or else */
    const char *example; /* the same, or NULL: Redis has the command, too */
};

/* ---- commands.c ---- */
const struct resp_row *resp_rows(unsigned *count);
const struct resp_row *resp_row_find(struct slice name); /* NULL: there is none */

/* Where to write the answer to what is no question: BATCH_REPLY bytes. */
struct bytes *resp_reply(struct batch *batch, struct session *session);
void resp_ok(struct batch *batch, struct session *session);

/* Answers "-CODE what" behind all that is queued, at most 400 bytes of it. */
void resp_refuse(struct batch *batch, struct session *session, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Answers what the command expects: not so many arguments; not this one there. */
void resp_refuse_arity(struct batch *batch, struct session *session, const struct resp_command *command);
void resp_refuse_argument(struct batch *batch, struct session *session, const struct resp_command *command,
                          unsigned wrong);

/* At most so many bytes of it as %.*s wants them, without those that no text has. */
enum { RESP_SHOWN = 64 };
const char *resp_shown(struct slice slice, char shown[RESP_SHOWN + 4]);

/* As clients are told of a command. */
const char *resp_lower(const char *name, char lower[RESP_SHOWN]);

/* false: it has been refused. */
bool resp_may_change(struct batch *batch, struct session *session);

/* What batch_limit says is wrong. */
void resp_refuse_limit(struct batch *batch, struct session *session, const char *code, const weir_error *error);

/* ---- each is a row ---- */
typedef void resp_run(struct batch *batch, struct session *session, const struct resp_command *command);
resp_run resp_throttle;
resp_run resp_take, resp_charge, resp_settle, resp_renew, resp_release, resp_forget;
resp_run resp_limit;
resp_run resp_ping, resp_echo, resp_hello, resp_auth, resp_client, resp_reset, resp_quit, resp_select;
resp_run resp_info, resp_list_commands, resp_config, resp_dbsize;

#endif
