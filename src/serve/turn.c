/* SPDX-License-Identifier: MIT
   turn.c - one turn of a worker's loop: questions queued, decided together, answered in their order.

       turn_limit, turn_key -> item -> turn_take -> queue -> decide -> answer -> out -> send

   May touch: the turn, the worker's counters.  Promises: answers of a session leave in the order of its
   requests; nothing is allocated but for an answer that is longer than any before.  Leaves to others: what requests say
   (resp/commands.c, http/routes.c), what a limit and a key are (turn_limit.c), deciding (decide.c). */
#include "serve/turn.h"

#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "serve/park.h"
#include "serve/plans.h"

enum {
    OUT_USUAL = 1 << 18, /* sent when it is full */
    OUT_MAX = 8 << 20,   /* bytes of one answer */
    SCRATCH = 1 << 20,
    BYTES_OF_WORK = 256 /* of a state: as long as a question to a slot */
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
    if (!open_memory(turn) || !plans_here(turn, "1/min burst=1", &under, NULL)) {
        turn_close(turn);
        return WEIR_ENOMEM;
    }
    service_access(service, &turn->access);
    turn->slots = under.table;
    turn->work_most = UINT64_MAX;
    turn->receipts = first_receipt(service, stats);
    return 0;
}

void turn_close(struct turn *turn)
{
    decide_close(turn);
    plans_close(turn->plans);
    if (turn->policy != NULL) service_release(turn->service, turn->policy);
    free(turn->out.memory);
    free(turn->scratch.memory);
    memset(turn, 0, sizeof *turn);
}

/* The serial is read first: a policy that is newer than it is looked for once more, never missed. */
void turn_look_at_policy(struct turn *turn)
{
    const uint64_t serial = atom_load_acquire(&turn->service->policy_serial);
    if (serial == turn->policy_serial) return;
    struct policy *old = turn->policy;
    turn->policy = service_policy(turn->service);
    service_access(turn->service, &turn->access);
    turn->policy_serial = serial;
    turn->last_limit = NULL;
    decide_follow(turn);
    if (old != NULL) service_release(turn->service, old);
}

void turn_begin(struct turn *turn)
{
    turn->now_ns = turn->service->now_ns(turn->service->clock);
    turn->decisions = 0;
    turn_look_at_policy(turn);
}

/* ---- answers ---- */

static bool send_or_park(struct turn *turn, struct session *session)
{
    if (session->parked != 0 && !turn->answering) return park_bytes(turn, session, bytes_slice(&turn->out));
    turn->send(turn->sender, session, bytes_slice(&turn->out));
    return true;
}

void turn_flush(struct turn *turn)
{
    struct session *session = turn->out_session;
    if (turn->out.size != 0 && session != NULL && !turn->out.full) turn->out.full = !send_or_park(turn, session);
    if (turn->out.full && session != NULL) {
        session->closing = true; /* half an answer is none, and what follows would be taken for it */
        turn->send(turn->sender, session, (struct slice){turn->out.memory, 0}); /* so that it is noticed */
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
    if (turn->out_session != session || turn->out.capacity - turn->out.size < room) turn_flush(turn);
    if (turn->out.capacity < room) grow(turn, room);
    turn->out_session = session;
    return &turn->out;
}

/* ---- the queue ---- */

/* Would have been refused, but nobody is: what was not taken is not charged. */
static void let_pass(struct item *item, weir_decision *decision)
{
    item->shadow_denied = true;
    decision->verdict = WEIR_ALLOW;
    decision->retry_ns = 0;
}

void turn_answer_one(struct turn *turn, unsigned number)
{
    struct item *item = &turn->item[number];
    weir_decision *decision = &turn->ask[number].decision;
    const bool refused = decision->verdict != WEIR_ALLOW && !item->peek;
    if (!item->peek) stats_decided(turn->stats, item->number, decision, item->under.shadow);
    if (refused && decision->verdict == WEIR_NEVER) notes_never(turn, item);
    if (refused && notes_wants_refusals(&turn->service->notes)) notes_refusal(turn, item, decision);
    if (item->under.shadow && decision->verdict != WEIR_ALLOW) let_pass(item, decision);
    item->receipt = turn->receipts += SERVICE_WORKERS_MAX;
    item->answer(turn, item, decision);
}

/* What was written before its question goes before it. */
static void park(struct turn *turn, struct item *item)
{
    if (turn->out_session == item->session) turn_flush(turn);
    if (!park_add(turn, item)) item->session->closing = true; /* without memory for its limit */
}

static void answer_all(struct turn *turn)
{
    for (unsigned i = 0; i < turn->count; i++) {
        if (turn->parking != NULL && turn->item[i].under.is_shared) park(turn, &turn->item[i]);
        else turn_answer_one(turn, i);
    }
    if (turn->parking == NULL) return;
    turn_flush(turn); /* so that what stands behind a question is parked with it */
    park_keep(turn);
}

void turn_settle_queue(struct turn *turn)
{
    if (turn->count == 0) return;
    decide_queue(turn);
    answer_all(turn);
    turn->decisions += turn->count;
    turn->count = turn->each_count = 0;
}

static uint64_t most_of(const uint64_t each[], unsigned count)
{
    uint64_t cost = 0;
    for (unsigned i = 0; i < count; i++) cost = each[i] > cost ? each[i] : cost;
    return cost;
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

/* A limit in a slot is the measure; of others the state is copied and looked through. */
static uint64_t work_of(const weir_plan *plan)
{
    const struct plan *inside = plan_inside_const(plan);
    if (inside->count == 1 && inside->interval[0] != 0) return 1;
    return inside->count + weir_state_size(plan) / BYTES_OF_WORK;
}

void turn_take(struct turn *turn, const struct item *item, const uint64_t each[], unsigned each_count)
{
    const bool wants_each = weir_plan_limits(item->under.plan) > 1;
    turn_works(turn, work_of(item->under.plan));
    if (turn->count == TURN_ASKS || (wants_each && turn->each_count == TURN_EACH)) turn_settle_queue(turn);
    struct item *queued = &turn->item[turn->count];
    weir_ask *ask = &turn->ask[turn->count];
    if (queued != item) *queued = *item;
    if (each != NULL) queued->cost = wants_each ? each[0] : most_of(each, each_count); /* several: see turn_costs */
    queued->each = wants_each ? keep_each(turn, item, each, each_count) : NULL;
    queued->shadow_denied = false;
    ask->plan = item->under.plan;
    ask->cost = queued->cost;
    const unsigned number = turn->count++;
    decide_expect(turn, queued, number);
    if (queued->under.mark != 0 && !queued->peek) plans_met(turn, number);
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
    turn_flush(turn);
    turn->out_session = NULL;
    empty_scratch(turn);
    stats_add(&turn->stats->turns, 1);
    if (turn->decisions == 0) return;
    stats_latency(turn->stats, turn->service->now_ns(turn->service->clock) - turn->now_ns, turn->decisions);
    turn->decisions = 0;
}
