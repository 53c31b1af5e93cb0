/* SPDX-License-Identifier: MIT
   Waiting for a key.

   A start by a rate is reserved, and the caller sleeps until then.  Where nothing can be reserved it comes back when
   the call would pass; and what only a holder can give back, slots of a concurrent limit, it waits for in turn
   (turns.c): of the threads of a process that wait for one key the first asks, and sleeps until the next lease ends or
   until slots are released, by any process.  That it learns by a futex in the first page of the memory, a word for the
   keys of one hash in 64, whose lowest bit says that somebody waits:

       waiter     sets the bit;  asks: refused;  sleeps while the word is the same
       releaser   gives back under the stripe's lock;  is the bit set?  counts the word up, without it, and wakes all

   So processes wake together, and whichever asks first has the slot: between processes there is no order.  Nobody tells
   that a holder has died, so where the kernel can tell, the waiter looks now and then. */
#include "api/table/keyed.h"
#include "core/algorithm.h"
#include "core/num.h"

#define LOOK_FOR_DEATHS_NS UINT64_C(100000000)
#define TRY_AGAIN_NS UINT64_C(100000)

struct keyed_wait {
    weir_table *table;
    const weir_plan *plan;
    weir_key key;
    struct ask ask; /* its cost, or each and end */
    uint64_t until_ns;
    uint64_t again_ns; /* when the refused call would pass, if nothing happens before */
    int holder;        /* the concurrent limit; -1: none */
    bool slept;
};

static struct host_event *event_of(weir_table *table, const struct plan *plan, weir_key key)
{
    return region_wait_word(table->header, keyed_wide_hash(table, plan, key));
}

static bool has_slots(const weir_table *table, const struct plan *plan)
{
    return keyed_is_wide(table) && decide_holder(plan_rules(plan)) >= 0;
}

void keyed_wake(weir_table *table, const struct plan *plan, weir_key key)
{
    if (has_slots(table, plan)) host_shared_signal(event_of(table, plan, key));
}

/* Takes now, or reserves.  False: refused, but not for good. */
static bool decided(struct keyed_wait *wait, weir_decision *decision)
{
    struct ask ask = wait->ask;
    ask.now_ns = keyed_now_ns(wait->table);
    const uint64_t left_ns =
        wait->until_ns == WEIR_FOREVER ? WEIR_FOREVER : subtract_to_zero(wait->until_ns, ask.now_ns);
    *decision = keyed_ask(wait->table, wait->plan, wait->key, &ask);
    if (decision->verdict != WEIR_DENY || left_ns == 0) return true;
    ask.wait_max_ns = left_ns;
    const weir_decision ahead = keyed_ask(wait->table, wait->plan, wait->key, &ask);
    if (ahead.verdict != WEIR_DENY || left_ns == WEIR_FOREVER) *decision = ahead;
    if (decision->verdict != WEIR_DENY) return true;
    wait->slept = true; /* unless it is over */
    wait->again_ns = add_saturating(ask.now_ns, decision->retry_ns);
    /* By the coarse clock that may be past. */
    if (wait->table->clock == WEIR_CLOCK_COARSE) wait->again_ns = most(wait->again_ns, host_now_ns() + TRY_AGAIN_NS);
    const bool in_time = decision->retry_ns <= left_ns && decision->retry_ns != WEIR_FOREVER;
    return !in_time && (int)decision->limit != wait->holder;
}

static void wait_to_ask(struct keyed_wait *wait, weir_decision *decision)
{
    while (!decided(wait, decision)) host_sleep_until(wait->again_ns);
}

/* The time is over, and others are ahead of it. */
static weir_decision refused_behind(const struct keyed_wait *wait, uint64_t now_ns)
{
    struct ask ask = wait->ask;
    ask.now_ns = now_ns;
    ask.peek = true;
    weir_decision decision = keyed_ask(wait->table, wait->plan, wait->key, &ask);
    if (decision.verdict != WEIR_ALLOW) return decision;
    decision.verdict = WEIR_DENY;
    decision.limit = (uint32_t)wait->holder;
    decision.charged = 0;
    decision.retry_ns = 1;
    return decision;
}

