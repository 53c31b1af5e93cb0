/* SPDX-License-Identifier: MIT
   Many questions at once: each to the link of the server that has its key, all answered within the deadline.

       parked ---sent---> answered            those of busy keys may be answered before (busy.c)
          ^        | MOVED, ASK, TRYAGAIN, NOSCRIPT: was not executed, so it may be asked again
          +--------+
          |        | the link is lost, or the deadline has come: may have been executed, so it is not asked again
          +--------+-----> away: the limit's policy answers

   Each has its own deadline, and all the same time until it, so the ring of questions is in the order of deadlines.
   A reply that comes after its question was given up is dropped (link_forget): the place may be another question's.

   Waits for nothing; a question is answered by the first call of process at or after its deadline, however many servers
   there are and whatever they do; nothing that may have been executed is sent twice. */
#include <stdio.h>
#include <string.h>

#include "core/num.h"
#include "host/clock.h"
#include "host/thread.h"
#include "redis/client/engine.h"
#include "redis/client/local/away.h"
#include "redis/client/local/owed.h"
#include "redis/client/script.h"

#define LATER_NS UINT64_C(1000000) /* TRYAGAIN is tried again after so long */
#define IDLE_NS UINT64_C(1000000)  /* a link that answered no question for so long may have been closed */
enum { ROUND_TRIP_BITS = 10 };     /* the first bucket's */
enum { TRIES_MAX = 8, NS_PER_MS = 1000000, SMOOTHING = 8, POLICY_SHARE = 16 /* of the deadline */ };

/* ---- sent ---- */

bool engine_send(struct weir_engine *engine, struct link *link, unsigned count, const char *const text[],
                 const size_t size[], link_answer *answer, void *context)
{
    pool_count(&engine->pool->counts.commands, 1);
    if (link->count == 0) link->owes_ns = engine->now_ns;
    return link_send(link, count, text, size, answer, context);
}

bool engine_send_text(struct weir_engine *engine, struct link *link, unsigned count, const char *const text[],
                      link_answer *answer, void *context)
{
    size_t size[WIRE_WORDS_MAX];
    for (unsigned i = 0; i < count; i++) size[i] = strlen(text[i]);
    return engine_send(engine, link, count, text, size, answer, context);
}

static void set_state(struct weir_engine *engine, struct call *call, enum call_state state)
{
    engine->parked -= call->state == CALL_PARKED;
    engine->sent -= call->state == CALL_SENT;
    engine->parked += state == CALL_PARKED;
    engine->sent += state == CALL_SENT;
    call->state = state;
}

/* ---- answers ---- */

/* By the next way: module, functions, scripts.  false: there is none. */
static bool next_way(struct link *link, const struct call *call)
{
    if (call->way != link->way) return true; /* another question of this batch has heard it before */
    if (link->way == LINK_SCRIPTS) return false;
    link->way = (enum link_way)(link->way + 1);
    return true;
}

/* Somebody else may have loaded them meanwhile; if it is another library by our name, the next answer says so. */
static void on_functions(struct link *link, void *context, const redisReply *reply)
{
    (void)context;
    if (link_reply_error(reply) == NULL || strstr(reply->str, "already exists") != NULL) return;
    if (link->way == LINK_FUNCTIONS) link->way = LINK_SCRIPTS;
}

static void redirect(struct weir_engine *engine, struct link *link, struct call *call, const redisReply *reply,
                     bool moved)
{
    unsigned slot = 0;
    pool_count(&engine->pool->counts.redirected, 1);
    if (engine->pool->url.kind != URL_CLUSTER) {
        engine_failed(engine, link->server, WEIR_OUTAGE_REFUSED,
                      "it is part of a cluster: expected redis+cluster:// in the URL");
        set_state(engine, call, CALL_AWAY);
        return;
    }
    const unsigned server = pool_read_redirect(engine->pool, link->server, strchr(reply->str, ' ') + 1, &slot);
    if (server == NOWHERE) {
        set_state(engine, call, CALL_AWAY);
        return;
    }
    if (moved) pool_set_slot(engine->pool, slot, server);
    call->asking = !moved;
    call->server = (uint16_t)server;
    set_state(engine, call, CALL_PARKED);
}

