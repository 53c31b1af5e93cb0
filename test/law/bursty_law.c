/* SPDX-License-Identifier: MIT
   bursty_law.c - bursty against its rule in whole numbers, the printed bounds, settling, and changes of limit.

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
#include "law/law.h"
#include "plan/plan.h"

__extension__ typedef __int128 exact;

enum { STEPS_MEAN = 40, USES_TOP = 128, TEXT_SIZE = 128, OFF_NS = 4 };

static const char *const rates[] = {"1/s",    "3/s",       "10/s",       "7/min",   "1000/s",    "1/h",
                                    "333/7s", "1000000/s", "12345.6/3s", "1/99999", "3000000/ms"};
static const char *const bursts[] = {"",          " burst=0",      " burst=1",  " burst=3",
                                     " burst=20", " burst=2500ms", " burst=1ns"};

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

struct use {
    uint64_t start_ns, permits;
    weir_decision decision;
};

struct subject {
    weir_plan plan;
    const struct limit *limit;
    const struct rule *rule;
    uint64_t state[STATE_WORDS_MAX], now_ns;
    uint64_t p, q; /* permits in ns */
    exact next, stored, burst;
    struct use use[USES_TOP];
    int uses;
};

static bool pays_itself(const struct subject *subject)
{
    return subject->limit->pay == PAY_SELF;
}

static void pick_text(struct law *law, char text[TEXT_SIZE], const char *pay)
{
    const char *rate = rates[law_pick(law, LENGTH(rates))], *burst = bursts[law_pick(law, LENGTH(bursts))];
    const char *start = law_chance(law, 3) ? " start=full" : "";
    snprintf(text, TEXT_SIZE, "%s%s algorithm=bursty%s%s%s", strcmp(rate, "1/99999") == 0 ? "1/99999s" : rate, burst,
             pay, start, law_chance(law, 8) ? " debt=5" : "");
}

/* The oracle's units follow the limit. */
static void read_limit(struct subject *subject)
{
    struct plan *inside = plan_inside(&subject->plan);
    subject->limit = &inside->limit[0];
    subject->rule = &inside->rule[0];
    limit_rate(subject->limit, &subject->p, &subject->q);
    const bool time = subject->limit->burst_kind == AMOUNT_TIME;
    subject->burst = (exact)subject->limit->burst * (time ? subject->p : subject->q);
}

static exact at_ns(const struct subject *subject, uint64_t ns)
{
    return (exact)ns * subject->p;
}

static void begin(struct law *law, struct subject *subject)
{
    char text[TEXT_SIZE];
    memset(subject, 0, sizeof *subject);
    pick_text(law, text, law_chance(law, 2) ? " pay=self" : "");
    law_note(law, "plan \"%s\"", text);
    law_check(law, weir_plan_parse(&subject->plan, text, WEIR_ADMIT, NULL) == 0, "refused");
    read_limit(subject);
    subject->stored = subject->limit->start == START_FULL ? subject->burst : 0;
}

static uint64_t pick_gap(struct law *law, const struct subject *subject)
{
    const uint64_t permit_ns = subject->q / subject->p + 1, burst_ns = (uint64_t)(subject->burst / subject->p);
    switch (law_pick(law, 5)) {
    case 0:
        return 0;
    case 1:
        return law_pick(law, 3);
    case 2:
        return law_pick(law, 2 * permit_ns + 1);
    case 3:
        return law_pick(law, 2 * burst_ns + 2);
    default:
        return law_pick_size(law, 10 * (permit_ns + burst_ns));
    }
}

static uint64_t pick_cost(struct law *law, const struct subject *subject)
{
    const uint64_t permits = (uint64_t)(subject->burst / subject->q);
    return law_pick(law, 2) == 0 ? 1 : 1 + law_pick(law, 2 * permits + 3);
}

static uint64_t pick_wait(struct law *law, const struct subject *subject)
{
    const uint64_t how = law_pick(law, 4);
    if (how < 2) return 0;
    return how == 2 ? WEIR_FOREVER : law_pick(law, 4 * (subject->q / subject->p + 1));
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
    const exact own = pays_itself(subject) ? more_of((exact)cost * subject->q - subject->stored, 0) : 0;
    return more_of(subject->next + own, at_ns(subject, subject->now_ns));
}

