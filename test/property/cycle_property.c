/* SPDX-License-Identifier: MIT
   Cycle against a row of boxes, one for each cycle, into which permits are laid one after the other.

   told      every answer is that of the boxes: verdict, start, what remains, and to the ns when to come back; also when
             time goes back, and when the limit is changed under those who wait
   settled   however decisions are settled and cancelled, no more start in a cycle than N, and what the first of them
             had laid into cycles before, at most a permit less than it asked for; but what was used without asking */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/num.h"
#include "property/property.h"
#include "plan/plan.h"

enum { STEPS_MEAN = 40, BOXES = 4096, CALLS_MAX = 64, TEXT_SIZE = 96, LOOKS = 3 };

/* ---- the boxes ---- */

struct boxes {
    uint64_t used[BOXES], holds[BOXES];
    uint64_t begins_ns, period_ns; /* of the first */
    uint64_t debt;                 /* UINT64_MAX: any */
    size_t last;                   /* the box that was laid into last */
};

static size_t box_at(const struct boxes *boxes, uint64_t ns)
{
    return (size_t)((ns - boxes->begins_ns) / boxes->period_ns);
}

struct laid {
    bool fits;
    size_t box; /* of the last permit */
    uint64_t start_ns, ahead;
};

static struct laid would_lay(const struct boxes *boxes, uint64_t now_ns, uint64_t permits)
{
    const size_t now = box_at(boxes, now_ns);
    struct laid laid = {.box = now > boxes->last ? now : boxes->last, .start_ns = now_ns};
    if (permits == 0 && laid.box > now && boxes->used[laid.box] == 0) laid.box--; /* behind the last permit */
    uint64_t used = boxes->used[laid.box];
    /* A box that is passed over is as good as full. */
    for (size_t i = now + 1; i <= boxes->last; i++) laid.ahead += i < boxes->last ? boxes->holds[i] : boxes->used[i];
    for (uint64_t i = 0; i < permits; i++) {
        while (used >= boxes->holds[laid.box]) {
            if (laid.box + 1 == BOXES) return laid;
            used = boxes->used[++laid.box];
        }
        used++;
        laid.ahead += laid.box > now;
    }
    laid.fits = true;
    if (laid.box > now) laid.start_ns = boxes->begins_ns + laid.box * boxes->period_ns;
    return laid;
}

static void lay(struct boxes *boxes, uint64_t now_ns, uint64_t permits)
{
    const size_t now = box_at(boxes, now_ns);
    if (permits > 0 && now > boxes->last) boxes->last = now;
    for (uint64_t i = 0; i < permits; i++) {
        while (boxes->used[boxes->last] >= boxes->holds[boxes->last]) boxes->last++;
        boxes->used[boxes->last]++;
    }
}

static bool passes(const struct boxes *boxes, uint64_t now_ns, uint64_t permits, uint64_t wait_ns)
{
    const struct laid laid = would_lay(boxes, now_ns, permits);
    const bool ahead = laid.start_ns > now_ns && laid.ahead > boxes->debt;
    return laid.fits && !ahead && laid.start_ns - now_ns <= wait_ns;
}

/* ---- a run ---- */

struct subject {
    weir_plan plan;
    uint64_t state[LIST_WORDS_MAX];
    uint64_t now_ns, permits, first_ns;
    struct boxes boxes;
};

static struct rule *rule_of(struct subject *subject)
{
    return &plan_inside(&subject->plan)->rule[0];
}

static void parse(struct prop *prop, struct subject *subject, weir_plan *plan, const char *align)
{
    char text[TEXT_SIZE], debt[32] = "";
    weir_error error = {0};
    if (subject->boxes.debt != UINT64_MAX) snprintf(debt, sizeof debt, " debt=%" PRIu64, subject->boxes.debt);
    snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "ns algorithm=cycle%s%s", subject->permits,
             subject->boxes.period_ns, debt, align);
    prop_note(prop, "plan \"%s\"", text);
    prop_check(prop, weir_plan_parse(plan, text, WEIR_ADMIT, &error) == 0, "refused: %s", error.message);
}

