/* SPDX-License-Identifier: MIT
   wait.c - the line of those who have taken permits and sleep until their start.

   May touch: the limiter, host.  Promises: nobody returns before his start; a change and a stop reach everybody.
   Leaves to others: moving the starts (change.c). */
#include "api/limiter.h"
#include "core/num.h"

static void join_line(weir_limiter *limiter, struct waiter *waiter)
{
    waiter->before = limiter->last;
    waiter->after = NULL;
    if (limiter->last != NULL) limiter->last->after = waiter;
    else limiter->first = waiter;
    limiter->last = waiter;
}

static void leave_line(weir_limiter *limiter, struct waiter *waiter)
{
    if (waiter->before != NULL) waiter->before->after = waiter->after;
    else limiter->first = waiter->after;
    if (waiter->after != NULL) waiter->after->before = waiter->before;
    else limiter->last = waiter->before;
}

/* Sleeps towards a start; returns early when something happened, and otherwise not before it. */
static void sleep_towards(weir_limiter *limiter, uint32_t seen, uint64_t start_ns)
{
    if (limiter->clock == WEIR_CLOCK_MANUAL) {
        host_event_wait(&limiter->event, seen, HOST_NO_DEADLINE);
        return;
    }
    const uint64_t now_ns = host_now_ns();
    const uint64_t deadline_ns = most(start_ns, add_saturating(now_ns, limiter->grain_ns));
    const uint64_t awake_ns = subtract_to_zero(deadline_ns, limiter->spin_ns);
    if (now_ns < awake_ns) host_event_wait(&limiter->event, seen, awake_ns);
    while (host_event_seen(&limiter->event) == seen && host_now_ns() >= awake_ns && host_now_ns() < deadline_ns) {
        atom_pause();
    }
}

static bool due(const weir_limiter *limiter, uint64_t start_ns)
{
    const bool manual = limiter->clock == WEIR_CLOCK_MANUAL;
    return (manual ? limiter_now_ns(limiter) : host_now_ns()) >= start_ns;
}

static void wait_in_line(weir_limiter *limiter, struct waiter *waiter)
{
    for (;;) {
        const uint32_t seen = host_event_seen(&limiter->event);
        host_lock(&limiter->mutex);
        const uint64_t start_ns = waiter->decision.start.ns;
        const bool over = limiter_stopped(limiter) || due(limiter, start_ns);
        if (over) leave_line(limiter, waiter);
        host_unlock(&limiter->mutex);
        if (over) return;
        sleep_towards(limiter, seen, start_ns);
    }
}

weir_decision weir_take_wait(weir_limiter *limiter, uint64_t cost, uint64_t wait_max_ns)
{
    struct waiter waiter;
    struct ask ask = {.now_ns = limiter_now_ns(limiter), .cost = cost};
    limiter_renew(limiter, ask.now_ns);
    limiter_ask(limiter, &ask, &waiter.decision);
    if (waiter.decision.verdict != WEIR_DENY || wait_max_ns == 0) {
        limiter_count(limiter, &waiter.decision);
        return waiter.decision;
    }
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) waiter.cost[i] = cost;
    ask = (struct ask){
        .now_ns = limiter_now_ns(limiter), .wait_max_ns = wait_max_ns, .each = waiter.cost, .end = waiter.end};
    host_lock(&limiter->mutex);
    limiter_ask_inside(limiter, &ask, &waiter.decision);
    const bool waits = waiter.decision.verdict == WEIR_ALLOW && waiter.decision.delay_ns != 0;
    if (waits) join_line(limiter, &waiter);
    host_unlock(&limiter->mutex);
    limiter_count(limiter, &waiter.decision);
    if (waits) wait_in_line(limiter, &waiter);
    if (waits && limiter_stopped(limiter)) return (weir_decision){.verdict = WEIR_STOPPED, .start = {ask.now_ns}};
    waiter.decision.delay_ns = 0;
    return waiter.decision;
}
