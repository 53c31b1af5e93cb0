/* SPDX-License-Identifier: MIT
   decide_inline.h - the body of decide(), so that a caller with one limit gets it without the loops.

   Every limit is asked first when it could start the call; the latest of them is the start, and only if that is soon
   enough each is charged, at that start.  So nothing has to be undone, and a refusal leaves every state as it was.

   May touch: its arguments.  Promises: the same answers wherever it is included.  Leaves to others: what is said of a
   refusal (decide.c). */
#ifndef WEIR_CORE_DECIDE_INLINE_H
#define WEIR_CORE_DECIDE_INLINE_H

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/decide.h"
#include "core/num.h"

/* What is left of the tightest limit, and which that is. */
struct left {
    uint64_t permits;
    int limit;
};

static inline void narrow(struct left *left, int limit, uint64_t permits)
{
    if (permits < left->permits) *left = (struct left){permits, limit};
}

/* What is asked of one limit, in its own ticks. */
struct asked {
    const struct algorithm *algorithm;
    uint64_t now, cost;
};

/* Fills in what a refusal says: which limit is at fault, what is left.  Reads only. */
void decide_refusal(struct rules rules, const struct asked asked[], const uint64_t *state, const uint64_t cost[],
                    int latest, weir_decision *decision);

/* start_ns may lie before now: the schedule was kept while the caller was late. */
static inline void decide_allow(struct rules rules, const struct asked asked[], uint64_t *state, uint64_t now_ns,
                                uint64_t start_ns, int latest, uint64_t end[], weir_decision *decision)
{
    const bool waits = start_ns > now_ns;
    struct left left = {UINT64_MAX, 0};
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const struct algorithm *algorithm = asked[i].algorithm;
        const uint64_t at = waits ? tick_at(rule, start_ns) : asked[i].now;
        struct taken taken = {at, algorithm->possible(rule, 1) ? UINT64_MAX : 0};
        if (algorithm->words != 0) taken = algorithm->commit(rule, state, at, asked[i].cost);
        narrow(&left, i, permits_floor(rule, taken.room));
        if ((waits ? latest : left.limit) == i) decision->end = taken.end;
        if (end != NULL) end[i] = taken.end;
        state += algorithm->words;
    }
    decision->limit = (uint32_t)(waits ? latest : left.limit);
    decision->remaining = left.permits;
}

/* When could this limit start the call?  Not before now, unless it keeps a schedule. */
static inline uint64_t decide_start(const struct rule *rule, const struct asked *asked, const uint64_t *state,
                                    uint64_t now_ns, uint64_t permits)
{
    const struct algorithm *algorithm = asked->algorithm;
    if (algorithm->words == 0) return algorithm->possible(rule, permits) ? now_ns : WEIR_FOREVER;
    const uint64_t start = algorithm->earliest(rule, state, asked->now, asked->cost);
    if (start == UINT64_MAX) return WEIR_FOREVER;
    if (start > asked->now) return ns_ceil(rule, start);
    /* Rounded up it may be past now, though within the same tick. */
    return algorithm->keeps_schedule ? least(ns_ceil(rule, start), now_ns) : now_ns;
}

static inline void decide_inline(struct rules rules, uint64_t *state, uint64_t now_ns, const uint64_t cost[],
                                 uint64_t wait_max_ns, uint64_t end[], weir_decision *decision)
{
    struct asked asked[WEIR_LIMITS_MAX];
    uint64_t start_ns = 0, differ = 0;
    int latest = 0;
    const uint64_t *of_limit = state;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        asked[i] = (struct asked){algorithm_of(rule), tick_at(rule, now_ns), ticks_of(rule, cost[i])};
        const uint64_t starts_ns = decide_start(rule, &asked[i], of_limit, now_ns, cost[i]);
        if (starts_ns > start_ns) latest = i;
        start_ns = most(start_ns, starts_ns);
        if (cost[i] != cost[0]) differ = DECISION_EACH;
        of_limit += asked[i].algorithm->words;
    }
    const uint64_t delay_ns = start_ns == WEIR_FOREVER ? WEIR_FOREVER : subtract_to_zero(start_ns, now_ns);
    const bool allowed = start_ns != WEIR_FOREVER && delay_ns <= wait_max_ns;
    decision->verdict = allowed ? WEIR_ALLOW : WEIR_DENY;
    decision->start.ns = allowed ? start_ns : now_ns;
    decision->delay_ns = allowed ? delay_ns : 0;
    decision->retry_ns = allowed ? 0 : start_ns == WEIR_FOREVER ? WEIR_FOREVER : delay_ns - wait_max_ns;
    decision->end = 0;
    decision->charged = allowed ? cost[0] : 0;
    decision->reserved = allowed ? rules.rule[0].generation | differ : 0;
    if (allowed) decide_allow(rules, asked, state, now_ns, start_ns, latest, end, decision);
    else decide_refusal(rules, asked, state, cost, latest, decision);
}

#endif
