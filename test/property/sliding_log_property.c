/* SPDX-License-Identifier: MIT
   A log against a list that forgets nothing, and against what must never happen.

   As long as nothing is corrected and no limit grows, every answer is that of the list: entries are counted one by one
   at the time asked for, and while there are too many the time moves on to when the next one leaves.  After a change
   those who wait are entered into the list anew in their order, and are told so.  A call that is given back at once was
   as if never made.

   Whatever is corrected, charged and changed: of any calls that were asked for and not given back, those that are so
   many places apart as the rule allowed when the later one was granted (or was given a new start) are its period apart;
   calls are its gap apart.  So no window of the rule in force holds more than its count.  A refusal is exact in any
   state: refused a ns before, allowed then. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"
#include "core/algorithm/sliding_log.h"
#include "core/undo.h"
#include "plan/plan.h"
#include "property/property.h"

enum { STEPS_MEAN = 30, COUNT_MAX = 8, CALLS_MAX = 96, ENTRIES_MAX = 256, STATE_MAX = 24 };
enum { TEXT_SIZE = 160 };

/* What a run is about. */
enum way { ASKED, CLOCK_BACK, CHANGED, CORRECTED, CORRECTED_AND_CHANGED, GARBAGE, WAYS };

static const uint64_t spans[] = {1000,
                                 1,
                                 2,
                                 7,
                                 1000000000,
                                 2147483647,
                                 2147483648,
                                 60000000000,
                                 140737488355327,
                                 140737488355328,
                                 31536000000000000};

struct call {
    weir_decision decision;
    uint64_t start_ns, cost, count, span_ns, gap_ns; /* the last three of the rule it was granted by */
    uint32_t generation;
    bool settled, forgotten, out;
    struct undo undo;
};

struct subject {
    struct rule rule;
    uint64_t state[STATE_MAX];
    uint64_t now_ns, latest_ns;
    uint64_t brief_ns; /* so far back entries were known under every rule so far */
    struct call call[CALLS_MAX];
    int calls;
    uint64_t entry[ENTRIES_MAX]; /* of the list */
    int entries;
    bool exact, goes_back; /* the list knows all; the clock may go back */
    bool overfull;         /* more starts are promised than a log since then had entries */
    enum way way;
};

static uint64_t span_of(const struct rule *rule)
{
    return rule->period_ns + ((rule->flags & SLIDING_LOG_CLOSED) != 0);
}

static struct rule pick_rule(struct prop *prop, uint32_t generation, uint64_t now_ns)
{
    char text[TEXT_SIZE];
    weir_plan plan;
    const uint64_t span_ns = spans[prop_pick(prop, sizeof spans / sizeof *spans)];
    const uint64_t gap_ns = prop_pick(prop, 3) < 2 ? 0 : prop_pick(prop, 2 * span_ns / (1 + prop_pick(prop, 5)) + 1);
    int length = snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "ns algorithm=sliding-log edge=%s",
                          1 + prop_pick(prop, COUNT_MAX), span_ns, prop_pick(prop, 2) == 0 ? "open" : "closed");
    if (gap_ns != 0) length += snprintf(text + length, sizeof text - (size_t)length, " gap=%" PRIu64 "ns", gap_ns);
    if (prop_chance(prop, 4)) snprintf(text + length, sizeof text - (size_t)length, " count-refused");
    prop_check(prop, weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) == 0, "%s is refused", text);
    prop_note(prop, "%" PRIu64 " ns: \"%s\"", now_ns, text);
    struct rule rule = plan_inside(&plan)->rule[0];
    rule.generation = generation;
    if (generation != 0) rule.anchor_ns = now_ns;
    if (prop_chance(prop, 4)) rule.flags &= (uint8_t)~STAMPS_BRIEF;
    prop_check(prop, STAMPS_HEADER + stamps_words(&rule) <= STATE_MAX, "the state is larger than planned");
    return rule;
}

