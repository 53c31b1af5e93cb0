/* SPDX-License-Identifier: MIT
   What a client is told of its limits: Retry-After, RateLimit-Policy, RateLimit, X-RateLimit-*.

   Fields are read by a reader of structured fields (RFC 9651) that shares nothing with the writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/http/headers.h"
#include "serve/protocols.h"
#include "unit/http_client.h"
#include "unit/plans.h"
#include "unit/random.h"

/* ---- a reader of structured fields: a List of Strings with parameters that are Integers or Strings ---- */

enum { ITEMS_MAX = 8, TEXT_MAX = 128 };

struct item_read {
    char name[TEXT_MAX], unit[TEXT_MAX];
    int64_t q, w, r, t, burst; /* -1: not there */
};

static const char *read_text(const char *at, char out[TEXT_MAX])
{
    size_t size = 0;
    assert_int_equal(*at, '"');
    for (at++; *at != '"'; at++) {
        if (*at == '\\') {
            at++;
            assert_true(*at == '"' || *at == '\\');
        }
        assert_in_range(*at, ' ', '~');
        assert_true(size + 1 < TEXT_MAX);
        out[size++] = *at;
    }
    out[size] = '\0';
    return at + 1;
}

static const char *read_integer(const char *at, int64_t *value)
{
    const char *start = at;
    *value = 0;
    for (; *at >= '0' && *at <= '9'; at++) *value = *value * 10 + (*at - '0');
    assert_in_range(at - start, 1, 15);
    return at;
}

static const char *read_parameter(const char *at, struct item_read *item)
{
    static const char *const names[] = {"q=", "w=", "r=", "t=", "weir-burst="};
    int64_t *const values[] = {&item->q, &item->w, &item->r, &item->t, &item->burst};
    if (strncmp(at, "qu=", 3) == 0) return read_text(at + 3, item->unit);
    for (size_t i = 0; i < LENGTH(names); i++) {
        if (strncmp(at, names[i], strlen(names[i])) != 0) continue;
        assert_int_equal(*values[i], -1);
        return read_integer(at + strlen(names[i]), values[i]);
    }
    fail_msg("an unknown parameter: %s", at);
    return at;
}

static int read_list(const char *at, struct item_read items[ITEMS_MAX])
{
    int count = 0;
    while (*at != '\0') {
        assert_true(count < ITEMS_MAX);
        struct item_read *item = &items[count++];
        *item = (struct item_read){.q = -1, .w = -1, .r = -1, .t = -1, .burst = -1};
        at = read_text(at, item->name);
        while (*at == ';') at = read_parameter(at + 1, item);
        if (*at == '\0') break;
        assert_int_equal(*at++, ',');
        while (*at == ' ') at++;
        assert_int_not_equal(*at, '\0'); /* no comma at the end */
    }
    return count;
}

static int read_header(const char *answer, const char *name, struct item_read items[ITEMS_MAX])
{
    char value[2048];
    return read_list(client_header(answer, name, value), items);
}

static const char *told(struct client *client, const char *limit, const char *more)
{
    char body[1024];
    snprintf(body, sizeof body, "{\"limit\":\"%s\",\"key\":\"k\"%s}", limit, more);
    return client_json(client, "/v1/take", body);
}

/* ---- RateLimit-Policy ---- */

struct policy_row {
    const char *limit, *header;
};

