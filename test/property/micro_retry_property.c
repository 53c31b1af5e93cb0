/* SPDX-License-Identifier: MIT
   In an engine, too, a refusal says when: one us earlier the same call is still refused, then it
   passes, if nobody else asks in between.

   For every plan that an engine keeps, at any time up to the last one that it counts, with waits, charges and settling
   before: what is said to remain passes, and one more does not; and no number anywhere is above 2^53 (micro_rig.c). */
#include <inttypes.h>

#include "core/num.h"
#include "property/micro_rig.h"
#include "redis/micro/num.h"

enum { STEPS_MEAN = 20, LIMITS_MAX = 3, US_NS = 1000 };

static bool pick_plan(struct prop *prop, struct rig *rig)
{
    weir_error error;
    rig_forget(rig);
    rig->any_bytes = false;
    prop_pick_any_plan(prop, LIMITS_MAX, SIZE_MAX, &rig->plan);
    if (micro_plan_make(&rig->micro, &rig->plan, &error) != 0) {
        prop_check(prop, error.code == WEIR_EUNSUPPORTED && error.message[0] != '\0', "refused without a word");
        return false;
    }
    for (unsigned i = 0; i < rig->micro.count; i++) {
        const struct micro_rule *rule = &rig->micro.rule[i];
        const uint64_t number[] = {rule->burst, rule->permit, rule->per,  rule->top,    rule->debt,  rule->per_fast,
                                   rule->block, rule->gap,    rule->calm, rule->second, rule->third, rule->period};
        for (size_t n = 0; n < sizeof number / sizeof *number; n++) {
            prop_check(prop, number[n] <= MICRO_MOST, "number %zu of rule %u is %" PRIu64, n, i, number[n]);
        }
        if (rule->kind == MICRO_LOG && rule->burst > RIG_STAMPS) return false;
    }
    return true;
}

static uint64_t would(struct prop *prop, const struct rig *rig, const struct micro_ask *ask, uint64_t now,
                      uint64_t cost)
{
    struct rig copy = *rig;
    struct micro_ask then = *ask;
    then.now = now;
    then.peek = true;
    if (cost != UINT64_MAX) {
        for (unsigned i = 0; i < WEIR_LIMITS_MAX; i++) then.cost[i] = cost;
    }
    return rig_take(prop, &copy, &then).verdict;
}

static void check_remaining(struct prop *prop, const struct rig *rig, const struct micro_ask *ask, uint64_t remaining)
{
    struct micro_ask at_once = *ask;
    struct micro_state state;
    struct micro_log log[WEIR_LIMITS_MAX];
    at_once.wait = 0;
    rig_state(rig, &state, log);
    if (remaining == MICRO_ALL) return;
    const bool passes = would(prop, rig, &at_once, ask->now, remaining) == WEIR_ALLOW;
    prop_check(prop, passes || remaining == 0, "%" PRIu64 " remain and do not pass", remaining);
    for (unsigned i = 0; i < rig->micro.count; i++) {
        const struct micro_rule *rule = &rig->micro.rule[i];
        /* What is above the pool passes when it is full; so does the first call, whatever it needs. */
        if (rule->kind == MICRO_HYBRID && (state.count == 0 || state.cell[i].words == 0)) return;
        if (rule->kind == MICRO_HYBRID && remaining >= rule->top / rule->permit) return;
        if (rule->gap != 0) return; /* one call more, of any size */
    }
    const uint64_t more = would(prop, rig, &at_once, ask->now, remaining + 1);
    prop_check(prop, more != WEIR_ALLOW, "%" PRIu64 " remain and one more passes", remaining);
}

static void take(struct prop *prop, struct rig *rig, const struct micro_ask *ask)
{
    const struct micro_answer answer = rig_take(prop, rig, ask);
    prop_note(prop, "%" PRIu64 ": take %" PRIu64 " wait %" PRIu64 ": verdict %d delay %" PRIu64 " retry %" PRIu64,
              ask->now, ask->cost[0], ask->wait, answer.verdict, answer.delay, answer.retry);
    prop_check(prop, answer.delay <= ask->wait, "starts too late");
    if (!ask->peek) check_remaining(prop, rig, ask, answer.remaining);
    if (answer.verdict == WEIR_ALLOW) prop_check(prop, answer.retry == 0, "passes, and says when");
    if (answer.verdict != WEIR_DENY || ask->now + answer.retry > MICRO_MOST) return;
    const uint64_t passes = ask->now + answer.retry;
    prop_check(prop, would(prop, rig, ask, passes - 1, UINT64_MAX) != WEIR_ALLOW, "passes before its retry");
    prop_check(prop, would(prop, rig, ask, passes, UINT64_MAX) == WEIR_ALLOW, "does not pass at its retry");
}

static void property(struct prop *prop)
{
    static const uint64_t begins[] = {UINT64_C(1763836800123456), 0, UINT64_C(1) << 51,
                                      (UINT64_C(1) << 52) - 100000000};
    struct rig rig;
    uint64_t now = begins[prop_pick(prop, 4)], taken = now, cost = 0;
    if (!pick_plan(prop, &rig)) return;
    while (prop_more(prop, STEPS_MEAN)) {
        struct micro_ask ask = {.peek = prop_chance(prop, 8)};
        now = least(now + prop_pick_gap(prop, &rig.plan) / US_NS, MICRO_MOST);
        ask.now = now;
        ask.wait = prop_pick_wait(prop, &rig.plan) / US_NS;
        if (rig.micro.count > 1) ask.wait = 0;
        const uint64_t of_all = prop_pick_cost(prop, &rig.plan);
        for (unsigned i = 0; i < rig.micro.count; i++) {
            ask.cost[i] = prop_chance(prop, 4) ? prop_pick_cost(prop, &rig.plan) : of_all;
        }
        if (prop_chance(prop, 12)) {
            rig_charge(prop, &rig, &ask);
        } else if (prop_chance(prop, 8) && cost != 0) {
            uint64_t charged[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX];
            for (unsigned i = 0; i < rig.micro.count; i++) {
                charged[i] = cost;
                actual[i] = prop_pick(prop, 2 * cost);
            }
            rig_settle(prop, &rig, now, taken, charged, actual);
        } else {
            take(prop, &rig, &ask);
            taken = now;
            cost = least(ask.cost[0], UINT64_C(1) << 40);
        }
        prop_step(prop);
    }
}

PROPERTY("micro_retry", property, 20000);
