/* SPDX-License-Identifier: MIT
   A hybrid of an engine against its two lines, in signed numbers that hold them (hybrid.c).

   Calls that may wait, charges, settles and changes of the rule; what each is told, and when all is back.  Nothing here
   comes near the caps: unit/micro has those. */
#include <inttypes.h>
#include <stdio.h>

#include "core/num.h"
#include "property/micro_rig.h"
#include "wide.h"

enum { STEPS_MEAN = 40, BURST_MAX = 12, DEBT_MAX = 6, MANY = 30 };

struct lines {
    int64_t lag, level;
};

struct subject {
    struct rig rig;
    bool fresh;
    uint64_t now, taken, charged; /* charged: 0: there is nothing to settle */
    struct lines lines;           /* at this time */
};

static void pick_rule(struct prop *prop, struct rig *rig)
{
    static const char *const starts[] = {"", " start=full"}, *const catchups[] = {"", " catchup=1.5", " catchup=3"};
    const struct value value = rig->value[0];
    const uint64_t burst = 1 + prop_pick(prop, BURST_MAX), debt = prop_pick(prop, DEBT_MAX);
    char text[PROP_TEXT_SIZE], owes[24] = "";
    if (prop_chance(prop, 2)) snprintf(owes, sizeof owes, " debt=%" PRIu64, debt + 1);
    snprintf(text, sizeof text, "%" PRIu64 "/s algorithm=hybrid burst=%" PRIu64 "%s%s%s", 1 + prop_pick(prop, 50),
             burst, catchups[prop_pick(prop, 3)], owes, starts[prop_pick(prop, 2)]);
    prop_check(prop, rig_open(rig, text), "an engine does not keep %s", text);
    rig->value[0] = value;
    prop_note(prop, "%s", text);
}

/* ---- the oracle ---- */

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t at_least(int64_t a, int64_t b)
{
    return a < b ? b : a;
}

static uint64_t ceil_time(int64_t ticks, uint64_t per)
{
    return ticks <= 0 ? 0 : ((uint64_t)ticks + per - 1) / per;
}

static void go_to(struct subject *subject, uint64_t now)
{
    const struct micro_rule *rule = &subject->rig.micro.rule[0];
    const int64_t elapsed = (int64_t)(now - subject->now);
    subject->lines.lag += elapsed * (int64_t)rule->per;
    subject->lines.level = at_least(subject->lines.level - elapsed * (int64_t)rule->per_fast, 0);
    subject->now = now;
}

static struct lines lines_for(const struct subject *subject, int64_t need)
{
    const struct micro_rule *rule = &subject->rig.micro.rule[0];
    const int64_t lag = rule->flags & MICRO_STARTS_FULL ? (int64_t)rule->top : need;
    return subject->fresh ? (struct lines){lag, 0} : subject->lines;
}

static void move(struct subject *subject, int64_t need, int64_t ticks)
{
    const struct lines lines = lines_for(subject, need);
    subject->lines = (struct lines){lines.lag - ticks, lines.level + ticks};
    subject->fresh = false;
}

static uint64_t oracle_remaining(const struct subject *subject)
{
    const struct micro_rule *rule = &subject->rig.micro.rule[0];
    const struct lines lines = lines_for(subject, (int64_t)rule->permit);
    const int64_t room = at_most(lines.lag, (int64_t)rule->top - lines.level);
    return room < 0 ? 0 : (uint64_t)room / rule->permit;
}

static uint64_t oracle_full(const struct subject *subject)
{
    const struct micro_rule *rule = &subject->rig.micro.rule[0];
    const uint64_t by_lag = ceil_time((int64_t)rule->top - subject->lines.lag, rule->per);
    return subject->fresh ? 0 : most(by_lag, ceil_time(subject->lines.level, rule->per_fast));
}

/* a * b / c, away from 0 if up. */
static int64_t share(int64_t a, uint64_t b, uint64_t c, bool up)
{
    const wide_unsigned product = (wide_unsigned)(uint64_t)a * b;
    return (int64_t)wide_divide(product + (up ? c - 1 : 0), c, NULL);
}

/* As many permits are unspent, or owed; of the level what is above the old burst stays on top of the new one. */
static void oracle_changes(struct subject *subject, const struct micro_rule *was, const struct micro_rule *is)
{
    struct lines *lines = &subject->lines;
    if (subject->fresh || (was->permit == is->permit && was->fits == is->fits)) return;
    lines->lag = lines->lag < 0 ? -share(-lines->lag, is->permit, was->permit, true)
                                : share(lines->lag, is->permit, was->permit, false);
    const int64_t used = at_most(lines->level, (int64_t)(was->fits * was->permit));
    lines->level = at_most(share(used, is->permit, was->permit, true), (int64_t)is->top) +
                   share(lines->level - used, is->permit, was->permit, true);
}

/* ---- what happens ---- */

static void check(struct prop *prop, const struct subject *subject, const struct micro_answer *answer)
{
    const uint64_t full = oracle_full(subject), remaining = oracle_remaining(subject);
    prop_check(prop, answer->remaining == remaining, "%" PRIu64 " remain, not %" PRIu64, answer->remaining, remaining);
    prop_check(prop, answer->full == most(full, answer->retry), "full in %" PRIu64 ", not %" PRIu64, answer->full,
               full);
    prop_check(prop, answer->idle == subject->now + full, "idle in %" PRIu64, answer->idle - subject->now);
}

