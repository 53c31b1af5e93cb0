/* SPDX-License-Identifier: MIT
   The summary of weir pace, for people and as JSON.

   All figures are of one moment. */
#include <math.h>
#include <string.h>

#include "cli/common/json_file.h"
#include "cli/pace/record.h"
#include "core/num.h"
#include "plan/write.h"

enum { SECOND_NS = 1000000000, HOUR_S = 3600, GROUPED_FROM = 10000, TEXT_SIZE = 1024 };

static const double PER_S_LEAST = 0.1; /* slower ones are said by the hour */

static void put_rate(struct writer *writer, double per_s, bool by_the_hour, bool in_bytes)
{
    const double rate = by_the_hour ? per_s * HOUR_S : per_s;
    if (rate >= GROUPED_FROM) write_grouped(writer, (uint64_t)(rate + 0.5));
    else if (rate >= 100) write_number(writer, (uint64_t)(rate + 0.5));
    else write_decimal(writer, (uint64_t)(rate * 1000 + 0.5), 3);
    write_text(writer, in_bytes ? " B" : "");
    write_text(writer, by_the_hour ? "/h" : "/s");
}

void record_write_saturation(struct writer *writer, const struct saturation *saturation)
{
    const double asked_per_s = saturation->asked_per_s;
    const bool by_the_hour = asked_per_s != 0 && asked_per_s < PER_S_LEAST, in_bytes = saturation->in_bytes;
    if (asked_per_s != 0) {
        put_rate(writer, asked_per_s, by_the_hour, in_bytes);
        write_text(writer, " asked, ");
    }
    put_rate(writer, saturation->per_s, by_the_hour, in_bytes);
    if (saturation->missed != 0) {
        write_text(writer, "; ");
        write_grouped(writer, saturation->missed);
        write_text(writer, in_bytes ? " byte" : " start");
        write_text(writer, saturation->missed == 1 ? " missed" : "s missed");
    }
    if (saturation->jobs == 0) return;
    write_text(writer, "; ");
    write_number(writer, saturation->busy);
    write_text(writer, " of ");
    write_number(writer, saturation->jobs);
    write_text(writer, " busy");
    if (saturation->jobs_max == 0) return;
    write_text(writer, ", up to ");
    write_number(writer, saturation->jobs_max);
}

weir_times record_times(const struct histogram *histogram)
{
    return (weir_times){.count = histogram->total,
                        .p50_ns = histogram_quantile(histogram, 500),
                        .p90_ns = histogram_quantile(histogram, 900),
                        .p99_ns = histogram_quantile(histogram, 990),
                        .p999_ns = histogram_quantile(histogram, 999),
                        .max_ns = histogram->max};
}

static void put_time(struct writer *writer, const char *label, uint64_t ns)
{
    write_text(writer, label);
    write_about(writer, ns);
}

static void put_times(struct writer *writer, const char *label, const weir_times *times)
{
    write_text(writer, label);
    put_time(writer, " p50 ", times->p50_ns);
    put_time(writer, ", p90 ", times->p90_ns);
    put_time(writer, ", p99 ", times->p99_ns);
    put_time(writer, ", p99.9 ", times->p999_ns);
    put_time(writer, ", max ", times->max_ns);
}

static uint64_t lines_of(const struct record *record)
{
    return record->items - record->parts;
}

static void write_counted(struct writer *writer, uint64_t count, const char *noun)
{
    write_grouped(writer, count);
    write_text(writer, " ");
    write_bytes(writer, noun, strlen(noun) - (count == 1 ? 1 : 0)); /* of "lines" or "commands" */
}

/* 20 lines, or 3,000 bytes (20 lines) */
static void write_amount(struct writer *writer, const struct record *record)
{
    if (!record->in_bytes) {
        write_counted(writer, lines_of(record), record->noun);
        return;
    }
    write_counted(writer, record->granted, "bytes");
    write_text(writer, " (");
    write_counted(writer, lines_of(record), record->noun);
    write_text(writer, ")");
}

/* service p50 50 ms, ...; 3 failed: 2 with status 7, 1 with status 137 */
static void write_outcomes(struct writer *writer, const struct outcomes *outcomes, const weir_latency *latency)
{
    const char *between = ": ";
    put_times(writer, "response", &latency->response);
    put_times(writer, "\nservice", &latency->service);
    write_text(writer, "; ");
    if (outcomes->failed == 0) write_text(writer, "none failed");
    if (outcomes->failed == 0) return;
    write_grouped(writer, outcomes->failed);
    write_text(writer, " failed");
    for (uint64_t status = 0; status < OUTCOMES_STATUSES; status++) {
        if (outcomes->with[status] == 0) continue;
        write_text(writer, between);
        write_grouped(writer, outcomes->with[status]);
        write_text(writer, " with status ");
        write_number(writer, status);
        between = ", ";
    }
}

/* Of a profile the average until then. */
static double asked_per_s(const struct record *record, const struct record_owed *owed)
{
    if (record->phases == NULL || record->phases->over) return record->permits_per_ns * SECOND_NS;
    return phase_record_asked_per_s(record->phases, owed->at.until_ns);
}

