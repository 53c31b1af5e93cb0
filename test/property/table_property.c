/* SPDX-License-Identifier: MIT
   A table against a memory that forgets nothing and has room for all.

   The oracle keeps for each key the time at which it has drained, and is told of every call that the table admits.
   Whatever is displaced, shifted, grown, given back and forgotten: under INHERIT and DENY no call is admitted that the
   oracle refuses, and none is refused or admitted otherwise as long as no key was displaced or turned away.  Under
   EVICT only keys that are seen to lose their slot lose what they owe, each of them the one that owed least; under
   ALLOW only calls pass without a trace that say so.  A refusal and a peek change no byte.  No table is full where one
   key can be shifted.  Half of the keys may have a part beside the areas, where all this holds, too.  And with any
   bytes in memory every call ends. */
#include <inttypes.h>
#include <string.h>

#include "core/num.h"
#include "property/property.h"
#include "share/table/table.h"

enum { KEYS = 24, HALF_MAX = 3, AREAS = 4, STEPS_MEAN = 80, HOSTILE_STEPS = 60 };

static const uint64_t LONGEST = UINT64_C(1) << 52;

/* A call of a key that was admitted. */
struct told {
    uint64_t end, charged;
};

struct subject {
    _Alignas(64) struct table_bucket memory[AREAS + 1][2 * HALF_MAX]; /* the last is the part */
    struct atom in_use;
    struct table_part part; /* of every other key; half 0: there is none */
    struct atom newest;
    struct table table, stale; /* the second is of a process that has not seen the last area */
    uint64_t hash[KEYS], drained[KEYS];
    struct told told[KEYS];
    uint64_t now, grown_at;
    bool exact;  /* nobody was displaced yet */
    bool beside; /* it grows beside its areas, not in place of them */
};

static uint64_t pick_word(struct prop *prop)
{
    return prop_pick(prop, UINT64_MAX);
}

static void begin(struct prop *prop, struct subject *subject)
{
    memset(subject, 0, sizeof *subject);
    const struct table table = {.newest = &subject->newest,
                                .count = 1,
                                .when_full = (enum table_when_full)prop_pick(prop, 4),
                                .longest = LONGEST};
    subject->table = table;
    for (int i = 0; i < AREAS; i++)
        subject->table.area[i] =
            (struct table_area){.bucket = subject->memory[i], .half = 1 + prop_pick(prop, HALF_MAX)};
    subject->part = (struct table_part){
        .area = {.bucket = subject->memory[AREAS], .half = prop_pick(prop, HALF_MAX + 1)}, .in_use = &subject->in_use};
    subject->beside = prop_chance(prop, 2);
    table_divide(&subject->table, subject->beside);
    subject->stale = subject->table;
    subject->newest.value = 1;
    for (int i = 0; i < KEYS; i++) subject->hash[i] = (pick_word(prop) & ~UINT64_C(255)) + (unsigned)i + 1;
    subject->now = prop_chance(prop, 4) ? pick_word(prop) >> 1 : 1 + prop_pick(prop, 100);
    subject->exact = true;
    prop_note(prop, "rule %d, half %" PRIu64 ", of the part %" PRIu64 ", now %" PRIu64, table.when_full,
              subject->table.area[0].half, subject->part.area.half, subject->now);
}

static const struct table_part *part_of(const struct subject *subject, int key)
{
    return key % 2 == 1 && subject->part.area.half != 0 ? &subject->part : NULL;
}

/* ---- the oracle ---- */

static uint64_t ahead_of(const struct subject *subject, int key)
{
    return subtract_to_zero(subject->drained[key], subject->now);
}

static uint64_t reach_of(const struct table_question *question)
{
    const bool charge = question->how == TABLE_CHARGE;
    return least(add_saturating(question->burst, charge ? question->debt : question->wait), LONGEST);
}

static struct table_answer oracle_answer(const struct subject *subject, const struct table_question *question, int key)
{
    const uint64_t ahead = ahead_of(subject, key), reach = reach_of(question), cost = question->cost;
    struct table_answer answer = {TABLE_REFUSED, 0, subject->now + ahead, 0};
    if (question->how == TABLE_CHARGE) answer.charged = least(cost, subtract_to_zero(reach, ahead));
    else if (cost <= reach && ahead + cost <= reach) answer.charged = cost;
    else return answer;
    answer.verdict = TABLE_TAKEN;
    answer.drained += answer.charged;
    if (question->how == TABLE_PEEK) answer.charged = 0;
    return answer;
}

/* ---- who has a slot that is ahead ---- */

