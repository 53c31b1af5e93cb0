/* SPDX-License-Identifier: MIT
   batch.c - many questions at once: each to the link of the server that has its key, all answered within the deadline.

       parked ---sent---> answered            those of busy keys may be answered before (busy.c)
          ^        | MOVED, ASK, TRYAGAIN, NOSCRIPT: was not executed, so it may be asked again
          +--------+
          |        | the link is lost, or the deadline has come: may have been executed, so it is not asked again
          +--------+-----> away: the limit's policy answers

   May touch: links, the hub.  Promises: returns at the deadline at the latest, however many servers there are and
   whatever they do; nothing that may have been executed is sent twice.  Leaves to others: commands (wire.c), errors
   (fault.c), the policy (away.c). */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/num.h"
#include "engine/away.h"
#include "engine/engine.h"
#include "engine/script.h"
#include "host/clock.h"
#include "host/thread.h"

#define LATER_NS UINT64_C(1000000) /* TRYAGAIN is tried again after so long */
#define IDLE_NS UINT64_C(1000000)  /* a link that answered no question for so long may have been closed */
enum { TRIES_MAX = 8, NS_PER_MS = 1000000, SMOOTHING = 8, POLICY_SHARE = 16 /* of the deadline */ };

/* ---- sent ---- */

bool engine_send(struct weir_engine *engine, struct link *link, unsigned count, const char *const text[],
                 const size_t size[], link_answer *answer, void *context)
{
    hub_count(&engine->hub->counts.commands, 1);
    if (link->count == 0) link->owes_ns = host_now_coarse_ns();
    return link_send(link, count, text, size, answer, context);
}

bool engine_send_text(struct weir_engine *engine, struct link *link, unsigned count, const char *const text[],
                      link_answer *answer, void *context)
{
    size_t size[WIRE_WORDS_MAX];
    for (unsigned i = 0; i < count; i++) size[i] = strlen(text[i]);
    return engine_send(engine, link, count, text, size, answer, context);
}

static void set_state(struct weir_engine *engine, struct item *item, enum item_state state)
{
    engine->parked -= item->state == ITEM_PARKED;
    engine->sent -= item->state == ITEM_SENT;
    engine->parked += state == ITEM_PARKED;
    engine->sent += state == ITEM_SENT;
    item->state = state;
}

/* ---- answers ---- */

/* By the next way: module, functions, scripts.  false: there is none. */
static bool next_way(struct link *link, const struct item *item)
{
    if (item->way != link->way) return true; /* another question of this batch has heard it before */
    if (link->way == LINK_SCRIPTS) return false;
    link->way = (enum link_way)(link->way + 1);
    return true;
}

/* Somebody else may have loaded them meanwhile; if it is another library by our name, the next answer says so. */
static void on_functions(struct link *link, void *context, const redisReply *reply)
{
    (void)context;
    if (reply_error(reply) == NULL || strstr(reply->str, "already exists") != NULL) return;
    if (link->way == LINK_FUNCTIONS) link->way = LINK_SCRIPTS;
}

static void redirect(struct weir_engine *engine, struct link *link, struct item *item, const redisReply *reply,
                     bool moved)
{
    unsigned slot = 0;
    hub_count(&engine->hub->counts.redirected, 1);
    if (engine->hub->url.kind != URL_CLUSTER) {
        engine_failed(engine, link->server, "it is part of a cluster: redis+cluster:// was expected in the URL");
        set_state(engine, item, ITEM_AWAY);
        return;
    }
    const unsigned server = hub_read_redirect(engine->hub, link->server, strchr(reply->str, ' ') + 1, &slot);
    if (server == NOWHERE) {
        set_state(engine, item, ITEM_AWAY);
        return;
    }
    if (moved) hub_set_slot(engine->hub, slot, server);
    item->asking = !moved;
    item->server = (uint16_t)server;
    set_state(engine, item, ITEM_PARKED);
}

static void cannot(struct weir_engine *engine, struct link *link, struct item *item, const char *what)
{
    char why[LINK_WHY_MAX];
    const bool other = strncmp(what, "WRONGTYPE", strlen("WRONGTYPE")) == 0;
    snprintf(why, sizeof why, "%s%s", other ? "this key holds something else: " : "", what);
    hub_tell(engine->hub, link->server, why);
    set_state(engine, item, ITEM_AWAY);
}

