/* SPDX-License-Identifier: MIT
   A state of several words for each key, in memory of a fixed size.

   A key belongs to one bucket and may be in any slot of it.  So buckets are large, and a lock covers a whole bucket.

       memory   | plans | unused | bucket | bucket | ...            stripe of a bucket: its number modulo WIDE_STRIPES
       bucket   | floor | tag, tag, ... 0 = free | slot | slot | ... |
       slot     | fingerprint, idle_at, state ... |                  kept: twice, the tag's lowest bit says which counts

   From idle_at on a fresh state is as good as this one, so then the slot may be given to another key.

   A process that dies while it writes has written to the copy that does not count: one store of the tag makes that copy
   count, for the same key or a new one.  So there is nothing to repair.

   A key that finds no idle slot in its bucket may inherit the slot that becomes idle first, with the state in it; the
   previous owner then has none.  If that owner came back and found a slot that has become idle meanwhile, it would
   start fresh and its debt would be lost.  So the bucket keeps its floor, the latest time at which any state that was
   taken over becomes idle, and until then it gives no slot away as fresh.

   A key with a part goes to its part when its bucket of the table is full.  Both buckets are checked under both locks,
   the table's first, so the key has one state.  Keys are displaced only within their part, so one floor bounds what
   such a key may owe.

   A process that is stopped while it holds a lock stops no other: a lock that cannot be had in time is a refusal.

   A state records the fingerprint of the rules it was written under.  When the rules change, the old ones, if they are
   still known, say how to carry it over.

   Any bytes in the memory give some answer, and a key that keeps its slot is never freer than decide() would have it.
   With TABLE_INHERIT an heir's state becomes idle no earlier than that of the owner that lost its slot: so no debt is
   lost of linear buckets, and of windows and logs the keys of a bucket together pass no more than its slots allow. */
#include "share/table/wide.h"

#include <string.h>

#include "core/algorithm/concurrent.h"
#include "core/num.h"
#include "share/table/wide_layout.h"
#include "share/table/wide_state.h"

_Static_assert(sizeof(struct atom) == sizeof(uint64_t), "a tag is a word");

static struct wide_plans plans_of(const struct wide *table)
{
    return wide_plans_at(table->memory, table->plan_sets);
}

static uint64_t bucket_number(const struct wide *table, uint64_t hash)
{
    return multiply_shift_floor(hash, table->slots / wide_bucket_slots(table), 64);
}

unsigned wide_stripe(const struct wide *table, uint64_t hash)
{
    return (unsigned)(bucket_number(table, hash) % WIDE_STRIPES);
}

/* A bucket whose lock is held. */
struct wide_bucket {
    const struct wide *table;
    uint64_t *word;
    uint64_t tag; /* of the key of the call, its lowest bit 0 */
    unsigned stripe;
};

static struct wide_bucket wide_bucket_at(const struct wide *table, uint64_t number)
{
    const uint64_t before =
        wide_plans_bytes(table->plan_sets) / sizeof(uint64_t) + wide_whole_lines(wide_capacity(table));
    uint64_t *first = table->part != NULL ? table->part : (uint64_t *)table->memory + before;
    return (struct wide_bucket){
        .table = table, .word = first + number * wide_bucket_words(table), .stripe = (unsigned)(number % WIDE_STRIPES)};
}

static bool open_bucket(struct wide_bucket *bucket, const struct wide *table, uint64_t hash)
{
    *bucket = wide_bucket_at(table, bucket_number(table, hash));
    bucket->tag = most(hash & ~UINT64_C(1), 2);
    return table->lock(table->context, bucket->stripe);
}

static void close_bucket(const struct wide_bucket *bucket)
{
    bucket->table->unlock(bucket->table->context, bucket->stripe);
}

/* One slot: the copy that counts, and the copy to write. */
struct seat {
    struct atom *tag; /* NULL: there is none */
    uint64_t *now, *next;
    uint64_t next_is; /* the lowest bit of a tag that makes the other copy count */
};

