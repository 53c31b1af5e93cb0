/* SPDX-License-Identifier: MIT
   parts_law.c - the whole is the sum of its parts: n permits at one moment leave what n permits one by one leave.

   Exactly, when all pass at once.  A wait is rounded up to a ns, so where gcra waits a part of it may be lost, at most
   the ticks of a ns for each call.  Where hybrid waits, each part starts at its own time: that is what pacing is. */
#include <inttypes.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "law/law.h"

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
static int take_parts(struct law *law, const struct subject *subject, uint64_t *state, uint64_t cost,
                      weir_decision *last)
{
    int part = 0;
    while (cost > 0) {
        const uint64_t size = ++part == PARTS_MAX ? cost : law_pick(law, 3) == 0 ? 1 : 1 + law_pick(law, cost);
        *last = take(subject, state, size);
        law_note(law, "  part of %" PRIu64 ": verdict %u", size, last->verdict);
        law_check(law, weir_allowed(*last), "the whole passes, a part does not");
        cost -= size;
    }
    return part;
}

static void check_step(struct law *law, struct subject *subject, bool hybrid)
{
    uint64_t whole[LIST_WORDS_MAX], parts[LIST_WORDS_MAX];
    memcpy(whole, subject->state, sizeof whole);
    memcpy(parts, subject->state, sizeof parts);
    const uint64_t cost = law_pick_cost(law, &subject->plan);
    const uint64_t room = take(subject, whole, 0).remaining;
    const weir_decision once = take(subject, whole, cost);
    law_note(law, "%" PRIu64 " ns: take %" PRIu64 " of %" PRIu64 ", wait up to %" PRIu64 ": verdict %u",
             subject->now.ns, cost, room, subject->wait_ns, once.verdict);
    if (!weir_allowed(once)) return;
    weir_decision last = {0};
    if (hybrid && (once.delay_ns > 0 || room < cost)) {
        law_note(law, "  its parts would start one after the other");
    } else if (once.delay_ns > 0) {
        const int count = take_parts(law, subject, parts, cost, &last);
        const struct rule *rule = plan_inside(&subject->plan)->rule;
        const uint64_t lost = (uint64_t)count * (tick_at(rule, 1) - tick_at(rule, 0) + 1);
        law_check(law, whole[0] <= parts[0] + lost && parts[0] <= whole[0] + lost, "another state");
    } else {
        take_parts(law, subject, parts, cost, &last);
        /* Hybrid's last word is a statistic of calls, not of permits. */
        const size_t words = hybrid ? POSITION_WORDS : 1;
        law_check(law, memcmp(whole, parts, words * sizeof *whole) == 0, "another state");
        law_check(law, last.end == once.end, "ends at %" PRIu64 ", not at %" PRIu64, last.end, once.end);
        law_check(law, last.remaining == once.remaining, "remaining %" PRIu64 ", not %" PRIu64, last.remaining,
                  once.remaining);
    }
    memcpy(subject->state, whole, sizeof whole);
}

static void parts_property(struct law *law)
{
    struct subject subject;
    memset(&subject, 0, sizeof subject);
    law_pick_plan(law, LAW_RATED | (law_chance(law, 2) ? LAW_TINY_BURST : 0), &subject.plan);
    subject.now.ns = law_pick_time(law, &subject.plan);
    const bool hybrid = plan_inside(&subject.plan)->rule[0].algorithm == ALGORITHM_HYBRID;
    while (law_more(law, STEPS_MEAN)) {
        law_step(law);
        subject.now.ns = add_saturating(subject.now.ns, law_pick_gap(law, &subject.plan));
        subject.wait_ns = law_pick_wait(law, &subject.plan);
        if (!law_in_clock(&subject.plan, subject.now.ns)) return;
        check_step(law, &subject, hybrid);
    }
}

LAW("parts", parts_property, 60000);
