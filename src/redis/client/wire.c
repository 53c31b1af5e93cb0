/* SPDX-License-Identifier: MIT
   Questions as commands, answers as decisions.

       module      WEIR.TAKE limit key [AND key]... COST n..   *8 verdict limit remaining delay retry full receipt late
       functions   FCALL weir_take n key.. limit n..           *8 verdict limit remaining delay retry full taken late
       scripts     EVALSHA sha n key.. weir_take limit n..     the same; EVAL takes the source along

       module      WEIR.RENEW limit key [AND key]... id        :1 or 0, and RELEASE; functions and scripts likewise
       module      WEIR.LEASE limit key want us [RETURN id permits unused]     *4 permits id remaining retry

   The module speaks ns, functions and scripts us.  An older engine does not say `late`; behind it is the id of a text
   with a concurrent limit, and what a newer one says is passed over.

   An answer of another form is none. */
#include "redis/client/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "redis/client/script.h"

enum {
    KEY_MORE = 8 /* { } : and an index */,
    ANSWERS = 7 /* and late */,
    ID_AT = 8,
    LEASE_ANSWERS = 4 /* or more, of a newer engine */,
    NS_PER_US = 1000
};

/* ---- keys ---- */

bool wire_room(struct wire_keys *keys, size_t size)
{
    if (size <= keys->room) return true;
    char *const memory = realloc(keys->memory, size);
    if (memory == NULL) return false;
    keys->memory = memory;
    keys->room = size;
    return true;
}

bool wire_keys(struct wire_keys *keys, const char *prefix, weir_key key, unsigned count)
{
    const size_t before = strlen(prefix);
    if (key.size > WIRE_KEY_MAX - before - KEY_MORE) return false;
    const size_t each = before + key.size + KEY_MORE;
    if (!wire_room(keys, each * count)) return false;
    for (unsigned i = 0; i < count; i++) {
        char *const at = keys->memory + i * each;
        snprintf(at, before + 2, "{%s", prefix);
        if (key.size != 0) memcpy(at + 1 + before, key.bytes, key.size);
        at[1 + before + key.size] = '}';
        keys->at[i] = i * each;
        keys->size[i] = before + key.size + 2;
        if (count > 1) keys->size[i] += (size_t)snprintf(at + keys->size[i], KEY_MORE - 2, ":%u", i);
    }
    return true;
}

/* ---- words ---- */

static void add(struct command *command, const char *word, size_t size)
{
    command->word[command->count] = word;
    command->size[command->count++] = size;
}

static void add_text(struct command *command, const char *word)
{
    add(command, word, strlen(word));
}

static void add_number(struct command *command, uint64_t number)
{
    char *const text = command->number[command->count];
    add(command, text, (size_t)snprintf(text, WIRE_NUMBER_MAX, "%" PRIu64, number));
}

static void add_script(struct command *command)
{
    size_t size = 0;
    const char *const script = script_text(&size);
    add(command, script, size);
}

uint64_t wire_cost(const weir_engine_ask *ask, unsigned i)
{
    if (ask->cost == NULL || ask->costs == 0) return 1;
    return ask->cost[i < ask->costs ? i : ask->costs - 1];
}

uint64_t wire_actual(const weir_engine_ask *ask, unsigned i)
{
    if (ask->actual == NULL || ask->costs == 0) return 0;
    return ask->actual[i < ask->costs ? i : ask->costs - 1];
}

static void add_costs(struct command *command, const weir_engine_ask *ask)
{
    for (unsigned i = 0; i < ask->limit->count; i++) add_number(command, wire_cost(ask, i));
}

static void add_settled(struct command *command, const weir_engine_ask *ask)
{
    uint64_t cost[WEIR_LIMITS_MAX];
    for (unsigned i = 0; i < ask->limit->count; i++) cost[i] = wire_cost(ask, i);
    add(command, command->receipt, micro_receipt_write(ask->taken, cost, ask->limit->count, command->receipt));
    for (unsigned i = 0; i < ask->limit->count; i++) add_number(command, wire_actual(ask, i));
}

/* What stands behind limit and keys. */
static void add_numbers(struct command *command, const weir_engine_ask *ask)
{
    if (ask->verb == WEIR_ASK_FORGET) return;
    if (ask->verb == WEIR_ASK_RENEW || ask->verb == WEIR_ASK_RELEASE) add_number(command, ask->taken);
    else if (ask->verb == WEIR_ASK_SETTLE) add_settled(command, ask);
    else add_costs(command, ask);
    if (ask->verb == WEIR_ASK_PEEK) add_text(command, "PEEK");
}

/* ---- by the module ---- */

