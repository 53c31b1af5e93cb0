/* SPDX-License-Identifier: MIT
   The most refused keys by Space-Saving (Metwally, Agrawal, El Abbadi 2005).

   How many times was each key refused?  The plain way is a counter for each key, and a flood of made-up keys takes all
   memory.  So there are m counters.  A key without one takes over the smallest, with its count: the key's count may be
   too large by that, so the excess is kept beside it as `over`.  The sum of all counters is the number of refusals, so
   the smallest is at most 1/m of it, and a key that was refused more often than that has a counter.

   All counts go up by 1, so the counters stay sorted in constant time: those of equal count form a group, side by side.
   A counter that goes up changes places with the last of its group, next to which the next group begins.

       order:  | 5 | 0 | 7 | 2 | 1 | 6 | 3 | 4 |        5 goes up:  | 7 | 0 | 5 | 2 | 1 | 6 | 3 | 4 |
       group:  |  count 2  | 3 | 3 |   9   | 40|                    | count 2|   3   | ...

   In the beginning all counters are in one group of count 0 and have no key, so a new key is never a special case.

   Threads.  There are several sketches, and a thread counts in the one of its thread index.  Counting never waits: a
   thread that finds the sketch locked adds to `missed` and goes on.  A reader copies one sketch after the other and
   joins them:

       denied   the sum of its counters; in a sketch where it has none, the smallest counter; and all missed refusals
       over     the sum of their overs; in a sketch where it has none, the same; and all missed refusals

   Each missed refusal may have been of this key, or of another.  So denied - over <= refusals <= denied, always.  A
   sketch that stays locked, because the process forked at that moment, counts everything as missed.

   Counting takes constant time for a key whose hash its sender cannot choose. */
#include "share/table/top.h"

#include <string.h>

#include "core/num.h"
#include "share/lock.h"

enum { LOCK_TRIES = 1000, INDEX_SPARSE = 2, NOBODY = UINT16_MAX };

_Static_assert(sizeof(weir_top) == 3 * sizeof(uint64_t) + WEIR_TOP_KEY_SIZE, "no gap that nobody writes");

struct top_counter {
    uint64_t hash, over;
    uint32_t key_size, limit;
    uint16_t place, group;
    unsigned char key[WEIR_TOP_KEY_SIZE];
};

/* The counters of one count have the places first to last; of an unused group, `first` is the next unused one. */
struct group {
    uint64_t count;
    uint16_t first, last;
};

/* The parts of one sketch.  They contain numbers and no pointers, so a copy of the bytes is a sketch. */
struct sketch {
    struct top_counter *counter;
    struct group *group;
    uint16_t *order; /* place to counter, the smallest count first */
    uint16_t *index; /* hash to counter, NOBODY if there is none; linear probing */
    uint16_t *free;  /* the first unused group */
    unsigned counters, index_mask;
};

/* A key as it is stored here. */
struct identity {
    uint64_t hash;
    const void *bytes;
    uint32_t size, kept;
};

/* ---- memory ---- */

static unsigned counters_meant(unsigned counters)
{
    return (unsigned)least(most(counters, 1), TOP_COUNTERS_MAX);
}

static unsigned index_size(unsigned counters)
{
    unsigned size = 1;
    while (size < INDEX_SPARSE * counters) size *= 2;
    return size;
}

static size_t sketch_bytes(unsigned counters)
{
    const size_t bytes = counters * (sizeof(struct top_counter) + sizeof(struct group) + sizeof(uint16_t)) +
                         (index_size(counters) + 1) * sizeof(uint16_t);
    return (bytes + TOP_CACHE_LINE - 1) / TOP_CACHE_LINE * TOP_CACHE_LINE;
}

static struct sketch sketch_at(const struct top *top, unsigned number)
{
    struct sketch sketch = {.counters = top->counters, .index_mask = index_size(top->counters) - 1};
    sketch.counter = (void *)(top->sketch + number * sketch_bytes(top->counters));
    sketch.group = (void *)(sketch.counter + sketch.counters);
    sketch.order = (void *)(sketch.group + sketch.counters);
    sketch.index = sketch.order + sketch.counters;
    sketch.free = sketch.index + sketch.index_mask + 1;
    return sketch;
}

size_t top_bytes(unsigned counters)
{
    return TOP_STRIPES * (sizeof(struct top_head) + 2 * sketch_bytes(counters_meant(counters)));
}

