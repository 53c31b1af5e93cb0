/* SPDX-License-Identifier: MIT
   decide.c - who decides: a table of this process, or the engine that is shared with other servers.

       item.under -> table    keyed_take_announced, keyed_ask
                  -> shared   "NAME|KEY" -> engine_ask, all that a turn has of them at once

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

#include "api/keyed.h"
#include "serve/park.h"
#include "serve/plans.h"

static const char between = '|';

/* A worker's way to the engine. */
struct asker {
    struct engine *engine;
    weir_engine *handle;
    unsigned number[TURN_ASKS];  /* of the queue */
    uint64_t full_ns[TURN_ASKS]; /* by the queue's numbers */
};

/* ---- the way to the engine ---- */

void decide_close(struct turn *turn)
{
    if (turn->asker == NULL) return;
    park_close(turn);
    engine_leave(turn->asker->engine, turn->asker->handle);
    engine_release(turn->asker->engine);
    free(turn->asker);
    turn->asker = NULL;
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

/* The texts that were met are kept by the engine before. */
void decide_follow(struct turn *turn)
{
    struct engine *engine = turn->policy != NULL ? turn->policy->engine : NULL;
    struct engine *before = turn->asker != NULL ? turn->asker->engine : NULL;
    if (engine == before) return;
    if (turn->asker != NULL) park_finish(turn, turn->asker->handle);
    plans_forget(turn->plans);
    decide_close(turn);
    turn->asker = open_asker(engine);
}

void decide_tick(struct turn *turn)
{
    turn_look_at_policy(turn);
    if (turn->asker != NULL) engine_tick(turn->asker->handle);
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
static weir_key shared_key(struct turn *turn, const struct item *item)
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
        ask->key = shared_key(turn, item);
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

/* One question alone; false: it did not answer. */
static bool ask_alone(struct turn *turn, weir_engine_ask *ask)
{
    if (turn->asker == NULL) return false;
    engine_ask(turn->asker->handle, ask, 1);
    return ask->from == WEIR_FROM_ENGINE;
}

bool decide_forget(struct turn *turn, const struct item *item)
{
    const weir_key key = {item->key.bytes, item->key.size};
    if (!item->under.is_shared) {
        keyed_forget(item->under.table, item->under.plan, key, turn->now_ns);
        return true;
    }
    weir_engine_ask ask = {
        .verb = WEIR_ASK_FORGET, .limit = engine_limit_inside(item->under.shared), .key = shared_key(turn, item)};
    return ask_alone(turn, &ask) && ask.decision.verdict == WEIR_ALLOW;
}

bool decide_settle_shared(struct turn *turn, const struct item *item, const struct decide_settlement *settlement)
{
    weir_engine_ask ask = {.verb = WEIR_ASK_SETTLE,
                           .limit = engine_limit_inside(item->under.shared),
                           .key = shared_key(turn, item),
                           .cost = settlement->cost,
                           .costs = settlement->count,
                           .actual = settlement->actual,
                           .taken = settlement->taken};
    return ask_alone(turn, &ask) && ask.decision.verdict == WEIR_ALLOW;
}

bool decide_permit_shared(struct turn *turn, const struct policy_verdict *under, struct slice key, bool *granted,
                          uint64_t *now_us)
{
    const uint64_t cost = 1;
    weir_engine_ask ask = {.verb = WEIR_ASK_TAKE,
                           .limit = engine_limit_inside(under->shared),
                           .key = {key.bytes, key.size},
                           .cost = &cost,
                           .costs = 1};
    const bool answered = ask_alone(turn, &ask);
    *granted = answered && ask.decision.verdict == WEIR_ALLOW;
    *now_us = ask.decision.end;
    return answered;
}
