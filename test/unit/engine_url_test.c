/* SPDX-License-Identifier: MIT
   The URLs of engines: what each says, and what is said of those that say nothing. */
#include "redis/client/link/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "redis/client/link/resolve.h"

static struct engine_url url;
static weir_error error;

static void reads(const char *text, enum url_kind kind, const char *host, unsigned port)
{
    assert_int_equal(url_read(&url, text, &error), 0);
    assert_int_equal(url.kind, kind);
    assert_string_equal(url.endpoint[0].host, host);
    assert_int_equal(url.endpoint[0].port, port);
}

static void test_one_server(void **state)
{
    (void)state;
    reads("redis://localhost", URL_ONE, "localhost", 6379);
    assert_int_equal(url.database, 0);
    assert_string_equal(url.password, "");
    reads("redis://localhost:7000/12", URL_ONE, "localhost", 7000);
    assert_int_equal(url.database, 12);
    reads("redis://[2001:db8::1]:7000", URL_ONE, "2001:db8::1", 7000);
    reads("redis://[::1]/", URL_ONE, "::1", 6379);
    reads("redis://me:a%40b%3Ac%25@host", URL_ONE, "host", 6379);
    assert_string_equal(url.user, "me");
    assert_string_equal(url.password, "a@b:c%");
    reads("redis://:secret@host", URL_ONE, "host", 6379);
    assert_string_equal(url.user, "");
    assert_string_equal(url.password, "secret");
    reads("redis://me:@host", URL_ONE, "host", 6379);
    assert_string_equal(url.user, "me");
    assert_string_equal(url.password, "");
    reads("redis://:p@ss@host", URL_ONE, "host", 6379);
    assert_string_equal(url.password, "p@ss");
}

static void test_socket(void **state)
{
    (void)state;
    reads("unix:///run/redis.sock", URL_ONE, "/run/redis.sock", 0);
    reads("unix://:secret@/run/a%20b.sock?db=3", URL_ONE, "/run/a b.sock", 0);
    assert_int_equal(url.database, 3);
    assert_string_equal(url.password, "secret");
}

static void test_many_servers(void **state)
{
    (void)state;
    reads("redis+cluster://a:7000,b,[::1]:7002", URL_CLUSTER, "a", 7000);
    assert_int_equal(url.endpoints, 3);
    assert_int_equal(url.endpoint[1].port, 6379);
    assert_string_equal(url.endpoint[2].host, "::1");
    reads("redis+sentinel://me:secret@a:7000,b/my%20master/5", URL_SENTINEL, "a", 7000);
    assert_int_equal(url.endpoints, 2);
    assert_int_equal(url.endpoint[1].port, 26379);
    assert_string_equal(url.name, "my master");
    assert_int_equal(url.database, 5);
}

static void test_what_is_wrong_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int column;
        const char *words;
    } wrong[] = {
        {"", 1, "redis://, rediss://"},
        {"http://localhost", 1, "redis://, rediss://"},
        {"redis://", 9, "expected a host"},
        {"redis://:6379", 9, "expected a host"},
        {"redis://host:", 13, "a port from 1 to 65535"},
        {"redis://host:0", 13, "a port from 1 to 65535"},
        {"redis://host:65536", 13, "a port from 1 to 65535"},
        {"redis://host:6379x", 13, "a port from 1 to 65535"},
        {"redis://[::1", 9, "expected a ]"},
        {"redis://[::1]6379", 14, "a port from 1 to 65535"},
        {"redis://host/x", 14, "the number of a database"},
        {"redis://host/1/2", 14, "the number of a database"},
        {"redis://host/99999999999999999999", 14, "the number of a database"},
        {"redis://secret@host", 9, "expected user:password"},
        {"redis://:@host", 10, "expected a user or a password"},
        {"redis://me:a%4@host", 13, "two hexadecimal digits"},
        {"redis://me:a%00@host", 13, "two hexadecimal digits"},
        {"redis://a:1,b:2", 9, "redis+cluster://"},
        {"redis+cluster://a,,b", 19, "expected a host"},
        {"redis+cluster://a/1", 18, "database 0 only"},
        {"redis+sentinel://a", 19, "the name of the primary"},
        {"redis+sentinel://a/", 20, "the name of the primary"},
        {"redis+sentinel://a//1", 20, "the name of the primary"},
        {"redis+sentinel://a/name/x", 25, "the number of a database"},
        {"unix://run/redis.sock", 8, "expected a /"},
        {"unix://", 8, "an absolute path"},
        {"unix:///run/redis.sock?x=1", 23, "expected ?db="},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(url_read(&url, wrong[i].text, &error), WEIR_EINVAL);
        assert_int_equal(error.code, WEIR_EINVAL);
        if (error.column != wrong[i].column) print_message("%s: %d %s\n", wrong[i].text, error.column, error.message);
        assert_int_equal(error.column, wrong[i].column);
        assert_non_null(strstr(error.message, wrong[i].words));
        assert_int_equal(url_read(&url, wrong[i].text, NULL), WEIR_EINVAL);
    }
}

