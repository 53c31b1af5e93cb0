/* SPDX-License-Identifier: MIT
   Who may come in: what Host and Origin say, and whether the password is right.

   A page on the web can send its reader's browser to a service on that reader's own machine, either straight away
   (Origin and Sec-Fetch-Site tell) or through a name of its own that points to 127.0.0.1 (Host tells).  So Host has to
   be an address, localhost, or a name that the operator has listed, and what asks /auth, whose Origin
   is its client's, has to show that it is a proxy.

   A refusal does not say how much of a password was right. */
#include "format/address_text.h"
#include "serve/http/parts.h"
#include "serve/protocols.h"

enum { PASSWORD_MAX = 1024 };

/* ---- headers that mean something ---- */

struct known {
    size_t size;
    const char *name;
};

/* By size: most headers of a request are none of these. */
static const struct known known_headers[KNOWN_COUNT] = {
    [KNOWN_HOST] = {4, "host"},
    [KNOWN_ORIGIN] = {6, "origin"},
    [KNOWN_REAL_IP] = {9, "x-real-ip"},
    [KNOWN_KEY] = {10, "x-weir-key"},
    [KNOWN_COST] = {11, "x-weir-cost"},
    [KNOWN_TYPE] = {12, "content-type"},
    [KNOWN_LIMIT] = {12, "x-weir-limit"},
    [KNOWN_AUTHORIZATION] = {13, "authorization"},
    [KNOWN_SITE] = {14, "sec-fetch-site"},
    [KNOWN_FORWARDED_FOR] = {15, "x-forwarded-for"},
    [KNOWN_PASSWORD] = {15, "x-weir-password"},
};

static unsigned known_of(struct slice name)
{
    unsigned i = 0;
    while (i < KNOWN_COUNT && known_headers[i].size < name.size) i++;
    while (i < KNOWN_COUNT && known_headers[i].size == name.size) {
        if (slice_is_alike(name, (struct slice){known_headers[i].name, known_headers[i].size})) return i;
        i++;
    }
    return KNOWN_COUNT;
}

void gate_gather(struct exchange *exchange)
{
    const struct http_request *request = exchange->request;
    for (unsigned i = 0; i < KNOWN_COUNT; i++) exchange->header[i] = (struct slice){NULL, 0};
    for (unsigned i = 0; i < KNOWN_COUNT; i++) exchange->times[i] = 0;
    for (unsigned i = 0; i < request->header_count; i++) {
        const unsigned known = known_of(request->header[i].name);
        if (known == KNOWN_COUNT) continue;
        exchange->header[known] = request->header[i].value;
        exchange->times[known]++;
    }
}

/* ---- Host ---- */

static bool same_host(struct slice a, struct slice b)
{
    return a.size != 0 && slice_is_alike(a, b);
}

static bool all_of(struct slice slice, const char *bytes)
{
    for (size_t i = 0; i < slice.size; i++) {
        if (strchr(bytes, slice.bytes[i]) == NULL || slice.bytes[i] == '\0') return false;
    }
    return slice.size != 0;
}

/* Without its port. */
static struct slice host_alone(struct slice host)
{
    size_t end = host.size;
    while (end > 0 && host.bytes[end - 1] >= '0' && host.bytes[end - 1] <= '9') end--;
    if (end > 0 && host.bytes[end - 1] == ':') return (struct slice){host.bytes, end - 1};
    return host;
}

static bool is_digits_and_dots(struct slice host)
{
    for (size_t i = 0; i < host.size; i++) {
        if (host.bytes[i] != '.' && (unsigned char)(host.bytes[i] - '0') > 9) return false;
    }
    return host.size != 0;
}

/* A name of digits and dots alone is an address for every browser. */
static bool is_address(struct slice host)
{
    if (host.size > 2 && host.bytes[0] == '[' && host.bytes[host.size - 1] == ']') {
        return all_of((struct slice){host.bytes + 1, host.size - 2}, "0123456789abcdefABCDEF:.");
    }
    return is_digits_and_dots(host);
}

