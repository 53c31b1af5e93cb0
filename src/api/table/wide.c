/* SPDX-License-Identifier: MIT
   Algorithms that do not fit a 16-byte slot: a state of any size for each key, under a lock for each stripe.

   Within a process the lock of a stripe is a word.  Between processes it is also a byte of the file, which the kernel
   unlocks when the holder dies.  A state is written beside the old one and then chosen, so a half-written one is never
   read.

   A process that is stopped as the holder, or a system that grants no locks, blocks no caller: a caller waits for the
   lock in the file as long as the table's options say.  After that the word says that this stripe is stuck, and until
   its lock is had again callers only try once: the stripe's keys are refused at once, and other keys are not affected.
   A thread that was preempted as the holder comes back, and is waited for. */
#include <string.h>

#include "api/table/keyed.h"
#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"
#include "core/stamps.h"
#include "core/tenants.h"

/* The values of a lock's word. */
enum { LOCK_FREE, LOCK_HELD, LOCK_STUCK /* free in this process, but another one does not release it */ };

#define LOOK_WAIT_NS UINT64_C(1000000)
#define WORD_WAIT_NS UINT64_C(1000000000) /* one of a lower priority may not run at all while others wait for it */

/* In the hash, so that a wide state and a slot of the same key have nothing in common. */
enum { WIDE_SALT = WEIR_LIMITS_MAX, STRIPE_SPINS_BEFORE_YIELD = 100, ALGORITHM_BITS = 4 };

_Static_assert(ALGORITHM_NAMES <= 1 << ALGORITHM_BITS && WEIR_LIMITS_MAX * ALGORITHM_BITS < 60,
               "a salt tells all lists");

/* ---- locks ---- */

/* Excludes the other threads of this process; *stuck: it was stuck when it was taken. */
static bool take_word(struct atom *word, uint64_t wait_ns, bool *stuck)
{
    uint64_t seen = atom_load(word), until_ns = 0;
    for (unsigned attempt = 1; seen == LOCK_HELD || !atom_swap(word, &seen, LOCK_HELD); attempt++) {
        if (attempt % STRIPE_SPINS_BEFORE_YIELD == 0) {
            const uint64_t now_ns = host_now_ns();
            if (until_ns == 0) until_ns = add_saturating(now_ns, wait_ns);
            if (now_ns >= until_ns) return false;
            host_yield();
        } else {
            atom_pause();
        }
        seen = atom_load(word);
    }
    *stuck = seen == LOCK_STUCK;
    return true;
}

/* region: the file; NULL: in memory. */
static bool lock_stripe(struct atom *word, const struct host_region *region, uint64_t byte, uint64_t wait_ns)
{
    bool stuck = false;
    /* Another thread may hold it and wait for the file. */
    bool had = take_word(word, most(2 * wait_ns, WORD_WAIT_NS), &stuck);
    if (had && region != NULL && host_region_lock(region, byte, stuck ? 0 : wait_ns) != 0) {
        atom_store_release(word, LOCK_STUCK);
        had = false;
    }
    return had;
}

static void unlock_stripe(struct atom *word, const struct host_region *region, uint64_t byte)
{
    if (region != NULL) host_region_unlock(region, byte);
    atom_store_release(word, LOCK_FREE);
}

/* The scratch words belong to this process. */
static const struct host_region *file_of(const weir_table *table, unsigned stripe)
{
    return table->wide.kept && stripe != WIDE_PAPER ? &table->region : NULL;
}

static bool lock_for(weir_table *table, unsigned stripe, uint64_t wait_ns)
{
    keyed_after_fork(table);
    return lock_stripe(&table->stripe[stripe], file_of(table, stripe), LOCK_STRIPES + stripe, wait_ns);
}

bool keyed_lock(void *context, unsigned stripe)
{
    weir_table *table = context;
    return lock_for(table, stripe, table->wait_ns);
}

static bool lock_to_look(void *context, unsigned stripe)
{
    return lock_for(context, stripe, LOOK_WAIT_NS);
}

