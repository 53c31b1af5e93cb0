/* SPDX-License-Identifier: MIT
   Time that stands still or goes back earns nothing and loses nothing.

   Two subjects get the same calls.  One is told times that go back now and then; the other the latest time that the
   first has answered to, for going back does not undo it.  What the first is granted the second is granted too; and
   when time has returned, both answer alike, as if it had never gone. */
#include <inttypes.h>
#include <string.h>

#include "core/num.h"
#include "plan/plan.h"
#include "property/property.h"

enum { STEPS_MEAN = 30 };

struct pair {
    weir_plan plan;
    uint64_t told[LIST_WORDS_MAX], steady[LIST_WORDS_MAX];
    uint64_t latest_ns;
};

static void check_alike(struct prop *prop, const weir_decision *told, const weir_decision *steady)
{
    prop_check(prop, told->verdict == steady->verdict, "verdict %u, without going back %u", told->verdict,
               steady->verdict);
    prop_check(prop, told->delay_ns == steady->delay_ns, "delay %" PRIu64 ", without going back %" PRIu64,
               told->delay_ns, steady->delay_ns);
    prop_check(prop, told->retry_ns == steady->retry_ns, "retry %" PRIu64 ", without going back %" PRIu64,
               told->retry_ns, steady->retry_ns);
    prop_check(prop, told->remaining == steady->remaining, "remaining %" PRIu64 ", without going back %" PRIu64,
               told->remaining, steady->remaining);
}

static void ask(struct prop *prop, struct pair *pair, uint64_t now_ns)
{
    uint64_t steady[LIST_WORDS_MAX];
    const uint64_t cost = prop_pick_cost(prop, &pair->plan), wait_ns = prop_pick_wait(prop, &pair->plan);
    memcpy(steady, pair->steady, sizeof steady);
    const weir_decision a = weir_decide_within(&pair->plan, pair->told, (weir_instant){now_ns}, cost, wait_ns);
    /* A wait ends at the same moment for both. */
    const bool back = now_ns < pair->latest_ns;
    const uint64_t steady_ns = back ? pair->latest_ns : now_ns;
    const uint64_t steady_wait_ns = wait_ns == WEIR_FOREVER ? wait_ns : subtract_to_zero(wait_ns, steady_ns - now_ns);
    const weir_decision b = weir_decide_within(&pair->plan, steady, (weir_instant){steady_ns}, cost, steady_wait_ns);
    prop_note(prop,
              "%" PRIu64 " ns%s: take %" PRIu64 ", wait up to %" PRIu64 ": verdict %u, delay %" PRIu64
              ", at the latest time verdict %u, delay %" PRIu64,
              now_ns, back ? " (back)" : "", cost, wait_ns, a.verdict, a.delay_ns, b.verdict, b.delay_ns);
    if (!back) check_alike(prop, &a, &b);
    if (!weir_allowed(a)) return;
    prop_check(prop, weir_allowed(b), "granted only because time went back");
    memcpy(pair->steady, steady, sizeof steady);
    if (!back) pair->latest_ns = now_ns;
}

static void backward_property(struct prop *prop)
{
    struct pair pair;
    memset(&pair, 0, sizeof pair);
    prop_pick_plan(prop, PROP_RATED | PROP_LISTS | (prop_chance(prop, 2) ? PROP_TINY_BURST : 0), &pair.plan);
    uint64_t now_ns = prop_pick_time(prop, &pair.plan);
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        const uint64_t gap_ns = prop_pick_gap(prop, &pair.plan);
        if (prop_chance(prop, 3)) {
            ask(prop, &pair, subtract_to_zero(pair.latest_ns, gap_ns));
        } else {
            now_ns = add_saturating(now_ns, gap_ns);
            ask(prop, &pair, now_ns);
        }
    }
}

PROPERTY("backward", backward_property, 50000);