static bool is_allowed(const struct service *service, struct slice host)
{
    if (is_address(host) || address_is_localhost(host)) return true;
    for (unsigned i = 0; i < service->host_count; i++) {
        if (same_host(host, slice_of(service->hosts[i]))) return true;
    }
    return false;
}

/* A request without a Host comes from no browser. */
bool gate_host(const struct exchange *exchange, struct refusal *refusal)
{
    if (exchange->session->local || exchange->times[KNOWN_HOST] == 0) return true;
    if (exchange->times[KNOWN_HOST] > 1) {
        *refusal = (struct refusal){.status = 400, .words = "expected one Host header, such as Host: localhost:9348"};
        return false;
    }
    if (is_allowed(exchange->batch->service, host_alone(exchange->header[KNOWN_HOST]))) return true;
    *refusal = (struct refusal){
        .status = 421,
        .field = "Host",
        .words = "expected an address, localhost, or a name that weir.yaml has under hosts, such as Host: 127.0.0.1: "
                 "other names are refused because of DNS rebinding"};
    return false;
}

/* ---- Origin ---- */

/* "http://localhost:9348" -> "localhost:9348" */
static struct slice host_of_origin(struct slice origin)
{
    for (size_t i = 0; i + 2 < origin.size; i++) {
        if (memcmp(origin.bytes + i, "://", 3) == 0) return slice_from(origin, i + 3);
    }
    return (struct slice){NULL, 0};
}

bool gate_origin(const struct exchange *exchange, struct refusal *refusal)
{
    const unsigned times = exchange->times[KNOWN_ORIGIN];
    const struct slice own = exchange->header[KNOWN_HOST], origin = exchange->header[KNOWN_ORIGIN];
    const bool alike = times == 0 || (times == 1 && same_host(host_of_origin(origin), own));
    if (alike && !slice_is_alike(exchange->header[KNOWN_SITE], slice_of("cross-site"))) return true;
    *refusal = (struct refusal){
        .status = 403,
        .field = times != 0 ? "Origin" : "Sec-Fetch-Site",
        .words = "cross-origin request refused: expected an Origin that is this service's own, or none"};
    return false;
}

/* ---- of a proxy ---- */

static bool begins_same(struct slice slice, const char *name)
{
    const size_t size = strlen(name);
    return slice.size >= size && slice_is_alike((struct slice){slice.bytes, size}, slice_of(name));
}

/* Only what asks on behalf of somebody sets these.  A page on the web can have its reader's browser ask /auth by an
   image, whose Sec-Fetch-Site is missing where the address is not this machine's, and whose X-Forwarded-For may be a
   forward proxy's; none of these can it set without asking first (the preflight of CORS), which is answered no. */
static bool is_of_proxy(struct slice name)
{
    static const char *const forwarded[] = {"x-forwarded-method", "x-forwarded-uri", "x-original-method",
                                            "x-original-uri"};
    if (name.size == 0 || (name.bytes[0] | ('x' ^ 'X')) != 'x') return false;
    if (begins_same(name, "x-weir-")) return true;
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
        if (slice_is_alike(name, slice_of(forwarded[i]))) return true;
    }
    return false;
}

bool gate_proxy(const struct exchange *exchange, struct refusal *refusal)
{
    const struct http_request *request = exchange->request;
    if (exchange->session->local) return true;
    for (unsigned i = 0; i < request->header_count; i++) {
        if (is_of_proxy(request->header[i].name)) return true;
    }
    *refusal = (struct refusal){
        .status = 400,
        .field = "X-Weir-Proxy",
        .words =
            "expected a header that a proxy sets and no web page can, such as proxy_set_header X-Weir-Proxy nginx; "
            "any X-Weir-*, X-Forwarded-Method, X-Forwarded-Uri, X-Original-Method or X-Original-URI will do"};
    return false;
}

