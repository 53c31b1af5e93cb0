/* SPDX-License-Identifier: MIT
   Any bytes are requests of HTTP or are refused, and however they are split the answer is the same; what
   is read as one request is that for a strict reader that takes the head apart line by line, so that nothing can be
   hidden in it; answers are read back by the same reader. */
#include "format/http.h"

#include <inttypes.h>
#include <stdio.h>

#include "property/pieces.h"

enum { TEXT_SIZE = 4 * HTTP_BODY_MAX };

static const char *const pieces[] = {"GET / HTTP/1.1\r\n",
                                     "POST /v1/take?a=b HTTP/1.1\r\n",
                                     "GET http://a/b HTTP/1.0\r\n",
                                     "GET /a#b HTTP/1.1\r\n",
                                     "GET /a\tb HTTP/1.1\r\n",
                                     "HEAD",
                                     " ",
                                     "/",
                                     " HTTP/1.1",
                                     "Host: a\r\n",
                                     "Host:a\r\n\r\n",
                                     "Content-Length: 3\r\n",
                                     "Content-Length: 65537\r\n",
                                     "Content-Length:",
                                     "Transfer-Encoding: chunked\r\n",
                                     "Connection: close\r\n",
                                     "Connection: Upgrade, keep-alive\r\nUpgrade: h2c\r\n",
                                     "Expect: 100-continue\r\n",
                                     "X-A: b \t\r\n",
                                     "A:\r\n",
                                     "\r\n",
                                     "\r\n\r\n",
                                     "\r",
                                     "\n",
                                     "\t",
                                     ":",
                                     "abc",
                                     "5",
                                     "\r\n ",
                                     "Host : a\r\n",
                                     "\x7F",
                                     "#"};

/* ---- a strict reader ---- */

static bool is_token(struct slice slice)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < slice.size; i++) {
        const char c = slice.bytes[i];
        const bool common = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!common && (c == '\0' || strchr(others, c) == NULL)) return false;
    }
    return slice.size != 0;
}

