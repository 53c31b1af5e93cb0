/* SPDX-License-Identifier: MIT
   A table of wide slots against a state of its own for each key, in memory without end.

   As long as there is a slot for each key every answer is that of the key's own state, whatever was corrected,
   charged, forgotten and changed.  With more keys than slots nothing that is let through is refused by the key's
   own state, which is fed with what was let through: under `deny` for every algorithm, under `inherit` for gcra,
   whose state is one line, 2 ns later: which of two is idle first is known to the ns.  Corrections are left out there
   where it is the key's own state that errs to refusing, for what it knows of the past is not exact.

   A process that dies while it writes leaves any part of what it wrote but the tag, which is the last: whatever
   part of it is there, every key answers as before.  And any bytes as memory give some answer.

   The locks that the table takes are looked after: one at a time, and the common one inside another. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"
#include "property/property.h"
#include "plan/plan.h"
#include "share/table/wide.h"
#include "wide.h"

enum { STEPS_MEAN = 40, KEYS_MAX = 8, WORDS_MAX = 96, LIMITS_MAX = 3, PLANS_MAX = 3, COST_MAX = 14 };
enum { MEMORY_WORDS = 6000, TIMELINE_CLOSES_NOTHING = 64, LATER_NS = 2 };

/* What a run is about. */
enum way { ROOM_FOR_ALL, DENIES, INHERITS, GARBAGE, WAYS };

struct key {
    uint64_t hash;
    uint64_t state[WORDS_MAX];
    int plan;                    /* under which the state was written */
    bool has_slot;               /* once it was touched */
    uint64_t idle_ns;            /* what it said last of when that may be forgotten */
    weir_decision decision, own; /* the table's, and that of its own state */
    uint64_t cost, end[WEIR_LIMITS_MAX], own_end[WEIR_LIMITS_MAX];
    int decided; /* the plan it was decided under, or -1: there is nothing to correct */
};

struct subject {
    struct prop *prop;
    enum way way;
    struct wide wide;
    weir_plan plan[PLANS_MAX];
    int plans, keys;
    bool waits; /* calls may wait for their start */
    uint64_t now_ns, words;
    struct key key[KEYS_MAX];
    bool locked, locked_common;
};

static _Alignas(64) uint64_t memory[MEMORY_WORDS], before[MEMORY_WORDS], after[MEMORY_WORDS], paper[MEMORY_WORDS];

/* ---- locks ---- */

static bool lock(void *context, unsigned stripe)
{
    struct subject *subject = context;
    bool *held = stripe >= WIDE_STRIPES ? &subject->locked_common : &subject->locked;
    prop_check(subject->prop, stripe < WIDE_LOCKS && !*held && !subject->locked_common, "lock %u is taken twice",
               stripe);
    *held = true;
    return true;
}

static void unlock(void *context, unsigned stripe)
{
    struct subject *subject = context;
    bool *held = stripe >= WIDE_STRIPES ? &subject->locked_common : &subject->locked;
    prop_check(subject->prop, *held, "lock %u is let go twice", stripe);
    *held = false;
}

/* ---- plans ---- */

static struct rules rules_of(const struct subject *subject, int plan)
{
    return plan_rules(plan_inside_const(&subject->plan[plan]));
}

/* Of which idle_law says that a fresh state is never freer, to the call. */
static bool exact_when_idle(struct rules rules)
{
    bool exact = true;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const bool closes = rule->algorithm == ALGORITHM_TIMELINE && rule->second < TIMELINE_CLOSES_NOTHING;
        exact = exact && !closes;
    }
    return exact;
}

static void pick_plans(struct subject *subject)
{
    struct prop *prop = subject->prop;
    subject->plans =
        1 + (subject->way == ROOM_FOR_ALL || subject->way == GARBAGE ? (int)prop_pick(prop, PLANS_MAX) : 0);
    for (int i = 0; i < subject->plans; i++) {
        if (subject->way == INHERITS) prop_pick_plan(prop, PROP_GCRA | PROP_TINY_BURST, &subject->plan[i]);
        else prop_pick_any_plan(prop, LIMITS_MAX, sizeof subject->key[0].state, &subject->plan[i]);
        if (subject->way == DENIES && !exact_when_idle(rules_of(subject, i))) {
            weir_plan_parse(&subject->plan[i], "3/s", WEIR_ADMIT, NULL);
        }
        subject->words = most(subject->words, weir_state_size(&subject->plan[i]) / sizeof(uint64_t));
    }
    subject->waits = subject->way == ROOM_FOR_ALL || subject->way == GARBAGE || rules_of(subject, 0).count == 1;
}

