/* SPDX-License-Identifier: MIT
   Tenants of a limit in the service: what each is owed, what is borrowed, what is told of it; definitions that are
   refused; changes.

   Answers are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/config/config.h"
#include "unit/needs_receipts.h"
#include "unit/serve_rig.h"

enum { OVER_HTTP = 1 };
static const uint64_t SECOND_NS = 1000000000;

static const char usual[] = "limits:\n"
                            "  api:\n"
                            "    limit: 10/s burst=10\n"
                            "    tenants:\n"
                            "      acme: 4/s burst=4 guaranteed\n"
                            "      ltd: 2/s burst=2 guaranteed; 8/s burst=5\n"
                            "      \"*\": 6/s burst=3\n";

static void load(struct rig *rig, const char *text)
{
    struct config_problem problem;
    struct policy *policy = config_policy(slice_of(text), rig->tables, NULL, service_number, &rig->service, &problem);
    if (policy == NULL) fail_msg("%s: %u: %s", text, problem.line, problem.message);
    service_publish(&rig->service, policy);
}

static struct rig *open_rig(const char *text)
{
    struct rig *rig = rig_open();
    rig->session[OVER_HTTP] = (struct session){.protocol = SESSION_HTTP, .local = true, .trusted = true};
    load(rig, text);
    return rig;
}

static void has(const char *answer, const char *words)
{
    if (strstr(answer, words) == NULL) fail_msg("\"%s\" is not in %s", words, answer);
}

static const char *get(struct rig *rig, const char *path)
{
    char request[256];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    return rig_send_bytes(rig, OVER_HTTP, slice_of(request));
}

/* verdict, which limit, what is left, retry in ms */
static void asked(const char *file, int line, struct rig *rig, const char *key, const char *cost, const char *expected)
{
    char found[128], verdict[8];
    long limit, left, delay, retry;
    const char *answer = RIG_SAY(rig, "WEIR.TAKE", "api", key, "COST", cost);
    const char *at = strchr(strchr(answer, '\n') + 1, '\n') + 1;
    if (sscanf(at, "%7s :%ld :%ld :%ld :%ld", verdict, &limit, &left, &delay, &retry) != 5) fail_msg("%s", answer);
    snprintf(found, sizeof found, "%s %ld %ld %ld", verdict, limit, left, retry / 1000000);
    if (strcmp(found, expected) != 0) fail_msg("%s:%d: %s %s: %s, not %s", file, line, key, cost, found, expected);
}
#define ASKED(rig, key, cost, expected) asked(__FILE__, __LINE__, rig, key, cost, expected)

static void owed_and_borrowed(void **state)
{
    (void)state;
    struct rig *rig = open_rig(usual);
    ASKED(rig, "ltd", "0", "allow 1 5 0");  /* its ceiling is 5, the parent has 10 */
    ASKED(rig, "acme", "4", "allow 1 6 0"); /* owed; the parent pays */
    ASKED(rig, "acme", "6", "allow 1 0 0"); /* borrowed: all that is left */
    ASKED(rig, "acme", "1", "deny 1 0 100");
    ASKED(rig, "ltd", "2", "allow 2 0 0");  /* owed, whatever the parent has: it is 2 in debt now */
    ASKED(rig, "ltd", "1", "deny 2 0 300"); /* 3/10 s of the parent, before 1/2 s of its own */
    ASKED(rig, "new", "1", "deny 1 0 300");
    rig->now_ns += SECOND_NS / 4;
    ASKED(rig, "acme", "1", "allow 1 0 0"); /* owed again */
    rig->now_ns += SECOND_NS;
    has(get(rig, "/metrics"), "\nweir_tenant_borrowed_total{limit=\"api\"} 1\n");
    rig_close(rig);
}

static void ceilings(void **state)
{
    (void)state;
    struct rig *rig = open_rig(usual);
    ASKED(rig, "ltd", "5", "allow 1 0 0");
    ASKED(rig, "ltd", "1", "deny 1 0 125"); /* 8/s */
    ASKED(rig, "ltd", "6", "never 1 0 0");
    ASKED(rig, "one", "3", "allow 0 0 0");
    ASKED(rig, "one", "1", "deny 0 0 166"); /* 6/s */
    ASKED(rig, "two", "2", "allow 1 0 0");  /* each has its own */
    ASKED(rig, "two", "1", "deny 1 0 100"); /* the parent's */
    rig_close(rig);
}

/* A wait of 1 ns is told as it is. */
static void last_ns(void **state)
{
    (void)state;
    struct rig *rig = open_rig(usual);
    ASKED(rig, "ltd", "5", "allow 1 0 0");
    rig->now_ns += 5 * SECOND_NS / 8 - 1;
    has(RIG_SAY(rig, "WEIR.TAKE", "api", "ltd", "COST", "5"), "deny\r\n:1\r\n:4\r\n:0\r\n:1\r\n");
    rig->now_ns++;
    ASKED(rig, "ltd", "5", "allow 1 0 0");
    rig_close(rig);
}

