/* SPDX-License-Identifier: MIT
   retry_law.c - a refusal says when: one ns earlier the same call is still refused, at that time it passes.

   And what is refused, never possible, or costs nothing, writes nothing; and what is said to remain passes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "law/law.h"

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
static weir_decision in_the_end(struct law *law, const struct subject *subject, uint64_t cost, uint64_t wait_ns,
                                uint64_t at_ns, weir_decision decision)
{
    int hop = 0;
    for (; hop < HOPS && decision.verdict == WEIR_DENY; hop++) {
        law_check(law, decision.retry_ns != 0, "refused with nothing to wait for");
        at_ns = add_saturating(at_ns, decision.retry_ns);
        if (!law_in_clock(&subject->plan, at_ns)) break;
        decision = would(subject, at_ns, cost, wait_ns);
    }
    law_check(law, hop == 0 || decision.verdict != WEIR_ALLOW || !subject->meets_soon,
              "it passes at %" PRIu64 ", not at its retry", at_ns);
    if (decision.verdict == WEIR_DENY) decision.verdict = WEIR_ALLOW;
    return decision;
}

/* Who is told never passes at no beginning of a cycle either, where costs above it may. */
static void check_never(struct law *law, const struct subject *subject, uint64_t cost, uint64_t wait_ns)
{
    const struct plan *inside = plan_inside_const(&subject->plan);
    for (uint64_t i = 0; i < inside->count && cycles(&subject->plan) > 1; i++) {
        const uint64_t period_ns = inside->rule[i].period_ns;
        if (inside->rule[i].algorithm != ALGORITHM_CYCLE || period_ns == 0) continue;
        for (uint64_t k = 0; k < BEGINNINGS; k++) {
            const uint64_t at_ns = add_saturating(subject->now_ns, k * (wait_ns != 0 ? wait_ns : 1) % period_ns);
            const weir_decision then = would(subject, add_saturating(at_ns, k * period_ns), cost, wait_ns);
            law_check(law, then.verdict != WEIR_ALLOW, "never, and it passes at %" PRIu64, at_ns + k * period_ns);
        }
    }
}

static void check_denied(struct law *law, const struct subject *subject, const weir_decision *decision, uint64_t cost,
                         uint64_t wait_ns)
{
    const uint64_t retry_ns = decision->retry_ns, now_ns = subject->now_ns;
    law_check(law, retry_ns > 0, "refused with nothing to wait for");
    if (retry_ns == WEIR_FOREVER) check_never(law, subject, cost, wait_ns);
    if (retry_ns == WEIR_FOREVER || !law_in_clock(&subject->plan, add_saturating(now_ns, retry_ns))) return;
    const weir_decision before = would(subject, now_ns + retry_ns - 1, cost, wait_ns);
    law_check(law, before.verdict == WEIR_DENY, "verdict %u a ns before the retry of %" PRIu64, before.verdict,
              retry_ns);
    weir_decision then = would(subject, now_ns + retry_ns, cost, wait_ns);
    if (cycles(&subject->plan) > 1) then = in_the_end(law, subject, cost, wait_ns, now_ns + retry_ns, then);
    law_check(law, then.verdict == WEIR_ALLOW, "verdict %u after the retry of %" PRIu64, then.verdict, retry_ns);
}

static void check_allowed(struct law *law, const struct subject *subject, const weir_decision *decision, uint64_t cost,
                          uint64_t wait_ns)
{
    const struct rules rules = plan_rules(plan_inside_const(&subject->plan));
    bool scheduled = false;
    for (int i = 0; i < rules.count; i++) scheduled = scheduled || algorithm_of(&rules.rule[i])->lateness != NULL;
    law_check(law, scheduled || decision->retry_ns == 0, "allowed, with a retry");
    law_check(law, decision->charged == cost, "charged %" PRIu64 " for %" PRIu64, decision->charged, cost);
    law_check(law, decision->delay_ns <= wait_ns, "a delay of %" PRIu64, decision->delay_ns);
    law_check(law, decision->delay_ns == subtract_to_zero(decision->start.ns, subject->now_ns),
              "delay %" PRIu64 " and start %" PRIu64, decision->delay_ns, decision->start.ns);
}

