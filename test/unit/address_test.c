/* SPDX-License-Identifier: MIT
   Keys of texts and of network addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <weir/weir.h>

#include "unit/random.h"

enum { TRIES = 100000 };

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

/* With a port, a flow and a scope, none of which may count. */
static union address address_of(const char *text)
{
    static uint16_t port = 1;
    union address address;
    memset(&address, 0, sizeof address);
    port++;
    if (strchr(text, ':') == NULL) {
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = port;
        assert_int_equal(inet_pton(AF_INET, text, &address.v4.sin_addr), 1);
        return address;
    }
    address.v6.sin6_family = AF_INET6;
    address.v6.sin6_port = port;
    address.v6.sin6_flowinfo = port;
    address.v6.sin6_scope_id = port;
    assert_int_equal(inet_pton(AF_INET6, text, &address.v6.sin6_addr), 1);
    return address;
}

struct known_key {
    unsigned char bytes[WEIR_ADDRESS_KEY_SIZE];
    size_t size;
};

static struct known_key key_of(const char *text, int bits_v4, int bits_v6)
{
    struct known_key known;
    memset(&known, 0x5a, sizeof known); /* nothing is taken from what was there */
    const union address address = address_of(text);
    const weir_key key = weir_key_address(&address.any, bits_v4, bits_v6, known.bytes);
    assert_ptr_equal(key.bytes, known.bytes);
    known.size = key.size;
    return known;
}

static bool same(struct known_key a, struct known_key b)
{
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

static void a_text_is_its_bytes(void **state)
{
    (void)state;
    const char *text = "alice";
    assert_ptr_equal(weir_key_text(text).bytes, text);
    assert_int_equal(weir_key_text(text).size, 5);
    assert_int_equal(weir_key_text("").size, 0);
    assert_int_equal(weir_key_text(NULL).size, 0);
}

static void the_first_bits_count(void **state)
{
    (void)state;
    assert_true(same(key_of("192.0.2.1", 0, 0), key_of("192.0.2.1", 32, 1)));
    assert_false(same(key_of("192.0.2.1", 0, 0), key_of("192.0.2.2", 0, 0)));
    assert_true(same(key_of("192.0.2.1", 24, 0), key_of("192.0.2.255", 24, 0)));
    assert_true(same(key_of("192.0.2.127", 25, 0), key_of("192.0.2.1", 25, 0)));
    assert_false(same(key_of("192.0.2.127", 25, 0), key_of("192.0.2.128", 25, 0)));
    assert_true(same(key_of("2001:db8::1", 0, 0), key_of("2001:db8::ffff:1:2:3", 0, 64)));
    assert_false(same(key_of("2001:db8::1", 0, 0), key_of("2001:db8:0:1::1", 0, 0)));
    assert_false(same(key_of("2001:db8::1", 0, 128), key_of("2001:db8::2", 0, 128)));
}

static void other_prefixes_and_families_are_other_keys(void **state)
{
    (void)state;
    assert_false(same(key_of("192.0.2.0", 24, 0), key_of("192.0.2.0", 32, 0)));
    assert_false(same(key_of("0.0.0.0", 0, 0), key_of("::", 0, 0)));
    assert_false(same(key_of("::c000:201", 0, 128), key_of("192.0.2.1", 0, 128))); /* compatible is not mapped */
    assert_int_not_equal(key_of("192.0.2.1", 0, 0).size, weir_key_text("192.0.2.1").size);
}

static void v4_in_v6_is_v4(void **state)
{
    (void)state;
    assert_true(same(key_of("::ffff:192.0.2.1", 0, 0), key_of("192.0.2.1", 0, 0)));
    assert_true(same(key_of("::ffff:192.0.2.1", 24, 0), key_of("192.0.2.9", 24, 0)));
}

static void bits_out_of_range_are_the_nearest(void **state)
{
    (void)state;
    assert_true(same(key_of("192.0.2.1", 33, 0), key_of("192.0.2.1", 32, 0)));
    assert_true(same(key_of("192.0.2.1", -1, 0), key_of("192.0.2.1", 0, 0)));
    assert_true(same(key_of("2001:db8::1", 0, INT32_MAX), key_of("2001:db8::1", 0, 128)));
    assert_true(same(key_of("2001:db8::1", 0, INT32_MIN), key_of("2001:db8::1", 0, 64)));
}

static void another_family_has_no_bytes(void **state)
{
    (void)state;
    unsigned char out[WEIR_ADDRESS_KEY_SIZE];
    union address address;
    memset(&address, 0, sizeof address);
    address.local.sun_family = AF_UNIX;
    assert_int_equal(weir_key_address(&address.any, 0, 0, out).size, 0);
    assert_int_equal(weir_key_address(NULL, 0, 0, out).size, 0);
}

/* Bit by bit, as one would say it. */
static bool first_bits_alike(const unsigned char *a, const unsigned char *b, unsigned bits)
{
    for (unsigned i = 0; i < bits; i++)
        if (((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1) != 0) return false;
    return true;
}

static void alike_if_and_only_if_the_bits_are(void **state)
{
    (void)state;
    uint64_t seed = 23;
    unsigned alike = 0;
    for (int i = 0; i < TRIES; i++) {
        union address a, b;
        memset(&a, 0, sizeof a);
        a.v6.sin6_family = AF_INET6;
        for (int at = 0; at < 16; at++) a.v6.sin6_addr.s6_addr[at] = (unsigned char)random_word(&seed);
        b = a;
        const unsigned flipped = (unsigned)random_below(&seed, 128);
        b.v6.sin6_addr.s6_addr[flipped / 8] ^= (unsigned char)(1u << (7 - flipped % 8));
        const int bits = 1 + (int)random_below(&seed, 128);
        unsigned char out_a[WEIR_ADDRESS_KEY_SIZE], out_b[WEIR_ADDRESS_KEY_SIZE];
        const weir_key key_a = weir_key_address(&a.any, 0, bits, out_a),
                       key_b = weir_key_address(&b.any, 0, bits, out_b);
        const bool expected = first_bits_alike(a.v6.sin6_addr.s6_addr, b.v6.sin6_addr.s6_addr, (unsigned)bits);
        assert_int_equal(key_a.size, key_b.size);
        assert_int_equal(memcmp(out_a, out_b, key_a.size) == 0, expected);
        alike += expected;
    }
    assert_in_range(alike, TRIES / 4, TRIES - TRIES / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_its_bytes),
        cmocka_unit_test(the_first_bits_count),
        cmocka_unit_test(other_prefixes_and_families_are_other_keys),
        cmocka_unit_test(v4_in_v6_is_v4),
        cmocka_unit_test(bits_out_of_range_are_the_nearest),
        cmocka_unit_test(another_family_has_no_bytes),
        cmocka_unit_test(alike_if_and_only_if_the_bits_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
