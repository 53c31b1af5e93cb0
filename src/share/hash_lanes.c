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

enum { LANES = 4, AT_ONCE = 32, WORDS_MAX = 8 };

typedef uint64_t words4 __attribute__((vector_size(LANES * sizeof(uint64_t))));

/* word[i] is the i-th word of each message; words: how many it has, and of the shortest and the longest. */
struct columns {
    words4 word[WORDS_MAX][AT_ONCE / LANES], words[AT_ONCE / LANES];
    size_t shortest, longest;
};

struct sip_lanes {
    words4 a, b, c, d;
};

#define IN_LANES static inline __attribute__((always_inline))

static void measure_columns(struct columns *columns, const struct hash_message message[], size_t count)
{
    size_t least = SIZE_MAX, most = 0;
    for (size_t i = 0; i < count; i++) {
        least = message[i].size < least ? message[i].size : least;
        most = message[i].size > most ? message[i].size : most;
    }
    columns->shortest = least / SIP_WORD_SIZE + SIP_TAIL_WORDS;
    columns->longest = most / SIP_WORD_SIZE + SIP_TAIL_WORDS;
}

static void fill_columns(struct columns *columns, const struct hash_message message[], size_t count)
{
    memset(columns->word[columns->shortest], 0,
           (columns->longest - columns->shortest) * sizeof columns->word[0]); /* where some have ended */
    for (size_t i = 0; i < count; i++) {
        const unsigned char *bytes = message[i].bytes;
        const size_t size = message[i].size, whole = size / SIP_WORD_SIZE;
        const struct sip_tail tail = sip_tail_of(bytes, size, message[i].salt);
        uint64_t *word = (uint64_t *)columns->word + i;
        ((uint64_t *)columns->words)[i] = whole + SIP_TAIL_WORDS;
        for (const unsigned char *end = bytes + size - size % SIP_WORD_SIZE; bytes < end; bytes += SIP_WORD_SIZE) {
            *word = sip_word_at(bytes);
            word += AT_ONCE;
        }
        word[0] = tail.word[0];
        word[AT_ONCE] = tail.word[1];
    }
}

IN_LANES void rotate_lanes(words4 *word, int bits)
{
    *word = *word << bits | *word >> (SIP_WORD_BITS - bits);
}

IN_LANES void round_lanes(struct sip_lanes *sip)
{
    sip->a += sip->b;
    sip->c += sip->d;
    rotate_lanes(&sip->b, 13);
    rotate_lanes(&sip->d, 16);
    sip->b ^= sip->a;
    sip->d ^= sip->c;
    rotate_lanes(&sip->a, 32);
    sip->a += sip->d;
    sip->c += sip->b;
    rotate_lanes(&sip->d, 21);
    rotate_lanes(&sip->b, 17);
    sip->d ^= sip->a;
    sip->b ^= sip->c;
    rotate_lanes(&sip->c, 32);
}

IN_LANES void word_lanes(struct sip_lanes *sip, const words4 *word)
{
    sip->d ^= *word;
    round_lanes(sip);
    sip->a ^= *word;
}

/* Where the mask is set. */
IN_LANES void keep_lanes(struct sip_lanes *sip, const struct sip_lanes *before, const words4 *mask)
{
    sip->a = (before->a & *mask) | (sip->a & ~*mask);
    sip->b = (before->b & *mask) | (sip->b & ~*mask);
    sip->c = (before->c & *mask) | (sip->c & ~*mask);
    sip->d = (before->d & *mask) | (sip->d & ~*mask);
}

/* The four messages in column `at`. */
IN_LANES void hash_four(const struct secret *secret, const struct columns *columns, size_t at, uint64_t hash[])
{
    const struct sip begin = sip_begin(secret);
    const words4 none = {0};
    struct sip_lanes sip = {begin.a - none, begin.b - none, begin.c - none, begin.d - none};
    for (size_t i = 0; i < columns->shortest; i++) word_lanes(&sip, &columns->word[i][at]);
    for (size_t i = columns->shortest; i < columns->longest; i++) {
        const struct sip_lanes before = sip;
        const words4 ended = (words4)(columns->words[at] <= i);
        word_lanes(&sip, &columns->word[i][at]);
        keep_lanes(&sip, &before, &ended);
    }
    sip.c ^= 0xff;
    for (int i = 0; i < SIP_ROUNDS_AT_END; i++) round_lanes(&sip);
    const words4 end = sip.a ^ sip.b ^ sip.c ^ sip.d;
    memcpy(hash, &end, sizeof end);
}

__attribute__((target("avx2"))) static void hash_by_avx2(const struct secret *secret, const struct columns *columns,
                                                         size_t count, uint64_t hash[])
{
    for (size_t i = 0; i < count; i += LANES) hash_four(secret, columns, i / LANES, hash + i);
}

__attribute__((target("avx512vl"))) static void hash_by_avx512(const struct secret *secret,
                                                               const struct columns *columns, size_t count,
                                                               uint64_t hash[])
{
    for (size_t i = 0; i < count; i += LANES) hash_four(secret, columns, i / LANES, hash + i);
}

/* How many of them are hashed. */
static size_t hash_in_lanes(const struct secret *secret, enum hash_lanes width, const struct hash_message message[],
                            size_t count, uint64_t hash[])
{
    struct columns columns;
    size_t done = 0;
    while (width != HASH_LANES_NONE && count - done >= LANES) {
        const size_t some = count - done < AT_ONCE ? (count - done) / LANES * LANES : AT_ONCE;
        measure_columns(&columns, message + done, some);
        if (columns.longest > WORDS_MAX) return done;
        fill_columns(&columns, message + done, some);
        if (width == HASH_LANES_AVX512) hash_by_avx512(secret, &columns, some, hash + done);
        else hash_by_avx2(secret, &columns, some, hash + done);
        done += some;
    }
    return done;
}

#else

static size_t hash_in_lanes(const struct secret *secret, enum hash_lanes width, const struct hash_message message[],
                            size_t count, uint64_t hash[])
{
    (void)secret, (void)width, (void)message, (void)count, (void)hash;
    return 0;
}

#endif

void hash_keys(const struct secret *secret, enum hash_lanes lanes, const struct hash_message message[], size_t count,
               uint64_t hash[])
{
    for (size_t i = hash_in_lanes(secret, lanes, message, count, hash); i < count; i++)
        hash[i] = hash_key(secret, message[i].bytes, message[i].size, message[i].salt);
}
