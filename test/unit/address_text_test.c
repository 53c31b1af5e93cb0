/* SPDX-License-Identifier: MIT
   Addresses as text, held against the system's own functions.

   Nothing behind a text is read (memory of just its size). */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/address_text.h"
#include "owned.h"
#include "unit/random.h"

/* Read from memory that ends behind it. */
static size_t read_text(const char *text, size_t size, unsigned char bytes[ADDRESS_V6])
{
    const char *own = owned_copy(text, size);
    assert_non_null(own);
    const size_t found = address_read((struct slice){own, size}, bytes);
    owned_free(own);
    return found;
}

static const char *written(const unsigned char *bytes, size_t size, int bits)
{
    static char text[ADDRESS_TEXT_MAX + 1];
    struct bytes out = {text, 0, ADDRESS_TEXT_MAX, false};
    address_write(&out, bytes, size, bits);
    assert_false(out.full);
    text[out.size] = '\0';
    return text;
}

static const struct {
    const char *text, *canonical; /* NULL: no address */
} rows[] = {
    {"203.0.113.9", "203.0.113.9"},
    {"0.0.0.0", "0.0.0.0"},
    {"255.255.255.255", "255.255.255.255"},
    {"::", "::"},
    {"::1", "::1"},
    {"1::", "1::"},
    {"2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
    {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
    {"2001:0db8::0001", "2001:db8::1"},
    {"::ffff:203.0.113.9", "203.0.113.9"},
    {"::FFFF:cb00:7109", "203.0.113.9"},
    {"64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
    {"fe80::1%eth0", "fe80::1"},
    {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
    {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
    {"", NULL},
    {"1.2.3", NULL},
    {"1.2.3.4.5", NULL},
    {"1.2.3.04", NULL},
    {"1.2.3.256", NULL},
    {"1.2.3.4%eth0", NULL},
    {"1.2.3.4 ", NULL},
    {":", NULL},
    {":::", NULL},
    {"1::2::3", NULL},
    {"1:2:3:4:5:6:7:8:9", NULL},
    {"1:2:3:4:5:6:7:8::", NULL},
    {"12345::", NULL},
    {"1:2:3:4:5:6:7:1.2.3.4", NULL},
    {"1:2", NULL},
    {"example.org", NULL},
};

static void texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char bytes[ADDRESS_V6];
        const size_t size = read_text(rows[i].text, strlen(rows[i].text), bytes);
        if (rows[i].canonical == NULL) assert_int_equal(size, 0);
        else assert_string_equal(written(bytes, size, ADDRESS_V6 * 8), rows[i].canonical);
    }
}

/* inet_ntop writes ::1.2.3.4 where no more than the last four bytes are not 0; RFC 5952 leaves that open. */
static void as_the_system(void **state)
{
    (void)state;
    uint64_t seed = 20261121;
    for (int i = 0; i < 200000; i++) {
        unsigned char bytes[ADDRESS_V6], again[ADDRESS_V6];
        char expected[INET6_ADDRSTRLEN];
        const bool v4 = random_one_in(&seed, 4);
        for (int at = 0; at < ADDRESS_V6; at++) {
            bytes[at] = random_one_in(&seed, 2) ? 0 : (unsigned char)random_word(&seed);
        }
        if (!v4) bytes[0] |= 0x20;
        const size_t size = v4 ? ADDRESS_V4 : ADDRESS_V6;
        assert_non_null(inet_ntop(v4 ? AF_INET : AF_INET6, bytes, expected, sizeof expected));
        assert_string_equal(written(bytes, size, ADDRESS_V6 * 8), expected);
        assert_int_equal(read_text(expected, strlen(expected), again), size);
        assert_memory_equal(bytes, again, size);
    }
}

static void any_text(void **state)
{
    (void)state;
    static const char *const pieces[] = {":", "::", ".", "1", "0", "ffff", "255", "a", "12", "%", "1.2.3.4", "/"};
    uint64_t seed = 7;
    int good = 0;
    for (int i = 0; i < 300000; i++) {
        char text[64] = "";
        unsigned char bytes[ADDRESS_V6], expected[ADDRESS_V6];
        for (uint64_t left = random_below(&seed, 12); left != 0; left--) {
            const size_t size = strlen(text);
            snprintf(text + size, sizeof text - size, "%s",
                     pieces[random_below(&seed, sizeof pieces / sizeof *pieces)]);
        }
        const size_t size = read_text(text, strlen(text), bytes);
        char *zone = strchr(text, ':') != NULL ? strchr(text, '%') : NULL;
        if (zone != NULL) *zone = '\0';
        const bool v4 = inet_pton(AF_INET, text, expected) == 1, v6 = !v4 && inet_pton(AF_INET6, text, expected) == 1;
        assert_int_equal(size != 0, v4 || v6);
        good += size != 0;
        if (size == 0) continue;
        assert_memory_equal(bytes, expected + (v6 && size == ADDRESS_V4 ? ADDRESS_V6 - ADDRESS_V4 : 0), size);
    }
    assert_true(good > 1000);
}

static void networks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        int bits;
        const char *cut;
    } nets[] = {
        {"10.1.2.3/8", 4, 8, "10.0.0.0/8"},
        {"10.1.2.3", 4, 32, "10.1.2.3"},
        {"10.1.2.3/0", 4, 0, "0.0.0.0/0"},
        {"203.0.113.9/31", 4, 31, "203.0.113.8/31"},
        {"2001:db8:1:2:3::4/64", 16, 64, "2001:db8:1:2::/64"},
        {"2001:db8::/29", 16, 29, "2001:db8::/29"},
        {"::ffff:10.0.0.0/104", 4, 8, "10.0.0.0/8"},
        {"::ffff:10.0.0.0/24", 0, 0, NULL},
        {"10.0.0.0/33", 0, 0, NULL},
        {"10.0.0.0/", 0, 0, NULL},
        {"10.0.0.0/08", 0, 0, NULL},
        {"::/129", 0, 0, NULL},
        {"/8", 0, 0, NULL},
        {"::1%lo/64", 0, 0, NULL},
    };
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        unsigned char bytes[ADDRESS_V6];
        int bits = 0;
        const size_t size = address_read_network(slice_of(nets[i].text), bytes, &bits);
        assert_int_equal(size, nets[i].size);
        if (size == 0) continue;
        assert_int_equal(bits, nets[i].bits);
        address_cut(bytes, size, bits);
        assert_string_equal(written(bytes, size, bits), nets[i].cut);
    }
}

