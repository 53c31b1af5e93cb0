/* SPDX-License-Identifier: MIT
   Nodes, their loops and their clients. */
#include "simulate/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "core/num.h"
#include "serve/config/config.h"
#include "serve/park.h"
#include "serve/protocols.h"
#include "simulate/judge.h"
#include "simulate/wires.h"
#include "simulate/world.h"

enum {
    CLIENTS = 3,
    ASKS_MOST = 512, /* that one client has waiting; more are not asked */
    IN_SIZE = ASKS_MOST * 48,
    BATCH = 3, /* requests that arrive together, on average */
    RELOAD_WITHIN = 2000,
    CALL_NS = 10000, /* a system call lasts so long */
    NOBODY = NODES_MOST
};
#define WAVE (5 * SECOND)

struct asked {
    unsigned limit, key;
    uint64_t cost, at, frozen;
};

struct client {
    struct session session;
    char in[IN_SIZE];
    size_t size, taken;
    redisReader *reader;
    struct asked asked[ASKS_MOST]; /* a ring */
    unsigned first, last;
};

struct node {
    bool here, dying, in_batch, busy;
    unsigned lives, timers;
    uint64_t frozen_until, frozen_ns, frozen_at; /* frozen_ns: so far */
    uint64_t lag_ns, waited_ns;                  /* what its clock is behind by, and ahead */
    uint64_t since, since_own;                   /* then its own clock showed ... */
    double rate;
    char limit[LIMITS][LIMIT_TEXT_SIZE];
    struct tables *tables;
    struct service service;
    struct batch batch;
    struct client client[CLIENTS];
};

static struct node *nodes[NODES_MOST];
static struct fleet fleet;
static unsigned current = NOBODY;
static double demand;
static uint64_t demand_until, asks;
static bool calm;

/* ---- clocks ---- */

unsigned nodes_current(void)
{
    return current;
}

static uint64_t own_clock(const struct node *node)
{
    const uint64_t passed = world_now() - node->lag_ns - node->since;
    return node->since_own + (uint64_t)((double)passed * node->rate) + node->waited_ns;
}

uint64_t nodes_clock_ns(void)
{
    return current == NOBODY ? world_now() : own_clock(nodes[current]);
}

static uint64_t clock_of_service(void *nothing)
{
    (void)nothing;
    return nodes_clock_ns();
}

void nodes_wait(uint64_t ns)
{
    if (current != NOBODY) nodes[current]->waited_ns += most(ns, CALL_NS);
}

bool nodes_is_dying(unsigned node)
{
    return nodes[node]->dying;
}

bool nodes_is_lagging(void)
{
    return current != NOBODY && nodes[current]->lag_ns != 0;
}

bool nodes_is_here(unsigned node)
{
    return nodes[node]->here;
}

uint64_t nodes_asked(void)
{
    return asks;
}

uint64_t nodes_burst(unsigned limit)
{
    const char *burst = current != NOBODY ? strstr(nodes[current]->limit[limit], "burst=") : NULL;
    return burst != NULL ? strtoull(burst + strlen("burst="), NULL, 10) : 0;
}

static bool is_frozen(const struct node *node)
{
    return node->frozen_until > world_now();
}

static uint64_t frozen_so_far(const struct node *node)
{
    return node->frozen_ns + (is_frozen(node) ? world_now() - node->frozen_at : 0);
}

/* ---- a client's side ---- */

static void put_ask(struct node *node, struct client *client, unsigned limit, unsigned key, uint64_t cost)
{
    if (client->last - client->first == ASKS_MOST || client->session.closing) return;
    if (client->taken != 0 && !node->in_batch) {
        memmove(client->in, client->in + client->taken, client->size - client->taken);
        client->size -= client->taken;
        client->taken = 0;
    }
    if (client->size + 48 > IN_SIZE) return;
    client->size += (size_t)snprintf(client->in + client->size, 48, "WEIR.TAKE %c %u COST %llu\r\n", 'a' + limit, key,
                                     (unsigned long long)cost);
    client->asked[client->last++ % ASKS_MOST] = (struct asked){limit, key, cost, world_now(), frozen_so_far(node)};
    asks++;
}

