/* SPDX-License-Identifier: MIT
   A limit that changes while calls wait: each is told the start that it would have, had nothing but what
   has started been used when the change came, and had all who wait asked anew then, one after the other.

   oracle    the state at the last change and all calls since, with the times at which they asked: at a change those
             that have started are decided again from that state, by the core, and then those that wait by the new
             limits
   promised  with reservations among them, whose starts stay, no more has started by any time than the largest burst and
             the fastest rate allow since the beginning */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "property/property.h"
#include "plan/plan.h"
#include "unit/standing.h"

enum {
    STEPS_MEAN = 30,
    CALLS_MAX = 400,
    TEXT_SIZE = 160,
    STATE_MAX = 512,
    COST_MAX = 3,
    RATE_MAX = 200,
    BURST_MAX = 12
};
static const uint64_t MS = 1000000, SECOND = 1000000000;

/* How the limits of a run look, but for their rates and bursts. */
static const char *const forms[] = {
    "%u/s burst=%u algorithm=gcra",
    "%u/s burst=%u algorithm=gcra; %u/s burst=%u algorithm=gcra",
    "%u/s burst=%u algorithm=gcra; %u/s burst=%u algorithm=hybrid catchup=1.5",
    "%u/s burst=%u algorithm=hybrid",
    "%u/s burst=%u algorithm=bursty; %u/s burst=%u algorithm=gcra",
    "%u/s algorithm=sliding-log",
    "%u/s burst=%u algorithm=gcra; 5/s algorithm=sliding-log",
};
enum { FORMS = sizeof forms / sizeof forms[0] };

struct call {
    uint64_t now_ns, cost, start_ns;
    struct waiter *waiter; /* NULL: it has passed, or was promised */
};

struct subject {
    struct prop *prop;
    weir_limiter *limiter;
    const char *form;
    bool promises;
    uint64_t now_ns;
    struct plan plan; /* as in force, its clocks set */
    uint64_t state[STATE_MAX];
    struct call call[CALLS_MAX];
    int calls;
    uint64_t started[CALLS_MAX], permits[CALLS_MAX]; /* of calls before the last change */
    int starts;
};

/* Waiters of all runs: those of the last one are gone. */
static struct waiter waiters[CALLS_MAX];

static void set_now(struct subject *subject, uint64_t now_ns)
{
    subject->now_ns = now_ns;
    weir_manual_set(subject->limiter, (weir_instant){now_ns});
}

static void pick_text(struct subject *subject, char text[TEXT_SIZE])
{
    unsigned number[4];
    for (int i = 0; i < 4; i += 2) {
        number[i] = 1 + (unsigned)prop_pick(subject->prop, prop_chance(subject->prop, 2) ? 10 : RATE_MAX);
        number[i + 1] = COST_MAX + (unsigned)prop_pick(subject->prop, BURST_MAX - COST_MAX + 1);
    }
    /* A log has a rate alone: the burst that follows it is not read. */
    if (strncmp(subject->form, "%u/s algorithm", 14) == 0) number[0] = (unsigned)most(number[0], COST_MAX);
    snprintf(text, TEXT_SIZE, subject->form, number[0], number[1], number[2], number[3]);
}

static void use_plan(struct subject *subject, const char *text)
{
    weir_plan plan;
    prop_check(subject->prop, weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) == 0, "\"%s\" is refused", text);
    subject->plan = *plan_inside(&plan);
    for (uint64_t i = 0; i < subject->plan.count; i++) {
        subject->plan.rule[i].anchor_ns = subject->now_ns;
        subject->plan.rule[i].anchor_tick = 1;
        /* A log alone remembers more than its count. */
        if (log_fits(&subject->plan.rule[i]) && subject->plan.count == 1) subject->plan.rule[i].fourth = CALLS_MAX;
    }
    prop_check(subject->prop, decide_words_before(plan_rules(&subject->plan), (int)subject->plan.count) <= STATE_MAX,
               "too large");
}

static uint64_t decided(struct subject *subject, uint64_t now_ns, uint64_t cost)
{
    const uint64_t each[WEIR_LIMITS_MAX] = {cost, cost, cost, cost, cost, cost, cost, cost};
    const struct question question = {now_ns, WEIR_FOREVER, each, false};
    weir_decision decision;
    decide(plan_rules(&subject->plan), subject->state, &question, NULL, &decision);
    return decision.verdict == WEIR_ALLOW ? decision.start.ns : WEIR_FOREVER;
}

static void carry_all(struct subject *subject, const struct plan *from, const uint64_t *state, weir_carry how)
{
    uint64_t *next = subject->state;
    for (uint64_t i = 0; i < from->count; i++) {
        const struct rule *rule = &from->rule[i];
        const struct algorithm *algorithm = algorithm_of(rule);
        algorithm->carry(rule, &subject->plan.rule[i], state, next, tick_at(rule, subject->now_ns), how);
        state += state_words(rule, algorithm);
        next += state_words(&subject->plan.rule[i], algorithm);
    }
}

/* ---- what happens ---- */

static void note_start(struct subject *subject, const struct call *call)
{
    subject->started[subject->starts] = call->start_ns;
    subject->permits[subject->starts++] = call->cost;
}

