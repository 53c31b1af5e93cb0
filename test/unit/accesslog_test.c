/* SPDX-License-Identifier: MIT
   Lines as servers write them, and what is wrong with others.

   Each kind of format and each message has a row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/log/accesslog.h"
#include "owned.h"
#include "unit/calendar.h"

enum { LINE_SIZE = 4096, FIELDS_MAX = 12 };

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
#define NONE UINT64_MAX /* no duration */

/* ---- lines of logs ---- */

struct row {
    const char *format; /* NULL: told by the first line */
    const char *header; /* NULL: the line is the first line */
    const char *line;
    const char *time; /* of UTC */
    uint64_t fraction_ns, resolution_ns, duration_ns;
    const char *fields[FIELDS_MAX]; /* name, plain value, name, ... */
};

#define NGINX_TIMED                                                                                                    \
    "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" "               \
    "\"$http_user_agent\" rt=$request_time uct=\"$upstream_connect_time\""

static const struct row rows[] = {
    /* combined and common, told by the line */
    {NULL,
     NULL,
     "203.0.113.9 - - [21/Nov/2026:17:46:01 +0000] \"GET /index.html?x=1 HTTP/1.1\" 200 612 \"-\" \"curl/8.5.0\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"client", "203.0.113.9", "path", "/index.html", "uri", "/index.html?x=1", "agent", "curl/8.5.0", "http_referer",
      "", "status", "200"}},
    {NULL,
     NULL,
     "example.org:443 2001:db8::1 - - [21/Nov/2026:17:46:01 +0000] \"GET /a - b HTTP/1.1\" 200 612 \"-\" \"curl\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"client", "2001:db8::1", "host", "example.org:443", "path", "/a - b"}},
    {NULL,
     NULL,
     "203.0.113.9, 10.0.0.1 - - [21/Nov/2026:17:46:01 +0000] \"GET / HTTP/1.1\" 200 612 \"-\" \"curl\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"client", "203.0.113.9, 10.0.0.1"}},
    {"vhost_combined",
     NULL,
     "example.org:80 192.0.2.1 - anna [21/Nov/2026:17:46:01 +0000] \"GET / HTTP/1.1\" 200 612 \"-\" \"curl\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"client", "192.0.2.1", "host", "example.org:80", "user", "anna"}},
    {NULL,
     NULL,
     "127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif HTTP/1.0\" 200 2326",
     "2000-10-10 20:55:36",
     0,
     SECOND,
     NONE,
     {"address", "127.0.0.1", "user", "frank", "method", "GET", "bytes", "2326", "request",
      "GET /apache_pb.gif HTTP/1.0", "body_bytes_sent", "2326"}},
    {"combined",
     NULL,
     "127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif HTTP/1.0\" 200 2326 "
     "\"http://www.example.com/start.html\" \"Mozilla/4.08 [en] (Win98; I ;Nav)\"",
     "2000-10-10 20:55:36",
     0,
     SECOND,
     NONE,
     {"http_referer", "http://www.example.com/start.html", "agent", "Mozilla/4.08 [en] (Win98; I ;Nav)"}},
    {"combined",
     NULL, /* more behind the end, as in nginx's "main" */
     "2001:db8::17 - - [29/Feb/2024:23:59:59 +0530] \"POST /api/v1/items HTTP/2.0\" 201 5 \"-\" \"Go-http-client/2.0\" "
     "\"198.51.100.7\"",
     "2024-02-29 18:29:59",
     0,
     SECOND,
     NONE,
     {"client", "2001:db8::17", "method", "POST", "path", "/api/v1/items", "agent", "Go-http-client/2.0"}},
    {"combined",
     NULL,
     "::1 - - [01/Jan/2027:00:00:00 +0100] \"HEAD / HTTP/1.0\" 200 0 \"-\" \"-\"\r",
     "2026-12-31 23:00:00",
     0,
     SECOND,
     NONE,
     {"client", "::1", "agent", "", "path", "/", "method", "HEAD"}},
    {"combined",
     NULL, /* TLS to a plain port */
     "192.0.2.4 - - [21/Nov/2026:17:46:01 +0000] \"\\x16\\x03\\x01\\x02\\x00\\x01\" 400 157 \"-\" \"-\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"method", "", "uri", "", "path", "", "request", "\x16\x03\x01\x02", "status", "400"}},
    {"combined",
     NULL, /* Apache after a time-out */
     "192.0.2.4 - - [21/Nov/2026:17:46:01 +0000] \"-\" 408 - \"-\" \"-\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"method", "", "uri", "", "request", "", "status", "408", "bytes", ""}},
    {"combined",
     NULL, /* Apache's escapes; the last backslash is one */
     "192.0.2.4 - - [21/Nov/2026:17:46:01 +0000] \"GET /\\\"a\\\" HTTP/1.1\" 200 1 \"a\\\" \\\"b\" \"end\\\\\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"path", "/\"a\"", "http_referer", "a\" \"b", "agent", "end\\", "status", "200"}},
    {"combined",
     NULL, /* nginx's */
     "192.0.2.4 - - [21/Nov/2026:17:46:01 +0000] \"GET / HTTP/1.1\" 200 1 \"\\x22;ls\" \"a\\x5Cn \\xC3\\xA9\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"http_referer", "\";ls", "agent", "a\\n \xc3\xa9"}},
    {"combined",
     NULL, /* a quote that nobody escaped */
     "192.0.2.4 - - [21/Nov/2026:17:46:01 +0000] \"GET /\"x HTTP/1.1\" 200 1 \"-\" \"-\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"path", "/\"x", "status", "200"}},
    {"combined",
     NULL,
     "192.0.2.4 - John Smith [21/Nov/2026:17:46:01 +0000] \"GET /a b c HTTP/1.1\" 404 0 \"\" \"\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"user", "John Smith", "path", "/a b c", "agent", "", "http_referer", ""}},
    {"combined",
     NULL,
     "192.0.2.4 - - [21/Nov/2026:17:46:01 +0000] \"GET /old\" 200 1 \"-\" \"-\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"method", "GET", "uri", "/old", "path", "/old"}},
    {"combined",
     NULL,
     "192.0.2.4 - - [21/Nov/2026:17:46:01 +0000] \"PROPFIND http://x/?a?b HTTP/1.1\" 207 1 \"-\" \"-\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"method", "PROPFIND", "uri", "http://x/?a?b", "path", "http://x/"}},
    {"common",
     NULL,
     "example.com - - [31/Dec/1999:23:59:59 +0000] \"GET / HTTP/1.0\" 304 -",
     "1999-12-31 23:59:59",
     0,
     SECOND,
     NONE,
     {"remote_addr", "example.com", "status", "304"}},
    {"common",
     NULL,
     "h - - [31/Dec/2016:23:59:60 +0000] \"what is not needed may be missing",
     "2017-01-01 00:00:00",
     0,
     SECOND,
     NONE,
     {"client", "h"}},
    {"common", NULL, "h - - [01/Jan/2017:05:29:60 +0530] \"", "2017-01-01 00:00:00", 0, SECOND, NONE, {"client", "h"}},
    /* log_format */
    {"$remote_addr [$time_local] \"$request\" $request_time",
     NULL,
     "203.0.113.9 [08/Nov/2026:17:46:01 +0100] \"GET /a HTTP/1.1\" 0.012",
     "2026-11-08 16:46:01",
     0,
     SECOND,
     12 * MILLI,
     {"client", "203.0.113.9", "path", "/a"}},
    {NGINX_TIMED,
     NULL,
     "203.0.113.9 - - [08/Nov/2026:17:46:01 +0100] \"GET /a HTTP/1.1\" 200 5 \"-\" \"x\" rt=12.345 uct=\"-\"",
     "2026-11-08 16:46:01",
     0,
     SECOND,
     12345 * MILLI,
     {"upstream_connect_time", "", "request_time", "12.345"}},
    {NGINX_TIMED,
     NULL,
     "203.0.113.9 - - [08/Nov/2026:17:46:01 +0100] \"GET /a HTTP/1.1\" 499 0 \"-\" \"x\" rt=- uct=\"",
     "2026-11-08 16:46:01",
     0,
     SECOND,
     NONE,
     {"status", "499"}},
    {"$msec $remote_addr",
     NULL,
     "1795283161.123 192.0.2.1",
     "2026-11-21 17:46:01",
     123 * MILLI,
     MILLI,
     NONE,
     {"client", "192.0.2.1"}},
    {"$remote_addr [$time_local] $msec",
     NULL,
     "192.0.2.1 [21/Nov/2026:17:46:01 +0000] 1795283161.987",
     "2026-11-21 17:46:01",
     987 * MILLI,
     MILLI,
     NONE,
     {"client", "192.0.2.1"}},
    {"${time_iso8601}|${host}|${request_uri}",
     NULL,
     "2026-11-21T18:46:01+01:00|example.org|/a/b?c",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"host", "example.org", "path", "/a/b", "uri", "/a/b?c"}},
    {"$http_x_forwarded_for;$request_method;$uri;$time_iso8601",
     NULL,
     "192.0.2.1, 198.51.100.7;GET;/;2026-11-21T17:46:01Z",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"http_x_forwarded_for", "192.0.2.1, 198.51.100.7", "method", "GET"}},
    {"{\"at\":\"$time_iso8601\",\"ip\":\"$remote_addr\",\"t\":$request_time}",
     NULL,
     "{\"at\":\"2026-11-21T17:46:01+00:00\",\"ip\":\"192.0.2.1\",\"t\":0.500}",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     500 * MILLI,
     {"client", "192.0.2.1"}},
    {"$time $client",
     NULL,
     "1795283161123456789 192.0.2.1:4711",
     "2026-11-21 17:46:01",
     123456789,
     1,
     NONE,
     {"client", "192.0.2.1"}},
    {"$start_time $client",
     NULL,
     "2026-11-21T17:46:01.5Z [2001:db8::1]:443",
     "2026-11-21 17:46:01",
     500 * MILLI,
     100 * MILLI,
     NONE,
     {"client", "2001:db8::1"}},
    {"$ts_ms $client $latency_us",
     NULL,
     "1795283161123 tenant:42 1500",
     "2026-11-21 17:46:01",
     123 * MILLI,
     MILLI,
     1500 * MICRO,
     {"client", "tenant:42"}},
    /* JSON */
    {NULL,
     NULL, /* nginx, escape=json */
     "{\"time_iso8601\":\"2026-11-21T17:46:01+00:00\",\"remote_addr\":\"192.0.2.1\",\"request\":\"GET /x?y HTTP/1.1\","
     "\"status\":\"200\",\"request_time\":\"0.034\",\"http_user_agent\":\"a \\\"b\\\" \\\\ \\u00e9\"}",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     34 * MILLI,
     {"client", "192.0.2.1", "path", "/x", "method", "GET", "agent", "a \"b\" \\ \xc3\xa9", "status", "200"}},
    {NULL,
     NULL, /* Caddy 2 */
     "{\"level\":\"info\",\"ts\":1795283161.1234567,\"logger\":\"http.log.access\",\"msg\":\"handled "
     "request\",\"request\":"
     "{\"remote_ip\":\"192.0.2.1\",\"remote_port\":\"4711\",\"client_ip\":\"198.51.100.7\",\"proto\":\"HTTP/2.0\","
     "\"method\":\"GET\",\"host\":\"example.org\",\"uri\":\"/"
     "a?b\",\"headers\":{\"User-Agent\":[\"x]}\\\"\"],\"A\":[{}]},"
     "\"tls\":{\"resumed\":false}},\"bytes_read\":0,\"user_id\":\"\",\"duration\":0.000929675,\"size\":10900,"
     "\"status\":200,\"resp_headers\":{\"Server\":[\"Caddy\"]}}",
     "2026-11-21 17:46:01",
     123456700,
     100,
     929675,
     {"client", "198.51.100.7", "path", "/a", "host", "example.org", "bytes", "10900", "request.proto", "HTTP/2.0",
      "request.tls.resumed", "false"}},
    {NULL,
     NULL, /* Traefik: the start, and nanoseconds */
     "{\"ClientAddr\":\"192.0.2.1:51234\",\"ClientHost\":\"192.0.2.1\",\"ClientUsername\":\"-\",\"DownstreamStatus\":"
     "200,"
     "\"Duration\":1234567,\"RequestMethod\":\"GET\",\"RequestPath\":\"/a?b\",\"RequestHost\":\"example.org\","
     "\"StartLocal\":\"2026-11-21T18:46:01.000000001+01:00\",\"StartUTC\":\"2026-11-21T17:46:01.123456789Z\","
     "\"level\":\"info\",\"msg\":\"\",\"time\":\"2026-11-21T17:46:01Z\"}",
     "2026-11-21 17:46:01",
     123456789,
     1,
     1234567,
     {"client", "192.0.2.1", "path", "/a", "method", "GET", "status", "200", "user", "", "host", "example.org"}},
    {NULL,
     NULL, /* Envoy */
     "{\"start_time\":\"2026-11-21T17:46:01.042Z\",\"method\":\"GET\",\"path\":\"/a?b=c\",\"protocol\":\"HTTP/1.1\","
     "\"response_code\":200,\"duration\":12,\"authority\":\"example.org\",\"user_agent\":null,"
     "\"downstream_remote_address\":\"192.0.2.1:4711\"}",
     "2026-11-21 17:46:01",
     42 * MILLI,
     MILLI,
     12 * MILLI,
     {"client", "192.0.2.1", "path", "/a", "uri", "/a?b=c", "status", "200", "agent", "", "host", "example.org"}},
    {"json",
     NULL,
     "{ \"@timestamp\" : \"2026-11-21T17:46:01.5+0000\" , \"client\" : \"a\\/b\" , \"n\" : -1.5e3 }",
     "2026-11-21 17:46:01",
     500 * MILLI,
     100 * MILLI,
     NONE,
     {"client", "a/b", "n", "-1.5e3", "nowhere", ""}},
    {"json",
     NULL,
     "\xef\xbb\xbf{\"t\":1795283161,\"address\":\"x\",\"client_ip\":\"y\"}\r",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"address", "x", "client", "y"}},
    {"json",
     NULL,
     "{\"timestamp\":1795283161123,\"latency\":\"12.3ms\"}",
     "2026-11-21 17:46:01",
     123 * MILLI,
     MILLI,
     12300 * MICRO,
     {"client", ""}},
    {"json",
     NULL,
     "{\"ts\":1795283161123456,\"elapsed\":\"7 \xc2\xb5s\"}",
     "2026-11-21 17:46:01",
     123456 * MICRO,
     MICRO,
     7 * MICRO,
     {"client", ""}},
    {"json", NULL, "{\"time_ns\":5,\"duration\":\"fast\"}", "1970-01-01 00:00:00", 5, 1, NONE, {"client", ""}},
    {"json",
     NULL,
     "{\"time\":null,\"ts\":\"-\",\"date\":\"21/Nov/2026:17:46:01.25 +0000\",\"duration_ms\":0.5}",
     "2026-11-21 17:46:01",
     250 * MILLI,
     10 * MILLI,
     500 * MICRO,
     {"date", "21/Nov/2026:17:46:01.25 +0000"}},
    {"json",
     NULL,
     "{\"t\":1.795283161123e9,\"a\":{\"b\":{\"c\":\"deep\"},\"d\":1},\"a.b\":2,\"a.d\":3}",
     "2026-11-21 17:46:01",
     123 * MILLI,
     MILLI,
     NONE,
     {"a.b.c", "deep", "a.b", "2", "a.d", "1", "d", "", "a", ""}},
    {"json",
     NULL,
     "{\"ts\":1,\"ip\":\"x\",\"remote_ip\":\"y\",\"k\":\"\\ud83d\\ude00 \\ud83d \\u0416\\q\",\"k\":2}",
     "1970-01-01 00:00:01",
     0,
     SECOND,
     NONE,
     {"client", "x", "k", "\xf0\x9f\x98\x80 \xef\xbf\xbd \xd0\x96\\q"}},
    {"json",
     NULL,
     "{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":{\"g\":{\"h\":{\"i\":{\"time\":7}}}}}}}}},\"ts\":2,\"e\":{},\"m\":[]}",
     "1970-01-01 00:00:02",
     0,
     SECOND,
     NONE,
     {"m", ""}},
    {"json", /* headers of Caddy */
     NULL,
     "{\"ts\":2,\"h\":{\"Key\":[\"a]\\\"\",\"b\"],\"N\":[1,\"c\"],\"O\":[{\"Key\":\"d\"}],\"E\":[ ],\"F\":[ \"f\"]}}",
     "1970-01-01 00:00:02",
     0,
     SECOND,
     NONE,
     {"h.Key", "a]\"", "h.N", "", "h.O", "", "h.O.Key", "", "h.E", "", "h.F", "f"}},
    /* CSV */
    {NULL,
     "time,client,path,request_time",
     "2026-11-21T17:46:01.123456Z,192.0.2.1,/a?b,0.25",
     "2026-11-21 17:46:01",
     123456 * MICRO,
     MICRO,
     250 * MILLI,
     {"client", "192.0.2.1", "path", "/a"}},
    {"csv",
     "\xef\xbb\xbf\"timestamp\";\"ip\";\"user agent\"\r",
     "\"2026-11-21 17:46:01,5\";\"a;b\";\"x \"\"y\"\" z\"\r",
     "2026-11-21 17:46:01",
     500 * MILLI,
     100 * MILLI,
     NONE,
     {"client", "a;b", "user agent", "x \"y\" z"}},
    {NULL,
     "ip\tts\tms",
     "192.0.2.1\t1795283161\t",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"client", "192.0.2.1", "ms", ""}},
    {NULL,
     "ts,client,\"user\tagent\"",
     "1795283161,192.0.2.1,x",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"client", "192.0.2.1", "user\tagent", "x"}},
    {NULL,
     "ts, client ,duration_us",
     "1795283161.5,,15,more",
     "2026-11-21 17:46:01",
     500 * MILLI,
     100 * MILLI,
     15 * MICRO,
     {"client", "", "ts", "1795283161.5"}},
    {NULL,
     "time",
     "2026-11-21 17:46:01 UTC",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"time", "2026-11-21 17:46:01 UTC"}},
    {"csv",
     "a,time_local,request",
     "-,21/Nov/2026:17:46:01 +0000,\"\"\"GET\"\"",
     "2026-11-21 17:46:01",
     0,
     SECOND,
     NONE,
     {"a", ""}},
};

