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

void limiter_sleep(weir_limiter *limiter, uint32_t seen, uint64_t start_ns)
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
        limiter_sleep(limiter, seen, start_ns);
    }
}

/* Takes ahead of its time and waits in line for the start; false when that is too far, or cannot be. */
static bool wait_for_start(weir_limiter *limiter, uint64_t cost, uint64_t wait_max_ns, weir_decision *decision)
{
    struct waiter waiter;
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) waiter.cost[i] = cost;
    const struct ask ask = {.now_ns = limiter_now_ns(limiter),
                            .wait_max_ns = wait_max_ns,
                            .each = waiter.cost,
                            .end = waiter.end,
                            .uncounted = true};
    host_lock(&limiter->mutex);
    limiter_ask_inside(limiter, &ask, &waiter.decision);
    const bool waits = waiter.decision.verdict == WEIR_ALLOW && waiter.decision.delay_ns != 0;
    *decision = waiter.decision; /* whoever stands in the line may be moved */
    if (waits) join_line(limiter, &waiter);
    host_unlock(&limiter->mutex);
    if (decision->verdict == WEIR_DENY) return false;
    limiter_count(limiter, decision);
    if (!waits) return true;
    wait_in_line(limiter, &waiter);
    *decision = waiter.decision;
    decision->delay_ns = 0;
    if (limiter_stopped(limiter)) *decision = (weir_decision){.verdict = WEIR_STOPPED, .start = {ask.now_ns}};
    return true;
}

/* Now or not.  Where a refusal is counted, one that is only on the way to a wait is none. */
static void ask_now(weir_limiter *limiter, uint64_t now_ns, uint64_t cost, uint64_t wait_max_ns,
                    weir_decision *decision)
{
    struct ask ask = {.now_ns = now_ns, .cost = cost, .uncounted = true};
    limiter_ask(limiter, &ask, decision);
    const bool refused = decision->verdict == WEIR_NEVER || decision->retry_ns > wait_max_ns;
    if (!refused || atom_load(&limiter->counts_refused) == 0) return;
    ask.uncounted = false;
    limiter_ask(limiter, &ask, decision);
}

weir_decision weir_take_wait(weir_limiter *limiter, uint64_t cost, uint64_t wait_max_ns)
{
    const uint64_t until_ns = add_saturating(limiter_now_ns(limiter), wait_max_ns);
    for (;;) {
        weir_decision decision;
        const uint32_t seen = host_event_seen(&limiter->event);
        const uint64_t now_ns = limiter_now_ns(limiter);
        const uint64_t left_ns = wait_max_ns == WEIR_FOREVER ? WEIR_FOREVER : subtract_to_zero(until_ns, now_ns);
        limiter_renew(limiter, now_ns);
        ask_now(limiter, now_ns, cost, left_ns, &decision);
        uint64_t passes_in_ns = decision.retry_ns;
        const bool waits = decision.verdict == WEIR_DENY && left_ns != 0;
        const bool ahead = waits && atom_load(&limiter->counts_refused) == 0;
        if (ahead && wait_for_start(limiter, cost, left_ns, &decision)) return decision;
        /* With no end of the wait it is enough that it can be taken ahead by then. */
        if (ahead && left_ns == WEIR_FOREVER) passes_in_ns = decision.retry_ns;
        if (!waits || passes_in_ns > left_ns) {
            limiter_count(limiter, &decision);
            return decision;
        }
        /* It cannot be taken ahead: come back when it passes. */
        limiter_sleep(limiter, seen, add_saturating(now_ns, passes_in_ns));
    }
}
