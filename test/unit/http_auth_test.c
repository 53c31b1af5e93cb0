/* SPDX-License-Identifier: MIT
   /auth: what proxies say, what their clients would like to say, and what comes of it.

   Nobody is let in by a question that is not understood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/protocols.h"
#include "unit/http_client.h"
#include "unit/plans.h"

static const char *ask(struct client *client, const char *query, const char *headers)
{
    return client_ask(client, "GET /auth%s HTTP/1.1\r\nHost: localhost\r\nX-Weir-Proxy: 1\r\n%s\r\n", query, headers);
}

static void check(struct client *client, const char *query, const char *headers, int status, const char *words)
{
    const char *answer = ask(client, query, headers);
    if (client_status(answer) != status || strstr(answer, words) == NULL) {
        fail_msg("%s %s: expected %d with %s, but got %s", query, headers, status, words, answer);
    }
}

/* ---- answers ---- */

static void answers(void **state)
{
    (void)state;
    struct client *client = client_open();
    const char *query = "?limit=1/min%20burst=2&key=a";
    assert_string_equal(ask(client, query, ""),
                        "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nCache-Control: no-store\r\n"
                        "RateLimit-Policy: \"default\";q=1;w=60;weir-burst=2\r\nRateLimit: \"default\";r=1;t=60\r\n"
                        "Content-Type: text/plain\r\nContent-Length: 0\r\n\r\n");
    check(client, query, "", 200, "\"default\";r=0;t=60\r\n");
    char value[2048];
    const char *answer = ask(client, query, "");
    assert_int_equal(client_status(answer), 429);
    assert_string_equal(client_header(answer, "X-Weir-Status", value), "429");
    assert_in_range(atoi(client_header(answer, "Retry-After", value)), 60, 66);
    assert_non_null(strstr(client_body(answer), "too many requests: again in 6"));
    answer = ask(client, "?limit=1/min%20burst=2&key=a&status=403&headers=x", "");
    assert_int_equal(client_status(answer), 403);
    assert_string_equal(client_header(answer, "X-Weir-Status", value), "429");
    assert_in_range(atoi(client_header(answer, "Retry-After", value)), 60, 66);
    assert_string_equal(client_header(answer, "RateLimit", value), "\"default\";r=0;t=60");
    assert_string_equal(client_header(answer, "X-RateLimit-Reset", value), "120");
    answer = ask(client, "?limit=none&key=a", "");
    assert_int_equal(client_status(answer), 403);
    assert_string_equal(client_header(answer, "X-Weir-Status", value), "403");
    assert_string_equal(client_header(answer, "Retry-After", value), "");
    check(client, "?limit=5/s&key=a&cost=6", "", 403, "not allowed\n"); /* never */
    check(client, "?limit=5/s;30%20tokens/h&key=units&cost=tokens=3", "", 200, "\"default-2\";r=27;");
    check(client, "?limit=5/s;3/h&key=b&cost=1,3", "", 200, "\"default-2\";r=0;t=1200");
    check(client, "?limit=5/s;3/h&key=b&headers=none", "", 429, "Retry-After");
    assert_null(strstr(client->answers, "RateLimit"));
    client_close(client);
}