void keyed_unlock(void *context, unsigned stripe)
{
    weir_table *table = context;
    unlock_stripe(&table->stripe[stripe], file_of(table, stripe), LOCK_STRIPES + stripe);
}

/* The locks of the plans and the scratch words are the table's.  After the table's own locks in the file come those of
   its parts. */
static uint64_t byte_of(const struct keyed_part *part, unsigned stripe)
{
    return LOCK_STRIPES + part->number * (uint64_t)WIDE_STRIPES + stripe;
}

static const struct host_region *file_of_part(const struct keyed_part *part)
{
    return part->wide.kept ? &part->table->parts_region : NULL;
}

bool keyed_lock_part(void *context, unsigned stripe)
{
    struct keyed_part *part = context;
    if (stripe >= WIDE_STRIPES) return keyed_lock(part->table, stripe);
    return lock_stripe(&part->stripe[stripe], file_of_part(part), byte_of(part, stripe), part->table->wait_ns);
}

void keyed_unlock_part(void *context, unsigned stripe)
{
    struct keyed_part *part = context;
    if (stripe >= WIDE_STRIPES) keyed_unlock(part->table, stripe);
    else unlock_stripe(&part->stripe[stripe], file_of_part(part), byte_of(part, stripe));
}

static bool lock_part_to_look(void *context, unsigned stripe)
{
    struct keyed_part *part = context;
    keyed_after_fork(part->table);
    return lock_stripe(&part->stripe[stripe], file_of_part(part), byte_of(part, stripe), LOOK_WAIT_NS);
}

uint64_t keyed_wide_live(weir_table *table, struct keyed_part *part, uint64_t now_ns)
{
    struct wide wide = part != NULL ? part->wide : table->wide;
    wide.lock = part != NULL ? lock_part_to_look : lock_to_look;
    return wide_live(&wide, now_ns);
}

static struct wide *keyed_wide_of(weir_table *table, const struct plan *plan)
{
    struct keyed_part *part = keyed_part_of(table, plan);
    return part != NULL ? &part->wide : &table->wide;
}

/* ---- calls ---- */

/* Another algorithm gets another state; other numbers find the same one. */
uint64_t keyed_wide_hash(const weir_table *table, const struct plan *plan, weir_key key)
{
    uint64_t salt = 0;
    for (uint64_t i = 0; i < plan->count; i++) salt = salt << ALGORITHM_BITS | plan->rule[i].algorithm;
    return hash_key(&table->secret, key.bytes, key.size, WIDE_SALT + (salt << ALGORITHM_BITS));
}

/* In files the times keep the format of 4 or 8 bytes: older versions may be using the same file. */
static struct rule rule_in_slot(const struct rule *rule, bool kept)
{
    struct rule copy = *rule;
    if (kept) copy.flags &= (uint8_t)~STAMPS_6_BYTES;
    return copy;
}

uint64_t keyed_wide_words(const struct plan *plan, bool kept)
{
    struct rule copy[WEIR_LIMITS_MAX];
    for (uint64_t i = 0; i < plan->count; i++) copy[i] = rule_in_slot(&plan->rule[i], kept);
    return most(decide_words_before((struct rules){copy, (int)plan->count}, (int)plan->count), 1);
}

/* Windows that are aligned to the wall clock begin by it; the time in the table is another. */
static struct rules aligned(const weir_table *table, const struct plan *plan, struct rule copy[WEIR_LIMITS_MAX])
{
    for (uint64_t i = 0; i < plan->count; i++) {
        copy[i] = rule_in_slot(&plan->rule[i], table->wide.kept);
        algorithm_align(&copy[i], 0, table->epoch_ns);
    }
    return (struct rules){copy, (int)plan->count};
}

/* The offset may be negative (modulo 2^64), after a reboot or in another time namespace. */
static void answer(const weir_table *table, weir_decision *decision)
{
    decision->start.ns -= table->offset_ns;
    if (decision->verdict == WEIR_ALLOW && decision->due.ns != 0) decision->due.ns -= table->offset_ns;
}

