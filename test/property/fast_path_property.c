/* SPDX-License-Identifier: MIT
   Whoever takes the fast path of a word (word_fast.h) is told, to the last field, what he is told who
   does not, and leaves the same word.

   Two words of the same content are asked the same: one as weir_take_at does it, the other by word_decide alone.  Rules
   are those of texts, or have clocks and bursts at the ends of what fits; words are as calls leave them, or have any
   value; permits are in leases at times, settling and changes of limit go on in between, and time goes back too. */
#include <inttypes.h>
#include <string.h>

#include "change_word.h"
#include "property/property.h"
#include "plan/plan.h"
#include "share/word_fast.h"

enum { STEPS_MEAN = 60 };

struct subject {
    struct prop *prop;
    weir_plan plan;
    struct word ours, theirs;
    struct note note;
    uint32_t generation;
    uint64_t now_ns;
    weir_decision last;
};

static double granted_fast, refused_fast;

static struct rule pick_rule(struct subject *subject)
{
    struct prop *prop = subject->prop;
    prop_pick_plan(prop, PROP_GCRA | (prop_chance(prop, 2) ? PROP_TINY_BURST : 0), &subject->plan);
    struct rule rule = plan_inside_const(&subject->plan)->rule[0];
    if (prop_chance(prop, 4)) rule.burst = prop_pick_size(prop, UINT64_MAX);
    if (prop_chance(prop, 16)) rule.algorithm = prop_chance(prop, 2) ? 0 : ALGORITHM_UNLIMITED;
    rule.generation = ++subject->generation;
    return rule;
}

static void change(struct subject *subject)
{
    struct prop *prop = subject->prop;
    const struct rule rule = pick_rule(subject);
    struct rule to = rule;
    const weir_carry carry = prop_chance(prop, 3) ? WEIR_RESET : WEIR_KEEP;
    to.anchor_ns = subject->now_ns;
    change_word(&subject->ours, &to, subject->now_ns, carry);
    to = rule;
    to.anchor_ns = subject->now_ns;
    change_word(&subject->theirs, &to, subject->now_ns, carry);
}

/* Another rule and another value, as if long in use. */
static void begin_anywhere(struct subject *subject)
{
    struct prop *prop = subject->prop;
    struct rule rule = pick_rule(subject);
    rule.anchor_ns = prop_pick_size(prop, UINT64_MAX);
    rule.anchor_tick = prop_pick_size(prop, UINT64_MAX);
    open_word(&subject->ours, &rule);
    const uint64_t near = rule.anchor_tick + prop_pick_size(prop, rule.burst | 1);
    const uint64_t value = prop_chance(prop, 2) ? near : prop_pick_size(prop, UINT64_MAX);
    atom_store(&subject->ours.value, word_value(value) | (prop_chance(prop, 8) ? WORD_CLOSED : 0));
    atom_store(&subject->ours.high, WORD_VALUE_MAX);
    if (prop_chance(prop, 2)) subject->now_ns = add_saturating(rule.anchor_ns, prop_pick_size(prop, UINT64_MAX));
    subject->theirs = subject->ours;
}

static void pass_time(struct subject *subject)
{
    struct prop *prop = subject->prop;
    const uint64_t gap_ns = prop_pick_gap(prop, &subject->plan);
    const bool back = prop_chance(prop, 8);
    if (prop_chance(prop, 32)) subject->now_ns = UINT64_MAX - prop_pick(prop, 3);
    else if (back) subject->now_ns = subtract_to_zero(subject->now_ns, gap_ns);
    else subject->now_ns = add_saturating(subject->now_ns, gap_ns);
}

/* To the ns before the noted refusal ends, or to that when it does. */
static void pass_to_note(struct subject *subject)
{
    if (subject->note.passes_ns != 0) subject->now_ns = subject->note.passes_ns - prop_pick(subject->prop, 2);
}

