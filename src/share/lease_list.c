/* SPDX-License-Identifier: MIT
   Leases of several limits at once: as lease.c, for each limit of a list.

   A leased permit is charged to each limit, so each holds back what is out, and a lease gets what the one with the
   least to give can give.  What remains is the order of calls:

   Given back is only while no call waits.  A waiting call was charged to each limit at its start, as if it came only
   then, and one that gave it less would let a newcomer have the same start.

   For the same reason a call that is going to wait first holds back, at its start, what is out then: the limits that do
   not make it wait count from its start on, and would forget the leased permits (lease_hold_until). */
#include "share/lease.h"

#include <string.h>

#include "core/clock.h"
#include "core/num.h"

bool lease_may(struct rules rules)
{
    bool may = true;
    for (int i = 0; i < rules.count; i++) {
        const struct algorithm *algorithm = algorithm_of(&rules.rule[i]);
        /* The permits of a schedule start one after the other, in another way by each; and a lease reckons that they
           are evenly apart, which those of a profile are not. */
        may = may && algorithm->slice != NULL && (rules.count == 1 || algorithm->lateness == NULL) &&
              !algorithm_arrives(&rules.rule[i], algorithm) && !clock_is_profile(&rules.rule[i]);
    }
    return may;
}

void lease_hold_all(struct rules rules, uint64_t *state, uint64_t now_ns, uint64_t out)
{
    for (int i = 0; i < rules.count && out != 0; i++) {
        lease_hold(&rules.rule[i], state, now_ns, out);
        state += state_words(&rules.rule[i], algorithm_of(&rules.rule[i]));
    }
}

uint64_t lease_wait_all_ns(struct rules rules, uint64_t out, const struct ask *ask)
{
    uint64_t wait_ns = ask->wait_max_ns;
    for (int i = 0; i < rules.count; i++) {
        struct ask of_one = *ask;
        if (ask->each != NULL) of_one.each = &ask->each[i];
        wait_ns = least(wait_ns, lease_wait_max_ns(&rules.rule[i], out, &of_one));
    }
    return wait_ns;
}

void lease_hold_until(struct rules rules, uint64_t *state, const struct ask *ask, uint64_t out)
{
    weir_decision then;
    struct ask look = *ask;
    if (rules.count == 1 || ask->wait_max_ns == 0 || ask->peek || ask->charge) return;
    look.peek = true;
    ask_rules(rules, state, &look, &then);
    if (then.verdict == WEIR_ALLOW && then.delay_ns != 0) lease_hold_all(rules, state, then.start.ns, out);
}

static void give_back_all(struct rules rules, uint64_t *state, const struct trade *trade)
{
    uint64_t *of_limit = state;
    bool waits = false;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        waits = waits || algorithm_of(rule)->balance(rule, of_limit, tick_at(rule, trade->now_ns)).waits;
        of_limit += state_words(rule, algorithm_of(rule));
    }
    if (waits || trade->unused == 0 || rules.rule[0].generation != trade->generation) return;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const uint64_t now = tick_at(rule, trade->now_ns), unused = ticks_of(rule, trade->unused);
        const struct slot slot = {.start = now, .end = UINT64_MAX, .cost = unused};
        algorithm_of(rule)->give_back(rule, state, now, &slot, unused);
        state += state_words(rule, algorithm_of(rule));
    }
}

/* As many permits as each limit gives, up to so many. */
static uint64_t slice_of_least(struct rules rules, const uint64_t *state, uint64_t now_ns, uint64_t permits)
{
    for (int i = 0; i < rules.count && permits >= SLICE_LEAST; i++) {
        const struct rule *rule = &rules.rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        uint64_t copy[STATE_WORDS_MAX];
        memcpy(copy, state, algorithm->words * sizeof *copy);
        const uint64_t now = tick_at(rule, now_ns);
        permits = algorithm->slice(rule, copy, now, now, permits).permits;
        state += algorithm->words;
    }
    return permits < SLICE_LEAST ? 0 : permits;
}

struct lease_slice lease_trade_all(struct rules rules, uint64_t *state, const struct trade *trade, uint64_t out)
{
    if (rules.count == 1) return lease_trade(rules.rule, state, trade, out);
    struct lease_slice got = {.generation = rules.rule[0].generation, .scale = rules.rule[0].scale & 63};
    if (!lease_may(rules) || trade->of_one) return got;
    lease_hold_all(rules, state, trade->now_ns, out);
    give_back_all(rules, state, trade);
    got.permits = slice_of_least(rules, state, trade->now_ns, trade->want);
    got.first_ns = got.last_ns = trade->now_ns;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        const uint64_t now = tick_at(rule, trade->now_ns);
        const struct stretch slice = algorithm->slice(rule, state, now, now, got.permits);
        if (i == 0) got.end = slice.end;
        state += algorithm->words;
    }
    return got;
}