/* It was not executed. */
static void on_fault(struct weir_engine *engine, struct link *link, struct item *item, const redisReply *reply)
{
    const enum fault fault = fault_of(reply);
    set_state(engine, item, ITEM_PARKED);
    switch (fault) {
    case FAULT_MOVED:
    case FAULT_ASK:
        redirect(engine, link, item, reply, fault == FAULT_MOVED);
        break;
    case FAULT_LATER:
        item->not_before_ns = host_now_ns() + LATER_NS;
        break;
    case FAULT_SCRIPT:
        link->script_next = true;
        break;
    case FAULT_FUNCTION:
        if (!link->load_tried) link->load_next = link->load_tried = true;
        else if (item->tries > 1 && link->way == LINK_FUNCTIONS && !link->load_next) link->way = LINK_SCRIPTS;
        break;
    case FAULT_COMMAND:
        if (next_way(link, item)) break;
        engine_refused(engine, link->server, reply->str);
        set_state(engine, item, ITEM_AWAY);
        break;
    case FAULT_PRIMARY:
    case FAULT_SERVER:
        engine_refused(engine, link->server, reply->str);
        if (fault == FAULT_PRIMARY) link_doom(link, reply->str);
        set_state(engine, item, ITEM_AWAY);
        break;
    case FAULT_NONE:
    case FAULT_QUESTION:
        cannot(engine, link, item, reply->str);
        break;
    }
}