static void ask_wide(weir_table *table, struct wide *home, const struct plan *plan, weir_key key, const struct ask *ask,
                     weir_decision *decision, uint32_t *events)
{
    struct rule copy[WEIR_LIMITS_MAX];
    struct ask inside = *ask;
    inside.now_ns += table->offset_ns;
    if (plan_has_profile(plan) || plan_arrives(plan) ||
        !wide_ask(home, keyed_wide_hash(table, plan, key), aligned(table, plan, copy), &inside, decision, events)) {
        *decision = (weir_decision){.verdict = WEIR_NEVER, .start = {inside.now_ns}};
    }
    if ((*events & TABLE_STUCK) != 0) atom_add(&table->stuck, 1);
    if (ask->peek) decision->charged = 0;
    answer(table, decision);
}

void keyed_wide_ask(weir_table *table, const struct plan *plan, weir_key key, const struct ask *ask,
                    weir_decision *decision, uint32_t *events)
{
    ask_wide(table, keyed_wide_of(table, plan), plan, key, ask, decision, events);
}

void keyed_wide_peek_limit(weir_table *table, const struct plan *plan, weir_key key, int limit, const struct ask *ask,
                           weir_decision *decision)
{
    struct rule copy[WEIR_LIMITS_MAX];
    struct ask inside = *ask;
    inside.now_ns += table->offset_ns;
    wide_peek_limit(keyed_wide_of(table, plan), keyed_wide_hash(table, plan, key), aligned(table, plan, copy), limit,
                    &inside, decision);
    decision->limit = (uint32_t)limit;
    decision->charged = 0;
    answer(table, decision);
}

void keyed_wide_settle(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns,
                       const weir_decision *decision, const uint64_t cost[], const uint64_t actual[],
                       const uint64_t end[])
{
    struct rule copy[WEIR_LIMITS_MAX];
    weir_decision inside = *decision;
    inside.start.ns += table->offset_ns;
    if (!wide_settle(keyed_wide_of(table, plan), keyed_wide_hash(table, plan, key), aligned(table, plan, copy),
                     now_ns + table->offset_ns, &inside, cost, actual, end))
        atom_add(&table->stuck, 1);
}

uint64_t keyed_wide_hold(weir_table *table, const struct plan *plan, weir_key key, uint64_t now_ns, uint64_t id,
                         enum hold hold)
{
    struct rule copy[WEIR_LIMITS_MAX];
    uint64_t count;
    if (!wide_hold(keyed_wide_of(table, plan), keyed_wide_hash(table, plan, key), aligned(table, plan, copy),
                   now_ns + table->offset_ns, id, hold, &count))
        atom_add(&table->stuck, 1);
    return count;
}

void keyed_wide_forget(weir_table *table, const struct plan *plan, weir_key key)
{
    wide_forget(keyed_wide_of(table, plan), keyed_wide_hash(table, plan, key));
}

uint64_t keyed_wide_full_ns(const weir_table *table, const struct plan *plan, const weir_decision *decision)
{
    struct rule copy[WEIR_LIMITS_MAX];
    weir_decision inside = *decision;
    inside.start.ns += table->offset_ns;
    return plan_full_ns(aligned(table, plan, copy), &inside);
}

/* ---- several keys at once ---- */

static bool already_locked(void *context, unsigned stripe)
{
    (void)context;
    (void)stripe;
    return true;
}

static void keep_locked(void *context, unsigned stripe)
{
    (void)context;
    (void)stripe;
}

static uint64_t stripes_of(const weir_table *table, const struct wide *home, const weir_ask *asks, size_t count)
{
    uint64_t stripes = 0;
    for (size_t i = 0; i < count; i++) {
        stripes |=
            UINT64_C(1) << wide_stripe(home, keyed_wide_hash(table, plan_inside_const(asks[i].plan), asks[i].key));
    }
    return stripes;
}

static void unlock_all(struct wide *wide, uint64_t stripes)
{
    for (unsigned i = 0; i < WIDE_STRIPES; i++) {
        if (stripes >> i & 1) wide->unlock(wide->context, i);
    }
}

