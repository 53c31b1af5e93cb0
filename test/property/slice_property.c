/* SPDX-License-Identifier: MIT
   Permits taken along are permits: as if taken one by one, and never more of them than may pass.

   Two properties.  A slice of n permits is n single calls at the same time: as many as could be had, their starts and,
   afterwards, the same answers to every later call; starts in between, reckoned back from the last as src/api/lease.c
   does, are never before the true ones by more than these were rounded up.  And with several holders who spend when
   they like, renew, release, with singles and waiters beside them, all of whom may settle down, one after the other,
   every window keeps the printed bound: a permit counts when it is spent, whatever start it was told. */
#include "property/window.h"

#include <inttypes.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/decide.h"
#include "core/num.h"
#include "share/lease.h"

enum { WARM_UP_MEAN = 8, LATER_MEAN = 8, STEPS_MEAN = 50, HOLDERS = 3, WANT_MAX = 300, AHEAD_MAX_NS = 4000 };
enum {
    STEP_BITS = 16 /* as in src/api/lease.c */,
    TICK_NS = 1 /* by which the starts of single calls are rounded up */
};

struct subject {
    weir_plan plan;
    const struct rule *rule;
    const struct algorithm *algorithm;
    uint64_t state[STATE_WORDS_MAX];
    uint64_t now_ns, ahead_ns;
};

static void begin(struct prop *prop, struct subject *subject)
{
    memset(subject, 0, sizeof *subject);
    prop_pick_plan(prop, PROP_RATED | (prop_chance(prop, 2) ? PROP_TINY_BURST : 0), &subject->plan);
    subject->rule = &plan_inside_const(&subject->plan)->rule[0];
    subject->algorithm = algorithm_of(subject->rule);
    subject->now_ns = prop_pick_time(prop, &subject->plan);
}

static void pass_time(struct prop *prop, struct subject *subject)
{
    const uint64_t later_ns = add_saturating(subject->now_ns, prop_pick_gap(prop, &subject->plan));
    if (prop_in_clock(&subject->plan, later_ns)) subject->now_ns = later_ns;
}

/* What is saved up then is as it was, or less by what is out. */
static void hold(struct prop *prop, struct subject *subject, uint64_t out)
{
    const struct rule *rule = subject->rule;
    const uint64_t now = tick_at(rule, subject->now_ns), permit = ticks_of(rule, 1);
    const bool untouched = subject->algorithm->idle(rule, subject->state, now) == now;
    const uint64_t before = algorithm_at(rule, subject->algorithm, subject->state, now).room;
    lease_hold(rule, subject->state, subject->now_ns, out);
    const uint64_t after = algorithm_at(rule, subject->algorithm, subject->state, now).room;
    const uint64_t most_ticks = most(rule->burst, subject->algorithm->lateness != NULL ? rule->over : 0);
    const uint64_t left = most_ticks - least(ticks_of(rule, out), rule->burst - permit);
    prop_check(prop, out == 0 || untouched || after == least(before, left),
               "%" PRIu64 " ticks before, %" PRIu64 " after, %" PRIu64 " are not out", before, after, left);
    prop_check(prop, out == 0 || after <= left, "%" PRIu64 " ticks, %" PRIu64 " are not out", after, left);
}

/* As src/share does it: what is out is held back first. */
static weir_decision take(struct prop *prop, struct subject *subject, uint64_t cost, uint64_t wait_ns, uint64_t out)
{
    const struct ask ask = {.now_ns = subject->now_ns, .wait_max_ns = wait_ns, .cost = cost};
    hold(prop, subject, out);
    wait_ns = lease_wait_max_ns(subject->rule, out, &ask);
    const weir_decision decision =
        weir_decide_within(&subject->plan, subject->state, (weir_instant){subject->now_ns}, cost, wait_ns);
    prop_step(prop);
    prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 ", wait up to %" PRIu64 ": verdict %u, delay %" PRIu64,
              subject->now_ns, cost, wait_ns, decision.verdict, decision.delay_ns);
    return decision;
}

