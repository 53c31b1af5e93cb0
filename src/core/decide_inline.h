/* SPDX-License-Identifier: MIT
   The body of decide(), so that a caller with one limit gets it without the loops.

   Every limit is asked first when it could start the call; the latest of them is the start, and only if that is soon
   enough each is charged, at that start.  So nothing has to be undone, and a refusal leaves every state as it was. */
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

/* What is asked of one limit, in its own ticks, and what it offers. */
struct asked {
    const struct algorithm *algorithm;
    uint64_t now, cost, start_ns;
    uint64_t wait_ns; /* until this same call passes */
};

/* What it says of a refusal, and counts it where that is asked for. */
void decide_refusal(struct rules rules, const struct asked asked[], uint64_t *state, const struct question *question,
                    int longest, weir_decision *decision);

/* [one of the limits is concurrent] The end of a decision is the id of the slots that it took; 0: it took none. */
void decide_name_slots(struct rules rules, const struct asked asked[], const uint64_t *state, weir_decision *decision);

/* What it would say of a grant. */
void decide_peek(struct rules rules, const struct asked asked[], const uint64_t *state, weir_decision *decision);

static inline void decide_allow(struct rules rules, const struct asked asked[], uint64_t *state, uint64_t now_ns,
                                uint64_t start_ns, int latest, unsigned grows, uint64_t end[], weir_decision *decision)
{
    const bool waits = start_ns > now_ns;
    const uint64_t *first = state;
    struct left left = {UINT64_MAX, 0};
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const struct algorithm *algorithm = asked[i].algorithm;
        struct offer when = {asked[i].now, asked[i].now};
        if (waits) when.start = tick_at(rule, start_ns);
        /* When another limit makes the call wait, it is to this one as if it came only then; but what is held until
           then is not free now. */
        if (waits && asked[i].start_ns != start_ns && algorithm->grows != GROWS_SLOTS) when.from = when.start;
        const struct taken taken = algorithm->commit(rule, state, when, asked[i].cost);
        narrow(&left, i, permits_floor(rule, taken.room));
        /* Of several schedules the slowest is the one that the work can be on. */
        if (algorithm->lateness != NULL) {
            decision->due.ns =
                most(decision->due.ns,
                     ns_ceil_signed(rule, algorithm_due_in(rule, algorithm, state, taken.end, asked[i].cost)));
        }
        if ((waits ? latest : left.limit) == i) decision->end = taken.end;
        if (end != NULL) end[i] = taken.end;
        if (i + 1 < rules.count) state += state_words(rule, algorithm);
    }
    if (grows & GROWS_SLOTS) decide_name_slots(rules, asked, first, decision);
    decision->limit = (uint32_t)(waits ? latest : left.limit);
    decision->remaining = left.permits;
}

/* Asks one limit: when could it start the call, and how long until this same call passes? */
static inline void decide_ask(const struct rule *rule, struct asked *asked, const uint64_t *state, uint64_t now_ns,
                              uint64_t wait_max_ns)
{
    const struct algorithm *algorithm = asked->algorithm;
    asked->start_ns = asked->wait_ns = WEIR_FOREVER;
    const struct offer offer = algorithm->offer(rule, state, asked->now, asked->cost, wait_max_ns);
    if (offer.start == UINT64_MAX || offer.from == UINT64_MAX) return;
    const uint64_t start_ns = offer.start > asked->now ? ns_ceil(rule, offer.start) : now_ns;
    if (start_ns == WEIR_FOREVER) return;
    const uint64_t by_start = subtract_to_zero(subtract_to_zero(start_ns, now_ns), wait_max_ns);
    const uint64_t by_from = offer.from > asked->now ? ns_ceil(rule, offer.from) - now_ns : 0;
    asked->start_ns = start_ns;
    asked->wait_ns = most(by_start, by_from);
}

static inline void decide_inline(struct rules rules, uint64_t *state, const struct question *question, uint64_t end[],
                                 weir_decision *decision)
{
    struct asked asked[WEIR_LIMITS_MAX];
    const uint64_t now_ns = question->now_ns, *cost = question->cost;
    uint64_t start_ns = 0, retry_ns = 0, differ = 0;
    int latest = 0, refuses = 0;
    unsigned grows = 0;
    const uint64_t *of_limit = state;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        asked[i] = (struct asked){algorithm, tick_at(rule, now_ns), ticks_of(rule, cost[i]), 0, 0};
        decide_ask(rule, &asked[i], of_limit, now_ns, question->wait_max_ns);
        if (asked[i].wait_ns > retry_ns) refuses = i;
        if (asked[i].start_ns > start_ns) latest = i;
        retry_ns = most(retry_ns, asked[i].wait_ns);
        start_ns = most(start_ns, asked[i].start_ns);
        if (cost[i] != cost[0]) differ = DECISION_EACH;
        grows |= algorithm->grows;
        if (i + 1 < rules.count) of_limit += state_words(rule, algorithm);
    }
    const bool allowed = retry_ns == 0;
    decision->verdict = allowed ? WEIR_ALLOW : WEIR_DENY;
    decision->start.ns = allowed ? start_ns : now_ns;
    decision->delay_ns = allowed ? subtract_to_zero(start_ns, now_ns) : 0;
    decision->retry_ns = retry_ns;
    decision->end = 0;
    decision->charged = allowed ? cost[0] : 0;
    decision->reserved = rules.rule[0].generation | (allowed ? differ : 0);
    if (!allowed) decide_refusal(rules, asked, state, question, refuses, decision);
    else if (question->peek) decide_peek(rules, asked, state, decision);
    else decide_allow(rules, asked, state, now_ns, start_ns, latest, grows, end, decision);
}

/* The most frequent call: one limit, which has to have `pass`, lets it pass at once.  False: perhaps not, and nothing
   is done. */
static inline bool decide_pass(const struct rule *rule, const struct algorithm *algorithm, uint64_t *state,
                               uint64_t now_ns, uint64_t permits, weir_decision *decision)
{
    const uint64_t cost = ticks_of(rule, permits);
    struct taken taken;
    if (!algorithm->pass(rule, state, tick_at(rule, now_ns), cost, &taken)) return false;
    *decision = (weir_decision){.verdict = WEIR_ALLOW,
                                .start = {now_ns},
                                .end = taken.end,
                                .remaining = permits_floor(rule, taken.room),
                                .charged = permits,
                                .reserved = rule->generation};
    if (algorithm->lateness != NULL)
        decision->due.ns = ns_ceil_signed(rule, algorithm_due(rule, algorithm, taken.end, cost));
    return true;
}

#endif
