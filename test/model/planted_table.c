/* SPDX-License-Identifier: MIT
   A smaller take than table.c's, without a rule for full buckets, that makes one mistake if told to.

   Right when nobody else is at the table. */
#include "planted_table.h"

enum { TURNS = 6, PLACES = 2 * TABLE_SLOTS, SHORT_LAP_MAX = 3 };

struct mistake {
    bool swaps_tag_only, not_tentative, scans_not, looks_once;
    bool leaves_first, copies_nothing, leaves_unseen, copies_again; /* of a shift */
    uint64_t lap_max;
};

struct place {
    struct table_slot *slot;
    uint64_t owner, time;
};

struct planted {
    struct mistake mistake;
    const struct table *table;
    const struct table_question *question;
    uint64_t tag;
};

static struct place place_at(const struct table_area *area, uint64_t hash, int i)
{
    const uint64_t bucket = i < TABLE_SLOTS ? table_first_choice(area, hash) : table_second_choice(area, hash);
    struct place place = {.slot = &area->bucket[bucket].slot[i % TABLE_SLOTS]};
    place.owner = atom_load_acquire(&place.slot->owner);
    place.time = atom_load_acquire(&place.slot->time);
    return place;
}

static bool owned(const struct planted *planted, const struct place *place)
{
    return ((place->owner ^ place->time >> TABLE_LAP_SHIFT) & planted->mistake.lap_max) == 0;
}

/* The slot of this key, or the one to take. */
static bool find(const struct planted *planted, const struct table_area *area, bool own, struct place *found)
{
    for (int i = 0; i < PLACES; i++) {
        *found = place_at(area, planted->question->hash, i);
        const bool live = owned(planted, found);
        const bool idle = !live || table_ahead(found->time, planted->question->now) == 0;
        if (own ? live && found->owner >> TABLE_TAG_SHIFT == planted->tag : idle) return true;
    }
    return false;
}

static uint64_t table_next_lap(const struct planted *planted, uint64_t time)
{
    const uint64_t lap = ((time >> TABLE_LAP_SHIFT) + 1) & planted->mistake.lap_max;
    return (time & (TABLE_DRAINED_MAX | TABLE_DISPLACED_BIT)) | lap << TABLE_LAP_SHIFT;
}

static void take_slot(const struct planted *planted, struct place *place)
{
    const uint64_t tag = planted->tag << TABLE_TAG_SHIFT;
    if (planted->mistake.swaps_tag_only) {
        planted_swap(&place->slot->owner, &place->owner, tag | (place->owner & TABLE_VERSION_MAX));
        return;
    }
    uint64_t time = place->time;
    if (owned(planted, place)) {
        const uint64_t freed = table_next_lap(planted, time);
        if (!planted_swap(&place->slot->time, &time, freed)) return;
        time = freed;
    }
    const uint64_t state = planted->mistake.not_tentative ? 0 : TABLE_TENTATIVE;
    planted_swap(&place->slot->owner, &place->owner, tag | state | time >> TABLE_LAP_SHIFT);
}

/* False when another slot of this key stays, or when somebody was faster. */
static bool alone(const struct planted *planted, const struct table_area *area, struct place *own)
{
    bool before = true;
    for (int i = 0; i < PLACES && !planted->mistake.scans_not; i++) {
        struct place other = place_at(area, planted->question->hash, i);
        if (other.slot == own->slot) before = false;
        if (other.slot == own->slot || other.owner >> TABLE_TAG_SHIFT != planted->tag || !owned(planted, &other))
            continue;
        const bool stays = before || (other.owner & TABLE_TENTATIVE) == 0;
        struct place *goes = stays ? own : &other;
        if (!planted_swap(&goes->slot->time, &goes->time, table_next_lap(planted, goes->time)) || stays) return false;
    }
    return true;
}

static void commit(const struct planted *planted, const struct table_area *area, struct place *own)
{
    const uint64_t now = planted->question->now;
    struct place past = {0};
    const bool moves =
        table_home(planted->table, planted->tag) > 0 && find(planted, &planted->table->area[0], true, &past);
    const uint64_t owed = moves ? table_ahead(past.time, now) : 0;
    if (!alone(planted, area, own)) return;
    if (owed > table_ahead(own->time, now) &&
        !planted_swap(&own->slot->time, &own->time, table_time(own->time, now, owed)))
        return;
    if (!planted_swap(&own->slot->owner, &own->owner, own->owner & ~(uint64_t)TABLE_TENTATIVE)) return;
    if (moves) planted_swap(&past.slot->time, &past.time, table_next_lap(planted, past.time));
}

