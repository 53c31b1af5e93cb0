/* SPDX-License-Identifier: MIT
   What the service counts: a row for each figure, from which /metrics, the page's JSON and INFO come. */
#include "serve/stats/figures.h"

#include "serve/stats/series.h"

/* A field of another type does not compile. */
#define NUMBER(type, field) (offsetof(type, field) + _Generic(((type *)NULL)->field, uint64_t : 0U))
#define COUNTER(type, field) (offsetof(type, field) + _Generic(((type *)NULL)->field, struct atom : 0U))
#define SERVICE(field) .of = FIGURES_OF_SERVICE, .at = NUMBER(struct figures, field)
#define WORKERS(field) .of = FIGURES_OF_WORKERS, .at = COUNTER(struct stats, field)
#define LIMIT(field) .of = FIGURES_OF_LIMIT, .at = NUMBER(struct sums_limit, field)
#define TIMES(field) .of = FIGURES_TIMES, .at = offsetof(struct figures, field)

static const struct figures_row rows[] = {
    {"weir_decisions_total",
     "Decisions by limit, \"(text)\" for limits given as text; shadow: allowed, but only because the limit just "
     "counts.",
     .label = "verdict=\"allow\"", LIMIT(allowed)},
    {"weir_decisions_total", NULL, .label = "verdict=\"deny\"", LIMIT(denied)},
    {"weir_decisions_total", NULL, .label = "verdict=\"never\"", LIMIT(never)},
    {"weir_decisions_total", NULL, .label = "verdict=\"shadow\"", LIMIT(shadowed)},
    {"weir_permits_total", "Permits granted, by limit.", LIMIT(permits)},
    {"weir_lateness_seconds",
     "By how much the last call granted was later than it was due by the rate, by limit; 0 unless the limit paces.",
     LIMIT(late_ns)},
    {"weir_tenant_borrowed_total",
     "Calls of tenants allowed beyond their guarantee, for there was room at the parent, by limit.", LIMIT(borrowed)},
    {"weir_concurrent_held", "Slots held now, of concurrent limits with one key for all (key: none).", LIMIT(held)},
    {"weir_concurrent_renewals_total", "Leases renewed, by concurrent limit.", LIMIT(renewals)},
    {"weir_concurrent_releases_total", "Takes released, by concurrent limit.", LIMIT(releases)},
    {"weir_concurrent_stale_total",
     "Renewals and releases that came too late: the lease was over, or it had been released.", LIMIT(stale)},
    {"weir_request_duration_seconds", "From a decision's request being read to its answer being sent.",
     TIMES(requests)},
    {"weir_requests_total", "Requests, by protocol.", .label = "protocol=\"resp\"", WORKERS(commands),
     .json = "commands", .info = "Stats.total_commands_processed"},
    {"weir_requests_total", NULL, .label = "protocol=\"http\"", WORKERS(http_requests), .json = "http_requests",
     .info = "Stats.total_http_requests"},
    {"weir_errors_total", "Requests answered with an error.", WORKERS(errors), .json = "errors",
     .info = "Stats.total_error_replies"},
    {"weir_event_loop_iterations_total", "Event loop iterations of all workers; each decides one batch of requests.",
     WORKERS(batches)},
    {"weir_text_alternations_total",
     "Times that a key was asked under the free text before its last: two texts in turn.", WORKERS(alternations)},
    {"weir_connections", "Connections that are open.", SERVICE(connections_open), .json = "connections.open",
     .info = "Clients.connected_clients"},
    {"weir_connections_opened_total", "Connections opened.", WORKERS(connections_opened), .json = "connections.opened",
     .info = "Stats.total_connections_received"},
    {"weir_connections_refused_total", "Connections closed at once, for there were too many.",
     WORKERS(connections_refused), .json = "connections.refused", .info = "Stats.rejected_connections"},
    {"weir_connections_closed_total",
     "Connections closed by the client, or dropped by the service: too slow, idle, or a protocol error.",
     .label = "reason=\"client\"", SERVICE(closed_by_client)},
    {"weir_connections_closed_total", NULL, .label = "reason=\"dropped\"", WORKERS(connections_cut),
     .json = "connections.cut"},
    {"weir_received_bytes_total", "Bytes received.", WORKERS(bytes_in)},
    {"weir_sent_bytes_total", "Bytes sent.", WORKERS(bytes_out)},
    {"weir_table_keys", "Keys that have used something and are not full again.", SERVICE(table.keys_live),
     .json = "table.keys", .info = "Table.keys_live"},
    {"weir_table_keys_max", "Keys the tables are made for.", SERVICE(table.keys_max), .json = "table.keys_max",
     .info = "Table.keys_max"},
    {"weir_table_bytes", "Memory of the tables.", SERVICE(table.bytes), .json = "table.bytes",
     .info = "Table.table_bytes"},
    {"weir_table_memory_used_bytes", "Memory given out to tables and their parts, filled or not.",
     SERVICE(memory.used)},
    {"weir_table_memory_max_bytes", "Memory that all tables together may have.", SERVICE(memory.most)},
    {"weir_table_memory_refused_total",
     "Limits refused, or left without a part of their own, because that memory is given out.", SERVICE(memory.refused)},
    {"weir_table_full_total", "New keys that found no slot.", SERVICE(table.full), .json = "table.full",
     .info = "Table.keys_found_it_full"},
    {"weir_table_displaced_total", "Keys that lost their slot to another.", SERVICE(table.displaced),
     .json = "table.displaced", .info = "Table.keys_displaced"},
    {"weir_table_stuck_total", "Questions refused, for another process kept the lock of their part of the state.",
     SERVICE(table.stuck), .json = "table.stuck", .info = "Table.keys_stuck"},
    {"weir_settles_refused_total", "Receipts that were not settled, for too many had been of late: see table.keys.",
     SERVICE(settles_refused)},
    {"weir_table_reclaimed_total", "Keys that got an idle slot.", SERVICE(table.reclaimed), .json = "table.reclaimed"},
    {"weir_engine_up", "1 while the engine answers, 0 while it is unavailable.", SERVICE(engine_up)},
    {"weir_engine_round_trip_seconds", "From a question being sent to the engine to its answer.", TIMES(round_trips)},
    {"weir_engine_nodes", "Servers that share the engine's limits, as was said or heard; 0 while it is not known.",
     SERVICE(engine_stats.nodes), .json = "engine.nodes"},
    {"weir_engine_decisions_total", "Decisions of limits that the engine keeps, by who gave them.",
     .label = "from=\"engine\"", SERVICE(engine_stats.from_engine), .json = "engine.from_engine"},
    {"weir_engine_decisions_total", NULL, .label = "from=\"lease\"", SERVICE(engine_stats.from_lease),
     .json = "engine.from_lease"},
    {"weir_engine_decisions_total", NULL, .label = "from=\"away\"", SERVICE(engine_stats.from_away),
     .json = "engine.from_away"},
    {"weir_engine_fallback_decisions_total", "Decisions while the engine was unavailable, by limit: as its away says.",
     .label = "verdict=\"allow\"", LIMIT(away_allowed)},
    {"weir_engine_fallback_decisions_total", NULL, .label = "verdict=\"deny\"", LIMIT(away_refused)},
    {"weir_engine_outages_total", "Times the engine became unavailable, by why.", .label = "reason=\"connection\"",
     SERVICE(engine_stats.outages[WEIR_OUTAGE_CONNECTION])},
    {"weir_engine_outages_total", NULL, .label = "reason=\"timeout\"",
     SERVICE(engine_stats.outages[WEIR_OUTAGE_TIMEOUT])},
    {"weir_engine_outages_total", NULL, .label = "reason=\"refused\"",
     SERVICE(engine_stats.outages[WEIR_OUTAGE_REFUSED])},
    {"weir_engine_outages_total", NULL, .label = "reason=\"discovery\"",
     SERVICE(engine_stats.outages[WEIR_OUTAGE_DISCOVERY])},
    {"weir_engine_queue_full_total",
     "Questions answered as if the engine were unavailable, for too many were waiting for it.",
     SERVICE(engine_stats.crowded)},
    {"weir_engine_commands_total", "Commands sent to engines.", SERVICE(engine_stats.commands)},
    {"weir_engine_connects_total", "Connections made to engines.", SERVICE(engine_stats.connects)},
    {"weir_engine_timeouts_total", "Questions that were not answered within the deadline.", SERVICE(engine_stats.late)},
    {"weir_engine_redirects_total", "Answers that named another server: MOVED and ASK.",
     SERVICE(engine_stats.redirected)},
    {"weir_engine_away_table_full_total",
     "New keys that found the table full that is kept for when the engine is unavailable.",
     SERVICE(engine_stats.away_full)},
    {"weir_engine_leased_permits_total", "Permits taken along in leases.", SERVICE(engine_stats.leased)},
    {"weir_engine_unused_permits_total", "Permits of leases that were not used.", SERVICE(engine_stats.lease_unused)},
    {"weir_engine_foreign_values_total",
     "Answers of the away policy, for what was at the key is no state that this weir reads.",
     SERVICE(engine_stats.foreign), .json = "engine.foreign"},
    {"weir_policy_reloads_total", "Times the named limits were set, by file or command.", SERVICE(policies)},
    {"weir_build_info", "1, with the version.", .label = "version=\"" WEIR_VERSION "\"", SERVICE(one)},
    {"process_start_time_seconds", "When the service started, in seconds since the epoch.", SERVICE(started_unix_ns)},
};

