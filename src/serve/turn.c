/* SPDX-License-Identifier: MIT
   turn.c - one turn of a worker's loop: questions queued, decided as one batch, answered in their order.

       turn_limit, turn_key -> item -> turn_take -> queue -> decide -> answer -> out -> send

   Each key's place in the table is on its way to the cache when its question is queued.  Questions of one limit each
   that lie one behind the other in the same table are asked together (keyed_take_announced); lists of limits, looks and
   charges one at a time.  All are asked at the turn's time and in the order in which they came, so nobody can tell from
   the answers where one batch ended and the next began.

   May touch: the turn, the tables, the worker's counters.  Promises: answers of a session leave in the order of its
   requests; nothing is allocated but for an answer that is longer than any before.  Leaves to others: what requests say
   (resp_commands.c, http_routes.c), the policy (policy.c), texts (plans.c). */
#include "serve/turn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "api/keyed.h"
#include "serve/plans.h"

enum {
    OUT_USUAL = 1 << 18, /* sent when it is full */
    OUT_MAX = 8 << 20,   /* bytes of one answer */
    SCRATCH = 1 << 20,
    SUGGEST_AMONG = 64 /* names that are held against a mistyped one */
};

static bool open_memory(struct turn *turn)
{
    turn->plans = plans_open();
    turn->out.memory = malloc(OUT_USUAL);
    turn->out.capacity = OUT_USUAL;
    turn->scratch.memory = malloc(SCRATCH);
    turn->scratch.capacity = SCRATCH;
    return turn->plans != NULL && turn->out.memory != NULL && turn->scratch.memory != NULL;
}

/* Workers have different ones: a receipt's number is told once. */
static uint64_t first_receipt(struct service *service, const struct stats *stats)
{
    uint64_t worker = 0;
    host_lock(&service->mutex);
    while (worker < service->worker_count && service->worker[worker] != stats) worker++;
    host_unlock(&service->mutex);
    return worker;
}

int turn_open(struct turn *turn, struct service *service, struct stats *stats,
              void (*send)(void *, struct session *, struct slice), void *sender)
{
    struct policy_verdict under;
    memset(turn, 0, sizeof *turn);
    turn->service = service;
    turn->stats = stats;
    turn->send = send;
    turn->sender = sender;
    if (!open_memory(turn) || !plans_text(turn, slice_of("1/min burst=1"), &under, NULL)) {
        turn_close(turn);
        return WEIR_ENOMEM;
    }
    turn->slots = under.table;
    turn->receipts = first_receipt(service, stats);
    return 0;
}

void turn_close(struct turn *turn)
{
    if (turn->policy != NULL) service_release(turn->service, turn->policy);
    plans_close(turn->plans);
    free(turn->out.memory);
    free(turn->scratch.memory);
    memset(turn, 0, sizeof *turn);
}

/* The serial is read first: a policy that is newer than it is looked for once more, never missed. */
void turn_look_at_policy(struct turn *turn)
{
    const uint64_t serial = atom_load_acquire(&turn->service->policy_serial);
    if (serial == turn->policy_serial) return;
    if (turn->policy != NULL) service_release(turn->service, turn->policy);
    turn->policy = service_policy(turn->service);
    turn->policy_serial = serial;
    turn->last_limit = NULL;
}

void turn_begin(struct turn *turn)
{
    turn->now_ns = turn->service->now_ns(turn->service->clock);
    turn->decisions = 0;
    turn_look_at_policy(turn);
}

/* ---- answers ---- */

static void flush(struct turn *turn)
{
    struct session *session = turn->out_session;
    if (turn->out.full && session != NULL) {
        session->closing = true; /* half an answer is none, and what follows would be taken for it */
    } else if (turn->out.size != 0 && session != NULL) {
        turn->send(turn->sender, session, bytes_slice(&turn->out));
    }
    turn->out.size = 0;
    turn->out.full = false;
}

