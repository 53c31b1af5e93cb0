/* SPDX-License-Identifier: MIT
   (plan, state, now, cost) -> (decision, next state).

   How that goes is in decide_inline.h; here is what is said of a refusal, and settling. */
#include "core/decide_inline.h"

#include <string.h>

#include "core/algorithm/concurrent.h"

enum { AGREE_TRIES_MAX = 256 };

size_t decide_words_before(struct rules rules, int limit)
{
    size_t words = 0;
    for (int i = 0; i < limit; i++) words += state_words(&rules.rule[i], algorithm_of(&rules.rule[i]));
    return words;
}

/* The limit at fault: the first that may never pass this cost, or else the one with the latest start. */
static int at_fault(struct rules rules, const uint64_t cost[], int latest, weir_decision *decision)
{
    for (int i = 0; i < rules.count; i++) {
        if (algorithm_may_pass(&rules.rule[i], cost[i])) continue;
        decision->verdict = WEIR_NEVER;
        decision->retry_ns = 0;
        return i;
    }
    return latest;
}

/* Where refusals are counted this one is, and then it is asked once more how long the wait is for the same call.
   Returns which limit refuses for longest. */
static int count_refusals(struct rules rules, const struct asked asked[], uint64_t *state,
                          const struct question *question, weir_decision *decision)
{
    int longest = 0;
    decision->retry_ns = 0;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        struct asked again = asked[i];
        if (again.wait_ns != 0 && again.algorithm->refused != NULL) {
            again.algorithm->refused(rule, state, again.now, again.cost);
            decide_ask(rule, &again, state, question->now_ns, question->wait_max_ns);
        }
        if (again.wait_ns > decision->retry_ns) longest = i;
        decision->retry_ns = most(decision->retry_ns, again.wait_ns);
        state += state_words(rule, again.algorithm);
    }
    decision->retry_ns = most(decision->retry_ns, 1); /* of a damaged state the count may be all that was wrong */
    return longest;
}

/* Finds a time at which all limits pass.  At the first candidate, the longest wait of any limit, another limit may have
   stopped passing; then its wait is added, and all are tried again.  Usually the first candidate is right.  A cycle
   asked for more than it holds passes only for short times, again and again, and two cycles may pass together late or
   never.  After AGREE_TRIES_MAX candidates the last one is returned: they do not all pass before it. */
static int agree(struct rules rules, const struct asked asked[], const uint64_t *state, const struct question *question,
                 int longest, weir_decision *decision)
{
    for (int tries = 0; decision->retry_ns != WEIR_FOREVER && tries < AGREE_TRIES_MAX; tries++) {
        const uint64_t then_ns = add_saturating(question->now_ns, decision->retry_ns);
        const uint64_t *of_limit = state;
        uint64_t more_ns = 0;
        for (int i = 0; i < rules.count; i++) {
            const struct rule *rule = &rules.rule[i];
            struct asked again = asked[i];
            again.now = tick_at(rule, then_ns);
            decide_ask(rule, &again, of_limit, then_ns, question->wait_max_ns);
            if (again.wait_ns > more_ns) longest = i;
            more_ns = most(more_ns, again.wait_ns);
            of_limit += state_words(rule, again.algorithm);
        }
        if (more_ns == 0) break;
        decision->retry_ns = add_saturating(decision->retry_ns, more_ns);
    }
    return longest;
}

void decide_refusal(struct rules rules, const struct asked asked[], uint64_t *state, const struct question *question,
                    int longest, weir_decision *decision)
{
    if (!question->peek) longest = count_refusals(rules, asked, state, question, decision);
    if (rules.count > 1) longest = agree(rules, asked, state, question, longest, decision);
    const bool never = decision->retry_ns == WEIR_FOREVER;
    const int limit = never ? at_fault(rules, question->cost, longest, decision) : longest;
    struct left left = {UINT64_MAX, 0};
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const struct taken taken = algorithm_at(rule, asked[i].algorithm, state, asked[i].now);
        narrow(&left, i, permits_floor(rule, taken.room));
        if (i == limit) decision->end = taken.end;
        state += state_words(rule, asked[i].algorithm);
    }
    decision->limit = (uint32_t)limit;
    decision->remaining = left.permits;
}

/* What would be left; of a schedule also when the first permit would be due.  Where a call leaves less or more than its
   own permits, only taking them shows it. */
