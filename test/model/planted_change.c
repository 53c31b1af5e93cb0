/* SPDX-License-Identifier: MIT
   Mistakes that one could make when a limit changes, kept so that the model checker has to find them. */
#include "planted_change.h"

#include "api/limiter.h"
#include "core/clock.h"
#include "model.h"

static struct waiter *reversed(struct waiter *queue)
{
    struct waiter *turned = NULL;
    while (queue != NULL) {
        struct waiter *next = queue->next;
        queue->next = turned;
        turned = queue;
        queue = next;
    }
    return turned;
}

static uint64_t ticks_waiting(const struct home_held *held, const struct waiter *queue)
{
    uint64_t ticks = 0;
    for (; queue != NULL; queue = queue->next) ticks += ticks_of(held->content.rule, queue->cost);
    return ticks;
}

/* In the order in which they were told their starts. */
static void check_starts(const struct waiter *first)
{
    for (; first != NULL && first->next != NULL; first = first->next) {
        model_check(first->decision.start.ns < first->next->decision.start.ns, "a later one starts first");
    }
}

void planted_set_limit(weir_limiter *limiter, const char *limits, enum change_mistake mistake)
{
    weir_plan plan;
    struct home_held held;
    model_check(weir_plan_parse(&plan, limits, WEIR_PACE, NULL) == 0, "the limit is not read");
    struct rule rule = plan_inside_const(&plan)->rule[0];
    const struct home_room room = home_make_room(limiter, plan_inside_const(&plan), 0);
    home_close(limiter, &held);
    queue_lock_all(limiter);
    const uint64_t now_ns = limiter_now_ns(limiter);
    struct waiter *last = queue_collect(limiter, held.home, now_ns);
    rule.generation = limiter->generation + 1;
    rule.anchor_ns = now_ns;
    const uint64_t before = held.value, waiting = ticks_waiting(&held, last);
    if (mistake == CHANGE_OUT_FORWARD) last = reversed(last);
    struct waiter *first = queue_take_out(&held, last, now_ns);
    model_check(held.value == before - waiting, "not all is given back");
    home_carry(limiter, &held, &rule, 1, &room, now_ns, now_ns, WEIR_SCALE);
    limiter->generation++;
    if (mistake == CHANGE_OPENED_EARLY) home_open(limiter, &held);
    if (mistake == CHANGE_IN_BACKWARD) first = reversed(first);
    queue_let_in(limiter, &held, first, now_ns);
    check_starts(mistake == CHANGE_IN_BACKWARD ? reversed(first) : first);
    queue_unlock_all(limiter);
    if (mistake != CHANGE_OPENED_EARLY) home_open(limiter, &held);
    host_event_signal(&limiter->event);
}

weir_decision planted_take_wait(weir_limiter *limiter)
{
    struct waiter waiter = {.cost = 1};
    struct queue *queue = &limiter->queue[host_slot()];
    const struct ask ask = {.now_ns = limiter_now_ns(limiter),
                            .wait_max_ns = WEIR_FOREVER,
                            .cost = 1,
                            .end = waiter.end,
                            .undo = &waiter.undo};
    limiter_ask(limiter, &ask, &waiter.decision);
    if (waiter.decision.delay_ns == 0) return waiter.decision;
    queue_lock(queue);
    queue_join(queue, &waiter);
    queue_unlock(queue);
    for (bool over = false; !over;) {
        const uint32_t seen = host_event_seen(&limiter->event);
        queue_lock(queue);
        const uint64_t start_ns = waiter.decision.start.ns;
        over = host_now_ns() >= start_ns;
        if (over) queue_leave(queue, &waiter);
        queue_unlock(queue);
        if (!over) host_event_wait(&limiter->event, seen, start_ns);
    }
    return waiter.decision;
}
