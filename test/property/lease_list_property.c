/* SPDX-License-Identifier: MIT
   Permits of a list that are taken along keep the bound of each of its limits.

   As the second property of slice_property.c, with lists by gcra, and with the functions of a cell: several holders
   spend when they like, renew and release, beside calls that take, wait and settle.  A permit counts when it is spent,
   and a waiting call when it starts. */
#include <inttypes.h>
#include <string.h>

#include "property/window.h"
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
    struct uses uses;
    weir_decision last; /* charged 0: none to be settled */
    uint64_t last_end[WEIR_LIMITS_MAX];
    bool knows_ends;
};

static double most_leased;

static void yield(void)
{
}

static void use(struct all *all, uint64_t at_ns, uint64_t permits)
{
    all->uses.use[all->uses.count++] = (struct use){at_ns, permits, false};
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
    use(all, all->now_ns, spent);
    /* As weir_lease_spend answers. */
    all->last = (weir_decision){
        .verdict = WEIR_ALLOW,
        .start = {holder->slice.last_ns},
        .end = holder->slice.end - ((holder->slice.permits - holder->spent) << holder->slice.scale),
        .charged = spent,
        .reserved = holder->slice.generation};
    all->knows_ends = false;
}

static void take(struct all *all)
{
    struct prop *prop = all->prop;
    const struct ask ask = {.now_ns = all->now_ns,
                            .wait_max_ns = prop_pick_wait(prop, &all->plan),
                            .cost = prop_pick_cost(prop, &all->plan),
                            .end = all->last_end};
    weir_decision decision;
    cell_decide(&all->cell, &ask, &decision);
    prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 ", wait up to %" PRIu64 ": verdict %u, delay %" PRIu64, all->now_ns,
              ask.cost, ask.wait_max_ns, decision.verdict, decision.delay_ns);
    all->last.charged = 0;
    if (decision.verdict != WEIR_ALLOW || ask.cost == 0) return;
    use(all, decision.start.ns, ask.cost);
    all->last = decision;
    all->knows_ends = prop_chance(prop, 2);
}

static void settle_last(struct all *all)
{
    uint64_t charged[WEIR_LIMITS_MAX], used[WEIR_LIMITS_MAX];
    if (all->last.charged == 0) return;
    const uint64_t actual = prop_chance(all->prop, 2) ? 0 : prop_pick(all->prop, all->last.charged + 1);
    prop_note(all->prop, "%" PRIu64 " ns: settle the last to %" PRIu64, all->now_ns, actual);
    cost_alike(charged, WEIR_LIMITS_MAX, all->last.charged);
    cost_alike(used, WEIR_LIMITS_MAX, actual);
    cell_settle(&all->cell, all->now_ns, &all->last, charged, used, all->knows_ends ? all->last_end : NULL);
    all->uses.use[all->uses.count - 1].permits = actual;
    all->last.charged = 0;
}

static void step(struct all *all)
{
    struct prop *prop = all->prop;
    struct holder *holder = &all->holder[prop_pick(prop, HOLDERS)];
    const uint64_t later_ns = add_saturating(all->now_ns, prop_pick_gap(prop, &all->plan));
    prop_step(prop);
    if (prop_chance(prop, 2) && prop_in_clock(&all->plan, later_ns)) all->now_ns = later_ns;
    const uint64_t want = prop_chance(prop, 3) ? 0 : 1 + prop_pick_size(prop, WANT_MAX);
    const uint64_t how = prop_pick(prop, 6);
    if (how == 0) trade(all, holder, want);
    else if (how == 1) spend(all, holder, 1 + prop_pick_size(prop, WANT_MAX));
    else if (how == 2) spend(all, holder, UINT64_MAX);
    else if (how < 5) take(all);
    else settle_last(all);
}

static void property(struct prop *prop)
{
    struct all all = {.prop = prop};
    prop_pick_plan(prop, PROP_GCRA | PROP_LISTS | (prop_chance(prop, 2) ? PROP_TINY_BURST : 0), &all.plan);
    const struct plan *plan = plan_inside_const(&all.plan);
    struct cell_content content = {.state = all.state, .count = (int)plan->count};
    memcpy(content.rule, plan->rule, plan->count * sizeof plan->rule[0]);
    cell_open(&all.cell, &all.out, yield);
    cell_open_with(&all.cell, &content);
    all.now_ns = prop_pick_time(prop, &all.plan);
    while (prop_more(prop, STEPS_MEAN) && all.uses.count < USES_MAX) step(&all);
    for (uint32_t i = 0; i < plan->count; i++) window_check(prop, &plan->limit[i], &plan->rule[i], &all.uses);
    prop_largest(prop, "permits in a lease", most_leased);
}

PROPERTY("lease_list", property, 200000);