static void cannot(struct weir_engine *engine, struct link *link, struct call *call, const char *what)
{
    char why[LINK_WHY_MAX];
    set_state(engine, call, CALL_AWAY);
    if (call->ask->verb == WEIR_ASK_SECRET) {
        secret_failed(engine->pool, link->server, engine->now_ns, what);
        return;
    }
    const bool other = strncmp(what, "WRONGTYPE", strlen("WRONGTYPE")) == 0;
    const bool foreign = other || strncmp(what, "WEIRVALUE", strlen("WEIRVALUE")) == 0;
    pool_count(&engine->pool->counts.foreign, foreign ? 1 : 0);
    call->foreign = foreign;
    snprintf(why, sizeof why, "%s%s", other ? "this key holds something else: " : "", what);
    pool_tell(engine->pool, link->server, engine->now_ns, why);
}

/* What a user may not do besides asking is no reason to ask otherwise. */
static enum fault fault_of_call(const struct call *call, const redisReply *reply)
{
    const enum fault fault = fault_of(reply);
    return fault == FAULT_COMMAND && call->ask->verb == WEIR_ASK_SECRET ? FAULT_QUESTION : fault;
}

/* It was not executed. */
static void on_fault(struct weir_engine *engine, struct link *link, struct call *call, const redisReply *reply)
{
    const enum fault fault = fault_of_call(call, reply);
    set_state(engine, call, CALL_PARKED);
    switch (fault) {
    case FAULT_MOVED:
    case FAULT_ASK:
        redirect(engine, link, call, reply, fault == FAULT_MOVED);
        break;
    case FAULT_LATER:
        call->not_before_ns = engine->now_ns + LATER_NS;
        break;
    case FAULT_SCRIPT:
        link->script_next = true;
        break;
    case FAULT_FUNCTION:
        if (!link->load_tried) link->load_next = link->load_tried = true;
        else if (call->tries > 1 && link->way == LINK_FUNCTIONS && !link->load_next) link->way = LINK_SCRIPTS;
        break;
    case FAULT_COMMAND:
        if (next_way(link, call)) break;
        engine_refused(engine, link->server, reply->str);
        set_state(engine, call, CALL_AWAY);
        break;
    case FAULT_PRIMARY:
    case FAULT_SERVER:
        engine_refused(engine, link->server, reply->str);
        if (fault == FAULT_PRIMARY) link_doom(link, reply->str);
        set_state(engine, call, CALL_AWAY);
        break;
    case FAULT_NONE:
    case FAULT_QUESTION:
        cannot(engine, link, call, reply->str);
        break;
    }
}

static bool read_answer(struct weir_engine *engine, const struct call *call, const redisReply *reply)
{
    if (call->ask->verb != WEIR_ASK_SECRET) return wire_answer(call->ask, reply, call->way, engine->now_ns);
    call->ask->decision = (weir_decision){.verdict = WEIR_ALLOW, .start = {engine->now_ns}};
    call->ask->full_ns = 0;
    return secret_heard(engine->pool, reply);
}

/* The first whose bound it is under. */
static void count_round_trip(struct pool *pool, uint64_t round_trip_ns)
{
    unsigned bucket = 0;
    while (bucket < WEIR_ENGINE_ROUND_TRIPS - 1 && round_trip_ns >> (ROUND_TRIP_BITS + bucket) != 0) bucket++;
    pool_count(&pool->counts.round_trips[bucket], 1);
    pool_count(&pool->counts.round_trip_sum_ns, round_trip_ns);
}

