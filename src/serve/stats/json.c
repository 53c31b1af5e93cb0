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
#include "format/address_text.h"
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
    ROW_MAX = 3072, /* of one sample, and what comes behind the last */
    KEY_TEXT_MAX = 4 * WEIR_TOP_KEY_SIZE
};

/* ---- members ---- */

/* The name of a member, with what is before it: "{" or ",". */
static void name_of(struct bytes *out, const char *before, const char *name)
{
    bytes_text(out, before);
    bytes_byte(out, '"');
    bytes_text(out, name);
    bytes_text(out, "\":");
}

static void number(struct bytes *out, const char *before, const char *name, uint64_t value)
{
    name_of(out, before, name);
    bytes_number(out, value);
}

static void text(struct bytes *out, const char *before, const char *name, struct slice value)
{
    name_of(out, before, name);
    bytes_json(out, value);
}

static void truth(struct bytes *out, const char *before, const char *name, bool value)
{
    name_of(out, before, name);
    bytes_text(out, value ? "true" : "false");
}

/* ---- the most refused keys ---- */

static void write_key(struct bytes *out, struct slice key)
{
    static const char digits[] = "0123456789abcdef";
    char memory[KEY_TEXT_MAX];
    struct bytes readable = {.memory = memory, .capacity = sizeof memory};
    while (key.size != 0) {
        const size_t size = slice_character(key);
        const unsigned char byte = (unsigned char)key.bytes[0];
        const char escape[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        bytes_add(&readable, size != 0 ? (struct slice){key.bytes, size} : (struct slice){escape, sizeof escape});
        key = slice_from(key, size != 0 ? size : 1);
    }
    bytes_json(out, bytes_slice(&readable));
}

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
static void write_refused(struct bytes *out, const weir_top *top)
{
    const bool cut = top->key_size > WEIR_TOP_KEY_SIZE;
    struct slice key = {(const char *)top->key, cut ? WEIR_TOP_KEY_SIZE : top->key_size};
    name_of(out, "{", "limit");
    if (key.size != 0 && key.bytes[0] == '\0') {
        key = slice_from(key, 1);
        write_key(out, name_in(&key));
    } else {
        bytes_text(out, "null");
    }
    name_of(out, ",", "key");
    write_key(out, key);
    number(out, ",", "denied", top->denied);
    number(out, ",", "over", top->over);
    truth(out, ",", "cut", cut);
    bytes_byte(out, '}');
}

static void write_top(struct service *service, size_t most, struct bytes *out)
{
    weir_top top[TOP_ALONE];
    const size_t count = tables_read_top(service->tables, top, most);
    bytes_byte(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i != 0) bytes_byte(out, ',');
        write_refused(out, &top[i]);
    }
    bytes_byte(out, ']');
}

void stats_write_top(struct service *service, struct bytes *out)
{
    write_top(service, TOP_ALONE, out);
    bytes_byte(out, '\n');
}

/* ---- limits ---- */

/* The limit that has these counters now; NULL: none. */
static const struct policy_limit *limit_of(const struct policy *policy, unsigned numbered)
{
    for (unsigned i = 0; policy != NULL && i < policy->limit_count; i++) {
        if (policy->limit[i].number == numbered) return &policy->limit[i];
    }
    return NULL;
}

static void write_meaning(struct bytes *out, const struct policy_limit *limit)
{
    char canonical[TEXT_MAX];
    name_of(out, ",", "text");
    if (limit == NULL) {
        bytes_text(out, "null");
        return;
    }
    weir_plan_text(&limit->plan, canonical, sizeof canonical);
    bytes_json(out, slice_of(canonical));
    truth(out, ",", "shadow", limit->shadow);
}

static void write_sums(struct bytes *out, const char *before, const struct sums_limit *sum)
{
    number(out, before, "allowed", sum->allowed);
    number(out, ",", "denied", sum->denied + sum->never);
    number(out, ",", "never", sum->never);
    number(out, ",", "shadowed", sum->shadowed);
    number(out, ",", "permits", sum->permits);
    number(out, ",", "late_ns", sum->late_ns);
}

