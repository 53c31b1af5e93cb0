/* SPDX-License-Identifier: MIT
   What a replay came to, as one JSON object.

   Valid JSON in UTF-8, whatever keys are made of. */
#include <string.h>

#include "cli/common/json.h"
#include "cli/replay/fleet/fleet.h"
#include "cli/replay/replay.h"

static void put_number(struct json *json, const char *name, uint64_t number)
{
    json_text(json, ",\"");
    json_text(json, name);
    json_text(json, "\":");
    json_number(json, number);
}

static void put_string(struct json *json, const char *name, const char *bytes, size_t size)
{
    json_text(json, ",\"");
    json_text(json, name);
    json_text(json, "\":");
    json_string(json, bytes, size);
}

static void put_bool(struct json *json, const char *name, bool value)
{
    json_text(json, ",\"");
    json_text(json, name);
    json_text(json, value ? "\":true" : "\":false");
}

static void put_top(struct json *json, const struct replay_limit *limit)
{
    json_text(json, ",\"top\":[");
    for (unsigned i = 0; i < limit->top_count; i++) {
        const struct replay_client *client = &limit->top[i];
        json_text(json, i == 0 ? "{\"key\":" : ",{\"key\":");
        json_string(json, client->key, client->key_size);
        put_number(json, "requests", client->requests);
        put_number(json, "denied", client->denied);
        put_number(json, "delayed", client->delayed);
        json_text(json, "}");
    }
    json_text(json, "]");
}

static void put_limit(struct json *json, const struct replay_result *result, const struct replay_limit *limit)
{
    json_text(json, "{\"limit\":");
    json_string(json, limit->text, strlen(limit->text));
    put_string(json, "canonical", limit->canonical, strlen(limit->canonical));
    put_number(json, "allowed", limit->allowed);
    put_number(json, "denied", limit->denied);
    if (result->whole_seconds) put_number(json, "denied_spread", limit->denied_spread);
    put_number(json, "delayed", limit->delayed);
    put_number(json, "keys", result->clients);
    put_number(json, "keys_denied", limit->clients_denied);
    put_number(json, "keys_delayed", limit->clients_delayed);
    put_number(json, "delay_p99_ns", limit->delay_p99_ns);
    put_number(json, "delay_max_ns", limit->delay_max_ns);
    if (limit->unaffected_burst != 0) put_number(json, "unaffected_burst", limit->unaffected_burst);
    put_top(json, limit);
}

static void put_busiest(struct json *json, const char *name, const struct replay_busiest *busiest)
{
    json_text(json, ",\"");
    json_text(json, name);
    json_text(json, "\":{\"p50\":");
    json_number(json, busiest->p50);
    put_number(json, "p99", busiest->p99);
    put_number(json, "max", busiest->max);
    if (busiest->max_key != NULL) put_string(json, "max_key", busiest->max_key, busiest->max_key_size);
    json_text(json, "}");
}

static void put_counts(struct json *json, const char *name, const uint64_t *counts, unsigned count)
{
    json_text(json, name);
    for (unsigned i = 0; i < count; i++) {
        if (i > 0) json_text(json, ",");
        json_number(json, counts[i]);
    }
    json_text(json, "]");
}

static void put_series(struct json *json, const struct replay_result *result)
{
    const struct replay_series *series = &result->series;
    json_text(json, ",\"series\":{\"first_ns\":");
    json_number(json, series->first_ns);
    put_number(json, "step_ns", series->step_ns);
    put_counts(json, ",\"offered\":[", series->offered, series->count);
    json_text(json, ",\"limits\":[");
    for (int i = 0; i < result->limits; i++) {
        put_counts(json, i == 0 ? "{\"denied\":[" : ",{\"denied\":[", series->limit[i].denied, series->count);
        put_counts(json, ",\"delayed\":[", series->limit[i].delayed, series->count);
        json_text(json, "}");
    }
    json_text(json, "]}");
}

static void put_charged(struct json *json, const struct replay_charged *charge)
{
    json_text(json, ",\"charge\":{\"limit\":");
    json_string(json, charge->limit, strlen(charge->limit));
    put_number(json, "charged", charge->charged);
    put_number(json, "refused", charge->refused);
    put_number(json, "lost", charge->lost);
    put_number(json, "outages", charge->outages);
    json_text(json, "}");
}

void report_json(const struct replay_result *result)
{
    struct json buffered, *json = &buffered;
    json->out = stdout;
    json->filled = 0;
    json_text(json, "{\"requests\":");
    json_number(json, result->requests);
    put_number(json, "malformed", result->malformed);
    put_number(json, "late", result->late);
    put_number(json, "keys", result->clients);
    if (result->key_name != NULL) put_string(json, "key", result->key_name, strlen(result->key_name));
    put_number(json, "first_ns", result->first_ns);
    put_number(json, "last_ns", result->last_ns);
    put_number(json, "resolution_ns", result->resolution_ns);
    put_bool(json, "timestamps_are_ends", result->timestamps_are_ends);
    json_text(json, ",\"limits\":[");
    for (int i = 0; i < result->limits; i++) {
        if (i > 0) json_text(json, ",");
        put_limit(json, result, &result->limit[i]);
        if (result->fleet != NULL) fleet_json_limit(result->fleet, i, json);
        json_text(json, "}");
    }
    json_text(json, "]");
    if (result->fleet != NULL) fleet_json(result->fleet, json);
    if (result->charge.limit != NULL) put_charged(json, &result->charge);
    put_busiest(json, "busiest_second", &result->second);
    put_busiest(json, "busiest_minute", &result->minute);
    if (result->series.count != 0) put_series(json, result);
    json_text(json, "}\n");
    json_flush(json);
}
