/* SPDX-License-Identifier: MIT
   What holds for every algorithm of the table, alone and in lists of any of them.

   A refusal says when the call passes, to the ns, and leaves all other limits as they were; what remains passes and no
   more; peeking is taking without taking; and no window holds more than the limit's own facts say, what was cancelled
   left out.

   A call counts at its start.  When the clock goes back there are two ways to see when that was: as it was told
   (lines), or the latest time that there has been (what stands still meanwhile); one of them has to hold. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/decide.h"
#include "core/facts.h"
#include "core/num.h"
#include "property/property.h"
#include "plan/plan.h"

enum { STEPS_MEAN = 40, WORDS_MAX = 2048, STARTS_MAX = 128, REMAINING_MAX = 40, LIMITS_MAX = 3, COUNT_MAX = 12 };

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

struct subject {
    weir_plan plan;
    const struct plan *inside;
    size_t size;
    uint64_t state[WORDS_MAX];
    uint64_t now_ns, latest_ns;
    uint64_t told_ns[STARTS_MAX], latest_start_ns[STARTS_MAX];
    int starts;
    weir_decision last; /* the last call, while it is in the list; else its verdict is none */
    bool unlimited;     /* more was taken than is in the list */
};

static void pick_plan(struct prop *prop, struct subject *subject)
{
    memset(subject, 0, sizeof *subject);
    prop_pick_any_plan(prop, LIMITS_MAX, sizeof subject->state, &subject->plan);
    subject->inside = plan_inside_const(&subject->plan);
    subject->size = weir_state_size(&subject->plan);
}

static weir_decision decide_in(const struct subject *subject, uint64_t *state, uint64_t now_ns, uint64_t cost,
                               uint64_t wait_ns, bool peek)
{
    uint64_t each[WEIR_LIMITS_MAX];
    weir_decision decision;
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) each[i] = cost;
    const struct question question = {now_ns, wait_ns, each, peek};
    decide(plan_rules(subject->inside), state, &question, NULL, &decision);
    return decision;
}

/* The answer of a copy. */
static weir_decision would(const struct subject *subject, uint64_t now_ns, uint64_t cost, uint64_t wait_ns)
{
    static uint64_t copy[WORDS_MAX];
    memcpy(copy, subject->state, subject->size);
    return decide_in(subject, copy, now_ns, cost, wait_ns, false);
}

static void check_denied(struct prop *prop, const struct subject *subject, const weir_decision *decision, uint64_t cost,
                         uint64_t wait_ns)
{
    const uint64_t retry_ns = decision->retry_ns, now_ns = subject->now_ns;
    prop_check(prop, retry_ns > 0, "refused with nothing to wait for");
    if (retry_ns > UINT64_MAX / 4) return;
    const weir_decision before = would(subject, now_ns + retry_ns - 1, cost, wait_ns);
    prop_check(prop, before.verdict == WEIR_DENY, "verdict %u a ns before the retry of %" PRIu64, before.verdict,
               retry_ns);
    const weir_decision then = would(subject, now_ns + retry_ns, cost, wait_ns);
    prop_check(prop, then.verdict == WEIR_ALLOW, "verdict %u after the retry of %" PRIu64, then.verdict, retry_ns);
}

/* So many calls of one permit pass now, and then none. */
static void check_remaining(struct prop *prop, const struct subject *subject, uint64_t remaining)
{
    static uint64_t copy[WORDS_MAX];
    memcpy(copy, subject->state, subject->size);
    if (remaining > REMAINING_MAX) return;
    for (uint64_t i = 0; i < remaining; i++) {
        const weir_decision one = decide_in(subject, copy, subject->now_ns, 1, 0, false);
        prop_check(prop, one.verdict == WEIR_ALLOW, "%" PRIu64 " remain and only %" PRIu64 " pass", remaining, i);
    }
    const weir_decision more = decide_in(subject, copy, subject->now_ns, 1, 0, false);
    prop_check(prop, more.verdict != WEIR_ALLOW, "%" PRIu64 " remain and one more passes", remaining);
}

/* Of a list those that did not refuse are as they were, and without counting all are. */
static void check_untouched(struct prop *prop, const struct subject *subject, const uint64_t *before, uint32_t refused)
{
    size_t at = 0;
    for (uint64_t i = 0; i < subject->inside->count; i++) {
        const struct rule *rule = &subject->inside->rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        const size_t words = state_words(rule, algorithm);
        const bool may = algorithm->refused != NULL && (refused == i || subject->inside->count > 1);
        const bool same = memcmp(before + at, subject->state + at, words * sizeof *before) == 0;
        prop_check(prop, same || may, "limit %" PRIu64 " was written to by a refusal", i);
        at += words;
    }
}

static void check_peek(struct prop *prop, const weir_decision *peek, const weir_decision *take)
{
    prop_check(prop, peek->verdict == take->verdict, "peek says %u, take %u", peek->verdict, take->verdict);
    prop_check(prop, peek->delay_ns == take->delay_ns, "peek says a delay of %" PRIu64 ", take %" PRIu64,
               peek->delay_ns, take->delay_ns);
    if (take->delay_ns > 0 || take->verdict != WEIR_ALLOW) return;
    prop_check(prop, peek->remaining == take->remaining, "peek says %" PRIu64 " remain, take %" PRIu64, peek->remaining,
               take->remaining);
}

