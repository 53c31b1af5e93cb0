/* SPDX-License-Identifier: MIT
   settle_law.c - what was really used stays within the bound, however decisions are settled and cancelled.

   Used is counted at its start: a cancelled decision counts nothing, one that was settled down what was used of it,
   one that was settled up the excess at the time of settling. */
#include "law/window.h"

#include <inttypes.h>
#include <string.h>

#include "core/num.h"

enum { STEPS_MEAN = 30 };

struct history {
    weir_plan plan;
    uint64_t state[LIST_WORDS_MAX];
    uint64_t now_ns;
    struct uses uses;
    weir_decision decision[USES_MAX]; /* of the use of the same number; charged is 0 when it is settled */
};

static void take(struct law *law, struct history *history)
{
    const uint64_t cost = law_pick_cost(law, &history->plan), wait_ns = law_pick_wait(law, &history->plan);
    const weir_decision decision =
        weir_decide_within(&history->plan, history->state, (weir_instant){history->now_ns}, cost, wait_ns);
    law_note(law, "%" PRIu64 " ns: take %" PRIu64 ", wait up to %" PRIu64 ": verdict %u, delay %" PRIu64, history->now_ns,
             cost, wait_ns, decision.verdict, decision.delay_ns);
    if (!weir_allowed(decision)) return;
    const int i = history->uses.count++;
    history->decision[i] = decision;
    history->uses.use[i] = (struct use){add_saturating(history->now_ns, decision.delay_ns), cost, false};
}

static uint64_t pick_actual(struct law *law, uint64_t charged)
{
    const uint64_t how = law_pick(law, 8);
    if (how < 3) return 0;
    if (how < 7) return law_pick(law, charged + 1);
    return charged + 1 + law_pick(law, charged < 4 ? 4 : charged);
}

static void settle_one(struct law *law, struct history *history, int i)
{
    weir_decision *decision = &history->decision[i];
    const uint64_t charged = decision->charged;
    if (charged == 0) return;
    const uint64_t actual = pick_actual(law, charged);
    law_note(law, "%" PRIu64 " ns: settle call %d from %" PRIu64 " to %" PRIu64, history->now_ns, i, charged, actual);
    weir_decide_settle(&history->plan, history->state, (weir_instant){history->now_ns}, decision, actual);
    law_check(law, decision->charged == 0, "settled, and it still says what was charged");
    if (actual < charged) history->uses.use[i].permits = actual;
    if (actual <= charged) return;
    history->decision[history->uses.count].charged = 0;
    history->uses.use[history->uses.count++] = (struct use){history->now_ns, actual - charged, true};
}

static void settle_property(struct law *law)
{
    struct history history;
    memset(&history, 0, sizeof history);
    law_pick_plan(law, LAW_RATED | LAW_LISTS | (law_chance(law, 2) ? LAW_TINY_BURST : 0), &history.plan);
    history.now_ns = law_pick_time(law, &history.plan);
    while (law_more(law, STEPS_MEAN) && history.uses.count < USES_MAX) {
        law_step(law);
        history.now_ns = add_saturating(history.now_ns, law_pick_gap(law, &history.plan));
        const int calls = history.uses.count;
        if (calls == 0 || law_pick(law, 5) < 3) take(law, &history);
        else settle_one(law, &history, (int)law_pick(law, (uint64_t)calls));
    }
    const struct plan *inside = plan_inside_const(&history.plan);
    for (uint64_t i = 0; i < inside->count; i++) {
        window_check(law, &inside->limit[i], &inside->rule[i], &history.uses);
    }
}

LAW("settle", settle_property, 50000);
