/* SPDX-License-Identifier: MIT
   What the service has done, as JSON: all that the page shows, and the most refused keys.

       {"version", ..., "addresses": [{"protocol", "address"}], "limits": [{"place", "name", ...}], "table",
        "engine" (where there is one), "connections", "events", "mistakes", "top",
        "samples": [[number, unix_ms, p50_ns, p99_ns, max_ns, keys, connections, [[place, offered, denied, shadowed]]]],
        "more"}

   A sample names only the places of limits that were asked.  Who has which place is in "limits"; when a place went to
   another limit, "layout" changes, and what was read before is void.

   Fits STATS_JSON_MAX, and is JSON in UTF-8 whatever bytes keys have: those that are no UTF-8 are written as \xNN, so
   that other keys look different. */
#include "core/num.h"
#include "format/address_text.h"
#include "format/json.h"
#include "host/clock.h"
#include "serve/policy/policy.h"
#include "serve/stats/figures.h"
#include "serve/stats/series.h"
#include "serve/stats/text.h"

enum {
    SECOND_NS = 1000000000,
    MS_NS = 1000000,
    TEXT_MAX = 256,   /* of a limit: what is longer is cut */
    EVENTS_TOLD = 20, /* the latest */
    TOP_OF_PAGE = 20,
    TOP_ALONE = 100,
    ROW_MAX = 3072 /* of one sample, and what comes behind the last */
};

/* ---- the most refused keys ---- */

/* What stands before the next NUL; *key becomes what is behind it, which is nothing where there is none. */
static struct slice name_in(struct slice *key)
{
    const char *end = memchr(key->bytes, '\0', key->size);
    const struct slice name = end != NULL ? slice_between(key->bytes, end) : *key;
    *key = slice_from(*key, name.size + 1);
    return name;
}

_Static_assert(WEIR_TOP_KEY_SIZE >= POLICY_NAME_MAX + 2 + ADDRESS_TEXT_MAX, "no name cuts an address");

/* A named limit's keys are "\0NAME\0KEY" (batch.h). */
static void write_refused(struct json *json, const weir_top *top)
{
    const bool cut = top->key_size > WEIR_TOP_KEY_SIZE;
    struct slice key = {(const char *)top->key, cut ? WEIR_TOP_KEY_SIZE : top->key_size};
    json_object(json, NULL);
    if (key.size != 0 && key.bytes[0] == '\0') {
        key = slice_from(key, 1);
        json_key(json, "limit", name_in(&key));
    } else {
        json_null(json, "limit");
    }
    json_key(json, "key", key);
    json_number(json, "denied", top->denied);
    json_number(json, "over", top->over);
    json_bool(json, "cut", cut);
    json_end_object(json);
}

static void write_top(struct json *json, const char *name, struct service *service, size_t most)
{
    weir_top top[TOP_ALONE];
    const size_t count = tables_read_top(service->tables, top, most);
    json_array(json, name);
    for (size_t i = 0; i < count; i++) write_refused(json, &top[i]);
    json_end_array(json);
}

void stats_write_top(struct service *service, struct bytes *out)
{
    write_top(&(struct json){.out = out}, NULL, service, TOP_ALONE);
    bytes_byte(out, '\n');
}

/* ---- limits ---- */

static void write_meaning(struct json *json, const struct policy_limit *limit)
{
    char canonical[TEXT_MAX];
    if (limit == NULL) {
        json_null(json, "text");
        return;
    }
    weir_plan_text(&limit->plan, canonical, sizeof canonical);
    json_text(json, "text", canonical);
    json_bool(json, "shadow", limit->shadow);
}

static void write_sums(struct json *json, const struct sums_limit *sum)
{
    json_number(json, "allowed", sum->allowed);
    json_number(json, "denied", sum->denied + sum->never);
    json_number(json, "never", sum->never);
    json_number(json, "shadowed", sum->shadowed);
    json_number(json, "permits", sum->permits);
    json_number(json, "late_ns", sum->late_ns);
}

