/* SPDX-License-Identifier: MIT
   Questions that an engine has not answered yet, and what has to wait behind them.

       batch_settle_queue -> engine: answered at once (a lease, away) -> as a table's
                                    not yet -> batch: | question | answer behind it | question | ...
       weir_engine_process -> the oldest batch is whole -> answers in their order -> the session is read on

   A session with a line in a batch is parked: nothing more of it is read.  What was decided of it behind its question,
   in the same batch, waits as written bytes.  Batches end in the order in which they began, so that a session with
   lines in two of them has its answers in order; all have the same time, so none waits for another beyond the deadline.

   At most WEIR_ENGINE_MAX questions wait (those beyond it the away policy answers, at once), with what one batch has
   read of their sessions; a session that closes is named by nobody any more. */
#include "serve/park.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"

struct line {
    struct session *session; /* NULL: it has gone */
    int question;            /* of the group; below 0: bytes */
    char *bytes;             /* owned */
    size_t size;
};

struct kept {
    struct call call;
    struct call_each each;
};

/* Of a limit by text: the worker may need its place meanwhile. */
struct kept_plan {
    struct kept_plan *next;
    const weir_plan *of;
    struct engine_limit *shared;
    weir_plan plan;
};

struct park_group {
    struct park_group *next;
    struct policy *policy; /* names and plans are in it */
    struct kept_plan *plans;
    uint64_t begun_ns;
    unsigned count, added, answered;
    char *text; /* keys and limits */
    size_t text_size;
    struct line *line;
    unsigned lines, room;
    struct kept *kept;
    struct decide_alone alone; /* then NULL: it is the queue's questions */
    weir_engine_ask ask[];
};

struct park_group *park_group_open(unsigned count)
{
    struct park_group *group = malloc(sizeof *group + count * sizeof group->ask[0]);
    if (group == NULL) return NULL;
    memset(group, 0, sizeof *group);
    group->count = count;
    return group;
}

weir_engine_ask *park_group_asks(struct park_group *group)
{
    return group->ask;
}

bool park_group_is_answered(struct park_group *group)
{
    while (group->answered < group->count && group->ask[group->answered].from != 0) group->answered++;
    return group->answered == group->count;
}

void park_group_close(struct batch *batch, struct park_group *group)
{
    for (unsigned i = 0; i < group->lines; i++) {
        if (group->line[i].session != NULL) group->line[i].session->parked--;
        free(group->line[i].bytes);
    }
    for (struct kept_plan *plan = group->plans, *next; plan != NULL; plan = next) {
        next = plan->next;
        engine_limit_release(plan->shared);
        free(plan);
    }
    if (group->policy != NULL) service_release(batch->service, group->policy);
    engine_limit_release(group->alone.shared);
    free(group->alone.memory);
    free(group->text);
    free(group->line);
    free(group->kept);
    free(group);
}

/* ---- parked ---- */

bool park_begin(struct batch *batch, struct park_group *group, const unsigned number[])
{
    size_t size = 1;
    if (group->count == 0) return false;
    for (unsigned i = 0; i < group->count; i++) {
        const struct call *call = &batch->call[number[i]];
        size += call->limit.size + call->key.size + group->ask[i].key.size;
    }
    group->text = malloc(size);
    group->kept = malloc(group->count * sizeof group->kept[0]);
    group->room = group->count;
    group->line = malloc(group->room * sizeof group->line[0]);
    group->begun_ns = batch->now_ns;
    return group->text != NULL && group->kept != NULL && group->line != NULL;
}

static const char *keep_text(struct park_group *group, const void *bytes, size_t size)
{
    char *at = group->text + group->text_size;
    if (size != 0) memcpy(at, bytes, size);
    group->text_size += size;
    return at;
}

/* false: no memory. */
static bool keep_plan(struct park_group *group, struct policy_verdict *under)
{
    struct kept_plan *kept = group->plans;
    if (kept == NULL || kept->of != under->plan) {
        kept = malloc(sizeof *kept);
        if (kept == NULL) return false;
        *kept = (struct kept_plan){.next = group->plans, .of = under->plan, .plan = *under->plan};
        kept->shared = engine_limit_share(under->shared);
        group->plans = kept;
    }
    under->plan = &kept->plan;
    return true;
}

static bool add_line(struct park_group *group, struct session *session, int question, char *bytes, size_t size)
{
    if (group->lines == group->room) {
        struct line *more = realloc(group->line, 2 * (size_t)group->room * sizeof *more);
        if (more == NULL) return false;
        group->line = more;
        group->room *= 2;
    }
    group->line[group->lines++] = (struct line){session, question, bytes, size};
    if (session != NULL) session->parked++;
    return true;
}

bool park_add(struct batch *batch, const struct call *call)
{
    struct park_group *group = batch->parking;
    const unsigned at = group->added++;
    struct kept *kept = &group->kept[at];
    weir_engine_ask *ask = &group->ask[at];
    kept->call = *call;
    if (call->each != NULL) kept->each = *call->each;
    ask->key.bytes = keep_text(group, ask->key.bytes, ask->key.size);
    kept->call.limit.bytes = keep_text(group, call->limit.bytes, call->limit.size);
    kept->call.key.bytes = keep_text(group, call->key.bytes, call->key.size);
    ask->cost = call->each != NULL ? kept->each.cost : &kept->call.cost;
    add_line(group, call->session, (int)at, NULL, 0); /* there is room for each question */
    return call->named || keep_plan(group, &kept->call.under);
}

