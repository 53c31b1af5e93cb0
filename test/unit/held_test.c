/* SPDX-License-Identifier: MIT
   Slots that clients of the service hold: their ids, renewed and released, in order with takes; what is refused.

   Answers are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/stats/series.h"
#include "unit/needs_receipts.h"
#include "unit/serve_rig.h"

enum { OVER_HTTP = 1, ID_MAX = 24 };
static const uint64_t SECOND_NS = 1000000000;

static struct rig *open_rig(void)
{
    struct rig *rig = rig_open();
    rig->session[OVER_HTTP] = (struct session){.protocol = SESSION_HTTP, .local = true, .trusted = true};
    return rig;
}

static const char *post(struct rig *rig, const char *path, const char *form)
{
    char request[1024];
    snprintf(request, sizeof request,
             "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             path, strlen(form), form);
    return rig_send_bytes(rig, OVER_HTTP, slice_of(request));
}

static void has(const char *answer, const char *words)
{
    if (strstr(answer, words) == NULL) fail_msg("\"%s\" is not in %s", words, answer);
}

/* The ninth of an answer of so many, which is one; "": none. */
static void id_in(const char *answer, char id[ID_MAX])
{
    if (strncmp(answer, "*9\r\n", 4) != 0) fail_msg("%s", answer);
    const char *at = answer + strlen(answer) - 2;
    size_t size = 0;
    while (at[-1] != '\n') at--;
    while (at[size] >= '0' && at[size] <= '9') size++;
    assert_true(size < ID_MAX);
    memcpy(id, at, size);
    id[size] = '\0';
}

static void take(struct rig *rig, const char *limit, const char *key, const char *cost, char id[ID_MAX])
{
    id_in(RIG_SAY(rig, "WEIR.TAKE", limit, key, "COST", cost), id);
}

static bool passes(struct rig *rig, const char *limit, const char *key)
{
    return strstr(RIG_SAY(rig, "WEIR.TAKE", limit, key, "PEEK"), "allow") != NULL;
}

#define SAYS(rig, answer, ...) assert_string_equal(RIG_SAY(rig, __VA_ARGS__), answer)

static void renewed_and_released(void **state)
{
    static const char two[] = "2 concurrent lease=10s";
    (void)state;
    struct rig *rig = open_rig();
    char first[ID_MAX], second[ID_MAX];
    take(rig, two, "a", "1", first);
    rig->now_ns += 4 * SECOND_NS;
    take(rig, two, "a", "1", second);
    assert_string_not_equal(first, second);
    assert_false(passes(rig, two, "a"));
    has(RIG_SAY(rig, "WEIR.TAKE", two, "a"),
        "deny\r\n:0\r\n:0\r\n:0\r\n:6000000000\r\n:10000000000\r\n$-1\r\n:0\r\n$-1");
    SAYS(rig, ":1\r\n", "WEIR.RENEW", two, "a", first); /* until 14 s; the other, too */
    SAYS(rig, ":0\r\n", "WEIR.RENEW", two, "b", first);
    rig->now_ns += 9 * SECOND_NS;
    assert_false(passes(rig, two, "a"));
    rig->now_ns += SECOND_NS;
    assert_true(passes(rig, two, "a"));
    SAYS(rig, ":0\r\n", "WEIR.RENEW", two, "a", first); /* its lease is over: nothing comes back to life */
    take(rig, two, "a", "2", first);
    SAYS(rig, ":0\r\n", "WEIR.RELEASE", two, "a", second);
    assert_false(passes(rig, two, "a"));
    SAYS(rig, ":1\r\n", "WEIR.RELEASE", two, "a", first); /* both */
    SAYS(rig, ":0\r\n", "WEIR.RELEASE", two, "a", first);
    take(rig, two, "a", "2", first);
    rig_close(rig);
}

/* Who takes nothing has no id: the last one that was given is somebody else's. */
static void no_id(void **state)
{
    static const char list[] = "2 concurrent lease=10s; 10/s";
    (void)state;
    struct rig *rig = open_rig();
    char id[ID_MAX], none[ID_MAX];
    take(rig, "2 concurrent lease=10s", "a", "2", id);
    assert_string_not_equal(id, "");
    take(rig, "2 concurrent lease=10s", "a", "0", none);
    assert_string_equal(none, "");
    id_in(RIG_SAY(rig, "WEIR.CHARGE", "2 concurrent lease=10s", "a", "1"), none);
    assert_string_equal(none, "");
    id_in(RIG_SAY(rig, "WEIR.TAKE", "2 concurrent lease=10s", "b", "PEEK"), none);
    assert_string_equal(none, "");
    id_in(RIG_SAY(rig, "WEIR.TAKE", list, "b", "COST", "0", "1"), none);
    assert_string_equal(none, "");
    id_in(RIG_SAY(rig, "WEIR.TAKE", list, "b", "COST", "1", "0"), id);
    SAYS(rig, ":1\r\n", "WEIR.RELEASE", list, "b", id);
    id_in(RIG_SAY(rig, "WEIR.CHARGE", list, "b", "3", "0"), id); /* as many as are free */
    SAYS(rig, ":1\r\n", "WEIR.RELEASE", list, "b", id);
    assert_true(passes(rig, list, "b"));
    rig_close(rig);
}

