/* SPDX-License-Identifier: MIT
   What times, durations and usual fields are called: by nginx, Apache, Caddy, Traefik, Envoy and by those
   who choose for themselves.

   The order is that of preference.  Names that promise a finer stamp come first.

   At most NAMES_FOR_ONE_MAX sources for a field. */
#include "format/log/names.h"

struct clock_row {
    const char *name;
    enum stamp_unit unit;
    bool starts;
};

static const struct clock_row times[] = {{"time_ns", STAMP_NANOSECONDS, false},
                                         {"timestamp_ns", STAMP_NANOSECONDS, false},
                                         {"ts_ns", STAMP_NANOSECONDS, false},
                                         {"time_us", STAMP_MICROSECONDS, false},
                                         {"timestamp_us", STAMP_MICROSECONDS, false},
                                         {"ts_us", STAMP_MICROSECONDS, false},
                                         {"time_ms", STAMP_MILLISECONDS, false},
                                         {"timestamp_ms", STAMP_MILLISECONDS, false},
                                         {"ts_ms", STAMP_MILLISECONDS, false},
                                         {"msec", STAMP_SECONDS, false},
                                         {"StartUTC", STAMP_ANY, true},
                                         {"StartLocal", STAMP_ANY, true},
                                         {"start_time", STAMP_ANY, true},
                                         {"time", STAMP_ANY, false},
                                         {"ts", STAMP_ANY, false},
                                         {"timestamp", STAMP_ANY, false},
                                         {"@timestamp", STAMP_ANY, false},
                                         {"datetime", STAMP_ANY, false},
                                         {"date", STAMP_ANY, false},
                                         {"t", STAMP_ANY, false},
                                         {"Time", STAMP_ANY, false},
                                         {"Timestamp", STAMP_ANY, false},
                                         {"time_iso8601", STAMP_ANY, false},
                                         {"time_local", STAMP_ANY, false}};

static const struct clock_row durations[] = {{"duration_ns", STAMP_NANOSECONDS, false},
                                             {"latency_ns", STAMP_NANOSECONDS, false},
                                             {"elapsed_ns", STAMP_NANOSECONDS, false},
                                             {"Duration", STAMP_NANOSECONDS, false}, /* of Traefik */
                                             {"duration_us", STAMP_MICROSECONDS, false},
                                             {"latency_us", STAMP_MICROSECONDS, false},
                                             {"elapsed_us", STAMP_MICROSECONDS, false},
                                             {"request_time_us", STAMP_MICROSECONDS, false},
                                             {"duration_ms", STAMP_MILLISECONDS, false},
                                             {"latency_ms", STAMP_MILLISECONDS, false},
                                             {"elapsed_ms", STAMP_MILLISECONDS, false},
                                             {"request_time_ms", STAMP_MILLISECONDS, false},
                                             {"request_time", STAMP_SECONDS, false},
                                             {"duration_s", STAMP_SECONDS, false},
                                             {"latency_s", STAMP_SECONDS, false},
                                             {"elapsed_s", STAMP_SECONDS, false},
                                             {"duration", STAMP_ANY, false},
                                             {"latency", STAMP_ANY, false},
                                             {"elapsed", STAMP_ANY, false}};

/* What a name means where no field is called so; each of `also` may be written by another server. */
struct field_row {
    const char *names[3];
    const char *also[10];
    enum accesslog_part part;         /* of each of them */
    enum accesslog_part request_part; /* of $request, the last thing to look at; ACCESSLOG_WHOLE: not there */
};

static const struct field_row fields[] = {
    {{"client", "address", "remote_addr"},
     {"remote_addr", "client_ip", "clientip", "ip", "remote_ip", "client", "request.client_ip", "request.remote_ip",
      "ClientHost", "downstream_remote_address"},
     ACCESSLOG_ADDRESS,
     ACCESSLOG_WHOLE},
    {{"user", "remote_user"},
     {"remote_user", "user_id", "username", "ClientUsername"},
     ACCESSLOG_WHOLE,
     ACCESSLOG_WHOLE},
    {{"host", "http_host"},
     {"http_host", "server_name", "vhost", "request.host", "RequestHost", "authority", ":authority"},
     ACCESSLOG_WHOLE,
     ACCESSLOG_WHOLE},
    {{"method", "request_method"},
     {"request_method", "request.method", "RequestMethod", "http_method", "verb"},
     ACCESSLOG_WHOLE,
     ACCESSLOG_METHOD},
    {{"uri", "request_uri"},
     {"request_uri", "request.uri", "RequestPath", "url", "path"},
     ACCESSLOG_WHOLE,
     ACCESSLOG_URI},
    {{"path"}, {"uri", "request_uri", "request.uri", "RequestPath", "url"}, ACCESSLOG_UNTIL_QUERY, ACCESSLOG_PATH},
    {{"agent", "http_user_agent"},
     {"http_user_agent", "user_agent", "useragent", "request_User-Agent"},
     ACCESSLOG_WHOLE,
     ACCESSLOG_WHOLE},
    {{"bytes"}, {"body_bytes_sent", "bytes_sent", "size", "DownstreamContentSize"}, ACCESSLOG_WHOLE, ACCESSLOG_WHOLE},
    {{"status"}, {"status_code", "response_code", "DownstreamStatus"}, ACCESSLOG_WHOLE, ACCESSLOG_WHOLE},
};

