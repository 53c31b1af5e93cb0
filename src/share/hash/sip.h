/* SPDX-License-Identifier: MIT
   The rounds of SipHash-1-3 and the words of its messages, for hash.c and hash_lanes.c. */
#ifndef WEIR_SHARE_HASH_SIP_H
#define WEIR_SHARE_HASH_SIP_H

#include <stddef.h>

#include "share/hash/hash.h"

enum {
    SIP_WORD_SIZE = 8,
    SIP_WORD_BITS = 64,
    SIP_BYTE_BITS = 8,
    SIP_SIZE_SHIFT = 56,
    SIP_ROUNDS_AT_END = 3,
    SIP_TAIL_WORDS = 2
};

struct sip {
    uint64_t a, b, c, d;
};

static inline uint64_t sip_rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (SIP_WORD_BITS - bits);
}

static inline void sip_round(struct sip *sip)
{
    sip->a += sip->b;
    sip->c += sip->d;
    sip->b = sip_rotate(sip->b, 13) ^ sip->a;
    sip->d = sip_rotate(sip->d, 16) ^ sip->c;
    sip->a = sip_rotate(sip->a, 32);
    sip->a += sip->d;
    sip->c += sip->b;
    sip->d = sip_rotate(sip->d, 21) ^ sip->a;
    sip->b = sip_rotate(sip->b, 17) ^ sip->c;
    sip->c = sip_rotate(sip->c, 32);
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
    for (int i = 0; i < SIP_ROUNDS_AT_END; i++) sip_round(sip);
    return sip->a ^ sip->b ^ sip->c ^ sip->d;
}

/* Compilers turn this into one load. */
static inline uint64_t sip_word_at(const unsigned char *byte)
{
    return (uint64_t)byte[0] | (uint64_t)byte[1] << 8 | (uint64_t)byte[2] << 16 | (uint64_t)byte[3] << 24 |
           (uint64_t)byte[4] << 32 | (uint64_t)byte[5] << 40 | (uint64_t)byte[6] << 48 | (uint64_t)byte[7] << 56;
}

/* The bytes after the last whole word.  Of a long message they are shifted out of its last eight bytes, which is one
   load; in two shifts, as there may be none. */
static inline uint64_t sip_rest_of(const unsigned char *bytes, size_t size)
{
    const unsigned rest = (unsigned)(size % SIP_WORD_SIZE);
    if (size >= SIP_WORD_SIZE)
        return sip_word_at(bytes + size - SIP_WORD_SIZE) >> 1 >> (SIP_WORD_BITS - 1 - rest * SIP_BYTE_BITS);
    uint64_t word = 0;
    for (unsigned i = 0; i < rest; i++) word |= (uint64_t)bytes[i] << (i * SIP_BYTE_BITS);
    return word;
}

/* The last two words of a key's message; those before are whole words of the key. */
struct sip_tail {
    uint64_t word[SIP_TAIL_WORDS];
};

static inline struct sip_tail sip_tail_of(const unsigned char *bytes, size_t size, uint64_t salt)
{
    const unsigned rest_bits = (unsigned)(size % SIP_WORD_SIZE) * SIP_BYTE_BITS;
    const uint64_t above = salt >> 1 >> (SIP_WORD_BITS - 1 - rest_bits); /* what does not fit */
    return (struct sip_tail){
        {sip_rest_of(bytes, size) | salt << rest_bits, above | (uint64_t)(size + sizeof salt) << SIP_SIZE_SHIFT}};
}

#endif
