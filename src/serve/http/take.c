/* SPDX-License-Identifier: MIT
   POST /v1/take and /v1/charge, which ask; /v1/settle and /v1/forget, which correct; /v1/renew and /v1/release, of what
   a take holds under a concurrent limit.

       {"limit": "10/s burst=20", "key": "acme", "cost": 1, "peek": false, "headers": "x"}
       {"verdict":"allow","limit":0,"remaining":19,"delay_ns":0,"retry_ns":0,"full_ns":100000000,"receipt":"..."}

   Numbers are written as they are, up to 2^63 - 1, which stands for all that is more: a reader with 64 bits has them
   exactly, JavaScript to 16 digits, and no client is told to come back too early.  An id is a string of digits.

   200 allowed, 429 refused, 422 never; an unknown field is refused, so that a misspelled one does not pass for its
   default. */
#include <stdio.h>

#include "core/decide.h"
#include "core/num.h"
#include "format/json.h"
#include "serve/http/headers.h"
#include "serve/http/parts.h"

/* A byte of a text or a key takes six as \u0000. */
enum {
    BODY_MAX = RECEIPT_MAX + 5 * (POLICY_TEXT_MAX + POLICY_KEY_MAX) + 512,
    ANSWER_MAX = 512 + HEADERS_MAX + BODY_MAX
};

/* ---- answers ---- */

static void number(struct json *json, const char *name, uint64_t value)
{
    json_number(json, name, least(value, INT64_MAX));
}

static const char *verdict_of(const weir_decision *decision, bool allowed)
{
    if (allowed) return "allow";
    return decision->verdict == WEIR_NEVER ? "never" : "deny";
}

static bool is_plain(struct slice slice)
{
    return slice_plain(slice) == slice.size;
}

static bool is_text(struct slice slice)
{
    size_t at = 0;
    for (size_t size = 1; size != 0 && at < slice.size; at += size) {
        at += slice_plain(slice_from(slice, at));
        size = at < slice.size ? slice_character(slice_from(slice, at)) : 0;
    }
    return at == slice.size;
}

/* Its digits need no escape. */
static void receipt_in_place(struct batch *batch, struct json *json, const struct call *call,
                             const weir_decision *decision)
{
    const struct bytes before = *json->out;
    json_string(json, "receipt", (struct slice){"", 0});
    const size_t begin = --json->out->size;
    receipt_write(batch, json->out, call, decision);
    if (json->out->size != begin) bytes_byte(json->out, '"');
    else *json->out = before; /* nothing could be corrected */
}

static void receipt(struct batch *batch, struct json *json, const struct call *call, const weir_decision *decision)
{
    char memory[RECEIPT_MAX];
    struct bytes text = {.memory = memory, .capacity = sizeof memory};
    if (is_plain(call->limit) && is_plain(batch_key_plain(call))) {
        receipt_in_place(batch, json, call, decision);
    } else if (is_text(call->key)) { /* else JSON would change it, and then it would be none */
        receipt_write(batch, &text, call, decision);
        if (text.size != 0) json_string(json, "receipt", bytes_slice(&text));
    }
}

static void id_of_slots(struct json *json, uint64_t id)
{
    char memory[24];
    struct bytes digits = {.memory = memory, .capacity = sizeof memory};
    bytes_number(&digits, id);
    json_string(json, "id", bytes_slice(&digits));
}

static void write_body(struct batch *batch, struct bytes *out, const struct call *call, const weir_decision *decision,
                       bool allowed)
{
    struct json json = {.out = out};
    json_object(&json, NULL);
    json_text(&json, "verdict", verdict_of(decision, allowed));
    number(&json, "limit", decision->limit);
    number(&json, "remaining", decision->remaining);
    number(&json, "delay_ns", decision->delay_ns);
    number(&json, "retry_ns", decision_retry_ns(decision));
    number(&json, "full_ns", decide_full_ns(batch, call, decision));
    number(&json, "late_ns", decision_late_ns(decision));
    if (call->shadow_denied) json_bool(&json, "shadow", true);
    if (allowed) receipt(batch, &json, call, decision);
    if (decide_id(call, decision) != 0) id_of_slots(&json, decide_id(call, decision));
    json_end_object(&json);
    bytes_byte(out, '\n');
}