/* Reckoned back from the last: the start of the permit number i. */
static uint64_t start_of(const struct lease_slice *slice, uint64_t i)
{
    if (slice->permits < 2) return slice->last_ns;
    const uint64_t step = ((slice->last_ns - slice->first_ns) << STEP_BITS) / (slice->permits - 1);
    return slice->last_ns - ((slice->permits - 1 - i) * step >> STEP_BITS);
}

/* ---- a slice is single calls ---- */

/* One more permit of those who come at once.  False: it would start later than `until_ns`. */
static bool take_one(const struct subject *subject, uint64_t *state, uint64_t until_ns, uint64_t *start_ns)
{
    const uint64_t now = tick_at(subject->rule, subject->now_ns), cost = ticks_of(subject->rule, 1);
    const struct offer offer = subject->algorithm->offer(subject->rule, state, now, cost, WEIR_FOREVER);
    if (offer.start == UINT64_MAX || offer.start > tick_at(subject->rule, until_ns)) return false;
    *start_ns = ns_ceil(subject->rule, offer.start);
    if (offer.start <= now) *start_ns = least(*start_ns, subject->now_ns);
    subject->algorithm->commit(subject->rule, state, (struct offer){now, most(offer.start, now)}, cost);
    return true;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return most(a, b) - least(a, b);
}

/* The same calls to both, and the same answers; where single calls waited, each for a start rounded up to a ns, the
   answers are so much apart at most, until one of them is another. */
static void compare_later(struct prop *prop, struct subject *one, uint64_t other[STATE_WORDS_MAX], uint64_t apart_ns)
{
    while (prop_more(prop, LATER_MEAN)) {
        pass_time(prop, one);
        const uint64_t cost = prop_pick_cost(prop, &one->plan), wait_ns = prop_pick_wait(prop, &one->plan);
        const weir_decision first = take(prop, one, cost, wait_ns, 0);
        const weir_decision second = weir_decide_within(&one->plan, other, (weir_instant){one->now_ns}, cost, wait_ns);
        if (apart_ns != 0 && (first.verdict != second.verdict || first.remaining != second.remaining)) return;
        prop_check(prop, first.verdict == second.verdict && apart(first.start.ns, second.start.ns) <= apart_ns,
                   "after a slice %u from %" PRIu64 ", after single calls %u from %" PRIu64, first.verdict,
                   first.start.ns, second.verdict, second.start.ns);
        prop_check(prop, first.remaining == second.remaining && apart(first.retry_ns, second.retry_ns) <= apart_ns,
                   "after a slice %" PRIu64 " remain, retry %" PRIu64 ", after single calls %" PRIu64 ", %" PRIu64,
                   first.remaining, first.retry_ns, second.remaining, second.retry_ns);
    }
}

