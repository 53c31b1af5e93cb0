/* SPDX-License-Identifier: MIT
   cell.c - a few words under a short lock, in process.

   Several limits that hold together, or an algorithm of several words, change as one: with a lock that is held for some
   tens of ns, all or nothing costs nothing extra.  A caller who finds it held spins a little and then yields, since the
   holder may have lost its processor.

   May touch: the cell.  Promises: each call is one step for all others.  Leaves to others: the clock, fairness (a lease
   in front takes the contention away). */
#include "share/cell.h"

#include <string.h>

#include "core/clock.h"

enum { SPINS_BEFORE_YIELD = 100, UNREAD_MAX = 64 };

static void lock(struct cell *cell)
{
    uint64_t expected = 0;
    for (unsigned turn = 1; !atom_swap(&cell->lock, &expected, 1); turn++) {
        while (atom_load(&cell->lock) != 0) {
            if (turn++ % SPINS_BEFORE_YIELD == 0) cell->yield();
            else atom_pause();
        }
        expected = 0;
    }
}

static void unlock(struct cell *cell)
{
    atom_store_release(&cell->lock, 0);
}

static struct rules rules_of(const struct cell_content *content)
{
    return (struct rules){content->rule, content->count};
}

/* [locked] Returns how many permits are out.  Of one limit only: lists have no leases. */
static uint64_t hold(struct cell *cell, uint64_t now_ns)
{
    const uint64_t out = cell->content.count == 1 ? atom_load_acquire(cell->out) : 0;
    if (out != 0) lease_hold(cell->content.rule, cell->content.state, now_ns, out);
    return out;
}

void cell_open(struct cell *cell, struct atom *out, void (*yield)(void))
{
    memset(&cell->content, 0, sizeof cell->content);
    cell->out = out;
    cell->yield = yield;
    cell->unread = 0;
    atom_store_release(&cell->lock, 0);
}

/* [locked] */
static void shift_all(const struct cell_content *content, uint64_t permits, bool back)
{
    uint64_t *state = content->state;
    for (int i = 0; i < content->count; i++) {
        const struct rule *rule = &content->rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        if (algorithm->shift != NULL) algorithm->shift(rule, state, ticks_of(rule, permits), back);
        state += state_words(rule, algorithm);
    }
}

/* [locked] Between giving the permits back to the schedule and taking them nobody else may get them: they are due when
   they were. */
static __attribute__((noinline)) void ask_again(const struct cell_content *content, const struct ask *ask,
                                                weir_decision *decision)
{
    shift_all(content, ask->cost, true);
    ask_rules(rules_of(content), content->state, ask, decision);
    if (decision->verdict != WEIR_ALLOW) shift_all(content, ask->cost, false);
}

bool cell_decide(struct cell *cell, const struct ask *ask, weir_decision *decision)
{
    lock(cell);
    const bool here = cell->content.count != 0;
    const uint64_t out = hold(cell, ask->now_ns);
    struct ask beside = *ask;
    if (out != 0) beside.wait_max_ns = lease_wait_max_ns(cell->content.rule, out, ask);
    if (here && ask->again) ask_again(&cell->content, &beside, decision);
    else if (here) ask_rules(rules_of(&cell->content), cell->content.state, &beside, decision);
    unlock(cell);
    return here;
}

bool cell_decide_unread(struct cell *cell, const struct ask *ask, weir_decision *decision)
{
    lock(cell);
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
    unlock(cell);
    return known;
}

bool cell_peek_limit(struct cell *cell, int limit, const struct ask *ask, weir_decision *decision)
{
    lock(cell);
    const struct rules rules = rules_of(&cell->content);
    const bool here = rules.count != 0;
    hold(cell, ask->now_ns);
    if (limit < rules.count) {
        const struct rules one = {&rules.rule[limit], 1};
        ask_rules(one, cell->content.state + words_before(rules, limit), ask, decision);
        decision->limit = (uint32_t)limit;
    }
    unlock(cell);
    return here;
}

bool cell_settle(struct cell *cell, uint64_t now_ns, const weir_decision *decision, const uint64_t cost[],
                 const uint64_t actual[], const uint64_t end[])
{
    lock(cell);
    struct cell_content *content = &cell->content;
    const bool here = content->count != 0;
    uint64_t used[WEIR_LIMITS_MAX];
    hold(cell, now_ns);
    for (int i = 0; i < content->count; i++) {
        /* Made before the limits were changed: nothing is given back. */
        const bool foreign = content->rule[0].generation != (uint32_t)decision->reserved;
        used[i] = foreign && actual[i] < cost[i] ? cost[i] : actual[i];
    }
    settle(rules_of(content), content->state, now_ns, decision, cost, used, end);
    unlock(cell);
    return here;
}

void cell_shift(struct cell *cell, int64_t permits)
{
    lock(cell);
    shift_all(&cell->content, permits < 0 ? 0 - (uint64_t)permits : (uint64_t)permits, permits < 0);
    unlock(cell);
}

bool cell_trade(struct cell *cell, const struct trade *trade, struct lease_slice *slice)
{
    lock(cell);
    const struct cell_content *content = &cell->content;
    const bool here = content->count != 0;
    *slice = (struct lease_slice){.permits = 0};
    if (content->count == 1) {
        *slice = lease_trade(content->rule, content->state, trade, atom_load_acquire(cell->out));
    }
    if (here && slice->permits > trade->held) lease_more(cell->out, slice->permits - trade->held);
    if (here && slice->permits < trade->held) lease_fewer(cell->out, trade->held - slice->permits);
    unlock(cell);
    return here;
}

static bool same_algorithms(const struct cell_content *content, const struct rule rule[], int count)
{
    bool same = content->count == count;
    for (int i = 0; same && i < count; i++) same = content->rule[i].algorithm == rule[i].algorithm;
    return same;
}

static void carry_all(const struct cell_content *content, const struct rule to[], uint64_t *next, uint64_t now_ns,
                      weir_carry carry, struct change *change)
{
    const uint64_t *state = content->state;
    for (int i = 0; i < content->count; i++) {
        const struct rule *from = &content->rule[i];
        const struct algorithm *algorithm = algorithm_of(from);
        if (algorithm->words == 0) continue;
        const uint64_t now = tick_at(from, now_ns);
        change->mark_from[i] = algorithm_at(from, algorithm, state, now).end;
        algorithm->carry(from, &to[i], state, next, now, carry);
        change->mark_to[i] = algorithm_at(&to[i], algorithm, next, to[i].anchor_tick).end;
        change->rule[i] = *from;
        state += state_words(from, algorithm);
        next += state_words(&to[i], algorithm);
    }
}

uint64_t *cell_change(struct cell *cell, struct rule rule[], int count, uint64_t *state, uint64_t now_ns,
                      weir_carry carry, struct change *change)
{
    for (int i = 0; i < count; i++) rule[i].anchor_tick = 1;
    lock(cell);
    hold(cell, now_ns);
    struct cell_content *content = &cell->content;
    uint64_t *before = content->state;
    const bool same = same_algorithms(content, rule, count);
    change->count = same ? count : 0;
    if (same) carry_all(content, rule, state, now_ns, carry, change);
    for (int i = 0; i < count; i++) content->rule[i] = rule[i];
    content->count = count;
    content->state = state;
    unlock(cell);
    return before;
}

void cell_hold(struct cell *cell)
{
    lock(cell);
}

void cell_let_go(struct cell *cell)
{
    unlock(cell);
}

void cell_look(struct cell *cell, void (*look)(const struct cell_content *content, void *context), void *context)
{
    lock(cell);
    look(&cell->content, context);
    unlock(cell);
}
