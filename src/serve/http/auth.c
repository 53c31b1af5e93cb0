/* SPDX-License-Identifier: MIT
   /auth, which a proxy asks before it lets a request through: nginx by auth_request, Traefik and Caddy by
   forward-auth.

       GET /auth?limit=api&status=403          GET /auth
       X-Real-IP: 192.0.2.1                    X-Weir-Limit: 10/s burst=20
                                               X-Weir-Key: 192.0.2.1

   Proxies pass on what their clients send, so a header may be the client's own work; the query is not, as it stands in
   the proxy's configuration.  So:
     - what the query says counts, and a header that says it once more is refused;
     - where a limit has parts of a key (weir.yaml), nobody gives its key whole by a header;
     - a header that comes twice is refused, since nobody knows which is the proxy's;
     - of X-Forwarded-For the last address is taken: the proxy that asks has added it, those before are hearsay;
     - a cost is at least 1;
     - that nothing is taken (peek) only the query says;
     - a concurrent limit is none for a proxy, which does not say when what it let through ends.
   Every header that is read here has to be set by the proxy; those that it does not set are its clients' to set.

   nginx understands 2xx, 401 and 403 only and makes a 500 of all else.  With status=403 a refusal is a 403 whose
   X-Weir-Status (429) says what it means, for auth_request_set and error_page.  What is wrong with the question is 400:
   nobody gets in by it.

   2xx only where the limit lets through. */
#include <stdio.h>

#include "serve/http/headers.h"
#include "serve/http/parts.h"

enum { BODY_MAX = 128, ANSWER_MAX = 768 + HEADERS_MAX, NAME_MAX = POLICY_NAME_MAX + sizeof "X-Weir-" };

/* ---- answers ---- */

static unsigned status_of(const weir_decision *decision, bool allowed)
{
    if (allowed) return 200;
    return decision->verdict == WEIR_DENY ? 429 : 403; /* what never passes need not come again */
}

static void write_words(struct bytes *out, unsigned status, uint64_t retry_s)
{
    if (status == 403) bytes_text(out, "not allowed\n");
    if (status != 429) return;
    bytes_text(out, "too many requests: again in ");
    bytes_number(out, retry_s);
    bytes_text(out, " s\n");
}

static void answer(struct batch *batch, const struct call *call, const weir_decision *decision)
{
    const uint64_t flags = call->detail[0];
    const unsigned status = status_of(decision, decision->verdict == WEIR_ALLOW || call->shadow_denied);
    const bool as_403 = status == 429 && flags & HTTP_AS_403;
    const uint64_t retry_s = status == 429 ? headers_retry_s(decision->retry_ns, call->key, batch->now_ns) : 0;
    char memory[BODY_MAX];
    struct bytes body = {.memory = memory, .capacity = sizeof memory};
    write_words(&body, status, retry_s);
    struct bytes *out = batch_reply(batch, call->session, ANSWER_MAX);
    http_start(out, as_403 ? 403 : status, !(flags & HTTP_CLOSES));
    http_add(out, "Cache-Control", slice_of("no-store"));
    if (status != 200) http_add_number(out, "X-Weir-Status", status);
    if (call->shadow_denied) http_add(out, "X-Weir-Shadow", slice_of("deny"));
    if (status == 429) http_add_number(out, "Retry-After", retry_s);
    if (!(flags & HTTP_NO_HEADERS)) headers_ratelimit(out, batch, call, decision);
    if (flags & HTTP_X_HEADERS) headers_x(out, batch, call, decision);
    http_body(out, "text/plain", bytes_slice(&body), flags & HTTP_HEAD_ONLY);
}

/* ---- what the proxy says ---- */

struct asking {
    struct exchange *exchange;
    struct fields query;
    const char *twice; /* the name of a header that came more than once */
};

static bool bad(struct exchange *exchange, const char *field, const char *words)
{
    answer_refuse(exchange, &(struct refusal){.status = 400, .field = field, .words = words});
    return false;
}

/* false: it does not say it.  It may say that it is empty, which is no word for the client, either. */
static bool query_says(const struct asking *asking, const char *name, struct slice *value)
{
    const struct field *field = asking->query.count != 0 ? fields_find(&asking->query, name) : NULL;
    *value = field != NULL ? field->value : (struct slice){"", 0};
    return field != NULL;
}

static struct slice in_query(const struct asking *asking, const char *name)
{
    struct slice value;
    query_says(asking, name, &value);
    return value;
}

/* From the query or the header, and not from both. */
static bool said(struct asking *asking, const char *name, enum http_known known, const char *header,
                 struct slice *value)
{
    struct exchange *exchange = asking->exchange;
    const bool by_query = query_says(asking, name, value);
    if (exchange->times[known] == 0) return true;
    if (by_query) return bad(exchange, header, "the query has this already: expected no such header as well");
    if (exchange->times[known] > 1) return bad(exchange, header, "expected it once: which one is the proxy's?");
    *value = exchange->header[known];
    return true;
}

/* ---- parts of a key ---- */

static struct slice only_one(struct asking *asking, struct slice value, unsigned count)
{
    if (count > 1 && asking->twice == NULL) asking->twice = "a header that the key is made of";
    return count == 1 ? value : (struct slice){"", 0};
}

static struct slice header_once(struct asking *asking, const char *name)
{
    unsigned count = 0;
    const struct slice value = http_header(asking->exchange->request, name, &count);
    return only_one(asking, value, count);
}

static struct slice either_header(struct asking *asking, const char *name, const char *other)
{
    const struct slice value = header_once(asking, name);
    return value.size != 0 ? value : header_once(asking, other);
}

