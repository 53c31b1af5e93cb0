/* SPDX-License-Identifier: MIT
   The ring of times that a log keeps.

       | at | kept | ever | lost | newest | | |     the header, a word each
       | t4 | t5 | t6 | t1 | t2 | t3 |              a ring of 6 after 6 entries and more
                      at ^

       | upper 3, 2, 1, 0 | lower 1, 0 | lower 3, 2 |       four of 6 bytes: three words

   A stamp is 8 bytes, or the lower 4 or 6 of the time.  What is above follows from the newest entry, as long as that
   is less than 2^32 ns (4.3 s) or 2^48 ns (78 h) later; an entry that falls behind is lost.  So is one that is
   overwritten, and of all those the ring only knows when the last of them was.
   Any words give some answer, and nothing reads as earlier than it was. */
#include "core/stamps.h"

#include "core/num.h"

enum { REACH_BITS = 48, IN_GROUP = 4, GROUP_WORDS = 3 };

uint64_t stamps_reach_ns(const struct rule *rule)
{
    if (rule->flags & STAMPS_4_BYTES) return UINT32_MAX;
    return rule->flags & STAMPS_6_BYTES ? (UINT64_C(1) << REACH_BITS) - 1 : UINT64_MAX;
}

uint8_t stamps_flag(uint64_t longest_ns, uint64_t count)
{
    if (longest_ns <= UINT32_MAX / 2) return STAMPS_4_BYTES;
    return longest_ns >> (REACH_BITS - 1) == 0 && count >= IN_GROUP ? STAMPS_6_BYTES : 0;
}

uint64_t stamps_capacity(const struct rule *rule)
{
    return most(most(rule->burst, rule->fourth), 1);
}

uint64_t stamps_words(const struct rule *rule)
{
    const uint64_t capacity = stamps_capacity(rule);
    if (rule->flags & STAMPS_4_BYTES) return capacity / 2 + capacity % 2;
    if (rule->flags & STAMPS_6_BYTES) return capacity - capacity / IN_GROUP + (capacity % IN_GROUP == 1);
    return capacity;
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
static uint64_t stamps_slot_of(const struct rule *rule, const uint64_t *state, uint64_t back)
{
    const uint64_t capacity = stamps_capacity(rule);
    const uint64_t at = state[STAMPS_AT] < capacity ? state[STAMPS_AT] : 0;
    return at >= back ? at - back : at + capacity - back;
}

/* Of 6 bytes the uppermost 2 of the word are another one's. */
static inline uint64_t stamps_read_slot(const struct rule *rule, const uint64_t *state, uint64_t slot)
{
    const uint64_t *ring = state + STAMPS_HEADER;
    if (rule->flags & STAMPS_4_BYTES) return (uint32_t)(ring[slot / 2] >> slot % 2 * 32);
    if (!(rule->flags & STAMPS_6_BYTES)) return ring[slot];
    const uint64_t *group = ring + slot / IN_GROUP * GROUP_WORDS;
    return (uint32_t)(group[1 + slot % IN_GROUP / 2] >> slot % 2 * 32) | group[0] >> slot % IN_GROUP * 16 << 32;
}

/* Not *word & ~(mask << shift): of that clang 19 for 32-bit ARM loses the upper half. */
static void stamps_put(uint64_t *word, uint64_t shift, uint64_t mask, uint64_t value)
{
    *word ^= ((*word >> shift ^ value) & mask) << shift;
}

static void stamps_write_slot(const struct rule *rule, uint64_t *state, uint64_t slot, uint64_t value)
{
    uint64_t *ring = state + STAMPS_HEADER, *group = ring + slot / IN_GROUP * GROUP_WORDS;
    if (rule->flags & STAMPS_4_BYTES) {
        stamps_put(&ring[slot / 2], slot % 2 * 32, UINT32_MAX, value);
    } else if (rule->flags & STAMPS_6_BYTES) {
        stamps_put(&group[1 + slot % IN_GROUP / 2], slot % 2 * 32, UINT32_MAX, value);
        stamps_put(&group[0], slot % IN_GROUP * 16, UINT16_MAX, value >> 32);
    } else {
        ring[slot] = value;
    }
}

uint64_t stamps_get(const struct rule *rule, const uint64_t *state, uint64_t back)
{
    if (back > stamps_kept(rule, state)) return state[STAMPS_LOST];
    const uint64_t slot = stamps_slot_of(rule, state, back), newest = state[STAMPS_NEWEST];
    return newest - ((newest - stamps_read_slot(rule, state, slot)) & stamps_reach_ns(rule));
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
    return rule->flags & STAMPS_BRIEF && kept != 0 &&
           subtract_to_zero(ns, stamps_get(rule, state, kept)) > stamps_reach_ns(rule);
}

void stamps_append(const struct rule *rule, uint64_t *state, uint64_t ns)
{
    while (falls_behind(rule, state, ns)) lose_oldest(rule, state);
    if (state[STAMPS_KEPT] >= stamps_capacity(rule)) lose_oldest(rule, state);
    const uint64_t slot = stamps_slot_of(rule, state, 0);
    stamps_write_slot(rule, state, slot, ns);
    state[STAMPS_AT] = slot + 1;
    state[STAMPS_KEPT]++;
    state[STAMPS_EVER] = add_saturating(state[STAMPS_EVER], 1);
    state[STAMPS_NEWEST] = ns;
}

void stamps_remove(const struct rule *rule, uint64_t *state, uint64_t newer, uint64_t count)
{
    const uint64_t kept = stamps_kept(rule, state);
    if (newer == 0) state[STAMPS_NEWEST] = stamps_get(rule, state, count + 1);
    for (uint64_t back = newer; back > 0; back--) {
        const uint64_t value = stamps_read_slot(rule, state, stamps_slot_of(rule, state, back));
        stamps_write_slot(rule, state, stamps_slot_of(rule, state, back + count), value);
    }
    state[STAMPS_AT] = stamps_slot_of(rule, state, count);
    state[STAMPS_KEPT] = kept - count;
    state[STAMPS_EVER] = subtract_to_zero(state[STAMPS_EVER], count);
}

void stamps_save(const struct rule *rule, const uint64_t *state, uint64_t count, uint64_t saved[])
{
    const uint64_t capacity = stamps_capacity(rule), at = stamps_slot_of(rule, state, 0);
    for (uint64_t i = 0; i < count; i++) saved[i] = stamps_read_slot(rule, state, (at + i) % capacity);
}

void stamps_put_back(const struct rule *rule, uint64_t *state, uint64_t count, const uint64_t saved[])
{
    const uint64_t capacity = stamps_capacity(rule), at = stamps_slot_of(rule, state, 0);
    for (uint64_t i = least(count, capacity); i > 0; i--) {
        stamps_write_slot(rule, state, (at + i - 1) % capacity, saved[i - 1]);
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
        stamps_write_slot(rule, state, slot, stamps_read_slot(rule, state, slot) + by_ns);
    }
    state[STAMPS_NEWEST] += by_ns;
    state[STAMPS_LOST] = stamps_get(rule, state, stamps_kept(rule, state));
}