static struct accesslog opened(const char *format, const char *first_line)
{
    struct accesslog log;
    struct accesslog_problem problem;
    if (!accesslog_open(&log, format, slice_of(first_line), &problem))
        fail_msg("%s: column %zu: %s", first_line, problem.column, problem.message);
    return log;
}

static void check_fields(struct accesslog *log, const struct row *row, const struct accesslog_entry *entry)
{
    char plain[LINE_SIZE];
    struct accesslog_problem problem;
    for (int i = 0; i + 1 < FIELDS_MAX && row->fields[i] != NULL; i += 2) {
        const int index = accesslog_want(log, row->fields[i], &problem); /* the index it already has */
        assert_int_equal(index, i / 2);
        const struct slice raw = entry->field[index];
        const size_t size = accesslog_plain(log, raw, plain, sizeof plain - 1);
        plain[size] = '\0';
        /* What holds a NUL is compared up to it. */
        if (strcmp(plain, row->fields[i + 1]) != 0)
            fail_msg("%s: %s is \"%s\", not \"%s\"", row->line, row->fields[i], plain, row->fields[i + 1]);
        if (!(entry->escaped >> index & 1)) assert_true(slice_is((struct slice){plain, size}, raw));
    }
}

static void check_row(const struct row *row)
{
    struct accesslog_problem problem;
    struct accesslog_entry entry;
    struct accesslog log = opened(row->format, row->header != NULL ? row->header : row->line);
    for (int i = 0; i + 1 < FIELDS_MAX && row->fields[i] != NULL; i += 2) {
        if (accesslog_want(&log, row->fields[i], &problem) != i / 2) fail_msg("%s: %s", row->line, problem.message);
    }
    const char *line = owned_copy(row->line, strlen(row->line));
    assert_non_null(line);
    if (!accesslog_read(&log, (struct slice){line, strlen(row->line)}, &entry, &problem))
        fail_msg("%s: column %zu: %s", row->line, problem.column, problem.message);
    if (entry.time_ns != counted_ns(row->time) + row->fraction_ns)
        fail_msg("%s: %llu ns", row->line, (unsigned long long)entry.time_ns);
    assert_int_equal(entry.resolution_ns, row->resolution_ns);
    assert_int_equal(entry.has_duration, row->duration_ns != NONE);
    if (entry.has_duration) assert_int_equal(entry.duration_ns, row->duration_ns);
    check_fields(&log, row, &entry);
    owned_free(line);
}

