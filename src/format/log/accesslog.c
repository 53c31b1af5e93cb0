/* SPDX-License-Identifier: MIT
   One line of an access log to a time, a duration and the fields that are wanted.

       format -> pieces (pattern.c, csv.c) or names to look for (json.c) -> of each slot its source (names.c)
       line -> values of pieces or slots -> time, duration (stamp.c), parts of request lines -> entry

   Total; no memory, no input, no output of its own; what it gives are bytes of the line. */
#include "format/log/accesslog.h"

#include "format/log/names.h"
#include "format/log/parts.h"
#include "format/log/problem.h"
#include "format/log/split.h"

#define COMMON "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent"
#define COMBINED COMMON " \"$http_referer\" \"$http_user_agent\""
#define VHOST_COMBINED "$server_name " COMBINED

static const char time_expected[] = "expected a time such as 21/Nov/2026:17:46:01 +0000 or 2026-11-21T17:46:01.123Z";

/* ---- opening ---- */

static int piece_of(const struct accesslog *log, struct slice name)
{
    for (int i = 0; i < log->pieces; i++) {
        if (log->piece[i].name.size != 0 && slice_is(log->piece[i].name, name)) return i;
    }
    return -1;
}

/* The sources from `from` on are those of one slot.  False: none of them is in the format. */
static bool choose_source(struct accesslog *log, unsigned from, unsigned count)
{
    if (log->kind == ACCESSLOG_JSON) {
        log->sources += count;
        json_add(log, from);
        return true;
    }
    for (unsigned i = from; i < from + count; i++) {
        const int piece = piece_of(log, log->source[i].name);
        if (piece < 0) continue;
        const unsigned slot = log->source[i].slot;
        log->column[slot] = (signed char)piece;
        if (log->needed <= piece) log->needed = piece + 1;
        log->source[log->sources++] = log->source[i];
        return true;
    }
    return false;
}

static void name_fields(const struct accesslog *log, struct accesslog_problem *problem)
{
    for (int i = 0, named = 0; i < log->pieces; i++) {
        if (log->piece[i].name.size == 0) continue;
        if (named++ != 0) problem_add(problem, slice_of(", "));
        problem_add(problem, log->piece[i].name);
    }
}

static bool no_field(const struct accesslog *log, struct slice name, struct accesslog_problem *problem)
{
    problem_of(problem, 0, "no field \"", name, "\"; expected one of ");
    name_fields(log, problem);
    return false;
}

/* Times and durations. */
static bool choose_clocks(struct accesslog *log, struct accesslog_problem *problem)
{
    const char *time = log->clocks.time, *duration = log->clocks.duration;
    unsigned count =
        time != NULL ? names_of_time(time, log->source) : names_of_times(log->source, ACCESSLOG_SOURCES_MAX);
    problem->of_time = !choose_source(log, 0, count);
    if (problem->of_time && time != NULL) return no_field(log, slice_of(time), problem);
    if (problem->of_time) {
        problem_is(problem, 0,
                   log->kind == ACCESSLOG_CSV ? "no column is a time; expected time, ts, timestamp or the like among "
                                              : "no variable is a time; add $msec, $time_iso8601 or $time_local to ");
        name_fields(log, problem);
        return false;
    }
    const unsigned from = log->sources;
    count = duration != NULL ? names_of_duration(duration, log->source + from)
                             : names_of_durations(log->source + from, ACCESSLOG_SOURCES_MAX - from);
    const struct slice name = log->source[from].name;
    log->has_durations = choose_source(log, from, count);
    problem->of_duration = !log->has_durations && duration != NULL;
    return !problem->of_duration || no_field(log, name, problem);
}

static void clear(struct accesslog *log)
{
    const struct accesslog_clocks clocks = log->clocks;
    memset(log, 0, sizeof *log);
    log->clocks = clocks;
    memset(log->column, -1, sizeof log->column);
}

static bool open_pattern(struct accesslog *log, const char *format, struct accesslog_problem *problem)
{
    clear(log);
    return pattern_open(log, format, problem) && choose_clocks(log, problem);
}

