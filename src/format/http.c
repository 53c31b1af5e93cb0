/* SPDX-License-Identifier: MIT
   HTTP/1.1 and 1.0 (RFC 9112): requests by http_parser, but for the plain ones (http_plain.c); answers.

   http_parser finds the parts of the head and knows Connection and Content-Length; it is stopped where the head ends,
   and the body is what follows.  As distributions build it (HTTP_PARSER_STRICT=0) it lets pass what proxies read in
   other ways: a bare \r or \n, a line folded into the next, blanks before a colon or between the words of the first
   line, any bytes in the target.  All of that is refused here, and so is a body without one clear length: what one
   reader takes for a request must not be two for another.

   http_parser is archived.  llhttp (Debian 13) can take its place here and in cmake/serve.cmake, nowhere else: its
   settings go to llhttp_init; returning HPE_PAUSED stops it, and llhttp_get_error_pos says where; a callback that
   refuses is HPE_USER, not HPE_CB_header_field; only HTTP_REQUEST needs another name.  It refuses most of the above
   itself, so wrong_byte has to look first for the words to stay, and its lenient flags stay unset.  unit/http and
   property/http hold all of this.

   Reads no byte behind the request, and not more than HTTP_HEAD_MAX to find where its head ends; once bad, it is bad
   with any bytes behind it. */
#define http_method http_parser_method /* both names are ours, too */
#define HTTP_REQUEST HTTP_PARSER_REQUEST
#include <http_parser.h>
#undef http_method
#undef HTTP_REQUEST

#include "format/http.h"

/* What is filled while the head is read. */
struct head {
    struct http_request *request;
    struct slice target;
};

/* ---- called by the parser ---- */

static int take_target(http_parser *parser, const char *at, size_t size)
{
    struct head *head = parser->data;
    head->target = (struct slice){at, size};
    return 0;
}

static int take_name(http_parser *parser, const char *at, size_t size)
{
    struct head *head = parser->data;
    struct http_request *request = head->request;
    if (request->header_count == HTTP_HEADERS_MAX) return 1;
    request->header[request->header_count++] = (struct http_header){{at, size}, {at + size, 0}};
    return 0;
}

static int take_value(http_parser *parser, const char *at, size_t size)
{
    struct head *head = parser->data;
    while (size != 0 && (at[size - 1] == ' ' || at[size - 1] == '\t')) size--;
    if (size == 0) return 0; /* `at` is in the next line */
    head->request->header[head->request->header_count - 1].value = (struct slice){at, size};
    return 0;
}

static int stop(http_parser *parser)
{
    http_parser_pause(parser, 1);
    return 0;
}

/* ---- headers ---- */

struct slice http_header(const struct http_request *request, const char *name, unsigned *count)
{
    struct slice value = {"", 0};
    const struct slice wanted = slice_of(name);
    unsigned found = 0;
    for (unsigned i = 0; i < request->header_count; i++) {
        if (!slice_is_alike(request->header[i].name, wanted)) continue;
        if (found++ == 0) value = request->header[i].value;
    }
    if (count != NULL) *count = found;
    return value;
}

/* ---- what the parser lets pass ---- */

/* Always HTTP_BAD, so that a caller may return it. */
static enum http_result bad(struct http_problem *problem, unsigned status, const char *words)
{
    *problem = (struct http_problem){status, words};
    return HTTP_BAD;
}

/* At a \r or \n. */
static const char *wrong_end(struct slice head, size_t at)
{
    if (head.bytes[at] == '\n') return "expected \\r\\n at the end of each line, not \\n alone";
    if (at + 1 == head.size || head.bytes[at + 1] != '\n')
        return "expected \\r\\n at the end of each line, not \\r alone";
    if (at + 2 < head.size && (head.bytes[at + 2] == ' ' || head.bytes[at + 2] == '\t'))
        return "expected each header in one line: a line begins with a blank";
    return NULL;
}