static void remember(struct subject *subject, const weir_decision *decision, uint64_t cost)
{
    const uint64_t start_ns = subject->now_ns + decision->delay_ns;
    if (cost != 1 || subject->starts == STARTS_MAX) subject->unlimited = true;
    if (subject->unlimited) return;
    subject->told_ns[subject->starts] = start_ns;
    subject->latest_start_ns[subject->starts++] = most(start_ns, subject->latest_ns);
    subject->last = *decision;
}

/* What is cancelled has used nothing. */
static void cancel_last(struct prop *prop, struct subject *subject)
{
    uint64_t cost[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX] = {0};
    if (subject->last.verdict != WEIR_ALLOW || subject->unlimited) return;
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) cost[i] = 1;
    decide_settle(plan_rules(subject->inside), subject->state, subject->now_ns, &subject->last, cost, actual, NULL);
    subject->starts--;
    subject->last.verdict = 0;
    prop_note(prop, "%" PRIu64 " ns: cancelled", subject->now_ns);
}

static void ask(struct prop *prop, struct subject *subject)
{
    static uint64_t before[WORDS_MAX];
    const uint64_t cost = prop_chance(prop, 12) ? 0 : subject->unlimited ? prop_pick(prop, COUNT_MAX) : 1;
    const uint64_t period_ns = subject->inside->limit[0].period_ns;
    const uint64_t waits[] = {0, 0, WEIR_FOREVER, prop_pick(prop, 3 * period_ns)};
    const uint64_t wait_ns = waits[prop_pick(prop, LENGTH(waits))];
    const weir_decision peek = decide_in(subject, subject->state, subject->now_ns, cost, wait_ns, true);
    memcpy(before, subject->state, subject->size);
    const weir_decision decision = decide_in(subject, subject->state, subject->now_ns, cost, wait_ns, false);
    prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 ", wait %" PRIu64 ": verdict %u, delay %" PRIu64 ", retry %" PRIu64,
              subject->now_ns, cost, wait_ns, decision.verdict, decision.delay_ns, decision.retry_ns);
    check_peek(prop, &peek, &decision);
    if (decision.verdict != WEIR_ALLOW) check_untouched(prop, subject, before, decision.limit);
    if (decision.verdict == WEIR_DENY) check_denied(prop, subject, &decision, cost, wait_ns);
    if (decision.verdict != WEIR_ALLOW || cost == 0) return;
    prop_check(prop, decision.delay_ns <= wait_ns, "a delay of %" PRIu64, decision.delay_ns);
    if (decision.delay_ns == 0) check_remaining(prop, subject, decision.remaining);
    remember(subject, &decision, cost);
}

static void sort(uint64_t *start_ns, int count)
{
    for (int i = 1; i < count; i++) {
        const uint64_t one_ns = start_ns[i];
        int at = i;
        for (; at > 0 && start_ns[at - 1] > one_ns; at--) start_ns[at] = start_ns[at - 1];
        start_ns[at] = one_ns;
    }
}

/* The first window that holds too much; false when there is none. */
static bool too_much(const struct limit *limit, const uint64_t *start_ns, int count, int *from, int *to)
{
    for (*from = 0; *from < count; (*from)++) {
        for (*to = *from; *to < count; (*to)++) {
            const uint64_t window_ns = start_ns[*to] - start_ns[*from] + 1;
            if ((uint64_t)(*to - *from + 1) > facts_most_in(limit, window_ns)) return true;
        }
    }
    return false;
}

static void check_windows(struct prop *prop, struct subject *subject)
{
    sort(subject->told_ns, subject->starts);
    sort(subject->latest_start_ns, subject->starts);
    for (uint64_t i = 0; i < subject->inside->count; i++) {
        const struct limit *limit = &subject->inside->limit[i];
        int from, to;
        if (!too_much(limit, subject->latest_start_ns, subject->starts, &from, &to)) continue;
        if (!too_much(limit, subject->told_ns, subject->starts, &from, &to)) continue;
        const uint64_t window_ns = subject->told_ns[to] - subject->told_ns[from] + 1;
        prop_check(prop, false,
                   "%d started from %" PRIu64 " to %" PRIu64 " ns, limit %" PRIu64 " says %" PRIu64 " at most",
                   to - from + 1, subject->told_ns[from], subject->told_ns[to], i, facts_most_in(limit, window_ns));
    }
}

static uint64_t pick_gap(struct prop *prop, const struct subject *subject)
{
    const struct limit *limit = &subject->inside->limit[prop_pick(prop, subject->inside->count)];
    const uint64_t around[] = {0, 1, limit->period_ns, limit->period_ns / limit->count.digits};
    switch (prop_pick(prop, 4)) {
    case 0:
        return 0;
    case 1:
        return around[prop_pick(prop, LENGTH(around))] + prop_pick(prop, 3);
    case 2:
        return prop_pick(prop, around[prop_pick(prop, LENGTH(around))] + 1);
    default:
        return prop_pick_size(prop, 8 * limit->period_ns);
    }
}

static void every_property(struct prop *prop)
{
    static struct subject subject;
    pick_plan(prop, &subject);
    subject.now_ns = prop_pick_size(prop, UINT64_MAX >> 8);
    subject.unlimited = prop_chance(prop, 3);
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        const uint64_t gap_ns = pick_gap(prop, &subject);
        if (prop_chance(prop, 12)) subject.now_ns = subtract_to_zero(subject.now_ns, gap_ns);
        else subject.now_ns += gap_ns;
        subject.latest_ns = most(subject.latest_ns, subject.now_ns);
        if (prop_chance(prop, 8)) cancel_last(prop, &subject);
        else ask(prop, &subject);
    }
    if (!subject.unlimited) check_windows(prop, &subject);
}

PROPERTY("every", every_property, 40000);
