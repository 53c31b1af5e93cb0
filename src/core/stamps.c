/* SPDX-License-Identifier: MIT
   stamps.c - the ring of times that a log keeps.

       | head | at | newest | from | floor | owner | | | |      the header, a word each
       |  t4  | t5 |   t6   |  t1  |  t2   |  t3   |      a ring of 6 after 6 entries and more
                           at ^

   A stamp is 8 bytes, or 4: the lower half of the time.  The upper half follows from the newest entry as long as that
   is less than 2^32 ns later; an entry that falls behind is from then on known only as `floor`, the latest it can have
   been.  The same holds for what the ring has lost and what comes into sight again when entries are taken out.

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

uint64_t stamps_known(const struct rule *rule, const uint64_t *state)
{
    return least(state[STAMPS_HEAD], stamps_capacity(rule));
}

/* back is up to the capacity. */
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
    uint64_t *ring = state + STAMPS_HEADER;
    if (!brief(rule)) {
        ring[slot] = value;
        return;
    }
    const unsigned shift = slot % 2 * 32;
    ring[slot / 2] = (ring[slot / 2] & ~((uint64_t)UINT32_MAX << shift)) | (uint64_t)(uint32_t)value << shift;
}

uint64_t stamps_get(const struct rule *rule, const uint64_t *state, uint64_t back)
{
    if (state[STAMPS_HEAD] - back < state[STAMPS_FROM]) return state[STAMPS_FLOOR];
    const uint64_t value = read_slot(rule, state, slot_of(rule, state, back));
    const uint64_t newest = state[STAMPS_NEWEST];
    return brief(rule) ? newest - (uint32_t)(newest - value) : value;
}

uint64_t stamps_after(const struct rule *rule, const uint64_t *state, uint64_t ns)
{
    uint64_t after = 0, not_after = stamps_known(rule, state);
    while (after < not_after) {
        const uint64_t middle = after + (not_after - after) / 2;
        if (stamps_get(rule, state, middle + 1) > ns) after = middle + 1;
        else not_after = middle;
    }
    return after;
}

/* Before an entry at ns is appended: what it leaves behind was made when the last of them was, at the latest. */
static void leave_behind(const struct rule *rule, uint64_t *state, uint64_t ns)
{
    const uint64_t head = state[STAMPS_HEAD], behind_ns = subtract_to_zero(ns, REACH_NS + 1);
    const uint64_t kept = least(stamps_known(rule, state), subtract_to_zero(head, state[STAMPS_FROM]));
    if (ns <= REACH_NS || kept == 0 || stamps_get(rule, state, kept) > behind_ns) return;
    const uint64_t within = least(stamps_after(rule, state, behind_ns), kept - 1);
    state[STAMPS_FLOOR] = stamps_get(rule, state, within + 1);
    state[STAMPS_FROM] = head - within;
}

void stamps_append(const struct rule *rule, uint64_t *state, uint64_t ns)
{
    const uint64_t capacity = stamps_capacity(rule);
    const uint64_t at = state[STAMPS_AT] < capacity ? state[STAMPS_AT] : 0;
    if (brief(rule)) leave_behind(rule, state, ns);
    write_slot(rule, state, at, ns);
    state[STAMPS_AT] = at + 1 < capacity ? at + 1 : 0;
    state[STAMPS_HEAD]++;
    state[STAMPS_NEWEST] = ns;
}

void stamps_remove(const struct rule *rule, uint64_t *state, uint64_t newer, uint64_t count, uint64_t lost_ns)
{
    const uint64_t capacity = stamps_capacity(rule), known = stamps_known(rule, state);
    if (newer >= known || count == 0 || count > known - newer) return;
    const uint64_t none_ns = state[STAMPS_HEAD] > capacity ? lost_ns : 0;
    const uint64_t next_ns = count < known ? stamps_get(rule, state, count + 1) : none_ns;
    if (state[STAMPS_HEAD] > capacity) {
        state[STAMPS_FROM] = most(state[STAMPS_FROM], state[STAMPS_HEAD] - capacity);
        state[STAMPS_FLOOR] = lost_ns;
    }
    for (uint64_t back = newer; back > 0; back--) {
        const uint64_t value = read_slot(rule, state, slot_of(rule, state, back));
        write_slot(rule, state, slot_of(rule, state, back + count), value);
    }
    state[STAMPS_AT] = slot_of(rule, state, count);
    state[STAMPS_HEAD] -= count;
    if (newer == 0) state[STAMPS_NEWEST] = next_ns;
}

void stamps_advance(const struct rule *rule, uint64_t *state, uint64_t entries, uint64_t by_ns)
{
    for (uint64_t slot = 0; slot < stamps_capacity(rule); slot++) {
        const uint64_t value = read_slot(rule, state, slot);
        write_slot(rule, state, slot, brief(rule) ? value + by_ns : add_saturating(value, by_ns));
    }
    /* Of some in the ring only the floor is known: they move along with it. */
    if (state[STAMPS_FROM] > state[STAMPS_HEAD] - stamps_known(rule, state)) {
        state[STAMPS_FROM] = add_saturating(state[STAMPS_FROM], entries);
        state[STAMPS_FLOOR] = add_saturating(state[STAMPS_FLOOR], by_ns);
    }
    state[STAMPS_HEAD] = add_saturating(state[STAMPS_HEAD], entries);
    state[STAMPS_NEWEST] = add_saturating(state[STAMPS_NEWEST], by_ns);
    if (state[STAMPS_NEWEST] != UINT64_MAX) return;
    state[STAMPS_FROM] = state[STAMPS_HEAD];
    state[STAMPS_FLOOR] = UINT64_MAX;
}