static void check_slice(struct prop *prop, struct subject *subject)
{
    uint64_t other[STATE_WORDS_MAX], start_ns = 0, want = 2 + prop_pick_size(prop, WANT_MAX);
    const uint64_t until_ns = add_saturating(subject->now_ns, subject->ahead_ns);
    memcpy(other, subject->state, sizeof other);
    const struct trade trade = {.now_ns = subject->now_ns, .ahead_ns = subject->ahead_ns, .want = want};
    const struct lease_slice slice = lease_trade(subject->rule, subject->state, &trade, 0);
    prop_note(prop, "%" PRIu64 " ns: %" PRIu64 " of %" PRIu64 " until %" PRIu64 " ns, from %" PRIu64 " to %" PRIu64,
              subject->now_ns, slice.permits, want, until_ns, slice.first_ns, slice.last_ns);
    prop_check(prop, slice.permits <= want && slice.permits != 1, "%" PRIu64 " permits", slice.permits);
    for (uint64_t i = 0; i < slice.permits; i++) {
        prop_step(prop);
        prop_check(prop, take_one(subject, other, until_ns, &start_ns), "single calls get %" PRIu64 " only", i);
        const uint64_t told_ns = start_of(&slice, i), end_ns = i == 0 ? slice.first_ns : slice.last_ns;
        /* After a rest the first alone would start when it could have; the line on which the others lie begins now. */
        const uint64_t latest_ns = i == 0 ? most(start_ns + TICK_NS, subject->now_ns) : start_ns + TICK_NS;
        prop_check(prop, told_ns + (i + 1) * TICK_NS >= start_ns,
                   "permit %" PRIu64 " starts at %" PRIu64 ", not %" PRIu64, i, start_ns, told_ns);
        if (i != 0 && i + 1 != slice.permits) continue;
        prop_check(prop, end_ns >= start_ns && end_ns <= latest_ns, "permit %" PRIu64 " starts at %" PRIu64, i,
                   start_ns);
    }
    prop_check(prop, slice.permits == 0 || slice.end == algorithm_at(subject->rule, subject->algorithm, other, 0).end,
               "the slot does not end where that of single calls does");
    uint64_t more[STATE_WORDS_MAX];
    memcpy(more, other, sizeof more);
    want = least(want, permits_floor(subject->rule, subject->rule->burst) - 1); /* one is left for others */
    const bool all = subject->algorithm->lateness != NULL && slice.permits != 0 && slice.permits < want;
    prop_check(prop, !all || !take_one(subject, more, until_ns, &start_ns), "single calls get one more");
    compare_later(prop, subject, other, slice.last_ns > subject->now_ns ? slice.permits * TICK_NS : 0);
}

static void singles_property(struct prop *prop)
{
    struct subject subject;
    begin(prop, &subject);
    while (prop_more(prop, WARM_UP_MEAN)) {
        take(prop, &subject, prop_pick_cost(prop, &subject.plan), prop_pick_wait(prop, &subject.plan),
             prop_chance(prop, 4) ? prop_pick_size(prop, WANT_MAX) : 0);
        pass_time(prop, &subject);
    }
    subject.ahead_ns = prop_chance(prop, 2) ? prop_pick(prop, AHEAD_MAX_NS) : prop_pick_gap(prop, &subject.plan);
    check_slice(prop, &subject);
}

/* ---- holders ---- */

struct holder {
    struct lease_slice slice;
    uint64_t spent;
};

struct holders {
    struct subject subject;
    struct holder holder[HOLDERS];
    uint64_t out;
    struct uses uses;
    weir_decision last; /* charged 0: none to be settled */
    int last_use;
};

static void use(struct holders *all, uint64_t at_ns, uint64_t permits)
{
    if (permits != 0) all->uses.use[all->uses.count++] = (struct use){at_ns, permits, false};
}

/* So many of a lease have become due and are spent now. */
static void spend(struct prop *prop, struct holders *all, struct holder *holder, uint64_t permits)
{
    uint64_t spent = 0;
    while (spent < permits && holder->spent < holder->slice.permits &&
           start_of(&holder->slice, holder->spent) <= all->subject.now_ns) {
        holder->spent++;
        spent++;
    }
    prop_note(prop, "%" PRIu64 " ns: holder %d spends %" PRIu64, all->subject.now_ns, (int)(holder - all->holder),
              spent);
    if (spent == 0) return;
    use(all, all->subject.now_ns, spent);
    if (holder->slice.generation != all->subject.rule->generation) return; /* it cannot be settled down */
    /* As weir_lease_spend answers. */
    all->last =
        (weir_decision){.verdict = WEIR_ALLOW,
                        .start = {start_of(&holder->slice, holder->spent - 1)},
                        .end = holder->slice.end - ((holder->slice.permits - holder->spent) << holder->slice.scale),
                        .charged = spent,
                        .reserved = holder->slice.generation};
    all->last_use = all->uses.count - 1;
}