static void within(void **state)
{
    (void)state;
    static const unsigned char host[] = {10, 1, 2, 3}, net[] = {10, 1, 3, 0};
    assert_true(address_within(host, net, 0));
    assert_true(address_within(host, net, 16));
    assert_true(address_within(host, net, 23));
    assert_false(address_within(host, net, 24));
    assert_false(address_within(host, net, 32));
    assert_true(address_within(host, host, 32));
}

/* Networks of whole bytes, in memory that ends behind them. */
static void nothing_behind_a_network_is_read(void **state)
{
    (void)state;
    static const char host[ADDRESS_V6] = {0x20, 0x01, 0x0d, (char)0xb8};
    for (size_t size = 0; size <= sizeof host; size++) {
        const char *network = owned_copy(host, size);
        assert_non_null(network);
        assert_true(address_within((const unsigned char *)host, (const unsigned char *)network, (int)size * 8));
        owned_free(network);
    }
}

static void kept_bits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int v4, v6; /* 0: as it was */
        bool good;
    } kept[] = {{"33", 0, 33, true},       {"128", 0, 128, true}, {"24/48", 24, 48, true}, {"1/1", 1, 1, true},
                {"32/128", 32, 128, true}, {"", 0, 0, false},     {"0", 0, 0, false},      {"32", 0, 0, false},
                {"129", 0, 0, false},      {"x", 0, 0, false},    {"64 ", 0, 0, false},    {"064", 0, 0, false},
                {"/48", 0, 0, false},      {"0/48", 0, 0, false}, {"33/48", 0, 0, false},  {"x/48", 0, 0, false},
                {"24/", 0, 0, false},      {"24/0", 0, 0, false}, {"24/129", 0, 0, false}, {"24/x", 0, 0, false},
                {"24/48/", 0, 0, false}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        int v4 = 0, v6 = 0;
        const char *const wrong = address_read_bits(slice_of(kept[i].text), &v4, &v6);
        if ((wrong == NULL) != kept[i].good) fail_msg("%s: %s", kept[i].text, wrong != NULL ? wrong : "is good");
        if (kept[i].good && (v4 != kept[i].v4 || v6 != kept[i].v6)) fail_msg("%s: %d and %d", kept[i].text, v4, v6);
    }
}

static void where_to_listen(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum address_kind kind;
        unsigned port;
    } good[] = {{"1", ADDRESS_LOCALHOST, 1},
                {"localhost:65535", ADDRESS_LOCALHOST, 65535},
                {":0", ADDRESS_ANY, 0},
                {"192.0.2.1:2", ADDRESS_IP, 2},
                {"[::1]:3", ADDRESS_IP, 3}};
    static const char *const bad[] = {"",
                                      "a",
                                      ":",
                                      ":65536",
                                      "localhost:",
                                      "192.0.2.1",
                                      "::1:3",
                                      "[::1]",
                                      "[::1:3",
                                      "::1]:3",
                                      "[192.0.2.1]:3",
                                      "[]:3",
                                      "[:1",
                                      "x:3",
                                      "[fe80::1%1]:3",
                                      "192.0.2.1%1:3",
                                      "[localhost]:3",
                                      "unix:",
                                      "unix:run",
                                      "1.2.3:4",
                                      "127.0.0.1:-1"};
    struct address_listen listen;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *const wrong = address_read_listen(slice_of(good[i].text), &listen);
        if (wrong != NULL || listen.kind != good[i].kind || listen.port != good[i].port) fail_msg("%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (address_read_listen(slice_of(bad[i]), &listen) == NULL) fail_msg("%s is good", bad[i]);
    }
    char path[ADDRESS_PATH_MAX + 2];
    memset(path, '/', sizeof path);
    assert_null(address_read_listen((struct slice){path, ADDRESS_PATH_MAX}, &listen));
    assert_int_equal(listen.kind, ADDRESS_UNIX);
    assert_int_equal(listen.path.size, ADDRESS_PATH_MAX);
    assert_non_null(address_read_listen((struct slice){path, ADDRESS_PATH_MAX + 1}, &listen));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),     cmocka_unit_test(as_the_system),
        cmocka_unit_test(any_text),  cmocka_unit_test(networks),
        cmocka_unit_test(within),    cmocka_unit_test(nothing_behind_a_network_is_read),
        cmocka_unit_test(kept_bits), cmocka_unit_test(where_to_listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
