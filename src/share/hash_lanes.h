/* SPDX-License-Identifier: MIT
   SipHash-1-3 of several keys at once: hash_key of each, to the bit, in the lanes of wide registers where there are any. */
#ifndef WEIR_SHARE_HASH_LANES_H
#define WEIR_SHARE_HASH_LANES_H

#include <weir/weir.h>

#include "share/hash.h"
#include "share/lanes.h"

/* The hashes of the keys of up to LANES calls.  Fewer are hashed one by one.  has_lanes: the processor has AVX-512,
   as host_has_lanes says. */
void hash_keys(const struct secret *secret, bool has_lanes, const weir_ask asks[], size_t count, uint64_t salt,
               uint64_t hash[]);

#endif