/* As cell_trade does it. */
static void trade(struct prop *prop, struct holders *all, struct holder *holder, uint64_t want)
{
    const uint64_t held = holder->slice.permits;
    const struct trade trade = {.now_ns = all->subject.now_ns,
                                .ahead_ns = all->subject.ahead_ns,
                                .held = held,
                                .unused = held - holder->spent,
                                .end = holder->slice.end,
                                .generation = holder->slice.generation,
                                .want = want};
    *holder = (struct holder){.slice = lease_trade(all->subject.rule, all->subject.state, &trade, all->out)};
    all->out = all->out - held + holder->slice.permits;
    prop_note(prop, "%" PRIu64 " ns: holder %d gives back %" PRIu64 " of %" PRIu64 ", gets %" PRIu64 " of %" PRIu64,
              trade.now_ns, (int)(holder - all->holder), trade.unused, held, holder->slice.permits, want);
}

static void take_alone(struct prop *prop, struct holders *all)
{
    const uint64_t cost = prop_pick_cost(prop, &all->subject.plan), wait_ns = prop_pick_wait(prop, &all->subject.plan);
    for (uint64_t calls = prop_pick(prop, 4); calls > 0 && all->uses.count < USES_MAX; calls--) {
        const weir_decision decision = take(prop, &all->subject, cost, wait_ns, all->out);
        if (!weir_allowed(decision)) continue;
        use(all, add_saturating(all->subject.now_ns, decision.delay_ns), cost);
        all->last = decision;
        all->last_use = all->uses.count - 1;
    }
}

/* Of the last that were spent or taken not so many were used; as cell_settle does it. */
static void settle_last(struct prop *prop, struct holders *all)
{
    const uint64_t charged = all->last.charged;
    if (charged == 0) return;
    const struct rules rules = {all->subject.rule, 1};
    const uint64_t actual = prop_pick(prop, 2) == 0 ? 0 : prop_pick(prop, charged + 1);
    prop_note(prop, "%" PRIu64 " ns: settle the last to %" PRIu64, all->subject.now_ns, actual);
    lease_hold(all->subject.rule, all->subject.state, all->subject.now_ns, all->out);
    decide_settle(rules, all->subject.state, all->subject.now_ns, &all->last, &charged, &actual, NULL);
    all->uses.use[all->last_use].permits = actual;
    all->last.charged = 0;
}

/* The limit was changed and began anew, and one holds permits that he took before. */
static void inherit(struct prop *prop, struct holders *all)
{
    const uint64_t fit = permits_floor(all->subject.rule, all->subject.rule->burst) - 1;
    const uint64_t now_ns = all->subject.now_ns;
    all->out = prop_pick_size(prop, least(fit, WANT_MAX));
    all->holder[0].slice =
        (struct lease_slice){.permits = all->out, .first_ns = now_ns, .last_ns = now_ns, .generation = UINT32_MAX};
}

static void holders_property(struct prop *prop)
{
    struct holders all = {.out = 0};
    begin(prop, &all.subject);
    if (prop_chance(prop, 3)) inherit(prop, &all);
    all.subject.ahead_ns = prop_pick(prop, AHEAD_MAX_NS);
    while (prop_more(prop, STEPS_MEAN) && all.uses.count < USES_MAX) {
        struct holder *holder = &all.holder[prop_pick(prop, HOLDERS)];
        if (prop_chance(prop, 2)) pass_time(prop, &all.subject);
        const uint64_t want = prop_chance(prop, 3) ? 0 : 1 + prop_pick_size(prop, WANT_MAX);
        const uint64_t how = prop_pick(prop, 5);
        if (how == 0) trade(prop, &all, holder, want);
        else if (how == 1) spend(prop, &all, holder, 1 + prop_pick_size(prop, WANT_MAX));
        else if (how == 2) spend(prop, &all, holder, UINT64_MAX);
        else if (how == 3) take_alone(prop, &all);
        else settle_last(prop, &all);
    }
    window_check(prop, &plan_inside_const(&all.subject.plan)->limit[0], all.subject.rule, &all.uses);
}

static void slice_property(struct prop *prop)
{
    if (prop_chance(prop, 2)) holders_property(prop);
    else singles_property(prop);
}

PROPERTY("slice", slice_property, 400000);
