/* SPDX-License-Identifier: MIT
   Slots of keys, as the specification of Redis Cluster has them; and of CLUSTER SLOTS what is
   taken and what is not. */
#include "redis/client/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "redis/client/pool.h"

static unsigned slot(const char *key)
{
    return slots_of(key, strlen(key));
}

static void test_crc(void **state)
{
    (void)state;
    assert_int_equal(slots_crc16("123456789", 9), 0x31C3);
    assert_int_equal(slots_crc16("", 0), 0);
}

static void test_tags(void **state)
{
    (void)state;
    assert_int_equal(slot("123456789"), 0x31C3);
    assert_int_equal(slot("foo"), 12182); /* as redis-server says */
    assert_int_equal(slot("{user1000}.following"), slot("user1000"));
    assert_int_equal(slot("foo{}{bar}"), slots_crc16("foo{}{bar}", 10) % SLOTS);
    assert_int_equal(slot("foo{{bar}}zap"), slot("{bar"));
    assert_int_equal(slot("foo{bar}{zap}"), slot("bar"));
    assert_int_equal(slot("foo{bar"), slots_crc16("foo{bar", 7) % SLOTS);
    assert_int_equal(slots_of(NULL, 0), 0);
    assert_int_equal(slots_of("{", 1), slots_crc16("{", 1) % SLOTS);
}

/* ---- what servers say ---- */

static redisReply *read_reply(const char *text)
{
    redisReader *const reader = redisReaderCreate();
    void *reply = NULL;
    assert_int_equal(redisReaderFeed(reader, text, strlen(text)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static struct pool *open_pool(const char *url)
{
    struct pool *pool = NULL;
    assert_int_equal(pool_open(&pool, url, NULL, NULL), 0);
    return pool;
}

static bool set_slots(struct pool *pool, const char *text)
{
    redisReply *const reply = read_reply(text);
    const bool set = pool_set_slots(pool, 0, reply);
    freeReplyObject(reply);
    return set;
}

static void test_slots_of_a_cluster(void **state)
{
    (void)state;
    struct pool *const pool = open_pool("redis+cluster://127.0.0.1:7000");
    assert_int_equal(pool_owner(pool, 0), NOWHERE);
    assert_false(set_slots(pool, "*0\r\n"));
    assert_false(set_slots(pool, "-ERR This instance has cluster support disabled\r\n"));
    /* Beyond the slots, backwards, of the wrong form: nothing of it. */
    assert_false(set_slots(pool,
                           "*3\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n*3\r\n:-1\r\n:5\r\n*2\r\n$1\r\na\r\n:1"
                           "\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\na\r\n:65536\r\n"));
    assert_int_equal(atomic_load(&pool->servers), 1);
    assert_true(set_slots(pool, "*2\r\n*3\r\n:0\r\n:99\r\n*2\r\n$9\r\n127.0.0.1\r\n:7001\r\n"
                                "*3\r\n:100\r\n:16383\r\n*2\r\n$0\r\n\r\n:7000\r\n"));
    assert_int_equal(atomic_load(&pool->servers), 2);
    assert_int_equal(pool_owner(pool, 99), 1);
    assert_int_equal(pool_owner(pool, 100), 0); /* without a host: who said it */
    assert_true(pool->server[0]->used && pool->server[1]->used);
    assert_true(set_slots(pool, "*1\r\n*3\r\n:0\r\n:99\r\n*2\r\n$9\r\n127.0.0.1\r\n:7001\r\n"));
    assert_int_equal(pool_owner(pool, 100), NOWHERE);
    assert_false(pool->server[0]->used);
    pool_leave(pool);
}

/* A map has at most as many ranges as there are slots: what a server says beyond that is not read. */
static void test_more_ranges_than_slots(void **state)
{
    (void)state;
    static const char range[] = "*3\r\n:0\r\n:99\r\n*2\r\n$9\r\n127.0.0.1\r\n:7001\r\n";
    enum { HEAD = 16, NONE = 4, SIZE = HEAD + NONE * SLOTS + sizeof range };
    static char text[SIZE];
    struct pool *const pool = open_pool("redis+cluster://127.0.0.1:7000");
    for (size_t none = SLOTS - 1; none <= SLOTS; none++) {
        size_t size = (size_t)snprintf(text, HEAD, "*%zu\r\n", none + 1);
        for (size_t i = 0; i < none; i++, size += NONE) memcpy(text + size, ":0\r\n", NONE);
        memcpy(text + size, range, sizeof range);
        assert_true(set_slots(pool, text) == (none < SLOTS));
    }
    pool_leave(pool);
}

static void test_redirects(void **state)
{
    (void)state;
    unsigned at = 0;
    struct pool *const pool = open_pool("redis+cluster://127.0.0.1:7000");
    assert_int_equal(pool_read_redirect(pool, 0, "3999 127.0.0.1:7001", &at), 1);
    assert_int_equal(at, 3999);
    assert_int_equal(pool_read_redirect(pool, 0, "3999 :7000", &at), 0);
    assert_int_equal(pool_read_redirect(pool, 0, "4000 2001:db8::1:7002", &at), 2);
    assert_string_equal(pool->server[2]->endpoint.host, "2001:db8::1");
    static const char *const wrong[] = {"",       "x",        "16384 a:1",    "-1 a:1",  "3999",
                                        "3999 a", "3999 a:0", "3999 a:65536", "3999 a:x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(pool_read_redirect(pool, 0, wrong[i], &at), NOWHERE);
    }
    pool_set_slot(pool, 3999, 1);
    assert_int_equal(pool_owner(pool, 3999), 1);
    pool_leave(pool);
}

/* A server that tells of ever new ones does not make us forget those that have keys. */
static void test_servers_are_bounded(void **state)
{
    (void)state;
    struct pool *const pool = open_pool("redis+cluster://127.0.0.1:7000");
    struct engine_endpoint place = {.host = "127.0.0.1"};
    assert_true(set_slots(pool, "*1\r\n*3\r\n:0\r\n:99\r\n*2\r\n$9\r\n127.0.0.1\r\n:7001\r\n"));
    for (unsigned i = 0; i < 3 * SERVERS_MAX; i++) {
        place.port = (uint16_t)(10000 + i);
        assert_true(pool_server(pool, &place) >= 2);
    }
    assert_int_equal(atomic_load(&pool->servers), SERVERS_MAX);
    assert_int_equal(pool->server[1]->endpoint.port, 7001);
    assert_int_equal(pool->server[0]->endpoint.port, 7000);
    pool_leave(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_slots_of_a_cluster),
        cmocka_unit_test(test_more_ranges_than_slots),
        cmocka_unit_test(test_redirects),
        cmocka_unit_test(test_servers_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
