/* SPDX-License-Identifier: MIT
   SipHash-1-3 (Aumasson, Bernstein 2012): one round for each word of the message, three at the end.

   Keys come from outside.  With a hash that anyone can compute, a client could choose keys that fall into one bucket of
   a table, or that are taken for another key.  SipHash is a pseudo-random function of its secret; with 1 and 3 rounds
   it is what Rust, Python and Linux use in their hash tables.

   The message, in little-endian words:

       | bytes 0..7 | bytes 8..15 | ... | the rest of the bytes, zeros, and in the highest byte the size |

   A salt is appended to the bytes as eight more.  The size counts them, and there are always eight, so no two pairs of
   key and salt give the same message.

   The result is the same on every byte order, and the time does not depend on the values. */
#include "share/hash/hash.h"

#include "share/hash/sip.h"

static inline void sip_words(struct sip *sip, const unsigned char *bytes, size_t size)
{
    for (size_t at = 0; size - at >= SIP_WORD_SIZE; at += SIP_WORD_SIZE) sip_word(sip, sip_word_at(bytes + at));
}

uint64_t hash_siphash_1_3(const struct secret *secret, const void *bytes, size_t size)
{
    struct sip sip = sip_begin(secret);
    sip_words(&sip, bytes, size);
    sip_word(&sip, sip_rest_of(bytes, size) | (uint64_t)size << SIP_SIZE_SHIFT);
    return sip_end(&sip);
}

uint64_t hash_key(const struct secret *secret, const void *bytes, size_t size, uint64_t salt)
{
    struct sip sip = sip_begin(secret);
    sip_words(&sip, bytes, size);
    const struct sip_tail tail = sip_tail_of(bytes, size, salt);
    sip_word(&sip, tail.word[0]);
    sip_word(&sip, tail.word[1]);
    return sip_end(&sip);
}
