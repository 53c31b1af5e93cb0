/* SPDX-License-Identifier: MIT
   limit.c - WEIR.LIMIT: limits that have a name, while the service runs.

       WEIR.LIMIT [LIST]           all of them: name, canonical text
       WEIR.LIMIT GET name         the text
       WEIR.LIMIT SET name text    from now on; what was used stays used
       WEIR.LIMIT DEL name

   What is set here lasts until the service stops or reads its file again.

   May touch: the turn, the service's policy.  Promises: who has set a name finds it with the next command.  Leaves to
   others: what may be a name or a text (policy.c). */
#include "serve/resp/parts.h"

#include <stdio.h>

enum { LISTED_MAX = POLICY_NAME_MAX + 2 * POLICY_TEXT_MAX + 64 };

static void add_text(struct bytes *out, const weir_plan *plan)
{
    char text[2 * POLICY_TEXT_MAX];
    weir_plan_text(plan, text, sizeof text);
    resp_bulk(out, slice_of(text));
}

static void list(struct turn *turn, struct session *session)
{
    const unsigned count = turn->policy != NULL ? turn->policy->limit_count : 0;
    struct bytes *out = turn_reply(turn, session, TURN_REPLY + (size_t)count * LISTED_MAX);
    resp_map(out, session->resp_version, count);
    for (unsigned i = 0; i < count; i++) {
        resp_bulk(out, slice_of(turn->policy->limit[i].name));
        add_text(out, &turn->policy->limit[i].plan);
    }
}

static void get(struct turn *turn, struct session *session, struct slice name)
{
    const char *code = NULL;
    weir_error error;
    struct item item = item_start(session, NULL);
    if (turn_limit(turn, name, &item, &code, &error)) {
        add_text(turn_reply(turn, session, LISTED_MAX), item.under.plan);
    } else {
        resp_refuse_limit(turn, session, code, &error);
    }
}

/* text NULL: removes it. */
static void define(struct turn *turn, struct session *session, struct slice name, const char *text)
{
    weir_error error;
    if (!resp_may_change(turn, session)) return;
    const bool known = turn->policy != NULL && policy_find(turn->policy, name) != NULL;
    if (service_define(turn->service, name, text, &error) != 0) {
        resp_refuse_limit(turn, session, text == NULL && !known ? "NOLIMIT" : "BADLIMIT", &error);
        return;
    }
    turn_look_at_policy(turn);
    resp_ok(turn, session);
}

static void set(struct turn *turn, struct session *session, struct slice name, struct slice given)
{
    char text[POLICY_TEXT_MAX + 1];
    if (given.size > POLICY_TEXT_MAX || slice_has(given, '\0')) {
        resp_refuse(turn, session,
                    "BADLIMIT the text of a limit has at most %d bytes, and no byte that is 0; such as 10/s",
                    POLICY_TEXT_MAX);
        return;
    }
    memcpy(text, given.bytes, given.size);
    text[given.size] = '\0';
    define(turn, session, name, text);
}

void resp_limit(struct turn *turn, struct session *session, const struct resp_command *command)
{
    const struct slice *argument = command->argument;
    turn_works(turn, TURN_LONG_WORK);
    const struct slice what = command->count > 1 ? argument[1] : slice_of("LIST");
    if (command->count <= 2 && resp_is(what, "LIST")) list(turn, session);
    else if (command->count == 3 && resp_is(what, "GET")) get(turn, session, argument[2]);
    else if (command->count == 3 && resp_is(what, "DEL")) define(turn, session, argument[2], NULL);
    else if (command->count == 4 && resp_is(what, "SET")) set(turn, session, argument[2], argument[3]);
    else
        resp_refuse(turn, session,
                    "ERR expected WEIR.LIMIT LIST, GET name, SET name text or DEL name; "
                    "for example WEIR.LIMIT SET api '60 requests/min'");
}
