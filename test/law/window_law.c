/* SPDX-License-Identifier: MIT
   window_law.c - at most the printed bound in any window, whatever is asked when.

   A call counts at its start: now, or the time that it was told to wait for.  Each limit of a list keeps its own bound.
   Times go back now and then; a call then counts at the time that it was told. */
#include "law/window.h"

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

static weir_decision ask(struct law *law, struct subject *subject, uint64_t cost, uint64_t wait_ns)
{
    const weir_decision decision =
        weir_decide_within(&subject->plan, subject->state, (weir_instant){subject->now_ns}, cost, wait_ns);
    law_step(law);
    law_note(law, "%" PRIu64 " ns: take %" PRIu64 ", wait up to %" PRIu64 ": verdict %u, delay %" PRIu64,
             subject->now_ns, cost, wait_ns, decision.verdict, decision.delay_ns);
    if (weir_allowed(decision)) {
        subject->uses.use[subject->uses.count++] =
            (struct use){add_saturating(subject->now_ns, decision.delay_ns), cost, false};
    }
    return decision;
}

/* Takes all that there is at this moment, or one call after the other as early as each may start. */
static void be_greedy(struct law *law, struct subject *subject)
{
    const uint64_t cost = law_pick_cost(law, &subject->plan);
    for (uint64_t i = law_pick(law, GREEDY_MAX); i > 0 && subject->uses.count < USES_MAX; i--) {
        const weir_decision decision = ask(law, subject, cost, 0);
        if (decision.verdict == WEIR_NEVER) return;
        if (decision.verdict == WEIR_DENY) subject->now_ns = add_saturating(subject->now_ns, decision.retry_ns);
    }
}

static void window_property(struct law *law)
{
    struct subject subject;
    memset(&subject, 0, sizeof subject);
    law_pick_plan(law, LAW_RATED | LAW_LISTS | (law_chance(law, 2) ? LAW_TINY_BURST : 0), &subject.plan);
    subject.now_ns = law_pick_time(law, &subject.plan);
    while (law_more(law, STEPS_MEAN) && subject.uses.count < USES_MAX) {
        const uint64_t gap_ns = law_pick_gap(law, &subject.plan);
        if (law_chance(law, 10)) subject.now_ns = subtract_to_zero(subject.now_ns, gap_ns);
        else subject.now_ns = add_saturating(subject.now_ns, gap_ns);
        if (law_chance(law, 4)) be_greedy(law, &subject);
        else ask(law, &subject, law_pick_cost(law, &subject.plan), law_pick_wait(law, &subject.plan));
    }
    const struct plan *inside = plan_inside_const(&subject.plan);
    for (uint64_t i = 0; i < inside->count; i++) {
        window_check(law, &inside->limit[i], &inside->rule[i], &subject.uses);
    }
}

LAW("window", window_property, 40000);
