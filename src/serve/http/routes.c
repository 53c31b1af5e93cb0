/* SPDX-License-Identifier: MIT
   Which path and method goes where; the page, figures and health.

   Every request has one answer, in its place; a HEAD is a GET without its body. */
#include <stdio.h>

#include "serve/http/parts.h"
#include "serve/protocols.h"
#include "serve/stats/text.h"

enum { PAGE_PATH_MAX = 64, OPEN = 1, FOR_PROXIES = 2, WITH_NAME = 4 };

/* ---- small ones ---- */

static void health_route(struct exchange *exchange)
{
    answer_json(exchange, 200, slice_of("{\"alive\":true}\n"));
}

static void ready_route(struct exchange *exchange)
{
    if (atom_load(&exchange->batch->service->draining) == 0) answer_json(exchange, 200, slice_of("{\"ready\":true}\n"));
    else
        answer_refuse(exchange, &(struct refusal){.status = 503,
                                                  .words = "stopping: only requests that have begun are answered"});
}

static void write_metrics(struct exchange *exchange, struct bytes *out)
{
    stats_write_metrics(exchange->batch->service, out);
}

static void metrics_route(struct exchange *exchange)
{
    answer_written(exchange, STATS_METRICS_TYPE, STATS_METRICS_MAX, write_metrics);
}

/* since=N: the samples behind that one. */
static void write_stats(struct exchange *exchange, struct bytes *out)
{
    uint64_t since = 0;
    const struct slice query = exchange->request->query, name = slice_of("since=");
    if (slice_begins(query, name) && !slice_number(slice_from(query, name.size), &since)) since = 0;
    stats_write_json(exchange->batch->service, since, out);
}

static void stats_route(struct exchange *exchange)
{
    answer_written(exchange, "application/json", STATS_JSON_MAX, write_stats);
}

static void write_top(struct exchange *exchange, struct bytes *out)
{
    stats_write_top(exchange->batch->service, out);
}

static void top_route(struct exchange *exchange)
{
    answer_written(exchange, "application/json", STATS_TOP_MAX, write_top);
}

/* false: there is no such page. */
static bool page_of(struct slice path, struct answer_body *body)
{
    char name[PAGE_PATH_MAX + 1];
    if (path.size > PAGE_PATH_MAX) return false;
    memcpy(name, path.bytes, path.size);
    name[path.size] = '\0';
    if (strlen(name) != path.size) return false;
    body->bytes = live_page(name, &body->type, &body->policy);
    return body->bytes.size != 0;
}

static void page_route(struct exchange *exchange)
{
    struct answer_body body = {.type = "text/html"};
    if (page_of(exchange->request->path, &body)) answer_long(exchange, &body);
}

/* ---- the table ---- */

struct route {
    const char *path;
    const char *allow; /* methods, as the header Allow has them; NULL: any */
    unsigned kind;     /* OPEN: no password; FOR_PROXIES: /auth; WITH_NAME: path is where a name begins */
    void (*get)(struct exchange *), (*post)(struct exchange *), (*remove)(struct exchange *);
};

static const struct route routes[] = {
    {"/auth", NULL, FOR_PROXIES, auth_route, auth_route, auth_route},
    {"/v1/take", "POST", 0, NULL, take_route, NULL},
    {"/v1/charge", "POST", 0, NULL, charge_route, NULL},
    {"/v1/settle", "POST", 0, NULL, settle_route, NULL},
    {"/v1/renew", "POST", 0, NULL, renew_route, NULL},
    {"/v1/release", "POST", 0, NULL, release_route, NULL},
    {"/v1/forget", "POST", 0, NULL, forget_route, NULL},
    {"/v1/limits", "GET, HEAD, POST", 0, limits_list, limits_define, NULL},
    {"/v1/limits/", "DELETE", WITH_NAME, NULL, NULL, limits_remove},
    {"/v1/stats", "GET, HEAD", 0, stats_route, NULL, NULL},
    {"/v1/top", "GET, HEAD", 0, top_route, NULL, NULL},
    {"/metrics", "GET, HEAD", 0, metrics_route, NULL, NULL},
    {"/healthz", "GET, HEAD", OPEN, health_route, NULL, NULL},
    {"/readyz", "GET, HEAD", OPEN, ready_route, NULL, NULL},
};
static const struct route page = {"/", "GET, HEAD", 0, page_route, NULL, NULL};

static bool is_route(const struct route *route, struct slice path)
{
    const struct slice own = slice_of(route->path);
    if (route->kind & WITH_NAME) return path.size > own.size && slice_begins(path, own);
    return slice_is(path, own);
}

static const struct route *route_of(struct slice path)
{
    struct answer_body ignored;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (is_route(&routes[i], path)) return &routes[i];
    }
    return page_of(path, &ignored) ? &page : NULL;
}

static void (*handler_of(const struct route *route, enum http_method method))(struct exchange *)
{
    if (route->allow == NULL) return route->get;
    switch (method) {
    case HTTP_IS_GET:
    case HTTP_IS_HEAD:
        return route->get;
    case HTTP_IS_POST:
        return route->post;
    case HTTP_IS_DELETE:
        return route->remove;
    default:
        return NULL;
    }
}

/* A proxy passes on its client's Origin, which is about somebody else. */
static bool may_come_in(struct exchange *exchange, unsigned kind, struct refusal *refusal)
{
    if (!gate_host(exchange, refusal)) return false;
    if (!(kind & FOR_PROXIES ? gate_proxy : gate_origin)(exchange, refusal)) return false;
    return kind & OPEN || gate_password(exchange, refusal);
}

static void name_paths(char words[ANSWER_WORDS_MAX])
{
    size_t size = (size_t)snprintf(words, ANSWER_WORDS_MAX, "nothing here; there is the page at /");
    for (size_t i = 0; i < sizeof routes / sizeof *routes && size < ANSWER_WORDS_MAX; i++) {
        const struct route *route = &routes[i];
        size += (size_t)snprintf(words + size, ANSWER_WORDS_MAX - size, ", %s%s (%s)", route->path,
                                 route->kind & WITH_NAME ? "NAME" : "", route->allow != NULL ? route->allow : "any");
    }
}

static void find_and_do(struct exchange *exchange)
{
    char words[ANSWER_WORDS_MAX];
    const struct route *route = route_of(exchange->request->path);
    struct refusal refusal = {.status = 404, .words = words};
    if (route == NULL) name_paths(words);
    if (route != NULL && route->kind & FOR_PROXIES) exchange->flags |= HTTP_OF_PROXY;
    const bool inside = may_come_in(exchange, route != NULL ? route->kind : 0, &refusal);
    void (*handler)(struct exchange *) = route != NULL ? handler_of(route, exchange->request->method) : NULL;
    if (inside && handler != NULL) {
        handler(exchange);
        return;
    }
    if (inside && route != NULL) {
        snprintf(words, sizeof words, "method not allowed for this path: expected %s", route->allow);
        refusal = (struct refusal){
            .status = 405, .field = "method", .words = words, .header = "Allow", .value = route->allow};
    }
    answer_refuse(exchange, &refusal);
}

void http_route(struct batch *batch, struct session *session, const struct http_request *request)
{
    struct exchange exchange; /* gate_gather does the rest */
    exchange.batch = batch;
    exchange.session = session;
    exchange.request = request;
    exchange.flags = request->keep_alive ? 0 : HTTP_CLOSES;
    if (request->method == HTTP_IS_HEAD) exchange.flags |= HTTP_HEAD_ONLY;
    gate_gather(&exchange);
    find_and_do(&exchange);
}
