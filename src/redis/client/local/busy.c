/* SPDX-License-Identifier: MIT
   Keys that are asked for often: answered here where that can be, and what is written for that.

       TAKE ---> by a lease, by a refusal that is still good (leases.c) ---> answered
         |                                          ^
         |  LEASE, little is left ---> its server ----+   nobody waits for it: until it is read, what is left is spent
         +-------------------------> its server           RETURN: of keys that went quiet, and of all at the end

   A lease does not end with the connection: it is the engine's promise until its time is over, and the bound counts on
   no more.  What is on its way when a link breaks is lost, as if never granted.

   Nothing waits but a close, for a deadline at most; without leases in the options nothing here is done. */
#include <stdlib.h>

#include "core/num.h"
#include "host/clock.h"
#include "redis/client/engine.h"
#include "redis/client/local/leases.h"
#include "redis/client/local/owed.h"

enum {
    QUESTIONS = 64, /* leases on their way at once */
    LIMITS = 64,    /* that leases are of at once */
    LOOKS = 256,    /* for quiet keys, in a lifetime */
    RETURNS_AT_ONCE = 16,
    NS_PER_US = 1000
};

struct question {
    struct engine_lease_command command;
    bool is_used;
};

struct busy {
    struct engine_leases *leases;
    struct engine_leases_counts told; /* to the pool */
    struct limit_text *limit[LIMITS]; /* shared; NULL: free */
    unsigned limit_next;
    uint64_t look_at_ns;
    unsigned returning; /* on their way */
    struct question question[QUESTIONS];
};

bool busy_open(struct weir_engine *engine)
{
    const uint64_t lifetime_ns = engine->pool->options.lease_ns;
    if (lifetime_ns == 0) return true;
    engine->busy = calloc(1, sizeof *engine->busy);
    if (engine->busy == NULL) return false;
    engine->busy->leases = engine_leases_open(lifetime_ns);
    return engine->busy->leases != NULL;
}

static void tell_counts(struct weir_engine *engine, struct busy *busy)
{
    const struct engine_leases_counts now = engine_leases_counts(busy->leases);
    pool_count(&engine->pool->counts.leased, now.leased - busy->told.leased);
    pool_count(&engine->pool->counts.lease_unused, now.unused - busy->told.unused);
    busy->told = now;
}

/* ---- the limits that leases are of ---- */

static struct limit_text *limit_of(const struct busy *busy, uint64_t number)
{
    for (unsigned i = 0; i < LIMITS; i++) {
        if (busy->limit[i] != NULL && busy->limit[i]->number == number) return busy->limit[i];
    }
    return NULL;
}

/* In the place of one that no lease is of any more; false: the one that was looked at still has some. */
static bool keep_limit(struct busy *busy, struct limit_text *limit)
{
    if (limit_of(busy, limit->number) != NULL) return true;
    struct limit_text **const place = &busy->limit[busy->limit_next++ % LIMITS];
    if (*place != NULL && engine_leases_has(busy->leases, (*place)->number)) return false;
    limit_text_release(*place);
    *place = limit_text_share(limit);
    return true;
}

/* ---- written ---- */

static bool send(struct weir_engine *engine, const struct engine_lease_command *lease, uint64_t now_ns,
                 link_answer *answer, void *context)
{
    bool away = false;
    const struct limit_text *const limit = limit_of(engine->busy, lease->limit);
    if (limit == NULL || !wire_keys(&engine->keys, engine->pool->prefix, lease->key, 1)) return false;
    const unsigned server = pool_owner(engine->pool, slots_of(engine->keys.memory, engine->keys.size[0]));
    struct link *const link = server != NOWHERE ? engine_ready_link(engine, server, now_ns, &away) : NULL;
    if (link == NULL) return false;
    struct command *const command = &engine->command;
    wire_lease(command, lease, limit, &engine->keys, link->way);
    return engine_send(engine, link, command->count, command->word, command->size, answer, context);
}

static void on_lease(struct link *link, void *context, const redisReply *reply)
{
    struct weir_engine *const engine = link->owner;
    struct question *const question = context;
    uint64_t id = 0, permits = 0;
    question->is_used = false;
    if (wire_leased(reply, question->command.want, &id, &permits)) {
        engine_leases_granted(engine->busy->leases, &question->command, id, permits);
        tell_counts(engine, engine->busy);
    } else {
        engine_leases_lost(engine->busy->leases, &question->command);
    }
}

static void on_return(struct link *link, void *context, const redisReply *reply)
{
    struct busy *const busy = context;
    (void)link;
    (void)reply;
    busy->returning--;
}

static struct question *free_question(struct busy *busy)
{
    for (unsigned i = 0; i < QUESTIONS; i++) {
        if (!busy->question[i].is_used) return &busy->question[i];
    }
    return NULL;
}

static void ask_for_lease(struct weir_engine *engine, const weir_engine_ask *ask, uint64_t now_ns)
{
    struct busy *const busy = engine->busy;
    struct question *const question = free_question(busy);
    const struct limit_text *const limit = ask->limit->text;
    if (question == NULL || !engine_leases_want(busy->leases, limit->number, ask->key, now_ns, &question->command)) {
        return;
    }
    tell_counts(engine, busy);
    question->is_used =
        keep_limit(busy, ask->limit->text) && send(engine, &question->command, now_ns, on_lease, question);
    if (!question->is_used) engine_leases_lost(busy->leases, &question->command);
}

static void give_back(struct weir_engine *engine, uint64_t now_ns, bool all, unsigned most_of_them)
{
    struct busy *const busy = engine->busy;
    struct engine_lease_command command;
    for (unsigned i = 0; i < most_of_them && engine_leases_return(busy->leases, now_ns, all, &command); i++) {
        busy->returning += send(engine, &command, now_ns, on_return, busy);
    }
    tell_counts(engine, busy);
}

