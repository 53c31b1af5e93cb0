/* SPDX-License-Identifier: MIT
   How much memory wide slots need, and how many fit. */
#include "share/table/wide_layout.h"

#include "share/table/wide_plans.h"

enum { KEYS_IN_SLOTS = 16, SLOTS_FOR_KEYS = 25 }; /* so that a bucket is rarely full: 1 new key in 1000 finds no slot */
enum { SLOTS_FOR_PART_KEY = 2 };

uint64_t wide_bytes(uint64_t keys_max, uint64_t state_words, bool kept, uint64_t *slots, uint64_t *slot_words)
{
    const uint64_t copy = add_saturating(STATE, state_words);
    const uint64_t buckets = multiply_divide_ceil(keys_max, SLOTS_FOR_KEYS, KEYS_IN_SLOTS * (uint64_t)BUCKET_SLOTS);
    *slots = keys_max <= BUCKET_SLOTS ? most(keys_max, 1) : multiply_saturating(buckets, BUCKET_SLOTS);
    *slot_words = add_saturating(TAG_WORDS, multiply_saturating(copy, kept ? 2 : 1));
    const uint64_t in_bucket = least(*slots, BUCKET_SLOTS);
    const uint64_t bucket = wide_whole_lines(add_saturating(TAGS, multiply_saturating(in_bucket, *slot_words)));
    const uint64_t all = add_saturating(wide_whole_lines(state_words), multiply_saturating(*slots / in_bucket, bucket));
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
    if (slots == 0 || slots % wide_bucket_slots(&part) != 0) return 0;
    const uint64_t buckets = slots / wide_bucket_slots(&part);
    return multiply_saturating(multiply_saturating(buckets, wide_bucket_words(&part)), sizeof(uint64_t));
}

uint64_t wide_slots_in(uint64_t bytes, uint64_t slot_words, bool kept)
{
    const struct wide one = {.slot_words = slot_words, .kept = kept};
    if (slot_words < TAG_WORDS + wide_copies(&one) * (STATE + 1)) return 0;
    const uint64_t plans = wide_plans_bytes(wide_sets_in(bytes)) / sizeof(uint64_t);
    const uint64_t before = add_saturating(plans, wide_whole_lines(wide_capacity(&one)));
    const uint64_t words = subtract_to_zero(bytes / sizeof(uint64_t), before);
    const uint64_t bucket =
        most(wide_whole_lines(add_saturating(TAGS, multiply_saturating(BUCKET_SLOTS, slot_words))), 1);
    if (words >= bucket) return words / bucket * BUCKET_SLOTS;
    return subtract_to_zero(words, TAGS) / slot_words;
}

bool wide_fits(const struct wide *table, uint64_t words)
{
    return words <= wide_capacity(table);
}
