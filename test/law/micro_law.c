/* SPDX-License-Identifier: MIT
   micro_law.c - the engine's unit against the exact core: the same calls at whole us get the same answers.

   Verdict, limit, remaining and retry, the core's rounded up to a us; and when a granted one is full again.  Also
   after a settle, where the core knows no more of a slot than its start.

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
#include "law/micro_rig.h"
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
    struct booked taken[TAKES];
    int takes;
    bool settles; /* no limit of it is one of those that are not settled here */
};

static int write_window(struct law *law, struct subject *subject, char *text, size_t size, uint64_t period,
                        const char *kind)
{
    const char *option = "";
    char gap[40] = "";
    switch (law_pick(law, 4)) {
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
                 1 + law_pick(law, period * US_NS * 2));
        break;
    default:
        break;
    }
    if (strcmp(kind, "sliding-log") == 0 && strcmp(option, " count-refused") == 0) subject->settles = false;
    return snprintf(text, size, "%" PRIu64 "/%" PRIu64 "us algorithm=%s%s%s", 1 + law_pick(law, COUNT_MOST), period,
                    kind, option, gap);
}

static int write_limit(struct law *law, struct subject *subject, char *text, size_t size)
{
    static const char *const windows[] = {"fixed-window", "sliding-window", "sliding-log"};
    const uint64_t period = periods[law_pick(law, sizeof periods / sizeof *periods)], kind = law_pick(law, 8);
    subject->period = period;
    if (kind < 2) {
        subject->settles = false;
        return snprintf(text, size, "%" PRIu64 "/%" PRIu64 "us burst=%" PRIu64, 1 + law_pick(law, RATE_MOST), period,
                        1 + law_pick(law, COUNT_MOST));
    }
    if (kind < 4) {
        static const char *const delays[] = {" nodelay", "", " delay=2"};
        return snprintf(text, size, "%" PRIu64 "/%" PRIu64 "us algorithm=leaky burst=%" PRIu64 "%s",
                        1 + law_pick(law, RATE_MOST), period, 1 + law_pick(law, COUNT_MOST), delays[law_pick(law, 3)]);
    }
    if (kind == 7) return snprintf(text, size, "%s", law_chance(law, 4) ? "none" : "unlimited");
    return write_window(law, subject, text, size, period, windows[kind - 4]);
}

static void pick_subject(struct law *law, struct subject *subject)
{
    char text[LAW_TEXT_SIZE];
    subject->settles = true;
    int length = write_limit(law, subject, text, sizeof text);
    for (uint64_t more = law_chance(law, 3) ? law_pick(law, LIMITS_MAX) : 0; more > 0; more--) {
        length += snprintf(text + length, sizeof text - (size_t)length, "; ");
        length += write_limit(law, subject, text + length, sizeof text - (size_t)length);
    }
    law_note(law, "plan \"%s\"", text);
    law_check(law, rig_open(&subject->rig, text), "an engine does not keep it");
    law_check(law, weir_state_size(&subject->rig.plan) <= sizeof subject->core, "the core's state is larger");
    memset(subject->core, 0, sizeof subject->core);
    subject->now = first_now[law_pick(law, 3)];
}

static uint64_t us_ceil(uint64_t ns)
{
    return ns == WEIR_FOREVER ? MICRO_ALL : ns / US_NS + (ns % US_NS != 0);
}

