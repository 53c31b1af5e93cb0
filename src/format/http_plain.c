/* SPDX-License-Identifier: MIT
   What nearly all requests are, read in one pass: GET, HEAD or POST of a path by HTTP/1.1, whole, with one Host, and
   with headers that say nothing of how it is to be read but a Content-Length.

   Whatever is otherwise in any way is left to http_parser, errors too: see http.c.  What is read here, that would have
   read alike (property/http). */
#include "format/http.h"

#define NAMED(name, text) slice_is_alike(name, (struct slice){text, sizeof(text) - 1})

enum { LENGTH_DIGITS_MAX = 5 };

/* What a head says of its request as a whole. */
struct terms {
    unsigned hosts, lengths;
    size_t body_size;
};

/* Letters, digits, "-" and "_", a bit each: other names are rare. */
static inline bool is_of_name(char byte)
{
    static const uint64_t names[4] = {UINT64_C(0x03ff200000000000), UINT64_C(0x07fffffe87fffffe), 0, 0};
    return names[(unsigned char)byte / 64] >> ((unsigned char)byte % 64) & 1;
}

static bool read_length(struct slice value, size_t *size)
{
    if (value.size == 0 || value.size > LENGTH_DIGITS_MAX) return false;
    *size = 0;
    for (size_t i = 0; i < value.size; i++) {
        const unsigned digit = (unsigned char)(value.bytes[i] - '0');
        if (digit > 9) return false;
        *size = *size * 10 + digit;
    }
    return *size <= HTTP_BODY_MAX;
}

/* false: it says how the request is to be read, and not only how long its body is. */
static bool look_at(const struct http_header *header, struct terms *terms)
{
    const struct slice name = header->name;
    switch (name.size) {
    case 4:
        if (NAMED(name, "host")) terms->hosts++;
        return true;
    case 6:
        return !NAMED(name, "expect");
    case 7:
        return !NAMED(name, "upgrade");
    case 10:
        return !NAMED(name, "connection") || NAMED(header->value, "keep-alive");
    case 14:
        return !NAMED(name, "content-length") ||
               (terms->lengths++ == 0 && read_length(header->value, &terms->body_size));
    case 16:
        return !NAMED(name, "proxy-connection");
    case 17:
        return !NAMED(name, "transfer-encoding");
    default:
        return true;
    }
}

/* Returns what is behind "METHOD ", or NULL. */
static const char *read_method(struct slice bytes, enum http_method *method)
{
    if (bytes.size < 6) return NULL;
    const bool get = memcmp(bytes.bytes, "GET ", 4) == 0, post = memcmp(bytes.bytes, "POST ", 5) == 0;
    if (!get && !post && memcmp(bytes.bytes, "HEAD ", 5) != 0) return NULL;
    *method = get ? HTTP_IS_GET : post ? HTTP_IS_POST : HTTP_IS_HEAD;
    return bytes.bytes + (get ? 4 : 5);
}

static inline bool is_of_target(char byte)
{
    return byte > ' ' && byte <= '~' && byte != '#';
}

/* "/path?query HTTP/1.1\r\n"; returns its end, or NULL. */
static const char *read_target(const char *at, const char *end, struct http_request *request)
{
    static const char version[] = " HTTP/1.1\r\n";
    const char *const start = at, *mark = NULL;
    if (*at != '/') return NULL;
    for (; at < end && is_of_target(*at); at++) {
        if (*at == '?' && mark == NULL) mark = at;
    }
    if ((size_t)(end - at) < sizeof version - 1 || memcmp(at, version, sizeof version - 1) != 0) return NULL;
    request->path = slice_between(start, mark != NULL ? mark : at);
    request->query = slice_between(mark != NULL ? mark + 1 : at, at);
    return at + sizeof version - 1;
}

/* "Name: value\r\n"; returns its end, or NULL. */
static inline const char *read_header(const char *at, const char *end, struct http_header *header)
{
    const char *start = at;
    while (at < end && is_of_name(*at)) at++;
    if (at == end || at == start || *at != ':') return NULL;
    header->name = slice_between(start, at++);
    while (at < end && *at == ' ') at++;
    start = at;
    at += slice_printable(slice_between(at, end));
    if (end - at < 2 || memcmp(at, "\r\n", 2) != 0) return NULL;
    const char *last = at;
    while (last > start && last[-1] == ' ') last--;
    header->value = last > start ? slice_between(start, last) : slice_from(header->name, header->name.size);
    return at + 2;
}

/* Behind the first line; returns the head's end, or NULL. */
static const char *read_headers(const char *at, const char *end, struct http_request *request, struct terms *terms)
{
    unsigned count = 0;
    while (at != NULL && end - at >= 2 && memcmp(at, "\r\n", 2) != 0) {
        if (count == HTTP_HEADERS_MAX) return NULL;
        struct http_header *header = &request->header[count++];
        at = read_header(at, end, header);
        if (at != NULL && !look_at(header, terms)) return NULL;
    }
    request->header_count = count;
    return at != NULL && end - at >= 2 ? at + 2 : NULL;
}

bool http_read_plain(struct slice bytes, struct http_request *request)
{
    struct terms terms = {0, 0, 0};
    const char *const end = bytes.bytes + (bytes.size < HTTP_HEAD_MAX ? bytes.size : HTTP_HEAD_MAX);
    const char *at = read_method(bytes, &request->method);
    if (at != NULL) at = read_target(at, end, request);
    if (at != NULL) at = read_headers(at, end, request, &terms);
    if (at == NULL || terms.hosts != 1) return false;
    const size_t head = (size_t)(at - bytes.bytes);
    if (bytes.size - head < terms.body_size) return false;
    request->body = (struct slice){at, terms.body_size};
    request->keep_alive = true;
    request->size = head + terms.body_size;
    return true;
}
