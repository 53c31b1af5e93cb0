/* SPDX-License-Identifier: MIT
   The queues of waiting threads, and what a change of the limit does to the waiters.

   A waiter joins the queue of its thread index, so joining and leaving write nothing that other threads read.  It holds
   the lock of its queue while it calls a home once and joins.  So a setter that closes the homes first and then takes
   the locks has all waiters:

       waiter   lock queue;  call;  has a start: join;  unlock        finds the homes closed: unlock, and again
       setter   close homes;  lock queues: collect;  last to first: out;  change;  first to last: in;  unlock;  open

   Taken out in that order each of them is the last one at that moment, so its permits are given back exactly.  The
   order of their calls is that of their ends, or in a cell a number of its own.  A waiter whose start has come keeps
   it, and is not touched, however late it wakes.

   A waiter before a start that weir_reserve has promised is not the last one.  Then it is settled as any call is: its
   permits stay used where others rely on them, and it gets a start after those. */
#include "api/limiter.h"
#include "core/clock.h"
#include "core/num.h"
#include "share/lock.h"

enum { BINS = 32 };

/* ---- queues ---- */

void queue_lock(struct queue *queue)
{
    lock_take(&queue->lock, host_yield);
}

void queue_unlock(struct queue *queue)
{
    lock_release(&queue->lock);
}

void queue_join(struct queue *queue, struct waiter *waiter)
{
    waiter->before = NULL;
    waiter->after = queue->first;
    if (queue->first != NULL) queue->first->before = waiter;
    queue->first = waiter;
}

void queue_leave(struct queue *queue, struct waiter *waiter)
{
    if (waiter->before != NULL) waiter->before->after = waiter->after;
    else queue->first = waiter->after;
    if (waiter->after != NULL) waiter->after->before = waiter->before;
}

void limiter_forget_waiters(weir_limiter *limiter)
{
    for (int i = 0; i <= HOST_SLOTS; i++) {
        limiter->queue[i].first = NULL;
        queue_unlock(&limiter->queue[i]);
    }
    atom_store(&limiter->naps.count, 0);
}

/* ---- sorting ---- */

static bool is_later(enum home home, const struct waiter *one, const struct waiter *other)
{
    if (home == HOME_CELL) return one->undo.order > other->undo.order;
    return (int64_t)(one->decision.end - other->decision.end) > 0;
}

/* Merges two lists, the last waiter first. */
static struct waiter *merged(enum home home, struct waiter *one, struct waiter *other)
{
    struct waiter *first = NULL, **to = &first;
    while (one != NULL && other != NULL) {
        struct waiter **later = is_later(home, one, other) ? &one : &other;
        *to = *later;
        to = &(*later)->next;
        *later = (*later)->next;
    }
    *to = one != NULL ? one : other;
    return first;
}

/* Each bin has a sorted list twice as long as the bin before, or none. */
static void sort_in(enum home home, struct waiter *bins[BINS], struct waiter *waiter)
{
    int bin = 0;
    waiter->next = NULL;
    for (; bin < BINS - 1 && bins[bin] != NULL; bin++) {
        waiter = merged(home, bins[bin], waiter);
        bins[bin] = NULL;
    }
    bins[bin] = merged(home, bins[bin], waiter);
}

/* True for a waiter whose start is to come.  One that has its start from an earlier limit than the last has started. */
static bool waits_for_start(const weir_limiter *limiter, const struct waiter *waiter, uint64_t now_ns)
{
    const weir_decision *decision = &waiter->decision;
    return decision->verdict == WEIR_ALLOW && decision->start.ns > now_ns &&
           (uint32_t)decision->reserved == limiter->generation;
}

void queue_lock_all(weir_limiter *limiter)
{
    for (int i = 0; i <= HOST_SLOTS; i++) {
        struct queue *queue = &limiter->queue[i];
        queue_lock(queue);
        if (queue->first == NULL) queue_unlock(queue); /* no waiter joins before a home is open */
    }
}

struct waiter *queue_collect(weir_limiter *limiter, enum home home, uint64_t now_ns)
{
    struct waiter *bins[BINS] = {NULL}, *last = NULL;
    for (int i = 0; i <= HOST_SLOTS; i++) {
        for (struct waiter *waiter = limiter->queue[i].first; waiter != NULL; waiter = waiter->after) {
            if (waits_for_start(limiter, waiter, now_ns)) sort_in(home, bins, waiter);
        }
    }
    for (int bin = 0; bin < BINS; bin++) last = merged(home, bins[bin], last);
    return last;
}

/* To be called before a home is open: a queue that was empty is not locked, and must be empty still. */
void queue_unlock_all(weir_limiter *limiter)
{
    for (int i = 0; i <= HOST_SLOTS; i++) {
        if (limiter->queue[i].first != NULL) queue_unlock(&limiter->queue[i]);
    }
}

/* ---- taking waiters out ---- */

static uint64_t *ends_of(struct waiter *waiter)
{
    return waiter->ends != NULL ? waiter->ends : waiter->end;
}

/* What it costs, by each limit. */
static const uint64_t *costs_of(const struct waiter *waiter, uint64_t same[WEIR_LIMITS_MAX])
{
    cost_alike(same, WEIR_LIMITS_MAX, waiter->cost);
    return waiter->each != NULL ? waiter->each : same;
}