static void hear_answer(struct node *node, struct client *client, const redisReply *reply)
{
    if (client->first == client->last) {
        judge_say("an answer that nobody asked for");
        return;
    }
    const struct asked *asked = &client->asked[client->first++ % ASKS_MOST];
    const bool fine = reply->type == REDIS_REPLY_ARRAY && reply->elements == 8 && reply->element[0]->str != NULL;
    if (!fine) {
        judge_say("an answer of another form: %s", reply->str != NULL ? reply->str : "");
        return;
    }
    const bool allowed = strcmp(reply->element[0]->str, "allow") == 0;
    const uint64_t took = world_now() - asked->at - (frozen_so_far(node) - asked->frozen);
    judge_answered(current, asked->limit, asked->key, asked->cost, allowed, took);
}

static void sent(void *sender, struct session *session, struct slice bytes)
{
    struct node *node = sender;
    struct client *client = &node->client[session->id - 1];
    void *reply = NULL;
    if (session->closing) judge_say("a client's connection is closed");
    redisReaderFeed(client->reader, bytes.bytes, bytes.size);
    while (redisReaderGetReply(client->reader, &reply) == REDIS_OK && reply != NULL) {
        hear_answer(node, client, reply);
        freeReplyObject(reply);
    }
}

/* ---- a worker's loop, as in worker.c ---- */

static void on_timer(uint64_t number, uint64_t timer);

static void begin_batch(struct node *node)
{
    if (!node->in_batch) batch_begin(&node->batch);
    node->in_batch = true;
}

static void end_batch(struct node *node)
{
    if (node->in_batch) batch_end(&node->batch);
    node->in_batch = false;
}

static bool feed(struct node *node)
{
    bool any = false;
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &node->client[i];
        const struct slice unread = {client->in + client->taken, client->size - client->taken};
        if (unread.size == 0 || client->session.parked != 0) continue;
        begin_batch(node);
        const size_t taken = handle_bytes(&node->batch, &client->session, unread);
        client->taken += taken;
        any = any || taken != 0;
    }
    return any;
}

static void watch_engine(struct node *node)
{
    weir_engine_watch watch[SERVERS_MOST];
    size_t count;
    if (node->batch.parked == NULL) return;
    const uint64_t wait_ns = decide_events(&node->batch, watch, SERVERS_MOST, &count);
    const uint64_t wait_ms = least(wait_ns / MS + 1, 1000);
    world_at(world_now() + (uint64_t)((double)(wait_ms * MS) / node->rate), on_timer, current, ++node->timers);
}

static void go_on(struct node *node)
{
    end_batch(node);
    while (park_is_ready(&node->batch) || feed(node)) {
        begin_batch(node);
        park_answer(&node->batch);
        end_batch(node);
    }
    watch_engine(node);
}

/* Enters a node; false: it does nothing now. */
static bool enter(uint64_t number)
{
    struct node *node = nodes[number];
    if (!node->here || is_frozen(node)) return false;
    current = (unsigned)number;
    return true;
}

static void leave(void)
{
    current = NOBODY;
}

static void hear_engine(struct node *node)
{
    if (node->batch.parked == NULL) return;
    begin_batch(node);
    decide_go_on(&node->batch);
    go_on(node);
}

static void on_timer(uint64_t number, uint64_t timer)
{
    if (nodes[number]->timers != timer || !enter(number)) return;
    hear_engine(nodes[number]);
    leave();
}

void nodes_hear(unsigned number)
{
    if (current != NOBODY || !enter(number)) return;
    hear_engine(nodes[number]);
    leave();
}

static void on_tick(uint64_t number, uint64_t life)
{
    struct node *node = nodes[number];
    if (!node->here || node->lives != life) return;
    world_at(world_now() + (uint64_t)((double)SECOND / node->rate), on_tick, number, life);
    if (!enter(number)) return;
    decide_tick(&node->batch);
    go_on(node);
    engine_close_left(&node->service);
    leave();
}

/* ---- requests ---- */