/* Of a concurrent limit. */
static void write_slots(struct json *json, const struct policy_limit *limit, const struct sums_limit *sum,
                        uint64_t now_ns)
{
    uint64_t held;
    if (limit == NULL || !backend_holds(&limit->plan)) return;
    if (backend_held(limit, now_ns, &held)) json_number(json, "held", held);
    json_number(json, "renewals", sum->renewals);
    json_number(json, "releases", sum->releases);
    json_number(json, "stale", sum->stale);
}

static void write_limit(struct json *json, unsigned place, const char *name, const struct policy_limit *limit,
                        const struct sums_limit *sum, uint64_t now_ns)
{
    json_object(json, NULL);
    json_number(json, "place", place);
    json_text(json, "name", name);
    write_meaning(json, limit);
    write_sums(json, sum);
    if (limit != NULL && limit->others != NULL) json_number(json, "borrowed", sum->borrowed);
    write_slots(json, limit, sum, now_ns);
    json_end_object(json);
}

/* Those with a place, and the sum of all, theirs and the others'. */
static void write_limits(struct json *json, struct service *service, const struct series *series,
                         const struct sums_crew *crew)
{
    struct sums_name name;
    struct policy *policy = service_policy(service);
    json_array(json, "limits");
    for (unsigned place = 0; place < SERIES_LIMITS && series != NULL; place++) {
        const unsigned numbered = series->number[place];
        if (numbered == SERIES_NOBODY || !sums_name(crew, numbered, &name)) continue;
        const struct sums_limit sum = sums_of_limit(crew, numbered);
        write_limit(json, place, name.text, policy_numbered(policy, numbered), &sum, service->now_ns(service->clock));
    }
    json_end_array(json);
    const struct sums_limit all = sums_of_limits(crew);
    json_number(json, "names", sums_names(crew));
    json_object(json, "all");
    write_sums(json, &all);
    json_end_object(json);
    if (policy != NULL) service_release(service, policy);
}

/* ---- the rest ---- */

/* The figures whose names in JSON begin like this: "table." */
static void write_figures(struct json *json, const struct figures *figures, const char *of)
{
    unsigned count;
    const struct figures_row *row = figures_rows(&count);
    for (unsigned i = 0; i < count; i++) {
        const char *name = figures_member(row[i].json, of);
        if (name != NULL) json_number(json, name, figures_value(figures, &row[i]));
    }
}

static void write_object(struct json *json, const struct figures *figures, const char *name, const char *of)
{
    json_object(json, name);
    write_figures(json, figures, of);
    json_end_object(json);
}

static void write_event(struct json *json, uint64_t number, uint64_t unix_ns, const char *text)
{
    json_object(json, NULL);
    json_number(json, "number", number);
    json_number(json, "unix_ms", unix_ns / MS_NS);
    json_text(json, "text", text);
    json_end_object(json);
}

/* Both with the latest first. */
static void write_events(struct json *json, struct service *service)
{
    host_lock(&service->mutex);
    const uint64_t events = service->event_count, notes = service->note_count;
    json_array(json, "events");
    for (uint64_t i = 0; i < least(events, EVENTS_TOLD); i++) {
        const struct service_event *event = &service->event[(events - 1 - i) % SERVICE_EVENTS_MAX];
        write_event(json, event->number, event->unix_ns, event->text);
    }
    json_end_array(json);
    json_array(json, "mistakes");
    for (uint64_t i = 0; i < least(notes, SERVICE_NOTES_MAX); i++) {
        const struct service_note *note = &service->note[(notes - 1 - i) % SERVICE_NOTES_MAX];
        write_event(json, note->number, note->unix_ns, note->text);
    }
    json_end_array(json);
    host_unlock(&service->mutex);
}

/* ---- samples ---- */

