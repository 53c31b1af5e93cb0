/* SPDX-License-Identifier: MIT
   Requests as they come, what two readers may take in two ways, and answers byte by byte.

   Each limit is met from both sides. */
#include "format/http.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(literal)                                                                                                 \
    {                                                                                                                  \
        literal, sizeof(literal) - 1                                                                                   \
    }
#define SLICE(literal) ((struct slice)BYTES(literal))

static enum http_result read_of(struct slice bytes, struct http_request *request, unsigned *status)
{
    struct http_problem problem = {0, NULL};
    const enum http_result result = http_read(bytes, request, &problem);
    *status = problem.status;
    assert_int_equal(problem.words != NULL, result == HTTP_BAD);
    return result;
}

static void assert_text(struct slice slice, const char *expected)
{
    assert_int_equal(slice.size, strlen(expected));
    assert_memory_equal(slice.bytes, expected, slice.size);
}

static const struct {
    struct slice bytes;
    enum http_method method;
    const char *path, *query, *body;
    bool keep_alive;
    size_t behind;
} requests[] = {
    {BYTES("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), HTTP_IS_GET, "/", "", "", true, 0},
    {BYTES("GET /?a=b?c HTTP/1.1\r\nHost: a\r\n\r\nGET"), HTTP_IS_GET, "/", "a=b?c", "", true, 3},
    {BYTES("\r\n\r\nHEAD /a%20b HTTP/1.1\r\nHost:\r\n\r\n"), HTTP_IS_HEAD, "/a%20b", "", "", true, 0},
    {BYTES("POST /v1 HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\na\r\nG"), HTTP_IS_POST, "/v1", "", "a\r\n", true,
     1},
    {BYTES("POST /v1 HTTP/1.1\r\nhost: a\r\nContent-Length: 0 \r\n\r\n"), HTTP_IS_POST, "/v1", "", "", true, 0},
    {BYTES("POST /v1 HTTP/1.1\r\nhost: a\r\n\r\n\r\n"), HTTP_IS_POST, "/v1", "", "", true, 2},
    {BYTES("PUT /v1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), HTTP_IS_PUT, "/v1", "", "", false, 0},
    {BYTES("DELETE /v1 HTTP/1.0\r\n\r\n"), HTTP_IS_DELETE, "/v1", "", "", false, 0},
    {BYTES("GET /v1 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), HTTP_IS_GET, "/v1", "", "", true, 0},
    {BYTES("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), HTTP_OTHER_METHOD, "*", "", "", true, 0},
    {BYTES("PATCH /a HTTP/1.1\r\nHost: a\r\n\r\n"), HTTP_OTHER_METHOD, "/a", "", "", true, 0},
    {BYTES("GET http://A:1/b?c HTTP/1.1\r\nHost: a:1\r\n\r\n"), HTTP_IS_GET, "/b", "c", "", true, 0},
    {BYTES("GET HTTPS://a?c HTTP/1.1\r\nHost: a\r\n\r\n"), HTTP_IS_GET, "/", "c", "", true, 0},
    {BYTES("GET http://a HTTP/1.0\r\n\r\n"), HTTP_IS_GET, "/", "", "", false, 0},
    {BYTES("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nx"), HTTP_IS_GET, "/ws", "",
     "", true, 1},
    {BYTES("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nx"), HTTP_IS_PUT, "/", "",
     "x", true, 0},
    {BYTES("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"), HTTP_IS_PUT, "/", "", "", true, 0},
};

static void reads_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct http_request request;
        unsigned status;
        if (read_of(requests[i].bytes, &request, &status) != HTTP_REQUEST)
            fail_msg("%u for %s", status, requests[i].bytes.bytes);
        assert_int_equal(request.method, requests[i].method);
        assert_text(request.path, requests[i].path);
        assert_text(request.query, requests[i].query);
        assert_text(request.body, requests[i].body);
        assert_int_equal(request.keep_alive, requests[i].keep_alive);
        assert_int_equal(request.size, requests[i].bytes.size - requests[i].behind);
    }
}

#define GET "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"

static const struct {
    struct slice bytes;
    unsigned status;
} refused[] = {
    {BYTES("\x16\x03\x01"), 400},
    {BYTES("get / HTTP/1.1\r\n"), 400},
    {BYTES("\n"), 400},
    {BYTES("\rG"), 400},
    {BYTES("\r\n\nGET"), 400},
    {BYTES("GRAB / HTTP/1.1\r\n"), 501},
    {BYTES("GRAB / HTTP/1.1\r\nHost: a\r\n\r\n"), 501},
    {BYTES("PRI * HTTP/2.0\r\n\r\n"), 501},
    {BYTES("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"), 501},
    {BYTES("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505},
    {BYTES("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), 505},
    {BYTES("GET / HTTP/1.1x"), 505},
    {BYTES("GET /\r\n\r\n"), 505},
    {BYTES("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {BYTES("GET /  HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {BYTES("GET a HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {BYTES("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {BYTES("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {BYTES("GET http://a@b/ HTTP/1.1\r\nHost: b\r\n\r\n"), 400},
    {BYTES("GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {BYTES("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {BYTES("GET /\xC3\xA9 HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
    {BYTES("GET / HTTP/1.1\nHost: a\r\n\r\n"), 400},
    {BYTES("GET / HTTP/1.1\r\nHost: a\n\r\n"), 400},
    {BYTES(GET "\n"), 400},
    {BYTES(GET "\rx"), 400},
    {BYTES(GET "A:\rx\r\n\r\n"), 400},
    {BYTES(GET "A: b\rc\r\n\r\n"), 400},
    {BYTES(GET "A: b\r\n c\r\n\r\n"), 400},
    {BYTES(GET "A:\r\n\tc\r\n\r\n"), 400},
    {BYTES("GET / HTTP/1.1\r\n A: b\r\nHost: a\r\n\r\n"), 400},
    {BYTES(GET "A : b\r\n\r\n"), 400},
    {BYTES(GET ": b\r\n\r\n"), 400},
    {BYTES(GET "A: \0b\r\n\r\n"), 400},
    {BYTES(GET "A: b\0\r\n\r\n"), 400},
    {BYTES(GET "A: b\x7F\r\n\r\n"), 400},
    {BYTES(GET "A: longer than a word\x7F, and on both sides\r\n\r\n"), 400},
    {BYTES("GET / HTTP/1.1\r\n\r\n"), 400},
    {BYTES(GET "hOST: a\r\n\r\n"), 400},
    {BYTES("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), 400},
    {BYTES(POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"), 400},
    {BYTES(POST "Content-Length: 1, 1\r\n\r\n"), 400},
    {BYTES(POST "Content-Length: +1\r\n\r\n"), 400},
    {BYTES(POST "Content-Length: 0x1\r\n\r\n"), 400},
    {BYTES(POST "Content-Length: :\r\n\r\n0123456789"), 400},
    {BYTES(POST "Content-Length: \r\n\r\n"), 400},
    {BYTES(POST "Content-Length:\r\n\r\n"), 400},
    {BYTES(POST "Content-Length: 18446744073709551617\r\n\r\n"), 400},
    {BYTES(POST "Content-Length: 18446744073709551615\r\n\r\n"), 400},
    {BYTES(POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
    {BYTES(POST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"), 400},
    {BYTES(POST "Transfer-Encoding: chunked\r\n\r\n"), 411},
    {BYTES(POST "transfer-encoding: gzip\r\n\r\n"), 411},
    {BYTES(POST "Content-Length: 65537\r\n\r\n"), 413},
    {BYTES(POST "Expect: cake\r\n\r\n"), 417},
};

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct http_request request;
        unsigned status;
        if (read_of(refused[i].bytes, &request, &status) != HTTP_BAD || status != refused[i].status)
            fail_msg("%u for %s", status, refused[i].bytes.bytes);
    }
}

/* What nearly all requests are does not wait for http_parser. */
static void plain_ones(void **state)
{
    (void)state;
    static const char *const plain[] = {GET "\r\n", "HEAD /a?b HTTP/1.1\r\nHost: a\r\n\r\n",
                                        POST "Content-Length: 10\r\n\r\n0123456789"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        struct http_request request;
        assert_true(http_read_plain(slice_of(plain[i]), &request));
        assert_int_equal(request.size, strlen(plain[i]));
    }
}

static void waits(void **state)
{
    (void)state;
    static const char *const starts[] = {"",
                                         "\r",
                                         "\r\n",
                                         "G",
                                         "GET /",
                                         "GET / HTTP/1.1\r\nHost: a\r\n\r",
                                         POST "Content-Length: 65536\r\n\r\n",
                                         POST "Content-Length: 2\r\n\r\na"};
    struct http_request request;
    unsigned status;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        assert_int_equal(read_of(slice_of(starts[i]), &request, &status), HTTP_MORE);
}

static void continues(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        enum http_result result;
    } rows[] = {{POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", HTTP_CONTINUE},
                {POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r", HTTP_MORE},
                {POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\na", HTTP_MORE},
                {POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab", HTTP_REQUEST},
                {POST "Expect: 100-continue\r\nContent-Length: 65537\r\n\r\n", HTTP_BAD},
                {"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", HTTP_MORE}};
    struct http_request request;
    unsigned status;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(read_of(slice_of(rows[i].bytes), &request, &status), rows[i].result);
}

static void headers(void **state)
{
    (void)state;
    struct http_request request;
    unsigned status, count;
    assert_int_equal(read_of(SLICE(GET "X-A:  b c\t \r\nx-a:d\r\nEmpty:\r\nX-A: \xE9\r\n\r\n"), &request, &status),
                     HTTP_REQUEST);
    assert_int_equal(request.header_count, 5);
    assert_text(http_header(&request, "x-A", &count), "b c");
    assert_int_equal(count, 3);
    assert_text(request.header[4].value, "\xE9");
    assert_text(http_header(&request, "EMPTY", &count), "");
    assert_int_equal(count, 1);
    assert_text(http_header(&request, "X", &count), "");
    assert_int_equal(count, 0);
}

/* RFC 9110, 5.6.2: the bytes of a token, and no other. */
static void names(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        struct http_request request;
        unsigned status;
        char text[] = "GET / HTTP/1.1\r\nHost: a\r\nX-: b\r\n\r\n";
        *strchr(text, '-') = (char)byte;
        const bool is_token = isalnum(byte) || (byte != 0 && strchr("!#$%&'*+-.^_`|~", byte) != NULL);
        const enum http_result result = read_of((struct slice){text, sizeof text - 1}, &request, &status);
        if (result != (is_token ? HTTP_REQUEST : HTTP_BAD) && byte != ':') fail_msg("a name with byte %d", byte);
    }
}

static void most_headers(void **state)
{
    (void)state;
    char text[2048];
    struct http_request request;
    unsigned status;
    struct bytes bytes = {.memory = text, .capacity = sizeof text};
    bytes_text(&bytes, GET);
    for (int i = 1; i < HTTP_HEADERS_MAX; i++) bytes_text(&bytes, "A: b\r\n");
    const size_t before = bytes.size;
    bytes_text(&bytes, "\r\n");
    assert_int_equal(read_of(bytes_slice(&bytes), &request, &status), HTTP_REQUEST);
    assert_int_equal(request.header_count, HTTP_HEADERS_MAX);
    bytes.size = before;
    bytes_byte(&bytes, 'A');
    assert_int_equal(read_of(bytes_slice(&bytes), &request, &status), HTTP_BAD);
    assert_int_equal(status, 431);
}

/* A head of `size` bytes whose target or header fills it. */
static struct slice long_head(char *memory, size_t size, bool in_target)
{
    static const char before[] = "GET /", between[] = " HTTP/1.0\r\nA: ", after[] = "\r\n\r\n";
    struct bytes bytes = {.memory = memory, .capacity = size};
    bytes_text(&bytes, before);
    if (!in_target) bytes_text(&bytes, between);
    const size_t rest = sizeof after - 1 + (in_target ? sizeof between - 1 : 0);
    while (bytes.size + rest < size) bytes_byte(&bytes, 'a');
    if (in_target) bytes_text(&bytes, between);
    bytes_text(&bytes, after);
    assert_int_equal(bytes.size, size);
    return bytes_slice(&bytes);
}

static void largest_head(void **state)
{
    (void)state;
    static char memory[HTTP_HEAD_MAX + 1];
    struct http_request request;
    unsigned status;
    for (int in_target = 0; in_target <= 1; in_target++) {
        struct slice head = long_head(memory, HTTP_HEAD_MAX, in_target);
        assert_int_equal(read_of(head, &request, &status), HTTP_REQUEST);
        head.size--;
        assert_int_equal(read_of(head, &request, &status), HTTP_MORE);
        head = long_head(memory, HTTP_HEAD_MAX + 1, in_target);
        assert_int_equal(read_of(head, &request, &status), HTTP_BAD);
        assert_int_equal(status, 431);
        head.size--;
        assert_int_equal(read_of(head, &request, &status), HTTP_BAD);
        head.size--;
        assert_int_equal(read_of(head, &request, &status), HTTP_MORE);
    }
    memset(memory + 5, 'a', HTTP_HEAD_MAX - 4);
    assert_int_equal(read_of((struct slice){memory, HTTP_HEAD_MAX}, &request, &status), HTTP_BAD);
    assert_int_equal(status, 414);
    for (size_t i = 0; i < sizeof memory; i++) memory[i] = i % 2 ? '\n' : '\r';
    assert_int_equal(read_of((struct slice){memory, HTTP_HEAD_MAX - 1}, &request, &status), HTTP_MORE);
    assert_int_equal(read_of((struct slice){memory, HTTP_HEAD_MAX}, &request, &status), HTTP_BAD);
}

static void answers(void **state)
{
    (void)state;
    static const char expected[] =
        "HTTP/1.1 429 Too Many Requests\r\nConnection: keep-alive\r\n"
        "Retry-After: 12\r\nA: b  c \r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno"
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: a/b\r\nContent-Length: 3\r\n\r\n"
        "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n"
        "HTTP/1.1 599 \r\nConnection: close\r\n\r\n"
        "HTTP/1.1 100 Continue\r\n\r\n";
    char memory[sizeof expected];
    struct bytes out = {.memory = memory, .capacity = sizeof memory};
    http_start(&out, 429, true);
    http_add_number(&out, "Retry-After", 12);
    http_add(&out, "A", SLICE("b\r\nc\0"));
    http_body(&out, "text/plain", SLICE("no"), false);
    http_start(&out, 200, false);
    http_body(&out, "a/b", SLICE("abc"), true);
    http_start(&out, 204, true);
    http_body(&out, NULL, SLICE(""), false);
    http_start(&out, 599, false);
    http_body(&out, NULL, SLICE("x"), false);
    http_continue(&out);
    assert_false(out.full);
    assert_int_equal(out.size, sizeof expected - 1);
    assert_memory_equal(memory, expected, out.size);
}

static void reasons(void **state)
{
    (void)state;
    static const unsigned statuses[] = {200, 204, 400, 401, 403, 404, 405, 411, 413, 414,
                                        415, 417, 421, 422, 429, 431, 500, 501, 503, 505};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        char memory[128] = "", begin[32];
        struct bytes out = {.memory = memory, .capacity = sizeof memory - 1};
        http_start(&out, statuses[i], true);
        const int size = snprintf(begin, sizeof begin, "HTTP/1.1 %u ", statuses[i]);
        assert_memory_equal(memory, begin, (size_t)size);
        assert_in_range(memory[size], 'A', 'Z');
    }
}

/* An answer cut off anywhere is known to be. */
static void answers_without_room(void **state)
{
    (void)state;
    char memory[512];
    for (size_t capacity = 0;; capacity++) {
        struct bytes out = {.memory = memory, .capacity = capacity};
        http_start(&out, 200, true);
        http_add(&out, "A", SLICE("b"));
        http_body(&out, "text/plain", SLICE("body"), false);
        assert_true(out.size <= capacity);
        if (!out.full) break;
        assert_in_range(capacity, 0, sizeof memory - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_requests), cmocka_unit_test(refuses),      cmocka_unit_test(plain_ones),
        cmocka_unit_test(waits),          cmocka_unit_test(continues),    cmocka_unit_test(headers),
        cmocka_unit_test(names),          cmocka_unit_test(most_headers), cmocka_unit_test(largest_head),
        cmocka_unit_test(answers),        cmocka_unit_test(reasons),      cmocka_unit_test(answers_without_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
