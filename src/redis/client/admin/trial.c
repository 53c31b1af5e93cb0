/* SPDX-License-Identifier: MIT
   One question to one server in each way that there is, until one is answered.

       module WEIR.TAKE   -> functions FCALL   -> scripts EVALSHA, EVAL        as a handle does, see batch.c

   Rights are tried out, on a key of its own, because a user may not be allowed to read its own rules.  It is a question
   that writes: an engine that is full, or has no replica that it wants, answers the others.

   Of what is refused it says which rule would allow it. */
#include <stdio.h>
#include <string.h>

#include "redis/client/admin/admin.h"
#include "redis/client/script.h"

static const char limit[] = "1/s";

enum answer {
    ANSWER_FINE,
    ANSWER_LACKING, /* there is no such thing; perhaps another way */
    ANSWER_FORBIDDEN,
    ANSWER_REFUSED /* it would refuse in any way */
};

/* "'fcall'" of "... to run the 'fcall' command": what is missing. */
static void say_refused(struct admin *admin, const char *error)
{
    const char *const word = strstr(error, "to run the '");
    if (strncmp(error, "NOPERM", 6) == 0 && word != NULL) {
        const char *const name = strchr(word, '\'') + 1;
        admin_say(admin, "%s; the ACL rule +%.*s allows it", error, (int)strcspn(name, "' "), name);
    } else if (strncmp(error, "NOPERM", 6) == 0) {
        admin_say(admin, "%s; the ACL rule ~{%s* allows it", error, admin->engine->pool->prefix);
    } else {
        admin_say(admin, "%s", error);
    }
}

/* last: there is no other way, so what is lacking is said. */
static enum answer answer_of(struct admin *admin, const redisReply *reply, bool last)
{
    if (reply == NULL) return ANSWER_REFUSED;
    const enum fault fault = fault_of(reply);
    const bool forbidden = fault == FAULT_COMMAND && link_reply_begins(reply, "NOPERM");
    if (fault == FAULT_NONE) return ANSWER_FINE;
    if (fault == FAULT_FUNCTION || fault == FAULT_SCRIPT || (fault == FAULT_COMMAND && !forbidden && !last)) {
        return ANSWER_LACKING;
    }
    say_refused(admin, reply->str);
    return forbidden ? ANSWER_FORBIDDEN : ANSWER_REFUSED;
}

static enum answer ask_by(struct admin *admin, unsigned count, const char *const text[], bool last)
{
    redisReply *const reply = admin_ask_text(admin, count, text);
    const enum answer answer = answer_of(admin, reply, last);
    freeReplyObject(reply);
    return answer;
}

static enum answer ask(struct admin *admin, unsigned count, const char *const text[])
{
    return ask_by(admin, count, text, false);
}

/* ---- each way ---- */

static enum answer by_module(struct admin *admin, const char *key)
{
    const enum answer answer = ask(admin, 3, (const char *const[]){"WEIR.TAKE", limit, key});
    if (answer != ANSWER_FINE) return answer;
    admin_say(admin, "decided by the module weir-redis");
    return ask(admin, 3, (const char *const[]){"WEIR.FORGET", limit, key});
}

static enum answer by_functions(struct admin *admin, const char *key)
{
    const enum answer answer = ask(admin, 6, (const char *const[]){"FCALL", "weir_take", "1", key, limit, "1"});
    if (answer != ANSWER_FINE) return answer;
    admin_say(admin, "decided by functions");
    return ask(admin, 4, (const char *const[]){"FCALL", "weir_forget", "1", key});
}

static enum answer by_scripts(struct admin *admin, const char *key)
{
    const char *const sha = script_sha1();
    const char *const words[] = {"EVALSHA", sha, "1", key, "weir_take", limit, "1"};
    const enum answer known = ask_by(admin, 7, words, true);
    const char *const with_all[] = {"EVAL", script_text(&(size_t){0}), "1", key, "weir_take", limit, "1"};
    const enum answer whole = ask_by(admin, 7, with_all, true);
    if (whole != ANSWER_FINE || known == ANSWER_FORBIDDEN || known == ANSWER_REFUSED) return ANSWER_REFUSED;
    admin_say(admin, "decided by scripts (EVALSHA)");
    return ask(admin, 5, (const char *const[]){"EVALSHA", sha, "1", key, "weir_forget"});
}

bool admin_try(struct admin *admin)
{
    char key[POOL_KEY_MAX];
    pool_own_key(admin->engine->pool, admin->server, "check", key);
    enum answer answer = by_module(admin, key);
    if (answer == ANSWER_LACKING || answer == ANSWER_FORBIDDEN) answer = by_functions(admin, key);
    if (answer == ANSWER_LACKING || answer == ANSWER_FORBIDDEN) answer = by_scripts(admin, key);
    return answer == ANSWER_FINE;
}
