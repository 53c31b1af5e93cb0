/* SPDX-License-Identifier: MIT
   A concurrent limit against a list of those that run, each with its end.

   Alone in a state, in a list beside limits with rates, in a limiter by a manual clock, and in wide slots, of which
   there are fewer than keys: calls of any cost, renewed, released, settled, cancelled, charged, peeked at, under
   changes to more and fewer slots and to other leases, with stale ids and dead owners.  Every answer is predicted:

       never more    at a call that passes, those whose end lies ahead are no more than the limit in force
       retry         refused a ns before, allowed then, if nobody comes between
       all or none   where slots refuse, the rates stay as they were, and the other way round
       ids           none comes twice, not even when the state was forgotten; a stale one does nothing

   In a clock that goes back what an end says is held against the latest time so far.  And any words as a state give
   some answer. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"
#include "plan/plan.h"
#include "property/property.h"
#include "share/ask.h"
#include "share/table/wide.h"

enum { STEPS_MEAN = 60, SLOTS_MAX = 6, RUN_MAX = 64, IDS_MAX = 2000, CALLS_MAX = 16, KEYS_MAX = 4, OWNERS = 3 };
enum { WORDS_MAX = 96, MEMORY_WORDS = 6000, TEXT_SIZE = 160, ID_STEP = 1 << 16 };

enum way { ALONE, LISTED, BACK, LIMITER, TABLE, GARBAGE, WAYS };

/* One slot: whose it is, and until when; id 0: of one that has lost it by a change. */
struct run {
    uint64_t id, end_ns, owner;
};

struct key {
    uint64_t hash, count, lease_ns; /* the limit in force */
    uint64_t peak;                  /* the largest since some lost their slots that run still */
    struct run run[RUN_MAX];
    int runs;
    uint64_t id[IDS_MAX]; /* all that were ever given */
    int ids;
    uint64_t unseen; /* ids that nobody got: of what was used beyond a cost, which is held under the id of its call */
};

struct call {
    struct key *key;
    weir_decision decision;
    uint64_t cost, end[WEIR_LIMITS_MAX];
};

struct subject {
    struct prop *prop;
    enum way way;
    uint64_t now_ns, latest_ns;
    weir_plan plan;
    struct rules rules;
    int holder; /* the limit that holds slots */
    uint64_t count, lease_ns;
    uint64_t state[WORDS_MAX], rates[WORDS_MAX]; /* what only the other limits of the list would have */
    weir_limiter *limiter;
    struct wide wide;
    uint64_t owner;
    bool dead[OWNERS + 1];
    struct key key[KEYS_MAX];
    int keys;
    struct call call[CALLS_MAX];
    int calls;
};

static _Alignas(64) uint64_t memory[MEMORY_WORDS], paper[MEMORY_WORDS];

/* ---- what runs ---- */

static uint64_t running(const struct key *key, uint64_t ns)
{
    uint64_t count = 0;
    for (int i = 0; i < key->runs; i++) count += key->run[i].end_ns > ns;
    return count;
}

static uint64_t slots_of(const struct key *key, uint64_t ns)
{
    uint64_t slots = 0;
    for (int i = 0; i < key->runs; i++) slots += key->run[i].end_ns > ns && key->run[i].id != 0;
    return slots;
}

/* All together, those that have lost their slots and run still, too. */
static uint64_t most_of(const struct key *key, uint64_t ns)
{
    return running(key, ns) == slots_of(key, ns) ? key->count : most(key->count, key->peak);
}

static uint64_t room(const struct key *key, uint64_t ns)
{
    return least(subtract_to_zero(key->count, slots_of(key, ns)), subtract_to_zero(most_of(key, ns), running(key, ns)));
}

/* Those that are over for all times to come. */
static void sweep(const struct subject *subject, struct key *key)
{
    int left = 0;
    for (int i = 0; i < key->runs; i++) {
        if (key->run[i].end_ns > subject->now_ns) key->run[left++] = key->run[i];
    }
    key->runs = left;
}

static uint64_t last_end(const struct key *key)
{
    uint64_t last = 0;
    for (int i = 0; i < key->runs; i++) last = most(last, key->run[i].end_ns);
    return last;
}

/* When so many are free. */
static uint64_t free_from(const struct key *key, uint64_t now_ns, uint64_t wanted)
{
    uint64_t at = UINT64_MAX;
    for (int i = 0; i < key->runs; i++) {
        const uint64_t end_ns = key->run[i].end_ns;
        if (end_ns > now_ns && room(key, end_ns) >= wanted) at = least(at, end_ns);
    }
    return at;
}