static void write_limit(struct bytes *out, unsigned place, const char *name, const struct policy_limit *limit,
                        const struct sums_limit *sum)
{
    number(out, "{", "place", place);
    text(out, ",", "name", slice_of(name));
    write_meaning(out, limit);
    write_sums(out, ",", sum);
    bytes_byte(out, '}');
}

/* Those with a place, and the sum of all, theirs and the others'. */
static void write_limits(struct bytes *out, struct service *service, const struct series *series,
                         const struct sums_crew *crew)
{
    struct sums_name name;
    struct policy *policy = service_policy(service);
    name_of(out, ",", "limits");
    const char *before = "[";
    for (unsigned place = 0; place < SERIES_LIMITS && series != NULL; place++) {
        const unsigned numbered = series->number[place];
        if (numbered == SERIES_NOBODY || !sums_name(crew, numbered, &name)) continue;
        const struct sums_limit sum = sums_of_limit(crew, numbered);
        bytes_text(out, before);
        write_limit(out, place, name.text, limit_of(policy, numbered), &sum);
        before = ",";
    }
    bytes_text(out, before[0] == '[' ? "[]" : "]");
    const struct sums_limit all = sums_of_limits(crew);
    number(out, ",", "names", sums_names(crew));
    name_of(out, ",", "all");
    write_sums(out, "{", &all);
    bytes_byte(out, '}');
    if (policy != NULL) service_release(service, policy);
}

/* ---- the rest ---- */

/* The figures whose names in JSON begin like this: "table." */
static void write_figures(struct bytes *out, const struct figures *figures, const char *of, const char *before)
{
    unsigned count;
    const struct figures_row *row = figures_rows(&count);
    for (unsigned i = 0; i < count; i++) {
        const char *name = figures_member(row[i].json, of);
        if (name == NULL) continue;
        number(out, before, name, figures_value(figures, &row[i]));
        before = ",";
    }
}

static void write_object(struct bytes *out, const struct figures *figures, const char *name, const char *of)
{
    name_of(out, ",", name);
    write_figures(out, figures, of, "{");
    bytes_byte(out, '}');
}

/* The latest first, as events. */
static void write_notes(struct bytes *out, struct service *service)
{
    name_of(out, ",", "mistakes");
    bytes_byte(out, '[');
    host_lock(&service->mutex);
    const uint64_t count = service->note_count, told = count < SERVICE_NOTES_MAX ? count : SERVICE_NOTES_MAX;
    for (uint64_t i = 0; i < told; i++) {
        const struct service_note *note = &service->note[(count - 1 - i) % SERVICE_NOTES_MAX];
        number(out, i == 0 ? "{" : ",{", "number", note->number);
        number(out, ",", "unix_ms", note->unix_ns / MS_NS);
        text(out, ",", "text", slice_of(note->text));
        bytes_byte(out, '}');
    }
    host_unlock(&service->mutex);
    bytes_byte(out, ']');
}

/* [under the mutex] */
static void write_event(struct bytes *out, const struct service_event *event)
{
    number(out, "{", "number", event->number);
    number(out, ",", "unix_ms", event->unix_ns / MS_NS);
    text(out, ",", "text", slice_of(event->text));
    bytes_byte(out, '}');
}

/* The latest first. */
static void write_events(struct bytes *out, struct service *service)
{
    name_of(out, ",", "events");
    bytes_byte(out, '[');
    host_lock(&service->mutex);
    const uint64_t count = service->event_count, told = count < EVENTS_TOLD ? count : EVENTS_TOLD;
    for (uint64_t i = 0; i < told; i++) {
        if (i != 0) bytes_byte(out, ',');
        write_event(out, &service->event[(count - 1 - i) % SERVICE_EVENTS_MAX]);
    }
    host_unlock(&service->mutex);
    bytes_byte(out, ']');
}

/* ---- samples ---- */

static void write_numbers(struct bytes *out, const uint64_t values[], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        bytes_byte(out, i == 0 ? '[' : ',');
        bytes_number(out, values[i]);
    }
}