static bool charge(const struct planted *planted, struct place *own, struct table_answer *answer)
{
    const struct table_question *question = planted->question;
    const uint64_t now = question->now, ahead = table_ahead(own->time, now);
    const bool passes = ahead + question->cost <= question->burst;
    const uint64_t charged = table_time(own->time, now, ahead + question->cost);
    if (passes && !planted_swap(&own->slot->time, &own->time, charged)) return false;
    const bool grown = !planted->mistake.looks_once && atom_load_full(planted->table->newest) > planted->table->count;
    answer->verdict = grown ? TABLE_UNKNOWN : passes ? TABLE_TAKEN : TABLE_REFUSED;
    return true;
}

/* ---- shifting ---- */

static struct table_bucket *other_bucket(const struct table_area *area, uint64_t bucket, uint64_t tag)
{
    const uint64_t stride = table_stride(area, tag), half = area->half;
    return &area->bucket[bucket < half ? half + (bucket + stride) % half : (bucket + half - stride) % half];
}

/* An idle slot where the key of this one may be, too. */
static bool find_beside(const struct planted *planted, const struct table_area *area, const struct place *from,
                        struct place *to)
{
    const uint64_t bucket = (uint64_t)((from->slot - area->bucket[0].slot) / TABLE_SLOTS);
    struct table_bucket *other = other_bucket(area, bucket, from->owner >> TABLE_TAG_SHIFT);
    for (int i = 0; i < TABLE_SLOTS; i++) {
        to->slot = &other->slot[i];
        to->owner = atom_load_acquire(&to->slot->owner);
        to->time = atom_load_acquire(&to->slot->time);
        if (owned(planted, to) && table_ahead(to->time, planted->question->now) == 0) return true;
    }
    return false;
}

/* False: the old slot was charged meanwhile. */
static bool shift(const struct planted *planted, struct place *from, struct place *to)
{
    const struct mistake mistake = planted->mistake;
    const uint64_t tag = from->owner >> TABLE_TAG_SHIFT << TABLE_TAG_SHIFT, now = planted->question->now;
    const uint64_t ahead = table_ahead(from->time, now), left = table_next_lap(planted, table_time(from->time, now, 0));
    uint64_t time = table_next_lap(planted, to->time);
    if (mistake.leaves_first && !planted_swap(&from->slot->time, &from->time, left)) return true;
    if (!planted_swap(&to->slot->time, &to->time, time)) return true;
    uint64_t claimed = tag | TABLE_TENTATIVE | time >> TABLE_LAP_SHIFT;
    if (!planted_swap(&to->slot->owner, &to->owner, claimed)) return true;
    if (!mistake.copies_nothing && !planted_swap(&to->slot->time, &time, table_time(time, now, ahead))) return true;
    if (!mistake.leaves_first && !planted_swap(&from->slot->time, &from->time, left) && !mistake.leaves_unseen)
        return false;
    planted_swap(&to->slot->owner, &claimed, claimed & ~(uint64_t)TABLE_TENTATIVE);
    return true;
}

/* Makes room in its own way if there is none; all else as it should be. */
static void shift_with(struct mistake mistake, struct table *table, const struct table_question *question,
                       struct table_answer *answer)
{
    mistake.lap_max = TABLE_LAP_MAX;
    const struct planted planted = {mistake, table, question, table_tag(question->hash)};
    const struct table_area *area = table_area_of(table, question->hash);
    struct place from, to;
    const bool has_room = find(&planted, area, true, &from) || find(&planted, area, false, &from);
    for (int i = 0, turn = 0; i < PLACES && !has_room; i++) {
        from = place_at(area, question->hash, i);
        if (!find_beside(&planted, area, &from, &to)) continue;
        if (shift(&planted, &from, &to) || !mistake.copies_again || ++turn == TURNS) break;
        i--;
    }
    table_ask(table, question, answer);
}

void planted_table_leaves_first(struct table *table, const struct table_question *question, struct table_answer *answer)
{
    shift_with((struct mistake){.leaves_first = true}, table, question, answer);
}

void planted_table_copies_nothing(struct table *table, const struct table_question *question,
                                  struct table_answer *answer)
{
    shift_with((struct mistake){.copies_nothing = true}, table, question, answer);
}

void planted_table_leaves_unseen(struct table *table, const struct table_question *question,
                                 struct table_answer *answer)
{
    shift_with((struct mistake){.leaves_unseen = true}, table, question, answer);
}

