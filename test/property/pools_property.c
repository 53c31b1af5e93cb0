/* SPDX-License-Identifier: MIT
   Hybrid against the literal pools: no call starts further from theirs than two fills, and the time that
   it reports as missed is their waiting pool, to two fills.

   Both get the same calls, first come, first served.  The pools are filled at small intervals, and a caller who waits
   tries again after each fill.  They differ where they begin: nosqlbench fills its pools with one operation and
   starts the clock then, hybrid's schedule begins at its first call with what that call needs; so here the first call
   comes when the pools start, and costs one operation.

   While a caller waits for nearly a whole pool, a fill may flow over and is lost at ratio 1, in the pools only and each
   time again; so costs are up to half a pool, and fills too.

   The pools count whole ns in doubles: each fill moves up to a ns less into the burst pool than it should, and the
   tolerance is a ns for each fill so far, and two for the ticks. */
#include "peers/pools.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"
#include "property/property.h"
#include "plan/plan.h"

enum { SECOND_NS = 1000000000, STEPS_MEAN = 40, FILL_NS = 100000, FILL_TENTHS = 5, FILLS_MAX = 20000, TEXT_SIZE = 96 };
enum { POOL_RATE = 2000 };

static const uint64_t rates[] = {1000000, 1, 2, 10, 100, 500, 1000, 2000, 3125, 10000, 50000, 100000, 250000, 500000};
static const char *const ratios[] = {"1", "1.1", "1.25", "1.5", "2", "3", "4", "5"};
static const double ratio_values[] = {1, 1.1, 1.25, 1.5, 2, 3, 4, 5};

struct literal {
    struct pools pools;
    uint64_t now_ns, fill_ns, fills;
};

static void fill(struct literal *literal)
{
    literal->now_ns += literal->fill_ns;
    literal->fills++;
    pools_refill(&literal->pools, (int64_t)literal->fill_ns);
}

/* When a call that comes at this time may start; UINT64_MAX when it would take too many fills to find out. */
static uint64_t start_in(struct literal *literal, uint64_t now_ns, int64_t tokens)
{
    const uint64_t fills = literal->fills;
    while (literal->now_ns + literal->fill_ns <= now_ns) fill(literal);
    uint64_t start_ns = now_ns;
    while (!pools_take(&literal->pools, tokens)) {
        if (literal->fills - fills > FILLS_MAX) return UINT64_MAX;
        fill(literal);
        start_ns = most(now_ns, literal->now_ns);
    }
    return start_ns;
}

struct pair {
    weir_plan plan;
    uint64_t state[4];
    struct literal literal;
    uint64_t per_op_ns, now_ns;
    double ratio;
};

static void begin(struct prop *prop, struct pair *pair)
{
    char text[TEXT_SIZE];
    memset(pair, 0, sizeof *pair);
    const uint64_t rate = rates[prop_pick(prop, sizeof rates / sizeof *rates)];
    const uint64_t ratio = prop_pick(prop, sizeof ratios / sizeof *ratios);
    const char *pool = rate >= POOL_RATE ? "1ms" : "2"; /* the original's */
    snprintf(text, sizeof text, "%" PRIu64 "/s burst=%s algorithm=hybrid catchup=%s", rate, pool, ratios[ratio]);
    prop_check(prop, weir_plan_parse(&pair->plan, text, WEIR_PACE, NULL) == 0, "%s is refused", text);
    pair->per_op_ns = SECOND_NS / rate;
    pair->now_ns = SECOND_NS;
    pair->ratio = ratio_values[ratio];
    pair->literal.fill_ns = FILL_NS * (1 + prop_pick(prop, FILL_TENTHS));
    pair->literal.now_ns = pair->now_ns;
    pools_set_rate(&pair->literal.pools, (double)rate, ratio_values[ratio]);
    pools_refill(&pair->literal.pools, (int64_t)pair->per_op_ns);
    prop_note(prop, "plan \"%s\", a fill each %" PRIu64 " ns", text, pair->literal.fill_ns);
}

/* Back to back, with a pause around an operation or a fill, or after a stall. */
static uint64_t pick_pause(struct prop *prop, const struct pair *pair)
{
    switch (prop_pick(prop, 6)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return prop_pick(prop, 2 * pair->per_op_ns);
    case 3:
        return prop_pick(prop, 2 * pair->literal.fill_ns);
    case 4:
        return prop_pick(prop, 2 * (uint64_t)pair->literal.pools.pool);
    default:
        return prop_pick(prop, 1000) * pair->literal.fill_ns;
    }
}

/* Permits of the next call, at most half of what the pool holds. */
static uint64_t pick_cost(struct prop *prop, const struct pair *pair)
{
    const uint64_t half = (uint64_t)pair->literal.pools.pool / pair->per_op_ns / 2;
    return prop_pick(prop, 2) == 0 ? 1 : 1 + prop_pick(prop, half);
}

/* What is missing beyond the pools, as weir_read_stats reports it, against the literal waiting pool. */
static void check_waiting(struct prop *prop, const struct pair *pair, uint64_t now_ns)
{
    const struct rule *rule = plan_inside_const(&pair->plan)->rule;
    const uint64_t ticks = algorithm_account(rule, hybrid_algorithm(), pair->state, tick_at(rule, now_ns)).behind;
    const uint64_t hybrid_ns = shift_divide_ceil(ticks, rule->shift, rule->multiplier);
    const uint64_t literal_ns = (uint64_t)pair->literal.pools.waiting;
    const uint64_t apart_ns = most(hybrid_ns, literal_ns) - least(hybrid_ns, literal_ns);
    const uint64_t fill_ns = (uint64_t)(2 * pair->ratio * (double)pair->literal.fill_ns);
    prop_check(prop, apart_ns <= fill_ns + pair->literal.fills + 2,
               "%" PRIu64 " ns wait, and %" PRIu64 " in the literal pool; a fill is %" PRIu64, hybrid_ns, literal_ns,
               fill_ns);
}

static void pools_property(struct prop *prop)
{
    struct pair pair;
    begin(prop, &pair);
    uint64_t cost = 1;
    do {
        prop_step(prop);
        const weir_decision decision =
            weir_decide_within(&pair.plan, pair.state, (weir_instant){pair.now_ns}, cost, WEIR_FOREVER);
        prop_check(prop, weir_allowed(decision), "hybrid refuses what may wait");
        const uint64_t hybrid_ns = pair.now_ns + decision.delay_ns;
        const uint64_t literal_ns = start_in(&pair.literal, pair.now_ns, (int64_t)(cost * pair.per_op_ns));
        if (literal_ns == UINT64_MAX) return;
        const uint64_t apart_ns = most(hybrid_ns, literal_ns) - least(hybrid_ns, literal_ns);
        prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 ": starts at %" PRIu64 ", with pools at %" PRIu64, pair.now_ns,
                  cost, hybrid_ns, literal_ns);
        prop_largest(prop, "furthest from the pools, in fills:", (double)apart_ns / (double)pair.literal.fill_ns);
        prop_check(prop, apart_ns <= 2 * pair.literal.fill_ns + pair.literal.fills + 2,
                   "%" PRIu64 " ns from the pools, a fill is %" PRIu64, apart_ns, pair.literal.fill_ns);
        check_waiting(prop, &pair, most(hybrid_ns, literal_ns));
        /* The next caller comes when this one has started in both. */
        pair.now_ns = most(hybrid_ns, literal_ns) + pick_pause(prop, &pair);
        cost = pick_cost(prop, &pair);
    } while (prop_more(prop, STEPS_MEAN));
}

PROPERTY("pools", pools_property, 3000);