void busy_return(struct weir_engine *engine, uint64_t now_ns)
{
    struct busy *const busy = engine->busy;
    if (busy == NULL || now_ns < busy->look_at_ns) return;
    busy->look_at_ns = now_ns + engine->pool->options.lease_ns / LOOKS;
    give_back(engine, now_ns, false, RETURNS_AT_ONCE);
}

/* ---- asked ---- */

/* Of a lease: at least so long, for what of it was spent. */
static uint64_t full_of(const struct weir_engine_limit *limit, const struct engine_leases_answer *answer)
{
    if (answer->decision.verdict != WEIR_ALLOW) return answer->full_ns;
    const uint64_t ticks = multiply_divide_floor(answer->spent, limit->permit, 1);
    return multiply_divide_ceil(ticks, NS_PER_US, limit->per);
}

static bool changes(weir_verb verb)
{
    return verb == WEIR_ASK_SETTLE || verb == WEIR_ASK_CHARGE || verb == WEIR_ASK_FORGET;
}

bool busy_answer(struct weir_engine *engine, weir_engine_ask *ask)
{
    struct engine_leases_answer answer;
    const struct weir_engine_limit *const limit = ask->limit;
    if (engine->busy == NULL || !limit->remembers) return false;
    struct engine_leases *const leases = engine->busy->leases;
    if (changes(ask->verb)) engine_leases_forget(leases, limit->text->number, ask->key);
    if (ask->verb != WEIR_ASK_TAKE || wire_cost(ask, 0) == 0) return false;
    const uint64_t now_ns = engine->now_ns;
    const bool answered =
        engine_leases_answer(leases, limit->text->number, ask->key, now_ns, wire_cost(ask, 0), &answer);
    const bool refused = answered && answer.decision.verdict != WEIR_ALLOW;
    if (limit->leases && !refused && !owed_by(engine->pool, ask)) ask_for_lease(engine, ask, now_ns);
    if (!answered) return false;
    ask->decision = answer.decision;
    ask->full_ns = full_of(limit, &answer);
    ask->from = WEIR_FROM_LEASE;
    return true;
}

static void take_heard(struct weir_engine *engine, const weir_engine_ask *ask, uint64_t sent_ns)
{
    struct engine_leases *const leases = engine->busy->leases;
    const weir_decision *const decision = &ask->decision;
    const uint64_t number = ask->limit->text->number;
    const struct engine_refused refused = {.sent_ns = sent_ns,
                                           .cost = wire_cost(ask, 0),
                                           .retry_ns = decision->retry_ns,
                                           .interval_ns = ask->limit->interval_ns,
                                           .burst = ask->limit->burst,
                                           .askers = nodes_asking(engine->pool, engine->now_ns)};
    if (decision->verdict == WEIR_DENY) {
        engine_leases_refused(leases, number, ask->key, &refused, decision->remaining, ask->full_ns);
    } else if (decision->verdict == WEIR_ALLOW) {
        engine_leases_allowed(leases, number, ask->key, sent_ns, wire_cost(ask, 0), decision->remaining);
    } else {
        engine_leases_unanswered(leases, number, ask->key, wire_cost(ask, 0));
    }
}

void busy_heard(struct weir_engine *engine, const weir_engine_ask *ask, uint64_t sent_ns)
{
    if (engine->busy == NULL || !ask->limit->remembers) return;
    const uint64_t number = ask->limit->text->number;
    if (changes(ask->verb)) engine_leases_forget(engine->busy->leases, number, ask->key);
    else if (ask->verb == WEIR_ASK_TAKE) take_heard(engine, ask, sent_ns);
}

void busy_unanswered(struct weir_engine *engine, const weir_engine_ask *ask)
{
    if (engine->busy == NULL || !ask->limit->remembers || ask->verb != WEIR_ASK_TAKE) return;
    engine_leases_unanswered(engine->busy->leases, ask->limit->text->number, ask->key, wire_cost(ask, 0));
}

/* ---- the end ---- */

static void release(struct busy *busy)
{
    for (unsigned i = 0; i < LIMITS; i++) limit_text_release(busy->limit[i]);
    engine_leases_close(busy->leases);
    free(busy);
}

void busy_after_fork(struct weir_engine *engine)
{
    if (engine->busy != NULL) release(engine->busy);
    engine->busy = NULL;
    if (busy_open(engine) || engine->busy == NULL) return;
    release(engine->busy); /* no memory: without leases from now on */
    engine->busy = NULL;
}

/* Not longer than any call may take. */
static void wait_for_returns(struct weir_engine *engine, uint64_t now_ns)
{
    const uint64_t deadline_ns = add_saturating(now_ns, engine->pool->options.deadline_ns);
    while (engine->busy->returning > 0 && now_ns < deadline_ns) {
        engine_wait(engine, deadline_ns - now_ns);
        now_ns = host_now_ns();
        engine_process_all(engine, now_ns);
    }
}

void busy_close(struct weir_engine *engine)
{
    if (engine->busy == NULL) return;
    if (engine->busy->leases != NULL && engine->forks == host_forks()) {
        const uint64_t now_ns = engine->now_ns = host_now_ns();
        give_back(engine, now_ns, true, 2 * LEASES_KEYS); /* of two epochs at most */
        engine_flush(engine);
        wait_for_returns(engine, now_ns);
    }
    engine_drop_links(engine); /* what is on its way still names it */
    release(engine->busy);
    engine->busy = NULL;
}
