/* SPDX-License-Identifier: MIT
   The timeline against the peer's rule written out, and against the list of all that started.

   Three properties by turns:
     literal   start, end, lag and totals of every call are those of two pointers and a cached clock in signed numbers,
               and a call whose answer the state knows without the clock gets the same one with it
     window    however calls are settled, cancelled, and the clock is set anew: what was used between two starts fits
               the promise of timeline.c; at strictness 0 the schedule is the exact sum of what was used
     carry     after a change nobody starts earlier than what he is owed, and KEEP gives no time away */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/algorithm/timeline.h"
#include "core/clock.h"
#include "core/num.h"
#include "property/property.h"
#include "plan/plan.h"
#include "wide.h"

enum {
    STEPS_MEAN = 40,
    CALLS_MAX = 160,
    TEXT_SIZE = 96,
    COST_MAX = 9,
    SLACK = 2,
    CLOSES_NOTHING = 64,
    START_BITS = 56
};

typedef wide exact;
typedef wide_unsigned exact_unsigned;

static const char *const rates[] = {"1000/s",   "1000000000/s", "3/s",   "7/min",       "1/d",
                                    "123457/s", "50000000/s",   "2.5/h", "999999937/s", "1/3us"};
static const char *const choices[] = {"strictness=1", "catchup=1.1", "strictness=0",   "catchup=2",   "strictness=0.5",
                                      "catchup=1",    "catchup=7",   "strictness=0.3", "catchup=1000"};

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static void pick_plan(struct prop *prop, weir_plan *plan, size_t choices_used)
{
    char text[TEXT_SIZE];
    snprintf(text, sizeof text, "%s algorithm=timeline %s", rates[prop_pick(prop, LENGTH(rates))],
             choices[prop_pick(prop, choices_used)]);
    prop_note(prop, "plan \"%s\"", text);
    prop_check(prop, weir_plan_parse(plan, text, WEIR_PACE, NULL) == 0, "%s is refused", text);
}

static uint64_t permit_ns(const struct rule *rule)
{
    return ns_ceil(rule, rule->anchor_tick + ticks_of(rule, 1)) - rule->anchor_ns;
}

static uint64_t pick_gap(struct prop *prop, const struct rule *rule)
{
    switch (prop_pick(prop, 6)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return permit_ns(rule) + prop_pick(prop, 3) - 1;
    case 3:
        return prop_pick(prop, 3 * permit_ns(rule));
    case 4:
        return prop_pick(prop, 40) * permit_ns(rule);
    default:
        return prop_pick_size(prop, 50 * permit_ns(rule));
    }
}

static uint64_t pick_cost(struct prop *prop)
{
    return prop_pick(prop, 2) == 0 ? 1 : 1 + prop_pick(prop, COST_MAX);
}

/* ---- literal ---- */

struct literal {
    exact slot, seen, latest, spaced, allocated, idle;
    bool begun;
};

/* cost / catchup with 1 / catchup in 2^-64, both rounded up. */
static exact spacing(const struct limit *limit, exact cost)
{
    exact_unsigned one = 1;
    for (uint32_t i = 0; i < limit->factor.places; i++) one *= 10;
    const exact_unsigned share = ((one << 64) + limit->factor.digits - 1) / limit->factor.digits;
    if (share >> 64 != 0) return cost;
    return (exact)(((exact_unsigned)cost * share + UINT64_MAX) >> 64);
}

/* Half, a quarter, ...: the largest of them that is not above the strictness; 0 where it says nothing. */
static exact closed_of(const struct limit *limit, exact gap)
{
    exact_unsigned one = 1;
    for (uint32_t i = 0; i < limit->strictness.places; i++) one *= 10;
    if (limit->strictness.digits == 0 || gap <= 0) return 0;
    exact_unsigned part = limit->strictness.digits;
    for (; part < one; part *= 2) gap /= 2;
    return gap;
}

/* The peer's rule on a clock that stands while it goes back; returns the tick at which the call starts, and the one at
   which it was due. */
