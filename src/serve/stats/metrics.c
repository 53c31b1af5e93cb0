/* SPDX-License-Identifier: MIT
   What the service has done, in Prometheus's text format 0.0.4.

   No key is a label: there may be millions of them.  Verdicts exclude each other, so their sum is what was offered.

   Fits STATS_METRICS_MAX; each family has a HELP and a TYPE; no worker waits. */
#include "serve/stats/series.h"
#include "serve/stats/sums.h"
#include "serve/stats/text.h"

enum { SECOND_NS = 1000000000, FIRST_BOUND = 10, LAST_BOUND = 33 }; /* 1.023 us to 8.6 s, each twice the one before */

/* ---- words ---- */

static void family(struct bytes *out, const char *name, const char *type, const char *help)
{
    const char *const words[] = {"# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n"};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) bytes_text(out, words[i]);
}

/* All but these three stand in a label as they are. */
static void label_value(struct bytes *out, const char *value)
{
    for (; *value != '\0'; value++) {
        if (*value == '\n') bytes_text(out, "\\n");
        else if (*value == '"' || *value == '\\') bytes_add(out, (struct slice){(const char[]){'\\', *value}, 2});
        else bytes_byte(out, *value);
    }
}

static void label(struct bytes *out, const char *name, const char *value)
{
    bytes_text(out, name);
    bytes_text(out, "=\"");
    label_value(out, value);
    bytes_byte(out, '"');
}

static void value_of(struct bytes *out, uint64_t value)
{
    bytes_byte(out, ' ');
    bytes_number(out, value);
    bytes_byte(out, '\n');
}

static void seconds(struct bytes *out, uint64_t ns)
{
    bytes_number(out, ns / SECOND_NS);
    uint64_t rest = ns % SECOND_NS;
    if (rest != 0) bytes_byte(out, '.');
    for (uint64_t place = SECOND_NS / 10; rest != 0; place /= 10) {
        bytes_byte(out, (char)('0' + rest / place));
        rest %= place;
    }
}

static void single(struct bytes *out, const char *name, const char *type, const char *help, uint64_t value)
{
    family(out, name, type, help);
    bytes_text(out, name);
    value_of(out, value);
}

/* ---- limits ---- */

/* No name begins like these. */
static const char of_texts[] = "(text)", of_removed[] = "(removed)";

/* NULL: nobody has this number. */
static const char *label_of_limit(const struct sums_crew *crew, unsigned number, struct sums_name *name)
{
    if (number == 0) return of_texts;
    return sums_name(crew, number, name) ? name->text : NULL;
}

static void decisions(struct bytes *out, const char *limit, const char *verdict, uint64_t value)
{
    bytes_text(out, "weir_decisions_total{");
    label(out, "limit", limit);
    bytes_byte(out, ',');
    label(out, "verdict", verdict);
    bytes_byte(out, '}');
    value_of(out, value);
}

static void decisions_of(struct bytes *out, const char *limit, const struct sums_limit *sum)
{
    decisions(out, limit, "allow", sums_less(sum->allowed, sum->shadowed));
    decisions(out, limit, "deny", sum->denied);
    decisions(out, limit, "never", sum->never);
    decisions(out, limit, "shadow", sum->shadowed);
}

static bool are_some(const struct sums_limit *sum)
{
    return (sum->allowed | sum->denied | sum->never) != 0;
}

static void all_decisions(struct bytes *out, const struct sums_crew *crew)
{
    family(out, "weir_decisions_total", "counter",
           "Decisions by limit, \"(text)\" for limits given as text; shadow: allowed, but only because the limit just "
           "counts.");
    struct sums_name name;
    for (unsigned number = 0; number < crew->numbers; number++) {
        const char *limit = label_of_limit(crew, number, &name);
        const struct sums_limit sum = sums_of_limit(crew, number);
        if (limit != NULL) decisions_of(out, limit, &sum);
    }
    const struct sums_limit gone = sums_of_gone(crew);
    if (are_some(&gone)) decisions_of(out, of_removed, &gone);
}