/* Refused by one, charged to none. */
static void with_a_rate(void **state)
{
    static const char list[] = "1 concurrent lease=10s; 2/h";
    (void)state;
    struct rig *rig = open_rig();
    char id[ID_MAX];
    id_in(RIG_SAY(rig, "WEIR.TAKE", list, "a"), id);
    has(RIG_SAY(rig, "WEIR.TAKE", list, "a"), "deny\r\n:0\r\n");
    SAYS(rig, ":1\r\n", "WEIR.RELEASE", list, "a", id);
    id_in(RIG_SAY(rig, "WEIR.TAKE", list, "a"), id);
    SAYS(rig, ":1\r\n", "WEIR.RELEASE", list, "a", id);
    has(RIG_SAY(rig, "WEIR.TAKE", list, "a"), "deny\r\n:1\r\n");          /* a release gives no rate back */
    has(RIG_SAY(rig, "WEIR.TAKE", list, "a", "COST", "1", "0"), "allow"); /* nor was a slot kept */
    rig_close(rig);
}

/* All that is sent at once is done in its order. */
static void in_order(void **state)
{
    char sent[512], id[ID_MAX];
    (void)state;
    struct rig *rig = open_rig();
    SAYS(rig, "+OK\r\n", "WEIR.LIMIT", "SET", "one", "1 concurrent lease=10s");
    take(rig, "one", "a", "1", id);
    snprintf(
        sent, sizeof sent,
        "WEIR.TAKE one a\r\nWEIR.RELEASE one a %s\r\nWEIR.TAKE one a\r\nWEIR.RENEW one a %s\r\nWEIR.TAKE one a\r\n", id,
        id);
    const char *answer = rig_send(rig, sent);
    const char *denied = strstr(answer, "deny"), *released = strstr(answer, ":1\r\n*9"),
               *taken = strstr(answer, "allow");
    assert_true(denied != NULL && released > denied && taken > released);
    const char *stale = strstr(taken, ":0\r\n*9\r\n$4\r\ndeny");
    assert_non_null(stale);
    rig_close(rig);
}

static void what_a_receipt_gives_back(void **state)
{
    char *end, receipt[2048];
    (void)state;
    needs_receipts("unit/held: what_a_receipt_gives_back");
    struct rig *rig = open_rig();
    const char *answer = RIG_SAY(rig, "WEIR.TAKE", "3 concurrent lease=10s", "a", "COST", "3");
    char id[ID_MAX];
    id_in(answer, id);
    const char *at = strstr(answer, "\r\nw2");
    assert_non_null(at);
    snprintf(receipt, sizeof receipt, "%s", at + 2);
    end = strchr(receipt, '\r');
    *end = '\0';
    SAYS(rig, ":1\r\n", "WEIR.SETTLE", receipt, "1");
    has(RIG_SAY(rig, "WEIR.TAKE", "3 concurrent lease=10s", "a", "COST", "0"), "allow\r\n:0\r\n:2\r\n");
    SAYS(rig, ":1\r\n", "WEIR.RENEW", "3 concurrent lease=10s", "a", id);
    SAYS(rig, ":1\r\n", "WEIR.RELEASE", "3 concurrent lease=10s", "a", id);
    has(RIG_SAY(rig, "WEIR.TAKE", "3 concurrent lease=10s", "a", "COST", "0"), "allow\r\n:0\r\n:3\r\n");
    rig_close(rig);
}

static void shadow_holds_nothing(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    SAYS(rig, "+OK\r\n", "WEIR.LIMIT", "SET", "one", "1 concurrent lease=10s");
    struct policy *policy = service_policy(&rig->service);
    policy->limit[0].shadow = true;
    service_release(&rig->service, policy);
    char id[ID_MAX];
    take(rig, "one", "a", "1", id);
    assert_string_not_equal(id, "");
    take(rig, "one", "a", "1", id); /* would have been refused */
    assert_string_equal(id, "");
    rig_close(rig);
}