static exact literal_call(struct literal *literal, const struct limit *limit, exact now, exact cost, exact *due)
{
    const bool spaced = limit->factor.digits != 0;
    if (!literal->begun)
        *literal = (struct literal){.slot = now, .seen = now, .latest = now, .spaced = now, .begun = true};
    const exact mine = *due = literal->slot;
    exact at = spaced && literal->spaced > mine ? literal->spaced : mine;
    const bool reads = literal->seen < at;
    if (now > literal->latest) literal->latest = now;
    if (reads) literal->seen = literal->latest;
    literal->slot += cost;
    literal->allocated += cost;
    const exact closed = reads && !spaced ? closed_of(limit, literal->seen - literal->slot) : 0;
    literal->slot += closed;
    literal->idle += closed;
    const exact start = at;
    if (at < literal->seen) at = literal->seen;
    if (spaced) literal->spaced = at + spacing(limit, cost);
    return start;
}

/* The same call with the time that the state knows. */
static void check_known(struct prop *prop, const weir_plan *plan, const uint64_t *before, uint64_t cost,
                        const weir_decision *read)
{
    const struct rule *rule = &plan_inside_const(plan)->rule[0];
    uint64_t copy[TIMELINE_WORDS], tick = 0;
    memcpy(copy, before, sizeof copy);
    if (!algorithm_of(rule)->knows(rule, copy, &tick)) return;
    const weir_instant seen = {ns_ceil(rule, tick)};
    const weir_decision unread = weir_decide(plan, copy, seen, cost);
    prop_check(prop, unread.verdict == read->verdict && unread.delay_ns == 0 && read->delay_ns == 0,
               "known to pass, and it waits for %" PRIu64, read->delay_ns);
    prop_check(prop, unread.end == read->end && unread.due.ns == read->due.ns, "known, and its slot is another");
    prop_check(prop, unread.remaining <= read->remaining, "known, and more remain");
}

static void check_totals(struct prop *prop, const struct literal *literal, const uint64_t *state)
{
    prop_check(prop, (exact)state[TIMELINE_ALLOCATED] == literal->allocated, "allocated");
    prop_check(prop, (exact)state[TIMELINE_IDLE] == literal->idle, "idle");
    prop_check(prop, (exact)state[TIMELINE_SLOT] - (exact)TIMELINE_ZERO == literal->slot, "slot");
}

static void literal_law(struct prop *prop)
{
    weir_plan plan;
    uint64_t state[TIMELINE_WORDS] = {0}, before[TIMELINE_WORDS];
    struct literal literal = {0};
    pick_plan(prop, &plan, LENGTH(choices));
    const struct plan *inside = plan_inside_const(&plan);
    const struct rule *rule = &inside->rule[0];
    uint64_t now_ns = prop_pick_size(prop, UINT64_C(1) << START_BITS), latest_ns = now_ns;
    do {
        prop_step(prop);
        const uint64_t cost = pick_cost(prop);
        memcpy(before, state, sizeof before);
        const weir_decision decision = weir_decide_within(&plan, state, (weir_instant){now_ns}, cost, WEIR_FOREVER);
        exact due;
        const exact start =
            literal_call(&literal, &inside->limit[0], tick_at(rule, now_ns), ticks_of(rule, cost), &due);
        const uint64_t start_ns = start < 0 ? 0 : ns_ceil(rule, (uint64_t)start);
        prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 ": delay %" PRIu64 ", literally at %" PRIu64, now_ns, cost,
                  decision.delay_ns, start_ns);
        prop_check(prop, weir_allowed(decision), "verdict %u", decision.verdict);
        prop_check(prop, decision.delay_ns == subtract_to_zero(start_ns, now_ns), "the peer waits otherwise");
        prop_check(prop, decision.start.ns == now_ns + decision.delay_ns, "starts at %" PRIu64, decision.start.ns);
        prop_check(prop, decision.due.ns == (due < 1 ? 0 : ns_ceil(rule, (uint64_t)due)), "due at %" PRIu64,
                   decision.due.ns);
        check_totals(prop, &literal, state);
        if (now_ns == latest_ns) check_known(prop, &plan, before, cost, &decision);
        if (prop_pick(prop, 2) == 0) now_ns += decision.delay_ns;
        const uint64_t gap_ns = pick_gap(prop, rule);
        now_ns = prop_chance(prop, 16) ? subtract_to_zero(now_ns, gap_ns) : now_ns + gap_ns;
        latest_ns = most(latest_ns, now_ns);
    } while (prop_more(prop, STEPS_MEAN));
}

/* ---- window ---- */

