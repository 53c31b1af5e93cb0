/* SPDX-License-Identifier: MIT
   The whole is the sum of its parts: n permits at one moment leave what n permits one by one leave.

   Exactly, when all pass at once.  A wait is rounded up to a ns, so where gcra waits a part of it may be lost, at most
   the ticks of a ns for each call.  Where hybrid waits, each part starts at its own time: that is what pacing is. */
#include <inttypes.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "property/property.h"

enum { STEPS_MEAN = 20, PARTS_MAX = 12, POSITION_WORDS = 3 };

struct subject {
    weir_plan plan;
    uint64_t state[LIST_WORDS_MAX];
    weir_instant now;
    uint64_t wait_ns;
};

static weir_decision take(const struct subject *subject, uint64_t *state, uint64_t cost)
{
    return weir_decide_within(&subject->plan, state, subject->now, cost, subject->wait_ns);
}

/* Takes `cost` in parts, each of which must pass; returns how many. */
static int take_parts(struct prop *prop, const struct subject *subject, uint64_t *state, uint64_t cost,
                      weir_decision *last)
{
    int part = 0;
    while (cost > 0) {
        const uint64_t size = ++part == PARTS_MAX ? cost : prop_pick(prop, 3) == 0 ? 1 : 1 + prop_pick(prop, cost);
        *last = take(subject, state, size);
        prop_note(prop, "  part of %" PRIu64 ": verdict %u", size, last->verdict);
        prop_check(prop, weir_allowed(*last), "the whole passes, a part does not");
        cost -= size;
    }
    return part;
}

static void check_step(struct prop *prop, struct subject *subject, bool hybrid)
{
    uint64_t whole[LIST_WORDS_MAX], parts[LIST_WORDS_MAX];
    memcpy(whole, subject->state, sizeof whole);
    memcpy(parts, subject->state, sizeof parts);
    const uint64_t cost = prop_pick_cost(prop, &subject->plan);
    const uint64_t room = take(subject, whole, 0).remaining;
    const weir_decision once = take(subject, whole, cost);
    prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 " of %" PRIu64 ", wait up to %" PRIu64 ": verdict %u",
              subject->now.ns, cost, room, subject->wait_ns, once.verdict);
    if (!weir_allowed(once)) return;
    weir_decision last = {0};
    if (hybrid && (once.delay_ns > 0 || room < cost)) {
        prop_note(prop, "  its parts would start one after the other");
    } else if (once.delay_ns > 0) {
        const int count = take_parts(prop, subject, parts, cost, &last);
        const struct rule *rule = plan_inside(&subject->plan)->rule;
        const uint64_t lost = (uint64_t)count * (tick_at(rule, 1) - tick_at(rule, 0) + 1);
        prop_check(prop, whole[0] <= parts[0] + lost && parts[0] <= whole[0] + lost, "another state");
    } else {
        take_parts(prop, subject, parts, cost, &last);
        /* Hybrid's last word is a statistic of calls, not of permits. */
        const size_t words = hybrid ? POSITION_WORDS : 1;
        prop_check(prop, memcmp(whole, parts, words * sizeof *whole) == 0, "another state");
        prop_check(prop, last.end == once.end, "ends at %" PRIu64 ", not at %" PRIu64, last.end, once.end);
        prop_check(prop, last.remaining == once.remaining, "remaining %" PRIu64 ", not %" PRIu64, last.remaining,
                   once.remaining);
    }
    memcpy(subject->state, whole, sizeof whole);
}

static void parts_property(struct prop *prop)
{
    struct subject subject;
    memset(&subject, 0, sizeof subject);
    prop_pick_plan(prop, PROP_RATED | (prop_chance(prop, 2) ? PROP_TINY_BURST : 0), &subject.plan);
    subject.now.ns = prop_pick_time(prop, &subject.plan);
    const bool hybrid = plan_inside(&subject.plan)->rule[0].algorithm == ALGORITHM_HYBRID;
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        subject.now.ns = add_saturating(subject.now.ns, prop_pick_gap(prop, &subject.plan));
        subject.wait_ns = prop_pick_wait(prop, &subject.plan);
        if (!prop_in_clock(&subject.plan, subject.now.ns)) return;
        check_step(prop, &subject, hybrid);
    }
}

PROPERTY("parts", parts_property, 60000);
