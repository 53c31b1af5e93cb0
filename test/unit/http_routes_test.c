/* SPDX-License-Identifier: MIT
   The service over HTTP, without a socket: each route, each refusal, however bytes are split.

   Answers are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/protocols.h"
#include "unit/http_client.h"
#include "unit/plans.h"
#include "unit/needs_receipts.h"

static void check(const char *answer, int status, const char *body)
{
    if (client_status(answer) != status || strstr(client_body(answer), body) == NULL) {
        fail_msg("expected %d with %s, but got %s", status, body, answer);
    }
}

/* ---- /v1/take ---- */

static void answers(void **state)
{
    (void)state;
    needs_receipts("unit/http_routes: answers");
    static const char limit[] = "{\"limit\":\"10/s burst=2\",\"key\":\"a\",\"cost\":2}";
    struct client *client = client_open();
    const char *answer = client_json(client, "/v1/take", limit);
    const char *expected = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nCache-Control: no-store\r\n"
                           "RateLimit-Policy: \"default\";q=10;w=1;weir-burst=2\r\nRateLimit: \"default\";r=0;t=1\r\n"
                           "Content-Type: application/json\r\nContent-Length: ";
    assert_memory_equal(answer, expected, strlen(expected));
    expected = "{\"verdict\":\"allow\",\"limit\":0,\"remaining\":0,\"delay_ns\":0,\"retry_ns\":0,\"full_ns\":200000000,"
               "\"late_ns\":0,\"receipt\":\"";
    assert_memory_equal(client_body(answer), expected, strlen(expected));
    assert_string_equal(client_json(client, "/v1/take", limit),
                        "HTTP/1.1 429 Too Many Requests\r\nConnection: keep-alive\r\nCache-Control: no-store\r\n"
                        "Retry-After: 1\r\nRateLimit-Policy: \"default\";q=10;w=1;weir-burst=2\r\n"
                        "RateLimit: \"default\";r=0;t=1\r\nContent-Type: application/json\r\n"
                        "Content-Length: 109\r\n\r\n"
                        "{\"verdict\":\"deny\",\"limit\":0,\"remaining\":0,\"delay_ns\":0,\"retry_ns\":200000000,"
                        "\"full_ns\":200000000,\"late_ns\":0}\n");
    answer = client_json(client, "/v1/take", "{\"limit\":\"10/s burst=2\",\"key\":\"b\",\"cost\":3}");
    check(answer, 422, "{\"verdict\":\"never\",\"limit\":0,\"remaining\":2,");
    assert_null(strstr(answer, "Retry-After"));
    assert_null(strstr(answer, "receipt"));
    client_close(client);
}

static void fields(void **state)
{
    (void)state;
    struct client *client = client_open();
    client_define(client, "api", "10/s", "tenant,address/64", false);
    check(client_form(client, "/v1/take", "limit=2/h&key=a%20b"), 200, "\"remaining\":1,");
    check(client_json(client, "/v1/take", "{\"limit\":\"2/h\",\"key\":\"a b\",\"cost\":1}"), 200, "\"remaining\":0,");
    check(client_form(client, "/v1/take", "limit=2/h&key=a+b&peek=1"), 429, "\"verdict\":\"deny\"");
    check(client_post(client, "/v1/take", "Application/JSON; charset=utf-8", "{\"limit\":\"2/h\",\"key\":7}"), 200,
          "1,");
    check(client_form(client, "/v1/take", "limit=2/h&key=7"), 200, "\"remaining\":0,"); /* 7 is "7" */
    check(client_json(client, "/v1/take", "{\"limit\":\"9/s; 100 tokens/h\",\"key\":\"l\",\"cost\":[1,60]}"), 200,
          "\"limit\":0,\"remaining\":8,");
    check(client_form(client, "/v1/take", "limit=9/s;+100+tokens/h&key=l&cost=1,41"), 429, "\"limit\":1,");
    check(client_json(client, "/v1/take", "{\"limit\":\"api\",\"tenant\":\"t\",\"address\":\"2001:db8::1\"}"), 200,
          "\"remaining\":9,");
    check(client_json(client, "/v1/take", "{\"limit\":\"api\",\"address\":\"2001:db8::2\",\"tenant\":\"t\"}"), 200,
          "\"remaining\":8,"); /* the same /64 */
    check(client_form(client, "/v1/take", "limit=api&key=t,2001:db8::3"), 200, "\"remaining\":7,");
    for (int i = 0; i < 3; i++) {
        const char *answer = client_form(client, "/v1/take", "limit=2/h&key=p&peek=true");
        check(answer, 200, "\"remaining\":1,");
        assert_null(strstr(answer, "receipt"));
    }
    check(client_form(client, "/v1/take", "limit=2/h&key=p&cost=0"), 200, "\"remaining\":2,");
    client_close(client);
}

