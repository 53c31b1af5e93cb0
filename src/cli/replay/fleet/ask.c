/* SPDX-License-Identifier: MIT
   Nodes that ask one engine, and may take permits along: both sides of the wire, in the log's time.

       node     ask --------.                 .-------> answer            every question takes as long as every other,
       engine                `---> handled --'                            so what is on its way stands in a queue
                |-- rtt / 2 --|--- rtt / 2 ---|

       queue    | answered | handled | handled | sent | sent |            what comes next is at one of the two
                             ^answered           ^handled

   The engine's side is src/redis/micro, as in the module; a node's is src/redis/client/local/lease.c, as in the client.
   What a node asks for a key that is not busy, and what it does while the engine is down, are as in the client, too.

   Things happen in order of time; a verdict counts at the time at which it was decided: by the engine when it handles
   the question, by a lease when the permit is spent. */
#include <stdlib.h>
#include <string.h>

#include "cli/replay/fleet/fleet.h"
#include "core/num.h"
#include "redis/client/local/lease.h"
#include "redis/client/local/leases.h"
#include "redis/client/local/refusal.h"
#include "redis/micro/micro.h"

enum { QUEUE_AT_FIRST = 1 << 8, US_NS = 1000 };
enum {
    WINDOW_NS = 200000000,
    BUSY = LEASES_BUSY_PER_S / 5,
    REFUSED = LEASES_REFUSED_PER_S / 5,
    QUIET = 4
};                                                                  /* as in leases.c: asks in a window of these,
                                                                           and a part of a lifetime without any */
enum { VALUE_MAX = MICRO_HEAD + MICRO_CELL + 8 * MICRO_WORDS_MAX }; /* of one limit */

/* A client's key in the engine. */
struct value {
    size_t size; /* 0: there is none */
    unsigned char bytes[VALUE_MAX];
};

/* A client at a node. */
struct holder {
    struct engine_lease lease;
    uint64_t window, asks, before, asked_ns; /* of the node; asks in this window, and in the one before */
    struct engine_refusal refusal;
    uint32_t client;
};

struct question {
    struct fleet_request request; /* of a take */
    struct holder *holder;        /* who asked; NULL: nobody with leases */
    struct engine_lease_return back;
    bool remembers;             /* a refusal, since it is asked for often enough */
    bool of_lease;              /* a lease, a return, or both; else a take */
    uint64_t want, id, permits; /* the last two are the answer, as is this: */
    uint64_t retry_us, remaining;
    uint32_t verdict; /* of a take */
};

struct fleet_asking {
    uint64_t rtt_us, life_ns, lease; /* lease: permits at most, 0 for none */
    uint64_t nodes;
    struct micro_plan plan;
    struct fleet_local away; /* who decides while the engine is down */
    struct pairs values, holders;
    uint32_t looked; /* at so many holders, for leases that nobody spends */
    struct question *queue;
    uint64_t size, sent, handled, answered; /* counted from the first on; size is a power of two */
    struct fleet_tally *tally;
};

/* ---- opening ---- */

static int plan_make(struct micro_plan *micro, const weir_plan *plan, bool leases, weir_error *error)
{
    const int code = micro_plan_make(micro, plan, error);
    if (code != 0 || !leases || micro_leases(micro)) return code;
    *error = (weir_error){
        .code = WEIR_EUNSUPPORTED,
        .message =
            "an engine leases an eighth of what is left, and never a single permit: expected a burst of 16 or more"};
    return error->code;
}

struct fleet_asking *fleet_ask_open(const struct fleet_options *options, uint64_t lease, const weir_plan *plan,
                                    const weir_plan *share, struct fleet_tally *tally, weir_error *error)
{
    struct micro_plan micro;
    if (plan_make(&micro, plan, lease != 0, error) != 0) return NULL;
    struct fleet_asking *asking = calloc(1, sizeof *asking);
    struct question *queue = malloc(QUEUE_AT_FIRST * sizeof *queue);
    if (asking == NULL || queue == NULL) {
        free(asking);
        free(queue);
        *error = (weir_error){.code = WEIR_ENOMEM, .message = "no memory"};
        return NULL;
    }
    *asking = (struct fleet_asking){.rtt_us = options->rtt_ns / US_NS,
                                    .life_ns = options->lease_life_ns,
                                    .lease = lease,
                                    .nodes = options->nodes,
                                    .plan = micro,
                                    .queue = queue,
                                    .size = QUEUE_AT_FIRST,
                                    .tally = tally};
    local_open(&asking->away, share);
    pairs_open(&asking->values, sizeof(struct value));
    pairs_open(&asking->holders, sizeof(struct holder));
    return asking;
}

void fleet_ask_close(struct fleet_asking *asking)
{
    if (asking == NULL) return;
    local_close(&asking->away);
    pairs_close(&asking->values);
    pairs_close(&asking->holders);
    free(asking->queue);
    free(asking);
}