static void lines_of_servers(void **state)
{
    (void)state;
    assert_true(LENGTH(rows) > 40);
    for (size_t i = 0; i < LENGTH(rows); i++) check_row(&rows[i]);
}

/* ---- what is wrong ---- */

struct wrong {
    const char *format, *header, *line;
    size_t column;
    const char *message;
};

#define TIME "expected a time such as 21/Nov/2026:17:46:01 +0000 or 2026-11-21T17:46:01.123Z"
#define CLOSED "expected a second quote that closes the string"

static const struct wrong wrongs[] = {
    {"combined", NULL, "", 1, "expected ' - ' behind $remote_addr"},
    {"combined", NULL, "junk", 1, "expected ' - ' behind $remote_addr"},
    {"combined", NULL, "192.0.2.1 - - 21/Nov/2026", 13, "expected ' [' behind $remote_user"},
    {"combined", NULL, "192.0.2.1 - - [21/Nov/2026", 16, "expected '] \"' behind $time_local"},
    {"combined", NULL, "192.0.2.1 - - [21/Now/2026:17:46:01 +0000] \"", 16, TIME},
    {"[$time_local]", NULL, "x[", 1, "expected '[' at the start of the line"},
    {"<$msec $remote_addr>", NULL, "<1795283161.123 ", 17, "expected '>' behind $remote_addr"},
    {"json", NULL, "", 1, "expected a { at the start of the line"},
    {"json", NULL, "[1]", 1, "expected a { at the start of the line"},
    {"json", NULL, "{", 2, "expected a name in quotes"},
    {"json", NULL, "{}", 1, "expected a field with the time: time, ts, timestamp, ..."},
    {"json", NULL, "{\"a\" 1}", 6, "expected a : after the name"},
    {"json", NULL, "{\"a\":}", 6, "expected a value: a string, a number, true, false, null, { or ["},
    {"json", NULL, "{\"a\":\"b}", 6, CLOSED},
    {"json", NULL, "{\"a\\\":\"b}", 8, "expected a : after the name"},
    {"json", NULL, "{\"a\":1 \"b\":2}", 8, "expected a , or a }"},
    {"json", NULL, "{\"a\":1,}", 8, "expected a name in quotes"},
    {"json", NULL, "{\"ts\":1", 8, "expected a , or a }"},
    {"json", NULL, "{\"ts\":1,\"a\":[\"b]}", 14, CLOSED},
    {"json", NULL, "{\"ts\":1} x", 10, "expected nothing after the last }"},
    {"json", NULL, "{\"ts\":1,\"a\":[1,{\"b\":2}", 23, "expected the ] or } that closes this line"},
    {"json", NULL, "{\"ts\":\"soon\"}", 8, TIME},
    {"csv", "time,client,path", "1,2", 4, "expected a column path, as in the header"},
    {"csv", "time,client,path", "1,\"2,3", 3, "expected a second quote that closes the value"},
    {"csv", "time;client;path", "1;\"2\"3;4", 6, "expected ; after the quote; a quote in a value is written twice"},
    {"csv", "time,client,path", "client,1,2", 1, TIME},
};