/* A look takes nothing, neither here nor there. */
static void looks(void **state)
{
    static const char peek[] = "*8\r\n$5\r\nallow\r\n:1\r\n:7\r\n:0\r\n:0\r\n:1000000000\r\n$-1\r\n:0\r\n";
    (void)state;
    struct rig *rig = open_rig(usual);
    for (int i = 0; i < 3; i++) {
        const char *answer = RIG_SAY(rig, "WEIR.TAKE", "api", "acme", "PEEK", "COST", "3");
        if (strncmp(answer, peek, 24) != 0) fail_msg("%s", answer);
    }
    has(RIG_SAY(rig, "WEIR.TAKE", "api", "acme", "PEEK", "COST", "8"), "allow\r\n:1\r\n:4\r\n"); /* borrowed */
    ASKED(rig, "acme", "10", "allow 1 4 0");
    has(RIG_SAY(rig, "WEIR.TAKE", "api", "acme", "PEEK", "COST", "5"), "deny\r\n:1\r\n:4\r\n:0\r\n:500000000\r\n");
    ASKED(rig, "acme", "4", "allow 1 0 0"); /* what is owed was not borrowed */
    rig_close(rig);
}

static void charged(void **state)
{
    (void)state;
    struct rig *rig = open_rig(usual);
    has(RIG_SAY(rig, "WEIR.CHARGE", "api", "acme", "12"), "allow\r\n:1\r\n:0\r\n");
    ASKED(rig, "acme", "1", "deny 1 0 300"); /* 1.2 s of the parent less 1; 2.25 s of its own */
    rig_close(rig);
}

/* Both get back what was not used. */
static void settled(void **state)
{
    char receipt[2048];
    (void)state;
    needs_receipts("unit/tenant_calls: settled");
    struct rig *rig = open_rig(usual);
    for (int borrows = 0; borrows < 2; borrows++) {
        const char *answer = RIG_SAY(rig, "WEIR.TAKE", "api", "acme", "COST", borrows ? "6" : "4");
        const char *at = strstr(answer, "\r\nw2");
        assert_non_null(at);
        snprintf(receipt, sizeof receipt, "%s", at + 2);
        *strchr(receipt, '\r') = '\0';
        assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "1"), ":1\r\n");
        assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "1"), ":0\r\n");
        ASKED(rig, "new", "0", "allow 0 3 0");
    }
    /* 3 of 4 came back and 1 was kept; the 6 were borrowed: so its guarantee has 3 still, and the parent 8. */
    has(RIG_SAY(rig, "WEIR.TAKE", "api", "acme", "PEEK", "COST", "0"), "allow\r\n:1\r\n:8\r\n");
    ASKED(rig, "two", "3", "allow 0 0 0");
    ASKED(rig, "three", "3", "allow 0 0 0");
    ASKED(rig, "four", "2", "allow 1 0 0");
    ASKED(rig, "acme", "3", "allow 1 0 0");
    ASKED(rig, "acme", "1", "deny 1 0 250");
    rig_close(rig);
}

/* What was borrowed is no part of the guarantee, and does not come back there. */
static void settled_beside_a_guarantee(void **state)
{
    char receipt[2048];
    (void)state;
    needs_receipts("unit/tenant_calls: settled_beside_a_guarantee");
    struct rig *rig = open_rig(usual);
    ASKED(rig, "ltd", "1", "allow 1 4 0");
    const char *answer = RIG_SAY(rig, "WEIR.TAKE", "api", "ltd", "COST", "4");
    const char *at = strstr(answer, "\r\nw2");
    assert_non_null(at);
    snprintf(receipt, sizeof receipt, "%s", at + 2);
    *strchr(receipt, '\r') = '\0';
    assert_string_equal(RIG_SAY(rig, "WEIR.SETTLE", receipt, "0"), ":1\r\n");
    ASKED(rig, "acme", "9", "allow 1 4 0");
    ASKED(rig, "ltd", "1", "allow 2 0 0");
    ASKED(rig, "ltd", "1", "deny 2 0 200");
    rig_close(rig);
}

static void headers(void **state)
{
    (void)state;
    struct rig *rig = open_rig(usual);
    const char *answer = get(rig, "/auth?limit=api&key=acme&cost=3");
    has(answer, "HTTP/1.1 200 ");
    has(answer, "\r\nRateLimit-Policy: \"api\";q=10;w=1\r\nRateLimit: \"api\";r=7\r\n");
    answer = get(rig, "/auth?limit=api&key=ltd&cost=5&headers=x");
    has(answer, "\r\nRateLimit: \"api\";r=0\r\nX-RateLimit-Limit: 10\r\nX-RateLimit-Remaining: 0\r\n");
    answer = get(rig, "/auth?limit=api&key=ltd");
    has(answer, "HTTP/1.1 429 ");
    has(answer, "\r\nRetry-After: 1\r\n");
    has(answer, "\r\nRateLimit: \"api\";r=0;t=1\r\n");
    rig_close(rig);
}