/* Up to \r\n, which is taken off the text, too; the line may have no other byte of them. */
static struct slice next_line(struct prop *prop, struct slice *text)
{
    const char *end = text->bytes;
    while (end + 1 < text->bytes + text->size && !(end[0] == '\r' && end[1] == '\n')) end++;
    prop_check(prop, end + 1 < text->bytes + text->size, "a line without an end");
    const struct slice line = slice_between(text->bytes, end);
    for (size_t i = 0; i < line.size; i++) {
        const unsigned char byte = (unsigned char)line.bytes[i];
        prop_check(prop, byte == '\t' || (byte >= ' ' && byte != 0x7F), "byte %u in a line", byte);
    }
    *text = slice_from(*text, line.size + 2);
    return line;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct http_header split_header(struct prop *prop, struct slice line)
{
    const char *colon = line.size != 0 ? memchr(line.bytes, ':', line.size) : NULL;
    prop_check(prop, colon != NULL, "a header without a colon");
    struct http_header header = {slice_between(line.bytes, colon), slice_between(colon + 1, line.bytes + line.size)};
    prop_check(prop, is_token(header.name), "a name that is none");
    while (header.value.size != 0 && is_blank(header.value.bytes[0])) header.value = slice_from(header.value, 1);
    while (header.value.size != 0 && is_blank(header.value.bytes[header.value.size - 1])) header.value.size--;
    return header;
}

/* METHOD target HTTP/1.x */
static void check_first_line(struct prop *prop, struct slice line, const struct http_request *request)
{
    const char *blank = line.size != 0 ? memchr(line.bytes, ' ', line.size) : NULL;
    prop_check(prop, blank != NULL && is_token(slice_between(line.bytes, blank)), "no method");
    const struct slice rest = slice_from(line, (size_t)(blank - line.bytes) + 1);
    const char *second = rest.size != 0 ? memchr(rest.bytes, ' ', rest.size) : NULL;
    prop_check(prop, second != NULL && second != rest.bytes, "no target");
    const struct slice target = slice_between(rest.bytes, second), version = slice_from(rest, target.size + 1);
    prop_check(prop, slice_is(version, slice_of("HTTP/1.1")) || slice_is(version, slice_of("HTTP/1.0")), "its version");
    for (size_t i = 0; i < target.size; i++)
        prop_check(prop, target.bytes[i] > ' ' && target.bytes[i] <= '~' && target.bytes[i] != '#',
                   "a byte in the target");
    check_inside(prop, request->path, target);
    check_inside(prop, request->query, target);
    prop_check(prop, request->path.bytes[0] == '/' || slice_is(request->path, slice_of("*")), "a path that is none");
    prop_check(prop, !slice_has(request->path, '?'), "a query in the path");
}

static void check_request(struct prop *prop, struct slice bytes, const struct http_request *request)
{
    prop_check(prop, request->size <= bytes.size, "takes %zu of %zu", request->size, bytes.size);
    struct slice rest = {bytes.bytes, request->size}, line = {"", 0}, length;
    while (line.size == 0) line = next_line(prop, &rest);
    check_first_line(prop, line, request);
    unsigned count = 0;
    while ((line = next_line(prop, &rest)).size != 0) {
        const struct http_header header = split_header(prop, line);
        prop_check(prop, count < request->header_count, "more than %u headers", count);
        prop_check(prop, is_same_part(header.name, bytes.bytes, request->header[count].name, bytes.bytes), "name %u",
                   count);
        prop_check(prop, slice_is(header.value, request->header[count].value), "value %u", count);
        check_inside(prop, request->header[count++].value, line);
    }
    prop_check(prop, count == request->header_count, "%u of %u headers", count, request->header_count);
    prop_check(prop, (size_t)(rest.bytes - bytes.bytes) <= HTTP_HEAD_MAX && rest.size <= HTTP_BODY_MAX,
               "beyond limits");
    prop_check(prop, is_same_part(rest, bytes.bytes, request->body, bytes.bytes), "another body");
    unsigned lengths, encodings;
    uint64_t number = 0;
    length = http_header(request, "Content-Length", &lengths);
    http_header(request, "Transfer-Encoding", &encodings);
    while (length.size > 1 && length.bytes[0] == '0') length = slice_from(length, 1);
    prop_check(prop, lengths == 0 || (lengths == 1 && slice_number(length, &number)), "no length");
    prop_check(prop, number == rest.size && encodings == 0, "a body of %zu, not %" PRIu64, rest.size, number);
}

/* ---- any bytes ---- */

static bool is_same(const struct http_request *one, struct slice of_one, const struct http_request *other,
                    struct slice of_other)
{
    bool same = one->size == other->size && one->method == other->method && one->keep_alive == other->keep_alive &&
                one->header_count == other->header_count &&
                is_same_part(one->path, of_one.bytes, other->path, of_other.bytes) &&
                is_same_part(one->query, of_one.bytes, other->query, of_other.bytes) &&
                is_same_part(one->body, of_one.bytes, other->body, of_other.bytes);
    for (unsigned i = 0; i < one->header_count && same; i++) {
        same = is_same_part(one->header[i].name, of_one.bytes, other->header[i].name, of_other.bytes) &&
               is_same_part(one->header[i].value, of_one.bytes, other->header[i].value, of_other.bytes);
    }
    return same;
}

/* What is plain is what http_parser makes of it. */
static void check_plain(struct prop *prop, struct slice bytes)
{
    struct http_request plain, any;
    struct http_problem problem;
    if (!http_read_plain(bytes, &plain)) return;
    prop_check(prop, http_read_any(bytes, &any, &problem) == HTTP_REQUEST, "plain only at first sight");
    prop_check(prop, is_same(&plain, bytes, &any, bytes), "plain, and otherwise to the parser");
}

static enum http_result read_checked(struct prop *prop, struct slice bytes, struct http_request *request)
{
    struct http_problem problem = {0, NULL};
    const enum http_result result = http_read(bytes, request, &problem);
    prop_check(prop, (problem.words != NULL) == (result == HTTP_BAD), "words without a problem, or none");
    prop_check(prop, result != HTTP_BAD || (problem.status >= 400 && problem.status <= 505), "status %u",
               problem.status);
    if (result == HTTP_REQUEST) check_request(prop, bytes, request);
    check_plain(prop, bytes);
    return result;
}

/* As it arrives, byte by byte: more, told to continue once at most, and then for ever what all of it is. */
static void check_splits(struct prop *prop, struct slice whole)
{
    struct http_request request, part_request;
    const enum http_result result = read_checked(prop, whole, &request);
    bool waits = true, told = false;
    for (size_t size = 0; size <= whole.size; size = next_size(prop, size, whole.size)) {
        const struct slice part = own(prop, (struct slice){whole.bytes, size});
        const enum http_result part_result = read_checked(prop, part, &part_request);
        prop_check(prop, part_result != HTTP_CONTINUE || !told, "told to continue twice");
        told = told || part_result == HTTP_CONTINUE;
        if (part_result != HTTP_MORE && part_result != HTTP_CONTINUE) waits = false;
        prop_check(prop, waits || part_result == result, "%d of %zu bytes, %d of %zu", (int)part_result, size,
                   (int)result, whole.size);
        if (result == HTTP_REQUEST) {
            prop_check(prop, waits == (size < request.size), "%zu bytes of %zu are enough", size, request.size);
            prop_check(prop, waits || is_same(&request, whole, &part_request, part), "another request of %zu", size);
        }
        disown(part);
    }
}

/* Whatever follows, as much as a head and a body may have is enough. */
static void check_end(struct prop *prop, struct bytes *text)
{
    struct http_request request;
    add_many(text, 'a', HTTP_HEAD_MAX + HTTP_BODY_MAX);
    const enum http_result result = read_checked(prop, bytes_slice(text), &request);
    prop_check(prop, result != HTTP_MORE && result != HTTP_CONTINUE, "wants more than %zu", text->size);
}

static void any_bytes(struct prop *prop)
{
    char memory[TEXT_SIZE];
    struct bytes text = {.memory = memory, .capacity = sizeof memory};
    if (prop_chance(prop, 2)) bytes_text(&text, pieces[prop_pick(prop, 5)]);
    if (prop_chance(prop, 2)) bytes_text(&text, "Host: a\r\n");
    ADD_PIECES(prop, &text, pieces, prop_chance(prop, 2) ? HTTP_HEAD_MAX : HTTP_BODY_MAX);
    prop_note(prop, "%zu bytes: %.*s", text.size, (int)(text.size < 400 ? text.size : 400), memory);
    check_splits(prop, bytes_slice(&text));
    if (prop_chance(prop, 8)) check_end(prop, &text);
}

/* ---- what is written ---- */

struct meant {
    struct slice method, target, body;
    bool keep_alive;
    unsigned headers;
};

static void add_header(struct bytes *text, struct meant *meant, const char *line)
{
    bytes_text(text, line);
    bytes_text(text, "\r\n");
    meant->headers++;
}

static void write_headers(struct prop *prop, struct bytes *text, struct meant *meant, bool is_new)
{
    static const char *const headers[] = {"Accept: */*", "X-Forwarded-For:192.0.2.1", "a:", "B:  b  ", "A: \t b c\t ",
                                          "Cookie: \xE9"};
    const uint64_t connection = prop_pick(prop, 3);
    meant->headers = 0;
    if (is_new || prop_chance(prop, 2)) add_header(text, meant, "hOsT: localhost");
    if (connection != 0) add_header(text, meant, connection == 1 ? "Connection: close" : "connection: Keep-Alive");
    if (prop_chance(prop, 6)) add_header(text, meant, "Expect: 100-continue");
    meant->keep_alive = connection == 0 ? is_new : connection == 2;
    while (prop_more(prop, 3) && meant->headers < HTTP_HEADERS_MAX - 1) add_header(text, meant, PICK(prop, headers));
    if (meant->body.size == 0 && prop_chance(prop, 2)) return;
    http_add_number(text, "Content-Length", meant->body.size);
    meant->headers++;
}

static void write_request(struct prop *prop, struct bytes *text, struct meant *meant)
{
    static const char *const methods[] = {"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "M-SEARCH"};
    static const char *const targets[] = {"/", "/v1/take", "/?a=b", "/a%20b?c=/?", "*", "/~'()!;:@"};
    static const char *const bodies[] = {"", "a", "GET / HTTP/1.1\r\n\r\n", "\r\n", "{\"limit\":\"10/s\"}"};
    const bool is_new = !prop_chance(prop, 3);
    meant->method = slice_of(PICK(prop, methods));
    meant->target = slice_of(PICK(prop, targets));
    meant->body = slice_of(PICK(prop, bodies));
    while (prop_chance(prop, 8)) bytes_text(text, "\r\n");
    bytes_add(text, meant->method);
    bytes_byte(text, ' ');
    bytes_add(text, meant->target);
    bytes_text(text, is_new ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n");
    write_headers(prop, text, meant, is_new);
    bytes_text(text, "\r\n");
    bytes_add(text, meant->body);
}

static void check_meant(struct prop *prop, const struct http_request *request, const struct meant *meant)
{
    static const char *const methods[] = {"", "GET", "HEAD", "POST", "PUT", "DELETE"};
    unsigned method = HTTP_IS_DELETE;
    while (method != HTTP_OTHER_METHOD && !slice_is(meant->method, slice_of(methods[method]))) method--;
    prop_check(prop, request->method == method, "method %d", (int)request->method);
    prop_check(prop, request->keep_alive == meant->keep_alive, "kept alive or not");
    prop_check(prop, request->header_count == meant->headers, "%u headers", request->header_count);
    prop_check(prop, slice_is(request->body, meant->body), "another body");
    const size_t with_query = request->query.size != 0 ? request->query.size + 1 : 0;
    prop_check(prop, request->path.size + with_query == meant->target.size, "another target");
    prop_check(prop, memcmp(request->path.bytes, meant->target.bytes, meant->target.size) == 0, "another target");
}

/* One behind the other, as clients may send them. */
static void pipelined(struct prop *prop)
{
    enum { REQUESTS_MAX = 4 };
    char memory[TEXT_SIZE];
    struct bytes text = {.memory = memory, .capacity = sizeof memory};
    struct meant meant[REQUESTS_MAX];
    size_t ends[REQUESTS_MAX], at = 0;
    unsigned count = 0;
    do {
        write_request(prop, &text, &meant[count]);
        ends[count++] = text.size;
    } while (count < REQUESTS_MAX && prop_chance(prop, 2));
    prop_note(prop, "%.*s", (int)text.size, memory);
    for (unsigned i = 0; i < count; at = ends[i++]) {
        struct http_request request;
        prop_check(prop, read_checked(prop, slice_from(bytes_slice(&text), at), &request) == HTTP_REQUEST, "request %u",
                   i);
        prop_check(prop, request.size == ends[i] - at, "request %u takes %zu", i, request.size);
        check_meant(prop, &request, &meant[i]);
    }
    if (prop_chance(prop, 4)) spoil(prop, &text);
    check_splits(prop, bytes_slice(&text));
}

/* An answer has the headers that were added, whatever they say, and its body. */
static void answers(struct prop *prop)
{
    char memory[2048], value[24];
    struct bytes out = {.memory = memory, .capacity = prop_chance(prop, 4) ? prop_pick(prop, 300) : sizeof memory};
    const bool head_only = prop_chance(prop, 2), keep_alive = prop_chance(prop, 2);
    const uint64_t headers = prop_pick(prop, 4);
    http_start(&out, 100 + (unsigned)prop_pick(prop, 500), keep_alive);
    for (uint64_t i = 0; i < headers; i++) {
        for (size_t at = 0; at < sizeof value; at++) value[at] = "a\r\n:\0 \x7F"[prop_pick(prop, 7)];
        http_add(&out, "X-A", (struct slice){value, prop_pick(prop, sizeof value + 1)});
    }
    http_body(&out, "a/b", slice_of("12345"), head_only);
    prop_check(prop, out.size <= out.capacity, "beyond its memory");
    if (out.full) return;
    struct slice rest = bytes_slice(&out), line = next_line(prop, &rest);
    prop_check(prop, slice_begins(line, slice_of("HTTP/1.1 ")), "its first line");
    uint64_t count = 0;
    while ((line = next_line(prop, &rest)).size != 0) {
        const struct http_header header = split_header(prop, line);
        if (count++ == 0)
            prop_check(prop, slice_is(header.value, slice_of(keep_alive ? "keep-alive" : "close")), "Connection");
        if (count == headers + 3) prop_check(prop, slice_is(line, slice_of("Content-Length: 5")), "its length");
    }
    prop_check(prop, count == headers + 3, "%" PRIu64 " headers", count);
    prop_check(prop, slice_is(rest, slice_of(head_only ? "" : "12345")), "its body");
}

static void http_property(struct prop *prop)
{
    prop_step(prop);
    switch (prop_pick(prop, 4)) {
    default:
        any_bytes(prop);
        break;
    case 2:
        pipelined(prop);
        break;
    case 3:
        answers(prop);
    }
}

PROPERTY("http", http_property, 10000);