/* Wants the fields of the last column, so that none is passed over. */
static void want_all(struct accesslog *log)
{
    struct accesslog_problem problem;
    static const char *const names[] = {"client", "path"};
    for (size_t i = 0; i < LENGTH(names); i++) accesslog_want(log, names[i], &problem);
}

static void malformed_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(wrongs); i++) {
        const struct wrong *wrong = &wrongs[i];
        struct accesslog_problem problem;
        struct accesslog_entry entry;
        struct accesslog log = opened(wrong->format, wrong->header != NULL ? wrong->header : wrong->line);
        if (strcmp(wrong->format, "combined") != 0) want_all(&log);
        if (accesslog_read(&log, slice_of(wrong->line), &entry, &problem)) fail_msg("%s is read", wrong->line);
        if (problem.column != wrong->column || strcmp(problem.message, wrong->message) != 0)
            fail_msg("%s: column %zu: %s", wrong->line, problem.column, problem.message);
    }
}

static const struct wrong formats[] = {
    {"combine", NULL, "", 0,
     "unknown format \"combine\"; expected combined, vhost_combined, common, json, csv, or variables as in nginx's "
     "log_format, such as '$remote_addr [$time_local] $request_time'"},
    {"%h %l %u %t", NULL, "", 0,
     "unknown format \"%h %l %u %t\"; expected combined, vhost_combined, common, json, csv, or variables as in nginx's "
     "log_format, such "
     "as '$remote_addr [$time_local] $request_time'"},
    {"$remote_addr $status", NULL, "", 0,
     "no variable is a time; add $msec, $time_iso8601 or $time_local to remote_addr, status"},
    {"$msec $", NULL, "", 7, "expected a name after the $, such as $remote_addr"},
    {"$msec ${}", NULL, "", 7, "expected a name after the $, such as $remote_addr"},
    {"$msec ${a", NULL, "", 7, "expected a } after the name, as in ${status}"},
    {"$msec$status", NULL, "", 6, "expected something between two variables, to tell where $msec ends"},
    {"csv", NULL, "", 1, "expected a header: the names of the columns, such as time,client,path"},
    {"csv", NULL, "client,path", 0, "no column is a time; expected time, ts, timestamp or the like among client, path"},
    {"csv", NULL, "time,\"client", 6, "expected a second quote that closes the value"},
};