/* What was used stays used when the parent, another tenant or nothing changes. */
static void changed(void **state)
{
    char text[512];
    weir_error error;
    (void)state;
    struct rig *rig = open_rig(usual);
    ASKED(rig, "acme", "10", "allow 1 4 0"); /* borrowed */
    ASKED(rig, "acme", "4", "allow 1 0 0");
    snprintf(text, sizeof text, "%s      other: 1/s guaranteed\n", usual);
    load(rig, text);
    ASKED(rig, "acme", "1", "deny 1 0 250");
    assert_string_equal(RIG_SAY(rig, "WEIR.LIMIT", "SET", "api", "8/s burst=10"), "+OK\r\n");
    ASKED(rig, "acme", "1", "deny 1 0 250");
    has(RIG_SAY(rig, "WEIR.LIMIT", "SET", "api", "5/s burst=10"),
        "-BADLIMIT the guarantees are 6/s in total, more than the 5/s of their parent, with the 2/s of ltd\r\n");
    has(RIG_SAY(rig, "WEIR.LIMIT", "SET", "api", "9/s algorithm=sliding-log"), "-BADLIMIT with tenants all limits are");
    assert_int_equal(service_define(&rig->service, slice_of("api"), "8/s burst=10 guaranteed", &error), WEIR_EINVAL);
    ASKED(rig, "acme", "1", "deny 1 0 250");
    assert_string_equal(RIG_SAY(rig, "WEIR.FORGET", "api", "acme"), ":1\r\n"); /* the parent does not forget */
    ASKED(rig, "acme", "4", "allow 1 0 0");
    ASKED(rig, "new", "1", "deny 1 0 1125");
    rig_close(rig);
}

static void exempt(void **state)
{
    (void)state;
    struct rig *rig = open_rig("limits:\n  api:\n    limit: 1/s burst=1\n    key: [address]\n    exempt: [10.0.0.0/8]\n"
                               "    tenants: {192.0.2.1: 1/s guaranteed}\n");
    ASKED(rig, "10.1.2.3", "5", "allow 0 9223372036854775807 0");
    ASKED(rig, "192.0.2.9", "1", "allow 1 0 0");
    ASKED(rig, "192.0.2.1", "1", "allow 1 0 0");
    ASKED(rig, "192.0.2.1", "1", "deny 1 0 1000"); /* its own, before the parent's */
    rig_close(rig);
}

/* 10 at once and 10 a second: a call of weight 1 is 100 ms.  A new tenant starts 250 ms behind the lead and leaves
   nothing; after a call it is 150 ms behind, and of the 450 ms that the lead leaves it leaves 150, 1 permit; then 350,
   3 permits, and from there on 4. */
static void weights(void **state)
{
    (void)state;
    struct rig *rig = open_rig("limits:\n  api:\n    limit: 10/s burst=10\n    tenants:\n"
                               "      one: unlimited weight=1\n      ten: 5/s burst=1 guaranteed weight=10\n"
                               "      \"*\": unlimited weight=1\n");
    ASKED(rig, "one", "1", "allow 1 8 0");
    ASKED(rig, "one", "1", "allow 1 5 0");
    ASKED(rig, "one", "1", "allow 1 3 0");
    ASKED(rig, "one", "1", "allow 1 2 0");
    ASKED(rig, "one", "1", "allow 1 1 0");
    ASKED(rig, "one", "1", "allow 1 0 0");
    ASKED(rig, "one", "1", "deny 1 0 100"); /* when there are 5 */
    has(RIG_SAY(rig, "WEIR.TAKE", "api", "one", "PEEK"), "deny\r\n:1\r\n:0\r\n:0\r\n:100000000\r\n");
    ASKED(rig, "new", "1", "allow 1 2 0");
    ASKED(rig, "ten", "1", "allow 1 2 0"); /* owed: no part of its share */
    ASKED(rig, "ten", "2", "allow 1 0 0");
    ASKED(rig, "ten", "1", "deny 1 0 100");
    rig->now_ns += SECOND_NS / 2;
    ASKED(rig, "one", "1", "allow 1 0 0");
    ASKED(rig, "one", "1", "deny 1 0 100");
    rig_close(rig);
}