static struct seat seat_of(const struct wide_bucket *bucket, uint64_t slot)
{
    const struct wide *table = bucket->table;
    struct atom *tag = (struct atom *)(void *)(bucket->word + TAGS) + slot;
    uint64_t *copy = bucket->word + TAGS + wide_bucket_slots(table) + slot * (table->slot_words - TAG_WORDS);
    if (!table->kept) return (struct seat){.tag = tag, .now = copy, .next = copy};
    const uint64_t second = atom_load(tag) & 1;
    uint64_t *other = copy + wide_copy_words(table);
    return (struct seat){tag, second ? other : copy, second ? copy : other, second ^ 1};
}

static struct seat find(const struct wide_bucket *bucket)
{
    const struct atom *tag = (const struct atom *)(const void *)(bucket->word + TAGS);
    for (uint64_t slot = 0; slot < wide_bucket_slots(bucket->table); slot++) {
        if ((atom_load(&tag[slot]) & ~UINT64_C(1)) == bucket->tag) return seat_of(bucket, slot);
    }
    return (struct seat){.tag = NULL};
}

static bool has_no_key(const struct seat *seat)
{
    return atom_load(seat->tag) == 0;
}

static bool seat_is_taken(const struct seat *seat, uint64_t now_ns)
{
    return !has_no_key(seat) && seat->now[IDLE_AT] > now_ns;
}

/* A slot that no key ever had is preferred. */
static struct seat find_idle(const struct wide_bucket *bucket, uint64_t now_ns)
{
    struct seat idle = {.tag = NULL};
    for (uint64_t slot = 0; bucket->word[FLOOR] <= now_ns && slot < wide_bucket_slots(bucket->table); slot++) {
        const struct seat seat = seat_of(bucket, slot);
        if (has_no_key(&seat)) return seat;
        if (idle.tag == NULL && !seat_is_taken(&seat, now_ns)) idle = seat;
    }
    return idle;
}

/* Of the states in use, the one that becomes idle first, but not before from_ns; fingerprint 0: any. */
static struct seat find_first(const struct wide_bucket *bucket, uint64_t now_ns, uint64_t from_ns, uint64_t fingerprint)
{
    struct seat first = {.tag = NULL};
    for (uint64_t slot = 0; slot < wide_bucket_slots(bucket->table); slot++) {
        const struct seat seat = seat_of(bucket, slot);
        if (!seat_is_taken(&seat, now_ns) || seat.now[IDLE_AT] < from_ns) continue;
        if (fingerprint != 0 && seat.now[FINGERPRINT] != fingerprint) continue;
        if (first.tag == NULL || seat.now[IDLE_AT] < first.now[IDLE_AT]) first = seat;
    }
    return first;
}

/* ---- one call ---- */

struct wide_held {
    uint64_t id, *count;
    enum hold hold;
};

/* A decision; if `ask` is NULL, a settlement, or what becomes of slots that are held. */
struct wide_call {
    struct wide *table;
    struct rules rules;
    uint64_t words, fingerprint, now_ns;
    const struct ask *ask;
    int limit;               /* of a peek: this limit alone; or ALL */
    weir_decision *decision; /* of a settlement: the decision that is settled */
    const uint64_t *cost, *actual, *end;
    uint32_t *events;
    const struct wide_held *held; /* of slots that are held: what becomes of them */
};

enum { ALL = -1 };

static struct wide_call call_of(struct wide *table, struct rules rules, uint64_t now_ns, uint32_t *events)
{
    *events = 0;
    return (struct wide_call){.table = table,
                              .rules = rules,
                              .words = wide_state_words(rules),
                              .fingerprint = wide_fingerprint(rules),
                              .now_ns = now_ns,
                              .events = events};
}

static bool peeks(const struct wide_call *call)
{
    return call->ask != NULL && call->ask->peek && !call->ask->charge;
}