static void sketch_open(const struct sketch *sketch)
{
    for (unsigned i = 0; i <= sketch->index_mask; i++) sketch->index[i] = NOBODY;
    for (unsigned i = 0; i < sketch->counters; i++) {
        sketch->order[i] = (uint16_t)i;
        sketch->counter[i] = (struct top_counter){.place = (uint16_t)i};
        sketch->group[i] = (struct group){.first = (uint16_t)(i + 1)};
    }
    sketch->group[0] = (struct group){.last = (uint16_t)(sketch->counters - 1)};
    *sketch->free = 1;
}

void top_open(struct top *top, void *memory, unsigned counters, void (*yield)(void))
{
    *top = (struct top){.head = memory, .counters = counters_meant(counters), .yield = yield};
    top->sketch = (unsigned char *)(top->head + TOP_STRIPES);
    memset(memory, 0, top_bytes(counters));
    for (unsigned stripe = 0; stripe < TOP_STRIPES; stripe++) {
        const struct sketch sketch = sketch_at(top, stripe);
        sketch_open(&sketch);
    }
}

/* ---- finding counters ---- */

static bool is_of(const struct top_counter *counter, const struct identity *key)
{
    return counter->hash == key->hash && counter->key_size == key->size &&
           memcmp(counter->key, key->bytes, key->kept) == 0;
}

/* The place in the index where this key is or would be. */
static unsigned index_of(const struct sketch *sketch, const struct identity *key)
{
    unsigned at = (unsigned)key->hash & sketch->index_mask;
    while (sketch->index[at] != NOBODY && !is_of(&sketch->counter[sketch->index[at]], key)) {
        at = (at + 1) & sketch->index_mask;
    }
    return at;
}

static struct identity top_identity(const struct top_counter *counter)
{
    return (struct identity){counter->hash, counter->key, counter->key_size,
                             (uint32_t)least(counter->key_size, WEIR_TOP_KEY_SIZE)};
}

/* Moves later entries towards their own places, so that no search ends too early at the gap. */
static void index_remove(const struct sketch *sketch, const struct top_counter *counter)
{
    const struct identity key = top_identity(counter);
    const unsigned mask = sketch->index_mask;
    unsigned gap = index_of(sketch, &key);
    for (unsigned at = (gap + 1) & mask; sketch->index[at] != NOBODY; at = (at + 1) & mask) {
        const unsigned wanted = (unsigned)sketch->counter[sketch->index[at]].hash & mask;
        if (((at - wanted) & mask) < ((at - gap) & mask)) continue;
        sketch->index[gap] = sketch->index[at];
        gap = at;
    }
    sketch->index[gap] = NOBODY;
}

/* ---- counting ---- */

static void to_end_of_group(const struct sketch *sketch, struct top_counter *counter, uint16_t last)
{
    const uint16_t other = sketch->order[last], self = sketch->order[counter->place];
    sketch->order[counter->place] = other;
    sketch->counter[other].place = counter->place;
    sketch->order[last] = self;
    counter->place = last;
}

static void free_group(const struct sketch *sketch, uint16_t number)
{
    sketch->group[number].first = *sketch->free;
    *sketch->free = number;
}

static void count_up(const struct sketch *sketch, struct top_counter *counter)
{
    const uint16_t number = counter->group;
    struct group *group = &sketch->group[number];
    const uint16_t last = group->last, next = (uint16_t)(last + 1);
    const bool alone = group->first == last;
    to_end_of_group(sketch, counter, last);
    const uint16_t above = next < sketch->counters ? sketch->counter[sketch->order[next]].group : number;
    if (above != number && sketch->group[above].count == group->count + 1) {
        sketch->group[above].first = last;
        counter->group = above;
    } else if (alone) {
        group->count++;
        return;
    } else {
        counter->group = *sketch->free;
        *sketch->free = sketch->group[counter->group].first;
        sketch->group[counter->group] = (struct group){group->count + 1, last, last};
    }
    if (alone) free_group(sketch, number);
    else group->last--;
}

static uint64_t count_of(const struct sketch *sketch, const struct top_counter *counter)
{
    return sketch->group[counter->group].count;
}

/* Gives the smallest counter to this key. */
static struct top_counter *take_over(const struct sketch *sketch, const struct identity *key)
{
    struct top_counter *counter = &sketch->counter[sketch->order[0]];
    const uint64_t count = count_of(sketch, counter);
    if (count > 0) index_remove(sketch, counter);
    counter->hash = key->hash;
    counter->over = count;
    counter->key_size = key->size;
    memcpy(counter->key, key->bytes, key->kept);
    sketch->index[index_of(sketch, key)] = sketch->order[0];
    return counter;
}

