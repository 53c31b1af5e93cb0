/* SPDX-License-Identifier: MIT
   The engine's unit against the exact core: the same calls at whole us get the same answers.

   Verdict, limit, remaining and retry, the core's rounded up to a us; and when a granted one is full again.  Also
   after a settle, where the core knows no more of a slot than its start; and where the engine has forgotten its keys,
   since they were idle, and the core has not.

   They agree because both are exact and the core's ns only cut a us finer, with what follows from how the core rounds:

     gcra            the core's ticks are half a ns to a ns long and each time is rounded down to one, so a permit may
                     pass up to a ns sooner.  Exact times of permits are multiples of 1 / p us, for a rate of p permits
                     in q us, reduced: for p up to RATE_MOST none is within a ns above a whole us, so no us is passed.
                     With larger p a retry may differ by a us.  A burst said as a time is rounded down to a tick in the
                     core, and settling rounds down once more, so those may be a us later there: neither is asked.
     leaky           both count whole ms
     windows, logs   ends lie at whole us; block, gap and edge=closed that do not are passed at the next us
     hybrid          is another outline of the pools in an engine (hybrid.c); micro_bound_law holds it to its own

   A log that counts refusals is not settled here: the core remembers when the last entry was pushed out of its ring,
   and an engine's set only what is in it; so there a call that is given back may make room that a refusal had filled.
   Nor is a window that blocks: only the core's decisions know its end, and without it nothing is given back to a block.

   Waits are not asked, nor clocks that go back: there the unit goes its own way. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/decide.h"
#include "property/micro_rig.h"
#include "plan/plan.h"

enum { STEPS_MEAN = 40, LIMITS_MAX = 3, RATE_MOST = 200, COUNT_MOST = 12, US_NS = 1000, TAKES = 16, STATE_MAX = 512 };

static const uint64_t first_now[] = {UINT64_C(1763836800123456), 1, UINT64_C(1763836800000000)};
static const uint64_t periods[] = {1000000, 1, 7, 1000, 60000000, 3600000000, 999999, 86400000000};

struct booked {
    weir_decision decision;
    uint64_t now, cost[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX];
};

struct subject {
    struct rig rig;
    uint64_t core[STATE_MAX];
    uint64_t now, period;
    uint64_t idle; /* from then on the engine may forget the keys */
    struct booked taken[TAKES];
    int takes;
    bool settles; /* no limit of it is one of those that are not settled here */
};

static int write_window(struct prop *prop, struct subject *subject, char *text, size_t size, uint64_t period,
                        const char *kind)
{
    const char *option = "";
    char gap[40] = "";
    switch (prop_pick(prop, 4)) {
    case 1:
        if (strcmp(kind, "sliding-window") != 0) option = " count-refused";
        break;
    case 2:
        option = strcmp(kind, "fixed-window") == 0  ? " align=clock"
                 : strcmp(kind, "sliding-log") == 0 ? " edge=closed"
                                                    : " debt=3";
        break;
    case 3:
        if (strcmp(kind, "sliding-window") == 0) break;
        if (strcmp(kind, "fixed-window") == 0) subject->settles = false;
        snprintf(gap, sizeof gap, " %s=%" PRIu64 "ns", strcmp(kind, "fixed-window") == 0 ? "block" : "gap",
                 1 + prop_pick(prop, period * US_NS * 2));
        break;
    default:
        break;
    }
    if (strcmp(kind, "sliding-log") == 0 && strcmp(option, " count-refused") == 0) subject->settles = false;
    return snprintf(text, size, "%" PRIu64 "/%" PRIu64 "us algorithm=%s%s%s", 1 + prop_pick(prop, COUNT_MOST), period,
                    kind, option, gap);
}

