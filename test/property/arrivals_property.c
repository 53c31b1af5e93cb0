/* SPDX-License-Identifier: MIT
   Arrivals at random against the sum of their gaps.

   oracle    permit n is due at begin + gap(1) + ... + gap(n), however permits are taken, skipped and given back
   peek      says what the call that follows says: verdict, wait, due time, what remains
   retry     a call that is refused passes then, and not a ns before
   parts     what passes at once passes one by one, and leaves the same state
   account   granted and skipped, less those ahead, and those missed and still to come are all that were due */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/decide.h"
#include "core/num.h"
#include "plan/plan.h"
#include "property/property.h"

enum { STEPS_MEAN = 40, TEXT_SIZE = 128, COST_MAX = 5, SOME_MAX = 40, WORDS = 4 };

struct subject {
    struct prop *prop;
    weir_plan plan;
    struct rules rules;
    const struct rule *rule;
    uint64_t state[STATE_WORDS_MAX];
    uint64_t now_ns, begin, next; /* the tick at which permit 0 was due; the number of the next one */
    bool begun;
};

static void pick_subject(struct prop *prop, struct subject *subject)
{
    static const char *const rates[] = {"1000/s", "50M/s", "3/s", "1/d", "999983/s", "7/min"};
    static const char *const options[] = {
        "burst=1", "burst=20", "", "burst=20 catchup=2", "burst=3 start=full", "burst=7 catchup=1.3"};
    char text[TEXT_SIZE];
    snprintf(text, sizeof text, "%s %s arrivals=poisson seed=%" PRIu64, rates[prop_pick(prop, 6)],
             options[prop_pick(prop, 6)], prop_pick_size(prop, UINT64_MAX));
    prop_note(prop, "\"%s\"", text);
    *subject = (struct subject){.prop = prop, .now_ns = prop_pick_size(prop, UINT64_C(1) << 50)};
    prop_check(prop, weir_plan_parse(&subject->plan, text, WEIR_PACE, NULL) == 0, "%s is refused", text);
    subject->rules = plan_rules(plan_inside_const(&subject->plan));
    subject->rule = subject->rules.rule;
}

static const struct algorithm *algorithm_in(const struct subject *subject)
{
    return algorithm_of(subject->rule);
}

static uint64_t due_of(const struct subject *subject, uint64_t number)
{
    uint64_t tick = subject->begin;
    for (uint64_t k = 1; k <= number; k++) tick += arrivals_gap(subject->rule, k);
    return tick;
}

static weir_decision ask(struct subject *subject, uint64_t *state, uint64_t now_ns, uint64_t cost, uint64_t wait_ns,
                         bool peek)
{
    weir_decision decision;
    const struct question question = {now_ns, wait_ns, &cost, peek};
    decide(subject->rules, state, &question, NULL, &decision);
    return decision;
}

/* ---- what is checked ---- */

static void check_due(struct subject *subject, const weir_decision *decision, uint64_t cost)
{
    const struct rule *rule = subject->rule;
    const uint64_t first =
        algorithm_due_in(rule, algorithm_in(subject), subject->state, decision->end, ticks_of(rule, cost));
    if (!subject->begun) subject->begin = first;
    subject->begun = true;
    prop_check(subject->prop, algorithm_given(rule, decision->end) == subject->next + cost, "the numbers");
    prop_check(subject->prop, decision->due.ns == ns_ceil_signed(rule, first), "due in the decision");
    for (uint64_t i = 0; i < cost; i++) {
        const uint64_t tick =
            first + algorithm_apart(rule, algorithm_in(subject), decision->end - ticks_of(rule, cost), i);
        prop_check(subject->prop, tick == due_of(subject, subject->next + i), "permit %" PRIu64 " is due at %" PRIu64,
                   subject->next + i, tick);
    }
    prop_check(subject->prop,
               decision->start.ns >= decision->due.ns || subject->rule->flags & RULE_STARTS_FULL || cost > 1, "early");
}

static void check_retry(struct subject *subject, const weir_decision *decision, uint64_t cost, uint64_t wait_ns)
{
    uint64_t copy[STATE_WORDS_MAX];
    const uint64_t then_ns = subject->now_ns + decision->retry_ns;
    memcpy(copy, subject->state, sizeof copy);
    prop_check(subject->prop, weir_allowed(ask(subject, copy, then_ns, cost, wait_ns, true)), "not at retry");
    if (decision->retry_ns > 1)
        prop_check(subject->prop, !weir_allowed(ask(subject, copy, then_ns - 1, cost, wait_ns, true)), "before retry");
}