static void over_http(void **state)
{
    char form[256];
    (void)state;
    struct rig *rig = open_rig();
    SAYS(rig, "+OK\r\n", "WEIR.LIMIT", "SET", "api", "2 concurrent lease=10s");
    const char *answer = post(rig, "/v1/take", "limit=api&key=a");
    has(answer, "\r\nRateLimit-Policy: \"api\";q=2;qu=\"concurrent-requests\"\r\nRateLimit: \"api\";r=1\r\n");
    const char *id = strstr(answer, "\"id\":\"");
    assert_non_null(id);
    snprintf(form, sizeof form, "limit=api&key=a&id=%.*s", (int)strspn(id + 6, "0123456789"), id + 6);
    answer = post(rig, "/v1/take", "limit=api&key=a");
    has(answer, "RateLimit: \"api\";r=0\r\n");
    rig->now_ns += 7 * SECOND_NS;
    has(post(rig, "/v1/renew", form), "\r\n\r\n{\"renewed\":true}\n");
    answer = post(rig, "/v1/take", "limit=api&key=a");
    has(answer, "HTTP/1.1 429 ");
    has(answer, "RateLimit: \"api\";r=0;t=3\r\n");
    assert_null(strstr(answer, "\"id\""));
    has(post(rig, "/v1/release", form), "\r\n\r\n{\"released\":true}\n");
    has(post(rig, "/v1/release", form), "\r\n\r\n{\"released\":false}\n");
    has(post(rig, "/v1/renew", form), "\r\n\r\n{\"renewed\":false}\n");
    rig_close(rig);
}

static void of_jobs(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    const char *answer = post(rig, "/v1/take", "limit=8%20concurrent%20jobs%20lease%3D1h%3B%2010%2Fs&key=a");
    has(answer, "RateLimit-Policy: \"default-1\";q=8;qu=\"concurrent-jobs\", \"default-2\";q=10;w=1\r\n");
    has(answer, "RateLimit: \"default-1\";r=7, \"default-2\";r=9;t=1\r\n");
    rig_close(rig);
}