static void begin(struct prop *prop, struct subject *subject)
{
    static const uint64_t periods[] = {10, 1, 2, 3, 1000, 1000000000};
    const bool aligned = prop_chance(prop, 3);
    memset(subject, 0, sizeof *subject);
    struct boxes *boxes = &subject->boxes;
    boxes->period_ns = prop_chance(prop, 3) ? 1 + prop_pick(prop, 50) : periods[prop_pick(prop, 6)];
    boxes->debt = prop_chance(prop, 2) ? prop_pick(prop, 12) : UINT64_MAX;
    subject->permits = 1 + prop_pick(prop, 8);
    parse(prop, subject, &subject->plan, aligned ? " align=clock" : "");
    const uint64_t anchor_ns = 1000 * boxes->period_ns + prop_pick_size(prop, UINT64_MAX >> 3);
    const uint64_t unix_ns = prop_pick_size(prop, UINT64_MAX >> 2);
    rule_of(subject)->anchor_ns = anchor_ns;
    algorithm_align(rule_of(subject), anchor_ns, unix_ns);
    boxes->begins_ns = aligned ? anchor_ns - unix_ns % boxes->period_ns : anchor_ns;
    subject->now_ns = subject->first_ns = anchor_ns;
    for (size_t i = 0; i < BOXES; i++) boxes->holds[i] = subject->permits;
}

static uint64_t pick_gap(struct prop *prop, const struct subject *subject)
{
    const uint64_t period_ns = subject->boxes.period_ns;
    switch (prop_pick(prop, 6)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return 1;
    case 3:
        return period_ns;
    case 4:
        return prop_pick(prop, 2 * period_ns + 1);
    default:
        return prop_pick(prop, 12) * period_ns + prop_pick(prop, period_ns);
    }
}

/* In reach of the boxes, also after what may still be laid into them. */
static bool move_on(struct prop *prop, struct subject *subject)
{
    const uint64_t gap_ns = pick_gap(prop, subject);
    if (prop_chance(prop, 10)) subject->now_ns = most(subtract_to_zero(subject->now_ns, gap_ns), subject->first_ns);
    else subject->now_ns += gap_ns;
    const size_t box = box_at(&subject->boxes, subject->now_ns);
    return box < BOXES / 4 && subject->boxes.last < BOXES / 2;
}

static uint64_t pick_wait(struct prop *prop, const struct subject *subject)
{
    const uint64_t period_ns = subject->boxes.period_ns;
    const uint64_t waits[] = {0, 0, WEIR_FOREVER, period_ns * prop_pick(prop, 5), prop_pick(prop, 4 * period_ns)};
    return waits[prop_pick(prop, 5)];
}

/* A refusal is true: neither a ns before, nor at any other time before, and then it passes. */
static void check_refusal(struct prop *prop, const struct subject *subject, const weir_decision *decision,
                          uint64_t permits, uint64_t wait_ns)
{
    const struct boxes *boxes = &subject->boxes;
    const uint64_t now_ns = subject->now_ns, retry_ns = decision->retry_ns;
    if (decision->verdict == WEIR_NEVER) {
        prop_check(prop, boxes->debt != UINT64_MAX && permits > subject->permits + boxes->debt, "never, but possible");
        return;
    }
    const bool ever = retry_ns != WEIR_FOREVER;
    const uint64_t far_ns = 64 * boxes->period_ns, span_ns = ever ? retry_ns : far_ns;
    prop_check(prop, retry_ns > 0 && (!ever || retry_ns < BOXES / 4 * boxes->period_ns), "retry %" PRIu64, retry_ns);
    for (int i = 0; i < LOOKS; i++) {
        const uint64_t at_ns = now_ns + prop_pick(prop, span_ns);
        prop_check(prop, !passes(boxes, at_ns, permits, wait_ns), "refused until %" PRIu64 ", passes at %" PRIu64,
                   now_ns + retry_ns, at_ns);
    }
    prop_check(prop, !passes(boxes, now_ns + span_ns - 1, permits, wait_ns), "passes before the retry of %" PRIu64,
               retry_ns);
    prop_check(prop, !ever || passes(boxes, now_ns + retry_ns, permits, wait_ns), "refused at the retry of %" PRIu64,
               retry_ns);
}

