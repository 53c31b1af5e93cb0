/* SPDX-License-Identifier: MIT
   Calls of a key and a plan, by all threads of all processes that share the table.

   A key has an identity for each limit of a plan: a keyed hash of its bytes and the limit's number.  The plan's numbers
   are not part of it, so a plan with other numbers finds the same state.  A call allocates nothing, and slots take no
   lock. */
#include <string.h>

#include "api/table/keyed.h"
#include "core/algorithm.h"
#include "core/num.h"
#include "core/tenants.h"

/* The limits that have a state; -1: one of them never passes, see *never. */
static int limits_of(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns, const uint64_t cost[],
                     struct keyed_limit limits[], int *never)
{
    int count = 0;
    if (plan->change != 0) keyed_rules_carry(table, plan, key, now_ns);
    for (int i = 0; i < (int)plan->count; i++) {
        const struct rule *rule = &plan->rule[i];
        *never = i;
        if (plan->interval[i] == 0) { /* it has no state, or one that fits no slot */
            if (algorithm_of(rule)->words != 0 || !algorithm_may_pass(rule, cost[i])) return -1;
            continue;
        }
        const uint64_t hash = keyed_identity(table, key, plan->change, (uint64_t)i);
        table_prefetch(keyed_slots(table), hash);
        limits[count++] =
            (struct keyed_limit){rule, plan->interval[i], hash, cost[i], i, keyed_slots_part(table, plan)};
    }
    return count;
}

/* The decision without any state: the call passes, or never will. */
static weir_decision without_state(uint64_t now_ns, int never, const struct ask *ask)
{
    weir_decision decision = {.verdict = never < 0 ? WEIR_ALLOW : WEIR_NEVER, .start = {now_ns}};
    decision.limit = (uint32_t)(never < 0 ? 0 : never);
    decision.remaining = never < 0 ? UINT64_MAX : 0;
    decision.charged = never < 0 && !ask->peek ? ask->each[0] : 0;
    return decision;
}

/* Fills `end`, if it is given, in the order of the plan's limits. */
static void spread_ends(const struct keyed_limit limits[], int count, const uint64_t of_limit[], uint64_t end[])
{
    for (int i = 0; end != NULL && i < count; i++) end[limits[i].index] = of_limit[i];
}

static weir_decision ask_slots(weir_table *table, const struct plan *plan, weir_key key, const struct ask *ask,
                               uint32_t *events)
{
    struct keyed_limit limits[WEIR_LIMITS_MAX];
    uint64_t end[WEIR_LIMITS_MAX];
    int never = -1;
    const int count = limits_of(table, plan, key, ask->now_ns, ask->each, limits, &never);
    if (count <= 0) return without_state(ask->now_ns, count < 0 ? never : -1, ask);
    weir_decision decision;
    keyed_slots_ask(table, limits, count, ask, end, &decision, events);
    decision.limit = (uint32_t)limits[decision.limit].index;
    if (decision.verdict == WEIR_ALLOW) spread_ends(limits, count, end, ask->end);
    return decision;
}

weir_decision keyed_ask(weir_table *table, const weir_plan *plan, weir_key key, const struct ask *ask)
{
    const struct plan *inside = plan_inside_const(plan);
    uint64_t same[WEIR_LIMITS_MAX];
    struct ask each = *ask;
    weir_decision decision;
    uint32_t events = 0;
    if (ask->each == NULL) {
        cost_alike(same, WEIR_LIMITS_MAX, ask->cost);
        each.each = same;
    }
    if (keyed_is_wide(table)) keyed_wide_ask(table, inside, key, &each, &decision, &events);
    else decision = ask_slots(table, inside, key, &each, &events);
    if (!ask->peek && !(ask->uncounted && decision.verdict == WEIR_DENY)) keyed_count(table, key, &decision, events);
    return decision;
}

weir_decision weir_table_take_at(weir_table *table, const weir_plan *plan, weir_key key, weir_instant now,
                                 uint64_t cost)
{
    const struct plan *inside = plan_inside_const(plan);
    weir_decision decision;
    if (!keyed_is_one(table, inside)) return keyed_ask(table, plan, key, &(struct ask){.now_ns = now.ns, .cost = cost});
    keyed_one_take(table, inside, key, now.ns, cost, &decision);
    return decision;
}

weir_decision weir_table_take(weir_table *table, const weir_plan *plan, weir_key key, uint64_t cost)
{
    return weir_table_take_at(table, plan, key, (weir_instant){keyed_now_ns(table)}, cost);
}