static void note_id(struct subject *subject, struct key *key, uint64_t id)
{
    for (int i = 0; i < key->ids; i++) {
        prop_check(subject->prop, (key->id[i] ^ id) / ID_STEP != 0, "the id %" PRIu64 " comes again", id);
    }
    prop_check(subject->prop, id != 0 && id % ID_STEP == (subject->way == TABLE ? subject->owner : 0),
               "the id is %" PRIu64, id);
    key->id[key->ids++] = id;
}

static void enter(struct subject *subject, struct key *key, uint64_t id, uint64_t slots, uint64_t start_ns)
{
    if (slots == 0) return;
    for (; slots > 0; slots--) {
        prop_check(subject->prop, key->runs < RUN_MAX, "%d run", key->runs);
        key->run[key->runs++] = (struct run){id, start_ns + key->lease_ns, subject->owner};
    }
    const uint64_t ns = most(subject->latest_ns, subject->now_ns), runs = running(key, ns), may = most_of(key, ns);
    prop_check(subject->prop, runs <= may, "%" PRIu64 " run where %" PRIu64 " may", runs, may);
}

/* ---- the one or other home of the state ---- */

static bool lock(void *context, unsigned stripe)
{
    (void)context, (void)stripe;
    return true;
}

static void unlock(void *context, unsigned stripe)
{
    (void)context, (void)stripe;
}

static uint64_t owner_of(void *context)
{
    return ((const struct subject *)context)->owner;
}

static bool owner_lives(void *context, uint64_t owner)
{
    return owner > OWNERS || !((const struct subject *)context)->dead[owner];
}

/* False: the key has no slot, and none is free. */
static bool ask(struct subject *subject, struct key *key, const struct ask *ask, weir_decision *decision)
{
    uint32_t events = 0;
    if (subject->way == TABLE) {
        wide_ask(&subject->wide, key->hash, subject->rules, ask, decision, &events);
        return (events & TABLE_FULL) == 0;
    }
    if (subject->way != LIMITER) ask_rules(subject->rules, subject->state, ask, decision);
    else if (ask->peek) *decision = weir_peek(subject->limiter, ask->cost);
    else if (ask->charge) *decision = weir_charge(subject->limiter, ask->cost);
    else if (ask->some) *decision = weir_take_some(subject->limiter, ask->cost);
    else *decision = weir_take(subject->limiter, ask->cost);
    return true;
}

static bool hold(struct subject *subject, const struct key *key, uint64_t id, enum hold how)
{
    uint64_t count = 0;
    if (subject->way == LIMITER)
        return how == HOLD_RENEW ? weir_renew(subject->limiter, id) : weir_release(subject->limiter, id);
    if (subject->way != TABLE) count = decide_hold(subject->rules, subject->state, subject->now_ns, id, how);
    else wide_hold(&subject->wide, key->hash, subject->rules, subject->now_ns, id, how, &count);
    return count != 0;
}

/* ---- limits ---- */

static void write_limits(struct subject *subject, char text[TEXT_SIZE])
{
    static const uint64_t leases[] = {1000000000, 7, UINT64_C(3600000000000), 100000, 65536};
    static const char *const rates[] = {"10/s burst=3", "1000/s burst=2 catchup=1.5 algorithm=hybrid", "3/h",
                                        "5/s algorithm=sliding-log"};
    struct prop *prop = subject->prop;
    int length = 0;
    subject->count = 1 + prop_pick(prop, SLOTS_MAX);
    subject->lease_ns = leases[prop_pick(prop, 5)];
    const bool listed = subject->way == LISTED || (subject->way == BACK && prop_chance(prop, 2));
    const bool before = listed && prop_chance(prop, 2), after = listed && (!before || prop_chance(prop, 2));
    subject->holder = before;
    if (before) length = snprintf(text, TEXT_SIZE, "%s; ", rates[prop_pick(prop, 4)]);
    length += snprintf(text + length, TEXT_SIZE - (size_t)length, "%" PRIu64 " concurrent lease=%" PRIu64 "ns",
                       subject->count, subject->lease_ns);
    if (after) snprintf(text + length, TEXT_SIZE - (size_t)length, "; %s", rates[prop_pick(prop, 4)]);
    prop_note(prop, "at %" PRIu64 " \"%s\"", subject->now_ns, text);
    prop_check(prop, weir_plan_parse(&subject->plan, text, WEIR_ADMIT, NULL) == 0, "\"%s\" is refused", text);
    subject->rules = plan_rules(plan_inside_const(&subject->plan));
}

/* The others of the list, as a list of their own. */
static struct rules rates_of(const struct subject *subject, struct rule rule[WEIR_LIMITS_MAX])
{
    int count = 0;
    for (int i = 0; i < subject->rules.count; i++) {
        if (i != subject->holder) rule[count++] = subject->rules.rule[i];
    }
    return (struct rules){rule, count};
}