/* As if no more had been asked for; but of what waits all or nothing is given back. */
static void settle_at_once(struct prop *prop, struct subject *subject, weir_decision decision, uint64_t permits)
{
    struct boxes *boxes = &subject->boxes;
    const uint64_t actual = prop_pick(prop, permits + 1), now_ns = subject->now_ns;
    const size_t now = box_at(boxes, now_ns);
    weir_decide_settle(&subject->plan, subject->state, (weir_instant){now_ns}, &decision, actual);
    prop_note(prop, "  settled to %" PRIu64, actual);
    if (permits > 0 && now > boxes->last) boxes->last = now;
    lay(boxes, now_ns, actual != 0 && decision.delay_ns != 0 ? permits : actual);
}

static void ask(struct prop *prop, struct subject *subject)
{
    struct boxes *boxes = &subject->boxes;
    const uint64_t permits = prop_chance(prop, 4) ? prop_pick(prop, 4 * subject->permits) : prop_pick(prop, 3);
    const uint64_t wait_ns = pick_wait(prop, subject), now_ns = subject->now_ns;
    const struct laid laid = would_lay(boxes, now_ns, permits);
    const bool expected = passes(boxes, now_ns, permits, wait_ns);
    const weir_decision decision =
        weir_decide_within(&subject->plan, subject->state, (weir_instant){now_ns}, permits, wait_ns);
    prop_note(prop,
              "%" PRIu64 " ns (box %zu): take %" PRIu64 ", wait %" PRIu64 ": verdict %u, delay %" PRIu64
              ", retry %" PRIu64,
              now_ns, box_at(boxes, now_ns), permits, wait_ns, decision.verdict, decision.delay_ns, decision.retry_ns);
    prop_check(prop, weir_allowed(decision) == expected, "the boxes say %s", expected ? "yes" : "no");
    if (!expected) {
        check_refusal(prop, subject, &decision, permits, wait_ns);
        return;
    }
    prop_check(prop, decision.delay_ns == laid.start_ns - now_ns, "the boxes say a delay of %" PRIu64,
               laid.start_ns - now_ns);
    /* Where the limit was lowered and its cycle goes on, less may be given back. */
    const size_t now = box_at(boxes, now_ns);
    if (boxes->holds[now] <= subject->permits && prop_chance(prop, 6)) {
        settle_at_once(prop, subject, decision, permits);
        return;
    }
    lay(boxes, now_ns, permits);
    const size_t started = box_at(boxes, laid.start_ns);
    const uint64_t remain = boxes->last > started ? 0 : boxes->holds[started] - boxes->used[started];
    prop_check(prop, decision.remaining == remain, "%" PRIu64 " remain, the boxes hold %" PRIu64, decision.remaining,
               remain);
}

/* The box of now keeps what is in it; what was laid into later ones, or passed over, is laid anew. */
static void change(struct prop *prop, struct subject *subject)
{
    struct boxes *boxes = &subject->boxes;
    const uint64_t before = subject->permits, now_ns = subject->now_ns;
    const bool scale = prop_pick(prop, 2) == 1;
    weir_plan plan;
    uint64_t next[LIST_WORDS_MAX] = {0};
    subject->permits = 1 + prop_pick(prop, 8);
    parse(prop, subject, &plan, rule_of(subject)->flags & RULE_A ? " align=clock" : "");
    struct rule *to = &plan_inside(&plan)->rule[0];
    to->anchor_ns = now_ns;
    to->offset_ns = rule_of(subject)->offset_ns;
    cycle_algorithm()->carry(rule_of(subject), to, subject->state, next, tick_at(rule_of(subject), now_ns),
                             scale ? WEIR_SCALE : WEIR_KEEP);
    memcpy(subject->state, next, sizeof next);
    subject->plan = plan;
    const size_t now = box_at(boxes, now_ns);
    uint64_t owed = 0;
    if (boxes->last > now) boxes->used[now] = boxes->holds[now];
    for (size_t i = now + 1; i < BOXES; i++) {
        owed += i < boxes->last ? boxes->holds[i] : boxes->used[i];
        boxes->used[i] = 0;
        boxes->holds[i] = subject->permits;
    }
    const uint64_t more = subtract_to_zero(subject->permits, before), less = subtract_to_zero(before, subject->permits);
    if (scale) boxes->holds[now] += more;
    if (scale && owed == 0) boxes->holds[now] = most(subtract_to_zero(boxes->holds[now], less), boxes->used[now]);
    boxes->last = now;
    lay(boxes, now_ns, owed);
    prop_note(prop, "%" PRIu64 " ns: %s to %" PRIu64 ", %" PRIu64 " owed", now_ns, scale ? "scaled" : "kept",
              subject->permits, owed);
    subject->first_ns = now_ns;
}