/* Of a change where the list knows what must come of it: calls of one permit, and no more than before. */
static void make_simple(struct rule *rule, uint64_t burst_max)
{
    rule->burst = least(rule->burst, burst_max);
    rule->gap_ns = 0;
    rule->flags &= (uint8_t)~SLIDING_LOG_COUNTS_REFUSED;
}

static struct rules rules_of(const struct subject *subject)
{
    return (struct rules){&subject->rule, 1};
}

static weir_decision ask(const struct subject *subject, uint64_t *state, uint64_t now_ns, uint64_t cost,
                         uint64_t wait_ns)
{
    weir_decision decision;
    const struct question question = {now_ns, wait_ns, &cost, false};
    decide(rules_of(subject), state, &question, NULL, &decision);
    return decision;
}

/* ---- the list ---- */

static bool fits(const struct subject *subject, uint64_t t, uint64_t cost, uint64_t *next_ns)
{
    const uint64_t span_ns = span_of(&subject->rule), last = (uint64_t)subject->entries;
    uint64_t counting = 0;
    *next_ns = UINT64_MAX;
    for (int i = 0; i < subject->entries; i++) {
        if (subject->entry[i] + span_ns <= t) continue;
        counting++;
        *next_ns = least(*next_ns, subject->entry[i] + span_ns);
    }
    if (cost == 0) return true;
    if (counting + cost > subject->rule.burst) return false;
    if (last == 0 || subject->rule.gap_ns == 0) return true;
    *next_ns = subject->entry[last - 1] + subject->rule.gap_ns;
    return *next_ns <= t;
}

static uint64_t passes_at(const struct subject *subject, uint64_t cost)
{
    uint64_t t = subject->now_ns, next_ns;
    while (!fits(subject, t, cost, &next_ns)) t = next_ns;
    return t;
}

static void enter(struct subject *subject, uint64_t t, uint64_t cost)
{
    if (subject->entries != 0) t = most(t, subject->entry[subject->entries - 1]);
    for (uint64_t i = 0; i < cost; i++) subject->entry[subject->entries++] = t;
}

static uint64_t room_in(const struct subject *subject)
{
    uint64_t cost = subject->rule.burst, next_ns;
    while (cost > 0 && !fits(subject, subject->now_ns, cost, &next_ns)) cost--;
    return subject->rule.gap_ns != 0 ? least(cost, 1) : cost;
}

static void compare(struct prop *prop, struct subject *subject, const weir_decision *decision, uint64_t cost,
                    uint64_t wait_ns)
{
    const bool never = cost > subject->rule.burst, counts = (subject->rule.flags & SLIDING_LOG_COUNTS_REFUSED) != 0;
    uint64_t start_ns = never ? UINT64_MAX : passes_at(subject, cost);
    const bool allowed = !never && start_ns - subject->now_ns <= (counts ? 0 : wait_ns);
    prop_check(prop, weir_allowed(*decision) == allowed, "the list says %s", allowed ? "allowed" : "refused");
    prop_check(prop, (decision->verdict == WEIR_NEVER) == never, "never is %d", never);
    if (allowed) {
        prop_check(prop, subject->now_ns + decision->delay_ns == start_ns, "the list starts it at %" PRIu64, start_ns);
        enter(subject, start_ns, cost);
    } else {
        const bool waited_for = subject->entries != 0 && subject->entry[subject->entries - 1] > subject->now_ns;
        if (counts && !waited_for) enter(subject, subject->now_ns, least(cost, subject->rule.burst));
        if (!never && counts) start_ns = passes_at(subject, cost);
        const uint64_t wait = never ? 0 : start_ns - subject->now_ns - (counts ? 0 : wait_ns);
        prop_check(prop, decision->retry_ns == wait, "by the list it passes in %" PRIu64, wait);
    }
    if (allowed && start_ns != subject->now_ns) return;
    prop_check(prop, decision->remaining == room_in(subject), "the list has room for %" PRIu64, room_in(subject));
}

/* ---- calls ---- */

