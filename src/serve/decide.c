/* SPDX-License-Identifier: MIT
   decide.c - who decides: a table of this process, or the engine that is shared with other servers.

       item.under -> table    keyed_take_announced, keyed_ask
                  -> shared   "NAME|KEY" -> engine_ask_begin, all that a turn has of them at once

   In a table each key's place is on its way to the cache when its question is queued.  Questions of one limit each that
   lie one behind the other in the same table are asked together; lists of limits, looks and charges one at a time.  All
   are asked at the turn's time.

   To the engine all questions of a turn go together.  Nobody waits for them: what it does not answer at once is parked
   (park.c), and the others' requests go on.
   What is asked of either is asked in the order in which it came, and neither knows of the other's limits, so nobody
   can tell from the answers where one batch ended and the next began.

   Who is refused by the engine is told with those whom the table refuses.

   A name has no "|", and a text has no name: nobody reaches another limit's state by a clever key.

   May touch: the turn's scratch, the tables, the worker's handle.  Promises: every question has an answer.  Leaves to
   others: the queue and the answers (turn.c), where a limit is kept (place.c). */
#include <stdlib.h>
#include <string.h>

#include "api/table/keyed.h"
#include "serve/park.h"
#include "serve/plans.h"

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
    unsigned number[TURN_ASKS];              /* of the queue */
    uint64_t full_ns[TURN_ASKS];             /* by the queue's numbers */
};

/* ---- the way to the engine ---- */

static void close_asker(struct turn *turn, void (*leave)(struct engine *, weir_engine *))
{
    if (turn->asker == NULL) return;
    park_close(turn);
    leave(turn->asker->engine, turn->asker->handle);
    engine_release(turn->asker->engine);
    secrets_close(&turn->asker->secrets);
    free(turn->asker);
    turn->asker = NULL;
}