static void wrong_formats(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(formats); i++) {
        struct accesslog log;
        struct accesslog_problem problem;
        if (accesslog_open(&log, formats[i].format, slice_of(formats[i].line), &problem))
            fail_msg("%s is taken", formats[i].format);
        if (problem.column != formats[i].column || strcmp(problem.message, formats[i].message) != 0)
            fail_msg("%s: column %zu: %s", formats[i].format, problem.column, problem.message);
    }
}

static void too_many(void **state)
{
    (void)state;
    struct accesslog log;
    struct accesslog_problem problem;
    char text[LINE_SIZE] = "$msec";
    for (int i = 0; i < 62; i++) strcat(text, " $a");
    assert_true(accesslog_open(&log, text, slice_of(""), &problem));
    strcat(text, " $a");
    assert_false(accesslog_open(&log, text, slice_of(""), &problem));
    assert_string_equal(problem.message, "more than 63 variables in a format");
    assert_int_equal(problem.column, strlen(text) + 1);
    strcpy(text, "time");
    for (int i = 0; i < 63; i++) strcat(text, ",a");
    assert_true(accesslog_open(&log, "csv", slice_of(text), &problem));
    strcat(text, ",a");
    assert_false(accesslog_open(&log, "csv", slice_of(text), &problem));
    assert_string_equal(problem.message, "more than 64 columns");
}

