/* SPDX-License-Identifier: MIT
   What an algorithm says of when a state may be forgotten is true.

   A state is brought about by calls, charges and corrections.  From the time on at which all its limits say that it
   is idle a fresh state is asked, and whatever that lets through the old one lets through as well, as soon, and
   goes on doing so after it has taken it.  So nothing that was owed is lost where a slot is given to another key.

   Who pays himself says `never`, and so does a state at the end of the clock.  In a list only what starts now is
   compared: where another limit moves a start, windows and logs know of what is over only that it was there, not
   when, and hold it against whoever comes before that start.  A timeline that closes gaps does so
   on every other reading of the clock, so that the two take turns in passing one more: there only the first call is
   compared. */
#include <inttypes.h>
#include <string.h>

#include "core/clock.h"
#include "core/decide.h"
#include "core/num.h"
#include "property/property.h"
#include "plan/plan.h"

enum {
    BEFORE_MEAN = 12,
    AFTER_MEAN = 12,
    WORDS_MAX = 256,
    LIMITS_MAX = 3,
    COST_MAX = 20,
    TIMELINE_CLOSES_NOTHING = 64
};

struct subject {
    weir_plan plan;
    struct rules rules;
    uint64_t state[WORDS_MAX];
    weir_decision last;
    uint64_t last_cost;
    uint64_t compared; /* calls that both states have let pass */
};

static void fill(uint64_t each[WEIR_LIMITS_MAX], uint64_t cost)
{
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) each[i] = cost;
}

static weir_decision ask(const struct subject *subject, uint64_t *state, uint64_t now_ns, uint64_t cost,
                         uint64_t wait_ns, bool peek)
{
    uint64_t each[WEIR_LIMITS_MAX];
    weir_decision decision;
    fill(each, cost);
    const struct question question = {now_ns, wait_ns, each, peek};
    decide(subject->rules, state, &question, NULL, &decision);
    return decision;
}

static uint64_t idle_ns(const struct subject *subject, uint64_t now_ns)
{
    uint64_t idle_ns = now_ns;
    for (int i = 0; i < subject->rules.count; i++) {
        const struct rule *rule = &subject->rules.rule[i];
        const uint64_t *state = subject->state + decide_words_before(subject->rules, i);
        idle_ns = most(idle_ns, ns_ceil(rule, algorithm_of(rule)->idle(rule, state, tick_at(rule, now_ns))));
    }
    return idle_ns;
}

static uint64_t pick_gap(struct prop *prop, const struct subject *subject)
{
    const struct limit *limit =
        &plan_inside_const(&subject->plan)->limit[prop_pick(prop, (uint64_t)subject->rules.count)];
    const uint64_t around[] = {0, 1, limit->period_ns, limit->period_ns / limit->count.digits};
    const uint64_t near = around[prop_pick(prop, 4)];
    const uint64_t how = prop_pick(prop, 4);
    if (how == 0) return 0;
    if (how == 1) return near + prop_pick(prop, 3);
    return how == 2 ? prop_pick(prop, near + 1) : prop_pick_size(prop, 8 * limit->period_ns);
}

static uint64_t pick_wait(struct prop *prop, const struct subject *subject)
{
    const uint64_t how = prop_pick(prop, 4);
    return how < 2 ? 0 : how == 2 ? pick_gap(prop, subject) : WEIR_FOREVER;
}

/* With what a fresh one is compared. */
static uint64_t pick_wait_after(struct prop *prop, const struct subject *subject)
{
    return subject->rules.count == 1 ? pick_wait(prop, subject) : 0;
}

static void correct(struct prop *prop, struct subject *subject, uint64_t now_ns)
{
    uint64_t cost[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX];
    fill(cost, subject->last_cost);
    fill(actual, prop_pick(prop, 2 * subject->last_cost + 1));
    if (subject->last.verdict != WEIR_ALLOW) return;
    decide_settle(subject->rules, subject->state, now_ns, &subject->last, cost, actual, NULL);
    prop_note(prop, "%" PRIu64 " ns: corrected to %" PRIu64, now_ns, actual[0]);
    subject->last.verdict = WEIR_DENY;
}

