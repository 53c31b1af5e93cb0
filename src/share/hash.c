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
#include "share/hash.h"

enum { WORD_SIZE = 8, WORD_BITS = 64, HASH_BYTE_BITS = 8, SIZE_SHIFT = 56, ROUNDS_AT_END = 3 };

struct sip {
    uint64_t a, b, c, d;
};

static inline uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (WORD_BITS - bits);
}

static inline void sip_round(struct sip *sip)
{
    sip->a += sip->b;
    sip->c += sip->d;
    sip->b = rotate(sip->b, 13) ^ sip->a;
    sip->d = rotate(sip->d, 16) ^ sip->c;
    sip->a = rotate(sip->a, 32);
    sip->a += sip->d;
    sip->c += sip->b;
    sip->d = rotate(sip->d, 21) ^ sip->a;
    sip->b = rotate(sip->b, 17) ^ sip->c;
    sip->c = rotate(sip->c, 32);
}

/* "somepseudorandomlygeneratedbytes" */
static inline struct sip sip_begin(const struct secret *secret)
{
    return (struct sip){
        .a = secret->word[0] ^ UINT64_C(0x736f6d6570736575),
        .b = secret->word[1] ^ UINT64_C(0x646f72616e646f6d),
        .c = secret->word[0] ^ UINT64_C(0x6c7967656e657261),
        .d = secret->word[1] ^ UINT64_C(0x7465646279746573),
    };
}

static inline void sip_word(struct sip *sip, uint64_t word)
{
    sip->d ^= word;
    sip_round(sip);
    sip->a ^= word;
}

static inline uint64_t sip_end(struct sip *sip)
{
    sip->c ^= 0xff;
    for (int i = 0; i < ROUNDS_AT_END; i++) sip_round(sip);
    return sip->a ^ sip->b ^ sip->c ^ sip->d;
}

/* Compilers turn this into one load. */
static inline uint64_t hash_word_at(const unsigned char *byte)
{
    return (uint64_t)byte[0] | (uint64_t)byte[1] << 8 | (uint64_t)byte[2] << 16 | (uint64_t)byte[3] << 24 |
           (uint64_t)byte[4] << 32 | (uint64_t)byte[5] << 40 | (uint64_t)byte[6] << 48 | (uint64_t)byte[7] << 56;
}

/* The bytes after the last whole word; of a long message they are shifted out of its last eight bytes, which is one
   load. */
static inline uint64_t hash_rest_of(const unsigned char *bytes, size_t size)
{
    const unsigned rest = (unsigned)(size % WORD_SIZE);
    if (rest == 0) return 0;
    if (size > WORD_SIZE) return hash_word_at(bytes + size - WORD_SIZE) >> (WORD_BITS - rest * HASH_BYTE_BITS);
    uint64_t word = 0;
    for (unsigned i = 0; i < rest; i++) word |= (uint64_t)bytes[i] << (i * HASH_BYTE_BITS);
    return word;
}

static inline void sip_words(struct sip *sip, const unsigned char *bytes, size_t size)
{
    for (size_t at = 0; size - at >= WORD_SIZE; at += WORD_SIZE) sip_word(sip, hash_word_at(bytes + at));
}

uint64_t hash_siphash_1_3(const struct secret *secret, const void *bytes, size_t size)
{
    struct sip sip = sip_begin(secret);
    sip_words(&sip, bytes, size);
    sip_word(&sip, hash_rest_of(bytes, size) | (uint64_t)size << SIZE_SHIFT);
    return sip_end(&sip);
}

uint64_t hash_key(const struct secret *secret, const void *bytes, size_t size, uint64_t salt)
{
    struct sip sip = sip_begin(secret);
    sip_words(&sip, bytes, size);
    const unsigned rest_bits = (unsigned)(size % WORD_SIZE) * HASH_BYTE_BITS;
    const uint64_t above = rest_bits == 0 ? 0 : salt >> (WORD_BITS - rest_bits); /* what does not fit */
    sip_word(&sip, hash_rest_of(bytes, size) | salt << rest_bits);
    sip_word(&sip, above | (uint64_t)(size + sizeof salt) << SIZE_SHIFT);
    return sip_end(&sip);
}