/* Refused a ns before, allowed then, in whatever state. */
static void check_retry(struct prop *prop, const struct subject *subject, uint64_t cost)
{
    uint64_t before[STATE_MAX], then[STATE_MAX];
    memcpy(before, subject->state, sizeof before);
    weir_decision decision = ask(subject, before, subject->now_ns, cost, 0);
    if (decision.verdict != WEIR_DENY || decision.retry_ns > UINT64_MAX / 4) return;
    const uint64_t passes_ns = subject->now_ns + decision.retry_ns;
    memcpy(then, before, sizeof then);
    decision = ask(subject, then, passes_ns, cost, 0);
    prop_check(prop, weir_allowed(decision), "refused when told to come back, at %" PRIu64, passes_ns);
    decision = ask(subject, before, passes_ns - 1, cost, 0);
    prop_check(prop, !weir_allowed(decision), "allowed a ns before it was told to come back, at %" PRIu64, passes_ns);
}

/* Taken and given back, all or in part: as if only the rest had been taken, unless somebody waits. */
static void check_given_back(struct prop *prop, const struct subject *subject, uint64_t cost)
{
    uint64_t with[STATE_MAX], without[STATE_MAX];
    const uint64_t used = prop_pick(prop, cost + 1);
    memcpy(with, subject->state, sizeof with);
    memcpy(without, subject->state, sizeof without);
    const bool waits =
        algorithm_of(&subject->rule)->balance(&subject->rule, with, tick_at(&subject->rule, subject->now_ns)).waits;
    weir_decision decision = ask(subject, with, subject->now_ns, cost, 0);
    if (waits || !weir_allowed(decision) || subject->rule.flags & SLIDING_LOG_COUNTS_REFUSED) return;
    ask(subject, without, subject->now_ns, used, 0);
    decide_settle(rules_of(subject), with, subject->now_ns, &decision, &cost, &used, NULL);
    for (uint64_t more = 0; more <= subject->rule.burst; more++) {
        uint64_t copy[STATE_MAX];
        memcpy(copy, with, sizeof copy);
        const weir_decision given_back = ask(subject, copy, subject->now_ns, more, 0);
        memcpy(copy, without, sizeof copy);
        const weir_decision never_taken = ask(subject, copy, subject->now_ns, more, 0);
        prop_check(prop, given_back.verdict == never_taken.verdict && given_back.retry_ns == never_taken.retry_ns,
                   "%" PRIu64 " of %" PRIu64 " used: %" PRIu64 " more in %" PRIu64 " ns, not %" PRIu64, used, cost,
                   more, given_back.retry_ns, never_taken.retry_ns);
    }
}

static void remember(struct subject *subject, struct call *call, const weir_decision *decision, uint64_t cost)
{
    const struct rule *rule = &subject->rule;
    call->decision = *decision;
    call->start_ns = subject->now_ns + decision->delay_ns;
    call->cost = cost;
    call->count = rule->burst;
    call->span_ns = span_of(rule);
    call->gap_ns = rule->gap_ns;
    call->generation = rule->generation;
    undo_end(rules_of(subject), subject->state, &call->undo);
}

static void take(struct prop *prop, struct subject *subject)
{
    static const uint64_t turns[] = {0, 0, 1, 100};
    const bool single = subject->way == CHANGED || prop_pick(prop, 2) == 0;
    const uint64_t cost = single ? 1 : prop_pick(prop, subject->rule.burst + 2);
    const uint64_t wait_ns = span_of(&subject->rule) * turns[prop_pick(prop, sizeof turns / sizeof *turns)];
    check_retry(prop, subject, cost);
    if (!subject->goes_back && prop_chance(prop, 8)) check_given_back(prop, subject, cost);
    struct call *call = &subject->call[subject->calls];
    *call = (struct call){0};
    undo_begin(rules_of(subject), subject->state, &cost, &call->undo);
    const weir_decision decision = ask(subject, subject->state, subject->now_ns, cost, wait_ns);
    prop_note(prop,
              "%" PRIu64 " ns: take %" PRIu64 ", wait up to %" PRIu64 ": verdict %u, delay %" PRIu64 ", retry %" PRIu64,
              subject->now_ns, cost, wait_ns, decision.verdict, decision.delay_ns, decision.retry_ns);
    if (subject->exact) compare(prop, subject, &decision, cost, wait_ns);
    if (!weir_allowed(decision) || cost == 0) return;
    remember(subject, call, &decision, cost);
    subject->calls++;
}