static void check_rates(const struct subject *subject)
{
    const size_t before = decide_words_before(subject->rules, subject->holder);
    const size_t behind = decide_words_before(subject->rules, subject->holder + 1);
    const size_t all = decide_words_before(subject->rules, subject->rules.count);
    const bool same = memcmp(subject->state, subject->rates, before * sizeof(uint64_t)) == 0 &&
                      memcmp(subject->state + behind, subject->rates + before, (all - behind) * sizeof(uint64_t)) == 0;
    prop_check(subject->prop, same, "the rates are not charged as they would be alone");
}

/* ---- a change ---- */

static int by_end_first(const struct key *key, int i, int j)
{
    return key->run[i].end_ns < key->run[j].end_ns ? i : j;
}

/* True if it is not said which of two slots stays. */
static bool is_tie(const struct subject *subject, const struct key *key, uint64_t count)
{
    bool tie = false;
    for (int i = 0; i < key->runs; i++) {
        uint64_t later = 0, same = 0;
        for (int j = 0; j < key->runs; j++) {
            const bool counts = key->run[j].id != 0 && key->run[j].end_ns > subject->now_ns;
            later += counts && key->run[j].end_ns > key->run[i].end_ns;
            same += counts && key->run[j].end_ns == key->run[i].end_ns && key->run[j].id != key->run[i].id;
        }
        tie = tie || (key->run[i].id != 0 && same != 0 && later < count);
    }
    return tie;
}

/* Those that end first lose their slots, and are all counted until the last of them ends. */
static void follow(const struct subject *subject, struct key *key)
{
    uint64_t slots = 0, until_ns = 0;
    sweep(subject, key);
    slots = slots_of(key, subject->now_ns);
    if (slots == running(key, subject->now_ns)) key->peak = 0;
    if (slots > subject->count || slots < running(key, subject->now_ns)) key->peak = most(key->peak, key->count);
    for (; slots > subject->count; slots--) {
        int first = -1;
        for (int i = 0; i < key->runs; i++) {
            if (key->run[i].id != 0) first = first < 0 ? i : by_end_first(key, i, first);
        }
        key->run[first].id = 0;
    }
    for (int i = 0; i < key->runs; i++) until_ns = key->run[i].id == 0 ? most(until_ns, key->run[i].end_ns) : until_ns;
    for (int i = 0; i < key->runs; i++) key->run[i].end_ns = key->run[i].id == 0 ? until_ns : key->run[i].end_ns;
    key->count = subject->count;
    key->lease_ns = subject->lease_ns;
}

static void change(struct subject *subject)
{
    struct key *key = &subject->key[0];
    const weir_carry how = (weir_carry)prop_pick(subject->prop, 3);
    const weir_plan before = subject->plan;
    const uint64_t count = subject->count, lease_ns = subject->lease_ns;
    uint64_t next[WORDS_MAX] = {0};
    char text[TEXT_SIZE];
    write_limits(subject, text);
    if (subject->way == TABLE) return; /* each key follows with its next call */
    if (is_tie(subject, key, subject->count)) {
        subject->plan = before;
        subject->count = count;
        subject->lease_ns = lease_ns;
        return;
    }
    if (subject->way == LIMITER) {
        prop_check(subject->prop, weir_set_limit(subject->limiter, text, how, NULL) == 0, "not changed");
    } else {
        const struct rules from = plan_rules(plan_inside_const(&before));
        struct rule *to = &plan_inside(&subject->plan)->rule[0];
        to->anchor_ns = subject->now_ns;
        algorithm_of(to)->carry(&from.rule[0], to, subject->state, next, tick_at(&from.rule[0], subject->now_ns), how);
        memcpy(subject->state, next, sizeof next);
    }
    if (how == WEIR_RESET) key->runs = 0;
    follow(subject, key);
}

/* ---- calls ---- */

static void free_dead(const struct subject *subject, struct key *key)
{
    int left = 0;
    for (int i = 0; i < key->runs; i++) {
        if (key->run[i].id == 0 || !subject->dead[key->run[i].owner]) key->run[left++] = key->run[i];
    }
    key->runs = left;
}

/* What is asked, and what slots and rates should say. */
struct expected {
    uint64_t wanted, taken, retry_ns;
    weir_decision of_rates;
    bool allowed, by_slots;
};

