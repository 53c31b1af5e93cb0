/* SPDX-License-Identifier: MIT
   Intervals: what has happened since the one before.

   All is counted from the beginning on, and an interval is the difference of two readings: so nothing is counted twice
   where an interval ends, and all of them together are the total.

   An interval ends when the watching thread comes to it, and says itself from when to when it was. */
#include "cli/pace/latency/latency.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/json_file.h"
#include "cli/pace/latency/hdr.h"
#include "cli/pace/schedule.h"
#include "core/num.h"
#include "host/clock.h"
#include "host/sleep.h"

enum { EVERY_LEAST_NS = 10000000, MEASURES = 2 };

static const char *const tags[MEASURES] = {[WEIR_RESPONSE] = "response", [WEIR_SERVICE] = "service"};

/* All that is counted, at one moment. */
struct reading {
    uint64_t now_ns;
    struct record_view view;
    struct histogram late;
    struct outcomes outcomes;
    struct hdr hdr[MEASURES];
};

struct interval {
    uint64_t number, ends_ns;
    struct reading before, now;
    struct hdr since;
    weir_times times[MEASURES];
};

bool latency_fits(const struct pace *pace)
{
    const struct latency *latency = &pace->latency;
    const char *commands = latency->hgrm != NULL ? "--hgrm" : latency->hlog != NULL ? "--hlog" : NULL;
    if (commands != NULL && pace->command == NULL) {
        trouble("pace: %s is of the times of commands; for example weir pace 5/s -j 4 %s FILE -- curl -fsS {}",
                commands, commands);
        return false;
    }
    if (latency->every_ns == 0) return true;
    if (latency->hlog == NULL && !pace->json) {
        trouble("pace: --every is for --hlog and for --json; for example weir pace 1000/s --json --every 1s");
        return false;
    }
    if (latency->every_ns >= EVERY_LEAST_NS) return true;
    trouble("--every: expected 10ms or more; for example 1s");
    return false;
}

static FILE *opened(const char *option, const char *path, bool *failed)
{
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (path == NULL || file != NULL) return file;
    trouble("--%s %s: %s", option, path, strerror(errno));
    *failed = true;
    return NULL;
}

bool latency_open(struct pace *pace)
{
    struct latency *latency = &pace->latency;
    bool failed = false;
    latency->begun_ns = weir_now().ns;
    latency->hgrm_file = opened("hgrm", latency->hgrm, &failed);
    latency->hlog_file = opened("hlog", latency->hlog, &failed);
    if (failed || !starts_open(&latency->starts, latency->begun_ns)) return false;
    if (latency->hlog_file != NULL) hdr_write_head(host_unix_ns(), latency->hlog_file);
    if (latency->hlog != NULL && latency->every_ns == 0) latency->every_ns = HOST_SECOND_NS;
    if (latency->every_ns == 0) return true;
    latency->interval = calloc(1, sizeof *latency->interval);
    if (latency->interval == NULL) {
        trouble("no memory for intervals");
        return false;
    }
    latency->interval->before.now_ns = latency->begun_ns;
    latency->interval->ends_ns = add_saturating(latency->begun_ns, latency->every_ns);
    return true;
}

/* ---- an interval ---- */

static bool read_ends(struct pace *pace, struct reading *now)
{
    bool read = true;
    outcomes_hold(&pace->outcomes);
    outcomes_read(&pace->outcomes, &now->outcomes);
    for (int i = 0; read && i < MEASURES; i++) read = hdr_read(&now->hdr[i], pace->limiter, (weir_measure)i);
    outcomes_release(&pace->outcomes);
    return read;
}

static bool read_all(struct pace *pace, struct reading *now)
{
    record_read(&pace->record, &now->view, &now->late);
    if (pace->command != NULL && !read_ends(pace, now)) return false;
    now->now_ns = weir_now().ns;
    return true;
}

/* The highest bucket is all that is known of the latest. */
static weir_times late_since(const struct histogram *now, const struct histogram *before)
{
    struct histogram since;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        since.count[i] = now->count[i] - before->count[i];
        if (since.count[i] != 0) since.max = least(histogram_bucket_end(i, HISTOGRAM_BITS), now->max);
    }
    since.total = now->total - before->total;
    if (since.total == 0) since.max = 0;
    return record_times(&since);
}

static double seconds_of(uint64_t from_ns, uint64_t to_ns)
{
    return (double)(to_ns - from_ns) / HOST_SECOND_NS;
}

static void put_commands(struct json *json, const struct interval *interval)
{
    const struct outcomes *now = &interval->now.outcomes, *before = &interval->before.outcomes;
    struct outcomes since = {.failed = now->failed - before->failed};
    for (int i = 0; i < OUTCOMES_STATUSES; i++) since.with[i] = now->with[i] - before->with[i];
    json_number(json, "busy", now->busy);
    json_number(json, "ended", interval->times[WEIR_SERVICE].count);
    record_put_failed(json, &since);
    record_put_times(json, "response_ns", &interval->times[WEIR_RESPONSE]);
    record_put_times(json, "service_ns", &interval->times[WEIR_SERVICE]);
}