static void methods(void **state)
{
    (void)state;
    static const char *const all[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
    struct client *client = client_open();
    for (size_t i = 0; i < LENGTH(all); i++) {
        const char *answer =
            client_ask(client, "%s /auth?limit=%zu/h&key=m HTTP/1.1\r\nHost: localhost\r\nX-Weir-Proxy: 1\r\n\r\n",
                       all[i], LENGTH(all) - 1);
        assert_int_equal(client_status(answer), i + 1 < LENGTH(all) ? 200 : 429);
    }
    assert_string_equal(client_body(client_ask(client, "HEAD /auth?limit=6/h&key=m HTTP/1.1\r\nHost: localhost\r\n"
                                                       "X-Weir-Proxy: 1\r\n\r\n")),
                        "");
    client_close(client);
}

static void shadow(void **state)
{
    (void)state;
    struct client *client = client_open();
    client_define(client, "watched", "1/h", "", true);
    check(client, "?limit=watched&key=a", "", 200, "r=0");
    assert_null(strstr(client->answers, "X-Weir-Shadow"));
    check(client, "?limit=watched&key=a", "", 200, "X-Weir-Shadow: deny\r\n");
    client_close(client);
}

/* Somebody else charges: with peek=1 it is answered as without, but nothing is taken, and headers say what is left. */
static void peek(void **state)
{
    (void)state;
    struct client *client = client_open();
    const char *query = "?limit=1/min%20burst=2&key=a&peek=1", *taking = "?limit=1/min%20burst=2&key=a";
    for (int i = 0; i < 3; i++) check(client, query, "", 200, "RateLimit: \"default\";r=2\r\n");
    check(client, "?limit=1/min%20burst=2&key=b&peek=true", "", 200, "\"default\";r=2\r\n");
    check(client, "?limit=1/min%20burst=2&key=a&peek=0", "", 200, "\"default\";r=1;t=60\r\n");
    check(client, query, "X-Weir-Peek: 0\r\n", 200, "\"default\";r=1;t=60\r\n");
    check(client, taking, "X-Weir-Peek: 1\r\n", 200, "\"default\";r=0;t=60\r\n"); /* takes: no header says it */
    for (int i = 0; i < 3; i++) check(client, query, "", 429, "X-Weir-Status: 429\r\nRetry-After: 6");
    check(client, "?limit=1/min%20burst=2&key=a&peek=1&status=403", "", 403, "X-Weir-Status: 429\r\n");
    client->now_ns += UINT64_C(60) * 1000000000;
    for (int i = 0; i < 3; i++) check(client, query, "", 200, "\"default\";r=1;t=60\r\n"); /* refusals owe nothing */
    check(client, "?limit=none&key=a&peek=1", "", 403, "not allowed\n");
    static const char *const wrong[] = {"", "2", "yes", "01"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        char asked[64];
        snprintf(asked, sizeof asked, "?limit=1/h&key=a&peek=%s", wrong[i]);
        check(client, asked, "", 400, "\"field\":\"peek\"");
        assert_non_null(strstr(client->answers, "expected true or false; true takes nothing"));
    }
    client_close(client);
}

/* ---- who asks ---- */

/* A page on the web has its reader's browser send the first ones without asking; the others it has to ask for, by an
   OPTIONS without the header, which is one of the first again. */
static void of_a_proxy(void **state)
{
    (void)state;
    static const struct {
        const char *headers;
        int status;
    } rows[] = {
        {"", 400},
        {"Accept: image/avif\r\nReferer: http://evil.example/\r\n", 400},
        {"Origin: http://evil.example\r\nAccess-Control-Request-Headers: x-weir-key\r\n", 400},
        {"X-Forwarded-For: 192.0.2.1\r\nX-Real-IP: 192.0.2.1\r\n", 400}, /* a forward proxy of the reader's */
        {"X-Forwarded-Host: a\r\nX-Forwarded-Proto: http\r\nX-Weir: 1\r\n", 400},
        {"X-Weir-Proxy: nginx\r\n", 200},
        {"x-weir-tenant: a\r\n", 200},
        {"X-Forwarded-Method: GET\r\n", 200},
        {"X-Forwarded-Uri: /\r\n", 200},
        {"X-Original-Method: GET\r\n", 200},
        {"X-Original-URI: /\r\n", 200},
    };
    struct client *client = client_open();
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *answer =
            client_ask(client, "GET /auth?limit=6/h&key=p HTTP/1.1\r\nHost: localhost\r\n%s\r\n", rows[i].headers);
        if (client_status(answer) != rows[i].status) fail_msg("%s: %s", rows[i].headers, answer);
    }
    check(client, "?limit=6/h&key=p", "", 429, ""); /* six of them were taken, and no more */
    client->session.local = true;
    assert_int_equal(client_status(client_ask(client, "GET /auth?limit=6/h&key=q HTTP/1.0\r\n\r\n")), 200);
    client_close(client);
}

/* ---- where limit, key and cost come from ---- */

