/* SPDX-License-Identifier: MIT
   Permits of a list that are taken along keep the bound of each of its limits.

   As the second property of slice_property.c, with lists by gcra, and with the functions of a cell: several holders
   spend when they like, renew and release, beside calls that take, wait and settle, and when a waiting call starts they
   all like to.  A permit counts when it is spent, and a waiting call when it starts. */
#include <inttypes.h>
#include <string.h>

#include "property/window.h"
#include "core/clock.h"
#include "core/num.h"
#include "share/cell.h"

enum { STEPS_MEAN = 50, HOLDERS = 3, WANT_MAX = 300 };

struct holder {
    struct lease_slice slice;
    uint64_t spent;
};

struct all {
    struct prop *prop;
    weir_plan plan;
    struct cell cell;
    struct atom out;
    uint64_t state[LIST_WORDS_MAX], now_ns;
    struct holder holder[HOLDERS];
    struct uses uses[WEIR_LIMITS_MAX];
    weir_decision last; /* charged 0: none to be settled */
    uint64_t last_cost[WEIR_LIMITS_MAX], last_end[WEIR_LIMITS_MAX];
    bool knows_ends;
    uint64_t start_ns; /* of the last call that had to wait */
};

static double most_leased;

static void yield(void)
{
}

static void use(struct all *all, uint64_t at_ns, const uint64_t permits[])
{
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) {
        all->uses[i].use[all->uses[i].count++] = (struct use){at_ns, permits[i], false};
        all->last_cost[i] = permits[i];
    }
}

static void trade(struct all *all, struct holder *holder, uint64_t want)
{
    const uint64_t held = holder->slice.permits;
    const struct trade trade = {.now_ns = all->now_ns,
                                .held = held,
                                .unused = held - holder->spent,
                                .end = holder->slice.end,
                                .generation = holder->slice.generation,
                                .want = want};
    *holder = (struct holder){.spent = 0};
    cell_trade(&all->cell, &trade, &holder->slice);
    prop_note(all->prop, "%" PRIu64 " ns: holder %d gives back %" PRIu64 " of %" PRIu64 ", gets %" PRIu64, all->now_ns,
              (int)(holder - all->holder), trade.unused, held, holder->slice.permits);
    prop_check(all->prop, holder->slice.permits <= want && holder->slice.permits != 1, "%" PRIu64 " permits",
               holder->slice.permits);
    if ((double)holder->slice.permits > most_leased) most_leased = (double)holder->slice.permits;
}

static void spend(struct all *all, struct holder *holder, uint64_t permits)
{
    const uint64_t spent = least(permits, holder->slice.permits - holder->spent);
    prop_note(all->prop, "%" PRIu64 " ns: holder %d spends %" PRIu64, all->now_ns, (int)(holder - all->holder), spent);
    if (spent == 0) return;
    holder->spent += spent;
    uint64_t each[WEIR_LIMITS_MAX];
    cost_alike(each, WEIR_LIMITS_MAX, spent);
    use(all, all->now_ns, each);
    /* As weir_lease_spend answers. */
    all->last =
        (weir_decision){.verdict = WEIR_ALLOW,
                        .start = {holder->slice.last_ns},
                        .end = holder->slice.end - ((holder->slice.permits - holder->spent) << holder->slice.scale),
                        .charged = spent,
                        .reserved = holder->slice.generation};
    all->knows_ends = false;
}

/* Often nothing, or all that a waiting call may take beside the leases. */
static uint64_t pick_cost(struct all *all, int limit)
{
    const struct plan *plan = plan_inside_const(&all->plan);
    const uint64_t how = prop_pick(all->prop, 4);
    if (how == 0 || (uint32_t)limit >= plan->count) return 0;
    const uint64_t burst = permits_floor(&plan->rule[limit], plan->rule[limit].burst);
    if (how < 3) return subtract_to_zero(burst, atom_load(&all->out) + prop_pick(all->prop, 2));
    return prop_pick_cost(all->prop, &all->plan);
}