static bool has_slot_in(const struct subject *subject, const struct table_area *area, int key)
{
    for (uint64_t i = 0; i < 2 * area->half * TABLE_SLOTS; i++) {
        const struct table_slot *slot = &area->bucket[i / TABLE_SLOTS].slot[i % TABLE_SLOTS];
        if (slot->owner.value >> TABLE_TAG_SHIFT == table_tag(subject->hash[key]) &&
            table_owned(slot->owner.value, slot->time.value) && table_ahead(slot->time.value, subject->now) != 0)
            return true;
    }
    return false;
}

/* Areas before this one hold nothing any more. */
static unsigned first_of(const struct table *table)
{
    return (unsigned)least(table->first, table->home);
}

static bool has_slot(const struct subject *subject, int key, unsigned first)
{
    const struct table *table = &subject->table;
    bool has = has_slot_in(subject, &subject->part.area, key);
    for (unsigned a = first; a < table->count; a++) has = has || has_slot_in(subject, &table->area[a], key);
    return has;
}

static unsigned who_has_slots(const struct subject *subject)
{
    unsigned set = 0;
    for (int i = 0; i < KEYS; i++) set |= (unsigned)has_slot(subject, i, first_of(&subject->table)) << i;
    return set;
}

/* What the slot owes that drains first of those where this key may be; a key that was moved to its area keeps its slot
   until its next call. */
static uint64_t least_ahead(const struct subject *subject, uint64_t hash, const struct table_part *part)
{
    const struct table_area *area = part != NULL ? &part->area : table_area_of(&subject->table, hash);
    uint64_t ahead = UINT64_MAX;
    for (int i = 0; i < 2 * TABLE_SLOTS; i++) {
        const uint64_t bucket = i < TABLE_SLOTS ? table_first_choice(area, hash) : table_second_choice(area, hash);
        const struct table_slot *slot = &area->bucket[bucket].slot[i % TABLE_SLOTS];
        if ((slot->owner.value & TABLE_TENTATIVE) && table_owned(slot->owner.value, slot->time.value)) continue;
        ahead = least(ahead, table_ahead(slot->time.value, subject->now));
    }
    return ahead;
}

/* As if this key had come to the other bucket first. */
static bool has_room_beside(const struct subject *subject, const struct table_area *area, uint64_t bucket, uint64_t tag)
{
    uint64_t other = 0;
    for (uint64_t i = 0; i < area->half; i++) {
        const uint64_t second = area->half + (i + table_stride(area, tag)) % area->half;
        if (bucket == i) other = second;
        if (bucket == second) other = i;
    }
    for (int i = 0; i < TABLE_SLOTS; i++)
        if (table_ahead(area->bucket[other].slot[i].time.value, subject->now) == 0) return true;
    return false;
}

/* A new key that found no room: neither is there any for the eight in its way. */
static void check_full(struct prop *prop, const struct subject *subject, const struct table_area *area, uint64_t hash)
{
    const struct table_area *table = subject->table.area;
    for (int i = 0; i < 2 * TABLE_SLOTS; i++) {
        const uint64_t bucket = i < TABLE_SLOTS ? table_first_choice(area, hash) : table_second_choice(area, hash);
        const struct table_slot *slot = &area->bucket[bucket].slot[i % TABLE_SLOTS];
        const uint64_t tag = slot->owner.value >> TABLE_TAG_SHIFT;
        const bool stranger = area != &subject->part.area && area != &table[table_home(&subject->table, tag)];
        prop_check(prop, stranger || !has_room_beside(subject, area, bucket, tag), "full, but slot %d could be shifted",
                   i);
    }
}

/* Under EVICT: what a key owed is gone, and the answer says so. */
static void forget_displaced(struct prop *prop, struct subject *subject, unsigned before, bool displaced, uint64_t owed)
{
    const unsigned gone = before & ~who_has_slots(subject);
    int lost = 0;
    for (int i = 0; i < KEYS; i++) {
        if (!(gone >> i & 1) || ahead_of(subject, i) == 0) continue;
        prop_check(prop, ahead_of(subject, i) == owed, "lost %" PRIu64 " and not the least", ahead_of(subject, i));
        lost++;
        subject->drained[i] = 0;
    }
    prop_check(prop, lost == (displaced ? 1 : 0), "%d keys lost what they owe", lost);
}

/* ---- steps ---- */

static uint64_t pick_amount(struct prop *prop)
{
    return prop_chance(prop, 12) ? prop_pick_size(prop, UINT64_MAX) : prop_pick(prop, 40);
}

