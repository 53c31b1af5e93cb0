/* SPDX-License-Identifier: MIT
   A call that an algorithm passes in one step is told, to the last field, what decide() says, and leaves the same
   state; a call that it does not pass so leaves the state as it was.

   Limits with `pass` are asked both ways, in states that calls, reservations, charges and settling leave, or of any
   words; time goes back too. */
#include <inttypes.h>
#include <string.h>

#include "property/property.h"
#include "core/decide_inline.h"
#include "plan/plan.h"

enum { STEPS_MEAN = 60 };

struct subject {
    struct prop *prop;
    weir_plan plan;
    const struct rule *rule;
    uint64_t state[STATE_WORDS_MAX], now_ns;
    weir_decision last;
};

static double passed_at_once, not_passed;

static void pass_time(struct subject *subject)
{
    struct prop *prop = subject->prop;
    const uint64_t gap_ns = prop_pick_gap(prop, &subject->plan) >> prop_pick(prop, 8);
    if (prop_chance(prop, 8)) subject->now_ns = subtract_to_zero(subject->now_ns, gap_ns);
    else subject->now_ns = add_saturating(subject->now_ns, gap_ns);
    if (prop_chance(prop, 64)) subject->now_ns = UINT64_MAX - prop_pick(prop, 3);
}

/* What moves the state in other ways. */
static void disturb(struct subject *subject)
{
    struct prop *prop = subject->prop;
    const struct rules rules = {subject->rule, 1};
    const uint64_t cost = prop_pick_cost(prop, &subject->plan), how = prop_pick(prop, 16);
    const struct question question = {subject->now_ns, prop_pick_wait(prop, &subject->plan), &cost, false};
    if (how < 8) decide(rules, subject->state, &question, NULL, &subject->last);
    else if (how < 10) decide_charge(rules, subject->state, subject->now_ns, &cost, &subject->last);
    else if (how < 14 && subject->last.verdict == WEIR_ALLOW)
        decide_settle(rules, subject->state, subject->now_ns, &subject->last, &subject->last.charged, &cost, NULL);
    else if (how == 15) subject->state[prop_pick(prop, 4)] = prop_pick_size(prop, UINT64_MAX);
}

static void take(struct subject *subject)
{
    struct prop *prop = subject->prop;
    uint64_t cost = prop_chance(prop, 2) ? 1 : prop_pick_cost(prop, &subject->plan), other[STATE_WORDS_MAX];
    if (prop_chance(prop, 16)) cost = prop_chance(prop, 2) ? 0 : prop_pick_size(prop, UINT64_MAX);
    const struct question question = {subject->now_ns, 0, &cost, false};
    weir_decision ours, theirs;
    memcpy(other, subject->state, sizeof other);
    const bool passed = decide_pass(subject->rule, algorithm_of(subject->rule), other, subject->now_ns, cost, &ours);
    if (!passed) {
        prop_check(prop, memcmp(other, subject->state, sizeof other) == 0, "not passed, and yet it wrote");
        not_passed++;
    }
    decide((struct rules){subject->rule, 1}, subject->state, &question, NULL, &theirs);
    prop_note(prop, "at %" PRIu64 " cost %" PRIu64 ": verdict %u, at once %d", subject->now_ns, cost, theirs.verdict,
              passed);
    subject->last = theirs;
    if (!passed) return;
    passed_at_once++;
    prop_check(prop, memcmp(&ours, &theirs, sizeof ours) == 0,
               "told %u, due %" PRIu64 ", remaining %" PRIu64 ", end %" PRIu64 "; decided %u, %" PRIu64 ", %" PRIu64
               ", %" PRIu64,
               ours.verdict, ours.due.ns, ours.remaining, ours.end, theirs.verdict, theirs.due.ns, theirs.remaining,
               theirs.end);
    prop_check(prop, memcmp(other, subject->state, sizeof other) == 0, "the states differ");
}

static void property(struct prop *prop)
{
    struct subject subject = {.prop = prop};
    prop_pick_plan(prop, PROP_HYBRID | (prop_chance(prop, 2) ? PROP_TINY_BURST : 0), &subject.plan);
    subject.rule = &plan_inside_const(&subject.plan)->rule[0];
    if (algorithm_of(subject.rule)->pass == NULL) return;
    subject.now_ns = prop_pick_time(prop, &subject.plan);
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        if (prop_chance(prop, 2)) pass_time(&subject);
        if (prop_chance(prop, 4)) disturb(&subject);
        take(&subject);
    }
    prop_largest(prop, "passed at once and not, each at least",
                 passed_at_once < not_passed ? passed_at_once : not_passed);
}

PROPERTY("pass", property, 40000);
