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
}

static void put_quantiles(struct writer *writer, const char *label, const struct histogram *histogram)
{
    static const struct {
        const char *label;
        uint64_t per_thousand;
    } quantiles[] = {{" p50 ", 500}, {", p90 ", 900}, {", p99 ", 990}, {", p99.9 ", 999}};
    write_text(writer, label);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        write_text(writer, quantiles[i].label);
        write_about(writer, histogram_quantile(histogram, quantiles[i].per_thousand));
    }
    write_text(writer, ", max ");
    write_about(writer, histogram->max);
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

/* took p50 50 ms, ...; 3 failed: 2 with status 7, 1 with status 137 */
static void write_outcomes(struct writer *writer, const struct outcomes *outcomes)
{
    const char *between = ": ";
    put_quantiles(writer, "took", &outcomes->took);
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

static struct saturation saturation_of(const struct record *record, const struct record_owed *owed,
                                       const struct outcomes *outcomes, double rate)
{
    return (struct saturation){.asked_per_s = record->permits_per_ns * SECOND_NS,
                               .per_s = rate,
                               .missed = owed->missed,
                               .busy = outcomes != NULL ? outcomes->busy_max : 0,
                               .jobs = outcomes != NULL ? outcomes->jobs : 0,
                               .in_bytes = record->in_bytes};
}

static void print_text(const struct record *record, const struct record_owed *owed, const struct outcomes *outcomes,
                       double rate, FILE *out)
{
    char text[TEXT_SIZE];
    struct writer writer = {text, sizeof text, 0};
    const struct saturation saturation = saturation_of(record, owed, outcomes, rate);
    write_amount(&writer, record);
    fprintf(out, "%s in %.3f s, ", text, (double)(record->last_ns - record->first_ns) / SECOND_NS);
    writer.length = 0;
    record_write_saturation(&writer, &saturation);
    put_quantiles(&writer, "\nlate", &record->late);
    write_text(&writer, "\nbehind ");
    write_about(&writer, owed->behind_ns);
    write_text(&writer, " now, ");
    write_about(&writer, record->behind_max_ns);
    fprintf(out, "%s at worst; ", text);
    if (record->early == 0) fprintf(out, "never early, ");
    else fprintf(out, "%llu early, ", (unsigned long long)record->early);
    const double over = fmax(0, ceil(record->excess - 1e-6)) + 0.0;
    const char *unit = !record->in_bytes ? "" : over == 1 ? " byte" : " bytes";
    if (record->at_random) fprintf(out, "at random and so without a bound\n");
    else fprintf(out, "never over by more than %.0f%s\n", over, unit);
    if (record->dropped != 0) fprintf(out, "%llu dropped as too late\n", (unsigned long long)record->dropped);
    if (outcomes == NULL) return;
    writer.length = 0;
    write_outcomes(&writer, outcomes);
    fprintf(out, "%s\n", text);
}

static void put_json_quantiles(struct json *json, const char *name, const struct histogram *histogram)
{
    json_object(json, name);
    json_number(json, "p50", histogram_quantile(histogram, 500));
    json_number(json, "p90", histogram_quantile(histogram, 900));
    json_number(json, "p99", histogram_quantile(histogram, 990));
    json_number(json, "p999", histogram_quantile(histogram, 999));
    json_number(json, "max", histogram->max);
    json_end_object(json);
}

static void put_double(struct json *json, const char *name, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.17g", value);
    json_decimal(json, name, text);
}

static void put_target(struct json *json, const char *name, const struct record *record)
{
    if (record->permits_per_ns == 0) json_null(json, name);
    else put_double(json, name, record->permits_per_ns * SECOND_NS);
}

/* The same figures under names that say what they count. */
static void put_bytes(struct json *json, const struct record *record, double rate)
{
    if (!record->in_bytes) return;
    put_target(json, "target_bytes_per_s", record);
    put_double(json, "achieved_bytes_per_s", rate);
    json_number(json, "bytes", record->granted);
}

static void put_outcomes(struct json *json, const struct outcomes *outcomes)
{
    json_number(json, "jobs", outcomes->jobs);
    json_number(json, "busy_max", outcomes->busy_max);
    json_number(json, "failed", outcomes->failed);
    json_object(json, "statuses");
    for (int status = 0; status < OUTCOMES_STATUSES; status++) {
        char name[16];
        snprintf(name, sizeof name, "%d", status);
        if (outcomes->with[status] != 0) json_number(json, name, outcomes->with[status]);
    }
    json_end_object(json);
    put_json_quantiles(json, "took_ns", &outcomes->took);
}

static void print_json(const struct record *record, const struct record_owed *owed, const struct outcomes *outcomes,
                       double rate, FILE *file)
{
    struct json_file out;
    struct json *json = &out.json;
    json_file_open(&out, file);
    json_object(json, NULL);
    put_target(json, "target_per_s", record);
    put_double(json, "achieved_per_s", rate);
    json_number(json, "granted", record->granted);
    json_number(json, record->noun, lines_of(record));
    json_number(json, "dropped", record->dropped);
    json_number(json, "missed", owed->missed);
    put_bytes(json, record, rate);
    if (outcomes != NULL) put_outcomes(json, outcomes);
    json_file_double(json, "elapsed_s", (double)(record->last_ns - record->first_ns) / SECOND_NS, 9);
    put_json_quantiles(json, "late_ns", &record->late);
    json_object(json, "behind_ns");
    json_number(json, "now", owed->behind_ns);
    json_number(json, "max", record->behind_max_ns);
    json_end_object(json);
    json_number(json, "early", record->early);
    if (record->at_random) json_null(json, "over");
    else json_file_double(json, "over", fmax(0, record->excess) + 0.0, 3);
    json_file_end(&out);
    json_file_flush(&out);
}

void record_print(struct record *record, const struct record_owed *owed, struct outcomes *outcomes, bool json,
                  FILE *out)
{
    host_lock(&record->mutex);
    if (outcomes != NULL) host_lock(&outcomes->mutex);
    record_behind(record, owed->behind_ns); /* not only when something was started, but also now */
    const double rate =
        record_rate(record->granted - record->owed, record->first_cost, record->first_ns, record->last_ns);
    if (json) print_json(record, owed, outcomes, rate, out);
    else print_text(record, owed, outcomes, rate, out);
    if (outcomes != NULL) host_unlock(&outcomes->mutex);
    host_unlock(&record->mutex);
}
