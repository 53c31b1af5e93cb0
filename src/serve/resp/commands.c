/* SPDX-License-Identifier: MIT
   A command in the protocol of Redis: which there are, who may say them, what is said of others.

   Each command gets one answer, in its place; before the password nothing is asked of a table. */
#include "serve/resp/parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME(text) text, sizeof(text) - 1

/* Those that are asked most come first. */
static const struct resp_row rows[] = {
    {NAME("CL.THROTTLE"), -1, true, false, resp_throttle, "fast", 1, "max_burst + 1 at once, then count in each period",
     "key max_burst count period [quantity]", "user:42 15 30 60"},
    {NAME("WEIR.TAKE"), -3, true, false, resp_take, "fast", 2, "Takes permits of a limit for a key, now or not at all",
     "limit key [COST n ...] [PEEK]", "10/s user:42 COST 2"},
    {NAME("WEIR.CHARGE"), -4, true, false, resp_charge, "fast", 2, "Takes permits whatever the balance",
     "limit key n ...", "10/s user:42 5"},
    {NAME("WEIR.SETTLE"), -3, false, false, resp_settle, "fast", 0,
     "Corrects what a receipt says to what was really used", "receipt n ...", "RECEIPT 5"},
    {NAME("WEIR.RENEW"), 4, false, false, resp_renew, "fast", 2,
     "A lease from now on for what a take of a concurrent limit holds", "limit key id",
     "'20 concurrent lease=30s' user:42 ID"},
    {NAME("WEIR.RELEASE"), 4, false, false, resp_release, "fast", 2, "Ends now what a take of a concurrent limit holds",
     "limit key id", "'20 concurrent lease=30s' user:42 ID"},
    {NAME("WEIR.FORGET"), 3, false, false, resp_forget, "fast", 2, "A key is as if it had never asked", "limit key",
     "10/s user:42"},
    {NAME("WEIR.LIMIT"), -1, false, false, resp_limit, "admin", 0, "Limits that have a name",
     "[LIST] | GET name | SET name text | DEL name", "SET api '60 requests/min'"},
    {NAME("PING"), -1, false, false, resp_ping, "fast", 0, "PONG, or the message", "[message]", NULL},
    {NAME("ECHO"), 2, false, false, resp_echo, "fast", 0, "The message", "message", NULL},
    {NAME("HELLO"), -1, false, true, resp_hello, "noauth", 0, "Which protocol from now on, and who this is",
     "[version [AUTH user password] [SETNAME name]]", NULL},
    {NAME("AUTH"), -2, false, true, resp_auth, "noauth", 0, "The password", "[user] password", NULL},
    {NAME("QUIT"), -1, false, true, resp_quit, "noauth", 0, "Closes the connection", "", NULL},
    {NAME("RESET"), 1, false, true, resp_reset, "noauth", 0, "The connection is as if it were new", "", NULL},
    {NAME("CLIENT"), -2, false, false, resp_client, "fast", 0, "Names this connection, and tells of it",
     "ID | INFO | LIST | GETNAME | SETNAME name | SETINFO option value", NULL},
    {NAME("SELECT"), 2, false, false, resp_select, "fast", 0, "There is one database, 0", "index", NULL},
    {NAME("COMMAND"), -1, false, false, resp_list_commands, "fast", 0, "These commands",
     "[COUNT] | INFO [name ...] | DOCS [name ...]", NULL},
    {NAME("INFO"), -1, false, false, resp_info, "fast", 0, "What the service has done", "[section ...]", NULL},
    {NAME("CONFIG"), -2, false, false, resp_config, "admin", 0, "Nothing that Redis could be told is here", "GET name",
     NULL},
    {NAME("DBSIZE"), 1, false, false, resp_dbsize, "fast", 0, "Keys that have used something and are not full again",
     "", NULL},
};

const struct resp_row *resp_rows(unsigned *count)
{
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

const struct resp_row *resp_row_find(struct slice name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].size != name.size) continue;
        if (memcmp(rows[i].name, name.bytes, name.size) == 0 || resp_is(name, rows[i].name)) return &rows[i];
    }
    return NULL;
}

/* ---- answers ---- */

struct bytes *resp_reply(struct batch *batch, struct session *session)
{
    return batch_reply(batch, session, BATCH_REPLY);
}

void resp_ok(struct batch *batch, struct session *session)
{
    resp_simple(resp_reply(batch, session), "OK");
}

static void note(struct batch *batch, const char *text)
{
    char line[NOTES_LINE_MAX];
    if (!notes_may_add(batch)) return;
    snprintf(line, sizeof line, "RESP: %.380s", text);
    notes_add(batch, line);
}

static void refuse(struct batch *batch, struct session *session, const char *text)
{
    batch_settle_queue(batch);
    resp_error(resp_reply(batch, session), slice_of(text));
    stats_add(&batch->stats->errors, 1);
}

void resp_refuse(struct batch *batch, struct session *session, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    refuse(batch, session, text);
    note(batch, text);
}

