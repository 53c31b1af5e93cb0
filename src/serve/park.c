/* SPDX-License-Identifier: MIT
   park.c - questions that an engine has not answered yet, and what has to wait behind them.

       turn_settle_queue -> engine: answered at once (a lease, away) -> as a table's
                                    not yet -> batch: | question | answer behind it | question | ...
       weir_engine_turn -> the oldest batch is whole -> answers in their order -> the session is read on

   A session with a line in a batch is parked: nothing more of it is read.  What was decided of it behind its question,
   in the same turn, waits as written bytes.  Batches end in the order in which they began, so that a session with lines
   in two of them has its answers in order; all have the same time, so none waits for another beyond the deadline.

   May touch: the turn, malloc, the policy's count of users.  Promises: at most WEIR_ENGINE_MAX questions wait (those
   beyond it the away policy answers, at once), with what one turn has read of their sessions; a session that closes is
   named by nobody any more.  Leaves to others: asking (decide.c), when to go on (worker.c). */
#include "serve/park.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"

struct line {
    struct session *session; /* NULL: it has gone */
    int question;            /* of the batch; below 0: bytes */
    char *bytes;             /* owned */
    size_t size;
};

struct kept {
    struct item item;
    struct item_each each;
};

/* Of a limit by text: the worker may need its place meanwhile. */
struct kept_plan {
    struct kept_plan *next;
    const weir_plan *of;
    struct engine_limit *shared;
    weir_plan plan;
};

