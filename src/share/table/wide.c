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

#include "core/num.h"
#include "share/table/wide_state.h"

enum { BUCKET_SLOTS = 64, LINE_WORDS = 8, FLOOR = 0, TAGS = 1, TAG_WORDS = 1 };
enum { FINGERPRINT, IDLE_AT, STATE /* of a copy */ };
enum { KEYS_IN_SLOTS = 16, SLOTS_FOR_KEYS = 25 }; /* so that a bucket is rarely full: 1 new key in 1000 finds no slot */
enum { SLOTS_FOR_PART_KEY = 2 };

_Static_assert(sizeof(struct atom) == sizeof(uint64_t), "a tag is a word");

/* ---- the layout ---- */

static uint64_t whole_lines(uint64_t words)
{
    return add_saturating(words, LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS;
}

static uint64_t state_copies(const struct wide *table)
{
    return table->kept ? 2 : 1;
}

static uint64_t copy_words(const struct wide *table)
{
    return (table->slot_words - TAG_WORDS) / state_copies(table);
}

/* The most words of state that fit a slot. */
static uint64_t capacity(const struct wide *table)
{
    return copy_words(table) - STATE;
}

static uint64_t bucket_slots(const struct wide *table)
{
    return least(table->slots, BUCKET_SLOTS);
}

static uint64_t bucket_words(const struct wide *table)
{
    return whole_lines(TAGS + bucket_slots(table) * table->slot_words);
}

static struct wide_plans plans_of(const struct wide *table)
{
    return wide_plans_at(table->memory, table->plan_sets);
}

uint64_t wide_bytes(uint64_t keys_max, uint64_t state_words, bool kept, uint64_t *slots, uint64_t *slot_words)
{
    const uint64_t copy = add_saturating(STATE, state_words);
    const uint64_t buckets = multiply_divide_ceil(keys_max, SLOTS_FOR_KEYS, KEYS_IN_SLOTS * (uint64_t)BUCKET_SLOTS);
    *slots = keys_max <= BUCKET_SLOTS ? most(keys_max, 1) : multiply_saturating(buckets, BUCKET_SLOTS);
    *slot_words = add_saturating(TAG_WORDS, multiply_saturating(copy, kept ? 2 : 1));
    const uint64_t in_bucket = least(*slots, BUCKET_SLOTS);
    const uint64_t bucket = whole_lines(add_saturating(TAGS, multiply_saturating(in_bucket, *slot_words)));
    const uint64_t all = add_saturating(whole_lines(state_words), multiply_saturating(*slots / in_bucket, bucket));
    const uint64_t bytes = multiply_saturating(all, sizeof(uint64_t));
    return add_saturating(wide_plans_bytes(wide_sets_beside(bytes)), bytes);
}

uint64_t wide_part_slots(uint64_t keys)
{
    const uint64_t buckets = multiply_divide_ceil(keys, SLOTS_FOR_PART_KEY, BUCKET_SLOTS);
    return keys <= BUCKET_SLOTS ? most(keys, 1) : multiply_saturating(buckets, BUCKET_SLOTS);
}

uint64_t wide_part_bytes(const struct wide *table, uint64_t slots)
{
    struct wide part = *table;
    part.slots = slots;
    if (slots == 0 || slots % bucket_slots(&part) != 0) return 0;
    const uint64_t buckets = slots / bucket_slots(&part);
    return multiply_saturating(multiply_saturating(buckets, bucket_words(&part)), sizeof(uint64_t));
}

uint64_t wide_slots_in(uint64_t bytes, uint64_t slot_words, bool kept)
{
    const struct wide one = {.slot_words = slot_words, .kept = kept};
    if (slot_words == 0 || slot_words < TAG_WORDS + state_copies(&one) * (STATE + 1) ||
        slot_words > bytes / sizeof(uint64_t))
        return 0;
    const uint64_t plans = wide_plans_bytes(wide_sets_in(bytes)) / sizeof(uint64_t);
    const uint64_t before = add_saturating(plans, whole_lines(capacity(&one)));
    const uint64_t words = subtract_to_zero(bytes / sizeof(uint64_t), before);
    const uint64_t bucket = whole_lines(add_saturating(TAGS, multiply_saturating(BUCKET_SLOTS, slot_words)));
    if (bucket != 0 && words >= bucket) return words / bucket * BUCKET_SLOTS;
    return subtract_to_zero(words, TAGS) / slot_words;
}

bool wide_fits(const struct wide *table, uint64_t words)
{
    return words <= capacity(table);
}

static uint64_t bucket_number(const struct wide *table, uint64_t hash)
{
    return multiply_shift_floor(hash, table->slots / bucket_slots(table), 64);
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
    const uint64_t before = wide_plans_bytes(table->plan_sets) / sizeof(uint64_t) + whole_lines(capacity(table));
    uint64_t *first = table->part != NULL ? table->part : (uint64_t *)table->memory + before;
    return (struct wide_bucket){table, first + number * bucket_words(table), 0, (unsigned)(number % WIDE_STRIPES)};
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
    uint64_t *copy = bucket->word + TAGS + bucket_slots(table) + slot * (table->slot_words - TAG_WORDS);
    if (!table->kept) return (struct seat){tag, copy, copy, 0};
    const uint64_t second = atom_load(tag) & 1;
    uint64_t *other = copy + copy_words(table);
    return (struct seat){tag, second ? other : copy, second ? copy : other, second ^ 1};
}

static struct seat find(const struct wide_bucket *bucket)
{
    const struct atom *tag = (const struct atom *)(const void *)(bucket->word + TAGS);
    for (uint64_t slot = 0; slot < bucket_slots(bucket->table); slot++) {
        if ((atom_load(&tag[slot]) & ~UINT64_C(1)) == bucket->tag) return seat_of(bucket, slot);
    }
    return (struct seat){NULL, NULL, NULL, 0};
}

static bool has_no_key(const struct seat *seat)
{
    return atom_load(seat->tag) >> 1 == 0;
}

static bool seat_is_taken(const struct seat *seat, uint64_t now_ns)
{
    return !has_no_key(seat) && seat->now[IDLE_AT] > now_ns;
}

/* A slot that no key ever had is preferred. */
static struct seat find_idle(const struct wide_bucket *bucket, uint64_t now_ns)
{
    struct seat idle = {NULL, NULL, NULL, 0};
    for (uint64_t slot = 0; bucket->word[FLOOR] <= now_ns && slot < bucket_slots(bucket->table); slot++) {
        const struct seat seat = seat_of(bucket, slot);
        if (has_no_key(&seat)) return seat;
        if (idle.tag == NULL && !seat_is_taken(&seat, now_ns)) idle = seat;
    }
    return idle;
}

/* Of the states in use, the one that becomes idle first, but not before from_ns; fingerprint 0: any. */
static struct seat find_first(const struct wide_bucket *bucket, uint64_t now_ns, uint64_t from_ns, uint64_t fingerprint)
{
    struct seat first = {NULL, NULL, NULL, 0};
    for (uint64_t slot = 0; slot < bucket_slots(bucket->table); slot++) {
        const struct seat seat = seat_of(bucket, slot);
        if (!seat_is_taken(&seat, now_ns) || seat.now[IDLE_AT] < from_ns) continue;
        if (fingerprint != 0 && seat.now[FINGERPRINT] != fingerprint) continue;
        if (first.tag == NULL || seat.now[IDLE_AT] < first.now[IDLE_AT]) first = seat;
    }
    return first;
}

/* ---- one call ---- */

/* A decision, or a settlement if `ask` is NULL. */
struct wide_call {
    struct wide *table;
    struct rules rules;
    uint64_t words, fingerprint, now_ns;
    const struct ask *ask;
    int limit;               /* of a peek: this limit alone; or ALL */
    weir_decision *decision; /* of a settlement: the decision that is settled */
    const uint64_t *cost, *actual, *end;
    uint32_t *events;
};

enum { ALL = -1 };

static bool peeks(const struct wide_call *call)
{
    return call->ask != NULL && call->ask->peek && !call->ask->charge;
}

/* own: the decision was made on this state. */
static void apply(const struct wide_call *call, uint64_t *state, bool own)
{
    uint64_t used[WEIR_LIMITS_MAX];
    if (call->ask != NULL) {
        const bool all = call->limit == ALL;
        const struct rules one = {&call->rules.rule[all ? 0 : call->limit], 1};
        state += all ? 0 : decide_words_before(call->rules, call->limit);
        ask_rules(all ? call->rules : one, state, call->ask, call->decision);
        return;
    }
    for (int i = 0; i < call->rules.count; i++) used[i] = own ? call->actual[i] : most(call->actual[i], call->cost[i]);
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

static void go_on(const struct wide_call *call, const struct wide_bucket *bucket, const struct seat *seat)
{
    if (call->table->kept) {
        go_on_kept(call, bucket, seat);
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
    if (wide_state_words(*from) > capacity(table)) from->count = 0;
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
    if (until_ns <= call->now_ns && first.tag != NULL) until_ns = first.now[IDLE_AT];
    const uint64_t retry_ns = until_ns == UINT64_MAX ? WEIR_FOREVER : most(subtract_to_zero(until_ns, call->now_ns), 1);
    *call->decision = (weir_decision){.verdict = WEIR_DENY,
                                      .start = {call->now_ns},
                                      .retry_ns = retry_ns,
                                      .reserved = call->rules.rule[0].generation};
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
    const struct wide_call call = {.table = table,
                                   .rules = rules,
                                   .words = wide_state_words(rules),
                                   .fingerprint = wide_fingerprint(rules),
                                   .now_ns = ask->now_ns,
                                   .ask = ask,
                                   .limit = limit,
                                   .decision = decision,
                                   .events = events};
    struct places places;
    struct seat seat;
    if (call.words > capacity(table)) return false;
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
    *events = 0;
    return ask_some(table, hash, rules, ALL, ask, decision, events);
}

bool wide_peek_limit(struct wide *table, uint64_t hash, struct rules rules, int limit, const struct ask *ask,
                     weir_decision *decision)
{
    uint32_t events = 0;
    return ask_some(table, hash, rules, limit, ask, decision, &events);
}

bool wide_settle(struct wide *table, uint64_t hash, struct rules rules, uint64_t now_ns, const weir_decision *decision,
                 const uint64_t cost[], const uint64_t actual[], const uint64_t end[])
{
    uint32_t events = 0;
    weir_decision copy = *decision;
    const struct wide_call call = {.table = table,
                                   .rules = rules,
                                   .words = wide_state_words(rules),
                                   .fingerprint = wide_fingerprint(rules),
                                   .now_ns = now_ns,
                                   .decision = &copy,
                                   .cost = cost,
                                   .actual = actual,
                                   .end = end,
                                   .events = &events};
    struct places places;
    struct seat seat;
    bool more = false;
    for (int i = 0; i < rules.count; i++) more = more || actual[i] > cost[i];
    if (call.words > capacity(table)) return true;
    if (more && !remember(table, call.fingerprint, rules)) return false;
    if (!open_places(&places, table, hash, &seat)) return false;
    if (seat.tag != NULL && seat.now[FINGERPRINT] == call.fingerprint) go_on(&call, place_of(&places), &seat);
    else if (more && seat.tag != NULL) go_on_changed(&call, place_of(&places), &seat);
    else if (more) begin_state(&call, choose_place(&places, call.now_ns));
    close_places(&places);
    return (events & TABLE_STUCK) == 0;
}

void wide_forget(struct wide *table, uint64_t hash)
{
    struct places places;
    struct seat seat;
    if (!open_places(&places, table, hash, &seat)) return;
    if (seat.tag != NULL) atom_store_release(seat.tag, 0);
    close_places(&places);
}

uint64_t wide_live(struct wide *table, uint64_t now_ns)
{
    uint64_t live = 0;
    for (uint64_t number = 0; number < table->slots / bucket_slots(table); number++) {
        const struct wide_bucket bucket = wide_bucket_at(table, number);
        if (!table->lock(table->context, bucket.stripe)) continue;
        for (uint64_t slot = 0; slot < bucket_slots(table); slot++) {
            const struct seat seat = seat_of(&bucket, slot);
            live += seat_is_taken(&seat, now_ns);
        }
        close_bucket(&bucket);
    }
    return live;
}