struct call {
    weir_decision decision; /* charged is 0 when nothing can be settled any more */
    uint64_t start_tick;
    uint64_t charged, used; /* permits */
};

struct history {
    weir_plan plan;
    uint64_t state[TIMELINE_WORDS];
    struct call call[CALLS_MAX];
    int calls, renewals;
    uint64_t now_ns, began;
    uint64_t offset; /* ticks from the first clock to this one */
};

static struct rule *rule_of(struct history *history)
{
    return &plan_inside(&history->plan)->rule[0];
}

/* A clock set anew, as a limiter does after decades; who waits keeps his start, and is settled no more. */
static void renew(struct prop *prop, struct history *history)
{
    struct rule *rule = rule_of(history), to = *rule;
    uint64_t next[TIMELINE_WORDS] = {0};
    const uint64_t now = tick_at(rule, history->now_ns);
    to.anchor_ns = history->now_ns;
    algorithm_of(rule)->carry(rule, &to, history->state, next, now, (weir_carry)prop_pick(prop, 2));
    memcpy(history->state, next, sizeof next);
    history->offset += now - to.anchor_tick;
    history->renewals++;
    *rule = to;
    for (int i = 0; i < history->calls; i++) history->call[i].decision.charged = 0;
    prop_note(prop, "%" PRIu64 " ns: the clock is set anew", history->now_ns);
}

static void take(struct prop *prop, struct history *history)
{
    const uint64_t waits_ns[] = {0, WEIR_FOREVER, prop_pick(prop, 3 * permit_ns(rule_of(history)))};
    const uint64_t cost = pick_cost(prop), wait_ns = waits_ns[prop_pick(prop, LENGTH(waits_ns))];
    struct call *call = &history->call[history->calls];
    call->decision = weir_decide_within(&history->plan, history->state, (weir_instant){history->now_ns}, cost, wait_ns);
    prop_note(prop, "%" PRIu64 " ns: call %d takes %" PRIu64 ": verdict %u, delay %" PRIu64, history->now_ns,
              history->calls, cost, call->decision.verdict, call->decision.delay_ns);
    if (!weir_allowed(call->decision)) return;
    call->start_tick = tick_at(rule_of(history), history->now_ns + call->decision.delay_ns) + history->offset;
    call->charged = call->used = cost;
    if (history->calls++ == 0) history->began = call->start_tick;
}

static void settle_one(struct prop *prop, struct history *history)
{
    struct call *call = &history->call[prop_pick(prop, (uint64_t)history->calls)];
    if (call->decision.charged == 0) return;
    /* More than was asked for is used without asking, which only the average can bound. */
    const struct rule *rule = rule_of(history);
    const uint64_t more = rule->second == CLOSES_NOTHING && rule->third == 0 ? COST_MAX : 0;
    const uint64_t actual = prop_pick(prop, call->charged + more + 1);
    prop_note(prop, "%" PRIu64 " ns: call %d used %" PRIu64, history->now_ns, (int)(call - history->call), actual);
    weir_decide_settle(&history->plan, history->state, (weir_instant){history->now_ns}, &call->decision, actual);
    call->used = actual;
}

/* At strictness 0 the slot is the sum of what was used, and of what could not be given back. */
static void check_average(struct prop *prop, struct history *history)
{
    exact used = 0, charged = 0;
    for (int i = 0; i < history->calls; i++) {
        used += ticks_of(rule_of(history), history->call[i].used);
        charged += ticks_of(rule_of(history), most(history->call[i].charged, history->call[i].used));
    }
    if (history->calls == 0) return;
    const exact slot = (exact)history->state[TIMELINE_SLOT] - (exact)TIMELINE_ZERO + history->offset - history->began;
    const exact rounded = (exact)SLACK * (1 + history->renewals);
    prop_check(prop, used <= slot + SLACK && slot <= charged + rounded, "the schedule is not what was used");
}

