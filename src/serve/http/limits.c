/* SPDX-License-Identifier: MIT
   /v1/limits: the limits that have a name, told, defined and removed.

   A definition holds for the requests behind it. */
#include <stdio.h>

#include "format/json.h"
#include "serve/http/parts.h"

enum { LIST_MAX = 4 << 20 };

/* ---- told ---- */

static void write_parts(struct json *json, const struct policy_limit *limit)
{
    char part[POLICY_NAME_MAX + 32];
    if (limit->common) {
        json_null(json, "key");
        return;
    }
    json_array(json, "key");
    for (unsigned i = 0; i < limit->parts; i++) {
        const struct policy_part *of = &limit->part[i];
        static const char *const path[] = {"", "/normal", "/lower"};
        if (of->address) snprintf(part, sizeof part, "%s/%d/%d", of->name, of->bits_v4, of->bits_v6);
        else snprintf(part, sizeof part, "%s%s", of->name, path[of->path]);
        json_text(json, NULL, part);
    }
    json_end_array(json);
}

static void write_limit(struct json *json, const struct policy_limit *limit)
{
    char text[4 * POLICY_TEXT_MAX];
    weir_plan_text(&limit->plan, text, sizeof text);
    json_object(json, NULL);
    json_text(json, "name", limit->name);
    json_text(json, "limit", text);
    write_parts(json, limit);
    json_bool(json, "shadow", limit->shadow);
    json_number(json, "exempt", limit->exempt_count);
    json_number(json, limit->others != NULL ? "tenants" : "overrides", limit->override_count);
    json_end_object(json);
}

static void write_list(struct exchange *exchange, struct bytes *out)
{
    struct json json = {.out = out};
    const struct policy *policy = exchange->batch->policy;
    json_object(&json, NULL);
    json_array(&json, "limits");
    for (unsigned i = 0; policy != NULL && i < policy->limit_count; i++) {
        json_line(&json);
        write_limit(&json, &policy->limit[i]);
    }
    bytes_text(out, "\n]}\n");
}

void limits_list(struct exchange *exchange)
{
    answer_written(exchange, "application/json", LIST_MAX, write_list);
}

/* ---- changed ---- */

/* text NULL: removes it. */
static bool define(struct exchange *exchange, struct slice name, const char *text)
{
    weir_error error = {0};
    batch_works(exchange->batch, BATCH_LONG_WORK);
    batch_settle_queue(exchange->batch);
    if (service_define(exchange->batch->service, name, text, &error) == 0) {
        batch_look_at_policy(exchange->batch);
        return true;
    }
    answer_refuse(exchange, &(struct refusal){.status = error.code == WEIR_ENOMEM ? 503 : 400,
                                              .field = error.column > 0 ? "limit" : "name",
                                              .column = error.column > 0 ? (size_t)error.column : 0,
                                              .words = error.message});
    return false;
}

static struct slice text_of(const struct fields *fields, const char *name)
{
    const struct field *field = fields_find(fields, name);
    return field != NULL && field->kind == FIELD_TEXT ? field->value : (struct slice){"", 0};
}

static bool only_name_and_limit(const struct fields *fields)
{
    for (unsigned i = 0; i < fields->count; i++) {
        const struct slice name = fields->field[i].name;
        if (!slice_is(name, slice_of("name")) && !slice_is(name, slice_of("limit"))) return false;
    }
    return true;
}

void limits_define(struct exchange *exchange)
{
    char text[POLICY_TEXT_MAX + 1];
    struct fields fields;
    if (!gate_change(exchange) || !fields_of_body(exchange, &fields)) return;
    const struct slice name = text_of(&fields, "name"), limit = text_of(&fields, "limit");
    struct refusal refusal = {.status = 400, .field = "body"};
    if (name.size == 0 || limit.size == 0 || !only_name_and_limit(&fields)) {
        refusal.words = "expected name and limit, and nothing else; for example {\"name\":\"api\",\"limit\":\"10/s\"}";
        answer_refuse(exchange, &refusal);
    } else if (limit.size > POLICY_TEXT_MAX || memchr(limit.bytes, '\0', limit.size) != NULL) {
        refusal.field = "limit";
        refusal.words = "expected at most 1024 bytes and no NUL; for example 10/s burst=20";
        answer_refuse(exchange, &refusal);
    } else {
        memcpy(text, limit.bytes, limit.size);
        text[limit.size] = '\0';
        if (define(exchange, name, text)) answer_json(exchange, 200, slice_of("{\"defined\":true}\n"));
    }
}

/* Behind /v1/limits/, as a client may have written it: a name's ":" and "/" may come as %3A and %2F. */
static bool name_of_path(struct exchange *exchange, struct fields *fields, struct slice *name)
{
    struct fields_problem problem;
    const struct slice rest = slice_from(exchange->request->path, strlen("/v1/limits/"));
    char *form = fields_room(exchange, rest.size + 2);
    char *room = form != NULL ? fields_room(exchange, rest.size + 2) : NULL;
    if (room == NULL) return false;
    form[0] = 'n';
    form[1] = '=';
    memcpy(form + 2, rest.bytes, rest.size);
    struct bytes decoded = {.memory = room, .capacity = rest.size + 2};
    const bool read = fields_read_form((struct slice){form, rest.size + 2}, &decoded, fields, &problem);
    *name = read && fields->count == 1 ? fields->field[0].value : (struct slice){"", 0};
    return true;
}

void limits_remove(struct exchange *exchange)
{
    struct fields fields;
    struct slice name;
    if (!gate_change(exchange) || !name_of_path(exchange, &fields, &name)) return;
    if (exchange->batch->policy == NULL || policy_find(exchange->batch->policy, name) == NULL) {
        answer_refuse(
            exchange,
            &(struct refusal){.status = 404, .field = "name", .words = "no limit has this name; see GET /v1/limits"});
        return;
    }
    if (define(exchange, name, NULL)) answer_json(exchange, 200, slice_of("{\"removed\":true}\n"));
}