static void on_answer(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = link->owner;
    struct call *const call = context;
    if (reply == NULL) {
        engine->lost++;
        set_state(engine, call, CALL_AWAY);
    } else if (link_reply_error(reply) != NULL) {
        on_fault(engine, link, call, reply);
    } else if (!read_answer(engine, call, reply)) {
        cannot(engine, link, call,
               "unexpected reply format: the weir functions on this server do not seem to be weir's own");
    } else {
        call->ask->from = WEIR_FROM_ENGINE;
        link->served_ns = link->heard_ns;
        if (call->ask->verb != WEIR_ASK_SECRET)
            count_round_trip(engine->pool, subtract_to_zero(link->heard_ns, call->sent_ns));
        if (call->ask->verb != WEIR_ASK_SECRET) busy_heard(engine, call->ask, call->sent_ns);
        if (call->ask->verb != WEIR_ASK_SECRET) away_heard(engine, call->ask);
        set_state(engine, call, CALL_ANSWERED);
        pool_sound(engine->pool, link->server, engine->now_ns);
    }
}

/* ---- questions ---- */

void engine_send_functions(struct weir_engine *engine, struct link *link)
{
    size_t functions_size = 0;
    const char *const functions = script_functions(&functions_size);
    const char *const text[] = {"FUNCTION", "LOAD", functions};
    const size_t size[] = {strlen(text[0]), strlen(text[1]), functions_size};
    link->load_next = false;
    engine_send(engine, link, 3, text, size, on_functions, NULL);
}

/* ASK is good for one command only: then it is charged with the next question. */
static bool owes(const struct call *call)
{
    const weir_verb verb = call->ask->verb;
    return !call->asking && (verb == WEIR_ASK_TAKE || verb == WEIR_ASK_PEEK || verb == WEIR_ASK_CHARGE);
}

static void send_call(struct weir_engine *engine, struct link *link, struct call *call)
{
    struct command *const command = &engine->command;
    if (call->tries++ == TRIES_MAX) { /* sent from one to the other and back */
        set_state(engine, call, CALL_AWAY);
        return;
    }
    if (call->ask->verb == WEIR_ASK_SECRET) {
        const bool asked = secret_send(engine, link, call->asking, on_answer, call);
        call->asking = false;
        set_state(engine, call, asked ? CALL_SENT : CALL_AWAY);
        return;
    }
    if (link->load_next && link->way == LINK_FUNCTIONS) engine_send_functions(engine, link);
    const bool whole = link->way == LINK_SCRIPTS && link->script_next;
    if (whole) link->script_next = false;
    if (owes(call)) owed_send(engine, link, call->ask, whole);
    if (call->asking) engine_send_text(engine, link, 1, (const char *const[]){"ASKING"}, NULL, NULL);
    call->asking = false;
    call->way = link->way;
    wire_command(command, call->ask, &engine->keys, link->way, whole);
    const bool sent = engine_send(engine, link, command->count, command->word, command->size, on_answer, call);
    set_state(engine, call, sent ? CALL_SENT : CALL_AWAY);
}

struct link *engine_ready_link(struct weir_engine *engine, unsigned server, uint64_t now_ns, bool *away)
{
    if (pool_is_away(engine->pool, server)) engine_probe(engine, server, now_ns);
    *away = pool_is_away(engine->pool, server);
    if (*away) return NULL;
    struct link *link = engine->link[server];
    if (link != NULL && link->state == LINK_READY && now_ns - most(link->served_ns, link->looked_ns) > IDLE_NS) {
        engine_process(engine, server, now_ns);
        link->looked_ns = now_ns;
    }
    link = engine_link(engine, server, now_ns);
    if (link != NULL) return link->state == LINK_READY ? link : NULL;
    engine_failed(engine, server, WEIR_OUTAGE_CONNECTION,
                  engine->link[server] != NULL ? engine->link[server]->why : "no memory");
    *away = true;
    return NULL;
}

static bool make_keys(struct weir_engine *engine, const weir_engine_ask *ask)
{
    const char *const prefix = engine->pool->prefix;
    if (ask->verb == WEIR_ASK_SECRET) return secret_key(&engine->keys, prefix);
    return wire_keys(&engine->keys, prefix, ask->key, ask->limit->keys);
}