/* Permits from each start up to, and without, each later one; the next call pays for them. */
static void check_windows(struct prop *prop, struct history *history)
{
    const struct limit *limit = &plan_inside(&history->plan)->limit[0];
    const struct rule *rule = rule_of(history);
    exact one = 1, largest = 0;
    for (uint32_t i = 0; i < limit->factor.places; i++) one *= 10;
    for (int i = 0; i < history->calls; i++) {
        if (history->call[i].used > largest) largest = history->call[i].used;
    }
    for (int i = 0; i < history->calls; i++) {
        exact used = 0;
        for (int j = i + 1; history->call[i].used != 0 && j < history->calls; j++) {
            used += ticks_of(rule, history->call[j - 1].used);
            const exact time = (exact)history->call[j].start_tick - history->call[i].start_tick;
            const exact over = limit->factor.digits != 0 ? used * one - (time + SLACK) * limit->factor.digits
                                                         : used - time - SLACK - (2 * largest << rule->scale);
            prop_check(prop, history->call[j].used == 0 || over <= 0, "too much from call %d to call %d", i, j);
        }
    }
}

static void window_law(struct prop *prop)
{
    static struct history history;
    memset(&history, 0, sizeof history);
    pick_plan(prop, &history.plan, LENGTH(choices));
    history.now_ns = prop_pick_size(prop, UINT64_C(1) << START_BITS);
    while (history.calls < CALLS_MAX && prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        history.now_ns += pick_gap(prop, rule_of(&history));
        const uint64_t what = prop_pick(prop, 12);
        if (what < 8 || history.calls == 0) take(prop, &history);
        else if (what < 11) settle_one(prop, &history);
        else renew(prop, &history);
    }
    const struct limit *limit = &plan_inside(&history.plan)->limit[0];
    const bool closes = limit->strictness.digits != 0;
    if (closes && rule_of(&history)->second != 0) return;
    if (limit->factor.digits == 0 && !closes) check_average(prop, &history);
    else check_windows(prop, &history);
}

/* ---- carry ---- */

static void carry_law(struct prop *prop)
{
    weir_plan plan, other;
    uint64_t state[TIMELINE_WORDS] = {0}, next[TIMELINE_WORDS] = {0};
    pick_plan(prop, &plan, LENGTH(choices));
    pick_plan(prop, &other, LENGTH(choices));
    const struct rule *from = &plan_inside(&plan)->rule[0];
    struct rule *to = &plan_inside(&other)->rule[0];
    const struct algorithm *algorithm = algorithm_of(from);
    uint64_t now_ns = prop_pick_size(prop, UINT64_C(1) << (START_BITS - 1));
    do {
        prop_step(prop);
        weir_decide_within(&plan, state, (weir_instant){now_ns}, pick_cost(prop), WEIR_FOREVER);
        now_ns += pick_gap(prop, from);
    } while (prop_more(prop, 4));
    const uint64_t now = tick_at(from, now_ns);
    const weir_carry how = (weir_carry)prop_pick(prop, 3);
    to->anchor_ns = now_ns;
    algorithm->carry(from, to, state, next, now, how);
    const uint64_t behind = algorithm_account(from, algorithm, state, now).behind,
                   left = algorithm_account(to, algorithm, next, to->anchor_tick).behind;
    prop_note(prop, "%" PRIu64 " ticks behind, then %" PRIu64 ", carried %d", behind, left, (int)how);
    if (how != WEIR_RESET) {
        /* In permits, 2^-scale each: what is behind stays so many, and a few ticks are rounded away. */
        const exact more = ((exact)left << from->scale) - ((exact)behind << to->scale);
        const exact few = (exact)SLACK << (from->scale > to->scale ? from->scale : to->scale);
        prop_check(prop, more <= 0 && (more >= -few || left == 0), "permits are made or lost");
    } else {
        prop_check(prop, left == 0, "%" PRIu64 " ticks are left after a reset", left);
    }
    const uint64_t mark = algorithm_at(from, algorithm, state, now).end,
                   mark_to = algorithm_at(to, algorithm, next, to->anchor_tick).end;
    const uint64_t ahead = (int64_t)mark > (int64_t)now ? mark - now : 0;
    const uint64_t ahead_to = (int64_t)mark_to > (int64_t)to->anchor_tick ? mark_to - to->anchor_tick : 0;
    prop_check(prop, ((exact)ahead_to << from->scale) >= ((exact)ahead << to->scale), "waited-for permits are lost");
}

static void timeline_property(struct prop *prop)
{
    switch (prop_pick(prop, 4)) {
    case 0:
        literal_law(prop);
        return;
    case 1:
        carry_law(prop);
        return;
    default:
        window_law(prop);
    }
}

PROPERTY("timeline", timeline_property, 150000);