static void take(struct all *all)
{
    struct prop *prop = all->prop;
    uint64_t each[WEIR_LIMITS_MAX];
    cost_alike(each, WEIR_LIMITS_MAX, prop_chance(prop, 2) ? 1 : prop_pick_cost(prop, &all->plan));
    const bool alike = prop_chance(prop, 2), waits = prop_chance(prop, 2);
    for (int i = 0; i < WEIR_LIMITS_MAX && !alike; i++) each[i] = pick_cost(all, i);
    const struct ask ask = {.now_ns = all->now_ns,
                            .wait_max_ns = waits ? WEIR_FOREVER : prop_pick_wait(prop, &all->plan),
                            .each = each,
                            .end = all->last_end};
    weir_decision decision;
    cell_decide(&all->cell, &ask, &decision);
    prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 " ..., wait up to %" PRIu64 ": verdict %u, delay %" PRIu64,
              all->now_ns, each[0], ask.wait_max_ns, decision.verdict, decision.delay_ns);
    all->last.charged = 0;
    if (decision.verdict != WEIR_ALLOW) return;
    use(all, decision.start.ns, each);
    if (decision.delay_ns != 0) all->start_ns = decision.start.ns;
    all->last = decision;
    all->knows_ends = !alike || prop_chance(prop, 2);
}

/* What passes now. */
static void take_some(struct all *all)
{
    weir_decision decision;
    uint64_t each[WEIR_LIMITS_MAX];
    const struct ask ask = {.now_ns = all->now_ns, .cost = UINT32_MAX, .some = true};
    cell_decide(&all->cell, &ask, &decision);
    prop_note(all->prop, "%" PRIu64 " ns: take what passes: %" PRIu64, all->now_ns, decision.charged);
    cost_alike(each, WEIR_LIMITS_MAX, decision.charged);
    if (decision.verdict == WEIR_ALLOW) use(all, all->now_ns, each);
    all->last.charged = 0;
}

static void settle_last(struct all *all)
{
    uint64_t used[WEIR_LIMITS_MAX];
    if (all->last.charged == 0) return;
    const bool none = prop_chance(all->prop, 2);
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) used[i] = none ? 0 : prop_pick(all->prop, all->last_cost[i] + 1);
    prop_note(all->prop, "%" PRIu64 " ns: settle the last to %" PRIu64 " ...", all->now_ns, used[0]);
    cell_settle(&all->cell, all->now_ns, &all->last, all->last_cost, used, all->knows_ends ? all->last_end : NULL);
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) all->uses[i].use[all->uses[i].count - 1].permits = used[i];
    all->last.charged = 0;
}

static void step(struct all *all)
{
    struct prop *prop = all->prop;
    struct holder *holder = &all->holder[prop_pick(prop, HOLDERS)];
    const uint64_t later_ns = add_saturating(all->now_ns, prop_pick_gap(prop, &all->plan));
    prop_step(prop);
    if (prop_chance(prop, 2) && prop_in_clock(&all->plan, later_ns)) all->now_ns = later_ns;
    if (prop_chance(prop, 4)) all->now_ns = most(all->now_ns, all->start_ns);
    const uint64_t want = prop_chance(prop, 3) ? 0 : 1 + prop_pick_size(prop, WANT_MAX);
    const uint64_t how = prop_pick(prop, 6);
    if (how == 0) trade(all, holder, want);
    else if (how == 1) spend(all, holder, 1 + prop_pick_size(prop, WANT_MAX));
    else if (how == 2) spend(all, holder, UINT64_MAX);
    else if (how == 3) take(all);
    else if (how == 4) take_some(all);
    else settle_last(all);
}

static void property(struct prop *prop)
{
    static struct all all;
    memset(&all, 0, sizeof all);
    all.prop = prop;
    prop_pick_plan(prop, PROP_GCRA | PROP_LISTS | (prop_chance(prop, 2) ? PROP_TINY_BURST : 0), &all.plan);
    const struct plan *plan = plan_inside_const(&all.plan);
    struct cell_content content = {.state = all.state, .count = (int)plan->count};
    memcpy(content.rule, plan->rule, plan->count * sizeof plan->rule[0]);
    cell_open(&all.cell, &all.out, yield);
    cell_open_with(&all.cell, &content);
    all.now_ns = prop_pick_time(prop, &all.plan);
    while (prop_more(prop, STEPS_MEAN) && all.uses[0].count < USES_MAX) step(&all);
    for (uint32_t i = 0; i < plan->count; i++) window_check(prop, &plan->limit[i], &plan->rule[i], &all.uses[i]);
    prop_largest(prop, "permits in a lease", most_leased);
}

PROPERTY("lease_list", property, 200000);