static void answer(struct batch *batch, const struct call *call, const weir_decision *decision)
{
    const uint64_t flags = call->detail[0];
    const bool allowed = decision->verdict == WEIR_ALLOW || call->shadow_denied;
    char memory[BODY_MAX];
    struct bytes body = {.memory = memory, .capacity = sizeof memory};
    write_body(batch, &body, call, decision, allowed);
    struct bytes *out = batch_reply(batch, call->session, ANSWER_MAX);
    http_start(out, allowed ? 200 : decision->verdict == WEIR_NEVER ? 422 : 429, !(flags & HTTP_CLOSES));
    http_add(out, "Cache-Control", slice_of("no-store"));
    if (!allowed && decision->verdict == WEIR_DENY) {
        http_add_number(out, "Retry-After", headers_retry_s(decision->retry_ns, call->key, batch->now_ns));
    }
    if (!(flags & HTTP_NO_HEADERS)) headers_ratelimit(out, batch, call, decision);
    if (flags & HTTP_X_HEADERS) headers_x(out, batch, call, decision);
    http_body(out, "application/json", bytes_slice(&body), flags & HTTP_HEAD_ONLY);
}

/* ---- questions ---- */

static bool bad(struct exchange *exchange, const char *field, const char *words)
{
    answer_refuse(exchange, &(struct refusal){.status = 400, .field = field, .words = words});
    return false;
}

/* A value that is text; of a number its digits. */
static struct slice text_of(const struct fields *fields, const char *name)
{
    const struct field *field = fields_find(fields, name);
    if (field == NULL || (field->kind != FIELD_TEXT && field->kind != FIELD_NUMBER)) return (struct slice){"", 0};
    return field->value;
}

static struct slice part_of_key(void *request, const char *name)
{
    return text_of(request, name);
}

static bool limit_and_key(struct exchange *exchange, struct fields *fields, struct call *call)
{
    char problem[200];
    const struct slice limit = text_of(fields, "limit"), key = text_of(fields, "key");
    if (limit.size == 0) return bad(exchange, "limit", "expected the name or the text of a limit; for example 10/s");
    if (!fields_limit(exchange, limit, call)) return false;
    const struct policy_limit *named = call->policy_limit;
    if (key.size == 0 && (named == NULL || (named->parts == 0 && !named->common))) {
        return bad(exchange, "key", "expected the key to count for; for example acme or 192.0.2.1");
    }
    if (key.size != 0) return batch_key(exchange->batch, key, call, problem) || bad(exchange, "key", problem);
    return batch_key_of_fields(exchange->batch, part_of_key, fields, call, problem) || bad(exchange, "key", problem);
}

static bool is_part(const struct policy_limit *named, struct slice name)
{
    for (unsigned i = 0; named != NULL && i < named->parts; i++) {
        if (slice_is(name, slice_of(named->part[i].name))) return true;
    }
    return false;
}

/* known ends with NULL. */
static bool only_known(struct exchange *exchange, const struct fields *fields, const char *const known[],
                       const struct policy_limit *named)
{
    char words[ANSWER_WORDS_MAX];
    for (unsigned i = 0; i < fields->count; i++) {
        const struct slice name = fields->field[i].name;
        bool found = is_part(named, name);
        for (unsigned j = 0; known[j] != NULL && !found; j++) found = slice_is(name, slice_of(known[j]));
        if (found) continue;
        int at = snprintf(words, sizeof words, "unknown field \"%.*s\": expected",
                          (int)(name.size < 64 ? name.size : 64), name.bytes);
        for (unsigned j = 0; known[j] != NULL && at > 0 && (size_t)at < sizeof words; j++) {
            at += snprintf(words + at, sizeof words - (size_t)at, "%s%s", j != 0 ? ", " : " ", known[j]);
        }
        return bad(exchange, "body", words);
    }
    return true;
}

static void ask_route(struct exchange *exchange, bool charge)
{
    static const char *const known[] = {"limit", "key", "cost", "peek", "headers", NULL};
    static const char *const known_of_charge[] = {"limit", "key", "cost", "headers", NULL};
    struct fields fields;
    struct call call = call_start(exchange->session, answer);
    struct costs costs;
    costs_begin(&costs, COST_JSON);
    call.charge = charge;
    if (!fields_of_body(exchange, &fields) || !limit_and_key(exchange, &fields, &call)) return;
    if (!only_known(exchange, &fields, charge ? known_of_charge : known, call.policy_limit)) return;
    const struct field *cost = fields_find(&fields, "cost");
    if (cost != NULL && !fields_costs(exchange, cost, "cost", &costs)) return;
    if (!charge && !fields_peek(exchange, fields_find(&fields, "peek"), &call.peek)) return;
    if (fields_headers(exchange, fields_find(&fields, "headers"))) fields_ask(exchange, &call, &costs);
}

void take_route(struct exchange *exchange)
{
    ask_route(exchange, false);
}

void charge_route(struct exchange *exchange)
{
    ask_route(exchange, true);
}

/* An exchange whose request is not there any more. */
static struct exchange later(struct batch *batch, struct session *session, const struct http_request *request,
                             uint64_t flags)
{
    return (struct exchange){.batch = batch, .session = session, .request = request, .flags = (unsigned)flags};
}

