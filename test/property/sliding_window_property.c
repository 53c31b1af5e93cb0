/* SPDX-License-Identifier: MIT
   Sliding-window against the list of its calls: each window's permits counted from the stamps.

   The list forgets nothing and weighs in 128 bits, wherever the windows begin.  What is settled is as if it had been
   used so from the beginning; a change of limit keeps the stamps; no window holds more than the facts say, and a caller
   who is greedy at the right times gets exactly that. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/decide.h"
#include "core/facts.h"
#include "core/num.h"
#include "property/property.h"
#include "plan/plan.h"
#include "wide.h"

typedef wide_unsigned exact;

enum { CALLS_MAX = 96, STEPS_MEAN = 60, COUNT_MAX = 40, WORDS = 3 };

struct call {
    uint64_t now_ns, permits; /* as it was settled */
    weir_decision decision;   /* charged is 0 when it is settled, and of an excess */
};

struct subject {
    weir_plan plan;
    struct rule *rule;
    uint64_t state[WORDS], now_ns, period_ns, count, offset_ns;
    struct call call[CALLS_MAX];
    int calls;
    uint64_t since_ns; /* the last change of limit: the clock does not show less */
    bool owes;         /* more was charged than passes */
};

static void write_limit(struct prop *prop, weir_plan *plan)
{
    static const char *const periods[] = {"s", "10ns", "7ns", "min", "1us", "3ms", "h", "1ns", "13h"};
    char text[PROP_TEXT_SIZE];
    const uint64_t count = prop_pick(prop, 3) > 0 ? 1 + prop_pick(prop, COUNT_MAX) : 1 + prop_pick_size(prop, 1000000);
    snprintf(text, sizeof text, "%" PRIu64 "/%s algorithm=sliding-window", count, periods[prop_pick(prop, 9)]);
    prop_note(prop, "plan \"%s\"", text);
    prop_check(prop, weir_plan_parse(plan, text, WEIR_ADMIT, NULL) == 0, "%s is refused", text);
}

static void begin(struct prop *prop, struct subject *subject)
{
    memset(subject, 0, sizeof *subject);
    write_limit(prop, &subject->plan);
    subject->rule = plan_inside(&subject->plan)->rule;
    subject->count = subject->rule->burst;
    subject->period_ns = subject->rule->period_ns;
    subject->now_ns = prop_pick_size(prop, UINT64_C(1) << 60);
    if (prop_pick(prop, 2) == 0) return;
    const uint64_t unix_ns = prop_pick_size(prop, UINT64_C(1) << 62);
    algorithm_align(subject->rule, subject->now_ns, unix_ns);
    subject->offset_ns = subject->rule->offset_ns;
    const exact ahead = (exact)subject->now_ns + subject->offset_ns - unix_ns % subject->period_ns;
    prop_check(prop, subject->offset_ns < subject->period_ns && ahead % subject->period_ns == 0, "not aligned");
}

/* ---- the list ---- */

static uint64_t window_at(const struct subject *subject, uint64_t ns)
{
    return (ns + subject->offset_ns) / subject->period_ns;
}

static exact permits_in(const struct subject *subject, uint64_t window)
{
    exact sum = 0;
    for (int i = 0; i < subject->calls; i++) {
        if (window_at(subject, subject->call[i].now_ns) == window) sum += subject->call[i].permits;
    }
    return sum;
}

static uint64_t weighted(const struct subject *subject, uint64_t ns)
{
    const uint64_t window = window_at(subject, ns),
                   left = subject->period_ns - (ns + subject->offset_ns) % subject->period_ns;
    const exact before = window == 0 ? 0 : permits_in(subject, window - 1);
    return (uint64_t)(before * left / subject->period_ns + permits_in(subject, window));
}

/* A window is not left again: nothing passes before the last that something was ever counted in. */
static bool early(const struct subject *subject, uint64_t ns)
{
    for (int i = 0; i < subject->calls; i++) {
        if (window_at(subject, subject->call[i].now_ns) > window_at(subject, ns)) return true;
    }
    return false;
}

static bool passes(const struct subject *subject, uint64_t ns, uint64_t permits)
{
    return !early(subject, ns) && weighted(subject, ns) + (exact)permits <= subject->count;
}

/* ---- asking ---- */

