/* SPDX-License-Identifier: MIT
   No time is made or lost, however long it goes on.

   gcra     beside it runs a bucket in exact fractions, filled by rate * time and told only what was granted: what that
            holds is never refused, and what is granted that holds but for a tick
   hybrid   the schedule moves on by the permits taken, to the tick
   pools    active and waiting together are what was poured less what was taken; ten tenths of a fill are a fill */
#include <inttypes.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "peers/pools.h"
#include "property/property.h"
#include "wide.h"

typedef wide exact;

enum { STEPS_MEAN = 60 };

/* Permits times period_ns, so that a ns fills `permits`. */
struct bucket {
    exact level, size, tolerance, short_of;
    uint64_t permits, period_ns, last_ns;
};

static struct bucket bucket_of(const struct limit *limit, const struct rule *rule, uint64_t now_ns)
{
    struct bucket bucket = {.last_ns = now_ns};
    limit_rate(limit, &bucket.permits, &bucket.period_ns);
    bucket.size = (exact)limit->burst * (limit->burst_kind == AMOUNT_TIME ? bucket.permits : bucket.period_ns);
    bucket.level = rule->flags & RULE_STARTS_FULL ? bucket.size : 0;
    /* A tick for reading the time, an eighth for the multiplier in 2^60 ticks; see window.c.  Whole permits are whole
       ticks, so none is refused for that; a burst said as a time was cut to whole ticks. */
    bucket.tolerance = (9 * (exact)bucket.period_ns >> (rule->scale + 3)) + 1;
    bucket.short_of = limit->burst_kind == AMOUNT_TIME ? bucket.tolerance : 0;
    return bucket;
}

static void fill(struct bucket *bucket, uint64_t now_ns)
{
    if (now_ns <= bucket->last_ns) return;
    bucket->level += (exact)bucket->permits * (now_ns - bucket->last_ns);
    if (bucket->level > bucket->size) bucket->level = bucket->size;
    bucket->last_ns = now_ns;
}

static void gcra_property(struct prop *prop)
{
    weir_plan plan;
    uint64_t state[LIST_WORDS_MAX] = {0};
    prop_pick_plan(prop, PROP_GCRA | (prop_chance(prop, 2) ? PROP_TINY_BURST : 0), &plan);
    const struct plan *inside = plan_inside_const(&plan);
    uint64_t now_ns = prop_pick_time(prop, &plan);
    /* An empty start is empty when the clock is set. */
    const bool full = inside->rule[0].flags & RULE_STARTS_FULL;
    struct bucket bucket = bucket_of(&inside->limit[0], &inside->rule[0], full ? now_ns : 0);
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        now_ns = add_saturating(now_ns, prop_pick_gap(prop, &plan));
        if (!prop_in_clock(&plan, now_ns)) return;
        const uint64_t cost = prop_chance(prop, 8) ? 0 : prop_pick_cost(prop, &plan);
        fill(&bucket, now_ns);
        const weir_decision decision = weir_decide(&plan, state, (weir_instant){now_ns}, cost);
        prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 ": verdict %u, remaining %" PRIu64, now_ns, cost,
                  decision.verdict, decision.remaining);
        const exact asked = cost * (exact)bucket.period_ns;
        if (weir_allowed(decision)) {
            prop_check(prop, bucket.level - asked >= -bucket.tolerance, "granted what an exact bucket does not hold");
            bucket.level -= asked;
        } else {
            prop_check(prop, bucket.level - asked < 0 || bucket.level - asked < bucket.short_of,
                       "refused what an exact bucket holds");
        }
        const exact remaining = decision.remaining * (exact)bucket.period_ns;
        prop_check(prop, remaining <= bucket.level + bucket.tolerance, "more remains than in an exact bucket");
        prop_check(prop, remaining + bucket.period_ns >= bucket.level - bucket.tolerance,
                   "less remains than in an exact bucket");
    }
}