/* Apache's own, and Apache stamps a request when it comes. */
static bool open_vhost(struct accesslog *log, struct accesslog_problem *problem)
{
    if (!open_pattern(log, VHOST_COMBINED, problem)) return false;
    log->source[0].starts = true; /* the time's: it is chosen first */
    return true;
}

static bool open_csv(struct accesslog *log, struct slice header, struct accesslog_problem *problem)
{
    clear(log);
    return csv_open(log, header, problem) && choose_clocks(log, problem);
}

static struct slice without_return(struct slice line)
{
    if (line.size == 0) return slice_of(""); /* without a line there may be no bytes either */
    if (line.bytes[line.size - 1] == '\r') line.size--;
    return line;
}

static bool open_json(struct accesslog *log, struct slice line, struct accesslog_problem *problem)
{
    struct found found[ACCESSLOG_SLOTS];
    clear(log);
    log->kind = ACCESSLOG_JSON;
    if (!choose_clocks(log, problem)) return false;
    log->has_durations = json_split(log, line, found, problem) && found[ACCESSLOG_DURATION].source != NULL;
    return true;
}

static bool fits(struct accesslog *log, const char *format, struct slice line, struct accesslog_problem *problem)
{
    struct slice value[ACCESSLOG_PIECES_MAX];
    if (!open_pattern(log, format, problem)) return false;
    const int needed = log->needed;
    log->needed = log->pieces - 1;
    const bool whole = pattern_split(log, line, value, problem);
    log->needed = needed;
    return whole;
}

/* The line begins with a name, and then an address; but where a comma is behind it they are addresses of proxies. */
static bool begins_with_host(struct slice line)
{
    const char *space = slice_has(line, ' ') ? memchr(line.bytes, ' ', line.size) : NULL;
    if (space == NULL || space == line.bytes || space[-1] == ',') return false;
    return !slice_begins(slice_between(space, line.bytes + line.size), slice_of(" - "));
}

static bool open_by_line(struct accesslog *log, struct slice line, struct accesslog_problem *problem)
{
    size_t at = 0;
    while (at < line.size && (line.bytes[at] == ' ' || (line.bytes[at] & 0x80) != 0)) at++;
    if (at < line.size && line.bytes[at] == '{') return open_json(log, line, problem);
    if (open_csv(log, line, problem) || problem->of_duration) return !problem->of_duration;
    if (begins_with_host(line) && fits(log, VHOST_COMBINED, line, problem)) return open_vhost(log, problem);
    if (!fits(log, COMBINED, line, problem) && fits(log, COMMON, line, problem)) return true;
    return open_pattern(log, COMBINED, problem);
}

bool accesslog_open_clocks(struct accesslog *log, const char *format, const struct accesslog_clocks *clocks,
                           struct slice first_line, struct accesslog_problem *problem)
{
    log->clocks = *clocks;
    problem->of_time = problem->of_duration = false;
    first_line = without_return(first_line);
    problem_is(problem, 0, "");
    if (format == NULL) return open_by_line(log, first_line, problem);
    const struct slice name = slice_of(format);
    if (slice_is(name, slice_of("combined"))) return open_pattern(log, COMBINED, problem);
    if (slice_is(name, slice_of("vhost_combined"))) return open_vhost(log, problem);
    if (slice_is(name, slice_of("common"))) return open_pattern(log, COMMON, problem);
    if (slice_is(name, slice_of("json"))) return open_json(log, first_line, problem);
    if (slice_is(name, slice_of("csv"))) return open_csv(log, first_line, problem);
    if (slice_has(name, '$')) return open_pattern(log, format, problem);
    clear(log);
    return problem_of(
        problem, 0, "unknown format \"", name,
        "\"; expected combined, vhost_combined, common, json, csv, or variables as in nginx's log_format, such as "
        "'$remote_addr [$time_local] $request_time'");
}

bool accesslog_open(struct accesslog *log, const char *format, struct slice first_line,
                    struct accesslog_problem *problem)
{
    static const struct accesslog_clocks known;
    return accesslog_open_clocks(log, format, &known, first_line, problem);
}

bool accesslog_has_durations(const struct accesslog *log)
{
    return log->has_durations;
}

bool accesslog_is_header(const struct accesslog *log, struct slice line)
{
    return log->kind == ACCESSLOG_CSV && slice_is(log->first, without_return(line));
}

