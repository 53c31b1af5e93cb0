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
#include "cli/common/json.h"
#include "format/bytes.h"
#include "cli/replay/page.h"
#include "cli/replay/replay.h"

enum { SECOND_NS = 1000000000, ASCII_END = 0x80, CONTROL_END = 0x20 };

/* ---- texts ---- */

static void put_ascii(FILE *out, unsigned char byte)
{
    const bool plain = byte >= CONTROL_END && strchr("\"\\<>&\x7f", byte) == NULL;
    if (plain) fputc(byte, out);
    else fprintf(out, "\\u%04x", byte);
}

static void put_text(FILE *out, const char *text, size_t text_size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    fputc('"', out);
    for (size_t at = 0; at < text_size;) {
        const size_t size = bytes_character((struct slice){text + at, text_size - at});
        if (bytes[at] < ASCII_END) put_ascii(out, bytes[at]);
        else if (size == 0) fprintf(out, "\\\\x%02x", bytes[at]);
        else fwrite(bytes + at, 1, size, out);
        at += size != 0 ? size : 1;
    }
    fputc('"', out);
}

/* A member with a comma behind it. */
static void put_string(FILE *out, const char *name, const char *text, size_t size)
{
    fprintf(out, "\"%s\":", name);
    if (text == NULL) fputs("null", out);
    else put_text(out, text, size);
    fputc(',', out);
}

static void put_number(FILE *out, const char *name, uint64_t value)
{
    fprintf(out, "\"%s\":%" PRIu64 ",", name, value);
}

static void put_truth(FILE *out, const char *name, bool value)
{
    fprintf(out, "\"%s\":%s,", name, value ? "true" : "false");
}

/* Seconds, as JavaScript counts: it has no integers of 64 bits. */
static void put_time(FILE *out, const char *name, uint64_t ns)
{
    fprintf(out, "\"%s\":%" PRIu64 ".%09" PRIu64 ",", name, ns / SECOND_NS, ns % SECOND_NS);
}

static void put_numbers(FILE *out, const char *name, const uint64_t *values, unsigned count)
{
    fprintf(out, "\"%s\":[", name);
    for (unsigned i = 0; i < count; i++) fprintf(out, i == 0 ? "%" PRIu64 : ",%" PRIu64, values[i]);
    fputc(']', out);
}

/* ---- the result ---- */

static void put_busiest(FILE *out, const char *name, const struct replay_busiest *busiest)
{
    fprintf(out, "\"%s\":{", name);
    put_string(out, "key", busiest->max_key, busiest->max_key_size);
    fprintf(out, "\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 "}", busiest->p50, busiest->p99,
            busiest->max);
}

static void put_top(FILE *out, const struct replay_limit *limit)
{
    fputs("\"top\":[", out);
    for (unsigned i = 0; i < limit->top_count; i++) {
        const struct replay_client *client = &limit->top[i];
        fputs(i == 0 ? "\n{" : ",\n{", out);
        put_string(out, "key", client->key, client->key_size);
        fprintf(out, "\"requests\":%" PRIu64 ",\"denied\":%" PRIu64 ",\"delayed\":%" PRIu64 "}", client->requests,
                client->denied, client->delayed);
    }
    fputs("],", out);
}

static void put_limit(FILE *out, const struct replay_result *result, int index)
{
    const struct replay_limit *limit = &result->limit[index];
    const struct replay_series *series = &result->series;
    fputs(index == 0 ? "\n{" : ",\n{", out);
    put_string(out, "text", limit->text, strlen(limit->text));
    put_string(out, "canonical", limit->canonical, strnlen(limit->canonical, sizeof limit->canonical));
    put_number(out, "allowed", limit->allowed);
    put_number(out, "denied", limit->denied);
    put_number(out, "denied_spread", limit->denied_spread);
    put_number(out, "delayed", limit->delayed);
    put_number(out, "clients_denied", limit->clients_denied);
    put_number(out, "clients_delayed", limit->clients_delayed);
    put_number(out, "delay_p99_ns", limit->delay_p99_ns);
    put_number(out, "delay_max_ns", limit->delay_max_ns);
    put_string(out, "note", limit->note, strnlen(limit->note, sizeof limit->note));
    put_string(out, "unaffected_text", limit->unaffected_text,
               strnlen(limit->unaffected_text, sizeof limit->unaffected_text));
    put_top(out, limit);
    put_numbers(out, "denied_steps", series->limit[index].denied, series->count);
    fputc(',', out);
    put_numbers(out, "delayed_steps", series->limit[index].delayed, series->count);
    fputc('}', out);
}

static void put_result(FILE *out, const struct replay_result *result)
{
    const char *key_name = result->key_name;
    fputs("{\"version\":\"" WEIR_VERSION "\",", out);
    put_number(out, "requests", result->requests);
    put_number(out, "malformed", result->malformed);
    put_number(out, "late", result->late);
    put_number(out, "clients", result->clients);
    put_time(out, "first_s", result->first_ns);
    put_time(out, "last_s", result->last_ns);
    put_number(out, "resolution_ns", result->resolution_ns);
    put_truth(out, "whole_seconds", result->whole_seconds);
    put_truth(out, "timestamps_are_ends", result->timestamps_are_ends);
    fprintf(out, "\"unaffected\":%.10g,", result->unaffected);
    put_string(out, "key", key_name, key_name != NULL ? strlen(key_name) : 0);
    fputs("\"busiest\":{", out);
    put_busiest(out, "second", &result->second);
    fputc(',', out);
    put_busiest(out, "minute", &result->minute);
    fputs("},\n\"series\":{", out);
    put_time(out, "first_s", result->series.first_ns);
    put_number(out, "step_ns", result->series.step_ns);
    put_numbers(out, "offered", result->series.offered, result->series.count);
    fputs("},\n\"limits\":[", out);
    for (int i = 0; i < result->limits; i++) put_limit(out, result, i);
    fputs("]}", out);
}

bool page_write(const struct replay_result *result, const char *path)
{
    const struct page_template template = page_template();
    if (template.head_size == 0) {
        trouble("--html %s: this build has no page; to add it, run tools/page && tools/build in the source tree", path);
        return false;
    }
    FILE *out = fopen(path, "wb");
    if (out == NULL) {
        trouble("--html %s: %s", path, strerror(errno));
        return false;
    }
    fwrite(template.head, 1, template.head_size, out);
    put_result(out, result);
    fwrite(template.tail, 1, template.tail_size, out);
    const bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        trouble("--html %s: %s", path, errno != 0 ? strerror(errno) : "could not be written");
        return false;
    }
    return true;
}