void planted_table_copies_again(struct table *table, const struct table_question *question, struct table_answer *answer)
{
    shift_with((struct mistake){.copies_again = true}, table, question, answer);
}

/* ---- moving to another area ---- */

/* The first key of this one's area that has another, all eight being live, goes there. */
static void move_with(struct mistake mistake, struct table *table, const struct table_question *question,
                      struct table_answer *answer)
{
    mistake.lap_max = TABLE_LAP_MAX;
    const struct planted planted = {mistake, table, question, table_tag(question->hash)};
    const struct table_area *area = table_area_of(table, question->hash);
    struct place from, to;
    const bool has_room = find(&planted, area, true, &from) || find(&planted, area, false, &from);
    for (int i = 0; i < PLACES && !has_room; i++) {
        from = place_at(area, question->hash, i);
        const struct table_area *own = table_area_of(table, from.owner >> TABLE_TAG_SHIFT);
        if (own == area || !find(&planted, own, false, &to)) continue;
        shift(&planted, &from, &to);
        break;
    }
    table_ask(table, question, answer);
}

void planted_table_moves_committed(struct table *table, const struct table_question *question,
                                   struct table_answer *answer)
{
    move_with((struct mistake){0}, table, question, answer);
}

void planted_table_moves_nothing(struct table *table, const struct table_question *question,
                                 struct table_answer *answer)
{
    move_with((struct mistake){.copies_nothing = true}, table, question, answer);
}

/* ---- all in one ---- */

static void ask_with(struct mistake mistake, struct table *table, const struct table_question *question,
                     struct table_answer *answer)
{
    if (mistake.lap_max == 0) mistake.lap_max = TABLE_LAP_MAX;
    const struct planted planted = {mistake, table, question, table_tag(question->hash)};
    const struct table_area *area = table_area_of(table, question->hash);
    *answer = (struct table_answer){.verdict = TABLE_REFUSED};
    for (int turn = 0; turn < TURNS; turn++) {
        struct place place;
        if (find(&planted, area, true, &place)) {
            if ((place.owner & TABLE_TENTATIVE) != 0) commit(&planted, area, &place);
            else if (charge(&planted, &place, answer)) return;
        } else if (find(&planted, area, false, &place)) {
            take_slot(&planted, &place);
        } else {
            return;
        }
    }
}

void planted_table_tag_only(struct table *table, const struct table_question *question, struct table_answer *answer)
{
    ask_with((struct mistake){.swaps_tag_only = true}, table, question, answer);
}

void planted_table_short_versions(struct table *table, const struct table_question *question,
                                  struct table_answer *answer)
{
    ask_with((struct mistake){.lap_max = SHORT_LAP_MAX}, table, question, answer);
}

void planted_table_not_tentative(struct table *table, const struct table_question *question,
                                 struct table_answer *answer)
{
    ask_with((struct mistake){.not_tentative = true}, table, question, answer);
}

void planted_table_without_scan(struct table *table, const struct table_question *question, struct table_answer *answer)
{
    ask_with((struct mistake){.scans_not = true}, table, question, answer);
}

void planted_table_without_second_look(struct table *table, const struct table_question *question,
                                       struct table_answer *answer)
{
    ask_with((struct mistake){.looks_once = true}, table, question, answer);
}

void planted_table_frees_unraised(struct table *table, const struct table_question *question,
                                  struct table_answer *answer)
{
    ask_with((struct mistake){0}, table, question, answer);
}

void planted_table_two_tables(struct table *table, const struct table_question *question, struct table_answer *answer)
{
    struct table_question alone = *question;
    struct table in_part = *table;
    if (question->part != NULL) in_part.area[table->count - 1] = question->part->area;
    alone.part = NULL;
    const struct table_pair pair = table_pair_of(&in_part, question->hash);
    if (question->part == NULL || table_seek(&pair).slot == NULL) table_ask(table, &alone, answer);
    else answer->events = TABLE_FULL;
    if (question->part != NULL && (answer->events & TABLE_FULL) != 0) table_ask(&in_part, &alone, answer);
}

void planted_table_use_unseen(struct table *table, const struct table_question *question, struct table_answer *answer)
{
    struct table_question alone = *question;
    alone.part = NULL;
    if (question->part == NULL || atom_load_full(question->part->in_use) == 0) {
        table_ask(table, &alone, answer);
        if (question->part == NULL || (answer->events & TABLE_FULL) == 0) return;
    }
    table_ask(table, question, answer);
}