static void wanting(void **state)
{
    (void)state;
    static const char *const names[ACCESSLOG_WANTED_MAX] = {
        "client", "address", "remote_addr", "user", "host", "method", "uri", "path",
        "agent",  "bytes",   "status",      "a",    "b",    "c",      "d",   "e"};
    struct accesslog_problem problem;
    struct accesslog log = opened("json", "{}");
    for (int i = 0; i < ACCESSLOG_WANTED_MAX; i++) assert_int_equal(accesslog_want(&log, names[i], &problem), i);
    assert_int_equal(accesslog_want(&log, "path", &problem), 7);
    assert_int_equal(accesslog_want(&log, "f", &problem), -1);
    assert_string_equal(problem.message, "expected at most 16 fields");
    log = opened("csv", "time,ip,\"\xc3\xa9\"");
    assert_int_equal(accesslog_want(&log, "", &problem), -1);
    assert_string_equal(problem.message, "expected the name of a field");
    assert_int_equal(accesslog_want(&log, "status", &problem), -1);
    assert_string_equal(problem.message, "no field \"status\"; expected one of time, ip, ??");
    assert_int_equal(accesslog_want(&log, "client", &problem), 0);
}

/* A name ends where the header does, whatever is behind it. */
static void names_end(void **state)
{
    (void)state;
    struct accesslog log;
    struct accesslog_problem problem;
    assert_true(accesslog_open(&log, "csv", (struct slice){"time,   ", sizeof "time," - 1}, &problem));
    assert_int_equal(accesslog_want(&log, "status", &problem), -1);
    assert_string_equal(problem.message, "no field \"status\"; expected one of time");
}