/* ---- password ---- */

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* What it decodes to, in out, which has PASSWORD_MAX bytes; what is no base64 ends it. */
static struct slice base64(struct slice text, char *out)
{
    unsigned held = 0, bits = 0;
    size_t size = 0;
    for (size_t i = 0; i < text.size && size < PASSWORD_MAX; i++) {
        const int digit = base64_digit(text.bytes[i]);
        if (digit < 0) break;
        held = (held << 6 | (unsigned)digit) & 0xffffff;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        out[size++] = (char)(unsigned char)(held >> bits);
    }
    return (struct slice){out, size};
}

static struct slice without_blanks(struct slice slice)
{
    while (slice.size != 0 && slice.bytes[0] == ' ') slice = slice_from(slice, 1);
    return slice;
}

/* Behind "user:"; empty where there is no ":". */
static struct slice behind_colon(struct slice slice)
{
    const char *colon = slice.size != 0 ? memchr(slice.bytes, ':', slice.size) : NULL;
    return colon != NULL ? slice_between(colon + 1, slice.bytes + slice.size) : (struct slice){"", 0};
}

static enum access_role role_of_authorization(const struct access *access, struct slice authorization)
{
    const struct slice scheme = {authorization.bytes, 6};
    char decoded[PASSWORD_MAX];
    if (authorization.size > 7 && authorization.bytes[6] == ' ' && slice_is_alike(scheme, slice_of("bearer"))) {
        return access_role(access, without_blanks(slice_from(authorization, 7)));
    }
    if (authorization.size > 6 && authorization.bytes[5] == ' ' &&
        slice_is_alike((struct slice){scheme.bytes, 5}, slice_of("basic"))) {
        return access_role(access, behind_colon(base64(without_blanks(slice_from(authorization, 6)), decoded)));
    }
    return ACCESS_NOBODY;
}

/* A header that comes twice says nothing. */
static enum access_role role_of(const struct exchange *exchange)
{
    const struct access *access = &exchange->batch->access;
    const unsigned times = exchange->times[KNOWN_PASSWORD];
    if (times > 1 || (times == 0 && exchange->times[KNOWN_AUTHORIZATION] != 1)) return ACCESS_NOBODY;
    if (times == 1) return access_role(access, exchange->header[KNOWN_PASSWORD]);
    return role_of_authorization(access, exchange->header[KNOWN_AUTHORIZATION]);
}

/* A proxy that asks /auth forwards its client's Authorization, which is meant for somebody else: X-Weir-Password, where
   there is one, is what counts.  And its client is told nothing that would make a browser ask for weir's password. */
bool gate_password(const struct exchange *exchange, struct refusal *refusal)
{
    if (access_is_open(&exchange->batch->access)) return true;
    if (role_of(exchange) != ACCESS_NOBODY) {
        exchange->session->trusted = true;
        return true;
    }
    if (exchange->flags & HTTP_OF_PROXY) {
        *refusal = (struct refusal){.status = 400,
                                    .field = "X-Weir-Password",
                                    .words = "expected the service's password from the proxy, such as "
                                             "proxy_set_header X-Weir-Password PASSWORD;"};
    } else {
        *refusal = (struct refusal){.status = 401,
                                    .field = "Authorization",
                                    .words = "expected the service's password, such as Authorization: Bearer PASSWORD",
                                    .header = "WWW-Authenticate",
                                    .value = "Basic realm=\"weir\", charset=\"UTF-8\""};
    }
    return false;
}

bool gate_change(struct exchange *exchange)
{
    const bool may_prove = access_has_admin(&exchange->batch->access);
    if (batch_may_change(exchange->batch, exchange->session, may_prove && role_of(exchange) == ACCESS_ADMIN))
        return true;
    struct refusal refusal = {.status = 403,
                              .words = "limits are changed and keys forgotten over a Unix socket, or with "
                                       "admin_password in weir.yaml and Authorization: Bearer PASSWORD"};
    if (may_prove) {
        refusal = (struct refusal){.status = 401,
                                   .field = "Authorization",
                                   .words = "changing limits and forgetting keys needs the admin's password, such as "
                                            "Authorization: Bearer PASSWORD",
                                   .header = "WWW-Authenticate",
                                   .value = "Basic realm=\"weir\", charset=\"UTF-8\""};
    }
    answer_refuse(exchange, &refusal);
    return false;
}
