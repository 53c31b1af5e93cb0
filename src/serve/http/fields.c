/* SPDX-License-Identifier: MIT
   From the fields of a query, a form or an object of JSON to a question.

   What is not understood is refused with the name of its field; what is kept lives until the batch's end. */
#include "serve/http/headers.h"
#include "serve/http/parts.h"

/* ---- reading ---- */

char *fields_room(struct exchange *exchange, size_t size)
{
    struct batch *batch = exchange->batch;
    char *room = bytes_room(&batch->scratch, size);
    if (room != NULL) return room;
    batch->scratch.full = false;
    answer_refuse(exchange, &(struct refusal){.status = 503, .words = "too much at once; try again"});
    return NULL;
}

typedef bool (*reader)(struct slice, struct bytes *, struct fields *, struct fields_problem *);

static bool read_fields(struct exchange *exchange, reader read, struct slice text, struct fields *fields,
                        const char *where)
{
    struct fields_problem problem;
    fields->count = 0;
    if (text.size == 0 && read == fields_read_form) return true;
    struct bytes room = {.memory = fields_room(exchange, text.size), .capacity = text.size};
    if (room.memory == NULL) return false;
    if (read(text, &room, fields, &problem)) return true;
    answer_refuse(exchange,
                  &(struct refusal){.status = 400, .field = where, .column = problem.column, .words = problem.words});
    return false;
}

bool fields_of_query(struct exchange *exchange, struct fields *fields)
{
    return read_fields(exchange, fields_read_form, exchange->request->query, fields, "query");
}

/* Without its parameters. */
static bool is_type(struct slice value, const char *type)
{
    size_t size = 0;
    if (slice_is(value, slice_of(type))) return true; /* as nearly all write it */
    while (size < value.size && value.bytes[size] != ';' && value.bytes[size] != ' ') size++;
    return slice_is_alike((struct slice){value.bytes, size}, slice_of(type));
}

bool fields_of_body(struct exchange *exchange, struct fields *fields)
{
    const struct slice type = exchange->header[KNOWN_TYPE], body = exchange->request->body;
    if (is_type(type, "application/json")) return read_fields(exchange, fields_read_json, body, fields, "body");
    struct refusal refusal = {.status = 415, .field = "Content-Type"};
    if (!is_type(type, "application/x-www-form-urlencoded")) {
        refusal.words = "expected Content-Type: application/json or application/x-www-form-urlencoded; for example "
                        "curl -d limit=10/s -d key=acme, or curl --json '{\"limit\":\"10/s\",\"key\":\"acme\"}'";
        answer_refuse(exchange, &refusal);
        return false;
    }
    if (body.size == 0 || body.bytes[0] != '{') return read_fields(exchange, fields_read_form, body, fields, "body");
    refusal.words = "this is JSON, but the Content-Type says a form: expected Content-Type: application/json, as "
                    "curl --json sends it";
    answer_refuse(exchange, &refusal);
    return false;
}

/* ---- values ---- */

static bool bad(struct exchange *exchange, const char *field, const char *words)
{
    answer_refuse(exchange, &(struct refusal){.status = 400, .field = field, .words = words});
    return false;
}

bool fields_limit(struct exchange *exchange, struct slice name_or_text, struct call *call)
{
    const char *code = "";
    weir_error error;
    error.column = 0; /* zeroing the whole takes long to begin */
    if (batch_limit(exchange->batch, name_or_text, call, &code, &error)) return true;
    const bool unknown = strcmp(code, "NOLIMIT") == 0;
    /* 403 would tell nginx that its client has been refused. */
    const bool forbidden = strcmp(code, "NOPERM") == 0 && !(exchange->flags & HTTP_OF_PROXY);
    answer_refuse(exchange, &(struct refusal){.status = unknown     ? 404
                                                        : forbidden ? 403
                                                                    : 400,
                                              .field = "limit",
                                              .column = error.column > 0 ? (size_t)error.column : 0,
                                              .words = error.message});
    return false;
}

bool fields_costs(struct exchange *exchange, const struct field *field, const char *name, struct costs *costs)
{
    const bool numbers = field->kind == FIELD_NUMBER || field->kind == FIELD_NUMBERS;
    const bool text = field->kind == FIELD_TEXT || field->kind == FIELD_UNITS;
    bool read = numbers && field->numbers != 0;
    costs_begin(costs, field->kind == FIELD_TEXT ? COST_FIELD : COST_JSON);
    for (unsigned i = 0; numbers && i < field->numbers; i++) read = read && costs_add(costs, NULL, field->number[i]);
    if (text) read = costs_of_text(field->value, costs);
    if (read) return true;
    return bad(exchange, name,
               "expected a whole number, one for each limit, or by unit; for example 5 or 5,10 or tokens=812 (JSON: "
               "[5,10] or {\"tokens\":812})");
}

bool fields_headers(struct exchange *exchange, const struct field *field)
{
    if (field == NULL) return true;
    if (field->kind == FIELD_TEXT && slice_is(field->value, slice_of("x"))) exchange->flags |= HTTP_X_HEADERS;
    else if (field->kind == FIELD_TEXT && slice_is(field->value, slice_of("none"))) exchange->flags |= HTTP_NO_HEADERS;
    else return bad(exchange, "headers", "expected x, for X-RateLimit-* too, or none");
    return true;
}

bool fields_peek(struct exchange *exchange, const struct field *field, bool *peek)
{
    static const char *const yes[] = {"true", "1"}, *const no[] = {"false", "0"};
    *peek = false;
    if (field == NULL) return true;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        if (slice_is(field->value, slice_of(yes[i]))) *peek = true;
        if (*peek || slice_is(field->value, slice_of(no[i]))) return true;
    }
    return bad(exchange, "peek", "expected true or false; true takes nothing");
}

/* ---- asking ---- */

void fields_ask(struct exchange *exchange, struct call *call, const struct costs *costs)
{
    uint64_t each[WEIR_LIMITS_MAX];
    weir_error error;
    if (!batch_costs(call, costs, each, &error)) {
        bad(exchange, "cost", error.message);
        return;
    }
    call->detail[0] = exchange->flags;
    batch_take(exchange->batch, call, each);
    if (!(exchange->flags & HTTP_NO_HEADERS) && headers_ask_table(call)) batch_settle_queue(exchange->batch);
}