static void hybrid_property(struct prop *prop)
{
    weir_plan plan;
    uint64_t state[LIST_WORDS_MAX] = {0}, end = 0;
    prop_pick_plan(prop, PROP_HYBRID | (prop_chance(prop, 2) ? PROP_TINY_BURST : 0), &plan);
    const struct rule *rule = plan_inside(&plan)->rule;
    uint64_t now_ns = prop_pick_time(prop, &plan);
    for (bool first = true; prop_more(prop, STEPS_MEAN);) {
        prop_step(prop);
        now_ns = add_saturating(now_ns, prop_pick_gap(prop, &plan));
        const uint64_t cost = prop_pick_cost(prop, &plan);
        const weir_decision decision =
            weir_decide_within(&plan, state, (weir_instant){now_ns}, cost, prop_pick_wait(prop, &plan));
        if (!prop_in_clock(&plan, add_saturating(now_ns, decision.delay_ns))) return;
        if (weir_allowed(decision) && !first) {
            prop_check(prop, decision.end - end == ticks_of(rule, cost),
                       "the schedule moved by %" PRIu64 " for %" PRIu64, decision.end - end, ticks_of(rule, cost));
        }
        if (weir_allowed(decision)) end = decision.end;
        prop_check(prop,
                   first || !weir_allowed(decision) || algorithm_at(rule, hybrid_algorithm(), state, 0).end == end,
                   "the schedule is not the end that was told");
        if (weir_allowed(decision)) first = false;
    }
}

static int64_t total(const struct pools *pools)
{
    return pools->active + pools->waiting;
}

/* From pools that are full, or far from full with nothing waiting, for only then is each tenth the same. */
static void check_tenths(struct prop *prop, struct pools whole)
{
    struct pools tenths = whole;
    const bool full = whole.active == whole.pool;
    for (int i = 1; i <= 10; i++) {
        pools_refill(&tenths, tenths.pool / 10);
        const int64_t part = full ? whole.over - whole.pool : whole.pool, from = full ? whole.pool : 0;
        prop_check(prop, tenths.active == from + part / 10 * i, "active %" PRId64 " after %d tenths", tenths.active, i);
    }
    pools_refill(&whole, whole.pool);
    prop_check(prop, total(&whole) == total(&tenths), "ten tenths are not a whole");
    prop_check(prop, whole.active == tenths.active, "active %" PRId64 " by tenths, %" PRId64 " as a whole",
               tenths.active, whole.active);
}

static void pools_property(struct prop *prop)
{
    static const double ratios[] = {1, 1.1, 1.25, 2, 3.5, 5};
    struct pools pools = {0};
    pools_set_rate(&pools, (double)(1 + prop_pick_size(prop, 1000000)), ratios[prop_pick(prop, 6)]);
    int64_t poured = 0, taken = 0;
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        const int64_t tokens = (int64_t)prop_pick_size(prop, (uint64_t)pools.over * 2);
        if (prop_pick(prop, 2) == 0) {
            poured += tokens;
            prop_check(prop, pools_refill(&pools, tokens) == total(&pools), "refill does not tell what is there");
        } else if (prop_pick(prop, 2) == 0) {
            taken += pools_take(&pools, tokens) ? tokens : 0;
        } else {
            taken += pools_take_up_to(&pools, tokens);
        }
        prop_check(prop, total(&pools) == poured - taken, "%" PRId64 " in the pools, %" PRId64 " poured less taken",
                   total(&pools), poured - taken);
        prop_check(prop, pools.active >= 0 && pools.active <= pools.over && pools.waiting >= 0, "a pool overflows");
    }
    const int64_t pool = 10 * (1 + (int64_t)prop_pick(prop, 1000)), burst = 10 * (int64_t)prop_pick(prop, 1000);
    const bool full = prop_pick(prop, 2) == 0;
    check_tenths(prop, (struct pools){.pool = pool,
                                      .over = pool + burst,
                                      .active = full ? pool : 0,
                                      .waiting = full ? burst + (int64_t)prop_pick(prop, 1000) : 0});
}

static void conserve_property(struct prop *prop)
{
    static prop_function *const properties[] = {gcra_property, hybrid_property, pools_property};
    properties[prop_pick(prop, 3)](prop);
}

PROPERTY("conserve", conserve_property, 25000);