/* Asks; what owners hold that have died meanwhile is free.  What was taken has an owner from now on. */
static void ask_owned(const struct wide_call *call, uint64_t *state, int holder)
{
    const struct wide *table = call->table;
    const struct rule *rule = &call->rules.rule[holder];
    uint64_t *slots = state + decide_words_before(call->rules, holder);
    weir_decision *decision = call->decision;
    ask_rules(call->rules, state, call->ask, decision);
    const bool refused = decision->verdict == WEIR_DENY && decision->limit == (uint32_t)holder;
    if (refused && concurrent_disown(rule, slots, call->now_ns, table->owner_lives, table->owners) != 0)
        ask_rules(call->rules, state, call->ask, decision);
    if (decision->verdict != WEIR_ALLOW || call->ask->peek) return;
    decision->end = concurrent_own(rule, slots, decision->end, table->owner(table->owners));
    if (call->ask->end != NULL) call->ask->end[holder] = decision->end;
}

/* own: the decision was made on this state. */
static void apply(const struct wide_call *call, uint64_t *state, bool own)
{
    uint64_t used[WEIR_LIMITS_MAX];
    if (call->held != NULL) {
        *call->held->count = decide_hold(call->rules, state, call->now_ns, call->held->id, call->held->hold);
        return;
    }
    if (call->ask != NULL) {
        const bool all = call->limit == ALL;
        const int holder = all && call->table->owner != NULL ? decide_holder(call->rules) : -1;
        if (holder >= 0) {
            ask_owned(call, state, holder);
            return;
        }
        const struct rules one = {&call->rules.rule[all ? 0 : call->limit], 1};
        state += all ? 0 : decide_words_before(call->rules, call->limit);
        ask_rules(all ? call->rules : one, state, call->ask, call->decision);
        return;
    }
    for (int i = 0; i < call->rules.count; i++) {
        const bool gives = own || call->rules.rule[i].algorithm == ALGORITHM_CONCURRENT; /* by its id */
        used[i] = gives ? call->actual[i] : most(call->actual[i], call->cost[i]);
    }
    decide_settle(call->rules, state, call->now_ns, call->decision, call->cost, used, call->end);
}

static bool allows(const struct wide_call *call)
{
    return call->ask != NULL && call->decision->verdict == WEIR_ALLOW;
}

static void refuse_stuck(const struct wide_call *call)
{
    *call->events |= TABLE_STUCK;
    if (call->ask != NULL) wide_stuck(call->decision, call->now_ns);
}

/* Scratch words for a state: these here if they are enough, otherwise those of the process, under a lock. */
struct paper {
    uint64_t *state;
    uint64_t here[LIST_WORDS_MAX];
};

static bool borrow_paper(struct paper *paper, const struct wide_call *call)
{
    const bool here = call->words <= LIST_WORDS_MAX;
    if (!here && !call->table->lock(call->table->context, WIDE_PAPER)) {
        refuse_stuck(call);
        return false;
    }
    paper->state = here ? paper->here : call->table->paper;
    memset(paper->state, 0, call->words * sizeof(uint64_t));
    return true;
}

static void return_paper(const struct paper *paper, const struct wide_call *call)
{
    if (paper->state != paper->here) call->table->unlock(call->table->context, WIDE_PAPER);
}

/* Stores this state in the slot: atomically if there is another copy that counted so far. */
static void put_state(const struct wide_call *call, const struct wide_bucket *bucket, const struct seat *seat,
                      const uint64_t *state)
{
    seat->next[FINGERPRINT] = call->fingerprint;
    seat->next[IDLE_AT] = wide_state_idle_ns(call->rules, state, call->now_ns);
    if (state != seat->next + STATE) memcpy(seat->next + STATE, state, call->words * sizeof(uint64_t));
    atom_store_release(seat->tag, bucket->tag | seat->next_is);
}

static bool differs(const struct wide_call *call, const uint64_t *state, const uint64_t *before)
{
    return memcmp(state, before, call->words * sizeof(uint64_t)) != 0;
}

/* ---- a key that has a slot ---- */

/* Applies the call to a copy of the state `before`, or to a fresh one. */
static void apply_to(const struct wide_call *call, uint64_t *state, const uint64_t *before)
{
    if (before != NULL) memcpy(state, before, call->words * sizeof(uint64_t));
    else memset(state, 0, call->words * sizeof(uint64_t));
    apply(call, state, true);
}

