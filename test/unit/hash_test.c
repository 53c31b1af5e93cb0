/* SPDX-License-Identifier: MIT
   SipHash-1-3 against published vectors; a salt behind a key.

   The vectors: secret 00 01 .. 0f, messages of 0 to 63 bytes 00 01 02 ..; written by the crate siphasher 1.0.4
   (SipHasher13), the first of them the same as in the tests of Rust's own library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/lanes.h"
#include "share/hash/hash_lanes.h"
#include "unit/skip.h"
#include "unit/random.h"

enum { VECTORS = 64, TRIES = 20000 };

static const uint64_t published[VECTORS] = {
    0xabac0158050fc4dc, 0xc9f49bf37d57ca93, 0x82cb9b024dc7d44d, 0x8bf80ab8e7ddf7fb, 0xcf75576088d38328,
    0xdef9d52f49533b67, 0xc50d2b50c59f22a7, 0xd3927d989bb11140, 0x369095118d299a8e, 0x25a48eb36c063de4,
    0x79de85ee92ff097f, 0x70c118c1f94dc352, 0x78a384b157b4d9a2, 0x306f760c1229ffa7, 0x605aa111c0f95d34,
    0xd320d86d2a519956, 0xcc4fdd1a7d908b66, 0x9cf2689063dbd80c, 0x8ffc389cb473e63e, 0xf21f9de58d297d1c,
    0xc0dc2f46a6cce040, 0xb992abfe2b45f844, 0x7ffe7b9ba320872e, 0x525a0e7fdae6c123, 0xf464aeb267349c8c,
    0x45cd5928705b0979, 0x3a3e35e3ca9913a5, 0xa91dc74e4ade3b35, 0xfb0bed02ef6cd00d, 0x88d93cb44ab1e1f4,
    0x540f11d643c5e663, 0x2370dd1f8c21d1bc, 0x81157b6c16a7b60d, 0x4d54b9e57a8ff9bf, 0x759f12781f2a753e,
    0xcea1a3bebf186b91, 0x2cf508d3ada26206, 0xb6101c2da3c33057, 0xb3f47496ae3a36a1, 0x626b57547b108392,
    0xc1d2363299e41531, 0x667cc1923f1ad944, 0x65704ffec8138825, 0x24f280d1c28949a6, 0xc2ca1cedfaf8876b,
    0xc2164bfc9f042196, 0xa16e9c9368b1d623, 0x49fb169c8b5114fd, 0x9f3143f8df074c46, 0xc6fdaf2412cc86b3,
    0x7eaf49d10a52098f, 0x1cf313559d292f9a, 0xc44a30dda2f41f12, 0x36fae98943a71ed0, 0x318fb34c73f0bce6,
    0xa27abf3670a7e980, 0xb4bcc0db243c6d75, 0x23f8d852fdb71513, 0x8f035f4da67d8a08, 0xd89cd0e5b7e8f148,
    0xf6f4e6bcf7a644ee, 0xaec59ad80f1837f2, 0xc3b2f6154b6694e0, 0x9d199062b7bbb3a8,
};

static const struct secret counting = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};

/* On the heap, so that a sanitizer sees a byte read outside. */
static unsigned char *message_of(size_t size)
{
    unsigned char *bytes = malloc(size + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i <= size; i++) bytes[i] = (unsigned char)i;
    return bytes;
}

static void as_published(void **state)
{
    (void)state;
    for (size_t size = 0; size < VECTORS; size++) {
        unsigned char *bytes = message_of(size);
        memmove(bytes + 1, bytes, size); /* not aligned, and the last byte is the last of the memory */
        assert_int_equal(hash_siphash_1_3(&counting, bytes + 1, size), published[size]);
        free(bytes);
    }
    assert_int_equal(hash_siphash_1_3(&counting, NULL, 0), published[0]);
}

static void a_salt_is_eight_bytes_behind_the_key(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int i = 0; i < TRIES; i++) {
        const struct secret secret = {{random_word(&seed), random_word(&seed)}};
        const uint64_t salt = random_sized(&seed, 64);
        const size_t size = (size_t)random_below(&seed, 300); /* past where the size no longer fits its byte */
        unsigned char bytes[308];
        for (size_t at = 0; at < size; at++) bytes[at] = (unsigned char)random_word(&seed);
        for (unsigned at = 0; at < 8; at++) bytes[size + at] = (unsigned char)(salt >> (8 * at));
        assert_int_equal(hash_key(&secret, bytes, size, salt), hash_siphash_1_3(&secret, bytes, size + 8));
    }
}