static struct expected expect(const struct subject *subject, const struct key *key, const struct ask *asked,
                              uint64_t rates[WORDS_MAX])
{
    struct rule rule[WEIR_LIMITS_MAX];
    const struct rules others = rates_of(subject, rule);
    const uint64_t now_ns = subject->now_ns, free = room(key, now_ns);
    struct ask alone = *asked;
    struct expected expected = {.wanted = asked->cost, .of_rates = {.verdict = WEIR_ALLOW, .start = {now_ns}}};
    memcpy(rates, subject->rates, WORDS_MAX * sizeof *rates);
    if (asked->some && asked->cost != 0) {
        const uint64_t passing = others.count != 0 ? decide_passing(others, rates, now_ns, asked->cost) : asked->cost;
        expected.wanted = least(most(least(passing, free), 1), asked->cost);
    }
    alone.some = false;
    alone.cost = expected.wanted;
    alone.end = NULL;
    if (others.count != 0) ask_rules(others, rates, &alone, &expected.of_rates);
    expected.by_slots = free < expected.wanted && !asked->charge;
    expected.allowed = !expected.by_slots && expected.of_rates.verdict == WEIR_ALLOW;
    expected.taken = least(expected.wanted, free);
    expected.retry_ns = expected.by_slots ? subtract_to_zero(free_from(key, now_ns, expected.wanted), now_ns) : 0;
    return expected;
}

/* On a copy of the state: nobody comes between. */
static void check_retry(const struct subject *subject, const struct ask *asked, const weir_decision *refused)
{
    uint64_t copy[WORDS_MAX];
    struct ask later = *asked;
    weir_decision decision;
    if (refused->retry_ns == WEIR_FOREVER || subject->way == TABLE || subject->way == LIMITER) return;
    for (uint64_t early = 0; early < 2; early++) {
        memcpy(copy, subject->state, sizeof copy);
        later.now_ns = subject->now_ns + refused->retry_ns - early;
        if (early > refused->retry_ns || later.now_ns == subject->now_ns) continue;
        ask_rules(subject->rules, copy, &later, &decision);
        prop_check(subject->prop, (decision.verdict == WEIR_ALLOW) == (early == 0),
                   "%" PRIu64 " ns after the refusal, whose retry is %" PRIu64 ": verdict %u",
                   later.now_ns - subject->now_ns, refused->retry_ns, decision.verdict);
    }
}

static void check_full(const struct subject *subject, const struct key *key, const weir_decision *decision)
{
    const uint64_t full_ns = plan_full_ns(subject->rules, decision), last_ns = last_end(key);
    if (slots_of(key, subject->now_ns) != running(key, subject->now_ns)) return; /* some have lost their slots */
    if (subject->way != ALONE || decision->verdict == WEIR_NEVER) return;
    /* What was carried may end after a lease of now. */
    if (last_ns > subject->now_ns + key->lease_ns) return;
    prop_check(subject->prop, subject->now_ns + full_ns >= last_ns, "full in %" PRIu64 ", the last ends at %" PRIu64,
               full_ns, last_ns);
    prop_check(subject->prop, full_ns == (decision->remaining == key->count ? 0 : key->lease_ns), "full in %" PRIu64,
               full_ns);
}

/* Of a list the id has taken the place of where the rate's slot ends; what remains says it to a permit. */
static void check_full_of_rate(const struct subject *subject, const struct expected *expected,
                               const weir_decision *decision)
{
    struct rule rule[WEIR_LIMITS_MAX];
    const struct rules others = rates_of(subject, rule);
    if (others.count != 1 || rule->algorithm != ALGORITHM_GCRA || (int)decision->limit == subject->holder) return;
    const uint64_t alone_ns = plan_full_ns(others, &expected->of_rates),
                   full_ns = plan_full_ns(subject->rules, decision);
    const uint64_t permit_ns = clock_ns_ago(rule, subject->now_ns, ticks_of(rule, 1));
    prop_check(subject->prop, full_ns >= alone_ns && full_ns - alone_ns <= permit_ns,
               "full in %" PRIu64 ", not %" PRIu64, full_ns, alone_ns);
}

static void check_refused(struct subject *subject, struct key *key, const struct ask *asked,
                          const struct expected *expected, const weir_decision *decision)
{
    const bool never = expected->wanted > key->count || expected->of_rates.verdict == WEIR_NEVER;
    prop_check(subject->prop, decision->verdict == (never ? WEIR_NEVER : WEIR_DENY), "refused with verdict %u",
               decision->verdict);
    if (never) return;
    prop_check(subject->prop, decision->retry_ns >= expected->retry_ns, "retry %" PRIu64 ", where slots need %" PRIu64,
               decision->retry_ns, expected->retry_ns);
    const bool exact = subject->rules.count == 1;
    prop_check(subject->prop, !exact || decision->retry_ns == expected->retry_ns, "retry %" PRIu64 ", not %" PRIu64,
               decision->retry_ns, expected->retry_ns);
    prop_check(subject->prop, !exact || decision->remaining == room(key, subject->now_ns), "remaining %" PRIu64,
               decision->remaining);
    prop_check(subject->prop, !exact || decision->end == 0, "a refusal has the id %" PRIu64, decision->end);
    check_retry(subject, asked, decision);
}

