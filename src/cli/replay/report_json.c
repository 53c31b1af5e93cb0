/* SPDX-License-Identifier: MIT
   What a replay came to, as one JSON object.

   Valid JSON in UTF-8, whatever keys are made of. */
#include "cli/common/json_file.h"
#include "cli/replay/fleet/fleet.h"
#include "cli/replay/replay.h"

static void put_top(struct json *json, const struct replay_limit *limit)
{
    json_array(json, "top");
    for (unsigned i = 0; i < limit->top_count; i++) {
        const struct replay_client *client = &limit->top[i];
        json_object(json, NULL);
        json_string(json, "key", (struct slice){client->key, client->key_size});
        json_number(json, "requests", client->requests);
        json_number(json, "denied", client->denied);
        json_number(json, "delayed", client->delayed);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_limit(struct json *json, const struct replay_result *result, const struct replay_limit *limit)
{
    json_text(json, "limit", limit->text);
    json_text(json, "canonical", limit->canonical);
    json_number(json, "allowed", limit->allowed);
    json_number(json, "denied", limit->denied);
    if (result->whole_seconds) json_number(json, "denied_spread", limit->denied_spread);
    json_number(json, "delayed", limit->delayed);
    json_number(json, "keys", result->clients);
    json_number(json, "keys_denied", limit->clients_denied);
    json_number(json, "keys_delayed", limit->clients_delayed);
    json_number(json, "delay_p99_ns", limit->delay_p99_ns);
    json_number(json, "delay_max_ns", limit->delay_max_ns);
    if (limit->unaffected_burst != 0) json_number(json, "unaffected_burst", limit->unaffected_burst);
    if (result->counts_running && limit->delayed == 0) {
        json_number(json, "running_client", limit->running_client);
        json_number(json, "running_all", limit->running_all);
    }
    if (limit->unaffected_slots != 0) {
        json_number(json, "unaffected_slots", limit->unaffected_slots);
        json_number(json, "outlasted", limit->outlasted);
    }
    put_top(json, limit);
}

static void put_busiest(struct json *json, const char *name, const struct replay_busiest *busiest)
{
    json_object(json, name);
    json_number(json, "p50", busiest->p50);
    json_number(json, "p99", busiest->p99);
    json_number(json, "max", busiest->max);
    if (busiest->max_key != NULL) json_string(json, "max_key", (struct slice){busiest->max_key, busiest->max_key_size});
    json_end_object(json);
}

static void put_counts(struct json *json, const char *name, const uint64_t *counts, unsigned count)
{
    json_array(json, name);
    for (unsigned i = 0; i < count; i++) json_number(json, NULL, counts[i]);
    json_end_array(json);
}

static void put_series(struct json *json, const struct replay_result *result)
{
    const struct replay_series *series = &result->series;
    json_object(json, "series");
    json_number(json, "first_ns", series->first_ns);
    json_number(json, "step_ns", series->step_ns);
    put_counts(json, "offered", series->offered, series->count);
    if (result->counts_running) put_counts(json, "running", series->running, series->count);
    json_array(json, "limits");
    for (int i = 0; i < result->limits; i++) {
        json_object(json, NULL);
        put_counts(json, "denied", series->limit[i].denied, series->count);
        put_counts(json, "delayed", series->limit[i].delayed, series->count);
        if (result->counts_running) put_counts(json, "running", series->limit[i].running, series->count);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void put_charged(struct json *json, const struct replay_charged *charge)
{
    json_object(json, "charge");
    json_text(json, "limit", charge->limit);
    json_number(json, "charged", charge->charged);
    json_number(json, "refused", charge->refused);
    json_number(json, "lost", charge->lost);
    json_number(json, "outages", charge->outages);
    json_end_object(json);
}

void report_json(const struct replay_result *result)
{
    struct json_file out;
    struct json *json = &out.json;
    json_file_open(&out, stdout);
    json_object(json, NULL);
    json_number(json, "requests", result->requests);
    json_number(json, "malformed", result->malformed);
    json_number(json, "late", result->late);
    json_number(json, "keys", result->clients);
    if (result->key_name != NULL) json_text(json, "key", result->key_name);
    json_number(json, "first_ns", result->first_ns);
    json_number(json, "last_ns", result->last_ns);
    json_number(json, "resolution_ns", result->resolution_ns);
    json_bool(json, "timestamps_are_ends", result->timestamps_are_ends);
    json_array(json, "limits");
    for (int i = 0; i < result->limits; i++) {
        json_object(json, NULL);
        put_limit(json, result, &result->limit[i]);
        if (result->fleet != NULL) fleet_json_limit(result->fleet, i, json);
        json_end_object(json);
    }
    json_end_array(json);
    if (result->fleet != NULL) fleet_json(result->fleet, json);
    if (result->tenants.parent != NULL) tenants_json(&result->tenants, json);
    if (result->charge.limit != NULL) put_charged(json, &result->charge);
    put_busiest(json, "busiest_second", &result->second);
    put_busiest(json, "busiest_minute", &result->minute);
    if (result->counts_running) {
        put_busiest(json, "running", &result->running);
        json_number(json, "running_all", result->running_all);
        json_number(json, "longest_ns", result->longest_ns);
        json_number(json, "untimed", result->untimed);
    }
    if (result->series.count != 0) put_series(json, result);
    json_file_end(&out);
    json_file_flush(&out);
}