/* ---- the queue ---- */

static struct question *question_at(const struct fleet_asking *asking, uint64_t number)
{
    return &asking->queue[number & (asking->size - 1)];
}

static bool grow(struct fleet_asking *asking)
{
    struct question *larger = malloc(2 * asking->size * sizeof *larger);
    if (larger == NULL) return false;
    for (uint64_t i = asking->answered; i < asking->sent; i++) {
        larger[i & (2 * asking->size - 1)] = *question_at(asking, i);
    }
    free(asking->queue);
    asking->queue = larger;
    asking->size *= 2;
    return true;
}

static bool ask(struct fleet_asking *asking, const struct question *question)
{
    if (asking->sent - asking->answered == asking->size && !grow(asking)) return false;
    *question_at(asking, asking->sent++) = *question;
    return true;
}

/* ---- the engine ---- */

static bool answer_take(struct fleet_asking *asking, struct question *asked, struct micro_state *state, uint64_t now_us,
                        bool *changed)
{
    const struct fleet_request *request = &asked->request;
    struct micro_answer answer;
    struct micro_ask question = {.now = now_us};
    question.cost[0] = request->cost;
    micro_take(&asking->plan, state, NULL, &question, &answer);
    *changed = answer.changed;
    asked->verdict = (uint32_t)answer.verdict;
    asked->retry_us = answer.retry;
    asked->remaining = answer.remaining;
    const struct fleet_verdict verdict = {.time_us = now_us,
                                          .cost = request->cost,
                                          .client = request->client,
                                          .node = request->node,
                                          .allowed = answer.verdict == WEIR_ALLOW,
                                          .exact = request->exact,
                                          .waited = asking->rtt_us != 0};
    return tally_verdict(asking->tally, &verdict);
}

/* A return, a lease, or both in this order. */
static void answer_lease(const struct fleet_asking *asking, struct question *question, struct micro_state *state,
                         uint64_t now_us, bool *changed)
{
    struct micro_lease lease = {0};
    const struct engine_lease_return *back = &question->back;
    if (back->permits != 0) {
        micro_lease_return(&asking->plan, state, now_us, back->id, back->permits, back->unused, &lease);
        *changed = lease.changed;
    }
    if (question->want == 0) return;
    micro_lease_take(&asking->plan, state, now_us, question->want, asking->life_ns / US_NS, &lease);
    *changed = *changed || lease.changed;
    question->id = lease.id;
    question->permits = lease.permits;
}

static bool handle(struct fleet_asking *asking, struct question *question)
{
    struct micro_state state = {0};
    bool changed = false, enough = true;
    const uint64_t now_us = question->request.time_us + asking->rtt_us / 2;
    struct value *value = pairs_at(&asking->values, question->request.client, 0);
    if (value == NULL) return false;
    if (value->size != 0) micro_read(&state, value->bytes, value->size);
    tally_call(asking->tally, now_us);
    if (question->of_lease) answer_lease(asking, question, &state, now_us, &changed);
    else enough = answer_take(asking, question, &state, now_us, &changed);
    if (!changed) return enough;
    unsigned char bytes[MICRO_BYTES_MAX];
    value->size = micro_write(&state, bytes);
    memcpy(value->bytes, bytes, value->size);
    return enough;
}

static void receive_verdict(const struct fleet_asking *asking, const struct question *question)
{
    const struct micro_rule *rule = &asking->plan.rule[0];
    const uint64_t sent_ns = question->request.time_us * US_NS, cost = question->request.cost;
    const struct engine_refused refused = {.sent_ns = sent_ns,
                                           .cost = cost,
                                           .retry_ns = question->retry_us * US_NS,
                                           .interval_ns = multiply_divide_floor(rule->permit, US_NS, rule->per),
                                           .burst = rule->burst,
                                           .askers = asking->nodes};
    struct engine_refusal *refusal = &question->holder->refusal;
    const bool remembered = question->verdict == WEIR_DENY && (question->remembers || refusal->empty_ns != 0);
    if (question->verdict != WEIR_NEVER) engine_lease_heard(&question->holder->lease, question->remaining);
    if (question->verdict == WEIR_ALLOW) engine_refusal_allowed(refusal, sent_ns, cost, question->remaining);
    else if (remembered) engine_refusal_refused(refusal, &refused);
    else engine_refusal_lost(refusal, cost);
}

static void receive(const struct fleet_asking *asking, const struct question *question)
{
    if (question->holder != NULL && !question->of_lease) receive_verdict(asking, question);
    if (question->want == 0) return;
    engine_lease_granted(&question->holder->lease, asking->life_ns, question->id, question->permits);
}