static void step_time(struct law *law, struct subject *subject)
{
    switch (law_pick(law, 6)) {
    case 0:
    case 1:
        return;
    case 2:
        subject->now += 1 + law_pick(law, 3);
        return;
    case 3:
        subject->now += subject->period - (subject->now + law_pick(law, 3)) % subject->period;
        return;
    case 4:
        subject->now += law_pick(law, 2 * subject->period + 1);
        return;
    default:
        subject->now += law_pick_size(law, 100 * subject->period);
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
    decide((struct rules){&rules.rule[limit], 1}, copy + words_before(rules, (int)limit), &question, NULL, &decision);
    return us_ceil(decision.retry_ns);
}

/* Which of two is the longer wait may be told by ns alone. */
static bool same_limit(const struct subject *subject, const struct micro_ask *ask, const weir_decision *core,
                       const struct micro_answer *micro)
{
    if (micro->limit == core->limit) return true;
    return core->verdict == WEIR_DENY && alone(subject, ask, core->limit) == alone(subject, ask, micro->limit);
}

static void compare(struct law *law, const struct subject *subject, const struct micro_ask *ask,
                    const weir_decision *core, const struct micro_answer *micro)
{
    const uint64_t remaining = core->remaining == UINT64_MAX ? MICRO_ALL : core->remaining;
    law_check(law, micro->verdict == core->verdict, "verdict %d, the core's %u", micro->verdict, core->verdict);
    law_check(law, micro->retry == us_ceil(core->retry_ns), "retry %" PRIu64 " us, the core's %" PRIu64 " ns",
              micro->retry, core->retry_ns);
    law_check(law, same_limit(subject, ask, core, micro), "limit %" PRIu64 ", the core's %u", micro->limit,
              core->limit);
    law_check(law, micro->remaining == remaining, "%" PRIu64 " remain, in the core %" PRIu64, micro->remaining,
              core->remaining);
    const uint64_t full = us_ceil(weir_decide_full_ns(&subject->rig.plan, core));
    law_check(law, !same_full(subject, ask, micro) || micro->full == full,
              "full in %" PRIu64 ", the core's in %" PRIu64, micro->full, full);
}

static void take(struct law *law, struct subject *subject)
{
    struct booked taken = {.now = subject->now};
    struct micro_ask ask = {.now = subject->now, .peek = law_chance(law, 6)};
    for (unsigned i = 0; i < subject->rig.micro.count; i++) {
        taken.cost[i] = ask.cost[i] = law_pick(law, 3) == 0 ? law_pick(law, COUNT_MOST + 2) : 1;
    }
    const struct question question = {subject->now * US_NS, 0, taken.cost, ask.peek};
    decide(plan_rules(plan_inside_const(&subject->rig.plan)), subject->core, &question, taken.end, &taken.decision);
    law_note(law, "%" PRIu64 ": %s %" PRIu64 " %" PRIu64 " %" PRIu64 ": verdict %u", subject->now,
             ask.peek ? "peek" : "take", ask.cost[0], ask.cost[1], ask.cost[2], taken.decision.verdict);
    const struct micro_answer answer = rig_take(law, &subject->rig, &ask);
    compare(law, subject, &ask, &taken.decision, &answer);
    if (answer.verdict == WEIR_ALLOW && !ask.peek) subject->taken[subject->takes++ % TAKES] = taken;
}

/* Of one that was not settled yet. */
static void settle_one(struct law *law, struct subject *subject)
{
    const int known = subject->takes < TAKES ? subject->takes : TAKES;
    if (!subject->settles || known == 0) return;
    struct booked *taken = &subject->taken[law_pick(law, (uint64_t)known)];
    uint64_t actual[WEIR_LIMITS_MAX];
    for (unsigned i = 0; i < subject->rig.micro.count; i++) actual[i] = law_pick(law, taken->cost[i] + 1);
    law_note(law, "%" PRIu64 ": settles that of %" PRIu64 " to %" PRIu64, subject->now, taken->now, actual[0]);
    settle(plan_rules(plan_inside_const(&subject->rig.plan)), subject->core, subject->now * US_NS, &taken->decision,
           taken->cost, actual, taken->end);
    rig_settle(law, &subject->rig, subject->now, taken->now, taken->cost, actual);
    memcpy(taken->cost, actual, sizeof actual);
    subject->takes = 0; /* once each */
}

static void property(struct law *law)
{
    struct subject subject = {.takes = 0};
    pick_subject(law, &subject);
    while (law_more(law, STEPS_MEAN)) {
        step_time(law, &subject);
        if (law_chance(law, 5)) settle_one(law, &subject);
        else take(law, &subject);
        law_step(law);
    }
}

LAW("micro", property, 20000);