static void write_numbers(struct json *json, const uint64_t values[], unsigned count)
{
    for (unsigned i = 0; i < count; i++) json_number(json, NULL, values[i]);
}

static void write_sample(struct json *json, const struct series_sample *sample)
{
    const uint64_t moment[] = {sample->number, sample->unix_ms, sample->p50_ns,     sample->p99_ns,
                               sample->max_ns, sample->keys,    sample->connections};
    json_array(json, NULL);
    write_numbers(json, moment, sizeof moment / sizeof moment[0]);
    json_array(json, NULL);
    for (unsigned place = 0; place <= SERIES_LIMITS; place++) {
        const struct series_calls *here = &sample->calls[place];
        if (here->offered == 0) continue;
        json_array(json, NULL);
        write_numbers(json, (const uint64_t[]){place, here->offered, here->denied, here->shadowed}, 4);
        json_end_array(json);
    }
    json_end_array(json);
    json_end_array(json);
}

static void write_samples(struct json *json, const struct series *series, uint64_t since)
{
    const uint64_t count = series != NULL ? series->count : 0;
    const uint64_t kept = count < SERIES_SAMPLES ? count : SERIES_SAMPLES;
    uint64_t told = since < count - kept || since > count ? count - kept : since;
    json_array(json, "samples");
    for (; told < count && json->out->capacity - json->out->size > 2 * (size_t)ROW_MAX; told++)
        write_sample(json, &series->sample[told % SERIES_SAMPLES]);
    json_end_array(json);
    json_bool(json, "more", told < count);
}

/* Nothing where the file names none. */
static void write_engine(struct json *json, const struct figures *figures)
{
    if (figures->engine == NULL) return;
    json_object(json, "engine");
    json_text(json, "name", engine_name(figures->engine));
    json_bool(json, "away", figures->engine_stats.away != 0);
    json_number(json, "round_trip_ns", figures->engine_stats.round_trip_ns);
    write_figures(json, figures, "engine.");
    json_end_object(json);
}

/* ---- all ---- */

/* The path of a Unix socket may have any bytes. */
static void write_addresses(struct json *json, const struct service *service)
{
    json_array(json, "addresses");
    for (unsigned i = 0; i < service->address_count; i++) {
        json_object(json, NULL);
        json_text(json, "protocol", service->address[i].protocol);
        json_key(json, "address", slice_of(service->address[i].text));
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_service(struct json *json, struct service *service)
{
    json_text(json, "version", WEIR_VERSION);
    json_number(json, "unix_ms", host_unix_ns() / MS_NS);
    json_number(json, "started_unix_ms", service->started_unix_ns / MS_NS);
    json_number(json, "uptime_s", sums_less(service->now_ns(service->clock), service->started_ns) / SECOND_NS);
    json_bool(json, "draining", atom_load(&service->draining) != 0);
    json_number(json, "policies", atom_load(&service->policies));
    write_addresses(json, service);
}

void stats_write_json(struct service *service, uint64_t since, struct bytes *out)
{
    struct json json = {.out = out};
    struct figures figures;
    figures_read(&figures, service);
    json_object(&json, NULL);
    write_service(&json, service);
    write_object(&json, &figures, "connections", "connections.");
    write_figures(&json, &figures, "");
    json_number(&json, "workers", figures.crew.workers);
    write_object(&json, &figures, "table", "table.");
    write_engine(&json, &figures);
    write_events(&json, service);
    write_top(&json, "top", service, TOP_OF_PAGE);
    struct series *series = series_hold(service);
    json_number(&json, "layout", series != NULL ? series->layout : 0);
    json_number(&json, "sample", series != NULL ? series->count : 0);
    write_limits(&json, service, series, &figures.crew);
    write_samples(&json, series, since);
    json_end_object(&json);
    bytes_byte(out, '\n');
    if (series != NULL) series_release(series);
    figures_release(&figures);
}