static uint64_t pick_gap(struct subject *subject)
{
    struct prop *prop = subject->prop;
    const struct plan *plan = plan_inside_const(&subject->plan[prop_pick(prop, (uint64_t)subject->plans)]);
    const struct limit *limit = &plan->limit[prop_pick(prop, plan->count)];
    const uint64_t around[] = {0, 1, limit->period_ns, limit->period_ns / most(limit->count.digits, 1)};
    const uint64_t near = around[prop_pick(prop, 4)];
    const uint64_t how = prop_pick(prop, 6);
    if (how < 3) return 0;
    if (how == 3) return near + prop_pick(prop, 3);
    return how == 4 ? prop_pick(prop, near + 1) : prop_pick_size(prop, 8 * limit->period_ns);
}

/* ---- a key's own state ---- */

/* Where `rule` reads now_ns, or up to a tick later. */
static struct rule begun_anew(const struct rule *rule, uint64_t now_ns)
{
    struct rule anew = *rule;
    const wide_unsigned elapsed = (wide_unsigned)now_ns * rule->multiplier;
    const wide_unsigned whole = elapsed >> rule->shift;
    anew.anchor_ns = now_ns;
    anew.anchor_tick = 1 + (uint64_t)whole + (whole << rule->shift != elapsed);
    return anew;
}

static bool same_algorithms(struct rules a, struct rules b)
{
    bool same = a.count == b.count;
    for (int i = 0; same && i < a.count; i++) same = a.rule[i].algorithm == b.rule[i].algorithm;
    return same;
}

/* Of gcra no more permits are used than the new burst; what is above the old one is waited for. */
static void cap_own(const struct rule *from, const struct rule *to, uint64_t now_ns, uint64_t drained, uint64_t *next)
{
    const uint64_t now = tick_at(from, now_ns), ahead = drained > now ? drained - now : 0;
    const uint64_t waiting = ahead > from->burst ? carry_waiting(from, to, ahead - from->burst) : 0;
    const uint64_t latest = add_saturating(add_saturating(to->anchor_tick, to->burst), waiting);
    if (*next > latest) *next = latest;
}

static void change_own(const struct subject *subject, struct key *key, int plan)
{
    const struct rules from = rules_of(subject, key->plan), to = rules_of(subject, plan);
    uint64_t next[WORDS_MAX] = {0};
    const bool alike = wide_fingerprint(from) == wide_fingerprint(to);
    key->plan = plan;
    if (alike) return;
    for (int i = 0; key->idle_ns > subject->now_ns && i < to.count && same_algorithms(from, to); i++) {
        const struct rule anew = begun_anew(&to.rule[i], subject->now_ns);
        algorithm_of(&anew)->carry(&from.rule[i], &anew, key->state + decide_words_before(from, i),
                                   next + decide_words_before(to, i), tick_at(&from.rule[i], subject->now_ns),
                                   WEIR_SCALE);
        if (anew.algorithm == ALGORITHM_GCRA)
            cap_own(&from.rule[i], &anew, subject->now_ns, key->state[decide_words_before(from, i)],
                    &next[decide_words_before(to, i)]);
    }
    memcpy(key->state, next, sizeof next);
}

static void note_idle(const struct subject *subject, struct key *key, const uint64_t *state_before, bool changed)
{
    const struct rules rules = rules_of(subject, key->plan);
    const bool same = memcmp(key->state, state_before, sizeof key->state) == 0;
    for (int i = 0; i < WORDS_MAX; i++) key->has_slot = key->has_slot || key->state[i] != 0;
    if (!key->has_slot || (same && !changed && subject->wide.kept)) return;
    key->idle_ns = 0;
    for (int i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.rule[i];
        const uint64_t now = tick_at(rule, subject->now_ns), *state = key->state + decide_words_before(rules, i);
        key->idle_ns = most(key->idle_ns, ns_ceil(rule, algorithm_of(rule)->idle(rule, state, now)));
    }
}

/* ---- what is compared ---- */