/* As weir_take_at. */
static bool take_fast(struct subject *subject, uint64_t cost, weir_decision *decision)
{
    struct granted granted;
    const uint64_t now_ns = subject->now_ns;
    const uint64_t raw = word_see(&subject->ours);
    if (cost == 1 && word_denies(&subject->ours, raw, now_ns, &subject->note)) {
        *decision = word_denied(&subject->note, now_ns);
        refused_fast++;
        return true;
    }
    if (word_grant(&subject->ours, raw, now_ns, cost, &granted)) {
        *decision = word_granted(&granted, now_ns, cost);
        granted_fast++;
        return true;
    }
    const bool here = word_decide(&subject->ours, &(struct ask){.now_ns = now_ns, .cost = cost}, decision);
    if (here && cost == 1) word_note(&subject->note, decision, now_ns);
    return here;
}

static void take(struct subject *subject)
{
    struct prop *prop = subject->prop;
    uint64_t cost = prop_chance(prop, 2) ? 1 : prop_pick_cost(prop, &subject->plan);
    if (prop_chance(prop, 16)) cost = prop_chance(prop, 2) ? 0 : prop_pick_size(prop, UINT64_MAX);
    weir_decision ours = {0}, theirs = {0};
    const bool here = word_decide(&subject->theirs, &(struct ask){.now_ns = subject->now_ns, .cost = cost}, &theirs);
    prop_note(prop, "at %" PRIu64 " cost %" PRIu64 ": verdict %u, retry %" PRIu64, subject->now_ns, cost,
              theirs.verdict, theirs.retry_ns);
    const struct word before = subject->ours;
    prop_check(prop, take_fast(subject, cost, &ours) == here, "here or elsewhere?");
    if (!here) return;
    const bool untouched = memcmp(&before, &subject->ours, sizeof before) == 0;
    prop_check(prop, untouched || ours.verdict == WEIR_ALLOW, "a refusal wrote");
    prop_check(prop, memcmp(&ours, &theirs, sizeof ours) == 0,
               "told %u, retry %" PRIu64 ", remaining %" PRIu64 ", end %" PRIu64 ", charged %" PRIu64, ours.verdict,
               ours.retry_ns, ours.remaining, ours.end, ours.charged);
    subject->last = theirs;
}

static void settle_last(struct subject *subject)
{
    const uint64_t actual = prop_pick_cost(subject->prop, &subject->plan);
    if (subject->last.verdict != WEIR_ALLOW) return;
    word_settle(&subject->ours, subject->now_ns, &subject->last, actual);
    word_settle(&subject->theirs, subject->now_ns, &subject->last, actual);
    subject->last.charged = 0;
}

static void lease(struct subject *subject)
{
    const uint64_t out = prop_chance(subject->prop, 2) ? 0 : prop_pick_cost(subject->prop, &subject->plan);
    atom_store(&subject->ours.out, out);
    atom_store(&subject->theirs.out, out);
}

static void step(struct subject *subject)
{
    struct prop *prop = subject->prop;
    prop_step(prop);
    if (prop_chance(prop, 2)) pass_time(subject);
    if (prop_chance(prop, 8)) pass_to_note(subject);
    if (prop_chance(prop, 8)) settle_last(subject);
    if (prop_chance(prop, 16)) lease(subject);
    if (prop_chance(prop, 32)) change(subject);
    if (prop_chance(prop, 64)) begin_anywhere(subject);
    take(subject);
    prop_check(prop, memcmp(&subject->ours, &subject->theirs, sizeof subject->ours) == 0, "the words differ");
}

static void property(struct prop *prop)
{
    static struct subject subject;
    memset(&subject, 0, sizeof subject);
    subject.prop = prop;
    struct rule rule = pick_rule(&subject);
    open_word(&subject.ours, &rule);
    open_word(&subject.theirs, &rule);
    subject.now_ns = prop_pick_time(prop, &subject.plan);
    change(&subject);
    while (prop_more(prop, STEPS_MEAN)) step(&subject);
    prop_largest(prop, "granted and refused by the fast path, each at least",
                 granted_fast < refused_fast ? granted_fast : refused_fast);
}

PROPERTY("short", property, 40000);