/* part 2 of 5: together they are 100/s, as exactly as the clocks of their machines agree */
static void write_whole(struct writer *writer, const struct record *record)
{
    const struct record_source *source = &record->source;
    write_text(writer, "part ");
    write_number(writer, source->part);
    write_text(writer, " of ");
    write_number(writer, source->parts);
    write_text(writer, ": together they are ");
    put_rate(writer, record->permits_per_ns * SECOND_NS * (double)source->parts, false, false);
    write_text(writer, ", as exactly as the clocks of their machines agree");
}

/* engine: 500 permits of "load" in 21 requests; 2 lapsed; away for 1.2 s */
static void write_engine(struct writer *writer, const struct record_engine *engine)
{
    write_text(writer, "engine: ");
    write_grouped(writer, engine->permits);
    write_text(writer, engine->permits == 1 ? " permit of \"" : " permits of \"");
    write_text(writer, engine->key);
    write_text(writer, "\" in ");
    write_grouped(writer, engine->requests);
    write_text(writer, engine->requests == 1 ? " request" : " requests");
    if (engine->lapsed != 0) {
        write_text(writer, "; ");
        write_grouped(writer, engine->lapsed);
        write_text(writer, " lapsed");
    }
    if (engine->away_ns == 0) return;
    write_text(writer, "; away for ");
    write_about(writer, engine->away_ns);
}

static struct saturation saturation_of(const struct record *record, const struct record_owed *owed,
                                       const struct outcomes *outcomes, double rate)
{
    return (struct saturation){.asked_per_s = asked_per_s(record, owed),
                               .per_s = rate,
                               .missed = owed->missed,
                               .busy = outcomes != NULL ? outcomes->busy_max : 0,
                               .jobs = outcomes != NULL ? outcomes->jobs : 0,
                               .jobs_max = outcomes != NULL ? outcomes->jobs_max : 0,
                               .in_bytes = record->in_bytes};
}

static void write_part(struct writer *writer, uint64_t count, const char *noun, const char *then, uint64_t ns)
{
    if (count == 0) return;
    write_text(writer, "; ");
    write_counted(writer, count, noun);
    write_text(writer, then);
    if (ns != 0) write_duration(writer, ns);
}

/* 2 min of the log; 1 gap cut by 30 s */
static void write_log(struct writer *writer, const struct record_log *log)
{
    write_duration(writer, log->span_ns);
    write_text(writer, " of the log");
    write_part(writer, log->gaps, "gaps", " cut by ", log->cut_ns);
    write_part(writer, log->backward, "lines", " out of order, by up to ", log->backward_max_ns);
    write_part(writer, log->malformed, "malformed lines", " skipped", 0);
}

static void print_log(const struct record_log *log, FILE *out)
{
    char text[TEXT_SIZE];
    struct writer writer = {text, sizeof text, 0};
    write_log(&writer, log);
    fprintf(out, "\n%s\n", text);
}

static void print_over(const struct record *record, FILE *out)
{
    const double over = fmax(0, ceil(record->excess - 1e-6)) + 0.0;
    const char *unit = !record->in_bytes ? "" : over == 1 ? " byte" : " bytes";
    if (record->at_random) fprintf(out, ", at random and so without a bound\n");
    else fprintf(out, ", never over by more than %.0f%s\n", over, unit);
}

static void print_text(const struct record *record, const struct record_owed *owed, const struct outcomes *outcomes,
                       const weir_latency *latency, double rate, FILE *out)
{
    const weir_times late = record_times(&record->late);
    char text[TEXT_SIZE];
    struct writer writer = {text, sizeof text, 0};
    const struct saturation saturation = saturation_of(record, owed, outcomes, rate);
    write_amount(&writer, record);
    fprintf(out, "%s in %.3f s, ", text, (double)(record->last_ns - record->first_ns) / SECOND_NS);
    writer.length = 0;
    record_write_saturation(&writer, &saturation);
    put_times(&writer, "\nlate", &late);
    write_text(&writer, "\nbehind ");
    write_about(&writer, owed->behind_ns);
    write_text(&writer, " now, ");
    write_about(&writer, record->behind_max_ns);
    fprintf(out, "%s at worst; ", text);
    if (record->early == 0) fprintf(out, "never early");
    else fprintf(out, "%llu early", (unsigned long long)record->early);
    if (record->by_stamps) print_log(&record->log, out);
    else print_over(record, out);
    if (record->phases != NULL) phase_record_print(record->phases, owed->at, out);
    if (record->dropped != 0) fprintf(out, "%llu dropped as too late\n", (unsigned long long)record->dropped);
    if (outcomes != NULL) {
        writer.length = 0;
        write_outcomes(&writer, outcomes, latency);
        fprintf(out, "%s\n", text);
    }
    if (record->source.parts <= 1 && record->source.engine.key == NULL) return;
    writer.length = 0;
    if (record->source.parts > 1) write_whole(&writer, record);
    else write_engine(&writer, &record->source.engine);
    fprintf(out, "%s\n", text);
}

