/* SPDX-License-Identifier: MIT
   simrate_law.c - simrate against a filler that fills each 10 ms, one fill after the other.

   jumped    as many fills as there may be, done at once, leave the very pools that they leave one by one
   told      every answer is that of pools with such a filler: verdict, what remains, how far behind, when to come back
   poured    a fill of any length, when told to fill

   The filler here is written from the peer's rules alone, in its doubles. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/num.h"
#include "core/simrate.h"
#include "law/law.h"
#include "plan/plan.h"

enum { STEPS_MEAN = 30, POOL = 1000000000, FILL_NS = 10000000, FILLS_MAX = 3000, TEXT_SIZE = 96 };

struct filler {
    int64_t active, waiting, over, per_op, tick_ns;
    uint64_t last_ns;
};

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void fill(struct filler *filler, uint64_t ns)
{
    const uint64_t first_ns = least(ns, INT32_MAX);
    const int64_t ticks = (int64_t)first_ns / filler->tick_ns;
    int64_t fits = filler->active < POOL ? POOL - filler->active : 0;
    filler->last_ns += ns;
    filler->waiting += (int64_t)(ns - first_ns) / filler->tick_ns;
    if (fits > ticks) fits = ticks;
    filler->active += fits;
    filler->waiting += ticks - fits;
    double share = (double)ticks / POOL;
    if (share > 1) share = 1;
    const int64_t paid_back = (int64_t)(share * (double)(filler->over - POOL));
    const int64_t moved = least_of(least_of(filler->over - filler->active, paid_back), filler->waiting);
    if (moved <= 0) return;
    filler->active += moved;
    filler->waiting -= moved;
}

/* ---- the subject ---- */

struct subject {
    weir_plan plan;
    uint64_t state[LIST_WORDS_MAX];
    uint64_t now_ns;
    struct filler filler;
    uint64_t per_op_ns, fills; /* of the filler so far */
};

static struct rule *rule_of(struct subject *subject)
{
    return &plan_inside(&subject->plan)->rule[0];
}

static uint64_t now_of(struct subject *subject)
{
    return tick_at(rule_of(subject), subject->now_ns);
}

static void begin(struct law *law, struct subject *subject)
{
    static const char *const rates[] = {"1000/s", "1/s",  "2/s", "1000000/s", "1000000000/s", "100/s",
                                        "1/min",  "1/7s", "1/h", "1/11d",     "12345678/s",   "3/s"};
    static const char *const catchups[] = {"",           " catchup=1",        " catchup=2", " catchup=1.15",
                                           " catchup=3", " catchup=1.0000001"};
    char text[TEXT_SIZE];
    memset(subject, 0, sizeof *subject);
    snprintf(text, sizeof text, "%s algorithm=simrate%s", rates[law_pick(law, sizeof rates / sizeof *rates)],
             catchups[law_pick(law, sizeof catchups / sizeof *catchups)]);
    law_note(law, "plan \"%s\"", text);
    law_check(law, weir_plan_parse(&subject->plan, text, WEIR_ADMIT, NULL) == 0, "refused");
    const struct rule *rule = rule_of(subject);
    subject->now_ns = law_pick_size(law, UINT64_MAX >> 4);
    subject->filler = (struct filler){.over = (int64_t)rule->over,
                                      .per_op = (int64_t)rule->third,
                                      .tick_ns = (int64_t)rule->fourth,
                                      .last_ns = subject->now_ns};
    subject->per_op_ns = rule->third * rule->fourth;
}

/* ---- jumped ---- */

/* At an edge, a little off it, or in between. */
static int64_t near_edge(struct law *law, int64_t edge, int64_t by)
{
    const int64_t off = (int64_t)law_pick(law, 2 * (uint64_t)by + 1) - by;
    return law_chance(law, 4) ? edge : edge + off;
}

