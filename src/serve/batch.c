/* SPDX-License-Identifier: MIT
   One batch of a worker's loop: questions queued, decided together, answered in their order.

       batch_limit, batch_key -> call -> batch_take -> queue -> decide -> answer -> out -> send

   Answers of a session leave in the order of its requests; nothing is allocated but for an answer that is longer than
   any before. */
#include "serve/batch.h"

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

static bool open_memory(struct batch *batch)
{
    batch->plans = plans_open();
    batch->out.memory = malloc(OUT_USUAL);
    batch->out.capacity = OUT_USUAL;
    batch->scratch.memory = malloc(SCRATCH);
    batch->scratch.capacity = SCRATCH;
    return batch->plans != NULL && batch->out.memory != NULL && batch->scratch.memory != NULL;
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

int batch_open(struct batch *batch, struct service *service, struct stats *stats,
               void (*send)(void *, struct session *, struct slice), void *sender)
{
    struct policy_verdict under;
    memset(batch, 0, sizeof *batch);
    batch->service = service;
    batch->stats = stats;
    batch->send = send;
    batch->sender = sender;
    if (!open_memory(batch) || !plans_here(batch, "1/min burst=1", &under, NULL)) {
        batch_close(batch);
        return WEIR_ENOMEM;
    }
    service_access(service, &batch->access);
    batch->slots = under.table;
    batch->work_most = UINT64_MAX;
    batch->receipts = first_receipt(service, stats);
    return 0;
}

void batch_close(struct batch *batch)
{
    decide_close(batch);
    plans_close(batch->plans);
    if (batch->policy != NULL) service_release(batch->service, batch->policy);
    free(batch->out.memory);
    free(batch->scratch.memory);
    memset(batch, 0, sizeof *batch);
}

/* The serial is read first: a policy that is newer than it is looked for once more, never missed. */
void batch_look_at_policy(struct batch *batch)
{
    const uint64_t serial = atom_load_acquire(&batch->service->policy_serial);
    if (serial == batch->policy_serial) return;
    struct policy *old = batch->policy;
    batch->policy = service_policy(batch->service);
    service_access(batch->service, &batch->access);
    batch->policy_serial = serial;
    batch->last_limit = NULL;
    decide_follow(batch);
    if (old != NULL) service_release(batch->service, old);
}

void batch_begin(struct batch *batch)
{
    batch->now_ns = batch->service->now_ns(batch->service->clock);
    batch->decisions = 0;
    batch_look_at_policy(batch);
}

/* ---- answers ---- */

static bool send_or_park(struct batch *batch, struct session *session, struct slice bytes)
{
    if (session->parked != 0 && !batch->answering) return park_bytes(batch, session, bytes);
    batch->send(batch->sender, session, bytes);
    return true;
}

static void send_portion(struct batch *batch, struct session *session, struct slice bytes, bool full)
{
    if (!full && (bytes.size == 0 || send_or_park(batch, session, bytes))) return;
    session->closing = true; /* half an answer is none, and what follows would be taken for it */
    batch->send(batch->sender, session, (struct slice){bytes.bytes, 0}); /* so that it is noticed */
}

/* When all are written: what writes one and what sends one each find their own code in the cache again. */
void batch_flush(struct batch *batch)
{
    size_t end = 0;
    for (unsigned i = 0; i < batch->portions; i++) {
        const size_t begin = end;
        const bool last = i + 1 == batch->portions;
        end = last ? batch->out.size : batch->portion[i + 1].begin;
        const struct slice bytes = {batch->out.memory + begin, end - begin};
        send_portion(batch, batch->portion[i].session, bytes, last && batch->out.full);
    }
    batch->portions = 0;
    batch->out.size = 0;
    batch->out.full = false;
}

static void grow(struct batch *batch, size_t room)
{
    char *memory = room <= OUT_MAX ? realloc(batch->out.memory, room) : NULL;
    if (memory == NULL) return; /* then it will be full */
    batch->out.memory = memory;
    batch->out.capacity = room;
}

struct bytes *batch_reply_roomy(struct batch *batch, struct session *session, size_t room)
{
    const bool fits = batch->out.capacity - batch->out.size >= room && !batch->out.full;
    if (!fits || batch->portions == BATCH_ASKS) batch_flush(batch);
    if (batch->out.capacity < room) grow(batch, room);
    batch->portion[batch->portions++] = (struct batch_portion){session, batch->out.size};
    return &batch->out;
}

/* ---- the queue ---- */

/* Would have been refused, but nobody is: what was not taken is not charged. */
static void let_pass(struct call *call, weir_decision *decision)
{
    call->shadow_denied = true;
    decision->verdict = WEIR_ALLOW;
    decision->retry_ns = 0;
}

void batch_answer_one(struct batch *batch, unsigned number)
{
    struct call *call = &batch->call[number];
    weir_decision *decision = &batch->ask[number].decision;
    const bool refused = decision->verdict != WEIR_ALLOW && !call->peek;
    if (!call->peek) stats_decided(batch->stats, call->number, decision, call->under.shadow);
    if (refused && notes_wants_refusals(&batch->service->notes)) notes_refusal(batch, call, decision);
    if (call->under.shadow && decision->verdict != WEIR_ALLOW) let_pass(call, decision);
    call->receipt = batch->receipts += SERVICE_WORKERS_MAX;
    call->answer(batch, call, decision);
}

/* What was written before its question goes before it. */
static void park(struct batch *batch, struct call *call)
{
    batch_flush(batch);
    if (!park_add(batch, call)) call->session->closing = true; /* without memory for its limit */
}

static void answer_all(struct batch *batch)
{
    for (unsigned i = 0; i < batch->count; i++) {
        if (batch->call[i].under.mark != 0 && !batch->call[i].peek) plans_met(batch, i);
        if (batch->parking != NULL && batch->call[i].under.is_shared) park(batch, &batch->call[i]);
        else batch_answer_one(batch, i);
    }
    if (batch->parking == NULL) return;
    batch_flush(batch); /* so that what stands behind a question is parked with it */
    park_keep(batch);
}

void batch_settle_queue(struct batch *batch)
{
    if (batch->count == 0) return;
    decide_queue(batch);
    answer_all(batch);
    batch->decisions += batch->count;
    batch->count = batch->each_count = 0;
}

static const struct call_each *keep_each(struct batch *batch, const struct call *call, const uint64_t each[])
{
    const uint64_t count = plan_inside_const(call->under.plan)->count;
    struct call_each *kept = &batch->each[batch->each_count++];
    memset(kept->cost, 0, sizeof kept->cost);
    memset(kept->end, 0, sizeof kept->end);
    for (uint64_t i = 0; i < count; i++) kept->cost[i] = each != NULL ? each[i] : call->cost;
    return kept;
}

/* A limit in a slot is the measure; of others the state is copied and looked through. */
void batch_works_under(struct batch *batch, const weir_plan *plan)
{
    const struct plan *inside = plan_inside_const(plan);
    const bool slot = inside->count == 1 && inside->interval[0] != 0;
    batch_works(batch, slot ? 1 : inside->count + weir_state_size(plan) / BYTES_OF_WORK);
}

void batch_take(struct batch *batch, const struct call *call, const uint64_t each[])
{
    const bool wants_each = plan_inside_const(call->under.plan)->count > 1 || call->under.parent != NULL;
    batch_works_under(batch, call->under.plan);
    if (call->under.parent != NULL) batch_works_under(batch, call->under.parent);
    if (batch->count == BATCH_ASKS || (wants_each && batch->each_count == BATCH_EACH)) batch_settle_queue(batch);
    struct call *queued = &batch->call[batch->count];
    weir_ask *ask = &batch->ask[batch->count];
    if (queued != call) *queued = *call;
    if (each != NULL) queued->cost = each[0];
    queued->each = wants_each ? keep_each(batch, call, each) : NULL;
    queued->shadow_denied = false;
    ask->plan = call->under.plan;
    ask->cost = queued->cost;
    decide_expect(batch, queued, batch->count++);
}

static void empty_scratch(struct batch *batch)
{
    batch->scratch.size = 0;
    batch->scratch.full = false;
}

void batch_next_request(struct batch *batch)
{
    if (batch->scratch.size <= SCRATCH / 2) return;
    batch_settle_queue(batch);
    empty_scratch(batch);
}

void batch_end(struct batch *batch)
{
    batch_settle_queue(batch);
    batch_flush(batch);
    empty_scratch(batch);
    stats_add(&batch->stats->batches, 1);
    if (batch->decisions == 0) return;
    stats_latency(batch->stats, batch->service->now_ns(batch->service->clock) - batch->now_ns, batch->decisions);
    batch->decisions = 0;
}