static void policies(void **state)
{
    (void)state;
    static const struct policy_row rows[] = {
        {"60/min", "\"default\";q=60;w=60"},
        {"10/s burst=20", "\"default\";q=10;w=1;weir-burst=20"},
        {"10/100ms", "\"default\";q=100;w=1;weir-burst=10"},
        {"0.5/s burst=3", "\"default\";q=1;w=2;weir-burst=3"},
        {"1/1500ms", "\"default\";q=1;w=2"},
        {"100k tokens/h", "\"default\";q=100000;w=3600;qu=\"tokens\""},
        {"1MB/s", "\"default\";q=1000000;w=1;qu=\"content-bytes\""},
        {"60 requests/min; 100k tokens/min", "\"default-1\";q=60;w=60, \"default-2\";q=100000;w=60;qu=\"tokens\""},
        {"10/s; unlimited", "\"default-1\";q=10;w=1"},
        {"5/min algorithm=sliding-log", "\"default\";q=5;w=60"},
        {"unlimited", ""},
        {"api", "\"api\";q=3;w=1"},
        {"two", "\"two-1\";q=3;w=1, \"two-2\";q=9;w=60"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct client *client = client_open();
        char value[2048];
        client_define(client, "api", "3/s", "", false);
        client_define(client, "two", "3/s; 9/min", "", false);
        const char *answer = told(client, rows[i].limit, "");
        assert_int_equal(client_status(answer), 200);
        assert_string_equal(client_header(answer, "RateLimit-Policy", value), rows[i].header);
        client_close(client);
    }
}

/* ---- RateLimit ---- */

/* By hand: at 10/s a permit is 100 ms. */
static void lefts(void **state)
{
    (void)state;
    struct client *client = client_open();
    char value[2048];
    assert_string_equal(client_header(told(client, "10/s burst=20", ""), "RateLimit", value), "\"default\";r=19;t=1");
    assert_string_equal(client_header(told(client, "10/s burst=20", ",\"peek\":true,\"cost\":0"), "RateLimit", value),
                        "\"default\";r=19;t=1");
    client->now_ns += S;
    assert_string_equal(client_header(told(client, "10/s burst=20", ",\"peek\":true,\"cost\":0"), "RateLimit", value),
                        "\"default\";r=20");
    assert_string_equal(client_header(told(client, "1/min burst=3", ",\"cost\":0"), "RateLimit", value),
                        "\"default\";r=3");
    assert_string_equal(client_header(told(client, "1/min burst=3", ",\"cost\":4"), "RateLimit", value),
                        "\"default\";r=3");
    assert_string_equal(client_header(told(client, "1/min burst=3", ""), "RateLimit", value), "\"default\";r=2;t=60");
    client->now_ns += 10 * S + 1;
    assert_string_equal(client_header(told(client, "1/min burst=3", ""), "RateLimit", value), "\"default\";r=1;t=50");
    assert_string_equal(client_header(told(client, "1/min burst=3", ",\"cost\":2"), "RateLimit", value),
                        "\"default\";r=1;t=50");
    assert_string_equal(client_header(told(client, "1/min burst=3", ""), "RateLimit", value), "\"default\";r=0;t=50");
    assert_string_equal(client_header(told(client, "unlimited", ""), "RateLimit", value), "");
    client_close(client);
}

/* Several limits, and one that is only looked at or not applied: what is left is what the table says of each, also of
   what never passes, and where more is asked in the same batch. */
static void lefts_of_the_table(void **state)
{
    (void)state;
    static const char body[] = "{\"limit\":\"api\",\"key\":\"k\"}";
    static const char *const peek = ",\"peek\":true", *const never = ",\"peek\":true,\"cost\":21";
    struct client *client = client_open();
    char value[2048];
    told(client, "10/s burst=20", ",\"cost\":5");
    assert_string_equal(client_header(told(client, "10/s burst=20", peek), "RateLimit", value), "\"default\";r=15;t=1");
    assert_string_equal(client_header(told(client, "10/s burst=20", never), "RateLimit", value),
                        "\"default\";r=15;t=1");
    client->now_ns += S;
    told(client, "10/s; 100/min", ",\"cost\":5");
    assert_string_equal(client_header(told(client, "10/s; 100/min", ",\"cost\":200"), "RateLimit", value),
                        "\"default-1\";r=5;t=1, \"default-2\";r=95;t=1");
    client_define(client, "api", "10/s; 100/min", "", false);
    const char *at = client_ask(client,
                                "POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                "Content-Length: %zu\r\n\r\n%s"
                                "POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                "Content-Length: %zu\r\n\r\n%s",
                                strlen(body), body, strlen(body), body);
    assert_string_equal(client_header(at, "RateLimit", value), "\"api-1\";r=9;t=1, \"api-2\";r=99;t=1");
    at = strstr(at + 1, "HTTP/1.1 200");
    assert_non_null(at);
    assert_string_equal(client_header(at, "RateLimit", value), "\"api-1\";r=8;t=1, \"api-2\";r=98;t=1");
    client_close(client);
}

static void check_alike(struct client *client, const char *limit)
{
    struct item_read was[ITEMS_MAX], asked[ITEMS_MAX], policy[ITEMS_MAX];
    const char *answer = told(client, limit, "");
    const int count = read_header(answer, "RateLimit", was);
    assert_int_equal(read_header(answer, "RateLimit-Policy", policy), count);
    assert_int_equal(read_header(told(client, limit, ",\"peek\":true,\"cost\":0"), "RateLimit", asked), count);
    for (int i = 0; i < count; i++) {
        assert_string_equal(was[i].name, asked[i].name);
        assert_string_equal(was[i].name, policy[i].name);
        assert_true(policy[i].q >= 1 && policy[i].w >= 1);
        if (was[i].r != asked[i].r || was[i].t != asked[i].t) {
            fail_msg("%s at %llu: r=%lld;t=%lld, but asking says r=%lld;t=%lld", limit,
                     (unsigned long long)client->now_ns, (long long)was[i].r, (long long)was[i].t,
                     (long long)asked[i].r, (long long)asked[i].t);
        }
    }
}

/* What follows from a decision is what asking the table again says. */
static void as_asked(void **state)
{
    (void)state;
    static const char *const limits[] = {
        "10/s burst=20", "1/min burst=3", "7/13s burst=100", "1000/h",
        "3/s burst=2s",  "0.3/s burst=5", "10/s; 100/min",   "5/min algorithm=sliding-log"};
    uint64_t seed = 1;
    for (size_t i = 0; i < LENGTH(limits); i++) {
        struct client *client = client_open();
        for (int step = 0; step < 300; step++) {
            client->now_ns += random_below(&seed, 2) == 0 ? random_below(&seed, 20 * S) : random_below(&seed, MS);
            check_alike(client, limits[i]);
        }
        client_close(client);
    }
}

/* Numbers that structured fields cannot hold are the largest that they can. */
static void large(void **state)
{
    (void)state;
    struct client *client = client_open();
    struct item_read items[ITEMS_MAX];
    const char *answer = told(client, "18446744073709551615/year algorithm=fixed-window", "");
    if (client_status(answer) == 200) {
        assert_int_equal(read_header(answer, "RateLimit-Policy", items), 1);
        assert_int_equal(items[0].q, 999999999999999);
        assert_int_equal(read_header(answer, "RateLimit", items), 1);
        assert_int_equal(items[0].r, 999999999999999);
    } else {
        fail_msg("%s", answer);
    }
    client_close(client);
}

/* ---- Retry-After ---- */

static void retries(void **state)
{
    (void)state;
    uint64_t seed = 2;
    const struct slice key = slice_of("acme");
    uint64_t different = 0, before = 0;
    for (int i = 0; i < 100000; i++) {
        const uint64_t retry_ns = 1 + (random_below(&seed, UINT64_MAX) >> (8 + random_below(&seed, 55)));
        const uint64_t retry_s = headers_retry_s(retry_ns, key, (uint64_t)i);
        assert_true(retry_s >= 1 && retry_s >= retry_ns / S + (retry_ns % S != 0));
        assert_true(retry_s <= retry_ns / S + retry_ns / 10 / S + 2);
        assert_true((double)retry_s <= (double)retry_ns * 1.1e-9 + 1.0 + 1e-3);
    }
    for (uint64_t now = 0; now < 1000; now++) {
        const uint64_t retry_s = headers_retry_s(1000 * S, key, now);
        assert_in_range(retry_s, 1000, 1100);
        assert_int_equal(retry_s, headers_retry_s(1000 * S, key, now));
        different += retry_s != before;
        before = retry_s;
    }
    assert_true(different > 900);
    assert_int_not_equal(headers_retry_s(100000 * S, slice_of("a"), 1), headers_retry_s(100000 * S, slice_of("b"), 1));
    assert_int_equal(headers_retry_s(1, key, 0), 1);
    assert_true(headers_retry_s(UINT64_MAX, key, 0) >= UINT64_MAX / S);
}

/* In an answer, and one who comes back then is let in. */
static void comes_back(void **state)
{
    (void)state;
    struct client *client = client_open();
    char value[2048];
    for (int i = 0; i < 3; i++) assert_int_equal(client_status(told(client, "3/h", "")), 200);
    for (int i = 0; i < 20; i++) {
        client->now_ns += (uint64_t)i * MS;
        const char *answer = told(client, "3/h", "");
        assert_int_equal(client_status(answer), 429);
        const uint64_t retry_s = strtoull(client_header(answer, "Retry-After", value), NULL, 10);
        assert_in_range(retry_s, 1, 1320);
        client->now_ns += retry_s * S;
        assert_int_equal(client_status(told(client, "3/h", "")), 200);
    }
    client_close(client);
}

/* ---- X-RateLimit-* ---- */

static void x_headers(void **state)
{
    (void)state;
    struct client *client = client_open();
    char value[2048];
    const char *answer = told(client, "1/min burst=3", ",\"headers\":\"x\"");
    assert_string_equal(client_header(answer, "X-RateLimit-Limit", value), "3");
    assert_string_equal(client_header(answer, "X-RateLimit-Remaining", value), "2");
    assert_string_equal(client_header(answer, "X-RateLimit-Reset", value), "60");
    assert_string_equal(client_header(answer, "RateLimit", value), "\"default\";r=2;t=60");
    answer = told(client, "1/min burst=3", ",\"cost\":2");
    assert_string_equal(client_header(answer, "X-RateLimit-Limit", value), "");
    answer = told(client, "1/min burst=3", ",\"headers\":\"x\"");
    assert_int_equal(client_status(answer), 429);
    assert_string_equal(client_header(answer, "X-RateLimit-Remaining", value), "0");
    assert_string_equal(client_header(answer, "X-RateLimit-Reset", value), "180");
    answer = told(client, "1/min burst=3", ",\"headers\":\"none\"");
    assert_string_equal(client_header(answer, "RateLimit", value), "");
    assert_string_equal(client_header(answer, "RateLimit-Policy", value), "");
    assert_string_not_equal(client_header(answer, "Retry-After", value), "");
    assert_string_equal(client_header(told(client, "unlimited", ",\"headers\":\"x\""), "X-RateLimit-Limit", value), "");
    client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies),   cmocka_unit_test(lefts),     cmocka_unit_test(lefts_of_the_table),
        cmocka_unit_test(as_asked),   cmocka_unit_test(large),     cmocka_unit_test(retries),
        cmocka_unit_test(comes_back), cmocka_unit_test(x_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