static void jumped_property(struct law *law)
{
    struct subject subject;
    begin(law, &subject);
    struct filler *filler = &subject.filler;
    struct rule *rule = rule_of(&subject);
    const int64_t ticks = FILL_NS / filler->tick_ns, burst = filler->over - POOL;
    const int64_t moves = (int64_t)((double)ticks / POOL * (double)burst);
    const int64_t edges[] = {0, POOL, POOL - ticks, filler->over, filler->over - moves, POOL - 5 * ticks};
    law_step(law);
    filler->active = near_edge(law, edges[law_pick(law, 6)], law_pick(law, 2) == 0 ? 3 : 7 * ticks);
    filler->waiting = near_edge(law, (int64_t)law_pick(law, 6) * moves, moves + 2);
    if (filler->waiting < 0) filler->waiting = 0;
    rule->third = 1; /* room is active, to the tick */
    subject.state[0] = (uint64_t)filler->active;
    subject.state[1] = (uint64_t)filler->waiting;
    subject.state[2] = subject.now_ns + 1;
    const uint64_t fills = law_pick(law, law_chance(law, 40) ? FILLS_MAX : 24);
    law_note(law, "active %" PRId64 ", waiting %" PRId64 ", %" PRIu64 " fills", filler->active, filler->waiting, fills);
    for (uint64_t i = 0; i < fills; i++) fill(filler, FILL_NS);
    subject.now_ns += fills * FILL_NS + law_pick(law, FILL_NS);
    const uint64_t active = algorithm_at(rule, simrate_algorithm(), subject.state, now_of(&subject)).room;
    const uint64_t behind = simrate_algorithm()->account(rule, subject.state, now_of(&subject)).behind;
    law_check(law, (int64_t)active == (filler->active > 0 ? filler->active : 0),
              "active %" PRIu64 ", one by one %" PRId64, active, filler->active);
    law_check(law, (int64_t)behind == filler->waiting * filler->tick_ns, "behind %" PRIu64 ", one by one %" PRId64,
              behind, filler->waiting * filler->tick_ns);
}

/* ---- told ---- */

static uint64_t pick_gap(struct law *law, const struct subject *subject)
{
    switch (law_pick(law, 8)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return 1 + law_pick(law, 3);
    case 3:
        return FILL_NS;
    case 4:
        return law_pick(law, FILL_NS);
    case 5:
        return law_pick(law, 20 * (uint64_t)FILL_NS);
    case 6:
        return least(law_pick(law, 3 * subject->per_op_ns + 1), 60 * (uint64_t)FILL_NS);
    default:
        return law_chance(law, 10) ? law_pick(law, FILLS_MAX * (uint64_t)FILL_NS) : 0;
    }
}

static void check_retry(struct law *law, const struct subject *subject, uint64_t retry_ns, int64_t need)
{
    struct filler later = subject->filler;
    uint64_t fills = 0;
    while (later.active < need && fills++ < FILLS_MAX) fill(&later, FILL_NS);
    if (later.active < need) law_check(law, retry_ns > (fills - 2) * FILL_NS, "retry %" PRIu64 ", too soon", retry_ns);
    else
        law_check(law, subject->now_ns + retry_ns == later.last_ns, "retry at %" PRIu64 ", filled at %" PRIu64,
                  subject->now_ns + retry_ns, later.last_ns);
}

static void check_told(struct law *law, struct subject *subject, const weir_decision *decision)
{
    const struct filler *filler = &subject->filler;
    const uint64_t behind = simrate_algorithm()->account(rule_of(subject), subject->state, now_of(subject)).behind;
    const int64_t remaining = filler->active > 0 ? filler->active / filler->per_op : 0;
    law_check(law, (int64_t)decision->remaining == remaining, "%" PRIu64 " remain, with a filler %" PRId64,
              decision->remaining, remaining);
    law_check(law, (int64_t)behind == filler->waiting * filler->tick_ns, "behind %" PRIu64 ", with a filler %" PRId64,
              behind, filler->waiting * filler->tick_ns);
}

/* Nothing is given back; more than was asked for is owed. */
static void settle_one(struct law *law, struct subject *subject, weir_decision *decision, uint64_t taken)
{
    struct filler *filler = &subject->filler;
    const uint64_t actual = law_pick(law, taken + 3);
    weir_decide_settle(&subject->plan, subject->state, (weir_instant){subject->now_ns}, decision, actual);
    law_note(law, "%" PRIu64 " ns: settled from %" PRIu64 " to %" PRIu64, subject->now_ns, taken, actual);
    if (actual > taken) filler->active -= (int64_t)(actual - taken) * filler->per_op;
}