/* Lines of a whole head end in \r\n, go on in no other line, and have no control characters.  NULL: that is so. */
static const char *wrong_byte(struct slice head)
{
    for (size_t at = slice_printable(head); at < head.size; at++) {
        const unsigned char byte = (unsigned char)head.bytes[at];
        if ((byte >= ' ' && byte != 0x7F) || byte == '\t') continue;
        if (byte != '\r' && byte != '\n') return "expected headers without control characters";
        const char *wrong = wrong_end(head, at);
        if (wrong != NULL) return wrong;
        at += 1 + slice_printable(slice_from(head, at + 2));
    }
    return NULL;
}

/* GET /path HTTP/1.1: one blank each, and a target of printable characters. */
static enum http_result check_first_line(const char *start, struct slice target, const http_parser *parser,
                                         struct http_problem *problem)
{
    static const char expected[] = "expected a first line like: GET /v1/take?limit=api HTTP/1.1";
    const char *end = target.bytes + target.size;
    const bool known = parser->http_major == 1 && parser->http_minor <= 1;
    if (!known) return bad(problem, 505, "expected HTTP/1.1 or HTTP/1.0");
    if (target.bytes - start < 2 || target.bytes[-2] == ' ') return bad(problem, 400, expected);
    if (memcmp(end, " HTTP/1.", 8) != 0 || memcmp(end + 9, "\r\n", 2) != 0) return bad(problem, 400, expected);
    for (const char *at = target.bytes; at < end; at++) {
        if (*at <= ' ' || *at > '~' || *at == '#')
            return bad(problem, 400, "expected other bytes in the path and query as %XX, like %20 for a blank");
    }
    return HTTP_REQUEST;
}

/* Those that say where a request ends or which host it is for. */
static enum http_result check_headers(const struct http_request *request, const http_parser *parser,
                                      struct http_problem *problem)
{
    unsigned hosts, encodings;
    for (unsigned i = 0; i < request->header_count; i++) {
        if (slice_has(request->header[i].name, ' '))
            return bad(problem, 400, "expected no blank before the colon of a header, as in Host: localhost");
    }
    http_header(request, "transfer-encoding", &encodings);
    if (encodings != 0) return bad(problem, 411, "expected a body with Content-Length, not Transfer-Encoding");
    http_header(request, "host", &hosts);
    if (hosts > 1) return bad(problem, 400, "expected one Host header, not more");
    if (hosts == 0 && parser->http_minor == 1)
        return bad(problem, 400, "expected a Host header, as in Host: localhost");
    return HTTP_REQUEST;
}

/* ---- the parts of a request ---- */

static enum http_method method_of(const http_parser *parser)
{
    switch (parser->method) {
    case HTTP_GET:
        return HTTP_IS_GET;
    case HTTP_HEAD:
        return HTTP_IS_HEAD;
    case HTTP_POST:
        return HTTP_IS_POST;
    case HTTP_PUT:
        return HTTP_IS_PUT;
    case HTTP_DELETE:
        return HTTP_IS_DELETE;
    default:
        return HTTP_OTHER_METHOD;
    }
}

/* Bytes of http:// or https://; 0: it begins otherwise. */
static size_t scheme_size(struct slice target)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        const struct slice scheme = slice_of(schemes[i]);
        if (target.size >= scheme.size && slice_is_alike((struct slice){target.bytes, scheme.size}, scheme))
            return scheme.size;
    }
    return 0;
}

/* http://host/path, as proxies are asked: the host must be the one in Host, so that nobody looks at the wrong one. */
static bool leave_path(struct http_request *request, struct slice *target)
{
    const size_t scheme = scheme_size(*target);
    size_t end = scheme;
    while (end < target->size && target->bytes[end] != '/' && target->bytes[end] != '?') end++;
    unsigned hosts;
    const struct slice host = http_header(request, "host", &hosts), named = {target->bytes + scheme, end - scheme};
    if (scheme == 0 || (hosts != 0 && !slice_is_alike(host, named))) return false;
    *target = slice_from(*target, end);
    return true;
}