static void check_account(struct subject *subject)
{
    const struct account account = algorithm_account(subject->rule, algorithm_in(subject), subject->state,
                                                     tick_at(subject->rule, subject->now_ns));
    const int64_t given = (int64_t)ticks_of(subject->rule, subject->next);
    if (!subject->begun || subject->next == 0) return;
    prop_check(subject->prop, account.given == given, "given");
    /* Is any permit ahead?  Then the last one is due after now. */
    const bool ahead = account.due < account.given;
    const bool after = (int64_t)(due_of(subject, subject->next - 1) - tick_at(subject->rule, subject->now_ns)) > 0;
    if (!(subject->rule->flags & RULE_STARTS_FULL))
        prop_check(subject->prop, ahead == after, "ahead: %d, and the last is due %s now", ahead,
                   after ? "after" : "by");
}

/* ---- what happens ---- */

static void check_parts(struct subject *subject, const uint64_t before[], uint64_t cost)
{
    uint64_t copy[STATE_WORDS_MAX];
    memcpy(copy, before, sizeof copy);
    for (uint64_t i = 0; i < cost; i++) {
        const weir_decision one = ask(subject, copy, subject->now_ns, 1, 0, false);
        prop_check(subject->prop, weir_allowed(one), "permit %" PRIu64 " of %" PRIu64 " alone", i, cost);
    }
    prop_check(subject->prop, memcmp(copy, subject->state, WORDS * sizeof *copy) == 0, "parts leave another state");
}

static void call(struct subject *subject, uint64_t cost, uint64_t wait_ns, bool gives_back)
{
    uint64_t before[STATE_WORDS_MAX];
    memcpy(before, subject->state, sizeof before);
    const bool in_parts =
        decide_passing(subject->rules, before, subject->now_ns, cost) == cost; /* not above the pool */
    const weir_decision seen = ask(subject, subject->state, subject->now_ns, cost, wait_ns, true);
    weir_decision decision = ask(subject, subject->state, subject->now_ns, cost, wait_ns, false);
    prop_check(subject->prop, seen.verdict == decision.verdict && seen.due.ns == decision.due.ns, "peek: due or retry");
    prop_check(subject->prop, decision.delay_ns != 0 || seen.remaining == decision.remaining, "peek: remaining");
    if (!weir_allowed(decision)) {
        check_retry(subject, &decision, cost, wait_ns);
        return;
    }
    check_due(subject, &decision, cost);
    subject->next += cost;
    if (decision.delay_ns == 0 && in_parts) check_parts(subject, before, cost);
    if (!gives_back) return;
    const uint64_t actual = decision.delay_ns != 0 ? 0 : prop_pick(subject->prop, cost);
    decide_settle(subject->rules, subject->state, subject->now_ns, &decision, &cost, &actual, NULL);
    subject->next -= cost - actual;
}

static void call_for_some(struct subject *subject)
{
    const uint64_t most_permits = 1 + prop_pick(subject->prop, SOME_MAX);
    const uint64_t passing = decide_passing(subject->rules, subject->state, subject->now_ns, most_permits);
    uint64_t copy[STATE_WORDS_MAX];
    memcpy(copy, subject->state, sizeof copy);
    const uint64_t now = tick_at(subject->rule, subject->now_ns);
    const uint64_t room = algorithm_at(subject->rule, algorithm_in(subject), copy, now).room;
    if (passing < most_permits && subject->begun && room < subject->rule->burst) /* else any number would pass */
        prop_check(
            subject->prop,
            !weir_allowed(ask(subject, copy, subject->now_ns, passing + (room >= ticks_of(subject->rule, 1)), 0, true)),
            "one more would pass");
    call(subject, passing, 0, false);
}

static void skip(struct subject *subject)
{
    const uint64_t permits = prop_pick(subject->prop, COST_MAX);
    const bool back = prop_chance(subject->prop, 4) && permits <= subject->next;
    algorithm_skip(subject->rule, subject->state, permits, back);
    if (subject->begun) subject->next = back ? subject->next - permits : subject->next + permits;
}

static void arrivals(struct prop *prop)
{
    struct subject subject;
    pick_subject(prop, &subject);
    const uint64_t permit_ns = ns_ceil(subject.rule, subject.rule->anchor_tick + ticks_of(subject.rule, 1));
    while (prop_more(prop, STEPS_MEAN)) {
        const uint64_t cost = 1 + prop_pick(prop, COST_MAX);
        prop_step(prop);
        switch (prop_pick(prop, 7)) {
        case 0:
            subject.now_ns += prop_pick_size(prop, 30 * permit_ns);
            break;
        case 1:
            subject.now_ns += prop_pick(prop, 2 * permit_ns);
            break;
        case 2:
            call(&subject, cost, 0, false);
            break;
        case 3:
            call(&subject, cost, prop_chance(prop, 2) ? WEIR_FOREVER : prop_pick(prop, 3 * permit_ns), false);
            break;
        case 4:
            call(&subject, cost, WEIR_FOREVER, true);
            break;
        case 5:
            call_for_some(&subject);
            break;
        default:
            skip(&subject);
        }
        check_account(&subject);
    }
}

PROPERTY("arrivals", arrivals, 3000);