static void answer_forgotten(struct batch *batch, const struct call *call, const weir_decision *decision)
{
    const struct http_request request = {.path = slice_of("/v1/forget")};
    struct exchange exchange = later(batch, call->session, &request, call->detail[0]);
    if (decision->verdict == WEIR_ALLOW) {
        answer_json(&exchange, 200, slice_of("{\"forgotten\":true}\n"));
    } else {
        answer_refuse(&exchange,
                      &(struct refusal){.status = 503, .words = "the engine does not answer: nothing was forgotten"});
    }
}

void forget_route(struct exchange *exchange)
{
    static const char *const known[] = {"limit", "key", NULL};
    struct fields fields;
    struct call call = call_start(exchange->session, answer_forgotten);
    call.detail[0] = exchange->flags;
    if (!gate_change(exchange)) return;
    if (!fields_of_body(exchange, &fields) || !limit_and_key(exchange, &fields, &call)) return;
    if (!only_known(exchange, &fields, known, call.policy_limit)) return;
    batch_settle_queue(exchange->batch);
    decide_forget(exchange->batch, &call);
}

/* ---- slots that are held ---- */

static void answer_held(struct batch *batch, const struct call *call, const weir_decision *decision)
{
    const bool renew = call->detail[1] == HOLD_RENEW, held = decision->verdict == WEIR_ALLOW;
    const struct http_request request = {.path = slice_of(renew ? "/v1/renew" : "/v1/release")};
    struct exchange exchange = later(batch, call->session, &request, call->detail[0]);
    char memory[64];
    struct bytes body = {.memory = memory, .capacity = sizeof memory};
    struct json json = {.out = &body};
    if (decision->verdict == WEIR_NEVER) {
        answer_refuse(&exchange, &(struct refusal){.status = 503,
                                                   .words = "the engine does not answer: nobody knows if it was done"});
        return;
    }
    json_object(&json, NULL);
    json_bool(&json, renew ? "renewed" : "released", held);
    json_end_object(&json);
    bytes_byte(&body, '\n');
    answer_json(&exchange, 200, bytes_slice(&body));
}

static void hold_route(struct exchange *exchange, enum hold hold)
{
    static const char *const known[] = {"limit", "key", "id", NULL};
    struct fields fields;
    uint64_t id;
    struct call call = call_start(exchange->session, answer_held);
    call.detail[0] = exchange->flags;
    call.detail[1] = hold;
    if (!fields_of_body(exchange, &fields) || !limit_and_key(exchange, &fields, &call)) return;
    if (!only_known(exchange, &fields, known, call.policy_limit)) return;
    if (!slice_number(text_of(&fields, "id"), &id)) {
        bad(exchange, "id", "expected the id of a response of /v1/take, a string of digits");
    } else if (!decide_may_hold(&call)) {
        bad(exchange, "limit", DECIDE_HOLDS_NOTHING);
    } else {
        batch_settle_queue(exchange->batch);
        decide_held(exchange->batch, &call, id, hold);
    }
}

void renew_route(struct exchange *exchange)
{
    hold_route(exchange, HOLD_RENEW);
}

void release_route(struct exchange *exchange)
{
    hold_route(exchange, HOLD_RELEASE);
}

/* ---- receipts ---- */

static void answer_settled(struct batch *batch, struct session *session, uint64_t detail, enum receipt_result result,
                           const char *problem)
{
    const struct http_request request = {.path = slice_of("/v1/settle")};
    struct exchange exchange = later(batch, session, &request, detail);
    const char *words =
        result == RECEIPT_AGAIN ? "{\"settled\":false,\"again\":true}\n" : "{\"settled\":true,\"again\":false}\n";
    if (session == NULL) return;
    if (result == RECEIPT_REFUSED) bad(&exchange, "receipt", problem);
    else answer_json(&exchange, 200, slice_of(words));
}

void settle_route(struct exchange *exchange)
{
    static const char *const known[] = {"receipt", "actual", NULL};
    struct fields fields;
    struct receipt_used settled = {.answer = answer_settled, .detail = exchange->flags};
    if (!fields_of_body(exchange, &fields) || !only_known(exchange, &fields, known, NULL)) return;
    const struct slice text = text_of(&fields, "receipt");
    const struct field *used = fields_find(&fields, "actual");
    if (text.size == 0) {
        bad(exchange, "receipt", "expected the receipt of a response of /v1/take");
        return;
    }
    if (used == NULL) {
        bad(exchange, "actual", "expected the actual cost: a whole number, or one for each limit; for example 5");
        return;
    }
    if (fields_costs(exchange, used, "actual", &settled.costs))
        receipt_settle(exchange->batch, exchange->session, text, &settled);
}