/* All that happens up to this time. */
static bool run_until(struct fleet_asking *asking, uint64_t time_us)
{
    for (;;) {
        const bool arrives = asking->handled < asking->sent, returns = asking->answered < asking->handled;
        const uint64_t handled_us =
            arrives ? question_at(asking, asking->handled)->request.time_us + asking->rtt_us / 2 : UINT64_MAX;
        const uint64_t answered_us =
            returns ? question_at(asking, asking->answered)->request.time_us + asking->rtt_us : UINT64_MAX;
        if (least(handled_us, answered_us) > time_us || (!arrives && !returns)) return true;
        if (answered_us <= handled_us) receive(asking, question_at(asking, asking->answered++));
        else if (!handle(asking, question_at(asking, asking->handled++))) return false;
    }
}

bool fleet_ask_finish(struct fleet_asking *asking)
{
    return run_until(asking, UINT64_MAX);
}

/* ---- a node ---- */

static bool ask_lease(struct fleet_asking *asking, struct holder *holder, uint64_t time_us)
{
    const uint64_t now_ns = time_us * US_NS;
    struct question question = {
        .request = {.time_us = time_us, .client = holder->client}, .holder = holder, .of_lease = true};
    question.want = least(engine_lease_next(&holder->lease, asking->life_ns, now_ns), asking->lease);
    question.back = engine_lease_ask(&holder->lease, asking->life_ns, now_ns, question.want);
    return ask(asking, &question);
}

/* Verdicts that nobody was asked for. */
static bool decided(struct fleet_asking *asking, const struct fleet_request *request, bool allowed)
{
    const struct fleet_verdict verdict = {.time_us = request->time_us,
                                          .cost = request->cost,
                                          .client = request->client,
                                          .node = request->node,
                                          .allowed = allowed,
                                          .exact = request->exact};
    return tally_verdict(asking->tally, &verdict);
}

static void count(struct holder *holder, uint64_t now_ns)
{
    const uint64_t window = now_ns / WINDOW_NS;
    if (window != holder->window) {
        holder->before = holder->window + 1 == window ? holder->asks : 0;
        holder->window = window;
        holder->asks = 0;
    }
    holder->asked_ns = now_ns;
    holder->asks++;
}

/* So often in a window, this one or the one before? */
static bool is_asked(const struct holder *holder, uint64_t asks)
{
    return most(holder->before, holder->asks) >= asks;
}

/* By the engine, or by the node's share while it is down. */
static bool take_elsewhere(struct fleet_asking *asking, const struct fleet_request *request, struct holder *holder,
                           bool away)
{
    bool allowed;
    const bool remembers = holder != NULL && is_asked(holder, REFUSED);
    const struct question question = {.request = *request, .holder = holder, .remembers = remembers};
    if (!away) return ask(asking, &question);
    return local_take(&asking->away, request->client, request->node, request->time_us, request->cost, &allowed) &&
           decided(asking, request, allowed);
}

/* A look at one holder after the other: leases that nobody spends any more go back. */
static bool return_one(struct fleet_asking *asking, uint64_t time_us)
{
    const uint64_t now_ns = time_us * US_NS;
    if (asking->looked >= asking->holders.count) asking->looked = 0;
    if (asking->holders.count == 0) return true;
    struct holder *holder = rows_at(&asking->holders.rows, asking->looked++);
    if (!engine_lease_holds(&holder->lease) || now_ns - holder->asked_ns <= asking->life_ns / QUIET) return true;
    struct question question = {
        .request = {.time_us = time_us, .client = holder->client}, .holder = holder, .of_lease = true};
    question.back = engine_lease_end(&holder->lease, asking->life_ns, now_ns);
    return question.back.permits == 0 || ask(asking, &question);
}

static bool take_at_node(struct fleet_asking *asking, const struct fleet_request *request, bool away)
{
    const uint64_t now_ns = request->time_us * US_NS;
    struct holder *holder = pairs_at(&asking->holders, request->client, request->node);
    if (holder == NULL || (!away && !return_one(asking, request->time_us))) return false;
    holder->client = request->client;
    count(holder, now_ns);
    const bool spent = engine_lease_spend(&holder->lease, now_ns, request->cost);
    if (!spent && engine_refusal_wait(&holder->refusal, now_ns, request->cost) != 0) {
        return decided(asking, request, false);
    }
    if (!spent && !away) engine_refusal_asked(&holder->refusal, now_ns, request->cost);
    if (is_asked(holder, BUSY) && !away && engine_lease_due(&holder->lease, now_ns) &&
        !ask_lease(asking, holder, request->time_us)) {
        return false;
    }
    return spent ? decided(asking, request, true) : take_elsewhere(asking, request, holder, away);
}

bool fleet_ask_take(struct fleet_asking *asking, const struct fleet_request *request, bool away)
{
    if (!run_until(asking, request->time_us)) return false;
    if (request->cost == 0) return decided(asking, request, true);
    if (asking->lease == 0) return take_elsewhere(asking, request, NULL, away);
    return take_at_node(asking, request, away);
}