static void take_out(struct home_held *held, struct waiter *waiter, uint64_t now_ns)
{
    const struct rules rules = {held->content.rule, held->content.count};
    const weir_decision *decision = &waiter->decision;
    uint64_t same[WEIR_LIMITS_MAX];
    const uint64_t *cost = costs_of(waiter, same);
    if (held->home == HOME_LOG) log_take_out(&held->log, decision, cost[0]);
    else undo_call(rules, held->content.state, now_ns, decision, cost, ends_of(waiter), &waiter->undo);
}

struct waiter *queue_take_out(struct home_held *held, struct waiter *last, uint64_t now_ns)
{
    struct waiter *first = NULL;
    while (last != NULL) {
        struct waiter *waiter = last;
        last = waiter->next;
        take_out(held, waiter, now_ns);
        waiter->next = first;
        first = waiter;
    }
    return first;
}

/* ---- letting waiters in ---- */

/* As many of these permits as can ever pass at once. */
static uint64_t largest(const struct rule *rule, uint64_t permits)
{
    uint64_t may = 0, may_not = permits;
    if (algorithm_may_pass(rule, permits)) return permits;
    while (may_not - may > 1) {
        const uint64_t middle = may + (may_not - may) / 2;
        if (algorithm_may_pass(rule, middle)) may = middle;
        else may_not = middle;
    }
    return may;
}

/* A call that is too large for this limit waits as long as the largest possible one: with that many permits in each of
   its limits. */
static bool as_largest(struct rules rules, struct ask *ask, const uint64_t cost[], uint64_t *each)
{
    bool all = true; /* have some that may pass */
    for (int i = 0; i < rules.count; i++) {
        each[i] = largest(&rules.rule[i], cost[i]);
        all = all && (each[i] != 0 || cost[i] == 0);
    }
    ask->each = each;
    return all;
}

/* And the rest of its cost is charged. */
static void charge_the_rest(struct home_held *held, struct ask *ask, const uint64_t wanted[], weir_decision *decision)
{
    const struct rules rules = {held->content.rule, held->content.count};
    uint64_t *state = held->content.state;
    bool alike = true;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const uint64_t start = tick_at(rule, decision->start.ns), cost = ticks_of(rule, wanted[i]);
        uint64_t more = subtract_to_zero(cost, ticks_of(rule, ask->each[i]));
        ask->end[i] = algorithm_charge(rule, state, start, &more).end;
        alike = alike && wanted[i] == wanted[0];
        state += state_words(rule, algorithm_of(rule));
    }
    undo_end(rules, held->content.state, ask->undo);
    decision->end = ask->end[decision->limit];
    decision->charged = wanted[0];
    if (alike) decision->reserved &= ~DECISION_EACH;
    else decision->reserved |= DECISION_EACH;
}

/* If nothing can be taken ahead, it is taken as of the time when it can be.  Beside leases the waiter calls again, and
   where it waits for slots, too: then it has its place among those who do. */
static void let_in(weir_limiter *limiter, struct home_held *held, struct waiter *waiter, uint64_t now_ns)
{
    weir_decision *decision = &waiter->decision;
    uint64_t same[WEIR_LIMITS_MAX], each[WEIR_LIMITS_MAX];
    const uint64_t *cost = costs_of(waiter, same);
    struct ask ask = {.now_ns = now_ns,
                      .wait_max_ns = WEIR_FOREVER,
                      .cost = waiter->cost,
                      .each = waiter->each,
                      .end = ends_of(waiter),
                      .undo = &waiter->undo,
                      .again = waiter->again,
                      .uncounted = true};
    if (held->home == HOME_LOG) {
        bool in = log_let_in(&held->log, now_ns, cost[0], decision);
        while (!in && home_widen(limiter, held, now_ns)) in = log_let_in(&held->log, now_ns, cost[0], decision);
        if (!in) decision->verdict = 0;
        return;
    }
    struct cell_content *content = &held->content;
    const struct rules rules = {content->rule, content->count};
    const bool slots = decide_holder(rules) >= 0;
    cell_ask(content, held->out, &ask, decision);
    const bool large = decision->verdict == WEIR_NEVER && !slots && as_largest(rules, &ask, cost, each);
    if (large) cell_ask(content, held->out, &ask, decision);
    if (decision->verdict == WEIR_DENY && decision->retry_ns != WEIR_FOREVER && held->out == 0 && !slots) {
        ask.now_ns = add_saturating(now_ns, decision->retry_ns);
        cell_ask(content, 0, &ask, decision);
        decision->delay_ns = subtract_to_zero(decision->start.ns, now_ns);
    }
    if (decision->verdict != WEIR_ALLOW) decision->verdict = 0;
    else if (large) charge_the_rest(held, &ask, cost, decision);
    waiter->queues = slots && decision->verdict == 0;
    if (waiter->queues) turns_join(&limiter->turns, waiter->turn);
}

void queue_let_in(weir_limiter *limiter, struct home_held *held, struct waiter *first, uint64_t now_ns)
{
    for (struct waiter *waiter = first; waiter != NULL; waiter = waiter->next) let_in(limiter, held, waiter, now_ns);
}