static void add_batch(struct batch *batch, struct park_group *group)
{
    struct park_group **end = &batch->parked;
    while (*end != NULL) end = &(*end)->next;
    *end = group;
}

void park_keep(struct batch *batch)
{
    batch->parking->policy = batch->policy;
    service_share(batch->service, batch->policy);
    add_batch(batch, batch->parking);
    batch->parking = NULL;
}

struct park_group *park_alone_open(const struct decide_alone *alone)
{
    struct park_group *group = park_group_open(1);
    if (group == NULL) return NULL;
    group->ask[0] = alone->ask;
    group->text = malloc(alone->ask.key.size + 1);
    group->line = malloc(sizeof group->line[0]);
    group->room = 1;
    if (group->text == NULL || group->line == NULL) {
        park_group_close(NULL, group);
        return NULL;
    }
    group->ask[0].key.bytes = keep_text(group, alone->ask.key.bytes, alone->ask.key.size);
    group->alone = *alone;
    group->alone.shared = engine_limit_share(alone->shared);
    return group;
}

void park_keep_alone(struct batch *batch, struct park_group *group, struct session *session)
{
    batch_flush(batch);                   /* what was written before its question goes before it */
    add_line(group, session, 0, NULL, 0); /* there is room for it */
    add_batch(batch, group);
}

bool park_bytes(struct batch *batch, struct session *session, struct slice bytes)
{
    struct park_group *group = batch->parking != NULL ? batch->parking : batch->parked;
    while (group->next != NULL) group = group->next;
    char *copy = malloc(bytes.size);
    if (copy == NULL) return false;
    memcpy(copy, bytes.bytes, bytes.size);
    if (add_line(group, session, -1, copy, bytes.size)) return true;
    free(copy);
    return false;
}

/* ---- answered ---- */

static void answer_question(struct batch *batch, struct park_group *group, unsigned at)
{
    struct kept *kept = &group->kept[at];
    batch->call[0] = kept->call;
    if (kept->call.each != NULL) {
        batch->each[0] = kept->each;
        batch->call[0].each = &batch->each[0];
    }
    decide_answered(batch, &group->ask[at], 0);
    batch_answer_one(batch, 0);
}

void park_hear(struct batch *batch, struct park_group *group, struct session *session)
{
    batch_next_request(batch); /* as with any other request there is room in scratch */
    group->alone.then(batch, session, &group->ask[0], &group->alone.memory);
}

/* A request that is asked alone is finished, also for a session that has gone. */
static void write_line(struct batch *batch, struct park_group *group, struct line *line)
{
    struct session *session = line->session;
    const bool alone = group->alone.then != NULL && line->question >= 0;
    if (alone) park_hear(batch, group, session);
    if (session == NULL) return;
    if (!alone && line->question >= 0) answer_question(batch, group, (unsigned)line->question);
    else if (!alone) bytes_add(batch_reply(batch, session, line->size), (struct slice){line->bytes, line->size});
    line->session = NULL;
    if (--session->parked == 0 && batch->resume != NULL) batch->resume(batch->sender, session);
}

static void write_batch(struct batch *batch, struct park_group *group)
{
    const uint64_t now_ns = batch->service->now_ns(batch->service->clock);
    for (unsigned i = 0; i < group->lines; i++) write_line(batch, group, &group->line[i]);
    if (group->alone.then != NULL) return;
    stats_latency(batch->stats, subtract_to_zero(now_ns, group->begun_ns), group->count);
}

bool park_is_ready(const struct batch *batch)
{
    return batch->parked != NULL && park_group_is_answered(batch->parked);
}

void park_answer(struct batch *batch)
{
    batch_settle_queue(batch); /* an answer is made where a question stands */
    if (!park_is_ready(batch)) return;
    batch_flush(batch);
    batch->answering = true;
    while (park_is_ready(batch)) {
        struct park_group *group = batch->parked;
        batch->parked = group->next;
        write_batch(batch, group);
        park_group_close(batch, group);
    }
    batch_flush(batch);
    batch->answering = false;
}

void park_finish(struct batch *batch, weir_engine *handle)
{
    const uint64_t now_ns = batch->service->now_ns(batch->service->clock);
    for (struct park_group *group = batch->parked; group != NULL; group = group->next) {
        engine_ask_finish(handle, group->ask, group->count, now_ns);
    }
    park_answer(batch);
}

/* ---- gone ---- */

void park_leave(struct batch *batch, struct session *session)
{
    for (struct park_group *group = batch->parked; session->parked != 0 && group != NULL; group = group->next) {
        for (unsigned i = 0; i < group->lines; i++) {
            if (group->line[i].session != session) continue;
            group->line[i].session = NULL;
            session->parked--;
        }
    }
}

void park_close(struct batch *batch)
{
    while (batch->parked != NULL) {
        struct park_group *group = batch->parked;
        batch->parked = group->next;
        park_group_close(batch, group);
    }
}
