/* SPDX-License-Identifier: MIT
   Who may come in over HTTP: Host, Origin, password; and what browsers are told of the page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/protocols.h"
#include "unit/http_client.h"
#include "unit/plans.h"

static int status_of(struct client *client, const char *path, const char *headers)
{
    return client_status(client_ask(client, "GET %s HTTP/1.1\r\n%s\r\n", path, headers));
}

struct row {
    const char *headers;
    int status;
};

static void check_rows(struct client *client, const char *path, const struct row rows[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int status = status_of(client, path, rows[i].headers);
        if (status != rows[i].status) fail_msg("%s: %s: %d, not %d", path, rows[i].headers, status, rows[i].status);
        client_reconnect(client);
    }
}

/* ---- Host ---- */

static void hosts(void **state)
{
    (void)state;
    static const char *const names[] = {"weir.example", "Weir"};
    static const struct row rows[] = {
        {"Host: localhost\r\n", 200},
        {"Host: LocalHost:9348\r\n", 200},
        {"Host: 127.0.0.1\r\n", 200},
        {"Host: 127.0.0.1:9348\r\n", 200},
        {"Host: 192.0.2.7\r\n", 200},
        {"Host: [::1]:9348\r\n", 200},
        {"Host: [2001:db8::1]\r\n", 200},
        {"Host: weir.example\r\n", 200},
        {"Host: WEIR.example:80\r\n", 200},
        {"Host: weir\r\n", 200},
        {"Host: evil.example\r\n", 421},
        {"Host: localhost.evil.example\r\n", 421},
        {"Host: 127.0.0.1.evil.de\r\n", 421},
        {"Host: [::1].evil.example\r\n", 421},
        {"Host: [evil]\r\n", 421},
        {"Host: xlocalhost\r\n", 421},
        {"Host: weir.example.\r\n", 421},
        {"Host: weir.exampl\r\n", 421},
        {"Host: \r\n", 421},
        {"Host: :9348\r\n", 421},
        {"Host: localhost:a\r\n", 421},
    };
    static const char *const paths[] = {"/healthz", "/v1/limits", "/metrics", "/", "/auth?limit=9/s&key=a"};
    struct client *client = client_open();
    client->service.hosts = names;
    client->service.host_count = LENGTH(names);
    check_rows(client, "/healthz", rows, LENGTH(rows));
    for (size_t i = 0; i < LENGTH(paths); i++) {
        assert_int_equal(status_of(client, paths[i], "Host: evil.example\r\n"), 421);
        assert_non_null(strstr(client->answers, "\"field\":\"Host\""));
    }
    client->session.local = true;
    assert_int_equal(status_of(client, "/healthz", "Host: evil.example\r\n"), 200);
    assert_int_equal(client_status(client_ask(client, "GET /healthz HTTP/1.0\r\n\r\n")), 200); /* no browser's */
    client_close(client);
}

/* ---- Origin ---- */

#define LOCAL "Host: localhost:9348\r\n"

static void origins(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {LOCAL, 200},
        {LOCAL "Origin: http://localhost:9348\r\n", 200},
        {LOCAL "Origin: HTTPS://LOCALHOST:9348\r\n", 200},
        {LOCAL "Origin: http://localhost:9348\r\nSec-Fetch-Site: same-origin\r\n", 200},
        {LOCAL "Sec-Fetch-Site: none\r\n", 200},
        {LOCAL "Origin: http://localhost:3000\r\nSec-Fetch-Site: same-site\r\n", 403},
        {LOCAL "Origin: http://localhost\r\n", 403},
        {LOCAL "Origin: https://evil.example\r\n", 403},
        {LOCAL "Origin: https://localhost:9348.evil.example\r\n", 403},
        {LOCAL "Origin: null\r\n", 403},
        {LOCAL "Origin: \r\n", 403},
        {LOCAL "Sec-Fetch-Site: cross-site\r\n", 403},
        {LOCAL "Origin: http://localhost:9348\r\nSec-Fetch-Site: cross-site\r\n", 403},
        {LOCAL "Origin: http://localhost:9348\r\nOrigin: http://evil.example\r\n", 403},
        {LOCAL "Origin: http://evil.example\r\nOrigin: http://localhost:9348\r\n", 403},
    };
    struct client *client = client_open();
    check_rows(client, "/v1/limits", rows, LENGTH(rows));
    for (size_t i = 0; i < LENGTH(rows); i++) {
        /* A proxy's client has an Origin of his own. */
        char headers[256];
        snprintf(headers, sizeof headers, "X-Forwarded-Method: GET\r\n%s", rows[i].headers);
        assert_int_equal(status_of(client, "/auth?limit=100/s&key=a", headers), 200);
    }
    const char *answer = client_ask(client, "POST /v1/forget HTTP/1.1\r\n" LOCAL
                                            "Origin: https://evil.example\r\nContent-Type: text/plain\r\n"
                                            "Content-Length: 0\r\n\r\n");
    assert_int_equal(client_status(answer), 403);
    client_close(client);
}