static void sources(void **state)
{
    (void)state;
    struct client *client = client_open();
    client_define(client, "api", "10/h", "", false);
    check(client, "", "X-Weir-Limit: api\r\nX-Weir-Key: a\r\n", 200, "\"api\";r=9;");
    check(client, "?limit=api", "X-Weir-Key: a\r\n", 200, "\"api\";r=8;");
    check(client, "?key=a", "x-weir-limit: api\r\n", 200, "\"api\";r=7;");
    check(client, "?limit=api&key=a&cost=2", "", 200, "\"api\";r=5;");
    check(client, "?limit=api&key=a", "X-Weir-Cost: 3\r\n", 200, "\"api\";r=2;");
    check(client, "?limit=10/h&key=a", "", 200, "\"default\";r=9;"); /* no name: another state */
    /* What the query says is said by nobody else. */
    check(client, "?limit=api&key=a", "X-Weir-Limit: unlimited\r\n", 400, "\"field\":\"X-Weir-Limit\"");
    check(client, "?limit=api&key=a", "X-Weir-Key: b\r\n", 400, "\"field\":\"X-Weir-Key\"");
    check(client, "?limit=api&key=a&cost=2", "X-Weir-Cost: 1\r\n", 400, "\"field\":\"X-Weir-Cost\"");
    /* Nor where it says nothing, as of a variable of the proxy's that is empty. */
    check(client, "?limit=&key=a", "X-Weir-Limit: unlimited\r\n", 400, "\"field\":\"X-Weir-Limit\"");
    check(client, "?limit=api&key=", "X-Weir-Key: b\r\n", 400, "\"field\":\"X-Weir-Key\"");
    check(client, "?limit=api&key=a&cost=", "X-Weir-Cost: 1\r\n", 400, "\"field\":\"X-Weir-Cost\"");
    client_define(client, "tenants", "10/h", "tenant", false);
    check(client, "?limit=tenants&tenant=", "X-Weir-Tenant: b\r\n", 400, "\"field\":\"key\"");
    /* Nor twice. */
    check(client, "", "X-Weir-Limit: api\r\nX-Weir-Limit: api\r\nX-Weir-Key: a\r\n", 400, "X-Weir-Limit");
    check(client, "?limit=api", "X-Weir-Key: a\r\nX-Weir-Key: b\r\n", 400, "\"field\":\"X-Weir-Key\"");
    check(client, "?limit=api&key=a", "X-Weir-Cost: 1\r\nX-Weir-Cost: 1\r\n", 400, "\"field\":\"X-Weir-Cost\"");
    check(client, "?limit=api&key=a&key=b", "", 400, "\"field\":\"query\"");
    /* Nor not at all. */
    check(client, "", "", 400, "\"field\":\"limit\"");
    check(client, "", "X-Weir-Key: a\r\n", 400, "\"field\":\"limit\"");
    check(client, "?limit=&key=a", "", 400, "\"field\":\"limit\"");
    check(client, "?limit=api", "", 400, "\"field\":\"X-Weir-Key\"");
    check(client, "?limit=api&key=", "", 400, "\"field\":\"X-Weir-Key\"");
    check(client, "?limit=api", "X-Weir-Key: \r\n", 400, "\"field\":\"X-Weir-Key\"");
    check(client, "?limit=apj&key=a", "", 404, "\"field\":\"limit\"");
    check(client, "?limit=10/&key=a", "", 400, "\"column\":4");
    check(client, "?limit=api&key=a&cost=0", "", 400, "\"field\":\"cost\"");
    check(client, "?limit=api&key=a", "X-Weir-Cost: 0\r\n", 400, "\"field\":\"cost\"");
    check(client, "?limit=api&key=a&cost=requests=0", "", 400, "\"field\":\"cost\"");
    check(client, "?limit=api&key=a&cost=tokens=1", "", 400, "\\\"tokens\\\" is no unit here");
    check(client, "?limit=api&key=a&cost=x", "", 400, "\"field\":\"cost\"");
    check(client, "?limit=api&key=a&cost=1,1", "", 400, "\"field\":\"cost\"");
    check(client, "?limit=api&key=a&status=200", "", 400, "\"field\":\"status\"");
    check(client, "?limit=api&key=a&headers=all", "", 400, "\"field\":\"headers\"");
    check(client, "?limit=api&key=%zz", "", 400, "\"field\":\"query\",\"column\":");
    check(client, "?limit=api&key=a", "", 200, "\"api\";r=1;"); /* nothing of that was taken */
    client_close(client);
}

/* ---- keys of parts ---- */

struct part_row {
    const char *parts, *query, *headers, *same_query, *same_headers; /* that two have the same key */
};