static void ask_module(struct command *command, const weir_engine_ask *ask, const struct wire_keys *keys)
{
    static const char *const verbs[] = {
        [WEIR_ASK_TAKE] = "WEIR.TAKE",      [WEIR_ASK_PEEK] = "WEIR.TAKE",     [WEIR_ASK_CHARGE] = "WEIR.CHARGE",
        [WEIR_ASK_SETTLE] = "WEIR.SETTLE",  [WEIR_ASK_FORGET] = "WEIR.FORGET", [WEIR_ASK_RENEW] = "WEIR.RENEW",
        [WEIR_ASK_RELEASE] = "WEIR.RELEASE"};
    add_text(command, verbs[ask->verb]);
    add(command, ask->limit->text->bytes, ask->limit->text->size);
    for (unsigned i = 0; i < ask->limit->keys; i++) {
        if (i > 0) add_text(command, "AND");
        add(command, keys->memory + keys->at[i], keys->size[i]);
    }
    if (ask->verb == WEIR_ASK_TAKE || ask->verb == WEIR_ASK_PEEK) add_text(command, "COST");
    add_numbers(command, ask);
}

/* ---- by functions and scripts ---- */

static void ask_function(struct command *command, const weir_engine_ask *ask, const struct wire_keys *keys,
                         bool scripts, bool whole_script)
{
    static const char *const names[] = {
        [WEIR_ASK_TAKE] = "weir_take",      [WEIR_ASK_PEEK] = "weir_take",     [WEIR_ASK_CHARGE] = "weir_charge",
        [WEIR_ASK_SETTLE] = "weir_settle",  [WEIR_ASK_FORGET] = "weir_forget", [WEIR_ASK_RENEW] = "weir_renew",
        [WEIR_ASK_RELEASE] = "weir_release"};
    add_text(command, !scripts ? "FCALL" : whole_script ? "EVAL" : "EVALSHA");
    if (scripts && whole_script) add_script(command);
    else add_text(command, scripts ? script_sha1() : names[ask->verb]);
    add_number(command, ask->limit->keys);
    for (unsigned i = 0; i < ask->limit->keys; i++) add(command, keys->memory + keys->at[i], keys->size[i]);
    if (scripts) add_text(command, names[ask->verb]);
    if (ask->verb == WEIR_ASK_FORGET) return;
    add(command, ask->limit->text->bytes, ask->limit->text->size);
    add_numbers(command, ask);
}

void wire_command(struct command *command, const weir_engine_ask *ask, const struct wire_keys *keys, enum link_way way,
                  bool whole_script)
{
    command->count = 0;
    if (way == LINK_MODULE) ask_module(command, ask, keys);
    else ask_function(command, ask, keys, way == LINK_SCRIPTS, whole_script);
}

/* ---- leases ---- */

static void add_returned(struct command *command, const struct engine_lease_command *lease)
{
    add_number(command, lease->id);
    add_number(command, lease->permits);
    add_number(command, lease->unused);
}

static void add_lease(struct command *command, const struct engine_lease_command *lease, enum link_way way)
{
    if (lease->want != 0) {
        add_number(command, lease->want);
        add_number(command, lease->lifetime_us);
        if (lease->permits != 0 && way == LINK_MODULE) add_text(command, "RETURN");
    }
    if (lease->permits != 0) add_returned(command, lease);
}

void wire_lease(struct command *command, const struct engine_lease_command *lease, const struct limit_text *limit,
                const struct wire_keys *keys, enum link_way way)
{
    const char *const name = lease->want != 0 ? "weir_lease" : "weir_return";
    const char *const verb = lease->want != 0 ? "WEIR.LEASE" : "WEIR.RETURN";
    command->count = 0;
    if (way == LINK_MODULE) {
        add_text(command, verb);
        add(command, limit->bytes, limit->size);
        add(command, keys->memory + keys->at[0], keys->size[0]);
    } else {
        add_text(command, way == LINK_SCRIPTS ? "EVALSHA" : "FCALL");
        add_text(command, way == LINK_SCRIPTS ? script_sha1() : name);
        add_number(command, 1);
        add(command, keys->memory + keys->at[0], keys->size[0]);
        if (way == LINK_SCRIPTS) add_text(command, name);
        add(command, limit->bytes, limit->size);
    }
    add_lease(command, lease, way);
}

bool wire_leased(const redisReply *reply, uint64_t want, uint64_t *id, uint64_t *permits)
{
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements < LEASE_ANSWERS) return false;
    const redisReply *const granted = reply->element[0], *const name = reply->element[1];
    if (granted->type != REDIS_REPLY_INTEGER || granted->integer < 0 || name->type != REDIS_REPLY_INTEGER) return false;
    *permits = (uint64_t)granted->integer;
    *id = (uint64_t)name->integer;
    return *permits <= want;
}

/* ---- a trial ---- */

