/* SPDX-License-Identifier: MIT
   What a limiter reports: its counters, the state of its schedule, when an operation was due.  All is computed from the
   state that decides, at one moment. */
#include <string.h>

#include "api/limiter.h"
#include "api/sized.h"
#include "core/clock.h"
#include "core/num.h"

struct reading {
    uint64_t now_ns;
    weir_stats *stats;
    bool first;
};

/* The time that was given to calls, ahead or not. */
static uint64_t allocated_ns(const struct rule *rule, uint64_t now_ns, const struct account *account)
{
    const uint64_t given = account->given > 0 ? (uint64_t)account->given : 0;
    if (!clock_is_profile(rule)) return clock_ns_ago(rule, now_ns, given);
    const uint64_t next = tick_at(rule, now_ns) - (uint64_t)account->due + (uint64_t)account->given;
    return subtract_to_zero(ns_ceil_signed(rule, next), rule->anchor_ns);
}

/* In whole permits. */
static void read_schedule(const struct rule *rule, uint64_t now_ns, const struct account *account, weir_stats *stats)
{
    const int64_t permit = (int64_t)ticks_of(rule, 1);
    const int64_t left = (int64_t)((uint64_t)account->due - (uint64_t)account->given);
    /* Rounded down, also below zero. */
    const int64_t open = left / permit - (left % permit < 0);
    stats->allocated_ns = allocated_ns(rule, now_ns, account);
    stats->idle_ns = clock_ns_ago(rule, now_ns, account->missed);
    stats->due = permits_floor(rule, account->due > 0 ? (uint64_t)account->due : 0);
    stats->ahead = open < 0 ? (uint64_t)-open : 0;
    stats->missed = least(permits_floor(rule, account->missed), open > 0 ? (uint64_t)open : 0);
    stats->backlog = open > 0 ? (uint64_t)open - stats->missed : 0;
}

/* In a list the work can only be on the slowest schedule. */
static void read_rules(const struct cell_content *content, void *context)
{
    struct reading *reading = context;
    const uint64_t *state = content->state;
    for (int i = 0; i < content->count; i++) {
        const struct rule *rule = &content->rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        if (algorithm->lateness != NULL) {
            const struct account account = algorithm_account(rule, algorithm, state, tick_at(rule, reading->now_ns));
            const uint64_t late_ns = clock_ns_ago(rule, reading->now_ns, account.behind);
            const bool slowest = reading->first || late_ns < reading->stats->late_now_ns;
            if (slowest) reading->stats->late_now_ns = late_ns;
            if (slowest) read_schedule(rule, reading->now_ns, &account, reading->stats);
            reading->first = false;
        }
        state += state_words(rule, algorithm);
    }
}

void weir_read_stats(weir_limiter *limiter, weir_stats *stats, size_t size)
{
    weir_stats sum = {0};
    for (int i = 0; i <= HOST_SLOTS; i++) {
        const struct tally *tally = &limiter->tally[i];
        const uint64_t allowed = atom_load(&tally->allowed), denied = atom_load(&tally->denied);
        sum.calls += allowed + denied;
        sum.granted += allowed + atom_load(&tally->more);
        sum.denied += denied;
        sum.delayed += atom_load(&tally->delayed);
        sum.waiting_ns += atom_load(&tally->waiting_ns);
    }
    const uint64_t now_ns = limiter_stands_ns(limiter, limiter_now_ns(limiter));
    sum.late_max_ns = atom_load(&limiter->late_max_ns);
    sum.begun_ns = atom_load(&limiter->begun_ns);
    if (sum.begun_ns != 0) sum.elapsed_ns = subtract_to_zero(now_ns, sum.begun_ns + atom_load(&limiter->paused_ns));
    limiter_return_stock(limiter);
    limiter_look(limiter, read_rules, &(struct reading){now_ns, &sum, true});
    api_write_sized(stats, size, &sum, sizeof sum);
}

/* ---- when an operation was due ---- */

void weir_skip(weir_limiter *limiter, uint64_t permits)
{
    limiter_shift(limiter, permits, NULL, false);
}

/* The due times of permits of a decision: of the nth, or of all from the first on. */
struct asking {
    weir_limiter *limiter;
    const weir_decision *decision;
    uint64_t nth, *due_ns, count;
};

/* The rule that a decision was made by; NULL if a change has replaced it. */
static const struct rule *rule_in_force(const weir_limiter *limiter, const struct cell_content *content,
                                        const weir_decision *decision)
{
    const bool replaced = (uint32_t)decision->reserved != limiter->generation;
    return replaced || decision->limit >= (uint32_t)content->count ? NULL : &content->rule[decision->limit];
}

static void compute_due(const struct cell_content *content, void *context)
{
    struct asking *asking = context;
    const weir_decision *decision = asking->decision;
    const struct rule *rule = rule_in_force(asking->limiter, content, decision);
    const struct algorithm *algorithm = rule == NULL ? NULL : algorithm_of(rule);
    if (algorithm == NULL || algorithm->lateness == NULL) return;
    const struct rules rules = {content->rule, content->count};
    const uint64_t *state = content->state + decide_words_before(rules, (int)decision->limit);
    const uint64_t cost = ticks_of(rule, decision->charged), before = subtract_to_zero(asking->nth, 1);
    const uint64_t first = algorithm_due_in(rule, algorithm, state, decision->end, cost);
    /* A call that lost its start keeps the time at which it was due. */
    const uint64_t lost_ns = decision->due.ns != 0 ? decision->due.ns - ns_ceil_signed(rule, first) : 0;
    uint64_t end = decision->end - cost, tick = first + algorithm_apart(rule, algorithm, end, before);
    for (uint64_t i = 0; i < asking->count; i++) {
        asking->due_ns[i] = ns_ceil_signed(rule, tick) + lost_ns;
        tick += algorithm_apart(rule, algorithm, end, 1);
        end += ticks_of(rule, 1);
    }
}

/* What is not known otherwise was due when it started. */
static void due_from(const weir_limiter *limiter, const weir_decision *decision, uint64_t nth, uint64_t due_ns[],
                     uint64_t count)
{
    const bool known = decision->verdict == WEIR_ALLOW && decision->due.ns != 0;
    weir_limiter *locked = (weir_limiter *)(uintptr_t)limiter; /* only its locks are written */
    struct asking asking = {locked, decision, nth, due_ns, count};
    for (uint64_t i = 0; i < count; i++) due_ns[i] = known ? decision->due.ns : decision->start.ns;
    const bool computed = known || atom_load(&limiter->has_schedule) != 0;
    if (decision->verdict != WEIR_ALLOW || !computed) return;
    host_lock(&locked->mutex);
    limiter_look(locked, compute_due, &asking);
    host_unlock(&locked->mutex);
}

void limiter_due_each(const weir_limiter *limiter, const weir_decision *decision, uint64_t due_ns[])
{
    due_from(limiter, decision, 1, due_ns, decision->charged);
}

/* Most decisions contain it; for the others it is computed from the rule that they were made by, while that is in
   force. */
weir_instant weir_due(const weir_limiter *limiter, const weir_decision *decision, uint64_t nth)
{
    weir_instant due = decision->due;
    if (decision->verdict != WEIR_ALLOW || due.ns == 0 || nth > 1) due_from(limiter, decision, nth, &due.ns, 1);
    return due;
}