static void told_property(struct prop *prop)
{
    static struct subject subject;
    begin(prop, &subject);
    const bool changes = prop_chance(prop, 3);
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        if (!move_on(prop, &subject)) return;
        if (changes && prop_chance(prop, 6)) change(prop, &subject);
        else ask(prop, &subject);
    }
}

/* ---- settled ---- */

struct call {
    weir_decision decision;
    uint64_t asked, used, excess;
};

struct history {
    struct subject subject;
    struct call call[CALLS_MAX];
    int calls;
    bool ones; /* all calls take one permit */
};

static void take(struct prop *prop, struct history *history)
{
    struct subject *subject = &history->subject;
    struct call *call = &history->call[history->calls];
    const uint64_t permits = history->ones ? 1 : 1 + prop_pick(prop, prop_chance(prop, 4) ? 3 * subject->permits : 3);
    const uint64_t wait_ns = pick_wait(prop, subject);
    *call = (struct call){.asked = permits, .used = permits};
    call->decision =
        weir_decide_within(&subject->plan, subject->state, (weir_instant){subject->now_ns}, permits, wait_ns);
    prop_note(prop, "%" PRIu64 " ns: call %d takes %" PRIu64 ", wait %" PRIu64 ": verdict %u, start %" PRIu64,
              subject->now_ns, history->calls, permits, wait_ns, call->decision.verdict, call->decision.start.ns);
    if (weir_allowed(call->decision)) history->calls++;
}

static void settle_one(struct prop *prop, struct history *history)
{
    struct call *call = &history->call[prop_pick(prop, (uint64_t)history->calls)];
    if (call->decision.charged == 0) return;
    const uint64_t actual = prop_chance(prop, 3) ? 0 : prop_pick(prop, call->asked + 3);
    prop_note(prop, "%" PRIu64 " ns: call %d settles to %" PRIu64, history->subject.now_ns, (int)(call - history->call),
              actual);
    weir_decide_settle(&history->subject.plan, history->subject.state, (weir_instant){history->subject.now_ns},
                       &call->decision, actual);
    call->used = actual;
    if (actual > call->asked) call->used = call->asked; /* the rest was not asked for, and is owed */
}

static void check_boxes(struct prop *prop, const struct history *history)
{
    const struct boxes *boxes = &history->subject.boxes;
    for (int i = 0; i < history->calls; i++) {
        const size_t box = box_at(boxes, history->call[i].decision.start.ns);
        uint64_t used = 0, largest = 0;
        for (int j = 0; j < history->calls; j++) {
            if (box_at(boxes, history->call[j].decision.start.ns) != box || history->call[j].used == 0) continue;
            used += history->call[j].used;
            largest = most(largest, history->call[j].asked);
        }
        prop_check(prop, used <= history->subject.permits + largest - (largest != 0),
                   "%" PRIu64 " in box %zu, the largest %" PRIu64, used, box, largest);
    }
}

static void settled_property(struct prop *prop)
{
    static struct history history;
    memset(&history, 0, sizeof history);
    begin(prop, &history.subject);
    history.ones = prop_pick(prop, 2) == 1;
    while (prop_more(prop, STEPS_MEAN) && history.calls < CALLS_MAX) {
        prop_step(prop);
        if (!move_on(prop, &history.subject)) break;
        if (history.calls == 0 || prop_pick(prop, 5) < 3) take(prop, &history);
        else settle_one(prop, &history);
    }
    check_boxes(prop, &history);
}

static void cycle_property(struct prop *prop)
{
    if (prop_chance(prop, 3)) settled_property(prop);
    else told_property(prop);
}

PROPERTY("cycle", cycle_property, 60000);