static void facts(void **state)
{
    (void)state;
    struct accesslog log = opened("combined", "");
    assert_false(accesslog_has_durations(&log));
    log = opened(NGINX_TIMED, "");
    assert_true(accesslog_has_durations(&log));
    log = opened(NULL, "{\"ts\":1,\"duration\":1}");
    assert_true(accesslog_has_durations(&log));
    log = opened(NULL, "{\"ts\":1}");
    assert_false(accesslog_has_durations(&log));
    log = opened(NULL, "ts,duration\r");
    assert_true(accesslog_has_durations(&log));
    assert_true(accesslog_is_header(&log, slice_of("ts,duration")));
    log = opened("csv", "  ts , duration , ");
    assert_true(accesslog_has_durations(&log));
    assert_false(accesslog_is_header(&log, slice_of("1,duration")));
    /* No line at all is an empty one. */
    struct accesslog_problem problem;
    struct accesslog_entry entry;
    assert_true(accesslog_open(&log, NULL, (struct slice){NULL, 0}, &problem));
    assert_false(accesslog_read(&log, (struct slice){NULL, 0}, &entry, &problem));
    assert_int_equal(problem.column, 1);
    /* An agent that does not end is none, and what fits nothing is combined, and malformed. */
    log = opened(NULL, "192.0.2.1 - - [21/Nov/2025:10:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"agent");
    assert_int_equal(accesslog_want(&log, "agent", &problem), -1);
    log = opened(NULL, "GET / HTTP/1.1");
    assert_int_equal(log.kind, ACCESSLOG_PATTERN);
    assert_int_equal(log.pieces, 9);
}

/* A name of up to 256 bytes with its points is found, a longer one is passed over. */
static void long_names(void **state)
{
    (void)state;
    char outer[300], inner[8] = "", name[320], line[LINE_SIZE];
    for (int i = 0; i < 200; i++) {
        const int outer_size = 240 + i / 6, inner_size = i % 6;
        memset(outer, 'a', sizeof outer);
        outer[outer_size] = '\0';
        memset(inner, 'b', sizeof inner);
        inner[inner_size] = '\0';
        snprintf(name, sizeof name, "%s.%s", outer, inner);
        snprintf(line, sizeof line, "{\"%s\":{\"%s\":1},\"ts\":1}", outer, inner);
        struct accesslog log = opened("json", line);
        struct accesslog_problem problem;
        struct accesslog_entry entry;
        assert_int_equal(accesslog_want(&log, name, &problem), 0);
        assert_true(accesslog_read(&log, slice_of(line), &entry, &problem));
        assert_int_equal(entry.field[0].size, outer_size + 1 + inner_size <= 256 ? 1 : 0);
    }
}

static void starts_and_ends(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool starts;
    } lines[] = {{"{\"time\":1,\"start_time\":2}", true}, {"{\"StartUTC\":2}", true}, {"{\"time\":1}", false}};
    struct accesslog log = opened("json", "{}");
    struct accesslog_problem problem;
    struct accesslog_entry entry;
    for (size_t i = 0; i < LENGTH(lines); i++) {
        assert_true(accesslog_read(&log, slice_of(lines[i].line), &entry, &problem));
        assert_int_equal(entry.starts, lines[i].starts);
    }
}

