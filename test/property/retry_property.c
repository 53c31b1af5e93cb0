/* SPDX-License-Identifier: MIT
   A refusal says when: one ns earlier the same call is still refused, at that time it passes.

   And what is refused, never possible, or costs nothing, writes nothing; and what is said to remain passes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "property/property.h"

enum { STEPS_MEAN = 30, HOPS = 100, BEGINNINGS = 100 };

struct subject {
    weir_plan plan;
    uint64_t state[LIST_WORDS_MAX];
    uint64_t now_ns;
    bool meets_soon; /* of two cycles: the retry is exact */
};

/* The answer of a copy. */
static weir_decision would(const struct subject *subject, uint64_t now_ns, uint64_t cost, uint64_t wait_ns)
{
    uint64_t copy[LIST_WORDS_MAX];
    memcpy(copy, subject->state, sizeof copy);
    return weir_decide_within(&subject->plan, copy, (weir_instant){now_ns}, cost, wait_ns);
}

static int cycles(const weir_plan *plan)
{
    const struct plan *inside = plan_inside_const(plan);
    int count = 0;
    for (uint64_t i = 0; i < inside->count; i++) count += inside->rule[i].algorithm == ALGORITHM_CYCLE;
    return count;
}

/* Cycles may meet later than the retry reaches: it is followed.  They need not meet at all. */
static weir_decision in_the_end(struct prop *prop, const struct subject *subject, uint64_t cost, uint64_t wait_ns,
                                uint64_t at_ns, weir_decision decision)
{
    int hop = 0;
    for (; hop < HOPS && decision.verdict == WEIR_DENY; hop++) {
        prop_check(prop, decision.retry_ns != 0, "refused with nothing to wait for");
        at_ns = add_saturating(at_ns, decision.retry_ns);
        if (!prop_in_clock(&subject->plan, at_ns)) break;
        decision = would(subject, at_ns, cost, wait_ns);
    }
    prop_check(prop, hop == 0 || decision.verdict != WEIR_ALLOW || !subject->meets_soon,
               "it passes at %" PRIu64 ", not at its retry", at_ns);
    if (decision.verdict == WEIR_DENY) decision.verdict = WEIR_ALLOW;
    return decision;
}

/* Who is told never passes at no beginning of a cycle either, where costs above it may. */
static void check_never(struct prop *prop, const struct subject *subject, uint64_t cost, uint64_t wait_ns)
{
    const struct plan *inside = plan_inside_const(&subject->plan);
    for (uint64_t i = 0; i < inside->count && cycles(&subject->plan) > 1; i++) {
        const uint64_t period_ns = inside->rule[i].period_ns;
        if (inside->rule[i].algorithm != ALGORITHM_CYCLE || period_ns == 0) continue;
        for (uint64_t k = 0; k < BEGINNINGS; k++) {
            const uint64_t at_ns = add_saturating(subject->now_ns, k * (wait_ns != 0 ? wait_ns : 1) % period_ns);
            const weir_decision then = would(subject, add_saturating(at_ns, k * period_ns), cost, wait_ns);
            prop_check(prop, then.verdict != WEIR_ALLOW, "never, and it passes at %" PRIu64, at_ns + k * period_ns);
        }
    }
}

static void check_denied(struct prop *prop, const struct subject *subject, const weir_decision *decision, uint64_t cost,
                         uint64_t wait_ns)
{
    const uint64_t retry_ns = decision->retry_ns, now_ns = subject->now_ns;
    prop_check(prop, retry_ns > 0, "refused with nothing to wait for");
    if (retry_ns == WEIR_FOREVER) check_never(prop, subject, cost, wait_ns);
    if (retry_ns == WEIR_FOREVER || !prop_in_clock(&subject->plan, add_saturating(now_ns, retry_ns))) return;
    const weir_decision before = would(subject, now_ns + retry_ns - 1, cost, wait_ns);
    prop_check(prop, before.verdict == WEIR_DENY, "verdict %u a ns before the retry of %" PRIu64, before.verdict,
               retry_ns);
    weir_decision then = would(subject, now_ns + retry_ns, cost, wait_ns);
    if (cycles(&subject->plan) > 1) then = in_the_end(prop, subject, cost, wait_ns, now_ns + retry_ns, then);
    prop_check(prop, then.verdict == WEIR_ALLOW, "verdict %u after the retry of %" PRIu64, then.verdict, retry_ns);
}

static void check_allowed(struct prop *prop, const struct subject *subject, const weir_decision *decision,
                          uint64_t cost, uint64_t wait_ns)
{
    const struct rules rules = plan_rules(plan_inside_const(&subject->plan));
    bool scheduled = false;
    for (int i = 0; i < rules.count; i++) scheduled = scheduled || algorithm_of(&rules.rule[i])->lateness != NULL;
    prop_check(prop, scheduled || decision->retry_ns == 0, "allowed, with a retry");
    prop_check(prop, decision->charged == cost, "charged %" PRIu64 " for %" PRIu64, decision->charged, cost);
    prop_check(prop, decision->delay_ns <= wait_ns, "a delay of %" PRIu64, decision->delay_ns);
    prop_check(prop, decision->delay_ns == subtract_to_zero(decision->start.ns, subject->now_ns),
               "delay %" PRIu64 " and start %" PRIu64, decision->delay_ns, decision->start.ns);
}