static void check_bound(const struct subject *subject)
{
    for (int i = 0; i < subject->starts; i++) {
        uint64_t sum = 0;
        for (int j = 0; j < subject->starts; j++)
            sum += subject->started[j] <= subject->started[i] ? subject->permits[j] : 0;
        const uint64_t may = BURST_MAX + RATE_MAX * (subject->started[i] - SECOND) / SECOND + 1;
        prop_check(subject->prop, sum <= may, "%" PRIu64 " by %" PRIu64 ", where %" PRIu64 " may", sum,
                   subject->started[i], may);
    }
}

static void change_limit(struct subject *subject)
{
    static uint64_t before[STATE_MAX];
    static struct call waiting[CALLS_MAX];
    const weir_carry how = subject->promises ? WEIR_SCALE : (weir_carry)prop_pick(subject->prop, 3);
    char text[TEXT_SIZE];
    int waits = 0;
    for (int i = 0; i < subject->calls; i++) {
        const struct call *call = &subject->call[i];
        if (call->waiter != NULL && call->start_ns > subject->now_ns) waiting[waits++] = *call;
        else if (!subject->promises) decided(subject, call->now_ns, call->cost);
        if (call->waiter == NULL || call->start_ns <= subject->now_ns) note_start(subject, call);
    }
    const struct plan from = subject->plan;
    memcpy(before, subject->state, sizeof before);
    memset(subject->state, 0, sizeof subject->state);
    pick_text(subject, text);
    prop_note(subject->prop, "%" PRIu64 " ns: \"%s\", %d, %d wait", subject->now_ns, text, (int)how, waits);
    use_plan(subject, text);
    carry_all(subject, &from, before, how);
    memcpy(before, subject->state, sizeof before);
    prop_check(subject->prop, weir_set_limit(subject->limiter, text, how, NULL) == 0, "\"%s\" is refused", text);
    subject->calls = 0;
    for (int i = 0; i < waits; i++) {
        struct call *call = &subject->call[subject->calls++];
        *call = waiting[i];
        call->now_ns = subject->now_ns;
        call->start_ns = call->waiter->decision.start.ns;
        const uint64_t start_ns = subject->promises ? call->start_ns : decided(subject, call->now_ns, call->cost);
        prop_check(subject->prop, call->waiter->decision.verdict == WEIR_ALLOW && call->start_ns == start_ns,
                   "waiter %d starts at %" PRIu64 ", not %" PRIu64, i, call->start_ns, start_ns);
        const bool ordered = i == 0 || call->start_ns >= subject->call[i - 1].start_ns;
        prop_check(subject->prop, ordered, "waiter %d starts before the one before it", i);
    }
    memcpy(subject->state, before, sizeof before);
}

static void ask(struct subject *subject)
{
    struct call *call = &subject->call[subject->calls];
    *call = (struct call){.now_ns = subject->now_ns, .cost = 1 + prop_pick(subject->prop, COST_MAX)};
    weir_decision decision;
    const uint64_t what = prop_pick(subject->prop, 4);
    if (what == 0) decision = weir_take(subject->limiter, call->cost);
    else if (what == 1 && subject->promises) decision = weir_reserve(subject->limiter, call->cost, WEIR_FOREVER);
    else {
        call->waiter = &waiters[subject->calls + subject->starts];
        decision = stand(subject->limiter, call->waiter, call->cost);
    }
    if (!weir_allowed(decision)) return;
    call->start_ns = decision.start.ns;
    subject->calls++;
    prop_note(subject->prop, "%" PRIu64 " ns: %" PRIu64 " start at %" PRIu64 ", %s", subject->now_ns, call->cost,
              call->start_ns, call->waiter != NULL ? "waits" : "has it");
}

static void change_property(struct prop *prop)
{
    static struct subject subject;
    weir_options options = WEIR_OPTIONS;
    char text[TEXT_SIZE];
    options.clock = WEIR_CLOCK_MANUAL;
    memset(&subject, 0, sizeof subject);
    subject.prop = prop;
    subject.promises = prop_chance(prop, 4);
    subject.form = forms[subject.promises ? 0 : prop_pick(prop, FORMS)];
    pick_text(&subject, text);
    prop_note(prop, "\"%s\"", text);
    prop_check(prop, weir_open(&subject.limiter, text, &options, NULL) == 0, "\"%s\" is refused", text);
    set_now(&subject, SECOND);
    prop_check(prop, weir_set_limit(subject.limiter, text, WEIR_RESET, NULL) == 0, "\"%s\" is refused", text);
    use_plan(&subject, text);
    while (prop_more(prop, STEPS_MEAN) && subject.calls + subject.starts < CALLS_MAX - 1) {
        prop_step(prop);
        if (prop_chance(prop, 3))
            set_now(&subject, subject.now_ns + prop_pick(prop, prop_chance(prop, 2) ? MS : SECOND));
        if (prop_chance(prop, 8)) change_limit(&subject);
        else ask(&subject);
    }
    for (int i = 0; i < subject.calls; i++) note_start(&subject, &subject.call[i]);
    if (subject.promises) check_bound(&subject);
    weir_close(subject.limiter);
}

PROPERTY("change", change_property, 20000);