size_t accesslog_plain(const struct accesslog *log, struct slice escaped, char *out, size_t size)
{
    return log->kind == ACCESSLOG_CSV ? csv_plain(escaped, out, size) : plain_escapes(escaped, out, size);
}

/* ---- wanting ---- */

int accesslog_want(struct accesslog *log, const char *name, struct accesslog_problem *problem)
{
    for (int i = 0; i < log->wanted_count; i++) {
        if (slice_is(slice_of(log->wanted[i]), slice_of(name))) return i;
    }
    if (name[0] == '\0') {
        problem_is(problem, 0, "expected the name of a field");
        return -1;
    }
    const unsigned room = ACCESSLOG_SOURCES_MAX - log->sources;
    if (log->wanted_count == ACCESSLOG_WANTED_MAX || room < NAMES_FOR_ONE_MAX) {
        problem_is(problem, 0, "expected at most 16 fields");
        return -1;
    }
    const unsigned from = log->sources;
    const unsigned count = names_of_field(name, (unsigned)log->wanted_count, log->source + from, room);
    if (choose_source(log, from, count)) {
        log->wanted[log->wanted_count] = name;
        return log->wanted_count++;
    }
    no_field(log, slice_of(name), problem);
    return -1;
}

/* ---- reading ---- */

static bool is_escaped(const struct accesslog *log, struct slice value)
{
    return slice_has(value, log->kind == ACCESSLOG_CSV ? '"' : '\\');
}

static void take_fields(const struct accesslog *log, const struct found found[], struct accesslog_entry *entry)
{
    entry->escaped = 0;
    for (int i = 0; i < log->wanted_count; i++) {
        entry->field[i] = (struct slice){NULL, 0};
        if (found[i].source == NULL) continue;
        entry->field[i] = part_of(found[i].value, (enum accesslog_part)found[i].source->part);
        entry->escaped |= (unsigned)is_escaped(log, entry->field[i]) << i;
    }
}

static bool take_time(struct accesslog *log, struct slice line, const struct found *found,
                      struct accesslog_entry *entry, struct accesslog_problem *problem)
{
    struct stamp stamp;
    if (found->source == NULL && log->clocks.time != NULL)
        return problem_of(problem, 1, "expected a field \"", slice_of(log->clocks.time), "\", with the time");
    if (found->source == NULL)
        return problem_is(problem, 1, "expected a field with the time: time, ts, timestamp, ...");
    if (!stamp_read(&log->cache, found->value, found->source->unit, &stamp))
        return problem_is(problem, (size_t)(found->value.bytes - line.bytes) + 1, time_expected);
    entry->time_ns = stamp.time_ns;
    entry->resolution_ns = stamp.resolution_ns;
    entry->starts = found->source->starts;
    return true;
}

/* Of patterns and CSV, each slot has one piece, if any. */
static void find_pieces(const struct accesslog *log, const struct slice value[], struct found found[])
{
    found_clear(log, found);
    for (unsigned i = 0; i < log->sources; i++) {
        const unsigned slot = log->source[i].slot;
        found[slot] = (struct found){value[log->column[slot]], &log->source[i]};
    }
}

static bool split(struct accesslog *log, struct slice line, struct found found[], struct accesslog_problem *problem)
{
    struct slice value[ACCESSLOG_PIECES_MAX];
    if (log->kind == ACCESSLOG_JSON) return json_split(log, line, found, problem);
    if (log->kind == ACCESSLOG_CSV ? !csv_split(log, line, value, problem) : !pattern_split(log, line, value, problem))
        return false;
    find_pieces(log, value, found);
    return true;
}

bool accesslog_read(struct accesslog *log, struct slice line, struct accesslog_entry *entry,
                    struct accesslog_problem *problem)
{
    struct found found[ACCESSLOG_SLOTS];
    line = without_return(line);
    if (!split(log, line, found, problem) || !take_time(log, line, &found[ACCESSLOG_TIME], entry, problem))
        return false;
    const struct found *duration = &found[ACCESSLOG_DURATION];
    entry->duration_ns = 0;
    entry->has_duration =
        duration->source != NULL && stamp_read_duration(duration->value, duration->source->unit, &entry->duration_ns);
    take_fields(log, found, entry);
    return true;
}
