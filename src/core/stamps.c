/* SPDX-License-Identifier: MIT
   stamps.c - the ring of times that a log keeps.

       | at | kept | ever | lost | newest | | |     the header, a word each
       | t4 | t5 | t6 | t1 | t2 | t3 |              a ring of 6 after 6 entries and more
                      at ^

   A stamp is 8 bytes, or 4: the lower half of the time.  The upper half follows from the newest entry as long as that
   is less than 2^32 ns later; an entry that falls behind is lost.  So is one that is overwritten, and of all those the
   ring only knows when the last of them was.

   May touch: the state.  Promises: total, any words give some answer; nothing reads as earlier than it was.  Leaves to
   others: what the times mean (sliding_log.c). */
#include "core/stamps.h"

#include "core/num.h"

static const uint64_t REACH_NS = UINT32_MAX;

static bool brief(const struct rule *rule)
{
    return (rule->flags & STAMPS_BRIEF) != 0;
}

uint64_t stamps_capacity(const struct rule *rule)
{
    return most(most(rule->burst, rule->fourth), 1);
}

uint64_t stamps_words(const struct rule *rule)
{
    const uint64_t capacity = stamps_capacity(rule);
    return brief(rule) ? capacity / 2 + capacity % 2 : capacity;
}

uint64_t stamps_kept(const struct rule *rule, const uint64_t *state)
{
    return least(state[STAMPS_KEPT], stamps_capacity(rule));
}

bool stamps_has(const struct rule *rule, const uint64_t *state, uint64_t back)
{
    return back <= most(state[STAMPS_EVER], stamps_kept(rule, state));
}

/* back is up to the capacity; 0 is the one that is written next. */
static uint64_t slot_of(const struct rule *rule, const uint64_t *state, uint64_t back)
{
    const uint64_t capacity = stamps_capacity(rule);
    const uint64_t at = state[STAMPS_AT] < capacity ? state[STAMPS_AT] : 0;
    return at >= back ? at - back : at + capacity - back;
}

static uint64_t read_slot(const struct rule *rule, const uint64_t *state, uint64_t slot)
{
    const uint64_t *ring = state + STAMPS_HEADER;
    return brief(rule) ? (uint32_t)(ring[slot / 2] >> slot % 2 * 32) : ring[slot];
}

static void write_slot(const struct rule *rule, uint64_t *state, uint64_t slot, uint64_t value)
{
    const unsigned shift = slot % 2 * 32;
    uint64_t *word = state + STAMPS_HEADER + (brief(rule) ? slot / 2 : slot);
    *word = brief(rule) ? (*word & ~((uint64_t)UINT32_MAX << shift)) | (uint64_t)(uint32_t)value << shift : value;
}

uint64_t stamps_get(const struct rule *rule, const uint64_t *state, uint64_t back)
{
    if (back > stamps_kept(rule, state)) return state[STAMPS_LOST];
    const uint64_t value = read_slot(rule, state, slot_of(rule, state, back)), newest = state[STAMPS_NEWEST];
    return brief(rule) ? newest - (uint32_t)(newest - value) : value;
}

static void lose_oldest(const struct rule *rule, uint64_t *state)
{
    const uint64_t kept = stamps_kept(rule, state);
    state[STAMPS_LOST] = stamps_get(rule, state, kept);
    state[STAMPS_KEPT] = kept - 1;
}

static bool falls_behind(const struct rule *rule, const uint64_t *state, uint64_t ns)
{
    const uint64_t kept = stamps_kept(rule, state);
    return brief(rule) && kept != 0 && subtract_to_zero(ns, stamps_get(rule, state, kept)) > REACH_NS;
}

void stamps_append(const struct rule *rule, uint64_t *state, uint64_t ns)
{
    while (falls_behind(rule, state, ns)) lose_oldest(rule, state);
    if (state[STAMPS_KEPT] >= stamps_capacity(rule)) lose_oldest(rule, state);
    const uint64_t slot = slot_of(rule, state, 0);
    write_slot(rule, state, slot, ns);
    state[STAMPS_AT] = slot + 1;
    state[STAMPS_KEPT]++;
    state[STAMPS_EVER] = add_saturating(state[STAMPS_EVER], 1);
    state[STAMPS_NEWEST] = ns;
}

void stamps_remove(const struct rule *rule, uint64_t *state, uint64_t newer, uint64_t count)
{
    const uint64_t kept = stamps_kept(rule, state);
    if (count > kept || newer > kept - count) return;
    if (newer == 0) state[STAMPS_NEWEST] = stamps_get(rule, state, count + 1);
    for (uint64_t back = newer; back > 0; back--) {
        const uint64_t value = read_slot(rule, state, slot_of(rule, state, back));
        write_slot(rule, state, slot_of(rule, state, back + count), value);
    }
    state[STAMPS_AT] = slot_of(rule, state, count);
    state[STAMPS_KEPT] = kept - count;
    state[STAMPS_EVER] = subtract_to_zero(state[STAMPS_EVER], count);
}

void stamps_save(const struct rule *rule, const uint64_t *state, uint64_t count, uint64_t saved[])
{
    const uint64_t capacity = stamps_capacity(rule), at = slot_of(rule, state, 0);
    for (uint64_t i = 0; i < count; i++) saved[i] = read_slot(rule, state, (at + i) % capacity);
}

void stamps_put_back(const struct rule *rule, uint64_t *state, uint64_t count, const uint64_t saved[])
{
    const uint64_t capacity = stamps_capacity(rule), at = slot_of(rule, state, 0);
    for (uint64_t i = least(count, capacity); i > 0; i--) {
        write_slot(rule, state, (at + i - 1) % capacity, saved[i - 1]);
    }
}

void stamps_advance(const struct rule *rule, uint64_t *state, uint64_t entries, uint64_t by_ns)
{
    state[STAMPS_EVER] = add_saturating(state[STAMPS_EVER], entries);
    if (by_ns > UINT64_MAX - state[STAMPS_NEWEST]) {
        state[STAMPS_KEPT] = 0;
        state[STAMPS_LOST] = state[STAMPS_NEWEST] = UINT64_MAX;
        return;
    }
    for (uint64_t slot = 0; slot < stamps_capacity(rule); slot++) {
        write_slot(rule, state, slot, read_slot(rule, state, slot) + by_ns);
    }
    state[STAMPS_NEWEST] += by_ns;
    state[STAMPS_LOST] = stamps_get(rule, state, stamps_kept(rule, state));
}