static void test_limits(void **state)
{
    (void)state;
    char text[2000] = "redis+cluster://a";
    for (int i = 1; i < URL_ENDPOINTS_MAX; i++) strcat(text, ",a");
    assert_int_equal(url_read(&url, text, &error), 0);
    assert_int_equal(url.endpoints, URL_ENDPOINTS_MAX);
    strcat(text, ",a");
    assert_int_equal(url_read(&url, text, &error), WEIR_EINVAL);
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text, "redis://", 8);
    assert_int_equal(url_read(&url, text, &error), WEIR_EINVAL);
    memcpy(text, "redis://:", 9);
    memcpy(text + sizeof text - 6, "@host", 5);
    assert_int_equal(url_read(&url, text, &error), WEIR_EINVAL);
    memcpy(text, "unix:///", 8);
    assert_int_equal(url_read(&url, text, &error), WEIR_EINVAL);
}

/* As long as may be, and one byte more. */
static void test_lengths(void **state)
{
    (void)state;
    char text[2 * URL_WORD_MAX];
    for (int more = 0; more < 2; more++) {
        snprintf(text, sizeof text, "redis://:%0*d@host", URL_WORD_MAX - 1 + more, 7);
        assert_int_equal(url_read(&url, text, &error), more == 0 ? 0 : WEIR_EINVAL);
        if (more == 0) assert_int_equal(strlen(url.password), URL_WORD_MAX - 1);
        snprintf(text, sizeof text, "redis://%0*d:1", URL_HOST_MAX - 1 + more, 7);
        assert_int_equal(url_read(&url, text, &error), more == 0 ? 0 : WEIR_EINVAL);
    }
}

static void test_what_is_known(void **state)
{
    (void)state;
    static const struct {
        struct engine_endpoint place;
        unsigned count;
        const char *host;
    } rows[] = {
        {{"/run/redis.sock", 0}, 1, "/run/redis.sock"}, {{"10.0.0.5", 6379}, 1, "10.0.0.5"},
        {{"2001:DB8::1", 6379}, 1, "2001:db8::1"},      {{"localhost", 6379}, 2, "127.0.0.1"},
        {{"engine.of.nobody.invalid", 6379}, 0, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct engine_addresses known;
        assert_int_equal(resolve_known(&rows[i].place, &known), rows[i].count != 0);
        assert_int_equal(known.count, rows[i].count);
        assert_int_equal(known.port, rows[i].place.port);
        assert_string_equal(known.host[0], rows[i].host);
    }
}

static void test_tls_is_refused_where_it_is_not(void **state)
{
    (void)state;
    const int code = url_read(&url, "rediss://host:6380", &error);
    if (code == 0) {
        assert_true(url.tls);
        assert_int_equal(url_read(&url, "rediss://:p@host/3?key=/a%26b&cert=c.crt&cacert=/d?e", &error), 0);
        assert_int_equal(url.database, 3);
        assert_string_equal(url.key, "/a&b");
        assert_string_equal(url.cert, "c.crt");
        assert_string_equal(url.cacert, "/d?e");
        assert_int_equal(url_read(&url, "rediss://host?cert=c", &error), WEIR_EINVAL);
        assert_int_equal(error.column, 14);
        assert_int_equal(url_read(&url, "rediss://host/?ca=c", &error), WEIR_EINVAL);
        assert_int_equal(error.column, 16);
        assert_int_equal(url_read(&url, "rediss://host/?cert=&key=", &error), WEIR_EINVAL);
        assert_int_equal(url_read(&url, "rediss://host/x?cert=c&key=k", &error), WEIR_EINVAL);
        return;
    }
    assert_int_equal(code, WEIR_EUNSUPPORTED);
    assert_non_null(strstr(error.message, "TLS"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_server),    cmocka_unit_test(test_socket),
        cmocka_unit_test(test_many_servers),  cmocka_unit_test(test_what_is_wrong_is_said),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_what_is_known), cmocka_unit_test(test_tls_is_refused_where_it_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
