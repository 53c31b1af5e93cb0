/* SPDX-License-Identifier: MIT
   Bursty against its rule in whole numbers, the printed bounds, settling, and changes of limit.

   The oracle is the rule as a person would write it down: next and stored, in ns times the permits of the rate, so that
   nothing is ever rounded.  Weir's ticks stay within 4 ns of it however long it goes on: a tick where a time was read,
   one where the store was full, one in the burst, one to come back to ns.

   Of what was settled only the windows are checked: what was used, at its start. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/decide.h"
#include "core/num.h"
#include "property/property.h"
#include "property/smooth.h"
#include "plan/plan.h"
#include "wide.h"

typedef wide exact;

enum { STEPS_MEAN = 40, TEXT_SIZE = 128, OFF_NS = 4 };

static const char *const rates[] = {"1/s",    "3/s",       "10/s",       "7/min",   "1000/s",    "1/h",
                                    "333/7s", "1000000/s", "12345.6/3s", "1/99999", "3000000/ms"};
static const char *const bursts[] = {"",          " burst=0",      " burst=1",  " burst=3",
                                     " burst=20", " burst=2500ms", " burst=1ns"};

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

struct subject {
    struct smooth smooth;
    exact next, stored, burst;
};

static void pick_text(struct prop *prop, char text[TEXT_SIZE], const char *pay)
{
    const char *rate = rates[prop_pick(prop, LENGTH(rates))], *burst = bursts[prop_pick(prop, LENGTH(bursts))];
    const char *start = prop_chance(prop, 3) ? " start=full" : "";
    snprintf(text, TEXT_SIZE, "%s%s algorithm=bursty%s%s%s", strcmp(rate, "1/99999") == 0 ? "1/99999s" : rate, burst,
             pay, start, prop_chance(prop, 8) ? " debt=5" : "");
}

/* The oracle's units follow the limit. */
static void read_limit(struct subject *subject)
{
    const bool time = subject->smooth.limit->burst_kind == AMOUNT_TIME;
    subject->burst = (exact)subject->smooth.limit->burst * (time ? subject->smooth.p : subject->smooth.q);
}

static exact at_ns(const struct subject *subject, uint64_t ns)
{
    return (exact)ns * subject->smooth.p;
}

static void begin(struct prop *prop, struct subject *subject)
{
    char text[TEXT_SIZE];
    memset(subject, 0, sizeof *subject);
    pick_text(prop, text, prop_chance(prop, 2) ? " pay=self" : "");
    smooth_open(prop, &subject->smooth, text);
    read_limit(subject);
    subject->stored = subject->smooth.limit->start == START_FULL ? subject->burst : 0;
}

static uint64_t pick_cost(struct prop *prop, const struct subject *subject)
{
    const uint64_t permits = (uint64_t)(subject->burst / subject->smooth.q);
    return prop_pick(prop, 2) == 0 ? 1 : 1 + prop_pick(prop, 2 * permits + 3);
}

/* ---- the rule in whole numbers ---- */

static exact more_of(exact a, exact b)
{
    return a > b ? a : b;
}

static exact less_of(exact a, exact b)
{
    return a < b ? a : b;
}

static exact oracle_start(const struct subject *subject, uint64_t cost)
{
    const exact own =
        smooth_pays_itself(&subject->smooth) ? more_of((exact)cost * subject->smooth.q - subject->stored, 0) : 0;
    return more_of(subject->next + own, at_ns(subject, subject->smooth.now_ns));
}

static void oracle_take(struct subject *subject, uint64_t cost)
{
    const exact now = at_ns(subject, subject->smooth.now_ns), costs = (exact)cost * subject->smooth.q;
    if (smooth_pays_itself(&subject->smooth)) {
        const exact start = oracle_start(subject, cost);
        const exact left = start - subject->next + subject->stored - costs;
        subject->stored = less_of(left, more_of(subject->burst - costs, 0));
        subject->next = start;
        return;
    }
    if (now > subject->next) {
        subject->stored = less_of(subject->stored + now - subject->next, subject->burst);
        subject->next = now;
    }
    const exact from_store = less_of(costs, subject->stored);
    subject->stored -= from_store;
    subject->next += costs - from_store;
}

/* ---- asking ---- */

static void check_oracle(struct prop *prop, const struct subject *subject, const weir_decision *decision, uint64_t cost,
                         uint64_t wait_ns)
{
    const exact off = (exact)OFF_NS * subject->smooth.p;
    const exact wait = oracle_start(subject, cost) - at_ns(subject, subject->smooth.now_ns);
    if (decision->verdict != WEIR_ALLOW) {
        prop_check(prop, wait_ns != WEIR_FOREVER, "refused whoever waits for ever");
        prop_check(prop, wait > at_ns(subject, wait_ns) - off, "refused, and the rule lets it in");
        const exact retry = at_ns(subject, decision->retry_ns) + at_ns(subject, wait_ns) - wait;
        prop_check(prop, retry <= off && -retry <= off, "retry %" PRIu64, decision->retry_ns);
        return;
    }
    const exact apart = at_ns(subject, decision->delay_ns) - wait;
    prop_check(prop, apart <= off && -apart <= off, "delay %" PRIu64 ", %g ns from the rule", decision->delay_ns,
               wide_double(apart) / (double)subject->smooth.p);
}

