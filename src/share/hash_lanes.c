/* SPDX-License-Identifier: MIT
   SipHash of many messages at once, a message in each 64-bit lane of wide registers.

   A round of one message is 14 instructions; of four in AVX2 it is 20, since AVX2 rotates by two shifts, and 14 again
   with AVX-512.  NEON has two lanes and no rotation: 10
   instructions a message, and moving the words into lanes costs what that saves, so there and everywhere else hash_key
   is called for each.

   Messages may differ in length: where one has ended, its lane keeps its state. */
#include "share/hash_lanes.h"

#include <stdbool.h>
#include <string.h>

#include "share/sip.h"

#if defined(__x86_64__) && defined(__GNUC__)

enum { LANES = 4, REGISTERS = HASH_AT_ONCE / LANES, WHOLE_MAX = 8 };

typedef uint64_t words4 __attribute__((vector_size(LANES * sizeof(uint64_t))));

/* whole[i]: the i-th whole word of each message, anything where there is none; last: the bytes after those, in the
   highest ones; size: bytes. */
struct columns {
    words4 whole[WHOLE_MAX][REGISTERS], last[REGISTERS], size[REGISTERS];
    size_t whole_max; /* of the longest */
};

#define IN_LANES static inline __attribute__((always_inline))

static size_t longest_of(const weir_ask asks[])
{
    size_t longest = 0;
    for (int i = 0; i < HASH_AT_ONCE; i++) longest = asks[i].key.size > longest ? asks[i].key.size : longest;
    return longest;
}

/* Without a branch for what one key has and another has not: where a word does not exist the last bytes are read. */
static void fill_columns(struct columns *columns, const weir_ask asks[])
{
    uint64_t *whole = (uint64_t *)columns->whole, *last = (uint64_t *)columns->last, *sizes = (uint64_t *)columns->size;
    const size_t whole_end = columns->whole_max * SIP_WORD_SIZE;
    for (size_t i = 0; i < HASH_AT_ONCE; i++) {
        const unsigned char *bytes = asks[i].key.bytes;
        const size_t size = asks[i].key.size;
        uint64_t *word = &whole[i];
        sizes[i] = size;
        if (size < SIP_WORD_SIZE) {
            for (size_t at = 0; at < whole_end; at += SIP_WORD_SIZE, word += HASH_AT_ONCE) *word = 0;
            last[i] = sip_rest_of(bytes, size) << 1 << (SIP_WORD_BITS - 1 - size * SIP_BYTE_BITS);
            continue;
        }
        const size_t end = size - SIP_WORD_SIZE;
        for (size_t at = 0; at < whole_end; at += SIP_WORD_SIZE, word += HASH_AT_ONCE)
            *word = sip_word_at(bytes + (at < end ? at : end));
        last[i] = sip_word_at(bytes + end);
    }
}

#define IN_ALL(word) ((words4){word, word, word, word})

IN_LANES void rotate_lanes(words4 *word, int bits)
{
    *word = *word << bits | *word >> (SIP_WORD_BITS - bits);
}

IN_LANES void round_lanes(words4 *a, words4 *b, words4 *c, words4 *d)
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
IN_LANES void set_lanes(words4 *word, const words4 *mask, const words4 *other)
{
    *word = (*other & *mask) | (*word & ~*mask);
}

/* The four messages of one register.  Their last two words are those of sip_tail_of. */
IN_LANES void hash_four(const struct secret *secret, const struct columns *columns, size_t at, uint64_t salt,
                         uint64_t hash[])
{
    const struct sip begin = sip_begin(secret);
    const words4 none = {0}, size = columns->size[at], whole = size / SIP_WORD_SIZE,
                 rest = size % SIP_WORD_SIZE * SIP_BYTE_BITS, unused = SIP_WORD_BITS - 1 - rest;
    const words4 last = (columns->last[at] >> 1 >> unused) | IN_ALL(salt) << rest;
    const words4 end = (IN_ALL(salt) >> 1 >> unused) | (size + sizeof salt) << SIP_SIZE_SHIFT;
    words4 a = IN_ALL(begin.a), b = IN_ALL(begin.b), c = IN_ALL(begin.c), d = IN_ALL(begin.d);
    for (size_t i = 0; i < columns->whole_max + SIP_TAIL_WORDS; i++) {
        const words4 is_last = (words4)(whole == i), is_end = (words4)(whole + 1 == i), ended = (words4)(whole + 1 < i);
        const words4 before_a = a, before_b = b, before_c = c, before_d = d;
        words4 word = i < columns->whole_max ? columns->whole[i][at] : none;
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
    const words4 sum = a ^ b ^ c ^ d;
    memcpy(hash, &sum, sizeof sum);
}

__attribute__((target("avx2"))) static void hash_by_avx2(const struct secret *secret, const struct columns *columns,
                                                         uint64_t salt, uint64_t hash[])
{
    for (size_t i = 0; i < REGISTERS; i++) hash_four(secret, columns, i, salt, hash + i * LANES);
}

__attribute__((target("avx512vl"))) static void hash_by_avx512(const struct secret *secret,
                                                               const struct columns *columns, uint64_t salt,
                                                               uint64_t hash[])
{
    for (size_t i = 0; i < REGISTERS; i++) hash_four(secret, columns, i, salt, hash + i * LANES);
}

/* False: it has not. */
static bool hash_in_lanes(const struct secret *secret, enum hash_lanes lanes, const weir_ask asks[], uint64_t salt,
                          uint64_t hash[])
{
    struct columns columns;
    if (lanes == HASH_LANES_NONE) return false;
    columns.whole_max = longest_of(asks) / SIP_WORD_SIZE;
    if (columns.whole_max > WHOLE_MAX) return false;
    fill_columns(&columns, asks);
    if (lanes == HASH_LANES_AVX512) hash_by_avx512(secret, &columns, salt, hash);
    else hash_by_avx2(secret, &columns, salt, hash);
    return true;
}

#else

static bool hash_in_lanes(const struct secret *secret, enum hash_lanes lanes, const weir_ask asks[], uint64_t salt,
                          uint64_t hash[])
{
    (void)secret, (void)lanes, (void)asks, (void)salt, (void)hash;
    return false;
}

#endif

void hash_keys(const struct secret *secret, enum hash_lanes lanes, const weir_ask asks[], size_t count, uint64_t salt,
               uint64_t hash[])
{
    if (count == HASH_AT_ONCE && hash_in_lanes(secret, lanes, asks, salt, hash)) return;
    for (size_t i = 0; i < count; i++) hash[i] = hash_key(secret, asks[i].key.bytes, asks[i].key.size, salt);
}