static void check_allowed(struct subject *subject, struct key *key, const struct ask *asked,
                          const struct expected *expected, const weir_decision *decision)
{
    const uint64_t free = room(key, subject->now_ns);
    prop_check(subject->prop, decision->start.ns == most(expected->of_rates.start.ns, subject->now_ns),
               "starts at %" PRIu64, decision->start.ns);
    if (subject->rules.count == 1) {
        prop_check(subject->prop, decision->remaining == free - expected->taken, "remaining %" PRIu64 " of %" PRIu64,
                   decision->remaining, free);
    }
    if (!asked->peek && !asked->charge) check_full_of_rate(subject, expected, decision);
    prop_check(subject->prop, asked->charge || asked->peek || decision->charged == expected->wanted, "charged %" PRIu64,
               decision->charged);
    if (asked->peek || expected->taken == 0) {
        prop_check(subject->prop, decision->end == 0, "the id %" PRIu64 " for nothing", decision->end);
        return;
    }
    note_id(subject, key, decision->end);
    enter(subject, key, decision->end, expected->taken, decision->start.ns);
}

static void remember(struct subject *subject, struct key *key, const struct ask *asked, const weir_decision *decision)
{
    struct call *call = &subject->call[subject->calls++ % CALLS_MAX];
    call->key = key;
    call->decision = *decision;
    call->cost = decision->charged;
    memcpy(call->end, asked->end, sizeof call->end);
}

static void take(struct subject *subject, struct key *key)
{
    struct prop *prop = subject->prop;
    uint64_t end[WEIR_LIMITS_MAX] = {0}, rates[WORDS_MAX];
    const uint64_t how = prop_pick(prop, 10);
    struct ask asked = {.now_ns = subject->now_ns,
                        .cost = prop_chance(prop, 2) ? 1 : prop_pick(prop, subject->count + 3),
                        .end = end,
                        .peek = how == 0,
                        .some = how == 1,
                        .charge = how == 2};
    if (subject->way == LISTED && prop_chance(prop, 3)) asked.wait_max_ns = prop_pick_size(prop, UINT64_C(1) << 42);
    weir_decision decision;
    if (!ask(subject, key, &asked, &decision)) return;
    struct key aside = *key;
    if (subject->way == TABLE) follow(subject, asked.peek ? &aside : key);
    struct key *seen = asked.peek ? &aside : key;
    struct expected expected = expect(subject, seen, &asked, rates);
    if (expected.by_slots && subject->way == TABLE && expected.wanted <= subject->count) {
        free_dead(subject, seen);
        expected = expect(subject, seen, &asked, rates);
    }
    prop_note(prop, "at %" PRIu64 " key %d: %s %" PRIu64 ": verdict %u, id %" PRIu64, subject->now_ns,
              (int)(key - subject->key),
              asked.peek     ? "peek"
              : asked.charge ? "charge"
                             : "take",
              asked.cost, decision.verdict, decision.end);
    prop_check(prop, (decision.verdict == WEIR_ALLOW) == expected.allowed,
               "verdict %u, with %" PRIu64 " free of %" PRIu64, decision.verdict, room(seen, subject->now_ns),
               seen->count);
    if (!expected.allowed) check_refused(subject, seen, &asked, &expected, &decision);
    else check_allowed(subject, seen, &asked, &expected, &decision);
    check_full(subject, seen, &decision);
    if (expected.allowed && !asked.peek) memcpy(subject->rates, rates, sizeof rates);
    if (expected.allowed && !asked.peek && !asked.charge) remember(subject, key, &asked, &decision);
}

/* ---- what becomes of it ---- */

static uint64_t pick_id(struct subject *subject, const struct key *key)
{
    struct prop *prop = subject->prop;
    const struct key *other = &subject->key[prop_pick(prop, (uint64_t)subject->keys)];
    if (prop_chance(prop, 8)) return prop_chance(prop, 2) ? 0 : prop_pick_size(prop, UINT64_MAX);
    if (prop_chance(prop, 4) && other->ids != 0) return other->id[prop_pick(prop, (uint64_t)other->ids)];
    return key->ids != 0 ? key->id[(uint64_t)key->ids - 1 - prop_pick(prop, least(8, (uint64_t)key->ids))] : 0;
}