static void dispatch(struct weir_engine *engine, struct call *call, uint64_t now_ns)
{
    bool away = false;
    if (call->not_before_ns > now_ns || now_ns >= call->deadline_ns) return; /* too late is for give_up */
    if (!make_keys(engine, call->ask)) {
        set_state(engine, call, CALL_AWAY);
        return;
    }
    if (!call->asking)
        call->server = (uint16_t)pool_owner(engine->pool, slots_of(engine->keys.memory, engine->keys.size[0]));
    call->unknown = call->server == NOWHERE;
    if (call->unknown) {
        atomic_store_explicit(&engine->pool->wanted, true, memory_order_relaxed);
        if (atomic_load(&engine->pool->known) || pool_is_lost(engine->pool)) set_state(engine, call, CALL_AWAY);
        return;
    }
    struct link *const link = engine_ready_link(engine, call->server, now_ns, &away);
    call->sent_ns = now_ns;
    if (link != NULL) send_call(engine, link, call);
    else if (away) set_state(engine, call, CALL_AWAY);
}

void engine_flush(struct weir_engine *engine)
{
    for (unsigned i = 0; i < engine->links; i++) {
        if (engine->link[i] != NULL) link_flush(engine->link[i]);
    }
}

static void dispatch_parked(struct weir_engine *engine, uint64_t now_ns)
{
    for (size_t i = 0; i < engine->count && engine->parked > 0; i++) {
        struct call *const call = &engine->call[(engine->first + i) % CALLS_MAX];
        if (call->state == CALL_PARKED) dispatch(engine, call, now_ns);
    }
    engine_flush(engine);
}

/* ---- what to wait for ---- */

static struct call *call_at(struct weir_engine *engine, size_t i)
{
    return &engine->call[(engine->first + i) % CALLS_MAX];
}

static uint64_t wake_at(struct weir_engine *engine, uint64_t now_ns)
{
    uint64_t wake_ns = WEIR_FOREVER;
    if (engine->parked + engine->sent == 0) return wake_ns;
    if (engine->discovering) wake_ns = most(engine->discover_until_ns, now_ns);
    wake_ns = least(wake_ns, call_at(engine, 0)->deadline_ns); /* the ring's first is the oldest, and never free */
    for (size_t i = 0; i < engine->count && engine->parked > 0; i++) {
        const struct call *const call = call_at(engine, i);
        if (call->state == CALL_PARKED && call->not_before_ns > now_ns) wake_ns = least(wake_ns, call->not_before_ns);
    }
    return wake_ns;
}

size_t weir_engine_events(weir_engine *engine, weir_instant now, weir_engine_watch *watch, size_t most_of_them,
                          uint64_t *wait_ns)
{
    size_t count = 0;
    for (unsigned i = 0; i < engine->links; i++) {
        const int events = engine->link[i] != NULL ? link_events(engine->link[i]) : 0;
        if (events == 0) continue;
        if (count < most_of_them) {
            watch[count] = (weir_engine_watch){.descriptor = engine->link[i]->context->fd,
                                               .reads = (events & POLLIN) != 0,
                                               .writes = (events & POLLOUT) != 0};
        }
        count++;
    }
    const uint64_t wake_ns = wake_at(engine, now.ns);
    *wait_ns = wake_ns == WEIR_FOREVER ? wake_ns : subtract_to_zero(wake_ns, now.ns);
    return count;
}

/* ---- ended ---- */

/* Many questions may be more than a server answers in time; one that has answered some of them is there. */
static bool is_silent(const struct weir_engine *engine, const struct call *call)
{
    const struct link *const link = engine->link[call->server];
    return link->state != LINK_READY || link->served_ns < call->begun_ns;
}