static void check_same(struct prop *prop, const weir_decision *got, const weir_decision *own)
{
    const bool same = got->verdict == own->verdict && got->start.ns == own->start.ns && got->limit == own->limit &&
                      got->delay_ns == own->delay_ns && got->retry_ns == own->retry_ns && got->end == own->end &&
                      got->remaining == own->remaining && got->charged == own->charged;
    prop_check(prop, same,
               "the table says verdict %u, delay %" PRIu64 ", retry %" PRIu64 ", remaining %" PRIu64
               ", the key's own state %u, %" PRIu64 ", %" PRIu64 ", %" PRIu64,
               got->verdict, got->delay_ns, got->retry_ns, got->remaining, own->verdict, own->delay_ns, own->retry_ns,
               own->remaining);
}

/* How long before now a call could have started depends on what is forgotten, and lets nothing through. */
static void check_no_freer(const struct subject *subject, const weir_decision *got, const weir_decision *own)
{
    const uint64_t later_ns = subject->way == INHERITS ? LATER_NS : 0;
    if (got->verdict != WEIR_ALLOW) return;
    prop_check(subject->prop,
               own->verdict == WEIR_ALLOW && own->start.ns <= most(got->start.ns, subject->now_ns) + later_ns,
               "the table lets through at %" PRIu64 ", the key's own state says %u, %" PRIu64 ", retry %" PRIu64,
               got->start.ns, own->verdict, own->start.ns, own->retry_ns);
}

static void check(const struct subject *subject, const weir_decision *got, const weir_decision *own)
{
    if (subject->way == ROOM_FOR_ALL) check_same(subject->prop, got, own);
    else if (subject->way != GARBAGE) check_no_freer(subject, got, own);
}

static void ask_table(struct subject *subject, const struct key *key, int plan, const struct ask *ask,
                      weir_decision *decision)
{
    uint32_t events = 0;
    const bool fits = wide_ask(&subject->wide, key->hash, rules_of(subject, plan), ask, decision, &events);
    prop_check(subject->prop, fits, "the state is said not to fit");
    prop_check(subject->prop, !subject->locked && !subject->locked_common, "a lock is still held");
    prop_check(subject->prop, decision->verdict >= WEIR_ALLOW && decision->verdict <= WEIR_NEVER, "verdict %u",
               decision->verdict);
    const bool room = subject->way == ROOM_FOR_ALL;
    prop_check(subject->prop, !room || (events & (TABLE_FULL | TABLE_DISPLACED)) == 0, "events %u", events);
}

/* ---- dying half-way ---- */

/* Any part of what was written but the tag of this key. */
static void check_death(struct subject *subject, const struct key *own_before, uint64_t hash)
{
    const uint64_t tag = most(hash & ~UINT64_C(1), 2);
    memcpy(after, memory, sizeof memory);
    for (int i = 0; i < MEMORY_WORDS; i++) {
        const bool is_tag = before[i] >> 1 == tag >> 1 || after[i] >> 1 == tag >> 1;
        if (before[i] != after[i] && (is_tag || prop_pick(subject->prop, 2) == 0)) memory[i] = before[i];
    }
    for (int i = 0; i < subject->keys; i++) {
        struct key key = own_before[i];
        struct ask ask = {.now_ns = subject->now_ns, .cost = 1 + prop_pick(subject->prop, 3), .peek = true};
        weir_decision got, own;
        ask_table(subject, &key, key.plan, &ask, &got);
        if (subject->way == INHERITS) ask.wait_max_ns = add_saturating(ask.wait_max_ns, LATER_NS);
        ask_rules(rules_of(subject, key.plan), key.state, &ask, &own);
        check(subject, &got, &own);
    }
    memcpy(memory, after, sizeof memory);
}

/* ---- steps ---- */

