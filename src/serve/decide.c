/* SPDX-License-Identifier: MIT
   Where it is decided: a table of this process, or the engine that is shared with other servers.

       call.under -> table    keyed_take_batch, keyed_ask
                  -> shared   "NAME|KEY" -> engine_ask_begin, all that a batch has of them at once

   Questions of one limit each that lie one behind the other in the same table are asked together; lists of limits,
   looks and charges one at a time, and the place of a key that is looked at or charged is on its way to the cache when
   that is queued.  All are asked at the batch's time.

   To the engine all questions of a batch go together.  Nobody waits for them: what it does not answer at once is parked
   (park.c), and the others' requests go on.
   What is asked of either is asked in the order in which it came, and neither knows of the other's limits, so nobody
   can tell from the answers where one batch ended and the next began.

   Refusals by the engine are reported with those by the table.

   A name has no "|", and a text has no name: nobody reaches another limit's state by a clever key.

   Every question has an answer. */
#include <stdlib.h>
#include <string.h>

#include "api/table/keyed.h"
#include "serve/park.h"
#include "serve/plans.h"
#include "serve/tenant.h"

static const char between = '|';
static const uint64_t SECRET_EVERY_NS = UINT64_C(60000000000), SECRET_RETRY_NS = UINT64_C(5000000000);

/* A worker's way to the engine. */
struct asker {
    struct engine *engine;
    weir_engine *handle;
    bool leaving;           /* another engine takes its place: nothing more is asked */
    struct secrets secrets; /* as of the number */
    uint64_t secrets_number;
    uint64_t secret_due_ns, secret_again_ns; /* asked for again, at the next tick; for a receipt */
    unsigned number[BATCH_ASKS];             /* of the queue */
    uint64_t full_ns[BATCH_ASKS];            /* by the queue's numbers */
};

/* ---- the way to the engine ---- */

static void close_asker(struct batch *batch, void (*leave)(struct engine *, weir_engine *))
{
    if (batch->asker == NULL) return;
    park_close(batch);
    leave(batch->asker->engine, batch->asker->handle);
    engine_release(batch->asker->engine);
    secrets_close(&batch->asker->secrets);
    free(batch->asker);
    batch->asker = NULL;
}

void decide_close(struct batch *batch)
{
    close_asker(batch, engine_leave);
}

/* Without memory for one nothing that is shared passes. */
static struct asker *open_asker(struct engine *engine)
{
    struct asker *asker = engine != NULL ? calloc(1, sizeof *asker) : NULL;
    if (asker == NULL) return NULL;
    asker->engine = engine_share(engine);
    asker->handle = engine_join(engine);
    return asker;
}

/* ---- the secret ---- */

static void secret_asked(struct batch *batch, struct session *session, const weir_engine_ask *ask, void **memory)
{
    struct asker *asker = batch->asker;
    const uint64_t now_ns = batch->service->now_ns(batch->service->clock);
    (void)session, (void)memory;
    asker->secret_due_ns = now_ns + (ask->from == WEIR_FROM_ENGINE ? SECRET_EVERY_NS : SECRET_RETRY_NS);
}

/* It has changed when somebody says so by hand, or the engine has lost it: once a minute is soon enough. */
static void look_at_secret(struct batch *batch)
{
    struct asker *asker = batch->asker;
    const uint64_t now_ns = batch->service->now_ns(batch->service->clock);
    if (!mac_is_here() || now_ns < asker->secret_due_ns) return;
    asker->secret_due_ns = UINT64_MAX; /* until it is answered */
    decide_alone(batch, NULL, &(struct decide_alone){.ask = {.verb = WEIR_ASK_SECRET}, .then = secret_asked});
}

const struct secrets *decide_secrets(struct batch *batch)
{
    struct asker *asker = batch->asker;
    char text[WEIR_ENGINE_SECRET_MAX];
    if (asker == NULL) return NULL;
    if (engine_secret(asker->handle, NULL) == asker->secrets_number) return &asker->secrets;
    asker->secrets_number = engine_secret(asker->handle, text);
    if (!secrets_read(&asker->secrets, text)) {
        service_say(batch->service, "engine: the secret of receipts is neither 32 characters or more nor \"NEW OLD "
                                    "SECONDS\": each service settles only its own receipts");
    }
    memset(text, 0, sizeof text);
    return &asker->secrets;
}