static enum http_result split_target(struct http_request *request, struct slice target, struct http_problem *problem)
{
    const char *last_slash = target.bytes; /* of http://, which is a path where it has no other */
    if (target.bytes[0] != '/' && !slice_is(target, slice_of("*"))) {
        last_slash = target.bytes + scheme_size(target) - 1;
        if (!leave_path(request, &target))
            return bad(problem, 400, "expected a path like /v1/take, or http:// and the same host as in Host");
    }
    const char *mark = target.size != 0 ? memchr(target.bytes, '?', target.size) : NULL;
    const char *end = target.bytes + target.size;
    request->path = slice_between(target.bytes, mark != NULL ? mark : end);
    request->query = slice_between(mark != NULL ? mark + 1 : end, end);
    if (request->path.size == 0) request->path = (struct slice){last_slash, 1};
    return HTTP_REQUEST;
}

/* `arrived` is all behind the head. */
static enum http_result take_body(struct http_request *request, const http_parser *parser, struct slice arrived,
                                  struct http_problem *problem)
{
    unsigned lengths, expectations;
    const struct slice expectation = http_header(request, "expect", &expectations);
    http_header(request, "content-length", &lengths);
    const uint64_t size = lengths != 0 ? parser->content_length : 0;
    if (size > HTTP_BODY_MAX) return bad(problem, 413, "expected a body of at most 64 KiB");
    const bool waits = expectations == 1 && slice_is_alike(expectation, slice_of("100-continue"));
    if (expectations != 0 && !waits) return bad(problem, 417, "expected no other Expect than 100-continue");
    request->body = (struct slice){arrived.bytes, size};
    if (arrived.size >= size) return HTTP_REQUEST;
    return waits && arrived.size == 0 && parser->http_minor == 1 ? HTTP_CONTINUE : HTTP_MORE;
}

/* ---- a request ---- */

/* Where the parser found an error. */
static enum http_result explain(const http_parser *parser, char first, struct http_problem *problem)
{
    switch (HTTP_PARSER_ERRNO(parser)) {
    case HPE_INVALID_METHOD:
        if (first >= 'A' && first <= 'Z') return bad(problem, 501, "expected GET, HEAD, POST, PUT or DELETE");
        return bad(problem, 400, "expected HTTP/1.1: GET /v1/take?limit=api HTTP/1.1");
    case HPE_INVALID_VERSION:
        return bad(problem, 505, "expected HTTP/1.1 or HTTP/1.0");
    case HPE_CB_header_field:
        return bad(problem, 431, "expected at most 64 headers");
    case HPE_INVALID_CONTENT_LENGTH:
    case HPE_UNEXPECTED_CONTENT_LENGTH:
        return bad(problem, 400, "expected one Content-Length, a whole number, and no Transfer-Encoding");
    case HPE_INVALID_TRANSFER_ENCODING:
        return bad(problem, 411, "expected a body with Content-Length, not Transfer-Encoding");
    default:
        return bad(problem, 400, "expected HTTP/1.1: GET /v1/take?limit=api HTTP/1.1, then lines like Host: localhost");
    }
}

/* The head is whole, and of this size. */
static enum http_result read_whole(struct slice bytes, size_t size, const struct head *head, const http_parser *parser,
                                   struct http_problem *problem)
{
    struct http_request *request = head->request;
    const char *wrong = wrong_byte((struct slice){bytes.bytes, size});
    if (wrong != NULL) return bad(problem, 400, wrong);
    if (parser->method == HTTP_CONNECT) return bad(problem, 501, "expected GET, HEAD, POST, PUT or DELETE");
    enum http_result result = check_first_line(bytes.bytes, head->target, parser, problem);
    if (result == HTTP_REQUEST) result = check_headers(request, parser, problem);
    if (result == HTTP_REQUEST) result = split_target(request, head->target, problem);
    if (result == HTTP_REQUEST) result = take_body(request, parser, slice_from(bytes, size), problem);
    request->method = method_of(parser);
    request->keep_alive = http_should_keep_alive(parser) != 0;
    return result;
}

/* Empty lines before a request are passed over (RFC 9112, 2.2). */
static size_t empty_lines(struct slice bytes)
{
    size_t at = 0;
    while (at + 2 <= bytes.size && memcmp(bytes.bytes + at, "\r\n", 2) == 0) at += 2;
    return at;
}