static void give_up(struct weir_engine *engine, struct call *call)
{
    char why[LINK_WHY_MAX];
    const uint64_t deadline_ms = engine->pool->options.deadline_ns / NS_PER_MS;
    /* What the deadline met before anybody was asked has no server to blame. */
    const bool waited_for_link = call->state == CALL_PARKED && call->not_before_ns == 0 && call->server != NOWHERE;
    snprintf(why, sizeof why, "no %s within %llu ms", call->state == CALL_SENT ? "answer" : "connection",
             (unsigned long long)deadline_ms);
    pool_count(&engine->pool->counts.late, 1);
    if (call->unknown)
        pool_discovery_failed(engine->pool, engine->now_ns,
                              engine->discover_why[0] != '\0' ? engine->discover_why : why);
    else if (call->state == CALL_SENT ? is_silent(engine, call) : waited_for_link) {
        engine_failed(engine, call->server, WEIR_OUTAGE_TIMEOUT, why);
    }
    set_state(engine, call, CALL_AWAY);
}

static bool is_gone(const void *context)
{
    return ((const struct call *)context)->state != CALL_SENT;
}

/* Of those that were sent and given up: a place in the ring may be another question's by the time they are answered. */
static void forget(struct weir_engine *engine)
{
    for (unsigned i = 0; i < engine->links; i++) {
        if (engine->link[i] != NULL) link_forget(engine->link[i], engine->call, engine->call + CALLS_MAX - 1, is_gone);
    }
}

static void smooth(struct pool *pool, uint64_t round_trip_ns)
{
    const uint64_t before = atomic_load_explicit(&pool->counts.round_trip_ns, memory_order_relaxed);
    const uint64_t now = before == 0 ? round_trip_ns : before - before / SMOOTHING + round_trip_ns / SMOOTHING;
    atomic_store_explicit(&pool->counts.round_trip_ns, now, memory_order_relaxed);
}

static void drop_free(struct weir_engine *engine)
{
    while (engine->count > 0 && call_at(engine, 0)->state == CALL_FREE) {
        engine->first = (engine->first + 1) % CALLS_MAX;
        engine->count--;
    }
    if (engine->count == 0) engine->first = 0; /* so that few questions touch little memory */
}

/* Those that are answered, or that the policy has to answer. */
static void collect(struct weir_engine *engine, uint64_t now_ns)
{
    uint64_t from[WEIR_FROM_AWAY + 1] = {0};
    for (size_t i = 0; i < engine->count; i++) {
        struct call *const call = call_at(engine, i);
        if (call->state != CALL_ANSWERED && call->state != CALL_AWAY) continue;
        if (call->state == CALL_AWAY) {
            if (call->ask->verb != WEIR_ASK_SECRET) busy_unanswered(engine, call->ask);
            away_answer(engine, call->ask, call->server);
            if (call->foreign && call->ask->decision.retry_ns != 0)
                call->ask->decision.retry_ns = most(call->ask->decision.retry_ns, HOST_SECOND_NS);
        } else if (call->ask->from == WEIR_FROM_ENGINE && from[WEIR_FROM_ENGINE] == 0) {
            smooth(engine->pool, subtract_to_zero(now_ns, call->begun_ns));
        }
        from[call->ask->from] += call->ask->verb != WEIR_ASK_SECRET;
        call->state = CALL_FREE;
    }
    drop_free(engine);
    pool_count(&engine->pool->counts.from_engine, from[WEIR_FROM_ENGINE]);
    pool_count(&engine->pool->counts.from_lease, from[WEIR_FROM_LEASE]);
    pool_count(&engine->pool->counts.from_away, from[WEIR_FROM_AWAY]);
    pool_count(&engine->pool->counts.calls, from[WEIR_FROM_ENGINE] + from[WEIR_FROM_LEASE] + from[WEIR_FROM_AWAY]);
}

static void end_late(struct weir_engine *engine, uint64_t now_ns)
{
    const size_t sent = engine->sent;
    for (size_t i = 0; i < engine->count && call_at(engine, i)->deadline_ns <= now_ns; i++) {
        struct call *const call = call_at(engine, i);
        if (call->state == CALL_PARKED || call->state == CALL_SENT) give_up(engine, call);
    }
    if (engine->sent != sent) forget(engine);
    collect(engine, now_ns);
}

