/* SPDX-License-Identifier: MIT
   A change of a limit to the limit that it is changes nothing, whatever the algorithm, and so does the renewal of a
   clock that has run for decades (limiter_renew).

   Two states get the same calls and charges.  One of them is carried over now and then to the same rule,
   whose clock is set to that moment, as a change does it.  Where one lets a call start, the other does so as well, but
   for the ns that each change rounds. */
#include <inttypes.h>
#include <string.h>

#include "core/clock.h"
#include "core/decide.h"
#include "core/num.h"
#include "property/property.h"
#include "plan/plan.h"

enum { STEPS_MEAN = 30, WORDS_MAX = 512, COST_MAX = 20, TIMELINE_CLOSES_NOTHING = 64, SPACING_LEAST_NS = 100 };

struct subject {
    weir_plan plan;
    struct rule rule[2]; /* as it was opened; as of the last change */
    uint64_t state[2][WORDS_MAX];
    uint64_t now_ns, changes, calls;
};

/* What is not carried: how much a call that pays itself has paid beyond what the store holds, and whether the next
   reading of the clock closes a gap.  And of permits that are no longer than what is rounded little is to be said. */
static bool is_left_out(const struct subject *subject)
{
    const struct rule *rule = &subject->rule[0];
    const bool closes = rule->algorithm == ALGORITHM_TIMELINE && rule->second < TIMELINE_CLOSES_NOTHING;
    const struct limit *limit = &plan_inside_const(&subject->plan)->limit[0];
    return limit->pay == PAY_SELF || closes || limit_spacing_ns(limit) < SPACING_LEAST_NS;
}

static struct rules rules_of(const struct subject *subject, int which)
{
    return (struct rules){&subject->rule[which], 1};
}

static void change(struct prop *prop, struct subject *subject)
{
    static uint64_t next[WORDS_MAX];
    const struct rule from = subject->rule[1];
    struct rule *to = &subject->rule[1];
    const uint64_t now = tick_at(&from, subject->now_ns);
    const weir_carry how = prop_chance(prop, 2) ? WEIR_SCALE : WEIR_KEEP;
    memset(next, 0, sizeof next);
    to->anchor_ns = subject->now_ns;
    to->anchor_tick = 1;
    algorithm_align(to, subject->now_ns, subject->now_ns);
    algorithm_of(to)->carry(&from, to, subject->state[1], next, now, how);
    memcpy(subject->state[1], next, sizeof next);
    subject->changes++;
    prop_note(prop, "%" PRIu64 " ns: changed, %d", subject->now_ns, (int)how);
}

static uint64_t delay_ns(const weir_decision *decision)
{
    return decision->verdict == WEIR_ALLOW  ? decision->delay_ns
           : decision->verdict == WEIR_DENY ? decision->retry_ns
                                            : 0;
}

static weir_decision take(struct subject *subject, int which, uint64_t cost, uint64_t wait_ns)
{
    const struct question question = {subject->now_ns, wait_ns, &cost, false};
    weir_decision decision;
    decide(rules_of(subject, which), subject->state[which], &question, NULL, &decision);
    return decision;
}

/* leaky counts thousandths of a permit, in ms; hybrid rounds with each call, where its line begins anew; and a tick in
   the store of warmup costs up to `cold` ticks. */
static uint64_t rounded_ns(const struct subject *subject)
{
    const uint64_t algorithm = subject->rule[0].algorithm, each_ns = 3 * subject->changes;
    if (subject->changes == 0) return 0;
    if (algorithm == ALGORITHM_HYBRID) return each_ns + subject->calls;
    const struct limit *limit = &plan_inside_const(&subject->plan)->limit[0];
    if (algorithm == ALGORITHM_WARMUP) return each_ns * (1 + limit->factor.digits / power_of_ten(limit->factor.places));
    if (algorithm != ALGORITHM_LEAKY) return each_ns;
    return subject->changes * (limit_spacing_ns(limit) / 1000 + 2000000);
}

/* false: the two differ from here on, for one of them was asked a rounded ns too early. */
static bool take_both(struct prop *prop, struct subject *subject)
{
    const uint64_t cost = 1 + prop_pick(prop, prop_chance(prop, 4) ? COST_MAX : 3);
    const uint64_t wait_ns = prop_chance(prop, 2) ? 0 : prop_pick_wait(prop, &subject->plan);
    const uint64_t rounding_ns = rounded_ns(subject);
    weir_decision decision[2];
    for (int i = 0; i < 2; i++) {
        decision[i] = take(subject, i, cost, wait_ns);
        prop_note(prop, "%" PRIu64 " ns: %d takes %" PRIu64 ", waits %" PRIu64 ": verdict %u, %" PRIu64,
                  subject->now_ns, i, cost, wait_ns, decision[i].verdict, delay_ns(&decision[i]));
    }
    subject->calls++;
    const weir_decision *one = &decision[0], *other = &decision[1];
    if (one->verdict == other->verdict) {
        const uint64_t a = delay_ns(one), b = delay_ns(other);
        prop_check(prop, most(a, b) - least(a, b) <= rounding_ns, "%" PRIu64 " ns, after changes %" PRIu64, a, b);
        return true;
    }
    const weir_decision *refused = one->verdict == WEIR_DENY ? one : other;
    prop_check(prop, refused->verdict == WEIR_DENY && refused->retry_ns <= rounding_ns, "verdict %u, after changes %u",
               one->verdict, other->verdict);
    return false;
}

static void charge_both(struct prop *prop, struct subject *subject)
{
    const uint64_t cost = 1 + prop_pick(prop, COST_MAX);
    for (int i = 0; i < 2; i++) {
        weir_decision decision;
        decide_charge(rules_of(subject, i), subject->state[i], subject->now_ns, &cost, &decision);
    }
    prop_note(prop, "%" PRIu64 " ns: charged %" PRIu64, subject->now_ns, cost);
}

static void property(struct prop *prop)
{
    static struct subject subject;
    memset(&subject, 0, sizeof subject);
    prop_pick_any_plan(prop, 1, sizeof subject.state[0], &subject.plan);
    subject.rule[0] = subject.rule[1] = plan_inside_const(&subject.plan)->rule[0];
    if (algorithm_of(&subject.rule[0])->carry == NULL || is_left_out(&subject)) return;
    subject.now_ns = prop_pick_time(prop, &subject.plan);
    for (int i = 0; i < 2; i++) {
        subject.rule[i].anchor_ns = subject.now_ns;
        algorithm_align(&subject.rule[i], subject.now_ns, subject.now_ns);
    }
    while (prop_more(prop, STEPS_MEAN) && prop_in_clock(&subject.plan, subject.now_ns)) {
        prop_step(prop);
        const uint64_t what = prop_pick(prop, 8);
        if (what == 0) change(prop, &subject);
        else if (what == 1) charge_both(prop, &subject);
        else if (!take_both(prop, &subject)) return;
        if (prop_chance(prop, 3)) subject.now_ns += prop_pick_gap(prop, &subject.plan);
    }
}

PROPERTY("same", property, 30000);