static struct table_question pick_question(struct prop *prop, const struct subject *subject, int key)
{
    static const enum table_how hows[] = {TABLE_TAKE, TABLE_TAKE, TABLE_TAKE, TABLE_PEEK, TABLE_CHARGE};
    struct table_question question = {.hash = subject->hash[key], .now = subject->now, .cost = pick_amount(prop)};
    question.burst = prop_chance(prop, 20) ? prop_pick_size(prop, LONGEST) : 40 + prop_pick(prop, 60);
    question.how = hows[prop_pick(prop, sizeof hows / sizeof *hows)];
    question.wait = prop_chance(prop, 6) ? pick_amount(prop) : 0;
    question.debt = prop_chance(prop, 3) ? UINT64_MAX : pick_amount(prop);
    question.part = part_of(subject, key);
    return question;
}

static void check_answer(struct prop *prop, const struct subject *subject, const struct table_question *question,
                         const struct table_answer *answer, const struct table_answer *expected)
{
    const enum table_when_full rule = subject->table.when_full;
    const bool full = (answer->events & TABLE_FULL) != 0;
    const bool traceless = full && rule == TABLE_ALLOW;
    prop_check(prop, answer->verdict != TABLE_UNKNOWN, "an area is unknown");
    prop_check(prop, !full || rule == TABLE_INHERIT || !subject->exact || rule == TABLE_EVICT || answer->charged == 0,
               "turned away, but charged");
    if (rule == TABLE_DENY && full)
        prop_check(prop, answer->verdict == TABLE_REFUSED && answer->drained > subject->now, "not denied");
    if (answer->verdict == TABLE_TAKEN && question->how != TABLE_CHARGE && !traceless)
        prop_check(prop, expected->verdict == TABLE_TAKEN, "over-admits");
    prop_check(prop, answer->charged <= expected->charged || expected->verdict == TABLE_REFUSED, "charges too much");
    if (rule == TABLE_DENY && full) return;
    if (full || !subject->exact) {
        prop_check(prop,
                   traceless || answer->drained >= expected->drained || answer->charged < expected->charged ||
                       answer->verdict < expected->verdict || expected->verdict < answer->verdict,
                   "drained at %" PRIu64 ", and not at %" PRIu64, answer->drained, expected->drained);
        return;
    }
    prop_check(prop, answer->verdict == expected->verdict, "%d and not %d", answer->verdict, expected->verdict);
    prop_check(prop, answer->drained == expected->drained, "drained at %" PRIu64 ", and not at %" PRIu64,
               answer->drained, expected->drained);
    prop_check(prop, answer->charged == expected->charged, "charged %" PRIu64 ", and not %" PRIu64, answer->charged,
               expected->charged);
}

/* True if the key was moved to its area to make room in another one: its next call commits it there. */
static bool has_copy(const struct subject *subject, uint64_t hash)
{
    const struct table_area *area = table_area_of(&subject->table, hash);
    bool has = false;
    for (uint64_t i = 0; i < 2 * area->half * TABLE_SLOTS; i++)
        has = has || area->bucket[i / TABLE_SLOTS].slot[i % TABLE_SLOTS].owner.value >> (TABLE_TAG_SHIFT - 1) ==
                         (table_tag(hash) << 1 | 1);
    return has;
}

static void ask(struct prop *prop, struct subject *subject, int key)
{
    const struct table_question question = pick_question(prop, subject, key);
    const unsigned before = who_has_slots(subject);
    struct table_bucket memory[AREAS + 1][2 * HALF_MAX];
    memcpy(memory, subject->memory, sizeof memory);
    const uint64_t owed = least_ahead(subject, question.hash, question.part);
    const bool settles = has_copy(subject, question.hash);
    struct table_answer answer;
    table_ask(&subject->table, &question, &answer);
    if (subject->exact && (answer.events & TABLE_FULL) && !(answer.events & TABLE_DISPLACED)) {
        check_full(prop, subject, table_area_of(&subject->table, question.hash), question.hash);
        if (question.part != NULL) check_full(prop, subject, &question.part->area, question.hash);
    }
    const struct table_answer expected = oracle_answer(subject, &question, key);
    prop_note(
        prop, "%" PRIu64 ": key %d %s %" PRIu64 " of %" PRIu64 " wait %" PRIu64 ": %s, events %u, drained %" PRIu64,
        subject->now, key, (const char *[]){"takes", "peeks", "charges"}[question.how], question.cost, question.burst,
        question.wait, answer.verdict == TABLE_TAKEN ? "taken" : "refused", answer.events, answer.drained);
    if (subject->table.when_full == TABLE_INHERIT && (answer.events & TABLE_DISPLACED)) subject->exact = false;
    check_answer(prop, subject, &question, &answer, &expected);
    if (subject->table.when_full == TABLE_EVICT)
        forget_displaced(prop, subject, before, (answer.events & TABLE_DISPLACED) != 0, owed);
    if (answer.charged != 0) {
        subject->drained[key] = most(subject->drained[key], subject->now) + answer.charged;
        if (prop_pick(prop, 2) == 0) subject->told[key] = (struct told){answer.drained, answer.charged};
    } else if (subject->exact && !settles) {
        prop_check(prop, memcmp(memory, subject->memory, sizeof memory) == 0, "a byte changed without a charge");
    }
}

