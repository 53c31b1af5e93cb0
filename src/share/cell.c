/* SPDX-License-Identifier: MIT
   A few words under a short lock, within a process.

   Several limits that hold together, or an algorithm of several words, have to change as one.  Under a lock that is
   held for some tens of ns that costs nothing extra.  A caller that finds the lock taken spins a little and then
   yields, since the holder may have been preempted.  A lease in front of the cell avoids the contention. */
#include "share/cell.h"

#include "core/clock.h"
#include "core/decide_inline.h"
#include "share/lock.h"

enum { UNREAD_MAX = 64 };

static struct rules rules_of(const struct cell_content *content)
{
    return (struct rules){content->rule, content->count};
}

/* [locked] Permits in leases. */
static uint64_t out_of(const struct cell *cell)
{
    return cell->leases ? atom_load(cell->out) : 0;
}

/* [locked] */
static void cell_hold_leases(struct cell *cell, uint64_t now_ns)
{
    lease_hold_all(rules_of(&cell->content), cell->content.state, now_ns, out_of(cell));
}

void cell_open(struct cell *cell, struct atom *out, void (*yield)(void))
{
    *cell = (struct cell){.out = out, .yield = yield};
}

/* [locked] */
static void shift_all(const struct cell_content *content, uint64_t permits, const uint64_t each[], bool back)
{
    uint64_t *state = content->state;
    for (int i = 0; i < content->count; i++) {
        const struct rule *rule = &content->rule[i];
        algorithm_skip(rule, state, each != NULL ? each[i] : permits, back);
        state += state_words(rule, algorithm_of(rule));
    }
}

/* [locked] Returns the permits to the schedule and takes them again, due when they were.  No other caller can get them
   in between. */
static __attribute__((noinline)) void ask_again(const struct cell_content *content, const struct ask *ask,
                                                weir_decision *decision)
{
    shift_all(content, ask->cost, ask->each, true);
    ask_rules(rules_of(content), content->state, ask, decision);
    if (decision->verdict != WEIR_ALLOW) shift_all(content, ask->cost, ask->each, false);
}

/* The profile begins with the first call that takes from it. */
static __attribute__((noinline)) void ask_first(struct cell_content *content, const struct ask *ask,
                                                weir_decision *decision)
{
    content->rule[0].anchor_ns = ask->now_ns;
    ask_rules(rules_of(content), content->state, ask, decision);
    if (ask->peek || decision->verdict != WEIR_ALLOW) content->rule[0].anchor_ns = RULE_NOT_BEGUN;
}

static ATOM_INLINE void ask_content(struct cell_content *content, uint64_t out, const struct ask *ask,
                                    weir_decision *decision)
{
    struct ask beside = *ask;
    if (content->rule[0].anchor_ns == RULE_NOT_BEGUN) {
        ask_first(content, ask, decision);
        return;
    }
    if (out != 0) {
        lease_hold_all(rules_of(content), content->state, ask->now_ns, out);
        beside.wait_max_ns = lease_wait_all_ns(rules_of(content), out, ask);
        lease_hold_until(rules_of(content), content->state, &beside, out);
    }
    if (ask->again) ask_again(content, &beside, decision);
    else ask_rules(rules_of(content), content->state, &beside, decision);
}

void cell_ask(struct cell_content *content, uint64_t out, const struct ask *ask, weir_decision *decision)
{
    const struct rules rules = rules_of(content);
    uint64_t same[WEIR_LIMITS_MAX];
    if (ask->each == NULL) cost_alike(same, rules.count, ask->cost);
    ask->undo->order = ++content->asked;
    undo_begin(rules, content->state, ask->each != NULL ? ask->each : same, ask->undo);
    ask_content(content, out, ask, decision);
    undo_end(rules, content->state, ask->undo);
}

/* A caller that waits for a change in progress does so without the lock. */
static bool cell_enter(struct cell *cell)
{
    if (!cell_is_filled(cell)) return false;
    lock_take(&cell->lock, cell->yield);
    if (cell->content.count != 0) return true;
    lock_release(&cell->lock);
    return false;
}