/* Numbers beyond what others read are the largest that they do. */
/* What is left of each limit tells what it cost. */
static void costs(void **state)
{
    static const char mixed[] = "limit=60%20requests/min;%20100k%20tokens/min&key=a&peek=1&";
    static const struct {
        const char *cost, *left;
        int status;
    } rows[] = {
        {"", "\"limit\":0,\"remaining\":59,", 200},
        {"cost=tokens=99990", "\"limit\":1,\"remaining\":10,", 200},
        {"cost=tokens%3D99990,requests=59", "\"limit\":0,\"remaining\":1,", 200},
        {"cost=59,99999", "\"limit\":0,\"remaining\":1,", 200},
        {"cost=0", "\"limit\":0,\"remaining\":60,", 200},
        {"cost=5", "{\"error\":\"limits count requests and tokens: write cost=tokens=5\",\"field\":\"cost\"}", 400},
        {"cost=tokens", "or by unit; for example 5 or 5,10 or tokens=812 (JSON: ", 400},
        {"cost=tokens=", "or by unit; ", 400},
        {"cost==5", "or by unit; ", 400},
        {"cost=tokens=5,6", "or by unit; ", 400},
        {"cost=token=5", "\\\"token\\\" is no unit here; ", 400},
    };
    char form[256];
    (void)state;
    struct client *client = client_open();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(form, sizeof form, "%s%s", mixed, rows[i].cost);
        check(client_form(client, "/v1/take", form), rows[i].status, rows[i].left);
    }
    check(client_json(client, "/v1/charge",
                      "{\"limit\":\"60 requests/min; 100k tokens/min\",\"key\":\"a\",\"cost\":{\"tokens\":99991}}"),
          200, "\"limit\":1,\"remaining\":9,");
    check(client_json(client, "/v1/take", "{\"limit\":\"60 requests/min; 100k tokens/min\",\"key\":\"a\",\"cost\":5}"),
          400, "write \\\"cost\\\": {\\\"tokens\\\": 5}");
    check(client_json(client, "/v1/take", "{\"limit\":\"10/s\",\"key\":\"a\",\"cost\":{}}"), 400, "or by unit; ");
    client_close(client);
}

static void large(void **state)
{
    (void)state;
    struct client *client = client_open();
    check(client_form(client, "/v1/take", "limit=unlimited&key=a"), 200, "\"remaining\":9223372036854775807,");
    check(client_form(client, "/v1/take", "limit=none&key=a"), 422, "\"verdict\":\"never\"");
    check(client_form(client, "/v1/take", "limit=5/s&key=a&cost=18446744073709551615"), 422, "\"verdict\":\"never\"");
    client_close(client);
}

static void shadow(void **state)
{
    (void)state;
    struct client *client = client_open();
    client_define(client, "watched", "1/h", "", true);
    check(client_form(client, "/v1/take", "limit=watched&key=a"), 200, "\"verdict\":\"allow\"");
    check(client_form(client, "/v1/take", "limit=watched&key=a"), 200, "\"shadow\":true");
    client_close(client);
}