static void renew_or_release(struct subject *subject, struct key *key)
{
    const uint64_t id = pick_id(subject, key);
    const enum hold how = prop_chance(subject->prop, 2) ? HOLD_RENEW : HOLD_RELEASE;
    const bool held = hold(subject, key, id, how);
    bool was_held = false;
    if (subject->way == TABLE) follow(subject, key);
    for (int i = 0; i < key->runs; i++) {
        struct run *run = &key->run[i];
        if (run->id == 0 || run->id != id || run->end_ns <= subject->now_ns) continue;
        was_held = true;
        run->end_ns = how == HOLD_RENEW ? most(run->end_ns, subject->now_ns + key->lease_ns) : 0;
    }
    prop_note(subject->prop, "at %" PRIu64 " key %d: %s %" PRIu64 ": %d", subject->now_ns, (int)(key - subject->key),
              how == HOLD_RENEW ? "renew" : "release", id, held);
    prop_check(subject->prop, held == was_held, "%s, and it was %sheld", held ? "done" : "not done",
               was_held ? "" : "not ");
}

static void settle_in(struct subject *subject, struct call *call, const uint64_t cost[], const uint64_t actual[])
{
    struct rule rule[WEIR_LIMITS_MAX];
    uint64_t end[WEIR_LIMITS_MAX];
    const uint64_t now_ns = subject->now_ns;
    if (subject->way == LIMITER) {
        weir_settle(subject->limiter, &call->decision, actual[0]);
    } else if (subject->way == TABLE) {
        wide_settle(&subject->wide, call->key->hash, subject->rules, now_ns, &call->decision, cost, actual, call->end);
    } else {
        const struct rules others = rates_of(subject, rule);
        for (int i = 0, j = 0; i < subject->rules.count; i++) {
            if (i != subject->holder) end[j++] = call->end[i];
        }
        decide_settle(subject->rules, subject->state, now_ns, &call->decision, cost, actual, call->end);
        if (others.count != 0) decide_settle(others, subject->rates, now_ns, &call->decision, cost, actual, end);
    }
}

/* Slots are given back whatever becomes of the rates; what is used beyond them has the same id. */
static void settle(struct subject *subject)
{
    struct prop *prop = subject->prop;
    struct call *call = &subject->call[prop_pick(prop, least((uint64_t)subject->calls, CALLS_MAX))];
    struct key *key = call->key;
    const uint64_t id = call->end[subject->holder] | call->decision.end, now_ns = subject->now_ns;
    uint64_t cost[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX];
    if (call->cost == 0 || id == 0 || (subject->way == TABLE && is_tie(subject, key, subject->count))) return;
    cost_alike(cost, WEIR_LIMITS_MAX, call->cost);
    uint64_t used = prop_chance(prop, 2) ? 0 : prop_pick(prop, call->cost + 3);
    const struct key before = *key;
    if (subject->way == TABLE) follow(subject, key);
    /* What has no slot in the table any more gets one only if there is room. */
    if (subject->way == TABLE && used > call->cost && running(key, now_ns) == 0) used = 0;
    if (subject->way == TABLE) *key = before;
    cost_alike(actual, WEIR_LIMITS_MAX, used);
    settle_in(subject, call, cost, actual);
    if (subject->way == TABLE) follow(subject, key);
    prop_note(prop, "at %" PRIu64 ": settle %" PRIu64 ", %" PRIu64 " of %" PRIu64, now_ns, id, used, call->cost);
    uint64_t unused = subtract_to_zero(call->cost, used);
    for (int i = 0; i < key->runs && unused != 0; i++) {
        if (key->run[i].id != id || key->run[i].end_ns <= now_ns) continue;
        key->run[i].end_ns = 0;
        unused--;
    }
    key->unseen += used > call->cost;
    const uint64_t owner = subject->owner;
    subject->owner = id % ID_STEP; /* of that call */
    enter(subject, key, id, least(subtract_to_zero(used, call->cost), room(key, now_ns)), now_ns);
    subject->owner = owner;
    call->cost = 0;
}

/* ---- forgetting ---- */

/* From idle on a fresh state is as good, and before that it is not. */
static void check_idle(struct subject *subject, const struct key *key)
{
    const struct rule *rule = &subject->rules.rule[0];
    const uint64_t idle_ns =
        ns_ceil(rule, algorithm_of(rule)->idle(rule, subject->state, tick_at(rule, subject->now_ns)));
    uint64_t fresh[WORDS_MAX] = {0}, last_ns = most(last_end(key), subject->now_ns);
    weir_decision decision;
    prop_check(subject->prop, running(key, idle_ns) == 0, "idle at %" PRIu64 ", while some run", idle_ns);
    ask_rules(subject->rules, fresh, &(struct ask){.now_ns = idle_ns, .cost = 1}, &decision);
    for (int i = 0; i < key->ids; i++) {
        prop_check(subject->prop, key->id[i] / ID_STEP < decision.end / ID_STEP,
                   "idle at %" PRIu64 ", and the id comes again", idle_ns);
        last_ns = most(last_ns, (key->id[i] / ID_STEP + 1) * ID_STEP);
    }
    last_ns += key->unseen * ID_STEP;
    prop_check(subject->prop, idle_ns <= last_ns, "idle at %" PRIu64 ", not at %" PRIu64, idle_ns, last_ns);
}