weir_decision weir_table_take_each(weir_table *table, const weir_plan *plan, weir_key key, const uint64_t cost[],
                                   uint64_t end[])
{
    return keyed_ask(table, plan, key, &(struct ask){.now_ns = keyed_now_ns(table), .each = cost, .end = end});
}

weir_decision weir_table_reserve(weir_table *table, const weir_plan *plan, weir_key key, uint64_t cost,
                                 uint64_t delay_max_ns)
{
    return keyed_ask(table, plan, key,
                     &(struct ask){.now_ns = keyed_now_ns(table), .wait_max_ns = delay_max_ns, .cost = cost});
}

weir_decision weir_table_reserve_each(weir_table *table, const weir_plan *plan, weir_key key, const uint64_t cost[],
                                      uint64_t end[], uint64_t delay_max_ns)
{
    return keyed_ask(
        table, plan, key,
        &(struct ask){.now_ns = keyed_now_ns(table), .wait_max_ns = delay_max_ns, .each = cost, .end = end});
}

weir_decision weir_table_charge(weir_table *table, const weir_plan *plan, weir_key key, uint64_t cost)
{
    return keyed_ask(table, plan, key, &(struct ask){.now_ns = keyed_now_ns(table), .cost = cost, .charge = true});
}

weir_decision keyed_peek(weir_table *table, const weir_plan *plan, weir_key key, uint64_t now_ns, int limit,
                         uint64_t cost)
{
    const struct plan *inside = plan_inside_const(plan);
    const struct ask ask = {.now_ns = now_ns, .cost = cost, .peek = true};
    if (limit < 0) return keyed_ask(table, plan, key, &ask);
    weir_decision decision = {.verdict = WEIR_NEVER, .limit = (uint32_t)limit, .start = {ask.now_ns}};
    if (limit >= (int)inside->count) return decision;
    uint32_t events = 0;
    if (keyed_is_wide(table)) {
        keyed_wide_peek_limit(table, inside, key, limit, &ask, &decision);
        return decision;
    }
    if (inside->change != 0) keyed_rules_carry(table, inside, key, now_ns);
    const struct rule *rule = &inside->rule[limit];
    const uint64_t each[1] = {cost};
    const struct ask of_one = {.now_ns = ask.now_ns, .each = each, .peek = true};
    if (algorithm_of(rule)->words == 0) {
        decision = without_state(ask.now_ns, algorithm_may_pass(rule, cost) ? -1 : limit, &of_one);
    } else if (inside->interval[limit] != 0) {
        const uint64_t hash = keyed_identity(table, key, inside->change, (uint64_t)limit);
        const struct keyed_limit one = {rule,  inside->interval[limit],        hash, cost,
                                        limit, keyed_slots_part(table, inside)};
        keyed_slots_ask(table, &one, 1, &of_one, NULL, &decision, &events);
    }
    decision.limit = (uint32_t)limit;
    return decision;
}

weir_decision weir_table_peek(weir_table *table, const weir_plan *plan, weir_key key, int limit, uint64_t cost)
{
    return keyed_peek(table, plan, key, keyed_now_ns(table), limit, cost);
}

uint64_t weir_table_full_ns(const weir_table *table, const weir_plan *plan, const weir_decision *decision)
{
    if (keyed_is_wide(table)) return keyed_wide_full_ns(table, plan_inside_const(plan), decision);
    return keyed_slots_full_ns(table, decision);
}

/* ---- several calls, all or none ---- */

/* The limits of all calls; false if one of them never passes. */
static bool collect(weir_table *table, const weir_ask *asks, size_t count, uint64_t now_ns, struct keyed_limit limits[],
                    int first[])
{
    int never = -1;
    first[0] = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t cost[WEIR_LIMITS_MAX];
        cost_alike(cost, WEIR_LIMITS_MAX, asks[i].cost);
        const int more =
            limits_of(table, plan_inside_const(asks[i].plan), asks[i].key, now_ns, cost, limits + first[i], &never);
        if (more < 0) return false;
        first[i + 1] = first[i] + more;
    }
    return true;
}

static bool take_all_slots(weir_table *table, weir_ask *asks, size_t count, weir_instant now,
                           const struct keyed_lent *lent, uint32_t *events)
{
    struct keyed_limit limits[KEYED_LIMITS_MAX];
    int first[WEIR_ASKS_MAX + 1];
    if (collect(table, asks, count, now.ns, limits, first))
        return keyed_slots_take_all(table, limits, first, asks, count, now, lent, events);
    for (size_t i = 0; i < count; i++) {
        const struct ask ask = {.now_ns = now.ns, .cost = asks[i].cost, .peek = true};
        asks[i].decision = keyed_ask(table, asks[i].plan, asks[i].key, &ask);
    }
    return false;
}