void record_put_times(struct json *json, const char *name, const weir_times *times)
{
    json_object(json, name);
    json_number(json, "p50", times->p50_ns);
    json_number(json, "p90", times->p90_ns);
    json_number(json, "p99", times->p99_ns);
    json_number(json, "p999", times->p999_ns);
    json_number(json, "max", times->max_ns);
    json_end_object(json);
}

static void put_double(struct json *json, const char *name, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.17g", value);
    json_decimal(json, name, text);
}

static void put_target(struct json *json, const char *name, double per_s)
{
    if (per_s == 0) json_null(json, name);
    else put_double(json, name, per_s);
}

/* The same figures under names that say what they count. */
static void put_bytes(struct json *json, const struct record *record, double target, double rate)
{
    if (!record->in_bytes) return;
    put_target(json, "target_bytes_per_s", target);
    put_double(json, "achieved_bytes_per_s", rate);
    json_number(json, "bytes", record->granted);
}

static void put_log(struct json *json, const struct record_log *log)
{
    json_object(json, "log");
    json_number(json, "span_ns", log->span_ns);
    json_number(json, "malformed", log->malformed);
    json_number(json, "backward", log->backward);
    json_number(json, "backward_max_ns", log->backward_max_ns);
    json_number(json, "gaps_cut", log->gaps);
    json_number(json, "cut_ns", log->cut_ns);
    json_end_object(json);
}

void record_put_failed(struct json *json, const struct outcomes *outcomes)
{
    json_number(json, "failed", outcomes->failed);
    json_object(json, "statuses");
    for (int status = 0; status < OUTCOMES_STATUSES; status++) {
        char name[16];
        snprintf(name, sizeof name, "%d", status);
        if (outcomes->with[status] != 0) json_number(json, name, outcomes->with[status]);
    }
    json_end_object(json);
}

static void put_outcomes(struct json *json, const struct outcomes *outcomes, const weir_latency *latency)
{
    json_number(json, "jobs", outcomes->jobs);
    if (outcomes->jobs_max != 0) json_number(json, "jobs_max", outcomes->jobs_max);
    json_number(json, "busy_max", outcomes->busy_max);
    record_put_failed(json, outcomes);
    record_put_times(json, "response_ns", &latency->response);
    record_put_times(json, "service_ns", &latency->service);
}

static void put_source(struct json *json, const struct record_source *source)
{
    if (source->parts != 0) {
        json_number(json, "part", source->part);
        json_number(json, "parts", source->parts);
    }
    if (source->engine.key == NULL) return;
    json_object(json, "engine");
    json_text(json, "key", source->engine.key);
    json_number(json, "permits", source->engine.permits);
    json_number(json, "requests", source->engine.requests);
    json_number(json, "lapsed", source->engine.lapsed);
    json_number(json, "away_ns", source->engine.away_ns);
    json_end_object(json);
}

static void print_json(const struct record *record, const struct record_owed *owed, const struct outcomes *outcomes,
                       const weir_latency *latency, double rate, FILE *file)
{
    const weir_times late = record_times(&record->late);
    struct json_file out;
    struct json *json = &out.json;
    const double target = asked_per_s(record, owed);
    json_file_open(&out, file);
    json_object(json, NULL);
    put_target(json, "target_per_s", target);
    put_double(json, "achieved_per_s", rate);
    json_number(json, "granted", record->granted);
    json_number(json, record->noun, lines_of(record));
    json_number(json, "dropped", record->dropped);
    json_number(json, "missed", owed->missed);
    put_bytes(json, record, target, rate);
    if (outcomes != NULL) put_outcomes(json, outcomes, latency);
    json_file_double(json, "elapsed_s", (double)(record->last_ns - record->first_ns) / SECOND_NS, 9);
    record_put_times(json, "late_ns", &late);
    json_object(json, "behind_ns");
    json_number(json, "now", owed->behind_ns);
    json_number(json, "max", record->behind_max_ns);
    json_end_object(json);
    if (record->phases != NULL) phase_record_json(record->phases, owed->at, json);
    json_number(json, "early", record->early);
    if (record->by_stamps) put_log(json, &record->log);
    if (record->at_random) json_null(json, "over");
    else json_file_double(json, "over", fmax(0, record->excess) + 0.0, 3);
    put_source(json, &record->source);
    json_file_end(&out);
    json_file_flush(&out);
}

void record_print(struct record *record, const struct record_owed *owed, struct outcomes *outcomes,
                  const weir_latency *latency, bool json, FILE *out)
{
    host_lock(&record->mutex);
    if (outcomes != NULL) host_lock(&outcomes->mutex);
    record_behind(record, owed->behind_ns); /* not only when something was started, but also now */
    const double rate =
        record_rate(record->granted - record->owed, record->first_cost, record->first_ns, record->last_ns);
    if (json) print_json(record, owed, outcomes, latency, rate, out);
    else print_text(record, owed, outcomes, latency, rate, out);
    if (outcomes != NULL) host_unlock(&outcomes->mutex);
    host_unlock(&record->mutex);
}