static void choose(struct node *node)
{
    static const unsigned up_to[LIMITS] = {550, 800, 900, 1000};
    const uint64_t chance = world_below(1000);
    unsigned limit = 0;
    while (chance >= up_to[limit]) limit++;
    const uint64_t cost = world_chance(150) ? 2 + world_below(4) : 1;
    /* One client asks for nothing else, so that its answers never wait behind others: they are when it is decided. */
    const uint64_t client = limit == HERE ? CLIENTS - 1 : world_below(CLIENTS - 1);
    put_ask(node, &node->client[client], limit, (unsigned)world_below(fleet.keys[limit]), cost);
}

static uint64_t pause_of(const struct node *node)
{
    const double flood = demand_until > world_now() ? demand : 1, wave = calm ? 0.05 : node->busy ? 3 : 0.3;
    return world_about((uint64_t)((double)(BATCH * fleet.nodes) * (double)SECOND / (200 * flood * wave)));
}

static void on_ask(uint64_t number, uint64_t life)
{
    struct node *node = nodes[number];
    if (!node->here || node->lives != life) return;
    world_at(world_now() + pause_of(node), on_ask, number, life);
    if (is_frozen(node) && node->lag_ns != 0) return; /* it is stopped within the batch before */
    for (uint64_t more = 1 + world_below(2 * BATCH - 1); more > 0; more--) choose(node);
    if (!enter(number)) return;
    feed(node);
    go_on(node);
    leave();
}

static void on_wave(uint64_t number, uint64_t life)
{
    struct node *node = nodes[number];
    if (!node->here || node->lives != life) return;
    node->busy = !node->busy;
    world_at(world_now() + world_about(WAVE), on_wave, number, life);
}

void nodes_demand(double times, uint64_t until)
{
    demand = times;
    demand_until = until;
}

void nodes_calm(void)
{
    calm = true;
}

void nodes_probe(unsigned number, unsigned limit, unsigned key)
{
    struct node *node = nodes[number];
    put_ask(node, &node->client[0], limit, key, 1);
    if (!enter(number)) return;
    feed(node);
    go_on(node);
    leave();
}

/* ---- opened, closed ---- */

static struct engine *open_engine(struct node *node)
{
    weir_error error;
    const struct engine_settings settings = {.url = fleet.sentinel ? "redis+sentinel://10.0.0.3:26379/main"
                                                                   : "redis://10.0.0.1:6379",
                                             .away = fleet.closed ? WEIR_AWAY_CLOSED : WEIR_AWAY_LOCAL,
                                             .nodes = fleet.nodes_said,
                                             .deadline_ns = fleet.deadline_ns,
                                             .lease_ns = fleet.lease_ns};
    struct engine *engine = engine_open(&settings, &node->service, &error);
    if (engine == NULL) abort();
    return engine;
}

static void publish(struct node *node, struct engine *engine)
{
    char text[LIMITS * (LIMIT_TEXT_SIZE + 32)] = "limits:\n";
    struct config_problem problem;
    for (unsigned i = 0; i < LIMITS; i++) {
        memcpy(node->limit[i], fleet.limit[i], LIMIT_TEXT_SIZE);
        snprintf(text + strlen(text), sizeof text - strlen(text), "  %c: {limit: '%s'%s}\n", 'a' + i, fleet.limit[i],
                 i == HERE ? ", engine: off" : "");
    }
    struct policy *policy =
        config_policy(slice_of(text), node->tables, engine, service_number, &node->service, &problem);
    if (policy == NULL) judge_say("weir.yaml is refused: %s", problem.message);
    engine_release(engine);
    service_publish(&node->service, policy);
}

static void open_clients(struct node *node)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &node->client[i];
        client->session = (struct session){.protocol = SESSION_RESP, .resp_version = 2, .trusted = true, .id = i + 1};
        client->reader = redisReaderCreate();
        client->size = client->taken = client->first = client->last = 0;
    }
}