static void on_answer(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = link->owner;
    struct item *const item = context;
    if (reply == NULL) {
        engine->lost++;
        set_state(engine, item, ITEM_AWAY);
    } else if (reply_error(reply) != NULL) {
        on_fault(engine, link, item, reply);
    } else if (!wire_answer(item->ask, reply, item->way)) {
        cannot(engine, link, item, "an answer of another form than weir's: who has made this function?");
    } else {
        item->ask->from = WEIR_FROM_ENGINE;
        link->served_ns = link->heard_ns;
        busy_heard(engine, item->ask, item->sent_ns);
        set_state(engine, item, ITEM_ANSWERED);
        hub_sound(engine->hub, link->server);
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

static void send_item(struct weir_engine *engine, struct link *link, struct item *item)
{
    struct command *const command = &engine->command;
    if (item->tries++ == TRIES_MAX) { /* sent from one to the other and back */
        set_state(engine, item, ITEM_AWAY);
        return;
    }
    if (link->load_next && link->way == LINK_FUNCTIONS) engine_send_functions(engine, link);
    const bool whole = link->way == LINK_SCRIPTS && link->script_next;
    if (whole) link->script_next = false;
    if (item->asking) engine_send_text(engine, link, 1, (const char *const[]){"ASKING"}, NULL, NULL);
    item->asking = false;
    item->way = link->way;
    wire_command(command, item->ask, &engine->keys, link->way, whole);
    const bool sent = engine_send(engine, link, command->count, command->word, command->size, on_answer, item);
    set_state(engine, item, sent ? ITEM_SENT : ITEM_AWAY);
}

struct link *engine_ready_link(struct weir_engine *engine, unsigned server, uint64_t now_ns, bool *away)
{
    if (hub_is_away(engine->hub, server)) engine_probe(engine, server, now_ns);
    *away = hub_is_away(engine->hub, server);
    if (*away) return NULL;
    struct link *link = engine->link[server];
    if (link != NULL && link->state == LINK_READY && now_ns - most(link->served_ns, link->looked_ns) > IDLE_NS) {
        engine_turn(engine, server, now_ns);
        link->looked_ns = now_ns;
    }
    link = engine_link(engine, server, now_ns);
    if (link != NULL) return link->state == LINK_READY ? link : NULL;
    engine_failed(engine, server, engine->link[server] != NULL ? engine->link[server]->why : "no memory");
    *away = true;
    return NULL;
}

static void dispatch(struct weir_engine *engine, struct item *item, uint64_t now_ns)
{
    bool away = false;
    if (item->not_before_ns > now_ns || now_ns >= engine->deadline_ns) return; /* too late is for give_up */
    if (!wire_keys(&engine->keys, engine->hub->prefix, item->ask->key, item->ask->limit->keys)) {
        set_state(engine, item, ITEM_AWAY);
        return;
    }
    if (!item->asking)
        item->server = (uint16_t)hub_owner(engine->hub, slots_of(engine->keys.memory, engine->keys.size[0]));
    item->unknown = item->server == NOWHERE;
    if (item->unknown) {
        atomic_store_explicit(&engine->hub->wanted, true, memory_order_relaxed);
        if (atomic_load(&engine->hub->known) || hub_is_lost(engine->hub)) set_state(engine, item, ITEM_AWAY);
        return;
    }
    struct link *const link = engine_ready_link(engine, item->server, now_ns, &away);
    item->sent_ns = now_ns;
    if (link != NULL) send_item(engine, link, item);
    else if (away) set_state(engine, item, ITEM_AWAY);
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
        if (engine->item[i].state == ITEM_PARKED) dispatch(engine, &engine->item[i], now_ns);
    }
    engine_flush(engine);
}

/* ---- waiting ---- */

static uint64_t wake_at(const struct weir_engine *engine, uint64_t now_ns)
{
    uint64_t wake_ns = engine->deadline_ns;
    if (engine->seeking) wake_ns = least(wake_ns, most(engine->seek_until_ns, now_ns));
    for (size_t i = 0; i < engine->count && engine->parked > 0; i++) {
        const struct item *const item = &engine->item[i];
        if (item->state == ITEM_PARKED && item->not_before_ns > now_ns) wake_ns = least(wake_ns, item->not_before_ns);
    }
    return wake_ns;
}

void engine_wait(struct weir_engine *engine, uint64_t now_ns)
{
    nfds_t count = 0;
    for (unsigned i = 0; i < engine->links; i++) {
        if (engine->link[i] == NULL || link_events(engine->link[i]) == 0) continue;
        struct pollfd *const polled = &engine->polled[count++];
        *polled = (struct pollfd){.fd = engine->link[i]->context->fd};
        polled->events = link_events(engine->link[i]);
    }
    const uint64_t left_ns = subtract_to_zero(wake_at(engine, now_ns), now_ns);
    const struct timespec left = {(time_t)(left_ns / HOST_SECOND_NS), (long)(left_ns % HOST_SECOND_NS)};
    ppoll(engine->polled, count, &left, NULL);
}

/* One more look after the deadline: it may be we who were late. */
static void run(struct weir_engine *engine)
{
    uint64_t now_ns = host_now_ns();
    seek_begin(engine, now_ns);
    dispatch_parked(engine, now_ns);
    for (bool late = false; engine->parked + engine->sent > 0 && !late;) {
        late = now_ns >= engine->deadline_ns;
        engine_wait(engine, now_ns);
        now_ns = host_now_ns();
        engine_turn_all(engine, now_ns);
        seek_begin(engine, now_ns);
        dispatch_parked(engine, now_ns);
    }
}

/* ---- begun and ended ---- */

/* Many questions may be more than a server answers in time; one that has answered some of them is there. */
static bool is_silent(const struct weir_engine *engine, unsigned server)
{
    const struct link *const link = engine->link[server];
    return link->state != LINK_READY || link->served_ns < engine->begun_ns;
}

static void give_up(struct weir_engine *engine, struct item *item)
{
    char why[LINK_WHY_MAX];
    const uint64_t deadline_ms = engine->hub->options.deadline_ns / NS_PER_MS;
    /* What the deadline met before anybody was asked has no server to blame. */
    const bool waited_for_link = item->state == ITEM_PARKED && item->not_before_ns == 0 && item->server != NOWHERE;
    snprintf(why, sizeof why, "no %s within %llu ms", item->state == ITEM_SENT ? "answer" : "connection",
             (unsigned long long)deadline_ms);
    hub_count(&engine->hub->counts.late, 1);
    if (item->unknown) hub_seek_failed(engine->hub, engine->seek_why[0] != '\0' ? engine->seek_why : why);
    else if (item->state == ITEM_SENT ? is_silent(engine, item->server) : waited_for_link) {
        engine_failed(engine, item->server, why);
    }
    set_state(engine, item, ITEM_AWAY);
}

static void forget(struct weir_engine *engine)
{
    for (unsigned i = 0; i < engine->links; i++) {
        if (engine->link[i] != NULL) link_forget(engine->link[i], engine->item, engine->item + BATCH_MAX);
    }
}

static void end(struct weir_engine *engine)
{
    uint64_t from[WEIR_FROM_AWAY + 1] = {0};
    struct away_share share = {.limit = NULL};
    if (engine->sent > 0) forget(engine);
    for (size_t i = 0; i < engine->count; i++) {
        struct item *const item = &engine->item[i];
        if (item->state == ITEM_PARKED || item->state == ITEM_SENT) give_up(engine, item);
        if (item->state == ITEM_AWAY) {
            busy_unanswered(engine, item->ask);
            away_answer(engine->hub, item->ask, item->server, &share);
        }
        from[item->ask->from]++;
    }
    hub_count(&engine->hub->counts.from_engine, from[WEIR_FROM_ENGINE]);
    hub_count(&engine->hub->counts.from_lease, from[WEIR_FROM_LEASE]);
    hub_count(&engine->hub->counts.from_away, from[WEIR_FROM_AWAY]);
    hub_count(&engine->hub->counts.calls, engine->count);
}

static void begin(struct weir_engine *engine, weir_engine_ask *asks, size_t count)
{
    engine->count = engine->parked = count;
    engine->sent = 0;
    for (size_t i = 0; i < count; i++) {
        asks[i].from = WEIR_FROM_AWAY; /* until somebody has answered */
        engine->item[i] = (struct item){.ask = &asks[i], .state = ITEM_PARKED, .server = NOWHERE};
        if (busy_answer(engine, &asks[i])) set_state(engine, &engine->item[i], ITEM_ANSWERED);
    }
}

static void smooth(struct hub *hub, uint64_t round_trip_ns)
{
    const uint64_t before = atomic_load_explicit(&hub->counts.round_trip_ns, memory_order_relaxed);
    const uint64_t now = before == 0 ? round_trip_ns : before - before / SMOOTHING + round_trip_ns / SMOOTHING;
    atomic_store_explicit(&hub->counts.round_trip_ns, now, memory_order_relaxed);
}

static void run_batch(struct weir_engine *engine, weir_engine_ask *asks, size_t count)
{
    const uint64_t begun_ns = host_now_ns();
    engine_turn_all(engine, begun_ns);
    engine->begun_ns = host_now_ns();
    begin(engine, asks, count);
    run(engine);
    const uint64_t now_ns = host_now_ns();
    if (count > 0 && asks[0].from == WEIR_FROM_ENGINE) smooth(engine->hub, now_ns - begun_ns);
    end(engine);
    busy_return(engine, now_ns);
    nodes_beat(engine, now_ns);
}

void weir_engine_tick(weir_engine *engine)
{
    if (engine->forks != host_forks()) engine_after_fork(engine);
    engine->begun_ns = engine->deadline_ns = host_now_ns();
    begin(engine, NULL, 0);
    engine_turn_all(engine, engine->begun_ns);
    seek_begin(engine, engine->begun_ns);
    engine_try_all(engine, engine->begun_ns);
    busy_return(engine, engine->begun_ns);
    nodes_beat(engine, engine->begun_ns);
    dispatch_parked(engine, engine->begun_ns); /* nothing is, but what was written leaves */
}

void weir_engine_batch(weir_engine *engine, weir_engine_ask *asks, size_t n)
{
    if (engine->forks != host_forks()) engine_after_fork(engine);
    /* The policy wants some time too. */
    const uint64_t within_ns = engine->hub->options.deadline_ns;
    engine->deadline_ns = add_saturating(host_now_ns(), within_ns - within_ns / POLICY_SHARE);
    for (size_t at = 0; at < n; at += BATCH_MAX) {
        run_batch(engine, asks + at, n - at < BATCH_MAX ? n - at : BATCH_MAX);
    }
}