/* What remains passes, and no more; but hybrid lets pass what is longer than its pool, once that is full. */
static void check_remaining(struct prop *prop, const struct subject *subject, uint64_t remaining)
{
    const struct plan *inside = plan_inside_const(&subject->plan);
    const uint64_t pass = remaining > UINT64_MAX >> 4 ? UINT64_MAX >> 4 : remaining;
    const bool bounded = remaining == pass;
    const weir_decision all = would(subject, subject->now_ns, pass, 0);
    prop_check(prop, pass == 0 || !bounded || all.verdict == WEIR_ALLOW, "%" PRIu64 " remain and do not pass", pass);
    for (uint64_t i = 0; i < inside->count; i++) {
        const struct rule *rule = &inside->rule[i];
        if (rule->algorithm == ALGORITHM_HYBRID && pass >= permits_floor(rule, rule->burst)) return;
    }
    const weir_decision more = would(subject, subject->now_ns, pass + 1, 0);
    prop_check(prop, !bounded || more.verdict != WEIR_ALLOW, "%" PRIu64 " remain and one more passes", pass);
}

static void ask(struct prop *prop, struct subject *subject)
{
    uint64_t before[LIST_WORDS_MAX];
    const uint64_t cost = prop_chance(prop, 8) ? 0 : prop_pick_cost(prop, &subject->plan);
    const uint64_t wait_ns = prop_pick_wait(prop, &subject->plan);
    memcpy(before, subject->state, sizeof before);
    const weir_decision decision =
        weir_decide_within(&subject->plan, subject->state, (weir_instant){subject->now_ns}, cost, wait_ns);
    prop_note(prop,
              "%" PRIu64 " ns: take %" PRIu64 ", wait up to %" PRIu64 ": verdict %u, delay %" PRIu64 ", retry %" PRIu64,
              subject->now_ns, cost, wait_ns, decision.verdict, decision.delay_ns, decision.retry_ns);
    const bool same = memcmp(before, subject->state, sizeof before) == 0;
    prop_check(prop, same || (decision.verdict == WEIR_ALLOW && cost > 0), "written to for nothing");
    if (decision.verdict == WEIR_NEVER) {
        const weir_decision later =
            would(subject, add_saturating(subject->now_ns, prop_pick_gap(prop, &subject->plan)), cost, WEIR_FOREVER);
        prop_check(prop, later.verdict == WEIR_NEVER, "never has become %u", later.verdict);
        prop_check(prop, decision.retry_ns == 0, "never, with a retry");
        check_never(prop, subject, cost, wait_ns);
    } else if (decision.verdict == WEIR_DENY) {
        check_denied(prop, subject, &decision, cost, wait_ns);
    } else {
        check_allowed(prop, subject, &decision, cost, wait_ns);
        /* Of a call that waits it is told what remains at its start. */
        if (cost == 0 || decision.delay_ns > 0 || !prop_in_clock(&subject->plan, subject->now_ns)) return;
        check_remaining(prop, subject, decision.remaining);
    }
}

/* Two cycles that are short, so that costs above theirs are drawn, and what they have in common is not far away. */
static void pick_cycles(struct prop *prop, weir_plan *plan)
{
    char text[128];
    snprintf(text, sizeof text, "%u/%uus algorithm=cycle; %u/%uus algorithm=cycle", 1 + (unsigned)prop_pick(prop, 9),
             1 + (unsigned)prop_pick(prop, 49), 1 + (unsigned)prop_pick(prop, 9), 1 + (unsigned)prop_pick(prop, 49));
    prop_note(prop, "limit %s", text);
    prop_check(prop, weir_plan_parse(plan, text, WEIR_ADMIT, NULL) == 0, "%s is refused", text);
}

static void retry_property(struct prop *prop)
{
    struct subject subject;
    memset(&subject, 0, sizeof subject);
    const unsigned kinds = PROP_RATED | PROP_LISTS | PROP_UNRATED | (prop_chance(prop, 2) ? PROP_TINY_BURST : 0);
    subject.meets_soon = prop_chance(prop, 8);
    if (subject.meets_soon) pick_cycles(prop, &subject.plan);
    else prop_pick_plan(prop, kinds, &subject.plan);
    subject.now_ns = prop_pick_time(prop, &subject.plan);
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        const uint64_t gap_ns = prop_pick_gap(prop, &subject.plan);
        if (prop_chance(prop, 8)) subject.now_ns = subtract_to_zero(subject.now_ns, gap_ns);
        else subject.now_ns = add_saturating(subject.now_ns, gap_ns);
        ask(prop, &subject);
    }
}

PROPERTY("retry", retry_property, 50000);
