/* SPDX-License-Identifier: MIT
   SipHash-1-3 of several keys at once: hash_key of each, to the bit, in the lanes of wide registers where there are any. */
#ifndef WEIR_SHARE_HASH_LANES_H
#define WEIR_SHARE_HASH_LANES_H

#include <weir/weir.h>

#include "share/hash.h"
#include "share/lanes.h"

enum { HASH_AT_ONCE = 4 * LANES };

/* The hashes of the keys of up to HASH_AT_ONCE calls.  has_lanes: as host_has_lanes says; then eight keys are hashed
   together, as long as none of the eight is long. */
void hash_keys(const struct secret *secret, bool has_lanes, const weir_ask asks[], size_t count, uint64_t salt,
               uint64_t hash[]);

#endif