/* In order, to avoid deadlock; false: one could not be had, and none is held. */
static bool lock_all(struct wide *wide, uint64_t stripes)
{
    for (unsigned i = 0; i < WIDE_STRIPES; i++) {
        if ((stripes >> i & 1) == 0 || wide->lock(wide->context, i)) continue;
        unlock_all(wide, stripes & ((UINT64_C(1) << i) - 1));
        return false;
    }
    return true;
}

static bool same_key(weir_key one, weir_key other)
{
    return one.size == other.size && (one.size == 0 || memcmp(one.bytes, other.bytes, one.size) == 0);
}

/* The sum of the costs of all calls for this key. */
static uint64_t cost_of_key(const weir_ask *asks, size_t count, weir_key key)
{
    uint64_t cost = 0;
    for (size_t i = 0; i < count; i++) {
        if (same_key(asks[i].key, key)) cost = add_saturating(cost, asks[i].cost);
    }
    return cost;
}

/* A call under all locks. */
struct held_call {
    weir_table *table;
    struct wide *home;
    weir_ask *asks;
    size_t count;
    uint64_t now_ns;
    const struct keyed_lent *lent;
    uint32_t *events;
};

/* The guaranteed limit of the last ask is a plain one: nothing is behind it. */
static bool is_guaranteed(const struct held_call *call, size_t i)
{
    return i + 1 < call->count && tenants_guaranteed(&plan_inside_const(call->asks[i].plan)->rule[0]);
}

/* `how` but for the time and the costs. */
static void ask_held(const struct held_call *call, size_t i, uint64_t cost, struct ask how)
{
    uint64_t each[WEIR_LIMITS_MAX];
    weir_ask *ask = &call->asks[i];
    cost_alike(each, WEIR_LIMITS_MAX, cost);
    if (how.peek && i + 1 == call->count && call->lent->limit >= 0)
        each[call->lent->limit] = add_saturating(each[call->lent->limit], call->lent->spare);
    how.now_ns = call->now_ns;
    how.each = each;
    ask_wide(call->table, call->home, plan_inside_const(ask->plan), ask->key, &how, &ask->decision, call->events);
}

static uint64_t wait_in(const weir_decision *decision)
{
    return decision->verdict == WEIR_NEVER ? UINT64_MAX : decision_retry_ns(decision);
}

/* How long until one of its limits has room. */
static uint64_t limit_wait(const struct held_call *call, size_t i, int limit, uint64_t cost)
{
    struct rule copy[WEIR_LIMITS_MAX];
    weir_decision decision;
    uint64_t each[1] = {cost};
    const struct plan *plan = plan_inside_const(call->asks[i].plan);
    const struct ask ask = {.now_ns = call->now_ns + call->table->offset_ns, .each = each, .peek = true};
    if (!wide_peek_limit(call->home, keyed_wide_hash(call->table, plan, call->asks[i].key),
                         aligned(call->table, plan, copy), limit, &ask, &decision))
        return UINT64_MAX;
    return wait_in(&decision);
}

/* Leaves in the ask's decision what its plain limits say. */
static struct tenant look_held(const struct held_call *call, size_t i)
{
    const struct plan *plan = plan_inside_const(call->asks[i].plan);
    const uint64_t cost = cost_of_key(call->asks, call->count, call->asks[i].key);
    const int holder = decide_holder(plan_rules(plan));
    struct tenant tenant = {0, UINT64_MAX, 0};
    ask_held(call, i, cost,
             (struct ask){.peek = true, .tenant = is_guaranteed(call, i) ? ASK_BORROWS : ASK_NOT_TENANT});
    tenant.plain = wait_in(&call->asks[i].decision);
    if (is_guaranteed(call, i)) tenant.guaranteed = limit_wait(call, i, 0, cost);
    if (i != 0 && holder >= 0) tenant.held = limit_wait(call, i, holder, cost);
    return tenant;
}

/* Of the ask whose guarantee will have room first, all its limits say why not yet; of those behind it, what cannot be
   owed. */