bool decide_secrets_again(struct batch *batch)
{
    struct asker *asker = batch->asker;
    const uint64_t now_ns = batch->service->now_ns(batch->service->clock);
    if (asker == NULL || now_ns < asker->secret_again_ns) return false;
    asker->secret_again_ns = now_ns + HOST_SECOND_NS;
    return true;
}

/* ---- one engine after the other ---- */

/* The texts that were met are kept by the engine before. */
void decide_follow(struct batch *batch)
{
    struct engine *engine = batch->policy != NULL ? batch->policy->engine : NULL;
    struct engine *before = batch->asker != NULL ? batch->asker->engine : NULL;
    if (engine == before) return;
    if (batch->asker != NULL) {
        batch->asker->leaving = true;
        park_finish(batch, batch->asker->handle);
    }
    plans_forget(batch->plans);
    close_asker(batch, engine_leave_soon); /* others are to be served meanwhile */
    batch->asker = open_asker(engine);
    if (batch->asker != NULL) look_at_secret(batch);
}

void decide_tick(struct batch *batch)
{
    batch_look_at_policy(batch);
    if (batch->asker == NULL) return;
    engine_tick(batch->asker->handle);
    look_at_secret(batch);
}

uint64_t decide_events(struct batch *batch, weir_engine_watch *watch, size_t most_of_them, size_t *count)
{
    uint64_t wait_ns = WEIR_FOREVER;
    *count = 0;
    if (batch->asker == NULL || batch->parked == NULL) return wait_ns;
    *count = engine_ask_events(batch->asker->handle, batch->service->now_ns(batch->service->clock), watch, most_of_them,
                               &wait_ns);
    return wait_ns;
}

void decide_go_on(struct batch *batch)
{
    if (batch->asker != NULL) engine_ask_process(batch->asker->handle, batch->service->now_ns(batch->service->clock));
    park_answer(batch);
}

/* ---- keys ---- */

/* There is room in scratch for each request's: see batch_next_request. */
weir_key decide_shared_key(struct batch *batch, const struct call *call)
{
    const size_t begin = batch->scratch.size;
    if (call->named) bytes_text(&batch->scratch, call->policy_limit->name);
    bytes_byte(&batch->scratch, between);
    bytes_add(&batch->scratch, batch_key_plain(call));
    const struct slice key = slice_from(bytes_slice(&batch->scratch), begin);
    return (weir_key){key.bytes, key.size};
}

static bool is_plain(const struct call *call)
{
    return call->each == NULL && !call->peek && !call->charge;
}

void decide_expect(struct batch *batch, struct call *call, unsigned number)
{
    weir_ask *ask = &batch->ask[number];
    ask->key = call->under.is_shared ? decide_shared_key(batch, call) : (weir_key){call->key.bytes, call->key.size};
    if (!call->under.is_shared && !is_plain(call))
        batch->hash[number] = weir_table_prefetch(call->under.table, ask->plan, ask->key);
}

/* ---- by a table ---- */

static void decide_one(struct batch *batch, unsigned number)
{
    const struct call *call = &batch->call[number];
    if (call->under.parent != NULL) {
        tenant_ask(batch, number);
        return;
    }
    struct ask ask = {.now_ns = batch->now_ns, .cost = call->cost, .peek = call->peek, .charge = call->charge};
    if (call->each != NULL) {
        struct call_each *each = &batch->each[call->each - batch->each];
        ask.each = each->cost;
        ask.end = each->end;
    }
    batch->ask[number].decision = keyed_ask(call->under.table, call->under.plan, batch->ask[number].key, &ask);
}

/* Those from here on that a table decides; returns where the next is that it does not. */
static unsigned decide_here(struct batch *batch, unsigned from)
{
    const struct call *first = &batch->call[from];
    weir_table *table = first->under.table;
    unsigned to = from;
    while (to < batch->count && !batch->call[to].under.is_shared && batch->call[to].under.table == table &&
           is_plain(&batch->call[to]))
        to++;
    if (to == from) decide_one(batch, to++);
    else keyed_take_batch(table, batch->ask + from, batch->hash + from, to - from, batch->now_ns);
    return to;
}

/* ---- by the engine ---- */

static weir_engine_ask shared_ask(const struct batch *batch, unsigned number)
{
    const struct call *call = &batch->call[number];
    const bool each = call->each != NULL;
    return (weir_engine_ask){.verb = call->peek     ? WEIR_ASK_PEEK
                                     : call->charge ? WEIR_ASK_CHARGE
                                                    : WEIR_ASK_TAKE,
                             .limit = engine_limit_inside(call->under.shared),
                             .key = batch->ask[number].key,
                             .cost = each ? call->each->cost : &call->cost,
                             .costs = each ? (unsigned)weir_plan_limits(call->under.plan) : 1};
}