static void put_interval(struct pace *pace, const struct interval *interval, FILE *file)
{
    const struct reading *now = &interval->now, *before = &interval->before;
    const uint64_t begun_ns = pace->latency.begun_ns;
    const weir_times late = late_since(&now->late, &before->late);
    const uint64_t granted = now->view.granted - before->view.granted;
    struct json_file out;
    struct json *json = &out.json;
    json_file_open(&out, file);
    json_object(json, NULL);
    json_number(json, "interval", interval->number);
    json_file_double(json, "from_s", seconds_of(begun_ns, before->now_ns), 3);
    json_file_double(json, "to_s", seconds_of(begun_ns, now->now_ns), 3);
    json_number(json, "granted", granted);
    json_number(json, pace->record.noun, now->view.items - before->view.items);
    json_number(json, "dropped", now->view.dropped - before->view.dropped);
    json_file_double(json, "achieved_per_s", (double)granted / seconds_of(before->now_ns, now->now_ns), 3);
    json_number(json, "missed", pace_owed(pace).missed);
    record_put_times(json, "late_ns", &late);
    if (pace->command != NULL) put_commands(json, interval);
    json_file_end(&out);
    json_file_flush(&out);
    fflush(file);
}

static void end_interval(struct pace *pace)
{
    struct latency *latency = &pace->latency;
    struct interval *interval = latency->interval;
    struct reading *now = &interval->now, *before = &interval->before;
    FILE *told = pace->summary_file != NULL ? pace->summary_file : pace->quiet ? NULL : stderr;
    if (!read_all(pace, now)) return; /* it is in the next one */
    interval->number++;
    for (int i = 0; i < MEASURES; i++) {
        hdr_since(&interval->since, &now->hdr[i], &before->hdr[i]);
        interval->times[i] = hdr_times(&interval->since);
        if (latency->hlog_file == NULL) continue;
        const uint64_t from_ns = before->now_ns - latency->begun_ns, to_ns = now->now_ns - latency->begun_ns;
        if (hdr_write_interval(&interval->since, tags[i], from_ns, to_ns, latency->hlog_file)) continue;
        trouble("--hlog %s: no memory, interval %llu is left out", latency->hlog, (unsigned long long)interval->number);
    }
    if (pace->json && told != NULL) put_interval(pace, interval, told);
    *before = *now;
}

uint64_t latency_look(struct pace *pace)
{
    struct interval *interval = pace->latency.interval;
    if (interval == NULL) return UINT64_MAX;
    const uint64_t now_ns = weir_now().ns, every_ns = pace->latency.every_ns;
    if (now_ns >= interval->ends_ns) {
        end_interval(pace);
        interval->ends_ns += ((now_ns - interval->ends_ns) / every_ns + 1) * every_ns;
    }
    return subtract_to_zero(interval->ends_ns, weir_now().ns);
}

/* ---- the end ---- */

static bool write_hgrm(struct pace *pace)
{
    struct hdr *hdr = pace->latency.hgrm_file != NULL ? malloc(sizeof *hdr) : NULL;
    if (pace->latency.hgrm_file == NULL) return true;
    const bool read = hdr != NULL && hdr_read(hdr, pace->limiter, WEIR_RESPONSE);
    if (read) hdr_write_percentiles(hdr, pace->latency.hgrm_file);
    else trouble("--hgrm %s: no memory", pace->latency.hgrm);
    free(hdr);
    return read;
}

static bool closed(const char *option, const char *path, FILE **file)
{
    if (*file == NULL) return true;
    const bool bad = fflush(*file) != 0 || ferror(*file) != 0;
    const int why = errno;
    const bool good = fclose(*file) == 0 && !bad;
    *file = NULL;
    if (!good) trouble("--%s %s: %s", option, path, strerror(bad ? why : errno));
    return good;
}

int latency_close(struct pace *pace)
{
    struct latency *latency = &pace->latency;
    if (latency->interval != NULL) end_interval(pace);
    bool good = write_hgrm(pace);
    good = closed("hgrm", latency->hgrm, &latency->hgrm_file) && good;
    good = closed("hlog", latency->hlog, &latency->hlog_file) && good;
    good = starts_close(&latency->starts) && good;
    free(latency->interval);
    latency->interval = NULL;
    const struct record_owed owed = pace_owed(pace);
    const bool holds = fail_check(&latency->fail, &pace->record, &owed, pace->json || pace->quiet);
    if (!good) return STATUS_TROUBLE;
    return holds ? STATUS_DONE : FAIL_STATUS;
}