/* ---- password ---- */

/* printf any:s3cret:x | base64 */
#define BASIC "YW55OnMzY3JldDp4"

static void passwords(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {LOCAL, 401},
        {LOCAL "Authorization: Bearer s3cret:x\r\n", 200},
        {LOCAL "authorization: bearer  s3cret:x\r\n", 200},
        {LOCAL "Authorization: Basic " BASIC "\r\n", 200},
        {LOCAL "Authorization: basic " BASIC "==\r\n", 200},
        {LOCAL "X-Weir-Password: s3cret:x\r\n", 200},
        {LOCAL "X-Weir-Password: s3cret:x\r\nAuthorization: Bearer its-clients\r\n", 200},
        {LOCAL "X-Weir-Password: wrong\r\nAuthorization: Bearer s3cret:x\r\n", 401},
        {LOCAL "X-Weir-Password: s3cret:x\r\nX-Weir-Password: s3cret:x\r\n", 401},
        {LOCAL "X-Weir-Password: \r\n", 401},
        {LOCAL "Authorization: Bearer s3cret\r\n", 401},
        {LOCAL "Authorization: Bearer s3cret:xx\r\n", 401},
        {LOCAL "Authorization: Bearer S3cret:x\r\n", 401},
        {LOCAL "Authorization: Bearer \r\n", 401},
        {LOCAL "Authorization: Bearer\r\n", 401},
        {LOCAL "Authorization: Basic\r\n", 401},
        {LOCAL "Authorization: Basic !\r\n", 401},
        {LOCAL "Authorization: Basic YW55\r\n", 401}, /* "any" */
        {LOCAL "Authorization: s3cret:x\r\n", 401},
        {LOCAL "Authorization: Bearer s3cret:x\r\nAuthorization: Bearer s3cret:x\r\n", 401},
    };
    static const char *const asked[] = {"/v1/limits", "/v1/stats", "/v1/top", "/metrics", "/"};
    struct client *client = client_open();
    char value[2048], basic[4096];
    service_allow(&client->service, &(struct access){.password = {.text = {"new", "s3cret:x"}}});
    client_reconnect(client);
    assert_int_equal(status_of(client, "/v1/limits", LOCAL "Authorization: Bearer new\r\n"), 200);
    check_rows(client, "/v1/limits", rows, LENGTH(rows));
    for (size_t i = 0; i < LENGTH(asked); i++) {
        assert_int_equal(status_of(client, asked[i], LOCAL), 401);
        assert_string_equal(client_header(client->answers, "WWW-Authenticate", value),
                            "Basic realm=\"weir\", charset=\"UTF-8\"");
    }
    assert_int_equal(status_of(client, "/healthz", LOCAL), 200);
    assert_int_equal(status_of(client, "/readyz", LOCAL), 200);
    /* Once given it has to be given again: a proxy's connection serves many. */
    assert_int_equal(status_of(client, "/v1/limits", LOCAL "Authorization: Bearer s3cret:x\r\n"), 200);
    assert_int_equal(status_of(client, "/v1/limits", LOCAL), 401);
    snprintf(basic, sizeof basic, LOCAL "Authorization: Basic %02000d\r\n", 0);
    assert_int_equal(status_of(client, "/v1/limits", basic), 401);
    /* A proxy's client is not asked for the service's password. */
    assert_int_equal(status_of(client, "/auth?limit=9/s&key=a", LOCAL "X-Forwarded-Method: GET\r\n"), 400);
    assert_int_equal(status_of(client, "/auth?limit=9/s&key=a", LOCAL "X-Weir-Password: s3cret:x\r\n"), 200);
    client_close(client);
}

/* ---- the admin's password ---- */

static void check_changes(struct client *client, const char *headers, int status, const char *words)
{
    static const char *const changes[] = {
        "POST /v1/limits HTTP/1.1\r\n%s%sContent-Length: 18\r\n\r\nname=api&limit=1/h",
        "POST /v1/forget HTTP/1.1\r\n%s%sContent-Length: 15\r\n\r\nlimit=api&key=a",
        "DELETE /v1/limits/api HTTP/1.1\r\n%s%sContent-Length: 0\r\n\r\n"};
    for (size_t i = 0; i < LENGTH(changes); i++) {
        const char *answer =
            client_ask(client, changes[i], headers, LOCAL "Content-Type: application/x-www-form-urlencoded\r\n");
        if (client_status(answer) != status || strstr(answer, words) == NULL) {
            fail_msg("%s%s: %d with %s expected, but got %s", changes[i], headers, status, words, answer);
        }
    }
}