/* A fresh state is no freer than an idle one.  So if it allows what an idle one refuses, the idle one was damaged in
   its file, could refuse for ever, and is discarded.  But the cycles of the idle state begin where they did, and those
   of a fresh one may begin sooner, so a call that has to wait proves nothing.  False: the state is sound. */
static bool begin_state_anew(const struct wide_call *call, const struct seat *seat, uint64_t *state)
{
    const bool refused = call->ask != NULL && call->decision->verdict == WEIR_DENY;
    if (!refused || seat->now[IDLE_AT] > call->now_ns) return false;
    apply_to(call, state, NULL);
    if (allows(call) && call->decision->delay_ns == 0) return true;
    apply_to(call, state, seat->now + STATE);
    return false;
}

static void go_on_kept(const struct wide_call *call, const struct wide_bucket *bucket, const struct seat *seat)
{
    uint64_t *before = seat->now + STATE, *state = seat->next + STATE;
    apply_to(call, state, before);
    const bool anew = begin_state_anew(call, seat, state);
    if (!peeks(call) && (anew || differs(call, state, before))) put_state(call, bucket, seat, state);
}

/* To a peek, too, what dead owners hold is free; but it leaves it as it is. */
static void peek_aside(const struct wide_call *call, const struct seat *seat)
{
    struct paper paper;
    if (!borrow_paper(&paper, call)) return;
    apply_to(call, paper.state, seat->now + STATE);
    return_paper(&paper, call);
}

static void go_on(const struct wide_call *call, const struct wide_bucket *bucket, const struct seat *seat)
{
    if (call->table->kept) {
        go_on_kept(call, bucket, seat);
        return;
    }
    if (peeks(call) && decide_holder(call->rules) >= 0) {
        peek_aside(call, seat);
        return;
    }
    apply(call, seat->now + STATE, true);
    if (!peeks(call)) put_state(call, bucket, seat, seat->now + STATE);
}

/* The rules that this state was written under.  Their count is 0 if they are not known, or if there is nothing to carry
   over.  false: a lock could not be had. */
static bool written_under(const struct wide_call *call, const struct seat *seat, struct wide_plan *known,
                          struct rules *from)
{
    struct wide *table = call->table;
    *from = (struct rules){known->rule, 0};
    if (seat->now[IDLE_AT] <= call->now_ns) return true;
    if (!table->lock(table->context, WIDE_PLANS)) return false;
    const bool found = wide_plans_find(plans_of(table), seat->now[FINGERPRINT], known);
    table->unlock(table->context, WIDE_PLANS);
    if (found) from->count = (int)known->count;
    if (wide_state_words(*from) > wide_capacity(table)) from->count = 0;
    return true;
}

static void go_on_changed(const struct wide_call *call, const struct wide_bucket *bucket, const struct seat *seat)
{
    struct wide_plan known;
    struct paper paper;
    struct rules from;
    if (!written_under(call, seat, &known, &from)) {
        refuse_stuck(call);
        return;
    }
    if (!borrow_paper(&paper, call)) return;
    wide_state_carry(from, call->rules, seat->now + STATE, paper.state, call->now_ns);
    apply(call, paper.state, false);
    if (!peeks(call)) put_state(call, bucket, seat, paper.state);
    return_paper(&paper, call);
}

/* ---- a key without a slot ---- */

static void deny(const struct wide_call *call, const struct wide_bucket *bucket)
{
    const struct seat first = find_first(bucket, call->now_ns, 0, 0);
    uint64_t until_ns = bucket->word[FLOOR];
    if (first.tag != NULL && until_ns <= call->now_ns) until_ns = first.now[IDLE_AT];
    const uint64_t retry_ns = until_ns == UINT64_MAX ? WEIR_FOREVER : most(subtract_to_zero(until_ns, call->now_ns), 1);
    *call->decision = (weir_decision){.verdict = WEIR_DENY, .start = {call->now_ns}, .retry_ns = retry_ns};
}

static void evict(const struct wide_call *call, const struct wide_bucket *bucket, const uint64_t *state)
{
    const struct seat first = find_first(bucket, call->now_ns, 0, 0);
    if (!wide_state_touched(state, call->words) || peeks(call) || first.tag == NULL) return;
    put_state(call, bucket, &first, state);
    *call->events |= TABLE_DISPLACED;
}