static uint64_t pick_gap(struct prop *prop, const struct subject *subject)
{
    const uint64_t period_ns = subject->period_ns;
    const uint64_t left = period_ns - (subject->now_ns + subject->offset_ns) % period_ns;
    switch (prop_pick(prop, 6)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return left + prop_pick(prop, 3) - 1;
    case 3:
        return prop_pick(prop, 3 * period_ns);
    case 4:
        return prop_pick(prop, period_ns / subject->count + 2);
    default:
        return prop_pick_size(prop, 100 * period_ns);
    }
}

static void check_room(struct prop *prop, const struct subject *subject, const weir_decision *decision)
{
    const uint64_t now_ns = subject->now_ns, remaining = early(subject, now_ns) ? 0 : decision->remaining;
    const uint64_t full_ns = now_ns + weir_decide_full_ns(&subject->plan, decision);
    prop_check(prop, remaining == decision->remaining, "%" PRIu64 " remain too early", decision->remaining);
    prop_check(prop, remaining == 0 || passes(subject, now_ns, remaining), "%" PRIu64 " remain and do not pass",
               remaining);
    prop_check(prop, !passes(subject, now_ns, remaining + 1), "%" PRIu64 " remain and one more passes", remaining);
    prop_check(prop, passes(subject, full_ns, subject->count), "not full after %" PRIu64, full_ns - now_ns);
    prop_check(prop, full_ns == now_ns || !passes(subject, full_ns - 1, subject->count), "full before %" PRIu64,
               full_ns);
}

static void ask(struct prop *prop, struct subject *subject)
{
    const uint64_t permits = prop_pick(prop, 3) > 0 ? 1 : prop_pick(prop, subject->count + 2), now_ns = subject->now_ns;
    const bool expected = passes(subject, now_ns, permits);
    const weir_decision decision = weir_decide_within(&subject->plan, subject->state, (weir_instant){now_ns}, permits,
                                                      prop_pick(prop, 2) == 0 ? 0 : WEIR_FOREVER);
    prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 ": verdict %u, retry %" PRIu64, now_ns, permits, decision.verdict,
              decision.retry_ns);
    prop_check(prop, weir_allowed(decision) == expected, "the list says %d", expected);
    prop_check(prop, decision.delay_ns == 0, "made to wait");
    if (decision.verdict == WEIR_NEVER) prop_check(prop, permits > subject->count, "never, and it fits");
    if (decision.verdict == WEIR_DENY) {
        const uint64_t then = now_ns + decision.retry_ns;
        prop_check(prop, passes(subject, then, permits), "refused after %" PRIu64, decision.retry_ns);
        prop_check(prop, !passes(subject, then - 1, permits), "passes before %" PRIu64, decision.retry_ns);
        prop_check(prop, !passes(subject, now_ns + prop_pick(prop, decision.retry_ns), permits), "passes in between");
    }
    if (weir_allowed(decision) && permits != 0) {
        subject->call[subject->calls++] = (struct call){now_ns, permits, decision};
    }
    check_room(prop, subject, &decision);
}

static void settle_one(struct prop *prop, struct subject *subject)
{
    struct call *call = &subject->call[prop_pick(prop, (uint64_t)subject->calls)];
    const uint64_t charged = call->decision.charged, actual = prop_chance(prop, 3) ? 0 : prop_pick(prop, charged + 3);
    if (charged == 0) return;
    prop_note(prop, "%" PRIu64 " ns: settle call %d to %" PRIu64, subject->now_ns, (int)(call - subject->call), actual);
    const bool kept = early(subject, subject->now_ns) || subject->now_ns < call->now_ns;
    weir_decide_settle(&subject->plan, subject->state, (weir_instant){subject->now_ns}, &call->decision, actual);
    if (actual < charged && !kept) call->permits = actual;
    else if (actual < charged) subject->owes = true; /* not all is given back while the clock is behind */
    else if (actual > charged) {
        subject->call[subject->calls++] = (struct call){.now_ns = subject->now_ns, .permits = actual - charged};
        subject->owes = true;
    }
}

/* ---- what was used ---- */

static void check_windows(struct prop *prop, const struct subject *subject)
{
    const struct limit *limit = plan_inside_const(&subject->plan)->limit;
    for (int i = 0; i < subject->calls; i++) {
        for (int j = 0; j < subject->calls; j++) {
            const uint64_t from = subject->call[i].now_ns, to = subject->call[j].now_ns;
            exact used = 0;
            for (int k = 0; k < subject->calls && from <= to; k++) {
                const uint64_t ns = subject->call[k].now_ns;
                if (ns >= from && ns <= to) used += subject->call[k].permits;
            }
            prop_check(prop, used <= facts_most_in(limit, to - from + 1), "%" PRIu64 " from %" PRIu64 " to %" PRIu64,
                       (uint64_t)used, from, to);
        }
    }
}

