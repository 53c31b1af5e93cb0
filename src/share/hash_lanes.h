/* SPDX-License-Identifier: MIT
   SipHash-1-3 of several keys at once: hash_key of each, to the bit, in lanes of wide registers where there are any. */
#ifndef WEIR_SHARE_HASH_LANES_H
#define WEIR_SHARE_HASH_LANES_H

#include "share/hash.h"

/* bytes: borrowed.  salt: as in hash_key. */
struct hash_message {
    const void *bytes;
    size_t size;
    uint64_t salt;
};

/* The registers that the processor has: those that host_lanes tells. */
enum hash_lanes { HASH_LANES_NONE, HASH_LANES_AVX2, HASH_LANES_AVX512 };

void hash_keys(const struct secret *secret, enum hash_lanes lanes, const struct hash_message message[], size_t count,
               uint64_t hash[]);

#endif