void decide_close(struct turn *turn)
{
    close_asker(turn, engine_leave);
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

static void secret_asked(struct turn *turn, struct session *session, const weir_engine_ask *ask, void **memory)
{
    struct asker *asker = turn->asker;
    const uint64_t now_ns = turn->service->now_ns(turn->service->clock);
    (void)session, (void)memory;
    asker->secret_due_ns = now_ns + (ask->from == WEIR_FROM_ENGINE ? SECRET_EVERY_NS : SECRET_RETRY_NS);
}

/* It has changed when somebody says so by hand, or the engine has lost it: once a minute is soon enough. */
static void look_at_secret(struct turn *turn)
{
    struct asker *asker = turn->asker;
    const uint64_t now_ns = turn->service->now_ns(turn->service->clock);
    if (!mac_is_here() || now_ns < asker->secret_due_ns) return;
    asker->secret_due_ns = UINT64_MAX; /* until it is answered */
    decide_alone(turn, NULL, &(struct decide_alone){.ask = {.verb = WEIR_ASK_SECRET}, .then = secret_asked});
}

const struct secrets *decide_secrets(struct turn *turn)
{
    struct asker *asker = turn->asker;
    char text[WEIR_ENGINE_SECRET_MAX];
    if (asker == NULL) return NULL;
    if (engine_secret(asker->handle, NULL) == asker->secrets_number) return &asker->secrets;
    asker->secrets_number = engine_secret(asker->handle, text);
    if (!secrets_read(&asker->secrets, text)) {
        service_say(turn->service, "engine: the secret of receipts has another form than 32 characters or more, or "
                                   "\"NEW OLD SECONDS\": each service settles only its own");
    }
    memset(text, 0, sizeof text);
    return &asker->secrets;
}

bool decide_secrets_again(struct turn *turn)
{
    struct asker *asker = turn->asker;
    const uint64_t now_ns = turn->service->now_ns(turn->service->clock);
    if (asker == NULL || now_ns < asker->secret_again_ns) return false;
    asker->secret_again_ns = now_ns + HOST_SECOND_NS;
    return true;
}

/* ---- one engine after the other ---- */

/* The texts that were met are kept by the engine before. */
void decide_follow(struct turn *turn)
{
    struct engine *engine = turn->policy != NULL ? turn->policy->engine : NULL;
    struct engine *before = turn->asker != NULL ? turn->asker->engine : NULL;
    if (engine == before) return;
    if (turn->asker != NULL) {
        turn->asker->leaving = true;
        park_finish(turn, turn->asker->handle);
    }
    plans_forget(turn->plans);
    close_asker(turn, engine_leave_soon); /* others are to be served meanwhile */
    turn->asker = open_asker(engine);
    if (turn->asker != NULL) look_at_secret(turn);
}

void decide_tick(struct turn *turn)
{
    turn_look_at_policy(turn);
    if (turn->asker == NULL) return;
    engine_tick(turn->asker->handle);
    look_at_secret(turn);
}

uint64_t decide_events(struct turn *turn, weir_engine_watch *watch, size_t most_of_them, size_t *count)
{
    uint64_t wait_ns = WEIR_FOREVER;
    *count = 0;
    if (turn->asker == NULL || turn->parked == NULL) return wait_ns;
    *count = engine_ask_events(turn->asker->handle, turn->service->now_ns(turn->service->clock), watch, most_of_them,
                               &wait_ns);
    return wait_ns;
}

void decide_go_on(struct turn *turn)
{
    if (turn->asker != NULL) engine_ask_turn(turn->asker->handle, turn->service->now_ns(turn->service->clock));
    park_answer(turn);
}

/* ---- keys ---- */

/* There is room in scratch for each request's: see turn_next_request. */
weir_key decide_shared_key(struct turn *turn, const struct item *item)
{
    const size_t begin = turn->scratch.size;
    if (item->named) bytes_text(&turn->scratch, item->policy_limit->name);
    bytes_byte(&turn->scratch, between);
    bytes_add(&turn->scratch, turn_key_plain(item));
    const struct slice key = slice_from(bytes_slice(&turn->scratch), begin);
    return (weir_key){key.bytes, key.size};
}

void decide_expect(struct turn *turn, struct item *item, unsigned number)
{
    weir_ask *ask = &turn->ask[number];
    if (item->under.is_shared) {
        ask->key = decide_shared_key(turn, item);
    } else {
        ask->key = (weir_key){item->key.bytes, item->key.size};
        turn->hash[number] = keyed_announce(item->under.table, ask->plan, ask->key);
    }
}

/* ---- by a table ---- */

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

/* Those from here on that a table decides; returns where the next is that it does not. */
static unsigned decide_here(struct turn *turn, unsigned from)
{
    const struct item *first = &turn->item[from];
    weir_table *table = first->under.table;
    unsigned to = from;
    while (to < turn->count && !turn->item[to].under.is_shared && turn->item[to].under.table == table &&
           is_plain(&turn->item[to]))
        to++;
    if (to == from) decide_one(turn, to++);
    else keyed_take_announced(table, turn->ask + from, turn->hash + from, to - from, turn->now_ns);
    return to;
}

/* ---- by the engine ---- */

static weir_engine_ask shared_ask(const struct turn *turn, unsigned number)
{
    const struct item *item = &turn->item[number];
    const bool each = item->each != NULL;
    return (weir_engine_ask){.verb = item->peek     ? WEIR_ASK_PEEK
                                     : item->charge ? WEIR_ASK_CHARGE
                                                    : WEIR_ASK_TAKE,
                             .limit = engine_limit_inside(item->under.shared),
                             .key = turn->ask[number].key,
                             .cost = each ? item->each->cost : &item->cost,
                             .costs = each ? (unsigned)weir_plan_limits(item->under.plan) : 1};
}

/* end 0: it cannot be corrected, for the engine does not know of it. */
void decide_answered(struct turn *turn, const weir_engine_ask *ask, unsigned number)
{
    const struct item *item = &turn->item[number];
    weir_decision *decision = &turn->ask[number].decision;
    *decision = ask->decision;
    if (ask->from != WEIR_FROM_ENGINE) decision->end = 0;
    if (ask->from == WEIR_FROM_AWAY && !item->peek) {
        struct stats_limit *limit = &turn->stats->limit[item->number];
        stats_add(decision->verdict == WEIR_ALLOW ? &limit->away_allowed : &limit->away_refused, 1);
    }
    turn->asker->full_ns[number] = ask->full_ns;
    if (decision->verdict != WEIR_ALLOW && !item->peek) {
        keyed_count_refusal(turn->slots, (weir_key){item->key.bytes, item->key.size}, decision);
    }
    if (item->each == NULL) return;
    struct item_each *each = &turn->each[item->each - turn->each];
    for (unsigned i = 0; i < WEIR_LIMITS_MAX; i++) each->end[i] = decision->end;
}

/* [without memory for a way to the engine] */
static void refuse(struct turn *turn, unsigned number)
{
    turn->ask[number].decision = (weir_decision){.verdict = WEIR_DENY, .retry_ns = HOST_SECOND_NS};
    if (turn->asker != NULL) turn->asker->full_ns[number] = HOST_SECOND_NS;
}

/* Without memory to keep them for later they have the away policy's answer now. */
static void decide_shared(struct turn *turn, unsigned count)
{
    struct asker *asker = turn->asker;
    struct park_batch *batch = park_batch_open(count);
    for (unsigned i = 0; batch == NULL && i < count; i++) refuse(turn, asker->number[i]);
    if (batch == NULL) return;
    weir_engine_ask *asks = park_batch_asks(batch);
    const uint64_t now_ns = turn->service->now_ns(turn->service->clock);
    for (unsigned i = 0; i < count; i++) asks[i] = shared_ask(turn, asker->number[i]);
    engine_ask_begin(asker->handle, asks, count, now_ns);
    if (!park_batch_is_answered(batch) && park_begin(turn, batch, asker->number)) {
        turn->parking = batch;
        return;
    }
    engine_ask_finish(asker->handle, asks, count, now_ns);
    for (unsigned i = 0; i < count; i++) decide_answered(turn, &asks[i], asker->number[i]);
    park_batch_close(turn, batch);
}

void decide_queue(struct turn *turn)
{
    struct asker *asker = turn->asker;
    unsigned shared = 0;
    for (unsigned number = 0; number < turn->count;) {
        if (!turn->item[number].under.is_shared) {
            number = decide_here(turn, number);
        } else if (asker == NULL) {
            refuse(turn, number++);
        } else {
            asker->number[shared++] = number++;
        }
    }
    if (shared != 0) decide_shared(turn, shared);
}

/* ---- what else is asked of who decides ---- */

uint64_t decide_full_ns(const struct turn *turn, const struct item *item, const weir_decision *decision)
{
    if (!item->under.is_shared) return weir_table_full_ns(item->under.table, item->under.plan, decision);
    return turn->asker != NULL ? turn->asker->full_ns[item - turn->item] : decision_retry_ns(decision);
}

bool decide_correctable(const struct item *item, const weir_decision *decision)
{
    return !item->under.is_shared || decision->end != 0;
}

/* ---- alone ---- */

static void hear_away(struct turn *turn, struct session *session, const struct decide_alone *alone)
{
    weir_engine_ask ask = alone->ask;
    void *memory = alone->memory;
    ask.from = WEIR_FROM_AWAY;
    ask.decision = (weir_decision){.verdict = WEIR_DENY};
    alone->then(turn, session, &ask, &memory);
    free(memory);
}

void decide_alone(struct turn *turn, struct session *session, const struct decide_alone *alone)
{
    const bool can = turn->asker != NULL && !turn->asker->leaving;
    struct park_batch *batch = can ? park_alone_open(alone) : NULL;
    if (batch == NULL) {
        hear_away(turn, session, alone);
        return;
    }
    engine_ask_begin(turn->asker->handle, park_batch_asks(batch), 1, turn->service->now_ns(turn->service->clock));
    if (!park_batch_is_answered(batch)) {
        park_keep_alone(turn, batch, session);
        return;
    }
    park_hear(turn, batch, session);
    park_batch_close(turn, batch);
}

static void forgotten(struct turn *turn, struct session *session, const weir_engine_ask *ask, void **memory)
{
    struct item *item = *memory;
    const bool done = ask->from == WEIR_FROM_ENGINE && ask->decision.verdict == WEIR_ALLOW;
    const weir_decision decision = {.verdict = done ? WEIR_ALLOW : WEIR_DENY};
    item->session = session;
    if (session != NULL) item->answer(turn, item, &decision);
}

void decide_forget(struct turn *turn, const struct item *item)
{
    if (!item->under.is_shared) {
        keyed_forget(item->under.table, item->under.plan, (weir_key){item->key.bytes, item->key.size}, turn->now_ns);
        item->answer(turn, item, &(weir_decision){.verdict = WEIR_ALLOW});
        return;
    }
    struct item *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        item->answer(turn, item, &(weir_decision){.verdict = WEIR_DENY});
        return;
    }
    *kept = *item;
    const weir_engine_ask ask = {.verb = WEIR_ASK_FORGET,
                                 .limit = engine_limit_inside(item->under.shared),
                                 .key = decide_shared_key(turn, item)};
    decide_alone(turn, item->session,
                 &(struct decide_alone){.ask = ask, .shared = item->under.shared, .then = forgotten, .memory = kept});
}
