/* SPDX-License-Identifier: MIT
   The connection: PING, ECHO, HELLO, AUTH, CLIENT, SELECT, RESET, QUIT, as Redis answers them.

   There are two users, "default" and "admin"; by the admin's password alone either will do.

   Nothing is told of connections of others. */
#include "serve/resp/parts.h"

#include <stdio.h>

void resp_ping(struct batch *batch, struct session *session, const struct resp_command *command)
{
    if (command->count == 1) resp_simple(resp_reply(batch, session), "PONG");
    else if (command->count == 2) resp_echo(batch, session, command);
    else resp_refuse_arity(batch, session, command);
}

void resp_echo(struct batch *batch, struct session *session, const struct resp_command *command)
{
    resp_bulk(batch_reply(batch, session, BATCH_REPLY + command->argument[1].size), command->argument[1]);
}

/* ---- the password ---- */

/* false: it has been refused.  A session that was let in before stays so. */
static bool log_in(struct batch *batch, struct session *session, struct slice user, struct slice password)
{
    const enum access_role role = access_role(&batch->access, password);
    const bool client = role != ACCESS_NOBODY || access_is_open(&batch->access);
    if ((client && slice_is(user, slice_of("default"))) ||
        (role == ACCESS_ADMIN && slice_is(user, slice_of("admin")))) {
        session->trusted = true;
        session->admin = role == ACCESS_ADMIN;
        return true;
    }
    resp_refuse(batch, session, "WRONGPASS invalid username-password pair or user is disabled.");
    return false;
}

void resp_auth(struct batch *batch, struct session *session, const struct resp_command *command)
{
    if (command->count > 3) {
        resp_refuse_arity(batch, session, command);
    } else if (command->count == 2 && access_is_open(&batch->access) && !access_has_admin(&batch->access)) {
        resp_refuse(batch, session,
                    "ERR AUTH <password> called without any password configured for the default user. "
                    "Are you sure your configuration is correct?");
    } else {
        const bool alone = command->count == 2;
        const struct slice user = alone ? slice_of("default") : command->argument[1];
        if (log_in(batch, session, user, command->argument[alone ? 1 : 2])) resp_ok(batch, session);
    }
}

/* ---- names ---- */

static bool may_be_name(struct slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (name.bytes[i] < '!' || name.bytes[i] > '~') return false;
    }
    return name.size <= SESSION_NAME_MAX;
}

/* false: it has been refused. */
static bool set_name(struct batch *batch, struct session *session, struct slice name)
{
    if (!may_be_name(name)) {
        resp_refuse(batch, session,
                    "ERR Client names cannot contain spaces, newlines or special characters, and have "
                    "at most %d bytes.",
                    SESSION_NAME_MAX);
        return false;
    }
    if (name.size != 0) memcpy(session->name, name.bytes, name.size);
    session->name[name.size] = '\0';
    return true;
}

/* ---- HELLO ---- */

struct hello {
    unsigned version;
    bool logs_in, names;
    struct slice user, password, name;
};

/* HELLO [2|3 [AUTH user password] [SETNAME name]]; false: it has been refused. */
static bool read_hello(struct batch *batch, struct session *session, const struct resp_command *command,
                       struct hello *hello)
{
    const struct slice *argument = command->argument;
    uint64_t version = hello->version;
    if (command->count > 1 && (!slice_number(argument[1], &version) || version < 2 || version > 3)) {
        resp_refuse(batch, session, "NOPROTO unsupported protocol version");
        return false;
    }
    hello->version = (unsigned)version;
    for (unsigned at = 2; at < command->count;) {
        const unsigned behind = command->count - at - 1;
        if (behind >= 2 && resp_is(argument[at], "AUTH")) {
            hello->logs_in = true;
            hello->user = argument[at + 1];
            hello->password = argument[at + 2];
            at += 3;
        } else if (behind >= 1 && resp_is(argument[at], "SETNAME")) {
            hello->names = true;
            hello->name = argument[at + 1];
            at += 2;
        } else {
            resp_refuse_argument(batch, session, command, at);
            return false;
        }
    }
    return true;
}