static void count(const struct sketch *sketch, const struct identity *key, uint32_t limit)
{
    const uint16_t found = sketch->index[index_of(sketch, key)];
    struct top_counter *counter = found != NOBODY ? &sketch->counter[found] : take_over(sketch, key);
    counter->limit = limit;
    count_up(sketch, counter);
}

void top_add(struct top *top, unsigned slot, uint64_t hash, const void *bytes, size_t size, uint32_t limit)
{
    struct top_head *head = &top->head[slot % TOP_STRIPES];
    if (!lock_try(&head->lock)) {
        atom_add(&head->missed, 1);
        return;
    }
    const struct identity key = {hash, size > 0 ? bytes : "", (uint32_t)least(size, UINT32_MAX),
                                 (uint32_t)least(size, WEIR_TOP_KEY_SIZE)};
    const struct sketch sketch = sketch_at(top, slot % TOP_STRIPES);
    atom_store(&head->total, atom_load(&head->total) + 1);
    count(&sketch, &key, limit);
    lock_release(&head->lock);
}

/* ---- reading ---- */

/* Copies of the sketches, and for each the count that a key without a counter may have. */
struct top_copies {
    struct sketch sketch[TOP_STRIPES];
    uint64_t without[TOP_STRIPES];
    uint64_t missed;
};

static bool lock_to_read(const struct top *top, struct top_head *head)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (lock_try(&head->lock)) return true;
        top->yield();
    }
    return false;
}

static void copy(struct top *top, unsigned stripe, struct top_copies *copies)
{
    struct top_head *head = &top->head[stripe];
    const struct sketch from = sketch_at(top, stripe), to = sketch_at(top, TOP_STRIPES + stripe);
    copies->sketch[stripe] = to;
    if (lock_to_read(top, head)) {
        memcpy(to.counter, from.counter, sketch_bytes(top->counters));
        lock_release(&head->lock);
        copies->without[stripe] = to.group[to.counter[to.order[0]].group].count;
    } else {
        sketch_open(&to);
        copies->without[stripe] = atom_load(&head->total);
    }
    copies->missed += atom_load(&head->missed);
}

/* Adds up the counts of this key in all sketches; false if it was in one before `stripe`. */
static bool top_join(const struct top_copies *copies, unsigned stripe, const struct top_counter *counter, weir_top *key)
{
    const struct identity identity = top_identity(counter);
    uint64_t largest = 0;
    *key = (weir_top){copies->missed, copies->missed, counter->key_size, counter->limit, {0}};
    memcpy(key->key, counter->key, identity.kept);
    for (unsigned i = 0; i < TOP_STRIPES; i++) {
        const struct sketch *sketch = &copies->sketch[i];
        const uint16_t found = sketch->index[index_of(sketch, &identity)];
        if (found != NOBODY && i < stripe) return false;
        const struct top_counter *here = found != NOBODY ? &sketch->counter[found] : NULL;
        const uint64_t denied = here != NULL ? count_of(sketch, here) : copies->without[i];
        key->denied += denied;
        key->over += here != NULL ? here->over : denied;
        if (here == NULL || denied <= largest) continue;
        largest = denied; /* the sketch with the largest count is the best guess for the latest limit */
        key->limit = here->limit;
    }
    return true;
}

static bool goes_before(const weir_top *a, const weir_top *b)
{
    return a->denied != b->denied ? a->denied > b->denied : a->over < b->over;
}

/* Inserts into the first `room` entries, sorted; returns how many there are. */
static size_t insert(weir_top *out, size_t room, size_t used, const weir_top *key)
{
    if (used == room) {
        if (room == 0 || !goes_before(key, &out[used - 1])) return used;
        used--;
    }
    size_t at = used;
    while (at > 0 && goes_before(key, &out[at - 1])) at--;
    memmove(&out[at + 1], &out[at], (used - at) * sizeof *out);
    out[at] = *key;
    return used + 1;
}

size_t top_read(struct top *top, weir_top *out, size_t count)
{
    struct top_copies copies = {.missed = 0};
    size_t used = 0;
    weir_top key;
    for (unsigned stripe = 0; stripe < TOP_STRIPES; stripe++) copy(top, stripe, &copies);
    for (unsigned stripe = 0; stripe < TOP_STRIPES; stripe++) {
        const struct sketch *sketch = &copies.sketch[stripe];
        for (unsigned i = 0; i < top->counters; i++) {
            const struct top_counter *counter = &sketch->counter[i];
            if (count_of(sketch, counter) == 0 || !top_join(&copies, stripe, counter, &key)) continue;
            used = insert(out, count, used, &key);
        }
    }
    return used;
}