/* The same time is told by a peek: refused one unit before it would pass, passing then. */
static void check_retry(struct prop *prop, struct subject *subject, int key)
{
    struct table_question question = {
        .hash = subject->hash[key], .now = subject->now, .cost = 1 + prop_pick(prop, 50), .burst = 50};
    struct table_answer answer;
    question.part = part_of(subject, key);
    question.how = TABLE_PEEK;
    table_ask(&subject->table, &question, &answer);
    if (answer.verdict != TABLE_REFUSED || (answer.events & TABLE_FULL) || !subject->exact) return;
    question.now = answer.drained + question.cost - question.burst;
    prop_check(prop, question.now > subject->now, "a refusal without a wait");
    table_ask(&subject->table, &question, &answer);
    prop_check(prop, answer.verdict == TABLE_TAKEN, "the wait was too short");
    question.now--;
    table_ask(&subject->table, &question, &answer);
    prop_check(prop, answer.verdict == TABLE_REFUSED, "the wait was too long");
}

static void give_back(struct prop *prop, struct subject *subject, int key)
{
    const struct told told = subject->told[key];
    const uint64_t unused = prop_pick(prop, told.charged + 1), now = subject->now;
    const uint64_t undrained = subtract_to_zero(told.end, most(now, subtract_to_zero(told.end, told.charged)));
    prop_note(prop, "%" PRIu64 ": key %d gives back %" PRIu64, now, key, unused);
    table_give_back(&subject->table, &(struct table_slip){subject->hash[key], now, told.end - told.charged, told.end,
                                                          told.charged, unused, UINT64_MAX, part_of(subject, key)});
    subject->drained[key] = subtract_to_zero(subject->drained[key], least(unused, undrained));
    subject->told[key] = (struct told){0, 0};
}

static void forget(struct prop *prop, struct subject *subject, int key)
{
    prop_note(prop, "%" PRIu64 ": key %d is forgotten", subject->now, key);
    table_forget(&subject->table, part_of(subject, key), subject->hash[key], subject->now);
    subject->drained[key] = 0;
}

/* Who knows nothing of the new area is told so, and what he charged is taken back. */
static void grow(struct prop *prop, struct subject *subject)
{
    if (subject->table.count == AREAS) return;
    prop_note(prop, "%" PRIu64 ": one more area", subject->now);
    subject->stale = subject->table;
    bool knows[KEYS];
    for (int i = 0; i < KEYS; i++) knows[i] = has_slot_in(subject, table_area_of(&subject->table, subject->hash[i]), i);
    subject->newest.value = ++subject->table.count;
    table_divide(&subject->table, subject->beside);
    subject->table.first = first_of(&subject->table); /* again there are keys that have another area now */
    subject->grown_at = subject->now;
    for (int i = 0; i < 3; i++) {
        const int key = (int)prop_pick(prop, KEYS);
        if (!knows[key] || has_slot_in(subject, &subject->part.area, key)) continue;
        const struct table_question question = pick_question(prop, subject, key);
        struct table_answer answer;
        table_ask(&subject->stale, &question, &answer);
        prop_check(prop, answer.verdict == TABLE_UNKNOWN, "a stale process admits or refuses");
    }
}

static uint64_t live_slots(const struct subject *subject)
{
    const struct table *table = &subject->table;
    uint64_t live = table_live(&subject->part.area, subject->now);
    for (unsigned i = first_of(table); i < table->count; i++) live += table_live(&table->area[i], subject->now);
    return live;
}

/* A mark lasts as long as its time is ahead, whoever has that slot now. */
static bool holds_marks(const struct subject *subject)
{
    bool holds = false;
    for (int i = 0; i < (AREAS + 1) * 2 * HALF_MAX * TABLE_SLOTS; i++) {
        const struct table_slot *slot =
            &subject->memory[i / TABLE_SLOTS / (2 * HALF_MAX)][i / TABLE_SLOTS % (2 * HALF_MAX)].slot[i % TABLE_SLOTS];
        const bool marked = (slot->time.value & TABLE_DISPLACED_BIT) != 0;
        holds = holds || (marked && table_ahead(slot->time.value, subject->now) != 0);
    }
    return holds;
}

