/* SPDX-License-Identifier: MIT
   Calls of a key and a plan, by all threads of all processes that share the table.

   A key has an identity for each limit of a plan: a keyed hash of its bytes and the limit's number.  The plan's numbers
   are not part of it, so a plan with other numbers finds the same state.  A call allocates nothing, and slots take no
   lock. */
#include <string.h>

#include "api/table/keyed.h"
#include "core/algorithm.h"
#include "core/num.h"

/* The limits that have a state; -1: one of them never passes, see *never. */
static int limits_of(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns, const uint64_t cost[],
                     struct keyed_limit limits[], int *never)
{
    int count = 0;
    if (plan->change != 0) keyed_rules_carry(table, plan, key, now_ns);
    for (int i = 0; i < (int)plan->count; i++) {
        const struct rule *rule = &plan->rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        *never = i;
        if (algorithm->words == 0 && !algorithm_may_pass(rule, cost[i])) return -1;
        if (algorithm->words == 0) continue;
        if (plan->interval[i] == 0) return -1;
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
    if (!ask->peek) keyed_count(table, key, &decision, events);
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
                    int first[], int *limit_count)
{
    int never = -1;
    *limit_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t cost[WEIR_LIMITS_MAX];
        cost_alike(cost, WEIR_LIMITS_MAX, asks[i].cost);
        first[i] = *limit_count;
        const int more =
            limits_of(table, plan_inside_const(asks[i].plan), asks[i].key, now_ns, cost, limits + *limit_count, &never);
        if (more < 0) return false;
        *limit_count += more;
    }
    first[count] = *limit_count;
    return true;
}

/* *refusal: the decision about all together; its limit is an index into limits. */
static bool take_all_slots(weir_table *table, const weir_ask *asks, size_t count, uint64_t now_ns, uint64_t end[],
                           int first[], struct keyed_limit limits[], weir_decision *refusal, uint32_t *events)
{
    int limit_count = 0;
    if (!collect(table, asks, count, now_ns, limits, first, &limit_count)) return false;
    const struct ask ask = {.now_ns = now_ns};
    if (limit_count == 0) return true;
    keyed_slots_ask(table, limits, limit_count, &ask, end, refusal, events);
    return refusal->verdict == WEIR_ALLOW;
}

/* If each call alone would pass now, the same key is there twice, or permits were just given back.  The call that was
   refused reports the refusal. */
static void tell_refused(weir_ask *asks, size_t count, const int first[], const struct keyed_limit limits[],
                         const weir_decision *refusal)
{
    for (size_t i = 0; i < count; i++) {
        if (asks[i].decision.verdict != WEIR_ALLOW) return;
    }
    for (size_t i = 0; i < count; i++) {
        if ((int)refusal->limit < first[i] || (int)refusal->limit >= first[i + 1]) continue;
        asks[i].decision = *refusal;
        asks[i].decision.limit = (uint32_t)limits[refusal->limit].index;
    }
}

/* For a call that was taken with others: what is left now, and the end of its slot. */
static void tell_taken(weir_table *table, weir_ask *ask, uint64_t now_ns, const struct keyed_limit limits[], int count,
                       const uint64_t end[])
{
    const struct ask nothing = {.now_ns = now_ns, .peek = true};
    ask->decision = keyed_ask(table, ask->plan, ask->key, &nothing);
    ask->decision.verdict = WEIR_ALLOW;
    ask->decision.retry_ns = ask->decision.delay_ns = 0;
    ask->decision.start.ns = now_ns;
    ask->decision.charged = ask->cost;
    for (int i = 0; i < count; i++) {
        if (limits[i].index == (int)ask->decision.limit) ask->decision.end = end[i];
    }
}

bool weir_table_take_all(weir_table *table, weir_ask *asks, size_t count, weir_instant now)
{
    struct keyed_limit limits[KEYED_LIMITS_MAX];
    uint64_t end[KEYED_LIMITS_MAX] = {0};
    int first[WEIR_ASKS_MAX + 1];
    uint32_t events = 0;
    bool taken = false;
    for (size_t i = 0; i < count; i++) asks[i].decision = (weir_decision){.verdict = WEIR_NEVER, .start = now};
    if (count > WEIR_ASKS_MAX) return false;
    if (keyed_is_wide(table)) {
        taken = keyed_wide_take_all(table, asks, count, now.ns, &events);
    } else {
        weir_decision refusal = {0};
        taken = take_all_slots(table, asks, count, now.ns, end, first, limits, &refusal, &events);
        for (size_t i = 0; i < count; i++) {
            const struct ask ask = {.now_ns = now.ns, .cost = asks[i].cost, .peek = true};
            if (taken) tell_taken(table, &asks[i], now.ns, limits + first[i], first[i + 1] - first[i], end);
            else asks[i].decision = keyed_ask(table, asks[i].plan, asks[i].key, &ask);
        }
        if (!taken && refusal.verdict != 0) tell_refused(asks, count, first, limits, &refusal);
    }
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
    } else {
        struct keyed_limit limits[WEIR_LIMITS_MAX];
        uint64_t used[WEIR_LIMITS_MAX], ends[WEIR_LIMITS_MAX];
        int never = -1;
        weir_decision of_limits = *decision;
        const int count = limits_of(table, inside, key, now_ns, cost, limits, &never);
        for (int i = 0; i < count; i++) {
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
}

void weir_table_forget(weir_table *table, const weir_plan *plan, weir_key key)
{
    keyed_forget(table, plan, key, keyed_now_ns(table));
}