static void costs(void **state)
{
    (void)state;
    struct rig *rig = open_rig("limits:\n  api:\n    limit: 10 tokens/s; 100000 tokens/h\n"
                               "    tenants: {acme: 4 tokens/s guaranteed}\n");
    has(RIG_SAY(rig, "WEIR.TAKE", "api", "acme", "COST", "tokens", "3"), "allow\r\n:1\r\n:7\r\n");
    has(RIG_SAY(rig, "WEIR.TAKE", "api", "other", "COST", "2"), "allow\r\n:1\r\n:5\r\n");
    has(RIG_SAY(rig, "WEIR.TAKE", "api", "acme", "COST", "1", "2"),
        "-ERR a tenant's call has one cost for all limits; for example 2\r\n");
    has(RIG_SAY(rig, "WEIR.TAKE", "api", "acme", "COST", "requests", "2"), "-ERR \"requests\" is no unit here; ");
    rig_close(rig);
}

struct refusal {
    const char *text;
    unsigned line;
    const char *words;
};

static void refused(void **state)
{
    static const struct refusal rows[] = {
        {"limits:\n  api:\n    limit: 10/s\n    tenants:\n      a: 6/s guaranteed\n      b: 5/s guaranteed\n", 6,
         "limits.api.tenants.b: the guarantees are 11/s in total, more than the 10/s of their parent, with the 5/s of "
         "b"},
        {"limits:\n  api:\n    limit: 10/s\n    tenants:\n      \"*\": 6/s guaranteed\n", 5,
         "a guarantee is for a key by its name"},
        {"limits:\n  api:\n    limit: 10/s\n    tenants:\n      a: 6/s algorithm=sliding-window\n", 5,
         "with tenants all limits are by gcra"},
        {"limits:\n  api:\n    limit: 10/s algorithm=sliding-log\n    tenants:\n      a: 6/s guaranteed\n", 5,
         "with tenants all limits are by gcra"},
        {"limits:\n  api:\n    limit: 10/s; 20 concurrent lease=1s\n    tenants:\n      a: 6/s guaranteed\n", 5,
         "with tenants all limits are by gcra"},
        {"limits:\n  api:\n    limit: 10/s\n    tenants:\n      a: 6 tokens/s guaranteed\n", 5,
         "one unit in all limits"},
        {"limits:\n  api:\n    limit: 10/s\n    key: none\n    tenants:\n      a: 6/s\n", 6,
         "tenants are told apart by their key"},
        {"limits:\n  api:\n    limit: 10/s\n    tenants: [a]\n", 4, "limits.api.tenants"},
        {"limits:\n  api:\n    limit: 10/s\n    tenants:\n      a: 1/s weight=2\n      \"*\": unlimited\n", 6,
         "limits.api.tenants.*: \"*\" has no weight and others have one: give one to each, or to none"},
        {"limits:\n  api:\n    limit: 10/s\n    tenants:\n      \"*\": 1/s weight=1\n      a: 1/s\n", 6,
         "limits.api.tenants.a: a has no weight and others have one"},
        {"limits:\n  api:\n    limit: 10/s\n    tenants:\n      a: unlimited weight=2\n", 5,
         "limits.api.tenants: \"*\" has no weight"},
        {"limits:\n  api:\n    limit: 10/s\n    tenants:\n      a: 6/\n", 5, "expected a period"},
        {"limits:\n  api:\n    limit: 10/s\n    tenants:\n      a: 6/s guarantee\n", 5, "guaranteed"},
        {"limits:\n  api:\n    limit: 10/s guaranteed\n", 3, "guaranteed is for tenants of a limit"},
        {"limits: {api: 10/s}\noverrides: {api: {a: 10/s guaranteed}}\n", 2, "guaranteed is for tenants of a limit"},
        {"limits:\n  api:\n    limit: 10/s\n    tenants:\n      a: 6/s\noverrides:\n  api: {b: 10/s}\n", 7,
         "this limit has tenants"},
        {"engine: {url: redis://localhost}\nlimits:\n  api:\n    limit: 10/s\n    tenants:\n      a: 6/s\n", 6,
         "tenants are kept in this process: write engine: off"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config config;
        struct config_problem problem;
        if (config_read(slice_of(rows[i].text), &config, &problem)) fail_msg("%s is accepted", rows[i].text);
        if (problem.line != rows[i].line || strstr(problem.message, rows[i].words) == NULL)
            fail_msg("%s%u: %s, not %u: %s", rows[i].text, problem.line, problem.message, rows[i].line, rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owed_and_borrowed), cmocka_unit_test(ceilings),
        cmocka_unit_test(last_ns),           cmocka_unit_test(looks),
        cmocka_unit_test(charged),           cmocka_unit_test(settled),
        cmocka_unit_test(headers),           cmocka_unit_test(settled_beside_a_guarantee),
        cmocka_unit_test(changed),           cmocka_unit_test(exempt),
        cmocka_unit_test(weights),           cmocka_unit_test(costs),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests_name("unit/tenant_calls", tests, NULL, NULL);
}