struct park_batch {
    struct park_batch *next;
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

struct park_batch *park_batch_open(unsigned count)
{
    struct park_batch *batch = malloc(sizeof *batch + count * sizeof batch->ask[0]);
    if (batch == NULL) return NULL;
    memset(batch, 0, sizeof *batch);
    batch->count = count;
    return batch;
}

weir_engine_ask *park_batch_asks(struct park_batch *batch)
{
    return batch->ask;
}

bool park_batch_is_answered(struct park_batch *batch)
{
    while (batch->answered < batch->count && batch->ask[batch->answered].from != 0) batch->answered++;
    return batch->answered == batch->count;
}

void park_batch_close(struct turn *turn, struct park_batch *batch)
{
    for (unsigned i = 0; i < batch->lines; i++) {
        if (batch->line[i].session != NULL) batch->line[i].session->parked--;
        free(batch->line[i].bytes);
    }
    for (struct kept_plan *plan = batch->plans, *next; plan != NULL; plan = next) {
        next = plan->next;
        engine_limit_release(plan->shared);
        free(plan);
    }
    if (batch->policy != NULL) service_release(turn->service, batch->policy);
    engine_limit_release(batch->alone.shared);
    free(batch->alone.memory);
    free(batch->text);
    free(batch->line);
    free(batch->kept);
    free(batch);
}

/* ---- parked ---- */

bool park_begin(struct turn *turn, struct park_batch *batch, const unsigned number[])
{
    size_t size = 1;
    if (batch->count == 0) return false;
    for (unsigned i = 0; i < batch->count; i++) {
        const struct item *item = &turn->item[number[i]];
        size += item->limit.size + item->key.size + batch->ask[i].key.size;
    }
    batch->text = malloc(size);
    batch->kept = malloc(batch->count * sizeof batch->kept[0]);
    batch->room = batch->count;
    batch->line = malloc(batch->room * sizeof batch->line[0]);
    batch->begun_ns = turn->now_ns;
    return batch->text != NULL && batch->kept != NULL && batch->line != NULL;
}

static const char *keep_text(struct park_batch *batch, const void *bytes, size_t size)
{
    char *at = batch->text + batch->text_size;
    if (size != 0) memcpy(at, bytes, size);
    batch->text_size += size;
    return at;
}

/* false: no memory. */
static bool keep_plan(struct park_batch *batch, struct policy_verdict *under)
{
    struct kept_plan *kept = batch->plans;
    if (kept == NULL || kept->of != under->plan) {
        kept = malloc(sizeof *kept);
        if (kept == NULL) return false;
        *kept = (struct kept_plan){.next = batch->plans, .of = under->plan, .plan = *under->plan};
        kept->shared = engine_limit_share(under->shared);
        batch->plans = kept;
    }
    under->plan = &kept->plan;
    return true;
}

static bool add_line(struct park_batch *batch, struct session *session, int question, char *bytes, size_t size)
{
    if (batch->lines == batch->room) {
        struct line *more = realloc(batch->line, 2 * (size_t)batch->room * sizeof *more);
        if (more == NULL) return false;
        batch->line = more;
        batch->room *= 2;
    }
    batch->line[batch->lines++] = (struct line){session, question, bytes, size};
    if (session != NULL) session->parked++;
    return true;
}

bool park_add(struct turn *turn, const struct item *item)
{
    struct park_batch *batch = turn->parking;
    const unsigned at = batch->added++;
    struct kept *kept = &batch->kept[at];
    weir_engine_ask *ask = &batch->ask[at];
    kept->item = *item;
    if (item->each != NULL) kept->each = *item->each;
    ask->key.bytes = keep_text(batch, ask->key.bytes, ask->key.size);
    kept->item.limit.bytes = keep_text(batch, item->limit.bytes, item->limit.size);
    kept->item.key.bytes = keep_text(batch, item->key.bytes, item->key.size);
    ask->cost = item->each != NULL ? kept->each.cost : &kept->item.cost;
    add_line(batch, item->session, (int)at, NULL, 0); /* there is room for each question */
    return item->named || keep_plan(batch, &kept->item.under);
}

static void add_batch(struct turn *turn, struct park_batch *batch)
{
    struct park_batch **end = &turn->parked;
    while (*end != NULL) end = &(*end)->next;
    *end = batch;
}

void park_keep(struct turn *turn)
{
    turn->parking->policy = turn->policy;
    service_share(turn->service, turn->policy);
    add_batch(turn, turn->parking);
    turn->parking = NULL;
}

struct park_batch *park_alone_open(const struct decide_alone *alone)
{
    struct park_batch *batch = park_batch_open(1);
    if (batch == NULL) return NULL;
    batch->ask[0] = alone->ask;
    batch->text = malloc(alone->ask.key.size + 1);
    batch->line = malloc(sizeof batch->line[0]);
    batch->room = 1;
    if (batch->text == NULL || batch->line == NULL) {
        park_batch_close(NULL, batch);
        return NULL;
    }
    batch->ask[0].key.bytes = keep_text(batch, alone->ask.key.bytes, alone->ask.key.size);
    batch->alone = *alone;
    batch->alone.shared = engine_limit_share(alone->shared);
    return batch;
}

void park_keep_alone(struct turn *turn, struct park_batch *batch, struct session *session)
{
    add_line(batch, session, 0, NULL, 0); /* there is room for it */
    add_batch(turn, batch);
}

bool park_bytes(struct turn *turn, struct session *session, struct slice bytes)
{
    struct park_batch *batch = turn->parking != NULL ? turn->parking : turn->parked;
    while (batch->next != NULL) batch = batch->next;
    char *copy = malloc(bytes.size);
    if (copy == NULL) return false;
    memcpy(copy, bytes.bytes, bytes.size);
    if (add_line(batch, session, -1, copy, bytes.size)) return true;
    free(copy);
    return false;
}

/* ---- answered ---- */

static void answer_question(struct turn *turn, struct park_batch *batch, unsigned at)
{
    struct kept *kept = &batch->kept[at];
    turn->item[0] = kept->item;
    if (kept->item.each != NULL) {
        turn->each[0] = kept->each;
        turn->item[0].each = &turn->each[0];
    }
    decide_answered(turn, &batch->ask[at], 0);
    turn_answer_one(turn, 0);
}

void park_hear(struct turn *turn, struct park_batch *batch, struct session *session)
{
    turn_next_request(turn); /* as with any other request there is room in scratch */
    batch->alone.then(turn, session, &batch->ask[0], &batch->alone.memory);
}

/* Who asks alone goes on asking, also for a session that has gone. */
static void write_line(struct turn *turn, struct park_batch *batch, struct line *line)
{
    struct session *session = line->session;
    const bool alone = batch->alone.then != NULL && line->question >= 0;
    if (alone) park_hear(turn, batch, session);
    if (session == NULL) return;
    if (!alone && line->question >= 0) answer_question(turn, batch, (unsigned)line->question);
    else if (!alone) bytes_add(turn_reply(turn, session, line->size), (struct slice){line->bytes, line->size});
    line->session = NULL;
    if (--session->parked == 0 && turn->resume != NULL) turn->resume(turn->sender, session);
}

static void write_batch(struct turn *turn, struct park_batch *batch)
{
    const uint64_t now_ns = turn->service->now_ns(turn->service->clock);
    for (unsigned i = 0; i < batch->lines; i++) write_line(turn, batch, &batch->line[i]);
    if (batch->alone.then != NULL) return;
    stats_latency(turn->stats, subtract_to_zero(now_ns, batch->begun_ns), batch->count);
}

bool park_is_ready(const struct turn *turn)
{
    return turn->parked != NULL && park_batch_is_answered(turn->parked);
}

void park_answer(struct turn *turn)
{
    turn_settle_queue(turn); /* an answer is made where a question stands */
    if (!park_is_ready(turn)) return;
    turn_flush(turn);
    turn->answering = true;
    while (park_is_ready(turn)) {
        struct park_batch *batch = turn->parked;
        turn->parked = batch->next;
        write_batch(turn, batch);
        park_batch_close(turn, batch);
    }
    turn_flush(turn);
    turn->answering = false;
}

void park_finish(struct turn *turn, weir_engine *handle)
{
    const uint64_t now_ns = turn->service->now_ns(turn->service->clock);
    for (struct park_batch *batch = turn->parked; batch != NULL; batch = batch->next) {
        engine_ask_finish(handle, batch->ask, batch->count, now_ns);
    }
    park_answer(turn);
}

/* ---- gone ---- */

void park_leave(struct turn *turn, struct session *session)
{
    for (struct park_batch *batch = turn->parked; session->parked != 0 && batch != NULL; batch = batch->next) {
        for (unsigned i = 0; i < batch->lines; i++) {
            if (batch->line[i].session != session) continue;
            batch->line[i].session = NULL;
            session->parked--;
        }
    }
}

void park_close(struct turn *turn)
{
    while (turn->parked != NULL) {
        struct park_batch *batch = turn->parked;
        turn->parked = batch->next;
        park_batch_close(turn, batch);
    }
}