/* A proxy never says that a request has ended; 400 lets nobody in. */
static void no_proxy(void **state)
{
    (void)state;
    struct rig *rig = open_rig();
    SAYS(rig, "+OK\r\n", "WEIR.LIMIT", "SET", "api", "10/s; 2 concurrent lease=10s");
    const char *answer = rig_send_bytes(
        rig, OVER_HTTP, slice_of("GET /auth?limit=api&key=a&status=403 HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    has(answer, "HTTP/1.1 400 ");
    has(answer, "{\"error\":\"expected a limit that is not concurrent: a proxy does not say when a request ends");
    has(RIG_SAY(rig, "WEIR.TAKE", "api", "a", "COST", "0"), "allow\r\n:1\r\n:2\r\n");
    rig_close(rig);
}

static void mistakes(void **state)
{
    static const char nothing[] =
        "-ERR nothing is held under this limit: it is not concurrent; for example 20 concurrent lease=30s\r\n";
    (void)state;
    struct rig *rig = open_rig();
    SAYS(rig, nothing, "WEIR.RENEW", "10/s", "a", "1");
    SAYS(rig, nothing, "WEIR.RELEASE", "2/h algorithm=sliding-log", "a", "1");
    SAYS(rig, "-ERR expected the id that WEIR.TAKE gave, its ninth, not \"-1\"\r\n", "WEIR.RELEASE",
         "1 concurrent lease=1s", "a", "-1");
    SAYS(rig, ":0\r\n", "WEIR.RELEASE", "1 concurrent lease=1s", "a", "18446744073709551615");
    SAYS(rig,
         "-NOLIMIT there is no limit called api; define it in weir.yaml or by WEIR.LIMIT SET api '10/s', or give a "
         "text such as 10/s\r\n",
         "WEIR.RENEW", "api", "a", "1");
    SAYS(rig,
         "-ERR wrong number of arguments for 'weir.renew' command: expected WEIR.RENEW limit key id; for example "
         "WEIR.RENEW '20 concurrent lease=30s' user:42 ID\r\n",
         "WEIR.RENEW", "1 concurrent lease=1s", "a");
    has(post(rig, "/v1/release", "limit=10/s&key=a&id=1"), "\"field\":\"limit\"");
    has(post(rig, "/v1/release", "limit=1%20concurrent%20lease%3D1s&key=a&id=x"),
        "{\"error\":\"expected the id of a response of /v1/take, a string of digits\",\"field\":\"id\"}");
    has(post(rig, "/v1/release", "limit=1%20concurrent%20lease%3D1s&key=a"), "\"field\":\"id\"");
    has(post(rig, "/v1/renew", "limit=1%20concurrent%20lease%3D1s&key=a&id=1&cost=1"),
        "unknown field \\\"cost\\\": expected limit, key, id");
    SAYS(rig,
         "-BADLIMIT a concurrent limit in a client's text has at most 2000 slots; give the limit a name in weir.yaml, "
         "for up to 8000\r\n",
         "WEIR.TAKE", "2001 concurrent lease=1s", "a");
    has(RIG_SAY(rig, "WEIR.LIMIT", "SET", "api", "8001 concurrent lease=1s"),
        "-BADLIMIT a concurrent limit has at most 8000 slots in this process");
    SAYS(rig, "+OK\r\n", "WEIR.LIMIT", "SET", "api", "8000 concurrent lease=1s");
    rig_close(rig);
}

static void counted(void **state)
{
    char id[ID_MAX];
    (void)state;
    struct rig *rig = open_rig();
    SAYS(rig, "+OK\r\n", "WEIR.LIMIT", "SET", "all", "3 concurrent lease=10s");
    SAYS(rig, "+OK\r\n", "WEIR.LIMIT", "SET", "each", "3 concurrent lease=10s");
    SAYS(rig, "+OK\r\n", "WEIR.LIMIT", "SET", "rate", "10/s");
    struct policy *policy = service_policy(&rig->service);
    policy->limit[0].common = true;
    service_release(&rig->service, policy);
    take(rig, "all", "a", "2", id);
    take(rig, "all", "b", "1", id);
    SAYS(rig, ":1\r\n", "WEIR.RENEW", "all", "c", id);
    SAYS(rig, ":0\r\n", "WEIR.RENEW", "each", "c", id);
    const char *answer = rig_send_bytes(rig, OVER_HTTP, slice_of("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    has(answer, "\nweir_concurrent_held{limit=\"all\"} 3\n");
    has(answer, "\nweir_concurrent_renewals_total{limit=\"all\"} 1\n");
    has(answer, "\nweir_concurrent_releases_total{limit=\"all\"} 0\n");
    has(answer, "\nweir_concurrent_stale_total{limit=\"each\"} 1\n");
    assert_null(strstr(answer, "weir_concurrent_held{limit=\"each\"}"));
    assert_null(strstr(answer, "weir_concurrent_stale_total{limit=\"rate\"}"));
    SAYS(rig, ":1\r\n", "WEIR.RELEASE", "all", "a", id);
    rig->now_ns += 3 * SECOND_NS;
    series_sample(&rig->service);
    answer = rig_send_bytes(rig, OVER_HTTP, slice_of("GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    has(answer, "\"held\":2,\"renewals\":1,\"releases\":1,\"stale\":0}");
    has(answer, "\"renewals\":0,\"releases\":0,\"stale\":1}");
    rig_close(rig);
}

/* A limit that becomes another one: what is held stays held, with its ids. */
static void changed(void **state)
{
    char first[ID_MAX], second[ID_MAX];
    (void)state;
    struct rig *rig = open_rig();
    /* Their states are in one table, of states up to 128 bytes. */
    SAYS(rig, "+OK\r\n", "WEIR.LIMIT", "SET", "api", "4 concurrent lease=10s");
    take(rig, "api", "a", "2", first);
    take(rig, "api", "a", "1", second);
    SAYS(rig, "+OK\r\n", "WEIR.LIMIT", "SET", "api", "3 concurrent lease=20s");
    assert_false(passes(rig, "api", "a"));
    SAYS(rig, ":1\r\n", "WEIR.RELEASE", "api", "a", first);
    SAYS(rig, ":1\r\n", "WEIR.RENEW", "api", "a", second);
    rig->now_ns += 15 * SECOND_NS;
    has(RIG_SAY(rig, "WEIR.TAKE", "api", "a", "COST", "0"), "allow\r\n:0\r\n:2\r\n");
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renewed_and_released),
        cmocka_unit_test(no_id),
        cmocka_unit_test(with_a_rate),
        cmocka_unit_test(in_order),
        cmocka_unit_test(shadow_holds_nothing),
        cmocka_unit_test(what_a_receipt_gives_back),
        cmocka_unit_test(over_http),
        cmocka_unit_test(of_jobs),
        cmocka_unit_test(no_proxy),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(changed),
        cmocka_unit_test(counted),
    };
    return cmocka_run_group_tests_name("unit/held", tests, NULL, NULL);
}
