/* SPDX-License-Identifier: MIT
   HTTP/1.1, sans IO: bytes to requests (by http_parser), answers to bytes.

   See http.c.  A request is read from its first byte each time, so nothing is remembered between two
   arrivals. */
#ifndef WEIR_FORMAT_HTTP_H
#define WEIR_FORMAT_HTTP_H

#include "format/bytes.h"

enum {
    HTTP_HEADERS_MAX = 64,
    HTTP_HEAD_MAX = 1 << 14, /* bytes of the request line and all headers */
    HTTP_BODY_MAX = 1 << 16
};

enum http_method { HTTP_OTHER_METHOD, HTTP_IS_GET, HTTP_IS_HEAD, HTTP_IS_POST, HTTP_IS_PUT, HTTP_IS_DELETE };

struct http_header {
    struct slice name, value;
};

/* Borrowed from the bytes it was read from. */
struct http_request {
    enum http_method method;
    struct slice path, query; /* as sent; query without its "?"; of http://host/path only the path, host is Host */
    struct slice body;
    struct http_header header[HTTP_HEADERS_MAX];
    unsigned header_count;
    bool keep_alive;
    size_t size; /* bytes that it takes */
};

/* HTTP_BAD: answer with the status and the words, then close.  HTTP_CONTINUE: as HTTP_MORE, but a client that sent
   "Expect: 100-continue" waits: http_continue to it first.  It comes when the head is all there and nothing behind it,
   so once, unless the same bytes are read again; to say it twice is allowed. */
enum http_result { HTTP_MORE, HTTP_REQUEST, HTTP_BAD, HTTP_CONTINUE };
struct http_problem {
    unsigned status; /* 400, 411 (chunked), 413, 414, 417, 431, 501, 505 */
    const char *words;
};

enum http_result http_read(struct slice bytes, struct http_request *request, struct http_problem *problem);

/* The two ways that it has.  A plain request (false: it is none, or not whole) is read by either alike. */
bool http_read_plain(struct slice bytes, struct http_request *request);
enum http_result http_read_any(struct slice bytes, struct http_request *request, struct http_problem *problem);

/* Names compare without case.  Empty where there is none; *count, where wanted, is how many there are. */
struct slice http_header(const struct http_request *request, const char *name, unsigned *count);

/* ---- answers ---- */

/* "HTTP/1.1 429 Too Many Requests" and Connection, which all answers have; then any headers by http_add, whose bytes
   that would end the line are blanks; then http_body, which ends it.  head_only (HEAD): the length is told, the bytes
   are left out.  type NULL: an answer that has no body at all (204), neither type nor length are told. */
void http_start(struct bytes *out, unsigned status, bool keep_alive);
void http_add_named(struct bytes *out, struct slice name, struct slice value);
static inline void http_add(struct bytes *out, const char *name, struct slice value)
{
    http_add_named(out, slice_of(name), value);
}
void http_add_number(struct bytes *out, const char *name, uint64_t value);
void http_body(struct bytes *out, const char *type, struct slice body, bool head_only);

/* "HTTP/1.1 100 Continue", whole. */
void http_continue(struct bytes *out);

#endif
