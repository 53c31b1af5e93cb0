/* SPDX-License-Identifier: MIT
   SipHash-1-3: the identity of a key that comes from outside.  Without the secret no one can find keys that share an
   identity or a bucket. */
#ifndef WEIR_SHARE_HASH_HASH_H
#define WEIR_SHARE_HASH_HASH_H

#include <stddef.h>
#include <stdint.h>

struct secret {
    uint64_t word[2];
};

/* The salt is hashed after the key, so one key has an identity for each limit of a plan. */
uint64_t hash_key(const struct secret *secret, const void *bytes, size_t size, uint64_t salt);

/* SipHash-1-3 as published, of the bytes alone. */
uint64_t hash_siphash_1_3(const struct secret *secret, const void *bytes, size_t size);

#endif
