/* SPDX-License-Identifier: MIT
   SipHash-1-3 of eight keys at once: hash_key of each, to the bit, in the lanes of wide registers. */
#ifndef WEIR_SHARE_HASH_HASH_HASH_LANES_H
#define WEIR_SHARE_HASH_HASH_HASH_LANES_H

#include <weir/weir.h>

#include "share/hash/hash.h"
#include "share/hash/lanes.h"

/* The words of eight keys.  whole[i]: the i-th whole word of each, anything where there is none; last: the bytes after
   those, in the highest ones; size: bytes. */
enum { HASH_WHOLE_MAX = 8 };
struct hash_words {
    uint64_t whole[HASH_WHOLE_MAX][LANES], last[LANES], size[LANES];
    size_t whole_max; /* of the longest key */
};

/* Moves the words of eight calls' keys, some time before hash_eight: a register is not filled by eight stores until
   they have left the processor.  False: one of the keys is too long. */
bool hash_move(struct hash_words *words, const weir_ask asks[]);

/* [host_has_lanes] hash_key of each. */
void hash_eight(const struct secret *secret, const struct hash_words *words, uint64_t salt, uint64_t hash[]);

#endif
