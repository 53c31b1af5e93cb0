/* SPDX-License-Identifier: MIT
   table_pair_of for many hashes. */
#ifndef WEIR_SHARE_TABLE_PAIRS_H
#define WEIR_SHARE_TABLE_PAIRS_H

#include "share/hash/lanes.h"
#include "share/table/table.h"

/* Pair i is in first[i], second[i] and tag[i]. */
struct table_pairs {
    struct table_bucket *first[LANES], *second[LANES];
    uint64_t tag[LANES];
};

static ATOM_INLINE struct table_pair table_pair_at(const struct table_pairs *pairs, size_t i)
{
    return (struct table_pair){pairs->first[i], pairs->second[i], pairs->tag[i]};
}

/* At most LANES hashes; prefetches the lines.  has_lanes: as for hash_keys. */
void table_fetch_pairs(const struct table *table, bool has_lanes, const uint64_t hash[], size_t count,
                       struct table_pairs *pairs);

#endif
