/* SPDX-License-Identifier: MIT
   What was really used stays within the bound, however decisions are settled and cancelled.

   Used is counted at its start: a cancelled decision counts nothing, one that was settled down what was used of it,
   one that was settled up the excess at the time of settling. */
#include "property/window.h"

#include <inttypes.h>
#include <string.h>

#include "core/num.h"

enum { STEPS_MEAN = 30 };

struct call {
    weir_decision decision; /* charged is 0 when it is settled, and of an excess */
    uint64_t cost[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX];
    bool differ; /* a cost for each limit, or one for all */
};

struct history {
    weir_plan plan;
    struct rules rules;
    uint64_t state[LIST_WORDS_MAX];
    uint64_t now_ns, ahead_ns;         /* ahead: the longest delay */
    struct uses uses[WEIR_LIMITS_MAX]; /* of each limit, as many as calls */
    struct call call[USES_MAX];
    int calls;
};

static void use(struct history *history, int limit, uint64_t at_ns, uint64_t permits, bool excess)
{
    struct uses *uses = &history->uses[limit];
    uses->use[history->calls] = (struct use){at_ns, permits, excess};
    uses->count = history->calls + 1;
}

static void take(struct prop *prop, struct history *history)
{
    const weir_instant now = {history->now_ns};
    const uint64_t wait_ns = prop_pick_wait(prop, &history->plan);
    struct call *call = &history->call[history->calls];
    call->differ = history->rules.count > 1 && prop_chance(prop, 3);
    for (int i = 0; i < history->rules.count; i++) {
        call->cost[i] = i == 0 || call->differ ? prop_pick_cost(prop, &history->plan) : call->cost[0];
    }
    if (call->differ) {
        const struct question question = {now.ns, wait_ns, call->cost, false};
        decide(history->rules, history->state, &question, call->end, &call->decision);
    } else {
        call->decision = weir_decide_within(&history->plan, history->state, now, call->cost[0], wait_ns);
    }
    prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 "%s, wait up to %" PRIu64 ": verdict %u, delay %" PRIu64, now.ns,
              call->cost[0], call->differ ? " of the first" : "", wait_ns, call->decision.verdict,
              call->decision.delay_ns);
    if (!weir_allowed(call->decision)) return;
    for (int i = 0; i < history->rules.count; i++) {
        if (call->differ) prop_note(prop, "  limit %d: %" PRIu64, i, call->cost[i]);
        use(history, i, add_saturating(now.ns, call->decision.delay_ns), call->cost[i], false);
    }
    history->ahead_ns = most(history->ahead_ns, call->decision.delay_ns);
    history->calls++;
}

static uint64_t pick_actual(struct prop *prop, uint64_t charged)
{
    const uint64_t how = prop_pick(prop, 8);
    if (how < 3) return 0;
    if (how < 7) return prop_pick(prop, charged + 1);
    return charged + 1 + prop_pick(prop, charged < 4 ? 4 : charged);
}

/* What was used of a call that has been settled; an excess becomes a use of its own. */
static void use_settled(struct history *history, const struct call *call, const uint64_t actual[])
{
    bool excess = false;
    for (int i = 0; i < history->rules.count; i++) {
        if (actual[i] < call->cost[i]) history->uses[i].use[call - history->call].permits = actual[i];
        use(history, i, history->now_ns, subtract_to_zero(actual[i], call->cost[i]), true);
        excess = excess || actual[i] > call->cost[i];
    }
    history->call[history->calls].decision.charged = 0;
    if (excess) history->calls++;
}

static void settle_one(struct prop *prop, struct history *history, struct call *call)
{
    uint64_t actual[WEIR_LIMITS_MAX];
    if (call->decision.charged == 0) return;
    const bool cancels = prop_chance(prop, 3);
    for (int i = 0; i < history->rules.count; i++) {
        actual[i] = cancels ? 0 : i == 0 || call->differ ? pick_actual(prop, call->cost[i]) : actual[0];
        prop_note(prop, "%" PRIu64 " ns: settle call %d of limit %d from %" PRIu64 " to %" PRIu64, history->now_ns,
                  (int)(call - history->call), i, call->cost[i], actual[i]);
    }
    if (call->differ) {
        decide_settle(history->rules, history->state, history->now_ns, &call->decision, call->cost, actual, call->end);
        call->decision.charged = 0;
    } else {
        weir_decide_settle(&history->plan, history->state, (weir_instant){history->now_ns}, &call->decision, actual[0]);
        prop_check(prop, call->decision.charged == 0, "settled, and it still says what was charged");
    }
    use_settled(history, call, actual);
}

static void settle_property(struct prop *prop)
{
    struct history history;
    memset(&history, 0, sizeof history);
    prop_pick_plan(prop, PROP_RATED | PROP_LISTS | (prop_chance(prop, 2) ? PROP_TINY_BURST : 0), &history.plan);
    const struct plan *inside = plan_inside_const(&history.plan);
    history.rules = plan_rules(inside);
    history.now_ns = prop_pick_time(prop, &history.plan);
    while (prop_more(prop, STEPS_MEAN) && history.calls < USES_MAX) {
        prop_step(prop);
        history.now_ns = add_saturating(history.now_ns, prop_pick_gap(prop, &history.plan));
        const uint64_t calls = (uint64_t)history.calls;
        /* Where more was promised than half of the clock, what is owed beside it may not fit. */
        if (!prop_in_clock(&history.plan, add_saturating(history.now_ns, 2 * history.ahead_ns))) break;
        if (calls == 0 || prop_pick(prop, 5) < 3) take(prop, &history);
        else
            settle_one(prop, &history, &history.call[calls - 1 - prop_pick(prop, prop_pick(prop, 2) == 0 ? 1 : calls)]);
    }
    for (int i = 0; i < history.rules.count; i++) {
        if (history.uses[i].count > history.calls) history.uses[i].count = history.calls;
        window_check(prop, &inside->limit[i], &inside->rule[i], &history.uses[i]);
    }
}

PROPERTY("settle", settle_property, 300000);