static int write_limit(struct prop *prop, struct subject *subject, char *text, size_t size)
{
    static const char *const windows[] = {"fixed-window", "sliding-window", "sliding-log"};
    const uint64_t period = periods[prop_pick(prop, sizeof periods / sizeof *periods)], kind = prop_pick(prop, 8);
    subject->period = period;
    if (kind < 2) {
        subject->settles = false;
        return snprintf(text, size, "%" PRIu64 "/%" PRIu64 "us burst=%" PRIu64, 1 + prop_pick(prop, RATE_MOST), period,
                        1 + prop_pick(prop, COUNT_MOST));
    }
    if (kind < 4) {
        static const char *const delays[] = {" nodelay", "", " delay=2"};
        return snprintf(text, size, "%" PRIu64 "/%" PRIu64 "us algorithm=leaky burst=%" PRIu64 "%s",
                        1 + prop_pick(prop, RATE_MOST), period, 1 + prop_pick(prop, COUNT_MOST),
                        delays[prop_pick(prop, 3)]);
    }
    if (kind == 7) return snprintf(text, size, "%s", prop_chance(prop, 4) ? "none" : "unlimited");
    return write_window(prop, subject, text, size, period, windows[kind - 4]);
}

static void pick_subject(struct prop *prop, struct subject *subject)
{
    char text[PROP_TEXT_SIZE];
    subject->settles = true;
    int length = write_limit(prop, subject, text, sizeof text);
    for (uint64_t more = prop_chance(prop, 3) ? prop_pick(prop, LIMITS_MAX) : 0; more > 0; more--) {
        length += snprintf(text + length, sizeof text - (size_t)length, "; ");
        length += write_limit(prop, subject, text + length, sizeof text - (size_t)length);
    }
    prop_note(prop, "plan \"%s\"", text);
    prop_check(prop, rig_open(&subject->rig, text), "an engine does not keep it");
    prop_check(prop, weir_state_size(&subject->rig.plan) <= sizeof subject->core, "the core's state is larger");
    memset(subject->core, 0, sizeof subject->core);
    subject->now = first_now[prop_pick(prop, 3)];
}

static uint64_t us_ceil(uint64_t ns)
{
    return ns == WEIR_FOREVER ? MICRO_ALL : ns / US_NS + (ns % US_NS != 0);
}

static void step_time(struct prop *prop, struct subject *subject)
{
    switch (prop_pick(prop, 6)) {
    case 0:
    case 1:
        return;
    case 2:
        subject->now += 1 + prop_pick(prop, 3);
        return;
    case 3:
        subject->now += subject->period - (subject->now + prop_pick(prop, 3)) % subject->period;
        return;
    case 4:
        subject->now += prop_pick(prop, 2 * subject->period + 1);
        return;
    default:
        subject->now += prop_pick_size(prop, 100 * subject->period);
    }
}

/* Where nothing was taken the core says of a log how long an entry made now would stay, and of leaky a time that is
   rounded twice; the unit counts from the newest entry, and from when the level was known. */
static bool same_full(const struct subject *subject, const struct micro_ask *ask, const struct micro_answer *micro)
{
    const uint64_t kind = subject->rig.micro.rule[micro->limit].kind;
    const bool took = ask->cost[micro->limit] != 0 && !ask->peek;
    return micro->verdict == WEIR_ALLOW && (took || (kind != MICRO_LOG && kind != MICRO_LEAKY));
}

/* How long this limit refuses by itself. */
static uint64_t alone(const struct subject *subject, const struct micro_ask *ask, uint64_t limit)
{
    const struct rules rules = plan_rules(plan_inside_const(&subject->rig.plan));
    const struct question question = {subject->now * US_NS, 0, &ask->cost[limit], true};
    uint64_t copy[STATE_MAX];
    weir_decision decision;
    memcpy(copy, subject->core, sizeof copy);
    decide((struct rules){&rules.rule[limit], 1}, copy + decide_words_before(rules, (int)limit), &question, NULL,
           &decision);
    return us_ceil(decision.retry_ns);
}

/* Which of two is the longer wait may be told by ns alone. */
static bool same_limit(const struct subject *subject, const struct micro_ask *ask, const weir_decision *core,
                       const struct micro_answer *micro)
{
    if (micro->limit == core->limit) return true;
    return core->verdict == WEIR_DENY && alone(subject, ask, core->limit) == alone(subject, ask, micro->limit);
}

