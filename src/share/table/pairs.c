/* SPDX-License-Identifier: MIT
   The places for many hashes: of eight at once in the lanes of AVX-512, which takes 2 instructions a hash for what
   takes 25 one by one. */
#include "share/table/pairs.h"

#ifdef WITH_LANES

/* table_pair_of, step by step.  A product of two halves of words is one instruction, so half has to fit in 32 bits. */
WITH_LANES static void find_eight(const struct table_area *area, const uint64_t hashes[], struct table_pairs *pairs)
{
    const lanes half = LANES_ALL(area->half), bucket = LANES_ALL((uint64_t)(uintptr_t)area->bucket);
    const lanes hash = lanes_load(hashes), low = LANES_ALL(UINT32_MAX);
    lanes tag = hash & LANES_ALL(UINT64_MAX >> TABLE_TAG_SHIFT);
    tag -= (lanes)(tag == 0); /* a comparison that holds is -1 */
    const lanes first = (hash >> 32) * (half & low) >> 32;
    const lanes stride = (tag * TABLE_MIX >> 32) * (half & low) >> 32;
    const lanes place = first + stride, second = place + (half & (lanes)(place < half));
    lanes_store(pairs->first, bucket + first * sizeof(struct table_bucket));
    lanes_store(pairs->second, bucket + second * sizeof(struct table_bucket));
    lanes_store(pairs->tag, tag);
}

#else

static void find_eight(const struct table_area *area, const uint64_t hashes[], struct table_pairs *pairs)
{
    (void)area, (void)hashes, (void)pairs;
}

#endif

void table_fetch_pairs(const struct table *table, bool has_lanes, const uint64_t hash[], size_t count,
                       struct table_pairs *pairs)
{
    const uint64_t half = table->all.half; /* 0: keys have one of several areas */
    const bool in_lanes = has_lanes && count == LANES && half != 0 && half <= UINT32_MAX;
    if (in_lanes) find_eight(&table->all, hash, pairs);
    for (size_t i = 0; !in_lanes && i < count; i++) {
        const struct table_pair pair = table_pair_of(table, hash[i]);
        pairs->first[i] = pair.first;
        pairs->second[i] = pair.second;
        pairs->tag[i] = pair.tag;
    }
    for (size_t i = 0; i < count; i++) {
        atom_prefetch(pairs->first[i]);
        atom_prefetch(pairs->second[i]);
    }
}