static void take(struct prop *prop, struct subject *subject, bool with_oracle)
{
    const uint64_t cost = pick_cost(prop, subject), wait_ns = smooth_pick_wait(prop, &subject->smooth),
                   now_ns = subject->smooth.now_ns;
    const weir_decision decision =
        weir_decide_within(&subject->smooth.plan, subject->smooth.state, (weir_instant){now_ns}, cost, wait_ns);
    prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 ", wait %" PRIu64 ": verdict %u, delay %" PRIu64 ", retry %" PRIu64,
              now_ns, cost, wait_ns, decision.verdict, decision.delay_ns, decision.retry_ns);
    if (with_oracle) check_oracle(prop, subject, &decision, cost, wait_ns);
    if (decision.verdict != WEIR_ALLOW) smooth_check_retry(prop, &subject->smooth, decision.retry_ns, cost, wait_ns);
    if (decision.verdict != WEIR_ALLOW) return;
    prop_check(prop, decision.delay_ns <= wait_ns, "longer than asked");
    if (with_oracle) oracle_take(subject, cost);
    smooth_note(&subject->smooth, &decision, cost);
}

/* ---- bounds ---- */

/* All but the last call of a window: burst + rate * t.  The last is any; who pays himself counts in full. */
static void check_windows(struct prop *prop, struct subject *subject)
{
    smooth_sort(&subject->smooth);
    const exact off = (exact)OFF_NS * subject->smooth.p;
    for (int from = 0; from < subject->smooth.uses; from++) {
        exact sum = 0, largest = 0;
        for (int to = from; to < subject->smooth.uses; to++) {
            const exact cost = (exact)subject->smooth.use[to].permits * subject->smooth.q;
            const exact time = at_ns(subject, subject->smooth.use[to].start_ns - subject->smooth.use[from].start_ns);
            largest = more_of(largest, cost);
            sum += cost;
            const exact at_once =
                smooth_pays_itself(&subject->smooth) ? more_of(subject->burst, largest) : subject->burst + largest;
            prop_check(prop, sum <= at_once + time + off, "from %" PRIu64 " to %" PRIu64 " ns: %g permits too many",
                       subject->smooth.use[from].start_ns, subject->smooth.use[to].start_ns,
                       wide_double(sum - at_once - time) / (double)subject->smooth.q);
        }
    }
}

/* ---- another limit ---- */

/* The oracle goes on from what weir carried: ticks are permits exactly. */
static void follow(struct subject *subject)
{
    const unsigned scale = subject->smooth.rule->scale;
    const uint64_t anchor = subject->smooth.rule->anchor_tick;
    subject->next = at_ns(subject, subject->smooth.rule->anchor_ns) +
                    ((exact)(subject->smooth.state[0] - anchor) * subject->smooth.q >> scale);
    subject->stored = (exact)subject->smooth.state[1] * subject->smooth.q >> scale;
}

/* False when what is owed has become longer than the clock. */
static bool change(struct prop *prop, struct subject *subject)
{
    char text[TEXT_SIZE];
    pick_text(prop, text, smooth_pays_itself(&subject->smooth) ? " pay=self" : " pay=next");
    const weir_carry how = prop_chance(prop, 4) ? WEIR_SCALE : WEIR_KEEP;
    const struct rule from = *subject->smooth.rule;
    const uint64_t room =
        algorithm_at(&from, algorithm_of(&from), subject->smooth.state, tick_at(&from, subject->smooth.now_ns)).room;
    const bool goes_on = smooth_change(prop, &subject->smooth, text, how);
    const uint64_t stored = subject->smooth.state[1], burst = subject->smooth.rule->burst;
    prop_check(prop, stored <= burst, "more is stored than fits");
    if (how == WEIR_KEEP && from.burst != 0) {
        const uint64_t had = prop_chance(prop, 2) ? room : 0;
        prop_check(prop, had == 0 || stored <= multiply_divide_ceil(least(had, from.burst), burst, from.burst),
                   "the store is fuller than it was");
    }
    read_limit(subject);
    follow(subject);
    return goes_on;
}

static void bursty_property(struct prop *prop)
{
    static struct subject subject;
    begin(prop, &subject);
    const uint64_t mode = prop_pick(prop, 3); /* the rule; settling; changing */
    subject.smooth.now_ns = prop_pick_size(prop, UINT64_C(1) << 55);
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        const uint64_t gap_ns = smooth_pick_gap(prop, &subject.smooth, (uint64_t)(subject.burst / subject.smooth.p));
        if (mode == 0 && prop_chance(prop, 10)) subject.smooth.now_ns = subtract_to_zero(subject.smooth.now_ns, gap_ns);
        else subject.smooth.now_ns += gap_ns;
        if (mode == 1 && prop_chance(prop, 3)) smooth_settle_one(prop, &subject.smooth);
        else if (mode != 2 || !prop_chance(prop, 8)) take(prop, &subject, mode != 1);
        else if (!change(prop, &subject)) return;
    }
    if (mode == 1) check_windows(prop, &subject);
}

PROPERTY("bursty", bursty_property, 30000);
