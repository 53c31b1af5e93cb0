/* SPDX-License-Identifier: MIT
   The fast path of a table: one limit in a slot, now or not at all, for one key or many.

   Most keys have a slot, there is no contention, and the call is granted.  This file handles that without what only
   lists of limits, waiting and new keys need.  For everything else it calls slots.c, which gives the same result
   to the bit but takes longer.

   For many calls the hashes come first, so that all lines are being fetched when the first slot is read. */
#include "api/table/keyed.h"

#include "core/num.h"
#include "share/table/pairs.h"

/* What all calls of one plan at one time have in common. */
struct common {
    const struct plan *plan;
    struct slot_rule rule;
    uint64_t inverse; /* 2^64 / interval, or one less */
    uint64_t most;    /* permits at once; 0 if the limit does not fit the table */
    uint64_t now, now_ns;
};

/* units / interval.  The factor may be one too small, and then the product is at most one too small. */
static inline uint64_t permits_in(const struct common *common, uint64_t units)
{
    const uint64_t permits = multiply_shift_floor(units, common->inverse, 64);
    return permits + (units - permits * common->rule.interval >= common->rule.interval);
}

static struct common common_of(const weir_table *table, const struct plan *plan, uint64_t now_ns)
{
    struct common common = {.plan = plan, .now = keyed_units_of(table, now_ns + table->offset_ns), .now_ns = now_ns};
    common.rule = slot_rule_of(&plan->rule[0], plan->interval[0], table->unit);
    common.inverse = UINT64_MAX / common.rule.interval;
    common.most = common.rule.burst <= table->longest ? permits_in(&common, common.rule.burst) : 0;
    return common;
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

/* A permit that was just taken drains later than now.  Every field is named, also those that are 0: otherwise all are
   zeroed first, and some written twice. */
static ATOM_INLINE void allow(const struct common *common, uint64_t cost, uint64_t drained, weir_decision *decision)
{
    *decision = (weir_decision){.verdict = WEIR_ALLOW,
                                .limit = 0,
                                .start = {common->now_ns},
                                .delay_ns = 0,
                                .retry_ns = 0,
                                .end = drained,
                                .remaining = permits_in(common, common->rule.burst - (drained - common->now)),
                                .charged = cost,
                                .reserved = 0};
}

/* Tries the fast path; TABLE_TAKEN: it is allowed. */
static ATOM_INLINE enum table_verdict try_at(const struct table *slots, struct table_place place,
                                             const struct common *common, uint64_t cost, uint64_t *drained,
                                             weir_decision *decision)
{
    if (cost - 1 >= common->most) return TABLE_MISSED; /* none, or too many */
    const struct table_charge charge = {
        .now = common->now, .cost = cost * common->rule.interval, .reach = common->rule.burst};
    const enum table_verdict verdict = table_try(slots, place, &charge, drained);
    if (verdict == TABLE_TAKEN) allow(common, cost, *drained, decision);
    return verdict;
}

/* The rest of a call that try_at has not allowed, and counts it. */
static ATOM_INLINE void take_otherwise(weir_table *table, const struct common *common, weir_key key, uint64_t hash,
                                       uint64_t cost, enum table_verdict verdict, uint64_t drained,
                                       weir_decision *decision)
{
    uint32_t events = 0;
    if (verdict == TABLE_REFUSED) refuse_one(table, common, cost, drained, decision);
    else events = ask_slowly(table, common, key, hash, cost, decision);
    keyed_count(table, key, decision, events);
}

/* In the slot that was found, or otherwise, and counts it. */
static ATOM_INLINE void take_found(weir_table *table, const struct table *slots, struct table_place place,
                                   const struct common *common, weir_key key, uint64_t hash, uint64_t cost,
                                   weir_decision *decision)
{
    uint64_t drained = 0;
    const enum table_verdict verdict = try_at(slots, place, common, cost, &drained, decision);
    if (verdict == TABLE_TAKEN) keyed_count(table, key, decision, 0);
    else take_otherwise(table, common, key, hash, cost, verdict, drained, decision);
}

void keyed_one_take(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns, uint64_t cost,
                    weir_decision *decision)
{
    keyed_keep_rested(table, now_ns + table->offset_ns);
    const uint64_t hash = keyed_identity(table, key, plan->change, 0);
    const struct table *slots = keyed_slots(table);
    const struct table_pair pair = table_pair_of(slots, hash);
    table_prefetch_pair(&pair);
    const struct common common = common_of(table, plan, now_ns);
    take_found(table, slots, table_seek(&pair), &common, key, hash, cost, decision);
}

/* ---- one that was prefetched ---- */

uint64_t weir_table_prefetch(const weir_table *table, const weir_plan *plan, weir_key key)
{
    const struct plan *inside = plan_inside_const(plan);
    if (!keyed_is_one(table, inside)) return 0;
    const uint64_t hash = keyed_identity(table, key, inside->change, 0);
    table_prefetch(keyed_slots(table), hash);
    return hash;
}

weir_decision weir_table_take_prefetched(weir_table *table, const weir_plan *plan, weir_key key, uint64_t word,
                                         weir_instant now, uint64_t cost)
{
    const struct plan *inside = plan_inside_const(plan);
    if (!keyed_is_one(table, inside)) return weir_table_take_at(table, plan, key, now, cost);
    keyed_keep_rested(table, now.ns + table->offset_ns);
    const struct table *slots = keyed_slots(table);
    const struct table_pair pair = table_pair_of(slots, word);
    const struct common common = common_of(table, inside, now.ns);
    weir_decision decision;
    take_found(table, slots, table_seek_fetched(&pair), &common, key, word, cost, &decision);
    return decision;
}

/* ---- many ---- */

enum { AT_ONCE = 4 * LANES };

static uint32_t change_of(const weir_ask *ask)
{
    return plan_inside_const(ask->plan)->change;
}

/* Calls at one time. */
struct batch {
    weir_table *table;
    const struct table *slots;
    struct common common; /* of the plan before */
    uint64_t now_ns, calls, permits;
};

static struct batch batch_of(weir_table *table, uint64_t now_ns)
{
    static const struct plan none;
    keyed_keep_rested(table, now_ns + table->offset_ns);
    return (struct batch){.table = table, .slots = keyed_slots(table), .common.plan = &none, .now_ns = now_ns};
}

/* At most LANES calls, whose pairs were fetched. */
static void take_fetched(struct batch *batch, const struct table_pairs *pairs, weir_ask *asks, const uint64_t hash[],
                         size_t count)
{
    weir_table *table = batch->table;
    struct common *common = &batch->common;
    for (size_t i = 0; i < count; i++) {
        weir_ask *ask = &asks[i];
        const struct plan *plan = plan_inside_const(ask->plan);
        if (plan != common->plan && !keyed_is_one(table, plan)) {
            ask->decision = weir_table_take_at(table, ask->plan, ask->key, (weir_instant){batch->now_ns}, ask->cost);
            continue;
        }
        if (plan != common->plan) *common = common_of(table, plan, batch->now_ns);
        const struct table_pair pair = table_pair_at(pairs, i);
        const uint64_t cost = ask->cost;
        uint64_t drained = 0;
        const enum table_verdict verdict =
            try_at(batch->slots, table_seek_fetched(&pair), common, cost, &drained, &ask->decision);
        if (verdict == TABLE_TAKEN) {
            batch->calls++;
            batch->permits += cost;
        } else {
            take_otherwise(table, common, ask->key, hash[i], cost, verdict, drained, &ask->decision);
        }
    }
}

/* 0: it has none. */
static uint64_t hash_of(const weir_table *table, const weir_ask *ask)
{
    if (!keyed_is_one(table, plan_inside_const(ask->plan))) return 0;
    return keyed_identity(table, ask->key, change_of(ask), 0);
}

/* True if eight keys can be hashed together: their words are ready then. */
static bool move_eight(const weir_table *table, const weir_ask *asks, size_t count, struct hash_words *words)
{
    bool same = table->lanes && count == LANES && keyed_is_one(table, plan_inside_const(asks[0].plan));
    for (size_t i = 1; same && i < count; i++)
        same = asks[i].plan == asks[0].plan || change_of(&asks[i]) == change_of(&asks[0]);
    return same && hash_move(words, asks);
}

/* At most AT_ONCE calls.  Lines take longest, so they are asked for as early as possible, and all before the first is
   needed. */
static void take_some(struct batch *batch, weir_ask *asks, uint64_t hash[], size_t count)
{
    const weir_table *table = batch->table;
    struct hash_words words[AT_ONCE / LANES];
    struct table_pairs pairs[AT_ONCE / LANES];
    bool moved[AT_ONCE / LANES];
    for (size_t i = 0; i < count; i += LANES)
        moved[i / LANES] = move_eight(table, asks + i, (size_t)least(count - i, LANES), &words[i / LANES]);
    for (size_t i = 0; i < count; i += LANES) {
        const size_t some = (size_t)least(count - i, LANES);
        if (moved[i / LANES])
            hash_eight(&table->secret, &words[i / LANES], keyed_salt(change_of(&asks[i]), 0), hash + i);
        for (size_t at = i; !moved[i / LANES] && at < i + some; at++) hash[at] = hash_of(table, &asks[at]);
        table_fetch_pairs(batch->slots, table->lanes, hash + i, some, &pairs[i / LANES]);
    }
    for (size_t i = 0; i < count; i += LANES)
        take_fetched(batch, &pairs[i / LANES], asks + i, hash + i, (size_t)least(count - i, LANES));
}

void keyed_take_batch(weir_table *table, weir_ask *asks, uint64_t hash[], size_t count, uint64_t now_ns)
{
    for (size_t i = 0; keyed_is_wide(table) && i < count; i++) {
        asks[i].decision = weir_table_take_at(table, asks[i].plan, asks[i].key, (weir_instant){now_ns}, asks[i].cost);
        hash[i] = 0;
    }
    if (keyed_is_wide(table)) return;
    struct batch batch = batch_of(table, now_ns);
    for (size_t i = 0; i < count; i += AT_ONCE)
        take_some(&batch, asks + i, hash + i, (size_t)least(count - i, AT_ONCE));
    keyed_count_granted(table, batch.calls, batch.permits);
}

void weir_table_take_batch(weir_table *table, weir_ask *asks, size_t count, weir_instant now)
{
    uint64_t hash[AT_ONCE];
    for (size_t i = 0; i < count; i += AT_ONCE)
        keyed_take_batch(table, asks + i, hash, (size_t)least(count - i, AT_ONCE), now.ns);
}