static void bring_about(struct prop *prop, struct subject *subject, uint64_t now_ns)
{
    const uint64_t how = prop_pick(prop, 8), cost = 1 + prop_pick(prop, prop_chance(prop, 4) ? COST_MAX : 3);
    uint64_t each[WEIR_LIMITS_MAX];
    fill(each, cost);
    if (how == 0) {
        correct(prop, subject, now_ns);
    } else if (how == 1) {
        weir_decision charged;
        decide_charge(subject->rules, subject->state, now_ns, each, &charged);
        prop_note(prop, "%" PRIu64 " ns: charged %" PRIu64, now_ns, cost);
    } else {
        subject->last = ask(subject, subject->state, now_ns, cost, pick_wait(prop, subject), false);
        subject->last_cost = cost;
        prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 ": verdict %u, delay %" PRIu64, now_ns, cost,
                  subject->last.verdict, subject->last.delay_ns);
    }
}

static bool closes_gaps(const struct subject *subject)
{
    bool closes = false;
    for (int i = 0; i < subject->rules.count; i++) {
        const struct rule *rule = &subject->rules.rule[i];
        closes = closes || (rule->algorithm == ALGORITHM_TIMELINE && rule->second < TIMELINE_CLOSES_NOTHING);
    }
    return closes;
}

/* By how much a start that both states let pass may be later: a line of hybrid is rounded down by less than a tick
   wherever it begins anew, which each call may make it do. */
static uint64_t rounding_ns(const struct subject *subject)
{
    for (int i = 0; i < subject->rules.count; i++) {
        if (subject->rules.rule[i].algorithm == ALGORITHM_HYBRID) return 1 + subject->compared;
    }
    return 0;
}

/* Goes on? */
static bool compare(struct prop *prop, struct subject *subject, uint64_t *fresh, uint64_t now_ns)
{
    const uint64_t cost = 1 + prop_pick(prop, prop_chance(prop, 4) ? COST_MAX : 3),
                   wait_ns = pick_wait_after(prop, subject);
    const weir_decision of_fresh = ask(subject, fresh, now_ns, cost, wait_ns, false);
    prop_note(prop, "%" PRIu64 " ns: fresh: take %" PRIu64 ": verdict %u, delay %" PRIu64, now_ns, cost,
              of_fresh.verdict, of_fresh.delay_ns);
    if (of_fresh.verdict != WEIR_ALLOW) return true;
    const uint64_t rounding = rounding_ns(subject);
    const weir_decision of_old = ask(subject, subject->state, now_ns, cost, add_saturating(wait_ns, rounding), false);
    prop_check(prop, of_old.verdict == WEIR_ALLOW,
               "a fresh state lets %" PRIu64 " through, the old one says %u, %" PRIu64, cost, of_old.verdict,
               of_old.retry_ns);
    prop_check(prop, of_old.start.ns <= of_fresh.start.ns + rounding,
               "a fresh state starts at %" PRIu64 ", the old one at %" PRIu64, of_fresh.start.ns, of_old.start.ns);
    subject->compared++;
    return !closes_gaps(subject);
}

static void idle_property(struct prop *prop)
{
    struct subject subject;
    uint64_t fresh[WORDS_MAX] = {0};
    memset(&subject, 0, sizeof subject);
    prop_pick_any_plan(prop, LIMITS_MAX, sizeof subject.state, &subject.plan);
    subject.rules = plan_rules(plan_inside_const(&subject.plan));
    uint64_t now_ns = prop_pick_size(prop, UINT64_MAX >> 8);
    do {
        prop_step(prop);
        bring_about(prop, &subject, now_ns);
        now_ns += pick_gap(prop, &subject);
    } while (prop_more(prop, BEFORE_MEAN));
    const uint64_t at_ns = idle_ns(&subject, now_ns);
    prop_note(prop, "idle at %" PRIu64, at_ns);
    if (at_ns > UINT64_MAX >> 2) return;
    now_ns = at_ns + (prop_chance(prop, 2) ? 0 : pick_gap(prop, &subject));
    do {
        prop_step(prop);
        if (!compare(prop, &subject, fresh, now_ns)) return;
        now_ns += pick_gap(prop, &subject);
    } while (prop_more(prop, AFTER_MEAN));
}

PROPERTY("idle", idle_property, 60000);