static void grow(struct turn *turn, size_t room)
{
    char *memory = room <= OUT_MAX ? realloc(turn->out.memory, room) : NULL;
    if (memory == NULL) return; /* then it will be full */
    turn->out.memory = memory;
    turn->out.capacity = room;
}

struct bytes *turn_reply(struct turn *turn, struct session *session, size_t room)
{
    if (turn->out_session != session || turn->out.capacity - turn->out.size < room) flush(turn);
    if (turn->out.capacity < room) grow(turn, room);
    turn->out_session = session;
    return &turn->out;
}

/* ---- the queue ---- */

static bool is_plain(const struct item *item)
{
    return item->each == NULL && !item->peek && !item->charge;
}

static void decide_one(struct turn *turn, unsigned number)
{
    const struct item *item = &turn->item[number];
    struct ask ask = {.now_ns = turn->now_ns, .cost = item->cost, .peek = item->peek, .charge = item->charge};
    if (item->each != NULL) {
        struct item_each *each = &turn->each[item->each - turn->each];
        ask.each = each->cost;
        ask.end = each->end;
    }
    turn->ask[number].decision = keyed_ask(item->under.table, item->under.plan, turn->ask[number].key, &ask);
}

static void decide_all(struct turn *turn)
{
    for (unsigned from = 0, to; from < turn->count; from = to) {
        weir_table *table = turn->item[from].under.table;
        to = from;
        while (to < turn->count && turn->item[to].under.table == table && is_plain(&turn->item[to])) to++;
        if (to == from) decide_one(turn, to++);
        else keyed_take_announced(table, turn->ask + from, turn->hash + from, to - from, turn->now_ns);
    }
}

/* Would have been refused, but nobody is: what was not taken is not charged. */
static void let_pass(struct item *item, weir_decision *decision)
{
    item->shadow_denied = true;
    decision->verdict = WEIR_ALLOW;
    decision->retry_ns = 0;
}

static void answer_all(struct turn *turn)
{
    for (unsigned i = 0; i < turn->count; i++) {
        struct item *item = &turn->item[i];
        weir_decision *decision = &turn->ask[i].decision;
        if (!item->peek) stats_decided(turn->stats, item->number, decision, item->under.shadow);
        if (item->under.shadow && decision->verdict != WEIR_ALLOW) let_pass(item, decision);
        item->receipt = turn->receipts += SERVICE_WORKERS_MAX;
        item->answer(turn, item, decision);
    }
}

void turn_settle_queue(struct turn *turn)
{
    if (turn->count == 0) return;
    decide_all(turn);
    answer_all(turn);
    turn->decisions += turn->count;
    turn->count = turn->each_count = 0;
}

static const struct item_each *keep_each(struct turn *turn, const struct item *item, const uint64_t each[],
                                         unsigned each_count)
{
    struct item_each *kept = &turn->each[turn->each_count++];
    *kept = (struct item_each){.end = {0}};
    for (unsigned i = 0; i < WEIR_LIMITS_MAX; i++) {
        kept->cost[i] = each == NULL ? item->cost : each_count == 1 ? each[0] : i < each_count ? each[i] : 0;
    }
    return kept;
}

void turn_take(struct turn *turn, const struct item *item, const uint64_t each[], unsigned each_count)
{
    const bool wants_each = weir_plan_limits(item->under.plan) > 1;
    if (turn->count == TURN_ASKS || (wants_each && turn->each_count == TURN_EACH)) turn_settle_queue(turn);
    struct item *queued = &turn->item[turn->count];
    weir_ask *ask = &turn->ask[turn->count];
    *queued = *item;
    if (each != NULL) queued->cost = each[0];
    queued->each = wants_each ? keep_each(turn, item, each, each_count) : NULL;
    queued->shadow_denied = false;
    ask->plan = item->under.plan;
    ask->key = (weir_key){item->key.bytes, item->key.size};
    ask->cost = queued->cost;
    turn->hash[turn->count++] = keyed_announce(item->under.table, ask->plan, ask->key);
}

static void empty_scratch(struct turn *turn)
{
    turn->scratch.size = 0;
    turn->scratch.full = false;
}