static void take(struct prop *prop, struct subject *subject)
{
    const struct micro_rule *rule = &subject->rig.micro.rule[0];
    const uint64_t cost = prop_chance(prop, 2) ? 1 : prop_pick(prop, MANY);
    const struct micro_ask ask = {.now = subject->now,
                                  .cost = {cost},
                                  .wait = prop_chance(prop, 2) ? 0 : prop_pick(prop, 3000000),
                                  .peek = prop_chance(prop, 6)};
    const int64_t ticks = (int64_t)(cost * rule->permit), need = at_most(ticks, (int64_t)rule->top);
    const struct lines lines = lines_for(subject, need);
    const uint64_t delay = most(ceil_time(need - lines.lag, rule->per),
                                ceil_time(lines.level + need - (int64_t)rule->top, rule->per_fast));
    const bool was_fresh = subject->fresh;
    const struct micro_answer answer = rig_take(prop, &subject->rig, &ask);
    prop_note(prop, "%" PRIu64 ": %s %" PRIu64 " wait %" PRIu64 ": delay %" PRIu64, subject->now,
              ask.peek ? "peek" : "take", cost, ask.wait, delay);
    prop_check(prop, answer.verdict == (delay <= ask.wait ? WEIR_ALLOW : WEIR_DENY), "verdict %d", answer.verdict);
    prop_check(prop, answer.retry == subtract_to_zero(delay, ask.wait), "retry %" PRIu64, answer.retry);
    prop_check(prop, answer.changed == (delay <= ask.wait && cost != 0 && !ask.peek), "changed %d", answer.changed);
    if (answer.verdict == WEIR_ALLOW) prop_check(prop, answer.delay == delay, "delay %" PRIu64, answer.delay);
    if (answer.changed) {
        move(subject, need, ticks);
        subject->taken = answer.taken;
        subject->charged = cost;
    }
    prop_check(prop, !was_fresh || answer.verdict == WEIR_ALLOW, "a fresh one refuses");
    if (!ask.peek) check(prop, subject, &answer);
}

static void charge(struct prop *prop, struct subject *subject)
{
    const struct micro_rule *rule = &subject->rig.micro.rule[0];
    const uint64_t cost = prop_pick(prop, MANY);
    const int64_t wanted = (int64_t)(cost * rule->permit), need = at_most(wanted, (int64_t)rule->top);
    const struct lines lines = lines_for(subject, need);
    const int64_t by_lag = at_least(lines.lag + (int64_t)rule->debt, 0);
    const int64_t by_level = at_least((int64_t)(rule->top + rule->debt) - lines.level, 0);
    const int64_t ticks = at_most(wanted, at_most(by_lag, by_level));
    const struct micro_ask ask = {.now = subject->now, .cost = {cost}};
    const struct micro_answer answer = rig_charge(prop, &subject->rig, &ask);
    prop_note(prop, "%" PRIu64 ": charge %" PRIu64, subject->now, cost);
    if (cost != 0) move(subject, need, ticks);
    check(prop, subject, &answer);
}

static void settle(struct prop *prop, struct subject *subject)
{
    const struct micro_rule *rule = &subject->rig.micro.rule[0];
    if (subject->charged == 0 || subject->taken > subject->now) return;
    const uint64_t charged = subject->charged, actual = prop_pick(prop, charged + 1);
    const struct lines lines = subject->lines;
    const struct micro_answer answer = rig_settle(prop, &subject->rig, subject->now, subject->taken, &charged, &actual);
    prop_note(prop, "%" PRIu64 ": settle %" PRIu64 " to %" PRIu64, subject->now, charged, actual);
    const int64_t gone = (int64_t)((subject->now - subject->taken) * rule->per_fast);
    const int64_t left = at_least((int64_t)(charged * rule->permit) - gone, 0);
    const int64_t ticks = at_most(left, (int64_t)((charged - actual) * rule->permit));
    if (lines.level <= (int64_t)rule->top && lines.lag >= 0) {
        subject->lines.lag += ticks;
        subject->lines.level = at_least(lines.level - ticks, 0);
    }
    subject->charged = 0;
    check(prop, subject, &answer);
}

/* The next call finds a key that was written under the rule before; that is as if it had changed as it was written. */
static void change(struct prop *prop, struct subject *subject)
{
    const struct micro_rule was = subject->rig.micro.rule[0];
    rig_charge(prop, &subject->rig, &(struct micro_ask){.now = subject->now, .cost = {subject->fresh ? 0 : 1}});
    if (!subject->fresh) {
        const struct lines lines = subject->lines;
        const int64_t by_lag = at_least(lines.lag + (int64_t)was.debt, 0);
        const int64_t by_level = at_least((int64_t)(was.top + was.debt) - lines.level, 0);
        move(subject, 0, at_most((int64_t)was.permit, at_most(by_lag, by_level)));
    }
    pick_rule(prop, &subject->rig);
    oracle_changes(subject, &was, &subject->rig.micro.rule[0]);
    subject->charged = 0;
}

static void step_time(struct prop *prop, struct subject *subject)
{
    static const uint64_t steps[] = {0, 1, 1000, 100000, 1000000, 60000000};
    go_to(subject, subject->now + prop_pick(prop, steps[prop_pick(prop, 6)] + 1));
}

static void property(struct prop *prop)
{
    struct subject subject = {.fresh = true, .now = UINT64_C(1763836800123456)};
    rig_forget(&subject.rig);
    pick_rule(prop, &subject.rig);
    while (prop_more(prop, STEPS_MEAN)) {
        if (!prop_chance(prop, 3)) step_time(prop, &subject);
        const uint64_t which = prop_pick(prop, 10);
        if (which == 0) change(prop, &subject);
        else if (which == 1) charge(prop, &subject);
        else if (which < 4) settle(prop, &subject);
        else take(prop, &subject);
        prop_step(prop);
    }
}

PROPERTY("micro_hybrid", property, 10000);