/* What remains passes, and no more; but hybrid lets pass what is longer than its pool, once that is full. */
static void check_remaining(struct law *law, const struct subject *subject, uint64_t remaining)
{
    const struct plan *inside = plan_inside_const(&subject->plan);
    const uint64_t pass = remaining > UINT64_MAX >> 4 ? UINT64_MAX >> 4 : remaining;
    const bool bounded = remaining == pass;
    const weir_decision all = would(subject, subject->now_ns, pass, 0);
    law_check(law, pass == 0 || !bounded || all.verdict == WEIR_ALLOW, "%" PRIu64 " remain and do not pass", pass);
    for (uint64_t i = 0; i < inside->count; i++) {
        const struct rule *rule = &inside->rule[i];
        if (rule->algorithm == ALGORITHM_HYBRID && pass >= permits_floor(rule, rule->burst)) return;
    }
    const weir_decision more = would(subject, subject->now_ns, pass + 1, 0);
    law_check(law, !bounded || more.verdict != WEIR_ALLOW, "%" PRIu64 " remain and one more passes", pass);
}

static void ask(struct law *law, struct subject *subject)
{
    uint64_t before[LIST_WORDS_MAX];
    const uint64_t cost = law_chance(law, 8) ? 0 : law_pick_cost(law, &subject->plan);
    const uint64_t wait_ns = law_pick_wait(law, &subject->plan);
    memcpy(before, subject->state, sizeof before);
    const weir_decision decision =
        weir_decide_within(&subject->plan, subject->state, (weir_instant){subject->now_ns}, cost, wait_ns);
    law_note(law,
             "%" PRIu64 " ns: take %" PRIu64 ", wait up to %" PRIu64 ": verdict %u, delay %" PRIu64 ", retry %" PRIu64,
             subject->now_ns, cost, wait_ns, decision.verdict, decision.delay_ns, decision.retry_ns);
    const bool same = memcmp(before, subject->state, sizeof before) == 0;
    law_check(law, same || (decision.verdict == WEIR_ALLOW && cost > 0), "written to for nothing");
    if (decision.verdict == WEIR_NEVER) {
        const weir_decision later =
            would(subject, add_saturating(subject->now_ns, law_pick_gap(law, &subject->plan)), cost, WEIR_FOREVER);
        law_check(law, later.verdict == WEIR_NEVER, "never has become %u", later.verdict);
        law_check(law, decision.retry_ns == 0, "never, with a retry");
        check_never(law, subject, cost, wait_ns);
    } else if (decision.verdict == WEIR_DENY) {
        check_denied(law, subject, &decision, cost, wait_ns);
    } else {
        check_allowed(law, subject, &decision, cost, wait_ns);
        /* Of a call that waits it is told what remains at its start. */
        if (cost == 0 || decision.delay_ns > 0 || !law_in_clock(&subject->plan, subject->now_ns)) return;
        check_remaining(law, subject, decision.remaining);
    }
}

/* Two cycles that are short, so that costs above theirs are drawn, and what they have in common is not far away. */
static void pick_cycles(struct law *law, weir_plan *plan)
{
    char text[128];
    snprintf(text, sizeof text, "%u/%uus algorithm=cycle; %u/%uus algorithm=cycle", 1 + (unsigned)law_pick(law, 9),
             1 + (unsigned)law_pick(law, 49), 1 + (unsigned)law_pick(law, 9), 1 + (unsigned)law_pick(law, 49));
    law_note(law, "limit %s", text);
    law_check(law, weir_plan_parse(plan, text, WEIR_ADMIT, NULL) == 0, "%s is refused", text);
}

static void retry_property(struct law *law)
{
    struct subject subject;
    memset(&subject, 0, sizeof subject);
    const unsigned kinds = LAW_RATED | LAW_LISTS | LAW_UNRATED | (law_chance(law, 2) ? LAW_TINY_BURST : 0);
    subject.meets_soon = law_chance(law, 8);
    if (subject.meets_soon) pick_cycles(law, &subject.plan);
    else law_pick_plan(law, kinds, &subject.plan);
    subject.now_ns = law_pick_time(law, &subject.plan);
    while (law_more(law, STEPS_MEAN)) {
        law_step(law);
        const uint64_t gap_ns = law_pick_gap(law, &subject.plan);
        if (law_chance(law, 8)) subject.now_ns = subtract_to_zero(subject.now_ns, gap_ns);
        else subject.now_ns = add_saturating(subject.now_ns, gap_ns);
        ask(law, &subject);
    }
}

LAW("retry", retry_property, 50000);