static void write_calls(struct bytes *out, const struct series_calls calls[SERIES_LIMITS + 1])
{
    const char *before = "";
    for (unsigned place = 0; place <= SERIES_LIMITS; place++) {
        const struct series_calls *here = &calls[place];
        if (here->offered == 0) continue;
        bytes_text(out, before);
        write_numbers(out, (const uint64_t[]){place, here->offered, here->denied, here->shadowed}, 4);
        bytes_byte(out, ']');
        before = ",";
    }
}

static void write_sample(struct bytes *out, const struct series_sample *sample)
{
    const uint64_t moment[] = {sample->number, sample->unix_ms, sample->p50_ns,     sample->p99_ns,
                               sample->max_ns, sample->keys,    sample->connections};
    write_numbers(out, moment, sizeof moment / sizeof moment[0]);
    bytes_text(out, ",[");
    write_calls(out, sample->calls);
    bytes_text(out, "]]");
}

static void write_samples(struct bytes *out, const struct series *series, uint64_t since)
{
    const uint64_t count = series != NULL ? series->count : 0;
    const uint64_t kept = count < SERIES_SAMPLES ? count : SERIES_SAMPLES;
    uint64_t told = since < count - kept || since > count ? count - kept : since;
    const char *before = "";
    name_of(out, ",", "samples");
    bytes_byte(out, '[');
    for (; told < count && out->capacity - out->size > 2 * (size_t)ROW_MAX; told++) {
        bytes_text(out, before);
        write_sample(out, &series->sample[told % SERIES_SAMPLES]);
        before = ",";
    }
    bytes_byte(out, ']');
    truth(out, ",", "more", told < count);
    bytes_text(out, "}\n");
}

/* Nothing where the file names none. */
static void write_engine(struct bytes *out, const struct figures *figures)
{
    if (figures->engine == NULL) return;
    name_of(out, ",", "engine");
    text(out, "{", "name", slice_of(engine_name(figures->engine)));
    truth(out, ",", "away", figures->engine_stats.away != 0);
    number(out, ",", "round_trip_ns", figures->engine_stats.round_trip_ns);
    write_figures(out, figures, "engine.", ",");
    bytes_byte(out, '}');
}

/* ---- all ---- */

/* The path of a Unix socket may have any bytes. */
static void write_addresses(struct bytes *out, const struct service *service)
{
    name_of(out, ",", "addresses");
    bytes_byte(out, '[');
    for (unsigned i = 0; i < service->address_count; i++) {
        text(out, i == 0 ? "{" : ",{", "protocol", slice_of(service->address[i].protocol));
        name_of(out, ",", "address");
        write_key(out, slice_of(service->address[i].text));
        bytes_byte(out, '}');
    }
    bytes_byte(out, ']');
}

static void write_service(struct bytes *out, struct service *service)
{
    text(out, "{", "version", slice_of(WEIR_VERSION));
    number(out, ",", "unix_ms", host_unix_ns() / MS_NS);
    number(out, ",", "started_unix_ms", service->started_unix_ns / MS_NS);
    number(out, ",", "uptime_s", sums_less(service->now_ns(service->clock), service->started_ns) / SECOND_NS);
    truth(out, ",", "draining", atom_load(&service->draining) != 0);
    number(out, ",", "policies", atom_load(&service->policies));
    write_addresses(out, service);
}

void stats_write_json(struct service *service, uint64_t since, struct bytes *out)
{
    struct figures figures;
    figures_read(&figures, service);
    write_service(out, service);
    write_object(out, &figures, "connections", "connections.");
    write_figures(out, &figures, "", ",");
    number(out, ",", "workers", figures.crew.workers);
    write_object(out, &figures, "table", "table.");
    write_engine(out, &figures);
    write_events(out, service);
    write_notes(out, service);
    name_of(out, ",", "top");
    write_top(service, TOP_OF_PAGE, out);
    struct series *series = series_hold(service);
    number(out, ",", "layout", series != NULL ? series->layout : 0);
    number(out, ",", "sample", series != NULL ? series->count : 0);
    write_limits(out, service, series, &figures.crew);
    write_samples(out, series, since);
    if (series != NULL) series_release(series);
    figures_release(&figures);
}