/* ---- any words ---- */

static void use_garbage(struct subject *subject)
{
    struct prop *prop = subject->prop;
    uint64_t next[WORDS_MAX] = {0}, count = prop_pick_size(prop, UINT64_MAX), id = prop_pick_size(prop, UINT64_MAX);
    weir_decision decision;
    for (uint64_t i = prop_pick(prop, 12); i > 0; i--) {
        const uint64_t high = UINT64_MAX - prop_pick(prop, 3), low = prop_pick_size(prop, UINT64_MAX);
        subject->state[prop_pick(prop, 4 + 2 * SLOTS_MAX)] = prop_chance(prop, 3) ? high : low;
    }
    subject->now_ns = prop_pick_size(prop, UINT64_MAX);
    const struct ask asked = {.now_ns = subject->now_ns,
                              .cost = prop_chance(prop, 2) ? prop_pick(prop, SLOTS_MAX + 2) : count,
                              .some = prop_chance(prop, 4),
                              .charge = prop_chance(prop, 4)};
    ask_rules(subject->rules, subject->state, &asked, &decision);
    prop_check(prop, decision.verdict >= WEIR_ALLOW && decision.verdict <= WEIR_NEVER, "verdict %u", decision.verdict);
    decide_hold(subject->rules, subject->state, prop_pick_size(prop, UINT64_MAX), id, HOLD_RENEW);
    decide_hold(subject->rules, subject->state, prop_pick_size(prop, UINT64_MAX), id >> 1, HOLD_RELEASE);
    const uint64_t actual = prop_pick_size(prop, UINT64_MAX);
    decide_settle(subject->rules, subject->state, subject->now_ns, &decision, &count, &actual, NULL);
    plan_full_ns(subject->rules, &decision);
    const struct rule from = subject->rules.rule[0];
    char text[TEXT_SIZE];
    write_limits(subject, text);
    algorithm_of(&from)->carry(&from, &subject->rules.rule[0], subject->state, next, subject->now_ns,
                               (weir_carry)prop_pick(prop, 3));
    memcpy(subject->state, next, sizeof next);
}

/* ---- time ---- */

static void move_clock(struct subject *subject)
{
    struct prop *prop = subject->prop;
    const struct key *key = &subject->key[prop_pick(prop, (uint64_t)subject->keys)];
    const uint64_t lease_ns = subject->lease_ns, how = prop_pick(prop, 8);
    uint64_t pause_ns = 0;
    if (how == 3) pause_ns = prop_pick(prop, lease_ns + 1);
    else if (how == 4) pause_ns = lease_ns - prop_pick(prop, 2);
    else if (how == 5) pause_ns = prop_pick_size(prop, ID_STEP);
    else if (how == 6) pause_ns = prop_pick_size(prop, lease_ns * 3);
    else if (how == 7) pause_ns = subtract_to_zero(last_end(key), subject->now_ns);
    if (subject->way == BACK && prop_chance(prop, 4)) {
        subject->now_ns -= least(pause_ns, subject->now_ns);
        return;
    }
    subject->now_ns += pause_ns;
    subject->latest_ns = most(subject->latest_ns, subject->now_ns);
    if (subject->way == LIMITER) weir_manual_set(subject->limiter, (weir_instant){subject->now_ns});
}

/* Of a clock that goes back only what must never be: too many by the latest time, a retry that is wrong, an id that
   comes again or is held when it was released. */
static void step_back(struct subject *subject)
{
    struct prop *prop = subject->prop;
    struct key *key = &subject->key[0];
    const uint64_t id = pick_id(subject, key), what = prop_pick(prop, 6);
    if (what < 4) {
        const struct ask asked = {.now_ns = subject->now_ns, .cost = prop_pick(prop, subject->count + 2)};
        weir_decision decision;
        ask_rules(subject->rules, subject->state, &asked, &decision);
        prop_note(prop, "at %" PRIu64 ": take %" PRIu64 ": verdict %u, id %" PRIu64, subject->now_ns, asked.cost,
                  decision.verdict, decision.end);
        if (decision.verdict == WEIR_DENY) check_retry(subject, &asked, &decision);
        if (decision.verdict != WEIR_ALLOW || asked.cost == 0) return;
        note_id(subject, key, decision.end);
        enter(subject, key, decision.end, asked.cost, subject->now_ns);
        return;
    }
    /* Of those that were over at a later time some have lost their slot to others. */
    uint64_t held =
        decide_hold(subject->rules, subject->state, subject->now_ns, id, what == 4 ? HOLD_RENEW : HOLD_RELEASE);
    bool known = held == 0;
    prop_note(prop, "at %" PRIu64 ": %s %" PRIu64 ": %" PRIu64, subject->now_ns, what == 4 ? "renew" : "release", id,
              held);
    for (int i = 0; i < key->runs; i++) {
        struct run *run = &key->run[i];
        if (run->id != id || id == 0) continue;
        known = known || run->end_ns > subject->now_ns;
        if (held-- == 0) break;
        run->end_ns = what == 4 ? most(run->end_ns, subject->now_ns + key->lease_ns) : 0;
    }
    prop_check(prop, known, "%" PRIu64 " is held, and was released or over", id);
    int left = 0;
    for (int i = 0; i < key->runs; i++) {
        if (key->run[i].end_ns != 0) key->run[left++] = key->run[i];
    }
    key->runs = left;
}

