/* SPDX-License-Identifier: MIT
   SipHash of eight keys at once, a key in each 64-bit lane of the registers of AVX-512.

   A round of one key is 14 instructions, and so is one of eight.  Keys may differ in length: where one has ended, its
   lane keeps its state.

   Narrower registers gain nothing.  AVX2 has four lanes and no rotation, so a round is 26 instructions; with the words
   moved into lanes a key takes 120 instructions instead of 157, but each waits for the one before, and on the processor
   where this was measured (Zen 5) it takes a fifth longer than hash_key.  NEON has two lanes. */
#include "share/hash_lanes.h"

#include <stdbool.h>
#include <string.h>

#include "share/sip.h"

#if defined(__x86_64__) && defined(__GNUC__)

enum { WHOLE_MAX = 8 };

typedef uint64_t words8 __attribute__((vector_size(HASH_AT_ONCE * sizeof(uint64_t))));

/* whole[i]: the i-th whole word of each message, anything where there is none; last: the bytes after those, in the
   highest ones; size: bytes. */
struct columns {
    uint64_t whole[WHOLE_MAX][HASH_AT_ONCE], last[HASH_AT_ONCE], size[HASH_AT_ONCE];
    size_t whole_max; /* of the longest */
};

#define WITH_AVX512 __attribute__((target("avx512f")))
#define IN_LANES WITH_AVX512 static inline __attribute__((always_inline))

static size_t longest_of(const weir_ask asks[])
{
    size_t longest = 0;
    for (int i = 0; i < HASH_AT_ONCE; i++) longest = asks[i].key.size > longest ? asks[i].key.size : longest;
    return longest;
}

/* Without a branch for what one key has and another has not: where a word does not exist the last bytes are read. */
static void fill_columns(struct columns *columns, const weir_ask asks[])
{
    const size_t whole_end = columns->whole_max * SIP_WORD_SIZE;
    for (size_t i = 0; i < HASH_AT_ONCE; i++) {
        const unsigned char *bytes = asks[i].key.bytes;
        const size_t size = asks[i].key.size;
        uint64_t *word = &columns->whole[0][i];
        columns->size[i] = size;
        if (size < SIP_WORD_SIZE) {
            for (size_t at = 0; at < whole_end; at += SIP_WORD_SIZE, word += HASH_AT_ONCE) *word = 0;
            columns->last[i] = sip_rest_of(bytes, size) << 1 << (SIP_WORD_BITS - 1 - size * SIP_BYTE_BITS);
            continue;
        }
        const size_t end = size - SIP_WORD_SIZE;
        for (size_t at = 0; at < whole_end; at += SIP_WORD_SIZE, word += HASH_AT_ONCE)
            *word = sip_word_at(bytes + (at < end ? at : end));
        columns->last[i] = sip_word_at(bytes + end);
    }
}

#define IN_ALL(word) ((words8){word, word, word, word, word, word, word, word})

IN_LANES words8 load_lanes(const uint64_t word[HASH_AT_ONCE])
{
    words8 all;
    memcpy(&all, word, sizeof all);
    return all;
}

IN_LANES void rotate_lanes(words8 *word, int bits)
{
    *word = *word << bits | *word >> (SIP_WORD_BITS - bits);
}

IN_LANES void round_lanes(words8 *a, words8 *b, words8 *c, words8 *d)
{
    *a += *b;
    *c += *d;
    rotate_lanes(b, 13);
    rotate_lanes(d, 16);
    *b ^= *a;
    *d ^= *c;
    rotate_lanes(a, 32);
    *a += *d;
    *c += *b;
    rotate_lanes(d, 21);
    rotate_lanes(b, 17);
    *d ^= *a;
    *b ^= *c;
    rotate_lanes(c, 32);
}

/* Where the mask is set. */
IN_LANES void set_lanes(words8 *word, const words8 *mask, const words8 *other)
{
    *word = (*other & *mask) | (*word & ~*mask);
}

/* The last two words of each message are those of sip_tail_of. */
WITH_AVX512 static void hash_eight(const struct secret *secret, const struct columns *columns, uint64_t salt,
                                   uint64_t hash[])
{
    const struct sip begin = sip_begin(secret);
    const words8 none = {0}, size = load_lanes(columns->size), whole = size / SIP_WORD_SIZE,
                 rest = size % SIP_WORD_SIZE * SIP_BYTE_BITS, unused = SIP_WORD_BITS - 1 - rest;
    const words8 last = (load_lanes(columns->last) >> 1 >> unused) | IN_ALL(salt) << rest;
    const words8 end = (IN_ALL(salt) >> 1 >> unused) | (size + sizeof salt) << SIP_SIZE_SHIFT;
    words8 a = IN_ALL(begin.a), b = IN_ALL(begin.b), c = IN_ALL(begin.c), d = IN_ALL(begin.d);
    for (size_t i = 0; i < columns->whole_max + SIP_TAIL_WORDS; i++) {
        const words8 is_last = (words8)(whole == i), is_end = (words8)(whole + 1 == i), ended = (words8)(whole + 1 < i);
        const words8 before_a = a, before_b = b, before_c = c, before_d = d;
        words8 word = i < columns->whole_max ? load_lanes(columns->whole[i]) : none;
        set_lanes(&word, &is_last, &last);
        set_lanes(&word, &is_end, &end);
        d ^= word;
        round_lanes(&a, &b, &c, &d);
        a ^= word;
        set_lanes(&a, &ended, &before_a);
        set_lanes(&b, &ended, &before_b);
        set_lanes(&c, &ended, &before_c);
        set_lanes(&d, &ended, &before_d);
    }
    c ^= 0xff;
    for (int i = 0; i < SIP_ROUNDS_AT_END; i++) round_lanes(&a, &b, &c, &d);
    const words8 sum = a ^ b ^ c ^ d;
    memcpy(hash, &sum, sizeof sum);
}

/* False: it has not, since one of the keys is too long. */
static bool hash_in_lanes(const struct secret *secret, const weir_ask asks[], uint64_t salt, uint64_t hash[])
{
    struct columns columns;
    columns.whole_max = longest_of(asks) / SIP_WORD_SIZE;
    if (columns.whole_max > WHOLE_MAX) return false;
    fill_columns(&columns, asks);
    hash_eight(secret, &columns, salt, hash);
    return true;
}

#else

static bool hash_in_lanes(const struct secret *secret, const weir_ask asks[], uint64_t salt, uint64_t hash[])
{
    (void)secret, (void)asks, (void)salt, (void)hash;
    return false;
}

#endif

void hash_keys(const struct secret *secret, bool lanes, const weir_ask asks[], size_t count, uint64_t salt,
               uint64_t hash[])
{
    if (lanes && count == HASH_AT_ONCE && hash_in_lanes(secret, asks, salt, hash)) return;
    for (size_t i = 0; i < count; i++) hash[i] = hash_key(secret, asks[i].key.bytes, asks[i].key.size, salt);
}