static void refuse_held(const struct held_call *call, const struct tenant tenants[], size_t by)
{
    if (by < call->count)
        ask_held(call, by, cost_of_key(call->asks, call->count, call->asks[by].key), (struct ask){.peek = true});
    for (size_t i = by + 1; i < call->count; i++) {
        const uint64_t held = tenants[i].held;
        weir_decision *decision = &call->asks[i].decision;
        decision->verdict = held == 0 ? WEIR_ALLOW : held == UINT64_MAX ? WEIR_NEVER : WEIR_DENY;
        decision->retry_ns = decision->verdict == WEIR_DENY ? held : 0;
        decision->charged = decision->delay_ns = 0;
        if (held != 0) decision->limit = (uint32_t)decide_holder(plan_rules(plan_inside_const(call->asks[i].plan)));
    }
}

/* See core/tenants.h. */
static bool ask_together(const struct held_call *call)
{
    struct tenant tenants[WEIR_ASKS_MAX];
    uint64_t wait;
    bool taken = true;
    for (size_t i = 0; i < call->count; i++) tenants[i] = look_held(call, i);
    const size_t by = tenants_choose(tenants, call->count, &wait);
    if (wait != 0) {
        refuse_held(call, tenants, by);
        return false;
    }
    for (size_t i = 0; i < call->count; i++) {
        weir_ask *ask = &call->asks[i];
        const bool borrows = i < by && is_guaranteed(call, i), owes = i > by;
        ask_held(call, i, ask->cost, (struct ask){.tenant = borrows ? ASK_BORROWS : owes ? ASK_OWES : ASK_NOT_TENANT});
        taken = taken && ask->decision.verdict == WEIR_ALLOW;
        if (borrows && ask->decision.verdict == WEIR_ALLOW) ask->decision.reserved |= DECISION_BORROWED;
    }
    return taken;
}

/* Under all locks, calls that pass together also pass one by one, except if a limit with a gap has the same key twice:
   then the first stays charged. */
static bool take_held(weir_table *table, struct keyed_part *part, weir_ask *asks, size_t count, uint64_t now_ns,
                      const struct keyed_lent *lent, uint32_t *events)
{
    struct wide usual = table->wide, home = part != NULL ? part->wide : usual;
    usual.lock = home.lock = already_locked;
    usual.unlock = home.unlock = keep_locked;
    if (part != NULL) home.beside = &usual;
    return ask_together(&(struct held_call){table, &home, asks, count, now_ns, lent, events});
}

static bool all_stuck(weir_table *table, weir_ask *asks, size_t count, uint64_t now_ns)
{
    for (size_t i = 0; i < count; i++) wide_stuck(&asks[i].decision, now_ns);
    atom_add(&table->stuck, 1);
    return false;
}

/* Locks the table's stripes first, then those of its part, the plans and the scratch words last.  The plans of one call
   have the same part. */
bool keyed_wide_take_all(weir_table *table, weir_ask *asks, size_t count, uint64_t now_ns,
                         const struct keyed_lent *lent, uint32_t *events)
{
    struct keyed_part *part = count != 0 ? keyed_part_of(table, plan_inside_const(asks[0].plan)) : NULL;
    struct wide *usual = &table->wide, *home = part != NULL ? &part->wide : usual;
    const uint64_t stripes = stripes_of(table, usual, asks, count);
    const uint64_t in_part = part != NULL ? stripes_of(table, home, asks, count) : 0;
    bool pass = false;
    if (!lock_all(usual, stripes)) return all_stuck(table, asks, count, now_ns);
    if (!lock_all(home, in_part)) {
        unlock_all(usual, stripes);
        return all_stuck(table, asks, count, now_ns);
    }
    const bool plans = keyed_lock(table, WIDE_PLANS);
    const bool paper = plans && keyed_lock(table, WIDE_PAPER);
    pass = paper ? take_held(table, part, asks, count, now_ns, lent, events) : all_stuck(table, asks, count, now_ns);
    if (paper) keyed_unlock(table, WIDE_PAPER);
    if (plans) keyed_unlock(table, WIDE_PLANS);
    unlock_all(home, in_part);
    unlock_all(usual, stripes);
    return pass;
}