static void take(struct subject *subject, struct key *key, int plan)
{
    struct prop *prop = subject->prop;
    const uint64_t cost = prop_chance(prop, 12) ? 0 : 1 + prop_pick(prop, prop_chance(prop, 4) ? COST_MAX : 3);
    const uint64_t how = prop_pick(prop, 8);
    struct ask ask = {.now_ns = subject->now_ns, .cost = cost, .end = key->end};
    if (subject->waits && prop_chance(prop, 3))
        ask.wait_max_ns = prop_chance(prop, 2) ? WEIR_FOREVER : pick_gap(subject);
    ask.peek = how == 0;
    ask.charge = how == 1 && subject->way != DENIES && subject->way != INHERITS;
    ask.some = how == 2;
    ask.uncounted = how == 3;
    ask_table(subject, key, plan, &ask, &key->decision);
    const weir_decision *got = &key->decision;
    prop_note(prop, "%" PRIu64 " ns: plan %d, key %d: %s %" PRIu64 ": verdict %u, delay %" PRIu64, subject->now_ns,
              plan, (int)(key - subject->key),
              ask.peek     ? "peek"
              : ask.charge ? "charge"
                           : "take",
              cost, got->verdict, got->delay_ns);
    const bool full = subject->way == DENIES || subject->way == INHERITS;
    key->decided = ask.peek || ask.charge || got->verdict != WEIR_ALLOW ? -1 : plan;
    if (full && got->verdict != WEIR_ALLOW) return;
    key->cost = ask.cost = got->verdict == WEIR_ALLOW && ask.some ? got->charged : cost;
    if (full) ask.some = false;
    else ask.cost = cost;
    if (subject->way == GARBAGE) return;
    const bool changed = wide_fingerprint(rules_of(subject, plan)) != wide_fingerprint(rules_of(subject, key->plan));
    if (!ask.peek) change_own(subject, key, plan);
    else if (key->plan != plan) return; /* a peek under other rules changes nothing */
    ask.end = key->own_end;
    if (subject->way == INHERITS) ask.wait_max_ns = add_saturating(ask.wait_max_ns, LATER_NS);
    uint64_t state_before[WORDS_MAX];
    memcpy(state_before, key->state, sizeof state_before);
    ask_rules(rules_of(subject, plan), key->state, &ask, &key->own);
    if (!ask.peek) note_idle(subject, key, state_before, changed);
    check(subject, got, &key->own);
}

/* Where the own state errs to refusing once it was corrected, and the table's, which was forgotten between, does not.
   A slot that began in the past has drained by now; where the own state is behind its schedule and the table's has
   forgotten that, they give back differently.  A log's ring gives back a reservation of several permits for what they
   pushed out, and takes all that to be as late as the last of it: see doc/algorithms.md. */
static bool corrects_alike(const struct subject *subject, const struct key *key)
{
    const bool full = subject->way == DENIES || subject->way == INHERITS;
    const bool several_ahead = key->decision.delay_ns != 0 && key->cost > 1;
    const struct rules rules = rules_of(subject, 0);
    bool alike = true;
    for (int i = 0; i < rules.count; i++) {
        const bool log = rules.rule[i].algorithm == ALGORITHM_SLIDING_LOG;
        alike = alike && algorithm_of(&rules.rule[i])->lateness == NULL && !(log && several_ahead);
    }
    return !full || alike;
}

static void correct(struct subject *subject, struct key *key)
{
    uint64_t cost[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX];
    const bool ends = prop_pick(subject->prop, 2) == 0;
    const uint64_t used = prop_pick(subject->prop, key->cost + 3);
    const bool mixed = prop_chance(subject->prop, 4);
    bool more = false;
    const struct rules rules = rules_of(subject, key->decided < 0 ? 0 : key->decided);
    if (key->decided < 0 || !corrects_alike(subject, key)) return;
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) {
        cost[i] = key->cost;
        /* Where a slot may be lost what is given back may not find it. */
        const bool whole = subject->way == DENIES || subject->way == INHERITS || (mixed && i % 2 != 0);
        actual[i] = whole ? least(used, key->cost / (mixed ? 2 : 1)) : used;
        more = more || (i < rules.count && actual[i] > cost[i]);
    }
    prop_note(subject->prop, "%" PRIu64 " ns: key %d: used %" PRIu64, subject->now_ns, (int)(key - subject->key),
              actual[0]);
    wide_settle(&subject->wide, key->hash, rules, subject->now_ns, &key->decision, cost, actual,
                ends ? key->end : NULL);
    const bool changed = wide_fingerprint(rules) != wide_fingerprint(rules_of(subject, key->plan));
    const int plan = key->decided;
    key->decided = -1;
    if (changed && !more) return;
    for (int i = 0; changed && i < WEIR_LIMITS_MAX; i++) actual[i] = most(actual[i], cost[i]);
    if (subject->way != GARBAGE) {
        uint64_t state_before[WORDS_MAX];
        change_own(subject, key, plan);
        memcpy(state_before, key->state, sizeof state_before);
        decide_settle(rules, key->state, subject->now_ns, &key->own, cost, actual, ends ? key->own_end : NULL);
        note_idle(subject, key, state_before, changed);
    }
}

