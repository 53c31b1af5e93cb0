/* SPDX-License-Identifier: MIT
   One number for each key, however many there are and whatever their bytes.

   The oracle is the list of all keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/common/rows.h"
#include "cli/replay/log/clients.h"

enum { KEYS = 100000, LONG = 70000 };

static const struct secret secret = {{1, 2}};

static uint32_t find(struct clients *clients, const void *bytes, size_t size)
{
    uint32_t client = UINT32_MAX;
    const uint32_t tag = clients_tag(&secret, bytes, size);
    clients_fetch_slot(clients, tag);
    clients_fetch_key(clients, tag);
    assert_true(clients_find(clients, tag, bytes, size, &client));
    return client;
}

/* Keys of all lengths around the one that still stands in its row. */
static size_t name(char out[128], unsigned number)
{
    const int size = snprintf(out, 128, "%u.%0*u", number, (int)(number % 40) + 1, number);
    return (size_t)size;
}

static void test_each_key_once(void **state)
{
    (void)state;
    struct clients clients;
    char key[128];
    assert_true(clients_open(&clients));
    for (int turn = 0; turn < 2; turn++) {
        for (unsigned i = 0; i < KEYS; i++) {
            const size_t size = name(key, i);
            assert_int_equal(find(&clients, key, size), i);
        }
        assert_int_equal(clients.count, KEYS);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        size_t there;
        const size_t size = name(key, i);
        const char *bytes = clients_key(&clients, i, &there);
        assert_int_equal(there, size);
        assert_memory_equal(bytes, key, size);
    }
    clients_close(&clients);
}

static void test_any_bytes(void **state)
{
    (void)state;
    struct clients clients;
    char *key = calloc(1, LONG);
    size_t size;
    assert_true(clients_open(&clients));
    assert_int_equal(find(&clients, "", 0), 0);
    assert_int_equal(find(&clients, "\0", 1), 1);
    assert_int_equal(find(&clients, "\0\0", 2), 2);
    assert_int_equal(find(&clients, key, LONG), 3);
    key[LONG - 1] = 1;
    assert_int_equal(find(&clients, key, LONG), 4);
    assert_int_equal(find(&clients, "\0", 1), 1);
    assert_int_equal(find(&clients, "", 0), 0);
    assert_memory_equal(clients_key(&clients, 4, &size), key, LONG);
    assert_int_equal(size, LONG);
    clients_close(&clients);
    free(key);
}

/* Two keys of one tag are two clients: with the bytes compared a tag is only a hint. */
static void test_tags_may_be_the_same(void **state)
{
    (void)state;
    struct clients clients;
    uint32_t first, second, again;
    assert_true(clients_open(&clients));
    const uint32_t tag = clients_tag(&secret, "a", 1);
    assert_true(clients_find(&clients, tag, "a", 1, &first));
    assert_true(clients_find(&clients, tag, "b", 1, &second));
    assert_true(clients_find(&clients, tag, "b", 1, &again));
    assert_int_not_equal(first, second);
    assert_int_equal(second, again);
    clients_close(&clients);
}

static void test_rows_stay(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 8, 40, 64, 100, 5000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rows rows;
        const uint32_t count = sizes[i] > 1000 ? 20 : KEYS;
        rows_open(&rows, sizes[i]);
        assert_true(rows_reach(&rows, 1));
        char *first = rows_at(&rows, 0);
        for (uint32_t row = 0; row < count; row++) {
            assert_true(rows_reach(&rows, row + 1));
            char *at = rows_at(&rows, row);
            assert_int_equal(at[0], 0);
            assert_int_equal(at[sizes[i] - 1], 0);
            at[0] = at[sizes[i] - 1] = (char)(row % 100 + 1);
        }
        assert_ptr_equal(first, rows_at(&rows, 0));
        for (uint32_t row = 0; row < count; row++) {
            assert_int_equal(*(char *)rows_at(&rows, row), row % 100 + 1);
            assert_int_equal(((char *)rows_at(&rows, row))[sizes[i] - 1], row % 100 + 1);
        }
        rows_close(&rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_key_once),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_tags_may_be_the_same),
        cmocka_unit_test(test_rows_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