bool cell_decide(struct cell *cell, const struct ask *ask, weir_decision *decision)
{
    if (!cell_enter(cell)) return false;
    if (ask->undo != NULL) cell_ask(&cell->content, out_of(cell), ask, decision);
    else ask_content(&cell->content, out_of(cell), ask, decision);
    lock_release(&cell->lock);
    return true;
}

bool cell_take(struct cell *cell, uint64_t now_ns, uint64_t cost, weir_decision *decision)
{
    if (!cell_enter(cell)) return false;
    struct cell_content *content = &cell->content;
    const uint64_t out = out_of(cell);
    const bool may = cell->passes != NULL && out == 0;
    if (!may || !decide_pass(content->rule, cell->passes, content->state, now_ns, cost, decision)) {
        ask_content(content, out, &(struct ask){.now_ns = now_ns, .cost = cost}, decision);
    }
    lock_release(&cell->lock);
    return true;
}

bool cell_decide_unread(struct cell *cell, const struct ask *ask, weir_decision *decision)
{
    if (!cell_enter(cell)) return false;
    const struct rules rules = rules_of(&cell->content);
    const struct algorithm *algorithm = algorithm_of(rules.rule);
    uint64_t seen = 0;
    const bool may = rules.count == 1 && algorithm->knows != NULL && cell->unread < UNREAD_MAX;
    const bool known = may && algorithm->knows(rules.rule, cell->content.state, &seen);
    cell->unread = known ? cell->unread + 1 : 0;
    if (known) {
        struct ask as_seen = *ask;
        as_seen.now_ns = ns_ceil(rules.rule, seen);
        ask_rules(rules, cell->content.state, &as_seen, decision);
    }
    lock_release(&cell->lock);
    return known;
}

/* [locked] */
static void refuse_behind(struct cell_content *content, uint64_t out, const struct ask *ask, uint64_t before,
                          weir_decision *decision)
{
    const struct rules rules = rules_of(content);
    const int holder = decide_holder(rules);
    uint64_t each[WEIR_LIMITS_MAX];
    for (int i = 0; i < rules.count; i++) each[i] = ask->each != NULL ? ask->each[i] : ask->some ? 1 : ask->cost;
    if (holder >= 0) {
        const uint64_t most_slots = most(rules.rule[holder].burst, each[holder]);
        each[holder] = least(add_saturating(each[holder], before), most_slots);
    }
    ask_content(content, out, &(struct ask){.now_ns = ask->now_ns, .each = each, .peek = true}, decision);
    if (decision->verdict == WEIR_NEVER) return;
    decision->verdict = WEIR_DENY;
    decision->limit = holder < 0 ? 0 : (uint32_t)holder;
    decision->retry_ns = most(decision_retry_ns(decision), 1);
    decision->charged = 0;
}

void cell_refuse_behind(struct cell *cell, const struct ask *ask, uint64_t before, weir_decision *decision)
{
    if (!cell_enter(cell)) return;
    refuse_behind(&cell->content, out_of(cell), ask, before, decision);
    lock_release(&cell->lock);
}

bool cell_peek_limit(struct cell *cell, int limit, const struct ask *ask, weir_decision *decision)
{
    if (!cell_enter(cell)) return false;
    const struct rules rules = rules_of(&cell->content);
    cell_hold_leases(cell, ask->now_ns);
    if (limit < rules.count && rules.rule[0].anchor_ns == RULE_NOT_BEGUN) {
        ask_first(&cell->content, ask, decision);
    } else if (limit < rules.count) {
        const struct rules one = {&rules.rule[limit], 1};
        ask_rules(one, cell->content.state + decide_words_before(rules, limit), ask, decision);
        decision->limit = (uint32_t)limit;
    }
    lock_release(&cell->lock);
    return true;
}

