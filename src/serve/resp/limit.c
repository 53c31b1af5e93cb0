/* SPDX-License-Identifier: MIT
   WEIR.LIMIT: limits that have a name, while the service runs.

       WEIR.LIMIT [LIST]           all of them: name, canonical text
       WEIR.LIMIT GET name         the text
       WEIR.LIMIT SET name text    from now on; what was used stays used
       WEIR.LIMIT DEL name

   What is set here lasts until the service stops or reads its file again.

   A client that has set a name finds it with its next command. */
#include "serve/resp/parts.h"

#include <stdio.h>

enum { LISTED_MAX = POLICY_NAME_MAX + 2 * POLICY_TEXT_MAX + 64 };

static void add_text(struct bytes *out, const weir_plan *plan)
{
    char text[2 * POLICY_TEXT_MAX];
    weir_plan_text(plan, text, sizeof text);
    resp_bulk(out, slice_of(text));
}

static void list(struct batch *batch, struct session *session)
{
    const unsigned count = batch->policy != NULL ? batch->policy->limit_count : 0;
    struct bytes *out = batch_reply(batch, session, BATCH_REPLY + (size_t)count * LISTED_MAX);
    resp_map(out, session->resp_version, count);
    for (unsigned i = 0; i < count; i++) {
        resp_bulk(out, slice_of(batch->policy->limit[i].name));
        add_text(out, &batch->policy->limit[i].plan);
    }
}

static void get(struct batch *batch, struct session *session, struct slice name)
{
    const char *code = NULL;
    weir_error error;
    struct call call = call_start(session, NULL);
    if (batch_limit(batch, name, &call, &code, &error)) {
        add_text(batch_reply(batch, session, LISTED_MAX), call.under.plan);
    } else {
        resp_refuse_limit(batch, session, code, &error);
    }
}

/* text NULL: removes it. */
static void define(struct batch *batch, struct session *session, struct slice name, const char *text)
{
    weir_error error;
    if (!resp_may_change(batch, session)) return;
    const bool known = batch->policy != NULL && policy_find(batch->policy, name) != NULL;
    if (service_define(batch->service, name, text, &error) != 0) {
        resp_refuse_limit(batch, session, text == NULL && !known ? "NOLIMIT" : "BADLIMIT", &error);
        return;
    }
    batch_look_at_policy(batch);
    resp_ok(batch, session);
}

static void set(struct batch *batch, struct session *session, struct slice name, struct slice given)
{
    char text[POLICY_TEXT_MAX + 1];
    if (given.size > POLICY_TEXT_MAX || slice_has(given, '\0')) {
        resp_refuse(batch, session,
                    "BADLIMIT the text of a limit has at most %d bytes, and no byte that is 0; such as 10/s",
                    POLICY_TEXT_MAX);
        return;
    }
    memcpy(text, given.bytes, given.size);
    text[given.size] = '\0';
    define(batch, session, name, text);
}

void resp_limit(struct batch *batch, struct session *session, const struct resp_command *command)
{
    const struct slice *argument = command->argument;
    batch_works(batch, BATCH_LONG_WORK);
    const struct slice what = command->count > 1 ? argument[1] : slice_of("LIST");
    if (command->count <= 2 && resp_is(what, "LIST")) list(batch, session);
    else if (command->count == 3 && resp_is(what, "GET")) get(batch, session, argument[2]);
    else if (command->count == 3 && resp_is(what, "DEL")) define(batch, session, argument[2], NULL);
    else if (command->count == 4 && resp_is(what, "SET")) set(batch, session, argument[2], argument[3]);
    else resp_refuse_argument(batch, session, command, 1);
}