static void permits_of(struct bytes *out, const char *limit, uint64_t permits)
{
    bytes_text(out, "weir_permits_total{");
    label(out, "limit", limit);
    bytes_byte(out, '}');
    value_of(out, permits);
}

static void all_permits(struct bytes *out, const struct sums_crew *crew)
{
    family(out, "weir_permits_total", "counter", "Permits granted, by limit.");
    struct sums_name name;
    for (unsigned number = 0; number < crew->numbers; number++) {
        const char *limit = label_of_limit(crew, number, &name);
        if (limit != NULL) permits_of(out, limit, sums_of_limit(crew, number).permits);
    }
    const struct sums_limit gone = sums_of_gone(crew);
    if (are_some(&gone)) permits_of(out, of_removed, gone.permits);
}

/* 0 of limits without a schedule: they owe nobody a start. */
static void all_lateness(struct bytes *out, const struct sums_crew *crew)
{
    family(
        out, "weir_lateness_seconds", "gauge",
        "By how much the last call granted was later than it was due by the rate, by limit; 0 unless the limit paces.");
    struct sums_name name;
    for (unsigned number = 0; number < crew->numbers; number++) {
        const char *limit = label_of_limit(crew, number, &name);
        if (limit == NULL) continue;
        bytes_text(out, "weir_lateness_seconds{");
        label(out, "limit", limit);
        bytes_text(out, "} ");
        seconds(out, sums_of_limit(crew, number).late_ns);
        bytes_byte(out, '\n');
    }
}

/* ---- latency ---- */

static void bucket_of(struct bytes *out, const char *name, uint64_t bound_ns, uint64_t count)
{
    bytes_text(out, name);
    bytes_text(out, "_bucket{le=\"");
    if (bound_ns == UINT64_MAX) bytes_text(out, "+Inf");
    else seconds(out, bound_ns);
    bytes_text(out, "\"}");
    value_of(out, count);
}

static void sum_and_count(struct bytes *out, const char *name, uint64_t sum_ns, uint64_t count)
{
    bucket_of(out, name, UINT64_MAX, count);
    bytes_text(out, name);
    bytes_text(out, "_sum ");
    seconds(out, sum_ns);
    bytes_byte(out, '\n');
    bytes_text(out, name);
    bytes_text(out, "_count");
    value_of(out, count);
}

/* The bounds are the ends of buckets of ours, so that the counts are exact. */
static void durations(struct bytes *out, const struct sums *sums)
{
    static const char name[] = "weir_request_duration_seconds";
    family(out, name, "histogram", "From a decision's request being read to its answer being sent.");
    uint64_t count = 0;
    unsigned bucket = 0;
    for (unsigned bound = FIRST_BOUND; bound <= LAST_BOUND; bound++) {
        const uint64_t bound_ns = (UINT64_C(1) << bound) - 1;
        while (histogram_bucket_end(bucket, STATS_LATENCY_BITS) <= bound_ns) count += sums->latency[bucket++];
        bucket_of(out, name, bound_ns, count);
    }
    while (bucket < STATS_LATENCY_BUCKETS) count += sums->latency[bucket++];
    sum_and_count(out, name, sums->latency_sum_ns, count);
}

/* ---- the rest ---- */

static void labelled(struct bytes *out, const char *name, const char *of, const char *const word[],
                     const uint64_t value[], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        bytes_text(out, name);
        bytes_byte(out, '{');
        label(out, of, word[i]);
        bytes_byte(out, '}');
        value_of(out, value[i]);
    }
}

static void requests(struct bytes *out, const struct sums *sums)
{
    family(out, "weir_requests_total", "counter", "Requests, by protocol.");
    bytes_text(out, "weir_requests_total{protocol=\"resp\"}");
    value_of(out, sums->commands);
    bytes_text(out, "weir_requests_total{protocol=\"http\"}");
    value_of(out, sums->http_requests);
    single(out, "weir_errors_total", "counter", "Requests answered with an error.", sums->errors);
    single(out, "weir_event_loop_iterations_total", "counter",
           "Event loop iterations of all workers; each decides one batch of requests.", sums->batches);
    single(out, "weir_text_alternations_total", "counter",
           "Times that a key was asked under the free text before its last: two texts in turn.", sums->alternations);
}