/* end 0: it cannot be corrected, for the engine does not know of it. */
void decide_answered(struct batch *batch, const weir_engine_ask *ask, unsigned number)
{
    const struct call *call = &batch->call[number];
    weir_decision *decision = &batch->ask[number].decision;
    *decision = ask->decision;
    if (ask->from != WEIR_FROM_ENGINE) decision->end = 0;
    if (ask->from == WEIR_FROM_AWAY && !call->peek) {
        struct stats_limit *limit = &batch->stats->limit[call->number];
        stats_add(decision->verdict == WEIR_ALLOW ? &limit->away_allowed : &limit->away_refused, 1);
    }
    batch->asker->full_ns[number] = ask->full_ns;
    if (decision->verdict != WEIR_ALLOW && !call->peek) {
        keyed_count_refusal(batch->slots, (weir_key){call->key.bytes, call->key.size}, decision);
    }
    if (call->each == NULL) return;
    struct call_each *each = &batch->each[call->each - batch->each];
    for (unsigned i = 0; i < WEIR_LIMITS_MAX; i++) each->end[i] = decision->end;
}

/* [without memory for a way to the engine] */
static void refuse(struct batch *batch, unsigned number)
{
    batch->ask[number].decision = (weir_decision){.verdict = WEIR_DENY, .retry_ns = HOST_SECOND_NS};
    if (batch->asker != NULL) batch->asker->full_ns[number] = HOST_SECOND_NS;
}

/* Without memory to keep them for later they have the away policy's answer now. */
static void decide_shared(struct batch *batch, unsigned count)
{
    struct asker *asker = batch->asker;
    struct park_group *group = park_group_open(count);
    for (unsigned i = 0; group == NULL && i < count; i++) refuse(batch, asker->number[i]);
    if (group == NULL) return;
    weir_engine_ask *asks = park_group_asks(group);
    const uint64_t now_ns = batch->service->now_ns(batch->service->clock);
    for (unsigned i = 0; i < count; i++) asks[i] = shared_ask(batch, asker->number[i]);
    engine_ask_begin(asker->handle, asks, count, now_ns);
    if (!park_group_is_answered(group) && park_begin(batch, group, asker->number)) {
        batch->parking = group;
        return;
    }
    engine_ask_finish(asker->handle, asks, count, now_ns);
    for (unsigned i = 0; i < count; i++) decide_answered(batch, &asks[i], asker->number[i]);
    park_group_close(batch, group);
}

void decide_queue(struct batch *batch)
{
    struct asker *asker = batch->asker;
    unsigned shared = 0;
    for (unsigned number = 0; number < batch->count;) {
        if (!batch->call[number].under.is_shared) {
            number = decide_here(batch, number);
        } else if (asker == NULL) {
            refuse(batch, number++);
        } else {
            asker->number[shared++] = number++;
        }
    }
    if (shared != 0) decide_shared(batch, shared);
}

/* ---- what else is asked of a table or the engine ---- */

uint64_t decide_full_ns(const struct batch *batch, const struct call *call, const weir_decision *decision)
{
    if (call->under.parent != NULL) return tenant_full_ns(batch, call);
    if (!call->under.is_shared) return weir_table_full_ns(call->under.table, call->under.plan, decision);
    return batch->asker != NULL ? batch->asker->full_ns[call - batch->call] : decision_retry_ns(decision);
}

bool decide_correctable(const struct call *call, const weir_decision *decision)
{
    return !call->under.is_shared || decision->end != 0;
}

/* ---- slots that are held ---- */

bool decide_may_hold(const struct call *call)
{
    return backend_holds(call->under.plan) || (call->policy_limit != NULL && backend_holds(&call->policy_limit->plan));
}

/* Of a take that an engine answers, or of a list, the end is told also where no slot was taken. */
uint64_t decide_id(const struct call *call, const weir_decision *decision)
{
    const int holder = decide_holder(plan_rules(plan_inside_const(call->under.plan)));
    const bool taken = decision->verdict == WEIR_ALLOW && !call->peek; /* one that was only counted has no end */
    const uint64_t cost = call->each == NULL || holder < 0 ? call->cost : call->each->cost[holder];
    return taken && holder >= 0 && cost != 0 ? decision->end : 0;
}