static void start(uint64_t number, uint64_t other)
{
    struct node *node = nodes[number];
    const struct tables_options options = {.keys_max = 256, .memory = 64 << 20};
    (void)other;
    node->here = true;
    node->dying = node->in_batch = false;
    node->lives++;
    node->waited_ns = node->lag_ns = 0;
    current = (unsigned)number;
    if (tables_open(&node->tables, &options, NULL) != 0) abort();
    service_open(&node->service, node->tables, clock_of_service, NULL);
    struct stats *stats = service_worker(&node->service);
    if (stats == NULL || batch_open(&node->batch, &node->service, stats, sent, node) != 0) abort();
    open_clients(node);
    publish(node, open_engine(node));
    leave();
    world_at(world_now() + world_below(SECOND), on_tick, number, node->lives);
    world_at(world_now() + world_below(WAVE), on_wave, number, node->lives);
    world_at(world_now() + pause_of(node), on_ask, number, node->lives);
}

static void stop(unsigned number, bool dying)
{
    struct node *node = nodes[number];
    current = number;
    node->dying = dying;
    node->here = false;
    batch_close(&node->batch);
    engine_close_left(&node->service);
    service_close(&node->service);
    tables_close(node->tables);
    for (unsigned i = 0; i < CLIENTS; i++) redisReaderFree(node->client[i].reader);
    leave();
}

void nodes_kill(unsigned number, uint64_t until, bool kindly)
{
    if (!nodes[number]->here) return;
    stop(number, !kindly || is_frozen(nodes[number]));
    nodes[number]->frozen_until = 0;
    judge_killed(number);
    world_at(until, start, number, 0);
}

void nodes_begin(const struct fleet *of)
{
    fleet = *of;
    demand_until = asks = 0;
    calm = false;
    for (unsigned i = 0; i < fleet.nodes; i++) {
        nodes[i] = calloc(1, sizeof *nodes[i]);
        if (nodes[i] == NULL) abort();
        nodes[i]->since = world_now();
        nodes[i]->since_own = 1000 * SECOND + world_below(1000000 * SECOND);
        nodes[i]->rate = 1;
        start(i, 0);
    }
}

void nodes_end(void)
{
    for (unsigned i = 0; i < fleet.nodes; i++) {
        if (nodes[i]->here) stop(i, true);
        free(nodes[i]);
        nodes[i] = NULL;
    }
}

/* ---- faults ---- */

static void on_thaw(uint64_t number, uint64_t life)
{
    struct node *node = nodes[number];
    if (!node->here || node->lives != life || is_frozen(node)) return;
    node->frozen_ns += world_now() - node->frozen_at;
    if (node->lag_ns != 0) node->lag_ns = world_now() - node->frozen_at;
    current = (unsigned)number;
    feed(node);
    end_batch(node);
    node->lag_ns = 0;
    decide_tick(&node->batch);
    begin_batch(node);
    decide_go_on(&node->batch);
    go_on(node);
    leave();
}

void nodes_freeze(unsigned number, uint64_t until)
{
    struct node *node = nodes[number];
    if (!node->here || is_frozen(node)) return;
    node->frozen_at = world_now();
    node->frozen_until = until;
    world_at(until, on_thaw, number, node->lives);
}

void nodes_lag(unsigned number, uint64_t until)
{
    struct node *node = nodes[number];
    if (!node->here || is_frozen(node)) return;
    for (unsigned i = 0; i < BATCH; i++) choose(node);
    nodes_freeze(number, until);
    node->lag_ns = 1; /* how much is known when it goes on */
}

void nodes_drift(unsigned number, double rate)
{
    struct node *node = nodes[number];
    node->since_own = own_clock(node) - node->waited_ns;
    node->since = world_now();
    node->rate = rate;
}

static void on_reload(uint64_t number, uint64_t other)
{
    struct node *node = nodes[number];
    (void)other;
    if (!node->here) return;
    if (is_frozen(node)) {
        world_at(node->frozen_until, on_reload, number, 0);
        return;
    }
    current = (unsigned)number;
    publish(node, service_engine(&node->service));
    leave();
}

void nodes_change(unsigned limit, const char *text)
{
    snprintf(fleet.limit[limit], LIMIT_TEXT_SIZE, "%s", text);
    for (unsigned i = 0; i < fleet.nodes; i++) world_at(world_now() + world_below(RELOAD_WITHIN) * MS, on_reload, i, 0);
}
