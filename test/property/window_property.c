/* SPDX-License-Identifier: MIT
   At most the printed bound in any window, whatever is asked when.

   A call counts at its start: now, or the time that it was told to wait for.  Each limit of a list keeps its own bound.
   Times go back now and then; a call then counts at the time that it was told. */
#include "property/window.h"

#include <inttypes.h>
#include <string.h>

#include "core/num.h"

enum { STEPS_MEAN = 40, GREEDY_MAX = 8 };

struct subject {
    weir_plan plan;
    uint64_t state[LIST_WORDS_MAX];
    uint64_t now_ns;
    struct uses uses;
};

static weir_decision ask(struct prop *prop, struct subject *subject, uint64_t cost, uint64_t wait_ns)
{
    const weir_decision decision =
        weir_decide_within(&subject->plan, subject->state, (weir_instant){subject->now_ns}, cost, wait_ns);
    prop_step(prop);
    prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 ", wait up to %" PRIu64 ": verdict %u, delay %" PRIu64,
              subject->now_ns, cost, wait_ns, decision.verdict, decision.delay_ns);
    if (weir_allowed(decision)) {
        subject->uses.use[subject->uses.count++] =
            (struct use){add_saturating(subject->now_ns, decision.delay_ns), cost, false};
    }
    return decision;
}

/* Takes all that there is at this moment, or one call after the other as early as each may start. */
static void be_greedy(struct prop *prop, struct subject *subject)
{
    const uint64_t cost = prop_pick_cost(prop, &subject->plan);
    for (uint64_t i = prop_pick(prop, GREEDY_MAX); i > 0 && subject->uses.count < USES_MAX; i--) {
        const weir_decision decision = ask(prop, subject, cost, 0);
        if (decision.verdict == WEIR_NEVER) return;
        if (decision.verdict == WEIR_DENY) subject->now_ns = add_saturating(subject->now_ns, decision.retry_ns);
    }
}

static void window_property(struct prop *prop)
{
    struct subject subject;
    memset(&subject, 0, sizeof subject);
    prop_pick_plan(prop, PROP_RATED | PROP_LISTS | (prop_chance(prop, 2) ? PROP_TINY_BURST : 0), &subject.plan);
    subject.now_ns = prop_pick_time(prop, &subject.plan);
    while (prop_more(prop, STEPS_MEAN) && subject.uses.count < USES_MAX) {
        const uint64_t gap_ns = prop_pick_gap(prop, &subject.plan);
        if (prop_chance(prop, 10)) subject.now_ns = subtract_to_zero(subject.now_ns, gap_ns);
        else subject.now_ns = add_saturating(subject.now_ns, gap_ns);
        if (prop_chance(prop, 4)) be_greedy(prop, &subject);
        else ask(prop, &subject, prop_pick_cost(prop, &subject.plan), prop_pick_wait(prop, &subject.plan));
    }
    const struct plan *inside = plan_inside_const(&subject.plan);
    for (uint64_t i = 0; i < inside->count; i++) {
        window_check(prop, &inside->limit[i], &inside->rule[i], &subject.uses);
    }
}

PROPERTY("window", window_property, 40000);