static void connections(struct bytes *out, const struct sums *sums)
{
    static const char *const closed[] = {"client", "dropped"};
    single(out, "weir_connections", "gauge", "Connections that are open.",
           sums_less(sums->connections_opened, sums->connections_closed));
    single(out, "weir_connections_opened_total", "counter", "Connections opened.", sums->connections_opened);
    single(out, "weir_connections_refused_total", "counter", "Connections closed at once, for there were too many.",
           sums->connections_refused);
    family(out, "weir_connections_closed_total", "counter",
           "Connections closed by the client, or dropped by the service: too slow, idle, or a protocol error.");
    labelled(out, "weir_connections_closed_total", "reason", closed,
             (const uint64_t[]){sums_less(sums->connections_closed, sums->connections_cut), sums->connections_cut}, 2);
    single(out, "weir_received_bytes_total", "counter", "Bytes received.", sums->bytes_in);
    single(out, "weir_sent_bytes_total", "counter", "Bytes sent.", sums->bytes_out);
}

static void tables(struct bytes *out, const weir_table_stats *stats, const struct tables_memory *memory,
                   const struct settled *settled)
{
    single(out, "weir_table_keys", "gauge", "Keys that have used something and are not full again.", stats->keys_live);
    single(out, "weir_table_keys_max", "gauge", "Keys the tables are made for.", stats->keys_max);
    single(out, "weir_table_bytes", "gauge", "Memory of the tables.", stats->bytes);
    single(out, "weir_table_memory_used_bytes", "gauge", "Memory given out to tables and their parts, filled or not.",
           memory->used);
    single(out, "weir_table_memory_max_bytes", "gauge", "Memory that all tables together may have.", memory->most);
    single(out, "weir_table_memory_refused_total", "counter",
           "Limits refused, or left without a part of their own, because that memory is given out.", memory->refused);
    single(out, "weir_table_full_total", "counter", "New keys that found no slot.", stats->full);
    single(out, "weir_table_displaced_total", "counter", "Keys that lost their slot to another.", stats->displaced);
    single(out, "weir_table_stuck_total", "counter",
           "Questions refused, for another process kept the lock of their part of the state.", stats->stuck);
    single(out, "weir_settles_refused_total", "counter",
           "Receipts that were not settled, for too many had been of late: see table.keys.", settled_refused(settled));
    single(out, "weir_table_reclaimed_total", "counter", "Keys that got an idle slot.", stats->reclaimed);
}

/* ---- an engine ---- */

static void round_trips(struct bytes *out, const weir_engine_stats *stats)
{
    static const char name[] = "weir_engine_round_trip_seconds";
    uint64_t count = 0;
    family(out, name, "histogram", "From a question being sent to the engine to its answer.");
    for (unsigned i = 0; i < WEIR_ENGINE_ROUND_TRIPS - 1; i++) {
        count += stats->round_trips[i];
        bucket_of(out, name, (UINT64_C(1) << (FIRST_BOUND + i)) - 1, count);
    }
    sum_and_count(out, name, stats->round_trip_sum_ns, count + stats->round_trips[WEIR_ENGINE_ROUND_TRIPS - 1]);
}

_Static_assert(WEIR_ENGINE_ROUND_TRIPS == LAST_BOUND - FIRST_BOUND + 2, "the same bounds as of requests");

static void fallbacks_of(struct bytes *out, const char *limit, const struct sums_limit *sum)
{
    static const char *const verdict[] = {"allow", "deny"};
    const uint64_t value[] = {sum->away_allowed, sum->away_refused};
    for (unsigned i = 0; i < 2; i++) {
        bytes_text(out, "weir_engine_fallback_decisions_total{");
        label(out, "limit", limit);
        bytes_byte(out, ',');
        label(out, "verdict", verdict[i]);
        bytes_byte(out, '}');
        value_of(out, value[i]);
    }
}