/* ---- escapes ---- */

static void plain_text(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *plain;
    } texts[] = {{"", ""},
                 {"a\\\"b\\\\c\\/d", "a\"b\\c/d"},
                 {"\\b\\f\\n\\r\\t\\v", "\b\f\n\r\t\v"},
                 {"\\x41\\x4a\\x4A", "AJJ"},
                 {"\\x4\\xg1\\u12\\", "\\x4\\xg1\\u12\\"},
                 {"\\u0041\\u07ff\\u0800\\uffff", "A\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
                 {"\\udbff\\udfff", "\xf4\x8f\xbf\xbf"},
                 {"\\udc00x\\ud800\\u0041", "\xef\xbf\xbdx\xef\xbf\xbd"
                                            "A"},
                 {"\\ud800\\ue000", "\xef\xbf\xbd\xee\x80\x80"},
                 {"\\x5Cn", "\\n"}};
    char out[LINE_SIZE];
    const struct accesslog json = opened("json", "{}"), csv = opened("csv", "time");
    for (size_t i = 0; i < LENGTH(texts); i++) {
        const size_t size = accesslog_plain(&json, slice_of(texts[i].raw), out, sizeof out);
        if (size != strlen(texts[i].plain) || memcmp(out, texts[i].plain, size) != 0)
            fail_msg("%s: %.*s", texts[i].raw, (int)size, out);
    }
    assert_int_equal(accesslog_plain(&json, slice_of("ab\\u00e9"), out, 3), 2); /* no half characters of an escape */
    assert_int_equal(accesslog_plain(&csv, slice_of("a\"\"b\\n\""), out, sizeof out), 6);
    assert_memory_equal(out, "a\"b\\n\"", 6);
    assert_int_equal(accesslog_plain(&csv, slice_of("abc"), out, 2), 2);
    assert_int_equal(accesslog_plain(&csv, (struct slice){NULL, 0}, out, sizeof out), 0);
    assert_int_equal(accesslog_plain(&json, (struct slice){NULL, 0}, NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_servers),
        cmocka_unit_test(malformed_lines),
        cmocka_unit_test(wrong_formats),
        cmocka_unit_test(too_many),
        cmocka_unit_test(wanting),
        cmocka_unit_test(names_end),
        cmocka_unit_test(facts),
        cmocka_unit_test(starts_and_ends),
        cmocka_unit_test(long_names),
        cmocka_unit_test(plain_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