/* ---- the public pieces ---- */

/* Each of them begins by that. */
static void begin_call(struct weir_engine *engine, uint64_t now_ns)
{
    engine->now_ns = now_ns;
    if (engine->forks != host_forks()) engine_after_fork(engine);
}

void engine_begin(struct weir_engine *engine, weir_engine_ask *asks, size_t n, uint64_t now_ns, uint64_t deadline_ns)
{
    begin_call(engine, now_ns);
    engine_process_all(engine, now_ns); /* what was heard meanwhile may answer some of them */
    for (size_t i = 0; i < n; i++) {
        asks[i].from = (weir_from)0;
        if (engine->count == CALLS_MAX) {
            away_answer(engine, &asks[i], NOWHERE);
            pool_count(&engine->pool->counts.crowded, 1);
            pool_count(&engine->pool->counts.from_away, 1);
            pool_count(&engine->pool->counts.calls, 1);
            continue;
        }
        struct call *const call = call_at(engine, engine->count++);
        *call = (struct call){.ask = &asks[i], .server = NOWHERE, .begun_ns = now_ns, .deadline_ns = deadline_ns};
        const bool here = asks[i].verb != WEIR_ASK_SECRET && busy_answer(engine, &asks[i]);
        set_state(engine, call, here ? CALL_ANSWERED : CALL_PARKED);
    }
    discover_begin(engine, now_ns);
    dispatch_parked(engine, now_ns);
    collect(engine, now_ns);
}

/* The policy wants some time too. */
uint64_t engine_deadline(const struct weir_engine *engine, uint64_t now_ns)
{
    const uint64_t within_ns = engine->pool->options.deadline_ns;
    return add_saturating(now_ns, within_ns - within_ns / POLICY_SHARE);
}

void weir_engine_begin(weir_engine *engine, weir_engine_ask *asks, size_t n, weir_instant now)
{
    engine_begin(engine, asks, n, now.ns, engine_deadline(engine, now.ns));
}

void weir_engine_process(weir_engine *engine, weir_instant now)
{
    begin_call(engine, now.ns);
    engine_process_all(engine, now.ns);
    discover_begin(engine, now.ns);
    dispatch_parked(engine, now.ns);
    end_late(engine, now.ns);
    busy_return(engine, now.ns);
    if (engine->parked + engine->sent == 0) nodes_beat(engine, now.ns); /* others beat in weir_engine_tick */
}

void weir_engine_finish(weir_engine *engine, weir_engine_ask *asks, size_t n, weir_instant now)
{
    const uintptr_t from = (uintptr_t)asks, to = (uintptr_t)(asks + n);
    begin_call(engine, now.ns);
    for (size_t i = 0; i < engine->count; i++) {
        struct call *const call = call_at(engine, i);
        const uintptr_t at = (uintptr_t)call->ask;
        if (at < from || at >= to || (call->state != CALL_PARKED && call->state != CALL_SENT)) continue;
        set_state(engine, call, CALL_AWAY);
    }
    forget(engine);
    collect(engine, now.ns);
}

static void tell_if_full(struct pool *pool, uint64_t now_ns)
{
    static const char words[] =
        "while it is unavailable: the table of shares is full, so new keys are refused even within their limits";
    const uint64_t full = away_full(pool);
    if (full == atomic_load(&pool->full_told) || !pool_tell(pool, 0, now_ns, words)) return;
    atomic_store(&pool->full_told, full);
}

void weir_engine_tick(weir_engine *engine)
{
    const uint64_t now_ns = host_now_ns();
    begin_call(engine, now_ns);
    engine_process_all(engine, now_ns);
    discover_begin(engine, now_ns);
    engine_try_all(engine, now_ns);
    busy_return(engine, now_ns);
    nodes_beat(engine, now_ns);
    dispatch_parked(engine, now_ns);
    end_late(engine, now_ns);
    owed_sweep(engine->pool, now_ns);
    tell_if_full(engine->pool, now_ns);
}