static void step(struct subject *subject)
{
    struct prop *prop = subject->prop;
    struct key own_before[KEYS_MAX];
    struct key *key = &subject->key[prop_pick(prop, (uint64_t)subject->keys)];
    const uint64_t how = prop_pick(prop, 16);
    const bool dies = subject->wide.kept && subject->way != GARBAGE && prop_chance(prop, 4);
    if (dies) {
        memcpy(before, memory, sizeof memory);
        memcpy(own_before, subject->key, sizeof own_before);
    }
    if (how < 12) {
        take(subject, key, prop_chance(prop, 4) ? (int)prop_pick(prop, (uint64_t)subject->plans) : key->plan);
    } else if (how < 15) {
        correct(subject, key);
    } else {
        prop_note(prop, "key %d is forgotten", (int)(key - subject->key));
        wide_forget(&subject->wide, key->hash);
        memset(key->state, 0, sizeof key->state);
        key->idle_ns = 0;
        key->has_slot = false;
        key->decided = -1;
    }
    prop_check(prop, wide_live(&subject->wide, subject->now_ns) <= subject->wide.slots, "more live than slots");
    if (dies) check_death(subject, own_before, key->hash);
}

static void begin(struct prop *prop, struct subject *subject)
{
    memset(subject, 0, sizeof *subject);
    memset(memory, 0, sizeof memory);
    subject->prop = prop;
    subject->way = (enum way)prop_pick(prop, WAYS);
    subject->keys = 1 + (int)prop_pick(prop, KEYS_MAX);
    pick_plans(subject);
    const uint64_t keys_max = subject->way == ROOM_FOR_ALL ? KEYS_MAX : 1 + prop_pick(prop, 4);
    subject->wide.kept = prop_pick(prop, 2) == 1;
    subject->wide.when_full = subject->way == INHERITS ? TABLE_INHERIT : TABLE_DENY;
    if (subject->way == GARBAGE) subject->wide.when_full = (enum table_when_full)prop_pick(prop, 4);
    const uint64_t bytes =
        wide_bytes(keys_max, subject->words, subject->wide.kept, &subject->wide.slots, &subject->wide.slot_words);
    prop_check(prop, bytes <= sizeof memory, "%" PRIu64 " bytes", bytes);
    subject->wide.plan_sets = wide_sets_in(bytes);
    subject->wide.memory = memory;
    subject->wide.paper = paper;
    subject->wide.lock = lock;
    subject->wide.unlock = unlock;
    subject->wide.context = subject;
    for (int i = 0; i < subject->keys; i++) {
        subject->key[i].hash =
            prop_chance(prop, 8) ? ((uint64_t)i + 1) * 2 : ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        subject->key[i].decided = -1;
    }
    subject->now_ns = UINT64_C(1000000000) + prop_pick_size(prop, UINT64_MAX >> 8);
    prop_note(prop, "way %d, kept %d, %d keys, %" PRIu64 " slots of %" PRIu64 " words", (int)subject->way,
              subject->wide.kept, subject->keys, subject->wide.slots, subject->wide.slot_words);
}

static void scribble(struct subject *subject)
{
    static const uint64_t edges[] = {0, 1, UINT64_MAX, UINT64_MAX >> 1, UINT64_C(1) << 63};
    struct prop *prop = subject->prop;
    for (uint64_t more = prop_pick(prop, 40); more > 0; more--) {
        const uint64_t word = prop_chance(prop, 2) ? prop_pick(prop, 40) : prop_pick(prop, MEMORY_WORDS);
        memory[word] = prop_chance(prop, 2) ? edges[prop_pick(prop, 5)] : prop_pick_size(prop, UINT64_MAX);
    }
}

static void wide_property(struct prop *prop)
{
    static struct subject subject;
    begin(prop, &subject);
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        if (subject.way == GARBAGE && prop_chance(prop, 3)) scribble(&subject);
        subject.now_ns += pick_gap(&subject);
        step(&subject);
    }
}

PROPERTY("wide", wide_property, 40000);