_Static_assert(WEIR_OUTAGES == 4, "each reason of an outage has a row");

const struct figures_row *figures_rows(unsigned *count)
{
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

const char *figures_member(const char *path, const char *of)
{
    const size_t size = strlen(of);
    if (path == NULL || strncmp(path, of, size) != 0 || strchr(path + size, '.') != NULL) return NULL;
    return path + size;
}

uint64_t figures_value(const struct figures *figures, const struct figures_row *row)
{
    return row->of == FIGURES_OF_WORKERS ? sums_of(&figures->crew, row->at) : figures_at(figures, row);
}

/* The bounds are the ends of buckets of ours, so that the counts are exact. */
static void read_requests(struct figures_times *times, const struct sums_crew *crew)
{
    uint64_t latency[STATS_LATENCY_BUCKETS];
    unsigned bucket = 0;
    sums_of_latency(crew, latency);
    for (unsigned i = 0; i < WEIR_ENGINE_ROUND_TRIPS - 1; i++) {
        const uint64_t bound_ns = (UINT64_C(1) << (FIGURES_BOUND_FIRST + i)) - 1;
        while (histogram_bucket_end(bucket, STATS_LATENCY_BITS) <= bound_ns) times->count[i] += latency[bucket++];
    }
    while (bucket < STATS_LATENCY_BUCKETS) times->count[WEIR_ENGINE_ROUND_TRIPS - 1] += latency[bucket++];
    times->sum_ns = sums_of(crew, offsetof(struct stats, latency_sum_ns));
}

void figures_read(struct figures *figures, struct service *service)
{
    *figures = (struct figures){.one = 1};
    const struct sums_crew *crew = &figures->crew;
    sums_crew(&figures->crew, service);
    read_requests(&figures->requests, crew);
    figures->connections_open = sums_connections(crew);
    figures->closed_by_client = sums_less(sums_of(crew, offsetof(struct stats, connections_closed)),
                                          sums_of(crew, offsetof(struct stats, connections_cut)));
    series_table(service, &figures->table);
    figures->memory = tables_read_memory(service->tables);
    figures->settles_refused = settled_refused(tables_settled(service->tables));
    figures->policies = atom_load(&service->policies);
    figures->started_unix_ns = service->started_unix_ns;
    figures->policy = service_policy(service);
    figures->engine = service_engine(service);
    if (figures->engine == NULL) return;
    engine_read_stats(figures->engine, &figures->engine_stats);
    figures->engine_up = figures->engine_stats.away == 0;
    memcpy(figures->round_trips.count, figures->engine_stats.round_trips, sizeof figures->round_trips.count);
    figures->round_trips.sum_ns = figures->engine_stats.round_trip_sum_ns;
}

void figures_release(struct figures *figures)
{
    if (figures->policy != NULL) service_release(figures->crew.service, figures->policy);
    if (figures->engine != NULL) engine_release(figures->engine);
}