static void compare(struct prop *prop, const struct subject *subject, const struct micro_ask *ask,
                    const weir_decision *core, const struct micro_answer *micro)
{
    const uint64_t remaining = core->remaining == UINT64_MAX ? MICRO_ALL : core->remaining;
    prop_check(prop, micro->verdict == core->verdict, "verdict %d, the core's %u", micro->verdict, core->verdict);
    prop_check(prop, micro->retry == us_ceil(core->retry_ns), "retry %" PRIu64 " us, the core's %" PRIu64 " ns",
               micro->retry, core->retry_ns);
    prop_check(prop, same_limit(subject, ask, core, micro), "limit %" PRIu64 ", the core's %u", micro->limit,
               core->limit);
    prop_check(prop, micro->remaining == remaining, "%" PRIu64 " remain, in the core %" PRIu64, micro->remaining,
               core->remaining);
    const uint64_t full = us_ceil(weir_decide_full_ns(&subject->rig.plan, core));
    prop_check(prop, !same_full(subject, ask, micro) || micro->full == full,
               "full in %" PRIu64 ", the core's in %" PRIu64, micro->full, full);
}

static void take(struct prop *prop, struct subject *subject)
{
    struct booked taken = {.now = subject->now};
    struct micro_ask ask = {.now = subject->now, .peek = prop_chance(prop, 6)};
    for (unsigned i = 0; i < subject->rig.micro.count; i++) {
        taken.cost[i] = ask.cost[i] = prop_pick(prop, 3) == 0 ? prop_pick(prop, COUNT_MOST + 2) : 1;
    }
    const struct question question = {subject->now * US_NS, 0, taken.cost, ask.peek};
    decide(plan_rules(plan_inside_const(&subject->rig.plan)), subject->core, &question, taken.end, &taken.decision);
    prop_note(prop, "%" PRIu64 ": %s %" PRIu64 " %" PRIu64 " %" PRIu64 ": verdict %u", subject->now,
              ask.peek ? "peek" : "take", ask.cost[0], ask.cost[1], ask.cost[2], taken.decision.verdict);
    const struct micro_answer answer = rig_take(prop, &subject->rig, &ask);
    compare(prop, subject, &ask, &taken.decision, &answer);
    if (answer.changed) subject->idle = answer.idle;
    if (answer.verdict == WEIR_ALLOW && !ask.peek) subject->taken[subject->takes++ % TAKES] = taken;
}

/* Of one that was not settled yet. */
static void settle_one(struct prop *prop, struct subject *subject)
{
    const int known = subject->takes < TAKES ? subject->takes : TAKES;
    if (!subject->settles || known == 0) return;
    struct booked *taken = &subject->taken[prop_pick(prop, (uint64_t)known)];
    uint64_t actual[WEIR_LIMITS_MAX];
    for (unsigned i = 0; i < subject->rig.micro.count; i++) actual[i] = prop_pick(prop, taken->cost[i] + 1);
    prop_note(prop, "%" PRIu64 ": settles that of %" PRIu64 " to %" PRIu64, subject->now, taken->now, actual[0]);
    decide_settle(plan_rules(plan_inside_const(&subject->rig.plan)), subject->core, subject->now * US_NS,
                  &taken->decision, taken->cost, actual, taken->end);
    const struct micro_answer answer = rig_settle(prop, &subject->rig, subject->now, taken->now, taken->cost, actual);
    if (answer.changed) subject->idle = answer.idle;
    memcpy(taken->cost, actual, sizeof actual);
    subject->takes = 0; /* once each */
}

static void property(struct prop *prop)
{
    struct subject subject = {.takes = 0};
    pick_subject(prop, &subject);
    while (prop_more(prop, STEPS_MEAN)) {
        step_time(prop, &subject);
        if (subject.now >= subject.idle && prop_chance(prop, 2)) rig_forget(&subject.rig);
        if (prop_chance(prop, 5)) settle_one(prop, &subject);
        else take(prop, &subject);
        prop_step(prop);
    }
}

PROPERTY("micro", property, 20000);