/* By no guarantee. */
static bool borrowed(const weir_ask asks[], size_t count)
{
    for (size_t i = 0; i + 1 < count; i++) {
        const struct plan *plan = plan_inside_const(asks[i].plan);
        if (tenants_guaranteed(&plan->rule[0]) && !weir_borrowed(&asks[i].decision)) return false;
    }
    return true;
}

bool weir_table_take_all(weir_table *table, weir_ask *asks, size_t count, weir_instant now)
{
    uint32_t events = 0;
    if (count > WEIR_ASKS_MAX) {
        for (size_t i = 0; i < count; i++) asks[i].decision = (weir_decision){.verdict = WEIR_NEVER, .start = now};
        return false;
    }
    struct keyed_lent lent;
    const bool weighed = keyed_lend(table, asks, count, now.ns, &lent);
    const bool taken = keyed_is_wide(table) ? keyed_wide_take_all(table, asks, count, now.ns, &lent, &events)
                                            : take_all_slots(table, asks, count, now, &lent, &events);
    if (weighed && taken && borrowed(asks, count)) keyed_count_lent(table, asks, count, now.ns, &lent);
    /* Only the call that caused the refusal is counted as refused; the others were not really tried. */
    for (size_t i = 0; i < count; i++) {
        if (taken || asks[i].decision.verdict != WEIR_ALLOW)
            keyed_count(table, asks[i].key, &asks[i].decision, i == 0 ? events : 0);
    }
    return taken;
}

/* ---- afterwards ---- */

void keyed_settle(weir_table *table, const weir_plan *plan, weir_key key, uint64_t now_ns, weir_decision *decision,
                  const uint64_t cost[], const uint64_t actual[], const uint64_t end[])
{
    const struct plan *inside = plan_inside_const(plan);
    if (decision->verdict != WEIR_ALLOW || decision->reserved & DECISION_SETTLED) return;
    if (keyed_is_wide(table)) {
        keyed_wide_settle(table, inside, key, now_ns, decision, cost, actual, end);
        keyed_wake(table, inside, key);
    } else {
        struct keyed_limit limits[WEIR_LIMITS_MAX];
        uint64_t used[WEIR_LIMITS_MAX], ends[WEIR_LIMITS_MAX];
        int never = -1;
        weir_decision of_limits = *decision;
        const int all = limits_of(table, inside, key, now_ns, cost, limits, &never);
        const int skip = (decision->reserved & DECISION_BORROWED) != 0, count = all - skip; /* the guaranteed one */
        for (int i = 0; i < count; i++) {
            limits[i] = limits[i + skip];
            used[i] = actual[limits[i].index];
            if (end != NULL) ends[i] = end[limits[i].index];
            if (limits[i].index == (int)decision->limit) of_limits.limit = (uint32_t)i;
        }
        if (count > 0) keyed_slots_settle(table, limits, count, now_ns, &of_limits, used, end != NULL ? ends : NULL);
    }
    decision->charged = 0;
    decision->reserved |= DECISION_SETTLED;
}

void weir_table_settle_each(weir_table *table, const weir_plan *plan, weir_key key, weir_decision *decision,
                            const uint64_t cost[], const uint64_t actual[], const uint64_t end[])
{
    keyed_settle(table, plan, key, keyed_now_ns(table), decision, cost, actual, end);
}

void weir_table_settle(weir_table *table, const weir_plan *plan, weir_key key, weir_decision *decision, uint64_t actual)
{
    uint64_t charged[WEIR_LIMITS_MAX], used[WEIR_LIMITS_MAX];
    if (decision->reserved & DECISION_EACH) return;
    cost_alike(charged, WEIR_LIMITS_MAX, decision->charged);
    cost_alike(used, WEIR_LIMITS_MAX, actual);
    weir_table_settle_each(table, plan, key, decision, charged, used, NULL);
}

void keyed_forget(weir_table *table, const weir_plan *plan, weir_key key, uint64_t now_ns)
{
    const struct plan *inside = plan_inside_const(plan);
    if (keyed_is_wide(table)) keyed_wide_forget(table, inside, key);
    else keyed_rules_forget(table, inside, key, now_ns);
    keyed_wake(table, inside, key);
}

void weir_table_forget(weir_table *table, const weir_plan *plan, weir_key key)
{
    keyed_forget(table, plan, key, keyed_now_ns(table));
}