static void admins(void **state)
{
    (void)state;
    struct client *client = client_open();
    check_changes(client, "", 200, "");
    client->session.remote = true;
    check_changes(client, "", 403, "admin_password in weir.yaml");
    client->session.local = true;
    check_changes(client, "", 200, "");
    service_allow(&client->service, &(struct access){.password = {.text = {"p"}}});
    client_reconnect(client);
    check_changes(client, "Authorization: Bearer p\r\n", 403, "admin_password in weir.yaml");
    service_allow(&client->service, &(struct access){.password = {.text = {"p"}}, .admin = {.text = {"new", "old"}}});
    check_changes(client, "Authorization: Bearer p\r\n", 401, "admin's password");
    check_changes(client, "Authorization: Bearer new\r\n", 200, "");
    check_changes(client, "X-Weir-Password: old\r\n", 200, "");
    check_changes(client, "", 401, "");
    service_allow(&client->service, &(struct access){.admin = {.text = {"a"}}});
    check_changes(client, "", 401, "admin's password");
    check_changes(client, "Authorization: Basic eDph\r\n", 200, ""); /* x:a */
    assert_int_equal(status_of(client, "/v1/limits", LOCAL), 200);
    client_close(client);
}

static void no_texts(void **state)
{
    (void)state;
    struct client *client = client_open();
    client_define(client, "api", "5/h", "", false);
    service_allow(&client->service, &(struct access){.texts = ACCESS_TEXTS_PUBLIC});
    assert_int_equal(client_status(client_form(client, "/v1/take", "limit=api&key=a")), 200);
    const char *answer = client_form(client, "/v1/take", "limit=5/h&key=a");
    assert_int_equal(client_status(answer), 403);
    assert_non_null(strstr(answer, "texts: on in weir.yaml"));
    /* nginx would tell its client 403. */
    assert_int_equal(status_of(client, "/auth?limit=5/h&key=a", LOCAL "X-Weir-Proxy: 1\r\n"), 400);
    client_close(client);
}

/* Before the password a request that is not whole has its head and a little more. */
static void short_before_password(void **state)
{
    (void)state;
    static char bytes[25 << 10];
    struct client *client = client_open();
    memset(bytes, 'x', sizeof bytes);
    const int head = sprintf(bytes, "POST /v1/take HTTP/1.1\r\n" LOCAL "Content-Length: 60000\r\n\r\n");
    bytes[head] = 'x';
    service_allow(&client->service, &(struct access){.password = {.text = {"p"}}});
    assert_int_equal(client_send(client, bytes, 24 << 10), 0);
    assert_false(client->session.closing);
    client->size = 0;
    client_send(client, bytes, (24 << 10) + 1);
    assert_true(client->session.closing);
    assert_int_equal(client_status(client->answers), 413);
    client_reconnect(client);
    assert_int_equal(status_of(client, "/v1/limits", LOCAL "Authorization: Bearer p\r\n"), 200);
    client_send(client, bytes, (24 << 10) + 1);
    assert_false(client->session.closing);
    client_close(client);
}

/* ---- the page ---- */

static void page(void **state)
{
    (void)state;
    struct client *client = client_open();
    char value[2048];
    const char *answer = client_get(client, "/");
    assert_int_equal(client_status(answer), 200);
    assert_memory_equal(client_header(answer, "Content-Type", value), "text/html", 9);
    assert_string_equal(client_header(answer, "X-Content-Type-Options", value), "nosniff");
    assert_string_equal(client_header(answer, "X-Frame-Options", value), "DENY");
    assert_non_null(strstr(answer, "Content-Security-Policy: frame-ancestors 'none'\r\n"));
    assert_non_null(strstr(client_header(answer, "Content-Security-Policy", value), "default-src"));
    assert_string_equal(client_header(answer, "Cache-Control", value), "no-store");
    assert_string_not_equal(client_body(answer), "");
    assert_int_equal(status_of(client, "/index.html/", LOCAL), 404);
    client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts),  cmocka_unit_test(origins),  cmocka_unit_test(passwords),
        cmocka_unit_test(admins), cmocka_unit_test(no_texts), cmocka_unit_test(short_before_password),
        cmocka_unit_test(page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
