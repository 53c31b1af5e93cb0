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
    {NAME("CL.THROTTLE"), -1, true, false, resp_throttle, "fast", "max_burst + 1 at once, then count in each period",
     1},
    {NAME("WEIR.TAKE"), -3, true, false, resp_take, "fast", "Takes permits of a limit for a key, now or not at all", 2},
    {NAME("WEIR.CHARGE"), -4, true, false, resp_charge, "fast", "Takes permits whatever the balance", 2},
    {NAME("WEIR.SETTLE"), -3, false, false, resp_settle, "fast", "Corrects what a receipt says to what was really used",
     0},
    {NAME("WEIR.FORGET"), 3, false, false, resp_forget, "fast", "A key is as if it had never asked", 2},
    {NAME("WEIR.LIMIT"), -1, false, false, resp_limit, "admin", "Limits that have a name: LIST, GET, SET, DEL", 0},
    {NAME("PING"), -1, false, false, resp_ping, "fast", "PONG, or the message", 0},
    {NAME("ECHO"), 2, false, false, resp_echo, "fast", "The message", 0},
    {NAME("HELLO"), -1, false, true, resp_hello, "noauth", "Which protocol from now on, and who this is", 0},
    {NAME("AUTH"), -2, false, true, resp_auth, "noauth", "The password", 0},
    {NAME("QUIT"), -1, false, true, resp_quit, "noauth", "Closes the connection", 0},
    {NAME("RESET"), 1, false, true, resp_reset, "noauth", "The connection is as if it were new", 0},
    {NAME("CLIENT"), -2, false, false, resp_client, "fast", "Names this connection, and tells of it", 0},
    {NAME("SELECT"), 2, false, false, resp_select, "fast", "There is one database, 0", 0},
    {NAME("COMMAND"), -1, false, false, resp_list_commands, "fast", "These commands", 0},
    {NAME("INFO"), -1, false, false, resp_info, "fast", "What the service has done", 0},
    {NAME("CONFIG"), -2, false, false, resp_config, "admin", "GET: nothing that Redis could be told is here", 0},
    {NAME("DBSIZE"), 1, false, false, resp_dbsize, "fast", "Keys that have used something and are not full again", 0},
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

/* Those that Redis has need none. */
static const char *example_of(const struct resp_row *row)
{
    if (row->run == resp_take) return "; for example WEIR.TAKE 10/s user:42";
    if (row->run == resp_charge) return "; for example WEIR.CHARGE 10/s user:42 5";
    if (row->run == resp_settle) return "; for example WEIR.SETTLE RECEIPT 5";
    if (row->run == resp_forget) return "; for example WEIR.FORGET 10/s user:42";
    return "";
}

static void refuse_arity(struct batch *batch, struct session *session, const struct resp_row *row)
{
    char lower[RESP_SHOWN];
    resp_refuse(batch, session, "ERR wrong number of arguments for '%s' command%s", resp_lower(row->name, lower),
                example_of(row));
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
        refuse_arity(batch, session, row);
    } else {
        row->run(batch, session, command);
    }
    return true;
}