/* One step of a call that has joined the others; true if it is over. */
static bool ask_in_turn(struct keyed_wait *wait, struct turn *turn, struct host_event *released,
                        weir_decision *decision)
{
    weir_table *table = wait->table;
    struct host_event *event = turns_event(&table->turns, turn);
    const uint32_t seen = host_event_seen(event);
    if (!turns_is_first(&table->turns, turn)) {
        const uint64_t now_ns = keyed_now_ns(table);
        wait->slept = true;
        if (now_ns < wait->until_ns) host_event_wait(event, seen, wait->until_ns);
        else *decision = refused_behind(wait, now_ns);
        return now_ns >= wait->until_ns;
    }
    const uint32_t released_seen = host_shared_seen(released);
    if (decided(wait, decision)) return true;
    const uint64_t look_ns = table->owner != 0 ? host_now_ns() + LOOK_FOR_DEATHS_NS : WEIR_FOREVER;
    host_shared_wait(released, released_seen, least(least(wait->again_ns, wait->until_ns), look_ns));
    return false;
}

static void wait_in_turn(struct keyed_wait *wait, weir_decision *decision)
{
    weir_table *table = wait->table;
    const struct plan *plan = plan_inside_const(wait->plan);
    struct turn turn = {.key = keyed_wide_hash(table, plan, wait->key)};
    keyed_after_fork(table);
    turns_join(&table->turns, &turn);
    while (!ask_in_turn(wait, &turn, event_of(table, plan, wait->key), decision)) continue;
    turns_leave(&table->turns, &turn);
}

/* Else it is told at once. */
static bool may_ever_pass(const struct keyed_wait *wait, const struct plan *plan)
{
    const uint64_t *each = wait->ask.each;
    return algorithm_may_pass(&plan->rule[wait->holder], each != NULL ? each[wait->holder] : wait->ask.cost);
}

static weir_decision take_wait(weir_table *table, const weir_plan *plan, weir_key key, const struct ask *ask,
                               uint64_t wait_max_ns)
{
    const struct plan *inside = plan_inside_const(plan);
    const uint64_t since_ns = keyed_now_ns(table);
    struct keyed_wait wait = {
        .table = table, .plan = plan, .key = key, .ask = *ask, .until_ns = WEIR_FOREVER, .holder = -1};
    weir_decision decision;
    wait.ask.uncounted = true;
    if (wait_max_ns != WEIR_FOREVER) wait.until_ns = least(add_saturating(since_ns, wait_max_ns), WEIR_FOREVER - 1);
    if (has_slots(table, inside)) wait.holder = decide_holder(plan_rules(inside));
    if (wait.holder >= 0 && may_ever_pass(&wait, inside)) wait_in_turn(&wait, &decision);
    else wait_to_ask(&wait, &decision);
    if (decision.verdict == WEIR_DENY) keyed_count(table, key, &decision, 0);
    if (decision.verdict != WEIR_ALLOW) return decision;
    const bool waited = wait.slept || decision.delay_ns != 0;
    if (decision.delay_ns != 0) host_sleep_until(decision.start.ns);
    decision.delay_ns = waited ? subtract_to_zero(keyed_now_ns(table), since_ns) : 0;
    return decision;
}

weir_decision weir_table_take_wait(weir_table *table, const weir_plan *plan, weir_key key, uint64_t cost,
                                   uint64_t wait_max_ns)
{
    return take_wait(table, plan, key, &(struct ask){.cost = cost}, wait_max_ns);
}

weir_decision weir_table_take_each_wait(weir_table *table, const weir_plan *plan, weir_key key, const uint64_t cost[],
                                        uint64_t end[], uint64_t wait_max_ns)
{
    return take_wait(table, plan, key, &(struct ask){.each = cost, .end = end}, wait_max_ns);
}