/* All at the last ns of a window, and then whatever passes. */
static void be_greedy(struct prop *prop, struct subject *subject)
{
    const struct limit *limit = plan_inside_const(&subject->plan)->limit;
    const uint64_t first_ns = 3 * subject->period_ns - 1 - subject->offset_ns,
                   end_ns = first_ns + prop_pick(prop, 3 * subject->period_ns) + 1;
    uint64_t taken = 0, state[WORDS] = {0};
    if (subject->count > COUNT_MAX || subject->count >= subject->period_ns) return;
    for (uint64_t now_ns = first_ns; now_ns < end_ns;) {
        const weir_decision decision = weir_decide(&subject->plan, state, (weir_instant){now_ns}, 1);
        if (weir_allowed(decision)) taken++;
        else now_ns += decision.retry_ns;
    }
    prop_check(prop, taken == facts_most_in(limit, end_ns - first_ns), "%" PRIu64 " in %" PRIu64 " ns, said %" PRIu64,
               taken, end_ns - first_ns, facts_most_in(limit, end_ns - first_ns));
}

/* ---- a change of limit ---- */

/* The same windows with another count: SCALE keeps the permits.  Other windows: KEEP keeps the time, rounded up. */
static void change(struct prop *prop, struct subject *subject)
{
    weir_plan other;
    uint64_t next[WORDS] = {0}, kept[WORDS] = {0}, again[WORDS] = {0};
    const struct rule from = *subject->rule;
    const uint64_t now = tick_at(&from, subject->now_ns), used = weighted(subject, subject->now_ns);
    write_limit(prop, &other);
    struct rule to = plan_inside(&other)->rule[0], same = from;
    to.anchor_ns = same.anchor_ns = subject->now_ns;
    to.offset_ns = prop_pick(prop, to.period_ns);
    same.offset_ns = prop_pick(prop, same.period_ns);
    sliding_window_algorithm()->carry(&from, &to, subject->state, kept, now, WEIR_KEEP);
    sliding_window_algorithm()->carry(&from, &same, subject->state, again, now, WEIR_KEEP);
    const uint64_t room = algorithm_at(&to, sliding_window_algorithm(), kept, to.anchor_tick).room,
                   counts = to.burst - room;
    prop_note(prop, "used %" PRIu64 " of %" PRIu64 ", then %" PRIu64 " of %" PRIu64, used, from.burst, counts,
              to.burst);
    /* A part of a permit counts as none, before as after. */
    const exact before = (exact)used * from.period_ns * to.burst,
                after = (exact)(counts + 1) * to.period_ns * from.burst;
    prop_check(prop, counts == to.burst || after > before, "KEEP gives back time");
    to = same;
    to.burst = most(from.burst, 1 + prop_pick(prop, 2 * from.burst));
    sliding_window_algorithm()->carry(&same, &to, again, next, same.anchor_tick, WEIR_SCALE);
    subject->rule->burst = subject->count = to.burst;
    memcpy(subject->state, next, sizeof next);
    subject->since_ns = subject->now_ns;
}

static void sliding_window_property(struct prop *prop)
{
    static struct subject subject;
    begin(prop, &subject);
    be_greedy(prop, &subject);
    const bool settles = prop_chance(prop, 3), changes = !settles && prop_chance(prop, 3);
    while (prop_more(prop, STEPS_MEAN) && subject.calls < CALLS_MAX - 1 && !subject.owes) {
        prop_step(prop);
        const uint64_t gap_ns = pick_gap(prop, &subject);
        if (prop_chance(prop, 16)) subject.now_ns = most(subtract_to_zero(subject.now_ns, gap_ns), subject.since_ns);
        else subject.now_ns += gap_ns;
        if (settles && subject.calls > 0 && prop_chance(prop, 4)) settle_one(prop, &subject);
        else ask(prop, &subject);
        if (changes && prop_chance(prop, 8)) change(prop, &subject);
    }
    if (!changes && !subject.owes) check_windows(prop, &subject);
}

PROPERTY("sliding-window", sliding_window_property, 25000);