static void oracle_take(struct subject *subject, uint64_t cost)
{
    const exact now = at_ns(subject, subject->now_ns), costs = (exact)cost * subject->q;
    if (pays_itself(subject)) {
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

static weir_decision would(const struct subject *subject, uint64_t now_ns, uint64_t cost, uint64_t wait_ns)
{
    uint64_t copy[STATE_WORDS_MAX];
    memcpy(copy, subject->state, sizeof copy);
    return weir_decide_within(&subject->plan, copy, (weir_instant){now_ns}, cost, wait_ns);
}

static void check_oracle(struct law *law, const struct subject *subject, const weir_decision *decision, uint64_t cost,
                         uint64_t wait_ns)
{
    const exact off = (exact)OFF_NS * subject->p;
    const exact wait = oracle_start(subject, cost) - at_ns(subject, subject->now_ns);
    if (decision->verdict != WEIR_ALLOW) {
        law_check(law, wait_ns != WEIR_FOREVER, "refused whoever waits for ever");
        law_check(law, wait > at_ns(subject, wait_ns) - off, "refused, and the rule lets it in");
        const exact retry = at_ns(subject, decision->retry_ns) + at_ns(subject, wait_ns) - wait;
        law_check(law, retry <= off && -retry <= off, "retry %" PRIu64, decision->retry_ns);
        return;
    }
    const exact apart = at_ns(subject, decision->delay_ns) - wait;
    law_check(law, apart <= off && -apart <= off, "delay %" PRIu64 ", %g ns from the rule", decision->delay_ns,
              (double)apart / (double)subject->p);
}

static void check_retry(struct law *law, const struct subject *subject, uint64_t retry_ns, uint64_t cost,
                        uint64_t wait_ns)
{
    law_check(law, retry_ns > 0 && retry_ns != WEIR_FOREVER, "retry %" PRIu64, retry_ns);
    law_check(law, would(subject, subject->now_ns + retry_ns - 1, cost, wait_ns).verdict == WEIR_DENY, "early");
    law_check(law, would(subject, subject->now_ns + retry_ns, cost, wait_ns).verdict == WEIR_ALLOW, "late");
}

static void take(struct law *law, struct subject *subject, bool with_oracle)
{
    const uint64_t cost = pick_cost(law, subject), wait_ns = pick_wait(law, subject), now_ns = subject->now_ns;
    const weir_decision decision =
        weir_decide_within(&subject->plan, subject->state, (weir_instant){now_ns}, cost, wait_ns);
    law_note(law, "%" PRIu64 " ns: take %" PRIu64 ", wait %" PRIu64 ": verdict %u, delay %" PRIu64 ", retry %" PRIu64,
             now_ns, cost, wait_ns, decision.verdict, decision.delay_ns, decision.retry_ns);
    if (with_oracle) check_oracle(law, subject, &decision, cost, wait_ns);
    if (decision.verdict != WEIR_ALLOW) check_retry(law, subject, decision.retry_ns, cost, wait_ns);
    if (decision.verdict != WEIR_ALLOW) return;
    law_check(law, decision.delay_ns <= wait_ns, "longer than asked");
    if (with_oracle) oracle_take(subject, cost);
    if (subject->uses < USES_TOP)
        subject->use[subject->uses++] = (struct use){now_ns + decision.delay_ns, cost, decision};
}

/* ---- bounds ---- */

static void settle_one(struct law *law, struct subject *subject)
{
    if (subject->uses == 0) return;
    struct use *use = &subject->use[subject->uses - 1 - (int)law_pick(law, (uint64_t)subject->uses)];
    if (use->decision.charged == 0) return;
    uint64_t actual = law_pick(law, 2) == 0 ? 0 : law_pick(law, use->permits + 1);
    if (actual != 0 && subject->now_ns < use->start_ns) actual = 0;
    law_note(law, "%" PRIu64 " ns: settle call %d from %" PRIu64 " to %" PRIu64, subject->now_ns,
             (int)(use - subject->use), use->permits, actual);
    weir_decide_settle(&subject->plan, subject->state, (weir_instant){subject->now_ns}, &use->decision, actual);
    use->permits = actual;
}

static void sort(struct subject *subject)
{
    for (int i = 1; i < subject->uses; i++) {
        const struct use one = subject->use[i];
        int at = i;
        for (; at > 0 && subject->use[at - 1].start_ns > one.start_ns; at--) subject->use[at] = subject->use[at - 1];
        subject->use[at] = one;
    }
}

/* All but the last call of a window: burst + rate * t.  The last is any; who pays himself counts in full. */
static void check_windows(struct law *law, struct subject *subject)
{
    sort(subject);
    const exact off = (exact)OFF_NS * subject->p;
    for (int from = 0; from < subject->uses; from++) {
        exact sum = 0, largest = 0;
        for (int to = from; to < subject->uses; to++) {
            const exact cost = (exact)subject->use[to].permits * subject->q;
            const exact time = at_ns(subject, subject->use[to].start_ns - subject->use[from].start_ns);
            largest = more_of(largest, cost);
            sum += cost;
            const exact at_once = pays_itself(subject) ? more_of(subject->burst, largest) : subject->burst + largest;
            law_check(law, sum <= at_once + time + off, "from %" PRIu64 " to %" PRIu64 " ns: %g permits too many",
                      subject->use[from].start_ns, subject->use[to].start_ns,
                      (double)(sum - at_once - time) / (double)subject->q);
        }
    }
}

/* ---- another limit ---- */

/* The oracle goes on from what weir carried: ticks are permits exactly. */
static void follow(struct subject *subject)
{
    const unsigned scale = subject->rule->scale;
    const uint64_t anchor = subject->rule->anchor_tick;
    subject->next =
        at_ns(subject, subject->rule->anchor_ns) + ((exact)(subject->state[0] - anchor) * subject->q >> scale);
    subject->stored = (exact)subject->state[1] * subject->q >> scale;
}

/* False when what is owed has become longer than the clock. */
static bool change(struct law *law, struct subject *subject)
{
    char text[TEXT_SIZE];
    uint64_t next[STATE_WORDS_MAX] = {0};
    pick_text(law, text, pays_itself(subject) ? " pay=self" : " pay=next");
    const weir_carry how = law_chance(law, 4) ? WEIR_SCALE : WEIR_KEEP;
    weir_plan plan;
    law_check(law, weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) == 0, "refused");
    struct rule to = plan_inside(&plan)->rule[0];
    to.anchor_ns = subject->now_ns;
    const struct rule from = *subject->rule;
    const uint64_t now = tick_at(&from, subject->now_ns);
    const struct algorithm *algorithm = algorithm_of(&from);
    const bool waits = algorithm->waited_for(&from, subject->state, now);
    const uint64_t mark = algorithm->mark(&from, subject->state, now);
    algorithm->carry(&from, &to, subject->state, next, now, how);
    law_note(law, "%" PRIu64 " ns: now \"%s\", %s", subject->now_ns, text, how == WEIR_KEEP ? "keep" : "scale");
    const uint64_t after = algorithm->mark(&to, next, to.anchor_tick);
    const uint64_t permits = carry_waiting(&from, &to, mark - now);
    if (waits || how == WEIR_SCALE)
        law_check(law, after == add_saturating(to.anchor_tick, permits), "owed permits differ");
    else law_check(law, ns_ceil(&to, after) == most(ns_ceil(&from, mark), to.anchor_ns), "owed time differs");
    law_check(law, next[1] <= to.burst, "more is stored than fits");
    if (how == WEIR_KEEP && from.burst != 0) {
        const uint64_t had = law_chance(law, 2) ? algorithm->room(&from, subject->state, now) : 0;
        law_check(law, had == 0 || next[1] <= multiply_divide_ceil(least(had, from.burst), to.burst, from.burst),
                  "the store is fuller than it was");
    }
    memcpy(subject->state, next, sizeof next);
    subject->plan = plan;
    read_limit(subject);
    plan_inside(&subject->plan)->rule[0].anchor_ns = to.anchor_ns;
    follow(subject);
    return after >> 62 == 0;
}

static void bursty_property(struct law *law)
{
    static struct subject subject;
    begin(law, &subject);
    const uint64_t mode = law_pick(law, 3); /* the rule; settling; changing */
    subject.now_ns = law_pick_size(law, UINT64_C(1) << 55);
    while (law_more(law, STEPS_MEAN)) {
        law_step(law);
        const uint64_t gap_ns = pick_gap(law, &subject);
        if (mode == 0 && law_chance(law, 10)) subject.now_ns = subtract_to_zero(subject.now_ns, gap_ns);
        else subject.now_ns += gap_ns;
        if (mode == 1 && law_chance(law, 3)) settle_one(law, &subject);
        else if (mode != 2 || !law_chance(law, 8)) take(law, &subject, mode != 1);
        else if (!change(law, &subject)) return;
    }
    if (mode == 1) check_windows(law, &subject);
}

LAW("bursty", bursty_property, 30000);