struct refusal_row {
    const char *type, *body;
    int status;
    const char *words;
};

#define JSON "application/json"
#define FORM "application/x-www-form-urlencoded"

static void refusals(void **state)
{
    (void)state;
    static const struct refusal_row rows[] = {
        {"text/plain", "limit=1/s&key=a", 415, "\"field\":\"Content-Type\""},
        {"application/jsonp", "{}", 415, "expected Content-Type: application/json or"},
        {FORM, "{\"limit\":\"1/s\"}", 415, "this is JSON"},
        {JSON, "", 400, "\"field\":\"body\""},
        {JSON, "limit=1/s", 400, "\"column\":1"},
        {JSON, "{\"limit\":\"1/s\",\"limit\":\"2/s\",\"key\":\"a\"}", 400, "\"field\":\"body\",\"column\":16"},
        {FORM, "", 400, "\"field\":\"limit\""},
        {FORM, "key=a", 400, "\"field\":\"limit\""},
        {JSON, "{\"limit\":[1],\"key\":\"a\"}", 400, "\"field\":\"limit\""},
        {FORM, "limit=10/&key=a", 400, "\"field\":\"limit\",\"column\":4"},
        {FORM, "limit=/s&key=a", 400, "\"field\":\"limit\",\"column\":1}"},
        {FORM, "limit=10/s+burst=0&key=a", 400, "\"field\":\"limit\",\"column\":"},
        {FORM, "limit=nobody&key=a", 404, "\"field\":\"limit\""},
        {FORM, "limit=1/s", 400, "\"field\":\"key\""},
        {FORM, "limit=1/s&key=", 400, "\"field\":\"key\""},
        {JSON, "{\"limit\":\"1/s\",\"key\":true}", 400, "\"field\":\"key\""},
        {FORM, "limit=1/s&key=%00a", 400, "\"field\":\"key\""},
        {FORM, "limit=1/s&key=a&cots=3", 400, "unknown field \\\"cots\\\": expected limit, key, cost, peek, headers"},
        {FORM, "limit=1/s&key=a&tenant=b", 400, "unknown field"},
        {FORM, "limit=1/s&key=a&cost=-1", 400, "\"field\":\"cost\""},
        {FORM, "limit=1/s&key=a&cost=", 400, "\"field\":\"cost\""},
        {FORM, "limit=1/s&key=a&cost=1,", 400, "\"field\":\"cost\""},
        {FORM, "limit=1/s&key=a&cost=1,2", 400, "\"field\":\"cost\""},
        {FORM, "limit=1/s;+2/h;+3/d&key=a&cost=1,2", 400, "\"field\":\"cost\""},
        {FORM, "limit=1/s&key=a&cost=1,2,3,4,5,6,7,8,9", 400, "\"field\":\"cost\""},
        {FORM, "limit=1/s&key=a&cost=18446744073709551616", 400, "\"field\":\"cost\""},
        {JSON, "{\"limit\":\"1/s\",\"key\":\"a\",\"cost\":1.5}", 400, "\"field\":\"body\""},
        {JSON, "{\"limit\":\"1/s\",\"key\":\"a\",\"cost\":true}", 400, "\"field\":\"cost\""},
        {JSON, "{\"limit\":\"1/s\",\"key\":\"a\",\"cost\":[]}", 400, "\"field\":\"cost\""},
        {FORM, "limit=1/s&key=a&peek=maybe", 400, "\"field\":\"peek\""},
        {FORM, "limit=1/s&key=a&headers=y", 400, "\"field\":\"headers\""},
        {FORM, "limit=api&tenant=a", 400, "address"},
        {FORM, "limit=api&tenant=a&address=nowhere", 400, "\"field\":\"key\""},
        {FORM, "limit=api&tenant=a&address=1.2.3.4&host=b", 400, "unknown field \\\"host\\\""},
    };
    struct client *client = client_open();
    client_define(client, "api", "10/s", "tenant,address/64", false);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *answer = client_post(client, "/v1/take", rows[i].type, rows[i].body);
        if (client_status(answer) != rows[i].status || strstr(answer, rows[i].words) == NULL) {
            fail_msg("%s: expected %d with %s, but got %s", rows[i].body, rows[i].status, rows[i].words, answer);
        }
        assert_memory_equal(client_body(answer), "{\"error\":\"", 10);
        assert_non_null(strstr(answer, "\r\nConnection: keep-alive\r\n"));
    }
    check(client_form(client, "/v1/take", "limit=1/s&key=a"), 200, "\"verdict\":\"allow\""); /* nothing was taken */
    client_close(client);
}