static bool ask(struct law *law, struct subject *subject, bool first)
{
    struct filler *filler = &subject->filler;
    const uint64_t most_cost = rule_of(subject)->burst;
    const uint64_t cost = law_chance(law, 6) ? law_pick(law, least(most_cost, 1 << 20) + 2) : 1;
    const int64_t need = (int64_t)cost * filler->per_op;
    if (first) filler->active = need > filler->per_op ? need : filler->per_op;
    weir_decision decision = weir_decide(&subject->plan, subject->state, (weir_instant){subject->now_ns}, cost);
    law_note(law, "%" PRIu64 " ns: take %" PRIu64 ": verdict %u, retry %" PRIu64, subject->now_ns, cost,
             decision.verdict, decision.retry_ns);
    if (decision.verdict == WEIR_NEVER) {
        law_check(law, cost > most_cost, "never, but possible");
        return false;
    }
    law_check(law, weir_allowed(decision) == (filler->active >= need), "active %" PRId64 ", needs %" PRId64,
              filler->active, need);
    if (weir_allowed(decision)) filler->active -= need;
    else check_retry(law, subject, decision.retry_ns, need);
    check_told(law, subject, &decision);
    if (weir_allowed(decision) && cost > 0 && law_chance(law, 4)) {
        const uint64_t later_ns = law_chance(law, 2) ? law_pick(law, 2 * FILL_NS) : 0;
        subject->now_ns += later_ns;
        while (filler->last_ns + FILL_NS <= subject->now_ns) fill(filler, FILL_NS);
        settle_one(law, subject, &decision, cost);
    }
    return weir_allowed(decision) && cost > 0;
}

static void told_property(struct law *law)
{
    struct subject subject;
    begin(law, &subject);
    bool begun = false;
    while (law_more(law, STEPS_MEAN)) {
        law_step(law);
        subject.now_ns += pick_gap(law, &subject);
        if (!begun) subject.filler.last_ns = subject.now_ns;
        while (begun && subject.filler.last_ns + FILL_NS <= subject.now_ns) fill(&subject.filler, FILL_NS);
        begun |= ask(law, &subject, !begun);
    }
}

/* ---- poured ---- */

static void poured_property(struct law *law)
{
    struct subject subject;
    begin(law, &subject);
    struct filler *filler = &subject.filler;
    simrate_refill(rule_of(&subject), subject.state, now_of(&subject));
    filler->active = filler->per_op;
    while (law_more(law, STEPS_MEAN)) {
        law_step(law);
        const uint64_t long_ns = 5 * (uint64_t)INT32_MAX;
        const uint64_t ns = law_chance(law, 3) ? law_pick_size(law, long_ns) : law_pick(law, 2 * FILL_NS);
        const bool back = law_chance(law, 10);
        subject.now_ns = back ? subtract_to_zero(subject.now_ns, ns) : subject.now_ns + ns;
        simrate_refill(rule_of(&subject), subject.state, now_of(&subject));
        if (subject.now_ns > filler->last_ns) fill(filler, subject.now_ns - filler->last_ns);
        if (law_pick(law, 2) == 0 && subject.now_ns == filler->last_ns) {
            const weir_decision decision = weir_decide(&subject.plan, subject.state, (weir_instant){subject.now_ns}, 1);
            law_check(law, weir_allowed(decision) == (filler->active >= filler->per_op), "verdict %u",
                      decision.verdict);
            if (weir_allowed(decision)) filler->active -= filler->per_op;
        }
        subject.now_ns = filler->last_ns;
        law_check(law, (int64_t)subject.state[SIMRATE_ACTIVE] == filler->active,
                  "active %" PRId64 ", the filler has %" PRId64, (int64_t)subject.state[SIMRATE_ACTIVE],
                  filler->active);
        law_check(law, (int64_t)subject.state[SIMRATE_WAITING] == filler->waiting,
                  "waiting %" PRId64 ", the filler has %" PRId64, (int64_t)subject.state[SIMRATE_WAITING],
                  filler->waiting);
    }
}

static void simrate_property(struct law *law)
{
    static law_property *const properties[] = {told_property, jumped_property, jumped_property, poured_property};
    properties[law_pick(law, 4)](law);
}

LAW("simrate", simrate_property, 80000);