void turn_next_request(struct turn *turn)
{
    if (turn->scratch.size <= SCRATCH / 2) return;
    turn_settle_queue(turn);
    empty_scratch(turn);
}

void turn_end(struct turn *turn)
{
    turn_settle_queue(turn);
    flush(turn);
    turn->out_session = NULL;
    empty_scratch(turn);
    stats_add(&turn->stats->turns, 1);
    if (turn->decisions == 0) return;
    stats_latency(turn->stats, turn->service->now_ns(turn->service->clock) - turn->now_ns, turn->decisions);
    turn->decisions = 0;
}

bool turn_costs(const struct item *item, unsigned count, char problem[200])
{
    const int limits = weir_plan_limits(item->under.plan);
    if (count == 1 || (int)count == limits) return true;
    if (limits == 1) {
        snprintf(problem, 200, "this limit takes one cost, not %u; for example COST 2", count);
    } else {
        snprintf(problem, 200, "these are %d limits: expected one cost for all, or %d, not %u", limits, limits, count);
    }
    return false;
}

/* ---- limits ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool begins_with_word(struct slice text, const char *word)
{
    const struct slice start = slice_of(word);
    if (!slice_begins(text, start)) return false;
    return text.size == start.size || memchr(" \t;,", text.bytes[start.size], 4) != NULL;
}

static bool is_name(struct slice name_or_text)
{
    return name_or_text.size != 0 && is_letter(name_or_text.bytes[0]) && !begins_with_word(name_or_text, "unlimited") &&
           !begins_with_word(name_or_text, "none");
}

/* Is one the other but for a letter: changed, left out, put in, or changed with its neighbour? */
static bool is_near(struct slice one, struct slice other)
{
    size_t same = 0, same_end = 0;
    const size_t shorter = one.size < other.size ? one.size : other.size;
    const size_t longer = one.size < other.size ? other.size : one.size;
    while (same < shorter && one.bytes[same] == other.bytes[same]) same++;
    while (same_end < shorter - same && one.bytes[one.size - 1 - same_end] == other.bytes[other.size - 1 - same_end])
        same_end++;
    const size_t differ = longer - same - same_end;
    if (differ <= 1) return true;
    return differ == 2 && one.size == other.size && one.bytes[same] == other.bytes[same + 1] &&
           one.bytes[same + 1] == other.bytes[same];
}

static const char *suggestion(const struct policy *policy, struct slice name)
{
    for (unsigned i = 0; policy != NULL && i < policy->limit_count && i < SUGGEST_AMONG; i++) {
        if (name.size > 1 && is_near(slice_of(policy->limit[i].name), name)) return policy->limit[i].name;
    }
    return NULL;
}

static void say_unknown(const struct policy *policy, struct slice name, weir_error *error)
{
    char shown[POLICY_NAME_MAX + 1];
    const char *near = suggestion(policy, name);
    size_t size = 0;
    for (; size < name.size && size < POLICY_NAME_MAX; size++) {
        shown[size] = name.bytes[size] >= ' ' && name.bytes[size] <= '~' ? name.bytes[size] : '?';
    }
    shown[size] = '\0';
    *error = (weir_error){.code = WEIR_EINVAL};
    if (near != NULL) {
        snprintf(error->message, sizeof error->message, "there is no limit called %s; did you mean %s?", shown, near);
    } else {
        snprintf(error->message, sizeof error->message,
                 "there is no limit called %s; define it, or give the text of a limit, such as 10/s", shown);
    }
}

/* Most often it is the last one again. */
static const struct policy_limit *find_limit(struct turn *turn, struct slice name)
{
    const struct policy_limit *last = turn->last_limit;
    if (last != NULL && turn->last_size == name.size && memcmp(last->name, name.bytes, name.size) == 0) return last;
    if (turn->policy == NULL) return NULL;
    turn->last_limit = policy_find(turn->policy, name);
    turn->last_size = name.size;
    return turn->last_limit;
}