static weir_verdict count_held(struct batch *batch, const struct call *call, bool held, enum hold hold)
{
    struct stats_limit *limit = &batch->stats->limit[call->number];
    stats_add(!held ? &limit->stale : hold == HOLD_RENEW ? &limit->renewals : &limit->releases, 1);
    return held ? WEIR_ALLOW : WEIR_DENY;
}

struct held {
    struct call call;
    enum hold hold;
};

static void hear_held(struct batch *batch, struct session *session, const weir_engine_ask *ask, void **memory)
{
    struct held *asked = *memory;
    weir_decision decision = {.verdict = WEIR_NEVER};
    if (ask->from == WEIR_FROM_ENGINE)
        decision.verdict = count_held(batch, &asked->call, ask->decision.verdict == WEIR_ALLOW, asked->hold);
    asked->call.session = session;
    if (session != NULL) asked->call.answer(batch, &asked->call, &decision);
}

static void ask_held(struct batch *batch, const struct call *call, uint64_t id, enum hold hold)
{
    struct held *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        call->answer(batch, call, &(weir_decision){.verdict = WEIR_NEVER});
        return;
    }
    *kept = (struct held){*call, hold};
    const weir_engine_ask ask = {.verb = hold == HOLD_RENEW ? WEIR_ASK_RENEW : WEIR_ASK_RELEASE,
                                 .limit = engine_limit_inside(call->under.shared),
                                 .key = decide_shared_key(batch, call),
                                 .taken = id};
    decide_alone(batch, call->session,
                 &(struct decide_alone){.ask = ask, .shared = call->under.shared, .then = hear_held, .memory = kept});
}

void decide_held(struct batch *batch, const struct call *call, uint64_t id, enum hold hold)
{
    const weir_key key = {call->key.bytes, call->key.size};
    batch_works_under(batch, call->under.plan);
    if (call->under.is_shared) {
        ask_held(batch, call, id, hold);
        return;
    }
    const bool held = keyed_hold(call->under.table, call->under.plan, key, batch->now_ns, id, hold);
    call->answer(batch, call, &(weir_decision){.verdict = count_held(batch, call, held, hold)});
}

/* ---- alone ---- */

static void hear_away(struct batch *batch, struct session *session, const struct decide_alone *alone)
{
    weir_engine_ask ask = alone->ask;
    void *memory = alone->memory;
    ask.from = WEIR_FROM_AWAY;
    ask.decision = (weir_decision){.verdict = WEIR_DENY};
    alone->then(batch, session, &ask, &memory);
    free(memory);
}

void decide_alone(struct batch *batch, struct session *session, const struct decide_alone *alone)
{
    const bool can = batch->asker != NULL && !batch->asker->leaving;
    struct park_group *group = can ? park_alone_open(alone) : NULL;
    if (group == NULL) {
        hear_away(batch, session, alone);
        return;
    }
    engine_ask_begin(batch->asker->handle, park_group_asks(group), 1, batch->service->now_ns(batch->service->clock));
    if (!park_group_is_answered(group)) {
        park_keep_alone(batch, group, session);
        return;
    }
    park_hear(batch, group, session);
    park_group_close(batch, group);
}

static void forgotten(struct batch *batch, struct session *session, const weir_engine_ask *ask, void **memory)
{
    struct call *call = *memory;
    const bool done = ask->from == WEIR_FROM_ENGINE && ask->decision.verdict == WEIR_ALLOW;
    const weir_decision decision = {.verdict = done ? WEIR_ALLOW : WEIR_DENY};
    call->session = session;
    if (session != NULL) call->answer(batch, call, &decision);
}

void decide_forget(struct batch *batch, const struct call *call)
{
    if (!call->under.is_shared) {
        keyed_forget(call->under.table, call->under.plan, (weir_key){call->key.bytes, call->key.size}, batch->now_ns);
        call->answer(batch, call, &(weir_decision){.verdict = WEIR_ALLOW});
        return;
    }
    struct call *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        call->answer(batch, call, &(weir_decision){.verdict = WEIR_DENY});
        return;
    }
    *kept = *call;
    const weir_engine_ask ask = {.verb = WEIR_ASK_FORGET,
                                 .limit = engine_limit_inside(call->under.shared),
                                 .key = decide_shared_key(batch, call)};
    decide_alone(batch, call->session,
                 &(struct decide_alone){.ask = ask, .shared = call->under.shared, .then = forgotten, .memory = kept});
}