static void what_a_key_ends_with_is_not_its_salt(void **state)
{
    (void)state;
    const unsigned char bytes[16] = {1};
    assert_int_not_equal(hash_key(&counting, bytes, 0, 1), hash_key(&counting, bytes, 8, 0));
    assert_int_not_equal(hash_key(&counting, bytes, 1, 0), hash_key(&counting, bytes, 2, 0));
    assert_int_not_equal(hash_key(&counting, bytes, 8, 0), hash_key(&counting, bytes, 8, 1));
    assert_int_not_equal(hash_key(&counting, bytes, 8, 0), hash_siphash_1_3(&counting, bytes, 8));
}

/* Eight keys on the heap, each with an end of its own: of these lengths, from this offset. */
static void make_keys(uint64_t *seed, const size_t size[LANES], size_t offset, weir_ask asks[LANES],
                      unsigned char *memory[LANES])
{
    for (int i = 0; i < LANES; i++) {
        memory[i] = malloc(offset + size[i] + 1); /* never nothing */
        assert_non_null(memory[i]);
        for (size_t at = 0; at < offset + size[i]; at++) memory[i][at] = (unsigned char)random_word(seed);
        asks[i] = (weir_ask){.key = {memory[i] + offset, size[i]}};
    }
}

static void assert_same(uint64_t *seed, const size_t size[LANES], size_t offset)
{
    const struct secret secret = {{random_word(seed), random_word(seed)}};
    const uint64_t salt = random_sized(seed, 64);
    weir_ask asks[LANES];
    unsigned char *memory[LANES];
    struct hash_words words;
    uint64_t hash[LANES];
    size_t longest = 0;
    memset(&words, (int)random_below(seed, 256), sizeof words); /* nothing depends on what was there */
    make_keys(seed, size, offset, asks, memory);
    for (int i = 0; i < LANES; i++) longest = size[i] > longest ? size[i] : longest;
    const bool moved = hash_move(&words, asks);
    assert_int_equal(moved, longest < (HASH_WHOLE_MAX + 1) * 8);
    if (moved) hash_eight(&secret, &words, salt, hash);
    for (int i = 0; i < LANES; i++) {
        if (moved) assert_int_equal(hash[i], hash_key(&secret, asks[i].key.bytes, asks[i].key.size, salt));
        free(memory[i]);
    }
}

/* Keys that end where their page does: a byte read behind one of them ends the program. */
static void nothing_behind_a_key_is_read(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 0x77, 2 * page);
    assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
    for (size_t size = 0; size < (HASH_WHOLE_MAX + 2) * 8; size++) {
        struct hash_words words;
        weir_ask asks[LANES] = {{.cost = 0}};
        for (int i = 0; i < LANES; i++) asks[i].key = (weir_key){memory + page - size, size};
        asks[size % LANES].key =
            (weir_key){memory, 3 * sizeof(uint64_t)}; /* so that words are asked for that it lacks */
        hash_move(&words, asks);
    }
    assert_int_equal(munmap(memory, 2 * page), 0);
}

/* Of every length beside every other one, in every lane, at every offset from a word. */
static void eight_keys_together_are_eight_keys(void **state)
{
    enum { LONGEST = (HASH_WHOLE_MAX + 1) * 8 };
    (void)state;
    uint64_t seed = 12;
    if (!host_has_lanes()) {
        skip_because("eight keys together", "no AVX-512", "run it on a processor that has it");
        return;
    }
    for (size_t length = 0; length <= LONGEST; length++) {
        for (size_t other = 0; other <= LONGEST; other++) {
            size_t size[LANES];
            for (int i = 0; i < LANES; i++) size[i] = other;
            size[(length + other) % LANES] = length;
            assert_same(&seed, size, random_below(&seed, 8));
        }
    }
    for (int i = 0; i < TRIES; i++) {
        size_t size[LANES];
        for (int at = 0; at < LANES; at++) size[at] = (size_t)random_below(&seed, LONGEST + (i % 16 == 0));
        assert_same(&seed, size, (size_t)i % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_published),
        cmocka_unit_test(a_salt_is_eight_bytes_behind_the_key),
        cmocka_unit_test(what_a_key_ends_with_is_not_its_salt),
        cmocka_unit_test(nothing_behind_a_key_is_read),
        cmocka_unit_test(eight_keys_together_are_eight_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