/* False: there is no slot to inherit. */
static bool inherit(const struct wide_call *call, struct wide_bucket *bucket, uint64_t *state)
{
    const struct seat heir = find_first(bucket, call->now_ns, bucket->word[FLOOR], call->fingerprint);
    if (heir.tag == NULL) return false;
    memcpy(state, heir.now + STATE, call->words * sizeof(uint64_t));
    apply(call, state, false);
    if (peeks(call) || !differs(call, state, heir.now + STATE)) return true;
    bucket->word[FLOOR] = heir.now[IDLE_AT];
    put_state(call, bucket, &heir, state);
    *call->events |= TABLE_DISPLACED;
    return true;
}

static void begin_full(const struct wide_call *call, struct wide_bucket *bucket, uint64_t *state)
{
    const bool leaves = wide_state_touched(state, call->words) && !peeks(call);
    if (!leaves && !allows(call)) return;
    *call->events |= TABLE_FULL;
    const enum table_when_full how = call->table->when_full;
    if (how == TABLE_EVICT) evict(call, bucket, state);
    const bool denied = how == TABLE_DENY || (how == TABLE_INHERIT && !inherit(call, bucket, state));
    if (denied && allows(call)) deny(call, bucket);
}

static void begin_state(const struct wide_call *call, struct wide_bucket *bucket)
{
    struct paper paper;
    const struct seat idle = find_idle(bucket, call->now_ns);
    if (!borrow_paper(&paper, call)) return;
    apply(call, paper.state, false);
    if (idle.tag == NULL) {
        begin_full(call, bucket, paper.state);
    } else if (!peeks(call) && wide_state_touched(paper.state, call->words)) {
        put_state(call, bucket, &idle, paper.state);
        *call->events |= TABLE_NEW;
    }
    return_paper(&paper, call);
}

/* ---- calls ---- */

/* false: a lock could not be had. */
static bool remember(struct wide *table, uint64_t fingerprint, struct rules rules)
{
    if (wide_plans_know(plans_of(table), fingerprint)) return true;
    if (!table->lock(table->context, WIDE_PLANS)) return false;
    wide_plans_remember(plans_of(table), fingerprint, rules);
    table->unlock(table->context, WIDE_PLANS);
    return true;
}

/* The bucket for a key in the table, and if the key is not in it, the bucket in its part. */
struct places {
    struct wide_bucket usual, part;
    bool both;
};

/* Finds the slot of the key; *seat has no tag if there is none.  false: a lock could not be had, and none is held. */
static inline bool open_places(struct places *places, const struct wide *table, uint64_t hash, struct seat *seat)
{
    if (!open_bucket(&places->usual, table->beside != NULL ? table->beside : table, hash)) return false;
    *seat = find(&places->usual);
    places->both = seat->tag == NULL && table->beside != NULL;
    if (!places->both) return true;
    if (!open_bucket(&places->part, table, hash)) {
        close_bucket(&places->usual);
        return false;
    }
    *seat = find(&places->part);
    return true;
}

/* The bucket of a key that has a slot. */
static inline struct wide_bucket *place_of(struct places *places)
{
    return places->both ? &places->part : &places->usual;
}

static inline void close_places(const struct places *places)
{
    if (places->both) close_bucket(&places->part);
    close_bucket(&places->usual);
}

/* The bucket for a new key: in the table if it has room there, or may be a key that was displaced there. */
static struct wide_bucket *choose_place(struct places *places, uint64_t now_ns)
{
    struct wide_bucket *usual = &places->usual;
    if (!places->both || usual->word[FLOOR] > now_ns) return usual;
    return places->part.word[FLOOR] <= now_ns && find_idle(usual, now_ns).tag != NULL ? usual : &places->part;
}