/* ---- charge, settle, forget ---- */

static void receipt_of(const char *answer, char receipt[RECEIPT_MAX])
{
    const char *start = strstr(answer, "\"receipt\":\"");
    assert_non_null(start);
    start += strlen("\"receipt\":\"");
    const size_t size = strcspn(start, "\"\\");
    assert_true(size < RECEIPT_MAX && start[size] == '"');
    memcpy(receipt, start, size);
    receipt[size] = '\0';
}

static void settled(void **state)
{
    (void)state;
    needs_receipts("unit/http_routes: settled");
    struct client *client = client_open();
    char receipt[RECEIPT_MAX], body[RECEIPT_MAX + 64];
    receipt_of(client_form(client, "/v1/take", "limit=100/h&key=a&cost=60"), receipt);
    snprintf(body, sizeof body, "{\"receipt\":\"%s\",\"actual\":10}", receipt);
    check(client_json(client, "/v1/settle", body), 200, "{\"settled\":true,\"again\":false}");
    check(client_form(client, "/v1/take", "limit=100/h&key=a&cost=0"), 200, "\"remaining\":90,");
    check(client_json(client, "/v1/settle", body), 200, "{\"settled\":false,\"again\":true}");
    check(client_form(client, "/v1/take", "limit=100/h&key=a&cost=0"), 200, "\"remaining\":90,");

    receipt_of(client_form(client, "/v1/take", "limit=100/h;+50+tokens/h&key=b&cost=1,40"), receipt);
    snprintf(body, sizeof body, "{\"receipt\":\"%s\",\"actual\":[1,10]}", receipt);
    check(client_json(client, "/v1/settle", body), 200, "\"settled\":true");
    check(client_form(client, "/v1/take", "limit=100/h;+50+tokens/h&key=b&cost=0"), 200,
          "\"limit\":1,\"remaining\":40,");

    /* Of a key whose every byte takes six in JSON. */
    char form[64 + 3 * POLICY_KEY_MAX] = "limit=100/h&cost=60&key=", quoted[6 * RECEIPT_MAX];
    for (int i = 0; i < POLICY_KEY_MAX; i++) memcpy(form + strlen(form), "%01", 4);
    const char *begins = strstr(client_form(client, "/v1/take", form), "\"receipt\":\"");
    assert_non_null(begins);
    snprintf(quoted, sizeof quoted, "{%.*s,\"actual\":0}", (int)strcspn(begins, "}"), begins);
    check(client_json(client, "/v1/settle", quoted), 200, "{\"settled\":true,\"again\":false}");
    /* Of one that is no text, which JSON cannot hold, there is none rather than one that will be refused. */
    check(client_form(client, "/v1/take", "limit=100/h&key=%ff"), 200, "\"full_ns\":36000000000,\"late_ns\":0}\n");

    check(client_form(client, "/v1/settle", "actual=1"), 400, "\"field\":\"receipt\"");
    check(client_form(client, "/v1/settle", "receipt=xyz"), 400, "\"field\":\"actual\"");
    check(client_form(client, "/v1/settle", "receipt=xyz&actual=1"), 400, "\"field\":\"receipt\"");
    check(client_form(client, "/v1/settle", "receipt=xyz&actual=one"), 400, "\"field\":\"actual\"");
    check(client_form(client, "/v1/settle", "receipt=xyz&actual=1&key=a"), 400, "unknown field \\\"key\\\"");
    client_close(client);
}