static void pass_time(struct prop *prop, struct subject *subject)
{
    const uint64_t far = UINT64_C(1) << 55;
    const uint64_t kind = prop_pick(prop, 16);
    if (kind == 15) subject->now += far - prop_pick_size(prop, far);
    else if (kind == 14) subject->now += prop_pick_size(prop, far);
    else subject->now += prop_pick(prop, 60);
    struct table *table = &subject->table;
    for (unsigned i = first_of(table); i < table->count; i++)
        table_sweep(&table->area[i], 0, 2 * table->area[i].half, subject->now);
    table_sweep(&subject->part.area, 0, 2 * subject->part.area.half, subject->now);
    if (table->first + 1 < table->count && subject->now > subject->grown_at + LONGEST) table->first = table->count - 1;
    if (live_slots(subject) == 0 && !holds_marks(subject)) subject->exact = true;
}

static void check_live(struct prop *prop, const struct subject *subject)
{
    const uint64_t live = live_slots(subject);
    uint64_t expected = 0;
    for (int i = 0; i < KEYS; i++) expected += ahead_of(subject, i) != 0;
    prop_check(prop, !subject->exact || live == expected, "%" PRIu64 " live and not %" PRIu64, live, expected);
}

static void step(struct prop *prop, struct subject *subject)
{
    const int key = (int)prop_pick(prop, KEYS);
    const uint64_t what = prop_pick(prop, 64);
    prop_step(prop);
    if (what < 42) ask(prop, subject, key);
    else if (what < 48) pass_time(prop, subject);
    else if (what < 52) check_retry(prop, subject, key);
    else if (what < 58) give_back(prop, subject, key);
    else if (what < 60) forget(prop, subject, key);
    else if (what < 61) grow(prop, subject);
    else check_live(prop, subject);
}

/* ---- any bytes ---- */

static void spoil(struct prop *prop, struct subject *subject)
{
    uint64_t seed = pick_word(prop) | 1;
    for (int a = 0; a <= AREAS; a++) {
        for (int i = 0; i < 2 * HALF_MAX * TABLE_SLOTS; i++) {
            struct table_slot *slot = &subject->memory[a][i / TABLE_SLOTS].slot[i % TABLE_SLOTS];
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const uint64_t version = seed >> 60 & 1, key = (seed >> 33) % KEYS;
            slot->owner.value = seed >> 62 == 0 ? seed * seed : table_tag(subject->hash[key]) << TABLE_TAG_SHIFT;
            slot->owner.value |= seed >> 32 & TABLE_TENTATIVE;
            slot->time.value = seed >> 61 == 1 ? seed * seed : version << TABLE_LAP_SHIFT | (seed >> 59 & 1) << 56;
            slot->time.value += (subject->now + (seed >> 40 & 127)) & TABLE_DRAINED_MAX;
        }
    }
}

static void survive(struct prop *prop, struct subject *subject)
{
    subject->newest.value = subject->table.count = 1 + (unsigned)prop_pick(prop, AREAS);
    table_divide(&subject->table, subject->beside);
    spoil(prop, subject);
    for (int i = 0; i < HOSTILE_STEPS; i++) {
        const int key = (int)prop_pick(prop, KEYS);
        const struct table_question question = pick_question(prop, subject, key);
        struct table_answer answer;
        table_ask(&subject->table, &question, &answer);
        prop_check(prop, answer.verdict != TABLE_UNKNOWN && answer.charged <= question.cost, "a wild answer");
        if (prop_chance(prop, 8))
            table_forget(&subject->table, part_of(subject, key), subject->hash[key], subject->now);
        if (prop_chance(prop, 8))
            table_give_back(&subject->table,
                            &(struct table_slip){subject->hash[key], subject->now, pick_word(prop), pick_word(prop), 50,
                                                 50, pick_word(prop), part_of(subject, key)});
        if (prop_chance(prop, 8)) pass_time(prop, subject);
        prop_step(prop);
    }
}

static void table_keeps_what_is_owed(struct prop *prop)
{
    static struct subject subject;
    begin(prop, &subject);
    if (prop_chance(prop, 8)) survive(prop, &subject);
    else
        while (prop_more(prop, STEPS_MEAN)) step(prop, &subject);
}

PROPERTY("table", table_keeps_what_is_owed, 20000);