static void parts(void **state)
{
    (void)state;
    static const struct part_row rows[] = {
        {"address", "", "X-Real-IP: 192.0.2.1\r\n", "&address=192.0.2.1", ""},
        {"address", "", "X-Real-IP: 192.0.2.1\r\nX-Forwarded-For: 1.2.3.4\r\n", "", "X-Forwarded-For: 192.0.2.1\r\n"},
        {"address", "", "X-Forwarded-For: 1.1.1.1, 192.0.2.1\r\n", "", "X-Forwarded-For: 2.2.2.2,192.0.2.1 \r\n"},
        {"address", "", "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 1.1.1.1, 192.0.2.1\r\n", "",
         "X-Real-IP: 192.0.2.1\r\n"},
        {"address/64", "", "X-Real-IP: 2001:db8::1\r\n", "", "X-Forwarded-For: 10.0.0.1, 2001:db8::2\r\n"},
        {"address", "&address=192.0.2.1", "X-Real-IP: 9.9.9.9\r\n", "&address=192.0.2.1", "X-Real-IP: 8.8.8.8\r\n"},
        {"host", "", "X-Forwarded-Host: a.example\r\n", "&host=a.example", ""},
        {"method", "", "X-Forwarded-Method: POST\r\n", "", "X-Original-Method: POST\r\n"},
        {"path", "", "X-Forwarded-Uri: /a/b?c=d\r\n", "", "X-Original-URI: /a/b?e\r\n"},
        {"path", "", "X-Forwarded-Uri: /a/b\r\n", "", "X-Forwarded-Uri: /a/b?\r\n"},
        {"path/normal", "", "X-Forwarded-Uri: //a/%62?c=d\r\n", "", "X-Original-URI: /a/./b?e\r\n"},
        {"path/lower", "", "X-Forwarded-Uri: /LOGIN\r\n", "", "X-Original-URI: /%6cogin\r\n"},
        {"header.x-api-key", "", "X-API-Key: k1\r\n", "", "x-api-key: k1\r\n"},
        {"tenant", "", "X-Weir-Tenant: t\r\n", "&tenant=t", ""},
        {"tenant,address", "&tenant=t", "X-Real-IP: 192.0.2.1\r\n", "", "X-Weir-Tenant: t\r\nX-Real-IP: 192.0.2.1\r\n"},
        {"tenant,method", "", "X-Weir-Tenant: a,b\r\nX-Forwarded-Method: GET\r\n", "&key=a%5C,b,GET", ""},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct client *client = client_open();
        char query[256];
        client_define(client, "api", "2/h", rows[i].parts, false);
        snprintf(query, sizeof query, "?limit=api%s", rows[i].query);
        check(client, query, rows[i].headers, 200, "\"api\";r=1;");
        snprintf(query, sizeof query, "?limit=api%s", rows[i].same_query);
        check(client, query, rows[i].same_headers, 200, "\"api\";r=0;");
        client_close(client);
    }
}

struct bad_row {
    const char *parts, *query, *headers, *words;
};

static void bad_parts(void **state)
{
    (void)state;
    static const struct bad_row rows[] = {
        {"address", "", "", "address"},
        {"address", "", "X-Real-IP: unknown\r\n", "address"},
        {"address", "", "X-Forwarded-For: 192.0.2.1, unknown\r\n", "address"},
        {"address", "", "X-Forwarded-For: 192.0.2.1,\r\n", "address"},
        {"address", "", "X-Real-IP: 192.0.2.1\r\nX-Real-IP: 192.0.2.2\r\n", "which one is the proxy's"},
        {"address", "", "X-Real-IP: 192.0.2.1\r\nX-Weir-Key: 192.0.2.2\r\n", "\"field\":\"X-Weir-Key\""},
        {"host", "", "", "host"},
        {"host", "", "X-Forwarded-Host: a\r\nX-Forwarded-Host: b\r\n", "which one is the proxy's"},
        {"method", "", "X-Forwarded-Method: A\r\nX-Forwarded-Method: B\r\nX-Original-Method: C\r\n", "which one is"},
        {"path", "", "X-Forwarded-Uri: ?a\r\n", "path"},
        {"header.x-api-key", "", "X-Weir-X-API-Key: a\r\n", "header.x-api-key"},
        {"header.x-api-key", "", "X-API-Key: a\r\nX-Api-Key: b\r\n", "which one is the proxy's"},
        {"tenant", "", "Tenant: a\r\n", "tenant"},
        {"tenant", "", "X-Weir-Tenant: a\r\nX-Weir-Tenant: b\r\n", "which one is the proxy's"},
        {"tenant,address", "&tenant=t", "", "address"},
    };
    struct client *client = client_open();
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char name[32], query[256];
        snprintf(name, sizeof name, "limit%zu", i);
        client_define(client, name, "2/h", rows[i].parts, false);
        snprintf(query, sizeof query, "?limit=%s%s", name, rows[i].query);
        check(client, query, rows[i].headers, 400, rows[i].words);
    }
    client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),    cmocka_unit_test(methods), cmocka_unit_test(shadow), cmocka_unit_test(peek),
        cmocka_unit_test(of_a_proxy), cmocka_unit_test(sources), cmocka_unit_test(parts),  cmocka_unit_test(bad_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