static void charged(void **state)
{
    (void)state;
    struct client *client = client_open();
    check(client_form(client, "/v1/charge", "limit=10/h&key=a&cost=15"), 200, "\"verdict\":\"allow\"");
    check(client_form(client, "/v1/take", "limit=10/h&key=a"), 429, "\"retry_ns\":2160000000000,"); /* 6 * 6 min */
    check(client_form(client, "/v1/charge", "limit=10/h&key=a&peek=1"), 400, "unknown field \\\"peek\\\"");
    check(client_form(client, "/v1/forget", "limit=10/h&key=a"), 200, "{\"forgotten\":true}");
    check(client_form(client, "/v1/take", "limit=10/h&key=a"), 200, "\"remaining\":9,");
    check(client_form(client, "/v1/forget", "limit=10/h"), 400, "\"field\":\"key\"");
    check(client_form(client, "/v1/forget", "limit=10/h&key=a&cost=1"), 400, "unknown field \\\"cost\\\"");
    client_close(client);
}

/* ---- /v1/limits ---- */

static void limits(void **state)
{
    (void)state;
    struct client *client = client_open();
    client_define(client, "api", "10/s", "tenant,address/64", true);
    assert_string_equal(client_body(client_get(client, "/v1/limits")),
                        "{\"limits\":[\n{\"name\":\"api\",\"limit\":\"10/s burst=10 algorithm=gcra\","
                        "\"key\":[\"tenant\",\"address/32/64\"],\"shadow\":true,\"exempt\":0,\"overrides\":0}\n]}\n");
    check(client_json(client, "/v1/limits", "{\"name\":\"a:b/c\",\"limit\":\"2/h\"}"), 200, "{\"defined\":true}");
    check(client_form(client, "/v1/take", "limit=a:b/c&key=x"), 200, "\"remaining\":1,");
    check(client_json(client, "/v1/limits", "{\"name\":\"a:b/c\",\"limit\":\"5/h\"}"), 200, "{\"defined\":true}");
    check(client_form(client, "/v1/take", "limit=a:b/c&key=x"), 200, "\"remaining\":");
    check(client_json(client, "/v1/limits", "{\"name\":\"a\",\"limit\":\"5/\"}"), 400,
          "\"field\":\"limit\",\"column\":3");
    check(client_json(client, "/v1/limits", "{\"name\":\"9\",\"limit\":\"5/h\"}"), 400, "\"field\":\"name\"");
    check(client_json(client, "/v1/limits", "{\"name\":\"a\"}"), 400, "expected name and limit");
    check(client_json(client, "/v1/limits", "{\"name\":\"a\",\"limit\":\"5/h\",\"x\":1}"), 400, "nothing else");
    check(client_ask(client, "DELETE /v1/limits/a%%3Ab%%2fc HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200, "removed");
    check(client_ask(client, "DELETE /v1/limits/a:b/c HTTP/1.1\r\nHost: localhost\r\n\r\n"), 404, "no limit has this");
    check(client_ask(client, "DELETE /v1/limits/%%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"), 404, "no limit has this");
    check(client_form(client, "/v1/take", "limit=a:b/c&key=x"), 404, "\"field\":\"limit\"");
    check(client_ask(client, "DELETE /v1/limits HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405, "expected GET, HEAD, POST");
    client_close(client);
}

/* A definition holds for what comes behind it in the same batch, and not for what came before. */
static void in_order(void **state)
{
    (void)state;
    struct client *client = client_open();
    static const char one[] = "{\"name\":\"n\",\"limit\":\"10/h\"}", two[] = "{\"limit\":\"n\",\"key\":\"a\"}";
    char take_it[256], define[256];
    snprintf(take_it, sizeof take_it,
             "POST /v1/take HTTP/1.1\r\nHost: a\r\nContent-Type: " JSON "\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(two), two);
    snprintf(define, sizeof define,
             "POST /v1/limits HTTP/1.1\r\nHost: a\r\nContent-Type: " JSON "\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(one), one);
    client->session.local = true;
    const char *answer = client_ask(client, "%s%s%s%s", take_it, define, take_it, take_it);
    check(answer, 404, "");
    const char *defined = strstr(answer, "{\"defined\":true}");
    assert_non_null(defined);
    const char *first = strstr(defined, "\"remaining\":9,");
    assert_non_null(first);
    assert_non_null(strstr(first, "\"remaining\":8,"));
    client_close(client);
}

/* ---- others ---- */

static void small_ones(void **state)
{
    (void)state;
    struct client *client = client_open();
    char value[2048];
    check(client_get(client, "/healthz"), 200, "{\"alive\":true}");
    check(client_get(client, "/readyz"), 200, "{\"ready\":true}");
    atom_store(&client->service.draining, 1);
    check(client_get(client, "/healthz"), 200, "{\"alive\":true}");
    check(client_get(client, "/readyz"), 503, "stopping");
    client_form(client, "/v1/take", "limit=1/h&key=a");
    client_form(client, "/v1/take", "limit=1/h&key=a");
    check(client_get(client, "/metrics"), 200, "# TYPE ");
    assert_string_equal(client_header(client->answers, "Content-Type", value),
                        "text/plain; version=0.0.4; charset=utf-8");
    check(client_get(client, "/v1/stats"), 200, "{");
    check(client_get(client, "/v1/stats?since=3"), 200, "{");
    check(client_get(client, "/v1/top"), 200, "\"key\":\"a\"");
    client_close(client);
}

static void methods(void **state)
{
    (void)state;
    static const char *const paths[] = {"/healthz", "/metrics", "/v1/limits", "/v1/stats", "/v1/top"};
    struct client *client = client_open();
    char value[2048];
    check(client_get(client, "/v1/take"), 405, "\"field\":\"method\"");
    assert_string_equal(client_header(client->answers, "Allow", value), "POST");
    check(client_form(client, "/metrics", ""), 405, "");
    assert_string_equal(client_header(client->answers, "Allow", value), "GET, HEAD");
    check(client_ask(client, "OPTIONS /v1/limits HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405, "");
    assert_string_equal(client_header(client->answers, "Allow", value), "GET, HEAD, POST");
    for (size_t i = 0; i < LENGTH(paths); i++) {
        char length[64];
        client_get(client, paths[i]);
        snprintf(length, sizeof length, "%zu", strlen(client_body(client->answers)));
        assert_string_equal(client_header(client->answers, "Content-Length", value), length);
        client_ask(client, "HEAD %s HTTP/1.1\r\nHost: localhost\r\n\r\n", paths[i]);
        assert_int_equal(client_status(client->answers), 200);
        assert_string_equal(client_body(client->answers), "");
        assert_string_equal(client_header(client->answers, "Cache-Control", value), "no-store");
    }
    check(client_get(client, "/v1"), 404, "/v1/take (POST), ");
    check(client_get(client, "/v1/limits/"), 404, "");
    check(client_get(client, "/authx"), 404, "");
    check(client_get(client, "/%00"), 404, "");
    client_close(client);
}

/* After "Connection: close" nothing more is read. */
static void closing(void **state)
{
    (void)state;
    static const char text[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                               "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct client *client = client_open();
    client->size = 0;
    client_send(client, text, strlen(text));
    assert_true(client->session.closing);
    check(client->answers, 200, "{\"alive\":true}");
    assert_non_null(strstr(client->answers, "\r\nConnection: close\r\n"));
    assert_null(strstr(client_body(client->answers), "HTTP/1.1"));
    client_close(client);
}

/* Who asks before sending the body is told to go on, once. */
static void goes_on(void **state)
{
    (void)state;
    static const char head[] =
        "POST /v1/take HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Type: " FORM
        "\r\nContent-Length: 17\r\n\r\n";
    char text[512];
    struct client *client = client_open();
    assert_int_equal(client_send(client, head, strlen(head)), 0);
    assert_string_equal(client->answers, "HTTP/1.1 100 Continue\r\n\r\n");
    client->size = 0;
    client->answers[0] = '\0';
    const int size = snprintf(text, sizeof text, "%slimit=10/s&key=ab", head);
    assert_int_equal(client_send(client, text, (size_t)size - 1), 0);
    assert_string_equal(client->answers, "");
    assert_int_equal(client_send(client, text, (size_t)size), (size_t)size);
    check(client->answers, 200, "\"remaining\":9,");
    assert_int_equal(atom_load(&client->batch.stats->http_requests), 1);
    client_close(client);
}

/* ---- splits ---- */

/* No receipts: those of another service are others. */
static const char pipeline[] =
    "POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Type: " JSON
    "\r\nContent-Length: 44\r\n\r\n{\"limit\":\"9/s; 100/h\",\"key\":\"a\",\"peek\":true}"
    "\r\n"
    "GET /auth?limit=5/h&key=b HTTP/1.1\r\nHost: localhost\r\nX-Weir-Proxy: 1\r\n\r\n"
    "GET /auth?limit=9/s;100/h&key=a&headers=x HTTP/1.1\r\nHost: localhost\r\nX-Weir-Proxy: 1\r\n\r\n"
    "GET /auth?limit=1/h&key=b HTTP/1.1\r\nHost: localhost\r\nX-Weir-Proxy: 1\r\n\r\n"
    "GET /auth?limit=1/h&key=b&status=403 HTTP/1.1\r\nHost: localhost\r\nX-Weir-Proxy: 1\r\n\r\n"
    "POST /v1/limits HTTP/1.1\r\nHost: localhost\r\nContent-Type: " FORM
    "\r\nContent-Length: 17\r\n\r\nname=n&limit=10/h"
    "GET /auth?limit=n&key=b HTTP/1.1\r\nHost: localhost\r\nX-Weir-Proxy: 1\r\n\r\n"
    "GET /v1/limits HTTP/1.1\r\nHost: localhost\r\n\r\n"
    "GET /auth?limit=5/h&key=b HTTP/1.1\r\nHost: localhost\r\nX-Weir-Proxy: 1\r\n\r\n"
    "HEAD /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/* Bytes as a connection keeps them: what was not taken comes again with more behind it. */
static void feed(struct client *client, size_t first, size_t step)
{
    size_t taken = 0;
    client->size = 0;
    for (size_t end = first; taken < sizeof pipeline - 1 && !client->session.closing;
         end = end + step < sizeof pipeline - 1 ? end + step : sizeof pipeline - 1) {
        taken += client_send(client, pipeline + taken, end - taken);
    }
    assert_true(client->session.closing);
}

static void splits(void **state)
{
    (void)state;
    struct client *whole = client_open();
    feed(whole, sizeof pipeline - 1, 1);
    for (size_t split = 0; split < sizeof pipeline; split++) {
        struct client *client = client_open();
        if (split == 0) feed(client, 1, 1);
        else feed(client, split, sizeof pipeline);
        assert_string_equal(client->answers, whole->answers);
        client_close(client);
    }
    client_close(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers), cmocka_unit_test(costs),    cmocka_unit_test(fields),     cmocka_unit_test(large),
        cmocka_unit_test(shadow),  cmocka_unit_test(refusals), cmocka_unit_test(settled),    cmocka_unit_test(charged),
        cmocka_unit_test(limits),  cmocka_unit_test(in_order), cmocka_unit_test(small_ones), cmocka_unit_test(methods),
        cmocka_unit_test(closing), cmocka_unit_test(goes_on),  cmocka_unit_test(splits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