void wire_trial(struct command *command, const char *key, enum link_way way)
{
    static const char limit[] = "1/s";
    const char *const module[] = {"WEIR.TAKE", limit, key, "PEEK"};
    const char *const function[] = {"FCALL", "weir_take", "1", key, limit, "1", "PEEK"};
    const char *const script[] = {"EVAL", script_text(&(size_t){0}), "1", key, "weir_take", limit, "1", "PEEK"};
    const struct {
        const char *const *word;
        size_t count;
    } ways[] = {[LINK_MODULE] = {module, sizeof module / sizeof *module},
                [LINK_FUNCTIONS] = {function, sizeof function / sizeof *function},
                [LINK_SCRIPTS] = {script, sizeof script / sizeof *script}};
    command->count = 0;
    for (size_t i = 0; i < ways[way].count; i++) add_text(command, ways[way].word[i]);
}

/* ---- answers ---- */

static bool read_verdict(const redisReply *reply, weir_decision *decision)
{
    static const struct {
        const char *text;
        weir_verdict verdict;
    } verdicts[] = {{"allow", WEIR_ALLOW}, {"deny", WEIR_DENY}, {"never", WEIR_NEVER}};
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        if (reply->str == NULL || strcmp(reply->str, verdicts[i].text) != 0) continue;
        decision->verdict = (uint32_t)verdicts[i].verdict;
        return true;
    }
    return false;
}

static uint64_t times(long long number, uint64_t by)
{
    return multiply_divide_floor((uint64_t)number, by, 1);
}

/* "taken:cost...", or the time itself. */
static uint64_t taken_of(const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER) return (uint64_t)reply->integer;
    return reply->str != NULL ? strtoull(reply->str, NULL, 10) : 0;
}

static bool is_number(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0;
}

/* Slots are settled by their id, and so are the rates beside them; it begins with when that was. */
static bool read_id(const weir_engine_ask *ask, const redisReply *reply, weir_decision *decision)
{
    if (reply->elements <= ID_AT) return false;
    const redisReply *const id = reply->element[ID_AT];
    const bool took = decision->verdict == WEIR_ALLOW && ask->verb != WEIR_ASK_PEEK;
    if (id->type == REDIS_REPLY_STRING) decision->end = strtoull(id->str, NULL, 10);
    else if (!took || decision->end > UINT64_MAX / MICRO_ID_PARTS) decision->end = 0;
    else if (reply->element[ANSWERS - 1]->type == REDIS_REPLY_INTEGER) decision->end *= MICRO_ID_PARTS;
    return true;
}

static bool read_decision(weir_engine_ask *ask, const redisReply *reply, enum link_way way, uint64_t now_ns)
{
    weir_decision *const decision = &ask->decision;
    const uint64_t unit = way == LINK_MODULE ? 1 : NS_PER_US;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < ANSWERS) return false;
    redisReply *const *const part = reply->element;
    for (unsigned i = 1; i < ANSWERS - 1; i++) {
        if (!is_number(part[i])) return false;
    }
    const bool tells_late = reply->elements > ANSWERS;
    if (tells_late && !is_number(part[ANSWERS])) return false;
    *decision = (weir_decision){.limit = (uint32_t)part[1]->integer,
                                .remaining = (uint64_t)part[2]->integer,
                                .delay_ns = times(part[3]->integer, unit),
                                .retry_ns = times(part[4]->integer, unit),
                                .end = taken_of(part[6])};
    if (!read_verdict(part[0], decision) || part[1]->integer >= ask->limit->count) return false;
    ask->full_ns = times(part[5]->integer, unit);
    decision->start.ns = now_ns + decision->delay_ns;
    const bool took = decision->verdict == WEIR_ALLOW && ask->verb != WEIR_ASK_PEEK;
    if (decision->verdict == WEIR_ALLOW && ask->limit->has_schedule && tells_late)
        decision->due.ns = decision->start.ns - times(part[ANSWERS]->integer, unit);
    decision->charged = took ? wire_cost(ask, 0) : 0;
    return !ask->limit->holds || read_id(ask, reply, decision);
}

bool wire_answer(weir_engine_ask *ask, const redisReply *reply, enum link_way way, uint64_t now_ns)
{
    const bool held = ask->verb == WEIR_ASK_RENEW || ask->verb == WEIR_ASK_RELEASE;
    if (!held && ask->verb != WEIR_ASK_SETTLE && ask->verb != WEIR_ASK_FORGET)
        return read_decision(ask, reply, way, now_ns);
    if (held && !is_number(reply)) return false;
    /* That something was settled or forgotten the engine says by whatever is no error. */
    ask->decision = (weir_decision){.verdict = WEIR_ALLOW, .start = {now_ns}};
    if (held && reply->integer == 0) ask->decision.verdict = WEIR_DENY;
    ask->full_ns = 0;
    return true;
}
