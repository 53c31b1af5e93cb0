/* SPDX-License-Identifier: MIT
   SipHash of eight keys at once, a key in each 64-bit lane of the registers of AVX-512.

   A round of one key is 14 instructions, and so is one of eight.  Keys may differ in length: where one has ended, its
   lane keeps its state.

   Narrower registers gain nothing.  AVX2 has four lanes and no rotation, so a round is 26 instructions; with the words
   moved into lanes a key takes 120 instructions instead of 157, but each waits for the one before, and on the processor
   where this was measured (Zen 5) it takes a fifth longer than hash_key.  NEON has two lanes. */
#include "share/hash/hash_lanes.h"

#include "share/hash/lanes.h"
#include "share/hash/sip.h"

/* Of a key of at least a word.  There is no branch for what one key has and another has not: where a word does not
   exist the last bytes are read. */
static inline uint64_t whole_word(const weir_key *key, size_t at)
{
    const size_t end = key->size - SIP_WORD_SIZE;
    return sip_word_at((const unsigned char *)key->bytes + (at * SIP_WORD_SIZE < end ? at * SIP_WORD_SIZE : end));
}

static void move_key(struct hash_words *words, int i, const weir_key *key)
{
    words->size[i] = key->size;
    if (key->size < SIP_WORD_SIZE) {
        words->last[i] = sip_rest_of(key->bytes, key->size) << 1 << (SIP_WORD_BITS - 1 - key->size * SIP_BYTE_BITS);
        return;
    }
    words->whole[0][i] = whole_word(key, 0);
    words->whole[1][i] = whole_word(key, 1);
    words->last[i] = whole_word(key, SIZE_MAX / SIP_WORD_SIZE);
}

/* Most keys have at most two whole words. */
bool hash_move(struct hash_words *words, const weir_ask asks[])
{
    size_t longest = 0;
    for (int i = 0; i < LANES; i++) {
        move_key(words, i, &asks[i].key);
        longest = asks[i].key.size > longest ? asks[i].key.size : longest;
    }
    words->whole_max = longest / SIP_WORD_SIZE;
    for (size_t at = 2; at < words->whole_max && at < HASH_WHOLE_MAX; at++)
        for (int i = 0; i < LANES; i++)
            words->whole[at][i] = asks[i].key.size < SIP_WORD_SIZE ? 0 : whole_word(&asks[i].key, at);
    return words->whole_max <= HASH_WHOLE_MAX;
}

#ifdef WITH_LANES

static IN_LANES void rotate_lanes(lanes *word, int bits)
{
    *word = *word << bits | *word >> (SIP_WORD_BITS - bits);
}

static IN_LANES void round_lanes(lanes *a, lanes *b, lanes *c, lanes *d)
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
static IN_LANES void set_lanes(lanes *word, const lanes *mask, const lanes *other)
{
    *word = (*other & *mask) | (*word & ~*mask);
}

/* The last two words of each message are those of sip_tail_of. */
WITH_LANES void hash_eight(const struct secret *secret, const struct hash_words *words, uint64_t salt, uint64_t hash[])
{
    const struct sip begin = sip_begin(secret);
    const lanes none = {0}, size = lanes_load(words->size), whole = size / SIP_WORD_SIZE,
                rest = size % SIP_WORD_SIZE * SIP_BYTE_BITS, unused = SIP_WORD_BITS - 1 - rest;
    const lanes last = (lanes_load(words->last) >> 1 >> unused) | LANES_ALL(salt) << rest;
    const lanes end = (LANES_ALL(salt) >> 1 >> unused) | (size + sizeof salt) << SIP_SIZE_SHIFT;
    lanes a = LANES_ALL(begin.a), b = LANES_ALL(begin.b), c = LANES_ALL(begin.c), d = LANES_ALL(begin.d);
    for (size_t i = 0; i < words->whole_max + SIP_TAIL_WORDS; i++) {
        const lanes is_last = (lanes)(whole == i), is_end = (lanes)(whole + 1 == i), ended = (lanes)(whole + 1 < i);
        const lanes before_a = a, before_b = b, before_c = c, before_d = d;
        lanes word = i < words->whole_max ? lanes_load(words->whole[i]) : none;
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
    const lanes sum = a ^ b ^ c ^ d;
    lanes_store(hash, sum);
}

#else

void hash_eight(const struct secret *secret, const struct hash_words *words, uint64_t salt, uint64_t hash[])
{
    (void)secret, (void)words, (void)salt, (void)hash;
}

#endif
