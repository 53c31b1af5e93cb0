/* SPDX-License-Identifier: MIT
   The fast path of a table: one limit in a slot, now or not at all, for one key or many.

   Most keys have a slot, there is no contention, and the call is granted.  This file handles that without what only
   lists of limits, waiting and new keys need.  For everything else it calls slots.c, which gives the same result
   to the bit but takes longer.

   For many calls the hashes come first, so that all lines are being fetched when the first slot is read. */
#include "api/table/keyed.h"

#include "core/num.h"
#include "share/hash_lanes.h"

enum { BATCH = 32 };

/* What all calls of one plan at one time have in common. */
struct common {
    const struct plan *plan;
    struct slot_rule rule;
    uint64_t inverse;  /* 2^64 / interval, or one less */
    uint64_t cost_max; /* units; 0 if the limit does not fit the table */
    uint64_t now, now_ns;
};

static struct common common_of(const weir_table *table, const struct plan *plan, uint64_t now_ns)
{
    struct common common = {.plan = plan, .now = keyed_units_of(table, now_ns + table->offset_ns), .now_ns = now_ns};
    common.rule = slot_rule_of(&plan->rule[0], plan->interval[0], table->unit);
    common.inverse = UINT64_MAX / common.rule.interval;
    common.cost_max = common.rule.burst <= table->longest ? common.rule.burst : 0;
    return common;
}

/* units / interval.  The factor may be one too small, and then the product is at most one too small. */
static inline uint64_t permits_in(const struct common *common, uint64_t units)
{
    const uint64_t permits = multiply_shift_floor(units, common->inverse, 64);
    return permits + (units - permits * common->rule.interval >= common->rule.interval);
}

/* All other cases. */
static uint32_t ask_slowly(weir_table *table, const struct common *common, weir_key key, uint64_t hash, uint64_t cost,
                           weir_decision *decision)
{
    if (common->plan->change != 0) keyed_rules_carry(table, common->plan, key, common->now_ns);
    const struct keyed_limit limit = {
        &common->plan->rule[0], common->plan->interval[0], hash, cost, 0, keyed_slots_part(table, common->plan)};
    uint32_t events = 0;
    keyed_slots_ask(table, &limit, 1, &(struct ask){.now_ns = common->now_ns}, NULL, decision, &events);
    return events;
}

static void refuse_one(const weir_table *table, const struct common *common, uint64_t cost, uint64_t drained,
                       weir_decision *decision)
{
    const struct keyed_limit limit = {
        .rule = &common->plan->rule[0], .interval = common->plan->interval[0], .cost = cost};
    keyed_slots_refuse(table, &limit, common->now_ns, drained, decision);
}

/* A permit that was just taken drains later than now. */
static inline void allow(const struct common *common, uint64_t cost, uint64_t drained, weir_decision *decision)
{
    *decision = (weir_decision){.verdict = WEIR_ALLOW,
                                .start = {common->now_ns},
                                .end = drained,
                                .remaining = permits_in(common, common->rule.burst - (drained - common->now)),
                                .charged = cost};
}

/* Returns the table's events.  fetched: its lines were prefetched some time ago. */
static ATOM_INLINE uint32_t take_one_slot(weir_table *table, const struct common *common, weir_key key, uint64_t hash,
                                          bool fetched, uint64_t cost, weir_decision *decision)
{
    const struct slot_rule *rule = &common->rule;
    const struct table_question question = {
        .hash = hash, .now = common->now, .cost = slot_cost(rule, cost), .burst = rule->burst, .how = TABLE_TAKE};
    const bool possible = question.cost != 0 && question.cost <= common->cost_max;
    uint64_t drained = 0;
    const struct table *slots = keyed_slots(table);
    const struct table_place place = fetched ? table_seek_fetched(slots, hash) : table_seek(slots, hash);
    switch (possible ? table_try(slots, place, &question, &drained) : TABLE_MISSED) {
    case TABLE_TAKEN:
        allow(common, cost, drained, decision);
        return 0;
    case TABLE_REFUSED:
        refuse_one(table, common, cost, drained, decision);
        return 0;
    default:
        return ask_slowly(table, common, key, hash, cost, decision);
    }
}

void keyed_one_take(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns, uint64_t cost,
                    weir_decision *decision)
{
    keyed_keep_rested(table, now_ns + table->offset_ns);
    const uint64_t hash = keyed_identity(table, key, plan->change, 0);
    table_prefetch(keyed_slots(table), hash);
    const struct common common = common_of(table, plan, now_ns);
    const uint32_t events = take_one_slot(table, &common, key, hash, false, cost, decision);
    keyed_count(table, key, decision, events);
}

/* ---- many ---- */

static void prefetch_some(const weir_table *table, const weir_ask *asks, size_t count, uint64_t hash[])
{
    const struct table *slots = keyed_slots(table);
    struct hash_message message[BATCH];
    for (size_t i = 0; i < count; i++) {
        const uint64_t salt = keyed_salt(plan_inside_const(asks[i].plan)->change, 0);
        message[i] = (struct hash_message){asks[i].key.bytes, asks[i].key.size, salt};
    }
    hash_keys(&table->secret, message, count, hash);
    for (size_t i = 0; i < count; i++) table_prefetch(slots, hash[i]);
}

uint64_t keyed_announce(const weir_table *table, const weir_plan *plan, weir_key key)
{
    const struct plan *inside = plan_inside_const(plan);
    if (!keyed_is_one(table, inside)) return 0;
    const uint64_t hash = keyed_identity(table, key, inside->change, 0);
    table_prefetch(keyed_slots(table), hash);
    return hash;
}

void keyed_take_announced(weir_table *table, weir_ask *asks, const uint64_t hash[], size_t count, uint64_t now_ns)
{
    uint64_t calls = 0, permits = 0;
    keyed_keep_rested(table, now_ns + table->offset_ns);
    struct common common = {.plan = NULL};
    for (size_t i = 0; i < count; i++) {
        const struct plan *plan = plan_inside_const(asks[i].plan);
        weir_decision *decision = &asks[i].decision;
        if (!keyed_is_one(table, plan)) {
            *decision = weir_table_take_at(table, asks[i].plan, asks[i].key, (weir_instant){now_ns}, asks[i].cost);
            continue;
        }
        if (plan != common.plan) common = common_of(table, plan, now_ns);
        const uint32_t events = take_one_slot(table, &common, asks[i].key, hash[i], true, asks[i].cost, decision);
        if (decision->verdict == WEIR_ALLOW && events == 0) {
            calls++;
            permits += decision->charged;
        } else {
            keyed_count(table, asks[i].key, decision, events);
        }
    }
    keyed_count_granted(table, calls, permits);
}

void weir_table_take_batch(weir_table *table, weir_ask *asks, size_t count, weir_instant now)
{
    for (size_t i = 0; i < count; i += BATCH) {
        uint64_t hash[BATCH];
        const size_t some = (size_t)least(count - i, BATCH);
        prefetch_some(table, asks + i, some, hash);
        keyed_take_announced(table, asks + i, hash, some, now.ns);
    }
}