static uint64_t permits_after(const struct rule *rule, const struct asked *asked, const uint64_t *state, uint64_t room,
                              weir_decision *decision)
{
    const struct algorithm *algorithm = asked->algorithm;
    const uint64_t permits = permits_floor(rule, room);
    const bool scheduled = algorithm->lateness != NULL;
    if (permits == UINT64_MAX) return permits; /* of no rate */
    if (!algorithm->pays_after && !scheduled) return subtract_to_zero(permits, permits_floor(rule, asked->cost));
    uint64_t copy[STATE_WORDS_MAX];
    memcpy(copy, state, algorithm->words * sizeof *copy);
    const struct taken after = algorithm->commit(rule, copy, (struct offer){asked->now, asked->now}, asked->cost);
    if (scheduled) {
        const uint64_t due = algorithm_due_in(rule, algorithm, copy, after.end, asked->cost);
        decision->due.ns = most(decision->due.ns, ns_ceil_signed(rule, due));
    }
    return permits_floor(rule, after.room);
}

void decide_peek(struct rules rules, const struct asked asked[], const uint64_t *state, weir_decision *decision)
{
    struct left left = {UINT64_MAX, 0};
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const struct algorithm *algorithm = asked[i].algorithm;
        const struct taken taken = algorithm_at(rule, algorithm, state, asked[i].now);
        narrow(&left, i, permits_after(rule, &asked[i], state, taken.room, decision));
        if (left.limit == i) decision->end = taken.end;
        state += state_words(rule, algorithm);
    }
    if (decide_holder(rules) >= 0) decision->end = 0; /* nobody's id */
    decision->limit = (uint32_t)left.limit;
    decision->remaining = left.permits;
}

void decide(struct rules rules, uint64_t *state, const struct question *question, uint64_t end[],
            weir_decision *decision)
{
    decide_inline(rules, state, question, end, decision);
}

int decide_holder(struct rules rules)
{
    int holder = rules.count - 1;
    while (holder >= 0 && rules.rule[holder].algorithm != ALGORITHM_CONCURRENT) holder--;
    return holder;
}

void decide_name_slots(struct rules rules, const struct asked asked[], const uint64_t *state, weir_decision *decision)
{
    const int holder = decide_holder(rules);
    const uint64_t *slots = state + decide_words_before(rules, holder);
    decision->end = asked[holder].cost != 0 ? concurrent_last_id(slots) : 0;
}

static inline void decide_at_any_balance(struct rules rules, uint64_t *state, uint64_t now_ns, const uint64_t cost[],
                                         uint64_t end[], bool in_full, weir_decision *decision)
{
    const int holder = decide_holder(rules);
    struct left left = {UINT64_MAX, 0};
    *decision = (weir_decision){.verdict = WEIR_ALLOW, .start = {now_ns}};
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const uint64_t now = tick_at(rule, now_ns);
        uint64_t charged = ticks_of(rule, cost[i]);
        const struct taken taken = in_full ? algorithm_of(rule)->commit(rule, state, (struct offer){now, now}, charged)
                                           : algorithm_charge(rule, state, now, &charged);
        if (i == 0) decision->charged = permits_floor(rule, charged);
        if (end != NULL) end[i] = taken.end;
        narrow(&left, i, permits_floor(rule, taken.room));
        if (holder < 0 ? left.limit == i : holder == i) decision->end = taken.end;
        state += state_words(rule, algorithm_of(rule));
    }
    decision->remaining = left.permits;
    decision->limit = (uint32_t)left.limit;
    decision->reserved = rules.rule[0].generation | (in_full ? 0 : DECISION_SETTLED);
}

void decide_charge(struct rules rules, uint64_t *state, uint64_t now_ns, const uint64_t cost[], weir_decision *decision)
{
    decide_at_any_balance(rules, state, now_ns, cost, NULL, false, decision);
}

void decide_owe(struct rules rules, uint64_t *state, uint64_t now_ns, const uint64_t cost[], uint64_t end[],
                weir_decision *decision)
{
    decide_at_any_balance(rules, state, now_ns, cost, end, true, decision);
}

uint64_t decide_passing(struct rules rules, const uint64_t *state, uint64_t now_ns, uint64_t cost_max)
{
    uint64_t passing = cost_max;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        passing =
            algorithm_passing(rule, algorithm, algorithm_at(rule, algorithm, state, tick_at(rule, now_ns)), passing);
        state += state_words(rule, algorithm);
    }
    return least(most(passing, 1), cost_max);
}

/* The limit that decision.end belongs to. */
static int decide_end_of(struct rules rules, const weir_decision *decision)
{
    const int holder = decide_holder(rules);
    return holder >= 0 ? holder : (int)decision->limit;
}

/* A slot of which the end is not known: end is NULL, and it is not that of the decision. */
static struct slot decide_slot_of(const struct rule *rule, bool guessed, const weir_decision *decision, uint64_t cost,
                                  const uint64_t *end)
{
    struct slot slot = {.start = tick_at(rule, decision->start.ns), .cost = ticks_of(rule, cost)};
    slot.guessed = guessed;
    /* Not known: the least it can be, so that rather less is given back. */
    if (slot.guessed) slot.end = add_saturating(slot.start, slot.cost);
    else slot.end = end != NULL ? *end : decision->end;
    return slot;
}

