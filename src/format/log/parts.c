/* SPDX-License-Identifier: MIT
   What is wanted of a value: of a request line its method or uri, of an address that without its port.

   What it gives are bytes of the value; what does not look as expected has no such part. */
#include "format/log/parts.h"

static struct slice until_query(struct slice uri)
{
    const char *query = uri.size != 0 ? memchr(uri.bytes, '?', uri.size) : NULL;
    return query != NULL ? slice_between(uri.bytes, query) : uri;
}

/* Of a request line.  Bytes of TLS, a probe or nothing at all have no method. */
static struct slice method_of(struct slice request)
{
    size_t size = 0;
    while (size < request.size && ((request.bytes[size] >= 'A' && request.bytes[size] <= 'Z') ||
                                   request.bytes[size] == '-' || request.bytes[size] == '_'))
        size++;
    const bool ends = size < request.size && request.bytes[size] == ' ';
    return (struct slice){request.bytes, ends ? size : 0};
}

/* It may hold spaces: it ends before the protocol, which HTTP/0.9 has not. */
static struct slice uri_of(struct slice request)
{
    const size_t method = method_of(request).size;
    if (method == 0) return (struct slice){request.bytes, 0};
    const struct slice uri = slice_from(request, method + 1);
    size_t end = uri.size;
    while (end > 0 && uri.bytes[end - 1] != ' ') end--;
    const bool protocol = end > 0 && slice_begins(slice_from(uri, end), slice_of("HTTP/"));
    return (struct slice){uri.bytes, protocol ? end - 1 : uri.size};
}

static bool is_made_of(struct slice text, const char *bytes)
{
    for (size_t i = 0; i < text.size; i++) {
        if (!slice_has(slice_of(bytes), text.bytes[i])) return false;
    }
    return text.size != 0;
}

/* Each connection has a port of its own: with it, no two requests would be of the same client.  What does not look
   like an address stays as it is. */
static struct slice without_port(struct slice address)
{
    const char *const end = address.bytes + address.size, *colon = end - 1;
    if (!slice_has(address, ':')) return address;
    while (*colon != ':') colon--;
    struct slice host = slice_between(address.bytes, colon);
    if (end[-1] == ']') host = address;
    else if (!is_made_of(slice_between(colon + 1, end), "0123456789")) return address;
    if (is_made_of(host, "0123456789.")) return host;
    if (host.size < 3 || host.bytes[0] != '[' || host.bytes[host.size - 1] != ']') return address;
    const struct slice inside = {host.bytes + 1, host.size - 2};
    return is_made_of(inside, "0123456789abcdefABCDEF:.%") ? inside : address;
}

struct slice part_of(struct slice value, enum accesslog_part part)
{
    if (slice_is_nothing(value)) return (struct slice){value.bytes, 0};
    if (part == ACCESSLOG_ADDRESS) return without_port(value);
    if (part == ACCESSLOG_UNTIL_QUERY) return until_query(value);
    if (part == ACCESSLOG_METHOD) return method_of(value);
    if (part == ACCESSLOG_URI) return uri_of(value);
    if (part == ACCESSLOG_PATH) return until_query(uri_of(value));
    return value;
}