static void add_pair(struct bytes *out, const char *name, const char *value)
{
    resp_bulk(out, slice_of(name));
    resp_bulk(out, slice_of(value));
}

static void greet(struct batch *batch, struct session *session)
{
    struct bytes *out = resp_reply(batch, session);
    resp_map(out, session->resp_version, 7);
    add_pair(out, "server", "weir");
    add_pair(out, "version", weir_version());
    resp_bulk(out, slice_of("proto"));
    resp_integer(out, (int64_t)session->resp_version);
    resp_bulk(out, slice_of("id"));
    resp_integer(out, (int64_t)session->id);
    add_pair(out, "mode", "standalone");
    add_pair(out, "role", "master");
    resp_bulk(out, slice_of("modules"));
    resp_array(out, 0);
}

void resp_hello(struct batch *batch, struct session *session, const struct resp_command *command)
{
    struct hello hello = {.version = session->resp_version};
    if (!read_hello(batch, session, command, &hello)) return;
    if (!hello.logs_in && !batch_knows(batch, session)) {
        resp_refuse(batch, session,
                    "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
                    "HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and "
                    "select the RESP protocol version at the same time");
        return;
    }
    if (hello.logs_in && !log_in(batch, session, hello.user, hello.password)) return;
    if (hello.names && !set_name(batch, session, hello.name)) return;
    session->resp_version = hello.version;
    greet(batch, session);
}

/* ---- CLIENT ---- */

static void add_name(struct batch *batch, struct session *session)
{
    struct bytes *out = resp_reply(batch, session);
    if (session->name[0] != '\0') resp_bulk(out, slice_of(session->name));
    else resp_null(out, session->resp_version);
}

/* As Redis tells of a connection; here each sees only its own. */
static void add_info(struct batch *batch, struct session *session)
{
    char line[200];
    snprintf(line, sizeof line, "id=%llu name=%s db=0 resp=%u user=default lib-name= lib-ver=\n",
             (unsigned long long)session->id, session->name, session->resp_version);
    resp_bulk(resp_reply(batch, session), slice_of(line));
}

void resp_client(struct batch *batch, struct session *session, const struct resp_command *command)
{
    const struct slice *argument = command->argument;
    const unsigned count = command->count;
    if (count == 2 && resp_is(argument[1], "ID")) resp_integer(resp_reply(batch, session), (int64_t)session->id);
    else if (count == 2 && resp_is(argument[1], "GETNAME")) add_name(batch, session);
    else if (count == 2 && (resp_is(argument[1], "INFO") || resp_is(argument[1], "LIST"))) add_info(batch, session);
    else if (count == 3 && resp_is(argument[1], "SETNAME")) {
        if (set_name(batch, session, argument[2])) resp_ok(batch, session);
    } else if ((count == 4 && resp_is(argument[1], "SETINFO")) ||
               (count == 3 && (resp_is(argument[1], "NO-EVICT") || resp_is(argument[1], "NO-TOUCH")))) {
        resp_ok(batch, session);
    } else {
        resp_refuse_argument(batch, session, command, 1);
    }
}

/* ---- coming and going ---- */

void resp_select(struct batch *batch, struct session *session, const struct resp_command *command)
{
    if (slice_is(command->argument[1], slice_of("0"))) resp_ok(batch, session);
    else resp_refuse(batch, session, "ERR DB index is out of range: there is one database, 0");
}

void resp_reset(struct batch *batch, struct session *session, const struct resp_command *command)
{
    (void)command;
    session->resp_version = 2;
    session->name[0] = '\0';
    session->trusted = session->admin = false;
    resp_simple(resp_reply(batch, session), "RESET");
}

void resp_quit(struct batch *batch, struct session *session, const struct resp_command *command)
{
    (void)command;
    resp_ok(batch, session);
    session->closing = true;
}
