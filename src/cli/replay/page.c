/* SPDX-License-Identifier: MIT
   What a replay came to, as one page of HTML: the template with the result between its halves.

   The result goes in as JSON inside a <script> that is data.  Two readers see it: HTML, which ends the script at "</"
   whatever JSON says of strings, and JSON, which wants UTF-8.  So each < > & is written as an escape, and each byte
   that is no UTF-8 as the four characters \xNN, by which different keys stay different.

   Whatever bytes keys and limits have, they stay data. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/arguments.h"
#include "cli/common/json_file.h"
#include "cli/replay/page.h"
#include "cli/replay/replay.h"

enum { SECOND_NS = 1000000000 };

/* Seconds, as JavaScript counts: it has no integers of 64 bits. */
static void put_time(struct json *json, const char *name, uint64_t ns)
{
    char text[40];
    snprintf(text, sizeof text, "%" PRIu64 ".%09" PRIu64, ns / SECOND_NS, ns % SECOND_NS);
    json_decimal(json, name, text);
}

static void put_numbers(struct json *json, const char *name, const uint64_t *values, unsigned count)
{
    json_array(json, name);
    for (unsigned i = 0; i < count; i++) json_number(json, NULL, values[i]);
    json_end_array(json);
}

static void put_busiest(struct json *json, const char *name, const struct replay_busiest *busiest)
{
    json_object(json, name);
    if (busiest->max_key == NULL) json_null(json, "key");
    else json_key(json, "key", (struct slice){busiest->max_key, busiest->max_key_size});
    json_number(json, "p50", busiest->p50);
    json_number(json, "p99", busiest->p99);
    json_number(json, "max", busiest->max);
    json_end_object(json);
}

static void put_top(struct json *json, const struct replay_limit *limit)
{
    json_array(json, "top");
    for (unsigned i = 0; i < limit->top_count; i++) {
        const struct replay_client *client = &limit->top[i];
        json_line(json);
        json_object(json, NULL);
        json_key(json, "key", (struct slice){client->key, client->key_size});
        json_number(json, "requests", client->requests);
        json_number(json, "denied", client->denied);
        json_number(json, "delayed", client->delayed);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_limit(struct json *json, const struct replay_result *result, int index)
{
    const struct replay_limit *limit = &result->limit[index];
    const struct replay_series *series = &result->series;
    json_line(json);
    json_object(json, NULL);
    json_text(json, "text", limit->text);
    json_text(json, "canonical", limit->canonical);
    json_number(json, "allowed", limit->allowed);
    json_number(json, "denied", limit->denied);
    json_number(json, "denied_spread", limit->denied_spread);
    json_number(json, "delayed", limit->delayed);
    json_number(json, "clients_denied", limit->clients_denied);
    json_number(json, "clients_delayed", limit->clients_delayed);
    json_number(json, "delay_p99_ns", limit->delay_p99_ns);
    json_number(json, "delay_max_ns", limit->delay_max_ns);
    json_text(json, "note", limit->note);
    json_text(json, "unaffected_text", limit->unaffected_text);
    if (result->counts_running) {
        json_number(json, "running_client", limit->running_client);
        json_number(json, "running_all", limit->running_all);
        json_number(json, "outlasted", limit->outlasted);
        json_text(json, "unaffected_slots_text", limit->unaffected_slots_text);
    }
    put_top(json, limit);
    put_numbers(json, "denied_steps", series->limit[index].denied, series->count);
    put_numbers(json, "delayed_steps", series->limit[index].delayed, series->count);
    json_end_object(json);
}

static void put_result(struct json *json, const struct replay_result *result)
{
    char unaffected[40];
    snprintf(unaffected, sizeof unaffected, "%.10g", result->unaffected);
    json_object(json, NULL);
    json_text(json, "version", WEIR_VERSION);
    json_number(json, "requests", result->requests);
    json_number(json, "malformed", result->malformed);
    json_number(json, "late", result->late);
    json_number(json, "clients", result->clients);
    put_time(json, "first_s", result->first_ns);
    put_time(json, "last_s", result->last_ns);
    json_number(json, "resolution_ns", result->resolution_ns);
    json_bool(json, "whole_seconds", result->whole_seconds);
    json_bool(json, "timestamps_are_ends", result->timestamps_are_ends);
    json_decimal(json, "unaffected", unaffected);
    if (result->key_name == NULL) json_null(json, "key");
    else json_key(json, "key", slice_of(result->key_name));
    json_object(json, "busiest");
    put_busiest(json, "second", &result->second);
    put_busiest(json, "minute", &result->minute);
    if (result->counts_running) put_busiest(json, "running", &result->running);
    json_end_object(json);
    if (result->counts_running) json_number(json, "running_all", result->running_all);
    json_object(json, "series");
    put_time(json, "first_s", result->series.first_ns);
    json_number(json, "step_ns", result->series.step_ns);
    put_numbers(json, "offered", result->series.offered, result->series.count);
    json_end_object(json);
    json_array(json, "limits");
    for (int i = 0; i < result->limits; i++) put_limit(json, result, i);
    json_end_array(json);
    json_end_object(json);
}

bool page_write(const struct replay_result *result, const char *path)
{
    const struct page_template template = page_template();
    struct json_file out;
    if (template.head_size == 0) {
        trouble("--html %s: this build has no page; to add it, run tools/page && tools/build in the source tree", path);
        return false;
    }
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        trouble("--html %s: %s", path, strerror(errno));
        return false;
    }
    fwrite(template.head, 1, template.head_size, file);
    json_file_open(&out, file);
    out.json.in_html = true;
    put_result(&out.json, result);
    json_file_flush(&out);
    fwrite(template.tail, 1, template.tail_size, file);
    const bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        trouble("--html %s: %s", path, errno != 0 ? strerror(errno) : "could not be written");
        return false;
    }
    return true;
}