/* ---- corrections and changes ---- */

static void charge_some(struct prop *prop, struct subject *subject)
{
    weir_decision decision;
    const uint64_t cost = prop_chance(prop, 6) ? prop_pick_size(prop, UINT64_C(1) << 20) : prop_pick(prop, 4);
    prop_note(prop, "%" PRIu64 " ns: charge %" PRIu64, subject->now_ns, cost);
    decide_charge(rules_of(subject), subject->state, subject->now_ns, &cost, &decision);
    prop_check(prop, decision.charged <= cost, "charged more than said");
}

static void settle_one(struct prop *prop, struct subject *subject)
{
    if (subject->calls == 0) return;
    struct call *call = &subject->call[prop_pick(prop, (uint64_t)subject->calls)];
    const uint64_t actual = prop_pick(prop, 2) == 0 ? 0 : prop_pick(prop, call->cost + 3);
    /* As a cell has it: under another rule nothing is given back. */
    if (call->settled || (actual < call->cost && call->generation != subject->rule.generation)) return;
    prop_note(prop, "%" PRIu64 " ns: settle the one of %" PRIu64 " from %" PRIu64 " to %" PRIu64, subject->now_ns,
              call->start_ns, call->cost, actual);
    decide_settle(rules_of(subject), subject->state, subject->now_ns, &call->decision, &call->cost, &actual, NULL);
    call->settled = true;
    call->cost = least(call->cost, actual);
}

/* In the list each one that waits is entered anew, when it passes first. */
static void move_in_list(struct prop *prop, struct subject *subject)
{
    int first = subject->entries;
    while (first > 0 && subject->entry[first - 1] > subject->now_ns) first--;
    const int waiting = subject->entries - first;
    subject->entries = first;
    for (int i = 0; i < waiting; i++) {
        const struct call *call = &subject->call[subject->calls - waiting + i];
        const uint64_t start_ns = passes_at(subject, 1);
        prop_check(prop, call->start_ns == start_ns, "the list starts it at %" PRIu64, start_ns);
        enter(subject, start_ns, 1);
    }
}

/* As a limiter does it: the last one first. */
static void take_waiters_out(struct subject *subject)
{
    for (int i = subject->calls - 1; i >= 0; i--) {
        struct call *call = &subject->call[i];
        if (call->start_ns <= subject->now_ns || call->settled || call->generation != subject->rule.generation)
            continue;
        call->out = true;
        undo_call(rules_of(subject), subject->state, subject->now_ns, &call->decision, &call->cost, &call->decision.end,
                  &call->undo);
    }
}

/* Behind the others, as they are decided after them. */
static void let_waiters_in(struct prop *prop, struct subject *subject)
{
    static struct call waiting[CALLS_MAX];
    int waits = 0, stay = 0;
    for (int i = 0; i < subject->calls; i++) {
        if (subject->call[i].out) waiting[waits++] = subject->call[i];
        else subject->call[stay++] = subject->call[i];
    }
    for (int i = 0; i < waits; i++) {
        struct call *call = &subject->call[stay + i];
        *call = waiting[i];
        call->out = false;
        undo_begin(rules_of(subject), subject->state, &call->cost, &call->undo);
        const weir_decision decision = ask(subject, subject->state, subject->now_ns, call->cost, WEIR_FOREVER);
        if (decision.verdict == WEIR_ALLOW) remember(subject, call, &decision, call->cost);
        else call->cost = 0; /* it is too large, or has to come again */
        prop_note(prop, "  one of %" PRIu64 " starts at %" PRIu64 " now", call->cost, call->start_ns);
    }
}