static bool ask_some(struct wide *table, uint64_t hash, struct rules rules, int limit, const struct ask *ask,
                     weir_decision *decision, uint32_t *events)
{
    struct wide_call call = call_of(table, rules, ask->now_ns, events);
    call.ask = ask;
    call.limit = limit;
    call.decision = decision;
    struct places places;
    struct seat seat;
    if (call.words > wide_capacity(table)) return false;
    const bool known = ask->peek || remember(table, call.fingerprint, rules);
    if (!known || !open_places(&places, table, hash, &seat)) {
        refuse_stuck(&call);
        return true;
    }
    if (seat.tag == NULL) begin_state(&call, choose_place(&places, call.now_ns));
    else if (seat.now[FINGERPRINT] == call.fingerprint) go_on(&call, place_of(&places), &seat);
    else go_on_changed(&call, place_of(&places), &seat);
    close_places(&places);
    return true;
}

bool wide_ask(struct wide *table, uint64_t hash, struct rules rules, const struct ask *ask, weir_decision *decision,
              uint32_t *events)
{
    return ask_some(table, hash, rules, ALL, ask, decision, events);
}

bool wide_peek_limit(struct wide *table, uint64_t hash, struct rules rules, int limit, const struct ask *ask,
                     weir_decision *decision)
{
    uint32_t events;
    return ask_some(table, hash, rules, limit, ask, decision, &events);
}

bool wide_settle(struct wide *table, uint64_t hash, struct rules rules, uint64_t now_ns, const weir_decision *decision,
                 const uint64_t cost[], const uint64_t actual[], const uint64_t end[])
{
    uint32_t events;
    weir_decision copy = *decision;
    struct wide_call call = call_of(table, rules, now_ns, &events);
    call.decision = &copy;
    call.cost = cost;
    call.actual = actual;
    call.end = end;
    struct places places;
    struct seat seat;
    bool more = false, holds = decide_holder(rules) >= 0;
    for (int i = 0; i < rules.count; i++) more = more || actual[i] > cost[i];
    if (call.words > wide_capacity(table)) return true;
    if ((more || holds) && !remember(table, call.fingerprint, rules)) return false;
    if (!open_places(&places, table, hash, &seat)) return false;
    if (seat.tag != NULL && seat.now[FINGERPRINT] == call.fingerprint) go_on(&call, place_of(&places), &seat);
    else if ((more || holds) && seat.tag != NULL) go_on_changed(&call, place_of(&places), &seat);
    else if (more) begin_state(&call, choose_place(&places, call.now_ns));
    close_places(&places);
    return (events & TABLE_STUCK) == 0;
}

bool wide_hold(struct wide *table, uint64_t hash, struct rules rules, uint64_t now_ns, uint64_t id, enum hold hold,
               uint64_t *count)
{
    uint32_t events;
    const struct wide_held held = {id, count, hold};
    struct wide_call call = call_of(table, rules, now_ns, &events);
    call.held = &held;
    struct places places;
    struct seat seat;
    *count = 0;
    if (call.words > wide_capacity(table)) return true;
    if (!open_places(&places, table, hash, &seat)) return false;
    const bool own = seat.tag != NULL && seat.now[FINGERPRINT] == call.fingerprint;
    if (own) go_on(&call, place_of(&places), &seat);
    else if (seat.tag != NULL && !remember(table, call.fingerprint, rules)) refuse_stuck(&call);
    else if (seat.tag != NULL) go_on_changed(&call, place_of(&places), &seat);
    close_places(&places);
    return (events & TABLE_STUCK) == 0;
}

void wide_forget(struct wide *table, uint64_t hash)
{
    struct places places;
    struct seat seat;
    if (!open_places(&places, table, hash, &seat)) return;
    if (seat.tag != NULL) atom_store(seat.tag, 0);
    close_places(&places);
}

uint64_t wide_live(struct wide *table, uint64_t now_ns)
{
    uint64_t live = 0;
    for (uint64_t number = 0; number < table->slots / wide_bucket_slots(table); number++) {
        const struct wide_bucket bucket = wide_bucket_at(table, number);
        if (!table->lock(table->context, bucket.stripe)) continue;
        for (uint64_t slot = 0; slot < wide_bucket_slots(table); slot++) {
            const struct seat seat = seat_of(&bucket, slot);
            live += seat_is_taken(&seat, now_ns);
        }
        close_bucket(&bucket);
    }
    return live;
}