static void fallbacks(struct bytes *out, const struct sums_crew *crew)
{
    struct sums_name name;
    family(out, "weir_engine_fallback_decisions_total", "counter",
           "Decisions while the engine was unavailable, by limit: as its away says.");
    for (unsigned number = 0; number < crew->numbers; number++) {
        const char *limit = label_of_limit(crew, number, &name);
        const struct sums_limit sum = sums_of_limit(crew, number);
        if (limit != NULL) fallbacks_of(out, limit, &sum);
    }
    const struct sums_limit gone = sums_of_gone(crew);
    if (are_some(&gone)) fallbacks_of(out, of_removed, &gone);
}

/* Nothing where the file names none. */
static void engine_of(struct bytes *out, struct service *service, const struct sums_crew *crew)
{
    static const char *const from[] = {"engine", "lease", "away"};
    static const char *const why[] = {"connection", "timeout", "refused", "discovery"};
    weir_engine_stats stats = {0};
    struct engine *engine = service_engine(service);
    if (engine == NULL) return;
    engine_read_stats(engine, &stats);
    engine_release(engine);
    single(out, "weir_engine_up", "gauge", "1 while the engine answers, 0 while it is unavailable.", stats.away == 0);
    round_trips(out, &stats);
    single(out, "weir_engine_nodes", "gauge",
           "Servers that share the engine's limits, as was said or heard; 0 while it is not known.", stats.nodes);
    family(out, "weir_engine_decisions_total", "counter",
           "Decisions of limits that the engine keeps, by who gave them.");
    labelled(out, "weir_engine_decisions_total", "from", from,
             (const uint64_t[]){stats.from_engine, stats.from_lease, stats.from_away}, 3);
    fallbacks(out, crew);
    family(out, "weir_engine_outages_total", "counter", "Times the engine became unavailable, by why.");
    labelled(out, "weir_engine_outages_total", "reason", why, stats.outages, WEIR_OUTAGES);
    single(out, "weir_engine_queue_full_total", "counter",
           "Questions answered as if the engine were unavailable, for too many were waiting for it.", stats.crowded);
    single(out, "weir_engine_commands_total", "counter", "Commands sent to engines.", stats.commands);
    single(out, "weir_engine_connects_total", "counter", "Connections made to engines.", stats.connects);
    single(out, "weir_engine_timeouts_total", "counter", "Questions that were not answered within the deadline.",
           stats.late);
    single(out, "weir_engine_redirects_total", "counter", "Answers that named another server: MOVED and ASK.",
           stats.redirected);
    single(out, "weir_engine_away_table_full_total", "counter",
           "New keys that found the table full that is kept for when the engine is unavailable.", stats.away_full);
    single(out, "weir_engine_leased_permits_total", "counter", "Permits taken along in leases.", stats.leased);
    single(out, "weir_engine_unused_permits_total", "counter", "Permits of leases that were not used.",
           stats.lease_unused);
    single(out, "weir_engine_foreign_values_total", "counter",
           "Answers of the away policy, for what was at the key is no state that this weir reads.", stats.foreign);
}

static void process(struct bytes *out, const struct service *service)
{
    single(out, "weir_policy_reloads_total", "counter", "Times the named limits were set, by file or command.",
           atom_load(&service->policies));
    family(out, "weir_build_info", "gauge", "1, with the version.");
    bytes_text(out, "weir_build_info{version=\"" WEIR_VERSION "\"} 1\n");
    family(out, "process_start_time_seconds", "gauge", "When the service started, in seconds since the epoch.");
    bytes_text(out, "process_start_time_seconds ");
    seconds(out, service->started_unix_ns);
    bytes_byte(out, '\n');
}

void stats_write_metrics(struct service *service, struct bytes *out)
{
    struct sums_crew crew;
    struct sums sums;
    weir_table_stats table;
    sums_crew(&crew, service);
    sums_of_all(&crew, &sums);
    series_table(service, &table);
    all_decisions(out, &crew);
    all_permits(out, &crew);
    all_lateness(out, &crew);
    durations(out, &sums);
    requests(out, &sums);
    connections(out, &sums);
    const struct tables_memory memory = tables_read_memory(service->tables);
    tables(out, &table, &memory, tables_settled(service->tables));
    engine_of(out, service, &crew);
    process(out, service);
}