static unsigned clocks(const struct clock_row rows[], unsigned count, unsigned slot, struct accesslog_source source[],
                       unsigned max)
{
    unsigned i = 0;
    for (; i < count && i < max; i++) {
        source[i] = (struct accesslog_source){.name = slice_of(rows[i].name),
                                              .slot = (unsigned char)slot,
                                              .rank = (unsigned char)i,
                                              .unit = (unsigned char)rows[i].unit,
                                              .starts = rows[i].starts};
    }
    return i;
}

/* What a known name promises is true of it; another one says only where the time is. */
unsigned names_of_time(const char *name, struct accesslog_source source[])
{
    const unsigned count = sizeof times / sizeof *times;
    const struct clock_row any = {name, STAMP_ANY, false};
    unsigned i = 0;
    while (i < count && strcmp(times[i].name, name) != 0) i++;
    return clocks(i < count ? &times[i] : &any, 1, ACCESSLOG_TIME, source, 1);
}

unsigned names_of_times(struct accesslog_source source[], unsigned max)
{
    return clocks(times, sizeof times / sizeof *times, ACCESSLOG_TIME, source, max);
}

unsigned names_of_durations(struct accesslog_source source[], unsigned max)
{
    return clocks(durations, sizeof durations / sizeof *durations, ACCESSLOG_DURATION, source, max);
}

static struct slice without_unit(struct slice text, enum stamp_unit *unit)
{
    size_t colon = text.size;
    while (colon > 0 && text.bytes[colon - 1] != ':') colon--;
    return colon > 1 && stamp_unit(slice_from(text, colon), unit) ? (struct slice){text.bytes, colon - 1} : text;
}

unsigned names_of_duration(const char *text, struct accesslog_source source[])
{
    enum stamp_unit unit = STAMP_ANY;
    const struct slice name = without_unit(slice_of(text), &unit);
    for (size_t i = 0; i < sizeof durations / sizeof *durations && unit == STAMP_ANY; i++) {
        if (slice_is(name, slice_of(durations[i].name))) unit = durations[i].unit;
    }
    *source = (struct accesslog_source){.name = name, .slot = ACCESSLOG_DURATION, .unit = (unsigned char)unit};
    return 1;
}

static const struct field_row *row_of(const char *name)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        for (size_t j = 0; j < sizeof fields[i].names / sizeof *fields[i].names && fields[i].names[j] != NULL; j++) {
            if (slice_is(slice_of(name), slice_of(fields[i].names[j]))) return &fields[i];
        }
    }
    return NULL;
}

static void add(struct accesslog_source source[], unsigned *count, unsigned max, const char *name, unsigned slot,
                enum accesslog_part part)
{
    if (*count == max) return;
    source[*count] = (struct accesslog_source){.name = slice_of(name),
                                               .slot = (unsigned char)slot,
                                               .rank = (unsigned char)*count,
                                               .part = (unsigned char)part};
    ++*count;
}

unsigned names_of_field(const char *name, unsigned slot, struct accesslog_source source[], unsigned max)
{
    unsigned count = 0;
    const struct field_row *row = row_of(name);
    add(source, &count, max, name, slot, row != NULL ? row->part : ACCESSLOG_WHOLE);
    if (row == NULL) return count;
    for (size_t i = 0; i < sizeof row->also / sizeof *row->also && row->also[i] != NULL; i++) {
        if (!slice_is(slice_of(name), slice_of(row->also[i]))) add(source, &count, max, row->also[i], slot, row->part);
    }
    if (row->request_part != ACCESSLOG_WHOLE) add(source, &count, max, "request", slot, row->request_part);
    return count;
}