const char *resp_shown(struct slice slice, char shown[RESP_SHOWN + 4])
{
    size_t size = 0;
    for (; size < slice.size && size < RESP_SHOWN; size++) {
        shown[size] = slice.bytes[size];
        if (shown[size] < ' ' || shown[size] > '~') shown[size] = '?';
    }
    memcpy(shown + size, size < slice.size ? "..." : "", size < slice.size ? 4 : 1);
    return shown;
}

void resp_refuse_limit(struct batch *batch, struct session *session, const char *code, const weir_error *error)
{
    if (error->column > 0) resp_refuse(batch, session, "%s col %d: %s", code, error->column, error->message);
    else resp_refuse(batch, session, "%s %s", code, error->message);
}

/* As Redis says it, so that clients know it again.  Its arguments are in no log: it may be AUTH
   misspelled. */
static void refuse_unknown(struct batch *batch, struct session *session, const struct resp_command *command)
{
    char name[RESP_SHOWN + 4], argument[RESP_SHOWN + 4], beginning[160] = "", text[400];
    size_t size = 0;
    for (unsigned i = 1; i < command->count && size < sizeof beginning - sizeof argument - 4; i++) {
        const char *shown = resp_shown(command->argument[i], argument);
        size += (size_t)snprintf(beginning + size, sizeof beginning - size, "'%s' ", shown);
    }
    resp_shown(command->argument[0], name);
    snprintf(text, sizeof text, "ERR unknown command '%s', with args beginning with: %s", name, beginning);
    refuse(batch, session, text);
    snprintf(text, sizeof text, "ERR unknown command '%s'", name);
    note(batch, text);
}

/* row NULL: an unknown command. */
static bool may_run(const struct batch *batch, const struct session *session, const struct resp_row *row)
{
    return batch_knows(batch, session) || (row != NULL && row->before_auth);
}

bool resp_may_change(struct batch *batch, struct session *session)
{
    if (batch_may_change(batch, session, session->admin)) return true;
    resp_refuse(batch, session,
                access_has_admin(&batch->access)
                    ? "NOPERM changing limits and forgetting keys needs the admin's password: AUTH admin PASSWORD"
                    : "NOPERM limits are changed and keys forgotten over a Unix socket, or with admin_password in "
                      "weir.yaml and AUTH admin PASSWORD");
    return false;
}

static bool fits(const struct resp_row *row, unsigned count)
{
    return row->arity < 0 ? count >= (unsigned)-row->arity : count == (unsigned)row->arity;
}

const char *resp_lower(const char *name, char lower[RESP_SHOWN])
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", letters[] = "abcdefghijklmnopqrstuvwxyz";
    size_t size = 0;
    for (; name[size] != '\0' && size + 1 < RESP_SHOWN; size++) {
        const char *capital = strchr(capitals, name[size]);
        lower[size] = *(capital != NULL ? letters + (capital - capitals) : name + size);
    }
    lower[size] = '\0';
    return lower;
}

/* what: is wrong with it */
static void refuse_usage(struct batch *batch, struct session *session, const struct resp_command *command,
                         const char *what)
{
    const struct resp_row *row = resp_row_find(command->argument[0]);
    const bool example = row->example != NULL;
    resp_refuse(batch, session, "ERR %s: expected %s%s%s%s%s%s%s", what, row->name, row->syntax[0] != '\0' ? " " : "",
                row->syntax, example ? "; for example " : "", example ? row->name : "", example ? " " : "",
                example ? row->example : "");
}

void resp_refuse_arity(struct batch *batch, struct session *session, const struct resp_command *command)
{
    char lower[RESP_SHOWN], what[RESP_SHOWN + 50];
    const struct resp_row *row = resp_row_find(command->argument[0]);
    snprintf(what, sizeof what, "wrong number of arguments for '%s' command", resp_lower(row->name, lower));
    refuse_usage(batch, session, command, what);
}

void resp_refuse_argument(struct batch *batch, struct session *session, const struct resp_command *command,
                          unsigned wrong)
{
    char shown[RESP_SHOWN + 4], what[RESP_SHOWN + 60];
    const bool subcommand = strchr(resp_row_find(command->argument[0])->syntax, '|') != NULL;
    snprintf(what, sizeof what, "%s '%s'",
             subcommand ? "unknown subcommand or wrong number of arguments for" : "syntax error at",
             resp_shown(command->argument[wrong], shown));
    refuse_usage(batch, session, command, what);
}

bool resp_command(struct batch *batch, struct session *session, const struct resp_command *command)
{
    const struct resp_row *row = resp_row_find(command->argument[0]);
    if (row == NULL || !row->queued) {
        batch_works(batch, BATCH_OTHER_WORK);
        batch_settle_queue(batch);
    }
    if (session->parked != 0) return false;
    stats_add(&batch->stats->commands, 1);
    if (!may_run(batch, session, row)) {
        resp_refuse(batch, session, "NOAUTH Authentication required: AUTH, as weir.yaml or WEIR_PASSWORD has it.");
    } else if (row == NULL) {
        refuse_unknown(batch, session, command);
    } else if (!fits(row, command->count)) {
        resp_refuse_arity(batch, session, command);
    } else {
        row->run(batch, session, command);
    }
    return true;
}
