/* SPDX-License-Identifier: MIT
   SipHash-1-3 of several keys at once: hash_key of each, to the bit, in lanes of wide registers where there are any. */
#ifndef WEIR_SHARE_HASH_LANES_H
#define WEIR_SHARE_HASH_LANES_H

#include <weir/weir.h>

#include "share/hash.h"

enum { HASH_AT_ONCE = 8 };

/* The registers that the processor has, as host_lanes says. */
enum hash_lanes { HASH_LANES_NONE, HASH_LANES_AVX2, HASH_LANES_AVX512 };

/* The hashes of the keys of up to HASH_AT_ONCE calls.  Fewer are hashed one by one. */
void hash_keys(const struct secret *secret, enum hash_lanes lanes, const weir_ask asks[], size_t count, uint64_t salt,
               uint64_t hash[]);

#endif