/* RESET forgets what has started, and of what is promised no more than the log has entries. */
static void forget(struct subject *subject, weir_carry how)
{
    uint64_t promised = 0;
    for (int i = 0; i < subject->calls; i++) {
        const struct call *call = &subject->call[i];
        if (!call->out && !call->forgotten && call->start_ns > subject->now_ns) promised += call->cost;
    }
    subject->overfull = promised > subject->rule.burst || (subject->overfull && promised != 0);
    for (int i = 0; i < subject->calls && how == WEIR_RESET; i++) {
        struct call *call = &subject->call[i];
        if (!call->out && (call->start_ns <= subject->now_ns || subject->overfull)) call->forgotten = true;
    }
}

static void change(struct prop *prop, struct subject *subject)
{
    const struct algorithm *algorithm = algorithm_of(&subject->rule);
    const weir_carry how = subject->exact ? WEIR_KEEP : (weir_carry)prop_pick(prop, 3);
    const struct rule from = subject->rule;
    take_waiters_out(subject);
    subject->rule = prop_chance(prop, 4) ? from : pick_rule(prop, from.generation + 1, subject->now_ns);
    if (subject->exact) make_simple(&subject->rule, from.burst);
    /* 4 and 6 bytes are enough for the period that they were made for; what fell behind is known less well after. */
    subject->brief_ns = least(subject->brief_ns, stamps_reach_ns(&from) / 2);
    if (span_of(&subject->rule) > subject->brief_ns) subject->exact = false;
    subject->rule.generation = from.generation + 1;
    uint64_t next[STATE_MAX] = {0};
    const uint64_t now = tick_at(&from, subject->now_ns);
    prop_note(prop, "%" PRIu64 " ns: changed, %d", subject->now_ns, (int)how);
    algorithm->carry(&from, &subject->rule, subject->state, next, now, how);
    memcpy(subject->state, next, sizeof next);
    forget(subject, how);
    let_waiters_in(prop, subject);
    if (subject->exact) move_in_list(prop, subject);
}

/* ---- any words ---- */

/* Whatever the state holds, there is an answer, and soon. */
static void use_garbage(struct prop *prop, struct subject *subject)
{
    const struct algorithm *algorithm = algorithm_of(&subject->rule);
    weir_decision decision;
    uint64_t next[STATE_MAX] = {0};
    for (uint64_t i = prop_pick(prop, STATE_MAX); i > 0; i--) {
        const uint64_t value =
            prop_pick(prop, 3) == 0 ? UINT64_MAX - prop_pick(prop, 3) : prop_pick_size(prop, UINT64_MAX);
        subject->state[prop_pick(prop, STATE_MAX)] = value;
    }
    const uint64_t cost = prop_pick_size(prop, UINT64_MAX), actual = prop_pick_size(prop, UINT64_MAX);
    decision = ask(subject, subject->state, prop_pick_size(prop, UINT64_MAX), cost, prop_pick_size(prop, UINT64_MAX));
    prop_check(prop, decision.verdict >= WEIR_ALLOW && decision.verdict <= WEIR_NEVER, "verdict %u", decision.verdict);
    decision.start.ns = prop_pick_size(prop, UINT64_MAX);
    decide_settle(rules_of(subject), subject->state, prop_pick_size(prop, UINT64_MAX), &decision, &cost, &actual, NULL);
    decide_charge(rules_of(subject), subject->state, prop_pick_size(prop, UINT64_MAX), &cost, &decision);
    const struct rule from = subject->rule;
    subject->rule = pick_rule(prop, 1, prop_pick_size(prop, UINT64_MAX));
    algorithm->carry(&from, &subject->rule, subject->state, next, cost, (weir_carry)prop_pick(prop, 3));
    memcpy(subject->state, next, sizeof next);
}

/* ---- what must hold ---- */