bool turn_limit(struct turn *turn, struct slice name_or_text, struct item *item, const char **code, weir_error *error)
{
    item->limit = name_or_text;
    item->named = is_name(name_or_text);
    item->number = 0;
    item->policy_limit = NULL;
    *code = "BADLIMIT";
    if (!item->named) return plans_text(turn, name_or_text, &item->under, error);
    *code = "NOLIMIT";
    item->policy_limit = find_limit(turn, name_or_text);
    if (item->policy_limit == NULL) {
        say_unknown(turn->policy, name_or_text, error);
        return false;
    }
    const struct policy_limit *limit = item->policy_limit;
    item->under = (struct policy_verdict){&limit->plan, limit->table, limit->shadow};
    item->number = limit->number;
    return true;
}

/* ---- keys ---- */

/* "\0NAME\0" in scratch, and behind it the key is to come; returns where it begins. */
static size_t begin_key(struct turn *turn, const struct item *item)
{
    const size_t begin = turn->scratch.size;
    bytes_byte(&turn->scratch, '\0');
    bytes_text(&turn->scratch, item->policy_limit->name);
    bytes_byte(&turn->scratch, '\0');
    return begin;
}

static void end_key(struct turn *turn, size_t begin, struct item *item)
{
    item->key = slice_from(bytes_slice(&turn->scratch), begin);
    item->under = policy_resolve(item->policy_limit, turn_key_plain(item));
}

static bool key_fails(struct turn *turn, size_t begin, const char *missing, char problem[200])
{
    if (turn->scratch.full) {
        snprintf(problem, 200, "the key is too long: expected at most %d bytes", POLICY_KEY_MAX);
    } else {
        snprintf(problem, 200, "the key of this limit has no %s that could be read", missing);
    }
    turn->scratch.full = false;
    turn->scratch.size = begin;
    return false;
}

struct slice turn_key_plain(const struct item *item)
{
    return item->named ? slice_from(item->key, strlen(item->policy_limit->name) + 2) : item->key;
}

static bool is_key(struct slice key, const struct item *item, char problem[200])
{
    const bool needless = item->named && item->policy_limit->common;
    if ((key.size == 0 && !needless) || key.size > POLICY_KEY_MAX) {
        snprintf(problem, 200, "the key has %zu bytes: expected 1 to %d; for example user:42", key.size,
                 POLICY_KEY_MAX);
        return false;
    }
    if (item->named || key.bytes[0] != '\0') return true;
    snprintf(problem, 200, "the key begins with a byte that is 0: those are weir's own; for example user:42");
    return false;
}

bool turn_key(struct turn *turn, struct slice key, struct item *item, char problem[200])
{
    const char *missing = NULL;
    if (!is_key(key, item, problem)) return false;
    if (!item->named) {
        item->key = key;
        return true;
    }
    const size_t begin = begin_key(turn, item);
    if (!policy_key_given(item->policy_limit, key, &turn->scratch, &missing))
        return key_fails(turn, begin, missing, problem);
    end_key(turn, begin, item);
    return true;
}

bool turn_key_of_fields(struct turn *turn, policy_field field, void *request, struct item *item, char problem[200])
{
    const char *missing = NULL;
    if (!item->named) {
        const struct slice key = field(request, "key");
        if (!is_key(key, item, problem)) return false;
        item->key = key;
        return true;
    }
    const size_t begin = begin_key(turn, item);
    if (!policy_key(item->policy_limit, field, request, &turn->scratch, &missing))
        return key_fails(turn, begin, missing, problem);
    end_key(turn, begin, item);
    return true;
}

bool turn_key_again(struct turn *turn, struct slice plain, struct item *item)
{
    char problem[200];
    if (!is_key(plain, item, problem)) return false;
    item->key = plain;
    if (!item->named) return true;
    const size_t begin = begin_key(turn, item);
    bytes_add(&turn->scratch, plain);
    if (turn->scratch.full) return key_fails(turn, begin, "key", problem);
    end_key(turn, begin, item);
    return true;
}