/* Another call waits behind this decision: its start is fixed, and a newcomer must not be given the same one.  Where
   this decision has started and a limit still has a call waiting, this one can only be the last there if the slots say
   so, and a slot whose end is not known says nothing. */
static bool decide_waited_behind(struct rules rules, const uint64_t *state, uint64_t now_ns,
                                 const weir_decision *decision, int known_limit, const uint64_t end[])
{
    bool waited = false, last = true;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        const uint64_t now = tick_at(rule, now_ns);
        const bool waits = algorithm->balance(rule, state, now).waits;
        if (rules.count == 1 && !waits) return false;
        const bool known = end != NULL || known_limit == i;
        const uint64_t slot_end = end != NULL ? end[i] : decision->end;
        const bool counts = known || (waits && decision->start.ns <= now_ns);
        waited = waited || waits;
        const bool holds = algorithm->grows == GROWS_SLOTS; /* its ids tell only where the ends are not known */
        const bool is_last = holds ? end != NULL || concurrent_is_last(state, slot_end)
                                   : algorithm_at(rule, algorithm, state, now).end == slot_end;
        if (counts && !(known && is_last)) last = false;
        state += state_words(rule, algorithm);
    }
    return waited && !last;
}

/* Part of a slot that has not started: its start would stay, and the state would say that it came earlier. */
static bool part_of_reservation(struct rules rules, uint64_t now_ns, const weir_decision *decision,
                                const uint64_t actual[])
{
    bool part = false;
    for (int i = 0; i < rules.count; i++) part = part || actual[i] != 0;
    return part && now_ns < decision->start.ns;
}

/* What was used beyond a cost is held under the id of its call. */
static void settle_more_slots(const struct rule *rule, uint64_t *state, uint64_t more_id, uint64_t id)
{
    if (more_id != 0 && id != 0) concurrent_rename(rule, state, more_id, id);
}

static inline void settle_limits(struct rules rules, uint64_t *state, uint64_t now_ns, const weir_decision *decision,
                                 const uint64_t cost[], const uint64_t actual[], const uint64_t end[])
{
    const int known = decide_end_of(rules, decision);
    const bool keep = decide_waited_behind(rules, state, now_ns, decision, known, end) ||
                      part_of_reservation(rules, now_ns, decision, actual);
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        const uint64_t now = tick_at(rule, now_ns);
        const bool holds = algorithm->grows == GROWS_SLOTS; /* no start relies on a slot */
        const uint64_t *ends = end != NULL ? &end[i] : NULL;
        if (actual[i] > cost[i]) {
            uint64_t extra = ticks_of(rule, actual[i] - cost[i]);
            const struct taken taken = algorithm_charge(rule, state, now, &extra);
            if (holds) settle_more_slots(rule, state, taken.end, ends != NULL ? *ends : known == i ? decision->end : 0);
        } else if ((!keep || holds) && actual[i] < cost[i] && algorithm->give_back != NULL) {
            const struct slot slot = decide_slot_of(rule, end == NULL && known != i, decision, cost[i], ends);
            algorithm->give_back(rule, state, now, &slot, ticks_of(rule, cost[i] - actual[i]));
        }
        state += state_words(rule, algorithm);
    }
}

/* All but the first limit, whose state is one word. */
static __attribute__((noinline)) void settle_borrowed(struct rules rules, uint64_t *state, uint64_t now_ns,
                                                      const weir_decision *decision, const uint64_t cost[],
                                                      const uint64_t actual[], const uint64_t end[])
{
    weir_decision behind = *decision;
    behind.limit = (uint32_t)subtract_to_zero(behind.limit, 1);
    settle_limits((struct rules){rules.rule + 1, rules.count - 1}, state + 1, now_ns, &behind, cost + 1, actual + 1,
                  end != NULL ? end + 1 : NULL);
}

void decide_settle(struct rules rules, uint64_t *state, uint64_t now_ns, const weir_decision *decision,
                   const uint64_t cost[], const uint64_t actual[], const uint64_t end[])
{
    if (decision->reserved & DECISION_BORROWED) settle_borrowed(rules, state, now_ns, decision, cost, actual, end);
    else settle_limits(rules, state, now_ns, decision, cost, actual, end);
}

uint64_t decide_hold(struct rules rules, uint64_t *state, uint64_t now_ns, uint64_t id, enum hold hold)
{
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        if (rule->algorithm != ALGORITHM_CONCURRENT) state += state_words(rule, algorithm_of(rule));
        else if (hold == HOLD_RENEW) return concurrent_renew(rule, state, now_ns, id);
        else return concurrent_release(rule, state, now_ns, id);
    }
    return 0;
}