static void check_call(struct prop *prop, const struct subject *subject, int which)
{
    const struct call *call = &subject->call[which];
    uint64_t within = 0;
    for (int i = 0; i <= which && call->cost != 0; i++) {
        const struct call *earlier = &subject->call[i];
        if (earlier->cost == 0 || earlier->forgotten) continue;
        const bool before = earlier->start_ns + call->span_ns <= call->start_ns;
        const bool after = call->start_ns + call->span_ns <= earlier->start_ns; /* promised, and passed by */
        if (!before && !after) within += earlier->cost;
        const bool apart = i == which || earlier->start_ns + call->gap_ns <= call->start_ns;
        prop_check(prop, apart || call->gap_ns == 0,
                   "calls at %" PRIu64 " and %" PRIu64 " are not a gap of %" PRIu64 " apart", earlier->start_ns,
                   call->start_ns, call->gap_ns);
    }
    prop_check(prop, within <= call->count,
               "%" PRIu64 " permits within %" PRIu64 " of %" PRIu64 ", where %" PRIu64 " may", within, call->span_ns,
               call->start_ns, call->count);
}

static uint64_t pick_pause(struct prop *prop, const struct subject *subject)
{
    const uint64_t span_ns = span_of(&subject->rule);
    switch (prop_pick(prop, 8)) {
    case 0:
    case 1:
    case 2:
        return 0;
    case 3:
        return prop_pick(prop, span_ns / subject->rule.burst + 1);
    case 4:
        return span_ns - prop_pick(prop, 2);
    case 5:
        return subject->rule.gap_ns;
    case 6:
        return prop_pick(prop, span_ns * 2);
    default:
        return prop_pick(prop, 4) != 0 ? 1 : prop_pick_size(prop, UINT64_C(1) << 56);
    }
}

/* Brief stamps know an entry by its distance to the newest; a clock that goes back further makes them refuse more. */
static void move_clock(struct prop *prop, struct subject *subject)
{
    const uint64_t pause_ns = pick_pause(prop, subject);
    if (!subject->goes_back || !prop_chance(prop, 5)) {
        subject->now_ns += pause_ns;
        subject->latest_ns = most(subject->latest_ns, subject->now_ns);
        return;
    }
    const uint64_t least_ns = subtract_to_zero(subject->latest_ns, stamps_reach_ns(&subject->rule) / 2);
    subject->now_ns = most(subtract_to_zero(subject->now_ns, pause_ns), least_ns);
}

static void step(struct prop *prop, struct subject *subject)
{
    if (subject->way == GARBAGE) {
        use_garbage(prop, subject);
        return;
    }
    move_clock(prop, subject);
    const uint64_t what = prop_pick(prop, 12);
    const bool corrected = subject->way >= CORRECTED;
    if (what == 11 && (subject->way == CHANGED || subject->way == CORRECTED_AND_CHANGED)) change(prop, subject);
    else if (what == 10 && corrected && prop_chance(prop, 2)) charge_some(prop, subject);
    else if (what >= 8 && corrected) settle_one(prop, subject);
    else take(prop, subject);
}

static void sliding_log_property(struct prop *prop)
{
    static struct subject subject;
    memset(&subject, 0, offsetof(struct subject, call));
    subject.calls = subject.entries = 0;
    subject.way = (enum way)prop_pick(prop, WAYS);
    subject.exact = subject.way < CORRECTED;
    subject.goes_back = subject.way == CLOCK_BACK;
    subject.now_ns = prop_pick(prop, 2) == 0 ? 0 : prop_pick_size(prop, UINT64_C(1) << 58);
    subject.brief_ns = UINT64_MAX;
    subject.rule = pick_rule(prop, 0, subject.now_ns);
    if (subject.way == CHANGED) make_simple(&subject.rule, COUNT_MAX);
    while (prop_more(prop, STEPS_MEAN) && subject.calls < CALLS_MAX && subject.now_ns >> 62 == 0 &&
           subject.entries < ENTRIES_MAX - COUNT_MAX) {
        prop_step(prop);
        step(prop, &subject);
    }
    for (int i = 0; i < subject.calls && !subject.goes_back; i++) check_call(prop, &subject, i);
}

PROPERTY("sliding_log", sliding_log_property, 40000);