/* The parser would pass over these. */
static bool is_half_line(struct slice bytes)
{
    return bytes.size != 0 && (bytes.bytes[0] == '\n' || (bytes.bytes[0] == '\r' && bytes.size > 1));
}

/* All that may be a head was read, and it is none yet. */
static enum http_result more(const struct http_request *request, size_t size, struct http_problem *problem)
{
    if (size < HTTP_HEAD_MAX) return HTTP_MORE;
    if (request->header_count == 0) return bad(problem, 414, "expected a path and query of at most 16 KiB");
    return bad(problem, 431, "expected headers of at most 16 KiB together");
}

enum http_result http_read_any(struct slice bytes, struct http_request *request, struct http_problem *problem)
{
    static const http_parser_settings settings = {.on_url = take_target,
                                                  .on_header_field = take_name,
                                                  .on_header_value = take_value,
                                                  .on_headers_complete = stop};
    struct slice looked_at = {bytes.bytes, bytes.size < HTTP_HEAD_MAX ? bytes.size : HTTP_HEAD_MAX};
    struct head head = {request, {"", 0}};
    http_parser parser;
    const size_t empty = empty_lines(looked_at);
    looked_at = slice_from(looked_at, empty);
    if (is_half_line(looked_at)) return bad(problem, 400, "expected \\r\\n at the end of each line");
    request->header_count = 0;
    http_parser_init(&parser, HTTP_PARSER_REQUEST);
    parser.data = &head;
    const size_t read = http_parser_execute(&parser, &settings, looked_at.bytes, looked_at.size);
    if (HTTP_PARSER_ERRNO(&parser) == HPE_OK) return more(request, empty + looked_at.size, problem);
    if (HTTP_PARSER_ERRNO(&parser) != HPE_PAUSED) return explain(&parser, looked_at.bytes[0], problem);
    const enum http_result result = read_whole(slice_from(bytes, empty), read + 1, &head, &parser, problem);
    request->size = empty + read + 1 + (result == HTTP_REQUEST ? request->body.size : 0);
    return result;
}

enum http_result http_read(struct slice bytes, struct http_request *request, struct http_problem *problem)
{
    return http_read_plain(bytes, request) ? HTTP_REQUEST : http_read_any(bytes, request, problem);
}

/* ---- answers ---- */

static const struct {
    unsigned status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

/* A reason may be empty (RFC 9112, 4). */
static const char *reason_of(unsigned status)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (reasons[i].status == status) return reasons[i].reason;
    }
    return "";
}

void http_start(struct bytes *out, unsigned status, bool keep_alive)
{
    bytes_text(out, "HTTP/1.1 ");
    bytes_number(out, status);
    bytes_byte(out, ' ');
    bytes_text(out, reason_of(status));
    bytes_text(out, keep_alive ? "\r\nConnection: keep-alive\r\n" : "\r\nConnection: close\r\n");
}

void http_add_named(struct bytes *out, struct slice name, struct slice value)
{
    char *at = bytes_room(out, name.size + value.size + 4);
    if (at == NULL) return;
    memcpy(at, name.bytes, name.size);
    at += name.size;
    *at++ = ':';
    *at++ = ' ';
    if (value.size != 0) memcpy(at, value.bytes, value.size);
    for (size_t i = slice_printable(value); i < value.size; i++) {
        if ((unsigned char)at[i] < ' ' || at[i] == 0x7F) at[i] = ' ';
    }
    at[value.size] = '\r';
    at[value.size + 1] = '\n';
}

void http_add_number(struct bytes *out, const char *name, uint64_t value)
{
    char digits[BYTES_NUMBER_MAX];
    char *end = digits + sizeof digits;
    http_add(out, name, slice_between(bytes_digits_before(end, value), end));
}

void http_body(struct bytes *out, const char *type, struct slice body, bool head_only)
{
    if (type != NULL) {
        http_add(out, "Content-Type", slice_of(type));
        http_add_number(out, "Content-Length", body.size);
    }
    bytes_text(out, "\r\n");
    if (type != NULL && !head_only) bytes_add(out, body);
}

void http_continue(struct bytes *out)
{
    bytes_text(out, "HTTP/1.1 100 Continue\r\n\r\n");
}