static void step(struct subject *subject)
{
    struct prop *prop = subject->prop;
    struct key *key = &subject->key[prop_pick(prop, (uint64_t)subject->keys)];
    const uint64_t what = prop_pick(prop, 16);
    move_clock(subject);
    if (subject->way == TABLE) subject->owner = 1 + prop_pick(prop, OWNERS);
    if (subject->way == TABLE && (subject->dead[subject->owner] || is_tie(subject, key, subject->count))) return;
    if (what == 15 && subject->way == TABLE && subject->owner != OWNERS) subject->dead[subject->owner] = true;
    else if (what == 14 && subject->way != LISTED) change(subject);
    else if (what >= 11 && subject->calls != 0) settle(subject);
    else if (what >= 7) renew_or_release(subject, key);
    else take(subject, key);
    if (subject->way == ALONE) check_idle(subject, key);
    if (subject->way == LISTED) check_rates(subject);
    for (int i = 0; i < subject->keys; i++) {
        if (subject->key[i].runs > RUN_MAX / 2) sweep(subject, &subject->key[i]);
    }
}

static void begin_table(struct subject *subject)
{
    struct wide *wide = &subject->wide;
    memset(memory, 0, sizeof memory);
    wide->kept = prop_pick(subject->prop, 2) == 1;
    wide->when_full = TABLE_DENY;
    const uint64_t bytes =
        wide_bytes(1 + prop_pick(subject->prop, 2), 4 + 2 * SLOTS_MAX, wide->kept, &wide->slots, &wide->slot_words);
    prop_check(subject->prop, bytes <= sizeof memory, "%" PRIu64 " bytes", bytes);
    wide->plan_sets = wide_sets_in(bytes);
    wide->memory = memory;
    wide->paper = paper;
    wide->lock = lock;
    wide->unlock = unlock;
    wide->owner = owner_of;
    wide->owner_lives = owner_lives;
    wide->owners = subject;
    wide->context = subject;
}

static void begin(struct prop *prop, struct subject *subject)
{
    weir_options options = WEIR_OPTIONS;
    char text[TEXT_SIZE];
    memset(subject, 0, sizeof *subject);
    subject->prop = prop;
    subject->way = (enum way)prop_pick(prop, WAYS);
    subject->now_ns = subject->latest_ns =
        prop_pick(prop, 2) == 0 ? 1000000 : prop_pick_size(prop, UINT64_C(1) << 60) + 1;
    options.clock = WEIR_CLOCK_MANUAL;
    write_limits(subject, text);
    subject->keys = subject->way == TABLE ? KEYS_MAX : 1;
    if (subject->way == TABLE) begin_table(subject);
    if (subject->way == LIMITER) {
        prop_check(prop, weir_open(&subject->limiter, text, &options, NULL) == 0, "\"%s\" is refused", text);
        weir_manual_set(subject->limiter, (weir_instant){subject->now_ns});
    }
    for (int i = 0; i < subject->keys; i++) {
        subject->key[i].hash = ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        subject->key[i].count = subject->count;
        subject->key[i].lease_ns = subject->lease_ns;
    }
}

static void concurrent_property(struct prop *prop)
{
    static struct subject subject;
    begin(prop, &subject);
    while (prop_more(prop, STEPS_MEAN) && subject.key[0].ids < IDS_MAX - 1 &&
           subject.key[0].runs < RUN_MAX - SLOTS_MAX) {
        prop_step(prop);
        if (subject.way == GARBAGE) {
            use_garbage(&subject);
        } else if (subject.way == BACK) {
            move_clock(&subject);
            step_back(&subject);
        } else {
            step(&subject);
        }
    }
    weir_close(subject.limiter);
}

PROPERTY("concurrent", concurrent_property, 40000);