/* "198.51.100.7, 192.0.2.1" -> "192.0.2.1".  Blanks at the end are no part of a header's value. */
static struct slice last_of_list(struct slice list)
{
    size_t start = list.size;
    while (start > 0 && list.bytes[start - 1] != ',') start--;
    while (start < list.size && list.bytes[start] == ' ') start++;
    return slice_from(list, start);
}

static struct slice address_of(struct asking *asking)
{
    const struct exchange *exchange = asking->exchange;
    const struct slice real = only_one(asking, exchange->header[KNOWN_REAL_IP], exchange->times[KNOWN_REAL_IP]);
    return real.size != 0 ? real : last_of_list(exchange->header[KNOWN_FORWARDED_FOR]);
}

static struct slice until_query(struct slice uri)
{
    const char *end = uri.size != 0 ? memchr(uri.bytes, '?', uri.size) : NULL;
    return end != NULL ? slice_between(uri.bytes, end) : uri;
}

static struct slice of_weir(struct asking *asking, const char *name)
{
    char header[NAME_MAX];
    snprintf(header, sizeof header, "X-Weir-%s", name);
    return header_once(asking, header);
}

static struct slice part_of_key(void *request, const char *name)
{
    struct asking *asking = request;
    struct slice value;
    if (query_says(asking, name, &value)) return value;
    if (strcmp(name, "address") == 0) return address_of(asking);
    if (strcmp(name, "host") == 0) return header_once(asking, "X-Forwarded-Host");
    if (strcmp(name, "method") == 0) return either_header(asking, "X-Forwarded-Method", "X-Original-Method");
    if (strcmp(name, "path") == 0) return until_query(either_header(asking, "X-Forwarded-Uri", "X-Original-URI"));
    if (strncmp(name, "header.", 7) == 0) return header_once(asking, name + 7);
    return of_weir(asking, name);
}

/* ---- the question ---- */

static bool key_of_parts(struct asking *asking, struct call *call)
{
    char problem[200];
    struct exchange *exchange = asking->exchange;
    if (exchange->times[KNOWN_KEY] != 0) {
        return bad(exchange, "X-Weir-Key", "weir.yaml says what this limit's key is made of: expected no X-Weir-Key");
    }
    const bool made = batch_key_of_fields(exchange->batch, part_of_key, asking, call, problem);
    if (asking->twice != NULL) return bad(exchange, asking->twice, "expected it once: which one is the proxy's?");
    return made || bad(exchange, "key", problem);
}

static bool find_key(struct asking *asking, struct call *call)
{
    char problem[200];
    struct exchange *exchange = asking->exchange;
    const struct policy_limit *named = call->policy_limit;
    struct slice key = in_query(asking, "key");
    if (key.size == 0 && named != NULL && (named->parts != 0 || named->common)) return key_of_parts(asking, call);
    if (!said(asking, "key", KNOWN_KEY, "X-Weir-Key", &key)) return false;
    if (key.size == 0) {
        return bad(exchange, "X-Weir-Key",
                   "expected the key to count for, such as proxy_set_header X-Weir-Key $remote_addr; or &key=");
    }
    return batch_key(exchange->batch, key, call, problem) || bad(exchange, "key", problem);
}

static bool find_costs(struct asking *asking, struct costs *costs)
{
    struct slice text;
    if (!said(asking, "cost", KNOWN_COST, "X-Weir-Cost", &text)) return false;
    costs_begin(costs, COST_FIELD);
    if (text.size == 0) return true;
    const struct field field = {.kind = FIELD_TEXT, .value = text};
    if (!fields_costs(asking->exchange, &field, "cost", costs)) return false;
    for (unsigned i = 0; i < costs->count; i++) {
        if (costs->number[i] == 0)
            return bad(asking->exchange, "cost", "expected at least 1, or nothing would be counted");
    }
    return true;
}

static bool find_options(struct asking *asking, struct call *call)
{
    struct exchange *exchange = asking->exchange;
    const struct slice status = in_query(asking, "status");
    if (slice_is(status, slice_of("403"))) exchange->flags |= HTTP_AS_403;
    else if (status.size != 0 && !slice_is(status, slice_of("429")))
        return bad(exchange, "status", "expected 403 or 429");
    return fields_peek(exchange, fields_find(&asking->query, "peek"), &call->peek) &&
           fields_headers(exchange, fields_find(&asking->query, "headers"));
}

void auth_route(struct exchange *exchange)
{
    struct asking asking; /* fields have no need to be zeroed */
    struct slice limit;
    struct costs costs;
    struct call call = call_start(exchange->session, answer);
    asking.exchange = exchange;
    asking.twice = NULL;
    if (!fields_of_query(exchange, &asking.query) || !find_options(&asking, &call)) return;
    if (!said(&asking, "limit", KNOWN_LIMIT, "X-Weir-Limit", &limit)) return;
    if (limit.size == 0) {
        bad(exchange, "limit", "expected the name or the text of a limit: /auth?limit=api, or X-Weir-Limit: 10/s");
        return;
    }
    if (!fields_limit(exchange, limit, &call) || !find_key(&asking, &call)) return;
    if (decide_may_hold(&call)) {
        bad(exchange, "limit",
            "expected a limit that is not concurrent: a proxy does not say when a request ends, so nobody would "
            "release what is held; ask /v1/take and /v1/release where it runs");
        return;
    }
    if (find_costs(&asking, &costs)) fields_ask(exchange, &call, &costs);
}