bool cell_settle(struct cell *cell, uint64_t now_ns, const weir_decision *decision, const uint64_t cost[],
                 const uint64_t actual[], const uint64_t end[])
{
    if (!cell_enter(cell)) return false;
    struct cell_content *content = &cell->content;
    uint64_t used[WEIR_LIMITS_MAX];
    cell_hold_leases(cell, now_ns);
    for (int i = 0; i < content->count; i++) {
        /* Decided before the limits were changed: nothing is given back but slots, whose id says whose they are. */
        const bool foreign = content->rule[0].generation != (uint32_t)decision->reserved &&
                             content->rule[i].algorithm != ALGORITHM_CONCURRENT;
        used[i] = foreign && actual[i] < cost[i] ? cost[i] : actual[i];
    }
    decide_settle(rules_of(content), content->state, now_ns, decision, cost, used, end);
    lock_release(&cell->lock);
    return true;
}

bool cell_hold_slots(struct cell *cell, uint64_t now_ns, uint64_t id, enum hold hold, uint64_t *count)
{
    if (!cell_enter(cell)) return false;
    *count = decide_hold(rules_of(&cell->content), cell->content.state, now_ns, id, hold);
    lock_release(&cell->lock);
    return true;
}

bool cell_shift(struct cell *cell, uint64_t permits, const uint64_t each[], bool back)
{
    if (!cell_enter(cell)) return false;
    shift_all(&cell->content, permits, each, back);
    lock_release(&cell->lock);
    return true;
}

bool cell_trade(struct cell *cell, const struct trade *trade, struct lease_slice *slice)
{
    *slice = (struct lease_slice){.permits = 0};
    if (!cell_enter(cell)) return false;
    const struct cell_content *content = &cell->content;
    *slice = lease_trade_all(rules_of(content), content->state, trade, out_of(cell));
    if (slice->permits > trade->held) lease_more(cell->out, slice->permits - trade->held);
    if (slice->permits < trade->held) lease_fewer(cell->out, trade->held - slice->permits);
    lock_release(&cell->lock);
    return true;
}

void cell_close(struct cell *cell, struct cell_content *content)
{
    lock_take(&cell->lock, cell->yield);
    *content = cell->content;
    cell->content.count = 0;
    cell->content.state = NULL;
    atom_store(&cell->filled, 0);
    lock_release(&cell->lock);
}

void cell_open_with(struct cell *cell, const struct cell_content *content)
{
    lock_take(&cell->lock, cell->yield);
    cell->content = *content;
    const struct algorithm *algorithm = algorithm_of(content->rule);
    const bool passes = content->count == 1 && algorithm->pass != NULL && !algorithm_arrives(content->rule, algorithm);
    cell->passes = passes ? algorithm : NULL;
    cell->leases = content->count != 0 && lease_may(rules_of(content));
    atom_store(&cell->filled, content->count != 0);
    lock_release(&cell->lock);
}

void cell_carry(const struct cell_content *from, const struct cell_content *to, uint64_t now_ns, weir_carry carry)
{
    const uint64_t *state = from->state;
    uint64_t *next = to->state;
    bool same = from->count == to->count;
    for (int i = 0; same && i < to->count; i++) same = from->rule[i].algorithm == to->rule[i].algorithm;
    for (int i = 0; same && i < to->count; i++) {
        const struct rule *rule = &from->rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        if (algorithm->words == 0) continue;
        algorithm->carry(rule, &to->rule[i], state, next, tick_at(rule, now_ns), carry);
        state += state_words(rule, algorithm);
        next += state_words(&to->rule[i], algorithm);
    }
}

void cell_hold(struct cell *cell)
{
    lock_take(&cell->lock, cell->yield);
}

void cell_let_go(struct cell *cell)
{
    lock_release(&cell->lock);
}

bool cell_look(struct cell *cell, void (*look)(const struct cell_content *content, void *context), void *context)
{
    if (!cell_enter(cell)) return false;
    look(&cell->content, context);
    lock_release(&cell->lock);
    return true;
}
